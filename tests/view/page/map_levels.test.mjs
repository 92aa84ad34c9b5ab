// Text, sentences, words and tokens: the map by each of them, the way between them by zooming, and the small map.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights } from './made_page.mjs';

const pieces = ['[CLS]', 'The', 'cat', 'sat', '.', 'It', 'pur', '##red', '!', '"', 'Why', '?', '"', 'Nobody', 'knows', '[SEP]'];
const sentences = [[0, 1], [1, 5], [5, 9], [9, 13], [13, 15], [15, 16]];
const page = makePage('levels', model(1, 2, pieces, { causal: false, special: [0, 15] }));
const weights = softWeights(pieces.length, pieces.length, 1, false);
const unit = (view) => view.evaluate(() => [page.choice.words, page.choice.sentences, chosenMap().queries.length]);

test('sentences take the place of tokens: columns are summed and rows averaged', async () => {
  await withPage(page, async (view) => {
    await view.click('#options-button');
    await view.check('#sentences');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => chosenMap().queries.map(({ first, end }) => [first, end])), sentences);
    const cells = await view.evaluate(() => [...chosenMap().values]);
    sentences.forEach(([first, end], row) => sentences.forEach(([from, to], column) => {
      let sum = 0;
      for (let query = first; query < end; ++query) for (let key = from; key < to; ++key) sum += weights[query * pieces.length + key];
      assert.ok(Math.abs(cells[row * sentences.length + column] - sum / (end - first)) < 1e-6, `${row} ${column}`);
    }));
    assert.equal(await view.evaluate(() => labelsOf(chosenMap()).query(2)), 'It purred!');
    assert.match(await textIn(view, 'status'), /A row and a column are sentences/);
    assert.deepEqual(await problemsOf(view), []);
    assert.match(await view.evaluate(() => location.hash), /sentences=true/);
  });
});

test('lines are bands between sentences', async () => {
  await withPage(page, async (view) => {
    assert.deepEqual(await view.evaluate(() => [...new Set(linesView.lines.map(({ row }) => row))].sort((a, b) => a - b)), [0, 1, 2, 3, 4, 5]);
    const [least, cell] = await view.evaluate(() => [linesView.lines.find(({ row, column }) => row === 1 && column === 2).value, chosenMap().values[1 * 6 + 2]]);
    assert.equal(least, cell);
  }, { hash: 'sentences=true&view=lines&strongest=9' });
});

test('a whole map made smaller is one of words, then of sentences; large cells made larger open at their place', async () => {
  await withPage(page, async (view) => {
    await view.focus('#map');
    await view.keyboard.press('-');
    await ready(view);
    assert.deepEqual(await unit(view), [true, false, 15]);
    await view.keyboard.press('-');
    await ready(view);
    assert.deepEqual(await unit(view), [false, true, 6]);
    await view.keyboard.press('-');
    await ready(view);
    assert.deepEqual(await unit(view), [false, true, 6]);
    for (let times = 0; times < 5 && (await unit(view))[1]; ++times) {
      await view.keyboard.press('+');
      await ready(view);
    }
    assert.deepEqual((await unit(view)).slice(0, 2), [true, false]);
    const seen = await view.evaluate(() => [mapView.layout.row, mapView.layout.row + mapView.layout.rows, mapView.window.zoom]);
    assert.ok(seen[0] > 0 && seen[1] < 15 && seen[2] > 1, String(seen));
  });
});

test('the wheel has some way to go before the unit is another one', async () => {
  await withPage(page, async (view) => {
    const box = await view.locator('#map').boundingBox();
    await view.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await view.mouse.wheel(0, 100);
    await ready(view);
    assert.deepEqual(await unit(view), [false, false, 16]);
    await view.mouse.wheel(0, 250);
    await view.waitForFunction(() => page.choice.words);
    await ready(view);
    assert.deepEqual(await unit(view), [true, false, 15]);
  });
});

test('a part of a map stands in a frame on the whole of it, and a click there moves it', async () => {
  await withPage(page, async (view) => {
    assert.equal(await view.locator('#minimap').isVisible(), false);
    await view.focus('#map');
    for (let times = 0; times < 3; ++times) await view.keyboard.press('+');
    await ready(view);
    const box = await view.locator('#minimap').boundingBox();
    assert.deepEqual([box.width, box.height], [110, 110]);
    await view.mouse.click(box.x + box.width - 2, box.y + box.height - 2);
    const { row, rows, column, columns } = await view.evaluate(() => mapView.layout);
    assert.deepEqual([row + rows, column + columns], [16, 16]);
    await view.mouse.click(box.x + 2, box.y + 2);
    assert.deepEqual(await view.evaluate(() => [mapView.layout.row, mapView.layout.column]), [0, 0]);
    assert.equal(await view.evaluate(() => page.choice.query), null, 'the click pins nothing');
    await view.keyboard.press('0');
    assert.equal(await view.locator('#minimap').isVisible(), false);
  });
});

test('a text of 100 000 tokens, whose cells are joined, can be searched, pinned and read in all views', async () => {
  const count = 100_000;
  const side = 200;
  const names = Array.from({ length: count }, (_, at) => (at % 20 === 19 ? '.' : `w${at}`));
  const cells = softWeights(side, side, 5, true).map((cell) => cell ?? 0);
  const strongest = (blocks) => {
    const keys = Uint32Array.from({ length: count }, (_, at) => Math.floor(at / 2));
    return blocks.add(keys, Float32Array.from({ length: count }, (_, at) => (at % 7) / 7));
  };
  const made = model(1, 1, ['a']);
  Object.assign(made.attentions[0].samples[0], { queries: count, keys: count });
  made.attentions[0].samples[0].maps[0].heads = [(blocks) => ({ type: 'float32', rows: side, columns: side, error: 0, cells: blocks.add(Float32Array.from(cells)), strongest: strongest(blocks), strongest_keys: 1 })];
  made.tokens[0] = { pieces: names, shown: names, words: [], special: [] };
  await withPage(makePage('hundred_thousand', made), async (view) => {
    await view.fill('#search', 'w77776');
    await view.press('#search', 'Enter');
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.query), 77776);
    assert.match(await textIn(view, 'strongest-keys'), /Strongest keys of query "w77776" \(77776\)\s+"w38888" \(38888\)\s+0\.8571/);
    assert.match(await textIn(view, 'status'), /200 × 200 cells stand for 100000 queries × 100000 keys/);
    for (const name of ['lines', 'text', 'table']) {
      await view.click(`#tab-${name}`);
      await ready(view);
      assert.equal(await view.evaluate(() => document.querySelectorAll('*').length < 6000), true, name);
    }
  });
});
