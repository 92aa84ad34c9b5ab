#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Reports of run and validate, as they are printed.

namespace {

Outcome run_in(const TemporaryFolder& folder, const std::string& document,
               const std::vector<std::string>& flags = {}) {
  folder.write("d.json", document);
  std::vector<std::string> words{"run", "d.json", "--plots", "none", "--out", "r"};
  words.insert(words.end(), flags.begin(), flags.end());
  return attn_cli(words, folder.path());
}

// The part of a report below a heading, up to the next empty line.
std::string section(const std::string& report, const std::string& heading) {
  const std::size_t at = report.find("\n" + heading + "\n");
  if (at == std::string::npos) return "";
  const std::size_t start = at + heading.size() + 2;
  return report.substr(start, report.find("\n\n", start) + 1 - start);
}

}  // namespace

TEST_CASE("rows of the output have the same names with and without weights") {
  const TemporaryFolder folder;
  const std::string output = "Output (rows: queries, columns: components)";
  for (const std::string labels : {"", R"(,"labels":{"query":["a","b"],"key":["c","d"]})"}) {
    const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]])" + labels + "}";
    const std::string with = run_in(folder, document).output;
    const std::string without = run_in(folder, document, {"--no-weights"}).output;
    CHECK(section(with, output).find(labels.empty() ? "\n  0  " : "\n  \"a\" (0)") !=
          std::string::npos);
    CHECK(section(with, output) == section(without, output));
  }
}

TEST_CASE("a report says that it shows one sample of several, with and without weights") {
  const TemporaryFolder folder;
  const std::string document = R"({"attention":"sdpa","seed":1,"query":{"randn":[3,2,4]}})";
  const std::string others = "\nOne of 3 samples: --sample chooses another.\n";
  CHECK(run_in(folder, document).output.find(others) != std::string::npos);
  CHECK(run_in(folder, document, {"--no-weights"}).output.find(others) != std::string::npos);
}

TEST_CASE("a report shows as many columns as the terminal has room for") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[20,16]}})");
  for (const std::size_t columns : {40, 60, 100}) {
    const Outcome outcome =
        shell("COLUMNS=" + std::to_string(columns) + " \"$ATTN\" run d.json --plots none --out r",
              folder.path());
    CHECK(outcome.exit_code == 0);
    std::istringstream lines(outcome.output);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ")) continue;  // a heading
      std::size_t width = 0;
      for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      widest = std::max(widest, width);
    }
    CAPTURE(outcome.output);
    CHECK(widest <= columns);
    CHECK(widest > columns - 20);
    CHECK(outcome.output.find("…") != std::string::npos);
  }
}

TEST_CASE("ids of tokens, shapes of embeddings and the decoded text are in the report") {
  const TemporaryFolder folder;
  const std::string names = R"(["[CLS]","un","##aff","##able","dog"])";
  const std::string tokens =
      R"({"attention":"self","seed":1,"parameters":{"init":"torch"},"tokens":)" + names +
      R"(,"embedding":{"vocabulary":)" + names +
      R"(,"table":[[1,0,0,0,0],[0,1,0,0,0],[0,0,1,0,0],[0,0,0,1,0],[0,0,0,0,1]])";
  const std::string report = run_in(folder, tokens + R"(,"recover":true}})").output;
  CHECK(section(report, "Tokens of sample 0") ==
        "  token_ids      0 1 2 3 4\n"
        "  recovered_ids  0 1 2 3 4\n");
  CHECK(report.find("\n  token_ids      [5]\n") != std::string::npos);
  CHECK(report.find("\n  embedded       [5,5]\n") != std::string::npos);
  CHECK(section(report, "Recovered from the embeddings") ==
        "  [CLS] un ##aff ##able dog\n"
        "  → unaffable dog\n");
  CHECK(run_in(folder, tokens + "}}").output.find("token_ids") == std::string::npos);
  CHECK(section(run_in(folder, tokens + "}}", {"--stages"}).output, "Tokens of sample 0") ==
        "  token_ids  0 1 2 3 4\n");
}

TEST_CASE("recovered tokens that the vocabulary cannot spell are told") {
  const TemporaryFolder folder;
  const std::string table = R"("vocabulary":["[UNK]","a","b"],"table":[[1,0,0],[0,1,0],[0,0,1]])";
  const auto errors = [&](const std::string& tokens) {
    return run_in(folder, R"({"attention":"sdpa","tokens":)" + tokens + R"(,"embedding":{)" +
                              table + R"(,"unknown":"[UNK]","recover":true}})")
        .errors;
  };
  CHECK(errors(R"(["a","c","b","d"])") ==
        "attn-cli: warning: 2 of 4 recovered tokens are unknown ones: the vocabulary cannot spell "
        "what they stand for, and the text leaves them out\n");
  CHECK(errors(R"(["a","b"])") == "");
}

TEST_CASE("scores whose rows sum to one get a warning") {
  const TemporaryFolder folder;
  const std::string warning =
      "attn-cli: warning: the rows of the scores sum to one: if they are weights already, draw "
      "them with attn-cli plot as {\"weights\": …}\n";
  CHECK(run_in(folder, R"({"attention":"softmax","scores":[[0.25,0.75],[0.5,0.5]]})").errors ==
        warning);
  CHECK(run_in(folder, R"({"attention":"softmax","scores":[[0.25,0.75],[0.5,1]]})").errors == "");
}

TEST_CASE("names in --only are checked before anything is computed") {
  const TemporaryFolder folder;
  // More work than may be done: the name is refused before.
  const std::string document =
      R"({"attention":"sdpa","seed":1,"query":{"randn":[1,8,3000,64]},"mask":{"causal":true}})";
  const Outcome none = run_in(folder, document, {"--only", "none", "--max-seconds", "0.01"});
  CHECK(none.exit_code == 3);
  CHECK(none.errors ==
        "attn-cli: the result has no tensor \"none\"\n  where: --only\n"
        "  help:  known: weights, allowed, output\n");
  CHECK(run_in(folder, document, {"--only", "lse", "--max-seconds", "0.01"}).errors ==
        "attn-cli: \"lse\" is a step of the score, which is not written\n  where: --only\n"
        "  help:  add --stages\n");
}

TEST_CASE("validate says about how much run will write") {
  const TemporaryFolder folder;
  const std::string document =
      R"({"attention":"sdpa","seed":1,"query":{"randn":[1,4,100,16]},"mask":{"causal":true}})";
  run_in(folder, document, {"--quiet"});
  const auto written = static_cast<double>(std::filesystem::file_size(folder / "r/result.json"));
  const std::string json = attn_cli({"validate", "d.json", "--json"}, folder.path()).output;
  const std::string start =
      "[\n  {\n    \"input\": \"d.json\",\n    \"problems\": [],\n    \"bytes\": ";
  REQUIRE(json.starts_with(start));
  const double foreseen = std::stod(json.substr(start.size()));
  CHECK(foreseen > 0.7 * written);
  CHECK(foreseen < 1.4 * written);
  const std::string text = attn_cli({"validate", "d.json"}, folder.path()).output;
  CHECK(text.starts_with("d.json: valid\n  about "));
  CHECK(text.ends_with(" kB of tensors will be written\n"));
}

TEST_CASE("plot takes a tensor by other sizes") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[0.5,0.25,0.25]],[[0,0.5,0.5]]]})");
  const auto plot = [&](const std::string& sizes) {
    return attn_cli({"plot", "heatmap", "w.json", "--reshape", sizes, "--out", "w.svg"},
                    folder.path());
  };
  for (const std::string sizes : {"1,1,2,3", "2,3", "1,-1,3"}) {
    CAPTURE(sizes);
    CHECK(plot(sizes).errors == "");
    CHECK(read_text(folder / "w.svg").find("2 queries × 3 keys") != std::string::npos);
  }
  CHECK(plot("2,4").errors ==
        "attn-cli: the tensor [2,1,3] has 6 elements, which do not make the sizes 2,4\n"
        "  where: --reshape\n"
        "  help:  give sizes whose product is 6; -1 is the one that is left\n");
}
