"""The numbers of each type in GGUF files against gguf-py's, bit for bit: random bytes are given as scores."""
import re

import gguf
import numpy as np

import program

WIDTH, ROWS = 512, 4
# Types of numbers as they are, by their NumPy types.
PLAIN = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64}
NAMES = (*PLAIN, "BF16", *(kind.name for kind in gguf.quants._type_traits if kind.name != "BF16"))
def stored():
    with open(program.SOURCES + "/io/gguf.cpp") as file:
        numbers = re.findall(r"\{(\d+), (?:ElementType|BlockType)::", file.read())
    return [gguf.GGMLQuantizationType(int(number)).name for number in numbers]
def hold(name, draw, rng, folder, options):
    kind, numbers = gguf.GGMLQuantizationType[name], np.random.default_rng(draw)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    data = numbers.integers(0, 256, (ROWS, WIDTH // block * size), dtype=np.uint8)
    if name in PLAIN:
        # Half of the draws are numbers of the type's range, the others any bits.
        values = data.view(PLAIN[name]) if draw % 2 and name[0] == "F" else (numbers.standard_normal((ROWS, WIDTH)) * 100).astype(PLAIN[name])
        wanted, data = values.astype(np.float64 if name in ("F64", "I64", "I32") else np.float32), values
    else:
        wanted = gguf.quants.dequantize(data, kind)
    writer = gguf.GGUFWriter(folder + "/numbers.gguf", "llama")
    writer.add_custom_alignment(rng.choice([8, 32, 4096]))
    writer.add_tensor("first", np.ones(7, dtype=np.float32))
    writer.add_tensor("numbers", data, raw_dtype=None if name in PLAIN else kind)
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    document = {"attention": "softmax", "scores": {"file": "numbers.gguf", "name": "numbers"}, "dtype": str(wanted.dtype)}
    try:
        got = program.run(folder, document, "--stages")[0]["scores"]
    except program.Refused as refused:
        # What nobody claims to read has to be refused by its name.
        if name not in stored() and re.search(rf"\b{name}\b", str(refused)):
            return "left out: refused by name"
        raise
    same = (got.view(f"u{got.itemsize}") == wanted.view(f"u{got.itemsize}")) | (np.isnan(got) & np.isnan(wanted))
    return "" if same.all() else f"{(~same).sum()} of {same.size} numbers differ: {got[~same][0]} is {wanted[~same][0]} there"
def in_program():
    return {"types of GGUF": stored()}
