#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_writer.hpp"
#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A row names the tensors of one family of models and what its configurations leave unsaid. "like"
// takes over another row; what is null there is taken away. Names of tensors go without ".weight"
// and ".bias"; {n} is the number of a layer. Names under "head" stand for themselves, all others
// behind one of the prefixes, the first whose token embedding is in the file, or behind none.
//
// "only" has the values of members of the configuration that the row is for, where the family's own
// code computes something else with others; a list stands for several, and null is always known.
//
// "part_sizes" stand for what the language part of a model of several parts leaves out.
//
// Every fact was read in the code that made the released checkpoints and held against what it
// computes; docs/models.md lists the families.
constexpr std::string_view rows = R"json({
"bert": {
  "prefixes": ["bert."], "causal": false, "norm": "layer", "eps": 1e-12, "eps_keys": ["layer_norm_eps"],
  "biases": {"always": ["projections", "norms"]},
  "activation": "gelu", "activation_keys": ["hidden_act"], "positions": "learned", "tied": true,
  "names": {
    "tokens": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings", "embedding_norm": "embeddings.LayerNorm",
    "layer": "encoder.layer.{n}.",
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "output": "attention.output.dense", "after_attention_sum": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "after_feed_forward_sum": "output.LayerNorm"},
  "head": {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm",
    "weight": "cls.predictions.decoder", "bias": ["cls.predictions.decoder.bias", "cls.predictions.bias"]}},
"roberta": {"like": "bert", "prefixes": ["roberta."], "position_offset": "pad_plus_one",
  "defaults": {"pad_token_id": 1},
  "head": {"dense": "lm_head.dense", "norm": "lm_head.layer_norm", "weight": "lm_head.decoder",
    "bias": ["lm_head.decoder.bias", "lm_head.bias"], "activation": "gelu"}},
"xlm-roberta": {"like": "roberta"},
"camembert": {"like": "roberta"},
"electra": {"like": "bert", "prefixes": ["electra."],
  "names": {"embedding_projection": "embeddings_project"},
  "head": {"dense": "generator_predictions.dense", "norm": "generator_predictions.LayerNorm",
    "weight": "generator_lm_head", "bias": ["generator_lm_head.bias"], "activation": "gelu"}},
"mpnet": {"like": "bert", "prefixes": ["mpnet."], "position_offset": "pad_plus_one", "defaults": {"pad_token_id": 1},
  "buckets": {"count_keys": ["relative_attention_num_buckets"]},
  "names": {"types": null, "buckets": "encoder.relative_attention_bias",
    "query": "attention.attn.q", "key": "attention.attn.k", "value": "attention.attn.v",
    "output": "attention.attn.o", "after_attention_sum": "attention.LayerNorm"},
  "head": {"dense": "lm_head.dense", "norm": "lm_head.layer_norm", "weight": "lm_head.decoder",
    "bias": ["lm_head.decoder.bias", "lm_head.bias"], "activation": "gelu"}},
"distilbert": {"like": "bert", "prefixes": ["distilbert."], "eps_keys": [], "activation_keys": ["activation"],
  "names": {"types": null, "layer": "transformer.layer.{n}.",
    "query": "attention.q_lin", "key": "attention.k_lin", "value": "attention.v_lin",
    "output": "attention.out_lin", "after_attention_sum": "sa_layer_norm",
    "up": "ffn.lin1", "down": "ffn.lin2", "after_feed_forward_sum": "output_layer_norm"},
  "head": {"dense": "vocab_transform", "norm": "vocab_layer_norm", "weight": "vocab_projector",
    "bias": ["vocab_projector.bias"]}},
"albert": {"like": "bert", "prefixes": ["albert."], "activation": "gelu_new",
  "layer_groups": {"count_keys": ["num_hidden_groups"], "inner_keys": ["inner_group_num"]},
  "names": {"embedding_projection": "encoder.embedding_hidden_mapping_in",
    "layer": "encoder.albert_layer_groups.{g}.albert_layers.{i}.",
    "query": "attention.query", "key": "attention.key", "value": "attention.value",
    "output": "attention.dense", "after_attention_sum": "attention.LayerNorm",
    "up": "ffn", "down": "ffn_output", "after_feed_forward_sum": "full_layer_layer_norm"},
  "head": {"dense": "predictions.dense", "norm": "predictions.LayerNorm", "weight": "predictions.decoder",
    "bias": ["predictions.decoder.bias", "predictions.bias"]}},
"deberta-v2": {"like": "bert", "biases": {"always": ["query", "key", "value", "output", "up", "down", "relative_key", "relative_query", "norms",
    "input_convolution", "input_convolution_norm"]}, "prefixes": ["deberta."], "eps": 1e-7, "positions": "none",
  "disentangled": {"switch_keys": ["relative_attention"], "terms_keys": ["pos_att_type"],
    "shared_keys": ["share_att_key"], "buckets_keys": ["position_buckets"],
    "distance_keys": ["max_relative_positions"], "norm_keys": ["norm_rel_ebd"]},
  "defaults": {"position_biased_input": true}, "projects_terms": true,
  "input_convolution": {"kernel_keys": ["conv_kernel_size"], "groups_keys": ["conv_groups"], "activation_keys": ["conv_act"]},
  "names": {"positions": null, "embedding_projection": "embeddings.embed_proj", "input_convolution": "encoder.conv.conv", "input_convolution_norm": "encoder.conv.LayerNorm", "query": "attention.self.query_proj", "key": "attention.self.key_proj",
    "value": "attention.self.value_proj", "relative": "encoder.rel_embeddings", "relative_norm": "encoder.LayerNorm",
    "relative_key": "attention.self.pos_key_proj", "relative_query": "attention.self.pos_query_proj"},
  "head": {"dense": ["cls.predictions.transform.dense", "lm_predictions.lm_head.dense"],
    "norm": ["cls.predictions.transform.LayerNorm", "lm_predictions.lm_head.LayerNorm"],
    "bias": ["cls.predictions.decoder.bias", "cls.predictions.bias", "lm_predictions.lm_head.bias"]},
  "cases": [{"key": "position_biased_input", "is": true, "row": {"positions": "learned",
    "names": {"positions": "embeddings.position_embeddings"}}}]},
"deberta": {"like": "deberta-v2", "biases": {"always": ["output", "up", "down", "relative_query", "norms"]}, "fused": "each_head", "input_convolution": null, "only": {"talking_head": false},
  "disentangled": {"shared_keys": null, "buckets_keys": null, "norm_keys": null},
  "names": {"query": null, "key": null, "value": null, "query_key_value": "attention.self.in_proj",
    "query_bias": "attention.self.q_bias", "value_bias": "attention.self.v_bias", "relative_norm": null,
    "relative_key": "attention.self.pos_proj", "relative_query": "attention.self.pos_q_proj", "input_convolution": null, "input_convolution_norm": null}},
"esm": {"like": "roberta", "prefixes": ["esm."], "activation_keys": null, "positions": "rotary",
  "hides_tokens_keys": ["token_dropout"], "defaults": {"position_embedding_type": "absolute"},
  "names": {"types": null, "positions": null, "embedding_norm": null, "after_attention_sum": null,
    "after_feed_forward_sum": null, "before_attention": "attention.LayerNorm", "before_feed_forward": "LayerNorm",
    "final_norm": "encoder.emb_layer_norm_after", "contacts": "contact_head.regression"},
  "cases": [
    {"key": "position_embedding_type", "is": "absolute", "row": {"positions": "learned",
      "names": {"positions": "embeddings.position_embeddings"}}},
    {"key": "emb_layer_norm_before", "is": true, "row": {"names": {"embedding_norm": "embeddings.layer_norm"}}}]},
"modernbert": {
  "prefixes": ["model."], "optional": ["before_attention"], "causal": false, "norm": "layer", "eps": 1e-5, "eps_keys": ["norm_eps"],
  "activation": "gelu", "activation_keys": ["hidden_activation"], "positions": "rotary", "tied": true,
  "rotary": {"theta_keys": ["global_rope_theta"], "theta": 160000,
    "window_theta_keys": ["local_rope_theta"], "window_theta": 10000},
  "window": {"keys": ["local_attention"], "size": 128, "each_side_half": true,
    "full_every_keys": ["global_attn_every_n_layers"], "full_every": 3, "full_first": true},
  "fused": "side_by_side", "biases": {"attention_bias": ["query_key_value", "output"], "mlp_bias": ["gate_up", "down"],
    "norm_bias": "norms"},
  "defaults": {"attention_bias": false, "mlp_bias": false, "norm_bias": false},
  "names": {"tokens": "embeddings.tok_embeddings", "embedding_norm": "embeddings.norm", "layer": "layers.{n}.",
    "query_key_value": "attn.Wqkv", "output": "attn.Wo", "before_attention": "attn_norm",
    "before_feed_forward": "mlp_norm", "gate_up": "mlp.Wi", "down": "mlp.Wo", "final_norm": "final_norm"},
  "head": {"dense": "head.dense", "norm": "head.norm", "weight": "decoder", "bias": ["decoder.bias"],
    "activation": "gelu", "activation_keys": ["classifier_activation"]}},
"nomic_bert": {
  "prefixes": ["bert."], "causal": false, "norm": "layer", "eps": 1e-12, "eps_keys": ["layer_norm_epsilon", "layer_norm_eps"],
  "activation": "swiglu", "activation_keys": ["activation_function", "hidden_act"], "positions": "rotary", "tied": true,
  "rotary": {"theta_keys": ["rotary_emb_base", "rope_theta"], "theta": 1000, "share_keys": ["rotary_emb_fraction"], "share": 1,
    "interleaved_keys": ["rotary_emb_interleaved"]},
  "only": {"prenorm": false, "parallel_block": false, "use_rms_norm": false, "causal": false, "rotary_emb_scale_base": []},
  "fused": "side_by_side", "biases": {"qkv_proj_bias": ["query_key_value", "output"], "mlp_fc1_bias": ["gate", "gated_up", "up"],
    "mlp_fc2_bias": "down", "always": "norms"},
  "names": {"tokens": "embeddings.word_embeddings", "types": "embeddings.token_type_embeddings",
    "embedding_norm": "emb_ln", "layer": "encoder.layers.{n}.", "query_key_value": "attn.Wqkv", "output": "attn.out_proj",
    "after_attention_sum": "norm1", "after_feed_forward_sum": "norm2",
    "gate": "mlp.fc12", "gated_up": "mlp.fc11", "up": "mlp.fc1", "down": "mlp.fc2"},
  "head": {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.layer_norm",
    "weight": "cls.predictions.decoder", "bias": ["cls.predictions.decoder.bias", "cls.predictions.bias"]}},
"gpt2": {
  "prefixes": ["transformer."], "biases": {"always": ["projections", "norms"]}, "causal": true, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_epsilon"],
  "activation": "gelu_new", "activation_keys": ["activation_function"], "positions": "learned", "tied": true,
  "stored": "input_by_output", "fused": "side_by_side",
  "names": {"tokens": "wte", "positions": "wpe", "layer": "h.{n}.", "query_key_value": "attn.c_attn",
    "output": "attn.c_proj", "before_attention": "ln_1", "before_feed_forward": "ln_2", "final_norm": "ln_f",
    "up": "mlp.c_fc", "down": "mlp.c_proj"},
  "head": {"weight": "lm_head"}},
"gpt_neo": {"like": "gpt2", "stored": null, "fused": null, "scale": 1, "only": {"is_causal": true},
  "biases": {"always": ["output", "up", "down", "norms"]},
  "window": {"keys": ["window_size"], "size": 256, "types_keys": ["attention_layers", "attention_types"], "alternating_from": 1},
  "names": {"query_key_value": null, "query": "attn.attention.q_proj", "key": "attn.attention.k_proj",
    "value": "attn.attention.v_proj", "output": "attn.attention.out_proj"}},
"gptj": {"like": "gpt2", "stored": null, "fused": null, "positions": "rotary", "parallel": true, "tied": false,
  "biases": {"always": ["up", "down", "norms"]},
  "rotary": {"interleaved": true, "width_keys": ["rotary_dim"], "width": 64},
  "names": {"positions": null, "query_key_value": null, "query": "attn.q_proj", "key": "attn.k_proj",
    "value": "attn.v_proj", "output": "attn.out_proj", "before_feed_forward": "ln_1",
    "up": "mlp.fc_in", "down": "mlp.fc_out"},
  "head": {"weight": "lm_head", "bias": ["lm_head.bias"]}},
"gpt_bigcode": {"like": "gpt2", "stored": null, "fused": "each_head", "activation": "gelu_pytorch_tanh",
  "defaults": {"multi_query": true},
  "cases": [{"key": "multi_query", "is": true, "row": {"fused": "side_by_side", "kv_heads": 1}}]},
"biogpt": {"like": "opt", "prefixes": ["biogpt."], "activation": "gelu", "activation_keys": ["hidden_act"],
  "defaults": {"scale_embedding": true}, "embedding_scale_keys": ["scale_embedding"], "norm_first_keys": [], "optional": [],
  "biases": {"enable_bias": null, "always": ["projections", "norms"]}, "cases": null,
  "names": {"embedding_projection": null, "output_projection": null, "final_norm": "layer_norm"},
  "head": {"weight": "output_projection"}},
"xglm": {"like": "biogpt", "prefixes": ["model."], "activation_keys": ["activation_function"],
  "positions": "sinusoidal_closed", "names": {"positions": null}, "head": {"weight": "lm_head"}},
"mpt": {
  "prefixes": ["transformer."], "parts": ["attn_config"], "causal": true, "norm": "layer", "eps": 1e-5,
  "eps_keys": ["layer_norm_epsilon"], "activation": "gelu", "positions": "alibi", "alibi_odd_first": true,
  "only": {"is_causal": true, "alibi": true, "attn_type": "multihead_attention", "qk_ln": false, "qk_gn": false, "prefix_lm": false,
    "attn_uses_sequence_id": false, "rope": false, "sliding_window_size": -1, "logit_scale": 1,
    "norm_type": ["low_precision_layernorm", "layernorm"]},
  "biases": {}, "score_multiplier_keys": ["softmax_scale"], "clip_keys": ["clip_qkv"], "fused": "side_by_side", "tied": true,
  "names": {"tokens": "wte", "layer": "blocks.{n}.", "query_key_value": "attn.Wqkv", "output": "attn.out_proj",
    "before_attention": "norm_1", "before_feed_forward": "norm_2", "final_norm": "norm_f",
    "up": "ffn.up_proj", "down": "ffn.down_proj"},
  "head": {"weight": "lm_head"}},
"codegen": {"like": "gptj", "fused": "four_parts",
  "names": {"query": null, "key": null, "value": null, "query_key_value": "attn.qkv_proj"}},
"gpt_neox": {
  "biases": {"attention_bias": ["query_key_value", "output"], "always": ["up", "down", "norms"]},
  "defaults": {"attention_bias": true}, "prefixes": ["gpt_neox."], "causal": true, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"],
  "activation": "gelu", "activation_keys": ["hidden_act"], "positions": "rotary", "tied": false,
  "rotary": {"theta_keys": ["rotary_emb_base", "rope_theta"], "theta": 10000,
    "share_keys": ["rotary_pct", "partial_rotary_factor"], "share": 0.25},
  "parallel_keys": ["use_parallel_residual"], "parallel": true, "fused": "each_head",
  "names": {"tokens": "embed_in", "layer": "layers.{n}.", "query_key_value": "attention.query_key_value",
    "output": "attention.dense", "before_attention": "input_layernorm",
    "before_feed_forward": "post_attention_layernorm", "final_norm": "final_layer_norm",
    "up": "mlp.dense_h_to_4h", "down": "mlp.dense_4h_to_h"},
  "head": {"weight": "embed_out"}},
"bloom": {"like": "gpt_neox", "biases": {"attention_bias": null, "always": ["projections", "norms"]}, "prefixes": ["transformer."], "eps_keys": ["layer_norm_epsilon"],
  "activation": "gelu_bloom", "activation_keys": [], "positions": "alibi", "tied": true, "only": {"is_causal": true},
  "parallel_keys": [], "parallel": false, "residual_after_norm_keys": ["apply_residual_connection_post_layernorm"],
  "names": {"tokens": "word_embeddings", "embedding_norm": "word_embeddings_layernorm", "layer": "h.{n}.",
    "query_key_value": "self_attention.query_key_value", "output": "self_attention.dense", "final_norm": "ln_f"},
  "head": {"weight": "lm_head"}},
"falcon": {"like": "gpt_neox", "prefixes": ["transformer."], "eps_keys": ["layer_norm_epsilon"],
  "activation_keys": ["activation"], "tied": true, "defaults": {"multi_query": true, "attention_bias": null, "bias": false},
  "biases": {"attention_bias": null, "bias": ["query_key_value", "output", "up", "down"], "always": "norms"},
  "rotary": {"share": 1, "share_keys": []}, "parallel_keys": ["parallel_attn"], "parallel": true,
  "names": {"tokens": "word_embeddings", "layer": "h.{n}.", "query_key_value": "self_attention.query_key_value",
    "output": "self_attention.dense", "before_feed_forward": "input_layernorm", "final_norm": "ln_f"},
  "head": {"weight": "lm_head"},
  "cases": [
    {"key": "multi_query", "is": true, "row": {"fused": "side_by_side", "kv_heads": 1}},
    {"key": "parallel_attn", "is": false, "row": {"names": {"before_feed_forward": "post_attention_layernorm"}}},
    {"key": "new_decoder_architecture", "is": true, "row": {"fused": "each_group", "kv_heads": null,
      "kv_heads_keys": ["num_kv_heads"], "parallel_keys": [], "parallel": true,
      "names": {"before_attention": "ln_attn", "before_feed_forward": "ln_mlp"}}},
    {"key": "num_ln_in_parallel_attn", "is": 1, "row": {
      "names": {"before_attention": "input_layernorm", "before_feed_forward": "input_layernorm"}}},
    {"key": "alibi", "is": true, "row": {"positions": "alibi", "alibi_scaled": true,
      "only": {"is_causal": true}}}]},
"opt": {
  "biases": {"enable_bias": ["query", "key", "value", "output", "up", "down"], "always": "norms"}, "defaults": {"enable_bias": true},
  "prefixes": ["model.decoder.", "decoder."], "causal": true, "norm": "layer", "eps": 1e-5, "eps_keys": [],
  "activation": "relu", "activation_keys": ["activation_function"], "positions": "learned", "position_offset": 2,
  "tied": true, "norm_first_keys": ["do_layer_norm_before"], "optional": ["final_norm"],
  "names": {"tokens": "embed_tokens", "positions": "embed_positions", "embedding_projection": "project_in",
    "output_projection": "project_out", "layer": "layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.out_proj", "before_attention": "self_attn_layer_norm",
    "before_feed_forward": "final_layer_norm", "final_norm": "final_layer_norm", "up": "fc1", "down": "fc2"},
  "head": {"weight": "lm_head"},
  "cases": [{"key": "_remove_final_layer_norm", "is": true, "row": {"names": {"final_norm": null}}},
    {"key": "layer_norm_elementwise_affine", "is": false, "row": {"norm": "layer_bare"}}]},
"llama": {
  "biases": {"attention_bias": ["query", "key", "value", "output"], "mlp_bias": ["gate", "up", "down"]},
  "defaults": {"attention_bias": false, "mlp_bias": false},
  "part_sizes": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32},
  "prefixes": ["model."], "causal": true, "norm": "rms", "eps": 1e-6, "eps_keys": ["rms_norm_eps"],
  "activation": "silu", "activation_keys": ["hidden_act"], "positions": "rotary", "tied": false,
  "rotary": {"theta_keys": ["rope_theta"], "theta": 10000, "share_keys": ["partial_rotary_factor"], "share": 1},
  "names": {"tokens": "embed_tokens", "layer": "layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.o_proj", "before_attention": "input_layernorm",
    "before_feed_forward": "post_attention_layernorm", "final_norm": "norm",
    "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"},
  "head": {"weight": "lm_head"}},
"mistral": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null},
  "part_sizes": {"num_key_value_heads": 8},
  "window": {"keys": ["sliding_window"], "size": 4096}},
"starcoder2": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null, "use_bias": ["query", "key", "value", "output", "up", "down"],
    "always": "norms"}, "defaults": {"use_bias": true}, "norm": "layer", "eps": 1e-5, "eps_keys": ["norm_epsilon"],
  "activation": "gelu_pytorch_tanh", "tied": true, "window": {"keys": ["sliding_window"]},
  "names": {"gate": null, "up": "mlp.c_fc", "down": "mlp.c_proj"}},
"internlm2": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null, "bias": ["query_key_value", "output"]}, "fused": "each_group",
  "names": {"tokens": "tok_embeddings", "query": null, "key": null, "value": null,
    "query_key_value": "attention.wqkv", "output": "attention.wo", "before_attention": "attention_norm",
    "before_feed_forward": "ffn_norm", "gate": "feed_forward.w1", "up": "feed_forward.w3", "down": "feed_forward.w2"},
  "head": {"weight": "output"}},
"eurobert": {"like": "llama", "causal": false, "eps": 1e-5, "head": {"bias": ["lm_head.bias"]}},
"granite": {"like": "llama", "embedding_multiplier_keys": ["embedding_multiplier"],
  "branch_multiplier_keys": ["residual_multiplier"], "logit_divisor_keys": ["logits_scaling"],
  "score_multiplier_keys": ["attention_multiplier"], "score_multiplier": 1},
"cohere": {"like": "llama", "biases": {"mlp_bias": null}, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"], "parallel": true, "tied": true,
  "logit_multiplier_keys": ["logit_scale"], "logit_multiplier": 0.0625, "rotary": {"theta": 500000, "interleaved": true},
  "names": {"before_feed_forward": "input_layernorm"},
  "cases": [{"key": "use_qk_norm", "is": true, "row": {"norms_by_head": true,
    "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm"}}}]},
"cohere2": {"like": "cohere", "cases": null, "rotary": {"theta": 10000, "off_in_full_layers": true},
  "window": {"keys": ["sliding_window"], "size": 4096, "full_every_keys": ["sliding_window_pattern"], "full_every": 4}},
"olmo": {"like": "llama", "biases": {"mlp_bias": null}, "norm": "layer_bare", "eps": 1e-5, "eps_keys": [], "clip_keys": ["clip_qkv"]},
"stablelm": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null, "use_qkv_bias": ["query", "key", "value"], "always": "norms"},
  "defaults": {"use_qkv_bias": false}, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"],
  "parallel_keys": ["use_parallel_residual"], "rotary": {"share": 0.25},
  "cases": [
    {"key": "use_parallel_residual", "is": true, "row": {"names": {"before_feed_forward": "input_layernorm"}}},
    {"key": "qk_layernorm", "is": true, "row": {"norms_by_head": true,
      "names": {"query_norm": "self_attn.q_layernorm.norms.{e}", "key_norm": "self_attn.k_layernorm.norms.{e}"}}}]},
"apertus": {"like": "llama", "biases": {"mlp_bias": null}, "eps": 1e-5, "activation_keys": null,
  "rotary": {"theta": 12000000}, "only": {"hidden_act": "xielu", "qk_norm": true, "post_norm": false},
  "defaults": {"rope_scaling": {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192,
    "low_freq_factor": 1, "high_freq_factor": 4}},
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm", "before_attention": "attention_layernorm",
    "before_feed_forward": "feedforward_layernorm", "gate": null,
    "xielu_positive": "mlp.act_fn.alpha_p", "xielu_negative": "mlp.act_fn.alpha_n", "xielu_beta": "mlp.act_fn.beta",
    "xielu_eps": "mlp.act_fn.eps"}},
"hunyuan_v1_dense": {"like": "llama", "biases": {"mlp_bias": null}, "eps": 1e-5, "norms_after_rotary": true,
  "only": {"use_qk_norm": true, "use_cla": false, "use_mla": false, "use_rotary_pos_emb": true, "norm_type": "rms"},
  "names": {"query_norm": "self_attn.query_layernorm", "key_norm": "self_attn.key_layernorm"}},
"glm": {"like": "llama", "eps": 1.5625e-7, "defaults": {"head_dim": 128, "attention_bias": true},
  "biases": {"attention_bias": ["query", "key", "value"], "mlp_bias": null},
  "rotary": {"share": 0.5, "interleaved": true},
  "names": {"gate": null, "up": null, "gate_up": "mlp.gate_up_proj"}},
"glm4": {"like": "glm",
  "names": {"after_attention": "post_self_attn_layernorm", "after_feed_forward": "post_mlp_layernorm"}},
"qwen2": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null, "always": ["query", "key", "value"]},
  "window": {"keys": ["sliding_window"], "size": 4096, "switch_keys": ["use_sliding_window"], "switch": false,
    "from_keys": ["max_window_layers"], "from": 28}},
"mixtral": {"like": "mistral", "eps": 1e-5, "rotary": {"theta": 1000000}, "window": {"size": null},
  "experts": {"count": 8, "count_keys": ["num_local_experts"], "chosen": 2, "chosen_keys": ["num_experts_per_tok"]},
  "names": {"gate": null, "up": null, "down": null, "router": ["block_sparse_moe.gate", "mlp.gate"],
    "expert_gate": "block_sparse_moe.experts.{e}.w1", "expert_up": "block_sparse_moe.experts.{e}.w3",
    "expert_down": ["block_sparse_moe.experts.{e}.w2", "mlp.experts.down_proj"],
    "expert_gate_up": "mlp.experts.gate_up_proj"}},
"phimoe": {"like": "mixtral", "biases": {"attention_bias": ["query", "key", "value", "output"], "always": "norms"}, "norm": "layer", "experts": {"count": 16, "jitter": 0.01, "jitter_keys": ["router_jitter_noise"]},
  "only": {"num_experts_per_tok": 2}, "head": {"bias": ["lm_head.bias"]}},
"granitemoe": {"like": "granite",
  "experts": {"count": 8, "count_keys": ["num_local_experts"], "chosen": 2, "chosen_keys": ["num_experts_per_tok"]},
  "names": {"gate": null, "up": null, "down": null, "router": "block_sparse_moe.router.layer",
    "expert_gate_up": "block_sparse_moe.input_linear", "expert_down": "block_sparse_moe.output_linear"}},
"olmoe": {"like": "olmo2", "clip_keys": ["clip_qkv"],
  "experts": {"count": 64, "count_keys": ["num_experts"], "chosen": 8, "chosen_keys": ["num_experts_per_tok"],
    "normalised": false, "normalised_keys": ["norm_topk_prob"]},
  "names": {"before_attention": "input_layernorm", "before_feed_forward": "post_attention_layernorm",
    "after_attention": null, "after_feed_forward": null,
    "gate": null, "up": null, "down": null, "router": "mlp.gate", "expert_gate": "mlp.experts.{e}.gate_proj",
    "expert_up": "mlp.experts.{e}.up_proj", "expert_down": ["mlp.experts.{e}.down_proj", "mlp.experts.down_proj"],
    "expert_gate_up": "mlp.experts.gate_up_proj"}},
"qwen2_moe": {"like": "qwen2", "biases": {"always": null, "qkv_bias": ["query", "key", "value"]}, "defaults": {"qkv_bias": true},
  "window": {"from": null, "from_keys": null, "until": 28, "until_keys": ["max_window_layers"], "full_every": 2},
  "experts": {"count": 60, "count_keys": ["num_experts"], "chosen": 4, "chosen_keys": ["num_experts_per_tok"],
    "normalised": false, "normalised_keys": ["norm_topk_prob"], "every_keys": ["decoder_sparse_step"],
    "dense_keys": ["mlp_only_layers"]},
  "names": {"router": "mlp.gate", "expert_gate": "mlp.experts.{e}.gate_proj",
    "expert_up": "mlp.experts.{e}.up_proj", "expert_down": ["mlp.experts.{e}.down_proj", "mlp.experts.down_proj"],
    "expert_gate_up": "mlp.experts.gate_up_proj",
    "shared_gate": "mlp.shared_expert.gate_proj", "shared_up": "mlp.shared_expert.up_proj",
    "shared_down": "mlp.shared_expert.down_proj", "shared_share": "mlp.shared_expert_gate"}},
"qwen3_moe": {"like": "qwen2_moe", "biases": {"qkv_bias": null, "attention_bias": ["query", "key", "value", "output"]}, "window": {"until": null, "until_keys": null, "full_every": null}, "experts": {"count": 128, "count_keys": ["num_experts", "num_local_experts"], "chosen": 8},
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm", "shared_gate": null, "shared_up": null,
    "shared_down": null, "shared_share": null}},
"qwen3_next": {"like": "qwen2_moe", "biases": {"qkv_bias": null, "attention_bias": ["query", "key", "value", "output"]}, "norm": "rms_plus_one", "window": null, "gated_queries": true,
  "defaults": {"head_dim": 256}, "rotary": {"share": 0.25},
  "experts": {"count": 512, "chosen": 10, "normalised": true},
  "linear": {"key_heads_keys": ["linear_num_key_heads"], "value_heads_keys": ["linear_num_value_heads"],
    "key_width_keys": ["linear_key_head_dim"], "value_width_keys": ["linear_value_head_dim"],
    "kernel_keys": ["linear_conv_kernel_dim"]},
  "mixed_layers": {"full_every": 4, "full_every_keys": ["full_attention_interval"]},
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm",
    "linear_query_key_value_gate": "linear_attn.in_proj_qkvz", "linear_strength_decay": "linear_attn.in_proj_ba",
    "linear_convolution": "linear_attn.conv1d", "linear_decay_log": "linear_attn.A_log",
    "linear_decay_bias": "linear_attn.dt_bias", "linear_norm": "linear_attn.norm", "linear_output": "linear_attn.out_proj"}},
"qwen3_5_moe": {"like": "qwen3_next", "experts": {"count": 256, "chosen": 8, "normalised_keys": null, "every_keys": null,
    "dense_keys": null},
  "names": {"linear_query_key_value_gate": null, "linear_strength_decay": null,
    "linear_query_key_value": "linear_attn.in_proj_qkv", "linear_gate": "linear_attn.in_proj_z",
    "linear_strength": "linear_attn.in_proj_b", "linear_decay": "linear_attn.in_proj_a"}},
"qwen3_5_moe_text": {"like": "qwen3_5_moe"},
"qwen3_5": {"like": "qwen3_5_moe", "experts": null, "names": {"router": null, "expert_gate": null, "expert_up": null,
    "expert_down": null, "expert_gate_up": null, "shared_gate": null, "shared_up": null, "shared_down": null,
    "shared_share": null}},
"qwen3_5_text": {"like": "qwen3_5"},
"qwen2_vl": {"like": "qwen2"},
"qwen2_vl_text": {"like": "qwen2"},
"qwen2_5_vl": {"like": "qwen2"},
"qwen2_5_vl_text": {"like": "qwen2"},
"qwen3_vl": {"like": "qwen3"},
"qwen3_vl_text": {"like": "qwen3"},
"qwen3_vl_moe": {"like": "qwen3_moe", "experts": {"normalised": true, "normalised_keys": null}},
"qwen3_vl_moe_text": {"like": "qwen3_vl_moe"},
"glm4v": {"like": "glm4", "rotary": {"share": 1}},
"glm4v_text": {"like": "glm4v"},
"qwen3": {"like": "qwen2", "biases": {"always": null, "attention_bias": ["query", "key", "value", "output"]}, "defaults": {"head_dim": 128},
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm"}},
"smollm3": {"like": "llama", "tied": true,
  "rotary": {"theta": 2000000, "off_where_zero_keys": ["no_rope_layers"], "off_every": 4,
    "off_every_keys": ["no_rope_layer_interval"]},
  "window": {"keys": ["sliding_window"], "switch_keys": ["use_sliding_window"], "switch": false, "where_not_turned": true}},
"olmo2": {"like": "llama", "biases": {"mlp_bias": null}, "eps": 1e-5, "whole_width_norms": true,
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm", "before_attention": null,
    "before_feed_forward": null, "after_attention": "post_attention_layernorm",
    "after_feed_forward": "post_feedforward_layernorm"}},
"olmo3": {"like": "olmo2", "rotary": {"theta": 500000, "scaling_of_full_layers_alone": true},
  "window": {"keys": ["sliding_window"], "size": 4096, "full_every": 4}},
"exaone4": {"like": "olmo2", "biases": {"attention_bias": null}, "whole_width_norms": false, "rotary": {"off_beside_windows": true},
  "window": {"keys": ["sliding_window"], "size": 4096, "full_every_keys": ["sliding_window_pattern"], "full_every": 4}},
"gemma": {"like": "llama", "biases": {"mlp_bias": null},
  "part_sizes": {"hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16},
  "norm": "rms_plus_one", "activation": "gelu_pytorch_tanh",
  "activation_keys": ["hidden_activation"], "embedding_scale": "root_of_width", "tied": true,
  "defaults": {"head_dim": 256}},
"gemma2": {"like": "gemma",
  "part_sizes": {"hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4},
  "scale_keys": ["query_pre_attn_scalar"], "scale_of": 256,
  "softcap_keys": ["attn_logit_softcapping"], "softcap": 50,
  "logit_softcap_keys": ["final_logit_softcapping"], "logit_softcap": 30,
  "window": {"keys": ["sliding_window"], "size": 4096, "full_every": 2, "full_first": false},
  "names": {"after_attention": "post_attention_layernorm", "before_feed_forward": "pre_feedforward_layernorm",
    "after_feed_forward": "post_feedforward_layernorm"}},
"gemma3_text": {"like": "gemma2", "softcap": null, "softcap_keys": null, "logit_softcap": null,
  "rotary": {"theta": 1000000, "window_theta_keys": ["rope_local_base_freq"], "window_theta": 10000,
    "scaling_of_full_layers_alone": true},
  "window": {"full_every_keys": ["sliding_window_pattern"], "full_every": 6,
    "both_sides_keys": ["use_bidirectional_attention"]},
  "names": {"query_norm": "self_attn.q_norm", "key_norm": "self_attn.k_norm"}},
"t5gemma": {"like": "gemma2", "biases": {"attention_bias": ["query", "key", "value", "output", "cross_query", "cross_key",
    "cross_value", "cross_output"]}, "only": {"is_causal": true}, "window": {"own_counted": true}, "defaults": {"bos_token_id": 2, "hidden_size": 2304,
    "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4},
  "names": {"before_attention": "pre_self_attn_layernorm", "after_attention": "post_self_attn_layernorm"},
  "encoder": {"prefix": "encoder.", "part": "encoder", "names": {"tokens": ["embed_tokens", "decoder.embed_tokens"]}},
  "decoder": {"prefix": "decoder.", "part": "decoder", "names": {"tokens": ["embed_tokens", "encoder.embed_tokens"],
    "cross_query": "cross_attn.q_proj", "cross_key": "cross_attn.k_proj", "cross_value": "cross_attn.v_proj",
    "cross_output": "cross_attn.o_proj", "before_cross": "pre_cross_attn_layernorm",
    "after_cross": "post_cross_attn_layernorm"}},
  "head": {"weight": "lm_head.out_proj"}},
"phi": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null, "always": ["projections", "norms"]}, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"], "activation": "gelu_new",
  "parallel": true, "rotary": {"share": 0.5},
  "names": {"output": "self_attn.dense", "before_feed_forward": "input_layernorm", "final_norm": "final_layernorm",
    "gate": null, "up": "mlp.fc1", "down": "mlp.fc2"},
  "head": {"weight": "lm_head", "bias": ["lm_head.bias"]},
  "cases": [{"key": "qk_layernorm", "is": true, "row": {
    "names": {"query_norm": "self_attn.q_layernorm", "key_norm": "self_attn.k_layernorm"}}}]},
"phi3": {"like": "llama", "biases": {"attention_bias": null, "mlp_bias": null}, "eps": 1e-5, "fused": "side_by_side",
  "window": {"keys": ["sliding_window"]},
  "names": {"query": null, "key": null, "value": null, "query_key_value": "self_attn.qkv_proj",
    "gate": null, "up": null, "gate_up": "mlp.gate_up_proj"}},
"gpt_oss": {"like": "llama", "eps": 1e-5, "biases": {"mlp_bias": null, "always": "router"},
  "defaults": {"head_dim": 64, "attention_bias": true, "rope_scaling": {"rope_type": "yarn", "factor": 32, "truncate": false,
    "original_max_position_embeddings": 4096}},
  "rotary": {"theta": 150000},
  "window": {"keys": ["sliding_window"], "size": 128, "full_every": 2, "full_first": false},
  "experts": {"count": 128, "count_keys": ["num_local_experts"], "chosen": 4, "chosen_keys": ["num_experts_per_tok", "experts_per_token"],
    "limit_keys": ["swiglu_limit"], "limit": 7},
  "names": {"sinks": "self_attn.sinks", "gate": null, "up": null, "down": null, "router": "mlp.router",
    "experts": "mlp.experts"}},
"t5": {
  "prefixes": [], "only": {"is_causal": true}, "biases": {}, "norm": "rms", "eps": 1e-6, "eps_keys": ["layer_norm_epsilon"],
  "activation": "relu", "activation_keys": [], "positions": "buckets", "scale": 1, "tied": true,
  "feed_forward_keys": ["feed_forward_proj"],
  "logits_by_root_of_width": true, "logits_by_root_of_width_keys": ["scale_decoder_outputs", "tie_word_embeddings"],
  "buckets": {"count_keys": ["relative_attention_num_buckets"],
    "distance_keys": ["relative_attention_max_distance"]},
  "encoder": {"prefix": "encoder.", "names": {
    "tokens": ["encoder.embed_tokens", "shared", "decoder.embed_tokens"], "layer": "block.{n}.",
    "query": "layer.0.SelfAttention.q", "key": "layer.0.SelfAttention.k", "value": "layer.0.SelfAttention.v",
    "output": "layer.0.SelfAttention.o", "buckets": "block.0.layer.0.SelfAttention.relative_attention_bias",
    "before_attention": "layer.0.layer_norm", "before_feed_forward": "layer.1.layer_norm",
    "final_norm": "final_layer_norm", "up": "layer.1.DenseReluDense.wi", "gated_up": "layer.1.DenseReluDense.wi_1",
    "gate": "layer.1.DenseReluDense.wi_0", "down": "layer.1.DenseReluDense.wo"}},
  "decoder": {"prefix": "decoder.", "names": {
    "tokens": ["decoder.embed_tokens", "shared", "encoder.embed_tokens"], "layer": "block.{n}.",
    "query": "layer.0.SelfAttention.q", "key": "layer.0.SelfAttention.k", "value": "layer.0.SelfAttention.v",
    "output": "layer.0.SelfAttention.o", "buckets": "block.0.layer.0.SelfAttention.relative_attention_bias",
    "before_attention": "layer.0.layer_norm",
    "cross_query": "layer.1.EncDecAttention.q", "cross_key": "layer.1.EncDecAttention.k",
    "cross_value": "layer.1.EncDecAttention.v", "cross_output": "layer.1.EncDecAttention.o",
    "before_cross": "layer.1.layer_norm", "before_feed_forward": "layer.2.layer_norm",
    "final_norm": "final_layer_norm", "up": "layer.2.DenseReluDense.wi", "gated_up": "layer.2.DenseReluDense.wi_1",
    "gate": "layer.2.DenseReluDense.wi_0", "down": "layer.2.DenseReluDense.wo"}},
  "head": {"weight": "lm_head"}},
"mt5": {"like": "t5", "tied": false, "logits_by_root_of_width": null, "logits_by_root_of_width_keys": null, "defaults": {"feed_forward_proj": "gated-gelu"}},
"bart": {
  "prefixes": ["model."], "only": {"is_causal": true}, "biases": {"always": ["projections", "norms"]}, "defaults": {"decoder_start_token_id": 2}, "norm": "layer", "eps": 1e-5, "eps_keys": [], "activation": "gelu",
  "activation_keys": ["activation_function"], "positions": "learned", "position_offset": 2, "tied": true,
  "embedding_scale_keys": ["scale_embedding"],
  "encoder": {"prefix": "encoder.", "names": {
    "tokens": ["encoder.embed_tokens", "shared", "decoder.embed_tokens"], "positions": "embed_positions",
    "embedding_norm": "layernorm_embedding", "layer": "layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.out_proj", "after_attention_sum": "self_attn_layer_norm",
    "after_feed_forward_sum": "final_layer_norm", "up": "fc1", "down": "fc2"}},
  "decoder": {"prefix": "decoder.", "names": {
    "tokens": ["decoder.embed_tokens", "shared", "encoder.embed_tokens"], "positions": "embed_positions",
    "embedding_norm": "layernorm_embedding", "layer": "layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.out_proj", "after_attention_sum": "self_attn_layer_norm",
    "cross_query": "encoder_attn.q_proj", "cross_key": "encoder_attn.k_proj",
    "cross_value": "encoder_attn.v_proj", "cross_output": "encoder_attn.out_proj",
    "after_cross_sum": "encoder_attn_layer_norm", "after_feed_forward_sum": "final_layer_norm",
    "up": "fc1", "down": "fc2"}},
  "head": {"weight": "lm_head", "bias": ["final_logits_bias"]}},
"marian": {"like": "bart", "position_offset": 0, "positions": "sinusoidal",
  "encoder": {"names": {"embedding_norm": null}}, "decoder": {"names": {"embedding_norm": null}}},
"mbart": {"like": "bart",
  "encoder": {"names": {"after_attention_sum": null, "after_feed_forward_sum": null,
    "before_attention": "self_attn_layer_norm", "before_feed_forward": "final_layer_norm", "final_norm": "layer_norm"}},
  "decoder": {"names": {"after_attention_sum": null, "after_cross_sum": null, "after_feed_forward_sum": null,
    "before_attention": "self_attn_layer_norm", "before_cross": "encoder_attn_layer_norm",
    "before_feed_forward": "final_layer_norm", "final_norm": "layer_norm"}}},
"m2m_100": {"like": "mbart", "activation": "relu", "position_offset": "pad_plus_one", "positions": "sinusoidal_closed",
  "defaults": {"pad_token_id": 1, "scale_embedding": true},
  "encoder": {"names": {"embedding_norm": null}}, "decoder": {"names": {"embedding_norm": null}}},
"pegasus": {"like": "mbart", "position_offset": 0, "positions": "sinusoidal",
  "encoder": {"names": {"embedding_norm": null}}, "decoder": {"names": {"embedding_norm": null}}},
"vit": {
  "biases": {"qkv_bias": ["query", "key", "value"], "always": ["output", "up", "gate_up", "down", "norms"]},
  "prefixes": ["vit."], "norm": "layer", "eps": 1e-12, "eps_keys": ["layer_norm_eps"],
  "activation": "gelu", "activation_keys": ["hidden_act"], "positions": "learned", "tied": false,
  "defaults": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224, "patch_size": 16,
    "qkv_bias": true},
  "vision": {"processor": "ViT"},
  "names": {
    "tokens": "embeddings.patch_embeddings.projection", "positions": "embeddings.position_embeddings",
    "class_token": "embeddings.cls_token", "layer": "encoder.layer.{n}.",
    "query": "attention.attention.query", "key": "attention.attention.key", "value": "attention.attention.value",
    "output": "attention.output.dense", "before_attention": "layernorm_before", "before_feed_forward": "layernorm_after",
    "up": "intermediate.dense", "down": "output.dense", "final_norm": "layernorm"}},
"deit": {"like": "vit", "prefixes": ["deit."], "vision": {"processor": "DeiT"},
  "names": {"distillation_token": "embeddings.distillation_token"}},
"dinov2": {"like": "vit", "prefixes": ["dinov2."], "eps": 1e-6, "vision": {"processor": "Bit"},
  "names": {"before_attention": "norm1", "before_feed_forward": "norm2", "attention_scale": "layer_scale1.lambda1",
    "feed_forward_scale": "layer_scale2.lambda1", "up": "mlp.fc1", "down": "mlp.fc2"},
  "cases": [{"key": "use_swiglu_ffn", "is": true, "row": {"activation": "silu", "activation_keys": [],
    "names": {"up": null, "gate_up": "mlp.weights_in", "down": "mlp.weights_out"}}}]},
"dinov2_with_registers": {"like": "dinov2", "prefixes": ["dinov2_with_registers."],
  "vision": {"registers": 4, "registers_keys": ["num_register_tokens"], "antialiased": true},
  "names": {"registers": "embeddings.register_tokens"}},
"clip": {
  "prefixes": ["vision_model."], "biases": {"always": ["projections", "norms"]}, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"],
  "activation": "quick_gelu", "activation_keys": ["hidden_act"], "positions": "learned", "tied": false,
  "defaults": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224, "patch_size": 32},
  "vision": {"processor": "CLIP", "text": "clip_text_model", "projection": "visual_projection",
    "text_projection": "text_projection"},
  "names": {
    "tokens": "embeddings.patch_embedding", "positions": "embeddings.position_embedding",
    "class_token": "embeddings.class_embedding", "embedding_norm": "pre_layrnorm", "layer": "encoder.layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj", "output": "self_attn.out_proj",
    "before_attention": "layer_norm1", "before_feed_forward": "layer_norm2", "up": "mlp.fc1", "down": "mlp.fc2",
    "pooled_norm": "post_layernorm"}},
"clip_vision_model": {"like": "clip"},
"clip_text_model": {
  "prefixes": ["text_model."], "biases": {"always": ["projections", "norms"]}, "causal": true, "norm": "layer", "eps": 1e-5, "eps_keys": ["layer_norm_eps"],
  "activation": "quick_gelu", "activation_keys": ["hidden_act"], "positions": "learned", "tied": false,
  "defaults": {"hidden_size": 512, "num_hidden_layers": 12, "num_attention_heads": 8, "vocab_size": 49408,
    "max_position_embeddings": 77, "eos_token_id": 49407},
  "names": {
    "tokens": "embeddings.token_embedding", "positions": "embeddings.position_embedding", "layer": "encoder.layers.{n}.",
    "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj", "output": "self_attn.out_proj",
    "before_attention": "layer_norm1", "before_feed_forward": "layer_norm2", "up": "mlp.fc1", "down": "mlp.fc2",
    "final_norm": "final_layer_norm"}},
"siglip": {"like": "clip", "eps": 1e-6, "activation": "gelu_pytorch_tanh", "defaults": {"patch_size": 16},
  "vision": {"processor": "Siglip", "text": "siglip_text_model", "projection": null, "text_projection": "text_model.head",
    "last_token": true},
  "names": {"class_token": null, "embedding_norm": null, "pooled_norm": null, "final_norm": "post_layernorm",
    "probe": "head.probe", "pooling_in": "head.attention.in_proj", "pooling_output": "head.attention.out_proj",
    "pooling_norm": "head.layernorm", "pooling_up": "head.mlp.fc1", "pooling_down": "head.mlp.fc2"}},
"siglip_vision_model": {"like": "siglip"},
"siglip_text_model": {"like": "clip_text_model", "causal": false, "eps": 1e-6, "activation": "gelu_pytorch_tanh",
  "defaults": {"hidden_size": 768, "num_attention_heads": 12, "vocab_size": 32000, "max_position_embeddings": 64,
    "pad_token_id": 1}}
})json";

// `base` with the members of `change` in place of its own: objects member by member, null takes
// away.
JsonValue merged(const JsonValue& base, const JsonValue& change) {
  if (!base.is(JsonValue::Type::object) || !change.is(JsonValue::Type::object)) return change;
  JsonValue::Object members;
  for (const JsonMember& own : base.members()) {
    const JsonValue* other = change.find(own.key);
    if (other == nullptr) {
      members->push_back(own);
    } else if (!other->is(JsonValue::Type::null)) {
      members->push_back({own.key, merged(own.value, *other)});
    }
  }
  for (const JsonMember& own : change.members()) {
    if (base.find(own.key) == nullptr && !own.value.is(JsonValue::Type::null)) {
      members->push_back(own);
    }
  }
  return JsonValue{std::move(members)};
}

const JsonValue& table() {
  static const JsonValue parsed = merged(parse_json(rows), parse_json(related_rows()));
  return parsed;
}

struct Refused {
  std::string_view family, reason;
};
constexpr std::string_view in_stages =
    to_translate("their grids of patches shrink from stage to stage");
constexpr std::array<Refused, 8> refused_families{{
    {"swin", in_stages},
    {"swinv2", in_stages},
    {"dbrx", to_translate("their feed-forwards choose among experts")},
    {"xlnet", to_translate("their scores have terms between contents and positions")},
    {"mamba", to_translate("their layers have no attention")},
    {"mamba2", to_translate("their layers have no attention")},
    {"gemma3n", to_translate("their layers share keys and values and mix several states")},
}};

// The family with the name that is most like that of another one; by default the one that most
// others are like.
std::string nearest_family(std::string_view name, std::span<const std::string_view> known) {
  if (const std::string_view near = nearest_name(name, known); !near.empty()) {
    return std::string(near);
  }
  constexpr std::ptrdiff_t most_letters = 100;
  // Letters that both begin with; a name that the other one begins with counts before others.
  const auto shared = [&](std::string_view other) {
    const auto letters = std::ranges::mismatch(name, other).in1 - name.begin();
    return letters == static_cast<std::ptrdiff_t>(other.size()) ? letters + most_letters : letters;
  };
  constexpr std::ptrdiff_t enough = 4;
  const std::string_view best = *std::ranges::max_element(known, {}, shared);
  return shared(best) < enough ? "llama" : std::string(best);
}

JsonValue complete_row(std::string_view family) {
  const JsonValue* row = table().find(family);
  if (row == nullptr) {
    for (const Refused& known : refused_families) {
      if (known.family != family) continue;
      refuse_key("model_type",
                 translated("models of the type {1} are not computed: {2}", in_quotes(family),
                            translated(known.reason)),
                 translated("choose another model"));
    }
    const std::vector<std::string> names = known_families();
    const std::vector<std::string_view> known(names.begin(), names.end());
    refuse_key("model_type", translated("models of the type {1} are not known", in_quotes(family)),
               translated("{1}; a model that computes what another one does is read by a row such "
                          "as {2}, given as DocumentOptions::architecture",
                          suggestion(family, known),
                          "{\"like\": \"" + nearest_family(family, known) + "\"}"));
  }
  const JsonValue* like = row->find("like");
  return like == nullptr ? *row : merged(complete_row(like->string()), *row);
}

// The row with what it says of configurations such as this one: {"key":…, "is":…, "row":…}.
JsonValue with_cases(JsonValue row, const JsonValue& config) {
  const JsonValue* found = present_member(row, "cases");
  if (found == nullptr) return row;
  const JsonValue cases = *found;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const JsonValue& one = cases.element(i);
    const std::string& key = one.find("key")->string();
    const JsonValue* value = present_member(config, key);
    const JsonValue* defaults = present_member(row, "defaults");
    if (value == nullptr && defaults != nullptr) value = present_member(*defaults, key);
    if (value == nullptr || !same_value(*value, *one.find("is"))) continue;
    row = merged(row, *one.find("row"));
  }
  return row;
}

void write(JsonWriter& json, const JsonValue& value) {
  switch (value.type()) {
    case JsonValue::Type::null:
      json.null();
      break;
    case JsonValue::Type::boolean:
      json.value(value.boolean());
      break;
    case JsonValue::Type::number:
      if (value.is_integer()) {
        json.value(value.integer());
      } else {
        json.value(value.number());
      }
      break;
    case JsonValue::Type::string:
      json.value(value.string());
      break;
    case JsonValue::Type::array:
      json.begin_array();
      for (std::size_t i = 0; i < value.size(); ++i) write(json, value.element(i));
      json.end_array();
      break;
    case JsonValue::Type::object:
      json.begin_object();
      for (const JsonMember& member : value.members()) {
        if (member.key == "like") continue;
        json.key(member.key);
        write(json, member.value);
      }
      json.end_object();
      break;
  }
}

}  // namespace

std::array<std::string_view, 2> builtin_rows() noexcept {
  return {rows, related_rows()};
}

std::vector<std::string> known_families() {
  std::vector<std::string> names;
  for (const JsonMember& row : table().members()) names.push_back(row.key);
  return names;
}

bool same_value(const JsonValue& a, const JsonValue& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case JsonValue::Type::boolean:
      return a.boolean() == b.boolean();
    case JsonValue::Type::string:
      return a.string() == b.string();
    case JsonValue::Type::number:
      return a.number() == b.number();
    default:
      return false;
  }
}

JsonValue row_of_family(std::string_view family) {
  return complete_row(family);
}

bool reads_pictures(std::string_view family) {
  const JsonValue* row = table().find(family);
  if (row == nullptr) return false;
  const JsonValue* like = row->find("like");
  return row->find("vision") != nullptr || (like != nullptr && reads_pictures(like->string()));
}

const JsonValue& main_part(const JsonValue& config) {
  const bool pictures = reads_pictures(family_of(config));
  const JsonValue* part = present_member(config, pictures ? "vision_config" : "text_config");
  return part != nullptr && part->is(JsonValue::Type::object) ? *part : config;
}

std::string family_of(const JsonValue& config) {
  const JsonValue* type = present_member(config, "model_type");
  return type != nullptr && type->is(JsonValue::Type::string) ? type->string() : "";
}

JsonValue row_of(const JsonValue& config, const JsonValue* row) {
  const std::string family = family_of(config);
  if (row == nullptr) {
    if (family.empty()) {
      refuse_key("model_type", translated("the configuration does not give its model_type"),
                 translated("give one of the families that are known, or a row of your own"));
    }
    return with_cases(complete_row(family), config);
  }
  const JsonValue* like = present_member(*row, "like");
  return with_cases(like == nullptr ? *row : merged(complete_row(like->string()), *row), config);
}

JsonValue with_part_sizes(const JsonValue& row, const JsonValue& part) {
  const JsonValue* sizes = present_member(row, "part_sizes");
  if (sizes == nullptr) return row;
  const bool says_heads = part.find("num_attention_heads") != nullptr;
  JsonValue::Object defaults;
  for (const JsonMember& size : sizes->members()) {
    if (!(says_heads && size.key == "num_key_value_heads")) defaults->push_back(size);
  }
  JsonValue::Object change;
  change->push_back({"defaults", JsonValue{std::move(defaults)}});
  return merged(row, JsonValue{std::move(change)});
}

std::string row_text(const JsonValue& config, const JsonValue* row) {
  return json_text([&](JsonWriter& json) {
    write(json, row_of(reads_pictures(family_of(config)) ? config : main_part(config), row));
  });
}

}  // namespace attn
