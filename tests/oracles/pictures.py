"""Pixels of pictures against transformers' image processors on Pillow, and the maps of a vision transformer over them.

Pictures are drawn in each mode of PNG, and as JPEG, whose decoders may differ by one step of 255.
"""
import json, re

import numpy as np
import torch
import transformers
from PIL import Image

import program

# By processor: a model that has it, whether it resizes to a shortest side, crops, and converts pictures itself.
PROCESSORS = {
    "ViT": ("vit", False, False, False), "DeiT": ("deit", False, True, False), "Bit": ("dinov2", True, True, True),
    "CLIP": ("clip_vision_model", True, True, True), "Siglip": ("siglip_vision_model", False, False, True),
}
NAMES = PROCESSORS
MODES = ("RGB", "RGB", "RGBA", "L", "LA", "P", "P transparent", "1", "I;16", "JPEG", "JPEG grey")
SIDE = 32

def draw_picture(mode, rng, folder):
    """A smooth picture with noise, some of it transparent where the mode can be."""
    height, width = (rng.choice([SIDE, rng.randint(8, 60), rng.randint(60, 200)]) for _ in range(2))
    numbers = np.random.default_rng(rng.getrandbits(32))
    coarse = Image.fromarray(numbers.integers(0, 256, (5, 4, 4), dtype=np.uint8)).resize((width, height))
    own = np.clip(np.asarray(coarse) + numbers.integers(-40, 40, (height, width, 4)), 0, 255).astype(np.uint8)
    picture, more, name = Image.fromarray(own), {}, folder + "/picture.png"
    if mode == "I;16":
        picture = Image.fromarray(own[..., 0].astype(np.uint16) * rng.choice([1, 2, 257]))
    elif mode.startswith("JPEG"):
        name, more = folder + "/picture.jpg", {"quality": rng.choice([60, 95]), "subsampling": rng.choice([0, 2])}
        picture = picture.convert("L" if mode == "JPEG grey" else "RGB")
    elif mode == "LA":
        picture = Image.merge("LA", (picture.getchannel(0), picture.getchannel(3)))
    else:
        picture = picture if mode == "RGBA" else picture.convert("RGB").convert(mode.split()[0])
        more = {"transparency": 3} if "transparent" in mode else {}
    picture.save(name, **more)
    return name

def hold(name, draw, rng, folder, options):
    family, shortest, crops, converts = PROCESSORS[name]
    side = {"height": SIDE, "width": SIDE}
    size = {"shortest_edge": rng.randint(SIDE, 50)} if shortest else {"height": rng.randint(SIDE, 50), "width": rng.randint(SIDE, 50)} if crops else side
    settings = {"size": size, "do_center_crop": True, "crop_size": side} if crops else {"size": size}
    if rng.random() < 0.6:
        settings["resample"] = rng.choice([0, 1, 2, 3, 4])
    if rng.random() < 0.5:
        settings |= {"image_mean": [0.1, 0.4, 0.7], "image_std": [0.2, 0.3, 0.5]}
    if rng.random() < 0.2:
        settings["do_normalize"] = False
    processor = getattr(transformers, name + "ImageProcessorPil")(**settings)
    processor.save_pretrained(folder)
    mode = rng.choice(MODES)
    options |= settings | {"mode": mode}
    file = draw_picture(mode, rng, folder)
    picture = Image.open(file)
    # What does not convert pictures itself takes them in colours, as its users give them; so it is with 16 bits everywhere.
    picture = picture if converts and mode != "I;16" else picture.convert("RGB")
    wanted = processor(picture, return_tensors="np")["pixel_values"]
    plain = processor(picture, return_tensors="np", do_normalize=False)["pixel_values"]
    torch.manual_seed(draw)
    config = transformers.AutoConfig.for_model(family, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=SIDE, patch_size=8)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").double().eval()
    model.save_pretrained(folder)
    maps = model(torch.tensor(wanted, dtype=torch.float64), output_attentions=True).attentions[0].detach().numpy()
    got, _ = program.run(folder, {"model": ".", "image": file.rsplit("/", 1)[1], "dtype": "float64"})
    if mode.startswith("JPEG"):
        return program.difference(got, {"image": plain}, 1.001 / 255)
    return program.difference(got, {"image": plain}, 1e-7) or program.difference(got, {"layers.0.self.weights": maps}, 1e-5)

def in_program():
    with open(program.SOURCES + "/models/image_processor.cpp") as file:
        return {"image processors": re.findall(r'^    \{"(\w+)",', file.read(), re.M)}
