/**
 * A place that heads look at: the share of weight that it has, over the queries that have such a place among others,
 * and the share that even weights would give it.
 * @typedef {{sentence: TextName, share: number, even: number, queries: number}} Pattern
 */

/**
 * What a map does with its weights, over the queries that see more than one key.
 * @typedef {object} HeadFacts
 * @property {Pattern[]} patterns
 * @property {number} queries
 * @property {number} strongest mean of the largest weight of a query
 * @property {number} even mean of one over the number of keys that a query sees
 * @property {number} spread mean entropy of the queries, as a share of that of even weights
 * @property {number[]} keys that are strongest of queries, the one that gets most weight so first
 */

/** A pattern is told of a head that gives it at least this share, and this many times what even weights would. */
const LEAST_TOLD = 0.5;
const TIMES_EVEN = 2;

/**
 * Heads spread their weight whose entropy is a larger share of that of even weights, and whose strongest key has less
 * than so many even weights.
 */
const LEAST_SPREAD = 0.8;
const MOST_SPREAD = 1.5;

/** Patterns are told of so many queries at least, those of every text of so large a part of all. */
const LEAST_QUERIES = 3;
const LEAST_PART = 0.25;

/** Signs that end parts of a text. */
const PUNCTUATION = /^[.,;:!?。，；：！？、]+$/;

/** @type {WeakMap<CellMap, HeadFacts>} */
const knownFacts = new WeakMap();

/**
 * The keys of each pattern, by queries, with the sentence that tells it.
 * @param {import('./data').Tokens | undefined} queries
 * @param {import('./data').Tokens | undefined} keys
 * @param {boolean} same whether queries and keys are the same tokens
 * @param {number} count of keys
 * @returns {[TextName, (query: number) => number[], everywhere: boolean][]}
 */
function patternKeys(queries, keys, same, count) {
  const special = new Set(keys?.special ?? []);
  const all = Array.from({ length: count }, (_, key) => key);
  const separators = all.filter((key) => special.has(key) && key > 0);
  const marks = all.filter((key) => PUNCTUATION.test(pieceAt(keys, key)));
  /** @type {Map<string, number[]>} */
  const places = new Map();
  (same ? queries?.pieces ?? [] : []).forEach((piece, at) => places.set(piece, [...(places.get(piece) ?? []), at]));
  const copies = (/** @type {number} */ query) => (places.get(queries?.pieces[query] ?? '') ?? []).filter((at) => at < query);
  /** @type {[TextName, (query: number) => number[], boolean][]} */
  const between = same ? [
    ['head_induction', (query) => copies(query).map((at) => at + 1).filter((at) => at < query), false], ['head_previous', (query) => [query - 1], true],
    ['head_duplicate', copies, false], ['head_next', (query) => [query + 1], true], ['head_self', (query) => [query], true],
  ] : [];
  return [...between, ['head_separators', () => separators, false], ['head_punctuation', () => marks, false], ['head_first', () => [0], true]];
}

/**
 * @param {CellMap} map
 * @param {import('./data').Tokens | undefined} queryTokens
 * @param {import('./data').Tokens | undefined} keyTokens
 * @param {boolean} same
 * @returns {HeadFacts}
 */
function factsOfMap(map, queryTokens, keyTokens, same) {
  const known = knownFacts.get(map);
  if (known) return known;
  const { rows, columns } = map;
  const patterns = patternKeys(queryTokens, keyTokens, same, columns).map(([sentence, keysOf, everywhere]) =>
    ({ sentence, keysOf, everywhere, share: 0, even: 0, queries: 0 }));
  const zerosHide = !map.hidden && same && rows === columns && isZeroAfterQuery(map);
  const sums = new Float64Array(columns);
  const facts = { queries: 0, strongest: 0, even: 0, spread: 0 };
  for (let row = 0; row < rows; ++row) {
    const isSeen = (/** @type {number} */ key) => key >= 0 && key < columns && !map.hidden?.[row * columns + key] && !(zerosHide && key > row);
    const one = factsOfRow(map.values.subarray(row * columns, (row + 1) * columns), isSeen);
    if (one.seen < 2 || !(one.sum > 0)) continue;
    ++facts.queries;
    facts.strongest += one.largest;
    facts.even += 1 / one.seen;
    facts.spread += one.entropy / Math.log(one.seen);
    sums[one.key] = (sums[one.key] ?? 0) + one.largest;
    for (const pattern of patterns) {
      const keys = pattern.keysOf(row).filter(isSeen);
      if (keys.length === 0 || keys.length === one.seen) continue;
      ++pattern.queries;
      pattern.share += keys.reduce((sum, key) => sum + (map.values[row * columns + key] ?? 0), 0) / one.sum;
      pattern.even += keys.length / one.seen;
    }
  }
  const mean = (/** @type {number} */ sum, /** @type {number} */ count) => (count > 0 ? sum / count : 0);
  const made = {
    queries: facts.queries, strongest: mean(facts.strongest, facts.queries), even: mean(facts.even, facts.queries), spread: mean(facts.spread, facts.queries),
    keys: [...sums.keys()].filter((key) => (sums[key] ?? 0) > 0).sort((a, b) => (sums[b] ?? 0) - (sums[a] ?? 0)),
    patterns: patterns.filter(({ queries, everywhere }) => queries >= Math.min(LEAST_QUERIES, facts.queries) && (!everywhere || queries >= LEAST_PART * facts.queries))
      .map(({ sentence, share, even, queries }) => ({ sentence, share: mean(share, queries), even: mean(even, queries), queries })),
  };
  knownFacts.set(map, made);
  return made;
}

/** @param {CellMap} map whose mask is not known */
function isZeroAfterQuery({ values, rows, columns }) {
  for (let row = 0; row < rows; ++row) {
    for (let key = row + 1; key < columns; ++key) if (values[row * columns + key] !== 0) return false;
  }
  return true;
}

/**
 * @param {Float32Array | Float64Array} row
 * @param {(key: number) => boolean} isSeen
 */
function factsOfRow(row, isSeen) {
  const facts = { seen: 0, sum: 0, largest: 0, key: 0, entropy: 0 };
  for (let key = 0; key < row.length; ++key) {
    if (!isSeen(key)) continue;
    const weight = row[key] ?? NaN;
    ++facts.seen;
    if (!(weight > 0) || !Number.isFinite(weight)) continue;
    facts.sum += weight;
    facts.entropy -= weight * Math.log(weight);
    if (weight > facts.largest) [facts.largest, facts.key] = [weight, key];
  }
  return facts;
}

/**
 * The pattern that tells most of a head: of those that have half of the weight and twice what even weights would give
 * them, the one that is farthest above these.
 * @param {HeadFacts} facts
 * @returns {Pattern | undefined}
 */
function toldPattern({ patterns }) {
  const lift = (/** @type {Pattern} */ { share, even }) => (share - even) / (1 - even);
  const told = patterns.filter(({ share, even }) => share >= LEAST_TOLD && share >= TIMES_EVEN * even);
  return told.sort((a, b) => lift(b) - lift(a))[0];
}

/**
 * "1.2" is head 2 of layer 1, both from 0, where there are layers.
 * @param {import('./data').Attention} attention
 * @param {number} head
 * @param {number} [number] that of a key or value head in its place
 */
function headName(attention, head, number = headNumber(attention, head)) {
  return page.view.layered ? `${layerNumber(attention)}.${number}` : String(number);
}

/**
 * The same with the stack, where there are several.
 * @param {import('./data').Attention} attention
 * @param {number} head
 * @param {number} [number] that of a key or value head in its place
 */
function headNameInStack(attention, head, number = headNumber(attention, head)) {
  const several = page.view.attentions.some(({ stack }) => inLanguage(stack) !== inLanguage(attention.stack));
  const name = headName(attention, head, number);
  return several ? say('head_of_stack', { head: name, stack: inLanguage(attention.stack) }) : name;
}

/** A plain sentence about the chosen head, from the weights that are shown of it, and what many texts say of that. @returns {(Node | string)[]} */
function headSentence() {
  const attention = chosenAttention();
  const [place, shown] = [chosenPlace(), chosenMap()];
  if (!attention || !place || !shown || !areWeights() || !attention.statistics) return [];
  const head = headNameInStack(attention, page.choice.head);
  if (!shown.map.exactCells) return [pooledSentence(head)];
  const ofPicture = pictureSentence(head, shown.map);
  if (ofPicture) return [ofPicture];
  const facts = factsOfMap(shown.map, queryTokens(), keyTokens(), place.same_positions);
  if (facts.queries === 0) return [];
  const told = toldPattern(facts);
  if (told) {
    const some = told.queries < facts.queries ? say('head_some_queries', { count: told.queries, all: facts.queries }) : '';
    return [say(told.sentence, { head, share: twoDigits(told.share), even: twoDigits(told.even), some }), make('span', { class: 'quiet', text: evidenceSaying(told.sentence) })];
  }
  const numbers = { head, share: twoDigits(facts.strongest), even: twoDigits(facts.even) };
  const keys = facts.keys.slice(0, 2).map((key) => placeName(keyTokens(), { first: key, end: key + 1 }, false, 160)).join(say('list_join'));
  if (facts.strongest >= LEAST_TOLD && facts.strongest >= TIMES_EVEN * facts.even) return [say('head_concentrates', { ...numbers, keys })];
  if (facts.spread > LEAST_SPREAD && facts.strongest < MOST_SPREAD * facts.even) return [say('head_spread', numbers)];
  return [say('head_mixed', { ...numbers, keys })];
}

/**
 * A share of the weight; one that two decimals would make nothing has its first digit.
 * @param {number} share
 */
function twoDigits(share) {
  return share >= 0.01 || share === 0 ? share.toFixed(2) : shortNumber(Number(share.toPrecision(1)));
}

/**
 * Of joined cells only what was counted before they were joined is known.
 * @param {string} head
 */
function pooledSentence(head) {
  const largest = statisticOf(page.choice.attention, page.choice.head, page.view.statistics.findIndex(({ name }) => name === 'confidence'));
  return largest === null ? '' : say('head_largest', { head, share: twoDigits(largest) });
}

/**
 * Of a picture: the patch that the first token that is no patch, as [CLS], looks at most.
 * @param {string} head
 * @param {CellMap} map
 */
function pictureSentence(head, map) {
  const before = tokensBefore(map.keys);
  if (!chosenPicture() || tokensBefore(map.queries) < 1 || before < 0) return '';
  const patches = map.values.subarray(before, map.columns);
  const most = patches.indexOf(Math.max(...patches));
  if (most < 0) return '';
  return say('head_of_picture', {
    head, query: pieceAt(queryTokens(), 0), key: pieceAt(keyTokens(), before + most) || String(before + most),
    share: twoDigits(patches[most] ?? 0), even: twoDigits(1 / map.columns) });
}
