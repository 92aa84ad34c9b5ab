"""Runs the scripts beside it and stores their tensors in full, as reference cases have them.

Needs PyTorch (Debian: python3-torch 1.13).
    python3 store_numbers.py
"""

import json
import runpy

import torch

torch.set_grad_enabled(False)
for name in ("self", "cross", "multi_head", "encoder_layer", "decoder_layer", "additive", "tokens"):
    print(f"--- {name}")
    made = runpy.run_path(name + ".py")
    tensors = {"weights": made.get("weights"), "self.weights": made.get("self_weights"),
               "cross.weights": made.get("cross_weights"), "output": made["output"]}
    if name == "tokens":
        tensors |= {"token_ids": made["token_ids"], "embedded": made["x"]}
    with open(name + ".json", "w") as file:
        json.dump({"source": name + ".py, float32", "tolerance": {"float32": 1e-5},
                   "tensors": {key: t.tolist() for key, t in tensors.items() if t is not None}}, file)
