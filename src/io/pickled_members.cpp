#include "io/pickled_members.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attn/error.hpp"

#include "io/numpy.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

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

/// Makes members of the values of a pickle.
class MemberWalk {
 public:
  MemberWalk(const Pickle& pickle, EqualTexts& texts, const FindStorage& find_storage,
             std::span<const std::byte> kept, const Limits& limits)
      : pickle_(pickle), texts_(texts), find_storage_(find_storage), kept_(kept), limits_(limits) {}

  PickledMembers members() {
    states_.resize(pickle_.count());
    if (!walk(pickle_.root(), {}, 0)) add_other({}, reason_of(pickle_.root()));
    if (to_.names.size() == 1 && to_.names.front().empty()) to_.names.front() = "tensor";
    return std::move(to_);
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;
  using Value = Pickle::Value;

  const Value& value(Id id) const { return pickle_.value(id); }

  // ---- Containers -------------------------------------------------------------------------------

  // Whether the value is listed, or holds one that is.
  bool walk(Id id, const ValuePath& path, std::size_t depth) {
    const Value& value = this->value(id);
    if (value.kind == Kind::call) {
      add(id, path, depth);
      return true;
    }
    if (value.kind == Kind::object && value.items.empty()) {
      add_other(path, reason_of(id));
      return true;
    }
    const bool container = value.kind == Kind::sequence || value.kind == Kind::dictionary ||
                           value.kind == Kind::object;
    if (!container || states_[id] == State::nothing) return false;
    if (states_[id] == State::open)
      pickle_.refuse(translated("the pickle holds a value that is within itself"), value.at);
    if (depth >= limits_.nesting) {
      pickle_.refuse(
          translated("the values of the pickle are nested more than {1} deep", limits_.nesting),
          value.at);
    }
    // A container may be in many places, each of which is walked through.
    constexpr std::size_t most_places = 16'000'000;
    places_walked_ += value.items.size();
    if (places_walked_ > most_places) {
      pickle_.refuse(
          translated("the values of the pickle are in more than {1} places", most_places),
          value.at);
    }
    states_[id] = State::open;
    const bool found = value.kind == Kind::dictionary ? walk_members(value, path, depth)
                                                      : walk_items(value, path, depth);
    states_[id] = found ? State::unknown : State::nothing;
    if (found || value.kind != Kind::object) return found;
    add_other(path, reason_of(id));
    return true;
  }

  bool walk_items(const Value& sequence, const ValuePath& path, std::size_t depth) {
    if (add_texts(sequence, path) || add_numbers(sequence, path)) return true;
    if (is_nothing(sequence)) return add_other(path, reason_of_nothing(sequence));
    std::vector<std::size_t> unlisted;
    in_stretches(sequence.items.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (!walk(sequence.items[i], path.with(std::to_string(i)), depth + 1)) {
          unlisted.push_back(i);
        }
      }
    });
    if (unlisted.size() == sequence.items.size()) return false;
    for (const std::size_t i : unlisted) {
      if (!add_unlisted(path.with(std::to_string(i)), sequence.items[i])) break;
    }
    return true;
  }

  bool walk_members(const Value& dictionary, const ValuePath& path, std::size_t depth) {
    // The last value of a key is what a dictionary holds, in the place of the first.
    std::vector<std::pair<std::string_view, Id>> members;
    std::unordered_map<const char*, std::size_t> places;
    in_stretches(dictionary.items.size() / 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Value& key = value(dictionary.items[2 * i]);
        const std::string_view name = key.kind == Kind::text ? texts_.first(key.text)
                                      : key.kind == Kind::integer && key.integer >= 0
                                          ? texts_.first(static_cast<std::size_t>(key.integer))
                                          : texts_.first(i);
        const auto [place, is_new] = places.try_emplace(name.data(), members.size());
        if (is_new) members.emplace_back(name, Id{});
        members[place->second].second = dictionary.items[2 * i + 1];
      }
    });
    std::vector<std::size_t> unlisted;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& [name, id] = members[i];
      if (!walk(id, path.with(name), depth + 1)) unlisted.push_back(i);
    }
    if (unlisted.size() == members.size()) return false;
    for (const std::size_t i : unlisted) {
      if (!add_unlisted(path.with(members[i].first), members[i].second)) break;
    }
    return true;
  }

  // ---- What is no tensor ------------------------------------------------------------------------

  // False if there are too many, which are not listed.
  bool add_other(const ValuePath& place, std::string reason,
                 std::vector<std::vector<std::string>> texts = {}, bool plain = false) {
    constexpr std::size_t most_listed = 1000;
    if (to_.others.size() == most_listed) return false;
    OtherMember& other = to_.others.emplace_back();
    other.name = name_at(place, pickle_.root());
    other.reason = std::move(reason);
    if (!texts.empty()) other.texts = [texts = std::move(texts)] { return texts; };
    other.plain = plain;
    return true;
  }

  // A value that is no tensor beside those that are.
  bool add_unlisted(const ValuePath& place, Id id) {
    const Kind kind = value(id).kind;
    const bool plain = kind == Kind::none || kind == Kind::boolean || kind == Kind::integer ||
                       kind == Kind::number || kind == Kind::text;
    return add_other(place, reason_of(id), {}, plain);
  }

  // Whether a list is what a model gives that computes attention without weights.
  bool is_nothing(const Value& sequence) const {
    return sequence.kind == Kind::sequence && !sequence.items.empty() &&
           std::ranges::all_of(sequence.items,
                               [&](Id item) { return value(item).kind == Kind::none; });
  }

  static std::string reason_of_nothing(const Value& sequence) {
    return translated(
        "{1} times None: a model gives its attentions if it is loaded with "
        "attn_implementation=\"eager\"",
        sequence.items.size());
  }

  std::string reason_of(Id id) const {
    const Value& value = this->value(id);
    switch (value.kind) {
      case Kind::none:
        return translated("None");
      case Kind::boolean:
      case Kind::integer:
      case Kind::number:
        return translated("a number");
      case Kind::text:
        return translated("a text");
      case Kind::sequence:
        if (is_nothing(value)) return reason_of_nothing(value);
        return translated("a list without tensors");
      case Kind::dictionary:
        return translated("a dictionary without tensors");
      case Kind::name:
      case Kind::object:
        return translated("a value of {1}", value.name->text());
      default:
        return translated("a value without tensors");
    }
  }

  // Adds a list of texts, or a list of such lists, one a sample.
  bool add_texts(const Value& sequence, const ValuePath& path) {
    std::vector<std::vector<std::string>> texts;
    const auto add = [&](const Value& list) {
      std::vector<std::string>& one = texts.emplace_back();
      for (const Id item : list.items) {
        const Value& text = value(item);
        // A list may be in many places.
        constexpr std::size_t most_texts = 200'000, longest = 1000;
        if (text.kind != Kind::text || text.text.size() > longest) return false;
        if (++texts_kept_ > most_texts) return false;
        one.push_back(printable(text.text));
      }
      return !one.empty();
    };
    if (sequence.items.empty()) return false;
    if (value(sequence.items[0]).kind == Kind::text) {
      if (!add(sequence)) return false;
    } else {
      for (const Id item : sequence.items) {
        if (value(item).kind != Kind::sequence || !add(value(item))) return false;
      }
    }
    return add_other(path, translated("texts"), std::move(texts));
  }

  // Adds rows of numbers of Python, of any depth.
  bool add_numbers(const Value& sequence, const ValuePath& path) {
    Shape shape;
    for (const Value* inner = &sequence; inner->kind == Kind::sequence;
         inner = &value(inner->items[0])) {
      if (inner->items.empty() || shape.size() == most_axes) return false;
      shape.push_back(inner->items.size());
    }
    if (shape.size() < 2) return false;
    const auto numbers = std::make_shared<std::vector<double>>();
    const bool whole = collect(sequence, shape, 0, *numbers);
    places_walked_ += numbers->size();
    if (!whole) return false;
    PickledStorage storage;
    storage.record = path.text();
    storage.bytes = std::as_bytes(std::span(*numbers));
    storage.owner = numbers;
    add_tensor(path, dense(shape, ElementType::float64, std::move(storage)), sequence.at);
    return true;
  }

  bool collect(const Value& sequence, const Shape& shape, std::size_t axis,
               std::vector<double>& to) const {
    if (sequence.kind != Kind::sequence || sequence.items.size() != shape[axis]) return false;
    for (const Id item : sequence.items) {
      const Value& own = value(item);
      if (axis + 1 < shape.size()) {
        // A list may be in itself many times.
        constexpr std::size_t most_numbers = 8'000'000;
        if (to.size() > most_numbers || !collect(own, shape, axis + 1, to)) return false;
      } else if (own.kind == Kind::number) {
        to.push_back(own.number);
      } else if (own.kind == Kind::integer || own.kind == Kind::boolean) {
        to.push_back(static_cast<double>(own.integer));
      } else {
        return false;
      }
    }
    return true;
  }

  // ---- Tensors ----------------------------------------------------------------------------------

  std::string name_at(const ValuePath& place, Id id) {
    // A key may be long, and within itself.
    constexpr std::size_t most_characters = 16'000'000;
    if (place.length > most_characters - characters_) {
      pickle_.refuse(translated("the paths of the tensors have more than {1} characters in all",
                                most_characters),
                     value(id).at);
    }
    characters_ += place.length;
    std::string path = place.text();
    characters_of(path, "");  // throws for names that are not UTF-8
    return path;
  }

  void add_tensor(const ValuePath& place, PickledTensor tensor, std::size_t at) {
    if (element_count(tensor.shape) == 0) {
      add_other(place, empty_reason(tensor.shape));
      return;
    }
    constexpr std::size_t most_tensors = 100'000;
    if (to_.names.size() == most_tensors)
      pickle_.refuse(translated("the pickle holds more than {1} tensors", most_tensors), at);
    std::string path = name_at(place, pickle_.root());
    if (!paths_.insert(path).second)
      pickle_.refuse(translated("two tensors have the path {1}", in_quotes(path)), at);
    to_.tensors.push_back(std::move(tensor));
    to_.names.push_back(std::move(path));
  }

  [[noreturn]] void refuse_tensor(std::size_t at) const {
    pickle_.refuse(translated("the pickle makes a tensor of arguments that do not fit"), at);
  }

  void add(Id id, const ValuePath& place, std::size_t depth) {
    Id call = id;
    Id arguments = value(id).items[1];
    const PickleName* name = value(id).name;
    // Parameters of tensors, and tensors of other types of Python.
    for (int wrapped = 0; name->role == PickleRole::parameter || name->role == PickleRole::typed;
         ++wrapped) {
      const std::vector<Id>& given = value(arguments).items;
      const std::size_t at = value(call).at;
      constexpr int most_wrappings = 8;
      const bool typed = name->role == PickleRole::typed;
      if (wrapped == most_wrappings || given.size() < (typed ? 3 : 1)) refuse_tensor(at);
      const Value& inner = value(given.front());
      if (typed) {
        if (inner.kind != Kind::name || value(given[2]).kind != Kind::sequence) refuse_tensor(at);
        name = inner.name;
        arguments = given[2];
      } else {
        if (inner.kind == Kind::object) {
          add_other(place, reason_of(given.front()));
          return;
        }
        if (inner.kind != Kind::call) refuse_tensor(at);
        call = given.front();
        name = inner.name;
        arguments = inner.items[1];
      }
    }
    made(*name, value(arguments), call, place, depth);
  }

  // Adds what a call of the name makes of the arguments.
  void made(const PickleName& name, const Value& arguments, Id call, const ValuePath& place,
            std::size_t depth) {
    const std::size_t at = value(call).at;
    std::string unread;
    switch (name.role) {
      case PickleRole::tensor:
      case PickleRole::tensor_of_dtype:
        if (const auto own = view(name, arguments, at, unread)) {
          add_tensor(place, {own->shape, *own}, at);
        } else {
          add_other(place, unread);
        }
        return;
      case PickleRole::sparse_tensor:
        if (auto own = sparse(arguments, at, unread)) {
          add_tensor(place, std::move(*own), at);
        } else {
          add_other(place, unread.empty() ? translated("a value of {1}", name.text()) : unread);
        }
        return;
      case PickleRole::numpy_array:
        add_array(value(call), place, depth);
        return;
      case PickleRole::numpy_buffer:
        add_buffer(arguments, at, place);
        return;
      case PickleRole::numpy_scalar:
        if (arguments.items.size() != 2) refuse_tensor(at);
        add_elements(arguments.items[0], {}, value(arguments.items[1]), false, place, at);
        return;
      case PickleRole::numpy_type:
      case PickleRole::storage_bytes:
      case PickleRole::unknown_name:
        add_other(place, translated("a value of {1}", name.text()));
        return;
      default:
        refuse_tensor(at);
    }
  }

  std::vector<std::uint64_t> numbers(Id id, std::size_t at) const {
    const Value& list = value(id);
    if (list.kind != Kind::sequence) refuse_tensor(at);
    std::vector<std::uint64_t> result;
    for (const Id item : list.items) {
      const Value& number = value(item);
      if (number.kind != Kind::integer) refuse_tensor(at);
      if (number.integer < 0)
        pickle_.refuse(translated("a tensor has the negative size or stride {1}", number.integer),
                       at);
      result.push_back(static_cast<std::uint64_t>(number.integer));
    }
    return result;
  }

  Shape sizes(Id id, std::size_t at) const {
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

  static std::string unread_type(const std::string& name) {
    const bool complex = name.find("omplex") != name.npos;
    return complex ? translated("complex numbers ({1})", name)
                   : translated("numbers of the type {1}, which are not read", name);
  }

  // The view that a call of _rebuild_tensor(storage, offset, sizes, strides, …) makes; the version
  // 3 has the dtype as its seventh argument. Absent, with the reason, if its type is not read.
  std::optional<PickledView> view(const PickleName& name, const Value& arguments, std::size_t at,
                                  std::string& unread) {
    const bool has_dtype = name.role == PickleRole::tensor_of_dtype;
    if (arguments.items.size() < (has_dtype ? 7 : 4)) refuse_tensor(at);
    const Value& storage = value(arguments.items[0]);
    const Value& offset = value(arguments.items[1]);
    if (offset.kind != Kind::integer) refuse_tensor(at);
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
      if (__builtin_add_overflow(own.offset, stored.offset, &own.offset)) refuse_tensor(at);
    } else {
      const std::optional<LoneStorage> lone = storage_in_bytes(arguments.items[0]);
      if (!lone) refuse_tensor(at);
      stored_name = lone->name;
    }
    own.type = stored_name.type;
    if (has_dtype) {
      const Value& type = value(arguments.items[6]);
      if (type.kind != Kind::name) refuse_tensor(at);
      if (type.name->role == PickleRole::unknown_name) {
        unread = unread_type(type.name->text());
        return std::nullopt;
      }
      if (type.name->role != PickleRole::dtype) refuse_tensor(at);
      own.type = type.name->type;
    }
    if (stored_name.role == PickleRole::unread_storage) {
      unread = unread_type(stored_name.text());
      return std::nullopt;
    }
    own.shape = sizes(arguments.items[2], at);
    own.strides = numbers(arguments.items[3], at);
    if (own.strides.size() != own.shape.size()) refuse_tensor(at);
    own.storage = is_stored ? storage_of(stored, at) : lone_storages_.at(arguments.items[0]).first;
    check_range(own, at);
    return own;
  }

  // The storage in the bytes that torch.storage._load_from_bytes() is called with.
  std::optional<LoneStorage> storage_in_bytes(Id id) {
    const Value& call = value(id);
    if (call.kind != Kind::call || call.name->role != PickleRole::storage_bytes)
      return std::nullopt;
    if (const auto known = lone_storages_.find(id); known != lone_storages_.end())
      return known->second.second;
    const std::vector<Id>& given = value(call.items[1]).items;
    if (given.size() != 1) return std::nullopt;
    const Value& bytes = value(given[0]);
    if (bytes.kind != Kind::bytes && bytes.kind != Kind::text) return std::nullopt;
    PickledStorage storage = storage_of_bytes(bytes.text);
    const LoneStorage lone = lone_storage(storage.bytes);
    storage.bytes = lone.bytes;
    lone_storages_.try_emplace(id, to_.storages.size(), lone);
    to_.storages.push_back(std::move(storage));
    return lone;
  }

  std::size_t storage_of(const StoredId& stored, std::size_t at) {
    const auto [place, is_new] = places_.try_emplace(stored.key.data(), to_.storages.size());
    if (is_new) to_.storages.push_back(find_storage_(stored.key));
    const PickledStorage& storage = to_.storages[place->second];
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

  [[noreturn]] void refuse_beyond(const PickledView& view, std::size_t at) const {
    pickle_.refuse(translated("a tensor of shape {1} ends after its storage {2}", text(view.shape),
                              in_quotes(to_.storages[view.storage].record)),
                   at);
  }

  // The last element must lie in the storage.
  void check_range(const PickledView& view, std::size_t at) const {
    std::uint64_t last = view.offset;
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
      if (view.shape[axis] == 0) return;
      std::uint64_t way = 0;
      if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &way) ||
          __builtin_add_overflow(last, way, &last)) {
        refuse_beyond(view, at);
      }
    }
    if (last >= to_.storages[view.storage].size() / size_of(view.type)) refuse_beyond(view, at);
  }

  // A view of the tensor that an argument is; absent, with the reason, if its type is not read.
  std::optional<PickledView> view_of(Id id, std::size_t at, std::string& unread) {
    const Value& call = value(id);
    const bool is_tensor =
        call.kind == Kind::call &&
        (call.name->role == PickleRole::tensor || call.name->role == PickleRole::tensor_of_dtype);
    if (!is_tensor) refuse_tensor(at);
    return view(*call.name, value(call.items[1]), at, unread);
  }

  // _rebuild_sparse_tensor(layout, (indices, values, size, …) or (starts, places, values, size)).
  // Absent if it is called with others, or, with the reason, if its layout or type is not read.
  std::optional<PickledTensor> sparse(const Value& arguments, std::size_t at, std::string& unread) {
    if (arguments.items.size() != 2) return std::nullopt;
    const Value& layout = value(arguments.items[0]);
    const std::vector<Id>& given = value(arguments.items[1]).items;
    using Layout = PickledTensor::Layout;
    const bool coordinates = layout.text == "torch.sparse_coo";
    const bool rows = layout.text == "torch.sparse_csr",
               columns = layout.text == "torch.sparse_csc";
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

  void check_sparse(const PickledTensor& own, std::size_t at) const {
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
    if (!fits) refuse_tensor(at);
  }

  // ---- NumPy ------------------------------------------------------------------------------------

  // Bytes of a text of the pickle, which stay if the pickle's do.
  PickledStorage storage_of_bytes(std::string_view text) {
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

  PickledTensor dense(const Shape& shape, ElementType type, PickledStorage storage,
                      bool column_major = false) {
    PickledTensor own;
    own.shape = own.values.shape = shape;
    own.values.type = type;
    own.values.storage = to_.storages.size();
    own.values.strides.resize(shape.size());
    std::uint64_t step = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t axis = column_major ? i : shape.size() - 1 - i;
      own.values.strides[axis] = step;
      step *= shape[axis];
    }
    to_.storages.push_back(std::move(storage));
    return own;
  }

  // State of an array: ([version, ]shape, type, whether columns come first, bytes or objects)
  void add_array(const Value& call, const ValuePath& place, std::size_t depth) {
    if (call.items.size() < 3) {
      add_other(place, translated("an array without a state"));
      return;
    }
    const std::vector<Id>& state = value(call.items[2]).items;
    if (value(call.items[2]).kind != Kind::sequence || state.size() < 4 || state.size() > 5)
      refuse_tensor(call.at);
    const std::size_t first = state.size() - 4;
    const Value& data = value(state[first + 3]);
    if (data.kind == Kind::sequence) {  // objects
      if (!walk(state[first + 3], place, depth + 1)) add_other(place, translated("Python objects"));
      return;
    }
    const Value& columns = value(state[first + 2]);
    const bool column_major =
        (columns.kind == Kind::boolean || columns.kind == Kind::integer) && columns.integer != 0;
    add_elements(state[first + 1], sizes(state[first], call.at), data, column_major, place,
                 call.at);
  }

  // _frombuffer(bytes, type, shape, order)
  void add_buffer(const Value& arguments, std::size_t at, const ValuePath& place) {
    if (arguments.items.size() != 4) refuse_tensor(at);
    add_elements(arguments.items[1], sizes(arguments.items[2], at), value(arguments.items[0]),
                 value(arguments.items[3]).text == "F", place, at);
  }

  // Adds an array of elements of NumPy's type.
  void add_elements(Id type, const Shape& shape, const Value& data, bool column_major,
                    const ValuePath& place, std::size_t at) {
    if (data.kind != Kind::bytes && data.kind != Kind::text) {
      add_other(place, translated("Python objects"));
      return;
    }
    const NumpyType elements = numpy_type(type, at);
    PickledStorage storage = storage_of_bytes(data.text);
    if (!elements.type) {
      std::vector<std::vector<std::string>> texts =
          numpy_texts(elements, shape, storage.bytes, column_major);
      add_other(place, elements.reason(), std::move(texts));
      return;
    }
    std::size_t bytes = 0;
    const bool overflows =
        __builtin_mul_overflow(element_count(shape), size_of(*elements.type), &bytes);
    if (overflows || bytes != storage.bytes.size()) {
      pickle_.refuse(translated("an array of shape {1} of {2} does not take {3} bytes", text(shape),
                                attn::name(*elements.type), storage.bytes.size()),
                     at);
    }
    PickledTensor own = dense(shape, *elements.type, std::move(storage), column_major);
    own.values.big_endian = elements.big_endian;
    add_tensor(place, std::move(own), at);
  }

  // numpy.dtype("f4", …), whose state has the order of the bytes in second place.
  NumpyType numpy_type(Id id, std::size_t at) const {
    const Value& call = value(id);
    if (call.kind != Kind::call || call.name->role != PickleRole::numpy_type) {
      NumpyType other;
      other.code = call.name != nullptr ? call.name->text() : "";
      return other;
    }
    const std::vector<Id>& given = value(call.items[1]).items;
    if (given.empty()) refuse_tensor(at);
    const Value& code = value(given[0]);
    if (code.kind == Kind::name) {  // a type that another library adds to NumPy
      NumpyType other;
      other.code = code.name->text();
      if (code.name->name == attn::name(ElementType::bfloat16)) other.type = ElementType::bfloat16;
      return other;
    }
    if (code.kind != Kind::text) refuse_tensor(at);
    std::string order;
    if (call.items.size() > 2 && value(call.items[2]).kind == Kind::sequence &&
        value(call.items[2]).items.size() > 1) {
      order = value(value(call.items[2]).items[1]).text;
    }
    const bool known_order = order == "<" || order == ">";
    return numpy_type_of((known_order ? order : "") + std::string(code.text));
  }

  PickledMembers to_;
  const Pickle& pickle_;
  EqualTexts& texts_;
  const FindStorage& find_storage_;
  std::span<const std::byte> kept_;
  const Limits& limits_;
  std::map<const char*, std::size_t> places_;  // of storages, by the addresses of their keys
  std::map<Id, std::pair<std::size_t, LoneStorage>> lone_storages_;
  std::size_t places_walked_ = 0, characters_ = 0, texts_kept_ = 0;
  // Of containers: on the way to the value that is walked to, or without anything to list.
  enum class State : std::uint8_t { unknown, open, nothing };
  std::vector<State> states_;
  std::unordered_set<std::string> paths_;
};

}  // namespace

PickledMembers pickled_members(const Pickle& pickle, EqualTexts& texts,
                               const FindStorage& find_storage, std::span<const std::byte> kept,
                               const Limits& limits) {
  return MemberWalk(pickle, texts, find_storage, kept, limits).members();
}

}  // namespace attn
