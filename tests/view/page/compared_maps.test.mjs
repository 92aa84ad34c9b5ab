// Two heads, layers or texts side by side, and their difference.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pointAtCell, ready, saved, textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

const pieces = ['one', 'two', 'three', 'four'];
const page = makePage('compared', model(2, 2, pieces));

test('two heads are side by side with their difference', async () => {
  await withPage(page, async (view) => {
    assert.deepEqual(await view.locator('#other option').allInnerTexts(), ['Compare with…', 'Head 1', 'Head 0', 'Another page…']);
    await view.selectOption('#other', '0:1:0');
    await ready(view);
    assert.equal(await view.evaluate(() => panelsOf(chosenMap()).length), 3);
    const { own, other, difference } = await view.evaluate(() => ({ own: chosenMap().values[8], other: page.other.values[8], difference: differenceOf(chosenMap(), page.other).values[8] }));
    assert.equal(difference, own - other);
    assert.match(await textIn(view, 'status'), /The third map is the first minus the second, from −0\.\d+ to 0\.\d+: red is where the first is larger/);
    await pointAtCell(view, 2, 0);
    assert.match(await textIn(view, 'cell-readout'), new RegExp(`Head 1: ${other.toPrecision(4)}; difference`));
    await view.click('#export-button');
    const svg = (await saved(view, '#export-svg')).bytes.toString();
    assert.match(svg, /<text[^>]*>Head 1</);
    await view.click('#tab-lines');
    await ready(view);
    assert.equal(await view.locator('#other-field').isVisible(), false);
  });
});

test('the pointer tells cells of each of the maps', async () => {
  await withPage(page, async (view) => {
    const place = await view.evaluate(() => {
      const { left, top, cellWidth, cellHeight } = mapView.layout;
      const box = document.getElementById('map').getBoundingClientRect();
      return [box.left + panelSize().width + left + 1.5 * cellWidth, box.top + top + 2.5 * cellHeight];
    });
    await view.mouse.move(...place);
    assert.match(await textIn(view, 'cell-readout'), /Query "three" \(2\)\s+Key "two" \(1\)/);
  }, { hash: 'other=1%3A0%3A0' });
});

test('texts of unequal lengths are compared without a difference', async () => {
  const two = model(1, 1, pieces);
  const short = model(1, 1, ['five', 'six']);
  two.attentions[0].samples.push({ ...short.attentions[0].samples[0], query_tokens: 1, key_tokens: 1 });
  two.tokens.push(tokensOf(['five', 'six']));
  two.samples = [{ title: 'one two' }, { title: 'five six' }];
  await withPage(makePage('unequal', two), async (view) => {
    assert.equal(await view.evaluate(() => panelsOf(chosenMap()).length), 2);
    assert.equal(await view.evaluate(() => labelsOf(page.other).key(1)), 'six');
    assert.match(await textIn(view, 'status'), /differ in size, so that there is no difference/);
  }, { hash: 'other=0%3A0%3A1' });
});

test('an address with a head that is not there compares nothing', async () => {
  for (const other of ['9:9:9', 'x', '0:7:0']) {
    await withPage(page, async (view) => {
      assert.equal(await view.evaluate(() => page.other), null);
    }, { hash: `other=${encodeURIComponent(other)}` });
  }
});
