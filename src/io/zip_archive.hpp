#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "attn/file_access.hpp"

#include "io/zip_library.hpp"

namespace attn {

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
/// An open zip archive. Belongs to one thread at a time.
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

/// Text of a libzip error, which owns it.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

/// Reads the table of contents. Throws Error(input) if it is damaged.
Archive open_archive(std::span<const std::byte> bytes);

/// Helps of the errors of members, which depend on who wrote the archive; to be translated.
struct MemberAdvice {
  const char* again;       ///< write the archive again
  const char* compressed;  ///< compress by another method
  const char* limit;       ///< keep the member below the limit of its size
  const char* memory;      ///< need less memory
};

/// The bytes of a member, in memory of their own.
struct UnpackedMember {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Unpacks a member. Throws Error(input) if it is damaged, encrypted, compressed in an unknown way,
/// or larger than the limit or the memory.
UnpackedMember unpacked_member(zip_t* archive, std::uint64_t index, const Limits& limits,
                               const MemberAdvice& advice);

/// True if the bytes start like a zip archive.
bool looks_like_zip(std::span<const std::byte> bytes) noexcept;

}  // namespace attn
