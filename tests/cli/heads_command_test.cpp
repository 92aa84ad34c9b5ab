#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "attn/cpu.hpp"
#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string speeches = std::string(ATTN_DATA) + "/speeches";

std::string texts(std::size_t count) {
  const std::string words[]{"people", "state", "union", "peace", "world", "war", "law"};
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "The " + words[i % 7] + " of the " + words[(i / 7) % 7] + " and the " +
            words[(i / 3) % 7] + ".\n";
  }
  return text;
}

}  // namespace

TEST_CASE("heads prints a line a head, what counts, and the same as csv and JSON") {
  const std::string maps = R"({"weights":[[[[1,0],[1,0]],[[0.5,0.5],[0.5,0.5]]]],)"
                           R"("labels":{"query":["a","b"],"key":["a","b"]}})";
  const Outcome table = attn_cli({"heads", "-", "--statistics", "previous,self,sink"}, ".", maps);
  CHECK(table.errors == "");
  CHECK(table.output ==
        "2 heads look at the previous token, most of all 0 (1.00). 2 heads look at the token "
        "itself, most of all 0 (0.50).\n"
        "\n"
        "  head  previous   self   sink\n"
        "  0        1.000  0.500  1.000\n"
        "  1        0.500  0.500  1.000\n"
        "\n"
        "Rows of all tokens count, also of special ones. Rows without any weight, such as those of "
        "padding, never count; keys that a mask hides have no weight, and the largest possible "
        "entropy is that of the keys that are seen."
        " Separators: those of the tokenizer or, without one, [SEP], </s> and the like.\n");
  const std::vector<std::string> csv{"heads", "-", "--statistics", "previous,self", "--csv"};
  CHECK(attn_cli(csv, ".", maps).output ==
        "layer,stack,head,statistic,value\n"
        ",,0,previous,1\n,,0,self,0.5\n,,1,previous,0.5\n,,1,self,0.5\n");
  std::vector<std::string> wide = csv;
  wide.emplace_back("--wide");
  CHECK(attn_cli(wide, ".", maps).output ==
        "layer,stack,head,previous,self\n,,0,1,0.5\n,,1,0.5,0.5\n");
  wide = {"heads", "-", "--wide"};
  CHECK(attn_cli(wide, ".", maps).errors ==
        "attn-cli: --wide is about comma-separated values\n"
        "  where: --wide\n"
        "  help:  give --csv, or a folder with --out\n");
  const Outcome json = attn_cli({"heads", "-", "--statistics", "entropy", "--json"}, ".", maps);
  CHECK(json.exit_code == 0);
  CHECK(json.output.find("\"entropy\": 0.6931471805599453") != std::string::npos);
}

TEST_CASE("heads compares the heads of two models over one text") {
  const std::vector<std::string> compared{"heads",      "--model",   speeches, "--text",
                                          "The people", "--against", speeches};
  std::vector<std::string> words = compared;
  words.emplace_back("--csv");
  const Outcome csv = attn_cli(words, ".");
  CHECK(csv.errors.empty());
  CHECK(csv.output.starts_with(
      "layer,stack,head,divergence,total_variation,largest_difference,other_strongest\n"
      "0,self,0,0,0,0,0\n"));
  const TemporaryFolder folder;
  for (const std::string name : {"Rome", "Home"}) {
    REQUIRE(attn_cli({"run", "--model", speeches, "--text", "The people of " + name, "--plots",
                      "none", "--out", name},
                     folder.path())
                .exit_code == 0);
  }
  const Outcome results = attn_cli({"heads", "Rome", "--against", "Home"}, folder.path());
  CHECK(results.exit_code == 0);
  CHECK(results.errors ==
        "attn-cli: warning: the tokens of the two inputs differ: query 6 is \" R\" here and \" "
        "H\" there\n");
  words = compared;
  words.insert(words.end(), {"--corpus", "texts.txt"});
  CHECK(attn_cli(words, ".").errors ==
        "attn-cli: --against compares two inputs, not a corpus\n  where: --against\n"
        "  help:  leave out --corpus and --merge\n");
}

TEST_CASE("the table of heads begins with the strongest, and fits the terminal") {
  const std::vector<std::string> read{"heads", "--model", speeches, "--text",
                                      "The people of the United States, and the people."};
  const auto with = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = read;
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome heads = attn_cli(words, ".");
    CHECK(heads.errors.empty());
    return heads.output;
  };
  const std::string table = with({"--top", "2"});
  CHECK(table.starts_with(
      "Head 1.1 looks at the previous token (0.99). Head 0.2 looks at the token itself (0.98).\n\n"
      "  head  previous   self  first  entropy_share  confidence  induction_score\n"));
  CHECK(table.find("\n  1.1      0.99") < table.find("\n  0.2      0.01"));
  CHECK(table.find("\nZero for every head: next, separators.\n"
                   "Hidden, as the terminal is too narrow: entropy, distance, sink, "
                   "previous_score, duplicate_score, "
                   "score_largest, score_median, score_p99; --statistics chooses, and CSV and JSON "
                   "have all.\n"
                   "The first 2 of 16 heads; --top lists more.\n") != std::string::npos);
  const std::string sorted = with({"--statistics", "entropy", "--sort", "entropy", "--top", "1"});
  CHECK(sorted.find("\n  3.1   ") != std::string::npos);
  CHECK(
      with({"--statistics", "entropy", "--sort", "layer"}).starts_with("  head  entropy\n  0.0 "));
  const std::string separated =
      with({"--statistics", "separators", "--separators", " the", "--csv"});
  CHECK(separated == with({"--statistics", "separators", "--separators", "the", "--csv"}));
  CHECK(separated != with({"--statistics", "separators", "--separators", " of", "--csv"}));
  std::vector<std::string> unknown = read;
  unknown.insert(unknown.end(), {"--separators", "Ω"});
  CHECK(attn_cli(unknown, ".").errors ==
        "attn-cli: the tokenizer has no token \"Ω\"\n  where: --separators\n"
        "  help:  attn-cli tokens shows how it cuts a text\n");
  std::vector<std::string> wrong = read;
  wrong.insert(wrong.end(), {"--sort", "induction"});
  CHECK(attn_cli(wrong, ".").errors ==
        "attn-cli: invalid value \"induction\" for --sort\n"
        "  where: --sort\n"
        "  help:  did you mean \"induction_score\"?\n");
}

TEST_CASE("heads of the chosen layers of a model are told") {
  const std::vector<std::string> read{"heads", "--model", speeches, "--text", "The people"};
  const auto with = [&](const std::string& layers) {
    std::vector<std::string> words = read;
    words.insert(words.end(), {"--csv", "--wide", "--statistics", "previous", "--layers", layers});
    return attn_cli(words, ".");
  };
  const std::string all = with("0,1,2,3").output, some = with("1,3").output;
  std::istringstream lines(all);
  std::string expected;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] != '0' && line[0] != '2') expected += line + "\n";
  }
  CHECK(some == expected);
  CHECK(std::ranges::count(some, '\n') == 9);
  CHECK(with("1:3").output == with("1,2").output);
  CHECK(with("1:").errors ==
        "attn-cli: layers of a model are chosen by their numbers\n  where: --layers\n"
        "  help:  give numbers from 0, such as 1 or 0,3\n");
}

TEST_CASE("statistics without a value say why under the table of heads") {
  const std::string maps = R"({"weights":[[0.25,0.75,0],[0.5,0.5,0]]})";
  const Outcome heads = attn_cli({"heads", "-"}, ".", maps);
  CHECK(heads.errors.empty());
  CHECK(heads.output.find("Not applicable: previous, next, self (queries and keys are different "
                          "tokens).\n"
                          "Not applicable: separators (the tokens are not known).\n"
                          "Not applicable: distance, previous_score, duplicate_score, "
                          "induction_score (queries and keys are different tokens).\n") !=
        std::string::npos);
  CHECK(heads.output.find("–") == std::string::npos);
}

TEST_CASE("the values of a corpus are rows as those of one text, with their standard errors") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(3));
  const Outcome heads =
      attn_cli({"heads", "--model", speeches, "--corpus", "texts.txt", "--csv"}, folder.path());
  CHECK(heads.errors.empty());
  CHECK(heads.output.starts_with(
      "layer,stack,head,statistic,value,standard_error,deviation,texts\n0,self,0,previous,0."));
  CHECK(read_text(folder / "attention_heads" / "heads.csv") == heads.output);
  CHECK(read_text(folder / "attention_heads" / "most.csv")
            .starts_with("layer,stack,head,statistic,rank,line,value\n0,self,0,previous,1,"));
}

TEST_CASE("of a corpus as of one text only the chosen statistics are told") {
  const TemporaryFolder folder;
  folder.write("texts.txt", "The people of the people\nThe people\n");
  const auto told = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words{"heads", "--model", speeches, "--corpus", "texts.txt"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.errors.empty());
    return outcome.output;
  };
  const std::string csv = told({"--statistics", "previous", "--csv", "--out", "csv"});
  CHECK(csv.find(",previous,") != std::string::npos);
  CHECK(csv.find(",entropy,") == std::string::npos);
  CHECK(read_text(folder / "csv/heads.csv") == csv);
  // Head 1.1 looks at the token before, of which a table of other places says nothing.
  CHECK(told({"--statistics", "induction_score", "--out", "one"}).find("No head") ==
        std::string::npos);
}

TEST_CASE("of a corpus texts are read as they are, and analyses that say one number of each") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", "the peace of the world\n");
  const std::string statistics =
                        "of a corpus only statistics, a lens, losses and gradients are read",
                    answers = "a corpus is read as it is, without answers",
                    patches = "the lines of a corpus have the texts that parts are taken from",
                    texts = "the corpus has the texts", one_text = "leave it out, or read one text";
  struct Refused {
    std::vector<std::string> words;
    std::string problem, help;
  };
  for (const auto& [words, problem, help] :
       {Refused{{"--analyses", "rollout"}, statistics, one_text},
        Refused{{"--generate", "2"}, answers, one_text},
        Refused{{"--continue", "text"}, answers, one_text},
        Refused{{"--parts", "a=0:3"}, answers, one_text},
        Refused{{"--parts", "special"}, answers, one_text},
        Refused{{"--patch", "the war"}, patches, one_text},
        Refused{{"--at", "2.1"}, patches, one_text}, Refused{{"document.json"}, texts, one_text},
        Refused{{"--text", "the war"}, texts, one_text},
        Refused{{"--image", "leaf.png"}, texts, one_text}, Refused{{"--chat"}, texts, one_text},
        Refused{{"--ids", "1,2"}, texts, one_text},
        Refused{{"--average", "1025"},
                "mean maps of 1025 positions are too large",
                "give at most 1024"}}) {
    std::vector<std::string> line{"heads", "--model", speeches, "--corpus", "texts.txt"};
    line.insert(line.end(), words.begin(), words.end());
    CHECK(refused_with(2, line, folder.path()) ==
          "attn-cli: " + problem + "\n  where: " + words[0] + "\n  help:  " + help + "\n");
  }
}

TEST_CASE("mean maps have the keys that are seen where these are the earlier ones") {
  const TemporaryFolder folder;
  write_text(folder / "texts.jsonl", "{\"token_ids\": [1, 2, 3, 4, 5, 6, 7, 8]}\n");
  const auto result_of = [&](const std::string& model) {
    REQUIRE(attn_cli({"heads", "--model", model, "--corpus", "texts.jsonl", "--average", "8",
                      "--out", "r", "--quiet"},
                     folder.path())
                .exit_code == 0);
    return read_text(folder / "r" / "result.json");
  };
  CHECK(result_of(speeches).find("\"layers.0.self.allowed\"") != std::string::npos);
  std::filesystem::remove_all(folder / "r");
  const std::string windowed =
      (std::filesystem::path(ATTN_TEST_DATA) / "models/cases/mistral_window/checkpoint").string();
  CHECK(result_of(windowed).find(".allowed\"") == std::string::npos);
}

TEST_CASE("joined sums are written beside those of the shards") {
  CHECK(attn_cli({"heads", "--merge", "parts", "--out", "whole"}).errors ==
        "attn-cli: joined sums are written beside those of the shards\n"
        "  where: --out\n"
        "  help:  leave it out\n");
}

TEST_CASE("heads reads a document, its result and the result's tensors to the same numbers") {
  const TemporaryFolder folder;
  write_text(
      folder / "doc.json",
      R"({"attention":"multi_head","dtype":"float64","heads":2,"seed":1,"x":{"randn":[2,5,8]},)"
      R"("mask":{"causal":true},"parameters":{"init":"torch"}})");
  const Outcome run = attn_cli({"run", "doc.json", "--plots", "none"}, folder.path());
  REQUIRE(run.exit_code == 0);
  const std::string whole = attn_cli({"heads", "doc.json", "--csv"}, folder.path()).output;
  CHECK(attn_cli({"heads", "attention_results/result.json", "--csv"}, folder.path()).output ==
        whole);
  CHECK(whole.starts_with("layer,stack,head,statistic,value\n,,0,previous,"));
}

TEST_CASE("heads finds layers in five axes, and orders files by the numbers in their names") {
  const TemporaryFolder folder;
  const std::string own = "[[1,0],[0,1]]", even = "[[0.5,0.5],[0.5,0.5]]";
  write_text(folder / "deep.json", "{\"deep\":[[[" + own + "]],[[" + even + "]]]}");
  CHECK(attn_cli({"heads", "deep.json", "--statistics", "self", "--csv", "--wide"}, folder.path())
            .output == "layer,stack,head,self\n0,,0,1\n1,,0,0.5\n");
  write_text(folder / "l2.json", even);
  write_text(folder / "l10.json", own);
  const Outcome files = attn_cli(
      {"heads", "l10.json", "l2.json", "--statistics", "self", "--csv", "--wide"}, folder.path());
  CHECK(files.output == "layer,stack,head,self\n2,,0,0.5\n10,,0,1\n");
}

TEST_CASE("heads writes tables, tensors and pictures into a folder") {
  const TemporaryFolder folder;
  const Outcome heads =
      attn_cli({"heads", "--model", speeches, "--text", "The state of the Union", "--analyses",
                "rollout,norms,lens,distances,induction", "--without-heads-of", "0", "--plots",
                "all", "--out", "out", "--dpi", "40", "--induction-length", "8"},
               folder.path());
  CHECK(heads.exit_code == 0);
  CHECK(heads.errors == "");
  for (const char* name :
       {"heads.csv", "heads.json", "result.json", "heads.previous.png", "head_map.png",
        "rollout.png", "lens.png", "induction.png", "layers.3.self.block_norms.png"}) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(folder / "out" / name));
  }
  CHECK(heads.output.find("Random tokens, repeated once") != std::string::npos);
  CHECK(heads.output.find("Each head left out") != std::string::npos);
  const std::string csv = read_text(folder / "out" / "heads.csv");
  for (const char* name : {"random_previous", "random_duplicate", "random_induction"}) {
    CAPTURE(name);
    CHECK(csv.find("\n3,self,3," + std::string(name) + ",") != std::string::npos);
  }
  const std::string result = read_text(folder / "out" / "result.json");
  for (const char* tensor :
       {"layers.3.rollout", "layers.0.self.norms", "layers.0.self.norms_of_all_heads",
        "layers.0.self.block_norms", "layers.0.self.mixing", "lens.ids", "lens.probabilities",
        "head_distances", "head_map"}) {
    CHECK(result.find("\"" + std::string(tensor) + "\"") != std::string::npos);
  }
}

TEST_CASE("shards of a corpus join to the bytes of a single run") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(40));
  const auto read = [&](const std::string& out, const std::string& shard) {
    std::vector<std::string> words{"heads",     "--model", speeches, "--corpus",
                                   "texts.txt", "--out",   out,      "--quiet"};
    if (!shard.empty()) words.insert(words.end(), {"--shard", shard});
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
  };
  read("whole", "");
  for (const char* part : {"2/3", "0/3", "1/3"}) read("parts", part);
  const Outcome merged = attn_cli({"heads", "--merge", "parts"}, folder.path());
  CHECK(merged.exit_code == 0);
  CHECK(merged.output.find("Means over 40 texts") != std::string::npos);
  for (const char* name : {"corpus.json", "heads.csv", "most.csv", "by_offset.csv"}) {
    CHECK(read_text(folder / "whole" / name) == read_text(folder / "parts" / name));
  }
}

TEST_CASE("mean maps over a corpus are means of the maps, and shards join them") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", "The peace of the world.\nThe people\n");
  const auto read = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"heads",     "--model", speeches, "--corpus", "texts.txt",
                                   "--average", "5",       "--out",  out,        "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
  };
  read("whole", {"--threads", "2", "--plots", "heads"});
  for (const char* part : {"1/2", "0/2"}) read("parts", {"--shard", part});
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).exit_code == 0);
  for (const char* name : {"corpus.json", "result.json"}) {
    CHECK(read_text(folder / "whole" / name) == read_text(folder / "parts" / name));
  }
  for (const char* name : {"average.png", "by_distance.png"}) {
    CHECK(std::filesystem::exists(folder / "whole" / name));
  }
  const auto weights_of = [&](const std::string& text) {
    CHECK(attn_cli({"run", "--model", speeches, "--text", text, "--out", "run", "--plots", "none",
                    "--quiet"},
                   folder.path())
              .exit_code == 0);
    return attn::TensorFile::open(folder / "run" / "result.json")
        .read("layers.1.self.weights")
        .converted(attn::DType::float64);
  };
  const attn::Tensor one = weights_of("The peace of the world."), other = weights_of("The people");
  const attn::Tensor mean = attn::TensorFile::open(folder / "whole" / "result.json")
                                .read("layers.1.self.weights")
                                .converted(attn::DType::float64);
  REQUIRE(mean.shape() == attn::Shape{1, 4, 5, 5});
  REQUIRE(one.shape()[2] >= 5);
  const std::size_t longer = one.shape()[2], shorter = other.shape()[2];
  for (std::size_t h = 0; h < 4; ++h) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        const double a = one.values<double>()[(h * longer + i) * longer + j];
        const bool both = std::max(i, j) < shorter;
        const double b = both ? other.values<double>()[(h * shorter + i) * shorter + j] : a;
        CHECK(mean.values<double>()[(h * 5 + i) * 5 + j] == (a + b) / 2);
      }
    }
  }
  CHECK(attn_cli({"heads", "--model", speeches, "--text", "The people", "--average"}).errors ==
        "attn-cli: --average has no effect without --corpus\n  where: --average\n"
        "  help:  add --corpus, or leave it out\n");
}

TEST_CASE("contributions to logits over a corpus have exact sums, which shards join") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(6));
  const auto read = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"heads",   "--model", speeches, "--corpus", "texts.txt",
                                   "--logit", "--out",   out,      "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
  };
  read("whole", {"--threads", "2"});
  for (const char* part : {"1/2", "0/2"}) read("parts", {"--shard", part});
  const Outcome merged = attn_cli({"heads", "--merge", "parts"}, folder.path());
  CHECK(merged.exit_code == 0);
  CHECK(merged.output.find("Mean contributions to the logit; contributions.csv has all parts.\n") !=
        std::string::npos);
  for (const char* name : {"corpus.json", "contributions.csv"}) {
    CHECK(read_text(folder / "whole" / name) == read_text(folder / "parts" / name));
  }
  const std::string rows = read_text(folder / "whole" / "contributions.csv");
  CHECK(rows.starts_with("part,value,standard_error,deviation,texts\nembedding,"));
  // 4 layers of 4 heads and a feed-forward, embedding and bias.
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 1 + 4 * 5 + 2);
  CHECK(attn_cli({"heads", "--model", speeches, "--text", "The people", "--logit"}).errors ==
        "attn-cli: the choice of a logit has no effect on this report\n  where: --logit\n  "
        "help:  add a lens, gradients, a text to patch from, or a corpus: --analyses, --patch, "
        "--corpus; "
        "attn-cli run splits the logit of one text\n");
}

TEST_CASE("a corpus of pairs has means of sweeps and of contributions, which shards join") {
  const TemporaryFolder folder;
  struct Pair {
    std::string text, other, answer, wrong;
  };
  const std::vector<Pair> pairs{
      {"The peace of the world", "The peace of the nation", " and", " of"},
      {"The laws of the world", "The laws of the people", " are", " of"},
      {"The war of the people and", "The war of the country and", " of", " the"}};
  std::string lines;
  for (const Pair& pair : pairs) {
    lines += R"({"text": ")" + pair.text + R"(", "patch": {"text": ")" + pair.other +
             R"("}, "logit": ")" + pair.answer + R"(", "against_logit": ")" + pair.wrong + "\"}\n";
  }
  write_text(folder / "pairs.jsonl", lines);
  const auto read = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "heads",     "--model",        speeches,  "--corpus",      "pairs.jsonl",
        "--sweep",   "heads,residual", "--paths", "--attribution", "--analyses",
        "gradients", "--steps",        "2",       "--out",         out};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    return outcome.output;
  };
  const std::string table =
      read("whole", {"--threads", "2", "--plots", "heads", "--dpi", "60", "--dtype", "float64"});
  CHECK(
      table.find("Patched from the other texts, one at a time: what a head writes. The difference "
                 "of the two logits, ") != std::string::npos);
  for (const char* part : {"1/2", "0/2"}) {
    read("parts", {"--shard", part, "--dtype", "float64", "--quiet"});
  }
  REQUIRE(attn_cli({"heads", "--merge", "parts"}, folder.path()).exit_code == 0);
  CHECK(table.find("Direct paths patched from the other texts, one at a time") !=
        std::string::npos);
  for (const char* name :
       {"corpus.json", "contributions.csv", "patches.csv", "paths.csv", "analyses.csv"}) {
    CHECK(read_text(folder / "whole" / name) == read_text(folder / "parts" / name));
  }
  for (const char* name :
       {"heads.patch.png", "heads.patch.residual.png", "heads.paths.logits.png"}) {
    CHECK(std::filesystem::exists(folder / "whole" / name));
  }
  // The means of head 1.1's effects are those of the texts alone.
  std::vector<double> effects, estimates, paths, gradients;
  for (const Pair& pair : pairs) {
    const std::vector<std::string> of_pair{"heads",    "--model", speeches,    "--text",
                                           pair.text,  "--logit", pair.answer, "--against-logit",
                                           pair.wrong, "--dtype", "float64",   "--json"};
    const auto told_with = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = of_pair;
      words.insert(words.end(), more.begin(), more.end());
      return nlohmann::json::parse(attn_cli(words, folder.path()).output);
    };
    const nlohmann::json told =
        told_with({"--patch", pair.other, "--sweep", "heads", "--attribution", "--paths"});
    for (const auto& head : told["patches"]["heads"]) {
      if (head["layer"] != "1" || head["head"] != 1) continue;
      effects.push_back(head["effect"]);
      estimates.push_back(head["effect_by_gradients"]);
    }
    for (const auto& path : told["patches"]["paths"]) {
      if (path["from"] == "0.2" && path["to"] == "logits") paths.push_back(path["effect"]);
    }
    gradients.push_back(told_with({"--analyses", "gradients"})["gradients"][0]["inputs"][1]);
  }
  REQUIRE(effects.size() == 3);
  const double mean = (effects[0] + effects[1] + effects[2]) / 3;
  double squares = 0;
  for (const double effect : effects) squares += (effect - mean) * (effect - mean);
  const auto cells_of = [&](const char* file, const std::string& start) {
    std::istringstream rows(read_text(folder / "whole" / file));
    std::string row;
    while (std::getline(rows, row) && !row.starts_with(start)) {
    }
    std::vector<std::string> cells;
    std::istringstream line(row);
    for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
    return cells;
  };
  const std::vector<std::string> cells = cells_of("patches.csv", "heads,1.1,,");
  REQUIRE(cells.size() == 9);
  CHECK(std::stod(cells[3]) == doctest::Approx(mean).epsilon(1e-12));
  CHECK(std::stod(cells[4]) == doctest::Approx(std::sqrt(squares / 6)).epsilon(1e-9));
  CHECK(cells[6] == "3");
  // So are those by gradients, those of a path, and what a token gives.
  const auto is_mean_of = [](const std::vector<double>& numbers) {
    REQUIRE(numbers.size() == 3);
    return doctest::Approx((numbers[0] + numbers[1] + numbers[2]) / 3).epsilon(1e-10);
  };
  CHECK(std::stod(cells[7]) == is_mean_of(estimates));
  CHECK(std::stod(cells_of("paths.csv", "0.2,logits,,")[3]) == is_mean_of(paths));
  CHECK(std::stod(cells_of("analyses.csv", "gradients.position.1.input,")[1]) ==
        is_mean_of(gradients));
  write_text(folder / "texts.jsonl", "{\"text\": \"The people\"}\n");
  CHECK(attn_cli({"heads", "--model", speeches, "--corpus", "texts.jsonl", "--sweep", "heads",
                  "--out", "none"},
                 folder.path())
            .errors.find("line 1 is left out: there is no text to patch parts from") !=
        std::string::npos);
}

TEST_CASE("what an answer looks at, and what is lost without each head, are pictures too") {
  const TemporaryFolder folder;
  const std::string model = std::string(ATTN_DATA) + "/speeches";
  CHECK(attn_cli({"heads", "--model", model, "--text", "The people of the United States.",
                  "--generate", "2", "--parts", "first=0:10", "--without-heads-of", "1", "--plots",
                  "heads", "--format", "svg", "--out", "h", "--quiet"},
                 folder.path())
            .exit_code == 0);
  const std::string shares = read_text(folder / "h" / "shares.svg");
  for (const char* text : {">What the Answer Looks At<", ">first<", ">prompt<", ">3.3<"})
    CHECK(shares.find(text) != std::string::npos);
  const std::string lost = read_text(folder / "h" / "heads.without.svg");
  CHECK(lost.find(">What Is Lost without Each Head<") != std::string::npos);
  CHECK(lost.find("1 query × 4 keys") != std::string::npos);
}

TEST_CASE("heads that are left out one by one may write their means") {
  const auto differences = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "heads", "--model", speeches, "--text", "The peace of the", "--without-heads-of", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    return outcome.output.substr(outcome.output.find("Each head left out"));
  };
  CHECK(differences({"--ablate", "zero"}) == differences({}));
  CHECK(differences({"--ablate", "mean"}) != differences({}));
}

TEST_CASE("heads patches every head from another text") {
  const TemporaryFolder folder;
  std::vector<std::string> words{"heads",
                                 "--model",
                                 speeches,
                                 "--text",
                                 "The peace of the world",
                                 "--patch",
                                 "The peace of the nation",
                                 "--logit-difference",
                                 "\" of\",\" the\"",
                                 "--out",
                                 "h",
                                 "--plots",
                                 "heads",
                                 "--dpi",
                                 "60"};
  const Outcome outcome = attn_cli(words, folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("Each head patched from the other text: the logit of \" of\" minus "
                            "that of \" the\"") != std::string::npos);
  CHECK(read_text(folder / "h" / "heads.json").find("\"patches\"") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "h" / "heads.patch.png"));
  words[8] = "\" of\"";
  CHECK(attn_cli(words, folder.path()).errors ==
        "attn-cli: a difference is of two logits\n  where: --logit-difference\n  help:  give two "
        "tokens with a comma between, such as '\" world\",\" people\"'\n");
  words[8] = "1,2";
  words.insert(words.end(), {"--heads-off", "1.1"});
  CHECK(
      attn_cli(words, folder.path()).errors ==
      "attn-cli: heads are patched in the model as it is\n  where: --heads-off\n  help:  leave it "
      "out, or patch one part by --at\n");
  words.resize(words.size() - 2);
  words.insert(words.end(), {"--text", "Another text of the world"});
  CHECK(attn_cli(words, folder.path())
            .errors.find("heads are patched in one text, and 2 are given") != std::string::npos);
  words.resize(words.size() - 2);
  words[6] = "The peace";
  CHECK(attn_cli(words, folder.path()).errors.starts_with("attn-cli: the texts have "));
  CHECK(attn_cli({"heads", "--model", speeches, "--text", "The peace", "--logit-difference", "1,2"})
            .errors ==
        "attn-cli: the choice of a logit has no effect on this report\n  where: "
        "--logit-difference\n  help:  add a lens, gradients, a text to patch from, or a corpus: "
        "--analyses, "
        "--patch, --corpus; attn-cli run splits the logit of one text\n");
  CHECK(attn_cli({"heads", "--model", speeches, "--text", "The peace", "--sweep", "keys"}).errors ==
        "attn-cli: there is no text to patch parts from\n  where: --sweep\n  help:  add --patch "
        "without --at\n");
}

TEST_CASE("heads sweeps parts over layers, heads and positions in one table and picture each") {
  const TemporaryFolder folder;
  std::vector<std::string> words{"heads",
                                 "--model",
                                 speeches,
                                 "--text",
                                 "The peace of the world",
                                 "--patch",
                                 "The peace of the nation",
                                 "--logit",
                                 " of",
                                 "--against-logit",
                                 " the",
                                 "--sweep",
                                 "residual,values,heads",
                                 "--by-position",
                                 "--top",
                                 "3",
                                 "--plots",
                                 "heads",
                                 "--dpi",
                                 "60",
                                 "--out",
                                 "h"};
  const Outcome outcome = attn_cli(words, folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("Patched from the other text, one at a time: the states that leave a "
                            "layer. The logit of \" of\" minus that of \" the\"") !=
        std::string::npos);
  CHECK(outcome.output.find("The first 3 of ") != std::string::npos);
  const std::string json = read_text(folder / "h" / "heads.json");
  for (const char* part : {"residual", "values", "heads"}) {
    CHECK(json.find("\"part\": \"" + std::string(part) + "\"") != std::string::npos);
    CHECK(std::filesystem::exists(folder / "h" / ("heads.patch." + std::string(part) + ".png")));
  }
}

TEST_CASE("a lens follows a named token through all states, and losses are those of each token") {
  const std::vector<std::string> words{
      "heads", "--model", speeches, "--text", "The peace of the world", "--json", "--analyses"};
  const auto json_of = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(all);
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    return nlohmann::json::parse(outcome.output);
  };
  const auto trace = json_of({"lens", "--logit", " of", "--against-logit", " the"})["trace"];
  const auto& states = trace["states"];
  REQUIRE(states.size() == 9);
  CHECK(states[0]["state"] == "embedding");
  CHECK(states[1]["state"] == "0.attention");
  CHECK(states[8]["state"] == "3.residual");
  CHECK(json_of({"loss"})["losses"][0].size() == 7);
  std::vector<std::string> unnamed = words;
  unnamed.insert(unnamed.end(), {"lens", "--logit"});
  CHECK(attn_cli(unnamed).errors ==
        "attn-cli: the lens follows a token that is named\n  where: --logit\n  help:  give the "
        "token's text or its id\n");
}

TEST_CASE("a corpus that was killed goes on to the same bytes") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(600));
  const std::string command =
      "\"$ATTN\" heads --model '" + speeches + "' --corpus texts.txt --quiet";
  REQUIRE(shell(command + " --out whole", folder.path()).exit_code == 0);
  for (const char* seconds : {"0.1", "0.3", "0.6"}) {
    shell("timeout -s KILL " + std::string(seconds) + " " + command + " --out killed --resume",
          folder.path());
  }
  // Told to stop it saves what is there.
  shell("timeout -s INT 0.5 " + command + " --out killed --resume", folder.path());
  REQUIRE(shell(command + " --out killed --resume", folder.path()).exit_code == 0);
  CHECK(read_text(folder / "whole" / "corpus.json") ==
        read_text(folder / "killed" / "corpus.json"));
}

TEST_CASE("of readings of corpora into one folder at once each is whole or refused") {
  const TemporaryFolder folder;
  std::string start;
  std::vector<std::string> sums;
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    write_text(folder / (number + ".txt"), texts(20 + i));
    const std::string command =
        "\"$ATTN\" heads --model '" + speeches + "' --corpus " + number + ".txt --quiet --out ";
    REQUIRE(shell(command + number, folder.path()).exit_code == 0);
    sums.push_back(read_text(folder / number / "corpus.json"));
    start += command + "all || echo $? & ";
  }
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    const Outcome outcome = shell(start + "wait", folder.path());
    for (const char code : outcome.output) CHECK((code == '4' || code == '\n'));
    CHECK(outcome.output.size() <= 4);
    const std::string left = read_text(folder / "all/corpus.json");
    const auto of = std::find(sums.begin(), sums.end(), left) - sums.begin();
    REQUIRE(of < 3);
    for (const char* name : {"heads.csv", "most.csv", "by_offset.csv"}) {
      CHECK(read_text(folder / "all" / name) == read_text(folder / std::to_string(of) / name));
    }
    CHECK(std::distance(std::filesystem::directory_iterator(folder / "all"), {}) == 4);
  }
}

TEST_CASE("a text that cannot be read is named and left out of a corpus") {
  const TemporaryFolder folder;
  write_text(folder / "texts.jsonl",
             "{\"text\": \"The state\"}\n{\"txt\": 1}\n{\"text\": \"A law\"}\n");
  const Outcome heads = attn_cli(
      {"heads", "--model", speeches, "--corpus", "texts.jsonl", "--out", "out"}, folder.path());
  CHECK(heads.exit_code == 1);
  CHECK(heads.errors ==
        "attn-cli: warning: line 2 is left out: unknown key \"txt\" (at /txt); did you mean "
        "\"text\"?\n");
  CHECK(heads.output.find("Means over 2 texts") != std::string::npos);
}

TEST_CASE("lines of a corpus are those of its file, blank ones too") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", "\nThe people\n\n \nThe law of the people\n");
  const auto read = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"heads",     "--model", speeches, "--corpus",
                                   "texts.txt", "--out",   out,      "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
  };
  read("whole", {});
  for (const char* part : {"0/2", "1/2"}) read("parts", {"--shard", part});
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).exit_code == 0);
  std::istringstream most(read_text(folder / "whole/most.csv"));
  CHECK(read_text(folder / "parts/most.csv") == most.str());
  std::string row, lines;
  std::getline(most, row);
  // Its second number from behind is the line.
  for (int n = 0; n < 2 && std::getline(most, row); ++n) {
    const std::string place = row.substr(0, row.rfind(','));
    lines += place.substr(place.rfind(',') + 1);
  }
  std::ranges::sort(lines);
  CHECK(lines == "25");

  write_text(folder / "texts.jsonl",
             "{\"text\": \"The state\"}\n\n{\"text\": \"A law\"}\n{\"txt\": 1}\n");
  CHECK(attn_cli({"heads", "--model", speeches, "--corpus", "texts.jsonl", "--out", "out"},
                 folder.path())
            .errors ==
        "attn-cli: warning: line 4 is left out: unknown key \"txt\" (at /txt); did you mean "
        "\"text\"?\n");
}

TEST_CASE("warnings of texts of a corpus are counted and shown, by shards as by one run") {
  const TemporaryFolder folder;
  std::string lines, longer;
  for (int i = 0; i < 300; ++i) longer += " the law";
  for (const char* text : {"The state", "A", "The law", "A", "A"}) {
    lines += text + (std::string(text) == "A" ? longer : "") + "\n";
  }
  write_text(folder / "texts.txt", lines);
  std::vector<std::string> words{"heads",     "--model", speeches, "--corpus",
                                 "texts.txt", "--out",   "whole"};
  const Outcome whole = attn_cli(words, folder.path());
  CHECK(whole.exit_code == 0);
  const std::string warnings =
      "attn-cli: warning: line 2: a text has 602 tokens, and the model was made for 256\n"
      "attn-cli: warning: there are warnings of 3 texts of 5; each is shown once, with the first "
      "of its texts\n";
  CHECK(whole.errors == warnings);
  words.emplace_back("--json");
  CHECK(attn_cli(words, folder.path())
            .output.find("\"warnings\": [\n    \"line 2: a text has 602 tokens") !=
        std::string::npos);
  words[6] = "parts";
  words.back() = "--shard";
  for (const char* shard : {"0/2", "1/2"}) {
    words.emplace_back(shard);
    REQUIRE(attn_cli(words, folder.path()).exit_code == 0);
    words.pop_back();
  }
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).errors == warnings);
  CHECK(read_text(folder / "parts/corpus.json") == read_text(folder / "whole/corpus.json"));
}

TEST_CASE("a corpus that changed, or other options, are no reason to go on") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(3));
  const std::vector<std::string> read{"heads", "--model", speeches,  "--corpus", "texts.txt",
                                      "--out", "out",     "--quiet", "--resume"};
  REQUIRE(attn_cli(read, folder.path()).exit_code == 0);
  std::vector<std::string> other = read;
  other.insert(other.end(), {"--reach", "5"});
  CHECK(refused_with(3, other, folder.path()) ==
        "attn-cli: the sums were made with different options: --reach\n"
        "  where: out/corpus.json\n"
        "  help:  give the same as before, or another folder with --out\n");
  write_text(folder / "texts.txt", "Another text.\n" + texts(3));
  CHECK(attn_cli(read, folder.path()).errors ==
        "attn-cli: the lines that were read already have changed since\n"
        "  where: texts.txt\n"
        "  help:  start again, in another folder with --out\n");
  write_text(folder / "out" / "corpus.json", "{\"format\": 1}\n");
  CHECK(attn_cli(read, folder.path()).exit_code == 3);
}

TEST_CASE("sums of other options are not continued, and the error names what differs") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(3));
  const std::vector<std::string> read{"heads", "--model", speeches,  "--corpus", "texts.txt",
                                      "--out", "out",     "--quiet", "--resume"};
  REQUIRE(attn_cli(read, folder.path()).exit_code == 0);
  const std::string sums = read_text(folder / "out/corpus.json");
  const std::vector<std::pair<std::vector<std::string>, std::string>> changes{
      {{"--heads-off", "1.0"}, "--heads-off"},
      {{"--heads-off", "1.0", "--ablate", "mean"}, "--ablate, --heads-off"},
      {{"--dtype", "float64"}, "--dtype"},
      {{"--causal"}, "--causal"},
      {{"--seed", "1"}, "--seed"},
      {{"--ignore-special"}, "--ignore-special"},
      {{"--separators", "."}, "--separators"},
      {{"--sink-threshold", "0.25"}, "--sink-threshold"},
      {{"--without-first-key"}, "--without-first-key"},
      {{"--without-self"}, "--without-self"},
      {{"--measure", "difference"}, "--measure"},
      {{"--kept", "2", "--reach", "3"}, "--kept, --reach"},
      {{"--average", "4"}, "--average"},
      {{"--logit"}, "--logit"},
      {{"--cpu", std::string(attn::cpu_targets().back())}, "--cpu"}};
  for (const auto& [flags, named] : changes) {
    const auto& shown = named;  // clang 14 captures no structured binding
    CAPTURE(shown);
    std::vector<std::string> other = read;
    other.insert(other.end(), flags.begin(), flags.end());
    CHECK(refused_with(3, other, folder.path()) ==
          "attn-cli: the sums were made with different options: " + named +
              "\n  where: out/corpus.json\n"
              "  help:  give the same as before, or another folder with --out\n");
  }
  // What the sums do not depend on.
  std::vector<std::string> same = read;
  same.insert(same.end(), {"--threads", "1", "--sort", "entropy", "--top", "3"});
  CHECK(attn_cli(same, folder.path()).exit_code == 0);
  CHECK(read_text(folder / "out/corpus.json") == sums);
}

TEST_CASE("sums are not continued or joined with other files of the model") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(4));
  std::filesystem::copy(speeches, folder / "model");
  const std::vector<std::string> words{"heads", "--model", "model",   "--corpus", "texts.txt",
                                       "--out", "parts",   "--quiet", "--resume", "--shard"};
  const auto read = [&](const char* shard) {
    std::vector<std::string> line = words;
    line.emplace_back(shard);
    return line;
  };
  REQUIRE(attn_cli(read("0/2"), folder.path()).exit_code == 0);
  const std::filesystem::path tokenizer = folder / "model/tokenizer.json";
  REQUIRE(std::filesystem::exists(tokenizer));
  write_text(tokenizer, read_text(tokenizer) + "\n");
  CHECK(refused_with(3, read("0/2"), folder.path()) ==
        "attn-cli: \"model/tokenizer.json\" has changed since the sums were made\n"
        "  where: parts/corpus.0-of-2.json\n"
        "  help:  give the same as before, or another folder with --out\n");
  REQUIRE(attn_cli(read("1/2"), folder.path()).exit_code == 0);
  CHECK(refused_with(3, {"heads", "--merge", "parts"}, folder.path()) ==
        "attn-cli: \"corpus.1-of-2.json\" was made from another version of "
        "\"model/tokenizer.json\" than what was made before it\n"
        "  where: parts/corpus.1-of-2.json\n"
        "  help:  keep the shards of one corpus in a folder of their own\n");
}

TEST_CASE("shards of other options or of another corpus are not joined") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(4));
  write_text(folder / "others.txt", texts(3));
  const auto read = [&](const char* corpus, std::vector<std::string> more) {
    std::vector<std::string> line{"heads", "--model", speeches, "--corpus",
                                  corpus,  "--out",   "parts",  "--quiet"};
    line.insert(line.end(), more.begin(), more.end());
    REQUIRE(attn_cli(line, folder.path()).exit_code == 0);
  };
  const auto refusal = [&] {
    return refused_with(3, {"heads", "--merge", "parts"}, folder.path());
  };
  const std::string help =
      "\n  where: parts/corpus.1-of-2.json\n"
      "  help:  keep the shards of one corpus in a folder of their own\n";
  read("texts.txt", {"--shard", "0/2"});
  read("texts.txt", {"--shard", "1/2", "--heads-off", "1.0"});
  CHECK(refusal() ==
        "attn-cli: \"corpus.1-of-2.json\" was made with different options than "
        "\"corpus.0-of-2.json\": --heads-off" +
            help);
  read("others.txt", {"--shard", "1/2"});
  CHECK(refusal() ==
        "attn-cli: the shard is of another corpus or number of shards than "
        "corpus.0-of-2.json" +
            help);
  read("texts.txt", {"--shard", "1/2"});
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).exit_code == 0);
}

TEST_CASE("shards that are missing or not finished are not joined") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(4));
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).errors ==
        "attn-cli: there are no sums of shards\n"
        "  where: parts\n"
        "  help:  name the folder that the shards were read into\n");
  REQUIRE(attn_cli({"heads", "--model", speeches, "--corpus", "texts.txt", "--out", "parts",
                    "--quiet", "--shard", "1/2"},
                   folder.path())
              .exit_code == 0);
  CHECK(attn_cli({"heads", "--merge", "parts"}, folder.path()).errors ==
        "attn-cli: shard 0 of 2 is missing\n"
        "  where: parts\n"
        "  help:  read it with --shard 0/2, or put its file into this folder\n");
}

TEST_CASE("a shard that was copied to another number, or twice, is not joined") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt", texts(4));
  for (const char* shard : {"0/2", "1/2"}) {
    REQUIRE(attn_cli({"heads", "--model", speeches, "--corpus", "texts.txt", "--out", "parts",
                      "--quiet", "--shard", shard},
                     folder.path())
                .exit_code == 0);
  }
  const std::vector<std::string> merge{"heads", "--merge", "parts"};
  for (const std::string copy : {"corpus.1-of-2.json", "corpus.00-of-2.json"}) {
    CAPTURE(copy);
    const std::filesystem::path to = folder / ("parts/" + copy);
    const std::string before = read_text(to);
    write_text(to, read_text(folder / "parts/corpus.0-of-2.json"));
    CHECK(refused_with(3, merge, folder.path()) ==
          "attn-cli: the file holds the sums of shard 0 of 2\n  where: parts/" + copy +
              "\n  help:  remove it if it is a copy, or name it "
              "corpus.0-of-2.json\n");
    std::filesystem::remove(to);
    if (!before.empty()) write_text(to, before);
  }
  CHECK(attn_cli(merge, folder.path()).exit_code == 0);
  // A shard in place of all.
  write_text(folder / "parts/corpus.json", read_text(folder / "parts/corpus.1-of-2.json"));
  CHECK(attn_cli({"heads", "--model", speeches, "--corpus", "texts.txt", "--out", "parts",
                  "--quiet", "--shard", "0/1", "--resume"},
                 folder.path())
            .errors ==
        "attn-cli: the file holds the sums of shard 1 of 2\n"
        "  where: parts/corpus.json\n"
        "  help:  remove it if it is a copy, or name it corpus.1-of-2.json\n");
}

TEST_CASE("heads takes axes, patterns of names and a file per layer as plot does") {
  const TemporaryFolder folder;
  const std::string a = "[[1,0],[0.5,0.5]]", b = "[[1,0],[0.25,0.75]]";
  folder.write("axes.json", R"({"all":[[)" + a + "],[" + b + "]]}");
  folder.write("names.json", R"({"attn_1":)" + a + R"(,"attn_2":)" + b + "}");
  folder.write("one.json", R"({"weights":)" + a + "}");
  folder.write("two.json", R"({"weights":)" + b + "}");
  const auto table = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "heads");
    arguments.insert(arguments.end(), {"--statistics", "previous,self", "--csv", "--wide"});
    const Outcome outcome = attn_cli(arguments, folder.path());
    CHECK(outcome.errors.empty());
    return outcome.output;
  };
  CHECK(table({"axes.json", "--name", "all", "--axes", "layer,head"}) ==
        "layer,stack,head,previous,self\n0,,0,0.5,0.75\n1,,0,0.25,0.875\n");
  CHECK(table({"one.json", "two.json"}) ==
        "layer,stack,head,previous,self\n0,,0,0.5,0.75\n1,,0,0.25,0.875\n");
  CHECK(table({"names.json", "--name", "attn_{n}"}) ==
        "layer,stack,head,previous,self\n,attn_1,0,0.5,0.75\n,attn_2,0,0.25,0.875\n");
}

TEST_CASE("several files of which one is a document have no heads") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,2]]})");
  CHECK(refused_with(2, {"heads", "d.json", "d.json"}, folder.path()) ==
        "attn-cli: only files of maps can be layers of one stack\n"
        "  where: INPUT\n"
        "  help:  give one document\n");
}

TEST_CASE("heads draws a rollout over the picture, and plot does so from what heads writes") {
  const TemporaryFolder folder;
  const std::string document =
      std::string(ATTN_TEST_DATA) + "/models/pictures/dinov2_registers_antialiased/input.json";
  CHECK(attn_cli({"heads", document, "--analyses", "rollout,norms", "--plots", "all", "--dpi", "50",
                  "--out", "h", "--quiet"},
                 folder.path())
            .exit_code == 0);
  CHECK(png_header(read_text(folder / "h/overlay.rollout.png")).dpi == 50);
  CHECK(std::filesystem::exists(folder / "h/overlay.layers.1.self.block_norms.png"));
  const Outcome plot = attn_cli({"plot", "overlay", "h/result.json", "--name", "layers.1.rollout",
                                 "--dpi", "50", "--out", "o.png", "--json"},
                                folder.path());
  CHECK(plot.errors == "");
  CHECK(plot.output.find("in 4 × 4 patches") != std::string::npos);
  // A rollout is of no head.
  CHECK(attn_cli({"plot", "overlay", "h/result.json", "--name", "layers.1.rollout", "--letters",
                  "text", "--out", "o.svg", "--quiet"},
                 folder.path())
            .exit_code == 0);
  const std::string svg = read_text(folder / "o.svg");
  CHECK(svg.find("(Layer 1)") != std::string::npos);
  CHECK(svg.find("Head") == std::string::npos);
}

TEST_CASE("patches of a picture are no tokens that could be repeated or separate others") {
  const TemporaryFolder folder;
  const std::string shapes = std::string(ATTN_DATA) + "/shapes";
  const Outcome run =
      attn_cli({"heads", "--model", shapes, "--image", shapes + "/blue_star.png"}, folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("Not applicable: separators, duplicate_score, induction_score (the tokens "
                        "are not known).\n") != std::string::npos);
  CHECK(run.output.find("Zero for every head: sink.\n") != std::string::npos);
}
