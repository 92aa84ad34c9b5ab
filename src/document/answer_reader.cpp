#include "document/answer_reader.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "models/checkpoint.hpp"
#include "models/pass.hpp"
#include "support/number_text.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Ids = std::vector<std::int64_t>;

const ModelStack& last_stack(const ModelRequest& request) {
  return request.folder->architecture.stacks.back();
}

std::vector<Ids>& extended_ids(ModelRequest& request) {
  return last_stack(request).crosses ? request.texts.decoder_ids : request.texts.ids;
}

void refuse_models_without_generation(const ModelRequest& request, const std::string& place) {
  const Architecture& model = request.folder->architecture;
  const auto refuse = [&](std::string problem) {
    throw input_error(std::move(problem), place,
                      translated("leave it out, or name a model that writes texts"));
  };
  if (model.vision) {
    refuse(translated("models of the type {1} read pictures and generate no text", model.family));
  }
  if (!model.stacks.back().causal) {
    refuse(translated("models of the type {1} do not predict the next token", model.family));
  }
  if (!has_head(model, request.folder->weights)) {
    refuse(no_head_text(model));
  }
  if (is_changed(request.options)) {
    throw input_error(
        translated("a model that gets parts from another text or means of heads generates "
                   "no text"),
        place, translated("leave it out, or \"patch\" and \"ablate\""));
  }
}

// The text of a sample that the answer follows; absent where ids, pairs or nothing are given.
const std::string* text_before(const JsonValue& root, const ModelRequest& request,
                               std::size_t sample) {
  const JsonValue* texts = root.find(last_stack(request).crosses ? "decoder_text" : "text");
  if (texts != nullptr && texts->is(JsonValue::Type::array)) texts = &texts->element(sample);
  return texts != nullptr && texts->is(JsonValue::Type::string) ? &texts->string() : nullptr;
}

// For each sample the ids of the text that takes the place of a generated one: those that it adds
// to the ids of the text before it, as SentencePiece puts a space before each text. Where both
// together are cut otherwise at the seam, they are those of the text alone.
std::vector<Ids> given_answers(const JsonValue& root, const ModelRequest& request,
                               std::size_t samples, const std::string& text,
                               const std::string& place) {
  const auto& tokenizer = request.folder->writing_tokenizer();
  if (!tokenizer) throw *request.folder->no_tokenizer;
  const auto ids_of = [&](const std::string& whole) {
    Ids ids;
    for (const TextToken& token : tokenizer->encode(whole, std::nullopt, false, place)) {
      ids.push_back(token.id);
    }
    return ids;
  };
  const Ids alone = ids_of(text);
  if (alone.empty()) {
    throw input_error(translated("the text has no tokens"), place,
                      translated("give a text with at least a word"));
  }
  std::vector<Ids> given(samples, alone);
  for (std::size_t b = 0; b < samples; ++b) {
    const std::string* before = text_before(root, request, b);
    if (before == nullptr) continue;
    const Ids prompt = ids_of(*before), whole = ids_of(*before + text);
    if (whole.size() <= prompt.size()) continue;
    if (!std::equal(prompt.begin(), prompt.end(), whole.begin())) continue;
    given[b].assign(whole.begin() + static_cast<std::ptrdiff_t>(prompt.size()), whole.end());
  }
  return given;
}

// Throws for more tokens than the model's positions or the limits allow, before they take memory.
void check_room(const ModelRequest& request, std::size_t prompt, std::size_t count,
                const Limits& limits, const std::string& place) {
  const Architecture& model = request.folder->architecture;
  const auto longest = longest_text(model, request.folder->weights, last_stack(request));
  if (longest && count > *longest - std::min(prompt, *longest)) {
    throw input_error(
        translated("{1} tokens after {2} are more than the model's positions, which end after {3}",
                   count, prompt, *longest),
        place,
        prompt < *longest ? translated("give at most {1}", *longest - prompt)
                          : translated("shorten the text"));
  }
  const double length = as_real(prompt) + as_real(count);
  const double maps = as_real(last_stack(request).layers.size()) * length *
                      (request.options.wanted.weights ? as_real(model.heads) * length : 1);
  if (maps <= static_cast<double>(limits.elements)) return;
  throw input_error(
      translated("a text of {1} tokens asks for {2} elements or more, and the limit is {3}",
                 number_text(length), number_text(maps), limits.elements),
      place, translated("give fewer tokens, or raise the limit with Limits::elements"));
}

}  // namespace

void refuse_conversations(const JsonValue& root, const ModelFolder& folder,
                          const FileAccess& access) {
  const JsonValue *chat = root.find("chat"), *messages = root.find("messages");
  const bool asked = chat != nullptr && expect_boolean(*chat, "/chat");
  if (!asked && messages == nullptr) return;
  throw input_error(
      has_chat_template(folder, access)
          ? translated("the model's chat template is a program in the language Jinja, which is not "
                       "run here")
          : translated("the model has no chat template"),
      messages != nullptr ? "/messages" : "/chat",
      translated("write the conversation with the model's own special tokens in \"text\", or give "
                 "in \"token_ids\" (DocumentOptions::token_ids) the ids that its own library makes "
                 "of it"));
}

void read_answer(const JsonValue& root, const FileAccess& access, ModelRequest& request) {
  const JsonValue *generate = root.find("generate"), *given = root.find("continue");
  if (generate == nullptr && given == nullptr) return;
  if (generate != nullptr && given != nullptr) {
    throw input_error(translated("\"generate\" and \"continue\" cannot both be given"), "/continue",
                      translated("leave one of them out"));
  }
  const std::string place = generate != nullptr ? "/generate" : "/continue";
  refuse_models_without_generation(request, place);
  std::vector<Ids>& samples = extended_ids(request);
  AnswerRequest answer;
  if (generate != nullptr) {
    answer.most_tokens = static_cast<std::size_t>(expect_integer(*generate, place, 1));
    answer.end_ids = end_tokens(*request.folder, access);
    answer.rules = generation_rules(*request.folder, access);
  } else {
    answer.given =
        given_answers(root, request, samples.size(), expect_string(*given, place), place);
  }
  const auto added = [&](std::size_t sample) {
    return answer.given.empty() ? answer.most_tokens : answer.given[sample].size();
  };
  for (std::size_t b = 0; b < samples.size(); ++b) {
    check_room(request, samples[b].size(), added(b), access.limits, place);
    request.prompts.push_back(samples[b].size());
  }
  for (std::size_t b = 0; b < samples.size(); ++b) {
    samples[b].resize(request.prompts[b] + added(b));
  }
  request.answer = std::move(answer);
}

void complete_answer(Plan& plan, std::size_t threads,
                     const std::function<void(std::size_t done, std::size_t all)>& generated) {
  ModelRequest* const request = model_of(plan);
  if (request == nullptr || !request->answer) return;
  const ModelFolder& folder = *request->folder;
  ModelReport& report = *plan.model;
  const bool decoder = last_stack(*request).crosses;
  std::vector<Ids>& samples = extended_ids(*request);
  // 1. The answer.
  ModelOptions options = request->options;
  options.threads = threads;
  for (std::size_t b = 0; b < samples.size(); ++b) samples[b].resize(request->prompts[b]);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t b = 0; b < samples.size(); ++b) {
    const std::size_t most = request->answer->most_tokens;
    const auto generated_here = [&](std::size_t done) {
      if (generated) generated(b * most + done, samples.size() * most);
    };
    Answer answer = answer_to({folder.architecture, folder.weights, request->texts, options}, b,
                              *request->answer, generated_here);
    report.generated.push_back(
        {request->prompts[b], std::move(answer.ids), {}, std::move(answer.probabilities)});
  }
  if (request->answer->given.empty()) {
    report.generation_seconds = seconds_since(start);
  }
  report.answer_parts = request->parts.names;
  for (std::size_t n = 0; n < last_stack(*request).layers.size(); ++n) {
    if (request->options.wanted.chooses_map(last_stack(*request), n))
      report.answer_layers.push_back(n);
  }
  // 2. The texts with it.
  auto& tokens = decoder ? report.decoder_tokens : report.tokens;
  for (std::size_t b = 0; b < samples.size(); ++b) {
    GeneratedText& own = report.generated[b];
    samples[b].insert(samples[b].end(), own.ids.begin(), own.ids.end());
    request->options.wanted.predicted[b] = {samples[b].size() - 1};
    if (!folder.writing_tokenizer()) continue;
    const std::vector<std::string> all = written_tokens(folder.writing_tokenizer(), samples[b]);
    own.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(own.prompt), all.end());
    tokens[b].insert(tokens[b].end(), own.tokens.begin(), own.tokens.end());
  }
  // 3. What the plan says about them.
  const std::string name = decoder ? "decoder.token_ids" : "token_ids";
  const Tensor ids = padded_ids(samples);
  for (auto& [of, shape] : plan.shapes) {
    if (of == name) shape = ids.shape();
  }
  for (NamedTensor& one : plan.tokens) {
    if (one.name == name) one.tensor = ids;
  }
  std::vector<PlannedAttention> attentions = attentions_of(plan.computation);
  for (std::size_t at = 0; at < attentions.size(); ++at) {
    Labels& labels = attentions[at].labels = std::move(plan.attentions[at].labels);
    const auto complete = [&](std::vector<std::vector<std::string>>& lists) {
      for (std::size_t b = 0; b < lists.size(); ++b) {
        const GeneratedText& own = report.generated[b];
        lists[b].resize(own.prompt);
        for (std::size_t i = 0; i < own.ids.size(); ++i) {
          lists[b].push_back(own.tokens.empty() ? std::to_string(own.ids[i]) : own.tokens[i]);
        }
        lists[b].resize(ids.shape()[1]);
      }
    };
    if (attentions[at].name.in_decoder() != decoder) continue;
    complete(labels.query);
    if (!attentions[at].name.is_cross()) complete(labels.key);
  }
  plan.attentions = std::move(attentions);
}

}  // namespace attn
