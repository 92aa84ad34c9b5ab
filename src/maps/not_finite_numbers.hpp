#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"
#include "tensor/operations.hpp"

namespace attn {

/// NaN and infinities in the result of a plan, gathered while it is computed. −∞ counts where no
/// step is defined as −∞: not in `lse` and `masked`, nor where a score hides its key.
class NotFiniteNumbers {
 public:
  /// Keeps a reference to the plan.
  explicit NotFiniteNumbers(const Plan& plan) : plan_(plan) {}

  /// Looks at all numbers of a tensor of the result.
  void look_at(const std::string& name, const Tensor& tensor);

  /// Looks at the weights [B,H,Lq,Lk] of a model's attention, at one of each row first: NaN in the
  /// sum of a softmax reaches all keys that are seen. `self`: query i sees key i, else key 0.
  void look_at_weights(const std::string& name, const Tensor& weights, bool self);

  /// Looks at an attention of a document. `implied`: the numbers that its weights were multiplied
  /// with to the result are finite, and so are the weights.
  void look_at(const AttentionName& name, const AttentionResult& result, bool implied);

  /// Looks at the logits of one position of a sample.
  void look_at_logits(std::size_t sample, std::size_t position, const Tensor& logits);

  /// The tensors that have such numbers: how many, the first, its place, and the first step that
  /// makes one, for which the attention's row or the model's layers are computed again. Also the
  /// probabilities of generated tokens. Empty = there are none.
  std::vector<std::string> warnings() const;

 private:
  struct Found {
    std::string tensor;
    std::size_t count = 0, of = 0;
    Shape index;  ///< of the first
    double number = 0;
    Shape shape;
  };
  void note(const std::string& name, const Tensor& tensor, const NotFinite& found);
  std::string step_of(const Found& found) const;
  std::string step_of(const Found& found, const AttentionRequest& request) const;
  std::string step_of(const Found& found, const ProjectedAttentionRequest& request) const;
  std::string step_of(const Found& found, const TransformerRequest& request) const;
  std::string step_of(const Found& found, const ModelRequest& request) const;

  const Plan& plan_;
  std::vector<Found> found_;  // in the order of computation
};

}  // namespace attn
