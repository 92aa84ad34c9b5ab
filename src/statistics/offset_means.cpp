#include "statistics/offset_means.hpp"

#include <algorithm>
#include <limits>

namespace attn {

OffsetMeans::OffsetMeans(std::size_t length, std::size_t reach)
    : length_(length), reach_(reach), sums_(2 * reach + 1) {}

void OffsetMeans::add(const float* row) {
  read(row);
}

void OffsetMeans::add(const double* row) {
  read(row);
}

template <class T>
void OffsetMeans::read(const T* row) {
  const std::size_t first = row_ - std::min(row_, reach_);
  const std::size_t end = std::min(length_, row_ + reach_ + 1);
  double* const sums = sums_.data() + (first + reach_ - row_);
  for (std::size_t j = first; j < end; ++j) sums[j - first] += static_cast<double>(row[j]);
  ++row_;
}

std::vector<double> OffsetMeans::means() const {
  std::vector<double> means(sums_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t at = 0; at < means.size(); ++at) {
    const std::size_t away = at < reach_ ? reach_ - at : at - reach_;
    if (away < length_) means[at] = sums_[at] / static_cast<double>(length_ - away);
  }
  return means;
}

}  // namespace attn
