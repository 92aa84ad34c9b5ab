// One weight, or who reads one word, in every head.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights, tokensOf } from './made_page.mjs';

const pieces = ['the', 'animal', 'was', 'tired', 'it'];
const page = makePage('pair', { ...model(2, 3, pieces), layered: true });
const coded = makePage('pair_coded', { type: 'uint8', ...model(2, 3, pieces), layered: true });
const labels = (view) => view.locator('[role=gridcell]').evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-label')));
const shown = (view) => view.waitForFunction(() => pairView.shown === pairView.wanted && pairView.shown !== '');
/** What the maps themselves say of each head. */
const values = (view, query, key) => view.evaluate(([q, k]) => Promise.all(page.view.attentions.flatMap(({ samples: [place], heads }) => Array.from({ length: heads }, async (_, head) => {
  const map = await readMap(place, place.maps[0], head);
  return map.hidden?.[q * place.keys + k] ? null : map.values[q * place.keys + k];
}))), [query, key]);

test('a pair that the mask hides from every head tells why', async () => {
  await withPage(page, async (view) => {
    await view.waitForFunction(() => /hidden/.test(document.getElementById('pair-said').textContent));
    assert.equal(await textIn(view, 'pair-said'), 'The key is hidden from the query in every head: causal: keys after the query');
  }, { hash: 'left=pair&query=0&key=2' });
});

test('two words chosen in the text colour every head by that one weight, which is listed too', async () => {
  for (const address of [page, coded]) {
    await withPage(address, async (view) => {
      await view.click('#heads-shown-as [data-value=pair]');
      await view.click('#text-line bdi >> nth=4');
      await view.click('#text-line bdi >> nth=1');
      await ready(view);
      await shown(view);
      assert.equal(await textIn(view, 'pair-said'), 'The weight that "it" (4) gives to "animal" (1), in every head. "it" (4) is hidden from "animal" (1).');
      const expected = await values(view, 4, 1);
      const places = ['0, head 0', '0, head 1', '0, head 2', '1, head 0', '1, head 1', '1, head 2'];
      assert.deepEqual(await labels(view), expected.map((value, at) => `Layer ${places[at]}: ${value < 1e-4 ? value : value.toPrecision(4)}`));
      const order = [...expected.keys()].sort((a, b) => expected[b] - expected[a]).map((at) => `${Math.floor(at / 3)}.${at % 3}`);
      assert.deepEqual(await view.locator('#pair-list button').allInnerTexts(), order);
      await view.click('#pair-list button >> nth=0');
      await ready(view);
      assert.equal(await view.evaluate(() => `${page.choice.attention}.${page.choice.head}`), order[0]);
      assert.match(await view.evaluate(() => location.hash), /left=pair&query=4&key=1/);
      assert.deepEqual(await problemsOf(view), []);
    });
  }
});

test('two words in reading order are asked for in the order that the mask shows', async () => {
  const given = { ...model(2, 3, pieces), layered: true };
  // A file of maps has zeros where its mask hides keys.
  for (const attention of given.attentions) attention.samples[0].maps[0].heads = attention.samples[0].maps[0].heads.map((map) => map.map((value) => value ?? 0));
  for (const address of [page, makePage('pair_zeros', given)]) {
    await withPage(address, async (view) => {
      await view.click('#text-line bdi >> nth=1');
      await view.click('#text-line bdi >> nth=4');
      await ready(view);
      await shown(view);
      assert.equal(await textIn(view, 'pair-said'), 'The weight that "it" (4) gives to "animal" (1), in every head. "it" (4) is hidden from "animal" (1).');
      assert.deepEqual(await view.evaluate(() => [page.choice.query, page.choice.key]), [4, 1]);
      await view.reload();
      await ready(view);
      await shown(view);
      assert.match(await textIn(view, 'pair-said'), /in every head\. "it" \(4\) is hidden from "animal" \(1\)\.$/);
    }, { hash: 'left=pair' });
  }
  const both = { ...model(1, 2, pieces, { causal: false }), layered: true };
  await withPage(makePage('pair_both', both), async (view) => {
    await view.click('#text-line bdi >> nth=1');
    await view.click('#text-line bdi >> nth=4');
    await ready(view);
    await shown(view);
    const back = await values(view, 4, 1);
    const most = Math.max(...back);
    assert.equal(await textIn(view, 'pair-said'), `The weight that "animal" (1) gives to "it" (4), in every head. The other way round at most ${most.toPrecision(4)}, in head 0.${back.indexOf(most)}.`);
  }, { hash: 'left=pair' });
});

test('of one word it tells what it looks at most, and who looks at it most, by keys as well', async () => {
  await withPage(page, async (view) => {
    await view.selectOption('#pair-query', '3');
    await ready(view);
    await shown(view);
    const row = await Promise.all([0, 1, 2].map((key) => values(view, 3, key)));
    const best = row.map((all) => all[0]).indexOf(Math.max(...row.map((all) => all[0]), (await values(view, 3, 3))[0]));
    assert.match((await labels(view))[0], new RegExp(`${pieces[best < 0 ? 3 : best]}$`));
    await view.click('#pair-swap');
    await ready(view);
    await shown(view);
    assert.equal(await textIn(view, 'pair-said'), 'Who looks at "tired" (3) most, in every head.');
    // Of a causal model only "it" comes after "tired".
    const [first] = await values(view, 4, 3);
    assert.equal((await labels(view))[0], `Layer 0, head 0: ${first.toPrecision(4)} it`);
    await view.click('#pair-clear');
    await ready(view);
    assert.match(await textIn(view, 'pair-said'), /^Choose a word in the text/);
  }, { hash: 'left=pair' });
});

test('heads whose mask hides the pair, or that read other tokens, have no weight', async () => {
  await withPage(page, async (view) => {
    await shown(view);
    assert.deepEqual(new Set((await labels(view)).map((label) => label.split(': ')[1])), new Set(['–']));
  }, { hash: 'left=pair&query=1&key=3' });
  const cross = (name, stack, queries, keys, tokens) => ({ name, title: stack, stack, samples: [{
    queries, keys, query_tokens: tokens[0], key_tokens: tokens[1], same_positions: false, maps: [{ tensor: 'weights', heads: [softWeights(queries, keys, 3)] }] }] });
  await withPage(makePage('pair_cross', { tokens: [tokensOf(['le', 'chat']), tokensOf(['the', 'cat', 'sat'])], layered: true,
    attentions: [cross('decoder.layers.0.self', 'Decoder', 2, 2, [0, 0]), cross('decoder.layers.0.cross', 'Cross', 2, 3, [0, 1])] }), async (view) => {
    await view.click('#text-line .line-of-tokens >> nth=0 >> bdi >> nth=1');
    await view.click('#text-line .line-of-tokens >> nth=1 >> bdi >> nth=2');
    await ready(view);
    await shown(view);
    assert.equal(await textIn(view, 'pair-said'), 'The weight that "chat" (1) gives to "sat" (2), in every head.');
    const [own, other] = await labels(view);
    assert.match(own, /: –$/);
    assert.equal(other, `Layer 0, head 0: ${(await view.evaluate(() => chosenMap().values[5])).toPrecision(4)}`);
  }, { hash: 'left=pair&layer=decoder.layers.0.cross' });
});
