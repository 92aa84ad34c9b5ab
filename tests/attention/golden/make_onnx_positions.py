"""Writes onnx_rotary_embedding.txt and onnx_attention_3d_past.txt beside itself.

The cases of ONNX's conformance tests (onnx/onnx, onnx/backend/test/case/node/rotaryembedding.py, opset 23, and
attention.py's test_attention_3d_*_with_past_and_present*, opset 23 to 25): their names, axes and attributes, with numbers
that are multiples of 1/16. The results follow the operators' specifications (docs/Operators.md) in plain Python.
    python3 make_onnx_positions.py
"""

import itertools
import math
import os
import random

random.seed(25)
here = os.path.dirname(os.path.abspath(__file__))


def count(shape):
    return math.prod(shape)


class Array:
    """Numbers in row-major order."""

    def __init__(self, shape, numbers=None):
        self.shape = tuple(shape)
        self.numbers = numbers or [round(random.gauss(0, 1) * 16) / 16 for _ in range(count(shape))]

    def place(self, index):
        at = 0
        for size, i in zip(self.shape, index):
            at = at * size + i
        return at

    def __getitem__(self, index):
        return self.numbers[self.place(index)]

    def __setitem__(self, index, number):
        self.numbers[self.place(index)] = number


def text(number):
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


def write(file, name, options, tensors, expected):
    print("case", name, file=file)
    for key, value in options.items():
        print("set", key, value, file=file)
    for key, array in (tensors | {"expected." + k: a for k, a in expected.items()}).items():
        print("tensor", key, *array.shape, ":", *(text(x) for x in array.numbers), file=file)
    print("end", file=file)


def rotary_embedding(x, cos, sin, positions, interleaved, heads):
    """x [B,H,S,D] or [B,S,H·D]; cos and sin by positions [B,S], or [B,S,width/2] without them."""
    y = Array(x.shape, list(x.numbers))
    joined = len(x.shape) == 3
    batch, length = x.shape[0], x.shape[-2]
    size = x.shape[2] // heads if joined else x.shape[3]
    pairs = cos.shape[-1]
    for b, h, s, n in itertools.product(range(batch), range(heads), range(length), range(pairs)):
        row = (positions[b, s], n) if positions else (b, s, n)
        first, second = (2 * n, 2 * n + 1) if interleaved else (n, n + pairs)
        at = [(b, s, h * size + c) if joined else (b, h, s, c) for c in (first, second)]
        y[at[0]] = cos[row] * x[at[0]] - sin[row] * x[at[1]]
        y[at[1]] = sin[row] * x[at[0]] + cos[row] * x[at[1]]
    return y


def rotary_case(file, name, three_axes=False, interleaved=False, width=8, with_positions=True):
    heads, length = 4, 3
    x = Array((2, length, heads * 8) if three_axes else (2, heads, length, 8))
    tables = (12, width // 2) if with_positions else (2, length, width // 2)
    cos, sin = Array(tables), Array(tables)
    positions = Array((2, length), [random.randrange(12) for _ in range(2 * length)]) if with_positions else None
    options = ({"interleaved": 1} if interleaved else {}) | ({"heads": heads} if three_axes else {})
    tensors = {"query": x, "cos": cos, "sin": sin} | ({"positions": positions} if positions else {})
    output = rotary_embedding(x, cos, sin, positions, interleaved, heads)
    write(file, name, options, tensors, {"output": output})


def attention(q, k, v, past_key, past_value, heads, kv_heads, bias=None, softcap=0.0):
    """The output [B,Lq,H·Dv] of q [B,Lq,H·D] and so on, past ones [B,G,P,D], and the products at each stage."""
    batch, queries = q.shape[:2]
    past, size, value_size = past_key.shape[2], q.shape[2] // heads, v.shape[2] // kv_heads
    keys = past + k.shape[1]
    scores, capped, masked, weights = (Array((batch, heads, queries, keys), [0.0] * (batch * heads * queries * keys))
                                       for _ in range(4))
    output = Array((batch, queries, heads * value_size), [0.0] * (batch * queries * heads * value_size))
    for b, h, i in itertools.product(range(batch), range(heads), range(queries)):
        g = h // (heads // kv_heads)
        for j in range(keys):
            def key(c):
                return past_key[b, g, j, c] if j < past else k[b, j - past, g * size + c]
            s = sum(q[b, i, h * size + c] * key(c) for c in range(size)) / math.sqrt(size)
            scores[b, h, i, j] = s
            capped[b, h, i, j] = s = softcap * math.tanh(s / softcap) if softcap else s
            masked[b, h, i, j] = s + (bias[i, j] if bias else 0)
        top = max(masked[b, h, i, j] for j in range(keys))
        powers = [math.exp(masked[b, h, i, j] - top) for j in range(keys)]
        for j in range(keys):
            weights[b, h, i, j] = powers[j] / sum(powers)
        for c in range(value_size):
            output[b, i, h * value_size + c] = sum(
                weights[b, h, i, j] * (past_value[b, g, j, c] if j < past else v[b, j - past, g * value_size + c])
                for j in range(keys))
    return {"scores": scores, "capped": capped, "masked": masked, "weights": weights, "output": output}


def past_case(file, name, heads=3, kv_heads=3, value_size=4, stage="weights", bias=False, softcap=0.0):
    size, queries, keys, past = 4, 3, 4, 5
    q, k, v = Array((2, queries, heads * size)), Array((2, keys, kv_heads * size)), Array((2, keys, kv_heads * value_size))
    past_key, past_value = Array((2, kv_heads, past, size)), Array((2, kv_heads, past, value_size))
    mask = Array((queries, past + keys)) if bias else None
    results = attention(q, k, v, past_key, past_value, heads, kv_heads, mask, softcap)
    options = {"heads": heads, "kv_heads": kv_heads} | ({"softcap": softcap} if softcap else {})
    tensors = {"query": q, "key": k, "value": v, "past_key": past_key, "past_value": past_value}
    write(file, name, options, tensors | ({"mask.bias": mask} if mask else {}),
          {name: results[name] for name in ("output", stage)})


with open(os.path.join(here, "onnx_rotary_embedding.txt"), "w") as file:
    rotary_case(file, "test_rotary_embedding")
    rotary_case(file, "test_rotary_embedding_3d_input", three_axes=True)
    rotary_case(file, "test_rotary_embedding_interleaved", interleaved=True)
    rotary_case(file, "test_rotary_embedding_with_rotary_dim", width=4)
    rotary_case(file, "test_rotary_embedding_with_interleaved_rotary_dim", interleaved=True, width=4)
    rotary_case(file, "test_rotary_embedding_no_position_ids", with_positions=False)
    rotary_case(file, "test_rotary_embedding_no_position_ids_interleaved", interleaved=True, with_positions=False)
    rotary_case(file, "test_rotary_embedding_no_position_ids_rotary_dim", width=4, with_positions=False)

with open(os.path.join(here, "onnx_attention_3d_past.txt"), "w") as file:
    past_case(file, "test_attention_3d_with_past_and_present")
    past_case(file, "test_attention_3d_gqa_with_past_and_present", heads=6)
    past_case(file, "test_attention_3d_diff_heads_with_past_and_present", value_size=5)
    past_case(file, "test_attention_3d_with_past_and_present_qk_matmul", stage="scores")
    past_case(file, "test_attention_3d_with_past_and_present_qk_matmul_bias", stage="masked", bias=True)
    past_case(file, "test_attention_3d_with_past_and_present_qk_matmul_softcap", stage="capped", softcap=2.0)
    past_case(file, "test_attention_3d_with_past_and_present_qk_matmul_softmax", stage="weights", bias=True)
