#include "document/options.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
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

// A folder or file that the command line names is not looked for beside the document.
std::string from_here(const std::filesystem::path& path, const Document& document) {
  if (document.folder().empty()) return path.string();
  std::error_code no_such_place;  // of an empty name, which is refused where it is opened
  const std::filesystem::path here = std::filesystem::absolute(path, no_such_place);
  return (no_such_place ? path : here).string();
}

JsonValue list_of(JsonValue::Array elements) {
  JsonValue list;
  list.data = std::move(elements);
  return list;
}

void put_model(const DocumentOptions& options, Document& document) {
  if (options.model) {
    document.override_with("model", json(from_here(*options.model, document)),
                           "DocumentOptions::model");
  }
  if (options.architecture) {
    document.override_with("architecture", json(from_here(*options.architecture, document)),
                           "DocumentOptions::architecture");
  }
  if (!options.texts.empty()) {
    JsonValue::Array texts;
    for (const ModelText& text : options.texts) {
      texts.push_back(text.pair ? list_of({json(text.text), json(*text.pair)}) : json(text.text));
    }
    document.override_with("text", list_of(std::move(texts)), "DocumentOptions::texts");
  }
  if (options.layers) {
    JsonValue::Array layers;
    for (const std::size_t layer : *options.layers) {
      layers.push_back(json(static_cast<std::int64_t>(layer)));
    }
    document.override_with("layers", list_of(std::move(layers)), "DocumentOptions::layers");
  }
  if (options.logits) {
    JsonValue yes;
    yes.data = true;
    document.override_with("logits", std::move(yes), "DocumentOptions::logits");
  }
  std::map<std::string, JsonValue::Array> off;
  for (const LayerHead& head : options.heads_off) {
    off[head.layer].push_back(json(static_cast<std::int64_t>(head.head)));
  }
  for (auto& [layer, heads] : off) {
    document.override_inside("heads_off", layer, list_of(std::move(heads)),
                             "DocumentOptions::heads_off");
  }
}

}  // namespace

JsonOptions json_options(const DocumentOptions& options) {
  JsonOptions reading;
  reading.threads = options.threads;
  reading.dtype = options.dtype == DType::float64 ? DType::float64 : DType::float32;
  return reading;
}

Document open_document(const DocumentOptions& options) {
  // Flags alone say what a model is to read.
  Document document = options.input.empty() && options.model
                          ? Document::parse("{}", options.model->string(), "", options.files)
                          : Document::open(options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

void put_options(const DocumentOptions& options, Document& document) {
  put_model(options, document);
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
  if (options.gradient) {
    // A document's file names are relative to it, the flag's to where the program was started.
    JsonValue file, output;
    file.data = JsonValue::Object{{"file", json(std::filesystem::absolute(*options.gradient))}};
    output.data = JsonValue::Object{{"output", std::move(file)}};
    document.override_with("gradient", std::move(output), "DocumentOptions::gradient");
  }
  if (options.causal) {
    JsonValue causal;
    causal.data = true;
    document.override_inside("mask", "causal", std::move(causal), "DocumentOptions::causal");
  }
}

}  // namespace attn
