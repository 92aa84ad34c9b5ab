#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "document/document_problems.hpp"
#include "document/reader.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;
namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

std::string checkpoint(const char* name) {
  return (cases / name / "checkpoint").string();
}
const std::string gpt2 = checkpoint("gpt2_bare_names"), bert = checkpoint("bert_pairs"),
                  bart = checkpoint("bart_start_token");

// Words, and BERT's special tokens around them.
constexpr const char* words = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false},
    {"id": 2, "content": "</s>", "special": true, "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false}],
  "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
  "post_processor": {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]},
  "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "<unk>",
            "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "one": 4, "two": 5,
                      "three": 6}}})";

// A checkpoint with that tokenizer.
struct WithWords : TemporaryFolder {
  explicit WithWords(const std::string& whole) {
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy_file(fs::path(whole) / name, *this / name);
    }
    write("tokenizer.json", words);
  }
  void replace(const char* name, const std::string& from, const std::string& to) const {
    std::string text = read_text(*this / name);
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    write(name, text.replace(at, from.size(), to));
  }
};

std::string document_of(const std::string& folder, const std::string& rest) {
  return R"({"model": ")" + folder + "\"" + (rest.empty() ? "" : ", ") + rest + "}";
}

Plan plan_of(const std::string& folder, const std::string& rest) {
  const Document document = Document::parse(document_of(folder, rest), "doc.json", {});
  Problems problems;
  const std::vector<Kind> kinds = read_kinds(document.root());
  Plan plan = read_plan(document, kinds.front(), kinds, problems);
  for (const Error& error : problems.errors()) FAIL(error.what());
  return plan;
}

const ModelTexts& texts_of(const Plan& plan) {
  return model_of(plan)->texts;
}

struct Wrong {
  std::string rest, problem, where, help;
};

void check_all(const std::string& folder, const std::vector<Wrong>& all) {
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.rest);
    CHECK(problems_of(document_of(folder, wrong.rest)) ==
          wrong.problem + "\n  where: doc.json, " + wrong.where + "\n  help:  " + wrong.help);
  }
}

}  // namespace

TEST_CASE("a document of a model names its folder") {
  CHECK(problems_of(R"({"attention": "model", "token_ids": [1]})") ==
        "the document names no model\n"
        "  where: doc.json, /model\n"
        "  help:  add \"model\", the folder of a checkpoint");
  CHECK(problems_of(R"({"model": "", "token_ids": [1]})") ==
        "the name is empty\n"
        "  where: doc.json, /model\n"
        "  help:  name a checkpoint folder");
}

TEST_CASE("a checkpoint one folder deeper than the named one is named in the error") {
  const fs::path above = cases / "gpt2_bare_names";
  CHECK(problems_of(document_of(above.string(), R"("token_ids": [1])")) ==
        "there is no config.json in the folder \"" + above.string() +
            "\"\n  where: doc.json\n  help:  its folder \"" + gpt2 + "\" has one: name that");
}

TEST_CASE("a model reads texts or ids, and types only with ids that have them") {
  check_all(
      bert,
      {{"", "the document has nothing for the model to read", "/text",
        "give \"text\" or \"token_ids\", or DocumentOptions::texts"},
       {R"("text": "a", "token_ids": [1])", "\"text\" and \"token_ids\" cannot both be given",
        "/token_ids", "leave one of them out"},
       {R"("text": "a", "token_types": [0])", "\"text\" and \"token_types\" cannot both be given",
        "/token_types", "leave it out: the types follow from the tokenizer"},
       {R"("token_ids": [[1, 2], [3]], "token_types": [[0, 0], [1, 1]])",
        "2 token types for 1 token", "/token_types/1", "give one type for each token"},
       {R"("token_ids": [[1, 2]], "token_types": [[0, 0], [1]])", "1 token type for 0 tokens",
        "/token_types/1", "give one type for each token"},
       {R"("token_ids": [[1, 2], [3]], "token_types": [[0, 0]])", "0 token types for 1 token",
        "/token_types/1", "give one type for each token"}});
  check_all(gpt2, {{R"("token_ids": [1], "token_types": [0])", "the model has no token types",
                    "/token_types", "leave it out"}});
}

TEST_CASE("ids are a list of whole numbers, or one list a sample") {
  const std::string help = "give a list of whole numbers, or one list per sample";
  check_all(
      gpt2,
      {{R"("token_ids": {})", "expected a list of ids, found an object", "/token_ids", help},
       {R"("token_ids": [])", "expected a list of ids, found an empty array", "/token_ids", help},
       {R"("token_ids": [[1], []])", "expected a list of ids, found an empty array", "/token_ids/1",
        help},
       {R"("token_ids": [[1], 2])", "expected a list of ids, found a number", "/token_ids/1",
        help}});
}

TEST_CASE(
    "ids in rows of one length are read without a value for each, and refused at their places") {
  const auto ids = [](const std::string& text) {
    return texts_of(plan_of(gpt2, R"("token_ids": )" + text)).ids;
  };
  using Rows = std::vector<std::vector<std::int64_t>>;
  CHECK(ids("[[1, 2], [3, 4.0]]") == Rows{{1, 2}, {3, 4}});
  CHECK(ids("[1, 2]") == Rows{{1, 2}});
  const std::string help = "give a whole number of at least 0";
  check_all(gpt2, {{R"("token_ids": [[1, 2], [3, -4]])",
                    "expected a whole number of at least 0, found -4", "/token_ids/1/1", help},
                   {R"("token_ids": [1, true])", "expected a number, found true", "/token_ids/1",
                    "give a number"},
                   {R"("token_ids": [[[1]]])", "expected a number, found an array",
                    "/token_ids/0/0", "give a number"}});
}

TEST_CASE("a document with more samples than a batch's is refused before they are read") {
  std::string ids = "[1]";
  for (int i = 0; i < 200'000; ++i) ids += ",[1]";
  check_all(gpt2, {{R"("token_ids": [)" + ids + "]",
                    "200001 samples in one document, and at most 200000 are read", "/token_ids",
                    "give fewer, in several documents of a batch"}});
}

TEST_CASE("texts are a string, or a list of strings and of pairs of strings") {
  const WithWords folder(bert);
  const std::string help = "give a string, or a list of strings and of pairs of strings";
  check_all(folder.path().string(),
            {{R"("text": 5)", "expected texts, found a number", "/text", help},
             {R"("text": [])", "expected texts, found an empty array", "/text", help},
             {R"("text": ["one", ["two"]])", "expected a pair, found 1 text", "/text/1",
              "give a string, or a pair [first, second]"},
             {R"("text": ["one", ["one", "two", "three"]])", "expected a pair, found 3 texts",
              "/text/1", "give a string, or a pair [first, second]"},
             {R"("text": ["one", " "], "special_tokens": false)", "the text has no tokens",
              "/text/1", "give a text with at least a word"}});
  const Plan plan = plan_of(folder.path().string(), R"("text": ["one", ["two three", "one"]])");
  CHECK(texts_of(plan).ids ==
        std::vector<std::vector<std::int64_t>>{{0, 4, 2}, {0, 5, 6, 2, 4, 2}});
  CHECK(texts_of(plan).types ==
        std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 0, 0, 0, 1, 1}});
}

TEST_CASE("positions of a mask are whole numbers, and not more than sequences have") {
  const auto problem = [](const std::string& positions) {
    return problems_of(
        R"({"attention":"sdpa","query":[[1,0],[0,1]],"mask":{"window":{"left":1,"right":1},)"
        R"("global":)" +
        positions + "}}");
  };
  CHECK(problem("[0, 1.5]") ==
        "expected a whole number of at least 0, found 1.5\n  where: doc.json, /mask/global/1\n"
        "  help:  give a whole number of at least 0");
  std::string many = "[1";
  for (int i = 0; i < 1'000'000; ++i) many += ",1";
  CHECK(problem(many + "]") ==
        "1000001 positions in one list, and at most 1000000 are read\n"
        "  where: doc.json, /mask/global\n  help:  give fewer");
}

TEST_CASE("labels of a document stand in the place of a model's tokens") {
  const auto labels_of = [](const std::string& folder, const std::string& rest, std::size_t at) {
    return plan_of(folder, rest).attentions.at(at).labels;
  };
  using Lists = std::vector<std::vector<std::string>>;
  const Labels own =
      labels_of(gpt2, R"("token_ids": [[1, 2], [3]], "labels": [["a", "b"], ["c"]])", 0);
  CHECK(own.query == Lists{{"a", "b"}, {"c", ""}});
  CHECK(own.key == own.query);
  const std::string both = R"("token_ids": [1, 2], "decoder_token_ids": [2, 3, 1],
                              "labels": {"query": ["x", "y", "z"], "key": ["a", "b"]})";
  const Plan plan = plan_of(bart, both);
  for (const PlannedAttention& attention : plan.attentions) {
    const bool decoder = attention.name.in_decoder();
    CHECK(attention.labels.query == (decoder ? Lists{{"x", "y", "z"}} : Lists{{"a", "b"}}));
    CHECK(attention.labels.key ==
          (decoder && !attention.name.is_cross() ? Lists{{"x", "y", "z"}} : Lists{{"a", "b"}}));
  }
  check_all(gpt2,
            {{R"("token_ids": [1, 2], "labels": ["a"])", "there are not as many labels as tokens",
              "/labels", "give a label for each token of each sample: 2 tokens"}});
}

TEST_CASE("each blank text among many is an error of its own") {
  const WithWords folder(gpt2);
  const std::string help = "\n  help:  give a text with at least a word";
  CHECK(problems_of(document_of(folder.path().string(),
                                R"("special_tokens": false, "text": ["one", "", "two", " "])")) ==
        "the text has no tokens\n  where: doc.json, /text/1" + help +
            "\n\nthe text has no tokens\n  where: doc.json, /text/3" + help);
}

TEST_CASE("layers are all, a number, or a list of numbers") {
  const std::string ids = R"("token_ids": [1], )";
  check_all(gpt2, {{ids + R"("layers": [])", "the list of layers is empty", "/layers",
                    "name at least one"},
                   {ids + R"("layers": "first")", "expected layers, found a string", "/layers",
                    "give \"all\", a number, or a list of numbers"},
                   {ids + R"("layers": 3)", "there is no layer 3: the model has 3 layers",
                    "/layers", "give 0 to 2"}});
  const auto layers = [&](const std::string& given) {
    const Plan plan = plan_of(gpt2, ids + given);
    std::string all;
    for (const PlannedAttention& attention : plan.attentions) all += attention.name.prefix() + " ";
    return all;
  };
  CHECK(layers(R"("layers": "all")") == layers(R"("layers": [2, 0, 1])"));
  CHECK(layers(R"("layers": 1)") == "layers.1.self. ");
  CHECK(layers(R"("layers": [2, 0, 2])") == "layers.0.self. layers.2.self. ");
}

TEST_CASE("heads that are switched off are named by their layer") {
  const std::string ids = R"("token_ids": [1], )";
  const std::string help = "name layers by their numbers, such as \"0\"";
  check_all(gpt2, {{ids + R"("heads_off": {"first": [0]})", "\"first\" is not a layer of the model",
                    "/heads_off/first", help},
                   {ids + R"("heads_off": {"1x": [0]})", "\"1x\" is not a layer of the model",
                    "/heads_off/1x", help},
                   {ids + R"("heads_off": {"decoder.0": [0]})",
                    "\"decoder.0\" is not a layer of the model", "/heads_off/decoder.0", help},
                   {ids + R"("heads_off": {"3": [0]})",
                    "there is no layer 3: the model has 3 layers", "/heads_off/3", "give 0 to 2"},
                   {ids + R"("heads_off": {"0": 1})", "expected a list of heads, found a number",
                    "/heads_off/0", "give a list of numbers such as [0, 3], or \"all\""}});
  const std::string both = "name layers such as \"encoder.0\", \"decoder.0\" or \"cross.0\"";
  check_all(bart,
            {{ids + R"("heads_off": {"0": [0]})", "\"0\" is not a layer of the model",
              "/heads_off/0", both},
             {ids + R"("heads_off": {"encoder.1": [0]})",
              "there is no layer 1: the model has 1 layer", "/heads_off/encoder.1", "give 0"},
             {ids + R"("heads_off": {"cross.2": [0]})",
              "there is no layer 2: the model has 2 layers", "/heads_off/cross.2", "give 0 to 1"}});
}

TEST_CASE("logits need a head") {
  const WithWords folder(checkpoint("llama_grouped"));
  folder.replace("model.safetensors", "lm_head.weight", "no_head.weight");
  check_all(folder.path().string(),
            {{R"("token_ids": [1], "logits": true)",
              "the checkpoint has no head that gives logits: no tensor \"lm_head.weight\"",
              "/logits", "leave the logits out, or use the folder of the whole model"}});
}

TEST_CASE("a decoder reads texts or ids, one for each sample of the encoder") {
  const WithWords folder(bart);
  check_all(folder.path().string(),
            {{R"("token_ids": [[4], [5]], "decoder_text": "one", "decoder_token_ids": [1])",
              "\"decoder_text\" and \"decoder_token_ids\" cannot both be given",
              "/decoder_token_ids", "leave one of them out"},
             {R"("token_ids": [[4], [5]], "decoder_text": "one")",
              "1 text of the decoder for 2 texts of the encoder", "/decoder_text",
              "give one for each sample"},
             {R"("token_ids": [4], "decoder_token_ids": [[2], [2]])",
              "2 texts of the decoder for 1 text of the encoder", "/decoder_token_ids",
              "give one for each sample"}});
}

TEST_CASE("a decoder's text begins with the start token and does not end with the closing one") {
  const WithWords folder(bart);
  const auto ids = [&](const std::string& rest) {
    return texts_of(plan_of(folder.path().string(), R"("text": ["one", "two"], )" + rest))
        .decoder_ids;
  };
  using Ids = std::vector<std::vector<std::int64_t>>;
  CHECK(ids(R"("decoder_text": ["three two", "one"])") == Ids{{2, 0, 6, 5}, {2, 0, 4}});
  CHECK(ids(R"("decoder_text": ["three two", "one"], "special_tokens": false)") ==
        Ids{{2, 6, 5}, {2, 4}});
  CHECK(ids(R"("decoder_token_ids": [[2, 4, 2], [5]])") == Ids{{2, 4, 2}, {5}});
  CHECK(ids(R"("title": "the start token alone")") == Ids{{2}, {2}});
}

TEST_CASE("a decoder reads and is shown by a tokenizer of its own") {
  const WithWords folder(bart);
  std::string sounds = words;
  for (const auto& [from, to] :
       {std::pair("\"one\"", "\"wʌn\""), std::pair("\"two\"", "\"tuː\"")}) {
    sounds.replace(sounds.find(from), std::string(from).size(), to);
  }
  folder.write("sounds.json", sounds);
  const std::string own = R"("decoder_tokenizer": ")" + (folder / "sounds.json").string() + "\", ";
  const Plan plan = plan_of(folder.path().string(),
                            own + R"("text": "one two", "decoder_text": "tuː wʌn three")");
  CHECK(texts_of(plan).decoder_ids == std::vector<std::vector<std::int64_t>>{{2, 0, 5, 4, 6}});
  using Lists = std::vector<std::vector<std::string>>;
  CHECK(plan.model->tokens == Lists{{"<s>", "one", "two", "</s>"}});
  CHECK(plan.model->decoder_tokens == Lists{{"</s>", "<s>", "tuː", "wʌn", "three"}});
  // A folder has it as a checkpoint has.
  const fs::path sounds_folder = folder / "decoder";
  fs::create_directory(sounds_folder);
  const std::string by_folder =
      R"("decoder_tokenizer": ")" + sounds_folder.string() + R"(", "text": "one")";
  CHECK(problems_of(document_of(folder.path().string(), by_folder)) ==
        "the folder \"" + sounds_folder.string() +
            "\" has no tokenizer\n  where: doc.json\n"
            "  help:  add its tokenizer.json (or tokenizer.model, or vocab.txt, or vocab.json and "
            "merges.txt), or give token ids");
  write_text(sounds_folder / "tokenizer.json", sounds);
  const Plan in_folder =
      plan_of(folder.path().string(), by_folder + R"(, "decoder_token_ids": [2, 5])");
  CHECK(in_folder.model->decoder_tokens == Lists{{"</s>", "tuː"}});
  CHECK(problems_of(document_of(gpt2, R"("token_ids": [4], "decoder_tokenizer": "a")")) ==
        "the model does not have both an encoder and a decoder\n"
        "  where: doc.json, /decoder_tokenizer\n"
        "  help:  leave it out");
}

TEST_CASE("a decoder without a start token needs its ids") {
  const WithWords folder(checkpoint("t5_relu_tied"));
  folder.replace("config.json", "\"decoder_start_token_id\": 0,", "");
  check_all(folder.path().string(),
            {{R"("token_ids": [4])", "the configuration names no \"decoder_start_token_id\"",
              "/model", "give \"decoder_token_ids\""}});
  CHECK(problems_of(document_of(folder.path().string(),
                                R"("token_ids": [4], "decoder_token_ids": [2])")) == "");
}

TEST_CASE("ids that the tokenizer has not are shown as numbers, the others as they are written") {
  const WithWords folder(bart);
  const Plan plan = plan_of(folder.path().string(),
                            R"("token_ids": [[4, 9, 5]], "decoder_token_ids": [[2, 19]])");
  REQUIRE(plan.model.has_value());
  CHECK(plan.model->tokens == std::vector<std::vector<std::string>>{{"one", "<9>", "two"}});
  CHECK(plan.model->decoder_tokens == std::vector<std::vector<std::string>>{{"</s>", "<19>"}});
}

TEST_CASE("unknown tokens of texts are a warning with their number") {
  const WithWords folder(gpt2);
  const auto warnings = [&](const std::string& text) {
    return plan_of(folder.path().string(), R"("text": ")" + text + "\"").warnings;
  };
  CHECK(warnings("one two <s>").empty());
  CHECK(warnings("one four <s> five") ==
        std::vector<std::string>{"2 of 4 tokens of the texts are unknown and become \"<unk>\": the "
                                 "tokenizer may not be this model's"});
}

TEST_CASE("a tokenizer that cannot be read is a warning beside ids, and an error for a text") {
  const WithWords folder(gpt2);
  folder.write("tokenizer.json", R"({"model": {"type": "Letters"}})");
  const Plan plan = plan_of(folder.path().string(), R"("token_ids": [1])");
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0].starts_with(
      "tokens are shown by their ids, as the tokenizer cannot be read: "));
  CHECK(problems_of(document_of(folder.path().string(), R"("text": "one")")) != "");
}

TEST_CASE("splits that a model or a text cannot have are refused at their keys") {
  const auto problem = [](const std::string& keys) {
    return problems_of(document_of(gpt2, R"("token_ids": [[1, 2, 3], [4, 5]], )" + keys));
  };
  CHECK(problem(R"("logit": ["1", "2"], "against_logit": "7", "why": {"head": "1.0"})") == "");
  CHECK(problem(R"("logit": ["1", "2", "3"])") ==
        "3 tokens for 2 texts\n  where: doc.json, /logit\n  help:  give one token for all "
        "texts, or one for each");
  CHECK(
      problem(R"("why": {"query": 1})") ==
      "the split names neither a head nor a logit\n  where: doc.json, /why\n  help:  give a head, "
      "or DocumentOptions::logit");
  CHECK(
      problem(R"("why": {"head": "9.1"})") ==
      "there is no layer 9: the model has 3 layers\n  where: doc.json, /why/head\n  help:  give 0 "
      "to 2");
  CHECK(
      problem(R"("logit": "1", "why": {"query": 2})") ==
      "there is no query 2: the text has 2 tokens\n  where: doc.json, /why/query\n  help:  give 0 "
      "to 1");
  CHECK(problem(R"("ablate_over": ["a"])") ==
        "there are no means over texts where zeros are written\n  where: doc.json, /ablate_over\n  "
        "help:  choose a mean by "
        "DocumentOptions::ablate, or leave it out");
}

TEST_CASE("samples that ask for too much are refused before their texts are cut") {
  const WithWords folder(bert);
  const auto refusal = [&](const std::string& key, const std::string& one, std::size_t count) {
    FileAccess access;
    access.limits.elements = 1'000'000;
    std::string list;
    for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + one;
    const Validation found = validation_of("doc.json", access, [&](const FileAccess& rules) {
      return Document::parse(document_of(folder.path().string(), "\"" + key + "\": [" + list + "]"),
                             "doc.json", {}, rules);
    });
    return found.problems.empty() ? std::string() : std::string(found.problems[0].what());
  };
  CHECK(refusal("text", "\"\"", 20'000) ==
        "20000 samples ask for 3.36M elements or more, and the limit is 1M\n"
        "  where: doc.json, /text\n"
        "  help:  give fewer, in several documents of a batch, or raise the limit with "
        "Limits::elements");
  CHECK(refusal("token_ids", "[4]", 20'000).starts_with("20000 samples ask for 1"));
  CHECK(refusal("text", "\"one\"", 100) == "");
  CHECK(refusal("token_ids", "[4,5]", 100) == "");
}
