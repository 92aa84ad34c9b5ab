#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

struct Refused {
  std::vector<std::string> words;
  std::string answer;
  int exit_code = 2;
};

void check_cures(const TemporaryFolder& folder, const std::vector<Refused>& slips) {
  for (const Refused& slip : slips) {
    CAPTURE(slip.words.back());
    CHECK(refused_with(slip.exit_code, slip.words, folder.path()) ==
          "attn-cli: " + slip.answer + "\n");
  }
}

std::string not_there(const std::string& file, const std::string& flag) {
  return "cannot open \"" + file + "\": No such file or directory\n  where: " + flag +
         "\n  help:  check the name, and the folder it is looked for in";
}

}  // namespace

TEST_CASE("a flag that has no effect without another one is refused with that one") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  struct Alone {
    std::vector<std::string> words;
    std::string flag, others, first;
  };
  for (const auto& [words, flag, others, first] :
       {Alone{{"run", "d.json", "--width", "40"}, "--width", "--show", "--show"},
        Alone{{"run", "d.json", "--key", "1"}, "--key", "--why", "--why"},
        Alone{{"heads", "d.json", "--residual", "0.4"},
              "--residual",
              "--analyses rollout",
              "--analyses rollout"},
        Alone{{"heads", "d.json", "--resume"}, "--resume", "--corpus", "--corpus"},
        Alone{{"heads", "d.json", "--kept", "4"}, "--kept", "--corpus or --merge", "--corpus"},
        Alone{{"heads", "d.json", "--dpi", "50"}, "--dpi", "--plots", "--plots"},
        Alone{{"compare", "d.json", "d.json", "--labels", "l.txt"},
              "--labels",
              "--query, --drop, --merge-pieces, --words, --blocks or --plot",
              "--query"},
        Alone{{"plot", "grid", "d.json", "--grid", "1,2"}, "--grid", "--image", "--image"},
        Alone{{"compare", "d.json", "d.json", "--dpi", "50"}, "--dpi", "--plot", "--plot"}}) {
    CHECK(refused_with(2, words, folder.path()) ==
          "attn-cli: " + flag + " has no effect without " + others + "\n  where: " + flag +
              "\n  help:  add " + first + ", or leave it out\n");
  }
  // The flag that they need is for models, and a document has others.
  CHECK(refused_with(2, {"explain", "d.json", "--key", "1"}, folder.path()) ==
        "attn-cli: --key has no effect without --why\n  where: --key\n  help:  leave it out, or "
        "write --full for all numbers: it is of --why, which splits a score of a model\n");
  CHECK(refused_with(2, {"explain", "d.json", "--csv"}, folder.path()) ==
        "attn-cli: --csv has no effect without --why or --logit\n  where: --csv\n  help:  leave it "
        "out, or write --json for all numbers: it is of --why, which splits a score of a model\n");
}

TEST_CASE("colours that are switched off where no map is shown have a flag of their own") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  CHECK(refused_with(2, {"run", "d.json", "--color", "never"}, folder.path()) ==
        "attn-cli: --color has no effect without --show\n  where: --color\n  help:  write "
        "--no-color, or add --show\n");
}

TEST_CASE("flags of pictures that change nothing of what is drawn are told") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  const auto told = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "d.json", "--out", "r"});
    const Outcome outcome = attn_cli(flags, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  const std::string warning = "attn-cli: warning: ";
  CHECK(told({"--plots", "heatmap", "--columns", "2"}) ==
        warning + "--columns has no effect on what is drawn: heatmap\n");
  CHECK(told({"--plots", "heatmap", "--titles", "a,b"}) ==
        warning + "--titles has no effect on what is drawn: heatmap\n");
  CHECK(told({"--plots", "heatmap", "--letters", "outlines"}) ==
        warning + "--letters has no effect: a PNG has pixels in place of letters\n");
  CHECK(told({"--plots", "heatmap", "--letters", "outlines", "--format", "svg"}) == "");
  CHECK(told({"--plots", "none", "--format", "svg"}) ==
        warning + "--format has no effect: no picture is drawn\n");
  CHECK(told({"--plots", "none", "--show", "--dpi", "100"}) ==
        warning + "--dpi has no effect: no picture is drawn\n");
  CHECK(told({"--plots", "none", "--show", "--cmap", "Blues"}) == "");
  CHECK(told({"--plots", "heatmap", "--annotate", "off", "--annotate-format", ".3f"}) ==
        warning + "--annotate-format has no effect: the cells have no values\n");
  CHECK(told({"--plots", "heatmap", "--format", "svg", "--dpi", "100"}) ==
        warning + "--dpi has no effect: an SVG or a PDF has lines in place of pixels\n");
  CHECK(told({"--plots", "heatmap", "--format", "svg", "--preset", "slide"}) == "");
  CHECK(told({"--plots", "heatmap", "--colorbar", "off", "--colorbar-label", "Weight"}) ==
        warning + "--colorbar-label has no effect: there is no bar of colours\n");
  CHECK(told({"--plots", "none", "--head", "all"}) ==
        warning + "--head all has no effect: no picture is drawn\n");
  CHECK(attn_cli({"plot", "heatmap", "r", "--letters", "outlines", "--out", "x.png"}, folder.path())
            .errors ==
        "attn-cli: --letters has no effect: a PNG has pixels in place of letters\n"
        "  where: --letters\n  help:  leave it out, or draw an SVG or a PDF\n");
  CHECK(attn_cli({"plot", "heatmap", "r", "--colorbar", "off", "--colorbar-label", "Weight",
                  "--out", "x.png"},
                 folder.path())
            .errors ==
        "attn-cli: --colorbar-label has no effect: there is no bar of colours\n"
        "  where: --colorbar-label\n  help:  leave it out, or --colorbar off\n");
  CHECK(attn_cli({"plot", "heatmap", "r", "--top", "2", "--dpi", "90", "--out", "x.pdf"},
                 folder.path())
            .errors == warning + "--top 2 leaves nothing out: there are 2 keys\n" + warning +
                           "--dpi has no effect: an SVG or a PDF has lines in place of pixels\n");
  CHECK(attn_cli({"plot", "heatmap", "r", "--style", "matplotlib", "--background", "dark", "--out",
                  "x.png"},
                 folder.path())
            .errors ==
        "attn-cli: --background has no effect: the tutorials' own style is white\n"
        "  where: --background\n  help:  leave it out, or --style\n");
  CHECK(
      attn_cli({"plot", "heatmap", "r", "--color-range", "0,100", "--out", "x.png"}, folder.path())
          .errors.starts_with(warning +
                              "--color-range 0,100 leaves one colour to all values, which are "));
  CHECK(attn_cli({"plot", "positions", "r", "--out", "x.png"}, folder.path()).errors ==
        warning +
            "\"weights\" has weights of an attention, which are not an encoding of positions: draw "
            "them as a heatmap\n");
  folder.write("batch/d.json", document);
  CHECK(attn_cli({"batch", "batch", "--plots", "none", "--font-scale", "2", "--out", "b"},
                 folder.path())
            .errors.find(warning + "--font-scale has no effect: no picture is drawn\n") !=
        std::string::npos);
}

TEST_CASE("a head that is not meant, an empty text and bins that reduce nothing are told") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("m.json", R"({"attention":"multi_head","seed":1,"x":{"randn":[1,3,4]},
    "parameters":{"init":"torch"}})");
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  const auto told = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--plots", "none", "--out", "r"});
    const Outcome outcome = attn_cli(flags, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  CHECK(told({"m.json"}) ==
        "attn-cli: warning: multi_head without \"heads\" has one head: write \"heads\" with their "
        "number\n");
  CHECK(told({"m.json", "--heads", "1"}) == "");
  CHECK(told({"--model", speeches, "--text", ""}) ==
        "attn-cli: warning: a text is empty: the model reads its special tokens alone\n"
        "attn-cli: warning: the result of another document in \"r\" is replaced: that of "
        "\"m.json\"\n");
  CHECK(told({"d.json", "--pool", "8"}) ==
        "attn-cli: warning: pooling to 8 bins reduces nothing: there are 2 queries and 2 keys\n");
  CHECK(told({"d.json", "--pool", "1"}) == "");
}

TEST_CASE("keys, rows and cells that a flag would change nothing of are told") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("causal.json",
               R"({"attention":"sdpa","query":[[1,0],[0,1]],"mask":{"causal":true}})");
  const auto told = [&](std::vector<std::string> words) {
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  const std::string warning = "attn-cli: warning: ";
  const std::string sums =
      warning +
      "--renormalize has no effect: no key is left out, and each row sums to 1 as it is\n";
  const std::string cells = warning + "--hide-mask has no effect: no cell is known to be hidden\n";
  CHECK(told({"run", "d.json", "--out", "r", "--renormalize"}) == sums);
  CHECK(told({"run", "d.json", "--out", "r", "--renormalize", "--keys", "0:1"}) == "");
  CHECK(told({"plot", "heatmap", "r", "--out", "x.png", "--renormalize"}) == sums);
  CHECK(told({"plot", "heatmap", "r", "--out", "x.png", "--hide-mask"}) == cells);
  CHECK(told({"run", "causal.json", "--out", "c", "--hide-mask"}) == "");
  CHECK(told({"plot", "heatmap", "c", "--out", "x.png", "--hide-mask"}) == "");
  CHECK(told({"run", "d.json", "--out", "r", "--plots", "none", "--seed", "3"}) ==
        warning + "\"seed\" has no effect: nothing is drawn at random\n");
  folder.write("t.json", "[1,2]");
  CHECK(told({"run", "d.json", "--out", "r", "--plots", "none", "--table", "t=t.json"}) ==
        warning + "\"tables.t\" has no effect: no expression reads it\n");
  CHECK(told({"run", "d.json", "--out", "r", "--plots", "none", "--table", "t=t.json", "--score",
              "s + t[j]"}) == "");
  CHECK(told({"batch", "d.json", "./d.json", "--out", "b", "--plots", "none"}) ==
        warning + "1 file is given twice, and computed once\n");
}

TEST_CASE("steps and weights that one flag asks for and another leaves out are refused") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  CHECK(refused_with(2, {"run", "d.json", "--stages", "--only", "weights"}, folder.path()) ==
        "attn-cli: --only leaves out the steps of the score that --stages is for\n"
        "  where: --stages\n  help:  leave it out, or add steps to --only, such as scores\n");
  CHECK(refused_with(2, {"run", "d.json", "--no-weights", "--only", "weights"}, folder.path()) ==
        "attn-cli: --only asks for weights, and --no-weights leaves them out\n"
        "  where: --only\n  help:  leave one of them out\n");
}

TEST_CASE("errors stand at the flag that was typed, whatever it is called otherwise") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  check_cures(
      folder,
      {
          {{"explain", "d.json", "--layer", "4"},
           "there is no layer 4: the attention has only one layer\n  where: --layer\n"
           "  help:  leave it out, or give 0",
           3},
          {{"plot", "heatmap", "w.json", "--layer", "3", "--out", "x.png"},
           "there is one map, and no stack of layers\n  where: --layer\n  help:  leave "
           "it out, name the tensors of the layers with --name, such as layer{n}, or the "
           "axis of the layers with --axes",
           3},
          {{"compare", "w.json", "w.json", "--name", "foo"},
           "neither file has a tensor \"foo\"\n  where: --name\n  help:  known: weights",
           3},
          {{"heads", "d.json", "--against", "none"}, not_there("none", "--against"), 4},
          {{"heads", "--model", speeches, "--corpus", "none", "--out", "h"},
           not_there("none", "--corpus"),
           4},
          {{"batch", "--files-from", "none", "--out", "b"}, not_there("none", "--files-from"), 4},
          {{"plot", "overlay", "w.json", "--image", "none", "--out", "x.png"},
           "cannot open \"none\": No such file or directory\n  where: --image\n  help:  --image "
           "takes "
           "the name of a file",
           4},
      });
}

TEST_CASE("several heads, ranges and parts of a percent get the form that a flag takes") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  const std::string one_head =
      "a document is explained for one head at a time\n  where: --head\n"
      "  help:  give one number, or run the document and give its result";
  check_cures(
      folder,
      {
          {{"explain", "d.json", "--head", "all"}, one_head},
          {{"explain", "d.json", "--head", "0,1"}, one_head},
          {{"explain", "d.json", "--head", "mean"},
           "--head joins several maps into one, which existing maps alone can be\n"
           "  where: --head\n  help:  give one number, or run the document and give its result"},
          {{"explain", "d.json", "--query", "0:1"},
           "\"0:1\" is a range, not one query\n  where: --query\n  help:  give one query, or all",
           3},
          {{"plot", "heatmap", "w.json", "--query", "0:1", "--out", "x.png"},
           "\"0:1\" is a range, not one query\n  where: --query\n  help:  write --queries 0:1",
           3},
          {{"compare", "w.json", "w.json", "--rtol", "1%"},
           "invalid value \"1%\" for --rtol\n  where: --rtol\n  help:  write --rtol 0.01"},
          {{"heads", "w.json", "--sink-threshold", "30%"},
           "invalid value \"30%\" for --sink-threshold\n  where: --sink-threshold\n  help:  write "
           "--sink-threshold 0.3"},
          {{"view", "w.json", "--color-range", "1,0"},
           "invalid value \"1,0\" for --color-range\n  where: --color-range\n  help:  give the "
           "lowest and highest value, such as 0,1"},
          {{"explain", "d.json", "--analyses", "probing"},
           "invalid value \"probing\" for --analyses\n  where: --analyses\n  help:  known: "
           "rollout, norms, lens"},
          {{"plot", "heatmap", "w.json", "--drop", "0,1", "--out", "x.png"},
           "all 2 keys are left out\n  where: --drop\n  help:  keep at least one",
           3},
      });
}

TEST_CASE("files of what is printed, files of tensors and settings of models get their cure") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("w.npz", "PK\x03\x04");
  folder.write(
      "outside.json",
      R"({"attention":"sdpa","query":[[1,0],[0,1]],"tables":{"t":[1]},"score":"s * t[i]"})");
  const std::string model =
      "it is for models: leave it out, or give the folder of one with --model and a text with "
      "--text";
  const auto unknown = [](const std::string& command, const std::string& flag,
                          const std::string& help) {
    return "unknown flag \"" + flag + "\"\n  where: attn-cli " + command + "\n  help:  " + help;
  };
  check_cures(
      folder,
      {
          {{"heads", "d.json", "--csv", "heads.csv"},
           "--csv takes no value: \"heads.csv\" is left over\n  where: attn-cli heads\n  help:  "
           "it prints to standard output: write attn-cli heads … --csv > heads.csv"},
          {{"explain", "d.json", "--markdown", "steps.md"},
           "--markdown takes no value: \"steps.md\" is left over\n  where: attn-cli explain\n"
           "  help:  it prints to standard output: write attn-cli explain … --markdown > "
           "steps.md"},
          {{"run", "d.json", "--ablate", "zero"},
           "\"ablate\" has no meaning for scaled_dot_product attention\n  where: --ablate\n"
           "  help:  " +
               model,
           3},
          {{"run", "d.json", "--generate", "5"},
           "\"generate\" has no meaning for scaled_dot_product attention\n  where: --generate\n"
           "  help:  " +
               model,
           3},
          {{"tokens", "--token-ids", "1,2"},
           unknown("tokens", "--token-ids", "attn-cli run --model M --ids 1,2,3 reads token ids")},
          {{"run", "d.json", "--softcap", "5"},
           unknown("run", "--softcap",
                   "write --score \"50 * tanh(s / 50)\", or \"softcap\": 50 into the document")},
          {{"run", "d.json", "--fp16"}, unknown("run", "--fp16", "write --dtype float16")},
          {{"completion", "--bash"},
           unknown("completion", "--bash", "write attn-cli completion bash")},
          {{"explain", "d.json", "--format", "csv"},
           unknown("explain", "--format", "write --markdown, --csv or --json")},
          {{"model", "--model", "m"},
           unknown("model", "--model", "name the file without a flag before it")},
          {{"run", "--model", "m", "--text", "The", "--why", "2", "0"},
           "--why takes one value: \"0\" is left over\n  where: attn-cli run\n  help:  write --why "
           "2.0"},
          {{"run", "--model-path", "m", "--text", "The"},
           unknown("run", "--model-path", "write --model DIR")},
          {{"explain", "d.json", "1"},
           "unexpected argument \"1\"\n  where: attn-cli explain\n  help:  write --query 1"},
          {{"run", "outside.json", "--plots", "none", "--out", "r"},
           "the index 1 is outside the table \"t\" [1] at b=0, h=0, i=1, j=0\n    s * t[i]\n       "
           " ^\n"
           "  where: outside.json, /score\n  help:  hide such cells by the mask, or choose another "
           "value by "
           "? :",
           3},
          {{"compare", "d.json", "d.json", "--hide-mask"},
           unknown("compare", "--hide-mask",
                   "attn-cli compare takes no --hide-mask: it belongs to attn-cli run, batch, "
                   "plot, show, view")},
      });
  CHECK(attn_cli({"batch", "w.npz", "--out", "b", "--plots", "none"}, folder.path()).errors ==
        "attn-cli: w.npz: this is a file of tensors, not an input document\n  where: w.npz\n"
        "  help:  attn-cli run reads one of query, key and value; for many, write documents that "
        "name its tensors: \"query\": {\"file\": …, \"name\": …}\n");
  // The cures of flags that a document has keys for are flags that are taken.
  for (const std::vector<std::string>& cure :
       {std::vector<std::string>{"--where", "abs(i - j) <= 3"}, {"--score", "50 * tanh(s / 50)"}}) {
    std::vector<std::string> words{"run", "d.json", "--plots", "none", "--out", "r"};
    words.insert(words.end(), cure.begin(), cure.end());
    CHECK(attn_cli(words, folder.path()).errors == "");
  }
}

TEST_CASE("--heads chooses heads of pictures where it is no number to split into") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","heads":2,"query":[[1,0],[0,1]]})");
  const auto title = [&](const std::string& flag, const std::string& heads) {
    const Outcome outcome =
        attn_cli({"run", "d.json", "--out", "r", "--format", "svg", flag, heads}, folder.path());
    CHECK(outcome.errors == "");
    return read_text(folder / "r/heatmap.svg");
  };
  CHECK(title("--heads", "all") == title("--head", "all"));
  CHECK(title("--heads", "mean") == title("--head", "mean"));
}
