#include <algorithm>
#include <string_view>

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/tokenizer_config.hpp"

namespace attn {
namespace {

// The object with that member in the place of its own.
JsonValue with_member(const JsonValue& object, std::string_view key, JsonValue value) {
  JsonValue::Object members;
  for (const JsonMember& own : object.members()) {
    if (own.key != key) members->push_back(own);
  }
  members->push_back({std::string(key), std::move(value)});
  return JsonValue{std::move(members)};
}

bool is_stage(const JsonValue& stage, std::string_view type) {
  const JsonValue* own = stage.is(JsonValue::Type::object) ? stage.find("type") : nullptr;
  return own != nullptr && own->is(JsonValue::Type::string) && own->string() == type;
}

// The stage, or those of a Sequence, each as change() makes it; null takes one away.
template <class Change>
JsonValue each_stage(const JsonValue& own, const char* members, Change&& change) {
  const JsonValue* list = is_stage(own, "Sequence") ? own.find(members) : nullptr;
  if (list == nullptr || !list->is(JsonValue::Type::array)) return change(own);
  JsonValue::Array stages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    JsonValue stage = each_stage(list->element(i), members, change);
    if (!stage.is(JsonValue::Type::null)) stages->push_back(std::move(stage));
  }
  return with_member(own, members, JsonValue{std::move(stages)});
}

// Whether a stage puts a space before a text, if it is one that may.
std::optional<bool> puts_space_first(const JsonValue& stage) {
  const bool metaspace = is_stage(stage, "Metaspace");
  if (!metaspace && !is_stage(stage, "ByteLevel")) return std::nullopt;
  const JsonValue* scheme = metaspace ? stage.find("prepend_scheme") : nullptr;
  if (scheme != nullptr && scheme->is(JsonValue::Type::string)) return scheme->string() != "never";
  const JsonValue* flag = stage.find("add_prefix_space");
  return flag == nullptr || !flag->is(JsonValue::Type::boolean) || flag->boolean();
}

bool one_of_types(const std::string& type, std::initializer_list<std::string_view> types) {
  return std::ranges::count(types, type) > 0;
}

}  // namespace

TokenizerChanges::TokenizerChanges(const TokenizerFiles& files) : config_(files) {
  const std::string name = config_.class_name();
  const std::string& type = files.model_type;
  if (is_one_of(name, {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer",
                       "ConvBertTokenizer", "MobileBertTokenizer", "LayoutLMTokenizer",
                       "SqueezeBertTokenizer", "RetriBertTokenizer", "LxmertTokenizer",
                       "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer",
                       "FunnelTokenizer", "SplinterTokenizer"}) ||
      (name.empty() &&
       one_of_types(type, {"bert", "distilbert", "electra", "mpnet", "nomic_bert"}))) {
    class_ = Class::word_piece;
  } else if (is_one_of(name,
                       {"GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", "LongformerTokenizer",
                        "LEDTokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer"}) ||
             (name.empty() &&
              one_of_types(
                  type, {"gpt2", "gpt_neo", "gptj", "codegen", "opt", "phi", "starcoder2", "bart",
                         "roberta", "longformer", "gpt_neox", "mpt", "olmo", "olmoe"}))) {
    class_ = Class::byte_level;
  } else if (is_one_of(name, {"LlamaTokenizer", "CodeLlamaTokenizer"}) ||
             (name.empty() && type == "llama")) {
    class_ = Class::llama;
  }
  in_file(tokenizer_config_name, [&] {
    prefix_ = config_.optional_boolean("add_prefix_space");
    splits_special_ = config_.boolean("split_special_tokens", false);
  });
  std::string unknown;
  for (const std::string& key : config_.unknown_keys()) {
    unknown += (unknown.empty() ? "" : ", ") + in_quotes(key);
  }
  if (unknown.empty()) return;
  warnings_.push_back(
      translated("keys of tokenizer_config.json are not known and change nothing: {1}", unknown));
}

JsonValue TokenizerChanges::normalizer(JsonValue own) const {
  if (class_ == Class::word_piece && is_stage(own, "BertNormalizer")) {
    return in_file(tokenizer_config_name, [&] {
      const auto strips = config_.optional_boolean("strip_accents");
      own = with_member(own, "lowercase", JsonValue{config_.boolean("do_lower_case", true)});
      own = with_member(own, "strip_accents", strips ? JsonValue{*strips} : JsonValue());
      return with_member(own, "handle_chinese_chars",
                         JsonValue{config_.boolean("tokenize_chinese_chars", true)});
    });
  }
  if (class_ != Class::llama || prefix_.value_or(true)) return own;
  return each_stage(own, "normalizers", [](const JsonValue& stage) {
    return is_stage(stage, "Prepend") ? JsonValue() : stage;
  });
}

JsonValue TokenizerChanges::splitter(JsonValue own) {
  if (class_ == Class::byte_level) {
    // Only what is said changes a member of a sequence, which older classes left alone.
    if (!prefix_ && !is_stage(own, "ByteLevel")) return own;
    return each_stage(own, "pretokenizers", [&](const JsonValue& stage) {
      if (!is_stage(stage, "ByteLevel")) return stage;
      return with_member(stage, "add_prefix_space", JsonValue{prefix_.value_or(false)});
    });
  }
  if (!prefix_) return own;
  return each_stage(own, "pretokenizers", [&](const JsonValue& stage) {
    const auto has = puts_space_first(stage);
    if (!has || *has == *prefix_) return stage;
    if (class_ != Class::llama || !is_stage(stage, "Metaspace")) {
      warnings_.push_back(translated(
          "\"add_prefix_space\": {1} in tokenizer_config.json contradicts tokenizer.json, "
          "which "
          "is followed, as transformers 5 does for its class; 4 followed the configuration",
          *prefix_ ? "true" : "false"));
      return stage;
    }
    const JsonValue changed =
        with_member(stage, "prepend_scheme", JsonValue{std::string(*prefix_ ? "first" : "never")});
    return with_member(changed, "add_prefix_space", JsonValue{*prefix_});
  });
}

void TokenizerChanges::change(std::vector<AddedToken>& added) {
  const auto known = [&](const std::string& content) {
    return std::ranges::find(added, content, &AddedToken::content);
  };
  for (auto& [id, token] : config_.beside_tokenizer_json()) {
    stated_.emplace_back(token.content, id);
    const auto own = known(token.content);
    if (own == added.end()) {
      added.push_back(std::move(token));
    } else if (config_.lists_tokens()) {
      *own = std::move(token);
    }
  }
  for (AddedToken& token : config_.special_tokens()) {
    if (known(token.content) == added.end()) added.push_back(std::move(token));
  }
}

void TokenizerChanges::compare(const std::vector<AddedToken>& added, const TextTemplate& around) {
  for (const auto& [content, id] : stated_) {
    const auto own = std::ranges::find(added, content, &AddedToken::content);
    if (own == added.end() || own->id == id) continue;
    warnings_.push_back(
        translated("{1} gives the token {2} the id {3}, but with tokenizer.json it has {4}",
                   config_.lists_tokens() ? tokenizer_config_name : added_tokens_name,
                   in_quotes(content), id, own->id));
  }
  const std::vector<TextTemplate::Part>& parts = around.single;
  const auto compare_end = [&](const char* key, bool there) {
    const auto wanted =
        in_file(tokenizer_config_name, [&] { return config_.optional_boolean(key); });
    if (!wanted || *wanted == there) return;
    warnings_.push_back(
        translated("\"{1}\": {2} in tokenizer_config.json contradicts tokenizer.json, which is "
                   "followed, as transformers 5 does; 4 followed the configuration of some classes",
                   key, *wanted ? "true" : "false"));
  };
  compare_end("add_bos_token", !parts.empty() && parts.front().text < 0);
  compare_end("add_eos_token", !parts.empty() && parts.back().text < 0);
}

}  // namespace attn
