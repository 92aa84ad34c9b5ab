#include <algorithm>
#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

// What the system's loader reports of a command: the libraries that it loads.
std::string loaded(const TemporaryFolder& folder, const std::string& arguments) {
  const Outcome outcome = shell("LD_DEBUG=files LD_DEBUG_OUTPUT=loaded \"$ATTN\" " + arguments +
                                    " >printed && cat loaded.* && rm loaded.*",
                                folder.path());
  CAPTURE(arguments);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  REQUIRE(outcome.output.find("calling init: ") != std::string::npos);
  return outcome.output;
}

bool names_any(const std::string& report, std::initializer_list<const char*> libraries) {
  return std::ranges::any_of(
      libraries, [&](const char* library) { return report.find(library) != std::string::npos; });
}

}  // namespace

TEST_CASE("commands that draw nothing load no library of drawing, and none of archives") {
  if (is_missing("ldd")) return;
  const TemporaryFolder folder;
  const std::string document = ATTN_DATA "/causal.json";
  for (const std::string& arguments :
       {"run " + document + " --plots none --out result", "validate " + document,
        std::string("show result/result.json"), std::string("view result --out page.html"),
        std::string("compare result/result.json result/result.json"),
        std::string("heads result/result.json --out heads"), std::string("list"),
        std::string("run --help"), std::string("--version"), std::string("completion bash")}) {
    const std::string report = loaded(folder, arguments);
    CAPTURE(arguments);
    CHECK(!names_any(report, {"libpango", "libcairo", "libX11", "libglib", "libfontconfig"}));
    CHECK(!names_any(report, {"libzip", "libcrypto"}));
  }
}

TEST_CASE("a picture loads the libraries of drawing, and an archive that of archives") {
  if (is_missing("ldd")) return;
  const TemporaryFolder folder;
  CHECK(names_any(loaded(folder, "run " ATTN_DATA "/causal.json --plots heatmap --out result"),
                  {"libpangocairo"}));
  CHECK(names_any(
      loaded(folder, "run " ATTN_DATA "/causal.json --plots none --tensors npz --out result"),
      {"libzip"}));
}
