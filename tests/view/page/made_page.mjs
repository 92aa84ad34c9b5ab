// Pages with maps that the tests choose cell by cell, in the format of src/view/page/data.d.ts.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';

export const sources = join(dirname(fileURLToPath(import.meta.url)), '../../../src/view/page');
export const folder = mkdtempSync(join(tmpdir(), 'attn-view-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const read = (name) => readFileSync(join(sources, name), 'utf8');
const [, listed] = /set\(scripts\s+([^)]*)\)/.exec(read('../embed_page.cmake'));
export const scripts = listed.split(/\s+/).map((name) => `${name}.js`);
const table = (colour) =>
  Array.from({ length: 256 }, (_, at) => colour(at).map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')).join('');

const apart = { hidden: '#e8e8e8', nan: '#c0c0c0', minus_infinity: '#808080', infinity: '#dda0dd', not_positive: '#6a82be' };
const light = {
  weights: { name: 'Greys', table: table((at) => [255 - at, 255 - at, 255 - at]), ...apart },
  diverging: { name: 'RdBu_r', table: table((at) => [at, 128, 255 - at]), ...apart },
};
const dark = { weights: { name: 'magma', table: table((at) => [at, at, at]), ...apart, hidden: '#343438' }, diverging: light.diverging };

export const colours = {
  light, dark, range: [0, 1],
  heads: Array.from({ length: 24 }, (_, head) => ({ colour: ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#cc79a7', '#56b4e9'][head % 6], dashes: [[], [6, 3], [1.5, 2.5], [8, 2.5, 1.5, 2.5]][Math.floor(head / 6)] })),
};

/** Blocks of a page, as it holds them. */
class Blocks {
  texts = [];

  add(...arrays) {
    const bytes = Buffer.concat(arrays.map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)));
    return this.texts.push(deflateRawSync(bytes).toString('base64')) - 1;
  }
}

/** Codes of rows, as in uint8 and uint16 of the format; `null` is a hidden cell. */
function codesOf(cells, type, rows, diverging) {
  const [Codes, highest] = type === 'uint8' ? [Uint8Array, 251] : [Uint16Array, 65531];
  const columns = cells.length / rows;
  const largest = new Float32Array(rows);
  const codes = new Codes(cells.length);
  for (let row = 0; row < rows; ++row) {
    const finite = cells.slice(row * columns, (row + 1) * columns).filter((value) => value !== null && Number.isFinite(value));
    largest[row] = Math.max(0, ...finite.map(Math.abs));
    for (let at = row * columns; at < (row + 1) * columns; ++at) {
      const value = cells[at];
      if (value === null) codes[at] = highest + 4;
      else if (Number.isNaN(value)) codes[at] = highest + 3;
      else if (!Number.isFinite(value)) codes[at] = highest + (value > 0 ? 2 : 1);
      else codes[at] = largest[row] === 0 ? 0 : Math.round(((diverging ? (value / largest[row] + 1) / 2 : value / largest[row])) * highest);
    }
  }
  return [largest, codes];
}

function cellBlock(blocks, map, type, rows, columns, diverging) {
  const made = { type, rows, columns, error: type === 'uint8' ? 0.002 : 0 };
  if (type.startsWith('uint')) return { ...made, cells: blocks.add(...codesOf(map, type, rows, diverging)) };
  const Values = type === 'float64' ? Float64Array : Float32Array;
  const cells = blocks.add(Values.from(map, (value) => value ?? 0));
  if (!map.includes(null)) return { ...made, cells };
  const bits = new Uint8Array(Math.ceil(map.length / 8));
  map.forEach((value, at) => {
    if (value === null) bits[at >> 3] |= 1 << (at & 7);
  });
  return { ...made, cells, hidden: blocks.add(bits) };
}

function thumbnailOf(map, queries, keys, side) {
  const [rows, columns] = [Math.min(side, queries), Math.min(side, keys)];
  return Uint8Array.from({ length: rows * columns }, (_, at) => {
    const [query, key] = [Math.floor((Math.floor(at / columns) * queries) / rows), Math.floor(((at % columns) * keys) / columns)];
    const value = map[query * keys + key];
    return value === null ? 255 : Number.isNaN(value) ? 254 : Math.round(Math.max(0, Math.min(1, value)) * 251);
  });
}

/** Tokens of a list of texts; `##` marks pieces that go on with a word. */
export function tokensOf(pieces, special = []) {
  const words = [];
  pieces.forEach((piece, at) => {
    if (piece.startsWith('##')) words[words.length - 1][1] = at + 1;
    else words.push([at, at + 1]);
  });
  return { pieces, shown: pieces.map((piece) => piece.replace(/^##/, '·')), words: words.some(([a, b]) => b - a > 1) ? words : [], special };
}

/** Weights whose rows are softmaxes of numbers that seem random; the same for the same seed. */
export function softWeights(queries, keys, seed, causal = false) {
  let state = seed * 2654435761 + 12345;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return Array.from({ length: queries }, (_, query) => {
    const row = Array.from({ length: keys }, (_, key) => (causal && key > query ? null : Math.exp(4 * next())));
    const sum = row.reduce((total, value) => total + (value ?? 0), 0);
    return row.map((value) => (value === null ? null : value / sum));
  }).flat();
}

/**
 * Writes a page. An attention is {name, title, stack, samples: [{queries, keys, query_tokens,
 * key_tokens, same_positions, hidden_because, vectors: (blocks) => Vectors, lens: (blocks) => CellBlock[], maps: [{tensor, title, diverging, range, heads: [cells]}]}]}.
 */
export function makePage(name, { type = 'float32', side = 32, attentions, tokens, pictures, ...rest }, change = (html) => html) {
  const blocks = new Blocks();
  const thumbnails = [];
  const written = attentions.map(({ samples, ...attention }) => ({
    heads_a_group: 1, heads: samples[0].maps[0].heads.length, ...attention,
    samples: samples.map(({ maps, vectors, lens, ...place }) => {
      maps[0].heads.forEach((map) => Array.isArray(map) && thumbnails.push(thumbnailOf(map, place.queries, place.keys, side)));
      return {
        same_positions: true, query_tokens: 0, key_tokens: 0, hidden_because: [], ...place, ...(vectors ? { vectors: vectors(blocks) } : {}), ...(lens ? { lens: lens(blocks) } : {}),
        maps: maps.map(({ heads, ...tensor }) => ({
          title: 'Attention Weight', range: [0, 1], diverging: false, ...tensor,
          heads: heads.map((map) => (Array.isArray(map) ? cellBlock(blocks, map, tensor.type ?? type, place.queries, place.keys, tensor.diverging) : map(blocks))),
        })),
      };
    }),
  }));
  const view = {
    format: 1, program: 'attn-cli 0', language: 'en', title: name, description: '', commands: { before: [], input: 'result.json' },
    layered: false, opening: { attention: 0, head: 0 }, predicts_next: true, samples: [{ title: 'Sample 1' }], statistics: [], colours, notes: [], tokens: tokens ?? [tokensOf([])], attentions: written,
    ...(pictures ? { pictures: pictures.map(({ bytes, ...picture }) => ({ ...picture, pixels: blocks.add(bytes) })) } : {}),
    thumbnails: { side, block: blocks.add(...(thumbnails.length ? thumbnails : [new Uint8Array(1)])) }, ...rest,
  };
  const path = join(folder, `${name}.html`);
  writeFileSync(path, change(pageText(view, blocks)));
  return pathToFileURL(path).href;
}

function pageText(view, blocks) {
  const script = `"use strict";\n${scripts.map(read).join('\n')}`;
  const style = read('page.css');
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:`;
  const json = JSON.stringify(view).replace(/[<\u2028\u2029]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const data = blocks.texts.map((text, at) => `<script type="text/plain" id="block-${at}">${text}</script>\n`).join('');
  const parts = {
    '{{language}}': view.language === 'zh' ? 'zh-CN' : 'en',
    '{{head}}': `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>test</title>\n<style>${style}</style>`,
    '{{data}}': `<script type="application/json" id="view">${json}</script>\n<script>${script}</script>\n${data}`,
  };
  return read('page.html').replace(/\{\{\w+\}\}/g, (mark) => parts[mark]);
}

/** A view of layers × heads over one text, causal. */
export function model(layers, heads, pieces, options = {}) {
  const length = pieces.length;
  return {
    tokens: [tokensOf(pieces, options.special ?? [])],
    attentions: Array.from({ length: layers }, (_, layer) => ({
      name: `layers.${layer}.self`, title: `Layer ${layer}, Self-Attention`, stack: 'Self-Attention',
      ...(options.statistics ? { statistics: Array.from({ length: heads }, (_, head) => [(layer * heads + head) / (layers * heads), head === 0 ? null : layer]) } : {}),
      samples: [{
        queries: length, keys: length, hidden_because: ['causal: keys after the query'],
        maps: [{ tensor: 'weights', heads: Array.from({ length: heads }, (_, head) => softWeights(length, length, layer * heads + head + 1, options.causal ?? true)) }],
      }],
    })),
    statistics: options.statistics ? [
      { name: 'previous', title: 'Previous token', meaning: 'mean weight on the key before the query' },
      { name: 'distance', title: 'Distance', meaning: 'mean distance' }] : [],
  };
}
