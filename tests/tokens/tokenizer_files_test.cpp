#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

using Pieces = std::vector<std::string>;

// The tokens of the texts as the vocabulary has them.
Pieces tokens_of(const TokenizerFiles& files, std::string_view text,
                 std::optional<std::string_view> pair = std::nullopt) {
  const Tokenizer tokenizer = Tokenizer::from_files(files);
  Pieces tokens;
  for (const TextToken& token : tokenizer.encode(text, pair, true, "/text")) {
    tokens.emplace_back(tokenizer.token(token.id));
  }
  return tokens;
}

std::string refusal_of(const TokenizerFiles& files) {
  return error_from([&] { Tokenizer::from_files(files); });
}

TokenizerFiles merged() {
  TokenizerFiles files;
  files.vocab_json =
      R"({"a":0,"b":1,"ab":2,"Ġ":3,"Ġab":4,"<|endoftext|>":5,"<s>":6,"</s>":7,"<unk>":8,)"
      R"("<pad>":9,"<mask>":10})";
  files.merges_txt = "#version: 0.2\na b\r\nĠ ab\n";
  return files;
}

TEST_CASE("vocab.json and merges.txt are GPT-2's tokenizer, or that of the class that is named") {
  TokenizerFiles files = merged();
  CHECK(tokens_of(files, "ab ab") == Pieces{"ab", "Ġab"});
  CHECK(tokens_of(files, "ab<|endoftext|>b") == Pieces{"ab", "<|endoftext|>", "b"});
  files.tokenizer_config = R"({"add_prefix_space": true, "add_bos_token": true})";
  CHECK(tokens_of(files, "ab", "b") == Pieces{"<|endoftext|>", "Ġab", "Ġ", "b"});
  files.tokenizer_config = R"({"tokenizer_class": "RobertaTokenizer"})";
  CHECK(tokens_of(files, "ab", "b") == Pieces{"<s>", "ab", "</s>", "</s>", "b", "</s>"});
  CHECK(tokens_of(files, "a <mask>b") == Pieces{"<s>", "a", "<mask>", "b", "</s>"});
  files.tokenizer_config.reset();
  files.model_type = "bart";
  CHECK(tokens_of(files, "ab") == Pieces{"<s>", "ab", "</s>"});
  files.model_type = "qwen2";
  CHECK(tokens_of(files, "ab ab") == Pieces{"ab", "Ġab"});
  files.model_type = "opt";
  CHECK(tokens_of(files, "ab") == Pieces{"</s>", "ab"});
}

TEST_CASE(
    "vocab.json and merges.txt of CLIP end words in </w>, in small letters between two tokens") {
  TokenizerFiles files;
  files.model_type = "clip";
  files.vocab_json =
      R"({"a":0,"b":1,"a</w>":2,"b</w>":3,"ab</w>":4,"<|startoftext|>":5,"<|endoftext|>":6})";
  files.merges_txt = "#version: 0.2\na b</w>\n";
  CHECK(tokens_of(files, "AB  ba") ==
        Pieces{"<|startoftext|>", "ab</w>", "b", "a</w>", "<|endoftext|>"});
  // A letter without a token is the unknown one.
  CHECK(tokens_of(files, "x") == Pieces{"<|startoftext|>", "<|endoftext|>", "<|endoftext|>"});
  files.model_type.clear();
  files.tokenizer_config = R"({"tokenizer_class": "CLIPTokenizer"})";
  CHECK(tokens_of(files, "ab") == Pieces{"<|startoftext|>", "ab</w>", "<|endoftext|>"});
}

TEST_CASE("vocab.txt is BERT's tokenizer, or MPNet's") {
  TokenizerFiles files;
  files.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n##b\n<s>\n</s>\nAB\n";
  CHECK(tokens_of(files, "ABB x", "ab") ==
        Pieces{"[CLS]", "ab", "##b", "[UNK]", "[SEP]", "ab", "[SEP]"});
  files.tokenizer_config = R"({"do_lower_case": false})";
  CHECK(tokens_of(files, "ABb") == Pieces{"[CLS]", "AB", "##b", "[SEP]"});
  files.tokenizer_config = R"({"cls_token": "<s>", "sep_token": {"content": "</s>"}})";
  CHECK(tokens_of(files, "ab") == Pieces{"<s>", "ab", "</s>"});
  files.tokenizer_config.reset();
  files.model_type = "mpnet";
  CHECK(tokens_of(files, "ab", "ab") == Pieces{"<s>", "ab", "</s>", "</s>", "ab", "</s>"});
}

TEST_CASE("vocab.txt is refused for models that do not use WordPiece") {
  TokenizerFiles files;
  files.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nC\n(\n)\n";
  files.model_type = "albert";
  CHECK(refusal_of(files) ==
        "a vocab.txt is for WordPiece, which models of type \"albert\" do not use\n"
        "  where: vocab.txt\n"
        "  help:  add the model's tokenizer.json; or, if its tokens are WordPiece all the same, "
        "write {\"tokenizer_class\": \"BertTokenizer\"} into tokenizer_config.json");
  files.tokenizer_config = R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})";
  CHECK(tokens_of(files, "C(C)") == Pieces{"[CLS]", "C", "(", "C", ")", "[SEP]"});
}

// A byte-level tokenizer with the special token <s>, of the class that is any tokenizer.json's.
TokenizerFiles with_configuration(std::string_view configuration) {
  TokenizerFiles files;
  files.tokenizer_json =
      R"({"added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false,
                            "rstrip": false, "normalized": false, "special": true}],
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
          "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "b": 2, "Ġ": 3, "<": 4, ">": 5,
                    "s": 6, "c": 7}, "merges": []}})";
  files.tokenizer_config = configuration;
  return files;
}

TEST_CASE(
    "tokens of the configuration are added to those of tokenizer.json, as transformers does") {
  const auto cut = [](const TokenizerFiles& files) { return tokens_of(files, "a<c> <s>"); };
  CHECK(cut(with_configuration("{}")) == Pieces{"a", "<", "c", ">", "Ġ", "<s>"});
  const std::string listed =
      R"({"added_tokens_decoder": {"8": {"content": "<c>", "special": true}}, "pad_token": "b"})";
  CHECK(cut(with_configuration(listed)) == Pieces{"a", "<c>", "Ġ", "<s>"});
  for (const char* named :
       {R"({"pad_token": "<c>"})", R"({"additional_special_tokens": ["<c>"]})",
        R"({"extra_special_tokens": {"image_token": "<c>"}})", R"({"image_token": "<c>"})"}) {
    CAPTURE(named);
    CHECK(cut(with_configuration(named)) == Pieces{"a", "<c>", "Ġ", "<s>"});
  }
  // The other files count where the configuration lists no tokens.
  TokenizerFiles files = with_configuration(R"({"pad_token": "b"})");
  files.added_tokens = R"({"<c>": 8})";
  CHECK(cut(files) == Pieces{"a", "<c>", "Ġ", "<s>"});
  files.tokenizer_config = R"({"added_tokens_decoder": {}})";
  CHECK(cut(files) == Pieces{"a", "<", "c", ">", "Ġ", "<s>"});
  files = with_configuration(R"({"pad_token": "b"})");
  files.special_tokens_map = R"({"pad_token": "<c>"})";
  CHECK(cut(files) == Pieces{"a", "<c>", "Ġ", "<s>"});
  CHECK(Tokenizer::from_files(files).special_ids().pad == 8);
  // A flag of a token of the file.
  CHECK(cut(with_configuration(
            R"({"added_tokens_decoder": {"0": {"content": "<s>", "lstrip": true,
                                               "special": true}}})")) ==
        Pieces{"a", "<", "c", ">", "<s>"});
  CHECK(cut(with_configuration(R"({"split_special_tokens": true})")) ==
        Pieces{"a", "<", "c", ">", "Ġ", "<", "s", ">"});
}

TEST_CASE("stages that a class builds by its settings are not those of tokenizer.json") {
  const auto cut = [](const std::string& configuration) {
    return tokens_of(with_configuration(configuration), "a");
  };
  CHECK(cut(R"({"tokenizer_class": "GPT2Tokenizer"})") == Pieces{"a"});
  CHECK(cut(R"({"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": true})") ==
        Pieces{"Ġ", "a"});
  CHECK(cut(R"({"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": true})") ==
        Pieces{"a"});
  TokenizerFiles files;
  files.tokenizer_json =
      R"({"normalizer": {"type": "BertNormalizer", "clean_text": true, "lowercase": true,
                         "handle_chinese_chars": true, "strip_accents": null},
          "pre_tokenizer": {"type": "BertPreTokenizer"},
          "model": {"type": "WordPiece", "unk_token": "u", "max_input_chars_per_word": 9,
                    "continuing_subword_prefix": "##",
                    "vocab": {"u": 0, "a": 1, "A": 2, "é": 3, "e": 4}}})";
  CHECK(tokens_of(files, "A é") == Pieces{"a", "e"});
  files.tokenizer_config = R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})";
  CHECK(tokens_of(files, "A é") == Pieces{"A", "é"});
  files.tokenizer_config = R"({"tokenizer_class": "BertTokenizer", "strip_accents": false})";
  CHECK(tokens_of(files, "A é") == Pieces{"a", "é"});
  files.tokenizer_config = R"({"do_lower_case": false})";
  CHECK(tokens_of(files, "A é") == Pieces{"a", "e"});
}

TEST_CASE("what a configuration and tokenizer.json leave open is said") {
  const auto said = [](const std::string& configuration) {
    const std::vector<std::string> all =
        Tokenizer::from_files(with_configuration(configuration)).warnings();
    return all.empty() ? "" : all.front();
  };
  CHECK(said("{}").empty());
  CHECK(said(R"({"added_tokens_decoder": {"9": {"content": "<c>"}}})") ==
        "tokenizer_config.json gives the token \"<c>\" the id 9, but with tokenizer.json it has 8");
  CHECK(said(R"({"cuts_twice": 1, "model_max_length": 8, "image_token": "a", "x": null})") ==
        "keys of tokenizer_config.json are not known and change nothing: \"cuts_twice\"");
  CHECK(said(R"({"add_bos_token": true})") ==
        "\"add_bos_token\": true in tokenizer_config.json contradicts tokenizer.json, which is "
        "followed, as transformers 5 does; 4 followed the configuration of some classes");
  CHECK(said(R"({"add_prefix_space": true})") ==
        "\"add_prefix_space\": true in tokenizer_config.json contradicts tokenizer.json, which "
        "is followed, as transformers 5 does for its class; 4 followed the configuration");
  CHECK(
      said(R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {}})") ==
      "\"added_tokens_decoder\" in tokenizer_config.json does not list \"<s>\" of tokenizer.json, "
      "which is left out, as transformers 5 does for the class; 4 kept it");
  CHECK(said(R"({"tokenizer_class": "GPT2Tokenizer"})").empty());
  CHECK(said(R"({"tokenizer_class": "RobertaTokenizer"})") ==
        "tokenizer.json puts other tokens around a text than its class in transformers 5 does: the "
        "file is followed, as in 4");
}

TEST_CASE("a class whose unknown token or first space is not that of tokenizer.json is said") {
  TokenizerFiles files;
  files.tokenizer_json =
      R"({"model": {"type": "WordPiece", "unk_token": "u", "max_input_chars_per_word": 9,
                    "continuing_subword_prefix": "##", "vocab": {"u": 0, "a": 1}},
          "post_processor": {"type": "BertProcessing", "sep": ["a", 1], "cls": ["a", 1]}})";
  files.tokenizer_config = R"({"tokenizer_class": "BertTokenizer", "unk_token": "a",
                               "cls_token": "a", "sep_token": "a"})";
  CHECK(Tokenizer::from_files(files).warnings() ==
        Pieces{"\"unk_token\" is \"a\" beside tokenizer.json, whose model has \"u\": this one is "
               "followed, as transformers 4 does; 5 follows the other"});
  files.tokenizer_json =
      R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never",
                            "split": false},
          "model": {"type": "BPE", "vocab": {"▁": 0, "a": 1}, "merges": []}})";
  files.tokenizer_config = R"({"tokenizer_class": "LlamaTokenizer"})";
  CHECK(Tokenizer::from_files(files).warnings() ==
        Pieces{"tokenizer.json puts no space before a text, as its class in transformers 5 does: "
               "the file is followed, as in 4"});
  files.tokenizer_config = R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": false})";
  CHECK(Tokenizer::from_files(files).warnings().empty());
}

TEST_CASE("tokens that files name with other flags are those of transformers 5") {
  const auto cut = [](const std::string& configuration, const std::string& special = "{}",
                      const std::string& type = "") {
    TokenizerFiles files = with_configuration(configuration);
    files.special_tokens_map = special;
    files.model_type = type;
    return tokens_of(files, "a c <s>");
  };
  const std::string named = R"({"pad_token": {"content": "c", "lstrip": true})";
  CHECK(cut(named + "}") == Pieces{"a", "c", "Ġ", "<s>"});
  CHECK(cut(named + R"(, "extra_special_tokens": ["c"]})") == Pieces{"a", "Ġ", "c", "Ġ", "<s>"});
  // Qwen 2's class takes no flags.
  CHECK(cut(R"({"tokenizer_class": "Qwen2Tokenizer", "pad_token": {"content": "c",
                "lstrip": true}})") == Pieces{"a", "Ġ", "c", "Ġ", "<s>"});
  // The old list of special_tokens_map.json counts where the configuration has none.
  const std::string old = R"({"additional_special_tokens": ["a c"]})";
  CHECK(cut("{}", old) == Pieces{"a c", "Ġ", "<s>"});
  CHECK(cut(R"({"extra_special_tokens": []})", old) == Pieces{"a", "Ġ", "c", "Ġ", "<s>"});
  // A special token of the file stays one, but for a class that builds its tokenizer anew.
  const std::string listed =
      R"(, "split_special_tokens": true, "added_tokens_decoder": {"0": {"content": "<s>"}}})";
  CHECK(cut(R"({"tokenizer_class": "PreTrainedTokenizerFast")" + listed) ==
        Pieces{"a", "Ġ", "c", "Ġ", "<", "s", ">"});
  const std::string gpt2 = R"({"tokenizer_class": "GPT2Tokenizer")";
  CHECK(cut(gpt2 + listed) == Pieces{"a", "Ġ", "c", "Ġ", "<s>"});
  // A list makes no special token of one that the file has.
  const std::string splits = R"(, "split_special_tokens": true, "added_tokens_decoder": {
                                "7": {"content": "c"}, "0": {"content": "<s>", "special": true}})";
  CHECK(cut(gpt2 + splits + R"(, "extra_special_tokens": ["c"]})") ==
        Pieces{"a", "Ġ", "c", "Ġ", "<", "s", ">"});
  // Models of some types have the library's own class, whatever is named.
  CHECK(cut(gpt2 + listed, "{}", "granite") == Pieces{"a", "Ġ", "c", "Ġ", "<", "s", ">"});
}

TEST_CASE("ids of a vocabulary may have holes, which added tokens may fill") {
  TokenizerFiles files;
  const auto with_added = [&](const std::string& added) {
    static std::string json;
    json = R"({"added_tokens": [)" + added + R"(], "pre_tokenizer": {"type": "WhitespaceSplit"},
               "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 3}}})";
    files.tokenizer_json = json;
  };
  const auto token = [](const std::string& id, const std::string& content) {
    return R"({"id": )" + id + R"(, "content": ")" + content + R"(", "single_word": false, )" +
           R"("lstrip": false, "rstrip": false, "normalized": false, "special": false})";
  };
  with_added("");
  CHECK(tokens_of(files, "a b c") == Pieces{"a", "b", "u"});
  CHECK(Tokenizer::from_files(files).size() == 4);
  CHECK(Tokenizer::from_files(files).token(2).empty());
  with_added(token("2", "c") + ", " + token("4", "d"));
  CHECK(tokens_of(files, "a b c d") == Pieces{"a", "b", "c", "d"});
  CHECK(Tokenizer::from_files(files).id("c") == 2);
  with_added(token("2", "c") + ", " + token("2", "d"));
  CHECK(refusal_of(files).starts_with(
      "the added token \"d\" has the id 2, but the vocabulary gives it 4"));
}

TEST_CASE(
    "a pattern that needs too many steps on a text is named with its file in an error at the "
    "text") {
  TokenizerFiles files;
  files.tokenizer_json = R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated",
      "pattern": {"Regex": "(?:a|a){1,18}[bc]"}, "invert": false},
      "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}}})";
  CHECK(error_from([&] { tokens_of(files, std::string(20'000, 'a')); }) ==
        "the pattern \"(?:a|a){1,18}[bc]\" of tokenizer.json, /pre_tokenizer/pattern/Regex, "
        "needs too many steps on this text\n  where: /text\n"
        "  help:  use a pattern with fewer ways to match the same text");
}

TEST_CASE("stages beyond any tokenizer's are refused, and so are keys that are given twice") {
  const auto refusal = [](const std::string& stages, const std::string& keys) {
    const std::string text = R"({"normalizer": {"type": "Sequence", "normalizers": [)" + stages +
                             R"(]},
            "model": {"type": "WordLevel", "unk_token": "u", )" +
                             keys + R"("vocab": {"u": 0, "a": 1}}})";
    TokenizerFiles files;
    files.tokenizer_json = text;
    return error_from([&] { Tokenizer::from_files(files); });
  };
  std::string many;
  for (int i = 0; i < 256; ++i) many += R"({"type": "NFC"},)";
  CHECK(refusal(many.substr(0, many.size() - 1), "") == "no error");
  CHECK(refusal(many + R"({"type": "NFC"})", "") ==
        "there are more than 256 stages\n  where: tokenizer.json, /normalizer/normalizers/256\n"
        "  help:  use the file as published");
  CHECK(refusal(R"({"type": "NFC"})", R"("x": 1, "x": 2, )") ==
        "the key \"x\" is given twice\n  where: tokenizer.json, /model/x\n"
        "  help:  remove one of the two");
}

TEST_CASE("a template that puts thousands of tokens around a text is refused") {
  std::string parts;
  for (int i = 0; i < 11; ++i) parts += R"({"SpecialToken": {"id": "u", "type_id": 0}},)";
  std::string ids = "0";
  for (int i = 1; i < 100; ++i) ids += ",0";
  const std::string text = R"({"post_processor": {"type": "TemplateProcessing", "single": [)" +
                           parts + R"({"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
        "special_tokens": {"u": {"id": "u", "tokens": ["u"], "ids": [)" +
                           ids + R"(]}}},
      "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}}})";
  TokenizerFiles files;
  files.tokenizer_json = text;
  CHECK(error_from([&] { Tokenizer::from_files(files); }) ==
        "the template puts more than 1000 parts and tokens together\n"
        "  where: tokenizer.json, /post_processor/single/10\n"
        "  help:  use the file as published");
}

TEST_CASE("errors in a tokenizer's files name the file and the place in it") {
  const std::string published = "use the file as published";
  const auto said = [](const std::string& problem, const std::string& where,
                       const std::string& help) {
    return problem + "\n  where: " + where + "\n  help:  " + help;
  };
  TokenizerFiles files = merged();
  files.merges_txt = "#version: 0.2\na b\nabb\n";
  CHECK(refusal_of(files) == said("expected two tokens with a space between them, found \"abb\"",
                                  "merges.txt, line 3", published));
  files.merges_txt = "#version: 0.2\na b\nb a\n";
  CHECK(refusal_of(files) == said("the merge needs \"ba\", which is not in the vocabulary",
                                  "merges.txt, line 3",
                                  "use the vocabulary and the merges as published together"));
  files = merged();
  files.special_tokens_map = R"({"bos_token": 5})";
  CHECK(refusal_of(files) == said("expected a string, found a number",
                                  "special_tokens_map.json, /bos_token",
                                  published + ", or write it again"));
  files = merged();
  files.added_tokens = R"({"<new>": 20})";
  CHECK(refusal_of(files) ==
        said("the added token \"<new>\" has the id 20, but the vocabulary gives it 11",
             "added_tokens.json, /<new>",
             "the ids of a vocabulary and its added tokens are 0, 1, … without a gap"));
  files.added_tokens.reset();
  files.tokenizer_config = R"({"added_tokens_decoder": {"99999999999": {"content": "x"}}})";
  CHECK(refusal_of(files) == said("expected the id of a token",
                                  "tokenizer_config.json, /added_tokens_decoder/99999999999",
                                  published));
  files.tokenizer_config = R"({"added_tokens_decoder": {"3": {"content": "a"}}})";
  CHECK(refusal_of(files) ==
        said("the added token \"a\" has the id 3, but the vocabulary gives it 0",
             "tokenizer_config.json, /added_tokens_decoder/3",
             "the ids of a vocabulary and its added tokens are 0, 1, … without a gap"));
  files.tokenizer_config = R"({"added_tokens_decoder": []})";
  CHECK(refusal_of(files) == said("expected an object, found an array",
                                  "tokenizer_config.json, /added_tokens_decoder", published));
  files.added_tokens = R"({"<new>": 11})";
  CHECK(refusal_of(files) == said("expected an object, found an array",
                                  "tokenizer_config.json, /added_tokens_decoder", published));
}

TEST_CASE("a folder without a tokenizer, or with half of one, is refused with the missing files") {
  TokenizerFiles files;
  CHECK(refusal_of(files) ==
        "the folder has no tokenizer\n"
        "  help:  add tokenizer.json; or tokenizer.model; or tekken.json; or vocab.txt; or "
        "vocab.json and merges.txt");
  files.vocab_json = "{}";
  CHECK(refusal_of(files) ==
        "there is a vocab.json, but no merges.txt\n"
        "  help:  use the folder's files as published together");
  files = merged();
  files.tokenizer_config = R"({"tokenizer_class": "CTRLTokenizer"})";
  CHECK(refusal_of(files) ==
        "the tokenizer \"CTRLTokenizer\" cannot be made from vocab.json and merges.txt alone"
        "\n  where: tokenizer_config.json, /tokenizer_class\n"
        "  help:  save it as tokenizer.json, with Python: "
        "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
  files = {};
  files.vocab_txt = "[UNK]\n[CLS]\n[SEP]\n";
  files.tokenizer_config = R"({"do_basic_tokenize": false})";
  CHECK(refusal_of(files) ==
        "\"do_basic_tokenize\": false is not supported\n"
        "  where: tokenizer_config.json, /do_basic_tokenize\n"
        "  help:  save the tokenizer as tokenizer.json");
  files.tokenizer_config = R"({"tokenizer_class": "BertJapaneseTokenizer"})";
  CHECK(refusal_of(files) ==
        "the tokenizer \"BertJapaneseTokenizer\" cannot be made from vocab.txt alone"
        "\n  where: tokenizer_config.json, /tokenizer_class\n"
        "  help:  save it as tokenizer.json, with Python: "
        "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
  files.tokenizer_config.reset();
  files.vocab_txt = "[UNK]\n[SEP]\n";
  CHECK(refusal_of(files) ==
        "token \"[CLS]\" is not in the vocabulary\n  where: vocab.txt\n"
        "  help:  known: \"[UNK]\", \"[SEP]\"; WordPiece needs [UNK], [CLS] and [SEP], as BERT's "
        "vocab.txt has them");
}

TEST_CASE("errors in a tokenizer.json have their place") {
  const auto refused = [](const std::string& json) {
    TokenizerFiles files;
    files.tokenizer_json = json;
    return refusal_of(files);
  };
  const std::string published = "\n  help:  use the file as published";
  const std::string other =
      "\n  help:  leaving it out could give other tokens: remove it only if it "
      "does not matter";
  struct Refused {
    std::string json, said;
  };
  for (const Refused& one : std::vector<Refused>{
           {R"({})", "there is no model\n  where: tokenizer.json, /model" + published},
           {R"({"model":5})", "expected an object\n  where: tokenizer.json, /model" + published},
           {R"({"version":"2.0","model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}})",
            "version \"2.0\" is not supported\n  where: tokenizer.json, /version\n"
            "  help:  give a file of version 1.0"},
           {R"({"frob":1,"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}})",
            "the key \"frob\" is not supported\n  where: tokenizer.json, /frob" + other},
           {R"({"model":{},"model":{}})",
            "the key \"model\" is given twice\n  where: tokenizer.json, /model\n"
            "  help:  remove one of the two"},
           {R"({"model":{"type":"WordLevel","type":"BPE"}})",
            "the key \"type\" is given twice\n  where: tokenizer.json, /model/type\n"
            "  help:  remove one of the two"},
           {R"({"model":{"type":"WordLevel","vocab":5}})",
            "expected an object of tokens and ids\n  where: tokenizer.json, /model/vocab" +
                published},
           {R"({"model":{"type":"Unigram","vocab":{"a":0}}})",
            "expected an array of tokens and scores\n  where: tokenizer.json, /model/vocab" +
                published},
           {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[5]}})",
            "expected two tokens\n  where: tokenizer.json, /model/merges/0" + published},
           {R"({"model":{"type":"BPE","vocab":{"a":0}}})",
            "expected an array of merges\n  where: tokenizer.json, /model/merges" + published},
           {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1}})",
            "merges are dropped at random, which gives other tokens each time\n"
            "  where: tokenizer.json, /model/dropout\n  help:  write \"dropout\": null"},
           {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"b"}})",
            "the unknown token \"b\" is not in the vocabulary\n"
            "  where: tokenizer.json, /model/unk_token" +
                published},
           {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[],"frob":1}})",
            "the key \"frob\" of BPE is not supported\n  where: tokenizer.json, /model/frob" +
                other}}) {
    CAPTURE(one.json);
    CHECK(refused(one.json) == one.said);
  }
}

}  // namespace
}  // namespace attn
