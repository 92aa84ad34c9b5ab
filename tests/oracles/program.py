"""attn-cli as the oracles run it, what it lists, and how its tensors are held against others'."""
import json, os, re, subprocess

import numpy as np

path = ""  # of attn-cli
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src")

class Refused(Exception): """attn-cli computes nothing, and says why."""

def nested(array):
    """An array as JSON."""
    array = np.asarray(array)
    if array.dtype.kind in "biu" or np.isfinite(array).all():
        return array.tolist()
    if array.ndim:
        return [nested(part) for part in array]
    return "nan" if np.isnan(array) else "inf" if array > 0 else "-inf"

def called(*arguments, folder=None):
    """What attn-cli prints, and its warnings."""
    done = subprocess.run([path, *arguments], cwd=folder, capture_output=True)
    if done.returncode:
        raise Refused(" ".join(done.stderr.decode(errors="replace").split())[:400])
    return done.stdout.decode(), done.stderr.decode(errors="replace")

def call(*arguments, folder=None):
    """What attn-cli prints."""
    return called(*arguments, folder=folder)[0]

def run(folder, document, *flags):
    """The tensors and result.json of a document."""
    with open(folder + "/input.json", "w") as file:
        json.dump(document, file)
    call("run", "input.json", "--plots", "none", "--tensors", "npz", "--no-sync", "--quiet", "--out", "out", *flags, folder=folder)
    with open(folder + "/out/result.json") as file:
        result = json.load(file)
    with np.load(folder + "/out/tensors.npz") as tensors:
        return dict(tensors), result

def difference(got, wanted, tolerance):
    """What is wrong of tensors by name, in words: nothing, if each is within `tolerance` times its largest number."""
    for name, want in wanted.items():
        want = np.asarray(want)
        if name not in got or got[name].shape != want.shape:
            return f"{name} is {got[name].shape if name in got else 'missing'}, not {want.shape}"
        have, want = got[name].astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(want)
        if not np.array_equal(have[~finite], want[~finite], equal_nan=True):
            return f"{name} has other infinities or NaN"
        seen = np.abs(have - want, where=finite, out=np.zeros_like(want)).max(initial=0)
        seen /= max(1, np.abs(want[finite]).max(initial=0))
        if not seen <= tolerance:
            return f"{name} differs by {seen:.1e}"
    return ""

def listed(title):
    """First words of the lines, or all words, that `attn-cli list` has under a title."""
    lines = re.search(rf"^{title}\n((?:  .*\n)+)", call("list"), re.M)[1].splitlines()
    apart = title != "Families of models"
    return [line.split()[0] for line in lines] if apart else " ".join(lines).split()
