#include "support/utf8.hpp"

#include <algorithm>
#include <array>

#include <utf8proc.h>

namespace attn {

std::size_t utf8_length(std::string_view text) noexcept {
  constexpr std::size_t longest = 4;
  utf8proc_int32_t character = 0;
  const auto length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min(text.size(), longest)), &character);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

void append_utf8(std::string& text, char32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t count =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

}  // namespace attn
