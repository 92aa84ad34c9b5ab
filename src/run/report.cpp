#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/run.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Limits of a large table: its first rows and columns, an ellipsis and the last one are shown.
constexpr std::size_t most_rows = 24, most_columns = 14, widest_label = 14;

constexpr std::size_t most_components = 10;  // of an output that is wide

// The fewest decimals from two to four that show the smallest number other than zero as one that is
// not zero. Weights below that are "<.0001".
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
  return with_decimals(number, decimals);
}

std::vector<std::size_t> shown(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < std::min(count, most - 1); ++i) indices.push_back(i);
  if (count >= most) indices.push_back(count - 1);
  return indices;
}

/// Rows or columns of a table: their labels, or none, and how many positions they stand for.
struct TableAxis {
  std::vector<std::string> labels;
  std::size_t positions;

  /// Of the first position of one of `count` rows or columns.
  std::size_t index(std::size_t i, std::size_t count) const {
    return (i * positions + count - 1) / count;
  }
};

std::vector<std::string> table_lines(const Tensor& matrix, const TableAxis& down,
                                     const TableAxis& across, std::size_t most_shown_columns,
                                     bool of_weights) {
  const Tensor converted = matrix.converted(DType::float64);
  const auto numbers = converted.values<double>();
  const std::size_t row_count = matrix.shape()[0], column_count = matrix.shape()[1];
  const std::vector<std::size_t> rows = shown(row_count, most_rows),
                                 columns = shown(column_count, most_shown_columns);
  const auto index = [](const TableAxis& axis, std::size_t i, std::size_t count) {
    return std::to_string(axis.index(i, count));
  };
  std::vector<double> all;
  for (const std::size_t i : rows) {
    for (const std::size_t j : columns) all.push_back(numbers[i * column_count + j]);
  }
  const int decimals = decimals_for(all);
  std::vector<TextTable::Column> headings{{""}};
  for (const std::size_t j : columns) {
    const bool behind_gap = j == columns.back() && j > 0 && column_count > columns.size();
    const std::string heading = across.labels.empty()
                                    ? index(across, j, column_count)
                                    : shortened(printable(across.labels[j]), widest_label);
    headings.push_back({heading, true, behind_gap ? "  …" : ""});
  }
  TextTable table(headings);
  if (!across.labels.empty()) {
    // A name in each heading would leave fewer columns room.
    std::vector<std::string> indices{""};
    for (const std::size_t j : columns) indices.push_back(index(across, j, column_count));
    table.add(std::move(indices));
  }
  for (const std::size_t i : rows) {
    const std::size_t at = down.index(i, row_count);
    std::vector<std::string> cells{
        down.labels.empty() ? std::to_string(at) : position_name(down.labels[i], at, widest_label)};
    for (const std::size_t j : columns) {
      constexpr int digits = 4;
      const double number = numbers[i * column_count + j];
      cells.push_back(of_weights ? weight_text(number, decimals) : with_digits(number, digits));
    }
    table.add(std::move(cells));
  }
  std::vector<std::string> lines = table.lines();
  if (row_count > rows.size()) lines.insert(lines.end() - 1, "  …");
  return lines;
}

// A table with as many columns of the matrix as the width holds.
std::string table(const Tensor& matrix, const TableAxis& down, const TableAxis& across,
                  std::size_t most_shown_columns, bool of_weights, std::size_t width) {
  constexpr std::size_t fewest = 2;
  const auto is_wide = [&](const std::string& line) { return display_width(line) > width; };
  std::vector<std::string> lines;
  do {
    lines = table_lines(matrix, down, across, most_shown_columns, of_weights);
  } while (std::ranges::any_of(lines, is_wide) && --most_shown_columns >= fewest);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The output of the chosen sample, [Lq,Dv], and of the chosen head if the output is [B,H,Lq,Dv].
std::string output_table(const RunReport& report, std::size_t width) {
  const Shape& shape = report.output.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4) return "";
  const Shape matrix{shape[rank - 2], shape[rank - 1]};
  std::size_t at = 0;
  if (rank == 4) at = report.sample * shape[1] + report.head;
  if (rank == 3) at = report.sample;
  if (at >= shape[0] * (rank == 4 ? shape[1] : 1)) at = 0;
  TableAxis queries{{}, matrix[0]};
  if (!report.weights.empty() && report.weights[0].query_labels.size() == matrix[0]) {
    queries.labels = report.weights[0].query_labels;
  }
  const Tensor part = part_of(report.output, rank == 2 ? 0 : at * element_count(matrix), matrix);
  const std::string title =
      rank == 4 ? translated("Output of sample {1}, head {2} (rows: queries, columns: components)",
                             report.sample, report.head)
      : rank == 3
          ? translated("Output of sample {1} (rows: queries, columns: components)", report.sample)
          : translated("Output (rows: queries, columns: components)");
  return "\n" + title + "\n" + table(part, queries, {{}, matrix[1]}, most_components, false, width);
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
  const double share = static_cast<double>(report.hidden) / static_cast<double>(report.cells);
  return translated("{1} of {2} weights hidden ({3} %)", grouped(report.hidden),
                    grouped(report.cells), with_decimals(100.0 * share, 1)) +
         (report.hidden_in_effect == 0
              ? ""
              : translated(", {1} more are 0 by the bias", grouped(report.hidden_in_effect)));
}

// One decimal, and two digits of what would be zero then.
std::string percentage(double probability) {
  constexpr double least = 0.0005;
  const double percent = 100 * probability;
  if (probability == 0 || probability >= least) return with_decimals(percent, 1);
  const int zeros = static_cast<int>(-std::floor(std::log10(percent)));
  constexpr int most = 12;
  return with_decimals(percent, std::min(zeros + 1, most));
}

// A line of a token: the text that it stands for, if that is known, and its probability.
std::string token_line(std::string_view text, std::int64_t id, double probability) {
  const std::string written =
      text.empty() ? translated("token {1}", id) : "\"" + std::string(text) + "\"";
  return "  " + padded_left(percentage(probability), 5) + " %  " + printable(written) + "\n";
}

// The likeliest tokens by the model, one a line. A space that a token begins with is a part of it.
std::string predictions(const ModelReport& model) {
  std::string text;
  for (std::size_t b = 0; b < model.predictions.size(); ++b) {
    for (const Prediction& prediction : model.predictions[b]) {
      text += "\n" +
              (model.next ? translated("Next token after sample {1}", b)
                          : translated("Mask token at position {1} of sample {2}",
                                       prediction.position, b)) +
              "\n";
      for (const Prediction::Token& token : prediction.likeliest) {
        text += token_line(token.text, token.id, token.probability);
      }
    }
  }
  return text;
}

// "  97.3 %  POSITIVE", or the number that a regression gives.
std::string class_line(const Classification::Class& one, const std::string& token = "") {
  constexpr int digits = 4;
  const std::string share = one.probability ? padded_left(percentage(*one.probability), 5) + " %"
                                            : with_digits(one.logit, digits);
  return "  " + share + "  " + printable(one.label) +
         (token.empty() ? "" : "  " + printable(token)) + "\n";
}

// What a classifier says of each sample, or of the first of its tokens.
std::string classes(const ModelReport& model) {
  std::string text;
  for (std::size_t b = 0; b < model.classifications.size(); ++b) {
    const std::vector<Classification>& sample = model.classifications[b];
    if (sample.empty()) continue;
    const bool by_token = sample.front().position.has_value();
    text += "\n" +
            (by_token ? translated("Classes of the tokens of sample {1}", b)
                      : translated("Classes of sample {1}", b)) +
            "\n";
    const auto& tokens = model.decoder_tokens.empty() ? model.tokens : model.decoder_tokens;
    for (std::size_t i = 0; i < std::min(sample.size(), most_rows); ++i) {
      const Classification& one = sample[i];
      if (!by_token) {
        for (const Classification::Class& found : one.classes) text += class_line(found);
        continue;
      }
      const std::size_t at = *one.position;
      const bool named = b < tokens.size() && at < tokens[b].size();
      const std::string number = "(" + std::to_string(at) + ")";
      text += class_line(one.classes.front(), named ? tokens[b][at] + " " + number : number);
    }
    if (sample.size() > most_rows) text += "  …\n";
  }
  return text;
}

// The similarities of the texts, each with each.
std::string similarity_table(const ModelReport& model, std::size_t width) {
  const std::size_t count = model.similarities.size();
  if (count == 0) return "";
  std::vector<double> numbers;
  for (const auto& row : model.similarities) numbers.insert(numbers.end(), row.begin(), row.end());
  const Shape shape{count, count};
  return "\n" + translated("Similarity of the texts") + "\n" +
         table(Tensor(shape, std::move(numbers)), {{}, count}, {{}, count}, most_columns, false,
               width);
}

// Tokens with the largest parts of the similarity of the first text with another one, of both.
std::string token_similarity_table(const ModelReport& model, std::size_t other) {
  constexpr std::size_t most_tokens = 5;
  const Shape& shape = model.token_similarity.shape();
  const std::size_t rows = shape[1], columns = shape[2];
  const auto cells =
      model.token_similarity.values<double>().subspan(other * rows * columns, rows * columns);
  std::string text = "\n" +
                     translated("Similarity {1} of texts 0 and {2}, by their tokens",
                                with_decimals(model.similarities[0][other], 4), other) +
                     "\n";
  TextTable table({{translated("text"), true}, {translated("token")}, {translated("part"), true}});
  for (const std::size_t b : {std::size_t{0}, other}) {
    const std::vector<std::string>& tokens = model.tokens[b];
    std::vector<double> parts(tokens.size(), 0);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t token = b == 0 ? i / columns : i % columns;
      if (token < parts.size()) parts[token] += cells[i];
    }
    for (const std::size_t token : largest_of(parts, std::min(most_tokens, parts.size()))) {
      table.add({std::to_string(b), tokens[token] + " (" + std::to_string(token) + ")",
                 with_decimals(parts[token], 4)});
    }
  }
  return text + table.text();
}

// The same for the first few texts.
std::string token_similarity_tables(const ModelReport& model) {
  constexpr std::size_t most_texts = 3;
  std::string text;
  if (!model.token_similarity) return text;
  const std::size_t batch = std::min(model.tokens.size(), most_texts + 1);
  for (std::size_t b = 1; b < batch; ++b) text += token_similarity_table(model, b);
  return text;
}

// The tokens that follow the texts, and how fast they were generated.
std::string generated(const ModelReport& model) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t b = 0; b < model.generated.size(); ++b) {
    const GeneratedText& one = model.generated[b];
    count += one.ids.size();
    text += "\n" +
            translated("After {1} of sample {2}",
                       translated_count(one.prompt, "{1} token", "{1} tokens"), b) +
            "\n";
    for (std::size_t i = 0; i < one.ids.size(); ++i) {
      text += token_line(one.tokens.empty() ? std::string_view() : one.tokens[i], one.ids[i],
                         one.probabilities[i]);
    }
    std::string whole;
    for (const std::string& token : one.tokens) whole += token;
    if (!whole.empty()) text += "  → \"" + printable(whole) + "\"\n";
  }
  if (!model.generation_seconds) return text;
  const double seconds = *model.generation_seconds;
  return text +
         translated("{1} in {2} s, {3} a second",
                    translated_count(count, "{1} token", "{1} tokens"), with_decimals(seconds, 3),
                    with_decimals(static_cast<double>(count) / seconds, 1)) +
         "\n";
}

// The ids of the tokens of the chosen sample, a line for each tensor of them.
std::string ids_table(const RunReport& report) {
  constexpr std::size_t most_ids = 16;
  TextTable table{{{""}, {""}}};
  for (const auto& [name, ids] : report.tokens) {
    if (ids.dtype() != DType::int64) continue;
    const Shape& shape = ids.shape();
    const std::size_t length = shape.back();
    const std::size_t sample = shape.size() > 1 && report.sample < shape[0] ? report.sample : 0;
    std::string line;
    for (std::size_t i = 0; i < std::min(length, most_ids); ++i) {
      line += (i == 0 ? "" : " ") + std::to_string(ids.values<std::int64_t>()[sample * length + i]);
    }
    table.add({name, line + (length > most_ids ? " …" : "")});
  }
  const std::string text = table.text();
  return text.empty() ? text
                      : "\n" + translated("Tokens of sample {1}", report.sample) + "\n" + text;
}

// What to say where each attention of a model shows the head that tells most.
std::string told_heads(const RunReport& report) {
  if (!report.chooses_heads) return "";
  constexpr std::size_t most_named = 12;
  std::string heads;
  std::size_t named = 0;
  for (const ReportedWeights& one : report.weights) {
    if (!one.heatmap.weights && !one.weights) continue;
    if (named++ == most_named) {
      heads += ", …";
      break;
    }
    heads += (heads.empty() ? "" : ", ") + AttentionName::of_tensor(one.name).prefix();
    heads.back() = ' ';
    heads += std::to_string(one.head);
  }
  if (heads.empty()) return "";
  return translated(
      "One head of each attention is here: {1}, the head that depends most on the text: neither a "
      "fixed key nor a fixed distance explains its weights. RunOptions::head chooses another.",
      heads);
}

// What to say where the report shows one map of several.
std::string others_of_map(const RunReport& report) {
  if (const std::string heads = told_heads(report); !heads.empty()) return heads;
  for (const auto& [tensor, shape] : report.shapes) {
    if (report.weights.empty() || tensor != report.weights[0].name || shape.size() < 3) continue;
    const bool of_heads = shape.size() == 3 && maps_are_of_heads(report.shapes);
    const std::size_t samples = of_heads ? 1 : shape[0];
    const std::size_t heads = shape.size() == 4 ? shape[1] : of_heads ? shape[0] : 1;
    if (samples > 1 && heads > 1)
      return translated(
          "One of {1} samples and {2} heads: RunOptions::sample and "
          "RunOptions::head choose another.",
          samples, heads);
    if (samples > 1)
      return translated("One of {1} samples: RunOptions::sample chooses another.", samples);
    if (heads > 1) return translated("One of {1} heads: RunOptions::head chooses another.", heads);
    return "";
  }
  // Without weights the output is that of one sample.
  const Shape& output = report.output.shape();
  if (report.model || output.size() != 3 || output[0] < 2) return "";
  return translated("One of {1} samples: RunOptions::sample chooses another.", output[0]);
}

std::string text_of(const RunReport& report, std::size_t width) {
  std::string text =
      (report.model ? translated("{1} model, {2}, of {3}", report.model->family, name(report.dtype),
                                 printable(report.document))
                    : translated("{1} attention, {2}, of {3}", info(report.kind).name,
                                 name(report.dtype), printable(report.document))) +
      "\n";
  if (!report.title.empty()) text += printable_lines(shown_title(report.title));
  if (!report.description.empty()) text += printable_lines(shown_title(report.description));
  if (report.model) {
    for (const std::string& change : report.model->changes) text += change + "\n";
  }

  text += "\n" + translated("Shapes") + "\n";
  TextTable shapes{{{""}, {""}, {""}}};
  for (const auto& [tensor, shape] : report.shapes) {
    std::string stored;
    for (const auto& [input, type] : report.file_types) {
      if (input == tensor) stored = type + translated(" file");
    }
    shapes.add({tensor, attn::text(shape), stored});
  }
  for (const auto& [tensor, elements] : report.tokens)
    shapes.add({tensor, attn::text(elements.shape()), ""});
  text += shapes.text() + ids_table(report);
  // The first wanted layer of a model stands for all.
  const std::size_t shown_maps = report.model ? 1 : report.weights.size();
  for (const ReportedWeights& weights : std::span(report.weights).first(shown_maps)) {
    if (weights.weights) {
      const std::string name = weights.name == "weights"          ? translated("Weights")
                               : weights.name == "pooled_weights" ? translated("Pooled weights")
                                                                  : weights.name;
      text += "\n" +
              translated("{1} of sample {2}, head {3} (rows: queries, columns: keys)", name,
                         report.sample, weights.head) +
              "\n" +
              table(weights.weights, {weights.query_labels, weights.queries},
                    {weights.key_labels, weights.keys}, most_columns, true, width);
    }
    if (!weights.mask.empty()) {
      text += "\n" + translated("Mask: {1}", weights.mask);
      if (weights.cells > 0) text += translated("; ") + share_hidden(weights);
      text += "\n";
    }
    if (!weights.other_steps.empty())
      text += "\n" + translated("Scores: {1}", weights.other_steps) + "\n";
  }
  if (report.output && !report.model) text += output_table(report, width);
  if (const std::string others = others_of_map(report); !others.empty())
    text += "\n" + others + "\n";
  if (report.model) {
    text += similarity_table(*report.model, width) + token_similarity_tables(*report.model) +
            classes(*report.model) + generated(*report.model) + predictions(*report.model);
  }
  if (!report.recovered.empty()) {
    text += "\n" + translated("Recovered from the embeddings") + "\n";
    for (std::size_t i = 0; i < report.recovered.size(); ++i) {
      text += "  " + printable(report.recovered[i]) + "\n";
      if (report.recovered_texts[i] != report.recovered[i])
        text += "  → " + printable(report.recovered_texts[i]) + "\n";
    }
  }
  if (!report.files.empty()) {
    TextTable files{{{""}, {"", true}}};
    for (const WrittenFile& file : report.files) {
      files.add({printable(file.path.native()), bytes_text(static_cast<double>(file.bytes))});
    }
    text += "\n" + translated("Written") + "\n" + files.text();
  }
  if (!report.removed.empty()) {
    text += "\n" + translated("Removed, from an earlier result") + "\n";
    for (const auto& file : report.removed) text += "  " + printable(file.native()) + "\n";
  }
  return text;
}

// The labels or, without any, the indices as texts.
std::vector<std::string> names_of(TableAxis axis, std::size_t count) {
  for (std::size_t i = axis.labels.size(); i < count; ++i)
    axis.labels.push_back(std::to_string(axis.index(i, count)));
  return std::move(axis.labels);
}

// `chosen`: whether each attention shows a head of its own.
Fact facts_of(const ReportedWeights& weights, bool chosen) {
  const Shape shape = weights.weights ? weights.weights.shape() : Shape{0, 0};
  const bool shown = bool(weights.weights), counted = weights.cells > 0;
  return object(
      {{"name", weights.name},
       {"head", only_if(chosen, weights.head)},
       {"query_labels",
        only_if(shown, names_of({weights.query_labels, weights.queries}, shape[0]))},
       {"key_labels", only_if(shown, names_of({weights.key_labels, weights.keys}, shape[1]))},
       {"values", only_if(shown, weights.weights)},
       {"mask", unless_empty(weights.mask)},
       {"hidden", only_if(counted, weights.hidden)},
       {"cells", only_if(counted, weights.cells)},
       {"hidden_in_effect", only_if(weights.hidden_in_effect > 0, weights.hidden_in_effect)}});
}

// An object of each name and its value.
template <class Named>
Fact named_facts(const Named& values) {
  Fact::Members members;
  for (const auto& [name, value] : values) members.push_back({name, value});
  return members;
}

Fact facts_of(const RunReport& report) {
  const auto weights = [&](const ReportedWeights& one) {
    return facts_of(one, report.chooses_heads);
  };
  const auto path_of = [](const WrittenFile& file) { return Fact(file.path); };
  const auto path_alone = [](const std::filesystem::path& file) { return Fact(file); };
  const ModelReport* model = report.model ? &*report.model : nullptr;
  const auto tokens = [](const std::pair<std::string, Tensor>& one) {
    const bool ids = one.second.dtype() == DType::int64;
    return object(
        {{"name", one.first}, {"shape", one.second.shape()}, {"values", only_if(ids, one.second)}});
  };
  const auto failure = [](const Error& error) {
    return object({{"problem", error.problem()}, {"where", error.where()}, {"help", error.help()}});
  };
  const bool predicted = model != nullptr && !model->predictions.empty();
  return object(
      {{"document", report.document},
       {"attention", info(report.kind).name},
       {"title", unless_empty(report.title)},
       {"dtype", name(report.dtype)},
       {"shapes", named_facts(report.shapes)},
       {"file_types", only_if(!report.file_types.empty(), named_facts(report.file_types))},
       {"output", only_if(bool(report.output), report.output)},
       {"sample", report.sample},
       {"head", report.head},
       {"weights", list_of(report.weights, weights)},
       {"model", model != nullptr ? Fact(model->family) : Fact::absent()},
       {"changes", model != nullptr ? unless_empty(model->changes) : Fact::absent()},
       {"generated",
        model != nullptr && !model->generated.empty() ? generated_facts(*model) : Fact::absent()},
       {"classification", model != nullptr && !model->classifications.empty()
                              ? classification_facts(*model)
                              : Fact::absent()},
       {"similarities", model != nullptr && !model->similarities.empty() ? similarity_facts(*model)
                                                                         : Fact::absent()},
       {"predictions", predicted ? prediction_facts(*model) : Fact::absent()},
       {"tokens", only_if(!report.tokens.empty(), list_of(report.tokens, tokens))},
       {"recovered", unless_empty(report.recovered)},
       {"recovered_texts", unless_empty(report.recovered_texts)},
       {"warnings", report.warnings},
       {"failed_pictures",
        only_if(!report.failed_pictures.empty(), list_of(report.failed_pictures, failure))},
       {"files", list_of(report.files, path_of)},
       {"removed", only_if(!report.removed.empty(), list_of(report.removed, path_alone))}});
}

}  // namespace

std::string report_text(const RunOutcome& outcome, std::size_t width) {
  std::string text;
  for (const RunReport& report : outcome.reports)
    text += (text.empty() ? "" : "\n\n") + text_of(report, width);
  if (outcome.comparison) {
    TextTable file{{{""}, {"", true}}};
    file.add({printable(outcome.comparison->path.native()),
              bytes_text(static_cast<double>(outcome.comparison->bytes))});
    text += "\n" + translated("Side by side") + "\n" + file.text();
  }
  return text;
}

std::string report_json(const RunOutcome& outcome) {
  if (outcome.reports.size() == 1) return json_text(facts_of(outcome.reports[0]));
  const auto run = [](const RunReport& report) { return facts_of(report); };
  return json_text(object(
      {{"runs", list_of(outcome.reports, run)},
       {"comparison", outcome.comparison ? Fact(outcome.comparison->path) : Fact::absent()}}));
}

}  // namespace attn
