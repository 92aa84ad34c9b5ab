"""Exact attention of arrays, and of models on texts, computed and drawn by the program attn-cli.

    import attn
    result = attn.run(q, k, v, mask={"causal": True})   # NumPy, PyTorch or JAX
    result.weights, result.output                       # NumPy arrays
    result                                              # in a notebook: the page of all maps

Documentation: docs/notebooks.md of attn-cli.
"""

from __future__ import annotations

import html
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

__all__ = ["Error", "Result", "examples", "model", "program", "run"]

Array = npt.NDArray[Any]


class Error(ValueError):
    """What attn-cli refuses: `problem`, `where` (a key of the document, a file, a flag) and `help`, what to do."""

    def __init__(self, problem: str, where: str = "", help: str = "") -> None:
        lines = [problem] + [f"  {name} {text}" for name, text in (("where:", where), ("help: ", help)) if text]
        super().__init__("\n".join(lines))
        self.problem, self.where, self.help = problem, where, help


def program() -> str:
    """The path of attn-cli: the one that was installed with this module, else the one on the path."""
    try:
        files = importlib.metadata.files("attn-cli") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.parts[-2:] == ("bin", "attn-cli"):
            return str(pathlib.Path(str(file.locate())).resolve())
    found = shutil.which("attn-cli")
    if found is None:
        raise Error("attn-cli is not installed beside this module nor on the path", "", "install its wheel: pip install attn_cli-….whl")
    return found


def examples() -> pathlib.Path:
    """The folder of the examples that are installed with the program: documents, and small models."""
    return pathlib.Path(_call(["example", "--folder"]).decode().strip())


def _call(arguments: Sequence[str], hidden: str = "") -> bytes:
    """Standard output of attn-cli. Errors do not name the folder `hidden`, which the user has not made."""
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        return done.stdout
    try:
        error = json.loads(done.stdout)["error"]
    except (ValueError, KeyError):  # commands whose answer is no report say it in words
        lines = done.stderr.decode().strip().removeprefix("attn-cli: ").split("\n")
        told = {line.strip().split(":")[0]: line.split(":", 1)[1].strip() for line in lines[1:] if ":" in line}
        error = {"problem": lines[0], **told}
    parts = (str(error.get(name, "")).replace(hidden + "/", "") for name in ("problem", "where", "help"))
    raise Error(*parts)


class Result(Mapping[str, Array]):
    """Arrays of one computation, as attributes or by name: `result.weights`, `result["layers.0.self.weights"]`.

    `folder` holds its files and vanishes with it, `report` is what attn-cli says of it. A notebook shows the page of all maps.
    """

    height = 640  #: of the page in a notebook, in pixels

    def __init__(self, folder: pathlib.Path, report: dict[str, Any]) -> None:
        self.folder, self.report = folder, report
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        with np.load(folder / "tensors.npz") as file:
            self._names: list[str] = list(file.files)

    def __getitem__(self, name: str) -> Array:
        with np.load(self.folder / "tensors.npz") as file:
            array: Array = file[name]
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getattr__(self, name: str) -> Array:
        if not name.startswith("_") and name in self._names:
            return self[name]
        raise AttributeError(f"there is no array {name!r}; there are {', '.join(self) or 'none'}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def __repr__(self) -> str:
        shapes = (f"{name} {list(self[name].shape)}" for name in self)
        return f"attn.Result({', '.join(shapes)})"

    def plot(self, kind: str = "heatmap", *flags: str) -> bytes:
        """A picture, PNG unless `--format svg` or `pdf` is among the flags of `attn-cli plot`."""
        return _call(["plot", kind, str(self.folder / "result.json"), "--out", "-", *flags], str(self.folder))

    def view(self, *flags: str) -> str:
        """The page of all maps, with the flags of `attn-cli view`: HTML that needs no other file."""
        return _call(["view", str(self.folder), "--out", "-", "--quiet", *flags], str(self.folder)).decode()

    def _repr_html_(self) -> str:
        page = html.escape(self.view())
        return f'<iframe style="width:100%;height:{self.height}px;border:0" srcdoc="{page}"></iframe>'


def _as_array(value: Any) -> Array | None:
    """The value as an array of NumPy; nothing if it is no array of any library."""
    if not (hasattr(value, "__array__") or hasattr(value, "__dlpack__")):
        return None
    if hasattr(value, "detach"):  # PyTorch
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _stated(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """The value as a document states it: its arrays go into a file, by the names of their keys."""
    array = _as_array(value)
    if array is not None and array.ndim > 0:
        arrays[name] = array
        return {"file": "arrays.npz", "name": name}
    if array is not None:
        return array.item()
    if isinstance(value, Mapping):
        return {key: _stated(member, f"{name}.{key}".strip("."), arrays) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_stated(member, f"{name}.{i}", arrays) for i, member in enumerate(value)]
    return value


def _compute(document: Mapping[str, Any], flags: Sequence[str]) -> Result:
    if any(flag.split("=")[0] in ("--out", "-o", "--tensors", "--json", "--quiet") for flag in flags):
        raise Error("--out, --tensors, --json and --quiet are set by this module", "flags", "copy the folder of the result to keep it")
    if isinstance(document.get("attention"), (list, tuple)):
        raise Error("a list of kinds has a result each", "attention", "call attn.run() once for each kind")
    if document.get("mask") is not None and _as_array(document["mask"]) is not None:
        raise Error("an array alone does not say what it hides", "mask",
                    'give {"allow": array} (True = seen), {"block": array} (True = hidden) or {"bias": array}')
    folder = pathlib.Path(tempfile.mkdtemp(prefix="attn-")).resolve()
    try:
        arrays: dict[str, Array] = {}
        stated = _stated({key: value for key, value in document.items() if value is not None}, "", arrays)
        np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
        if arrays.get("query", np.empty(0, np.float32)).dtype == np.float64:
            stated.setdefault("dtype", "float64")
        (folder / "document.json").write_text(json.dumps(stated), encoding="utf-8")
        plots = [] if any(flag.startswith("--plots") for flag in flags) else ["--plots", "none"]
        written = ["--out", str(folder), "--tensors", "npz", "--json"]
        result = Result(folder, json.loads(_call(["run", str(folder / "document.json"), *written, *plots, *flags], str(folder))))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for warning in result.report["warnings"]:
        warnings.warn(warning, stacklevel=3)
    return result


def run(query: Any = None, key: Any = None, value: Any = None, *, attention: str = "scaled_dot_product", mask: Mapping[str, Any] | None = None,
        labels: Mapping[str, Any] | Sequence[str] | None = None, title: str | None = None, flags: Sequence[str] = (), **document: Any) -> Result:
    """Computes attention of arrays [L,D], [B,L,D] or [B,H,L,D], in float64 if `query` is, else in float32.

    Everything else is a key of input documents (docs/documents.md), with arrays wherever one takes a tensor: `x=`, `parameters=`,
    `heads=`, `mask={"causal": True, "padding": p}`, `labels={"query": […], "key": […]}`. `flags` are those of `attn-cli run`, such as
    `["--stages"]`. Raises attn.Error; warns of what attn-cli warns of.
    """
    stated = dict(attention=attention, query=query, key=key, value=value, mask=mask, labels=labels, title=title)
    return _compute({**stated, **document}, flags)


def model(name: Union[str, pathlib.Path], text: Union[str, Sequence[str]], *, flags: Sequence[str] = (), **document: Any) -> Result:
    """Computes a model's attention on a text, or on several: `attn.model("gpt2", "The cat sat")`.

    `name` is a checkpoint folder, a GGUF file, or a name in the caches of Hugging Face or ollama; nothing is downloaded. Keys and
    flags as in run(): `layers=[0]`, `logits=True`, `generate=20`. Raises attn.Error.
    """
    texts = [text] if isinstance(text, str) else list(text)
    given = ["--model", str(name)] + [word for one in texts for word in ("--text", one)]
    return _compute(document, [*given, *flags])
