"""Runs models with ONNX Runtime, each in a process of Python of its own."""
import importlib.util
import json
import os
import subprocess
import sys

import safetensors_file
import torch_session

HERE = os.path.dirname(os.path.abspath(__file__))


def found():
    """Whether it is there; if not, standard error says what to install."""
    if importlib.util.find_spec("onnxruntime"):
        return True
    print("ONNX Runtime is left out: " + torch_session.INSTALL, file=sys.stderr)
    return False


def command(model, inputs, tensors, threads, **wanted):
    """Of a process that runs the model's file, with the inputs named from a file of tensors: as often as takes `seconds`, or `once`.
    What is named `checked` of the first run goes to the file `output`, all of it to the folder `all`."""
    places = safetensors_file.places(tensors)
    given = {name: {"shape": places[name][0], "file": tensors, "begin": places[name][1], "end": places[name][2]} for name in inputs}
    request = {"model": model, "inputs": given, "threads": threads, **wanted}
    return [sys.executable, os.path.join(HERE, "onnx_runtime.py"), json.dumps(request)]


def seconds_of(*arguments, **wanted):
    """The median of the runs of command()."""
    # Freed memory is kept for the next run, as attn-cli bench keeps it.
    kept = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=2147483647"}
    run = subprocess.run(command(*arguments, **wanted), capture_output=True, text=True, env={**os.environ, **kept})
    if run.returncode != 0:
        sys.exit("ONNX Runtime failed: " + run.stderr.strip())
    return json.loads(run.stdout)["seconds"]
