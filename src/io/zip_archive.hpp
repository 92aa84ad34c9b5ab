#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <zip.h>

#include "attn/file_access.hpp"

#include "support/late_library.hpp"

namespace attn {

/// Library of zip archives, with those of encryption and compression that it needs.
extern const LateLibrary zip_library;

// Its functions, found in this namespace before the library's own, which the program is not linked
// with: one that is missing here does not link.
#define ATTN_ZIP(function) \
  inline constinit const LateFunction<decltype(::function)> function(zip_library, #function)

ATTN_ZIP(zip_close);
ATTN_ZIP(zip_discard);
ATTN_ZIP(zip_error_fini);
ATTN_ZIP(zip_error_init);
ATTN_ZIP(zip_error_strerror);
ATTN_ZIP(zip_fclose);
ATTN_ZIP(zip_file_add);
ATTN_ZIP(zip_file_set_dostime);
ATTN_ZIP(zip_file_strerror);
ATTN_ZIP(zip_fopen_index);
ATTN_ZIP(zip_fread);
ATTN_ZIP(zip_get_name);
ATTN_ZIP(zip_get_num_entries);
ATTN_ZIP(zip_open_from_source);
ATTN_ZIP(zip_set_file_compression);
ATTN_ZIP(zip_source_buffer);
ATTN_ZIP(zip_source_buffer_create);
ATTN_ZIP(zip_source_close);
ATTN_ZIP(zip_source_error);
ATTN_ZIP(zip_source_free);
ATTN_ZIP(zip_source_function_create);
ATTN_ZIP(zip_source_keep);
ATTN_ZIP(zip_source_open);
ATTN_ZIP(zip_source_read);
ATTN_ZIP(zip_source_seek_compute_offset);
ATTN_ZIP(zip_source_stat);
ATTN_ZIP(zip_stat);
ATTN_ZIP(zip_stat_index);
ATTN_ZIP(zip_stat_init);
ATTN_ZIP(zip_strerror);

#undef ATTN_ZIP

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
