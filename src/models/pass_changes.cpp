#include "models/pass_changes.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Adds changes that put the mean of each head that is off, over all tokens of the texts, in the
// place of its outputs.
void add_means(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               ModelOptions& options) {
  struct Mean {
    ModelPlace of;
    std::vector<std::size_t> heads;
    std::vector<double> sums;
    std::size_t tokens = 0;
  };
  std::vector<Mean> means;
  for (const ModelPlace& head : options.heads_off) {
    if (std::ranges::count(means, head.whole(), &Mean::of) > 0) continue;
    means.push_back({head.whole(), heads_in(head.whole(), options.heads_off), {}, 0});
  }
  options.heads_off.clear();

  ModelOptions reading = only_watches(options);
  for (Mean& mean : means) {
    if (!reading.last || is_before(*reading.last, mean.of)) reading.last = mean.of;
    reading.watches.push_back({mean.of, [&mean](std::size_t, Tensor& outputs) {
                                 const std::size_t width = outputs.shape().back();
                                 const Tensor numbers = outputs.converted(DType::float64);
                                 mean.sums.resize(width);
                                 mean.tokens += numbers.size() / width;
                                 for (std::size_t at = 0; at < numbers.size(); ++at) {
                                   mean.sums[at % width] += numbers.values<double>()[at];
                                 }
                               }});
  }
  run_model(model, weights, texts, reading, [](const std::string&, const Tensor&) {});
  for (Mean& mean : means) {
    for (double& sum : mean.sums) sum /= static_cast<double>(mean.tokens);
    const Shape shape{1, mean.sums.size()};
    const std::size_t width = shape[1] / model.of(stack_in(model, mean.of.stack)).heads;
    const Tensor row = Tensor(shape, std::move(mean.sums)).converted(options.dtype);
    options.watches.push_back(
        {mean.of, [row, width, heads = mean.heads](std::size_t, Tensor& outputs) {
           for (const std::size_t head : heads) put_columns(row, head * width, width, {}, outputs);
         }});
  }
}

void check_lengths(const ModelTexts& texts, const ModelTexts& source, const ModelPlace& at,
                   const ModelStack& stack) {
  const auto &given_texts = source.read_by(stack), &own_texts = texts.read_by(stack);
  for (std::size_t b = 0; b < own_texts.size(); ++b) {
    const std::size_t own = own_texts[b].size();
    const std::size_t given = given_texts[given_texts.size() == 1 ? 0 : b].size();
    if (at.positions.empty() && own != given) {
      throw input_error(translated("the texts have {1} and {2} tokens", own, given), "/patch",
                        translated("give texts of one length, or the positions that are patched"));
    }
    for (const std::size_t position : at.positions) {
      if (position < std::min(own, given)) continue;
      throw input_error(
          translated("there is no position {1} in both texts: they have {2} and {3} tokens",
                     position, own, given),
          "/patch/at", translated("give positions from 0 to {1}", std::min(own, given) - 1));
    }
  }
}

// Adds the change that puts a part's output in another text in the place of its own.
void add_patch(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               ModelOptions& options) {
  const Patch patch = *std::exchange(options.patch, std::nullopt);
  if (!patch.at) {
    throw input_error(
        translated("the patch names no part of the model"), "/patch",
        translated("name it by DocumentOptions::patch_at, such as 2.1, 2.feed_forward or "
                   "2.residual"));
  }
  const ModelPlace& at = *patch.at;
  const ModelStack& stack = stack_in(model, at.stack);
  // Each sample's decoder reads its own text over the same encoded one.
  ModelTexts source = texts;
  source.ids.assign(model.encoder_decoder() ? texts.ids.size() : 1, patch.ids);
  source.types.clear();
  source.captions.clear();
  source.place = "/patch";
  check_lengths(texts, source, at, stack);
  const auto taken = std::make_shared<std::vector<Tensor>>();
  ModelOptions reading = only_watches(options);
  reading.heads_off = options.heads_off;
  reading.watches.push_back({at, [&](std::size_t, Tensor& numbers) { taken->push_back(numbers); }});
  reading.last = at;
  run_model(model, weights, source, reading, [](const std::string&, const Tensor&) {});
  const std::size_t width = taken->front().shape().back() / (at.head ? model.of(stack).heads : 1);
  options.watches.push_back({at, [taken, at, width](std::size_t sample, Tensor& numbers) {
                               put_columns((*taken)[taken->size() == 1 ? 0 : sample],
                                           at.head.value_or(0) * width, width, at.positions,
                                           numbers);
                             }});
}

}  // namespace

ModelOptions only_watches(const ModelOptions& options) {
  ModelOptions own = options;
  own.layers = std::vector<std::size_t>{};
  own.weights = own.stages = own.logits = false;
  own.predicted.clear();
  own.heads_off.clear();
  own.ablation = Ablation::zero;
  own.patch.reset();
  own.inside = {};
  own.rows = {};
  own.finished = {};
  own.lens = {};
  return own;
}

ModelOptions with_changes(const Architecture& model, const CheckpointWeights& weights,
                          const ModelTexts& texts, const ModelOptions& options) {
  ModelOptions own = options;
  if (own.ablation == Ablation::mean) add_means(model, weights, texts, own);
  own.ablation = Ablation::zero;
  if (own.patch) add_patch(model, weights, texts, own);
  return own;
}

void put_columns(const Tensor& from, std::size_t first, std::size_t count,
                 const std::vector<std::size_t>& positions, Tensor& to) {
  const std::size_t row = to.shape().back(), rows = to.size() / row;
  const bool one = from.size() == row;
  std::vector<std::size_t> chosen = positions;
  if (chosen.empty()) {
    chosen.resize(rows);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  to = with_floats(to, [&]<class T>(std::span<const T> own) {
    std::vector<T> changed(own.begin(), own.end());
    for (const std::size_t i : chosen) {
      std::copy_n(from.values<T>().data() + (one ? 0 : i * row) + first, count,
                  changed.data() + i * row + first);
    }
    return Tensor(to.shape(), std::move(changed));
  });
}

ModelPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field) {
  const bool both = model.encoder_decoder();
  const auto refuse = [&] {
    return input_error(
        translated("{1} names no part of the model", in_quotes(text)), field,
        both ? translated("name a head, a feed-forward or states, such as decoder.2.1, "
                          "cross.2.1, encoder.2.feed_forward or decoder.2.residual, and the "
                          "positions after a colon: decoder.2.1:3,4")
             : translated("name a head, a feed-forward or states, such as 2.1, 2.feed_forward or "
                          "2.residual, and the positions after a colon: 2.1:3,4"));
  };
  using Part = ModelPlace::Part;
  const auto place = ModelPlace::parse(text);
  if (!place || !has_stack(model, place->stack)) throw refuse();
  check_layer(stack_in(model, place->stack), place->layer, field);
  if (place->head) {
    check_head(model, *place, field);
  } else if (place->part != Part::feed_forward && place->part != Part::residual) {
    throw refuse();
  }
  return *place;
}

}  // namespace attn
