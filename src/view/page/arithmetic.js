/**
 * The vectors of one head.
 * @typedef {object} HeadVectors
 * @property {Float32Array} query [queries, width]
 * @property {Float32Array} key [keys, width]
 * @property {Float32Array} value [keys, valueWidth]
 * @property {number} width
 * @property {number} valueWidth
 */

/** @type {BoundedCache<Promise<HeadVectors>>} */
const decodedVectors = new BoundedCache(CACHE_BYTES / 4);

/**
 * @param {import('./data').Vectors} vectors
 * @param {number} head
 * @returns {Promise<HeadVectors>}
 */
function readVectors(vectors, head) {
  const blocks = [vectors.query[head], vectors.key[head], vectors.value[head]];
  const [query, , value] = blocks;
  const name = String(query?.cells);
  const known = decodedVectors.get(name);
  if (known) return known;
  const reading = Promise.all(blocks.map(async (block) => {
    if (!block) throw new Error(`there is no head ${head}`);
    return new Float32Array(decodeCells(block, await readBlock(block.cells), true).values);
  })).then(([queries, keys, values]) => ({
    query: queries ?? new Float32Array(), key: keys ?? new Float32Array(), value: values ?? new Float32Array(), width: query?.columns ?? 0, valueWidth: value?.columns ?? 0,
  }));
  decodedVectors.set(name, reading, 4 * (query?.rows ?? 0) * (query?.columns ?? 0) * 3);
  return reading;
}

/**
 * How one weight comes about.
 * @typedef {object} Arithmetic
 * @property {number[]} query
 * @property {number[]} key
 * @property {number[]} products of their elements
 * @property {number} sum
 * @property {number} scaled
 * @property {number | null} capped null = there is no cap
 * @property {number | null} bias null = none is added, or it is not known
 * @property {number} weight
 * @property {number[]} value of the key
 */

/**
 * @param {import('./data').Vectors} vectors
 * @param {HeadVectors} head
 * @param {number} query
 * @param {number} key
 * @param {number} weight
 * @param {number | null} masked the score after bias and mask, if the page has it
 * @returns {Arithmetic}
 */
function arithmeticOf({ scale, softcap, biased }, { query: queries, key: keys, value, width, valueWidth }, query, key, weight, masked) {
  const q = [...queries.subarray(query * width, (query + 1) * width)];
  const k = [...keys.subarray(key * width, (key + 1) * width)];
  const products = q.map((part, at) => part * (k[at] ?? 0));
  const sum = products.reduce((total, part) => total + part, 0);
  const scaled = sum * scale;
  const capped = softcap === undefined ? null : softcap * Math.tanh(scaled / softcap);
  const bias = biased && masked !== null ? masked - (capped ?? scaled) : null;
  return { query: q, key: k, products, sum, scaled, capped, bias, weight, value: [...value.subarray(key * valueWidth, (key + 1) * valueWidth)] };
}

/** The cell whose arithmetic is shown. */
const shownCell = { wanted: '' };

/** Writes the arithmetic of the clicked cell, when its vectors are read. */
async function writeArithmetic() {
  const box = byId('arithmetic', HTMLDivElement);
  const [place, shown, query, key] = [chosenPlace(), chosenMap(), page.choice.query, page.choice.key];
  const visible = place && shown && query !== null && key !== null && key < place.keys && page.choice.view === 'map' && areWeights();
  const wanted = visible ? JSON.stringify([page.choice.attention, page.choice.sample, page.choice.head, query, key, speech.language, document.documentElement.dataset['theme']]) : '';
  if (wanted === shownCell.wanted) return;
  shownCell.wanted = wanted;
  if (!visible) return box.replaceChildren();
  const { head } = page.choice;
  const why = whyReadout(place.why, query, key);
  if (!place.vectors || !shown.map.exactCells) return box.replaceChildren(make('p', { class: 'quiet', text: say('arithmetic_left_out') }), ...why);
  const stage = place.maps.find(({ tensor }) => tensor === 'masked');
  const [vectors, masked] = await Promise.all([readVectors(place.vectors, head), stage ? readMap(place, stage, head) : null]);
  if (wanted !== shownCell.wanted) return;
  const at = query * place.keys + key;
  const hidden = Boolean(shown.map.hidden?.[at]);
  const made = arithmeticOf(place.vectors, vectors, query, key, shown.map.values[at] ?? 0, masked && !hidden ? masked.values[at] ?? null : null);
  const row = Float64Array.from({ length: place.keys }, (_, one) => (shown.map.hidden?.[query * place.keys + one] ? 0 : shown.map.values[query * place.keys + one] ?? 0));
  box.replaceChildren(...arithmeticReadout(made, place.vectors, query, key, hidden), ...valueReadout(made, hidden, outputOf(vectors, row)), ...why);
}

/**
 * The strongest parts of the score of a pair, if the page has them for the chosen head.
 * @param {import('./data').Why[] | undefined} all
 * @param {number} query
 * @param {number} key
 * @returns {HTMLElement[]}
 */
function whyReadout(all, query, key) {
  const why = all?.find(({ head }) => head === headNumber(chosenAttention(), page.choice.head));
  if (!why) return all ?? page.choice.trail !== '' ? [make('p', { class: 'quiet', text: say('why_not_here') })] : [];
  const pair = why.pairs.find(([i, j]) => i === query && j === key);
  if (!pair) return [];
  const rows = [];
  for (let at = 3; at + 2 < pair.length; at += 3) {
    const name = [partLink(why.query_parts[pair[at] ?? 0] ?? '', query), ' × ', partLink(why.key_parts[pair[at + 1] ?? 0] ?? '', key)];
    rows.push(make('tr', {}, [make('th', { scope: 'row' }, name), make('td', { text: fourDigits(pair[at + 2] ?? 0) })]));
  }
  return [make('h3', { text: say('why', { score: fourDigits(pair[2] ?? 0) }) }), make('table', { class: 'why' }, [make('tbody', {}, rows)])];
}

/**
 * The name of a part of a score; of a head that the page has it leads to its map.
 * @param {string} part
 * @param {number} position where the part was written
 */
function partLink(part, position) {
  const head = headOfPart(part);
  if (!head) return part;
  const button = make('button', { type: 'button', class: 'part', text: part, title: say('why_walk', { part }) });
  button.addEventListener('click', () => {
    walkTo(head, position).catch(showProblem);
  });
  return button;
}

/**
 * @param {Arithmetic} made
 * @param {import('./data').Vectors} vectors
 * @param {number} query
 * @param {number} key
 * @param {boolean} hidden
 * @returns {HTMLElement[]}
 */
function arithmeticReadout(made, { scale, softcap, biased, sink }, query, key, hidden) {
  const title = make('h3', { text: `${say('arithmetic')} ` });
  title.append(isolated(placeName(queryTokens(), { first: query, end: query + 1 }, false)), ' → ', isolated(placeName(keyTokens(), { first: key, end: key + 1 }, false)));
  const line = (/** @type {string} */ formula, /** @type {string} */ value) =>
    make('tr', {}, [make('th', { scope: 'row', text: formula }), make('td', { text: value })]);
  const lines = [line(say('step_sum'), fourDigits(made.sum)), line(say('step_scale', { scale: shortNumber(scale) }), fourDigits(made.scaled))];
  if (made.capped !== null) lines.push(line(say('step_cap', { cap: shortNumber(softcap ?? 0) }), fourDigits(made.capped)));
  if (biased) lines.push(line(say('step_bias'), made.bias === null ? say('step_bias_unknown') : fourDigits(made.bias)));
  lines.push(line(say('step_mask'), say(hidden ? 'hidden_cell' : 'step_seen')));
  lines.push(line(say(sink ? 'step_softmax_sink' : 'step_softmax'), fourDigits(hidden ? 0 : made.weight)));
  const length = Math.hypot(...made.value);
  lines.push(line(say('step_value', { length: fourDigits(length) }), fourDigits(hidden ? 0 : made.weight * length)));
  return [title,
    ...[[say('vector_query'), made.query], [say('vector_key'), made.key], [say('vector_products'), made.products]].map(([name, numbers]) =>
      vectorBars(String(name), /** @type {number[]} */ (numbers))),
    make('table', {}, [make('tbody', {}, lines)]), ...rowBars(key)];
}

/**
 * The steps after the softmax: the key's value, what its weight leaves of it, and the sum over all keys.
 * @param {Arithmetic} made
 * @param {boolean} hidden
 * @param {Float64Array} output
 */
function valueReadout({ value, weight }, hidden, output) {
  return [vectorBars(say('vector_value'), value), vectorBars(say('vector_weighted'), value.map((part) => (hidden ? 0 : weight * part))), vectorBars(say('vector_output'), [...output])];
}

/**
 * Numbers of a vector as bars from a line of zero, in two colours.
 * @param {string} name
 * @param {number[]} numbers
 */
function vectorBars(name, numbers) {
  const [width, height] = [220, 34];
  const canvas = make('canvas', { role: 'img', 'aria-label': `${name}: ${numbers.map((number) => shortNumber(Number(number.toPrecision(3)))).join(', ')}` });
  const pen = canvasPen(fitCanvas(canvas, width, height));
  const most = Math.max(...numbers.map(Math.abs), 1e-30);
  const ink = inks();
  const across = width / Math.max(1, numbers.length);
  pen.line(0, height / 2, width, height / 2, ink.line, 1);
  numbers.forEach((number, at) => {
    const tall = (Math.abs(number) / most) * (height / 2 - 1);
    pen.rect(at * across, number < 0 ? height / 2 : height / 2 - tall, Math.max(1, across - 1), tall, number < 0 ? ink.negative : ink.accent);
  });
  const range = `±${shortNumber(Number(most.toPrecision(3)))}`;
  return make('div', { class: 'vector' }, [make('span', { class: 'quiet', text: `${name} (${range})` }), canvas]);
}

/**
 * All weights of the row, with the key's marked.
 * @param {number} key
 */
function rowBars(key) {
  const shown = chosenMap();
  const row = pinnedRow();
  if (!shown || row < 0) return [];
  const columns = shown.keys.length;
  const [width, height] = [220, 34];
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  const pen = canvasPen(fitCanvas(canvas, width, height));
  const ink = inks();
  const own = indexOfPosition(shown.keys, key);
  const values = Array.from({ length: columns }, (_, column) => cellAt(shown, row, column)).map(({ value, hidden }) => (hidden || !Number.isFinite(value) ? 0 : value));
  const most = Math.max(...values, 1e-30);
  const across = width / columns;
  values.forEach((value, column) => {
    const tall = (value / most) * (height - 2);
    pen.rect(column * across, height - tall, Math.max(1, across - 1), tall, column === own ? ink.accent : ink.line);
  });
  pen.line(0, height, width, height, ink.line, 1);
  return [make('div', { class: 'vector' }, [make('span', { class: 'quiet', text: say('row_of_softmax') }), canvas])];
}

/**
 * A bar from zero to the right, or in another colour to the left.
 * @param {number} value
 * @param {number} low ≤ 0
 * @param {number} high
 */
function barFromZero(value, low, high) {
  const share = (/** @type {number} */ at) => Math.max(0, Math.min(1, (at - low) / (high - low || 1)));
  const [from, to] = Number.isFinite(value) ? [share(Math.min(0, value)), share(Math.max(0, value))] : [0, 0];
  const bar = make('span', { class: value < 0 ? 'bar-of-weight below-zero' : 'bar-of-weight' });
  bar.style.marginInlineStart = `${100 * from}%`;
  bar.style.width = `${100 * (to - from)}%`;
  const track = make('span', { class: low < 0 ? 'track about-zero' : 'track', 'aria-hidden': 'true' }, [bar]);
  track.style.setProperty('--zero', `${100 * share(0)}%`);
  return track;
}
