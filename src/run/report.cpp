#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/run.hpp"

#include "io/json_writer.hpp"
#include "result/result_writer.hpp"
#include "support/display_width.hpp"
#include "support/printable.hpp"
#include "support/text_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// What is shown of a large table: its first rows and columns, then an ellipsis, then the last one.
constexpr std::size_t most_rows = 24, most_columns = 14, widest_label = 14;

std::string two_decimals(double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  std::array<char, 400> text{};          // the largest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.2f", number);
  return text.data();
}

std::vector<std::size_t> shown(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < std::min(count, most - 1); ++i) indices.push_back(i);
  if (count >= most) indices.push_back(count - 1);
  return indices;
}

std::string table(const ReportedWeights& report) {
  const Tensor weights = report.weights.converted(DType::float64);
  const auto numbers = weights.values<double>();
  const std::size_t queries = weights.shape()[0], keys = weights.shape()[1];
  const std::vector<std::size_t> rows = shown(queries, most_rows),
                                 columns = shown(keys, most_columns);

  std::vector<TextColumn> table(columns.size() + 1);
  table[0].cells.emplace_back();
  for (const std::size_t i : rows)
    table[0].cells.push_back(shortened(printable(report.query_labels[i]), widest_label));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    TextColumn& column = table[c + 1];
    column.numbers = true;
    if (c > 0 && c + 1 == columns.size() && keys > columns.size()) column.before = "  …";
    column.cells.push_back(shortened(printable(report.key_labels[columns[c]]), widest_label));
    for (const std::size_t i : rows)
      column.cells.push_back(two_decimals(numbers[i * keys + columns[c]]));
  }
  std::vector<std::string> lines = text_lines(table);
  if (queries > rows.size()) lines.insert(lines.end() - 1, "  …");
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Free text may have several lines.
std::string printable_lines(std::string_view text) {
  std::string lines;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    lines += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return text.empty() ? lines : lines + printable(text) + "\n";
}

std::string share_hidden(const ReportedWeights& report) {
  std::array<char, 32> percent{};
  std::snprintf(percent.data(), percent.size(), "%.3g",
                100.0 * static_cast<double>(report.hidden) / static_cast<double>(report.cells));
  return translated("{1} of {2} weights hidden ({3} %)", report.hidden, report.cells,
                    percent.data());
}

std::string percent(double probability) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%5.1f %%", 100 * probability);
  return text.data();
}

// What the model holds likeliest, a line a token. A space that a token begins with is a part of it.
std::string predictions(const ModelReport& model) {
  std::string text;
  for (std::size_t b = 0; b < model.predictions.size(); ++b) {
    for (const Prediction& prediction : model.predictions[b]) {
      text += "\n" +
              (model.next ? translated("Next token after sample {1}", b)
                          : translated("Mask token {1} of sample {2}", prediction.position, b)) +
              "\n";
      for (const Prediction::Token& token : prediction.likeliest) {
        const std::string written =
            token.text.empty() ? translated("token {1}", token.id) : "\"" + token.text + "\"";
        text += "  " + percent(token.probability) + "  " + printable(written) + "\n";
      }
    }
  }
  return text;
}

std::string text_of(const RunReport& report) {
  std::string text =
      (report.model ? translated("{1} model, {2}, of {3}", report.model->family, name(report.dtype),
                                 report.document)
                    : translated("{1} attention, {2}, of {3}", info(report.kind).name,
                                 name(report.dtype), report.document)) +
      "\n";
  if (!report.title.empty()) text += printable_lines(report.title);
  if (!report.description.empty()) text += printable_lines(report.description);

  text += "\n" + translated("Shapes") + "\n";
  std::array<TextColumn, 2> shapes;
  for (const auto& [tensor, shape] : report.shapes) {
    shapes[0].cells.push_back(tensor);
    shapes[1].cells.push_back(attn::text(shape));
  }
  text += text_table(shapes);
  // Of a model's many layers the first that is wanted stands for all.
  const std::size_t shown_maps = report.model ? 1 : report.weights.size();
  for (const ReportedWeights& weights : std::span(report.weights).first(shown_maps)) {
    if (weights.weights) {
      const std::string name = weights.name == "weights"          ? translated("Weights")
                               : weights.name == "pooled_weights" ? translated("Pooled weights")
                                                                  : weights.name;
      text += "\n" +
              translated("{1} of sample {2}, head {3} (rows: queries, columns: keys)", name,
                         report.sample, report.head) +
              "\n" + table(weights);
    }
    if (!weights.mask.empty()) {
      text += "\n" + translated("Mask: {1}", weights.mask);
      if (weights.cells > 0) text += translated("; ") + share_hidden(weights);
      text += "\n";
    }
  }
  if (report.model) text += predictions(*report.model);
  if (!report.recovered.empty()) {
    text += "\n" + translated("Recovered from the embeddings") + "\n";
    for (const std::string& sample : report.recovered) text += "  " + printable(sample) + "\n";
  }
  if (!report.files.empty()) {
    text += "\n" + translated("Written") + "\n";
    for (const auto& file : report.files) text += "  " + file.string() + "\n";
  }
  return text;
}

template <class Strings>
void write_strings(JsonWriter& json, const char* key, const Strings& strings) {
  json.key(key);
  json.begin_array();
  for (const auto& string : strings) json.value(std::string_view(string));
  json.end_array();
}

void write_weights(JsonWriter& json, const ReportedWeights& weights) {
  json.begin_object();
  json.key("name");
  json.value(weights.name);
  if (weights.weights) {
    write_strings(json, "query_labels", weights.query_labels);
    write_strings(json, "key_labels", weights.key_labels);
    json.key("values");
    json.value(weights.weights);
  }
  if (!weights.mask.empty()) {
    json.key("mask");
    json.value(weights.mask);
  }
  if (weights.cells > 0) {
    json.key("hidden");
    json.value(weights.hidden);
    json.key("cells");
    json.value(weights.cells);
  }
  json.end_object();
}

void write_report(JsonWriter& json, const RunReport& report) {
  json.begin_object();
  json.key("document");
  json.value(report.document);
  json.key("attention");
  json.value(info(report.kind).name);
  if (!report.title.empty()) {
    json.key("title");
    json.value(report.title);
  }
  json.key("dtype");
  json.value(name(report.dtype));
  json.key("shapes");
  json.begin_object();
  for (const auto& [tensor, shape] : report.shapes) {
    json.key(tensor);
    json.value(shape);
  }
  json.end_object();
  if (report.output) json.member("output", report.output);
  json.key("sample");
  json.value(report.sample);
  json.key("head");
  json.value(report.head);
  json.key("weights");
  json.begin_array();
  for (const ReportedWeights& weights : report.weights) write_weights(json, weights);
  json.end_array();
  if (report.model) {
    json.key("model");
    json.value(report.model->family);
    if (!report.model->predictions.empty()) {
      json.key("predictions");
      write_predictions(json, *report.model);
    }
  }
  if (!report.recovered.empty()) write_strings(json, "recovered", report.recovered);
  write_strings(json, "warnings", report.warnings);
  std::vector<std::string> files;
  for (const auto& file : report.files) files.push_back(file.string());
  write_strings(json, "files", files);
  json.end_object();
}

}  // namespace

std::string report_text(const RunOutcome& outcome) {
  std::string text;
  for (const RunReport& report : outcome.reports)
    text += (text.empty() ? "" : "\n\n") + text_of(report);
  if (outcome.comparison)
    text += "\n" + translated("Side by side") + "\n  " + outcome.comparison->string() + "\n";
  return text;
}

std::string report_json(const RunOutcome& outcome) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  if (outcome.reports.size() == 1) {
    write_report(json, outcome.reports[0]);
  } else {
    json.begin_object();
    json.key("runs");
    json.begin_array();
    for (const RunReport& report : outcome.reports) write_report(json, report);
    json.end_array();
    if (outcome.comparison) {
      json.key("comparison");
      json.value(outcome.comparison->string());
    }
    json.end_object();
  }
  json.finish();
  return text;
}

}  // namespace attn
