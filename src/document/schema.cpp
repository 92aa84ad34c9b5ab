#include <string>
#include <string_view>

#include "attn/document.hpp"

#include "document/fields.hpp"
#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "io/json_writer.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A member of "properties" or of "$defs".
std::string named(std::string_view name, const std::string& schema) {
  return "    " + json_string(name) + ": {" + schema + "}";
}

std::string kind_schema() {
  std::string names;
  for (const KindInfo& kind : kinds()) {
    names += (names.empty() ? "" : ", ") + json_string(kind.name);
    for (const std::string_view alias : kind.aliases) names += ", " + json_string(alias);
  }
  return R"("enum": [)" + names + "]";
}

}  // namespace

std::string document_schema() {
  std::string properties, definitions;
  for (const DocumentKey& key : document_keys()) {
    properties += (properties.empty() ? "" : ",\n") +
                  named(key.name, R"("description": )" + json_string(translated(key.meaning)) +
                                      ", " + key.schema.text());
  }
  for (const auto part : {tensor_definitions(), token_definitions(), parameter_definitions(),
                          option_definitions(), label_definitions()}) {
    for (const SchemaDefinition& row : part)
      definitions += named(row.name, row.schema.text()) + ",\n";
  }
  definitions += named("kind", kind_schema()) + ",\n" + named("mask", mask_schema());
  return R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Input document of attn-cli",
  "type": "object",
  "anyOf": [{"required": ["attention"]}, {"required": ["model"]}],
  "additionalProperties": false,
  "properties": {
)" + properties +
         "\n  },\n  \"$defs\": {\n" + definitions + "\n  }\n}\n";
}

namespace {

constexpr std::array<ExampleTopic, 8> topics{{
    {"rotary", to_translate("queries and keys rotated by their positions"), R"({
  "attention": "scaled_dot_product",
  "description": "One row repeated: turned by their positions, rows that are alike compare by distance alone.",
  "query": [[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0]],
  "rotary": {"theta": 100},
  "mask": {"causal": true},
  "scale": 2
}
)"},
    {"alibi", to_translate("linear biases by distance"), R"({
  "attention": "scaled_dot_product",
  "description": "Equal scores: all that tells the keys of a head apart is its slope times the distance.",
  "query": {"zeros": [1, 4, 8, 2]},
  "mask": {"causal": true, "alibi": true}
}
)"},
    {"relative_bias", to_translate("a bias for each bucket of distances, as T5 has it"), R"({
  "attention": "scaled_dot_product",
  "seed": 2,
  "scale": 1,
  "query": {"randn": [1, 2, 8, 4]},
  "relative_bias": {"table": {"randn": [8, 2]}, "buckets": 8, "max_distance": 16}
}
)"},
    {"sinks", to_translate("one more logit per head, which takes weight and gives nothing"), R"({
  "attention": "scaled_dot_product",
  "seed": 3,
  "query": {"randn": [1, 2, 6, 8]},
  "mask": {"causal": true},
  "sinks": [-4, 1]
}
)"},
    {"norms", to_translate("RMS norms of queries and keys"), R"({
  "attention": "scaled_dot_product",
  "seed": 5,
  "query": {"randn": [1, 2, 5, 4]},
  "key": {"randn": [1, 2, 5, 4]},
  "query_norm": {"weight": [2, 2, 2, 2]},
  "key_norm": {"weight": [1, 1, 1, 1]}
}
)"},
    {"bfloat16", to_translate("each step rounded as under PyTorch's autocast"), R"({
  "attention": "scaled_dot_product",
  "dtype": "bfloat16",
  "seed": 4,
  "scale": 1,
  "query": {"randn": [6, 24]},
  "key": {"randn": [6, 24]},
  "value": {"full": [6, 1], "value": 0.125}
}
)"},
    {"gradient", to_translate("derivatives with respect to all inputs of an attention"), R"({
  "attention": "scaled_dot_product",
  "query": [[1.0, 0.0], [0.0, 1.0]],
  "key": [[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
  "value": [[1.0], [2.0], [3.0]],
  "mask": {"causal": true, "align": "lower_right"},
  "gradient": {"output": [[1.0], [-1.0]]}
}
)"},
    {"llama", to_translate("a layer of a modern decoder: rotary, RMS norms, a gate"), R"({
  "attention": "encoder_layer",
  "heads": 2,
  "kv_heads": 1,
  "feed_forward": 16,
  "activation": "swiglu",
  "norm": "pre",
  "norm_kind": "rms",
  "rotary": {},
  "mask": {"causal": true},
  "seed": 1,
  "x": {"randn": [1, 5, 8]},
  "parameters": {"init": "torch"}
}
)"},
}};

}  // namespace

std::string example_document(Kind kind) {
  const KindInfo& row = info(kind);
  return "{\n  \"attention\": \"" + std::string(row.name) + "\",\n" + std::string(row.example) +
         "\n}\n";
}

std::span<const ExampleTopic> example_topics() noexcept {
  return topics;
}

std::vector<std::string_view> known_keys(std::span<const Field> fields) {
  std::vector<std::string_view> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  return keys;
}

std::string object_schema(std::span<const Field> fields, const std::string& first) {
  std::string properties, required;
  for (const Field& field : fields) {
    properties += (properties.empty() ? "" : ", ") + json_string(field.key) + ": {" +
                  field.schema.text() + "}";
    if (field.required) required += (required.empty() ? "" : ", ") + json_string(field.key);
  }
  return R"("type": "object", )" + (required.empty() ? "" : R"("required": [)" + required + "], ") +
         R"("additionalProperties": false, "properties": {)" + first + properties + "}";
}

}  // namespace attn
