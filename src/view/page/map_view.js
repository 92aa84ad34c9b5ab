/** The part of the map that is in view. */
const mapView = {
  /** @type {MapWindow} */
  window: { row: 0, column: 0, zoom: 1 },
  /** `Choice.window` that it was read from, or that was written of it. */
  address: '',
  /** @type {MapLayout | null} */
  layout: null,
  /** Size of the map that the window belongs to; another map of this size keeps the window. */
  size: '',
  width: 0,
  height: 0,
  /** `Page.sizes` that they were measured at. */
  sizes: -1,
  /** How far the wheel has turned beyond the end of the unit's zoom, as a factor. */
  pull: 1,
};

/** Draws the chosen head's map. */
function drawMapView() {
  const shown = chosenMap();
  const scale = chosenScale();
  const attention = chosenAttention();
  const box = byId('map', HTMLDivElement);
  if (!shown || !scale || !attention) return;
  const size = `${shown.queries.length} ${shown.keys.length}`;
  if (mapView.size !== '' && size !== mapView.size && page.choice.window === mapView.address) keepWindow({ row: 0, column: 0, zoom: 1 });
  mapView.size = size;
  if (page.choice.window !== mapView.address) readWindow();
  if (mapView.sizes !== page.sizes || mapView.width === 0) [mapView.width, mapView.height, mapView.sizes] = [box.clientWidth, box.clientHeight, page.sizes];
  mapView.layout = layOutMap(shown, panelSize().width, panelSize().height, mapView.window);
  drawCells(shown, scale, mapView.layout);
  box.setAttribute('aria-label', say('map_label', {
    title: inLanguage(attention.title) || say('attention'), head: headNumber(attention, page.choice.head),
    queries: shown.map.queries, keys: shown.map.keys,
  }));
  drawMinimap(shown, scale);
  drawMapCross();
}

/** What was drawn last of cells and labels. @type {{key: string, shown: ShownMap | null, other: ShownMap | null}} */
const drawnCells = { key: '', shown: null, other: null };

/**
 * Draws cells and labels, unless just these are there: a pinned cell changes none of them.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 */
function drawCells(shown, scale, layout) {
  const { width, height } = mapView;
  const key = JSON.stringify([width, height, layout, scale.low, scale.high, scale.log, scale.map, page.found, inks(), window.devicePixelRatio, speech.language, page.other && namesOfPanels()]);
  if (drawnCells.key === key && drawnCells.shown === shown && drawnCells.other === page.other) return;
  Object.assign(drawnCells, { key, shown, other: page.other });
  const context = fitCanvas(byId('map-cells', HTMLCanvasElement), width, height);
  context.clearRect(0, 0, width, height);
  if (page.other) drawPanels(canvasPen(context), shown, page.other, scale, inks());
  else drawMap(canvasPen(context), shown, scale, layout, inks(), window.devicePixelRatio || 1);
}

/**
 * The part of the map that is seen from now on, also in the address.
 * @param {MapWindow} window
 */
function keepWindow(window) {
  mapView.window = window;
  const { row, column, zoom } = window;
  mapView.address = zoom === 1 ? '' : [row, column, zoom].map((part) => Number(part.toFixed(2))).join(':');
  page.choice.window = mapView.address;
  writeAddressSoon();
}

/** The part of the map that the address tells. */
function readWindow() {
  const [row = NaN, column = NaN, zoom = NaN] = page.choice.window.split(':').map(Number);
  const whole = ![row, column, zoom].every(Number.isFinite) || zoom <= 1;
  mapView.window = whole ? { row: 0, column: 0, zoom: 1 } : { row, column, zoom };
  mapView.address = page.choice.window;
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
    const placed = (/** @type {{row: number, column: number | null}} */ place) => (map === page.other ? placeInOther(shown, place) : place);
    if (pinned >= 0 && pinned !== page.cursor?.row) drawCross(pen, map, layout, placed({ row: pinned, column: pinnedColumn() }), inks());
    if (page.cursor) drawCross(pen, map, layout, placed(page.cursor), inks());
  }
}

/** The row of the pinned query; −1 if none is or it is not shown. */
function pinnedRow() {
  const shown = chosenMap();
  return shown && page.choice.query !== null ? indexOfPosition(shown.queries, page.choice.query) : -1;
}

/** The column of the pinned key; null if none is or it is not shown. */
function pinnedColumn() {
  const shown = chosenMap();
  const column = shown && page.choice.key !== null ? indexOfPosition(shown.keys, page.choice.key) : -1;
  return column < 0 ? null : column;
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
  if (!layout || zoomUnit(factor, point)) return;
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
  keepWindow(mapView.window.zoom === 1 ? { row: 0, column: 0, zoom: 1 } : mapView.window);
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
  keepWindow({ ...mapView.window, ...next });
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
    if (!before) return pointAtSoon(placeAt(point.x, point.y));
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
  keepWindow({
    column: started.column - (point.x - started.x) / layout.cellWidth, row: started.row - (point.y - started.y) / layout.cellHeight, zoom: mapView.window.zoom });
  drawMapView();
}

/** Whether heads and attention stand one below the other, and the page scrolls. */
function isNarrow() {
  return window.matchMedia('(max-width: 60rem)').matches;
}

/** Number of the strongest keys in the list. */
const LISTED_KEYS = 10;

/** The frame that will show the place at the pointer; 0 = it is shown. */
const pointing = { frame: 0 };

/**
 * Sets the place that the reader points at with the next frame: a pointer tells of more places than there are frames.
 * @param {Cursor | null} cursor
 */
function pointAtSoon(cursor) {
  cancelAnimationFrame(pointing.frame);
  pointing.frame = requestAnimationFrame(() => pointAt(cursor));
}

/**
 * Sets the place that the reader points at; null = none.
 * @param {Cursor | null} cursor
 */
function pointAt(cursor) {
  cancelAnimationFrame(pointing.frame);
  pointing.frame = 0;
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
 * Pins the query of a place, and its key if it has one; lets both go if just these were pinned.
 * @param {Cursor | null} cursor
 */
function pinAt(cursor) {
  if (!cursor) return;
  const shown = chosenMap();
  const joined = shown && !shown.map.exactCells;
  const key = cursor.column === null ? null : shown?.keys[cursor.column]?.first ?? null;
  const again = (joined ? page.choice.query === cursor.query : pinnedRow() === cursor.row) && (key === null || key === page.choice.key);
  page.cursor = cursor;
  // A click on another key of the pinned query shows that one's arithmetic.
  change(again ? { query: null, key: null } : { query: cursor.query, key });
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
  const column = page.cursor ? page.cursor.column : page.choice.view === 'map' ? pinnedColumn() : null;
  cell.replaceChildren(...cellReadout(shown, row, column, query));
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
  // Of joined queries each has its strongest keys, or all are known together.
  const joined = shown.map.strongest !== null;
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
    change({ query: null, key: null });
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
  return shown.map.exactCells ? say('rank', rankInRow(shown, row, column)) : shown.map.cells === undefined ? say('rank_in_cells', { count: cells }) : inLanguage(shown.map.cells);
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
  const stretch = shown.map.strongest ? { first: query, end: query + 1 } : shown.queries[row];
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
