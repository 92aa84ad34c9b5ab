"""ONNX models as bytes. The numbers of fields and types are those of onnx.proto."""
import array
import struct

FLOAT, INT32, INT64 = 1, 6, 7


def varint(number):
    number &= (1 << 64) - 1  # as two's complement
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number, value):
    """One field of a Protocol Buffers message: a whole number, or bytes or text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)  # f, FLOAT
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)  # i, INT
    return field(1, name) + b"".join(field(8, one) for one in value) + field(20, 7)  # ints, INTS


class Graph:
    """Nodes in the order in which they compute; `inputs` names what a run is given."""

    def __init__(self):
        self.inputs, self.outputs, self.counter = [], [], 0
        self.nodes, self.constants, self.declared = [], [], []

    def value(self, name, shape, kind):
        dimensions = b"".join(field(1, field(1, size)) for size in shape)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, dimensions)))

    def input(self, name, shape):
        self.inputs.append(name)
        self.declared.append(field(11, self.value(name, shape, FLOAT)))
        return name

    def output(self, name, shape):
        self.outputs.append(name)
        self.declared.append(field(12, self.value(name, shape, FLOAT)))

    def constant(self, shape, numbers, kind=FLOAT):
        """Of an array of that type."""
        self.counter += 1
        name = "constant_%d" % self.counter
        tensor = b"".join(field(1, size) for size in shape) + field(2, kind) + field(8, name)
        self.constants.append(field(5, tensor + field(9, numbers.tobytes())))
        return name

    def shape(self, sizes):
        return self.constant([len(sizes)], array.array("q", sizes), INT64)

    def node(self, operator, inputs, domain="", output=None, **attributes):
        """Gives the name of its output; an input that is absent is ""."""
        self.counter += 1
        name = output or "value_%d" % self.counter
        node = b"".join(field(1, one) for one in inputs) + field(2, name)
        node += field(3, "node_%d" % self.counter) + field(4, operator)
        node += b"".join(field(5, attribute(key, value)) for key, value in attributes.items())
        self.nodes.append(field(1, node + (field(7, domain) if domain else b"")))
        return name

    def split(self, x, sizes):
        """Parts of its last axis, by their names."""
        self.counter += 1
        names = ["part_%d_%d" % (self.counter, i) for i in range(len(sizes))]
        node = field(1, x) + field(1, self.shape(sizes)) + b"".join(field(2, name) for name in names)
        node += field(4, "Split") + field(5, attribute("axis", -1))
        self.nodes.append(field(1, node))
        return names

    def model(self):
        graph = b"".join(self.nodes) + field(2, "graph") + b"".join(self.constants + self.declared)
        opsets = field(8, field(1, "") + field(2, 17)) + field(8, field(1, "com.microsoft") + field(2, 1))
        return field(1, 8) + opsets + field(7, graph)  # ir_version, opset_import, graph
