#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokens/characters.hpp"
#include "tokens/vocabulary.hpp"

namespace attn {

/// Bytes [begin, end) of the given text, whole characters.
struct Origin {
  std::uint32_t begin = 0, end = 0;
};

/// The smallest stretch that holds both.
Origin united(Origin a, Origin b);

/// Text on its way to the model, with the origin of each byte in the given text.
struct AlignedText {
  std::string text;
  std::vector<Origin> origins;  // one per byte

  /// Limit of a text's length in bytes, before and after normalization.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// Append text; throw Error(input) beyond most_bytes.
  void append(char32_t character, Origin origin);
  void append(std::string_view characters, Origin origin);
  void append(const AlignedText& other, std::size_t begin, std::size_t end);
  void reserve(std::size_t bytes);

  /// The origin of bytes [begin, end), at least one.
  Origin origin(std::size_t begin, std::size_t end) const;
};

/// Aligned text cut into parts in order. Text between them is dropped.
struct SplitText : AlignedText {
  struct Part {
    std::size_t begin, end;        // bytes of `text`
    std::optional<TokenId> token;  // the added token of a settled part
  };
  std::vector<Part> parts;

  std::string_view part(const Part& p) const {
    return std::string_view(text).substr(p.begin, p.end - p.begin);
  }
};

/// Bytes [begin, end) that match a pattern, or that lie between two matches.
struct Stretch {
  std::size_t begin, end;
  bool match;
};

/// Treatment of matches where a text is split: dropped, parts of their own, or joined to the part
/// before or after them. `contiguous`: neighbouring matches are one part.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Appends the stretches, bytes of a part that begins at `base`, as parts. Empty ones are left out.
void append_parts(std::vector<Stretch>& stretches, SplitBehavior behavior, std::size_t base,
                  std::vector<SplitText::Part>& parts);

/// Cuts each unsettled part of the text. find(part, stretches) appends the stretches that together
/// cover the part.
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

/// Appends a stretch for each character for which is_match(character) holds, and for the text
/// between them.
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

/// Appends a stretch for each place where `literal`, which is not empty, stands, and for the text
/// between them.
void find_literal(std::string_view literal, std::string_view text, std::vector<Stretch>& stretches);

}  // namespace attn
