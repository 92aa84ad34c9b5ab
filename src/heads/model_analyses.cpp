#include "heads/model_analyses.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "attn/circuits.hpp"
#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "maps/computed_maps.hpp"
#include "models/contact_head.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "tensor/torch_random.hpp"
#include "why/attribution.hpp"
#include "why/patch_sweep.hpp"
#include "why/path_patch.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

// Log-probabilities of logits.
std::vector<double> logarithms(const Tensor& logits) {
  const Tensor numbers = logits.converted(DType::float64);
  const auto scores = numbers.values<double>();
  const double whole = log_sum_exp(scores);
  std::vector<double> result(scores.begin(), scores.end());
  for (double& score : result) score -= whole;
  return result;
}

std::string token_text(const ModelFolder& folder, std::size_t id) {
  return written_token(folder, static_cast<std::int64_t>(id)).value_or(std::to_string(id));
}

// Logarithms of the predicted probabilities: of each sample the token after its last one, or of a
// masked model the tokens at its mask tokens.
std::vector<std::vector<double>> predicted(const ModelRequest& request,
                                           const ModelOptions& options) {
  std::vector<std::vector<double>> all;
  const auto take = [&](std::size_t, std::size_t, const Tensor& logits) {
    all.push_back(logarithms(logits));
  };
  run_model({request.folder->architecture, request.folder->weights, request.texts, options},
            {{.predicted = take}});
  return all;
}

[[noreturn]] void refuse_without_predictions() {
  throw input_error(
      translated("the model predicts nothing here: it has no head for logits, or no text has a "
                 "mask token"),
      "HeadsOptions::without_heads_of",
      translated(
          "use the folder of the whole model, and for a masked one a text with its mask token"));
}

}  // namespace

PassObserver norms_into(NamedTensors& tensors, const ModelRequest& request) {
  if (is_changed(request.options)) {
    throw Error(
        ErrorKind::usage,
        translated("norms of terms are those of the model as it is, or with zeros for heads"),
        "HeadsOptions::analyses",
        translated("leave out norms, or the patch and the means of heads"));
  }
  check_term_norms(request.folder->architecture, "HeadsOptions::analyses");
  struct Norms {
    std::vector<Tensor> of_heads, of_all_heads, of_block, mixing;
  };
  const auto layer = std::make_shared<Norms>();
  const std::size_t samples = request.texts.ids.size();
  const auto take = [=, &tensors](const SamplePlace& at, const Layer& own, const LayerStep& step) {
    if (!step.self.weights) return;
    const AttentionName name = at.place.attention();
    TermNorms norms = term_norms(own, step);
    const std::size_t n = norms.mixing.size(), heads = norms.of_heads.shape()[0];
    layer->of_heads.push_back(norms.of_heads.reshaped({1, heads, n, n}));
    layer->of_all_heads.push_back(norms.of_all_heads.reshaped({1, n, n}));
    layer->of_block.push_back(norms.of_block.reshaped({1, n, n}));
    layer->mixing.push_back(norms.mixing.reshaped({1, n}));
    if (at.sample + 1 < samples) return;
    tensors.emplace_back(name.tensor("norms"), batched(layer->of_heads));
    tensors.emplace_back(name.tensor("norms_of_all_heads"), batched(layer->of_all_heads));
    tensors.emplace_back(name.tensor("block_norms"), batched(layer->of_block));
    tensors.emplace_back(name.tensor("mixing"), batched(layer->mixing));
    *layer = {};
  };
  return {.layer = take};
}

Lens::Lens(const ModelRequest& request, std::size_t likeliest)
    : request_(request),
      likeliest_(likeliest),
      layers_(request.folder->architecture.stacks.back().layers.size()),
      longest_(longest_of(request.texts.read_by(request.folder->architecture.stacks.back()))) {
  const ModelFolder& folder = *request.folder;
  if (!has_head(folder.architecture, folder.weights)) {
    throw input_error(
        translated("the checkpoint has no head that gives logits, through which a lens looks"),
        "HeadsOptions::analyses",
        translated("leave the lens out, or use the folder of the whole model"));
  }
  const std::size_t samples = request.texts.read_by(folder.architecture.stacks.back()).size();
  ids_.assign(samples * layers_ * longest_ * likeliest_, -1);
  probabilities_.assign(ids_.size(), 0);
}

PassObserver Lens::observer() {
  const auto take = [this](const SamplePlace& at, const Tensor& logits) {
    const std::size_t length = logits.shape()[1], words = logits.shape()[2];
    parallel_for(length, request_.options.threads, [&](std::size_t i) {
      const Tensor row = Tensor::borrowed(
          {words}, logits.dtype(),
          static_cast<const std::byte*>(logits.bytes()) + i * words * size_of(logits.dtype()),
          std::make_shared<const Tensor>(logits));
      const std::vector<double> scores = logarithms(row);
      const std::vector<std::size_t> order = largest_of(scores, likeliest_);
      const std::size_t before = at.sample * layers_ + at.place.layer;
      const std::size_t first = (before * longest_ + i) * likeliest_;
      for (std::size_t k = 0; k < order.size(); ++k) {
        ids_[first + k] = static_cast<std::int64_t>(order[k]);
        probabilities_[first + k] = std::exp(scores[order[k]]);
      }
    });
  };
  return {.lens = take};
}

void Lens::finish(NamedTensors& tensors, std::vector<LensTokens>& lens) const {
  const std::size_t samples = ids_.size() / (layers_ * longest_ * likeliest_);
  const Shape shape{samples, layers_, longest_, likeliest_};
  tensors.emplace_back("lens.ids", Tensor(shape, ids_));
  tensors.emplace_back("lens.probabilities", Tensor(shape, probabilities_));
  const ModelFolder& folder = *request_.folder;
  std::map<std::int64_t, std::string> written;
  for (std::size_t b = 0; b < samples; ++b) {
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      for (std::size_t i = 0; i < longest_; ++i) {
        LensTokens& tokens = lens.emplace_back(LensTokens{b, layer, i, {}});
        const std::size_t at = ((b * layers_ + layer) * longest_ + i) * likeliest_;
        for (std::size_t k = 0; k < likeliest_ && ids_[at + k] >= 0; ++k) {
          const auto [found, is_new] = written.try_emplace(ids_[at + k]);
          if (is_new) found->second = token_text(folder, static_cast<std::size_t>(ids_[at + k]));
          tokens.likeliest.push_back({ids_[at + k], found->second, probabilities_[at + k]});
        }
        if (tokens.likeliest.empty()) lens.pop_back();
      }
    }
  }
}

void check_contacts(const ModelRequest& request) {
  const ModelFolder& folder = *request.folder;
  if (!has_contact_head(folder.architecture, folder.weights)) {
    throw input_error(
        translated("the checkpoint has no head that predicts contacts"), "HeadsOptions::analyses",
        translated("leave contacts out, or use an ESM whose file has \"contact_head\""));
  }
  if (request.options.wanted.chooses_all(folder.architecture.stacks.front())) return;
  throw input_error(translated("contacts are predicted from the weights of all layers"), "/layers",
                    translated("leave the layers out"));
}

std::vector<InductionHeads> induction_test(const ModelRequest& request,
                                           const HeadsOptions& options) {
  const ModelFolder& folder = *request.folder;
  const Architecture& model = folder.architecture;
  if (model.encoder_decoder()) {
    throw input_error(translated("the induction test reads one text, and an encoder-decoder two"),
                      "HeadsOptions::analyses", translated("leave the induction test out"));
  }
  if (model.senses(model.stacks.front())) {
    throw input_error(
        model.vision ? translated("the induction test repeats tokens of texts, and the model reads "
                                  "pictures")
                     : translated("the induction test repeats tokens of texts, and the model reads "
                                  "sounds"),
        "HeadsOptions::analyses",
        translated("leave the induction test out, or name a model of texts"));
  }
  const std::size_t m = options.induction_length;
  const auto words = static_cast<std::size_t>(
      folder.tokenizer ? std::min(model.vocabulary, folder.tokenizer->size()) : model.vocabulary);
  std::optional<std::int64_t> first;
  std::set<std::int64_t> special;
  if (folder.tokenizer) {
    const SpecialIds& known = folder.tokenizer->special_ids();
    first = known.first ? known.first : known.classifier;
    for (const auto& id : {known.pad, known.mask, known.first, known.last, known.separator,
                           known.classifier, known.unknown}) {
      if (id) special.insert(*id);
    }
  }
  if (words <= special.size()) {
    throw input_error(translated("the vocabulary has no token to repeat"), "HeadsOptions::analyses",
                      translated("leave the induction test out"));
  }
  const std::size_t before = first ? 1 : 0;
  TorchRandom random(static_cast<std::uint64_t>(options.document.seed.value_or(0)));
  ModelOptions computing = request.options;
  computing.wanted = {.layers = request.options.wanted.layers};
  ModelTexts test;
  test.place = "HeadsOptions::induction_length";
  for (std::size_t sample = 0; sample < options.induction_samples; ++sample) {
    std::vector<std::int64_t> ids;
    while (ids.size() < m) {
      std::vector<float> drawn(m);
      random.uniform(drawn);
      for (const float number : drawn) {
        const auto id = std::min(static_cast<std::int64_t>(number * static_cast<float>(words)),
                                 static_cast<std::int64_t>(words) - 1);
        if (ids.size() < m && special.count(id) == 0) ids.push_back(id);
      }
    }
    std::vector<std::int64_t> text;
    if (first) text.push_back(*first);
    for (int copy = 0; copy < 2; ++copy) text.insert(text.end(), ids.begin(), ids.end());
    test.ids.push_back(std::move(text));
  }
  std::vector<InductionHeads> all;
  const auto take = [&](const PassTensor& what, const Tensor& tensor) {
    if (what.quantity != PassTensor::Quantity::weights) return;
    const Tensor maps = tensor.converted(DType::float64);
    const auto numbers = maps.values<double>();
    const std::size_t samples = maps.shape()[0], heads = maps.shape()[1], n = maps.shape()[2];
    InductionHeads& of = all.emplace_back();
    of.name = what.place.attention().text();
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<double> sums(3);
      for (std::size_t b = 0; b < samples; ++b) {
        const double* map = numbers.data() + (b * heads + h) * n * n;
        for (std::size_t i = before + m; i < n; ++i) {
          sums[0] += map[i * n + i - 1];
          sums[1] += map[i * n + i - m];
          sums[2] += map[i * n + i - (m - 1)];
        }
      }
      for (double& sum : sums) sum /= static_cast<double>(samples * m);
      of.heads.push_back(std::move(sums));
    }
  };
  run_model({model, folder.weights, test, computing}, {{.tensor = take}});
  return all;
}

std::vector<HeadDifference> head_differences(const ModelRequest& request,
                                             const std::vector<std::size_t>& layers) {
  const ModelFolder& folder = *request.folder;
  const Architecture& model = folder.architecture;
  ModelOptions whole = request.options;
  whole.wanted = {.weights = false, .predicted = request.options.wanted.predicted};
  const std::vector<std::vector<double>> base = predicted(request, whole);
  if (base.empty()) refuse_without_predictions();
  const auto likeliest = [](const std::vector<double>& scores) {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
  };
  std::vector<HeadDifference> all;
  const ModelStack& stack = model.stacks.back();
  for (const std::size_t layer : layers) {
    check_layer_with_map(stack, layer, "HeadsOptions::without_heads_of");
    const ModelPlace place{last_stack_of(model), layer};
    for (std::size_t head = 0; head < model.heads; ++head) {
      ModelOptions without = whole;
      without.heads_off.push_back(place.with_head(head));
      const std::vector<std::vector<double>> now = predicted(request, without);
      HeadDifference& difference = all.emplace_back();
      difference.layer = place.text();
      difference.head = head;
      const std::size_t first = likeliest(base[0]);
      difference.likeliest = token_text(folder, first);
      difference.likeliest_without = token_text(folder, likeliest(now[0]));
      difference.probability = std::exp(base[0][first]);
      difference.probability_without = std::exp(now[0][first]);
      for (std::size_t at = 0; at < base.size(); ++at) {
        double sum = 0;
        for (std::size_t i = 0; i < base[at].size(); ++i) {
          sum += std::exp(base[at][i]) * (base[at][i] - now[at][i]);
        }
        difference.divergence += sum / static_cast<double>(base.size());
      }
    }
  }
  return all;
}

namespace {

// Where paths are asked to end. Throws Error(input) for what there is not.
PathChoice ends_of_paths(const HeadsOptions& asked, const Architecture& model) {
  if (asked.receivers.empty()) return {};
  const char* const field = "HeadsOptions::receivers";
  PathChoice choice{false, std::nullopt};
  for (const std::string& name : asked.receivers) {
    if (name == "logits") {
      choice.logits = true;
      continue;
    }
    const auto head = ModelPlace::parse(name);
    if (!head || !head->is_head() || head->stack != last_stack_of(model)) {
      throw input_error(translated("{1} cannot be the end of a path", in_quotes(name)), field,
                        translated("give LAYER.HEAD, both from 0, or logits"));
    }
    check_head(model, *head, field);
    if (!choice.heads) choice.heads.emplace();
    choice.heads->push_back(*head);
  }
  return choice;
}

HeadPatches patched_paths(const ModelRequest& request, const ModelPass& pass,
                          const DifferenceTokens& tokens, const HeadsOptions& asked) {
  PathChoice choice = ends_of_paths(asked, pass.model);
  choice.keeps_weights = asked.frozen_patterns;
  const PathEffects effects = patch_paths(pass, choice, tokens, asked.progress);
  if (effects.paths.empty()) {
    throw input_error(translated("no head stands before the ends of the paths"),
                      "HeadsOptions::receivers",
                      translated("give heads of later layers, or logits"));
  }
  const auto named = [&](std::size_t which) {
    return token_text(*request.folder, effects.tokens[which]);
  };
  HeadPatches patches{named(0), named(1), effects.own, effects.source, {}, {}, {}};
  for (const PatchedPath& path : effects.paths) {
    const std::string_view input =
        composition_names[static_cast<std::size_t>(path.input) -
                          static_cast<std::size_t>(PatchedPart::queries)];
    patches.paths.push_back({path.from.text(), path.to ? path.to->text() : "logits",
                             path.to ? std::string(input) : "", path.difference});
  }
  return patches;
}

// Throws for requests in which no parts are patched one at a time.
void check_patching(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  if (!has_head(model, request.folder->weights)) {
    throw input_error(no_head_text(model), "/patch",
                      translated("use the folder of the whole model"));
  }
  if (!request.options.heads_off.empty()) {
    throw Error(ErrorKind::usage, translated("heads are patched in the model as it is"),
                "DocumentOptions::heads_off",
                translated("leave it out, or patch one part by DocumentOptions::patch_at"));
  }
  if (request.texts.ids.size() > 1) {
    throw input_error(
        translated("heads are patched in one text, and {1} are given", request.texts.ids.size()),
        "/patch", translated("give one text"));
  }
}

// The tokens that the options name, or else the document.
DifferenceTokens difference_tokens(const ModelRequest& request, const HeadsOptions& asked) {
  const auto id_of = [&](const std::optional<std::string>& token, const char* field) {
    return token && !token->empty() ? std::optional(token_named(*token, *request.folder, field))
                                    : std::nullopt;
  };
  const bool named = asked.logit || asked.against_logit || request.why.empty();
  const DifferenceTokens tokens =
      named ? DifferenceTokens{id_of(asked.logit, "HeadsOptions::logit"),
                               id_of(asked.against_logit, "HeadsOptions::against_logit")}
            : DifferenceTokens{id_of(request.why.front().logit, "/logit"),
                               id_of(request.why.front().against_logit, "/against_logit")};
  if (tokens[0] && tokens[0] == tokens[1]) {
    throw input_error(translated("both logits are of one token"), "HeadsOptions::against_logit",
                      translated("give two tokens"));
  }
  return tokens;
}

SweepChoice sweep_choice(const HeadsOptions& asked) {
  SweepChoice choice;
  if (!asked.sweep.empty()) choice.parts = asked.sweep;
  choice.by_position = asked.by_position;
  choice.keeps_weights = asked.frozen_patterns;
  if (asked.attribution && asked.frozen_patterns) {
    throw Error(ErrorKind::usage, translated("gradients go through the weights of all layers"),
                "HeadsOptions::attribution",
                translated("leave it out, or HeadsOptions::frozen_patterns"));
  }
  const bool of_layers =
      !choice.parts.empty() &&
      std::ranges::none_of(choice.parts, [](PatchedPart part) { return info(part).of_heads; });
  if (of_layers && asked.by_position) {
    throw Error(ErrorKind::usage,
                translated("parts of layers are patched position by position anyway"),
                "HeadsOptions::by_position", translated("leave it out"));
  }
  return choice;
}

// A part's effects, with the names of their rows.
PatchSweep named_sweep(SweptPart part, const Architecture& model) {
  PatchSweep sweep{part.part, part.by_position, {}, {}, {}, {}};
  const bool of_heads = info(part.part).of_heads;
  for (std::size_t i = 0; i < part.layers.size(); ++i) {
    const ModelPlace layer{last_stack_of(model), part.layers[i]};
    for (std::size_t u = 0; u < (part.by_position ? part.units[i] : 1); ++u) {
      sweep.rows.push_back((of_heads && part.by_position ? layer.with_head(u) : layer).text());
    }
  }
  sweep.patched = std::move(part.patched);
  return sweep;
}

}  // namespace

HeadPatches head_patches(const ModelRequest& request, const Patch& patch,
                         const HeadsOptions& asked) {
  check_patching(request);
  const DifferenceTokens tokens = difference_tokens(request, asked);
  const ModelFolder& folder = *request.folder;
  const Architecture& model = folder.architecture;
  ModelOptions options = request.options;
  options.patch = patch;
  const ModelTexts text = request.texts.of_sample(0);
  const ModelPass pass{model, folder.weights, text, options};
  if (asked.paths && asked.sweep.empty()) {
    if (asked.by_position) {
      throw Error(ErrorKind::usage, translated("paths are patched at all positions together"),
                  "HeadsOptions::by_position",
                  translated("leave it out, or add the parts with HeadsOptions::sweep"));
    }
    return patched_paths(request, pass, tokens, asked);
  }
  const SweepChoice choice = sweep_choice(asked);
  SweepEffects effects = sweep(pass, choice, tokens, asked.progress);
  HeadPatches patches{token_text(folder, effects.tokens[0]),
                      token_text(folder, effects.tokens[1]),
                      effects.own,
                      effects.source,
                      {},
                      {},
                      {}};
  for (SweptPart& part : effects.parts) {
    patches.sweeps.push_back(named_sweep(std::move(part), model));
  }
  if (asked.attribution) {
    SweepEffects estimated = attributed_sweep(pass, choice, {effects.tokens[0], effects.tokens[1]});
    for (std::size_t i = 0; i < patches.sweeps.size(); ++i) {
      patches.sweeps[i].attributed = std::move(estimated.parts[i].patched);
    }
  }
  if (asked.paths) patches.paths = patched_paths(request, pass, tokens, asked).paths;
  return patches;
}

}  // namespace attn
