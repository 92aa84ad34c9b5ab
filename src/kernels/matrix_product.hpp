#pragma once

#include <cstddef>

namespace attn::kernels {

/// Rows of W per panel of the packed matrix. Packed matrices belong to one CPU target.
std::size_t product_panel_floats() noexcept;
std::size_t product_panel_doubles() noexcept;
template <class T>
std::size_t product_panel() noexcept {
  return sizeof(T) == sizeof(float) ? product_panel_floats() : product_panel_doubles();
}

/// `count` rows of a matrix, at most as many as a panel holds, to pack as the panel [width,panel]:
/// columns beyond the last row become zeros.
template <class T>
struct PanelRows {
  const T* first;
  std::size_t stride, count, width;
};
void pack_panel(const PanelRows<float>& rows, float* panel) noexcept;
void pack_panel(const PanelRows<double>& rows, double* panel) noexcept;

/// Panels as above, one after the other, of any number of rows that are stored as columns: number k
/// of row r is `first[k * stride + r]`, k < width. Each line k is read in one piece.
void pack_lines(const PanelRows<float>& lines, float* panels) noexcept;
void pack_lines(const PanelRows<double>& lines, double* panels) noexcept;

/// Columns of y whose packed W fits the second-level cache: whole panels on every target. Parts of
/// a product are best that wide, and computed one after the other down the rows.
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

}  // namespace attn::kernels
