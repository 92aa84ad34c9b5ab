#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "models/partly_with_sinks.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path recorded_models = fs::path(ATTN_TEST_DATA) / "models" / "cases";
const std::string speeches_model = fs::path(ATTN_DATA) / "speeches";

// The result that a run of the program wrote to standard output, without the space that lays it
// out.
std::string answer_of_run(const std::vector<std::string>& more) {
  std::vector<std::string> words{"run",     "--model", speeches_model, "--text", "the people of",
                                 "--plots", "none",    "--out",        "-"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = attn_cli(words);
  REQUIRE(outcome.errors == "");
  REQUIRE(outcome.exit_code == 0);
  std::string text;
  bool quoted = false;
  for (const char c : outcome.output) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ' ' && c != '\n')) text += c;
  }
  return text;
}

std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

bool holds_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What the program says of a document, a model and these keys, that it refuses.
std::string refusal_of(const std::string& model, const std::string& keys) {
  return refused_with(3, {"run", "-", "--plots", "none"}, ".",
                      R"({"model": ")" + model + R"(", )" + keys + "}");
}

// The probabilities of what follows the text.
std::vector<double> generated_probabilities(const std::string& result) {
  const std::string key = "\"probabilities\":[[";
  std::vector<double> all;
  const char* at = result.c_str() + result.find(key) + key.size();
  for (char* end = nullptr; all.empty() || *at == ','; at = end) {
    all.push_back(std::strtod(at + (*at == ',' ? 1 : 0), &end));
  }
  return all;
}

}  // namespace

TEST_CASE("a model generates the likeliest tokens, and its maps go over prompt and answer") {
  const std::string result = answer_of_run({"--generate", "4"});
  CHECK(holds_text(result,
                   R"("generated":{"prompt":[4],"tokens":[[" the"," United"," States",","]],)"
                   R"("ids":[[259,512,442,11]])"));
  REQUIRE(generated_probabilities(result).size() == 4);
  CHECK(generated_probabilities(result)[2] == doctest::Approx(0.97356).epsilon(1e-3));
  CHECK(holds_text(
      result,
      R"("query":["<|begin_of_text|>","the"," people"," of"," the"," United"," States",","])"));
  CHECK(holds_text(result, R"("layers.3.self.weights":[1,4,8,8])"));
}

TEST_CASE("a model that gives NaN says so, with the layer and the first token") {
  const TemporaryFolder folder;
  fs::copy(speeches_model, folder / "model", fs::copy_options::recursive);
  std::string weights = read_text(folder / "model/model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, weights.data(), sizeof(header));
  const std::size_t name = weights.find("\"model.layers.1.mlp.down_proj.weight\"");
  const std::size_t offsets = weights.find("\"data_offsets\":[", name) + 16;
  const std::size_t at = 8 + header + std::stoul(weights.substr(offsets, 20));
  weights.replace(at, 2, "\xC0\x7F");  // NaN in bfloat16
  folder.write("model/model.safetensors", weights);
  const std::vector<std::string> words{"run",        "--model", "model",      "--text",
                                       "the people", "--plots", "none",       "--out",
                                       "r",          "--quiet", "--generate", "2"};
  const Outcome outcome = attn_cli(words, folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors == "");
  const std::string result = read_text(folder / "r/result.json");
  CHECK(holds_text(
      result,
      R"("2 of 2 probabilities of the tokens that follow the texts are NaN or infinite, the first, )"
      R"(nan, that of token 0 after sample 0: the tokens say nothing from there on")"));
  CHECK(holds_text(
      result,
      R"(numbers of \"layers.2.self.weights\" are NaN or infinite, the first, nan, at [0,0,0,0]; )"
      R"(the first step with such a number is \"Layer 1\"; others are in )"
      R"(\"layers.3.self.weights\", \"output\", \"logits\", \"shares\"")"));
}

TEST_CASE("a given answer has the maps and probabilities of the generated one") {
  const std::string said = answer_of_run({"--generate", "4"});
  const std::string given = answer_of_run({"--continue", " the United States,"});
  CHECK(holds_text(given, R"("ids":[[259,512,442,11]])"));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(generated_probabilities(given)[i] ==
          doctest::Approx(generated_probabilities(said)[i]).epsilon(1e-4));
  }
  const auto maps = [](const std::string& result) {
    return result.substr(result.find("\"tensors\":"));
  };
  CHECK(maps(given) == maps(said));
}

TEST_CASE("a text that is gone on with is cut as the whole text is") {
  const TemporaryFolder folder;
  fs::copy(recorded_models / "gpt2_bare_names" / "checkpoint", folder / "model",
           fs::copy_options::recursive);
  // As SentencePiece does, with a space before each text.
  folder.write("model/tokenizer.json",
               R"({"model": {"type": "BPE", "vocab": {"▁": 0, "a": 1, "b": 2, ",": 3, "▁a": 4},)"
               R"( "merges": ["▁ a"]}, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",)"
               R"( "prepend_scheme": "always", "split": false}})");
  const auto ids_after = [&](const std::string& texts, const std::string& text) {
    const Outcome outcome =
        attn_cli({"run", "-", "--plots", "none", "--out", "-"}, folder.path(),
                 R"({"model": "model", "text": )" + texts + R"(, "continue": ")" + text + "\"}");
    REQUIRE(outcome.errors == "");
    const std::string result = without_space(outcome.output);
    const std::size_t at = result.find(R"("ids":[)") + 6;
    return result.substr(at, result.find("]]", at) + 2 - at);
  };
  CHECK(ids_after(R"("a")", ",b") == "[[3,2]]");
  CHECK(ids_after(R"(["a", "ba"])", " a") == "[[4],[4]]");
}

TEST_CASE("the report has the generated tokens and the time that they took") {
  const TemporaryFolder folder;
  const Outcome outcome = attn_cli({"run", "--model", speeches_model, "--text", "the people of",
                                    "--generate", "2", "--plots", "none"},
                                   folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("After 4 tokens of sample 0\n   25.1 %  \" the\"\n   17.2 %  \" "
                            "United\"\n  → \" the United\"\n2 tokens in ") != std::string::npos);
}

TEST_CASE("heads, view and explain read prompt and answer") {
  const TemporaryFolder folder;
  const std::vector<std::string> input{"--model",       speeches_model, "--text",
                                       "the people of", "--generate",   "4"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), input.begin(), input.end());
    return attn_cli(words, folder.path());
  };
  CHECK(holds_text(without_space(with({"heads", "--json"}).output),
                   R"("tokens":[["the","United","States",","]])"));
  CHECK(with({"view", "--out", "page.html"}).exit_code == 0);
  CHECK(read_text(folder / "page.html").find("\" States\"") != std::string::npos);
  CHECK(with({"explain", "--layer", "1", "--query", "7"}).exit_code == 0);
}

TEST_CASE("what cannot be generated is refused with the reason") {
  const auto folder_of = [](const char* name) {
    return (recorded_models / name / "checkpoint").string();
  };
  CHECK(refusal_of(speeches_model, R"("text": "the", "generate": 0)") ==
        "attn-cli: expected a whole number of at least 1, found 0\n"
        "  where: standard input, /generate\n"
        "  help:  give a whole number of at least 1\n");
  CHECK(refusal_of(speeches_model, R"("text": "the", "generate": 1000000000)") ==
        "attn-cli: a text of 1000000002 tokens asks for 1.6e19 elements or more, and the "
        "limit is 1G\n"
        "  where: standard input, /generate\n"
        "  help:  give fewer tokens, or raise the limit with --max-elements\n");
  CHECK(refusal_of(speeches_model, R"("text": "the", "generate": 1, "continue": " a")") ==
        "attn-cli: \"generate\" and \"continue\" cannot both be given\n"
        "  where: standard input, /continue\n"
        "  help:  leave one of them out\n");
  CHECK(refusal_of(speeches_model, R"("text": "the", "continue": "")") ==
        "attn-cli: the text has no tokens\n"
        "  where: standard input, /continue\n"
        "  help:  give a text with at least a word\n");
  CHECK(refusal_of(folder_of("distilbert_masked"), R"("token_ids": [1, 2], "generate": 1)") ==
        "attn-cli: models of the type distilbert do not predict the next token\n"
        "  where: standard input, /generate\n"
        "  help:  leave it out, or name a model that writes texts\n");
  CHECK(refusal_of(folder_of("gpt2_bare_names"), R"("token_ids": [1, 2], "generate": 100)") ==
        "attn-cli: 100 tokens after 2 are more than the model's positions, which end after 20\n"
        "  where: standard input, /generate\n"
        "  help:  give at most 18\n");
  CHECK(refusal_of(speeches_model, R"("text": "the", "generate": 1, "patch": {"text": "a"})") ==
        "attn-cli: a model that gets parts from another text or means of heads generates no text\n"
        "  where: standard input, /generate\n"
        "  help:  leave it out, or \"patch\" and \"ablate\"\n");
}

TEST_CASE("the work of generating is counted before it is done") {
  CHECK(refused_with(3, {"run", "--model", speeches_model, "--text", "the", "--generate", "200",
                         "--plots", "none", "--out", "-", "--max-work", "10M"}) ==
        "attn-cli: the document asks for 434M multiply-adds, and the limit is 10M\n"
        "  where: " +
            speeches_model + "\n  help:  make it smaller, or raise the limit with --max-work\n");
}

TEST_CASE("shares of the answer's attention add up to one") {
  const TemporaryFolder folder;
  const std::string text = R"("text": "the people of the United States", "generate": 5)";
  const std::vector<std::pair<std::string, std::string>> wishes{
      {text, R"(["prompt","answer","first_token"])"},
      {text + R"(, "parts": {"who": [0, 10], "where": [14, 31]})",
       R"(["who","where","prompt","answer","first_token"])"},
      {text + R"(, "parts": {"all": [0, 31]}, "layers": [1, 3])",
       R"(["all","answer","first_token"])"},
      {text + R"(, "parts": "special")", R"(["part_1","answer","first_token"])"},
      // <|begin_of_text|>, two tokens, the same again, three tokens.
      {R"("token_ids": [2046, 1913, 536, 2046, 259, 512, 442], "generate": 2, "parts": "special")",
       R"(["part_1","part_2","prompt","answer","first_token"])"},
      {R"("text": ["the people", "My fellow citizens of the House"], "generate": 3)",
       R"(["prompt","answer","first_token"])"}};
  for (const auto& [wish, parts] : wishes) {
    const std::string document = wish;  // clang captures no structured binding
    CAPTURE(document);
    const Outcome outcome =
        attn_cli({"run", "-", "--plots", "none", "--out", "r", "--quiet", "--tensors", "npz"},
                 folder.path(), R"({"model": ")" + speeches_model + R"(", )" + document + "}");
    REQUIRE(outcome.errors == "");
    CHECK(holds_text(without_space(read_text(folder / "r" / "result.json")), parts));
    const attn::Tensor shares = attn::TensorFile::open(folder / "r" / "tensors.npz").read("shares");
    const std::size_t count = shares.shape().back();
    for (std::size_t row = 0; row < shares.size() / count; ++row) {
      double sum = 0;
      for (const float share : shares.values<float>().subspan(row * count, count)) sum += share;
      REQUIRE(sum == doctest::Approx(1).epsilon(1e-5));
    }
  }
}

TEST_CASE("the key of shares tells of the tensor that is there, and of none") {
  const auto result_of = [](const char* name, const std::string& rest) {
    const Outcome outcome =
        attn_cli({"run", "-", "--plots", "none", "--out", "-", "--quiet"}, ".",
                 R"({"model": ")" + (recorded_models / name / "checkpoint").string() +
                     R"(", "token_ids": [[5, 6, 7, 4]], "generate": 2)" + rest + "}");
    REQUIRE(outcome.exit_code == 0);
    return without_space(outcome.output);
  };
  // Its layers of linear attention have no weights to share.
  CHECK(holds_text(result_of("qwen3_next_delta_rule", ""), R"("layers":[3],"parts")"));
  CHECK(!holds_text(result_of("gpt2_bare_names", R"(, "weights": false)"), R"("shares")"));
  // The encoder has a layer more than the decoder.
  CHECK(!holds_text(result_of("t5gemma_larger_encoder", R"(, "layers": [2])"), R"("shares")"));
  const Outcome heads = attn_cli(
      {"heads", "-"}, ".",
      R"({"model": ")" + (recorded_models / "t5gemma_larger_encoder" / "checkpoint").string() +
          R"(", "token_ids": [[5, 6, 7, 4]], "generate": 2, "layers": [2]})");
  CHECK(heads.exit_code == 0);
  CHECK(!holds_text(heads.output, "first_token"));
}

TEST_CASE("shares may be all that is asked for") {
  const std::string result = answer_of_run({"--generate", "2", "--only", "shares"});
  CHECK(holds_text(without_space(result), R"("shares":[[[[)"));
  CHECK(!holds_text(result, R"("layers.0.self.weights":[[)"));
}

TEST_CASE("shares are those of the map's rows, the sink's and the encoder's too") {
  const TemporaryFolder folder;
  for (const char* name : {"gpt_oss_sinks_bf16", "t5_relu_tied"}) {
    CAPTURE(name);
    const Outcome outcome =
        attn_cli({"run", "-", "--plots", "none", "--out", name, "--quiet", "--tensors", "npz"},
                 folder.path(),
                 R"({"model": ")" + (recorded_models / name / "checkpoint").string() +
                     R"(", "token_ids": [[5, 9, 12, 4]], "generate": 3, "dtype": "float64"})");
    REQUIRE(outcome.errors == "");
    const bool crosses = std::string(name).starts_with("t5");
    CHECK(holds_text(without_space(read_text(folder / name / "result.json")),
                     crosses ? R"("parts":["prompt","first_token"])"
                             : R"("parts":["prompt","answer","first_token","sink"])"));
    const attn::TensorFile file = attn::TensorFile::open(folder / name / "tensors.npz");
    const attn::Tensor shares = file.read("shares");
    const attn::Tensor map =
        file.read(crosses ? "decoder.layers.0.cross.weights" : "layers.0.self.weights");
    const std::size_t prompt = crosses ? 1 : 4, keys = map.shape()[3], queries = map.shape()[2],
                      count = shares.shape()[3];
    const auto weight = [&](std::size_t h, std::size_t i, std::size_t j) {
      return map.values<double>()[(h * queries + prompt + i) * keys + j];
    };
    for (std::size_t h = 0; h < shares.shape()[1]; ++h) {
      for (std::size_t i = 0; i < shares.shape()[2]; ++i) {
        const auto own =
            shares.values<double>().subspan((h * shares.shape()[2] + i) * count, count);
        double asked = 0, said = 0;
        for (std::size_t j = 1; j < 4; ++j) asked += weight(h, i, j);
        for (std::size_t j = 4; j < keys; ++j) said += weight(h, i, j);
        CHECK(own[0] == doctest::Approx(asked).epsilon(1e-12));
        if (!crosses) CHECK(own[1] == doctest::Approx(said).epsilon(1e-12));
        CHECK(own[crosses ? 1 : 2] == doctest::Approx(weight(h, i, 0)).epsilon(1e-12));
        double sum = 0;
        for (const double share : own) sum += share;
        CHECK(sum == doctest::Approx(1).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("layers without sinks give the part \"sink\" nothing where other layers have them") {
  const TemporaryFolder folder;
  write_model_partly_with_sinks(folder);
  const Outcome outcome = attn_cli(
      {"run", "-", "--plots", "none", "--out", "r", "--quiet", "--tensors", "npz"}, folder.path(),
      R"({"model": "model", "architecture": "row.json", "token_ids": [[5, 9, 12, 4]],
          "generate": 2})");
  REQUIRE(outcome.errors == "");
  const attn::Tensor shares = attn::TensorFile::open(folder / "r/tensors.npz")
                                  .read("shares")
                                  .converted(attn::DType::float64);
  const std::size_t parts = shares.shape()[3], of_layer = shares.shape()[1] * 2 * parts;
  REQUIRE(shares.shape() == attn::Shape{2, 4, 2, 4});
  for (std::size_t at = parts - 1; at < shares.size(); at += parts) {
    const double share = shares.values<double>()[at];
    if (at < of_layer) CHECK(share == 0);
    if (at >= of_layer) CHECK(share > 0);
  }
}

TEST_CASE("heads gives the shares of each head as a table, JSON and comma-separated values") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& more) {
    return attn_cli({"heads", "--model", speeches_model, "--text", "the people of", "--generate",
                     "4", "--parts", "who=0:10", more},
                    folder.path())
        .output;
  };
  CHECK(holds_text(with("--out=r"),
                   "Attention of the generated tokens to each part of the text (means over these "
                   "tokens)\n\n  head    who  prompt  answer  first_token\n  0.0"));
  CHECK(
      holds_text(without_space(with("--json")),
                 R"("shares":{"parts":["who","prompt","answer","first_token"],"tokens":[["the",)"));
  CHECK(holds_text(with("--csv"), "\n0,self,0,share_who,0."));
  CHECK(read_text(folder / "r" / "shares.csv")
            .starts_with("layer,stack,head,sample,token,text,who,prompt,answer,first_token\n"
                         "0,self,0,0,0, the,0."));
}

TEST_CASE("files of shares are named by sample, layer and head, as the result names its axes") {
  const TemporaryFolder folder;
  const auto result_of = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> words{
        "run",       "--model", speeches_model, "--generate", "2",     "--only", "shares",
        "--tensors", "csv",     "--plots",      "none",       "--out", "r"};
    for (const std::string& text : texts) words.insert(words.end(), {"--text", text});
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
    return without_space(read_text(folder / "r" / "result.json"));
  };
  CHECK(holds_text(result_of({"the people"}), R"("axes":["layer","head","token","part"])"));
  CHECK(fs::exists(folder / "r" / "shares.layer3.head0.csv"));
  CHECK(holds_text(result_of({"the people", "the war"}),
                   R"("axes":["sample","layer","head","token","part"])"));
  CHECK(fs::exists(folder / "r" / "shares.sample1.layer3.head0.csv"));
}

TEST_CASE("whether shares are written does not depend on the pictures") {
  const TemporaryFolder folder;
  const auto names_of = [&](const std::string& plots, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "run", "--model",      speeches_model, "--text", "the people of", "--generate",
        "1",   "--no-weights", "--out",        "r",      "--plots",       plots};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(attn_cli(words, folder.path()).errors == "");
    return attn::TensorFile::open(folder / "r" / "result.json").names();
  };
  using Names = std::vector<std::string>;
  for (const std::string plots : {"none", "heatmap"}) {
    CAPTURE(plots);
    CHECK(names_of(plots, {}) == Names{"token_ids", "embedded", "output"});
    CHECK(names_of(plots, {"--parts", "who=4:10"}) ==
          Names{"token_ids", "embedded", "output", "shares"});
    CHECK(names_of(plots, {"--only", "shares"}) == Names{"shares"});
    CHECK(names_of(plots, {"--parts", "who=4:10", "--only", "output"}) == Names{"output"});
  }
}

TEST_CASE("shares of named parts are there where no weights are kept") {
  const TemporaryFolder folder;
  const auto result_of = [&](const std::string& weights, const std::string& flag) {
    const Outcome outcome = attn_cli(
        {"run", "-", "--plots", "none", "--out", "-", flag}, folder.path(),
        R"({"model": ")" + speeches_model + R"(", "text": "the people of", "generate": 2,)" +
            R"( "weights": )" + weights + R"(, "parts": {"who": [4, 10]}})");
    CHECK(outcome.errors == "");
    const std::string result = without_space(outcome.output);
    const std::size_t at = result.find(R"("shares":[[)");
    REQUIRE(at != std::string::npos);
    return result.substr(at, result.find(R"(]]]])", at) - at);
  };
  const std::string shares = result_of("true", "--quiet");
  CHECK(result_of("true", "--no-weights") == shares);
  CHECK(result_of("false", "--quiet") == shares);
}

TEST_CASE("parts that a text does not have are refused with the reason") {
  const auto with_parts = [](const std::string& parts) {
    return refusal_of(speeches_model, R"("text": "the people", "generate": 1, "parts": )" + parts);
  };
  CHECK(with_parts(R"({"a": [0, 3], "b": [2, 5]})") ==
        "attn-cli: the parts \"a\" and \"b\" overlap\n"
        "  where: standard input, /parts/b\n"
        "  help:  let each character belong to one part\n");
  CHECK(with_parts(R"({"a": [3, 3]})") ==
        "attn-cli: the part \"a\" from 3 to 3 is empty\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it end after the character that it begins with\n");
  CHECK(with_parts(R"({"a": [3, 11]})") ==
        "attn-cli: the part \"a\" ends at character 11, and the text has 10\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it end within the text\n");
  CHECK(with_parts(R"({"a": [5, 6]})") ==
        "attn-cli: no token begins in the part \"a\", from character 5 to 6\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it begin at character 4, with the token before it\n");
  CHECK(
      refusal_of(speeches_model, R"("text": "the people", "special_tokens": false, "generate": 1,)"
                                 R"( "parts": {"a": [0, 3]})") ==
      "attn-cli: the only token of the part \"a\" is the first of all, which is a part of its own\n"
      "  where: standard input, /parts/a\n"
      "  help:  let it end after the next token, or leave it out\n");
  const auto of_texts = [](const std::string& texts, const std::string& part) {
    return refusal_of(speeches_model,
                      R"("generate": 1, "text": )" + texts + R"(, "parts": {"a": )" + part + "}");
  };
  CHECK(of_texts(R"(" people of")", "[0, 1]") ==
        "attn-cli: no token begins in the part \"a\", from character 0 to 1\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it end later, or leave it out\n");
  CHECK(of_texts(R"(["the people of", " people of the"])", "[0, 1]") ==
        "attn-cli: in /text/1, no token begins in the part \"a\", from character 0 to 1\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it end later, or leave it out\n");
  CHECK(of_texts(R"(["the people", "the"])", "[0, 8]") ==
        "attn-cli: in /text/1, the part \"a\" ends at character 8, and the text has 3\n"
        "  where: standard input, /parts/a\n"
        "  help:  let it end within the text\n");
  CHECK(with_parts(R"({"answer": [3, 4]})") ==
        "attn-cli: a part cannot have the name \"answer\"\n"
        "  where: standard input, /parts/answer\n"
        "  help:  choose another: prompt, answer, first_token and sink are parts of their own\n");
  CHECK(with_parts(R"("speciel")") ==
        "attn-cli: unknown parts \"speciel\"\n"
        "  where: standard input, /parts\n"
        "  help:  give \"special\", or {\"NAME\": [from, to], …} in characters\n");
  CHECK(with_parts("{}") ==
        "attn-cli: there are no parts\n"
        "  where: standard input, /parts\n"
        "  help:  name at least one, or leave \"parts\" out\n");
  CHECK(refusal_of(speeches_model, R"("text": "the people", "parts": {"a": [0, 3]})") ==
        "attn-cli: there is no answer whose attention the parts could share\n"
        "  where: standard input, /parts\n"
        "  help:  add \"generate\" or \"continue\", or leave it out\n");
  const Outcome ids = attn_cli(
      {"run", "--model", speeches_model, "--ids", "5,6", "--generate", "1", "--parts", "a=0:1"});
  CHECK(ids.errors ==
        "attn-cli: only texts have parts\n"
        "  where: --parts\n"
        "  help:  give --text instead of token ids, or the parts \"special\"\n");
  CHECK(refused_with(2, {"run", "--model", speeches_model, "--text", "the", "--generate", "1",
                         "--parts", "a=1"}) ==
        "attn-cli: invalid value \"a=1\" for --parts\n"
        "  where: --parts\n"
        "  help:  give names and characters such as system=0:120,question=120:180, or special\n");
  const auto by_flags = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"run", "--model", speeches_model, "--text", "the", "--parts"};
    all.insert(all.end(), more.begin(), more.end());
    return attn_cli(all).errors;
  };
  CHECK(by_flags({"a=0:1,a=2:3", "--generate", "1"}) ==
        "attn-cli: the key \"a\" is given twice\n"
        "  where: --parts\n"
        "  help:  remove one of the two\n");
  CHECK(by_flags({"a=0:1"}) ==
        "attn-cli: there is no answer whose attention the parts could share\n"
        "  where: --parts\n"
        "  help:  add --generate or --continue, or leave it out\n");
}

TEST_CASE("parts of the command line take the place of the document's") {
  for (const std::string parts : {R"("special")", R"({"b": [0, 2]})"}) {
    const Outcome outcome =
        attn_cli({"run", "-", "--parts", "a=0:3", "--only", "shares", "--out", "-"}, ".",
                 R"({"model": ")" + speeches_model +
                     R"(", "text": "the people", "generate": 1, "parts": )" + parts + "}");
    CHECK(outcome.errors == "");
    CHECK(holds_text(without_space(outcome.output),
                     R"("parts":["a","prompt","answer","first_token"])"));
  }
}

TEST_CASE("conversations are refused, and ids take their place") {
  const Outcome chat = attn_cli({"run", "--model", speeches_model, "--text", "the", "--chat"});
  CHECK(chat.exit_code == 3);
  CHECK(chat.errors ==
        "attn-cli: the model has no chat template\n"
        "  where: --chat\n"
        "  help:  write the conversation with the model's own special tokens in --text, or give in "
        "\"token_ids\" (--ids) the ids that its own library makes of it\n");
  const TemporaryFolder folder;
  for (const auto& file : fs::directory_iterator(speeches_model)) {
    fs::copy_file(file.path(), folder / file.path().filename().string());
  }
  folder.write("chat_template.jinja", "{{ messages }}");
  const Outcome messages = attn_cli({"run", "-"}, ".",
                                    R"({"model": ")" + folder.path().string() +
                                        R"(", "messages": [{"role": "user", "content": "a"}]})");
  CHECK(messages.exit_code == 3);
  CHECK(messages.errors.starts_with(
      "attn-cli: the model's chat template is a program in the language Jinja, which is not run "
      "here\n  where: standard input, /messages\n"));
  const Outcome ids = attn_cli({"run", "--model", speeches_model, "--ids", "0,259,512",
                                "--generate", "1", "--plots", "none", "--out", "-"});
  CHECK(ids.errors == "");
  CHECK(
      holds_text(without_space(ids.output), R"("prompt":[3],"tokens":[["States"]],"ids":[[442]])"));
}
