#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "attn/model.hpp"

#include "attention/attention_name.hpp"
#include "heads/heads_table.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string quoted(const std::string& text) {
  return text.empty() ? "" : "\"" + printable(text) + "\"";
}

// A line that says that a table has not all heads.
std::string listed_of(std::size_t shown, std::size_t all) {
  return shown == all
             ? std::string()
             : "\n" + translated("The first {1} of {2} heads; HeadsTable::top lists more.\n", shown,
                                 all);
}

// Heads in the order of layers or, where a statistic is named that is like one of the three
// columns, by that one. The first of many are those with the largest numbers of induction.
std::string induction_table(const HeadsOutcome& outcome, const HeadsTable& options) {
  using Numbers = std::array<double, 3>;
  std::vector<std::pair<std::string, Numbers>> rows;
  for (const InductionHeads& attention : outcome.induction) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const auto& head = attention.heads[h];
      rows.push_back({AttentionName(attention.name).head_name(h), {head[0], head[1], head[2]}});
    }
  }
  constexpr std::size_t of_induction = 2;
  std::optional<std::size_t> column;
  const std::size_t all = rows.size(), shown = std::min(all, options.top.value_or(all));
  if (shown < all && !options.by_layer) column = of_induction;
  if (options.sort == HeadStatistic::previous) column = 0;
  if (options.sort == HeadStatistic::duplicate_score) column = 1;
  if (options.sort == HeadStatistic::induction_score) column = of_induction;
  if (column) {
    std::ranges::stable_sort(
        rows, [&](const auto& a, const auto& b) { return a.second[*column] > b.second[*column]; });
  }
  TextTable table{
      {{translated("head")}, {"previous", true}, {"duplicate", true}, {"induction", true}}};
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, numbers] = rows[i];
    table.add({name, shown_statistic(numbers[0]), shown_statistic(numbers[1]),
               shown_statistic(numbers[2])});
  }
  return table.text() + listed_of(shown, all);
}

// Heads in the order of layers; the first of many are those without which most changes.
std::string differences_table(const HeadsOutcome& outcome, const HeadsTable& options) {
  TextTable table{{{translated("head")},
                   {translated("likeliest")},
                   {translated("probability"), true},
                   {translated("without the head"), true},
                   {translated("likeliest without the head")},
                   {translated("divergence"), true}}};
  std::vector<HeadDifference> rows = outcome.differences;
  const std::size_t all = rows.size(), shown = std::min(all, options.top.value_or(all));
  if (shown < all && !options.by_layer)
    std::ranges::stable_sort(rows, std::ranges::greater(), &HeadDifference::divergence);
  rows.resize(shown);
  for (const HeadDifference& difference : rows) {
    table.add({difference.layer + "." + std::to_string(difference.head),
               quoted(difference.likeliest), shown_statistic(difference.probability),
               shown_statistic(difference.probability_without),
               quoted(difference.likeliest_without), with_decimals(difference.divergence, 6)});
  }
  return table.text() + listed_of(shown, all);
}

bool is_of_heads(const PatchSweep& sweep) {
  return sweep.part == PatchedPart::heads && !sweep.by_position;
}

/// A part of a model that was patched.
struct PatchedPlace {
  std::string name;                     // "0.3"
  std::optional<std::size_t> position;  // absent = all
  double difference, effect, error;
  double estimated = 0;  // the effect to first order
};

// All of a sweep, those with the largest effect first.
std::vector<PatchedPlace> places_of(const PatchSweep& sweep, double own) {
  std::vector<PatchedPlace> places;
  for (std::size_t n = 0; n < sweep.patched.size(); ++n) {
    for (std::size_t c = 0; c < sweep.patched[n].size(); ++c) {
      const double difference = sweep.patched[n][c];
      PatchedPlace& place = places.emplace_back();
      place = {sweep.rows[n],
               c,
               difference,
               difference - own,
               sweep.errors.empty() ? 0 : sweep.errors[n][c],
               sweep.attributed.empty() ? 0 : sweep.attributed[n][c] - own};
      if (sweep.by_position) continue;
      place.name += "." + std::to_string(c);
      place.position.reset();
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const PatchedPlace& a, const PatchedPlace& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  return places;
}

// How far what gradients estimate is from what was computed, and where it is farthest.
std::string parting_text(const std::vector<PatchedPlace>& places) {
  double whole = 0, missed = 0;
  const auto miss = [](const PatchedPlace& place) {
    return std::abs(place.estimated - place.effect);
  };
  for (const PatchedPlace& place : places) {
    whole += std::abs(place.effect);
    missed += miss(place);
  }
  const PatchedPlace& worst = *std::ranges::max_element(places, {}, miss);
  if (whole == 0) return "";
  const std::string share = with_decimals(100 * missed / whole, 1);
  const std::string estimated = with_decimals(worst.estimated, 4),
                    effect = with_decimals(worst.effect, 4);
  return worst.position
             ? translated(
                   "\nEffects by gradients miss the computed ones by {1} % of their total size, "
                   "most at {2}, position {3}: {4} instead of {5}.\n",
                   share, worst.name, *worst.position, estimated, effect)
             : translated(
                   "\nEffects by gradients miss the computed ones by {1} % of their total size, "
                   "most at {2}: {3} instead of {4}.\n",
                   share, worst.name, estimated, effect);
}

std::string sweep_table(const HeadPatches& patches, const PatchSweep& sweep,
                        const std::vector<std::string>& tokens, std::optional<std::size_t> top) {
  const bool of_heads = info(sweep.part).of_heads;
  std::vector<TextTable::Column> columns{{of_heads ? translated("head") : translated("layer")}};
  if (sweep.by_position) {
    columns.push_back({translated("position"), true});
    if (!patches.texts) columns.push_back({translated("token")});
  }
  columns.push_back({translated("logit difference"), true});
  columns.push_back({translated("effect"), true});
  if (!sweep.attributed.empty()) columns.push_back({translated("by gradients"), true});
  if (patches.texts) columns.push_back({translated("standard error"), true});
  columns.push_back({translated("share"), true});
  TextTable table(columns);
  const std::vector<PatchedPlace> places = places_of(sweep, patches.own);
  const double whole = patches.source - patches.own;
  for (std::size_t at = 0; at < std::min(places.size(), top.value_or(places.size())); ++at) {
    const PatchedPlace& place = places[at];
    std::vector<std::string> cells{place.name};
    if (const auto& position = place.position) {
      cells.push_back(std::to_string(*position));
      if (!patches.texts) {
        cells.push_back(*position < tokens.size() ? quoted(tokens[*position]) : "");
      }
    }
    cells.push_back(with_decimals(place.difference, 4));
    cells.push_back(with_decimals(place.effect, 4));
    if (!sweep.attributed.empty()) cells.push_back(with_decimals(place.estimated, 4));
    if (patches.texts) {
      cells.push_back(std::isnan(place.error) ? "–" : with_decimals(place.error, 4));
    }
    cells.push_back(whole == 0 ? "–" : with_decimals(100 * place.effect / whole, 1) + " %");
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (!sweep.attributed.empty()) text += parting_text(places);
  if (!top || *top >= places.size()) return text;
  return text + "\n" +
         (is_of_heads(sweep)
              ? translated("The first {1} of {2} heads; HeadsTable::top lists more.\n", *top,
                           places.size())
              : translated("The first {1} of {2} places; HeadsTable::top lists more.\n", *top,
                           places.size()));
}

std::string patches_text(const HeadPatches& patches, const std::vector<std::string>& tokens,
                         std::optional<std::size_t> top) {
  std::string text;
  for (const PatchSweep& sweep : patches.sweeps) {
    const std::string first = quoted(patches.token), second = quoted(patches.other),
                      own = with_decimals(patches.own, 4),
                      source = with_decimals(patches.source, 4),
                      table = sweep_table(patches, sweep, tokens, top);
    const std::string meaning = translated(info(sweep.part).meaning);
    if (patches.texts) {
      text += translated(
          "\nPatched from the other texts, one at a time: {1}. The difference of the two logits, "
          "{2} on average over {3} texts and {4} over the others, and what each alone moves\n\n"
          "{5}",
          meaning, own, *patches.texts, source, table);
      continue;
    }
    text += is_of_heads(sweep)
                ? translated(
                      "\nEach head patched from the other text: the logit of {1} minus that "
                      "of {2}, {3} in the text and {4} in the other, and what the head alone "
                      "moves\n\n{5}",
                      first, second, own, source, table)
                : translated(
                      "\nPatched from the other text, one at a time: {1}. The logit of {2} "
                      "minus that of {3}, {4} in the text and {5} in the other, and what "
                      "each alone moves\n\n{6}",
                      meaning, first, second, own, source, table);
  }
  return text;
}

// Where a path ends: key and value heads, which several heads may share, count for themselves.
std::string end_of_path(const HeadPath& path) {
  return path.input == "query"   ? translated("query head {1}", path.to)
         : path.input == "key"   ? translated("key head {1}", path.to)
         : path.input == "value" ? translated("value head {1}", path.to)
                                 : path.to;
}

// Paths with the largest effects first.
std::string paths_text(const HeadPatches& patches, std::optional<std::size_t> top) {
  std::vector<const HeadPath*> paths;
  for (const HeadPath& path : patches.paths) paths.push_back(&path);
  std::ranges::stable_sort(paths, std::ranges::greater(), [&](const HeadPath* path) {
    return std::abs(path->difference - patches.own);
  });
  std::vector<TextTable::Column> columns{{translated("from")},
                                         {translated("to")},
                                         {translated("logit difference"), true},
                                         {translated("effect"), true}};
  if (patches.texts) columns.push_back({translated("standard error"), true});
  columns.push_back({translated("share"), true});
  TextTable table(columns);
  const double whole = patches.source - patches.own;
  const std::size_t shown = std::min(paths.size(), top.value_or(paths.size()));
  for (std::size_t at = 0; at < shown; ++at) {
    const HeadPath& path = *paths[at];
    const double effect = path.difference - patches.own;
    std::vector<std::string> cells{path.from, end_of_path(path), with_decimals(path.difference, 4),
                                   with_decimals(effect, 4)};
    if (patches.texts) {
      const double error = path.error.value_or(std::nan(""));
      cells.push_back(std::isnan(error) ? "–" : with_decimals(error, 4));
    }
    cells.push_back(whole == 0 ? "–" : with_decimals(100 * effect / whole, 1) + " %");
    table.add(std::move(cells));
  }
  const std::string own = with_decimals(patches.own, 4), source = with_decimals(patches.source, 4),
                    rows = table.text();
  std::string text =
      patches.texts
          ? translated(
                "\nDirect paths patched from the other texts, one at a time, all other heads and "
                "feed-forwards unchanged up to their ends: the difference of the two logits, {1} "
                "on average over {2} texts and {3} over the others\n\n{4}",
                own, *patches.texts, source, rows)
          : translated(
                "\nDirect paths patched from the other text, one at a time, all other heads and "
                "feed-forwards unchanged up to their ends: the logit of {1} minus that of {2}, {3} "
                "in the text and {4} in the other\n\n{5}",
                quoted(patches.token), quoted(patches.other), own, source, rows);
  if (shown == paths.size()) return text;
  return text + "\n" +
         translated("The first {1} of {2} paths; HeadsTable::top lists more.\n", shown,
                    paths.size());
}

// The likeliest token of each layer at each position of the first sample.
std::string lens_table(const HeadsOutcome& outcome) {
  std::size_t layers = 0, positions = 0;
  for (const LensTokens& tokens : outcome.lens) {
    if (tokens.sample > 0) continue;
    layers = std::max(layers, tokens.layer + 1);
    positions = std::max(positions, tokens.position + 1);
  }
  std::vector<TextTable::Column> columns{{translated("position"), true}, {translated("token")}};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    columns.push_back({translated("layer {1}", layer)});
  }
  std::vector<std::vector<std::string>> rows(positions, std::vector<std::string>(2 + layers));
  for (std::size_t i = 0; i < positions; ++i) {
    rows[i][0] = std::to_string(i);
    if (!outcome.tokens.empty() && i < outcome.tokens[0].size()) {
      rows[i][1] = quoted(outcome.tokens[0][i]);
    }
  }
  for (const LensTokens& tokens : outcome.lens) {
    if (tokens.sample > 0) continue;
    const Prediction::Token& best = tokens.likeliest.front();
    rows[tokens.position][2 + tokens.layer] =
        quoted(best.text) + " " + shown_statistic(best.probability);
  }
  TextTable table(columns);
  for (std::vector<std::string>& row : rows) table.add(std::move(row));
  return table.text();
}

// Each state of the first sample.
std::string trace_text(const TokenTrace& trace) {
  TextTable table{
      {{translated("state")},
       {trace.against.empty() ? translated("logit") : translated("logit difference"), true},
       {translated("probability"), true},
       {translated("rank"), true}}};
  std::size_t position = 0;
  for (const TracedState& state : trace.states) {
    if (state.sample > 0) continue;
    position = state.position;
    table.add({state.state, with_decimals(state.logit, 4), with_decimals(state.probability, 4),
               std::to_string(state.rank)});
  }
  const std::string token = quoted(trace.token);
  return trace.against.empty()
             ? translated(
                   "\nWhat the states at position {1} say of {2}; the likeliest token has "
                   "rank 0\n\n{3}",
                   position, token, table.text())
             : translated(
                   "\nWhat the states at position {1} say of {2}, and of its logit minus "
                   "that of {3}; the likeliest token has rank 0\n\n{4}",
                   position, token, quoted(trace.against), table.text());
}

// The tokens of the first sample.
std::string losses_text(const HeadsOutcome& outcome) {
  TextTable table{{{translated("position"), true},
                   {translated("token")},
                   {translated("loss"), true},
                   {translated("probability"), true}}};
  const std::vector<double>& losses = outcome.losses.front();
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const bool named = !outcome.tokens.empty() && i + 1 < outcome.tokens[0].size();
    table.add({std::to_string(i + 1), named ? quoted(outcome.tokens[0][i + 1]) : "",
               with_decimals(losses[i], 4), with_decimals(std::exp(-losses[i]), 4)});
    sum += losses[i];
  }
  const double mean = losses.empty() ? 0 : sum / static_cast<double>(losses.size());
  return translated(
      "\nThe loss of each token after those before it, in nats; {1} on average\n\n"
      "{2}",
      with_decimals(mean, 4), table.text());
}

Fact facts_of(const TokenTrace& trace) {
  const auto state = [](const TracedState& own) {
    return object({{"sample", own.sample},
                   {"position", own.position},
                   {"state", own.state},
                   {"logit", own.logit},
                   {"probability", own.probability},
                   {"rank", own.rank}});
  };
  return object({{"token", trace.token},
                 {"against", unless_empty(trace.against)},
                 {"states", list_of(trace.states, state)}});
}

Fact facts_of(const AttentionHeads& attention, const std::vector<HeadStatistic>& statistics) {
  const auto head = [&](const std::vector<double>& numbers) {
    Fact::Members members;
    for (const HeadStatistic statistic : statistics) {
      const double number = numbers[static_cast<std::size_t>(statistic)];
      members.push_back({std::string(name_of(statistic)), std::isnan(number) ? Fact() : number});
    }
    return Fact(members);
  };
  return object(
      {{"name", attention.name},
       {"numbers", unless_empty(attention.numbers)},
       {"heads", list_of(attention.heads, head)},
       {"standard_errors", only_if(!attention.errors.empty(), list_of(attention.errors, head))}});
}

Fact facts_of(const InductionHeads& attention) {
  const auto head = [](const auto& numbers) {
    return object({{"previous", numbers[0]}, {"duplicate", numbers[1]}, {"induction", numbers[2]}});
  };
  return object({{"name", attention.name}, {"heads", list_of(attention.heads, head)}});
}

Fact facts_of(const HeadDifference& difference) {
  return object({{"layer", difference.layer},
                 {"head", difference.head},
                 {"likeliest", difference.likeliest},
                 {"probability", difference.probability},
                 {"probability_without", difference.probability_without},
                 {"likeliest_without", difference.likeliest_without},
                 {"divergence", difference.divergence}});
}

Fact facts_of(const HeadPatches& patches) {
  const auto known = [](double number) { return std::isnan(number) ? Fact() : Fact(number); };
  const auto errors_of = [&](const std::vector<double>& row) { return list_of(row, known); };
  const auto path = [&](const HeadPath& own) {
    return object({{"from", own.from},
                   {"to", own.to},
                   {"input", unless_empty(own.input)},
                   {"difference", own.difference},
                   {"effect", own.difference - patches.own},
                   {"standard_error", own.error ? known(*own.error) : Fact::absent()}});
  };
  Fact::List heads, sweeps;
  for (const PatchSweep& sweep : patches.sweeps) {
    if (!is_of_heads(sweep)) {
      const auto& info = attn::info(sweep.part);
      sweeps.push_back(object(
          {{"part", info.name},
           {"columns", sweep.by_position ? "positions" : "heads"},
           {"rows", sweep.rows},
           {"differences", sweep.patched},
           {"differences_by_gradients", unless_empty(sweep.attributed)},
           {"standard_errors", only_if(!sweep.errors.empty(), list_of(sweep.errors, errors_of))}}));
      continue;
    }
    for (std::size_t n = 0; n < sweep.patched.size(); ++n) {
      for (std::size_t h = 0; h < sweep.patched[n].size(); ++h) {
        const double difference = sweep.patched[n][h];
        heads.push_back(
            object({{"layer", sweep.rows[n]},
                    {"head", h},
                    {"difference", difference},
                    {"effect", difference - patches.own},
                    {"effect_by_gradients", sweep.attributed.empty()
                                                ? Fact::absent()
                                                : Fact(sweep.attributed[n][h] - patches.own)},
                    {"standard_error",
                     sweep.errors.empty() ? Fact::absent() : known(sweep.errors[n][h])}}));
      }
    }
  }
  return object({{"token", unless_empty(patches.token)},
                 {"other", unless_empty(patches.other)},
                 {"texts", if_given(patches.texts)},
                 {"own", patches.own},
                 {"source", patches.source},
                 {"heads", only_if(!heads.empty(), heads)},
                 {"sweeps", only_if(!sweeps.empty(), sweeps)},
                 {"paths", only_if(!patches.paths.empty(), list_of(patches.paths, path))}});
}

Fact facts_of(const LensTokens& tokens) {
  const auto facts_of_token = [](const Prediction::Token& token) {
    return object({{"token", unless_empty(token.text)},
                   {"id", token.id},
                   {"probability", token.probability}});
  };
  return object({{"sample", tokens.sample},
                 {"layer", tokens.layer},
                 {"position", tokens.position},
                 {"tokens", list_of(tokens.likeliest, facts_of_token)}});
}

// The facts of each, absent if there is none.
template <class Value>
Fact facts_of(const std::vector<Value>& values) {
  const auto make = [](const Value& value) { return facts_of(value); };
  return only_if(!values.empty(), list_of(values, make));
}

}  // namespace

std::string heads_text(const HeadsOutcome& outcome, const HeadsTable& table) {
  std::string text;
  if (table.statistics) text = statistics_text(outcome, table) + "\n" + outcome.counted + "\n";
  if (!outcome.induction.empty()) {
    text += translated(
        "\nRandom tokens, repeated once: weight on the previous token, on the same token in the "
        "first half (duplicate) and on the one after that (induction)\n\n{1}",
        induction_table(outcome, table));
  }
  if (!outcome.differences.empty()) {
    text += translated(
        "\nEach head left out: the probability of the token that was likeliest, and how far all "
        "predictions move (Kullback-Leibler divergence, nats)\n\n{1}",
        differences_table(outcome, table));
  }
  if (outcome.patches) {
    text += patches_text(
        *outcome.patches,
        outcome.tokens.empty() ? std::vector<std::string>() : outcome.tokens.front(), table.top);
    if (!outcome.patches->paths.empty()) text += paths_text(*outcome.patches, table.top);
  }
  if (!outcome.lens.empty()) {
    text += translated("\nWhat each layer's states would predict\n\n{1}", lens_table(outcome));
  }
  if (outcome.trace) text += trace_text(*outcome.trace);
  if (!outcome.losses.empty()) text += losses_text(outcome);
  if (!outcome.gradients.empty()) {
    text += gradients_text(
        outcome.gradients,
        outcome.tokens.empty() ? std::vector<std::string>() : outcome.tokens.front(), table.top);
  }
  if (outcome.shares) text += shares_text(*outcome.shares, table.top);
  if (text.empty()) text = outcome.counted + "\n";
  for (const auto& file : outcome.files) text += "\n  " + printable(file.string());
  return outcome.files.empty() ? text : text + "\n";
}

std::string heads_json(const HeadsOutcome& outcome) {
  Fact::Members meanings;
  for (const HeadStatistic statistic : outcome.statistics) {
    const HeadStatisticInfo& info = head_statistics()[static_cast<std::size_t>(statistic)];
    meanings.push_back({std::string(info.name), translated(info.meaning)});
  }
  const auto facts_of_attention = [&](const AttentionHeads& attention) {
    return facts_of(attention, outcome.statistics);
  };
  return json_text(
      object({{"counted", outcome.counted},
              {"stands_out", unless_empty(what_stands_out(outcome))},
              {"statistics", meanings},
              {"attentions", list_of(outcome.attentions, facts_of_attention)},
              {"induction", facts_of(outcome.induction)},
              {"differences", facts_of(outcome.differences)},
              {"patches", outcome.patches ? facts_of(*outcome.patches) : Fact::absent()},
              {"lens", facts_of(outcome.lens)},
              {"trace", outcome.trace ? facts_of(*outcome.trace) : Fact::absent()},
              {"losses", unless_empty(outcome.losses)},
              {"gradients", facts_of(outcome.gradients)},
              {"shares", outcome.shares ? facts_of(*outcome.shares) : Fact::absent()},
              {"warnings", outcome.warnings},
              {"files", unless_empty(outcome.files)}}));
}

}  // namespace attn
