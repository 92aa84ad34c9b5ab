// The page tells what text it is about, and what its heads do.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pointAtCell, ready, textIn, withPage } from './browser.mjs';
import { makePage, model } from './made_page.mjs';

const telling = () => {
  const made = model(2, 2, ['play', '##ing', 'fox'], { statistics: true });
  return { ...made, layered: true, opening: { attention: 1, head: 0 },
    samples: [{ title: 'playing fox', predictions: [{ position: 2, likeliest: [{ text: ' runs', probability: 0.75 }, { text: '\n', probability: 0.125 }] }] }] };
};
const page = makePage('telling', telling());

test('the page begins with the head that was found telling, and its address has no word of it', async () => {
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'head-sentence'), /^Head 1\.0 /);
    assert.equal(await view.evaluate(() => location.hash), '');
    await view.click('[role=gridcell][aria-label="Layer 0, head 1"]');
    await ready(view);
    assert.match(await textIn(view, 'head-sentence'), /^Head 0\.1 /);
    assert.equal(await view.evaluate(() => location.hash), '#layer=layers.0.self&head=1');
  });
});

test('the text is above all views, and a click in it pins a query', async () => {
  for (const name of ['map', 'lines', 'text', 'table']) {
    await withPage(page, async (view) => {
      assert.equal(await textIn(view, 'text-line'), 'playing fox');
      await view.click('#text-line bdi >> nth=2');
      await ready(view);
      assert.equal(await view.evaluate(() => page.choice.query), 2);
      assert.equal(await view.locator('#text-line .pinned-token').innerText(), 'fox');
    }, { hash: `view=${name}` });
  }
});

test('what a model predicts is below its text', async () => {
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'predictions'), /^Next token:\s+runs\s*0\.75\s+\\n\s*0\.13/);
    assert.equal(await view.locator('.share').first().evaluate((share) => share.getBoundingClientRect().width), 45);
  });
});

test('what a classifier says stands there, of the text or of its tokens', async () => {
  const made = telling();
  made.samples[0] = { title: 'playing fox', classification: [{ classes: [{ label: 'animal', logit: 2, probability: 0.875 }, { label: 'plant', logit: 0, probability: 0.125 }] }] };
  await withPage(makePage('classes', made), async (view) => {
    assert.match(await textIn(view, 'predictions'), /^Class:\s+animal\s*0\.88\s+plant\s*0\.13/);
  });
  made.samples[0].classification = [{ position: 2, classes: [{ label: 'NOUN', logit: 2, probability: 0.875 }] }];
  await withPage(makePage('classes_of_tokens', made), async (view) => {
    assert.match(await textIn(view, 'predictions'), /^Classes of the tokens:\s+fox\s+NOUN\s*0\.88/);
  });
});

test('below that is what each layer would predict, in both languages, and nothing where it is not known', async () => {
  const made = telling();
  const by_layer = [{ layer: 0, text: ' a', probability: 0.1 }, { layer: 1, text: ' runs', probability: 0.75 }];
  made.samples[0].predictions[0].by_layer = by_layer;
  await withPage(makePage('by_layer', made), async (view) => {
    assert.match(await textIn(view, 'by-layer'), /^By layer:\s+0\s+a\s+1\s+runs$/);
    assert.equal(await view.locator('#by-layer .prediction').nth(1).getAttribute('title'), 'The states that leave layer 1 would predict it with 0.75.');
    await view.selectOption('#language', 'zh');
    await ready(view);
    assert.match(await textIn(view, 'by-layer'), /^逐层预测：\s+0\s+a\s+1\s+runs$/);
  });
  await withPage(page, async (view) => {
    assert.equal(await textIn(view, 'by-layer'), '');
  });
});

test('hints say what rows, columns and colours are until a cell is pointed at', async () => {
  await withPage(page, async (view) => {
    assert.equal(await view.locator('.hint').count(), 3);
    await pointAtCell(view, 1, 0);
    assert.equal(await view.locator('.hint').count(), 0);
    await view.mouse.move(5, 5);
    assert.equal(await view.locator('.hint').count(), 3);
  });
});

test('a head that is pointed at moves the bars of the prediction to what the model says without it', async () => {
  const made = telling();
  made.effects = 'zero';
  made.attentions.forEach((attention, layer) => {
    attention.samples[0].effects = { divergence: [layer, 0.5], probabilities: [[0.25, 0.5], [0.7, 0.1]], likeliest: [' sleeps', ' runs'], logit: [-2, 0.5 - layer], estimated: [-1.5, 0.5 - layer] };
  });
  await withPage(makePage('effects', made), async (view) => {
    assert.match(await textIn(view, 'predictions'), /runs\s*0\.75 → 0\.25\s+\\n\s*0\.13 → 0\.50.*Without head 1\.0 \(zero\): sleeps; divergence 1\.000 nats\. The logit of runs changes by −2\.000; the gradient estimates −1\.500\. Over all heads the gradient is off by 20 % of the true effect\. Worst: head 0\.0, estimated −1\.500, computed −2\.000\./s);
    await view.hover('[role=gridcell][aria-label="Layer 0, head 1"]');
    assert.match(await textIn(view, 'predictions'), /runs\s*0\.75 → 0\.70.*Without head 0\.1 \(zero\): runs; divergence 0\.5000 nats\./s);
    const widths = await view.locator('.prediction').first().locator('.share').evaluateAll((shares) => shares.map((share) => share.getBoundingClientRect().width));
    assert.deepEqual(widths.map(Math.round), [45, 42]);
  });
});
