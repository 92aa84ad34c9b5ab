#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace attn {

/// Limits of what a file may hold, or claim to hold; more is refused with Error(input). The
/// defaults are more than documents need and less than a machine can take.
struct Limits {
  std::uint64_t file_bytes = 64'000'000'000;      ///< of a regular file, which is memory-mapped
  std::uint64_t stream_bytes = 1'000'000'000;     ///< of standard input and pipes
  std::uint64_t unpacked_bytes = 16'000'000'000;  ///< of one array in an .npz, unpacked
  /// Elements of one tensor, and of all tensors of a document: its inputs, pictures, and the
  /// weights, steps and outputs of all its attentions.
  std::uint64_t elements = 1'000'000'000;
  /// Multiplications with their additions that a document asks for: those of its attentions,
  /// projections and layers, all samples and hidden keys counted, known before they are computed.
  /// Absent = no limit.
  std::optional<double> work = std::nullopt;
  /// Time from opening a document to its result, checked while it is computed; absent = no limit.
  std::optional<double> seconds = std::nullopt;
  std::size_t nesting = 512;  ///< nested arrays and objects in JSON, at most `deepest_nesting`
};

/// Largest Limits::nesting: values within values are destroyed recursively, each on some stack.
inline constexpr std::size_t deepest_nesting = 10000;

class MappedFiles;
class ModelFolders;

/// Rules for the files that are opened for a document. Those that it names, or that an index or a
/// folder among them names, have to be regular files.
struct FileAccess {
  Limits limits;

  /// Folder that must hold every file that a document names, after symbolic links are followed;
  /// absent = no restriction. Names that lead elsewhere are refused in the same words, whatever is
  /// there. The document itself may be in another folder.
  std::optional<std::filesystem::path> restrict_to;

  /// Called with the path and bytes of each file that was opened. The bytes are valid during the
  /// call only.
  std::function<void(const std::filesystem::path&, std::span<const std::byte>)> opened;

  /// Set by run(), draw()…: registry of files mapped in this call. Leave empty.
  std::shared_ptr<MappedFiles> mapped;

  /// Checkpoint folders that stay open between documents; absent = each document opens its own.
  std::shared_ptr<ModelFolders> models = nullptr;

  /// Files that the user named in options, which documents name as if they were their own: they may
  /// be pipes, and in any folder. Options add them.
  std::vector<std::filesystem::path> given = {};
};

/// For a handler of SIGBUS, the signal for reading a mapped file behind its end after another
/// program has shortened it. True if `address` lies in a file of a FileAccess::mapped: then the
/// missing part reads as zeros from now on, the handler should return, and the work ends with
/// Error(file) naming the file. Without such a handler the signal ends the program.
bool cover_shortened_file(const void* address) noexcept;

}  // namespace attn
