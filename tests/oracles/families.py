"""Configurations of tiny models, drawn for each family: what the classes of transformers take."""

SIZES = dict(vocab_size=61, hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
             max_position_embeddings=64)
SHORT = dict(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=64)
VISION = dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, image_size=16,
              patch_size=4)
def stages(d, **more):
    depths, heads = d(([2, 2], [2, 4]), ([3, 2], [1, 4]), ([2, 1, 2], [2, 2, 4]))
    return dict(image_size=16, patch_size=2, embed_dim=8, depths=depths, num_heads=heads, window_size=d(2, 4) if len(depths) < 3 else 2,
                mlp_ratio=d(2.0, 4.0), qkv_bias=d(True, False), hidden_act=d("gelu", "relu"), layer_norm_eps=d(1e-5, 1e-3)) | more
def bert(d, **more):
    return SIZES | dict(layer_norm_eps=d(1e-12, 1e-3), hidden_act=d("gelu", "relu", "gelu_new"), tie_word_embeddings=d(True, False)) | more
def llama(d, window=False, groups=True, rope=True, both=False, **more):
    own = SIZES | dict(tie_word_embeddings=d(True, False))
    if groups:
        own["num_key_value_heads"] = d(1, 2, 4)
    if rope:
        own["rope_parameters"] = d({"rope_type": "default", "rope_theta": 500.0},
                                   {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0})
    if both:  # sees both sides
        own["is_causal"] = d(True, True, False)
    if window:
        own |= dict(sliding_window=d(3, 5), layer_types=[d("sliding_attention", "full_attention") for _ in range(3)])
    return own | more
def experts(d, key="num_local_experts", **more):
    return {key: 4, "num_experts_per_tok": d(1, 2), "moe_intermediate_size": 24} | more
def routed(d):  # as DeepSeek-V3
    groups, best = d((1, 1), (4, 1), (4, 2))
    return dict(n_routed_experts=8, n_group=groups, topk_group=best, num_experts_per_tok=2, n_shared_experts=d(1, 2), moe_intermediate_size=24,
                norm_topk_prob=d(True, False), routed_scaling_factor=d(1.0, 2.5), first_k_dense_replace=d(0, 1))
def latent(d):
    return routed(d) | dict(q_lora_rank=d(None, 12), kv_lora_rank=12, qk_rope_head_dim=d(4, 8), qk_nope_head_dim=d(6, 8), v_head_dim=d(8, 10))
def yarn(d):
    return d({"rope_type": "default", "rope_theta": 500.0}, {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 8.0, "beta_fast": 32,
             "original_max_position_embeddings": 8, "beta_slow": 1, "mscale": d(0.7, 1.0), "mscale_all_dim": d(0.7, 1.0)})
def layer_kinds(d):
    return dict(mlp_layer_types=[d("dense", "sparse"), "sparse", d("dense", "sparse")])
def gpt2(d, **more):
    return SHORT | dict(tie_word_embeddings=d(True, False)) | more
def bart(d, layers=2, **more):
    return dict(vocab_size=61, d_model=32, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=4,
                decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=64,
                scale_embedding=d(True, False), tie_word_embeddings=d(True, True, False), pad_token_id=1, bos_token_id=0, eos_token_id=60,
                decoder_start_token_id=2, forced_eos_token_id=None) | more
def t5(d, **more):
    return dict(vocab_size=61, d_model=32, d_kv=8, d_ff=40, num_layers=2, num_decoder_layers=2, num_heads=4,
                decoder_start_token_id=0, feed_forward_proj=d("relu", "gated-gelu"),
                tie_word_embeddings=d(True, False)) | more
def linear(d):
    return dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8,
                layer_types=["linear_attention", "full_attention", "linear_attention"], head_dim=8,
                hidden_act="silu", rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})
def mamba2(d, **more):
    return dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=d(1, 2), mamba_d_state=d(4, 6), mamba_d_conv=d(2, 4), mamba_conv_bias=d(True, False),
                mamba_proj_bias=d(True, False), mamba_chunk_size=4, mamba_expand=2, hidden_act="silu") | more
def mixed(d):
    return dict(layer_types=["linear_attention", "full_attention", d("linear_attention", "full_attention")])
def seq_parts(d):
    part = llama(d, window=True, head_dim=8, query_pre_attn_scalar=8, hidden_activation="gelu_pytorch_tanh",
                 rope=False)
    part = {key: value for key, value in part.items() if key != "tie_word_embeddings"}
    part["sliding_window"] = 32  # windows as wide as texts: versions differ in narrower ones
    return dict(encoder=part, decoder=dict(part), vocab_size=61)
def container(d, text, sections):
    text = dict(text)
    if d(True, False):  # the word of the whole counts before that of the part
        text.pop("tie_word_embeddings", None)
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": 500.0, "mrope_section": sections}
    return dict(text_config=text, tie_word_embeddings=d(True, False), vision_config=dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2,
                                                     intermediate_size=16, out_hidden_size=32),
                image_token_id=58, video_token_id=57, vision_start_token_id=56, vision_end_token_id=55)
def beside_pictures(d, text, kind, vision="siglip_vision_model", **more):
    text = text | dict(model_type=kind)
    if d(True, False):
        text.pop("tie_word_embeddings", None)
    return dict(text_config=text, vision_config=VISION | dict(model_type=vision), tie_word_embeddings=d(True, False), image_token_index=58, image_token_id=58) | more

# By family: the kind of its model, and what draws its configuration.
FAMILIES = {
    **{name: ("masked", bert) for name in ("bert", "electra", "nomic_bert")},
    **{name: ("masked", lambda d: bert(d, pad_token_id=1)) for name in ("roberta", "xlm-roberta", "camembert", "mpnet")},
    "esm": ("masked", lambda d: bert(d, pad_token_id=1, mask_token_id=60, token_dropout=d(True, False), hidden_act="gelu",
                                     position_embedding_type=d("absolute", "rotary"))),
    "distilbert": ("masked", lambda d: dict(vocab_size=61, dim=32, hidden_dim=40, n_layers=2, n_heads=4, max_position_embeddings=64)),
    "albert": ("masked", lambda d: bert(d, embedding_size=d(16, 32), num_hidden_layers=d(3, 4), num_hidden_groups=d(1, 2, 3), inner_group_num=d(1, 2))),
    "deberta": ("masked", lambda d: bert(d, relative_attention=True, pos_att_type=["c2p", "p2c"], type_vocab_size=0, embedding_size=d(24, 32))),
    "deberta-v2": ("masked", lambda d: bert(d, relative_attention=True, pos_att_type=d(["c2p", "p2c"], ["c2p"]),
                                            share_att_key=d(True, False), position_buckets=d(8, 16), embedding_size=d(24, 32),
                                            type_vocab_size=d(0, 2), position_biased_input=d(True, False), conv_kernel_size=d(0, 3, 5),
                                            conv_groups=d(1, 2), conv_act=d("tanh", "gelu"))),
    "modernbert": ("masked", lambda d: SIZES | dict(pad_token_id=0, global_attn_every_n_layers=d(2, 3), local_attention=d(4, 8))),
    "eurobert": ("masked", lambda d: llama(d, tie_word_embeddings=False, pad_token_id=0, mask_token_id=60)),
    "gpt2": ("causal", lambda d: gpt2(d, activation_function=d("gelu_new", "relu"))),
    "gpt_neo": ("causal", lambda d: dict(vocab_size=61, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=64,
                                         window_size=d(3, 5), attention_types=[[["global", "local"], 1]])),
    "gptj": ("causal", lambda d: gpt2(d, rotary_dim=d(4, 8))),
    "codegen": ("causal", lambda d: gpt2(d, rotary_dim=d(4, 8), n_ctx=64)),
    "gpt_bigcode": ("causal", lambda d: gpt2(d, multi_query=d(True, False))),
    "biogpt": ("causal", lambda d: bert(d)),
    "xglm": ("causal", lambda d: dict(vocab_size=61, d_model=32, ffn_dim=40, num_layers=2, attention_heads=4, max_position_embeddings=64)),
    "mpt": ("causal", lambda d: dict(vocab_size=61, d_model=32, n_heads=d(4, 8), n_layers=2, max_seq_len=64)),
    "gpt_neox": ("causal", lambda d: SIZES | dict(use_parallel_residual=d(True, False), attention_bias=d(True, False))),
    "bloom": ("causal", lambda d: dict(vocab_size=61, hidden_size=32, n_layer=2, n_head=d(4, 8))),
    "falcon": ("causal", lambda d: SIZES | dict(multi_query=d(True, False), parallel_attn=d(True, False), bias=d(True, False),
                                                alibi=d(True, False), num_attention_heads=d(4, 16), ffn_hidden_size=40)),
    "opt": ("causal", lambda d: SIZES | dict(ffn_dim=40, word_embed_proj_dim=d(16, 32), do_layer_norm_before=d(True, False))),
    "llama": ("causal", lambda d: llama(d, both=True, attention_bias=d(True, False), mlp_bias=d(True, False))),
    "mistral": ("causal", lambda d: llama(d, both=True, sliding_window=d(None, 3))),
    "starcoder2": ("causal", lambda d: llama(d, use_bias=d(True, False), sliding_window=d(None, 3))),
    "granite": ("causal", lambda d: llama(d, embedding_multiplier=3.0, residual_multiplier=0.5, logits_scaling=2.0, attention_multiplier=0.3)),
    "cohere": ("causal", lambda d: llama(d, use_qk_norm=d(True, False), logit_scale=0.5)),
    "olmo": ("causal", lambda d: llama(d, clip_qkv=d(None, 0.7))),
    "stablelm": ("causal", lambda d: llama(d, rope=False, use_parallel_residual=d(True, False), qk_layernorm=d(True, False))),
    "hunyuan_v1_dense": ("causal", lambda d: llama(d, head_dim=8)),
    "qwen2": ("causal", lambda d: llama(d, both=True)),
    "qwen3": ("causal", lambda d: llama(d, both=True, head_dim=d(8, 16))),
    "smollm3": ("causal", lambda d: llama(d, no_rope_layers=[1, 0, 1], pad_token_id=0)),
    "gemma": ("causal", lambda d: llama(d, both=True, head_dim=d(8, 16))),
    "gemma2": ("causal", lambda d: llama(d, window=True, head_dim=8, query_pre_attn_scalar=d(8, 20))),
    "gemma3_text": ("causal", lambda d: llama(d, window=True, rope=False, head_dim=8, query_pre_attn_scalar=d(8, 20))),
    "phi": ("causal", lambda d: llama(d, rope=False, qk_layernorm=d(True, False))),
    "phi3": ("causal", lambda d: llama(d, rope=False, pad_token_id=0, sliding_window=d(None, 3))),
    "mixtral": ("causal", lambda d: llama(d, **experts(d))),
    "phimoe": ("causal", lambda d: llama(d, rope=False, **(experts(d) | dict(num_experts_per_tok=2)))),
    "granitemoe": ("causal", lambda d: llama(d, **experts(d))),
    "olmoe": ("causal", lambda d: llama(d, **experts(d, "num_experts"))),
    "qwen2_moe": ("causal", lambda d: llama(d, **experts(d, "num_experts", shared_expert_intermediate_size=16))),
    "qwen3_moe": ("causal", lambda d: llama(d, head_dim=8, **experts(d, "num_experts"))),
    "gpt_oss": ("causal", lambda d: llama(d, window=True, head_dim=8, **experts(d))),
    "qwen3_next": ("causal", lambda d: llama(d) | linear(d) | experts(d, "num_experts", shared_expert_intermediate_size=16)),
    "qwen3_5_text": ("causal", lambda d: llama(d) | linear(d)),
    "qwen3_5_moe_text": ("causal", lambda d: llama(d) | linear(d) | experts(d, "num_experts", shared_expert_intermediate_size=16)),
    "qwen3_vl": ("container", lambda d: container(d, llama(d, head_dim=8), [2, 1, 1])),
    "qwen3_vl_moe": ("container", lambda d: container(d, llama(d, head_dim=8, **experts(d, "num_experts")), [2, 1, 1])),
    "glm4v": ("container", lambda d: container(d, llama(d, head_dim=8, pad_token_id=0), [2, 1, 1])),
    "ernie": ("masked", lambda d: bert(d, use_task_id=d(True, False), task_type_vocab_size=2)),
    **{name: ("masked", lambda d: bert(d, pad_token_id=1)) for name in ("data2vec-text", "roberta-prelayernorm", "xlm-roberta-xl")},
    "megatron-bert": ("masked", bert),
    "bert-generation": ("causal", lambda d: bert(d, is_decoder=True, pad_token_id=0)),
    "rembert": ("masked", lambda d: bert(d, input_embedding_size=d(16, 32), output_embedding_size=d(16, 24), tie_word_embeddings=False)),
    "roformer": ("masked", lambda d: bert(d, embedding_size=d(16, 32))),
    "modernbert-decoder": ("causal", lambda d: SIZES | dict(pad_token_id=0, local_attention=d(4, 8), tie_word_embeddings=d(True, False),
                                                            layer_types=[d("sliding_attention", "full_attention") for _ in range(3)])),
    "apertus1p5_text": ("causal", lambda d: llama(d, output_vocab_size=d(None, 40), tie_word_embeddings=False)),
    "openai-gpt": ("causal", lambda d: gpt2(d, afn=d("gelu", "relu", "silu"))),
    "persimmon": ("causal", lambda d: llama(d, groups=False, rope=False, qk_layernorm=d(True, False))),
    "ministral": ("causal", lambda d: llama(d, window=True, head_dim=d(8, 16))),
    "seed_oss": ("causal", lambda d: llama(d, head_dim=d(8, 16), attention_bias=d(True, False), attention_out_bias=d(True, False),
                                           mlp_bias=d(True, False))),
    "cwm": ("causal", lambda d: llama(d, window=True, head_dim=8, mlp_bias=d(True, False))),
    "ernie4_5": ("causal", lambda d: llama(d, head_dim=d(8, 16), use_bias=d(True, False))),
    "helium": ("causal", lambda d: llama(d, head_dim=8, attention_bias=d(True, False), mlp_bias=d(True, False))),
    "internlm3": ("causal", lambda d: llama(d, head_dim=d(8, 16))),
    "iquestcoder": ("causal", lambda d: llama(d, head_dim=d(8, 16), attention_bias=d(True, False))),
    "exaone": ("causal", lambda d: llama(d, attention_bias=d(True, False))),
    "hyperclovax": ("causal", lambda d: llama(d, embedding_multiplier=3.0, logits_scaling=2.0, attention_multiplier=d(None, 0.3),
                                              **d(dict(use_post_norm=True), dict(use_post_norm=False, residual_multiplier=0.5)))),
    "arcee": ("causal", lambda d: llama(d, mlp_bias=d(True, False), hidden_act=d("relu2", "silu"))),
    "jais2": ("causal", lambda d: llama(d, mlp_bias=d(True, False))),
    "nemotron": ("causal", lambda d: llama(d, rope=False, head_dim=d(8, 16), attention_bias=d(True, False))),
    "vaultgemma": ("causal", lambda d: llama(d, window=True, head_dim=8, query_pre_attn_scalar=d(8, 20))),
    "flex_olmo": ("causal", lambda d: llama(d, pad_token_id=0, **experts(d, "num_experts", norm_topk_prob=d(True, False)))),
    "mellum": ("causal", lambda d: llama(d, window=True, head_dim=8, **experts(d, "num_experts")) | layer_kinds(d) | dict(
        rope_parameters={kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in
                         (("full_attention", d(500.0, 5000.0)), ("sliding_attention", 100.0))})),
    "granitemoeshared": ("causal", lambda d: llama(d, residual_multiplier=0.5, shared_intermediate_size=d(0, 16), **experts(d))),
    "glm4_moe": ("causal", lambda d: llama(d, rope=False, head_dim=8, use_qk_norm=d(True, False), attention_bias=d(True, False), **routed(d))),
    "solar_open": ("causal", lambda d: llama(d, head_dim=8, **routed(d))),
    "sarvam_moe": ("causal", lambda d: llama(d, head_dim=8, use_qk_norm=d(True, False), **routed(d))),
    "dots1": ("causal", lambda d: llama(d, window=True, **routed(d))),
    "exaone_moe": ("causal", lambda d: llama(d, window=True, head_dim=8, num_experts=8, num_shared_experts=d(1, 2), **routed(d)) | layer_kinds(d)),
    "deepseek_v2": ("causal", lambda d: llama(d, groups=False, rope=False, attention_bias=d(True, False), mlp_bias=d(True, False),
                                              topk_method=d("greedy", "group_limited_greedy"), rope_parameters=yarn(d), **latent(d))),
    "deepseek_v3": ("causal", lambda d: llama(d, groups=False, num_key_value_heads=4, attention_bias=d(True, False), rope_interleave=d(True, False), rope_parameters=yarn(d), **latent(d))),
    "glm4_moe_lite": ("causal", lambda d: llama(d, groups=False, num_key_value_heads=4, rope_interleave=d(True, False), **latent(d)) | layer_kinds(d)),
    "sarvam_mla": ("causal", lambda d: llama(d, groups=False, **latent(d))),
    "youtu": ("causal", lambda d: llama(d, groups=False, num_key_value_heads=4, **{key: value for key, value in latent(d).items() if key not in routed(d)})),
    "minimax_m2": ("causal", lambda d: llama(d, rope=False, head_dim=8, rotary_dim=d(4, 8), **experts(d))),
    "ernie4_5_moe": ("causal", lambda d: llama(d, use_bias=d(True, False), moe_num_experts=4, moe_k=d(1, 2), moe_intermediate_size=24,
                                               moe_num_shared_experts=d(0, 1, 2), moe_layer_start_index=d(0, 1), moe_layer_end_index=d(-1, 1))),
    "hunyuan_v1_moe": ("causal", lambda d: llama(d, head_dim=8, num_experts=4, moe_topk=d(1, 2, [2, 2, 2]))),
    "ministral3": ("causal", lambda d: llama(d, rope=False, head_dim=8, sliding_window=d(None, 3), rope_parameters=yarn(d) | dict(
        original_max_position_embeddings=d(3, 8), llama_4_scaling_beta=d(0.1, 0.7)))),
    "llama4_text": ("causal", lambda d: llama(d, rope=False, head_dim=8, attention_bias=d(True, False), attention_chunk_size=d(None, 3, 5),
                                              use_qk_norm=d(True, False), no_rope_layers=[1, 0, d(0, 1)], attn_temperature_tuning=d(True, False),
                                              floor_scale=d(2, 5), attn_scale=0.3, intermediate_size_mlp=28, moe_layers=d([0, 2], [1]),
                                              num_local_experts=4, num_experts_per_tok=d(1, 2))),
    "gemma4_text": ("causal", lambda d: llama(d, rope=False, num_hidden_layers=4, head_dim=8, global_head_dim=d(8, 16), sliding_window=d(3, 5),
                                              layer_types=["sliding_attention", "full_attention", d("sliding_attention", "full_attention"), "full_attention"],
                                              **d(dict(num_kv_shared_layers=2, hidden_size_per_layer_input=6), dict(hidden_size_per_layer_input=d(0, 6))), vocab_size_per_layer_input=61,
                                              attention_k_eq_v=d(True, False), num_global_key_value_heads=d(None, 2), final_logit_softcapping=d(None, 5.0),
                                              use_double_wide_mlp=d(True, False), **d({}, dict(enable_moe_block=True, num_experts=4, top_k_experts=d(1, 2), moe_intermediate_size=24)), attention_bias=d(True, False), rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": d(0.25, 0.5), "rope_theta": 1000.0}})),
    "gemma4_unified_text": ("causal", lambda d: llama(d, rope=False, head_dim=8, global_head_dim=d(8, 16), sliding_window=d(3, 5), attention_k_eq_v=d(True, False),
                                                      layer_types=["sliding_attention", d("sliding_attention", "full_attention"), "full_attention"],
                                                      num_global_key_value_heads=d(None, 2), final_logit_softcapping=d(None, 5.0), rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": d(0.25, 0.5), "rope_theta": 1000.0}})),
    # Its library rounds the quantile of other shares to float32.
    "gemma3n_text": ("causal", lambda d: llama(d, rope=False, num_hidden_layers=4, head_dim=8, intermediate_size=[40] * 4, sliding_window=d(3, 5),
                                               layer_types=["sliding_attention", "full_attention", d("sliding_attention", "full_attention"), "full_attention"],
                                               num_kv_shared_layers=d(0, 2), hidden_size_per_layer_input=6, vocab_size_per_layer_input=d(40, 61),
                                               altup_num_inputs=d(2, 4), altup_active_idx=d(0, 1), altup_correct_scale=d(True, False), laurel_rank=d(4, 8),
                                               activation_sparsity_pattern=d([0.0] * 4, [0.5, 0.5, 0.0, 0.5]), final_logit_softcapping=d(3.0, 5.0), rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}, "full_attention": {"rope_type": "default", "rope_theta": 1000.0}})),
    "lfm2": ("causal", lambda d: llama(d, rope=False, conv_bias=d(True, False), conv_L_cache=d(2, 3, 4), block_multiple_of=8,
                                       layer_types=["conv", "full_attention", d("conv", "full_attention")])),
    "lfm2_moe": ("causal", lambda d: llama(d, rope=False, conv_bias=d(True, False), num_dense_layers=d(0, 1), routed_scaling_factor=d(1.0, 2.5),
                                           norm_topk_prob=d(True, False), use_expert_bias=d(True, False), **experts(d, "num_experts"),
                                           layer_types=["conv", "full_attention", d("conv", "full_attention")])),
    "bamba": ("causal", lambda d: llama(d, rope=False, attention_bias=d(True, False), mlp_bias=d(True, False), attn_layer_indices=d([1], [0, 2]), **mamba2(d))),
    "granitemoehybrid": ("causal", lambda d: llama(d, rope=False, attention_bias=d(True, False), embedding_multiplier=3.0, residual_multiplier=0.5,
                                                   logits_scaling=2.0, attention_multiplier=0.3, position_embedding_type=d(None, "rope"),
                                                   shared_intermediate_size=16, num_local_experts=d(0, 4), num_experts_per_tok=d(1, 2), **mixed(d), **mamba2(d))),
    "falcon_h1": ("causal", lambda d: llama(d, rope=False, attention_bias=d(True, False), mlp_bias=d(True, False), projectors_bias=d(True, False),
                                            mamba_d_ssm=64, mamba_rms_norm=d(True, False), mamba_norm_before_gate=d(True, False), lm_head_multiplier=0.5,
                                            embedding_multiplier=2.0, mlp_multipliers=[0.7, 1.3], key_multiplier=0.8, attention_out_multiplier=0.9,
                                            attention_in_multiplier=1.1, ssm_multipliers=[0.5, 0.6, 0.7, 0.8, 0.9], ssm_in_multiplier=1.2,
                                            ssm_out_multiplier=0.6, **mamba2(d))),
    "jamba": ("causal", lambda d: llama(d, rope=False, num_experts=d(1, 4), num_experts_per_tok=d(1, 2), attn_layer_period=d(2, 3), attn_layer_offset=1,
                                        expert_layer_period=2, expert_layer_offset=d(0, 1), mamba_d_state=d(4, 6), mamba_d_conv=d(2, 4),
                                        mamba_dt_rank=d("auto", 5), mamba_conv_bias=d(True, False), mamba_proj_bias=d(True, False))),
    "nemotron_h": ("causal", lambda d: {key: value for key, value in llama(d, rope=False).items() if key != "num_hidden_layers"} | dict(
        head_dim=d(8, 16), layers_block_type=["linear_attention", d("moe", "mlp"), "full_attention", d("moe", "mlp", "linear_attention")],
        ssm_state_size=d(4, 6), mamba_num_heads=8, mamba_head_dim=8, n_groups=d(1, 2), conv_kernel=d(2, 4), use_conv_bias=d(True, False),
        use_bias=d(True, False), mlp_bias=d(True, False), chunk_size=4, time_step_min=0.3, n_routed_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=24, moe_shared_expert_intermediate_size=16, routed_scaling_factor=d(1.0, 2.5), norm_topk_prob=d(True, False))),
    **{name: ("causal", lambda d, own=own: llama(d, window=True, rope=False, residual_multiplier=0.5, attention_multiplier=0.3, **own(d),
                                                 layer_rope_theta=d(None, [0, 500.0, 10000.0], [100.0, 0, 0])))
       for name, own in (("granite_swa", lambda d: {}), ("granitemoe_swa", lambda d: experts(d, shared_intermediate_size=d(0, 16))))},
    "hy_v3": ("causal", lambda d: llama(d, head_dim=8, attention_bias=d(True, False), router_scaling_factor=d(1.0, 2.5), num_shared_experts=d(1, 2),
                                        **experts(d, "num_experts")) | layer_kinds(d)),
    "flint": ("causal", lambda d: llama(d, window=True, head_dim=8, mlp_only_layers=d([], [0]), attention_bias=d(True, False), norm_topk_prob=d(True, False),
                                        **experts(d, "num_experts", shared_expert_intermediate_size=16))),
    "kolibri1": ("causal", lambda d: {key: value for key, value in llama(d, window=True, head_dim=8, norm_topk_prob=d(True, False), **experts(
        d, "num_experts", shared_expert_intermediate_size=16)).items() if key != "intermediate_size"}),
    "afmoe": ("causal", lambda d: llama(d, window=True, head_dim=d(8, 16), mup_enabled=d(True, False), num_dense_layers=d(0, 1), route_scale=d(1.0, 2.5),
                                        attention_bias=d(True, False), num_shared_experts=d(1, 2), **experts(d, "num_experts"))),
    "cohere2_moe": ("causal", lambda d: llama(d, window=True, head_dim=8, num_experts=4, num_experts_per_tok=d(1, 2), norm_topk_prob=d(True, False),
                                              expert_selection_fn=d("softmax", "sigmoid"), num_shared_experts=d(0, 1, 2), prefix_dense_intermediate_size=20,
                                              shared_expert_combination_strategy=d("average", "sum"), prefix_dense_sliding_window_pattern=d(1, 2)) | layer_kinds(d)),
    "minicpm3": ("causal", lambda d: llama(d, groups=False, num_key_value_heads=4, scale_emb=d(1, 3.0), scale_depth=d(None, 1.4), dim_model_base=d(None, 16),
                                           mlp_bias=d(True, False), attention_bias=d(True, False),
                                           **{key: value for key, value in latent(d).items() if key not in routed(d)})),
    "nanochat": ("causal", lambda d: llama(d, final_logit_softcapping=d(5.0, 15.0), attention_bias=d(True, False))),
    "ctrl": ("causal", lambda d: gpt2(d, dff=40)),
    **{name: ("masked", lambda d: dict(vocab_size=61, emb_dim=32, n_layers=3, n_heads=4, max_position_embeddings=64, gelu_activation=d(True, False),
                                       sinusoidal_embeddings=d(True, False), n_langs=d(1, 2), layer_norm_eps=d(1e-12, 1e-3)))
       for name in ("xlm", "flaubert")},
    "xlnet": ("permuted", lambda d: dict(vocab_size=61, d_model=32, n_layer=3, n_head=d(2, 4), d_inner=40, ff_activation=d("gelu", "relu", "silu"), clamp_len=d(-1, -1, 3),
                                         layer_norm_eps=d(1e-12, 1e-3), tie_word_embeddings=d(True, False), mem_len=d(None, 8), pad_token_id=5)),
    "longformer": ("masked", lambda d: bert(d, attention_window=d(4, 8, [4, 4, 4]), pad_token_id=1)),
    "blenderbot-small": ("both", lambda d: bart(d, decoder_start_token_id=d(1, 2))),
    "emu3_text_model": ("causal", lambda d: llama(d, attention_bias=d(True, False), mlp_bias=d(True, False), pad_token_id=0)),
    "umt5": ("both", t5),
    **{name: ("both", bart) for name in ("plbart", "mvp")},
    "blenderbot": ("both", lambda d: bart(d, decoder_start_token_id=d(1, 2))),
    **{name: ("picture", lambda d: dict(VISION)) for name in ("vit_msn", "ijepa", "blip_vision_model")},
    "vit_mae": ("picture", lambda d: VISION | dict(mask_ratio=0.0)),
    "dinov3_vit": ("picture", lambda d: VISION | dict(num_register_tokens=d(0, 1, 4), use_gated_mlp=d(True, False), rope_theta=d(100.0, 30.0), image_size=d(16, 24),
                                                      hidden_act=d("gelu", "silu"), **{f"{part}_bias": d(True, False) for part in ("query", "key", "value", "proj", "mlp")})),
    "beit": ("picture", lambda d: VISION | dict(image_size=d(16, 24), use_absolute_position_embeddings=d(True, False), use_mean_pooling=d(True, False),
                                                layer_scale_init_value=d(0.0, 0.1), **d({}, dict(use_relative_position_bias=True), dict(use_shared_relative_position_bias=True)))),
    "swin": ("picture", stages),
    "swinv2": ("picture", lambda d: stages(d, window_size=d(2, 4, 8), pretrained_window_sizes=d([0, 0, 0], [4, 2, 3]))),
    "siglip2_vision_model": ("picture", lambda d: {key: value for key, value in VISION.items() if key != "image_size"} | dict(num_patches=d(9, 16, 36))),
    "siglip2_text_model": ("plain", lambda d: bert(d, hidden_act="gelu_pytorch_tanh")),
    "whisper": ("sound", lambda d: {key: value for key, value in bart(d).items() if key not in ("max_position_embeddings", "forced_eos_token_id")} | dict(
        encoder_layers=d(2, 3), num_mel_bins=d(8, 12), max_source_positions=d(10, 15), max_target_positions=20, activation_function=d("gelu", "relu"),
        suppress_tokens=None, begin_suppress_tokens=None)),
    "t5gemma": ("both", seq_parts),
    "dinov2": ("picture", lambda d: VISION | dict(mlp_ratio=2, use_swiglu_ffn=d(True, False))),
    "dinov2_with_registers": ("picture", lambda d: VISION | dict(mlp_ratio=2, num_register_tokens=d(1, 4))),
    "clip_text_model": ("plain", lambda d: bert(d, eos_token_id=60, hidden_act="quick_gelu", bos_token_id=0)),
    "siglip_text_model": ("plain", lambda d: bert(d, hidden_act="gelu_pytorch_tanh")),
    **{name: ("both", bart) for name in ("bart", "mbart", "pegasus", "m2m_100")},
    "marian": ("both", lambda d: bart(d) | d({}, dict(share_encoder_decoder_embeddings=False, decoder_vocab_size=d(61, 64)))),
    # Decoders of encoder-decoders by themselves.
    **{f"{name} decoder": ("causal", lambda d: bart(d, is_decoder=True, is_encoder_decoder=False)) for name in ("bart", "mbart", "pegasus")},
    **{name: ("both", t5) for name in ("t5", "mt5")},
    **{name: ("picture", lambda d: dict(VISION)) for name in ("vit", "deit", "clip_vision_model", "siglip_vision_model")},
    **{name: ("causal", lambda d: llama(d, window=True)) for name in ("cohere2", "olmo3", "exaone4")},
    **{name: ("causal", lambda d: llama(d, rope=False, head_dim=8, pad_token_id=0)) for name in ("glm", "glm4")},
    **{name: ("causal", lambda d: llama(d)) for name in ("apertus", "olmo2")},
    **{name: ("container", lambda d: container(d, llama(d), [1, 1, 2])) for name in ("qwen2_vl", "qwen2_5_vl")},
    # Models of pictures and texts that are read as the family of their texts.
    "llava": ("container", lambda d: beside_pictures(d, llama(d), d("llama", "qwen2"), "clip_vision_model")),
    "llava_next": ("container", lambda d: beside_pictures(d, llama(d, sliding_window=None), "mistral", "clip_vision_model")),
    "mistral3": ("container", lambda d: beside_pictures(d, llama(d, head_dim=8, sliding_window=d(None, 3)), "mistral", "pixtral")),
    "internvl": ("container", lambda d: beside_pictures(d, llama(d), "qwen2", "internvl_vision")),
    "gemma3": ("container", lambda d: beside_pictures(d, llama(d, window=True, rope=False, head_dim=8), "gemma3_text", mm_tokens_per_image=4)),
    "paligemma": ("container", lambda d: beside_pictures(d, llama(d, head_dim=8), "gemma")),
}

# Families that are held through another one, or cannot be held here.
ELSEWHERE = {"llama4": "its part is llama4_text", "gemma3n": "its part is gemma3n_text", "gemma4": "its part is gemma4_text", "gemma4_unified": "its part is gemma4_unified_text",
             "emu3": "its part is emu3_text_model"} | {f"{name}_text": f"the part of {name}" for name in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "glm4v")} | {
    "gpt-sw3": "its folders are of the type gpt2", "qwen3_5": "its part is qwen3_5_text", "qwen3_5_moe": "its part is qwen3_5_moe_text", "internlm2": "its code is not part of transformers",
    "clip": "its parts are clip_vision_model and clip_text_model", "siglip": "its parts are siglip_vision_model and siglip_text_model", "siglip2": "its parts are siglip2_vision_model and siglip2_text_model", "blip": "its part is blip_vision_model",
}
