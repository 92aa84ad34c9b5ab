#include "attention/expression.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/gradient.hpp"

#include "error_from.hpp"

namespace {

using attn::Expression;
using attn::ExpressionCell;
using attn::ExpressionTree;
using attn::ExpressionUse;
using attn::Geometry;
using attn::Tensor;

Geometry sizes() {
  Geometry geometry;
  geometry.batch = 2;
  geometry.heads = 3;
  geometry.queries = 4;
  geometry.keys = 5;
  geometry.query_width = geometry.key_width = 2;
  return geometry;
}

double value(const std::string& text, double given = 0.5) {
  const ExpressionTree tree({text, {{"t", Tensor({3}, {4, 5, 6})}}}, ExpressionUse::score, "/score",
                            sizes());
  static const std::vector<double> query{3, 0}, key{0, 4};
  ExpressionCell cell{given, 1, 2, 3, 4, 0, query, key};
  ExpressionTree::Fault fault;
  return tree.value(cell, fault);
}

std::string error_of_expression(const std::string& text, ExpressionUse use = ExpressionUse::score) {
  return error_from([&] {
    const ExpressionTree tree({text, {{"t", Tensor({3}, {4, 5, 6})}}}, use, "/score", sizes());
  });
}

TEST_CASE("operators bind as in the table of the language") {
  CHECK(value("-2^2") == -4);
  CHECK(value("2^3^2 / 512") == 1);
  CHECK(value("-7 // 2") == -4);
  CHECK(value("-7 % 3") == 2);
  CHECK(value("7 % -3") == -2);
  // The quotient rounds up to 9, and the remainder is not 0.
  CHECK(value("1 % (1 / 9)") == std::fmod(1, 1.0 / 9));
  CHECK(value("-5 % inf") == std::numeric_limits<double>::infinity());
  // As Python's: 0.1 is a little more than a tenth.
  CHECK(value("1 // 0.1") == 9);
  CHECK(value("10 // 0.2") == 49);
  CHECK(value("-7.5 // 0.3") == -26);
  CHECK(value("-5 // inf") == -1);
  CHECK(value("(1 // 0.1) * 0.1 + 1 % 0.1") == 1);
  CHECK(value("1 // 0") == std::numeric_limits<double>::infinity());
  CHECK(value("1 - 2 - 3") == -4);
  CHECK(value("not 1 == 2 && 3 > 2 ? 7 : 8") == 7);
  CHECK(value("!(1 < 2) or i == 3 ? 7 : 8") == 7);
  CHECK(value("0^0 + round(2.5) + sign(-3) + clamp(9, 1, 2)") == 4);
}

TEST_CASE("names, tables and rows have the numbers of their cell") {
  CHECK(value("s + 10*b + 100*h + 1000*i + 10000*j") == 43210.5);
  CHECK(value("Lq + 10*Lk + 100*H + 1000*d") == 2354);
  CHECK(value("t[i - 1] + t[0]") == 10);
  CHECK(value("distance(q, k) + 10*norm(q) + 100*norm(k) + dot(q, k)") == 435);
  CHECK(value("i > 2 ? 1 : t[7]") == 1);
  CHECK(std::isnan(value("t[3]")));
}

TEST_CASE("a table with other indices than axes is told which it may have") {
  const auto help = [](const attn::Shape& shape) {
    const std::string told = error_from([&] {
      const ExpressionTree tree(
          {"t[i, j, i, j, i]",
           {{"t", Tensor(shape, std::vector<double>(attn::element_count(shape)))}}},
          ExpressionUse::score, "/score", sizes());
    });
    return told.substr(told.find("  help:  ") + 9);
  };
  // Two samples, three heads, four queries and five keys.
  CHECK(help({3}) == "give one index per axis, such as t[i]");
  CHECK(help({2, 5}) == "give one index per axis, such as t[b, i]");
  CHECK(help({3, 5}) == "give one index per axis, such as t[h, i]");
  CHECK(help({4, 5}) == "give one index per axis, such as t[i, j]");
  CHECK(help({3, 1, 1}) == "give one index per axis, such as t[h, 0, 0]");
  CHECK(help({2, 4, 5}) == "give one index per axis, such as t[b, i, j]");
  CHECK(help({2, 3, 4, 5}) == "give one index per axis, such as t[b, h, i, j]");
}

TEST_CASE("a wrong expression is shown with a caret below the place") {
  CHECK(error_of_expression("s + ofset") ==
        "unknown name \"ofset\"\n    s + ofset\n        ^\n  where: /score\n  help:  did you mean "
        "\"offset\"?; tensors are given in \"tables\"");
  CHECK(error_of_expression("s ** 2") ==
        "\"**\" is not an operator\n    s ** 2\n       ^\n  where: /score\n  help:  write ^ for a "
        "power");
  CHECK(error_of_expression("s if i > j else 0") ==
        "expected an operator, found \"if\"\n    s if i > j else 0\n      ^\n  where: /score\n"
        "  help:  write i > j ? s : 0");
  CHECK(error_of_expression("j <= i & j < 3", ExpressionUse::where) ==
        "a single \"&\" is not an operator\n    j <= i & j < 3\n           ^\n  where: /score\n"
        "  help:  write &&");
  // Names of FlexAttention, of NumPy and of masks.
  CHECK(error_of_expression("kv_idx <= q_idx", ExpressionUse::where) ==
        "unknown name \"kv_idx\"\n    kv_idx <= q_idx\n    ^\n  where: /score\n  help:  write j");
  CHECK(error_of_expression("np.tanh(s)") ==
        "unknown name \"np\"\n    np.tanh(s)\n    ^\n  where: /score\n  help:  write the function "
        "without its module, such as tanh(s)");
  CHECK(error_of_expression("causal", ExpressionUse::where) ==
        "unknown name \"causal\"\n    causal\n    ^\n  where: /score\n  help:  write j <= i");
  CHECK(error_of_expression("2 * (s + 1")
            .find("expected \")\", found the end\n    2 * (s + 1\n              ^") == 0);
  CHECK(error_of_expression("s + (i < j)").find("expected a number, found a truth") == 0);
  CHECK(
      error_of_expression("i - j", ExpressionUse::where).find("expected a truth, found a number") ==
      0);
  CHECK(error_of_expression("0 <= i - j < 2 && i > 1", ExpressionUse::where) ==
        "comparisons do not go on with another one\n    0 <= i - j < 2 && i > 1\n               ^\n"
        "  where: /score\n  help:  write 0 <= i - j && i - j < 2");
  CHECK(error_of_expression("j", ExpressionUse::where) ==
        "expected a truth, found a number\n    j\n    ^\n  where: /score\n  help:  compare the "
        "number, as in \"j > 0\", and put it in quotes: shells read > as the name of a file");
  CHECK(error_of_expression("clamp(s, 1)").find("clamp has 2 arguments, not 3") == 0);
  CHECK(error_of_expression("s = 1").find("a single \"=\" is not an operator") == 0);
  CHECK(error_of_expression("s * p").find("\"p\", the weight, is known in \"weight\" alone") == 0);
  CHECK(error_of_expression(std::string(600, '(')).find("the expression has more than 512 parts") ==
        0);
}

TEST_CASE("signs of Python and of paper get their meaning in an expression") {
  const auto help = [](const std::string& text, ExpressionUse use = ExpressionUse::score) {
    const std::string whole = error_of_expression(text, use);
    return whole.substr(whole.find("help:  ") + 7);
  };
  CHECK(help("s - 0.1 * |i - j|") == "write abs(i - j)");
  CHECK(help("s * 0,5") == "write 0.5");
  CHECK(help("j in [0, 2]", ExpressionUse::where) == "write j == 0 || j == 2");
  CHECK(help("s + 1 if i >= j else -inf") == "write i >= j ? s + 1 : -inf");
  CHECK(
      help("k <= q", ExpressionUse::where) ==
      "write dot(q, k), norm(q), norm(k) or distance(q, k); positions are i of the query and j of "
      "the key");
}

TEST_CASE("drawn texts are read or refused with an error") {
  static const std::vector<std::string> pieces{
      "s", "i",    "j", "t",   "[",    "]",  "(",    ")",   "+",  "-", "*",   "/",     "//",
      "%", "^",    "?", ":",   "&&",   "||", "!",    "not", "==", "<", "1",   "2.5e3", "abs",
      ",", "norm", "q", "max", "and ", "\t", "\xc3", ".5",  "h",  "e", "0.1", "tau"};
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const std::size_t count = random() % (round % 10 == 0 ? 1500 : 12) + 1;
    for (std::size_t n = 0; n < count; ++n) text += pieces[random() % pieces.size()];
    try {
      value(text);
    } catch (const attn::Error& error) {
      REQUIRE(error.kind() == attn::ErrorKind::input);
    }
  }
}

TEST_CASE("a fault of a cell is shown below its place in the expression") {
  const Tensor query({1, 2}, {1, 2}), key({3, 2}, {0.5F, 1, 2, -1, 0, 1});
  attn::AttentionOptions options;
  options.score_expression = {"s + 2 * t[j]", {{"t", Tensor({2}, std::vector<double>{1, 2})}}};
  CHECK(error_from([&] {
          attn::attend(attn::Sequences{query, key, key}, options);
        }) ==
        "the index 2 is outside the table \"t\" [2] at b=0, h=0, i=0, j=2\n"
        "    s + 2 * t[j]\n"
        "            ^\n"
        "  where: /score\n"
        "  help:  hide such cells by the mask, or choose another value by ? :");
}

TEST_CASE("a score by expression takes the place of the scaled score") {
  const Tensor query({2, 2}, {1, 2, -1, 0.5F}), key({3, 2}, {0.5F, 1, 2, -1, 0, 1});
  attn::AttentionOptions options;
  options.stages = true;
  options.score_expression = {"j > i ? -inf : 2 * s", {}};
  const auto result = attn::attend(attn::Sequences{query, key, key}, options);
  const auto scores = result.scores.values<float>();
  CHECK(scores[0] == doctest::Approx(2 * 2.5 / std::sqrt(2.0)));
  CHECK(std::isinf(scores[1]));
  CHECK(result.weights.values<float>()[0] == 1);
}

TEST_CASE("gradients go through score and weight as finite differences do") {
  const std::vector<double> q{0.3, -0.7, 1.1, 0.4}, k{0.5, 0.2, -0.9, 0.8, 0.1, -0.4};
  const Tensor ones({2, 2}, std::vector<double>{1, -2, 0.5, 3});
  const auto request = [&](std::vector<double> query) {
    attn::AttentionRequest one;
    one.dtype = attn::DType::float64;
    one.score_expression = {"s^2 - 0.5 * distance(q, k) + tanh(norm(k) * dot(q, k))", {}};
    one.weight_expression = {"p^1.5 + 0.1 * sin(s2[0] * p)", {{"s2", Tensor({1}, {2})}}};
    one.score = attn::ScaledDotProduct{
        {Tensor({2, 2}, std::move(query)), Tensor({3, 2}, k), Tensor({3, 2}, k)}};
    return one;
  };
  const auto loss = [&](const std::vector<double>& query) {
    const Tensor output = attn::attend(request(query)).output;
    double sum = 0;
    for (std::size_t n = 0; n < 4; ++n)
      sum += output.values<double>()[n] * ones.values<double>()[n];
    return sum;
  };
  const auto all = attn::gradients(request(q), ones);
  REQUIRE(all[0].first == "query");
  for (std::size_t n = 0; n < 4; ++n) {
    std::vector<double> more = q, less = q;
    more[n] += 1e-6;
    less[n] -= 1e-6;
    CHECK(all[0].second.values<double>()[n] ==
          doctest::Approx((loss(more) - loss(less)) / 2e-6).epsilon(1e-6));
  }
}

TEST_CASE("integers of tables that double precision would round are refused at their place") {
  const auto error_with = [](std::int64_t number) {
    const Tensor table({2, 2}, std::vector<std::int64_t>{0, 1, number, 2});
    return error_from([&] {
      const ExpressionTree tree({"doc[0, 0]", {{"doc", table}}}, ExpressionUse::score, "/score",
                                sizes());
    });
  };
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  for (const std::int64_t number : {most + 1, -most - 1, std::int64_t{1} << 60U}) {
    CHECK(error_with(number) ==
          "the integer " + std::to_string(number) +
              " is beyond ±2^53, where double precision rounds\n  where: /tables/doc/1/0\n"
              "  help:  number such ids from 0, or give those of documents as \"documents\" of the "
              "mask");
  }
  const Tensor exact({3}, std::vector<std::int64_t>{most, -most, most - 1});
  const ExpressionTree tree({"t[0] - t[2]", {{"t", exact}}}, ExpressionUse::score, "/score",
                            sizes());
  ExpressionTree::Fault fault;
  CHECK(tree.value({}, fault) == 1);
}

TEST_CASE("the text with numbers shows each name's number") {
  const ExpressionTree tree({"s - 0.1 * abs(i - t[j])", {{"t", Tensor({3}, {4, 5, 6})}}},
                            ExpressionUse::score, "/score", sizes());
  CHECK(tree.with_numbers({0.25, 0, 0, 2, 1, 0, {}, {}}) == "0.25 - 0.1 * abs(2 - 5)");
}

}  // namespace
