#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::filesystem::path shapes = std::filesystem::path(ATTN_DATA) / "shapes";
const std::string star = (shapes / "blue_star.png").string();

}  // namespace

TEST_CASE("validate checks a model with the pictures and texts that it is to read") {
  const TemporaryFolder folder;
  const auto validate = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"validate", "--model", shapes.string()};
    all.insert(all.end(), words.begin(), words.end());
    return attn_cli(all, folder.path());
  };
  const Outcome right = validate({"--image", star, "--text", "blue star"});
  CHECK(right.exit_code == 0);
  CHECK(right.output.starts_with(shapes.string() + ": valid\n  about "));
  const Outcome wrong = validate({"--image", (shapes / "config.json").string()});
  CHECK(wrong.exit_code == 3);
  CHECK(wrong.output == shapes.string() +
                            ": 1 problem\n\n"
                            "  the file is neither a PNG nor a JPEG picture\n"
                            "    where: " +
                            (shapes / "config.json").string() +
                            "\n"
                            "    help:  save the picture as PNG or JPEG\n");
  CHECK(refused_with(2, {"validate", "--image", star}, folder.path()) ==
        "attn-cli: --text or --image is given without --model\n"
        "  where: attn-cli validate\n"
        "  help:  name the checkpoint folder that reads it with --model\n");
}

TEST_CASE("explain takes a query by its patch or its token") {
  const TemporaryFolder folder;
  const auto explain = [&](const std::string& query) {
    return attn_cli({"explain", "--model", shapes.string(), "--image", star, "--query", query},
                    folder.path());
  };
  const Outcome patch = explain("2,3");
  CHECK(patch.exit_code == 0);
  CHECK(patch.output.find("\"2,3\"") != std::string::npos);
  CHECK(explain("[CLS]").output == explain("0").output);
  const Outcome none = explain("2,30");
  CHECK(none.exit_code == 3);
  CHECK(none.errors ==
        "attn-cli: no query is called \"2,30\"\n"
        "  where: --query\n"
        "  help:  give a row from 0 to 7 and a column from 0 to 7, such as 7,7\n");
}

TEST_CASE("similarities of pictures and texts are a map of theirs, with labels and lines") {
  const TemporaryFolder folder;
  folder.write("labels.json", R"({"query":["star","ring"],"key":["blue star","red ring"]})");
  REQUIRE(attn_cli({"run", "--model", shapes.string(), "--image", star, "--image",
                    (shapes / "red_ring.png").string(), "--text", "blue star", "--text", "red ring",
                    "--plots", "none", "--out", "r"},
                   folder.path())
              .exit_code == 0);
  for (const std::string kind : {"heatmap", "lines"}) {
    CAPTURE(kind);
    const Outcome drawn = attn_cli(
        {"plot", kind, "r", "--name", "similarity", "--labels", "labels.json", "--out", "s.svg"},
        folder.path());
    CHECK(drawn.exit_code == 0);
    const std::string picture = read_text(folder / "s.svg");
    for (const char* word : {">Picture<", ">Text<", ">blue star<", ">ring<"}) {
      CAPTURE(word);
      CHECK(picture.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("the weights by distance of a causal model end at the query itself") {
  const TemporaryFolder folder;
  folder.write("texts.txt", "The peace of the world.\n");
  CHECK(attn_cli({"heads", "--model", std::string(ATTN_DATA) + "/speeches", "--corpus", "texts.txt",
                  "--plots", "heads", "--format", "svg", "--out", "means", "--quiet"},
                 folder.path())
            .exit_code == 0);
  const std::string drawn = read_text(folder / "means/by_offset.svg");
  // Nine tokens with the one that begins the text: distances of 0 to 8.
  CHECK(drawn.find("16 queries × 9 keys") != std::string::npos);
  CHECK(drawn.find("hidden") == std::string::npos);
}

TEST_CASE("few heads say what is lost without them to two decimals") {
  const TemporaryFolder folder;
  CHECK(attn_cli({"heads", "--model", std::string(ATTN_DATA) + "/speeches", "--text",
                  "The peace of the world. The peace of the", "--without-heads-of", "0,1,2,3",
                  "--plots", "heads", "--format", "svg", "--out", "lost", "--quiet"},
                 folder.path())
            .exit_code == 0);
  const std::string drawn = read_text(folder / "lost/heads.without.svg");
  CHECK(drawn.find(">4.15<") != std::string::npos);
  CHECK(drawn.find(">0.28<") != std::string::npos);
  CHECK(drawn.find(">·<") == std::string::npos);
}
