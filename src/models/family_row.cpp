#include "models/family_row.hpp"

#include <array>
#include <utility>

#include "attn/error.hpp"

#include "models/row_members.hpp"

namespace attn {
namespace row_reading {
namespace {

constexpr auto stack_fields = std::to_array<RowField<RowStack>>({{"prefix", put<&RowStack::prefix>},
                                                                 {"part", put<&RowStack::part>},
                                                                 {"names", put<&RowStack::names>}});

// A key that is there and null means that of the other layers.
void read_window_theta(RowRotary& to, const Given& from) {
  to.window_theta_is_null = is_null(from.value);
  if (!to.window_theta_is_null) above_zero(to.window_theta, from);
}

constexpr auto rotary_fields = std::to_array<RowField<RowRotary>>(
    {{"theta", put_positive<&RowRotary::theta>, Keys::listed},
     {"window_theta", read_window_theta, Keys::listed_or_null},
     {"share", put<&RowRotary::share>, Keys::listed},
     {"width", put<&RowRotary::width>, Keys::listed},
     {"interleaved", put<&RowRotary::interleaved>, Keys::listed},
     {"off_every", put<&RowRotary::off_every>, Keys::listed},
     {"off_where_zero", put<&RowRotary::turned>, Keys::alone},
     {"theta_of_layers", put<&RowRotary::thetas>, Keys::alone},
     {"in_dense_layers", put<&RowRotary::in_dense_layers>},
     {"off_in_full_layers", put<&RowRotary::off_in_full_layers>},
     {"off_beside_windows", put<&RowRotary::off_beside_windows>},
     {"scaling_of_full_layers_alone", put<&RowRotary::scaling_of_full_layers_alone>}});

// A number for all layers, or a list of the same for each.
void read_same(std::size_t& to, const Given& from) {
  if (!from.is(JsonValue::Type::array) || from.value.size() == 0) return read(to, from);
  for (std::size_t i = 0; i < from.value.size(); ++i) {
    if (same_value(from.value.element(i), from.value.element(0))) continue;
    from.element(i).refuse(to_translate("the number of the layers before"));
  }
  read(to, from.element(0));
}

void read_window_size(RowWindow& to, const Given& from) {
  to.size.reset();
  if (is_null(from.value)) return;
  if (from.is(JsonValue::Type::array)) {
    read_same(to.size.emplace(), from);
  } else {
    if (!is_count(from.value)) from.refuse(to_translate("a whole number of at least 0"));
    read(to.size, from);
  }
  to.size_place = from.place;
}

// EXAONE 4 has letters there, beside a list of types that makes them needless.
void read_full_every(RowWindow& to, const Given& from) {
  if (from.by_row || from.is(JsonValue::Type::number)) return read(to.full_every, from);
  to.full_every.reset();
  to.full_every_error = from.refusal(to_translate("a number"));
}

constexpr auto window_fields =
    std::to_array<RowField<RowWindow>>({{"size", put<&RowWindow::size>},
                                        {"", read_window_size, Keys::listed_or_null},
                                        {"each_side_half", put<&RowWindow::each_side_half>},
                                        {"own_counted", put<&RowWindow::own_counted>},
                                        {"both_sides", put<&RowWindow::both_sides>, Keys::listed},
                                        {"switch", put<&RowWindow::active>, Keys::listed},
                                        {"types_keys", put<&RowWindow::types_keys>},
                                        {"from", put<&RowWindow::from>, Keys::listed},
                                        {"until", put<&RowWindow::until>, Keys::listed},
                                        {"alternating_from", put<&RowWindow::alternating_from>},
                                        {"full_every", read_full_every, Keys::listed},
                                        {"full_first", put<&RowWindow::full_first>},
                                        {"where_not_turned", put<&RowWindow::where_not_turned>},
                                        {"where_turned", put<&RowWindow::where_turned>},
                                        {"chunked", put<&RowWindow::chunked>}});

constexpr auto mixed_fields =
    std::to_array<RowField<RowMixed>>({{"full_every", put<&RowMixed::full_every>, Keys::listed},
                                       {"full_offset", put<&RowMixed::full_offset>, Keys::listed},
                                       {"full", put<&RowMixed::full>, Keys::alone},
                                       {"beside", put<&RowMixed::beside>},
                                       {"alone", put<&RowMixed::alone>},
                                       {"types_keys", put<&RowMixed::types_keys>},
                                       {"pattern_keys", put<&RowMixed::pattern_keys>}});

constexpr auto growth_fields =
    std::to_array<RowField<RowGrowth>>({{"scale", put<&RowGrowth::scale>, Keys::listed},
                                        {"length", put_positive<&RowGrowth::length>, Keys::listed},
                                        {"shift", put<&RowGrowth::shift>},
                                        {"switch", put<&RowGrowth::active>, Keys::listed},
                                        {"where_not_turned", put<&RowGrowth::where_not_turned>}});

constexpr auto full_layer_fields = std::to_array<RowField<RowFullLayers>>(
    {{"head_width", put<&RowFullLayers::head_width>, Keys::listed},
     {"kv_heads", put<&RowFullLayers::kv_heads>, Keys::listed},
     {"keys_are_values", put<&RowFullLayers::keys_are_values>, Keys::listed}});

constexpr auto group_fields =
    std::to_array<RowField<RowGroups>>({{"count", put_size<&RowGroups::count>, Keys::listed},
                                        {"inner", put_size<&RowGroups::inner>, Keys::listed}});

constexpr auto stage_fields =
    std::to_array<RowField<RowStages>>({{"depths", put<&RowStages::depths>, Keys::listed},
                                        {"heads", put<&RowStages::heads>, Keys::listed},
                                        {"width", put_size<&RowStages::width>, Keys::listed},
                                        {"window", put_size<&RowStages::window>, Keys::listed},
                                        {"trained", put<&RowStages::trained>, Keys::listed},
                                        {"fitted", put<&RowStages::fitted>}});

void read_convolution_activation(ModelInputConvolution& to, const Given& from) {
  to.activation.reset();
  if (from.word() != "tanh") read(to.activation, from);
}

constexpr auto input_convolution_fields = std::to_array<RowField<ModelInputConvolution>>(
    {{"kernel", put<&ModelInputConvolution::kernel>, Keys::listed},
     {"groups", put_size<&ModelInputConvolution::groups>, Keys::listed},
     {"activation", read_convolution_activation, Keys::listed}});

constexpr auto stream_fields =
    std::to_array<RowField<ModelStreams>>({{"count", put<&ModelStreams::count>, Keys::listed},
                                           {"active", put<&ModelStreams::active>, Keys::listed},
                                           {"scaled", put<&ModelStreams::scaled>, Keys::listed}});

constexpr auto bucket_fields = std::to_array<RowField<ModelBuckets>>(
    {{"count", put<&ModelBuckets::count>, Keys::listed},
     {"distance", put<&ModelBuckets::max_distance>, Keys::listed}});

constexpr auto disentangled_fields = std::to_array<RowField<RowDisentangled>>(
    {{"switch", put<&RowDisentangled::active>, Keys::listed},
     {"shared", put<&RowDisentangled::shared>, Keys::listed},
     {"terms_keys", put<&RowDisentangled::terms_keys>},
     {"buckets_keys", put<&RowDisentangled::buckets_keys>},
     {"distance_keys", put<&RowDisentangled::distance_keys>},
     {"norm_keys", put<&RowDisentangled::norm_keys>},
     {"sinusoidal", put<&RowDisentangled::sinusoidal>},
     {"clamp", put<&RowDisentangled::clamp>, Keys::listed}});

// Whether the shares of the experts that are chosen sum to 1.
void read_normalised(RowExperts& to, const Given& from) {
  bool normalised = true;
  read(normalised, from);
  if (to.shares == ShareRule::of_near) return;
  const bool sigmoids =
      to.shares == ShareRule::sigmoid || to.shares == ShareRule::sigmoid_of_chosen;
  to.shares = sigmoids ? (normalised ? ShareRule::sigmoid_of_chosen : ShareRule::sigmoid)
                       : (normalised ? ShareRule::of_chosen : ShareRule::of_all);
}

// Whether shares are sigmoids of the scores.
void read_sigmoid(RowExperts& to, const Given& from) {
  bool sigmoids = false;
  read(sigmoids, from);
  if (sigmoids) to.shares = ShareRule::sigmoid_of_chosen;
}

// -1 is the last of all layers.
void read_last(RowExperts& to, const Given& from) {
  double last = -1;
  read(last, from);
  to.last.reset();
  if (last >= 0) to.last = static_cast<std::size_t>(last);
}

// "sparse" or "dense" for each layer.
void read_expert_types(RowExperts& to, const Given& from) {
  std::vector<std::string> types;
  read(types, from);
  to.dense.clear();
  to.every = 1;
  to.first = 0;
  to.last.reset();
  for (std::size_t n = 0; n < types.size(); ++n) {
    if (types[n] == "dense") {
      to.dense.push_back(static_cast<double>(n));
    } else if (types[n] != "sparse") {
      from.element(n).refuse(to_translate("\"dense\" or \"sparse\""));
    }
  }
}

// Half of what nearness is.
void read_jitter(RowExperts& to, const Given& from) {
  to.shares = ShareRule::of_near;
  read(to.nearness, from);
  to.nearness *= 2;
}

constexpr auto expert_fields = std::to_array<RowField<RowExperts>>(
    {{"sigmoid", read_sigmoid},
     {"count", put<&RowExperts::count>, Keys::listed},
     {"chosen", [](RowExperts& to, const Given& from) { read_same(to.chosen, from); },
      Keys::listed},
     {"limit", put<&RowExperts::limit>, Keys::listed},
     {"normalised", read_normalised, Keys::listed},
     {"jitter", read_jitter, Keys::listed},
     {"scale", put_positive<&RowExperts::scale>, Keys::listed},
     {"sum_plus", put<&RowExperts::sum_plus>},
     {"corrects_scores", put<&RowExperts::corrects_scores>},
     {"halved", put<&RowExperts::halved>},
     {"groups", put<&RowExperts::groups>, Keys::listed},
     {"best_groups", put<&RowExperts::best_groups>, Keys::listed},
     {"groups_by_best", put<&RowExperts::groups_by_best>},
     {"shares_of_inputs", put<&RowExperts::shares_of_inputs>},
     {"every", put<&RowExperts::every>, Keys::listed},
     {"offset", put<&RowExperts::offset>, Keys::listed},
     {"at", put<&RowExperts::at>, Keys::alone},
     {"first", put<&RowExperts::first>, Keys::listed},
     {"last", read_last, Keys::listed},
     {"dense", put<&RowExperts::dense>, Keys::alone},
     {"types", read_expert_types, Keys::alone}});

// null means that queries are made of the states.
void read_query_rank(ModelLatent& to, const Given& from) {
  to.query_rank = 0;
  if (!is_null(from.value)) read(to.query_rank, from);
}

constexpr auto latent_fields =
    std::to_array<RowField<ModelLatent>>({{"query_rank", read_query_rank, Keys::listed_or_null},
                                          {"rank", put_size<&ModelLatent::rank>, Keys::listed},
                                          {"shared", put_size<&ModelLatent::shared>, Keys::listed},
                                          {"own", put_size<&ModelLatent::own>, Keys::listed},
                                          {"value", put_size<&ModelLatent::value>, Keys::listed}});

constexpr auto linear_fields = std::to_array<RowField<DeltaSizes>>(
    {{"key_heads", put_size<&DeltaSizes::key_heads>, Keys::listed},
     {"value_heads", put_size<&DeltaSizes::value_heads>, Keys::listed},
     {"key_width", put_size<&DeltaSizes::key_width>, Keys::listed},
     {"value_width", put_size<&DeltaSizes::value_width>, Keys::listed},
     {"kernel", put_size<&DeltaSizes::kernel>, Keys::listed}});

constexpr auto convolution_fields = std::to_array<RowField<ShortConvolutionSizes>>(
    {{"kernel", put_size<&ShortConvolutionSizes::kernel>, Keys::listed}});

// "auto" means the size that follows from others: the row's own, or none.
constexpr auto unless_auto = [](std::size_t& to, const Given& from) {
  if (!from.is(JsonValue::Type::string) || from.word() != "auto") as_size(to, from);
};
template <auto member>
constexpr MemberReader<unless_auto, member> put_unless_auto{};

// "auto" means a sixteenth of the width of the states.
void read_rank(ModelStateSpace& to, const Given& from) {
  to.rank_by_width = from.is(JsonValue::Type::string) && from.word() == "auto";
  if (!to.rank_by_width) as_size(to.rank, from);
}

// Both limits of steps. transformers writes infinity as an object.
void read_step_limits(ModelStateSpace& to, const Given& from) {
  if (!from.is(JsonValue::Type::array) || from.value.size() != 2) {
    from.refuse(to_translate("a list of numbers"));
  }
  read(to.least_step, from.element(0));
  if (!from.element(1).is(JsonValue::Type::object)) read(to.most_step, from.element(1));
}

constexpr auto state_space_fields = std::to_array<RowField<ModelStateSpace>>(
    {{"heads", put_size<&ModelStateSpace::heads>, Keys::listed},
     {"width", put_unless_auto<&ModelStateSpace::width>, Keys::listed},
     {"states", put_size<&ModelStateSpace::states>, Keys::listed},
     {"groups", put_size<&ModelStateSpace::groups>, Keys::listed},
     {"kernel", put_size<&ModelStateSpace::kernel>, Keys::listed},
     {"rank", read_rank, Keys::listed},
     {"expand", put<&ModelStateSpace::expand>, Keys::listed},
     {"whole", put<&ModelStateSpace::whole>, Keys::listed},
     {"least_step", put<&ModelStateSpace::least_step>, Keys::listed},
     {"step_limits", read_step_limits, Keys::alone},
     {"norm_before_gate", put<&ModelStateSpace::norm_before_gate>, Keys::listed},
     {"factors", put<&ModelStateSpace::factors>, Keys::alone}});

// The sizes of one kind of mixer.
template <class Sizes, const auto& fields>
void read_mixer(Architecture& to, const Given& from) {
  if (!std::holds_alternative<Sizes>(to.mixer)) to.mixer.emplace<Sizes>();
  read_members(std::get<Sizes>(to.mixer), fields, from);
}

constexpr auto vision_fields =
    std::to_array<RowField<RowVision>>({{"processor", put<&RowVision::processor>},
                                        {"text", put<&RowVision::text>},
                                        {"projection", put<&RowVision::projection>},
                                        {"text_projection", put<&RowVision::text_projection>},
                                        {"registers", put<&RowVision::registers>, Keys::listed},
                                        {"antialiased", put<&RowVision::antialiased>},
                                        {"bilinear", put<&RowVision::bilinear>},
                                        {"patches", put_size<&RowVision::patches>, Keys::listed},
                                        {"last_token", put<&RowVision::last_token>}});

constexpr auto sound_fields = std::to_array<RowField<SoundPart>>(
    {{"bands", put_size<&SoundPart::bands>, Keys::listed},
     {"positions", put_size<&SoundPart::positions>, Keys::listed}});

constexpr auto head_fields =
    std::to_array<RowField<ModelHead>>({{"dense", put<&ModelHead::dense>},
                                        {"norm", put<&ModelHead::norm>},
                                        {"weight", put<&ModelHead::weight>},
                                        {"bias", put<&ModelHead::bias>},
                                        {"activation", put<&ModelHead::activation>, Keys::listed}});

void read_norm(Architecture& to, const Given& from) {
  constexpr Words<NormKind, 6> kinds{{{"layer", NormKind::layer},
                                      {"layer_bare", NormKind::layer},
                                      {"layer_plus_one", NormKind::layer},
                                      {"rms", NormKind::rms},
                                      {"rms_bare", NormKind::rms},
                                      {"rms_plus_one", NormKind::rms}}};
  to.norm = meaning_of(from, kinds);
  to.norms_bare = from.word().ends_with("_bare");
  to.norm_weights_from_one = from.word().ends_with("_plus_one");
}

// Configurations may have an ε of 0.
void read_eps(Architecture& to, const Given& from) {
  read(to.eps, from);
  if (from.by_row || to.eps != 0) above_zero(to.eps, from);
}

// "gated-gelu" has always meant the approximation.
void read_feed_forward(Architecture& to, const Given& from) {
  std::string name = from.word();
  constexpr std::string_view gated = "gated-";
  const bool has_gate = name.starts_with(gated);
  if (has_gate) name.erase(0, gated.size());
  to.activation = activation_of(has_gate && name == "gelu" ? "gelu_new" : name, from.place);
}

template <bool Architecture::*transposed>
void read_stored(Architecture& to, const Given& from) {
  constexpr Words<bool, 1> words{{{"input_by_output", true}}};
  to.*transposed = meaning_of(from, words);
}

// Purposes by the keys that say whether they have biases.
void read_biases(Architecture& to, const Given& from) {
  to.biases.emplace();
  for (const JsonMember& key : from.members()) {
    if (is_null(key.value)) continue;
    const bool always = key.key == "always";
    const ModelBias bias{always ? "" : key.key,
                         always ? std::optional(true) : from.config.boolean(key.key)};
    std::vector<WeightPurpose> purposes;
    read(purposes, from.member(key));
    for (const WeightPurpose purpose : purposes) to.biases->insert_or_assign(purpose, bias);
  }
}

// The purposes that a row names, and the number that the configuration gives for each: a key, or
// one with the place in its list, "mlp_multipliers/0".
template <double ModelFactor::*factor>
void read_factors(Architecture& to, const Given& from) {
  TensorNames keys;
  read(keys, from);
  for (const auto& [purpose, names] : keys) {
    const std::string& name = names.front();
    const std::size_t slash = name.find('/');
    const std::string key = name.substr(0, slash);
    const JsonValue* value = from.config.find(key);
    if (value == nullptr) continue;
    double number = 1;
    const Given all{*value, pointer_to("", key), from.config, false};
    if (slash == name.npos) {
      read(number, all);
    } else {
      std::vector<double> numbers;
      read(numbers, all);
      const std::size_t at = std::stoul(name.substr(slash + 1));
      if (at < numbers.size()) number = numbers[at];
    }
    to.factors[purpose].*factor *= number;
  }
}

constexpr auto architecture_fields = std::to_array<RowField<Architecture>>(
    {{"prefixes", put<&Architecture::prefixes>},
     {"head", put_part<&Architecture::head, head_fields>},
     {"optional", put<&Architecture::optional>},
     {"sound", put_part<&Architecture::sound, sound_fields>},
     {"biases", read_biases},
     {"norm", read_norm},
     {"eps", read_eps, Keys::listed},
     {"whole_width_norms", put<&Architecture::whole_width_norms>},
     {"norms_by_head", put<&Architecture::norms_by_head>},
     {"norms_after_rotary", put<&Architecture::norms_after_rotary>},
     {"value_norms_bare", put<&Architecture::value_norms_bare>},
     {"layer_input", put<&Architecture::layer_input>, Keys::listed},
     {"streams", put_part<&Architecture::streams, stream_fields>},
     {"gate_sparsity", put<&Architecture::gate_sparsity>, Keys::listed},
     {"head_norms_bare", put<&Architecture::head_norms_bare>, Keys::listed},
     {"clip", put_positive<&Architecture::clip>, Keys::listed},
     {"activation", put<&Architecture::activation>, Keys::listed},
     {"feed_forward", read_feed_forward, Keys::alone},
     {"linear", read_mixer<DeltaSizes, linear_fields>},
     {"convolution", read_mixer<ShortConvolutionSizes, convolution_fields>},
     {"state_space", read_mixer<ModelStateSpace, state_space_fields>},
     {"mixer_activation", put<&Architecture::mixer_activation>, Keys::listed},
     {"factors", read_factors<&ModelFactor::output>},
     {"input_factors", read_factors<&ModelFactor::input>},
     {"gated_queries", put<&Architecture::gated_queries>},
     {"positions", put<&Architecture::positions>},
     {"alibi_scaled", put<&Architecture::alibi_scaled>},
     {"alibi_odd_first", put<&Architecture::alibi_odd_first>},
     {"parallel", put<&Architecture::parallel>, Keys::listed},
     {"residual_after_norm", put<&Architecture::residual_after_norm>, Keys::listed},
     {"projects_terms", put<&Architecture::projects_terms>},
     {"stored", read_stored<&Architecture::stored_transposed>},
     {"experts_stored", read_stored<&Architecture::experts_transposed>},
     {"heads_apart", put<&Architecture::heads_apart>},
     {"turned_back", put<&Architecture::turned_back>},
     {"rows_in_pairs", put<&Architecture::rows_in_pairs>},
     {"fused", put<&Architecture::fused>},
     {"softcap", put_positive<&Architecture::softcap>, Keys::listed_or_null},
     {"logit_softcap", put_positive<&Architecture::logit_softcap>, Keys::listed_or_null},
     {"embedding_multiplier", put_positive<&Architecture::embedding_scale>, Keys::listed},
     {"branch_multiplier", put_positive<&Architecture::branch_scale>, Keys::listed},
     {"logit_multiplier", put_positive<&Architecture::logit_scale>, Keys::listed},
     {"tied", put<&Architecture::tied>}});

// A member that row_of() has dealt with, or will.
template <class T>
void check(FamilyRow&, const Given& from) {
  T ignored;
  read(ignored, from);
}

void read_cases(FamilyRow& row, const Given& from);

void read_own_names(FamilyRow& row, const Given& from) {
  read(row.stack.names, from);
}

void read_offset(FamilyRow& row, const Given& from) {
  constexpr Words<bool, 1> words{{{"pad_plus_one", true}}};
  if (from.is(JsonValue::Type::string)) {
    row.behind_padding = meaning_of(from, words);
  } else if (is_count(from.value)) {
    read(row.model.first_position, from);
  } else {
    from.refuse(to_translate("a whole number of at least 0 or a rule"));
  }
}

void read_embedding_scale(FamilyRow& row, const Given& from) {
  constexpr Words<bool, 1> words{{{"root_of_width", true}}};
  bool scaled = false;
  if (from.by_row) {
    scaled = meaning_of(from, words);
  } else {
    read(scaled, from);
  }
  row.embedding_scaled = row.embedding_scaled || scaled;
}

void read_buckets(FamilyRow& row, const Given& from) {
  row.buckets = true;
  read_members(row.model.buckets, bucket_fields, from);
}

constexpr auto row_fields = std::to_array<RowField<FamilyRow>>(
    {{"like", check<std::string>},
     {"names", read_own_names},
     {"encoder", put_part<&FamilyRow::encoder, stack_fields>},
     {"decoder", put_part<&FamilyRow::decoder, stack_fields>},
     {"defaults", put<&FamilyRow::defaults>},
     {"only", put<&FamilyRow::only>},
     {"part_sizes", check<JsonValue>},
     {"parts", put<&FamilyRow::parts>},
     {"cases", read_cases},
     {"left_out", put<&FamilyRow::left_out>},
     {"causal", put<&FamilyRow::causal>},
     {"kv_heads", put<&FamilyRow::kv_heads>, Keys::listed},
     {"norm_first", put<&FamilyRow::norms_first>, Keys::alone},
     {"experts", put_part<&FamilyRow::experts, expert_fields>},
     {"latent", put_part<&FamilyRow::latent, latent_fields>},
     {"mixed_layers", put_part<&FamilyRow::mixed, mixed_fields>},
     {"growth", put_part<&FamilyRow::growth, growth_fields>},
     {"full_layers", put_part<&FamilyRow::full_layers, full_layer_fields>},
     {"shared_keys", put<&FamilyRow::shared_keys>, Keys::listed},
     {"layer_groups", put_part<&FamilyRow::groups, group_fields>},
     {"stages", put_part<&FamilyRow::stages, stage_fields>},
     {"input_convolution", put_part<&FamilyRow::input_convolution, input_convolution_fields>},
     {"position_offset", read_offset},
     {"rotary", put_part<&FamilyRow::rotary, rotary_fields>},
     {"window", put_part<&FamilyRow::window, window_fields>},
     {"buckets", read_buckets},
     {"disentangled", put_part<&FamilyRow::disentangled, disentangled_fields>},
     {"vision", put_part<&FamilyRow::vision, vision_fields>},
     {"scale", put<&FamilyRow::scale>},
     {"score_multiplier", put_positive<&FamilyRow::score_multiplier>, Keys::listed},
     {"scale_of", put_positive<&FamilyRow::scale_of>},
     {"scale", put_positive<&FamilyRow::scale_of>, Keys::alone},
     {"logit_divisor", put_positive<&FamilyRow::logit_divisor>, Keys::listed},
     {"logit_width", put_positive<&FamilyRow::logit_width>, Keys::listed_or_null},
     {"branch_depth", put_positive<&FamilyRow::branch_depth>, Keys::listed_or_null},
     {"logits_by_root_of_width", put<&FamilyRow::logits_by_root_of_width>, Keys::listed},
     {"embedding_scale", read_embedding_scale, Keys::listed},
     {"hides_tokens", put<&FamilyRow::hides_tokens>, Keys::listed}});

void read_row_members(FamilyRow& row, const Given& from) {
  read_in_order(from, [&](const std::string& key, const Given& own) {
    std::vector<std::string> known;
    if (read_member(row.model, architecture_fields, key, own, known)) return;
    if (read_member(row, row_fields, key, own, known)) return;
    refuse_member(key, {known.begin(), known.end()}, own.place);
  });
}

// A part of a row that holds for configurations whose member `key` is `is`. row_of() merges it into
// the row; here it is only checked.
struct RowCase {
  bool key = false, is = false, row = false;  // whether each is there
};

void read_case_value(RowCase& to, const Given& from) {
  to.is = same_value(from.value, from.value);
  if (!to.is) from.refuse(to_translate("true, false, a number or a string"));
}

void read_case_row(RowCase& to, const Given& from) {
  FamilyRow ignored;
  const JsonValue nothing;
  read_row_members(ignored, {from.value, from.place, ConfigurationReader(nothing, ignored)});
  to.row = true;
}

constexpr auto case_fields = std::to_array<RowField<RowCase>>(
    {{"key", [](RowCase& to, const Given& from) { to.key = !from.word().empty(); }},
     {"is", read_case_value},
     {"row", read_case_row}});

void read_cases(FamilyRow&, const Given& from) {
  if (!from.is(JsonValue::Type::array)) from.refuse(to_translate("a list of cases"));
  for (std::size_t i = 0; i < from.value.size(); ++i) {
    const Given one = from.element(i);
    RowCase there;
    read_members(there, case_fields, one);
    for (const auto& [name, found] :
         {std::pair("key", there.key), std::pair("is", there.is), std::pair("row", there.row)}) {
      if (found) continue;
      throw input_error(translated("the case has no \"{1}\"", name), one.place, one.help());
    }
  }
}

// The keys of the configuration that an object of a row and those within it list.
void add_keys(const JsonValue& value, std::set<std::string, std::less<>>& keys) {
  if (!value.is(JsonValue::Type::object)) return;
  for (const JsonMember& own : value.members()) {
    add_keys(own.value, keys);
    if (!own.key.ends_with("keys") || is_null(own.value)) continue;
    const std::vector<std::string> listed = strings_of(own.value);
    keys.insert(listed.begin(), listed.end());
  }
}

}  // namespace
}  // namespace row_reading

FamilyRow read_row(const JsonValue& row, const JsonValue& config) {
  if (!row.is(JsonValue::Type::object)) {
    throw input_error(translated("the row is {1}, not an object", translated(type_text(row))), "",
                      translated("model_row() gives one"));
  }
  FamilyRow own;
  const ConfigurationReader reader(config, own);
  // Values of the configuration may stand among the defaults and in the parts.
  for (const char* first : {"defaults", "parts"}) {
    std::vector<std::string> known;
    const JsonValue* member = present_member(row, first);
    if (member == nullptr) continue;
    row_reading::read_member(own, row_reading::row_fields, first,
                             {*member, pointer_to("", first), reader}, known);
  }
  row_reading::read_row_members(own, {row, "", reader});
  row_reading::add_keys(row, own.keys);
  return own;
}

}  // namespace attn
