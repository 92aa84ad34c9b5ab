#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace attn {

/// A file that was written, with the size and the hash of its content: XXH3 of 128 bits, as
/// `xxh128sum` prints it.
struct WrittenFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::string hash;
};

}  // namespace attn
