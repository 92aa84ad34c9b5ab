#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Parts of a command line that would be dropped, or taken as something else, without a word.

namespace {

const std::string small_document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string speeches_model = std::string(ATTN_DATA) + "/speeches";

std::string told_at(const std::string& problem, const std::string& where, const std::string& help) {
  return "attn-cli: " + problem + "\n  where: " + where + "\n  help:  " + help + "\n";
}

}  // namespace

TEST_CASE("a batch of texts or pictures refuses one that would replace each of them") {
  const TemporaryFolder folder;
  folder.write("texts.txt", "The peace\nThe nation\n");
  std::vector<std::string> words{"batch",        "texts.txt", "--model",
                                 speeches_model, "--plots",   "none"};
  const auto refused = [&](const std::string& flag, const std::string& value) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {flag, value});
    return refused_with(2, all, folder.path());
  };
  const std::string help = "leave it out: what a batch reads is in its files";
  CHECK(refused("--text", "hello") ==
        told_at("--text would replace each text of texts.txt", "--text", help));
  CHECK(refused("--ids", "5,8") ==
        told_at("--ids would replace each text of texts.txt", "--ids", help));
  CHECK_FALSE(std::filesystem::exists(folder / "attention_results"));
  CHECK(attn_cli({"batch", "-", "--model", speeches_model, "--text", "hello", "--out", "-"},
                 folder.path(), "The peace\n")
            .errors.find("--text would replace each text of standard input:1") !=
        std::string::npos);
}

TEST_CASE("a name of the output that makes a folder nobody means is refused") {
  const TemporaryFolder folder;
  folder.write("d.json", small_document);
  const auto refused = [&](std::vector<std::string> words) {
    return refused_with(2, words, folder.path());
  };
  const auto of_file = [&](const std::string& name, const std::string& help,
                           const std::string& kind = "file") {
    return told_at("\"" + name + "\" is the name of a " + kind + ", and --out takes a folder",
                   "--out", help);
  };
  CHECK(refused({"run", "d.json", "--out=~/o9"}) ==
        told_at("\"~\" stands for the home folder only where the shell replaces it", "--out",
                "write --out ~/o9, with a space and without quotes"));
  CHECK(refused({"run", "d.json", "--out", "s3://bucket/res"}) ==
        told_at("\"s3://bucket/res\" is an address, and results are written to this machine",
                "--out", "write to a folder here, and copy it there"));
  CHECK(
      refused({"plot", "heatmap", "d.json", "--out", "/dev/stdout"}) ==
      told_at("\"/dev/stdout\" is standard output, which --out calls -", "--out", "write --out -"));
  CHECK(refused({"batch", "d.json", "--out", ""}) ==
        told_at("the name of the output is empty", "--out",
                "give a name: a variable of the shell may be unset"));
  CHECK(refused({"run", "d.json", "--out", "o.json"}) ==
        of_file("o.json", "write attn-cli run … --out - > o.json"));
  CHECK(refused({"batch", "d.json", "--out", "out.jsonl"}) ==
        of_file("out.jsonl", "write attn-cli batch … --out - > out.jsonl"));
  CHECK(refused({"run", "d.json", "--quiet", "--out", "ref.npz"}) ==
        of_file("ref.npz", "write --out ref --tensors npz"));
  CHECK(refused({"batch", "d.json", "--out", "results.tar.gz"}) ==
        of_file("results.tar.gz", "give a folder, such as results"));
  CHECK(refused({"circuits", speeches_model, "--csv", "--out", "c.csv"}) ==
        of_file("c.csv", "write attn-cli circuits … --csv > c.csv"));
  CHECK(refused({"run", "d.json", "--out", "o.png"}) ==
        of_file("o.png",
                "give a folder, such as o; attn-cli plot heatmap o --out o.png draws one picture "
                "of its result",
                "picture"));
  CHECK(refused({"view", "d.json", "--out", "page"}) ==
        told_at("\"page\" has no extension", "--out", "write --out page.html"));
  std::filesystem::create_directory(folder / "made.json");
  CHECK(attn_cli({"run", "d.json", "--plots", "none", "--out", "made.json"}, folder.path())
            .exit_code == 0);
}

TEST_CASE("a flag that has no effect beside another one is refused with both") {
  const TemporaryFolder folder;
  folder.write("d.json", small_document);
  const auto idle = [&](std::vector<std::string> words, const std::string& flag,
                        const std::string& other) {
    CHECK(refused_with(2, words, folder.path()) ==
          told_at(flag + " has no effect with " + other, flag, "leave one of them out"));
  };
  idle({"heads", "d.json", "--sort", "entropy", "--csv"}, "--sort", "--csv");
  idle({"heads", "d.json", "--top", "3", "--csv", "--wide"}, "--top", "--csv");
  idle({"batch", "--merge", "sh", "--out", "merged"}, "--out", "--merge");
  idle({"batch", "--merge", "sh", "--scale", "3"}, "--scale", "--merge");
  idle({"batch", "--merge", "sh", "--jobs", "9"}, "--jobs", "--merge");
  CHECK(refused_with(2, {"explain", "--model", speeches_model, "--text", "The peace", "--logit",
                         " world", "--layer", "2"}) ==
        told_at("--layers has no effect with --logit", "--layer",
                "leave it out; in place of --logit, --analyses lens shows the likeliest tokens of "
                "each layer"));
  const Outcome dash = attn_cli({"tokens", "--model", speeches_model, "--text", "-"});
  CHECK(dash.exit_code == 0);
  CHECK(dash.errors ==
        "attn-cli: warning: the text is \"-\" itself: for standard input write --text "
        "\"$(cat)\"\n");
  const Outcome gone = attn_cli({"tokens", "--model", speeches_model, "--text", "speech.txt"});
  CHECK(gone.exit_code == 0);
  CHECK(gone.errors ==
        "attn-cli: warning: the text is \"speech.txt\" itself, of which there is no file\n");
  CHECK(attn_cli({"run", "--model", speeches_model, "--text", "The peace", "--head", "3",
                  "--tensors", "csv", "--plots", "none", "--out", "r"},
                 folder.path())
            .errors ==
        "attn-cli: warning: --head chooses what is drawn and reported: files of tensors have all "
        "heads\n");
}

TEST_CASE("--quiet prints what is asked for, and nothing else") {
  const TemporaryFolder folder;
  folder.write("d.json", small_document);
  const auto same = [&](std::vector<std::string> words) {
    const std::string loud = attn_cli(words, folder.path()).output;
    words.emplace_back("--quiet");
    const Outcome quiet = attn_cli(words, folder.path());
    CHECK(quiet.output == loud);
    CHECK(quiet.output != "");
    CHECK(quiet.errors == "");
  };
  same({"run", "d.json", "--plots", "none", "--json"});
  same({"validate", "d.json", "--json"});
  same({"explain", "d.json", "--markdown"});
  same({"show", "attention_results"});
  same({"heads", "d.json", "--csv"});
  same({"heads", "d.json", "--json"});
  same({"tokens", "--model", speeches_model, "--text", "The peace"});
  const Outcome shown =
      attn_cli({"run", "d.json", "--plots", "none", "--quiet", "--show"}, folder.path());
  CHECK(shown.output == "\n" + attn_cli({"show", "attention_results"}, folder.path()).output);
  CHECK(attn_cli({"validate", "d.json", "--quiet"}, folder.path()).output == "");
  CHECK(attn_cli({"batch", "d.json", "--plots", "none", "--quiet"}, folder.path()).output == "");
}

TEST_CASE("a batch says that it replaces the summary of an earlier one") {
  const TemporaryFolder folder;
  folder.write("d.json", small_document);
  const std::vector<std::string> words{"batch", "d.json", "--plots", "none", "--out", "b"};
  CHECK(attn_cli(words, folder.path()).errors == "");
  CHECK(attn_cli(words, folder.path()).errors ==
        "attn-cli: warning: \"b/summary.jsonl\" of an earlier batch is replaced: --resume goes on "
        "with it\n");
}

TEST_CASE("a file whose name is in brackets is taken as it is") {
  const TemporaryFolder folder;
  folder.write("[a,b]", small_document);
  CHECK(attn_cli({"validate", "[a,b]"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"run", "[a,b].json"}, folder.path())
            .errors.starts_with("attn-cli: cannot open \"[a,b].json\": "));
}
