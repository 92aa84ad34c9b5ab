"""What compare_runtimes times: for each row its tensors, the document of attn-cli, what a user of PyTorch would write, and a
model for ONNX Runtime. All compute the same numbers from the same tensors."""
import array
import itertools
import math

from onnx_graph import INT32, Graph

MICROSOFT = "com.microsoft"


def side_by_side(x, heads):
    """[B,H,L,D] of [B,L,H·D]."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def matrix_products(torch, q, k, v, hidden=None):
    """A run of the attention of q [B,H,Lq,D] over k and v [B,H,Lk,D] that has all weights in memory; `hidden` is true for pairs that
    are not seen."""
    def run():
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1]**0.5
        if hidden is not None:
            scores.masked_fill_(hidden, -math.inf)
        return torch.matmul(torch.softmax(scores, -1), v)
    return run


class Row:
    """Of `tensors`, those that `inputs` names are given for each run, the others are weights. `work` is in 10⁹ operations, and `limit` what
    the rate is compared with. torch() gives the runs by the names of their columns, and what brings a result into our order."""

    unit, limit, onnx = " GFLOP/s", "peak", True

    def onnx_graph(self, weights):
        graph = Graph()
        names = {name: graph.input(name, shape) for name, (shape, _) in self.tensors.items() if name in self.inputs}
        self.build(graph, names, weights)
        graph.output("output", self.output)
        return graph

    def document(self, file):
        given = {name: {"file": file, "name": name} for name in self.inputs}
        return {**given, **self.options}


class Attention(Row):
    inputs = ("query", "key", "value")

    def __init__(self, samples, heads, length, width, causal=False, weights=False):
        self.sizes, self.causal, self.weights = (samples, heads, length, width), causal, weights
        self.label = ("causal attention " if causal else "attention ") + "%d×%d×%d×%d" % self.sizes
        self.label += " with the weights written out" if weights else ""
        self.output = [samples, length, heads * width]
        self.tensors = {name: (self.output, 1.0) for name in self.inputs}
        self.options = {"attention": "scaled_dot_product", "heads": heads, **({"mask": {"causal": True}} if causal else {})}
        pairs = length * (length + 1) // 2 if causal else length * length
        self.work = 4e-9 * samples * heads * pairs * width
        self.command = ["bench", "--shape", "%d,%d,%d,%d,%d" % (samples, heads, length, length, width)]
        self.command += ["--causal"] * causal + ["--weights"] * weights

    def torch(self, torch, tensors):
        _, heads, length, _ = self.sizes
        q, k, v = (side_by_side(tensors[name], heads).contiguous() for name in self.inputs)
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1) if self.causal else None
        runs = {"PyTorch": matrix_products(torch, q, k, v, hidden)}
        if not self.weights:
            runs["PyTorch fused"] = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return runs, lambda output: output.transpose(1, 2)

    def build(self, graph, names, weights):
        samples, heads, length, width = self.sizes
        q, k, v = (names[name] for name in self.inputs)
        if self.weights:
            self.build_products(graph, q, k, v)
        elif self.causal:  # takes half the time of MultiHeadAttention with its mask
            lasts = graph.constant([samples], array.array("i", [length - 1] * samples), INT32)
            total = graph.constant([], array.array("i", [length]), INT32)
            graph.node("GroupQueryAttention", [q, k, v, "", "", lasts, total], MICROSOFT, "output", num_heads=heads, kv_num_heads=heads)
        else:
            graph.node("MultiHeadAttention", [q, k, v], MICROSOFT, "output", num_heads=heads)

    def build_products(self, graph, *inputs):
        samples, heads, length, width = self.sizes
        apart = graph.shape([samples, length, heads, width])
        q, k, v = (graph.node("Transpose", [graph.node("Reshape", [name, apart])], perm=turned)
                   for name, turned in zip(inputs, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scale = graph.constant([], array.array("f", [width**-0.5]))
        scores = graph.node("Mul", [graph.node("MatMul", [q, k]), scale])
        maps = graph.node("Softmax", [scores], output="weights", axis=-1)
        graph.output(maps, [samples, heads, length, length])
        joined = graph.node("Transpose", [graph.node("MatMul", [maps, v])], perm=[0, 2, 1, 3])
        graph.node("Reshape", [joined, graph.shape(self.output)], output="output")


class Additive(Row):
    unit, limit, onnx, inputs = "·10⁹ tanh/s", None, False, ("query", "key", "value")

    def __init__(self, samples, length, width):
        self.label = "additive, %d×%d×%d, hidden %d" % (samples, length, length, width)
        self.output = [samples, length, width]
        near_one = width**-0.5
        self.tensors = {name: (self.output, 1.0) for name in self.inputs}
        self.tensors.update({"W_k.weight": ([width, width], near_one), "W_q.weight": ([width, width], near_one),
                             "w_v.weight": ([1, width], near_one)})
        self.options = {"attention": "additive"}
        self.work = 1e-9 * samples * length * length * width
        self.command = ["bench", "--shape", "%d,1,%d,%d,%d" % (samples, length, length, width), "--attention", "additive"]

    def document(self, file):
        return {**super().document(file), "parameters": {"file": file, "names": {
            name: name for name in self.tensors if name not in self.inputs}}}

    def torch(self, torch, tensors):
        q, k, v = (tensors[name] for name in self.inputs)
        linear = torch.nn.functional.linear

        def run():
            hidden = linear(q, tensors["W_q.weight"]).unsqueeze(2) + linear(k, tensors["W_k.weight"]).unsqueeze(1)
            scores = linear(torch.tanh(hidden), tensors["w_v.weight"]).squeeze(-1)
            return torch.matmul(torch.softmax(scores, -1), v)
        return {"PyTorch": run}, lambda output: output


class MultiHead(Row):
    inputs = ("x",)

    def __init__(self, samples, length, width, heads):
        self.sizes = (samples, length, width, heads)
        self.label = "multi-head module, %d×%d×%d, %d heads" % self.sizes
        self.output = [samples, length, width]
        self.tensors = {"x": (self.output, 1.0)}
        self.add_linear("in_proj_", 3 * width, width)
        self.add_linear("out_proj.", width, width)
        self.options = {"attention": "multi_head", "heads": heads}
        self.work = 1e-9 * samples * (8 * length * width**2 + 4 * length**2 * width)
        self.benchmark = "multi_head/samples:%d/length:%d/width:%d/heads:%d" % self.sizes

    def add_linear(self, name, rows, columns):
        self.tensors[name + "weight"] = ([rows, columns], columns**-0.5)
        self.tensors[name + "bias"] = ([rows], columns**-0.5)

    def document(self, file):
        return {**super().document(file), "parameters": {"file": file}}

    def state(self, tensors):
        return {name: tensor for name, tensor in tensors.items() if name not in self.inputs}

    def torch(self, torch, tensors):
        module = torch.nn.MultiheadAttention(self.sizes[2], self.sizes[3], batch_first=True).eval()
        module.load_state_dict(self.state(tensors))
        x = tensors["x"]
        return {"PyTorch": lambda: module(x, x, x, need_weights=False)[0]}, lambda output: output

    def linear(self, graph, x, weights, name, output=None):
        rows, columns = self.tensors[name + "weight"][0]
        product = graph.node("MatMul", [x, self.turned(graph, weights[name + "weight"], rows, columns)])
        return graph.node("Add", [product, graph.constant([rows], weights[name + "bias"])], output=output)

    def turned(self, graph, numbers, rows, columns):
        """The constant Wᵀ [columns,rows] of W [rows,columns]."""
        turned = array.array("f", itertools.chain.from_iterable(numbers[i::columns] for i in range(columns)))
        return graph.constant([columns, rows], turned)

    def attention(self, graph, x, weights, prefix="", output=None):
        width, heads = self.sizes[2], self.sizes[3]
        packed = weights[prefix + "in_proj_weight"]
        turned = self.turned(graph, packed, 3 * width, width)
        bias = graph.constant([3 * width], weights[prefix + "in_proj_bias"])
        attended = graph.node("Attention", [x, turned, bias], MICROSOFT, num_heads=heads)
        return self.linear(graph, attended, weights, prefix + "out_proj.", output)

    def build(self, graph, names, weights):
        self.attention(graph, names["x"], weights, output="output")


class EncoderLayer(MultiHead):
    def __init__(self, samples, length, width, heads, wide):
        super().__init__(samples, length, width, heads)
        self.wide = wide
        self.label = "encoder layer, %d×%d×%d, %d heads, feed-forward %d" % (*self.sizes, wide)
        self.tensors = {"x": (self.output, 1.0)}
        self.add_linear("self_attn.in_proj_", 3 * width, width)
        self.add_linear("self_attn.out_proj.", width, width)
        self.add_linear("linear1.", wide, width)
        self.add_linear("linear2.", width, wide)
        for name in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"):
            self.tensors[name] = ([width], 1.0)
        self.options = {"attention": "encoder_layer", "heads": heads, "feed_forward": wide, "activation": "gelu"}
        self.work += 4e-9 * samples * length * width * wide
        self.benchmark = "encoder_layer/samples:%d/length:%d/width:%d/heads:%d/feed_forward:%d" % (*self.sizes, wide)

    def torch(self, torch, tensors):
        layer = torch.nn.TransformerEncoderLayer(self.sizes[2], self.sizes[3], self.wide, dropout=0.0, activation="gelu",
                                                 batch_first=True).eval()
        layer.load_state_dict(self.state(tensors))
        return {"PyTorch": lambda: layer(tensors["x"])}, lambda output: output

    def norm(self, graph, a, b, weights, name, output=None):
        constants = [graph.constant([self.sizes[2]], weights[name + part]) for part in (".weight", ".bias")]
        return graph.node("LayerNormalization", [graph.node("Add", [a, b])] + constants, output=output, axis=-1,
                          epsilon=1e-5)

    def build(self, graph, names, weights):
        x = names["x"]
        x = self.norm(graph, x, self.attention(graph, x, weights, "self_attn."), weights, "norm1")
        wide = graph.node("Gelu", [self.linear(graph, x, weights, "linear1.")], MICROSOFT)
        self.norm(graph, x, self.linear(graph, wide, weights, "linear2."), weights, "norm2", "output")


class Decode(Row):
    unit, limit, inputs = " GB/s", "bandwidth", ("query", "key", "value")

    def __init__(self, heads, kv_heads, queries, keys, width):
        self.sizes = (heads, kv_heads, queries, keys, width)
        self.label = "%d %s over %d keys, %d heads × %d" % (queries, "queries" if queries > 1 else "query", keys, heads, width)
        self.label += ", %d key heads" % kv_heads if kv_heads < heads else ""
        self.output = [1, heads, queries, width]
        self.tensors = {"query": (self.output, 1.0), "key": ([1, kv_heads, keys, width], 1.0),
                        "value": ([1, kv_heads, keys, width], 1.0)}
        self.options = {"attention": "scaled_dot_product"}
        self.work = 8e-9 * kv_heads * keys * width  # 10⁹ bytes of keys and values, of four each
        self.benchmark = "decode/samples:1/heads:%d/key_heads:%d/queries:%d/keys:%d/width:%d" % self.sizes

    def torch(self, torch, tensors):
        heads, kv_heads, queries, _, width = self.sizes
        q, k, v = (tensors[name] for name in self.inputs)
        # The queries of a group one below the other, so that no key is repeated.
        together = q.reshape(1, kv_heads, heads // kv_heads * queries, width)
        runs = {"PyTorch": matrix_products(torch, together, k, v),
                "PyTorch fused": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=kv_heads < heads)}
        return runs, lambda output: output

    def build(self, graph, names, weights):
        heads, kv_heads, queries, _, width = self.sizes
        together = graph.shape([1, kv_heads, heads // kv_heads * queries, width])
        q = graph.node("Reshape", [names["query"], together])
        k = graph.node("Transpose", [names["key"]], perm=[0, 1, 3, 2])
        scores = graph.node("Mul", [graph.node("MatMul", [q, k]), graph.constant([], array.array("f", [width**-0.5]))])
        output = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), names["value"]])
        graph.node("Reshape", [output, graph.shape(self.output)], output="output")


class Grouped(Decode):
    unit, limit = Row.unit, Row.limit

    def __init__(self, heads, kv_heads, length, width):
        super().__init__(heads, kv_heads, length, length, width)
        self.label = "grouped attention 1×%d(%d)×%d×%d" % (heads, kv_heads, length, width)
        self.work = 4e-9 * heads * length * length * width
        self.benchmark = "attention/samples:1/heads:%d/key_heads:%d/length:%d/width:%d/causal:0/weights:0" % (heads, kv_heads, length, width)


def rows():
    return [
        Attention(128, 1, 512, 1024), Attention(1, 12, 2048, 64), Attention(1, 1, 8192, 64), Attention(2, 8, 512, 64),
        Attention(8, 8, 192, 8), Attention(1, 12, 2048, 64, causal=True), Attention(1, 1, 8192, 64, causal=True), Grouped(32, 8, 2048, 128),
        Attention(1, 12, 2048, 64, weights=True), Additive(4, 512, 128),
        MultiHead(8, 512, 768, 12), MultiHead(2, 128, 256, 4),
        EncoderLayer(8, 512, 768, 12, 3072), EncoderLayer(2, 128, 256, 4, 1024),
        Decode(32, 8, 1, 8192, 128), Decode(32, 8, 4, 8192, 128), Decode(12, 12, 1, 8192, 64), Decode(12, 12, 4, 8192, 64),
    ]


def small_rows():
    """One of each kind, of sizes that take little time and yet are computed as the large ones are."""
    return [Attention(1, 2, 250, 64), Attention(1, 2, 250, 64, causal=True), Grouped(8, 2, 200, 64), Attention(1, 2, 250, 64, weights=True),
            Additive(1, 50, 32), MultiHead(2, 100, 128, 4), EncoderLayer(2, 100, 128, 4, 256), Decode(8, 2, 4, 4000, 64)]
