"""Writes layers.txt: projections, layer norms, projected attentions and transformer layers with the
numbers PyTorch computes for them in float64.

Needs PyTorch (Debian: python3-torch 1.13).
    python3 make_layers.py > layers.txt

Where torch.nn has a module, its numbers are taken; `attention` and `layer` below write out what its
modules lack (grouped heads, pasts, projections that are not square), and are themselves held
against the modules.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from case_writer import write

torch.set_default_dtype(torch.float64)
torch.manual_seed(21)


def drawn(*shape, size=1.0, step=16):
    # Multiples of 1/16 are short to write and the same in float32.
    return torch.round(torch.randn(*shape) * size * step) / step


def linear(name, outputs, inputs, bias=True):
    made = {name + ".weight": drawn(outputs, inputs, size=0.5)}
    if bias:
        made[name + ".bias"] = drawn(outputs, size=0.5)
    return made


def norm(name, width):
    return {name + ".weight": 1 + drawn(width, size=0.3), name + ".bias": drawn(width, size=0.3)}


def projections(width, out_width=None, key=None, value=None, heads=1, kv_heads=None, d=None, dv=None,
                out=None, bias=True, output=True, prefix=""):
    """W_q, W_k, W_v and W_o; square unless sizes are given."""
    kv_heads = kv_heads or heads
    d = d or width // heads
    dv = dv or d
    made = linear(prefix + "W_q", heads * d, width, bias)
    made |= linear(prefix + "W_k", kv_heads * d, key or width, bias)
    made |= linear(prefix + "W_v", kv_heads * dv, value or key or width, bias)
    if output:
        made |= linear(prefix + "W_o", out or width, heads * dv, bias)
    return made


def apply(parameters, name, x):
    return F.linear(x, parameters[name + ".weight"], parameters.get(name + ".bias"))


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attention(p, q, k, v, heads=1, kv_heads=None, prefix="", past=None, scale=None, softcap=None,
              seen=None, bias=None, fill=-math.inf):
    """Batched hidden states to weights [B,H,Lq,Lk] and output [B,Lq,out]; past [B,G,P,d]."""
    kv_heads = kv_heads or heads
    q = split(apply(p, prefix + "W_q", q), heads)
    k, v = split(apply(p, prefix + "W_k", k), kv_heads), split(apply(p, prefix + "W_v", v), kv_heads)
    if past is not None:
        k = torch.cat([past[0].expand(len(k), -1, -1, -1), k], 2)
        v = torch.cat([past[1].expand(len(v), -1, -1, -1), v], 2)
    k, v = (x.repeat_interleave(heads // kv_heads, 1) for x in (k, v))
    s = torch.matmul(q, k.transpose(-1, -2)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    if seen is not None:
        s = s.masked_fill(~seen.expand(s.shape), fill)
    weights = torch.softmax(s, -1).masked_fill((s == -math.inf).all(-1, keepdim=True), 0.0)
    output = torch.matmul(weights, v).transpose(1, 2).flatten(2)
    if prefix + "W_o.weight" in p:
        output = apply(p, prefix + "W_o", output)
    return weights, output


def close(a, b):
    assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-12, atol=1e-12), (a - b).abs().max()


def filled(module, source):
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(source(name, parameter))
    return module


def some_parameter(name, parameter):
    size = 0.3 if "norm" in name else 0.5
    return drawn(*parameter.shape, size=size) + (1 if "norm" in name and name.endswith("weight") else 0)


# torch.nn.MultiheadAttention's parameters under this project's names.
def ours(state, prefix="", to=""):
    made = {}
    if prefix + "in_proj_weight" in state:
        weights = state[prefix + "in_proj_weight"].chunk(3)
    else:
        weights = [state[prefix + n + "_proj_weight"] for n in "qkv"]
    for name, weight in zip("qkv", weights):
        made[f"{to}W_{name}.weight"] = weight
    if prefix + "in_proj_bias" in state:
        for name, bias in zip("qkv", state[prefix + "in_proj_bias"].chunk(3)):
            made[f"{to}W_{name}.bias"] = bias
    made[to + "W_o.weight"] = state[prefix + "out_proj.weight"]
    if prefix + "out_proj.bias" in state:
        made[to + "W_o.bias"] = state[prefix + "out_proj.bias"]
    return made


def projected(name, inputs, parameters, options, weights, output, masks=None):
    write(name, {"kind": "projected"} | options,
          inputs | parameters | {"mask." + k: t for k, t in (masks or {}).items()},
          {"weights": weights, "output": output})


# ---- Linear, LayerNorm -----------------------------------------------------------------------

for shape, outputs, bias in (((3, 4), 5, True), ((2, 3, 4), 2, True), ((2, 1, 7), 7, False), ((1, 1), 1, True)):
    x, p = drawn(*shape), linear("linear", outputs, shape[-1], bias)
    write(f"linear {list(shape)} to {outputs}{'' if bias else ', no bias'}", {"kind": "linear"},
          {"x": x} | p, {"output": apply(p, "linear", x)})

constant = torch.full((2, 4), 3.0)
for name, x, eps, affine in (("layer norm", drawn(2, 3, 6), 1e-5, True),
                             ("layer norm without weight and bias", drawn(3, 6), 1e-5, False),
                             ("layer norm with a large eps", drawn(3, 5), 0.5, True),
                             ("layer norm with a tiny eps", drawn(3, 5, size=0.1), 1e-12, True),
                             ("layer norm of large numbers", 1e6 + drawn(3, 8), 1e-5, True),
                             ("layer norm of equal numbers", constant, 1e-5, True),
                             ("layer norm of one number", drawn(4, 1), 1e-5, True)):
    width = x.shape[-1]
    p = norm("norm", width) if affine else {}
    # PyTorch loses ten digits of large numbers; without their common part it loses none.
    mean = torch.full((), 1e6 if "large numbers" in name else 0.0)
    write(name, {"kind": "layer_norm", "eps": eps}, {"x": x} | p,
          {"output": F.layer_norm(x - mean, (width,), p.get("norm.weight"), p.get("norm.bias"), eps)})

# ---- Projected attention: torch.nn.MultiheadAttention ----------------------------------------

padding = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 1, 1, 1]], dtype=torch.bool)
future = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)


def multihead(name, width, heads, query, key=None, value=None, bias=True, options=None, masks=None,
              unbatched=False, **arguments):
    k = query if key is None else key
    v = k if value is None else value
    module = nn.MultiheadAttention(width, heads, bias=bias, kdim=k.shape[-1], vdim=v.shape[-1],
                                   batch_first=True)
    state = filled(module, some_parameter).state_dict()
    with torch.no_grad():
        output, weights = module(query, k, v, average_attn_weights=False, **arguments)
    inputs = {"query": query}
    if key is not None:
        inputs["key"] = key
    if value is not None:
        inputs["value"] = value
    projected(name, inputs, ours(state), {"heads": heads} | (options or {}), weights, output, masks)
    return state, inputs


multihead("multihead", 8, 2, drawn(2, 4, 8))
multihead("multihead without biases", 8, 4, drawn(2, 3, 8), bias=False)
multihead("multihead with one head", 6, 1, drawn(2, 3, 6))
multihead("multihead over a memory", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8))
multihead("multihead over key and value", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8), drawn(2, 5, 8))
multihead("multihead with kdim and vdim", 8, 2, drawn(2, 3, 8), drawn(2, 5, 6), drawn(2, 5, 10))
multihead("multihead with kdim and vdim, without biases", 8, 4, drawn(2, 3, 8), drawn(2, 5, 3),
          drawn(2, 5, 3), bias=False)
multihead("multihead unbatched", 8, 4, drawn(4, 8))
multihead("multihead unbatched over a memory, with a mask", 8, 2, drawn(4, 8), drawn(4, 6),
          attn_mask=future, options={"causal": 1})
multihead("multihead, causal", 8, 2, drawn(2, 4, 8), attn_mask=future, options={"causal": 1})
multihead("multihead with padding", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8), key_padding_mask=padding,
          masks={"padding": padding})
block = (torch.rand(3, 5) < 0.5) & (torch.arange(5) != 0)
multihead("multihead with attn_mask of rank 2 and padding", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8),
          attn_mask=block, key_padding_mask=padding, masks={"block": block, "padding": padding})
block = (torch.rand(2, 2, 3, 5) < 0.4) & ~torch.eye(3, 5, dtype=torch.bool)
multihead("multihead with attn_mask of rank 3", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8),
          attn_mask=block.flatten(0, 1), masks={"block": block})
bias = drawn(3, 5)
multihead("multihead with a float attn_mask of rank 2", 8, 2, drawn(2, 3, 8), drawn(2, 5, 8),
          attn_mask=bias, masks={"bias": bias})
bias = drawn(2, 2, 3, 5)
bias[0, 1, 2, 3] = bias[1, 0, 0, 0] = -math.inf
multihead("multihead with a float attn_mask of rank 3, partly -inf", 8, 2, drawn(2, 3, 8),
          drawn(2, 5, 8), attn_mask=bias.flatten(0, 1), masks={"bias": bias})

# ---- Projected attention that torch.nn.MultiheadAttention lacks -------------------------------

p = projections(8, heads=2)
x = drawn(2, 4, 8)
module = nn.MultiheadAttention(8, 2, batch_first=True)
with torch.no_grad():
    module.in_proj_weight.copy_(torch.cat([p[f"W_{n}.weight"] for n in "qkv"]))
    module.in_proj_bias.copy_(torch.cat([p[f"W_{n}.bias"] for n in "qkv"]))
    module.out_proj.weight.copy_(p["W_o.weight"])
    module.out_proj.bias.copy_(p["W_o.bias"])
    output, weights = module(x, x, x, average_attn_weights=False, attn_mask=future)
weights_here, output_here = attention(p, x, x, x, heads=2, seen=~future)
close(weights, weights_here)
close(output, output_here)


def written(name, q, k=None, v=None, parameters=None, options=None, masks=None, past=None,
            past_axes=4, drop_axis=None, **arguments):
    """A case of `attention`. Without heads the weights have no axis for them."""
    options = options or {}
    heads, kv_heads = options.get("heads"), options.get("kv_heads")
    kk = q if k is None else k
    vv = kk if v is None else v
    batch = max(len(q), len(kk), len(vv))
    weights, output = attention(parameters, *(t.expand(batch, -1, -1) for t in (q, kk, vv)),
                                heads=heads or 1, kv_heads=kv_heads, past=past,
                                scale=options.get("scale"), softcap=options.get("softcap"), **arguments)
    if heads is None:
        weights = weights[:, 0]
    inputs = {"query": q}
    if k is not None:
        inputs["key"] = k
    if v is not None:
        inputs["value"] = v
    if past is not None:
        for part, tensor in zip(("past_key", "past_value"), past):
            inputs[part] = tensor if past_axes == 4 else tensor.transpose(1, 2).flatten(2)
    projected(name, inputs, parameters, options, weights, output, masks)


written("single head, no output projection", drawn(2, 3, 6), parameters=projections(6, output=False))
written("single head over a memory", drawn(2, 3, 6), drawn(2, 4, 6), parameters=projections(6))
written("projections that are not square", drawn(2, 3, 5), drawn(2, 4, 7),
        parameters=projections(5, key=7, heads=2, d=3, dv=2, out=9), options={"heads": 2})
written("some biases only", drawn(1, 3, 4),
        parameters=projections(4, heads=2, bias=False) | {"W_v.bias": drawn(4)}, options={"heads": 2})
written("fewer key heads", drawn(2, 3, 8), parameters=projections(8, heads=4, kv_heads=2),
        options={"heads": 4, "kv_heads": 2})
written("one key head over a memory, causal", drawn(2, 3, 6), drawn(2, 3, 5),
        parameters=projections(6, key=5, heads=3, kv_heads=1, dv=4), options={"heads": 3, "kv_heads": 1, "causal": 1},
        seen=~future[:3, :3])
written("one query sample for three of the memory", drawn(1, 2, 4), drawn(3, 4, 4),
        parameters=projections(4, heads=2), options={"heads": 2})
written("one memory for three query samples", drawn(3, 2, 4), drawn(1, 4, 4),
        parameters=projections(4, heads=2), options={"heads": 2})
written("scale and softcap", drawn(1, 3, 4, size=3), parameters=projections(4, heads=2),
        options={"heads": 2, "scale": 0.75, "softcap": 1.5})
past = drawn(2, 2, 3, 4), drawn(2, 2, 3, 4)
p, x = projections(8, heads=2), drawn(2, 3, 8)
seen = torch.arange(6) <= torch.arange(3)[:, None] + 3
for axes in (4, 3):
    written(f"past of {axes} axes, causal", x, parameters=p, options={"heads": 2, "causal": 1},
            past=past, past_axes=axes, seen=seen)
written("past of fewer key heads", drawn(2, 2, 8), parameters=projections(8, heads=4, kv_heads=2, dv=3),
        options={"heads": 4, "kv_heads": 2}, past=(drawn(2, 2, 2, 2), drawn(2, 2, 2, 3)))
written("past of one sample for all", drawn(2, 2, 4), parameters=projections(4, heads=2),
        options={"heads": 2}, past=(drawn(1, 2, 3, 2), drawn(1, 2, 3, 2)))
lens = torch.tensor([2, 5])
written("valid lengths", drawn(2, 3, 4), drawn(2, 5, 4), parameters=projections(4, heads=2),
        options={"heads": 2}, masks={"valid_lens": lens},
        seen=(torch.arange(5) < lens[:, None])[:, None, None])
lens = torch.tensor([[1, 0, 5], [2, 4, 3]])
written("valid lengths of each query, one of them 0", drawn(2, 3, 4), drawn(2, 5, 4),
        parameters=projections(4, heads=2), options={"heads": 2}, masks={"valid_lens": lens},
        seen=(torch.arange(5) < lens[:, :, None])[:, None])
for rank, shape in ((1, (5,)), (2, (3, 5)), (3, (2, 3, 5)), (4, (2, 1, 3, 5))):
    q, k, p = drawn(2, 3, 4), drawn(2, 5, 4), projections(4, heads=2)
    allow = (torch.rand(shape) < 0.6) | (torch.arange(5) == 1)
    written(f"allow of rank {rank}", q, k, parameters=p, options={"heads": 2}, masks={"allow": allow},
            seen=allow)
    block = (torch.rand(shape) < 0.4) & (torch.arange(5) != 1)
    written(f"block of rank {rank}", q, k, parameters=p, options={"heads": 2}, masks={"block": block},
            seen=~block)
    bias = drawn(*shape)
    written(f"bias of rank {rank}", q, k, parameters=p, options={"heads": 2}, masks={"bias": bias},
            bias=bias)
lens = torch.tensor([4, 6])
offset = lens[:, None, None, None] - 3
keys, queries = torch.arange(6), torch.arange(3)[:, None]
written("aligned to the last valid key", drawn(2, 3, 4), drawn(2, 6, 4), parameters=projections(4, heads=2),
        options={"heads": 2, "causal": 1, "align": "lower_right"}, masks={"valid_lens": lens},
        seen=(keys <= queries + offset) & (keys < lens[:, None, None, None]))
queries = torch.arange(6)[:, None]
near = (keys - queries).abs() <= 1
seen = (near | (keys == 0) | (queries == 0)) & (keys <= queries)
written("window, global position, causal, finite fill", drawn(1, 6, 4), parameters=projections(4, heads=2),
        options={"heads": 2, "causal": 1, "window": [1, 1], "global": 0, "fill": -2.5}, seen=seen,
        fill=-2.5)

# ---- Transformer layers ----------------------------------------------------------------------


def add_and_norm(p, prefix, name, x, f, pre, eps):
    def normed(y):
        weight, bias = p.get(f"{prefix}{name}.weight"), p.get(f"{prefix}{name}.bias")
        return F.layer_norm(y, (y.shape[-1],), weight, bias, eps)

    return x + f(normed(x)) if pre else normed(x + f(x))


def layer(p, prefix, x, memory=None, activation="relu", pre=False, eps=1e-5, own=None, cross=None):
    """One layer written out: the hidden states and the weights of both attentions."""
    weights = {}

    def attended(name, kind, arguments, k=None):
        def f(y):
            source = y if k is None else k
            batch = max(len(y), len(source))
            y, source = y.expand(batch, -1, -1), source.expand(batch, -1, -1)
            weights[kind], output = attention(p, y, source, source, prefix=prefix + name, **arguments)
            return output
        return f

    x = add_and_norm(p, prefix, "norm1", x, attended("self_attn.", "self", own), pre, eps)
    if memory is not None:
        x = add_and_norm(p, prefix, "norm2", x, attended("multihead_attn.", "cross", cross, memory), pre, eps)

    def feed_forward(y):
        return apply(p, prefix + "linear2", getattr(F, activation)(apply(p, prefix + "linear1", y)))

    return add_and_norm(p, prefix, "norm2" if memory is None else "norm3", x, feed_forward, pre, eps), weights


def stack(name, x, parameters, options, memory=None, masks=None, own=None, cross=None, module=None,
          arguments=None, unbatched=False):
    """A case of `layer`s, held against PyTorch's module if there is one."""
    count, heads = len(parameters), options.get("heads", 1)
    shared = {"heads": heads, "kv_heads": options.get("kv_heads")}
    own, cross = shared | (own or {}), shared | (cross or {})
    y, m, expected = x, memory, {}
    if unbatched:
        y, m = y[None], None if m is None else m[None]
    if m is not None:
        y = y.expand(max(len(y), len(m)), -1, -1)
    for i, p in enumerate(parameters):
        y, weights = layer(p, "", y, m, options.get("activation", "relu"), options.get("norm") == "pre",
                           options.get("eps", 1e-5), own, cross)
        for kind, tensor in weights.items():
            tensor = tensor if "heads" in options else tensor[:, 0]
            expected[f"{i}.{kind}.weights"] = tensor[0] if unbatched else tensor
    output = y[0] if unbatched else y
    if module is not None:
        # In training mode without dropout PyTorch takes no short cuts.
        with torch.no_grad():
            theirs = module.train()(x, **arguments) if memory is None else module.train()(x, memory, **arguments)
        close(theirs, output)
        output = theirs
    inputs = {"x": x} | ({} if memory is None else {"memory": memory})
    named = {f"{i}.{k}": t for i, p in enumerate(parameters) for k, t in p.items()}
    write(name, {"kind": "encoder" if memory is None else "decoder", "layers": count} | options,
          inputs | named | (masks or {}), expected | {"output": output})


def state_of(module):
    state = module.state_dict()
    p = ours(state, "self_attn.", "self_attn.")
    if any(k.startswith("multihead_attn") for k in state):
        p |= ours(state, "multihead_attn.", "multihead_attn.")
    return p | {k: t for k, t in state.items() if "attn" not in k}


def encoder(heads, width, feed_forward, count=1, **options):
    layers = [filled(nn.TransformerEncoderLayer(width, heads, feed_forward, dropout=0, batch_first=True, **options),
                     some_parameter) for _ in range(count)]
    return nn.Sequential(*layers) if count > 1 else layers[0], [state_of(l) for l in layers]


def decoder(heads, width, feed_forward, count=1, **options):
    layers = [filled(nn.TransformerDecoderLayer(width, heads, feed_forward, dropout=0, batch_first=True, **options),
                     some_parameter) for _ in range(count)]
    return layers[0] if count == 1 else layers, [state_of(l) for l in layers]


for place, activation, eps in (("post", "relu", 1e-5), ("post", "gelu", 1e-3), ("pre", "relu", 1e-12),
                               ("pre", "gelu", 0.1)):
    module, p = encoder(2, 6, 10, norm_first=place == "pre", activation=activation, layer_norm_eps=eps)
    stack(f"encoder layer, {place} norm, {activation}, eps {eps}", drawn(2, 3, 6), p,
          {"heads": 2, "norm": place, "activation": activation, "eps": eps}, module=module, arguments={})
    module, p = decoder(2, 6, 7, norm_first=place == "pre", activation=activation, layer_norm_eps=eps)
    stack(f"decoder layer, {place} norm, {activation}, eps {eps}, causal", drawn(2, 4, 6), p,
          {"heads": 2, "norm": place, "activation": activation, "eps": eps, "causal": 1},
          memory=drawn(2, 5, 6), own={"seen": ~future}, module=module, arguments={"tgt_mask": future})

module, p = encoder(1, 4, 6)
stack("encoder layer of one head, unbatched", drawn(3, 4), p, {"heads": 1}, module=module, arguments={},
      unbatched=True)
module, p = decoder(2, 4, 6)
stack("decoder layer, unbatched", drawn(3, 4), p, {"heads": 2}, memory=drawn(5, 4), module=module,
      arguments={}, unbatched=True)
module, p = encoder(2, 4, 6, count=3)
stack("encoder stack", drawn(2, 3, 4), p, {"heads": 2}, module=module, arguments={})

module, p = encoder(2, 6, 8)
stack("encoder layer, causal with padding", drawn(2, 5, 6), p, {"heads": 2, "causal": 1},
      masks={"mask.padding": padding},
      own={"seen": torch.tril(torch.ones(5, 5, dtype=torch.bool)) & ~padding[:, None, None]},
      module=module, arguments={"src_mask": torch.triu(torch.ones(5, 5, dtype=torch.bool), 1),
                                "src_key_padding_mask": padding})
module, p = encoder(2, 6, 8)
bias = drawn(5, 5)
stack("encoder layer with a bias", drawn(2, 5, 6), p, {"heads": 2}, masks={"mask.bias": bias},
      own={"bias": bias}, module=module, arguments={"src_mask": bias})
module, p = decoder(2, 6, 8)
block = (torch.rand(4, 5) < 0.5) & (torch.arange(5) != 0)
stack("decoder layer with padding and masks of the memory", drawn(2, 4, 6), p, {"heads": 2, "causal": 1},
      memory=drawn(2, 5, 6), masks={"memory_mask.block": block, "memory_mask.padding": padding},
      own={"seen": ~future}, cross={"seen": ~block & ~padding[:, None, None]}, module=module,
      arguments={"tgt_mask": future, "memory_mask": block, "memory_key_padding_mask": padding})
module, p = decoder(2, 6, 8)
own_padding = padding[:, 1:]
stack("decoder layer with padding of its own", drawn(2, 4, 6), p, {"heads": 2}, memory=drawn(2, 5, 6),
      masks={"mask.padding": own_padding}, own={"seen": ~own_padding[:, None, None]}, module=module,
      arguments={"tgt_key_padding_mask": own_padding})


# What PyTorch 1.13's layers cannot do.
def parameters(width, feed_forward, heads=1, memory=None, bias=True, norms=True, **sizes):
    p = projections(width, heads=heads, bias=bias, prefix="self_attn.", **sizes)
    if memory:
        p |= projections(width, key=memory, heads=heads, bias=bias, prefix="multihead_attn.", **sizes)
    p |= linear("linear1", feed_forward, width, bias) | linear("linear2", width, feed_forward, bias)
    for i in range(3 if memory else 2) if norms else ():
        p |= norm(f"norm{i + 1}", width)
    return p


stack("encoder layer without biases", drawn(2, 3, 4), [parameters(4, 6, 2, bias=False)], {"heads": 2})
stack("encoder layer whose norms have no weights", drawn(2, 3, 4), [parameters(4, 6, 2, norms=False)],
      {"heads": 2})
stack("encoder layer without heads, no output projection", drawn(2, 3, 4),
      [parameters(4, 6, output=False)], {})
stack("encoder layer, projections not square, fewer key heads", drawn(2, 3, 6),
      [parameters(6, 5, 4, kv_heads=2, d=3, dv=2)], {"heads": 4, "kv_heads": 2})
stack("decoder stack, memory of another width, fewer key heads", drawn(2, 3, 4),
      [parameters(4, 6, 2, memory=7, kv_heads=1) for _ in range(2)],
      {"heads": 2, "kv_heads": 1, "causal": 1, "norm": "pre", "activation": "gelu"},
      memory=drawn(2, 5, 7), own={"seen": ~future[:3, :3]})
lens = torch.tensor([2, 4])
stack("decoder layer, valid lengths on both sides", drawn(2, 4, 4), [parameters(4, 6, 2, memory=4)],
      {"heads": 2}, memory=drawn(2, 5, 4), masks={"mask.valid_lens": lens, "memory_mask.valid_lens": lens + 1},
      own={"seen": (torch.arange(4) < lens[:, None])[:, None, None]},
      cross={"seen": (torch.arange(5) < lens[:, None] + 1)[:, None, None]})
stack("decoder layer, one memory for all samples", drawn(3, 2, 4), [parameters(4, 6, 2, memory=4)],
      {"heads": 2}, memory=drawn(1, 5, 4))
stack("decoder stack, one sample for three memories", drawn(1, 2, 4),
      [parameters(4, 6, 2, memory=4) for _ in range(2)], {"heads": 2}, memory=drawn(3, 5, 4))
