"""Runs models with ONNX Runtime for Node.js, which npm installs in a folder."""
import json
import os
import shutil
import subprocess
import sys

import safetensors_file

HERE = os.path.dirname(os.path.abspath(__file__))


def found(folder):
    """Whether it is there; if not, standard error says what to install."""
    if shutil.which("node") is None:
        print("ONNX Runtime is left out: apt-get install nodejs npm", file=sys.stderr)
    elif not folder or not os.path.isdir(os.path.join(folder, "node_modules", "onnxruntime-node")):
        print("ONNX Runtime is left out: npm install --ignore-scripts onnxruntime-node in a folder, and name it by "
              "--onnxruntime", file=sys.stderr)
    else:
        return True
    return False


def seconds_of(folder, model, inputs, tensors, threads, **wanted):
    """Of runs of the model's file, with the inputs named from a file of tensors: the median of `seconds` of runs, or that of the
    first run if `once`. What is named `checked` of the first run goes to the file `output`, all of it to the folder `all`."""
    places = safetensors_file.places(tensors)
    given = {name: {"shape": places[name][0], "file": tensors, "begin": places[name][1], "end": places[name][2]} for name in inputs}
    request = {"folder": folder, "model": model, "inputs": given, "threads": threads, **wanted}
    # Freed memory is kept for the next run, as attn-cli bench keeps it.
    kept = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=2147483647"}
    run = subprocess.run(["node", os.path.join(HERE, "onnx_runtime.cjs"), json.dumps(request)], capture_output=True, text=True,
                         env={**os.environ, **kept})
    if run.returncode != 0:
        sys.exit("ONNX Runtime failed: " + run.stderr.strip())
    return json.loads(run.stdout)["seconds"]
