#include "attention/linear.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "attn/error.hpp"

#include "attention/new_elements.hpp"
#include "kernels/matrix_product.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

template <class T>
std::size_t panel_columns() {
  return sizeof(T) == sizeof(float) ? kernels::product_panel_floats()
                                    : kernels::product_panel_doubles();
}

// Columns of y that one thread packs the rows of W for, and which blocks of rows of them are taken.
struct ColumnGroup {
  std::atomic<bool> packed{false};
  std::atomic<std::size_t> next_block{0};
};

// y = x Wᵀ + b. A thread packs a group of columns and multiplies with it while it is in its cache;
// those who find no group left share the rows of the groups that are not done. Which thread
// computes a number changes nothing about its sum.
// `pack_rows(first, count, panel)` packs rows of W.
template <class T, class PackRows>
Tensor product(std::size_t columns, std::size_t width, const Tensor& given_bias, const Tensor& x,
               std::size_t threads, const PackRows& pack_rows) {
  const Tensor bias = given_bias.converted(dtype_of<T>());
  const std::size_t rows = x.size() / width;
  const T* b = bias ? bias.values<T>().data() : nullptr;
  const T* from = x.values<T>().data();
  const auto y = new_elements<T>(rows * columns);

  const std::size_t panel = panel_columns<T>(), panels = (columns + panel - 1) / panel;
  const auto packed = new_elements<T>(panels * panel * width);
  constexpr std::size_t block_rows = 96;
  const std::size_t blocks = (rows + block_rows - 1) / block_rows;
  // Two groups a thread at least, as far as there are panels.
  const std::size_t workers = std::clamp<std::size_t>(panels * blocks, 1, thread_count(threads));
  const std::size_t group_panels =
      std::clamp<std::size_t>(panels / (2 * workers), 1, kernels::product_group / panel);
  const std::size_t group_columns = group_panels * panel;
  std::vector<ColumnGroup> groups((panels + group_panels - 1) / group_panels);

  const auto pack = [&](std::size_t g) {
    const std::size_t end = std::min((g + 1) * group_columns, columns);
    for (std::size_t first = g * group_columns; first < end; first += panel) {
      pack_rows(first, std::min(panel, end - first), packed.get() + first * width);
    }
    groups[g].packed = true;
  };
  const auto multiply = [&](std::size_t g) {
    const std::size_t left = g * group_columns;
    for (std::size_t i = groups[g].next_block++; i < blocks; i = groups[g].next_block++) {
      const std::size_t row = i * block_rows;
      kernels::multiply_rows(kernels::RowProduct<T>{
          from + row * width, width, std::min(block_rows, rows - row), width,
          packed.get() + left * width, std::min(group_columns, columns - left),
          b == nullptr ? nullptr : b + left, y.get() + row * columns + left, columns});
    }
  };
  std::atomic<std::size_t> next_group{0};
  parallel_for(workers, workers, [&](std::size_t) {
    for (std::size_t g = next_group++; g < groups.size(); g = next_group++) {
      pack(g);
      multiply(g);
    }
    // The groups taken last have the most left.
    for (std::size_t g = groups.size(); g-- > 0;) {
      while (!groups[g].packed) std::this_thread::yield();
      multiply(g);
    }
  });
  Shape shape = x.shape();
  shape.back() = columns;
  return filled(std::move(shape), y);
}

template <class T>
Tensor product(const Linear& linear, const Tensor& x, std::size_t threads) {
  const Tensor weight = linear.weight.converted(dtype_of<T>());
  const std::size_t width = weight.shape()[1];
  const T* w = weight.values<T>().data();
  const auto pack = [&](std::size_t first, std::size_t count, T* panel) {
    kernels::pack_panel(kernels::PanelRows<T>{w + first * width, width, count, width}, panel);
  };
  return product<T>(weight.shape()[0], width, linear.bias, x, threads, pack);
}

template <class T>
Tensor product(const MatrixRows& weight, const Tensor& bias, const Tensor& x, std::size_t threads) {
  const std::size_t width = weight.columns;
  const std::size_t panel_width = panel_columns<T>();
  const auto make = [&](std::size_t first, std::size_t count, std::size_t stride, T* to) {
    if constexpr (sizeof(T) == sizeof(float)) {
      weight.floats(first, count, stride, to);
    } else {
      weight.doubles(first, count, stride, to);
    }
  };
  const auto pack = [&](std::size_t first, std::size_t count, T* panel) {
    if (weight.side_by_side) {
      // As a panel has them.
      if (count < panel_width) std::fill_n(panel, panel_width * width, T(0));
      make(first, count, panel_width, panel);
      return;
    }
    thread_local std::vector<T> rows;
    rows.resize(count * width);
    make(first, count, width, rows.data());
    kernels::pack_panel(kernels::PanelRows<T>{rows.data(), width, count, width}, panel);
  };
  return product<T>(weight.rows, width, bias, x, threads, pack);
}

}  // namespace

Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads) {
  return x.dtype() == DType::float32 ? product<float>(linear, x, threads)
                                     : product<double>(linear, x, threads);
}

Tensor apply(const MatrixRows& weight, const Tensor& bias, const Tensor& x, std::size_t threads) {
  return x.dtype() == DType::float32 ? product<float>(weight, bias, x, threads)
                                     : product<double>(weight, bias, x, threads);
}

Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name) {
  const std::string weight = prefix + name + ".weight";
  if (!linear.weight) {
    throw input_error("the parameter " + weight + " is missing", "/parameters/" + weight,
                      "give it the shape [out," + std::to_string(x.back()) + "]");
  }
  const Shape& shape = linear.weight.shape();
  if (linear.weight.size() == 0) {
    throw input_error(weight + " " + text(shape) + " has an axis of size 0",
                      "/parameters/" + weight, "give every axis at least one element");
  }
  if (shape.size() != 2 || shape[1] != x.back()) {
    const std::string expected = "[out," + std::to_string(x.back()) + "]";
    throw input_error(weight + " " + text(shape) + " does not fit: expected " + expected,
                      "/parameters/" + weight,
                      "its second axis is the width of what it is applied to, " + text(x));
  }
  if (linear.bias && linear.bias.shape() != Shape{shape[0]}) {
    throw input_error(prefix + name + ".bias " + text(linear.bias.shape()) +
                          " does not fit: expected " + text({shape[0]}),
                      "/parameters/" + prefix + name + ".bias",
                      "give it one number a row of " + weight);
  }
  Shape result = x;
  result.back() = shape[0];
  return result;
}

}  // namespace attn
