#include "document/options.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace attn {
namespace {

template <class Alternative>
JsonValue json_of(Alternative value) {
  JsonValue json;
  json.data = std::move(value);
  return json;
}

// Of truths alone: pointers are none.
template <std::same_as<bool> Truth>
JsonValue json(Truth truth) {
  return json_of(truth);
}
JsonValue json(std::string text) {
  return json_of(std::move(text));
}
JsonValue json(std::string_view text) {
  return json(std::string(text));
}
JsonValue json(double number) {
  return json_of(JsonValue::Number{number, 0, false});
}
JsonValue json(std::int64_t number) {
  return json_of(JsonValue::Number{static_cast<double>(number), number, true});
}
JsonValue json(std::size_t number) {
  return json(static_cast<std::int64_t>(number));
}
JsonValue json(DType dtype) {
  return json(std::string(name(dtype)));
}
JsonValue json(Kind kind) {
  return json(info(kind).name);
}
JsonValue json(const Pooling& pool) {
  const bool largest = pool.reduction == Pooling::Reduction::max;
  return json_of(JsonValue::Object{{"size", json(pool.size)},
                                   {"reduction", json(std::string(largest ? "max" : "mean"))}});
}
template <class Element>
JsonValue json(const std::vector<Element>& elements);
JsonValue json(const ModelText& text) {
  return text.pair ? json(std::vector{text.text, *text.pair}) : json(text.text);
}
template <class Element>
JsonValue json(const std::vector<Element>& elements) {
  JsonValue::Array list;
  for (const Element& element : elements) list.push_back(json(element));
  return json_of(std::move(list));
}

}  // namespace

std::vector<Setting> settings(
    const DocumentOptions& options,
    const std::function<std::string(const std::filesystem::path&)>& place) {
  // Naming every member makes a new one an error here until it is set too.
  const auto& [input, model, architecture, texts, layers, logits, heads_off, attention, dtype,
               heads, scale, seed, valid_lens, pool, causal, gradient, threads, files] = options;
  static_cast<void>(input);
  static_cast<void>(threads);
  static_cast<void>(files);

  std::vector<Setting> all;
  const auto set = [&](const char* key, JsonValue value) {
    all.push_back({key, "", std::string("DocumentOptions::") + key, std::move(value)});
  };
  const auto set_given = [&](const char* key, const auto& given) {
    if (given) set(key, json(*given));
  };
  if (model) set("model", json(place(*model)));
  if (architecture) set("architecture", json(place(*architecture)));
  if (!texts.empty()) {
    set("text", json(texts));
    all.back().field = "DocumentOptions::texts";
  }
  set_given("layers", layers);
  if (logits) set("logits", json(true));
  std::map<std::string, std::vector<std::size_t>> off;
  for (const LayerHead& head : heads_off) off[head.layer].push_back(head.head);
  for (const auto& [layer, without] : off) {
    set("heads_off", json(without));
    all.back().inner = layer;
  }
  if (attention.size() == 1) set("attention", json(attention[0]));
  if (attention.size() > 1) set("attention", json(attention));
  set_given("dtype", dtype);
  set_given("heads", heads);
  set_given("scale", scale);
  set_given("seed", seed);
  set_given("valid_lens", valid_lens);
  set_given("pool", pool);
  if (gradient) {
    set("gradient", json_of(JsonValue::Object{{"file", json(place(*gradient))}}));
    all.back().inner = "output";
  }
  if (causal) {
    all.push_back({"mask", "causal", "DocumentOptions::causal", json(true)});
  }
  return all;
}

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

Document open_document(const DocumentOptions& options,
                       const std::shared_ptr<const MappedFile>& file) {
  Document document = Document::open(file, options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

void put_options(const DocumentOptions& options, Document& document) {
  // A folder or file that the command line names is not looked for beside the document.
  const auto from_here = [&](const std::filesystem::path& path) {
    if (document.folder().empty()) return path.string();
    std::error_code no_such_place;  // of an empty name, which is refused where it is opened
    const std::filesystem::path here = std::filesystem::absolute(path, no_such_place);
    return (no_such_place ? path : here).string();
  };
  for (Setting& setting : settings(options, from_here)) {
    if (setting.inner.empty()) {
      document.override_with(setting.key, std::move(setting.value), std::move(setting.field));
    } else {
      document.override_inside(setting.key, setting.inner, std::move(setting.value),
                               std::move(setting.field));
    }
  }
}

}  // namespace attn
