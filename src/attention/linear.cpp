#include "attention/linear.hpp"

#include <algorithm>
#include <numbers>
#include <type_traits>

#include "attn/error.hpp"

#include "attention/packed_product.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Columns `first` … `first + product.count` − 1 of a product of a few rows of x, with rows of W
// where they are stored, or made in `room`.
template <class T>
void multiply_part(kernels::FewRowProduct<T> product, const ProductRows<T>& w, std::size_t first) {
  if constexpr (std::is_same_v<T, float>) {
    if (w.lines != nullptr) {
      const std::size_t size = kernels::size_of(product.stored);
      return kernels::multiply_few_columns(product, w.lines + first * size, w.stride * size);
    }
  }
  std::vector<const std::byte*> places(product.count);
  const auto set_places = [&](const T* rows, std::size_t stride, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) {
      places[j] = reinterpret_cast<const std::byte*>(rows + j * stride);
    }
  };
  if (w.places) {
    w.places(first, product.count, places.data());
  } else if (w.in_memory != nullptr) {
    set_places(w.in_memory + first * w.stride, w.stride, product.count);
  } else {
    // Rows that are made a few at a time are multiplied while they are in the nearest cache.
    constexpr std::size_t near = 16384;
    const std::size_t made = std::clamp<std::size_t>(near / sizeof(T) / w.width, 1, product.count);
    const std::shared_ptr<T> room = new_elements<T>(made * w.width);
    set_places(room.get(), w.width, made);
    const std::size_t end = first + product.count;
    for (; first < end; first += made) {
      product.count = std::min(made, end - first);
      w.make(first, product.count, w.width, room.get());
      kernels::multiply_few_rows(product, places.data());
      product.y += product.count;
      if (product.bias != nullptr) product.bias += product.count;
    }
    return;
  }
  kernels::multiply_few_rows(product, places.data());
}

// Products of a few rows of x with a W that is not packed.
template <class T>
void multiply_few(std::vector<ProductTask<T>>& tasks, const T* x, std::size_t rows,
                  std::size_t threads) {
  // Lines of this many columns are read in pieces that are long enough.
  constexpr std::size_t part = 128;
  struct Part {
    const ProductTask<T>* task;
    std::size_t first;
  };
  std::vector<Part> parts;
  std::size_t numbers = 0;
  for (const ProductTask<T>& task : tasks) {
    numbers += task.rows.count * task.rows.width;
    for (std::size_t first = 0; first < task.rows.count; first += part) {
      parts.push_back({&task, first});
    }
  }
  // Fewer numbers of W are read faster than another thread starts.
  constexpr std::size_t enough = std::size_t{1} << 19U;
  parallel_for(parts.size(), numbers >= enough ? threads : 1, [&](std::size_t at) {
    const ProductTask<T>& task = *parts[at].task;
    const ProductRows<T>& w = task.rows;
    const std::size_t first = parts[at].first, count = std::min(part, w.count - first);
    multiply_part<T>(
        {x, rows, w.width, w.stored, count, task.bias_from(first), task.y.get() + first, w.count},
        w, first);
    if (!task.epilogue) return;
    for (std::size_t i = 0; i < rows; ++i) {
      task.epilogue(i * w.count + first, count, task.y.get() + i * w.count + first);
    }
  });
}

template <class T>
void multiply_all(std::vector<ProductTask<T>>& tasks, const Tensor& x, std::size_t threads) {
  const std::size_t width = tasks.front().rows.width, rows = x.size() / width;
  const T* from = x.values<T>().data();
  for (ProductTask<T>& task : tasks) {
    task.bias = task.bias.converted(dtype_of<T>());
    task.y = new_elements<T>(rows * task.rows.count);
  }
  const bool few = rows <= kernels::few_product_rows &&
                   std::all_of(tasks.begin(), tasks.end(),
                               [](const auto& task) { return task.rows.takes_few(); });
  if (few) {
    multiply_few(tasks, from, rows, threads);
  } else {
    multiply_packed(tasks, from, rows, threads);
  }
}

template <class T>
Tensor result(const ProductTask<T>& task, const Tensor& x) {
  Shape shape = x.shape();
  shape.back() = task.rows.count;
  return filled(std::move(shape), task.y);
}

template <class T>
auto epilogue_of(const Epilogue& epilogue) {
  if constexpr (std::is_same_v<T, float>) {
    return epilogue.floats;
  } else {
    return epilogue.doubles;
  }
}

template <class T>
Tensor product(const Linear& linear, const Tensor& x, std::size_t threads,
               const Epilogue& epilogue) {
  const Tensor weight = linear.weight.converted(dtype_of<T>());
  const std::size_t width = weight.shape()[1];
  ProductRows<T> rows{weight.shape()[0], width, false, false, weight.values<T>().data(), width, {}};
  std::vector<ProductTask<T>> tasks;
  tasks.push_back({std::move(rows), linear.bias, epilogue_of<T>(epilogue), {}});
  multiply_all(tasks, x, threads);
  return result(tasks.front(), x);
}

template <class T>
std::vector<Tensor> products(std::span<const Product> all, const Tensor& x, std::size_t threads) {
  std::vector<ProductTask<T>> tasks;
  for (const Product& one : all) {
    const MatrixRows& weight = one.weight;
    ProductRows<T> rows{
        weight.rows, weight.columns, weight.side_by_side, weight.bfloat16, nullptr, 0, {}};
    ProductTask<T>& task = tasks.emplace_back(
        ProductTask<T>{std::move(rows), one.bias, epilogue_of<T>(one.epilogue), {}});
    task.rows.stride = weight.stride;
    task.rows.kept = weight.kept;
    if constexpr (std::is_same_v<T, float>) {
      task.rows.in_memory = weight.in_memory;
      task.rows.make = weight.floats;
      task.rows.stored = weight.stored;
      task.rows.places = weight.places;
      task.rows.lines = weight.lines;
    } else {
      task.rows.in_memory = weight.doubles_in_memory;
      task.rows.make = weight.doubles;
    }
  }
  multiply_all(tasks, x, threads);
  std::vector<Tensor> results;
  results.reserve(tasks.size());
  for (const ProductTask<T>& task : tasks) results.push_back(result(task, x));
  return results;
}

}  // namespace

Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads, const Epilogue& epilogue) {
  return with_float_type(x.dtype(),
                         [&]<class T>() { return product<T>(linear, x, threads, epilogue); });
}

std::vector<Tensor> apply(std::span<const Product> all, const Tensor& x, std::size_t threads) {
  return with_float_type(x.dtype(), [&]<class T>() { return products<T>(all, x, threads); });
}

double activated(double x, const ActivationCurve& by) {
  switch (by.curve) {
    case kernels::Curve::relu:
      return x < 0 ? 0 : x;  // NaN stays NaN
    case kernels::Curve::relu_squared:
      return x < 0 ? 0 : x * x;
    case kernels::Curve::gelu:
      return x * (0.5 * std::erfc(-x / std::numbers::sqrt2));
    case kernels::Curve::gelu_by_tanh:
      return 0.5 * x * (1 + std::tanh(by.constant * (x + 0.044715 * x * x * x)));
    case kernels::Curve::sigmoid:
      return x / (1 + std::exp(-by.constant * x));
  }
  return x;
}

Epilogue activating(const ActivationCurve& by) {
  return {[by](std::size_t, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant), y, nullptr, count, y);
          },
          [by](std::size_t, std::size_t count, double* y) {
            for (std::size_t i = 0; i < count; ++i) y[i] = activated(y[i], by);
          }};
}

Epilogue gating(const Tensor& gates, const ActivationCurve& by) {
  return {[by, gates](std::size_t at, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant),
                              gates.values<float>().data() + at, y, count, y);
          },
          [by, gates](std::size_t at, std::size_t count, double* y) {
            const double* gate = gates.values<double>().data() + at;
            for (std::size_t i = 0; i < count; ++i) y[i] *= activated(gate[i], by);
          }};
}

Epilogue adding(const Tensor& base) {
  const auto add = [base]<class T>(std::size_t at, std::size_t count, T* y) {
    const T* from = base.values<T>().data() + at;
    for (std::size_t i = 0; i < count; ++i) y[i] += from[i];
  };
  return {add, add};
}

Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name) {
  const std::string weight = prefix + name + ".weight";
  if (!linear.weight) {
    throw input_error(translated("the parameter {1} is missing", weight), "/parameters/" + weight,
                      translated("give it the shape [out,{1}]", x.back()));
  }
  const Shape& shape = linear.weight.shape();
  if (linear.weight.size() == 0) {
    throw input_error(translated("{1} {2} has an axis of size 0", weight, text(shape)),
                      "/parameters/" + weight, translated("give every axis at least one element"));
  }
  if (shape.size() != 2 || shape[1] != x.back()) {
    const std::string expected = "[out," + std::to_string(x.back()) + "]";
    throw input_error(
        translated("{1} {2} does not fit: expected {3}", weight, text(shape), expected),
        "/parameters/" + weight,
        shape.size() == 3 && shape[0] == x.back()
            ? translated("join its heads: write {1}", R"({"file": …, "name": …, "reshape": )" +
                                                          text({shape[0], shape[1] * shape[2]}) +
                                                          R"(, "transpose": true})")
        : shape.size() == 3 && shape[1] == x.back()
            ? translated("join its heads: write {1}",
                         R"({"file": …, "name": …, "view": [{"transpose": [0,2,1]}, {"reshape": )" +
                             text({shape[0] * shape[2], shape[1]}) + "}]}")
        : shape.size() == 2 && shape[0] == x.back()
            ? translated(
                  "its second axis is the width of what it is applied to, {1}; weights that "
                  "are multiplied as x·W come with \"transpose\": true beside their \"file\" "
                  "or \"data\", and as nested arrays with their columns as rows",
                  text(x))
            : translated("its second axis is the width of what it is applied to, {1}", text(x)));
  }
  if (linear.bias && linear.bias.shape() != Shape{shape[0]}) {
    throw input_error(translated("{1}{2}.bias {3} does not fit: expected {4}", prefix, name,
                                 text(linear.bias.shape()), text({shape[0]})),
                      "/parameters/" + prefix + name + ".bias",
                      translated("give it one number per row of {1}", weight));
  }
  Shape result = x;
  result.back() = shape[0];
  return result;
}

namespace {

template <class T>
Tensor normalised(const Norm& norm, const Tensor& x, double eps, std::size_t threads) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  const Tensor weight = norm.weight.converted(DType::float64);
  const Tensor bias = norm.bias.converted(DType::float64);
  const kernels::RowNorm row_norm{weight ? weight.values<double>().data() : nullptr,
                                  bias ? bias.values<double>().data() : nullptr, eps,
                                  norm.kind == NormKind::layer};
  const std::shared_ptr<T> y = new_elements<T>(x.size());
  constexpr std::size_t block = 32;
  parallel_for((rows + block - 1) / block, threads, [&](std::size_t at) {
    const std::size_t first = at * block * width;
    kernels::normalise_rows(x.values<T>().data() + first, std::min(block, rows - at * block), width,
                            row_norm, y.get() + first);
  });
  return filled(x.shape(), y);
}

}  // namespace

Tensor apply(const Norm& norm, const Tensor& x, double eps, std::size_t threads) {
  return with_float_type(x.dtype(),
                         [&]<class T>() { return normalised<T>(norm, x, eps, threads); });
}

void check_layer_norm(const Norm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name) {
  const auto check = [&](const Tensor& tensor, const char* part) {
    if (!tensor || tensor.shape() == Shape{width}) return;
    const std::string full = prefix + name + part;
    throw input_error(
        translated("{1} {2} does not fit: expected {3}", full, text(tensor.shape()), text({width})),
        "/parameters/" + full,
        translated("give it one number for each of a hidden state's {1}", width));
  };
  check(norm.weight, ".weight");
  check(norm.bias, ".bias");
}

}  // namespace attn
