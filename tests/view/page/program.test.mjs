// Pages that the program itself makes; its path is in ATTN_CLI.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { pointAtCell, problemsOf, ready, textIn, withPage } from './browser.mjs';
import { folder } from './made_page.mjs';

const program = process.env.ATTN_CLI;
const skip = program ? false : 'ATTN_CLI is not set';
const run = (...words) => execFileSync(program, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function viewOf(name, document, ...flags) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(document));
  run('view', `${name}.json`, ...flags, '--out', `${name}.html`, '--quiet');
  return pathToFileURL(join(folder, `${name}.html`)).href;
}

const length = 6;
const states = Array.from({ length }, (_, at) => Array.from({ length: 4 }, (__, part) => Math.sin(3 * at + part)));
const document = {
  attention: 'scaled_dot_product', query: [states], heads: 2, mask: { causal: true }, labels: { query: ['a', 'b', '</script>', 'd', 'e', 'f'], key: ['a', 'b', '</script>', 'd', 'e', 'f'] },
};

test('the program\'s page tells the weights that the program computes', { skip }, async () => {
  const page = viewOf('real', document, '--stages');
  run('run', 'real.json', '--out', 'real', '--plots', 'none', '--quiet');
  const weights = JSON.parse(readFileSync(join(folder, 'real', 'result.json'), 'utf8')).tensors.weights;
  await withPage(page, async (view) => {
    for (const [head, query, key] of [[0, 5, 2], [1, 3, 0]]) {
      await view.selectOption('#head', String(head));
      await ready(view);
      await pointAtCell(view, query, key);
      const read = Number((await view.locator('#cell-readout .weight').innerText()).replace('−', '-'));
      assert.ok(Math.abs(read - weights.flat(weights[0][0][0][0] === undefined ? 0 : 1)[head][query][key]) < 1e-4, `${head} ${query} ${key}`);
    }
    await pointAtCell(view, 0, 2);
    assert.match(await textIn(view, 'cell-readout'), /Key "<\/script>" \(2\)\s+Hidden\s+\S+/);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('the command that the page tells draws its picture', { skip }, async () => {
  const page = viewOf('command', document, '--stages');
  await withPage(page, async (view) => {
    await view.click('#export-button');
    for (const choice of [{}, { scale: 'log' }, { own: true }, { tensor: 'scores' }, { leave: 'first', renormalise: true }, { view: 'lines', heads: [0, 1] }, { view: 'text', query: 3 }]) {
      await view.evaluate((next) => change({ ...firstChoice(), head: 1, heads: [1], ...next }), choice);
      await ready(view);
      for (const line of (await view.locator('#command').inputValue()).split('\n')) {
        execFileSync('sh', ['-c', `${line.replace(/^attn-cli/, '"$ATTN_CLI"')} --quiet`], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      }
      assert.equal(readFileSync(join(folder, 'layer0_head1.png')).subarray(1, 4).toString(), 'PNG', JSON.stringify(choice));
    }
  });
});

// The largest difference of a head's weights and the softmax of the scores that its vectors give.
const largestDifference = (view, head) => view.evaluate(async (at) => {
  const place = chosenPlace();
  const [vectors, map] = await Promise.all([readVectors(place.vectors, at), readMap(place, place.maps[0], at)]);
  let largest = 0;
  for (let query = 0; query < place.queries; ++query) {
    const scores = Array.from({ length: place.keys }, (_, key) => {
      const made = arithmeticOf(place.vectors, vectors, query, key, 0, null);
      return map.hidden?.[query * place.keys + key] ? -Infinity : made.capped ?? made.scaled;
    });
    const most = Math.max(...scores);
    const sum = scores.reduce((total, score) => total + Math.exp(score - most), 0);
    scores.forEach((score, key) => { largest = Math.max(largest, Math.abs(Math.exp(score - most) / sum - map.values[query * place.keys + key])); });
  }
  return largest;
}, head);

test('the products of a page\'s queries and keys give its weights, of documents and of models', { skip }, async () => {
  const layers = { attention: 'encoder_layer', heads: 2, seed: 1, x: { randn: [2, 5, 8] }, feed_forward: 8, layers: 2, parameters: { init: 'torch' } };
  const rotated = { ...document, query: { randn: [1, 6, 8] }, seed: 1, rotary: {} };
  const pages = [viewOf('vectors', document), viewOf('rotated', rotated), viewOf('layers', layers)];
  const speeches = join(dirname(fileURLToPath(import.meta.url)), '../../../data/speeches');
  run('view', '--model', speeches, '--text', 'The people of the United States, and the people of the world.', '--out', 'speeches.html', '--quiet');
  pages.push(pathToFileURL(join(folder, 'speeches.html')).href);
  for (const page of pages) {
    await withPage(page, async (view) => {
      for (const head of [0, 1]) assert.ok(await largestDifference(view, head) < 2e-3, `${page} ${head} ${await largestDifference(view, head)}`);
    });
  }
});

test('what heads\' values add to a predicted logit by the lens is what the answer\'s sources add up to', { skip }, async () => {
  const speeches = join(dirname(fileURLToPath(import.meta.url)), '../../../data/speeches');
  const text = 'The peace of the world. The peace of the';
  run('view', '--model', speeches, '--text', text, '--why', 'answer', '--out', 'lens.html', '--quiet');
  run('view', '--model', speeches, '--text', text, '--generate', '1', '--why', 'answer', '--out', 'answered.html', '--quiet');
  let added = 0;
  await withPage(pathToFileURL(join(folder, 'lens.html')).href, async (view) => {
    added = await view.evaluate(async () => {
      let sum = 0;
      const { position } = page.view.samples[0].lens;
      for (const attention of page.view.attentions) {
        const place = attention.samples[0];
        for (let head = 0; head < attention.heads; ++head) {
          const [vectors, map] = await Promise.all([readVectors(place.vectors, head), readMap(place, place.maps[0], head)]);
          const directions = decodeCells(place.lens[head], await readBlock(place.lens[head].cells), true).values;
          outputOf(vectors, Float64Array.from(map.values.subarray(position * place.keys, (position + 1) * place.keys))).forEach((part, at) => { sum += part * directions[at]; });
        }
      }
      return sum;
    });
  });
  await withPage(pathToFileURL(join(folder, 'answered.html')).href, async (view) => {
    const { tokens } = await view.evaluate(() => page.view.samples[0].answer.sources[0]);
    const sum = tokens.reduce((total, part) => total + part, 0);
    assert.ok(Math.abs(sum) > 0.1 && Math.abs(added - sum) < 5e-3 * tokens.reduce((total, part) => total + Math.abs(part), 1), `${added} ${sum}`);
    await view.locator('#answer-token').fill(String(await view.evaluate(() => page.view.samples[0].answer.first)));
    await view.waitForFunction(() => /probability/.test(document.getElementById('answer-said').innerText));
    assert.match(await textIn(view, 'answer-said'), /to its logit|no earlier copy|No head/);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('a page of a text of many positions, whose weights were pooled, can be looked through', { skip }, async () => {
  const states = { randn: [1, 1, 3000, 8] };
  const page = viewOf('pooled', { attention: 'scaled_dot_product', seed: 1, query: states, key: states, value: states, mask: { causal: true }, pool: { size: 100, reduction: 'mean' } });
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'status'), /100 × 100 cells stand for 3000 queries × 3000 keys: Mean of 30 × 30 Weights per Cell\./);
    await pointAtCell(view, 50, 10);
    assert.match(await textIn(view, 'cell-readout'), /Query 1500–1529\s+Key 300–329\s+\S+\s+Mean of 30 × 30/);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('a click on a cell of a head that is split lists the strongest parts of its score', { skip }, async () => {
  const speeches = join(dirname(fileURLToPath(import.meta.url)), '../../../data/speeches');
  run('view', '--model', speeches, '--text', 'The peace of the world. The peace of the', '--why', '2.0', '--out', 'why.html', '--quiet');
  await withPage(pathToFileURL(join(folder, 'why.html')).href, async (view) => {
    await view.evaluate(() => change({ ...firstChoice(), attention: 2, head: 0, heads: [0] }));
    await ready(view);
    await pointAtCell(view, 12, 7, true);
    await view.waitForSelector('#arithmetic table.why');
    assert.match(await textIn(view, 'arithmetic'), /Strongest parts of the score 5\.858: query × key\s+0\.2 × 1\.1\s+3\.12/s);
    assert.equal(await view.locator('#arithmetic table.why tr').count(), 5);
    assert.deepEqual(await problemsOf(view), []);
  });
});

test('a click on a cell shows how its weight comes about', { skip }, async () => {
  await withPage(viewOf('clicked', document), async (view) => {
    await pointAtCell(view, 4, 1, true);
    await view.waitForSelector('#arithmetic table');
    assert.match(await textIn(view, 'arithmetic'), /How the weight comes about: "e" \(4\) → "b" \(1\)\s+q \(±.*k \(±.*q ⊙ k \(±.*Σ q ⊙ k.*× scale 0\.7071.*Mask\s+seen.*softmax over the row.*× length of the value/s);
    assert.equal(await view.locator('#arithmetic canvas').count(), 7);
    assert.deepEqual(await problemsOf(view), []);
    await pointAtCell(view, 4, 5, true);
    await view.waitForFunction(() => /Mask\s+Hidden/.test(document.getElementById('arithmetic').innerText));
    await view.keyboard.press('Escape');
    await ready(view);
    assert.equal(await textIn(view, 'arithmetic'), '');
  });
});
