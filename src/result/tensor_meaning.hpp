#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Whether the rows of a tensor of that name in a result are queries and its columns keys:
/// "weights", "layers.0.self.scores"…
bool is_map(std::string_view name);

/// What the numbers of a tensor of that name are, for a colour bar; nothing for weights, which
/// colour bars name by themselves.
std::optional<std::string> meaning_of_values(std::string_view name);

}  // namespace attn
