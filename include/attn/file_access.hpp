#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

namespace attn {

/// How much a file may hold, or claim to hold, before it is refused with Error(input). The defaults
/// are beyond what documents need and within what a machine can take.
struct Limits {
  std::uint64_t file_bytes = 64'000'000'000;      ///< of a file, which is memory-mapped
  std::uint64_t stream_bytes = 1'000'000'000;     ///< of standard input and pipes
  std::uint64_t unpacked_bytes = 16'000'000'000;  ///< of one array in an .npz, unpacked
  /// Of one tensor of a document, of a set of drawn parameters, of the weights.
  std::uint64_t elements = 4'000'000'000;
  std::size_t nesting = 512;  ///< of arrays and objects in JSON, at most `deepest_nesting`
};

/// Values within values are destroyed one within the other, each with some of the stack.
inline constexpr std::size_t deepest_nesting = 10000;

/// Which files may be opened on behalf of a document.
struct FileAccess {
  Limits limits;

  /// The folder that holds every file a document may name, symbolic links followed; absent = any.
  /// The document itself may stand elsewhere. Only regular files are opened then.
  std::optional<std::filesystem::path> restrict_to;

  /// Called with every file that was opened; its bytes are there only during the call.
  std::function<void(const std::filesystem::path&, std::span<const std::byte>)> opened;
};

}  // namespace attn
