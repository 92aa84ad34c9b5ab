#include "document/options.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace attn {
namespace {

JsonValue json(std::string text) {
  JsonValue value;
  value.data = std::move(text);
  return value;
}

JsonValue json(double number) {
  JsonValue value;
  value.data = JsonValue::Number{number, 0, false};
  return value;
}

JsonValue json(std::int64_t number) {
  JsonValue value;
  value.data = JsonValue::Number{static_cast<double>(number), number, true};
  return value;
}

}  // namespace

JsonOptions json_options(const DocumentOptions& options) {
  JsonOptions reading;
  reading.threads = options.threads;
  reading.dtype = options.dtype == "float64" ? DType::float64 : DType::float32;
  return reading;
}

Document open_document(const DocumentOptions& options) {
  Document document = Document::open(options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

void put_options(const DocumentOptions& options, Document& document) {
  if (options.attention.size() == 1) {
    document.override_with("attention", json(options.attention[0]), "--attention");
  } else if (options.attention.size() > 1) {
    JsonValue::Array kinds;
    for (const std::string& kind : options.attention) kinds.push_back(json(kind));
    JsonValue list;
    list.data = std::move(kinds);
    document.override_with("attention", std::move(list), "--attention");
  }
  if (options.dtype) document.override_with("dtype", json(*options.dtype), "--dtype");
  if (options.heads) {
    document.override_with("heads", json(static_cast<std::int64_t>(*options.heads)), "--heads");
  }
  if (options.scale) document.override_with("scale", json(*options.scale), "--scale");
  if (options.seed) document.override_with("seed", json(*options.seed), "--seed");
  if (options.valid_lens) {
    JsonValue::Array lens;
    for (const auto length : *options.valid_lens) lens.push_back(json(length));
    JsonValue list;
    list.data = std::move(lens);
    document.override_with("valid_lens", std::move(list), "--valid-lens");
  }
  if (options.pool) {
    JsonValue pool;
    const bool largest = options.pool->reduction == Pooling::Reduction::max;
    pool.data = JsonValue::Object{{"size", json(static_cast<std::int64_t>(options.pool->size))},
                                  {"reduction", json(std::string(largest ? "max" : "mean"))}};
    document.override_with("pool", std::move(pool), "--pool");
  }
  if (options.causal) {
    JsonValue causal;
    causal.data = true;
    document.override_inside("mask", "causal", std::move(causal), "--causal");
  }
}

}  // namespace attn
