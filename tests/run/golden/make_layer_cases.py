"""Writes the cases of dropout, tokens and drawn parameters: folders of input.json and expected.json.

Needs a PyTorch built without MKL (Debian: python3-torch 1.13), as the draws of one with MKL differ.
    python3 make_layer_cases.py

Inputs are drawn in float32, as PyTorch's modules draw them; all else is computed in float64.
"""

import json
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def nested(tensor):
    return tensor.tolist() if torch.is_tensor(tensor) else tensor


def write(name, source, document, expected):
    os.makedirs(name, exist_ok=True)
    with open(f"{name}/input.json", "w") as file:
        json.dump(document, file, ensure_ascii=False)
    with open(f"{name}/expected.json", "w") as file:
        json.dump({"source": source, "tolerance": {"float32": 2e-05},
                   "tensors": {k: nested(t) for k, t in expected.items()}}, file)


def linear(layer, x):
    return F.linear(x, layer.weight.double(), None if layer.bias is None else layer.bias.double())


def linears(*sizes, bias=True):
    return [nn.Linear(i, o, bias=bias) for i, o in sizes]


def attend(q, k, v, heads=1, seen=None, p=0.0):
    """[B,L,H·d] to weights, dropped weights [B,H,Lq,Lk] and output [B,Lq,H·dv]."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if seen is not None:
        s = s.masked_fill(~seen, -math.inf)
    weights = torch.softmax(s, -1)
    dropped = F.dropout(weights, p, training=True)
    return weights, dropped, (dropped @ v).transpose(1, 2).flatten(2)


def project(four, q, kv, heads, seen=None, p=0.0):
    weights, dropped, output = attend(linear(four[0], q), linear(four[1], kv), linear(four[2], kv), heads, seen, p)
    return weights, dropped, linear(four[3], output) if len(four) == 4 else output


def norm(x):
    return F.layer_norm(x, (x.shape[-1],))


@torch.no_grad()
def dropout_of_scores():
    for seed, p in ((1, 0.1), (2, 0.5), (3, 0.9), (4, 1.0), (5, 0.0)):
        torch.manual_seed(seed)
        q, k, v = (torch.randn(2, 2, 5, 3).double() for _ in range(3))
        s = q @ k.transpose(-1, -2) / math.sqrt(3)
        weights = torch.softmax(s, -1)
        dropped = F.dropout(weights, p, training=True)
        write(f"dropout_p_{p}", "torch.nn.functional.dropout, drawn after query, key and value",
              {"attention": "sdpa", "seed": seed, "query": {"randn": [2, 2, 5, 3]},
               "key": {"randn": [2, 2, 5, 3]}, "value": {"randn": [2, 2, 5, 3]},
               "dropout": {"p": p, "training": True}},
              {"weights": weights, "dropped": dropped, "output": dropped @ v})


@torch.no_grad()
def dropout_after_parameters_and_mask():
    torch.manual_seed(11)
    x = torch.randn(2, 4, 6).double()
    four = linears(*[(6, 6)] * 4)
    bias = torch.randn(4, 4).double()
    q, k, v = (linear(l, x).unflatten(-1, (3, -1)).transpose(1, 2) for l in four[:3])
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(2) + bias, -1)
    dropped = F.dropout(weights, 0.3, training=True)
    output = linear(four[3], (dropped @ v).transpose(1, 2).flatten(2))
    write("dropout_after_parameters_and_mask", "the generator goes through x, four nn.Linear, a bias, then dropout",
          {"attention": "multi_head", "heads": 3, "seed": 11, "dropout": {"p": 0.3, "training": True},
           "mask": {"bias": {"randn": [4, 4]}}, "parameters": {"init": "torch"}, "x": {"randn": [2, 4, 6]}},
          {"weights": weights, "dropped": dropped, "output": output})


@torch.no_grad()
def dropout_in_a_decoder_stack():
    torch.manual_seed(12)
    x, memory = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
    made = [(linears(*[(4, 4)] * 4), linears(*[(4, 4)] * 4), linears((4, 6), (6, 4))) for _ in range(2)]
    seen, expected = torch.ones(3, 3).tril().bool(), {}
    for i, (own, cross, feed) in enumerate(made):
        for kind, four, m, mask in (("self", own, None, seen), ("cross", cross, memory, None)):
            weights, dropped, y = project(four, x, x if m is None else m, 2, mask, 0.25)
            x = norm(x + y)
            expected |= {f"layers.{i}.{kind}.weights": weights, f"layers.{i}.{kind}.dropped": dropped}
        x = norm(x + linear(feed[1], F.relu(linear(feed[0], x))))
    write("dropout_in_a_decoder_stack", "each attention draws after the one before, all after the parameters",
          {"attention": "decoder_layer", "layers": 2, "heads": 2, "feed_forward": 6, "seed": 12,
           "x": {"randn": [2, 3, 4]}, "memory": {"randn": [2, 5, 4]}, "mask": {"causal": True},
           "parameters": {"init": "torch"}, "dropout": {"p": 0.25, "training": True}},
          expected | {"output": x})


@torch.no_grad()
def not_training():
    torch.manual_seed(13)
    x = torch.randn(3, 4).double()
    weights, _, output = attend(x[None], x[None], x[None])
    write("dropout_outside_training", "without training dropout does nothing",
          {"attention": "sdpa", "seed": 13, "query": {"randn": [3, 4]}, "dropout": {"p": 0.9}},
          {"weights": weights[0, 0], "output": output[0]})


vocabulary = ["<pad>", "<unk>", "the", "cat", "sat", "on", "mat"]
drawn = {"vocabulary": vocabulary, "dimension": 6, "init": "torch", "pad": "<pad>", "unknown": "<unk>"}


def ids(rows):
    longest = max(map(len, rows))
    known = [[vocabulary.index(w) if w in vocabulary else 1 for w in row] for row in rows]
    return torch.tensor([row + [0] * (longest - len(row)) for row in known])


def lengths(rows):
    return torch.arange(max(map(len, rows))) < torch.tensor([len(row) for row in rows])[:, None]


def positions(length, width):
    p, i = torch.arange(length)[:, None].double(), torch.arange(width)
    angle = p / 10000 ** (2 * (i // 2) / width).double()
    return torch.where(i % 2 == 0, torch.sin(angle), torch.cos(angle))


@torch.no_grad()
def tokens():
    rows = [["the", "cat", "sat"], ["the", "dog", "sat", "on", "the"]]
    torch.manual_seed(21)
    table = nn.Embedding(7, 6).weight.double()
    four = linears(*[(6, 6)] * 4)
    x = table[ids(rows)] + positions(5, 6)
    weights, _, output = project(four, x, x, 2, lengths(rows)[:, None, None])
    write("tokens_ragged_with_unknown", "nn.Embedding, sinusoidal positions, padded self-attention; dog is unknown",
          {"attention": "multi_head", "heads": 2, "seed": 21, "tokens": rows, "parameters": {"init": "torch"},
           "embedding": drawn | {"position": "sinusoidal", "recover": True}},
          {"token_ids": ids(rows), "embedded": x, "recovered_ids": (table @ table.T).argmax(-1)[ids(rows)],
           "weights": weights, "output": output})

    rows = ["sat", "on", "mat"]
    torch.manual_seed(22)
    table = nn.Embedding(7, 6).weight.double()
    x = table[ids([rows])]
    four = linears(*[(6, 6)] * 3, bias=False)
    weights, _, output = project(four, x, x, 1)
    write("tokens_of_one_bare_sequence", "a flat list of tokens has no batch axis",
          {"attention": "self", "seed": 22, "tokens": rows, "embedding": drawn,
           "parameters": {"init": "torch", "bias": False, "output_projection": False}},
          {"token_ids": ids([rows])[0], "embedded": x[0], "weights": weights[0, 0], "output": output[0]})


@torch.no_grad()
def token_ids_and_memory():
    rows, memory = [[2, 3], [4, 5]], [[6, 5, 4], [3]]
    table = torch.arange(42).reshape(7, 6).double().sin().float().double()
    padded = torch.tensor([[6, 5, 4], [3, 0, 0]])
    seen = torch.tensor([[1, 1, 1], [1, 0, 0]]).bool()[:, None, None]
    torch.manual_seed(23)
    made = linears(*[(6, 6)] * 4), linears(*[(6, 6)] * 4), linears((6, 8), (8, 6))
    x, m = table[torch.tensor(rows)], table[padded]
    own, _, y = project(made[0], x, x, 2, torch.ones(2, 2).tril().bool())
    x = norm(x + y)
    cross, _, y = project(made[1], x, m, 2, seen)
    x = norm(x + y)
    x = norm(x + linear(made[2][1], F.relu(linear(made[2][0], x))))
    write("token_ids_with_a_ragged_memory", "the memory's padding hides its keys from the cross-attention",
          {"attention": "decoder_layer", "heads": 2, "feed_forward": 8, "seed": 23, "token_ids": rows,
           "memory_token_ids": memory, "mask": {"causal": True}, "embedding": {"table": table.tolist(), "pad": 0},
           "parameters": {"init": "torch"}},
          {"token_ids": torch.tensor(rows), "memory_token_ids": padded, "memory_embedded": m,
           "self.weights": own, "cross.weights": cross, "output": x})


@torch.no_grad()
def tokens_behind_a_past():
    rows = [["the", "cat"], ["mat"]]
    table = torch.arange(42).reshape(7, 6).double().cos().float().double()
    torch.manual_seed(24)
    past_key, past_value = torch.randn(2, 3, 6).double(), torch.randn(2, 3, 6).double()
    x = table[ids(rows)]
    # The document hides the second past key, the ragged rows the last key of the second sample.
    seen = torch.tensor([[1, 0, 1, 1, 1], [1, 0, 1, 1, 0]]).bool()[:, None, None]
    weights, _, output = attend(x, torch.cat([past_key, x], 1), torch.cat([past_value, x], 1), 1, seen)
    write("tokens_behind_a_past", "padding of the tokens and of the document hold together",
          {"attention": "sdpa", "seed": 24, "tokens": rows, "past_key": {"randn": [2, 3, 6]},
           "past_value": {"randn": [2, 3, 6]}, "mask": {"padding": [[False, True, False, False, False]]},
           "embedding": {"vocabulary": vocabulary, "table": table.tolist(), "pad": "<pad>"}},
          {"weights": weights[:, 0], "output": output})


@torch.no_grad()
def parameters_drawn_one_by_one():
    torch.manual_seed(31)
    x = torch.randn(2, 3, 4).double()
    made = [torch.randn(*shape).double() for shape in ((4, 4), (4,), (4, 4), (4,), (4, 4), (4,), (4, 4), (4,))]
    q, k, v = (F.linear(x, made[i], made[i + 1]) for i in (0, 2, 4))
    weights, _, output = attend(q, k, v, 2)
    names = [f"{name}.{part}" for name in ("Q", "K", "V", "linear") for part in ("weight", "bias")]
    shuffled = [names[i] for i in (7, 2, 5, 0, 4, 6, 3, 1)]
    write("parameters_drawn_in_order_of_construction", "random parameters are drawn in order of construction, "
          "not of the document",
          {"attention": "multi_head", "heads": 2, "seed": 31,
           "parameters": {name: {"randn": list(made[names.index(name)].shape)} for name in shuffled},
           "x": {"randn": [2, 3, 4]}},
          {"weights": weights, "output": F.linear(output, made[6], made[7])})


dropout_of_scores()
dropout_after_parameters_and_mask()
dropout_in_a_decoder_stack()
not_training()
tokens()
token_ids_and_memory()
tokens_behind_a_past()
parameters_drawn_one_by_one()
