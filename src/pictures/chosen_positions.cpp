#include "pictures/chosen_positions.hpp"

#include <cstdint>

#include "attn/error.hpp"

#include "support/count_text.hpp"

namespace attn {
namespace {

std::string range_text(const PositionRange& range) {
  const auto end = [](const std::optional<std::int64_t>& position) {
    return position ? std::to_string(*position) : std::string();
  };
  return end(range.first) + ":" + end(range.end);
}

}  // namespace

Positions positions_in(const std::optional<PositionRange>& range, std::size_t count,
                       const std::string& field, const char* noun, const char* nouns) {
  if (!range) return {0, count};
  const auto size = static_cast<std::int64_t>(count);
  if (range->first && range->end && *range->end == *range->first + 1 &&
      (*range->first >= size || *range->first < -size)) {
    throw input_error("there is no " + std::string(noun) + " " + std::to_string(*range->first) +
                          ": there " + (count == 1 ? "is " : "are ") +
                          count_text(count, noun, nouns),
                      field, "give 0 to " + std::to_string(count - 1));
  }
  const auto absolute = [&](std::int64_t position) {
    if (position >= -size && position <= size) return position < 0 ? position + size : position;
    throw input_error("the range " + range_text(*range) + " goes beyond the " +
                          count_text(count, noun, nouns) + " there " + (count == 1 ? "is" : "are"),
                      field, "give positions from 0 to " + std::to_string(count));
  };
  const std::int64_t first = absolute(range->first.value_or(0));
  const std::int64_t end = absolute(range->end.value_or(size));
  if (first >= end) {
    throw input_error(
        "the range " + range_text(*range) + " holds none of the " + count_text(count, noun, nouns),
        field, "give a start that stands before the end");
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end)};
}

std::vector<std::size_t> numbers_in(const std::optional<std::vector<PositionRange>>& ranges,
                                    std::size_t count, const std::string& field, const char* noun,
                                    const char* nouns) {
  std::vector<std::size_t> numbers;
  std::vector<bool> taken(count, false);
  const auto take = [&](const std::optional<PositionRange>& range) {
    const Positions positions = positions_in(range, count, field, noun, nouns);
    for (std::size_t i = positions.first; i < positions.end; ++i) {
      if (!taken[i]) numbers.push_back(i);
      taken[i] = true;
    }
  };
  if (!ranges) take(std::nullopt);
  if (ranges) {
    for (const PositionRange& range : *ranges) take(range);
  }
  return numbers;
}

std::string numbers_text(const std::vector<std::size_t>& numbers, std::size_t count,
                         const std::string& noun) {
  if (numbers.size() == count) return count_text(count, noun);
  if (numbers.size() == 1) return noun + " " + std::to_string(numbers[0] + 1);
  bool follow = numbers.size() > 2;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    follow = follow && numbers[i] == numbers[i - 1] + 1;
  }
  if (follow) {
    return noun + "s " + std::to_string(numbers.front() + 1) + " to " +
           std::to_string(numbers.back() + 1);
  }
  std::string text = noun + "s ";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += i + 1 < numbers.size() ? ", " : " and ";
    text += std::to_string(numbers[i] + 1);
  }
  return text;
}

}  // namespace attn
