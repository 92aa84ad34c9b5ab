#include "attention/expression_rows.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attention/random_expression.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::CompiledExpression;
using attn::DType;
using attn::ExpressionCell;
using attn::ExpressionRows;
using attn::ExpressionTree;
using attn::ExpressionUse;
using attn::Geometry;
using attn::Tensor;
using attn::testing::on_every_target;
using attn::testing::RandomExpression;
using attn::testing::RandomRequests;

struct Compared {
  Geometry geometry;
  attn::Sequences sequences;
  attn::ComparedRows rows;

  Compared(std::size_t queries, std::size_t keys) {
    RandomRequests random(3);
    sequences.query = random.normal({2, 4, queries, 5}).converted(DType::float64);
    sequences.key = random.normal({2, 2, keys, 5}).converted(DType::float64);
    geometry.batch = 2;
    geometry.heads = 4;
    geometry.kv_heads = 2;
    geometry.queries = queries;
    geometry.keys = keys;
    geometry.query_width = geometry.key_width = 5;
    rows = attn::ComparedRows(sequences, geometry);
  }
};

bool alike(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

// The text's values over rows against those of its cells.
void check_cells(const std::string& text, ExpressionUse use, const Compared& compared) {
  CAPTURE(text);
  const Geometry& geometry = compared.geometry;
  const attn::Expression expression{
      text, RandomExpression<int (*)(int)>::tables(4, geometry.queries, geometry.keys)};
  const CompiledExpression compiled(expression, use, "/score", geometry);
  ExpressionRows::Registers registers(compiled.rows);
  for (std::size_t row = 0; row < 3; ++row) {
    ExpressionCell cell{.b = row % 2, .h = row, .i = row % geometry.queries, .offset = 2};
    const std::size_t first = row % geometry.keys, count = geometry.keys - first;
    std::vector<double> given;
    for (std::size_t j = 0; j < count; ++j) {
      given.push_back(use == ExpressionUse::weight ? 1.0 / static_cast<double>(j + 1)
                                                   : static_cast<double>(j) / 4 - 3);
    }
    std::copy(given.begin(), given.end(), registers.given());
    const auto values = compiled.rows.values(registers, cell, first, count, &compared.rows);
    for (std::size_t j = 0; j < count; ++j) {
      cell.given = given[j];
      cell.j = first + j;
      compared.rows.put(cell);
      ExpressionTree::Fault fault;
      const double expected = compiled.tree.value(cell, fault);
      CAPTURE(cell.j);
      CAPTURE(values[j]);
      CAPTURE(expected);
      REQUIRE(alike(values[j], expected));
    }
  }
}

TEST_CASE("an expression over rows gives what its tree gives cell by cell") {
  on_every_target([] {
    std::mt19937 random(5);
    const auto choose = [&](std::size_t count) { return random() % count; };
    for (const std::size_t keys : {1, 2, 7, 8, 9, 16, 33}) {
      const Compared compared(3, keys);
      for (int round = 0; round < 40; ++round) {
        const auto use = round % 3 == 0   ? ExpressionUse::where
                         : round % 3 == 1 ? ExpressionUse::score
                                          : ExpressionUse::weight;
        RandomExpression text(choose,
                              use == ExpressionUse::score    ? "s"
                              : use == ExpressionUse::weight ? "p"
                                                             : "",
                              true);
        check_cells(use == ExpressionUse::where ? text.truth(4) : text.number(4), use, compared);
      }
    }
  });
}

TEST_CASE("steps of positions are those of the standard library") {
  const Compared compared(3, 300);
  check_cells("floor(log2(j + 1)) + 10 * floor(log(j + 1) / log(2))", ExpressionUse::score,
              compared);
  check_cells("2^(j % 12) == exp2(j % 12) && round(j^1.5) % 7 < 4", ExpressionUse::where, compared);
}

TEST_CASE("rows of an expression are as steep as its derivative") {
  const Compared compared(3, 9);
  const auto steepness = [&](const std::string& text, ExpressionUse use = ExpressionUse::score) {
    const CompiledExpression compiled({text, {}}, use, "/score", compared.geometry);
    return compiled.rows.steepness();
  };
  CHECK(steepness("s - 0.1 * abs(i - j)") == 1);
  CHECK(steepness("20 * tanh(s / 20)") == doctest::Approx(1));
  CHECK(steepness("j <= i ? 3 * s : -inf") == 3);
  CHECK(steepness("-distance(q, k)^2 / 2") == 0);
  CHECK(std::isinf(steepness("s * s")));
  CHECK(std::isinf(steepness("floor(s)")));
  CHECK(steepness("p^1.5", ExpressionUse::weight) == 1.5);
}

}  // namespace
