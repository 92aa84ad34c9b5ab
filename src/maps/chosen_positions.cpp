#include "maps/chosen_positions.hpp"

#include <cstdint>

#include "attn/error.hpp"

#include "support/count_text.hpp"
#include "support/translated.hpp"

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
    throw input_error(translated("there is no {1} {2}: there {3}{4}", noun, *range->first,
                                 count == 1 ? translated("is ") : translated("are "),
                                 count_text(count, noun, nouns)),
                      field, translated("give 0 to {1}", count - 1));
  }
  const auto absolute = [&](std::int64_t position) {
    if (position >= -size && position <= size) return position < 0 ? position + size : position;
    throw input_error(translated("the range {1} goes beyond the {2} there {3}", range_text(*range),
                                 count_text(count, noun, nouns),
                                 count == 1 ? translated("is") : translated("are")),
                      field, translated("give positions from 0 to {1}", count));
  };
  const std::int64_t first = absolute(range->first.value_or(0));
  const std::int64_t end = absolute(range->end.value_or(size));
  if (first >= end) {
    throw input_error(translated("the range {1} holds none of the {2}", range_text(*range),
                                 count_text(count, noun, nouns)),
                      field, translated("give a start that stands before the end"));
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
                         NumberedThing thing) {
  const bool heads = thing == NumberedThing::head;
  if (numbers.size() == count) {
    return heads ? translated_count(count, "{1} Head", "{1} Heads")
                 : translated_count(count, "{1} Layer", "{1} Layers");
  }
  if (numbers.size() == 1) {
    return heads ? translated("Head {1}", numbers[0] + 1) : translated("Layer {1}", numbers[0] + 1);
  }
  bool follow = numbers.size() > 2;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    follow = follow && numbers[i] == numbers[i - 1] + 1;
  }
  if (follow) {
    const std::size_t first = numbers.front() + 1, last = numbers.back() + 1;
    return heads ? translated("Heads {1} to {2}", first, last)
                 : translated("Layers {1} to {2}", first, last);
  }
  std::string list;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) list += i + 1 < numbers.size() ? translated(", ") : translated(" and ");
    list += std::to_string(numbers[i] + 1);
  }
  return heads ? translated("Heads {1}", list) : translated("Layers {1}", list);
}

}  // namespace attn
