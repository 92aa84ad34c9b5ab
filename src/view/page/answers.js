/**
 * What a generated token drew on.
 * @typedef {object} TokenSources
 * @property {boolean} exact whether the numbers are parts of the token's logit; else they are weights
 * @property {Map<import('./data').Tokens, Float64Array>} shares of the tokens that were read
 * @property {SourceHead[]} heads the strongest first
 * @property {SourceHead | null} copier the head that takes most from earlier copies of the token
 */

/** @typedef {{attention: number, head: number, value: number, key: number, copied: number}} SourceHead */

/** What is shown, and what is being read. @type {{wanted: string, sources: TokenSources | null}} */
const answerView = { wanted: '', sources: null };

/** Heads that are named beside the one that copies. */
const NAMED_HEADS = 4;

/** Tokens of a smaller part of the largest share keep the page's ground. */
const LEAST_TINTED = 0.02;

/** A head copies if it gives at least this share of its weight to earlier copies. */
const LEAST_COPIED = 0.1;

/** @returns {import('./data').Answer | undefined} */
function chosenAnswer() {
  return page.view.samples[page.choice.sample]?.answer;
}

/** The attentions that read the answer's text as queries. */
function attentionsOfAnswer() {
  const { sample } = page.choice;
  const all = page.view.attentions.map((attention, index) => ({ attention, index, place: attention.samples[sample] }));
  const list = all.filter(({ place }) => place).at(-1)?.place?.query_tokens;
  return all.flatMap(({ attention, index, place }) => (place && place.query_tokens === list && place.maps[0]?.tensor === 'weights' ? [{ attention, index, place, maps: place.maps[0] }] : []));
}

/** The tokens that the answer is among. */
function answerTokens() {
  const place = attentionsOfAnswer().at(-1)?.place;
  return place && page.view.tokens[place.query_tokens];
}

/**
 * Earlier positions of a token of the answer.
 * @param {number} position
 */
function copiesOf(position) {
  const tokens = answerTokens();
  const own = pieceAt(tokens, position);
  return Array.from({ length: position }, (_, at) => at).filter((at) => own !== '' && pieceAt(tokens, at) === own);
}

/**
 * By the parts of the token's logit.
 * @param {import('./data').AnswerSource} source
 * @returns {TokenSources}
 */
function sourcesOfLogit({ tokens, cross_tokens: cross, heads }) {
  /** @type {TokenSources['shares']} */
  const shares = new Map();
  for (const { place } of attentionsOfAnswer()) {
    const list = page.view.tokens[place.key_tokens];
    const numbers = place.key_tokens === place.query_tokens ? tokens : cross;
    if (list && numbers) shares.set(list, Float64Array.from(numbers));
  }
  const named = heads.flatMap(({ attention: name, head, ...rest }) => {
    const attention = page.view.attentions.findIndex((one) => one.name === name);
    const of = page.view.attentions[attention];
    const at = of ? Array.from({ length: of.heads }, (_, index) => headNumber(of, index)).indexOf(head) : -1;
    return at < 0 ? [] : [{ attention, head: at, ...rest }];
  });
  const copier = named.reduce((/** @type {SourceHead | null} */ best, one) => (one.copied > (best?.copied ?? 0) ? one : best), null);
  return { exact: true, shares, heads: named.slice(0, NAMED_HEADS), copier };
}

/**
 * By the weights of the query that predicted the token: their means over all heads.
 * @param {number} position of the token
 * @returns {Promise<TokenSources>}
 */
async function sourcesOfWeights(position) {
  const [query, copies] = [position - 1, copiesOf(position)];
  /** @type {TokenSources['shares']} */
  const shares = new Map();
  /** @type {Map<import('./data').Tokens, number>} */
  const counts = new Map();
  /** @type {SourceHead[]} */
  const heads = [];
  await Promise.all(attentionsOfAnswer().flatMap(({ attention, index, place, maps }) => Array.from({ length: attention.heads }, async (_, head) => {
    const list = page.view.tokens[place.key_tokens];
    if (!list) return;
    const row = await readRow(place, maps, head, query);
    const sums = shares.get(list) ?? new Float64Array(place.keys);
    row.forEach((weight, key) => { sums[key] = (sums[key] ?? 0) + weight; });
    shares.set(list, sums);
    counts.set(list, (counts.get(list) ?? 0) + 1);
    const key = row.reduce((most, weight, at) => (weight > (row[most] ?? 0) ? at : most), 0);
    const copied = place.key_tokens === place.query_tokens ? copies.reduce((sum, at) => sum + (row[at] ?? 0), 0) : 0;
    heads.push({ attention: index, head, value: row[key] ?? 0, key, copied });
  })));
  for (const [list, sums] of shares) sums.forEach((sum, key) => { sums[key] = sum / (counts.get(list) ?? 1); });
  heads.sort((a, b) => b.copied - a.copied || b.value - a.value);
  const copier = heads[0] && heads[0].copied >= LEAST_COPIED ? heads[0] : null;
  return { exact: false, shares, heads: [], copier };
}

/**
 * A row of weights; of joined cells the strongest keys alone.
 * @param {import('./data').AttentionSample} place
 * @param {import('./data').Maps} maps
 * @param {number} head
 * @param {number} query
 */
async function readRow(place, maps, head, query) {
  const block = maps.heads[head];
  const row = new Float64Array(place.keys);
  if (!block) return row;
  if (block.strongest !== undefined && block.strongest_keys !== undefined) {
    const { keys, values, count } = decodeStrongest(await readBlock(block.strongest), place.queries, block.strongest_keys);
    for (let at = query * count; at < (query + 1) * count; ++at) if (keys[at] !== NO_KEY) row[keys[at] ?? 0] = values[at] ?? 0;
    return row;
  }
  const cell = cellReader(await readRaw(block), maps.diverging);
  return row.map((_, key) => {
    const weight = cell(query, key);
    return weight !== null && Number.isFinite(weight) ? weight : 0;
  });
}

/** Shows what the chosen token of the answer drew on. */
async function showAnswer() {
  const answer = chosenAnswer();
  const { answer: position, sample } = page.choice;
  const box = byId('answer', HTMLElement);
  box.hidden = !answer || answer.probabilities.length === 0;
  if (!answer || box.hidden) return;
  const slider = byId('answer-token', HTMLInputElement);
  [slider.min, slider.max] = [String(answer.first - 1), String(answer.first + answer.probabilities.length - 1)];
  slider.value = String(position ?? answer.first - 1);
  slider.setAttribute('aria-valuetext', position === null ? say('answer_none') : placeName(answerTokens(), { first: position, end: position + 1 }, false));
  const wanted = JSON.stringify([sample, position]);
  if (wanted !== answerView.wanted) {
    answerView.wanted = wanted;
    answerView.sources = null;
    const source = position === null ? undefined : answer.sources?.[position - answer.first];
    const sources = position === null ? null : source ? sourcesOfLogit(source) : await sourcesOfWeights(position);
    if (wanted !== answerView.wanted) return;
    answerView.sources = sources;
    writeTextLine();
  }
  writeAnswer();
}

/** Writes the chosen token, its probability, and the head that copied it. */
function writeAnswer() {
  const { answer: position } = page.choice;
  const [answer, sources] = [chosenAnswer(), answerView.sources];
  const box = byId('answer-said', HTMLSpanElement);
  if (!answer || position === null || !sources) return box.replaceChildren(say('answer_none'));
  const probability = answer.probabilities[position - answer.first] ?? NaN;
  const { copier, exact } = sources;
  const parts = [isolated(placeName(answerTokens(), { first: position, end: position + 1 }, false)), say('answer_share', { share: probability.toFixed(2) })];
  if (copier) parts.push(say(exact ? 'answer_copied_logit' : 'answer_copied_weight', { value: fourDigits(copier.copied) }), ' ', sourceButton(copier, position));
  else parts.push(say(copiesOf(position).length ? 'answer_not_copied' : 'answer_new'));
  const others = sources.heads.filter((one) => one !== copier);
  if (others.length) parts.push(' ', say('answer_heads'), ...others.flatMap((one) => [' ', sourceButton(one, position), ` ${fourDigits(one.value)}`]));
  box.replaceChildren(...parts, ' ', make('span', { class: 'quiet', text: say(exact ? 'answer_colours_logit' : 'answer_colours_weight') }));
}

/**
 * A head that leads to its map, with the cell of what it took pinned.
 * @param {SourceHead} source
 * @param {number} position of the token
 */
function sourceButton({ attention, head, key }, position) {
  const of = page.view.attentions[attention];
  const keys = page.view.tokens[of?.samples[page.choice.sample]?.key_tokens ?? -1];
  const button = make('button', { type: 'button', class: 'part', text: of ? headNameInStack(of, head) : '' });
  button.append(' ← ', isolated(placeName(keys, { first: key, end: key + 1 }, false, 120)));
  button.addEventListener('click', () => change({ attention, head, heads: [head], query: position - 1, key }));
  return button;
}

/**
 * The ground of a token of the text, by its share in the chosen token of the answer.
 * @param {import('./data').Tokens | undefined} tokens
 * @param {number} position
 * @returns {number | null} a pixel
 */
function tintOfSource(tokens, position) {
  const shares = tokens && answerView.sources?.shares.get(tokens);
  const value = shares?.[position];
  if (!shares || value === undefined || value === 0 || page.choice.answer === null) return null;
  const most = shares.reduce((largest, share) => Math.max(largest, Math.abs(share)), 0);
  if (Math.abs(value) < LEAST_TINTED * most) return null;
  const { weights, diverging } = presentColours();
  const map = answerView.sources?.exact ? diverging : weights;
  return pixelOfValue({ low: answerView.sources?.exact ? -most : 0, high: most, log: false, map, table: pixelTable(map.table) }, value);
}

function listenToAnswer() {
  const slider = byId('answer-token', HTMLInputElement);
  slider.addEventListener('input', () => {
    const [answer, position] = [chosenAnswer(), Number(slider.value)];
    const { query, key } = page.choice;
    change({ answer: answer && position >= answer.first ? position : null, query, key });
  });
}
