#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

std::string wrong(const std::vector<std::string>& arguments) {
  return refused_with(2, arguments);
}

}  // namespace

TEST_CASE("the version and the help go to standard output") {
  const Outcome version = attn_cli({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.output.starts_with("attn-cli 0.1.0\nCPU target "));
  for (const std::string library :
       {"cairo 1.",         "Fontconfig 2.",    "FreeType 2.",      "HarfBuzz ",    "libdeflate 1.",
        "libjpeg-turbo 2.", "libpng 1.",        "libzip 1.",        "Oniguruma 6.", "pango 1.",
        "utf8proc 2.",      "xxHash 0.",        "CLI11 2.",         "fast_float ",  "highway 1.",
        "libsndfile 1.",    "nlohmann-json 3.", "SentencePiece 0.", "stb",          "xtensor 0."}) {
    CAPTURE(library);
    CHECK(version.output.find(library) != std::string::npos);
  }
  const Outcome help = attn_cli({"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("run") != std::string::npos);
  const Outcome run_help = attn_cli({"run", "--help"});
  CHECK(run_help.exit_code == 0);
  CHECK(run_help.output.find("--valid-lens") != std::string::npos);
}

TEST_CASE("an unknown command names the nearest known one") {
  CHECK(wrong({"rnu"}) ==
        "attn-cli: unknown command \"rnu\"\n"
        "  help:  did you mean \"run\"?\n");
}

TEST_CASE("an unknown flag names the nearest known one") {
  CHECK(wrong({"run", "doc.json", "--valid-len", "3"}) ==
        "attn-cli: unknown flag \"--valid-len\"\n"
        "  where: attn-cli run\n"
        "  help:  did you mean \"--valid-lens\"?\n");
}

TEST_CASE("every command that takes a number of threads checks it") {
  for (const std::string command :
       {"run", "batch", "plot", "show", "explain", "compare", "validate", "bench"}) {
    CAPTURE(command);
    CHECK(wrong({command, "--threads", "0"}) ==
          "attn-cli: invalid value \"0\" for --threads\n"
          "  where: --threads\n"
          "  help:  give a whole number of at least 1, or leave it out for all cores\n");
  }
}

TEST_CASE("no command, no input and too many inputs are told apart") {
  CHECK(wrong({}) ==
        "attn-cli: no command given\n"
        "  help:  try attn-cli example multi_head > first.json, attn-cli run first.json, attn-cli "
        "explain first.json --query 1 or attn-cli --help\n");
  CHECK(wrong({"run"}) ==
        "attn-cli: no input document given\n"
        "  where: attn-cli run\n"
        "  help:  name a document, or - for standard input; attn-cli example KIND prints one\n");
  CHECK(wrong({"run", "a", "b"}) ==
        "attn-cli: more than one input document given: \"b\" is the second\n"
        "  where: attn-cli run\n"
        "  help:  run them one by one, or use attn-cli batch\n");
  CHECK(wrong({"plot", "heatmap", "w.json"}) ==
        "attn-cli: no --out given\n"
        "  where: attn-cli plot\n"
        "  help:  write attn-cli plot KIND FILE --out PICTURE\n");
}

TEST_CASE("a value that a flag does not take is refused with what it takes") {
  CHECK(wrong({"run", "doc.json", "--sample", "1.5"}) ==
        "attn-cli: invalid value \"1.5\" for --sample\n"
        "  where: --sample\n"
        "  help:  give a whole number, mean, max or all\n");
  CHECK(wrong({"run", "doc.json", "--plots", "heatmpa"}) ==
        "attn-cli: invalid value \"heatmpa\" for --plots\n"
        "  where: --plots\n"
        "  help:  did you mean \"heatmap\"?\n");
  CHECK(wrong({"run", "doc.json", "--scale", "nan"})
            .starts_with("attn-cli: invalid value \"nan\" for --scale\n"));
  CHECK(wrong({"plot", "heatmap", "w.json", "--out", "w.png", "--figsize", "wide"}) ==
        "attn-cli: invalid value \"wide\" for --figsize\n"
        "  where: --figsize\n"
        "  help:  give width and height in inches, such as 8x6, or with units: 16cmx12cm; or a "
        "width alone, 89mm\n");
  CHECK(wrong({"plot", "heatmap", "w.json", "--out", "w.png", "--cmap", "YlOrR"})
            .find("did you mean \"YlOrRd\"?") != std::string::npos);
  CHECK(wrong({"plot", "heatmpa", "w.json", "--out", "w.png"}).find("did you mean \"heatmap\"?") !=
        std::string::npos);
}

TEST_CASE("numbers of keys beyond those of any tensor and folders without a name are refused") {
  CHECK(wrong({"run", "doc.json", "--valid-lens", "3,18446744073709551615"}) ==
        "attn-cli: invalid value \"18446744073709551615\" for --valid-lens\n"
        "  where: --valid-lens\n"
        "  help:  give a whole number of at least 0 and below 2^63\n");
  CHECK(wrong({"run", "doc.json", "--pool", "18446744073709551615"}) ==
        "attn-cli: invalid value \"18446744073709551615\" for --pool\n"
        "  where: --pool\n"
        "  help:  give a whole number of at least 1 and below 2^63\n");
  const TemporaryFolder folder;
  folder.write("doc.json", "{}");
  CHECK(attn_cli({"explain", "doc.json", "--model", ""}, folder.path()).exit_code == 3);
}

TEST_CASE("a flag without its value is refused") {
  CHECK(wrong({"run", "doc.json", "--out"}).find("--out") != std::string::npos);
}

TEST_CASE("behind -- every word is an operand, whatever it begins with") {
  const TemporaryFolder folder;
  folder.write("--x.json", R"({"attention":"softmax","scores":[[1,2]]})");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "--plots", "none", "--", "--x.json"},
           {"batch", "--plots", "none", "--out", "b", "--", "--x.json"},
           {"validate", "--", "--x.json", "--x.json"},
           {"explain", "--", "--x.json"},
           {"compare", "--", "--x.json", "--x.json"},
           {"plot", "mask", "--out", "m.svg", "--", "--x.json"}}) {
    CAPTURE(words[0]);
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
  }
  CHECK(attn_cli({"show", "--", "--x.json"}, folder.path()).exit_code == 3);
  CHECK(wrong({"run", "--", "--out", "r"}) ==
        "attn-cli: more than one input document given: \"r\" is the second\n"
        "  where: attn-cli run\n"
        "  help:  run them one by one, or use attn-cli batch\n");
  CHECK(wrong({"list", "--", "x"}) ==
        "attn-cli: unexpected argument \"x\"\n"
        "  where: attn-cli list\n"
        "  help:  it takes flags only: see attn-cli list --help\n");
}

TEST_CASE("a flag whose value may be left out is not there unless it is given") {
  const TemporaryFolder folder;
  // The model has no head that gives logits, so that --logit is an error. Texts of many lengths,
  // one unknown word each, leave behind other bytes where parsers that were destroyed had theirs.
  const std::string model = ATTN_TEST_DATA "/models/sentences/folder";
  const auto run = [&](const std::string& text, const std::vector<std::string>& flags) {
    std::vector<std::string> words{"run",     "--model", model,    "--text", text,
                                   "--plots", "none",    "--only", "output", "--quiet"};
    words.insert(words.end(), flags.begin(), flags.end());
    return attn_cli(words, folder.path());
  };
  for (std::size_t length = 20000; length < 40000; length += 1000) {
    CAPTURE(length);
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i * i / 7 % 25);
    CHECK(run(text, {}).errors == "");
  }
  CHECK(run("a", {"--logit"}).exit_code == 3);
}
