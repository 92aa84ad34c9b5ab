#include "tokens/tokenizer_config.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tokens/folder_tokens.hpp"
#include "tokens/stage.hpp"

namespace attn {
namespace {

JsonValue object_of(std::optional<std::string_view> text) {
  if (!text) return JsonValue{JsonValue::Object{}};
  JsonValue root = parse_json_by_element(*text, 512);
  if (root.is(JsonValue::Type::object)) return root;
  throw input_error(translated("expected an object, found {1}", translated(type_text(root))), "",
                    translated("take the file as it was published"));
}

bool present_in(const JsonValue& object, std::string_view key) {
  return Stage{object, ""}.find(key) != nullptr;
}

}  // namespace

TokenizerConfig::TokenizerConfig(std::optional<std::string_view> text) : root_(object_of(text)) {}

void TokenizerConfig::take_special_tokens(std::optional<std::string_view> text) {
  special_ = object_of(text);
}

void TokenizerConfig::take_added_tokens(std::optional<std::string_view> text) {
  added_ = object_of(text);
}

std::string TokenizerConfig::class_name() const {
  constexpr std::string_view suffix = "Fast";
  std::string name = string("tokenizer_class").value_or("");
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

bool TokenizerConfig::boolean(std::string_view key, bool otherwise) const {
  return Stage{root_, ""}.boolean(key, otherwise);
}

std::optional<std::string> TokenizerConfig::string(std::string_view key) const {
  return Stage{root_, ""}.optional_string(key);
}

std::int64_t TokenizerConfig::integer(std::string_view key, std::int64_t otherwise,
                                      std::int64_t most) const {
  const Stage root{root_, ""};
  return root.find(key) == nullptr ? otherwise : root.integer(key, most);
}

std::optional<std::string> TokenizerConfig::token(std::string_view key) const {
  const bool own = present_in(root_, key);
  const Stage root{own ? root_ : special_, ""};
  const JsonValue* found = root.find(key);
  if (found == nullptr) return std::nullopt;
  return in_file(own ? tokenizer_config_name : special_tokens_name, [&] {
    if (found->is(JsonValue::Type::object)) return Stage{*found, root.at(key)}.string("content");
    return root.string(key);
  });
}

const JsonValue& TokenizerConfig::listed() const {
  static const JsonValue nothing{JsonValue::Object{}};
  const JsonValue* list = Stage{root_, ""}.find("added_tokens_decoder");
  return list == nullptr ? nothing : *list;
}

void TokenizerConfig::append_named(std::vector<std::pair<TokenId, AddedToken>>& all) const {
  for (const JsonMember& member : added_.members()) {
    const std::string where = pointer_to("", member.key);
    const bool whole = member.value.is(JsonValue::Type::number) && member.value.is_integer();
    if (!whole || member.value.integer() < 0 || member.value.integer() > 0x7FFFFFFF) {
      throw input_error(translated("expected the id of a token"), where,
                        translated("take the file as it was published"));
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
                      where, translated("take the file as it was published"));
  }
  for (const JsonMember& member : list.members()) {
    const Stage entry{member.value, pointer_to(where, member.key)};
    TokenId id = 0;
    const char* const end = member.key.data() + member.key.size();
    const auto [read_to, error] = std::from_chars(member.key.data(), end, id);
    if (error != std::errc() || read_to != end) {
      throw input_error(translated("expected the id of a token"), entry.where,
                        translated("take the file as it was published"));
    }
    AddedToken token;
    token.content = entry.string("content");
    token.single_word = entry.boolean("single_word", false);
    token.strip_left = entry.boolean("lstrip", false);
    token.strip_right = entry.boolean("rstrip", false);
    token.special = entry.boolean("special", false);
    token.normalized = entry.boolean("normalized", !token.special);
    token.place = tokenizer_config_name + ", " + entry.where;
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

}  // namespace attn
