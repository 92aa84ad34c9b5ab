#include "explain/explanation.hpp"

#include <cmath>

#include "support/number_text.hpp"
#include "support/printable.hpp"

namespace attn {
namespace {

constexpr double largest_fixed = 1e6, smallest_fixed = 1e-3;

// Decimals of the explanation that this thread writes.
thread_local int most_decimals = usual_decimals;

// The decimals that lose nothing that float32 could hold; more than `most_decimals` if there are
// too many.
int decimals(double number) {
  const double float32_error = most_decimals > 6 ? std::pow(10.0, -most_decimals) : 1e-7;
  double unit = 1;
  for (int count = 0; count <= most_decimals; ++count, unit *= 10) {
    const double scaled = number * unit;
    if (std::abs(scaled - std::rint(scaled)) <= float32_error * std::abs(scaled)) return count;
  }
  return most_decimals + 1;
}

bool fixed(double number) {
  const double size = std::abs(number);
  if (size >= largest_fixed) return false;
  return size >= smallest_fixed || decimals(number) <= most_decimals;
}

std::string shown_with(double number, int count) {
  if (!std::isfinite(number)) return number_text(number);
  if (number == 0) return "0";  // never -0; alone it is exact
  if (fixed(number)) return with_decimals(number, count);
  return std::abs(number) < 1 ? with_exponent(number, most_decimals - 2)
                              : with_short_exponent(with_digits(number, most_decimals + 2));
}

}  // namespace

ShownDecimals::ShownDecimals(int most) : before_(most_decimals) {
  most_decimals = most;
}

ShownDecimals::~ShownDecimals() {
  most_decimals = before_;
}

std::string shown_number(double number) {
  const int count = std::isfinite(number) ? decimals(number) : 0;
  return shown_with(number, std::min(count, most_decimals));
}

std::vector<std::string> shown_column(std::span<const double> numbers) {
  int most = 0;
  for (const double number : numbers) {
    if (std::isfinite(number) && fixed(number)) most = std::max(most, decimals(number));
  }
  std::vector<std::string> texts;
  for (const double number : numbers)
    texts.push_back(shown_with(number, std::min(most, most_decimals)));
  return texts;
}

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

namespace {

// The number that a reader sees.
double as_shown(double number) {
  double shown = 0;
  return std::isfinite(number) && parse_number(shown_number(number), shown) ? shown : number;
}

}  // namespace

Explanation::Term number_term(double number) {
  return {number < 0, shown_number(number < 0 ? -number : number)};
}

Explanation::Term product_term(double a, double b) {
  Explanation::Term term = number_term(a);
  term.text += b < 0 ? "·(" + shown_number(b) + ")" : "·" + shown_number(b);
  return term;
}

Explanation::Sum product_sum(std::string name, std::span<const double> a, std::span<const double> b,
                             double total, std::optional<double> bias) {
  Explanation::Sum sum{std::move(name), {}, shown_number(total)};
  double of_shown = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum.terms.push_back(product_term(a[i], b[i]));
    of_shown += as_shown(a[i]) * as_shown(b[i]);
  }
  if (bias) {
    sum.terms.push_back(number_term(*bias));
    of_shown += as_shown(*bias);
  }
  sum.rounded =
      std::isfinite(of_shown) && std::isfinite(total) && shown_number(of_shown) != sum.total;
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

void ExplanationOutput::add(const Explanation& explanation, Fact::Members about) {
  if (format_ != ExplanationFormat::json) {
    if (!text_.empty()) text_ += "\n\n";
    text_ += format_ == ExplanationFormat::markdown ? explanation_markdown(explanation)
                                                    : explanation_text(explanation);
    return;
  }
  std::string part;
  about.push_back({"steps", list_of(explanation.steps, [&](const Explanation::Step& step) {
                     if (!step.part.empty()) part = step.part;
                     return object({{"part", unless_empty(part)},
                                    {"title", step.title},
                                    {"text", step_text(step, 0, explanation.full)}});
                   })});
  facts_.emplace_back(std::move(about));
}

std::string ExplanationOutput::text() const {
  if (format_ != ExplanationFormat::json) return text_;
  return json_text(list_ ? Fact(facts_) : facts_.front());
}

}  // namespace attn
