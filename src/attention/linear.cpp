#include "attention/linear.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

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

// y = x Wᵀ + b. The threads first pack the panels of W, then share the blocks of y among them;
// which thread computes a number changes nothing about its sum.
template <class T>
Tensor product(const Linear& linear, const Tensor& x, std::size_t threads) {
  const Tensor weight = linear.weight.converted(dtype_of<T>());
  const Tensor bias = linear.bias.converted(dtype_of<T>());
  const std::size_t width = weight.shape()[1], columns = weight.shape()[0];
  const std::size_t rows = x.size() / width;
  const T* w = weight.values<T>().data();
  const T* b = bias ? bias.values<T>().data() : nullptr;
  const T* from = x.values<T>().data();
  const auto y = new_elements<T>(rows * columns);

  const std::size_t panel = panel_columns<T>(), panels = (columns + panel - 1) / panel;
  const auto packed = new_elements<T>(panels * panel * width);
  // Blocks of rows large enough to use the packed columns of a group often, but several a thread;
  // where there are too few rows for that, a group is shared too.
  constexpr std::size_t most_rows = 384, unit = 24, wanted_blocks = 8;
  const std::size_t block_rows = std::clamp(rows / wanted_blocks / unit * unit, unit, most_rows);
  const std::size_t row_blocks = (rows + block_rows - 1) / block_rows;
  const std::size_t block_panels = std::clamp<std::size_t>(
      panels * row_blocks / std::max(wanted_blocks, row_blocks), 1, kernels::product_group / panel);
  const std::size_t column_blocks = (panels + block_panels - 1) / block_panels;

  const std::size_t workers = std::min(thread_count(threads), row_blocks * column_blocks);
  std::atomic<std::size_t> next_panel{0}, packed_panels{0}, next_block{0};
  parallel_for(workers, workers, [&](std::size_t) {
    for (std::size_t i = next_panel++; i < panels; i = next_panel++) {
      const std::size_t first = i * panel;
      kernels::pack_panel(
          kernels::PanelRows<T>{w + first * width, width, std::min(panel, columns - first), width},
          packed.get() + first * width);
      ++packed_panels;
    }
    // Those who took the last panels are packing them now: there is nothing long to wait for.
    while (packed_panels < panels) std::this_thread::yield();
    for (std::size_t i = next_block++; i < row_blocks * column_blocks; i = next_block++) {
      const std::size_t row = i % row_blocks * block_rows;
      const std::size_t left = i / row_blocks * block_panels * panel;
      kernels::multiply_rows(kernels::RowProduct<T>{
          from + row * width, width, std::min(block_rows, rows - row), width,
          packed.get() + left * width, std::min(block_panels * panel, columns - left),
          b == nullptr ? nullptr : b + left, y.get() + row * columns + left, columns});
    }
  });
  Shape shape = x.shape();
  shape.back() = columns;
  return filled(std::move(shape), y);
}

}  // namespace

Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads) {
  return x.dtype() == DType::float32 ? product<float>(linear, x, threads)
                                     : product<double>(linear, x, threads);
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
