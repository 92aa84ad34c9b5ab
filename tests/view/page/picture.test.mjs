// The picture that a model saw: the row of the query that is pointed at lies over it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pointAtCell, problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

/** [CLS] and 2 × 3 patches of 4 × 4 pixels; the picture is white, and a pixel wider than its patches. */
const pieces = ['[CLS]', '0,0', '0,1', '0,2', '1,0', '1,1', '1,2'];
const width = 13;
const seen = { ...model(2, 2, pieces, { causal: false }), tokens: [tokensOf(pieces, [0])], layered: true };
const own = [
  [0.4, 0, 0.6, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], [0.5, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05], [1, 0, 0, 0, 0, 0, 0],
  [0, 1, 0, 0, 0, 0, 0], [0.2, 0, 0, 0.8, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0]];
seen.attentions[0].samples[0].maps[0].heads[0] = own.flat();
for (const { samples } of seen.attentions) samples[0].picture = 0;
const picture = { width, height: 8, rows: 2, columns: 3, patch: 4, bytes: new Uint8Array(3 * 8 * width).fill(255) };
const page = makePage('picture', { ...seen, pictures: [picture] });

/** Moves the pointer to the middle of a patch. */
async function pointAtPatch(view, row, column) {
  const { x, y, width: drawn } = await view.locator('#picture-box').boundingBox();
  const side = (drawn * 4) / width;
  const at = [x + (column + 0.5) * side, y + (row + 0.5) * side];
  await view.mouse.move(...at);
  return at;
}

/** Brightness of the middle of each patch, and of the pixels that are of none. */
const brightness = (view) => view.evaluate(([all, patch]) => {
  const canvas = document.getElementById('picture-canvas');
  const scale = canvas.width / all;
  const at = (x, y) => canvas.getContext('2d').getImageData(Math.floor(x * scale), Math.floor(y * scale), 1, 1).data[0];
  const middles = [0, 1].flatMap((row) => [0, 1, 2].map((column) => at((column + 0.5) * patch, (row + 0.5) * patch)));
  return [...middles, at(12.5, 4)];
}, [width, 4]);

test('the picture shows what [CLS] looks at, and the patch that is pointed at in its place', async () => {
  await withPage(page, async (view) => {
    assert.equal(await textIn(view, 'picture-caption'), 'What [CLS] looks at');
    assert.equal(await textIn(view, 'picture-high'), '0.6');
    assert.equal(await textIn(view, 'picture-others'), '[CLS] 0.4000');
    assert.equal(await view.isHidden('#text-line'), true);
    const first = await brightness(view);
    assert.equal(first.at(-1), 255, 'pixels of no patch stay');
    assert.ok(first[1] > first[0] && new Set([0, 2, 3, 4, 5].map((at) => first[at])).size === 1, String(first));
    await pointAtPatch(view, 1, 1);
    assert.equal(await textIn(view, 'picture-caption'), 'What patch 1,1 looks at');
    assert.match(await textIn(view, 'cell-readout'), /Query "1,1" \(5\)/);
    assert.deepEqual(await view.evaluate(() => page.cursor), { row: 5, column: null, query: 5 });
    const other = await brightness(view);
    assert.ok(other[2] > other[0] && other[1] === other[0], String(other));
    await view.mouse.move(0, 0);
    assert.equal(await textIn(view, 'picture-caption'), 'What [CLS] looks at');
  });
});

test('a row that is pointed at in the map lies over the picture, and a click in the picture pins it in the map', async () => {
  await withPage(page, async (view) => {
    await pointAtCell(view, 4, 1);
    assert.equal(await textIn(view, 'picture-caption'), 'What patch 1,0 looks at');
    const lit = await brightness(view);
    assert.ok(lit[0] > lit[1], String(lit));
    await view.mouse.click(...await pointAtPatch(view, 0, 2));
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.query), 3);
    await view.mouse.move(0, 0);
    assert.equal(await textIn(view, 'picture-caption'), 'What patch 0,2 looks at');
    await view.click('#picture-others button');
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.query), 0);
  });
});

test('arrows go from patch to patch, Enter pins one, in Chinese too', async () => {
  await withPage(page, async (view) => {
    await view.selectOption('#language', 'zh');
    await view.focus('#picture-box');
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown']) await view.keyboard.press(key);
    assert.equal(await textIn(view, 'picture-caption'), '图块 1,1 看向哪里');
    assert.match(await textIn(view, 'announcement'), /1,1/);
    await view.keyboard.press('Enter');
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.query), 5);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('of a map of joined cells the picture names the query that is pointed at', async () => {
  const joined = { ...seen, attentions: [structuredClone(seen.attentions[0])] };
  const [map] = joined.attentions[0].samples[0].maps;
  map.heads = [(blocks) => ({ type: 'float32', rows: 3, columns: 3, error: 0, cells: blocks.add(new Float32Array([0.6, 0, 0, 0, 0.5, 0, 0, 0, 1])) })];
  joined.attentions[0].heads = 1;
  await withPage(makePage('joined_picture', { ...joined, pictures: [picture] }), async (view) => {
    assert.equal(await textIn(view, 'picture-caption'), 'What [CLS] looks at');
    await pointAtPatch(view, 1, 1);
    assert.equal(await textIn(view, 'picture-caption'), 'What patch 1,1 looks at');
  });
});

test('another layer and head lies over the picture, and a page without pictures shows none', async () => {
  await withPage(page, async (view) => {
    const before = await brightness(view);
    await view.selectOption('#layer', '1');
    await ready(view);
    assert.notDeepEqual(await brightness(view), before);
  });
  await withPage(makePage('without_picture', model(1, 1, pieces)), async (view) => {
    assert.equal(await view.isHidden('#picture'), true);
    assert.equal(await view.isHidden('#text-line'), false);
  });
});
