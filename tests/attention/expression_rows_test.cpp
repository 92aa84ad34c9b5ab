#include "attention/expression_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attention/random_expression.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"
#include "kernels/row_program.hpp"

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
    ExpressionCell cell{.b = row % 2, .h = row, .offset = 2};
    attn::kernels::RowPiece piece{row % geometry.keys, geometry.keys - row % geometry.keys};
    const std::size_t first = row % geometry.queries;
    piece.rows = std::min(geometry.queries - first, attn::kernels::RowPiece::most_rows(piece.keys));
    const auto given = [&](std::size_t query, std::size_t j) {
      const double place = static_cast<double>(j + query);
      return use == ExpressionUse::weight ? 1 / (place + 1) : place / 4 - 3;
    };
    for (std::size_t r = 0; r < piece.rows; ++r) {
      double* const to = registers.given() + r * piece.stride();
      for (std::size_t j = 0; j < piece.keys; ++j) to[j] = given(r, j);
    }
    cell.i = first;
    const auto values = compiled.rows.values(registers, cell, piece, &compared.rows);
    for (std::size_t n = 0; n < piece.rows * piece.keys; ++n) {
      const std::size_t r = n / piece.keys, j = n % piece.keys;
      cell.given = given(r, j);
      cell.i = first + r;
      cell.j = piece.first_key + j;
      compared.rows.put(cell);
      ExpressionTree::Fault fault;
      const double expected = compiled.tree.value(cell, fault);
      const double value = values[r * piece.stride() + j];
      CAPTURE(cell.i);
      CAPTURE(cell.j);
      CAPTURE(value);
      CAPTURE(expected);
      REQUIRE(alike(value, expected));
    }
  }
}

// Whether scores were replaced in one pass, which must be to the bits of values().
template <class T>
bool replaced(const std::string& text, const Compared& compared,
              double most = std::numeric_limits<double>::infinity()) {
  CAPTURE(text);
  const Geometry& geometry = compared.geometry;
  const attn::Expression expression{
      text, RandomExpression<int (*)(int)>::tables(4, geometry.queries, geometry.keys)};
  const CompiledExpression compiled(expression, ExpressionUse::score, "/score", geometry);
  ExpressionRows::Registers registers(compiled.rows);
  constexpr double unit = std::numbers::log2e;
  attn::kernels::RowPiece piece{1, geometry.keys - 1};
  piece.rows = std::min(geometry.queries, attn::kernels::RowPiece::most_rows(piece.keys));
  const std::size_t stride = piece.keys + 3;
  std::vector<T> before(piece.rows * stride);
  for (std::size_t n = 0; n < before.size(); ++n) before[n] = static_cast<T>(n % 41) / 7 - 2;
  std::vector<T> cells = before, expected = before;
  const ExpressionCell first{.b = 1, .h = 2, .offset = 2};
  const bool done = compiled.rows.replace(registers, first, piece, &compared.rows,
                                          {1 / unit, unit, most}, cells.data(), stride);
  if (done) {
    attn::kernels::widen_rows(before.data(), stride, 1 / unit, piece, registers.given());
    const auto values = compiled.rows.values(registers, first, piece, &compared.rows);
    attn::kernels::narrow_rows(values.data(), unit, piece, expected.data(), stride);
  }
  for (std::size_t n = 0; n < cells.size(); ++n) {
    CAPTURE(n);
    CHECK(cells[n] == expected[n]);
  }
  return done;
}

TEST_CASE("sums, differences and products of scores and one number take one pass") {
  on_every_target([] {
    const bool vectors = attn::kernels::cpu_target() != "scalar";
    for (const std::size_t keys : {2, 8, 17, 40, 300}) {
      const Compared compared(5, keys);
      for (const std::string text :
           {"s - 0.1 * abs(i - j)", "2 * s", "s + h", "j - s", "s + dot(q, k)"}) {
        CHECK(replaced<float>(text, compared) == vectors);
        CHECK(replaced<double>(text, compared) == vectors);
      }
      // Doubled cells are from −4 to 7.5.
      for (const double most : {3.0, 8.0}) {
        CHECK(replaced<float>("2 * s", compared, most) == (vectors && most > 4));
        CHECK(replaced<double>("2 * s", compared, most) == (vectors && most > 4));
      }
      // More than one step, and numbers that are not finite.
      for (const std::string text :
           {"s * s", "s / 2", "exp(s)", "s + s * h", "s", "s + (j > 0 ? -inf : 0)", "s * 1e300"}) {
        CHECK_FALSE(replaced<float>(text, compared));
      }
    }
  });
}

TEST_CASE("an expression over rows gives what its tree gives cell by cell") {
  on_every_target([] {
    std::mt19937 random(5);
    const auto choose = [&](std::size_t count) { return random() % count; };
    for (const std::size_t keys : {1, 2, 7, 8, 9, 16, 33}) {
      const Compared compared(keys % 2 == 0 ? 3 : 6, keys);
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

TEST_CASE("what depends on the distance of query and key alone is that of each cell") {
  on_every_target([] {
    for (const std::size_t keys : {1, 5, 16, 33, 130, 300}) {
      const Compared compared(40, keys);
      for (const std::string text :
           {"s - 0.1 * abs(i - j)", "2 + i + offset - (j - 3)", "j - (i + 1) > 2 ? exp(i - j) : h",
            "short[min(max(j - i + 2, 0), 4)] + s", "(i - j) * i + (j - i) * j", "1 / (j - i)"}) {
        check_cells(text, ExpressionUse::score, compared);
      }
      check_cells("abs(i - j) < 3 || (i + 0.5) - j > 7", ExpressionUse::where, compared);
    }
  });
}

TEST_CASE("tables of four axes are read at the sample, head, query and key of each cell") {
  on_every_target([] {
    for (const std::size_t keys : {3, 17, 40}) {
      const Compared compared(6, keys);
      for (const std::string text : {"s + cells[b, h, i, j]", "cells[1 - b, h, i, 0] * s",
                                     "cells[b, h, i, j] + cells[0, 1, i, min(j, 2)]"}) {
        check_cells(text, ExpressionUse::score, compared);
      }
    }
  });
}

TEST_CASE("large quotients and counts beyond whole numbers are those of each cell") {
  on_every_target([] {
    const Compared compared(6, 40);
    for (const std::string text :
         {"(i * 1e18 + j) % 7", "s + pairs[(i * 1e30) % 6, j]", "(j - 1e300) % 3.5",
          "s + (i + 9007199254740992 - j - 9007199254740992)", "-(j + 1e16) // 3 % 5"}) {
      check_cells(text, ExpressionUse::score, compared);
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
  CHECK(std::isinf(steepness("s > 0 ? s : -1")));
  CHECK(std::isinf(steepness("!(s == 1) && j > 2 ? 1 : 0")));
  CHECK(steepness("p^1.5", ExpressionUse::weight) == 1.5);
}

}  // namespace
