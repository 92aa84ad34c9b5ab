/** Cells that are larger show their parts when they are zoomed into. */
const OPENED_CELL = 0.8 * LARGEST_CELL;

/** The wheel has to turn so far, as a factor of zoom, before the unit of the map is another one. */
const UNIT_PULL = 2.5;

/** The longer side of the map's small picture, also in a narrow window. */
const MINIMAP_SIDE = 110;
const NARROW_MINIMAP_SIDE = 72;

/** What the cells of the shown map can stand for, from the coarsest. @returns {Unit[]} */
function unitsOfMap() {
  const shown = chosenMap();
  const both = [queryTokens(), keyTokens()];
  if (!shown?.map.exactCells || !areWeights()) return ['tokens'];
  return [...(both.some(hasSentences) ? /** @type {Unit[]} */ (['sentences']) : []), ...(both.some(hasWords) ? /** @type {Unit[]} */ (['words']) : []), 'tokens'];
}

/**
 * Shows the next unit where zooming has come to the end of the present one: sentences where the whole map of words or
 * tokens is made smaller, their words or tokens where large cells are made larger.
 * @param {number} factor of the zoom
 * @param {{x: number, y: number}} [point] of the wheel or the fingers, which have a way to go before that
 * @returns {boolean} whether there is another unit now
 */
function zoomUnit(factor, point) {
  const { layout, window: seen } = mapView;
  const shown = chosenMap();
  if (!layout || !shown || factor <= 0) return false;
  const outwards = factor < 1 && seen.zoom === 1;
  const inwards = factor > 1 && Math.min(layout.cellWidth, layout.cellHeight) >= OPENED_CELL;
  const units = unitsOfMap();
  const present = units.indexOf(shown.sentences ? 'sentences' : shown.words ? 'words' : 'tokens');
  const unit = units[present + (inwards ? 1 : -1)];
  if ((!outwards && !inwards) || present < 0 || unit === undefined) {
    mapView.pull = 1;
    return false;
  }
  if (point) {
    mapView.pull *= factor;
    if (Math.abs(Math.log(mapView.pull)) < Math.log(UNIT_PULL)) return false;
  }
  mapView.pull = 1;
  const region = regionAbout(shown, layout, point);
  Object.assign(page.choice, { words: unit === 'words', sentences: unit === 'sentences' });
  const next = shownOnce(shown.map, queryTokens(), keyTokens());
  const window = inwards ? windowOf(next, region) : '';
  change({ words: unit === 'words', sentences: unit === 'sentences', window });
  return true;
}

/**
 * The positions of the cell at a point, or in the middle, with half a cell on each side.
 * @param {ShownMap} shown
 * @param {MapLayout} layout
 * @param {{x: number, y: number}} [point]
 * @returns {{query: Stretch, key: Stretch}}
 */
function regionAbout(shown, layout, point) {
  const across = point ? (point.x - layout.left) / layout.cellWidth : layout.columns / 2;
  const down = point ? (point.y - layout.top) / layout.cellHeight : layout.rows / 2;
  const about = (/** @type {Stretch[]} */ stretches, /** @type {number} */ at) => {
    const index = Math.max(0, Math.min(stretches.length - 1, Math.floor(at)));
    const { first, end } = stretches[index] ?? { first: 0, end: 1 };
    return { first: first - (end - first) / 2, end: end + (end - first) / 2 };
  };
  return { query: about(shown.queries, layout.row + down), key: about(shown.keys, layout.column + across) };
}

/**
 * The window that shows a region, as the address has it.
 * @param {ShownMap} shown
 * @param {{query: Stretch, key: Stretch}} region
 */
function windowOf(shown, { query, key }) {
  const within = (/** @type {Stretch[]} */ stretches, /** @type {Stretch} */ part) => {
    const first = stretches.findIndex(({ end }) => end > part.first);
    const count = stretches.filter((one) => one.end > part.first && one.first < part.end).length;
    return { first: Math.max(0, first), share: Math.max(1, count) / Math.max(1, stretches.length) };
  };
  const [rows, columns] = [within(shown.queries, query), within(shown.keys, key)];
  const zoom = 1 / Math.max(rows.share, columns.share);
  return zoom > 1 ? [rows.first, columns.first, Number(zoom.toFixed(2))].join(':') : '';
}

/**
 * Draws the whole map small beside the part of it that is seen, with a frame about that part.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 */
function drawMinimap(shown, scale) {
  const canvas = byId('minimap', HTMLCanvasElement);
  const { layout, window: seen } = mapView;
  canvas.hidden = !layout || seen.zoom === 1 || page.other !== null || Math.min(mapView.width, mapView.height) < 2 * MINIMAP_SIDE;
  if (canvas.hidden || !layout) return;
  const [rows, columns] = [shown.queries.length, shown.keys.length];
  const side = (isNarrow() ? NARROW_MINIMAP_SIDE : MINIMAP_SIDE) / Math.max(rows, columns);
  const [width, height] = [Math.max(12, columns * side), Math.max(12, rows * side)];
  const pen = canvasPen(fitCanvas(canvas, width, height));
  const whole = { ...layout, row: 0, column: 0, rows, columns, cellWidth: width / columns, cellHeight: height / rows };
  pen.rect(0, 0, width, height, inks().ground);
  pen.image(rasterOfMap(shown, scale, whole, window.devicePixelRatio || 1, smallRasters), 0, 0, width, height);
  pen.frame(0, 0, width, height, inks().line, 2);
  pen.frame(layout.column * whole.cellWidth, layout.row * whole.cellHeight, layout.columns * whole.cellWidth, layout.rows * whole.cellHeight, inks().accent, 2);
}

/** The pixels of the small picture. @type {Rasters} */
const smallRasters = new WeakMap();

/** Pointers on the small picture: the map shows what is about them. */
function listenToMinimap() {
  const canvas = byId('minimap', HTMLCanvasElement);
  const goTo = (/** @type {PointerEvent} */ event) => {
    const shown = chosenMap();
    const layout = mapView.layout;
    event.stopPropagation();
    if (!shown || !layout || event.buttons === 0) return;
    const { left, top, width, height } = canvas.getBoundingClientRect();
    keepWindow({
      ...mapView.window, row: ((event.clientY - top) / height) * shown.queries.length - layout.rows / 2, column: ((event.clientX - left) / width) * shown.keys.length - layout.columns / 2 });
    drawMapView();
  };
  for (const kind of /** @type {const} */ (['pointerdown', 'pointermove'])) canvas.addEventListener(kind, goTo);
  canvas.addEventListener('pointerup', (event) => event.stopPropagation());
}
