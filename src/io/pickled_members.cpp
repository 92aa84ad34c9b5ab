#include <algorithm>
#include <utility>

#include "attn/error.hpp"

#include "io/pickled_tensors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

namespace attn {

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
      : pickle_(pickle),
        texts_(texts),
        limits_(limits),
        tensors_(pickle, texts, find_storage, kept) {}

  PickledMembers members() {
    states_.resize(pickle_.count());
    if (!walk(pickle_.root(), {}, 0)) add_other({}, reason_of(pickle_.root()));
    if (to_.names.size() == 1 && to_.names.front().empty()) to_.names.front() = "tensor";
    to_.storages = tensors_.take_storages();
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
      // Among tensors, None is a layer that is missing.
      const bool lacks = value(sequence.items[i]).kind == Kind::none;
      const std::string name = std::to_string(i);
      const ValuePath place = path.with(name);
      if (!(lacks ? add_other(place, translated("None")) : add_unlisted(place, sequence.items[i])))
        break;
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
    add_tensor(path, tensors_.dense(shape, ElementType::float64, std::move(storage)), sequence.at);
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
      if (wrapped == most_wrappings || given.size() < (typed ? 3 : 1)) tensors_.refuse(at);
      const Value& inner = value(given.front());
      if (typed) {
        if (inner.kind != Kind::name || value(given[2]).kind != Kind::sequence) tensors_.refuse(at);
        name = inner.name;
        arguments = given[2];
      } else {
        if (inner.kind == Kind::object) {
          add_other(place, reason_of(given.front()));
          return;
        }
        if (inner.kind != Kind::call) tensors_.refuse(at);
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
        if (const auto own = tensors_.view(name, arguments, at, unread)) {
          add_tensor(place, {own->shape, *own}, at);
        } else {
          add_other(place, unread);
        }
        return;
      case PickleRole::sparse_tensor:
        if (auto own = tensors_.sparse(arguments, at, unread)) {
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
        if (arguments.items.size() != 2) tensors_.refuse(at);
        add_elements(arguments.items[0], {}, value(arguments.items[1]), false, place, at);
        return;
      case PickleRole::numpy_type:
      case PickleRole::storage_bytes:
      case PickleRole::unknown_name:
        add_other(place, translated("a value of {1}", name.text()));
        return;
      default:
        tensors_.refuse(at);
    }
  }

  // State of an array: ([version, ]shape, type, whether columns come first, bytes or objects)
  void add_array(const Value& call, const ValuePath& place, std::size_t depth) {
    if (call.items.size() < 3) {
      add_other(place, translated("an array without a state"));
      return;
    }
    const std::vector<Id>& state = value(call.items[2]).items;
    if (value(call.items[2]).kind != Kind::sequence || state.size() < 4 || state.size() > 5)
      tensors_.refuse(call.at);
    const std::size_t first = state.size() - 4;
    const Value& data = value(state[first + 3]);
    if (data.kind == Kind::sequence) {  // objects
      if (!walk(state[first + 3], place, depth + 1)) add_other(place, translated("Python objects"));
      return;
    }
    const Value& columns = value(state[first + 2]);
    const bool column_major =
        (columns.kind == Kind::boolean || columns.kind == Kind::integer) && columns.integer != 0;
    add_elements(state[first + 1], tensors_.sizes(state[first], call.at), data, column_major, place,
                 call.at);
  }

  // _frombuffer(bytes, type, shape, order)
  void add_buffer(const Value& arguments, std::size_t at, const ValuePath& place) {
    if (arguments.items.size() != 4) tensors_.refuse(at);
    add_elements(arguments.items[1], tensors_.sizes(arguments.items[2], at),
                 value(arguments.items[0]), value(arguments.items[3]).text == "F", place, at);
  }

  // Adds an array of elements of NumPy's type.
  void add_elements(Id type, const Shape& shape, const Value& data, bool column_major,
                    const ValuePath& place, std::size_t at) {
    PickledTensors::Elements made = tensors_.elements(type, shape, data, column_major, at);
    if (made.tensor) {
      add_tensor(place, std::move(*made.tensor), at);
    } else {
      add_other(place, std::move(made.reason), std::move(made.texts));
    }
  }

  PickledMembers to_;
  const Pickle& pickle_;
  EqualTexts& texts_;
  const Limits& limits_;
  PickledTensors tensors_;
  std::size_t places_walked_ = 0, characters_ = 0, texts_kept_ = 0;
  // States of containers: on the way to the value that is walked to, or without anything to list.
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
