#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/plan.hpp"
#include "models/model_folder.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "view/page_maker.hpp"
#include "why/attribution.hpp"
#include "why/patch_sweep.hpp"

namespace attn {
namespace {

Ablation way_of(const std::string& name) {
  if (name == "zero") return Ablation::zero;
  if (name == "mean") return Ablation::mean;
  throw Error(ErrorKind::usage, translated("unknown way to switch heads off: {1}", in_quotes(name)),
              "ViewOptions::effects", translated("give zero or mean"));
}

// Probabilities of the whole model at one position, and their natural logarithms.
struct WholePrediction {
  std::vector<double> shares, logarithms;
  std::vector<std::size_t> likeliest;
  double largest;  // the logit of the likeliest token

  WholePrediction(std::span<const double> logits, std::size_t listed)
      : logarithms(logits.begin(), logits.end()),
        likeliest(largest_of(logits, listed)),
        largest(logits[likeliest.front()]) {
    const double sum = log_sum_exp(logits);
    for (double& logarithm : logarithms) {
      logarithm -= sum;
      shares.push_back(std::exp(logarithm));
    }
  }

  // Kullback–Leibler divergence of other logits, whose log_sum_exp() is `sum`.
  double divergence_of(std::span<const double> logits, double sum) const {
    double divergence = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] > 0) divergence += shares[i] * (logarithms[i] - (logits[i] - sum));
    }
    return divergence;
  }
};

// The effects of the heads in one sample: on the first prediction, and on the tokens of an answer.
class SampleEffects {
 public:
  // `answer`: ids of its tokens, whose positions follow that of the first prediction.
  SampleEffects(const ModelFolder& folder, std::vector<std::size_t> answer, std::size_t threads)
      : folder_(folder), answer_(std::move(answer)), threads_(threads) {}

  void add(const LogitsWithout& logits, ViewData::Effects& effects) {
    const Shape& shape = logits.without.shape();
    const std::size_t heads = shape[0], rows = shape[1], words = shape[2];
    const auto numbers = logits.without.values<double>();
    for (std::size_t at = whole_.size(); at < logits.first + rows; ++at) {
      whole_.emplace_back(logits.whole.values<double>().subspan(at * words, words), most_tokens);
    }
    std::vector<Change> changes(heads * rows);
    parallel_for(changes.size(), threads_, [&](std::size_t at) {
      changes[at] = change_of(logits.first + at % rows, numbers.subspan(at * words, words));
    });
    if (logits.first == 0) effects.answer.resize(answer_.empty() ? 0 : heads);
    for (std::size_t at = 0; at < changes.size(); ++at) {
      Change& change = changes[at];
      if (logits.first + at % rows > 0) {
        effects.answer[at / rows].push_back(
            {change.divergence, change.shares.front(), text_of(change.likeliest)});
        continue;
      }
      effects.divergence.push_back(change.divergence);
      effects.probabilities.push_back(std::move(change.shares));
      effects.likeliest.push_back(text_of(change.likeliest));
      effects.logit.push_back(change.logit);
    }
  }

  // The token that the whole model predicts first; after the first add().
  std::size_t likeliest() const { return whole_.front().likeliest.front(); }

 private:
  static constexpr std::size_t most_tokens = 5;

  struct Change {
    double divergence = 0;
    std::vector<double> shares;  // of the likeliest tokens, or of the answer's
    std::size_t likeliest = 0;
    double logit = 0;  // of the whole model's likeliest token
  };

  Change change_of(std::size_t asked, std::span<const double> logits) const {
    const WholePrediction& whole = whole_[asked];
    const double sum = log_sum_exp(logits);
    Change change{whole.divergence_of(logits, sum), {}, 0, 0};
    change.logit = logits[whole.likeliest.front()] - whole.largest;
    const auto add_share = [&](std::size_t token) {
      change.shares.push_back(std::exp(logits[token] - sum));
    };
    if (asked == 0) std::ranges::for_each(whole.likeliest, add_share);
    if (asked > 0) add_share(answer_[asked - 1]);
    change.likeliest = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
    return change;
  }

  std::string text_of(std::size_t token) const {
    return written_token(folder_, static_cast<std::int64_t>(token))
        .value_or("#" + std::to_string(token));
  }

  const ModelFolder& folder_;
  std::vector<std::size_t> answer_;
  std::size_t threads_;
  std::vector<WholePrediction> whole_;  // of the positions
};

// Puts what a head's output gives the logit of the likeliest token to first order, Σ weight ·
// derivative by the weight, which is Σ output · derivative by the output: without the head the
// logit loses it. Models without gradients are left as they are.
void put_estimates(const ModelPass& pass, std::size_t position, std::size_t token,
                   std::size_t sample, EffectsByAttention& all) {
  GradientChoice choice;
  choice.position = position;
  choice.terms.token = token;
  LogitAttribution own;
  try {
    own = attribute(pass, choice);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::input) return;
    throw;
  }
  for (std::size_t n = 0; n < own.layers.size(); ++n) {
    const ModelPlace place{last_stack_of(pass.model), own.layers[n]};
    const auto of = all.find(place.attention().text());
    if (of == all.end()) continue;
    for (const double given : own.heads[n]) of->second[sample].estimated.push_back(-given);
  }
}

const ModelRequest& predicting_model(const Plan& plan) {
  const ModelRequest* const model = model_of(plan);
  const bool predicts =
      model != nullptr && std::ranges::any_of(model->options.wanted.predicted,
                                              [](const auto& sample) { return !sample.empty(); });
  if (!predicts) refuse_effects_without_prediction();
  if (!model->options.heads_off.empty() || model->options.patch) {
    throw Error(ErrorKind::usage, translated("heads are switched off in the model as it is"),
                "ViewOptions::effects", translated("leave out the other change"));
  }
  return *model;
}

}  // namespace

void refuse_effects_without_prediction() {
  throw Error(ErrorKind::usage, translated("nothing is predicted here"), "ViewOptions::effects",
              translated("give a whole model, and for a masked one a text with its mask token"));
}

void put_effects(const Plan& plan, const std::string& way, PageMaker& page) {
  const Ablation ablation = way_of(way);
  const ModelRequest& model = predicting_model(plan);
  const ModelFolder& folder = *model.folder;
  const Architecture& architecture = folder.architecture;
  const auto& predicted = model.options.wanted.predicted;
  const auto& generated = plan.model->generated;
  EffectsByAttention all;
  for (std::size_t b = 0; b < predicted.size(); ++b) {
    if (predicted[b].empty()) continue;
    const ModelTexts text = model.texts.of_sample(b);
    const std::vector<std::int64_t>& ids = text.read_by(architecture.stacks.back()).front();
    std::vector<std::size_t> positions{predicted[b].front()}, answer;
    for (std::size_t p = b < generated.size() ? generated[b].prompt : ids.size(); p < ids.size();
         ++p) {
      positions.push_back(p - 1);
      answer.push_back(static_cast<std::size_t>(ids[p]));
    }
    SampleEffects sample(folder, std::move(answer), model.options.threads);
    const ModelPass pass{architecture, folder.weights, text, model.options};
    bool any = false;
    without_each_head(pass, ablation, positions, [&](const LogitsWithout& logits) {
      const ModelPlace place{last_stack_of(architecture), logits.layer};
      auto& samples = all[place.attention().text()];
      samples.resize(predicted.size());
      sample.add(logits, samples[b]);
      any = true;
    });
    if (any && ablation == Ablation::zero)
      put_estimates(pass, positions.front(), sample.likeliest(), b, all);
  }
  page.take(std::move(all), way);
}

}  // namespace attn
