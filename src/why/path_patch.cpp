#include "why/path_patch.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::array all_inputs{PatchedPart::queries, PatchedPart::keys, PatchedPart::values};

class PathPatch : PartialPass {
 public:
  PathPatch(const ModelPass& pass, const PathChoice& choice,
            const std::function<void(std::size_t, std::size_t)>& done)
      : PartialPass(pass, choice.keeps_weights),
        choice_(choice),
        inputs_of_(choice.keeps_weights ? std::span(all_inputs).last(1) : std::span(all_inputs)),
        done_(done) {
    keeps_weights_ = choice.keeps_weights;
    const bool apart = std::ranges::all_of(layers_, [](const Layer& layer) {
      const LayerWeights& of = layer.weights;
      return of.self.query && !of.cross.query && !of.mixer && !of.input_convolution &&
             !of.layer_input;
    });
    if (apart && !shares_keys_) return;
    throw input_error(
        translated("paths are those of models whose layers read tokens by their own attention "
                   "alone"),
        "/model", translated("leave paths out, or patch parts one at a time"));
  }

  PathEffects effects(const std::vector<std::int64_t>& source, const DifferenceTokens& tokens) {
    PathEffects effects;
    effects.tokens = keep_both(source, tokens);
    effects.own = differences(own_.leaving).front();
    effects.source = differences(source_.leaving).front();
    first_ = cuts_ ? first_difference(source) : 0;
    for (std::size_t from = 0; from < stack_.count; ++from) {
      for (std::size_t to = from + 1; to < stack_.count; ++to) {
        if (ends_in(to)) all_ += inputs_of_.size() * model_.heads;
      }
    }
    for (std::size_t from = 0; from < stack_.count; ++from) add_paths(from, effects.paths);
    return effects;
  }

 private:
  // The first token in which the texts differ; in a causal model what is before it does not change.
  std::size_t first_difference(const std::vector<std::int64_t>& source) const {
    const auto& own = text_.read_by(model_.stacks.back()).front();
    const auto at = std::ranges::mismatch(own, source).in1 - own.begin();
    return std::min(static_cast<std::size_t>(at), length_ - 1);
  }

  bool ends_in(std::size_t layer) const {
    if (!choice_.heads) return false;
    return choice_.heads->empty() ||
           std::ranges::any_of(*choice_.heads,
                               [&](const ModelPlace& head) { return head.layer == layer; });
  }

  // Whether a head, or one of those that share a key head, is an end.
  bool ends_in(std::size_t layer, PatchedPart input, std::size_t unit) const {
    if (choice_.heads->empty()) return true;
    const std::size_t group = model_.heads / units_of(input, layer);
    return std::ranges::any_of(*choice_.heads, [&](const ModelPlace& head) {
      return head.layer == layer && *head.head / group == unit;
    });
  }

  // Paths from all heads of a layer.
  void add_paths(std::size_t from, std::vector<PatchedPath>& paths) {
    const std::size_t heads = model_.heads;
    const KeptLayer& own = own_.layers[from];
    begin();
    Tensor states =
        frozen(from, repeated(own.entering, heads),
               one_by_one(own.outputs, source_.layers[from].outputs, heads, {}), nullptr);
    for (std::size_t to = from + 1; to < stack_.count; ++to) {
      AttentionRequest read;
      states = frozen(to, states, repeated(own_.layers[to].outputs, heads), &read);
      if (ends_in(to)) add_ends(from, to, std::get<ScaledDotProduct>(read.score), paths);
      begin();
    }
    if (!choice_.logits) return;
    const std::vector<double> direct = differences(states);
    for (std::size_t h = 0; h < heads; ++h) {
      paths.push_back({ModelPlace{stack_name_, from}.with_head(h), std::nullopt, {}, direct[h]});
    }
  }

  // A layer whose heads write these outputs, and whose feed-forward writes what it writes in the
  // text. `read` takes the queries, keys and values of the states.
  Tensor frozen(std::size_t n, const Tensor& states, const Tensor& outputs,
                AttentionRequest* read) {
    check_time();
    StepOptions options;
    options.self_heads = [&](Tensor& heads) { heads = outputs; };
    options.feed_forward = [&](Tensor& added) {
      added = repeated(own_.layers[n].feed_forward, states.shape()[0]);
    };
    options.requests = [read](bool self, const AttentionRequest& request) {
      if (self && read != nullptr) *read = request;
    };
    return stepped(n, states, 0, std::move(options));
  }

  // Paths from each head of a layer to each input of a later one, whose rows are `read` [H,L,..].
  void add_ends(std::size_t from, std::size_t to, const Sequences& read,
                std::vector<PatchedPath>& paths) {
    // Of the last layer only the last row is read.
    const std::size_t first = cuts_ && to + 1 == stack_.count ? length_ - 1 : first_;
    for (const PatchedPart input : inputs_of_) {
      const std::size_t units = units_of(input, to), count = length_ - first;
      const Tensor& rows = read.*sequence_of(input);
      for (std::size_t h = 0; h < model_.heads; ++h) {
        check_time();
        begin();
        const Tensor carried = picked(rows, {&h, 1});
        const Tensor outputs = rows_from(attended(input, to, units, {}, carried), first, count);
        StepOptions options;
        options.self_heads = [&](Tensor& heads) { heads = outputs; };
        const Tensor entering = rows_from(own_.layers[to].entering, first, count);
        const Tensor states = stepped(to, repeated(entering, units), first, std::move(options));
        const std::vector<double> differences = from_layer(to + 1, states, first);
        for (std::size_t u = 0; u < units; ++u) {
          if (!ends_in(to, input, u)) continue;
          paths.push_back({ModelPlace{stack_name_, from}.with_head(h),
                           ModelPlace{stack_name_, to}.with_head(u), input, differences[u]});
        }
        ++passes_;
        if (done_) done_(passes_, all_);
      }
    }
  }

  const PathChoice& choice_;
  std::span<const PatchedPart> inputs_of_;  // what paths end in
  const std::function<void(std::size_t, std::size_t)>& done_;
  std::size_t first_ = 0;  // first row of passes after an end
  std::size_t passes_ = 0, all_ = 0;
};

}  // namespace

PathEffects patch_paths(const ModelPass& pass, const PathChoice& choice,
                        const DifferenceTokens& tokens,
                        const std::function<void(std::size_t, std::size_t)>& done) {
  return PathPatch(pass, choice, done).effects(pass.options.patch->ids, tokens);
}

}  // namespace attn
