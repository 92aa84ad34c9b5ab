#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "attn/model.hpp"
#include "attn/statistics.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "statistics/head_values.hpp"

namespace attn {

/// Tokens of a model's text: special tokens and separators by their ids.
MapTokens model_tokens(const ModelFolder& folder, const std::vector<std::int64_t>& ids,
                       const HeadCounting& counting);

/// The map as statistics read it: numbers [B,H,Lq,Lk], `allowed` and the stages likewise, where an
/// axis of 1 of `allowed` stands for all of its positions; and the tokens along its axes, by the
/// ids of `model`, which computed it, or else by its labels. Labels of another length are left out.
AttentionMap with_tokens(AttentionMap map, const HeadCounting& counting,
                         const ModelRequest* model = nullptr);

/// Scores of a model's attentions, read before each is computed.
class ScoreReading {
 public:
  /// Keeps references to both.
  ScoreReading(const ModelRequest& model, const HeadCounting& counting)
      : model_(model), counting_(counting) {}

  /// Reads a pass; must not outlive this object, which must not be moved.
  PassObserver observer() {
    return {.request = [this](const SamplePlace& at, const AttentionRequest& request) {
      read(at, request);
    }};
  }

  /// The values [B,H] of the attention that was last read, of all samples. Forgets them.
  std::vector<ScoreValues> take(const AttentionName& attention) {
    return std::exchange(read_[attention.text()], {});
  }

 private:
  void read(const SamplePlace& at, const AttentionRequest& request);

  const ModelRequest& model_;
  const HeadCounting& counting_;
  std::map<std::string, std::vector<ScoreValues>> read_;
};

/// Whether a statistic of scores is among those. An empty list means all, so the answer is true.
bool reads_scores(const std::vector<HeadStatistic>& statistics);

/// Statistics of each head [H] of a map with tokens: means over the samples in which they have a
/// meaning.
std::vector<HeadValues> values_of(const AttentionMap& map, const HeadCounting& counting,
                                  std::size_t threads);

/// Notes how many queries of a map of one sample count, and how many have a token that stands
/// earlier; nothing where several samples, other keys or unknown tokens leave that open, or where
/// patterns leave out keys.
void count_repeated(const AttentionMap& map, const HeadCounting& counting, AttentionHeads& heads);

/// Means over samples of values [B,H], of the largest score the largest. A value that is NaN does
/// not count.
std::vector<HeadValues> means_of_samples(const std::vector<HeadValues>& values,
                                         std::size_t samples);

/// Plan of a document whose maps are to be read, after `choose`, which may be called several times.
/// Throws Error(usage) for several kinds of attention.
Plan plan_of_maps(const Document& document, const std::function<void(Plan&)>& choose);
/// Plan for statistics, computed by that many threads. Sets `rows`, if it is given, to whether the
/// maps are so large that their rows are read in place of them. Throws Error(usage) for pooled
/// weights too.
Plan plan_of_statistics(const Document& document, std::size_t threads, bool* rows = nullptr);

/// Computes a plan and hands over the map of each attention, with its tokens and, if `scores`, what
/// is known of its scores, as soon as it is there, and the other tensors if they are asked for.
/// `observers` are further ones of a model's pass. Returns warnings of numbers that are NaN or
/// infinite.
std::vector<std::string> compute_maps(
    const Plan& plan, const HeadCounting& counting, bool scores,
    const std::function<void(const AttentionMap&)>& take,
    const std::function<void(const NamedTensor&)>& take_tensor = {},
    std::vector<PassObserver> observers = {});

}  // namespace attn
