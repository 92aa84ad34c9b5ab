import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights, tokensOf } from './made_page.mjs';

const pieces = ['The', 'fox', 'jumps', 'over', 'it'];
const text = makePage('views', model(1, 9, pieces));
const inked = (view) => view.locator('#lines-canvas').evaluate((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(canvas.width * 0.4, 40, canvas.width * 0.2, canvas.height - 40);
  return data.reduce((sum, part, at) => sum + (at % 4 === 3 && part > 0 ? 1 : 0), 0);
});

test('lines join queries and keys, for the heads that are chosen', async () => {
  await withPage(text, async (view) => {
    const one = await inked(view);
    assert.ok(one > 100, String(one));
    assert.equal(await view.locator('.chip[aria-pressed=true]').count(), 1);
    await view.click('.chip[aria-label="Head 2"]');
    await ready(view);
    assert.equal(await view.evaluate(() => linesView.all), 30);
    await view.click('text=All heads');
    await ready(view);
    assert.equal(await view.evaluate(() => linesView.all), 135);
    assert.match(await view.evaluate(() => location.hash), /heads=0%2C1%2C2/);
    await view.click('text=This head only');
    await ready(view);
    assert.equal(await view.locator('.chip[aria-pressed=true]').count(), 1);
  }, { hash: 'view=lines' });
});

test('heads have the colours and strokes of pictures, in the order in which they are drawn', async () => {
  await withPage(text, async (view) => {
    const [first, second, seventh] = await view.evaluate(() => [1, 3, 8].map(headColour));
    assert.deepEqual([first.colour, second.colour], ['#0072b2', '#e69f00']);
    assert.equal(first.dash.length, 0);
    assert.equal(seventh.colour, first.colour);
    assert.deepEqual(seventh.dash, [6, 3]);
  }, { hash: 'view=lines&head=1&heads=1,3,4,5,6,7,8' });
});

test('a query at the pointer has its lines alone, also by keys', async () => {
  await withPage(text, async (view) => {
    const all = await inked(view);
    const box = await view.locator('#lines').boundingBox();
    await view.mouse.move(box.x + box.width * 0.25, box.y + 34 + await view.evaluate(() => 1.5 * linesView.rowHeight));
    assert.match(await textIn(view, 'cell-readout'), /Query "fox" \(1\)/);
    assert.ok(await inked(view) < all);
    await view.mouse.move(box.x + box.width * 0.8, box.y + 34 + await view.evaluate(() => 0.5 * linesView.rowHeight));
    assert.equal(await view.evaluate(() => chosenLines(activeOfLines().row, activeOfLines().column).length), 5);
    await view.mouse.move(5, 5);
    await view.focus('#lines');
    await view.keyboard.press('ArrowDown');
    await view.keyboard.press('ArrowDown');
    await view.keyboard.press('Enter');
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Query "fox" \(1\) pinned/);
  }, { hash: 'view=lines' });
});

test('the text is shaded by the weights of the query that is chosen in it', async () => {
  await withPage(text, async (view) => {
    assert.match(await textIn(view, 'strip-caption'), /Mean over the queries that see each key/);
    await view.click('.piece >> nth=1');
    await ready(view);
    assert.equal(await textIn(view, 'strip-caption'), 'Looked at by query "fox" (1)');
    const weight = await view.evaluate(() => chosenMap().values[5]);
    const grey = 255 - Math.min(255, Math.floor(weight * 256));
    assert.equal(await view.locator('.piece').first().evaluate((piece) => piece.style.backgroundColor), `rgb(${grey}, ${grey}, ${grey})`);
    assert.equal(await view.locator('.piece.hidden-key').count(), 3);
    await view.hover('.piece >> nth=0');
    assert.match(await textIn(view, 'cell-readout'), /Query "fox" \(1\) pinned ×\s+Key "The" \(0\)/);
    await view.click('#direction [data-value=receives]');
    await view.click('.piece >> nth=0');
    await ready(view);
    assert.equal(await textIn(view, 'strip-caption'), 'Looking at key "The" (0)');
    assert.equal(await view.locator('.piece.hidden-key').count(), 0);
  }, { hash: 'view=text' });
});

test('the mean that a key gets is over the queries that see it and are no padding', async () => {
  const causal = [1, null, null, 0.5, 0.5, null, 0.25, 0.75, null];
  const padded = { ...model(1, 1, ['a', 'b', '[PAD]']) };
  padded.attentions[0].samples[0].maps[0].heads = [causal];
  await withPage(makePage('mean', padded), async (view) => {
    const { values, hidden } = await view.evaluate(() => {
      const made = stripWeights(chosenMap());
      return { values: [...made.values], hidden: [...made.hidden] };
    });
    assert.deepEqual(values, [0.75, 0.5, 0]);
    assert.deepEqual(hidden, [0, 0, 1]);
  }, { hash: 'view=text' });
});

test('arrow keys move over the tokens of the text and Enter chooses one', async () => {
  await withPage(text, async (view) => {
    await view.focus('.piece[tabindex="0"]');
    await view.keyboard.press('ArrowRight');
    await view.keyboard.press('ArrowRight');
    await view.keyboard.press('Enter');
    await ready(view);
    assert.match(await textIn(view, 'strip-caption'), /query "jumps" \(2\)/);
    assert.equal(await view.evaluate(() => document.activeElement.textContent), 'jumps');
    assert.equal(await view.locator('.piece[tabindex="0"]').count(), 1);
  }, { hash: 'view=text' });
});

test('queries and keys of cross-attention are two texts', async () => {
  const page = makePage('cross_text', {
    tokens: [tokensOf(['le', 'chat']), tokensOf(['the', 'cat', 'sat'])],
    attentions: [{ name: '', title: 'Cross-Attention', stack: 'Cross-Attention', samples: [{ queries: 2, keys: 3, key_tokens: 1, same_positions: false, maps: [{ tensor: 'weights', heads: [softWeights(2, 3, 1)] }] }] }],
  });
  await withPage(page, async (view) => {
    assert.deepEqual(await view.locator('.strip').evaluateAll((strips) => strips.map((strip) => strip.getAttribute('aria-label'))), ['Queries', 'Keys']);
    await view.click('.strip >> nth=1 >> .piece >> nth=0');
    assert.equal(await view.evaluate(() => page.choice.query), null);
    await view.click('.strip >> nth=0 >> .piece >> nth=1');
    await ready(view);
    assert.match(await textIn(view, 'strip-caption'), /query "chat" \(1\)/);
  }, { hash: 'view=text' });
});

test('the table tells a query\'s keys, or the whole map', async () => {
  await withPage(text, async (view) => {
    assert.match(await textIn(view, 'table'), /Keys of query "jumps" \(2\)/);
    const rows = await view.locator('#table tbody tr').allInnerTexts();
    assert.equal(rows.length, 5);
    assert.match(rows[4], /4\s+it\s+Hidden/);
    await view.fill('.query-field input', '4');
    await view.press('.query-field input', 'Enter');
    await ready(view);
    assert.match(await textIn(view, 'table'), /Keys of query "it" \(4\)/);
    await view.click('text=Whole map');
    await ready(view);
    assert.equal(await view.locator('#table tbody td').count(), 25);
  }, { hash: 'view=table&query=2' });
});
