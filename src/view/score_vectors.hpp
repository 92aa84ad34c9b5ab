#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"
#include "maps/attention_map.hpp"

namespace attn {

/// Vectors whose products are the scores of an attention, as they are compared: after norms and
/// rotation, past keys included. All in float32.
struct ScoreVectors {
  Tensor query;  ///< [B,H,Lq,d]
  Tensor key;    ///< [B,G,Lk,d]
  Tensor value;  ///< [B,G,Lk,dv]
  double scale = 1;
  std::optional<double> softcap;
  bool biased = false;  ///< whether anything is added to the scores
  bool sink = false;    ///< whether the softmax has one more logit

  std::size_t bytes() const;  ///< of all three with two bytes a number
};

/// Vectors of one attention; absent where its scores are no products of queries and keys.
std::optional<ScoreVectors> score_vectors(const AttentionRequest& request);

/// Vectors of all attentions of a plan, and a model's stages of scores.
class GatheredVectors {
 public:
  GatheredVectors() = default;
  /// Gathers those of a single attention at once.
  explicit GatheredVectors(const Plan& plan);
  /// Computes the layers of a document for theirs.
  void add_layers(const Plan& plan);
  /// Gathers those of a model's pass, and with `stages` its scores; must not outlive this object,
  /// which must not be moved.
  PassObserver observer(bool stages);

  /// Vectors of the map's attention, once.
  std::optional<ScoreVectors> take(const AttentionMap& map);
  /// Puts the stages of a model's scores into its map.
  void put_stages(AttentionMap& map);

 private:
  struct Stages {
    std::vector<Tensor> scores, capped, masked;  ///< of samples
  };
  void add(const std::string& name, const AttentionRequest& request, bool stages);

  std::map<std::string, std::vector<ScoreVectors>> vectors_;  ///< of samples
  std::map<std::string, Stages> stages_;
};

}  // namespace attn
