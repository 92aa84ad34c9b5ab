#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attn/error.hpp"

#include "models/pass.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Options of a pass of the same model up to a layer, which gives no results.
ModelOptions without_results(const ModelOptions& options, const ModelPlace& last) {
  ModelOptions own = options;
  own.wanted = {.weights = false, .last = last};
  return own;
}

// Changes that put the mean of each head that is off, over all tokens of the texts, in the place of
// its outputs.
std::vector<PassChange> means_of(const ModelPass& pass) {
  const auto& [model, weights, texts, options] = pass;
  struct Mean {
    ModelPlace of;
    std::vector<double> sums = {};
    std::size_t tokens = 0;
  };
  std::vector<Mean> means;
  PassObserver reading;
  ModelPlace last;
  for (const ModelPlace& head : options.heads_off) {
    if (std::ranges::count(means, head.whole(), &Mean::of) > 0) continue;
    means.push_back({head.whole()});
    reading.places.push_back(head.whole());
    if (is_before(last, head)) last = head;
  }
  reading.written = [&](const SamplePlace& at, const Tensor& outputs) {
    Mean& mean = *std::ranges::find(means, at.place, &Mean::of);
    const std::size_t width = outputs.shape().back();
    const Tensor numbers = outputs.converted(DType::float64);
    mean.sums.resize(width);
    mean.tokens += numbers.size() / width;
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      mean.sums[n % width] += numbers.values<double>()[n];
    }
  };
  const ModelOptions own = without_results(options, last);
  run_changed({model, weights, texts, own}, {}, {reading});
  std::vector<PassChange> changes;
  for (Mean& mean : means) {
    for (double& sum : mean.sums) sum /= static_cast<double>(mean.tokens);
    const Shape shape{1, mean.sums.size()};
    const std::size_t width = shape[1] / model.of(stack_in(model, mean.of.stack)).heads;
    const Tensor row = Tensor(shape, std::move(mean.sums)).converted(options.dtype);
    const auto put = [row, width, heads = heads_in(mean.of, options.heads_off)](std::size_t,
                                                                                Tensor& outputs) {
      for (const std::size_t head : heads) put_columns(row, head * width, width, {}, outputs);
    };
    changes.push_back({mean.of, put});
  }
  return changes;
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

// The change that puts a part's output in another text in the place of its own. The other text is
// read with the changes before it.
PassChange patched(const ModelPass& pass, const std::vector<PassChange>& before) {
  const auto& [model, weights, texts, options] = pass;
  const Patch& patch = *options.patch;
  if (!patch.at) {
    throw input_error(
        translated("the patch names no part of the model"), "/patch",
        translated("name it by DocumentOptions::patch_at, such as 2.1, 2.feed_forward or "
                   "2.residual"));
  }
  const ModelPlace &at = *patch.at, part{at.stack, at.layer, at.part};
  const ModelStack& stack = stack_in(model, at.stack);
  // Each sample's decoder reads its own text over the same encoded one.
  ModelTexts source = texts;
  source.ids.assign(model.encoder_decoder() ? texts.ids.size() : 1, patch.ids);
  source.types.clear();
  source.captions.clear();
  source.place = "/patch";
  check_lengths(texts, source, at, stack);
  check_texts(model, weights, source);
  std::vector<Tensor> taken;
  const auto take = [&](const SamplePlace&, const Tensor& numbers) { taken.push_back(numbers); };
  const ModelOptions own = without_results(options, at);
  run_changed({model, weights, source, own}, before, {{.places = {part}, .written = take}});
  const std::size_t width = taken.front().shape().back() / (at.head ? model.of(stack).heads : 1);
  return {part, [taken = std::move(taken), at, width](std::size_t sample, Tensor& numbers) {
            put_columns(taken[taken.size() == 1 ? 0 : sample], at.head.value_or(0) * width, width,
                        at.positions, numbers);
          }};
}

}  // namespace

std::vector<PassChange> changes_of(const ModelPass& pass) {
  const ModelOptions& options = pass.options;
  std::vector<PassChange> changes;
  if (options.ablation == Ablation::mean && !options.heads_off.empty()) changes = means_of(pass);
  if (options.patch) changes.push_back(patched(pass, changes));
  return changes;
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
