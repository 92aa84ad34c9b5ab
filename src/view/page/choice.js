/**
 * The choices of the reader; all counts are from 0.
 * @typedef {object} Choice
 * @property {number} sample
 * @property {number} attention of View.attentions
 * @property {number} head
 * @property {number[]} heads whose lines are drawn
 * @property {string} tensor
 * @property {'map' | 'lines' | 'text' | 'table'} view
 * @property {'maps' | 'statistic' | 'pair' | 'paths' | 'list'} left what stands for each head
 * @property {boolean} enlarged whether the heads take the whole page
 * @property {number} statistic
 * @property {string} sort of the list: "" = by layers and heads; "up:2", "down:2" = by statistic 2
 * @property {number | null} query the pinned one
 * @property {number | null} key the pinned one: with a query the cell whose arithmetic is shown; where the text shows who looks at it, the one that is looked at
 * @property {number | null} answer position of the generated token whose sources are shown
 * @property {string} window the part of the map that is seen, "row:column:zoom"; "" = all
 * @property {string} found what is searched
 * @property {string} what the changes of the softmax that is tried, as `textOfChanges` writes them
 * @property {string} trail places that were left for another head, as `textOfTrail` writes them
 * @property {string} other the head beside the chosen one: "attention:head:sample"; "" = none
 * @property {'linear' | 'log'} scale
 * @property {boolean} own whether colours span the shown map's range
 * @property {boolean} words
 * @property {boolean} sentences in the place of words and tokens
 * @property {'none' | 'first' | 'special'} leave
 * @property {boolean} renormalise
 * @property {number} threshold
 * @property {number} strongest
 * @property {string} part "1-2": queries of text 1, keys of text 2; "" = all
 * @property {'gives' | 'receives'} direction
 * @property {'cells' | 'row'} table
 * @property {Language} language
 * @property {'system' | 'light' | 'dark'} theme
 */

/** @returns {Choice} */
function firstChoice() {
  const { attention, head } = page.view.opening;
  return {
    sample: 0, attention, head, heads: [head], tensor: 'weights', view: 'map', left: 'maps', enlarged: false,
    statistic: 0, sort: '', query: null, key: null, answer: null, window: '', found: '', what: '', trail: '', scale: 'linear', own: false, words: false, sentences: false, leave: 'none',
    renormalise: false, threshold: 0, strongest: 0, part: '', other: '', direction: 'gives', table: 'row', language: 'en', theme: 'system',
  };
}

/**
 * The data, the choices and what they lead to.
 * @typedef {object} Page
 * @property {import('./data').View} view
 * @property {Choice} choice
 * @property {Map<number, ShownMap>} shown by heads; empty while they are read
 * @property {ShownMap | null} other beside the chosen one
 * @property {Cursor | null} cursor
 * @property {number[]} found positions of tokens that were searched
 * @property {number} turn
 * @property {number} sizes how many times the sizes of the page's parts have changed
 * @property {string} problem why nothing can be shown
 * @property {ThumbnailPictures | null} thumbnails
 * @property {{attention: number, head: number} | null} pointedHead of the overview
 */

/**
 * The place that the reader points at: a row and a column of the shown map, and a query, one of several
 * where cells are joined.
 * @typedef {{row: number, column: number | null, query: number}} Cursor
 */

/** @type {Page} */
const page = {
  view: /** @type {import('./data').View} */ (/** @type {unknown} */ (null)),
  choice: /** @type {Choice} */ (/** @type {unknown} */ (null)), shown: new Map(), other: null, cursor: null, found: [], turn: 0, sizes: 0, problem: '', thumbnails: null, pointedHead: null,
};

/** @returns {import('./data').Attention | undefined} */
function chosenAttention() {
  return page.view.attentions[page.choice.attention];
}

/** @returns {import('./data').AttentionSample | undefined} */
function chosenPlace() {
  return chosenAttention()?.samples[page.choice.sample];
}

/** @returns {import('./data').Maps | undefined} */
function chosenMaps() {
  const place = chosenPlace();
  return place?.maps.find(({ tensor }) => tensor === page.choice.tensor) ?? place?.maps[0];
}

/** The map of the chosen head, if it has been read. */
function chosenMap() {
  return page.shown.get(page.choice.head);
}

function queryTokens() {
  const place = chosenPlace();
  return place && page.view.tokens[place.query_tokens];
}

function keyTokens() {
  const place = chosenPlace();
  return place && page.view.tokens[place.key_tokens];
}

/** @returns {ColourScale | undefined} */
function chosenScale() {
  const maps = chosenMaps();
  const shown = chosenMap();
  if (!maps) return undefined;
  return colourScale(maps, page.choice.scale, page.choice.own && shown ? shown : null);
}

/**
 * Choices that the data does not have become those that it has.
 * @param {Choice} choice
 */
function mendChoice(choice) {
  const { attentions, samples, statistics } = page.view;
  choice.sample = within(choice.sample, samples.length);
  choice.attention = within(choice.attention, attentions.length);
  const attention = attentions[choice.attention];
  const heads = attention?.heads ?? 1;
  choice.head = within(choice.head, heads);
  choice.heads = [...new Set(choice.heads)].filter((head) => head >= 0 && head < heads).sort((a, b) => a - b);
  if (choice.heads.length === 0) choice.heads = [choice.head];
  choice.statistic = within(choice.statistic, statistics.length);
  const maps = attention?.samples[choice.sample]?.maps ?? [];
  if (maps[0] && !maps.some(({ tensor }) => tensor === choice.tensor)) choice.tensor = maps[0].tensor;
  if (statistics.length === 0 && choice.left !== 'pair' && choice.left !== 'paths') choice.left = 'maps';
  if (choice.left === 'paths' && !page.view.paths) choice.left = 'maps';
  const place = attention?.samples[choice.sample];
  if (choice.query !== null && choice.query >= (place?.queries ?? 0)) choice.query = null;
  if (choice.key !== null && choice.key >= (place?.keys ?? 0)) choice.key = null;
  const answer = samples[choice.sample]?.answer;
  if (choice.answer !== null && (!answer || choice.answer < answer.first || choice.answer >= answer.first + answer.probabilities.length)) choice.answer = null;
  if (choice.part !== '' && !partsOfPlace().some(([value]) => value === choice.part)) choice.part = '';
}

/**
 * @param {number} index
 * @param {number} count
 */
function within(index, count) {
  return Number.isInteger(index) ? Math.max(0, Math.min(index, count - 1)) : 0;
}

/**
 * The parts of a pair's map: queries of one text and keys of one.
 * @returns {[value: string, query: Stretch, key: Stretch][]}
 */
function partsOfPlace() {
  const queries = textsOfPair(queryTokens());
  const keys = textsOfPair(keyTokens());
  return queries.flatMap((query, from) =>
    keys.map((key, to) => /** @type {[string, Stretch, Stretch]} */ ([`${from}-${to}`, query, key])));
}

/** @returns {MapChoices} */
function mapChoices() {
  const { words, sentences, leave, renormalise, threshold, strongest, part } = page.choice;
  const [, queryPart = null, keyPart = null] = partsOfPlace().find(([value]) => value === part) ?? [];
  return { words, sentences, leave, renormalise, threshold, strongest, queryPart, keyPart };
}

/** Whether cells of the chosen tensor may be added up. */
function areWeights() {
  return page.choice.tensor === 'weights' && !chosenMaps()?.diverging;
}

/**
 * A layer's number, as the name of its tensor tells it.
 * @param {import('./data').Attention} attention
 */
function layerNumber(attention) {
  const named = /(\d+)(?!.*\d)/.exec(attention.name);
  if (named) return Number(named[1]);
  return page.view.attentions.filter(({ stack }) => inLanguage(stack) === inLanguage(attention.stack)).indexOf(attention);
}

/**
 * A head's number: a page may hold only some heads of an attention.
 * @param {import('./data').Attention | undefined} attention
 * @param {number} head
 */
function headNumber(attention, head) {
  return attention?.numbers?.[head] ?? head;
}

/**
 * @param {import('./data').Attention} attention
 * @param {number} head
 */
function headTitle(attention, head) {
  const title = inLanguage(attention.title);
  const name = say('head_number', { head: headNumber(attention, head) });
  return title === '' ? name : `${title}${speech.language === 'zh' ? '，' : ', '}${name}`;
}
