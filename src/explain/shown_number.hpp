#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn {

inline constexpr int usual_decimals = 4, fewest_decimals = 2, most_decimals_shown = 16;

/// While it lives, numbers that this thread shows have up to so many decimals in place of the usual
/// ones, `fewest_decimals` to `most_decimals_shown`.
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

/// Numbers of one column: as many decimals for all as the one that needs most.
std::vector<std::string> shown_column(std::span<const double> numbers);

}  // namespace attn
