#include "tokens/tokenizer_config.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "attn/error.hpp"

#include "tokens/stage.hpp"

namespace attn {

TokenizerConfig::TokenizerConfig(std::optional<std::string_view> text)
    : root_{JsonValue::Object{}} {
  if (!text) return;
  root_ = parse_json_by_element(*text, 512);
  if (!root_.is(JsonValue::Type::object)) {
    throw input_error("expected an object, found " + std::string(type_text(root_)), "",
                      "take the file as it was published");
  }
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

std::optional<std::string> TokenizerConfig::token(std::string_view key) const {
  const Stage root{root_, ""};
  const JsonValue* found = root.find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is(JsonValue::Type::object)) return Stage{*found, root.at(key)}.string("content");
  return root.string(key);
}

TokenizerConfig::Added TokenizerConfig::added() const {
  const Stage root{root_, ""};
  const JsonValue* list = root.find("added_tokens_decoder");
  Added result;
  if (list == nullptr) return result;
  const std::string where = root.at("added_tokens_decoder");
  if (!list->is(JsonValue::Type::object)) {
    throw input_error("expected an object, found " + std::string(type_text(*list)), where,
                      "take the file as it was published");
  }
  std::vector<std::pair<TokenId, AddedToken>> all;
  for (const JsonMember& member : list->members()) {
    const Stage entry{member.value, pointer_to(where, member.key)};
    TokenId id = 0;
    const char* const end = member.key.data() + member.key.size();
    if (std::from_chars(member.key.data(), end, id).ptr != end || member.key.empty()) {
      throw input_error("expected the id of a token", entry.where,
                        "take the file as it was published");
    }
    AddedToken token;
    token.content = entry.string("content");
    token.single_word = entry.boolean("single_word", false);
    token.strip_left = entry.boolean("lstrip", false);
    token.strip_right = entry.boolean("rstrip", false);
    token.special = entry.boolean("special", false);
    token.normalized = entry.boolean("normalized", !token.special);
    if (!token.content.empty()) all.emplace_back(id, std::move(token));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [id, token] : all) {
    result.ids.emplace_back(id);
    result.tokens.push_back(std::move(token));
  }
  return result;
}

}  // namespace attn
