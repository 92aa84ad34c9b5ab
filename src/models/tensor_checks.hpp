#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Throws Error(input) for a tensor whose elements are not numbers of 16, 32 or 64 bits.
void check_numbers(const CheckpointWeights& weights, const std::string& name);

/// Checks of the tensors of a stack one by one: that they are in the file and fit the model. Throw
/// Error(input) at the file otherwise.
class TensorChecks {
 public:
  /// Keeps references to all but the prefix. Names of tensors that are read are added to `used`.
  TensorChecks(const Architecture& model, const CheckpointWeights& weights, const ModelStack& stack,
               const std::string& prefix, std::set<std::string>& used);

 protected:
  using LayerNumber = std::optional<std::size_t>;

  /// The shape of a matrix that must be there, as rows and columns of a product; 0 = any number.
  Shape matrix(WeightPurpose purpose, LayerNumber layer, std::size_t rows, std::size_t columns);

  /// A tensor of a layer that must be there.
  void tensor(WeightPurpose purpose, std::size_t n, const Shape& wanted);

  /// A norm or another vector that the model may name.
  void vector(WeightPurpose purpose, LayerNumber layer, std::size_t width);

  /// Weights of each head's norm: one matrix, or one vector for each.
  void norms_by_head(WeightPurpose purpose, std::size_t n, std::size_t heads);

  /// A tensor that is there.
  void take(const std::string& name);

  /// A tensor with its bias, if the file has one: in all layers or in none.
  void use(WeightPurpose purpose, LayerNumber layer, const std::string& name, std::size_t rows);

  /// Throws the error that a tensor, or a part of it, is not there.
  std::string no_bias_at_all(WeightPurpose purpose, LayerNumber layer, std::string_view part) const;
  [[noreturn]] void missing(WeightPurpose purpose, LayerNumber layer,
                            const char* part = ".weight") const;

  Architecture model_;  ///< with the sizes of the layer, where these differ
  const CheckpointWeights& weights_;
  const ModelStack& stack_;
  const std::string prefix_;
  StackWeights names_;
  std::set<std::string>& used_;

 private:
  /// What the configuration has otherwise than a matrix [found] has, where one key says it.
  std::string cause(WeightPurpose purpose, const Shape& found, const Shape& wanted) const;

  /// Holds a bias of the file, or that there is none, against what the model says of it.
  void check_bias(WeightPurpose purpose, LayerNumber layer,
                  const std::optional<std::string>& name) const;

  std::set<WeightPurpose> there_;
  std::map<WeightPurpose, bool> has_bias_;
};

/// Checks of feed-forwards, with experts or without.
class FeedForwardChecks : protected TensorChecks {
 public:
  using TensorChecks::TensorChecks;

 protected:
  /// That of a layer.
  void feed_forward(std::size_t n);

 private:
  /// The shape of a tensor of all experts, whose name ends so.
  const Shape& expert_part(WeightPurpose purpose, std::size_t n, const char* end,
                           const Shape& wanted);

  /// One number for each expert, in a row or as a matrix of one row.
  void correction(std::size_t n);

  /// The feed-forward that all tokens take beside their experts.
  void shared_expert(std::size_t n);

  /// Three matrices for each expert.
  void each_expert(std::size_t n);

  /// Two matrices for each expert, or two tensors of all: [experts,hidden,in] and back.
  void experts_without_gates(std::size_t n);

  /// All experts in two tensors: [experts,2·hidden,in], gates before the others, and
  /// [experts,out,hidden].
  void experts_stacked(std::size_t n);

  /// Gates and the others in one tensor, as gpt-oss has them: [experts,in,out], or [experts,out,in]
  /// where rows are made of blocks.
  void experts_together(std::size_t n);

  /// Gates and the others apart, [experts,out,in], as GGUF files have them.
  void experts_apart(std::size_t n);
};

}  // namespace attn
