#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/plot.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"

namespace attn {

/// Weights [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk] seen as samples × heads of matrices. With `heads_only`
/// a tensor of rank 3 is [H,Lq,Lk], as an attention without a batch axis has it.
class Maps {
 public:
  explicit Maps(const Tensor& weights, bool heads_only = false);

  std::size_t samples() const noexcept { return samples_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t queries() const noexcept { return queries_; }
  std::size_t keys() const noexcept { return keys_; }

  /// One matrix [Lq,Lk], sharing the elements.
  Tensor matrix(std::size_t sample, std::size_t head) const;

  /// Throws Error(input) naming the field if there is no such sample or head.
  void check(std::size_t sample, std::size_t head) const;

 private:
  Tensor weights_;
  std::size_t samples_ = 1, heads_ = 1, queries_ = 0, keys_ = 0;
};

/// Throws Error(input) naming the field if there is no such sample or head.
void check_place(std::size_t sample, std::size_t samples, std::size_t head, std::size_t heads);

/// Throws Error(input) unless there are as many labels as positions on the axis, "query" or "key".
void check_label_count(std::size_t labels, std::size_t positions, std::string_view axis);

/// The heatmap of one sample and head with its labels and title. `allowed` may be absent.
/// Throws Error(input) for labels that are neither none nor one for each query and key.
Heatmap chosen_heatmap(const Maps& weights, const Maps* allowed, const Labels& labels,
                       const std::string& title, std::size_t sample, std::size_t head);

}  // namespace attn
