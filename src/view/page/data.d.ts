/**
 * What the program writes into the page and what the page reads: the one description of it.
 *
 * The JSON text of a `View` is in `<script type="application/json" id="view">`; `<`, U+2028 and
 * U+2029 are escaped in it, so that no label ends the element. Each block of numbers is in
 * `<script type="text/plain" id="block-N">` as base64 of a raw deflate stream, which
 * `DecompressionStream("deflate-raw")` reads; blocks are read when they are needed only, and follow the script, that of thumbnails first.
 * All numbers in blocks are little endian.
 */

/** N of `block-N`. */
export type Block = number;

export interface View {
  format: 1;
  /** "attn-cli 1.0.0". */
  program: string;
  /** That the page begins with; the reader may switch. */
  language: "en" | "zh";
  title: string;
  description: string;
  /** Of a corpus: how many texts were read, those that are strongest for a head, and the largest distance of means. */
  evidence?: { count: number; texts: string[]; reach: number };
  /** A lesson: texts about views, one after the other. */
  story?: StoryStep[];
  /** Paths between heads of the first sample that carry what they carry in another text; absent = not asked for. */
  paths?: Paths;
  /** How heads were switched off one by one, where it was done. */
  effects?: "zero" | "mean";
  /** Whether attentions are those of layers, so that heads are named LAYER.HEAD. */
  layered: boolean;
  /** The most telling head, which the page begins with; counts from 0. */
  opening: { attention: number; head: number };
  /**
   * How the program draws from the same input: commands that must come before, as
   * `attn-cli run … --out DIR`, and the input that `attn-cli plot KIND` then takes; quoted for a
   * POSIX shell.
   */
  commands: { before: string[]; input: string };
  /** Another page, as HTML in UTF-8, whose samples stand beside those of this one; absent = none. */
  second?: Block;
  samples: Sample[];
  /** Each list once, however many maps have it. */
  tokens: Tokens[];
  /** That a model saw; absent = none. */
  pictures?: Picture[];
  attentions: Attention[];
  /** Whether predictions are of the token after the text, else of masked tokens. */
  predicts_next: boolean;
  /** Empty where no weights are there to take them of. */
  statistics: Statistic[];
  /** The colours of cells. */
  colours: Colours;
  /** What was reduced or rounded, and what else the reader must know: one sentence each. */
  notes: string[];
  /** Of all attentions, samples and heads, in that order: see `Thumbnails`. */
  thumbnails: Thumbnails;
}

/** A sample of the batch; of a model one of its texts. */
export interface Sample {
  /** "Sample 1", or the text itself, shortened. */
  title: string;
  /** Of a model: the likeliest tokens at some positions, the most probable first. Absent = none. */
  predictions?: { position: number; likeliest: PredictedToken[]; /** The likeliest by the states that leave each layer. */ by_layer?: (PredictedToken & { layer: number })[] }[];
  /** Tokens that follow the text, generated or given; absent = none. */
  answer?: Answer;
  /** The likeliest tokens of the first prediction, and what heads write for them: see `AttentionSample.lens`. */
  lens?: { position: number; softcap?: number; tokens: (PredictedToken & { /** Before the cap. */ logit: number })[] };
  /** Of a model that classifies: the classes of the sample, or of its tokens, the largest logit first. */
  classification?: { position?: number; classes: { label: string; logit: number; probability?: number }[] }[];
}

/** Positions are those of the queries of the last stack. */
export interface Answer {
  /** Position of the first of the tokens. */
  first: number;
  /** Of each token where it stands. */
  probabilities: number[];
  /** What wrote the logit of each; absent = not asked for. */
  sources?: AnswerSource[];
}

/** What the heads add to a token's logit where it is predicted, all norms as they are there. */
export interface AnswerSource {
  /** Sums over all heads, by the tokens that they read; of an encoder-decoder also those of the encoder's text. */
  tokens: number[];
  cross_tokens?: number[];
  /** The strongest first, at the end the one that copies most if it is none of them. `key`: the token that most comes from; `copied`: the part from earlier copies. */
  heads: { attention: string; head: number; value: number; key: number; copied: number }[];
}

export interface PredictedToken {
  text: string;
  probability: number;
}

/**
 * A picture as a model saw it. Its rows × columns patches, of patch × patch pixels from the upper
 * left corner on, are the last keys of maps, row after row, and in maps of more than one query the
 * last queries.
 */
export interface Picture {
  width: number;
  height: number;
  rows: number;
  columns: number;
  patch: number;
  /** Red, green and blue of each pixel as bytes, row after row. */
  pixels: Block;
}

/** The tokens along an axis of one map. */
export interface Tokens {
  /** As the input names them; empty = not known, and the page shows positions counted from 1. */
  pieces: string[];
  /** How each is shown, `Ġ` and `▁` decoded; as many as pieces. */
  shown: string[];
  /** For each word the first of its pieces and the one after its last; empty = not known. */
  words: [first: number, end: number][];
  /** Positions of special tokens, as [CLS]. */
  special: number[];
}

export interface Attention {
  /** The name of the tensor without its last part, as `layers.0.self`; "" of a single one. */
  name: string;
  /** "Layer 1, Self-Attention". */
  title: string;
  /** Where it stands in the overview: attentions of one `stack` are its rows from top to bottom. */
  stack: string; // "Self-Attention", "Encoder Self-Attention", "Cross-Attention"…
  heads: number;
  /** Which heads of the attention these are, from 0, ascending; absent = all of them. */
  numbers?: number[];
  /** Heads that share one key and value head; 1 = none. */
  heads_a_group: number;
  /** One for each of `View.samples`; fewer if it has fewer, the first ones. */
  samples: AttentionSample[];
  /** [head][statistic], the mean over samples; null where it has no meaning. Absent = none. */
  statistics?: (number | null)[][];
  /** The same of even weights over the keys that each query sees. */
  even?: (number | null)[];
  /** Of each head over the texts of a corpus; absent = none was read. */
  evidence?: HeadEvidence[];
}

export interface AttentionSample {
  /** Whether queries and keys are the same tokens: causal and diagonal marks make sense. */
  same_positions: boolean;
  queries: number;
  keys: number;
  /** Rows of `View.tokens`. */
  query_tokens: number;
  key_tokens: number;
  /** Row of `View.pictures`; absent where keys are no patches. */
  picture?: number;
  /** Why cells are hidden, as far as the input tells: one sentence each, as "causal: keys after the
   * query"; empty = nothing is hidden or nothing is known. */
  hidden_because: string[];
  /** "weights" first, then the steps of the score, if they are shown: "scores", "capped", "masked". */
  maps: Maps[];
  /** Vectors whose products are the scores; absent = not kept. */
  vectors?: Vectors;
  /** The parts of the scores of some heads; absent = not asked for. */
  why?: Why[];
  /** What the model predicts without each of the heads; absent = not asked for. */
  effects?: Effects;
  /** For each head [tokens of `Sample.lens`, width of values], `diverging` codes: the product with the head's weighted values is what it adds to each logit. */
  lens?: CellBlock[];
}

/** The place in a story: a text, and the view's address without its #. */
export interface StoryStep {
  text: string;
  view: string;
}

export interface Paths {
  /** The logit of the first minus that of the other, in the text and in the other text. */
  token: string;
  other: string;
  own: number;
  source: number;
  /** From a head to a later one's input, or to the logits (null), and the change of the difference. */
  paths: [attention: string, head: number, attention: string | null, head: number | null, input: "query" | "key" | "value" | null, effect: number][];
}

export interface HeadEvidence {
  /** By statistic, the mean over the texts and its standard error; null where it has no meaning. */
  mean: (number | null)[];
  error: (number | null)[];
  /** By statistic the texts with the largest values: rows of `View.evidence.texts`, and the values. */
  strongest: [text: number, value: number][][];
  /** Mean weight by the distance from the query to the key, from −reach to reach. */
  by_distance: (number | null)[];
}

/** One entry for each head, which is off in a pass of its own: its output is zero, or its mean over the tokens. */
export interface Effects {
  /** Kullback–Leibler divergence of the first of the sample's predictions from that of the whole model, in nats. */
  divergence: number[];
  /** Of that prediction's likeliest tokens by the whole model, in their order. */
  probabilities: number[][];
  /** The likeliest token without the head. */
  likeliest: string[];
  /** Change of the logit of the whole model's likeliest token without the head. */
  logit: number[];
  /** The same as one gradient estimates it; absent = not known. */
  estimated?: number[];
  /** The same of each token of `Sample.answer` where it is predicted: the divergence, the token's own probability, the likeliest. */
  answer?: [divergence: number, probability: number, likeliest: string][][];
}

/** Scores of a head, before softcap, bias and mask, as sums over what the layers before wrote for query and key. */
export interface Why {
  /** Number of the head in its layer, from 0. */
  head: number;
  /** "embedding", "0.3", "0.feed_forward", "bias"… */
  query_parts: string[];
  key_parts: string[];
  /** Of each pair that sees each other: query, key, score, and of its strongest terms, the largest
   * first, the part of the query, the part of the key (rows of the lists) and the term. */
  pairs: number[][];
}

/**
 * What the scores of an attention are made of: score = cap(q·k · scale) + bias, cap(s) = c · tanh(s / c).
 * All blocks are of `diverging` codes.
 */
export interface Vectors {
  /** For each head [queries, width], [keys, width] and [keys, width of values]; heads that share keys share blocks. */
  query: CellBlock[];
  key: CellBlock[];
  value: CellBlock[];
  scale: number;
  softcap?: number;
  /** Whether biases are added to scores. */
  biased: boolean;
  /** Whether the softmax has one more logit, without a key. */
  sink: boolean;
}

/** One tensor [heads, queries, keys] of an attention and sample. */
export interface Maps {
  /** "weights", "scores" (after the scale), "capped", "masked", as in results. */
  tensor: string;
  /** "Attention weight", as the colour bar says. */
  title: string;
  /** Smallest and largest finite value that is not hidden of all maps of this tensor in the page;
   * [0, 0] if there is none. */
  range: [least: number, most: number];
  /** Of maps that were pooled while they were computed: what a cell is, and of the queries and keys from ceil(i · queries / rows) up to the next cell's. */
  cells?: string;
  /** Whether its colours stand about 0. */
  diverging: boolean;
  /** One for each head. */
  heads: CellBlock[];
}

/**
 * The cells of one map, row after row.
 *
 * - "float32", "float64": the values as they are; NaN and infinities as themselves.
 * - "uint8", "uint16": codes, with `highest` = 251 or 65531. First a float32 for each row (all
 *   rows, then all codes): the value of the code `highest` in this row; for a diverging tensor
 *   codes stand for -that…that (code · 2 / highest − 1), for others for 0…that (code / highest).
 *   highest + 1 = −∞, + 2 = ∞, + 3 = NaN, + 4 = hidden (255 or 65535).
 * - In float types hidden cells are given by `hidden`, a block of one bit a cell, lowest bit first,
 *   absent if none is; code types need none.
 */
export interface CellBlock {
  type: "float32" | "float64" | "uint8" | "uint16";
  /** Size of what the block holds: less than queries × keys if cells were pooled. */
  rows: number;
  columns: number;
  cells: Block;
  hidden?: Block;
  /** Largest difference between a cell and what it stands for; 0 = exact. */
  error: number;
  /**
   * Of pooled maps: each cell is the largest (by value; of diverging tensors by distance from 0) of
   * the queries and keys from floor(i · queries / rows) up to floor((i + 1) · queries / rows).
   * `strongest` has, for each query, so many pairs: all keys as uint32, then all values as float32,
   * largest first, of `strongest_keys` a query; key 0xFFFFFFFF = none.
   */
  strongest?: Block;
  strongest_keys?: number;
}

export interface Statistic {
  /** "previous", "entropy"… */
  name: string;
  title: string;
  meaning: string;
}

export interface Colours {
  /** On a light page and on paper, and on a dark page. */
  light: CellColours;
  dark: CellColours;
  /** The range that colours of weights stand for: the same whatever is shown. */
  range: [least: number, most: number];
  /** Looks of the lines of the first heads, as pictures have them; further heads begin anew. */
  heads: { colour: string; dashes: number[] }[];
}

export interface CellColours {
  weights: MapColours;
  /** Of values about 0. */
  diverging: MapColours;
}

/** A colour map, and the colours of what has none in it; all are "#rrggbb". */
export interface MapColours {
  /** "YlOrRd", or as the user chose. */
  name: string;
  /** 256 colours, "rrggbb" one after the other. */
  table: string;
  hidden: string;
  nan: string;
  minus_infinity: string;
  infinity: string;
  /** Of 0 and less on a logarithmic scale. */
  not_positive: string;
}

/**
 * All thumbnails in one block of bytes: for each attention, sample and head side × side codes of
 * the first map (fewer where the map has fewer rows or columns: rows · columns of it, of sizes
 * min(side, queries) and min(side, keys)); as uint8 of `CellBlock`, but each code stands for a share
 * of the way from the first to the second number of `Colours.range` (or, diverging, from -m to m, m
 * being the largest distance of `Maps.range` from 0), pooled by the largest.
 */
export interface Thumbnails {
  side: number;
  block: Block;
}
