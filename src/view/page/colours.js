/** Decades that a logarithmic scale spans below its highest value. */
const LOG_DECADES = 5;

/** Colour-blind people tell these apart (Okabe & Ito 2008), on light and on dark pages. */
const HEAD_COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a8a8a'];

/**
 * The meaning of colours.
 * @typedef {object} ColourScale
 * @property {number} low
 * @property {number} high
 * @property {boolean} log
 * @property {Uint32Array} table 256 opaque pixels
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

/**
 * The scale of a tensor: the same for all its maps, unless `own` is the range of the one shown.
 * @param {import('./data').Colours} colours
 * @param {import('./data').Maps} maps
 * @param {'linear' | 'log'} scale
 * @param {{least: number, largest: number} | null} own
 * @returns {ColourScale}
 */
function colourScale(colours, maps, scale, own) {
  if (maps.diverging) {
    const [least, most] = own ? [own.least, own.largest] : maps.range;
    const high = Math.max(Math.abs(least), Math.abs(most)) || 1;
    return { low: -high, high, log: false, table: pixelTable(colours.diverging_table) };
  }
  const fixed = maps.tensor === 'weights' ? colours.range : maps.range;
  const low = Math.min(0, own ? own.least : fixed[0]);
  const high = own ? own.largest : fixed[1];
  return logOrLinear(low, high > low ? high : low + 1, scale === 'log', pixelTable(colours.weights_table));
}

/**
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 * @param {Uint32Array} table
 * @returns {ColourScale}
 */
function logOrLinear(low, high, log, table) {
  return log && high > 0 ? { low: high / 10 ** LOG_DECADES, high, log: true, table } : { low, high, log: false, table };
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
 * The pixel of a value.
 * @param {ColourScale} scale
 * @param {number} value not NaN
 */
function pixelOfValue(scale, value) {
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
 * Ticks of a scale that have few digits.
 * @param {ColourScale} scale
 * @param {number} [most] of them
 * @returns {number[]}
 */
function ticksOf(scale, most = 5) {
  if (scale.log) {
    const ticks = [];
    for (let power = Math.ceil(Math.log10(scale.low)); power <= Math.log10(scale.high); ++power) ticks.push(10 ** power);
    return betweenEnds(scale, most < 5 ? [] : ticks, 0.15);
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
 * The colour and the strokes of a head's lines; strokes part the eighth head from the first.
 * @param {number} head
 */
function headColour(head) {
  const count = HEAD_COLOURS.length;
  const dashes = [[], [6, 3], [2, 3], [9, 3, 2, 3]];
  return { colour: HEAD_COLOURS[head % count] ?? '#000', dash: dashes[Math.floor(head / count) % dashes.length] ?? [] };
}
