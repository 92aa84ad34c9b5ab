/** Shares of the picture's own colour and of the weights' colours over it, as pictures of the program have them. */
const PICTURE_SATURATION = 0.6;
const LEAST_TINT = 0.2;
const MOST_TINT = 0.72;

/** The picture as it is drawn: its box, and pixels of it before weights are laid over them. */
const pictureView = {
  /** @type {Map<import('./data').Block, ImageData>} as the model saw them */
  read: new Map(),
  /** The ground of the drawn size, and the picture and size that it was made for. @type {{key: string, pixels: ImageData} | null} */
  ground: null,
};

/** @returns {import('./data').Picture | undefined} the picture whose patches are the shown keys */
function chosenPicture() {
  const index = chosenPlace()?.picture;
  return index === undefined ? undefined : page.view.pictures?.[index];
}

/**
 * How many of an axis's tokens come before the patches; −1 = it has no patches.
 * @param {number} count of the tokens
 */
function tokensBefore(count) {
  const picture = chosenPicture();
  return picture ? Math.max(-1, count - picture.rows * picture.columns) : -1;
}

/** Reads the chosen picture's pixels, if they have not been read. */
async function readPicture() {
  const picture = chosenPicture();
  if (!picture || pictureView.read.has(picture.pixels)) return;
  const bytes = new Uint8Array(await readBlock(picture.pixels));
  const image = new ImageData(picture.width, picture.height);
  for (let at = 0; at < picture.width * picture.height; ++at) {
    for (let part = 0; part < 3; ++part) image.data[4 * at + part] = bytes[3 * at + part] ?? 0;
    image.data[4 * at + 3] = 255;
  }
  pictureView.read.set(picture.pixels, image);
}

/**
 * The query whose row lies over the picture: the pointed or pinned one, else [CLS].
 * @returns {number} row of the shown map; −1 = the mean over all rows
 */
function rowOverPicture() {
  const shown = chosenMap();
  const row = page.cursor?.row ?? pinnedRow();
  if (!shown || row >= 0) return row;
  return tokensBefore(chosenPlace()?.queries ?? 0) === 0 ? -1 : 0;
}

/**
 * The query whose row that is: where cells are joined, the one of several that is pointed at or pinned.
 * @param {ShownMap} shown
 * @param {number} row
 * @returns {Stretch | undefined} absent for the mean over all rows
 */
function queryOverPicture(shown, row) {
  const stretch = shown.queries[row];
  if (!stretch || shown.map.exactCells) return stretch;
  const first = page.cursor?.query ?? page.choice.query ?? stretch.first;
  return { first, end: first + 1 };
}

/**
 * Weights of a row of the shown map at positions; NaN where these are not shown.
 * @param {ShownMap} shown
 * @param {number} row −1 = the mean over all rows
 * @param {number} first position
 * @param {number} count
 */
function weightsAt(shown, row, first, count) {
  const columns = shown.keys.length;
  const rows = row >= 0 ? [row] : shown.queries.map((_, index) => index);
  return Float64Array.from({ length: count }, (_, index) => {
    const column = indexOfPosition(shown.keys, first + index);
    if (column < 0) return NaN;
    return rows.reduce((sum, one) => sum + (shown.values[one * columns + column] ?? NaN), 0) / rows.length;
  });
}

/**
 * The ground of the picture in the drawn size: paler than the picture, so that weights are seen.
 * @param {import('./data').Picture} picture
 * @param {ImageData} image
 * @param {number} width
 * @param {number} height
 */
function groundOfPicture(picture, image, width, height) {
  const key = `${picture.pixels} ${width} ${height}`;
  if (pictureView.ground?.key === key) return pictureView.ground.pixels;
  const source = make('canvas');
  [source.width, source.height] = [picture.width, picture.height];
  contextOf(source).putImageData(image, 0, 0);
  const drawn = make('canvas');
  [drawn.width, drawn.height] = [width, height];
  const context = contextOf(drawn);
  context.imageSmoothingQuality = 'high';
  context.drawImage(source, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height);
  for (let at = 0; at < pixels.data.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = pixels.data.subarray(at, at + 3);
    const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
    [red, green, blue].forEach((part, index) => {
      pixels.data[at + index] = grey + PICTURE_SATURATION * (part - grey);
    });
  }
  pictureView.ground = { key, pixels };
  return pixels;
}

/**
 * Lays colours over the ground, patch by patch.
 * @param {ImageData} ground
 * @param {import('./data').Picture} picture
 * @param {Float64Array} weights of the patches
 * @param {ColourScale} scale
 */
function tintedPicture(ground, picture, weights, scale) {
  const tinted = new ImageData(new Uint8ClampedArray(ground.data), ground.width, ground.height);
  const columnOf = Array.from({ length: ground.width }, (_, x) => Math.floor(((x + 0.5) * picture.width) / ground.width / picture.patch));
  for (let y = 0; y < ground.height; ++y) {
    const row = Math.floor(((y + 0.5) * picture.height) / ground.height / picture.patch);
    for (let x = 0; x < ground.width; ++x) {
      const column = columnOf[x] ?? 0;
      if (row >= picture.rows || column >= picture.columns) continue;
      const weight = weights[row * picture.columns + column] ?? NaN;
      if (Number.isNaN(weight)) continue;
      const pixel = pixelOfValue(scale, weight);
      const tint = LEAST_TINT + (MOST_TINT - LEAST_TINT) * shareOf(scale, weight);
      const at = 4 * (y * ground.width + x);
      for (let part = 0; part < 3; ++part) {
        const own = tinted.data[at + part] ?? 0;
        tinted.data[at + part] = own + tint * (((pixel >> (8 * part)) & 0xff) - own);
      }
    }
  }
  return tinted;
}

/**
 * Weights are coloured from 0 to the largest of the patches, as on dark pages, since pictures are.
 * @param {Float64Array} weights
 */
function scaleOverPicture(weights) {
  const high = weights.reduce((most, weight) => (weight > most ? weight : most), 0);
  return logOrLinear(0, high > 0 ? high : 1, false, page.view.colours.dark.weights);
}

/** Draws the row of the pointed or pinned query over the picture, and marks the patches of both. */
function drawPicture() {
  const picture = chosenPicture();
  const image = picture && pictureView.read.get(picture.pixels);
  const shown = chosenMap();
  const place = chosenPlace();
  byId('picture', HTMLElement).hidden = !image || !shown;
  if (!picture || !image || !shown || !place) return;
  const box = byId('picture-box', HTMLDivElement);
  const size = { width: box.clientWidth, height: Math.round((box.clientWidth * picture.height) / picture.width) };
  if (size.width === 0) return;
  const canvas = byId('picture-canvas', HTMLCanvasElement);
  const context = fitCanvas(canvas, size.width, size.height);
  const row = rowOverPicture();
  const before = tokensBefore(place.keys);
  const weights = weightsAt(shown, row, before, picture.rows * picture.columns);
  const scale = scaleOverPicture(weights);
  context.putImageData(tintedPicture(groundOfPicture(picture, image, canvas.width, canvas.height), picture, weights, scale), 0, 0);
  const query = (queryOverPicture(shown, row)?.first ?? 0) - tokensBefore(place.queries);
  const key = page.cursor?.column === null || page.cursor === null ? -1 : (shown.keys[page.cursor.column]?.first ?? 0) - before;
  const pinnedKey = page.cursor === null && page.choice.key !== null ? page.choice.key - before : -1;
  if (key >= 0 || pinnedKey >= 0) framePatch(context, picture, size.width, key >= 0 ? key : pinnedKey, 1);
  if (row >= 0 && query >= 0 && tokensBefore(place.queries) >= 0) framePatch(context, picture, size.width, query, 2);
  writePictureTexts(shown, row, weights, scale, size.width);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./data').Picture} picture
 * @param {number} width drawn
 * @param {number} patch
 * @param {number} line
 */
function framePatch(context, picture, width, patch, line) {
  const side = (picture.patch * width) / picture.width;
  const [x, y] = [(patch % picture.columns) * side, Math.floor(patch / picture.columns) * side];
  for (const [colour, size] of /** @type {[string, number][]} */ ([['#000000', line + 2], ['#ffffff', line]])) {
    context.strokeStyle = colour;
    context.lineWidth = size;
    context.strokeRect(x, y, side, side);
  }
}

/**
 * Writes which query's row is over the picture, its scale, and the tokens that are no patches.
 * @param {ShownMap} shown
 * @param {number} row
 * @param {Float64Array} weights of the patches
 * @param {ColourScale} scale
 * @param {number} width
 */
function writePictureTexts(shown, row, weights, scale, width) {
  const place = chosenPlace();
  const stretch = queryOverPicture(shown, row);
  const caption = byId('picture-caption', HTMLParagraphElement);
  const name = stretch ? textOf(queryTokens(), stretch, shown.words) || numbersOf(stretch) : '';
  const isPatch = stretch !== undefined && stretch.first >= tokensBefore(place?.queries ?? 0) && tokensBefore(place?.queries ?? 0) >= 0;
  caption.textContent = stretch ? say(isPatch ? 'picture_of_patch' : 'picture_of_token', { query: name }) : say('picture_of_mean');
  byId('picture-box', HTMLDivElement).setAttribute('aria-label', `${say('picture')}: ${caption.textContent}`);
  paintColours(byId('picture-colours', HTMLCanvasElement), scale, Math.max(40, width - 110), 10);
  byId('picture-high', HTMLSpanElement).textContent = weights.some((weight) => !Number.isNaN(weight)) ? shortNumber(Number(scale.high.toPrecision(3))) : '';
  const before = tokensBefore(place?.keys ?? 0);
  const others = weightsAt(shown, row, 0, Math.max(0, before));
  const box = byId('picture-others', HTMLDivElement);
  if (box.children.length !== others.length) box.replaceChildren(...Array.from(others, (_, index) => make('button', { type: 'button', 'data-position': String(index) })));
  others.forEach((weight, index) => {
    const button = box.children[index];
    if (!(button instanceof HTMLButtonElement)) return;
    const label = textOf(keyTokens(), { first: index, end: index + 1 }, false);
    button.textContent = Number.isNaN(weight) ? label : `${label} ${fourDigits(weight)}`;
    button.ariaPressed = String(stretch?.first === index && !isPatch);
  });
}

/**
 * The place in the map of a position that is pointed at in the picture; null where no query is it.
 * @param {number} position
 * @returns {Cursor | null}
 */
function cursorOfPosition(position) {
  const shown = chosenMap();
  const place = chosenPlace();
  if (!shown || !place || position < 0 || position >= place.queries || place.queries !== place.keys) return null;
  const row = indexOfPosition(shown.queries, position);
  return row < 0 ? null : { row, column: null, query: position };
}

/**
 * Points at a position, and moves the map so that its row is seen.
 * @param {number} position
 */
function pointAtPosition(position) {
  const cursor = cursorOfPosition(position);
  pointAt(cursor);
  if (cursor && page.choice.view === 'map') followCursor(cursor);
}

/** Pointers and keys of the picture. */
function listenToPicture() {
  const box = byId('picture-box', HTMLDivElement);
  const positionAt = (/** @type {PointerEvent} */ event) => {
    const picture = chosenPicture();
    const { left, top, width } = box.getBoundingClientRect();
    if (!picture || width === 0) return -1;
    const scale = picture.width / width / picture.patch;
    const [row, column] = [Math.floor((event.clientY - top) * scale), Math.floor((event.clientX - left) * scale)];
    const inside = row >= 0 && column >= 0 && row < picture.rows && column < picture.columns;
    return inside ? tokensBefore(chosenPlace()?.keys ?? 0) + row * picture.columns + column : -1;
  };
  box.addEventListener('pointermove', (event) => pointAtPosition(positionAt(event)));
  box.addEventListener('pointerleave', () => pointAt(null));
  box.addEventListener('pointerup', (event) => {
    const position = positionAt(event);
    const place = chosenPlace();
    // A patch that is no query is the key of a pair of word and patch.
    const isKey = place !== undefined && place.queries !== place.keys;
    if (position >= 0 && (isKey || page.choice.left === 'pair')) chooseWord(position, isKey);
    else pinAt(cursorOfPosition(position));
  });
  box.addEventListener('keydown', (event) => {
    const picture = chosenPicture();
    const shown = chosenMap();
    if (!picture || !shown || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const before = tokensBefore(chosenPlace()?.keys ?? 0);
    const steps = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1, ArrowRight: 1, ArrowUp: -picture.columns, ArrowDown: picture.columns, Home: -1e9, End: 1e9,
    });
    const step = steps[event.key];
    if (step !== undefined) {
      const from = page.cursor ? page.cursor.query : page.choice.query ?? before;
      const patches = picture.rows * picture.columns;
      const next = page.cursor || page.choice.query !== null ? from - before + step : 0;
      const kept = Math.abs(step) > 1 && Math.abs(step) < 1e9 && (next < 0 || next >= patches) ? from - before : next;
      pointAtPosition(before + Math.max(0, Math.min(patches - 1, kept)));
      announceCursor();
    } else if (event.key === 'Enter' || event.key === ' ') pinAt(page.cursor);
    else return;
    event.preventDefault();
  });
  const others = byId('picture-others', HTMLDivElement);
  const otherOf = (/** @type {Event} */ event) =>
    (event.target instanceof HTMLButtonElement ? Number(event.target.dataset['position']) : -1);
  others.addEventListener('pointerover', (event) => pointAtPosition(otherOf(event)));
  others.addEventListener('pointerleave', () => pointAt(null));
  others.addEventListener('click', (event) => pinAt(cursorOfPosition(otherOf(event))));
}
