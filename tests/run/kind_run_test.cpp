#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/run.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace {

TEST_CASE("a tensor that a model's result has not is refused before the model is computed") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.model = std::filesystem::path(ATTN_DATA) / "speeches";
  options.document.texts = {{"The state of the Union", {}}};
  options.out = folder / "out";
  options.plots = {};
  std::size_t computed = 0;
  options.progress = [&](std::size_t, std::size_t) { ++computed; };
  options.document.threads = 1;
  options.only = {"self.weights", "layers.0.cross.weights"};
  CHECK(error_from([&] { attn::run(options); }) ==
        "the result has no tensor \"layers.0.cross.weights\"\n  where: RunOptions::only\n"
        "  help:  did you mean \"layers.0.self.weights\"?");
  CHECK(computed == 0);
  options.only = {"self.weights", "output"};
  CHECK(error_from([&] { attn::run(options); }) == "no error");
  CHECK(computed > 0);
}

}  // namespace
