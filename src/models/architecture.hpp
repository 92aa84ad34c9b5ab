#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/rotary.hpp"

#include "io/json_value.hpp"

namespace attn {

/// How a model's norms are computed: mean and variance, root mean square, or the latter with a
/// weight that counts from one (Gemma).
enum class ModelNorm { layer, rms, rms_plus_one };

/// gelu: x·Φ(x); gelu_tanh: its approximation by tanh; gelu_bloom: the same with BLOOM's rounded
/// constant; quick_gelu: x·σ(1.702x).
enum class ModelActivation { relu, gelu, gelu_tanh, gelu_bloom, quick_gelu, silu };

/// Where positions enter.
enum class ModelPositions { none, learned, sinusoidal, rotary, alibi, buckets };

/// How a projection of query, key and value in one tensor is cut: one after the other; head by
/// head, query, key and value of each; or by groups, the queries of a group, its key and its value.
enum class FusedLayout { side_by_side, each_head, each_group };

/// What a tensor is for, to the names that files may give it.
using TensorNames = std::map<std::string, std::vector<std::string>, std::less<>>;

/// What may differ from layer to layer.
struct ModelLayer {
  /// Causal: so many keys are seen, the query's own among them; else so many on either side of it.
  std::optional<std::size_t> window;
  std::optional<Rotary> rotary;
  double scale = 1;  ///< of the scores
};

/// One stack of layers.
struct ModelStack {
  std::string prefix;  ///< before its names, "encoder." in an encoder-decoder
  TensorNames names;
  bool causal = false, crosses = false;
  std::vector<ModelLayer> layers;
};

/// Experts of a feed-forward, of which each token takes some.
struct ModelExperts {
  std::size_t count = 0, chosen = 0;
  double limit = 7;
};

struct ModelBuckets {
  std::size_t count = 32, max_distance = 128;
};

/// The head that gives logits. Names that are not there are left out, but where `dense` is named
/// and not in the file there is no head.
struct ModelHead {
  std::string dense, norm, weight;
  std::vector<std::string> bias;
  std::optional<ModelActivation> activation;  ///< absent = that of the layers
};

/// One model, normalised from its config.json by the row of its family: whatever the keys are
/// called and whichever are left out.
struct Architecture {
  std::string family;
  std::vector<std::string> prefixes;
  std::size_t width = 0, heads = 0, kv_heads = 0, head_width = 0, vocabulary = 0;
  ModelNorm norm = ModelNorm::layer;
  double eps = 1e-5;
  ModelActivation activation = ModelActivation::gelu;
  ModelPositions positions = ModelPositions::none;
  std::size_t first_position = 0;       ///< the row of the table that the first token takes
  std::optional<std::size_t> longest;   ///< text; absent = no limit
  std::optional<std::size_t> made_for;  ///< positions that rotation was trained for
  bool parallel = false;                ///< attention and feed-forward both take the layer's input
  bool residual_after_norm = false;     ///< the normed state is what the branches are added to
  bool whole_width_norms = false;       ///< of query and key: over all heads together
  bool stored_transposed = false;       ///< matrices are [in,out]
  FusedLayout fused = FusedLayout::side_by_side;
  bool alibi_scaled = false;          ///< the bias of ALiBi is scaled with the scores
  std::vector<std::string> optional;  ///< purposes of tensors that files may lack
  double embedding_scale = 1;
  std::optional<double> softcap, logit_softcap;
  bool tied = true;
  double tied_logit_scale = 1;
  std::optional<ModelExperts> experts;
  ModelBuckets buckets;
  ModelHead head;
  std::vector<ModelStack> stacks;  ///< one, or an encoder and a decoder
  std::optional<std::int64_t> pad_id, decoder_start_id;

  bool encoder_decoder() const noexcept { return stacks.size() == 2; }
  /// Name of a stack in the names of its results: "" if it is the only one.
  std::string_view result_stack(const ModelStack& stack) const {
    return !encoder_decoder() ? "" : stack.crosses ? "decoder" : "encoder";
  }
};

/// Reads config.json by the row of its `model_type`, or by `row` if the user gives one. Throws
/// Error(input) naming the key for what is missing, malformed or not supported: which value, and
/// what would be computed wrongly.
Architecture read_architecture(const JsonValue& config, const JsonValue* row = nullptr);

/// The row that read_architecture() takes, with all that it takes over, as JSON.
std::string row_text(const JsonValue& config, const JsonValue* row = nullptr);

/// All families, in the order of the table.
std::vector<std::string> known_families();

}  // namespace attn
