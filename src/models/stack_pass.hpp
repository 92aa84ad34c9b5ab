#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/pass.hpp"
#include "models/stack_norms.hpp"
#include "models/term_norms.hpp"
#include "models/token_embedding.hpp"

namespace attn {

/// The layers of one stack, one sample after the other.
class StackPass {
 public:
  /// `prefix` is the model's. Keeps references to all others.
  StackPass(const Architecture& model, const CheckpointWeights& checkpoint, const ModelStack& stack,
            const std::string& prefix, const ModelOptions& options);
  StackPass(const StackPass&) = delete;
  StackPass& operator=(const StackPass&) = delete;

  const TokenEmbedding& embedding() const noexcept { return embedding_; }

  /// The projections of one attention.
  struct Projections {
    StoredLinear query, key, value, output;
  };

  /// What a layer needs of the file, read once for all samples.
  struct Layer {
    std::size_t number = 0;
    Projections self, cross;
    Tensor sinks;  ///< [H]; absent = none
  };
  Layer read_layer(std::size_t n) const;

  /// Heads whose outputs are zeros; null = none.
  struct HeadsOff {
    const std::vector<std::size_t>*self, *cross;
  };

  /// States [1,L,D] that leave a layer, and its maps [1,H,L,L] if they are wanted.
  struct Step {
    Tensor states, self, cross;
  };
  /// `memory` is what an encoder read; absent without one.
  /// `watch` is told of the self-attention if the options want blocks and the layer's weights are
  /// wanted.
  Step step(const Layer& layer, const Tensor& x, const Tensor& memory, const HeadsOff& off,
            bool wants_weights, const std::function<void(const AttendedBlock& block)>& watch) const;

  /// What follows all layers, and how wide its result is.
  Tensor finish(const Tensor& x) const;
  std::size_t finished_width() const;

 private:
  Projections read_fused(std::size_t n) const;
  // base + branch(…), which goes through its norm before, if there is one.
  template <class Branch>
  Tensor added(const Tensor& base, const char* norm, std::size_t n, const Branch& branch) const;
  void check_fits(const StoredLinear& linear, const char* purpose, const Tensor& x) const;
  Tensor projected(const StoredLinear& linear, const char* purpose, const Tensor& x,
                   const Tensor& base) const;
  Tensor attend_to(const Layer& layer, bool self, const Tensor& states, const Tensor& memory,
                   const std::vector<std::size_t>* off, Tensor* map, const Tensor& base,
                   AttendedBlock* block = nullptr) const;
  Tensor heads_by_rows(const AttentionRequest& request, std::size_t layer,
                       const std::vector<std::size_t>* off) const;
  AttentionRequest attention_of(const Layer& layer, bool self, const Tensor& states,
                                const Tensor& memory) const;
  void set_distance_bias(AttentionRequest& request, double scale) const;
  Tensor feed_forward(const Tensor& x, std::size_t n, const Tensor& base) const;

  const Architecture& model_;
  const CheckpointWeights& checkpoint_;
  const ModelStack& stack_;
  StackWeights weights_;
  const ModelOptions& options_;
  StackNorms norms_;
  TokenEmbedding embedding_;
  Tensor bucket_table_;
};

}  // namespace attn
