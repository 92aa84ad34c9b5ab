#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Files, names and numbers as other programs take them, and the command that is written here.

namespace {

const std::string own_model = std::string(ATTN_DATA) + "/speeches";

std::string file_answer(const std::string& problem, const std::string& where,
                        const std::string& help) {
  return "attn-cli: " + problem + "\n  where: " + where + "\n  help:  " + help + "\n";
}

}  // namespace

TEST_CASE("an array of texts or documents gets the command that writes one on each line") {
  const TemporaryFolder folder;
  folder.write("texts.json", "[\"The peace\", \"The war\"]");
  CHECK(refused_with(2, {"heads", "--model", own_model, "--corpus", "texts.json", "--out", "h"},
                     folder.path()) ==
        file_answer(
            "the corpus is one array, not a text on each line", "--corpus",
            "a file of several has one on each line: write jq -c '.[] | {text: .}' texts.json "
            "> texts.jsonl"));
  folder.write("none.txt", "\n \n");
  CHECK(refused_with(2, {"heads", "--model", own_model, "--corpus", "none.txt", "--out", "h"},
                     folder.path()) ==
        file_answer("\"none.txt\" has no text", "--corpus",
                    "write a text on each line of a .txt file, or a document on each line of a "
                    ".jsonl file"));
  const std::string endings =
      "documents end in .json, files with one document per line in .jsonl, files with one text per "
      "line in .txt";
  CHECK(refused_with(4, {"batch", "--model", own_model, "none.txt", "--out", "b"}, folder.path()) ==
        file_answer("\"none.txt\" has no text", "attn-cli batch", endings));
  folder.write("none.jsonl", "\n");
  CHECK(refused_with(4, {"batch", "none.jsonl", "--out", "b"}, folder.path()) ==
        file_answer("\"none.jsonl\" has no document", "attn-cli batch", endings));
  CHECK(refused_with(4, {"validate", "none.jsonl"}, folder.path()) ==
        file_answer("\"none.jsonl\" has no document", "attn-cli validate", endings));
  folder.write("texts.txt", "The peace\nThe war\n");
  CHECK(
      refused_with(2,
                   {"heads", "--model", own_model, "--corpus", "texts.txt", "--sweep", "heads",
                    "--out", "h"},
                   folder.path()) ==
      file_answer("lines of a .txt file have no text to patch parts from", "--corpus",
                  "give a .jsonl file with {\"text\": …, \"patch\": {\"text\": …}} on each line"));
  folder.write("d.json", "[{\"attention\": \"softmax\", \"scores\": [[1, 2]]}]");
  CHECK(refused_with(3, {"run", "d.json"}, folder.path()) ==
        file_answer("an input document is an object, but this is an array", "d.json",
                    "a file of several has one on each line: write jq -c '.[]' d.json > d.jsonl"));
  folder.write("a.jsonl",
               "[\n{\"attention\":\"softmax\",\"scores\":[[1,2]]},\n"
               "{\"attention\":\"softmax\",\"scores\":[[2,1]]}\n]\n");
  const Outcome batch =
      attn_cli({"batch", "a.jsonl", "--plots", "none", "--out", "b"}, folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: a: the file is one array, not a document on each line\n"
        "  where: a.jsonl\n  help:  a file of several has one on each line: write "
        "jq -c '.[]' a.jsonl > a.lines.jsonl\n");
}

TEST_CASE("documents over several lines of a .jsonl file are told as a whole") {
  const TemporaryFolder folder;
  const std::string problem = "the file has a document over several lines, not one on each",
                    help =
                        "write jq -c . p.jsonl > p.lines.jsonl; a file of one document ends in "
                        ".json";
  const std::vector<std::string> words{"batch", "p.jsonl", "--plots", "none", "--out", "b"};
  for (const char* const text : {"\n{\n  \"attention\": \"softmax\",\n  \"scores\": [[1, 2]]\n}\n",
                                 "{\"attention\": \"softmax\",\n \"scores\": [[1, 2]]}\n"
                                 "{\"attention\": \"softmax\",\n \"scores\": [[1, 2]]}\n",
                                 "{\"attention\": \"softmax\", \"scores\": [\n[1, 2]]}"}) {
    CAPTURE(text);
    folder.write("p.jsonl", text);
    const Outcome batch = attn_cli(words, folder.path());
    CHECK(batch.exit_code == 1);
    CHECK(batch.errors.starts_with("attn-cli: p: " + problem +
                                   "\n  where: p.jsonl\n  help:  " + help + "\n"));
    CHECK(refused_with(2, {"heads", "--model", own_model, "--corpus", "p.jsonl", "--out", "h"},
                       folder.path()) == file_answer(problem, "--corpus", help));
  }
  // A line that is cut off fails alone.
  folder.write(
      "p.jsonl",
      "{\"attention\": \"softmax\",\n{\"attention\": \"softmax\", \"scores\": [[1, 2]]}\n");
  const Outcome batch = attn_cli(words, folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors.find(problem) == std::string::npos);
  CHECK(std::filesystem::exists(folder / "b/p.000002/result.json"));
}

TEST_CASE("a name of a list that is not there fails at its line, with the one that is meant") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "l");
  folder.write("l/d.json", R"({"attention":"softmax","scores":[[1,2]]})");
  folder.write("l/list", "\nd.json\nnowhere.json\n");
  const Outcome batch =
      attn_cli({"batch", "--files-from", "l/list", "--plots", "none", "--out", "b", "--jobs", "1"},
               folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: d: cannot open \"d.json\": No such file or directory\n"
        "  where: l/list:2\n"
        "  help:  names are relative to the current folder: write l/d.json\n"
        "attn-cli: nowhere: cannot open \"nowhere.json\": No such file or directory\n"
        "  where: l/list:3\n"
        "  help:  check the name: names are relative to the current folder\n");
  CHECK(refused_with(2, {"batch", "-0", "--files-from", "l/list"}, folder.path()) ==
        file_answer("unknown flag \"-0\"", "attn-cli batch",
                    "leave it out: a list of --files-from whose names end in zero bytes is "
                    "recognised"));
}

TEST_CASE("a page takes words of tokens and pairs of sentences by flags of its own") {
  const TemporaryFolder folder;
  folder.write("m.json", R"({"weights":[[0.5,0.5]]})");
  folder.write("tokens.txt", "The\npeace\n");
  CHECK(refused_with(2, {"view", "m.json", "tokens.txt"}, folder.path()) ==
        file_answer("\"tokens.txt\" is a text, not a file of maps", "attn-cli view",
                    "for names of tokens, one on each line, write --labels tokens.txt"));
  CHECK(refused_with(2, {"view", "m.json", "--sentence-b-start", "6"}, folder.path()) ==
        file_answer("unknown flag \"--sentence-b-start\"", "attn-cli view",
                    "write --text FIRST --pair SECOND for two sentences of a model"));
}

TEST_CASE("parts and analyses in the words of TransformerLens get those of heads") {
  const auto refused = [](const std::string& flag, const std::string& value) {
    return refused_with(2, {"heads", "--model", own_model, "--text", "The peace", "--patch",
                            "The war", flag, value});
  };
  CHECK(refused("--sweep", "resid_pre,attn_out,mlp_out") ==
        file_answer("invalid value \"resid_pre,attn_out,mlp_out\" for --sweep", "--sweep",
                    "write --sweep before,attention,feed_forward"));
  CHECK(refused("--sweep", "heads,resid_pre") ==
        file_answer("invalid value \"resid_pre\" for --sweep", "--sweep",
                    "did you mean \"before\"?"));
  CHECK(refused("--analyses", "direct_logit_attribution") ==
        file_answer(
            "invalid value \"direct_logit_attribution\" for --analyses", "--analyses",
            "write attn-cli explain --model M --text TEXT --logit TOKEN, or --logit TOKEN with "
            "a corpus"));
}

TEST_CASE("positions from the end get the command that numbers a text's tokens") {
  for (const std::string flag : {"--query", "--key"}) {
    CHECK(refused_with(2, {"run", "--model", own_model, "--text", "The peace", "--why", "2.0", flag,
                           "-1"}) ==
          file_answer(
              flag + " counts from 0: -1 is below", flag,
              "give its number from 0; attn-cli tokens --model M --text TEXT shows those of a "
              "text"));
  }
}

TEST_CASE("lines of a corpus in other keys are told the key to write") {
  const TemporaryFolder folder;
  const auto warned = [&](const std::string& line) {
    folder.write("c.jsonl", line + "\n");
    const Outcome outcome = attn_cli(
        {"heads", "--model", own_model, "--corpus", "c.jsonl", "--out", "h"}, folder.path());
    return outcome.errors;
  };
  CHECK(warned(R"({"prompt":"The peace"})") ==
        "attn-cli: warning: line 1 is left out: \"prompt\" goes with \"text\", which is "
        "missing (at /prompt); write \"text\" instead of it\n");
  CHECK(warned(R"({"text":"The peace","logit":" of","wrong":" and"})") ==
        "attn-cli: warning: line 1 is left out: unknown key \"wrong\" (at /wrong); "
        "write \"against_logit\", the token\n");
}

TEST_CASE("a layer and a head for a layer get both flags") {
  CHECK(refused_with(2, {"explain", "--model", own_model, "--text", "The peace", "--layers", "2.0",
                         "--query", "3"}) ==
        file_answer("\"2.0\" is a layer and a head, not a layer", "--layers",
                    "write --layers 2 --head 0"));
}

TEST_CASE("texts of the induction test that are too long get the longest that fits") {
  const Outcome heads =
      attn_cli({"heads", "--model", own_model, "--text", "The peace", "--analyses", "induction",
                "--induction-samples", "1", "--induction-length", "128"});
  CHECK(heads.exit_code == 0);
  CHECK(heads.errors ==
        "attn-cli: warning: --induction-length 128 makes texts of 257 tokens, and the model was "
        "made for 256: write --induction-length 127 at most\n");
}
