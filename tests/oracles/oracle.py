"""Holds attn-cli against transformers: oracle.py ATTN_CLI [--draws N] [--seed S] [--verbose] [FAMILY…]

For each family a tiny model with random weights is made from a drawn configuration, saved by save_pretrained(), read
back in double precision and run; attn-cli reads the same folder. All maps, states, logits and a greedy continuation
have to agree. A family of the program's table that families.py does not know is a failure.
"""
import argparse, contextlib, json, os, random, re, subprocess, sys, tempfile

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
import numpy as np
import torch
import transformers
from PIL import Image
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from families import ELSEWHERE, FAMILIES

TOLERANCE = 1e-9  # of the largest number: 1e-14 times the conditions of three layers, with room
ROUNDED = {"marian": 1e-6}  # its table of sines holds single numbers
GENERATED = 4
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
    return transformers.SiglipTextModel if family == "siglip_text_model" else CLASSES[kind]


def make(family, kind, options, seed, folder):
    """A checkpoint whose weights are large enough that every rule shows."""
    torch.manual_seed(seed)
    config = CONFIG_MAPPING[family](**options)
    kinds = class_of(family, kind)
    model = (kinds.from_config if kinds is CLASSES[kind] else kinds._from_config)(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, 1.2 / weight.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            else:
                weight.normal_(0, 0.2)
    model.save_pretrained(folder)


def wanted(family, kind, folder, ids, decoder_ids, pixels):
    """Tensors by attn-cli's names, and the tokens of a greedy continuation."""
    read = class_of(family, kind).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    with in_double(), torch.no_grad():
        # Made anew, as tables that are not in the file are computed when a model is made.
        model = type(read)._from_config(read.config, attn_implementation="eager", experts_implementation="eager").eval()
        computed = {name for name, weight in read.named_parameters() if not weight.requires_grad}
        computed |= {name for name, _ in read.named_buffers() if "inv_freq" in name}
        model.load_state_dict({name: weight for name, weight in read.state_dict().items() if name not in computed}, strict=False)
        types = getattr(read.config.get_text_config(), "layer_types", None) or []
        full = [n for n, name in enumerate(types) if name == "full_attention"]
        inputs = {"pixel_values": pixels} if kind == "picture" else {"input_ids": ids}
        if kind == "both":
            inputs["decoder_input_ids"] = decoder_ids
        out = model(**inputs, output_attentions=True, output_hidden_states=True)
        tensors = {}
        def stack(prefix, maps, states, name="self"):
            numbers = full if "linear_attention" in types else range(len(maps or ()))
            for n, own in zip(numbers, [own for own in maps or () if own is not None]):
                tensors[f"{prefix}layers.{n}.{name}.weights"] = own
            for n, state in enumerate((states or ())[1:-1]):
                tensors[f"{prefix}layers.{n}.output"] = state
        if kind == "both":
            stack("encoder.", out.encoder_attentions, out.encoder_hidden_states)
            stack("decoder.", out.decoder_attentions, out.decoder_hidden_states)
            stack("decoder.", out.cross_attentions, (), "cross")
        else:
            stack("", out.attentions, out.hidden_states)
        if kind not in ("picture", "plain"):
            tensors["logits"] = out.logits
        said = None
        if kind in ("causal", "both", "container"):
            now = decoder_ids if kind == "both" else ids
            said = []
            for _ in range(GENERATED):
                step = {"input_ids": ids, "decoder_input_ids": now} if kind == "both" else {"input_ids": now}
                said.append(int(model(**step, use_cache=False).logits[0, -1].argmax()))
                now = torch.cat([now, torch.tensor([[said[-1]]])], 1)
        return {name: tensor.numpy() for name, tensor in tensors.items()}, said


def run(cli, folder, document, *flags):
    with open(folder + "/input.json", "w") as file:
        json.dump({"model": "."} | document, file)
    out = folder + "/out"
    done = subprocess.run([cli, "run", "input.json", "--dtype", "float64", "--plots", "none", "--tensors", "npz", "--out", out, *flags],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return None, None, " ".join(done.stderr.split())[:400]
    with open(out + "/result.json") as file:
        result = json.load(file)
    with np.load(out + "/tensors.npz") as tensors:
        return dict(tensors), result, ""


def hold(cli, family, draw, folder):
    """What is wrong, if anything is."""
    rng = random.Random(f"{family} {draw}")
    kind, options = FAMILIES[family]
    options = options(lambda *values: rng.choice(values))
    make(family, kind, options, draw, folder)
    ids = [[rng.randrange(4, 54) for _ in range(11)]]
    decoder_ids = [[2] + [rng.randrange(4, 54) for _ in range(6)]]
    pixels = np.random.default_rng(draw).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    document, flags = {"token_ids": ids}, ["--stages"]
    if kind == "both":
        document["decoder_token_ids"] = decoder_ids
    if kind == "picture":
        Image.fromarray(pixels).save(folder + "/picture.png")
        with open(folder + "/preprocessor_config.json", "w") as file:
            json.dump({"do_resize": False, "do_normalize": False, "do_center_crop": False}, file)
        document = {"image": "picture.png"}
    if kind not in ("picture", "plain"):
        flags.append("--logits")
    tensors, said = wanted(family, kind, folder, torch.tensor(ids), torch.tensor(decoder_ids),
                           torch.tensor(pixels.astype(np.float64) / 255).permute(2, 0, 1)[None])
    got, _, error = run(cli, folder, document, *flags)
    if got is None:
        return "refused: " + error, options
    for name, want in tensors.items():
        if name not in got or got[name].shape != want.shape:
            return f"{name} is {got[name].shape if name in got else 'missing'}, not {want.shape}", options
        seen = np.abs(got[name] - want).max() / max(1, np.abs(want).max())
        if not seen <= ROUNDED.get(family, TOLERANCE):
            return f"{name} differs by {seen:.1e}", options
    if said is not None:
        _, result, error = run(cli, folder, document, "--generate", str(GENERATED))
        own = result["generated"]["ids"][0] if result else error
        if not result or own != said[:len(own)]:
            return f"generates {own}, not {said}", options
    return "", options


def known_families():
    """The families of the program's table."""
    table = os.path.join(os.path.dirname(__file__), "../../src/models/family_rows.cpp")
    with open(table) as file:
        return re.findall(r'^"([^"]+)": \{', file.read(), re.M)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli", type=os.path.abspath)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_intermixed_args()
    transformers.utils.logging.disable_progress_bar()
    passed = failed = 0
    if not given.families:
        for family in known_families():
            if family not in FAMILIES and family not in ELSEWHERE:
                print(f"{family}: no oracle draws it")
                failed += 1
    for family in given.families or FAMILIES:
        for draw in range(given.seed * 1000, given.seed * 1000 + given.draws):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    wrong, options = hold(given.cli, family, draw, folder)
                except Exception as error:
                    wrong, options = f"the library: {type(error).__name__}: {str(error)[:300]}", {}
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong or given.verbose:
                print(f"{family} {draw}: {wrong or 'equal'}" + (f"\n  {options}" if wrong else ""), flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
