#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/spec.hpp"

namespace attn::testing {

/// Texts of expressions. `Choose` gives numbers from 0 up to below its argument. Functions that are
/// rounded in other ways by different machines are at the outside alone, so that no step lies
/// behind them.
template <class Choose>
class RandomExpression {
 public:
  /// `given`: the name of what the expression replaces, or empty. `rows`: whether it may compare
  /// rows.
  RandomExpression(Choose choose, std::string given, bool rows)
      : choose_(choose), given_(std::move(given)), rows_(rows) {}

  /// Tables that the texts read, for an attention of that many heads, queries and keys.
  static std::vector<std::pair<std::string, Tensor>> tables(std::size_t heads, std::size_t queries,
                                                            std::size_t keys) {
    const auto numbers = [](Shape shape) {
      std::vector<double> elements;
      for (std::size_t n = 0; n < element_count(shape); ++n) {
        elements.push_back(static_cast<double>(n * 7 % 11) / 2 - 2);
      }
      return Tensor(std::move(shape), std::move(elements));
    };
    return {{"one", Tensor({1}, std::vector<double>{1.5})},
            {"short", numbers({5})},
            {"each", numbers({keys})},
            {"pairs", numbers({queries, keys})},
            {"all", numbers({heads, queries, keys})},
            {"cells", numbers({2, heads, queries, keys})}};
  }

  std::string number(std::size_t depth) {
    std::string result = exact(depth);
    if (choose_(3) == 0) {
      static const std::vector<std::string> functions{"exp", "exp2", "tanh",
                                                      "sin", "cos",  "sigmoid"};
      result += " + 0.5 * " + pick(functions) + "(clamp(" + exact(depth) + ", -8, 8))";
    }
    if (choose_(6) == 0) result += " - log2(1 + abs(" + exact(1) + "))";
    if (choose_(6) == 0) result += " + (1 + abs(" + exact(1) + "))^0.3";
    if (rows_ && choose_(6) == 0) {
      static const std::vector<std::string> compared{"dot(q, k)", "norm(q)", "norm(k)",
                                                     "distance(q, k)"};
      result += " + 0.25 * " + pick(compared);
    }
    return result;
  }

  std::string truth(std::size_t depth) {
    switch (depth == 0 ? 0 : choose_(6)) {
      case 1:
        return "(" + truth(depth - 1) + " && " + truth(depth - 1) + ")";
      case 2:
        return "(" + truth(depth - 1) + " || " + truth(depth - 1) + ")";
      case 3:
        return "!(" + truth(depth - 1) + ")";
      case 4:
        return "(" + truth(depth - 1) + " == " + truth(depth - 1) + ")";
      default: {
        static const std::vector<std::string> signs{" < ", " <= ", " > ", " >= ", " == ", " != "};
        const std::size_t below = depth == 0 ? 0 : depth - 1;
        return "(" + exact(below) + pick(signs) + exact(below) + ")";
      }
    }
  }

 private:
  const std::string& pick(const std::vector<std::string>& from) {
    return from[choose_(from.size())];
  }

  std::string leaf() {
    static const std::vector<std::string> leaves{
        "i", "j", "b", "h",   "offset", "Lq",       "Lk",          "H",
        "d", "2", "3", "0.5", "one",    "short[1]", "each[j]",     "pairs[i, j]",
        "i", "j", "i", "j",   "7",      "0.25",     "all[h, i, j]"};
    if (!given_.empty() && choose_(4) == 0) return given_;
    return pick(leaves);
  }

  // Operations that every machine rounds alike.
  std::string exact(std::size_t depth) {
    if (depth == 0) return leaf();
    const auto next = [&] { return exact(depth - 1); };
    static const std::vector<std::string> infix{" + ", " - ", " * ", " // ", " % ", " / "};
    static const std::vector<std::string> functions{"abs", "floor", "round", "sign", "-"};
    switch (choose_(9)) {
      case 0:
        return "(" + truth(depth - 1) + " ? " + next() + " : " + next() + ")";
      case 1:
        return "min(" + next() + ", " + next() + ", " + next() + ")";
      case 2:
        return "max(" + next() + ", " + next() + ")";
      case 3:
        return "clamp(" + next() + ", -3, " + leaf() + ")";
      case 4:
        return "short[" + next() + "]";
      case 5:
        return pick(functions) + "(" + next() + ")";
      case 6:
        return "(j < 4 && " + truth(depth - 1) + " ? short[j] : " + next() + ")";
      default:
        return "(" + next() + pick(infix) + next() + ")";
    }
  }

  Choose choose_;
  std::string given_;
  bool rows_;
};

}  // namespace attn::testing
