#include "why/why.hpp"

#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "models/pass.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

void check_below(std::size_t number, std::size_t count, const char* field, const char* problem) {
  if (number < count) return;
  throw input_error(translated(problem, number, count), field,
                    translated("give 0 to {1}", count - 1));
}

// Absent = the likeliest.
std::optional<std::size_t> token_of(const std::string& text, const ModelFolder& folder) {
  if (text.empty()) return std::nullopt;
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
    check_split_logits(model, folder.weights);
    token_of(*why.logit, folder);
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
  std::vector<FrozenChoice> choices;
  if (why.head) {
    scores.emplace(split_head(*why.head, model), text, why.query, why.key);
    choices.push_back(scores->kept());
  }
  if (why.logit) {
    const std::size_t last = last_text(folder, text).size() - 1;
    choices.push_back(kept_for_logit(model, why.query.value_or(last)));
  }
  const auto passes = freeze({model, folder.weights, text, options}, choices, progress);
  WhySplits splits;
  if (scores) splits.scores = split_scores(passes.front(), *scores, options.threads);
  if (why.logit) {
    splits.logit = split_logit(model, folder.weights, passes.back(), token_of(*why.logit, folder),
                               options.threads);
  }
  return splits;
}

}  // namespace attn
