#include "view/packed_block.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <libdeflate.h>

namespace attn {
namespace {

// Higher levels take twice the time for a hundredth less.
constexpr int compression_level = 6;

}  // namespace

std::string packed_block(std::string_view bytes) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(compression_level), libdeflate_free_compressor);
  if (compressor == nullptr) throw std::bad_alloc();
  std::string packed(libdeflate_deflate_compress_bound(compressor.get(), bytes.size()), '\0');
  packed.resize(libdeflate_deflate_compress(compressor.get(), bytes.data(), bytes.size(),
                                            packed.data(), packed.size()));
  return base64(packed);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace attn
