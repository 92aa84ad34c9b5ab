#include "explain/explained_mask.hpp"

#include <algorithm>
#include <string_view>

#include "document/mask_reader.hpp"
#include "explain/shown_number.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Where the query stands among the keys; it and they are counted from 1.
void explain_place(const ExplainedQuery& query, std::ptrdiff_t offset, Explanation& explanation) {
  const auto i = static_cast<std::ptrdiff_t>(query.choice().query) + 1;
  const std::ptrdiff_t position = i + offset;
  const std::string sum = std::to_string(i) + (offset < 0 ? " - " : " + ") +
                          std::to_string(offset < 0 ? -offset : offset) + " = " +
                          std::to_string(position);
  if (query.request().mask.align == Alignment::lower_right) {
    explanation.paragraph(
        translated("The query stands at position i + offset = {1} among the keys: lower_right puts "
                   "the last query at the last valid key.",
                   sum));
  } else if (query.geometry().past > 0) {
    explanation.paragraph(
        translated("The query stands at position i + offset = {1} among the keys: the offset is "
                   "the number of past keys.",
                   sum));
  } else {
    explanation.paragraph(translated("The query stands at position {1} among the keys.", position));
  }
}

Explanation::Column hidden_by(const ExplainedQuery& query) {
  Explanation::Column column{translated("hidden by"), {}, false, {}};
  const QueryChoice& choice = query.choice();
  for (const std::size_t j : query.shown_keys().indices()) {
    std::string cell;
    for (const std::string_view part :
         query.visibility().hidden_by(choice.sample, choice.head, choice.query, j)) {
      cell += (cell.empty() ? "" : ", ") + std::string(part);
    }
    column.cells.push_back(cell.empty() ? "-" : cell);
  }
  return column;
}

}  // namespace

void explain_mask(const ExplainedQuery& query, Explanation& explanation) {
  const Mask& mask = query.request().mask;
  if (!mask.present()) return;
  explanation.step(!mask.bias     ? translated("Mask")
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
  const auto capped = query.row(query.result().capped);
  std::vector<double> scores(capped.begin(), capped.end());
  for (std::size_t j = 0; query.position_bias() && j < scores.size(); ++j) {
    scores[j] += query.position_bias().term(
        choice.head,
        static_cast<std::ptrdiff_t>(j) - (static_cast<std::ptrdiff_t>(choice.query) + offset));
  }
  Explanation::Table table{{query.key_column(), query.key_numbers(translated("score"), scores)},
                           query.shown_keys(),
                           keys_left_out};
  if (mask.bias) {
    std::vector<double> bias;
    for (std::size_t j = 0; j < query.keys(); ++j)
      bias.push_back(query.visibility().bias(choice.sample, choice.head, choice.query, j));
    table.columns.push_back(query.key_numbers(translated("bias"), bias));
  }
  table.columns.push_back(
      query.key_numbers(translated("masked"), query.row(query.result().masked)));
  table.columns.push_back(hidden_by(query));
  explanation.put(std::move(table));
}

}  // namespace attn
