#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/layers.hpp"
#include "attn/spec.hpp"

#include "document/document.hpp"
#include "document/fields.hpp"
#include "document/plan.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The values of plain keys, where the computation expects them.
struct PlainValues {
  Plan plan = {};                 ///< title, description, weights
  AttentionOptions options = {};  ///< dtype, scale, softcap, ε, pool, weights and the options
                                  ///< that are read in the order of the document
  Sequences states = {};          ///< heads, kv_heads
  TransformerRequest transformer = {};   ///< activation, gated, norm
  NormKind norm_kind = NormKind::layer;  ///< of layers
  std::optional<std::size_t> feed_forward = {}, layers = {};
  std::optional<double> dropout = {};
  std::vector<std::pair<std::string, Tensor>> tables = {};  ///< that expressions read
  bool special_tokens = true;
  bool add_zero_attn = false;

  /// The type that tensors are read as.
  DType numbers() const;
};

/// The value of a key in a document that is read for a kind.
struct KeyValue {
  const JsonValue& value;
  const std::string& place;  ///< JSON pointer
  const KindInfo& kind;
  /// Source of tensors; null while plain keys are read.
  TensorSource* tensors = nullptr;
};

/// A top-level key of input documents.
struct DocumentKey {
  std::string_view name;
  bool (*takes)(const KindInfo& kind);  ///< whether the key has a meaning for that kind
  std::string_view meaning;
  Schema schema;  ///< members of the value's JSON Schema
  /// The time when the key is read. `plain`: first, its value holds no tensor. `in_turn`: after
  /// inputs, parameters and masks, in the order of the document, which is the order in which random
  /// tensors are drawn. `by_name`: by the reader of its part of the document.
  enum class Reading { plain, in_turn, by_name } reading = Reading::by_name;
  /// Stores the value of a key that is not read by name. Throws Error(input).
  void (*read)(const KeyValue& given, PlainValues& values) = nullptr;
  /// Whether no size depends on the value, so that sizes are checked even if it is wrong.
  bool leaves_sizes = false;
};

/// All keys, in the order of listings.
std::span<const DocumentKey> document_keys() noexcept;
/// The key of that name; null if there is none.
const DocumentKey* find_key(std::string_view name) noexcept;
/// The names in quotes of the kinds that take the key, as errors list them.
std::string kinds_that_take(const DocumentKey& key);
/// Whether the key is about what layers have beside attention, such as their number.
bool is_of_layers(const DocumentKey& key);

/// Reads the plain keys that have a meaning for the kind.
void read_plain_values(const JsonValue& root, const KindInfo& kind, Problems& problems,
                       PlainValues& values);
/// Reads the keys that are read in the order of the document.
void read_values_in_turn(const JsonValue& root, const KindInfo& kind, TensorSource& tensors,
                         Problems& problems, PlainValues& values);

/// Adds a problem for each top-level key that is unknown, with the nearest known name, or with the
/// document's word for a key of other libraries.
void check_document_keys(const JsonValue& root, Problems& problems);

/// Adds a problem for each key that has no meaning for any of the kinds.
void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems);

/// The kinds that a document asks for: one, or a list; Kind::model beside a model. Throws
/// Error(input) if there is none, or one is unknown or stands twice.
std::vector<Kind> read_kinds(const JsonValue& root);

/// The names of kinds of attention, each with its aliases.
std::vector<std::string_view> names_of_kinds();

/// Error(input) for "x" beside a kind that takes no hidden states, though others of `kinds` do.
Error states_of_others(const JsonValue& root, Kind kind, std::span<const Kind> kinds);

/// Drawn parameters of several kinds, {"self": {"init": "torch"}, …}; empty if at most one of them
/// has parameters. `parameters` is the object that was given for all.
std::string drawn_by_kind(const JsonValue& parameters, std::span<const Kind> kinds);

/// Whether an object has a kind of attention among its keys: parameters by kind, {kind: {…}}.
bool has_kinds(const JsonValue& object);

/// The member of such an object for the kind, by its name or alias; null if there is none. Throws
/// Error(input) for a key that is no kind. `pointer` is the object's.
const JsonMember* find_by_kind(const JsonValue& object, Kind kind, const std::string& pointer);

}  // namespace attn
