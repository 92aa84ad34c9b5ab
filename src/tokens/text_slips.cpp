#include "tokens/text_slips.hpp"

#include <algorithm>
#include <array>
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

}  // namespace

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
  for (const std::string_view usual : usual_tokens) {
    if (text.find(usual) == std::string_view::npos) continue;
    const bool one_token = std::ranges::any_of(
        cut, [&](const TextToken& token) { return tokenizer.token(token.id) == usual; });
    if (!one_token) others += (others.empty() ? "" : ", ") + std::string(usual);
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
  return slips;
}

}  // namespace attn
