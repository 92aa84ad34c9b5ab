#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tokens/token_models.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

const std::string models = std::string(ATTN_TEST_DATA) + "/tokens/sentencepiece/";

// A folder's files, and the bytes of the model to which they refer.
struct Folder {
  explicit Folder(const std::string& model, const std::string& family = "")
      : bytes(read_text(models + model)) {
    files.sentencepiece = bytes;
    files.model_type = family;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string bytes;
  TokenizerFiles files;
};

using Ids = std::vector<std::int64_t>;

Ids ids_of(const Folder& folder, std::string_view text,
           std::optional<std::string_view> pair = std::nullopt, bool special = true) {
  Ids ids;
  for (const TextToken& token :
       Tokenizer::from_files(folder.files).encode(text, pair, special, "/text")) {
    ids.push_back(token.id);
  }
  return ids;
}

TEST_CASE("a SentencePiece model gives the ids that its own program gives") {
  const Folder bpe("bpe.model"), unigram("unigram.model");
  const auto cut = [&](const Folder& folder, const char* text) {
    return ids_of(folder, text, std::nullopt, false);
  };
  CHECK(cut(bpe, "Hello, world!") == Ids{413, 483, 319, 299, 427, 276, 273, 424, 422, 497});
  CHECK(cut(bpe, "  two  spaces and 12345 ") == Ids{413, 413, 261, 435, 418, 413, 269, 430, 416,
                                                    426, 268, 284, 413, 447, 454, 458, 470, 481,
                                                    413});
  CHECK(cut(bpe, "naïve ﬁne ＡＢ… 𝄞") == Ids{292, 416, 199, 179, 446, 414, 413, 243, 176,
                                             133, 419, 414, 413, 243, 192, 165, 243, 192,
                                             166, 230, 132, 170, 413, 244, 161, 136, 162});
  CHECK(cut(unigram, "The query looks at the keys.") == Ids{150, 3, 92, 282, 4, 3, 52, 14, 123, 7});
  CHECK(cut(unigram, "  two  spaces and 12345 ") ==
        Ids{103, 58, 11, 3, 4, 19, 10, 115, 4, 31, 71, 63, 104, 107, 152});
  CHECK(cut(unigram, "naïve ﬁne ＡＢ… 𝄞") ==
        Ids{3, 17, 10, 0, 68, 6, 64, 41, 6, 23, 0, 7, 7, 7, 3, 0});
}

TEST_CASE("unknown characters in a row are one token of a SentencePiece model, however many") {
  const Folder folder("unigram.model");
  const Tokenizer tokenizer = Tokenizer::from_files(folder.files);
  for (const std::size_t count : {2, 300'000}) {
    CAPTURE(count);
    std::string text = "The ";
    for (std::size_t i = 0; i < count; ++i) text += "\u0416";
    const auto tokens = tokenizer.encode(text + ". ", std::nullopt, false, "/text");
    REQUIRE(tokens.size() == 4);
    CHECK(tokens[0].id == 150);
    CHECK(tokens[1].id == 3);
    CHECK(tokens[2].id == 0);
    CHECK(tokens[2].begin == 4);
    CHECK(tokens[2].end == 4 + 2 * count);
    CHECK(tokens[3].id == 7);
    CHECK(tokens[3].end == tokens[3].begin + 1);
  }
}

TEST_CASE(
    "the piece for unknown characters is found by its type, whatever its name is said to be") {
  Folder folder("unigram.model");
  const Ids ids = ids_of(folder, "The Ж.");
  // trainer_spec { unk_piece: "<other>" }, of which there is no piece.
  folder.bytes += "\x12\x0A\xEA\x02\x07<other>";
  folder.files.sentencepiece = folder.bytes;
  CHECK(ids_of(folder, "The Ж.") == ids);
}

TEST_CASE("a SentencePiece model whose pieces look like bytes takes shorter texts") {
  Folder folder("unigram.model");
  folder.bytes += "\x0a\x08\x0a\x06<0x41>";  // pieces { piece: "<0x41>" }
  folder.files.sentencepiece = folder.bytes;
  const Tokenizer tokenizer = Tokenizer::from_files(folder.files);
  CHECK(tokenizer.encode("a\u0416\u0416", std::nullopt, false, "/text").size() == 2);
  CHECK(error_from(
            [&] { tokenizer.encode(std::string(70'000, 'a'), std::nullopt, false, "/text"); }) ==
        "the text has 70000 bytes, more than 64 KiB\n  where: /text\n"
        "  help:  give less text at a time");
}

TEST_CASE("texts that a SentencePiece model tests itself by are not cut while it loads") {
  Folder folder("unigram.model");
  folder.bytes += "\x22\x08\x0a\x06\x0a\x01z\x12\x01z";  // self_test_data { samples { … } }
  folder.files.sentencepiece = folder.bytes;
  CHECK(ids_of(folder, "a", std::nullopt, false) ==
        ids_of(Folder("unigram.model"), "a", std::nullopt, false));
}

TEST_CASE("a configuration without a space before texts takes away the model's") {
  Folder folder("bpe.model");
  folder.files.tokenizer_config = R"({"add_prefix_space": false})";
  CHECK(ids_of(folder, "the hello", std::nullopt, false) == Ids{415, 262, 413, 262, 424, 299});
}

TEST_CASE("tokens of a SentencePiece model say which bytes and which words they stand for") {
  const Folder folder("bpe.model");
  const auto tokens =
      Tokenizer::from_files(folder.files).encode("naïve 𝄞", std::nullopt, false, "/text");
  std::string shown;
  for (const TextToken& token : tokens) {
    shown += token.piece + "[" + std::to_string(token.begin) + "," + std::to_string(token.end) +
             ")" + std::to_string(token.word) + " ";
  }
  CHECK(shown ==
        "n[0,1)0 a[1,2)0 ï[2,4)0 ï[2,4)0 v[4,5)0 e[5,6)0  [6,7)1 𝄞[7,11)1 𝄞[7,11)1 𝄞[7,11)1 "
        "𝄞[7,11)1 ");
}

TEST_CASE("special tokens that a text names stand for themselves") {
  const Folder folder("bpe.model");
  CHECK(ids_of(folder, "a</s>", std::nullopt, false) == Ids{260, 2});
  CHECK(ids_of(folder, "a<mask>", std::nullopt, false) == Ids{260, 3});
}

TEST_CASE("the class or the family decides what is put around a text") {
  Folder llama("bpe.model", "llama");
  CHECK(ids_of(llama, "a", "b") == Ids{1, 260, 1, 287});
  llama.files.tokenizer_config = R"({"add_bos_token": false, "add_eos_token": true})";
  CHECK(ids_of(llama, "a", "b") == Ids{260, 2, 287, 2});
  llama.files.special_tokens_map = R"({"eos_token": {"content": "<mask>"}})";
  CHECK(ids_of(llama, "a") == Ids{260, 3});

  Folder t5("unigram.model", "t5");
  CHECK(ids_of(t5, "a", "a") == Ids{23, 2, 23, 2});
  // One hundred more, counted down.
  CHECK(ids_of(t5, "<extra_id_0> a <extra_id_99>") == Ids{399, 23, 300, 2});
  t5.files.tokenizer_config = R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 2})";
  CHECK(ids_of(t5, "<extra_id_0>") == Ids{301, 2});
}

TEST_CASE("fairseq's vocabularies have four tokens before the pieces, and the mask after them") {
  const Folder xlm("unigram.model", "xlm-roberta");
  CHECK(ids_of(xlm, "a") == Ids{0, 24, 2});
  CHECK(ids_of(xlm, "a", "a") == Ids{0, 24, 2, 2, 24, 2});
  CHECK(ids_of(xlm, "a ï <mask>") == Ids{0, 24, 4, 3, 301, 2});
  CHECK(Tokenizer::from_files(xlm.files).special_ids().pad == 1);
  CHECK(Tokenizer::from_files(xlm.files).size() == 302);

  const Folder camembert("unigram.model", "camembert");
  CHECK(ids_of(camembert, "a ï <mask>") == Ids{5, 27, 7, 3, 304, 6});

  Folder mbart("unigram.model", "mbart");
  mbart.files.tokenizer_config = R"({"src_lang": "de_DE"})";
  CHECK(ids_of(mbart, "a") == Ids{24, 2, 303});
  mbart.files.tokenizer_config = R"({"tokenizer_class": "MBart50Tokenizer"})";
  CHECK(ids_of(mbart, "a<mask>") == Ids{304, 24, 353, 2});
}

TEST_CASE("Pegasus has 103 tokens after the first two") {
  const Folder pegasus("unigram.model", "pegasus");
  CHECK(ids_of(pegasus, "a<mask_2><unk_102>", std::nullopt, false) == Ids{126, 3, 104});
}

TEST_CASE("Marian's pieces have the ids of vocab.json") {
  Folder marian("unigram.model", "marian");
  marian.files.sentencepiece_name = "source.spm";
  CHECK(error_from([&] { Tokenizer::from_files(marian.files); }) ==
        "there is a source.spm, but no vocab.json\n"
        "  help:  use the folder's files as published together");
  marian.files.vocab_json = R"({"</s>": 0, "<unk>": 1, "▁a": 2, ">>fra<<": 3, "▁": 4, "<pad>": 5})";
  CHECK(ids_of(marian, "a") == Ids{2, 0});
  CHECK(ids_of(marian, ">>fra<<a z") == Ids{3, 2, 4, 1, 0});
}

TEST_CASE("added_tokens.json lists tokens after the pieces") {
  Folder llama("bpe.model", "llama");
  llama.files.added_tokens = R"({"<pad>": 500, "<|im_start|>": 501})";
  CHECK(ids_of(llama, "<|im_start|>a", std::nullopt, false) == Ids{501, 260});
  llama.files.added_tokens = R"({"<pad>": 600})";
  CHECK(error_from([&] { Tokenizer::from_files(llama.files); }) ==
        "the added token \"<pad>\" has the id 600, but the vocabulary gives it 500\n"
        "  where: added_tokens.json, /<pad>\n"
        "  help:  the ids of a vocabulary and its added tokens are 0, 1, … without a gap");
  llama.files.added_tokens = R"({"<pad>": -1})";
  CHECK(error_from([&] { Tokenizer::from_files(llama.files); }) ==
        "expected the id of a token\n"
        "  where: added_tokens.json, /<pad>\n"
        "  help:  use the file as published");
}

TEST_CASE("ALBERT's texts lose accents and capitals, and have tokens around them") {
  Folder albert("unigram.model", "albert");
  CHECK(error_from([&] { Tokenizer::from_files(albert.files); }) ==
        "the token \"[CLS]\" is not in the vocabulary\n"
        "  where: tokenizer.model\n"
        "  help:  use the files of the folder as published together");
  albert.files.tokenizer_config = R"({"cls_token": "<s>", "sep_token": "</s>"})";
  CHECK(ids_of(albert, "Á", "a") == Ids{1, 23, 2, 23, 2});
}

TEST_CASE("damaged models, other files and unknown classes are errors that name the file") {
  Folder folder("bpe.model", "llama");
  const std::string whole = folder.bytes;
  const char* wrong =
      "this is not a SentencePiece model, or not a complete one\n"
      "  where: tokenizer.model\n"
      "  help:  use the file as published, or name the folder of the model";
  // A piece without text, for which the library's trie throws.
  const std::string no_text =
      read_text(models + "unigram.model") + std::string("\x0A\x03\x0A\x01\x00", 5);
  // A number in the field of pieces, which the library passes over.
  const std::string number_as_piece = whole + "\x08\x05";
  for (const std::string& bytes :
       {std::string(), whole.substr(0, whole.size() / 2), whole.substr(1), std::string(64, '\0'),
        no_text, number_as_piece}) {
    folder.bytes = bytes;
    folder.files.sentencepiece = folder.bytes;
    CHECK(error_from([&] { Tokenizer::from_files(folder.files); }) == wrong);
  }
  // Of tiktoken, whose tables name each byte.
  folder.bytes = "IQ== 0\n";
  folder.files.sentencepiece = folder.bytes;
  CHECK(error_from([&] { Tokenizer::from_files(folder.files); }) ==
        "the byte 0 has no token\n  where: tokenizer.model\n  help:  use the file as published");
  folder.bytes = whole;
  folder.files.sentencepiece = folder.bytes;
  folder.files.tokenizer_config = R"({"tokenizer_class": "BaichuanTokenizer"})";
  CHECK(error_from([&] { Tokenizer::from_files(folder.files); }) ==
        "the tokenizer \"BaichuanTokenizer\" cannot be made from tokenizer.model alone\n"
        "  where: tokenizer_config.json, /tokenizer_class\n"
        "  help:  save it as tokenizer.json, with Python: "
        "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
  const std::string huge((std::size_t{64} << 20) + 1, 'x');
  CHECK(error_from([&] { SentencePieceModel{huge}; }) ==
        "the file has 67108865 bytes, more than 64 MiB\n"
        "  help:  no SentencePiece model is so large: use the file as published");
}

TEST_CASE(
    "a table of characters that leads out of itself is refused before the library follows it") {
  Folder folder("unigram.model", "t5");
  const std::string whole = folder.bytes;
  // The name of the normalization, the field's number and length, the length of the trie.
  const std::size_t trie = whole.find("user_defined") + 12 + 3 + 4;
  constexpr std::size_t units = 256;
  const auto is_value = [&](std::size_t unit) {
    return (static_cast<unsigned char>(whole[trie + 4 * unit + 3]) & 0x80U) != 0;
  };
  std::size_t value = 0;
  while (value < units && !is_value(value)) ++value;
  REQUIRE(value < units);
  struct {
    std::size_t unit;
    std::string bytes;                                    // lowest first
  } const changes[] = {{0, {0, '\xFC', '\xFF', '\x7F'}},  // far behind the trie
                       {0, {0, 0, 4, 0}},                 // to its end
                       {value, {'\xFF', 0, 0, '\x80'}}};  // to a replacement that there is not
  for (const auto& change : changes) {
    CAPTURE(change.bytes);
    folder.bytes = whole;
    folder.bytes.replace(trie + 4 * change.unit, 4, change.bytes);
    folder.files.sentencepiece = folder.bytes;
    CHECK(error_from([&] { Tokenizer::from_files(folder.files); }) ==
          "the precompiled table of characters is damaged\n"
          "  where: tokenizer.model\n"
          "  help:  use the file as published");
  }
}

TEST_CASE("a text of more than a mebibyte is refused") {
  const Folder folder("bpe.model", "llama");
  const std::string text((std::size_t{1} << 20) + 1, 'a');
  CHECK(error_from([&] { ids_of(folder, text); }) ==
        "the text has 1048577 bytes, more than 1 MiB\n"
        "  where: /text\n"
        "  help:  give less text at a time");
}

}  // namespace
}  // namespace attn
