#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "explain/excerpt.hpp"
#include "support/translated.hpp"

namespace attn {

/// What is said of rows that are left out, {1} being how many they are.
struct RowNoun {
  const char *one = "", *many = "";  ///< of one, of several; empty where the rows have no name
};
inline constexpr RowNoun keys_left_out{to_translate("… {1} more key …"),
                                       to_translate("… {1} more keys …")};
inline constexpr RowNoun components_left_out{to_translate("… {1} more component …"),
                                             to_translate("… {1} more components …")};

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
    RowNoun noun;
  };
  /// Vectors of one width below each other; components that do not fit are left out and counted.
  struct Vectors {
    struct Row {
      std::string name;
      std::vector<double> values;
    };
    std::vector<Row> vectors;  ///< those that are shown
    Excerpt rows;
    RowNoun noun;
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
    RowNoun noun;
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
  bool full = false;  ///< nothing is left out, however long it is

  /// Which of so many things are shown: all if all of it is, else as Excerpt has it.
  Excerpt excerpt(std::size_t total, std::size_t most, std::size_t first, std::size_t last) const {
    return full ? Excerpt::all(total) : Excerpt(total, most, first, last);
  }
  /// Of the components of a head.
  Excerpt components(std::size_t total) const { return excerpt(total, 8, 4, 2); }

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

/// "… 58 more keys …"
std::string left_out(std::size_t count, const RowNoun& noun = {});

/// For a terminal of 80 columns.
std::string explanation_text(const Explanation& explanation);
/// The blocks of one step alone, after a margin of so many columns; `full`: all of them.
std::string step_text(const Explanation::Step& step, std::size_t margin, bool full = false);
/// Markdown with tables, and formulas in $$…$$.
std::string explanation_markdown(const Explanation& explanation);

/// Text from a document in one line: breaks become spaces, other control characters \xNN.
std::string one_line(const std::string& text);

}  // namespace attn
