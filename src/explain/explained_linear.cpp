#include "explain/explained_linear.hpp"

#include <utility>

namespace attn {

void explain_linear(const Linear& linear, std::span<const double> x, std::size_t first,
                    std::span<const double> y, const std::string& name, Explanation& explanation) {
  constexpr std::size_t most_rows = 4, first_rows = 2, last_rows = 1;
  const Tensor weight = linear.weight.converted(DType::float64),
               bias = linear.bias.converted(DType::float64);
  Explanation::Sums sums{
      {}, explanation.excerpt(y.size(), most_rows, first_rows, last_rows), components_left_out};
  for (const std::size_t row : sums.rows.indices()) {
    Explanation::Sum sum =
        product_sum(name + "[" + std::to_string(row) + "]", x,
                    weight.values<double>().subspan((first + row) * x.size(), x.size()), y[row]);
    if (bias) sum.terms.push_back(number_term(bias.values<double>()[first + row]));
    sums.sums.push_back(std::move(sum));
  }
  explanation.put(std::move(sums));
}

Explanation::Vectors::Row named_vector(std::string name, std::span<const double> values) {
  return {std::move(name), {values.begin(), values.end()}};
}

void show_vectors(std::vector<Explanation::Vectors::Row> rows, Explanation& explanation) {
  const Excerpt all = Excerpt::all(rows.size());
  explanation.put(Explanation::Vectors{std::move(rows), all, {}});
}

}  // namespace attn
