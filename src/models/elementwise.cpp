#include "models/elementwise.hpp"

#include <cmath>
#include <numbers>
#include <span>

#include "attention/new_elements.hpp"
#include "kernels/activation.hpp"

namespace attn {
namespace {

double activated(double x, ModelActivation activation) {
  const auto by_tanh = [x](double root) {
    return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
  };
  switch (activation) {
    case ModelActivation::relu:
      return x < 0 ? 0 : x;
    case ModelActivation::gelu:
      return x * (0.5 * std::erfc(-x / std::numbers::sqrt2));
    case ModelActivation::gelu_tanh:
      return by_tanh(std::sqrt(2 / std::numbers::pi));
    case ModelActivation::gelu_bloom:
      return by_tanh(0.79788456);
    case ModelActivation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case ModelActivation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

struct KernelCurve {
  kernels::Curve curve;
  float constant = 0;
};

KernelCurve curve_of(ModelActivation activation) {
  using kernels::Curve;
  switch (activation) {
    case ModelActivation::relu:
      return {Curve::relu};
    case ModelActivation::gelu:
      return {Curve::gelu};
    case ModelActivation::gelu_tanh:
    case ModelActivation::gelu_bloom:
      return {Curve::gelu_by_tanh, 0.79788456F};
    case ModelActivation::quick_gelu:
      return {Curve::sigmoid, 1.702F};
    case ModelActivation::silu:
      break;
  }
  return {Curve::sigmoid, 1};
}

}  // namespace

Tensor rms_normed(const Tensor& x, const Tensor& weight, double eps, bool plus_one,
                  std::size_t threads) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  const Tensor factors = weight.converted(DType::float64);
  const auto w = factors.values<double>();
  const auto each = [&]<class T>(std::span<const T> from) {
    const auto y = new_elements<T>(from.size());
    constexpr std::size_t block = 32;
    parallel_for((rows + block - 1) / block, threads, [&](std::size_t at) {
      for (std::size_t row = at * block; row < std::min(rows, (at + 1) * block); ++row) {
        const T* in = from.data() + row * width;
        T* out = y.get() + row * width;
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) {
          sum += static_cast<double>(in[i]) * static_cast<double>(in[i]);
        }
        const double factor = 1 / std::sqrt(sum / static_cast<double>(width) + eps);
        for (std::size_t i = 0; i < width; ++i) {
          const double scale = plus_one ? 1 + w[i] : w[i];
          out[i] = static_cast<T>(static_cast<double>(in[i]) * factor * scale);
        }
      }
    });
    return filled(x.shape(), y);
  };
  return x.dtype() == DType::float32 ? each(x.values<float>()) : each(x.values<double>());
}

Tensor activated(const Tensor& x, const Tensor& up, ModelActivation activation,
                 std::size_t threads) {
  if (x.dtype() == DType::float64) {
    if (!up) {
      return mapped(
          threads, [&](double v) { return activated(v, activation); }, x);
    }
    return mapped(
        threads, [&](double v, double u) { return activated(v, activation) * u; }, x, up);
  }
  const auto y = new_elements<float>(x.size());
  const float* from = x.values<float>().data();
  const float* factors = up ? up.values<float>().data() : nullptr;
  const KernelCurve by = curve_of(activation);
  constexpr std::size_t block = 1 << 14U;
  parallel_for((x.size() + block - 1) / block, threads, [&](std::size_t at) {
    const std::size_t first = at * block;
    kernels::activate(by.curve, by.constant, from + first,
                      factors == nullptr ? nullptr : factors + first,
                      std::min(block, x.size() - first), y.get() + first);
  });
  return filled(x.shape(), y);
}

Tensor picked(const Tensor& tensor, const std::vector<std::size_t>& rows) {
  const std::size_t width = tensor.size() / tensor.shape()[0];
  const auto pick = [&]<class T>(std::span<const T> from) {
    std::vector<T> to;
    to.reserve(rows.size() * width);
    for (const std::size_t row : rows) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(row * width),
                from.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    }
    Shape shape = tensor.shape();
    shape[0] = rows.size();
    return Tensor(std::move(shape), std::move(to));
  };
  return tensor.dtype() == DType::float32 ? pick(tensor.values<float>())
                                          : pick(tensor.values<double>());
}

Tensor joined(const std::vector<Tensor>& samples) {
  if (samples.size() == 1) return samples.front();
  Shape shape = samples.front().shape();
  for (const Tensor& sample : samples) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = std::max(shape[axis], sample.shape()[axis]);
    }
  }
  shape[0] = samples.size();
  const auto join = [&]<class T>(const T*) {
    std::vector<T> all(element_count(shape));
    const std::size_t each = all.size() / samples.size();
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const Tensor& sample = samples[b];
      const std::size_t width = sample.shape().back();
      const auto from = sample.values<T>();
      Shape index(shape.size(), 0);
      for (std::size_t at = 0; at < from.size(); at += width) {
        std::size_t to = 0;
        for (std::size_t axis = 1; axis < shape.size(); ++axis) to = to * shape[axis] + index[axis];
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), width,
                    all.begin() + static_cast<std::ptrdiff_t>(b * each + to));
        for (std::size_t axis = shape.size() - 1; axis-- > 1;) {
          if (++index[axis] < sample.shape()[axis]) break;
          index[axis] = 0;
        }
      }
    }
    return Tensor(shape, std::move(all));
  };
  return samples.front().dtype() == DType::float32 ? join(static_cast<const float*>(nullptr))
                                                   : join(static_cast<const double*>(nullptr));
}

}  // namespace attn
