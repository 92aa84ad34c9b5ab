#include "result/result_writer.hpp"

#include "io/json_writer.hpp"
#include "support/atomic_file.hpp"

namespace attn {
namespace {

void write_strings(JsonWriter& json, const std::vector<std::string>& strings) {
  json.begin_array();
  for (const std::string& string : strings) json.value(string);
  json.end_array();
}

void write_labels(JsonWriter& json, const std::vector<std::vector<std::string>>& lists) {
  if (lists.size() == 1) {
    write_strings(json, lists[0]);
    return;
  }
  json.begin_array();
  for (const auto& list : lists) write_strings(json, list);
  json.end_array();
}

void write_entry(JsonWriter& json, const Tensor& tensor, const TensorPlace& place) {
  json.begin_object();
  if (place.name) {
    json.key("file");
    json.value(place.files[0]);
    json.key("name");
    json.value(*place.name);
  } else {
    json.key("files");
    write_strings(json, place.files);
  }
  json.key("shape");
  json.value(tensor.shape());
  json.key("dtype");
  json.value(name(tensor.dtype()));
  json.end_object();
}

void write_lists(JsonWriter& json, const char* key,
                 const std::vector<std::vector<std::string>>& lists) {
  if (lists.empty()) return;
  json.key(key);
  json.begin_array();
  for (const auto& list : lists) write_strings(json, list);
  json.end_array();
}

}  // namespace

void write_predictions(JsonWriter& json, const ModelReport& model) {
  const auto write = [&](const Prediction& prediction) {
    json.begin_array();
    for (const Prediction::Token& token : prediction.likeliest) {
      json.begin_object();
      if (!token.text.empty()) {
        json.key("token");
        json.value(token.text);
      }
      json.key("id");
      json.value(static_cast<std::size_t>(token.id));
      json.key("probability");
      json.value(token.probability);
      json.end_object();
    }
    json.end_array();
  };
  json.begin_array();
  for (const std::vector<Prediction>& sample : model.predictions) {
    if (model.next) {
      write(sample.front());
      continue;
    }
    json.begin_array();
    for (const Prediction& prediction : sample) {
      json.begin_object();
      json.key("position");
      json.value(prediction.position);
      json.key("tokens");
      write(prediction);
      json.end_object();
    }
    json.end_array();
  }
  json.end_array();
}

void write_result(const ResultFile& result, JsonWriter& json) {
  json.begin_object();
  json.key("format");
  json.value(std::size_t{1});
  json.key("attention");
  json.value(info(result.kind).name);
  if (!result.title.empty()) {
    json.key("title");
    json.value(result.title);
  }
  if (!result.description.empty()) {
    json.key("description");
    json.value(result.description);
  }
  if (!result.labels.query.empty() || !result.labels.key.empty()) {
    json.key("labels");
    json.begin_object();
    if (!result.labels.query.empty()) {
      json.key("query");
      write_labels(json, result.labels.query);
    }
    if (!result.labels.key.empty()) {
      json.key("key");
      write_labels(json, result.labels.key);
    }
    json.end_object();
  }
  if (result.model != nullptr) {
    json.key("model");
    json.value(result.model->family);
    write_lists(json, "tokens", result.model->tokens);
    write_lists(json, "decoder_tokens", result.model->decoder_tokens);
    if (!result.model->predictions.empty()) {
      json.key("predictions");
      write_predictions(json, *result.model);
    }
  }
  if (result.kv_heads) json.member("kv_heads", *result.kv_heads);
  if (!result.seen.empty()) {
    json.key("seen");
    write_seen_keys(json, result.seen);
  }
  json.key("dtype");
  json.value(name(result.dtype));
  json.key("shapes");
  json.begin_object();
  for (const auto& [tensor, shape] : result.shapes) {
    json.key(tensor);
    json.value(shape);
  }
  json.end_object();
  json.key("tensors");
  json.begin_object();
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    json.key(result.tensors[i].first);
    if (result.places.empty()) {
      json.value(result.tensors[i].second);
    } else {
      write_entry(json, result.tensors[i].second, result.places[i]);
    }
  }
  json.end_object();
  json.key("warnings");
  write_strings(json, result.warnings);
  json.key("pictures");
  write_strings(json, result.pictures);
  if (result.provenance != nullptr) {
    json.key("provenance");
    json.begin_object();
    json.key("program");
    json.value("attn-cli " + Provenance::version());
    json.key("cpu_target");
    json.value(Provenance::cpu_target());
    json.key("inputs");
    json.begin_object();
    for (const Provenance::Input& input : result.provenance->inputs()) {
      json.key(input.name);
      json.value("xxh128:" + input.hash);
    }
    json.end_object();
    json.end_object();
  }
  if (result.seconds) {
    json.key("timing");
    json.begin_object();
    json.key("compute_seconds");
    json.value(*result.seconds);
    json.end_object();
  }
  json.end_object();
}

void write_result(const ResultFile& result, const std::filesystem::path& path,
                  std::size_t threads) {
  AtomicFile file(path);
  JsonWriter json([&](std::string_view piece) { file.write(piece); }, threads);
  write_result(result, json);
  json.finish();
  file.commit();
}

}  // namespace attn
