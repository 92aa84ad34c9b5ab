import assert from 'node:assert/strict';
import { test } from 'node:test';

import { colourOfCell, pointAtCell, ready, textIn, withPage } from './browser.mjs';
import { makePage, softWeights, tokensOf } from './made_page.mjs';

const pieces = ['[CLS]', 'play', '##ing', '[SEP]', 'fox', '[SEP]'];
const row = [0.5, 0.125, 0.125, 0.0625, 0.125, 0.0625];
const cells = pieces.flatMap((_, query) => (query === 2 ? [0.5, 0, 0, 0, 0.5, 0] : row));
const page = makePage('options', {
  tokens: [tokensOf(pieces, [0, 3, 5])],
  attentions: [{ name: 'layers.0.self', title: 'Layer 1, Self-Attention', stack: 'Self-Attention', samples: [{ queries: 6, keys: 6, maps: [
    { tensor: 'weights', heads: [cells] },
    { tensor: 'scores', title: 'Scores', diverging: true, range: [-4, 2], heads: [cells.map((value, at) => (at ? value : -4))] }] }] }],
});
const open = async (view) => {
  await view.click('#options-button');
  return view.locator('#options');
};
const values = (view, at) => view.evaluate((query) => [...chosenMap().values.slice(query * chosenMap().keys.length, (query + 1) * chosenMap().keys.length)].map((value) => Number(value.toFixed(5))), at);

test('the first key is left out, and rows are divided only if that is chosen, which is said', async () => {
  await withPage(page, async (view) => {
    await open(view);
    await view.selectOption('#leave', 'first');
    await ready(view);
    assert.deepEqual(await values(view, 0), row.slice(1));
    assert.equal(await textIn(view, 'status'), 'The first key is left out. Rows no longer add up to 1.');
    await view.check('#renormalise');
    await ready(view);
    assert.deepEqual(await values(view, 0), [0.25, 0.25, 0.125, 0.25, 0.125]);
    assert.equal(await textIn(view, 'status'), 'The first key is left out. Rows were divided by the sum of what is left: they add up to 1 again.');
    await pointAtCell(view, 0, 0);
    assert.match(await textIn(view, 'cell-readout'), /Key "play" \(1\)\s+0\.2500\s+Rank 1 of 5 keys/);
    await view.selectOption('#leave', 'special');
    await ready(view);
    assert.equal(await view.evaluate(() => chosenMap().keys.length), 3);
    await view.click('#options-reset');
    await ready(view);
    assert.equal(await textIn(view, 'status'), '');
  });
});

test('words take the place of pieces: columns are summed and rows averaged', async () => {
  await withPage(page, async (view) => {
    await open(view);
    await view.check('#words');
    await ready(view);
    assert.deepEqual(await values(view, 1), [0.5, 0.125, 0.03125, 0.3125, 0.03125]);
    assert.match(await textIn(view, 'status'), /columns summed, rows averaged/);
    await pointAtCell(view, 1, 1);
    assert.match(await textIn(view, 'cell-readout'), /Query "playing" \(1–2\)\s+Key "playing" \(1–2\)\s+0\.1250/);
    await view.selectOption('#tensor', 'scores');
    await ready(view);
    assert.equal(await view.evaluate(() => chosenMap().keys.length), 6);
    assert.match(await textIn(view, 'status'), /Scores are not joined to words or sentences/);
  });
});

test('cells below a threshold and beyond the strongest are not drawn but still read out', async () => {
  await withPage(page, async (view) => {
    await open(view);
    await view.fill('#threshold', '0.1');
    await view.press('#threshold', 'Enter');
    await ready(view);
    assert.match(await textIn(view, 'status'), /Cells below 0\.1 are not drawn/);
    assert.deepEqual(await view.locator('#legend-keys li').allInnerTexts(), ['below the limits']);
    await pointAtCell(view, 0, 3);
    assert.match(await textIn(view, 'cell-readout'), /0\.06250\s+Rank 5 of 6 keys\s+Not drawn: below the chosen limits/);
    await view.fill('#threshold', '');
    await view.fill('#strongest', '2');
    await view.press('#strongest', 'Enter');
    await ready(view);
    assert.match(await textIn(view, 'status'), /Only the 2 strongest keys of each query/);
    assert.equal(await view.evaluate(() => chosenMap().faint.slice(0, 6).reduce((sum, part) => sum + part, 0)), 4);
  });
});

test('the stages of a score can be seen on a scale about zero', async () => {
  await withPage(page, async (view) => {
    await view.selectOption('#tensor', 'scores');
    await ready(view);
    assert.deepEqual(await colourOfCell(view, 0, 0), [0, 128, 255]);
    assert.match(await textIn(view, 'legend-title'), /Scores/);
    assert.match(await textIn(view, 'legend-ticks'), /^−4.*4$/s);
    await view.selectOption('#scale', 'log');
    await ready(view);
    assert.match(await textIn(view, 'status'), /Numbers of both signs have a linear scale/);
  });
});

test('the texts of a pair are looked at by themselves', async () => {
  await withPage(page, async (view) => {
    assert.deepEqual(await view.locator('#part option').allInnerTexts(), ['All tokens', 'Text 0 → text 0', 'Text 0 → text 1', 'Text 1 → text 0', 'Text 1 → text 1']);
    await view.selectOption('#part', '1-0');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [chosenMap().queries, chosenMap().keys].map((list) => list.map(({ first }) => first))), [[4], [1, 2]]);
    assert.deepEqual(await values(view, 0), [0.125, 0.125]);
    assert.match(await textIn(view, 'status'), /Only some of the tokens are shown/);
  });
});

test('a map of which nothing is left says so', async () => {
  const special = makePage('nothing', {
    tokens: [tokensOf(['[CLS]', '[SEP]'], [0, 1])],
    attentions: [{ name: '', title: '', stack: 'Attention', samples: [{ queries: 2, keys: 2, maps: [{ tensor: 'weights', heads: [softWeights(2, 2, 1)] }] }] }],
  });
  await withPage(special, async (view) => {
    assert.equal(await view.locator('#detail').getAttribute('data-problem'), 'Nothing is left to show: choose fewer options.');
    await view.click('#tab-lines');
    await ready(view);
  }, { hash: 'leave=special' });
});
