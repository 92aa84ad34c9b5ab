#include "models/pass_changes.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
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
    LayerWatch of;
    std::vector<std::size_t> heads;
    std::vector<double> sums;
    std::size_t tokens = 0;
  };
  std::vector<Mean> means;
  const std::size_t last = model.stacks.size() - 1;
  const auto collect = [&](HeadsByLayer& off, std::size_t stack, Written what) {
    for (auto& [layer, heads] : off) means.push_back({{stack, layer, what, {}}, heads, {}, 0});
    off.clear();
  };
  collect(options.heads_off, 0, Written::heads);
  collect(options.decoder_heads_off, last, Written::heads);
  collect(options.cross_heads_off, last, Written::cross_heads);

  ModelOptions reading = only_watches(options);
  for (Mean& mean : means) {
    const ModelOptions::Last deepest{mean.of.stack, mean.of.layer};
    reading.last = std::max(reading.last.value_or(deepest), deepest);
    reading.watches.push_back(mean.of);
    reading.watches.back().take = [&mean](std::size_t, Tensor& outputs) {
      const std::size_t width = outputs.shape().back();
      const Tensor numbers = outputs.converted(DType::float64);
      mean.sums.resize(width);
      mean.tokens += numbers.size() / width;
      for (std::size_t at = 0; at < numbers.size(); ++at) {
        mean.sums[at % width] += numbers.values<double>()[at];
      }
    };
  }
  run_model(model, weights, texts, reading, [](const std::string&, const Tensor&) {});
  for (Mean& mean : means) {
    for (double& sum : mean.sums) sum /= static_cast<double>(mean.tokens);
    const Shape shape{1, mean.sums.size()};
    const std::size_t width = shape[1] / model.of(model.stacks[mean.of.stack]).heads;
    const Tensor row = Tensor(shape, std::move(mean.sums)).converted(options.dtype);
    options.watches.push_back(mean.of);
    options.watches.back().take = [row, width, heads = mean.heads](std::size_t, Tensor& outputs) {
      for (const std::size_t head : heads) put_columns(row, head * width, width, {}, outputs);
    };
  }
}

void check_lengths(const ModelTexts& texts, const ModelTexts& source, const PatchPlace& at,
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
  const PatchPlace& at = *patch.at;
  // Each sample's decoder reads its own text over the same encoded one.
  ModelTexts source = texts;
  source.ids.assign(model.encoder_decoder() ? texts.ids.size() : 1, patch.ids);
  source.types.clear();
  source.captions.clear();
  source.place = "/patch";
  check_lengths(texts, source, at, model.stacks[at.stack]);
  const auto taken = std::make_shared<std::vector<Tensor>>();
  ModelOptions reading = only_watches(options);
  reading.heads_off = options.heads_off;
  reading.decoder_heads_off = options.decoder_heads_off;
  reading.cross_heads_off = options.cross_heads_off;
  LayerWatch watch{at.stack, at.layer, at.what, {}};
  watch.take = [&](std::size_t, Tensor& numbers) { taken->push_back(numbers); };
  reading.watches.push_back(watch);
  reading.last = {at.stack, at.layer};
  run_model(model, weights, source, reading, [](const std::string&, const Tensor&) {});
  const bool of_head = at.what == Written::heads || at.what == Written::cross_heads;
  const std::size_t row = taken->front().shape().back(),
                    heads = of_head ? model.of(model.stacks[at.stack]).heads : 1;
  watch.take = [taken, at, width = row / heads](std::size_t sample, Tensor& numbers) {
    put_columns((*taken)[taken->size() == 1 ? 0 : sample], at.head * width, width, at.positions,
                numbers);
  };
  options.watches.push_back(std::move(watch));
}

}  // namespace

ModelOptions only_watches(const ModelOptions& options) {
  ModelOptions own = options;
  own.layers = std::vector<std::size_t>{};
  own.weights = own.stages = own.logits = false;
  own.predicted.clear();
  own.heads_off.clear();
  own.decoder_heads_off.clear();
  own.cross_heads_off.clear();
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

std::optional<NamedPart> named_part(std::string_view text, const Architecture& model) {
  NamedPart part;
  if (model.encoder_decoder()) {
    const std::string_view stack = text.substr(0, text.find('.'));
    if (stack != "encoder" && stack != "decoder" && stack != "cross") return std::nullopt;
    part.stack = stack == "encoder" ? 0 : 1;
    part.crosses = stack == "cross";
    text.remove_prefix(std::min(text.size(), stack.size() + 1));
  }
  const std::size_t point = text.find('.');
  if (point == text.npos || !parse_number(text.substr(0, point), part.layer)) return std::nullopt;
  part.part = text.substr(point + 1);
  return part;
}

void check_head(const Architecture& model, const NamedPart& part, std::size_t head,
                const std::string& field) {
  const ModelStack& stack = model.stacks[part.stack];
  check_layer_with_map(stack, part.layer, field);
  const std::size_t heads = model.of(stack).heads;
  if (head < heads) return;
  throw input_error(translated("there is no head {1}: each layer has {2}", head,
                               translated_count(heads, "{1} head", "{1} heads")),
                    field, translated("give 0 to {1}", heads - 1));
}

PatchPlace patch_place(const std::string& text, const Architecture& model,
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
  PatchPlace place;
  std::string_view rest = text;
  if (const std::size_t colon = rest.find(':'); colon != rest.npos) {
    std::string_view list = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    while (true) {
      const std::size_t comma = list.find(',');
      if (!parse_number(list.substr(0, comma), place.positions.emplace_back())) throw refuse();
      if (comma == list.npos) break;
      list.remove_prefix(comma + 1);
    }
  }
  const auto named = named_part(rest, model);
  if (!named) throw refuse();
  place.stack = named->stack;
  place.layer = named->layer;
  const ModelStack& stack = model.stacks[place.stack];
  check_layer(stack, place.layer, field);
  if (named->part == "feed_forward" && !named->crosses) {
    place.what = Written::feed_forward;
  } else if (named->part == "residual" && !named->crosses) {
    place.what = Written::residual;
  } else {
    place.what = named->crosses ? Written::cross_heads : Written::heads;
    if (!parse_number(named->part, place.head)) throw refuse();
    check_head(model, *named, place.head, field);
  }
  return place;
}

}  // namespace attn
