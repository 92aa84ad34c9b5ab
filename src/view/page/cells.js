/** Most bytes of decoded maps to keep; the map that was not looked at for longest goes first. */
const CACHE_BYTES = 96 * 1024 * 1024;

/**
 * Values by keys, bounded by their bytes.
 * @template V
 */
class BoundedCache {
  /** @param {number} bytes */
  constructor(bytes) {
    this.limit = bytes;
    this.used = 0;
    /** @type {Map<string, {value: V, bytes: number}>} */
    this.entries = new Map();
  }

  /**
   * @param {string} key
   * @returns {V | undefined}
   */
  get(key) {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  /**
   * @param {string} key
   * @param {V} value
   * @param {number} bytes
   */
  set(key, value, bytes) {
    const before = this.entries.get(key);
    if (before) this.used -= before.bytes;
    this.entries.delete(key);
    this.entries.set(key, { value, bytes });
    this.used += bytes;
    for (const [oldest, entry] of this.entries) {
      if (this.used <= this.limit || oldest === key) break;
      this.entries.delete(oldest);
      this.used -= entry.bytes;
    }
  }
}

/** @param {string} text base64 */
function bytesOfBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; ++index) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/**
 * The text of `block-N`; while the page is being read, blocks follow the script.
 * @param {import('./data').Block} block
 * @returns {Promise<string | null>} null where there is none
 */
async function textOfBlock(block) {
  const added = addedBlocks.get(block);
  if (added !== undefined) return added;
  for (;;) {
    const element = document.getElementById(`block-${block}`);
    // The text of the last element may not be there to its end.
    if (document.readyState !== 'loading' || element?.nextElementSibling) return element?.textContent ?? null;
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
}

/**
 * The bytes of `block-N`.
 * @param {import('./data').Block} block
 * @returns {Promise<ArrayBuffer>}
 */
async function readBlock(block) {
  const text = await textOfBlock(block);
  if (text === null) throw new Error(`block ${block} is missing`);
  const inflated = new DecompressionStream('deflate-raw');
  const writer = inflated.writable.getWriter();
  // A damaged block is reported by the reading side; the writing side would report it once more.
  writer.write(bytesOfBase64(text.trim())).catch(() => {});
  writer.close().catch(() => {});
  return new Response(inflated.readable).arrayBuffer();
}

/**
 * One decoded map.
 * @typedef {object} CellMap
 * @property {number} rows
 * @property {number} columns
 * @property {number} queries
 * @property {number} keys
 * @property {Float32Array | Float64Array} values row after row
 * @property {Uint8Array | null} hidden 1 where a cell is hidden; null = none is
 * @property {number} error
 * @property {string} [cells] meaning of a joined cell; absent = the largest of those that it stands for
 * @property {boolean} exactCells whether each cell is one query and one key
 * @property {Strongest | null} strongest
 */

/**
 * The strongest keys of each query of a pooled map, largest first.
 * @typedef {{count: number, keys: Uint32Array, values: Float32Array}} Strongest
 */

/** Code in place of a key where a query has fewer keys than the list has entries. */
const NO_KEY = 0xffffffff;

/**
 * @param {import('./data').CellBlock} block
 * @param {ArrayBuffer} bytes
 * @param {boolean} diverging
 * @returns {{values: Float32Array | Float64Array, hidden: Uint8Array | null}}
 */
function decodeCells(block, bytes, diverging) {
  const count = block.rows * block.columns;
  if (block.type === 'float32') return { values: new Float32Array(bytes, 0, count), hidden: null };
  if (block.type === 'float64') return { values: new Float64Array(bytes, 0, count), hidden: null };
  const wide = block.type === 'uint16';
  const largest = new Float32Array(bytes, 0, block.rows);
  const codes = wide
    ? new Uint16Array(bytes, 4 * block.rows, count)
    : new Uint8Array(bytes, 4 * block.rows, count);
  return decodeCodes(codes, largest, block.columns, wide ? 65531 : 251, diverging);
}

/**
 * @param {Uint8Array | Uint16Array} codes
 * @param {ArrayLike<number>} largest of each row
 * @param {number} columns
 * @param {number} highest
 * @param {boolean} diverging
 */
function decodeCodes(codes, largest, columns, highest, diverging) {
  const values = new Float32Array(codes.length);
  /** @type {Uint8Array | null} */
  let hidden = null;
  const beyond = [-Infinity, Infinity, NaN];
  for (let row = 0, at = 0; at < codes.length; ++row) {
    const factor = ((largest[row] ?? 0) * (diverging ? 2 : 1)) / highest;
    const offset = diverging ? -(largest[row] ?? 0) : 0;
    for (const end = at + columns; at < end; ++at) {
      const code = codes[at] ?? 0;
      if (code <= highest) {
        values[at] = code * factor + offset;
      } else if (code < highest + 4) {
        values[at] = beyond[code - highest - 1] ?? NaN;
      } else {
        hidden ??= new Uint8Array(codes.length);
        hidden[at] = 1;
      }
    }
  }
  return { values, hidden };
}

/**
 * @param {ArrayBuffer} bytes one bit a cell, lowest first
 * @param {number} count
 */
function decodeBits(bytes, count) {
  const packed = new Uint8Array(bytes);
  const bits = new Uint8Array(count);
  for (let at = 0; at < count; ++at) bits[at] = ((packed[at >> 3] ?? 0) >> (at & 7)) & 1;
  return bits;
}

/**
 * @param {ArrayBuffer} bytes
 * @param {number} queries
 * @param {number} count
 * @returns {Strongest}
 */
function decodeStrongest(bytes, queries, count) {
  return {
    count,
    keys: new Uint32Array(bytes, 0, queries * count),
    values: new Float32Array(bytes, 4 * queries * count, queries * count),
  };
}

/** @type {BoundedCache<Promise<CellMap>>} */
const decodedMaps = new BoundedCache(CACHE_BYTES);

/**
 * The map of one head, decoded when it is first asked for.
 * @param {import('./data').AttentionSample} place
 * @param {import('./data').Maps} maps
 * @param {number} head
 * @returns {Promise<CellMap>}
 */
function readMap(place, maps, head) {
  const block = maps.heads[head];
  if (!block) return Promise.reject(new Error(`there is no head ${head}`));
  const key = String(block.cells);
  const known = decodedMaps.get(key);
  if (known) return known;
  const reading = decodeMap(place, maps, block);
  decodedMaps.set(key, reading, block.rows * block.columns * (block.type === 'float64' ? 9 : 5));
  return reading;
}

/**
 * @param {import('./data').AttentionSample} place
 * @param {import('./data').Maps} maps
 * @param {import('./data').CellBlock} block
 * @returns {Promise<CellMap>}
 */
async function decodeMap(place, maps, block) {
  const count = block.strongest_keys ?? 0;
  const [cells, hidden, strongest] = await Promise.all([
    readBlock(block.cells),
    block.hidden === undefined ? null : readBlock(block.hidden),
    block.strongest === undefined ? null : readBlock(block.strongest),
  ]);
  const decoded = decodeCells(block, cells, maps.diverging);
  return {
    rows: block.rows,
    columns: block.columns,
    queries: place.queries,
    keys: place.keys,
    values: decoded.values,
    hidden: hidden ? decodeBits(hidden, block.rows * block.columns) : decoded.hidden,
    error: block.error,
    ...(maps.cells === undefined ? {} : { cells: maps.cells }),
    exactCells: block.rows === place.queries && block.columns === place.keys,
    strongest: strongest ? decodeStrongest(strongest, place.queries, count) : null,
  };
}

/**
 * The bytes of a map as they are in the page, of which single cells can be read.
 * @typedef {{block: import('./data').CellBlock, bytes: ArrayBuffer, hidden: Uint8Array | null}} RawMap
 */

/** @type {BoundedCache<Promise<RawMap>>} */
const rawMaps = new BoundedCache(CACHE_BYTES);

/**
 * @param {import('./data').CellBlock} block
 * @returns {Promise<RawMap>}
 */
function readRaw(block) {
  const key = String(block.cells);
  const known = rawMaps.get(key);
  if (known) return known;
  const reading = Promise.all([readBlock(block.cells), block.hidden === undefined ? null : readBlock(block.hidden)])
    .then(([bytes, hidden]) => ({ block, bytes, hidden: hidden && new Uint8Array(hidden) }));
  const size = { uint8: 1, uint16: 2, float32: 4, float64: 8 }[block.type];
  rawMaps.set(key, reading, block.rows * block.columns * size);
  return reading;
}

/**
 * Reads cells of a map one by one.
 * @param {RawMap} raw
 * @param {boolean} diverging
 * @returns {(row: number, column: number) => number | null} null = hidden
 */
function cellReader({ block, bytes, hidden }, diverging) {
  const { rows, columns, type } = block;
  if (type === 'float32' || type === 'float64') {
    const values = type === 'float32' ? new Float32Array(bytes) : new Float64Array(bytes);
    return (row, column) => {
      const at = row * columns + column;
      return hidden && ((hidden[at >> 3] ?? 0) >> (at & 7)) & 1 ? null : values[at] ?? NaN;
    };
  }
  const largest = new Float32Array(bytes, 0, rows);
  const codes = type === 'uint16' ? new Uint16Array(bytes, 4 * rows) : new Uint8Array(bytes, 4 * rows);
  const highest = type === 'uint16' ? 65531 : 251;
  return (row, column) => {
    const code = codes[row * columns + column] ?? 0;
    const most = largest[row] ?? 0;
    if (code <= highest) return diverging ? (code * 2 * most) / highest - most : (code * most) / highest;
    return code < highest + 4 ? [-Infinity, Infinity, NaN][code - highest - 1] ?? NaN : null;
  };
}
