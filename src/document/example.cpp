#include <string>
#include <string_view>

#include "attn/document.hpp"

namespace attn {
namespace {

constexpr std::string_view softmax =
    R"(  "scores": [[1.0, 0.5, 0.2], [0.3, 1.2, 0.8], [0.7, 0.1, 1.5]],
  "valid_lens": [[1, 2, 3]])";
constexpr std::string_view dot_products = R"(  "query": [[1.0, 0.0], [0.0, 1.0]],
  "key": [[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
  "value": [[1.0], [2.0], [3.0]],
  "mask": {"causal": true, "align": "lower_right"},
  "labels": {"query": ["one", "two"], "key": ["a", "b", "c"]})";
constexpr std::string_view general = R"(  "query": [[1.0, 0.0], [0.0, 1.0]],
  "key": [[1.0, 1.0, 0.5], [2.0, 0.0, -1.0]],
  "value": [[1.0], [2.0]],
  "parameters": {"W": [[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]]})";
constexpr std::string_view additive = R"(  "seed": 1,
  "query": {"randn": [1, 2, 4]},
  "key": {"randn": [1, 5, 3]},
  "value": {"randn": [1, 5, 2]},
  "valid_lens": [4],
  "parameters": {"init": "torch", "hidden": 6})";
constexpr std::string_view self = R"(  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "labels": {"query": ["the", "cat", "sat", "down"]},
  "parameters": {"init": "torch"})";
constexpr std::string_view cross = R"(  "seed": 1,
  "x": {"randn": [1, 3, 8]},
  "memory": {"randn": [1, 5, 8]},
  "parameters": {"init": "torch", "output_projection": false})";
constexpr std::string_view multi_head = R"(  "heads": 2,
  "seed": 1,
  "tokens": [["the", "cat", "sat"], ["the", "cat", "sat", "on", "it"]],
  "embedding": {
    "vocabulary": ["[PAD]", "the", "cat", "sat", "on", "it"],
    "dimension": 8, "init": "torch", "pad": "[PAD]", "position": "sinusoidal"
  },
  "parameters": {"init": "torch"})";
constexpr std::string_view encoder_layer = R"(  "heads": 2,
  "feed_forward": 16,
  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "valid_lens": [3],
  "parameters": {"init": "torch"})";
constexpr std::string_view decoder_layer = R"(  "heads": 2,
  "feed_forward": 16,
  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "memory": {"randn": [1, 6, 8]},
  "mask": {"causal": true},
  "memory_valid_lens": [5],
  "parameters": {"init": "torch"})";

std::string_view body(Kind kind) {
  switch (kind) {
    case Kind::softmax:
      return softmax;
    case Kind::dot_product:
    case Kind::scaled_dot_product:
      return dot_products;
    case Kind::general:
      return general;
    case Kind::additive:
      return additive;
    case Kind::self:
      return self;
    case Kind::cross:
      return cross;
    case Kind::multi_head:
      return multi_head;
    case Kind::encoder_layer:
      return encoder_layer;
    case Kind::decoder_layer:
      return decoder_layer;
  }
  return {};
}

}  // namespace

std::string example_document(Kind kind) {
  return "{\n  \"attention\": \"" + std::string(info(kind).name) + "\",\n" +
         std::string(body(kind)) + "\n}\n";
}

}  // namespace attn
