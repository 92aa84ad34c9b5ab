#!/usr/bin/env python3
"""Stores what TransformerLens 4.3 computes of small checkpoints of tests/models/cases, for tests/why/circuits_test.cpp,
tests/why/patch_sweep_test.cpp and tests/why/path_patch_test.cpp.

  python3 tests/why/circuits/make_numbers.py

It needs torch, transformers and transformer_lens. Everything is float64. Sweeps are of a text and one whose first tokens
differ; circuits are of weights into which the norms are folded (and centred after layer norms), as `process_weights` does.
"""
import functools
import json
import pathlib
import tempfile

import tokenizers
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

here = pathlib.Path(__file__).parent
cases = here.parent.parent / "models" / "cases"
names = ["gpt2_bare_names", "gpt_neox_pythia_f16", "llama_grouped", "gemma2_soft_caps_bf16"]
TOKENS = (3, 5)


@functools.cache
def any_tokenizer():
    """The folders have no tokenizer, and texts are ids; the library wants one all the same, in a folder that stays."""
    place = tempfile.mkdtemp()
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=words, pad_token="a", bos_token="a", eos_token="a").save_pretrained(place)
    return AutoTokenizer.from_pretrained(place)


def bridge(folder, folded):
    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float64, attn_implementation="eager").eval()
    own = TransformerBridge.boot_transformers(str(folder), hf_model=model, dtype=torch.float64, tokenizer=any_tokenizer())
    if folded:
        own.enable_compatibility_mode(disable_warnings=True)
    return own


def difference(logits):
    return (logits[0, -1, TOKENS[0]] - logits[0, -1, TOKENS[1]]).item()


# What TransformerLens calls the parts, whether they have an axis of heads, and which heads these are.
HOOKS = {
    "before": ("blocks.{}.hook_resid_pre", None),
    "residual": ("blocks.{}.hook_resid_post", None),
    "attention": ("blocks.{}.hook_attn_out", None),
    "feed_forward": ("blocks.{}.hook_mlp_out", None),
    "heads": ("blocks.{}.attn.hook_z", "heads"),
    "queries": ("blocks.{}.attn.hook_q", "heads"),
    "keys": ("blocks.{}.attn.hook_k", "kv_heads"),
    "values": ("blocks.{}.attn.hook_v", "kv_heads"),
    "patterns": ("blocks.{}.attn.hook_pattern", "heads"),
}


def by_head(tensor, heads):
    """[1,L,heads,d] of [1,L,heads,d] or [1,L,heads·d]."""
    return tensor if tensor.dim() == 4 else tensor.reshape(*tensor.shape[:2], heads, -1)


def sweeps(name):
    folder = cases / name / "checkpoint"
    own = bridge(folder, False)
    config = own.cfg
    ids = json.loads((cases / name / "input.json").read_text())["token_ids"][0]
    other = [(token + 3) % 20 for token in ids[:-1]] + ids[-1:]
    text, source = torch.tensor([ids]), torch.tensor([other])
    with torch.no_grad():
        clean, _ = own.run_with_cache(text)
        given, cache = own.run_with_cache(source)
        result = {"own": difference(clean), "source": difference(given), "sweeps": {}}
        counts = {"heads": config.n_heads, "kv_heads": config.n_key_value_heads or config.n_heads}
        for part, (hook, axis) in HOOKS.items():
            rows = []
            for layer in range(config.n_layers):
                point = hook.format(layer)
                for unit in range(counts[axis] if axis else 1):
                    row = []
                    for position in range(len(ids)):

                        def change(value, hook=None):
                            taken = cache[point]
                            if part == "patterns":
                                value = value.clone()
                                value[:, unit, position] = taken[:, unit, position]
                                return value
                            if axis is None:
                                value = value.clone()
                                value[:, position] = taken[:, position]
                                return value
                            shape = value.shape
                            changed = by_head(value, counts[axis]).clone()
                            changed[:, position, unit] = by_head(taken, counts[axis])[:, position, unit]
                            return changed.reshape(shape)

                        row.append(difference(own.run_with_hooks(text, fwd_hooks=[(point, change)])))
                    rows.append(row)
            result["sweeps"][part] = rows
    return result


def paths(name):
    """Direct paths from each head to the logits and to queries, keys and values of later heads: all other heads and all
    feed-forwards write what they write in the text, and what the end becomes so goes into another pass of the text."""
    own = bridge(cases / name / "checkpoint", False)
    config = own.cfg
    ids = json.loads((cases / name / "input.json").read_text())["token_ids"][0]
    text, source = torch.tensor([ids]), torch.tensor([[(token + 3) % 20 for token in ids[:-1]] + ids[-1:]])
    counts = {"queries": config.n_heads, "keys": config.n_key_value_heads or config.n_heads}
    counts["values"] = counts["keys"]
    result = {"logits": [], "queries": [], "keys": [], "values": []}
    with torch.no_grad():
        _, clean = own.run_with_cache(text)
        _, given = own.run_with_cache(source)
        for layer in range(config.n_layers):
            for head in range(config.n_heads):
                hooks, read = [], {}
                for n in range(config.n_layers):
                    z = f"blocks.{n}.attn.hook_z"
                    outputs = by_head(clean[z], config.n_heads).clone()
                    if n == layer:
                        outputs[:, :, head] = by_head(given[z], config.n_heads)[:, :, head]
                    hooks.append((z, lambda value, hook=None, outputs=outputs: outputs.reshape(value.shape)))
                    mlp = f"blocks.{n}.hook_mlp_out"
                    hooks.append((mlp, lambda value, hook=None, mlp=mlp: clean[mlp]))
                    for part in counts:
                        point = HOOKS[part][0].format(n)

                        def note(value, hook=None, point=point):
                            read[point] = value.clone()
                            return value

                        hooks.append((point, note))
                result["logits"].append(difference(own.run_with_hooks(text, fwd_hooks=hooks)))
                for part, count in counts.items():
                    row = []
                    for n in range(layer + 1, config.n_layers):
                        point = HOOKS[part][0].format(n)
                        for unit in range(count):

                            def change(value, hook=None):
                                changed = by_head(value, count).clone()
                                changed[:, :, unit] = by_head(read[point], count)[:, :, unit]
                                return changed.reshape(value.shape)

                            row.append(difference(own.run_with_hooks(text, fwd_hooks=[(point, change)])))
                    if row:
                        result[part].append(row)
    result["logits"] = [[number] for number in result["logits"]]
    return {"paths": result}


def states(name):
    """Rank, probability and logit of TOKENS[0] after each state at the last position, by ln_final and unembed."""
    folder = cases / name / "checkpoint"
    own = bridge(folder, False)
    ids = json.loads((cases / name / "input.json").read_text())["token_ids"][0]
    rows = []
    with torch.no_grad():
        logits, cache = own.run_with_cache(torch.tensor([ids]))
        points = ["blocks.0.hook_resid_pre"]
        for layer in range(own.cfg.n_layers):
            points += [f"blocks.{layer}.hook_resid_mid", f"blocks.{layer}.hook_resid_post"]
        for point in points:
            if point not in cache:  # a parallel layer has no state in between
                state = cache[point.replace("mid", "pre")] + cache[point.replace("resid_mid", "attn_out")]
            else:
                state = cache[point]
            row = own.unembed(own.ln_final(state))[0, -1]
            cap = getattr(own.original_model.config, "final_logit_softcapping", None)
            if cap:
                row = cap * torch.tanh(row / cap)
            rows.append({
                "logit": row[TOKENS[0]].item(),
                "probability": row.softmax(-1)[TOKENS[0]].item(),
                "rank": int((row > row[TOKENS[0]]).sum()),
            })
        losses = -logits[0, :-1].log_softmax(-1)[range(len(ids) - 1), ids[1:]]
    return {"states": rows, "losses": losses.tolist()}


def circuits(name):
    own = bridge(cases / name / "checkpoint", True)
    config = own.cfg
    heads = config.n_heads
    group = heads // (config.n_key_value_heads or heads)

    def each(weight):
        """[layers,heads,...], those of key heads repeated."""
        stacked = torch.stack([w if isinstance(w, torch.Tensor) else torch.tensor(w) for w in weight])
        return stacked.repeat_interleave(heads // stacked.shape[1], dim=1) if stacked.shape[1] < heads else stacked

    W_Q, W_K, W_V, W_O = (each(list(getattr(own, "W_" + letter))) for letter in "QKVO")
    assert W_K.shape[1] == heads and group >= 1
    # The weights of a norm of what an attention adds are not folded there.
    for layer, block in enumerate(own.original_model.model.layers if "gemma2" in name else []):
        W_O = W_O.clone()
        W_O[layer] *= 1 + block.post_attention_layernorm.weight
    W_E, W_U = own.W_E.detach(), own.W_U.detach()
    OV, QK = (W_V @ W_O).detach(), (W_Q @ W_K.transpose(-1, -2)).detach()
    result = {"heads": [], "compositions": {"query": [], "key": [], "value": []}}
    for layer in range(config.n_layers):
        for head in range(heads):
            full = torch.linalg.eigvals(W_E @ OV[layer, head] @ W_U)
            result["heads"].append({
                "copying": (full.sum().real / full.abs().sum()).item(),
                "ov_values": torch.linalg.svdvals(OV[layer, head])[:W_V.shape[-1]].tolist(),
                "qk_values": torch.linalg.svdvals(QK[layer, head])[:W_Q.shape[-1]].tolist(),
            })
    flat_ov, flat_qk = OV.reshape(-1, *OV.shape[-2:]), QK.reshape(-1, *QK.shape[-2:])
    for i in range(len(flat_ov)):
        for key, right in (("query", flat_qk), ("key", flat_qk.transpose(-1, -2)), ("value", flat_ov)):
            score = (flat_ov[i] @ right).norm(dim=(-2, -1)) / (flat_ov[i].norm() * right.norm(dim=(-2, -1)))
            result["compositions"][key].append(score.tolist())
    scale = config.d_model**0.5 if "gemma2" in name else 1  # of embeddings, which is not folded there
    row = scale * W_E[7] @ OV[-1, 1] @ W_U
    result["moved"] = (row - row.mean()).tolist()
    result["sought"] = (scale**2 * W_E[7] @ QK[-1, 1] @ W_E.T).tolist()
    return result


if __name__ == "__main__":
    for name in names:
        numbers = circuits(name) | states(name) | sweeps(name) | paths(name)
        (here / (name + ".json")).write_text(json.dumps(numbers) + "\n")
        print(name)
