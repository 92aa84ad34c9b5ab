#include "io/zip_archive.hpp"

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {

constinit const LateLibrary zip_library{ATTN_ZIP_LIBRARY, "libzip"};

namespace {

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Member = std::unique_ptr<zip_file_t, CloseMember>;

// Throws unless the member can be read and its stated size is possible.
void check_claims(const zip_stat_t& status, const Limits& limits, const MemberAdvice& advice) {
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((status.valid & needed) != needed) {
    throw input_error(translated("the zip archive does not say how large the member is"), "",
                      translated(advice.again));
  }
  if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE) {
    throw input_error(translated("the member is encrypted"), "",
                      translated("save it without a password"));
  }
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE) {
    throw input_error(
        translated(
            "the member is compressed by method {1} of the zip format, which is not supported",
            status.comp_method),
        "", translated(advice.compressed));
  }
  if (status.size > limits.unpacked_bytes) {
    throw input_error(translated("the member takes {1}, and the limit is {2}",
                                 bytes_text(static_cast<double>(status.size)),
                                 bytes_text(static_cast<double>(limits.unpacked_bytes))),
                      "", translated(advice.limit));
  }
  // Deflate unpacks one byte to at most 1032 bytes. A larger stated size is false and not worth the
  // memory.
  constexpr std::uint64_t highest_ratio = 1032;
  const bool possible = status.comp_method == ZIP_CM_STORE
                            ? status.size == status.comp_size
                            : status.size / highest_ratio <= status.comp_size;
  if (!possible) {
    throw input_error(
        translated("the member claims to be {1} bytes, which {2} compressed ones cannot be",
                   status.size, status.comp_size),
        "", translated("the file is damaged: copy or download it again"));
  }
}

}  // namespace

Archive open_archive(std::span<const std::byte> bytes) {
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  zip_t* archive =
      source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, error.get());
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    throw input_error(translated("the zip archive cannot be read: {1}", error.text()), "",
                      translated("the file is damaged or cut off: copy or download it again"));
  }
  return Archive(archive);
}

UnpackedMember unpacked_member(zip_t* archive, std::uint64_t index, const Limits& limits,
                               const MemberAdvice& advice) {
  zip_stat_t status;
  if (zip_stat_index(archive, index, 0, &status) != 0) {
    throw input_error(zip_strerror(archive), "", translated(advice.again));
  }
  check_claims(status, limits, advice);
  check_memory(status.size, 1, translated("the unpacked member"), "", translated(advice.memory));
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) {
    throw input_error(translated("the member cannot be read: {1}", zip_strerror(archive)), "",
                      translated(advice.again));
  }
  const auto buffer =
      std::shared_ptr<std::byte[]>(std::make_unique_for_overwrite<std::byte[]>(status.size));
  std::uint64_t used = 0;
  zip_int64_t count = 0;
  // libzip compares the checksum at the end of the member, so one more byte is read.
  std::byte beyond{};
  do {
    check_time();
    constexpr std::uint64_t most_at_once = 1 << 24;
    std::byte* const to = used < status.size ? buffer.get() + used : &beyond;
    count = zip_fread(member.get(), to,
                      used < status.size ? std::min(status.size - used, most_at_once) : 1);
    if (count > 0) used += static_cast<std::uint64_t>(count);
  } while (count > 0 && used <= status.size);
  if (count < 0) {
    throw input_error(translated("the member is damaged: {1}", zip_file_strerror(member.get())), "",
                      translated("copy or download the file again"));
  }
  if (used != status.size) {
    throw input_error(translated("the member is not as large as the zip archive says"), "",
                      translated("the file is damaged: copy or download it again"));
  }
  return {{buffer.get(), status.size}, buffer};
}

bool looks_like_zip(std::span<const std::byte> bytes) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
}

}  // namespace attn
