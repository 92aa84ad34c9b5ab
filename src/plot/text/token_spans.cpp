#include "plot/text/token_spans.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <utf8proc.h>

#include "plot/text/token_labels.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// Special tokens that begin a turn, with its role; an empty one is the text of the tokens behind.
constexpr std::pair<std::string_view, std::string_view> turn_marks[] = {
    {"<|im_start|>", ""},
    {"<|start_header_id|>", ""},
    {"<start_of_turn>", ""},
    {"<|start_of_role|>", ""},
    {"<|start|>", ""},
    {"<|system|>", "system"},
    {"<|user|>", "user"},
    {"<|assistant|>", "assistant"},
    {"<|System|>", "system"},
    {"<|User|>", "user"},
    {"<|Assistant|>", "assistant"},
    {"<｜User｜>", "user"},
    {"<｜Assistant｜>", "assistant"},
    {"<|SYSTEM_TOKEN|>", "system"},
    {"<|USER_TOKEN|>", "user"},
    {"<|CHATBOT_TOKEN|>", "assistant"},
    {"[SYSTEM_PROMPT]", "system"},
    {"[INST]", "user"},
    {"[/INST]", "assistant"},
};

// Special tokens between two texts of one input.
constexpr std::string_view separators[] = {"[SEP]", "</s>",          "<sep>",
                                           "<eos>", "<|endoftext|>", "<|end_of_text|>"};

template <class Table>
bool is_one_of(std::string_view label, const Table& table) {
  return std::ranges::find(table, label) != std::end(table);
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

// The role that the tokens from `at` on name, up to the next special token or the end of a line.
std::string role_at(const std::vector<std::string>& labels, std::size_t at,
                    TokenSpelling spelling) {
  constexpr std::size_t longest = 24;
  std::string role;
  for (; at < labels.size() && role.size() <= longest; ++at) {
    if (is_special_token(labels[at])) break;
    const std::string text = token_text(labels[at], spelling);
    const std::size_t line = text.find('\n');
    role += text.substr(0, line);
    if (line != text.npos) break;
  }
  role = trimmed(role);
  const bool word = role.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == role.npos;
  return word && role.size() <= longest ? role : "";
}

constexpr std::string_view sentence_ends[] = {".",      "!",      "?",      "\u2026", "\u3002",
                                              "\uFF01", "\uFF1F", "\u061F", "\u0964"};
constexpr std::string_view closing[] = {"\"",     "'",      ")",      "]",      "\u201D",
                                        "\u2019", "\u00BB", "\u300D", "\u300F", "\uFF09"};

// Whether a text ends a sentence, with what closes quotes and brackets behind it.
bool ends_sentence(std::string_view text) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view mark : closing) {
      if (text.size() <= mark.size() || !text.ends_with(mark)) continue;
      text.remove_suffix(mark.size());
      again = true;
    }
  }
  return std::ranges::any_of(sentence_ends,
                             [&](std::string_view end) { return text.ends_with(end); });
}

bool is_closing(const std::string& text) {
  return is_one_of(trimmed(text), closing);
}

// Whether a text can begin a sentence: a small letter does not, unless all are small.
bool begins_sentence(const std::string& text, bool small_letters) {
  const std::string own = trimmed(text);
  const Utf8Character first = first_character(own);
  if (first.bytes == 0) return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(first.code));
  return category != UTF8PROC_CATEGORY_LL || small_letters;
}

bool is_lower_case(const std::vector<std::string>& labels) {
  return std::ranges::none_of(labels, [](const std::string& label) {
    return !is_special_token(label) &&
           std::ranges::any_of(label, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// A full stop behind one capital letter is that of an initial.
bool is_initial(const std::string& text) {
  const std::string own = trimmed(text);
  return own.size() == 1 && own[0] >= 'A' && own[0] <= 'Z' && own != "I";
}

std::string text_between(const std::vector<std::string>& labels, std::size_t first, std::size_t end,
                         TokenSpelling spelling) {
  const std::vector<std::string> part(labels.begin() + static_cast<std::ptrdiff_t>(first),
                                      labels.begin() + static_cast<std::ptrdiff_t>(end));
  const bool spaced = spelling != TokenSpelling::plain && spelling != TokenSpelling::wordpiece;
  std::string text;
  if (spaced) {
    for (const std::string& label : part) text += token_text(label, spelling);
  } else {
    for (const Word& word : words_of(part, spelling)) {
      const bool glued = text.empty() || is_one_of(word.text, sentence_ends) || word.text == ",";
      text += (glued ? "" : " ") + word.text;
    }
  }
  std::ranges::replace(text, '\n', ' ');
  return trimmed(text);
}

/// Finds the sentences of a text one after the other.
class Sentences {
 public:
  explicit Sentences(const std::vector<std::string>& labels)
      : labels_(labels), spelling_(token_spelling({&labels})), small_(is_lower_case(labels)) {}

  std::vector<AxisSpan> find() {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i].empty() || is_special_token(labels_[i])) {
        close(i);
        first_ = i + 1;
        continue;
      }
      const std::string text = token_text(labels_[i], spelling_);
      const bool line = text.find('\n') != text.npos;
      ended_ = line || ends(i, text) || (ended_ && is_closing(text));
      if (ended_ && (line || may_begin(i + 1))) close(i + 1);
    }
    close(labels_.size());
    return std::move(found_);
  }

 private:
  bool ends(std::size_t i, const std::string& text) const {
    const bool initial =
        trimmed(text) == "." && i > first_ && is_initial(token_text(labels_[i - 1], spelling_));
    return !initial && ends_sentence(trimmed(text));
  }

  // Whether a sentence may begin with a token: not with one that goes on with a word or closes a
  // quote.
  bool may_begin(std::size_t i) const {
    if (i >= labels_.size() || labels_[i].empty() || is_special_token(labels_[i])) return true;
    const std::string text = token_text(labels_[i], spelling_);
    if (is_closing(text) || is_one_of(trimmed(text), sentence_ends)) return false;
    const bool spaced = spelling_ == TokenSpelling::byte_level ||
                        spelling_ == TokenSpelling::spaced ||
                        spelling_ == TokenSpelling::sentencepiece;
    const bool ascii = !text.empty() && static_cast<unsigned char>(text[0]) < 0x80;
    if (spaced && ascii && text[0] != ' ' && text[0] != '\n') return false;
    return begins_sentence(text, small_);
  }

  void close(std::size_t end) {
    if (end > first_) {
      std::string text = text_between(labels_, first_, end, spelling_);
      if (!text.empty()) found_.push_back({std::move(text), first_, end});
    }
    first_ = end;
    ended_ = false;
  }

  const std::vector<std::string>& labels_;
  TokenSpelling spelling_;
  bool small_, ended_ = false;
  std::size_t first_ = 0;
  std::vector<AxisSpan> found_;
};

// Tokens up to the last one that is no padding.
std::size_t end_of_text(const std::vector<std::string>& labels) {
  std::size_t end = labels.size();
  while (end > 0 && (labels[end - 1].empty() || labels[end - 1] == "[PAD]" ||
                     labels[end - 1] == "<pad>" || labels[end - 1] == "<|pad|>"))
    --end;
  return end;
}

}  // namespace

std::vector<AxisSpan> turns_of(const std::vector<std::string>& labels) {
  std::vector<AxisSpan> turns;
  TokenSpelling spelling = TokenSpelling::plain;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto mark =
        std::ranges::find(turn_marks, labels[i], [](const auto& m) { return m.first; });
    if (mark == std::end(turn_marks)) continue;
    if (turns.empty()) spelling = token_spelling({&labels});
    std::string role(mark->second);
    if (role.empty()) role = role_at(labels, i + 1, spelling);
    if (role.empty()) continue;
    if (!turns.empty()) turns.back().end = i;
    turns.push_back({std::move(role), i, end_of_text(labels)});
  }
  return turns.size() > 1 ? turns : std::vector<AxisSpan>();
}

std::vector<AxisSpan> segments_of(const std::vector<std::string>& labels) {
  std::vector<AxisSpan> segments;
  const std::size_t end = end_of_text(labels);
  std::size_t first = 0;
  for (std::size_t i = 0; i <= end; ++i) {
    if (i < end && !is_one_of(labels[i], separators)) continue;
    while (first < i && is_special_token(labels[first])) ++first;
    if (i > first) segments.push_back({translated("segment {1}", segments.size()), first, i});
    first = i + 1;
  }
  return segments.size() > 1 ? segments : std::vector<AxisSpan>();
}

std::vector<AxisSpan> sentences_of(const std::vector<std::string>& labels) {
  return Sentences(labels).find();
}

}  // namespace attn
