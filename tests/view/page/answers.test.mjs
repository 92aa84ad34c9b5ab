// The tokens of an answer: what each drew on, and the head that copied it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights } from './made_page.mjs';

const pieces = ['red', 'cat', 'saw', 'red', 'cat'];
const answered = (sources) => {
  const made = model(2, 2, pieces);
  const copying = softWeights(5, 5, 4, true);
  // Query 3 predicts the second "cat" (4) from the first one (1).
  [0.02, 0.9, 0.03, 0.05].forEach((weight, key) => { copying[3 * 5 + key] = weight; });
  made.attentions[1].samples[0].maps[0].heads[1] = copying;
  return { ...made, layered: true, samples: [{ title: 'red cat saw', answer: { first: 3, probabilities: [0.25, 0.5], ...sources } }] };
};
const page = makePage('answered', answered({}));
const heads = [1, 2, 3].map((seed) => softWeights(5, 5, seed, true).slice(15, 19));

async function slideTo(view, position) {
  await view.locator('#answer-token').fill(String(position));
  await ready(view);
  await view.waitForFunction((wanted) => answerView.sources !== null && JSON.parse(answerView.wanted)[1] === wanted, position);
  await view.waitForFunction(() => /probability/.test(document.getElementById('answer-said').innerText));
}

test('a token of the answer names the head that looks at its copy, and tints the text by mean weights', async () => {
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'answer'), /Move the slider to a token of the answer/);
    await slideTo(view, 4);
    assert.match(await textIn(view, 'answer-said'), /"cat" \(4\), probability 0\.50\. The head that looks most at its earlier copies gives them 0\.9000 of its weight: 1\.1 ← "cat" \(1\)/);
    const shares = await view.evaluate(() => [...answerView.sources.shares.values()][0]);
    [0.02, 0.9, 0.03, 0.05].forEach((weight, key) => assert.ok(Math.abs(shares[key] - (weight + heads.reduce((sum, row) => sum + row[key], 0)) / 4) < 1e-6, String(key)));
    const grounds = await view.locator('#text-line bdi').evaluateAll((all) => all.map(({ style }) => style.backgroundColor));
    const largest = [0, 1, 2, 3].reduce((most, key) => (shares[key] > shares[most] ? key : most), 0);
    assert.equal(grounds[largest], 'rgb(0, 0, 0)', 'the largest share has the end of the colours');
    assert.equal(grounds[4], '', 'what comes later has no share');
    assert.match(await view.evaluate(() => location.hash), /answer=4/);
    assert.deepEqual(await problemsOf(view), []);
    await view.click('#answer-said button');
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head, page.choice.query, page.choice.key]), [1, 1, 3, 1]);
    await view.focus('#answer-token');
    await view.keyboard.press('ArrowLeft');
    await view.waitForFunction(() => page.choice.answer === 3);
    await view.keyboard.press('Home');
    await view.waitForFunction(() => page.choice.answer === null);
    await ready(view);
    assert.deepEqual(await view.locator('#text-line bdi').evaluateAll((all) => all.map(({ style }) => style.backgroundColor)), ['', '', '', '', '']);
  });
});

test('with parts of the logit the head that adds most from the copy is named, and colours stand about zero', async () => {
  const source = (copied) => ({
    tokens: [-1, 3, 0.5, 0, 0],
    heads: [{ attention: 'layers.0.self', head: 1, value: 2.5, key: 2, copied: 0 }, { attention: 'layers.1.self', head: 0, value: 1.25, key: 1, copied }],
  });
  const exact = makePage('exact_answer', answered({ sources: [source(0), source(1.2)] }));
  await withPage(exact, async (view) => {
    assert.match(await textIn(view, 'answer-said'), /The head that copies it adds 1\.200 to its logit: 1\.0 ← "cat" \(1\) Strongest heads: 0\.1 ← "saw" \(2\) 2\.500/);
    const grounds = await view.locator('#text-line bdi').evaluateAll((all) => all.map(({ style }) => style.backgroundColor));
    assert.deepEqual(grounds, ['rgb(85, 128, 170)', 'rgb(255, 128, 0)', 'rgb(149, 128, 106)', '', '']);
    await slideTo(view, 3);
    assert.match(await textIn(view, 'answer-said'), /"red" \(3\), probability 0\.25\. No head looks much at its earlier copies/);
  }, { hash: 'answer=4' });
});

test('what a head does is told of the chosen token of the answer, and heads are sorted by it', async () => {
  const made = answered({});
  const predictions = [{ position: 4, likeliest: [{ text: ' runs', probability: 0.75 }] }];
  made.samples[0].predictions = predictions;
  made.effects = 'zero';
  made.statistics = [{ name: 'effect', title: 'Effect in Nats', meaning: 'Divergence without the head.' }];
  made.attentions.forEach((attention, layer) => {
    attention.statistics = [[0.125], [0.25]];
    attention.samples[0].effects = {
      divergence: [0.125, 0.25], probabilities: [[0.5], [0.625]], likeliest: [' sits', ' runs'], logit: [-0.5, 0.25],
      answer: [0, 1].map((head) => [[0.1 * (2 * layer + head), 0.2, ' dog'], [0.5 - 0.1 * (2 * layer + head), 0.0625 * (2 * layer + head), ' red']]),
    };
  });
  await withPage(makePage('answer_effects', made), async (view) => {
    assert.match(await textIn(view, 'predictions'), /^After the whole text, answer included:\s+runs\s*0\.75 → 0\.50\s+Without head 0\.0 \(zero\): sits; divergence 0\.1250 nats\. The logit of runs changes by −0\.5000\.\s*$/s);
    await slideTo(view, 4);
    assert.match(await textIn(view, 'predictions'), /^Token "cat" \(4\) of the answer:\s+cat\s*0\.50 → 0\.00\s+Without head 0\.0 \(zero\): red; divergence 0\.5000 nats\.$/s);
    await view.hover('[role=gridcell][aria-label="Layer 1, head 1"]');
    assert.match(await textIn(view, 'predictions'), /cat\s*0\.50 → 0\.19.*divergence 0\.2000 nats\./s);
    await view.click('#heads-shown-as [data-value=list]');
    await view.click('#statistics-list th[aria-sort] button >> nth=1');
    await ready(view);
    const rows = () => view.locator('#statistics-list tbody tr').allInnerTexts();
    assert.deepEqual((await rows()).map((row) => row.replace(/\s+/g, ' ')), ['Layer 0, head 0 0.500', 'Layer 0, head 1 0.400', 'Layer 1, head 0 0.300', 'Layer 1, head 1 0.200']);
    await view.hover('#statistics-list tbody tr >> nth=2');
    assert.match(await textIn(view, 'predictions'), /Without head 1\.0 \(zero\)/);
    assert.equal(await view.locator('#statistics-list th button >> nth=1').getAttribute('title'), 'Divergence without the head. Here on token "cat" (4) of the answer.');
    await slideTo(view, 3);
    assert.deepEqual((await rows()).map((row) => row.replace(/\s+/g, ' ')), ['Layer 1, head 1 0.300', 'Layer 1, head 0 0.200', 'Layer 0, head 1 0.100', 'Layer 0, head 0 0.000']);
    assert.deepEqual(await problemsOf(view), []);
  });
});
