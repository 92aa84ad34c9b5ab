#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "attention/attention_name.hpp"
#include "heads/head_maps.hpp"
#include "heads/head_pictures.hpp"
#include "heads/heads_table.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "maps/selected_map.hpp"
#include "pictures/picture_kinds.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/output_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

// Heads of one input compared with those of another over the same tokens: what quantisation or
// further training did to attention.

namespace attn {
namespace {

constexpr std::array<HeadComparisonInfo, head_comparison_count> comparisons{
    {{"divergence", to_translate("Kullback–Leibler Divergence in Nats"),
      to_translate("mean Kullback–Leibler divergence of the other's row of weights from the "
                   "query's, Σ a ln(a/b), in nats"),
      false},
     {"total_variation", to_translate("Total Variation"),
      to_translate("mean total variation, half the sum of a row's absolute differences"), true},
     {"largest_difference", to_translate("Largest Difference of a Weight"),
      to_translate("largest absolute difference of a weight"), true},
     {"other_strongest", to_translate("Share of Queries with Another Strongest Key"),
      to_translate("share of queries whose strongest key is another one"), true}}};

// Maps of an input in the order of its attentions.
std::vector<AttentionMap> maps_of(const HeadsOptions& options, const OpenedInput& input,
                                  std::vector<std::string>& warnings) {
  std::vector<AttentionMap> maps;
  double elements = 0;
  const auto keep = [&](AttentionMap map) {
    if (map.planned) map = chosen_part(std::move(map), options.maps.selection);
    elements += static_cast<double>(map.numbers.size());
    check_memory(elements * sizeof(float), translated("the maps that are compared"), "");
    map.scores = map.capped = map.masked = {};
    map.planned = nullptr;
    maps.push_back(std::move(map));
  };
  if (const auto* document = std::get_if<Document>(&input)) {
    Plan plan = plan_of_statistics(*document, options.document.threads);
    warnings.insert(warnings.end(), plan.warnings.begin(), plan.warnings.end());
    const auto computed = compute_maps(plan, options.counting, false, keep);
    warnings.insert(warnings.end(), computed.begin(), computed.end());
    return maps;
  }
  MapRequest request = options.maps;
  request.selection = selection_of_maps(request.selection, options.document);
  std::vector<FiledMaps> stacks =
      all_stacks(std::get<MapFiles>(input), request, MapContents::weights);
  each_of(stacks, [&](AttentionMap map) {
    check_is_map(map);
    map = chosen_part(std::move(map), request.selection);
    if (map.layer && !map.name.layer()) map.name = AttentionName("", *map.layer, "");
    keep(with_tokens(std::move(map), options.counting));
  });
  return maps;
}

std::size_t strongest_of(std::span<const double> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

// Sums over the rows of one head.
struct Differences {
  double divergence = 0, variation = 0, largest = 0;
  std::size_t rows = 0, other_strongest = 0;

  // Rows without any weight, such as those of padding, do not count.
  void add(std::span<const double> a, std::span<const double> b) {
    if (std::ranges::all_of(a, [](double weight) { return weight == 0; })) return;
    ++rows;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double difference = std::abs(a[j] - b[j]);
      variation += difference / 2;
      largest = std::max(largest, difference);
      // A weight this small may be zero in the other input because float32 rounded it.
      constexpr double next_to_nothing = 1e-30;
      if (a[j] > next_to_nothing) divergence += a[j] * std::log(a[j] / std::max(b[j], 0.0));
    }
    if (strongest_of(a) != strongest_of(b)) ++other_strongest;
  }

  std::vector<double> means() const {
    const auto count = static_cast<double>(rows);  // NaN without rows
    // Roundings of equal rows may sum to slightly less than nothing.
    return {std::max(divergence / count, 0.0), variation / count,
            rows > 0 ? largest : std::numeric_limits<double>::quiet_NaN(),
            static_cast<double>(other_strongest) / count};
  }
};

bool is_counted(const AttentionMap& map, std::size_t sample, std::size_t row,
                const HeadCounting& counting) {
  return !counting.ignore_special || map.query_tokens.empty() ||
         map.query_tokens[sample].special[row] == 0;
}

// The first of two lists of tokens, or of their ids, that differ; absent if none does or one of the
// lists is not known.
template <class Token>
std::optional<std::size_t> first_difference(const std::vector<Token>& a,
                                            const std::vector<Token>& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
  return at < std::ssize(a) ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
}

// The first place at which two inputs of equal sizes read different tokens, which models have ids
// of and files labels; empty if none is known.
std::string different_tokens(const AttentionMap& a, const AttentionMap& b, bool models) {
  const std::size_t samples = Maps(a.numbers).samples();
  for (std::size_t s = 0; s < samples; ++s) {
    for (const bool query : {true, false}) {
      const auto& tokens = query ? &AttentionMap::query_tokens : &AttentionMap::key_tokens;
      const auto labels = [&](const AttentionMap& map) {
        return Labels::of_sample(query ? map.labels.query : map.labels.key, s);
      };
      const std::vector<std::string> ours = labels(a), theirs = labels(b);
      const bool ids = models && !(a.*tokens).empty() && !(b.*tokens).empty();
      const auto at = ids ? first_difference((a.*tokens)[s].ids, (b.*tokens)[s].ids)
                          : first_difference(ours, theirs);
      if (!at) continue;
      const auto name = [&](const std::vector<std::string>& names, const AttentionMap& map) {
        return names.empty() ? std::to_string((map.*tokens)[s].ids[*at]) : in_quotes(names[*at]);
      };
      const std::string place = query ? translated("query {1}", *at) : translated("key {1}", *at);
      return translated("the tokens of the two inputs differ: {1} is {2} here and {3} there",
                        samples > 1 ? translated("sample {1}, {2}", s, place) : place,
                        name(ours, a), name(theirs, b));
    }
  }
  return "";
}

AttentionHeads compared(const AttentionMap& a, const AttentionMap& b, const HeadsOptions& options) {
  if (a.numbers.shape() != b.numbers.shape()) {
    throw input_error(translated("the weights of {1} are {2} here and {3} there",
                                 in_quotes(a.name.empty() ? a.tensor : a.name.text()),
                                 text(a.numbers.shape()), text(b.numbers.shape())),
                      "compare_heads()",
                      translated("compare inputs with the same heads over the same tokens"));
  }
  const Maps ours(a.numbers), theirs(b.numbers);
  AttentionHeads heads;
  heads.name = a.name.text();
  heads.numbers = a.heads;
  heads.heads.resize(ours.heads());
  parallel_for(ours.heads(), options.document.threads, [&](std::size_t h) {
    Differences sums;
    for (std::size_t s = 0; s < ours.samples(); ++s) {
      const Tensor left = ours.matrix(s, h).converted(DType::float64);
      const Tensor right = theirs.matrix(s, h).converted(DType::float64);
      for (std::size_t i = 0; i < ours.queries(); ++i) {
        if (!is_counted(a, s, i, options.counting)) continue;
        sums.add(left.values<double>().subspan(i * ours.keys(), ours.keys()),
                 right.values<double>().subspan(i * ours.keys(), ours.keys()));
      }
    }
    heads.heads[h] = sums.means();
  });
  return heads;
}

void refuse_what_is_no_comparison(const HeadsOptions& options) {
  const auto refuse = [](bool given, const char* field) {
    if (!given) return;
    throw Error(ErrorKind::usage,
                translated("only statistics of the comparison are computed where two inputs are "
                           "compared"),
                field, translated("leave it out, or read each of the two inputs"));
  };
  refuse(!options.statistics.empty(), "HeadsOptions::statistics");
  refuse(!options.analyses.empty(), "HeadsOptions::analyses");
  refuse(!options.without_heads_of.empty(), "HeadsOptions::without_heads_of");
  refuse(options.table.sort.has_value() || options.table.by_layer, "HeadsTable::sort");
}

// Options of the other input: the other model with the same texts, or another document or result,
// as it is.
HeadsOptions options_of_other(const HeadsOptions& options, bool model,
                              const std::filesystem::path& against) {
  HeadsOptions other = options;
  other.document = without_changes(options.document);
  if (model) {
    other.document.model = against;
  } else {
    other.document.input = against;
    other.maps.others.clear();
  }
  return other;
}

void write(const HeadsOptions& options, HeadsAgainst& outcome) {
  ResultFolder folder(*options.out, false);
  for (std::size_t column = 0; options.plots && column < comparisons.size(); ++column) {
    const HeadComparisonInfo& info = comparisons[column];
    folder.add(
        "against." + std::string(info.name) + extension(options.format),
        layers_by_heads(outcome.attentions, column, translated(info.title), info.is_share, options)
            .bytes);
  }
  folder.add("against.csv", against_csv(outcome));
  folder.add("against.json", against_json(outcome));
  outcome.files = folder.write_all(options.document.files.mapped.get());
}

// Small numbers keep their size: 1.2e-05.
std::string shown(double number) {
  if (std::isnan(number)) return "–";
  if (number != 0 && number < 0.001) return with_exponent(number, 1);
  return shown_statistic(number);
}

}  // namespace

std::span<const HeadComparisonInfo> head_comparisons() noexcept {
  return comparisons;
}

HeadsAgainst compare_heads(const HeadsOptions& given, const std::filesystem::path& against) {
  refuse_what_is_no_comparison(given);
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    HeadsOptions options = given;
    options.document.files = access;
    HeadsAgainst outcome;
    const OpenedInput input = open_input(options.document, options.maps);
    const auto* document = std::get_if<Document>(&input);
    const bool model = document != nullptr && document->root().find("model") != nullptr;
    if (model) refuse_result_beside_model(against, "compare_heads()");
    const HeadsOptions other = options_of_other(options, model, against);
    const std::vector<AttentionMap> ours = maps_of(options, input, outcome.warnings);
    const std::vector<AttentionMap> theirs =
        maps_of(other, open_input(other.document, other.maps), outcome.warnings);
    if (ours.size() != theirs.size()) {
      throw input_error(
          translated("{1} here and {2} there",
                     translated_count(ours.size(), "{1} attention", "{1} attentions"),
                     translated_count(theirs.size(), "{1} attention", "{1} attentions")),
          "compare_heads()", translated("compare inputs with the same heads over the same tokens"));
    }
    std::string difference;
    for (std::size_t at = 0; at < ours.size(); ++at) {
      outcome.attentions.push_back(compared(ours[at], theirs[at], options));
      if (difference.empty()) difference = different_tokens(ours[at], theirs[at], model);
    }
    if (!difference.empty()) outcome.warnings.push_back(std::move(difference));
    if (options.out) write(options, outcome);
    return outcome;
  });
}

std::string against_text(const HeadsAgainst& outcome, const HeadsTable& options) {
  struct Row {
    std::string name;
    const std::vector<double>* numbers;
  };
  std::vector<Row> rows;
  for (const AttentionHeads& attention : outcome.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      rows.push_back(
          {AttentionName(attention.name).head_name(attention.number(h)), &attention.heads[h]});
    }
  }
  const std::size_t all = rows.size();
  if (!options.by_layer) {
    const auto key = [](const Row& row) {
      return std::isnan(row.numbers->front()) ? -1 : row.numbers->front();
    };
    std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) { return key(a) > key(b); });
  }
  if (options.top && *options.top < rows.size()) rows.resize(*options.top);
  TextTable table{{{translated("head")},
                   {translated("divergence"), true},
                   {translated("total variation"), true},
                   {translated("largest difference"), true},
                   {translated("other strongest key"), true}}};
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const double number : *row.numbers) cells.push_back(shown(number));
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (rows.size() < all) {
    text +=
        "\n" + translated("{1} of {2} heads: the most different ones.", rows.size(), all) + "\n";
  }
  text += "\n" +
          translated(
              "Means over the queries with any weight: the Kullback–Leibler divergence Σ a "
              "ln(a/b) in nats of the other input's weights b from these weights a, the "
              "total variation, and the share of queries whose strongest key is another "
              "one.") +
          "\n";
  for (const auto& file : outcome.files) text += "\n  " + printable(file.string());
  return outcome.files.empty() ? text : text + "\n";
}

std::string against_json(const HeadsAgainst& outcome) {
  Fact::Members meanings;
  for (const HeadComparisonInfo& info : comparisons) {
    meanings.push_back({std::string(info.name), translated(info.meaning)});
  }
  const auto head = [](const std::vector<double>& numbers) {
    Fact::Members members;
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      members.push_back(
          {std::string(comparisons[i].name), std::isnan(numbers[i]) ? Fact() : Fact(numbers[i])});
    }
    return Fact(members);
  };
  const auto attention = [&](const AttentionHeads& own) {
    return object({{"name", own.name}, {"heads", list_of(own.heads, head)}});
  };
  return json_text(object({{"compared", meanings},
                           {"attentions", list_of(outcome.attentions, attention)},
                           {"warnings", outcome.warnings},
                           {"files", unless_empty(outcome.files)}}));
}

std::string against_csv(const HeadsAgainst& outcome) {
  std::string text(csv_place_columns);
  for (const HeadComparisonInfo& info : comparisons) text += "," + std::string(info.name);
  text += "\n";
  for (const AttentionHeads& attention : outcome.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      text += csv_place(attention.name, attention.number(h));
      for (const double number : attention.heads[h]) {
        text += "," + in_csv(number);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace attn
