/**
 * A stretch of positions that the page shows as one: a token, a word, or the tokens of one cell.
 * @typedef {{first: number, end: number}} Stretch
 */

/** What cannot be seen: controls, line ends, marks of width and direction without ink. */
// eslint-disable-next-line no-control-regex -- these characters are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g;

const ESCAPES = /** @type {Record<string, string>} */ ({ '\n': '\\n', '\r': '\\r', '\t': '\\t' });

/**
 * A token as it is shown: spaces around it are left out, what has no ink is escaped, blanks alone
 * are ␣, and a token of no letter is ∅.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {number} position
 * @returns {string} empty where the input names none
 */
function pieceAt(tokens, position) {
  const text = tokens?.shown[position] ?? tokens?.pieces[position];
  if (tokens === undefined || text === undefined) return '';
  if (text === '') return position < endOfText(tokens, tokens.pieces.length) ? '∅' : '';
  const escaped = text.replace(UNSEEN, (sign) => ESCAPES[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return escaped.trim() === '' ? '␣'.repeat(escaped.length) : escaped.trim();
}

/**
 * A text as its tokens are shown.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {number} most letters
 */
function shortText(tokens, most) {
  if (tokens === undefined || !hasNames(tokens)) return '';
  let text = '';
  for (let position = 0; position < tokens.pieces.length && text.length <= most; ++position) {
    const piece = pieceAt(tokens, position);
    const joined = /^(·|##)/.test(piece) && text !== '';
    text += joined ? piece.replace(/^(·|##)/, '') : (text === '' || piece === '' ? '' : ' ') + piece;
  }
  return text.length > most ? `${[...text].slice(0, most).join('')}…` : text;
}

/** Most letters of a sentence in one place. */
const MOST_SENTENCE = 120;

/**
 * The text of a stretch: of a word its pieces joined, of a sentence its words, of joined cells nothing.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {Stretch} stretch
 * @param {boolean} isWord
 */
function textOf(tokens, stretch, isWord) {
  if (stretch.end - stretch.first === 1) return pieceAt(tokens, stretch.first);
  if (!isWord) return '';
  const inWord = piecesInWords(tokens);
  let joined = '';
  for (let position = stretch.first; position < stretch.end && joined.length <= MOST_SENTENCE; ++position) {
    const piece = pieceAt(tokens, position);
    const before = position > stretch.first && !inWord.has(position) && !/^[.,;:!?。，；：！？、]/.test(piece) ? ' ' : '';
    joined += position > stretch.first ? before + piece.replace(/^(·|##)/, '') : piece;
  }
  return joined.length > MOST_SENTENCE ? `${[...joined].slice(0, MOST_SENTENCE).join('')}…` : joined;
}

/**
 * The positions of a stretch.
 * @param {Stretch} stretch
 */
function numbersOf({ first, end }) {
  return end - first > 1 ? `${first}–${end - 1}` : String(first);
}

/**
 * The name of a place as the program's reports have it: its token and index, or the index alone.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {Stretch} stretch
 * @param {boolean} isWord
 * @param {number} [room] pixels that the token may take
 */
function placeName(tokens, stretch, isWord, room) {
  const text = textOf(tokens, stretch, isWord);
  if (text === '') return numbersOf(stretch);
  return `"${room === undefined ? text : shortened(text, 13, room)}" (${numbersOf(stretch)})`;
}

/**
 * The label at the edge of a map: that of the first position where cells are joined.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {Stretch} stretch
 * @param {boolean} isWord
 */
function edgeLabel(tokens, stretch, isWord) {
  return textOf(tokens, stretch, isWord) || String(stretch.first);
}

/**
 * @param {number} count
 * @returns {Stretch[]}
 */
function singlePositions(count) {
  return Array.from({ length: count }, (_, first) => ({ first, end: first + 1 }));
}

/**
 * Cells that stand for several positions.
 * @param {number} cells
 * @param {number} positions
 * @param {(number: number) => number} [whole]
 * @returns {Stretch[]}
 */
function joinedPositions(cells, positions, whole = Math.floor) {
  return Array.from({ length: cells }, (_, cell) => ({ first: whole((cell * positions) / cells), end: whole(((cell + 1) * positions) / cells) }));
}

/**
 * Words, and what is no part of one by itself.
 * @param {import('./data').Tokens} tokens
 * @param {number} count
 * @returns {Stretch[]}
 */
function wordPositions(tokens, count) {
  /** @type {Stretch[]} */
  const stretches = [];
  let next = 0;
  for (const [first, end] of tokens.words) {
    while (next < first) stretches.push({ first: next, end: ++next });
    if (end > next && end <= count) stretches.push({ first: next, end });
    next = Math.max(next, end);
  }
  while (next < count) stretches.push({ first: next, end: ++next });
  return stretches;
}

/** What ends a sentence, with quotes and brackets after it; a line end does too. */
const SENTENCE_END = /[.!?…。！？]["'”’»)\]」』）]*$/;
const AFTER_SENTENCE = /^[”’»)\]」』）.!?…。！？]+$/;

/**
 * Sentences; special tokens stand by themselves.
 * @param {import('./data').Tokens} tokens
 * @param {number} count
 * @returns {Stretch[]}
 */
function sentencePositions(tokens, count) {
  const special = new Set(tokens.special);
  /** @type {Stretch[]} */
  const stretches = [];
  let first = 0;
  let quotes = 0;
  let closing = false;
  const end = (/** @type {number} */ at) => {
    if (at > first) stretches.push({ first, end: at });
    [first, quotes] = [at, 0];
  };
  // A straight quote closes what one before it in the sentence has opened.
  const closes = (/** @type {string} */ piece) => AFTER_SENTENCE.test(piece) || (piece === '"' && quotes % 2 === 1);
  for (let at = 0; at < count; ++at) {
    if (special.has(at)) {
      end(at);
      end(at + 1);
      continue;
    }
    const raw = tokens.shown[at] ?? tokens.pieces[at] ?? '';
    quotes += Number(pieceAt(tokens, at) === '"');
    /** @type {boolean} */
    const ended = raw.includes('\n') || SENTENCE_END.test(raw.trim()) || (at > first && closing);
    closing = ended && at + 1 < count && closes(pieceAt(tokens, at + 1));
    if (ended && !closing) end(at + 1);
  }
  end(count);
  return stretches;
}

/** @type {WeakMap<import('./data').Tokens, boolean>} */
const knownSentences = new WeakMap();

/**
 * Whether a text has several sentences.
 * @param {import('./data').Tokens | undefined} tokens
 */
function hasSentences(tokens) {
  if (tokens === undefined || !hasNames(tokens)) return false;
  const known = knownSentences.get(tokens) ?? sentencePositions(tokens, tokens.pieces.length).filter(({ first, end }) => end - first > 1).length > 1;
  knownSentences.set(tokens, known);
  return known;
}

/** @type {WeakMap<import('./data').Tokens, Set<number>>} */
const knownInside = new WeakMap();

/**
 * Positions of pieces that go on with a word.
 * @param {import('./data').Tokens | undefined} tokens
 * @returns {Set<number>}
 */
function piecesInWords(tokens) {
  const known = tokens && knownInside.get(tokens);
  if (known) return known;
  /** @type {Set<number>} */
  const inside = new Set();
  for (const [first, end] of tokens?.words ?? []) for (let at = first + 1; at < end; ++at) inside.add(at);
  if (tokens) knownInside.set(tokens, inside);
  return inside;
}

/** @param {import('./data').Tokens | undefined} tokens */
function hasNames(tokens) {
  return tokens !== undefined && tokens.pieces.length > 0;
}

/**
 * The end of a text, behind its last token, in a sample padded to the length of others.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {number} count of positions
 */
function endOfText(tokens, count) {
  if (tokens === undefined || !hasNames(tokens)) return count;
  let end = Math.min(count, tokens.pieces.length);
  while (end > 0 && tokens.pieces[end - 1] === '') --end;
  return end === 0 || tokens.pieces.length < count ? count : end;
}

/** @param {import('./data').Tokens | undefined} tokens */
function hasWords(tokens) {
  return tokens !== undefined && tokens.words.some(([first, end]) => end - first > 1);
}

/**
 * The texts of a pair: what stands between separators, these being the tokens that are alike to
 * the last special one. Empty if there are not at least two.
 * @param {import('./data').Tokens | undefined} tokens
 * @returns {Stretch[]}
 */
function textsOfPair(tokens) {
  const last = tokens?.special.at(-1);
  if (tokens === undefined || last === undefined) return [];
  const special = new Set(tokens.special);
  const separator = tokens.pieces[last];
  /** @type {Stretch[]} */
  const texts = [];
  let first = -1;
  tokens.pieces.forEach((piece, position) => {
    const edge = special.has(position) && (piece === separator || first < 0);
    if (edge && first >= 0) texts.push({ first, end: position });
    if (edge) first = -1;
    else if (first < 0) first = position;
  });
  if (first >= 0) texts.push({ first, end: tokens.pieces.length });
  return texts.length > 1 && texts.length <= 4 ? texts : [];
}

/**
 * Positions whose token has the text in it, or the position that the number names.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {number} count of positions
 * @param {string} wanted
 * @returns {number[]}
 */
function findTokens(tokens, count, wanted) {
  const text = wanted.trim().toLocaleLowerCase();
  if (text === '') return [];
  const found = [];
  for (let position = 0; position < count; ++position) {
    const shown = pieceAt(tokens, position).toLocaleLowerCase();
    const piece = (tokens?.pieces[position] ?? '').toLocaleLowerCase();
    if (shown.includes(text) || piece.includes(text)) found.push(position);
  }
  const named = /^\d+$/.test(text) ? Number(text) : -1;
  if (named >= 0 && named < count && !found.includes(named)) found.unshift(named);
  return found;
}
