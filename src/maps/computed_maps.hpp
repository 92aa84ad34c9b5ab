#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/io.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "tensor/operations.hpp"

namespace attn {

/// Consumer of what is computed of a plan; a function that is empty takes nothing. Nothing else
/// holds what is handed over, so that it is freed where the consumer lets go of it.
struct ComputedConsumer {
  /// Takes each tensor of the result under its name in result.json, in the order of the result. A
  /// model's, which are those of foreseen_tensors(), come as soon as each is computed.
  std::function<void(NamedTensor tensor)> tensor = {};
  /// Takes the map of attention number `attention` of the plan, after its tensors. Its `planned`
  /// points into the plan. Maps of attentions whose weights are not asked for have no numbers, and
  /// a model's of these come last. None come where the rows of a model are taken.
  std::function<void(AttentionMap map, std::size_t attention)> map = {};
  Progress progress = {};
};

/// Facts of a computation that are there when it ends.
struct ComputedFacts {
  std::vector<std::pair<std::string, Shape>> shapes;         ///< of weights and outputs
  std::vector<std::vector<Prediction>> predictions;          ///< of a model, one list a sample
  std::vector<std::vector<Classification>> classifications;  ///< of one that classifies, likewise
  std::vector<std::vector<double>> similarities;             ///< of texts' vectors
  Tensor token_similarity;                                   ///< [B,L0,L], parts of the first row
  std::size_t empty_rows = 0;         ///< queries with no key left, in all attentions
  std::vector<std::string> warnings;  ///< of numbers that are NaN or infinite
};

/// Computes a plan. `observers` are further ones of a model's pass. Throws Error as attend() and
/// run_model() do.
ComputedFacts compute(const Plan& plan, const ComputedConsumer& consumer,
                      std::vector<PassObserver> observers = {});

/// The ten likeliest tokens by the logits [..,V] of one position.
Prediction prediction_of(std::size_t position, const Tensor& logits, const ModelFolder& folder);

/// The attention of what follows a model's texts to the parts of these: for each layer, head and
/// token of the answer, the sums of its row of weights over the parts' keys.
class AnswerShares {
 public:
  /// Refers to the request.
  explicit AnswerShares(const ModelRequest& request) : request_(request) {}

  /// Whether there is an answer and the attention goes to its prompt: of a text over itself, or of
  /// a decoder to the encoder's text.
  bool reads(const AttentionName& name) const;

  /// Adds the weights [B,H,Lq,Lk] of such an attention, layer after layer.
  void add(const AttentionName& name, const Tensor& weights);

  /// [layers,H,tokens,parts], or [B,layers,H,tokens,parts] of several texts, with zeros behind the
  /// ends of shorter answers; absent without layers.
  Tensor finish() const;
  /// Shape of that tensor for a number of layers.
  Shape shape(std::size_t layers) const;

 private:
  const ModelRequest& request_;
  std::vector<std::vector<double>> layers_;  // [B,H,tokens,parts]
};

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
