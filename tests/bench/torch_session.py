"""PyTorch with as many threads as asked for, and with freed memory kept for the next tensor: cleared pages are costly where a machine
is virtual, and attn-cli bench keeps its own too."""
import ctypes
import sys

INSTALL = "python3 -m venv V && V/bin/pip install torch onnxruntime, and run this with V/bin/python"


def found(threads):
    """The module, or nothing; then standard error says what to install."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-4, 0)  # M_MMAP_MAX
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    try:
        import torch
    except ImportError:
        print("PyTorch is left out: " + INSTALL, file=sys.stderr)
        return None
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):  # which has no enable_gqa
        print("PyTorch %s is too old, and left out: %s" % (torch.__version__, INSTALL), file=sys.stderr)
        return None
    torch.set_num_threads(threads)
    return torch
