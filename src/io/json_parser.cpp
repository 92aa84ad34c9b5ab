#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/error.hpp"

#include "io/json_syntax_error.hpp"
#include "io/json_value.hpp"
#include "io/number_array.hpp"
#include "io/number_block.hpp"
#include "support/in_quotes.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A block and which of the arrays of the text, in the order of their opening brackets, it stands
// for.
struct Placed {
  std::size_t array;
  JsonValue::Block block;
};

// Builds the values from the parser's events. Open arrays and objects stand on a stack of its own,
// so that no nesting can overflow the program's.
class Builder {
 public:
  Builder(std::string_view text, std::size_t depth, std::span<const Placed> blocks)
      : text_(text), depth_(depth), blocks_(blocks) {}

  JsonValue take() { return std::move(root_); }

  bool null() { return add(JsonValue{}); }
  bool boolean(bool truth) { return add({truth}); }
  bool number_integer(std::int64_t number) {
    return add({JsonValue::Number{static_cast<double>(number), number, true}});
  }
  bool number_unsigned(std::uint64_t number) {
    if (std::in_range<std::int64_t>(number)) {
      return number_integer(static_cast<std::int64_t>(number));
    }
    return add({JsonValue::Number{static_cast<double>(number), 0, false}});
  }
  bool number_float(double number, const std::string&) {
    return add({JsonValue::number_of(number)});
  }
  bool string(std::string& text) { return add({std::move(text)}); }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_array(std::size_t) {
    const bool placed = !blocks_.empty() && blocks_.front().array == arrays_;
    ++arrays_;
    // The levels inside a block count too.
    if (placed) check_depth(open_.size() + blocks_.front().block->shape().size());
    return open({JsonValue::Array{}});
  }
  bool start_object(std::size_t) { return open({JsonValue::Object{}}); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_array() {
    if (!blocks_.empty() && blocks_.front().array + 1 == arrays_) {
      open_.back().value.data = blocks_.front().block;
      blocks_ = blocks_.subspan(1);
    }
    return close();
  }
  bool end_object() {
    check_keys(std::get<JsonValue::Object>(open_.back().value.data));
    return close();
  }

  bool parse_error(std::size_t, const std::string& last_token,
                   const nlohmann::detail::exception& exception) {
    constexpr int number_overflow = 406;
    if (exception.id == number_overflow) {
      throw input_error(translated("the number {1} is beyond the range of a double", last_token),
                        pointer(open_.size()), R"(infinities are written "inf" and "-inf")");
    }
    throw_json_syntax_error(text_);
  }

 private:
  struct Open {
    JsonValue value;
    std::string key;  // objects: of the member being read
  };

  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back().value;
    if (auto* object = std::get_if<JsonValue::Object>(&parent.data)) {
      object->push_back({std::move(open_.back().key), std::move(value)});
      return true;
    }
    std::get<JsonValue::Array>(parent.data).push_back(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    check_depth(open_.size() + 1);
    open_.push_back({std::move(value), {}});
    return true;
  }

  void check_depth(std::size_t levels) const {
    if (levels > depth_) {
      // A pointer as deep as the limit would fill the screen.
      constexpr std::size_t steps_shown = 8;
      const bool cut = open_.size() > steps_shown;
      throw input_error(
          translated("arrays and objects are nested deeper than {1} levels", depth_),
          pointer(std::min(open_.size(), steps_shown)) + (cut ? "/…" : ""),
          translated(
              "look for brackets that are not closed, or raise the limit with Limits::nesting"));
    }
  }

  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  void check_keys(const JsonValue::Object& members) const {
    if (members.size() < 2) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    // Of several keys given twice, the one whose repetition comes first in the text is named.
    std::size_t repeated = members.size();
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (members[order[i]].key == members[order[i - 1]].key) {
        repeated = std::min(repeated, order[i]);
      }
    }
    if (repeated == members.size()) return;
    const std::string& name = members[repeated].key;
    throw input_error(translated("the key {1} is given twice", in_quotes(name)),
                      pointer_to(pointer(open_.size() - 1), name),
                      translated("remove one of the two"));
  }

  // The pointer to what is being read inside the outermost `depth` open values.
  std::string pointer(std::size_t depth) const {
    std::string result;
    for (std::size_t i = 0; i < depth; ++i) {
      const Open& open = open_[i];
      result = open.value.is(JsonValue::Type::object) ? pointer_to(result, open.key)
                                                      : pointer_to(result, open.value.size());
    }
    return result;
  }

  std::string_view text_;
  std::size_t depth_;
  std::span<const Placed> blocks_;  // those to come
  std::size_t arrays_ = 0;          // begun so far
  std::vector<Open> open_;
  JsonValue root_;
};

// A text with an empty array in place of each number array.
struct Outline {
  std::string text;
  std::vector<std::size_t> arrays;  // which of its arrays these are
};

Outline outline(std::string_view text, std::span<const NumberArray> blocks) {
  Outline result;
  std::size_t arrays = 0;
  bool in_string = false;
  const auto add = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '"') in_string = !in_string;
      if (part[i] == '\\') {
        ++i;
      } else if (part[i] == '[' && !in_string) {
        ++arrays;
      }
    }
    result.text += part;
  };
  std::size_t at = 0;
  for (const NumberArray& block : blocks) {
    const auto begin = static_cast<std::size_t>(block.text.data() - text.data());
    add(text.substr(at, begin - at));
    result.arrays.push_back(arrays++);
    result.text += "[]";
    at = begin + block.text.size();
  }
  add(text.substr(at));
  return result;
}

JsonValue parse_outline(std::string_view text, std::size_t depth, std::span<const Placed> blocks) {
  // The parser takes a zero byte outside strings for the end of the text and would ignore what
  // follows.
  if (text.find('\0') != std::string_view::npos) throw_json_syntax_error(text);
  Builder builder(text, depth, blocks);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.take();
}

DType stated_dtype(const JsonValue& root, DType otherwise) {
  const JsonValue* dtype = root.find("dtype");
  if (dtype == nullptr || !dtype->is(JsonValue::Type::string)) return otherwise;
  if (dtype->string() == name(DType::float32)) return DType::float32;
  return dtype->string() == name(DType::float64) ? DType::float64 : otherwise;
}

}  // namespace

JsonValue parse_json_by_element(std::string_view text, std::size_t depth) {
  return parse_outline(text, depth, {});
}

JsonValue parse_json(std::string_view text, const JsonOptions& options) {
  // 1. The number arrays.
  std::vector<NumberArray> arrays = find_number_arrays(text);
  if (arrays.empty()) return parse_json_by_element(text, options.depth);
  Outline rest = outline(text, arrays);
  std::vector<std::shared_ptr<NumberBlock>> blocks;
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::shared_ptr<const void> owner = options.owner;
    if (owner == nullptr) {
      const auto copy = std::make_shared<const std::string>(arrays[i].text);
      arrays[i].text = *copy;
      owner = copy;
    }
    blocks.push_back(std::make_shared<NumberBlock>(std::move(arrays[i]), std::move(owner)));
    placed.push_back({rest.arrays[i], blocks[i]});
  }
  try {
    // 2. What the parser makes of all else, and then their elements.
    JsonValue root = parse_outline(rest.text, options.depth, placed);
    const DType dtype = stated_dtype(root, options.dtype);
    bool valid = true;
    for (const auto& block : blocks) valid = valid && block->read(dtype, options.threads);
    if (valid) return root;
  } catch (const Error&) {
    // Of the outline; those of the whole text have its lines and columns.
  }
  return parse_json_by_element(text, options.depth);
}

}  // namespace attn
