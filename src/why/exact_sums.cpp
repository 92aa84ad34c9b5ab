#include "why/exact_sums.hpp"

#include <cmath>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {

void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what) {
  constexpr double tolerance = 1e-12, rounding = 1e-14;
  double sum = 0, absolute = 0;
  for (const double term : terms) {
    sum += term;
    absolute += std::abs(term);
  }
  if (std::abs(sum - whole) <= tolerance * absolute + rounding * size) return;
  throw Error(ErrorKind::internal,
              translated("the parts of {1} add up to {2}, and it is {3}", what(), number_text(sum),
                         number_text(whole)),
              "", translated("report this text and the model: the split is not shown"));
}

}  // namespace attn
