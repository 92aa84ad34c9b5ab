#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attn/attention.hpp"

#include "attention/expression_rows.hpp"
#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/kernel_attention.hpp"
#include "attention/key_intervals.hpp"
#include "attention/positions.hpp"
#include "kernels/attention_kernels.hpp"

namespace attn {

/// Inputs that all blocks of queries of one attention share, and their output. Keeps references to
/// all arguments except the sequences.
template <class T>
struct KernelInputs {
  KernelInputs(const AttentionOptions& options, const Sequences& sequences, double score_scale,
               const Geometry& sizes, const KeyIntervals& seen, const ScoreParts<T>& parts);

  /// Whether expressions of scores get products of queries and keys before they are scaled. Scaled
  /// ones would miss the numbers at which comparisons and roundings cut.
  bool plain_products() const;
  bool rewrites() const { return own != nullptr && own->score; }
  bool reweighs() const { return own != nullptr && own->weight; }

  /// The largest score by expression, times `unit`, that is rounded before terms are added to it:
  /// the rounding of a larger one shows where they cancel it (docs/inside/numerics.md).
  double largest_part(double unit) const;

  const AttentionOptions& request;
  double scale;
  const Geometry& geometry;
  const KeyIntervals& intervals;
  const Visibility& visibility;
  const AdditiveScores<T>* scores;
  const OwnExpressions* own;
  const ComparedRows* compared;
  HeadRows<T> query;
  Tensor sinks;
  std::optional<DistanceTerms<T>> terms;
  std::optional<DistanceTerms<double>> exact_terms;  ///< in place of `terms` if there is a bias
  double vanishing = 0;                              ///< as QueryBlock::vanishing
  T* output = nullptr;                               ///< of all heads
  bool notes_hidden = false;  ///< whether keys with a score of −∞ are noted
  /// Set to true where numbers leave the range in which T is precise.
  std::atomic<bool>* out_of_range = nullptr;
};

/// Queries [first, first + count).
struct QuerySpan {
  std::size_t first, count;
};

/// A block of queries of one head in the form that kernels take, with what they call back.
template <class T>
struct QueryTask {
  /// `room`: takes scores that are not products. Keeps references to the inputs and the room.
  QueryTask(const KernelInputs<T>& of, std::size_t batch_index, std::size_t head_index,
            const QuerySpan& queries, T* room);
  QueryTask(const QueryTask&) = delete;
  QueryTask& operator=(const QueryTask&) = delete;

  /// Clears seen[j] of the keys j whose scores for a query of the block are −∞.
  void hide_from(std::size_t query, std::span<std::uint8_t> seen) const;

  const KernelInputs<T>& inputs;
  std::size_t batch, head, first_query;
  std::array<std::uint32_t, kernels::most_block_queries> starts{}, ends{};
  kernels::QueryBlock<T> block{};
  std::vector<std::uint8_t> hidden;  ///< [queries, keys] with a score of −∞, or empty

 private:
  // Called by kernels.
  static void add(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                  T* row) noexcept;
  static void add_scores(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                         T* row) noexcept;
  static void rewrite(void* context, const kernels::ScoreRows<T>& rows, double unit) noexcept;
  static void reweigh(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                      const std::uint8_t* seen, T* weights) noexcept;

  std::ptrdiff_t place(std::size_t query) const;
  ExpressionCell row_of(std::size_t query) const;
  void forget_unseen(std::size_t query, const kernels::RowPiece& piece, double* cells) const;
  bool sees_invalid(std::size_t query, const kernels::RowPiece& piece, const double* row,
                    double unit, double most) const;
  void hide(std::size_t query, std::size_t first_key, std::span<const T> row);

  const T* scores_;
  std::vector<std::uint8_t> groups_;  // of keys that are seen, or empty
  std::unique_ptr<ExpressionRows::Registers> of_score_, of_weight_;
};

}  // namespace attn
