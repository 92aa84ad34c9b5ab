#pragma once

#include <span>
#include <string_view>

namespace attn {

/// The candidate that takes the fewest single-letter edits (an exchange of neighbours counts as
/// one) to become `name`, ignoring case; empty if even the best takes more than a third of the
/// longer one's letters, but at least 2.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace attn
