"""PyTorch with as many threads as asked for, with the kernels of OpenBLAS that the processor is best served by, and with freed
memory kept for the next tensor: cleared pages are costly where a machine is virtual, and attn-cli bench keeps its own too."""
import ctypes
import os
import sys
import time


def found(threads):
    """The module, or nothing; then standard error says what to install."""
    try:
        with open("/proc/cpuinfo") as file:
            processor = file.read()
        # Debian's OpenBLAS 0.3.21 takes AMD's processors with AVX-512 for ones without it, which halves its speed.
        if "AuthenticAMD" in processor and "avx512f" in processor:
            os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    except OSError:
        pass
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-4, 0)  # M_MMAP_MAX
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    try:
        import torch
    except ImportError:
        print("PyTorch is left out: apt-get install python3-torch libopenblas0, and run this with /usr/bin/python3",
              file=sys.stderr)
        return None
    torch.set_num_threads(threads)
    return torch


def is_worth_timing(torch, peak_gflops):
    """Whether a plain product reaches a fifth of the machine's peak; if not, standard error says what to install."""
    size, least = 1024, 0.2
    a = torch.rand(size, size)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        torch.matmul(a, a)
        seconds.append(time.perf_counter() - begin)
    reached = 2e-9 * size**3 / min(seconds)
    if reached >= least * peak_gflops:
        return True
    print("PyTorch is left out: a product of %d × %d matrices reaches %.0f GFLOP/s, less than a fifth of the peak of %.0f. Its "
          "BLAS is not OpenBLAS: apt-get install libopenblas0" % (size, size, reached, peak_gflops), file=sys.stderr)
    return False
