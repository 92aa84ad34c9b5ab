/** Most tokens of the line; longer texts end with "…". */
const MOST_LINE_TOKENS = 400;

/** A pattern is told of a head that gives it at least this share of its weight. */
const LEAST_TOLD = 0.3;

/** Patterns of heads, those between tokens first; each has its sentence. @type {[statistic: string, sentence: TextName][]} */
const PATTERNS = [
  ['induction_score', 'head_induction'], ['previous', 'head_previous'], ['duplicate_score', 'head_duplicate'], ['next', 'head_next'],
  ['separators', 'head_separators'], ['self', 'head_self'], ['first', 'head_first'],
];

/**
 * "1.2" is head 2 of layer 1, both from 0, where there are layers.
 * @param {import('./data').Attention} attention
 * @param {number} head
 */
function headName(attention, head) {
  const number = headNumber(attention, head);
  return page.view.first_number === 0 ? `${layerNumber(attention)}.${number}` : String(number);
}

/**
 * A plain sentence about a head: the pattern that has most of its weight.
 * @param {number} index of the attention
 * @param {number} head
 */
function headSentence(index, head) {
  const attention = page.view.attentions[index];
  const valueOf = (/** @type {string} */ name) => statisticOf(index, head, page.view.statistics.findIndex((one) => one.name === name));
  if (!attention) return '';
  const name = headName(attention, head);
  let best = { value: LEAST_TOLD, sentence: /** @type {TextName | null} */ (null) };
  for (const [statistic, sentence] of PATTERNS) {
    const value = valueOf(statistic);
    if (value !== null && value > best.value) best = { value, sentence };
  }
  if (best.sentence) return say(best.sentence, { head: name, share: best.value.toFixed(2) });
  const largest = valueOf('confidence');
  return largest === null ? '' : say('head_spread', { head: name, share: largest.toFixed(2) });
}

/** Writes the text that the maps are of, what the head looks at, and what a model predicts. */
function writeTextLine() {
  const box = byId('text-line', HTMLDivElement);
  // Patches have their picture in place of a text.
  const both = chosenPicture() ? [] : [...new Set([queryTokens(), keyTokens()])].filter((tokens) => hasNames(tokens));
  box.hidden = both.length === 0;
  box.replaceChildren(...both.map((tokens) => lineOfTokens(tokens, tokens === queryTokens())));
  byId('head-sentence', HTMLParagraphElement).textContent = headSentence(page.choice.attention, page.choice.head);
  byId('predictions', HTMLParagraphElement).replaceChildren(...predictionsOfSample());
  byId('by-layer', HTMLDivElement).replaceChildren(...predictionsByLayer());
}

/**
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} pins whether a click pins the query
 */
function lineOfTokens(tokens, pins) {
  const count = Math.min(endOfText(tokens, tokens?.pieces.length ?? 0), MOST_LINE_TOKENS);
  const inWord = piecesInWords(tokens);
  const line = make('p', { class: 'line-of-tokens', dir: 'auto' });
  for (let position = 0; position < count; ++position) {
    if (position > 0 && !inWord.has(position)) line.append(' ');
    const piece = make('bdi', { text: inWord.has(position) ? pieceAt(tokens, position).replace(/^(·|##)/, '') : pieceAt(tokens, position) });
    if (pins && position === page.choice.query) piece.classList.add('pinned-token');
    if (pins) piece.dataset['position'] = String(position);
    line.append(piece);
  }
  if (count < (tokens?.pieces.length ?? 0) && count === MOST_LINE_TOKENS) line.append(' …');
  return line;
}

/** The likeliest tokens at each predicted position. @returns {(Node | string)[]} */
function predictionsOfSample() {
  const predictions = page.view.samples[page.choice.sample]?.predictions ?? [];
  return predictions.flatMap(({ position, likeliest }) => [
    page.view.predicts_next ? say('next_token') : say('masked_token', { position: position + 1 }),
    ...likeliest.slice(0, 5).flatMap(({ text, probability }) => {
      const share = make('span', { class: 'share', 'aria-hidden': 'true' });
      share.style.width = `${Math.max(1, 60 * probability)}px`;
      return [' ', make('span', { class: 'prediction' }, [predictedToken(text), share, probability.toFixed(2)])];
    }), ' ']);
}

/** @param {string} text */
function predictedToken(text) {
  return isolated(pieceAt({ pieces: [text], shown: [text], words: [], special: [] }, 0));
}

/** What the states that leave each layer would predict, the darker the more probable. @returns {Node[]} */
function predictionsByLayer() {
  const predictions = page.view.samples[page.choice.sample]?.predictions ?? [];
  return predictions.flatMap(({ position, by_layer: tokens }) => (tokens === undefined ? [] : [make('p', {}, [
    page.view.predicts_next ? say('by_layer') : say('masked_by_layer', { position: position + 1 }),
    ...tokens.flatMap(({ layer, text, probability }) => {
      const token = make('span', { class: 'prediction', title: say('layer_says', { layer, share: probability.toFixed(2) }) }, [
        make('span', { class: 'number', text: String(layer) }), ' ', predictedToken(text)]);
      token.style.setProperty('--share', `${Math.round(100 * probability)}%`);
      return [' ', token];
    })])]));
}

function listenToTextLine() {
  byId('text-line', HTMLDivElement).addEventListener('click', (event) => {
    const position = event.target instanceof HTMLElement ? event.target.dataset['position'] : undefined;
    if (position !== undefined) change({ query: page.choice.query === Number(position) ? null : Number(position) });
  });
}

/** @type {TextName[]} */
const HINTS = ['hint_row', 'hint_column', 'hint_colour'];

/** Hints that the reader has put away. @type {Set<TextName>} */
const hintsAway = new Set();

/** What rows, columns and colours are, until the reader has pinned a query or put the hints away. */
function hintsOfMap() {
  if (page.choice.view !== 'map' || page.choice.query !== null) return [];
  return HINTS.filter((name) => !hintsAway.has(name)).map((name) => {
    const away = make('button', { type: 'button', class: 'unpin', text: '×', 'aria-label': say('hint_away'), title: say('hint_away') });
    away.addEventListener('click', () => {
      hintsAway.add(name);
      writeReadout();
    });
    return make('p', { class: 'hint' }, [say(name), ' ', away]);
  });
}
