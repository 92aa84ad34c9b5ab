#include <algorithm>

#include "attention/attention_name.hpp"
#include "heads/heads_table.hpp"
#include "report/text_table.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// The numbers [B,layers,H,tokens,parts], by their places.
class Shares {
 public:
  explicit Shares(const AnswerShareTable& table)
      : numbers_(table.shares.converted(DType::float64)) {
    const Shape& shape = numbers_.shape();
    const std::size_t rank = shape.size();
    heads = shape[rank - 3];
    tokens = shape[rank - 2];
    parts = shape[rank - 1];
    layers_ = shape[rank - 4];
  }

  double operator()(std::size_t sample, std::size_t layer, std::size_t head, std::size_t token,
                    std::size_t part) const {
    return numbers_.values<
        double>()[(((sample * layers_ + layer) * heads + head) * tokens + token) * parts + part];
  }

  std::size_t heads = 0, tokens = 0, parts = 0;

 private:
  Tensor numbers_;
  std::size_t layers_ = 0;
};

}  // namespace

std::vector<std::vector<std::vector<double>>> mean_shares(const AnswerShareTable& table) {
  const Shares shares(table);
  std::vector<std::vector<std::vector<double>>> means;
  for (std::size_t layer = 0; layer < table.attentions.size(); ++layer) {
    auto& heads = means.emplace_back(shares.heads, std::vector<double>(shares.parts));
    for (std::size_t h = 0; h < shares.heads; ++h) {
      std::size_t count = 0;
      for (std::size_t b = 0; b < table.tokens.size(); ++b) {
        count += table.tokens[b].size();
        for (std::size_t i = 0; i < table.tokens[b].size(); ++i) {
          for (std::size_t part = 0; part < shares.parts; ++part) {
            heads[h][part] += shares(b, layer, h, i, part);
          }
        }
      }
      for (double& sum : heads[h]) sum /= static_cast<double>(count);
    }
  }
  return means;
}

std::string shares_text(const AnswerShareTable& table, std::optional<std::size_t> top) {
  std::vector<TextTable::Column> columns{{translated("head")}};
  for (const std::string& part : table.parts) columns.push_back({printable(part), true});
  TextTable rows(columns);
  const auto means = mean_shares(table);
  std::size_t all = 0;
  for (std::size_t layer = 0; layer < means.size(); ++layer) {
    for (std::size_t h = 0; h < means[layer].size(); ++h, ++all) {
      if (top && all >= *top) continue;
      std::vector<std::string> cells{AttentionName(table.attentions[layer]).head_name(h)};
      for (const double mean : means[layer][h]) cells.push_back(shown_statistic(mean));
      rows.add(std::move(cells));
    }
  }
  std::string text = translated(
      "\nAttention of the generated tokens to each part of the text (means over these tokens)\n\n"
      "{1}",
      rows.text());
  if (top && *top < all) {
    text +=
        "\n" + translated("The first {1} of {2} heads; HeadsTable::top lists more.\n", *top, all);
  }
  return text;
}

Fact facts_of(const AnswerShareTable& table) {
  const auto means = mean_shares(table);
  Fact::List attentions;
  for (std::size_t layer = 0; layer < means.size(); ++layer) {
    attentions.push_back(object({{"name", table.attentions[layer]}, {"means", means[layer]}}));
  }
  return object({{"parts", table.parts}, {"tokens", table.tokens}, {"attentions", attentions}});
}

std::string shares_csv(const AnswerShareTable& table) {
  const Shares shares(table);
  std::string text = std::string(csv_place_columns) + ",sample,token,text";
  for (const std::string& part : table.parts) text += "," + in_csv(part);
  text += "\n";
  for (std::size_t layer = 0; layer < table.attentions.size(); ++layer) {
    for (std::size_t h = 0; h < shares.heads; ++h) {
      for (std::size_t b = 0; b < table.tokens.size(); ++b) {
        for (std::size_t i = 0; i < table.tokens[b].size(); ++i) {
          text += csv_place(table.attentions[layer], h) + "," + std::to_string(b) + "," +
                  std::to_string(i) + "," + in_csv(table.tokens[b][i]);
          for (std::size_t part = 0; part < shares.parts; ++part) {
            text += "," + number_text(shares(b, layer, h, i, part));
          }
          text += "\n";
        }
      }
    }
  }
  return text;
}

}  // namespace attn
