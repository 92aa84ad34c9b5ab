/**
 * What stands for a head where pairs are looked at: the weight of the pair, or of one token its largest and the other
 * token of it. Null where the head has other tokens, or its mask hides the pair.
 * @typedef {{value: number, other: number | null} | null} PairCell
 */

const pairView = {
  /** The pair that is wanted, and the one whose weights are there. */
  wanted: '',
  shown: '',
  /** By attention and head. @type {Map<string, PairCell>} */
  cells: new Map(),
  /** The largest weight that the key gives to the query. @type {{attention: number, head: number, value: number} | null} */
  turned: null,
};

/** Heads that are listed by the weight. */
const LISTED_HEADS = 8;

/** More tokens than this are not listed in the fields. */
const MOST_CHOSEN_TOKENS = 1000;

/**
 * The tokens whose pair is looked at.
 * @param {import('./data').AttentionSample} place
 */
function hasChosenTokens(place) {
  const chosen = chosenPlace();
  return chosen !== undefined && place.queries === chosen.queries && place.keys === chosen.keys &&
    place.query_tokens === chosen.query_tokens && place.key_tokens === chosen.key_tokens;
}

/** Reads the weight of the chosen pair in every head, and shows it. */
async function showPairs() {
  byId('pair-bar', HTMLDivElement).hidden = page.choice.left !== 'pair';
  byId('pair-list', HTMLOListElement).hidden = page.choice.left !== 'pair';
  if (page.choice.left !== 'pair') return;
  const { sample, query, key } = page.choice;
  const place = chosenPlace();
  const wanted = JSON.stringify([sample, place?.query_tokens, place?.key_tokens, place?.queries, place?.keys, query, key]);
  const known = wanted === pairView.wanted;
  if (!known) pairView.turned = null;
  writePairBar();
  if (known) return writePairList();
  pairView.wanted = wanted;
  /** @type {Map<string, PairCell>} */
  const cells = new Map();
  /** @type {typeof pairView.turned} */
  let turned = null;
  await Promise.all(page.view.attentions.flatMap((attention, index) => Array.from({ length: attention.heads }, async (_, head) => {
    const own = attention.samples[sample];
    const same = own && hasChosenTokens(own) && (query !== null || key !== null);
    cells.set(`${index}:${head}`, same ? await readPair(own, head, query, key) : null);
    const other = same && own.same_positions && query !== null && key !== null ? await readPair(own, head, key, query) : null;
    if (other && other.value > (turned?.value ?? 0)) turned = { attention: index, head, value: other.value };
  })));
  if (wanted !== pairView.wanted) return;
  pairView.cells = cells;
  pairView.turned = turned;
  pairView.shown = wanted;
  drawOverview();
  writePairList();
}

/**
 * @param {import('./data').AttentionSample} place
 * @param {number} head
 * @param {number | null} query
 * @param {number | null} key
 * @returns {Promise<PairCell>}
 */
async function readPair(place, head, query, key) {
  const maps = place.maps[0];
  const block = maps?.heads[head];
  if (!maps || !block) return null;
  const cell = cellReader(await readRaw(block), maps.diverging);
  const rowOf = (/** @type {number} */ position) => Math.floor((position * block.rows) / place.queries);
  const columnOf = (/** @type {number} */ position) => Math.floor((position * block.columns) / place.keys);
  if (query !== null && key !== null) {
    const value = cell(rowOf(query), columnOf(key));
    return value === null ? null : { value, other: null };
  }
  let [value, other] = [-Infinity, -1];
  const fixed = query ?? key ?? 0;
  const joined = block.rows !== place.queries || block.columns !== place.keys;
  for (let position = 0; position < (query === null ? place.queries : place.keys); ++position) {
    // What a token gives to itself is no answer to who reads it.
    if (query === null && position === fixed && place.same_positions && !joined) continue;
    const weight = query === null ? cell(rowOf(position), columnOf(fixed)) : cell(rowOf(fixed), columnOf(position));
    if (weight !== null && weight > value) [value, other] = [weight, position];
  }
  return other < 0 ? null : { value, other };
}

/**
 * @param {Pen} pen
 * @param {number} attention
 * @param {number} head
 * @param {number} x
 * @param {number} y
 * @param {number} side
 */
function paintPair(pen, attention, head, x, y, side) {
  const cell = pairView.cells.get(`${attention}:${head}`) ?? null;
  const maps = page.view.attentions[attention]?.samples[page.choice.sample]?.maps[0];
  if (!maps) return;
  const scale = colourScale(maps, page.choice.scale, null);
  const pixel = cell ? pixelOfValue(scale, cell.value) : pixelOf(scale.map.hidden);
  pen.rect(x, y, side, side, colourOf(pixel));
  if (!cell) return side >= 12 ? pen.line(x + 1, y + side - 1, x + side - 1, y + 1, '#777777', 0.7, 0.7) : undefined;
  if (side < 26) return;
  const size = Math.min(13, side * 0.34);
  const named = side >= 44 ? pairName(cell) : '';
  pen.text(cellText(cell.value, size, side), x + side / 2, y + side / 2 - (named ? 7 : 0), { size, fill: readableOn(pixel), align: 'center' });
  if (named) pen.text(shortened(named, 11, side - 6), x + side / 2, y + side / 2 + 9, { size: 11, fill: readableOn(pixel), align: 'center' });
}

/**
 * The other token of a cell of one token.
 * @param {PairCell} cell
 */
function pairName(cell) {
  if (!cell || cell.other === null) return '';
  const tokens = page.choice.query === null ? queryTokens() : keyTokens();
  return pieceAt(tokens, cell.other) || String(cell.other);
}

/**
 * @param {string} place
 * @param {number} attention
 * @param {number} head
 */
function pairLabel(place, attention, head) {
  const cell = pairView.cells.get(`${attention}:${head}`) ?? null;
  const name = pairName(cell);
  return say('statistic_cell', { place, value: cell ? fourDigits(cell.value) + (name ? ` ${name}` : '') : say('unknown_value') });
}

/** The fields of the pair, and what is coloured. */
function writePairBar() {
  const { query, key } = page.choice;
  const place = chosenPlace();
  const options = (/** @type {import('./data').Tokens | undefined} */ tokens, /** @type {number} */ count, /** @type {number | null} */ chosen) => {
    const positions = Array.from({ length: Math.min(count, MOST_CHOSEN_TOKENS) }, (_, at) => at);
    if (chosen !== null && chosen >= positions.length) positions.push(chosen);
    return [/** @type {[string, string]} */ (['', say('pair_any')]),
      ...positions.map((at) => /** @type {[string, string]} */ ([String(at), shortened(placeName(tokens, { first: at, end: at + 1 }, false), 14, 200)]))];
  };
  fillSelect(byId('pair-query', HTMLSelectElement), options(queryTokens(), place?.queries ?? 0, query), query === null ? '' : String(query));
  fillSelect(byId('pair-key', HTMLSelectElement), options(keyTokens(), place?.keys ?? 0, key), key === null ? '' : String(key));
  byId('pair-swap', HTMLButtonElement).hidden = !place?.same_positions;
  writePairSaid();
}

/**
 * Two words as query and key; turned round where only the second one sees the first, as in reading order under a causal mask.
 * @param {number} query
 * @param {number} key
 */
function inSeenOrder(query, key) {
  return isOneWay(key, query) ? { query: key, key: query } : { query, key };
}

/**
 * Whether the mask of the chosen head shows the key to the query, and hides the query from the key.
 * @param {number} query
 * @param {number} key
 */
function isOneWay(query, key) {
  const [place, map] = [chosenPlace(), chosenMap()?.map];
  if (!place?.same_positions || !map?.exactCells || !areWeights()) return false;
  const causal = !map.hidden && map.rows === map.columns && isZeroAfterQuery(map);
  const sees = (/** @type {number} */ row, /** @type {number} */ column) => (causal ? column <= row : !map.hidden?.[row * map.columns + column]);
  return sees(query, key) && !sees(key, query);
}

/** Says whose weight is coloured, and what the other order of the words has. */
function writePairSaid() {
  const { query, key } = page.choice;
  const names = {
    query: query === null ? '' : placeName(queryTokens(), { first: query, end: query + 1 }, false), key: key === null ? '' : placeName(keyTokens(), { first: key, end: key + 1 }, false),
  };
  const said = /** @type {TextName} */ (query === null ? (key === null ? 'pair_none' : 'pair_of_key') : key === null ? 'pair_of_query' : 'pair_of_both');
  const { turned } = pairView;
  const of = turned && page.view.attentions[turned.attention];
  const oneWay = query !== null && key !== null && isOneWay(query, key);
  const other = oneWay ? say('pair_one_way', names) : turned && of ? say('pair_turned', { head: headNameInStack(of, turned.head), value: fourDigits(turned.value) }) : '';
  byId('pair-said', HTMLParagraphElement).textContent = `${say(said, names)} ${query !== null && key !== null ? other : ''}`.trim();
}

/** The heads with the largest weight, as buttons. */
function writePairList() {
  writePairSaid();
  const list = byId('pair-list', HTMLOListElement);
  const all = [...pairView.cells].flatMap(([place, cell]) => {
    const [attention = 0, head = 0] = place.split(':').map(Number);
    return cell ? [{ attention, head, cell }] : [];
  }).sort((a, b) => b.cell.value - a.cell.value).slice(0, LISTED_HEADS);
  const scale = chosenScale();
  const { query, key } = page.choice;
  if (query !== null && key !== null && all.length === 0 && pairView.shown !== '') {
    const why = (chosenPlace()?.hidden_because ?? []).map(inLanguage);
    byId('pair-said', HTMLParagraphElement).textContent = say('pair_hidden', { why: why.join(say('list_join')) || say('hidden_unknown') });
  }
  const listed = query === null && key === null ? [] : all;
  writeOnce(list, JSON.stringify([pairView.shown, query, key, scale?.high, speech.language]), () => listed.map(({ attention, head, cell }) => {
    const of = page.view.attentions[attention];
    const name = pairName(cell);
    const button = make('button', { type: 'button', text: of ? headNameInStack(of, head) : '' });
    button.addEventListener('click', () => chooseHead(attention, head));
    return make('li', {}, [button, isolated(name), scale ? barFromZero(cell.value, 0, Math.max(scale.high, cell.value)) : '', make('span', { class: 'number', text: fourDigits(cell.value) })]);
  }));
}

function listenToPairs() {
  const fields = /** @type {[string, 'query' | 'key'][]} */ ([['pair-query', 'query'], ['pair-key', 'key']]);
  for (const [id, name] of fields) {
    const select = byId(id, HTMLSelectElement);
    select.addEventListener('change', () => change({ [name]: select.value === '' ? null : Number(select.value) }));
  }
  byId('pair-swap', HTMLButtonElement).addEventListener('click', () => {
    const { query, key } = page.choice;
    change({ query: key, key: query });
  });
  byId('pair-clear', HTMLButtonElement).addEventListener('click', () => change({ query: null, key: null }));
}
