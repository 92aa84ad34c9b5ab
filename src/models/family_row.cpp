#include "models/family_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/configuration_reader.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string help() {
  return translated("model_row() gives a row as it should be");
}

[[noreturn]] void refuse(const JsonValue& value, const std::string& wanted,
                         const std::string& place) {
  throw input_error(
      translated("expected {1}, found {2}", translated(wanted), translated(type_text(value))),
      place, help());
}

[[noreturn]] void refuse_member(const std::string& key, const std::vector<std::string_view>& known,
                                const std::string& place) {
  throw input_error(translated("unknown key \"{1}\"", key), place, suggestion(key, known));
}

bool is_null(const JsonValue& value) {
  return value.is(JsonValue::Type::null);
}

bool is_count(const JsonValue& value) {
  return value.is(JsonValue::Type::number) && value.is_integer() && value.integer() >= 0;
}

// ---- Values by their type -----------------------------------------------------------------------

void read(bool& to, const JsonValue& value, const std::string& place) {
  to = expect_boolean(value, place, help());
}

void read(double& to, const JsonValue& value, const std::string& place) {
  to = expect_number(value, place, help());
}

void read(std::size_t& to, const JsonValue& value, const std::string& place) {
  if (!is_count(value)) refuse(value, to_translate("a whole number of at least 0"), place);
  to = static_cast<std::size_t>(value.integer());
}

void read(std::string& to, const JsonValue& value, const std::string& place) {
  to = expect_string(value, place, help());
}

// An object with any members.
void read(JsonValue& to, const JsonValue& value, const std::string& place) {
  to = expect_object(value, place, help());
}

// One name, or a list of several.
void read(std::vector<std::string>& to, const JsonValue& value, const std::string& place) {
  if (!value.is(JsonValue::Type::string) && !value.is(JsonValue::Type::array)) {
    refuse(value, to_translate("a name or a list of names"), place);
  }
  for (std::size_t i = 0; value.is(JsonValue::Type::array) && i < value.size(); ++i) {
    if (value.element(i).is(JsonValue::Type::string)) continue;
    refuse(value.element(i), to_translate("a name"), pointer_to(place, i));
  }
  to = strings_of(value);
}

WeightPurpose purpose_of(const std::string& name, const std::string& place) {
  const auto found = std::ranges::find(weight_purposes, name);
  if (found == weight_purposes.end())
    refuse_member(name, {weight_purposes.begin(), weight_purposes.end()}, place);
  return static_cast<WeightPurpose>(found - weight_purposes.begin());
}

void read(std::vector<WeightPurpose>& to, const JsonValue& value, const std::string& place) {
  std::vector<std::string> names;
  read(names, value, place);
  for (const std::string& name : names) to.push_back(purpose_of(name, place));
}

constexpr auto norms = std::to_array<WeightPurpose>(
    {WeightPurpose::embedding_norm, WeightPurpose::query_norm, WeightPurpose::key_norm,
     WeightPurpose::before_attention, WeightPurpose::after_attention,
     WeightPurpose::after_attention_sum, WeightPurpose::before_cross, WeightPurpose::after_cross,
     WeightPurpose::after_cross_sum, WeightPurpose::before_feed_forward,
     WeightPurpose::after_feed_forward, WeightPurpose::after_feed_forward_sum,
     WeightPurpose::final_norm, WeightPurpose::relative_norm});

constexpr auto projections = std::to_array<WeightPurpose>(
    {WeightPurpose::embedding_projection, WeightPurpose::output_projection, WeightPurpose::query,
     WeightPurpose::key, WeightPurpose::value, WeightPurpose::query_key_value,
     WeightPurpose::output, WeightPurpose::cross_query, WeightPurpose::cross_key,
     WeightPurpose::cross_value, WeightPurpose::cross_output, WeightPurpose::gate,
     WeightPurpose::up, WeightPurpose::gated_up, WeightPurpose::gate_up, WeightPurpose::down,
     WeightPurpose::relative_key, WeightPurpose::relative_query, WeightPurpose::contacts});

// Purposes by the keys that say whether they have biases; "norms" and "projections" stand for all
// of them.
void read(std::map<std::string, std::vector<WeightPurpose>>& to, const JsonValue& value,
          const std::string& place) {
  for (const JsonMember& key : expect_object(value, place, help()).members()) {
    if (is_null(key.value)) continue;
    const std::string at = pointer_to(place, key.key);
    std::vector<std::string> names;
    read(names, key.value, at);
    std::vector<WeightPurpose>& purposes = to[key.key];
    for (const std::string& name : names) {
      if (name == "norms") {
        purposes.insert(purposes.end(), norms.begin(), norms.end());
      } else if (name == "projections") {
        purposes.insert(purposes.end(), projections.begin(), projections.end());
      } else {
        purposes.push_back(purpose_of(name, at));
      }
    }
  }
}

void read(TensorNames& to, const JsonValue& value, const std::string& place) {
  for (const JsonMember& tensor : expect_object(value, place, help()).members()) {
    const std::string at = pointer_to(place, tensor.key);
    const WeightPurpose purpose = purpose_of(tensor.key, at);
    if (is_null(tensor.value)) continue;
    std::vector<std::string>& names = to[purpose];
    read(names, tensor.value, at);
    if (names.empty()) throw input_error(translated("there is no name"), at, help());
  }
}

template <class Meaning, std::size_t N>
using Words = std::array<std::pair<std::string_view, Meaning>, N>;

// The meaning of a word.
template <class Meaning, std::size_t N>
Meaning meaning_of(const JsonValue& value, const std::string& place,
                   const Words<Meaning, N>& words) {
  const std::string& word = expect_string(value, place, help());
  std::vector<std::string_view> known;
  for (const auto& [name, meaning] : words) {
    if (name == word) return meaning;
    known.push_back(name);
  }
  throw input_error(
      translated("the row says \"{1}\": {2}", place.substr(place.rfind('/') + 1), in_quotes(word)),
      place, suggestion(word, known));
}

void read(RowNorm& to, const JsonValue& value, const std::string& place) {
  constexpr Words<RowNorm, 4> words{{{"layer", {NormKind::layer}},
                                     {"layer_bare", {NormKind::layer, false, true}},
                                     {"rms", {NormKind::rms}},
                                     {"rms_plus_one", {NormKind::rms, true}}}};
  to = meaning_of(value, place, words);
}

void read(ModelPositions& to, const JsonValue& value, const std::string& place) {
  constexpr Words<ModelPositions, 7> words{
      {{"none", ModelPositions::none},
       {"learned", ModelPositions::learned},
       {"sinusoidal", ModelPositions::sinusoidal},
       {"sinusoidal_closed", ModelPositions::sinusoidal_closed},
       {"rotary", ModelPositions::rotary},
       {"alibi", ModelPositions::alibi},
       {"buckets", ModelPositions::buckets}}};
  to = meaning_of(value, place, words);
}

void read(FusedLayout& to, const JsonValue& value, const std::string& place) {
  constexpr Words<FusedLayout, 4> words{{{"side_by_side", FusedLayout::side_by_side},
                                         {"four_parts", FusedLayout::four_parts},
                                         {"each_head", FusedLayout::each_head},
                                         {"each_group", FusedLayout::each_group}}};
  to = meaning_of(value, place, words);
}

void read(RowOffset& to, const JsonValue& value, const std::string& place) {
  constexpr Words<bool, 1> words{{{"pad_plus_one", true}}};
  if (is_count(value)) {
    read(to.count, value, place);
  } else if (value.is(JsonValue::Type::string)) {
    to.behind_padding = meaning_of(value, place, words);
  } else {
    refuse(value, to_translate("a whole number of at least 0 or a rule"), place);
  }
}

// ---- Objects by the tables of their members -----------------------------------------------------

template <class Part>
struct RowField {
  std::string_view key;
  void (*read)(Part& part, const JsonValue& value, const std::string& place);
  /// Reads the member "KEY_keys".
  void (*read_keys)(Part& part, const JsonValue& value, const std::string& place) = nullptr;
};

template <class Part, std::size_t count>
void read_members(Part& to, const std::array<RowField<Part>, count>& fields, const JsonValue& value,
                  const std::string& place) {
  for (const JsonMember& own : expect_object(value, place, help()).members()) {
    const std::string at = pointer_to(place, own.key);
    std::vector<std::string> known;
    bool found = false;
    for (const RowField<Part>& field : fields) {
      known.emplace_back(field.key);
      const bool names_it = own.key == field.key;
      if (names_it && !is_null(own.value)) field.read(to, own.value, at);
      found = found || names_it;
      if (field.read_keys == nullptr) continue;
      const bool names_keys = own.key == known.emplace_back(known.back() + "_keys");
      if (names_keys && !is_null(own.value)) field.read_keys(to, own.value, at);
      found = found || names_keys;
    }
    if (!found) refuse_member(own.key, {known.begin(), known.end()}, at);
  }
}

template <class T>
void read(std::optional<T>& to, const JsonValue& value, const std::string& place) {
  read(to.emplace(), value, place);
}

template <class Part, class T>
Part part_of_member(T Part::*);
template <auto member>
using PartOf = decltype(part_of_member(member));

// A member that a field is read to: as it is, as what the row itself gives, and as the keys of the
// configuration.
template <auto member>
void put(PartOf<member>& part, const JsonValue& value, const std::string& place) {
  read(part.*member, value, place);
}
// A member that is an object with fields of its own.
template <auto member, const auto& fields>
void put_part(PartOf<member>& part, const JsonValue& value, const std::string& place) {
  if constexpr (requires { (part.*member).emplace(); }) {
    read_members((part.*member).emplace(), fields, value, place);
  } else {
    read_members(part.*member, fields, value, place);
  }
}
template <auto member>
void own(PartOf<member>& part, const JsonValue& value, const std::string& place) {
  read((part.*member).own, value, place);
}
// A value that the row itself gives, where it must be more than 0.
template <auto member>
void own_positive(PartOf<member>& part, const JsonValue& value, const std::string& place) {
  own<member>(part, value, place);
  const double number = *(part.*member).own;
  if (number > 0 && std::isfinite(number)) return;
  throw input_error(translated("{1} is {2}, which is not a positive number",
                               in_quotes(place.substr(place.rfind('/') + 1)), number_text(number)),
                    place, help());
}
template <auto member>
void keys(PartOf<member>& part, const JsonValue& value, const std::string& place) {
  read((part.*member).keys, value, place);
}

constexpr auto stack_fields = std::to_array<RowField<RowStack>>({{"prefix", put<&RowStack::prefix>},
                                                                 {"part", put<&RowStack::part>},
                                                                 {"names", put<&RowStack::names>}});

constexpr auto rotary_fields = std::to_array<RowField<RowRotary>>(
    {{"theta", own_positive<&RowRotary::theta>, keys<&RowRotary::theta>},
     {"window_theta", own_positive<&RowRotary::window_theta>, keys<&RowRotary::window_theta>},
     {"share", own<&RowRotary::share>, keys<&RowRotary::share>},
     {"width", own<&RowRotary::width>, keys<&RowRotary::width>},
     {"interleaved", own<&RowRotary::interleaved>, keys<&RowRotary::interleaved>},
     {"off_every", own<&RowRotary::off_every>, keys<&RowRotary::off_every>},
     {"off_where_zero_keys", put<&RowRotary::off_where_zero_keys>},
     {"off_in_full_layers", put<&RowRotary::off_in_full_layers>},
     {"off_beside_windows", put<&RowRotary::off_beside_windows>},
     {"scaling_of_full_layers_alone", put<&RowRotary::scaling_of_full_layers_alone>}});

constexpr auto window_fields = std::to_array<RowField<RowWindow>>(
    {{"keys", put<&RowWindow::keys>},
     {"size", put<&RowWindow::size>},
     {"each_side_half", put<&RowWindow::each_side_half>},
     {"own_counted", put<&RowWindow::own_counted>},
     {"both_sides", own<&RowWindow::both_sides>, keys<&RowWindow::both_sides>},
     {"switch", own<&RowWindow::active>, keys<&RowWindow::active>},
     {"types_keys", put<&RowWindow::types_keys>},
     {"from", own<&RowWindow::from>, keys<&RowWindow::from>},
     {"until", own<&RowWindow::until>, keys<&RowWindow::until>},
     {"alternating_from", put<&RowWindow::alternating_from>},
     {"full_every", own<&RowWindow::full_every>, keys<&RowWindow::full_every>},
     {"full_first", put<&RowWindow::full_first>},
     {"where_not_turned", put<&RowWindow::where_not_turned>}});

constexpr auto bucket_fields = std::to_array<RowField<RowBuckets>>(
    {{"count", own<&RowBuckets::count>, keys<&RowBuckets::count>},
     {"distance", own<&RowBuckets::distance>, keys<&RowBuckets::distance>},
     {"bidirectional", put<&RowBuckets::bidirectional>},
     {"shared", put<&RowBuckets::shared>}});

constexpr auto disentangled_fields = std::to_array<RowField<RowDisentangled>>(
    {{"switch", own<&RowDisentangled::active>, keys<&RowDisentangled::active>},
     {"shared", own<&RowDisentangled::shared>, keys<&RowDisentangled::shared>},
     {"terms_keys", put<&RowDisentangled::terms_keys>},
     {"buckets_keys", put<&RowDisentangled::buckets_keys>},
     {"distance_keys", put<&RowDisentangled::distance_keys>},
     {"norm_keys", put<&RowDisentangled::norm_keys>}});

constexpr auto expert_fields = std::to_array<RowField<RowExperts>>(
    {{"count", own<&RowExperts::count>, keys<&RowExperts::count>},
     {"chosen", own<&RowExperts::chosen>, keys<&RowExperts::chosen>},
     {"limit", own<&RowExperts::limit>, keys<&RowExperts::limit>},
     {"normalised", own<&RowExperts::normalised>, keys<&RowExperts::normalised>},
     {"jitter", own<&RowExperts::jitter>, keys<&RowExperts::jitter>},
     {"every", own<&RowExperts::every>, keys<&RowExperts::every>},
     {"dense_keys", put<&RowExperts::dense_keys>}});

constexpr auto linear_fields = std::to_array<RowField<RowLinear>>(
    {{"key_heads", own<&RowLinear::key_heads>, keys<&RowLinear::key_heads>},
     {"value_heads", own<&RowLinear::value_heads>, keys<&RowLinear::value_heads>},
     {"key_width", own<&RowLinear::key_width>, keys<&RowLinear::key_width>},
     {"value_width", own<&RowLinear::value_width>, keys<&RowLinear::value_width>},
     {"kernel", own<&RowLinear::kernel>, keys<&RowLinear::kernel>},
     {"full_every", own<&RowLinear::full_every>, keys<&RowLinear::full_every>}});

constexpr auto vision_fields = std::to_array<RowField<RowVision>>(
    {{"processor", put<&RowVision::processor>},
     {"text", put<&RowVision::text>},
     {"projection", put<&RowVision::projection>},
     {"text_projection", put<&RowVision::text_projection>},
     {"registers", own<&RowVision::registers>, keys<&RowVision::registers>},
     {"antialiased", put<&RowVision::antialiased>},
     {"last_token", put<&RowVision::last_token>}});

constexpr auto head_fields = std::to_array<RowField<RowHead>>(
    {{"dense", put<&RowHead::dense>},
     {"norm", put<&RowHead::norm>},
     {"weight", put<&RowHead::weight>},
     {"bias", put<&RowHead::bias>},
     {"activation", own<&RowHead::activation>, keys<&RowHead::activation>}});

void read_cases(FamilyRow& row, const JsonValue& value, const std::string& place);

// A member that row_of() has dealt with, or will.
template <class T>
void check(FamilyRow&, const JsonValue& value, const std::string& place) {
  T ignored;
  read(ignored, value, place);
}

void read_own_names(FamilyRow& row, const JsonValue& value, const std::string& place) {
  read(row.stack.names, value, place);
}

void read_stored(FamilyRow& row, const JsonValue& value, const std::string& place) {
  constexpr Words<bool, 1> words{{{"input_by_output", true}}};
  row.stored_transposed = meaning_of(value, place, words);
}

void read_embedding_scale(FamilyRow& row, const JsonValue& value, const std::string& place) {
  constexpr Words<bool, 1> words{{{"root_of_width", true}}};
  row.embedding_scaled = meaning_of(value, place, words);
}

constexpr auto row_fields = std::to_array<RowField<FamilyRow>>(
    {{"like", check<std::string>},
     {"prefixes", put<&FamilyRow::prefixes>},
     {"names", read_own_names},
     {"encoder", put_part<&FamilyRow::encoder, stack_fields>},
     {"decoder", put_part<&FamilyRow::decoder, stack_fields>},
     {"head", put_part<&FamilyRow::head, head_fields>},
     {"optional", put<&FamilyRow::optional>},
     {"biases", put<&FamilyRow::biases>},
     {"defaults", put<&FamilyRow::defaults>},
     {"only", put<&FamilyRow::only>},
     {"part_sizes", check<JsonValue>},
     {"parts", put<&FamilyRow::parts>},
     {"cases", read_cases},
     {"causal", put<&FamilyRow::causal>},
     {"kv_heads", own<&FamilyRow::kv_heads>, keys<&FamilyRow::kv_heads>},
     {"norm", put<&FamilyRow::norm>},
     {"norm_first_keys", put<&FamilyRow::norm_first_keys>},
     {"eps", own_positive<&FamilyRow::eps>, keys<&FamilyRow::eps>},
     {"whole_width_norms", put<&FamilyRow::whole_width_norms>},
     {"norms_by_head", put<&FamilyRow::norms_by_head>},
     {"norms_after_rotary", put<&FamilyRow::norms_after_rotary>},
     {"clip", own_positive<&FamilyRow::clip>, keys<&FamilyRow::clip>},
     {"activation", own<&FamilyRow::activation>, keys<&FamilyRow::activation>},
     {"feed_forward_keys", put<&FamilyRow::feed_forward_keys>},
     {"experts", put_part<&FamilyRow::experts, expert_fields>},
     {"linear", put_part<&FamilyRow::linear, linear_fields>},
     {"gated_queries", put<&FamilyRow::gated_queries>},
     {"positions", put<&FamilyRow::positions>},
     {"position_offset", put<&FamilyRow::position_offset>},
     {"alibi_scaled", put<&FamilyRow::alibi_scaled>},
     {"alibi_odd_first", put<&FamilyRow::alibi_odd_first>},
     {"rotary", put_part<&FamilyRow::rotary, rotary_fields>},
     {"window", put_part<&FamilyRow::window, window_fields>},
     {"buckets", put_part<&FamilyRow::buckets, bucket_fields>},
     {"disentangled", put_part<&FamilyRow::disentangled, disentangled_fields>},
     {"vision", put_part<&FamilyRow::vision, vision_fields>},
     {"parallel", own<&FamilyRow::parallel>, keys<&FamilyRow::parallel>},
     {"residual_after_norm", own<&FamilyRow::residual_after_norm>,
      keys<&FamilyRow::residual_after_norm>},
     {"stored", read_stored},
     {"rows_in_pairs", put<&FamilyRow::rows_in_pairs>},
     {"fused", put<&FamilyRow::fused>},
     {"scale", put<&FamilyRow::scale>},
     {"score_multiplier", own_positive<&FamilyRow::score_multiplier>,
      keys<&FamilyRow::score_multiplier>},
     {"scale_of", own_positive<&FamilyRow::scale_of>},
     {"scale_keys", keys<&FamilyRow::scale_of>},
     {"softcap", own_positive<&FamilyRow::softcap>, keys<&FamilyRow::softcap>},
     {"logit_softcap", own_positive<&FamilyRow::logit_softcap>, keys<&FamilyRow::logit_softcap>},
     {"embedding_multiplier", own_positive<&FamilyRow::embedding_multiplier>,
      keys<&FamilyRow::embedding_multiplier>},
     {"branch_multiplier", own_positive<&FamilyRow::branch_multiplier>,
      keys<&FamilyRow::branch_multiplier>},
     {"logit_multiplier", own_positive<&FamilyRow::logit_multiplier>,
      keys<&FamilyRow::logit_multiplier>},
     {"logit_divisor", own_positive<&FamilyRow::logit_divisor>, keys<&FamilyRow::logit_divisor>},
     {"tied", put<&FamilyRow::tied>},
     {"logits_by_root_of_width", own<&FamilyRow::logits_by_root_of_width>,
      keys<&FamilyRow::logits_by_root_of_width>},
     {"embedding_scale", read_embedding_scale},
     {"embedding_scale_keys", put<&FamilyRow::embedding_scale_keys>},
     {"hides_tokens", own<&FamilyRow::hides_tokens>, keys<&FamilyRow::hides_tokens>}});

// A part of a row that holds for configurations whose member `key` is `is`. row_of() merges it into
// the row; here it is only checked.
struct RowCase {
  bool key = false, is = false, row = false;  // whether each is there
};

void read_case_key(RowCase& to, const JsonValue& value, const std::string& place) {
  expect_string(value, place, help());
  to.key = true;
}

void read_case_value(RowCase& to, const JsonValue& value, const std::string& place) {
  if (!value.is(JsonValue::Type::boolean) && !value.is(JsonValue::Type::number) &&
      !value.is(JsonValue::Type::string)) {
    refuse(value, to_translate("true, false, a number or a string"), place);
  }
  to.is = true;
}

void read_case_row(RowCase& to, const JsonValue& value, const std::string& place) {
  FamilyRow ignored;
  read_members(ignored, row_fields, value, place);
  to.row = true;
}

constexpr auto case_fields = std::to_array<RowField<RowCase>>(
    {{"key", read_case_key}, {"is", read_case_value}, {"row", read_case_row}});

void read_cases(FamilyRow&, const JsonValue& value, const std::string& place) {
  if (!value.is(JsonValue::Type::array)) refuse(value, to_translate("a list of cases"), place);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(place, i);
    RowCase there;
    read_members(there, case_fields, value.element(i), at);
    for (const auto& [name, found] :
         {std::pair("key", there.key), std::pair("is", there.is), std::pair("row", there.row)}) {
      if (!found) throw input_error(translated("the case has no \"{1}\"", name), at, help());
    }
  }
}

}  // namespace

FamilyRow read_row(const JsonValue& row) {
  if (!row.is(JsonValue::Type::object)) {
    throw input_error(translated("the row is {1}, not an object", translated(type_text(row))), "",
                      translated("model_row() gives one"));
  }
  FamilyRow read;
  read_members(read, row_fields, row, "");
  return read;
}

}  // namespace attn
