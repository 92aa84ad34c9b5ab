#include "document/mask_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "attention/visibility.hpp"
#include "document/fields.hpp"
#include "document/option_reader.hpp"
#include "io/json_writer.hpp"
#include "io/number_array.hpp"
#include "io/raw_array.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr auto alignments = std::to_array<Named<Alignment>>(
    {{"upper_left", Alignment::upper_left}, {"lower_right", Alignment::lower_right}});

// The name of an alignment by itself or as PyTorch names it; empty for another word.
std::string_view alignment_named(std::string_view word) {
  if (word == "bottom_right" || word == "lower_right") return "lower_right";
  return word == "top_left" || word == "upper_left" ? "upper_left" : "";
}

std::optional<double> read_fill(const JsonValue& value, const std::string& pointer) {
  if (value.is(JsonValue::Type::string) && value.string() == "-inf") return std::nullopt;
  if (value.is(JsonValue::Type::number)) return value.number();
  if (double number = 0;
      value.is(JsonValue::Type::string) && parse_number(value.string(), number)) {
    throw input_error(translated("the fill is a string, {1}", in_quotes(value.string())), pointer,
                      translated("write the number without quotes: {1}", value.string()));
  }
  throw input_error(translated("the fill is neither a finite number nor \"-inf\""), pointer,
                    translated("give a finite number such as -1e9, or leave it out for -inf"));
}

std::string aligned(const Mask& mask) {
  return mask.align == Alignment::lower_right ? translated(" aligned to the last key") : "";
}

// The reach of one side of a window in words; `all` if it is unbounded.
std::string reach_text(std::optional<std::size_t> side, const std::string& all) {
  return side ? std::to_string(*side) : all;
}

std::string listed(const std::vector<std::size_t>& positions, const char* between) {
  std::string text;
  for (const std::size_t position : positions)
    text += (text.empty() ? "" : between) + std::to_string(position);
  return text;
}

/// Place, type and source of a part's value.
struct PartValue {
  std::string at;  ///< JSON pointer
  DType dtype;
  TensorSource& tensors;
};

/// Words for the keys that a part hides.
struct HiddenKeys {
  const char* legend;  ///< null = the part hides no keys
  std::string (*sentence)(const Mask& mask);
  std::string (*legend_of)(const Mask& mask) = nullptr;  ///< empty = `legend`
};
constexpr HiddenKeys no_keys{nullptr, nullptr};

std::string outside_window(const Mask& mask) {
  const Window window = mask.window.value_or(Window());
  if (window.left && window.right) {
    return translated("window: keys more than {1} before or {2} after the query", *window.left,
                      *window.right);
  }
  if (window.left) return translated("window: keys more than {1} before the query", *window.left);
  return translated("window: keys more than {1} after the query", window.right.value_or(0));
}

/// A member of Mask in documents, reports, explanations, pictures and pages. A row that leaves a
/// member out does not compile.
struct Part {
  MaskPart part;
  Schema schema;
  void (*read)(const JsonValue& value, const PartValue& from, ReadMask& mask);
  /// Its words in a list of the mask's parts; empty if the mask does not have it.
  std::string (*words)(const Mask& mask);
  /// The keys that it lets one query see; empty if the mask does not have it or it hides none.
  std::string (*sentence)(const Mask& mask, const MaskedQuery& query);
  HiddenKeys hidden;
};

std::string no_words(const Mask&) {
  return "";
}
std::string no_sentence(const Mask&, const MaskedQuery&) {
  return "";
}

std::string causal_sentence(const Mask& mask, const MaskedQuery& query) {
  if (!mask.causal) return "";
  return query.position < 0 ? translated("causal: keys up to the query's position, so none")
                            : translated("causal: keys up to key {1}", query.position);
}

std::string window_words(const Mask& mask) {
  if (!mask.window) return "";
  return translated("window of {1} before and {2} after",
                    reach_text(mask.window->left, translated("any number")),
                    reach_text(mask.window->right, translated("any number"))) +
         (mask.causal ? "" : aligned(mask));
}

std::string window_sentence(const Mask& mask, const MaskedQuery& query) {
  if (!mask.window) return "";
  const std::string all = translated("all");
  std::string text =
      translated("window: {1} before and {2} after key {3}", reach_text(mask.window->left, all),
                 reach_text(mask.window->right, all), query.position);
  if (!mask.global.empty()) text += translated(", or a global key: {1}", listed(mask.global, ", "));
  const bool global = query.position >= 0 &&
                      std::find(mask.global.begin(), mask.global.end(),
                                static_cast<std::size_t>(query.position)) != mask.global.end();
  return global ? text + translated("; the query itself is global and sees all") : text;
}

std::string documents_sentence(const Mask& mask, const MaskedQuery&) {
  if (!mask.documents) return "";
  return mask.documents_are_windows ? translated("window: patches of the query's own window")
                                    : translated("documents: keys of the query's own document");
}

std::string chunk_sentence(const Mask& mask, const MaskedQuery& query) {
  if (!mask.chunk) return "";
  const auto size = static_cast<std::ptrdiff_t>(*mask.chunk);
  if (query.position < 0 || size <= 0) return translated("chunk: no key");
  const std::ptrdiff_t first = query.position / size * size;
  return translated("chunk: keys {1} to {2}", first, first + size - 1);
}

std::string dilation_sentence(const Mask& mask, const MaskedQuery& query) {
  if (!mask.dilation) return "";
  return translated("dilation: of these every key that is a multiple of {1} away from key {2}",
                    *mask.dilation, query.position);
}

std::string prefix_text(const Mask& mask) {
  std::string text;
  for (const std::int64_t keys : mask.prefix.values<std::int64_t>())
    text += (text.empty() ? "" : " ") + std::to_string(keys);
  return text;
}

std::string bias_sentence(const Mask& mask, const MaskedQuery&) {
  if (!mask.bias) return "";
  return mask.hides() ? translated("bias: keys whose bias is not -inf; it is added to the scores")
                      : translated("bias: is added to the scores");
}

std::string valid_lens_sentence(const Mask& mask, const MaskedQuery& query) {
  if (!mask.valid_lens) return "";
  return query.valid_keys == 0 ? translated("valid_lens: no key")
                               : translated_count(query.valid_keys, "valid_lens: the first key",
                                                  "valid_lens: the first {1} keys");
}

// Reads a part that is one boolean tensor.
template <Tensor Mask::*tensor>
void read_booleans(const JsonValue& value, const PartValue& from, ReadMask& mask) {
  mask.*tensor = from.tensors.read(value, DType::boolean, from.at);
}

// Reads "padding", in whose place lengths are often given.
void read_padding(const JsonValue& value, const PartValue& from, ReadMask& mask) {
  const std::size_t count = value.is(JsonValue::Type::array) ? value.size() : 0;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonValue& length = value.element(i);
    if (length.is(JsonValue::Type::number) && length.is_integer())
      lengths.push_back(length.integer());
  }
  const bool truths = std::ranges::all_of(lengths, [](std::int64_t one) { return one <= 1; });
  if (lengths.size() < count || truths) return read_booleans<&Mask::padding>(value, from, mask);
  std::string written;
  for (const std::int64_t length : lengths)
    written += (written.empty() ? "" : ", ") + std::to_string(length);
  throw input_error(translated("the numbers of padding are neither true nor false"), from.at,
                    translated("write {1} at the top of the document if these are lengths",
                               "\"valid_lens\": [" + written + "]"));
}

// "cu_seqlens": places of both sides, or of each.
void read_ends(const JsonValue& value, const PartValue& from, ReadMask& mask) {
  if (!value.is(JsonValue::Type::object) || describes_tensor(value)) {
    mask.documents = sequence_ids(read_sequence_ends(value, from.at, from.tensors), from.at);
    mask.documents_at = from.at;
    return;
  }
  constexpr std::array<std::string_view, 2> sides{"query", "key"};
  expect_known_members(value, sides, from.at);
  mask.ends_at = from.at;
  const auto side = [&](std::string_view name) {
    const JsonValue* ends = value.find(name);
    return ends != nullptr ? read_sequence_ends(*ends, pointer_to(from.at, name), from.tensors)
                           : SequenceEnds();
  };
  mask.query_ends = side("query");
  mask.key_ends = side("key");
}

// Under any of its names.
void read_keep(const JsonValue& value, const PartValue& from, ReadMask& mask) {
  if (!mask.keep_at.empty()) {
    throw input_error(translated("{1} is given twice: it is another name of {2}",
                                 shown_place(from.at), mask.keep_name()),
                      from.at, translated("leave one of them out"));
  }
  mask.keep = from.tensors.read(value, from.dtype, from.at);
  mask.keep_at = from.at;
}

// Whether an object has members for queries or keys, as this document or JAX names them.
bool names_sides(const JsonValue& value) {
  constexpr auto sides = std::to_array<std::string_view>({"query", "key", "q", "kv", "k"});
  return std::ranges::any_of(sides, [&](auto side) { return value.find(side) != nullptr; });
}

constexpr const char* tensor_schema = R"("$ref": "#/$defs/tensor")";
constexpr auto parts = std::to_array<Part>({
    {{"causal", to_translate("key j is seen by query i if j ≤ i + offset")},
     R"("type": "boolean")",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       const std::string_view align =
           value.is(JsonValue::Type::string) ? alignment_named(value.string()) : "";
       mask.causal = expect_boolean(
           value, from.at,
           align.empty()
               ? ""
               : translated("write {1}", R"("causal": true, "align": )" + in_quotes(align)));
     },
     [](const Mask& mask) { return mask.causal ? translated("causal") + aligned(mask) : ""; },
     causal_sentence,
     {to_translate("causal"),
      [](const Mask&) { return translated("causal: keys after the query"); }}},
    {{"align",
      to_translate(
          "upper_left: offset = past keys; lower_right: the last query is at the last valid key")},
     +[] { return names_schema(alignments); },
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.align = expect_choice(value, from.at, "alignment", alignments);
       mask.aligned = true;
     },
     no_words,
     no_sentence,
     no_keys},
    {{"window",
      to_translate(
          "left and right: how many keys before and after its own place a query sees, -1 = all")},
     window_schema,
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.window = read_window(value, from.at);
     },
     window_words,
     window_sentence,
     {to_translate("outside window"), outside_window}},
    {{"global", to_translate("with a window: positions that see all and are seen by all")},
     R"("type": "array", "items": {"type": "integer", "minimum": 0})",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.global = read_positions(value, from.at, from.tensors);
     },
     [](const Mask& mask) {
       return mask.global.empty()
                  ? ""
                  : translated(to_translate("global key {1}"), listed(mask.global, " "));
     },
     no_sentence,
     no_keys},
    {{"valid_lens", to_translate("how many leading keys are valid; a key of the document's own")},
     {},
     nullptr,
     [](const Mask& mask) { return std::string(mask.valid_lens ? "valid_lens" : ""); },
     valid_lens_sentence,
     {to_translate("beyond the valid keys"),
      [](const Mask&) { return translated("valid_lens: keys beyond the valid length"); }}},
    {{"padding", to_translate("[B,Lk], true = padding, not seen")},
     tensor_schema,
     read_padding,
     [](const Mask& mask) { return mask.padding ? translated("padding") : ""; },
     [](const Mask& mask, const MaskedQuery&) {
       return mask.padding
                  ? translated(to_translate("padding: keys that are not marked as padding"))
                  : "";
     },
     {to_translate("padding"),
      [](const Mask&) { return translated("padding: keys that only fill the sample up"); }}},
    {{"keep",
      to_translate("1 or true = seen, as attention_mask in transformers: [B,Lk], [B,Lq,Lk] or [B,1 "
                   "or H,Lq,Lk]")},
     tensor_schema,
     read_keep,
     no_words,
     no_sentence,
     no_keys},
    {{"attention_mask", to_translate("keep by its name in transformers")},
     tensor_schema,
     read_keep,
     no_words,
     no_sentence,
     no_keys},
    {{"allow", to_translate("true = seen; broadcast against the weights")},
     tensor_schema,
     read_booleans<&Mask::allow>,
     [](const Mask& mask) {
       return !mask.allow ? "" : mask.allow_is.empty() ? std::string("allow") : mask.allow_is;
     },
     [](const Mask& mask, const MaskedQuery&) {
       if (!mask.allow) return std::string();
       return mask.allow_is.empty()
                  ? translated(to_translate("allow: keys that are marked 1"))
                  : translated(to_translate("{1}: keys of the query's own sequence that this sees"),
                               mask.allow_is);
     },
     {to_translate("not allowed"),
      [](const Mask& mask) {
        return mask.allow_is.empty()
                   ? translated("allow: keys that are not allowed")
                   : translated("{1}: keys of other sequences, or hidden within the own one",
                                mask.allow_is);
      },
      [](const Mask& mask) {
        return mask.allow_is.empty()           ? ""
               : mask.allow_is == "cu_seqlens" ? translated("other sequence")
                                               : translated("hidden by {1}", mask.allow_is);
      }}},
    {{"block", to_translate("true = not seen; broadcast against the weights")},
     tensor_schema,
     read_booleans<&Mask::block>,
     [](const Mask& mask) { return std::string(mask.block ? "block" : ""); },
     [](const Mask& mask, const MaskedQuery&) {
       return mask.block ? translated(to_translate("block: keys that are not marked 1")) : "";
     },
     {to_translate("blocked"),
      [](const Mask&) { return translated("block: keys that are blocked"); }}},
    {{"documents",
      to_translate(
          "[B,Lk] or [Lk], ids of packed sequences: a key is seen by queries of its own; or "
          "{\"cu_seqlens\": [0, …]}")},
     R"("anyOf": [{"$ref": "#/$defs/tensor"}, {"type": "object", "additionalProperties": false, "required": ["cu_seqlens"], "properties": {"cu_seqlens": {"type": "array"}}}])",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       const JsonValue* ends = value.find("cu_seqlens");
       if (ends != nullptr) {
         read_ends(*ends, {pointer_to(from.at, "cu_seqlens"), from.dtype, from.tensors}, mask);
       } else if (names_sides(value)) {
         throw input_error(translated("documents are one list, of the ids of all keys"), from.at,
                           translated("write {1}", R"("cu_seqlens": {"query": …, "key": …})"));
       } else {
         mask.documents = from.tensors.read(value, DType::int64, from.at);
       }
     },
     [](const Mask& mask) {
       return !mask.documents              ? ""
              : mask.documents_are_windows ? translated("windows of patches")
                                           : translated("documents");
     },
     documents_sentence,
     {to_translate("other document"),
      [](const Mask& mask) {
        return mask.documents_are_windows ? translated("window: patches of other windows")
                                          : translated("documents: keys of other documents");
      },
      [](const Mask& mask) {
        return mask.documents_are_windows ? translated("other window") : std::string();
      }}},
    {{"cu_seqlens",
      to_translate("documents by the places where they begin and the last one ends: [0, 5, 9]; of "
                   "queries and keys apart: {\"query\": …, \"key\": …}")},
     R"("type": ["array", "object"])",
     read_ends,
     no_words,
     no_sentence,
     no_keys},
    {{"cu_seqlens_q", to_translate("cu_seqlens of the queries")},
     R"("type": ["array", "object"])",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.query_ends = read_sequence_ends(value, from.at, from.tensors);
       mask.ends_at = from.at;
     },
     no_words,
     no_sentence,
     no_keys},
    {{"cu_seqlens_k", to_translate("cu_seqlens of the keys")},
     R"("type": ["array", "object"])",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.key_ends = read_sequence_ends(value, from.at, from.tensors);
       mask.ends_at = from.at;
     },
     no_words,
     no_sentence,
     no_keys},
    {{"prefix",
      to_translate("number of leading keys, or one per sample, that all queries see whatever "
                   "causal, window and chunk hide")},
     R"("oneOf": [{"type": "integer", "minimum": 0}, {"type": "array", "items": {"type": "integer", "minimum": 0}}])",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       if (value.is(JsonValue::Type::number)) {
         mask.prefix =
             Tensor(Shape{}, std::vector<std::int64_t>{expect_integer(value, from.at, 0)});
       } else {
         mask.prefix = from.tensors.read(value, DType::int64, from.at);
       }
     },
     [](const Mask& mask) {
       return mask.prefix ? translated("prefix of {1}", prefix_text(mask)) : "";
     },
     [](const Mask& mask, const MaskedQuery&) {
       return mask.prefix ? translated(
                                "prefix: also the first {1}, whatever causal, window and "
                                "chunk hide",
                                prefix_text(mask))
                          : "";
     },
     no_keys},
    {{"chunk", to_translate("a query sees the keys of its own block of that many keys")},
     R"("type": "integer", "minimum": 1)",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.chunk = static_cast<std::size_t>(expect_integer(value, from.at, 1));
     },
     [](const Mask& mask) { return mask.chunk ? translated("chunks of {1}", *mask.chunk) : ""; },
     chunk_sentence,
     {to_translate("other chunk"),
      [](const Mask&) { return translated("chunk: keys of other chunks"); }}},
    {{"dilation", to_translate("with a window: only every n-th key from the query's own position")},
     R"("type": "integer", "minimum": 1)",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.dilation = static_cast<std::size_t>(expect_integer(value, from.at, 1));
     },
     [](const Mask& mask) {
       return mask.dilation ? translated("dilation of {1}", *mask.dilation) : "";
     },
     dilation_sentence,
     {to_translate("skipped by dilation"),
      [](const Mask&) { return translated("dilation: keys between the steps of the window"); }}},
    {{"where", to_translate("a truth by expression: a key is seen only where it holds")},
     R"("type": "string", "minLength": 1, "maxLength": 4096)",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.where.text = expect_expression(value, from.at);
     },
     [](const Mask& mask) { return mask.where ? "where " + mask.where.text : ""; },
     [](const Mask& mask, const MaskedQuery&) {
       return mask.where ? translated("where: keys for which {1} holds", mask.where.text) : "";
     },
     {to_translate("condition not met"),
      [](const Mask&
             mask) { return translated("where: keys for which {1} does not hold", mask.where.text); }}},
    {{"bias", to_translate("added to the scores, -inf hides; broadcast against the weights")},
     tensor_schema,
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.bias = from.tensors.read(value, from.dtype, from.at);
     },
     [](const Mask& mask) { return std::string(mask.bias ? "bias" : ""); },
     bias_sentence,
     {to_translate("bias of −∞"),
      [](const Mask&) { return translated("bias: keys whose score a bias of −∞ is added to"); }}},
    {{"alibi",
      to_translate(
          "linear biases, -slope·distance: true, a list of slopes, or an object with slopes and "
          "symmetric")},
     R"("$ref": "#/$defs/alibi")",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.alibi = read_alibi(value, from.at, from.tensors);
     },
     [](const Mask& mask) {
       return !mask.alibi             ? ""
              : mask.alibi->symmetric ? translated("symmetric ALiBi")
                                      : translated("ALiBi");
     },
     no_sentence,
     no_keys},
    {{"fill", to_translate("replaces unseen scores; -inf if absent")},
     R"("oneOf": [{"type": "number"}, {"const": "-inf"}])",
     [](const JsonValue& value, const PartValue& from, ReadMask& mask) {
       mask.fill = read_fill(value, from.at);
     },
     [](const Mask& mask) {
       return mask.fill && mask.hides() ? "fill " + with_short_exponent(number_text(*mask.fill))
                                        : "";
     },
     no_sentence,
     no_keys},
});

// A row for each member of Mask, and five more: "cu_seqlens" is another form of "documents", with
// the queries' apart one of "allow", and "keep" under both of its names one of "padding", "allow"
// or "bias".
static_assert(std::tuple_size_v<MaskMembers> + 5 == parts.size());

// Whether the part is a key of "mask". Valid lengths are a key of the document.
constexpr bool is_written(const Part& part) {
  return part.part.name != "valid_lens";
}
constexpr std::size_t written_parts =
    static_cast<std::size_t>(std::count_if(parts.begin(), parts.end(), is_written));
// The keys of "mask" in documents.
constexpr auto parts_of_mask = [] {
  std::array<MaskPart, written_parts> result{};
  std::size_t count = 0;
  for (const Part& part : parts) {
    if (is_written(part)) result[count++] = part.part;
  }
  return result;
}();
constexpr auto mask_keys = [] {
  std::array<std::string_view, written_parts> result{};
  for (std::size_t i = 0; i < written_parts; ++i) result[i] = parts_of_mask[i].name;
  return result;
}();

// Keys that a part of hiding_parts() hides.
const HiddenKeys& hidden_by(std::string_view name) {
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& row) {
    return row.part.name == name && row.hidden.legend != nullptr;
  });
  if (part == parts.end()) {
    throw Error(ErrorKind::internal,
                translated("a part of a mask has no words for the keys it hides"),
                std::string(name), "");
  }
  return part->hidden;
}

std::string write_part(std::string_view name) {
  return name == "causal" ? translated("write {\"causal\": true}")
                          : translated("write {{1}: …}: see attn-cli schema", in_quotes(name));
}

// Users may write the name of a part alone, or the matrix of a mask.
void expect_mask(const JsonValue& mask, const std::string& pointer) {
  if (mask.is(JsonValue::Type::string) &&
      std::find(mask_keys.begin(), mask_keys.end(), mask.string()) != mask_keys.end()) {
    throw input_error(translated("expected an object, found the name of one of its parts"), pointer,
                      write_part(mask.string()));
  }
  if (mask.is(JsonValue::Type::array) && mask.size() > 0 &&
      mask.element(0).is(JsonValue::Type::string)) {
    throw input_error(translated("expected an object, found an array"), pointer,
                      translated("write each part as a member, such as {1}",
                                 R"({"causal": true, "padding": [[false,true]]})"));
  }
  if (mask.is(JsonValue::Type::array)) {
    throw input_error(
        translated("expected an object, found an array"), pointer,
        translated(
            "write {\"allow\": …} of 1 where a query sees a key, [Lq,Lk] or the weights' "
            "shape, {\"block\": …} of 1 where it does not, {\"bias\": …} of numbers that are "
            "added to the scores, or {\"keep\": …} of 1 for the keys of each sample, [B,Lk]"));
  }
  const std::string_view near = mask.is(JsonValue::Type::string)
                                    ? nearest_name(mask.string(), mask_keys)
                                    : std::string_view();
  expect_object(mask, pointer, write_part(near.empty() ? "causal" : near));
}

}  // namespace

std::string shown_place(std::string pointer) {
  pointer.erase(0, 1);
  std::ranges::replace(pointer, '/', '.');
  return pointer;
}

std::string ReadMask::lens_name() const {
  constexpr std::string_view mask = "mask";
  return pointer.substr(1, pointer.size() - 1 - mask.size()) + "valid_lens";
}

std::string ReadMask::keep_instead() const {
  return pointer == "/mask" ? R"("attention_mask": …)"
                            : in_quotes(pointer.substr(1)) + R"(: {"keep": …})";
}

std::span<const MaskPart> mask_parts() noexcept {
  return parts_of_mask;
}

std::string mask_schema() {
  std::string properties;
  for (const Part& part : parts) {
    if (!is_written(part)) continue;
    properties += (properties.empty() ? "" : ",\n") + std::string("        ") +
                  json_string(part.part.name) + R"(: {"description": )" +
                  json_string(translated(part.part.meaning)) + ", " + part.schema.text() + "}";
  }
  return "\n      \"type\": \"object\", \"additionalProperties\": false,\n      "
         "\"properties\": {\n" +
         properties + "\n      }\n    ";
}

namespace {

// Valid lengths as {"query": [B], "key": [B]}, either of which may be left out.
void read_lens_of_sides(const MaskSource& source, TensorSource& tensors, ReadMask& mask) {
  constexpr std::array<std::string_view, 2> sides{"query", "key"};
  expect_known_members(*source.valid_lens, sides, source.lens_pointer);
  const auto side = [&](std::string_view name, Tensor& lens) {
    if (const JsonValue* value = source.valid_lens->find(name))
      lens = tensors.read(*value, DType::int64, pointer_to(source.lens_pointer, name));
  };
  side("query", mask.query_lens);
  side("key", mask.valid_lens);
  mask.query_lens_at = pointer_to(source.lens_pointer, "query");
}

}  // namespace

ReadMask read_mask(const MaskSource& source, DType dtype, TensorSource& tensors, Problems& problems,
                   std::vector<std::string>& warnings) {
  ReadMask result;
  result.pointer = source.pointer;
  if (source.mask) {
    if (!problems.attempt([&] { expect_mask(*source.mask, source.pointer); })) return result;
    // The order of the document is the order in which random tensors are drawn.
    for (const JsonMember& member : source.mask->members()) {
      const std::string at = pointer_to(source.pointer, member.key);
      problems.attempt([&] {
        const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& row) {
          return row.read != nullptr && row.part.name == member.key;
        });
        if (part == parts.end()) refuse_member(*source.mask, member.key, mask_keys, at);
        part->read(member.value, {at, dtype, tensors}, result);
      });
    }
    if (!result.global.empty() && !result.window) {
      warnings.push_back(
          translated("{1}.global has no effect without a window: it acts on what a window hides",
                     source.pointer.substr(1)));
    }
  }
  if (source.keep) {
    problems.attempt([&] { read_keep(*source.keep, {"/attention_mask", dtype, tensors}, result); });
  }
  if (source.valid_lens) {
    problems.attempt([&] {
      if (source.valid_lens->is(JsonValue::Type::number)) {
        throw input_error(translated("expected a list of lengths, found a number"),
                          source.lens_pointer,
                          translated("give one number per sample, such as [3], or one per query"));
      }
      if (source.valid_lens->is(JsonValue::Type::object) && !describes_tensor(*source.valid_lens)) {
        return read_lens_of_sides(source, tensors, result);
      }
      const JsonValue* first = source.valid_lens;
      while (first->is(JsonValue::Type::array) && first->size() > 0) first = &first->element(0);
      if (first->is(JsonValue::Type::boolean)) {
        throw input_error(
            translated("expected numbers of keys, found truths"), source.lens_pointer,
            translated("write {1} if true means a key that is seen", result.keep_instead()));
      }
      result.valid_lens = tensors.read(*source.valid_lens, DType::int64, source.lens_pointer);
    });
  }
  return result;
}

std::string mask_text(const Mask& mask) {
  std::string text;
  for (const Part& part : parts) {
    const std::string words = part.words(mask);
    if (!words.empty()) text += (text.empty() ? "" : translated(", ")) + words;
  }
  return text;
}

std::vector<std::string> mask_sentences(const Mask& mask, const MaskedQuery& query) {
  std::vector<std::string> sentences;
  for (const Part& part : parts) {
    std::string sentence = part.sentence(mask, query);
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

std::string hidden_legend(std::string_view part, const Mask& mask) {
  const HiddenKeys& hidden = hidden_by(part);
  const std::string own = hidden.legend_of == nullptr ? "" : hidden.legend_of(mask);
  return own.empty() ? translated(hidden.legend) : own;
}

std::string hidden_sentence(std::string_view part, const Mask& mask) {
  return hidden_by(part).sentence(mask);
}

}  // namespace attn
