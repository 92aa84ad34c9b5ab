#!/usr/bin/env python3
"""Makes the cases of heads that classify, of sentence embeddings and of families that the library computes best: random
checkpoints, and what transformers 5.24 and sentence-transformers 6.2 compute of them in double precision.

    make_library_cases.py TESTS_MODELS [NAME …]
"""
import json
import os
import sys

import numpy as np
import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../oracles"))
import models  # of the oracles

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "is", "good", "bad", "not", "very", "a", "long", "song",
         "##s", "un", "##usual", ".", "and"]
SIZES = dict(vocab_size=len(WORDS), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=12)


def made(kind, config, seed):
    """A model whose weights are large enough that every rule shows."""
    torch.manual_seed(seed)
    model = kind(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, 1.2 / weight.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            else:
                weight.normal_(0, 0.2)
    return model


def write_tokenizer(folder):
    with open(f"{folder}/vocab.txt", "w") as file:
        file.write("\n".join(WORDS) + "\n")
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 12}, file)


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
        file.write("\n")


def classifier(folder):
    config = transformers.BertConfig(**SIZES, id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1})
    model = made(transformers.BertForSequenceClassification, config, 1)
    model.save_pretrained(folder + "/checkpoint")
    write_tokenizer(folder + "/checkpoint")
    ids = [[2, 5, 6, 7, 10, 8, 3], [2, 12, 11, 9, 14, 3]]
    model = model.double()
    with torch.no_grad():
        logits = [model(torch.tensor([own])).logits[0].tolist() for own in ids]
    write(folder + "/input.json", {"model": "checkpoint", "token_ids": ids, "dtype": "float64"})
    write(folder + "/expected.json", {"format": 1, "tensors": {"classification.logits": logits}, "tolerance": {"float32": 1e-9}})


TINY = dict(vocab_size=20, hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32)
ENCODER = {key: value for key, value in TINY.items() if key != "num_key_value_heads"}
MAMBA2 = dict(mamba_n_heads=4, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=3, mamba_d_conv=3, mamba_chunk_size=4, mamba_expand=2)
MIXED = dict(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"])
# By name: the family, the kind of its model, and its configuration.
FAMILIES = {
    "ministral3_growing_queries": ("ministral3", "causal", TINY | dict(num_hidden_layers=2, head_dim=4, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1000.0, "factor": 8.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 3, "llama_4_scaling_beta": 0.4})),
    "llama4_chunks": ("llama4_text", "causal", TINY | dict(
        num_hidden_layers=2, head_dim=4, attention_chunk_size=4, no_rope_layers=[1, 0], floor_scale=3, attn_scale=0.3,
        intermediate_size_mlp=20, moe_layers=[1], num_local_experts=3, num_experts_per_tok=2)),
    "gemma4_layer_inputs": ("gemma4_text", "causal", TINY | dict(
        num_hidden_layers=4, head_dim=4, global_head_dim=8, sliding_window=3, num_kv_shared_layers=2, hidden_size_per_layer_input=3,
        vocab_size_per_layer_input=20, layer_types=["sliding_attention", "full_attention"] * 2, use_double_wide_mlp=True,
        rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                         "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1000.0}})),
    "gemma4_keys_are_values": ("gemma4_text", "causal", TINY | dict(
        num_hidden_layers=2, head_dim=4, global_head_dim=4, sliding_window=3, hidden_size_per_layer_input=0, attention_k_eq_v=True,
        num_global_key_value_heads=1, layer_types=["sliding_attention", "full_attention"], rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}, "full_attention": {"rope_type": "default", "rope_theta": 1000.0}})),
    "gemma4_experts": ("gemma4_text", "causal", TINY | dict(
        num_hidden_layers=2, head_dim=4, global_head_dim=4, sliding_window=3, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=3,
        top_k_experts=2, moe_intermediate_size=8, layer_types=["sliding_attention", "full_attention"], rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}, "full_attention": {"rope_type": "default", "rope_theta": 1000.0}})),
    "gemma3n_streams": ("gemma3n_text", "causal", TINY | dict(
        num_hidden_layers=4, head_dim=4, intermediate_size=[24] * 4, sliding_window=3, num_kv_shared_layers=2, hidden_size_per_layer_input=3,
        vocab_size_per_layer_input=18, layer_types=["sliding_attention", "full_attention"] * 2, altup_num_inputs=3, altup_active_idx=1,
        laurel_rank=2, activation_sparsity_pattern=[0.5, 0.0, 0.5, 0.0], final_logit_softcapping=3.0,
        rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                         "full_attention": {"rope_type": "default", "rope_theta": 1000.0}})),
    "afmoe_gates": ("afmoe", "causal", TINY | dict(
        num_hidden_layers=2, head_dim=4, sliding_window=3, mup_enabled=True, num_dense_layers=1, route_scale=2.5, num_shared_experts=1, num_experts=3,
        num_experts_per_tok=2, moe_intermediate_size=8, layer_types=["sliding_attention", "full_attention"])),
    "nanochat_turned_back": ("nanochat", "causal", TINY | dict(num_hidden_layers=2, final_logit_softcapping=5.0)),
    "minicpm3_multipliers": ("minicpm3", "causal", TINY | dict(
        num_hidden_layers=2, num_key_value_heads=4, scale_emb=3.0, dim_model_base=8, q_lora_rank=6, kv_lora_rank=6, qk_rope_head_dim=4,
        qk_nope_head_dim=2, v_head_dim=4)),
    "granite_swa_thetas": ("granite_swa", "causal", TINY | dict(
        num_hidden_layers=2, sliding_window=3, layer_types=["sliding_attention", "full_attention"], layer_rope_theta=[100.0, 0])),
    "cohere2_moe_halves": ("cohere2_moe", "causal", TINY | dict(
        num_hidden_layers=2, head_dim=4, sliding_window=3, num_experts=3, num_experts_per_tok=2, num_shared_experts=1,
        prefix_dense_intermediate_size=20, layer_types=["full_attention"] * 2, mlp_layer_types=["dense", "sparse"])),
    "kolibri1_corrected_scores": ("kolibri1", "causal", {key: value for key, value in TINY.items() if key != "intermediate_size"} | dict(
        num_hidden_layers=1, head_dim=4, sliding_window=3, layer_types=["sliding_attention"], num_experts=3, num_experts_per_tok=1,
        moe_intermediate_size=8, shared_expert_intermediate_size=8)),
    "longformer_windows": ("longformer", "masked", ENCODER | dict(num_hidden_layers=2, attention_window=4, pad_token_id=1)),
    "xlm_numbered_parts": ("xlm", "masked", dict(vocab_size=20, emb_dim=16, n_layers=2, n_heads=4, max_position_embeddings=32)),
    "blenderbot_small_token_norm": ("blenderbot-small", "both", dict(
        vocab_size=20, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=24,
        decoder_ffn_dim=24, max_position_embeddings=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=1,
        forced_eos_token_id=None)),
    "lfm2_convolutions": ("lfm2", "causal", TINY | dict(num_hidden_layers=2, conv_bias=True, conv_L_cache=3, layer_types=["conv", "full_attention"])),
    "lfm2_moe_corrected": ("lfm2_moe", "causal", TINY | dict(
        num_hidden_layers=2, num_dense_layers=1, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, layer_types=["conv", "full_attention"])),
    "granitemoehybrid_state_space": ("granitemoehybrid", "causal", TINY | MIXED | MAMBA2 | dict(
        embedding_multiplier=3.0, residual_multiplier=0.5, logits_scaling=2.0, attention_multiplier=0.3, shared_intermediate_size=12,
        num_local_experts=3, num_experts_per_tok=2)),
    "bamba_indices": ("bamba", "causal", TINY | MAMBA2 | dict(num_hidden_layers=2, attn_layer_indices=[1])),
    "falcon_h1_beside": ("falcon_h1", "causal", TINY | MAMBA2 | dict(
        num_hidden_layers=2, mamba_d_ssm=32, mamba_rms_norm=True, lm_head_multiplier=0.5, embedding_multiplier=2.0, mlp_multipliers=[0.7, 1.3],
        key_multiplier=0.8, attention_out_multiplier=0.9, attention_in_multiplier=1.1, ssm_multipliers=[0.5, 0.6, 0.7, 0.8, 0.9],
        ssm_in_multiplier=1.2, ssm_out_multiplier=0.6)),
    "jamba_mamba": ("jamba", "causal", TINY | dict(
        num_hidden_layers=2, num_experts=2, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
        expert_layer_offset=0, mamba_d_state=3, mamba_d_conv=3, mamba_dt_rank=4)),
    "nemotron_h_single_parts": ("nemotron_h", "causal", TINY | dict(
        head_dim=4, layers_block_type=["linear_attention", "moe", "full_attention", "mlp"], ssm_state_size=3, mamba_num_heads=4, mamba_head_dim=4,
        n_groups=2, conv_kernel=3, chunk_size=4, n_routed_experts=3, num_experts_per_tok=2, moe_intermediate_size=8,
        moe_shared_expert_intermediate_size=8)),
    "albert_groups": ("albert", "masked", ENCODER | dict(num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2, embedding_size=8)),
    "deberta_v2_convolution": ("deberta-v2", "masked", ENCODER | dict(
        num_hidden_layers=2, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=4, embedding_size=8, type_vocab_size=2,
        conv_kernel_size=3, conv_act="gelu")),
    "xlnet_types_and_distances": ("xlnet", "permuted", dict(
        vocab_size=20, d_model=16, n_layer=2, n_head=4, d_inner=24, clamp_len=4, pad_token_id=5)),
    "marian_two_vocabularies": ("marian", "both", dict(
        vocab_size=20, decoder_vocab_size=18, share_encoder_decoder_embeddings=False, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32,
        pad_token_id=1, eos_token_id=0, decoder_start_token_id=1, forced_eos_token_id=None)),
    "bart_decoder_alone": ("bart decoder", "causal", dict(
        vocab_size=20, d_model=16, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=24, encoder_layers=2, encoder_attention_heads=4,
        encoder_ffn_dim=24, max_position_embeddings=32, is_decoder=True, is_encoder_decoder=False)),
}
SEEN = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, patch_size=4)
# What sees and hears: also the size of the picture.
SENSES = {
    "dinov3_wide": ("dinov3_vit", "picture", SEEN | dict(num_register_tokens=2, use_gated_mlp=True, hidden_act="silu", image_size=16), (8, 12)),
    "beit_distances": ("beit", "picture", SEEN | dict(image_size=16, use_relative_position_bias=True, use_mean_pooling=False), (8, 12)),
    "beit_shared_distances": ("beit", "picture", SEEN | dict(image_size=12, use_shared_relative_position_bias=True, layer_scale_init_value=0.0), (12, 12)),
    "swin_shifted_windows": ("swin", "picture", dict(
        image_size=16, patch_size=4, embed_dim=4, depths=[2, 1], num_heads=[1, 2], window_size=2, mlp_ratio=2.0, qkv_bias=True), (16, 16)),
    "swinv2_cosines": ("swinv2", "picture", dict(
        image_size=16, patch_size=4, embed_dim=4, depths=[2, 1], num_heads=[1, 2], window_size=2, mlp_ratio=2.0, qkv_bias=True,
        pretrained_window_sizes=[3, 0]), (16, 16)),
    "siglip2_wide": ("siglip2_vision_model", "picture", SEEN | dict(num_patches=16), (8, 12)),
    "vit_mae_all_patches": ("vit_mae", "picture", SEEN | dict(image_size=12, mask_ratio=0.0), (12, 12)),
    "blip_fused": ("blip_vision_model", "picture", SEEN | dict(image_size=12), (12, 12)),
    "whisper_spectrogram": ("whisper", "sound", dict(
        vocab_size=20, d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=20,
        decoder_ffn_dim=24, num_mel_bins=6, max_source_positions=9, max_target_positions=12, pad_token_id=0, bos_token_id=0, eos_token_id=0,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None), None),
}


def rounded(tensor):
    """Numbers of eleven digits, which the tolerance needs."""
    return [rounded(part) for part in tensor] if tensor.ndim else float(f"{tensor:.11g}")


def family(folder, row):
    """A case of a family: one text, picture or sound, and all that the oracle compares of it."""
    name, kind, options, *size = row
    models.make(name, kind, dict(options), 1, folder + "/checkpoint")
    for other in ("generation_config.json",):
        if os.path.exists(f"{folder}/checkpoint/{other}"):
            os.remove(f"{folder}/checkpoint/{other}")
    ids, decoder_ids = [[7, 12, 8, 13, 15, 15, 16, 15, 10]], [[1, 12, 8, 5]]
    shown, members = None, {"token_ids": ids, "logits": True}
    if size:
        shown, members = models.sensed(kind, options, np.random.default_rng(1), size[0], folder, folder + "/checkpoint")
    if types := models.types_of(name, ids):
        members["token_types"] = types
    tensors, _ = models.wanted(name, kind, folder + "/checkpoint", torch.tensor(ids), torch.tensor(decoder_ids), shown)
    # Marian's table of sines holds single numbers there.
    dtype = "float32" if name == "marian" else "float64"
    document = {"model": "checkpoint", "dtype": dtype} | members
    if kind == "sound":
        document["logits"] = True
    if kind in ("both", "sound"):
        document["decoder_token_ids"] = decoder_ids
    write(folder + "/input.json", document)
    write(folder + "/expected.json", {"format": 1, "tensors": {key: rounded(tensor) for key, tensor in tensors.items()},
                                      "tolerance": {"float32": 2e-5 if dtype == "float32" else 1e-9}})


def answers(folder):
    """Two pairs of texts, whose questions see all tokens and are of different lengths."""
    config = transformers.LongformerConfig(**ENCODER | dict(num_hidden_layers=2, attention_window=4, pad_token_id=1))
    model = made(transformers.LongformerForQuestionAnswering, config, 1)
    model.save_pretrained(folder + "/checkpoint")
    ids = [[0, 7, 12, 2, 2, 8, 13, 15, 15, 16, 15, 10, 2], [0, 7, 9, 5, 12, 11, 2, 2, 8, 13, 2]]
    tensors = {}
    with models.in_double(), torch.no_grad():
        model = models.made_anew(model.double(), "eager")
        for n, own in enumerate(ids):
            out = model(torch.tensor([own]))
            tensors[n] = torch.stack([out.start_logits[0], out.end_logits[0]], -1)
    longest = max(len(own) for own in ids)
    logits = torch.stack([torch.cat([own, torch.zeros(longest - len(own), 2)]) for own in tensors.values()])
    write(folder + "/input.json", {"model": "checkpoint", "token_ids": ids, "dtype": "float64"})
    write(folder + "/expected.json", {"format": 1, "tensors": {"classification.logits": rounded(logits)}, "tolerance": {"float32": 1e-9}})


def sentences(folder):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    encoder = made(transformers.BertModel, transformers.BertConfig(**SIZES), 2)
    os.makedirs(folder + "/encoder")
    encoder.save_pretrained(folder + "/encoder")
    write_tokenizer(folder + "/encoder")
    torch.manual_seed(3)
    model = SentenceTransformer(modules=[
        Transformer(folder + "/encoder", max_seq_length=8), Pooling(16, ("cls", "mean")), Dense(32, 6), Normalize()],
        prompts={"query": "a good ", "document": ""})
    model.save(folder + "/folder", create_model_card=False)
    os.system(f"rm -r {folder}/encoder")
    model = SentenceTransformer(folder + "/folder", device="cpu").double()
    texts = ["the film is good", "a very long song and the unusual films and songs", "bad ."]
    expected = {name: model.encode(texts, **how, convert_to_numpy=True).astype(np.float64).tolist()
                for name, how in (("plain", {}), ("query", {"prompt_name": "query"}))}
    with torch.no_grad():
        vectors = torch.tensor(expected["plain"], dtype=torch.float64)
        similarity = model.similarity(vectors, vectors).tolist()
    write(folder + "/expected.json", {"texts": texts, **expected, "similarity": similarity})


if __name__ == "__main__":
    cases = {"cases/bert_classifies": classifier, "answers": answers, "sentences": sentences}
    cases |= {f"{folder}/{name}": lambda folder, row=row: family(folder, row)
              for folder, rows in (("cases", FAMILIES), ("pictures", SENSES)) for name, row in rows.items()}
    for name, make in cases.items():
        if len(sys.argv) < 3 or os.path.basename(name) in sys.argv[2:]:
            os.makedirs(f"{sys.argv[1]}/{name}", exist_ok=True)
            make(f"{sys.argv[1]}/{name}")
