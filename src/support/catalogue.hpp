#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The texts of one language by the English ones, read from a file as gettext's msgfmt writes it
/// (GNU gettext manual, "The Format of GNU MO Files"). Of a text with a plural it knows the first
/// form, which is all that languages without plurals have.
class Catalogue {
 public:
  struct Entry {
    std::string_view english;
    std::string_view plural;  ///< empty for none
    std::string_view text;
  };

  /// Throws Error(input) naming `where` if the bytes are no catalogue of this machine's byte order.
  Catalogue(std::string bytes, const std::string& where);

  /// Nothing where the language has no such text.
  std::optional<std::string_view> find(std::string_view english) const noexcept;

  /// In the order of the English texts. The first one, of the empty text, is the file's own header.
  std::span<const Entry> entries() const noexcept { return entries_; }

 private:
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace attn
