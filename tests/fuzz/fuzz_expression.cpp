#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/expression_rows.hpp"
#include "attention/random_expression.hpp"
#include "fuzz/fuzz_input.hpp"
#include "kernels/cpu_target.hpp"

namespace {

using namespace attn;

// Choices made by the fuzzer's bytes, which go on without a pattern once they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t operator()(std::size_t count) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::size_t byte = at_ < bytes_.size() ? static_cast<std::size_t>(bytes_[at_++])
                                                 : static_cast<std::size_t>(state_ >> 56);
    return byte % count;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t state_ = 1;
};

Geometry sizes(std::size_t queries, std::size_t keys) {
  Geometry geometry;
  geometry.batch = 2;
  geometry.heads = 3;
  geometry.queries = queries;
  geometry.keys = keys;
  geometry.query_width = geometry.key_width = 2;
  return geometry;
}

double seconds_to_read(const Expression& expression, ExpressionUse use) {
  const auto start = std::chrono::steady_clock::now();
  fuzz::accept_refusals([&] { const ExpressionTree tree(expression, use, "/score", sizes(3, 4)); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A text of any form is read or refused within a millisecond. Other work of the machine is left out
// by the shortest of several times; checks of memory make it slower.
void read_text(const std::string& text, ExpressionUse use) {
#if defined(ATTN_SANITIZED)
  constexpr double most_seconds = 0.1;
#else
  constexpr double most_seconds = 0.001;
#endif
  const Expression expression{text, {{"t", Tensor({3}, std::vector<double>{4, 5, 6})}}};
  double seconds = 1;
  for (int turn = 0; turn < 50 && seconds > most_seconds; ++turn) {
    seconds = std::min(seconds, seconds_to_read(expression, use));
  }
  fuzz::require(seconds <= most_seconds);
}

std::string text_of_pieces(Choices& choices) {
  static const std::vector<std::string> pieces{
      "s",  "i", "j",  "p",     "t",    "[",  "]",       "(",    ")",    "+",  "-",
      "*",  "/", "//", "%",     "^",    "?",  ":",       "&&",   "||",   "!",  "not ",
      "==", "<", "1",  "2.5e3", "abs(", ",",  "norm(k)", "max(", "and ", "\t", "\xc3",
      ".5", "h", "e",  "0.1",   "tau",  "((", "- -",     "i<j?", "t[i]", " ",  "= ="};
  const std::size_t length = 4 * (choices(16) == 0 ? 1024 : choices(64) + 1);
  std::string text;
  while (text.size() < length) text += pieces[choices(pieces.size())];
  return text.substr(0, length);
}

bool alike(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

// An expression over rows gives what its tree gives cell by cell, on each CPU target.
void compute(Choices& choices) {
  const std::size_t queries = choices(3) + 1, keys = choices(40) + 1;
  const Geometry geometry = sizes(queries, keys);
  const auto use = static_cast<ExpressionUse>(choices(3));
  testing::RandomExpression<Choices&> random(choices,
                                             use == ExpressionUse::score    ? "s"
                                             : use == ExpressionUse::weight ? "p"
                                                                            : "",
                                             false);
  const std::size_t depth = choices(5);
  const Expression expression{
      use == ExpressionUse::where ? random.truth(depth) : random.number(depth),
      testing::RandomExpression<Choices&>::tables(geometry.heads, queries, keys)};
  if (expression.text.size() > 4000) return;
  fuzz::accept_refusals([&] {
    const CompiledExpression compiled(expression, use, "/score", geometry);
    ExpressionCell cell{.b = choices(2), .h = choices(3), .i = choices(queries), .offset = 1};
    const std::size_t first = choices(keys);
    for (const std::string_view target : kernels::cpu_targets()) {
      fuzz::require(kernels::use_cpu_target(target));
      ExpressionRows::Registers registers(compiled.rows);
      const auto given = [](std::size_t j) { return 1 / static_cast<double>(j + 1); };
      for (std::size_t j = first; j < keys; ++j) registers.given()[j - first] = given(j);
      const auto values = compiled.rows.values(registers, cell, {first, keys - first}, nullptr);
      for (std::size_t j = first; j < keys; ++j) {
        cell.given = given(j);
        cell.j = j;
        ExpressionTree::Fault fault;
        fuzz::require(alike(values[j - first], compiled.tree.value(cell, fault)));
      }
    }
    kernels::use_cpu_target("");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  Choices choices(input.bytes());
  const std::size_t way = choices(3);
  if (way == 0) {
    read_text(std::string(input.text().substr(std::min<std::size_t>(1, size))),
              ExpressionUse::score);
  } else if (way == 1) {
    const auto use = static_cast<ExpressionUse>(choices(3));
    read_text(text_of_pieces(choices), use);
  } else {
    compute(choices);
  }
  return 0;
}
