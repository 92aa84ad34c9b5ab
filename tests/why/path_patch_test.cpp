#include "why/path_patch.hpp"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "why/patch_sweep.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

constexpr DifferenceTokens three_minus_five{3, 5};

PathEffects effects_of(StoredCircuits& own, const PathChoice& choice) {
  std::vector<std::int64_t> other = own.text.ids.front();
  for (std::size_t i = 0; i + 1 < other.size(); ++i) other[i] = (other[i] + 3) % 20;
  own.options.patch = Patch{other, {}};
  const PathEffects effects = patch_paths(own.pass(), choice, three_minus_five);
  own.options.patch.reset();
  return effects;
}

TEST_CASE("direct paths between heads and to the logits are those of TransformerLens") {
  std::size_t count = 0;
  for (const char* name : stored_models) {
    CAPTURE(name);
    StoredCircuits own(name);
    // All but GPT-2 have norms, rotations or a softmax in single precision there.
    const double tolerance = std::string(name).starts_with("gpt2") ? 1e-10 : 1e-5;
    const PathEffects effects = effects_of(own, {});
    // By end, a row for each sender.
    std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, std::vector<double>>> found;
    for (const PatchedPath& path : effects.paths) {
      const std::string end =
          path.to ? std::string(patched_parts()[static_cast<std::size_t>(path.input)].name)
                  : "logits";
      found[end][{path.from.layer, path.from.head.value()}].push_back(path.difference);
    }
    for (const char* end : {"logits", "queries", "keys", "values"}) {
      CAPTURE(end);
      const JsonValue& rows = *own.numbers.find("paths")->find(end);
      REQUIRE(found[end].size() == rows.size());
      std::size_t n = 0;
      for (const auto& [sender, differences] : found[end]) {
        CAPTURE(n);
        check_stored(differences, rows.element(n++), tolerance);
        count += differences.size();
      }
    }
  }
  CHECK(count > 300);
}

TEST_CASE("with the weights kept, paths end in values, and those of the last layer are the same") {
  StoredCircuits own("llama_grouped");
  const std::size_t last = own.model.architecture.stacks.back().layers.size() - 1;
  const PathEffects all = effects_of(own, {}),
                    kept = effects_of(own, {true, std::vector<ModelPlace>(), true});
  const auto value_paths = [&](const PathEffects& effects) {
    std::vector<PatchedPath> paths;
    for (const PatchedPath& path : effects.paths) {
      if (path.to && path.input == PatchedPart::values) paths.push_back(path);
    }
    return paths;
  };
  const std::vector<PatchedPath> free = value_paths(all), frozen = value_paths(kept);
  REQUIRE(free.size() == frozen.size());
  REQUIRE(!free.empty());
  for (std::size_t i = 0; i < free.size(); ++i) {
    CHECK(free[i].to == frozen[i].to);
    // No layer above the last one chooses other weights.
    if (free[i].to->layer == last) {
      CHECK(std::abs(free[i].difference - frozen[i].difference) < 1e-12);
    }
  }
  CHECK(kept.paths.size() ==
        frozen.size() + (last + 1) * own.model.architecture.heads);  // and to the logits
}

TEST_CASE("chosen ends of paths have the numbers that they have among all") {
  StoredCircuits own("llama_grouped");
  const ModelPlace head = ModelPlace::parse("1.3").value();
  const PathEffects all = effects_of(own, {}),
                    chosen = effects_of(own, {false, std::vector<ModelPlace>{head}});
  const std::size_t heads = own.model.architecture.heads;
  REQUIRE(chosen.paths.size() == 3 * heads);
  std::size_t found = 0;
  for (const PatchedPath& path : all.paths) {
    for (const PatchedPath& one : chosen.paths) {
      if (path.from != one.from || path.to != one.to || path.input != one.input) continue;
      CHECK(path.difference == one.difference);
      ++found;
    }
  }
  CHECK(found == chosen.paths.size());
}

TEST_CASE("where nothing follows a head, its path to the logits is all that its patch changes") {
  StoredCircuits own("gpt_neox_pythia_f16");  // whose feed-forward reads what enters the layer
  const PathEffects direct = effects_of(own, {true, std::nullopt});
  std::vector<std::int64_t> other = own.text.ids.front();
  for (std::size_t i = 0; i + 1 < other.size(); ++i) other[i] = (other[i] + 3) % 20;
  own.options.patch = Patch{other, {}};
  const std::vector<std::vector<double>> patched =
      sweep(own.pass(), {}, three_minus_five).parts[0].patched;
  const std::size_t heads = own.model.architecture.heads;
  REQUIRE(direct.paths.size() == patched.size() * heads);
  for (std::size_t h = 0; h < heads; ++h) {
    const PatchedPath& path = direct.paths[(patched.size() - 1) * heads + h];
    CHECK(!path.to);
    CHECK(std::abs(path.difference - patched.back()[h]) < 1e-12);
  }
}

TEST_CASE("models that read tokens by more than attention have no paths") {
  StoredCircuits own("gpt2_bare_names");
  own.folder = own.folder.parent_path() / "qwen3_next_delta_rule";
  own.model = ModelFolder::open(own.folder / "checkpoint", std::nullopt, {});
  CHECK(error_from([&] { effects_of(own, {}); }) ==
        "paths are those of models whose layers read tokens by their own attention alone\n  where: "
        "/model\n  help:  leave paths out, or patch parts one at a time");
}

}  // namespace
}  // namespace attn
