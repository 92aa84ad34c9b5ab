/** What is seen of the map on the page. */
const mapView = {
  /** @type {MapWindow} */
  window: { row: 0, column: 0, zoom: 1 },
  /** @type {MapLayout | null} */
  layout: null,
  /** What the window belongs to: another map of the same size keeps it. */
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
  mapView.layout = layOutMap(shown, mapView.width, mapView.height, mapView.window);
  drawMap(canvasPen(context), shown, scale, mapView.layout, inks(), window.devicePixelRatio || 1);
  box.setAttribute('aria-label', say('map_label', {
    title: told(attention.title) || say('attention'), head: headNumber(attention, page.choice.head),
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
  const pen = canvasPen(context);
  const pinned = pinnedRow();
  if (pinned >= 0 && pinned !== page.cursor?.row) drawCross(pen, shown, mapView.layout, { row: pinned, column: null }, inks());
  if (page.cursor) drawCross(pen, shown, mapView.layout, page.cursor, inks());
}

/** The row of the pinned query; −1 if none is or it is not shown. */
function pinnedRow() {
  const shown = chosenMap();
  return shown && page.choice.query !== null ? indexOfPosition(shown.queries, page.choice.query) : -1;
}

/**
 * What lies under a point of the map; beside the cells only a row or nothing.
 * @param {number} x
 * @param {number} y
 * @returns {Cursor | null}
 */
function placeAt(x, y) {
  const shown = chosenMap();
  const layout = mapView.layout;
  if (!shown || !layout) return null;
  const across = (x - layout.left) / layout.cellWidth;
  const down = (y - layout.top) / layout.cellHeight;
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
    zoomMap(Math.exp(-event.deltaY / (event.deltaMode === 0 ? 300 : 10)), pointOf(event));
  }, { passive: false });
  byId('zoom-in', HTMLButtonElement).addEventListener('click', () => zoomMap(1.5));
  byId('zoom-out', HTMLButtonElement).addEventListener('click', () => zoomMap(1 / 1.5));
  byId('zoom-all', HTMLButtonElement).addEventListener('click', () => zoomMap(0));
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
