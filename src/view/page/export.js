/** A picture of the present view. @typedef {{title: string, width: number, height: number, draw: (pen: Pen) => void}} Picture */

/** Pictures are for paper, whatever the page's colours are. */
const PAPER = { text: '#1b1f24', quiet: '#57606a', line: '#8c959f', ground: '#ffffff', accent: '#0a3069', faint: '#eaeef2', found: '#ffd33d', negative: '#b35900' };

const PICTURE_WIDTH = 900;

/** Letters of a text below a picture. */
const MOST_SOURCE_LETTERS = 300;

/** Whether what is on the screen is drawn; tables and lists are printed as they are, and saved as CSV. */
function hasPicture() {
  return page.choice.enlarged ? page.choice.left !== 'list' : page.choice.view !== 'table';
}

/** @param {import('./data').Attention} attention */
function titleOfLines(attention) {
  const { heads, head } = page.choice;
  if (heads.length < 2) return headTitle(attention, heads[0] ?? head);
  const names = heads.map((one) => headNumber(attention, one)).join(say('list_join'));
  return `${inLanguage(attention.title)}${say('list_join')}${say('heads_numbered', { heads: names })}`;
}

/** @returns {Picture | null} */
function presentPicture() {
  const shown = chosenMap();
  const scale = chosenScale();
  const attention = chosenAttention();
  if (!shown || !scale || !attention) return null;
  if (!hasPicture()) return null;
  if (page.choice.enlarged) return overviewPicture(scale);
  const sample = page.view.samples.length > 1 ? ` – ${inLanguage(page.view.samples[page.choice.sample]?.title ?? '')}` : '';
  const title = headTitle(attention, page.choice.head) + sample;
  if (page.choice.view === 'lines') return linesPicture(shown, titleOfLines(attention) + sample);
  if (page.choice.view === 'text') return stripPicture(shown, scaleOfStrip(shown)?.scale ?? scale, title);
  return page.other ? panelsPicture(shown, page.other, scale, title) : mapPicture(shown, scale, title);
}

/** The input and its text, for those who meet a picture or a table alone. */
function sourceOfView() {
  // Patches have their picture in place of a text.
  const texts = [queryTokens(), keyTokens()].map((tokens) => (chosenPicture() && tokens === keyTokens() ? '' : shortText(tokens, MOST_SOURCE_LETTERS)));
  return [...new Set([page.view.title, ...texts])].filter(Boolean).join(' – ');
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
 * A pixel for each colour of a scale.
 * @param {ColourScale} scale
 */
function barOfColours(scale) {
  const canvas = make('canvas');
  canvas.width = 256;
  canvas.height = 1;
  const context = contextOf(canvas);
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(scale.table);
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * @param {Pen} pen
 * @param {ColourScale} scale
 * @param {string} title
 * @param {number} x
 * @param {number} y
 */
function drawBar(pen, scale, title, x, y) {
  pen.text(title, x, y + 6, { size: 11, fill: PAPER.text });
  pen.image(barOfColours(scale), x, y + 15, 260, 10);
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
  const beside = pictureOfRow();
  const width = PICTURE_WIDTH - (beside ? beside.width + 24 : 0);
  const layout = pictureLayout(shown, width);
  const bottom = layout.top + layout.rows * layout.cellHeight + 8;
  return framedPicture(title, PICTURE_WIDTH, Math.max(bottom, beside ? beside.height + 60 : 0), scale, (pen) => {
    drawMap(pen, shown, scale, layout, PAPER, 2);
    const pinned = pinnedRow();
    if (pinned >= 0) drawCross(pen, shown, layout, { row: pinned, column: pinnedColumn() }, PAPER, false);
    if (!beside) return;
    brokenText(beside.caption, 12, beside.width).forEach((line, at) => pen.text(line, width + 12, 12 + at * 16, { size: 12, fill: PAPER.text }));
    pen.image(beside.canvas, width + 12, 44, beside.width, beside.height, true);
  });
}

/** Lowest picture of a map, where its cells would be higher. */
const MOST_MAP_HEIGHT = 1200;

/**
 * The cells that are seen, as large as the width allows, with their labels as on the screen.
 * @param {ShownMap} shown
 * @param {number} width
 * @returns {MapLayout}
 */
function pictureLayout(shown, width) {
  const seen = (mapView.window.zoom > 1 && mapView.layout) || { row: 0, column: 0, rows: shown.queries.length, columns: shown.keys.length };
  const labels = labelsOf(shown);
  const left = Math.ceil(labels.queryRoom) + 26;
  const plain = fitCells(seen.columns, seen.rows, width - left - 12, MOST_MAP_HEIGHT);
  const turned = hasNames(shown.keyTokens) && labels.keyRoom + LABEL_GAP > plain.width;
  const right = turned ? Math.min(96, Math.SQRT1_2 * labels.keyRoom) + 6 : 12;
  const cell = turned ? fitCells(seen.columns, seen.rows, width - left - right, MOST_MAP_HEIGHT) : plain;
  const edge = Math.max(0, Math.floor((width - left - right - seen.columns * cell.width) / 2));
  return {
    edge, left: left + edge, top: Math.ceil((turned ? Math.SQRT1_2 * labels.keyRoom : 0) + 34), right, turned,
    cellWidth: cell.width, cellHeight: cell.height, row: seen.row, column: seen.column, rows: seen.rows, columns: seen.columns,
  };
}

/** The picture that the model saw, as it lies beside the map, with its caption. */
function pictureOfRow() {
  const canvas = byId('picture-canvas', HTMLCanvasElement);
  const picture = chosenPicture();
  if (!picture || byId('picture', HTMLElement).hidden || canvas.width < 2) return null;
  const width = 260;
  return { canvas, width, height: (width * picture.height) / picture.width, caption: byId('picture-caption', HTMLParagraphElement).textContent ?? '' };
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
    if (heads.length) pen.text(say('head'), 12, bottom + 16, { size: 12, fill: PAPER.text });
    heads.forEach((head, at) => {
      const x = 56 + at * 52;
      pen.line(x, bottom + 16, x + 18, bottom + 16, headColour(head).colour, 3, 1, headColour(head).dash);
      pen.text(String(headNumber(chosenAttention(), head)), x + 24, bottom + 16, { size: 12, fill: PAPER.text });
    });
    pen.text(inLanguage(chosenMaps()?.title ?? ''), 12, bottom + (heads.length ? 40 : 16), { size: 11, fill: PAPER.text });
    drawLineLegend(pen, 160, bottom + (heads.length ? 40 : 16), rowHeight * linesView.bands);
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
      const isHidden = Boolean(weights.hidden[gives ? strip.columnOf(index) : strip.rowOf(index)]);
      const at = { x: rtl ? PICTURE_WIDTH - x - width : x, y };
      drawn.push((pen) => {
        if (pixel !== null) pen.rect(at.x, at.y - 12, width, 24, colourOf(pixel));
        if (isHidden) dashedFrame(pen, at.x, at.y - 12, width, 24);
        if (own) pen.frame(at.x, at.y - 12, width, 24, PAPER.accent, 2.5);
        pen.text(text, at.x + width / 2, at.y, { size: 15, fill: pixel === null ? PAPER.text : readableOn(pixel), align: 'center' });
      });
      x += width + 4;
    });
    [x, y] = [12, y + 42];
  }
  return framedPicture(title, PICTURE_WIDTH, y, scale, (pen) => drawn.forEach((draw) => draw(pen)));
}

/**
 * The frame that hidden tokens have.
 * @param {Pen} pen
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function dashedFrame(pen, x, y, width, height) {
  for (const [x1, y1, x2, y2] of [[x, y, x + width, y], [x + width, y, x + width, y + height], [x, y + height, x + width, y + height], [x, y, x, y + height]]) {
    pen.line(x1 ?? 0, y1 ?? 0, x2 ?? 0, y2 ?? 0, PAPER.line, 1, 1, [3, 2]);
  }
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
      paintStack(pen, rows, { size, across: heads }, 40, top + 42);
      top += rows.length * size + 50;
    }
  });
}

/**
 * @param {Blob} blob
 * @param {string} ending
 * @param {string} [what] in place of the present view
 */
function saveFile(blob, ending, what) {
  const attention = chosenAttention();
  const layer = attention ? layerNumber(attention) : 0;
  const name = what ?? (page.choice.enlarged ? 'heads' : `layer${layer}_head${headNumber(attention, page.choice.head)}_${page.choice.view}`);
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
    return picture ? svgOf(picture) : '';
  });
}

/** @param {Picture} picture */
function svgOf(picture) {
  const pen = svgPen(picture.width, picture.height, picture.title);
  picture.draw(pen);
  return pen.svg();
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
  byId('export-path', HTMLButtonElement).addEventListener('click', saveTrail);
  byId('export-png', HTMLButtonElement).addEventListener('click', savePng);
  byId('export-svg', HTMLButtonElement).addEventListener('click', saveSvg);
  byId('export-csv', HTMLButtonElement).addEventListener('click', saveCsv);
  const copies = /** @type {[string, TextName, () => [string, HTMLTextAreaElement | null]][]} */ ([
    ['copy-address', 'copy_address', () => {
      writeAddress();
      return [location.href, null];
    }],
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
