#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "io/number_array.hpp"
#include "support/memory.hpp"
#include "support/platform.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

// A block and the number of its array among the arrays of the text, in the order of their opening
// brackets.
struct Placed {
  std::size_t array;
  std::shared_ptr<const NumberBlock> block;
};

// Values within values are copied and destroyed recursively. Bytes of stack that a level takes at
// most, and levels for which each stack has room.
#ifdef __OPTIMIZE__
constexpr std::size_t stack_per_level = 512;
#else
constexpr std::size_t stack_per_level = 2048;
#endif
constexpr std::size_t levels_on_any_stack = 32;

// Builds values from the events of nlohmann's parser. Its own stack of open arrays and objects
// keeps deep nesting from overflowing the program's stack.
class Builder {
 public:
  Builder(std::string_view text, std::size_t depth, std::span<const Placed> blocks, bool quotes)
      : text_(text), depth_(depth), blocks_(blocks), quotes_(quotes) {}

  JsonValue take() { return std::move(root_); }

  bool null() { return add(JsonValue{}); }
  bool boolean(bool truth) { return add({truth}); }
  bool number_integer(std::int64_t number) { return add({number}); }
  bool number_unsigned(std::uint64_t number) {
    if (std::in_range<std::int64_t>(number)) {
      return number_integer(static_cast<std::int64_t>(number));
    }
    return add({JsonValue::LargeInteger{static_cast<double>(number)}});
  }
  bool number_float(double number, const std::string& text) {
    const bool integral = text.find_first_of(".eE") == text.npos;
    return integral ? add({JsonValue::LargeInteger{number}}) : add({number});
  }
  bool string(std::string& text) {
    return add({text.empty() ? JsonValue::Text() : JsonValue::Text(std::move(text))});
  }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_array(std::size_t) {
    const bool placed = !blocks_.empty() && blocks_.front().array == arrays_;
    ++arrays_;
    // Levels inside a block count as well.
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
      open_.back().value.data = JsonValue::Block(blocks_.front().block);
      blocks_ = blocks_.subspan(1);
    }
    return close();
  }
  bool end_object() {
    check_keys(open_.back().value.members());
    return close();
  }

  bool parse_error(std::size_t, const std::string& last_token,
                   const nlohmann::detail::exception& exception) {
    constexpr int number_overflow = 406;
    if (exception.id == number_overflow) {
      throw input_error(
          translated("the number {1} is beyond the range of a double", shown_name(last_token)),
          pointer(open_.size()), translated("infinities are written \"inf\" and \"-inf\""));
    }
    throw_json_syntax_error(text_, quotes_);
  }

 private:
  struct Open {
    JsonValue value;
    std::string key;  // of the member under read, in objects
  };

  bool add(JsonValue value) {
    constexpr std::size_t often = 1U << 16;
    if (++values_ % often == 0) check_time();
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back().value;
    if (auto* object = std::get_if<JsonValue::Object>(&parent.data)) {
      (*object)->push_back({std::move(open_.back().key), std::move(value)});
      return true;
    }
    std::get<JsonValue::Array>(parent.data)->push_back(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    check_depth(open_.size() + 1);
    open_.push_back({std::move(value), {}});
    return true;
  }

  void check_depth(std::size_t levels) {
    // A pointer with all levels would fill the screen.
    const auto place = [&] {
      constexpr std::size_t steps_shown = 8;
      const bool cut = open_.size() > steps_shown;
      return pointer(std::min(open_.size(), steps_shown)) + (cut ? "/…" : "");
    };
    if (levels > depth_) {
      throw input_error(
          translated("arrays and objects are nested deeper than {1} levels", depth_), place(),
          translated(
              "look for brackets that are not closed, or raise the limit with Limits::nesting"));
    }
    if (levels <= levels_on_any_stack) return;
    if (levels_on_stack_ == 0) {
      levels_on_stack_ =
          levels_on_any_stack + platform::stack_left().value_or(SIZE_MAX) / stack_per_level;
    }
    if (levels > levels_on_stack_) {
      throw input_error(translated("arrays and objects are nested deeper than the {1} levels that "
                                   "the program's stack has room for",
                                   levels_on_stack_),
                        place(),
                        translated("look for brackets that are not closed, or allow a larger stack "
                                   "(ulimit -s)"));
    }
  }

  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  void check_keys(std::span<const JsonMember> members) const {
    if (members.size() < 2) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    // The error names the key whose repetition comes first in the text.
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

  // JSON pointer to the value under read, of the outermost `depth` open values.
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
  std::size_t depth_, levels_on_stack_ = 0;  // 0: not asked yet
  std::span<const Placed> blocks_;           // blocks that follow
  bool quotes_;                              // whether errors quote the text
  std::size_t values_ = 0;                   // number of values read
  std::size_t arrays_ = 0;                   // number of arrays begun
  std::vector<Open> open_;
  JsonValue root_;
};

// Text with an empty array in the place of each number array.
struct Outline {
  std::string text;
  std::vector<std::size_t> arrays;  // numbers of these arrays in the text
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

// Bytes that the values of a text take, counted before any is made: each value itself, the boxes of
// arrays and objects with their least allocations, and strings that are not empty.
double bytes_of_values(std::string_view text) {
  constexpr std::size_t of_box = 64, of_string = 48;
  std::size_t bytes = sizeof(JsonValue);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (i > begin) bytes += of_string + (i - begin > sizeof(std::string) / 2 ? i - begin : 0);
    } else if (c == ',') {
      bytes += sizeof(JsonValue);
    } else if (c == ':') {
      bytes += sizeof(JsonMember) - sizeof(JsonValue);
    } else if ((c == '[' || c == '{') && text.substr(i + 1, 1) != "]") {
      bytes += of_box;
    }
  }
  return static_cast<double>(bytes);
}

// Throws for a text whose values take far more memory than itself, such as millions of brackets.
void check_bytes_of_values(std::string_view text) {
  constexpr double each_byte = 12, at_most_each_byte = 40, any_text = 120e6;
  const double most = std::max(any_text, each_byte * static_cast<double>(text.size()));
  if (at_most_each_byte * static_cast<double>(text.size()) <= most) return;
  const double bytes = bytes_of_values(text);
  if (bytes <= most) return;
  throw input_error(
      translated("the values of the JSON text take {1} bytes of memory, and the limit "
                 "for its {2} bytes is {3}",
                 std::to_string(static_cast<std::uint64_t>(bytes)), text.size(),
                 std::to_string(static_cast<std::uint64_t>(most))),
      "",
      translated("give numbers in arrays with rows of one length, and many texts in "
                 "several documents of a batch"));
}

JsonValue parse_outline(std::string_view text, std::size_t depth, std::span<const Placed> blocks,
                        bool quotes) {
  // nlohmann's parser takes a zero byte outside strings for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw_json_syntax_error(text, quotes);
  // A value of 16 bytes takes at least two characters.
  check_memory(text.size() / 2, sizeof(JsonValue), translated("the values of the JSON text"), "");
  check_bytes_of_values(text);
  Builder builder(text, depth, blocks, quotes);
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
  return parse_outline(text, depth, {}, false);
}

namespace {

// Parses the text; `quotes` is whether syntax errors quote its words.
JsonValue parsed(std::string_view text, const JsonOptions& options, bool quotes) {
  // 1. Find the number arrays.
  std::vector<NumberArray> arrays = find_number_arrays(text);
  if (arrays.empty()) return parse_outline(text, options.depth, {}, quotes);
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
    // 2. Parse all else, then read the arrays' elements.
    JsonValue root = parse_outline(rest.text, options.depth, placed, quotes);
    const DType dtype = stated_dtype(root, options.dtype);
    bool valid = true;
    for (const auto& block : blocks) valid = valid && block->read(dtype, options.threads);
    if (valid) return root;
  } catch (const Error&) {
    // An error of the outline: parse the whole text for its line and column.
  }
  return parse_outline(text, options.depth, {}, quotes);
}

// The text with strings in the place of Python's NaN, Infinity and -Infinity; absent without any.
std::optional<std::string> with_python_numbers(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"NaN", "\"nan\""}, {"Infinity", "\"inf\""}, {"-Infinity", "\"-inf\""}};
  std::string result;
  bool any = false, in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == 'N' || c == 'I' || c == '-')) {
      const auto word = std::ranges::find_if(
          words, [&](const auto& known) { return text.substr(i).starts_with(known.first); });
      if (word != std::end(words)) {
        result += word->second;
        i += word->first.size() - 1;
        any = true;
        continue;
      }
    }
    result += c;
    if (c == '\\' && in_string && i + 1 < text.size()) result += text[++i];
  }
  if (!any) return std::nullopt;
  return result;
}

}  // namespace

JsonValue parse_json(std::string_view text, const JsonOptions& options) {
  if (!options.python_numbers) return parsed(text, options, false);
  try {
    return parsed(text, options, false);
  } catch (const Error&) {
    std::optional<std::string> strict = with_python_numbers(text);
    if (!strict) throw;
    const auto own = std::make_shared<const std::string>(std::move(*strict));
    JsonOptions again = options;
    again.owner = own;
    return parsed(*own, again, false);
  }
}

JsonValue parse_json_document(std::string_view text, const JsonOptions& options) {
  return parsed(text, options, true);
}

}  // namespace attn
