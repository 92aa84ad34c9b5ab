#pragma once

#include <cstddef>

namespace attn::kernels {

/// Rows of W that stand side by side in one panel of the packed matrix. What is packed for one CPU
/// target serves no other.
std::size_t product_panel_floats() noexcept;
std::size_t product_panel_doubles() noexcept;

/// Rows `first`…`first + count` − 1 of a matrix, at most as many as a panel holds, as the panel
/// [width, panel]: columns beyond the last row are zeros.
template <class T>
struct PanelRows {
  const T* first;
  std::size_t stride, count, width;
};
void pack_panel(const PanelRows<float>& rows, float* panel) noexcept;
void pack_panel(const PanelRows<double>& rows, double* panel) noexcept;

/// Columns of y whose packed W the second-level cache holds: whole panels on every target. Parts of
/// a product are best so wide, and computed one after the other down the rows.
constexpr std::size_t product_group = 192;

/// y = x Wᵀ + b: y [rows, columns], x [rows, width], W [columns, width] as its panels one after the
/// other, b [columns] or null. Strides count numbers between rows. Each sum is taken in one order,
/// whatever `rows` and `columns` are, so that parts of a product may be computed apart.
template <class T>
struct RowProduct {
  const T* x;
  std::size_t x_stride, rows, width;
  const T* panels;
  std::size_t columns;
  const T* bias;
  T* y;
  std::size_t y_stride;
};
void multiply_rows(const RowProduct<float>& product) noexcept;
void multiply_rows(const RowProduct<double>& product) noexcept;

/// Rows of x so few that packing W would take longer than all multiplying with it.
constexpr std::size_t few_product_rows = 3;

/// The same for so few rows, W being rows where they are.
template <class T>
struct FewRowProduct {
  const T* x;
  std::size_t rows;
  PanelRows<T> w;
  const T* bias;
  T* y;
  std::size_t y_stride;
};
void multiply_few_rows(const FewRowProduct<float>& product) noexcept;
void multiply_few_rows(const FewRowProduct<double>& product) noexcept;

}  // namespace attn::kernels
