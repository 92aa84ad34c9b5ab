/**
 * Changes of a softmax that the reader tries; what is absent stays as it is.
 * @typedef {object} Changes
 * @property {number} [temperature] scores are divided by it
 * @property {number} [scale]
 * @property {number} [cap] 0 = none
 * @property {number} [window] keys that a query sees, its own being the last
 * @property {number} [valid] number of keys before padding
 * @property {'on' | 'off'} [causal]
 * @property {number[]} dropped keys
 */

/** Letters of the numbers in `Choice.what`, and the least of each. @type {['temperature' | 'scale' | 'cap' | 'window' | 'valid', string, number][]} */
const CHANGED_NUMBERS = [['temperature', 't', 0.01], ['scale', 's', -1e6], ['cap', 'c', 0], ['window', 'w', 1], ['valid', 'v', 1]];

/** Keys whose weights are listed. */
const LISTED_CHANGES = 12;

/**
 * @param {string} text
 * @returns {Changes}
 */
function changesOf(text) {
  /** @type {Changes} */
  const changes = { dropped: [] };
  for (const part of text.split(',')) {
    const [letter, value = ''] = [part.slice(0, 1), part.slice(1)];
    const named = CHANGED_NUMBERS.find(([, short]) => short === letter);
    if (named && value !== '' && Number.isFinite(Number(value)) && Number(value) >= named[2]) changes[named[0]] = Number(value);
    if (letter === 'm' && (value === 'on' || value === 'off')) changes.causal = value;
    if (letter === 'd') changes.dropped = value.split('.').filter(Boolean).map(Number).filter(Number.isInteger);
  }
  return changes;
}

/** @param {Changes} changes */
function textOfChanges(changes) {
  const parts = CHANGED_NUMBERS.flatMap(([name, letter]) => (changes[name] === undefined ? [] : [`${letter}${changes[name]}`]));
  if (changes.causal) parts.push(`m${changes.causal}`);
  if (changes.dropped.length) parts.push(`d${changes.dropped.join('.')}`);
  return parts.join(',');
}

/**
 * A row of a softmax, and the sum of the values that it weighs.
 * @typedef {{weights: Float64Array, hidden: Uint8Array, output: Float64Array}} SoftmaxRow
 */

/**
 * What is known of a query's row.
 * @typedef {object} KnownRow
 * @property {import('./data').Vectors} meta
 * @property {HeadVectors} vectors
 * @property {number} query
 * @property {Float64Array} weights
 * @property {Uint8Array} hidden
 * @property {Float64Array | null} bias what is added to each score, if it is known
 */

/**
 * The score of each key, after the scale, the cap and the bias.
 * @param {KnownRow} known
 * @param {Changes} changes
 */
function scoresOfRow({ meta, vectors, query, bias }, changes) {
  const { query: queries, key: keys, width } = vectors;
  const [scale, cap] = [changes.scale ?? meta.scale, changes.cap ?? meta.softcap ?? 0];
  return Float64Array.from({ length: keys.length / width }, (_, key) => {
    let sum = 0;
    for (let part = 0; part < width; ++part) sum += (queries[query * width + part] ?? 0) * (keys[key * width + part] ?? 0);
    const scaled = sum * scale;
    return (cap > 0 ? cap * Math.tanh(scaled / cap) : scaled) + (bias?.[key] ?? 0);
  });
}

/**
 * The row under the changes. A sink's logit is what the true weights lack of 1.
 * @param {KnownRow} known
 * @param {Changes} changes
 * @returns {SoftmaxRow}
 */
function changedRow(known, changes) {
  const { meta, vectors, query, weights } = known;
  const count = weights.length;
  const own = query + count - vectors.query.length / vectors.width;
  const hidden = Uint8Array.from(known.hidden, (is, key) => {
    const later = key > own;
    if (changes.dropped.includes(key) || (changes.valid !== undefined && key >= changes.valid)) return 1;
    if (changes.window !== undefined && key <= own - changes.window) return 1;
    return later && changes.causal ? Number(changes.causal === 'on') : is;
  });
  const temperature = changes.temperature ?? 1;
  const scores = scoresOfRow(known, changes).map((score) => score / temperature);
  const most = scores.reduce((largest, score, key) => (hidden[key] ? largest : Math.max(largest, score)), -Infinity);
  const made = scores.map((score, key) => (hidden[key] || most === -Infinity ? 0 : Math.exp(score - most)));
  const sink = meta.sink ? Math.exp(sinkLogit(known) / temperature - most) : 0;
  const sum = made.reduce((total, part) => total + part, sink);
  if (sum > 0) made.forEach((part, key) => { made[key] = part / sum; });
  return { weights: made, hidden, output: outputOf(vectors, made) };
}

/** @param {KnownRow} known */
function sinkLogit(known) {
  const scores = scoresOfRow(known, { dropped: [] });
  const seen = known.weights.reduce((total, weight) => total + weight, 0);
  const most = scores.reduce((largest, score, key) => (known.hidden[key] ? largest : Math.max(largest, score)), -Infinity);
  const sum = scores.reduce((total, score, key) => total + (known.hidden[key] ? 0 : Math.exp(score - most)), 0);
  return seen > 0 && seen < 1 ? most + Math.log((sum * (1 - seen)) / seen) : -Infinity;
}

/**
 * The sum of the values by their weights.
 * @param {HeadVectors} vectors
 * @param {Float64Array} weights
 */
function outputOf({ value, valueWidth }, weights) {
  const output = new Float64Array(valueWidth);
  weights.forEach((weight, key) => {
    for (let part = 0; part < valueWidth && weight !== 0; ++part) output[part] = (output[part] ?? 0) + weight * (value[key * valueWidth + part] ?? 0);
  });
  return output;
}

/** @param {Float64Array} vector */
function lengthOf(vector) {
  return Math.hypot(...vector);
}

/** @param {Float64Array} weights in nats */
function entropyOf(weights) {
  return weights.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log(weight) : sum), 0);
}

const whatIf = { wanted: '' };

/** What is known of the pinned query's row; null where the page has not its vectors. @returns {Promise<KnownRow | null>} */
async function knownRow() {
  const [place, shown, query] = [chosenPlace(), chosenMap(), page.choice.query];
  if (!place?.vectors || !shown?.map.exactCells || query === null || page.choice.view !== 'map' || !areWeights()) return null;
  const { head } = page.choice;
  const stage = place.maps.find(({ tensor }) => tensor === 'masked');
  const [vectors, masked] = await Promise.all([readVectors(place.vectors, head), stage ? readMap(place, stage, head) : null]);
  const row = (/** @type {ArrayLike<number> | null | undefined} */ all) => Float64Array.from({ length: place.keys }, (_, key) => all?.[query * place.keys + key] ?? 0);
  const known = {
    meta: place.vectors, vectors, query, weights: row(shown.map.values), hidden: Uint8Array.from(row(shown.map.hidden)), bias: /** @type {Float64Array | null} */ (null),
  };
  if (place.vectors.biased && masked) {
    const plain = scoresOfRow(known, { dropped: [] });
    const stages = row(masked.values);
    known.bias = stages.map((score, key) => (Number.isFinite(score) && !known.hidden[key] ? score - (plain[key] ?? 0) : 0));
  }
  return known;
}

/** Writes the panel in which the softmax of the pinned query is changed. */
async function writeWhatIf() {
  const box = byId('what-if', HTMLDetailsElement);
  const { attention, sample, head, query, key, what, view, tensor } = page.choice;
  const wanted = JSON.stringify([attention, sample, head, query, key, what, view, tensor, box.open, speech.language, document.documentElement.dataset['theme'], Boolean(chosenMap())]);
  if (wanted === whatIf.wanted) return;
  whatIf.wanted = wanted;
  const known = await knownRow();
  if (whatIf.wanted !== wanted) return;
  box.hidden = known === null;
  if (what !== '') box.open = true;
  if (!known || !box.open) return;
  const changes = changesOf(what);
  writeChangeFields(known, changes);
  const truth = { weights: known.weights, hidden: known.hidden, output: outputOf(known.vectors, known.weights) };
  const result = byId('what-if-result', HTMLDivElement);
  const focused = result.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset['key'] : undefined;
  const made = changedRow(known, changes);
  const lens = await lensReadout(known, truth, made);
  if (whatIf.wanted !== wanted) return;
  result.replaceChildren(...changeReadout(known, changes, truth, made), ...lens);
  if (focused !== undefined) /** @type {HTMLElement | null} */ (result.querySelector(`[data-key="${focused}"]`))?.focus();
}

/**
 * @param {KnownRow} known
 * @param {Changes} changes
 */
function writeChangeFields({ meta, weights }, changes) {
  for (const [name] of CHANGED_NUMBERS) {
    const input = byId(`what-${name}`, HTMLInputElement);
    input.value = changes[name] === undefined ? '' : String(changes[name]);
    const truth = { temperature: 1, scale: meta.scale, cap: meta.softcap ?? 0, window: weights.length, valid: weights.length }[name];
    input.placeholder = shortNumber(Number(truth.toPrecision(4)));
  }
  byId('what-causal', HTMLSelectElement).value = changes.causal ?? '';
}

/**
 * The row of softmax, the length of its output and its entropy, beside the true ones.
 * @param {KnownRow} known
 * @param {Changes} changes
 * @param {SoftmaxRow} truth
 * @param {SoftmaxRow} made
 * @returns {HTMLElement[]}
 */
function changeReadout(known, changes, truth, made) {
  const larger = (/** @type {number} */ key) => Math.max(truth.weights[key] ?? 0, made.weights[key] ?? 0);
  const strongest = [...made.weights.keys()].filter((key) => !truth.hidden[key] || !made.hidden[key] || changes.dropped.includes(key))
    .sort((a, b) => larger(b) - larger(a)).slice(0, LISTED_CHANGES).sort((a, b) => a - b);
  const listed = [...new Set([...strongest, ...changes.dropped])].filter((key) => key < truth.weights.length).sort((a, b) => a - b);
  const high = Math.max(...listed.map(larger), 1e-30);
  const rows = listed.map((key) => {
    const off = changes.dropped.includes(key);
    const button = make('button', { type: 'button', class: 'drop', 'aria-pressed': String(off), title: say(off ? 'what_keep_key' : 'what_drop_key'), 'data-key': String(key) },
      [isolated(pieceAt(keyTokens(), key) || String(key))]);
    button.addEventListener('click', () => changeWhat({ dropped: off ? changes.dropped.filter((other) => other !== key) : [...changes.dropped, key] }));
    const before = barFromZero(truth.weights[key] ?? 0, 0, high);
    before.classList.add('before');
    const number = (/** @type {SoftmaxRow} */ row) => (row.hidden[key] ? say('unknown_value') : (row.weights[key] ?? 0).toFixed(3));
    return make('tr', {}, [make('th', { scope: 'row' }, [button]), make('td', { class: 'bars' }, [before, barFromZero(made.weights[key] ?? 0, 0, high)]),
      make('td', { text: number(truth) }), make('td', { text: number(made) })]);
  });
  const header = make('tr', {}, [make('th', { scope: 'col', text: say('key') }), make('td'), make('th', { scope: 'col', text: say('what_true') }), make('th', { scope: 'col', text: say('what_changed') })]);
  const total = (/** @type {TextName} */ name, /** @type {(row: SoftmaxRow) => number} */ number) =>
    make('tr', { class: 'total' }, [make('th', { scope: 'row', colspan: '2', text: say(name) }), make('td', { text: number(truth).toFixed(3) }), make('td', { text: number(made).toFixed(3) })]);
  const own = changedRow(known, { dropped: [] }).weights;
  const off = truth.weights.reduce((most, weight, key) => Math.max(most, Math.abs(weight - (own[key] ?? 0))), 0);
  return [
    make('table', { class: 'what-if' }, [make('thead', {}, [header]), make('tbody', {}, [...rows,
      total('what_sum', (row) => row.weights.reduce((sum, weight) => sum + weight, 0)),
      total('what_entropy', (row) => entropyOf(row.weights)), total('what_output', (row) => lengthOf(row.output))])]),
    vectorBars(say('what_output_true'), [...truth.output]), vectorBars(say('what_output_changed'), [...made.output]),
    ...(known.meta.biased && !known.bias ? [make('p', { class: 'quiet', text: say('what_without_bias') })] : []),
    make('p', { class: 'quiet', text: say('what_exact', { error: shortNumber(Number(off.toPrecision(1))) }) }),
  ];
}

/**
 * The probabilities of a prediction's likeliest tokens if the output of the head were another one and all other parts of
 * the residual stream, and the norms' denominators, stayed as they are.
 * @param {{softcap?: number, tokens: {probability: number, logit: number}[]}} lens
 * @param {ArrayLike<number>} directions [tokens, width of values]
 * @param {Float64Array} change of the output
 */
function changedPredictions({ softcap, tokens }, directions, change) {
  const capped = (/** @type {number} */ logit) => (softcap === undefined ? logit : softcap * Math.tanh(logit / softcap));
  const factors = tokens.map(({ logit }, token) => {
    const added = change.reduce((sum, part, at) => sum + part * (directions[token * change.length + at] ?? 0), 0);
    return Math.exp(capped(logit + added) - capped(logit));
  });
  const others = 1 - tokens.reduce((sum, { probability }) => sum + probability, 0);
  const all = tokens.reduce((sum, { probability }, token) => sum + probability * (factors[token] ?? 1), Math.max(0, others));
  return tokens.map(({ probability }, token) => (probability * (factors[token] ?? 1)) / all);
}

/**
 * What is predicted at the query, beside the true probabilities.
 * @param {KnownRow} known
 * @param {SoftmaxRow} truth
 * @param {SoftmaxRow} made
 * @returns {Promise<HTMLElement[]>}
 */
async function lensReadout({ query }, truth, made) {
  const { predictions, lens } = page.view.samples[page.choice.sample] ?? {};
  const block = chosenPlace()?.lens?.[page.choice.head];
  if (!predictions?.length) return [];
  if (!lens || !block) return [make('p', { class: 'quiet', text: say('what_lens_missing') })];
  if (query !== lens.position) return [make('p', { class: 'quiet', text: say('what_lens_elsewhere', { query: placeName(queryTokens(), { first: lens.position, end: lens.position + 1 }, false) }) })];
  const directions = decodeCells(block, await readBlock(block.cells), true).values;
  const changed = changedPredictions(lens, directions, made.output.map((part, at) => part - (truth.output[at] ?? 0)));
  const high = Math.max(...changed, ...lens.tokens.map(({ probability }) => probability), 1e-30);
  const rows = lens.tokens.map(({ text, probability }, token) => {
    const before = barFromZero(probability, 0, high);
    before.classList.add('before');
    return make('tr', {}, [make('th', { scope: 'row' }, [predictedToken(text)]), make('td', { class: 'bars' }, [before, barFromZero(changed[token] ?? 0, 0, high)]),
      make('td', { text: probability.toFixed(3) }), make('td', { text: (changed[token] ?? 0).toFixed(3) })]);
  });
  return [make('table', { class: 'what-if lens' }, [make('caption', { text: say('what_lens') }), make('tbody', {}, rows)])];
}

/** @param {Partial<Changes>} part */
function changeWhat(part) {
  change({ what: textOfChanges({ ...changesOf(page.choice.what), ...part }), query: page.choice.query, key: page.choice.key });
}

function listenToWhatIf() {
  for (const [name, , least] of CHANGED_NUMBERS) {
    const input = byId(`what-${name}`, HTMLInputElement);
    input.addEventListener('input', () => {
      const value = input.value === '' ? NaN : Number(input.value);
      changeWhat({ [name]: Number.isFinite(value) && value >= least ? value : undefined });
    });
  }
  const causal = byId('what-causal', HTMLSelectElement);
  causal.addEventListener('change', () => changeWhat({ causal: causal.value === 'on' || causal.value === 'off' ? causal.value : undefined }));
  byId('what-reset', HTMLButtonElement).addEventListener('click', () => change({ what: '', query: page.choice.query, key: page.choice.key }));
  byId('what-if', HTMLDetailsElement).addEventListener('toggle', () => {
    writeWhatIf().catch(showProblem);
  });
}
