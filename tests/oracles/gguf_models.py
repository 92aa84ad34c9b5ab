"""GGUF files of small models against transformers.

The models of the other oracle are written as llama.cpp's converter does, by the names of gguf-py and with what the converter
changes: rows of queries and keys for rotation in pairs, norms that count from one, experts in one tensor.
"""
import re

import gguf, torch
from safetensors.torch import load_file

import models, program
from families import FAMILIES

# By architecture: the family whose models it holds, what its draws leave out, and how the converter changes tensors.
NAMES = {
    "llama": ("llama", "pairs"), "mixtral": ("mixtral", "pairs"), "qwen3moe": ("qwen3_moe", ""), "qwen2vl": ("qwen2", ""), "qwen3vl": ("qwen3", ""),
    "qwen3vlmoe": ("qwen3_moe", ""), "granite": ("granite", "pairs"), "granitemoe": ("granitemoe", "pairs"), "arcee": ("arcee", "pairs"),
    "olmo": ("olmo", "pairs"), "olmoe": ("olmoe", ""), "exaone": ("exaone", ""), "exaone4": ("exaone4", ""), "seed_oss": ("seed_oss", ""),
    "ernie4_5": ("ernie4_5", ""), "nemotron": ("nemotron", "plus_one"), "hunyuan-dense": ("hunyuan_v1_dense", ""),
    "hunyuan-moe": ("hunyuan_v1_moe", ""), "glm4": ("glm4", ""), "starcoder2": ("starcoder2", ""), "starcoder": ("gpt_bigcode", "turned"),
    "stablelm": ("stablelm", ""), "command-r": ("cohere", ""), "cohere2": ("cohere2", ""), "gemma-embedding": ("gemma3_text", "plus_one"),
    "eurobert": ("eurobert", ""), "modern-bert": ("modernbert", ""), "nomic-bert": ("nomic_bert", ""), "minimax-m2": ("minimax_m2", ""), "glm4moe": ("glm4_moe", ""),
    "dots1": ("dots1", ""), "lfm2": ("lfm2", ""), "lfm2moe": ("lfm2_moe", ""), "internlm2": ("internlm3", "pairs"), "llama-embed": ("llama", "pairs"),
}
BOTH_SIDES = ("gemma-embedding", "llama-embed")
HEADLESS = BOTH_SIDES + ("eurobert", "modern-bert", "nomic-bert")
FIXED = {  # what files do not say
    "nomic-bert": {"hidden_act": "silu"},
    "qwen3moe": {"norm_topk_prob": True}, "qwen3vlmoe": {"norm_topk_prob": True}, "olmoe": {"norm_topk_prob": False},
    "starcoder2": {"sliding_window": None}, "internlm2": {"head_dim": 8}, "starcoder": {"multi_query": True},
    "llama-embed": {"is_causal": False}, "llama": {"is_causal": True}, "gemma-embedding": {"use_bidirectional_attention": True, "is_causal": True, "query_pre_attn_scalar": 8,
                        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "arcee": {"hidden_act": "relu2"}, "qwen2vl": {"is_causal": True}, "qwen3vl": {"is_causal": True},
    "dots1": {"sliding_window": None, "layer_types": None, "n_group": 1, "topk_group": 1, "norm_topk_prob": True},
    "command-r": {"tie_word_embeddings": True}, "cohere2": {"tie_word_embeddings": True, "layer_types": None, "num_hidden_layers": 5},
    # A window that no layer has takes rotation from all, which no key of a file tells.
    "exaone4": {"sliding_window": 3, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "lfm2moe": {"tie_word_embeddings": True, "norm_topk_prob": True, "use_expert_bias": True, "routed_scaling_factor": 1.0},
    "glm4moe": {"n_group": 1, "topk_group": 1}, "hunyuan-moe": {"moe_topk": 2},
}

ELSEWHERE = dict.fromkeys("qwen2 qwen3 olmo2 smollm3 gemma gemma2 gemma3 phi2 phi3 gpt2 gptneox bloom falcon bert gpt-oss t5 t5encoder".split(),
                          "held by small files of its own, some of which llama.cpp itself ran")

def in_program():
    with open(program.SOURCES + "/models/gguf_model.cpp") as file:
        return {"architectures of GGUF files": re.findall(r'^"([\w-]+)": \{', file.read(), re.M)}

def merged(tensors):
    """Tensors by transformers' names, the experts' in one."""
    whole, parts = {}, {}
    for name, tensor in tensors.items():
        found = re.fullmatch(r"(.*\.experts)\.(\d+)\.(\w+)\.weight", name)
        if found:
            parts.setdefault(f"{found[1]}.{found[3]}", {})[int(found[2])] = tensor
        elif ".norms." in name:
            parts.setdefault(name[:name.index(".norms.")], {})[int(name.split(".")[-2])] = tensor
        elif name.endswith("block_sparse_moe.input_linear.weight"):
            gate, up = tensor.chunk(2, 1)
            whole[name.replace("input_linear.weight", "experts.w1")] = gate
            whole[name.replace("input_linear.weight", "experts.w3")] = up
        elif name.endswith("block_sparse_moe.output_linear.weight"):
            whole[name.replace("output_linear.weight", "experts.w2")] = tensor
        else:
            whole[name] = tensor
    return whole | {name: torch.stack([own[n] for n in range(len(own))]) for name, own in parts.items()}

def keys(writer, config, architecture):
    get = lambda *names: next((getattr(config, name) for name in names if getattr(config, name, None) is not None), None)
    heads = get("num_attention_heads")
    head = get("head_dim") or config.hidden_size // heads
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(heads)
    own_keys = 1 if architecture == "starcoder" else get("num_key_value_heads") or heads
    if architecture.startswith("lfm2"):
        own_keys = [own_keys if kind == "full_attention" else 0 for kind in config.layer_types]
        writer.add_shortconv_l_cache(config.conv_L_cache)
    writer.add_head_count_kv(own_keys)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_context_length(get("max_position_embeddings"))
    rms = getattr(config, "norm_eps" if architecture.startswith("lfm2") else "rms_norm_eps", None)
    if rms is not None:
        writer.add_layer_norm_rms_eps(rms)
    else:
        writer.add_layer_norm_eps(get("layer_norm_eps", "norm_epsilon", "norm_eps", "layer_norm_epsilon") or 1e-5)
    rope = getattr(config, "rope_parameters", None) or {}
    full = rope.get("full_attention", rope)
    if full:
        writer.add_rope_freq_base(full["rope_theta"])
        writer.add_rope_dimension_count(int(head * full.get("partial_rotary_factor", 1)))
        if full["rope_type"] == "linear":
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(full["factor"])
        near = rope.get("sliding_attention")
        if near:
            writer.add_rope_freq_base_swa(near["rope_theta"])
    window = get("local_attention", "sliding_window")
    types = getattr(config, "layer_types", None)
    if window is not None and types and "sliding_attention" in types:
        if architecture == "gemma-embedding":  # its class halves it on reading
            window = config.to_dict()["sliding_window"]
        writer.add_sliding_window(window)
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in types])
    count = get("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
    if count:
        writer.add_expert_count(count)
        writer.add_expert_used_count(get("num_experts_per_tok", "moe_topk", "moe_k"))
        writer.add_expert_feed_forward_length(24)
    if architecture in ("glm4moe", "dots1"):
        writer.add_expert_weights_norm(config.norm_topk_prob)
        writer.add_expert_weights_scale(config.routed_scaling_factor)
        writer.add_expert_shared_count(config.n_shared_experts)
        writer.add_leading_dense_block_count(config.first_k_dense_replace)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if architecture in ("afmoe", "lfm2moe", "ernie4_5-moe"):
        writer.add_leading_dense_block_count(get("num_dense_layers", "moe_layer_start_index") or 0)
    if architecture == "afmoe":
        writer.add_expert_weights_norm(True)
        writer.add_expert_weights_scale(config.route_scale)
    if architecture in ("afmoe", "ernie4_5-moe"):
        writer.add_expert_shared_count(get("num_shared_experts", "moe_num_shared_experts") or 0)
    if architecture.startswith("granite"):
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if architecture in ("command-r", "cohere2"):
        writer.add_logit_scale(config.logit_scale)
    if getattr(config, "clip_qkv", None):
        writer.add_clamp_kqv(config.clip_qkv)
    if architecture in HEADLESS:
        writer.add_causal_attention(False)

def in_pairs(weight, heads):
    """Rows of heads whose halves are turned together, in turn."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)

def convert(architecture, config, tensors, path, change):
    """One file as llama.cpp's converter writes it, with numbers as float32."""
    name = "llama" if architecture == "mixtral" else architecture
    kind = next(kind for kind, own in gguf.MODEL_ARCH_NAMES.items() if own == name)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    writer = gguf.GGUFWriter(path, name)
    keys(writer, config, architecture)
    kv_heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    for own, tensor in merged(tensors).items():
        if architecture in HEADLESS and own.startswith(("lm_head", "decoder", "head.", "cls.")):
            continue
        own = own.replace("score_correction_bias", "score_correction.bias") if architecture != "minimax-m2" else own.replace("_correction_bias", "_correction.bias")
        own = re.sub(r"^model\.decoder\.", "", own)
        own = re.sub(r"(expert_bias|e_score_correction_bias)$", lambda found: found[0].replace("_correction_bias", "_correction.bias").replace("expert_bias", "expert_bias.bias"), own)
        if own.endswith("conv.conv.weight"):
            tensor = tensor.squeeze(1)
        spellings = (own, "model." + own, own.partition(".")[2])
        to = next(filter(None, (names.get_name(name, try_suffixes=(".weight", ".bias")) for name in spellings)), None)
        if to is None:
            raise ValueError(f"no name for {own}")
        if change == "pairs" and re.search(r"\.attn_[qk]\.", to):
            tensor = in_pairs(tensor, config.num_attention_heads if ".attn_q." in to else kv_heads)
        if change == "plus_one" and "norm" in to and to.endswith("weight"):
            tensor = tensor + 1
        if re.search(r"exps$", to):
            to += ".weight"
        if architecture == "stablelm" and re.search(r"attn_[qk]_norm$", to):
            to += ".weight"
        writer.add_tensor(to, tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

def hold(architecture, draw, rng, folder, options):
    family, change = NAMES[architecture]
    kind, draw_options = FAMILIES[family]
    options |= draw_options(lambda *values: rng.choice(values)) | FIXED.get(architecture, {})
    models.make(family, kind, options, draw, folder)
    ids = [[rng.randrange(4, 54) for _ in range(11)]]
    tensors, _ = models.wanted(family, kind, folder, torch.tensor(ids), None, None)
    config = models.CONFIG_MAPPING[family].from_pretrained(folder)
    convert(architecture, config, load_file(folder + "/model.safetensors"), folder + "/model.gguf", change)
    headless = architecture in HEADLESS
    if headless:
        tensors.pop("logits", None)
    got = program.run(folder, {"model": "model.gguf", "token_ids": ids, "dtype": "float64"}, "--stages", *([] if headless else ["--logits"]))[0]
    return program.difference(got, tensors, 1e-5)  # keys, and norms that count from one, are rounded to single numbers
