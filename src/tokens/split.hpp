#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tokens/aligned_text.hpp"

namespace attn {

/// A part of a text that matches a pattern, or that lies between two matches.
struct Stretch {
  std::size_t begin, end;
  bool match;
};

/// What becomes of matches: dropped, parts of their own, or joined to what is beside them.
/// `contiguous`: neighbouring matches are one part.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts each unsettled part of the text where find(part, stretches) says; it lists stretches that
/// cover the part. Empty parts are left out.
template <class Find>
void split(SplitText& text, SplitBehavior behavior, Find&& find);

/// Stretches of characters for which is_match(character) holds, one a character, and of the rest.
template <class IsMatch>
void find_characters(std::string_view text, IsMatch&& is_match, std::vector<Stretch>& stretches);

/// The stretches as parts of a text that begin at `base`.
void append_parts(std::vector<Stretch>& stretches, SplitBehavior behavior, std::size_t base,
                  std::vector<SplitText::Part>& parts);

template <class Find>
void split(SplitText& text, SplitBehavior behavior, Find&& find) {
  std::vector<SplitText::Part> parts;
  std::vector<Stretch> stretches;
  for (const SplitText::Part& part : text.parts) {
    if (part.token) {
      parts.push_back(part);
      continue;
    }
    stretches.clear();
    find(text.part(part), stretches);
    append_parts(stretches, behavior, part.begin, parts);
  }
  text.parts = std::move(parts);
}

template <class IsMatch>
void find_characters(std::string_view text, IsMatch&& is_match, std::vector<Stretch>& stretches) {
  std::size_t done = 0;
  for_each_character(text, [&](char32_t c, std::size_t begin, std::size_t end) {
    if (!is_match(c)) return;
    if (done < begin) stretches.push_back({done, begin, false});
    stretches.push_back({begin, end, true});
    done = end;
  });
  if (done < text.size()) stretches.push_back({done, text.size(), false});
}

}  // namespace attn
