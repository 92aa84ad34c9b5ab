#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/attention.hpp"
#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/layers.hpp"
#include "attn/model.hpp"
#include "attn/why.hpp"

#include "attention/attention_name.hpp"
#include "attention/geometry.hpp"
#include "document/labels.hpp"
#include "document/paged_keys.hpp"
#include "models/generation.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"

namespace attn {

/// A size as a factor of a cost, which may be larger than any integer.
constexpr double as_real(std::size_t size) {
  return static_cast<double>(size);
}

/// The parts of prompts whose shares of an answer's attention are wanted.
struct AnswerParts {
  /// Parts of the prompts, "prompt" for what is in none of them, "answer", which attention to
  /// another text does not have, "first_token", and "sink" where the model has such logits.
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> columns;  ///< part of each token of each prompt
  std::size_t answer = 0;                         ///< part of the tokens that follow
  /// Whether each layer has sink logits; empty = the last part is not the sink.
  std::vector<bool> sinks;
  bool wanted = false;  ///< whether parts were named or asked for
};

/// A model, its input and the wanted results.
struct ModelRequest {
  std::shared_ptr<const ModelFolder> folder;
  ModelTexts texts;
  ModelOptions options;
  /// The request for tokens after the prompts, which are the beginnings of the texts that the last
  /// stack reads. Until they are known, tokens of the id 0 stand in their place.
  std::optional<AnswerRequest> answer;
  std::vector<std::size_t> prompts;  ///< tokens of each sample's
  std::optional<Pooling> pool;       ///< of the weights of all attentions
  AnswerParts parts;                 ///< of an answer
  std::vector<WhyOptions> why;       ///< what is split in each text; empty = nothing

  ModelPass pass() const { return {folder->architecture, folder->weights, texts, options}; }
};

/// The computation of a plan, without who looks on. Every visitor has a case for each alternative
/// and no generic one, so that a new alternative does not compile before all visitors handle it.
/// Where a model alone is meant, model_of() asks for it.
using Computation =
    std::variant<AttentionRequest, ProjectedAttentionRequest, TransformerRequest, ModelRequest>;

/// One attention of a plan: the facts that are known before it is computed.
struct PlannedAttention {
  AttentionName name;
  Mask mask;
  Geometry geometry;
  Labels labels;

  /// Whether maps of rank 3 are [H,Lq,Lk], not [B,Lq,Lk].
  bool heads_only() const { return geometry.head_axis && !geometry.batch_axis; }
};

/// The options that every computation has.
struct ComputingOptions {
  DType dtype = DType::float32;
  std::size_t threads = 0;
  bool weights = true, stages = false;
};

/// A checked document, ready to be computed as one kind of attention. Later steps read the plan and
/// not the document.
struct Plan {
  Kind kind = Kind::scaled_dot_product;
  std::string title, description;
  bool weights = true;                                ///< whether the result has the weights
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of the inputs
  /// Inputs and the element types of their files, see RunReport::file_types.
  std::vector<std::pair<std::string, std::string>> file_types;
  std::vector<NamedTensor> tokens;  ///< token_ids, embedded, recovered_ids
  bool positions_added = false;     ///< whether `embedded` has sinusoidal positions in it
  Tensor token_rows;  ///< embeddings of the tokens before that; absent without such positions
  std::vector<std::vector<std::string>> recovered_tokens;
  std::optional<ModelReport> model;  ///< of Kind::model, without predictions
  std::vector<std::string> warnings;
  double read = 0;  ///< number of elements that were read, made or drawn
  double made = 0;  ///< number of those that were made or drawn
  Computation computation;
  std::optional<PagedKeys> pages;  ///< what keys and values were gathered from, if from pages
  Tensor output_gradient;          ///< gradient of the output; absent = no gradients are wanted
  /// The document's names of gradients, where the request has others. Parameters of one name are
  /// parts of one tensor, in their order; tensors of one name are uses of one tensor.
  std::vector<std::pair<std::string, std::string>> gradient_names;
  std::vector<PlannedAttention> attentions;  ///< in the order of computation
  std::size_t rows_beyond = 0;  ///< rows of queries that the document's lengths leave empty

  ComputingOptions options() const;
  void choose(const ComputingOptions& options);
  /// The options of the attentions; those of a model's, which differ from layer to layer, are not
  /// known here, and all have their defaults.
  const AttentionOptions& attention_options() const;
  /// The bins that weights are reduced to; absent = weights are whole.
  const std::optional<Pooling>& pool() const;
  std::size_t scores_count() const;  ///< sum over attentions, samples and heads
};

/// The plan's model; null if it computes none.
ModelRequest* model_of(Plan& plan) noexcept;
const ModelRequest* model_of(const Plan& plan) noexcept;

/// The attentions of a computation, without labels. Throws Error(input) if its tensors do not fit
/// together.
std::vector<PlannedAttention> attentions_of(const Computation& computation);

/// The demand of plans, known before anything is drawn, allocated or computed. Counted in double
/// precision, in which products of sizes do not overflow.
struct Demand {
  double read = 0;      ///< elements of inputs, masks, parameters and embeddings
  double computed = 0;  ///< elements of weights, steps, outputs and the hidden states between them
  double bytes = 0;     ///< memory of both, without mapped files
  double work = 0;      ///< multiplications with their additions

  Demand& operator+=(const Demand& other);
};

/// The demand of a plan whose options are final.
Demand demand_of(const Plan& plan);

/// Multiplications that a plan asks for, each with its addition: those of all samples, heads and
/// pairs of queries and keys, of projections, feed-forwards and a model's layers.
double work_of(const Plan& plan);

/// Throws Error(input) if the demand exceeds Limits::elements, Limits::work or this machine's
/// memory.
void check_demand(const Demand& demand, const Limits& limits);

}  // namespace attn
