"""BERT and GPT-2 as ONNX models that compute all attention maps, from the arrays of a checkpoint."""
import array
import itertools
import math

from onnx_graph import Graph

MICROSOFT = "com.microsoft"


class Stack:
    """The layers over embedded tokens [1,L,D], with the maps "weights_0"… as outputs."""

    def __init__(self, weights, heads, length, eps):
        self.weights, self.heads, self.length, self.eps = weights, heads, length, eps
        self.graph, self.width = Graph(), 0

    def vector(self, name):
        return self.graph.constant([len(self.weights[name])], self.weights[name])

    def product(self, x, name, turned):
        """x W + b; the weight lies [in,out], or [out,in] if it is to be turned."""
        weight, columns = self.weights[name + ".weight"], len(self.weights[name + ".bias"])
        rows = len(weight) // columns
        if turned:
            weight = array.array("f", itertools.chain.from_iterable(weight[i::rows] for i in range(rows)))
        product = self.graph.node("MatMul", [x, self.graph.constant([rows, columns], weight)])
        return self.graph.node("Add", [product, self.vector(name + ".bias")])

    def norm(self, x, name, output=None):
        return self.graph.node("LayerNormalization", [x, self.vector(name + ".weight"), self.vector(name + ".bias")], output=output,
                               axis=-1, epsilon=self.eps)

    def attention(self, parts, layer, mask=None):
        graph, width = self.graph, self.width // self.heads
        apart = graph.shape([1, self.length, self.heads, width])
        q, k, v = (graph.node("Transpose", [graph.node("Reshape", [part, apart])], perm=turned)
                   for part, turned in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scale = graph.constant([], array.array("f", [1 / math.sqrt(width)]))
        scores = graph.node("Mul", [graph.node("MatMul", [q, k]), scale])
        if mask:
            scores = graph.node("Add", [scores, mask])
        maps = graph.node("Softmax", [scores], output="weights_%d" % layer, axis=-1)
        graph.output(maps, [1, self.heads, self.length, self.length])
        joined = graph.node("Transpose", [graph.node("MatMul", [maps, v])], perm=[0, 2, 1, 3])
        return graph.node("Reshape", [joined, graph.shape([1, self.length, self.width])])


def bert(weights, length):
    stack = Stack(weights, 12, length, 1e-12)
    graph, stack.width = stack.graph, len(weights["bert.embeddings.LayerNorm.weight"])
    x = stack.norm(graph.input("x", [1, length, stack.width]), "bert.embeddings.LayerNorm")
    for n in range(12):
        p = "bert.encoder.layer.%d." % n
        parts = [stack.product(x, p + "attention.self." + part, True) for part in ("query", "key", "value")]
        attended = stack.product(stack.attention(parts, n), p + "attention.output.dense", True)
        x = stack.norm(graph.node("Add", [x, attended]), p + "attention.output.LayerNorm")
        wide = graph.node("Gelu", [stack.product(x, p + "intermediate.dense", True)], MICROSOFT)
        x = graph.node("Add", [x, stack.product(wide, p + "output.dense", True)])
        x = stack.norm(x, p + "output.LayerNorm", "output" if n == 11 else None)
    graph.output("output", [1, length, stack.width])
    return graph.model()


def gpt2(weights, length):
    stack = Stack(weights, 12, length, 1e-5)
    graph, stack.width = stack.graph, len(weights["ln_f.weight"])
    hidden = itertools.chain.from_iterable([0.0] * (i + 1) + [-math.inf] * (length - i - 1) for i in range(length))
    mask = graph.constant([length, length], array.array("f", hidden))
    x = graph.input("x", [1, length, stack.width])
    for n in range(12):
        p = "h.%d." % n
        packed = stack.product(stack.norm(x, p + "ln_1"), p + "attn.c_attn", False)
        parts = graph.split(packed, [stack.width] * 3)
        x = graph.node("Add", [x, stack.product(stack.attention(parts, n, mask), p + "attn.c_proj", False)])
        wide = graph.node("FastGelu", [stack.product(stack.norm(x, p + "ln_2"), p + "mlp.c_fc", False)], MICROSOFT)
        x = graph.node("Add", [x, stack.product(wide, p + "mlp.c_proj", False)])
    stack.norm(x, "ln_f", "output")
    graph.output("output", [1, length, stack.width])
    return graph.model()


def embedded(kind, weights, ids):
    """The sum of the embeddings of each token, [L,D], as an array."""
    if kind == "bert":
        tables = ["bert.embeddings.%s_embeddings.weight" % name for name in ("word", "position", "token_type")]
        width = len(weights["bert.embeddings.LayerNorm.weight"])
    else:
        tables, width = ["wte.weight", "wpe.weight"], len(weights["ln_f.weight"])
    sums = array.array("f")
    for place, token in enumerate(ids):
        rows = [weights[table][row * width:(row + 1) * width] for table, row in zip(tables, (token, place, 0))]
        sums.extend(map(sum, zip(*rows)))
    return sums
