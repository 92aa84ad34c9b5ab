#include "heads/token_analyses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"

#include "heads/corpus_sums.hpp"
#include "heads/model_analyses.hpp"
#include "models/model_folder.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

const std::vector<std::vector<std::int64_t>>& ids_of(const ModelRequest& request) {
  return request.texts.read_by(request.folder->architecture.stacks.back());
}

// Logits [1,L,V] in double precision, and what takes a row of them, on all threads.
template <class Take>
void each_row(const Tensor& logits, std::size_t threads, const Take& take) {
  const std::size_t words = logits.shape().back();
  parallel_for(logits.size() / words, threads,
               [&](std::size_t i) { take(i, logits.values<double>().subspan(i * words, words)); });
}

}  // namespace

TokenLens::TokenLens(const ModelRequest& request, const HeadsOptions& options)
    : request_(request),
      stack_(read_stack(request.pass(), request.folder->architecture.stacks.back())),
      samples_(ids_of(request).size()),
      longest_(longest_of(ids_of(request))) {
  const ModelFolder& folder = *request.folder;
  if (options.logit->empty()) {
    throw Error(ErrorKind::usage, translated("the lens follows a token that is named"),
                "HeadsOptions::logit", translated("give the token's text or its id"));
  }
  if (folder.architecture.streams) {
    throw input_error(translated("no token is followed where the states are several streams"),
                      "HeadsOptions::logit",
                      translated("leave it out: the lens lists the likeliest tokens"));
  }
  token_ = token_named(*options.logit, folder, "HeadsOptions::logit");
  if (options.against_logit) {
    against_ = token_named(*options.against_logit, folder, "HeadsOptions::against_logit");
  }
  head_ = read_head(folder.architecture, folder.weights);
}

PassObserver TokenLens::observer() {
  const ModelPlace::Stack own = last_stack_of(request_.folder->architecture);
  PassObserver looking;
  looking.places = {{own, 0, ModelPlace::Part::embedding}};
  looking.written = [this](const SamplePlace& at, const Tensor& states) {
    look(at.place, at.sample, states);
  };
  looking.layer = [this, own](const SamplePlace& at, const Layer&, const LayerStep& step) {
    if (at.place.stack != own) return;
    look(at.place, at.sample, step.sublayers.front().after);
    look({own, at.place.layer, ModelPlace::Part::residual}, at.sample, step.states);
  };
  return looking;
}

void TokenLens::look(const ModelPlace& state, std::size_t sample, const Tensor& states) {
  const auto known = std::ranges::find(states_, state);
  const auto at = static_cast<std::size_t>(known - states_.begin());
  if (known == states_.end()) {
    states_.push_back(state);
    const double none = std::numeric_limits<double>::quiet_NaN();
    logits_.emplace_back(samples_ * longest_, none);
    probabilities_.emplace_back(samples_ * longest_, none);
    ranks_.emplace_back(samples_ * longest_, -1);
  }
  const Tensor logits = head_
                            .logits(stack_.finish(states), request_.folder->architecture.eps,
                                    request_.options.threads)
                            .converted(DType::float64);
  each_row(logits, request_.options.threads, [&](std::size_t i, std::span<const double> row) {
    const double own = row[token_];
    const std::size_t cell = sample * longest_ + i;
    logits_[at][cell] = against_ ? own - row[*against_] : own;
    probabilities_[at][cell] = std::exp(own - log_sum_exp(row));
    ranks_[at][cell] = std::ranges::count_if(row, [&](double logit) { return logit > own; });
  });
}

void TokenLens::finish(NamedTensors& tensors, std::optional<TokenTrace>& trace) const {
  const Shape shape{samples_, states_.size(), longest_};
  const auto by_sample = [&](const auto& of_states) {
    std::remove_cvref_t<decltype(of_states.front())> all;
    for (std::size_t b = 0; b < samples_; ++b) {
      for (const auto& cells : of_states) {
        const auto first = cells.begin() + static_cast<std::ptrdiff_t>(b * longest_);
        all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(longest_));
      }
    }
    return Tensor(shape, std::move(all));
  };
  tensors.emplace_back("lens.token.ranks", by_sample(ranks_));
  tensors.emplace_back("lens.token.probabilities", by_sample(probabilities_));
  tensors.emplace_back("lens.token.logits", by_sample(logits_));
  const auto named = [&](std::size_t id) {
    return written_token(*request_.folder, static_cast<std::int64_t>(id))
        .value_or(std::to_string(id));
  };
  TokenTrace& own = trace.emplace();
  own.token = named(token_);
  if (against_) own.against = named(*against_);
  const auto& predicted = request_.options.wanted.predicted;
  for (std::size_t b = 0; b < samples_; ++b) {
    const bool known = b < predicted.size() && !predicted[b].empty();
    const std::size_t position = known ? predicted[b].front() : ids_of(request_)[b].size() - 1,
                      cell = b * longest_ + position;
    for (std::size_t n = 0; n < states_.size(); ++n) {
      const ModelPlace& state = states_[n];
      const std::string name =
          state.part == ModelPlace::Part::self ? state.text() + ".attention" : state.text();
      own.states.push_back({b, position, name, logits_[n][cell], probabilities_[n][cell],
                            static_cast<std::size_t>(ranks_[n][cell])});
    }
  }
}

TokenLosses::TokenLosses(ModelRequest& request) : request_(request) {
  const ModelFolder& folder = *request.folder;
  if (!folder.architecture.stacks.back().causal) {
    throw input_error(translated("losses are those of models that read from left to right"),
                      "HeadsOptions::analyses", translated("leave the loss out"));
  }
  if (!has_head(folder.architecture, folder.weights)) {
    throw input_error(no_head_text(folder.architecture), "HeadsOptions::analyses",
                      translated("leave the loss out, or use the folder of the whole model"));
  }
  request.options.wanted.logits = true;
}

PassObserver TokenLosses::observer() {
  const auto take = [this](const PassTensor& what, const Tensor& all) {
    if (what.quantity != PassTensor::Quantity::logits) return;
    const Tensor logits = all.converted(DType::float64);
    const std::size_t longest = logits.shape()[1], words = logits.shape()[2];
    for (const std::vector<std::int64_t>& ids : ids_of(request_)) {
      std::vector<double>& own = losses_.emplace_back(ids.size() - 1);
      const std::size_t first = (losses_.size() - 1) * longest;
      parallel_for(own.size(), request_.options.threads, [&](std::size_t i) {
        const auto row = logits.values<double>().subspan((first + i) * words, words);
        own[i] = log_sum_exp(row) - row[static_cast<std::size_t>(ids[i + 1])];
      });
    }
  };
  return {.tensor = take};
}

void TokenLosses::finish(NamedTensors& tensors, std::vector<std::vector<double>>& losses) const {
  const std::size_t longest = longest_of(ids_of(request_));
  std::vector<double> all(losses_.size() * longest, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t b = 0; b < losses_.size(); ++b) {
    std::ranges::copy(losses_[b], all.begin() + static_cast<std::ptrdiff_t>(b * longest + 1));
  }
  const Shape shape{losses_.size(), longest};
  tensors.emplace_back("loss", Tensor(shape, std::move(all)));
  losses = losses_;
}

TextAnalyses::TextAnalyses(ModelRequest& request, const HeadsOptions& asked)
    : request_(request), asked_(asked) {
  if (!asked_.logit && !request.why.empty()) {
    asked_.logit = request.why.front().logit;
    asked_.against_logit = request.why.front().against_logit;
  }
  const auto wants = [&](HeadAnalysis analysis) {
    return std::ranges::count(asked_.analyses, analysis) > 0;
  };
  if (wants(HeadAnalysis::lens)) {
    if (!asked_.logit) asked_.logit = "";
    lens_.emplace(request, asked_);
  }
  if (wants(HeadAnalysis::loss)) losses_.emplace(request);
}

std::vector<PassObserver> TextAnalyses::observers() {
  std::vector<PassObserver> all;
  if (lens_) all.push_back(lens_->observer());
  if (losses_) all.push_back(losses_->observer());
  return all;
}

std::vector<std::pair<std::string, double>> TextAnalyses::numbers() const {
  std::vector<std::pair<std::string, double>> all;
  NamedTensors tensors;
  if (losses_) {
    std::vector<std::vector<double>> losses;
    losses_->finish(tensors, losses);
    if (losses.front().empty()) {
      throw input_error(translated("a text of one token has no losses"), "/text",
                        translated("leave the text out, or the loss"));
    }
    double sum = 0;
    for (const double loss : losses.front()) sum += loss;
    all.emplace_back("loss", sum / static_cast<double>(losses.front().size()));
  }
  if (lens_) {
    std::optional<TokenTrace> trace;
    lens_->finish(tensors, trace);
    for (const TracedState& state : trace->states) {
      const std::string name = "lens." + state.state;
      all.emplace_back(name + ".logit", state.logit);
      all.emplace_back(name + ".probability", state.probability);
      all.emplace_back(name + ".rank", static_cast<double>(state.rank));
    }
  }
  if (!asked_.without_heads_of.empty()) {
    for (const HeadDifference& own : head_differences(request_, asked_.without_heads_of)) {
      all.emplace_back("without." + own.layer + "." + std::to_string(own.head) + ".divergence",
                       own.divergence);
    }
  }
  if (std::ranges::count(asked_.analyses, HeadAnalysis::gradients) == 0) return all;
  const TextGradients own = text_gradients(request_, asked_, tensors).front();
  all.emplace_back("gradients.value", own.value);
  for (const AttentionHeads& layer : own.heads) {
    for (std::size_t h = 0; h < layer.heads.size(); ++h) {
      all.emplace_back("gradients." + AttentionName(layer.name).head_name(h),
                       layer.heads[h].front());
    }
  }
  if (!own.integrated.empty()) all.emplace_back("gradients.error", own.error);
  // Texts end at positions of their own: what is of these stands last.
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    const std::string name = std::string(position_prefix) + std::to_string(i);
    all.emplace_back(name + ".input", own.inputs[i]);
    if (!own.integrated.empty()) all.emplace_back(name + ".integrated", own.integrated[i]);
  }
  return all;
}

}  // namespace attn
