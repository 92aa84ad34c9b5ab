import assert from 'node:assert/strict';
import { test } from 'node:test';

import { colourOfCell, pointAtCell, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

const one = (maps, options = {}) => ({
  attentions: [{ name: '', title: 'Attention', stack: 'Attention', samples: [{ queries: options.queries, keys: options.keys, maps, ...options.place }] }],
  ...options.view,
});

test('a page of 144 heads shows them all, and a click looks at one', async () => {
  const page = makePage('heads144', model(12, 12, ['a', 'b', 'c', 'd', 'e', 'f']));
  await withPage(page, async (view) => {
    assert.equal(await view.locator('[role=gridcell]').count(), 144);
    await view.click('[role=gridcell][aria-label="Layer 6, head 10"]');
    await ready(view);
    assert.equal(await view.locator('#layer').inputValue(), '6');
    assert.equal(await view.locator('#head').inputValue(), '10');
    assert.equal(await view.locator('[aria-selected=true][role=gridcell]').getAttribute('aria-label'), 'Layer 6, head 10');
  });
});

test('tokens that look like the end of a script are tokens', async () => {
  const pieces = ['</script>', '<!--', '<b>x</b>', '"&\u2028'];
  await withPage(makePage('script', model(1, 1, pieces)), async (view) => {
    await pointAtCell(view, 2, 0);
    assert.match(await textIn(view, 'cell-readout'), /Query "<b>x<\/b>" \(2\)\s+Key "<\/script>" \(0\)/);
  });
});

test('one query and one key fill a page', async () => {
  const page = makePage('one', one([{ tensor: 'weights', heads: [[1]] }], { queries: 1, keys: 1 }));
  await withPage(page, async (view) => {
    await pointAtCell(view, 0, 0);
    assert.match(await textIn(view, 'cell-readout'), /Query 0\s+Key 0\s+1\.000\s+Rank 1 of 1 keys/);
    assert.deepEqual(await colourOfCell(view, 0, 0), [0, 0, 0]);
  });
});

test('NaN and infinities are named as such and have their colours in the legend', async () => {
  const cells = [NaN, 0.5, Infinity, -Infinity];
  const page = makePage('nan', one([{ tensor: 'weights', heads: [cells] }], { queries: 2, keys: 2 }));
  await withPage(page, async (view) => {
    await pointAtCell(view, 0, 0);
    assert.match(await textIn(view, 'cell-readout'), /NaN/);
    await pointAtCell(view, 1, 1);
    assert.match(await textIn(view, 'cell-readout'), /−∞/);
    assert.deepEqual((await view.locator('#legend-keys li').allInnerTexts()).sort(), ['NaN', '−∞', '∞'].sort());
    assert.deepEqual(await colourOfCell(view, 0, 0), [0xc0, 0xc0, 0xc0]);
    assert.deepEqual(await colourOfCell(view, 1, 0), [0xdd, 0xa0, 0xdd]);
    assert.deepEqual(await colourOfCell(view, 1, 1), [0x80, 0x80, 0x80]);
  });
});

test('codes of one and two bytes, doubles and bits of hidden cells are read as they were written', async () => {
  for (const type of ['uint8', 'uint16', 'float32', 'float64']) {
    const page = makePage(`type_${type}`, { type, ...one([
      { tensor: 'weights', heads: [[0.25, null, 0.125, 0.5]] },
      { tensor: 'scores', title: 'Scores', diverging: true, range: [-2, 4], heads: [[-2, null, 4, -Infinity]] },
    ], { queries: 2, keys: 2, place: { hidden_because: ['padding'] } }) });
    await withPage(page, async (view) => {
      const maps = await view.evaluate(async () => {
        const place = chosenPlace();
        const read = await Promise.all(place.maps.map((tensor) => readMap(place, tensor, 0)));
        return read.map(({ values, hidden }) => ({ values: [...values].map(String), hidden: [...hidden] }));
      });
      const near = type === 'uint8' ? 0.02 : type === 'uint16' ? 1e-4 : 0;
      [[0.25, 0, 0.125, 0.5], [-2, 0, 4, -Infinity]].forEach((expected, at) => {
        assert.deepEqual(maps[at].hidden, [0, 1, 0, 0], type);
        expected.forEach((value, cell) => {
          if (cell !== 1) assert.ok(value === Number(maps[at].values[cell]) || Math.abs(value - Number(maps[at].values[cell])) <= near, `${type} ${maps[at].values}`);
        });
      });
    });
  }
});

test('joined cells are named as such, with the exact strongest keys of a query', async () => {
  const queries = 64;
  const pooled = (blocks) => ({
    type: 'float32', rows: 16, columns: 16, error: 0, strongest_keys: 2,
    cells: blocks.add(Float32Array.from({ length: 256 }, (_, at) => (at % 17 === 0 ? 0.5 : 0.01))),
    strongest: blocks.add(
      Uint32Array.from({ length: 2 * queries }, (_, at) => (at % 2 ? 0xffffffff : Math.floor(at / 2))),
      Float32Array.from({ length: 2 * queries }, (_, at) => (at % 2 ? 0 : 0.4375))),
  });
  const page = makePage('pooled', one([{ tensor: 'weights', heads: [pooled] }], { queries, keys: queries, view: { notes: ['Cells were joined.'] } }),
    (html) => html);
  await withPage(page, async (view) => {
    await pointAtCell(view, 2, 2);
    assert.match(await textIn(view, 'cell-readout'), /Query 10\s+Key 8–11\s+0\.5000\s+Largest of 16 cells/);
    assert.match(await textIn(view, 'strongest-keys'), /Strongest keys of query 10\s+10\s+0\.4375\s+Exact/);
    assert.match(await textIn(view, 'status'), /16 × 16 cells stand for 64 queries × 64 keys.*Cells were joined\./s);
  });
});

test('two thousand tokens are drawn, zoomed and found', async () => {
  const pieces = Array.from({ length: 2000 }, (_, at) => `w${at + 1}`);
  const weights = Array.from({ length: 4e6 }, (_, at) => ((at * 7919) % 2003) / 2e6);
  const page = makePage('long', { ...one([{ tensor: 'weights', heads: [weights] }], { queries: 2000, keys: 2000, view: { tokens: [tokensOf(pieces)] } }), type: 'uint8' });
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'status'), /Each pixel shows the largest of its cells/);
    await view.fill('#search', 'w1777');
    await view.press('#search', 'Enter');
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Query "w1777" \(1776\) pinned/);
    for (let step = 0; step < 8; ++step) await view.click('#zoom-in');
    assert.doesNotMatch(await textIn(view, 'status'), /Each pixel/);
    await view.click('#tab-text');
    await ready(view);
    assert.equal(await view.locator('.piece').count(), 2000);
    await view.click('#tab-lines');
    await ready(view);
    assert.match(await textIn(view, 'status'), /Lines: all keys of the query/);
    await view.keyboard.press('Escape');
    await ready(view);
    // A row is a fraction of a pixel high.
    const { bands, drawn, sums } = await view.evaluate(() => {
      const lines = chosenLines(-1, null);
      const sums = new Map();
      for (const { row, value } of lines) sums.set(row, (sums.get(row) ?? 0) + value);
      return { bands: linesView.bands, drawn: lines.length, sums: [...sums.values()] };
    });
    assert.ok(bands > 1 && drawn === Math.ceil(2000 / bands) ** 2, `${bands} ${drawn}`);
    const row = weights.slice(0, 2000).reduce((sum, weight) => sum + weight, 0);
    assert.ok(sums.every((sum) => Math.abs(sum / row - 1) < 0.1), `${row} ${sums.slice(0, 5)}`);
    assert.match(await textIn(view, 'status'), new RegExp(`A line stands for ${bands} queries and ${bands} keys`));
  });
});

test('a damaged block leaves a sentence in the place of its map, and other heads can be seen', async () => {
  const page = makePage('damaged', model(1, 2, ['a', 'b', 'c']), (html) => html.replace(/(id="block-0">)[^<]*/, '$1AAAA'));
  await withPage(page, async (view) => {
    assert.match(await view.locator('#detail').getAttribute('data-problem'), /^This map cannot be shown: /);
    await view.click('#head-after');
    await ready(view);
    assert.equal(await view.locator('#detail').getAttribute('data-problem'), '');
    assert.equal(await view.evaluate(() => chosenMap().keys.length), 3);
  });
});

test('decoded maps that were not looked at for long are let go', async () => {
  await withPage(makePage('cache', model(1, 2, ['a', 'b'])), async (view) => {
    const kept = await view.evaluate(() => {
      const cache = new BoundedCache(10);
      for (const name of ['a', 'b', 'c']) {
        cache.set(name, name, 4);
        cache.get('a');
      }
      return [...cache.entries.keys(), cache.used];
    });
    assert.deepEqual(kept, ['c', 'a', 8]);
  });
});
