#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/version.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

struct Slip {
  std::vector<std::string> words;
  std::string answer;
  int exit_code = 2;
};

void check(const std::vector<Slip>& slips) {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("my doc.json", document);
  for (const Slip& slip : slips) {
    CAPTURE(slip.words.back());
    const Outcome outcome = attn_cli(slip.words, folder.path());
    CHECK(outcome.exit_code == slip.exit_code);
    CHECK(outcome.errors == "attn-cli: " + slip.answer + "\n");
  }
}

}  // namespace

TEST_CASE("help, version and short flags do what is meant, and a file alone is computed") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  CHECK(attn_cli({"help"}).output == attn_cli({"--help"}).output);
  CHECK(attn_cli({"help", "run"}).output == attn_cli({"run", "--help"}).output);
  CHECK(attn_cli({"version"}).output == attn_cli({"--version"}).output);
  CHECK(attn_cli({"-V"}).output == attn_cli({"--version"}).output);
  const Outcome json = attn_cli({"--version", "--json"});
  CHECK(json.exit_code == 0);
  CHECK(json.output.starts_with("{\n  \"version\": \"" ATTN_VERSION "\",\n  \"cpu_target\": \""));
  CHECK(json.output.find("\n    \"cairo\": \"1.") != std::string::npos);
  CHECK(attn_cli({"-V", "--json"}).output == json.output);
  const Outcome alone = attn_cli({"d.json", "-o", "r", "-q", "--plots", "none"}, folder.path());
  CHECK(alone.exit_code == 0);
  CHECK(alone.output.empty());
  CHECK(std::filesystem::exists(folder / "r" / "result.json"));
  CHECK(attn_cli({"-", "--out", "-", "--only", "output"}, folder.path(), document).exit_code == 0);
}

TEST_CASE("flags of other programs get the flag or command that is meant") {
  const std::string run = "\n  where: attn-cli run\n  help:  ";
  check({
      {{"run", "d.json", "--output", "x"},
       "unknown flag \"--output\"" + run + "did you mean \"--out\"?"},
      {{"run", "d.json", "--mask", "causal"},
       "unknown flag \"--mask\"" + run + "did you mean \"--causal\"?"},
      {{"run", "d.json", "--dry-run"},
       "unknown flag \"--dry-run\"" + run +
           "attn-cli validate checks a document without computing it"},
      {{"run", "d.json", "--verbose"},
       "unknown flag \"--verbose\"" + run +
           "--stages writes the steps of the score, and attn-cli explain shows every number of "
           "one query"},
      {{"run", "d.json", "--sort"}, "unknown flag \"--sort\"" + run + "see attn-cli run --help"},
      {{"run", "d.json", "--pl", "none"},
       "unknown flag \"--pl\"" + run + "did you mean \"--plots\"?"},
      {{"run", "d.json", "-out", "x"}, "unknown flag \"-out\"" + run + "did you mean \"--out\"?"},
      {{"run", "d.json", "--no-causal"},
       "unknown flag \"--no-causal\"" + run + "leave out --causal"},
      {{"draw", "heatmap"}, "unknown command \"draw\"\n  help:  did you mean \"plot\"?"},
      {{"attention"}, "unknown command \"attention\"\n  help:  did you mean \"run\"?"},
  });
}

TEST_CASE("values that are left over, missing or of another name get their cure") {
  const std::string run = "\n  where: attn-cli run\n  help:  ";
  check({
      {{"run", "d.json", "--valid-lens", "3", "5"},
       "--valid-lens takes one value: \"5\" is left over" + run + "write --valid-lens 3,5"},
      {{"run", "d.json", "--plots", "heatmap", "dimensions"},
       "--plots takes one value: \"dimensions\" is left over" + run +
           "write --plots heatmap,dimensions"},
      {{"run", "d.json", "--figsize", "8", "6"},
       "--figsize takes one value: \"6\" is left over" + run + "write --figsize 8x6"},
      {{"run", "--text", "My", "fellow", "citizens"},
       "--text takes one value: \"fellow\" is left over" + run +
           "put it in quotes: --text \"My fellow citizens\""},
      {{"run", "d.json", "--causal", "true"},
       "--causal takes no value: \"true\" is left over" + run + "leave out \"true\""},
      {{"run", "my", "doc.json"},
       "more than one input document given: \"doc.json\" is the second" + run +
           "put it in quotes: \"my doc.json\""},
      {{"run", "--text"}, "--text needs a value" + run + "write --text TEXT"},
      {{"run", "d.json", "--out", "--causal"}, "--out needs a value" + run + "write --out DIR"},
      {{"run", "--text", "hello"},
       "--text is given without --model" + run +
           "name the checkpoint folder that reads it with --model"},
      {{"run", "--model", "M"},
       "there is neither a text nor a document for the model" + run +
           "give a text with --text, or name a document"},
      {{"run", "d.json", "--dtype", "fp16"},
       "invalid value \"fp16\" for --dtype\n  where: --dtype\n  help:  did you mean \"float16\"?"},
      {{"run", "d.json", "--dtype", "double"},
       "invalid value \"double\" for --dtype\n  where: --dtype\n  help:  did you mean "
       "\"float64\"?"},
      {{"run", "d.json", "--format", "jpg"},
       "invalid value \"jpg\" for --format\n  where: --format\n  help:  known: png, svg, pdf"},
      {{"run", "d.json", "--lang", "cn"},
       "invalid value \"cn\" for --lang\n  where: --lang\n  help:  did you mean \"zh\"?"},
  });
}

TEST_CASE("files in the wrong place or of nearly the right name get their cure") {
  check({
      {{"run", "d.jsn"},
       "cannot open \"d.jsn\": No such file or directory\n  help:  did you mean \"d.json\"?",
       4},
      {{"run", "d.json", "--out", "d.json"},
       "\"d.json\" is a file, not a folder\n  where: --out\n  help:  name another folder for the "
       "results",
       4},
      {{"run", document},
       "a document is given in place of its file\n  where: attn-cli run\n  help:  pass it on "
       "standard input to attn-cli run -"},
      {{"plot", "r/result.json", "heatmap"},
       "the kind of picture comes first\n  where: attn-cli plot\n  help:  write attn-cli plot "
       "heatmap r/result.json --out PICTURE"},
  });
}
