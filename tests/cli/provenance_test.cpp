#include <string>

#include <doctest/doctest.h>

#include "attn/cpu.hpp"
#include "attn/version.hpp"

#include "cli/program.hpp"
#include "plot/pdf_text.hpp"
#include "temporary_folder.hpp"

namespace {

using attn::test::pdf_text;

// The last that this machine has, and not the one that is used unasked.
const std::string target(attn::cpu_targets().back());

// Hashes of these bytes as `xxh128sum` prints them.
const std::string scores_document = R"({"attention": "softmax", "scores": [[1, 2], [3, 4]]})";
const std::string document_hash = "7f9e2928a9057dbc0315de5ea2d341c6";

struct File {
  const char *name, *text, *hash;
};

// So for the files of pictures.
constexpr File weights_file{"weights.json", "[[0.25, 0.75]]", "3ef7cf6f94789992fa5b1f329f0351b3"};
constexpr File other_file{"other.json", R"({"weights": [[0.5, 0.5]]})",
                          "40ac32beb618157ec3a254f499251278"};
constexpr File labels_file{"labels.json", R"({"query": ["a"], "key": ["b", "c"]})",
                           "300b6867dab4398e792e60163400f60c"};
constexpr File result_file{"result.json", R"({"tensors": {"weights": {"file": "weights.json"}}})",
                           "95b89d96ed0224e604d45fb0465b64bd"};

std::string hash_text(const File& file) {
  return "; " + std::string(file.name) + " xxh128:" + file.hash;
}

std::string provenance_of(const TemporaryFolder& folder, const std::string& flags) {
  folder.write("document.json", scores_document);
  const Outcome outcome = shell(
      "\"$ATTN\" run document.json --cpu " + target + " --plots heatmap --out out --quiet " + flags,
      folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  return read_text(folder / "out/result.json");
}

}  // namespace

TEST_CASE("a result tells its program, CPU target and inputs if it is asked to") {
  const TemporaryFolder folder;
  const std::string result = provenance_of(folder, "--provenance");
  CHECK(result.find("  \"provenance\": {\n    \"program\": \"attn-cli " ATTN_VERSION
                    "\",\n    \"cpu_target\": \"" +
                    target +
                    "\",\n    \"inputs\": {\n"
                    "      \"document.json\": \"xxh128:" +
                    document_hash + "\"\n    }\n  }") != std::string::npos);
  CHECK(provenance_of(folder, "").find("provenance") == std::string::npos);
}

TEST_CASE("files that a document names are hashed too") {
  const TemporaryFolder folder;
  folder.write("scores.json", "[[1, 2]]");
  folder.write("named.json", R"({"attention": "softmax", "scores": {"file": "scores.json"}})");
  const Outcome outcome =
      attn_cli({"run", "named.json", "--provenance", "--plots", "none", "--quiet"}, folder.path());
  CHECK(outcome.exit_code == 0);
  const std::string result = read_text(folder / "attention_results/result.json");
  CHECK(result.find("\"named.json\": \"xxh128:") != std::string::npos);
  CHECK(result.find("\"scores.json\": \"xxh128:") != std::string::npos);
}

TEST_CASE("pictures of every format keep the provenance in their metadata, or do not change") {
  const std::string expected = "CPU target " + target + "; document.json xxh128:" + document_hash;
  for (const std::string format : {"png", "svg", "pdf"}) {
    CAPTURE(format);
    const TemporaryFolder folder;
    const auto picture = [&](const std::string& flags) {
      provenance_of(folder, "--format " + format + " " + flags);
      return read_text(folder / ("out/heatmap." + format));
    };
    const std::string plain = picture("");
    const std::string marked = picture("--provenance");
    CHECK(marked != plain);
    CHECK(marked == picture("--provenance"));
    CHECK(plain == picture(""));
    CHECK(pdf_text(plain).find("xxh128") == std::string::npos);
    CHECK(pdf_text(marked).find(expected) != std::string::npos);
  }
}

TEST_CASE("the metadata of pictures stay well-formed whatever files are called") {
  const TemporaryFolder folder;
  const std::string name = "]]><a>&\x01\n\xFF \xEF\xBF\xBF.json";
  folder.write(name, weights_file.text);
  const std::string escaped = R"(\x01\n\xff \uffff.json xxh128:)";
  for (const std::string format : {"png", "svg", "pdf"}) {
    CAPTURE(format);
    const Outcome outcome =
        attn_cli({"plot", "heatmap", name, "--provenance", "--out", "p." + format}, folder.path());
    CHECK(outcome.exit_code == 0);
    const std::string picture = read_text(folder / ("p." + format));
    CHECK(!picture.empty());
    if (format == "pdf") continue;  // which writes some characters in its own way
    CHECK(picture.find((format == "svg" ? "]]&gt;&lt;a&gt;&amp;" : "]]><a>&") + escaped) !=
          std::string::npos);
  }
}

TEST_CASE("a picture of numbers that exist tells every file it was drawn from if it is asked to") {
  const TemporaryFolder folder;
  for (const File& file : {weights_file, other_file, labels_file, result_file})
    folder.write(file.name, file.text);
  folder.write("document.json", scores_document);
  const auto picture = [&](const std::string& words) {
    const Outcome outcome =
        shell("\"$ATTN\" plot " + words + " --cpu " + target + " --out picture.svg", folder.path());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    return read_text(folder / "picture.svg");
  };
  const std::string heatmap = "heatmap result.json --labels labels.json";
  const std::string plain = picture(heatmap);
  CHECK(plain.find("xxh128") == std::string::npos);
  std::string marked = picture(heatmap + " --provenance");
  const std::string all = "; CPU target " + target + hash_text(result_file) +
                          hash_text(weights_file) + hash_text(labels_file);
  CAPTURE(marked.substr(0, 600));
  REQUIRE(marked.find(all) != std::string::npos);
  CHECK(marked.erase(marked.find(all), all.size()) == plain);

  CHECK(picture("comparison weights.json other.json --provenance")
            .find("; CPU target " + target + hash_text(weights_file) + hash_text(other_file)) !=
        std::string::npos);
}

TEST_CASE("the picture of a document's mask tells the document if it is asked to") {
  const TemporaryFolder folder;
  folder.write("document.json", scores_document);
  const Outcome outcome =
      shell("\"$ATTN\" plot mask document.json --provenance --out mask.svg", folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(read_text(folder / "mask.svg").find("; document.json xxh128:" + document_hash) !=
        std::string::npos);
}

TEST_CASE("the picture of a difference tells both files if it is asked to") {
  const TemporaryFolder folder;
  for (const File& file : {weights_file, other_file}) folder.write(file.name, file.text);
  const auto picture = [&](const std::string& flags) {
    const Outcome outcome = shell("\"$ATTN\" compare weights.json other.json --cpu " + target +
                                      " --plot picture.svg " + flags,
                                  folder.path());
    CHECK(outcome.exit_code == 1);
    return read_text(folder / "picture.svg");
  };
  CHECK(picture("").find("xxh128") == std::string::npos);
  CHECK(picture("--provenance")
            .find("; CPU target " + target + hash_text(weights_file) + hash_text(other_file)) !=
        std::string::npos);
}

TEST_CASE("a comparison without a picture has nowhere to tell its provenance") {
  CHECK(refused_with(2, {"compare", "a.json", "b.json", "--provenance"}) ==
        "attn-cli: --provenance has no effect without --plot\n"
        "  where: --provenance\n"
        "  help:  add --plot, or leave it out\n");
}
