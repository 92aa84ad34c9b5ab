#include "io/pickled_tensors.hpp"

#include <algorithm>
#include <cstring>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

std::string_view EqualTexts::first(std::string_view text) {
  constexpr std::size_t few = 64;
  if (text.size() <= few) return *texts_.insert(text).first;
  const auto [known, is_new] = long_.try_emplace(text.data());
  if (is_new) known->second = *texts_.insert(text).first;
  return known->second;
}

std::string_view EqualTexts::first(std::size_t number) {
  const std::string text = std::to_string(number);
  if (const auto known = texts_.find(text); known != texts_.end()) return *known;
  return *texts_.insert(numbers_.emplace_back(text)).first;
}

StoredId stored_id(const Pickle& pickle, Pickle::Id id, EqualTexts& texts) {
  using Kind = Pickle::Kind;
  const std::size_t at = pickle.value(id).at;
  const auto fail = [&]() { pickle.refuse(translated("the pickle refers to no storage"), at); };
  const Pickle::Value& tuple = pickle.value(pickle.value(id).items.front());
  if (tuple.kind != Kind::sequence || tuple.items.size() < 5 || tuple.items.size() > 6) fail();
  const auto item = [&](std::size_t i) -> const Pickle::Value& {
    return pickle.value(tuple.items[i]);
  };
  const bool named =
      item(1).kind == Kind::name && (item(1).name->role == PickleRole::storage ||
                                     item(1).name->role == PickleRole::unread_storage ||
                                     item(1).name->role == PickleRole::byte_storage);
  if (item(0).kind != Kind::text || item(0).text != "storage" || !named ||
      item(2).kind != Kind::text || item(4).kind != Kind::integer || item(4).integer < 0) {
    fail();
  }
  StoredId stored{item(1).name, texts.first(item(2).text),
                  static_cast<std::uint64_t>(item(4).integer), 0};
  if (tuple.items.size() == 6 && item(5).kind != Kind::none) {
    const Pickle::Value& view = item(5);
    const auto number = [&](std::size_t i) -> std::uint64_t {
      const Pickle::Value& own = pickle.value(view.items[i]);
      if (own.kind != Kind::integer || own.integer < 0) fail();
      return static_cast<std::uint64_t>(own.integer);
    };
    if (view.kind != Kind::sequence || view.items.size() != 3) fail();
    stored.offset = number(1);
    if (stored.offset > stored.count || number(2) > stored.count - stored.offset) fail();
  }
  return stored;
}

std::uint64_t element_bytes(const PickleName& storage) noexcept {
  return storage.role == PickleRole::unread_storage ? storage.bytes : size_of(storage.type);
}

std::span<const std::byte> old_storage(std::span<const std::byte> file, std::size_t at,
                                       std::uint64_t width) {
  std::uint64_t count = 0, size = 0;
  const bool there = file.size() - at >= old_length_bytes;
  if (there) std::memcpy(&count, file.data() + at, old_length_bytes);
  if (!there || __builtin_mul_overflow(count, width, &size) ||
      size > file.size() - at - old_length_bytes) {
    throw input_error(translated("the file ends before its storages do"),
                      "byte " + std::to_string(at),
                      translated("the file is damaged or cut off: copy or download it again"));
  }
  return file.subspan(at + old_length_bytes, size);
}

LoneStorage lone_storage(std::span<const std::byte> file) {
  std::size_t at = 0;
  for (int skipped = 0; skipped < 3; ++skipped) at = Pickle(file, at, "").end();
  const Pickle pickle(file, at, "");
  const Pickle keys(file, pickle.end(), "");
  if (pickle.value(pickle.root()).kind != Pickle::Kind::stored) {
    pickle.refuse(translated("the pickle refers to no storage"), at);
  }
  EqualTexts texts;
  const StoredId stored = stored_id(pickle, pickle.root(), texts);
  // The name outlives the pickle, whose bytes stay.
  return {*stored.name, old_storage(file, keys.end(), element_bytes(*stored.name))};
}

namespace {

std::string unread_type(const std::string& name) {
  const bool complex = name.find("omplex") != name.npos;
  return complex ? translated("complex numbers ({1})", name)
                 : translated("numbers of the type {1}, which are not read", name);
}

}  // namespace

void PickledTensors::refuse(std::size_t at) const {
  pickle_.refuse(translated("the pickle makes a tensor of arguments that do not fit"), at);
}

std::vector<std::uint64_t> PickledTensors::numbers(Id id, std::size_t at) const {
  const Value& list = value(id);
  if (list.kind != Kind::sequence) refuse(at);
  std::vector<std::uint64_t> result;
  for (const Id item : list.items) {
    const Value& number = value(item);
    if (number.kind != Kind::integer) refuse(at);
    if (number.integer < 0)
      pickle_.refuse(translated("a tensor has the negative size or stride {1}", number.integer),
                     at);
    result.push_back(static_cast<std::uint64_t>(number.integer));
  }
  return result;
}

Shape PickledTensors::sizes(Id id, std::size_t at) const {
  const std::vector<std::uint64_t> given = numbers(id, at);
  Shape shape(given.begin(), given.end());
  try {
    check_axes(shape.size(), "");
    element_count(shape);
  } catch (const Error& error) {
    pickle_.refuse(error.problem(), at);
  }
  return shape;
}

// The view that a call of _rebuild_tensor(storage, offset, sizes, strides, …) makes; the version
// 3 has the dtype as its seventh argument. Absent, with the reason, if its type is not read.
std::optional<PickledView> PickledTensors::view(const PickleName& name, const Value& arguments,
                                                std::size_t at, std::string& unread) {
  const bool has_dtype = name.role == PickleRole::tensor_of_dtype;
  if (arguments.items.size() < (has_dtype ? 7 : 4)) refuse(at);
  const Value& storage = value(arguments.items[0]);
  const Value& offset = value(arguments.items[1]);
  if (offset.kind != Kind::integer) refuse(at);
  if (offset.integer < 0) {
    pickle_.refuse(translated("a tensor begins at the negative element {1}", offset.integer), at);
  }
  PickledView own;
  own.offset = static_cast<std::uint64_t>(offset.integer);
  PickleName stored_name;
  const bool is_stored = storage.kind == Kind::stored;
  StoredId stored;
  if (is_stored) {
    stored = stored_id(pickle_, arguments.items[0], texts_);
    stored_name = *stored.name;
    if (__builtin_add_overflow(own.offset, stored.offset, &own.offset)) refuse(at);
  } else {
    const std::optional<LoneStorage> lone = storage_in_bytes(arguments.items[0]);
    if (!lone) refuse(at);
    stored_name = lone->name;
  }
  own.type = stored_name.type;
  if (has_dtype) {
    const Value& type = value(arguments.items[6]);
    if (type.kind != Kind::name) refuse(at);
    if (type.name->role == PickleRole::unknown_name) {
      unread = unread_type(type.name->text());
      return std::nullopt;
    }
    if (type.name->role != PickleRole::dtype) refuse(at);
    own.type = type.name->type;
  }
  if (stored_name.role == PickleRole::unread_storage) {
    unread = unread_type(stored_name.text());
    return std::nullopt;
  }
  own.shape = sizes(arguments.items[2], at);
  own.strides = numbers(arguments.items[3], at);
  if (own.strides.size() != own.shape.size()) refuse(at);
  own.storage = is_stored ? storage_of(stored, at) : lone_storages_.at(arguments.items[0]).first;
  check_range(own, at);
  return own;
}

// The storage in the bytes that torch.storage._load_from_bytes() is called with.
std::optional<LoneStorage> PickledTensors::storage_in_bytes(Id id) {
  const Value& call = value(id);
  if (call.kind != Kind::call || call.name->role != PickleRole::storage_bytes) return std::nullopt;
  if (const auto known = lone_storages_.find(id); known != lone_storages_.end())
    return known->second.second;
  const std::vector<Id>& given = value(call.items[1]).items;
  if (given.size() != 1) return std::nullopt;
  const Value& bytes = value(given[0]);
  if (bytes.kind != Kind::bytes && bytes.kind != Kind::text) return std::nullopt;
  PickledStorage storage = storage_of_bytes(bytes.text);
  const LoneStorage lone = lone_storage(storage.bytes);
  storage.bytes = lone.bytes;
  lone_storages_.try_emplace(id, storages_.size(), lone);
  storages_.push_back(std::move(storage));
  return lone;
}

std::size_t PickledTensors::storage_of(const StoredId& stored, std::size_t at) {
  const auto [place, is_new] = places_.try_emplace(stored.key.data(), storages_.size());
  if (is_new) storages_.push_back(find_storage_(stored.key));
  const PickledStorage& storage = storages_[place->second];
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(stored.count, size_of(stored.name->type), &bytes) ||
      bytes > storage.size()) {
    pickle_.refuse(
        translated("the storage {1} has {2} bytes, but the pickle says {3} elements of {4}",
                   in_quotes(storage.record), storage.size(), stored.count,
                   attn::name(stored.name->type)),
        at);
  }
  return place->second;
}

void PickledTensors::refuse_beyond(const PickledView& view, std::size_t at) const {
  pickle_.refuse(translated("a tensor of shape {1} ends after its storage {2}", text(view.shape),
                            in_quotes(storages_[view.storage].record)),
                 at);
}

// The last element must lie in the storage.
void PickledTensors::check_range(const PickledView& view, std::size_t at) const {
  std::uint64_t last = view.offset;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] == 0) return;
    std::uint64_t way = 0;
    if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &way) ||
        __builtin_add_overflow(last, way, &last)) {
      refuse_beyond(view, at);
    }
  }
  if (last >= storages_[view.storage].size() / size_of(view.type)) refuse_beyond(view, at);
}

// A view of the tensor that an argument is; absent, with the reason, if its type is not read.
std::optional<PickledView> PickledTensors::view_of(Id id, std::size_t at, std::string& unread) {
  const Value& call = value(id);
  const bool is_tensor =
      call.kind == Kind::call &&
      (call.name->role == PickleRole::tensor || call.name->role == PickleRole::tensor_of_dtype);
  if (!is_tensor) refuse(at);
  return view(*call.name, value(call.items[1]), at, unread);
}

// _rebuild_sparse_tensor(layout, (indices, values, size, …) or (starts, places, values, size)).
// Absent if it is called with others, or, with the reason, if its layout or type is not read.
std::optional<PickledTensor> PickledTensors::sparse(const Value& arguments, std::size_t at,
                                                    std::string& unread) {
  if (arguments.items.size() != 2) return std::nullopt;
  const Value& layout = value(arguments.items[0]);
  const std::vector<Id>& given = value(arguments.items[1]).items;
  using Layout = PickledTensor::Layout;
  const bool coordinates = layout.text == "torch.sparse_coo";
  const bool rows = layout.text == "torch.sparse_csr", columns = layout.text == "torch.sparse_csc";
  if (layout.kind != Kind::text || given.size() < 3) return std::nullopt;
  if (!coordinates && !((rows || columns) && given.size() >= 4)) {
    unread = translated("a tensor of the layout {1}, which is not read", layout.text);
    return std::nullopt;
  }
  PickledTensor own;
  own.layout = coordinates ? Layout::coordinates : rows ? Layout::rows : Layout::columns;
  std::size_t next = 0;
  if (!coordinates) {
    const auto starts = view_of(given[next++], at, unread);
    if (!starts) return std::nullopt;
    own.starts = *starts;
  }
  const auto places = view_of(given[next++], at, unread);
  const auto values = places ? view_of(given[next++], at, unread) : std::nullopt;
  if (!values) return std::nullopt;
  own.places = *places;
  own.values = *values;
  own.shape = sizes(given[next], at);
  check_sparse(own, at);
  return own;
}

void PickledTensors::check_sparse(const PickledTensor& own, std::size_t at) const {
  const Shape& places = own.places.shape;
  const Shape& values = own.values.shape;
  bool fits = own.places.type == ElementType::int64 || own.places.type == ElementType::int32;
  if (own.layout == PickledTensor::Layout::coordinates) {
    fits = fits && places.size() == 2 && !values.empty() && values[0] == places[1] &&
           places[0] + values.size() - 1 == own.shape.size() && places[0] > 0 &&
           std::equal(values.begin() + 1, values.end(),
                      own.shape.end() - static_cast<std::ptrdiff_t>(values.size() - 1));
  } else {
    const bool by_rows = own.layout == PickledTensor::Layout::rows;
    fits = fits && own.shape.size() == 2 && places.size() == 1 && values == places &&
           own.starts.type == own.places.type &&
           own.starts.shape == Shape{own.shape[by_rows ? 0 : 1] + 1};
  }
  if (!fits) refuse(at);
}

// Bytes of a text of the pickle, which stay if the pickle's do.
PickledStorage PickledTensors::storage_of_bytes(std::string_view text) {
  PickledStorage storage;
  storage.record = translated("bytes of the pickle");
  const auto bytes = std::as_bytes(std::span(text));
  const bool inside =
      bytes.data() >= kept_.data() && bytes.data() + bytes.size() <= kept_.data() + kept_.size();
  if (inside || bytes.empty()) {
    storage.bytes = bytes;
    return storage;
  }
  const auto copy = std::make_shared<const std::string>(text);
  storage.bytes = std::as_bytes(std::span(*copy));
  storage.owner = copy;
  return storage;
}

PickledTensor PickledTensors::dense(const Shape& shape, ElementType type, PickledStorage storage,
                                    bool column_major) {
  PickledTensor own;
  own.shape = own.values.shape = shape;
  own.values.type = type;
  own.values.storage = storages_.size();
  own.values.strides.resize(shape.size());
  std::uint64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = column_major ? i : shape.size() - 1 - i;
    own.values.strides[axis] = step;
    step *= shape[axis];
  }
  storages_.push_back(std::move(storage));
  return own;
}

PickledTensors::Elements PickledTensors::elements(Id type, const Shape& shape, const Value& data,
                                                  bool column_major, std::size_t at) {
  Elements made;
  if (data.kind != Kind::bytes && data.kind != Kind::text) {
    made.reason = translated("Python objects");
    return made;
  }
  const NumpyType elements = numpy_type(type, at);
  PickledStorage storage = storage_of_bytes(data.text);
  if (!elements.type) {
    made.reason = elements.reason();
    made.texts = numpy_texts(elements, shape, storage.bytes, column_major);
    return made;
  }
  std::size_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(element_count(shape), size_of(*elements.type), &bytes);
  if (overflows || bytes != storage.bytes.size()) {
    pickle_.refuse(translated("an array of shape {1} of {2} does not take {3} bytes", text(shape),
                              attn::name(*elements.type), storage.bytes.size()),
                   at);
  }
  made.tensor = dense(shape, *elements.type, std::move(storage), column_major);
  made.tensor->values.big_endian = elements.big_endian;
  return made;
}

// numpy.dtype("f4", …), whose state has the order of the bytes in second place.
NumpyType PickledTensors::numpy_type(Id id, std::size_t at) const {
  const Value& call = value(id);
  if (call.kind != Kind::call || call.name->role != PickleRole::numpy_type) {
    NumpyType other;
    other.code = call.name != nullptr ? call.name->text() : "";
    return other;
  }
  const std::vector<Id>& given = value(call.items[1]).items;
  if (given.empty()) refuse(at);
  const Value& code = value(given[0]);
  if (code.kind == Kind::name) {  // a type that another library adds to NumPy
    NumpyType other;
    other.code = code.name->text();
    if (code.name->name == attn::name(ElementType::bfloat16)) other.type = ElementType::bfloat16;
    return other;
  }
  if (code.kind != Kind::text) refuse(at);
  std::string order;
  if (call.items.size() > 2 && value(call.items[2]).kind == Kind::sequence &&
      value(call.items[2]).items.size() > 1) {
    order = value(value(call.items[2]).items[1]).text;
  }
  const bool known_order = order == "<" || order == ">";
  return numpy_type_of((known_order ? order : "") + std::string(code.text));
}

}  // namespace attn
