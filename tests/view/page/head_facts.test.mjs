// The sentence about a head says what its own map shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

const pieces = ['<s>', 'a', 'b', 'c', 'a', 'b', 'c', '.'];
const n = pieces.length;

/** A causal map whose row gives `share` to the key of the pattern and the rest to the others, evenly. */
function causal(keyOf, share) {
  return Array.from({ length: n }, (_, query) => {
    const key = keyOf(query);
    return Array.from({ length: n }, (__, at) => {
      if (at > query) return null;
      if (key === null || key > query) return 1 / (query + 1);
      return query === 0 ? 1 : at === key ? share : (1 - share) / query;
    });
  }).flat();
}

const page = (name, heads, options = {}) => {
  const made = model(1, 1, pieces, { statistics: true, special: [0] });
  made.attentions[0].samples[0].maps[0].heads = heads;
  made.attentions[0].heads = heads.length;
  made.attentions[0].statistics = heads.map(() => [0, 0]);
  return makePage(name, { ...made, layered: true, ...options });
};
const sentence = async (address, head) => {
  let said = '';
  await withPage(address, async (view) => { said = await textIn(view, 'head-sentence'); }, { hash: `head=${head}` });
  return said;
};

test('a pattern is told with its share and with what even weights would give', async () => {
  const address = page('told', [causal((query) => query - 1, 0.75), causal((query) => (query === 0 ? null : query), 0.6), causal((query) => (query > 3 && query < 7 ? query - 2 : null), 0.9)]);
  // Queries 1 to 7 see 2 to 8 keys: the mean of 1/2 … 1/8 is 0.245.
  assert.equal(await sentence(address, 0), 'Head 0.0 looks at the previous token: 0.75 of its weight, where even weights would give 0.25.');
  assert.equal(await sentence(address, 1), 'Head 0.0 looks at the token itself: 0.60 of its weight, where even weights would give 0.25.'.replace('0.0', '0.1'));
  // Tokens 4, 5 and 6 have earlier copies at 1, 2 and 3: even weights would give 1/5, 1/6 and 1/7.
  assert.equal(await sentence(address, 2), 'Head 0.2 looks at what came after an earlier copy of the token: 0.90 of its weight in the 3 of 7 queries that have one, where even weights would give 0.17.');
});

test('a head is not told a pattern that has less than half of its weight, or little more than even weights', async () => {
  const address = page('untold', [causal((query) => query - 1, 0.45), causal(() => null, 0), causal((query) => [0, 0, 1, 0, 3, 2, 1, 5][query], 0.9)]);
  assert.match(await sentence(address, 0), /^Head 0\.0 has no plain pattern: a query gives its strongest key 0\.4\d on average \(uniform: 0\.25\); mostly "/);
  assert.equal(await sentence(address, 1), 'Head 0.1 spreads its weight: a query gives its strongest key 0.25 on average (uniform: 0.25).');
  assert.match(await sentence(address, 2), /^Head 0\.2 concentrates: a query gives its strongest key 0\.90 on average .*; mostly "<s>" \(0\), "a" \(1\)\.$/);
});

test('the weight that many keys would have evenly is not said to be nothing', async () => {
  const count = 250;
  const even = Array.from({ length: count * count }, () => 1 / count);
  const made = model(1, 1, Array.from({ length: count }, (_, at) => `t${at}`), { statistics: true });
  made.attentions[0].samples[0].maps[0].heads = [even];
  assert.equal(await sentence(makePage('many_keys', { ...made, layered: true }), 0),
    'Head 0.0 spreads its weight: a query gives its strongest key 0.004 on average (uniform: 0.004).');
});

test('the sentence names the stack where there are several', async () => {
  const made = model(2, 1, pieces, { statistics: true });
  Object.assign(made.attentions[1], { stack: 'Cross-Attention' });
  await withPage(makePage('of_stack', { ...made, layered: true }), async (view) => {
    assert.match(await textIn(view, 'head-sentence'), /^Head 1\.0 \(Cross-Attention\) /);
  }, { hash: 'layer=layers.1.self' });
});

test('of a picture it tells the patch that the token before the patches looks at', async () => {
  const patches = ['[CLS]', '0,0', '0,1'];
  const made = model(1, 1, patches, { causal: false, statistics: true });
  const { maps } = made.attentions[0].samples[0];
  maps[0].heads = [[0.1, 0.1, 0.8, 1, 0, 0, 1, 0, 0]];
  made.attentions[0].samples[0].picture = 0;
  made.tokens = [tokensOf(patches, [0])];
  const pictures = [{ width: 2, height: 1, rows: 1, columns: 2, patch: 1, bytes: new Uint8Array(6) }];
  await withPage(makePage('of_picture', { ...made, pictures }), async (view) => {
    assert.equal(await textIn(view, 'head-sentence'), 'Head 0: [CLS] looks most at patch 0,1: 0.80, where even weights would give 0.33.');
  });
});
