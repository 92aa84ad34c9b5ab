"""Random attention documents against PyTorch in double precision: scaled_dot_product_attention, flex_attention (softcaps),
nn.MultiheadAttention, the layers and nn.Transformer. Masks are what PyTorch calls mask_mods: truths of sample, head, query and key.
"""
import numpy as np
import torch
from torch.nn.attention import flex_attention as flex

import program
from program import nested

TOLERANCE = 1e-12
INF = float("inf")
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
PLAIN = ("softmax", "dot_product", "scaled_dot_product", "general", "additive")
PROJECTED = ("self", "cross", "multi_head", "encoder_layer", "decoder_layer", "transformer")

class Sizes:
    def __init__(self, batch, heads, queries, keys, past=0, joined=False):
        self.joined = joined  # no axis of heads
        self.batch, self.heads, self.queries, self.keys, self.past = batch, heads, queries, keys, past
        self.b, self.h, self.i, self.j = torch.meshgrid(*map(torch.arange, (batch, heads, queries, keys)), indexing="ij")

class Mask:
    """A drawn mask: what a document says, which keys are seen, and what is added to the scores."""
    def __init__(self, rng, sizes, parts):
        self.rng, self.sizes, self.document, self.lengths = rng, sizes, {}, None
        b, h, i, j = sizes.b, sizes.h, sizes.i, sizes.j
        self.last = torch.full((sizes.batch,), sizes.keys)  # one more than the last key that lower_right counts
        self.fill, self.bias = None, torch.zeros(b.shape, dtype=torch.float64)
        seen = {part: getattr(self, "draw_" + part)(*arguments) for part, arguments in parts.items()}
        offset = sizes.past if self.document.get("align", "upper_left") == "upper_left" else (self.last - sizes.queries)[b]
        self.p = i + offset
        self.seen = torch.ones(b.shape, dtype=torch.bool)
        first = j < seen["prefix"][b] if "prefix" in parts else torch.zeros(b.shape, dtype=torch.bool)
        everywhere = [part for part in ("causal", "window", "chunk") if part in parts]
        for part, value in seen.items():
            if callable(value):
                own = value(self.p, i, j, b)
                self.seen &= own | first if part in everywhere else own
            elif part == "alibi":
                slopes, symmetric = value
                away = self.p - j
                away = away.abs() if symmetric else away.clamp(min=0)
                self.bias -= slopes[h] * away
    numbers = lambda self, *shape: torch.tensor([self.rng.gauss(0, 1) for _ in range(int(np.prod(shape)))], dtype=torch.float64).reshape(shape)
    truths = lambda self, *shape: torch.tensor([self.rng.random() < 0.7 for _ in range(int(np.prod(shape)))]).reshape(shape)
    def broadcast(self):
        full = (self.sizes.batch, self.sizes.heads, self.sizes.queries, self.sizes.keys)
        own = [size if axis == 3 or self.rng.random() < 0.6 else 1 for axis, size in enumerate(full)]
        return own[self.rng.randrange(2, 4):] if self.sizes.joined or self.rng.random() < 0.3 else own
    def draw_causal(self):
        self.document["causal"] = True
        return lambda p, i, j, b: j <= p
    def draw_align(self):
        self.document["align"] = self.rng.choice(["upper_left", "lower_right"])
    def draw_window(self):
        left, right = self.rng.choice([-1, 0, 1, 2]), self.rng.choice([-1, 0, 1, 3])
        self.document["window"] = {"left": left, "right": right}
        step = self.document.get("dilation", 1)
        def near(p, i, j, b):
            own = ((j >= p - left) | (left < 0)) & ((j <= p + right) | (right < 0)) & ((j - p) % step == 0)
            for place in self.document.get("global", []):
                own = own | (j == place) | (p == place)
            return own
        return near
    def draw_dilation(self):
        self.document["dilation"] = self.rng.choice([1, 2, 3])
    def draw_global(self):
        self.document["global"] = self.rng.sample(range(self.sizes.keys), 2)
    def draw_padding(self, name="padding"):
        truths = self.truths(self.sizes.batch, self.sizes.keys)
        self.document[name] = nested(~truths if name == "padding" else truths.long())
        self.last = (truths * (torch.arange(self.sizes.keys) + 1)).amax(1)
        return lambda p, i, j, b: truths[b, j]
    draw_keep = lambda self: self.draw_padding("keep")
    draw_attention_mask = lambda self: self.draw_padding("attention_mask")
    def draw_allow(self, name="allow"):
        truths = self.truths(*self.broadcast())
        self.document[name] = nested(truths if name == "allow" else ~truths)
        return lambda p, i, j, b: truths.expand(p.shape)
    draw_block = lambda self: self.draw_allow("block")
    def draw_documents(self):
        ids = torch.tensor([sorted(self.rng.choices(range(3), k=self.sizes.keys)) for _ in range(self.sizes.batch)])
        self.document["documents"] = nested(ids)
        return self.alike(ids)
    def draw_cu_seqlens(self):
        ends = [0, *sorted(self.rng.sample(range(1, self.sizes.keys), 2)), self.sizes.keys]
        self.document["cu_seqlens"] = ends
        return self.alike(torch.bucketize(torch.arange(self.sizes.keys), torch.tensor(ends[1:]), right=True).expand(self.sizes.batch, -1))
    def alike(self, ids):
        inside = lambda p: (p >= 0) & (p < self.sizes.keys)
        return lambda p, i, j, b: inside(p) & (ids[b, j] == ids[b, p.clamp(0, self.sizes.keys - 1)])
    def draw_packed(self):
        """Sequences of queries and keys apart; causal and aligned within each."""
        sizes, align = self.sizes, self.rng.choice(["upper_left", "lower_right"])
        ends = [torch.tensor([0, *sorted(self.rng.sample(range(1, count), 2)), count]) for count in (sizes.queries, sizes.keys)]
        self.document |= {"cu_seqlens_q": nested(ends[0]), "cu_seqlens_k": nested(ends[1]), "causal": True, "align": align}
        def seen(p, i, j, b):
            of_query, of_key = (torch.bucketize(at, own[1:], right=True) for at, own in zip((i, j), ends))
            lengths = ends[1].diff() - ends[0].diff()
            place = i - ends[0][of_query] + (lengths[of_query] if align == "lower_right" else 0)
            return (of_query == of_key) & (j - ends[1][of_key] <= place)
        return seen
    def draw_prefix(self):
        lengths = torch.tensor([self.rng.randrange(self.sizes.keys) for _ in range(self.sizes.batch)])
        self.document["prefix"] = nested(lengths)
        return lengths
    def draw_chunk(self):
        size = self.document["chunk"] = self.rng.choice([1, 2, 3])
        return lambda p, i, j, b: torch.div(j, size, rounding_mode="floor") == torch.div(p, size, rounding_mode="floor")
    def draw_where(self):
        text, own = self.rng.choice([("(i + 2 * j) % 3 != 0", lambda p, i, j, b: (i + 2 * j) % 3 != 0), ("abs(i - j) <= 1 || j == 0", lambda p, i, j, b: ((i - j).abs() <= 1) | (j == 0)),
                                     ("b == 0 && j > 1", lambda p, i, j, b: (b == 0) & (j > 1))])
        self.document["where"] = text
        return own
    def draw_bias(self):
        bias = self.numbers(*self.broadcast())
        bias[self.truths(*bias.shape) & self.truths(*bias.shape) & self.truths(*bias.shape) & (bias < -0.5)] = -INF
        self.document["bias"] = nested(bias)
        self.bias = self.bias + bias
    def draw_alibi(self):
        slopes, symmetric = self.numbers(self.sizes.heads).abs(), self.rng.random() < 0.5
        self.document["alibi"] = {"slopes": nested(slopes), "symmetric": symmetric}
        return slopes, symmetric
    def draw_fill(self):
        self.fill = self.document["fill"] = self.rng.choice([-1e9, -3.0])
    def draw_valid_lens(self, each=True):
        each = each and self.rng.random() < 0.4
        shape = (self.sizes.batch, self.sizes.queries) if each else (self.sizes.batch,)
        self.lengths = torch.tensor([self.rng.randrange(self.sizes.keys + 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
        if not each:
            self.last = self.lengths
        return lambda p, i, j, b: j < (self.lengths[b, i] if each else self.lengths[b])
    def added(self, bias=True):
        """What is added to the scores, −inf for keys that are not seen; where there is a fill, that is left to whoever has the scores."""
        own = self.bias if bias else torch.zeros_like(self.bias)
        return own if self.fill is not None else own.masked_fill(~self.seen, -INF)
    def settle(self, document, of=""):
        if self.document:
            document[of + "mask"] = self.document
        if self.lengths is not None:
            document[of + "valid_lens"] = nested(self.lengths)

# What is drawn together: parts that would shift each other's meaning (two that say which key is the last) are not.
MASKS = [{}, {"causal": ()}, {"align": (), "causal": (), "padding": ()}, {"align": (), "causal": (), "valid_lens": ()}, {"align": (), "window": (), "keep": ()}, {"dilation": (), "global": (), "window": (), "align": ()},
         {"global": (), "window": (), "causal": ()}, {"attention_mask": (), "causal": ()}, {"allow": (), "bias": ()}, {"block": (), "align": (), "window": ()}, {"documents": (), "causal": ()}, {"cu_seqlens": (), "bias": ()},
         {"packed": ()}, {"prefix": (), "causal": (), "valid_lens": ()}, {"chunk": (), "align": (), "prefix": ()}, {"where": (), "causal": ()}, {"bias": (), "causal": ()}, {"alibi": (), "align": ()}, {"fill": (), "allow": ()},
         {"fill": (), "causal": (), "padding": ()}, {"valid_lens": (), "bias": ()}]
NAMES = (*PLAIN, *PROJECTED, *sorted({part for parts in MASKS for part in parts} - {"packed"} | {"cu_seqlens_q", "cu_seqlens_k"}))

def in_program():
    return {"kinds": program.listed("Kinds of attention"), "parts of a mask": program.listed("Parts of a mask")}

def scores_of(kind, document, draw, q, k):
    """Scores by the kind's formula, before the softcap."""
    if kind == "general":
        document["parameters"] = {"W": nested(weight := draw(q.shape[-1], k.shape[-1]))}
        return q @ weight @ k.mT
    hidden = draw(5, k.shape[-1]), draw(5, q.shape[-1]), draw(1, 5)
    document["parameters"] = {name: nested(weight) for name, weight in zip(("W_k.weight", "W_q.weight", "w_v.weight"), hidden)}
    return (torch.tanh((q @ hidden[1].T)[..., :, None, :] + (k @ hidden[0].T)[..., None, :, :]) @ hidden[2][0])

def plain(kind, rng, draw, parts):
    batch, groups, queries, keys = rng.choice([1, 2, 3]), rng.choice([1, 2]), rng.choice([3, 5, 7]), rng.choice([3, 4, 8])
    heads, width, own_width = groups * rng.choice([1, 2, 3]), rng.choice([2, 4, 8]), rng.choice([2, 3, 8])
    if kind in ("general", "additive", "softmax"):
        groups = heads
    past = rng.choice([0, 0, 2]) if kind != "softmax" and "packed" not in parts else 0
    sizes = Sizes(batch, heads, queries, keys + past, past)
    mask = Mask(rng, sizes, parts)
    q, k, v = draw(batch, heads, queries, width), draw(batch, groups, keys, width), draw(batch, groups, keys, own_width)
    document = {"attention": kind, "value": nested(v), "dtype": "float64"}
    scores = draw(batch, heads, queries, keys)
    document |= {"scores": nested(scores)} if kind == "softmax" else {"query": nested(q), "key": nested(k)}
    before = draw(batch, groups, past, width), draw(batch, groups, past, own_width)
    if past:
        document |= {"past_key": nested(before[0]), "past_value": nested(before[1])}
    k, v = torch.cat([before[0], k], 2), torch.cat([before[1], v], 2)
    mask.settle(document)
    eye, scale, cap, gradient = torch.eye(keys + past, dtype=torch.float64).expand(batch, groups, -1, -1), 1.0, None, False
    if kind in ("dot_product", "scaled_dot_product"):
        scale = width ** -0.5 if kind == "scaled_dot_product" else 1.0
        if rng.random() < 0.3:
            scale = document["scale"] = rng.choice([0.1, 0.7, 1.5])
        if rng.random() < 0.3:
            cap = document["softcap"] = rng.choice([0.5, 2.0])
        added = mask.added()
        if cap is None and mask.fill is None:
            gradient = rng.random() < 0.3
            attend = lambda value: torch.nn.functional.scaled_dot_product_attention(q, k, value, added, scale=scale, enable_gqa=True)
        else:
            def score(s, b, h, i, j):
                s = (s if cap is None else cap * torch.tanh(s / cap)) + added[b, h, i, j]
                return s if mask.fill is None else torch.where(mask.seen[b, h, i, j], s, mask.fill)
            attend = lambda value: flex.flex_attention(q, k, value, score, scale=scale, enable_gqa=True)
    else:
        scores = (scores if kind == "softmax" else scores_of(kind, document, draw, q, k)) + mask.added()
        if mask.fill is not None:
            scores = scores.masked_fill(~mask.seen, mask.fill)
        none = torch.zeros(batch, heads, 1, 1, dtype=torch.float64)
        attend = lambda value: torch.nn.functional.scaled_dot_product_attention(none.expand(-1, -1, queries, -1), none.expand(-1, -1, keys + past, -1), value, scores)
    leaves = {"query": q, "key": k, "value": v}
    for leaf in leaves.values():
        leaf.requires_grad_(gradient)
    output = attend(v)
    wanted = {"weights": attend(eye), "output": output}
    if gradient:
        document["gradient"] = {"output": nested(along := draw(*output.shape))}
        (output * along).sum().backward()
        wanted |= {f"gradient.{name}": leaf.grad[..., past if name != "query" else 0:, :] for name, leaf in leaves.items()}
    return document, wanted

def projected(kind, rng, draw, parts):
    batch, heads, head, queries, keys = rng.choice([1, 2]), rng.choice([1, 2, 4]), rng.choice([2, 4]), rng.choice([3, 6]), rng.choice([4, 5])
    heads = 1 if kind in ("self", "cross") else heads
    width, factory = heads * head, dict(dtype=torch.float64)
    alone = kind in ("self", "encoder_layer") or kind == "multi_head" and rng.random() < 0.5
    own_keys = queries if kind != "cross" and (alone or kind != "multi_head") else keys
    parts = {part: (False,) if part == "valid_lens" else arguments for part, arguments in parts.items()}
    mask = Mask(rng, Sizes(batch, heads, queries, own_keys, joined=kind in ("self", "cross")), parts)
    x, memory = draw(batch, queries, width), draw(batch, keys, width)
    document = {"attention": kind, "x": nested(x), "dtype": "float64"} | ({} if kind in ("self", "cross") else {"heads": heads})
    if not alone:
        document["memory"] = nested(memory)
    mask.settle(document)
    settings = dict(dim_feedforward=9, dropout=0.0, activation=rng.choice(["relu", "gelu"]), layer_norm_eps=rng.choice([1e-5, 1e-2]), batch_first=True, norm_first=rng.random() < 0.5, bias=rng.random() < 0.7)
    layers = rng.choice([1, 2])
    module = {"encoder_layer": lambda: torch.nn.TransformerEncoderLayer(width, heads, **settings, **factory),
              "decoder_layer": lambda: torch.nn.TransformerDecoderLayer(width, heads, **settings, **factory),
              "transformer": lambda: torch.nn.Transformer(width, heads, layers, layers, **settings, **factory)}.get(
                  kind, lambda: torch.nn.MultiheadAttention(width, heads, bias=settings["bias"], batch_first=True, **factory))()
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(draw(*weight.shape) * weight.shape[-1] ** -0.5)
    document["parameters"] = {name: nested(weight) for name, weight in module.state_dict().items()}
    flat = lambda added: added.reshape(-1, *added.shape[2:])
    others = {}
    if kind in ("decoder_layer", "transformer"):
        # No padding hides all of a sample: PyTorch's layers give NaN there.
        others["memory_"] = Mask(rng, Sizes(batch, heads, queries, keys), {"bias": ()} if rng.random() < 0.5 else {})
    if kind == "transformer":
        others["source_"] = Mask(rng, Sizes(batch, heads, keys, keys), {"causal": ()} if rng.random() < 0.5 else {})
    for name, own in others.items():
        own.settle(document, name)
    if kind in ("encoder_layer", "decoder_layer", "transformer"):
        document |= {"feed_forward": 9, "activation": settings["activation"], "eps": settings["layer_norm_eps"], "norm": "pre" if settings["norm_first"] else "post"}
    if kind == "transformer":
        document["layers"] = layers
    masks = [flat(own.added()) for own in (mask, *others.values())]
    inputs = {"encoder_layer": [x, masks[0]], "decoder_layer": [x, memory, masks[0], *masks[1:2]], "transformer": [memory, x, masks[-1], masks[0], *masks[1:2]]}
    if kind in inputs:
        return document, {"output": module(*inputs[kind])}
    y = x if alone else memory
    output, weights = module(x, y, y, attn_mask=masks[0], average_attn_weights=False)
    return document, {"output": output, "weights": weights if kind == "multi_head" else weights[:, 0]}

def hold(name, draw, rng, folder, options):
    kind, parts = name, rng.choice(MASKS)
    if kind not in PLAIN + PROJECTED:
        part = "packed" if name in ("cu_seqlens_q", "cu_seqlens_k") else name
        parts = rng.choice([own for own in MASKS if part in own])
        kind = rng.choice(PLAIN[1:3] if "alibi" in parts else PLAIN if "packed" in parts or "fill" in parts else PLAIN + PROJECTED)
    if kind in PROJECTED and ("packed" in parts or "fill" in parts) or "alibi" in parts and kind in ("softmax", "general", "additive"):
        parts = {"causal": ()}
    numbers = np.random.default_rng(rng.getrandbits(32))
    random = lambda *shape: torch.tensor(numbers.standard_normal(shape))
    document, wanted = (plain if kind in PLAIN else projected)(kind, rng, random, parts)
    options |= {"kind": kind, "parts": list(parts)}
    wanted = {key: tensor.detach().numpy() for key, tensor in wanted.items()}
    got, _ = program.run(folder, document)
    # PyTorch's modules have NaN in rows that see no key; such draws say nothing.
    if any(np.isnan(tensor).any() for tensor in wanted.values()):
        return "left out: the library gives NaN for queries without a key"
    return program.difference(got, wanted, TOLERANCE)
