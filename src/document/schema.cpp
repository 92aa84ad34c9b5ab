#include <string>
#include <string_view>

#include "attn/document.hpp"

#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "io/json_writer.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// What the keys' schemas refer to. A tensor's numbers and their nesting are checked when the
// document is read.
constexpr std::string_view definitions = R"(    "numbers": {
      "oneOf": [
        {"type": "number"}, {"type": "boolean"}, {"enum": ["inf", "-inf", "nan"]},
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/numbers"}}
      ]
    },
    "shape": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}},
    "tensor": {
      "oneOf": [
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/numbers"}},
        {"type": "object", "required": ["shape", "data"], "additionalProperties": false,
         "properties": {"shape": {"$ref": "#/$defs/shape"}, "data": {"type": "array", "items": {"$ref": "#/$defs/numbers"}},
                        "index": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
                        "reshape": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": -1}},
                        "transpose": {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}]},
                        "layout": {"type": "string", "pattern": "^[BHLD]{1,4}$"}}},
        {"type": "object", "required": ["file"], "additionalProperties": false,
         "properties": {"file": {"type": "string"}, "name": {"type": "string"},
                        "shape": {"$ref": "#/$defs/shape"}, "dtype": {"type": "string"},
                        "index": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
                        "reshape": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": -1}},
                        "transpose": {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}]},
                        "layout": {"type": "string", "pattern": "^[BHLD]{1,4}$"}}},
        {"type": "object", "required": ["zeros"], "additionalProperties": false, "properties": {"zeros": {"$ref": "#/$defs/shape"}}},
        {"type": "object", "required": ["ones"], "additionalProperties": false, "properties": {"ones": {"$ref": "#/$defs/shape"}}},
        {"type": "object", "required": ["full", "value"], "additionalProperties": false,
         "properties": {"full": {"$ref": "#/$defs/shape"}, "value": {"$ref": "#/$defs/numbers"}}},
        {"type": "object", "required": ["arange"], "additionalProperties": false,
         "properties": {"arange": {"type": "integer", "minimum": 1}, "shape": {"$ref": "#/$defs/shape"}}},
        {"type": "object", "required": ["randn"], "additionalProperties": false,
         "properties": {"randn": {"$ref": "#/$defs/shape"}, "seed": {"type": "integer"}}},
        {"type": "object", "required": ["rand"], "additionalProperties": false,
         "properties": {"rand": {"$ref": "#/$defs/shape"}, "seed": {"type": "integer"}}}
      ]
    },
    "names": {
      "oneOf": [
        {"type": "array", "minItems": 1, "items": {"type": "string"}},
        {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}}
      ]
    },
    "ids": {
      "oneOf": [
        {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        {"type": "array", "minItems": 1,
         "items": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}}
      ]
    },
    "texts": {"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]},
    "model_texts": {
      "oneOf": [
        {"type": "string"},
        {"type": "array", "minItems": 1,
         "items": {"oneOf": [{"type": "string"},
                             {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}}]}}
      ]
    },
    "special": {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]},
    "embedding": {
      "type": "object", "additionalProperties": false,
      "properties": {
        "vocabulary": {"oneOf": [
          {"type": "array", "minItems": 1, "items": {"type": "string"}},
          {"type": "object", "required": ["file"], "additionalProperties": false, "properties": {"file": {"type": "string"}}}
        ]},
        "table": {"$ref": "#/$defs/tensor"},
        "dimension": {"type": "integer", "minimum": 1},
        "init": {"const": "torch"},
        "pad": {"$ref": "#/$defs/special"},
        "unknown": {"$ref": "#/$defs/special"},
        "position": {"enum": ["sinusoidal", "none"]},
        "recover": {"type": "boolean"}
      }
    },
    "tokenizer": {
      "type": "object", "required": ["wordpiece"], "additionalProperties": false,
      "properties": {"wordpiece": {"type": "string"}, "lowercase": {"type": "boolean"}}
    },
    "parameters": {
      "type": "object",
      "description": "tensors by name, a file of them, or how to make them",
      "properties": {
        "init": {"const": "torch"}, "hidden": {"type": "integer", "minimum": 1},
        "bias": {"type": "boolean"}, "output_projection": {"type": "boolean"},
        "file": {"type": "string"}, "prefix": {"type": "string"}, "transpose": {"type": "boolean"},
        "names": {"type": "object", "additionalProperties": {"type": "string"}}
      },
      "additionalProperties": {"oneOf": [{"$ref": "#/$defs/tensor"}, {"type": "object"}]}
    },
    "scaling": {
      "oneOf": [
        {"type": "object", "required": ["factor"], "additionalProperties": false,
         "properties": {"rope_type": {"const": "linear"}, "type": {"const": "linear"}, "factor": {"type": "number"}}},
        {"type": "object", "required": ["factor", "original_max_position_embeddings"], "additionalProperties": false,
         "properties": {"rope_type": {"const": "dynamic"}, "type": {"const": "dynamic"}, "factor": {"type": "number"},
                        "original_max_position_embeddings": {"type": "number"}}},
        {"type": "object", "additionalProperties": false,
         "required": ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
         "properties": {"rope_type": {"const": "llama3"}, "type": {"const": "llama3"}, "factor": {"type": "number"},
                        "low_freq_factor": {"type": "number"}, "high_freq_factor": {"type": "number"},
                        "original_max_position_embeddings": {"type": "number"}}},
        {"type": "object", "required": ["factor", "original_max_position_embeddings"], "additionalProperties": false,
         "properties": {"rope_type": {"const": "yarn"}, "type": {"const": "yarn"}, "factor": {"type": "number"},
                        "original_max_position_embeddings": {"type": "number"}, "beta_fast": {"type": "number"},
                        "beta_slow": {"type": "number"}, "truncate": {"type": "boolean"}, "attention_factor": {"type": "number"},
                        "mscale": {"type": "number"}, "mscale_all_dim": {"type": "number"}}}
      ]
    },
    "rotary": {
      "type": "object", "additionalProperties": false,
      "properties": {
        "theta": {"type": "number", "exclusiveMinimum": 0}, "width": {"type": "integer", "minimum": 2},
        "interleaved": {"type": "boolean"}, "scaling": {"$ref": "#/$defs/scaling"},
        "positions": {"$ref": "#/$defs/tensor"}, "key_positions": {"$ref": "#/$defs/tensor"},
        "cos": {"$ref": "#/$defs/tensor"}, "sin": {"$ref": "#/$defs/tensor"}
      }
    },
    "slopes": {"oneOf": [{"const": true}, {"type": "array", "minItems": 1, "items": {"type": "number"}}]},
    "alibi": {
      "oneOf": [
        {"$ref": "#/$defs/slopes"},
        {"type": "object", "additionalProperties": false,
         "properties": {"slopes": {"$ref": "#/$defs/slopes"}, "symmetric": {"type": "boolean"}}}
      ]
    },
    "relative_bias": {
      "type": "object", "required": ["table"], "additionalProperties": false,
      "properties": {"table": {"$ref": "#/$defs/tensor"}, "buckets": {"type": "integer", "minimum": 2},
                     "max_distance": {"type": "integer", "minimum": 1}, "bidirectional": {"type": "boolean"}}
    },
    "head_norm": {
      "type": "object", "required": ["weight"], "additionalProperties": false,
      "properties": {"weight": {"$ref": "#/$defs/tensor"}, "bias": {"$ref": "#/$defs/tensor"},
                     "kind": {"enum": ["layer", "rms"]}}
    },
    "dropout": {
      "type": "object", "required": ["p"], "additionalProperties": false,
      "properties": {"p": {"type": "number", "minimum": 0, "maximum": 1}, "training": {"type": "boolean"}}
    },
    "label_file": {
      "type": "object", "required": ["file"], "additionalProperties": false,
      "properties": {"file": {"type": "string"}}
    },
    "label_lists": {"anyOf": [{"$ref": "#/$defs/names"}, {"$ref": "#/$defs/label_file"}]},
    "labels": {
      "anyOf": [
        {"$ref": "#/$defs/label_lists"},
        {"type": "object", "additionalProperties": false,
         "properties": {"query": {"$ref": "#/$defs/label_lists"}, "key": {"$ref": "#/$defs/label_lists"}}}
      ]
    },
)";

std::string kind_schema() {
  std::string names;
  for (const KindInfo& kind : kinds()) {
    names += (names.empty() ? "" : ", ") + json_string(kind.name);
    for (const std::string_view alias : kind.aliases) names += ", " + json_string(alias);
  }
  return R"("kind": {"enum": [)" + names + "]}";
}

std::string mask_schema() {
  std::string properties;
  for (const MaskPart& part : mask_parts()) {
    properties += (properties.empty() ? "" : ",\n") + std::string("        ") +
                  json_string(part.name) + R"(: {"description": )" +
                  json_string(translated(part.meaning)) + ", " +
                  std::string(mask_part_schema(part.name)) + "}";
  }
  return "\"mask\": {\n      \"type\": \"object\", \"additionalProperties\": false,\n      "
         "\"properties\": {\n" +
         properties + "\n      }\n    }";
}

}  // namespace

std::string document_schema() {
  std::string properties;
  for (const DocumentKey& key : document_keys()) {
    properties += (properties.empty() ? "" : ",\n") + std::string("    ") + json_string(key.name) +
                  R"(: {"description": )" + json_string(translated(key.meaning)) + ", " +
                  std::string(key.schema) + "}";
  }
  return R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Input document of attn-cli",
  "type": "object",
  "anyOf": [{"required": ["attention"]}, {"required": ["model"]}],
  "additionalProperties": false,
  "properties": {
)" + properties +
         "\n  },\n  \"$defs\": {\n" + std::string(definitions) + "    " + kind_schema() +
         ",\n    " + mask_schema() + "\n  }\n}\n";
}

}  // namespace attn
