#include <string_view>

#include "attn/run.hpp"

#include "io/json_writer.hpp"

namespace attn {

std::string heatmap_json(const Heatmap& heatmap) {
  std::string text;
  JsonWriter json([&text](std::string_view piece) { text += piece; });
  const auto list = [&](const char* key, const std::vector<std::string>& labels) {
    if (labels.empty()) return;
    json.key(key);
    json.begin_array();
    for (const std::string& label : labels) json.value(label);
    json.end_array();
  };
  json.begin_object();
  if (!heatmap.title.empty()) {
    json.key("description");
    json.value(heatmap.title);
  }
  if (!heatmap.query_labels.empty() || !heatmap.key_labels.empty()) {
    json.key("labels");
    json.begin_object();
    list("query", heatmap.query_labels);
    list("key", heatmap.key_labels);
    json.end_object();
  }
  json.key("tensors");
  json.begin_object();
  json.key("weights");
  json.value(heatmap.weights);
  if (heatmap.allowed) {
    json.key("allowed");
    json.value(heatmap.allowed);
  }
  json.end_object();
  json.end_object();
  json.finish();
  return text;
}

}  // namespace attn
