#include "explain/explanation.hpp"

#include <cmath>

#include "explain/shown_number.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

void Explanation::step(std::string step_title) {
  steps.push_back({std::exchange(next_part_, {}), std::move(step_title), {}});
}

void Explanation::put(Block block) {
  (steps.empty() ? introduction : steps.back().blocks).push_back(std::move(block));
}

Explanation::Column number_column(std::string header, std::span<const double> numbers) {
  return {std::move(header), shown_column(numbers), true, {}};
}

Explanation::Column number_column(std::string header, std::span<const double> numbers,
                                  double total) {
  std::vector<double> all(numbers.begin(), numbers.end());
  all.push_back(total);
  Explanation::Column column = number_column(std::move(header), all);
  column.total = column.cells.back();
  column.cells.pop_back();
  return column;
}

Explanation::Term number_term(double number) {
  return {number < 0, shown_number(number < 0 ? -number : number)};
}

Explanation::Term product_term(double a, double b) {
  Explanation::Term term = number_term(a);
  term.text += b < 0 ? "·(" + shown_number(b) + ")" : "·" + shown_number(b);
  return term;
}

Explanation::Sum product_sum(std::string name, std::span<const double> a, std::span<const double> b,
                             double total) {
  Explanation::Sum sum{std::move(name), {}, shown_number(total)};
  for (std::size_t i = 0; i < a.size(); ++i) sum.terms.push_back(product_term(a[i], b[i]));
  return sum;
}

std::string left_out(std::size_t count, const RowNoun& noun) {
  if (*noun.many == '\0') return translated("… {1} more …", count);
  return translated(count == 1 ? noun.one : noun.many, count);
}

std::string one_line(const std::string& text) {
  std::string line = text;
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return printable(line);
}

}  // namespace attn
