// Lessons: a story of views, questions about the map, and the evidence of many texts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { problemsOf, ready, saved, textIn, withPage } from './browser.mjs';
import { folder, makePage, model } from './made_page.mjs';

const pieces = ['the', 'cat', 'sat', 'down'];
const told = makePage('story', { ...model(2, 2, pieces), story: [{ text: 'Look at head 1.', view: 'head=1&query=2&key=0' }, { text: 'Then at the text.', view: 'view=text' }] });

test('a story of the page is told step by step, by keys as well', async () => {
  await withPage(told, async (view) => {
    assert.equal(await view.locator('#story').isVisible(), false);
    await view.click('#story-button');
    await ready(view);
    assert.equal(await textIn(view, 'story-place'), '1 of 2');
    assert.equal(await view.locator('#story-text').inputValue(), 'Look at head 1.');
    assert.deepEqual(await view.evaluate(() => [page.choice.head, page.choice.query, page.choice.key]), [1, 2, 0]);
    await view.focus('#story-after');
    await view.keyboard.press('ArrowRight');
    await ready(view);
    assert.equal(await view.locator('#story-text').inputValue(), 'Then at the text.');
    assert.deepEqual(await view.evaluate(() => [page.choice.head, page.choice.view, page.choice.query]), [0, 'text', null]);
    await view.keyboard.press('ArrowLeft');
    await ready(view);
    assert.equal(await textIn(view, 'story-place'), '1 of 2');
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('a story is made of what is seen, saved, and read again', async () => {
  const page = makePage('made_story', model(2, 2, pieces));
  let file = '';
  await withPage(page, async (view) => {
    await view.click('#story-button');
    await view.click('[role=gridcell][aria-label="Layer 1, head 0"]');
    await ready(view);
    await view.click('#story-add');
    await view.fill('#story-text', 'First "one"');
    await view.selectOption('#scale', 'log');
    await view.click('#story-add');
    await view.fill('#story-text', 'Second');
    const { name, bytes } = await saved(view, '#story-save');
    assert.match(name, /story\.json$/);
    assert.deepEqual(JSON.parse(bytes.toString()), { steps: [{ text: 'First "one"', view: 'layer=layers.1.self' }, { text: 'Second', view: 'layer=layers.1.self&scale=log' }] });
    file = join(folder, 'story.json');
    writeFileSync(file, bytes);
  });
  await withPage(page, async (view) => {
    await view.click('#story-button');
    await view.setInputFiles('#story-file', file);
    await view.waitForFunction(() => story.steps.length === 2);
    await ready(view);
    assert.equal(await view.evaluate(() => page.choice.attention), 1);
    writeFileSync(file, '{"steps": 1}');
    await view.setInputFiles('#story-file', file);
    await view.waitForFunction(() => document.getElementById('story-place').textContent === 'This file is no story.');
  });
});

test('questions are of the map, and answers are pinned', async () => {
  await withPage(told, async (view) => {
    await view.click('#questions summary');
    const asked = await view.locator('#question p').innerText();
    const [, at] = /to, in this map|"\w+" \((\d)\)/.exec(asked.replace(/^.*?does /, '')) ?? [];
    const { query, right } = await view.evaluate(() => presentQuestion());
    assert.equal(String(query), at);
    const strongest = await view.evaluate((row) => {
      const values = [...chosenMap().values.slice(row * 4, row * 4 + row + 1)];
      return values.indexOf(Math.max(...values));
    }, query);
    assert.match(right, new RegExp(`\\(${strongest}\\)$`));
    await view.click(`.answers button:has-text(${JSON.stringify(right.replaceAll('"', ''))})`.replace(/:has-text\(.*\)$/, `:text-is(${JSON.stringify(right)})`));
    await ready(view);
    assert.match(await textIn(view, 'question'), /Right\. 1 of 1 answers were right\./);
    assert.deepEqual(await view.evaluate(() => [page.choice.query, page.choice.key]), [query, strongest]);
    // The third question is why a cell is hidden.
    await view.click('#question > button');
    await view.evaluate(() => { questions.turn = 2; questions.given = ''; writeQuestions(); });
    assert.match(await view.locator('#question p').innerText(), /^Why is the cell of .* hidden\?$/);
    await view.click('.answers button:text-is("Another head looks at it.")');
    await ready(view);
    assert.match(await textIn(view, 'question'), /No: causal: keys after the query\. 1 of 2 answers were right\./);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('the evidence of many texts stands beside even weights, with the strongest texts', async () => {
  const made = model(1, 1, pieces, { statistics: true });
  made.attentions[0].samples[0].maps[0].heads = [[1, null, null, null, 0.9, 0.1, null, null, 0.05, 0.9, 0.05, null, 0.05, 0.05, 0.9, 0]];
  made.attentions[0].statistics = [[0.9, 1]];
  made.attentions[0].even = [0.361, 0.8];
  made.attentions[0].evidence = [{ mean: [0.8, 1.5], error: [0.0125, null], strongest: [[[1, 0.95], [0, 0.75]], []], by_distance: [null, 0.25, 0.5] }];
  const page = makePage('evidence', { ...made, evidence: { count: 120, reach: 1, texts: ['A first text.', 'A <b>second</b> one.'] } });
  await withPage(page, async (view) => {
    assert.equal(await textIn(view, 'head-sentence'),
      'Head 0 looks at the previous token: 0.90 of its weight, where even weights would give 0.36. Previous token, the mean weight on the key before the query: 0.900 on this page, 0.800 ± 0.013 (standard error) over 120 texts; even weights would give 0.361.');
    await view.click('#evidence summary');
    await view.waitForSelector('#evidence-result canvas');
    assert.match(await textIn(view, 'evidence-result'), /120 texts.*Previous token\s+0\.800 ± 0\.013\s+0\.361.*Strongest texts: Previous token\s+0\.95 A <b>second<\/b> one\.\s+0\.75 A first text\./s);
    assert.match(await view.locator('#evidence-result canvas').getAttribute('aria-label'), /by distance: 0: 0\.25, 1: 0\.5$/);
    assert.deepEqual(await problemsOf(view), []);
  });
});
