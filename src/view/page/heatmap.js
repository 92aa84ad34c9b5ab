/**
 * The places of the cells and labels of a map in a picture.
 * @typedef {object} MapLayout
 * @property {number} edge where labels begin
 * @property {number} left of the cells
 * @property {number} top
 * @property {number} right room beside the cells, into which turned labels reach
 * @property {number} cellWidth
 * @property {number} cellHeight
 * @property {number} row first one that is seen
 * @property {number} column
 * @property {number} rows that are seen
 * @property {number} columns
 * @property {boolean} turned whether labels of columns are
 */

/** @typedef {{row: number, column: number, zoom: number}} MapWindow */

const LABEL_SIZE = 12;
const LABEL_ROOM = 130;
/** Between names that stand side by side. */
const LABEL_GAP = 8;
const LARGEST_CELL = 120;

/** Most labels whose widths are measured; longer maps have no room for all of theirs. */
const MEASURED_LABELS = 500;

/**
 * @typedef {object} MapLabels
 * @property {(row: number) => string} query
 * @property {(column: number) => string} key
 * @property {number} queryRoom the width of the widest
 * @property {number} keyRoom
 */

/** @type {WeakMap<ShownMap, MapLabels>} */
const knownLabels = new WeakMap();

/**
 * The labels of a map and the room that they need.
 * @param {ShownMap} shown
 */
function labelsOf(shown) {
  const known = knownLabels.get(shown);
  if (known) return known;
  const labelling = (/** @type {Stretch[]} */ stretches, /** @type {import('./data').Tokens | undefined} */ tokens) =>
    (/** @type {number} */ index) => {
      const stretch = stretches[index];
      return stretch ? shortened(edgeLabel(tokens, stretch, shown.words), LABEL_SIZE, LABEL_ROOM) : '';
    };
  const room = (/** @type {(index: number) => string} */ label, /** @type {number} */ count) => {
    const step = Math.max(1, Math.floor(count / MEASURED_LABELS));
    let most = widthOfText(label(count - 1), LABEL_SIZE);
    for (let index = 0; index < count; index += step) most = Math.max(most, widthOfText(label(index), LABEL_SIZE));
    return Math.max(8, most);
  };
  const query = labelling(shown.queries, shown.queryTokens);
  const key = labelling(shown.keys, shown.keyTokens);
  const labels = { query, key, queryRoom: room(query, shown.queries.length), keyRoom: room(key, shown.keys.length) };
  knownLabels.set(shown, labels);
  return labels;
}

/**
 * @param {ShownMap} shown
 * @param {number} width of the picture
 * @param {number} height
 * @param {MapWindow} window
 * @returns {MapLayout}
 */
function layOutMap(shown, width, height, window) {
  const labels = labelsOf(shown);
  const [rows, columns] = [shown.queries.length, shown.keys.length];
  const left = Math.ceil(labels.queryRoom) + 26;
  const plain = fitCells(columns, rows, width - left - 12, height - labels.keyRoom - 30);
  const turned = hasNames(shown.keyTokens) && labels.keyRoom + LABEL_GAP > plain.width * window.zoom;
  const slope = Math.SQRT1_2 * labels.keyRoom;
  const top = Math.ceil((turned ? slope : 0) + 34);
  const down = height - top - 8;
  const right = !turned ? Math.max(12, Math.ceil((labels.keyRoom - plain.width) / 2) + 4) : window.zoom > 1 ? Math.min(slope, 90) + 6
    : overhang(labels, columns, fitCells(columns, rows, width - left - 12, down).width);
  const across = width - left - right;
  const fitted = fitCells(columns, rows, across, down);
  // A map that is smaller than its room lies in the middle of it.
  const edge = Math.max(0, Math.floor((across - columns * fitted.width * window.zoom) / 2));
  const cellWidth = fitted.width * window.zoom;
  const cellHeight = fitted.height * window.zoom;
  const seenRows = Math.max(1, Math.min(rows, Math.floor(down / cellHeight + 1e-6)));
  const seenColumns = Math.max(1, Math.min(columns, Math.floor(across / cellWidth + 1e-6)));
  return {
    edge, left: left + edge, top, right, cellWidth, cellHeight, turned, rows: seenRows, columns: seenColumns,
    row: Math.max(0, Math.min(Math.round(window.row), rows - seenRows)),
    column: Math.max(0, Math.min(Math.round(window.column), columns - seenColumns)),
  };
}

/**
 * The width that turned labels of the last columns take beyond the cells.
 * @param {MapLabels} labels
 * @param {number} columns
 * @param {number} size of a cell
 */
function overhang(labels, columns, size) {
  let most = 12;
  for (let back = 0; back < Math.min(columns, 60); ++back) {
    const reach = Math.SQRT1_2 * widthOfText(labels.key(columns - 1 - back), LABEL_SIZE);
    most = Math.max(most, reach - (back + 0.5) * size + 8);
  }
  return Math.min(most, 96);
}

/**
 * Cells that fill the room: square, unless the map would become a thin strip.
 * @param {number} columns
 * @param {number} rows
 * @param {number} width
 * @param {number} height
 */
function fitCells(columns, rows, width, height) {
  const across = Math.max(0.01, width / columns);
  const down = Math.max(0.01, height / rows);
  const square = Math.min(across, down, LARGEST_CELL);
  const widened = rows > 3 * columns ? Math.min(across, 14, (square * rows) / (3 * columns)) : square;
  const heightened = columns > 3 * rows ? Math.min(down, 14, (square * columns) / (3 * rows)) : square;
  return { width: Math.max(square, widened), height: Math.max(square, heightened) };
}

/**
 * The pixel of a cell.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {number} at
 * @param {number} hidden
 */
function pixelOfCell(shown, scale, at, hidden) {
  if (shown.hidden?.[at]) return hidden;
  return shown.faint?.[at] ? 0 : pixelOfValue(scale, shown.values[at] ?? NaN);
}

/** @typedef {WeakMap<ShownMap, {key: string, picture: HTMLCanvasElement}>} Rasters */

/** The pixels that were last made of a map: most choices, as a pinned query, do not change them. @type {Rasters} */
const knownRasters = new WeakMap();

/**
 * The seen cells, one pixel each, or so many as the picture has if they are fewer: then each is
 * the largest of its cells, by distance from 0 where there are values of both signs.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 * @param {number} ratio pixels of the screen for one of the page
 * @param {Rasters} [rasters] where they are kept
 */
function rasterOfMap(shown, scale, layout, ratio, rasters = knownRasters) {
  const { low, high, log, map } = scale;
  const key = JSON.stringify([low, high, log, map.name, map.hidden, layout.row, layout.column, layout.rows, layout.columns, layout.cellWidth, layout.cellHeight, ratio]);
  const known = rasters.get(shown);
  if (known?.key === key) return known.picture;
  const picture = paintedRaster(shown, scale, layout, ratio);
  rasters.set(shown, { key, picture });
  return picture;
}

/**
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 * @param {number} ratio
 */
function paintedRaster(shown, scale, layout, ratio) {
  const width = Math.max(1, Math.min(layout.columns, Math.round(layout.columns * layout.cellWidth * ratio)));
  const height = Math.max(1, Math.min(layout.rows, Math.round(layout.rows * layout.cellHeight * ratio)));
  const picture = make('canvas');
  picture.width = width;
  picture.height = height;
  const context = contextOf(picture);
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const hidden = pixelOf(scale.map.hidden);
  const cells = cellsOfPixels(shown, layout, width, height);
  cells.forEach((cell, at) => { pixels[at] = pixelOfCell(shown, scale, cell, hidden); });
  context.putImageData(image, 0, 0);
  return picture;
}

/**
 * The cell that each pixel shows: the largest of those that fall on it, as far as they are seen.
 * @param {ShownMap} shown
 * @param {MapLayout} layout
 * @param {number} width pixels, at most as many as columns
 * @param {number} height
 */
function cellsOfPixels({ values, hidden, faint, keys }, layout, width, height) {
  const firstOf = (/** @type {number} */ pixel, /** @type {number} */ pixels, /** @type {number} */ cells) => Math.floor((pixel * cells) / pixels);
  const pixelOfColumn = new Uint32Array(layout.columns);
  for (let x = 0; x < width; ++x) pixelOfColumn.fill(x, firstOf(x, width, layout.columns), firstOf(x + 1, width, layout.columns));
  const best = new Uint32Array(width * height);
  const largest = new Float64Array(width);
  for (let y = 0; y < height; ++y) {
    const [from, end] = [firstOf(y, height, layout.rows), firstOf(y + 1, height, layout.rows)];
    for (let x = 0; x < width; ++x) best[y * width + x] = (layout.row + from) * keys.length + layout.column + firstOf(x, width, layout.columns);
    largest.fill(-1);
    for (let row = from; row < end; ++row) {
      const start = (layout.row + row) * keys.length + layout.column;
      for (let column = 0; column < layout.columns; ++column) {
        const [at, x] = [start + column, pixelOfColumn[column] ?? 0];
        const value = Math.abs(values[at] ?? 0);
        if (!(value > (largest[x] ?? 0)) || hidden?.[at] || faint?.[at]) continue;
        largest[x] = value;
        best[y * width + x] = at;
      }
    }
  }
  return best;
}

/**
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 * @param {Inks} ink
 * @param {number} [ratio]
 */
function drawMap(pen, shown, scale, layout, ink, ratio = 1) {
  const { edge, left, top, cellWidth, cellHeight, rows, columns } = layout;
  const [width, height] = [columns * cellWidth, rows * cellHeight];
  pen.image(rasterOfMap(shown, scale, layout, ratio), left, top, width, height);
  drawCellMarks(pen, shown, scale, layout, ink);
  pen.frame(left, top, width, height, ink.line, 1);
  drawLabels(pen, shown, layout, ink);
  pen.text(`${say('axis_keys')} →`, left, 10, { size: 11, fill: ink.quiet });
  pen.text(say('axis_queries'), edge + 11, top + Math.min(height, 60) / 2 + 8, { size: 11, fill: ink.quiet, align: 'center', turned: -90 });
}

/**
 * Lines between large cells, strokes through hidden ones, and the values where they have room.
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 * @param {Inks} ink
 */
function drawCellMarks(pen, shown, scale, layout, ink) {
  const { left, top, cellWidth, cellHeight, rows, columns } = layout;
  if (cellHeight < 9 || cellWidth < 9 || rows * columns > 6000) return;
  const size = Math.min(13, cellHeight * 0.45, cellWidth * 0.32);
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const [x, y] = [left + column * cellWidth, top + row * cellHeight];
      const cell = cellAt(shown, layout.row + row, layout.column + column);
      if (cell.hidden) pen.line(x + 1, y + cellHeight - 1, x + cellWidth - 1, y + 1, '#777777', 0.7, 0.7);
      else if (size >= 8.5 && !cell.faint) writeValue(pen, cell.value, scale, x + cellWidth / 2, y + cellHeight / 2, size, cellWidth);
    }
  }
  if (cellHeight < 18) return;
  for (let row = 1; row < rows; ++row) pen.line(left, top + row * cellHeight, left + columns * cellWidth, top + row * cellHeight, ink.ground, 1);
  for (let column = 1; column < columns; ++column) pen.line(left + column * cellWidth, top, left + column * cellWidth, top + rows * cellHeight, ink.ground, 1);
}

/**
 * @param {Pen} pen
 * @param {number} value
 * @param {ColourScale} scale
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {number} room
 */
function writeValue(pen, value, scale, x, y, size, room) {
  pen.text(cellText(value, size, room), x, y, { size, fill: readableOn(pixelOfValue(scale, value)), align: 'center' });
}

/**
 * A value with two decimals. One that would be zero has its power of ten where there is room, else a point.
 * @param {number} value
 * @param {number} size of the letters
 * @param {number} room
 */
function cellText(value, size, room) {
  if (!Number.isFinite(value) || value === 0) return shortNumber(value);
  if (Math.abs(value) < 0.005) {
    const [digits = '', power = ''] = value.toExponential(1).split('e');
    const text = `${digits}e${Number(power)}`.replaceAll('-', '−');
    return widthOfText(text, size) <= room - 4 ? text : '·';
  }
  return Math.abs(value) < 100 ? value.toFixed(2).replace('-', '−') : value.toPrecision(3).replace('-', '−');
}

/**
 * The labels that have room; those of found and pinned tokens always.
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {MapLayout} layout
 * @param {Inks} ink
 */
function drawLabels(pen, shown, layout, ink) {
  const { left, top, cellWidth, cellHeight, rows, columns, turned } = layout;
  const labels = labelsOf(shown);
  const down = { first: layout.row, count: rows, size: cellHeight, room: 15 };
  const across = { first: layout.column, count: columns, size: cellWidth, room: turned ? 15 : labels.keyRoom + LABEL_GAP };
  // Numbers of both axes have one step.
  const step = (hasNames(shown.queryTokens) || hasNames(shown.keyTokens)) && shown.map.exactCells ? 0 : Math.max(stepOfAxis(shown.queries, down), stepOfAxis(shown.keys, across));
  const named = (/** @type {Stretch[]} */ stretches, /** @type {import('./data').Tokens | undefined} */ tokens) =>
    hasNames(tokens) && (shown.words || !stretches.some(({ first, end }) => end - first > 1));
  const rowTicks = ticksOfAxis(shown.queries, named(shown.queries, shown.queryTokens), labels.query, down, step);
  const columnTicks = ticksOfAxis(shown.keys, named(shown.keys, shown.keyTokens), labels.key, across, step);
  for (const { index, text: label, marked } of rowTicks) {
    const y = top + (index - layout.row + 0.5) * cellHeight;
    if (marked) pen.rect(left - 10 - widthOfText(label, LABEL_SIZE), y - 8, widthOfText(label, LABEL_SIZE) + 8, 16, ink.found);
    pen.text(label, left - 6, y, { size: LABEL_SIZE, fill: marked ? '#000000' : ink.text, align: 'right' });
  }
  for (const { index, text, marked } of columnTicks) {
    const x = left + (index - layout.column + 0.5) * cellWidth;
    if (marked) pen.rect(x - Math.max(2, cellWidth / 2), top - 6, Math.max(4, cellWidth), 5, ink.found);
    pen.text(text, x, top - 11, turned
      ? { size: LABEL_SIZE, fill: ink.text, turned: -45, bold: marked } : { size: LABEL_SIZE, fill: ink.text, align: 'center', bold: marked });
  }
}

/**
 * The labels along an axis that have room: names at even distances, or round numbers of positions,
 * which count from 0 as all numbers of the page do.
 * @param {Stretch[]} stretches
 * @param {boolean} named
 * @param {(index: number) => string} label
 * @param {LabelledAxis} axis
 * @param {number} [least] of the steps of numbers
 */
function ticksOfAxis(stretches, named, label, { first, count, size, room }, least = 0) {
  const found = page.found.length ? page.found : null;
  const every = Math.max(1, Math.ceil(room / size));
  const round = Math.max(least, stepOfAxis(stretches, { first, count, size, room }));
  const ticks = [];
  for (let index = first; index < first + count; ++index) {
    const stretch = stretches[index] ?? { first: index, end: index + 1 };
    const marked = isFound(found, stretch);
    const number = Math.ceil(stretch.first / round) * round;
    const whole = number < stretch.end;
    if (marked || (named ? (index - first) % every === 0 : whole)) {
      ticks.push({ index, marked, text: named || !whole ? label(index) : String(number) });
    }
  }
  return ticks;
}

/** What is seen of an axis, the size of a cell and the room of a label. @typedef {{first: number, count: number, size: number, room: number}} LabelledAxis */

/**
 * The step of the round numbers that have room along an axis.
 * @param {Stretch[]} stretches
 * @param {LabelledAxis} axis
 */
function stepOfAxis(stretches, { size, room }) {
  const positions = ((stretches.at(-1)?.end ?? 1) - (stretches[0]?.first ?? 0)) / stretches.length;
  return roundStep((room / size) * positions);
}

/**
 * The smallest of 1, 2, 5, 10, 20… that is not below a number.
 * @param {number} least
 */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((part) => part * power).find((step) => step >= least) ?? 10 * power;
}

/**
 * @param {number[] | null} found
 * @param {Stretch | undefined} stretch
 */
function isFound(found, stretch) {
  return found !== null && stretch !== undefined && found.some((position) => position >= stretch.first && position < stretch.end);
}

/**
 * The row and column at the pointer, their frames and their names.
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {MapLayout} layout
 * @param {{row: number, column: number | null}} place
 * @param {Inks} ink
 * @param {boolean} named whether names with their positions stand over the labels
 */
function drawCross(pen, shown, layout, { row, column }, ink, named = true) {
  const { left, top, cellWidth, cellHeight } = layout;
  const [width, height] = [layout.columns * cellWidth, layout.rows * cellHeight];
  const y = top + (row - layout.row) * cellHeight;
  const rowSeen = row >= layout.row && row < layout.row + layout.rows;
  const [beside, thick] = Math.min(cellWidth, cellHeight) < 6 ? [2, 1] : [0, 1.5];
  if (rowSeen) {
    pen.frame(left, y - beside, width, cellHeight + 2 * beside, ink.accent, thick);
    if (named) nameTag(pen, nameOf(shown, shown.queries[row], shown.queryTokens), left - 4, y + cellHeight / 2, 'right', ink);
  }
  if (column === null || column < layout.column || column >= layout.column + layout.columns) return;
  const x = left + (column - layout.column) * cellWidth;
  pen.frame(x - beside, top, cellWidth + 2 * beside, height, ink.accent, thick);
  if (rowSeen) pen.frame(x - beside - 1, y - beside - 1, cellWidth + 2 * beside + 2, cellHeight + 2 * beside + 2, ink.accent, beside ? 1.5 : 3);
  if (named) nameTag(pen, nameOf(shown, shown.keys[column], shown.keyTokens), Math.max(x + cellWidth / 2, 60), top - 12, 'center', ink);
}

/**
 * @param {ShownMap} shown
 * @param {Stretch | undefined} stretch
 * @param {import('./data').Tokens | undefined} tokens
 */
function nameOf(shown, stretch, tokens) {
  return stretch ? placeName(tokens, stretch, shown.words) : '';
}

/**
 * @param {Pen} pen
 * @param {string} name
 * @param {number} x
 * @param {number} y
 * @param {'right' | 'center'} align
 * @param {Inks} ink
 */
function nameTag(pen, name, x, y, align, ink) {
  const text = shortened(name, 13, 220);
  const width = widthOfText(text, 13, true) + 10;
  const left = Math.max(0, align === 'right' ? x - width : x - width / 2);
  pen.rect(left, y - 10, width, 20, ink.accent);
  pen.text(text, left + width / 2, y, { size: 13, fill: ink.ground, align: 'center', bold: true });
}
