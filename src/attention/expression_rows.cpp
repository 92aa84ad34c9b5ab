#include "attention/expression_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tensor/elements.hpp"

namespace attn {

ExpressionRows::Registers::Registers(const ExpressionRows& rows)
    : numbers_(rows.varies_.size()), keys_(rows.compared_names_.empty() ? 0 : kernels::row_piece) {
  const auto size = [&](std::size_t n) {
    return rows.varies_[n] != 0 ? kernels::row_piece : kernels::shared_numbers;
  };
  std::size_t count = 0;
  for (std::size_t n = 0; n < numbers_.size(); ++n) count += size(n);
  room_ = new_elements<double>(count);
  std::fill_n(room_.get(), count, 0.0);  // vectors reach behind the last number
  count = 0;
  for (std::size_t n = 0; n < numbers_.size(); ++n) {
    numbers_[n] = room_.get() + count;
    count += size(n);
  }
  for (const Constant& constant : rows.constants_) {
    std::fill_n(numbers_[constant.to], kernels::shared_numbers, constant.number);
  }
  rows.compute(*this, Level::all, {0, 1});
}

void ExpressionRows::compute(Registers& registers, Level level,
                             const kernels::RowPiece& piece) const {
  const auto& steps = steps_[static_cast<std::size_t>(level)];
  if (steps.empty()) return;
  kernels::run_steps(steps, {registers.numbers_.data(), varies_.data()}, piece);
}

// Fills in the names that all keys of a row share.
void ExpressionRows::name_shared(Registers& registers, const ExpressionCell& row,
                                 const ComparedRows* rows, std::size_t count) const {
  using Operation = ExpressionTree::Operation;
  for (const Named& name : shared_names_) {
    double* to = registers.numbers_[name.to];
    const std::size_t queries = varies_[name.to] != 0 ? count : 1;
    for (std::size_t r = 0; r < queries; ++r, to += kernels::shared_numbers) {
      const auto operation = static_cast<Operation>(name.operation);
      const double number = operation == Operation::b        ? static_cast<double>(row.b)
                            : operation == Operation::h      ? static_cast<double>(row.h)
                            : operation == Operation::i      ? static_cast<double>(row.i + r)
                            : operation == Operation::offset ? static_cast<double>(row.offset)
                            : rows != nullptr ? length_of(rows->query(row.b, row.h, row.i + r))
                                              : std::numeric_limits<double>::quiet_NaN();
      std::fill_n(to, kernels::shared_numbers, number);
    }
  }
}

// Fills in norm(k), dot(q, k) and distance(q, k).
void ExpressionRows::compare(Registers& registers, const ExpressionCell& row,
                             const kernels::RowPiece& piece, const ComparedRows* rows) const {
  using Operation = ExpressionTree::Operation;
  if (compared_names_.empty()) return;
  if (rows != nullptr) {
    for (std::size_t j = 0; j < piece.keys; ++j) {
      registers.keys_[j] = rows->key(row.b, row.h / rows->group, piece.first_key + j).data();
    }
  }
  for (const Named& name : compared_names_) {
    double* to = registers.numbers_[name.to];
    const auto operation = static_cast<Operation>(name.operation);
    if (rows == nullptr) {
      std::fill_n(to, kernels::row_piece, std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    if (operation == Operation::key_norm) {
      std::copy_n(rows->key_lengths(row.b, row.h).data() + piece.first_key, piece.keys, to);
      continue;
    }
    for (std::size_t r = 0; r < piece.rows; ++r, to += piece.stride()) {
      kernels::compare_rows(operation == Operation::dot ? kernels::RowComparison::dot
                                                        : kernels::RowComparison::distance,
                            rows->query(row.b, row.h, row.i + r).data(), registers.keys_.data(),
                            piece.keys, rows->query.width(), to);
    }
  }
}

// Computes what the cells of a piece share.
void ExpressionRows::prepare(Registers& registers, const ExpressionCell& row,
                             const kernels::RowPiece& piece, const ComparedRows* rows) const {
  if (rows != nullptr && rows->query.width() == 0) rows = nullptr;
  ExpressionCell& last = registers.last_;
  const kernels::RowPiece before = registers.last_piece_;
  const bool same_head =
      registers.ready_ && last.b == row.b && last.h == row.h && last.offset == row.offset;
  const bool same_queries = same_head && last.i == row.i && before.rows == piece.rows;
  const bool same_keys =
      same_head && before.first_key == piece.first_key && before.keys == piece.keys;
  if (!same_queries) name_shared(registers, row, rows, piece.rows);
  if (!same_head) compute(registers, Level::head, piece);
  if (!same_queries) compute(registers, Level::query, piece);
  compare(registers, row, piece, rows);
  if (!same_keys) compute(registers, Level::key, piece);
  if (!same_keys || !same_queries) compute(registers, Level::distance, piece);
  last = row;
  registers.last_piece_ = piece;
  registers.ready_ = true;
}

template <class T>
bool ExpressionRows::replace(Registers& registers, const ExpressionCell& row,
                             const kernels::RowPiece& piece, const ComparedRows* rows,
                             const kernels::RowFactors& factors, T* cells,
                             std::size_t stride) const {
  if (!joins_) return false;
  prepare(registers, row, piece, rows);
  return kernels::replace_cells(steps_[static_cast<std::size_t>(Level::cell)][0],
                                {registers.numbers_.data(), varies_.data()}, factors, piece, cells,
                                stride);
}
template bool ExpressionRows::replace(Registers&, const ExpressionCell&, const kernels::RowPiece&,
                                      const ComparedRows*, const kernels::RowFactors&, float*,
                                      std::size_t) const;
template bool ExpressionRows::replace(Registers&, const ExpressionCell&, const kernels::RowPiece&,
                                      const ComparedRows*, const kernels::RowFactors&, double*,
                                      std::size_t) const;

std::span<const double> ExpressionRows::values(Registers& registers, const ExpressionCell& row,
                                               const kernels::RowPiece& piece,
                                               const ComparedRows* rows) const {
  prepare(registers, row, piece, rows);
  compute(registers, Level::cell, piece);
  return {registers.numbers_[result_], piece.rows * piece.stride()};
}

OwnExpressions::OwnExpressions(const AttentionOptions& options, const Geometry& geometry) {
  if (options.score_expression) {
    score.emplace(options.score_expression, ExpressionUse::score, "/score", geometry);
  }
  if (options.weight_expression) {
    weight.emplace(options.weight_expression, ExpressionUse::weight, "/weight", geometry);
  }
}

bool OwnExpressions::fit_single() const {
  // Kernels hold scores to limits that the steepness divides; weights have no such limit.
  return (!score || score->rows.steepness() <= 64) && (!weight || weight->rows.steepness() <= 4);
}

std::unique_ptr<ExpressionRows::Registers> RegisterPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto registers = std::move(free_.back());
      free_.pop_back();
      return registers;
    }
  }
  return std::make_unique<ExpressionRows::Registers>(rows_);
}

void RegisterPool::give_back(std::unique_ptr<ExpressionRows::Registers> registers) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(registers));
}

}  // namespace attn
