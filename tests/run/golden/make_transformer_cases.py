"""Writes the cases of torch.nn.Transformer and of stacks that end in a norm: input.json and expected.json.

Computed by PyTorch's own modules in float64 (2.15), from parameters and states in float32.
    python3 make_transformer_cases.py
"""

import json
import os

import torch
import torch.nn as nn

torch.backends.mha.set_fastpath_enabled(False)
torch.manual_seed(20)


def write(name, source, document, expected):
    os.makedirs(name, exist_ok=True)
    with open(f"{name}/input.json", "w") as file:
        json.dump(document, file)
    with open(f"{name}/expected.json", "w") as file:
        json.dump({"source": source, "tolerance": {"float32": 2e-05},
                   "tensors": {k: t.tolist() for k, t in expected.items()}}, file)


def rounded(tensor):
    return (tensor * 256).round() / 256


@torch.no_grad()
def prepared(module):
    """Parameters of few digits, in norms too, for a module in float64."""
    for parameter in module.parameters():
        parameter.copy_(rounded(0.5 * torch.randn_like(parameter) + (parameter.ndim == 1) * 0.5))
    return module.double().eval()


def parameters(module):
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


def watched(module, weights):
    """Has each attention of the module put its weights into a dictionary."""
    for name, part in module.named_modules():
        if not isinstance(part, nn.MultiheadAttention):
            continue
        key = name.replace("self_attn", "self").replace("multihead_attn", "cross") + ".weights"

        def forward(*given, of=part.forward, key=key, **options):
            output, weights[key] = of(*given, **{**options, "need_weights": True,
                                                 "average_attn_weights": False})
            return output, weights[key]

        part.forward = forward


@torch.no_grad()
def transformer(name, norm_first, masked):
    model = prepared(nn.Transformer(8, 2, 2, 1, 12, dropout=0.0, norm_first=norm_first, batch_first=True,
                                    activation="gelu" if norm_first else "relu"))
    source, target = rounded(torch.randn(2, 5, 8).double()), rounded(torch.randn(2, 4, 8).double())
    weights = {}
    watched(model, weights)
    masks, document = {}, {}
    if masked:
        padding = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], dtype=torch.bool)
        masks = {"tgt_mask": torch.ones(4, 4).triu(1).bool(), "src_key_padding_mask": padding,
                 "memory_key_padding_mask": padding}
        document = {"mask": {"causal": True}, "source_valid_lens": [3, 5], "memory_valid_lens": [3, 5]}
    memory = model.encoder(source, src_key_padding_mask=masks.get("src_key_padding_mask"))
    output = model(source, target, **masks)
    write(name, "torch.nn.Transformer with two encoder layers and one decoder layer",
          {"attention": "transformer", "heads": 2, "norm": "pre" if norm_first else "post",
           "activation": "gelu" if norm_first else "relu", "memory": source.tolist(),
           "x": target.tolist(), "parameters": parameters(model), **document},
          {"memory": memory, "output": output, **weights})


@torch.no_grad()
def decoder_stack():
    layer = nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, norm_first=True, batch_first=True)
    model = prepared(nn.TransformerDecoder(layer, 2, nn.LayerNorm(8)))
    x, memory = rounded(torch.randn(2, 3, 8).double()), rounded(torch.randn(2, 4, 8).double())
    weights = {}
    watched(model, weights)
    output = model(x, memory, tgt_mask=torch.ones(3, 3).triu(1).bool())
    write("torch_decoder_stack_with_last_norm", "torch.nn.TransformerDecoder with norm=LayerNorm",
          {"attention": "decoder_layer", "layers": 2, "heads": 2, "norm": "pre", "x": x.tolist(),
           "memory": memory.tolist(), "mask": {"causal": True}, "parameters": parameters(model)},
          {"output": output, **weights})


@torch.no_grad()
def encoder_stack():
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    model = prepared(nn.TransformerEncoder(layer, 1, nn.LayerNorm(8), enable_nested_tensor=False))
    x = rounded(torch.randn(2, 3, 8).double())
    output = model(x)
    write("torch_encoder_of_one_layer_with_last_norm", "torch.nn.TransformerEncoder with norm=LayerNorm",
          {"attention": "encoder_layer", "heads": 2, "x": x.tolist(), "parameters": parameters(model)},
          {"output": output})


transformer("torch_transformer_post_norm_masked", False, True)
transformer("torch_transformer_pre_norm_gelu", True, False)
decoder_stack()
encoder_stack()
