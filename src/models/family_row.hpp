#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"
#include "models/architecture.hpp"

namespace attn {

/// A value of a model: what the configuration has under the first of `keys` that is there, else the
/// row's own.
template <class T>
struct RowValue {
  std::optional<T> own;
  std::vector<std::string> keys;
};

/// The tensors of one stack of a model.
struct RowStack {
  std::string prefix;  ///< before the names
  /// The object in the configuration that has its sizes and rules, and under its names those of the
  /// row; empty = the configuration describes both stacks.
  std::string part;
  std::optional<TensorNames> names;
};

struct RowRotary {
  RowValue<double> theta, window_theta;
  RowValue<double> share;       ///< of a head's columns that are rotated
  RowValue<std::size_t> width;  ///< the number of those columns
  RowValue<bool> interleaved;
  RowValue<std::size_t> off_every;               ///< the last of that many layers is not rotated
  std::vector<std::string> off_where_zero_keys;  ///< lists with 0 for layers that are not rotated
  bool off_in_full_layers = false;               ///< layers without a window are not rotated
  bool off_beside_windows = false;               ///< the same, in models that have windows
  bool scaling_of_full_layers_alone = false;
};

struct RowWindow {
  std::optional<std::size_t> size;
  std::vector<std::string> keys;  ///< of the size
  bool each_side_half = false;    ///< the size is that of both sides together
  bool own_counted = false;       ///< each side counts the query's own key
  RowValue<bool> both_sides, active;
  std::vector<std::string> types_keys;          ///< lists of the layers' types
  RowValue<std::size_t> from;                   ///< the first layer with a window
  RowValue<std::size_t> until;                  ///< the layer behind the last with a window
  std::optional<std::size_t> alternating_from;  ///< odd layers have one
  RowValue<std::size_t> full_every;             ///< one of that many layers has none
  bool full_first = false;                      ///< the first of those, not the last
  bool where_not_turned = false;                ///< layers without rotation have none
};

struct RowBuckets {
  RowValue<std::size_t> count, distance;
  bool bidirectional = false, shared = false;
};

/// Keys of the terms between contents and positions; see ModelDisentangled.
struct RowDisentangled {
  RowValue<bool> active, shared;
  std::vector<std::string> terms_keys;     ///< names of the terms: a list, or joined by |
  std::vector<std::string> buckets_keys;   ///< the number of buckets on either side
  std::vector<std::string> distance_keys;  ///< the largest distance; less than 1 = the longest text
  std::vector<std::string> norm_keys;      ///< what is done to the table: none or layer_norm
};

struct RowExperts {
  RowValue<std::size_t> count, chosen;
  RowValue<double> limit;
  RowValue<bool> normalised;            ///< whether the shares of those that are chosen sum to 1
  RowValue<double> jitter;              ///< half of Experts::nearness, of rows that share by it
  RowValue<std::size_t> every;          ///< the last of that many layers has experts
  std::vector<std::string> dense_keys;  ///< lists of layers without experts
};

/// Layers of linear attention.
struct RowLinear {
  RowValue<std::size_t> key_heads, value_heads, key_width, value_width, kernel;
  RowValue<std::size_t> full_every;  ///< the last of that many layers has an attention
};

struct RowHead {
  std::vector<std::string> dense, norm;
  std::string weight;
  std::vector<std::string> bias;
  RowValue<std::string> activation;  ///< without one of its own that of the layers
};

struct RowNorm {
  NormKind kind = NormKind::layer;
  bool weights_from_one = false;  ///< as Architecture::norm_weights_from_one
  bool bare = false;              ///< as Architecture::norms_bare
};

/// The row of the table past which the positions of a text begin.
struct RowOffset {
  std::size_t count = 0;
  bool behind_padding = false;  ///< behind the padding token's id
};

/// Part of a row about models of pictures; see VisionPart.
struct RowVision {
  std::string processor, text, projection, text_projection;
  RowValue<std::size_t> registers;
  bool antialiased = false, last_token = false;
};

/// A row of the table of families: names of tensors, names of members of the configuration, and
/// values that configurations leave out.
struct FamilyRow {
  std::vector<std::string> prefixes;
  RowStack stack;
  std::optional<RowStack> encoder, decoder;
  std::optional<RowHead> head;
  std::vector<WeightPurpose> optional;  ///< tensors that files may lack
  /// Tensors with a bias, by the key of the configuration that says so, or "always". Absent = as
  /// the file has them.
  std::optional<std::map<std::string, std::vector<WeightPurpose>>> biases;
  JsonValue defaults;  ///< of members of the configuration
  JsonValue only;  ///< members of the configuration with the value, or the list of values, known
  std::vector<std::string> parts;  ///< objects in it whose members count as its own
  bool causal = false;
  RowValue<std::size_t> kv_heads;
  RowNorm norm;
  std::vector<std::string> norm_first_keys;
  RowValue<double> eps;
  bool whole_width_norms = false, norms_by_head = false, norms_after_rotary = false;
  RowValue<double> clip;
  RowValue<std::string> activation;
  std::vector<std::string> feed_forward_keys;
  std::optional<RowExperts> experts;
  std::optional<RowLinear> linear;
  bool gated_queries = false;  ///< as Architecture::gated_queries
  ModelPositions positions = ModelPositions::none;
  std::optional<RowOffset> position_offset;
  bool alibi_scaled = false, alibi_odd_first = false;
  RowRotary rotary;
  std::optional<RowWindow> window;
  std::optional<RowBuckets> buckets;
  std::optional<RowDisentangled> disentangled;
  std::optional<RowVision> vision;
  RowValue<bool> parallel, residual_after_norm;
  bool stored_transposed = false;
  bool rows_in_pairs = false;  ///< as Architecture::rows_in_pairs
  FusedLayout fused = FusedLayout::side_by_side;
  std::optional<double> scale;
  RowValue<double> score_multiplier;  ///< the scale of the scores
  RowValue<double> scale_of, softcap, logit_softcap;
  RowValue<double> embedding_multiplier, branch_multiplier, logit_multiplier, logit_divisor;
  bool tied = true;
  RowValue<bool> logits_by_root_of_width;  ///< whether logits are divided by it
  bool embedding_scaled = false;           ///< by the root of the width
  std::vector<std::string> embedding_scale_keys;
  /// Whether tokens that hide others are left out as in training; see HiddenTokens.
  RowValue<bool> hides_tokens;
};

/// Reads a row of the table or of a user. Members that are null count as absent. Throws
/// Error(input) at the member's JSON pointer for an unknown one or a value of another type.
FamilyRow read_row(const JsonValue& row);

/// Whether both are the same string, number or boolean.
bool same_value(const JsonValue& a, const JsonValue& b);

/// The row of the family of that name, complete with what it takes over from other rows.
JsonValue row_of_family(std::string_view family);

/// Whether models of the family read pictures.
bool reads_pictures(std::string_view family);

/// The part of a configuration that describes the stack of layers: that of pictures in a model that
/// reads them, else that of the language model; all of it if it has one part.
const JsonValue& main_part(const JsonValue& config);

/// Its "model_type"; empty if it has none.
std::string family_of(const JsonValue& config);

/// The row of the configuration's family, or the user's, complete with what it takes over from
/// other rows, and with the cases that hold for the configuration. Throws Error(input) for a family
/// that is not known.
JsonValue row_of(const JsonValue& config, const JsonValue* row);

/// The row with its "part_sizes" among its defaults: the language part of a model of several parts
/// leaves out what equals them. Key heads go with the query heads, given or not.
JsonValue with_part_sizes(const JsonValue& row, const JsonValue& part);

/// A JSON object of the rows of all known families, by "model_type", in the order of the table.
std::string_view builtin_rows() noexcept;

}  // namespace attn
