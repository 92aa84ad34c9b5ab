#include "plot/description.hpp"

#include "plot/numbers/value_format.hpp"
#include "support/count_text.hpp"

namespace attn::plot {

std::string described_cells(const Matrix& matrix, bool of_positions) {
  if (of_positions) {
    return count_text(matrix.rows(), "position") + " × " +
           count_text(matrix.columns(), "dimension");
  }
  return count_text(matrix.rows(), "query", "queries") + " × " +
         count_text(matrix.columns(), "key");
}

std::string described_colours(std::span<const Matrix> matrices, const ColourScale& scale,
                              const std::vector<LegendEntry>& key) {
  std::string text;
  if (const auto values = value_range(matrices, true)) {
    text = "Values from " + short_number(values->low) + " to " + short_number(values->high) +
           ", coloured from " + short_number(scale.range.low) + " to " +
           short_number(scale.range.high) + ".";
  } else {
    text = "No finite values.";
  }
  for (const LegendEntry& entry : key) {
    text += (&entry == &key.front() ? " Told apart: " : ", ") + entry.name;
  }
  return key.empty() ? text : text + ".";
}

}  // namespace attn::plot
