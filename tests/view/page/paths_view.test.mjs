// Paths between heads: what each changes if it carries what it carries in another text.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model } from './made_page.mjs';

const pieces = ['the', 'cat', 'sat'];
const own = { ...model(2, 2, pieces, { statistics: true }), layered: true };
const name = (layer) => `layers.${layer}.self`;
const paths = {
  token: ' mat', other: ' hat', own: 1.5, source: -0.25,
  paths: [
    [name(0), 0, null, null, null, 0.5], [name(0), 1, null, null, null, -0.125], [name(1), 0, null, null, null, -1], [name(1), 1, null, null, null, 0],
    [name(0), 1, name(1), 0, 'key', -0.75], [name(0), 0, name(1), 1, 'value', 0.25], [name(0), 0, 'layers.7.self', 1, 'query', 3],
  ],
};
const page = makePage('paths', { ...own, paths });

test('heads have the colour of their way to the logits, and the strongest paths are listed', async () => {
  await withPage(page, async (view) => {
    await view.click('#heads-shown-as [data-value=paths]');
    await ready(view);
    assert.match(await textIn(view, 'path-said'), /^Logit of " mat" minus that of " hat": 1\.500; in the other text −0\.2500\./);
    const labels = await view.locator('[role=gridcell]').evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-label')));
    assert.deepEqual(labels, ['Layer 0, head 0: 0.5000', 'Layer 0, head 1: −0.1250', 'Layer 1, head 0: −1.000', 'Layer 1, head 1: 0']);
    // A path to a head that the page leaves out is not there.
    const rows = (await view.locator('#path-list li').allInnerTexts()).map((row) => row.replace(/\s+/g, ' ').trim());
    assert.deepEqual(rows, ['1.0 → logits −1.000', '0.1 → key head 1.0 −0.7500', '0.0 → logits 0.5000', '0.0 → value head 1.1 0.2500', '0.1 → logits −0.1250', '1.1 → logits 0']);
    assert.match(await view.evaluate(() => location.hash), /left=paths/);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('the ends of a path lead to their heads, by the keyboard too', async () => {
  await withPage(page, async (view) => {
    await view.click('#path-list li:nth-child(2) button >> nth=0');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head]), [0, 1]);
    assert.deepEqual(await view.locator('#path-list li.chosen').count(), 2);
    await view.focus('#path-list li:nth-child(4) button >> nth=1');
    await view.keyboard.press('Enter');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head]), [1, 1]);
    assert.equal(await view.evaluate(() => document.activeElement.textContent), 'value head 1.1');
  }, { hash: 'left=paths' });
});

test('key and value heads that several heads share keep their own numbers', async () => {
  const grouped = { ...model(2, 4, pieces, { statistics: true }), layered: true };
  for (const attention of grouped.attentions) attention.heads_a_group = 2;
  const ends = [[name(0), 1, name(1), 1, 'key', -0.75], [name(0), 0, name(1), 1, 'query', 0.5], [name(0), 0, name(1), 0, 'value', 0.25]];
  await withPage(makePage('grouped_paths', { ...grouped, paths: { ...paths, paths: ends } }), async (view) => {
    const rows = (await view.locator('#path-list li').allInnerTexts()).map((row) => row.replace(/\s+/g, ' ').trim());
    assert.deepEqual(rows, ['0.1 → key head 1.1 −0.7500', '0.0 → query head 1.1 0.5000', '0.0 → value head 1.0 0.2500']);
    await view.click('#path-list li:nth-child(1) button >> nth=1');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head]), [1, 2]);
    assert.deepEqual(await view.evaluate(() => [...document.querySelectorAll('#path-list li')].map((item) => item.classList.contains('chosen'))), [true, false, false]);
  }, { hash: 'left=paths' });
});

test('lines join the heads of a path, and a page without paths offers none', async () => {
  await withPage(page, async (view) => {
    const middle = () => view.evaluate(() => {
      const canvas = document.querySelector('.stack canvas');
      const { size, across } = drawn.stacks[0].grid;
      // Between heads 0.1 and 1.0 the line crosses the gap that is between the four places.
      const at = [size * (across / 2) - 1, size - 1].map((part) => Math.round(part * devicePixelRatio));
      return [...canvas.getContext('2d').getImageData(...at, 1, 1).data];
    });
    const line = await middle();
    assert.ok(line[3] > 0, String(line));
    await view.evaluate(() => change({ left: 'maps' }));
    await ready(view);
    assert.equal((await middle())[3], 0);
  }, { hash: 'left=paths' });
  await withPage(makePage('no_paths', own), async (view) => {
    assert.equal(await view.locator('#heads-shown-as [data-value=paths]').isVisible(), false);
    assert.equal(await view.evaluate(() => page.choice.left), 'maps');
  }, { hash: 'left=paths' });
});
