#include "plot/description.hpp"

#include "plot/numbers/value_format.hpp"
#include "support/translated.hpp"

namespace attn::plot {

std::string described_cells(const Matrix& matrix, bool of_positions) {
  if (of_positions) {
    return translated_count(matrix.rows(), "{1} position", "{1} positions") + " × " +
           translated_count(matrix.columns(), "{1} dimension", "{1} dimensions");
  }
  return translated_count(matrix.rows(), "{1} query", "{1} queries") + " × " +
         translated_count(matrix.columns(), "{1} key", "{1} keys");
}

std::string described_colours(std::span<const Matrix> matrices, const ColourScale& scale,
                              const std::vector<LegendEntry>& key) {
  std::string text;
  if (const auto values = value_range(matrices, true)) {
    text = translated("Values from {1} to {2}, coloured from {3} to {4}.",
                      short_number(values->low), short_number(values->high),
                      short_number(scale.range.low), short_number(scale.range.high));
  } else {
    text = translated("No finite values.");
  }
  for (const LegendEntry& entry : key) {
    text += (&entry == &key.front() ? translated(" Told apart: ") : translated(", ")) + entry.name;
  }
  return key.empty() ? text : text + translated(".");
}

}  // namespace attn::plot
