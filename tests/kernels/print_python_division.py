"""Prints python_division.txt: a, b, a // b and a % b of Python's own floats, for row_program_test.cpp.

    python3 print_python_division.py > python_division.txt
"""

import math
import random
import struct

TINY, LEAST_NORMAL, LARGEST = 5e-324, 2.0**-1022, 1.7976931348623157e308


def of_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def pairs(draw):
    special = [0.0, TINY, LEAST_NORMAL, 0.1, 0.5, 1.0, 3.0, 2.0**52, 2.0**53, 1e300, LARGEST,
               math.inf]
    special += [-x for x in special] + [math.nan]
    yield from ((a, b) for a in special for b in special)

    def signed(a, b):
        return draw.choice((a, -a)), draw.choice((b, -b))

    for _ in range(250):  # multiples, and their neighbours
        width = draw.choice((0.1, 0.2, 0.3, 0.7, 1e-3, draw.random(), draw.random() * 2.0**-1060))
        multiple = draw.randrange(1, 1000) * width
        yield signed(multiple, width)
        yield signed(math.nextafter(multiple, 0), width)
        yield signed(math.nextafter(multiple, math.inf), width)
    for _ in range(300):  # quotients of all sizes, about 2^51 and 2^53 above all
        b = draw.random() + draw.randrange(3)
        yield signed(b * 2.0 ** draw.uniform(-60, 60), b)
        yield signed(b * 2.0 ** draw.uniform(50, 54), b)
    for _ in range(300):  # any numbers
        a, b = of_bits(draw.getrandbits(64)), of_bits(draw.getrandbits(64))
        yield a, b
        yield a, a * draw.uniform(-4, 4)
    for _ in range(200):  # subnormal ones
        yield signed(TINY * draw.randrange(1, 1 << 20), TINY * draw.randrange(1, 1 << 10))
    for _ in range(100):  # whole ones
        yield signed(float(draw.randrange(1 << 53)), float(draw.randrange(1, 1 << 30)))


def main():
    for a, b in pairs(random.Random(1)):
        if b == 0:
            continue  # an error in Python
        print(*(x.hex() for x in (a, b, a // b, a % b)))


main()
