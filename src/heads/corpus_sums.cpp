#include "heads/corpus_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "attention/visibility.hpp"
#include "maps/attention_map.hpp"
#include "maps/computed_maps.hpp"
#include "models/checkpoint.hpp"
#include "statistics/head_values.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

void keep(std::vector<KeptText>& most, const KeptText& text, std::size_t count) {
  if (most.size() == count && (most.empty() || !(text < most.back()))) return;
  most.insert(std::upper_bound(most.begin(), most.end(), text), text);
  if (most.size() > count) most.pop_back();
}

void keep(std::vector<TextNote>& notes, const TextNote& note) {
  const auto earlier = [](const TextNote& a, const TextNote& b) { return a.at.line < b.at.line; };
  notes.insert(std::upper_bound(notes.begin(), notes.end(), note, earlier), note);
  if (notes.size() > most_notes) notes.pop_back();
}

// Keeps the first of several notes with the same words. Whatever the order of the texts, the same
// ones are kept: a note that is left out has enough others before it.
void keep_unlike(std::vector<TextNote>& notes, const TextNote& note) {
  const auto same = std::ranges::find(notes, note.words, &TextNote::words);
  if (same != notes.end() && same->at.line <= note.at.line) return;
  if (same != notes.end()) notes.erase(same);
  keep(notes, note);
}

[[noreturn]] void refuse_other_attentions() {
  throw input_error(
      translated("the documents of the corpus have different attentions"), "",
      translated("give documents of one kind, with the same numbers of layers and heads"));
}

// Rows of weights sum to one but for roundings.
constexpr double slack = 1e-3;

}  // namespace

bool is_weight(double number) {
  return number >= -slack && number <= 1 + slack;
}

bool is_in_range(std::size_t statistic, double number) {
  if (head_statistics()[statistic].needs == HeadNeeds::scores) return std::isfinite(number);
  const bool share = head_statistics()[statistic].is_share;
  const bool pattern = statistic >= static_cast<std::size_t>(HeadStatistic::previous_score) &&
                       statistic <= static_cast<std::size_t>(HeadStatistic::induction_score);
  return number >= (pattern ? -1 : 0) - slack && (!share || number <= 1 + slack);
}

void Moments::add(double number) {
  ++count;
  sum.add(number);
  squares.add_square(number);
}

void Moments::add(const Moments& other) {
  count += other.count;
  sum.add(other.sum);
  squares.add(other.squares);
}

double Moments::mean() const {
  if (count == 0) return undefined;
  return static_cast<double>(sum.value() / static_cast<long double>(count));
}

double Moments::deviation() const {
  if (count < 2) return undefined;
  const auto n = static_cast<long double>(count);
  const long double whole = sum.value();
  const long double variance = (squares.value() - whole * whole / n) / (n - 1);
  return static_cast<double>(std::sqrt(std::max(variance, 0.0L)));
}

double Moments::error() const {
  return deviation() / std::sqrt(static_cast<double>(count));
}

TextNumbers text_numbers(const AttentionMap& map, const HeadsCorpusOptions& options) {
  TextNumbers numbers{map.name.text(), values_of(map, options.heads.counting, 1), {}};
  const Maps matrices(map.numbers);
  numbers.keys = matrices.keys();
  if (!map.same_positions) return numbers;
  const std::size_t length = matrices.queries();
  for (std::size_t h = 0; h < numbers.values.size(); ++h) {
    const Tensor head = matrices.matrix(0, h);
    OffsetMeans means(length, options.reach);
    FirstPositions first(length, options.average.value_or(0));
    with_floats(head, [&](const auto weights) {
      for (std::size_t i = 0; i < length; ++i) {
        means.add(weights.data() + i * length);
        first.add(weights.data() + i * length);
      }
    });
    numbers.by_offset.push_back(means.means());
    if (options.average) numbers.first.push_back(first.weights());
  }
  return numbers;
}

void CorpusSums::add(const std::vector<TextNumbers>& numbers, const TextPlace& at,
                     const HeadsCorpusOptions& options) {
  const std::size_t offsets = 2 * options.reach + 1;
  if (attentions.empty()) {
    for (const TextNumbers& own : numbers) {
      AttentionSums& attention = attentions.emplace_back();
      attention.name = own.name;
      attention.heads.resize(own.values.size());
      attention.texts_by_offset.resize(offsets);
      for (HeadSums& head : attention.heads) {
        head.by_offset.resize(offsets);
        head.squares_by_offset.resize(offsets);
      }
    }
  }
  if (!std::equal(attentions.begin(), attentions.end(), numbers.begin(), numbers.end(),
                  [](const AttentionSums& a, const TextNumbers& b) {
                    return a.name == b.name && a.heads.size() == b.values.size();
                  })) {
    refuse_other_attentions();
  }
  ++texts;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const TextNumbers& own = numbers[n];
    attentions[n].most_keys = std::max<std::uint64_t>(attentions[n].most_keys, own.keys);
    std::vector<std::uint64_t>& by_position = attentions[n].texts_by_position;
    const std::size_t positions = own.first.empty() ? 0 : own.first[0].shape()[0];
    by_position.resize(std::max(by_position.size(), positions));
    for (std::size_t i = 0; i < positions; ++i) ++by_position[i];
    for (std::size_t h = 0; h < own.values.size(); ++h) {
      HeadSums& head = attentions[n].heads[h];
      if (!own.first.empty()) head.average.add(own.first[h]);
      for (std::size_t s = 0; s < head_statistic_count; ++s) {
        if (!std::isfinite(own.values[h][s])) continue;
        in_range = in_range && is_in_range(s, own.values[h][s]);
        head.statistics[s].add(own.values[h][s]);
        keep(head.most[s], {own.values[h][s], at}, options.kept);
      }
      for (std::size_t i = 0; h < own.by_offset.size() && i < offsets; ++i) {
        if (!std::isfinite(own.by_offset[h][i])) continue;
        in_range = in_range && is_weight(own.by_offset[h][i]);
        head.by_offset[i].add(own.by_offset[h][i]);
        head.squares_by_offset[i].add_square(own.by_offset[h][i]);
        if (h == 0) ++attentions[n].texts_by_offset[i];
      }
    }
  }
}

void CorpusSums::add(const std::vector<NamedMoments>& more, std::vector<NamedMoments>& to) {
  if (more.empty()) return;
  if (to.empty()) {
    to = more;
    return;
  }
  const auto [own_end, more_end] =
      std::ranges::mismatch(to, more, {}, &NamedMoments::name, &NamedMoments::name);
  const auto is_of_position = [](const NamedMoments& one) {
    return one.name.starts_with(position_prefix);
  };
  if (!std::all_of(own_end, to.end(), is_of_position) ||
      !std::all_of(more_end, more.end(), is_of_position)) {
    refuse_other_attentions();
  }
  const auto common = static_cast<std::size_t>(own_end - to.begin());
  for (std::size_t p = 0; p < common; ++p) to[p].moments.add(more[p].moments);
  to.insert(to.end(), more_end, more.end());
}

void CorpusSums::fail(const TextPlace& at, const Error& error) {
  ++failed;
  // What is wrong, at which key of the line, and what to do.
  const std::string& where = error.where();
  const std::size_t key = where.find('/');
  const bool named = key != std::string::npos && (key == 0 || where.substr(0, key).ends_with(", "));
  const std::string problem =
      named ? translated("{1} (at {2})", error.problem(), where.substr(key)) : error.problem();
  keep(failures,
       {at, error.help().empty() ? problem : translated("{1}; {2}", problem, error.help())});
}

void CorpusSums::warn(const TextPlace& at, const std::vector<std::string>& text_warnings) {
  if (!text_warnings.empty()) ++warned;
  for (const std::string& words : text_warnings) keep_unlike(warnings, {at, words});
}

void CorpusSums::add(const CorpusSums& other, const HeadsCorpusOptions& options) {
  texts += other.texts;
  in_range = in_range && other.in_range;
  failed += other.failed;
  warned += other.warned;
  for (const TextNote& note : other.failures) keep(failures, note);
  for (const TextNote& note : other.warnings) keep_unlike(warnings, note);
  add(other.parts, parts);
  add(other.analyses, analyses);
  patches.add(other.patches);
  of_differences = of_differences || other.of_differences;
  if (other.attentions.empty()) return;
  if (attentions.empty()) {
    attentions = other.attentions;
    return;
  }
  bool alike = attentions.size() == other.attentions.size();
  for (std::size_t at = 0; alike && at < attentions.size(); ++at) {
    alike = attentions[at].name == other.attentions[at].name &&
            attentions[at].heads.size() == other.attentions[at].heads.size() &&
            attentions[at].texts_by_offset.size() == other.attentions[at].texts_by_offset.size();
  }
  if (!alike) refuse_other_attentions();
  for (std::size_t at = 0; at < attentions.size(); ++at) {
    AttentionSums& own = attentions[at];
    const AttentionSums& others = other.attentions[at];
    own.most_keys = std::max(own.most_keys, others.most_keys);
    for (std::size_t i = 0; i < own.texts_by_offset.size(); ++i) {
      own.texts_by_offset[i] += others.texts_by_offset[i];
    }
    own.texts_by_position.resize(
        std::max(own.texts_by_position.size(), others.texts_by_position.size()));
    for (std::size_t i = 0; i < others.texts_by_position.size(); ++i) {
      own.texts_by_position[i] += others.texts_by_position[i];
    }
    for (std::size_t h = 0; h < own.heads.size(); ++h) {
      HeadSums& head = own.heads[h];
      head.average.add(others.heads[h].average);
      const HeadSums& added = others.heads[h];
      for (std::size_t s = 0; s < head_statistic_count; ++s) {
        head.statistics[s].add(added.statistics[s]);
        for (const KeptText& text : added.most[s]) keep(head.most[s], text, options.kept);
      }
      for (std::size_t i = 0; i < head.by_offset.size(); ++i) {
        head.by_offset[i].add(added.by_offset[i]);
        head.squares_by_offset[i].add(added.squares_by_offset[i]);
      }
    }
  }
}

namespace {

/// The attention of one sample in one layer, read head by head.
class SampleReading {
 public:
  SampleReading(const MapPositions& positions, std::size_t heads, const HeadCounting& counting,
                const HeadsCorpusOptions* corpus)
      : columns_(positions.columns), heads_(heads, HeadReading(positions, counting)) {
    if (corpus == nullptr) return;
    offsets_.assign(heads, OffsetMeans(columns_, corpus->reach));
    if (corpus->average) first_.assign(heads, FirstPositions(columns_, *corpus->average));
  }

  void add(const std::vector<ScoreValues>& scores) {
    for (std::size_t h = 0; h < scores.size(); ++h) heads_[h].add(scores[h]);
  }
  // Rows [1,H,count,L], and how many keys the queries may see.
  void add(const Tensor& rows, const std::size_t* seen, std::size_t threads) {
    const std::size_t count = rows.shape()[2];
    parallel_for(heads_.size(), threads, [&](std::size_t h) {
      with_floats(rows, [&](const auto numbers) {
        for (std::size_t i = 0; i < count; ++i) {
          const auto* row = numbers.data() + (h * count + i) * columns_;
          heads_[h].add(row, seen[i]);
          if (!offsets_.empty()) offsets_[h].add(row);
          if (!first_.empty()) first_[h].add(row);
        }
      });
    });
  }

  std::vector<HeadValues> values() const {
    std::vector<HeadValues> values;
    for (const HeadReading& head : heads_) values.push_back(head.values());
    return values;
  }
  std::vector<std::vector<double>> by_offset() const {
    std::vector<std::vector<double>> means;
    for (const OffsetMeans& head : offsets_) means.push_back(head.means());
    return means;
  }
  std::vector<Tensor> first() const {
    std::vector<Tensor> weights;
    for (const FirstPositions& head : first_) weights.push_back(head.weights());
    return weights;
  }

 private:
  std::size_t columns_;
  std::vector<HeadReading> heads_;
  std::vector<OffsetMeans> offsets_;
  std::vector<FirstPositions> first_;
};

/// A pass of a model whose rows come layer by layer, in each sample by sample.
class PassReading {
 public:
  PassReading(const Plan& plan, const HeadCounting& counting, const HeadsCorpusOptions* corpus,
              bool scores, const std::function<void(const TextNumbers&)>& take)
      : plan_(plan),
        model_(*model_of(plan)),
        counting_(counting),
        corpus_(corpus),
        take_(take),
        sinks_(layers_with_sinks(model_.folder->architecture, model_.folder->weights,
                                 model_.folder->architecture.stacks[0])) {
    if (scores) scores_.emplace(model_, counting);
    for (const auto& ids : model_.texts.ids) {
      MapTokens& own = tokens_.emplace_back(model_tokens(*model_.folder, ids, counting));
      own.special.resize(ids.size());
      own.separator.resize(ids.size());
    }
    for (const MapTokens& own : tokens_) {
      const std::size_t length = own.ids.size();
      positions_.emplace_back(length, length, &own, &own, true);
    }
  }

  // Observers of the pass.
  std::vector<PassObserver> observers() {
    std::vector<PassObserver> all{{.rows = [this](const SamplePlace& at, std::size_t first,
                                                  const Tensor& rows) { take(at, first, rows); }}};
    if (scores_) all.push_back(scores_->observer());
    return all;
  }

 private:
  void take(const SamplePlace& at, std::size_t first, const Tensor& rows) {
    if (first == 0) begin(at, rows.shape()[1]);
    reading_->add(rows, seen_.data() + first, model_.options.threads);
    if (first + rows.shape()[2] == positions_[at.sample].rows) finish(at);
  }

  void begin(const SamplePlace& at, std::size_t heads) {
    const std::size_t layer = at.place.layer;
    const AttentionName name = at.place.attention();
    MapPositions& positions = positions_[at.sample];
    positions.sinks = sinks_[layer];
    reading_.emplace(positions, heads, counting_, at.sample == 0 ? corpus_ : nullptr);
    if (scores_) reading_->add(scores_->take(name));
    Geometry geometry =
        std::ranges::find(plan_.attentions, name, &PlannedAttention::name)->geometry;
    geometry.batch = 1;
    geometry.queries = geometry.keys = positions.rows;
    const Visibility visibility(stack_mask(model_.folder->architecture.stacks[0], layer), geometry,
                                {});
    seen_.clear();
    for (std::size_t i = 0; i < geometry.queries; ++i) {
      const Visibility::Interval keys = visibility.interval(0, i);
      seen_.push_back(keys.end - keys.first);
    }
  }

  void finish(const SamplePlace& at) {
    for (HeadValues& own : reading_->values()) values_.push_back(own);
    if (at.sample == 0) {
      by_offset_ = reading_->by_offset();
      first_ = reading_->first();
    }
    if (at.sample + 1 < positions_.size()) return;
    take_({at.place.attention().text(), means_of_samples(values_, positions_.size()),
           std::move(by_offset_), longest_of(model_.texts.ids), std::move(first_)});
    values_.clear();
  }

  const Plan& plan_;
  const ModelRequest& model_;
  const HeadCounting& counting_;
  const HeadsCorpusOptions* corpus_;  // null = statistics alone
  const std::function<void(const TextNumbers&)>& take_;
  const std::vector<bool> sinks_;  // whether a layer has sink logits
  std::vector<MapTokens> tokens_;
  std::vector<MapPositions> positions_;  // of each sample
  std::vector<std::size_t> seen_;
  std::optional<ScoreReading> scores_;  // absent = not wanted
  std::optional<SampleReading> reading_;
  std::vector<HeadValues> values_;  // of the layer's samples so far
  std::vector<std::vector<double>> by_offset_;
  std::vector<Tensor> first_;
};

}  // namespace

bool reads_by_rows(const Plan& plan) {
  const ModelRequest* const model = model_of(plan);
  if (model == nullptr || model->folder->architecture.encoder_decoder()) return false;
  constexpr std::size_t most_weights = std::size_t{1} << 26U;
  const std::size_t length = longest_of(model->texts.ids);
  return model->texts.ids.size() * model->folder->architecture.heads * length * length >
         most_weights;
}

void ask_for_rows(Plan& plan) {
  model_of(plan)->options.wanted.by_rows = true;
}

std::vector<std::string> walk_rows(const Plan& plan, const HeadCounting& counting,
                                   const HeadsCorpusOptions* corpus, bool scores,
                                   const std::function<void(const TextNumbers&)>& take,
                                   std::vector<PassObserver> observers) {
  PassReading reading(plan, counting, corpus, scores, take);
  std::ranges::move(reading.observers(), std::back_inserter(observers));
  return compute(plan, {}, std::move(observers)).warnings;
}

}  // namespace attn
