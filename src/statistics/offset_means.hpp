#pragma once

#include <cstddef>
#include <vector>

namespace attn {

/// The mean weight of a map [n,n] at each offset key − query from −reach to reach, over the rows
/// that have such a key.
class OffsetMeans {
 public:
  OffsetMeans(std::size_t length, std::size_t reach);

  /// The next row.
  void add(const float* row);
  void add(const double* row);

  /// 2·reach + 1 numbers; NaN where no row has such a key.
  std::vector<double> means() const;

 private:
  template <class T>
  void read(const T* row);

  std::size_t length_, reach_, row_ = 0;
  std::vector<double> sums_;
};

}  // namespace attn
