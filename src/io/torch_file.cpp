#include "io/torch_file.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "io/numpy.hpp"
#include "io/pickle.hpp"
#include "support/memory.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

constexpr const char* save_again = to_translate("save the tensors again with torch.save");
constexpr const char* fetch_again =
    to_translate("the file is damaged or cut off: copy or download it again");
constexpr MemberAdvice advice{save_again, save_again, save_again, save_again};

// The number that every old file begins with, after "PROTO 2, LONG1 of 10 bytes".
constexpr std::string_view old_magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_pickle(std::string_view member) {
  return member == "data.pkl" || member.ends_with("/data.pkl");
}

// ---- Bytes of members that are not compressed ---------------------------------------------------

// An archive in memory that remembers where it was read last: libzip does not say where the bytes
// of a member lie.
class WatchedBytes {
 public:
  explicit WatchedBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  zip_source_t* source(zip_error_t* error) {
    return zip_source_function_create(&WatchedBytes::call, this, error);
  }
  std::uint64_t last_read() const noexcept { return last_read_; }

 private:
  static zip_int64_t call(void* self, void* data, zip_uint64_t count, zip_source_cmd_t command) {
    return static_cast<WatchedBytes*>(self)->answer(data, count, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t count, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        at_ = 0;
        return 0;
      case ZIP_SOURCE_READ: {
        last_read_ = at_;
        const std::uint64_t taken = std::min<std::uint64_t>(count, bytes_.size() - at_);
        if (taken > 0) std::memcpy(data, bytes_.data() + at_, taken);
        at_ += taken;
        return static_cast<zip_int64_t>(taken);
      }
      case ZIP_SOURCE_STAT: {
        auto* status = static_cast<zip_stat_t*>(data);
        zip_stat_init(status);
        status->size = bytes_.size();
        status->valid = ZIP_STAT_SIZE;
        return sizeof *status;
      }
      case ZIP_SOURCE_SEEK: {
        ZipError error;
        const zip_int64_t to =
            zip_source_seek_compute_offset(at_, bytes_.size(), data, count, error.get());
        if (to < 0) return -1;
        at_ = static_cast<std::uint64_t>(to);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
      case ZIP_SOURCE_ERROR:
        std::memset(data, 0, 2 * sizeof(int));
        return 2 * sizeof(int);
      default:
        return 0;
    }
  }

  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0, last_read_ = 0;
};

// The table of contents of an archive and where its members lie.
class MemberTable {
 public:
  explicit MemberTable(std::span<const std::byte> bytes) : bytes_(bytes), watched_(bytes) {
    open_archive(bytes);  // for the error of a damaged archive
    ZipError error;
    zip_source_t* source = watched_.source(error.get());
    if (source != nullptr) archive_.reset(zip_open_from_source(source, ZIP_RDONLY, error.get()));
    if (archive_) return;
    if (source != nullptr) zip_source_free(source);
    throw input_error(translated("the zip archive cannot be read: {1}", error.text()), "",
                      translated(fetch_again));
  }

  zip_t* archive() const { return archive_.get(); }

  // The name of the pickle; empty if there is none.
  std::string pickle() const {
    const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
    for (std::uint64_t i = 0; std::cmp_less(i, entries); ++i) {
      const char* name = zip_get_name(archive_.get(), i, 0);
      if (name != nullptr && is_pickle(name)) return name;
    }
    return "";
  }

  std::optional<zip_stat_t> find(const std::string& name) const {
    zip_stat_t status;
    zip_stat_init(&status);
    constexpr zip_uint64_t needed =
        ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat(archive_.get(), name.c_str(), 0, &status) != 0) return std::nullopt;
    if ((status.valid & needed) != needed) return std::nullopt;
    return status;
  }

  // The bytes of a member that is stored as it is. Its checksum is not compared: PyTorch can leave
  // it out.
  std::optional<std::span<const std::byte>> stored(const zip_stat_t& status) {
    const bool encrypted =
        (status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE;
    if (encrypted || status.comp_method != ZIP_CM_STORE || status.size != status.comp_size) {
      return std::nullopt;
    }
    if (status.size == 0) return bytes_.subspan(0, 0);
    zip_file_t* file = zip_fopen_index(archive_.get(), status.index, ZIP_FL_COMPRESSED);
    if (file == nullptr) return std::nullopt;
    std::byte first{};
    const bool read = zip_fread(file, &first, 1) == 1;
    zip_fclose(file);
    const std::uint64_t at = watched_.last_read();
    if (!read || at >= bytes_.size() || status.size > bytes_.size() - at || bytes_[at] != first) {
      return std::nullopt;
    }
    return bytes_.subspan(at, status.size);
  }

 private:
  std::span<const std::byte> bytes_;
  WatchedBytes watched_;  // outlives the archive that reads it
  Archive archive_;
};

bool looks_like_archive(std::span<const std::byte> bytes) {
  if (!text_of(bytes).starts_with("PK\x03\x04")) return false;
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  if (source == nullptr) return false;
  const Archive archive(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive) {
    zip_source_free(source);
    return false;
  }
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (std::uint64_t i = 0; std::cmp_less(i, entries); ++i) {
    const char* name = zip_get_name(archive.get(), i, 0);
    if (name != nullptr && is_pickle(name)) return true;
  }
  return false;
}

bool looks_old(std::span<const std::byte> bytes) noexcept {
  const std::string_view start = text_of(bytes).substr(0, 32);
  return start.starts_with('\x80') && start.find(old_magic) != start.npos;
}

}  // namespace

bool looks_like_torch_file(std::span<const std::byte> bytes) {
  return looks_old(bytes) || looks_like_archive(bytes);
}

/// Reads the pickles of a file and finds its storages.
class TorchFileReader {
 public:
  explicit TorchFileReader(TorchFile& to) : to_(to) {}

  void read_archive(std::span<const std::byte> bytes) {
    to_.archive_ = bytes;
    MemberTable table(bytes);
    const std::string name = table.pickle();
    const std::string root = name.substr(0, name.size() - std::string_view("data.pkl").size());
    const std::optional<zip_stat_t> member = table.find(name);
    if (!member) {
      throw input_error(translated("the archive has no record {1}", in_quotes(name)), "",
                        translated(fetch_again));
    }
    UnpackedMember own;
    if (const auto stored = table.stored(*member)) {
      own.bytes = *stored;
    } else {
      own = unpacked_member(table.archive(), member->index, to_.limits_, advice);
    }
    if (const auto order = table.find(root + "byteorder")) {
      const auto text = table.stored(*order);
      to_.big_endian_ = text && text_of(*text) == "big";
    }
    const Pickle pickle(own.bytes, 0, name);
    const FindStorage find_storage = [&](std::string_view key) {
      PickledStorage storage;
      storage.record = root + "data/" + std::string(key);
      const auto found = table.find(storage.record);
      if (!found) {
        throw input_error(translated("the archive has no record {1}", in_quotes(storage.record)),
                          name, translated(fetch_again));
      }
      if (const auto stored = table.stored(*found)) {
        storage.bytes = *stored;
      } else {
        storage.compressed = true;
        storage.member = found->index;
        storage.unpacked = found->size;
      }
      return storage;
    };
    take(pickle, find_storage, own.owner ? std::span<const std::byte>() : own.bytes);
  }

  // Four pickles (a magic number, a version, facts of the system, the value), one of the keys of
  // the storages in the order in which they follow, each with the number of its elements.
  void read_old(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    for (int skipped = 0; skipped < 3; ++skipped) at = Pickle(bytes, at, "").end();
    const Pickle pickle(bytes, at, "");
    const Pickle keys(bytes, pickle.end(), "");
    const Pickle::Value& list = keys.value(keys.root());
    if (list.kind != Pickle::Kind::sequence) {
      keys.refuse(translated("the list of the storages is missing"), pickle.end());
    }
    // The elements' sizes are those of the views.
    const std::map<const char*, std::uint64_t> widths = element_sizes(pickle);
    std::map<const char*, PickledStorage> found;
    at = keys.end();
    for (const Pickle::Id id : list.items) {
      check_time();
      const Pickle::Value& key = keys.value(id);
      const bool text = key.kind == Pickle::Kind::text;
      const auto width = text ? widths.find(texts_.first(key.text).data()) : widths.end();
      if (width == widths.end()) {
        keys.refuse(translated("the list of the storages names one that no tensor has"), key.at);
      }
      const auto [place, is_new] = found.try_emplace(width->first);
      if (!is_new)
        keys.refuse(translated("the list of the storages names one of them twice"), key.at);
      PickledStorage& storage = place->second;
      storage.record = std::string(key.text);
      storage.bytes = old_storage(bytes, at, width->second);
      at += old_length_bytes + storage.bytes.size();
    }
    const FindStorage find_storage = [&](std::string_view key) {
      const auto own = found.find(key.data());
      if (own != found.end()) return own->second;
      throw input_error(translated("the file has no storage {1}", in_quotes(key)),
                        "byte " + std::to_string(bytes.size()), translated(fetch_again));
    };
    take(pickle, find_storage, bytes);
  }

  // A pickle alone, which refers to no storages.
  void read_pickle(std::span<const std::byte> bytes) {
    const Pickle pickle(bytes, 0, "");
    if (pickle.end() < bytes.size()) {
      throw input_error(translated("{1} bytes follow the pickle", bytes.size() - pickle.end()),
                        "byte " + std::to_string(pickle.end()),
                        translated("a file of maps holds one pickle: save one dict or list"));
    }
    const FindStorage find_storage = [&](std::string_view key) -> PickledStorage {
      throw input_error(translated("the file has no storage {1}", in_quotes(key)), "byte 0",
                        translated(save_again));
    };
    take(pickle, find_storage, bytes);
  }

 private:
  using Kind = Pickle::Kind;

  void take(const Pickle& pickle, const FindStorage& find_storage,
            std::span<const std::byte> kept) {
    to_.members_ = pickled_members(pickle, texts_, find_storage, kept, to_.limits_);
  }

  // Bytes of an element of each storage, by the address of its key.
  std::map<const char*, std::uint64_t> element_sizes(const Pickle& pickle) {
    std::map<const char*, std::uint64_t> sizes;
    for (Pickle::Id id = 0; id < pickle.count(); ++id) {
      if (pickle.value(id).kind != Kind::stored) continue;
      const StoredId stored = stored_id(pickle, id, texts_);
      sizes.emplace(stored.key.data(), element_bytes(*stored.name));
    }
    return sizes;
  }

  TorchFile& to_;
  EqualTexts texts_;
};

TorchFile::TorchFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                     const Limits& limits)
    : owner_(std::move(owner)), limits_(limits) {
  TorchFileReader reader(*this);
  if (looks_old(bytes)) {
    reader.read_old(bytes);
  } else if (looks_like_zip(bytes)) {
    reader.read_archive(bytes);
  } else {
    reader.read_pickle(bytes);
  }
}

bool looks_like_pickle(std::span<const std::byte> bytes) noexcept {
  const std::string_view text = text_of(bytes);
  if (text.size() < 2) return false;
  if (text[0] == '\x80') return text[1] >= 2 && text[1] <= 5;
  // Protocols 0 and 1 have no sign of their own: a container or a name, and STOP at the end.
  if (!text.ends_with('.')) return false;
  switch (text[0]) {
    case ']':
    case '}':
      return std::string_view("q(.p").find(text[1]) != std::string_view::npos;
    case '(':
      return std::string_view("ldctSVIFKMJGX(]})N").find(text[1]) != std::string_view::npos;
    case 'c': {
      const std::size_t line = text.find('\n');
      const std::size_t next = line == text.npos ? text.npos : text.find('\n', line + 1);
      if (next == text.npos || line == 1 || next == line + 1) return false;
      const auto names = [](std::string_view name) {
        return std::ranges::all_of(name, [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '.';
        });
      };
      return names(text.substr(1, line - 1)) && names(text.substr(line + 1, next - line - 1)) &&
             text[line + 1] > '9';
    }
    default:
      return false;
  }
}

// The bytes of a storage, unpacked if it is compressed.
UnpackedMember TorchFile::bytes_of(const PickledStorage& storage) const {
  if (!storage.compressed) return {storage.bytes, storage.owner ? storage.owner : owner_};
  try {
    const Archive archive = open_archive(archive_);
    return unpacked_member(archive.get(), storage.member, limits_, advice);
  } catch (const Error& error) {
    throw error.inside("record " + in_quotes(storage.record));
  }
}

// Elements of a view in row-major order: as they lie where they do, else gathered.
RawArray TorchFile::raw_view(const PickledView& view, const std::string& name) const {
  const UnpackedMember own = bytes_of(members_.storages[view.storage]);
  const std::span<const std::byte> bytes = own.bytes;
  RawArray array;
  array.shape = view.shape;
  array.type = view.type;
  array.big_endian = view.big_endian.value_or(big_endian_);
  array.owner = own.owner;
  const std::size_t count = element_count(view.shape), width = size_of(view.type);
  if (count == 0) return array;
  bool in_order = true;
  std::uint64_t step = 1;
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    in_order = in_order && (view.shape[axis] == 1 || view.strides[axis] == step);
    step *= view.shape[axis];
  }
  if (in_order) {
    array.bytes = bytes.subspan(view.offset * width, count * width);
    return array;
  }
  // A view can repeat the elements of its storage without end.
  check_element_limit(count, limits_.elements, shown_name(name));
  check_memory(count, width, translated("the tensor {1}", text(view.shape)), "");
  const auto gathered =
      std::shared_ptr<std::byte[]>(std::make_unique_for_overwrite<std::byte[]>(count * width));
  std::vector<std::size_t> at(view.shape.size(), 0);
  std::uint64_t from = view.offset;
  in_stretches(count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::memcpy(gathered.get() + i * width, bytes.data() + from * width, width);
      for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        from += view.strides[axis];
        if (++at[axis] < view.shape[axis]) break;
        from -= view.strides[axis] * view.shape[axis];
        at[axis] = 0;
      }
    }
  });
  array.bytes = {gathered.get(), count * width};
  array.owner = gathered;
  return array;
}

// A sparse tensor with its zeros: values at one place are added, as PyTorch does.
RawArray TorchFile::whole(const PickledTensor& tensor, const std::string& name) const {
  using Layout = PickledTensor::Layout;
  const std::size_t count = element_count(tensor.shape);
  check_element_limit(count, limits_.elements, shown_name(name));
  check_memory(count, sizeof(double), translated("the tensor {1}", text(tensor.shape)), "");
  const auto integers = [&](const PickledView& view) {
    if (element_count(view.shape) == 0) return Tensor({1}, std::vector<std::int64_t>{0});
    return tensor_from(raw_view(view, name));
  };
  const auto refuse = [&] {
    throw input_error(
        translated("the sparse tensor has a value outside of its shape {1}", text(tensor.shape)),
        shown_name(name), translated(save_again));
  };
  std::vector<double> elements(count, 0);
  const std::size_t values_count = element_count(tensor.values.shape);
  if (values_count > 0) {
    const Tensor given = tensor_from(raw_view(tensor.values, name)).converted(DType::float64);
    const Tensor places = integers(tensor.places);
    const auto values = given.values<double>();
    const auto at = places.values<std::int64_t>();
    const bool coordinates = tensor.layout == Layout::coordinates;
    const std::size_t number = tensor.values.shape[0], block = values_count / number;
    const auto add = [&](std::size_t place, std::size_t value) {
      if (place >= count / block) refuse();
      for (std::size_t i = 0; i < block; ++i) {
        elements[place * block + i] += values[value * block + i];
      }
    };
    const auto inside = [&](std::int64_t index, std::size_t axis) {
      if (index < 0 || static_cast<std::uint64_t>(index) >= tensor.shape[axis]) refuse();
      return static_cast<std::size_t>(index);
    };
    if (coordinates) {
      for (std::size_t value = 0; value < number; ++value) {
        std::size_t place = 0;
        for (std::size_t axis = 0; axis < tensor.places.shape[0]; ++axis) {
          place = place * tensor.shape[axis] + inside(at[axis * number + value], axis);
        }
        add(place, value);
      }
    } else {
      const bool rows = tensor.layout == Layout::rows;
      const Tensor first = integers(tensor.starts);
      const auto starts = first.values<std::int64_t>();
      for (std::size_t line = 0; line + 1 < starts.size(); ++line) {
        for (std::int64_t value = starts[line]; value < starts[line + 1]; ++value) {
          if (value < 0 || static_cast<std::uint64_t>(value) >= number) refuse();
          const auto index = static_cast<std::size_t>(value);
          const std::size_t other = inside(at[index], rows ? 1 : 0);
          add(rows ? line * tensor.shape[1] + other : other * tensor.shape[1] + line, index);
        }
      }
    }
  }
  RawArray array;
  array.shape = tensor.shape;
  array.type = ElementType::float64;
  const auto own = std::make_shared<const std::vector<double>>(std::move(elements));
  array.bytes = std::as_bytes(std::span(*own));
  array.owner = own;
  return array;
}

RawArray TorchFile::raw(std::size_t index) const {
  const PickledTensor& tensor = members_.tensors[index];
  const std::string& name = members_.names[index];
  return tensor.layout == PickledTensor::Layout::dense ? raw_view(tensor.values, name)
                                                       : whole(tensor, name);
}

Tensor TorchFile::read(std::size_t index) const {
  try {
    return tensor_from(raw(index));
  } catch (const Error& error) {
    throw error.where().empty() ? error.inside(shown_name(members_.names[index])) : error;
  }
}

}  // namespace attn
