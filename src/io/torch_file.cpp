#include "io/torch_file.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "attn/error.hpp"

#include "io/pickle.hpp"
#include "io/zip_archive.hpp"
#include "support/memory.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
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

/// Texts of pickles, equal ones at one address: that of the first. A long text may stand in very
/// many places, and is compared once.
class EqualTexts {
 public:
  std::string_view first(std::string_view text) {
    constexpr std::size_t few = 64;
    if (text.size() <= few) return *texts_.insert(text).first;
    const auto [known, is_new] = long_.try_emplace(text.data());
    if (is_new) known->second = *texts_.insert(text).first;
    return known->second;
  }

  template <std::integral Number>
  std::string_view first(Number number) {
    const std::string text = std::to_string(number);
    if (const auto known = texts_.find(text); known != texts_.end()) return *known;
    return *texts_.insert(numbers_.emplace_back(text)).first;
  }

 private:
  std::unordered_set<std::string_view> texts_;
  std::unordered_map<const char*, std::string_view> long_;
  std::deque<std::string> numbers_;
};

/// Way from the value of a file to one within it, which lives as long as the walk below it.
struct ValuePath {
  const ValuePath* before = nullptr;
  std::string_view part;
  std::size_t length = 0;  ///< of the text

  ValuePath with(std::string_view next) const {
    return {this, next, length + (length > 0 ? 1 : 0) + next.size()};
  }

  // The parts with points between them: "attentions.3".
  std::string text() const {
    std::string text(length, '.');
    std::size_t end = length;
    for (const ValuePath* at = this; at != nullptr && end > 0; at = at->before) {
      end -= at->part.size();
      at->part.copy(text.data() + end, at->part.size());
      if (end > 0) --end;
    }
    return text;
  }
};

}  // namespace

bool looks_like_torch_file(std::span<const std::byte> bytes) {
  return looks_old(bytes) || looks_like_archive(bytes);
}

/// Makes the views of a file of the values of its pickle.
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
    find_storage_ = [&](std::string_view key) {
      TorchFile::Storage storage;
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
    take_tensors(pickle);
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
    std::map<const char*, TorchFile::Storage> found;
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
      TorchFile::Storage& storage = place->second;
      storage.record = std::string(key.text);
      storage.bytes = old_storage(bytes, at, width->second);
      at += length_bytes + storage.bytes.size();
    }
    find_storage_ = [&](std::string_view key) {
      const auto own = found.find(key.data());
      if (own != found.end()) return own->second;
      throw input_error(translated("the file has no storage {1}", in_quotes(key)),
                        "byte " + std::to_string(bytes.size()), translated(fetch_again));
    };
    take_tensors(pickle);
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;
  using Value = Pickle::Value;

  static constexpr std::size_t length_bytes = 8;

  static std::span<const std::byte> old_storage(std::span<const std::byte> bytes, std::size_t at,
                                                std::uint64_t width) {
    std::uint64_t count = 0, size = 0;
    const bool there = bytes.size() - at >= length_bytes;
    if (there) std::memcpy(&count, bytes.data() + at, length_bytes);
    if (!there || __builtin_mul_overflow(count, width, &size) ||
        size > bytes.size() - at - length_bytes) {
      throw input_error(translated("the file ends before its storages do"),
                        "byte " + std::to_string(at), translated(fetch_again));
    }
    return bytes.subspan(at + length_bytes, size);
  }

  // Bytes of an element of each storage, by the address of its key.
  std::map<const char*, std::uint64_t> element_sizes(const Pickle& pickle) {
    std::map<const char*, std::uint64_t> sizes;
    for (Id id = 0; id < pickle.count(); ++id) {
      if (pickle.value(id).kind != Kind::stored) continue;
      const StoredId stored = stored_id(pickle, id);
      sizes.emplace(stored.key.data(), size_of(stored.name->type));
    }
    return sizes;
  }

  // ("storage", class, key, location, number of elements[, view: (key, offset, number)])
  struct StoredId {
    const PickleName* name = nullptr;
    std::string_view key;  ///< one of `texts_`
    std::uint64_t count = 0, offset = 0;
  };
  StoredId stored_id(const Pickle& pickle, Id id) {
    const std::size_t at = pickle.value(id).at;
    const auto fail = [&]() { pickle.refuse(translated("the pickle refers to no storage"), at); };
    const Value& tuple = pickle.value(pickle.value(id).items.front());
    if (tuple.kind != Kind::sequence || tuple.items.size() < 5 || tuple.items.size() > 6) fail();
    const auto item = [&](std::size_t i) -> const Value& { return pickle.value(tuple.items[i]); };
    const bool named =
        item(1).kind == Kind::name && (item(1).name->role == PickleRole::storage ||
                                       item(1).name->role == PickleRole::byte_storage);
    if (item(0).kind != Kind::text || item(0).text != "storage" || !named ||
        item(2).kind != Kind::text || item(4).kind != Kind::integer || item(4).integer < 0) {
      fail();
    }
    StoredId stored{item(1).name, texts_.first(item(2).text),
                    static_cast<std::uint64_t>(item(4).integer), 0};
    if (tuple.items.size() == 6 && item(5).kind != Kind::none) {
      const Value& view = item(5);
      const auto number = [&](std::size_t i) -> std::uint64_t {
        const Value& own = pickle.value(view.items[i]);
        if (own.kind != Kind::integer || own.integer < 0) fail();
        return static_cast<std::uint64_t>(own.integer);
      };
      if (view.kind != Kind::sequence || view.items.size() != 3) fail();
      stored.offset = number(1);
      if (stored.offset > stored.count || number(2) > stored.count - stored.offset) fail();
    }
    return stored;
  }

  // ---- Values to tensors ------------------------------------------------------------------------

  void take_tensors(const Pickle& pickle) {
    pickle_ = &pickle;
    states_.resize(pickle.count());
    walk(pickle.root(), {}, 0);
    if (to_.names_.size() == 1 && to_.names_.front().empty()) to_.names_.front() = "tensor";
  }

  // Whether the value is a tensor or holds one.
  bool walk(Id id, const ValuePath& path, std::size_t depth) {
    const Value& value = pickle_->value(id);
    if (value.kind == Kind::call) {
      add(id, path);
      return true;
    }
    const bool container = value.kind == Kind::sequence || value.kind == Kind::dictionary;
    if (!container || states_[id] == State::without_tensors) return false;
    if (states_[id] == State::open)
      pickle_->refuse(translated("the pickle holds a value that is within itself"), value.at);
    if (depth >= to_.limits_.nesting) {
      pickle_->refuse(
          translated("the values of the pickle are nested more than {1} deep", to_.limits_.nesting),
          value.at);
    }
    // A container may be in many places, each of which is walked through.
    constexpr std::size_t most_places = 16'000'000;
    places_walked_ += value.items.size();
    if (places_walked_ > most_places) {
      pickle_->refuse(
          translated("the values of the pickle are in more than {1} places", most_places),
          value.at);
    }
    states_[id] = State::open;
    const bool found = value.kind == Kind::sequence ? walk_items(value, path, depth)
                                                    : walk_members(value, path, depth);
    states_[id] = found ? State::unknown : State::without_tensors;
    return found;
  }

  bool walk_items(const Value& sequence, const ValuePath& path, std::size_t depth) {
    bool found = false;
    in_stretches(sequence.items.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (walk(sequence.items[i], path.with(std::to_string(i)), depth + 1)) found = true;
      }
    });
    return found;
  }

  bool walk_members(const Value& dictionary, const ValuePath& path, std::size_t depth) {
    // The last value of a key is what a dictionary holds, in the place of the first.
    std::vector<std::pair<std::string_view, Id>> members;
    std::unordered_map<const char*, std::size_t> places;
    in_stretches(dictionary.items.size() / 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Value& key = pickle_->value(dictionary.items[2 * i]);
        const std::string_view name = key.kind == Kind::text      ? texts_.first(key.text)
                                      : key.kind == Kind::integer ? texts_.first(key.integer)
                                                                  : texts_.first(i);
        const auto [place, is_new] = places.try_emplace(name.data(), members.size());
        if (is_new) members.emplace_back(name, Id{});
        members[place->second].second = dictionary.items[2 * i + 1];
      }
    });
    bool found = false;
    for (const auto& [name, id] : members) {
      if (walk(id, path.with(name), depth + 1)) found = true;
    }
    return found;
  }

  void add(Id id, const ValuePath& place) {
    Id call = id;
    Id arguments = pickle_->value(id).items[1];
    const PickleName* name = pickle_->value(id).name;
    // Parameters of tensors, and tensors of other types of Python.
    for (int wrapped = 0; name->role == PickleRole::parameter || name->role == PickleRole::typed;
         ++wrapped) {
      const std::vector<Id>& given = pickle_->value(arguments).items;
      const std::size_t at = pickle_->value(call).at;
      constexpr int most_wrappings = 8;
      const bool typed = name->role == PickleRole::typed;
      if (wrapped == most_wrappings || given.size() < (typed ? 3 : 1)) refuse_tensor(at);
      const Value& inner = pickle_->value(given.front());
      if (typed) {
        if (inner.kind != Kind::name || pickle_->value(given[2]).kind != Kind::sequence)
          refuse_tensor(at);
        name = inner.name;
        arguments = given[2];
      } else {
        if (inner.kind != Kind::call) refuse_tensor(at);
        call = given.front();
        name = inner.name;
        arguments = inner.items[1];
      }
      const bool makes_tensors =
          name->role == PickleRole::tensor || name->role == PickleRole::tensor_of_dtype ||
          name->role == PickleRole::parameter || name->role == PickleRole::typed;
      if (!makes_tensors) refuse_tensor(at);
    }
    constexpr std::size_t most_tensors = 100'000;
    if (to_.names_.size() == most_tensors) {
      pickle_->refuse(translated("the pickle holds more than {1} tensors", most_tensors),
                      pickle_->value(id).at);
    }
    // A key may be long, and within itself.
    constexpr std::size_t most_characters = 16'000'000;
    if (place.length > most_characters - characters_) {
      pickle_->refuse(translated("the paths of the tensors have more than {1} characters in all",
                                 most_characters),
                      pickle_->value(id).at);
    }
    characters_ += place.length;
    const std::string path = place.text();
    characters_of(path, "");  // throws for names that are not UTF-8
    if (!paths_.insert(path).second) {
      pickle_->refuse(translated("two tensors have the path {1}", in_quotes(path)),
                      pickle_->value(id).at);
    }
    to_.views_.push_back(view(*name, pickle_->value(arguments), pickle_->value(call).at));
    to_.names_.push_back(path);
  }

  [[noreturn]] void refuse_tensor(std::size_t at) const {
    pickle_->refuse(translated("the pickle makes a tensor of arguments that do not fit"), at);
  }

  std::vector<std::uint64_t> numbers(Id id, std::size_t at) const {
    const Value& list = pickle_->value(id);
    if (list.kind != Kind::sequence) refuse_tensor(at);
    std::vector<std::uint64_t> result;
    for (const Id item : list.items) {
      const Value& number = pickle_->value(item);
      if (number.kind != Kind::integer) refuse_tensor(at);
      if (number.integer < 0)
        pickle_->refuse(translated("a tensor has the negative size or stride {1}", number.integer),
                        at);
      result.push_back(static_cast<std::uint64_t>(number.integer));
    }
    return result;
  }

  // The view that a call of _rebuild_tensor(storage, offset, sizes, strides, …) makes; the version
  // 3 has the dtype as its seventh argument.
  TorchFile::View view(const PickleName& name, const Value& arguments, std::size_t at) {
    const bool has_dtype = name.role == PickleRole::tensor_of_dtype;
    if (arguments.items.size() < (has_dtype ? 7 : 4)) refuse_tensor(at);
    const Value& storage = pickle_->value(arguments.items[0]);
    const Value& offset = pickle_->value(arguments.items[1]);
    if (storage.kind != Kind::stored || offset.kind != Kind::integer) refuse_tensor(at);
    if (offset.integer < 0) {
      pickle_->refuse(translated("a tensor begins at the negative element {1}", offset.integer),
                      at);
    }
    const StoredId stored = stored_id(*pickle_, arguments.items[0]);
    TorchFile::View own;
    own.type = stored.name->type;
    if (has_dtype) {
      const Value& type = pickle_->value(arguments.items[6]);
      if (type.kind != Kind::name || type.name->role != PickleRole::dtype) refuse_tensor(at);
      own.type = type.name->type;
    }
    const std::vector<std::uint64_t> shape = numbers(arguments.items[2], at);
    own.shape.assign(shape.begin(), shape.end());
    own.strides = numbers(arguments.items[3], at);
    if (own.strides.size() != own.shape.size()) refuse_tensor(at);
    try {
      check_axes(own.shape.size(), "");
      element_count(own.shape);
    } catch (const Error& error) {
      pickle_->refuse(error.problem(), at);
    }
    own.storage = storage_of(stored, at);
    own.offset = static_cast<std::uint64_t>(offset.integer);
    if (__builtin_add_overflow(own.offset, stored.offset, &own.offset)) refuse_beyond(own, at);
    check_range(own, at);
    return own;
  }

  std::size_t storage_of(const StoredId& stored, std::size_t at) {
    const auto [place, is_new] = places_.try_emplace(stored.key.data(), to_.storages_.size());
    if (is_new) to_.storages_.push_back(find_storage_(stored.key));
    const TorchFile::Storage& storage = to_.storages_[place->second];
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(stored.count, size_of(stored.name->type), &bytes) ||
        bytes > storage.size()) {
      pickle_->refuse(
          translated("the storage {1} has {2} bytes, but the pickle says {3} elements of {4}",
                     in_quotes(storage.record), storage.size(), stored.count,
                     attn::name(stored.name->type)),
          at);
    }
    return place->second;
  }

  [[noreturn]] void refuse_beyond(const TorchFile::View& view, std::size_t at) const {
    pickle_->refuse(translated("a tensor of shape {1} ends after its storage {2}", text(view.shape),
                               in_quotes(to_.storages_[view.storage].record)),
                    at);
  }

  // The last element must lie in the storage.
  void check_range(const TorchFile::View& view, std::size_t at) const {
    std::uint64_t last = view.offset;
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
      if (view.shape[axis] == 0) return;
      std::uint64_t way = 0;
      if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &way) ||
          __builtin_add_overflow(last, way, &last)) {
        refuse_beyond(view, at);
      }
    }
    if (last >= to_.storages_[view.storage].size() / size_of(view.type)) refuse_beyond(view, at);
  }

  TorchFile& to_;
  const Pickle* pickle_ = nullptr;
  std::function<TorchFile::Storage(std::string_view key)> find_storage_;
  EqualTexts texts_;
  std::map<const char*, std::size_t> places_;  // of storages, by the addresses of their keys
  std::size_t places_walked_ = 0, characters_ = 0;
  // Of containers: on the way to the value that is walked to, or walked through in vain.
  enum class State : std::uint8_t { unknown, open, without_tensors };
  std::vector<State> states_;
  std::unordered_set<std::string> paths_;
};

TorchFile::TorchFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                     const Limits& limits)
    : owner_(std::move(owner)), limits_(limits) {
  TorchFileReader reader(*this);
  if (looks_old(bytes)) {
    reader.read_old(bytes);
  } else {
    reader.read_archive(bytes);
  }
}

RawArray TorchFile::raw(std::size_t index) const {
  const View& view = views_[index];
  const Storage& storage = storages_[view.storage];
  std::span<const std::byte> bytes = storage.bytes;
  RawArray array;
  array.shape = view.shape;
  array.type = view.type;
  array.big_endian = big_endian_;
  array.owner = owner_;
  if (storage.compressed) {
    try {
      const Archive archive = open_archive(archive_);
      const UnpackedMember own = unpacked_member(archive.get(), storage.member, limits_, advice);
      bytes = own.bytes;
      array.owner = own.owner;
    } catch (const Error& error) {
      throw error.inside("record " + in_quotes(storage.record));
    }
  }
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
  check_element_limit(count, limits_.elements, shown_name(names_[index]));
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

Tensor TorchFile::read(std::size_t index) const {
  try {
    return tensor_from(raw(index));
  } catch (const Error& error) {
    throw error.where().empty() ? error.inside(shown_name(names_[index])) : error;
  }
}

}  // namespace attn
