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
#include "tensor/operations.hpp"

namespace attn {
namespace {

// What is shown of a large table: its first rows and columns, then an ellipsis, then the last one.
constexpr std::size_t most_rows = 24, most_columns = 14, widest_label = 14;

constexpr std::size_t most_components = 10;  // of an output that is wide

std::string written(const char* format, int digits, double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  std::array<char, 400> text{};          // the largest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), format, digits, number);
  return text.data();
}

// As many decimals, from two to four, as tell the smallest number that is not zero from zero; what
// is smaller still is "<.0001".
int decimals_for(const std::vector<double>& numbers) {
  constexpr int fewest = 2, most = 4;
  int decimals = fewest;
  for (const double number : numbers) {
    if (number == 0 || !std::isfinite(number)) continue;
    while (decimals < most && std::abs(number) < 0.5 * std::pow(10.0, -decimals)) ++decimals;
  }
  return decimals;
}

std::string weight_text(double number, int decimals) {
  constexpr int most = 4;
  if (decimals == most && number > 0 && number < 0.5e-4) return "<.0001";
  return written("%.*f", decimals, number);
}

std::vector<std::size_t> shown(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < std::min(count, most - 1); ++i) indices.push_back(i);
  if (count >= most) indices.push_back(count - 1);
  return indices;
}

// Names of rows and columns; without any they are counted from 0.
using Names = std::vector<std::string>;

std::string table(const Tensor& matrix, const Names& row_names, const Names& column_names,
                  std::size_t most_shown_columns, bool of_weights) {
  const Tensor converted = matrix.converted(DType::float64);
  const auto numbers = converted.values<double>();
  const std::size_t row_count = matrix.shape()[0], column_count = matrix.shape()[1];
  const std::vector<std::size_t> rows = shown(row_count, most_rows),
                                 columns = shown(column_count, most_shown_columns);
  const auto name = [](const Names& names, std::size_t i) {
    return names.empty() ? std::to_string(i) : shortened(printable(names[i]), widest_label);
  };
  std::vector<double> all;
  for (const std::size_t i : rows) {
    for (const std::size_t j : columns) all.push_back(numbers[i * column_count + j]);
  }
  const int decimals = decimals_for(all);
  std::vector<TextColumn> table(columns.size() + 1);
  table[0].cells.emplace_back();
  for (const std::size_t i : rows) table[0].cells.push_back(name(row_names, i));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    TextColumn& column = table[c + 1];
    column.numbers = true;
    if (c > 0 && c + 1 == columns.size() && column_count > columns.size()) column.before = "  …";
    column.cells.push_back(name(column_names, columns[c]));
    for (const std::size_t i : rows) {
      constexpr int digits = 4;
      const double number = numbers[i * column_count + columns[c]];
      column.cells.push_back(of_weights ? weight_text(number, decimals)
                                        : written("%.*g", digits, number));
    }
  }
  std::vector<std::string> lines = text_lines(table);
  if (row_count > rows.size()) lines.insert(lines.end() - 1, "  …");
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// What the chosen sample's queries get, and of an output that has heads apart the chosen head's.
std::string output_table(const RunReport& report) {
  const Shape& shape = report.output.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4) return "";
  const Shape matrix{shape[rank - 2], shape[rank - 1]};
  std::size_t at = 0;
  if (rank == 4) at = report.sample * shape[1] + report.head;
  if (rank == 3) at = report.sample;
  if (at >= shape[0] * (rank == 4 ? shape[1] : 1)) at = 0;
  Names names;
  if (!report.weights.empty() && report.weights[0].query_labels.size() == matrix[0]) {
    names = report.weights[0].query_labels;
  }
  const Tensor part = part_of(report.output, rank == 2 ? 0 : at * element_count(matrix), matrix);
  const std::string title =
      rank == 4 ? translated("Output of sample {1}, head {2} (rows: queries, columns: components)",
                             report.sample + 1, report.head + 1)
      : rank == 3 ? translated("Output of sample {1} (rows: queries, columns: components)",
                               report.sample + 1)
                  : translated("Output (rows: queries, columns: components)");
  return "\n" + title + "\n" + table(part, names, {}, most_components, false);
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
              (model.next
                   ? translated("Next token after sample {1}", b + 1)
                   : translated("Mask token {1} of sample {2}", prediction.position + 1, b + 1)) +
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
  std::array<TextColumn, 3> shapes;
  for (const auto& [tensor, shape] : report.shapes) {
    shapes[0].cells.push_back(tensor);
    shapes[1].cells.push_back(attn::text(shape));
    shapes[2].cells.emplace_back();
    for (const auto& [input, type] : report.file_types) {
      if (input == tensor) shapes[2].cells.back() = type + translated(" file");
    }
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
                         report.sample + 1, report.head + 1) +
              "\n" +
              table(weights.weights, weights.query_labels, weights.key_labels, most_columns, true);
    }
    if (!weights.mask.empty()) {
      text += "\n" + translated("Mask: {1}", weights.mask);
      if (weights.cells > 0) text += translated("; ") + share_hidden(weights);
      text += "\n";
    }
  }
  if (report.output && !report.model) text += output_table(report);
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
  if (!report.file_types.empty()) {
    json.key("file_types");
    json.begin_object();
    for (const auto& [tensor, type] : report.file_types) json.member(tensor, type);
    json.end_object();
  }
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
