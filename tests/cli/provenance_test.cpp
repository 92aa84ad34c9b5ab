#include <string>

#include <doctest/doctest.h>

#include "attn/attn.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

// What `xxh128sum` prints for these bytes.
const std::string document = R"({"attention": "softmax", "scores": [[1, 2], [3, 4]]})";
const std::string document_hash = "7f9e2928a9057dbc0315de5ea2d341c6";

std::string provenance_of(const TemporaryFolder& folder, const std::string& flags) {
  folder.write("document.json", document);
  const Outcome outcome =
      shell("\"$ATTN\" run document.json --cpu scalar --plots heatmap --out out --quiet " + flags,
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
                    "\",\n    \"cpu_target\": \"scalar\",\n    \"inputs\": {\n"
                    "      \"document.json\": \"xxh128:" +
                    document_hash + "\"\n    }\n  }") != std::string::npos);
  CHECK(provenance_of(folder, "").find("provenance") == std::string::npos);
}

TEST_CASE("files that a document names are told too") {
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
  const std::string told = "CPU target scalar; document.json xxh128:" + document_hash;
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
    CHECK(plain.find("xxh128") == std::string::npos);
    CHECK(marked.find(told) != std::string::npos);
  }
}
