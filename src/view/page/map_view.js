/** The part of the map that is in view. */
const mapView = {
  /** @type {MapWindow} */
  window: { row: 0, column: 0, zoom: 1 },
  /** @type {MapLayout | null} */
  layout: null,
  /** Size of the map that the window belongs to; another map of this size keeps the window. */
  size: '',
  width: 0,
  height: 0,
};

/** Draws the chosen head's map. */
function drawMapView() {
  const shown = chosenMap();
  const scale = chosenScale();
  const attention = chosenAttention();
  const box = byId('map', HTMLDivElement);
  if (!shown || !scale || !attention) return;
  const size = `${shown.queries.length} ${shown.keys.length}`;
  if (size !== mapView.size) mapView.window = { row: 0, column: 0, zoom: 1 };
  mapView.size = size;
  [mapView.width, mapView.height] = [box.clientWidth, box.clientHeight];
  const context = fitCanvas(byId('map-cells', HTMLCanvasElement), mapView.width, mapView.height);
  context.clearRect(0, 0, mapView.width, mapView.height);
  mapView.layout = layOutMap(shown, panelSize().width, panelSize().height, mapView.window);
  if (page.other) drawPanels(canvasPen(context), shown, page.other, scale, inks());
  else drawMap(canvasPen(context), shown, scale, mapView.layout, inks(), window.devicePixelRatio || 1);
  box.setAttribute('aria-label', say('map_label', {
    title: inLanguage(attention.title) || say('attention'), head: headNumber(attention, page.choice.head),
    queries: shown.map.queries, keys: shown.map.keys,
  }));
  drawMapCross();
}

/** Draws what follows the pointer, and nothing else, so that it keeps up with it. */
function drawMapCross() {
  const shown = chosenMap();
  const canvas = byId('map-cross', HTMLCanvasElement);
  if (!shown || !mapView.layout) return;
  const context = fitCanvas(canvas, mapView.width, mapView.height);
  context.clearRect(0, 0, mapView.width, mapView.height);
  const pinned = pinnedRow();
  for (const [panel, { map, layout }] of panelsOf(shown).entries()) {
    const pen = panelPen(canvasPen(context), panel);
    if (pinned >= 0 && pinned !== page.cursor?.row) drawCross(pen, map, layout, { row: pinned, column: null }, inks());
    if (page.cursor) drawCross(pen, map, layout, page.cursor, inks());
  }
}

/** The row of the pinned query; −1 if none is or it is not shown. */
function pinnedRow() {
  const shown = chosenMap();
  return shown && page.choice.query !== null ? indexOfPosition(shown.queries, page.choice.query) : -1;
}

/**
 * The cell under a point of the map; beside the cells only its row, or null.
 * @param {number} x
 * @param {number} y
 * @returns {Cursor | null}
 */
function placeAt(x, y) {
  const shown = chosenMap();
  const layout = mapView.layout;
  if (!shown || !layout) return null;
  const point = withinPanel({ x, y });
  const across = (point.x - layout.left) / layout.cellWidth;
  const down = (point.y - layout.top) / layout.cellHeight;
  if (down < 0 || down >= layout.rows || across >= layout.columns) return null;
  const row = layout.row + Math.floor(down);
  const stretch = shown.queries[row];
  if (!stretch) return null;
  const query = stretch.first + Math.floor((down % 1) * (stretch.end - stretch.first));
  return { row, column: across < 0 ? null : layout.column + Math.floor(across), query };
}

/**
 * Zooms about a point, which stays where it is.
 * @param {number} factor
 * @param {{x: number, y: number}} [point]
 */
function zoomMap(factor, point) {
  const layout = mapView.layout;
  if (!layout) return;
  const zoom = Math.max(1, Math.min(mapView.window.zoom * factor, LARGEST_CELL / Math.min(layout.cellWidth, layout.cellHeight) * mapView.window.zoom));
  const done = Math.max(1, zoom) / mapView.window.zoom;
  const across = point ? (point.x - layout.left) / layout.cellWidth : layout.columns / 2;
  const down = point ? (point.y - layout.top) / layout.cellHeight : layout.rows / 2;
  mapView.window = {
    zoom: Math.max(1, zoom),
    column: layout.column + across * (1 - 1 / done),
    row: layout.row + down * (1 - 1 / done),
  };
  const shown = chosenMap();
  if (shown && point) {
    // The cells may begin elsewhere now.
    const next = layOutMap(shown, panelSize().width, panelSize().height, mapView.window);
    mapView.window.column += (next.left - layout.left) / next.cellWidth;
    mapView.window.row += (next.top - layout.top) / next.cellHeight;
  }
  if (mapView.window.zoom === 1) mapView.window = { row: 0, column: 0, zoom: 1 };
  drawMapView();
  writeStatus();
}

/**
 * Moves the window so that the cursor is seen.
 * @param {Cursor} cursor
 */
function followCursor({ row, column }) {
  const layout = mapView.layout;
  if (!layout) return;
  const into = (/** @type {number} */ index, /** @type {number} */ first, /** @type {number} */ count) =>
    index < first ? index : index >= first + count ? index - count + 1 : first;
  const next = {
    row: into(row, layout.row, layout.rows),
    column: column === null ? layout.column : into(column, layout.column, layout.columns),
  };
  if (next.row === layout.row && next.column === layout.column) return;
  mapView.window = { ...mapView.window, ...next };
  drawMapView();
}

/** Pointers, wheel and buttons of the map. */
function listenToMap() {
  const box = byId('map', HTMLDivElement);
  /** @type {Map<number, {x: number, y: number}>} */
  const held = new Map();
  let moved = false;
  let started = { x: 0, y: 0, row: 0, column: 0 };
  const pointOf = (/** @type {PointerEvent | WheelEvent} */ event) => {
    const { left, top } = box.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  box.addEventListener('pointerdown', (event) => {
    const point = pointOf(event);
    held.set(event.pointerId, point);
    moved = held.size > 1;
    started = { ...point, row: mapView.layout?.row ?? 0, column: mapView.layout?.column ?? 0 };
  });
  box.addEventListener('pointermove', (event) => {
    const point = pointOf(event);
    const before = held.get(event.pointerId);
    if (!before) return pointAt(placeAt(point.x, point.y));
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1] ?? point;
      const spread = (/** @type {{x: number, y: number}} */ at) => Math.hypot(at.x - other.x, at.y - other.y);
      if (spread(before) > 0) zoomMap(spread(point) / spread(before), { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 });
    } else if (moved || Math.hypot(point.x - started.x, point.y - started.y) > 5) {
      moved = true;
      dragMap(started, point);
    }
    held.set(event.pointerId, point);
  });
  const release = (/** @type {PointerEvent} */ event) => held.delete(event.pointerId);
  box.addEventListener('pointerup', (event) => {
    const point = pointOf(event);
    if (held.size === 1 && !moved) pinAt(placeAt(point.x, point.y));
    release(event);
  });
  box.addEventListener('pointercancel', release);
  box.addEventListener('pointerleave', (event) => {
    release(event);
    if (event.pointerType === 'mouse') pointAt(null);
  });
  box.addEventListener('wheel', (event) => {
    if (isNarrow() && !event.ctrlKey) return;
    event.preventDefault();
    zoomMap(Math.exp(-event.deltaY / (event.deltaMode === 0 ? 300 : 10)), withinPanel(pointOf(event)));
  }, { passive: false });
  const zoom = (/** @type {number} */ factor) => () => (page.choice.view === 'lines' ? zoomLines(factor) : zoomMap(factor));
  byId('zoom-in', HTMLButtonElement).addEventListener('click', zoom(1.5));
  byId('zoom-out', HTMLButtonElement).addEventListener('click', zoom(1 / 1.5));
  byId('zoom-all', HTMLButtonElement).addEventListener('click', zoom(0));
}

/**
 * @param {{x: number, y: number, row: number, column: number}} started
 * @param {{x: number, y: number}} point
 */
function dragMap(started, point) {
  const layout = mapView.layout;
  if (!layout) return;
  mapView.window.column = started.column - (point.x - started.x) / layout.cellWidth;
  mapView.window.row = started.row - (point.y - started.y) / layout.cellHeight;
  drawMapView();
}

/** Whether heads and attention stand one below the other, and the page scrolls. */
function isNarrow() {
  return window.matchMedia('(max-width: 60rem)').matches;
}

/** Number of the strongest keys in the list. */
const LISTED_KEYS = 10;

/**
 * Sets the place that the reader points at; null = none.
 * @param {Cursor | null} cursor
 */
function pointAt(cursor) {
  const same = cursor === page.cursor || (cursor && page.cursor && cursor.row === page.cursor.row &&
    cursor.column === page.cursor.column && cursor.query === page.cursor.query);
  if (same) return;
  page.cursor = cursor;
  if (page.choice.view === 'map') drawMapCross();
  if (page.choice.view === 'lines') drawLinesView();
  if (page.choice.view === 'text') markStripCursor();
  drawPicture();
  writeReadout();
}

/**
 * Pins the query of a place, or lets it go if it was pinned.
 * @param {Cursor | null} cursor
 */
function pinAt(cursor) {
  if (!cursor) return;
  const shown = chosenMap();
  const joined = shown && !shown.map.exactCells;
  for (const name of HINTS) hintsAway.add(name);
  const key = cursor.column === null ? undefined : shown?.keys[cursor.column];
  const other = key !== undefined && shownCell.key !== null && shownCell.key !== key.first && page.choice.view === 'map';
  const again = joined ? page.choice.query === cursor.query : pinnedRow() === cursor.row;
  page.cursor = cursor;
  // A click on another key of the pinned query shows that one's arithmetic.
  shownCell.key = key?.first ?? null;
  change({ query: again && !other ? null : cursor.query });
}

/** Writes the readout of the place at the pointer, else of the pinned query. */
function writeReadout() {
  const shown = chosenMap();
  const cell = byId('cell-readout', HTMLDivElement);
  const list = byId('strongest-keys', HTMLDivElement);
  const pinned = pinnedRow();
  const row = page.cursor?.row ?? pinned;
  if (!shown || row < 0) {
    cell.replaceChildren(make('p', { class: 'quiet', text: say('readout_hint') }), ...hintsOfMap());
    list.replaceChildren();
    return;
  }
  const query = page.cursor?.query ?? page.choice.query ?? 0;
  cell.replaceChildren(...cellReadout(shown, row, page.cursor?.column ?? null, query));
  const listed = page.choice.query !== null && pinned >= 0 ? { row: pinned, query: page.choice.query } : { row, query };
  list.replaceChildren(...strongestReadout(shown, listed.row, listed.query));
}

/**
 * As in 'Query "fox" (2)'.
 * @param {'query' | 'key'} kind
 * @param {Stretch} stretch
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 */
function namedPlace(kind, stretch, tokens, words) {
  return make('div', { class: 'named' }, [make('span', { class: 'quiet', text: say(kind) }), ' ', isolated(placeName(tokens, stretch, words))]);
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number | null} column
 * @param {number} query
 * @returns {HTMLElement[]}
 */
function cellReadout(shown, row, column, query) {
  const stretch = shown.queries[row];
  const key = column === null ? undefined : shown.keys[column];
  const joined = !shown.map.exactCells;
  const parts = [namedPlace('query', stretch && !joined ? stretch : { first: query, end: query + 1 }, queryTokens(), shown.words)];
  if (pinnedRow() === row) parts[0]?.append(' ', make('span', { class: 'tag', text: say('pinned') }), ' ', unpinButton());
  if (!key || column === null) return parts;
  parts.push(namedPlace('key', key, keyTokens(), shown.words));
  const cell = cellAt(shown, row, column);
  if (cell.hidden) return [...parts, ...hiddenReadout()];
  parts.push(make('div', { class: 'weight', text: fourDigits(cell.value) }));
  parts.push(make('div', { class: 'quiet', text: rankText(shown, row, column) }));
  if (shown.map.error > 0) parts.push(make('div', { class: 'quiet', text: say('rounded', { error: shortNumber(Number(shown.map.error.toPrecision(2))) }) }));
  parts.push(...otherReadout(row, column, cell.value));
  if (cell.faint) parts.push(make('div', { class: 'quiet', text: say('below_limits') }));
  return parts;
}

function unpinButton() {
  const button = make('button', { type: 'button', class: 'unpin', text: '×', 'aria-label': say('unpin'), title: say('unpin') });
  button.addEventListener('click', () => {
    page.cursor = null;
    change({ query: null });
    focusView();
  });
  return button;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 */
function rankText(shown, row, column) {
  const query = shown.queries[row];
  const key = shown.keys[column];
  const cells = query && key ? (query.end - query.first) * (key.end - key.first) : 1;
  return shown.map.exactCells ? say('rank', rankInRow(shown, row, column)) : say('rank_in_cells', { count: cells });
}

/** @returns {HTMLElement[]} */
function hiddenReadout() {
  const why = (chosenPlace()?.hidden_because ?? []).map(inLanguage);
  return [
    make('div', { class: 'weight', text: say('hidden_cell') }),
    ...(why.length ? why : [say('hidden_unknown')]).map((text) => make('div', { class: 'quiet', text, dir: 'auto' })),
  ];
}

/**
 * The strongest keys of a query, from the exact list if cells are joined.
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} query
 * @returns {{stretch: Stretch, value: number}[]}
 */
function strongestOf(shown, row, query) {
  const exact = shown.map.strongest;
  const columns = shown.keys.length;
  /** @type {{stretch: Stretch, value: number}[]} */
  const found = [];
  if (exact) {
    for (let at = query * exact.count; at < (query + 1) * exact.count; ++at) {
      const key = exact.keys[at] ?? NO_KEY;
      if (key !== NO_KEY) found.push({ stretch: { first: key, end: key + 1 }, value: exact.values[at] ?? NaN });
    }
    return found.slice(0, LISTED_KEYS);
  }
  for (let column = 0; column < columns; ++column) {
    const value = shown.values[row * columns + column] ?? NaN;
    if (shown.hidden?.[row * columns + column] || Number.isNaN(value)) continue;
    let place = found.length;
    while (place > 0 && (found[place - 1]?.value ?? 0) < value) --place;
    const stretch = shown.keys[column];
    if (place >= LISTED_KEYS || !stretch) continue;
    found.splice(place, 0, { stretch, value });
    found.length = Math.min(found.length, LISTED_KEYS);
  }
  return found;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} query
 * @returns {HTMLElement[]}
 */
function strongestReadout(shown, row, query) {
  const strongest = strongestOf(shown, row, query);
  if (strongest.length === 0) return [];
  const scale = chosenScale();
  const stretch = shown.map.exactCells ? shown.queries[row] : { first: query, end: query + 1 };
  const items = strongest.map(({ stretch: key, value }) => make('li', {}, [
    isolated(placeName(keyTokens(), key, shown.words, 150)),
    scale ? barFromZero(value, Math.min(0, scale.log ? 0 : scale.low), scale.high) : '',
    make('span', { class: 'number', text: fourDigits(value) }),
  ]));
  const title = make('h3', { text: `${say('strongest_keys')} ` });
  title.append(isolated(stretch ? placeName(queryTokens(), stretch, shown.words) : ''));
  const parts = [title, make('ol', { class: 'strongest' }, items)];
  return shown.map.strongest ? [...parts, make('p', { class: 'quiet', text: say('exact_values') })] : parts;
}

/** Says aloud where the keys have moved to. */
function announceCursor() {
  const cell = byId('cell-readout', HTMLDivElement);
  const spoken = [...cell.children].map((child) =>
    [...child.childNodes].filter((node) => !(node instanceof HTMLButtonElement)).map((node) => node.textContent).join('').trim());
  byId('announcement', HTMLDivElement).textContent = spoken.join(', ');
}

/** Writes what colours mean. */
function writeLegend() {
  const scale = chosenScale();
  const maps = chosenMaps();
  const shown = chosenMap();
  const lines = page.choice.view === 'lines';
  byId('legend', HTMLDivElement).hidden = !scale;
  // Colours of lines are those of heads, and their scale is linear.
  byId('scale-field', HTMLLabelElement).hidden = lines;
  byId('colour-bar', HTMLDivElement).hidden = lines;
  byId('legend-keys', HTMLUListElement).hidden = lines;
  byId('legend-lines', HTMLUListElement).hidden = !lines;
  if (!scale || !maps) return;
  byId('legend-title', HTMLSpanElement).textContent = inLanguage(maps.title);
  const width = Math.min(260, Math.max(120, Math.round(window.innerWidth * 0.2)));
  paintColours(byId('legend-colours', HTMLCanvasElement), scale, width, 12);
  const ticks = ticksOf(scale, width, 12).map(({ value, text }) => {
    const tick = make('span', { text });
    tick.style.left = `${shareOf(scale, value) * width}px`;
    return tick;
  });
  const box = byId('legend-ticks', HTMLDivElement);
  box.style.width = `${width}px`;
  box.replaceChildren(...ticks);
  byId('legend-keys', HTMLUListElement).replaceChildren(...(shown ? keysOfLegend(shown, scale) : []).map(({ colour, text }) => {
    const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.backgroundColor = colour;
    return make('li', {}, [swatch, text]);
  }));
}

/**
 * Swatches of cells that have no colour on the bar: hidden, NaN, faint.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @returns {{colour: string, text: string}[]}
 */
function keysOfLegend({ has, faint, least }, { map, log }) {
  const keys = [];
  if (has.hidden) keys.push({ colour: map.hidden, text: say('key_hidden') });
  if (has.minusInfinity) keys.push({ colour: map.minus_infinity, text: say('key_minus_infinity') });
  if (has.infinity) keys.push({ colour: map.infinity, text: say('key_infinity') });
  if (has.nan) keys.push({ colour: map.nan, text: say('key_nan') });
  if (log && least <= 0) keys.push({ colour: map.not_positive, text: say('key_not_positive') });
  if (faint) keys.push({ colour: 'transparent', text: say('key_left_out') });
  return keys;
}

/** @returns {string[]} what the reader must know of what is shown, a sentence each */
function statusSentences() {
  const { choice } = page;
  const shown = chosenMap();
  const scale = chosenScale();
  if (!shown || !scale) return [];
  const weights = areWeights();
  const exact = shown.map.exactCells;
  const said = [];
  if (choice.own) said.push(say('said_own_range'));
  if (choice.scale === 'log' && choice.view !== 'lines') said.push(scale.log ? say('said_log_lowest', { low: shortNumber(scale.low) }) : say('said_log_both_signs'));
  if (choice.scale === 'log' && choice.view !== 'lines' && scale.log && choice.left === 'maps') said.push(say('said_thumbnails', { low: shortNumber(Number((scale.high / HIGHEST_CODE / 2).toPrecision(1))) }));
  const left = exact && leftOut(choice.leave, keyTokens()).size > 0;
  if (left) said.push(say(choice.leave === 'first' ? 'said_first_left' : 'said_special_left'));
  if (shown.padded) said.push(say('said_padded'));
  if (choice.part !== '') said.push(say('said_part'));
  if (choice.renormalise && weights && exact) said.push(say('said_renormalised'));
  else if (left && weights) said.push(say('said_sum_smaller'));
  if (shown.words) said.push(say('said_words'));
  else if (choice.words && !weights) said.push(say('said_words_without'));
  if (!exact && (choice.words || choice.leave !== 'none' || choice.renormalise)) said.push(say('said_pooled_options'));
  if (choice.threshold > 0) said.push(say('said_threshold', { threshold: shortNumber(choice.threshold) }));
  if (choice.strongest > 0) said.push(say('said_strongest', { count: choice.strongest }));
  return [...said, ...statusOfView(shown)];
}

/** @param {ShownMap} shown */
function statusOfView(shown) {
  const { map } = shown;
  const said = [...saidOfPanels(shown)];
  const attention = chosenAttention();
  const group = attention?.heads_a_group ?? 1;
  if (group > 1) {
    const first = Math.floor(headNumber(attention, page.choice.head) / group) * group;
    said.push(say(group === 2 ? 'said_group_of_two' : 'said_group', { first, last: first + group - 1 }));
  }
  if (!map.exactCells) {
    const sizes = { rows: map.rows, columns: map.columns, queries: map.queries, keys: map.keys };
    said.push(say(map.strongest ? 'said_pooled' : 'said_pooled_plain', sizes));
  }
  const layout = mapView.layout;
  const ratio = window.devicePixelRatio || 1;
  if (page.choice.enlarged) return said;
  if (page.choice.view === 'map' && layout && !paper.on && Math.min(layout.cellWidth, layout.cellHeight) * ratio < 0.999) said.push(say('said_pixels'));
  if (page.choice.view === 'lines') {
    if (linesView.strongest > 0 && page.choice.strongest === 0) said.push(say('said_lines_strongest', { count: linesView.strongest }));
    if (linesView.zoom > 1) said.push(say('said_lines_in_view'));
    if (linesView.all > linesView.lines.length) said.push(say('said_lines', { drawn: linesView.lines.length, all: linesView.all }));
  }
  return said;
}

/** Writes the status line: what was chosen first, then what the program reduced. */
function writeStatus() {
  const sentences = [...statusSentences(), ...page.view.notes.map(inLanguage)];
  const box = byId('status', HTMLDivElement);
  const wanted = JSON.stringify(sentences);
  if (box.dataset['said'] === wanted) return;
  box.dataset['said'] = wanted;
  box.replaceChildren(...sentences.map((text) => make('span', { text: `${text} `, dir: 'auto' })));
}
