#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "layers/embedding_and_head.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// The head of a class of models that predicts no tokens, by the name that transformers gives the
/// class; absent for a class whose head is not known. Throws Error(input) at the key of the
/// configuration for a label or a rule that is not supported.
std::optional<ModelClassifier> classifier_of(const std::string& name, const Architecture& model,
                                             const JsonValue& config);

/// Whether the folder holds the encoder of an encoder-decoder by itself, or a class that reads it
/// alone: those of tokens do, but T5Gemma's read what the configuration says.
bool encoder_alone(const JsonValue& config);

/// Whether the folder holds the decoder of an encoder-decoder by itself, which reads no encoder.
bool decoder_alone(const JsonValue& config);

/// Takes the head that gives logits from a model whose classes have none: from classifiers, whose
/// own head it gets, any; from a model alone the one that is tied, as the file may have one of its
/// own. Throws Error(input) as classifier_of() does.
void take_head_away(Architecture& model, const JsonValue& config);

/// The first tensor of the model's classifier that the file lacks; absent if all are there.
std::optional<std::string> missing_of_classifier(const Architecture& model,
                                                 const CheckpointWeights& weights);

/// Warning that the configuration names another number of classes than the weights have; absent if
/// it names all or none.
std::optional<std::string> names_of_other_classes(const Architecture& model,
                                                  const CheckpointWeights& weights);

/// Warning that the names of classes are not numbered from 0 on, and are not used; absent if they
/// are.
std::optional<std::string> names_of_other_numbers(const JsonValue& config);

/// Whether the model has a classifier and the file its tensors.
bool has_classifier(const Architecture& model, const CheckpointWeights& weights);

/// Names of the tensors of a classifier that is there. Throws Error(input) for one of a shape that
/// does not fit.
std::vector<std::string> check_classifier(const Architecture& model,
                                          const CheckpointWeights& weights);

/// A classifier as it is computed.
class Classifier {
 public:
  /// The model must have one that the file holds. Keeps a reference to the model.
  static Classifier read(const Architecture& model, const CheckpointWeights& weights);

  /// C
  std::size_t classes() const { return head_.size(); }
  const LogitsHead& head() const noexcept { return head_; }
  /// The names of the classes: those of the configuration, else "LABEL_0"…
  std::vector<std::string> labels() const;
  /// The shape of the logits of texts: [B,C], or [B,L,C] where each token is classified.
  Shape shape(std::size_t batch, std::size_t length) const;

  /// Shares of the states of a text's positions in what the head reads, or of their logits where
  /// these are averaged; not for a head that reads each state by itself or two of them. `ids` are
  /// those that the encoder or the only stack read. Throws Error(input) at `place` for a text
  /// without the token that is read.
  std::vector<std::pair<std::size_t, double>> read_positions(const std::vector<std::int64_t>& ids,
                                                             const std::string& place) const;

  /// The logits of a text, [1,C] or [1,L,C], by the states [1,L,D] that leave the model. Throws as
  /// read_positions() does.
  Tensor logits(const Tensor& states, const std::vector<std::int64_t>& ids,
                const std::string& place, std::size_t threads) const;

 private:
  Classifier(const Architecture& model, LogitsHead head) : model_(&model), head_(std::move(head)) {}

  const Architecture* model_;
  LogitsHead head_;
};

/// The tokens that the decoder of a classifier reads of a text: the text without its last token
/// behind the start token, as in training, or behind the last token where the family has it so.
/// Throws Error(input) if the configuration names no start token.
std::vector<std::int64_t> read_by_decoder(const Architecture& model,
                                          const std::vector<std::int64_t>& ids);

/// The number of a class by its name or its number; absent if there is none.
std::optional<std::size_t> class_named(const std::string& name,
                                       const std::vector<std::string>& labels);

/// What a classifier says of each sample, by the logits of all of them. `read`: the tokens of the
/// stack whose states are classified.
std::vector<std::vector<Classification>> classified(
    const Tensor& logits, const ModelClassifier& classifier, const std::vector<std::string>& labels,
    const std::vector<std::vector<std::int64_t>>& read);

}  // namespace attn
