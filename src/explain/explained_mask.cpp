#include "explain/explained_mask.hpp"

#include <algorithm>
#include <string_view>

#include "explain/shown_number.hpp"
#include "support/count_text.hpp"

namespace attn {
namespace {

std::string_view name(HidingPart part) {
  switch (part) {
    case HidingPart::causal:
      return "causal";
    case HidingPart::window:
      return "window";
    case HidingPart::valid_lens:
      return "valid_lens";
    case HidingPart::padding:
      return "padding";
    case HidingPart::allow:
      return "allow";
    case HidingPart::block:
      return "block";
    case HidingPart::bias:
      return "bias";
  }
  return "";
}

/// The parts of the mask in words, each with this query's numbers put in.
class MaskParts {
 public:
  MaskParts(const ExplainedQuery& query, Explanation& explanation)
      : query_(query), mask_(query.request().mask), to_(explanation) {
    const QueryChoice& choice = query.choice();
    offset_ = query.visibility().offset(choice.sample);
    position_ = static_cast<std::ptrdiff_t>(choice.query) + offset_;
  }

  void list() {
    if (mask_.causal || mask_.window) place();
    if (mask_.hides()) to_.paragraph("A key is seen if each part of the mask lets it be seen:");
    if (mask_.causal) {
      to_.item(position_ < 0 ? "causal: keys up to the query's position, so none"
                             : "causal: keys up to position " + std::to_string(position_));
    }
    if (mask_.window) window();
    if (mask_.valid_lens) {
      const std::size_t count =
          query_.visibility().valid_keys(query_.choice().sample, query_.choice().query);
      to_.item(count == 0   ? std::string("valid_lens: no key")
               : count == 1 ? "valid_lens: the first key"
                            : "valid_lens: the first " + std::to_string(count) + " keys");
    }
    if (mask_.padding) to_.item("padding: keys that are not marked as padding");
    if (mask_.allow) to_.item("allow: keys that are marked 1");
    if (mask_.block) to_.item("block: keys that are not marked 1");
    if (mask_.bias) {
      to_.item(std::string("bias: ") +
               (mask_.hides() ? "keys whose bias is not -inf; it is" : "is") +
               " added to the scores");
    }
  }

 private:
  void place() {
    const std::string sum = std::to_string(query_.choice().query) + (offset_ < 0 ? " - " : " + ") +
                            std::to_string(offset_ < 0 ? -offset_ : offset_) + " = " +
                            std::to_string(position_);
    if (mask_.align == Alignment::lower_right) {
      to_.paragraph("The query stands at position i + offset = " + sum +
                    " among the keys: lower_right puts the last query at the last valid key.");
    } else if (query_.geometry().past > 0) {
      to_.paragraph("The query stands at position i + offset = " + sum +
                    " among the keys: the offset is the number of past keys.");
    } else {
      to_.paragraph("The query stands at position " + std::to_string(position_) +
                    " among the keys.");
    }
  }

  void window() {
    const Window& window = *mask_.window;
    const auto bound = [](std::optional<std::size_t> reach) {
      return reach ? std::to_string(*reach) : std::string("all");
    };
    std::string text = "window: " + bound(window.left) + " before and " + bound(window.right) +
                       " after position " + std::to_string(position_);
    for (std::size_t i = 0; i < mask_.global.size(); ++i)
      text += (i == 0 ? ", or global: " : ", ") + std::to_string(mask_.global[i]);
    const bool global =
        position_ >= 0 && std::find(mask_.global.begin(), mask_.global.end(),
                                    static_cast<std::size_t>(position_)) != mask_.global.end();
    if (global) text += "; the query itself is global and sees all";
    to_.item(text);
  }

  const ExplainedQuery& query_;
  const Mask& mask_;
  Explanation& to_;
  std::ptrdiff_t offset_ = 0, position_ = 0;
};

Explanation::Column hidden_by(const ExplainedQuery& query) {
  Explanation::Column column{"hidden by", {}, false, {}};
  const QueryChoice& choice = query.choice();
  for (const std::size_t j : query.shown_keys().indices()) {
    std::string cell;
    for (const HidingPart part :
         query.visibility().hidden_by(choice.sample, choice.head, choice.query, j)) {
      cell += (cell.empty() ? "" : ", ") + std::string(name(part));
    }
    column.cells.push_back(cell.empty() ? "-" : cell);
  }
  return column;
}

}  // namespace

void explain_mask(const ExplainedQuery& query, Explanation& explanation) {
  const Mask& mask = query.request().mask;
  if (!mask.present()) return;
  explanation.step(!mask.bias ? "Mask" : mask.hides() ? "Bias and mask" : "Bias");
  MaskParts(query, explanation).list();

  std::size_t seen = 0;
  for (std::size_t j = 0; j < query.keys(); ++j) seen += query.seen(j);
  if (mask.hides() || seen < query.keys()) {
    const std::string fill = mask.fill ? shown_number(*mask.fill) : "-inf";
    std::string text =
        std::to_string(seen) + " of " + count_text(query.keys(), "key") + " can be seen.";
    if (seen < query.keys()) {
      text += " The score of a hidden key is replaced by " + fill;
      text += mask.fill ? ", which the softmax takes like any other score."
                        : ", which weighs exactly 0.";
      if (mask.fill && mask.bias) text += " A bias of -inf stays -inf.";
    }
    explanation.paragraph(text);
  }
  Explanation::Table table{
      {query.key_column(), query.key_numbers("score", query.row(query.result().capped))},
      query.shown_keys(),
      "keys"};
  if (mask.bias) {
    const QueryChoice& choice = query.choice();
    std::vector<double> bias;
    for (std::size_t j = 0; j < query.keys(); ++j)
      bias.push_back(query.visibility().bias(choice.sample, choice.head, choice.query, j));
    table.columns.push_back(query.key_numbers("bias", bias));
  }
  table.columns.push_back(query.key_numbers("masked", query.row(query.result().masked)));
  table.columns.push_back(hidden_by(query));
  explanation.put(std::move(table));
}

}  // namespace attn
