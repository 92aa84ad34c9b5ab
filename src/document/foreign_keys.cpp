#include "document/foreign_keys.hpp"

#include <utility>

namespace attn {
namespace {

constexpr std::string_view causal = "write \"mask\": {\"causal\": true}";
constexpr std::string_view mask =
    "write \"mask\": {\"allow\": …} of 1 where a key is seen, {\"block\": …} of 1 where it is not, "
    "or {\"bias\": …} of numbers that are added to the scores";
constexpr std::string_view padding =
    "write \"valid_lens\", the number of valid keys of each sample, or \"mask\": {\"padding\": …}";
constexpr std::string_view heads = "write \"heads\"";
constexpr std::string_view kv_heads = "write \"kv_heads\"";
constexpr std::string_view feed_forward = "write \"feed_forward\"";
constexpr std::string_view layers = "write \"layers\"";
constexpr std::string_view width = "leave it out: the tensors tell how wide they are";
constexpr std::string_view query = "write \"query\"";
constexpr std::string_view key = "write \"key\"";
constexpr std::string_view value = "write \"value\"";
constexpr std::string_view states = "write \"x\"";
constexpr std::string_view kind = "write \"attention\"";
constexpr std::string_view ids = "write \"token_ids\"";
constexpr std::string_view dropout = "write \"dropout\": {\"p\": …, \"training\": true}";
constexpr std::string_view window = "write \"mask\": {\"window\": …}";
constexpr std::string_view eps = "write \"eps\"";
constexpr std::string_view scale = "write \"scale\", the factor of the scores";
constexpr std::string_view softcap = "write \"softcap\"";
constexpr std::string_view rotary = "write \"rotary\": {\"theta\": …}";
constexpr std::string_view pre_norm = "write \"norm\": \"pre\" or \"post\"";
constexpr std::string_view memory = "write \"memory\"";
constexpr std::string_view parameters = "write \"parameters\"";
constexpr std::string_view weights = "write \"weights\": true or false";

// As PyTorch, Keras, JAX, Hugging Face's configurations, ONNX and flash-attention call them.
constexpr std::pair<std::string_view, std::string_view> foreign_keys[]{
    {"causal", causal},
    {"is_causal", causal},
    {"use_causal_mask", causal},
    {"window", window},
    {"window_size", window},
    {"sliding_window", window},
    {"attn_mask", mask},
    {"attention_mask", mask},
    {"attn_bias", mask},
    {"attention_bias", mask},
    {"src_mask", mask},
    {"tgt_mask", mask},
    {"bias", mask},
    {"key_padding_mask", padding},
    {"src_key_padding_mask", padding},
    {"padding_mask", padding},
    {"seq_lens", padding},
    {"lengths", padding},
    {"num_heads", heads},
    {"n_heads", heads},
    {"n_head", heads},
    {"nhead", heads},
    {"nheads", heads},
    {"num_attention_heads", heads},
    {"q_num_heads", heads},
    {"num_kv_heads", kv_heads},
    {"n_kv_heads", kv_heads},
    {"kv_num_heads", kv_heads},
    {"num_key_value_heads", kv_heads},
    {"d_ff", feed_forward},
    {"ffn_dim", feed_forward},
    {"ff_dim", feed_forward},
    {"dim_feedforward", feed_forward},
    {"intermediate_size", feed_forward},
    {"num_layers", layers},
    {"n_layers", layers},
    {"n_layer", layers},
    {"num_hidden_layers", layers},
    {"embed_dim", width},
    {"d_model", width},
    {"d_k", width},
    {"d_v", width},
    {"head_dim", width},
    {"hidden_size", width},
    {"key_dim", width},
    {"q", query},
    {"Q", query},
    {"queries", query},
    {"k", key},
    {"K", key},
    {"keys", key},
    {"v", value},
    {"V", value},
    {"values", value},
    {"X", states},
    {"input", states},
    {"inputs", states},
    {"src", states},
    {"hidden_states", states},
    {"embeddings", states},
    {"encoder_hidden_states", memory},
    {"type", kind},
    {"kind", kind},
    {"attention_type", kind},
    {"attn", kind},
    {"input_ids", ids},
    {"dropout_p", dropout},
    {"attn_dropout", dropout},
    {"attention_dropout", dropout},
    {"layer_norm_eps", eps},
    {"norm_eps", eps},
    {"rms_norm_eps", eps},
    {"softmax_scale", scale},
    {"temperature", scale},
    {"logits_soft_cap", softcap},
    {"logit_softcapping", softcap},
    {"attn_logit_softcapping", softcap},
    {"rope", rotary},
    {"rope_theta", rotary},
    {"rotary_base", rotary},
    {"norm_first", pre_norm},
    {"state_dict", parameters},
    {"params", parameters},
    {"need_weights", weights},
    {"output_attentions", weights},
    {"return_attention_scores", weights},
};

}  // namespace

std::string_view instead_of_foreign_key(std::string_view name) noexcept {
  for (const auto& [foreign, instead] : foreign_keys) {
    if (foreign == name) return instead;
  }
  return {};
}

}  // namespace attn
