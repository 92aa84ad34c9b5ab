#include "io/file_members.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "io/json_tensor.hpp"
#include "io/number_array.hpp"
#include "io/raw_array.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

// The text of a label: a string, or the token of an object.
const std::string* label_in(const JsonValue& value) {
  if (value.is(JsonValue::Type::string)) return &value.string();
  for (const char* key : {"token", "text"}) {
    const JsonValue* text = value.find(key);
    if (text != nullptr && text->is(JsonValue::Type::string)) return &text->string();
  }
  return nullptr;
}

// Shape of rows of one length; absent if sizes differ, or if there is something else.
std::optional<Shape> shape_of_rows(const JsonValue& value, std::size_t depth = 0) {
  if (const NumberBlock* block = value.block()) return block->shape();
  if (!value.is(JsonValue::Type::array)) return Shape();
  if (depth == most_axes) return std::nullopt;
  std::optional<Shape> first;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::optional<Shape> own = shape_of_rows(value.element(i), depth + 1);
    if (!own || (first && *own != *first)) return std::nullopt;
    first = own;
  }
  Shape shape{value.size()};
  if (first) shape.insert(shape.end(), first->begin(), first->end());
  return shape;
}

// Whether an array is of matrices of several shapes, which are tensors of their own.
bool holds_several(const JsonValue& array, std::size_t depth = 0) {
  if (array.block() != nullptr || array.size() == 0 || depth == most_axes) return false;
  std::optional<Shape> first;
  bool differ = false;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const JsonValue& own = array.element(i);
    if (!own.is(JsonValue::Type::array)) return false;
    const std::optional<Shape> shape = shape_of_rows(own);
    // A row of another length is a mistake within one matrix.
    if (shape ? shape->size() < 2 : !holds_several(own, depth + 1)) return false;
    differ = differ || !shape || (first && *first != *shape);
    first = shape;
  }
  return differ;
}

std::size_t axes_of(const JsonValue& value) {
  if (const NumberBlock* block = value.block()) return block->shape().size();
  const bool nested = value.is(JsonValue::Type::array) && value.size() > 0;
  return nested ? 1 + axes_of(value.element(0)) : 0;
}

class JsonWalk {
 public:
  JsonMembers members(const JsonValue& value, const std::string& pointer, const std::string& path) {
    if (!walk(value, path, pointer)) add_other(path, value);
    return std::move(to_);
  }

 private:
  // Whether the value is a tensor or texts, or holds some.
  bool walk(const JsonValue& value, const std::string& path, const std::string& pointer) {
    constexpr std::size_t deepest = 64;
    if (depth_ == deepest) return false;
    if (value.is(JsonValue::Type::object)) {
      if (looks_like_tensor(value)) return add_tensor(value, path, pointer);
      ++depth_;
      const bool found = walk_object(value, path, pointer);
      --depth_;
      return found;
    }
    if (!value.is(JsonValue::Type::array)) return false;
    if (add_texts(value, path)) return true;
    const bool several =
        (within_several_ && axes_of(value) > most_axes_of_maps) || holds_several(value);
    if (value.size() > 0 && looks_like_tensor(value) && !several) {
      return add_tensor(value, path, pointer);
    }
    const bool before = std::exchange(within_several_, several);
    std::vector<std::size_t> rest;
    ++depth_;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string name = path + (path.empty() ? "" : ".") + std::to_string(i);
      if (!walk(value.element(i), name, pointer_to(pointer, i))) rest.push_back(i);
    }
    --depth_;
    within_several_ = before;
    if (rest.size() == value.size()) return false;
    for (const std::size_t i : rest) {
      add_other(path + (path.empty() ? "" : ".") + std::to_string(i), value.element(i));
    }
    return true;
  }

  bool walk_object(const JsonValue& object, const std::string& path, const std::string& pointer) {
    std::vector<const JsonMember*> rest;
    for (const JsonMember& member : object.members()) {
      const std::string name = path + (path.empty() ? "" : ".") + member.key;
      if (!walk(member.value, name, pointer_to(pointer, member.key))) rest.push_back(&member);
    }
    if (rest.size() == object.members().size()) return false;
    for (const JsonMember* member : rest) {
      add_other(path + (path.empty() ? "" : ".") + member->key, member->value);
    }
    return true;
  }

  bool add_tensor(const JsonValue& value, const std::string& path, const std::string& pointer) {
    constexpr std::size_t often = 1 << 12;
    if (to_.tensors.size() % often == 0) check_time();
    to_.tensors.push_back({path, pointer, &value});
    return true;
  }

  bool add_texts(const JsonValue& value, const std::string& path) {
    if (value.block() != nullptr) return false;
    std::vector<std::vector<std::string>> texts = texts_of(value);
    if (texts.empty()) return false;
    to_.others.push_back({path, translated("texts"), [texts = std::move(texts)] { return texts; }});
    return true;
  }

  void add_other(const std::string& path, const JsonValue& value) {
    constexpr std::size_t most_listed = 1000;
    if (to_.others.size() == most_listed) return;
    const bool plain = !value.is(JsonValue::Type::array) && !value.is(JsonValue::Type::object);
    to_.others.push_back({path, translated(type_text(value)), nullptr, plain});
  }

  // The map of a layer has at most four axes: what has more among arrays of several shapes, such as
  // the steps of a decoding, is an array of layers.
  static constexpr std::size_t most_axes_of_maps = 4;
  bool within_several_ = false;
  std::size_t depth_ = 0;
  JsonMembers to_;
};

}  // namespace

std::vector<std::vector<std::string>> texts_of(const JsonValue& value) {
  if (!value.is(JsonValue::Type::array) || value.size() == 0 || value.block() != nullptr) return {};
  const auto add = [](const JsonValue& list, std::vector<std::string>& to) {
    if (!list.is(JsonValue::Type::array) || list.block() != nullptr) return false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string* text = label_in(list.element(i));
      if (text == nullptr) return false;
      to.push_back(printable(*text));
    }
    return !to.empty();
  };
  // Numbers that are no JSON numbers are texts too: "nan".
  const auto is_number = [](const std::string& text) {
    return text == "nan" || text == "inf" || text == "-inf";
  };
  std::vector<std::vector<std::string>> texts(1);
  if (!add(value, texts[0])) {
    texts.assign(value.size(), {});
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!add(value.element(i), texts[i])) return {};
    }
  }
  for (const std::vector<std::string>& list : texts) {
    if (std::ranges::any_of(list, is_number)) return {};
  }
  return texts;
}

JsonMembers json_members(const JsonValue& value, const std::string& pointer,
                         const std::string& path) {
  return JsonWalk().members(value, pointer, path);
}

std::string others_text(std::span<const OtherMember> others) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(others.size(), most); ++i) {
    text += text.empty() ? "" : translated("; ");
    text += others[i].name.empty()
                ? others[i].reason
                : translated("{1}: {2}", in_quotes(others[i].name), others[i].reason);
  }
  if (others.size() > most) text += translated(" and {1} more", others.size() - most);
  return text;
}

namespace {

// Help for members of which it is known how they are saved as tensors; empty for others.
std::string help_for_reason(std::string_view reason) {
  if (reason.find("omplex") != reason.npos)
    return translated("save tensor.real and tensor.imag as tensors of their own");
  if (reason.ends_with("V2\")")) {
    return translated(
        "if they are bfloat16 numbers, save them as float32: "
        "array.view(ml_dtypes.bfloat16).astype(numpy.float32)");
  }
  if (reason.find("DynamicCache") == reason.npos && reason.find("DynamicLayer") == reason.npos)
    return "";
  return translated(
      "save keys and values as tensors: torch.save([(layer.keys, layer.values) for layer in "
      "cache.layers], file)");
}

}  // namespace

Error not_a_tensor(const OtherMember& other) {
  const std::string help = help_for_reason(other.reason);
  return input_error(
      translated("{1} is not a tensor: {2}", in_quotes(other.name), other.reason), "",
      help.empty() ? translated("name another member, or save this one as an array of numbers")
                   : help);
}

Error no_tensors(std::span<const OtherMember> others) {
  const std::string help = others.empty() ? "" : help_for_reason(others[0].reason);
  if (!help.empty()) {
    return input_error(
        translated("the file holds no tensor that can be read: {1}", others_text(others)), "",
        help);
  }
  return input_error(
      translated("the file holds no tensor that can be read: {1}", others_text(others)), "",
      translated("save maps as arrays of numbers of a usual type, such as tensor.float() has, "
                 "those of an object with torch.save(vars(object), file), and the parameters of a "
                 "module with torch.save(module.state_dict(), file)"));
}

std::vector<std::vector<std::string>> texts_of_list(std::string_view text) {
  if (text.starts_with('[')) {
    try {
      return texts_of(parse_json(text));
    } catch (const Error&) {
      return {};
    }
  }
  std::vector<std::string> words;
  constexpr std::string_view space = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(space); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(space, at), text.size());
    words.push_back(printable(text.substr(at, end - at)));
    at = text.find_first_not_of(space, end);
  }
  if (words.size() < 2) return {};
  return {std::move(words)};
}

}  // namespace attn
