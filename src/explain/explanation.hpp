#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/explain.hpp"

#include "report/facts.hpp"
#include "support/translated.hpp"

namespace attn {

/// Numbers of keys that are shown: all up to `most_keys`; of more the first, the last and the
/// heaviest ones.
inline constexpr std::size_t most_keys = 16, first_keys = 8, last_keys = 4, heaviest_keys = 4;

/// Which of many things are shown: all of a few, else the first and the last ones and those that
/// matter.
class Excerpt {
 public:
  Excerpt() = default;
  /// All of at most `most` things; of more, the first `first` and the last `last`.
  Excerpt(std::size_t total, std::size_t most, std::size_t first, std::size_t last)
      : total_(total) {
    const bool all = total <= most || first + last >= total;
    for (std::size_t i = 0; i < (all ? total : first); ++i) indices_.push_back(i);
    if (!all) {
      for (std::size_t i = total - last; i < total; ++i) indices_.push_back(i);
    }
  }
  static Excerpt all(std::size_t total) { return {total, total, total, 0}; }

  void include(std::size_t index) {
    const auto at = std::lower_bound(indices_.begin(), indices_.end(), index);
    if (at == indices_.end() || *at != index) indices_.insert(at, index);
  }

  const std::vector<std::size_t>& indices() const noexcept { return indices_; }
  std::size_t total() const noexcept { return total_; }

  /// Number of indices left out before shown index `number`, or after the last one if `number` is
  /// their count.
  std::size_t skipped_before(std::size_t number) const {
    const std::size_t from = number == 0 ? 0 : indices_[number - 1] + 1;
    return (number < indices_.size() ? indices_[number] : total_) - from;
  }

 private:
  std::vector<std::size_t> indices_;
  std::size_t total_ = 0;
};

inline constexpr int usual_decimals = 4, fewest_decimals = 2, most_decimals_shown = 16;

/// While it lives, numbers that this thread shows have up to `most` decimals instead of the usual
/// ones; `fewest_decimals` to `most_decimals_shown`.
class ShownDecimals {
 public:
  explicit ShownDecimals(int most);
  ~ShownDecimals();
  ShownDecimals(const ShownDecimals&) = delete;
  ShownDecimals& operator=(const ShownDecimals&) = delete;

 private:
  int before_;
};

/// A number to read: as it is if it has at most four decimals ("2", "0.25"; to the precision of
/// float32), else rounded to four ("0.2500" was not 0.25); very large and very small ones with an
/// exponent, so that only 0 looks like 0.
std::string shown_number(double number);

/// Numbers of one column, all with the decimals of the number that needs most.
std::vector<std::string> shown_column(std::span<const double> numbers);

/// Texts about rows that are left out; {1} is their number.
struct RowNoun {
  const char *one = "", *many = "";  ///< of one, of several; empty where the rows have no name
};
inline constexpr RowNoun keys_left_out{to_translate("… {1} more key …"),
                                       to_translate("… {1} more keys …")};
inline constexpr RowNoun components_left_out{to_translate("… {1} more component …"),
                                             to_translate("… {1} more components …")};

/// Text about a computation, step by step, independent of its format.
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
    bool rounded = false;  ///< whether the digits of the terms give another total
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

  /// Excerpt of `total` things: all of them if nothing is left out, else as Excerpt() chooses.
  Excerpt excerpt(std::size_t total, std::size_t most, std::size_t first, std::size_t last) const {
    return full ? Excerpt::all(total) : Excerpt(total, most, first, last);
  }
  /// Excerpt of the components of a head.
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

/// name: Σ a[i]·b[i] and the bias, with the total given.
Explanation::Sum product_sum(std::string name, std::span<const double> a, std::span<const double> b,
                             double total, std::optional<double> bias = std::nullopt);

/// "… 58 more keys …"
std::string left_out(std::size_t count, const RowNoun& noun = {});

/// For a terminal of 80 columns.
std::string explanation_text(const Explanation& explanation);
/// The blocks of one step, after `margin` columns; `full`: nothing is left out.
std::string step_text(const Explanation::Step& step, std::size_t margin, bool full = false);
/// Markdown with tables, and formulas in $$…$$.
std::string explanation_markdown(const Explanation& explanation);

/// Text from a document in one line: breaks become spaces, other control characters \xNN.
std::string one_line(const std::string& text);

/// The text of one or more explanations in a format.
class ExplanationOutput {
 public:
  /// `list`: whether JSON is a list of objects instead of one object.
  ExplanationOutput(ExplanationFormat format, bool list) : format_(format), list_(list) {}

  /// `about`: the members of the JSON object before the steps of the explanation.
  void add(const Explanation& explanation, Fact::Members about);

  /// The text of all that was added.
  std::string text() const;

 private:
  ExplanationFormat format_;
  bool list_;
  std::string text_;
  Fact::List facts_;
};

}  // namespace attn
