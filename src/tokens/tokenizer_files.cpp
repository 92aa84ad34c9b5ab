#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/tokenizer_config.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// vocab.txt.

// Model types whose tokenizers never were WordPiece: a vocab.txt in their folder is another list.
constexpr std::array types_without_word_piece = {"albert",      "apertus",     "bart",
                                                 "biogpt",      "bloom",       "camembert",
                                                 "codegen",     "cohere",      "cohere2",
                                                 "esm",         "eurobert",    "exaone4",
                                                 "falcon",      "gemma",       "gemma2",
                                                 "gemma3_text", "glm",         "glm4",
                                                 "gpt2",        "gpt_bigcode", "gpt_neo",
                                                 "gpt_neox",    "gpt_oss",     "gptj",
                                                 "granite",     "granitemoe",  "hunyuan_v1_dense",
                                                 "internlm2",   "llama",       "longformer",
                                                 "m2m_100",     "marian",      "mbart",
                                                 "mistral",     "mixtral",     "modernbert",
                                                 "mpt",         "mt5",         "olmo",
                                                 "olmo2",       "olmo3",       "olmoe",
                                                 "opt",         "pegasus",     "phi",
                                                 "phi3",        "phimoe",      "qwen2",
                                                 "qwen2_moe",   "qwen3",       "qwen3_moe",
                                                 "roberta",     "smollm3",     "stablelm",
                                                 "starcoder2",  "t5",          "xglm",
                                                 "xlm-roberta", "xlnet"};

TokenizerParts parts_from_vocab_txt(const TokenizerFiles& files) {
  const TokenizerConfig config(files);
  std::string name = config.class_name();
  if (name.empty()) {
    if (std::find(types_without_word_piece.begin(), types_without_word_piece.end(),
                  files.model_type) != types_without_word_piece.end()) {
      throw input_error(
          translated("a vocab.txt is for WordPiece, which models of type {1} do not use",
                     in_quotes(files.model_type)),
          "vocab.txt",
          translated(
              "add the model's tokenizer.json; or, if its tokens are WordPiece all the same, "
              "write {1} into tokenizer_config.json",
              R"({"tokenizer_class": "BertTokenizer"})"));
    }
    name = files.model_type == "mpnet" ? "MPNetTokenizer" : "BertTokenizer";
  }
  const bool mpnet = name == "MPNetTokenizer";
  if (!mpnet && !is_one_of(name, {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer",
                                  "ConvBertTokenizer", "MobileBertTokenizer", "LayoutLMTokenizer",
                                  "SqueezeBertTokenizer", "RetriBertTokenizer", "LxmertTokenizer",
                                  "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"})) {
    refuse_class(name, "vocab.txt");
  }
  BertSettings settings;
  in_file(tokenizer_config_name, [&] {
    settings.normalizer.lowercase = config.boolean("do_lower_case", true);
    settings.normalizer.strip_accents =
        config.boolean("strip_accents", settings.normalizer.lowercase);
    settings.normalizer.chinese = config.boolean("tokenize_chinese_chars", true);
    if (!config.boolean("do_basic_tokenize", true)) {
      throw input_error(translated("\"do_basic_tokenize\": false is not supported"),
                        "/do_basic_tokenize", translated("save the tokenizer as tokenizer.json"));
    }
  });
  settings.first = config.token("cls_token").value_or(mpnet ? "<s>" : "[CLS]");
  settings.last = config.token("sep_token").value_or(mpnet ? "</s>" : "[SEP]");
  settings.unknown = config.token("unk_token").value_or("[UNK]");
  settings.doubled = mpnet;
  const std::string file = "vocab.txt";
  TokenizerParts parts = bert_parts(Vocabulary::from_text(*files.vocab_txt, file), settings, file);
  parts.added = added_tokens_of(config, *parts.tokens,
                                {{"unk_token", "[UNK]"},
                                 {"cls_token", mpnet ? "<s>" : "[CLS]"},
                                 {"sep_token", mpnet ? "</s>" : "[SEP]"},
                                 {"pad_token", mpnet ? "<pad>" : "[PAD]"},
                                 {"mask_token", mpnet ? "<mask>" : "[MASK]"}},
                                mpnet, parts.normalizers);
  return parts;
}

// vocab.json and merges.txt.

std::shared_ptr<const MergeTable> read_merges_txt(std::string_view text, const TokenTable& tokens) {
  characters_of(text, "");  // for its error
  MergeList merges;
  std::vector<std::size_t> numbers;
  const auto place_of = [](std::size_t line) { return "line " + std::to_string(line); };
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || (line.empty() && text.empty())) continue;
    if (!merges.add_line(line)) {
      throw input_error(
          translated("expected two tokens with a space between them, found {1}", in_quotes(line)),
          place_of(number), translated("use the file as published"));
    }
    numbers.push_back(number);
  }
  return merges.table(tokens, "", [&](std::size_t i) { return place_of(numbers[i]); });
}

/// The classes of tokenizers with vocab.json and merges.txt whose files mean different things.
enum class MergesClass { gpt2, roberta, clip, qwen };

MergesClass class_of_merges(const TokenizerConfig& config, const std::string& model_type) {
  std::string name = config.class_name();
  if (name.empty()) {
    name = is_one_of(model_type, {"roberta", "bart", "longformer"}) ? "RobertaTokenizer"
           : model_type == "clip"                                   ? "CLIPTokenizer"
           : model_type.starts_with("qwen")                         ? "Qwen2Tokenizer"
                                                                    : "GPT2Tokenizer";
  }
  if (name == "CLIPTokenizer") return MergesClass::clip;
  if (name == "Qwen2Tokenizer") return MergesClass::qwen;
  if (is_one_of(name, {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer"}))
    return MergesClass::roberta;
  if (!is_one_of(name, {"GPT2Tokenizer", "CodeGenTokenizer"}))
    refuse_class(name, translated("vocab.json and merges.txt"));
  return MergesClass::gpt2;
}

// Puts the tokens of that name, or the usual ones, before and after a text.
TextTemplate around_text(const TokenizerConfig& config, const TokenTable& tokens,
                         const std::pair<const char*, const char*>& first,
                         const std::pair<const char*, const char*>& last, bool doubled) {
  const auto id = [&](const std::pair<const char*, const char*>& named) {
    return id_of(tokens, config.token(named.first).value_or(named.second), "vocab.json");
  };
  return enclosing_template(id(first), id(last), doubled);
}

// Small letters in composed form, words without their spaces (Radford et al. 2021).
void add_clip_stages(const TokenizerConfig& config, TokenizerParts& parts) {
  parts.normalizers.push_back(UnicodeForm{false, true});
  parts.normalizers.push_back(Replace{{R"(\s+)", ""}, " "});
  parts.normalizers.push_back(BertNormalizer{false, false, false, true});
  parts.splitters.push_back(
      split_pattern({R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)", ""},
                    SplitBehavior::removed, true));
  parts.splitters.push_back(split_bytes(false, true));
  parts.added = added_tokens_of(config, *parts.tokens,
                                {{"bos_token", "<|startoftext|>"},
                                 {"eos_token", "<|endoftext|>"},
                                 {"unk_token", "<|endoftext|>"},
                                 {"pad_token", "<|endoftext|>"}},
                                false, parts.normalizers);
  parts.around = around_text(config, *parts.tokens, {"bos_token", "<|startoftext|>"},
                             {"eos_token", "<|endoftext|>"}, false);
}

void add_roberta_tokens(const TokenizerConfig& config, TokenizerParts& parts) {
  parts.added = added_tokens_of(config, *parts.tokens,
                                {{"bos_token", "<s>"},
                                 {"eos_token", "</s>"},
                                 {"unk_token", "<unk>"},
                                 {"pad_token", "<pad>"},
                                 {"mask_token", "<mask>"}},
                                true, parts.normalizers);
  parts.around =
      around_text(config, *parts.tokens, {"cls_token", "<s>"}, {"sep_token", "</s>"}, true);
}

// `begins`: whether the class may put its first token before a text.
void add_gpt2_tokens(const TokenizerConfig& config, const std::string& model_type, bool begins,
                     TokenizerParts& parts) {
  parts.added = added_tokens_of(config, *parts.tokens,
                                {{"bos_token", "<|endoftext|>"},
                                 {"eos_token", "<|endoftext|>"},
                                 {"unk_token", "<|endoftext|>"},
                                 {"pad_token", "<|endoftext|>"}},
                                false, parts.normalizers);
  const bool opt = model_type == "opt";
  const bool first =
      in_file(tokenizer_config_name, [&] { return config.boolean("add_bos_token", opt); });
  if (!first || !begins) return;
  const std::string token = config.token("bos_token").value_or(opt ? "</s>" : "<|endoftext|>");
  const TextTemplate::Part begin{-1, 0, {id_of(*parts.tokens, token, "vocab.json")}};
  parts.around.single.insert(parts.around.single.begin(), begin);
  parts.around.pair.insert(parts.around.pair.begin(), begin);
}

TokenizerParts parts_from_merges(const TokenizerFiles& files) {
  const TokenizerConfig config(files);
  const MergesClass kind = class_of_merges(config, files.model_type);
  const bool clip = kind == MergesClass::clip, qwen = kind == MergesClass::qwen;
  BytePairModel model;
  model.tokens = in_file("vocab.json", [&] { return read_vocab_json(*files.vocab_json); });
  model.merges =
      in_file("merges.txt", [&] { return read_merges_txt(*files.merges_txt, *model.tokens); });
  const auto tokens = model.tokens;
  if (clip) {
    model.end_suffix = "</w>";
    model.unknown = tokens->find(config.token("unk_token").value_or("<|endoftext|>"));
  }
  TokenizerParts parts{tokens, std::move(model)};
  parts.written.letters_of_bytes = true;
  if (clip) {
    add_clip_stages(config, parts);
    return parts;
  }
  const bool space =
      in_file(tokenizer_config_name, [&] { return config.boolean("add_prefix_space", false); });
  if (qwen) {
    parts.normalizers.push_back(UnicodeForm{false, true});
    parts.splitters.push_back(
        isolate(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
                R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"));
  }
  parts.splitters.push_back(split_bytes(space, !qwen));
  if (kind == MergesClass::roberta) {
    add_roberta_tokens(config, parts);
  } else {
    add_gpt2_tokens(config, files.model_type, !qwen, parts);
  }
  return parts;
}

}  // namespace

TokenizerParts bert_parts(const Vocabulary& vocabulary, const BertSettings& settings,
                          const std::string& where) {
  const std::string advice =
      translated("WordPiece needs [UNK], [CLS] and [SEP], as BERT's vocab.txt has them");
  vocabulary.id(settings.unknown, where, advice);
  const auto first = static_cast<TokenId>(vocabulary.id(settings.first, where, advice));
  const auto last = static_cast<TokenId>(vocabulary.id(settings.last, where, advice));
  const auto tokens = std::make_shared<TokenTable>();
  tokens->reserve(vocabulary.size(), 0);
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    tokens->add(vocabulary.token(static_cast<std::int64_t>(id)), static_cast<TokenId>(id));
  }
  TokenizerParts parts{tokens, WordPieceModel{tokens, settings.unknown, "##", 100}};
  parts.normalizers.emplace_back(settings.normalizer);
  parts.splitters.emplace_back(split_as_bert);
  parts.around = enclosing_template(first, last, settings.doubled);
  parts.added =
      added_tokens_of(TokenizerConfig(), *tokens,
                      {{"", "[PAD]"}, {"", "[UNK]"}, {"", "[CLS]"}, {"", "[SEP]"}, {"", "[MASK]"}},
                      false, parts.normalizers);
  return parts;
}

TokenizerParts parts_from_files(const TokenizerFiles& files) {
  if (files.tokenizer_json) {
    TokenizerChanges changes(files);
    return in_file("tokenizer.json",
                   [&] { return read_tokenizer_json(*files.tokenizer_json, std::move(changes)); });
  }
  if (files.tekken_json) return in_file("tekken.json", [&] { return parts_from_tekken(files); });
  if (files.sentencepiece && holds_ranks(*files.sentencepiece)) return parts_from_tiktoken(files);
  if (auto parts = parts_from_sentence_piece(files)) return std::move(*parts);
  if (files.vocab_json && files.merges_txt) return parts_from_merges(files);
  if (files.vocab_txt) return parts_from_vocab_txt(files);
  if (files.vocab_json) {
    throw input_error(translated("there is a vocab.json, but no merges.txt"), "",
                      translated("use the folder's files as published together"));
  }
  throw input_error(
      translated("the folder has no tokenizer"), "",
      translated(
          "add tokenizer.json; or tokenizer.model; or tekken.json; or vocab.txt; or vocab.json and "
          "merges.txt"));
}

SpecialIds special_ids_of(const TokenizerParts& parts, const TokenizerFiles& files) {
  const TokenizerConfig config(files);
  const auto id = [&](std::string_view key, std::initializer_list<std::string_view> usual) {
    std::optional<std::int64_t> result;
    if (const auto named = config.token(key)) {
      result = parts.find(*named);
      return result;
    }
    for (const std::string_view token : usual) {
      const AddedToken* added = parts.added.find(token);
      if (added != nullptr && added->special && !result) result = added->id;
    }
    return result;
  };
  SpecialIds ids;
  ids.pad = id("pad_token", {"[PAD]", "<pad>"});
  ids.mask = id("mask_token", {"[MASK]", "<mask>"});
  ids.first = id("bos_token", {"<s>", "<bos>", "<|begin_of_text|>"});
  ids.last = id("eos_token", {"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"});
  ids.classifier = id("cls_token", {"[CLS]"});
  ids.separator = id("sep_token", {"[SEP]"});
  ids.unknown = id("unk_token", {"[UNK]", "<unk>"});
  return ids;
}

}  // namespace attn
