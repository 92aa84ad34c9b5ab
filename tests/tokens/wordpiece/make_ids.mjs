// Fills in the ids of cases.txt: README.md says how to run it.
import fs from "node:fs";
import { createRequire } from "node:module";

const { Tokenizer } = createRequire(import.meta.url)("@anush008/tokenizers-linux-x64-gnu");

const here = new URL(".", import.meta.url);
const tokens = fs.readFileSync(new URL("vocab.txt", here), "utf8").split("\n").slice(0, -1);
const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

// What tokenizer.json of bert-base-uncased holds, but for `lowercase`.
function bert(lowercase) {
  const marker = (name) => ({ SpecialToken: { id: name, type_id: 0 } });
  return Tokenizer.fromString(JSON.stringify({
      version: "1.0",
      added_tokens: special.map((content) => ({
        id: vocab[content], content, single_word: false, lstrip: false, rstrip: false,
        normalized: false, special: true,
      })),
      normalizer: {
        type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null,
        lowercase,
      },
      pre_tokenizer: { type: "BertPreTokenizer" },
      post_processor: {
        type: "TemplateProcessing",
        single: [marker("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, marker("[SEP]")],
        pair: [marker("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
        special_tokens: Object.fromEntries(
          ["[CLS]", "[SEP]"].map((t) => [t, { id: t, ids: [vocab[t]], tokens: [t] }])),
      },
      decoder: { type: "WordPiece", prefix: "##", cleanup: true },
      model: {
        type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##",
        max_input_chars_per_word: 100, vocab,
      },
    }));
}

const unescaped = (text) =>
  text.replace(/\\(\\|u\{([0-9a-f]+)\})/g, (_, kind, hex) =>
    hex ? String.fromCodePoint(parseInt(hex, 16)) : kind);

const file = new URL("cases.txt", here);
const uncased = bert(true), cased = bert(false);
const rows = [];
for (const row of fs.readFileSync(file, "utf8").split("\n").slice(0, -1)) {
  const line = row.split("\t")[0];
  const text = unescaped(line);
  const ids = async (tokenizer) => (await tokenizer.encode(text, null, { addSpecialTokens: true })).getIds().join(" ");
  rows.push([line, await ids(uncased), await ids(cased)].join("\t"));
}
fs.writeFileSync(file, rows.join("\n") + "\n");
