#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/architecture.hpp"

namespace attn {

/// The tensors of one stack of a model.
struct RowStack {
  std::string prefix;  ///< before the names
  /// The object in the configuration that has its sizes and rules, and under its names those of the
  /// row; empty = the configuration describes both stacks.
  std::string part;
  std::optional<TensorNames> names;
};

struct RowRotary {
  double theta = 10000;
  std::optional<double> window_theta;  ///< of layers with a window
  bool window_theta_is_null = false;   ///< the configuration says that it is that of the others
  double share = 1;                    ///< of a head's columns that are rotated
  std::optional<std::size_t> width;    ///< the number of those columns
  bool interleaved = false;
  std::size_t off_every = 0;        ///< the last of that many layers is not rotated; 0 = all are
  std::vector<double> turned;       ///< by layer, 0 for those that are not rotated
  std::vector<double> thetas;       ///< by layer, in place of `theta`
  bool off_in_full_layers = false;  ///< layers without a window are not rotated
  bool in_dense_layers = false;     ///< but those without experts are
  bool off_beside_windows = false;  ///< the same, in models that have windows
  bool scaling_of_full_layers_alone = false;
};

struct RowWindow {
  std::optional<std::size_t> size;
  std::string size_place;       ///< in the configuration, if it gives it
  bool each_side_half = false;  ///< the size is that of both sides together
  bool own_counted = false;     ///< each side counts the query's own key
  std::optional<bool> both_sides;
  bool active = true;
  std::vector<std::string> types_keys;          ///< lists of the layers' types
  std::optional<std::size_t> from;              ///< the first layer with a window
  std::optional<std::size_t> until;             ///< the layer behind the last with a window
  std::optional<std::size_t> alternating_from;  ///< odd layers have one
  std::optional<std::size_t> full_every;        ///< one of that many layers has none
  std::optional<Error> full_every_error;        ///< thrown where that is needed and is no number
  bool full_first = false;                      ///< the first of those, not the last
  bool where_not_turned = false;                ///< layers with rotation have none
  bool where_turned = false;                    ///< layers without rotation have none
  bool chunked = false;                         ///< sizes are those of chunks of the text
};

/// Keys of the terms between contents and positions; see ModelDisentangled.
struct RowDisentangled {
  bool active = false, shared = false;
  std::vector<std::string> terms_keys;     ///< names of the terms: a list, or joined by |
  std::vector<std::string> buckets_keys;   ///< the number of buckets on either side
  std::vector<std::string> distance_keys;  ///< the largest distance; less than 1 = the longest text
  std::vector<std::string> norm_keys;      ///< what is done to the table: none or layer_norm
  bool sinusoidal = false;
  double clamp = -1;  ///< largest distance; not positive = none
};

struct RowExperts : ExpertRules {
  std::size_t every = 1;                       ///< the last of that many layers has experts
  std::optional<std::size_t> offset = {};      ///< another than the last of them
  std::size_t first = 0;                       ///< the first layer that may have experts
  std::optional<std::size_t> last = {};        ///< the last of those
  std::vector<double> dense = {};              ///< layers without experts
  std::optional<std::vector<double>> at = {};  ///< all layers with experts
};

/// Which layers of a model with another mixer of tokens have an attention. Without a rule all have.
struct RowMixed {
  std::size_t full_every = 0;               ///< one of that many layers has; 0 = another rule
  std::optional<std::size_t> full_offset;   ///< which of them; absent = the last
  std::optional<std::vector<double>> full;  ///< all that have
  bool beside = false;                      ///< all have both
  bool alone = false;                       ///< layers are one sub-layer each
  std::vector<std::string> types_keys;      ///< lists of the layers' types
  std::vector<std::string> pattern_keys;    ///< the same as a text with a letter each
};

/// Layers that share weights by groups (ALBERT): layers of a group have the same weights, and each
/// is a number of inner layers with weights of their own.
struct RowGroups {
  std::size_t count = 1, inner = 1;
};

/// Layers in stages, each with half as many rows and columns of patches, and states and heads of
/// its own (Swin).
struct RowStages {
  std::vector<double> depths, heads;  ///< of each stage
  std::size_t width = 96;             ///< of the states of the first, doubled from stage to stage
  std::size_t window = 7;             ///< side of the squares of patches
  std::vector<double> trained;        ///< in each stage; see PatchWindow
  bool fitted = false;                ///< windows of small grids are of their size in the file
};

/// What layers without a window have of their own (Gemma 4).
struct RowFullLayers {
  std::optional<std::size_t> head_width, kv_heads;
  bool keys_are_values = false;
};

/// The growth of queries; see QueryGrowth.
struct RowGrowth : QueryGrowth {
  bool active = true;
  bool where_not_turned = false;  ///< only in layers without rotation
};

/// Part of a row about models of pictures.
struct RowVision : VisionPart {
  std::string text = {};    ///< family of the texts that go with pictures
  std::size_t patches = 0;  ///< patches of pictures of training; 0 = by the size of these
};

/// A row of the table of families, read for one configuration: names of tensors, what
/// configurations leave out, and whatever the configuration says itself under the keys that the
/// row lists.
struct FamilyRow {
  Architecture model;  ///< without what its sizes and layers need further keys for
  RowStack stack;
  std::optional<RowStack> encoder, decoder;
  JsonValue defaults;  ///< of members of the configuration
  JsonValue only;  ///< members of the configuration with the value, or the list of values, known
  std::vector<std::string> parts;           ///< objects in it whose members count as its own
  std::set<std::string, std::less<>> keys;  ///< all that the row lists
  TensorNames left_out;  ///< tensors of layers that no text without further settings reads
  bool causal = false;
  std::optional<std::size_t> kv_heads;
  bool norms_first = true;  ///< norms stand before the sub-layers, as the names have them
  std::optional<RowExperts> experts;
  std::optional<ModelLatent> latent;
  std::optional<RowMixed> mixed;
  std::optional<RowGrowth> growth;
  std::optional<RowGroups> groups;
  std::optional<RowStages> stages;
  std::optional<RowFullLayers> full_layers;
  std::size_t shared_keys = 0;  ///< the last layers, which take keys and values of others
  std::optional<ModelInputConvolution> input_convolution;
  bool behind_padding = false;  ///< positions begin behind the padding token's id
  RowRotary rotary;
  std::optional<RowWindow> window;
  bool buckets = false;
  std::optional<RowDisentangled> disentangled;
  std::optional<RowVision> vision;
  std::optional<double> scale;
  std::optional<double> score_multiplier;  ///< the scale of the scores
  std::optional<double> scale_of;
  double logit_divisor = 1;
  std::optional<double> logit_width;  ///< logits are divided by how much wider states are
  std::optional<double>
      branch_depth;  ///< branches are multiplied by it over the root of the layers
  bool logits_by_root_of_width = false;  ///< whether logits are divided by it
  bool embedding_scaled = false;         ///< by the root of the width
  /// Whether tokens that hide others are left out as in training; see HiddenTokens.
  bool hides_tokens = false;
};

/// Reads a row of the table or of a user for a configuration: under each field what the
/// configuration has under the first of the field's keys that is there, else what the row gives.
/// Members that are null count as absent. Throws Error(input) at the row's member for an unknown
/// one or a value of another type, and at the configuration's key likewise.
FamilyRow read_row(const JsonValue& row, const JsonValue& config = {});

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

/// JSON objects that together have the rows of all known families, by "model_type", in the order of
/// the table: of texts, of those that compute most of what another one does, of pictures and sound.
std::array<std::string_view, 3> builtin_rows() noexcept;
std::string_view text_rows() noexcept;
std::string_view related_rows() noexcept;
std::string_view sensing_rows() noexcept;

}  // namespace attn
