#include "support/translated.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attn/error.hpp"

#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::uint32_t magic = 0x950412de;
constexpr std::size_t header_bytes = 20;

// Reads at offsets from the file itself, never outside its bytes.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool whole() const noexcept { return whole_; }

  std::size_t number(std::size_t at) {
    std::uint32_t value = 0;
    if (at > bytes_.size() || bytes_.size() - at < sizeof value) {
      whole_ = false;
    } else {
      std::memcpy(&value, bytes_.data() + at, sizeof value);
    }
    return value;
  }

  // A row of a table is the length and the offset of a text.
  std::string_view text(std::size_t row) {
    const std::size_t length = number(row), begin = number(row + 4);
    if (begin > bytes_.size() || bytes_.size() - begin < length) whole_ = false;
    return whole_ ? bytes_.substr(begin, length) : std::string_view{};
  }

 private:
  std::string_view bytes_;
  bool whole_ = true;
};

std::string_view first_of(std::string_view forms) {
  return forms.substr(0, forms.find('\0'));
}

}  // namespace

Catalogue::Catalogue(std::string bytes, const std::string& where) : bytes_(std::move(bytes)) {
  Bytes read(bytes_);
  const std::size_t found = read.number(0), count = read.number(8), english = read.number(12),
                    texts = read.number(16);
  for (std::size_t i = 0; found == magic && read.whole() && i < count; ++i) {
    const std::string_view both = read.text(english + 8 * i), first = first_of(both);
    entries_.push_back({first, both.substr(std::min(first.size() + 1, both.size())),
                        first_of(read.text(texts + 8 * i))});
  }
  const bool sorted =
      std::is_sorted(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.english < b.english; });
  if (bytes_.size() < header_bytes || found != magic || !read.whole() || !sorted) {
    throw input_error(translated("the file is not a catalogue of translations"), where,
                      translated("make it with msgfmt, or install the program again"));
  }
}

std::optional<std::string_view> Catalogue::find(std::string_view english) const noexcept {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), english,
      [](const Entry& entry, std::string_view wanted) { return entry.english < wanted; });
  if (at == entries_.end() || at->english != english || at->text.empty()) return std::nullopt;
  return at->text;
}

namespace {

std::atomic<const Catalogue*> spoken = nullptr;

thread_local int english = 0;  // number of InEnglish objects

// Texts that this thread has made in English since the first of them, with what a reader sees.
thread_local std::map<std::string, std::string> english_texts;

const Catalogue* catalogue_of_this_thread() noexcept {
  return english > 0 ? nullptr : spoken.load(std::memory_order_acquire);
}

std::string_view looked_up(std::string_view text) noexcept {
  const Catalogue* const catalogue = catalogue_of_this_thread();
  return catalogue ? catalogue->find(text).value_or(text) : text;
}

bool is_ideograph(char32_t character) noexcept {
  return character >= 0x4E00 && character <= 0x9FFF;
}

// Whether a space belongs between the character and a Chinese one next to it: for letters, digits,
// signs and straight quotes, not for Chinese characters and the punctuation `close`.
bool takes_space(char32_t character, std::string_view close) noexcept {
  if (character < 0x80) {
    return character > ' ' && close.find(static_cast<char>(character)) == std::string_view::npos;
  }
  constexpr char32_t middle_dot = 0xB7;
  const bool punctuation = (character >= 0x2010 && character <= 0x2027) ||
                           (character >= 0x3000 && character <= 0x303F) ||
                           (character >= 0xFF00 && character <= 0xFFEF);
  return !is_ideograph(character) && !punctuation && character != middle_dot;
}

char32_t last_character(std::string_view text) noexcept {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && continues_character(text[begin])) --begin;
  return first_character(text.substr(begin)).code;
}

// Appends a piece of a text. A Chinese character and a Latin one that meet there get a space
// between them, which a translator cannot write where values are now words, now numbers.
void append(std::string& text, std::string_view piece, bool spaced) {
  if (spaced && !text.empty() && !piece.empty()) {
    const char32_t before = last_character(text), after = first_character(piece).code;
    // A name such as ".png" may begin with a dot, and one such as "the (2)" end with a bracket.
    constexpr std::string_view at_beginning = "(),:;!?", at_end = "(,.:;!?";
    if ((is_ideograph(before) && takes_space(after, at_beginning)) ||
        (takes_space(before, at_end) && is_ideograph(after))) {
      text += ' ';
    }
  }
  text += piece;
}

}  // namespace

void speak(const std::filesystem::path& catalogue) {
  // All catalogues are kept, because other threads may still read an earlier one.
  static std::mutex guard;
  static std::vector<std::unique_ptr<const Catalogue>> kept;
  if (catalogue.empty()) {
    spoken = nullptr;
    return;
  }
  auto read = std::make_unique<const Catalogue>(
      std::string(MappedFile::open(FileName::by_user(catalogue))->text()), catalogue.string());
  const std::lock_guard lock(guard);
  kept.push_back(std::move(read));
  spoken = kept.back().get();
}

InEnglish::InEnglish(bool wanted) noexcept : wanted_(wanted) {
  english += wanted_ ? 1 : 0;
}

InEnglish::~InEnglish() {
  english -= wanted_ ? 1 : 0;
  if (english == 0) english_texts.clear();
}

std::string for_reader(const std::string& text) {
  const auto known = english_texts.find(text);
  return known == english_texts.end() ? text : known->second;
}

bool is_translated(std::string_view text) noexcept {
  const Catalogue* const catalogue = catalogue_of_this_thread();
  return catalogue && catalogue->find(text);
}

namespace {

// A value that the English text has in double quotes is a name that it repeats.
std::string filled_pattern(std::string_view text, std::string_view pattern,
                           std::span<const std::string> values) {
  const bool spaced = pattern.data() != text.data();
  std::string filled;
  std::size_t end = 0;  // of what is filled in already
  bool after_quoted = false;
  for (std::size_t i = 0; i + 2 < pattern.size(); ++i) {
    const bool placeholder = pattern[i] == '{' && pattern[i + 1] >= '1' && pattern[i + 1] <= '9' &&
                             pattern[i + 2] == '}';
    const std::size_t number = placeholder ? static_cast<std::size_t>(pattern[i + 1] - '1') : 0;
    if (!placeholder || number >= values.size()) continue;
    append(filled, pattern.substr(end, i - end), spaced && !after_quoted);
    // Quotes stand close to what they hold.
    const bool in_quotes = i > 0 && i + 3 < pattern.size() && pattern[i - 1] == pattern[i + 3] &&
                           (pattern[i - 1] == '"' || pattern[i - 1] == '\'');
    after_quoted = in_quotes;
    const bool quoted = text.find(std::string{'"', '{', pattern[i + 1], '}', '"'}) != text.npos;
    const std::string& value = values[number];
    append(filled, quoted ? shown_name(value) : value, spaced && !in_quotes);
    end = i + 3;
    i = end - 1;
  }
  append(filled, pattern.substr(end), spaced && !after_quoted);
  return filled;
}

// Text of an entry by its English text or its plural.
std::optional<std::string_view> found_by_any(const Catalogue& catalogue,
                                             std::string_view english_text) noexcept {
  if (const auto text = catalogue.find(english_text)) return text;
  const auto at = std::ranges::find(catalogue.entries(), english_text, &Catalogue::Entry::plural);
  if (english_text.empty() || at == catalogue.entries().end() || at->text.empty())
    return std::nullopt;
  return at->text;
}

// Keeps what a reader sees of a text that was made in English.
void remember(std::string_view text, std::span<const std::string> values, const std::string& made) {
  const Catalogue* const catalogue = english > 0 ? spoken.load(std::memory_order_acquire) : nullptr;
  const auto pattern = catalogue ? found_by_any(*catalogue, text) : std::nullopt;
  if (!pattern) return;
  std::vector<std::string> own;
  for (const std::string& value : values) own.push_back(for_reader(value));
  english_texts[made] = filled_pattern(text, *pattern, own);
}

}  // namespace

std::string name_separator() {
  return translated("{1}, {2}", "", "");
}

std::string translated(std::string_view text) {
  std::string made(looked_up(text));
  remember(text, {}, made);
  return made;
}

std::string translated_with(std::string_view text, std::initializer_list<std::string> values) {
  const std::span<const std::string> own(values.begin(), values.size());
  std::string made = filled_pattern(text, looked_up(text), own);
  remember(text, own, made);
  return made;
}

}  // namespace attn
