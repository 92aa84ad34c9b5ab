#include "tokens/text_slips.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The special tokens of the tokenizers that are met most.
constexpr auto usual_tokens = std::to_array<std::string_view>(
    {"[CLS]",           "[SEP]",        "[MASK]",        "[PAD]",
     "[UNK]",           "<s>",          "</s>",          "<mask>",
     "<pad>",           "<unk>",        "<bos>",         "<eos>",
     "<cls>",           "<sep>",        "<|endoftext|>", "<|begin_of_text|>",
     "<|end_of_text|>", "<|im_start|>", "<|im_end|>",    "<|startoftext|>",
     "<|eot_id|>"});

bool adds(const TextToken& token) {
  return token.text < 0;
}

// A token of the text that stands beside the one that the template puts at the same end.
std::optional<std::int64_t> stands_twice(std::span<const TextToken> cut) {
  if (cut.size() < 2) return std::nullopt;
  const auto same = [](const TextToken& around, const TextToken& typed) {
    return adds(around) && !adds(typed) && around.id == typed.id;
  };
  if (same(cut.front(), cut[1])) return cut.front().id;
  if (same(cut.back(), cut[cut.size() - 2])) return cut.back().id;
  return std::nullopt;
}

std::string own_tokens(const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special_ids();
  std::set<std::int64_t> told;
  std::string list;
  for (const auto& id : {ids.first, ids.classifier, ids.separator, ids.last, ids.mask}) {
    if (!id || !told.insert(*id).second) continue;
    list += (list.empty() ? "" : ", ") + printable(tokenizer.token(*id));
  }
  return list;
}

// Whether a text is "5,11,3" or "[5, 11, 3]".
bool lists_ids(std::string_view text, std::size_t vocabulary) {
  const bool bracketed = text.starts_with('[') && text.ends_with(']');
  if (bracketed) text = text.substr(1, text.size() - 2);
  std::size_t numbers = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, end);
    while (bracketed && one.starts_with(' ')) one.remove_prefix(1);
    std::size_t id = 0;
    if (!parse_number(std::string(one), id) || id >= vocabulary) return false;
    ++numbers;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers >= 2;
}

// Whether a backslash and an n stand between or after words, where a new line is meant. Formulas,
// names of files and quoted code have such letters too.
bool spells_new_line(std::string_view text) {
  if (text.find('\n') != text.npos) return false;
  constexpr auto formulas = std::to_array<std::string_view>(
      {"nabla", "neq", "ne", "nu", "not", "ni", "neg", "newline", "noindent"});
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  bool found = false;
  for (std::size_t at = 0; (at = text.find('\\', at)) != text.npos; at += 2) {
    constexpr std::string_view ends = ".,;!?\")";
    if (at == 0 || at + 1 == text.size() || text[at + 1] != 'n') return false;
    const bool after_another = text.substr(0, at).ends_with("\\n");
    if (!is_letter(at - 1) && ends.find(text[at - 1]) == ends.npos && !after_another) return false;
    const bool goes_on = at + 2 < text.size();
    if (goes_on && !is_letter(at + 2) && text[at + 2] != '\\' && text[at + 2] != ' ') return false;
    for (const std::string_view formula : formulas) {
      if (text.substr(at + 1).starts_with(formula) && !is_letter(at + 1 + formula.size()))
        return false;
    }
    found = true;
  }
  return found;
}

bool is_spaces(std::string_view text) {
  return text.find_first_not_of(' ') == text.npos;
}

// Whether a text ends in a token of spaces alone, though its words begin with their own.
bool ends_in_space(std::string_view text, std::span<const TextToken> cut) {
  if (!text.ends_with(' ') || cut.empty() || adds(cut.back()) || !is_spaces(cut.back().piece))
    return false;
  return std::ranges::any_of(cut, [](const TextToken& token) {
    return !adds(token) && token.piece.starts_with(' ') && !is_spaces(token.piece);
  });
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

}  // namespace

std::optional<std::string> continuation_slip(const Tokenizer& tokenizer, std::string_view before,
                                             const std::string& text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  constexpr std::string_view ends = ".,;:!?";
  if (before.empty() || text.empty() || !is_word(text.front()) ||
      (!is_word(before.back()) && ends.find(before.back()) == ends.npos))
    return std::nullopt;
  const auto tokens = [&](const std::string& words) {
    return tokenizer.encode(words, std::nullopt, false, "").size();
  };
  const std::string spaced = " " + text;
  if (tokens(spaced) >= tokens(text)) return std::nullopt;
  return translated("DocumentOptions::continued begins without a space: for a new word write {1}",
                    in_quotes(spaced));
}

std::vector<std::string> text_slips(const Tokenizer& tokenizer, std::string_view text,
                                    std::span<const TextToken> cut, bool typed) {
  std::vector<std::string> slips;
  if (lists_ids(text, tokenizer.size())) {
    slips.push_back(translated(
        "the text {1} is read as text: token ids are given with DocumentOptions::token_ids",
        in_quotes(std::string(text))));
  }
  const std::optional<std::int64_t> twice = stands_twice(cut);
  if (twice) {
    slips.push_back(translated(
        "the text has {1}, which the tokenizer adds automatically, so that it appears twice: "
        "take it out of the text, or write \"special_tokens\": false into the document",
        in_quotes(std::string(tokenizer.token(*twice)))));
  }
  const auto separator = tokenizer.special_ids().separator;
  const auto separates = [&](const TextToken& token) {
    return !adds(token) && token.id == separator;
  };
  const bool pair = std::ranges::any_of(cut, [](const TextToken& one) { return one.text == 1; });
  if (typed && separator && !twice && !pair && cut.size() > 2 && adds(cut.front()) &&
      std::ranges::any_of(cut, separates)) {
    slips.push_back(
        translated("the text has {1} within it, and all its tokens are of the first text's type: "
                   "the second text of a pair is given with ModelText::pair",
                   in_quotes(std::string(tokenizer.token(*separator)))));
  }
  std::string others;
  const std::string small = in_small_letters(text);
  for (const std::string_view usual : usual_tokens) {
    // A mask is written in small letters too; other names may then be plain words.
    const bool is_mask = usual == "[MASK]" || usual == "<mask>";
    const std::size_t at = is_mask ? small.find(in_small_letters(usual)) : text.find(usual);
    if (at == std::string_view::npos) continue;
    const bool one_token = std::ranges::any_of(
        cut, [&](const TextToken& token) { return tokenizer.token(token.id) == usual; });
    if (!one_token)
      others += (others.empty() ? "" : ", ") + std::string(text.substr(at, usual.size()));
  }
  if (!others.empty()) {
    const std::string own = own_tokens(tokenizer);
    slips.push_back(own.empty()
                        ? translated("not a special token of this tokenizer, and read as plain "
                                     "text: {1}",
                                     others)
                        : translated("not a special token of this tokenizer, and read as plain "
                                     "text: {1}; its own are {2}",
                                     others, own));
  }
  if (spells_new_line(text)) {
    slips.push_back(translated(
        "the text has a backslash and the letter n, not a new line, which is $'\\n' in a shell and "
        "\\n in JSON"));
  }
  if (ends_in_space(text, cut)) {
    slips.push_back(translated(
        "the text ends in a space, which becomes a token of its own, while tokens of words "
        "begin with a space: leave it out to predict the next word"));
  }
  return slips;
}

}  // namespace attn
