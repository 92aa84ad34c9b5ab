/**
 * The tokens of a strip with the rows and columns of the map that they are; −1 = not shown there.
 * @typedef {object} Strip
 * @property {'both' | 'queries' | 'keys'} side
 * @property {Stretch[]} stretches
 * @property {(index: number) => number} rowOf
 * @property {(index: number) => number} columnOf
 */

/** @type {{made: ShownMap | null, strips: Strip[], language: string}} */
const stripView = { made: null, strips: [], language: '' };

/**
 * One strip where queries and keys are the same tokens, else one of each.
 * @param {ShownMap} shown
 * @returns {Strip[]}
 */
function stripsOf(shown) {
  const none = () => -1;
  const same = (/** @type {number} */ index) => index;
  if (chosenPlace()?.same_positions && page.choice.part === '') {
    const columnOf = (/** @type {number} */ index) => indexOfPosition(shown.keys, shown.queries[index]?.first ?? -1);
    return [{ side: 'both', stretches: shown.queries, rowOf: same, columnOf }];
  }
  return [
    { side: 'queries', stretches: shown.queries, rowOf: same, columnOf: none },
    { side: 'keys', stretches: shown.keys, rowOf: none, columnOf: same },
  ];
}

/** The row or column whose weights tint the strips; −1 = the mean of all. */
function strippedIndex() {
  const shown = chosenMap();
  if (!shown) return -1;
  if (page.choice.direction === 'gives') return pinnedRow();
  return page.choice.key === null ? -1 : indexOfPosition(shown.keys, page.choice.key);
}

/** Draws the text view. */
function drawStripView() {
  const shown = chosenMap();
  if (!shown) return;
  if (stripView.made !== shown || stripView.language !== speech.language) {
    stripView.strips = stripsOf(shown);
    byId('strips', HTMLDivElement).replaceChildren(...stripView.strips.flatMap((strip, at) => makeStrip(shown, strip, at)));
    stripView.made = shown;
    stripView.language = speech.language;
  }
  byId('strip-caption', HTMLParagraphElement).replaceChildren(...captionOfStrip(shown));
  for (const button of byId('direction', HTMLDivElement).querySelectorAll('button')) {
    button.ariaPressed = String(button.dataset['value'] === page.choice.direction);
  }
  tintStrips(shown);
}

/**
 * @param {ShownMap} shown
 * @param {Strip} strip
 * @param {number} at
 */
function makeStrip(shown, strip, at) {
  const tokens = strip.side === 'keys' ? keyTokens() : queryTokens();
  const inWord = piecesInWords(tokens);
  const options = strip.stretches.map((stretch, index) => {
    const text = edgeLabel(tokens, stretch, shown.words);
    const joined = inWord.has(stretch.first) && !shown.words ? ' joined' : '';
    const option = make('bdi', { class: `piece${joined}`, role: 'option', tabindex: '-1', 'aria-selected': 'false', text });
    option.dataset['index'] = String(index);
    option.setAttribute('aria-label', placeName(tokens, stretch, shown.words));
    return option;
  });
  const name = strip.side === 'queries' ? say('queries') : strip.side === 'keys' ? say('keys') : say('view_text');
  const box = make('div', { class: 'strip', role: 'listbox', dir: directionOf(strip.stretches.map(({ first }) => pieceAt(tokens, first))), 'aria-label': name, 'aria-orientation': 'horizontal' }, options);
  box.dataset['strip'] = String(at);
  return strip.side === 'both' ? [box] : [make('h3', { text: name }), box];
}

/**
 * The direction of most tokens that have letters.
 * @param {string[]} texts
 */
function directionOf(texts) {
  const lettered = texts.filter((text) => /\p{L}/u.test(text));
  const turned = lettered.filter((text) => RIGHT_TO_LEFT.test(text));
  return turned.length * 2 > lettered.length ? 'rtl' : 'ltr';
}

/**
 * @param {ShownMap} shown
 * @returns {(Node | string)[]}
 */
function captionOfStrip(shown) {
  const index = strippedIndex();
  const gives = page.choice.direction === 'gives';
  if (index < 0) return [say(gives ? 'strip_mean' : 'strip_mean_keys')];
  const stretch = (gives ? shown.queries : shown.keys)[index] ?? { first: 0, end: 1 };
  const tokens = gives ? queryTokens() : keyTokens();
  return [`${say(gives ? 'strip_of_query' : 'strip_of_key')} `, isolated(placeName(tokens, stretch, shown.words))];
}

/**
 * The values that tint each query or key: weights of one row or column, or the means of all.
 * @param {ShownMap} shown
 * @returns {{values: Float64Array, hidden: Uint8Array}}
 */
function stripWeights(shown) {
  const gives = page.choice.direction === 'gives';
  const [rows, columns] = [shown.queries.length, shown.keys.length];
  const index = strippedIndex();
  const count = gives ? columns : rows;
  const padding = index < 0 ? paddingQueries(shown) : new Set();
  const values = new Float64Array(count);
  const hidden = new Uint8Array(count);
  for (let at = 0; at < count; ++at) {
    if (index >= 0) {
      const cell = gives ? cellAt(shown, index, at) : cellAt(shown, at, index);
      values[at] = cell.faint ? 0 : cell.value;
      hidden[at] = Number(cell.hidden);
      continue;
    }
    const others = gives ? rows : columns;
    let seen = 0;
    for (let other = 0; other < others; ++other) {
      const cell = gives ? cellAt(shown, other, at) : cellAt(shown, at, other);
      if (cell.hidden || (gives && padding.has(other))) continue;
      ++seen;
      values[at] = (values[at] ?? 0) + (cell.faint || !Number.isFinite(cell.value) ? 0 : cell.value);
    }
    if (seen === 0) hidden[at] = 1;
    else values[at] = (values[at] ?? 0) / seen;
  }
  return { values, hidden };
}

/**
 * Queries that are padding: their own keys are hidden from every query.
 * @param {ShownMap} shown
 */
function paddingQueries(shown) {
  /** @type {Set<number>} */
  const padding = new Set();
  if (!chosenPlace()?.same_positions || !shown.hidden || shown.queries.length !== shown.keys.length) return padding;
  for (let at = 0; at < shown.keys.length; ++at) {
    if (shown.queries.every((_, row) => cellAt(shown, row, at).hidden)) padding.add(at);
  }
  return padding;
}

/**
 * The ground of a token.
 * @param {ColourScale} scale
 * @param {{values: Float64Array, hidden: Uint8Array}} weights
 * @param {number} index −1 = none
 * @returns {number | null} a pixel
 */
function tintOf(scale, { values, hidden }, index) {
  const value = values[index];
  if (index < 0 || value === undefined) return null;
  return hidden[index] ? pixelOf(scale.map.hidden) : pixelOfValue(scale, value);
}

/** The text has colours of its own where its largest weight is below this share of the scale of all maps. */
const LEAST_OF_SCALE = 0.25;

/**
 * The colours of the text: those of all maps, or, where they would all be pale, up to the largest that is shown.
 * @param {ShownMap} shown
 * @returns {{scale: ColourScale, own: boolean} | undefined}
 */
function scaleOfStrip(shown) {
  const scale = chosenScale();
  if (!scale || scale.log || scale.low < 0 || page.choice.own) return scale && { scale, own: false };
  const { values, hidden } = stripWeights(shown);
  const largest = values.reduce((most, value, at) => (!hidden[at] && Number.isFinite(value) && value > most ? value : most), 0);
  const own = largest > 0 && largest < LEAST_OF_SCALE * scale.high;
  return { scale: own ? { ...scale, high: largest } : scale, own };
}

/** @param {ShownMap} shown */
function saidOfStrip(shown) {
  const made = scaleOfStrip(shown);
  return made?.own ? [say('said_text_range', { high: shortNumber(Number(made.scale.high.toPrecision(3))) })] : [];
}

/** @param {ShownMap} shown */
function tintStrips(shown) {
  const scale = scaleOfStrip(shown)?.scale;
  if (!scale) return;
  const weights = stripWeights(shown);
  const gives = page.choice.direction === 'gives';
  const chosen = strippedIndex();
  for (const box of stripBoxes()) {
    const strip = stripView.strips[Number(box.dataset['strip'])];
    [...box.children].forEach((child, index) => {
      if (!strip || !(child instanceof HTMLElement)) return;
      const place = gives ? strip.columnOf(index) : strip.rowOf(index);
      const own = (gives ? strip.rowOf(index) : strip.columnOf(index)) === chosen && chosen >= 0;
      const pixel = tintOf(scale, weights, place);
      child.style.backgroundColor = pixel === null ? '' : colourOf(pixel);
      child.style.color = pixel === null ? '' : readableOn(pixel);
      child.classList.toggle('hidden-key', place >= 0 && Boolean(weights.hidden[place]));
      child.classList.toggle('found', isFound(page.found, strip.stretches[index]));
      child.ariaSelected = String(own);
      child.tabIndex = own || (chosen < 0 && index === 0) || (chosen >= 0 && !isChooser(strip) && index === 0) ? 0 : -1;
    });
  }
}

/** @returns {HTMLElement[]} */
function stripBoxes() {
  return [...byId('strips', HTMLDivElement).querySelectorAll('.strip')].filter((box) => box instanceof HTMLElement);
}

/**
 * Whether a click in the strip chooses what is looked at.
 * @param {Strip} strip
 */
function isChooser(strip) {
  return strip.side === 'both' || (strip.side === 'queries') === (page.choice.direction === 'gives');
}

/** Frames the token at the pointer. */
function markStripCursor() {
  const cursor = page.cursor;
  for (const box of stripBoxes()) {
    const strip = stripView.strips[Number(box.dataset['strip'])];
    box.querySelector('.pointed')?.classList.remove('pointed');
    if (!cursor || !strip) continue;
    const at = cursor.column === null ? -1 : strip.side === 'queries' ? -1 : strip.stretches.findIndex((_, index) => strip.columnOf(index) === cursor.column);
    box.children[at]?.classList.add('pointed');
  }
}

/**
 * The cell that a token of a strip stands for at present.
 * @param {Strip} strip
 * @param {number} index
 * @returns {Cursor | null}
 */
function cursorOfToken(strip, index) {
  const shown = chosenMap();
  const chosen = strippedIndex();
  if (!shown) return null;
  const gives = page.choice.direction === 'gives';
  const row = gives ? (chosen >= 0 ? chosen : strip.rowOf(index)) : strip.rowOf(index);
  const column = gives ? (chosen >= 0 ? strip.columnOf(index) : -1) : chosen;
  const stretch = shown.queries[row];
  return stretch ? { row, column: column >= 0 ? column : null, query: page.choice.query ?? stretch.first } : null;
}

/** Pointers and keys of the strips. */
function listenToStrips() {
  const box = byId('strips', HTMLDivElement);
  const tokenOf = (/** @type {Event} */ event) => {
    const element = event.target instanceof Element ? event.target.closest('.piece') : null;
    const strip = stripView.strips[Number(element?.parentElement?.dataset['strip'])];
    return element instanceof HTMLElement && strip ? { element, strip, index: Number(element.dataset['index']) } : null;
  };
  const choose = (/** @type {Event} */ event) => {
    const token = tokenOf(event);
    const stretch = token?.strip.stretches[token.index];
    if (!token || !stretch || !isChooser(token.strip)) return;
    const { choice } = page;
    if (choice.direction === 'gives') change({ query: pinnedRow() === token.strip.rowOf(token.index) ? null : stretch.first });
    else change({ key: strippedIndex() === token.strip.columnOf(token.index) ? null : stretch.first });
  };
  box.addEventListener('pointerover', (event) => {
    const token = tokenOf(event);
    pointAt(token ? cursorOfToken(token.strip, token.index) : null);
  });
  box.addEventListener('pointerleave', () => pointAt(null));
  box.addEventListener('click', choose);
  box.addEventListener('keydown', (event) => {
    const token = tokenOf(event);
    if (!token || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const turned = getComputedStyle(token.element.parentElement ?? token.element).direction === 'rtl' ? -1 : 1;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowRight: turned, ArrowLeft: -turned, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9,
    });
    const step = steps[event.key];
    if (step !== undefined) {
      const next = Math.max(0, Math.min(token.strip.stretches.length - 1, token.index + step));
      const other = token.element.parentElement?.children[next];
      if (other instanceof HTMLElement) other.focus();
      pointAt(cursorOfToken(token.strip, next));
      announceCursor();
    } else if (event.key === 'Enter' || event.key === ' ') choose(event);
    else return;
    event.preventDefault();
  });
  byId('direction', HTMLDivElement).addEventListener('click', (event) => {
    const value = event.target instanceof HTMLElement ? event.target.dataset['value'] : undefined;
    if (value === 'gives' || value === 'receives') change({ direction: value });
  });
}
