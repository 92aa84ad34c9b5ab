/** A picture of the present view. @typedef {{title: string, width: number, height: number, draw: (pen: Pen) => void}} Picture */

/** Pictures are for paper, whatever the page's colours are. */
const PAPER = { text: '#1b1f24', quiet: '#57606a', line: '#8c959f', ground: '#ffffff', accent: '#0a3069', faint: '#eaeef2', found: '#ffd33d' };

const PICTURE_WIDTH = 900;

/** @returns {Picture | null} */
function presentPicture() {
  const shown = chosenMap();
  const scale = chosenScale();
  const attention = chosenAttention();
  if (!shown || !scale || !attention) return null;
  if (page.choice.enlarged && page.choice.left !== 'list') return overviewPicture(scale);
  const sample = page.view.samples.length > 1 ? ` – ${told(page.view.samples[page.choice.sample]?.title ?? '')}` : '';
  const title = headTitle(attention, page.choice.head) + sample;
  if (page.choice.view === 'lines') return linesPicture(shown, scale, page.choice.heads.length > 1 ? told(attention.title) + sample : title);
  if (page.choice.view === 'text') return stripPicture(shown, scale, title);
  return mapPicture(shown, scale, title);
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
  const said = statusSentences();
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
      if (scale) drawBar(pen, scale, told(chosenMaps()?.title ?? ''), 12, top + height + 6);
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
  for (const tick of ticksOf(scale)) {
    const at = x + 260 * shareOf(scale, tick);
    pen.text(shortNumber(Number(tick.toPrecision(3))), at, y + 34, { size: 10, fill: PAPER.text, align: at < x + 8 ? 'left' : 'center' });
  }
  const shown = chosenMap();
  (shown ? keysOfLegend(shown) : []).forEach(({ colour, text }, index) => {
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
  const seen = mapView.layout ?? { row: 0, column: 0, rows: shown.queries.length, columns: shown.keys.length };
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
 * @param {ColourScale} scale
 * @param {string} title
 */
function linesPicture(shown, scale, title) {
  const count = Math.max(shown.queries.length, shown.keys.length);
  const seen = Math.min(count, 120);
  const rowHeight = 22;
  const first = Math.min(count - seen, Math.floor(byId('lines', HTMLDivElement).scrollTop / linesView.rowHeight));
  const height = 34 + seen * rowHeight + 30;
  return framedPicture(title, 700, height, null, (pen) => {
    const layout = { width: 700, height: 34 + seen * rowHeight, scrolled: first * rowHeight, rowHeight };
    drawLines(pen, shown, scale, layout, { row: pinnedRow(), column: null }, PAPER);
    page.choice.heads.slice(0, 12).forEach((head, at) => {
      const x = 12 + at * 56;
      pen.line(x, height - 12, x + 18, height - 12, headColour(head).colour, 3, 1, headColour(head).dash);
      pen.text(String(headNumber(chosenAttention(), head)), x + 24, height - 12, { size: 12, fill: PAPER.text });
    });
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
  const title = maps ? page.view.title || say('heads') : told(statistic?.title ?? '');
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
