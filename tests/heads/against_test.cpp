#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

HeadsOptions options_of(const fs::path& input) {
  HeadsOptions options;
  options.document.input = input;
  return options;
}

constexpr const char* compare_alike =
    "\n  where: compare_heads()\n  help:  compare inputs with the same heads over the same tokens";

}  // namespace

TEST_CASE("heads of two results are compared row by row") {
  const TemporaryFolder folder;
  const fs::path a = folder.write("a.json", R"({"weights":[[0.5,0.5],[0.25,0.75]]})");
  const fs::path b = folder.write("b.json", R"({"weights":[[0.25,0.75],[0.75,0.25]]})");
  HeadsOptions options = options_of(a);
  options.out = folder / "out";
  options.plots = true;
  const HeadsAgainst found = compare_heads(options, b);
  REQUIRE(found.attentions.size() == 1);
  const std::vector<double>& head = found.attentions[0].heads.at(0);
  CHECK(head[0] == doctest::Approx(std::log(2) / 2));
  CHECK(head[1] == 0.375);
  CHECK(head[2] == 0.5);
  CHECK(head[3] == 1);
  CHECK(against_csv(found) ==
        "layer,stack,head,divergence,total_variation,largest_difference,"
        "other_strongest\n,,0,0.34657359027997264,0.375,0.5,1\n");
  CHECK(against_text(found).starts_with(
      "  head  divergence  total variation  largest difference  other strongest key\n"
      "  0          0.347            0.375               0.500                1.000\n"));
  for (const char* name :
       {"against.csv", "against.json", "against.divergence.png", "against.other_strongest.png"}) {
    CHECK(fs::exists(folder / "out" / name));
  }
  const HeadsAgainst same = compare_heads(options_of(a), a);
  CHECK(same.attentions[0].heads[0] == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("the first place where the tokens of two inputs differ is named") {
  const TemporaryFolder folder;
  const auto result = [&](const std::string& name, const std::string& query,
                          const std::string& key) {
    return folder.write(name, R"({"format":1,"labels":{"query":)" + query + R"(,"key":)" + key +
                                  R"(},"tensors":{"weights":[[[[0.5,0.5]]],[[[1,0]]]]}})");
  };
  const auto warnings = [&](const fs::path& a, const fs::path& b) {
    return compare_heads(options_of(a), b).warnings;
  };
  using Warnings = std::vector<std::string>;
  const fs::path a = result("a.json", R"([["x"],["y"]])", R"([["a","b"],["c","d"]])");
  const std::string differ = "the tokens of the two inputs differ: ";
  CHECK(warnings(a, a).empty());
  CHECK(warnings(a, result("b.json", R"([["x"],["z"]])", R"([["a","b"],["c","e"]])")) ==
        Warnings{differ + R"(sample 1, query 0 is "y" here and "z" there)"});
  CHECK(warnings(a, result("c.json", R"([["x"],["z"]])", R"([["a","c"],["c","d"]])")) ==
        Warnings{differ + R"(sample 0, key 1 is "b" here and "c" there)"});
  // Of other files no tokens are known.
  CHECK(warnings(a, folder.write("d.json", R"({"weights":[[[[0.5,0.5]]],[[[1,0]]]]})")).empty());
}

TEST_CASE("what changes a model changes the first of two that are compared, not the other") {
  const fs::path trained = fs::path(ATTN_DATA) / "speeches";
  HeadsOptions whole;
  whole.document.model = trained;
  whole.document.texts = {{"The peace of the world", std::nullopt}};
  const auto differs = [&](const HeadsOptions& options) {
    for (const AttentionHeads& attention : compare_heads(options, trained).attentions) {
      for (const std::vector<double>& head : attention.heads) {
        if (head[1] > 0) return true;
      }
    }
    return false;
  };
  CHECK(!differs(whole));
  HeadsOptions off = whole, means = whole, patched = whole, adapted = whole;
  off.document.heads_off = {"1.1"};
  CHECK(differs(off));
  means.document.heads_off = {"1.1"};
  means.document.ablate = "mean";
  means.document.ablate_over = {"The war of the country"};
  CHECK(differs(means));
  patched.document.patch = "The peace of the people";
  patched.document.patch_at = {"0.attention"};
  CHECK(differs(patched));
  const fs::path base = cases / "gpt2_bare_names" / "checkpoint";
  adapted.document.model = base;
  adapted.document.texts.clear();
  adapted.document.token_ids = {{7, 12, 8, 13}};
  adapted.document.adapter = fs::path(ATTN_TEST_DATA) / "models" / "adapters" / "gpt2_rslora";
  const HeadsAgainst merged = compare_heads(adapted, base);
  CHECK(merged.attentions.back().heads.at(0).at(1) > 0);
}

TEST_CASE("heads of two models are compared over the same tokens, and others are refused") {
  const HeadsOptions options = options_of(cases / "gpt2_bare_names" / "input.json");
  const HeadsAgainst same = compare_heads(options, cases / "gpt2_bare_names" / "checkpoint");
  CHECK(same.attentions.size() > 1);
  for (const AttentionHeads& attention : same.attentions) {
    for (const std::vector<double>& head : attention.heads) {
      CHECK(head == std::vector<double>{0, 0, 0, 0});
    }
  }
  const TemporaryFolder folder;
  folder.write("result.json", R"({"tensors":{"weights":[[1]]}})");
  CHECK(error_from([&] { compare_heads(options, folder.path()); }, ErrorKind::usage) ==
        "\"" + folder.path().string() +
            "\" is a result, and is compared with a model\n  where: compare_heads()\n  help:  name "
            "another model, or run this model too and compare both results");
  const fs::path two = folder.write("two.json", R"({"weights":[[0.5,0.5],[0.25,0.75]]})");
  const fs::path one = folder.write("one.json", R"({"weights":[[0.5,0.5]]})");
  CHECK(error_from([&] { compare_heads(options_of(two), one); }) ==
        std::string("the weights of \"weights\" are [1,1,2,2] here and [1,1,1,2] there") +
            compare_alike);
  HeadsOptions analyses = options_of(two);
  analyses.analyses = {HeadAnalysis::rollout};
  CHECK(error_from([&] { compare_heads(analyses, two); }, ErrorKind::usage) ==
        "only statistics of the comparison are computed where two inputs are compared\n"
        "  where: HeadsOptions::analyses\n"
        "  help:  leave it out, or read each of the two inputs");
}

}  // namespace attn
