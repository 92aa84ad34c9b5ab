#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/layers.hpp"
#include "attn/spec.hpp"

#include "document/problems.hpp"
#include "io/json_value.hpp"

namespace attn {

/// An activation, and whether a gate multiplies what it gives.
struct GatedActivation {
  Activation function = Activation::relu;
  bool gated = false;
};

/// What those keys say whose value is a number, a word or a switch.
struct PlainValues {
  std::string title, description;
  AttentionOptions options;  ///< dtype, scale, softcap, ε, pool, and whether weights are wanted
  std::optional<std::size_t> heads, kv_heads, feed_forward, layers;
  GatedActivation activation;
  NormPlace norm = NormPlace::post;
  NormKind norm_kind = NormKind::layer;
  std::optional<double> dropout;
  bool special_tokens = true;
};

/// The value of a key, at its place in the document that is read for a kind.
struct KeyValue {
  const JsonValue& value;
  const std::string& at;
  const KindInfo& kind;
};

/// One top-level key of an input document.
struct DocumentKey {
  std::string_view name;
  bool (*takes)(const KindInfo& kind);  ///< whether it has a meaning for that kind
  std::string_view meaning;
  std::string_view schema;  ///< members of its JSON Schema
  /// Where its value goes if it is a plain one; null for what the readers take by name. Throws
  /// Error(input).
  void (*read)(const KeyValue& given, PlainValues& values) = nullptr;
};

/// All of them, in the order they are listed to users.
std::span<const DocumentKey> document_keys() noexcept;

/// Reads the plain values of the keys that have a meaning for the kind.
PlainValues read_plain_values(const JsonValue& root, const KindInfo& kind, Problems& problems);

/// Adds a problem for each top-level key that is unknown, with the nearest known name.
void check_document_keys(const JsonValue& root, Problems& problems);

/// Adds a problem for each key that has no meaning for any of the kinds.
void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems);

}  // namespace attn
