import assert from 'node:assert/strict';
import { test } from 'node:test';

import { colourOfCell, pointAtCell, ready, textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

const pieces = ['[CLS]', 'the', 'fox', 'jump', '##ed', '[SEP]'];
const cells = [
  [0.5, 0.25, 0.125, 0.125, 0, 0], [0.1, 0.2, 0.3, 0.4, 0, 0], [0.6, 0.1, 0.1, 0.1, 0.05, 0.05],
  [0.125, 0.5, 0.125, 0.25, 0, 0], [0.5, 0.125, 0.125, 0.125, 0.125, 0], [1, 0, 0, 0, 0, 0],
].flat();
const known = () => ({
  tokens: [tokensOf(pieces, [0, 5])],
  attentions: [{ name: 'layers.0.self', title: 'Layer 1, Self-Attention', stack: 'Self-Attention',
    samples: [{ queries: 6, keys: 6, maps: [{ tensor: 'weights', heads: [cells, cells.map((value) => value / 2)] }] }] }],
});
const page = makePage('map', known());
const causal = makePage('causal', model(2, 2, ['one', 'two', 'three', 'four'], { special: [] }));

test('the pointer tells query, key, weight and rank, and a click pins the query', async () => {
  await withPage(page, async (view) => {
    assert.match(await textIn(view, 'cell-readout'), /Point at a cell/);
    await pointAtCell(view, 3, 1);
    assert.match(await textIn(view, 'cell-readout'), /Query "jump" \(3\)\s+Key "the" \(1\)\s+0\.5000\s+Rank 1 of 6 keys/);
    await pointAtCell(view, 3, 1, true);
    await view.mouse.move(5, 5);
    assert.match(await textIn(view, 'cell-readout'), /Query "jump" \(3\) pinned/);
    assert.match(await textIn(view, 'strongest-keys'), /Strongest keys of query "jump" \(3\)\s+"the" \(1\)\s+0\.5000\s+"jump" \(3\)\s+0\.2500/);
    await view.keyboard.press('Escape');
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Point at a cell/);
  });
});

test('a hidden cell tells why it is hidden', async () => {
  await withPage(causal, async (view) => {
    await pointAtCell(view, 0, 3);
    assert.match(await textIn(view, 'cell-readout'), /Query "one" \(0\)\s+Key "four" \(3\)\s+Hidden\s+causal: keys after the query/);
    assert.deepEqual(await view.locator('#legend-keys li').allInnerTexts(), ['hidden']);
  });
});

test('colours mean the same in every head', async () => {
  await withPage(page, async (view) => {
    assert.deepEqual(await colourOfCell(view, 5, 0), [0, 0, 0]);
    assert.deepEqual(await colourOfCell(view, 0, 0), [127, 127, 127]);
    const ticks = await textIn(view, 'legend-ticks');
    await view.click('#head-after');
    await ready(view);
    assert.deepEqual(await colourOfCell(view, 5, 0), [127, 127, 127]);
    assert.equal(await textIn(view, 'legend-ticks'), ticks);
  });
});

test('the range of one map is a choice that is said', async () => {
  await withPage(page, async (view) => {
    await view.click('#head-after');
    await view.click('#options-button');
    await view.check('#own-range');
    await ready(view);
    assert.deepEqual(await colourOfCell(view, 5, 0), [0, 0, 0]);
    assert.match(await textIn(view, 'status'), /own range, so that maps cannot be compared by colour/);
    assert.match(await textIn(view, 'legend-ticks'), /0\.5$/);
  });
});

test('a logarithmic scale says what its lowest colour stands for', async () => {
  await withPage(page, async (view) => {
    await view.selectOption('#scale', 'log');
    await ready(view);
    const [grey] = await colourOfCell(view, 1, 0);
    assert.equal(grey, 255 - Math.floor(0.8 * 256));
    assert.match(await textIn(view, 'status'), /The lowest colour stands for 1e−5 and less/);
  });
});

test('arrow keys move over cells, Enter pins, and what is there is said aloud', async () => {
  await withPage(page, async (view) => {
    await view.focus('#map');
    await view.keyboard.press('ArrowDown');
    assert.match(await textIn(view, 'cell-readout'), /Query "\[CLS\]" \(0\)\s+Key "\[CLS\]" \(0\)/);
    await view.keyboard.press('ArrowDown');
    await view.keyboard.press('End');
    await view.keyboard.press('ArrowLeft');
    assert.match(await textIn(view, 'cell-readout'), /Query "the" \(1\)\s+Key "·ed" \(4\)/);
    assert.match(await view.locator('#announcement').textContent(), /Query "the" \(1\), Key "·ed" \(4\), 0, Rank 5 of 6 keys/);
    await view.keyboard.press('Enter');
    await ready(view);
    assert.match(await view.evaluate(() => location.hash), /query=1/);
    await view.keyboard.press('PageDown');
    assert.match(await textIn(view, 'cell-readout'), /Query "[^"]*" \(5\)/);
  });
});

test('Shift and arrow keys change layer and head, and numbers the view', async () => {
  await withPage(causal, async (view) => {
    await view.focus('#map');
    await view.keyboard.press('Shift+ArrowDown');
    await view.keyboard.press('Shift+ArrowRight');
    await ready(view);
    assert.equal(await view.evaluate(() => `${page.choice.attention} ${page.choice.head}`), '1 1');
    assert.equal(await view.locator('#announcement').textContent(), 'Layer 1, Self-Attention, Head 1');
    for (const [key, name] of [['2', 'lines'], ['3', 'text'], ['4', 'table'], ['1', 'map']]) {
      await view.keyboard.press(key);
      await ready(view);
      assert.equal(await view.locator('[role=tabpanel]:visible').getAttribute('id'), `view-${name}`);
    }
  });
});

test('zooming keeps the cell under the pointer, labels stay, and dragging moves', async () => {
  const long = makePage('zoom', model(1, 1, Array.from({ length: 60 }, (_, at) => `t${at}`), { causal: false }));
  await withPage(long, async (view) => {
    await pointAtCell(view, 40, 30);
    await view.mouse.wheel(0, -500);
    await view.waitForFunction(() => mapView.window.zoom > 2);
    await pointAtCell(view, 40, 30);
    const before = await view.evaluate(() => ({ ...mapView.layout }));
    assert.ok(before.row > 0 && before.row <= 40 && before.row + before.rows > 40, JSON.stringify(before));
    assert.match(await textIn(view, 'cell-readout'), /Query "t40" \(40\)\s+Key "t30" \(30\)/);
    await view.mouse.down();
    const { left, top } = await view.locator('#map').evaluate((box) => box.getBoundingClientRect().toJSON());
    await view.mouse.move(left + before.left + 60, top + before.top + 60, { steps: 4 });
    await view.mouse.up();
    const after = await view.evaluate(() => ({ ...mapView.layout }));
    assert.ok(after.row > before.row && after.column > before.column);
    assert.equal(await view.evaluate(() => page.choice.query), null);
    await view.click('#zoom-all');
    assert.equal(await view.evaluate(() => mapView.layout.rows), 60);
  });
});

test('a square map is drawn square, and positions without names have round numbers from 0', async () => {
  const plain = model(1, 1, Array.from({ length: 300 }, () => ''));
  plain.tokens = [tokensOf([])];
  await withPage(makePage('square', plain), async (view) => {
    const { width, height, ticks } = await view.evaluate(() => {
      const { cellWidth, cellHeight, rows } = mapView.layout;
      const axis = { first: 0, count: rows, size: cellHeight, room: 15 };
      return { width: cellWidth, height: cellHeight, ticks: ticksOfAxis(chosenMap().queries, undefined, (at) => String(at), axis).map(({ text }) => text) };
    });
    assert.equal(width, height);
    assert.deepEqual(ticks.slice(0, 3), ['0', '10', '20']);
    assert.equal(ticks.at(-1), '290');
  });
});

test('the edges of a map without names have the numbers of its pinned cell', async () => {
  const plain = model(1, 1, ['', '', '', '']);
  plain.tokens = [tokensOf([])];
  await withPage(makePage('numbers', plain), async (view) => {
    const drawn = await view.evaluate(() => {
      const texts = [];
      const pen = { rect() {}, frame() {}, line() {}, image() {}, text: (text) => texts.push(text) };
      drawLabels(pen, chosenMap(), mapView.layout, inks());
      drawCross(pen, chosenMap(), mapView.layout, { row: 3, column: 2 }, inks());
      return texts.filter((text) => /^\d+$/.test(text));
    });
    assert.deepEqual(drawn, ['0', '1', '2', '3', '0', '1', '2', '3', '3', '2']);
  });
});

test('a map has the size of its window in the first frame that has it', async () => {
  await withPage(page, async (view) => {
    await view.evaluate(() => {
      window.drawnHeights = new Promise((done) => {
        const seen = () => done([mapView.height, document.getElementById('map').clientHeight]);
        window.addEventListener('resize', () => requestAnimationFrame(seen), { once: true });
      });
    });
    await view.setViewportSize({ width: 1366, height: 600 });
    const [drawn, room] = await view.evaluate(() => window.drawnHeights);
    assert.equal(drawn, room);
  });
});

test('a text that is shorter than others of its batch is shown without its padding', async () => {
  const padded = model(1, 1, ['a', 'b', '', '']);
  const { heads } = padded.attentions[0].samples[0].maps[0];
  heads[0] = heads[0].map((value, at) => (at < 8 && at % 4 < 2 ? value : null));
  await withPage(makePage('padded', padded), async (view) => {
    assert.deepEqual(await view.evaluate(() => [chosenMap().queries.length, chosenMap().keys.length, thumbnailOf(0, 0).width]), [2, 2, 2]);
    assert.equal(await textIn(view, 'status'), 'Hidden rows and columns after the end of the text are left out.');
  });
});

test('a token is searched by its text and by its number', async () => {
  await withPage(page, async (view) => {
    await view.keyboard.press('/');
    await view.keyboard.type('e');
    assert.equal(await textIn(view, 'search-count'), '1 of 3');
    await view.keyboard.press('Enter');
    await view.keyboard.press('Enter');
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Query "·ed" \(4\) pinned/);
    await view.fill('#search', '2');
    await view.press('#search', 'Enter');
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Query "fox" \(2\) pinned/);
    await view.fill('#search', 'zebra');
    assert.equal(await textIn(view, 'search-count'), 'none');
  });
});

test('a touch tells a cell and pins its query', async () => {
  await withPage(page, async (view) => {
    const { x, y } = await view.evaluate(() => {
      const box = document.getElementById('map').getBoundingClientRect();
      const { left, top, cellWidth, cellHeight } = mapView.layout;
      return { x: box.left + left + 2.5 * cellWidth, y: box.top + top + 1.5 * cellHeight };
    });
    const session = await view.context().newCDPSession(view);
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: true });
    await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: false });
    await session.detach();
    await view.waitForFunction(() => page.choice.query === 1);
    await ready(view);
    assert.match(await textIn(view, 'cell-readout'), /Query "the" \(1\) pinned ×\s+Key "fox" \(2\)\s+0\.3000/);
  });
});
