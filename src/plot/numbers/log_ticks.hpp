#pragma once

#include <string>
#include <vector>

#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// The ticks of a logarithmic axis.
struct LogTicks {
  std::vector<double> values;        ///< within the view
  std::vector<std::string> labels;   ///< one a value
  std::vector<double> minor_values;  ///< without labels
};

/// Powers of ten, so many decades apart that there are at most `intervals` + 1; in a view that
/// holds fewer than two of them, their multiples by 2 and 5 or other round values as well. The view
/// begins above zero.
LogTicks log_ticks(Interval view, int intervals);

}  // namespace attn::plot
