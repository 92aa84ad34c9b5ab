"""Prints torch_numbers.txt: what CPU PyTorch draws, for torch_random_test.cpp.

Needs a PyTorch built without MKL, such as Debian's python3-torch 1.13; one with MKL draws other
normal numbers.
    python3 print_torch_numbers.py > torch_numbers.txt
"""

import torch


def line(*parts):
    print(*parts)


def numbers(tensor):
    # The shortest digits that tell one float32 from the next.
    return " ".join(str(x) for x in tensor.detach().flatten().numpy())


def seed(value):
    torch.manual_seed(value)
    line("seed", value)


def randn(count):
    line("randn", count, numbers(torch.randn(count)))


def rand(count):
    line("rand", count, numbers(torch.rand(count)))


def uniform(count, low, high):
    line("uniform", count, low, high, numbers(torch.empty(count).uniform_(low, high)))


def linear(outputs, inputs):
    layer = torch.nn.Linear(inputs, outputs)
    line("linear", outputs, inputs, numbers(layer.weight), numbers(layer.bias))


line("# Printed by print_torch_numbers.py: draw, sizes, numbers; each seed starts a generator that all draws up to the next share")
for n in range(1, 41):
    seed(1000 + n)
    randn(n)
for start in (0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**63 - 1):
    seed(start)
    randn(100)
    rand(3)
    randn(3)
# Odd small draws keep the second number of a pair; large draws and rand neither use nor drop it.
seed(7)
for n in (1, 1, 3, 16, 1, 15, 17, 2, 1, 33, 1):
    randn(n)
    rand(2)
seed(8)
for n in (15, 31, 15, 32, 15):
    randn(n)
seed(9)
uniform(5, -1, 1)
uniform(5, -0.1, 0.1)
uniform(3, 2, 5)
for outputs, inputs in ((1, 1), (2, 3), (4, 4), (3, 7), (5, 10), (2, 20), (2, 32), (1, 64)):
    seed(100 + inputs)
    linear(outputs, inputs)
    linear(outputs, inputs)
    randn(1)
