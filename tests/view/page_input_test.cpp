#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attention/visibility.hpp"
#include "document/mask_reader.hpp"
#include "tensor/operations.hpp"
#include "view/page_input.hpp"

namespace attn {
namespace {

using Sentences = std::vector<std::string>;

PlannedAttention planned(Mask mask) {
  PlannedAttention attention;
  attention.mask = std::move(mask);
  attention.geometry.batch_axis = attention.geometry.head_axis = true;
  attention.geometry.batch = 2;
  attention.geometry.queries = attention.geometry.keys = 4;
  return attention;
}

std::vector<Sentences> reasons_of(Mask mask) {
  const PlannedAttention attention = planned(std::move(mask));
  AttentionMap map;
  map.planned = &attention;
  return hidden_reasons(map);
}

// Reasons for a map of files of which the seen cells alone are known.
std::vector<Sentences> apparent(const Tensor& allowed, std::size_t samples, bool same_positions) {
  AttentionMap map;
  map.numbers = shape_only({samples, 1, 1, 1});
  map.allowed = allowed;
  map.same_positions = same_positions;
  return hidden_reasons(map);
}

Tensor seen(Shape shape, std::vector<std::uint8_t> cells) {
  return {std::move(shape), std::move(cells)};
}

}  // namespace

TEST_CASE("each part of a mask that hides a key of a sample is told, and no other") {
  Mask mask;
  mask.causal = true;
  mask.valid_lens = Tensor({2}, std::vector<std::int64_t>{4, 2});
  const auto reasons = reasons_of(mask);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0] == Sentences{"causal: keys after the query"});
  CHECK(reasons[1] ==
        Sentences{"causal: keys after the query", "valid_lens: keys beyond the valid length"});
  CHECK(reasons_of({}) == std::vector<Sentences>(2));
}

TEST_CASE("every part of a mask that hides keys has words for legends and for the page") {
  for (const HidingPart* part : hiding_parts()) {
    const std::string name(part->name);
    CAPTURE(name);
    CHECK(!hidden_legend(name, {}).empty());
    CHECK(hidden_sentence(name, {}).starts_with(name + ": keys "));
  }
}

TEST_CASE("a window says how far it goes, on the sides that it bounds") {
  const auto of = [](Window window) {
    Mask mask;
    mask.window = window;
    return reasons_of(mask)[0];
  };
  CHECK(of({1, 0}) == Sentences{"window: keys more than 1 before or 0 after the query"});
  CHECK(of({2, {}}) == Sentences{"window: keys more than 2 before the query"});
  CHECK(of({{}, 1}) == Sentences{"window: keys more than 1 after the query"});
  CHECK(of({3, 3}).empty());
}

TEST_CASE("parts that are given cell by cell are told by their names") {
  Mask mask;
  mask.allow = seen({4}, {1, 1, 1, 0});
  mask.block = seen({4, 1}, {1, 0, 0, 0});
  mask.padding = seen({2, 4}, {0, 0, 0, 0, 0, 0, 1, 1});
  const auto reasons = reasons_of(mask);
  CHECK(reasons[0] ==
        Sentences{"allow: keys that are not allowed", "block: keys that are blocked"});
  CHECK(reasons[1] == Sentences{"padding: keys that only fill the sample up",
                                "allow: keys that are not allowed",
                                "block: keys that are blocked"});
}

TEST_CASE("a mask that is known by its cells alone tells what these look like") {
  const Tensor causal = seen({1, 1, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  CHECK(apparent(causal, 2, true) == std::vector<Sentences>(2, {"causal: keys after the query"}));
  CHECK(apparent(causal, 1, false)[0] == Sentences{"other keys that the mask hides"});
  const Tensor padded = seen({2, 1, 2, 3}, {1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0});
  CHECK(apparent(padded, 2, false) ==
        std::vector<Sentences>{{"keys that no query sees, such as those of padding"},
                               {"queries that see no key"}});
  CHECK(apparent({}, 1, true) == std::vector<Sentences>(1));
  CHECK(apparent(seen({1, 1, 1, 1}, {1}), 1, true)[0].empty());
}

}  // namespace attn
