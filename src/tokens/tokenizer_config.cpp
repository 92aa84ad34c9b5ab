#include "tokens/tokenizer_config.hpp"

#include <algorithm>
#include <array>
#include <tuple>
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

auto same_flags_as(const AddedToken& token) {
  return [&token](const AddedToken& other) {
    const auto flags = [](const AddedToken& one) {
      return std::tie(one.content, one.single_word, one.strip_left, one.strip_right,
                      one.normalized);
    };
    return flags(token) == flags(other);
  };
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

std::optional<bool> TokenizerConfig::optional_boolean(std::string_view key) const {
  const Stage root(root_, "");
  return root.find(key) == nullptr ? std::nullopt : std::optional(root.boolean(key));
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
  const bool own = present_in(root_, key) && (lists_tokens() || !present_in(special_, key));
  const Stage root(own ? root_ : special_, "");
  const JsonValue* found = root.find(key);
  if (found == nullptr) return std::nullopt;
  return in_file(own ? tokenizer_config_name : special_tokens_name, [&] {
    if (found->is(JsonValue::Type::object)) return Stage(*found, root.place(key)).string("content");
    return root.string(key);
  });
}

bool TokenizerConfig::has(std::string_view key) const {
  const auto has_key = [&](const JsonValue& object) {
    return std::ranges::any_of(object.members(),
                               [&](const JsonMember& member) { return member.key == key; });
  };
  return has_key(root_) || (!lists_tokens() && has_key(special_));
}

std::vector<std::string> TokenizerConfig::unknown_keys() const {
  constexpr auto known = std::to_array<std::string_view>(
      {// Read here, or of classes whose stages are the file's.
       "tokenizer_class", "add_prefix_space", "split_special_tokens", "do_lower_case",
       "strip_accents", "tokenize_chinese_chars", "do_basic_tokenize", "never_split",
       "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "add_bos_token",
       "add_eos_token", "src_lang", "tgt_lang", "legacy", "sp_model_kwargs", "remove_space",
       "keep_accents", "trim_offsets", "extra_ids", "vocab_type", "split_by_punct", "offset",
       "language_codes", "source_lang", "target_lang", "separate_vocabs", "wordpieces_prefix",
       "clean_text", "suffix_tokens", "prefix_tokens", "model_specific_special_tokens",
       // Of files, batches, texts that are written, and conversations.
       "name_or_path", "_name_or_path", "special_tokens_map_file", "tokenizer_file", "vocab_file",
       "merges_file", "init_inputs", "auto_map", "processor_class", "feature_extractor_type",
       "image_processor_type", "backend", "is_local", "local_files_only", "device", "device_map",
       "model_max_length", "max_len", "max_length", "padding", "padding_side", "truncation",
       "truncation_side", "truncation_strategy", "stride", "pad_to_multiple_of",
       "pad_token_type_id", "model_input_names", "return_token_type_ids", "return_tensors",
       "clean_up_tokenization_spaces",
       "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
       "spaces_between_special_tokens", "errors", "decoder", "chat_template", "response_schema",
       "response_template", "chat_control_tokens", "use_default_system_prompt", "verbose",
       "use_fast", "from_slow", "revision", "task_specific_params", "max_model_input_sizes",
       "do_sample", "tokenizer_type", "transformers_version", "added_tokens_file", "_commit_hash",
       "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"});
  std::vector<std::string> unknown;
  for (const JsonMember& member : root_.members()) {
    if (member.key.ends_with("_token") || std::ranges::count(known, member.key) > 0) continue;
    if (!member.value.is(JsonValue::Type::null)) unknown.push_back(member.key);
  }
  return unknown;
}

bool TokenizerConfig::lists_tokens() const {
  return present_in(root_, "added_tokens_decoder");
}

std::vector<std::pair<TokenId, AddedToken>> TokenizerConfig::beside_tokenizer_json() const {
  std::vector<std::pair<TokenId, AddedToken>> all;
  if (lists_tokens()) {
    in_file(tokenizer_config_name, [&] { append_listed(all); });
  } else {
    const std::vector<AddedToken> special = special_tokens();
    in_file(added_tokens_name, [&] { append_named(all); });
    for (auto& [id, token] : all) {
      token.special = std::ranges::count(special, token.content, &AddedToken::content) > 0;
      token.normalized = !token.special;
    }
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
  return all;
}

std::vector<AddedToken> TokenizerConfig::special_tokens(bool without_lists) const {
  constexpr std::array<std::string_view, 7> usual{
      "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
  std::vector<AddedToken> all, seen;
  const auto add = [&](const JsonValue& value, const std::string& file, const std::string& place) {
    const bool plain = value.is(JsonValue::Type::string);
    if (!plain && !value.is(JsonValue::Type::object)) return;
    AddedToken token;
    in_file(file, [&] {
      if (plain) {
        token.content = value.string();
      } else {
        token = read_added_token(Stage(value, place), false);
        if (value.find("normalized") == nullptr) token.normalized = false;
      }
    });
    token.special = true;
    token.place = file + ", " + place;
    if (token.content.empty() || std::ranges::any_of(seen, same_flags_as(token))) return;
    seen.push_back(token);
    const auto known = std::ranges::find(all, token.content, &AddedToken::content);
    if (known == all.end()) {
      all.push_back(std::move(token));
    } else {
      *known = std::move(token);
    }
  };
  // The map replaces keys of the configuration that lists no tokens.
  const std::string* const files[] = {&special_tokens_name, &tokenizer_config_name};
  const JsonValue* const objects[] = {&special_, &root_};
  const std::size_t first = lists_tokens() ? 1 : 0;
  const auto add_key = [&](std::string_view key, const auto& use) {
    for (std::size_t i = first; i < 2; ++i) {
      if (!present_in(*objects[i], key)) continue;
      use(*objects[i]->find(key), *files[i], pointer_to("", key));
      return;
    }
  };
  for (const std::string_view key : usual) add_key(key, add);
  for (std::size_t i = first; i < 2; ++i) {
    for (const JsonMember& member : objects[i]->members()) {
      const bool other =
          member.key.ends_with("_token") && std::ranges::count(usual, member.key) == 0;
      if (other) add_key(member.key, add);
    }
  }
  if (without_lists) return all;
  const auto add_list = [&](const JsonValue& list, const std::string& file,
                            const std::string& place) {
    if (list.is(JsonValue::Type::object)) {
      for (const JsonMember& own : list.members()) add(own.value, file, pointer_to(place, own.key));
    } else if (list.is(JsonValue::Type::array)) {
      for (std::size_t i = 0; i < list.size(); ++i)
        add(list.element(i), file, pointer_to(place, i));
    }
  };
  // One list counts: the new key's unless it is empty, else the old one's. The map's new key adds
  // to it, its old one counts where the configuration has neither.
  constexpr std::string_view lists[] = {"extra_special_tokens", "additional_special_tokens"};
  const auto add_lists = [&](const JsonValue& object, const std::string& file, bool old) {
    for (const std::string_view key : lists) {
      const JsonValue* list = Stage(object, "").find(key);
      if (list == nullptr || (key == lists[1] && !old)) continue;
      add_list(*list, file, pointer_to("", key));
      const bool names = list->is(JsonValue::Type::object);
      if (names ? !list->members().empty() : list->size() > 0) return;
    }
  };
  add_lists(root_, tokenizer_config_name, true);
  const bool neither = !present_in(root_, lists[0]) && !present_in(root_, lists[1]);
  if (!lists_tokens()) add_lists(special_, special_tokens_name, neither);
  return all;
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
