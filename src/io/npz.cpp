#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "io/numpy.hpp"
#include "io/zip_archive.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view extension = ".npy";
constexpr const char* save_archive_again = to_translate("save the arrays again with numpy.savez");

// Writes an archive into memory.
class ArchiveWriter {
 public:
  ArchiveWriter() {
    ZipError error;
    source_ = zip_source_buffer_create(nullptr, 0, 0, error.get());
    if (source_ == nullptr) fail(error.text());
    // The archive frees the source when it is closed, but its bytes are read afterwards.
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
    // The first date of zip archives, so that equal tensors give equal bytes.
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
    throw Error(ErrorKind::internal, translated("cannot create a zip archive: {1}", reason), "",
                "");
  }
  [[noreturn]] void fail_and_free(const std::string& reason) {
    zip_source_free(source_);
    fail(reason);
  }
  [[noreturn]] void fail_to_read() { fail(zip_error_strerror(zip_source_error(source_))); }

  zip_source_t* source_;
  Archive archive_;
};

constexpr MemberAdvice advice{
    save_archive_again, to_translate("save it with numpy.savez or numpy.savez_compressed"),
    to_translate("save it as a .npy file, which need not be unpacked, or raise the limit with "
                 "Limits::unpacked_bytes"),
    to_translate("save it as a .npy file, which need not be unpacked")};

// The header of a member; absent for one that is damaged, which is told as it is read.
std::optional<NpyContent> content_of(zip_t* archive, std::uint64_t member) {
  constexpr std::size_t most_header = 1 << 16;
  std::vector<std::byte> start(most_header);
  zip_file_t* const file = zip_fopen_index(archive, member, 0);
  if (file == nullptr) return std::nullopt;
  std::size_t used = 0;
  // Headers are short: what does not fit into the first bytes is read in a second step.
  for (const std::size_t wanted : {std::size_t{256}, most_header}) {
    const zip_int64_t count = zip_fread(file, start.data() + used, wanted - used);
    used += count > 0 ? static_cast<std::size_t>(count) : 0;
    const bool whole = used < wanted;
    try {
      NpyContent content = npy_content(std::span(start).first(used));
      zip_fclose(file);
      return content;
    } catch (const Error&) {
      if (whole) break;
    }
  }
  zip_fclose(file);
  return std::nullopt;
}

}  // namespace

Npz::Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Limits& limits)
    : bytes_(bytes), owner_(std::move(owner)), limits_(limits) {
  const Archive archive = open_archive(bytes);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  bool arrays = false;
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
      // Members that share bytes would unpack them many times.
      throw input_error(translated("the members of the zip archive overlap"), "",
                        translated(save_archive_again));
    }
    std::string name = given;
    if (name.ends_with('/')) continue;
    if (name.ends_with(extension)) {
      arrays = true;
      name.resize(name.size() - extension.size());
    }
    names_.push_back(std::move(name));
    members_.push_back(i);
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
  set_others_aside(archive.get());
}

// Takes members out of the tensors that hold no numbers by their headers.
void Npz::set_others_aside(zip_t* archive) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> members;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::optional<NpyContent> content = content_of(archive, members_[i]);
    if (!content || (content->type.type && element_count(content->shape) > 0)) {
      names.push_back(std::move(names_[i]));
      members.push_back(members_[i]);
      continue;
    }
    OtherMember& other = others_.emplace_back();
    other.name = names_[i];
    if (content->type.type) {
      other.reason = empty_reason(content->shape);
      continue;
    }
    other.reason = content->type.reason();
    if (!content->type.holds_texts()) continue;
    other.texts = [bytes = bytes_, owner = owner_, limits = limits_, member = members_[i],
                   own = *content] {
      const Archive again = open_archive(bytes);
      const UnpackedMember whole = unpacked_member(again.get(), member, limits, advice);
      return numpy_texts(own.type, own.shape, whole.bytes.subspan(own.data_at), own.column_major);
    };
  }
  names_ = std::move(names);
  members_ = std::move(members);
}

RawArray Npz::raw(std::size_t index) const {
  // A libzip handle belongs to one thread at a time; opening one reads the table of contents only.
  const Archive archive = open_archive(bytes_);
  const UnpackedMember member = unpacked_member(archive.get(), members_[index], limits_, advice);
  return npy_array(member.bytes, member.owner);
}

Tensor Npz::read(std::size_t index) const {
  try {
    const RawArray array = raw(index);
    check_element_limit(element_count(array.shape), limits_.elements, "");
    return tensor_from(array);
  } catch (const Error& error) {
    throw error.inside("member " + in_quotes(names_[index]));
  }
}

std::string Npz::stored_type(std::size_t index) const {
  try {
    return name(raw(index).type);
  } catch (const Error& error) {
    throw error.inside("member " + in_quotes(names_[index]));
  }
}

std::string npz_bytes(std::span<const NamedTensor> tensors) {
  if (tensors.empty()) {
    // libzip writes no archive without members; this is the record of an empty table of contents.
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
