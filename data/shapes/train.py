#!/usr/bin/env python3
"""Trains the small CLIP model of this folder on pictures that it draws, and writes the folder.

    train.py FOLDER [STEPS]

A picture shows one coloured shape on a grey, uneven ground among grey shapes; its name is a colour and a shape, "red ring".
Needs PyTorch 1.13 and nothing else. The same steps give about the same model, as sums depend on the processor.
"""

import json
import math
import pathlib
import struct
import sys
import zlib

import torch
from torch import nn

SIDE, PATCH = 64, 8
WIDTH, HEADS, LAYERS = 48, 4, 3
TEXT_WIDTH, TEXT_HEADS, TEXT_LAYERS, LENGTH, JOINT = 32, 2, 1, 8, 24
COLOURS = {"red": (0.85, 0.16, 0.15), "green": (0.16, 0.62, 0.25), "blue": (0.15, 0.3, 0.82),
           "yellow": (0.95, 0.82, 0.15), "purple": (0.55, 0.2, 0.65), "orange": (0.96, 0.55, 0.12)}
SHAPES = ["circle", "square", "triangle", "cross", "ring", "star"]
NAMES = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]


def distance(shape, x, y):
    """Signed distance, below 0 inside, of points from a shape of radius 1 about 0."""
    r = torch.sqrt(x * x + y * y)
    if shape == "circle":
        return r - 0.9
    if shape == "ring":
        return (r - 0.72).abs() - 0.24
    if shape == "square":
        return torch.maximum(x.abs(), y.abs()) - 0.78
    if shape == "cross":
        across = torch.maximum(x.abs() - 0.95, y.abs() - 0.3)
        return torch.minimum(across, torch.maximum(y.abs() - 0.95, x.abs() - 0.3))
    corners = {"triangle": 3, "star": 5}[shape]
    angle = torch.remainder(torch.atan2(x, -y) + math.pi / corners, 2 * math.pi / corners) - math.pi / corners
    if shape == "triangle":
        return r * torch.cos(angle) - 0.5
    u, v = r * torch.cos(angle), r * torch.sin(angle).abs()
    inner = 0.42
    edge = (inner * math.cos(math.pi / 5) - 1.05, inner * math.sin(math.pi / 5))
    length = math.hypot(*edge)
    # The tip of a star's ray lies at (1.05, 0), its inner corner at (1.05 + edge[0], edge[1]).
    return ((u - 1.05) * edge[1] - v * edge[0]) / length


def draw(colour, shape, side, generator, place=None):
    """A picture [3,side,side] of one named shape among grey ones."""
    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator).item()
    line = (torch.arange(side) + 0.5) / side
    y, x = torch.meshgrid(line, line, indexing="ij")
    coarse = torch.rand(1, 1, 5, 5, generator=generator)
    ground = nn.functional.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=False)[0]
    picture = (uniform(0.35, 0.75) + 0.25 * (ground - 0.5)).repeat(3, 1, 1)
    picture = picture + 0.02 * torch.randn(3, side, side, generator=generator)

    def paint(kind, rgb, middle, radius, turn):
        nonlocal picture
        dx, dy = (x - middle[0]) / radius, (y - middle[1]) / radius
        u, v = dx * math.cos(turn) + dy * math.sin(turn), dy * math.cos(turn) - dx * math.sin(turn)
        cover = (0.5 - distance(kind, u, v) * radius * side).clamp(0, 1)
        picture = picture * (1 - cover) + torch.tensor(rgb)[:, None, None] * cover

    for _ in range(int(uniform(1, 5))):
        grey = uniform(0.1, 0.95)
        paint(SHAPES[int(uniform(0, len(SHAPES)))], (grey,) * 3, (uniform(0, 1), uniform(0, 1)), uniform(0.06, 0.16),
              uniform(0, 6))
    radius = uniform(0.13, 0.22)
    middle = place or (uniform(radius, 1 - radius), uniform(radius, 1 - radius))
    shade = uniform(0.85, 1.1)
    paint(shape, tuple(min(1, part * shade) for part in COLOURS[colour]), middle, radius, uniform(-0.3, 0.3))
    return picture.clamp(0, 1)


class Layer(nn.Module):
    """A layer of CLIP: norm, attention, norm, feed-forward with quick GELU."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attn = nn.ModuleDict({name: nn.Linear(width, width) for name in ("q_proj", "k_proj", "v_proj", "out_proj")})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 3 * width), "fc2": nn.Linear(3 * width, width)})

    def forward(self, x, mask=None):
        b, n, d = x.shape
        y = self.layer_norm1(x)
        q, k, v = (self.self_attn[name](y).reshape(b, n, self.heads, -1).transpose(1, 2) for name in ("q_proj", "k_proj", "v_proj"))
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        x = x + self.self_attn["out_proj"]((weights @ v).transpose(1, 2).reshape(b, n, d))
        y = self.mlp["fc1"](self.layer_norm2(x))
        return x + self.mlp["fc2"](y * torch.sigmoid(1.702 * y))


class VisionEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.class_embedding = nn.Parameter(0.02 * torch.randn(WIDTH))
        self.patch_embedding = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.position_embedding = nn.Embedding((SIDE // PATCH) ** 2 + 1, WIDTH)
        nn.init.normal_(self.position_embedding.weight, std=0.02)

    def forward(self, pictures):
        patches = self.patch_embedding(pictures).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(len(pictures), 1, WIDTH)
        return torch.cat([first, patches], 1) + self.position_embedding.weight


class TextEmbeddings(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, TEXT_WIDTH)
        self.position_embedding = nn.Embedding(LENGTH, TEXT_WIDTH)
        nn.init.normal_(self.token_embedding.weight, std=0.1)
        nn.init.normal_(self.position_embedding.weight, std=0.02)

    def forward(self, ids):
        return self.token_embedding(ids) + self.position_embedding.weight[:ids.shape[1]]


def encoder(width, heads, layers):
    return nn.ModuleDict({"layers": nn.ModuleList([Layer(width, heads) for _ in range(layers)])})


class Clip(nn.Module):
    """Modules by the names that Hugging Face's CLIPModel gives its weights."""

    def __init__(self, vocabulary):
        super().__init__()
        self.vision_model = nn.ModuleDict({
            "embeddings": VisionEmbeddings(), "pre_layrnorm": nn.LayerNorm(WIDTH),
            "encoder": encoder(WIDTH, HEADS, LAYERS), "post_layernorm": nn.LayerNorm(WIDTH)})
        self.text_model = nn.ModuleDict({
            "embeddings": TextEmbeddings(vocabulary), "encoder": encoder(TEXT_WIDTH, TEXT_HEADS, TEXT_LAYERS),
            "final_layer_norm": nn.LayerNorm(TEXT_WIDTH)})
        self.visual_projection = nn.Linear(WIDTH, JOINT, bias=False)
        self.text_projection = nn.Linear(TEXT_WIDTH, JOINT, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.66))

    def forward(self, pictures, ids):
        x = self.vision_model["pre_layrnorm"](self.vision_model["embeddings"]((pictures - 0.5) / 0.25))
        for layer in self.vision_model["encoder"]["layers"]:
            x = layer(x)
        seen = self.visual_projection(self.vision_model["post_layernorm"](x[:, 0]))
        t = self.text_model["embeddings"](ids)
        mask = torch.full((ids.shape[1], ids.shape[1]), -1e9).triu(1)
        for layer in self.text_model["encoder"]["layers"]:
            t = layer(t, mask)
        said = self.text_projection(self.text_model["final_layer_norm"](t)[:, -1])
        normal = nn.functional.normalize
        return normal(seen, dim=-1) @ normal(said, dim=-1).T * self.logit_scale.exp()


def tokenizer():
    """Vocabulary and merges of a BPE whose words are those of the names; other words fall into letters."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens, merges = letters + [letter + "</w>" for letter in letters], []
    for word in [*COLOURS, *SHAPES]:
        pieces = [*word[:-1], word[-1] + "</w>"]
        while len(pieces) > 1:
            if (pieces[0], pieces[1]) not in merges:
                merges.append((pieces[0], pieces[1]))
            pieces[:2] = [pieces[0] + pieces[1]]
            if pieces[0] not in tokens:
                tokens.append(pieces[0])
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return {token: i for i, token in enumerate(tokens)}, merges


def write_safetensors(path, tensors):
    header, parts, at = {}, [], 0
    for name, tensor in sorted(tensors.items()):
        data = tensor.to(torch.float16).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def write_png(path, picture):
    """A picture [3,H,W] from 0 to 1 as a PNG file of 8 bits."""
    pixels = (picture * 255).round().to(torch.uint8).permute(1, 2, 0)
    rows = b"".join(b"\0" + row.contiguous().numpy().tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = pixels.shape[:2]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def write_folder(folder, model, vocabulary, merges):
    part = {"attention_dropout": 0.0, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5}
    config = {
        "architectures": ["CLIPModel"], "model_type": "clip", "projection_dim": JOINT, "torch_dtype": "float16",
        "vision_config": {**part, "model_type": "clip_vision_model", "hidden_size": WIDTH, "intermediate_size": 3 * WIDTH,
                          "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "image_size": SIDE, "patch_size": PATCH,
                          "num_channels": 3},
        "text_config": {**part, "model_type": "clip_text_model", "hidden_size": TEXT_WIDTH,
                        "intermediate_size": 3 * TEXT_WIDTH, "num_attention_heads": TEXT_HEADS,
                        "num_hidden_layers": TEXT_LAYERS, "max_position_embeddings": LENGTH, "vocab_size": len(vocabulary),
                        "bos_token_id": vocabulary["<|startoftext|>"], "eos_token_id": vocabulary["<|endoftext|>"],
                        "pad_token_id": vocabulary["<|endoftext|>"]}}
    processor = {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": SIDE}, "resample": 3,
                 "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE}, "do_rescale": True,
                 "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
    for name, value in (("config", config), ("preprocessor_config", processor), ("vocab", vocabulary)):
        (folder / f"{name}.json").write_text(json.dumps(value, indent=None if name == "vocab" else 1) + "\n")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    write_safetensors(folder / "model.safetensors", dict(model.state_dict()))


def main():
    folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7000
    batch = 32
    torch.manual_seed(49)
    generator = torch.Generator().manual_seed(49)
    vocabulary, merges = tokenizer()
    start, end = vocabulary["<|startoftext|>"], vocabulary["<|endoftext|>"]
    ids = torch.tensor([[start, *(vocabulary[word + "</w>"] for word in name.split()), end] for name in NAMES])
    model = Clip(len(vocabulary))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.1)
    right, seen = 0, 0
    for step in range(steps):
        wanted = torch.randint(len(NAMES), (batch,), generator=generator)
        pictures = torch.stack([draw(*NAMES[i].split(), SIDE, generator) for i in wanted])
        logits = model(pictures, ids)
        loss = nn.functional.cross_entropy(logits, wanted)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        right += int((logits.argmax(-1) == wanted).sum())
        seen += batch
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}, right {right / seen:.3f}", flush=True)
            right = seen = 0
            write_folder(folder, model, vocabulary, merges)
    write_folder(folder, model, vocabulary, merges)
    fresh = torch.Generator().manual_seed(7)
    write_png(folder / "red_ring.png", draw("red", "ring", 192, fresh, (0.68, 0.36)))
    write_png(folder / "blue_star.png", draw("blue", "star", 192, fresh, (0.33, 0.62)))


if __name__ == "__main__":
    main()
