"""Writes onnx_attention.txt: what the Attention operator of ONNX gives, opsets 23 to 25.

Written with NumPy from the operator's specification (onnx/onnx, docs/Operators.md#Attention), in
float64; independent of PyTorch and of this project.
    python3 make_onnx_attention.py > onnx_attention.txt
"""

import itertools

import numpy as np
import torch

from case_writer import write

random = np.random.default_rng(23)


def drawn(*shape):
    return np.round(random.standard_normal(shape) * 16) / 16


def onnx_attention(Q, K, V, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None,
                   is_causal=0, q_num_heads=None, kv_num_heads=None, scale=None, softcap=0.0,
                   left_window_size=-1, right_window_size=-1):
    """Y and qk_matmul_output for the modes 0, 1, 2 and 3."""
    joined = Q.ndim == 3
    if joined:  # (batch, sequence, heads * size) to (batch, heads, sequence, size)
        Q, K, V = (np.stack(np.split(x, n, axis=-1), axis=1)
                   for x, n in ((Q, q_num_heads), (K, kv_num_heads), (V, kv_num_heads)))
    if past_key is not None:
        K, V = np.concatenate((past_key, K), axis=2), np.concatenate((past_value, V), axis=2)
    (batch, heads, queries, size), keys = Q.shape, K.shape[2]
    group = heads // K.shape[1]
    root = np.sqrt(1 / np.sqrt(size) if scale is None else scale)

    # What precedes the queries: the cache inside, the valid part of a cache outside, or nothing.
    offset = np.full(batch, 0 if past_key is None else past_key.shape[2])
    if nonpad_kv_seqlen is not None:
        offset = nonpad_kv_seqlen - queries
    bias = np.zeros((batch, heads, queries, keys))
    for b, i, j in itertools.product(range(batch), range(queries), range(keys)):
        position = i + offset[b]
        hidden = is_causal and j > position
        hidden |= left_window_size >= 0 and j < position - left_window_size
        hidden |= right_window_size >= 0 and j > position + right_window_size
        hidden |= nonpad_kv_seqlen is not None and j >= nonpad_kv_seqlen[b]
        if hidden:
            bias[b, :, i, j] = -np.inf
    if attn_mask is not None:
        bias = bias + (np.where(attn_mask, 0.0, -np.inf) if attn_mask.dtype == bool else attn_mask)

    modes = [np.empty((batch, heads, queries, keys)) for _ in range(4)]
    Y = np.zeros((batch, heads, queries, V.shape[3]))
    for b, h in itertools.product(range(batch), range(heads)):
        raw = (Q[b, h] * root) @ (K[b, h // group] * root).T
        capped = softcap * np.tanh(raw / softcap) if softcap > 0 else raw
        masked = capped + bias[b, h]
        top = masked.max(axis=1, keepdims=True)
        weights = np.where(masked == -np.inf, 0.0, np.exp(masked - np.where(np.isinf(top), 0.0, top)))
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)  # a row that sees nothing stays zero
        for mode, matrix in zip(modes, (raw, capped, masked, weights)):
            mode[b, h] = matrix
        Y[b, h] = weights @ V[b, h // group]
    if joined:
        Y = np.concatenate([Y[:, h] for h in range(heads)], axis=-1)
    return Y, modes


def case(name, Q, K, V, **arguments):
    Y, modes = onnx_attention(Q, K, V, **arguments)
    tensors, options = {"query": Q, "key": K, "value": V}, {}
    for key, value in arguments.items():
        if key == "attn_mask":
            tensors["mask.allow" if value.dtype == bool else "mask.bias"] = value
        elif key in ("past_key", "past_value"):
            tensors[key] = value
        elif key == "nonpad_kv_seqlen":
            tensors["mask.valid_lens"] = value
            options["align"] = "lower_right"
        elif key == "left_window_size":
            options["window"] = [value, arguments.get("right_window_size", -1)]
        elif key == "right_window_size":
            options.setdefault("window", [-1, value])
        else:
            options[{"is_causal": "causal", "q_num_heads": "heads", "kv_num_heads": "kv_heads"}.get(key, key)] = value
    names = ("scores", "capped", "masked", "weights")
    expected = dict(zip(names, modes)) | {"output": Y}
    write(name, options, {k: torch.tensor(t) for k, t in tensors.items()},
          {k: torch.tensor(t) for k, t in expected.items()})


def qkv(batch=2, heads=2, queries=3, keys=4, size=5, value_size=3, kv_heads=None):
    kv_heads = kv_heads or heads
    return drawn(batch, heads, queries, size), drawn(batch, kv_heads, keys, size), drawn(batch, kv_heads, keys, value_size)


case("4 axes", *qkv())
case("3 axes", drawn(2, 3, 8), drawn(2, 4, 8), drawn(2, 4, 4), q_num_heads=4, kv_num_heads=4)
case("grouped queries, 3 axes", drawn(2, 3, 8), drawn(2, 4, 4), drawn(2, 4, 6), q_num_heads=4, kv_num_heads=2)
case("grouped queries, 4 axes", *qkv(heads=4, kv_heads=2))
case("one key head", *qkv(heads=3, kv_heads=1))
case("scale", *qkv(), scale=0.125)
case("softcap", *qkv(), softcap=2.0)
case("softcap and float mask: the cap comes first", *qkv(), softcap=0.5, attn_mask=drawn(3, 4) * 4)
case("causal, square", *qkv(queries=4, keys=4), is_causal=1)
case("causal, more keys than queries: upper left", *qkv(queries=3, keys=5), is_causal=1)
case("causal, more queries than keys", *qkv(queries=5, keys=3), is_causal=1)
for shape in ((4,), (3, 4), (2, 3, 4), (2, 2, 3, 4), (2, 1, 1, 4), (1, 3, 4)):
    seen = random.random(shape) < 0.6
    case(f"boolean mask {list(shape)}", *qkv(), attn_mask=seen)
    case(f"float mask {list(shape)}", *qkv(), attn_mask=drawn(*shape))
mask = drawn(2, 1, 3, 4)
mask[random.random(mask.shape) < 0.3] = -np.inf
mask[1, 0, 2] = -np.inf
case("float mask with -inf, a whole row among it", *qkv(), attn_mask=mask)
case("boolean mask that hides a whole row", *qkv(), attn_mask=np.array([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool))
case("boolean mask and causal", *qkv(queries=4, keys=4), is_causal=1, attn_mask=random.random((2, 1, 4, 4)) < 0.7)
case("float mask and causal", *qkv(queries=4, keys=4), is_causal=1, attn_mask=drawn(4, 4))
past = {"past_key": drawn(2, 2, 3, 5), "past_value": drawn(2, 2, 3, 3)}
case("past", *qkv(keys=3), **past)
case("past, causal", *qkv(keys=3), is_causal=1, **past)
case("past, causal, boolean mask", *qkv(keys=3), is_causal=1, attn_mask=random.random((3, 6)) < 0.7, **past)
case("past, causal, grouped queries, softcap, scale, float mask", *qkv(heads=4, kv_heads=2, queries=2, keys=2),
     is_causal=1, softcap=1.5, scale=0.3, attn_mask=drawn(2, 1, 2, 5), **past)
case("valid lengths of a cache outside, causal", *qkv(queries=2, keys=6), is_causal=1, nonpad_kv_seqlen=np.array([6, 3]))
case("valid lengths shorter than the queries, causal", *qkv(queries=4, keys=6), is_causal=1,
     nonpad_kv_seqlen=np.array([2, 5]))
case("valid lengths, not causal", *qkv(queries=2, keys=6), nonpad_kv_seqlen=np.array([1, 4]))
case("window to both sides", *qkv(queries=6, keys=6), left_window_size=2, right_window_size=1)
case("window to the left, causal", *qkv(queries=6, keys=6), left_window_size=2, is_causal=1)
case("window to the right, past", *qkv(queries=3, keys=3), right_window_size=0, **past)
case("window, valid lengths, causal", *qkv(queries=3, keys=6), left_window_size=1, right_window_size=0, is_causal=1,
     nonpad_kv_seqlen=np.array([6, 4]))
