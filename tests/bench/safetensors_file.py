"""Files of safetensors: a length, a header in JSON, and the numbers one after the other."""
import array
import json


def write(path, tensors):
    """`tensors` gives for each name a shape and an array of floats."""
    header, at = {}, 0
    for name, (shape, numbers) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(numbers)]}
        at += 4 * len(numbers)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, numbers in tensors.values():
            numbers.tofile(file)


def places(path):
    """For each tensor of floats its shape, and where in the file its bytes begin and end."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    start = 8 + length
    return {name: (entry["shape"], start + entry["data_offsets"][0], start + entry["data_offsets"][1])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def read_arrays(path, names=None):
    """Those named, or all."""
    arrays = {}
    with open(path, "rb") as file:
        for name, (_, begin, end) in places(path).items():
            if names is None or name in names:
                file.seek(begin)
                arrays[name] = array.array("f")
                arrays[name].fromfile(file, (end - begin) // 4)
    return arrays


def read_torch(path, torch):
    tensors = {}
    with open(path, "rb") as file:
        for name, (shape, begin, end) in places(path).items():
            file.seek(begin)
            tensors[name] = torch.frombuffer(bytearray(file.read(end - begin)), dtype=torch.float32).reshape(shape)
    return tensors
