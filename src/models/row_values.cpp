#include <algorithm>

#include "models/row_members.hpp"

namespace attn::row_reading {
namespace {

WeightPurpose purpose_of(const std::string& name, const std::string& place) {
  const auto found = std::ranges::find(weight_purposes, name);
  if (found == weight_purposes.end())
    refuse_member(name, {weight_purposes.begin(), weight_purposes.end()}, place);
  return static_cast<WeightPurpose>(found - weight_purposes.begin());
}

using enum WeightPurpose;

constexpr auto norms = std::to_array<WeightPurpose>(
    {embedding_norm, token_norm, query_norm, key_norm, before_attention, after_attention,
     after_attention_sum, before_cross, after_cross, after_cross_sum, before_feed_forward,
     after_feed_forward, after_feed_forward_sum, final_norm, relative_norm, merging_norm});

// clang-format off
constexpr auto projections = std::to_array<WeightPurpose>({
    embedding_projection, output_projection, query, key, value, query_key_value, output,
    cross_query, cross_key, cross_value, cross_output, gate, up, gated_up, gate_up, down,
    relative_key, relative_query, contacts, global_query, global_key, global_value});
// clang-format on

}  // namespace

[[noreturn]] void refuse_member(const std::string& key, const std::vector<std::string_view>& known,
                                const std::string& place) {
  throw input_error(translated("unknown key \"{1}\"", key), place, suggestion(key, known));
}

void read(bool& to, const Given& from) {
  to = expect_boolean(from.value, from.place, from.help());
}

void read(double& to, const Given& from) {
  to = expect_number(from.value, from.place, from.help());
}

bool is_count(const JsonValue& value) {
  return value.is(JsonValue::Type::number) && value.is_integer() && value.integer() >= 0;
}

void read(std::size_t& to, const Given& from) {
  if (from.by_row && !is_count(from.value)) {
    from.refuse(to_translate("a whole number of at least 0"));
  }
  to = size_of_number(expect_number(from.value, from.place, from.help()));
}

void read(std::string& to, const Given& from) {
  to = from.word();
}

void read(JsonValue& to, const Given& from) {
  to = expect_object(from.value, from.place, from.help());
}

void read(Activation& to, const Given& from) {
  to = activation_of(from.word(), from.place);
}

void read(std::vector<std::string>& to, const Given& from) {
  const bool is_list = from.is(JsonValue::Type::array);
  if (!is_list && !from.is(JsonValue::Type::string)) {
    from.refuse(to_translate("a name or a list of names"));
  }
  for (std::size_t i = 0; is_list && i < from.value.size(); ++i) {
    if (!from.element(i).is(JsonValue::Type::string)) {
      from.element(i).refuse(to_translate("a name"));
    }
  }
  to = strings_of(from.value);
}

void read(std::vector<double>& to, const Given& from) {
  constexpr const char* wanted = to_translate("a list of numbers");
  if (!from.is(JsonValue::Type::array)) from.refuse(wanted);
  to.clear();
  for (std::size_t i = 0; i < from.value.size(); ++i) {
    const JsonValue& number = from.value.element(i);
    if (!number.is(JsonValue::Type::number)) {
      Given{number, from.place, from.config, from.by_row}.refuse(wanted);
    }
    to.push_back(number.number());
  }
}

void read(std::vector<WeightPurpose>& to, const Given& from) {
  std::vector<std::string> names;
  read(names, from);
  for (const std::string& name : names) {
    if (name == "norms") {
      to.insert(to.end(), norms.begin(), norms.end());
    } else if (name == "projections") {
      to.insert(to.end(), projections.begin(), projections.end());
    } else {
      to.push_back(purpose_of(name, from.place));
    }
  }
}

void read(TensorNames& to, const Given& from) {
  for (const JsonMember& tensor : from.members()) {
    const Given own = from.member(tensor);
    const WeightPurpose purpose = purpose_of(tensor.key, own.place);
    if (is_null(tensor.value)) continue;
    std::vector<std::string>& names = to[purpose];
    read(names, own);
    if (names.empty()) throw input_error(translated("there is no name"), own.place, own.help());
  }
}

void read(ModelPositions& to, const Given& from) {
  constexpr Words<ModelPositions, 8> words{
      {{"none", ModelPositions::none},
       {"learned", ModelPositions::learned},
       {"sinusoidal", ModelPositions::sinusoidal},
       {"sinusoidal_closed", ModelPositions::sinusoidal_closed},
       {"rotary", ModelPositions::rotary},
       {"patch_rotary", ModelPositions::patch_rotary},
       {"alibi", ModelPositions::alibi},
       {"buckets", ModelPositions::buckets}}};
  to = meaning_of(from, words);
}

void read(FusedLayout& to, const Given& from) {
  constexpr Words<FusedLayout, 4> words{{{"side_by_side", FusedLayout::side_by_side},
                                         {"four_parts", FusedLayout::four_parts},
                                         {"each_head", FusedLayout::each_head},
                                         {"each_group", FusedLayout::each_group}}};
  to = meaning_of(from, words);
}

}  // namespace attn::row_reading
