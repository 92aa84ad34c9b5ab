#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attn/heads.hpp"

#include "heads/heads_table.hpp"

namespace attn {
namespace {

constexpr const char* moved_columns = "own,source,difference,effect,share";

// Values of these columns where the place or path makes the logits differ by `difference`.
std::string moved_csv(const HeadPatches& patches, double difference) {
  const double effect = difference - patches.own, whole = patches.source - patches.own;
  return in_csv(patches.own) + "," + in_csv(patches.source) + "," + in_csv(difference) + "," +
         in_csv(effect) + "," + in_csv(whole == 0 ? std::nan("") : effect / whole);
}

}  // namespace

std::string heads_csv(const HeadsOutcome& outcome, bool wide) {
  // Means of the shares of an answer stand after the statistics, as "share_context", and before
  // the weights of random tokens that are repeated.
  std::vector<std::string> names;
  for (const HeadStatistic statistic : outcome.statistics) names.emplace_back(name_of(statistic));
  std::map<std::string, std::vector<std::vector<double>>> shares, repeated;
  if (outcome.shares) {
    const auto means = mean_shares(*outcome.shares);
    for (std::size_t n = 0; n < means.size(); ++n) {
      shares[outcome.shares->attentions[n]] = means[n];
    }
    for (const std::string& part : outcome.shares->parts) names.push_back(in_csv("share_" + part));
  }
  const std::size_t before_repeated = names.size();
  for (const InductionHeads& attention : outcome.induction)
    repeated[attention.name] = attention.heads;
  if (!repeated.empty())
    names.insert(names.end(), {"random_previous", "random_duplicate", "random_induction"});
  std::string text(csv_place_columns);
  if (!wide) text += ",statistic,value";
  for (std::size_t i = 0; wide && i < names.size(); ++i) text += "," + names[i];
  text += "\n";
  for (const AttentionHeads& attention : outcome.attentions) {
    const auto own = shares.find(attention.name), test = repeated.find(attention.name);
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const std::string place = csv_place(attention.name, attention.number(h));
      std::vector<double> numbers;
      for (const HeadStatistic statistic : outcome.statistics) {
        numbers.push_back(attention.heads[h][static_cast<std::size_t>(statistic)]);
      }
      if (own != shares.end()) {
        numbers.insert(numbers.end(), own->second[h].begin(), own->second[h].end());
      }
      numbers.resize(before_repeated, std::nan(""));
      const std::size_t number = attention.number(h);
      if (test != repeated.end() && number < test->second.size()) {
        const std::vector<double>& weights = test->second[number];
        numbers.insert(numbers.end(), weights.begin(), weights.end());
      }
      numbers.resize(names.size(), std::nan(""));
      if (wide) text += place;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string value = in_csv(numbers[i]);
        text += wide ? "," + value : place + "," + names[i] + "," + value + "\n";
      }
      if (wide) text += "\n";
    }
  }
  return text;
}

std::string patches_csv(const HeadPatches& patches) {
  const bool positions = std::ranges::any_of(patches.sweeps, &PatchSweep::by_position);
  const bool estimated = std::ranges::any_of(
      patches.sweeps, [](const PatchSweep& sweep) { return !sweep.attributed.empty(); });
  std::string text = std::string("part,place,") + (positions ? "position," : "") + moved_columns +
                     (estimated ? ",by_gradients\n" : "\n");
  for (const PatchSweep& sweep : patches.sweeps) {
    for (std::size_t n = 0; n < sweep.rows.size(); ++n) {
      for (std::size_t c = 0; c < sweep.patched[n].size(); ++c) {
        const std::string column = std::to_string(c);
        text += std::string(info(sweep.part).name) + "," + sweep.rows[n] +
                (sweep.by_position ? "" : "." + column) + ",";
        if (positions) text += (sweep.by_position ? column : "") + ",";
        text += moved_csv(patches, sweep.patched[n][c]);
        if (estimated) text += ",";
        if (!sweep.attributed.empty()) text += in_csv(sweep.attributed[n][c] - patches.own);
        text += "\n";
      }
    }
  }
  return text;
}

std::string paths_csv(const HeadPatches& patches) {
  std::string text = std::string("from,to,input,") + moved_columns + "\n";
  for (const HeadPath& path : patches.paths) {
    text += path.from + "," + path.to + "," + path.input + "," +
            moved_csv(patches, path.difference) + "\n";
  }
  return text;
}

std::string differences_csv(const std::vector<HeadDifference>& differences) {
  std::string text =
      "layer,head,likeliest,probability,probability_without,likeliest_without,divergence\n";
  for (const HeadDifference& difference : differences) {
    text += difference.layer + "," + std::to_string(difference.head) + "," +
            in_csv(difference.likeliest) + "," + in_csv(difference.probability) + "," +
            in_csv(difference.probability_without) + "," + in_csv(difference.likeliest_without) +
            "," + in_csv(difference.divergence) + "\n";
  }
  return text;
}

std::string joined_csv(const std::vector<std::string>& tables) {
  std::string text;
  for (const std::string& table : tables) text += (text.empty() ? "" : "\n") + table;
  return text;
}

std::string asked_csv(const HeadsOutcome& outcome, const HeadsOptions& options) {
  std::vector<std::string> tables;
  if (outcome.patches && !outcome.patches->sweeps.empty())
    tables.push_back(patches_csv(*outcome.patches));
  if (outcome.patches && !outcome.patches->paths.empty())
    tables.push_back(paths_csv(*outcome.patches));
  if (!outcome.differences.empty()) tables.push_back(differences_csv(outcome.differences));
  if (tables.empty() || !options.statistics.empty())
    tables.insert(tables.begin(), heads_csv(outcome, options.table.wide));
  return joined_csv(tables);
}

}  // namespace attn
