"""ONNX's node tests of attentions, as documents: what the package's own reference implementation gives for them has to come out.

Draws are the tests themselves, all of them whatever --draws and --seed are.
"""
import importlib

import numpy as np
import onnx
from onnx.backend.test.case import node as tests

from program import difference, nested, run

FILES = {"Attention": "attention", "FlexAttention": "flexattention", "LinearAttention": "linear_attention", "RotaryEmbedding": "rotaryembedding"}
NAMES = FILES
TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 3 * 2 ** -11, "bfloat16": 3 * 2 ** -8}
for module in FILES.values():
    importlib.import_module("onnx.backend.test.case.node." + module)

class NotExpressed(Exception): """A document cannot say it."""

def attention(at, x, wanted):
    document = {"attention": "scaled_dot_product", "query": nested(x["Q"]), "key": nested(x["K"]), "value": nested(x["V"])}
    names = {"scale": "scale", "softcap": "softcap"} | ({"q_num_heads": "heads", "kv_num_heads": "kv_heads"} if x["Q"].ndim == 3 else {})
    document |= {names[name]: value for name, value in at.items() if name in names and value}
    mask = {"causal": True} if at.get("is_causal") else {}
    window = {side: at.get(side + "_window_size", -1) for side in ("left", "right")}
    if max(window.values()) >= 0:
        mask["window"] = window
    if "nonpad_kv_seqlen" in x:
        document["valid_lens"] = x["nonpad_kv_seqlen"].reshape(-1).tolist()
        mask |= {"align": "lower_right"} if mask else {}
    keys = x["K"].shape[-2]
    if "past_key" in x:
        document |= {"past_key": nested(x["past_key"]), "past_value": nested(x["past_value"])}
        keys += x["past_key"].shape[-2]
    if "attn_mask" in x:
        own = x["attn_mask"]
        hidden = False if own.dtype == bool else -np.inf  # a mask may end before the keys do
        own = np.pad(own, [(0, 0)] * (own.ndim - 1) + [(0, keys - own.shape[-1])], constant_values=hidden)
        mask["allow" if own.dtype == bool else "bias"] = nested(own)
    if mask:
        document["mask"] = mask
    modes = ("scores", "capped", "masked", "weights")
    names = {"Y": "output", "qk_matmul_output": modes[at.get("qk_matmul_output_mode", 0)]}
    return document, {names[name]: value for name, value in wanted.items() if name in names}

def expression(graph, start):
    """A graph of a score or a weight, as an expression."""
    values = {graph.input[0].name: start} | {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    signs = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "GreaterOrEqual": ">=", "Greater": ">", "Less": "<", "LessOrEqual": "<=",
             "Equal": "==", "And": "&&", "Or": "||"}

    def text(value):
        if isinstance(value, str):
            return value
        return {np.inf: "inf", -np.inf: "-inf"}.get(number := float(np.asarray(value).reshape(())), repr(number))

    for node in graph.node:
        x, kind = [values[name] for name in node.input], node.op_type
        if kind in ("Constant", "Shape"):
            value = ["B", "H", "Lq", "Lk"] if kind == "Shape" else onnx.numpy_helper.to_array(node.attribute[0].t)
        elif kind in ("Gather", "Range"):
            value = x[0][int(np.asarray(x[1]).reshape(()))] if kind == "Gather" else {"Lq": "i", "Lk": "j"}[x[1]]
        elif kind in ("Reshape", "Unsqueeze", "Cast", "Identity"):
            value = x[0]
        elif kind in signs:
            value = f"({text(x[0])} {signs[kind]} {text(x[1])})"
        elif kind == "Where":
            value = "({} ? {} : {})".format(*map(text, x))
        elif kind in ("Tanh", "Exp", "Abs", "Sqrt"):
            value = f"{kind.lower()}({text(x[0])})"
        else:
            raise NotExpressed(f"{kind} in a graph")
        values[node.output[0]] = value
    return text(values[graph.output[0].name])

def flex_attention(at, x, wanted):
    document = {"attention": "scaled_dot_product", "query": nested(x["Q"]), "key": nested(x["K"]), "value": nested(x["V"])}
    document |= {"scale": at["scale"]} if "scale" in at else {}
    for name, key, start in (("score_mod", "score", "s"), ("prob_mod", "weight", "p")):
        if name in at:
            document[key] = expression(at[name], start)
    return document, {"output": wanted["Y"]}

def linear_attention(at, x, wanted):
    document = {"attention": "scaled_dot_product", "heads": at["q_num_heads"], "kv_heads": at["kv_num_heads"],
                "linear_attention": {name: nested(x[name]) for name in ("decay", "beta", "past_state") if name in x}}
    document |= {name: nested(x[name]) for name in ("query", "key", "value")}
    return document | ({"scale": at["scale"]} if at.get("scale") else {}), wanted

def rotary_embedding(at, x, wanted):
    """Keys are the unit vectors, at a place that does not turn them, so that scores are the turned queries."""
    q, y = x["input"], wanted["output"]
    heads = q.shape[1] if q.ndim == 4 else at["num_heads"]
    width = q.shape[-1] if q.ndim == 4 else q.shape[-1] // heads
    rotary = {}
    for name, still in (("cos", np.ones), ("sin", np.zeros)):
        table = x[name + "_cache"]
        rotary[name] = nested(np.concatenate([table, still(table.shape[:-2] + (1, table.shape[-1]))], -2))
    rotary |= {"key_positions": [x["cos_cache"].shape[-2]] * width, "interleaved": bool(at.get("interleaved"))}
    rotary |= {"positions": x["position_ids"].tolist()} if "position_ids" in x else {}
    document = {"attention": "dot_product", "query": nested(q), "key": nested(np.eye(width)[(None,) * (q.ndim - 2)]), "rotary": rotary}
    if q.ndim == 3:
        document |= {"heads": heads, "kv_heads": 1}
        y = y.reshape(*y.shape[:2], heads, width).transpose(0, 2, 1, 3)
    return document, {"scores": y}

DOCUMENTS = dict(zip(FILES, (attention, flex_attention, linear_attention, rotary_embedding)))

def hold(kind, draw, rng, folder, options):
    own = [test for test in tests._NodeTestCases if len(test.model.graph.node) == 1 and test.model.graph.node[0].op_type == kind]
    if draw % 100_000 >= len(own):
        raise StopIteration
    test = own[draw % 100_000]
    node, (inputs, outputs), options["test"] = test.model.graph.node[0], test.data_sets[0], test.name
    array = lambda value: value if isinstance(value, np.ndarray) else onnx.numpy_helper.to_array(value)
    x = dict(zip([name for name in node.input if name], map(array, inputs)))
    wanted = dict(zip([name for name in node.output if name], map(array, outputs)))
    try:
        document, wanted = DOCUMENTS[kind]({of.name: onnx.helper.get_attribute_value(of) for of in node.attribute}, x, wanted)
    except NotExpressed as reason:
        return f"left out: {reason}"
    dtype = str(next(iter(x.values())).dtype)
    if dtype != "float32":
        document["dtype"] = dtype
    return difference(run(folder, document, "--stages")[0], wanted, TOLERANCES[dtype])
