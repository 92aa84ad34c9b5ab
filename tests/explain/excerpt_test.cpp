#include <doctest/doctest.h>

#include "explain/explanation.hpp"

namespace {

using attn::Excerpt;
using Indices = std::vector<std::size_t>;

}  // namespace

TEST_CASE("of few things all are shown, of many the first and the last") {
  CHECK(Excerpt(3, 3, 1, 1).indices() == Indices{0, 1, 2});
  CHECK(Excerpt(4, 3, 1, 1).indices() == Indices{0, 3});
  CHECK(Excerpt(4, 2, 2, 0).indices() == Indices{0, 1});
  CHECK(Excerpt(4, 2, 3, 3).indices() == Indices{0, 1, 2, 3});
  CHECK(Excerpt::all(2).indices() == Indices{0, 1});
  CHECK(Excerpt(0, 3, 1, 1).indices().empty());
}

TEST_CASE("what is left out is counted, around one that is shown in between too") {
  Excerpt excerpt(10, 5, 2, 1);
  CHECK(excerpt.skipped_before(2) == 7);
  excerpt.include(5);
  excerpt.include(0);
  CHECK(excerpt.indices() == Indices{0, 1, 5, 9});
  CHECK(excerpt.skipped_before(0) == 0);
  CHECK(excerpt.skipped_before(2) == 3);
  CHECK(excerpt.skipped_before(3) == 3);
  CHECK(excerpt.skipped_before(4) == 0);
  CHECK(Excerpt(4, 2, 2, 0).skipped_before(2) == 2);
}
