#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"
#include "heads/model_analyses.hpp"
#include "layers/embedding_and_head.hpp"

namespace attn {

/// One token through the states of a model's last stack, as the logit lens sees it: of the
/// embedding, and of each wanted layer after its attention and after all of it. Tensors
/// "lens.token.ranks", "lens.token.probabilities" and "lens.token.logits" [B,states,L].
class TokenLens {
 public:
  /// The tokens that the options name. Throws Error(input) for those that there are not, for a
  /// token that is not named, and for a model without a head. Keeps references to the request.
  TokenLens(const ModelRequest& request, const HeadsOptions& options);

  /// Looks through a pass; must not outlive this object, which must not be moved.
  PassObserver observer();

  void finish(NamedTensors& tensors, std::optional<TokenTrace>& trace) const;

 private:
  void look(const ModelPlace& state, std::size_t sample, const Tensor& states);

  const ModelRequest& request_;
  Stack stack_;
  LogitsHead head_;
  std::size_t token_ = 0;
  std::optional<std::size_t> against_;
  std::size_t samples_, longest_;
  std::vector<ModelPlace> states_;
  /// Of each state [B,L]; logits are differences where there is another token.
  std::vector<std::vector<double>> logits_, probabilities_;
  std::vector<std::vector<std::int64_t>> ranks_;
};

/// The loss of each token of a model that reads from left to right, −ln of its probability after
/// the tokens before it: tensor "loss" [B,L], NaN for first tokens and after the ends of texts.
class TokenLosses {
 public:
  /// Makes the request give logits. Throws Error(input) for another model, and for one without a
  /// head.
  explicit TokenLosses(ModelRequest& request);

  /// Takes the logits of a pass; must not outlive this object, which must not be moved.
  PassObserver observer();

  void finish(NamedTensors& tensors, std::vector<std::vector<double>>& losses) const;

 private:
  const ModelRequest& request_;
  std::vector<std::vector<double>> losses_;  // of each sample, from its second token on
};

/// Numbers of one text of a corpus, by name: "loss", the mean over its tokens; of a lens and a
/// named token "lens.0.attention.logit", "….probability" and "….rank"; of heads that are left out
/// "without.1.3.divergence"; of gradients "gradients.value", "gradients.1.3" of a head,
/// "gradients.error" of integrated ones, and last "gradients.position.0.input" and
/// "….integrated" of tokens.
class TextAnalyses {
 public:
  /// Tokens that the options do not name are those of the text's document. Throws as TokenLens and
  /// TokenLosses do. Keeps a reference to the request.
  TextAnalyses(ModelRequest& request, const HeadsOptions& asked);

  /// Look through a pass; must not outlive this object, which must not be moved.
  std::vector<PassObserver> observers();

  /// After the pass. Throws as head_differences().
  std::vector<std::pair<std::string, double>> numbers() const;

 private:
  ModelRequest& request_;
  HeadsOptions asked_;
  std::optional<TokenLens> lens_;
  std::optional<TokenLosses> losses_;
};

}  // namespace attn
