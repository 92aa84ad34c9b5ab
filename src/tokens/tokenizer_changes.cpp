#include <algorithm>
#include <set>
#include <string_view>

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/tokenizer_config.hpp"
#include "tokens/tokenizer_parts.hpp"

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

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool lists(std::string_view words, std::string_view word) {
  return std::ranges::count(names_in(words), word) > 0;
}

// Types of models whose tokenizers are of the library's own class, whatever the configuration
// names (transformers 5, tokenization_auto.py).
constexpr std::string_view types_of_files =
    "modernbert,internlm2,phimoe,phi3,gpt_bigcode,mistral,granite,stablelm,glm,glm4,mixtral,"
    "granitemoe,glm4v,olmo2,olmo3";

}  // namespace

// A class of transformers 5 that builds its tokenizer anew from the vocabulary of the file.
struct TokenizerChanges::BuiltClass {
  std::string_view names, types;  ///< of classes, and of models whose configuration names none
  Stages stages;
  /// "file", or the keys of the tokens that the class puts around a text.
  std::string_view around;
  std::string_view tokens;  ///< keys and the tokens that they stand for if they are absent
  bool plain = false;       ///< its special tokens have no flags, whatever the files say
};

const std::vector<TokenizerChanges::BuiltClass>& TokenizerChanges::built_classes() {
  constexpr std::string_view ends =
      "bos_token,<s>,eos_token,</s>,sep_token,</s>,cls_token,<s>,unk_token,<unk>,pad_token,<pad>,"
      "mask_token,<mask>";
  constexpr std::string_view end_of_text =
      "unk_token,<|endoftext|>,bos_token,<|endoftext|>,eos_token,<|endoftext|>";
  static const std::vector<BuiltClass> classes = {
      {"BertTokenizer,DistilBertTokenizer,ElectraTokenizer,ConvBertTokenizer,MobileBertTokenizer,"
       "LayoutLMTokenizer,SqueezeBertTokenizer,LxmertTokenizer,DPRContextEncoderTokenizer,"
       "DPRQuestionEncoderTokenizer,FunnelTokenizer,SplinterTokenizer",
       "bert,distilbert,electra,nomic_bert", Stages::word_piece, "cls_token,sep_token",
       "unk_token,[UNK],sep_token,[SEP],pad_token,[PAD],cls_token,[CLS],mask_token,[MASK]"},
      {"MPNetTokenizer", "mpnet", Stages::word_piece, "cls_token,sep_token",
       "bos_token,<s>,eos_token,</s>,sep_token,</s>,cls_token,<s>,unk_token,[UNK],pad_token,<pad>,"
       "mask_token,<mask>"},
      {"GPT2Tokenizer", "gpt2,gpt_neo,gptj,codegen,opt,phi,starcoder2", Stages::byte_level, "file",
       end_of_text},
      {"CodeGenTokenizer", "", Stages::byte_level, "", end_of_text},
      {"GPTNeoXTokenizer", "gpt_neox,mpt,olmo,olmoe", Stages::byte_level, "",
       "unk_token,<|endoftext|>,bos_token,<|endoftext|>,eos_token,<|endoftext|>,pad_token,"
       "<|padding|>"},
      {"RobertaTokenizer,BartTokenizer,LongformerTokenizer,LEDTokenizer", "roberta,bart,longformer",
       Stages::byte_level, "cls_token,sep_token", ends},
      {"DebertaTokenizer", "deberta", Stages::byte_level, "cls_token,sep_token",
       "bos_token,[CLS],eos_token,[SEP],sep_token,[SEP],cls_token,[CLS],unk_token,[UNK],pad_token,"
       "[PAD],mask_token,[MASK]"},
      {"LlamaTokenizer,CodeLlamaTokenizer", "", Stages::llama, "file",
       "unk_token,<unk>,bos_token,<s>,eos_token,</s>"},
      {"T5Tokenizer", "t5,mt5", Stages::file, "eos_token",
       "eos_token,</s>,unk_token,<unk>,pad_token,<pad>"},
      {"XLMRobertaTokenizer,CamembertTokenizer", "xlm-roberta,camembert", Stages::file,
       "bos_token,eos_token", ends},
      {"AlbertTokenizer", "albert", Stages::file, "cls_token,sep_token",
       "bos_token,[CLS],eos_token,[SEP],unk_token,<unk>,sep_token,[SEP],pad_token,<pad>,cls_token,"
       "[CLS],mask_token,[MASK]"},
      {"DebertaV2Tokenizer", "deberta-v2", Stages::file, "cls_token,sep_token",
       "bos_token,[CLS],eos_token,[SEP],unk_token,[UNK],sep_token,[SEP],pad_token,[PAD],cls_token,"
       "[CLS],mask_token,[MASK]"},
      {"CLIPTokenizer", "clip", Stages::file, "bos_token,eos_token",
       "unk_token,<|endoftext|>,bos_token,<|startoftext|>,eos_token,<|endoftext|>,pad_token,"
       "<|endoftext|>"},
      {"GemmaTokenizer", "gemma,gemma2,gemma3_text,t5gemma", Stages::file, "file",
       "unk_token,<unk>,bos_token,<bos>,eos_token,<eos>,pad_token,<pad>,mask_token,<mask>"},
      {"Qwen2Tokenizer,Qwen3_5Tokenizer",
       "qwen2_moe,qwen3,qwen3_moe,qwen3_next,qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_vl_moe,qwen3_5,"
       "qwen3_5_text,qwen3_5_moe,qwen3_5_moe_text",
       Stages::file, "file",
       "unk_token,<|endoftext|>,eos_token,<|endoftext|>,pad_token,<|endoftext|>", true},
      {"CohereTokenizer", "cohere,cohere2", Stages::file, "file",
       "unk_token,<UNK>,bos_token,<BOS_TOKEN>,eos_token,<|END_OF_TURN_TOKEN|>,pad_token,<PAD>,"
       "cls_token,<CLS>,sep_token,<SEP>,mask_token,<MASK_TOKEN>"},
      {"MBartTokenizer,MBart50Tokenizer,NllbTokenizer,PegasusTokenizer,XLNetTokenizer,"
       "XGLMTokenizer,BigBirdTokenizer,BarthezTokenizer,HerbertTokenizer,OpenAIGPTTokenizer,"
       "RemBertTokenizer",
       "mbart,pegasus,xglm", Stages::file, "file", ""}};
  return classes;
}

TokenizerChanges::TokenizerChanges(const TokenizerFiles& files) : config_(files) {
  const std::string& type = files.model_type;
  // Folders of Qwen 2 are known for naming the wrong class.
  const std::string name = type == "qwen2" ? "Qwen2Tokenizer" : config_.class_name();
  if (!lists(types_of_files, type)) {
    for (const BuiltClass& row : built_classes()) {
      if (name.empty() ? lists(row.types, type) : lists(row.names, name)) built_ = &row;
    }
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

bool TokenizerChanges::builds(Stages stages) const {
  return built_ != nullptr && built_->stages == stages;
}

JsonValue TokenizerChanges::normalizer(JsonValue own) const {
  if (builds(Stages::word_piece) && is_stage(own, "BertNormalizer")) {
    return in_file(tokenizer_config_name, [&] {
      const auto strips = config_.optional_boolean("strip_accents");
      own = with_member(own, "lowercase", JsonValue{config_.boolean("do_lower_case", true)});
      own = with_member(own, "strip_accents", strips ? JsonValue{*strips} : JsonValue());
      return with_member(own, "handle_chinese_chars",
                         JsonValue{config_.boolean("tokenize_chinese_chars", true)});
    });
  }
  if (!builds(Stages::llama) || prefix_.value_or(true)) return own;
  return each_stage(own, "normalizers", [](const JsonValue& stage) {
    return is_stage(stage, "Prepend") ? JsonValue() : stage;
  });
}

JsonValue TokenizerChanges::splitter(JsonValue own) {
  if (builds(Stages::byte_level)) {
    // Only what is said changes a member of a sequence, which older classes left alone.
    if (!prefix_ && !is_stage(own, "ByteLevel")) return own;
    return each_stage(own, "pretokenizers", [&](const JsonValue& stage) {
      if (!is_stage(stage, "ByteLevel")) return stage;
      return with_member(stage, "add_prefix_space", JsonValue{prefix_.value_or(false)});
    });
  }
  // Llama 3's, whose configuration may name the class of Llama 2.
  bool letters = false;
  each_stage(own, "pretokenizers", [&](const JsonValue& stage) {
    letters = letters || is_stage(stage, "ByteLevel");
    return stage;
  });
  if (builds(Stages::llama) && letters) built_ = nullptr;
  if (!prefix_) {
    const auto has = puts_space_first(own);
    if (builds(Stages::llama) && has && !*has) {
      warnings_.push_back(
          translated("tokenizer.json puts no space before a text, as its class in transformers 5 "
                     "does: the file is followed, as in 4"));
    }
    return own;
  }
  return each_stage(own, "pretokenizers", [&](const JsonValue& stage) {
    const auto has = puts_space_first(stage);
    if (!has || *has == *prefix_) return stage;
    if (!builds(Stages::llama) || !is_stage(stage, "Metaspace")) {
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

void TokenizerChanges::change(std::vector<AddedToken>& added,
                              std::vector<std::optional<TokenId>>& stated,
                              const TokenTable& vocabulary) {
  if (built_ != nullptr && config_.lists_tokens()) list_anew(added, stated);
  const auto known = [&](const std::string& content) {
    return std::ranges::find(added, content, &AddedToken::content);
  };
  for (auto& [id, token] : config_.beside_tokenizer_json()) {
    stated_.emplace_back(token.content, id);
    const auto own = known(token.content);
    if (own == added.end()) {
      added.push_back(std::move(token));
    } else if (config_.lists_tokens()) {
      // A special token of the file stays one for the library's own class.
      token.special = token.special || (built_ == nullptr && own->special);
      *own = std::move(token);
    }
  }
  std::vector<AddedToken> named = config_.special_tokens(true), special = config_.special_tokens();
  for (const auto& [key, content] : defaults()) {
    if (config_.has(key) || !vocabulary.find(content)) continue;
    AddedToken token;
    token.content = content;
    token.special = true;
    named.push_back(token);
    special.push_back(std::move(token));
  }
  for (const AddedToken& token : special) {
    auto own = known(token.content);
    if (own == added.end()) own = added.insert(own, token);
    if (built_ == nullptr) continue;
    // A list makes no special token of one that the file has.
    own->special = own->special || built_->plain ||
                   std::ranges::count(named, token.content, &AddedToken::content) > 0;
    if (built_->plain) {
      own->single_word = own->strip_left = own->strip_right = own->normalized = false;
    }
  }
}

// The tokens of the class, by their keys.
std::vector<NamedToken> TokenizerChanges::defaults() const {
  std::vector<NamedToken> all;
  if (built_ == nullptr) return all;
  const std::vector<std::string_view> words = names_in(built_->tokens);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) all.push_back({words[i], words[i + 1]});
  return all;
}

// Leaves out all of the file's tokens if one of them is not listed, as their ids count from the
// vocabulary again.
void TokenizerChanges::list_anew(std::vector<AddedToken>& added,
                                 std::vector<std::optional<TokenId>>& stated) {
  std::set<std::string> listed;
  for (auto& [id, token] : config_.beside_tokenizer_json()) listed.insert(token.content);
  std::string missing;
  for (const AddedToken& token : added) {
    if (listed.contains(token.content)) continue;
    missing += (missing.empty() ? "" : ", ") + in_quotes(token.content);
  }
  if (missing.empty()) return;
  added.clear();
  stated.clear();
  warnings_.push_back(
      translated("\"added_tokens_decoder\" in tokenizer_config.json does not list {1} of "
                 "tokenizer.json, which is left out, as transformers 5 does for the class; 4 kept "
                 "it",
                 missing));
}

void TokenizerChanges::compare(const TokenizerParts& parts) {
  for (const auto& [content, id] : stated_) {
    const AddedToken* own = parts.added.find(content);
    if (own == nullptr || own->id == id) continue;
    warnings_.push_back(
        translated("{1} gives the token {2} the id {3}, but with tokenizer.json it has {4}",
                   config_.lists_tokens() ? tokenizer_config_name : added_tokens_name,
                   in_quotes(content), id, own->id));
  }
  const auto* pieces = std::get_if<WordPieceModel>(&parts.model);
  const auto unknown = config_.token("unk_token");
  if (built_ != nullptr && pieces != nullptr && unknown && *unknown != pieces->unknown) {
    warnings_.push_back(translated(
        "\"unk_token\" is {1} beside tokenizer.json, whose model has {2}: this one is followed, as "
        "transformers 4 does; 5 follows the other",
        in_quotes(*unknown), in_quotes(pieces->unknown)));
  }
  compare_ends(parts);
}

void TokenizerChanges::compare_ends(const TokenizerParts& parts) {
  const std::vector<TextTemplate::Part>& around = parts.around.single;
  const bool begins = !around.empty() && around.front().text < 0,
             ends = !around.empty() && around.back().text < 0;
  if (built_ != nullptr && built_->around != "file") {
    constexpr TokenId text = -2, unknown = -1;
    std::vector<TokenId> wanted, own;
    for (const std::string_view key : names_in(built_->around)) {
      std::string content = config_.token(key).value_or("");
      for (const auto& [other, token] : defaults()) {
        if (content.empty() && other == key) content = token;
      }
      wanted.push_back(parts.find(content).value_or(unknown));
    }
    // One token stands behind the text.
    wanted.insert(wanted.end() - (wanted.empty() ? 0 : 1), text);
    for (const TextTemplate::Part& part : around) {
      if (part.text >= 0) own.push_back(text);
      own.insert(own.end(), part.ids.begin(), part.ids.end());
    }
    if (own != wanted) {
      warnings_.push_back(translated(
          "tokenizer.json puts other tokens around a text than its class in transformers "
          "5 does: the file is followed, as in 4"));
    }
    return;
  }
  const auto compare_end = [&](const char* key, bool there) {
    const auto wanted =
        in_file(tokenizer_config_name, [&] { return config_.optional_boolean(key); });
    if (!wanted || *wanted == there) return;
    warnings_.push_back(
        translated("\"{1}\": {2} in tokenizer_config.json contradicts tokenizer.json, which is "
                   "followed, as transformers 5 does; 4 followed the configuration of some classes",
                   key, *wanted ? "true" : "false"));
  };
  compare_end("add_bos_token", begins);
  compare_end("add_eos_token", ends);
}

}  // namespace attn
