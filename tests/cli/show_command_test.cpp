#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string weights =
    R"({"weights":[[0.25,0.75],[1,0]],"labels":{"query":["a","b"],"key":["c","d"]}})";

const std::string plain =
    "Attention Weight Heatmap (Head 0); rows: queries, columns: keys\n"
    "      c       d\n"
    "a --0.25--##0.75##\n"
    "b @@1.00@@...0....\n"
    "  0 ...:::---===+++***###%%%@@@ 1\n";

constexpr const char* truecolor = "\x1b[48;2;";
constexpr const char* palette = "\x1b[48;5;";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool there_are_terminals() {
  return shell("command -v script && command -v stty").exit_code == 0;
}

// The output of `show` on a terminal of 60 columns and 20 lines with these variables set.
std::string on_a_terminal(const TemporaryFolder& folder, const std::string& variables,
                          const std::string& arguments = "") {
  folder.write("show.sh", "stty cols 60 rows 20; env -u NO_COLOR -u COLORTERM " + variables +
                              " \"$ATTN\" show w.json " + arguments + "\n");
  const Outcome run = shell("script -qec 'sh show.sh' /dev/null </dev/null", folder.path());
  CHECK(run.exit_code == 0);
  return run.output;
}

std::size_t widest_row(const std::string& text) {
  std::size_t widest = 0, start = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    if (line.starts_with("1")) widest = std::max(widest, line.size());
    start = end + 1;
  }
  return widest;
}

}  // namespace

TEST_CASE("show draws plain text where no terminal reads it") {
  const TemporaryFolder folder;
  const Outcome show = attn_cli({"show", "-"}, folder.path(), weights);
  CHECK(show.exit_code == 0);
  CHECK(show.errors.empty());
  CHECK(show.output == plain);
}

TEST_CASE("show --color always draws colours wherever it is read, never none") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const auto show = [&](const std::string& variables, const std::string& arguments) {
    return shell("env -u COLORTERM " + variables + " \"$ATTN\" show w.json " + arguments,
                 folder.path())
        .output;
  };
  CHECK(holds(show("COLORTERM=truecolor", "--color always"), truecolor));
  CHECK(holds(show("TERM=xterm", "--color always"), palette));
  CHECK(holds(show("TERM=xterm NO_COLOR=1", "--color always"), palette));
  CHECK(show("COLORTERM=truecolor", "--color never") == plain);
  CHECK(show("COLORTERM=truecolor", "--no-color") == plain);
}

TEST_CASE("show takes the terminal's colours as it tells them") {
  if (!there_are_terminals()) return;
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  CHECK(holds(on_a_terminal(folder, "TERM=xterm COLORTERM=24bit"), truecolor));
  CHECK(holds(on_a_terminal(folder, "TERM=xterm-256color"), palette));
  CHECK_FALSE(holds(on_a_terminal(folder, "TERM=xterm"), "\x1b"));
  CHECK_FALSE(holds(on_a_terminal(folder, "TERM=dumb COLORTERM=truecolor"), "\x1b"));
  CHECK_FALSE(holds(on_a_terminal(folder, "TERM=xterm-256color NO_COLOR=1"), "\x1b"));
  CHECK(holds(on_a_terminal(folder, "TERM=xterm-256color NO_COLOR="), palette));
  CHECK_FALSE(holds(on_a_terminal(folder, "TERM=xterm-256color", "--no-color"), "\x1b"));
}

TEST_CASE("show fits the columns given, or those that the environment tells") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":{"ones":[300,300]}})");
  CHECK(widest_row(shell("\"$ATTN\" show w.json --width 50", folder.path()).output) == 50);
  CHECK(widest_row(shell("COLUMNS=70 \"$ATTN\" show w.json", folder.path()).output) == 70);
  CHECK(widest_row(shell("COLUMNS=wide \"$ATTN\" show w.json", folder.path()).output) == 80);
}

TEST_CASE("show fits the terminal") {
  if (!there_are_terminals()) return;
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":{"full":[300,300],"value":0.0033333333333333335}})");
  const std::string drawn = on_a_terminal(folder, "TERM=dumb COLUMNS=70");
  CHECK(widest_row(drawn) == 60 + 1);  // a terminal adds a carriage return
  CHECK(std::count(drawn.begin(), drawn.end(), '\n') < 20);
}

TEST_CASE("show takes the sample, the head, labels and the colour map") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[[1,0]],[[0,1]]],[[[1,1]],[[0,3]]]]})");
  folder.write("labels.json", R"({"query":["me"]})");
  CHECK(attn_cli({"show", "w.json", "--sample", "1", "--head", "1", "--labels", "labels.json"},
                 folder.path())
            .output ==
        "Attention Weight Heatmap (Sample 1, Head 1); rows: queries, columns: keys\n"
        "     0    1\n"
        "me ..0..@@3@@\n"
        "   0 ...:::---===+++***###%%%@@@ 3\n");
  CHECK(refused_with(3, {"show", "w.json", "--head", "2"}, folder.path()) ==
        "attn-cli: there is no head 2: the weights have 2 heads\n"
        "  where: --head\n"
        "  help:  give 0 to 1\n");
  CHECK(attn_cli({"show", "w.json", "--cmap", "viridsi"}, folder.path()).exit_code == 2);
}

TEST_CASE("show draws the first attention of a layer's result, from any file of its tensors") {
  const TemporaryFolder folder;
  const std::string drawn =
      "Attention Weight Heatmap (Self-Attention, Head 0); rows: queries, columns: keys\n"
      "      a       b\n"
      "a @@1.00@@\n"
      "b --0.25--@@1.00@@\n"
      "  0 ...:::---===+++***###%%%@@@ 1   blank: hidden\n";
  folder.write("r.json", R"({"labels":{"query":["a","b"],"key":["x","y","z"]},"tensors":{
    "self.weights":[[[1,0],[0.25,1]]],"self.allowed":[[[1,0],[1,1]]],
    "cross.weights":[[[1,0,0],[0,1,0]]],"output":[[1,2]]}})");
  CHECK(attn_cli({"show", "r.json"}, folder.path()).output == drawn);
  const std::string example = attn_cli({"example", "encoder_layer"}, folder.path()).output;
  attn_cli({"run", "-", "--tensors", "npz", "--plots", "none", "--out", "e"}, folder.path(),
           example);
  const Outcome result = attn_cli({"show", "e/result.json"}, folder.path());
  CHECK(result.exit_code == 0);
  CHECK(holds(result.output, "\n0 "));
  CHECK(attn_cli({"show", "e/tensors.npz"}, folder.path()).exit_code == 0);
}

TEST_CASE("show --as draws a picture by the protocol of kitty or in sixels, else blocks") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const auto show = [&](const std::string& way) {
    return attn_cli({"show", "w.json", "--as", way, "--width", "40"}, folder.path());
  };
  const Outcome kitty = show("kitty");
  CHECK(kitty.errors.empty());
  CHECK(kitty.output.starts_with("\x1b_Ga=T,f=100,q=2,m=1;iVBORw0KGgo"));  // a PNG's signature
  CHECK(kitty.output.ends_with("\x1b\\\n"));
  CHECK(show("blocks").output ==
        attn_cli({"show", "w.json", "--width", "40"}, folder.path()).output);
  const Outcome sixel = show("sixel");
  if (sixel.exit_code == 0) {
    CHECK(sixel.output.starts_with("\x1bP"));
    CHECK(holds(sixel.output, ";2;100;100;100"));  // white is white
    CHECK(sixel.output.ends_with("\x1b\\\n"));
  } else {
    CHECK(holds(sixel.errors, "cannot load the library libsixel"));
  }
  CHECK(show("sixle").errors ==
        "attn-cli: invalid value \"sixle\" for --as\n"
        "  where: --as\n"
        "  help:  did you mean \"sixel\"?\n");
}

TEST_CASE(
    "show asks a terminal of colours for its pictures, and draws those that it answers to know") {
  if (!there_are_terminals() || shell("command -v python3").exit_code != 0) return;
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  // A terminal that answers the query after its final letter, as given.
  folder.write("terminal.py", R"(import os, pty, sys
answer = sys.argv[1].encode().decode('unicode_escape').encode('latin-1')
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM='xterm-256color', COLORTERM='truecolor')
    os.execv(os.environ['ATTN'], ['attn-cli', 'show', 'w.json'])
seen, asked = b'', False
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part: break
    seen += part
    if not asked and seen.endswith(b'\x1b[c'):
        asked = True
        os.write(terminal, answer)
os.waitpid(pid, 0)
os.write(1, seen)
)");
  const auto on = [&](const std::string& answer) {
    return shell("python3 terminal.py '" + answer + "'", folder.path()).output;
  };
  CHECK(holds(on("\\x1b_Gi=31;OK\\x1b\\\\\\x1b[?62;4c"), "\x1b_Ga=T,f=100"));
  CHECK(holds(on("\\x1b[?62;4;22c"), "\x1bP"));
  const std::string neither = on("\\x1b[?62;22c");
  CHECK(holds(neither, truecolor));
  CHECK_FALSE(holds(neither, "\x1bP"));
  CHECK(holds(on(""), truecolor));
}

TEST_CASE("show asks no terminal from the background, where that would stop it") {
  if (!there_are_terminals()) return;
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  folder.write("show.sh",
               "set -m\nunset NO_COLOR\nexport TERM=xterm-256color COLORTERM=truecolor\n"
               "\"$ATTN\" show w.json &\nwait\n");
  const Outcome run = shell("script -qec 'sh show.sh' /dev/null </dev/null", folder.path());
  CHECK(holds(run.output, truecolor));
  CHECK_FALSE(holds(run.output, "\x1b[c"));
}

TEST_CASE("show tells wrong use apart") {
  CHECK(attn_cli({"show"}).errors ==
        "attn-cli: no file to show given\n"
        "  where: attn-cli show\n"
        "  help:  write attn-cli show FILE\n");
  CHECK(attn_cli({"show", "-", "--width", "5"}, ".", weights).errors ==
        "attn-cli: invalid value \"5\" for --width\n"
        "  where: --width\n"
        "  help:  give a whole number of at least 20\n");
  CHECK(attn_cli({"show", "-", "--color", "alway"}, ".", weights).errors ==
        "attn-cli: invalid value \"alway\" for --color\n"
        "  where: --color\n"
        "  help:  did you mean \"always\"?\n");
  CHECK(attn_cli({"show", "-", "--color", "always", "--no-color"}, ".", weights).errors ==
        "attn-cli: --color always and --no-color contradict each other\n"
        "  where: --color\n"
        "  help:  leave one of them out\n");
}

TEST_CASE("run --show draws the heatmap after the report") {
  const TemporaryFolder folder;
  const std::string document =
      R"({"attention":"sdpa","query":[[1,0],[0,1]],"mask":{"causal":true}})";
  const Outcome run =
      attn_cli({"run", "-", "--show", "--plots", "none", "--out", "r"}, folder.path(), document);
  CHECK(run.exit_code == 0);
  const Outcome show = attn_cli({"show", "r/result.json"}, folder.path());
  CHECK(show.output ==
        "Attention Weight Heatmap (Head 0); rows: queries, columns: keys\n"
        "      0       1\n"
        "0 @@1.00@@\n"
        "1 --0.33--##0.67##\n"
        "  0 ...:::---===+++***###%%%@@@ 1   blank: hidden\n");
  const std::string size =
      std::to_string(std::filesystem::file_size(folder / "r/result.json")) + " bytes";
  CHECK(run.output.ends_with("\nWritten\n  r/result.json  " + size + "\n\n" + show.output));
  CHECK(attn_cli({"run", "-", "--show", "--json"}, folder.path(), document).errors ==
        "attn-cli: --show and --json cannot both write to standard output\n"
        "  where: --show\n"
        "  help:  leave one of them out\n");
}

TEST_CASE("show takes the parts of the weights that plot takes, but no more than one map") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[[1,0]],[[0.5,0.5]]]]})");
  const Outcome mean = attn_cli({"show", "w.json", "--head", "mean"}, folder.path());
  CHECK(mean.exit_code == 0);
  CHECK(mean.output ==
        "Attention Weight Heatmap (Mean of 2 Heads); rows: queries, columns: keys\n"
        "      0       1\n"
        "0 ##0.75##--0.25--\n"
        "  0 ...:::---===+++***###%%%@@@ 1\n");
  CHECK(refused_with(2, {"show", "w.json", "--head", "all"}, folder.path()) ==
        "attn-cli: a terminal shows one map, not several\n"
        "  where: --head\n"
        "  help:  give one from 0, mean or max; attn-cli plot draws several side by side\n");
}

TEST_CASE("show draws a result's output, whose columns are no keys") {
  const TemporaryFolder folder;
  folder.write("r.json", R"({"tensors":{"weights":[[0.2,0.8],[0.5,0.5]],
    "output":[[1,2,3,4,5,6],[1,2,3,4,5,6]]},
    "labels":{"query":["a","b"],"key":["c","d"]}})");
  const Outcome all = attn_cli({"show", "r.json", "--name", "output"}, folder.path());
  CHECK(all.exit_code == 0);
  CHECK(all.output ==
        "output; rows: positions, columns: dimensions\n"
        "    0    1    2    3    4    5\n"
        "a ..1..::2::==3==**4**%%5%%@@6@@\n"
        "b ..1..::2::==3==**4**%%5%%@@6@@\n"
        "  1 ...:::---===+++***###%%%@@@ 6\n");
  const Outcome part =
      attn_cli({"show", "r.json", "--name", "output", "--keys", "4:6"}, folder.path());
  CHECK(part.exit_code == 0);
  CHECK(part.output ==
        "output; rows: positions, columns: dimensions\n"
        "    4    5\n"
        "a ..5..@@6@@\n"
        "b ..5..@@6@@\n"
        "  5 ...:::---===+++***###%%%@@@ 6\n");
  CHECK(refused_with(3, {"show", "r.json", "--name", "output", "--merge-pieces"}, folder.path()) ==
        "attn-cli: \"output\" has no keys\n"
        "  where: --name\n"
        "  help:  leave out --drop-first, --drop, --renormalize and --merge-pieces, or say with "
        "--axes that it is a map\n");
}

TEST_CASE("the terminal shows tokens as people read them") {
  const TemporaryFolder folder;
  const Outcome show = attn_cli({"show", "-"}, folder.path(), R"({"weights":[[0.25,0.75],[1,0]],
    "labels":{"query":["Ġa","b"],"key":["Ġc","d"]}})");
  CHECK(holds(show.output, "\na  "));
  CHECK(holds(show.output, "\n·b "));
}

TEST_CASE("a .safetensors file is none of JSON, whatever the length of its header looks like") {
  const TemporaryFolder folder;
  std::string header = R"({"weights":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  header.resize('{', ' ');
  std::string file{'{', '\0', '\0', '\0', '\0', '\0', '\0', '\0'};
  file += header + std::string("\0\0\x80\x3E\0\0\x40\x3F", 8);  // 0.25, 0.75
  folder.write("w.safetensors", file);
  const Outcome show = attn_cli({"show", "w.safetensors"}, folder.path());
  CHECK(show.exit_code == 0);
  CHECK(show.errors.empty());
  CHECK(holds(show.output, "\n0 "));
}

TEST_CASE("show --json prints the map as a result that show draws again, --quiet no warning") {
  const TemporaryFolder folder;
  const Outcome json = attn_cli({"show", "-", "--json"}, folder.path(), weights);
  CHECK(json.exit_code == 0);
  const std::string written = R"json({
  "description": "Attention Weight Heatmap (Head 0)",
  "labels": {
    "query": [
      "a",
      "b"
    ],
    "key": [
      "c",
      "d"
    ]
  },
  "tensors": {
    "weights": [
      [0.25, 0.75],
      [1, 0]
    ]
  }
}
)json";
  CHECK(json.output == written);
  CHECK(attn_cli({"show", "-"}, folder.path(), json.output).output == plain);
  const Outcome quiet = attn_cli({"show", "-", "--quiet"}, folder.path(), weights);
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.output == plain);
  CHECK(attn_cli({"show", "-", "--quiet"}, folder.path(), "{}").exit_code == 3);
}

TEST_CASE("what is shown, drawn or compared may be capped, and confined to a folder") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  folder.write("far.json", R"({"weights":{"file":"/nowhere/w.npy"}})");
  const auto refused = [&](std::vector<std::string> words, const std::string& error) {
    const Outcome run = attn_cli(words, folder.path());
    CAPTURE(words[0]);
    CHECK(run.exit_code == 3);
    CHECK(run.errors == error);
  };
  const std::vector<std::vector<std::string>> commands = {
      {"show", "w.json"},
      {"plot", "heatmap", "w.json", "--out", "w.png"},
      {"compare", "w.json", "w.json"},
  };
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--max-file-size", "20"});
    refused(words,
            "attn-cli: \"w.json\" is 76 bytes large, and the limit is 20 bytes\n"
            "  help:  make it smaller, or raise the limit with --max-file-size\n");
    words.back() = "1k";
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
    words.insert(words.end(), {"--max-elements", "3"});
    const std::string where = words[0] == "compare" ? "w.json" : "w.json, /weights";
    refused(words,
            "attn-cli: the tensor has 4 elements, and the limit is 3\n"
            "  where: " +
                where + "\n  help:  make it smaller, or raise the limit with --max-elements\n");
  }
  CHECK(attn_cli({"show", "far.json"}, folder.path()).exit_code == 4);
  const Outcome confined = attn_cli({"show", "far.json", "--restrict", "."}, folder.path());
  CHECK(confined.exit_code == 3);
  CHECK(holds(confined.errors, "/weights"));
}
