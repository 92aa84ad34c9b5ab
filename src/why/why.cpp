#include "why/why.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "models/classification.hpp"
#include "models/pass.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

void check_below(std::size_t number, std::size_t count, const char* field, const char* problem) {
  if (number < count) return;
  throw input_error(translated(problem, number, count), field, give_below(count));
}

// The number of a token or, of a model that classifies, of a class, which the field names.
std::size_t number_of(const std::string& text, const ModelFolder& folder, const char* field) {
  if (has_classifier(folder.architecture, folder.weights)) {
    const std::vector<std::string> labels =
        Classifier::read(folder.architecture, folder.weights).labels();
    if (const auto found = class_named(text, labels)) return *found;
    const std::vector<std::string_view> known(labels.begin(), labels.end());
    throw input_error(translated("the model has no class {1}", in_quotes(text)), field,
                      suggestion(text, known));
  }
  return token_named(text, folder, field);
}

// Throws Error(input) for what there is not, and for one token against itself.
LogitTerms terms_of(const WhyOptions& why, const ModelFolder& folder) {
  LogitTerms terms;
  if (!why.logit->empty()) terms.token = number_of(*why.logit, folder, "WhyOptions::logit");
  if (!why.against_logit) return terms;
  const char* const field = "WhyOptions::against_logit";
  terms.against = number_of(*why.against_logit, folder, field);
  if (terms.token == terms.against) {
    throw input_error(translated("both logits are of one token"), field,
                      translated("give two tokens"));
  }
  return terms;
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

std::optional<std::size_t> position_of_logit(const WhyOptions& why, const ModelFolder& folder,
                                             const ModelTexts& text) {
  const Architecture& model = folder.architecture;
  if (why.query || model.stacks.back().causal || !folder.tokenizer) return why.query;
  const auto mask = folder.tokenizer->special_ids().mask;
  if (!mask || has_classifier(model, folder.weights)) return std::nullopt;
  const std::vector<std::int64_t>& ids = last_text(folder, text);
  const auto masked = std::ranges::find(ids, *mask);
  if (masked == ids.end()) return std::nullopt;
  return static_cast<std::size_t>(masked - ids.begin());
}

std::optional<std::string> missing_mask(const WhyOptions& why, const ModelFolder& folder,
                                        const ModelTexts& text) {
  const Architecture& model = folder.architecture;
  if (!why.logit || why.query || model.stacks.back().causal || !folder.tokenizer ||
      has_classifier(model, folder.weights) || position_of_logit(why, folder, text))
    return std::nullopt;
  const auto mask = folder.tokenizer->special_ids().mask;
  if (!mask) return std::nullopt;
  return translated(
      "the text has no {1}: the logit is split at its last token, and WhyOptions::query chooses "
      "another",
      folder.tokenizer->token(*mask));
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
  // Most tokens of words begin with a space, which vocabularies write as another character.
  std::string spaced = " " + text;
  for (const std::string_view mark : {"Ġ", "▁"}) {
    if (text.starts_with(mark)) spaced = " " + text.substr(mark.size());
  }
  const bool marked = spaced != " " + text;
  const bool with_space = tokenizer->encode(spaced, std::nullopt, false, field).size() == 1;
  throw input_error(
      translated_count(ids.size(), "{2} is {1} token", "{2} is {1} tokens", in_quotes(text)), field,
      with_space && marked ? translated("write {1}", in_quotes(spaced))
      : with_space
          ? translated("with the space before it {1} is one token: give that, or a token's id",
                       in_quotes(spaced))
          : translated("give one of its tokens, which {1} shows, or an id",
                       "attn-cli tokens DocumentOptions::model M DocumentOptions::texts " +
                           in_quotes(text)));
}

void check_why(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text) {
  const Architecture& model = folder.architecture;
  if (model.senses(model.stacks.front())) {
    throw input_error(translated("models of pictures or sound are not split into parts"),
                      why.head ? "WhyOptions::head" : "WhyOptions::logit",
                      translated("name a model of texts"));
  }
  if (model.streams) {
    throw input_error(
        translated("models are not split into parts whose states are several streams"),
        why.head ? "WhyOptions::head" : "WhyOptions::logit", translated("name another model"));
  }
  if (model.global_tokens != GlobalTokens::none) {
    throw input_error(translated("models are not split into parts where some tokens see all others "
                                 "by projections of their own"),
                      why.head ? "WhyOptions::head" : "WhyOptions::logit",
                      translated("name another model"));
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
    terms_of(why, folder);
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
    throw Error(
        ErrorKind::usage,
        translated("a split cannot be combined with a part from another text, or with means "
                   "of heads"),
        why.head ? "WhyOptions::head" : "WhyOptions::logit",
        options.patch && !why.head
            ? translated(
                  "leave it out; attn-cli heads, without DocumentOptions::patch_at, shows the "
                  "difference of two logits in the text, and with each part from the other")
            : translated("leave it out, or the patch and the means of heads"));
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
    logit.emplace(model, folder.weights, text, position_of_logit(why, folder, text));
    choices.push_back(logit->kept(model));
  }
  const auto passes = freeze({model, folder.weights, text, options}, choices, progress);
  WhySplits splits;
  if (scores) splits.scores = split_scores(passes.front(), *scores, options.threads);
  if (logit) {
    splits.logit =
        split_logit(model, *logit, passes.back(), terms_of(why, folder), options.threads);
  }
  return splits;
}

}  // namespace attn
