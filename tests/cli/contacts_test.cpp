#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

std::string case_of(const char* name) {
  return (fs::path(ATTN_TEST_DATA) / "models" / "cases" / name / "input.json").string();
}

}  // namespace

TEST_CASE("heads predicts the contacts of a protein and draws them") {
  const TemporaryFolder folder;
  const Outcome heads = attn_cli(
      {"heads", case_of("esm_contacts"), "--analyses", "contacts", "--plots", "all", "--out", "r"},
      folder.path());
  CHECK(heads.errors == "");
  REQUIRE(heads.exit_code == 0);
  CHECK(attn::TensorFile::open(folder / "r" / "result.json").read("contacts").shape() ==
        attn::Shape{2, 7, 7});
  CHECK(fs::exists(folder / "r" / "contacts.png"));
}

TEST_CASE("contacts can be the only tensor of a result, also of one without weights") {
  const TemporaryFolder folder;
  for (const char* flag : {"--quiet", "--no-weights"}) {
    const Outcome outcome = attn_cli({"run", case_of("esm_contacts"), "--only", "contacts",
                                      "--plots", "none", "--out", "r", flag},
                                     folder.path());
    CHECK(outcome.errors == "");
    const attn::TensorFile file = attn::TensorFile::open(folder / "r" / "result.json");
    CHECK(file.read("contacts").shape() == attn::Shape{2, 7, 7});
    CHECK(file.names() == std::vector<std::string>{"contacts"});
  }
}

TEST_CASE("whether contacts are written does not depend on the pictures") {
  const TemporaryFolder folder;
  for (const char* plots : {"none", "heatmap"}) {
    REQUIRE(
        attn_cli({"run", case_of("esm_contacts"), "--no-weights", "--plots", plots, "--out", "r"},
                 folder.path())
            .exit_code == 0);
    CHECK_THROWS(attn::TensorFile::open(folder / "r" / "result.json").read("contacts"));
  }
}

TEST_CASE("contacts are there where all layers are chosen by name") {
  const std::string model = fs::path(case_of("esm_contacts")).parent_path() / "checkpoint";
  const auto result_of = [&](const std::string& layers) {
    return attn_cli({"run", "-", "--plots", "none", "--out", "-"}, ".",
                    R"({"model": ")" + model + R"(", "token_ids": [[0, 5, 7, 9, 2]], "layers": )" +
                        layers + "}")
        .output;
  };
  CHECK(result_of("[0, 1]").find("\"contacts\"") != std::string::npos);
  CHECK(result_of("[1]").find("\"contacts\"") == std::string::npos);
}

TEST_CASE("contacts are refused where they cannot be predicted") {
  CHECK(
      attn_cli({"heads", case_of("esm_rotary"), "--analyses", "contacts"}).errors ==
      "attn-cli: the checkpoint has no head that predicts contacts\n  where: --analyses\n  help:  "
      "leave contacts out, or use an ESM whose file has \"contact_head\"\n");
  const std::string model = fs::path(case_of("esm_contacts")).parent_path() / "checkpoint";
  CHECK(attn_cli({"heads", "-", "--analyses", "contacts"}, ".",
                 R"({"model": ")" + model + R"(", "token_ids": [[0, 5, 7, 9, 2]], "layers": 0})")
            .errors ==
        "attn-cli: contacts are predicted from the weights of all layers\n  where: "
        "/layers\n  help:  leave the layers out\n");
}
