// A part of a score leads to the head that wrote it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, saved, textIn, withPage } from './browser.mjs';
import { makePage, model } from './made_page.mjs';

const made = model(3, 2, ['the', 'peace', 'of', 'world']);
made.attentions[2].samples[0].why = [{
  head: 1, query_parts: ['embedding', '0.1', '1.0'], key_parts: ['1.0', '0.feed_forward'], pairs: [[3, 1, 5.5, 1, 0, 3.25, 0, 1, -1.5]],
}];
const page = makePage('trail', { ...made, layered: true });

test('parts that are heads are links to what these heads looked at, and Back leads back', async () => {
  await withPage(page, async (view) => {
    await view.waitForSelector('#arithmetic table.why');
    assert.match(await textIn(view, 'arithmetic'), /0\.1 × 1\.0\s+3\.25\d*\s+embedding × 0\.feed_forward\s+−1\.5/s);
    assert.deepEqual(await view.locator('.part').allInnerTexts(), ['0.1', '1.0']);
    await view.click('.part >> text="1.0"');
    await ready(view);
    // The key's part was written at the key, "peace": head 1.0 looked at its strongest key from there.
    const { row, choice } = await view.evaluate(() => ({ row: [...chosenMap().values.slice(4, 6)], choice: { ...page.choice } }));
    assert.deepEqual([choice.attention, choice.head, choice.query, choice.key], [1, 0, 1, row[0] > row[1] ? 0 : 1]);
    const steps = (await view.locator('#trail li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    assert.deepEqual(steps, ['2.1 world → peace', `1.0 peace → ${['the', 'peace'][choice.key]}`]);
    assert.match(await view.evaluate(() => location.hash), /trail=2\.1\.3\.1/);
    assert.deepEqual(await problemsOf(view), []);
    await view.click('#export-button');
    const svg = (await saved(view, '#export-path'));
    assert.match(svg.name, /path\.svg$/);
    assert.match(svg.bytes.toString(), />2\.1<.*>world → peace<.*>1\.0</s);
    await view.focus('#map');
    await view.keyboard.press('Backspace');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head, page.choice.query, page.choice.key, page.choice.trail]), [2, 1, 3, 1, '']);
    assert.equal(await view.locator('#trail').isVisible(), false);
  }, { hash: 'layer=layers.2.self&head=1&query=3&key=1' });
});
