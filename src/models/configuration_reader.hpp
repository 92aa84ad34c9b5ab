#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/rotary.hpp"

#include "io/json_value.hpp"
#include "models/architecture.hpp"
#include "models/family_row.hpp"

namespace attn {

/// A member that is there and not null, as configurations write null for what is left to the
/// default; else a null pointer.
const JsonValue* present_member(const JsonValue& object, std::string_view key);

/// Throws Error(input) at the key of the configuration.
[[noreturn]] void refuse_key(const std::string& key, const std::string& problem,
                             const std::string& help);
/// Throws Error(input) at the key of the part of the configuration, whose value is of another type
/// than `wanted`.
[[noreturn]] void refuse_type(const std::string& key, const JsonValue& value,
                              const std::string& wanted, const std::string& part = "");

/// The number, which must be finite and more than 0. Throws Error(input) at the key of the part of
/// the configuration otherwise.
double positive(const std::string& key, double number, const std::string& part = "");

/// One string, or those of a list.
std::vector<std::string> strings_of(const JsonValue& value);

/// The largest size of a model: no released one has a larger.
inline constexpr std::size_t most_width = 1 << 20U;

/// The number as a size: 0 for what is below, 2⁵³ for what is beyond, where not every whole number
/// is a double any more.
std::size_t size_of_number(double number) noexcept;

/// Reads numbers and texts of a configuration under the names that its row gives them. Throws
/// Error(input) at the key for a value of another type.
class ConfigurationReader {
 public:
  /// Keeps references to both; of the row it uses defaults and parts.
  ConfigurationReader(const JsonValue& config, const FamilyRow& row) : config_(config), row_(row) {}

  const JsonValue* find(std::string_view key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<std::size_t> count(const std::string& key) const;
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<std::size_t> first_count(std::initializer_list<const char*> keys) const;
  std::size_t required(const std::string& meaning, std::initializer_list<const char*> keys) const;
  /// The first of the keys that is there.
  std::optional<std::string> listed(const std::vector<std::string>& keys) const;
  /// Whether the configuration has one of the keys with null as its value.
  bool given_as_null(const std::vector<std::string>& keys) const;
  const FamilyRow& row() const { return row_; }

 private:
  // Null if it is not there. Throws Error(input) if it is of another type.
  const JsonValue* find(const std::string& key, JsonValue::Type type, const char* wanted) const;

  const JsonValue& config_;
  const FamilyRow& row_;
};

/// The activation that configurations call by that name. Throws Error(input) at the place.
Activation activation_of(const std::string& name, const std::string& place);

/// An object within a configuration, and its place as a JSON pointer.
struct ConfigurationPart {
  const JsonValue& object;
  std::string place;
};

/// Reads the rotary positions of a model's layers. Keeps a reference to the reader.
class RotaryReader {
 public:
  /// Throws Error(input) if heads of that width cannot be rotated as the configuration says.
  RotaryReader(const ConfigurationReader& reader, std::size_t head_width);

  /// The positions of layers with a window, or of those without. Throws Error(input) at the key for
  /// a scaling that is not known or not complete.
  Rotary read(bool window) const;

  /// The growth of queries that the rotation's members give; absent = none.
  std::optional<QueryGrowth> growth() const;

  /// Names of members that are not known, for reports.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::optional<ConfigurationPart> parameters(bool window) const;
  double original(const ConfigurationPart& scaling) const;
  RotaryScaling read_scaling(const ConfigurationPart& scaling) const;
  RotaryScaling long_scaling(const ConfigurationPart& scaling) const;
  void note_unknown(const ConfigurationPart& part);
  void note_versions();

  const ConfigurationReader& reader_;
  const RowRotary& row_;
  std::vector<std::string> warnings_;
  std::size_t width_ = 0, longest_ = 0;
  bool by_kind_ = false;  // whether layers with a window have parameters of their own
};

/// Reads of which parts the layers of a stack are, and which see a window only, and its size. Keeps
/// a reference to the reader.
class LayerTypeReader {
 public:
  /// Throws Error(input) at the key for types of layers that are not computed, and for a list that
  /// ends before the last of the `layers`.
  LayerTypeReader(const ConfigurationReader& reader, bool causal, std::size_t layers);

  /// Whether windows reach to both sides of a query.
  bool both_ways() const { return both_ways_; }

  /// The size of the windows; absent = no layer has one.
  std::optional<std::size_t> size() const { return size_; }

  /// The window of a layer, as ModelLayer has it; absent = none. `turned`: whether the layer's
  /// queries and keys are rotated.
  std::optional<std::size_t> window_of(std::size_t layer, bool turned) const;
  /// Whether a layer has an attention, the model's other mixer of tokens, and a feed-forward.
  bool attends(std::size_t layer) const;
  bool mixes(std::size_t layer) const;
  bool feeds(std::size_t layer) const;
  /// Whether its feed-forward chooses among experts, if the types say so.
  std::optional<bool> has_experts(std::size_t layer) const;

 private:
  enum class Type { full, windowed, mixed, both, feed_forward, experts };
  void read_types(std::size_t layers);
  void add_type(const JsonValue& type, const std::string& key);
  bool is_windowed(std::size_t layer, bool turned) const;

  const ConfigurationReader& reader_;
  const std::optional<RowWindow>& row_;
  std::vector<Type> types_;  // empty = they follow from other keys
  std::optional<std::size_t> size_;
  bool causal_, both_ways_ = false;
};

/// Reads the rules of layers into a stack. Keeps references to both; sizes and rules of the model
/// that all layers share are known.
class LayerRules {
 public:
  LayerRules(const ConfigurationReader& reader, Architecture& model);

  /// A stack of `count` layers. Adds warnings of the rotation to the model. Throws Error(input) at
  /// the key for what is not computed.
  ModelStack stack(const RowStack& part, bool causal, bool crosses, std::size_t count);

 private:
  void read_head_sizes(std::size_t n, ModelLayer& layer, bool windowed);
  void read_stage(std::size_t n, ModelLayer& layer) const;
  void share_keys(ModelStack& stack) const;
  bool chooses(std::size_t n) const;
  double scale_beside(const RotaryReader& rotary) const;
  double read_scale() const;

  const ConfigurationReader& reader_;
  const FamilyRow& row_;
  Architecture& model_;
};

/// Reads the terms of scores between contents and positions, and how many terms a score has, into
/// the model, whose width is known. Throws Error(input) at the key for what is not computed.
void read_disentangled(const ConfigurationReader& reader, Architecture& model);

}  // namespace attn
