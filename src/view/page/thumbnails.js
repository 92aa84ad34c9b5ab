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
 * @param {number} [by] how far its blocks' numbers have moved
 * @returns {Promise<ThumbnailPictures>}
 */
async function readThumbnails(view, by = 0) {
  const codes = new Uint8Array(await readBlock(view.thumbnails.block + by));
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
