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

std::string kind_name(Kind kind) {
  return std::string(info(kind).name);
}

}  // namespace

JsonOptions json_options(const DocumentOptions& options) {
  JsonOptions reading;
  reading.threads = options.threads;
  reading.dtype = options.dtype == DType::float64 ? DType::float64 : DType::float32;
  return reading;
}

Document open_document(const DocumentOptions& options) {
  Document document = Document::open(options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

void put_options(const DocumentOptions& options, Document& document) {
  if (options.attention.size() == 1) {
    document.override_with("attention", json(kind_name(options.attention[0])),
                           "DocumentOptions::attention");
  } else if (options.attention.size() > 1) {
    JsonValue::Array kinds;
    for (const Kind kind : options.attention) kinds.push_back(json(kind_name(kind)));
    JsonValue list;
    list.data = std::move(kinds);
    document.override_with("attention", std::move(list), "DocumentOptions::attention");
  }
  if (options.dtype)
    document.override_with("dtype", json(std::string(name(*options.dtype))),
                           "DocumentOptions::dtype");
  if (options.heads) {
    document.override_with("heads", json(static_cast<std::int64_t>(*options.heads)),
                           "DocumentOptions::heads");
  }
  if (options.scale)
    document.override_with("scale", json(*options.scale), "DocumentOptions::scale");
  if (options.seed) document.override_with("seed", json(*options.seed), "DocumentOptions::seed");
  if (options.valid_lens) {
    JsonValue::Array lens;
    for (const auto length : *options.valid_lens) lens.push_back(json(length));
    JsonValue list;
    list.data = std::move(lens);
    document.override_with("valid_lens", std::move(list), "DocumentOptions::valid_lens");
  }
  if (options.pool) {
    JsonValue pool;
    const bool largest = options.pool->reduction == Pooling::Reduction::max;
    pool.data = JsonValue::Object{{"size", json(static_cast<std::int64_t>(options.pool->size))},
                                  {"reduction", json(std::string(largest ? "max" : "mean"))}};
    document.override_with("pool", std::move(pool), "DocumentOptions::pool");
  }
  if (options.causal) {
    JsonValue causal;
    causal.data = true;
    document.override_inside("mask", "causal", std::move(causal), "DocumentOptions::causal");
  }
}

}  // namespace attn
