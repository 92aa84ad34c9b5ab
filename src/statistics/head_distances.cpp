#include "statistics/head_distances.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <Eigen/Eigenvalues>

#include "kernels/row_sums.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

constexpr double smoothing = 0.001;

// A head's rows of one sample after the other, smoothed; zeros where a row has no weight.
struct SmoothRows {
  std::vector<double> numbers;
  std::vector<double> entropies;  // of each row
};

template <class T>
SmoothRows smooth_rows(const Tensor& maps, std::size_t head) {
  const Shape& shape = maps.shape();
  const std::size_t rows = shape[2], columns = shape[3];
  const std::span<const T> numbers = maps.values<T>();
  SmoothRows smooth;
  smooth.numbers.resize(shape[0] * rows * columns);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t i = 0; i < rows; ++i) {
      const T* from = numbers.data() + ((b * shape[1] + head) * rows + i) * columns;
      double* to = smooth.numbers.data() + (b * rows + i) * columns;
      const double floor = smoothing / static_cast<double>(columns);
      if (std::any_of(from, from + columns, [](T number) { return number != 0; })) {
        for (std::size_t j = 0; j < columns; ++j) to[j] = (1 - smoothing) * from[j] + floor;
      }
      smooth.entropies.push_back(kernels::row_sums(to, columns, 0).entropy);
    }
  }
  return smooth;
}

double divergence(const SmoothRows& a, const SmoothRows& b, std::size_t columns) {
  std::vector<double> middle(columns);
  double sum = 0;
  for (std::size_t row = 0; row < a.entropies.size(); ++row) {
    const double *first = a.numbers.data() + row * columns,
                 *second = b.numbers.data() + row * columns;
    if (first[0] == 0 || second[0] == 0) continue;
    for (std::size_t j = 0; j < columns; ++j) middle[j] = (first[j] + second[j]) / 2;
    sum += kernels::row_sums(middle.data(), columns, 0).entropy -
           (a.entropies[row] + b.entropies[row]) / 2;
  }
  return std::max(sum, 0.0);
}

}  // namespace

void HeadDistances::add(const Tensor& maps) {
  layers_.push_back(maps);
}

Tensor HeadDistances::distances() const {
  std::vector<SmoothRows> heads;
  std::size_t columns = 0;
  for (const Tensor& maps : layers_) {
    columns = maps.shape()[3];
    for (std::size_t h = 0; h < maps.shape()[1]; ++h) {
      heads.push_back(maps.dtype() == DType::float32 ? smooth_rows<float>(maps, h)
                                                     : smooth_rows<double>(maps, h));
    }
  }
  const std::size_t count = heads.size();
  std::vector<double> all(count * count);
  parallel_for(count, threads_, [&](std::size_t a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      all[a * count + b] = divergence(heads[a], heads[b], columns);
    }
  });
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) all[a * count + b] = all[b * count + a];
  }
  return {{count, count}, std::move(all)};
}

Tensor scaled_to_plane(const Tensor& distances) {
  const auto count = static_cast<Eigen::Index>(distances.shape()[0]);
  const Eigen::Map<const Eigen::MatrixXd> d(distances.values<double>().data(), count, count);
  const Eigen::MatrixXd squares = d.cwiseProduct(d);
  const Eigen::VectorXd means = squares.rowwise().mean();
  Eigen::MatrixXd products = squares.colwise() - means;
  products.rowwise() -= means.transpose();
  products.array() += means.mean();
  products *= -0.5;
  std::vector<double> points(static_cast<std::size_t>(count) * 2);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(products);
  for (Eigen::Index axis = 0; axis < std::min<Eigen::Index>(2, count); ++axis) {
    const Eigen::Index at = count - 1 - axis;  // eigenvalues ascend
    Eigen::VectorXd vector =
        solver.eigenvectors().col(at) * std::sqrt(std::max(solver.eigenvalues()[at], 0.0));
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    if (vector[largest] < 0) vector = -vector;
    for (Eigen::Index i = 0; i < count; ++i) {
      points[static_cast<std::size_t>(i * 2 + axis)] = vector[i];
    }
  }
  return {{static_cast<std::size_t>(count), 2}, std::move(points)};
}

}  // namespace attn
