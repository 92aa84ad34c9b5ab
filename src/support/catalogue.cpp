#include "support/catalogue.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::uint32_t magic = 0x950412de;
constexpr std::size_t header_bytes = 20;

/// Reads what the file's own numbers point at, and nothing outside it.
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

  // A table's row is the length of a text and where it begins.
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
    throw input_error(translated("the file is no catalogue of translations"), where,
                      translated("make it with msgfmt, or install the program anew"));
  }
}

std::optional<std::string_view> Catalogue::find(std::string_view english) const noexcept {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), english,
      [](const Entry& entry, std::string_view wanted) { return entry.english < wanted; });
  if (at == entries_.end() || at->english != english || at->text.empty()) return std::nullopt;
  return at->text;
}

}  // namespace attn
