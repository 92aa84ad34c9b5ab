/** Code of a thumbnail for the end of the range; those above it are as of CellBlock. */
const HIGHEST_CODE = 251;

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
 * The pixels of all codes.
 * @param {ColourScale} scale
 * @param {[number, number]} range that codes are shares of
 */
function pixelsOfCodes(scale, range) {
  const { hidden, nan } = page.view.colours;
  const pixels = new Uint32Array(256);
  for (let code = 0; code <= HIGHEST_CODE; ++code) {
    pixels[code] = pixelOfValue(scale, range[0] + (code / HIGHEST_CODE) * (range[1] - range[0]));
  }
  pixels.set([pixelOf(hidden), pixelOfValue(scale, Infinity), pixelOf(nan), pixelOf(hidden)], HIGHEST_CODE + 1);
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
 * One head's thumbnail, a pixel a cell.
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
  const scale = colourScale(page.view.colours, maps, page.choice.scale, own);
  const pixels = pixelsOfCodes(scale, range);
  const picture = make('canvas');
  picture.width = columns;
  picture.height = rows;
  const context = contextOf(picture);
  const image = context.createImageData(columns, rows);
  const painted = new Uint32Array(image.data.buffer);
  codes.forEach((code, at) => {
    painted[at] = pixels[code] ?? 0;
  });
  context.putImageData(image, 0, 0);
  return picture;
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
