#include "heads/heads_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "attention/attention_name.hpp"
#include "report/text_table.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

using Statistics = std::vector<HeadStatistic>;

// A head looks at a place that has at least this share of its weight; patterns of tokens that occur
// again concern few rows, so that less is enough.
constexpr double most_of_it = 0.5, much_of_it = 0.3;

/// A line of the table.
struct Row {
  std::string name;
  const std::vector<double>* numbers;
  const std::vector<double>* errors = nullptr;  // of means over texts
  const AttentionHeads* of = nullptr;

  double operator[](HeadStatistic statistic) const {
    return (*numbers)[static_cast<std::size_t>(statistic)];
  }
};

const HeadStatisticInfo& info_of(HeadStatistic statistic) {
  return head_statistics()[static_cast<std::size_t>(statistic)];
}

std::vector<Row> rows_of(const HeadsOutcome& outcome) {
  std::vector<Row> rows;
  for (const AttentionHeads& attention : outcome.attentions) {
    const AttentionName name(attention.name);
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      rows.push_back({name.head_name(attention.number(h)), &attention.heads[h],
                      attention.errors.empty() ? nullptr : &attention.errors[h], &attention});
    }
  }
  return rows;
}

// The largest share that says where a head looks; NaN if there is none.
double strength(const Row& row, const Statistics& statistics) {
  double strongest = std::numeric_limits<double>::quiet_NaN();
  for (const HeadStatistic statistic : statistics) {
    if (!info_of(statistic).looks_at.empty()) strongest = std::fmax(strongest, row[statistic]);
  }
  return strongest;
}

void sort_rows(std::vector<Row>& rows, const HeadsTable& options, const Statistics& statistics) {
  if (options.by_layer) return;
  const auto key = [&](const Row& row) {
    const double number = options.sort ? row[*options.sort] : strength(row, statistics);
    return std::isnan(number) ? -std::numeric_limits<double>::infinity() : number;
  };
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) { return key(a) > key(b); });
}

std::string listed(const Statistics& statistics) {
  std::string text;
  for (const HeadStatistic statistic : statistics) {
    text += (text.empty() ? "" : name_separator()) + std::string(name_of(statistic));
  }
  return text;
}

// Reason for a statistic that has no value for any head.
std::string reason_of(HeadStatistic statistic, const HeadsOutcome& outcome) {
  const HeadNeeds needs = info_of(statistic).needs;
  const auto none = [&](bool AttentionHeads::*known) {
    return std::ranges::none_of(outcome.attentions, known);
  };
  const bool positions = needs == HeadNeeds::positions || needs == HeadNeeds::tokens_and_positions;
  if (positions && none(&AttentionHeads::same_positions)) {
    return translated("queries and keys are different tokens");
  }
  const bool tokens = needs == HeadNeeds::tokens || needs == HeadNeeds::tokens_and_positions;
  if (tokens && none(&AttentionHeads::tokens_known)) {
    return translated("the tokens are not known");
  }
  if (needs == HeadNeeds::scores) return translated("only a model's scores are known");
  if (needs == HeadNeeds::sinks) return translated("no head is known to have a sink logit");
  return translated("no query counts for it");
}

/// Columns of the table, and what is said of the statistics without one.
class Columns {
 public:
  Columns(const HeadsOutcome& outcome, const std::vector<Row>& rows, const HeadsTable& options) {
    const bool chosen = outcome.statistics.size() < head_statistics().size();
    Statistics zero;
    std::vector<std::pair<std::string, Statistics>> without;
    for (const HeadStatistic statistic : outcome.statistics) {
      const auto is_nan = [&](const Row& row) { return std::isnan(row[statistic]); };
      const auto is_zero = [&](const Row& row) { return is_nan(row) || row[statistic] == 0; };
      if (std::ranges::all_of(rows, is_nan)) {
        const std::string reason = reason_of(statistic, outcome);
        if (without.empty() || without.back().first != reason) without.push_back({reason, {}});
        without.back().second.push_back(statistic);
      } else if (!chosen && statistic != options.sort && std::ranges::all_of(rows, is_zero)) {
        zero.push_back(statistic);
      } else {
        shown.push_back(statistic);
        has_gaps_ = has_gaps_ || std::ranges::any_of(rows, is_nan);
      }
    }
    for (const auto& [reason, statistics] : without) {
      say(translated("Not applicable: {1} ({2}).", listed(statistics), reason));
    }
    if (!zero.empty()) say(translated("Zero for every head: {1}.", listed(zero)));
    fit(rows, options, chosen);
    if (has_gaps_) {
      say(translated("–: queries and keys are different tokens there, or no query counts."));
    }
  }

  Statistics shown;
  std::string notes;

 private:
  void say(const std::string& note) { notes += note + "\n"; }

  // Leaves out the statistics that make lines too long, beginning with those that say least.
  void fit(const std::vector<Row>& rows, const HeadsTable& options, bool chosen) {
    if (options.width == 0 || chosen) return;
    using enum HeadStatistic;
    constexpr std::array<HeadStatistic, head_statistic_count> order{
        previous,      next,          self,      first,           separators,     induction_score,
        entropy_share, confidence,    distance,  duplicate_score, previous_score, entropy,
        sink,          score_largest, score_p99, score_median,    sink_share};
    std::size_t name = display_width("head");
    for (const Row& row : rows) name = std::max(name, display_width(row.name));
    std::size_t left = options.width - std::min(options.width, name + 2);
    Statistics kept;
    bool full = false;
    const auto keep = [&](HeadStatistic statistic) {
      if (std::ranges::count(shown, statistic) == 0 || std::ranges::count(kept, statistic) > 0) {
        return;
      }
      const std::size_t width = 2 + std::max<std::size_t>(5, name_of(statistic).size());
      full = full || width > left;
      if (full) return;
      kept.push_back(statistic);
      left -= width;
    };
    if (options.sort) keep(*options.sort);
    for (const HeadStatistic statistic : order) keep(statistic);
    Statistics out;
    for (const HeadStatistic statistic : shown) {
      if (std::ranges::count(kept, statistic) == 0) out.push_back(statistic);
    }
    if (out.empty() || kept.empty()) return;
    std::erase_if(shown, [&](HeadStatistic one) { return std::ranges::count(kept, one) == 0; });
    say(
        translated("Hidden, as the terminal is too narrow: {1}; HeadsOptions::statistics chooses, "
                   "and CSV and JSON have all.",
                   listed(out)));
  }

  bool has_gaps_ = false;
};

}  // namespace

std::string shown_statistic(double number) {
  return std::isnan(number) ? "–" : with_decimals(number, std::abs(number) >= 100 ? 1 : 3);
}

std::string_view name_of(HeadStatistic statistic) {
  return info_of(statistic).name;
}

namespace {

// A sentence about the heads that look at what came after an earlier copy of the token: by the
// weight in the queries whose token has one, which few may. Empty if none does, or if the queries
// are unknown.
std::string what_copies(const std::vector<Row>& rows) {
  constexpr std::size_t fewest_queries = 3;
  const auto of_repeated = [](const Row& row) {
    return row[HeadStatistic::induction_score] * static_cast<double>(row.of->counted) /
           static_cast<double>(row.of->repeated);
  };
  const Row* strongest = nullptr;
  std::size_t count = 0;
  for (const Row& row : rows) {
    if (row.of->repeated < std::min(fewest_queries, row.of->queries)) continue;
    if (row.of->repeated == 0 || !(of_repeated(row) >= most_of_it)) continue;
    ++count;
    if (strongest == nullptr || of_repeated(row) > of_repeated(*strongest)) strongest = &row;
  }
  if (strongest == nullptr) return "";
  const std::string share = with_decimals(of_repeated(*strongest), 2);
  const std::size_t repeated = strongest->of->repeated, all = strongest->of->queries;
  return count == 1
             ? translated(
                   "Head {1} looks at what came after an earlier copy of the token: {2} of its "
                   "weight in the {3} of {4} queries that have one.",
                   strongest->name, share, repeated, all)
             : translated(
                   "{1} heads look at what came after an earlier copy of the token, most of all "
                   "{2}: {3} of its weight in the {4} of {5} queries that have one.",
                   count, strongest->name, share, repeated, all);
}

// A sentence that names the heads which copy random tokens, the strongest first; empty if none
// does.
std::string what_copies_at_random(const HeadsOutcome& outcome) {
  constexpr std::size_t most_names = 4, of_induction = 2;
  std::vector<std::pair<double, std::string>> heads;
  for (const InductionHeads& attention : outcome.induction) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const double weight = attention.heads[h][of_induction];
      if (weight >= most_of_it)
        heads.emplace_back(weight, AttentionName(attention.name).head_name(h));
    }
  }
  if (heads.empty()) return "";
  std::ranges::stable_sort(heads, std::ranges::greater(),
                           [](const auto& head) { return head.first; });
  std::string names;
  for (std::size_t n = 0; n < std::min(most_names, heads.size()); ++n) {
    names += (n == 0 ? "" : name_separator()) + heads[n].second + " (" +
             with_decimals(heads[n].first, 2) + ")";
  }
  return heads.size() <= most_names
             ? translated("Induction heads of the test on random tokens: {1}.", names)
             : translated("Induction heads of the test on random tokens: {1} and {2} more.", names,
                          heads.size() - most_names);
}

std::string joined(const std::string& text, const std::string& sentence) {
  if (text.empty() || sentence.empty()) return text + sentence;
  return translated("{1} {2}", text, sentence);
}

}  // namespace

std::string what_stands_out(const HeadsOutcome& outcome) {
  using enum HeadStatistic;
  // Rare behaviour first: nearly every model has heads that look at the first token.
  constexpr std::array places{induction_score, previous, next, duplicate_score, self,
                              separators,      first};
  const std::vector<Row> rows = rows_of(outcome);
  std::string text = what_copies_at_random(outcome);
  const std::string copies = std::ranges::count(outcome.statistics, induction_score) > 0
                                 ? what_copies(rows)
                                 : std::string();
  text = joined(text, copies);
  std::optional<HeadStatistic> largest_of;
  const Row* largest = nullptr;
  for (const HeadStatistic place : places) {
    if (std::ranges::count(outcome.statistics, place) == 0) continue;
    const bool rare = info_of(place).needs == HeadNeeds::tokens_and_positions;
    const double enough = rare ? much_of_it : most_of_it;
    const Row* strongest = nullptr;
    std::size_t count = 0;
    for (const Row& row : rows) {
      const double share = row[place];
      if (std::isnan(share)) continue;
      if (share >= enough) ++count;
      if (strongest == nullptr || share > (*strongest)[place]) strongest = &row;
    }
    if (strongest == nullptr) continue;
    const double share = (*strongest)[place];
    if (largest == nullptr || share > (*largest)[*largest_of]) {
      largest = strongest;
      largest_of = place;
    }
    if (count == 0 || (place == induction_score && !copies.empty())) continue;
    const std::string value = with_decimals(share, 2);
    const std::string where = translated(info_of(place).looks_at);
    const std::string found =
        count == 1 ? translated("Head {1} looks at {2} ({3}).", strongest->name, where, value)
                   : translated("{1} heads look at {2}, most of all {3} ({4}).", count, where,
                                strongest->name, value);
    text = joined(text, found);
  }
  const bool all = std::ranges::all_of(places, [&](HeadStatistic place) {
    return std::ranges::count(outcome.statistics, place) > 0;
  });
  if (!text.empty() || largest == nullptr || !all) return text;
  return translated(
      "No head has half of its weight in one place: the most is {1} of head {2} on {3}.",
      with_decimals((*largest)[*largest_of], 2), largest->name,
      translated(info_of(*largest_of).looks_at));
}

std::string statistics_text(const HeadsOutcome& outcome, const HeadsTable& options) {
  std::vector<Row> rows = rows_of(outcome);
  if (rows.empty()) return translated("No text was read, so no head is listed.\n");
  sort_rows(rows, options, outcome.statistics);
  const std::size_t all = rows.size();
  const Columns columns(outcome, rows, options);
  rows.resize(std::min(all, options.top.value_or(all)));
  std::vector<TextTable::Column> headings{{translated("head")}};
  for (const HeadStatistic statistic : columns.shown) {
    headings.push_back({std::string(name_of(statistic)), true});
  }
  TextTable table(headings);
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const HeadStatistic statistic : columns.shown) {
      std::string& cell = cells.emplace_back(shown_statistic(row[statistic]));
      // All statistics would fill lines twice as long.
      if (row.errors == nullptr || outcome.statistics.size() == head_statistics().size()) continue;
      const double error = (*row.errors)[static_cast<std::size_t>(statistic)];
      if (!std::isnan(error)) cell += " ± " + shown_statistic(error);
    }
    table.add(std::move(cells));
  }
  std::string text = what_stands_out(outcome);
  if (!text.empty()) text = printable(text) + "\n\n";
  text += table.text();
  std::string notes = columns.notes;
  if (rows.size() < all) {
    notes +=
        translated("The first {1} of {2} heads; HeadsTable::top lists more.\n", rows.size(), all);
  }
  return notes.empty() ? text : text + "\n" + notes;
}

std::string in_csv(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == field.npos) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string in_csv(double number) {
  return std::isnan(number) ? "" : number_text(number);
}

std::string csv_place(const std::string& attention, std::size_t head) {
  const AttentionName name(attention);
  return (name.layer() ? std::to_string(*name.layer()) : "") + "," + in_csv(name.stack_name()) +
         "," + std::to_string(head);
}

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
