"""Drawn tokenizers and texts against the tokenizers library: ids, the places of tokens in the text, and what decoders write.

A tokenizer is trained on drawn texts; its stages are those that a name asks for, and others that go with it. Places are the library's, or
wider where a stage joins or replaces characters: attn-cli names all that a token comes from. Marks stand in their canonical order, as the
library's places are those of other marks where a normal form exchanges them. Pieces together are the library's decoded text, but that ## stays,
a first token that is a space alone and the end of the last word are shown, and a character of several tokens stands over each.
"""
import json, re

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers as n, pre_tokenizers as p, processors, trainers

import program

TEXTS = 200
NORMALIZERS = {
    "BertNormalizer": lambda d: n.BertNormalizer(clean_text=d(True, False), handle_chinese_chars=d(True, False), strip_accents=d(None, True, False), lowercase=d(True, False)),
    "ByteLevel": lambda d: n.ByteLevel(), "Lowercase": lambda d: n.Lowercase(), "NFC": lambda d: n.NFC(), "NFD": lambda d: n.NFD(), "NFKC": lambda d: n.NFKC(),
    "NFKD": lambda d: n.NFKD(), "Nmt": lambda d: n.Nmt(), "Prepend": lambda d: n.Prepend(d("▁", "<<")),
    "Replace": lambda d: n.Replace(*d((" ", "▁"), (Regex(r"\d"), "0"), ("``", '"'), (Regex(r" {2,}"), " "), (Regex(r"[^\w\s]"), ""))),
    "Strip": lambda d: n.Strip(left=d(True, False), right=d(True, False)), "StripAccents": lambda d: n.StripAccents(),
}
BEHAVIOURS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
PATTERNS = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", r"\p{N}{1,3}", r"\s+", r"[A-Z]?[a-z]+", r"[\u4e00-\u9fa5]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PRE_TOKENIZERS = {
    "BertPreTokenizer": lambda d: p.BertPreTokenizer(), "ByteLevel": lambda d: p.ByteLevel(add_prefix_space=d(True, False), use_regex=d(True, False)),
    "CharDelimiterSplit": lambda d: p.CharDelimiterSplit(d("e", " ", "。")), "Digits": lambda d: p.Digits(individual_digits=d(True, False)),
    "Metaspace": lambda d: p.Metaspace(replacement="▁", prepend_scheme=d("always", "first", "never"), split=d(True, False)),
    "Punctuation": lambda d: p.Punctuation(behavior=d(*BEHAVIOURS)), "Whitespace": lambda d: p.Whitespace(), "WhitespaceSplit": lambda d: p.WhitespaceSplit(),
    "FixedLength": lambda d: p.FixedLength(d(1, 3, 7)), "UnicodeScripts": lambda d: p.UnicodeScripts(),
    "Split": lambda d: p.Split(Regex(d(*PATTERNS)), behavior=d(*BEHAVIOURS), invert=d(True, False)),
}
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|end|>"]
MODELS = {
    "BPE": lambda d: (models.BPE(unk_token="[UNK]", fuse_unk=d(True, False), byte_fallback=d(True, False), ignore_merges=d(True, False),
                                 **d({}, {}, {"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"})), trainers.BpeTrainer),
    "Unigram": lambda d: (models.Unigram(), trainers.UnigramTrainer),
    "WordLevel": lambda d: (models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer),
    "WordPiece": lambda d: (models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=d(8, 100)), trainers.WordPieceTrainer),
}
CLS, SEP = ("[CLS]", 1), ("[SEP]", 2)
PROCESSORS = {
    "BertProcessing": lambda d: processors.BertProcessing(SEP, CLS), "RobertaProcessing": lambda d: processors.RobertaProcessing(SEP, CLS, trim_offsets=d(True, False), add_prefix_space=d(True, False)),
    "ByteLevel": lambda d: processors.ByteLevel(trim_offsets=d(True, False)),
    "TemplateProcessing": lambda d: processors.TemplateProcessing(single=d("[CLS] $A [SEP]", "$A <|end|>", "[CLS] [CLS]:1 $A"), special_tokens=[CLS, SEP, ("<|end|>", 4)]),
}
space_first = lambda d: [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + d([], [decoders.Strip(" ", 1, 0)])
DECODERS = {
    "BPEDecoder": lambda d: decoders.BPEDecoder("</w>"), "ByteLevel": lambda d: decoders.ByteLevel(), "WordPiece": lambda d: decoders.WordPiece("##", False),
    "Metaspace": lambda d: decoders.Metaspace(replacement="▁", prepend_scheme=d("always", "first", "never")),
    "ByteFallback": lambda d: decoders.ByteFallback(), "Fuse": lambda d: decoders.Fuse(), "Replace": lambda d: decoders.Replace(d("▁", "Ġ", "##"), " "),
    "Strip": lambda d: decoders.Sequence(space_first(d)), "Sequence": lambda d: decoders.Sequence(space_first(d)),
}
STAGES = {"normalizer": NORMALIZERS, "pre_tokenizer": PRE_TOKENIZERS, "model": MODELS, "post_processor": PROCESSORS}
NAMES = [f"{stage} {name}" for stage, own in (STAGES | {"decoder": DECODERS}).items() for name in own]
ELSEWHERE = {"normalizer Precompiled": "its table is SentencePiece's", "normalizer Sequence": "drawn of the others", "pre_tokenizer Sequence": "drawn of the others",
             "decoder CTC": "of speech, whose models are not read"}
FRAGMENTS = ("the people of the States", "I'm sure they'll DON'T", "İstanbul Straße ΣΊΣΥΦΟΣ", "naïve café", "e\u0301 a\u0323\u0308 n\u0303", "Å Å ﬁ ½ ①", "中文分词。你好，世界！", "日本語ﾃｷｽﾄ", "한국어 한", "नमस्ते", "สวัสดี", "שָׁלוֹם",
             "مرحبا", "👩‍👩‍👧 🏳️‍🌈 👍🏽", "  ", "\t", "\n\n", "\r\n", "\u00a0", "\u200b", "\u2009\u3000", "\u00ad", "\ufeff", "1234567 3.14", "x=y+1;", "``quoted''", "https://a.b/c?d=e", "...", "—–-", "$5 €6", "a_b __init__", "\x07",
             "\x85", "[MASK]", "<|end|>", "[CLS]", "▁", "Ġ", "##ing", "</w>", "ǅ ŉ ẞ", "𝔘𝔫𝔦 𐐀", "Z͑ͫ̓", "<0x41>", "peace peace", "aaaaaaaa", "Éé ÀÀ")
LETTERS = "abcdefgh zyxABC 01.,'-éß中"
def text_of(rng):
    """Some fragments and single letters, in any order."""
    parts = [rng.choice(FRAGMENTS) if rng.random() < 0.6 else "".join(rng.choices(LETTERS, k=rng.randrange(6))) for _ in range(rng.randrange(1, 7))]
    return rng.choice(["", " "]).join(parts)
def tokenizer_of(stage, name, rng):
    d = lambda *values: rng.choice(values)
    chosen = {kind: name if kind == stage else rng.choice(list(own)) for kind, own in STAGES.items()}
    model, trainer = MODELS[chosen["model"]](d)
    own = Tokenizer(model)
    def stages(kind, sequence, count):
        names = [chosen[kind]] if kind == stage else []
        names += [rng.choice(list(STAGES[kind])) for _ in range(count - len(names))]
        rng.shuffle(names)
        return sequence([STAGES[kind][own](d) for own in names]) if len(names) != 1 or d(True, False) else STAGES[kind][names[0]](d)
    if stage == "normalizer" or d(True, False):
        own.normalizer = stages("normalizer", n.Sequence, d(1, 1, 2, 3))
    if stage == "pre_tokenizer" or d(True, True, False):
        own.pre_tokenizer = stages("pre_tokenizer", p.Sequence, d(1, 1, 2))
    if stage == "post_processor" or d(True, False):
        own.post_processor = PROCESSORS[chosen["post_processor"]](d)
    settings = {"vocab_size": rng.choice([500, 700] if trainer is trainers.UnigramTrainer else [120, 300]), "special_tokens": SPECIAL, "show_progress": False}
    settings |= {"unk_token": "[UNK]"} if trainer is trainers.UnigramTrainer else {}
    if trainer in (trainers.BpeTrainer, trainers.UnigramTrainer) and d(True, False):
        settings["initial_alphabet"] = p.ByteLevel.alphabet()
    if trainer is trainers.BpeTrainer:
        settings |= {"continuing_subword_prefix": model.continuing_subword_prefix, "end_of_word_suffix": model.end_of_word_suffix}
        settings = {key: value for key, value in settings.items() if value is not None}
    texts = [text_of(rng) for _ in range(80)]
    for word in SPECIAL:  # a piece of its own would be a second one of that name
        texts = [text.replace(word, "") for text in texts]
    own.train_from_iterator(texts, trainer(**settings))
    own.add_tokens([AddedToken(word, lstrip=d(True, False), rstrip=d(True, False), single_word=d(True, False), normalized=d(True, False), special=d(True, False))
                    for word in rng.sample(["peace", "<x>", "[MASK]", "中文", " new", "É"], d(0, 1, 3))])
    return own
def written(own, ids, pieces):
    """What differs between pieces and the library's text, in words."""
    wanted = own.decode(ids, skip_special_tokens=False)
    added = own.get_added_tokens_decoder()
    # The library writes normalized tokens as they are found, and takes the suffix from texts too; a space first is ▁, and before a token of the text.
    if not ids or ids[0] in added or "</w>" in "".join(pieces):
        return ""
    spread = any(i in added and added[i].normalized or type(own.decoder) is decoders.Metaspace and " " in own.id_to_token(i) or "\ufffd" in own.decode([i], skip_special_tokens=False) for i in ids)
    if type(own.decoder) is decoders.WordPiece:
        pieces = [piece.removeprefix("##") if at and piece.startswith("##") else (" " if at else "") + piece for at, piece in enumerate(pieces)]
    text = "".join(pieces)
    if spread or text in (wanted, " " + wanted if pieces[0] == " " else "", wanted + " " if type(own.decoder) is decoders.BPEDecoder else ""):
        return ""
    return f"writes {text!r}, not {wanted!r}"
def hold(name, draw, rng, folder, options):
    stage, kind = name.split()
    own = tokenizer_of(stage, kind, rng)
    if stage == "decoder":
        own.decoder, own.post_processor = DECODERS[kind](lambda *values: rng.choice(values)), processors.TemplateProcessing("$A")
    own.save(folder + "/tokenizer.json")
    with open(folder + "/tokenizer.json") as file:
        settings = {key: value for key, value in json.load(file).items() if key in (*STAGES, "decoder") and key != "model"}
    texts = [text for text in (text_of(rng) for _ in range(TEXTS)) if text]
    own = Tokenizer.from_file(folder + "/tokenizer.json")
    printed = program.call("tokens", "--model", folder + "/tokenizer.json", "--json", *(f"--text={text}" for text in texts))
    for text, got in zip(texts, json.loads(printed)):
        wanted = own.encode(text)
        if [token["id"] for token in got] != wanted.ids:
            options |= settings
            return f"{text!r} has the ids {[token['id'] for token in got]}, not {wanted.ids}"
        if stage == "decoder" and (wrong := written(own, wanted.ids, [token["piece"] for token in got])):
            options |= settings
            return f"{text!r} {wrong}"
        for token, (begin, end) in zip(got, wanted.offsets):
            begin, end = (len(text[:at].encode()) for at in (begin, end))
            if (token["begin"], token["end"]) != (begin, end) and not token["begin"] <= begin <= end <= token["end"]:
                options |= settings
                return f"{text!r} has {token} at {token['begin']}–{token['end']}, not {begin}–{end}"
    return ""
def in_program():
    """Types of stages by their tables."""
    files = {"normalizer": "normalizers", "pre_tokenizer": "splitters", "model": "tokenizer_json", "post_processor": "stages", "decoder": "stages"}
    named = {}
    for stage, name in files.items():
        with open(f"{program.SOURCES}/tokens/{name}.cpp") as file:
            source = file.read()
        if name == "stages":
            source = source.split("decoder_types()")[stage == "decoder"]
        named[f"types of a {stage}"] = [f"{stage} {own}" for own in re.findall(r'(?:\{|plain\()"([A-Z]\w+)",\s*(?:\w+[,){]|std::nullopt|\[)', source)]
    return named
