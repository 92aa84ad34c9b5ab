#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

// Two results, the second with another element in `weights`, without `lse` and with an `extra`.
void write_results(const TemporaryFolder& folder) {
  folder.write("a.json", R"({"format":1,"dtype":"float32","labels":{"key":["x","y"]},
    "tensors":{"weights":[[0.25,0.75],[1,0]],"output":[[1,2]],"lse":[1,2]}})");
  folder.write("b.json", R"({"format":1,"dtype":"float32",
    "tensors":{"weights":[[0.25,0.5],[1,0]],"output":[[1,2]],"extra":[1]}})");
}

}  // namespace

TEST_CASE("compare takes the tolerances of a type, which those that are given go before") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[1.01]]})");
  folder.write("b.json", R"({"weights":[[1]]})");
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare", "a.json", "b.json"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path());
  };
  const Outcome brain = compared({"--tolerances", "bf16"});
  CHECK(brain.exit_code == 0);
  CHECK(brain.output.starts_with("a.json and b.json, tolerance |a − b| ≤ 1e-5 + 0.016·|b|\n"));
  CHECK(compared({"--tolerances", "f16"}).exit_code == 1);
  const Outcome wider = compared({"--rtol", "0.02", "--tolerances", "f64"});
  CHECK(wider.exit_code == 0);
  CHECK(wider.output.starts_with("a.json and b.json, tolerance |a − b| ≤ 1e-7 + 0.02·|b|\n"));
  CHECK(compared({"--tolerances", "f8"}).exit_code == 2);
}

TEST_CASE("compare tells tensor by tensor how results differ, and exits with 1") {
  const TemporaryFolder folder;
  write_results(folder);
  const Outcome compare = attn_cli({"compare", "a.json", "b.json"}, folder.path());
  CHECK(compare.exit_code == 1);
  CHECK(compare.errors.empty());
  const std::string tables = R"(a.json and b.json, tolerance |a − b| ≤ 1e-6 + 1e-5·|b|

  tensor   shape  type     largest |a − b|  largest |a − b| / |b|  out of tolerance
  weights  [2,2]  float32  0.25 at [0,1]    0.5 at [0,1]           1 of 4
  output   [1,2]  float32  0                0                      0 of 2

  tensor   mean |a − b|  median  90 % below  99 % below  ‖a − b‖ / ‖b‖
  weights  0.0625        0       0.25        0.25        0.218

Differences
  weights: the first one out of tolerance is at [0,1]: 0.75 and 0.5
)";
  CHECK(compare.output == tables + R"(
Not compared
  lse: only in a.json
  extra: only in b.json

1 of 2 common tensors differs.
)");
  const Outcome strict = attn_cli({"compare", "a.json", "b.json", "--strict"}, folder.path());
  CHECK(strict.exit_code == 1);
  CHECK(strict.output == tables + R"(
Only in one file
  lse: only in a.json
  extra: only in b.json

1 of 2 common tensors differs.
2 tensors that count are only in one of the files.
)");
}

TEST_CASE("a tensor that only one file has counts where it is asked for") {
  const TemporaryFolder folder;
  folder.write("mine.json", R"({"out":[[1,2]],"mine":[1]})");
  folder.write("kernel.json", R"({"output":[[1,2]],"allowed":[[1]]})");
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare", "mine.json", "kernel.json"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path());
  };
  const Outcome by_shape = compared({});
  CHECK(by_shape.exit_code == 0);
  CHECK(by_shape.errors ==
        "attn-cli: warning: no name is in both files: \"out\" is compared with \"output\", which "
        "alone has its shape [1,2]; say so with --map out=output\n");
  folder.write("other.json", R"({"outputs":[[1],[2]]})");
  const Outcome nothing = attn_cli({"compare", "mine.json", "other.json"}, folder.path());
  CHECK(nothing.exit_code == 1);
  CHECK(
      nothing.output.ends_with("\n\nThe files have no tensor in common.\n"
                               "--map out=outputs compares tensors of other names.\n"));
  const Outcome renamed = compared({"--map", "out=output"});
  CHECK(renamed.exit_code == 0);
  CHECK(
      renamed.output.ends_with("\nNot compared\n  mine: only in mine.json\n"
                               "  allowed: only in kernel.json\n\n"
                               "The only common tensor agrees.\n"));
  CHECK(compared({"--map", "out=output", "--strict"}).exit_code == 1);
  CHECK(compared({"--map", "out=output", "--only", "output"}).exit_code == 0);
  CHECK(compared({"--map", "out=output", "--only", "output,allowed"}).exit_code == 1);
  const Outcome missing = compared({"--only", "output"});
  CHECK(missing.exit_code == 1);
  CHECK(
      missing.output.ends_with("\nOnly in one file\n  output: only in kernel.json\n\n"
                               "The tensor is only in one of the files.\n"
                               "--map A=output compares tensors of other names.\n"));
  CHECK(compared({"--only", "out,output"})
            .output.ends_with("\n\nAll 2 tensors are only in one of the files.\n"
                              "--map out=output compares tensors of other names.\n"));
  const Outcome unknown = compared({"--only", "outputs"});
  CHECK(unknown.exit_code == 3);
  CHECK(unknown.errors ==
        "attn-cli: neither file has a tensor \"outputs\"\n"
        "  where: --only\n"
        "  help:  did you mean \"output\"?\n");
  // What was named is compared, or it is an error.
  CHECK(compared({"--map", "out=outputs"}).errors ==
        "attn-cli: \"out=outputs\" renames a tensor, and the other file has no \"outputs\"\n"
        "  where: --map\n  help:  did you mean \"output\"?\n");
  const Outcome no_name = compared({"--map", "out"});
  CHECK(no_name.exit_code == 2);
  CHECK(no_name.errors ==
        "attn-cli: invalid value \"out\" for --map\n"
        "  where: --map\n"
        "  help:  give their name and ours, such as out=output\n");
}

TEST_CASE("steps of other lengths are compared where they overlap, on request") {
  const TemporaryFolder folder;
  folder.write("short.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  folder.write("long.json", R"({"weights":[[1,0,0],[0.5,0.5,0],[0.2,0.3,0.5]]})");
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare", "short.json", "long.json"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path());
  };
  CHECK(compared({}).exit_code == 1);
  const Outcome overlap = compared({"--overlap"});
  CHECK(overlap.exit_code == 0);
  CHECK(overlap.output.find("  weights  [2,2] of [2,2] and [3,3]  float64  0 ") !=
        std::string::npos);
  CHECK(compared({"--overlap", "--json"}).output.find("\"compared\": [2,2]") != std::string::npos);
  CHECK(compared({"--overlap", "--plot", "d.png"}).exit_code == 0);
  CHECK(png_header(read_text(folder / "d.png")).width > 0);
}

TEST_CASE("layers and heads of maps are compared by axes and by patterns of names") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"l0":[[[[1,0]],[[0,1]]]],"l1":[[[[1,0]],[[0,1]]]]})");
  folder.write("b.json", R"({"h_0":[[[[1,0]],[[1,0]]]],"h_1":[[[[0,1]],[[0,1]]]]})");
  const auto exit_code = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare", "a.json", "b.json", "--map", "h_{n}=l{n}", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path()).exit_code;
  };
  CHECK(exit_code({}) == 1);
  CHECK(exit_code({"--only", "l{n}", "--layers", "0"}) == 1);
  CHECK(exit_code({"--only", "l{n}", "--layers", "0", "--heads", "0"}) == 0);
  CHECK(exit_code({"--only", "l{n}", "--layers", "0", "--heads", "1"}) == 1);
  CHECK(exit_code({"--only", "l{n}", "--layers", "1", "--heads", "1"}) == 0);
  CHECK(exit_code({"--axes", "head,batch", "--heads", "1"}) == 3);
}

TEST_CASE("a chosen head is compared alone, its log-sum-exps too") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[[[1,0]],[[0,1]]]],"lse":[[[1],[2]]]})");
  folder.write("b.json", R"({"weights":[[[[1,0]],[[1,0]]]],"lse":[[[1],[3]]]})");
  CHECK(attn_cli({"compare", "a.json", "b.json"}, folder.path()).exit_code == 1);
  CHECK(attn_cli({"compare", "a.json", "b.json", "--head", "0"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"compare", "a.json", "b.json", "--head", "1"}, folder.path()).exit_code == 1);
}

TEST_CASE("a tensor that is asked for and has another name in the other file is told its partner") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"format":1,"tensors":{"weights":[[1]],"output":[[1,2],[3,4]]}})");
  folder.write("b.json", R"([{"name":"attn_out","dimensions":"1x2x2","values":[1,2,3,4]},)"
                         R"({"name":"w","dimensions":"1x1","values":[1]}])");
  const auto told = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return attn_cli(words, folder.path());
  };
  const Outcome other = told({"a.json", "b.json", "--only", "output"});
  CHECK(other.exit_code == 1);
  CHECK(other.errors ==
        "attn-cli: warning: \"output\" [2,2] is not in b.json, where as many elements are in "
        "\"0.values\" [4]: --map 0.values=output --reshape 2,2 compares them\n");
  CHECK(told({"b.json", "a.json", "--only", "output"}).errors == other.errors);
  const Outcome cured = told(
      {"a.json", "b.json", "--only", "output", "--map", "0.values=output", "--reshape", "2,2"});
  CHECK(cured.exit_code == 0);
  CHECK(cured.errors == "");
  folder.write("b.json", R"({"q":[1,2],"k":[3,4]})");
  CHECK(told({"a.json", "b.json", "--only", "output"}).errors ==
        "attn-cli: warning: \"output\" [2,2] is not in b.json, which has \"q\" [2], \"k\" [2]\n");
}

TEST_CASE("a file that is compared with itself is told, by whatever names it is given") {
  const TemporaryFolder folder;
  folder.write("a.json", "[1, 2]");
  std::filesystem::create_symlink("a.json", folder / "link.json");
  const auto told = [&](const std::string& other) {
    const Outcome outcome = attn_cli({"compare", "a.json", other}, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  CHECK(told("a.json") ==
        "attn-cli: warning: a.json is compared with itself: name the other file\n");
  for (const std::string other : {"./a.json", "link.json"}) {
    CHECK(told(other) == "attn-cli: warning: a.json and " + other +
                             " are the same file, which is compared with itself: name the other "
                             "file\n");
  }
}

TEST_CASE("compare exits with 0 for what agrees within the tolerance given") {
  const TemporaryFolder folder;
  write_results(folder);
  std::filesystem::copy_file(folder / "a.json", folder / "same.json");
  const Outcome same = attn_cli({"compare", "a.json", "same.json"}, folder.path());
  CHECK(same.exit_code == 0);
  CHECK(same.errors == "");
  CHECK(same.output.ends_with("\n\nAll 3 tensors agree.\n"));
  folder.write("c.json", "[1, 2]");
  folder.write("d.json", "[1, 2.5]");
  CHECK(attn_cli({"compare", "c.json", "d.json"}, folder.path()).exit_code == 1);
  CHECK(attn_cli({"compare", "c.json", "d.json", "--rtol", "0.2"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"compare", "c.json", "d.json", "--atol", "0.5"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"compare", "c.json", "-"}, folder.path(), "[1,2]").output ==
        "c.json and standard input, tolerance |a − b| ≤ 1e-6 + 1e-5·|b|\n"
        "\n"
        "  tensor     shape  type     largest |a − b|  largest |a − b| / |b|  out of tolerance\n"
        "  (unnamed)  [2]    float64  0                0                      0 of 2\n"
        "\n"
        "The tensor agrees.\n");
}

TEST_CASE("compare --json prints one object, --quiet nothing") {
  const TemporaryFolder folder;
  write_results(folder);
  const Outcome quiet = attn_cli({"compare", "a.json", "b.json", "--quiet"}, folder.path());
  CHECK(quiet.exit_code == 1);
  CHECK(quiet.output.empty());
  CHECK(quiet.errors.empty());
  folder.write("c.json", R"({"weights": [[1, 2]], "lse": [1]})");
  folder.write("d.json", R"({"weights": [[1, "inf"]]})");
  const Outcome json = attn_cli({"compare", "c.json", "d.json", "--json"}, folder.path());
  CHECK(json.exit_code == 1);
  CHECK(json.output == R"({
  "a": "c.json",
  "b": "d.json",
  "rtol": 1e-05,
  "atol": 1e-06,
  "agree": false,
  "tensors": [
    {
      "name": "weights",
      "outcome": "beyond",
      "a": {
        "shape": [1,2],
        "dtype": "float64"
      },
      "b": {
        "shape": [1,2],
        "dtype": "float64"
      },
      "exact": false,
      "largest_absolute": {
        "error": "inf",
        "index": [0,1]
      },
      "largest_relative": {
        "error": "inf",
        "index": [0,1]
      },
      "mean_absolute": "inf",
      "median_absolute": 0,
      "absolute_90_percent": "inf",
      "absolute_99_percent": "inf",
      "relative_norm": "inf",
      "elements": 2,
      "beyond": 1,
      "first_beyond": {
        "index": [0,1],
        "a": 2,
        "b": "inf"
      }
    },
    {
      "name": "lse",
      "outcome": "only_in_a",
      "a": {
        "shape": [1],
        "dtype": "float64"
      },
      "counts": false
    }
  ],
  "warnings": []
}
)");
}

TEST_CASE("compare --plot draws the difference, whatever the exit code") {
  const TemporaryFolder folder;
  write_results(folder);
  const Outcome compare =
      attn_cli({"compare", "a.json", "b.json", "--plot", "d.png", "--json"}, folder.path());
  CHECK(compare.exit_code == 1);
  CHECK(png_header(read_text(folder / "d.png")).dpi == 300);
  CHECK(compare.output.find("\n  \"pictured\": \"weights\",\n") != std::string::npos);
  attn_cli({"compare", "a.json", "b.json", "--plot", "d.png", "--dpi", "60"}, folder.path());
  CHECK(png_header(read_text(folder / "d.png")).dpi == 60);
  CHECK(attn_cli({"compare", "a.json", "a.json", "--plot", "same.svg"}, folder.path()).exit_code ==
        0);
  CHECK(read_text(folder / "same.svg").starts_with("<?xml"));
  CHECK(refused_with(3, {"compare", "a.json", "b.json", "--plot", "d.bmp"}, folder.path()) ==
        "attn-cli: unsupported picture format \".bmp\"\n"
        "  where: --plot\n"
        "  help:  name a file that ends in .png, .svg or .pdf\n");
  CHECK(attn_cli({"compare", "a.json", "b.json", "--plot", "new/d.png"}, folder.path()).exit_code ==
        1);
  CHECK(std::filesystem::exists(folder / "new/d.png"));
  CHECK(attn_cli({"compare", "a.json", "b.json", "--plot", "a.json/d.png"}, folder.path())
            .exit_code == 4);
}

TEST_CASE("compare tells wrong use, bad input and unreadable files apart") {
  const TemporaryFolder folder;
  write_results(folder);
  const Outcome one = attn_cli({"compare", "a.json"}, folder.path());
  CHECK(one.exit_code == 2);
  CHECK(one.errors ==
        "attn-cli: two files are needed to compare\n"
        "  where: attn-cli compare\n"
        "  help:  write attn-cli compare A B\n");
  CHECK(attn_cli({"compare", "-", "-"}, folder.path()).errors ==
        "attn-cli: standard input can be only one of the files\n"
        "  where: attn-cli compare\n"
        "  help:  write attn-cli compare A B\n");
  CHECK(refused_with(2, {"compare", "a.json", "b.json", "--rtol=-1"}, folder.path()) ==
        "attn-cli: invalid value \"-1\" for --rtol\n"
        "  where: --rtol\n"
        "  help:  give a number of at least 0\n");
  for (const auto& [flag, value] : {std::pair<std::string, std::string>{"--rtol", "1e-3"},
                                    {"--atol", "0.5"},
                                    {"--tolerances", "bf16"}}) {
    CHECK(
        refused_with(2, {"compare", "a.json", "b.json", flag, "output=" + value}, folder.path()) ==
        "attn-cli: " + flag + " is for all tensors that are compared\n  where: " + flag +
            "\n  help:  compare one at a time: --only output " + flag + " " + value + "\n");
  }
  CHECK(attn_cli({"compare", "a.json", "-"}, folder.path(), "{").exit_code == 3);
  const Outcome missing = attn_cli({"compare", "a.json", "nowhere.npy"}, folder.path());
  CHECK(missing.exit_code == 4);
  CHECK(missing.output.empty());
}

TEST_CASE("what compared results refer to is read only in the folder that --restrict names") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"attention":"sdpa","query":[[1,2],[3,4]]})");
  const auto run = [&](const std::string& out) {
    return attn_cli({"run", "a.json", "--plots", "none", "--tensors", "npy", "--out", out},
                    folder.path());
  };
  CHECK(run("in").exit_code == 0);
  CHECK(run("out").exit_code == 0);
  const auto compared = [&](const std::string& restricted) {
    return attn_cli(
        {"compare", "in/result.json", "out/result.json", "--quiet", "--restrict", restricted},
        folder.path());
  };
  CHECK(compared(".").exit_code == 0);
  const Outcome refused = compared("in");
  CHECK(refused.exit_code == 3);
  CHECK(refused.errors.starts_with("attn-cli: \"out/weights.npy\" is not in the folder \"in\""));
}

TEST_CASE("folders of results are compared, and a tensor without a name goes by its file's") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,0],[0,2]]})");
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "d.json", "--plots", "none", "--quiet", "--no-sync"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path()).exit_code;
  };
  REQUIRE(run({"--out", "a"}) == 0);
  REQUIRE(run({"--out", "b", "--tensors", "npy"}) == 0);
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare"};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path());
  };
  const Outcome folders = compared({"a", "b"});
  CHECK(folders.exit_code == 0);
  CHECK(folders.output.starts_with("a/result.json and b/result.json, tolerance"));
  CHECK(folders.output.ends_with("\nBoth tensors agree.\n"));
  const Outcome output = compared({"b/output.npy", "a", "--only", "output"});
  CHECK(output.exit_code == 0);
  CHECK(output.output.ends_with("\nThe tensor agrees.\n"));
  std::filesystem::copy(folder / "b/output.npy", folder / "mine.npy");
  CHECK(compared({"mine.npy", "a"}).exit_code == 1);
  CHECK(compared({"mine.npy", "a", "--only", "output"}).output.ends_with("The tensor agrees.\n"));
  CHECK(compared({"a", "mine.npy", "--only", "output"}).exit_code == 0);
  CHECK(compared({"mine.npy", "a", "--only", "output,weights"}).exit_code == 1);
  CHECK(compared({"mine.npy", "a", "--map", "=output"}).exit_code == 0);
  CHECK(compared({"mine.npy", "a", "--map", "mine=output"}).exit_code == 0);
  CHECK(compared({"mine.npy", "b/output.npy"}).output.find("  (unnamed)  [2,2]") !=
        std::string::npos);
  CHECK(compared({"mine.npy", "b/output.npy", "--only", "output"}).exit_code == 0);
  CHECK(compared({"b/output.npy", "b/output.npy"}).output.find("  output  [2,2]") !=
        std::string::npos);
  const Outcome document = compared({"a", "d.json"});
  CHECK(document.exit_code == 3);
  CHECK(document.errors ==
        "attn-cli: this is an input document, not a result\n"
        "  where: d.json\n"
        "  help:  run it first: attn-cli run d.json\n");
}

TEST_CASE("compare names what was changed in the model of one result") {
  const TemporaryFolder folder;
  const auto run = [&](const char* out, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "run",    "--model",           std::string(ATTN_DATA) + "/speeches",
        "--text", "The people of the", "--plots",
        "none",   "--quiet",           "--out",
        out};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
  };
  run("whole", {});
  run("off", {"--heads-off", "1.1"});
  run("patched", {"--patch", "The peace of the", "--at", "0.2", "--heads-off", "1.1"});
  const auto told = [&](const char* a, const char* b) {
    return attn_cli({"compare", a, b}, folder.path()).errors;
  };
  const std::string off =
      "off/result.json is of a changed model: look there first. Changed: zeros "
      "instead of the output of 1.1.\n";
  CHECK(told("whole", "off") == "attn-cli: warning: " + off);
  CHECK(told("off", "off").find("changed model") == std::string::npos);
  CHECK(told("off", "patched")
            .find("patched/result.json is of a changed model: look there first. "
                  "Changed: 0.2 comes from another text.") != std::string::npos);
}
