#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "document/answer_reader.hpp"
#include "models/checkpoint.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view prompt_name = "prompt", answer_name = "answer",
                           first_name = "first_token", sink_name = "sink";

/// A part by the characters that it begins with and ends before.
struct Range {
  std::string name;
  std::size_t from = 0, to = 0;
};

std::vector<Range> read_ranges(const JsonValue& parts) {
  std::vector<Range> ranges;
  for (const JsonMember& member : expect_object(parts, "/parts").members()) {
    const std::string at = pointer_to("/parts", member.key);
    constexpr std::array own{prompt_name, answer_name, first_name, sink_name};
    if (member.key.empty() || std::ranges::count(own, member.key) > 0) {
      throw input_error(translated("a part cannot have the name {1}", in_quotes(member.key)), at,
                        translated("choose another: {1} and the like stand for what is in no part",
                                   in_quotes(std::string(prompt_name))));
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
