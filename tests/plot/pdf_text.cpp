#include "plot/pdf_text.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

#include <libdeflate.h>

namespace attn::test {

std::string pdf_text(const std::string& bytes) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  constexpr std::string_view begin = "\nstream\n", end = "\nendstream";
  constexpr std::size_t longest = 16U << 20;
  std::string text = bytes, stream;
  for (std::size_t at = bytes.find(begin); at != bytes.npos; at = bytes.find(begin, at)) {
    at += begin.size();
    stream.resize(longest);
    std::size_t length = 0;
    if (libdeflate_zlib_decompress(decompressor.get(), bytes.data() + at, bytes.find(end, at) - at,
                                   stream.data(), stream.size(), &length) != LIBDEFLATE_SUCCESS) {
      continue;
    }
    text.append("\n").append(stream, 0, length);
  }
  return text;
}

}  // namespace attn::test
