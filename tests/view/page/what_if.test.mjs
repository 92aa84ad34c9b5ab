// The softmax of a query under other settings, beside the true numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pointAtCell, problemsOf, ready, withPage } from './browser.mjs';
import { makePage, model } from './made_page.mjs';

const pieces = ['a', 'b', 'c', 'd'];
const query = [[1, 0], [0.5, 1], [1, 1], [2, -1]];
const key = [[1, 0.5], [0, 1], [1, 1], [-1, 2]];
const value = [[3, 4], [0, 1], [2, 0], [1, 1]];
const scale = 0.5;
const scores = (row, by = scale) => key.map((k) => by * (k[0] * query[row][0] + k[1] * query[row][1]));
const softmax = (row) => {
  const sum = row.reduce((total, score) => total + (score === null ? 0 : Math.exp(score)), 0);
  return row.map((score) => (score === null ? 0 : Math.exp(score) / sum));
};
const weights = pieces.map((_, row) => softmax(scores(row).map((score, at) => (at > row ? null : score))).map((weight, at) => (at > row ? null : weight)));
const lengthOf = (row) => Math.hypot(...[0, 1].map((part) => row.reduce((sum, weight, at) => sum + (weight ?? 0) * value[at][part], 0)));

const made = model(1, 1, pieces);
made.attentions[0].samples[0].maps[0].heads = [weights.flat()];
made.attentions[0].samples[0].vectors = (blocks) => {
  const block = (rows) => [{ type: 'float32', rows: 4, columns: 2, error: 0, cells: blocks.add(Float32Array.from(rows.flat())) }];
  return { query: block(query), key: block(key), value: block(value), scale, biased: false, sink: false };
};
const page = makePage('what_if', made);

/** The numbers of the panel: of each listed key the true and the changed one, and of the last row the lengths. */
const table = (view) => view.locator('table.what-if tbody tr').evaluateAll((rows) => Object.fromEntries(rows.map((row) => {
  const cells = [...row.querySelectorAll('td:not(.bars)')].map((cell) => cell.textContent);
  return [row.querySelector('th').textContent, cells];
})));
const three = (number) => number.toFixed(3);
const open = async (view, row, change) => {
  await pointAtCell(view, row, 0, true);
  await view.waitForSelector('#what-if:not([hidden])');
  if (!await view.locator('#what-if').evaluate((box) => box.open)) await view.click('#what-if summary');
  await view.waitForSelector('table.what-if');
  if (change) await change();
  await ready(view);
  await view.waitForFunction(() => JSON.parse(whatIf.wanted)[5] === page.choice.what);
  await view.waitForTimeout(50);
  return table(view);
};

test('without a change both columns are the true weights and the length of what they add up', async () => {
  await withPage(page, async (view) => {
    const rows = await open(view, 3);
    weights[3].forEach((weight, at) => assert.deepEqual(rows[pieces[at]], [three(weight), three(weight)]));
    assert.deepEqual(rows['Length of Σ weight × v'], [three(lengthOf(weights[3])), three(lengthOf(weights[3]))]);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('temperature, scale, cap, window, valid keys, causality and a dropped key change the row as they should', async () => {
  const cases = [
    ['temperature', '2', scores(3).map((score) => score / 2)], ['scale', '1', scores(3, 1)], ['cap', '0.5', scores(3).map((score) => 0.5 * Math.tanh(score / 0.5))],
    ['window', '2', scores(3).map((score, at) => (at < 2 ? null : score))], ['valid', '3', scores(3).map((score, at) => (at > 2 ? null : score))],
  ];
  for (const [name, text, row] of cases) {
    await withPage(page, async (view) => {
      const rows = await open(view, 3, () => view.fill(`#what-${name}`, text));
      const expected = softmax(row);
      pieces.forEach((piece, at) => assert.deepEqual(rows[piece], [three(weights[3][at]), row[at] === null ? '–' : three(expected[at])], `${name} ${piece}`));
      assert.deepEqual(rows['Length of Σ weight × v'], [three(lengthOf(weights[3])), three(lengthOf(expected))], name);
    });
  }
  await withPage(page, async (view) => {
    const rows = await open(view, 1, () => view.selectOption('#what-causal', 'off'));
    pieces.forEach((piece, at) => assert.equal(rows[piece][1], three(softmax(scores(1))[at]), piece));
    await view.click('.drop >> nth=0');
    await ready(view);
    await view.waitForTimeout(100);
    const dropped = softmax(scores(1).map((score, at) => (at === 0 ? null : score)));
    assert.deepEqual((await table(view)).b[1], three(dropped[1]));
    assert.equal(await view.locator('.drop[aria-pressed=true]').innerText(), 'a');
    assert.match(await view.evaluate(() => location.hash), /what=moff%2Cd0/);
  });
});

test('the address holds the pinned cell and what is tried', async () => {
  await withPage(page, async (view) => {
    await view.waitForSelector('table.what-if');
    assert.equal(await view.locator('#what-temperature').inputValue(), '0.5');
    const expected = softmax(scores(3).map((score) => score / 0.5));
    assert.equal((await table(view)).c[1], three(expected[2]));
    assert.match(await view.locator('#arithmetic').innerText(), /"d" \(3\) → "c" \(2\)/);
    await view.click('#what-reset');
    await ready(view);
    assert.equal(await view.evaluate(() => location.hash), '#query=3&key=2');
  }, { hash: 'query=3&key=2&what=t0.5' });
});

test('the prediction moves with the output of the head, all other parts staying as they are', async () => {
  const directions = [[1, 0], [0, -1]];
  const seen = structuredClone({ ...made, attentions: [] });
  const [attention] = made.attentions;
  seen.attentions = [{ ...attention, samples: [{ ...attention.samples[0], lens: (blocks) => [{ type: 'float32', rows: 2, columns: 2, error: 0, cells: blocks.add(Float32Array.from(directions.flat())) }] }] }];
  const tokens = [{ text: ' on', probability: 0.6, logit: 2 }, { text: ' off', probability: 0.3, logit: 1.3 }];
  const output = (row) => [0, 1].map((part) => row.reduce((sum, weight, at) => sum + (weight ?? 0) * value[at][part], 0));
  const [true_, tried] = [output(weights[3]), output(softmax(scores(3).map((score) => score / 2)))];
  for (const softcap of [undefined, 4]) {
    const capped = (logit) => (softcap === undefined ? logit : softcap * Math.tanh(logit / softcap));
    const factors = tokens.map(({ logit }, at) => Math.exp(capped(logit + directions[at].reduce((sum, g, part) => sum + g * (tried[part] - true_[part]), 0)) - capped(logit)));
    const all = 0.1 + 0.6 * factors[0] + 0.3 * factors[1];
    const page = makePage(`lens_${softcap}`, { ...seen, samples: [{ title: 'a b c d', predictions: [{ position: 3, likeliest: tokens }], lens: { position: 3, tokens, ...(softcap ? { softcap } : {}) } }] });
    await withPage(page, async (view) => {
      await open(view, 3, () => view.fill('#what-temperature', '2'));
      await view.waitForFunction((wanted) => document.querySelector('table.lens')?.innerText.includes(wanted), three(0.6 * factors[0] / all));
      const rows = await table(view);
      assert.deepEqual(rows.on, ['0.600', three(0.6 * factors[0] / all)]);
      assert.deepEqual(rows.off, ['0.300', three(0.3 * factors[1] / all)]);
      assert.deepEqual(await problemsOf(view), []);
      await pointAtCell(view, 2, 0, true);
      await view.waitForFunction(() => /The prediction is made at query "d" \(3\)/.test(document.getElementById('what-if-result').innerText));
    });
  }
});
