#include "io/npz.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <zip.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/npy.hpp"
#include "support/in_quotes.hpp"
#include "support/memory_limit.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view extension = ".npy";
constexpr const char* save_archive_again = to_translate("save the arrays again with numpy.savez");

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Member = std::unique_ptr<zip_file_t, Close>;

// Text of a libzip error, freed with it.
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

// Writes an archive into memory.
class ArchiveWriter {
 public:
  ArchiveWriter() {
    ZipError error;
    source_ = zip_source_buffer_create(nullptr, 0, 0, error.get());
    if (source_ == nullptr) fail(error.text());
    // The archive frees the source when closed, but the bytes are still to be read from it.
    zip_source_keep(source_);
    archive_.reset(zip_open_from_source(source_, ZIP_TRUNCATE, error.get()));
    if (!archive_) {
      zip_source_free(source_);
      fail_and_free(error.text());
    }
  }
  ~ArchiveWriter() {
    archive_.reset();
    zip_source_free(source_);
  }
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // `contents` must live until finish() has returned.
  void add(const std::string& name, std::string_view contents) {
    zip_source_t* source = zip_source_buffer(archive_.get(), contents.data(), contents.size(), 0);
    if (source == nullptr) fail(zip_strerror(archive_.get()));
    const zip_int64_t index = zip_file_add(archive_.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(zip_strerror(archive_.get()));
    }
    // The first day a zip archive can name, so that equal tensors give equal bytes.
    constexpr zip_uint16_t first_of_january_1980 = 1 << 5 | 1;
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(archive_.get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive_.get(), entry, 0, first_of_january_1980, 0) != 0) {
      fail(zip_strerror(archive_.get()));
    }
  }

  std::string finish() {
    if (zip_close(archive_.get()) != 0) fail(zip_strerror(archive_.get()));
    static_cast<void>(archive_.release());
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_source_stat(source_, &status) != 0 || zip_source_open(source_) != 0) fail_to_read();
    std::string bytes(status.size, '\0');
    const zip_int64_t count = zip_source_read(source_, bytes.data(), bytes.size());
    zip_source_close(source_);
    if (count < 0 || static_cast<std::uint64_t>(count) != bytes.size()) fail_to_read();
    return bytes;
  }

 private:
  [[noreturn]] static void fail(const std::string& reason) {
    throw Error(ErrorKind::internal, translated("cannot make a zip archive: {1}", reason), "", "");
  }
  [[noreturn]] void fail_and_free(const std::string& reason) {
    zip_source_free(source_);
    fail(reason);
  }
  [[noreturn]] void fail_to_read() { fail(zip_error_strerror(zip_source_error(source_))); }

  zip_source_t* source_;
  Archive archive_;
};

bool is_data_pickle(std::string_view name) {
  return name == "data.pkl" || name.ends_with("/data.pkl");
}

// Throws unless the member can be read and its claimed size is one it can have.
void check_claims(const zip_stat_t& status, const Limits& limits) {
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((status.valid & needed) != needed) {
    throw input_error(translated("the zip archive does not say how large the member is"), "",
                      translated(save_archive_again));
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
        "", translated("save it with numpy.savez or numpy.savez_compressed"));
  }
  if (status.size > limits.unpacked_bytes) {
    throw input_error(translated("the member takes {1} bytes, and the limit is {2}", status.size,
                                 limits.unpacked_bytes),
                      "",
                      translated("save it as a .npy file, which need not be unpacked, or raise the "
                                 "limit with Limits::unpacked_bytes"));
  }
  // Deflate turns no byte into more than 1032; beyond that the claim is a lie and not worth the
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

Tensor read_member(zip_t* archive, std::uint64_t index, const Limits& limits, ElementType* type) {
  zip_stat_t status;
  if (zip_stat_index(archive, index, 0, &status) != 0) {
    throw input_error(zip_strerror(archive), "", translated(save_archive_again));
  }
  check_claims(status, limits);
  check_memory(status.size, 1, translated("the unpacked member"), "",
               translated("save it as a .npy file, which need not be unpacked"));
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) {
    throw input_error(translated("the member cannot be read: {1}", zip_strerror(archive)), "",
                      translated(save_archive_again));
  }
  const auto buffer =
      std::shared_ptr<std::byte[]>(std::make_unique_for_overwrite<std::byte[]>(status.size));
  std::uint64_t used = 0;
  zip_int64_t count = 0;
  // The checksum is compared when the end is read, so one byte more than there should be is asked
  // for.
  std::byte beyond{};
  do {
    std::byte* const to = used < status.size ? buffer.get() + used : &beyond;
    count = zip_fread(member.get(), to, used < status.size ? status.size - used : 1);
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
  return parse_npy({buffer.get(), status.size}, buffer, type);
}

}  // namespace

Npz::Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Limits& limits)
    : bytes_(bytes), owner_(std::move(owner)), limits_(limits) {
  const Archive archive = open_archive(bytes);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  bool arrays = false, pickle = false;
  std::uint64_t stored_bytes = 0;
  for (std::uint64_t i = 0; std::cmp_less(i, entries); ++i) {
    const char* const given = zip_get_name(archive.get(), i, 0);
    if (given == nullptr) {
      throw input_error(
          translated("the zip archive cannot be read: {1}", zip_strerror(archive.get())), "",
          translated("the file is damaged: copy or download it again"));
    }
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive.get(), i, 0, &status) == 0 &&
        (status.valid & ZIP_STAT_COMP_SIZE) != 0 &&
        (__builtin_add_overflow(stored_bytes, status.comp_size, &stored_bytes) ||
         stored_bytes > bytes.size())) {
      // The same bytes would be unpacked again and again.
      throw input_error(translated("the members of the zip archive overlap"), "",
                        translated(save_archive_again));
    }
    std::string name = given;
    if (name.ends_with('/')) continue;
    pickle = pickle || is_data_pickle(name);
    if (name.ends_with(extension)) {
      arrays = true;
      name.resize(name.size() - extension.size());
    }
    names_.push_back(std::move(name));
    members_.push_back(i);
  }
  if (pickle) {
    throw input_error(
        translated("this is a PyTorch checkpoint, whose pickles are programs and are not run"), "",
        translated("save its tensors with safetensors.torch.save_file or numpy.savez"));
  }
  if (!arrays && !names_.empty()) {
    throw input_error(translated("this is a zip archive without a .npy file"), "",
                      translated("a .npz file is what numpy.savez writes"));
  }
  std::vector<std::string_view> sorted(names_.begin(), names_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    throw input_error(translated("the zip archive holds {1} twice", in_quotes(*repeated)), "",
                      translated(save_archive_again));
  }
}

Tensor Npz::read(std::size_t index, ElementType* type) const {
  // libzip's handles belong to one thread at a time; opening costs a look at the table of contents.
  const Archive archive = open_archive(bytes_);
  try {
    return read_member(archive.get(), members_[index], limits_, type);
  } catch (const Error& error) {
    throw error.inside("member " + in_quotes(names_[index]));
  }
}

std::string npz_bytes(std::span<const NamedTensor> tensors) {
  if (tensors.empty()) {
    // libzip writes no archive without members: the record of an empty table of contents is one.
    std::string empty(22, '\0');
    return empty.replace(0, 4, "PK\x05\x06");
  }
  std::vector<std::string> members;
  members.reserve(tensors.size());
  for (const NamedTensor& named : tensors) members.push_back(npy_bytes(named.tensor));
  ArchiveWriter archive;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    archive.add(tensors[i].name + std::string(extension), members[i]);
  }
  return archive.finish();
}

}  // namespace attn
