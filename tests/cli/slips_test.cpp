#include <filesystem>
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
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
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
      {{"run", "d.json", "--output", "x"}, "unknown flag \"--output\"" + run + "write --out"},
      {{"run", "d.json", "--mask", "causal"},
       "unknown flag \"--mask\"" + run +
           "write --causal, --where or --valid-lens; a document has its own in \"mask\""},
      {{"run", "d.json", "--dry-run"},
       "unknown flag \"--dry-run\"" + run +
           "attn-cli validate checks a document without computing it"},
      {{"run", "d.json", "--verbose"},
       "unknown flag \"--verbose\"" + run +
           "--stages writes the steps of the score, and attn-cli explain shows every number of "
           "one query"},
      {{"run", "d.json", "--sort"},
       "unknown flag \"--sort\"" + run +
           "attn-cli run takes no --sort: it belongs to attn-cli heads"},
      {{"run", "d.json", "--pl", "none"},
       "unknown flag \"--pl\"" + run + "did you mean \"--plots\"?"},
      {{"run", "d.json", "-out", "x"}, "unknown flag \"-out\"" + run + "did you mean \"--out\"?"},
      {{"run", "d.json", "--no-causal"},
       "unknown flag \"--no-causal\"" + run +
           "leave out --causal, and \"causal\" in the document's \"mask\""},
      {{"run", "d.json", "--plot", "mask"},
       "unknown flag \"--plot\"" + run +
           "did you mean \"--plots\"? --plot belongs to attn-cli compare"},
      {{"run", "--model", "m", "We", "the"},
       "there is no document \"We\"" + run + "give a text with --text \"We the\""},
      {{"view", "d.json", "--out", "x.pdf"},
       "the page is HTML, not pdf\n  where: --out\n  help:  name a file that ends in .html; "
       "attn-cli plot draws pictures"},
      {{"heatmap", "mine"},
       "unknown command \"heatmap\"\n  help:  write attn-cli plot heatmap FILE --out heatmap.png"},
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
      {{"run", "d.json", "--causal=false"},
       "--causal takes no value: \"false\" is left over" + run + "write --causal, or leave it out"},
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
      {{"run", "d"},
       "cannot open \"d\": No such file or directory\n  help:  did you mean \"d.json\"?",
       4},
      {{"run", ""},
       "the name of a file is empty\n  help:  name a file, or - for standard input",
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

TEST_CASE("lists and sizes with other separators get the spelling that is meant") {
  const auto where = [](const std::string& flag) {
    return "\n  where: " + flag + "\n  help:  write " + flag + " ";
  };
  check({
      {{"run", "d.json", "--valid-lens", "3;5"},
       "invalid value \"3;5\" for --valid-lens" + where("--valid-lens") + "3,5"},
      {{"run", "d.json", "--plots", "heatmap grid"},
       "invalid value \"heatmap grid\" for --plots" + where("--plots") + "heatmap,grid"},
      {{"run", "d.json", "--plots", "heatmap,"},
       "invalid value \"heatmap,\" for --plots" + where("--plots") + "heatmap"},
      {{"run", "d.json", "--plots", "heatmap，grid"},
       "invalid value \"heatmap，grid\" for --plots" + where("--plots") + "heatmap,grid"},
      {{"run", "d.json", "--figsize", "8*6"},
       "invalid value \"8*6\" for --figsize" + where("--figsize") + "8x6"},
      {{"run", "d.json", "--figsize", "8 6"},
       "invalid value \"8 6\" for --figsize" + where("--figsize") + "8x6"},
      {{"run", "d.json", "--scale", "1/8"},
       "invalid value \"1/8\" for --scale\n  where: --scale\n  help:  give a finite number, such "
       "as 0.125"},
      {{"run", "d.json", "--dpi", "300dpi"},
       "invalid value \"300dpi\" for --dpi\n  where: --dpi\n  help:  give a number from 1 to "
       "10000, such as 300"},
  });
}

TEST_CASE("flags in the wrong place or form get their cure") {
  const std::string run = "\n  where: attn-cli run\n  help:  ";
  check({
      {{"run", "d.json", "--out", "=", "r"},
       "\"=\" is separated from its flag" + run + "write --out=r"},
      {{"run", "d.json", "--out="}, "--out needs a value" + run + "write --out DIR"},
      {{"run", "d.json", "--timing", "5"},
       "--timing takes no value: \"5\" is left over" + run + "leave out \"5\""},
      {{"run", "--input", "d.json"},
       "unknown flag \"--input\"" + run +
           "name the file without a flag before it; a text goes to --text"},
      {{"run", "d.json", "--heatmap"},
       "unknown flag \"--heatmap\"" + run + "write --plots heatmap"},
      {{"run", "d.json", "--device", "cuda"},
       "unknown flag \"--device\"" + run + "leave it out: attention is computed on the CPU"},
      {{"run", "d.json", "--window", "2"},
       "unknown flag \"--window\"" + run +
           "write --where \"i - j <= 3 && j <= i\", or \"mask\": {\"window\": {\"left\": 3, "
           "\"right\": "
           "0}} into the document"},
      {{"run", "d.json", "--labels", "x"},
       "unknown flag \"--labels\"" + run +
           "write \"labels\": {\"query\": […], \"key\": […]} into the document"},
      {{"run", "d.json", "--figsize", "800x600"},
       "invalid value \"800x600\" for --figsize\n  where: --figsize\n  help:  give inches, or "
       "lengths in cm or mm; --figsize 8x6 --dpi 100 has at most 800 × 600 pixels"},
      {{"run", "d.json", "--head", "0", "--head", "1"},
       "--head is given twice" + run + "write --head 0,1"},
      {{"run", "d.json", "--annotate"},
       "--annotate needs a value" + run + "write --annotate auto|on|off"},
      {{"run", "d.json", "--dark"}, "unknown flag \"--dark\"" + run + "write --background dark"},
      {{"run", "d.json", "--plots", "curves"},
       "--plots does not draw curves\n  where: --plots\n  help:  draw it of a result: attn-cli "
       "plot "
       "curves RESULT --out curves.png"},
      {{"run", "d.json", "--n-head", "2"},
       "unknown flag \"--n-head\"" + run + "did you mean \"--heads\"?"},
      {{"--causal", "d.json"},
       "unknown flag \"--causal\"\n  where: attn-cli\n  help:  write the command first: attn-cli "
       "run --causal"},
      {{"list", "kinds"},
       "unexpected argument \"kinds\"\n  where: attn-cli list\n  help:  leave it out: one list "
       "has everything; fc-list : family names fonts"},
      {{"completion", "Bash"},
       "unknown shell \"Bash\"\n  where: attn-cli completion\n  help:  did you mean \"bash\"?"},
      {{"run", "d.json", "--cmap", "jet"},
       "invalid value \"jet\" for --cmap\n  where: --cmap\n  help:  there is no jet: write "
       "viridis, "
       "which also goes from least to most"},
      {{"run", "d.json", "--cmap", "Spectral_r"},
       "invalid value \"Spectral_r\" for --cmap\n  where: --cmap\n  help:  there is no Spectral_r: "
       "write coolwarm_r, which also has two sides about its middle"},
      {{"run", "d.json", "--cmap", "tab10"},
       "invalid value \"tab10\" for --cmap\n  where: --cmap\n  help:  there is no tab10, which is "
       "for classes or angles: write viridis"},
      {{"run", "d.json", "--cmap", "Red"},
       "invalid value \"Red\" for --cmap\n  where: --cmap\n  help:  did you mean \"Reds\"?"},
      {{"run", "d.json", "--cmap", "grayscale"},
       "invalid value \"grayscale\" for --cmap\n  where: --cmap\n  help:  did you mean \"Greys\"?"},
      {{"run", "d.json", "--cmap", "sepia"},
       "invalid value \"sepia\" for --cmap\n  where: --cmap\n  help:  attn-cli list shows the "
       "names, such as YlOrRd, YlOrRd_r or Reds"},
      {{"run", "d.json", "--annotate", "yes"},
       "invalid value \"yes\" for --annotate\n  where: --annotate\n  help:  did you mean \"on\"?"},
      {{"run", "d.json", "--attention", "self attention"},
       "unknown kind of attention \"self attention\"\n  where: --attention\n  help:  did you mean "
       "\"self\"?"},
      {{"run", "d.json", "--attention", "MHA"},
       "unknown kind of attention \"MHA\"\n  where: --attention\n  help:  did you mean "
       "\"multi_head\"?"},
      {{"example", "self-attention"},
       "there is no example \"self-attention\"\n  where: attn-cli example\n  help:  did you mean "
       "\"self\"?"},
  });
}

TEST_CASE("errors of what a flag says name the flag, and what is left over says what it does") {
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  check({
      {{"run", "d.json", "--text", "The people"},
       "--text is read by a model, and the document has none\n  where: --text\n  help:  leave it "
       "out, or name the checkpoint folder that reads it with --model"},
      {{"run", "--model", speeches, "--text", "The", "--patch", "A"},
       "the patch names no part of the model\n  where: --patch\n  help:  name it by --at, such as "
       "2.1, 2.feed_forward or 2.residual, or in a document by \"at\": \"2.1\" beside its text",
       3},
      {{"run", "--model", speeches, "--prompt", "The people", "--generate", "3"},
       "--prompt names a prompt of the model's folder, and there is no text\n  where: --prompt\n"
       "  help:  write --text \"The people\""},
      {{"run", "--model", std::string(ATTN_DATA) + "/shapes", "--text", "a ring", "--generate",
        "5"},
       "models of the type clip read pictures and generate no text\n  where: --generate\n  help:  "
       "leave it out, or name a model that writes texts",
       3},
      {{"run", "--model", speeches, "--text", "The", "--causal"},
       "\"mask\" has no meaning for model attention\n  where: --causal\n  help:  leave it out: a "
       "model has its own mask, and shorter texts are padded automatically",
       3},
      {{"run", "--model", speeches, "--ids", "5,8", "--pair", "The"},
       "--pair is given without --text\n  where: --pair\n  help:  give the first text of the pair "
       "with --text; the ids of a pair are one list of --ids"},
      {{"run", "--model", speeches, "--text", "The", "--pair", "a", "--pair", "b"},
       "more texts are given with --pair than with --text\n  where: --pair\n  help:  give the "
       "first text of each pair with --text"},
      {{"run", "d.json", "--plots", "none,heatmap"},
       "\"none\" excludes all other pictures\n  where: --plots\n  help:  leave out either none or "
       "the others"},
      {{"run", "d.json", "--quiet", "my text"},
       "--quiet takes no value: \"my text\" is left over\n  where: attn-cli run\n  help:  leave "
       "out \"my text\"; --quiet: Print errors and what is asked for, but no warnings or "
       "reports"},
      {{"show", "w.json", "--head", "-1"},
       "--head counts from 0: -1 is below\n  where: --head\n  help:  give its number from 0"},
      {{"explain", "d.json", "--sample", "-1"},
       "--sample counts from 0: -1 is below\n  where: --sample\n  help:  give its number from 0"},
  });
}

TEST_CASE("what is not a document is called what it is, in a batch too") {
  const TemporaryFolder folder;
  folder.write("t.csv", "a,b\n1,2\n");
  folder.write("notes.txt", "The people of the state.\n");
  std::filesystem::create_directory(folder / "m");
  folder.write("m/config.json", R"({"model_type":"llama"})");
  const auto errors = [&](const std::vector<std::string>& words) {
    return attn_cli(words, folder.path()).errors;
  };
  CHECK(errors({"run", "t.csv"}) ==
        "attn-cli: this is a table of numbers, not an input document\n  where: t.csv\n"
        "  help:  name it in a document: \"query\": {\"file\": \"t.csv\"}; attn-cli plot, show and "
        "view draw maps that exist\n");
  folder.write("m.onnx", "\b\x07");
  CHECK(errors({"run", "m.onnx"}) ==
        "attn-cli: this is an ONNX model, which is not computed\n  where: m.onnx\n"
        "  help:  describe its attention in a document, which reads initializers: \"query\": "
        "{\"file\": \"m.onnx\", \"name\": …}\n");
  folder.write("q.bin", std::string(8, '\0'));
  CHECK(errors({"run", "q.bin"}) ==
        "attn-cli: these are numbers without shape and type, not an input document\n"
        "  where: q.bin\n  help:  save them as .npy: numpy.save(\"q.npy\", "
        "numpy.fromfile(\"q.bin\", numpy.float32).reshape(…))\n");
  CHECK(errors({"convert", "q.pt", "q.npz"}) ==
        "attn-cli: unknown command \"convert\"\n  help:  files are not converted: documents and "
        "compare read each format, and --tensors chooses that of results\n");
  CHECK(errors({"example", "gqa"}) ==
        "attn-cli: there is no example \"gqa\"\n  where: attn-cli example\n"
        "  help:  begin with attn-cli example sdpa, and write \"heads\": …, \"kv_heads\": … into "
        "it\n");
  CHECK(errors({"batch", "notes.txt", "--out", "b"}) ==
        "attn-cli: \"notes.txt\" has texts, which a model reads\n  where: attn-cli batch\n"
        "  help:  name the model with --model DIR\n");
  CHECK(
      errors({"batch", "notes.txt", "m/config.json", "--out", "b"})
          .find("attn-cli: notes.txt: this is plain text, not an input document\n  where: "
                "notes.txt\n  help:  an input document is a JSON object, such as attn-cli example "
                "sdpa prints; a text that a model reads is given with --text\n") !=
      std::string::npos);
  CHECK(errors({"run", "m/config.json"}) ==
        "attn-cli: this is the configuration of a model, not an input document\n"
        "  where: m/config.json\n  help:  give its folder with --model, and a text with --text\n");
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  const std::string weights = speeches + "/model.safetensors";
  CHECK(errors({"run", weights}) ==
        "attn-cli: these are the weights of a model, not an input document\n  where: " + weights +
            "\n  help:  give their folder " + speeches + " with --model, and a text with --text\n");
  CHECK(errors({"plot", "heatmap", weights, "--out", "x.png"}) ==
        "attn-cli: these are the weights of a model, not maps of attention\n  where: " + weights +
            "\n  help:  compute its maps with attn-cli run: its folder " + speeches +
            " with --model, and a text with --text\n");
  CHECK(errors({"heads", "--model", speeches, "--corpus", "m", "--out", "h"}) ==
        "attn-cli: \"m\" is the folder of a model, not a corpus\n  where: --corpus\n"
        "  help:  give it with --model, and a file with one text per line\n");
  CHECK(errors({"heads", "--corpus", "notes.txt", "--out", "h"}) ==
        "attn-cli: there is no model that reads the texts\n  where: --corpus\n"
        "  help:  name its folder with --model; without one a corpus is a .jsonl of documents\n");
  CHECK(
      errors({"heads", "--model", speeches, "--corpus", "notes.txt", "--logit", "nope", "--out",
              "h"}) ==
      "attn-cli: \"nope\" is 3 tokens\n  where: --logit\n"
      "  help:  give one of its tokens, which attn-cli tokens --model M --text \"nope\" shows, or "
      "an id\n");
  // A model's configuration names its folder.
  const Outcome model = attn_cli({"model", speeches + "/config.json"}, folder.path());
  CHECK(model.errors == "");
  CHECK(model.output.find("\n  family      llama\n") != std::string::npos);
}

TEST_CASE("flags of training, sampling and files that a command does not have get their cure") {
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  const auto unknown = [](const std::string& command, const std::string& flag,
                          const std::string& help) {
    return "unknown flag \"" + flag + "\"\n  where: attn-cli " + command + "\n  help:  " + help;
  };
  check({
      {{"run", "d.json", "--precision", "bf16"},
       unknown("run", "--precision",
               "write --dtype TYPE, such as float64, to compute with; attn-cli explain --digits N "
               "shows more digits")},
      {{"run", "d.json", "--batch-size", "4"},
       unknown("run", "--batch-size", "leave it out: all samples are computed together")},
      {{"run", "d.json", "--temperature", "0.7"},
       unknown("run", "--temperature",
               "write --score \"s / 0.7\" for a softmax at a temperature; of tokens that are "
               "generated the likeliest is taken")},
      {{"run", "d.json", "-j", "4"}, unknown("run", "-j", "write --threads N")},
      {{"batch", "d.json", "-j", "4"}, unknown("batch", "-j", "write --jobs N")},
      {{"show", "d.json", "--out", "x.png"},
       unknown("show", "--out", "write attn-cli plot heatmap FILE --out PICTURE")},
      {{"explain", "d.json", "--out", "x.md"},
       unknown("explain", "--out",
               "it prints to standard output: write attn-cli explain … > FILE")},
      {{"list", "--kinds"},
       unknown("list", "--kinds", "attn-cli list takes --json, --quiet, --no-color, --lang")},
      {{"help", "heatmap"},
       "unknown command \"heatmap\"\n  help:  write attn-cli plot heatmap FILE --out heatmap.png"},
      {{"tokens", "--model", speeches, "The people"},
       "unexpected argument \"The people\"\n  where: attn-cli tokens\n  help:  give a text with "
       "--text \"The people\""},
      {{"run", "d.json", "--no-weight"},
       unknown("run", "--no-weight", "did you mean \"--no-weights\"?")},
      {{"run", "d.json", "--pdf"}, unknown("run", "--pdf", "write --format pdf")},
      {{"run", "--model", std::string(ATTN_DATA) + "/shapes", "--image", "no.png"},
       "cannot open \"no.png\": No such file or directory\n  where: --image\n  help:  check the "
       "name, and the folder it is looked for in",
       4},
      {{"view", "--model", speeches},
       "the document has nothing for the model to read\n  where: " + speeches +
           ", /text\n  help:  give \"text\" or \"token_ids\", or --text",
       3},
      {{"bench", "--score", "s +"},
       "expected a value, found the end\n    s +\n       ^\n  where: --score\n  help:  give a "
       "number, a name, a function or an expression in parentheses",
       3},
      {{"run", "d.json", "--compare", "r"},
       unknown("run", "--compare", "it is a command: see attn-cli compare --help")},
      {{"run", "d.json", "--scale", "0,5"},
       "invalid value \"0,5\" for --scale\n  where: --scale\n  help:  write --scale 0.5"},
      {{"run", "d.json", "--max-seconds", "5s"},
       "invalid value \"5s\" for --max-seconds\n  where: --max-seconds\n  help:  write "
       "--max-seconds 5"},
      {{"run", "d.json", "--restrict", "nodir"},
       "there is no folder \"nodir\"\n  where: --restrict\n  help:  name the folder of the "
       "documents' files",
       4},
      {{"run", "d.json", "--words", "no.txt"},
       "cannot open \"no.txt\": No such file or directory\n  where: --words\n  help:  check the "
       "name, and the folder it is looked for in",
       4},
      {{"run", "d.json", "--heads", "3"},
       "query [2,2] cannot be split into 3 heads: its width 2 is not divisible by 3\n  where: "
       "--heads\n  help:  choose a number of heads that divides the width",
       3},
      {{"run", "--model", speeches, "--text", "The", "--patch", "The state", "--at", "1.1"},
       "the texts have 4 and 5 tokens\n  where: --patch\n  help:  give texts of one length, or the "
       "positions that are patched",
       3},
      {{"plot", "d.json", "--out", "x.png"},
       "the kind of picture comes first\n  where: attn-cli plot\n  help:  write attn-cli plot "
       "heatmap d.json --out PICTURE"},
      {{"view", speeches},
       "\"" + speeches +
           "\" is the folder of a model\n  where: attn-cli view\n  help:  give it with "
           "a text: --model " +
           speeches + " --text TEXT",
       4},
      {{"show", speeches},
       "\"" + speeches +
           "\" is the folder of a model\n  where: attn-cli show\n  help:  compute its "
           "maps with attn-cli run --model " +
           speeches + " --text TEXT",
       4},
      {{"run", "d.json", "--plots", "pdf"},
       "pdf is a format, not a kind of picture\n  where: --plots\n  help:  write --format pdf"},
      {{"explain", "d.json", "--csv"},
       "--csv has no effect without --why or --logit\n  where: --csv\n  help:  leave it out, or "
       "write --json for all numbers: it is of --why, which splits a score of a model"},
      {{"show", "w.json", "--labels", "a,b"},
       "cannot open \"a,b\": No such file or directory\n  where: --labels\n  help:  write the "
       "labels into a file, one per line, and name it",
       4},
      {{"run", "--model", speeches, "--text", "The", "--dtype", "float16"},
       "models are not computed in float16\n  where: --dtype\n  help:  choose float32 or float64",
       3},
      {{"run", "--model", speeches, "--ids", "5,99999"},
       "the token id 99999 is not between 0 and 2047\n  where: --ids\n  help:  give 0 to 2047",
       3},
      {{"run", "--model", speeches, "--text", "The", "--at", "2.1"},
       "there is no text that the patched part is taken from\n  where: --at\n  help:  give it with "
       "--patch, or in a document as {\"text\": …}",
       3},
  });
}

TEST_CASE("a folder is computed by batch, and an empty input has a cure") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "documents");
  folder.write("empty.json", " ");
  const auto errors = [&](const std::string& input) {
    return attn_cli({"run", input}, folder.path()).errors;
  };
  CHECK(errors("documents") ==
        "attn-cli: \"documents\" is a folder\n  where: attn-cli run\n"
        "  help:  compute all documents in it with attn-cli batch documents\n");
  CHECK(errors("empty.json") ==
        "attn-cli: not valid JSON: the text is empty\n  where: empty.json\n"
        "  help:  check that the file was saved, or that a program wrote to it\n");
  std::filesystem::create_directory(folder / "llama");
  folder.write("llama/config.json", "{}");
  CHECK(errors("llama") ==
        "attn-cli: \"llama\" is the folder of a model\n  where: attn-cli run\n"
        "  help:  give it with a text: --model llama --text TEXT\n");
  // An empty title is a title.
  folder.write("d.json", document);
  const Outcome untitled =
      attn_cli({"run", "d.json", "--title=", "--format", "svg", "--quiet"}, folder.path());
  CHECK(untitled.errors == "");
  CHECK(untitled.exit_code == 0);
}

TEST_CASE("--layers and --head mean the same in all commands, and take their other spellings") {
  const TemporaryFolder folder;
  folder.write("maps.json", R"({"weights":[[[[1,0],[0,1]],[[0.5,0.5],[0.25,0.75]]]]})");
  const auto shown = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words{"show", "maps.json", "--no-color"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.errors == "");
    return outcome.output;
  };
  CHECK(shown({"--head", "1"}) == shown({"--heads", "1"}));
  CHECK(shown({"--head", "0:2,mean"}) == shown({"--heads", "0:2", "--head", "mean"}));
  CHECK(shown({"--head", "mean"}) != shown({"--head", "1"}));
  for (const std::string command : {"plot", "show", "view", "explain", "compare", "run"}) {
    CAPTURE(command);
    const std::string help = attn_cli({command, "--help"}).output;
    CHECK(help.find("--layer ") == std::string::npos);
    CHECK(help.find("--layers N,A:B,") != std::string::npos);
    CHECK(help.find("--head N") != std::string::npos);
    const bool splits = command == "run" || command == "explain";
    CHECK((help.find("--heads N ") != std::string::npos) == splits);
  }
  const auto explained = [&](const std::string& flag, const std::string& layer) {
    return attn_cli({"explain", "maps.json", flag, layer}, folder.path()).output;
  };
  CHECK(explained("--layer", "0") == explained("--layers", "0"));
}
