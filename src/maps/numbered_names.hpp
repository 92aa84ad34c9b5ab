#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A name with the number of a layer in it.
struct NumberedName {
  std::string name;
  std::size_t number = 0;
};

/// Those that are `pattern` with digits in the place of its "{n}", by their numbers.
std::vector<NumberedName> names_of_pattern(const std::vector<std::string>& names,
                                           std::string_view pattern);

/// The name with "{n}" in the place of its last digits; nothing if it has none.
std::optional<std::string> pattern_of(std::string_view name);

/// Numbers from 0: those of names that count from 1 become one less, but for names of layer 1,
/// "layers.1.self", where programs count from 0 whatever is left out.
void count_from_zero(std::vector<NumberedName>& names);

}  // namespace attn
