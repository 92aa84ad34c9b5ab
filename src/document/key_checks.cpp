#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/keys.hpp"
#include "io/json_value.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// 1. Keys of other libraries, with the document's words for them.

constexpr std::string_view write_causal = to_translate("write \"mask\": {\"causal\": true}");
constexpr std::string_view write_mask = to_translate(
    "write \"mask\": {\"keep\": …} of 1 where a key is seen, [B,Lk] or [B,Lq,Lk], {\"allow\": …} "
    "likewise for the weights' shape, {\"block\": …} of 1 where it is not, or {\"bias\": …} of "
    "numbers that are added to the scores");
constexpr std::string_view write_padding = to_translate(
    "write \"valid_lens\", the number of valid keys of each sample, or \"mask\": {\"padding\": …}");
constexpr std::string_view write_heads = to_translate("write \"heads\"");
constexpr std::string_view write_kv_heads = to_translate("write \"kv_heads\"");
constexpr std::string_view write_feed_forward = to_translate("write \"feed_forward\"");
constexpr std::string_view write_layers = to_translate("write \"layers\"");
constexpr std::string_view write_width =
    to_translate("leave it out: the widths follow from the tensors");
constexpr std::string_view write_softmax =
    to_translate("leave it out: weights are a softmax of the scores");
constexpr std::string_view write_query = to_translate("write \"query\"");
constexpr std::string_view write_key = to_translate("write \"key\"");
constexpr std::string_view write_value = to_translate("write \"value\"");
constexpr std::string_view write_states = to_translate("write \"x\"");
constexpr std::string_view write_kind = to_translate("write \"attention\"");
constexpr std::string_view write_ids = to_translate("write \"token_ids\"");
constexpr std::string_view write_dropout =
    to_translate("write \"dropout\": {\"p\": …, \"training\": true}");
constexpr std::string_view write_window = to_translate("write \"mask\": {\"window\": …}");
constexpr std::string_view write_eps = to_translate("write \"eps\"");
constexpr std::string_view write_scale =
    to_translate("write \"scale\", which multiplies the scores");
constexpr std::string_view write_softcap = to_translate("write \"softcap\"");
constexpr std::string_view write_rotary = to_translate("write \"rotary\": {\"theta\": …}");
constexpr std::string_view write_pre_norm = to_translate("write \"norm\": \"pre\" or \"post\"");
constexpr std::string_view write_memory = to_translate("write \"memory\"");
constexpr std::string_view write_parameters = to_translate("write \"parameters\"");
constexpr std::string_view write_alibi = to_translate("write \"mask\": {\"alibi\": true}");
constexpr std::string_view write_documents = to_translate(
    "write \"mask\": {\"cu_seqlens\": …}, or {\"documents\": …} with a number per token");
constexpr std::string_view write_positions = to_translate("write \"rotary\": {\"positions\": …}");
constexpr std::string_view write_seed = to_translate("write \"seed\"");
constexpr std::string_view write_labels =
    to_translate("write \"labels\": {\"query\": […], \"key\": […]}");
constexpr std::string_view write_batch_first =
    to_translate("leave it out: the first axis of a tensor is the sample");
constexpr std::string_view give_flag = to_translate("leave it out: it is a flag of attn-cli run");
constexpr std::string_view write_weights = to_translate("write \"weights\": true or false");

// Names in PyTorch, Keras, JAX, Hugging Face's configurations, ONNX and flash-attention.
constexpr std::pair<std::string_view, std::string_view> foreign_keys[]{
    {"causal", write_causal},
    {"is_causal", write_causal},
    {"use_causal_mask", write_causal},
    {"causal_mask", write_causal},
    {"masked", write_causal},
    {"alibi", write_alibi},
    {"alibi_slopes", write_alibi},
    {"cu_seqlens", write_documents},
    {"cu_seqlens_q", write_documents},
    {"segment_ids", write_documents},
    {"documents", write_documents},
    {"document_ids", write_documents},
    {"window", write_window},
    {"window_size", write_window},
    {"sliding_window", write_window},
    {"attn_mask", write_mask},
    {"attn_bias", write_mask},
    {"attention_bias", write_mask},
    {"src_mask", write_mask},
    {"tgt_mask", write_mask},
    {"bias", write_mask},
    {"key_padding_mask", write_padding},
    {"src_key_padding_mask", write_padding},
    {"padding_mask", write_padding},
    {"seq_lens", write_padding},
    {"lengths", write_padding},
    {"position_bias", write_mask},
    {"h", write_heads},
    {"num_heads", write_heads},
    {"n_heads", write_heads},
    {"n_head", write_heads},
    {"nhead", write_heads},
    {"nheads", write_heads},
    {"num_attention_heads", write_heads},
    {"q_num_heads", write_heads},
    {"num_kv_heads", write_kv_heads},
    {"n_kv_heads", write_kv_heads},
    {"kv_num_heads", write_kv_heads},
    {"num_key_value_heads", write_kv_heads},
    {"d_ff", write_feed_forward},
    {"ffn_dim", write_feed_forward},
    {"ff_dim", write_feed_forward},
    {"dim_feedforward", write_feed_forward},
    {"intermediate_size", write_feed_forward},
    {"num_layers", write_layers},
    {"n_layers", write_layers},
    {"n_layer", write_layers},
    {"num_hidden_layers", write_layers},
    {"embed_dim", write_width},
    {"d_model", write_width},
    {"dim", write_width},
    {"d_head", write_width},
    {"embed_size", write_width},
    {"embedding_dim", write_width},
    {"softmax", write_softmax},
    {"normalize", write_softmax},
    {"d_k", write_width},
    {"d_v", write_width},
    {"head_dim", write_width},
    {"hidden_size", write_width},
    {"key_dim", write_width},
    {"q", write_query},
    {"Q", write_query},
    {"queries", write_query},
    {"k", write_key},
    {"K", write_key},
    {"keys", write_key},
    {"v", write_value},
    {"V", write_value},
    {"values", write_value},
    {"X", write_states},
    {"input", write_states},
    {"inputs", write_states},
    {"src", write_states},
    {"hidden_states", write_states},
    {"embeddings", write_states},
    {"encoder_hidden_states", write_memory},
    {"encoder_output", write_memory},
    {"encoder_outputs", write_memory},
    {"context", write_memory},
    {"enc", write_memory},
    {"type", write_kind},
    {"kind", write_kind},
    {"attention_type", write_kind},
    {"attn", write_kind},
    {"input_ids", write_ids},
    {"dropout_p", write_dropout},
    {"attn_dropout", write_dropout},
    {"attention_dropout", write_dropout},
    {"layer_norm_eps", write_eps},
    {"norm_eps", write_eps},
    {"rms_norm_eps", write_eps},
    {"softmax_scale", write_scale},
    {"temperature", write_scale},
    {"scaling", write_scale},
    {"scale_factor", write_scale},
    {"sm_scale", write_scale},
    {"logits_soft_cap", write_softcap},
    {"logit_softcapping", write_softcap},
    {"attn_logit_softcapping", write_softcap},
    {"rope", write_rotary},
    {"rope_theta", write_rotary},
    {"rotary_base", write_rotary},
    {"position_ids", write_positions},
    {"positions", write_positions},
    {"norm_first", write_pre_norm},
    {"state_dict", write_parameters},
    {"params", write_parameters},
    {"W_q", write_parameters},
    {"W_k", write_parameters},
    {"W_v", write_parameters},
    {"W_o", write_parameters},
    {"Wq", write_parameters},
    {"Wk", write_parameters},
    {"Wv", write_parameters},
    {"Wo", write_parameters},
    {"in_proj_weight", write_parameters},
    {"random_state", write_seed},
    {"manual_seed", write_seed},
    {"random_seed", write_seed},
    {"words", write_labels},
    {"label", write_labels},
    {"names", write_labels},
    {"batch_first", write_batch_first},
    {"out", give_flag},
    {"output", give_flag},
    {"plots", give_flag},
    {"cmap", give_flag},
    {"format", give_flag},
    {"figsize", give_flag},
    {"dpi", give_flag},
    {"need_weights", write_weights},
    {"output_attentions", write_weights},
    {"return_attention_scores", write_weights},
};

// Keys of objects within a document, with the key of the object.
constexpr std::pair<std::string_view, std::string_view> inner_keys[]{
    {"init", "parameters"},
    {"hidden", "parameters"},
    {"W", "parameters"},
    {"w_v", "parameters"},
    {"W_gate", "parameters"},
    {"align", "mask"},
    {"allow", "mask"},
    {"block", "mask"},
    {"chunk", "mask"},
    {"dilation", "mask"},
    {"fill", "mask"},
    {"global", "mask"},
    {"keep", "mask"},
    {"padding", "mask"},
    {"prefix", "mask"},
    {"where", "mask"},
    {"theta", "rotary"},
    {"buckets", "relative_bias"},
    {"max_distance", "relative_bias"},
    {"bidirectional", "relative_bias"},
    {"dimension", "embedding"},
    {"vocabulary", "embedding"},
};

std::string_view instead_of_foreign_key(std::string_view name) {
  for (const auto& [foreign, instead] : foreign_keys) {
    if (foreign == name) return instead;
  }
  return {};
}

// Documents have too many keys to list them.
std::string help_for_unknown(std::string_view name, std::span<const std::string_view> known) {
  if (const std::string_view instead = instead_of_foreign_key(name); !instead.empty())
    return translated(instead);
  for (const auto& [inner, outer] : inner_keys) {
    if (inner == name)
      return translated("write {1}", in_quotes(outer) + ": {" + in_quotes(inner) + ": …}");
  }
  if (const std::string_view near = nearest_name(name, known); !near.empty())
    return translated("did you mean \"{1}\"?", near);
  return translated("see docs/documents.md, or the keys in attn-cli schema");
}

// 2. Keys without a meaning.

std::string help_for(const DocumentKey& key, Kind kind) {
  const std::string_view name = key.name;
  if (kind == Kind::model) {
    return name == "mask" || name == "valid_lens"
               ? translated(
                     "leave it out: a model has its own mask, and shorter texts are padded "
                     "automatically")
               : translated(
                     "leave it out: a model takes \"text\" or \"token_ids\", and its configuration "
                     "says the rest");
  }
  if (name == "model") {
    return translated(
        "leave it out, or give a text: a model reads texts, and this document has "
        "its own tensors");
  }
  if (key.takes(info(Kind::model)) && !key.takes(info(Kind::encoder_layer)))
    return translated(
        "it is for models: leave it out, or give the folder of one with DocumentOptions::model and "
        "a text with DocumentOptions::texts");
  if (name == "parameters") return translated("leave it out: this kind has no parameters");
  if (name == "scores")
    return translated("leave it out, or choose \"softmax\", which takes given scores");
  if (kind == Kind::softmax)
    return translated("leave it out: softmax takes \"scores\" and, if wanted, \"value\"");
  if (name == "x")
    return translated(
        "give \"query\", \"key\" and \"value\", or choose a kind that projects hidden states");
  if (name == "query" || name == "key" || name == "value")
    return translated("give the hidden states as \"x\"");
  if (name.starts_with("memory")) {
    // Where all keys may be the memory's, they need no key of their own.
    constexpr std::string_view of_memory = "memory_";
    const DocumentKey* const plain = find_key(name.substr(std::min(name.size(), of_memory.size())));
    const DocumentKey* const memory = find_key("memory");
    if (plain != nullptr && plain->takes(info(kind)) && memory->takes(info(kind))) {
      return translated("write {1}: where \"memory\" is given, it is about the memory's keys",
                        in_quotes(plain->name));
    }
    std::string names;
    for (const KindInfo& one : kinds()) {
      if (key.takes(one)) names += (names.empty() ? "" : ", ") + in_quotes(one.name);
    }
    return translated("leave it out, or choose a kind that takes it: {1}", names);
  }
  if (name.ends_with("heads") && info(kind).family == Family::projected)
    return translated("leave it out, or choose \"multi_head\"");
  return translated("leave it out");
}

// 3. Names of kinds.

Kind kind_of(const std::string& name, const std::string& pointer) {
  if (const KindInfo* found = find_kind(name)) return found->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  throw input_error(translated("unknown kind of attention \"{1}\"", name), pointer,
                    suggestion(name, names));
}

Kind read_kind(const JsonValue& value, const std::string& pointer) {
  return kind_of(expect_string(value, pointer), pointer);
}

}  // namespace

void check_document_keys(const JsonValue& root, Problems& problems) {
  // The configuration of a model is refused as a whole, when its kind is looked for.
  if (root.find("model_type") && !root.find("attention") && !root.find("model")) return;
  std::vector<std::string_view> known;
  known.reserve(document_keys().size());
  for (const DocumentKey& key : document_keys()) known.push_back(key.name);
  constexpr std::size_t most_told = 1000;
  std::size_t unknown = 0;
  for (const JsonMember& member : root.members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (++unknown > most_told) continue;
    problems.add(input_error(translated("unknown key \"{1}\"", member.key),
                             pointer_to("", member.key), help_for_unknown(member.key, known)));
  }
  if (unknown > most_told) {
    problems.add(input_error(
        translated("{1} more",
                   translated_count(unknown - most_told, "{1} unknown key", "{1} unknown keys")),
        "", help_for_unknown("", known)));
  }
}

void refuse_member(const std::string& key, std::span<const std::string_view> known,
                   const std::string& at) {
  const std::string outer = at.substr(0, at.rfind('/'));
  // "key" of a file of tensors is a tensor's name, and a mask in a mask is one of its parts.
  const bool of_file = key == "key" && std::ranges::count(known, std::string_view("name")) > 0;
  const bool within_itself = outer.ends_with('/' + key);
  // Objects of one or two members are shown whole.
  const bool elsewhere = find_key(key) != nullptr && !of_file && !within_itself && known.size() > 2;
  throw input_error(translated("unknown key \"{1}\"", key), at,
                    elsewhere
                        ? translated("write it at the top of the document, outside of {1}", outer)
                        : suggestion(within_itself ? "" : key, known));
}

std::string members_help(std::span<const std::string_view> known) {
  std::string members;
  for (const std::string_view key : known)
    members += (members.empty() ? "" : ", ") + in_quotes(key) + ": …";
  return translated("write {1}", "{" + members + "}");
}

void expect_known_members(const JsonValue& object, std::span<const std::string_view> known,
                          const std::string& place) {
  for (const JsonMember& member : expect_object(object, place).members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    refuse_member(member.key, known, pointer_to(place, member.key));
  }
}

void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems) {
  for (const DocumentKey& key : document_keys()) {
    const auto takes = [&](Kind kind) { return key.takes(info(kind)); };
    if (!root.find(key.name) || std::any_of(kinds.begin(), kinds.end(), takes)) continue;
    std::string names;
    for (const Kind kind : kinds)
      names += (names.empty() ? "" : ", ") + std::string(info(kind).name);
    problems.add(
        input_error(translated("\"{1}\" has no meaning for {2} attention", key.name, names),
                    pointer_to("", key.name), help_for(key, kinds[0])));
  }
}

bool has_kinds(const JsonValue& object) {
  if (!object.is(JsonValue::Type::object)) return false;
  const auto members = object.members();
  return std::any_of(members.begin(), members.end(),
                     [](const JsonMember& member) { return find_kind(member.key) != nullptr; });
}

const JsonMember* find_by_kind(const JsonValue& object, Kind kind, const std::string& pointer) {
  const JsonMember* found = nullptr;
  for (const JsonMember& member : object.members()) {
    if (kind_of(member.key, pointer_to(pointer, member.key)) == kind) found = &member;
  }
  return found;
}

std::vector<Kind> read_kinds(const JsonValue& root) {
  const std::string at = "/attention";
  const JsonValue* value = root.find("attention");
  const bool model =
      value && value->is(JsonValue::Type::string) && value->string() == info(Kind::model).name;
  if (model || (!value && root.find("model"))) return {Kind::model};
  if (!value) {
    constexpr std::string_view names[]{"attention"};
    std::string instead;
    for (const JsonMember& member : root.members()) {
      if (instead_of_foreign_key(member.key) == write_kind ||
          !nearest_name(member.key, names).empty())
        instead = member.key;
    }
    if (root.find("architectures") || root.find("model_type")) {
      throw input_error(translated("this is the configuration of a model, not an input document"),
                        "",
                        translated("give its folder with DocumentOptions::model, and a text with "
                                   "DocumentOptions::texts"));
    }
    throw input_error(translated("the document does not say which attention to compute"), at,
                      root.find("weights")
                          ? translated("weights that exist already are drawn by plot, not computed")
                      : instead.empty()
                          ? translated("add \"attention\", such as \"scaled_dot_product\"")
                          : translated("write \"attention\" in place of \"{1}\"", instead));
  }
  if (!value->is(JsonValue::Type::array)) return {read_kind(*value, at)};
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Kind kind = read_kind(value->element(i), pointer_to(at, i));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw input_error(translated("the kind \"{1}\" is given twice", info(kind).name),
                        pointer_to(at, i), translated("name each kind once"));
    }
    kinds.push_back(kind);
  }
  if (kinds.empty())
    throw input_error(translated("the list of kinds is empty"), at,
                      translated("name at least one kind"));
  return kinds;
}

}  // namespace attn
