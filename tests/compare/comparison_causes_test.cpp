#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/compare.hpp"
#include "attn/tensor.hpp"

#include "compare/compared_files.hpp"
#include "temporary_folder.hpp"

namespace {

using attn::Tensor;

}  // namespace

TEST_CASE("places that differ are told what they may come from") {
  const TemporaryFolder folder;
  const Tensor ours = numbered();  // [B,H,L,D] = [2,4,3,2]
  const auto told = [&](const auto& differs) {
    std::vector<float> changed(ours.values<float>().begin(), ours.values<float>().end());
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (differs(i / 6 % 4, i / 2 % 3)) changed[i] += static_cast<float>(i * i + 1);
    }
    return attn::comparison_text(
        compare(folder, {{"output", ours}}, {{"output", Tensor(ours.shape(), changed)}}));
  };
  const std::string causal =
      "\n    only in queries 0–1 of 3\n    the last query alone agrees: one of both may lack a "
      "causal mask, which hides no key from it\n";
  CHECK(told([](std::size_t, std::size_t query) { return query < 2; }).find(causal) !=
        std::string::npos);
  CHECK(
      told([](std::size_t, std::size_t query) { return query > 0; })
          .find("\n    only in queries 1–2 of 3\n    query 0 alone agrees: under a causal mask it "
                "sees one key, whatever its score is; look at scale, softcap, and positions\n") !=
      std::string::npos);
  CHECK(told([](std::size_t, std::size_t query) { return query == 1; }).find("alone agree") ==
        std::string::npos);
  const std::string repeated =
      "\n    only in heads 1–2 of 4\n    one of both may repeat 2 key heads in another order: "
      "query "
      "head h reads key head h // 2, as repeat_interleave does\n";
  CHECK(told([](std::size_t head, std::size_t) { return head == 1 || head == 2; }).find(repeated) !=
        std::string::npos);
  CHECK(told([](std::size_t head, std::size_t) { return head > 1; }).find("may repeat") ==
        std::string::npos);
}

TEST_CASE("queries that agree before or after all that differ are told the window of it") {
  const TemporaryFolder folder;
  const std::vector<float> zeros(8, 0);
  const auto told = [&](std::size_t first, std::size_t end) {
    std::vector<float> changed = zeros;
    for (std::size_t i = first; i < end; ++i) changed[i] = static_cast<float>(i + 1);
    const Tensor ours({1, 1, 8, 1}, zeros), theirs({1, 1, 8, 1}, changed);
    return attn::comparison_text(compare(folder, {{"output", ours}}, {{"output", theirs}}));
  };
  CHECK(
      told(3, 8).find("\n    only in queries 3–7 of 8\n    the first 3 queries alone agree: a "
                      "causal window may be 3 keys wide in one of both, \"window\": {\"left\": "
                      "2}, as \"left\" does not count the query itself, or the keys from 3 on are "
                      "hidden in one of both, \"valid_lens\"\n") != std::string::npos);
  CHECK(told(0, 5).find("\n    only in queries 0–4 of 8\n    the last 3 queries alone agree: a "
                        "window may end 2 keys after the query in one of both, \"window\": "
                        "{\"right\": 2}, or the causal mask of 2 more queries than keys is missing "
                        "in one of both\n") != std::string::npos);
  CHECK(told(2, 6).find("alone agree") == std::string::npos);
}

TEST_CASE("causal masks that begin at other corners are told by the weights") {
  const TemporaryFolder folder;
  const Tensor upper({1, 1, 2, 3}, std::vector<float>{1, 0, 0, 0.5, 0.5, 0}),
      lower({1, 1, 2, 3}, std::vector<float>{0.5, 0.5, 0, 0.25, 0.25, 0.5});
  const auto told = [&](const Tensor& a, const Tensor& b) {
    return attn::comparison_text(compare(folder, {{"weights", a}}, {{"weights", b}}));
  };
  CHECK(
      told(upper, lower)
          .find("\n    by what has a weight, the causal masks begin at other corners: \"align\" is "
                "\"upper_left\" in the first one and \"lower_right\" in the second; write the one "
                "that "
                "is meant into \"mask\"\n") != std::string::npos);
  CHECK(told(lower, upper)
            .find("\"align\" is \"lower_right\" in the first one and "
                  "\"upper_left\" in the second") != std::string::npos);
  const Tensor whole({1, 1, 2, 3}, std::vector<float>{0.25, 0.25, 0.5, 0.5, 0.25, 0.25});
  CHECK(told(upper, whole).find("corners") == std::string::npos);
}
