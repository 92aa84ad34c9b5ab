#include "why/why.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "models/classification.hpp"
#include "models/pass.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

void check_below(std::size_t number, std::size_t count, const char* field, const char* problem) {
  if (number < count) return;
  throw input_error(translated(problem, number, count), field,
                    translated("give 0 to {1}", count - 1));
}

// The number of a token or, of a model that classifies, of a class. Absent = the likeliest.
std::optional<std::size_t> token_of(const std::string& text, const ModelFolder& folder) {
  if (text.empty()) return std::nullopt;
  if (has_classifier(folder.architecture, folder.weights)) {
    const std::vector<std::string> labels =
        Classifier::read(folder.architecture, folder.weights).labels();
    if (const auto found = class_named(text, labels)) return found;
    const std::vector<std::string_view> known(labels.begin(), labels.end());
    throw input_error(translated("the model has no class {1}", in_quotes(text)),
                      "WhyOptions::logit", suggestion(text, known));
  }
  return token_named(text, folder, "WhyOptions::logit");
}

const std::vector<std::int64_t>& last_text(const ModelFolder& folder, const ModelTexts& text) {
  return text.read_by(folder.architecture.stacks.back()).front();
}

}  // namespace

void refuse_split_without_model(const char* field) {
  throw Error(ErrorKind::usage, translated("scores and logits are split for models only"), field,
              translated("leave it out, or name a model"));
}

ModelPlace split_head(const std::string& name, const Architecture& model) {
  const auto head = ModelPlace::parse(name);
  if (!head || !head->is_head() || !has_stack(model, head->stack)) {
    throw input_error(
        translated("{1} names no head", in_quotes(name)), "WhyOptions::head",
        model.encoder_decoder()
            ? translated("give encoder.LAYER.HEAD, decoder.LAYER.HEAD or cross.LAYER.HEAD")
            : translated("give LAYER.HEAD, both from 0"));
  }
  check_head(model, *head, "WhyOptions::head");
  return *head;
}

std::size_t token_named(const std::string& text, const ModelFolder& folder, const char* field) {
  if (std::size_t id = 0; parse_number(text, id)) {
    check_below(id, folder.architecture.vocabulary, field,
                to_translate("there is no token {1}: the vocabulary has {2}"));
    return id;
  }
  const auto& tokenizer = folder.writing_tokenizer();
  if (!tokenizer) {
    throw input_error(translated("the model has no tokenizer that reads {1}", in_quotes(text)),
                      field, translated("give the token's id"));
  }
  const std::vector<TextToken> ids = tokenizer->encode(text, std::nullopt, false, field);
  if (ids.size() == 1) return static_cast<std::size_t>(ids.front().id);
  // Most tokens of words begin with a space.
  const std::string spaced = " " + text;
  const bool with_space = tokenizer->encode(spaced, std::nullopt, false, field).size() == 1;
  throw input_error(
      translated_count(ids.size(), "{2} is {1} token", "{2} is {1} tokens", in_quotes(text)), field,
      with_space
          ? translated("with the space before it {1} is one token: give that, or a token's id",
                       in_quotes(spaced))
          : translated("give a text of one token, or its id"));
}

void check_why(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text) {
  const Architecture& model = folder.architecture;
  if (model.vision) {
    throw input_error(translated("models of pictures are not split into parts"),
                      why.head ? "WhyOptions::head" : "WhyOptions::logit",
                      translated("name a model of texts"));
  }
  const auto check = [](const std::optional<std::size_t>& position, std::size_t length,
                        const char* field, const char* problem) {
    if (position) check_below(*position, length, field, problem);
  };
  const char* const no_query = to_translate("there is no query {1}: the text has {2} tokens");
  if (why.head) {
    const ModelPlace head = split_head(*why.head, model);
    const std::size_t queries = text.read_by(head.stack).front().size();
    const std::size_t keys = head.crosses() ? text.ids.front().size() : queries;
    check(why.query, queries, "WhyOptions::query", no_query);
    check(why.key, keys, "WhyOptions::key",
          to_translate("there is no key {1}: the text has {2} tokens"));
  }
  if (why.logit) {
    check(why.query, last_text(folder, text).size(), "WhyOptions::query", no_query);
    token_of(*why.logit, folder);
    const ChosenLogit chosen(model, folder.weights, text, why.query);
    const bool each =
        !chosen.labels.empty() && model.classifier->reads == ModelClassifier::Reads::each;
    if (!chosen.labels.empty() && !each && why.query && !why.head) {
      throw input_error(translated("the model classifies texts, not their tokens"),
                        "WhyOptions::query", translated("leave the query out"));
    }
  }
}

WhySplits split(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text,
                const ModelOptions& options, const Progress& progress) {
  if (is_changed(options)) {
    throw Error(ErrorKind::usage, translated("a split is of the model as it is"),
                why.head ? "WhyOptions::head" : "WhyOptions::logit",
                translated("leave it out, or the patch and the means of heads"));
  }
  check_why(why, folder, text);
  const Architecture& model = folder.architecture;
  std::optional<ChosenScores> scores;
  std::optional<ChosenLogit> logit;
  std::vector<FrozenChoice> choices;
  if (why.head) {
    scores.emplace(split_head(*why.head, model), text, why.query, why.key);
    choices.push_back(scores->kept());
  }
  if (why.logit) {
    logit.emplace(model, folder.weights, text, why.query);
    choices.push_back(logit->kept(model));
  }
  const auto passes = freeze({model, folder.weights, text, options}, choices, progress);
  WhySplits splits;
  if (scores) splits.scores = split_scores(passes.front(), *scores, options.threads);
  if (logit) {
    splits.logit =
        split_logit(model, *logit, passes.back(), token_of(*why.logit, folder), options.threads);
  }
  return splits;
}

namespace {

/// Numbers of one pass of a text: the states that enter each layer, and the outputs of its heads,
/// if it has some.
struct KeptPass {
  std::vector<Tensor> entering, outputs;
  Tensor memory, output;
};

/// Passes in which the heads of a layer change one by one.
class HeadPatching {
 public:
  explicit HeadPatching(const ModelPass& pass)
      : model_(pass.model),
        weights_(pass.weights),
        text_(pass.texts),
        stack_name_(last_stack_of(model_)),
        options_{.dtype = pass.options.dtype,
                 .threads = pass.options.threads,
                 .wanted = {.weights = false}},
        stack_(read_stack({model_, weights_, text_, options_}, model_.stacks.back())),
        head_(read_head(model_, weights_)) {}

  HeadEffects effects(const std::vector<std::int64_t>& source,
                      const std::vector<std::size_t>& tokens) {
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
    const KeptPass own = kept(text_), from = kept(other);
    const std::vector<double> of_own = logits_of(last_of(own.output)).front(),
                              of_source = logits_of(last_of(from.output)).front();
    HeadEffects effects;
    effects.tokens = tokens.empty() ? likeliest(of_own, of_source) : tokens;
    const auto difference = [&](const std::vector<double>& logits) {
      return logits[effects.tokens[0]] - logits[effects.tokens[1]];
    };
    effects.own = difference(of_own);
    effects.source = difference(of_source);
    for (std::size_t n = 0; n < stack_.count; ++n) {
      if (!from.outputs[n]) continue;  // a layer without heads
      effects.layers.push_back(n);
      std::vector<double>& row = effects.patched.emplace_back();
      for (const auto& logits : logits_of(last_of(changed(n, own, from.outputs[n])))) {
        row.push_back(difference(logits));
      }
    }
    return effects;
  }

  void without_each(Ablation way, std::size_t position, const WantedResults& wanted,
                    const TakeLogitsWithout& take) const {
    const KeptPass own = kept(text_);
    const std::vector<double> whole = logits_of(at(own.output, position)).front();
    for (std::size_t n = 0; n < stack_.count; ++n) {
      if (!own.outputs[n] || !wanted.chooses(n)) continue;
      const Tensor states = changed(n, own, replacement(own.outputs[n], way));
      const auto rows = logits_of(at(states, position));
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

  KeptPass kept(const ModelTexts& text) const {
    KeptPass pass;
    pass.outputs.resize(stack_.count);
    PassObserver keeping;
    for (std::size_t n = 0; n < stack_.count; ++n) {
      keeping.places.push_back({stack_name_, n});
      if (n + 1 < stack_.count) {
        keeping.places.push_back({stack_name_, n, ModelPlace::Part::residual});
      }
    }
    keeping.written = [&](const SamplePlace& at, const Tensor& numbers) {
      if (at.place.part == ModelPlace::Part::residual) {
        pass.entering.push_back(numbers);
      } else {
        pass.outputs[at.place.layer] = numbers;
      }
    };
    keeping.tensor = [&](const PassTensor& what, const Tensor& tensor) {
      const bool own = what.place.stack == stack_name_;
      if (what.quantity == PassTensor::Quantity::embedded && own) pass.entering.push_back(tensor);
      if (what.quantity != PassTensor::Quantity::output) return;
      (own ? pass.output : pass.memory) = tensor;
    };
    run_model({model_, weights_, text, options_}, {keeping});
    return pass;
  }

  // The states [heads,L,D] that leave the stack where, one by one, the heads of a layer write what
  // the source [1,L,W] says, or its one row [1,W]. The layers below are not computed again.
  Tensor changed(std::size_t n, const KeptPass& own, const Tensor& source) const {
    const std::size_t heads = model_.heads;
    const auto repeated = [&](const Tensor& one) {
      return one ? batched(std::vector<Tensor>(heads, one)) : one;
    };
    const Tensor memory = repeated(own.memory);
    Tensor states = repeated(own.entering[n]);
    const std::size_t width = source.shape().back() / heads;
    for (std::size_t layer = n; layer < stack_.count; ++layer) {
      StepOptions options;
      if (layer == n) {
        options.self_heads = [&](Tensor& outputs) {
          std::vector<Tensor> all;
          for (std::size_t h = 0; h < heads; ++h) {
            Tensor one = part_of(outputs, h);
            put_columns(source, h * width, width, {}, one);
            all.push_back(std::move(one));
          }
          outputs = batched(all);
        };
      }
      states = step(stack_.layer(layer), states, memory, options).states;
    }
    return stack_.finish(states);
  }

  // Sample b of [B,L,W], as [1,L,W].
  static Tensor part_of(const Tensor& all, std::size_t b) {
    const Shape& shape = all.shape();
    const Tensor rows = all.reshaped({shape[0] * shape[1], shape[2]});
    return rows_of(rows, b * shape[1], shape[1]).reshaped({1, shape[1], shape[2]});
  }

  // The states [B,1,D] at a position of [B,L,D].
  static Tensor at(const Tensor& states, std::size_t position) {
    const Shape& shape = states.shape();
    std::vector<std::size_t> rows;
    for (std::size_t b = 0; b < shape[0]; ++b) rows.push_back(b * shape[1] + position);
    return picked(states.reshaped({shape[0] * shape[1], shape[2]}), rows)
        .reshaped({shape[0], 1, shape[2]});
  }

  static Tensor last_of(const Tensor& states) { return at(states, states.shape()[1] - 1); }

  // The logits [B][V] of states [B,1,D].
  std::vector<std::vector<double>> logits_of(const Tensor& states) const {
    const Tensor logits =
        head_.logits(states, model_.eps, options_.threads).converted(DType::float64);
    const std::size_t words = logits.shape().back();
    std::vector<std::vector<double>> rows;
    for (std::size_t b = 0; b < states.shape()[0]; ++b) {
      const auto row = logits.values<double>().subspan(b * words, words);
      rows.emplace_back(row.begin(), row.end());
    }
    return rows;
  }

  static std::vector<std::size_t> likeliest(const std::vector<double>& own,
                                            const std::vector<double>& source) {
    const auto largest = [](std::vector<double> logits, std::optional<std::size_t> but) {
      if (but) logits[*but] = -std::numeric_limits<double>::infinity();
      return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) -
                                      logits.begin());
    };
    const std::size_t first = largest(own, std::nullopt);
    std::size_t second = largest(source, std::nullopt);
    if (second == first) second = largest(own, first);
    return {first, second};
  }

  const Architecture& model_;
  const CheckpointWeights& weights_;
  const ModelTexts& text_;
  ModelPlace::Stack stack_name_;
  ModelOptions options_;
  Stack stack_;
  LogitsHead head_;
};

}  // namespace

HeadEffects patch_every_head(const ModelPass& pass, const std::vector<std::size_t>& tokens) {
  return HeadPatching(pass).effects(pass.options.patch->ids, tokens);
}

void without_each_head(const ModelPass& pass, Ablation way, std::size_t position,
                       const TakeLogitsWithout& take) {
  HeadPatching(pass).without_each(way, position, pass.options.wanted, take);
}

}  // namespace attn
