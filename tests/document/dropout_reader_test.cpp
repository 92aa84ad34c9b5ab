#include "document/dropout_reader.hpp"

#include <string>

#include <doctest/doctest.h>

#include "document/document_problems.hpp"

namespace {

std::string with_dropout(const std::string& dropout) {
  return R"({"attention":"sdpa","query":[[1,2],[3,4]],"dropout":)" + dropout + "}";
}

TEST_CASE("dropout outside of training needs no seed") {
  CHECK(problems_of(with_dropout(R"({"p":0.5})")).empty());
  CHECK(problems_of(with_dropout(R"({"p":1,"training":false})")).empty());
}

TEST_CASE(
    "dropout refuses what is no probability, what it does not know, and training without seed") {
  const std::string help =
      "\n  where: doc.json, /dropout/p\n"
      "  help:  give the probability to drop a weight, such as 0.1";
  CHECK(problems_of(with_dropout(R"({"p":1.5})")) ==
        "the probability 1.5 is not between 0 and 1" + help);
  CHECK(problems_of(with_dropout(R"({"p":-0.25})")) ==
        "the probability -0.25 is not between 0 and 1" + help);
  CHECK(problems_of(with_dropout(R"({"training":true})")) == "dropout has no p" + help);
  CHECK(problems_of(with_dropout(R"({"p":0.5,"trainning":true})")) ==
        "unknown key \"trainning\"\n"
        "  where: doc.json, /dropout/trainning\n"
        "  help:  did you mean \"training\"?");
  CHECK(problems_of(with_dropout(R"({"p":0.5,"training":true})")) ==
        "dropout in training needs a seed\n"
        "  where: doc.json, /dropout\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  CHECK(problems_of(R"({"attention":"sdpa","query":[[1],[2,3]],"dropout":{"p":2}})") ==
        "the probability 2 is not between 0 and 1" + help +
            "\n\nrow 1 has 2 numbers, but the row before it has 1\n"
            "  where: doc.json, /query/1\n"
            "  help:  give all rows of a tensor the same length");
}

}  // namespace
