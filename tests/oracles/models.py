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
OWN_CLASSES = {"siglip_text_model": "SiglipTextModel", "emu3_text_model": "Emu3ForCausalLM"}
GENERATED = 4
BUFFERS = ("score_correction", "expert_bias", "layer_scalar")  # learned, though not by gradients
CLASSES = {
    "masked": transformers.AutoModelForMaskedLM, "causal": transformers.AutoModelForCausalLM,
    "both": transformers.AutoModelForSeq2SeqLM, "picture": transformers.AutoModel, "plain": transformers.AutoModel,
    "container": transformers.AutoModelForImageTextToText,
}
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
    return model

def wanted(family, kind, folder, ids, decoder_ids, pixels):
    """Tensors by attn-cli's names, and the tokens of a greedy continuation."""
    read = class_of(family, kind).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    # Eager attention adds Falcon's ALiBi twice, and the other has no maps.
    attention = "sdpa" if getattr(read.config, "alibi", False) else "eager"
    with in_double(), torch.no_grad():
        model = made_anew(read, attention)
        types = getattr(read.config.get_text_config(), "layer_types", None) or []
        full = [n for n, name in enumerate(types) if name == "full_attention"]
        mixed = {"linear_attention", "conv"} & set(types)
        inputs = {"pixel_values": pixels} if kind == "picture" else {"input_ids": ids}
        if kind == "both":
            inputs["decoder_input_ids"] = decoder_ids
        out = model(**inputs, output_attentions=attention == "eager", output_hidden_states=True)
        tensors = {}
        def stack(prefix, maps, states, name="self"):
            numbers = full if mixed else range(len(maps or ()))
            for n, own in zip(numbers, [own for own in maps or () if own is not None]):
                tensors[f"{prefix}layers.{n}.{name}.weights"] = own
            for n, state in enumerate((states or ())[1:-1]):
                tensors[f"{prefix}layers.{n}.output"] = state
        if kind == "both":
            stack("encoder.", out.encoder_attentions, out.encoder_hidden_states)
            stack("decoder.", out.decoder_attentions, out.decoder_hidden_states)
            stack("decoder.", out.cross_attentions, (), "cross")
        else:
            stack("", () if family in OTHER_MAPS else out.attentions, out.hidden_states)
        if kind not in ("picture", "plain"):
            tensors["logits"] = out.logits
        said = None
        if kind in ("causal", "both", "container") and getattr(read.config, "is_causal", True):
            now = decoder_ids if kind == "both" else ids
            said = []
            for _ in range(GENERATED):
                # A whole pass of T5Gemma would hide a pad token that it has generated; steps with a cache do not.
                step = {"input_ids": ids, "decoder_input_ids": now, "decoder_attention_mask": torch.ones_like(now)} if kind == "both" else {"input_ids": now}
                said.append(int(model(**step, use_cache=False).logits[0, -1].argmax()))
                now = torch.cat([now, torch.tensor([[said[-1]]])], 1)
        return {name: tensor.numpy() for name, tensor in tensors.items()}, said

def hold(family, draw, rng, folder, options):
    kind, draw_options = NAMES[family]
    options |= draw_options(lambda *values: rng.choice(values))
    make(family, kind, options, draw, folder)
    ids = [[rng.randrange(4, 54) for _ in range(11)]]
    decoder_ids = [[2] + [rng.randrange(4, 54) for _ in range(6)]]
    pixels = np.random.default_rng(draw).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    document, flags = {"model": ".", "token_ids": ids, "dtype": "float64"}, ["--stages"]
    if kind == "both":
        document["decoder_token_ids"] = decoder_ids
    if kind == "picture":
        Image.fromarray(pixels).save(folder + "/picture.png")
        with open(folder + "/preprocessor_config.json", "w") as file:
            json.dump({"do_resize": False, "do_normalize": False, "do_center_crop": False}, file)
        document = {"model": ".", "image": "picture.png", "dtype": "float64"}
    if kind not in ("picture", "plain"):
        flags.append("--logits")
    tensors, said = wanted(family, kind, folder, torch.tensor(ids), torch.tensor(decoder_ids),
                           torch.tensor(pixels.astype(np.float64) / 255).permute(2, 0, 1)[None])
    wrong = program.difference(program.run(folder, document, *flags)[0], tensors, ROUNDED.get(family, TOLERANCE))
    if said is not None and not wrong:
        own = program.run(folder, document, "--generate", str(GENERATED))[1]["generated"]["ids"][0]
        if not own or own != said[:len(own)]:
            return f"generates {own}, not {said}"
    return wrong

def in_program():
    return {"families": program.listed("Families of models")}

transformers.utils.logging.disable_progress_bar()
