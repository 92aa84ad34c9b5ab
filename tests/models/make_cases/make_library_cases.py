#!/usr/bin/env python3
"""Makes the cases of heads that classify and of sentence embeddings: random checkpoints, and what transformers 5.24 and
sentence-transformers 6.2 compute of them in double precision.

    make_library_cases.py TESTS_MODELS
"""
import json
import os
import sys

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "is", "good", "bad", "not", "very", "a", "long", "song",
         "##s", "un", "##usual", ".", "and"]
SIZES = dict(vocab_size=len(WORDS), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=12)


def made(kind, config, seed):
    """A model whose weights are large enough that every rule shows."""
    torch.manual_seed(seed)
    model = kind(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, 1.2 / weight.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            else:
                weight.normal_(0, 0.2)
    return model


def write_tokenizer(folder):
    with open(f"{folder}/vocab.txt", "w") as file:
        file.write("\n".join(WORDS) + "\n")
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 12}, file)


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
        file.write("\n")


def classifier(folder):
    config = transformers.BertConfig(**SIZES, id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1})
    model = made(transformers.BertForSequenceClassification, config, 1)
    model.save_pretrained(folder + "/checkpoint")
    write_tokenizer(folder + "/checkpoint")
    ids = [[2, 5, 6, 7, 10, 8, 3], [2, 12, 11, 9, 14, 3]]
    model = model.double()
    with torch.no_grad():
        logits = [model(torch.tensor([own])).logits[0].tolist() for own in ids]
    write(folder + "/input.json", {"model": "checkpoint", "token_ids": ids, "dtype": "float64"})
    write(folder + "/expected.json", {"format": 1, "tensors": {"classification.logits": logits}, "tolerance": {"float32": 1e-9}})


def sentences(folder):
    encoder = made(transformers.BertModel, transformers.BertConfig(**SIZES), 2)
    os.makedirs(folder + "/encoder")
    encoder.save_pretrained(folder + "/encoder")
    write_tokenizer(folder + "/encoder")
    torch.manual_seed(3)
    model = SentenceTransformer(modules=[
        Transformer(folder + "/encoder", max_seq_length=8), Pooling(16, ("cls", "mean")), Dense(32, 6), Normalize()],
        prompts={"query": "a good ", "document": ""})
    model.save(folder + "/folder", create_model_card=False)
    os.system(f"rm -r {folder}/encoder")
    model = SentenceTransformer(folder + "/folder", device="cpu").double()
    texts = ["the film is good", "a very long song and the unusual films and songs", "bad ."]
    expected = {name: model.encode(texts, **how, convert_to_numpy=True).astype(np.float64).tolist()
                for name, how in (("plain", {}), ("query", {"prompt_name": "query"}))}
    with torch.no_grad():
        vectors = torch.tensor(expected["plain"], dtype=torch.float64)
        similarity = model.similarity(vectors, vectors).tolist()
    write(folder + "/expected.json", {"texts": texts, **expected, "similarity": similarity})


if __name__ == "__main__":
    for name, make in (("cases/bert_classifies", classifier), ("sentences", sentences)):
        os.makedirs(f"{sys.argv[1]}/{name}", exist_ok=True)
        make(f"{sys.argv[1]}/{name}")
