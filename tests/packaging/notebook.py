"""The module attn as a user has it: the cells of docs/notebooks.md executed as a notebook, and what they do not show.

Run by a Python that has the wheel, NumPy, nbclient and ipykernel; PyTorch and JAX are tried where they are.
"""

import os
import pathlib
import re
import sys
import tempfile
import warnings

import attn
import nbclient
import nbformat
import numpy as np

docs = pathlib.Path(__file__).resolve().parents[2] / "docs"


def refusal(call):
    try:
        call()
    except attn.Error as error:
        return str(error)
    raise AssertionError("nothing was refused")


def attended(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def check_arrays():
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((2, 3, 5, 8)) for _ in range(3))
    exact = attended(q, k, v)
    assert attn.run(q, k, v).output.dtype == np.float64
    assert np.abs(attn.run(q, k, v).output - exact).max() < 1e-14
    single = [x.astype(np.float32) for x in (q, k, v)]
    assert np.abs(attn.run(*single).output - exact).max() < 1e-6
    hidden = np.triu(np.ones((5, 5), bool), 1)
    causal = attn.run(*single, mask={"causal": True})
    assert (attn.run(*single, mask={"block": hidden}).weights == causal.weights).all()
    names = [f"token {i}" for i in range(5)]
    named = attn.run(*single, labels={"query": names, "key": names}, title="A title")
    assert "<title>A title</title>" in named.view() and "token 4" in named.view()
    assert "<title>Attention Maps of scaled_dot_product</title>" in causal.view()
    assert causal.plot("heatmap").startswith(b"\x89PNG")
    for library in ("torch", "jax"):
        try:
            other = __import__(library if library == "torch" else "jax.numpy", fromlist=["_"])
        except ImportError:
            print(f"{library}: not there, not tried")
            continue
        make = other.tensor if library == "torch" else other.asarray
        given = [make(x) for x in single]
        if library == "torch":
            given[0].requires_grad_()
        assert (attn.run(*given).weights == attn.run(*single).weights).all(), library
        halves = [x.bfloat16() if library == "torch" else x.astype(other.bfloat16) for x in given]
        assert np.abs(attn.run(*halves).output - exact).max() < 0.1, library
        print(f"{library}: the same bits as NumPy")


def check_errors():
    x = np.ones((2, 3))
    assert refusal(lambda: attn.run(x, x, x, mask=np.ones((2, 2), bool))).startswith("an array alone does not say what it hides\n  where: mask\n")
    assert refusal(lambda: attn.run(x, x, x, mask={"cuasal": True})) == (
        'unknown key "cuasal"\n  where: document.json, /mask/cuasal\n  help:  did you mean "causal"?')
    assert refusal(lambda: attn.run(x, x, x, flags=["--out", "here"])).startswith("--out, --tensors, --json and --quiet are set")
    assert "attn.run() once for each kind" in refusal(lambda: attn.run(x, x, x, attention=["sdpa", "dot_product"]))
    assert "no such model" in refusal(lambda: attn.model("no such model", "text"))
    assert 'there is no array \'wieghts\'' in missing(attn.run(x, x, x))


def check_warnings():
    x = np.ones((2, 3))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        attn.run(x, x, x, valid_lens=[0])
    assert str(told[-1].message) == "2 queries have no key left to see: their weights and output are zero"
    assert told[-1].filename == __file__


def missing(result):
    try:
        return result.wieghts
    except AttributeError as error:
        return str(error)


def check_notebook(page):
    blocks = re.findall(r"```python\n(.*?)```", (docs / page).read_text(encoding="utf-8"), re.S)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block.rstrip()) for block in blocks])
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    kinds = {kind for cell in notebook.cells for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png", "image/svg+xml"} <= kinds, kinds
    shown = notebook.cells[0].outputs[-1]["data"]["text/html"]
    assert shown.startswith("<iframe ") and "srcdoc=" in shown and "&lt;title&gt;Attention Maps of scaled_dot_product&lt;/title&gt;" in shown
    return blocks, notebook


check_arrays()
check_errors()
check_warnings()
blocks, notebook = check_notebook("notebooks.md")
assert blocks == re.findall(r"```python\n(.*?)```", (docs / "notebooks.zh-CN.md").read_text(encoding="utf-8"), re.S)
if len(sys.argv) > 1:  # a file to look at
    nbformat.write(notebook, sys.argv[1])
print(f"{len(blocks)} cells of docs/notebooks.md executed, {os.path.basename(attn.program())} of {attn.program()}")
