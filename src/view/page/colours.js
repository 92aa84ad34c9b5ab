/** Decades that a logarithmic scale spans below its highest value. */
const LOG_DECADES = 5;

/**
 * The meaning of colours.
 * @typedef {object} ColourScale
 * @property {number} low
 * @property {number} high
 * @property {boolean} log
 * @property {import('./data').MapColours} map
 * @property {Uint32Array} table 256 opaque pixels of the map
 */

/** @type {Map<string, Uint32Array>} */
const pixelTables = new Map();

/**
 * The 256 colours of a table as pixels of ImageData (little endian: alpha, blue, green, red).
 * @param {string} table "rrggbb", one after the other
 */
function pixelTable(table) {
  const known = pixelTables.get(table);
  if (known) return known;
  const pixels = Uint32Array.from({ length: 256 }, (_, index) => pixelOf(table.slice(6 * index, 6 * index + 6)));
  pixelTables.set(table, pixels);
  return pixels;
}

/** @param {string} colour "#rrggbb" or "rrggbb" */
function pixelOf(colour) {
  const rgb = parseInt(colour.replace('#', ''), 16);
  return (0xff000000 | ((rgb & 0xff) << 16) | (rgb & 0xff00) | ((rgb >> 16) & 0xff)) >>> 0;
}

/** @param {number} pixel */
function colourOf(pixel) {
  const parts = [pixel & 0xff, (pixel >> 8) & 0xff, (pixel >> 16) & 0xff];
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** Pictures to keep are for paper, whatever the page's colours are. */
const paper = { on: false, printing: false };

/**
 * Does what makes a picture for paper.
 * @template T
 * @param {() => T} makes
 * @returns {T}
 */
function onPaper(makes) {
  const before = paper.on;
  paper.on = true;
  try {
    return makes();
  } finally {
    paper.on = before;
  }
}

/** The colours of cells on the present ground. */
function presentColours() {
  const { light, dark } = page.view.colours;
  return isDark() && !paper.on ? dark : light;
}

/**
 * The scale of a tensor: the same for all its maps, unless `own` is the range of the one shown.
 * @param {import('./data').Maps} maps
 * @param {'linear' | 'log'} scale
 * @param {{least: number, largest: number} | null} own
 * @returns {ColourScale}
 */
function colourScale(maps, scale, own) {
  const { weights, diverging } = presentColours();
  if (maps.diverging) {
    const [least, most] = own ? [own.least, own.largest] : maps.range;
    const high = Math.max(Math.abs(least), Math.abs(most)) || 1;
    return { low: -high, high, log: false, map: diverging, table: pixelTable(diverging.table) };
  }
  const fixed = maps.tensor === 'weights' ? page.view.colours.range : maps.range;
  const low = Math.min(0, own ? own.least : fixed[0]);
  const high = own ? own.largest : fixed[1];
  return logOrLinear(low, high > low ? high : low + 1, scale === 'log', weights);
}

/**
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 * @param {import('./data').MapColours} map
 * @returns {ColourScale}
 */
function logOrLinear(low, high, log, map) {
  const table = pixelTable(map.table);
  return log && high > 0 ? { low: high / 10 ** LOG_DECADES, high, log: true, map, table } : { low, high, log: false, map, table };
}

/**
 * The place of a value between the ends of a scale, from 0 to 1.
 * @param {ColourScale} scale
 * @param {number} value not NaN
 */
function shareOf(scale, value) {
  const share = scale.log
    ? 1 + Math.log10(Math.max(value, scale.low) / scale.high) / LOG_DECADES
    : (value - scale.low) / (scale.high - scale.low);
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

/**
 * The pixel of a value, also of one that has no place on the scale.
 * @param {ColourScale} scale
 * @param {number} value
 */
function pixelOfValue(scale, value) {
  if (Number.isNaN(value)) return pixelOf(scale.map.nan);
  if (!Number.isFinite(value)) return pixelOf(value > 0 ? scale.map.infinity : scale.map.minus_infinity);
  if (scale.log && value <= 0) return pixelOf(scale.map.not_positive);
  return scale.table[Math.min(255, Math.floor(shareOf(scale, value) * 256))] ?? 0;
}

/**
 * Black or white, whichever is easier to read on a colour (WCAG 2.1's contrast).
 * @param {number} pixel
 */
function readableOn(pixel) {
  const [red = 0, green = 0, blue = 0] = [pixel & 0xff, (pixel >> 8) & 0xff, (pixel >> 16) & 0xff].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return light > 0.179 ? '#000000' : '#ffffff';
}

/**
 * Ticks of a scale that have few digits, with their texts.
 * @param {ColourScale} scale
 * @param {number} width of the bar
 * @param {number} size of the letters
 * @returns {{value: number, text: string}[]}
 */
function ticksOf(scale, width, size) {
  const most = width < 200 ? 3 : 5;
  const named = roundTicks(scale, most).map((value) =>
    ({ value, text: (scale.log && value === scale.low ? '≤ ' : '') + shortNumber(Number(value.toPrecision(3))) }));
  // The first text begins at its tick, the others have theirs in the middle.
  const [first, last] = [named[0], named.at(-1)];
  if (!first || !last) return named;
  const half = (/** @type {string} */ text) => widthOfText(text, size) / 2 + 3;
  let end = 2 * half(first.text);
  const begin = width - half(last.text);
  return named.filter((tick) => {
    if (tick === first || tick === last) return true;
    const at = shareOf(scale, tick.value) * width;
    if (at - half(tick.text) < end || at + half(tick.text) > begin) return false;
    end = at + half(tick.text);
    return true;
  });
}

/**
 * @param {ColourScale} scale
 * @param {number} most of them
 * @returns {number[]}
 */
function roundTicks(scale, most) {
  if (scale.log) {
    const ticks = [];
    for (let power = Math.ceil(Math.log10(scale.low)); power <= Math.log10(scale.high); ++power) ticks.push(10 ** power);
    return betweenEnds(scale, most < 5 ? [] : ticks, 0.05);
  }
  const span = scale.high - scale.low;
  const step = [0.1, 0.2, 0.25, 0.5, 1].map((part) => part * 10 ** Math.ceil(Math.log10(span))).find((size) => span / size <= most) ?? span;
  const ticks = [];
  for (let at = Math.ceil(scale.low / step - 1e-9); at * step <= scale.high + step * 1e-9; ++at) ticks.push(at * step);
  return betweenEnds(scale, ticks, 0.19);
}

/**
 * The ends of a scale, and ticks that are far enough from them.
 * @param {ColourScale} scale
 * @param {number[]} ticks
 * @param {number} far as a share of the scale
 */
function betweenEnds(scale, ticks, far) {
  const apart = ticks.filter((tick) => shareOf(scale, tick) >= far && shareOf(scale, tick) <= 1 - far);
  return [scale.low, ...apart, scale.high];
}

/**
 * The colour and the strokes of lines: as in pictures, the first of the heads that are drawn has the first.
 * @param {number} head
 */
function headColour(head) {
  const looks = page.view.colours.heads;
  const drawn = page.choice.heads.indexOf(head);
  const { colour, dashes } = looks[(drawn < 0 ? head : drawn) % looks.length] ?? { colour: '#000000', dashes: [] };
  return { colour, dash: dashes };
}
