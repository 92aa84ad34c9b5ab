#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "explain/excerpt.hpp"

namespace attn {

/// What there is to read about a computation, step by step, whatever it is set as.
struct Explanation {
  struct Paragraph {
    std::string text;
  };
  /// One entry of a list.
  struct Item {
    std::string text;
  };
  struct Formula {
    std::string text, latex;
  };
  struct Column {
    std::string header;
    std::vector<std::string> cells;  ///< of the rows that are shown
    bool number = false;             ///< numbers stand to the right
    std::string total;               ///< under the column; empty for none
  };
  struct Table {
    std::vector<Column> columns;
    Excerpt rows;
    std::string noun;  ///< what the rows are: "keys"
  };
  /// Vectors of one width below each other; components that do not fit are left out and counted.
  struct Vectors {
    struct Row {
      std::string name;
      std::vector<double> values;
    };
    std::vector<Row> vectors;  ///< those that are shown
    Excerpt rows;
    std::string noun;
  };
  struct Term {
    bool negative = false;
    std::string text;  ///< without its sign
  };
  /// name: term + term + … = total. Terms that do not fit are left out and counted.
  struct Sum {
    std::string name;
    std::vector<Term> terms;
    std::string total;
  };
  struct Sums {
    std::vector<Sum> sums;  ///< those that are shown
    Excerpt rows;
    std::string noun;
  };
  using Block = std::variant<Paragraph, Item, Formula, Table, Vectors, Sums>;
  struct Step {
    std::string part;  ///< heading of the part that begins with this step; empty inside one
    std::string title;
    std::vector<Block> blocks;
  };

  std::string title;
  std::vector<Block> introduction;
  std::vector<Step> steps;

  /// Begins a step; blocks are put into the last one, or into the introduction before the first.
  void step(std::string step_title);
  /// The next step begins a part of that name.
  void part(std::string part_title) { next_part_ = std::move(part_title); }

  void paragraph(std::string text) { put(Paragraph{std::move(text)}); }
  void item(std::string text) { put(Item{std::move(text)}); }
  void formula(std::string text, std::string latex) {
    put(Formula{std::move(text), std::move(latex)});
  }
  void put(Block block);

 private:
  std::string next_part_;
};

/// A column of numbers with as many decimals as they need, and the total below.
Explanation::Column number_column(std::string header, std::span<const double> numbers);
Explanation::Column number_column(std::string header, std::span<const double> numbers,
                                  double total);

/// "a·b" with its sign apart.
Explanation::Term product_term(double a, double b);
Explanation::Term number_term(double number);

/// name: Σ a[i]·b[i], with the total given.
Explanation::Sum product_sum(std::string name, std::span<const double> a, std::span<const double> b,
                             double total);

/// "… 58 more keys …"; the noun is a plural, or empty.
std::string left_out(std::size_t count, const std::string& noun);

/// For a terminal of 80 columns.
std::string explanation_text(const Explanation& explanation);
/// The blocks of one step alone, after a margin of so many columns.
std::string step_text(const Explanation::Step& step, std::size_t margin);
/// Markdown with tables, and formulas in $$…$$.
std::string explanation_markdown(const Explanation& explanation);

/// Text from a document in one line: breaks become spaces, other control characters \xNN.
std::string one_line(const std::string& text);

}  // namespace attn
