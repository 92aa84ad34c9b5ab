#include "tokens/aligned_text.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

void expect_room(std::size_t bytes) {
  if (bytes <= AlignedText::most_bytes) return;
  throw input_error(translated("the text is longer than 4 MiB once it is normalized"), "",
                    translated("give less text at a time"));
}

// Joins neighbours from `first` to `last`: a match to the stretch before it unless that is a match
// too; with `of_one_kind` all neighbours that are alike.
template <class Iterator>
std::vector<Stretch> joined(Iterator first, Iterator last, bool of_one_kind) {
  std::vector<Stretch> result;
  bool previous_match = false;
  for (; first != last; ++first) {
    const bool joins =
        of_one_kind ? first->match == previous_match : first->match && !previous_match;
    previous_match = first->match;
    if (joins && !result.empty()) {
      result.back().begin = std::min(result.back().begin, first->begin);
      result.back().end = std::max(result.back().end, first->end);
    } else {
      result.push_back(*first);
    }
  }
  return result;
}

}  // namespace

Origin united(Origin a, Origin b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

void AlignedText::append(char32_t character, Origin origin) {
  append_utf8(text, character);
  expect_room(text.size());
  origins.resize(text.size(), origin);
}

void AlignedText::append(std::string_view characters, Origin origin) {
  expect_room(text.size() + characters.size());
  text += characters;
  origins.resize(text.size(), origin);
}

void AlignedText::append(const AlignedText& other, std::size_t begin, std::size_t end) {
  expect_room(text.size() + (end - begin));
  text.append(other.text, begin, end - begin);
  origins.insert(origins.end(), other.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                 other.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

void AlignedText::reserve(std::size_t bytes) {
  text.reserve(bytes);
  origins.reserve(bytes);
}

Origin AlignedText::origin(std::size_t begin, std::size_t end) const {
  Origin result = origins[begin];
  for (std::size_t i = begin + 1; i < end; ++i) result = united(result, origins[i]);
  return result;
}

void append_parts(std::vector<Stretch>& stretches, SplitBehavior behavior, std::size_t base,
                  std::vector<SplitText::Part>& parts) {
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(stretches, [](const Stretch& s) { return s.match; });
      break;
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::contiguous:
    case SplitBehavior::merged_with_previous:
      stretches = joined(stretches.begin(), stretches.end(), behavior == SplitBehavior::contiguous);
      break;
    case SplitBehavior::merged_with_next:
      stretches = joined(stretches.rbegin(), stretches.rend(), false);
      std::reverse(stretches.begin(), stretches.end());
      break;
  }
  for (const Stretch& s : stretches) {
    if (s.begin < s.end) parts.push_back({base + s.begin, base + s.end, std::nullopt});
  }
}

void find_literal(std::string_view literal, std::string_view text,
                  std::vector<Stretch>& stretches) {
  std::size_t done = 0;
  for (std::size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, done)) {
    if (done < at) stretches.push_back({done, at, false});
    done = at + literal.size();
    stretches.push_back({at, done, true});
  }
  if (done < text.size()) stretches.push_back({done, text.size(), false});
}

}  // namespace attn
