#include "tokens/tokenizer_config.hpp"

#include <algorithm>
#include <utility>

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

JsonValue object_of(std::optional<std::string_view> text) {
  if (!text) return JsonValue{JsonValue::Object{}};
  JsonValue root = parse_json_by_element(*text, 512);
  if (root.is(JsonValue::Type::object)) return root;
  throw input_error(translated("expected an object, found {1}", translated(type_text(root))), "",
                    translated("use the file as published"));
}

bool present_in(const JsonValue& object, std::string_view key) {
  return Stage(object, "").find(key) != nullptr;
}

// Adds a special token that a tokenizer has by default, unless the configuration lists it.
void add_special(std::vector<AddedToken>& added, const std::string& content, bool strip_left) {
  const bool known = std::any_of(added.begin(), added.end(),
                                 [&](const AddedToken& t) { return t.content == content; });
  if (known || content.empty()) return;
  AddedToken token;
  token.content = content;
  token.special = true;
  token.strip_left = strip_left;
  added.push_back(token);
}

}  // namespace

TokenizerConfig::TokenizerConfig(const TokenizerFiles& files)
    : root_(in_file(tokenizer_config_name, [&] { return object_of(files.tokenizer_config); })),
      special_(in_file(special_tokens_name, [&] { return object_of(files.special_tokens_map); })),
      added_(in_file(added_tokens_name, [&] { return object_of(files.added_tokens); })) {}

std::string TokenizerConfig::class_name() const {
  constexpr std::string_view suffix = "Fast";
  std::string name = string("tokenizer_class").value_or("");
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

bool TokenizerConfig::boolean(std::string_view key, bool otherwise) const {
  return Stage(root_, "").boolean(key, otherwise);
}

std::optional<std::string> TokenizerConfig::string(std::string_view key) const {
  return Stage(root_, "").optional_string(key);
}

std::int64_t TokenizerConfig::integer(std::string_view key, std::int64_t otherwise,
                                      std::int64_t most) const {
  const Stage root(root_, "");
  return root.find(key) == nullptr ? otherwise : root.integer(key, most);
}

std::optional<std::string> TokenizerConfig::token(std::string_view key) const {
  const bool own = present_in(root_, key);
  const Stage root(own ? root_ : special_, "");
  const JsonValue* found = root.find(key);
  if (found == nullptr) return std::nullopt;
  return in_file(own ? tokenizer_config_name : special_tokens_name, [&] {
    if (found->is(JsonValue::Type::object)) return Stage(*found, root.place(key)).string("content");
    return root.string(key);
  });
}

const JsonValue& TokenizerConfig::listed() const {
  static const JsonValue nothing{JsonValue::Object{}};
  const JsonValue* list = Stage(root_, "").find("added_tokens_decoder");
  return list == nullptr ? nothing : *list;
}

void TokenizerConfig::append_named(std::vector<std::pair<TokenId, AddedToken>>& all) const {
  for (const JsonMember& member : added_.members()) {
    const std::string where = pointer_to("", member.key);
    const bool whole = member.value.is(JsonValue::Type::number) && member.value.is_integer();
    if (!whole || member.value.integer() < 0 || member.value.integer() > 0x7FFFFFFF) {
      throw input_error(translated("expected the id of a token"), where,
                        translated("use the file as published"));
    }
    AddedToken token;
    token.content = member.key;
    token.normalized = true;
    token.place = added_tokens_name + ", " + where;
    const auto id = static_cast<TokenId>(member.value.integer());
    if (!token.content.empty() && !present_in(listed(), std::to_string(id))) {
      all.emplace_back(id, std::move(token));
    }
  }
}

void TokenizerConfig::append_listed(std::vector<std::pair<TokenId, AddedToken>>& all) const {
  const JsonValue& list = listed();
  const std::string where = "/added_tokens_decoder";
  if (!list.is(JsonValue::Type::object)) {
    throw input_error(translated("expected an object, found {1}", translated(type_text(list))),
                      where, translated("use the file as published"));
  }
  for (const JsonMember& member : list.members()) {
    const Stage entry(member.value, pointer_to(where, member.key));
    TokenId id = 0;
    if (!parse_number(member.key, id)) {
      throw input_error(translated("expected the id of a token"), entry.place(),
                        translated("use the file as published"));
    }
    AddedToken token = read_added_token(entry, false);
    token.place = tokenizer_config_name + ", " + entry.place();
    if (!token.content.empty()) all.emplace_back(id, std::move(token));
  }
}

TokenizerConfig::Added TokenizerConfig::added() const {
  std::vector<std::pair<TokenId, AddedToken>> all;
  in_file(added_tokens_name, [&] { append_named(all); });
  in_file(tokenizer_config_name, [&] { append_listed(all); });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Added result;
  for (auto& [id, token] : all) {
    result.ids.emplace_back(id);
    result.tokens.push_back(std::move(token));
  }
  return result;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_class(const std::string& name, const std::string& files) {
  throw input_error(
      translated("the tokenizer {1} cannot be made from {2} alone", in_quotes(name), files),
      tokenizer_config_name + ", /tokenizer_class",
      translated("save it as tokenizer.json, with Python: "
                 "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"));
}

AddedTokens added_tokens_of(const TokenizerConfig& config, const TokenTable& tokens,
                            const std::vector<NamedToken>& special, bool mask_strips,
                            const std::vector<Normalizer>& normalizers) {
  TokenizerConfig::Added numbered = config.added();
  std::vector<AddedToken>& added = numbered.tokens;
  std::vector<std::optional<TokenId>>& ids = numbered.ids;
  for (const auto& [key, otherwise] : special) {
    const std::string content = config.token(key).value_or(std::string(otherwise));
    if (tokens.find(content)) add_special(added, content, mask_strips && key == "mask_token");
  }
  ids.resize(added.size());
  number_added_tokens(added, tokens, ids);
  return {std::move(added), normalizers, tokenizer_config_name + ", /added_tokens_decoder"};
}

TokenId id_of(const TokenTable& tokens, const std::string& token, const std::string& where) {
  if (const auto id = tokens.find(token)) return *id;
  throw input_error(translated("the token {1} is not in the vocabulary", in_quotes(token)), where,
                    translated("use the files of the folder as published together"));
}

}  // namespace attn
