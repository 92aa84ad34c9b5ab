/** Code of a thumbnail for the end of the range; those above it are as of CellBlock. */
const HIGHEST_CODE = 251;
const HIDDEN_CODE = 255;

/**
 * The bytes of all thumbnails and where each attention's sample begins.
 * @typedef {object} ThumbnailPictures
 * @property {Uint8Array} codes
 * @property {number} side
 * @property {number[][]} starts [attention][sample]
 */

/**
 * @param {import('./data').View} view
 * @returns {Promise<ThumbnailPictures>}
 */
async function readThumbnails(view) {
  const codes = new Uint8Array(await readBlock(view.thumbnails.block));
  const side = view.thumbnails.side;
  let next = 0;
  const starts = view.attentions.map((attention) =>
    attention.samples.map((place) => {
      const start = next;
      next += attention.heads * Math.min(side, place.queries) * Math.min(side, place.keys);
      return start;
    }));
  return { codes, side, starts };
}

/**
 * The pixels of all codes of the scale that was last asked for: most thumbnails share one.
 * @type {{scale: string, table: Uint32Array, pixels: Uint32Array}}
 */
const codePixels = { scale: '', table: new Uint32Array(), pixels: new Uint32Array() };

/**
 * The pixels of all codes.
 * @param {ColourScale} scale
 * @param {[number, number]} range that codes are shares of
 */
function pixelsOfCodes(scale, range) {
  if (codePixels.scale === JSON.stringify([scale.low, scale.high, scale.log, range]) && codePixels.table === scale.table) return codePixels.pixels;
  const pixels = new Uint32Array(256);
  for (let code = 0; code <= HIGHEST_CODE; ++code) {
    pixels[code] = pixelOfValue(scale, range[0] + (code / HIGHEST_CODE) * (range[1] - range[0]));
  }
  // Codes of 0 also stand for weights that are too small for another code.
  if (scale.log) pixels[0] = scale.table[0] ?? 0;
  pixels.set([...[-Infinity, Infinity, NaN].map((value) => pixelOfValue(scale, value)), pixelOf(scale.map.hidden)], HIGHEST_CODE + 1);
  codePixels.scale = JSON.stringify([scale.low, scale.high, scale.log, range]);
  codePixels.table = scale.table;
  codePixels.pixels = pixels;
  return pixels;
}

/**
 * The range that codes are shares of, as the writer takes it.
 * @param {import('./data').Maps} maps
 * @returns {[number, number]}
 */
function codeRange(maps) {
  if (!maps.diverging) return page.view.colours.range;
  const most = Math.max(Math.abs(maps.range[0]), Math.abs(maps.range[1])) || 1;
  return [-most, most];
}

/**
 * One head's thumbnail, a pixel a cell, until the next one is asked for.
 * @param {number} attention
 * @param {number} head
 * @returns {HTMLCanvasElement | null}
 */
function thumbnailOf(attention, head) {
  const pictures = page.thumbnails;
  const place = page.view.attentions[attention]?.samples[page.choice.sample];
  const start = pictures?.starts[attention]?.[page.choice.sample];
  const maps = place?.maps[0];
  if (!pictures || !place || !maps || start === undefined) return null;
  const [rows, columns] = [Math.min(pictures.side, place.queries), Math.min(pictures.side, place.keys)];
  const from = start + head * rows * columns;
  const codes = pictures.codes.subarray(from, from + rows * columns);
  const range = codeRange(maps);
  const own = page.choice.own ? ownRange(codes, range) : null;
  const scale = colourScale(maps, page.choice.scale, own);
  const [queries, keys] = [page.view.tokens[place.query_tokens], page.view.tokens[place.key_tokens]];
  const seenRows = Math.ceil((endOfText(queries, place.queries) * rows) / place.queries);
  const seenColumns = Math.ceil((endOfText(keys, place.keys) * columns) / place.keys);
  const padded = codes.every((code, at) => code === HIDDEN_CODE || (at % columns < seenColumns && at < seenRows * columns));
  const kept = padded ? codes.filter((_, at) => at % columns < seenColumns && at < seenRows * columns) : codes;
  return paintedThumbnail(kept, pixelsOfCodes(scale, range), padded ? seenRows : rows, padded ? seenColumns : columns);
}

/** All thumbnails are painted on one canvas, as there may be a thousand; each is copied at once. */
const scratch = make('canvas');

/**
 * @param {Uint8Array} codes
 * @param {Uint32Array} pixels of the codes
 * @param {number} rows
 * @param {number} columns
 */
function paintedThumbnail(codes, pixels, rows, columns) {
  if (scratch.width !== columns) scratch.width = columns;
  if (scratch.height !== rows) scratch.height = rows;
  const image = new ImageData(columns, rows);
  const painted = new Uint32Array(image.data.buffer);
  for (let at = 0; at < codes.length; ++at) painted[at] = pixels[codes[at] ?? 0] ?? 0;
  contextOf(scratch).putImageData(image, 0, 0);
  return scratch;
}

/**
 * @param {Uint8Array} codes
 * @param {[number, number]} range
 */
function ownRange(codes, range) {
  let [least, most] = [HIGHEST_CODE, 0];
  for (const code of codes) {
    if (code > HIGHEST_CODE) continue;
    least = Math.min(least, code);
    most = Math.max(most, code);
  }
  const value = (/** @type {number} */ code) => range[0] + (code / HIGHEST_CODE) * (range[1] - range[0]);
  return { least: value(Math.min(least, most)), largest: value(most) };
}

/** Attentions of one stack, from top to bottom. @typedef {{title: string, rows: number[], heads: number}} Stack */

/** @returns {Stack[]} */
function stacksOfView() {
  /** @type {Map<string, Stack>} */
  const stacks = new Map();
  page.view.attentions.forEach((attention, index) => {
    const title = inLanguage(attention.stack);
    const stack = stacks.get(title) ?? { title, rows: [], heads: 0 };
    stack.rows.push(index);
    stack.heads = Math.max(stack.heads, attention.heads);
    stacks.set(title, stack);
  });
  return [...stacks.values()];
}

/** State that the overview was drawn for, so that nothing is drawn twice. */
const drawn = { grids: '', pictures: '' };

const HEADER_WIDTH = 26;

/** The size of one head's place, by the room and the most heads. */
function placeSize() {
  const room = byId('stacks', HTMLDivElement).clientWidth - HEADER_WIDTH - 14;
  const heads = Math.max(1, ...page.view.attentions.map((attention) => attention.heads));
  return Math.max(13, Math.min(page.choice.enlarged ? 320 : 96, Math.floor(room / heads)));
}

/** Draws layers × heads, as maps or as statistics. */
function drawOverview() {
  const { choice } = page;
  const box = byId('stacks', HTMLDivElement);
  box.hidden = choice.left === 'list';
  if (box.hidden) return;
  const size = placeSize();
  const grids = JSON.stringify([speech.language, size, choice.sample, choice.left]);
  if (grids !== drawn.grids) {
    box.replaceChildren(...stacksOfView().map((stack) => makeGrid(stack, size)));
    drawn.grids = grids;
    drawn.pictures = '';
  }
  const pictures = JSON.stringify([choice.sample, choice.left, choice.left === 'maps' ? '' : choice.statistic, choice.scale, choice.own, Boolean(page.thumbnails), document.documentElement.dataset['theme'], isDark()]);
  if (pictures !== drawn.pictures) {
    for (const grid of box.querySelectorAll('.stack')) paintGrid(/** @type {HTMLElement} */ (grid), size);
    drawn.pictures = pictures;
  }
  markChosenHead();
}

/**
 * @param {Stack} stack
 * @param {number} size
 */
function makeGrid(stack, size) {
  const numbers = Array.from({ length: stack.heads }, (_, head) => {
    const text = String(headNumber(page.view.attentions[stack.rows[0] ?? 0], head));
    const crowded = size < 18 && head > 0 && (head + 1) % 4 > 0;
    return make('div', { role: 'columnheader' }, [crowded ? make('span', { class: 'unseen', text }) : text]);
  });
  const grid = make('div', { role: 'grid', 'aria-label': stack.title || say('heads') }, [
    make('div', { role: 'row' }, [make('div', { role: 'columnheader' }, [make('span', { class: 'unseen', text: say('layer') })]), ...numbers]),
    ...stack.rows.map((index) => makeGridRow(index)),
  ]);
  grid.style.gridTemplateColumns = `${HEADER_WIDTH}px repeat(${stack.heads}, ${size}px)`;
  grid.style.gridAutoRows = `${size}px`;
  grid.style.gridTemplateRows = '18px';
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  canvas.style.left = `${HEADER_WIDTH}px`;
  const made = make('section', { class: 'stack' }, [
    make('h3', {}, [make('bdi', { text: stack.title }), ' ', make('span', { class: 'axes', text: say('layers_by_heads') + pooledSaying(stack) })]), make('div', { class: 'grid-box' }, [canvas, grid])]);
  made.dataset['rows'] = stack.rows.join();
  made.dataset['heads'] = String(stack.heads);
  return made;
}

/**
 * A saying that pixels of thumbnails are maxima, where they are.
 * @param {Stack} stack
 */
function pooledSaying(stack) {
  const place = page.view.attentions[stack.rows[0] ?? 0]?.samples[page.choice.sample];
  const side = page.view.thumbnails.side;
  if (!place || page.choice.left !== 'maps' || Math.max(place.queries, place.keys) <= side) return '';
  const cells = (/** @type {number} */ positions) => Math.ceil(positions / Math.min(side, positions));
  return ` · ${say('thumbnail_pixels', { rows: cells(place.queries), columns: cells(place.keys) })}`;
}

/** @param {number} index of an attention */
function makeGridRow(index) {
  const attention = page.view.attentions[index];
  const layer = attention ? layerNumber(attention) : 0;
  const cells = Array.from({ length: attention?.heads ?? 0 }, (_, head) => {
    const cell = make('div', { role: 'gridcell', tabindex: '-1' });
    cell.dataset['attention'] = String(index);
    cell.dataset['head'] = String(head);
    return cell;
  });
  return make('div', { role: 'row' }, [make('div', { role: 'rowheader', text: String(layer), title: inLanguage(attention?.title ?? '') }), ...cells]);
}

/**
 * @param {HTMLElement} stack
 * @param {number} size
 */
function paintGrid(stack, size) {
  const rows = (stack.dataset['rows'] ?? '').split(',').map(Number);
  const heads = Number(stack.dataset['heads']);
  const canvas = stack.querySelector('canvas');
  if (!canvas) return;
  const context = fitCanvas(canvas, heads * size, rows.length * size);
  context.clearRect(0, 0, heads * size, rows.length * size);
  paintStack(canvasPen(context), rows, size, 0, 0);
  labelCells(stack);
}

/**
 * Maps or statistics of the rows' heads.
 * @param {Pen} pen
 * @param {number[]} rows attentions
 * @param {number} size
 * @param {number} left
 * @param {number} top
 */
function paintStack(pen, rows, size, left, top) {
  const gap = size > 24 ? 3 : 1;
  const range = statisticRange(page.choice.statistic);
  rows.forEach((attention, row) => {
    for (let head = 0; head < (page.view.attentions[attention]?.heads ?? 0); ++head) {
      const [x, y, side] = [left + head * size, top + row * size, size - gap];
      if (page.choice.left === 'maps') {
        const picture = thumbnailOf(attention, head);
        if (picture) pen.image(picture, x, y, side, side);
      } else {
        paintStatistic(pen, statisticOf(attention, head, page.choice.statistic), range, x, y, side);
      }
    }
  });
}

/**
 * Labels of the cells tell the statistic too where it is shown.
 * @param {HTMLElement} stack
 */
function labelCells(stack) {
  const cells = /** @type {NodeListOf<HTMLElement>} */ (stack.querySelectorAll('[role=gridcell]'));
  for (const cell of cells) {
    const [index, head] = [Number(cell.dataset['attention']), Number(cell.dataset['head'])];
    const attention = page.view.attentions[index];
    const place = say('layer_and_head', { layer: attention ? layerNumber(attention) : 0, head: headNumber(attention, head) });
    const value = statisticOf(index, head, page.choice.statistic);
    const label = page.choice.left === 'maps' ? place
      : say('statistic_cell', { place, value: value === null ? say('unknown_value') : fourDigits(value) });
    if (cell.title === label) continue;
    cell.title = label;
    cell.setAttribute('aria-label', label);
  }
}

/** Marks the chosen head; it alone is reached by the Tab key. */
function markChosenHead() {
  const cells = /** @type {NodeListOf<HTMLElement>} */ (byId('stacks', HTMLDivElement).querySelectorAll('[role=gridcell]'));
  for (const cell of cells) {
    const chosen = Number(cell.dataset['attention']) === page.choice.attention && Number(cell.dataset['head']) === page.choice.head;
    if (cell.ariaSelected !== String(chosen)) cell.ariaSelected = String(chosen);
    if (cell.tabIndex !== (chosen ? 0 : -1)) cell.tabIndex = chosen ? 0 : -1;
  }
}

/** @returns {HTMLElement | null} */
function chosenHeadCell() {
  return byId('stacks', HTMLDivElement).querySelector('[role=gridcell][aria-selected=true]');
}

/**
 * Another head; lines follow it unless several heads' are drawn.
 * @param {number} attention
 * @param {number} head
 */
function chooseHead(attention, head) {
  const heads = page.choice.heads.length > 1 && attention === page.choice.attention ? page.choice.heads : [head];
  change({ attention, head, heads });
}

/**
 * The next layer or head in a direction, over the stacks.
 * @param {number} layers
 * @param {number} heads
 */
function stepHead(layers, heads) {
  const order = stacksOfView().flatMap(({ rows }) => rows);
  const at = order.indexOf(page.choice.attention);
  const attention = order[Math.max(0, Math.min(order.length - 1, at + layers))] ?? 0;
  const most = page.view.attentions[attention]?.heads ?? 1;
  chooseHead(attention, Math.max(0, Math.min(most - 1, page.choice.head + heads)));
}

/** Clicks and keys of the grids. */
function listenToOverview() {
  const box = byId('stacks', HTMLDivElement);
  const cellOf = (/** @type {Event} */ event) =>
    event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest('[role=gridcell]')) : null;
  box.addEventListener('click', (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    chooseHead(Number(cell.dataset['attention']), Number(cell.dataset['head']));
    if (page.choice.enlarged) change({ enlarged: false });
    else if (isNarrow()) byId('attention', HTMLElement).scrollIntoView();
    cell.focus({ preventScroll: true });
  });
  box.addEventListener('keydown', (event) => {
    const steps = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e6], End: [0, 1e6],
    });
    const step = steps[event.key];
    if (!cellOf(event) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (step) {
      stepHead(...step);
      markChosenHead();
      chosenHeadCell()?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      change({ enlarged: false });
      focusView();
    } else return;
    event.preventDefault();
  });
}
