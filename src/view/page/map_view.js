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
