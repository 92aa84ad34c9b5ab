/** More lines than this cannot be distinguished. */
const MOST_LINES = 4000;

/** With more keys than this, lines of the three strongest of each query are drawn. */
const KEYS_OF_ALL_LINES = 12;

/** Rows that are thinner than this, in pixels, are joined to bands. */
const LEAST_BAND = 4;

/** The thickest line takes this part of its row, so that lines of neighbours do not run into each other. */
const PART_OF_ROW = 0.7;

/** With lines of one query or key, names of those below this share of the strongest are pale. */
const NAMED_SHARE = 0.05;

/**
 * A line from a row to a column; of bands the first of each.
 * @typedef {{head: number, row: number, column: number, value: number}} HeadLine
 */

const linesView = {
  /** @type {HeadLine[]} */
  lines: [],
  all: 0,
  strongest: 0,
  /** Lines between bands of so many rows. @type {{size: number, lines: HeadLine[]}} */
  banded: { size: 0, lines: [] },
  /** The key at the pointer, where there is no query. @type {number | null} */
  column: null,
  rowHeight: 22,
  /** Number of rows that share a line; 1 = each has its own. */
  bands: 1,
  /** 1 = the whole text fits the height. */
  zoom: 1,
};

/** Of the scale of thickness; heads of weights below it are drawn up to their largest line. */
const LEAST_FULL_WEIGHT = 0.2;

/** Shares of the scale that the legend of thickness has. */
const LEGEND_SHARES = [0.1, 0.5, 1];

/** The value of the thickest line, as pictures have it: 1, or the largest line if all are thin. */
function fullOfLines() {
  const largest = (linesView.bands > 1 ? bandsOfLines(linesView.bands) : linesView.lines).at(-1)?.value ?? 0;
  return areWeights() && largest >= LEAST_FULL_WEIGHT ? Math.max(1, largest) : largest || 1;
}

/**
 * The thickness and opacity of a line.
 * @param {number} share of the thickest, from 0 to 1
 * @param {number} room height of a row
 */
function lookOfLine(share, room) {
  const most = Math.min((4.5 * 96) / 72, PART_OF_ROW * room);
  const thick = most * (0.07 + 0.93 * share);
  // What is thinner than a pixel is paler.
  return { thick: Math.max(0.5, thick), opacity: (0.15 + 0.85 * Math.sqrt(share)) * Math.min(1, thick / 0.5) };
}

/** The room of a row's lines: of bands all their rows. */
function roomOfLine() {
  return linesView.rowHeight * linesView.bands;
}

/** Number of the strongest keys of a query that get lines; 0 = all. */
function linesOfQuery() {
  const columns = chosenMap()?.keys.length ?? 0;
  if (page.choice.strongest > 0) return page.choice.strongest;
  return columns > KEYS_OF_ALL_LINES && page.choice.threshold <= 0 ? 3 : 0;
}

/** Gathers the lines of the chosen heads, strongest last. */
function gatherLines() {
  /** @type {HeadLine[]} */
  const lines = [];
  const strongest = linesOfQuery();
  for (const head of page.choice.heads) {
    const shown = page.shown.get(head);
    const columns = shown?.keys.length ?? 0;
    for (let row = 0; shown && row < shown.queries.length; ++row) {
      const values = shown.values.subarray(row * columns, (row + 1) * columns);
      const among = strongest > 0 && strongest < columns ? strongestOfRow(values, strongest) : null;
      values.forEach((value, column) => {
        const at = row * columns + column;
        if (value > 0 && (!among || among[column]) && Number.isFinite(value) && !shown.hidden?.[at] && !shown.faint?.[at]) lines.push({ head, row, column, value });
      });
    }
  }
  lines.sort((a, b) => a.value - b.value);
  linesView.all = lines.length;
  linesView.strongest = strongest;
  linesView.lines = lines.slice(-MOST_LINES);
  linesView.banded = { size: 0, lines: [] };
}

/**
 * Lines between bands of rows and columns: the mean, over the queries of a band, of what they give to a band of keys.
 * @param {number} size rows of a band
 */
function bandsOfLines(size) {
  if (linesView.banded.size === size) return linesView.banded.lines;
  /** @type {HeadLine[]} */
  const lines = [];
  for (const head of page.choice.heads) {
    const shown = page.shown.get(head);
    if (!shown) continue;
    const [rows, columns] = [shown.queries.length, shown.keys.length];
    const across = Math.ceil(columns / size);
    const sums = new Float64Array(Math.ceil(rows / size) * across);
    for (let at = 0; at < shown.values.length; ++at) {
      const value = shown.values[at] ?? NaN;
      if (!(value > 0) || value === Infinity || shown.hidden?.[at] || shown.faint?.[at]) continue;
      const cell = Math.floor(Math.floor(at / columns) / size) * across + Math.floor((at % columns) / size);
      sums[cell] = (sums[cell] ?? 0) + value;
    }
    sums.forEach((sum, cell) => {
      const row = Math.floor(cell / across) * size;
      const value = sum / Math.min(size, rows - row);
      if (value > 0) lines.push({ head, row, column: (cell % across) * size, value });
    });
  }
  linesView.banded = { size, lines: lines.sort((a, b) => a.value - b.value) };
  return linesView.banded.lines;
}

/**
 * The lines of a query or a key, or of all.
 * @param {number} row −1 = no query
 * @param {number | null} column
 * @returns {HeadLine[]}
 */
function chosenLines(row, column) {
  if (row < 0 && column === null) return linesView.bands > 1 ? bandsOfLines(linesView.bands) : linesView.lines;
  const lines = [];
  for (const head of page.choice.heads) {
    const shown = page.shown.get(head);
    if (!shown) continue;
    const [rows, columns] = [shown.queries.length, shown.keys.length];
    for (let step = 0; step < (row >= 0 ? columns : rows); ++step) {
      const place = row >= 0 ? { row, column: step } : { row: step, column: column ?? 0 };
      const { value, hidden, faint } = cellAt(shown, place.row, place.column);
      if (value > 0 && Number.isFinite(value) && !hidden && !faint) lines.push({ head, ...place, value });
    }
  }
  return lines.sort((a, b) => a.value - b.value);
}

/**
 * @typedef {object} LinesLayout
 * @property {number} width
 * @property {number} height of what is seen
 * @property {number} scrolled how far down it begins
 * @property {number} rowHeight
 */

/**
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {LinesLayout} layout
 * @param {{row: number, column: number | null}} active
 * @param {Inks} ink
 */
function drawLines(pen, shown, layout, active, ink) {
  const { width, height, scrolled, rowHeight } = layout;
  const [left, right] = [Math.round(width * 0.32), Math.round(width * 0.68)];
  const middle = (/** @type {number} */ index) => 34 + (index + 0.5) * rowHeight - scrolled;
  const isSeen = (/** @type {number} */ y) => y > 26 && y < height;
  const alone = active.row >= 0 || active.column !== null;
  const full = fullOfLines();
  const lines = chosenLines(active.row, active.column);
  const half = alone ? 0 : (linesView.bands - 1) / 2;
  for (const { head, row, column, value } of lines) {
    const [from, to] = [middle(row + half), middle(column + half)];
    // Lines that leave the window would cover its tokens.
    if (alone ? !isSeen(from) && !isSeen(to) : !isSeen(from) || !isSeen(to)) continue;
    const share = Math.min(1, value / full);
    if (share < 0.005) continue;
    const { colour, dash } = headColour(head);
    const { thick, opacity } = lookOfLine(share, alone ? Math.max(rowHeight, 9) : rowHeight * linesView.bands);
    pen.line(left, from, right, to, colour, thick, opacity, dash);
  }
  const named = alone ? endsOfLines(lines, active.row >= 0 ? 'column' : 'row') : null;
  drawColumn(pen, shown.queries, queryTokens(), shown.words, { x: left - 8, align: 'right', room: left - 16, middle, height, rowHeight }, active.row, ink, active.row < 0 ? named : null);
  drawColumn(pen, shown.keys, keyTokens(), shown.words, { x: right + 8, align: 'left', room: width - right - 16, middle, height, rowHeight }, active.column ?? -1, ink, active.row >= 0 ? named : null);
  pen.rect(0, 0, width, 26, ink.ground);
  pen.text(say('axis_queries'), left - 8, 13, { size: 12, fill: ink.quiet, align: 'right' });
  pen.text(say('axis_keys'), right + 8, 13, { size: 12, fill: ink.quiet });
}

/**
 * The ends of one query's or key's lines that are strong enough to be named, the strongest first.
 * @param {HeadLine[]} lines the strongest last
 * @param {'row' | 'column'} end
 */
function endsOfLines(lines, end) {
  const least = NAMED_SHARE * (lines.at(-1)?.value ?? 0);
  return [...new Set(lines.filter(({ value }) => value >= least).map((line) => line[end]).reverse())];
}

/**
 * @param {Pen} pen
 * @param {Stretch[]} stretches
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 * @param {{x: number, align: 'left' | 'right', room: number, middle: (index: number) => number, height: number, rowHeight: number}} place
 * @param {number} active
 * @param {Inks} ink
 * @param {number[] | null} ends of lines, the strongest first, which alone have names; null = all may have
 */
function drawColumn(pen, stretches, tokens, words, { x, align, room, middle, height, rowHeight }, active, ink, ends = null) {
  const size = Math.max(11, Math.min(14, rowHeight * 0.85));
  const every = Math.ceil(size / rowHeight);
  const round = hasNames(tokens) ? 0 : roundStep(every);
  const half = Math.min(10, Math.max(size / 2 + 1, rowHeight / 2));
  // Where rows are thin, the name of a stronger line takes the room of others.
  /** @type {Set<number>} */
  const kept = new Set();
  for (const end of ends ?? []) if (![...kept].some((other) => Math.abs(other - end) < every)) kept.add(end);
  stretches.forEach((stretch, index) => {
    const y = middle(index);
    if (y < 10 || y > height + 20) return;
    const marked = isFound(page.found, stretch);
    const chosen = index === active;
    const isEnd = kept.has(index);
    const free = !ends || (every === 1 && !isEnd) || ![...kept].some((other) => Math.abs(other - index) < every);
    const has = isEnd || (free && (round > 1 ? stretch.first % round === 0 : index % every === 0));
    if (!has && !marked && !chosen) return;
    // The chosen name stands on a ground, which would cover its neighbours' names.
    if (active >= 0 && !chosen && Math.abs(index - active) * rowHeight < half + size * 0.35) return;
    const text = shortened(edgeLabel(tokens, stretch, words), size, room);
    const width = widthOfText(text, size, chosen) + 8;
    const left = align === 'left' ? x - 4 : x - width + 4;
    if (marked || chosen) pen.rect(left, y - half, width, 2 * half, chosen ? ink.accent : ink.found);
    const pale = ends !== null && !isEnd;
    pen.text(text, x, y, { size, fill: chosen ? ink.ground : marked ? '#000000' : pale ? ink.line : ink.text, align, bold: chosen });
  });
}

/** Draws what is seen of the lines. */
function drawLinesView() {
  const shown = chosenMap();
  const box = byId('lines', HTMLDivElement);
  if (!shown) return;
  const count = Math.max(shown.queries.length, shown.keys.length);
  const fitted = Math.max(0.05, Math.min(34, (box.clientHeight - 50) / count));
  linesView.zoom = Math.max(1, Math.min(linesView.zoom, 34 / fitted));
  linesView.rowHeight = fitted * linesView.zoom;
  linesView.bands = Math.max(1, Math.ceil(LEAST_BAND / linesView.rowHeight - 1e-9));
  byId('lines-height', HTMLDivElement).style.height = `${34 + count * linesView.rowHeight + 8}px`;
  const [width, height] = [box.clientWidth, box.clientHeight];
  const context = fitCanvas(byId('lines-canvas', HTMLCanvasElement), width, height);
  context.clearRect(0, 0, width, height);
  const layout = { width, height, scrolled: box.scrollTop, rowHeight: linesView.rowHeight };
  drawLines(canvasPen(context), shown, layout, activeOfLines(), inks());
  box.setAttribute('aria-label', `${say('view_lines')}: ${say('map_label', {
    title: inLanguage(chosenAttention()?.title ?? '') || say('attention'), head: headNumber(chosenAttention(), page.choice.head), queries: shown.map.queries, keys: shown.map.keys,
  })}`);
}

/**
 * Spreads the rows; the one in the middle stays there.
 * @param {number} factor 0 = the whole text
 */
function zoomLines(factor) {
  const box = byId('lines', HTMLDivElement);
  const middle = (box.scrollTop + box.clientHeight / 2 - 34) / linesView.rowHeight;
  linesView.zoom = Math.max(1, linesView.zoom * factor);
  drawLinesView();
  box.scrollTop = 34 + middle * linesView.rowHeight - box.clientHeight / 2;
  drawLinesView();
  writeStatus();
}

/** The thicknesses that three weights have. */
function writeLineLegend() {
  const list = byId('legend-lines', HTMLUListElement);
  const full = fullOfLines();
  list.replaceChildren(...LEGEND_SHARES.map((share) => {
    const canvas = make('canvas', { 'aria-hidden': 'true' });
    const { thick, opacity } = lookOfLine(share, roomOfLine());
    canvasPen(fitCanvas(canvas, 36, 12)).line(0, 6, 36, 6, inks().text, thick, opacity);
    return make('li', {}, [canvas, ' ', shortNumber(Number((share * full).toPrecision(2)))]);
  }));
}

/**
 * The same in a picture.
 * @param {Pen} pen
 * @param {number} x
 * @param {number} y
 * @param {number} room of a line
 */
function drawLineLegend(pen, x, y, room) {
  LEGEND_SHARES.forEach((share, at) => {
    const { thick, opacity } = lookOfLine(share, room);
    pen.line(x + at * 90, y, x + at * 90 + 30, y, PAPER.text, thick, opacity);
    pen.text(shortNumber(Number((share * fullOfLines()).toPrecision(2))), x + at * 90 + 36, y, { size: 11, fill: PAPER.text });
  });
}

function activeOfLines() {
  if (linesView.column !== null) return { row: -1, column: linesView.column };
  return { row: page.cursor?.row ?? pinnedRow(), column: null };
}

/** The heads whose lines can be drawn, as buttons in their colours. */
function writeHeadChips() {
  const box = byId('head-chips', HTMLDivElement);
  const attention = chosenAttention();
  box.hidden = page.choice.view !== 'lines' || (attention?.heads ?? 0) < 2;
  if (box.hidden || !attention) return;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['chip'] : undefined;
  const { heads, head: chosen } = page.choice;
  const chips = Array.from({ length: attention.heads }, (_, head) => {
    const on = heads.includes(head);
    const name = say('head_number', { head: headNumber(attention, head) });
    const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.backgroundColor = on ? headColour(head).colour : 'transparent';
    const chip = make('button', { type: 'button', class: 'chip', 'aria-pressed': String(on), 'aria-label': name, title: name }, [swatch, String(headNumber(attention, head))]);
    chip.dataset['chip'] = String(head);
    chip.addEventListener('click', () => {
      const next = on ? heads.filter((other) => other !== head) : [...heads, head];
      change({ heads: next, head: next.includes(chosen) ? chosen : (next[0] ?? chosen) });
    });
    return chip;
  });
  const all = make('button', { type: 'button', text: say('all_heads') });
  all.addEventListener('click', () => change({ heads: Array.from({ length: attention.heads }, (_, head) => head) }));
  const one = make('button', { type: 'button', text: say('one_head') });
  one.addEventListener('click', () => change({ heads: [page.choice.head] }));
  box.replaceChildren(...chips, all, one);
  if (focused !== undefined) /** @type {HTMLElement | null} */ (box.querySelector(`[data-chip="${focused}"]`))?.focus();
}

/** Pointers of the lines. */
function listenToLines() {
  const box = byId('lines', HTMLDivElement);
  const indexAt = (/** @type {MouseEvent} */ event) => {
    const { left, top, width } = box.getBoundingClientRect();
    const index = Math.floor((event.clientY - top - 34 + box.scrollTop) / linesView.rowHeight);
    return { index, side: event.clientX - left < width / 2 ? 'query' : 'key' };
  };
  const cursorAt = (/** @type {MouseEvent} */ event) => {
    const { index, side } = indexAt(event);
    const stretch = side === 'query' ? chosenMap()?.queries[index] : undefined;
    return stretch ? { row: index, column: null, query: stretch.first } : null;
  };
  box.addEventListener('pointermove', (event) => {
    const { index, side } = indexAt(event);
    const key = side === 'key' && chosenMap()?.keys[index] ? index : null;
    const changed = key !== linesView.column;
    linesView.column = key;
    const cursor = cursorAt(event);
    if (changed && cursor === page.cursor) drawLinesView();
    pointAt(cursor);
  });
  box.addEventListener('pointerleave', () => {
    linesView.column = null;
    if (page.cursor) pointAt(null);
    else drawLinesView();
  });
  box.addEventListener('click', (event) => pinAt(cursorAt(event)));
  box.addEventListener('scroll', () => drawLinesView(), { passive: true });
}
