#include "plot/text/token_labels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <utf8proc.h>

#include "plot/libraries/drawing_libraries.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view wordpiece_mark = "##";
constexpr std::string_view sentence_piece_space = "\u2581";
constexpr std::string_view byte_level_space = "\u0120";
constexpr std::string_view visible_space = "\u2423";
constexpr std::string_view continuation_mark = "\u00B7";
constexpr char32_t first_shifted_byte = 0x100;

// GPT-2's alphabet: printable bytes of Latin-1 are their own letters, the others follow one
// another from U+0100.
std::optional<char> byte_of(char32_t letter) {
  const auto printable = [](char32_t byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
  };
  static const auto shifted = [&] {
    std::array<char, 68> bytes{};
    std::size_t count = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!printable(byte)) bytes[count++] = static_cast<char>(byte);
    }
    return bytes;
  }();
  if (printable(letter)) return static_cast<char>(letter);
  if (letter >= first_shifted_byte && letter < first_shifted_byte + shifted.size()) {
    return shifted[letter - first_shifted_byte];
  }
  return std::nullopt;
}

// Bytes of the longest UTF-8 text that begins a text.
std::size_t utf8_prefix(std::string_view text) {
  std::size_t end = 0;
  while (const std::size_t bytes = utf8_length(text.substr(end))) end += bytes;
  return end;
}

// The bytes that a byte-level token stands for; nothing if it is another string.
std::optional<std::string> decoded(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const Utf8Character letter = first_character(token);
    const auto byte = byte_of(letter.code);
    if (letter.bytes == 0 || !byte) return std::nullopt;
    bytes += *byte;
    token.remove_prefix(letter.bytes);
  }
  return bytes;
}

// Text has no control characters but those of white space, and is UTF-8 though for what a cut at
// either end left of a letter.
bool is_text(std::string_view bytes) {
  constexpr std::size_t longest_rest = 3;
  for (std::size_t i = 0; i < longest_rest && !bytes.empty() && continues_character(bytes.front());
       ++i) {
    bytes.remove_prefix(1);
  }
  if (bytes.size() - utf8_prefix(bytes) > longest_rest) return false;
  return std::none_of(bytes.begin(), bytes.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) < ' ' && byte != '\n' && byte != '\t' &&
            byte != '\r') ||
           byte == '\x7F';
  });
}

// Whether "Ġ" means a space: names such as Ġorġ have it too, but are no text when decoded. One
// label in many that is none does not count: files have such.
bool is_byte_level(const std::vector<const std::vector<std::string>*>& lists) {
  constexpr std::size_t most = 4;  // texts for each label that is none
  std::size_t texts = 0, others = 0;
  for (const auto* list : lists) {
    for (const std::string& label : *list) {
      const auto token = decoded(label);
      if (token && !is_text(*token)) {
        ++others;
      } else if (label.starts_with(byte_level_space)) {
        ++texts;
      }
    }
  }
  return texts > 0 && others * most <= texts;
}

bool any_starts_with(const std::vector<const std::vector<std::string>*>& lists,
                     std::string_view prefix) {
  return std::any_of(lists.begin(), lists.end(), [&](const auto* list) {
    return std::any_of(list->begin(), list->end(), [&](const std::string& label) {
      return label.size() > prefix.size() && label.starts_with(prefix);
    });
  });
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The byte that SentencePiece writes as "<0x0A>", having no piece for it.
std::optional<char> byte_of_piece(std::string_view label) {
  constexpr std::string_view before = "<0x";
  constexpr std::size_t hex_digits = 2;
  if (label.size() != before.size() + hex_digits + 1 || !label.starts_with(before) ||
      !label.ends_with('>')) {
    return std::nullopt;
  }
  const std::string_view digits = label.substr(before.size(), hex_digits);
  unsigned int byte = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), byte, 16);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return static_cast<char>(byte);
}

bool is_mark(char32_t letter) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(letter));
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

// Whether a letter is one of words that are separated by spaces.
bool is_of_spaced_word(char32_t letter) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(letter));
  const bool letter_or_number =
      category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO && !is_mark(letter);
  if (!letter_or_number) return false;
  constexpr char32_t first_unspaced = 0x0E00;  // Thai; asking for a script loads a library
  if (letter < first_unspaced) return true;
  switch (g_unichar_get_script(letter)) {
    case G_UNICODE_SCRIPT_HAN:
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA:
    case G_UNICODE_SCRIPT_BOPOMOFO:
    case G_UNICODE_SCRIPT_THAI:
    case G_UNICODE_SCRIPT_LAO:
    case G_UNICODE_SCRIPT_KHMER:
    case G_UNICODE_SCRIPT_MYANMAR:
    case G_UNICODE_SCRIPT_TIBETAN:
      return false;
    default:
      return true;
  }
}

bool begins_with_letter(std::string_view text) {
  const Utf8Character first = first_character(text);
  return first.bytes != 0 && is_of_spaced_word(first.code);
}

bool ends_with_letter(std::string_view text) {
  if (text.empty()) return false;
  std::size_t last = text.size() - 1;
  while (last > 0 && continues_character(text[last])) --last;
  const Utf8Character letter = first_character(text.substr(last));
  return letter.bytes != 0 && last + letter.bytes == text.size() &&
         (is_of_spaced_word(letter.code) || is_mark(letter.code));
}

// Spaces at the ends, where nobody sees them, become visible.
std::string with_visible_ends(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return replaced(text, " ", visible_space);
  const std::size_t end = text.find_last_not_of(' ') + 1;
  return replaced(text.substr(0, first), " ", visible_space) + text.substr(first, end - first) +
         replaced(text.substr(end), " ", visible_space);
}

// A special token in few letters: "<bos>" for "<|begin_of_text|>", "<im_start>" for "<|im_start|>".
std::string short_special(const std::string& token) {
  constexpr std::size_t most_letters = 12;
  constexpr std::pair<std::string_view, const char*> known[] = {
      {"begin_of_text", "<bos>"}, {"begin▁of▁sentence", "<bos>"}, {"startoftext", "<bos>"},
      {"end_of_text", "<eos>"},   {"end▁of▁sentence", "<eos>"},   {"endoftext", "<eos>"},
      {"eot_id", "<eot>"}};
  if (!token.starts_with('<')) return token;
  std::string name = token.substr(1, token.size() - 2);
  for (const std::string_view bar : {"|", "｜"}) {
    if (name.size() <= 2 * bar.size() || !name.starts_with(bar) || !name.ends_with(bar)) continue;
    name = name.substr(bar.size(), name.size() - 2 * bar.size());
    for (const auto& [own, text] : known) {
      if (name == own) return text;
    }
    return shortened("<" + name + ">", most_letters);
  }
  return token;
}

// A text that would leave no ink, in signs.
std::string visible(std::string text) {
  if (text.empty()) return "∅";
  if (text.find_first_not_of(' ') == std::string::npos) return replaced(text, " ", visible_space);
  constexpr std::pair<std::string_view, const char*> without_width[] = {
      {"\u200b", "\\u200b"}, {"\u200c", "\\u200c"}, {"\u200d", "\\u200d"}, {"\ufeff", "\\ufeff"}};
  for (const auto& [letter, escape] : without_width) {
    if (text == letter) return escape;
  }
  return text;
}

bool begins_word(const std::string& label, const std::string& text, TokenSpelling spelling) {
  switch (spelling) {
    case TokenSpelling::plain:
      return true;
    case TokenSpelling::wordpiece:
      return label.size() <= wordpiece_mark.size() || !label.starts_with(wordpiece_mark);
    case TokenSpelling::sentencepiece:
    case TokenSpelling::byte_level:
    case TokenSpelling::spaced:
      return text.starts_with(' ') || text.starts_with('\n');
  }
  return true;
}

}  // namespace

std::string token_text(const std::string& label, TokenSpelling spelling) {
  if (spelling == TokenSpelling::sentencepiece) {
    if (const auto byte = byte_of_piece(label)) return {*byte};
    return replaced(label, sentence_piece_space, " ");
  }
  if (spelling == TokenSpelling::byte_level) {
    const auto bytes = decoded(label);
    return bytes && is_text(*bytes) ? *bytes : label;
  }
  return label;
}

bool is_special_token(std::string_view label) {
  constexpr std::size_t least_size = 3;
  if (label.size() < least_size || byte_of_piece(label)) return false;
  return (label.front() == '[' && label.back() == ']') ||
         (label.front() == '<' && label.back() == '>');
}

TokenSpelling token_spelling(const std::vector<const std::vector<std::string>*>& lists) {
  if (any_starts_with(lists, sentence_piece_space)) return TokenSpelling::sentencepiece;
  if (any_starts_with(lists, byte_level_space) && is_byte_level(lists)) {
    return TokenSpelling::byte_level;
  }
  if (any_starts_with(lists, wordpiece_mark)) return TokenSpelling::wordpiece;
  if (any_starts_with(lists, " ")) return TokenSpelling::spaced;
  return TokenSpelling::plain;
}

std::vector<std::string> readable_tokens(const std::vector<std::string>& labels,
                                         TokenSpelling spelling, bool show_spaces) {
  // Names of other things beside tokens have no spaces at their beginnings.
  const bool plain = spelling == TokenSpelling::spaced && !any_starts_with({&labels}, " ");
  std::vector<std::string> result;
  result.reserve(labels.size());
  bool after_letter = false;
  for (const std::string& label : labels) {
    std::string text = token_text(label, spelling);
    const bool continues =
        after_letter && begins_with_letter(text) && !text.starts_with(byte_level_space);
    after_letter = ends_with_letter(text);
    if (show_spaces) {
      result.push_back(replaced(text, " ", visible_space));
      continue;
    }
    switch (plain ? TokenSpelling::plain : spelling) {
      case TokenSpelling::plain:
        break;
      case TokenSpelling::wordpiece:
        if (text.size() > wordpiece_mark.size() && text.starts_with(wordpiece_mark)) {
          text.replace(0, wordpiece_mark.size(), continuation_mark);
        }
        break;
      case TokenSpelling::sentencepiece:
      case TokenSpelling::byte_level:
      case TokenSpelling::spaced:
        if (text.size() > 1 && text.front() == ' ') {
          text.erase(0, 1);
        } else if (continues) {
          text.insert(0, continuation_mark);
        }
        text = with_visible_ends(text);
        break;
    }
    result.push_back(is_special_token(label) ? short_special(label) : visible(std::move(text)));
  }
  return result;
}

namespace {

bool is_punctuation(const std::string& text) {
  bool any = false;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character letter = first_character(rest);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(letter.code));
    const bool sign = category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
    if (letter.bytes == 0 || (!sign && letter.code != ' ')) return false;
    any = any || sign;
    rest.remove_prefix(letter.bytes);
  }
  return any;
}

// Whether the label and those behind it up to the next word are punctuation, as in "world.".
bool ends_word(const std::vector<std::string>& labels, std::size_t first, TokenSpelling spelling) {
  for (std::size_t i = first; i < labels.size(); ++i) {
    const std::string text = token_text(labels[i], spelling);
    if (i > first && (is_special_token(labels[i]) || begins_word(labels[i], text, spelling))) {
      return true;
    }
    if (!is_punctuation(text)) return false;
  }
  return true;
}

}  // namespace

std::vector<Word> words_of(const std::vector<std::string>& labels, TokenSpelling spelling) {
  std::vector<Word> words;
  bool alone = true;  // whether the word before takes no more pieces
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool special = is_special_token(labels[i]);
    std::string text = special ? labels[i] : token_text(labels[i], spelling);
    const bool begins = special || alone || begins_word(labels[i], text, spelling) ||
                        ends_word(labels, i, spelling);
    alone = special || (begins && is_punctuation(text));
    if (!begins) {
      const bool marked = spelling == TokenSpelling::wordpiece;
      // A character that is spread over several tokens stands whole over each.
      const bool again = spelling == TokenSpelling::spaced && labels[i - 1].ends_with(text) &&
                         text.size() > 1 && utf8_length(text) == text.size();
      if (!again) words.back().text += marked ? text.substr(wordpiece_mark.size()) : text;
      words.back().end = i + 1;
      continue;
    }
    if (spelling != TokenSpelling::plain && text.starts_with(' ')) text.erase(0, 1);
    words.push_back({std::move(text), i, i + 1});
  }
  return words;
}

}  // namespace attn
