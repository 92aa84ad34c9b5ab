#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/attention.hpp"
#include "attn/layers.hpp"
#include "attn/rotary.hpp"

#include "attention/positions.hpp"
#include "io/json_value.hpp"
#include "layers/delta_rule.hpp"
#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "layers/recurrent_mixers.hpp"

namespace attn {

/// The ways in which positions enter a model.
/// `sinusoidal_closed`: sines and cosines whose frequencies end at 1/10000 (fairseq's models).
/// `patch_rotary`: rotation by the row and the column of a patch (DINOv3).
enum class ModelPositions {
  none,
  learned,
  sinusoidal,
  sinusoidal_closed,
  rotary,
  patch_rotary,
  alibi,
  buckets
};

/// The order of the rows of a projection of query, key and value in one tensor: all queries, all
/// keys, all values; head by head, query, key and value of each; group by group, the queries, the
/// key and the value of each; or in four parts of as many heads, all queries, all values, all keys
/// of each (CodeGen).
enum class FusedLayout { side_by_side, each_head, each_group, four_parts };

// clang-format off
// The tensors that a stack may have. `layer` stands for the beginning of the names of a layer's
// tensors. One list for the enumeration and its names.
#define ATTN_WEIGHT_PURPOSES(X) \
  X(tokens) X(positions) X(types) X(tasks) X(embedding_norm) X(embedding_projection) \
  X(output_projection) X(layer) X(query) X(key) X(value) X(query_key_value) X(output) \
  X(query_norm) X(key_norm) X(sinks) X(buckets) X(patch_bias) X(before_attention) X(after_attention) \
  X(after_attention_sum) X(cross_query) X(cross_key) X(cross_value) X(cross_output) \
  X(before_cross) X(after_cross) X(after_cross_sum) X(before_feed_forward) \
  X(after_feed_forward) X(after_feed_forward_sum) X(input_convolution) \
  X(input_convolution_norm) X(final_norm) X(gate) X(up) X(gated_up) \
  X(gate_up) X(down) X(router) X(experts) X(expert_gate) X(expert_up) X(expert_down) \
  X(xielu_positive) X(xielu_negative) X(xielu_beta) X(xielu_eps) X(linear_query_key_value) \
  X(linear_query_key_value_gate) X(linear_gate) X(linear_strength) X(linear_decay) \
  X(linear_strength_decay) X(linear_convolution) X(linear_decay_log) X(linear_decay_bias) \
  X(linear_norm) X(linear_output) X(mixer_in) X(mixer_convolution) X(mixer_selection) \
  X(mixer_step) X(mixer_step_norm) X(mixer_input_norm) X(mixer_output_norm) X(mixer_step_bias) \
  X(mixer_decay_log) X(mixer_skip) X(mixer_norm) X(mixer_output) X(expert_gate_up) X(shared_gate) X(shared_up) X(shared_down) \
  X(shared_gate_up) X(router_correction) X(query_down) X(query_down_norm) \
  X(key_value_down) X(key_value_down_norm) X(key_value) X(attention_gate) X(router_scale) \
  X(router_factors) X(before_experts) X(after_experts) X(before_shared) X(after_shared) \
  X(token_norm) \
  X(shared_share) X(layer_tokens) X(layer_tokens_projection) X(layer_tokens_norm) \
  X(layer_input_gate) X(layer_input_projection) X(layer_input_norm) X(state_scale) \
  X(class_token) X(distillation_token) X(registers) X(attention_scale) \
  X(feed_forward_scale) X(relative) X(relative_norm) X(relative_key) X(relative_query) \
  X(query_bias) X(value_bias) X(second_convolution) X(probe) X(pooling_in) X(pooling_output) X(pooling_norm) \
  X(pooling_up) X(pooling_down) X(pooled_norm) X(contacts) \
  X(merging) X(merging_norm) X(cosine_scale) X(distance_up) X(distance_down) \
  X(global_query) X(global_key) X(global_value) X(distance_bias) X(segments) X(segment_bias) \
  X(stream_router) X(stream_router_norm) X(stream_prediction) X(stream_correction) X(stream_scale) \
  X(stream_in) X(stream_out) X(augmented_left) X(augmented_right) X(augmented_norm)
// clang-format on

/// The tensors that a stack may have.
enum class WeightPurpose {
#define ATTN_ENUMERATOR(name) name,
  ATTN_WEIGHT_PURPOSES(ATTN_ENUMERATOR)
#undef ATTN_ENUMERATOR
};
/// Their names in a row of the table of families, in the order of the enumeration.
inline constexpr auto weight_purposes = std::to_array<std::string_view>({
#define ATTN_NAME(name) #name,
    ATTN_WEIGHT_PURPOSES(ATTN_NAME)
#undef ATTN_NAME
});
#undef ATTN_WEIGHT_PURPOSES

/// The names that files may give a tensor, the first that is there counting.
using TensorNames = std::map<WeightPurpose, std::vector<std::string>>;

/// Rows and columns of the patches of a picture.
struct PatchGrid {
  std::size_t rows = 0, columns = 0;
};

/// Squares of patches, each of which sees its own patches alone (Liu et al. 2021, "Swin").
struct PatchWindow {
  std::size_t side = 0;
  bool shifted = false;     ///< the first squares are half as high and wide, the last likewise
  std::size_t trained = 0;  ///< side of the squares that distances are measured by; 0 = `side`
};

/// Rules that may differ from layer to layer.
struct ModelLayer {
  /// Window in keys: causal, the query's key and those before it; else that many on each side.
  std::optional<std::size_t> window;
  std::optional<Rotary> rotary;
  double scale = 1;                   ///< of the scores
  bool experts = false;               ///< whether the feed-forward chooses among experts
  std::optional<std::size_t> chunk;   ///< queries see keys of their own chunk of that many
  std::optional<QueryGrowth> growth;  ///< of queries
  bool attends = true, feeds = true;  ///< whether it has an attention, and a feed-forward
  bool mixes = false;                 ///< whether it has the model's other mixer of tokens
  std::size_t width = 0, heads = 0;   ///< of the states, and of the self-attention
  std::size_t head_width = 0, kv_heads = 0;
  std::optional<PatchWindow> patches;  ///< absent = a patch sees all
  std::size_t mergings = 0;            ///< how often four patches became one before the layer
  bool keys_are_values = false;        ///< values are the keys before their norm and rotation
  std::optional<std::size_t> keys_of;  ///< the layer whose keys and values it takes; absent = own

  /// Whether its self-attention has weights: what runs, draws or reads heads asks here.
  bool has_map() const noexcept { return attends; }
};

/// A convolution over the embeddings, whose result is added to what leaves the first layer
/// (DeBERTa v2).
struct ModelInputConvolution {
  std::size_t kernel = 0, groups = 1;
  std::optional<Activation> activation;  ///< absent = the hyperbolic tangent
};

/// Streams of states (AlternatingUpdates).
struct ModelStreams {
  std::size_t count = 0, active = 0;
  bool scaled = true;  ///< whether what a layer's input reads of them is scaled
};

/// One stack of layers.
struct ModelStack {
  std::string prefix;  ///< before its names, "encoder." in an encoder-decoder
  TensorNames names;
  bool causal = false, crosses = false;
  /// Groups of layers with the same weights, and the inner layers that each of these is.
  std::size_t groups = 1, inner = 1;
  bool staged = false;  ///< groups are the layers between two mergings of patches
  std::vector<ModelLayer> layers;
  TensorNames left_out;  ///< tensors of files that play no part without the other stack
};

/// Sizes of a latent attention, as of LatentStates.
struct ModelLatent {
  std::size_t query_rank = 0;  ///< of the vector that queries are made of; 0 = the state
  std::size_t rank = 0;        ///< of the vector that keys and values are made of
  std::size_t shared = 0;      ///< numbers of a key that all heads share, which are rotated
  std::size_t own = 0;         ///< numbers of each head's own
  std::size_t value = 0;       ///< width of a value
};

/// Factors of a Linear layer: of what it reads, and of what it makes.
struct ModelFactor {
  double input = 1, output = 1;
};

/// Whether a Linear layer or a norm has a bias.
struct ModelBias {
  std::string key;  ///< of the configuration, by which it has one or not; empty = it has one
  std::optional<bool> there;  ///< absent = as the file has it
};

/// A state space as configurations describe it.
struct ModelStateSpace : StateSpaceSizes {
  std::size_t expand = 0;       ///< heads together are that many times as wide as states; 0 = any
  std::size_t whole = 0;        ///< width of all heads together; 0 = by `expand`, or by heads
  bool rank_by_width = false;   ///< steps are made of a sixteenth as many numbers as states have
  std::vector<double> factors;  ///< of gate, x, B, C and steps; empty = 1

  /// Of states of that width.
  std::size_t whole_width(std::size_t states_width) const noexcept {
    return whole > 0 ? whole : expand > 0 ? expand * states_width : inner();
  }
};

/// What mixes tokens in layers without attention, or beside it; one kind per model.
using ModelMixer = std::variant<std::monostate, DeltaSizes, ShortConvolutionSizes, ModelStateSpace>;

struct ModelBuckets {
  std::size_t count = 32, max_distance = 128;
};

/// Terms between contents and positions in the scores of self-attentions; see DisentangledTerms.
struct ModelDisentangled {
  DistanceRows distances;
  bool content_to_position = false, position_to_content = false;
  bool shared = false;  ///< distances are projected as contents are
  bool normed = false;  ///< a norm goes before the projection
  /// In place of a table distances are sines and cosines of their size, up to `clamp` if it is not
  /// 0, queries have a bias for each term, and types of tokens have terms of their own (XLNet).
  bool sinusoidal = false;
  std::size_t clamp = 0;
};

/// The names of the tensors of the head that gives logits, of several the first that is there. A
/// file may lack them, but without a `dense` that is named it has no head.
struct ModelHead {
  std::vector<std::string> dense, norm;
  std::string weight;
  std::vector<std::string> bias;
  std::optional<Activation> activation;  ///< absent = that of the layers
};

/// The head of a class of models that predicts no tokens: the states that it reads, the names of
/// its tensors, and what its logits say.
struct ModelClassifier {
  /// `end`: the state at the text's last end token; `mean_of_logits`: those of each are averaged;
  /// `first_and_patches`: that of [CLS] and the mean of patches, side by side.
  enum class Reads { each, first, last, end, mean, mean_of_logits, patches, first_and_patches };
  /// Probabilities of logits: `by_count` is a softmax over several classes, or a sigmoid of one;
  /// others are a sigmoid of each, none, or a softmax over the tokens or over the texts.
  enum class Shares { by_count, each, none, of_tokens, of_texts };
  std::string name;  ///< of the class
  Reads reads = Reads::first;
  Shares shares = Shares::by_count;
  std::string dense, norm;               ///< empty = none
  std::optional<Activation> activation;  ///< behind `dense`; absent = the hyperbolic tangent
  std::vector<std::string> weight;       ///< of several the first that is there
  std::vector<std::string> labels;       ///< names of the classes; empty = "LABEL_0"…
  std::optional<std::int64_t> end_id;
};

/// Tokens of a text that all others see, and that see all others by projections of their own
/// (Beltagy et al. 2020, "Longformer", section 3.1): the first; those before the first separator;
/// or those behind it and the one that follows it.
enum class GlobalTokens { none, first, question, choice };

/// The rules of a model that reads pictures. The weight under `WeightPurpose::tokens` embeds its
/// patches: a convolution [D,3,P,P], or a matrix [D,P·P·3] with the channels of a pixel side by
/// side. That under `patch_bias` is [N,H], one row per distance of two patches in rows and columns,
/// and, where there is a [CLS], three more: from it to patches, from patches to it, to itself.
struct VisionPart {
  std::size_t patch = 16;              ///< P, rows and columns of a patch
  std::size_t side = 14;               ///< patches on a side of the pictures of training
  std::size_t registers = 0;           ///< tokens between [CLS] and the patches
  bool antialiased = false;            ///< whether positions of a smaller grid are averages
  bool bilinear = false;               ///< whether those are made by that filter, not bicubically
  std::string processor;               ///< kind of its image processor, "ViT"
  std::string projection;              ///< tensor that projects pooled pictures; empty = none
  std::string text_projection;         ///< the same for texts
  bool last_token = false;             ///< texts are filled up and pooled at their last token
  std::optional<std::int64_t> end_id;  ///< token at which texts are pooled; 2 = the largest id
};

/// The rules of a model that reads sound. The weights under `WeightPurpose::tokens` and
/// `second_convolution` are convolutions over a spectrogram, [D,bands,3] and [D,D,3].
struct SoundPart {
  std::size_t bands = 80;        ///< of the spectrogram
  std::size_t positions = 1500;  ///< tokens of a sound, each of two frames
};

/// Keys of the configuration that gave sizes; empty = it has none of that name.
struct SizeKeys {
  std::string layers, decoder_layers, width, heads, kv_heads, vocabulary;
};

struct SentenceModules;

/// One model, as its config.json and the row of its family describe it.
struct Architecture {
  std::string family;
  std::vector<std::string> prefixes;
  std::size_t width = 0, heads = 0, kv_heads = 0, head_width = 0, vocabulary = 0;
  std::size_t decoder_vocabulary = 0;  ///< of an encoder-decoder's decoder
  SizeKeys size_keys;
  NormKind norm = NormKind::layer;
  bool norm_weights_from_one = false;  ///< norms multiply by 1 + weight (Gemma)
  bool norms_bare = false;             ///< norms have no weights
  double eps = 1e-5;
  Activation activation = Activation::gelu;
  ModelPositions positions = ModelPositions::none;
  std::size_t first_position = 0;       ///< the row of the table that the first token takes
  std::optional<std::size_t> longest;   ///< text; absent = no limit
  std::optional<std::size_t> made_for;  ///< positions that rotation was trained for
  bool parallel = false;                ///< attention and feed-forward both take the layer's input
  bool residual_after_norm = false;     ///< the normed state is what the branches are added to
  bool whole_width_norms = false;       ///< of query and key: over all heads together
  bool norms_by_head = false;           ///< of query and key: with weights of each head
  bool norms_after_rotary = false;      ///< of query and key: after the rotation
  bool value_norms_bare = false;        ///< heads' values have a norm without weights
  bool head_norms_bare = false;         ///< of query and key, without weights, where they rotate
  std::optional<double> clip;           ///< largest size of queries, keys and values
  bool stored_transposed = false;       ///< matrices are [in,out]
  bool experts_transposed = false;      ///< those of experts are [in,out]
  bool heads_apart = false;             ///< those of attentions are [in,H,d], or [out,H,d]
  bool turned_back = false;             ///< rotations go the other way round
  bool rows_in_pairs = false;  ///< rows of queries and keys: those turned together are neighbours
  FusedLayout fused = FusedLayout::side_by_side;
  bool alibi_scaled = false;     ///< ALiBi's biases are rounded, and scaled with the scores
  bool alibi_odd_first = false;  ///< for heads not a power of two: every second slope comes first
  std::vector<WeightPurpose> optional;  ///< tensors that files may lack
  /// Biases of Linear layers and norms, those that are left out having none; absent = as the file
  /// has them.
  std::optional<std::map<WeightPurpose, ModelBias>> biases;
  double embedding_scale = 1;
  double branch_scale = 1;  ///< of what attention and feed-forward add
  double logit_scale = 1;
  std::optional<double> softcap, logit_softcap;
  bool tied = true;
  /// The language part says that it is tied, and the whole model that it is not.
  bool part_tied = false;
  /// A class under "architectures" that predicts no tokens, if no other one there does.
  std::string headless_class;
  std::optional<ExpertRules> experts;
  std::optional<ModelLatent> latent;
  ModelMixer mixer;
  Activation mixer_activation = Activation::silu;  ///< of convolved channels
  std::map<WeightPurpose, ModelFactor> factors;
  bool gated_queries = false;  ///< rows of a head's gate follow those of its query
  std::optional<ModelInputConvolution> input_convolution;
  std::size_t layer_input = 0;  ///< width of what each layer reads of the tokens; 0 = nothing
  std::optional<ModelStreams> streams;
  std::vector<double> gate_sparsity;  ///< by layer, share of a token's gates that are zeros
  bool projects_terms = false;        ///< each term of the embedding is projected, before its norm
  ModelBuckets buckets;
  std::size_t score_terms = 1;  ///< products that a score is the sum of, each of them scaled down
  std::optional<ModelDisentangled> disentangled;
  ModelHead head;
  /// The head of a class that predicts no tokens, if it is known; the file may lack it.
  std::optional<ModelClassifier> classifier;
  /// What makes one vector of a text, in a folder of sentence-transformers; else null.
  std::shared_ptr<const SentenceModules> sentence;
  std::vector<ModelStack> stacks;  ///< one, or an encoder and a decoder
  std::optional<VisionPart> vision;
  std::optional<SoundPart> sound;
  /// The language model's configuration in a model of pictures and texts; else null.
  std::shared_ptr<const Architecture> text;
  /// The encoder's own configuration where it differs, with the same first stack; else null.
  std::shared_ptr<const Architecture> encoder;
  std::optional<std::int64_t> pad_id, decoder_start_id;
  std::optional<HiddenTokens> hidden;
  GlobalTokens global_tokens = GlobalTokens::none;
  std::optional<std::int64_t> separator_id;
  bool is_part = false;               ///< the language part of a model of several parts
  std::vector<std::string> warnings;  ///< of the configuration, for reports

  /// Whether a matrix is stored with an axis for the heads.
  bool has_heads_apart(WeightPurpose purpose) const noexcept {
    using enum WeightPurpose;
    return heads_apart && (purpose == query || purpose == key || purpose == value ||
                           purpose == relative_key || purpose == output);
  }
  /// Whether a layer's matrix is stored [in,out].
  bool stores_transposed(WeightPurpose purpose) const noexcept {
    return has_heads_apart(purpose) ? purpose != WeightPurpose::output : stored_transposed;
  }
  /// Whether scores have terms for types of tokens, which need no table then.
  bool compares_types() const noexcept { return disentangled && disentangled->sinusoidal; }
  bool encoder_decoder() const noexcept { return stacks.size() == 2; }
  /// Whether a stack reads a picture or a sound in place of tokens.
  bool senses(const ModelStack& stack) const noexcept {
    return vision || (sound && !stack.crosses);
  }
  /// The width of a head's value.
  std::size_t value_width() const noexcept { return latent ? latent->value : head_width; }
  /// Its rules with the sizes of a layer, without its stacks.
  Architecture at(const ModelLayer& layer) const;
  /// The sizes and rules of a stack.
  const Architecture& of(const ModelStack& stack) const noexcept {
    return !encoder || stack.crosses ? *this : *encoder;
  }
};

/// Reads config.json by the row of its `model_type`, or by `row` if the user gives one. Throws
/// Error(input) at the key for what is missing, malformed or not supported, with what would be
/// computed wrongly.
Architecture read_architecture(const JsonValue& config, const JsonValue* row = nullptr);

/// The row that read_architecture() uses, complete with what it takes over from other rows, as
/// JSON.
std::string row_text(const JsonValue& config, const JsonValue* row);

/// All families, in the order of the table.
std::vector<std::string> known_families();

}  // namespace attn
