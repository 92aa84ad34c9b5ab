#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"

#include "io/numpy.hpp"
#include "io/pickle.hpp"
#include "io/raw_array.hpp"

namespace attn {

/// Bytes of the elements of tensors.
struct PickledStorage {
  std::string record;  ///< its name in errors
  std::span<const std::byte> bytes;
  /// Member of the archive if it is compressed, with its unpacked size; `bytes` is empty then.
  std::uint64_t member = 0, unpacked = 0;
  bool compressed = false;
  std::shared_ptr<const void> owner = nullptr;  ///< of bytes that are not in the file as they are

  std::uint64_t size() const noexcept { return compressed ? unpacked : bytes.size(); }
};

/// Strided view of a storage, in elements.
struct PickledView {
  std::size_t storage = 0;
  ElementType type = ElementType::float32;
  std::uint64_t offset = 0;
  Shape shape;
  std::vector<std::uint64_t> strides;
  std::optional<bool> big_endian = {};  ///< absent = as the file
};

/// Tensor of a pickle: a view, or the values of a view at given places, and zeros elsewhere.
struct PickledTensor {
  Shape shape;
  PickledView values;
  /// Layout of a sparse tensor: coordinates [axes, values]; or the first place of each row [rows +
  /// 1], and the column of each value.
  enum class Layout { dense, coordinates, rows, columns } layout = Layout::dense;
  PickledView places = {}, starts = {};
};

/// Texts of pickles, equal ones at one address: that of the first. A long text may stand in very
/// many places, and is compared once.
class EqualTexts {
 public:
  std::string_view first(std::string_view text);
  std::string_view first(std::size_t number);

 private:
  std::unordered_set<std::string_view> texts_;
  std::unordered_map<const char*, std::string_view> long_;
  std::deque<std::string> numbers_;
};

/// ("storage", class, key, location, number of elements[, view: (key, offset, number)])
struct StoredId {
  const PickleName* name = nullptr;
  std::string_view key;  ///< one of the texts
  std::uint64_t count = 0, offset = 0;
};

/// Throws Error(input) if the persistent id is no such tuple.
StoredId stored_id(const Pickle& pickle, Pickle::Id id, EqualTexts& texts);

/// The storage in a file of PyTorch of its own, before PyTorch 1.6 and of nothing else, and the
/// class of its elements. Throws Error(input) as Pickle does.
struct LoneStorage {
  PickleName name;
  std::span<const std::byte> bytes;
};
LoneStorage lone_storage(std::span<const std::byte> file);

/// Bytes of a storage in a file before PyTorch 1.6, after the number of its elements, of `width`
/// bytes each. Throws Error(input) if the file ends before.
std::span<const std::byte> old_storage(std::span<const std::byte> file, std::size_t at,
                                       std::uint64_t width);
/// Bytes of that number.
inline constexpr std::size_t old_length_bytes = 8;
/// Bytes of an element of a class of storages.
std::uint64_t element_bytes(const PickleName& storage) noexcept;

/// Finds the storage of a key, which is one of the texts.
using FindStorage = std::function<PickledStorage(std::string_view key)>;

/// Makes the tensors that calls in a pickle stand for, of their arguments, and keeps the storages
/// that they are views of. What does not fit is an Error(input) at the byte of the pickle.
class PickledTensors {
 public:
  using Id = Pickle::Id;
  using Value = Pickle::Value;

  PickledTensors(const Pickle& pickle, EqualTexts& texts, const FindStorage& find_storage,
                 std::span<const std::byte> kept)
      : pickle_(pickle), texts_(texts), find_storage_(find_storage), kept_(kept) {}

  /// The view that a call of _rebuild_tensor(storage, offset, sizes, strides, …) makes; version 3
  /// has the dtype as its seventh argument. Absent, with the reason, if its type is not read.
  std::optional<PickledView> view(const PickleName& name, const Value& arguments, std::size_t at,
                                  std::string& unread);

  /// _rebuild_sparse_tensor(layout, (indices, values, size, …) or (starts, places, values, size)).
  /// Absent if it is called with others, or, with the reason, if its layout or type is not read.
  std::optional<PickledTensor> sparse(const Value& arguments, std::size_t at, std::string& unread);

  /// An array of NumPy's type `type` with its elements in `data`; or why it is none, and the texts
  /// that it holds if it holds texts.
  struct Elements {
    std::optional<PickledTensor> tensor;
    std::string reason;
    std::vector<std::vector<std::string>> texts;
  };
  Elements elements(Id type, const Shape& shape, const Value& data, bool column_major,
                    std::size_t at);

  /// A tensor of all elements of a storage, which is kept.
  PickledTensor dense(const Shape& shape, ElementType type, PickledStorage storage,
                      bool column_major = false);

  /// The shape that a tuple of whole numbers is.
  Shape sizes(Id id, std::size_t at) const;

  /// Throws Error(input): the arguments of the call at that byte fit no tensor.
  [[noreturn]] void refuse(std::size_t at) const;

  std::vector<PickledStorage> take_storages() noexcept { return std::move(storages_); }

 private:
  using Kind = Pickle::Kind;

  const Value& value(Id id) const { return pickle_.value(id); }
  std::vector<std::uint64_t> numbers(Id id, std::size_t at) const;
  std::optional<LoneStorage> storage_in_bytes(Id id);
  std::size_t storage_of(const StoredId& stored, std::size_t at);
  [[noreturn]] void refuse_beyond(const PickledView& view, std::size_t at) const;
  void check_range(const PickledView& view, std::size_t at) const;
  std::optional<PickledView> view_of(Id id, std::size_t at, std::string& unread);
  void check_sparse(const PickledTensor& own, std::size_t at) const;
  PickledStorage storage_of_bytes(std::string_view text);
  NumpyType numpy_type(Id id, std::size_t at) const;

  const Pickle& pickle_;
  EqualTexts& texts_;
  const FindStorage& find_storage_;
  std::span<const std::byte> kept_;
  std::vector<PickledStorage> storages_;
  std::map<const char*, std::size_t> places_;  // of storages, by the addresses of their keys
  std::map<Id, std::pair<std::size_t, LoneStorage>> lone_storages_;
};

/// The values of a pickle by what they are.
struct PickledMembers {
  std::vector<std::string> names;  ///< of the tensors, by their paths
  std::vector<PickledTensor> tensors;
  std::vector<PickledStorage> storages;
  std::vector<OtherMember> others;
};

/// The tensors of a pickle in dicts, lists, tuples, named tuples and values that are containers,
/// named by their path ("attentions.3"), and what else there is. `kept`: bytes that stay as long as
/// the members do. Throws Error(input), at the byte of the pickle, as TorchFile does.
PickledMembers pickled_members(const Pickle& pickle, EqualTexts& texts,
                               const FindStorage& find_storage, std::span<const std::byte> kept,
                               const Limits& limits);

}  // namespace attn
