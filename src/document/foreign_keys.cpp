#include "document/foreign_keys.hpp"

#include <utility>

#include "support/translated.hpp"

namespace attn {
namespace {

namespace write {

constexpr std::string_view causal = to_translate("write \"mask\": {\"causal\": true}");
constexpr std::string_view mask = to_translate(
    "write \"mask\": {\"allow\": …} of 1 where a key is seen, {\"block\": …} of 1 where it is not, "
    "or {\"bias\": …} of numbers that are added to the scores");
constexpr std::string_view padding = to_translate(
    "write \"valid_lens\", the number of valid keys of each sample, or \"mask\": {\"padding\": …}");
constexpr std::string_view heads = to_translate("write \"heads\"");
constexpr std::string_view kv_heads = to_translate("write \"kv_heads\"");
constexpr std::string_view feed_forward = to_translate("write \"feed_forward\"");
constexpr std::string_view layers = to_translate("write \"layers\"");
constexpr std::string_view width = to_translate("leave it out: the tensors tell how wide they are");
constexpr std::string_view query = to_translate("write \"query\"");
constexpr std::string_view key = to_translate("write \"key\"");
constexpr std::string_view value = to_translate("write \"value\"");
constexpr std::string_view states = to_translate("write \"x\"");
constexpr std::string_view kind = to_translate("write \"attention\"");
constexpr std::string_view ids = to_translate("write \"token_ids\"");
constexpr std::string_view dropout =
    to_translate("write \"dropout\": {\"p\": …, \"training\": true}");
constexpr std::string_view window = to_translate("write \"mask\": {\"window\": …}");
constexpr std::string_view eps = to_translate("write \"eps\"");
constexpr std::string_view scale = to_translate("write \"scale\", the factor of the scores");
constexpr std::string_view softcap = to_translate("write \"softcap\"");
constexpr std::string_view rotary = to_translate("write \"rotary\": {\"theta\": …}");
constexpr std::string_view pre_norm = to_translate("write \"norm\": \"pre\" or \"post\"");
constexpr std::string_view memory = to_translate("write \"memory\"");
constexpr std::string_view parameters = to_translate("write \"parameters\"");
constexpr std::string_view weights = to_translate("write \"weights\": true or false");

}  // namespace write

// As PyTorch, Keras, JAX, Hugging Face's configurations, ONNX and flash-attention call them.
constexpr std::pair<std::string_view, std::string_view> foreign_keys[]{
    {"causal", write::causal},
    {"is_causal", write::causal},
    {"use_causal_mask", write::causal},
    {"window", write::window},
    {"window_size", write::window},
    {"sliding_window", write::window},
    {"attn_mask", write::mask},
    {"attention_mask", write::mask},
    {"attn_bias", write::mask},
    {"attention_bias", write::mask},
    {"src_mask", write::mask},
    {"tgt_mask", write::mask},
    {"bias", write::mask},
    {"key_padding_mask", write::padding},
    {"src_key_padding_mask", write::padding},
    {"padding_mask", write::padding},
    {"seq_lens", write::padding},
    {"lengths", write::padding},
    {"num_heads", write::heads},
    {"n_heads", write::heads},
    {"n_head", write::heads},
    {"nhead", write::heads},
    {"nheads", write::heads},
    {"num_attention_heads", write::heads},
    {"q_num_heads", write::heads},
    {"num_kv_heads", write::kv_heads},
    {"n_kv_heads", write::kv_heads},
    {"kv_num_heads", write::kv_heads},
    {"num_key_value_heads", write::kv_heads},
    {"d_ff", write::feed_forward},
    {"ffn_dim", write::feed_forward},
    {"ff_dim", write::feed_forward},
    {"dim_feedforward", write::feed_forward},
    {"intermediate_size", write::feed_forward},
    {"num_layers", write::layers},
    {"n_layers", write::layers},
    {"n_layer", write::layers},
    {"num_hidden_layers", write::layers},
    {"embed_dim", write::width},
    {"d_model", write::width},
    {"d_k", write::width},
    {"d_v", write::width},
    {"head_dim", write::width},
    {"hidden_size", write::width},
    {"key_dim", write::width},
    {"q", write::query},
    {"Q", write::query},
    {"queries", write::query},
    {"k", write::key},
    {"K", write::key},
    {"keys", write::key},
    {"v", write::value},
    {"V", write::value},
    {"values", write::value},
    {"X", write::states},
    {"input", write::states},
    {"inputs", write::states},
    {"src", write::states},
    {"hidden_states", write::states},
    {"embeddings", write::states},
    {"encoder_hidden_states", write::memory},
    {"type", write::kind},
    {"kind", write::kind},
    {"attention_type", write::kind},
    {"attn", write::kind},
    {"input_ids", write::ids},
    {"dropout_p", write::dropout},
    {"attn_dropout", write::dropout},
    {"attention_dropout", write::dropout},
    {"layer_norm_eps", write::eps},
    {"norm_eps", write::eps},
    {"rms_norm_eps", write::eps},
    {"softmax_scale", write::scale},
    {"temperature", write::scale},
    {"logits_soft_cap", write::softcap},
    {"logit_softcapping", write::softcap},
    {"attn_logit_softcapping", write::softcap},
    {"rope", write::rotary},
    {"rope_theta", write::rotary},
    {"rotary_base", write::rotary},
    {"norm_first", write::pre_norm},
    {"state_dict", write::parameters},
    {"params", write::parameters},
    {"need_weights", write::weights},
    {"output_attentions", write::weights},
    {"return_attention_scores", write::weights},
};

}  // namespace

std::string_view instead_of_foreign_key(std::string_view name) noexcept {
  for (const auto& [foreign, instead] : foreign_keys) {
    if (foreign == name) return instead;
  }
  return {};
}

}  // namespace attn
