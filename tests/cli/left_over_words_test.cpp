#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Words that are left over after a flag, and words that name no input by themselves.

namespace {

const std::string one_document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string model_of_speeches = std::string(ATTN_DATA) + "/speeches";

std::string answer_of(const std::string& problem, const std::string& where,
                      const std::string& help) {
  return "attn-cli: " + problem + "\n  where: " + where + "\n  help:  " + help + "\n";
}

}  // namespace

TEST_CASE("a word after a flag that has its value is named with that flag") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  const auto left = [&](std::vector<std::string> words, const std::string& flag,
                        const std::string& word, const std::string& help) {
    CAPTURE(word);
    CHECK(refused_with(2, words, folder.path()) ==
          answer_of(flag + " takes one value: \"" + word + "\" is left over",
                    "attn-cli " + words[0], help));
  };
  left({"plot", "comparison", "w.json", "w.json", "--titles", "A", "B", "--out", "x.png"},
       "--titles", "B", "write --titles A,B");
  left({"plot", "heatmap", "w.json", "--font", "Comic", "Sans", "MS", "--out", "x.png"}, "--font",
       "Sans", "put it in quotes: --font \"Comic Sans MS\"");
  left({"heads", "w.json", "--sort", "entropy", "desc"}, "--sort", "desc", "leave out \"desc\"");
  left({"show", "w.json", "--slice", "0", "1"}, "--slice", "1", "write --slice 0,1");
  left({"run", "--model", "M", "--text=My", "fellow"}, "--text", "fellow",
       "put it in quotes: --text \"My fellow\"");
  left({"run", "--model", "M", "--text", "a cat", "a dog"}, "--text", "a dog",
       "write --text \"a cat\" --text \"a dog\"");
  left({"run", "--model", "M", "--text", "“My", "fellow”"}, "--text", "fellow”",
       "put it in quotes: --text \"My fellow\"");
  left({"explain", "--model", "M", "--text", "hi", "--logit", " a", " b"}, "--logit", " b",
       "write --logit \" a\" --against-logit \" b\"");
  // A text without its flag is no part of the value before it.
  CHECK(refused_with(2, {"run", "--model", "M", "--layers", "2", "hi there"}, folder.path()) ==
        answer_of("there is no document \"hi there\"", "attn-cli run",
                  "give a text with --text \"hi there\""));
}

TEST_CASE("a switch with a word that means off is left out itself") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  const auto left = [&](std::vector<std::string> words, const std::string& flag,
                        const std::string& word, const std::string& help) {
    CHECK(refused_with(2, words, folder.path()) ==
          answer_of(flag + " takes no value: \"" + word + "\" is left over", "attn-cli " + words[0],
                    help));
  };
  left({"run", "d.json", "--causal", "false"}, "--causal", "false",
       "leave out --causal, and \"causal\" in the document's \"mask\"");
  left({"run", "d.json", "--causal", "0"}, "--causal", "0",
       "leave out --causal, and \"causal\" in the document's \"mask\"");
  left({"plot", "heatmap", "d.json", "--renormalize", "no"}, "--renormalize", "no",
       "leave out --renormalize");
  left({"explain", "d.json", "-q", "1"}, "-q", "1", "write --query 1");
  left({"plot", "heatmap", "d.json", "--caption", "Fig. 1", "--out", "x.png"}, "--caption",
       "Fig. 1", "write --title \"Fig. 1\"");
}

TEST_CASE("dashes, curly quotes and names that begin with a hyphen are told") {
  const TemporaryFolder folder;
  folder.write("-x.json", one_document);
  CHECK(
      refused_with(2, {"run", "--model", "M", "–text", "My"}, folder.path()) ==
      answer_of("\"–text\" begins with a dash, not with a hyphen", "attn-cli run", "write --text"));
  CHECK(
      refused_with(2, {"plot", "heatmap", "x", "—out", "x.png"}, folder.path()) ==
      answer_of("\"—out\" begins with a dash, not with a hyphen", "attn-cli plot", "write --out"));
  CHECK(refused_with(2, {"run", "-x.json"}, folder.path()) ==
        answer_of("unknown flag \"-x.json\"", "attn-cli run", "name the file as ./-x.json"));
  const Outcome curly = attn_cli(
      {"run", "--model", model_of_speeches, "--text", "“Hi”", "--plots", "none", "--out", "r"},
      folder.path());
  CHECK(curly.exit_code == 0);
  CHECK(curly.errors ==
        "attn-cli: warning: quotes such as “ stay in the text, as shells know only \" and ': write "
        "--text \"Hi\"\n");
}

TEST_CASE("a word that names no input by itself gets what names it") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  folder.write("d.json.gz", "\x1f\x8b");
  folder.write("list.txt", "d.json\n");
  folder.write("texts.txt", "The peace\n");
  folder.write("page.html", "<html>");
  folder.write("w.npz", "");
  std::filesystem::create_directory(folder / "done");
  folder.write("done/summary.jsonl", "");
  const auto refused = [&](const std::vector<std::string>& words) {
    return refused_with(2, words, folder.path());
  };
  CHECK(refused({"batch", "@list.txt"}) == answer_of("there is no file \"@list.txt\"",
                                                     "attn-cli batch",
                                                     "write --files-from list.txt"));
  CHECK(refused({"batch", "list.txt"}) == answer_of("\"list.txt\" has names of files",
                                                    "attn-cli batch",
                                                    "write --files-from list.txt"));
  CHECK(refused({"batch", "texts.txt"}) == answer_of("\"texts.txt\" has texts, which a model reads",
                                                     "attn-cli batch",
                                                     "name the model with --model DIR"));
  CHECK(refused({"batch", "d.json.gz"}) ==
        answer_of("\"d.json.gz\" is compressed", "attn-cli batch",
                  "write gunzip -c d.json.gz | attn-cli batch -"));
  CHECK(refused({"batch", "{a,b}.json"}) ==
        answer_of("there is no file \"{a,b}.json\"", "attn-cli batch",
                  "write it without quotes, so that the shell opens the braces"));
  CHECK(refused({"batch", "merge", "done"}) == answer_of("there is no document \"merge\"",
                                                         "attn-cli batch",
                                                         "write attn-cli batch --merge done"));
  CHECK(refused({"batch", "--resume", "done"}) ==
        answer_of("\"done\" has the results of a batch, not its documents", "attn-cli batch",
                  "write attn-cli batch INPUT… --resume --out done"));
  CHECK(refused({"show", "w.npz:attn"}) ==
        answer_of("there is no file \"w.npz:attn\"", "attn-cli show", "write w.npz --name attn"));
  CHECK(refused({"show", "w.npz[0,1]"}) ==
        answer_of("there is no file \"w.npz[0,1]\"", "attn-cli show", "write w.npz --slice 0,1"));
  CHECK(refused({"view", "page.html"}) ==
        answer_of("\"page.html\" is a page already", "attn-cli view", "open it with a browser"));
  CHECK(refused({"tokens", model_of_speeches, "--text", "hi"}) ==
        answer_of("\"" + model_of_speeches + "\" is a folder", "attn-cli tokens",
                  "write attn-cli tokens --model " + model_of_speeches + " --text TEXT"));
  CHECK(refused({"schema", "d.json"}) == answer_of("unexpected argument \"d.json\"",
                                                   "attn-cli schema",
                                                   "write attn-cli validate d.json"));
  CHECK(refused({"plot", "heads", "heads.csv", "--out", "x.png"}) ==
        answer_of("heads is not a kind of picture", "attn-cli plot",
                  "write attn-cli heads INPUT --plots heads"));
  CHECK(refused({"-q", "validate"}) == answer_of("unknown flag \"-q\"", "attn-cli",
                                                 "write the command first: attn-cli validate -q"));
  CHECK(refused({"merge", "done"}) ==
        "attn-cli: unknown command \"merge\"\n  help:  write attn-cli batch --merge DIR\n");
  CHECK(attn_cli({"batch", "help"}).output == attn_cli({"batch", "--help"}).output);
  CHECK(attn_cli({"compare", "done", "done"}, folder.path()).errors ==
        answer_of("\"done\" has the results of a batch", "attn-cli compare",
                  "name one of them, such as done/NAME"));
}

TEST_CASE("standard input that is not one document per line is refused at once") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& input) {
    const Outcome outcome = attn_cli({"batch", "-", "--plots", "none"}, folder.path(), input);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.output == "");
    return outcome.errors;
  };
  const std::string several =
      answer_of("standard input has a document of several lines", "standard input:1",
                "pass one document per line: jq -c . | attn-cli batch -");
  CHECK(told("{\n  \"attention\": \"sdpa\"\n}\n") == several);
  CHECK(told("{\"attention\": \"sdpa\",\n \"query\": [[1]]}\n") == several);
  CHECK(told("[" + one_document + "]\n") ==
        answer_of("standard input has a list, not one document per line", "standard input:1",
                  "pass its elements: jq -c '.[]' | attn-cli batch -"));
}

TEST_CASE("axes may be plurals with spaces between") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[[1,0],[0.5,0.5]]]]})");
  const Outcome named = attn_cli({"show", "w.json", "--axes", "batch,head"}, folder.path());
  CHECK(named.exit_code == 0);
  CHECK(attn_cli({"show", "w.json", "--axes", "batches, heads"}, folder.path()).output ==
        named.output);
}

TEST_CASE("a report in place of a result is called so, in words and in JSON") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  for (const char* json : {"", " --json"}) {
    const Outcome outcome = shell(std::string("\"$ATTN\" run d.json --plots none --out r") + json +
                                      " | \"$ATTN\" show -; exit $?",
                                  folder.path());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.errors.starts_with("attn-cli: this is a report, not a result\n"));
    CHECK(outcome.errors.ends_with(
        "\n  help:  pass on the result: attn-cli run … --out - | attn-cli show -\n"));
  }
}

TEST_CASE("a folder that is missing among many inputs is not taken for a flag's value") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  CHECK(attn_cli({"batch", "d.json", "--plots", "none", "--out", "b", "more"}, folder.path())
            .errors.find("attn-cli: more: cannot open \"more\": No such file or directory\n") !=
        std::string::npos);
}

TEST_CASE("a word that is no file is called what it may be") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  const auto no_file = [&](std::vector<std::string> words, const std::string& word,
                           const std::string& where, const std::string& help) {
    CAPTURE(word);
    CHECK(refused_with(2, words, folder.path()) ==
          answer_of("there is no file \"" + word + "\"", where, help));
  };
  no_file({"run", "multi_head"}, "multi_head", "attn-cli run",
          "write attn-cli example multi_head | attn-cli run -");
  no_file({"run", "“d.json”"}, "“d.json”", "attn-cli run", "write d.json");
  no_file({"run", "The cat sat"}, "The cat sat", "attn-cli run",
          "give a text with --model DIR --text \"The cat sat\"");
  no_file({"show", "w.json", "output"}, "output", "attn-cli show", "write --name output");
  no_file({"plot", "heatmap", "grid", "w.json", "--out", "x.png"}, "grid", "attn-cli plot heatmap",
          "draw one kind at a time: attn-cli plot grid …");
  no_file({"plot", "heatmap", "*.npy", "--out", "x.png"}, "*.npy", "attn-cli plot heatmap",
          "write it without quotes: the shell opens patterns");
}

TEST_CASE("a backslash within a line and dashes after a value are named") {
  const TemporaryFolder folder;
  folder.write("d.json", one_document);
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  CHECK(refused_with(2, {"run", "d.json", " --plots", "none"}, folder.path()) ==
        answer_of("\" --plots\" is a word of its own", "attn-cli run",
                  "let each backslash be the last character of its line, and leave it out within "
                  "one"));
  CHECK(refused_with(2, {"plot", "heatmap", "w.json", "--out", "x.png", "—dpi", "100"},
                     folder.path()) == answer_of("\"—dpi\" begins with a dash, not with a hyphen",
                                                 "attn-cli plot", "write --dpi"));
  CHECK(refused_with(2, {"plot", "heatmap", "w.json", "--color-range", "0", "1"}, folder.path()) ==
        answer_of("--color-range takes one value: \"1\" is left over", "attn-cli plot",
                  "write --color-range 0,1"));
  CHECK(refused_with(2, {"plot", "heatmap", "w.json", "--norm", "power", "0.5"}, folder.path()) ==
        answer_of("--norm takes one value: \"0.5\" is left over", "attn-cli plot",
                  "write --norm power:0.5"));
}
