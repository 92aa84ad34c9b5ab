#include "batch/grouped_warnings.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace attn;

using Texts = std::vector<std::string>;

TEST_CASE("warnings that differ in numbers and quoted names are one kind, of its first document") {
  GroupedWarnings warnings;
  CHECK(warnings.texts().empty());
  warnings.add("c", {"3 queries see nothing", "4 queries see nothing"});
  warnings.add("b", {R"(the key "x" is ignored)", "5 queries see nothing"});
  warnings.add("d", {});
  warnings.add("a", {R"(the key "y: 2" is ignored)", "another"});
  warnings.add("e", {R"(the key "z" is ignored)"});
  CHECK(warnings.texts() == Texts{"4 documents have warnings; each kind is shown once",
                                  R"(a and 2 more: the key "y: 2" is ignored)",
                                  "b and 1 more: 5 queries see nothing", "a: another"});
}

TEST_CASE("the five most frequent kinds of warnings are shown, and the others counted") {
  GroupedWarnings warnings;
  warnings.add("a", {"one", "two", "three", "four", "five", "six", "seven"});
  CHECK(warnings.texts() == Texts{"1 document has warnings", "a: five", "a: four", "a: one",
                                  "a: seven", "a: six",
                                  "… and 2 more kinds of warnings, in the results"});
}
