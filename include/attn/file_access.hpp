#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace attn {

/// How much a file may hold, or claim to hold, before it is refused with Error(input). The defaults
/// are beyond what documents need and within what a machine can take.
struct Limits {
  std::uint64_t file_bytes = 64'000'000'000;      ///< of a file, which is memory-mapped
  std::uint64_t stream_bytes = 1'000'000'000;     ///< of standard input and pipes
  std::uint64_t unpacked_bytes = 16'000'000'000;  ///< of one array in an .npz, unpacked
  /// Of one tensor, and of all that a document asks for: what it gives, makes and draws, the
  /// weights, steps and outputs of all its attentions.
  std::uint64_t elements = 1'000'000'000;
  std::size_t nesting = 512;  ///< of arrays and objects in JSON, at most `deepest_nesting`
};

/// Values within values are destroyed one within the other, each with some of the stack.
inline constexpr std::size_t deepest_nesting = 10000;

class MappedFiles;
class ModelFolders;

/// Which files may be opened on behalf of a document.
struct FileAccess {
  Limits limits;

  /// The folder that holds every file a document may name, symbolic links followed; absent = any.
  /// The document itself may stand elsewhere. Only regular files are opened then.
  std::optional<std::filesystem::path> restrict_to;

  /// Called with every file that was opened; its bytes are there only during the call.
  std::function<void(const std::filesystem::path&, std::span<const std::byte>)> opened;

  /// The files that were memory-mapped for one piece of work, such as a call of run(), which sets
  /// it.
  std::shared_ptr<MappedFiles> mapped;

  /// Checkpoint folders that stay open from one document to the next; absent = each document opens
  /// its own.
  std::shared_ptr<ModelFolders> models = nullptr;
};

/// For a handler of SIGBUS, which the system sends to who reads a mapped file behind the end that
/// another program gave it meanwhile: whether `address` lies in a file of a FileAccess::mapped. If
/// so, what is missing reads as zeros from now on, the handler is to return, and the work ends with
/// Error(file) naming the file. Without such a handler, the signal ends the program.
bool cover_shortened_file(const void* address) noexcept;

}  // namespace attn
