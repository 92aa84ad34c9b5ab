#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

#include "attention/expression.hpp"
#include "document/mask_reader.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Where the query stands among the keys.
void explain_place(const ExplainedQuery& query, std::ptrdiff_t offset, Explanation& explanation) {
  const auto i = static_cast<std::ptrdiff_t>(query.choice().query);
  const std::ptrdiff_t position = i + offset;
  const std::string sum = std::to_string(i) + (offset < 0 ? " - " : " + ") +
                          std::to_string(offset < 0 ? -offset : offset) + " = " +
                          std::to_string(position);
  if (query.request().mask.align == Alignment::lower_right) {
    explanation.paragraph(
        translated("The query is at position i + offset = {1} among the keys: lower_right puts the "
                   "last query at the last valid key.",
                   sum));
  } else if (query.geometry().past > 0) {
    explanation.paragraph(
        translated("The query is at position i + offset = {1} among the keys: the offset is the "
                   "number of past keys.",
                   sum));
  } else {
    explanation.paragraph(translated("The query is at position {1} among the keys.", position));
  }
}

Explanation::Column hidden_by(const ExplainedQuery& query) {
  Explanation::Column column{translated("hidden by"), {}, false, {}};
  const QueryChoice& choice = query.choice();
  const Mask& mask = query.request().mask;
  for (const std::size_t j : query.shown_keys().indices()) {
    std::string cell;
    for (const std::string_view part :
         query.visibility().hidden_by(choice.sample, choice.head, choice.query, j)) {
      const bool window = mask.documents_are_windows && part == "documents";
      cell += (cell.empty() ? "" : name_separator()) +
              (window ? hidden_legend(part, mask) : std::string(part));
    }
    column.cells.push_back(cell.empty() ? "-" : cell);
  }
  return column;
}

}  // namespace

void explain_mask(const ExplainedQuery& query, Explanation& explanation) {
  const Mask& mask = query.request().mask;
  const bool biased = mask.bias && !query.capped_last();
  if (!mask.present() || (mask.bias && !biased && !mask.hides())) return;
  explanation.step(!biased        ? translated("Mask")
                   : mask.hides() ? translated("Bias and mask")
                                  : translated("Bias"));
  const QueryChoice& choice = query.choice();
  const std::ptrdiff_t offset = query.visibility().offset(choice.sample);
  if (mask.causal || mask.window) explain_place(query, offset, explanation);
  if (mask.hides()) {
    explanation.paragraph(translated("A key is seen if each part of the mask lets it be seen:"));
  }
  for (const std::string& sentence :
       mask_sentences(mask, {static_cast<std::ptrdiff_t>(choice.query) + offset,
                             query.visibility().valid_keys(choice.sample, choice.query)})) {
    explanation.item(sentence);
  }

  std::size_t seen = 0;
  for (std::size_t j = 0; j < query.keys(); ++j) seen += query.seen(j);
  if (mask.hides() || seen < query.keys()) {
    const std::string fill = mask.fill ? shown_number(*mask.fill) : "-inf";
    std::string text = translated_count(query.keys(), "{2} of {1} key can be seen.",
                                        "{2} of {1} keys can be seen.", seen);
    if (seen < query.keys()) {
      text += mask.fill ? translated(
                              " The score of a hidden key is replaced by {1}, which the "
                              "softmax takes like any other score.",
                              fill)
                        : translated(
                              " The score of a hidden key is replaced by {1}, which weighs "
                              "exactly 0.",
                              fill);
      if (mask.fill && mask.bias) text += translated(" A bias of -inf stays -inf.");
    }
    explanation.paragraph(text);
  }
  Explanation::Table table{
      {query.key_column(),
       query.key_numbers(translated("score"), query.capped_last() ? query.row(query.result().capped)
                                                                  : query.scores_by_distance())},
      query.shown_keys(),
      keys_left_out};
  if (biased) table.columns.push_back(query.key_numbers(translated("bias"), query.bias()));
  table.columns.push_back(
      query.key_numbers(translated("masked"), query.row(query.result().masked)));
  table.columns.push_back(hidden_by(query));
  explanation.put(std::move(table));
}

namespace {

using Numbers = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_left(double masked) {
  return masked != -infinity;
}

// Exceptions of a row of weights, in words.
void explain_exceptions(const ExplainedQuery& query, std::span<const double> masked, double largest,
                        Explanation& to) {
  const auto first = [&](const auto& condition) {
    return static_cast<std::size_t>(std::find_if(masked.begin(), masked.end(), condition) -
                                    masked.begin());
  };
  const std::size_t nan = first([](double score) { return std::isnan(score); });
  if (nan < masked.size()) {
    to.paragraph(
        translated("The score of {1} is not a number (nan). It enters the sum, so the sum and "
                   "every weight that is not hidden are nan too.",
                   query.key_names().in_prose(nan)));
  } else if (largest == infinity) {
    to.paragraph(
        translated("The score of {1} is infinite: inf - inf is not a number, so the sum and every "
                   "weight that is not hidden are nan.",
                   query.key_names().in_prose(first([](double s) { return s == infinity; }))));
  }
  const std::size_t larger = first([&](double score) { return query.leaves_float32(score); });
  if (larger < masked.size()) {
    to.paragraph(
        translated("The score of {1} is {2}, larger than float32 holds: results have {3} in its "
                   "place, and the softmax takes the number itself.",
                   query.key_names().in_prose(larger), shown_number(masked[larger]),
                   shown_number(query.in_results(masked[larger]))));
  }
  if (query.request().mask.fill) {
    bool none_seen = true;
    for (std::size_t j = 0; j < query.keys(); ++j) none_seen = none_seen && !query.seen(j);
    if (none_seen) {
      to.paragraph(
          translated("No key can be seen, but the fill is a finite number: all the keys that hold "
                     "it weigh the same."));
    }
  }
}

// The weights before an expression takes their place.
Numbers weights_of_softmax(const ExplainedQuery& query) {
  Numbers result = query.row(query.result().weights);
  if (!query.request().weight_expression) return result;
  const Numbers masked = query.exact_row(query.result().masked);
  for (std::size_t j = 0; j < result.size(); ++j) {
    result[j] = is_left(masked[j]) ? std::exp(masked[j] - query.lse()) : 0;
  }
  return result;
}

void explain_softmax(const ExplainedQuery& query, Explanation& to) {
  to.step(translated("Softmax"));
  const Numbers masked = query.exact_row(query.result().masked);
  const Numbers weights = weights_of_softmax(query);
  if (std::none_of(masked.begin(), masked.end(), is_left)) {
    to.paragraph(
        translated("No key is left for this query: every score is -inf, and the softmax would be "
                   "0 / 0. Its weights are defined as 0, and so is its output."));
    to.put(Explanation::Table{{query.key_column(), query.key_numbers(translated("score"), masked),
                               query.key_numbers(translated("weight"), weights)},
                              query.shown_keys(),
                              keys_left_out});
    return;
  }
  // 1. The largest score.
  double largest = -infinity;
  std::size_t at = 0;
  for (std::size_t j = 0; j < masked.size(); ++j) {
    if (masked[j] > largest) {
      largest = masked[j];
      at = j;
    }
  }
  explain_exceptions(query, masked, largest, to);
  if (std::isfinite(largest)) {
    to.paragraph(
        translated("The largest score is m = {1}, of {2}. Subtracting m from every score leaves "
                   "the weights unchanged and keeps the exponentials from overflowing.",
                   shown_number(largest), query.key_names().in_prose(at)));
  }
  const Tensor sinks = query.request().sinks.converted(DType::float64);
  const bool has_sink = static_cast<bool>(sinks);
  to.formula(has_sink ? translated("weight = exp(score - m) / (sum of all exp(score - m) + "
                                   "exp(sink - m))")
                      : translated("weight = exp(score - m) / sum of all exp(score - m)"),
             has_sink ? "w_j = \\frac{e^{s_j - m}}{\\sum_t e^{s_t - m} + e^{sink - m}}"
                      : "w_j = \\frac{e^{s_j - m}}{\\sum_t e^{s_t - m}}");
  // 2. Exponentials, their sum, weights.
  Numbers distances, exponentials;
  for (const double score : masked) {
    distances.push_back(is_left(score) ? score - largest : -infinity);
    exponentials.push_back(is_left(score) ? std::exp(score - largest) : 0);
  }
  const double sum = std::accumulate(exponentials.begin(), exponentials.end(), 0.0);
  const double weight_sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Explanation::Column key = query.key_column();
  key.total = translated("sum");
  const auto with_total = [&](std::string header, std::span<const double> row, double total) {
    Numbers shown;
    for (const std::size_t j : query.shown_keys().indices()) shown.push_back(row[j]);
    return number_column(std::move(header), shown, total);
  };
  to.put(Explanation::Table{
      {std::move(key), query.key_numbers(translated("score"), query.row(query.result().masked)),
       query.key_numbers(translated("score - m"), distances),
       with_total(translated("exp(score - m)"), exponentials, sum),
       with_total(translated("weight"), weights, weight_sum)},
      query.shown_keys(),
      keys_left_out});
  double whole = sum;
  if (has_sink) {
    const double sink = sinks.values<double>()[query.choice().head];
    const double power = std::exp(sink - largest);
    whole += power;
    to.paragraph(translated(
        "The sink of this head is {1}: exp(sink - m) = {2} is one more term of the sum, "
        "{3}, and has no value. Its share is {2} / {3} = {4}; the weights sum to what "
        "is left.",
        shown_number(sink), shown_number(power), shown_number(whole), shown_number(power / whole)));
  }
  if (std::isfinite(query.lse())) {
    to.paragraph(translated("log-sum-exp of the row: m + ln({1}) = {2}.", shown_number(whole),
                            shown_number(query.lse())));
  }
}

// The expression of the weight, and the same with the numbers of each shown key.
void explain_own_weight(const ExplainedQuery& query, Explanation& to) {
  const AttentionRequest& request = query.request();
  if (!request.weight_expression) return;
  to.step(translated("The weight by expression"));
  const ExpressionTree tree(request.weight_expression, ExpressionUse::weight, "/weight",
                            query.geometry());
  to.formula("weight = " + tree.text(), "\\text{" + tree.text() + "}");
  const Numbers masked = query.exact_row(query.result().masked);
  const Numbers weights = weights_of_softmax(query);
  for (const std::size_t j : query.shown_keys().indices()) {
    const std::string key = query.key_names().in_prose(j) + ": ";
    if (!is_left(masked[j])) {
      to.item(key + translated("hidden, so its weight stays 0"));
      continue;
    }
    ExpressionCell cell = query.cell(j);
    cell.given = weights[j];
    to.item(key + tree.with_numbers(cell) + " = " +
            shown_number(query.row(query.result().weights)[j]));
  }
}

// The output of the head times the sigmoid of its gate.
void explain_gate(const ExplainedQuery& query, std::span<const double> before, Explanation& to) {
  const Numbers gate = query.gate();
  if (gate.empty()) return;
  to.step(translated("The gate"));
  to.paragraph(
      translated("Each number of the head's output is multiplied by the sigmoid of its "
                 "gate, which is between 0 and 1."));
  to.formula("gated[c] = out[c] / (1 + exp(-gate[c]))", "g_c = \\frac{o_c}{1 + e^{-gate_c}}");
  const auto output = query.output();
  to.put(Explanation::Vectors{{{"out", {before.begin(), before.end()}},
                               {"gate", gate},
                               {"gated", {output.begin(), output.end()}}},
                              Excerpt::all(3),
                              {}});
}

void explain_dropout(const ExplainedQuery& query, Explanation& to) {
  if (!query.result().dropped) return;
  const double p = query.request().dropout->p;
  to.step(translated("Dropout"));
  to.paragraph(p < 1 ? translated("Each weight is dropped with the probability p = {1}; what is "
                                  "kept is divided by 1 - p = {2}, so that its expected value "
                                  "stays.",
                                  shown_number(p), shown_number(1 - p))
                     : translated("Each weight is dropped with the probability p = {1}, so nothing "
                                  "is kept.",
                                  shown_number(p)));
  to.put(Explanation::Table{
      {query.key_column(),
       query.key_numbers(translated("weight"), query.row(query.result().weights)),
       query.key_numbers(translated("after dropout"), query.row(query.result().dropped))},
      query.shown_keys(),
      keys_left_out});
}

// The output of this head before its gate.
Numbers sums_of_values(const ExplainedQuery& query) {
  if (query.gate().empty()) return query.output();
  const AttentionResult& result = query.result();
  const Numbers masked = query.exact_row(result.masked);
  const Numbers weights = query.exact_row(result.dropped ? result.dropped : result.weights);
  Numbers sums(query.geometry().value_width);
  for (std::size_t j = 0; j < query.keys(); ++j) {
    if (!is_left(masked[j])) continue;
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += weights[j] * query.value(j)[c];
  }
  return sums;
}

void explain_output(const ExplainedQuery& query, Explanation& to) {
  if (!query.has_value()) {
    to.paragraph(translated("There is no value, so the weights are the result."));
    return;
  }
  const AttentionResult& result = query.result();
  const Numbers masked = query.exact_row(result.masked);
  const Numbers weights = query.row(result.dropped ? result.dropped : result.weights);
  const Numbers output = sums_of_values(query);
  to.step(translated("The weighted sum of the values"));
  const std::string last = std::to_string(output.size() - 1);
  const bool several = output.size() > 1;
  to.formula(translated("out[c] = Σ weight[j]·v[j][c], c = 0") + (several ? " … " + last : ""),
             "o_c = \\sum_j w_j\\,v_{j,c}, \\qquad c = 0" + (several ? " \\ldots " + last : ""));
  std::vector<std::size_t> left;
  for (std::size_t j = 0; j < query.keys(); ++j) {
    if (is_left(masked[j])) left.push_back(j);
  }
  if (left.empty()) {
    to.paragraph(translated("No key is left, so there is nothing to sum up: the output is 0."));
  } else {
    if (left.size() < query.keys()) {
      to.paragraph(translated_count(left.size(),
                                    "Only one key is left to take part; a key whose score is -inf "
                                    "adds nothing, whatever it holds.",
                                    "Only the {1} keys that are left take part; a key whose score "
                                    "is -inf adds nothing, whatever it holds."));
    }
    Numbers factors;
    for (const std::size_t j : left) factors.push_back(weights[j]);
    Explanation::Sums sums{{}, to.components(output.size()), components_left_out};
    for (const std::size_t c : sums.rows.indices()) {
      Numbers column;
      for (const std::size_t j : left) column.push_back(query.value(j)[c]);
      sums.sums.push_back(
          product_sum("out[" + std::to_string(c) + "]", factors, column, output[c]));
    }
    to.put(std::move(sums));
  }
  to.put(Explanation::Vectors{{{"out", output}}, Excerpt::all(1), {}});
  explain_gate(query, output, to);
}

}  // namespace

void explain_weights(const ExplainedQuery& query, Explanation& explanation) {
  explain_softmax(query, explanation);
  explain_own_weight(query, explanation);
  explain_dropout(query, explanation);
  explain_output(query, explanation);
}

}  // namespace attn
