#include "tokens/text_template.hpp"

#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::int64_t most_types = 1'000'000;

TokenId read_id(const JsonValue& value, std::size_t tokens, const std::string& where) {
  if (!value.is(JsonValue::Type::number) || !value.is_integer() || value.integer() < 0 ||
      static_cast<std::uint64_t>(value.integer()) >= tokens) {
    throw input_error(translated("expected the id of one of the {1} tokens, found {2}", tokens,
                                 (value.is(JsonValue::Type::number) && value.is_integer()
                                      ? std::to_string(value.integer())
                                      : translated(type_text(value)))),
                      where, translated("take the file as it was published"));
  }
  return static_cast<TokenId>(value.integer());
}

// ["[SEP]", 102]
TokenId read_named_id(const Stage& stage, std::string_view key, std::size_t tokens) {
  const JsonValue& pair = expect_list(stage.need(key), stage.at(key));
  if (pair.size() != 2) {
    throw input_error(translated("expected a token and its id"), stage.at(key),
                      R"(give ["[SEP]", 102])");
  }
  return read_id(pair.element(1), tokens, pointer_to(stage.at(key), 1));
}

std::vector<TokenId> read_special(const Stage& stage, const std::string& name, std::size_t tokens) {
  const std::string list_at = stage.at("special_tokens");
  const Stage list{stage.need("special_tokens"), list_at};
  const JsonValue* special = list.find(name);
  if (special == nullptr) {
    throw input_error(
        translated("the template puts {1} around texts, which is not among its special tokens",
                   in_quotes(name)),
        list_at, translated("take the file as it was published"));
  }
  const Stage entry{*special, list.at(name)};
  const JsonValue& ids = expect_list(entry.need("ids"), entry.at("ids"));
  std::vector<TokenId> result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    result.push_back(read_id(ids.element(i), tokens, pointer_to(entry.at("ids"), i)));
  }
  return result;
}

std::vector<TextTemplate::Part> read_parts(const Stage& stage, std::string_view key,
                                           std::size_t tokens) {
  std::vector<TextTemplate::Part> parts;
  stage.each(key, [&](const Stage& part) {
    for (const std::string_view kind : {"Sequence", "SpecialToken"}) {
      const JsonValue* found = part.value.find(kind);
      if (found == nullptr) continue;
      const Stage inner{*found, part.at(kind)};
      TextTemplate::Part result;
      result.type = inner.integer("type_id", most_types);
      const std::string id = inner.string("id");
      if (kind == "SpecialToken") {
        result.ids = read_special(stage, id, tokens);
      } else if (id == "A" || (id == "B" && key == "pair")) {
        result.text = id == "A" ? 0 : 1;
      } else {
        throw input_error(translated("there is no text {1} in this template", in_quotes(id)),
                          inner.at("id"),
                          key == "pair" ? translated("give A or B") : translated("give A"));
      }
      parts.push_back(std::move(result));
      return;
    }
    throw input_error(
        translated("expected a part of a template, found {1}", translated(type_text(part.value))),
        part.where, R"(give {"Sequence": …} or {"SpecialToken": …})");
  });
  return parts;
}

// A post-processor that only moves offsets gives none.
std::optional<TextTemplate> read_any(const Stage& stage, std::size_t tokens) {
  const std::string& type = stage.type();
  if (type == "BertProcessing") {
    stage.expect_keys({"sep", "cls"});
    return enclosing_template(read_named_id(stage, "cls", tokens),
                              read_named_id(stage, "sep", tokens), false);
  }
  if (type == "RobertaProcessing") {
    stage.expect_keys({"sep", "cls", "trim_offsets", "add_prefix_space"});
    return enclosing_template(read_named_id(stage, "cls", tokens),
                              read_named_id(stage, "sep", tokens), true);
  }
  if (type == "TemplateProcessing") {
    stage.expect_keys({"single", "pair", "special_tokens"});
    return TextTemplate{read_parts(stage, "single", tokens), read_parts(stage, "pair", tokens)};
  }
  if (type == "ByteLevel") {
    stage.expect_keys({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::nullopt;
  }
  if (type == "Sequence") {
    stage.expect_keys({"processors"});
    std::optional<TextTemplate> result;
    stage.each("processors", [&](const Stage& processor) {
      auto found = read_any(processor, tokens);
      if (found && result) {
        throw input_error(
            translated("two post-processors put tokens around the text, which is not supported"),
            processor.where, translated("leave out one of the two"));
      }
      if (found) result = std::move(found);
    });
    return result;
  }
  refuse_type(
      stage, translated("the post-processor"),
      {"BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"});
}

}  // namespace

TextTemplate enclosing_template(TokenId first, TokenId last, bool doubled) {
  const std::int64_t second = doubled ? 0 : 1;
  TextTemplate result;
  result.single = {{-1, 0, {first}}, {0, 0, {}}, {-1, 0, {last}}};
  result.pair = result.single;
  if (doubled) result.pair.push_back({-1, 0, {last}});
  result.pair.push_back({1, second, {}});
  result.pair.push_back({-1, second, {last}});
  return result;
}

TextTemplate read_template(const Stage& stage, std::size_t tokens) {
  return read_any(stage, tokens).value_or(TextTemplate{});
}

}  // namespace attn
