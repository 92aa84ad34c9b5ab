"""Prints recorded cases, as recorded_case.hpp reads them."""

import math

import torch


def text(number):
    whole = math.isfinite(number) and number == int(number)
    return str(int(number)) if whole else repr(number)


def write(name, options, tensors, expected):
    print("case", name)
    for key, value in options.items():
        print("set", key, *(value if isinstance(value, (list, tuple)) else [value]))
    for key, tensor in (tensors | {"expected." + k: t for k, t in expected.items()}).items():
        numbers = " ".join(text(float(x)) for x in torch.as_tensor(tensor).flatten().tolist())
        print("tensor", key, *tensor.shape, ":", numbers)
    print("end")
