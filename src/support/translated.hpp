#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/language.hpp"

namespace attn {

/// Makes this thread's texts English during its lifetime if `wanted`, for texts that programs read
/// and for pictures in matplotlib's style.
class InEnglish {
 public:
  explicit InEnglish(bool wanted) noexcept;
  ~InEnglish();
  InEnglish(const InEnglish&) = delete;
  InEnglish& operator=(const InEnglish&) = delete;

 private:
  bool wanted_;
};

/// Texts of one language by their English texts, from a file that gettext's msgfmt writes (GNU
/// gettext manual, "The Format of GNU MO Files"). Only the first form of a plural is known, which
/// is all that languages without plurals have.
class Catalogue {
 public:
  struct Entry {
    std::string_view english;
    std::string_view plural;  ///< empty for none
    std::string_view text;
  };

  /// Throws Error(input) at `where` if the bytes are no catalogue in this machine's byte order.
  Catalogue(std::string bytes, const std::string& where);

  /// Text in this language; absent if the catalogue lacks it.
  std::optional<std::string_view> find(std::string_view english) const noexcept;

  /// All texts, sorted by the English ones. The first, for the empty text, is the file's header.
  std::span<const Entry> entries() const noexcept { return entries_; }

 private:
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace attn
