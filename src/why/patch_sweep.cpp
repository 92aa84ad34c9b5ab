#include "why/patch_sweep.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::array<PatchedPartInfo, static_cast<std::size_t>(PatchedPart::patterns) + 1>
    part_rows{{
        {PatchedPart::before, "before", to_translate("States before the Layer"),
         to_translate("the states that enter a layer, of layer 0 the embedding"), false},
        {PatchedPart::residual, "residual", to_translate("States after the Layer"),
         to_translate("the states that leave a layer"), false},
        {PatchedPart::attention, "attention", to_translate("Attention of the Layer"),
         to_translate("what all heads of a layer write"), false},
        {PatchedPart::feed_forward, "feed_forward", to_translate("Feed-Forward of the Layer"),
         to_translate("what the feed-forward of a layer writes"), false},
        {PatchedPart::heads, "heads", to_translate("Output of the Head"),
         to_translate("what a head writes"), true},
        {PatchedPart::queries, "queries", to_translate("Queries of the Head"),
         to_translate("the queries of a head"), true},
        {PatchedPart::keys, "keys", to_translate("Keys of the Head"),
         to_translate("the keys of a key head"), true},
        {PatchedPart::values, "values", to_translate("Values of the Head"),
         to_translate("the values of a key head"), true},
        {PatchedPart::patterns, "patterns", to_translate("Weights of the Head"),
         to_translate("the attention weights of a head"), true},
    }};

static_assert([] {
  for (std::size_t i = 0; i < part_rows.size(); ++i) {
    if (part_rows[i].name.empty() || part_rows[i].part != static_cast<PatchedPart>(i)) return false;
  }
  return true;
}());

/// Numbers of one layer of a text's pass.
struct KeptLayer {
  Tensor entering;           // [1,L,D]
  Tensor outputs;            // [1,L,H·dv] of its heads; absent without heads
  Tensor feed_forward;       // [1,L,D]
  AttentionRequest request;  // of projected queries, keys and values
  Tensor weights;            // [1,H,L,L], where patterns are patched

  const Sequences& sequences() const { return std::get<ScaledDotProduct>(request.score); }
};

struct KeptPass {
  std::vector<KeptLayer> layers;
  Tensor memory, leaving;  // the encoder's output; the states that leave the last layer
};

/// Rows `first` … `first + count` − 1 of each sample of [B,L,W].
Tensor rows_from(const Tensor& all, std::size_t first, std::size_t count) {
  if (first == 0 && count == all.shape()[1]) return all;
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return picked(all, rows, 1);
}

class PatchSweep {
 public:
  PatchSweep(const ModelPass& pass, const SweepChoice& choice,
             const std::function<void(std::size_t, std::size_t)>& done)
      : model_(pass.model),
        weights_(pass.weights),
        text_(pass.texts),
        choice_(choice),
        done_(done),
        patterns_(std::ranges::count(choice.parts, PatchedPart::patterns) > 0),
        stack_name_(last_stack_of(model_)),
        options_{.dtype = pass.options.dtype,
                 .threads = pass.options.threads,
                 .wanted = {.weights = patterns_}},
        stack_(read_stack({model_, weights_, text_, options_}, model_.stacks.back())),
        head_(read_head(model_, weights_)) {
    for (std::size_t n = 0; n < stack_.count; ++n) {
      layers_.push_back(stack_.layer(n));
      layers_.back().spec.self.weights = layers_.back().spec.cross.weights = false;
    }
    const ModelStack& stack = model_.stacks.back();
    cuts_ = stack.causal && std::ranges::all_of(layers_, [](const Layer& layer) {
              const LayerWeights& weights = layer.weights;
              return weights.self.query && !weights.mixer && !weights.input_convolution;
            });
    for (const ModelLayer& layer : stack.layers) {
      if (layer.keys_of) shares_keys_ = true;
    }
    cuts_ = cuts_ && !shares_keys_;
  }

  SweepEffects effects(const std::vector<std::int64_t>& source, const DifferenceTokens& tokens) {
    ModelTexts other = text_;
    other.ids = {source};
    other.types.clear();
    other.place = "/patch";
    const auto &ids = text_.read_by(model_.stacks.back()).front(),
               &other_ids = other.read_by(model_.stacks.back()).front();
    if (ids.size() != other_ids.size()) {
      throw input_error(
          translated("the texts have {1} and {2} tokens", ids.size(), other_ids.size()), "/patch",
          translated("give texts of one length"));
    }
    length_ = ids.size();
    own_ = kept(text_);
    source_ = kept(other);
    keep_beside();
    SweepEffects effects;
    choose_tokens(tokens, effects);
    effects.own = differences(own_.leaving).front();
    effects.source = differences(source_.leaving).front();
    count_passes();
    for (const PatchedPart part : choice_.parts) effects.parts.push_back(swept(part));
    return effects;
  }

  void without_each(Ablation way, std::size_t position, const WantedResults& wanted,
                    const TakeLogitsWithout& take) {
    length_ = text_.read_by(model_.stacks.back()).front().size();
    own_ = kept(text_);
    keep_beside();
    const std::vector<double> whole = logits_at(own_.leaving, position).front();
    for (std::size_t n = 0; n < stack_.count; ++n) {
      const KeptLayer& own = own_.layers[n];
      if (!own.outputs || !wanted.chooses(n)) continue;
      check_time();
      read_ = own_read_;
      StepOptions options;
      options.self_heads = [&](Tensor& outputs) {
        outputs = one_by_one(own.outputs, replacement(own.outputs, way), model_.heads, {});
      };
      const Tensor states = stepped(n, repeated(own.entering, model_.heads), 0, options);
      const auto rows = logits_at(leaving_from(n + 1, states, 0), position);
      for (std::size_t h = 0; h < rows.size(); ++h) take(n, h, whole, rows[h]);
    }
  }

 private:
  // The row [1,W] in the place of all rows of the outputs [1,L,W] of a layer's heads.
  static Tensor replacement(const Tensor& outputs, Ablation way) {
    const std::size_t width = outputs.shape().back();
    std::vector<double> row(width);
    if (way == Ablation::mean) {
      const Tensor numbers = outputs.converted(DType::float64);
      const auto values = numbers.values<double>();
      for (std::size_t i = 0; i < values.size(); ++i) row[i % width] += values[i];
      for (double& sum : row) sum /= static_cast<double>(values.size() / width);
    }
    return Tensor({1, width}, std::move(row)).converted(outputs.dtype());
  }

  // Keeps what layers of the text's own pass read beside the states that enter them.
  void keep_beside() {
    if (stack_.layer_tokens) {
      inputs_ = read_layer_tokens(*stack_.layer_tokens, text_.read_by(model_.stacks.back()).front(),
                                  own_.layers.front().entering, stack_.options);
    }
    own_read_ = read_ = std::vector<Tensor>(stack_.count);
    for (std::size_t n = 0; n < stack_.count && shares_keys_; ++n) {
      stepped(n, own_.layers[n].entering, 0, {});
    }
    own_read_ = read_;
  }

  KeptPass kept(const ModelTexts& text) const {
    KeptPass pass;
    pass.layers.resize(stack_.count);
    PassObserver keeping;
    for (std::size_t n = 0; n < stack_.count; ++n) {
      for (const ModelPlace::Part part :
           {ModelPlace::Part::self, ModelPlace::Part::feed_forward, ModelPlace::Part::residual}) {
        keeping.places.push_back({stack_name_, n, part});
      }
    }
    keeping.written = [&](const SamplePlace& at, const Tensor& numbers) {
      const std::size_t n = at.place.layer;
      if (at.place.part == ModelPlace::Part::self) {
        pass.layers[n].outputs = numbers;
      } else if (at.place.part == ModelPlace::Part::feed_forward) {
        pass.layers[n].feed_forward = numbers;
      } else {
        (n + 1 < stack_.count ? pass.layers[n + 1].entering : pass.leaving) = numbers;
      }
    };
    keeping.request = [&](const SamplePlace& at, const AttentionRequest& request) {
      if (at.place.stack == stack_name_ && !at.place.crosses()) {
        pass.layers[at.place.layer].request = request;
      }
    };
    keeping.tensor = [&](const PassTensor& what, const Tensor& tensor) {
      using Quantity = PassTensor::Quantity;
      const bool own = what.place.stack == stack_name_;
      if (what.quantity == Quantity::embedded && own) pass.layers.front().entering = tensor;
      if (what.quantity == Quantity::output && !own) pass.memory = tensor;
      if (what.quantity == Quantity::weights && own && !what.place.crosses()) {
        pass.layers[what.place.layer].weights = tensor;
      }
    };
    run_model({model_, weights_, text, options_}, {keeping});
    return pass;
  }

  void choose_tokens(const DifferenceTokens& given, SweepEffects& effects) {
    const auto largest = [](std::span<const double> logits, std::optional<std::size_t> but) {
      std::vector<double> all(logits.begin(), logits.end());
      if (but) all[*but] = -std::numeric_limits<double>::infinity();
      return static_cast<std::size_t>(std::ranges::max_element(all) - all.begin());
    };
    const auto logits = [&](const KeptPass& pass) {
      return head_.logits(stack_.finish(last_of(pass.leaving)), model_.eps, options_.threads)
          .converted(DType::float64);
    };
    const Tensor own = logits(own_), source = logits(source_);
    const std::size_t first = given[0] ? *given[0] : largest(own.values<double>(), given[1]);
    std::size_t second = given[1] ? *given[1] : largest(source.values<double>(), std::nullopt);
    if (second == first) second = largest(own.values<double>(), first);
    effects.tokens = {first, second};
    head_.words = head_.words.picked(effects.tokens);
  }

  void count_passes() {
    for (const PatchedPart part : choice_.parts) {
      all_passes_ += stack_.count * (by_position(part) ? length_ : 1);
    }
  }

  bool by_position(PatchedPart part) const {
    return choice_.by_position || !patched_parts()[static_cast<std::size_t>(part)].of_heads;
  }

  SweptPart swept(PatchedPart part) {
    const PatchedPartInfo& info = patched_parts()[static_cast<std::size_t>(part)];
    const bool of_keys = part == PatchedPart::keys || part == PatchedPart::values;
    SweptPart own{part, by_position(part), {}, {}, {}};
    const bool of_attention = info.of_heads || part == PatchedPart::attention;
    for (std::size_t n = 0; n < stack_.count; ++n) {
      if (of_attention && !own_.layers[n].outputs) continue;  // a layer without heads
      if (part == PatchedPart::feed_forward && !own_.layers[n].feed_forward) continue;
      const std::size_t units = !info.of_heads ? 1
                                : of_keys      ? model_.stacks.back().layers[n].kv_heads
                                               : model_.heads;
      own.layers.push_back(n);
      own.units.push_back(units);
      if (!own.by_position) {
        own.patched.push_back(patched(part, n, units, std::nullopt));
        continue;
      }
      const std::size_t first = own.patched.size();
      own.patched.resize(first + units, std::vector<double>(length_));
      for (std::size_t p = 0; p < length_; ++p) {
        const std::vector<double> differences = patched(part, n, units, p);
        for (std::size_t u = 0; u < units; ++u) own.patched[first + u][p] = differences[u];
      }
    }
    return own;
  }

  // The differences where each unit of a layer's part comes from the other text, at a position or
  // at all.
  std::vector<double> patched(PatchedPart part, std::size_t n, std::size_t units,
                              std::optional<std::size_t> position) {
    check_time();
    read_ = own_read_;
    const Positions at = position ? Positions{*position} : Positions{};
    std::vector<double> result;
    if (part == PatchedPart::before || part == PatchedPart::residual) {
      const std::size_t next = part == PatchedPart::before ? n : n + 1;
      const std::size_t first = cuts_ ? position.value_or(0) : 0;
      Tensor states = entering(own_, next);
      put_columns(entering(source_, next), 0, states.shape().back(), at, states);
      result = from_layer(next, rows_from(states, first, length_ - first), first);
    } else {
      result = through_layer(part, n, units, at);
    }
    ++passes_;
    if (done_) done_(passes_, all_passes_);
    return result;
  }

  using Positions = std::vector<std::size_t>;  // empty = all

  // The states [1,L,D] that enter a layer, or leave the last one.
  const Tensor& entering(const KeptPass& pass, std::size_t n) const {
    return n < stack_.count ? pass.layers[n].entering : pass.leaving;
  }

  std::vector<double> through_layer(PatchedPart part, std::size_t n, std::size_t units,
                                    const Positions& at) {
    // Keys and values change the rows behind them too; all else that is of one position its row.
    const bool of_keys = part == PatchedPart::keys || part == PatchedPart::values;
    const std::size_t first = cuts_ && !at.empty() ? at.front() : 0;
    const std::size_t count = cuts_ && !at.empty() && !of_keys ? 1 : length_ - first;
    StepOptions options;
    const auto put = [&](const Tensor& written) {
      return [rows = rows_from(written, first, count)](Tensor& numbers) { numbers = rows; };
    };
    if (part == PatchedPart::feed_forward) {
      Tensor written = own_.layers[n].feed_forward;
      put_columns(source_.layers[n].feed_forward, 0, written.shape().back(), at, written);
      options.feed_forward = put(written);
    } else {
      options.self_heads = put(changed_outputs(part, n, units, at));
    }
    const Tensor begun = repeated(rows_from(own_.layers[n].entering, first, count), units);
    Tensor states = stepped(n, begun, first, std::move(options));
    if (first + count < length_) {
      const std::size_t rest = first + count;
      const std::array both{
          states, repeated(rows_from(entering(own_, n + 1), rest, length_ - rest), units)};
      states = concatenated(both, 1);
    }
    return from_layer(n + 1, std::move(states), first);
  }

  // Outputs [units,L,H·dv] of the heads of a layer.
  Tensor changed_outputs(PatchedPart part, std::size_t n, std::size_t units, const Positions& at) {
    const KeptLayer &own = own_.layers[n], &source = source_.layers[n];
    switch (part) {
      case PatchedPart::queries:
      case PatchedPart::keys:
      case PatchedPart::values:
        return attended(part, n, units, at);
      case PatchedPart::patterns:
        return by_patterns(own, source.weights, at);
      default:
        return one_by_one(own.outputs, source.outputs, units, at);
    }
  }

  // `units` times the rows [1,L,W], in each of which another part of the columns comes from
  // `source`.
  static Tensor one_by_one(const Tensor& own, const Tensor& source, std::size_t units,
                           const Positions& at) {
    const std::size_t width = own.shape().back() / units;
    std::vector<Tensor> all;
    for (std::size_t u = 0; u < units; ++u) {
      Tensor one = own;
      put_columns(source, u * width, width, at, one);
      all.push_back(std::move(one));
    }
    return batched(all);
  }

  // The attention over queries, keys or values of which one head's come from the other text.
  Tensor attended(PatchedPart part, std::size_t n, std::size_t units, const Positions& at) const {
    const KeptLayer& own = own_.layers[n];
    AttentionRequest request = own.request;
    auto& sequences = std::get<ScaledDotProduct>(request.score);
    const Sequences& other = source_.layers[n].sequences();
    for (const auto& [of, tensor] : {std::pair(PatchedPart::queries, &Sequences::query),
                                     std::pair(PatchedPart::keys, &Sequences::key),
                                     std::pair(PatchedPart::values, &Sequences::value)}) {
      Tensor& rows = sequences.*tensor;
      rows = of == part ? one_by_one(rows, other.*tensor, units, at) : repeated(rows, units);
    }
    request.weights = false;
    if (request.gate) request.gate = repeated(request.gate, units);
    if (layers_[n].weights.distances) {
      request.mask.bias = disentangled_bias(*layers_[n].weights.distances, request);
    }
    return attend(request).output;
  }

  // The sums of the text's own values by weights [1,H,L,L] of the other text, a head at a time.
  Tensor by_patterns(const KeptLayer& own, const Tensor& weights, const Positions& at) const {
    const std::size_t heads = model_.heads, row = own.outputs.shape().back(), width = row / heads;
    const Tensor values = own.sequences().value.converted(DType::float64),
                 shares = weights.converted(DType::float64),
                 gates = own.request.gate ? own.request.gate.converted(DType::float64) : Tensor();
    const std::size_t value_row = values.shape().back(), group = row / value_row;
    std::vector<Tensor> all;
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<double> sums(length_ * row, 0);
      for (std::size_t i = 0; i < length_; ++i) {
        double* const to = sums.data() + i * row + h * width;
        for (std::size_t j = 0; j < length_; ++j) {
          const double share = shares.values<double>()[(h * length_ + i) * length_ + j];
          const double* from = values.values<double>().data() + j * value_row + h / group * width;
          for (std::size_t k = 0; k < width && share != 0; ++k) to[k] += share * from[k];
        }
        for (std::size_t k = 0; k < width && gates; ++k) {
          to[k] *= sigmoid(gates.values<double>()[i * row + h * width + k]);
        }
      }
      Tensor one = own.outputs;
      put_columns(Tensor(one.shape(), std::move(sums)).converted(one.dtype()), h * width, width, at,
                  one);
      all.push_back(std::move(one));
    }
    return batched(all);
  }

  // A layer of states [B,count,D] that begin at row `first` of the text.
  Tensor stepped(std::size_t n, const Tensor& states, std::size_t first, StepOptions options) {
    const std::size_t batch = states.shape()[0];
    if (inputs_) {
      const Tensor input = layer_part(stack_.layer_tokens, inputs_, n);
      options.layer_input = repeated(rows_from(input, first, states.shape()[1]), batch);
    }
    if (const auto& of = model_.stacks.back().layers[n].keys_of) {
      const Tensor& read = read_[*of];
      options.keys_from = read.shape()[0] == batch ? read : repeated(read, batch);
    }
    if (shares_keys_) options.keeps_read = &read_[n];
    KeyValueCache cache;
    if (first > 0) {
      const Sequences& own = own_.layers[n].sequences();
      cache.append(repeated(rows_from(own.key, 0, first), batch),
                   repeated(rows_from(own.value, 0, first), batch));
      options.self_cache = &cache;
    }
    return step(layers_[n], states, own_.memory ? repeated(own_.memory, batch) : Tensor(), options)
        .states;
  }

  // The states that leave the last layer, of those [B,rows,D] that enter a layer.
  Tensor leaving_from(std::size_t n, Tensor states, std::size_t first) {
    for (; n < stack_.count; ++n) states = stepped(n, states, first, {});
    return states;
  }

  std::vector<double> from_layer(std::size_t n, Tensor states, std::size_t first) {
    return differences(leaving_from(n, std::move(states), first));
  }

  // All logits at a row of the states [B,rows,D] that leave the last layer, of each sample.
  std::vector<std::vector<double>> logits_at(const Tensor& leaving, std::size_t row) const {
    const Tensor logits =
        head_.logits(stack_.finish(rows_from(leaving, row, 1)), model_.eps, options_.threads)
            .converted(DType::float64);
    const std::size_t words = logits.shape().back();
    std::vector<std::vector<double>> all;
    for (std::size_t b = 0; b < leaving.shape()[0]; ++b) {
      const auto own = logits.values<double>().subspan(b * words, words);
      all.emplace_back(own.begin(), own.end());
    }
    return all;
  }

  // The difference of the logits after the last of the states [B,rows,D], of each sample.
  std::vector<double> differences(const Tensor& leaving) const {
    const Tensor logits =
        head_.logits(stack_.finish(last_of(leaving)), model_.eps, options_.threads)
            .converted(DType::float64);
    std::vector<double> all;
    for (std::size_t b = 0; b < leaving.shape()[0]; ++b) {
      all.push_back(logits.values<double>()[2 * b] - logits.values<double>()[2 * b + 1]);
    }
    return all;
  }

  static Tensor last_of(const Tensor& states) {
    return rows_from(states, states.shape()[1] - 1, 1);
  }

  const Architecture& model_;
  const CheckpointWeights& weights_;
  const ModelTexts& text_;
  const SweepChoice& choice_;
  const std::function<void(std::size_t, std::size_t)>& done_;
  bool patterns_;
  ModelPlace::Stack stack_name_;
  ModelOptions options_;
  Stack stack_;
  LogitsHead head_;  // of the two tokens, once they are known
  std::vector<Layer> layers_;
  bool cuts_ = false;         // whether rows before a patch stay as they are
  bool shares_keys_ = false;  // whether layers make keys and values of what others read
  Tensor inputs_;             // [1,L,N·P], what layers read of the tokens; absent without
  // What each layer read, in the text's own pass and in the pass at hand; of shared keys.
  std::vector<Tensor> own_read_, read_;
  std::size_t length_ = 0, passes_ = 0, all_passes_ = 0;
  KeptPass own_, source_;
};

}  // namespace

std::span<const PatchedPartInfo> patched_parts() noexcept {
  return part_rows;
}

SweepEffects sweep(const ModelPass& pass, const SweepChoice& choice, const DifferenceTokens& tokens,
                   const std::function<void(std::size_t, std::size_t)>& done) {
  return PatchSweep(pass, choice, done).effects(pass.options.patch->ids, tokens);
}

void without_each_head(const ModelPass& pass, Ablation way, std::size_t position,
                       const TakeLogitsWithout& take) {
  const SweepChoice choice;
  const std::function<void(std::size_t, std::size_t)> done;
  PatchSweep(pass, choice, done).without_each(way, position, pass.options.wanted, take);
}

}  // namespace attn
