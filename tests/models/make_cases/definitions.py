"""Families of models computed from their definitions, in double precision, one text at a time."""
import json
import math
import zlib

import numpy as np

V, D, H, F = 20, 16, 4, 24


class Checkpoint:
    """Weights by name, drawn at first use and rounded to the type they are stored in."""

    def __init__(self, name):
        seed = zlib.crc32(name.encode())
        self.random = np.random.default_rng(seed)
        self.type = ("F32", "BF16", "F16")[seed % 3]
        self.tensors = {}

    def draw(self, name, shape, mean, deviation):
        if name not in self.tensors:
            x = (mean + deviation * self.random.standard_normal(shape)).astype(np.float32)
            if self.type == "F16":
                x = x.astype(np.float16).astype(np.float32)
            if self.type == "BF16":
                x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
            self.tensors[name] = x
        assert self.tensors[name].shape == tuple(shape), name
        return self.tensors[name].astype(np.float64)

    def matrix(self, name, rows, columns, gain=1.6):
        return self.draw(name, (rows, columns), 0, gain / math.sqrt(columns))

    def linear(self, x, name, rows, bias=False):
        y = x @ self.matrix(name + ".weight", rows, x.shape[-1]).T
        return y + self.draw(name + ".bias", (rows,), 0, 0.4) if bias else y

    def norm(self, x, name, kind="rms", eps=1e-6, bias=False, shape=None):
        y = x - x.mean(-1, keepdims=True) if kind.startswith("layer") else x
        y = y / np.sqrt((y * y).mean(-1, keepdims=True) + eps)
        if name is None:
            return y
        if kind.endswith("_plus_one"):
            y = y * (1 + self.draw(name + ".weight", x.shape[-1:], 0.2, 0.4))
            return y + self.draw(name + ".bias", x.shape[-1:], 0, 0.3) if bias else y
        y = y * self.draw(name + ".weight", shape or x.shape[-1:], 1.2, 0.4)
        return y + self.draw(name + ".bias", x.shape[-1:], 0, 0.3) if bias else y

    def save(self, path):
        header, data = {}, b""
        for name, x in self.tensors.items():
            if self.type == "BF16":
                own = (x.view(np.uint32) >> 16).astype(np.uint16).tobytes()
            else:
                own = x.astype({"F16": np.float16, "F32": np.float32}[self.type]).tobytes()
            header[name] = {"dtype": self.type, "shape": x.shape, "data_offsets": [len(data), len(data) + len(own)]}
            data += own
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + data)


def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotated(x, theta=10000.0, width=None, interleaved=False, frequencies=None, amplitude=1.0):
    """Heads x [H,L,d] at positions 0, 1, …"""
    width = width or x.shape[-1]
    if frequencies is None:
        frequencies = theta ** (-np.arange(0, width, 2) / width)
    angles = np.arange(x.shape[1])[:, None] * frequencies
    cos, sin = amplitude * np.cos(angles), amplitude * np.sin(angles)
    y = x.copy()
    even = slice(0, width, 2) if interleaved else slice(0, width // 2)
    odd = slice(1, width, 2) if interleaved else slice(width // 2, width)
    y[..., even] = x[..., even] * cos - x[..., odd] * sin
    y[..., odd] = x[..., odd] * cos + x[..., even] * sin
    return y


def heads_of(x, count):
    return x.reshape(len(x), count, -1).transpose(1, 0, 2)


def attend(q, k, v, scale=None, causal=True, window=None, bias=None, cap=None):
    """Heads q [H,Lq,d], k and v [G,Lk,d]: weights [H,Lq,Lk] and the joined heads [Lq,H·d]."""
    k, v = (np.repeat(x, len(q) // len(x), axis=0) for x in (k, v))
    scores = q @ k.transpose(0, 2, 1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if cap is not None:
        scores = cap * np.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])[None, :]
    if causal:
        scores = np.where(j <= i, scores, -np.inf)
    if window is not None:
        scores = np.where(abs(i - j) < window, scores, -np.inf)
    weights = softmax(scores)
    return weights, (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def llama_names(**change):
    return {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
            "n1": "input_layernorm", "n2": "post_attention_layernorm", "a1": None, "a2": None, "s1": None, "s2": None,
            "qn": None, "kn": None, "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj",
            "gate_up": None, **change}


def stack(c, ids, *, prefix="model.", tokens="embed_tokens", layer="layers.{}.", final="norm", head="lm_head",
          tied=False, names=None, layers=2, groups=2, d=None, kind="rms", eps=1e-6, norm_bias=False, bias="",
          act=silu, causal=True, window=lambda n: None, rotary=lambda n: {}, scale=None, score_bias=None,
          embed=lambda x: x, parallel=False, branch=1.0, logit=1.0, qk=None, fused=None, mlp=None, clip=None,
          logits_of=None, head_bias=False, gated=False, linear=None, projected=None):
    """A text through a model of one stack. `bias` names the projections that have one; `linear` gives what takes the
    place of a layer's attention, or None; `projected` gives the heads of queries, keys and values, turned."""
    w, d = names or llama_names(), d or D // H
    out = {}
    x = embed(c.matrix(prefix + tokens + ".weight", V, D, 4.0)[ids])
    out["embedded"] = x

    def norm(x, name, at):
        return c.norm(x, at + name, kind, eps, norm_bias) if name else x

    def feed_forward(x, at):
        if w["gate_up"]:
            gate, up = np.split(c.linear(x, at + w["gate_up"], 2 * F, "m" in bias), 2, -1)
            wide = act(gate) * up
        elif w["gate"]:
            wide = act(c.linear(x, at + w["gate"], F, "m" in bias)) * c.linear(x, at + w["up"], F, "m" in bias)
        else:
            wide = act(c.linear(x, at + w["up"], F, "m" in bias))
        return c.linear(wide, at + w["down"], D, "m" in bias)

    for n in range(layers):
        at = prefix + layer.format(n)
        h = norm(x, w["n1"], at)
        feed = mlp if mlp else lambda x, at, n: feed_forward(x, at)
        instead = linear(c, h, at, n) if linear else None
        if instead is not None:
            x = x + instead
            out[f"layers.{n}.output"] = x = x + feed(norm(x, w["n2"], at), at, n)
            continue
        if projected:
            pass
        elif gated:
            both = c.linear(h, at + w["q"], 2 * H * d, "q" in bias).reshape(len(h), H, 2, d)
            gate = 1 / (1 + np.exp(-both[:, :, 1].reshape(len(h), -1)))
            q, k, v = both[:, :, 0].reshape(len(h), -1), *(c.linear(h, at + w[p], groups * d, p in bias) for p in "kv")
        elif fused:
            q, k, v = fused(c.linear(h, at + w["q"], (H + 2 * groups) * d, "q" in bias))
        else:
            q = c.linear(h, at + w["q"], H * d, "q" in bias)
            k = c.linear(h, at + w["k"], groups * d, "k" in bias)
            v = c.linear(h, at + w["v"], groups * d, "v" in bias)
        if qk == "whole":
            q, k = c.norm(q, at + w["qn"], kind, eps), c.norm(k, at + w["kn"], kind, eps)
        if clip:
            q, k, v = (np.clip(y, -clip, clip) for y in (q, k, v))
        q, k, v = projected(c, h, at) if projected else (heads_of(q, H), heads_of(k, groups), heads_of(v, groups))

        def heads_normed(x, name):
            if qk == "heads":  # weights of each head
                y = c.norm(x, None, kind, eps)
                return y * c.draw(at + name + ".weight", (len(x), d), 1.2, 0.4)[:, None]
            if qk == "list":  # a norm of each head
                return np.stack([c.norm(y, f"{at}{name}.norms.{h}", kind, eps) for h, y in enumerate(x)])
            return c.norm(x, at + name, kind, eps)

        if qk in ("head", "heads", "list"):
            q, k = heads_normed(q, w["qn"]), heads_normed(k, w["kn"])
        turn = None if projected else rotary(n)
        if turn is not None:
            q, k = rotated(q, **turn), rotated(k, **turn)
        if qk == "after":
            q, k = heads_normed(q, w["qn"]), heads_normed(k, w["kn"])
        weights, joined = attend(q, k, v, scale, causal, window(n), score_bias(len(ids)) if score_bias else None)
        out[f"layers.{n}.self.weights"] = weights
        if gated:
            joined = joined * gate
        a = branch * norm(c.linear(joined, at + w["o"], D, "o" in bias), w["a1"], at)
        if parallel:
            y = x + a + branch * feed(norm(x, w["n2"], at), at, n)
        else:
            x = norm(x + a, w["s1"], at)
            y = x + branch * norm(feed(norm(x, w["n2"], at), at, n), w["a2"], at)
            y = norm(y, w["s2"], at)
        out[f"layers.{n}.output"] = x = y
    out["output"] = x = norm(x, final, prefix)
    if logits_of:
        x = logits_of(x)
    table = prefix + tokens if tied else head
    out["logits"] = logit * (x @ c.matrix(table + ".weight", V, D, 4.0).T)
    if head_bias:
        out["logits"] = out["logits"] + c.draw(head + ".bias", (V,), 0, 0.4)
    return out


def encoder_decoder(c, ids, answer, layers=2, act=relu, groups=H):
    """m2m_100: norms first, scaled embeddings, sinusoids from position 2 on."""
    out = {}

    def embedded(ids):
        return c.matrix("model.shared.weight", V, D, 4.0)[ids] * math.sqrt(D) + closed_sinusoids(len(ids))

    def norm(x, at):
        return c.norm(x, at, "layer", 1e-5, True)

    def attention(x, memory, at, causal):
        q, k, v = (heads_of(c.linear(y, f"{at}.{p}_proj", D, True), H)
                   for p, y in (("q", x), ("k", memory), ("v", memory)))
        weights, joined = attend(q, k, v, causal=causal)
        return weights, c.linear(joined, at + ".out_proj", D, True)

    memory = None
    for side, text in (("encoder", ids), ("decoder", answer)):
        x = out[side + ".embedded"] = embedded(text)
        for n in range(layers):
            at, to = f"model.{side}.layers.{n}.", f"{side}.layers.{n}."
            h = norm(x, at + "self_attn_layer_norm")
            weights, y = attention(h, h, at + "self_attn", side == "decoder")
            out[to + "self.weights"], x = weights, x + y
            if side == "decoder":
                h = norm(x, at + "encoder_attn_layer_norm")
                weights, y = attention(h, memory, at + "encoder_attn", False)
                out[to + "cross.weights"], x = weights, x + y
            h = norm(x, at + "final_layer_norm")
            x = x + c.linear(act(c.linear(h, at + "fc1", F, True)), at + "fc2", D, True)
            out[to + "output"] = x
        x = norm(x, f"model.{side}.layer_norm")
        out["encoder.output" if side == "encoder" else "output"] = memory = x
    out["logits"] = x @ c.matrix("model.shared.weight", V, D).T
    return out


def t5gemma(c, ids, answer, config):
    """An encoder of Gemma 2's layers, whose windows reach to both sides, and a decoder with cross-attentions."""
    out, memory = {}, None
    for side, text in (("encoder", ids), ("decoder", answer)):
        own, decoder = config[side], side == "decoder"
        width, heads, groups, d = (own[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
        types = own.get("layer_types") or ["full_attention" if n % 2 else "sliding_attention" for n in range(own["num_hidden_layers"])]
        act = gelu_tanh if own["hidden_activation"] == "gelu_pytorch_tanh" else silu
        bias, cap = own["attention_bias"], own["attn_logit_softcapping"]
        norm = lambda x, name: c.norm(x, None, "rms", own["rms_norm_eps"]) * (1 + c.draw(name + ".weight", x.shape[-1:], 0.1, 0.3))

        def attention(x, memory, at, causal, window, turned):
            q, k, v = (heads_of(c.linear(y, f"{at}.{p}_proj", count * d, bias), count)
                       for p, y, count in (("q", x, heads), ("k", memory, groups), ("v", memory, groups)))
            if turned:
                q, k = rotated(q, own["rope_theta"]), rotated(k, own["rope_theta"])
            weights, joined = attend(q, k, v, own["query_pre_attn_scalar"] ** -0.5, causal, window, cap=cap)
            return weights, c.linear(joined, at + ".o_proj", width, bias)

        x = math.sqrt(width) * c.matrix(f"model.{side}.embed_tokens.weight", config["vocab_size"], width, 1.0)[text]
        out[side + ".embedded"] = x
        for n, kind in enumerate(types):
            at, to = f"model.{side}.layers.{n}.", f"{side}.layers.{n}."
            h = norm(x, at + "pre_self_attn_layernorm")
            window = own["sliding_window"] if kind == "sliding_attention" else None
            out[to + "self.weights"], y = attention(h, h, at + "self_attn", decoder, window, True)
            x = x + norm(y, at + "post_self_attn_layernorm")
            if decoder:
                h = norm(x, at + "pre_cross_attn_layernorm")
                out[to + "cross.weights"], y = attention(h, memory, at + "cross_attn", False, None, False)
                x = x + norm(y, at + "post_cross_attn_layernorm")
            h, f = norm(x, at + "pre_feedforward_layernorm"), own["intermediate_size"]
            wide = act(c.linear(h, at + "mlp.gate_proj", f)) * c.linear(h, at + "mlp.up_proj", f)
            out[to + "output"] = x = x + norm(c.linear(wide, at + "mlp.down_proj", width), at + "post_feedforward_layernorm")
        x = norm(x, f"model.{side}.norm")
        out["output" if decoder else "encoder.output"] = memory = x
    table = "model.decoder.embed_tokens" if config.get("tie_word_embeddings", True) else "lm_head.out_proj"
    logits = x @ c.matrix(table + ".weight", config["vocab_size"], x.shape[-1], 1.0).T
    cap = config["decoder"]["final_logit_softcapping"]
    out["logits"] = logits if cap is None else cap * np.tanh(logits / cap)
    return out


def deberta(c, ids, config, fused=False, head="cls.predictions.transform"):
    """BERT with terms between contents and positions; `fused` as the first version has its projections."""
    d, eps, length = D // H, config["layer_norm_eps"], len(ids)
    terms = config["pos_att_type"].split("|") if isinstance(config["pos_att_type"], str) else config["pos_att_type"]
    largest = config["max_relative_positions"] if config["max_relative_positions"] > 0 else config["max_position_embeddings"]
    buckets = config.get("position_buckets", -1)
    span = buckets if buckets > 0 else largest

    def place(distance):
        size, middle = abs(distance), buckets // 2
        if buckets > 0 and size > middle:
            size = middle + math.ceil(math.log(size / middle) / math.log((largest - 1) / middle) * (middle - 1))
        return min(max(int(math.copysign(size, distance)) + span, 0), 2 * span - 1)

    norm = lambda x, name: c.norm(x, name, "layer", eps, True)
    table = c.draw("deberta.encoder.rel_embeddings.weight", (2 * span, D), 0, 1.0)
    if config.get("norm_rel_ebd") == "layer_norm":
        table = norm(table, "deberta.encoder.LayerNorm")
    rows = np.array([[place(i - j) for j in range(length)] for i in range(length)])
    x = c.matrix("deberta.embeddings.word_embeddings.weight", V, D, 4.0)[ids]
    if config["position_biased_input"]:
        x = x + c.matrix("deberta.embeddings.position_embeddings.weight", config["max_position_embeddings"], D, 4.0)[:length]
    out = {"embedded": norm(x, "deberta.embeddings.LayerNorm")}
    x = out["embedded"]
    for n in range(config["num_hidden_layers"]):
        at = f"deberta.encoder.layer.{n}."
        own = at + "attention.self."
        if fused:
            q, k, v = np.split(c.linear(x, own + "in_proj", 3 * D).reshape(length, H, 3 * d), 3, -1)
            q, k, v = (y.transpose(1, 0, 2) for y in (q, k, v))
            q = q + c.draw(own + "q_bias", (D,), 0, 0.4).reshape(H, 1, d)
            v = v + c.draw(own + "v_bias", (D,), 0, 0.4).reshape(H, 1, d)
            of_keys, of_queries = (("pos_proj", False), ("pos_q_proj", True))
        else:
            q, k, v = (heads_of(c.linear(x, own + name, D, True), H) for name in ("query_proj", "key_proj", "value_proj"))
            of_keys, of_queries = ((("key_proj", True), ("query_proj", True)) if config["share_att_key"] else
                                   (("pos_key_proj", True), ("pos_query_proj", True)))
        bias, scale = 0, (d * (1 + len(terms))) ** -0.5
        i, j = np.arange(length)[:, None], np.arange(length)[None, :]
        if "c2p" in terms:
            keys = heads_of(c.linear(table, own + of_keys[0], D, of_keys[1]), H)
            bias = bias + scale * (q @ keys.transpose(0, 2, 1))[:, i, rows]
        if "p2c" in terms:
            queries = heads_of(c.linear(table, own + of_queries[0], D, of_queries[1]), H)
            bias = bias + scale * (k @ queries.transpose(0, 2, 1))[:, j, rows]
        weights, joined = attend(q, k, v, scale, False, None, bias)
        out[f"layers.{n}.self.weights"] = weights
        x = norm(x + c.linear(joined, at + "attention.output.dense", D, True), at + "attention.output.LayerNorm")
        wide = gelu(c.linear(x, at + "intermediate.dense", F, True))
        out[f"layers.{n}.output"] = x = norm(x + c.linear(wide, at + "output.dense", D, True), at + "output.LayerNorm")
    out["output"] = x
    words = head.replace(".transform", "")
    x = norm(gelu(c.linear(x, head + ".dense", D, True)), head + ".LayerNorm")
    out["logits"] = x @ c.matrix("deberta.embeddings.word_embeddings.weight", V, D, 4.0).T + c.draw(words + ".bias", (V,), 0, 0.4)
    return out


def closed_sinusoids(length, first=2, width=D):
    half = width // 2
    angles = np.arange(first, first + length)[:, None] * 10000.0 ** (-np.arange(half) / (half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], -1)


def distances(slopes):
    """The bias of ALiBi [H,L,L] with these slopes."""
    return lambda length: np.array(slopes)[:, None, None] * (np.arange(length) - np.arange(length)[:, None])


def yarn(width, theta, factor, original, fast=32, slow=1):
    turns = lambda t: width * math.log(original / (t * 2 * math.pi)) / (2 * math.log(theta))
    low, high = max(math.floor(turns(fast)), 0), min(math.ceil(turns(slow)), width - 1)
    plain = theta ** (-np.arange(0, width, 2) / width)
    ramp = np.clip((np.arange(width // 2) - low) / max(high - low, 0.001), 0, 1)
    return {"frequencies": plain * (1 - ramp) + plain / factor * ramp, "amplitude": 0.1 * math.log(factor) + 1}


def grouped(x, groups=2):
    """Fused rows group by group: the queries, the key, the value."""
    y = x.reshape(len(x), groups, -1, D // H)
    return tuple(part.reshape(len(x), -1) for part in (y[:, :, :-2], y[:, :, -2], y[:, :, -1]))


def side_by_side(groups):
    """Fused rows: all queries, all keys, all values."""
    return lambda x: tuple(np.split(x, [D, D + groups * (D // H)], -1))


def experts(c, x, at, names, count, chosen, rule="chosen", act=silu, stacked=False):
    """Σ share · down(act(gate x) ⊙ up x) over the best experts of each token."""
    router, gate, up, down = (at + name for name in names)
    scores = c.linear(x, router, count)
    y = np.zeros_like(x)
    for t, s in enumerate(scores):
        taken = np.argsort(-s, kind="stable")[:chosen]
        if callable(rule):
            taken, shares = rule(s)
        elif rule == "chosen":
            shares = softmax(s[taken])
        elif rule == "all":
            shares = softmax(s)[taken]
        else:  # near: in turn, without the ones before
            shares, left = [], s.copy()
            for e in taken:
                seen = np.where((s[e] - s) / np.maximum(abs(s), s[e]) > 2 * rule, -np.inf, left)
                shares.append(softmax(seen)[e])
                left[e] = -np.inf
        for e, share in zip(taken, shares):
            if stacked:
                both = c.draw(gate, (count, 2 * F, D), 0, 0.4)[e] @ x[t]
                wide = act(both[:F]) * both[F:]
                y[t] += share * c.draw(down, (count, D, F), 0, 0.3)[e] @ wide
            else:
                wide = act(c.matrix(gate.format(e=e), F, D) @ x[t]) * (c.matrix(up.format(e=e), F, D) @ x[t])
                y[t] += share * c.matrix(down.format(e=e), D, F) @ wide
    for e in range(0 if stacked else count):  # those that no token takes are in the file too
        for name, rows, columns in ((gate, F, D), (up, F, D), (down, D, F)):
            c.matrix(name.format(e=e), rows, columns)
    return y


def routed(c, at, count, chosen, groups=1, best=1, normalised=True, scale=1.0):
    """Experts by the sigmoids of their scores, chosen from the best groups with a correction that plays no part in the shares."""
    correction = c.draw(at + "mlp.gate.e_score_correction_bias", (count,), 0, 0.3)

    def rule(s):
        shares = 1 / (1 + np.exp(-s))
        choice = shares + correction
        of_groups = np.sort(choice.reshape(groups, -1), 1)[:, -2:].sum(1)
        kept = np.argsort(-of_groups, kind="stable")[:best]
        choice = np.where(np.isin(np.arange(count) // (count // groups), kept), choice, -np.inf)
        taken = np.argsort(-choice, kind="stable")[:chosen]
        return taken, scale * shares[taken] / (shares[taken].sum() if normalised else 1)

    return rule


def latent(c, x, at, theta, ranks=(10, 6), shared=4, own=6, value=5):
    """Queries, keys and values of heads that are made of narrow vectors with norms; the last numbers of queries and keys are
    turned, and keys share them."""
    at += "self_attn."
    q = c.linear(c.norm(c.linear(x, at + "q_a_proj", ranks[0]), at + "q_a_layernorm"), at + "q_b_proj", H * (own + shared))
    narrow = c.linear(x, at + "kv_a_proj_with_mqa", ranks[1] + shared)
    both = heads_of(c.linear(c.norm(narrow[:, :ranks[1]], at + "kv_a_layernorm"), at + "kv_b_proj", H * (own + value)), H)
    q, turned = heads_of(q, H), np.repeat(rotated(narrow[None, :, ranks[1]:], theta, interleaved=True), H, 0)
    q = np.concatenate([q[..., :own], rotated(q[..., own:], theta, interleaved=True)], -1)
    return q, np.concatenate([both[..., :own], turned], -1), both[..., own:]


def gated_delta_net(c, x, at, key_heads, heads, dk, dv, kernel, eps=1e-6, together=True):
    """Linear attention as sums over the tokens before, without a state: u_t = b_t (v_t - sum_{s<t} e^(G_t-G_s) (k_t.k_s) u_s)
    and o_t = sum_{s<=t} e^(G_t-G_s) (q_t.k_s) u_s. `together`: projections in two, group by group, as Qwen3-Next has them."""
    at += "linear_attn."
    L, shared = len(x), heads // key_heads
    if together:
        rows = c.linear(x, at + "in_proj_qkvz", 2 * key_heads * dk + 2 * heads * dv).reshape(L, key_heads, -1)
        q, k, v, z = np.split(rows, [dk, 2 * dk, 2 * dk + shared * dv], -1)
        b, a = np.split(c.linear(x, at + "in_proj_ba", 2 * heads).reshape(L, key_heads, -1), 2, -1)
        rows = np.concatenate([part.reshape(L, -1) for part in (q, k, v)], -1)
    else:
        rows = c.linear(x, at + "in_proj_qkv", 2 * key_heads * dk + heads * dv)
        z, b, a = (c.linear(x, at + "in_proj_" + name, size) for name, size in (("z", heads * dv), ("b", heads), ("a", heads)))
    z, b, a = z.reshape(L, heads, dv), b.reshape(L, heads), a.reshape(L, heads)
    filters = c.draw(at + "conv1d.weight", (rows.shape[-1], 1, kernel), 0.2, 0.5)[:, 0]
    before = np.concatenate([np.zeros((kernel - 1, rows.shape[-1])), rows])
    rows = silu(sum(before[i : i + L] * filters[:, i] for i in range(kernel)))
    q, k, v = np.split(rows, [key_heads * dk, 2 * key_heads * dk], -1)
    q, k = (y.reshape(L, key_heads, dk) / np.sqrt((y.reshape(L, key_heads, dk) ** 2).sum(-1, keepdims=True) + 1e-6)
            for y in (q, k))
    v = v.reshape(L, heads, dv)
    rate = np.exp(c.draw(at + "A_log", (heads,), 0, 0.7))
    decays = np.cumsum(-rate * np.log1p(np.exp(a + c.draw(at + "dt_bias", (heads,), 0, 1))), 0)
    out = np.zeros((L, heads, dv))
    for h in range(heads):
        own_k, own_q = k[:, h // shared], q[:, h // shared] / math.sqrt(dk)
        left = np.exp(np.minimum(decays[:, None, h] - decays[None, :, h], 0))
        strength = 1 / (1 + np.exp(-b[:, h : h + 1]))
        mixed = np.eye(L) + np.tril(strength * left * (own_k @ own_k.T), -1)
        out[:, h] = np.tril(left * (own_q @ own_k.T)) @ np.linalg.solve(mixed, strength * v[:, h])
    out = c.norm(out, at + "norm", "rms", eps) * silu(z)
    return c.linear(out.reshape(L, -1), at + "out_proj", x.shape[-1])


class Bare:
    """A checkpoint whose norms have no weights."""

    def __init__(self, checkpoint):
        self.checkpoint = checkpoint

    def __getattr__(self, name):
        return getattr(self.checkpoint, name)

    def norm(self, x, name, kind, eps, bias=False):
        return self.checkpoint.norm(x, None, kind, eps)


def four_parts(x):
    """Fused rows in four parts, each all its queries, values and keys."""
    y = x.reshape(len(x), 4, 3, -1)
    return tuple(y[:, :, part].reshape(len(x), -1) for part in (0, 2, 1))


def xielu(c, x, at):
    softplus = lambda name: math.log1p(math.exp(c.draw(at + name, (1,), 0.2, 0.5)[0]))
    beta, eps = (c.draw(at + name, (1,), mean, 0)[0] for name, mean in (("beta", 0.5), ("eps", -1e-6)))
    positive, negative = softplus("alpha_p"), beta + softplus("alpha_n")
    return np.where(x > 0, positive * x * x + beta * x, negative * (np.expm1(np.minimum(x, eps)) - x) + beta * x)


def banded(width, theta, s):
    """Frequencies of Llama 3.1's scaling."""
    out = []
    for f in theta ** (-np.arange(0, width, 2) / width):
        turns = s["original_max_position_embeddings"] * f / (2 * math.pi)
        blend = (turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
        out.append(f * min(max(blend, 0), 1) + f / s["factor"] * (1 - min(max(blend, 0), 1)))
    return np.array(out)
