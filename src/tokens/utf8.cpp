#include "tokens/utf8.hpp"

#include <utf8proc.h>

#include "attn/error.hpp"

namespace attn {

std::u32string characters_of(std::string_view utf8, std::string_view where) {
  std::u32string characters;
  characters.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data() + i),
                         static_cast<utf8proc_ssize_t>(utf8.size() - i), &code);
    if (bytes <= 0) {
      throw input_error("byte " + std::to_string(i) + " of the text is no UTF-8",
                        std::string(where), "write the text in UTF-8");
    }
    characters.push_back(static_cast<char32_t>(code));
    i += static_cast<std::size_t>(bytes);
  }
  return characters;
}

}  // namespace attn
