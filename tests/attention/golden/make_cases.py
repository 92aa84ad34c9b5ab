"""Writes cases.txt: attentions with the numbers PyTorch computes for them in float64.

Needs PyTorch (Debian: python3-torch 1.13).
    python3 make_cases.py > cases.txt
"""

import math

import torch
import torch.nn.functional as F

from case_writer import write

torch.set_default_dtype(torch.float64)
torch.manual_seed(20)


def randn(*shape, size=1.0):
    # Few digits keep the file small; the numbers are no exact float32 on purpose.
    return torch.round(torch.randn(*shape) * size * 1e4) / 1e4


def flags(*shape, p=0.5):
    return torch.rand(*shape) < p


# The mask of one attention by tensor comparisons: which keys are seen, shape of the scores.
def seen_keys(scores, options, tensors, past):
    batch, heads, queries, keys = scores.shape
    padding, lens = tensors.get("padding"), tensors.get("valid_lens")
    offset = torch.full((batch,), past)
    if options.get("align") == "lower_right":
        n = torch.full((batch,), keys)
        if lens is not None and lens.dim() == 1:
            n = lens.expand(batch)
        elif padding is not None:
            # One more than the place of the last key that is not padding.
            n = (~padding * torch.arange(1, keys + 1)).amax(-1).expand(batch)
        offset = n - queries
    position = torch.arange(queries)[None, :, None] + offset[:, None, None]  # [B,Lq,1]
    key = torch.arange(keys)[None, None, :]
    seen = torch.ones(batch, queries, keys, dtype=torch.bool)
    if options.get("causal"):
        seen &= key <= position
    if "window" in options:
        left, right = options["window"]
        near = torch.ones_like(seen)
        if left >= 0:
            near &= key >= position - left
        if right >= 0:
            near &= key <= position + right
        positions = torch.tensor(options.get("global", []), dtype=torch.long)
        seen &= near | torch.isin(key, positions) | torch.isin(position, positions)
    if lens is not None:
        seen &= key < (lens[:, None, None] if lens.dim() == 1 else lens[:, :, None])
    if padding is not None:
        seen &= ~padding[:, None, :]
    return seen[:, None].expand(scores.shape)


# Scores, [B,H,Lq,Lk], to weights, output and log-sum-exp by PyTorch's softmax.
def attended(scores, value, options, tensors, past=0):
    scores = scores * options.get("scale", 1.0)
    if "softcap" in options:
        scores = options["softcap"] * torch.tanh(scores / options["softcap"])
    bias = tensors.get("bias", torch.zeros(()))
    seen = seen_keys(scores, options, tensors, past)
    if "allow" in tensors:
        seen = seen & tensors["allow"]
    if "block" in tensors:
        seen = seen & ~tensors["block"]
    masked = (scores + bias).masked_fill(~seen, options.get("fill", -math.inf))
    masked = masked.masked_fill((bias == -math.inf).expand(masked.shape), -math.inf)
    # PyTorch gives NaN where nothing is left; such a query weighs nothing.
    weights = torch.softmax(masked, -1)
    weights = weights.masked_fill((masked == -math.inf).all(-1, keepdim=True), 0.0)
    groups = weights.shape[1] // value.shape[1]
    output = weights @ value.repeat_interleave(groups, 1)
    return {"weights": weights, "output": output, "lse": torch.logsumexp(masked, -1)}


def score_of(kind, query, key, tensors):
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    q, k = query[:, :, :, None, :], key[:, :, None, :, :]
    if kind == "general":
        pairs = torch.broadcast_shapes(q.shape[:-1], k.shape[:-1])
        return F.bilinear(
            q.expand(*pairs, q.shape[-1]).contiguous(),
            k.expand(*pairs, k.shape[-1]).contiguous(),
            tensors["W"][None],
        ).squeeze(-1)
    if kind == "additive":
        features = torch.tanh(F.linear(q, tensors["W_q.weight"]) + F.linear(k, tensors["W_k.weight"]))
        return F.linear(features, tensors["w_v.weight"]).squeeze(-1)
    scores = torch.einsum("bhid,bhjd->bhij", query.expand(max(len(query), len(key)), -1, -1, -1),
                          key.expand(max(len(query), len(key)), -1, -1, -1))
    return scores / math.sqrt(query.shape[-1]) if kind == "scaled_dot_product" else scores


# A case of [B,H,L,D]; `axes` of 3 or 2 store it without its heads, or without batch and heads.
def case(name, kind, query=None, key=None, value=None, axes=4, past=None, scores=None,
         parameters=None, options=None, **masks):
    options, parameters = options or {}, parameters or {}
    explicit_scale = "scale" in options
    keys, values, past_length = key, value, 0
    if past is not None:
        keys, values = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        past_length = past[0].shape[2]
    if scores is None:
        raw = score_of(kind, query, keys, parameters)
        if explicit_scale and kind == "scaled_dot_product":
            raw = raw * math.sqrt(query.shape[-1])
    else:
        raw = scores
    batch = max(len(raw), len(values))
    expected = attended(raw.expand(batch, -1, -1, -1), values.expand(batch, -1, -1, -1), options,
                        masks, past_length)

    def stored(tensor):
        return tensor if axes == 4 else tensor[:, 0] if axes == 3 else tensor[0, 0]

    tensors = {"query": query, "key": key, "value": value, "scores": scores}
    if past is not None:
        tensors["past_key"], tensors["past_value"] = past
    tensors = {name: stored(t) for name, t in tensors.items() if t is not None}
    tensors |= parameters | {"mask." + n: t for n, t in masks.items()}
    write(name, {"kind": kind} | options, tensors, {n: stored(t) for n, t in expected.items()})


def qkv(batch, heads, queries, keys, width, value_width, kv_heads=None, size=1.0):
    kv_heads = kv_heads or heads
    return (randn(batch, heads, queries, width, size=size), randn(batch, kv_heads, keys, width),
            randn(batch, kv_heads, keys, value_width))


def additive(hidden, query_width, key_width):
    return {"W_k.weight": randn(hidden, key_width), "W_q.weight": randn(hidden, query_width),
            "w_v.weight": randn(1, hidden)}


# Every kind without a mask.
case("softmax of scores", "softmax", scores=randn(1, 1, 3, 5, size=2), value=randn(1, 1, 5, 2),
     axes=2)
case("softmax of scores of grouped heads", "softmax", scores=randn(2, 4, 2, 3),
     value=randn(2, 2, 3, 3))
case("dot product", "dot_product", *qkv(3, 1, 4, 6, 5, 2), axes=3)
case("dot product of large scores", "dot_product", *qkv(1, 2, 3, 4, 9, 2, size=60))
case("scaled dot product", "scaled_dot_product", *qkv(2, 3, 4, 5, 7, 3))
case("scaled dot product of one sample", "scaled_dot_product", *qkv(1, 1, 5, 3, 11, 4), axes=2)
case("grouped queries", "scaled_dot_product", *qkv(2, 6, 3, 4, 5, 2, kv_heads=2))
q, k, v = qkv(3, 2, 3, 4, 3, 2)
case("one query for all samples", "scaled_dot_product", q[:1], k, v)
case("general", "general", randn(2, 1, 4, 3), randn(2, 1, 5, 6), randn(2, 1, 5, 2), axes=3,
     parameters={"W": randn(3, 6)})
case("general, grouped", "general", randn(1, 4, 3, 2), randn(1, 2, 4, 5), randn(1, 2, 4, 3),
     parameters={"W": randn(2, 5)})
case("additive", "additive", randn(2, 1, 4, 3), randn(2, 1, 5, 6), randn(2, 1, 5, 2), axes=3,
     parameters=additive(7, 3, 6))
case("additive, grouped", "additive", randn(1, 4, 3, 2), randn(1, 2, 4, 5), randn(1, 2, 4, 3),
     parameters=additive(9, 2, 5))

# Options of the score.
case("scale", "scaled_dot_product", *qkv(1, 2, 3, 4, 5, 2), options={"scale": 0.3})
case("scale of an additive score", "additive", randn(1, 1, 3, 2), randn(1, 1, 4, 2),
     randn(1, 1, 4, 2), axes=2, parameters=additive(3, 2, 2), options={"scale": -1.7})
case("softcap", "dot_product", *qkv(1, 2, 3, 4, 6, 2, size=4), options={"softcap": 2.5})

# Each part of a mask.
case("causal", "scaled_dot_product", *qkv(2, 2, 5, 5, 3, 2), options={"causal": 1})
case("causal after a past", "scaled_dot_product", *qkv(2, 2, 3, 3, 4, 3), options={"causal": 1},
     past=(randn(2, 2, 4, 4), randn(2, 2, 4, 3)))
case("causal to the last key", "scaled_dot_product", *qkv(1, 2, 3, 6, 4, 2),
     options={"causal": 1, "align": "lower_right"})
case("causal with more queries than keys", "scaled_dot_product", *qkv(1, 1, 6, 3, 4, 2), axes=3,
     options={"causal": 1, "align": "lower_right"})
case("causal to the last valid key", "scaled_dot_product", *qkv(3, 1, 3, 6, 4, 2), axes=3,
     options={"causal": 1, "align": "lower_right"}, valid_lens=torch.tensor([6, 4, 1]))
case("window", "scaled_dot_product", *qkv(1, 2, 6, 6, 3, 2), options={"window": [2, 1]})
case("window open to the left", "dot_product", *qkv(1, 1, 5, 6, 3, 2), axes=2,
     options={"window": [-1, 1]})
case("window to the last key that is not padding", "scaled_dot_product", *qkv(2, 1, 3, 7, 4, 2),
     axes=3, options={"window": [1, 0], "align": "lower_right"},
     padding=torch.tensor([[0, 0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0, 0]], dtype=torch.bool))
case("window and global positions", "scaled_dot_product", *qkv(1, 2, 7, 7, 3, 2),
     options={"window": [1, 1], "global": [0, 4]})
case("valid lengths", "additive", randn(2, 1, 3, 4), randn(2, 1, 6, 3), randn(2, 1, 6, 2), axes=3,
     parameters=additive(5, 4, 3), valid_lens=torch.tensor([2, 6]))
case("valid lengths of each query", "dot_product", *qkv(2, 1, 3, 5, 4, 2), axes=3,
     valid_lens=torch.tensor([[1, 2, 5], [0, 4, 3]]))
case("padding", "general", randn(2, 2, 3, 2), randn(2, 2, 5, 3), randn(2, 2, 5, 2),
     parameters={"W": randn(2, 3)}, padding=flags(2, 5, p=0.4))
case("allow and block", "scaled_dot_product", *qkv(2, 3, 4, 5, 4, 2),
     allow=flags(2, 1, 4, 5, p=0.8), block=flags(3, 1, 5, p=0.2))
bias = randn(3, 4, 5)
bias[flags(3, 4, 5, p=0.2)] = -math.inf
case("bias", "scaled_dot_product", *qkv(2, 3, 4, 5, 4, 2), bias=bias)
case("finite fill", "dot_product", *qkv(2, 1, 4, 5, 3, 2), axes=3, options={"fill": -3.5},
     valid_lens=torch.tensor([0, 3]))

# All parts together, for every kind.
for kind in ("softmax", "dot_product", "scaled_dot_product", "general", "additive"):
    for align in ("upper_left", "lower_right"):
        q, k, v = qkv(2, 2, 6, 8, 3, 2)
        bias = randn(6, 1, size=0.5) + randn(1, 8)
        bias[1, 2] = bias[5, 0] = -math.inf
        inputs = {"scores": randn(2, 2, 6, 8)} if kind == "softmax" else {"query": q, "key": k}
        parameters = {"general": {"W": randn(3, 3)}, "additive": additive(4, 3, 3)}.get(kind, {})
        options = {"causal": 1, "align": align, "window": [3, 1], "global": [1], "softcap": 4.0,
                   "scale": 0.8}
        if align == "upper_left":
            options["fill"] = -1e9
        case(f"all masks, {kind}, {align}", kind, value=v, parameters=parameters, options=options,
             padding=flags(2, 8, p=0.1), allow=flags(1, 6, 8, p=0.9), block=flags(2, 2, 1, 8, p=0.1),
             bias=bias, valid_lens=torch.tensor([7, 8]), **inputs)

# PyTorch's own module with projections that change nothing; it has its own masks.
for biased in (False, True):
    width, heads = 8, 4
    module = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
        q, k, v = randn(2, 3, width), randn(2, 5, width), randn(2, 5, width)
        padding = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=torch.bool)
        mask = randn(3, 5) if biased else torch.triu(torch.ones(3, 5, dtype=torch.bool), 2)
        output, weights = module(q, k, v, attn_mask=mask, average_attn_weights=False,
                                 key_padding_mask=padding)
    write(f"torch.nn.MultiheadAttention {'with a bias' if biased else 'with a block mask'}",
          {"kind": "scaled_dot_product", "heads": heads},
          {"query": q, "key": k, "value": v, "mask.padding": padding,
           "mask.bias" if biased else "mask.block": mask}, {"weights": weights, "output": output})
