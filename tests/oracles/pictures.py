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
    "Beit": ("beit", False, True, False), "Blip": ("blip_vision_model", False, False, True),
    "Siglip2": ("siglip2_vision_model", False, False, False), "DINOv3ViT": ("dinov3_vit", False, False, False),
}
NAMES = PROCESSORS
MODES = ("RGB", "RGB", "RGBA", "L", "LA", "P", "P transparent", "1", "I;16", "JPEG", "JPEG grey")
SIDE, PATCH = 32, 8

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

def by_patches(pixels):
    """Pictures [B,3,H,W] as the patches that Siglip2VisionModel reads, and its other inputs."""
    rows, columns = (side // PATCH for side in pixels.shape[2:])
    patches = torch.tensor(pixels).reshape(-1, 3, rows, PATCH, columns, PATCH).permute(0, 2, 4, 3, 5, 1).reshape(len(pixels), rows * columns, -1)
    return {"pixel_values": patches, "pixel_attention_mask": torch.ones(patches.shape[:2], dtype=torch.long), "spatial_shapes": torch.tensor([[rows, columns]])}

def from_patches(made):
    rows, columns = made["spatial_shapes"][0]
    patches = made["pixel_values"][0][:rows * columns].reshape(rows, columns, PATCH, PATCH, 3)
    return patches.transpose(4, 0, 2, 1, 3).reshape(1, 3, rows * PATCH, columns * PATCH)

def resized_last(picture, settings, do_normalize=True):
    """As DINOv3ViTImageProcessor, which needs torchvision: numbers are rescaled, then resized."""
    x = torch.tensor(np.asarray(picture)).permute(2, 0, 1)[None] / 255.0
    size = settings["size"]["height"], settings["size"]["width"]
    x = torch.nn.functional.interpolate(x.double(), size, mode={2: "bilinear", 3: "bicubic"}[settings.get("resample", 2)], antialias=True).numpy()
    if not do_normalize or not settings.get("do_normalize", True):
        return x
    mean, deviation = (np.array(settings.get(key, known))[:, None, None] for key, known in
                       (("image_mean", [0.485, 0.456, 0.406]), ("image_std", [0.229, 0.224, 0.225])))
    return (x - mean) / deviation

def hold(name, draw, rng, folder, options):
    family, shortest, crops, converts = PROCESSORS[name]
    side = {"height": SIDE, "width": SIDE}
    size = {"shortest_edge": rng.randint(SIDE, 50)} if shortest else {"height": rng.randint(SIDE, 50), "width": rng.randint(SIDE, 50)} if crops else side
    settings = {"size": size, "do_center_crop": True, "crop_size": side} if crops else {"size": size}
    if rng.random() < 0.6:
        settings["resample"] = rng.choice([2, 3] if name == "DINOv3ViT" else [0, 1, 2, 3, 4])
    if name == "Siglip2":
        settings = {key: value for key, value in settings.items() if key != "size"} | {"patch_size": PATCH, "max_num_patches": rng.choice([9, 16, 30])}
    if rng.random() < 0.5:
        settings |= {"image_mean": [0.1, 0.4, 0.7], "image_std": [0.2, 0.3, 0.5]}
    if rng.random() < 0.2:
        settings["do_normalize"] = False
    if name == "DINOv3ViT":
        with open(folder + "/preprocessor_config.json", "w") as file:
            json.dump(settings | {"image_processor_type": "DINOv3ViTImageProcessorFast"}, file)
    else:
        processor = getattr(transformers, name + "ImageProcessorPil")(**settings)
        processor.save_pretrained(folder)
    mode = rng.choice(MODES)
    options |= settings | {"mode": mode}
    file = draw_picture(mode, rng, folder)
    picture = Image.open(file)
    # What does not convert pictures itself takes them in colours, as its users give them; so it is with 16 bits everywhere.
    picture = picture if converts and mode != "I;16" else picture.convert("RGB")
    def pixels(**more):
        if name == "DINOv3ViT":
            return resized_last(picture, settings, **more)
        made = processor(picture, return_tensors="np", **more)
        return from_patches(made) if name == "Siglip2" else made["pixel_values"]
    wanted, plain = pixels(), pixels(do_normalize=False)
    torch.manual_seed(draw)
    config = transformers.AutoConfig.for_model(family, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, patch_size=PATCH,
                                               **({"num_patches": 16} if name == "Siglip2" else {"image_size": SIDE}))
    kinds = {"Siglip2": transformers.Siglip2VisionModel, "Blip": transformers.BlipVisionModel}.get(name)
    model = (kinds._from_config if kinds else transformers.AutoModel.from_config)(config, attn_implementation="eager").double().eval()
    model.save_pretrained(folder)
    inputs = by_patches(np.float64(wanted)) if name == "Siglip2" else {"pixel_values": torch.tensor(wanted, dtype=torch.float64)}
    maps = model(**inputs, output_attentions=True).attentions[0].detach().numpy()
    got, _ = program.run(folder, {"model": ".", "image": file.rsplit("/", 1)[1], "dtype": "float64"})
    if mode.startswith("JPEG"):
        return program.difference(got, {"image": plain}, 1.001 / 255)
    return program.difference(got, {"image": plain}, 1e-7) or program.difference(got, {"layers.0.self.weights": maps}, 1e-5)

def in_program():
    with open(program.SOURCES + "/models/image_processor.cpp") as file:
        return {"image processors": re.findall(r'^    \{"(\w+)",', file.read(), re.M)}
