"""Classes of transformers that classify: their logits, by each class of the families that the program reads.

A class is one of the lists of AutoModelFor…, of a family with which models.py holds the maps. A seed draws each of
them once, however many draws are asked for, as families share their heads; a third are compared in single precision.
"""
import json

import numpy as np
import torch
import transformers
from PIL import Image
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import program
from families import FAMILIES
from models import ROUNDED, draw_weights, in_double, made_anew

TOLERANCE, SINGLE = 1e-9, 3e-4
END = 60
TASKS = {name: getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES") for name in (
    "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "QUESTION_ANSWERING", "MULTIPLE_CHOICE", "NEXT_SENTENCE_PREDICTION",
    "IMAGE_CLASSIFICATION")}

# Classes that the program names and does not compute, and why.
ELSEWHERE = {
    "DeiTForImageClassificationWithTeacher": "two heads",
    "ViTMSNForImageClassification": "its file has tensors behind a prefix and others without it",
    "CTRLForSequenceClassification": "its head has the name of an encoder's",
} | {name: "its head is a summary of the sequence" for name in (
    "XLMForSequenceClassification", "FlaubertForSequenceClassification", "XLMForMultipleChoice", "FlaubertForMultipleChoice")
} | {name: "its head is of a class of its own" for name in ("XLMForQuestionAnsweringSimple", "FlaubertForQuestionAnsweringSimple", "XLNetForQuestionAnsweringSimple")
}

def classes():
    """By its name the task and the family of each class."""
    own = {"ElectraForPreTraining": ("DISCRIMINATOR", "electra")}
    for task, by_family in TASKS.items():
        for family, names in by_family.items():
            if family not in FAMILIES and family not in ("clip", "siglip"):
                continue
            for name in [names] if isinstance(names, str) else names:
                own.setdefault(name, (task, family))
    return own

ALL = classes()
NAMES = {name: place for name, place in ALL.items() if name not in ELSEWHERE}

def hold(name, draw, rng, folder, options):
    if draw % 100_000 > 0:
        raise StopIteration
    task, family = NAMES[name]
    pick = lambda *values: rng.choice(values)
    vision = {"clip": "clip_vision_model", "siglip": "siglip_vision_model"}.get(family)
    kind, drawn = FAMILIES[vision or family]
    options |= drawn(pick)
    if task in ("SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "IMAGE_CLASSIFICATION"):
        count = pick(1, 2, 5)
        options |= {"id2label": {n: f"class {n}" for n in range(count)}, "label2id": {f"class {n}": n for n in range(count)}}
    if family in ("modernbert", "eurobert"):
        options["classifier_pooling"] = pick(*(["cls", "mean"] if family == "modernbert" else ["bos", "mean", "late"]))
        # Without a mask its other pooling fails there.
        if task == "MULTIPLE_CHOICE":
            options["classifier_pooling"] = "cls"
    if task == "MULTIPLE_CHOICE" or family in ("t5", "mt5", "umt5"):
        options["eos_token_id"] = END
    if family == "t5gemma":
        options["is_encoder_decoder"] = pick(True, False)
    pad = options.get("pad_token_id")
    torch.manual_seed(draw)
    labels = {key: options.pop(key) for key in ("id2label", "label2id") if vision and key in options}
    config = CONFIG_MAPPING[family](**({"vision_config": options} | labels if vision else options))
    model = getattr(transformers, name)._from_config(config)
    draw_weights(model)
    model.save_pretrained(folder)
    single = pick(True, False, False)
    texts = [[rng.randrange(4, 54) for _ in range(11)] + [END] for _ in range(2 if task == "MULTIPLE_CHOICE" else 1)]
    if task == "SEQUENCE_CLASSIFICATION" and kind == "causal" and pad is not None:
        texts[0] += [pad, pad]
    if family == "longformer" and task in ("QUESTION_ANSWERING", "MULTIPLE_CHOICE"):
        for n, text in enumerate(texts):  # pairs, whose parts are told by three separators
            text[3 + n] = text[4 + n] = text[-1] = config.sep_token_id
    document = {"model": ".", "token_ids": texts, "dtype": "float32" if single else "float64"}
    pixels = np.random.default_rng(draw).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    if task == "IMAGE_CLASSIFICATION":
        Image.fromarray(pixels).save(folder + "/picture.png")
        with open(folder + "/preprocessor_config.json", "w") as file:
            json.dump({"do_resize": False, "do_normalize": False, "do_center_crop": False}, file)
        document = {"model": ".", "image": "picture.png", "dtype": document["dtype"]}
    read = getattr(transformers, name).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    attention = "sdpa" if getattr(read.config, "alibi", False) else "eager"
    with in_double(), torch.no_grad():
        model = made_anew(read, attention)
        if task == "IMAGE_CLASSIFICATION":
            out = model(torch.tensor(pixels.astype(np.float64) / 255).permute(2, 0, 1)[None])
        elif task == "MULTIPLE_CHOICE":
            out = model(input_ids=torch.tensor([texts]))
        else:
            out = model(input_ids=torch.tensor(texts))
    if task == "QUESTION_ANSWERING":
        logits = torch.stack([out.start_logits, out.end_logits], -1)
    elif task == "DISCRIMINATOR":
        logits = out.logits[..., None]
    else:
        logits = out.logits.reshape(-1, 1) if task == "MULTIPLE_CHOICE" else out.logits
    tensors, result = program.run(folder, document)
    exact = ROUNDED.get(read.config.model_type, TOLERANCE)
    wrong = program.difference(tensors, {"classification.logits": logits.numpy()}, SINGLE if single else exact)
    said = result["classification"][0]
    if not wrong and task == "SEQUENCE_CLASSIFICATION" and said[0]["label"] != f"class {int(logits[0].argmax())}":
        return f"says {said[0]}"
    return wrong

def in_program():
    """Classes of the families that the program lists: each is compared, or it is said why not."""
    families = set(program.listed("Families of models"))
    return {"classes": [name for name, (_, family) in ALL.items() if family in families]}
