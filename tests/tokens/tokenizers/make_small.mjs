// Writes small/*.json, a tokenizer.json of every kind, from the texts of lines.jsonl.
//   node make_small.mjs
import fs from "node:fs";

const here = new URL(".", import.meta.url);
const lines = fs.readFileSync(new URL("lines.jsonl", here), "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line));

const counts = (items) => {
  const result = new Map();
  for (const item of items) result.set(item, (result.get(item) ?? 0) + 1);
  return result;
};
// The most frequent first; of equal ones the first by code points.
const frequent = (items, most, least = 1) =>
  [...counts(items)].filter(([, n]) => n >= least).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, most).map(([item]) => item);

// Byte-pair merges of words given as lists of symbols.
function merges_of(words, most, joined = (a, b) => a + b) {
  let pieces = [...counts(words.map((word) => JSON.stringify(word)))].map(([word, n]) => [JSON.parse(word), n]);
  const merges = [];
  while (merges.length < most) {
    const pairs = new Map();
    for (const [word, n] of pieces) {
      for (let i = 1; i < word.length; ++i) {
        const pair = JSON.stringify([word[i - 1], word[i]]);
        pairs.set(pair, (pairs.get(pair) ?? 0) + n);
      }
    }
    const best = [...pairs].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
    if (!best || best[1] < 2) break;
    const [left, right] = JSON.parse(best[0]);
    merges.push([left, right]);
    pieces = pieces.map(([word, n]) => {
      const result = [];
      for (let i = 0; i < word.length; ++i) {
        if (word[i] === left && word[i + 1] === right) {
          result.push(joined(left, right));
          ++i;
        } else {
          result.push(word[i]);
        }
      }
      return [result, n];
    });
  }
  return merges;
}

// The letters of bytes.
const itself = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
let next = 256;
const letters = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(itself(byte) ? byte : next++));
const spelled = (text) => [...Buffer.from(text, "utf8")].map((byte) => letters[byte]);

const vocabulary = (tokens) => Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));
const byte_tokens = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const special = (name, type_id = 0) => ({ SpecialToken: { id: name, type_id } });
const text = (id, type_id = 0) => ({ Sequence: { id, type_id } });
const template = (vocab, single, pair) => ({
  type: "TemplateProcessing", single, pair,
  special_tokens: Object.fromEntries([...single, ...pair].flatMap((part) => (part.SpecialToken ? [part.SpecialToken.id] : [])).map((name) => [name, { id: name, ids: [vocab[name]], tokens: [name] }])),
});
const added = (id, content, flags = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...flags });
function write(name, parts) {
  const file = { version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...parts };
  fs.writeFileSync(new URL(`small/${name}.json`, here), JSON.stringify(file, null, 0).replaceAll("],[", "],\n[").replaceAll('},{', "},\n{") + "\n");
}

const characters = frequent(lines.flatMap((line) => [...line]), 400, 3).filter((c) => c !== "\u0000");
const gpt2 = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const gpt2_words = lines.flatMap((line) => line.match(gpt2) ?? []);
const byte_merges = merges_of(gpt2_words.map(spelled), 300);
const byte_vocabulary = (extra = []) => vocabulary([...letters, ...byte_merges.map((pair) => pair.join("")), ...extra]);
const llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const bytes = (add_prefix_space, use_regex, trim_offsets = true) => ({ type: "ByteLevel", add_prefix_space, trim_offsets, use_regex });

// BERT's.
{
  const words = lines.flatMap((line) => line.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "").match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []);
  const vocab = vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...frequent(words.flatMap((w) => [...w]), 250, 2), ...frequent(words.flatMap((w) => [...w].slice(1).map((c) => "##" + c)), 200, 3),
    ...frequent(words, 150, 3), ...frequent(words.flatMap((w) => [...w].slice(1, -2).map((_, i) => "##" + [...w].slice(i + 1, i + 4).join(""))), 80, 3)]);
  const file = {
    added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((name) => added(vocab[name], name, name === "[MASK]" ? { lstrip: true } : {})),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: template(vocab, [special("[CLS]"), text("A"), special("[SEP]")], [special("[CLS]"), text("A"), special("[SEP]"), text("B", 1), special("[SEP]", 1)]),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab },
  };
  write("word_piece", file);
  write("word_piece_cased", {
    ...file, normalizer: { ...file.normalizer, clean_text: false, strip_accents: true, lowercase: false },
    post_processor: { type: "BertProcessing", sep: ["[SEP]", vocab["[SEP]"]], cls: ["[CLS]", vocab["[CLS]"]] },
    model: { ...file.model, max_input_chars_per_word: 7 },
  });
}

// Whole words.
{
  const words = lines.flatMap((line) => line.toLowerCase().match(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]+/gu) ?? []);
  const vocab = vocabulary(["<unk>", ...frequent(words, 300)]);
  write("word_level", {
    normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Lowercase" }] }, pre_tokenizer: { type: "Whitespace" },
    added_tokens: [added(vocab["<unk>"], "<unk>"), added(301, "the weather", { normalized: true, special: false, single_word: true }), added(302, "Tok", { normalized: true, special: false, rstrip: true })],
    model: { type: "WordLevel", vocab, unk_token: "<unk>" },
  });
  // Every way to split, seen by which stretches are words.
  const split = (pattern, behavior, invert = false) => ({ type: "Split", pattern, behavior, invert });
  const ways = {
    removed: split({ Regex: "[aeiou]+" }, "Removed"), isolated: split({ Regex: "[aeiou]|\\s" }, "Isolated", true), previous: split({ String: " " }, "MergedWithPrevious"), next: split({ Regex: "\\s" }, "MergedWithNext"),
    contiguous: split({ Regex: "\\p{L}|\\p{N}" }, "Contiguous"), empty: split({ Regex: "x*" }, "Isolated"), previous_inverted: split({ Regex: "\\w+" }, "MergedWithPrevious", true), next_inverted: split({ Regex: "\\p{Lu}" }, "MergedWithNext", true),
  };
  const stretches = frequent(lines.flatMap((line) => line.match(/.{1,3}/gsu) ?? []), 300);
  for (const [name, way] of Object.entries(ways)) {
    const own = vocabulary(["<unk>", ...stretches, ...frequent(lines.flatMap((line) => line.split(/(?<=[\s])|(?=[\s])|(?<=[aeiou])|(?=[aeiou])/u)), 200)]);
    write(`split_${name}`, { pre_tokenizer: way, model: { type: "WordLevel", vocab: own, unk_token: "<unk>" } });
  }
  write("split_sequence", {
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Punctuation", behavior: "Contiguous" }, { type: "Digits", individual_digits: true }, { type: "CharDelimiterSplit", delimiter: "e" }],
    },
    model: { type: "WordLevel", vocab: vocabulary(["<unk>", ...stretches]), unk_token: "<unk>" },
  });
  // Syntax that engines read differently.
  const patterns = {
    bloom: " ?[^(\\s|[.,!?…。，、।۔،])]+", words: "\\w+|\\W", bounds: "\\b|\\B\\d", classes: "[[:alpha:]&&[^a-e]]+|[^\\S\\n]+|\\h{2,3}+", scripts: "\\p{Han}+|\\p{^Han}{1,4}|(?i:E|straße)", lines: "^.*$|\\n",
  };
  for (const [name, pattern] of Object.entries(patterns)) {
    write(`pattern_${name}`, { pre_tokenizer: split({ Regex: pattern }, "Isolated"), model: { type: "WordLevel", vocab: vocabulary(["<unk>", ...stretches]), unk_token: "<unk>" } });
  }
}

// GPT-2's and those after it.
{
  const vocab = byte_vocabulary(["<s>", "</s>", "<unk>", "<pad>", "<mask>"]);
  write("byte_level_roberta", {
    added_tokens: ["<s>", "</s>", "<unk>", "<pad>", "<mask>"].map((name) => added(vocab[name], name, { lstrip: name === "<mask>", normalized: name !== "<mask>" })),
    pre_tokenizer: bytes(true, true), decoder: bytes(true, true), post_processor: { type: "RobertaProcessing", sep: ["</s>", vocab["</s>"]], cls: ["<s>", vocab["<s>"]], trim_offsets: true, add_prefix_space: true },
    model: { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: "", end_of_word_suffix: "", fuse_unk: false, vocab, merges: byte_merges.map((pair) => pair.join(" ")) },
  });
}
{
  const whole = frequent(gpt2_words.filter((word) => word.length > 3).map((word) => spelled(word).join("")), 60);
  const vocab = byte_vocabulary(whole), size = Object.keys(vocab).length;
  const names = ["<|begin_of_text|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "<special>"];
  write("byte_level_whole_words", {
    added_tokens: names.map((name, i) => added(size + i, name, { special: name[1] === "|", rstrip: name === "<special>" })),
    normalizer: { type: "NFC" }, pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Split", pattern: { Regex: llama3 }, behavior: "Isolated", invert: false }, bytes(false, false)] },
    post_processor: { type: "Sequence", processors: [bytes(true, true, false), { ...template({}, [special("<|begin_of_text|>"), text("A")], [special("<|begin_of_text|>"), text("A"), special("<|begin_of_text|>", 1), text("B", 1)]), special_tokens: { "<|begin_of_text|>": { id: "<|begin_of_text|>", ids: [size], tokens: ["<|begin_of_text|>"] } } }] },
    decoder: bytes(true, true),
    model: { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: true, vocab, merges: byte_merges },
  });
}
{
  // CLIP's: the last letter of a word is marked.
  const words = lines.flatMap((line) => line.normalize("NFC").toLowerCase().match(/'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+/gu) ?? []);
  const marked = words.map((word) => { const s = spelled(word); s[s.length - 1] += "</w>"; return s; });
  const merges = merges_of(marked, 250);
  const vocab = vocabulary([...letters, ...letters.map((c) => c + "</w>"), ...merges.map((pair) => pair.join("")), "<|startoftext|>", "<|endoftext|>"]);
  write("byte_level_suffix", {
    added_tokens: ["<|startoftext|>", "<|endoftext|>"].map((name) => added(vocab[name], name, { normalized: name === "<|startoftext|>" })),
    normalizer: { type: "Sequence", normalizers: [{ type: "NFC" }, { type: "Replace", pattern: { Regex: "\\s+" }, content: " " }, { type: "Lowercase" }] },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Split", pattern: { Regex: "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+" }, behavior: "Removed", invert: true }, bytes(false, true)] },
    post_processor: { type: "RobertaProcessing", sep: ["<|endoftext|>", vocab["<|endoftext|>"]], cls: ["<|startoftext|>", vocab["<|startoftext|>"]], trim_offsets: false, add_prefix_space: false },
    decoder: bytes(true, true), model: { type: "BPE", dropout: null, unk_token: "<|endoftext|>", continuing_subword_prefix: "", end_of_word_suffix: "</w>", fuse_unk: false, vocab, merges: merges.map((pair) => pair.join(" ")) },
  });
}
{
  // Pieces after the first begin with ##, and unknown characters stay apart.
  const words = lines.flatMap((line) => line.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []).filter((word) => [...word].every((c) => characters.includes(c)));
  const merges = merges_of(words.map((word) => [...word].map((c, i) => (i ? "##" + c : c))), 200, (a, b) => a + b.slice(2));
  const vocab = vocabulary(["[UNK]", ...characters, ...characters.map((c) => "##" + c), ...merges.map(([a, b]) => a + b.slice(2))]);
  write("byte_pair_prefix", {
    normalizer: { type: "Sequence", normalizers: [{ type: "Strip", strip_left: true, strip_right: false }, { type: "Nmt" }] }, pre_tokenizer: { type: "BertPreTokenizer" }, decoder: { type: "WordPiece", prefix: "##", cleanup: false },
    model: { type: "BPE", dropout: null, unk_token: "[UNK]", continuing_subword_prefix: "##", end_of_word_suffix: null, fuse_unk: false, vocab, merges },
  });
}

// SentencePiece's.
const marked_words = lines.flatMap((line) => ("▁" + line.replaceAll(" ", "▁")).match(/▁*[^▁]*/gu) ?? []).filter((word) => word && [...word].every((c) => c === "▁" || characters.includes(c)));
const marked_merges = merges_of(marked_words.map((word) => [...word]), 300);
const marked_tokens = ["▁", ...characters.filter((c) => c !== " " && c !== "▁"), ...marked_merges.map((pair) => pair.join(""))];
const llama = (vocab) => template(vocab, [special("<s>"), text("A")], [special("<s>"), text("A"), special("<s>", 1), text("B", 1)]);
const readable = [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }];
{
  const vocab = vocabulary(["<unk>", "<s>", "</s>", ...byte_tokens, ...marked_tokens]);
  write("sentence_piece_merges", {
    added_tokens: ["<unk>", "<s>", "</s>"].map((name) => added(vocab[name], name)), normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }] },
    post_processor: llama(vocab), decoder: { type: "Sequence", decoders: [...readable, { type: "Strip", content: " ", start: 1, stop: 0 }] },
    model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, vocab, merges: marked_merges.map((pair) => pair.join(" ")) },
  });
}
{
  // Not all bytes have tokens: some characters fall back on theirs, others are unknown.
  const vocab = vocabulary(["<unk>", "<s>", "</s>", ...byte_tokens.filter((_, byte) => byte % 3 !== 0 || byte < 0x80), ...marked_tokens.slice(0, 200), ...marked_merges.map((pair) => pair.join("")), ...marked_tokens]);
  write("sentence_piece_first", {
    added_tokens: ["<unk>", "<s>", "</s>"].map((name) => added(vocab[name], name, { normalized: name === "</s>" })), pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false },
    post_processor: llama(vocab), decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false },
    model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, ignore_merges: false, vocab, merges: marked_merges },
  });
  const few = vocabulary(["<unk>", ...marked_tokens.slice(0, 120), ...marked_merges.map((pair) => pair.join("")), ...marked_merges.flat()]);
  write("sentence_piece_unknown", {
    normalizer: { type: "Replace", pattern: { String: " " }, content: "▁" }, pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false },
    added_tokens: [added(few["<unk>"], "<unk>"), ...["▁▁", "▁▁▁", "\n\n", "</h1>", "<unused3>"].map((name, i) => added(few[name] ?? Object.keys(few).length + i - ["▁▁", "▁▁▁", "\n\n", "</h1>", "<unused3>"].slice(0, i).filter((n) => n in few).length, name, { special: false }))],
    decoder: { type: "Sequence", decoders: readable }, model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab: few, merges: marked_merges },
  });
}

// A double-array trie as Darts-clone lays it out, by first fit.
function darts(entries) {
  const root = { children: new Map(), value: undefined };
  for (const [key, value] of entries) {
    let node = root;
    for (const byte of Buffer.from(key, "utf8")) {
      if (!node.children.has(byte)) node.children.set(byte, { children: new Map(), value: undefined });
      node = node.children.get(byte);
    }
    node.value = value;
  }
  const units = [{}];
  const taken = new Set([0]);
  const place = (node, at) => {
    const labels = [...(node.value === undefined ? [] : [0]), ...[...node.children.keys()].sort((a, b) => a - b)];
    if (!labels.length) return;
    let base = 1;
    while (labels.some((label) => taken.has(base ^ label)) || (base ^ at) >= 1 << 21) ++base;
    for (const label of labels) taken.add(base ^ label);
    units[at] = { ...units[at], offset: base ^ at, leaf: node.value !== undefined };
    if (node.value !== undefined) units[base] = { value: node.value };
    for (const label of labels.filter((l) => l)) units[base ^ label] = { ...units[base ^ label], label };
    for (const [label, child] of node.children) place(child, base ^ label);
  };
  place(root, 0);
  const size = Math.ceil(Math.max(...taken, units.length) / 256 + 1) * 256;
  const bytes = Buffer.alloc(size * 4);
  for (let i = 0; i < size; ++i) {
    const unit = units[i] ?? { label: 0xff, offset: 0 };
    const number = unit.value !== undefined ? (unit.value | 0x80000000) >>> 0 : ((unit.offset ?? 0) << 10 | (unit.leaf ? 0x100 : 0) | (unit.label ?? 0)) >>> 0;
    bytes.writeUInt32LE(number, i * 4);
  }
  return bytes;
}
function charsmap(rules) {
  let strings = "";
  const entries = rules.map(([from, to]) => {
    const at = Buffer.byteLength(strings);
    strings += to + "\u0000";
    return [from, at];
  });
  const trie = darts(entries);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(trie.length);
  return Buffer.concat([size, trie, Buffer.from(strings)]).toString("base64");
}
{
  const compatible = [...new Set(lines.flatMap((line) => [...line]))].filter((c) => c.normalize("NFKC") !== c && !/\p{Mn}/u.test(c)).sort().slice(0, 120).map((c) => [c, c.normalize("NFKC")]);
  const rules = [...compatible, ["\u0001", ""], ["\u0002", ""], ["\u0007", ""], ["\u200b", " "], ["\ufeff", ""], ["\t", " "], ["\n", " "], ["\r", " "], ["\u00a0", " "], ["\u3000", " "], ["e\u0301", "é"], ["n\u0303", "ñ"], ["a\u0300", "à"], ["か\u3099", "が"], ["\u00ad", ""], ["\u200d", ""]];
  const merged = [...new Map(rules)];
  const tokens = [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ...[...new Set(marked_tokens)].map((token, i) => [token, -Math.round(Math.log(2 + i) * 1e6 / (0.6 + 0.4 * [...token].length)) / 1e6 - 1]), ["<extra_id_1>", 0], ["<extra_id_0>", 0]];
  const vocab = Object.fromEntries(tokens.map(([token], id) => [token, id]));
  write("unigram", {
    added_tokens: ["<pad>", "</s>", "<unk>", "<extra_id_0>"].map((name) => added(vocab[name], name)).sort((a, b) => a.id - b.id),
    normalizer: { type: "Sequence", normalizers: [{ type: "Precompiled", precompiled_charsmap: charsmap(merged) }, { type: "Strip", strip_left: false, strip_right: true }, { type: "Replace", pattern: { Regex: " {2,}" }, content: "▁" }] },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", add_prefix_space: true }, post_processor: template(vocab, [text("A"), special("</s>")], [text("A"), special("</s>"), text("B"), special("</s>")]),
    decoder: { type: "Metaspace", replacement: "▁", add_prefix_space: true }, model: { type: "Unigram", unk_id: 2, vocab: tokens, byte_fallback: false },
  });
  const with_bytes = [["<unk>", 0], ["<s>", 0], ["</s>", 0], ...byte_tokens.map((token) => [token, -20]), ...tokens.slice(3, 200)];
  write("unigram_bytes", {
    normalizer: { type: "Sequence", normalizers: [{ type: "Replace", pattern: { String: "``" }, content: "\"" }, { type: "NFKD" }, { type: "StripAccents" }, { type: "Lowercase" }] },
    added_tokens: ["<unk>", "<s>", "</s>"].map((name, id) => added(id, name)),
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true }] },
    decoder: { type: "Sequence", decoders: readable }, model: { type: "Unigram", unk_id: 0, vocab: with_bytes, byte_fallback: true },
  });
}
{
  // Characters by themselves, to see what normalizers leave.
  const vocab = vocabulary(["<unk>", ...characters, ...letters]);
  const model = { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab, merges: [] };
  write("normalizer_nfd", { normalizer: { type: "NFD" }, model });
  write("normalizer_nfkc", { normalizer: { type: "Sequence", normalizers: [{ type: "Strip", strip_left: false, strip_right: true }, { type: "NFKC" }] }, model });
  write("normalizer_bytes", { normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "ab" }, { type: "ByteLevel" }] }, added_tokens: [added(vocab["<unk>"], "<unk>", { normalized: true })], decoder: bytes(true, true), model });
}
