#include "models/row_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "support/nearest_name.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

enum class Meaning {
  text,
  boolean,
  number,
  count,            // a whole number from 0 on
  count_or_text,    // one, or the name of a rule that finds it
  truth_or_number,  // what a value of the configuration is held against
  names,            // one, or several of which the first that is there counts
  tensors,          // the names of the tensors for each purpose
  part,             // an object with the members of a table
  values,           // an object with any members
  cases             // a list of objects with the members of a table
};

struct Member {
  std::string_view key;
  Meaning meaning;
  std::span<const Member> members{};
};

constexpr std::array<std::string_view, 36> purposes{"tokens",
                                                    "positions",
                                                    "types",
                                                    "embedding_norm",
                                                    "embedding_projection",
                                                    "output_projection",
                                                    "layer",
                                                    "query",
                                                    "key",
                                                    "value",
                                                    "query_key_value",
                                                    "output",
                                                    "query_norm",
                                                    "key_norm",
                                                    "sinks",
                                                    "buckets",
                                                    "before_attention",
                                                    "after_attention",
                                                    "after_attention_sum",
                                                    "cross_query",
                                                    "cross_key",
                                                    "cross_value",
                                                    "cross_output",
                                                    "before_cross",
                                                    "after_cross_sum",
                                                    "before_feed_forward",
                                                    "after_feed_forward",
                                                    "after_feed_forward_sum",
                                                    "final_norm",
                                                    "gate",
                                                    "up",
                                                    "gated_up",
                                                    "gate_up",
                                                    "down",
                                                    "router",
                                                    "experts"};

constexpr std::array<Member, 2> stack{{{"prefix", Meaning::text}, {"names", Meaning::tensors}}};
constexpr std::array<Member, 14> rotary{{{"theta", Meaning::number},
                                         {"theta_keys", Meaning::names},
                                         {"window_theta", Meaning::number},
                                         {"window_theta_keys", Meaning::names},
                                         {"share", Meaning::number},
                                         {"share_keys", Meaning::names},
                                         {"width", Meaning::count},
                                         {"width_keys", Meaning::names},
                                         {"interleaved", Meaning::boolean},
                                         {"interleaved_keys", Meaning::names},
                                         {"off_every", Meaning::count},
                                         {"off_every_keys", Meaning::names},
                                         {"off_where_zero_keys", Meaning::names},
                                         {"scaling_of_full_layers_alone", Meaning::boolean}}};
constexpr std::array<Member, 15> window{{{"keys", Meaning::names},
                                         {"size", Meaning::count},
                                         {"each_side_half", Meaning::boolean},
                                         {"both_sides", Meaning::boolean},
                                         {"both_sides_keys", Meaning::names},
                                         {"switch", Meaning::boolean},
                                         {"switch_keys", Meaning::names},
                                         {"types_keys", Meaning::names},
                                         {"from", Meaning::count},
                                         {"from_keys", Meaning::names},
                                         {"alternating_from", Meaning::count},
                                         {"full_every", Meaning::count},
                                         {"full_every_keys", Meaning::names},
                                         {"full_first", Meaning::boolean},
                                         {"where_not_turned", Meaning::boolean}}};
constexpr std::array<Member, 6> buckets{{{"count", Meaning::count},
                                         {"count_keys", Meaning::names},
                                         {"distance", Meaning::count},
                                         {"distance_keys", Meaning::names},
                                         {"bidirectional", Meaning::boolean},
                                         {"shared", Meaning::boolean}}};
constexpr std::array<Member, 6> experts{{{"count", Meaning::count},
                                         {"count_keys", Meaning::names},
                                         {"chosen", Meaning::count},
                                         {"chosen_keys", Meaning::names},
                                         {"limit", Meaning::number},
                                         {"limit_keys", Meaning::names}}};
constexpr std::array<Member, 6> head{{{"dense", Meaning::text},
                                      {"norm", Meaning::text},
                                      {"weight", Meaning::text},
                                      {"bias", Meaning::names},
                                      {"activation", Meaning::text},
                                      {"activation_keys", Meaning::names}}};

extern const std::array<Member, 3> one_case;
constinit const std::array<Member, 45> row_members{
    {{"like", Meaning::text},
     {"prefixes", Meaning::names},
     {"names", Meaning::tensors},
     {"encoder", Meaning::part, stack},
     {"decoder", Meaning::part, stack},
     {"head", Meaning::part, head},
     {"optional", Meaning::names},
     {"defaults", Meaning::values},
     {"part_sizes", Meaning::values},
     {"cases", Meaning::cases, one_case},
     {"causal", Meaning::boolean},
     {"kv_heads", Meaning::count},
     {"kv_heads_keys", Meaning::names},
     {"norm", Meaning::text},
     {"norm_first_keys", Meaning::names},
     {"eps", Meaning::number},
     {"eps_keys", Meaning::names},
     {"whole_width_norms", Meaning::boolean},
     {"activation", Meaning::text},
     {"activation_keys", Meaning::names},
     {"feed_forward_keys", Meaning::names},
     {"experts", Meaning::part, experts},
     {"positions", Meaning::text},
     {"position_offset", Meaning::count_or_text},
     {"alibi_scaled", Meaning::boolean},
     {"rotary", Meaning::part, rotary},
     {"window", Meaning::part, window},
     {"buckets", Meaning::part, buckets},
     {"parallel", Meaning::boolean},
     {"parallel_keys", Meaning::names},
     {"residual_after_norm", Meaning::boolean},
     {"residual_after_norm_keys", Meaning::names},
     {"stored", Meaning::text},
     {"fused", Meaning::text},
     {"scale", Meaning::number},
     {"scale_of", Meaning::number},
     {"scale_keys", Meaning::names},
     {"softcap", Meaning::number},
     {"softcap_keys", Meaning::names},
     {"logit_softcap", Meaning::number},
     {"logit_softcap_keys", Meaning::names},
     {"tied", Meaning::boolean},
     {"tied_logits_by_root_of_width", Meaning::boolean},
     {"embedding_scale", Meaning::text},
     {"embedding_scale_keys", Meaning::names}}};
constinit const std::array<Member, 3> one_case{{{"key", Meaning::text},
                                                {"is", Meaning::truth_or_number},
                                                {"row", Meaning::part, row_members}}};

[[noreturn]] void refuse(const JsonValue& value, const std::string& wanted,
                         const std::string& where) {
  throw input_error(
      translated("expected {1}, found {2}", translated(wanted), translated(type_text(value))),
      where, translated("model_row() gives a row as it should be"));
}

template <class Names>
[[noreturn]] void refuse_member(const std::string& key, const Names& known,
                                const std::string& where) {
  throw input_error(translated("unknown key \"{1}\"", key), where, suggestion(key, known));
}

bool is_count(const JsonValue& value) {
  return value.is(JsonValue::Type::number) && value.is_integer() && value.integer() >= 0;
}

void check_names(const JsonValue& value, const std::string& where) {
  constexpr std::string_view wanted = to_translate("a name or a list of names");
  if (value.is(JsonValue::Type::string)) return;
  if (!value.is(JsonValue::Type::array)) refuse(value, std::string(wanted), where);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value.element(i).is(JsonValue::Type::string)) {
      refuse(value.element(i), to_translate("a name"), pointer_to(where, i));
    }
  }
}

void check_tensors(const JsonValue& value, const std::string& where) {
  if (!value.is(JsonValue::Type::object)) refuse(value, to_translate("an object"), where);
  for (const JsonMember& tensor : value.members()) {
    const std::string at = pointer_to(where, tensor.key);
    if (std::ranges::count(purposes, tensor.key) == 0) refuse_member(tensor.key, purposes, at);
    if (tensor.value.is(JsonValue::Type::null)) continue;
    check_names(tensor.value, at);
    if (tensor.value.is(JsonValue::Type::array) && tensor.value.size() == 0) {
      throw input_error(translated("there is no name"), at,
                        translated("model_row() gives a row as it should be"));
    }
  }
}

void check_part(const JsonValue& value, std::span<const Member> members, const std::string& where);

void check_cases(const JsonValue& value, std::span<const Member> members,
                 const std::string& where) {
  if (!value.is(JsonValue::Type::array)) refuse(value, to_translate("a list of cases"), where);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonValue& one = value.element(i);
    const std::string at = pointer_to(where, i);
    check_part(one, members, at);
    for (const Member& member : members) {
      const JsonValue* found = one.find(member.key);
      if (found == nullptr || found->is(JsonValue::Type::null)) {
        throw input_error(translated("the case has no \"{1}\"", member.key), at,
                          translated("model_row() gives a row as it should be"));
      }
    }
  }
}

void check_member(const JsonValue& value, const Member& member, const std::string& where) {
  using Type = JsonValue::Type;
  switch (member.meaning) {
    case Meaning::text:
      if (!value.is(Type::string)) refuse(value, to_translate("a string"), where);
      break;
    case Meaning::boolean:
      if (!value.is(Type::boolean)) refuse(value, to_translate("true or false"), where);
      break;
    case Meaning::number:
      if (!value.is(Type::number)) refuse(value, to_translate("a number"), where);
      break;
    case Meaning::count:
      if (!is_count(value)) refuse(value, to_translate("a whole number from 0 on"), where);
      break;
    case Meaning::count_or_text:
      if (!is_count(value) && !value.is(Type::string)) {
        refuse(value, to_translate("a whole number from 0 on or a rule"), where);
      }
      break;
    case Meaning::truth_or_number:
      if (!value.is(Type::boolean) && !value.is(Type::number)) {
        refuse(value, to_translate("true, false or a number"), where);
      }
      break;
    case Meaning::names:
      check_names(value, where);
      break;
    case Meaning::tensors:
      check_tensors(value, where);
      break;
    case Meaning::part:
      check_part(value, member.members, where);
      break;
    case Meaning::values:
      if (!value.is(Type::object)) refuse(value, to_translate("an object"), where);
      break;
    case Meaning::cases:
      check_cases(value, member.members, where);
      break;
  }
}

void check_part(const JsonValue& value, std::span<const Member> members, const std::string& where) {
  if (!value.is(JsonValue::Type::object)) refuse(value, to_translate("an object"), where);
  for (const JsonMember& own : value.members()) {
    const std::string at = pointer_to(where, own.key);
    const auto member = std::ranges::find(members, own.key, &Member::key);
    if (member == members.end()) {
      std::vector<std::string_view> known;
      for (const Member& one : members) known.push_back(one.key);
      refuse_member(own.key, known, at);
    }
    if (!own.value.is(JsonValue::Type::null)) check_member(own.value, *member, at);
  }
}

}  // namespace

void check_row(const JsonValue& row) {
  if (!row.is(JsonValue::Type::object)) {
    throw input_error(translated("the row is {1}, no object", translated(type_text(row))), "",
                      translated("model_row() gives one"));
  }
  check_part(row, row_members, "");
}

}  // namespace attn
