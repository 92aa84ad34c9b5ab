import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import vm from 'node:vm';

import { scripts, sources } from './made_page.mjs';

const read = (name) => readFileSync(join(sources, name), 'utf8');
const texts = vm.runInNewContext(`${read('texts.js')}; TEXTS`);

test('every text of the page has its Chinese with the same values in it', () => {
  for (const [name, both] of Object.entries(texts)) {
    assert.equal(both.length, 2, name);
    const values = both.map((text) => (text.match(/\{\w+\}/g) ?? []).sort().join());
    assert.equal(values[0], values[1], name);
    assert.ok(both.every((text) => text.trim() !== ''), name);
  }
});

test('no text of the page is unused, and every element names a text that there is', () => {
  const others = [...scripts.filter((name) => name !== 'texts.js'), 'page.html'].map(read).join('\n');
  const unused = Object.keys(texts).filter((name) => !others.includes(`'${name}'`) && !others.includes(`"${name}"`));
  assert.deepEqual(unused, []);
  const named = [...read('page.html').matchAll(/data-(?:text|label|placeholder)="(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(named.filter((name) => !(name in texts)), []);
});

test('what the scripts say in letters of other scripts stands in the table of texts', () => {
  for (const name of scripts.filter((script) => script !== 'texts.js')) {
    const code = read(name).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    assert.deepEqual(code.match(/[\u4e00-\u9fff]+/g) ?? [], [], name);
  }
});
