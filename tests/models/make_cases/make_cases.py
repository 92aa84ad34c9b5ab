#!/usr/bin/env python3
"""Makes the cases of families of models: random checkpoints and what must come out of them.

    make_cases.py FOLDER [NAME ...]

Each family is computed from its definition in double precision with numpy, one text at a time. A weight is drawn when
the computation first asks for it by name, so the checkpoint holds what was used. Matrices are drawn large enough that
attention is uneven, norm weights away from 1 and biases away from 0.
"""
import json
import os
import sys

import numpy as np

import definitions
from definitions import *  # sizes and functions, by their own names

SIZES = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": H, "intermediate_size": F}
GROUPED = {**SIZES, "num_key_value_heads": 2}


CASES = {}
SIZE_KEYS = {"d_model": "D", "hidden_size": "D", "n_heads": "H", "num_attention_heads": "H"}


def case(name, config, run, dtype="float64", more=None, sizes=None):
    """`sizes` are those that differ from the ones above."""
    CASES[name] = (config, run, dtype, more or {}, sizes or {})
SMALL = llama_names
LAYER = {"kind": "layer", "eps": 1e-5}
GPT = {"prefix": "transformer.", "tokens": "wte", "layer": "h.{}.", "final": "ln_f", "tied": True, "norm_bias": True,
       "bias": "qkvom", "rotary": lambda n: None, **LAYER}
GPT_NAMES = llama_names(q="attn.c_attn", o="attn.c_proj", n1="ln_1", n2="ln_2", gate=None, up="mlp.c_fc",
                        down="mlp.c_proj")
OPT_NAMES = llama_names(o="self_attn.out_proj", n1="self_attn_layer_norm", n2="final_layer_norm", gate=None, up="fc1",
                        down="fc2")


def with_positions(c, name, offset=0, scale=1.0):
    return lambda x: scale * x + c.matrix(name, 16 + offset, D, 4.0)[offset : offset + len(x)]


case("starcoder2_window", {"model_type": "starcoder2", **GROUPED, "sliding_window": 3, "norm_epsilon": 1e-5,
                           "rope_theta": 999.0, "hidden_act": "gelu_pytorch_tanh", "use_bias": True},
     lambda c, ids: stack(c, ids, names=llama_names(gate=None, up="mlp.c_fc", down="mlp.c_proj"), norm_bias=True, **LAYER,
                          bias="qkvom", act=gelu_tanh, tied=True, window=lambda n: 3, rotary=lambda n: {"theta": 999}))
BIGCODE = {"model_type": "gpt_bigcode", "vocab_size": V, "n_embd": D, "n_head": H, "n_layer": 2, "n_inner": F,
           "n_positions": 16, "layer_norm_epsilon": 1e-5}
case("gpt_bigcode_multi_query", {**BIGCODE, "attention_softmax_in_fp32": True, "scale_attention_softmax_in_fp32": True},
     lambda c, ids: stack(c, ids, **GPT, names=GPT_NAMES, groups=1, act=gelu_tanh, fused=side_by_side(1),
                          embed=with_positions(c, "transformer.wpe.weight")))
case("gpt_bigcode_each_head", {**BIGCODE, "multi_query": False, "activation_function": "gelu"},
     lambda c, ids: stack(c, ids, **GPT, names=GPT_NAMES, groups=H, act=gelu, fused=lambda x: grouped(x, H),
                          embed=with_positions(c, "transformer.wpe.weight")), "float32")
LAST = llama_names(n1=None, n2=None, a1="post_attention_layernorm", a2="post_feedforward_layernorm",
                   qn="self_attn.q_norm", kn="self_attn.k_norm")
case("olmo3_windows", {"model_type": "olmo3", **GROUPED, "num_hidden_layers": 4, "sliding_window": 3,
                       "rms_norm_eps": 1e-6, "rope_theta": 500000.0, "max_position_embeddings": 64,
                       "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8}},
     lambda c, ids: stack(c, ids, names=LAST, layers=4, qk="whole", window=lambda n: 3 if n != 3 else None,
                          rotary=lambda n: {"theta": 500000.0} if n != 3 else yarn(D // H, 500000.0, 8.0, 8)))
case("exaone4_windows", {"model_type": "exaone4", **GROUPED, "num_hidden_layers": 3, "sliding_window": 3,
                         "sliding_window_pattern": "LLG", "rms_norm_eps": 1e-5, "rope_theta": 5000.0,
                         "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
     lambda c, ids: stack(c, ids, names=LAST, layers=3, qk="head", eps=1e-5, window=lambda n: 3 if n != 2 else None,
                          rotary=lambda n: {"theta": 5000.0} if n != 2 else None))
case("exaone4_full", {"model_type": "exaone4", **GROUPED, "sliding_window": None, "sliding_window_pattern": None,
                      "rope_theta": 700.0, "head_dim": 6, "tie_word_embeddings": True},
     lambda c, ids: stack(c, ids, names=LAST, qk="head", d=6, eps=1e-5, tied=True, rotary=lambda n: {"theta": 700.0}))
case("internlm2_grouped", {"model_type": "internlm2", **GROUPED, "bias": True, "rms_norm_eps": 1e-5, "rope_theta": 1000.0,
                           "rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 6},
     lambda c, ids: stack(
         c, ids, tokens="tok_embeddings", head="output", eps=1e-5, bias="qo", fused=grouped,
         names=llama_names(q="attention.wqkv", o="attention.wo", n1="attention_norm", n2="ffn_norm",
                           gate="feed_forward.w1", up="feed_forward.w3", down="feed_forward.w2"),
         rotary=lambda n: {"theta": 1000.0 * (2 * max(len(ids), 6) / 6 - 1) ** 2}))
GLM = {**GROUPED, "head_dim": 8, "attention_bias": True, "rope_theta": 100.0, "partial_rotary_factor": 0.5}
glm = {"d": 8, "eps": 1.5625e-7, "bias": "qkv", "rotary": lambda n: {"theta": 100.0, "width": 4, "interleaved": True}}
case("glm_interleaved", {"model_type": "glm", **GLM, "rms_norm_eps": 1.5625e-7},
     lambda c, ids: stack(c, ids, **glm, names=llama_names(gate_up="mlp.gate_up_proj")))
case("glm4_branch_norms", {"model_type": "glm4", **GLM},
     lambda c, ids: stack(c, ids, **glm, names=llama_names(gate_up="mlp.gate_up_proj", a1="post_self_attn_layernorm",
                                                           a2="post_mlp_layernorm")), "float32")
case("eurobert_both_sides", {"model_type": "eurobert", **GROUPED, "rope_theta": 250000, "rms_norm_eps": 1e-5, "mlp_bias": True},
     lambda c, ids: stack(c, ids, causal=False, eps=1e-5, rotary=lambda n: {"theta": 250000.0}, bias="m", head_bias=True))
case("biogpt_offset", {"model_type": "biogpt", **SIZES, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
                       "scale_embedding": True, "max_position_embeddings": 16},
     lambda c, ids: stack(c, ids, prefix="biogpt.", final="layer_norm", names=OPT_NAMES, groups=H, norm_bias=True,
                          bias="qkvom", act=gelu, tied=True, rotary=lambda n: None, **LAYER,
                          embed=with_positions(c, "biogpt.embed_positions.weight", 2, 4.0)))
case("xglm_sinusoids", {"model_type": "xglm", "vocab_size": V, "d_model": D, "num_layers": 2, "attention_heads": H,
                        "ffn_dim": F, "activation_function": "gelu", "scale_embedding": True},
     lambda c, ids: stack(c, ids, final="layer_norm", names=OPT_NAMES, groups=H, norm_bias=True, bias="qkvom", act=gelu,
                          tied=True, rotary=lambda n: None, **LAYER,
                          embed=lambda x: 4.0 * x + closed_sinusoids(len(x))))
mpt_names = llama_names(q="attn.Wqkv", o="attn.out_proj", n1="norm_1", n2="norm_2", gate=None, up="ffn.up_proj",
                        down="ffn.down_proj")


# Slopes of the next power of two, every second one first, whatever alibi_bias_max is.
case("mpt_slopes", {"model_type": "mpt", "vocab_size": V, "d_model": D, "n_layers": 2, "n_heads": H, "expansion_ratio": 2,
                    "attn_config": {"alibi": True, "alibi_bias_max": 6, "clip_qkv": None, "softmax_scale": None}},
     lambda c, ids: stack(c, ids, prefix="transformer.", tokens="wte", layer="blocks.{}.", final="norm_f", tied=True,
                          names=mpt_names, groups=H, act=gelu, rotary=lambda n: None, fused=side_by_side(H), **LAYER,
                          score_bias=distances([2.0**-h for h in (2, 4, 6, 8, 1, 3)])),
     sizes={"D": 12, "H": 6})
case("nomic_bert_swiglu", {"model_type": "nomic_bert", "vocab_size": V, "n_embd": D, "n_head": H, "n_layer": 2,
                           "n_inner": F, "activation_function": "swiglu", "layer_norm_epsilon": 1e-12,
                           "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
                           "prenorm": False, "use_rms_norm": False, "type_vocab_size": 2, "qkv_proj_bias": False,
                           "mlp_fc1_bias": False, "mlp_fc2_bias": False, "rotary_scaling_factor": None, "causal": False},
     lambda c, ids: stack(
         c, ids, prefix="", tokens="embeddings.word_embeddings", layer="encoder.layers.{}.", final=None, tied=True,
         norm_bias=True, kind="layer", eps=1e-12, causal=False, groups=H, fused=side_by_side(H),
         rotary=lambda n: {"theta": 1000.0}, head="cls.predictions", head_bias=True,
         embed=lambda x: c.norm(x + c.matrix("embeddings.token_type_embeddings.weight", 2, D)[0], "emb_ln", "layer",
                                1e-12, True),
         names=llama_names(q="attn.Wqkv", o="attn.out_proj", n1=None, n2=None, s1="norm1", s2="norm2", gate="mlp.fc12",
                           up="mlp.fc11", down="mlp.fc2"),
         logits_of=lambda x: c.norm(silu(c.linear(x, "cls.predictions.transform.dense", D, True)),
                                    "cls.predictions.transform.layer_norm", "layer", 1e-12, True)))
case("m2m_100_sinusoids", {"model_type": "m2m_100", "vocab_size": V, "d_model": D, "encoder_layers": 2,
                           "decoder_layers": 2, "encoder_attention_heads": H, "decoder_attention_heads": H,
                           "encoder_ffn_dim": F, "decoder_ffn_dim": F, "max_position_embeddings": 8,
                           "activation_function": "relu", "scale_embedding": True, "pad_token_id": 1,
                           "decoder_start_token_id": 2, "num_hidden_layers": 2},
     encoder_decoder, more={"decoder_token_ids": [[2, 11, 19, 6, 16], [2, 14, 12]]})

MODULE = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": H, "num_key_value_heads": 2,
          "head_dim": 6, "intermediate_size": F, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
          "rope_theta": 100.0, "attention_bias": False, "sliding_window": 3, "query_pre_attn_scalar": 5,
          "attn_logit_softcapping": 5.0, "final_logit_softcapping": 7.0, "model_type": "t5_gemma_module",
          "pad_token_id": 0, "bos_token_id": 2, "max_position_embeddings": 64, "is_decoder": False,
          "layer_types": ["sliding_attention", "full_attention"]}
T5GEMMA = {"model_type": "t5gemma", "architectures": ["T5GemmaForConditionalGeneration"], "vocab_size": V,
           "is_encoder_decoder": True, "pad_token_id": 0, "bos_token_id": 2, "tie_word_embeddings": True,
           "encoder": {**MODULE, "hidden_size": 20, "num_attention_heads": 6, "num_hidden_layers": 3,
                       "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
           "decoder": {**MODULE, "is_decoder": True, "cross_attention_hidden_size": 20}}
ANSWERS = {"decoder_token_ids": [[2, 11, 19, 6, 16], [2, 14, 12]]}
case("t5gemma_larger_encoder", T5GEMMA, lambda c, ids, answer: t5gemma(c, ids, answer, T5GEMMA), more=ANSWERS)
BALANCED = {**T5GEMMA, "tie_word_embeddings": False, "encoder": {**MODULE, "attn_logit_softcapping": None},
            "decoder": {**MODULE, "attn_logit_softcapping": None, "final_logit_softcapping": None, "attention_bias": True}}
case("t5gemma_balanced", BALANCED, lambda c, ids, answer: t5gemma(c, ids, answer, BALANCED), "float32", more=ANSWERS)

DEBERTA = {"model_type": "deberta-v2", **SIZES, "hidden_act": "gelu", "layer_norm_eps": 1e-7, "max_position_embeddings": 24,
           "max_relative_positions": -1, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0,
           "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
           "conv_kernel_size": 0, "pad_token_id": 0}
case("deberta_v3_shared", DEBERTA, lambda c, ids: deberta(c, ids, DEBERTA, head="lm_predictions.lm_head"),
     more={"token_ids": [[5, 7, 3, 9, 9, 11, 3, 15, 4, 18, 6, 12, 8, 14], [8, 12, 6, 19]]})
APART = {**DEBERTA, "share_att_key": False, "pos_att_type": ["c2p"], "position_buckets": -1, "max_relative_positions": 6,
         "norm_rel_ebd": "none", "position_biased_input": True}
case("deberta_v2_apart", APART, lambda c, ids: deberta(c, ids, APART), "float32")
FIRST = {key: value for key, value in APART.items() if key not in ("share_att_key", "position_buckets", "norm_rel_ebd", "conv_kernel_size")}
FIRST.update({"model_type": "deberta", "pos_att_type": "c2p|p2c", "max_relative_positions": -1, "position_biased_input": False})
case("deberta_fused", FIRST, lambda c, ids: deberta(c, ids, FIRST, True))


MIXTRAL = tuple("block_sparse_moe." + name + end for name, end in
                (("gate", ""), ("experts.{e}.w1", ".weight"), ("experts.{e}.w3", ".weight"), ("experts.{e}.w2", ".weight")))
MLP = ("mlp.gate", "mlp.experts.{e}.gate_proj.weight", "mlp.experts.{e}.up_proj.weight", "mlp.experts.{e}.down_proj.weight")
TOGETHER = ("mlp.gate", "mlp.experts.gate_up_proj", "", "mlp.experts.down_proj")
MULTIPLIERS = {"embedding_multiplier": 3.0, "attention_multiplier": 0.7, "residual_multiplier": 0.4, "logits_scaling": 5.0}
granite = {"embed": lambda x: 3.0 * x, "scale": 0.7, "branch": 0.4, "logit": 1 / 5.0, "tied": True}

case("granite_multipliers", {"model_type": "granite", **GROUPED, **MULTIPLIERS, "attention_bias": False, "mlp_bias": False,
                             "rms_norm_eps": 1e-5, "rope_theta": 10000, "tie_word_embeddings": True},
     lambda c, ids: stack(c, ids, eps=1e-5, **granite))
cohere = {"names": llama_names(n2="input_layernorm", qn="self_attn.q_norm", kn="self_attn.k_norm"), "kind": "layer",
          "eps": 1e-5, "parallel": True, "tied": True}
case("cohere_norms_of_heads", {"model_type": "cohere", **GROUPED, "use_qk_norm": True, "logit_scale": 0.3,
                               "layer_norm_eps": 1e-5, "rope_theta": 50.0},
     lambda c, ids: stack(c, ids, **cohere, qk="heads", logit=0.3,
                          rotary=lambda n: {"theta": 50.0, "interleaved": True}))
case("cohere2_windows", {"model_type": "cohere2", **GROUPED, "num_hidden_layers": 3, "sliding_window": 3,
                         "sliding_window_pattern": 2, "layer_norm_eps": 1e-5, "rope_theta": 50.0, "attention_bias": True,
                         "position_embedding_type": "rope_gptj", "rotary_pct": 1.0},
     lambda c, ids: stack(c, ids, **cohere, layers=3, logit=0.0625, bias="qkvo", window=lambda n: None if n == 1 else 3,
                          rotary=lambda n: None if n == 1 else {"theta": 50.0, "interleaved": True}))


def olmo(c, ids):
    at = {"n1": "input_layernorm", "n2": "post_attention_layernorm"}
    own = Bare(c)
    return stack(own, ids, names=llama_names(**at), kind="layer", eps=1e-5, clip=0.9, groups=H)


case("olmo_bare_norms_clipped", {"model_type": "olmo", **SIZES, "clip_qkv": 0.9, "rope_theta": 10000.0}, olmo)
STABLE = {"model_type": "stablelm", **GROUPED, "head_dim": None, "partial_rotary_factor": 0.5, "use_qkv_bias": True,
          "layer_norm_eps": 1e-5, "rope_theta": 10000}
stable = {**LAYER, "norm_bias": True, "rotary": lambda n: {"width": 2}}
case("stablelm_partial", STABLE, lambda c, ids: stack(c, ids, **stable, bias="qkv"))
case("stablelm_parallel_head_norms", {**STABLE, "use_qkv_bias": False, "use_parallel_residual": True, "qk_layernorm": True},
     lambda c, ids: stack(c, ids, **stable, parallel=True, qk="list",
                          names=llama_names(n2="input_layernorm", qn="self_attn.q_layernorm", kn="self_attn.k_layernorm")))


case("codegen_four_parts", {"model_type": "codegen", "vocab_size": V, "n_embd": D, "n_head": H, "n_layer": 2, "n_inner": F,
                            "n_positions": 16, "rotary_dim": 2, "activation_function": "gelu_new",
                            "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False},
     lambda c, ids: stack(c, ids, **{**GPT, "tied": False, "bias": "m", "rotary": lambda n: {"width": 2, "interleaved": True}},
                          names=llama_names(q="attn.qkv_proj", o="attn.out_proj", n1="ln_1", n2="ln_1", gate=None,
                                            up="mlp.fc_in", down="mlp.fc_out"),
                          parallel=True, groups=H, act=gelu_tanh, fused=four_parts, head_bias=True))
ALPHA = 50.0 * 3.0 ** (6 / 4)
case("hunyuan_norms_after_rotation", {"model_type": "hunyuan_v1_dense", **GROUPED, "head_dim": 6, "rope_theta": 50.0,
                                      "rms_norm_eps": 1e-5, "attention_bias": False, "max_position_embeddings": 64,
                                      "rope_scaling": {"type": "dynamic", "alpha": 3.0, "factor": 1.0, "mscale": 1.0,
                                                       "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}},
     lambda c, ids: stack(c, ids, d=6, eps=1e-5, qk="after", rotary=lambda n: {"theta": ALPHA},
                          names=llama_names(qn="self_attn.query_layernorm", kn="self_attn.key_layernorm")))


BAND = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8}


case("apertus_xielu", {"model_type": "apertus", **GROUPED, "hidden_act": "xielu", "rms_norm_eps": 1e-5, "rope_theta": 12.0,
                       "rope_scaling": {"rope_type": "llama3", **BAND}},
     lambda c, ids: stack(
         c, ids, eps=1e-5, qk="head", rotary=lambda n: {"frequencies": banded(D // H, 12.0, BAND)},
         names=llama_names(n1="attention_layernorm", n2="feedforward_layernorm", qn="self_attn.q_norm",
                           kn="self_attn.k_norm"),
         mlp=lambda x, at, n: c.linear(xielu(c, c.linear(x, at + "mlp.up_proj", F), at + "mlp.act_fn."),
                                       at + "mlp.down_proj", D)))
HIDDEN = 4
ESM = {"model_type": "esm", **SIZES, "mask_token_id": HIDDEN, "pad_token_id": 1, "token_dropout": True,
       "layer_norm_eps": 1e-5, "hidden_act": "gelu", "max_position_embeddings": 16}
esm_names = llama_names(q="attention.self.query", k="attention.self.key", v="attention.self.value",
                        o="attention.output.dense", n1="attention.LayerNorm", n2="LayerNorm", gate=None,
                        up="intermediate.dense", down="output.dense")


def esm(c, ids, turned):
    hidden = np.array(ids) == HIDDEN
    factor = (1 - 0.15 * 0.8) / (1 - hidden.mean())
    row = with_positions(c, "esm.embeddings.position_embeddings.weight", 2)

    def embedded(x):
        x = np.where(hidden[:, None], 0, x) * factor
        return x if turned else c.norm(row(x), "esm.embeddings.layer_norm", "layer", 1e-5, True)

    out = stack(c, ids, prefix="esm.", tokens="embeddings.word_embeddings", layer="encoder.layer.{}.", names=esm_names,
                final="encoder.emb_layer_norm_after", tied=True, norm_bias=True, bias="qkvom", act=gelu, causal=False,
                groups=H, **LAYER, rotary=lambda n: {} if turned else None, embed=embedded,
                logits_of=lambda x: c.norm(gelu(c.linear(x, "lm_head.dense", D, True)), "lm_head.layer_norm", "layer", 1e-5,
                                           True))
    out["logits"] = out["logits"] + c.draw("lm_head.bias", (V,), 0, 0.4)
    return out


case("esm_rotary", {**ESM, "position_embedding_type": "rotary", "emb_layer_norm_before": False},
     lambda c, ids: esm(c, ids, True), more={"token_ids": [[5, HIDDEN, 7, 9, 9, 11, 3, 15], [8, 12, HIDDEN, 6, 19]]})


def with_contacts(c, ids, out):
    """The head that reads contacts from all weights: symmetric maps without the outer tokens, less the products of their sums."""
    L, layers = len(ids), 2
    seen = (np.array(ids) != 2).astype(float)
    maps = np.concatenate([out[f"layers.{n}.self.weights"] for n in range(layers)]) * seen[:, None] * seen
    maps = maps[:, 1:-1, 1:-1]
    maps = maps + maps.transpose(0, 2, 1)
    maps = maps - maps.sum(2, keepdims=True) * maps.sum(1, keepdims=True) / maps.sum((1, 2), keepdims=True)
    factors = c.draw("esm.contact_head.regression.weight", (1, layers * H), 0, 4.0)[0]
    bias = c.draw("esm.contact_head.regression.bias", (1,), -1, 0.5)[0]
    out["contacts"] = 1 / (1 + np.exp(-np.tensordot(factors, maps, 1) - bias))
    return out


PROTEINS = {"token_ids": [[0, 5, 7, 9, 9, 11, 3, 15, 2], [0, 8, 12, 2, 6, 19, 2]]}
case("esm_contacts", {**ESM, "position_embedding_type": "rotary", "emb_layer_norm_before": False},
     lambda c, ids: with_contacts(c, ids, esm(c, ids, True)), more=PROTEINS)
case("esm_learned", {**ESM, "position_embedding_type": "absolute", "emb_layer_norm_before": True},
     lambda c, ids: esm(c, ids, False), "float32")
case("mixtral_experts", {"model_type": "mixtral", **GROUPED, "num_local_experts": 6, "num_experts_per_tok": 2,
                         "sliding_window": None, "rms_norm_eps": 1e-5, "rope_theta": 1e6},
     lambda c, ids: stack(c, ids, eps=1e-5, rotary=lambda n: {"theta": 1e6},
                          mlp=lambda x, at, n: experts(c, x, at, MIXTRAL, 6, 2)))
case("mixtral_stacked_experts", {"model_type": "mixtral", **GROUPED, "num_local_experts": 6, "num_experts_per_tok": 2,
                                 "rms_norm_eps": 1e-5, "sliding_window": 4, "rope_parameters":
                                 {"rope_type": "default", "rope_theta": 500.0}},
     lambda c, ids: stack(c, ids, eps=1e-5, window=lambda n: 4, rotary=lambda n: {"theta": 500.0},
                          mlp=lambda x, at, n: experts(c, x, at, TOGETHER, 6, 2, stacked=True)), "float32")
case("phimoe_near_experts", {"model_type": "phimoe", **GROUPED, "num_local_experts": 6, "num_experts_per_tok": 2,
                             "rms_norm_eps": 1e-5, "router_jitter_noise": 0.2, "attention_bias": True, "lm_head_bias": True,
                             "sliding_window": 5, "rope_theta": 100.0, "max_position_embeddings": 64,
                             "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [2.0, 5.0],
                                              "short_mscale": 1.2, "long_mscale": 1.2,
                                              "original_max_position_embeddings": 8}},
     lambda c, ids: stack(c, ids, **LAYER, norm_bias=True, bias="qkvo", window=lambda n: 5, head_bias=True,
                          rotary=lambda n: {"amplitude": 1.2, "frequencies": np.array([1.0, 0.1]) /
                                            ([2.0, 5.0] if len(ids) > 8 else [1.0, 1.5])}, mlp=lambda x, at, n: experts(c, x, at, MIXTRAL, 6, 2, 0.2)))
case("olmoe_clipped_experts", {"model_type": "olmoe", **SIZES, "num_experts": 5, "num_experts_per_tok": 2,
                               "norm_topk_prob": False, "clip_qkv": 1.5, "rms_norm_eps": 1e-5},
     lambda c, ids: stack(c, ids, names=llama_names(qn="self_attn.q_norm", kn="self_attn.k_norm"), groups=H, qk="whole",
                          clip=1.5, eps=1e-5, mlp=lambda x, at, n: experts(c, x, at, MLP, 5, 2, "all")))


def with_shared_expert(c, x, at, of_experts):
    own = at + "mlp.shared_expert"
    wide = silu(c.linear(x, own + ".gate_proj", 20)) * c.linear(x, own + ".up_proj", 20)
    share = 1 / (1 + np.exp(-c.linear(x, own + "_gate", 1)))
    return of_experts(x, at) + share * c.linear(wide, own + ".down_proj", D)


def qwen2_moe(c, x, at, n):
    if n != 1:  # decoder_sparse_step 2, layer 3 among mlp_only_layers
        return c.linear(silu(c.linear(x, at + "mlp.gate_proj", F)) * c.linear(x, at + "mlp.up_proj", F), at + "mlp.down_proj", D)
    return with_shared_expert(c, x, at, lambda x, at: experts(c, x, at, MLP, 4, 2, "all"))


case("qwen2_moe_shared_expert", {"model_type": "qwen2_moe", **GROUPED, "num_hidden_layers": 4, "num_experts": 4,
                                 "num_experts_per_tok": 2, "norm_topk_prob": False, "decoder_sparse_step": 2,
                                 "mlp_only_layers": [3], "moe_intermediate_size": F, "shared_expert_intermediate_size": 20,
                                 "rms_norm_eps": 1e-6, "use_sliding_window": True, "sliding_window": 3,
                                 "max_window_layers": 2},
     lambda c, ids: stack(c, ids, layers=4, bias="qkv", window=lambda n: 3 if n == 0 else None,
                          mlp=lambda x, at, n: qwen2_moe(c, x, at, n)))
case("qwen3_moe_head_norms", {"model_type": "qwen3_moe", **GROUPED, "head_dim": 6, "num_experts": 4, "num_experts_per_tok": 3,
                              "norm_topk_prob": True, "moe_intermediate_size": F, "mlp_only_layers": [],
                              "decoder_sparse_step": 1, "rope_theta": 1000.0},
     lambda c, ids: stack(c, ids, names=llama_names(qn="self_attn.q_norm", kn="self_attn.k_norm"), qk="head", d=6,
                          rotary=lambda n: {"theta": 1000.0}, mlp=lambda x, at, n: experts(c, x, at, MLP, 4, 3)))
QWEN = {"n1": "input_layernorm", "qn": "self_attn.q_norm", "kn": "self_attn.k_norm"}
hybrid = {"names": llama_names(**QWEN), "qk": "head", "kind": "rms_plus_one", "gated": True, "layers": 4}
DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6, "linear_value_head_dim": 5,
         "linear_conv_kernel_dim": 4}


def linear_but_last(together, every=4):
    return lambda c, x, at, n: None if (n + 1) % every == 0 else gated_delta_net(c, x, at, 2, 4, 6, 5, 4, together=together)


def qwen3_next(c, x, at, n):
    if n == 2:  # mlp_only_layers
        return c.linear(silu(c.linear(x, at + "mlp.gate_proj", F)) * c.linear(x, at + "mlp.up_proj", F), at + "mlp.down_proj", D)
    return with_shared_expert(c, x, at, lambda x, at: experts(c, x, at, MLP, 6, 3))


case("qwen3_next_delta_rule", {"model_type": "qwen3_next", **GROUPED, **DELTA, "num_hidden_layers": 4, "head_dim": 8,
                               "full_attention_interval": 4, "partial_rotary_factor": 0.25, "rope_theta": 700.0,
                               "num_experts": 6, "num_experts_per_tok": 3, "norm_topk_prob": True, "moe_intermediate_size": F,
                               "shared_expert_intermediate_size": 20, "decoder_sparse_step": 1, "mlp_only_layers": [2],
                               "rms_norm_eps": 1e-6, "attention_bias": False, "hidden_act": "silu"},
     lambda c, ids: stack(c, ids, **hybrid, d=8, linear=linear_but_last(True), mlp=lambda x, at, n: qwen3_next(c, x, at, n),
                          rotary=lambda n: {"theta": 700.0, "width": 2}))
TYPES = ["linear_attention", "full_attention"] * 2
QWEN3_5 = {**GROUPED, **DELTA, "num_hidden_layers": 4, "head_dim": 8, "layer_types": TYPES, "full_attention_interval": 4,
           "rms_norm_eps": 1e-6, "attn_output_gate": True, "mamba_ssm_dtype": "float32",
           "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.5,
                               "mrope_section": [1, 1, 0], "mrope_interleaved": True}}
qwen3_5 = {**hybrid, "d": 8, "linear": linear_but_last(False, 2), "rotary": lambda n: {"theta": 5000.0, "width": 4}}
case("qwen3_5_text_part", {"model_type": "qwen3_5", "tie_word_embeddings": True, "image_token_id": 19,
                           "text_config": {"model_type": "qwen3_5_text", **QWEN3_5}, "vision_config": {"model_type": "qwen3_5"}},
     lambda c, ids: stack(c, ids, **qwen3_5, prefix="model.language_model.", tied=True))
case("qwen3_5_moe_shared_expert", {"model_type": "qwen3_5_moe_text", **QWEN3_5, "num_hidden_layers": 2, "num_experts": 5, "num_experts_per_tok": 2,
                                     "moe_intermediate_size": F, "shared_expert_intermediate_size": 20},
     lambda c, ids: stack(c, ids, **{**qwen3_5, "layers": 2}, mlp=lambda x, at, n: with_shared_expert(
         c, x, at, lambda x, at: experts(c, x, at, TOGETHER, 5, 2, stacked=True))), "float32")
GRANITE = ("block_sparse_moe.router.layer", "block_sparse_moe.input_linear.weight", "",
           "block_sparse_moe.output_linear.weight")
case("granitemoe_multipliers", {"model_type": "granitemoe", **GROUPED, **MULTIPLIERS, "num_local_experts": 6,
                                "num_experts_per_tok": 2, "rms_norm_eps": 1e-6, "tie_word_embeddings": True},
     lambda c, ids: stack(c, ids, **granite, mlp=lambda x, at, n: experts(c, x, at, GRANITE, 6, 2, stacked=True)))


case("ernie4_5_interleaved", {"model_type": "ernie4_5", **GROUPED, "head_dim": 6, "use_bias": True, "rms_norm_eps": 1e-5},
     lambda c, ids: stack(c, ids, d=6, eps=1e-5, bias="qkvom", tied=True, rotary=lambda n: {"theta": 500000.0, "interleaved": True}))
case("cwm_windows", {"model_type": "cwm", **GROUPED, "num_hidden_layers": 5, "head_dim": 8, "sliding_window": 3,
                     "rope_scaling": {"rope_type": "llama3", **BAND}, "rope_theta": 12.0},
     lambda c, ids: stack(c, ids, layers=5, d=8, eps=1e-5, window=lambda n: None if n % 4 == 0 else 3,
                          rotary=lambda n: {"frequencies": banded(8, 12.0, BAND)}))
case("nemotron_squared_relu", {"model_type": "nemotron", **GROUPED, "norm_eps": 1e-5, "rope_theta": 100.0, "hidden_act": "relu2"},
     lambda c, ids: stack(c, ids, names=llama_names(gate=None), kind="layer_plus_one", eps=1e-5, norm_bias=True,
                          act=lambda x: relu(x) ** 2, rotary=lambda n: {"theta": 100.0, "width": 2}))


def after_dense(c, x, at, n, count, rule, dense=1):
    if n < dense:
        return c.linear(silu(c.linear(x, at + "mlp.gate_proj", F)) * c.linear(x, at + "mlp.up_proj", F), at + "mlp.down_proj", D)
    own = at + "mlp.shared_experts"
    wide = silu(c.linear(x, own + ".gate_proj", 20)) * c.linear(x, own + ".up_proj", 20)
    return experts(c, x, at, MLP, count, 2, rule(at)) + c.linear(wide, own + ".down_proj", D)


ROUTED = {**SIZES, "num_hidden_layers": 3, "n_routed_experts": 6, "num_experts_per_tok": 2, "n_group": 3, "topk_group": 2,
          "norm_topk_prob": True, "routed_scaling_factor": 2.5, "first_k_dense_replace": 1, "n_shared_experts": 1,
          "moe_intermediate_size": F}
case("glm4_moe_groups_of_experts", {"model_type": "glm4_moe", **ROUTED, "num_key_value_heads": 2, "head_dim": 8, "use_qk_norm": True,
                                    "attention_bias": True, "rope_theta": 100.0, "partial_rotary_factor": 0.5},
     lambda c, ids: stack(c, ids, layers=3, d=8, eps=1e-5, bias="qkv", qk="head",
                          names=llama_names(qn="self_attn.q_norm", kn="self_attn.k_norm"), rotary=lambda n: {"theta": 100.0, "width": 4},
                          mlp=lambda x, at, n: after_dense(c, x, at, n, 6, lambda at: routed(c, at, 6, 2, 3, 2, scale=2.5))))
case("deepseek_v3_latent", {"model_type": "deepseek_v3", **ROUTED, "num_key_value_heads": H, "q_lora_rank": 10, "kv_lora_rank": 6,
                            "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 5, "norm_topk_prob": False,
                            "rope_theta": 100.0, "rms_norm_eps": 1e-5},
     lambda c, ids: stack(c, ids, layers=3, eps=1e-5, projected=lambda c, x, at: latent(c, x, at, 100.0),
                          mlp=lambda x, at, n: after_dense(c, x, at, n, 6,
                                                           lambda at: routed(c, at, 6, 2, 3, 2, normalised=False, scale=2.5))))


def set_sizes(sizes):
    for module in (definitions, sys.modules[__name__]):
        vars(module).update(sizes)


def padded(samples):
    """Tensors of several texts as one, with zeros beyond each text."""
    shape = np.max([x.shape for x in samples], axis=0)
    return np.stack([np.pad(x, [(0, b - a) for a, b in zip(x.shape, shape)]) for x in samples])


def rounded(x):
    return [rounded(y) for y in x] if isinstance(x, list) else float("%.11g" % x)


def write(folder, name):
    config, run, dtype, more, sizes = CASES[name]
    usual = {size: globals()[size] for size in sizes}
    set_sizes(sizes)
    c = Checkpoint(name)
    texts = more.get("token_ids") or [[int(t) for t in c.random.integers(3, V, n)] for n in (9, 6)]
    document = {"token_ids": texts, "model": "checkpoint", "logits": True, "dtype": dtype, **more}
    if dtype == "float32":
        del document["dtype"]
    answers = more.get("decoder_token_ids")
    outs = [run(c, ids, answers[b]) if answers else run(c, ids) for b, ids in enumerate(texts)]
    set_sizes(usual)
    config = {**config, **{key: sizes[size] for key, size in SIZE_KEYS.items() if key in config and size in sizes}}
    if not document["logits"]:
        for out in outs:
            del out["logits"]
    at = os.path.join(folder, name)
    os.makedirs(os.path.join(at, "checkpoint"), exist_ok=True)
    c.save(os.path.join(at, "checkpoint", "model.safetensors"))
    with open(os.path.join(at, "checkpoint", "config.json"), "w") as file:
        file.write(json.dumps(config, indent=1) + "\n")
    with open(os.path.join(at, "input.json"), "w") as file:
        file.write(json.dumps(document) + "\n")
    tensors = {key: rounded(padded([out[key] for out in outs]).tolist()) for key in outs[0]}
    expected = {"source": "an independent double-precision implementation",
                "tolerance": {"float32": 2e-05 if dtype == "float32" else 1e-09}, "tensors": tensors}
    with open(os.path.join(at, "expected.json"), "w") as file:
        file.write(json.dumps(expected, separators=(",", ":")))


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        write(sys.argv[1], name)
