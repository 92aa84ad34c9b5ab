import assert from 'node:assert/strict';
import { test } from 'node:test';

import { problemsOf, ready, textIn, withPage } from './browser.mjs';
import { makePage, model } from './made_page.mjs';

const pieces = ['[CLS]', 'שלום', '注意力', 'word', '[SEP]'];
const page = makePage('everyone', { ...model(2, 3, pieces, { statistics: true, special: [0, 4] }), notes: ['One note.'] });

test('axe-core finds nothing in any view, light and wide or dark and narrow', async () => {
  const choices = [{ view: 'map', left: 'maps' }, { view: 'lines', left: 'statistic' }, { view: 'text', left: 'list', query: 2 }, { view: 'table', table: 'cells' }, { view: 'table', table: 'row' }];
  for (const [scheme, width, language, count] of [['light', 1366, 'en', 5], ['dark', 400, 'zh', 4]]) {
    await withPage(page, async (view) => {
      await view.click('#options-button');
      await view.click('#export-button');
      for (const choice of choices.slice(0, count)) {
        await view.evaluate((next) => change(next), choice);
        await ready(view);
        assert.deepEqual(await problemsOf(view), [], `${scheme} ${width} ${JSON.stringify(choice)}`);
      }
      await view.click('#help-button');
      assert.deepEqual(await problemsOf(view), [], `${scheme} ${width} help`);
    }, { scheme, width, hash: `language=${language}` });
  }
});

test('everything but what the program wrote can be read in Chinese', async () => {
  await withPage(page, async (view) => {
    await view.selectOption('#language', 'zh');
    await ready(view);
    assert.equal(await view.evaluate(() => document.documentElement.lang), 'zh-CN');
    assert.equal(await textIn(view, 'tab-map'), '热力图');
    assert.equal(await view.locator('[role=gridcell]').first().getAttribute('aria-label'), '第 0 层第 0 头');
    assert.equal(await view.locator('#search').getAttribute('placeholder'), '查找词元或序号');
    await view.keyboard.press('Escape');
    await view.focus('#map');
    await view.keyboard.press('?');
    assert.match(await textIn(view, 'help'), /如何阅读本页.*去掉某个头会怎样？\s+指向它.*查找词元/s);
  });
});

test('colours of the page follow the system and the switch', async () => {
  await withPage(page, async (view) => {
    const ground = () => view.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await view.selectOption('#theme', 'light');
    await ready(view);
    assert.notEqual(await ground(), dark);
    await view.selectOption('#theme', 'dark');
    await ready(view);
    assert.equal(await ground(), dark);
    await view.selectOption('#theme', 'system');
    await view.emulateMedia({ colorScheme: 'light' });
    await view.waitForFunction(() => document.documentElement.dataset.theme === 'light');
  }, { scheme: 'dark' });
});

test('letters that are read from right to left do not turn what stands around them', async () => {
  await withPage(page, async (view) => {
    await view.evaluate(() => change({ view: 'text', query: 1 }));
    await ready(view);
    const places = await view.locator('.piece').evaluateAll((all) => all.map((piece) => piece.getBoundingClientRect().left));
    assert.deepEqual(places, [...places].sort((a, b) => a - b));
    assert.equal(await view.locator('#strip-caption bdi').innerText(), '"שלום" (1)');
    assert.equal(await view.locator('.piece').nth(1).evaluate((piece) => getComputedStyle(piece).unicodeBidi), 'isolate');
  });
});

test('a text from right to left is laid out from the right, and arrow keys follow the eye', async () => {
  await withPage(makePage('rtl', model(1, 1, ['שלום', 'עולם', 'טוב'])), async (view) => {
    const places = await view.locator('.piece').evaluateAll((all) => all.map((piece) => piece.getBoundingClientRect().left));
    assert.deepEqual(places, [...places].sort((a, b) => b - a));
    await view.focus('.piece[tabindex="0"]');
    await view.keyboard.press('ArrowLeft');
    assert.equal(await view.evaluate(() => document.activeElement.textContent), 'עולם');
  }, { hash: 'view=text' });
});

test('a narrow window needs no scrolling sideways', async () => {
  for (const name of ['map', 'lines', 'text', 'table']) {
    await withPage(page, async (view) => {
      assert.ok(await view.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), name);
    }, { width: 400, height: 800, hash: `view=${name}` });
  }
});

test('printing draws the view as wide as the page, on light ground, without controls', async () => {
  for (const name of ['map', 'lines', 'text']) {
    await withPage(page, async (view) => {
      await view.emulateMedia({ media: 'print' });
      await view.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
      assert.equal(await view.locator('#tabs').isVisible(), false);
      const { width, height, page: whole, words } = await view.evaluate(() => {
        const drawing = document.querySelector('#printed svg');
        return { ...drawing.getBoundingClientRect().toJSON(), page: document.body.clientWidth, words: drawing.textContent };
      });
      assert.ok(width > 0.95 * whole && height > 100, `${name} ${width} ${height}`);
      assert.match(words, /Layer 0, Self-Attention, Head 0/);
      assert.ok(words.split('[SEP]').length > 2, 'all tokens are there');
      assert.equal(await view.evaluate(() => document.documentElement.dataset.theme), 'light');
    }, { scheme: 'dark', hash: `view=${name}`, width: 800 });
  }
});

test('printing keeps the table where that is the view', async () => {
  await withPage(page, async (view) => {
    await view.emulateMedia({ media: 'print' });
    await view.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal(await view.locator('#table table').isVisible(), true);
    assert.equal(await view.locator('#printed').isVisible(), false);
  }, { hash: 'view=table' });
});

test('the tab key reaches the parts of the page in their order, each once', async () => {
  await withPage(page, async (view) => {
    await view.evaluate(() => document.body.focus());
    const reached = [];
    for (let step = 0; step < 28; ++step) {
      await view.keyboard.press('Tab');
      reached.push(await view.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.getAttribute('role') || document.activeElement.dataset.value));
    }
    const order = ['skip', 'language', 'theme', 'help-button', 'enlarge', 'gridcell', 'layer', 'head', 'tab-map', 'search', 'zoom-in', 'options-button', 'export-button', 'map'];
    assert.deepEqual(reached.filter((name) => order.includes(name)), order);
  });
});
