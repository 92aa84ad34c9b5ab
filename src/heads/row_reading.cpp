#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/visibility.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"
#include "maps/computed_maps.hpp"
#include "models/checkpoint.hpp"
#include "statistics/head_values.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
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
