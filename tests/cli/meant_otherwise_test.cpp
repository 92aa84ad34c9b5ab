#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// What is read otherwise than it may be meant is said, or refused, by name.

namespace {

namespace fs = std::filesystem;

const fs::path meant_model = fs::path(ATTN_DATA) / "speeches",
               shapes = fs::path(ATTN_DATA) / "shapes";

// A copy of a model, whose configuration has another text in one place.
fs::path copied(const fs::path& model, const TemporaryFolder& folder, const std::string& name,
                const std::string& file = "", const std::string& from = "",
                const std::string& to = "") {
  const fs::path copy = folder / name;
  fs::copy(model, copy);
  if (file.empty()) return copy;
  std::string text = read_text(copy / file);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  write_text(copy / file, text.replace(at, from.size(), to));
  return copy;
}

std::string warnings_of(std::vector<std::string> words, const fs::path& folder) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--plots", "none", "--out", "out"});
  const Outcome outcome = attn_cli(words, folder);
  CHECK(outcome.exit_code == 0);
  return outcome.errors;
}

// A vocabulary of sixty tokens, the size that the models of these tests have.
std::string small_vocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsleeps\n";
  for (int n = 8; n < 60; ++n) text += "word" + std::to_string(n) + "\n";
  return text;
}

}  // namespace

TEST_CASE("the logit that is split of a masked model is that at its mask token") {
  const TemporaryFolder folder;
  const fs::path model =
      copied(fs::path(ATTN_TEST_DATA) / "models" / "cases" / "distilbert_masked" / "checkpoint",
             folder, "masked");
  write_text(model / "vocab.txt", small_vocabulary());
  const auto position = [&](const std::string& text, const std::vector<std::string>& more) {
    std::vector<std::string> words{"explain", "--model", model.string(), "--text",
                                   text,      "--logit", "cat",          "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    REQUIRE(outcome.exit_code == 0);
    return nlohmann::json::parse(outcome.output)["contribution"]["position"].get<int>();
  };
  CHECK(position("the [MASK] sleeps", {}) == 2);
  CHECK(position("the [MASK] sleeps", {"--query", "1"}) == 1);
  CHECK(position("the cat sleeps", {}) == 4);
  // Where no mask is found, it is said which logit is split.
  const auto warned = [&](const std::string& text, const std::vector<std::string>& more) {
    std::vector<std::string> words{"explain", "--model", model.string(), "--text",
                                   text,      "--logit", "cat"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path()).errors;
  };
  const std::string lacks =
      "attn-cli: warning: the text has no [MASK]: the logit is split at its last token, and "
      "--query chooses another\n";
  CHECK(warned("the [MASK] sleeps", {}) == "");
  CHECK(warned("the cat sleeps", {"--query", "1"}) == "");
  CHECK(warned("the cat sleeps", {}) == lacks);
  CHECK(warnings_of({"--model", model.string(), "--text", "the cat sleeps", "--logit", "cat"},
                    folder.path()) == lacks);
}

TEST_CASE("special tokens that a text holds are told where the tokenizer takes them otherwise") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& text) {
    return warnings_of({"--model", meant_model.string(), "--text", text}, folder.path());
  };
  CHECK(told("The people of the world") == "");
  CHECK(
      told("<|begin_of_text|>The people") ==
      "attn-cli: warning: the text has \"<|begin_of_text|>\", which the tokenizer adds "
      "automatically, "
      "so that it appears twice: take it out of the text, or write \"special_tokens\": false into "
      "the document\n");
  CHECK(told("[CLS] The people [SEP]") ==
        "attn-cli: warning: not a special token of this tokenizer, and read as plain text: [CLS], "
        "[SEP]; its own are <|begin_of_text|>, <|end_of_text|>\n");
  CHECK(told("5,11,3") ==
        "attn-cli: warning: the text \"5,11,3\" is read as text: token ids are given with --ids\n");
  const fs::path model = copied(
      fs::path(ATTN_TEST_DATA) / "models" / "cases" / "bert_pairs" / "checkpoint", folder, "bert");
  write_text(model / "vocab.txt", small_vocabulary());
  CHECK(
      warnings_of({"--model", model.string(), "--text", "the cat [SEP] the cat"}, folder.path()) ==
      "attn-cli: warning: the text has \"[SEP]\" within it, and all its tokens are of the first "
      "text's type: the second text of a pair is given with --pair\n");
}

TEST_CASE("a mask in small letters, a spelt new line and a space at the end are told") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& text) {
    return warnings_of({"--model", meant_model.string(), "--text", text}, folder.path());
  };
  CHECK(told("The [mask] people") ==
        "attn-cli: warning: not a special token of this tokenizer, and read as plain text: [mask]; "
        "its own are <|begin_of_text|>, <|end_of_text|>\n");
  const std::string spelt =
      "attn-cli: warning: the text has a backslash and the letter n, not a new line, which is "
      "$'\\n' in a shell and \\n in JSON\n";
  for (const std::string text : {"The people\\nof the world", "The people.\\n", "one\\n\\ntwo"}) {
    CAPTURE(text);
    CHECK(told(text) == spelt);
  }
  // Formulas, files and quoted code.
  for (const std::string text : {"x\\neq y", "$\\nabla f$", "C:\\new\\name", "print('a\\n')",
                                 "The people\nof \\n", "\\new"}) {
    CAPTURE(text);
    CHECK(told(text) == "");
  }
  CHECK(told("The peace of the ") ==
        "attn-cli: warning: the text ends in a space, which becomes a token of its own, while "
        "tokens of "
        "words begin with a space: leave it out to predict the next word\n");
}

TEST_CASE("a continuation that lacks the space of its first word is told") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& text, const std::string& continued) {
    return warnings_of({"--model", meant_model.string(), "--text", text, "--continue", continued},
                       folder.path());
  };
  CHECK(told("The peace of the", "world") ==
        "attn-cli: warning: --continue begins without a space: for a new word write \" world\"\n");
  CHECK(told("The peace of the", " world") == "");
  CHECK(told("The peace of the\n", "world") == "");
}

TEST_CASE("a corpus of which no line can be read writes nothing, and says why") {
  const TemporaryFolder folder;
  write_text(folder / "latin.txt", "The people of \xE9tat.\n");
  write_text(folder / "wide.txt", std::string("\xFF\xFET\0h\0e\0", 8));
  write_text(folder / "marked.txt", "\xEF\xBB\xBFThe people of the world.\n");
  write_text(folder / "plain.txt", "The people of the world.\n");
  const auto read = [&](const std::string& corpus) {
    return attn_cli({"heads", "--model", meant_model.string(), "--corpus", corpus, "--out", "out"},
                    folder.path());
  };
  const Outcome latin = read("latin.txt");
  CHECK(latin.exit_code == 1);
  CHECK(
      latin.errors ==
      "attn-cli: warning: line 1 is left out: byte 14 of the text is not UTF-8; write the text in "
      "UTF-8\n");
  CHECK(latin.output ==
        "No text of the corpus could be read: there are no means, and nothing is written.\n");
  CHECK(!fs::exists(folder / "out"));
  const Outcome wide = read("wide.txt");
  CHECK(wide.exit_code == 3);
  CHECK(
      wide.errors ==
      "attn-cli: the file is a text in UTF-16, or not a text\n  where: wide.txt\n  help:  save it "
      "as UTF-8, one text or document a line\n");
  CHECK(read("marked.txt").exit_code == 0);
  const std::string marked = read_text(folder / "out" / "heads.csv");
  CHECK(read("plain.txt").exit_code == 0);
  CHECK(read_text(folder / "out" / "heads.csv") == marked);
}

TEST_CASE("lines of a corpus that are documents of another program say which key to write") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& line) {
    write_text(folder / "corpus.jsonl", line + "\n");
    return attn_cli({"heads", "--model", meant_model.string(), "--corpus", "corpus.jsonl"},
                    folder.path())
        .errors;
  };
  const std::string left = "attn-cli: warning: line 1 is left out: ";
  CHECK(told(R"({"clean": "The people", "corrupted": "The peace"})") ==
        left + "unknown key \"clean\" (at /clean); write \"text\"\n");
  CHECK(told(R"({"sentence": "The people"})") ==
        left + "unknown key \"sentence\" (at /sentence); write \"text\"\n");
  CHECK(told(R"("The people")") ==
        left +
            "an input document is an object, but this is a string; write {\"text\": …} for a text "
            "that a model reads\n");
  CHECK(told(R"({"text": "The people", "temperature": 0.7})") ==
        left +
            "unknown key \"temperature\" (at /temperature); leave it out: the likeliest token is "
            "taken each time\n");
  CHECK(told(R"({"text": "The people", "head": 2})") ==
        left + "unknown key \"head\" (at /head); leave it out: it is a flag of attn-cli run\n");
  CHECK(told(R"({"text": "The people", "answer": " world"})") ==
        left + "unknown key \"answer\" (at /answer); write \"logit\", the token\n");
  CHECK(told(R"({"text": "The people", "patch": "The peace"})") ==
        left +
            "expected an object, found a string (at /patch); write \"patch\": {\"text\": \"The "
            "peace\", \"at\": \"2.0\"} for a part such as head 0 of layer 2; without \"at\", "
            "attn-cli "
            "heads takes each part in its turn\n");
  CHECK(told(R"({"text": "The people", "heads_off": ["2.0", "2.3", "1.1"]})") ==
        left +
            "expected an object, found an array (at /heads_off); write {\"2\": [0, 3], \"1\": "
            "[1]}\n");
  CHECK(told(R"({"text": "The people", "heads_off": ["2.0", "2", "1.feed_forward"]})") ==
        left +
            "expected an object, found an array (at /heads_off); write {\"2\": \"all\", "
            "\"1.feed_forward\": \"all\"}\n");
  for (const std::string unknown : {"[2, 3]", R"(["2.0", "x"])", "[]"}) {
    CHECK(
        told(R"({"text": "The people", "heads_off": )" + unknown + "}") ==
        left +
            "expected an object, found an array (at /heads_off); name heads by their layers, such "
            "as {\"1\": [0, 3]}\n");
  }
  CHECK(told(R"({"text": "The people", "logit": [" world", " people"]})") ==
        left +
            "2 tokens for 1 text (at /logit); for the difference of two logits name the second "
            "token with \"against_logit\"\n");
}

TEST_CASE("texts under another name than that of texts are told to get it") {
  const TemporaryFolder folder;
  write_text(folder / "notes.md", "The people of the world.\n");
  write_text(folder / "lines.txt", "The people of the world.\n");
  write_text(folder / "lines.txt.gz", "\x1f\x8b");
  fs::create_directory(folder / "texts");
  write_text(folder / "texts" / "a.txt", "The people of the world.\n");
  const std::string model = meant_model.string();
  const std::string plain = "this is plain text, not an input document\n  where: ";
  CHECK(refused_with(2, {"heads", "--model", model, "--corpus", "notes.md"}, folder.path()) ==
        "attn-cli: " + plain +
            "--corpus\n  help:  call it \"notes.txt\", of which each line is a text\n");
  CHECK(refused_with(2, {"heads", "--model", model, "--corpus", "lines.txt.gz"}, folder.path()) ==
        "attn-cli: \"lines.txt.gz\" is compressed\n  where: --corpus\n  help:  write gunzip -k "
        "lines.txt.gz, and name the file that it makes\n");
  CHECK(refused_with(3, {"heads", "--model", model, "lines.txt"}, folder.path()) ==
        "attn-cli: " + plain + "lines.txt\n  help:  write --corpus lines.txt\n");
  const Outcome batch =
      attn_cli({"batch", "--model", model, "notes.md", "--out", "out"}, folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors == "attn-cli: notes.md: " + plain +
                            "notes.md\n  help:  call it \"notes.txt\", of which each line is a "
                            "text\n");
  CHECK(refused_with(4, {"batch", "--model", model, "texts", "--out", "own"}, folder.path()) ==
        "attn-cli: there are no documents in what was given\n  where: attn-cli batch\n  help:  "
        "write 'texts/*.txt'\n");
}

TEST_CASE("what is no corpus is refused by its kind") {
  const TemporaryFolder folder;
  write_text(folder / "t.csv", "text,label\nThe people,1\n");
  const std::string cure =
      "  help:  give a .txt file with a text on each line, or a .jsonl with a document on each, "
      "such as {\"text\": \"…\"}\n";
  CHECK(refused_with(2, {"heads", "--model", meant_model.string(), "--corpus", "t.csv"},
                     folder.path()) ==
        "attn-cli: \"t.csv\" is a table, not a corpus\n  where: --corpus\n" + cure);
  CHECK(
      refused_with(2, {"heads", "--model", meant_model.string(), "--corpus", "."}, folder.path()) ==
      "attn-cli: \".\" is a folder, and a corpus is one file\n  where: --corpus\n" + cure);
  const Outcome batch =
      attn_cli({"batch", "--model", meant_model.string(), "t.csv", "--out", "out"}, folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors.find("this is a table, not texts") != std::string::npos);
  const Outcome own = attn_cli(
      {"batch", "--model", shapes.string(), shapes.string(), "--out", "own", "--plots", "none"},
      folder.path());
  CHECK(own.exit_code == 0);
  CHECK(own.output.find("done     2\n") != std::string::npos);
}

TEST_CASE("a configuration that does not fit the weights is told by its key") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& from, const std::string& to) {
    const fs::path model = copied(meant_model, folder, "model", "config.json", from, to);
    const Outcome outcome = attn_cli(
        {"run", "--model", "model", "--text", "The people", "--out", "out", "--plots", "none"},
        folder.path());
    fs::remove_all(model);
    return outcome.errors;
  };
  const std::string where = "\n  where: model/model.safetensors\n  help:  ";
  CHECK(told("\"num_hidden_layers\": 4", "\"num_hidden_layers\": 6") ==
        "attn-cli: \"num_hidden_layers\" of config.json is 6, and the weights have 4 layers" +
            where + "write 4 there, or take the model's complete weights\n");
  CHECK(told("\"num_hidden_layers\": 4", "\"num_hidden_layers\": 2")
            .find("; \"num_hidden_layers\" of config.json is 2, and the weights have 4\n") !=
        std::string::npos);
  CHECK(told("\"vocab_size\": 2048", "\"vocab_size\": 32000") ==
        "attn-cli: model.embed_tokens.weight [2048,128] does not fit the configuration: expected "
        "[32000,any]" +
            where + "\"vocab_size\" of config.json is 32000, and the weights have 2048\n");
  CHECK(told("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4")
            .ends_with("help:  \"num_key_value_heads\" of config.json is 4, and with heads 32 wide "
                       "the weights have 2\n"));
  CHECK(told("\"num_key_value_heads\": 2,", "")
            .ends_with("help:  config.json has no \"num_key_value_heads\", and "
                       "\"num_attention_heads\" (4) counts in its place; with heads 32 wide the "
                       "weights have 2 heads of keys\n"));
  CHECK(told("\"model_type\": \"llama\"", "\"model_type\": \"gpt2\"")
            .ends_with("help:  their names are as in models of the type llama, and \"model_type\" "
                       "of config.json is gpt2\n"));
  CHECK(
      told("\"rope_theta\": 10000.0", "\"rotary_base\": 500000.0") ==
      "attn-cli: warning: \"rotary_base\" of the configuration is not read in models of the type "
      "llama: the number stands there under \"rope_theta\", which is absent, so that the family's "
      "own counts\n");
}

TEST_CASE("settings of pictures that do not fit the model are told") {
  const TemporaryFolder folder;
  const std::string star = (shapes / "blue_star.png").string();
  const std::string settings = read_text(shapes / "preprocessor_config.json");
  const auto told = [&](const nlohmann::json& changes) {
    nlohmann::json changed = nlohmann::json::parse(settings);
    changed.update(changes);
    const fs::path model = copied(shapes, folder, "model");
    write_text(model / "preprocessor_config.json", changed.dump());
    const std::string warnings = warnings_of({"--model", "model", "--image", star}, folder.path());
    fs::remove_all(model);
    return warnings;
  };
  CHECK(told(nlohmann::json::object()) == "");
  CHECK(told({{"size", {{"shortest_edge", 128}}}, {"crop_size", 128}})
            .starts_with("attn-cli: warning: the prepared picture has 128 × 128 pixels, and "
                         "\"image_size\" of the model is 64: positions are interpolated"));
  CHECK(told({{"rescale_factor", 255}})
            .starts_with("attn-cli: warning: \"rescale_factor\" of preprocessor_config.json is "
                         "255, so that numbers of the picture go up to 65025"));
  CHECK(told({{"image_mean", {123.7, 116.3, 103.5}}})
            .starts_with("attn-cli: warning: \"image_mean\" of preprocessor_config.json goes up to "
                         "123.7, and numbers of the picture from 0 to 1"));
  CHECK(refused_with(3, {"run", "--model", shapes.string(), "--image", "https://x.org/a.png"},
                     folder.path()) ==
        "attn-cli: \"https://x.org/a.png\" is an address, and nothing is downloaded\n"
        "  where: --image\n  help:  download it first, and name the file\n");
  CHECK(attn_cli({"run", "--model", meant_model.string(), "--text", "The peace of the", "--plots",
                  "none", "--out", "text", "--quiet"},
                 folder.path())
            .exit_code == 0);
  const Outcome laid =
      attn_cli({"plot", "overlay", "text", "--image", star, "--grid", "2,2", "--out", "o.png"},
               folder.path());
  CHECK(laid.errors.find("these weights may be of a text, whose tokens are not patches of the "
                         "picture") != std::string::npos);
}

TEST_CASE("a number of heads in place of the document's own is told from that of a head") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"multi_head","heads":2,"seed":1,"x":{"randn":[1,3,4]},
    "parameters":{"init":"torch"}})");
  CHECK(warnings_of({"d.json", "--heads", "1"}, folder.path()) ==
        "attn-cli: warning: --heads 1 splits anew what the document splits into 2 heads: to show a "
        "head of those write --head 1\n");
  CHECK(warnings_of({"d.json", "--heads", "2"}, folder.path()).find("splits anew") ==
        std::string::npos);
}
