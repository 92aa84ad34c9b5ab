#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/run.hpp"

namespace attn {

/// The positions that a range means among `count`, from 0.
struct Positions {
  std::size_t first = 0, end = 0;
  std::size_t count() const { return end - first; }
};

/// Throws Error(input) naming the field for what is not there. `noun` and `nouns` are what is
/// counted.
Positions positions_in(const std::optional<PositionRange>& range, std::size_t count,
                       const std::string& field, const char* noun, const char* nouns);

/// The numbers that ranges mean among those from 0 up to `count`, each once, in their order; all of
/// them without ranges.
std::vector<std::size_t> numbers_in(const std::optional<std::vector<PositionRange>>& ranges,
                                    std::size_t count, const std::string& field, const char* noun,
                                    const char* nouns);

enum class NumberedThing { head, layer };

/// "Head 3", "Heads 1 to 6", "Heads 1, 6 and 12" of numbers from 0, or of all "12 Heads".
std::string numbers_text(const std::vector<std::size_t>& numbers, std::size_t count,
                         NumberedThing thing);

}  // namespace attn
