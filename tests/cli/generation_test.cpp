#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path recorded_models = fs::path(ATTN_TEST_DATA) / "models" / "cases";
const std::string speaking_model = fs::path(ATTN_DATA) / "speeches";

// The result that a run of the program wrote to standard output, without the space that lays it
// out.
std::string answer_of_run(const std::vector<std::string>& more) {
  std::vector<std::string> words{"run",     "--model", speaking_model, "--text", "the people of",
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

bool holds_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The probabilities of what follows the text.
std::vector<double> said_probabilities(const std::string& result) {
  const std::string key = "\"probabilities\":[[";
  std::vector<double> all;
  const char* at = result.c_str() + result.find(key) + key.size();
  for (char* end = nullptr; all.empty() || *at == ','; at = end) {
    all.push_back(std::strtod(at + (*at == ',' ? 1 : 0), &end));
  }
  return all;
}

}  // namespace

TEST_CASE("a model says what it finds likeliest, and its maps go over prompt and answer") {
  const std::string result = answer_of_run({"--generate", "4"});
  CHECK(holds_text(result,
                   R"("generated":{"prompt":[4],"tokens":[[" the"," United"," States",","]],)"
                   R"("ids":[[259,512,442,11]])"));
  REQUIRE(said_probabilities(result).size() == 4);
  CHECK(said_probabilities(result)[2] == doctest::Approx(0.97356).epsilon(1e-3));
  CHECK(holds_text(
      result,
      R"("query":["<|begin_of_text|>","the"," people"," of"," the"," United"," States",","])"));
  CHECK(holds_text(result, R"("layers.3.self.weights":[1,4,8,8])"));
}

TEST_CASE("a given answer has the maps and probabilities of what the model says") {
  const std::string said = answer_of_run({"--generate", "4"});
  const std::string given = answer_of_run({"--continue", " the United States,"});
  CHECK(holds_text(given, R"("ids":[[259,512,442,11]])"));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(said_probabilities(given)[i] ==
          doctest::Approx(said_probabilities(said)[i]).epsilon(1e-4));
  }
  const auto maps = [](const std::string& result) {
    return result.substr(result.find("\"tensors\":"));
  };
  CHECK(maps(given) == maps(said));
}

TEST_CASE("the report says what follows the text, with the time that it took") {
  const TemporaryFolder folder;
  const Outcome outcome = attn_cli({"run", "--model", speaking_model, "--text", "the people of",
                                    "--generate", "2", "--plots", "none"},
                                   folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("After the 4 tokens of sample 0\n   25.1 %  \" the\"\n   17.2 %  \" "
                            "United\"\n2 tokens in ") != std::string::npos);
}

TEST_CASE("heads, view and explain read prompt and answer") {
  const TemporaryFolder folder;
  const std::vector<std::string> input{"--model",       speaking_model, "--text",
                                       "the people of", "--generate",   "4"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), input.begin(), input.end());
    return attn_cli(words, folder.path());
  };
  CHECK(with({"heads", "--json"}).output.find("\"layers.3.self\"") != std::string::npos);
  CHECK(with({"view", "--out", "page.html"}).exit_code == 0);
  CHECK(read_text(folder / "page.html").find("\" States\"") != std::string::npos);
  CHECK(with({"explain", "--layer", "1", "--query", "7"}).exit_code == 0);
}

TEST_CASE("what cannot be said is refused with the reason") {
  const auto refused = [](const std::string& model, const std::string& rest) {
    const Outcome outcome = attn_cli({"run", "-", "--plots", "none"}, ".",
                                     R"({"model": ")" + model + R"(", )" + rest + "}");
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.output == "");
    return outcome.errors;
  };
  const auto folder_of = [](const char* name) {
    return (recorded_models / name / "checkpoint").string();
  };
  CHECK(refused(speaking_model, R"("text": "the", "generate": 0)") ==
        "attn-cli: expected a whole number of at least 1, found 0\n"
        "  where: standard input, /generate\n"
        "  help:  give a whole number of at least 1\n");
  CHECK(refused(speaking_model, R"("text": "the", "generate": 1000000000)") ==
        "attn-cli: a text of 1000000002 tokens asks for 1.6000000064e+19 elements or more, and the "
        "limit is 1000000000\n"
        "  where: standard input, /generate\n"
        "  help:  give fewer tokens, or raise the limit with --max-elements\n");
  CHECK(refused(speaking_model, R"("text": "the", "generate": 1, "continue": " a")") ==
        "attn-cli: \"generate\" and \"continue\" cannot both be given\n"
        "  where: standard input, /continue\n"
        "  help:  leave one of them out\n");
  CHECK(refused(speaking_model, R"("text": "the", "continue": "")") ==
        "attn-cli: the text has no tokens\n"
        "  where: standard input, /continue\n"
        "  help:  give a text with at least a word\n");
  CHECK(refused(folder_of("distilbert_masked"), R"("token_ids": [1, 2], "generate": 1)") ==
        "attn-cli: models of the type distilbert do not predict the next token\n"
        "  where: standard input, /generate\n"
        "  help:  leave it out, or name a model that writes texts\n");
  CHECK(refused(folder_of("gpt2_bare_names"), R"("token_ids": [1, 2], "generate": 100)") ==
        "attn-cli: 100 tokens after 2 are more than the model's positions, which end after 20\n"
        "  where: standard input, /generate\n"
        "  help:  give at most 18\n");
  CHECK(refused(speaking_model, R"("text": "the", "generate": 1, "patch": {"text": "a"})") ==
        "attn-cli: a model that gets parts from another text or means of heads says nothing\n"
        "  where: standard input, /generate\n"
        "  help:  leave it out, or \"patch\" and \"ablate\"\n");
}

TEST_CASE("the work of what a model says is counted before it is done") {
  const Outcome work = attn_cli({"run", "--model", speaking_model, "--text", "the", "--generate",
                                 "200", "--plots", "none", "--out", "-", "--max-work", "10M"});
  CHECK(work.exit_code == 3);
  CHECK(work.errors ==
        "attn-cli: the document asks for 434380800 multiplications, and the limit is 1e+07\n"
        "  where: " +
            speaking_model + "\n  help:  make it smaller, or raise the limit with --max-work\n");
}
