#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Name with the number of a layer in it.
struct NumberedName {
  std::string name;
  std::size_t number = 0;
};

/// Names that are `pattern` with digits in place of its "{n}", in the order of their numbers.
std::vector<NumberedName> names_of_pattern(const std::vector<std::string>& names,
                                           std::string_view pattern);

/// Name with "{n}" in place of its last digits; nothing if it has none.
std::optional<std::string> pattern_of(std::string_view name);

/// Makes numbers that begin with 1 begin with 0, but for names such as "layers.1.self": programs
/// count these from 0 and may have left layer 0 out.
void count_from_zero(std::vector<NumberedName>& names);

}  // namespace attn
