// Two models, checkpoints or texts: every head beside itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';

import { pointAtCell, problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights, tokensOf } from './made_page.mjs';

const pieces = ['one', 'two', 'three', 'four'];
const first = makePage('first', model(2, 2, pieces, { statistics: true }));
const other = model(2, 2, pieces);
other.attentions.forEach(({ samples }, layer) => {
  samples[0].maps[0].heads[1] = softWeights(4, 4, 50 + layer, true);
});
const second = makePage('second', other);

const row = (seed, query) => softWeights(4, 4, seed, true).slice(4 * query, 4 * query + 4).map((weight) => weight ?? 0);
const jensenShannon = (seed, to) => [0, 1, 2, 3].map((query) => {
  const [a, b] = [row(seed, query), row(to, query)];
  return a.reduce((sum, p, key) => {
    const [q, m] = [b[key], (p + b[key]) / 2];
    return sum + (p > 0 ? p * Math.log(p / m) : 0) / 2 + (q > 0 ? q * Math.log(q / m) : 0) / 2;
  }, 0);
}).reduce((sum, part) => sum + part, 0) / 4;
const divergencesIn = (view) => view.evaluate(() => page.view.attentions.map(({ statistics }) => statistics.map((values) => values[divergenceStatistic()])));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-5, `${a} ${b}`);

async function addSecond(view) {
  await view.setInputFiles('#second-file', fileURLToPath(second));
  await view.waitForFunction(() => page.view.samples.length === 2);
  await ready(view);
}

test('another page is opened beside this one, and each head is compared with itself', async () => {
  await withPage(first, async (view) => {
    await addSecond(view);
    assert.equal(await view.evaluate(() => page.choice.other), '0:0:1');
    assert.match(await textIn(view, 'status'), /The third map is the first minus the second/);
    await view.click('#head-after');
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.other), '0:1:1');
    await pointAtCell(view, 3, 1);
    const [a, b] = [row(2, 3)[1], row(50, 3)[1]];
    assert.match((await textIn(view, 'cell-readout')).replaceAll('−', '-'), new RegExp(`second: ${b.toPrecision(4)}; difference ${(a - b).toPrecision(4)}`.replaceAll('.', '\\.')));
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('what another page holds beside maps is read from its own blocks', async () => {
  const kept = model(2, 2, pieces);
  const vectors = (blocks, from) => [0, 1].map((head) => ({ type: 'float32', rows: 4, columns: 2, error: 0, cells: blocks.add(Float32Array.from({ length: 8 }, (_, at) => from + 10 * head + at)) }));
  Object.assign(kept.attentions[0].samples[0], {
    vectors: (blocks) => ({ query: vectors(blocks, 100), key: vectors(blocks, 200), value: vectors(blocks, 300), scale: 1, biased: false, sink: false }), lens: (blocks) => vectors(blocks, 400),
  });
  const path = fileURLToPath(makePage('kept', kept));
  await withPage(first, async (view) => {
    await view.setInputFiles('#second-file', path);
    await view.waitForFunction(() => page.view.samples.length === 2);
    await ready(view);
    const read = await view.evaluate(async () => {
      const place = page.view.attentions[0].samples[1];
      const { query, key, value } = await readVectors(place.vectors, 1);
      return [query[0], key[1], value[2], decodeCells(place.lens[1], await readBlock(place.lens[1].cells), true).values[3]];
    });
    assert.deepEqual(read, [110, 211, 312, 413]);
  });
});

test('heads are sorted by their divergence, which is Jensen and Shannon\'s', async () => {
  await withPage(first, async (view) => {
    await addSecond(view);
    await view.click('#other-heads');
    await view.waitForFunction(() => /Divergence/.test(document.getElementById('statistics-list').innerText));
    const found = await divergencesIn(view);
    near(found[0][0], 0);
    near(found[1][0], 0);
    near(found[0][1], jensenShannon(2, 50));
    near(found[1][1], jensenShannon(4, 51));
    const names = await view.locator('#statistics-list tbody th').allInnerTexts();
    const largest = found[0][1] > found[1][1] ? 0 : 1;
    assert.deepEqual(names.slice(0, 2), [`Layer ${largest}, head 1`, `Layer ${1 - largest}, head 1`]);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('a page that holds another begins with both', async () => {
  const html = readFileSync(fileURLToPath(second));
  const both = makePage('both', model(2, 2, pieces, { statistics: true }), (text) => {
    const count = (text.match(/id="block-/g) ?? []).length;
    return text.replace('<script type="application/json"', `<script type="text/plain" id="block-${count}">${deflateRawSync(html).toString('base64')}</script>\n<script type="application/json"`)
      .replace('"format":1', `"format":1,"second":${count}`);
  });
  await withPage(both, async (view) => {
    assert.equal(await view.evaluate(() => page.view.samples.length), 2);
    await view.waitForFunction(() => page.view.attentions[0].statistics[1][divergenceStatistic()] !== undefined);
    near((await divergencesIn(view))[0][1], jensenShannon(2, 50));
    assert.equal(await view.evaluate(() => [...thumbnailOf(0, 1).getContext('2d').getImageData(0, 0, 4, 4).data].length), 64);
    await view.evaluate(() => change({ sample: 1 }));
    await ready(view);
    near(await view.evaluate(() => chosenMap().values[13]), softWeights(4, 4, 50, true)[13]);
  }, { hash: 'head=1&other=0%3A1%3A1&left=list' });
});

test('a page with other heads, and a file that is no page, are refused by name', async () => {
  const wide = makePage('wide', model(2, 3, pieces));
  await withPage(first, async (view) => {
    await view.setInputFiles('#second-file', fileURLToPath(wide));
    await view.waitForFunction(() => page.view.samples.length === 2);
    await ready(view);
    await view.evaluate(() => change({}));
    await ready(view);
    assert.match(await textIn(view, 'status'), /left out: 2\./);
    await view.setInputFiles('#second-file', { name: 'x.html', mimeType: 'text/html', buffer: Buffer.from('<p>no page') });
    await view.waitForFunction(() => /no page of attn-cli/.test(document.getElementById('announcement').textContent));
  });
});

test('texts of unequal lengths are compared where they begin and end alike', async () => {
  const two = model(1, 1, ['the', 'cat', 'sat', 'down'], { causal: false });
  const longer = ['the', 'black', 'dog', 'sat', 'down'];
  two.attentions[0].samples.push({ ...two.attentions[0].samples[0], queries: 5, keys: 5, query_tokens: 1, key_tokens: 1, maps: [{ tensor: 'weights', heads: [softWeights(5, 5, 9, false)] }] });
  two.tokens.push(tokensOf(longer));
  two.samples = [{ title: 'cat' }, { title: 'black dog' }];
  const [a, b] = [softWeights(4, 4, 1, false), softWeights(5, 5, 9, false)];
  const to = [0, -1, 3, 4];
  await withPage(makePage('word_changed', two), async (view) => {
    const { values, hidden } = await view.evaluate(() => {
      const difference = differenceOf(chosenMap(), page.other);
      return { values: [...difference.values], hidden: [...difference.hidden] };
    });
    values.forEach((value, at) => {
      const [query, key] = [to[Math.floor(at / 4)], to[at % 4]];
      assert.equal(hidden[at], Number(query < 0 || key < 0));
      if (!hidden[at]) near(value, a[at] - b[query * 5 + key]);
    });
    await pointAtCell(view, 3, 2);
    assert.match(await textIn(view, 'cell-readout'), new RegExp(`${b[4 * 5 + 3].toPrecision(4)}; difference`));
  }, { hash: 'other=0%3A0%3A1' });
});
