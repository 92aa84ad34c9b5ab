#include "document/answer_reader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "attn/error.hpp"

#include "models/checkpoint.hpp"
#include "models/pass.hpp"
#include "plot/text/token_spans.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::string_view prompt_name = "prompt", answer_name = "answer",
                           first_name = "first_token", sink_name = "sink";

const ModelStack& last_stack(const ModelRequest& request) {
  return request.folder->architecture.stacks.back();
}

std::vector<Ids>& extended_ids(ModelRequest& request) {
  return last_stack(request).crosses ? request.texts.decoder_ids : request.texts.ids;
}

std::string place_of_answer(const JsonValue& root) {
  return root.find("generate") != nullptr ? "/generate" : "/continue";
}

}  // namespace

void refuse_models_without_generation(const JsonValue& root, const ModelRequest& request) {
  if (root.find("generate") == nullptr && root.find("continue") == nullptr) return;
  const std::string place = place_of_answer(root);
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

namespace {

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
  const double most = static_cast<double>(limits.elements);
  if (maps <= most) return;
  throw input_error(
      translated("a text of {1} tokens asks for {2} elements or more, and the limit is {3}",
                 number_text(length), amount_text(maps, most), limit_text(most)),
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
  const std::string place = place_of_answer(root);
  refuse_models_without_generation(root, request);
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

namespace {

// The parts of a sample with its answer: those that the document names or, of a chat, its turns, or
// the prompt; and the answer.
std::vector<AxisSpan> parts_of_answer(const std::vector<std::string>& labels,
                                      const AnswerParts& named, std::size_t sample,
                                      const GeneratedText& own) {
  std::vector<AxisSpan> parts;
  if (named.wanted && sample < named.columns.size()) {
    const std::vector<std::size_t>& columns = named.columns[sample];
    for (std::size_t first = 0, end = 0; first < columns.size(); first = end) {
      while (end < columns.size() && columns[end] == columns[first]) ++end;
      parts.push_back({named.names[columns[first]], first, end});
    }
  } else {
    const std::size_t count = std::min(own.prompt, labels.size());
    parts = turns_of({labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(count)});
  }
  if (parts.empty()) parts.push_back({std::string(prompt_name), 0, own.prompt});
  if (!own.ids.empty())
    parts.push_back({std::string(answer_name), own.prompt, own.prompt + own.ids.size()});
  return parts;
}

}  // namespace

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
    if (!labels.query_spans.empty()) continue;
    for (std::size_t b = 0; b < report.generated.size(); ++b) {
      labels.query_spans.push_back(parts_of_answer(Labels::of_sample(labels.query, b),
                                                   request->parts, b, report.generated[b]));
    }
    if (!attentions[at].name.is_cross()) labels.key_spans = labels.query_spans;
  }
  plan.attentions = std::move(attentions);
}

namespace {

/// A part by the characters that it begins with and ends before.
struct Range {
  std::string name;
  std::size_t from = 0, to = 0;
};

std::vector<Range> read_ranges(const JsonValue& parts) {
  std::vector<Range> ranges;
  for (const JsonMember& member :
       expect_object(parts, "/parts", translated("write {1}", R"({"name": [0, 12]})")).members()) {
    const std::string at = pointer_to("/parts", member.key);
    constexpr std::array own{prompt_name, answer_name, first_name, sink_name};
    if (member.key.empty() || std::ranges::count(own, member.key) > 0) {
      throw input_error(translated("a part cannot have the name {1}", in_quotes(member.key)), at,
                        translated("choose another: prompt, answer, first_token and sink are "
                                   "parts of their own"));
    }
    if (!member.value.is(JsonValue::Type::array) || member.value.size() != 2) {
      throw input_error(translated("expected two numbers of characters, from and to, found {1}",
                                   translated(type_text(member.value))),
                        at, translated("give [from, to], such as [0, 120]"));
    }
    const auto end = [&](std::size_t i) {
      return static_cast<std::size_t>(
          expect_integer(member.value.element(i), pointer_to(at, i), 0));
    };
    Range range{member.key, end(0), end(1)};
    if (range.from >= range.to) {
      throw input_error(translated("the part {1} from {2} to {3} is empty", in_quotes(range.name),
                                   range.from, range.to),
                        at, translated("let it end after the character that it begins with"));
    }
    for (const Range& other : ranges) {
      // Documents cannot have a key twice, options can.
      if (other.name == range.name) {
        throw input_error(translated("the key {1} is given twice", in_quotes(range.name)), at,
                          translated("remove one of the two"));
      }
      if (range.from >= other.to || other.from >= range.to) continue;
      throw input_error(
          translated("the parts {1} and {2} overlap", in_quotes(other.name), in_quotes(range.name)),
          at, translated("let each character belong to one part"));
    }
    ranges.push_back(std::move(range));
  }
  if (ranges.empty()) {
    throw input_error(translated("there are no parts"), "/parts",
                      translated("name at least one, or leave \"parts\" out"));
  }
  return ranges;
}

// The part of each token by the characters; absent = none.
using PartOfToken = std::vector<std::optional<std::size_t>>;

// `text` is a pointer to the prompt's text, for errors; empty = it is the only one.
PartOfToken by_ranges(const std::vector<Range>& ranges, const Prompt& prompt,
                      const std::string& text) {
  const auto refuse = [&](const Range& range, const std::string& problem, const std::string& help) {
    throw input_error(text.empty() ? problem : translated("in {1}, {2}", text, problem),
                      pointer_to("/parts", range.name), help);
  };
  for (const Range& range : ranges) {
    if (range.to <= prompt.characters) continue;
    refuse(range,
           translated("the part {1} ends at character {2}, and the text has {3}",
                      in_quotes(range.name), range.to, prompt.characters),
           translated("let it end within the text"));
  }
  PartOfToken parts;
  std::vector<std::size_t> tokens(ranges.size());
  // Where the last token before each part begins; the first of all cannot be in it.
  std::vector<std::optional<std::size_t>> before(ranges.size());
  std::vector<bool> has_first(ranges.size());
  for (const PromptToken& token : prompt.tokens) {
    const bool first = parts.empty();
    auto& part = parts.emplace_back();
    for (std::size_t at = 0; at < ranges.size() && token.character; ++at) {
      if (!first && *token.character < ranges[at].from) before[at] = token.character;
      if (*token.character < ranges[at].from || *token.character >= ranges[at].to) continue;
      part = at;
      if (first) has_first[at] = true;
      tokens[at] += first ? 0 : 1;
    }
  }
  for (std::size_t at = 0; at < ranges.size(); ++at) {
    const Range& range = ranges[at];
    if (tokens[at] > 0) continue;
    if (has_first[at]) {
      refuse(range,
             translated("the only token of the part {1} is the first of all, which is a part of "
                        "its own",
                        in_quotes(range.name)),
             translated("let it end after the next token, or leave it out"));
    }
    refuse(range,
           translated("no token begins in the part {1}, from character {2} to {3}",
                      in_quotes(range.name), range.from, range.to),
           before[at]
               ? translated("let it begin at character {1}, with the token before it", *before[at])
               : translated("let it end later, or leave it out"));
  }
  return parts;
}

// Parts between special tokens, counted from 0.
PartOfToken by_special_tokens(const Prompt& prompt) {
  PartOfToken parts;
  std::size_t next = 0;
  bool inside = false;
  for (const PromptToken& token : prompt.tokens) {
    if (token.special && inside) ++next;
    inside = !token.special;
    parts.push_back(inside ? std::optional(next) : std::nullopt);
  }
  return parts;
}

std::size_t count_of(const PartOfToken& parts) {
  std::size_t count = 0;
  for (const auto& part : parts) count = std::max(count, part ? *part + 1 : 0);
  return count;
}

void check_parts(const JsonValue& parts, const std::vector<Prompt>& prompts,
                 const ModelRequest& request) {
  if (!request.answer) {
    throw input_error(translated("there is no answer whose attention the parts could share"),
                      "/parts", translated("add \"generate\" or \"continue\", or leave it out"));
  }
  if (prompts.empty()) {
    throw input_error(translated("only texts have parts"), "/parts",
                      translated("give \"text\" instead of token ids, or the parts \"special\""));
  }
  if (parts.is(JsonValue::Type::string) && parts.string() != "special") {
    throw input_error(translated("unknown parts {1}", in_quotes(parts.string())), "/parts",
                      translated("give \"special\", or {\"NAME\": [from, to], …} in characters"));
  }
}

// The part of each token of each prompt, as "parts" says. Adds the parts' names to `names`.
std::vector<PartOfToken> given_parts(const JsonValue& parts, const std::vector<Prompt>& prompts,
                                     std::vector<std::string>& names) {
  std::vector<PartOfToken> of_samples;
  if (parts.is(JsonValue::Type::string)) {
    std::size_t most = 0;
    for (const Prompt& prompt : prompts) {
      of_samples.push_back(by_special_tokens(prompt));
      most = std::max(most, count_of(of_samples.back()));
    }
    for (std::size_t part = 0; part < most; ++part) {
      names.push_back("part_" + std::to_string(part + 1));
    }
    return of_samples;
  }
  const std::vector<Range> ranges = read_ranges(parts);
  for (std::size_t b = 0; b < prompts.size(); ++b) {
    const std::string text = prompts.size() > 1 ? pointer_to("/text", b) : "";
    of_samples.push_back(by_ranges(ranges, prompts[b], text));
  }
  for (const Range& range : ranges) names.push_back(range.name);
  return of_samples;
}

}  // namespace

Prompt prompt_of(std::string_view text, const std::vector<TextToken>& tokens) {
  // Tokens come in their order: each character is counted once.
  std::size_t counted = 0, count = 0;
  const auto characters = [&](std::size_t bytes) {
    if (bytes < counted) counted = count = 0;
    for (; counted < bytes; ++counted) count += continues_character(text[counted]) ? 0 : 1;
    return count;
  };
  Prompt prompt;
  for (const TextToken& token : tokens) {
    PromptToken& own = prompt.tokens.emplace_back();
    if (token.text == 0) {
      const std::size_t word = text.find_first_not_of(" \t\n", token.begin);
      own.character = characters(word < token.end ? word : token.begin);
    }
    own.special = token.special;
  }
  prompt.characters = characters(text.size());
  return prompt;
}

Prompt prompt_of(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer) {
  Prompt prompt;
  for (const std::int64_t id : ids) {
    prompt.tokens.push_back({std::nullopt, tokenizer.is_special(id)});
  }
  return prompt;
}

AnswerParts read_answer_parts(const JsonValue* parts, const std::vector<Prompt>& prompts,
                              const ModelRequest& request) {
  if (parts != nullptr) check_parts(*parts, prompts, request);
  if (!request.answer) return {};
  const bool crosses = request.folder->architecture.encoder_decoder();
  AnswerParts own;
  own.wanted = parts != nullptr;
  std::vector<PartOfToken> of_samples;
  if (parts != nullptr) {
    of_samples = given_parts(*parts, prompts, own.names);
  } else {
    for (std::size_t b = 0; b < request.prompts.size(); ++b) {
      of_samples.emplace_back(crosses ? request.texts.ids[b].size() : request.prompts[b]);
    }
  }
  // Tokens in no part, but for the first, which is a part of its own.
  const bool others = std::ranges::any_of(of_samples, [](const PartOfToken& tokens) {
    return std::any_of(tokens.begin() + 1, tokens.end(),
                       [](const auto& part) { return !part.has_value(); });
  });
  const std::size_t other = own.names.size();
  if (others) own.names.emplace_back(prompt_name);
  if (!crosses) own.names.emplace_back(answer_name);
  own.answer = own.names.size() - 1;
  own.names.emplace_back(first_name);
  const std::size_t first = own.names.size() - 1;
  const ModelFolder& folder = *request.folder;
  std::vector<bool> sinks =
      layers_with_sinks(folder.architecture, folder.weights, folder.architecture.stacks.back());
  if (!crosses && std::ranges::count(sinks, true) > 0) {
    own.names.emplace_back(sink_name);
    own.sinks = std::move(sinks);
  }
  for (const PartOfToken& tokens : of_samples) {
    std::vector<std::size_t>& columns = own.columns.emplace_back();
    for (const auto& part : tokens) columns.push_back(part.value_or(other));
    columns.front() = first;
  }
  return own;
}

}  // namespace attn
