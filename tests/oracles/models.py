"""Families against transformers.

For each family a tiny model with random weights is made from a drawn configuration, saved by save_pretrained(), read
back in double precision and run; attn-cli reads the same folder. All maps, states, logits and a greedy continuation
have to agree.
"""
import contextlib, json

import numpy as np
import torch
import transformers
from PIL import Image
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import program
from families import ELSEWHERE, FAMILIES as NAMES

TOLERANCE = 1e-9  # of the largest number: 1e-14 times the conditions of three layers, with room
ROUNDED = {name: 1e-6 for name in ("marian", "roformer", "ctrl", "xlm", "flaubert")}  # their tables of sines hold single numbers
# Those of Granite's sinks leave the sink out, and those of Longformer are cut by windows.
OTHER_MAPS = ("granite_swa", "granitemoe_swa", "longformer")
OWN_CLASSES = {"siglip_text_model": "SiglipTextModel", "siglip2_text_model": "Siglip2TextModel", "siglip2_vision_model": "Siglip2VisionModel",
               "blip_vision_model": "BlipVisionModel", "emu3_text_model": "Emu3ForCausalLM"}
GENERATED = 4
BUFFERS = ("score_correction", "expert_bias", "layer_scalar")  # learned, though not by gradients
CLASSES = {
    "masked": transformers.AutoModelForMaskedLM, "causal": transformers.AutoModelForCausalLM,
    "permuted": transformers.AutoModelForCausalLM,  # sees both sides, and continues texts by other masks
    "both": transformers.AutoModelForSeq2SeqLM, "sound": transformers.AutoModelForSpeechSeq2Seq, "picture": transformers.AutoModel, "plain": transformers.AutoModel,
    "container": transformers.AutoModelForImageTextToText,
}
TYPED = ("xlnet",)  # types of tokens change the maps, and need no table
STAGED = ("swin", "swinv2")  # the library hands over the windows of the last layer of each stage alone
WHOLE = ("vit_mae", "whisper")  # tables that are not learned are in their files
WIDE = ("dinov3_vit", "beit", "siglip2_vision_model")  # pictures that are no squares
single = torch.float32

@contextlib.contextmanager
def in_double():
    """The library's own float32 within (softmax, norms, rotations) is float64."""
    to_float = torch.Tensor.float
    try:
        torch.set_default_dtype(torch.float64)
        torch.float32 = torch.float = torch.float64
        torch.Tensor.float = torch.Tensor.double
        yield
    finally:
        torch.float32 = torch.float = single
        torch.Tensor.float = to_float
        torch.set_default_dtype(single)

def class_of(family, kind):
    return getattr(transformers, OWN_CLASSES[family]) if family in OWN_CLASSES else CLASSES[kind]

def is_learned(name):
    return any(buffer in name for buffer in BUFFERS)

def make(family, kind, options, seed, folder):
    """A checkpoint whose weights are large enough that every rule shows."""
    torch.manual_seed(seed)
    config = CONFIG_MAPPING[family.split()[0]](**options)
    kinds = class_of(family, kind)
    model = (kinds.from_config if kinds is CLASSES[kind] else kinds._from_config)(config)
    if family in WHOLE:
        model.requires_grad_(True)
    draw_weights(model)
    model.save_pretrained(folder)

def draw_weights(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad and not is_learned(name):
                continue
            if weight.ndim > 1:
                weight.normal_(0, 1.2 / weight.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            else:
                weight.normal_(0, 0.2)
        for name, buffer in model.named_buffers():
            if is_learned(name):
                buffer.normal_(float("scalar" in name), 0.2)

def made_anew(read, attention):
    """The model with tables that are not in the file, which are computed when a model is made."""
    model = type(read)._from_config(read.config, attn_implementation=attention, experts_implementation="eager").eval()
    computed = {name for name, weight in read.named_parameters() if not weight.requires_grad and not is_learned(name)}
    computed |= {name for name, _ in read.named_buffers() if "inv_freq" in name}
    model.load_state_dict({name: weight for name, weight in read.state_dict().items() if name not in computed}, strict=False)
    return model.double()  # XLNet's parameters are single whatever the default is

@contextlib.contextmanager
def layers_of_stages(model):
    """By attn-cli's names the states that leave each layer, and its maps over all patches, put together from those of windows."""
    tensors, hooks = {}, []
    def keep(layer, _, made, n):
        states, windows = made[:2]
        side, own = round(states.shape[1] ** 0.5), int(layer.window_size)
        patches = torch.arange(side * side).reshape(side, side).roll((-int(layer.shift_size),) * 2, (0, 1))
        patches = patches.reshape(side // own, own, side // own, own).transpose(1, 2).reshape(-1, own * own)
        whole = torch.zeros(1, windows.shape[1], side * side, side * side)
        for within, weights in zip(patches, windows):
            whole[0, :, within[:, None], within[None, :]] = weights
        tensors[f"layers.{n}.self.weights"], tensors[f"layers.{n}.output"] = whole, states
    layers = [layer for layer in model.modules() if type(layer).__name__ in ("SwinLayer", "Swinv2Layer")]
    for n, layer in enumerate(layers):
        hooks.append(layer.register_forward_hook(lambda *made, n=n: keep(*made, n=n)))
    yield tensors
    for hook in hooks:
        hook.remove()

def types_of(family, ids):
    """Three types of tokens by their places, of every other draw."""
    return [[min(2, 3 * n // len(own)) for n in range(len(own))] for own in ids] if family in TYPED and ids[0][0] % 2 else None

def inputs_of(family, kind, ids, pixels, config):
    if kind == "sound":
        return {"input_features": pixels}
    if kind != "picture":
        types = types_of(family, ids.tolist())
        return {"input_ids": ids} | ({"token_type_ids": torch.tensor(types)} if types else {})
    rows, columns = (side // config.patch_size for side in pixels.shape[2:])
    if family == "vit_mae":  # no patch is hidden, and none changes its place
        return {"pixel_values": pixels, "noise": torch.arange(rows * columns)[None] / (rows * columns)}
    if family != "siglip2_vision_model":
        return {"pixel_values": pixels}
    patches = pixels[0].reshape(3, rows, config.patch_size, columns, config.patch_size).permute(1, 3, 2, 4, 0).reshape(1, rows * columns, -1)
    return {"pixel_values": patches, "pixel_attention_mask": torch.ones(1, rows * columns, dtype=torch.long), "spatial_shapes": torch.tensor([[rows, columns]])}

def wanted(family, kind, folder, ids, decoder_ids, pixels):
    """Tensors by attn-cli's names, and the tokens of a greedy continuation."""
    read = class_of(family, kind).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    if family in WHOLE:
        read.requires_grad_(True)
    # Eager attention adds Falcon's ALiBi twice, and the other has no maps.
    attention = "sdpa" if getattr(read.config, "alibi", False) else "eager"
    with in_double(), torch.no_grad():
        model = made_anew(read, attention)
        types = getattr(read.config.get_text_config(), "layer_types", None) or []
        full = [n for n, name in enumerate(types) if name == "full_attention"]
        mixed = {"linear_attention", "conv"} & set(types)
        inputs = inputs_of(family, kind, ids, pixels, read.config)
        if kind in ("both", "sound"):
            inputs["decoder_input_ids"] = decoder_ids
        with layers_of_stages(model) as tensors:
            out = model(**inputs, output_attentions=attention == "eager", output_hidden_states=True)
        def stack(prefix, maps, states, name="self"):
            numbers = full if mixed else range(len(maps or ()))
            for n, own in zip(numbers, [own for own in maps or () if own is not None]):
                tensors[f"{prefix}layers.{n}.{name}.weights"] = own
            for n, state in enumerate((states or ())[1:-1]):
                # Streams stand side by side here.
                tensors[f"{prefix}layers.{n}.output"] = state if state.ndim == 3 or kind == "picture" else state.permute(1, 2, 0, 3).flatten(2)
        if kind in ("both", "sound"):
            stack("encoder.", out.encoder_attentions, out.encoder_hidden_states)
            stack("decoder.", out.decoder_attentions, out.decoder_hidden_states)
            stack("decoder.", out.cross_attentions, (), "cross")
        elif family in STAGED:
            tensors |= {"embedded": out.hidden_states[0], "output": out.last_hidden_state}
        else:
            stack("", () if family in OTHER_MAPS else out.attentions, out.hidden_states)
        if kind not in ("picture", "plain"):
            tensors["logits"] = out.logits
        said = None
        if kind in ("causal", "both", "sound", "container") and getattr(read.config, "is_causal", True):
            now = decoder_ids if kind in ("both", "sound") else ids
            said = []
            for _ in range(GENERATED):
                # A whole pass of T5Gemma would hide a pad token that it has generated; steps with a cache do not.
                step = {"input_ids": ids, "decoder_input_ids": now, "decoder_attention_mask": torch.ones_like(now)} if kind == "both" else inputs | {"decoder_input_ids": now} if kind == "sound" else {"input_ids": now}
                said.append(int(model(**step, use_cache=False).logits[0, -1].argmax()))
                now = torch.cat([now, torch.tensor([[said[-1]]])], 1)
        return {name: tensor.numpy() for name, tensor in tensors.items()}, said

def sensed(kind, options, numbers, size, folder, checkpoint):
    """What a model sees or hears, and the members of a document in the folder for it."""
    if kind == "sound":
        sound = numbers.standard_normal((1, options["num_mel_bins"], 2 * options["max_source_positions"]))
        np.save(folder + "/sound.npy", sound[0])
        return torch.tensor(sound), {"sound": "sound.npy"}
    pixels = numbers.integers(0, 256, (*size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder + "/picture.png")
    with open(checkpoint + "/preprocessor_config.json", "w") as file:
        json.dump({"do_resize": False, "do_normalize": False, "do_center_crop": False}, file)
    return torch.tensor(pixels.astype(np.float64) / 255).permute(2, 0, 1)[None], {"image": "picture.png"}

def hold(family, draw, rng, folder, options):
    kind, draw_options = NAMES[family]
    options |= draw_options(lambda *values: rng.choice(values))
    make(family, kind, options, draw, folder)
    ids = [[rng.randrange(4, 54) for _ in range(11)]]
    decoder_ids = [[2] + [rng.randrange(4, 54) for _ in range(6)]]
    document, flags, shown = {"model": ".", "token_ids": ids, "dtype": "float64"}, ["--stages"], None
    if types := types_of(family, ids):
        document["token_types"] = types
    if kind in ("sound", "picture"):
        size = (rng.choice([8, 16, 24]), rng.choice([12, 16])) if family in WIDE else (16, 16)
        shown, members = sensed(kind, options, np.random.default_rng(draw), size, folder, folder)
        document = {"model": ".", "dtype": "float64"} | members
    if kind in ("both", "sound"):
        document["decoder_token_ids"] = decoder_ids
    if kind not in ("picture", "plain"):
        flags.append("--logits")
    tensors, said = wanted(family, kind, folder, torch.tensor(ids), torch.tensor(decoder_ids), shown)
    wrong = program.difference(program.run(folder, document, *flags)[0], tensors, ROUNDED.get(family, TOLERANCE))
    if said is not None and not wrong:
        own = program.run(folder, document, "--generate", str(GENERATED))[1]["generated"]["ids"][0]
        if not own or own != said[:len(own)]:
            return f"generates {own}, not {said}"
    return wrong

def in_program():
    return {"families": program.listed("Families of models")}

transformers.utils.logging.disable_progress_bar()
