#include "heads/head_maps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/reader.hpp"
#include "heads/corpus_sums.hpp"
#include "maps/computed_maps.hpp"
#include "maps/head_pattern.hpp"
#include "models/checkpoint.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::vector<MapTokens> tokens_of(const std::vector<std::vector<std::string>>& labels,
                                 std::size_t samples, const HeadCounting& counting) {
  std::vector<MapTokens> tokens;
  for (std::size_t b = 0; b < samples && !labels.empty(); ++b) {
    tokens.push_back(labelled_tokens(Labels::of_sample(labels, b), counting));
  }
  return tokens;
}

// Keys that each row of a sample and head may see; empty = not known.
std::vector<std::size_t> seen_keys(const AttentionMap& map, std::size_t sample, std::size_t head) {
  const std::size_t queries = map.numbers.shape()[2], keys = map.numbers.shape()[3];
  if (!map.allowed) {
    return map.allowed_known ? std::vector(queries, keys) : std::vector<std::size_t>();
  }
  const Shape& shape = map.allowed.shape();
  const auto allowed = map.allowed.values<std::uint8_t>();
  const std::size_t b = shape[0] == 1 ? 0 : sample, h = shape[1] == 1 ? 0 : head;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < queries; ++i) {
    const std::size_t row = shape[2] == 1 ? 0 : i;
    const std::uint8_t* from = allowed.data() + ((b * shape[1] + h) * shape[2] + row) * shape[3];
    std::size_t count = 0;
    for (std::size_t j = 0; j < keys; ++j) count += from[shape[3] == 1 ? 0 : j];
    seen.push_back(count);
  }
  return seen;
}

// Lists whose lengths are not `count` are left out.
void keep_fitting(std::vector<std::vector<std::string>>& lists, std::size_t count) {
  const bool fit = std::all_of(lists.begin(), lists.end(),
                               [&](const auto& list) { return list.size() == count; });
  if (!fit) lists.clear();
}

// Ids of the separators that are named, as a vocabulary spells them or as reports show them, with a
// space before: of several spellings all that are there.
std::vector<std::int64_t> chosen_separators(const Tokenizer& tokenizer,
                                            const HeadCounting& counting) {
  std::vector<std::int64_t> separators;
  for (const std::string& name : counting.separators) {
    const std::size_t before = separators.size();
    const std::string word = name.starts_with(' ') ? name.substr(1) : name;
    for (const std::string& spelling : {name, "Ġ" + word, "▁" + word}) {
      if (const auto id = tokenizer.id(spelling)) separators.push_back(*id);
    }
    if (separators.size() > before) continue;
    throw input_error(translated("the tokenizer has no token {1}", in_quotes(name)),
                      "HeadCounting::separators",
                      translated("attn-cli tokens shows how it cuts a text"));
  }
  return separators;
}

// Tokens of a sample in an axis of `length` positions. After the end of its text nothing is
// special, and all positions are different.
MapTokens tokens_of_text(const ModelRequest& model, const std::vector<std::int64_t>& ids,
                         std::size_t length, const HeadCounting& counting) {
  MapTokens tokens = model_tokens(*model.folder, ids, counting);
  std::int64_t unlike = -1;
  while (tokens.ids.size() < length) tokens.ids.push_back(unlike--);
  tokens.special.resize(length);
  tokens.separator.resize(length);
  return tokens;
}

}  // namespace

MapTokens model_tokens(const ModelFolder& folder, const std::vector<std::int64_t>& ids,
                       const HeadCounting& counting) {
  MapTokens tokens;
  tokens.ids = ids;
  if (!folder.tokenizer) return tokens;
  const SpecialIds& known = folder.tokenizer->special_ids();
  std::vector<std::int64_t> separators = chosen_separators(*folder.tokenizer, counting);
  if (counting.separators.empty()) {
    for (const auto& id : {known.separator, known.last}) {
      if (id) separators.push_back(*id);
    }
  }
  for (const std::int64_t id : ids) {
    const bool special = id == known.pad || id == known.mask || id == known.first ||
                         id == known.last || id == known.separator || id == known.classifier;
    tokens.special.push_back(special ? 1 : 0);
    tokens.separator.push_back(std::count(separators.begin(), separators.end(), id) > 0 ? 1 : 0);
  }
  return tokens;
}

void ScoreReading::read(const SamplePlace& at, const AttentionRequest& request) {
  const auto& ids = model_.texts.read_by(at.place.stack)[at.sample];
  std::vector<std::uint8_t> left_out;
  if (counting_.ignore_special) left_out = model_tokens(*model_.folder, ids, counting_).special;
  std::vector<ScoreValues>& own = read_[at.place.attention().text()];
  for (const ScoreValues& head : score_values(request, left_out)) own.push_back(head);
}

bool reads_scores(const std::vector<HeadStatistic>& statistics) {
  return statistics.empty() || std::ranges::any_of(statistics, [](HeadStatistic statistic) {
           return head_statistics()[static_cast<std::size_t>(statistic)].needs == HeadNeeds::scores;
         });
}

std::vector<HeadValues> values_of(const AttentionMap& map, const HeadCounting& counting,
                                  std::size_t threads) {
  const Shape& shape = map.numbers.shape();
  const std::size_t samples = shape[0], heads = shape[1];
  const Maps matrices(map.numbers);
  std::vector<HeadValues> values(samples * heads);
  // Where one mask is for all heads it is counted once.
  const bool alike = !map.allowed || map.allowed.shape()[1] == 1;
  std::vector<std::vector<std::size_t>> seen;
  for (std::size_t b = 0; b < samples; ++b) seen.push_back(seen_keys(map, b, 0));
  std::vector<MapPositions> positions;
  for (std::size_t b = 0; b < samples; ++b) {
    positions.emplace_back(
        shape[2], shape[3], map.query_tokens.empty() ? nullptr : &map.query_tokens[b],
        map.key_tokens.empty() ? nullptr : &map.key_tokens[b], map.same_positions);
    positions.back().sinks = map.sinks;
  }
  parallel_for(samples * heads, threads, [&](std::size_t at) {
    const std::size_t b = at / heads, h = at % heads;
    CountedMap head;
    head.weights = matrices.matrix(b, h);
    head.seen = alike ? seen[b] : seen_keys(map, b, h);
    if (!map.score_values.empty()) head.scores = map.score_values[at];
    values[at] = head_values(head, positions[b], counting);
  });
  return means_of_samples(values, samples);
}

void count_repeated(const AttentionMap& map, const HeadCounting& counting, AttentionHeads& heads) {
  const Shape& shape = map.numbers.shape();
  const bool plain = counting.measure == HeadCounting::Measure::share &&
                     !counting.without_first_key && !counting.without_self;
  if (shape[0] != 1 || map.query_tokens.empty() || !plain) return;
  const MapTokens& tokens = map.query_tokens[0];
  const MapPositions positions(shape[2], shape[3], &tokens, nullptr, map.same_positions);
  const std::vector<std::size_t>& before = positions.same_before;
  const std::vector<std::size_t> seen = seen_keys(map, 0, 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool special = i < tokens.special.size() && tokens.special[i] != 0;
    const std::size_t keys = seen.empty() ? shape[3] : seen[i];
    if ((counting.ignore_special && special) || keys == 0) continue;
    ++heads.counted;
    if (keys > 1) ++heads.queries;
    if (before[i] < shape[2]) ++heads.repeated;
  }
}

std::vector<HeadValues> means_of_samples(const std::vector<HeadValues>& values,
                                         std::size_t samples) {
  const std::size_t heads = values.size() / samples;
  std::vector<HeadValues> means(heads);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t s = 0; s < head_statistic_count; ++s) {
      double sum = 0, largest = -std::numeric_limits<double>::infinity();
      std::size_t count = 0;
      for (std::size_t b = 0; b < samples; ++b) {
        const double value = values[b * heads + h][s];
        if (std::isnan(value)) continue;
        sum += value;
        largest = std::max(largest, value);
        ++count;
      }
      means[h][s] = sum / static_cast<double>(count);  // NaN if there is none
      if (count > 0 && s == static_cast<std::size_t>(HeadStatistic::score_largest)) {
        means[h][s] = largest;
      }
    }
  }
  return means;
}

Plan plan_of_maps(const Document& document, const std::function<void(Plan&)>& choose) {
  std::vector<Plan> plans = read_plans(document, choose);
  if (plans.size() > 1) {
    throw Error(ErrorKind::usage, translated("the document asks for several kinds of attention"),
                "DocumentOptions::attention", translated("choose one of them"));
  }
  choose(plans[0]);
  return std::move(plans[0]);
}

Plan plan_of_statistics(const Document& document, std::size_t threads, bool* rows) {
  bool by_rows = false;
  Plan chosen = plan_of_maps(document, [&](Plan& plan) {
    ComputingOptions computing = plan.options();
    computing.weights = true;
    computing.threads = threads;
    plan.choose(computing);
    by_rows = rows != nullptr && reads_by_rows(plan);
    if (by_rows) ask_for_rows(plan);
  });
  if (chosen.pool()) {
    throw Error(ErrorKind::usage,
                translated("pooled weights have no single positions for statistics"),
                "DocumentOptions::pool", translated("leave the pooling out"));
  }
  if (rows != nullptr) *rows = by_rows;
  return chosen;
}

AttentionMap with_tokens(AttentionMap map, const HeadCounting& counting,
                         const ModelRequest* model) {
  const Maps sizes(map.numbers, map.heads_only);
  const std::size_t samples = sizes.samples();
  for (Tensor* tensor : {&map.numbers, &map.allowed, &map.scores, &map.capped, &map.masked}) {
    if (*tensor) *tensor = Maps(*tensor, map.heads_only).all();
  }
  map.same_positions =
      sizes.queries() == sizes.keys() && !map.name.is_cross() && !map.positions_apart;
  keep_fitting(map.labels.query, sizes.queries());
  keep_fitting(map.labels.key, sizes.keys());
  if (model == nullptr) {
    map.query_tokens = tokens_of(map.labels.query, samples, counting);
    map.key_tokens = tokens_of(map.labels.key, samples, counting);
    return map;
  }
  const auto& own = map.name.in_decoder() ? model->texts.decoder_ids : model->texts.ids;
  const auto& others = map.name.is_cross() ? model->texts.ids : own;
  // Patches and frames are no tokens that could be repeated or separate others.
  const Architecture& architecture = model->folder->architecture;
  const bool senses = architecture.senses(architecture.stacks.front());
  const bool query_texts = !senses || &own != &model->texts.ids,
             key_texts = !senses || &others != &model->texts.ids;
  for (std::size_t b = 0; b < samples; ++b) {
    if (query_texts)
      map.query_tokens.push_back(tokens_of_text(*model, own[b], sizes.queries(), counting));
    if (key_texts)
      map.key_tokens.push_back(tokens_of_text(*model, others[b], sizes.keys(), counting));
  }
  return map;
}

std::vector<std::string> compute_maps(const Plan& plan, const HeadCounting& counting, bool scores,
                                      const std::function<void(const AttentionMap&)>& take,
                                      const std::function<void(const NamedTensor&)>& take_tensor,
                                      std::vector<PassObserver> observers) {
  const ModelRequest* const model = model_of(plan);
  std::vector<bool> sinks, decoder_sinks;  // of each layer
  if (model != nullptr) {
    const ModelFolder& folder = *model->folder;
    const auto of = [&](const ModelStack& stack) {
      return layers_with_sinks(folder.architecture, folder.weights, stack);
    };
    sinks = of(folder.architecture.stacks.front());
    decoder_sinks = of(folder.architecture.stacks.back());
  }
  const auto has_sinks = [&](const AttentionName& name) {
    const AttentionOptions& own_options = plan.attention_options();
    if (model == nullptr) return own_options.sinks && !own_options.weight_expression;
    if (!name.is_self() || !name.layer()) return false;
    const std::vector<bool>& own = name.in_decoder() ? decoder_sinks : sinks;
    return own[*name.layer()];
  };
  std::optional<ScoreReading> reading;
  if (scores && model != nullptr) {
    observers.push_back(reading.emplace(*model, counting).observer());
  }
  const auto give = [&](AttentionMap map, std::size_t) {
    if (!map.numbers) return;
    map.sinks = has_sinks(map.name);
    if (reading) map.score_values = reading->take(map.name);
    take(with_tokens(std::move(map), counting, model));
  };
  return compute(plan, {.tensor = take_tensor, .map = give}, std::move(observers)).warnings;
}

}  // namespace attn
