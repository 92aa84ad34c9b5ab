#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "run/run_document.hpp"

// The tables of docs/inside/from-your-library.md: members of documents beside others that give the
// same.

namespace {

// What stands between the first two backticks, without the backslashes that Markdown asks for.
std::string code_in(const std::string& cell) {
  const std::size_t first = cell.find('`'), last = cell.rfind('`');
  if (first == last) return "";
  std::string code;
  for (std::size_t i = first + 1; i < last; ++i) {
    if (cell[i] != '\\' || cell[i + 1] != '|') code += cell[i];
  }
  return code;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells{""};
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

// The page's document with the members in it; four queries of two heads in two samples unless these
// say otherwise.
DocumentResult run_with(const std::string& members) {
  std::string document = R"({"attention": "scaled_dot_product", "seed": 0, )";
  if (members.find("\"query\"") == std::string::npos ||
      members.find("\"query\":") > members.find("\"mask\"")) {
    document += R"("query": {"randn": [2, 2, 4, 8]}, )";
  }
  return run_document(document + members + "}");
}

}  // namespace

TEST_CASE("the words of other libraries mean what the page about them says") {
  std::ifstream page(ATTN_TEST_DATA "/../docs/inside/from-your-library.md");
  std::size_t compared = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ") || line.starts_with("| argument")) continue;
    CAPTURE(line);
    const std::vector<std::string> cells = cells_of(line);
    REQUIRE(cells.size() == 4);
    const std::string here = code_in(cells[1]), same = code_in(cells[2]);
    REQUIRE_FALSE(here.empty());
    const attn::Tensor ours = run_with(here).tensor("output");
    if (same.empty()) continue;
    const attn::Tensor other = run_with(same).tensor("output");
    REQUIRE(ours.shape() == other.shape());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours.values<float>()[i] ==
            doctest::Approx(other.values<float>()[i]).epsilon(1e-5).scale(1));
    }
    // Rows whose members do nothing would agree as well.
    const attn::Tensor without = run_with(R"("weights": true)").tensor("output");
    CHECK(
        (without.shape() != ours.shape() || without.values<float>()[0] != ours.values<float>()[0]));
    ++compared;
  }
  CHECK(compared >= 49);
}
