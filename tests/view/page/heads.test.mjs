import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights, tokensOf } from './made_page.mjs';

const statistics = makePage('statistics', model(3, 4, ['a', 'b', 'c', 'd'], { statistics: true }));

function pair() {
  const attention = (name, title, stack, heads, queries, keys, tokens) => ({
    name, title, stack, samples: [0, 1].map((sample) => ({
      queries, keys, query_tokens: tokens[0], key_tokens: tokens[1], same_positions: tokens[0] === tokens[1],
      maps: [{ tensor: 'weights', heads: Array.from({ length: heads }, (_, head) => softWeights(queries, keys, 10 * sample + head + 1)) }] })) });
  return {
    tokens: [tokensOf(['x', 'y', 'z', 'u', 'v']), tokensOf(['p', 'q', 'r'])],
    samples: [{ title: 'First text' }, { title: 'Second text' }],
    attentions: [
      attention('encoder.layers.0.self', 'Layer 1, Self-Attention', 'Encoder Self-Attention', 2, 5, 5, [0, 0]),
      attention('encoder.layers.1.self', 'Layer 2, Self-Attention', 'Encoder Self-Attention', 4, 5, 5, [0, 0]),
      attention('decoder.layers.0.self', 'Layer 1, Self-Attention', 'Decoder Self-Attention', 2, 3, 3, [1, 1]),
      attention('decoder.layers.0.cross', 'Layer 1, Cross-Attention', 'Cross-Attention', 3, 3, 5, [1, 0])],
  };
}

test('stacks of encoder, decoder and cross-attention have rows of their own and as many heads as they have', async () => {
  await withPage(makePage('stacks', pair()), async (view) => {
    assert.deepEqual(await view.locator('.stack h3 bdi').allInnerTexts(), ['Encoder Self-Attention', 'Decoder Self-Attention', 'Cross-Attention']);
    assert.deepEqual(await view.locator('.stack').evaluateAll((stacks) => stacks.map((stack) => stack.querySelectorAll('[role=gridcell]').length)), [6, 2, 3]);
    assert.deepEqual(await view.locator('.stack').first().locator('[role=rowheader]').allInnerTexts(), ['0', '1']);
    await view.locator('.stack').nth(2).locator('[role=gridcell]').nth(2).click();
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [chosenMap().queries.length, chosenMap().keys.length, page.choice.head]), [3, 5, 2]);
    await view.selectOption('#layer', '0');
    await ready(view);
    assert.equal(await view.locator('#head').inputValue(), '1');
  });
});

test('another sample shows its own maps', async () => {
  await withPage(makePage('samples', pair()), async (view) => {
    const first = await view.evaluate(() => chosenMap().values[0]);
    await view.selectOption('#sample', { label: 'Second text' });
    await ready(view);
    assert.notEqual(await view.evaluate(() => chosenMap().values[0]), first);
    assert.match(await view.evaluate(() => location.hash), /sample=1/);
  });
});

test('arrow keys move over layers and heads; one place alone is reached by Tab', async () => {
  await withPage(statistics, async (view) => {
    assert.equal(await view.locator('[role=gridcell][tabindex="0"]').count(), 1);
    await view.focus('[role=gridcell][tabindex="0"]');
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowDown']) await view.keyboard.press(key);
    await ready(view);
    assert.equal(await view.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Layer 2, head 1');
    await view.keyboard.press('End');
    await ready(view);
    assert.equal(await view.locator('#head').inputValue(), '3');
    await view.keyboard.press('Enter');
    await ready(view);
    assert.equal(await view.evaluate(() => document.activeElement.id), 'map');
  });
});

test('a statistic colours layers and heads, and tells where it has no meaning', async () => {
  await withPage(statistics, async (view) => {
    await view.click('#heads-shown-as [data-value=statistic]');
    assert.equal(await textIn(view, 'statistic-meaning'), 'mean weight on the key before the query');
    assert.equal(await view.locator('[role=gridcell]').nth(6).getAttribute('aria-label'), 'Layer 1, head 2: 0.5000');
    await view.selectOption('#statistic', { label: 'Distance' });
    assert.equal(await view.locator('[role=gridcell]').first().getAttribute('aria-label'), 'Layer 0, head 0: –');
    assert.match(await textIn(view, 'statistic-legend'), /0\s*2/);
  });
});

test('the list of heads is sorted by each statistic, both ways', async () => {
  await withPage(statistics, async (view) => {
    await view.click('#heads-shown-as [data-value=list]');
    const first = () => view.locator('#statistics-list tbody th').first().innerText();
    assert.equal(await first(), 'Layer 0, head 0');
    await view.click('#statistics-list thead button >> nth=1');
    assert.equal(await first(), 'Layer 2, head 3');
    assert.equal(await view.locator('#statistics-list th[aria-sort=descending]').innerText(), 'Previous token');
    await view.click('#statistics-list thead button >> nth=1');
    assert.equal(await first(), 'Layer 0, head 0');
    await view.click('#statistics-list thead button >> nth=2');
    assert.match(await view.locator('#statistics-list tbody tr').last().innerText(), /head 0\s+0\.\d+\s+–/);
    await view.locator('#statistics-list tbody button').first().click();
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head]), [2, 1]);
  });
});

test('heads fill the page when enlarged, and a click goes back to the map', async () => {
  await withPage(statistics, async (view) => {
    const size = () => view.locator('[role=gridcell]').first().evaluate((cell) => cell.clientWidth);
    const before = await size();
    await view.click('#enlarge');
    await ready(view);
    assert.ok(await size() > before);
    assert.equal(await view.locator('#attention').isVisible(), false);
    await view.locator('[role=gridcell]').nth(5).click();
    await ready(view);
    assert.equal(await view.locator('#map').isVisible(), true);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head]), [1, 1]);
  });
});

test('heads that share keys and values are named', async () => {
  const grouped = model(1, 4, ['a', 'b']);
  grouped.attentions[0].heads_a_group = 2;
  await withPage(makePage('grouped', grouped), async (view) => {
    assert.equal(await textIn(view, 'status'), 'Heads 2 and 3 share one key and value head.');
  }, { hash: 'head=2' });
});

test('heads that were chosen from more keep their numbers', async () => {
  const chosen = model(1, 2, ['a', 'b']);
  chosen.attentions[0].numbers = [3, 7];
  await withPage(makePage('numbers', chosen), async (view) => {
    assert.deepEqual(await view.locator('#head option').allInnerTexts(), ['Head 3', 'Head 7']);
    assert.deepEqual(await view.locator('[role=gridcell]').evaluateAll((cells) => cells.map((cell) => cell.title)), ['Layer 0, head 3', 'Layer 0, head 7']);
  });
});
