#!/usr/bin/env python3
"""Stores what torch's autograd computes of small checkpoints of tests/models/cases, for tests/why/attribution_test.cpp
and tests/why/patch_sweep_test.cpp.

  python3 tests/why/gradients/make_numbers.py

It needs torch and transformers. Everything is float64, also where the library computes norms, rotations and softmax in
float32. Numbers are of the logit of token 3 minus that of token 5 at the last position, in the first text of each case and,
for attribution patching and for heads patched while the layers above keep their weights ("frozen"), one whose first tokens
differ.
"""
import json
import pathlib

import torch
from torch.nn.functional import softmax
from transformers import AutoModelForCausalLM

here = pathlib.Path(__file__).parent
cases = here.parent.parent / "models" / "cases"
names = ["gpt2_bare_names", "gpt_neox_pythia_f16", "llama_grouped", "gemma2_soft_caps_bf16"]
TOKENS = (3, 5)
STEPS = 8
BASELINE = 7


def in_doubles():
    """Makes the library compute what it computes in float32 in float64; after its files are read."""
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double


def precise_rotations(model):
    """Frequencies of rotations, which the library rounds to float32."""
    for module in model.modules():
        if hasattr(module, "inv_freq"):
            pairs = len(module.inv_freq)
            theta = model.config.rope_parameters["rope_theta"]
            exact = theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
            assert torch.allclose(exact, module.inv_freq.double(), rtol=1e-6)
            module.inv_freq = exact


class Probe:
    def __init__(self, name):
        model = AutoModelForCausalLM.from_pretrained(cases / name / "checkpoint", torch_dtype=torch.float64,
                                                     attn_implementation="eager")
        self.model = model.double().eval()
        precise_rotations(self.model)
        base = getattr(model, model.base_model_prefix)
        self.layers = base.h if hasattr(base, "h") else base.layers
        self.heads = model.config.num_attention_heads
        self.entering, self.outputs = [], []
        for layer in self.layers:
            layer.register_forward_pre_hook(self.enter)
            attention = next(getattr(layer, at) for at in ("attn", "attention", "self_attn") if hasattr(layer, at))
            projection = next(getattr(attention, at) for at in ("c_proj", "dense", "o_proj") if hasattr(attention, at))
            projection.register_forward_pre_hook(self.write)
        self.states, self.patch, self.weights = None, None, None

    def enter(self, module, args):
        if module is self.layers[0] and self.states is not None:
            args = (self.states,) + args[1:]
        self.entering.append(args[0])
        return args

    def write(self, module, args):
        layer, outputs = len(self.outputs), args[0]
        if self.patch and self.patch[0] == layer:
            outputs = outputs.clone()
            columns = slice(self.patch[1] * self.width, (self.patch[1] + 1) * self.width)
            outputs[..., columns] = self.patch[2][layer][..., columns]
        self.outputs.append(outputs)
        return (outputs,)

    def softmax(self, *args, **options):
        """That of the next layer; above a patched head those of the text itself, if they are kept."""
        layer = len(self.outputs)
        return self.weights[layer] if self.weights and layer > self.patch[0] else softmax(*args, **options)

    def run(self, ids, states=None):
        torch.nn.functional.softmax = self.softmax
        self.entering, self.outputs, self.states = [], [], states
        result = self.model(torch.tensor([ids]), output_attentions=True, use_cache=False)
        row = result.logits[0, -1]
        return row[TOKENS[0]] - row[TOKENS[1]], result.attentions

    def numbers(self, ids):
        other = [(token + 3) % 20 for token in ids[:-1]] + ids[-1:]
        with torch.no_grad():
            source, source_weights = self.run(other)
            kept = {"before": self.entering, "heads": self.outputs, "patterns": list(source_weights)}
            self.run([BASELINE] * len(ids))
            baseline = self.entering[0]
        own, weights = self.run(ids)
        mine = {"before": self.entering, "heads": self.outputs, "patterns": list(weights)}
        first = self.entering[0].detach()
        flat = [tensor for tensors in mine.values() for tensor in tensors]
        found = iter(torch.autograd.grad(own, flat))
        gradients = {part: [next(found) for _ in tensors] for part, tensors in mine.items()}
        self.width = mine["heads"][0].shape[-1] // self.heads
        frozen = []
        with torch.no_grad():
            self.weights = weights
            for layer in range(len(self.layers)):
                row = []
                for head in range(self.heads):
                    self.patch = (layer, head, kept["heads"])
                    row.append(self.run(ids)[0].item())
                frozen.append(row)
            self.patch = self.weights = None
        result = {
            "own": own.item(),
            "frozen": frozen,
            "heads": [(w * g).sum((0, 2, 3)).tolist() for w, g in zip(mine["patterns"], gradients["patterns"])],
            "inputs": (first * gradients["before"][0]).sum(-1)[0].tolist(),
            "sweeps": {part: self.sweep(part, mine[part], kept[part], gradients[part], own.item()) for part in mine},
        }
        for key, begin in (("from_zeros", torch.zeros_like(first)), ("from_token", baseline)):
            total = torch.zeros_like(first)
            for step in range(STEPS):
                states = (begin + (step + 0.5) / STEPS * (first - begin)).requires_grad_()
                value, _ = self.run(ids, states)
                total += torch.autograd.grad(value, states)[0]
            with torch.no_grad():
                value, _ = self.run(ids, begin)
            result[key] = {"value": value.item(), "tokens": ((first - begin) * total / STEPS).sum(-1)[0].tolist()}
        return result

    def sweep(self, part, own, other, gradients, value):
        rows = []
        for mine, theirs, gradient in zip(own, other, gradients):
            product = ((theirs - mine) * gradient).detach()[0]
            if part == "before":
                rows.append((value + product.sum(-1)).tolist())
            elif part == "heads":
                rows += (value + product.reshape(len(product), self.heads, -1).sum(-1).T).tolist()
            else:
                rows += (value + product.sum(-1)).tolist()
        return rows


if __name__ == "__main__":
    probes = {name: Probe(name) for name in names}
    in_doubles()
    for name, probe in probes.items():
        ids = json.loads((cases / name / "input.json").read_text())["token_ids"][0]
        (here / (name + ".json")).write_text(json.dumps(probe.numbers(ids)) + "\n")
        print(name)
