/**
 * A word for a POSIX shell.
 * @param {string} word
 */
function shellWord(word) {
  return /^[\w./:,=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The commands that draw what is shown. */
function plotCommand() {
  const { choice, view } = page;
  const kind = choice.view === 'lines' ? 'lines' : choice.view === 'text' ? 'strip' : 'heatmap';
  const flags = [...tensorFlags(), ...headFlags(kind), ...positionFlags(kind), ...colourFlags(kind)];
  const name = `layer${layerNumber(chosenAttention() ?? { name: '', title: '', stack: '', heads: 1, heads_a_group: 1, samples: [] })}_head${headNumber(chosenAttention(), choice.head)}.png`;
  return [...view.commands.before, ['attn-cli', 'plot', kind, view.commands.input, ...flags, '--out', name].join(' ')].join('\n');
}

/** @returns {string[]} */
function tensorFlags() {
  const attention = chosenAttention();
  const maps = /** @type {import('./data').Maps & {choice?: string} | undefined} */ (chosenMaps());
  if (maps?.choice !== undefined) return maps.choice === '' ? [] : [maps.choice];
  if (!attention || !maps) return [];
  const stacked = /^layers\.(\d+)$/.exec(attention.name);
  if (stacked) return ['--layers', stacked[1] ?? ''];
  if (isWholeName(attention)) return ['--name', shellWord(attention.name)];
  if (attention.name === '') return maps.tensor === 'weights' ? [] : ['--name', shellWord(maps.tensor)];
  return ['--name', shellWord(`${attention.name}.${maps.tensor}`)];
}

/**
 * Whether an attention has the whole name of its tensor, as those of files of other programs: their
 * stack is that name with {n} in the place of the layer.
 * @param {import('./data').Attention} attention
 */
function isWholeName({ name, stack }) {
  const parts = inLanguage(stack).split('{n}');
  const numbers = name.slice((parts[0] ?? '').length, name.length - (parts[1] ?? '').length);
  return name !== '' && (inLanguage(stack) === name || (parts.length === 2 && name === parts.join(numbers) && /^\d+$/.test(numbers)));
}

/** @param {string} kind */
function headFlags(kind) {
  const numberOf = (/** @type {number} */ head) => headNumber(chosenAttention(), head);
  const { choice, view } = page;
  const flags = view.samples.length > 1 ? ['--sample', String(choice.sample)] : [];
  if ((chosenAttention()?.heads ?? 1) < 2) return flags;
  if (kind === 'lines' && choice.heads.length > 1) {
    const all = choice.heads.length === chosenAttention()?.heads && !chosenAttention()?.numbers;
    return [...flags, ...(all ? ['--head', 'all'] : ['--heads', choice.heads.map(numberOf).join()])];
  }
  return [...flags, '--head', String(numberOf(choice.head))];
}

/**
 * Flags that choose positions: the part of the pair, the window, the pinned query, keys left out.
 * @param {string} kind
 */
function positionFlags(kind) {
  const { choice } = page;
  const shown = chosenMap();
  const flags = [];
  const layout = kind === 'heatmap' && choice.view === 'map' ? mapView.layout : null;
  const [queries, keys] = [rangeOf(shown?.queries, layout?.row, layout?.rows), rangeOf(shown?.keys, layout?.column, layout?.columns)];
  const pinned = choice.query !== null && shown ? shown.queries[pinnedRow()] : undefined;
  const joined = shown !== undefined && !shown.map.exactCells;
  if (kind !== 'heatmap' && pinned) flags.push('--queries', joined ? `${choice.query ?? 0}:${(choice.query ?? 0) + 1}` : `${pinned.first}:${pinned.end}`);
  else if (queries && shown && (queries.first > 0 || queries.end < shown.map.queries)) flags.push('--queries', `${queries.first}:${queries.end}`);
  const dropped = leftOut(joined ? 'none' : choice.leave, keyTokens());
  const firstKept = choice.leave === 'first' ? 1 : 0;
  if (keys && shown && (keys.end < shown.map.keys || keys.first > firstKept) && (choice.part !== '' || choice.leave !== 'special')) flags.push('--keys', `${keys.first}:${keys.end}`);
  else if (choice.leave === 'first' && dropped.size) flags.push('--drop-first', '1');
  if (choice.leave === 'special' && dropped.size) flags.push('--drop', [...dropped].join());
  if (choice.renormalise && areWeights() && !joined) flags.push('--renormalize');
  if (shown?.words) flags.push('--merge-pieces');
  return flags;
}

/**
 * @param {Stretch[] | undefined} stretches
 * @param {number} [from]
 * @param {number} [count]
 * @returns {Stretch | null}
 */
function rangeOf(stretches, from = 0, count = stretches?.length ?? 0) {
  const first = stretches?.[from];
  const last = stretches?.[from + count - 1];
  return first && last ? { first: first.first, end: last.end } : null;
}

/** @param {string} kind */
function colourFlags(kind) {
  const { choice, view } = page;
  const scale = chosenScale();
  const diverging = chosenMaps()?.diverging ?? false;
  const flags = [];
  if (kind === 'lines') {
    if (linesOfQuery() > 0) flags.push('--top', String(linesOfQuery()));
    if (choice.threshold > 0) flags.push('--threshold', String(choice.threshold));
    return flags;
  }
  flags.push('--cmap', diverging ? view.colours.light.diverging.name : view.colours.light.weights.name);
  if (scale) flags.push('--color-range', choice.own ? 'panel' : `${plainNumber(scale.low)},${plainNumber(scale.high)}`);
  if (scale?.log) flags.push('--norm', 'log');
  return flags;
}

/** @param {number} value */
function plainNumber(value) {
  return String(Number(value.toPrecision(7)));
}

/** Writes the command into its field. */
function writeCommand() {
  if (byId('export', HTMLDivElement).hidden) return;
  const command = plotCommand();
  const field = byId('command', HTMLTextAreaElement);
  field.value = command;
  field.rows = Math.min(6, command.split('\n').length + 1);
}

/** A picture of the present view. @typedef {{title: string, width: number, height: number, draw: (pen: Pen) => void}} Picture */

/** Pictures are for paper, whatever the page's colours are. */
const PAPER = { text: '#1b1f24', quiet: '#57606a', line: '#8c959f', ground: '#ffffff', accent: '#0a3069', faint: '#eaeef2', found: '#ffd33d', negative: '#b35900' };

const PICTURE_WIDTH = 900;

/** Letters of a text below a picture. */
const MOST_SOURCE_LETTERS = 300;

/** @returns {Picture | null} */
function presentPicture() {
  const shown = chosenMap();
  const scale = chosenScale();
  const attention = chosenAttention();
  if (!shown || !scale || !attention) return null;
  if (page.choice.enlarged && page.choice.left !== 'list') return overviewPicture(scale);
  const sample = page.view.samples.length > 1 ? ` – ${inLanguage(page.view.samples[page.choice.sample]?.title ?? '')}` : '';
  const title = headTitle(attention, page.choice.head) + sample;
  if (page.choice.view === 'table' && !page.choice.enlarged && paper.printing) return null;
  if (page.choice.view === 'lines') return linesPicture(shown, page.choice.heads.length > 1 ? inLanguage(attention.title) + sample : title);
  if (page.choice.view === 'text') return stripPicture(shown, scale, title);
  return page.other ? panelsPicture(shown, page.other, scale, title) : mapPicture(shown, scale, title);
}

/** The input and its text, for those who meet a picture or a table alone. */
function sourceOfView() {
  const texts = [...new Set([queryTokens(), keyTokens()])].map((tokens) => shortText(tokens, MOST_SOURCE_LETTERS)).filter(Boolean);
  return [page.view.title, ...texts].filter(Boolean).join(' – ');
}

/**
 * The title above a picture and the colours below it.
 * @param {string} title
 * @param {number} width
 * @param {number} height of what stands between
 * @param {ColourScale | null} scale
 * @param {(pen: Pen) => void} draw at (0, 0)
 * @returns {Picture}
 */
function framedPicture(title, width, height, scale, draw) {
  const said = [sourceOfView(), ...statusSentences()].filter(Boolean);
  const lines = said.flatMap((text) => brokenText(text, 11, width - 24));
  // Bold letters are wider than those that brokenText measures.
  const titles = brokenText(title, 17.6, width - 24);
  const top = 18 + titles.length * 22;
  const whole = top + height + (scale ? 52 : 8) + lines.length * 16 + 8;
  return {
    title, width, height: whole,
    draw(pen) {
      pen.rect(0, 0, width, whole, PAPER.ground);
      titles.forEach((line, at) => pen.text(line.trim(), width / 2, 20 + at * 22, { size: 16, fill: PAPER.text, align: 'center', bold: true }));
      draw(movedPen(pen, 0, top));
      if (scale) drawBar(pen, scale, inLanguage(chosenMaps()?.title ?? ''), 12, top + height + 6);
      lines.forEach((line, at) => pen.text(line, 12, top + height + (scale ? 58 : 8) + at * 16 + 6, { size: 11, fill: PAPER.quiet }));
    },
  };
}

/**
 * @param {string} text
 * @param {number} size
 * @param {number} width
 */
function brokenText(text, size, width) {
  const lines = [''];
  for (const word of text.split(/(?<=[\s，。、：；])/)) {
    const line = (lines.at(-1) ?? '') + word;
    if (widthOfText(line, size) > width && lines.at(-1) !== '') lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/**
 * @param {Pen} pen
 * @param {number} left
 * @param {number} top
 * @returns {Pen}
 */
function movedPen(pen, left, top) {
  return {
    rect: (x, y, ...rest) => pen.rect(x + left, y + top, ...rest),
    frame: (x, y, ...rest) => pen.frame(x + left, y + top, ...rest),
    line: (x1, y1, x2, y2, ...rest) => pen.line(x1 + left, y1 + top, x2 + left, y2 + top, ...rest),
    text: (text, x, y, style) => pen.text(text, x + left, y + top, style),
    image: (picture, x, y, ...rest) => pen.image(picture, x + left, y + top, ...rest),
  };
}

/**
 * @param {Pen} pen
 * @param {ColourScale} scale
 * @param {string} title
 * @param {number} x
 * @param {number} y
 */
function drawBar(pen, scale, title, x, y) {
  const canvas = make('canvas');
  canvas.width = 256;
  canvas.height = 1;
  const context = contextOf(canvas);
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(scale.table);
  context.putImageData(image, 0, 0);
  pen.text(title, x, y + 6, { size: 11, fill: PAPER.text });
  pen.image(canvas, x, y + 15, 260, 10);
  pen.frame(x, y + 15, 260, 10, PAPER.line, 0.5);
  for (const { value, text } of ticksOf(scale, 260, 10)) {
    const at = x + 260 * shareOf(scale, value);
    pen.text(text, at, y + 34, { size: 10, fill: PAPER.text, align: at < x + 8 ? 'left' : 'center' });
  }
  const shown = chosenMap();
  (shown ? keysOfLegend(shown, scale) : []).forEach(({ colour, text }, index) => {
    if (colour !== 'transparent') pen.rect(x + 290 + index * 130, y + 14, 12, 12, colour);
    pen.frame(x + 290 + index * 130, y + 14, 12, 12, PAPER.line, 0.5);
    pen.text(text, x + 308 + index * 130, y + 20, { size: 11, fill: PAPER.text });
  });
}

/**
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {string} title
 */
function mapPicture(shown, scale, title) {
  const seen = (mapView.window.zoom > 1 && mapView.layout) || { row: 0, column: 0, rows: shown.queries.length, columns: shown.keys.length };
  const labels = labelsOf(shown);
  const room = PICTURE_WIDTH - labels.queryRoom - 40;
  const side = Math.min(LARGEST_CELL, room / seen.columns);
  const height = Math.min(1200, Math.max(160, seen.rows * side)) + labels.keyRoom + 44;
  const fitted = layOutMap(shown, PICTURE_WIDTH, height, { ...mapView.window });
  const cell = fitCells(seen.columns, seen.rows, PICTURE_WIDTH - fitted.left - fitted.right, height - fitted.top - 8);
  const layout = {
    ...fitted, row: seen.row, column: seen.column, rows: seen.rows, columns: seen.columns,
    cellWidth: cell.width, cellHeight: cell.height,
  };
  layout.turned = hasNames(keyTokens()) && labels.keyRoom + 6 > layout.cellWidth;
  return framedPicture(title, PICTURE_WIDTH, layout.top + layout.rows * layout.cellHeight + 8, scale, (pen) => {
    drawMap(pen, shown, scale, layout, PAPER, 2);
    const pinned = pinnedRow();
    if (pinned >= layout.row && pinned < layout.row + layout.rows) pen.frame(layout.left, layout.top + (pinned - layout.row) * layout.cellHeight, layout.columns * layout.cellWidth, layout.cellHeight, PAPER.accent, 1.5);
  });
}

/**
 * @param {ShownMap} shown
 * @param {string} title
 */
function linesPicture(shown, title) {
  const count = Math.max(shown.queries.length, shown.keys.length);
  const box = byId('lines', HTMLDivElement);
  const seen = linesView.zoom > 1 ? Math.min(count, Math.floor((box.clientHeight - 34) / linesView.rowHeight)) : count;
  const rowHeight = Math.min(22, 1320 / seen);
  const first = Math.max(0, Math.min(count - seen, Math.floor(box.scrollTop / linesView.rowHeight)));
  const heads = page.choice.heads.length > 1 ? page.choice.heads.slice(0, 12) : [];
  const bottom = 34 + seen * rowHeight;
  return framedPicture(title, 700, bottom + (heads.length ? 52 : 28), null, (pen) => {
    const layout = { width: 700, height: bottom, scrolled: first * rowHeight, rowHeight };
    drawLines(pen, shown, layout, { row: pinnedRow(), column: null }, PAPER);
    heads.forEach((head, at) => {
      const x = 12 + at * 56;
      pen.line(x, bottom + 16, x + 18, bottom + 16, headColour(head).colour, 3, 1, headColour(head).dash);
      pen.text(String(headNumber(chosenAttention(), head)), x + 24, bottom + 16, { size: 12, fill: PAPER.text });
    });
    pen.text(inLanguage(chosenMaps()?.title ?? ''), 12, bottom + (heads.length ? 40 : 16), { size: 11, fill: PAPER.text });
    drawLineLegend(pen, 160, bottom + (heads.length ? 40 : 16));
  });
}

/**
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @param {string} title
 */
function stripPicture(shown, scale, title) {
  const weights = stripWeights(shown);
  const gives = page.choice.direction === 'gives';
  const chosen = strippedIndex();
  /** @type {((pen: Pen) => void)[]} */
  const drawn = [];
  let [x, y] = [12, 14];
  for (const strip of stripsOf(shown)) {
    const tokens = strip.side === 'keys' ? keyTokens() : queryTokens();
    const rtl = strip.stretches.some((stretch) => RIGHT_TO_LEFT.test(textOf(tokens, stretch, shown.words)));
    strip.stretches.forEach((stretch, index) => {
      const text = shortened(edgeLabel(tokens, stretch, shown.words), 15, 400);
      const width = widthOfText(text, 15) + 10;
      if (x + width > PICTURE_WIDTH - 12) [x, y] = [12, y + 30];
      const pixel = tintOf(scale, weights, gives ? strip.columnOf(index) : strip.rowOf(index));
      const own = chosen >= 0 && (gives ? strip.rowOf(index) : strip.columnOf(index)) === chosen;
      const at = { x: rtl ? PICTURE_WIDTH - x - width : x, y };
      drawn.push((pen) => {
        if (pixel !== null) pen.rect(at.x, at.y - 12, width, 24, colourOf(pixel));
        if (own) pen.frame(at.x, at.y - 12, width, 24, PAPER.accent, 2.5);
        pen.text(text, at.x + width / 2, at.y, { size: 15, fill: pixel === null ? PAPER.text : readableOn(pixel), align: 'center' });
      });
      x += width + 4;
    });
    [x, y] = [12, y + 42];
  }
  return framedPicture(title, PICTURE_WIDTH, y, scale, (pen) => drawn.forEach((draw) => draw(pen)));
}

/** @param {ColourScale} scale */
function overviewPicture(scale) {
  const stacks = stacksOfView();
  const heads = Math.max(...stacks.map((stack) => stack.heads));
  const size = Math.max(16, Math.min(90, Math.floor((PICTURE_WIDTH - 60) / heads)));
  const height = stacks.reduce((sum, { rows }) => sum + rows.length * size + 50, 0);
  const maps = page.choice.left === 'maps';
  const statistic = page.view.statistics[page.choice.statistic];
  const title = maps ? page.view.title || say('heads') : inLanguage(statistic?.title ?? '');
  return framedPicture(title, 60 + heads * size, height, maps ? scale : null, (pen) => {
    let top = 0;
    for (const { title: name, rows } of stacks) {
      pen.text(name, 12, top + 10, { size: 13, fill: PAPER.text, bold: true });
      for (let head = 0; head < heads; ++head) pen.text(String(headNumber(page.view.attentions[rows[0] ?? 0], head)), 40 + (head + 0.5) * size, top + 32, { size: 11, fill: PAPER.quiet, align: 'center' });
      rows.forEach((index, row) => {
        const attention = page.view.attentions[index];
        pen.text(String(attention ? layerNumber(attention) : ''), 34, top + 44 + (row + 0.5) * size, { size: 11, fill: PAPER.quiet, align: 'right' });
      });
      paintStack(pen, rows, size, 40, top + 42);
      top += rows.length * size + 50;
    }
  });
}

/**
 * @param {Blob} blob
 * @param {string} ending
 */
function saveFile(blob, ending) {
  const attention = chosenAttention();
  const layer = attention ? layerNumber(attention) : 0;
  const name = page.choice.enlarged ? 'heads' : `layer${layer}_head${headNumber(attention, page.choice.head)}_${page.choice.view}`;
  const input = page.view.title.replace(/[^\p{L}\p{N}.]+/gu, '_').replace(/^_+|_+$/g, '').slice(0, 60);
  const link = make('a', { download: `${input ? `${input}_` : ''}${name}.${ending}`, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function savePng() {
  onPaper(savePngOnPaper);
}

function savePngOnPaper() {
  const picture = presentPicture();
  if (!picture) return;
  const canvas = make('canvas');
  const context = fitCanvas(canvas, picture.width, picture.height);
  canvas.width = picture.width * 2;
  canvas.height = picture.height * 2;
  context.setTransform(2, 0, 0, 2, 0, 0);
  picture.draw(canvasPen(context));
  canvas.toBlob((blob) => blob && saveFile(blob, 'png'), 'image/png');
}

/** The present view as the text of an SVG file; empty if there is none. */
function presentSvg() {
  return onPaper(() => {
    const picture = presentPicture();
    if (!picture) return '';
    const pen = svgPen(picture.width, picture.height, picture.title);
    picture.draw(pen);
    return pen.svg();
  });
}

function saveSvg() {
  const svg = presentSvg();
  if (svg !== '') saveFile(new Blob([svg], { type: 'image/svg+xml' }), 'svg');
}

function saveCsv() {
  saveFile(new Blob(['\ufeff', presentCsv()], { type: 'text/csv' }), 'csv');
}

/**
 * Copies a text, from its field if there is one, and says so.
 * @param {string} text
 * @param {HTMLTextAreaElement | null} field
 */
async function copyText(text, field) {
  const announcement = byId('announcement', HTMLDivElement);
  try {
    await navigator.clipboard.writeText(text);
    announcement.textContent = say('copied');
  } catch {
    // Pages from files may not write to the clipboard in this way.
    const area = field ?? document.body.appendChild(make('textarea', { text, 'aria-label': say('copy_address') }));
    area.select();
    const done = document.execCommand('copy');
    announcement.textContent = say(done ? 'copied' : 'copy_failed');
    if (!field) area.remove();
  }
  return announcement.textContent;
}

/** The buttons of the drawer. */
function listenToExport() {
  byId('export-png', HTMLButtonElement).addEventListener('click', savePng);
  byId('export-svg', HTMLButtonElement).addEventListener('click', saveSvg);
  byId('export-csv', HTMLButtonElement).addEventListener('click', saveCsv);
  const copies = /** @type {[string, TextName, () => [string, HTMLTextAreaElement | null]][]} */ ([
    ['copy-address', 'copy_address', () => [location.href, null]],
    ['copy-command', 'copy_command', () => [byId('command', HTMLTextAreaElement).value, byId('command', HTMLTextAreaElement)]],
  ]);
  for (const [id, name, take] of copies) {
    const button = byId(id, HTMLButtonElement);
    button.addEventListener('click', async () => {
      button.textContent = await copyText(...take());
      button.focus();
      setTimeout(() => {
        button.textContent = say(name);
      }, 2000);
    });
  }
}
