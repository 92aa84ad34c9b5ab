// Writes lines.jsonl, the texts that tokenizers are tested on: written ones and random mixtures from a fixed seed.
//   node make_lines.mjs
import fs from "node:fs";

// Mulberry32.
let state = 20240229;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const times = (n, make) => Array.from({ length: n }, make);

const written = [
  "", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n\n", " \n \t ", "a", "A", "é", "e\u0301", "中", "😀", "\u0000", "\u200b", "\ufeff", "\ufffd", "\u00a0",
  "The animal did not cross the street because it was too tired.",
  "The quick brown fox jumps over the lazy dog. THE QUICK BROWN FOX!",
  "I can't believe it's not butter; we've said they'd say we're \"done\", haven't I'll?",
  "I CAN'T, WE'VE, THEY'D, SHE'LL, I'M, YOU'RE, IT'S", "it’s “smart” quotes — and ‘single’ ones… isn’t it?", "'s 't 're 've 'm 'll 'd 'S 'ſ 'K",
  "don't stop me now, rock 'n' roll, o'clock, y'all'd've", "Hello, world!", "hello world", " hello world", "  hello   world  ", "hello\tworld\thello", "\thello",
  "hello \n world", "line one\nline two\r\nline three\rline four\n", "trailing spaces   ", "   leading spaces", "tabs\t\t\tand    spaces \t mixed\t ",
  "one  two   three    four     five      six       seven        eight", " ".repeat(16) + "x", " ".repeat(31), " ".repeat(100), "\n".repeat(31), "\t".repeat(40), "=".repeat(80), "-".repeat(33) + "\n" + "_".repeat(17),
  "x" + " ".repeat(50) + "y", "a\n\n\n\nb", "a \n \n \n b", "a\r\n\r\n\r\nb", "...", "?!?!?!", "!!! ??? ... ,,, ;;; :::", "####", "***bold*** _it_ `code` ~~no~~",
  "0", "1", "12", "123", "1234", "12345", "123456", "1234567", "12345678", "123456789", "1234567890", "3.14159265358979323846", "1,234,567.89", "-1e-10", "0xDEADBEEF", "1_000_000", "٣٫١٤ ۱۲۳۴۵ १२३४ ๑๒๓ 五千", "½ ⅔ ¼ ² ³ ¹ Ⅳ ⅷ ① ⑳ ㊿", "１２３４５ ＡＢＣ ａｂｃ ！",
  "2024-02-29T23:59:60.123456Z", "12:30:45 +49 (0)30 123456", "$9.99 £5 €7.50 ¥1000 ₹250 ₿0.1", "50% off!", "10°C = 50°F", "a+b=c; x*y/z - w^2 % 7", "a<b>c&d|e~f`g@h#i$j%k^l&m*n(o)p_q+r{s}t[u]v\\w",
  "def f(x):\n    return x ** 2  # square\n\n\nclass A(B):\n\tpass\n", "for (int i = 0; i < n; ++i) {\n  sum += a[i] * b[i];\n}", "if (x == null || y !== undefined) { return `${x}`; }", "SELECT * FROM t WHERE a = 'b' AND c <> \"d\";",
  "<html><body class=\"x\">Text &amp; more<br/></body></html>", "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"b\"}}", "https://www.example.com/path?query=a%20b&x=1#frag", "user.name+tag@example.co.uk", "C:\\Users\\me\\file.txt /usr/local/bin ~/.config", "#include <stdio.h>\nint main(void) { return 0; }",
  "fn main() { println!(\"{}\", 1); }", "\\begin{equation} \\frac{a}{b} \\end{equation}", "$$\\sum_{i=1}^{n} x_i^2$$", "git commit -m 'fix: it''s'", "camelCaseWord PascalCaseWord snake_case_word kebab-case-word SCREAMING_SNAKE", "__init__ __main__.py _private", "x1y2z3 a1b2 3d 4K",
  "Übergrößenträger Straße ÄÖÜ äöü ß ẞ", "naïve café résumé Ångström façade", "cafe\u0301 nai\u0308ve A\u030angstro\u0308m", "Đặng Thị Ngọc Thịnh Nguyễn", "İstanbul ISTANBUL ıi İi I\u0307", "ὈΔΥΣΣΕΎΣ Σίσυφος ΣΊΣΥΦΟΣ σς Σ", "Привет, мир! ПРИВЕТ ёЁ йЙ и\u0306", "Łódź żółć ĄĆĘŁŃÓŚŹŻ", "Þórður ætíð œuvre Œ", "ﬁ ﬂ ﬀ ﬃ ﬅ ﬆ", "ǅ ǆ Ǆ ǈ Ⓐ ⓐ",
  "我喜欢自然语言处理。", "你好，世界！", "注意力就是你所需要的一切", "日本語のテキストです。カタカナとひらがな。", "ｱｲｳｴｵ ガ ｶﾞ か\u3099 が", "한국어 텍스트입니다. 각 각 \u1100\u1161\u11a8", "中文English混排123数字", "𠀀𠮷𪚥𫝆𫠝𫞩𬺰𮯠𰀀", "㐀㒨䶵 豈更車 丽你", "〇〡〢 々〆〤 〱〵 「『』」、。・", "㍻ ㋿ ㌔ ㍿ ℡ № ™",
  "مرحبا بالعالم، كيف حالك؟", "السَّلَامُ عَلَيْكُمْ", "لا إله ﷲ ﷺ ﻻ", "שלום עולם שָׁלוֹם", "فارسی می‌نویسم", "اردو میں لکھنا", "नमस्ते दुनिया क्षत्रिय", "বাংলা ভাষা", "தமிழ் மொழி", "తెలుగు ಕನ್ನಡ മലയാളം", "ગુજરાતી ਪੰਜਾਬੀ ଓଡ଼ିଆ", "සිංහල", "สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง", "ພາສາລາວ ភាសាខ្មែរ မြန်မာဘာသာ", "བོད་སྐད་", "አማርኛ ቋንቋ", "ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ", "Հայերեն լեզու և", "ᐃᓄᒃᑎᑐᑦ ᏣᎳᎩ Ꭰꭰ", "ⲕⲟⲡⲧ 𐌲𐌿𐍄 𐤀𐤁 𒀀𒀁 𓀀𓀁", "ᚠᚢᚦ ⠃⠗⠁⠊⠇⠇⠑", "ߒߞߏ ⵜⵉⴼⵉⵏⴰⵖ", "монгол ᠮᠣᠩᠭᠣᠯ᠎ᠠ",
  "😀😃😄 😂🤣", "👍🏽👩‍👩‍👧‍👦👨🏿‍🚀", "🇩🇪🇫🇷🇯🇵🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", "❤️❤ ☀️☺ ✌🏻 1️⃣#️⃣", "a😀b😀c", "🫠🫡🥹 🪿🩷", "(╯°□°）╯︵ ┻━┻", "¯\\_(ツ)_/¯", "→←↑↓ ⇒⇔ ∀x∈ℝ: x²≥0 ∧ ∑∏∫√∞≠≤", "𝒜𝓑𝕮 𝟘𝟙 𝐱 𝛼", "♠♣♥♦ ♩♪ ☯ ⚛ ⌘⌥", "©®™§¶†‡•", "Z̴̡̛͔a̸̢l̷̨g̵̢o̴ t̷e̶x̴t̸", "a\u0300\u0301\u0302\u0303\u0304\u0305", "\u0301abc", "q\u0307\u0323 q\u0323\u0307 ṩ s\u0323\u0307 s\u0307\u0323", "a\u034fb", "o\u0338 ≠ =\u0338 <\u0338",
  "a\u200bb\u200cc\u200dd\u2060e\ufefff", "a\u00adb soft\u00adhyphen", "\u202dltr\u202c \u202ertl\u202c", "a\u0085b\u2028c\u2029d\u000be\u000cf", "a\u00a0b\u2003c\u3000d\u205fe\u202ff\u1680g\u180eh", "\u0001\u0002\u0007\u0008\u000e\u001b[31mred\u001b[0m\u007f", "\ue000\uf8ff\u{f0000}", "\u0378\u0379\u{e0080}\u{1fffe}\uffff", "\ufffd\ufffe", "x\u0000y",
  "<s>", "</s>", "<s>hello</s>", "<unk>", "a<unk>b", "<pad><mask>", "hello <mask> world", "hello<mask>world", " <mask> ", "[CLS] a [SEP] b [SEP]", "[MASK][MASK] [mask] [Mask]", "[PAD][UNK]x[CLS]", "<|endoftext|>", "a<|endoftext|>b<|endoftext|>", "<|begin_of_text|>x<|end_of_text|>", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|eot_id|><|start_header_id|>system<|end_header_id|>\n\n", "<bos>hello<eos>", "<start_of_turn>user\nhi<end_of_turn>\n", "<think>\nhm\n</think>\n\nyes", "<unused0><unused99>", "< s > <s <|im_start <|im_start|", "<|im_start|><|im_start|>", " <s> <s> ", "<0x0A><0xE2><0xFF>", "▁▁a▁b", "▁", " ▁ ", "Ġ Ċ ĉ Ġhello", "##ing ing## un ##able", "</w>end</w>", "<h1>Title</h1><table><tr><td>x</td></tr></table>",
  "a".repeat(99), "a".repeat(100), "a".repeat(101), "b".repeat(500), "ab".repeat(200), "é".repeat(100), "é".repeat(101), "中".repeat(60), "😀".repeat(40), "1".repeat(64), ".".repeat(65), "abc123".repeat(30), "pneumonoultramicroscopicsilicovolcanoconiosis", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "supercalifragilisticexpialidocious ".repeat(5), "word ".repeat(60), "no no no no yes yes", "la la la\nla la la\n".repeat(6),
  "``quoted'' text", "a  b", "a   b", "a, b , c ,d", "U.S.A. vs. U.K., e.g. i.e. etc.", "Ph.D. (Hons.) Mr. O'Neill", "yes/no and/or him/her", "wait...what?!", "3rd 21st 100th", "C++ C# F# .NET", "e = mc^2", "H₂O CO₂ x² y³", "a ‑ b – c — d ― e − f", "\"'`´‘’“”„‟«»‹›", "{[(<>)]}", "1.2.3.4:8080", "v2.0.0-rc.1+build.5",
];

const words = {
  latin: "the of and attention transformer head layer matrix because weather straße café naïve Übung œuvre Łódź señor garçon İzmir ısı model tokens Don't they're it's WE'VE XML iPhone A I".split(" "),
  greek: "και το Σίσυφος ΟΔΟΣ λόγος ψυχή ἀρχή".split(" "),
  cyrillic: "и привет МИР ёлка Київ это язык ђак".split(" "),
  arabic: "مرحبا العالم كتاب اللُّغة ٢٠٢٤ می‌خواهم".split(" "),
  hebrew: "שלום עולם בְּרֵאשִׁית".split(" "),
  indic: "नमस्ते हिन्दी क्षत्रिय বাংলা தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ਪੰਜਾਬੀ".split(" "),
  east: "你好 世界 注意力 日本語 カタカナ ひらがな 한국어 각 𠮷野家 がぎ か\u3099".split(" "),
  southeast: "ภาษาไทย สวัสดี ລາວ ភាសា မြန်မာ".split(" "),
  emoji: "😀 👍🏽 👩‍👧 🇩🇪 ❤️ 🤣 🫠 1️⃣ ☺".split(" "),
  numbers: "0 7 42 123 1984 12345 3.14 1,000 1e9 ½ ² ٣ １２ Ⅳ".split(" "),
  code: "x=1; foo(bar) a[i] ->next // == != && || {} => $x @y #z \\n \"s\" 'c' <div> </p> self.x i++ 0xFF __init__".split(" "),
  added: "<s> </s> <unk> <pad> <mask> [MASK] [SEP] [CLS] <|endoftext|> <|im_start|> <|im_end|> <bos> <eos> <unused3> <think> <|eot_id|> <special> [X] @@ Tok".split(" "),
  marks: ["e\u0301", "a\u0323\u0302", "o\u0308\u0304", "\u0301", "n\u0303", "s\u0323\u0307", "\u05b0", "\u064e"],
};
const separators = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "", "", ", ", ". ", "! ", " - ", "—", "/", "\u00a0", "\u3000", "\u200b", "    ", " \n"];
const kinds = Object.keys(words);

function mixture() {
  const chosen = random() < 0.4 ? [pick(kinds)] : times(1 + below(4), () => pick(kinds));
  let text = pick(["", "", "", " ", "  ", "\n"]);
  const count = 1 + below(14);
  for (let i = 0; i < count; ++i) text += pick(words[pick(chosen)]) + pick(separators);
  return random() < 0.5 ? text.trimEnd() : text;
}

// Characters from blocks all over Unicode, but for those that the library and the system's libraries know from different
// versions: what Unicode 15 and later added, and letters that it calls alphabetic since.
const known = (c) => /\p{Assigned}/u.test(c) && !/[\u0363-\u036f\u0897\u0c04\u0cf3\u0ece\u0f82\u0f83\u1dd3-\u1de6\u2ffc-\u2fff\u31ef\u1c89\u1c8a\ua7cb-\ua7dc\u{105c0}-\u{105ff}\u{10940}-\u{1095f}\u{10d40}-\u{10d8f}\u{10ec2}-\u{10ec7}\u{10ed0}-\u{10eff}\u{11380}-\u{113ff}\u{116d0}-\u{116ff}\u{11bc0}-\u{11bff}\u{11d80}-\u{11dff}\u{13460}-\u{143ff}\u{16100}-\u{1613f}\u{16d40}-\u{16d7f}\u{16ea0}-\u{16eff}\u{16ff2}-\u{16fff}\u{1cc00}-\u{1cebf}\u{1e5d0}-\u{1e6ff}\u{10efc}-\u{10eff}\u{11080}\u{11081}\u{1123f}-\u{11241}\u{11b00}-\u{11b09}\u{11f00}-\u{11f59}\u{1342f}\u{13439}-\u{13455}\u{1b132}\u{1b155}\u{1d2c0}-\u{1d2d3}\u{1df25}-\u{1df2a}\u{1e030}-\u{1e08f}\u{1e4d0}-\u{1e4f9}\u{2b739}\u{2ebf0}-\u{2ee5d}\u{31350}-\u{323af}]/u.test(c);
const blocks = [[0x20, 0x7e], [0x20, 0x7e], [0xa0, 0x24f], [0x250, 0x36f], [0x370, 0x52f], [0x530, 0x6ff], [0x700, 0x8ff], [0x900, 0xdff], [0xe00, 0x109f], [0x10a0, 0x1399], [0x13a0, 0x177f], [0x1780, 0x1aff],
  [0x1b00, 0x1cff], [0x1d00, 0x1fff], [0x2000, 0x214f], [0x2150, 0x2bff], [0x2c00, 0x2e7f], [0x2e80, 0x31ff], [0x3200, 0x4dbf], [0x4e00, 0x9fff], [0xa000, 0xabff], [0xac00, 0xd7ff], [0xe000, 0xe0ff], [0xf900, 0xfdff], [0xfe00, 0xffff],
  [0x10000, 0x107ff], [0x10800, 0x10fff], [0x11000, 0x11fff], [0x12000, 0x16fff], [0x1b000, 0x1d7ff], [0x1e000, 0x1eeff], [0x1f000, 0x1faff], [0x20000, 0x323af], [0xe0000, 0xe01ff]];
function characters() {
  const chosen = times(1 + below(3), () => pick(blocks));
  let text = "";
  const count = 4 + below(30);
  for (let i = 0; i < count; ++i) {
    const [first, last] = random() < 0.15 ? [0x20, 0x20] : pick(chosen);
    const c = String.fromCodePoint(first + below(last - first + 1));
    if (!known(c)) continue;
    text += c;
    if (random() < 0.1) text += String.fromCodePoint(0x300 + below(0x62));
  }
  return text;
}

function letters() {
  const alphabet = pick(["abcdefghijklmnopqrstuvwxyz", "etaoin shrdlu", "ABCabc123", "aab", "0123456789", ".,;:!?-", " \n\t", "é ü ñ ö ", "的一是不了人我在", "'stremdvl "]);
  return times(1 + below(60), () => pick([...alphabet])).join("");
}

const lines = [...written];
while (lines.length < written.length + 700) lines.push(mixture());
while (lines.length < written.length + 950) lines.push(characters());
while (lines.length < written.length + 1100) lines.push(letters());

const escaped = (text) => JSON.stringify(text).replace(/[\u007f-\u00a0\u00ad\u0300-\u036f\u200b-\u200f\u2028-\u202f\u205f-\u206f\ue000-\uf8ff\ufe00-\ufe0f\ufeff\ufff0-\uffff]/g,
  (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
fs.writeFileSync(new URL("lines.jsonl", import.meta.url), [...new Set(lines)].map((line) => escaped(line) + "\n").join(""));
