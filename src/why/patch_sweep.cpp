#include "why/patch_sweep.hpp"

#include <algorithm>
#include <utility>

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

class PatchSweep : PartialPass {
 public:
  PatchSweep(const ModelPass& pass, const SweepChoice& choice,
             const std::function<void(std::size_t, std::size_t)>& done)
      : PartialPass(pass, choice.keeps_weights ||
                              std::ranges::count(choice.parts, PatchedPart::patterns) > 0),
        choice_(choice),
        done_(done) {
    keeps_weights_ = choice.keeps_weights;
  }

  SweepEffects effects(const std::vector<std::int64_t>& source, const DifferenceTokens& tokens) {
    SweepEffects effects;
    effects.tokens = keep_both(source, tokens);
    effects.own = differences(own_.leaving).front();
    effects.source = differences(source_.leaving).front();
    count_passes();
    for (const PatchedPart part : choice_.parts) effects.parts.push_back(swept(part));
    return effects;
  }

  void without_each(Ablation way, std::span<const std::size_t> positions,
                    const WantedResults& wanted,
                    const std::function<void(const LogitsWithout&)>& take) {
    keep_own();
    const Tensor whole = logits_at(own_.leaving, positions);
    for (std::size_t n = 0; n < stack_.count; ++n) {
      const KeptLayer& own = own_.layers[n];
      if (!own.outputs || !wanted.chooses(n)) continue;
      check_time();
      begin();
      StepOptions options;
      options.self_heads = [&](Tensor& outputs) {
        outputs = one_by_one(own.outputs, replacement(own.outputs, way), model_.heads, {});
      };
      const Tensor states = stepped(n, repeated(own.entering, model_.heads), 0, options);
      tell_logits(n, leaving_from(n + 1, states, 0), positions, whole, take);
    }
  }

 private:
  // The logits [H,R,V] of a layer's heads, so many rows at a time that they do not fill the memory.
  void tell_logits(std::size_t layer, const Tensor& leaving, std::span<const std::size_t> positions,
                   const Tensor& whole,
                   const std::function<void(const LogitsWithout&)>& take) const {
    constexpr std::size_t most_numbers = std::size_t{1} << 24U;
    const std::size_t most =
        std::max<std::size_t>(1, most_numbers / (leaving.shape()[0] * whole.shape().back()));
    for (std::size_t first = 0; first < positions.size(); first += most) {
      const auto rows = positions.subspan(first, std::min(most, positions.size() - first));
      take({layer, first, whole, logits_at(leaving, rows)});
    }
  }

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

  void count_passes() {
    for (const PatchedPart part : choice_.parts) {
      all_passes_ += stack_.count * (by_position(part) ? length_ : 1);
    }
  }

  bool by_position(PatchedPart part) const { return choice_.by_position || !info(part).of_heads; }

  SweptPart swept(PatchedPart part) {
    SweptPart own{part, by_position(part), {}, {}, {}};
    for (std::size_t n = 0; n < stack_.count; ++n) {
      if (!has(part, n)) continue;
      const std::size_t units = units_of(part, n);
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
    begin();
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

  std::vector<double> through_layer(PatchedPart part, std::size_t n, std::size_t units,
                                    const Positions& at) {
    // Keys and values change the rows after them too; all else that is of one position its row.
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
        return attended(part, n, units, at, source.sequences().*sequence_of(part));
      case PatchedPart::patterns:
        return one_by_one(own.outputs,
                          summed(source.weights, 0, own.request).converted(own.outputs.dtype()),
                          units, at);
      default:
        return one_by_one(own.outputs, source.outputs, units, at);
    }
  }

  const SweepChoice& choice_;
  const std::function<void(std::size_t, std::size_t)>& done_;
  std::size_t passes_ = 0, all_passes_ = 0;
};

}  // namespace

std::span<const PatchedPartInfo> patched_parts() noexcept {
  return part_rows;
}

const PatchedPartInfo& info(PatchedPart part) noexcept {
  return part_rows[static_cast<std::size_t>(part)];
}

SweepEffects sweep(const ModelPass& pass, const SweepChoice& choice, const DifferenceTokens& tokens,
                   const std::function<void(std::size_t, std::size_t)>& done) {
  return PatchSweep(pass, choice, done).effects(pass.options.patch->ids, tokens);
}

void without_each_head(const ModelPass& pass, Ablation way,
                       const std::vector<std::size_t>& positions,
                       const std::function<void(const LogitsWithout&)>& take) {
  const SweepChoice choice;
  const std::function<void(std::size_t, std::size_t)> done;
  PatchSweep(pass, choice, done).without_each(way, positions, pass.options.wanted, take);
}

}  // namespace attn
