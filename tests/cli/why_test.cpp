#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const std::string pythia =
    (fs::path(ATTN_TEST_DATA) / "why" / "cases" / "gpt_neox_parallel" / "input.json").string();

}  // namespace

TEST_CASE("run --why and --logit write splits with the names of their parts") {
  const TemporaryFolder folder;
  for (const char* format : {"json", "safetensors"}) {
    CAPTURE(format);
    const Outcome run =
        attn_cli({"run", pythia, "--why", "2.1", "--query", "6", "--key", "2", "--logit", "--out",
                  "r", "--plots", "none", "--quiet", "--tensors", format},
                 folder.path());
    CHECK(run.errors == "");
    REQUIRE(run.exit_code == 0);
    const attn::TensorFile got = attn::TensorFile::open(folder / "r" / "result.json");
    CHECK(got.read("why.scores").shape() == attn::Shape{1, 8, 8});
    CHECK(got.read("contribution.parts").shape() == attn::Shape{11});
    CHECK(got.read("contribution.tokens").shape() == attn::Shape{6, 9});
    const std::string result = read_text(folder / "r" / "result.json");
    CHECK(result.find(
              "\"why\": {\n    \"head\": \"2.1\",\n    \"pairs\": [\n      [6,2]\n    ],\n") !=
          std::string::npos);
    CHECK(result.find("\"contribution\": {\n    \"position\": 6,\n    \"token\": ") !=
          std::string::npos);
  }
}

TEST_CASE("each of several texts is split, by tokens of its own") {
  const TemporaryFolder folder;
  const std::vector<std::string> texts{"The peace of the", "The union of"};
  const auto run = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",        "--model",  ATTN_DATA "/speeches",
                                   "--no-color", "--format", "svg",
                                   "--out",      out,        "--why",
                                   "1.0",        "--plots",  "contributions"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    return outcome.output;
  };
  const std::string both =
      run("both", {"--text", texts[0], "--text", texts[1], "--logit", " world", "--logit", " the",
                   "--against-logit", " people", "--against-logit", " our"});
  const attn::TensorFile got = attn::TensorFile::open(folder / "both" / "result.json");
  const std::vector<std::pair<std::string, std::string>> pairs{{" world", " people"},
                                                               {" the", " our"}};
  for (std::size_t b = 0; b < 2; ++b) {
    CAPTURE(b);
    const std::string out = "one" + std::to_string(b);
    const std::string one = run(
        out, {"--text", texts[b], "--logit", pairs[b].first, "--against-logit", pairs[b].second});
    const std::string logit = "The logit of \"" + pairs[b].first + "\" minus that of \"";
    CHECK(both.find(logit) != std::string::npos);
    CHECK(one.find(logit) != std::string::npos);
    const attn::TensorFile own = attn::TensorFile::open(folder / out / "result.json");
    for (const char* tensor : {"why.scores", "contribution.parts", "contribution.tokens"}) {
      const attn::Tensor all = got.read("texts." + std::to_string(b) + "." + tensor),
                         alone = own.read(tensor);
      REQUIRE(all.shape() == alone.shape());
      CHECK(std::ranges::equal(all.values<float>(), alone.values<float>()));
    }
    const Outcome plot = attn_cli({"plot", "contributions", "both", "--sample", std::to_string(b),
                                   "--out", "p.svg", "--quiet"},
                                  folder.path());
    CHECK(plot.errors == "");
    CHECK(read_text(folder / "p.svg") == read_text(folder / out / "contributions.svg"));
  }
}

TEST_CASE("documents say what is split, as flags do, and batches compute it") {
  const TemporaryFolder folder;
  const std::string model =
                        R"({"model": ")" ATTN_DATA R"(/speeches", "text": ["The peace of the", )"
                        R"("The union of"], )",
                    keys = R"("why": {"head": "2.1", "query": 5, "key": 4}, )"
                           R"("logit": [" world", " the"], "against_logit": " our")";
  write_text(folder / "keys.json", model + keys + "}");
  write_text(folder / "plain.json", model + R"("title": ""})");
  const std::vector<std::string> rest{"--plots", "none", "--quiet", "--out"},
      flags{"--why",   "2.1",    "--query", "5",    "--key",           "4",
            "--logit", " world", "--logit", " the", "--against-logit", " our"};
  const auto result = [&](const std::string& command, const std::string& document,
                          const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{command, document};
    words.insert(words.end(), rest.begin(), rest.end());
    words.push_back(out);
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    const fs::path results = folder / out;
    std::string text = read_text(
        (command == "batch" ? results / fs::path(document).stem() : results) / "result.json");
    // A run alone says which document it is of.
    const std::string of = "\"document\": \"../" + document + "\",\n  ";
    if (const std::size_t at = text.find(of); at != text.npos) text.erase(at, of.size());
    return text;
  };
  const std::string own = result("run", "keys.json", "a", {});
  CHECK(own.find("\"texts.1.contribution.parts\"") != std::string::npos);
  CHECK(result("run", "plain.json", "b", flags) == own);
  CHECK(result("batch", "keys.json", "c", {}) == own);
  CHECK(result("batch", "plain.json", "d", flags) == own);
  CHECK(attn_cli({"explain", "keys.json", "--sample", "1"}, folder.path())
            .output.find("Why head 2.1 looks from ") != std::string::npos);
}

TEST_CASE("splits that a document cannot have are refused at their keys") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& keys) {
    const std::string text =
        R"({"model": ")" ATTN_DATA R"(/speeches", "text": ["The peace", "We"], )";
    write_text(folder / "d.json", text + keys + "}");
    return refused_with(3, {"run", "d.json", "--out", "r"}, folder.path());
  };
  CHECK(refusal(R"("logit": ["1", "2", "3"])") ==
        "attn-cli: 3 tokens for 2 texts\n  where: d.json, /logit\n  help:  give one token "
        "for all texts, or one for each\n");
  CHECK(
      refusal(R"("why": {"query": 1})") ==
      "attn-cli: the split names neither a head nor a logit\n  where: d.json, /why\n  help:  give "
      "a head, or --logit\n");
  CHECK(
      refusal(R"("why": {"head": "9.1"})") ==
      "attn-cli: there is no layer 9: the model has 4 layers\n  where: d.json, /why/head\n  help:  "
      "give 0 to 3\n");
  CHECK(refusal(R"("logit": "1", "why": {"query": 4})") ==
        "attn-cli: there is no query 4: the text has 3 tokens\n  where: d.json, /why/query\n  "
        "help:  give 0 to 2\n");
  CHECK(refusal(R"("against_logit": 5)") ==
        "attn-cli: expected a string, found a number\n  where: d.json, /against_logit\n  help:  "
        "give a string\n");
}

TEST_CASE("run draws the parts of a score and of a logit") {
  const TemporaryFolder folder;
  const std::vector<std::string> asked{
      "run",     pythia,     "--why", "2.1",     "--query",
      "6",       "--key",    "2",     "--logit", "3",
      "--quiet", "--format", "svg",   "--plots", "parts,bars,path,contributions",
      "--out",   "r"};
  const Outcome run = attn_cli(asked, folder.path());
  CHECK(run.errors == "");
  REQUIRE(run.exit_code == 0);
  const auto picture = [&](const std::string& name) {
    return read_text(folder / "r" / (name + ".svg"));
  };
  for (const char* name : {"parts", "bars", "path"}) {
    CAPTURE(name);
    CHECK(picture(name).find("<title>Why Head 2.1 Looks from ") != std::string::npos);
  }
  CHECK(picture("parts").find("Heatmap of 8 queries × 8 keys.") != std::string::npos);
  CHECK(picture("contributions").find("<title>Why 3 after ") != std::string::npos);
  CHECK(refused_with(2, {"run", pythia, "--plots", "parts"}, folder.path()) ==
        "attn-cli: there is no split for the picture parts\n  where: --plots\n  help:  leave out "
        "parts, or add --why\n");
}

TEST_CASE("plot draws the splits that a result holds as run draws them") {
  const TemporaryFolder folder;
  const std::vector<std::string> one{
      "run",     pythia,     "--why", "2.1",     "--query",
      "6",       "--key",    "2",     "--logit", "3",
      "--quiet", "--format", "svg",   "--plots", "parts,bars,path,contributions",
      "--dtype", "float64",  "--out", "r"};
  std::vector<std::string> difference = one;
  difference.insert(difference.end(), {"--against-logit", "5"});
  for (const auto& run : {one, difference}) {
    CAPTURE(run.size());
    REQUIRE(attn_cli(run, folder.path()).exit_code == 0);
    for (const std::string kind : {"parts", "bars", "path", "contributions"}) {
      CAPTURE(kind);
      const Outcome plot =
          attn_cli({"plot", kind, "r", "--out", "again.svg", "--quiet"}, folder.path());
      CHECK(plot.errors == "");
      CHECK(read_text(folder / "again.svg") == read_text(folder / "r" / (kind + ".svg")));
    }
  }
}

TEST_CASE("results without the wanted split are refused with what computes it") {
  const TemporaryFolder folder;
  REQUIRE(attn_cli({"run", pythia, "--logit", "3", "--plots", "none", "--quiet", "--out", "r"},
                   folder.path())
              .exit_code == 0);
  CHECK(
      refused_with(3, {"plot", "parts", "r", "--out", "p.png"}, folder.path()) ==
      "attn-cli: the result holds no split of scores\n  where: r/result.json\n  help:  compute it "
      "with --why\n");
}

TEST_CASE("splits can be the only tensors of a result") {
  const TemporaryFolder folder;
  REQUIRE(attn_cli({"run", "--model", std::string(ATTN_DATA) + "/speeches", "--text",
                    "The peace of the world", "--why", "1.0", "--logit", "--only",
                    "why.scores,contribution.parts", "--plots", "none", "--out", "r"},
                   folder.path())
              .errors == "");
  CHECK(attn::TensorFile::open(folder / "r" / "result.json").names() ==
        std::vector<std::string>{"why.scores", "contribution.parts"});
}

TEST_CASE("run takes the output of a part from another text") {
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",    "--model", speeches, "--no-weights",
                                   "--only", "output",  "--out",  "-"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words);
  };
  const std::string a = "The peace of the world", b = "The peace of the nation";
  const auto output = [](const Outcome& outcome) {
    const std::size_t at = outcome.output.find("\"output\"", outcome.output.find("\"tensors\""));
    return outcome.output.substr(at);
  };
  const auto alike = [&](const std::vector<std::string>& one, const std::vector<std::string>& two) {
    return output(run(one)) == output(run(two));
  };
  CHECK(alike({"--text", a, "--patch", b, "--at", "3.residual"}, {"--text", b}));
  // A and B one after the other, as words.
  CHECK(alike({"--patch", a, b, "--at", "3.residual"}, {"--text", b}));
  CHECK(!alike({"--text", a, "--patch", b, "--at", "1.1:7"}, {"--text", a}));
  // Before the token in which the texts differ.
  CHECK(alike({"--text", a, "--patch", b, "--at", "1.1:4"}, {"--text", a}));
  CHECK(!alike({"--text", a, "--heads-off", "1.1", "--ablate", "mean"},
               {"--text", a, "--heads-off", "1.1"}));
  CHECK(run({"--text", a, "--patch", b, "--at", "9.1"}).errors ==
        "attn-cli: there is no layer 9: the model has 4 layers\n  where: --at\n  help:  give 0 to "
        "3\n");
  CHECK(
      run({"--text", a, "--patch", b}).errors ==
      "attn-cli: the patch names no part of the model\n  where: --patch\n  help:  name it by --at, "
      "such as 2.1, 2.feed_forward or 2.residual, or in a document by \"at\": \"2.1\" beside "
      "its text\n");
  CHECK(run({"--text", a, "--patch", b, "--at", "1.1", "--logit"}).errors ==
        "attn-cli: a split cannot be combined with a part from another text, or with means of "
        "heads\n  where: --logit\n  help:  leave it out; attn-cli heads, without --at, shows the "
        "difference of two logits in the text, and with each part from the other\n");
  CHECK(
      run({"--text", a, "--ablate", "mean"}).errors ==
      "attn-cli: no heads are off\n  where: --ablate\n  help:  add --heads-off, or leave it out\n");
}

TEST_CASE("explanations are of the model as it is") {
  const std::vector<std::string> asked{"explain", "--model", std::string(ATTN_DATA) + "/speeches",
                                       "--text", "The peace of the"};
  const auto errors = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = asked;
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words).errors;
  };
  CHECK(errors({"--patch", "The law of the", "--at", "1.1"}) ==
        "attn-cli: an explanation is of the model as it is\n  where: --patch\n  help:  leave it "
        "out\n");
  CHECK(errors({"--heads-off", "1.1", "--ablate", "mean"}) ==
        "attn-cli: an explanation is of the model as it is\n  where: --ablate\n  help:  leave it "
        "out\n");
}

TEST_CASE("what cannot be split is refused by the flag that asks for it") {
  CHECK(refused_with(3, {"run", pythia, "--why", "7.0"}) ==
        "attn-cli: there is no layer 7: the model has 3 layers\n  where: --why\n  help:  give 0 to "
        "2\n");
  CHECK(
      refused_with(3, {"run", "-", "--why", "0.0"}, ".",
                   R"({"attention": "softmax", "scores": [[1, 2]], "value": [[1], [2]]})") ==
      "attn-cli: \"why\" has no meaning for softmax attention\n  where: --why\n  help:  it is for "
      "models: leave it out, or give the folder of one with --model and a text with --text\n");
}

TEST_CASE("explain --why says what wrote the parts of a score, in both languages") {
  const std::vector<std::string> asked{"explain",
                                       "--model",
                                       std::string(ATTN_DATA) + "/speeches",
                                       "--text",
                                       "The peace of the world. The peace of the",
                                       "--layer",
                                       "2",
                                       "--head",
                                       "0",
                                       "--why",
                                       "--logit"};
  const Outcome english = attn_cli(asked);
  CHECK(english.exit_code == 0);
  CHECK(english.errors == "");
  for (const char* text :
       {"Why head 2.0 looks from \" the\" (12) at \" world\" (7)",
        "On the side of the key: 58 % from what head 1.1 wrote at \" world\" (7),\n   looking at "
        "\" the\" (6); 28 % from what head 1.0 wrote at \" world\" (7),",
        "   1.1             \" the\" (6)                     3.3814   58 %\n",
        "The 144 pairs of parts add up to 5.8577, and the model itself computes\n   5.8577.",
        "The logit of \" world\" at \" the\" (12) is 9.2155."}) {
    CAPTURE(text);
    CHECK(english.output.find(text) != std::string::npos);
  }
  std::vector<std::string> other = asked;
  other.insert(other.end(), {"--lang", "zh"});
  CHECK(attn_cli(other).output.find("头 2.0 为什么从 \" the\" (12) 看 \" world\" (7)") !=
        std::string::npos);
}

TEST_CASE(
    "run prints the splits that it computed as explain does, of what cannot be read twice too") {
  const TemporaryFolder folder;
  const std::string speeches = std::string(ATTN_DATA) + "/speeches",
                    text = "The peace of the world. The peace of the";
  const std::vector<std::string> splits{"--why", "2.0", "--logit"};
  const auto with_splits = [&](std::vector<std::string> words) {
    words.insert(words.end(), splits.begin(), splits.end());
    return words;
  };
  const std::vector<std::string> asked{"--model", speeches, "--text", text};
  std::vector<std::string> run{"run", "--out", "r", "--plots", "none"}, explain{"explain"};
  run.insert(run.end(), asked.begin(), asked.end());
  explain.insert(explain.end(), asked.begin(), asked.end());
  const std::string explained = attn_cli(with_splits(explain)).output;
  CHECK(explained.find("Why head 2.0 looks from \" the\" (12) at \" world\" (7)") !=
        std::string::npos);
  CHECK(attn_cli(with_splits(run), folder.path()).output.ends_with("\n\n" + explained));
  const std::string document = R"({"model":")" + speeches + R"(","text":")" + text + "\"}";
  const Outcome piped =
      attn_cli(with_splits({"run", "-", "--out", "r", "--plots", "none"}), folder.path(), document);
  const std::size_t start = explained.find("\n\nThe state of a token");
  CHECK(piped.output.ends_with(explained.substr(start)));
}

TEST_CASE("explain --why takes a key by its token, as queries are taken") {
  const auto explained = [](const std::string& key) {
    return attn_cli({"explain", "--model", std::string(ATTN_DATA) + "/speeches", "--text",
                     "The people of the United States, and the people of the world", "--why", "2.3",
                     "--key", key});
  };
  const Outcome once = explained(" United");
  CHECK(once.errors.empty());
  CHECK(once.output.find("Why head 2.3 looks from \" world\" (15) at \" United\" (7)\n") !=
        std::string::npos);
  CHECK(once.output == explained("7").output);
  CHECK(once.output == explained("\" United\" (7)").output);
  CHECK(explained(" people").errors ==
        "attn-cli: 2 keys are called \" people\": 4 and 12\n  where: --key\n  help:  give the "
        "position of one of them, such as 12\n");
  CHECK(explained(" Unted").errors.starts_with(
      "attn-cli: no key is called \" Unted\"\n  where: --key\n  help:  did you mean \" United\"?"));
  CHECK(explained("2:4").errors ==
        "attn-cli: \"2:4\" is a range, not one key\n  where: --key\n  help:  give one key\n");
}

TEST_CASE("explain --why --csv has a row for each pair of parts") {
  std::vector<std::string> asked{"explain", pythia, "--layer", "1", "--head", "0",
                                 "--query", "3",    "--key",   "2", "--why",  "--csv"};
  const Outcome rows = attn_cli(asked);
  CHECK(rows.exit_code == 0);
  CHECK(rows.output.starts_with("query,key,query_part,key_part,score\n3,2,embedding,embedding,"));
  CHECK(std::count(rows.output.begin(), rows.output.end(), '\n') == 1 + 5 * 5);
  asked.erase(asked.begin() + 8, asked.begin() + 10);  // the key
  asked[8] = "--logit";
  std::vector<std::string> of_logit = asked;
  of_logit.erase(of_logit.begin() + 2, of_logit.begin() + 6);  // the layer and the head
  const Outcome logit = attn_cli(of_logit);
  CHECK(logit.output.starts_with("position,token,part,source,contribution\n3,"));
  asked.push_back("--why");
  CHECK(attn_cli(asked).errors ==
        "attn-cli: one CSV table holds one split\n  where: --why\n  help:  split the scores or "
        "the logit\n");
}
