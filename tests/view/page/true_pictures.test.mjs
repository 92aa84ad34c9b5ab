// Views and saved pictures show what the numbers are, and can be read.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { colourOfCell, pointAtCell, problemsOf, ready, saved, textIn, withPage } from './browser.mjs';
import { makePage, model, softWeights, tokensOf } from './made_page.mjs';

const words = (count) => Array.from({ length: count }, (_, at) => `w${at + 1}`);
const uniform = (count) => Array.from({ length: count * count }, () => 1 / count);
const oneMap = (map, queries, keys, tokens = tokensOf([])) => ({
  tokens: [tokens], attentions: [{ name: '', title: '', stack: 'Attention', samples: [{ queries, keys, maps: [{ tensor: 'weights', heads: [map] }] }] }],
});
const plain = (count) => oneMap(uniform(count), count, count);

test('bars of scores begin at a line of zero, and those of negative numbers have another colour', async () => {
  const scores = makePage('scores', { ...plain(2), attentions: [{ name: '', title: '', stack: 'Attention', samples: [{ queries: 2, keys: 2, maps: [
    { tensor: 'weights', heads: [[0.8, 0.2, 0.5, 0.5]] }, { tensor: 'scores', title: 'Scores', diverging: true, range: [-1, 1], heads: [[0.5, -0.25, 0, 1]] }] }] }] });
  await withPage(scores, async (view) => {
    await pointAtCell(view, 0, 0);
    const bars = await view.locator('.track').evaluateAll((tracks) => tracks.map((track) => {
      const [whole, bar] = [track.getBoundingClientRect(), track.firstChild.getBoundingClientRect()];
      return { from: (bar.left - whole.left) / whole.width, to: (bar.right - whole.left) / whole.width, colour: getComputedStyle(track.firstChild).backgroundColor };
    }));
    [[0.5, 0.75], [0.375, 0.5]].forEach(([from, to], at) => {
      assert.ok(Math.abs(bars[at].from - from) < 0.01 && Math.abs(bars[at].to - to) < 0.01, JSON.stringify(bars[at]));
    });
    assert.notEqual(bars[0].colour, bars[1].colour);
  }, { hash: 'tensor=scores' });
});

test('lines have a legend of three thicknesses in the place of the bar of colours', async () => {
  await withPage(makePage('thick', model(1, 1, words(4))), async (view) => {
    assert.equal(await view.locator('#colour-bar').isVisible(), false);
    assert.deepEqual((await view.locator('#legend-lines li').allInnerTexts()).map((text) => text.trim()), ['0.1', '0.5', '1']);
    await view.click('#tab-map');
    await ready(view);
    assert.equal(await view.locator('#colour-bar').isVisible(), true);
    assert.equal(await view.locator('#legend-lines').isVisible(), false);
  }, { hash: 'view=lines' });
});

test('lines of small weights are as thick as their largest allows, and the legend says so', async () => {
  await withPage(makePage('thin', plain(10)), async (view) => {
    assert.deepEqual((await view.locator('#legend-lines li').allInnerTexts()).map((text) => text.trim()), ['0.01', '0.05', '0.1']);
  }, { hash: 'view=lines' });
});

test('a logarithmic bar has ticks apart from each other, and zeros a colour of their own', async () => {
  await withPage(makePage('log', oneMap([0, 1, 0.5, 0.5], 2, 2)), async (view) => {
    const ticks = await view.locator('#legend-ticks span').evaluateAll((all) => all.map((tick) => tick.getBoundingClientRect()).map(({ left, right }) => [left, right]));
    ticks.slice(1).forEach(([left], at) => assert.ok(left >= ticks[at][1], JSON.stringify(ticks)));
    assert.deepEqual(await colourOfCell(view, 0, 0), [0x6a, 0x82, 0xbe]);
    assert.deepEqual(await view.locator('#legend-keys li').allInnerTexts(), ['0 or less']);
  }, { hash: 'scale=log' });
});

test('tokens without ink are written as signs', async () => {
  const pieces = ['', ' ', '\n', 'a\tb', '\u200b', 'é'];
  await withPage(makePage('unseen', oneMap(uniform(6), 6, 6, tokensOf(pieces))), async (view) => {
    assert.deepEqual(await view.evaluate(() => [0, 1, 2, 3, 4, 5].map((at) => pieceAt(queryTokens(), at))), ['∅', '␣', '\\n', 'a\\tb', '\\u200b', 'é']);
  });
});

test('the cells of an SVG file are rectangles, and no picture', async () => {
  await withPage(makePage('rectangles', model(1, 1, words(5))), async (view) => {
    await view.click('#export-button');
    const svg = (await saved(view, '#export-svg')).bytes.toString();
    assert.doesNotMatch(svg, /<image/);
    const drawn = await view.evaluate((source) => {
      const picture = new DOMParser().parseFromString(source, 'image/svg+xml');
      return [...picture.querySelectorAll('g path')].reduce((sum, path) => sum + path.getAttribute('d').split('z').length - 1, 0);
    }, svg);
    assert.ok(drawn >= 15, String(drawn));
  });
});

test('lines of a long text fit the window, and zooming shows those within it', async () => {
  await withPage(makePage('long_lines', model(1, 1, words(300))), async (view) => {
    const heights = () => view.evaluate(() => [document.getElementById('lines').scrollHeight, document.getElementById('lines').clientHeight]);
    const [all, seen] = await heights();
    assert.ok(all <= seen + 1, `${all} ${seen}`);
    for (let step = 0; step < 4; ++step) await view.click('#zoom-in');
    const [zoomed] = await heights();
    assert.ok(zoomed > 3 * seen);
    assert.match(await textIn(view, 'status'), /Lines within the window are drawn/);
    await view.click('#zoom-all');
    assert.ok((await heights())[0] <= seen + 1);
  }, { hash: 'view=lines' });
});

test('positions without names have round numbers at the lines of a long text', async () => {
  await withPage(makePage('round_lines', plain(300)), async (view) => {
    const numbers = await view.evaluate(() => {
      const texts = [];
      const pen = { rect() {}, frame() {}, line() {}, image() {}, text: (text) => texts.push(Number(text)) };
      drawLines(pen, chosenMap(), { width: 600, height: 600, scrolled: 0, rowHeight: 1.8 }, { row: -1, column: null }, inks());
      return texts.filter((number) => number > 1);
    });
    assert.ok(numbers.length > 20 && numbers.every((number) => number % 10 === 0), numbers.join());
  }, { hash: 'view=lines' });
});

test('the ground of a pinned name covers no other name of its column', async () => {
  await withPage(makePage('pinned_lines', model(1, 1, words(88))), async (view) => {
    const { tops, bottoms, names } = await view.evaluate(() => {
      const grounds = [];
      const names = [];
      const pen = {
        frame() {}, line() {}, image() {}, rect: (x, y, width, height) => x < 300 && y > 0 && grounds.push([y, y + height]),
        text: (text, x, y, { align, bold }) => { if (align === 'right' && !bold && y > 20) names.push(y); },
      };
      drawLines(pen, chosenMap(), { width: 600, height: 500, scrolled: 0, rowHeight: 5 }, { row: 40, column: null }, inks());
      return { tops: grounds.map(([top]) => top), bottoms: grounds.map(([, bottom]) => bottom), names };
    });
    assert.equal(tops.length, 1);
    assert.ok(names.length > 20, String(names.length));
    assert.deepEqual(names.filter((y) => y + 3 > tops[0] && y - 3 < bottoms[0]), []);
  }, { hash: 'view=lines' });
});

test('a dark page has dark zeros and hidden cells, and its saved pictures are light', async () => {
  await withPage(makePage('dark', model(1, 1, words(4))), async (view) => {
    assert.deepEqual(await colourOfCell(view, 0, 0), [255, 255, 255]);
    assert.deepEqual(await colourOfCell(view, 0, 2), [0x34, 0x34, 0x38]);
    await view.click('#export-button');
    const svg = (await saved(view, '#export-svg')).bytes.toString();
    assert.match(svg, /fill="#000000" d="M0 0h1/);
    assert.match(await view.locator('#command').inputValue(), /--cmap Greys/);
  }, { scheme: 'dark' });
});

test('thumbnails of longer texts say that their pixels are maxima', async () => {
  await withPage(makePage('maxima', model(1, 1, words(40))), async (view) => {
    assert.match(await view.locator('.stack h3').innerText(), /a pixel: the largest of 2 × 2 cells/);
  });
});

test('a small map has large cells in the middle of its room', async () => {
  await withPage(makePage('small', model(1, 1, words(2))), async (view) => {
    const { cell, before, after } = await view.evaluate(() => {
      const { left, cellWidth, columns, edge } = mapView.layout;
      return { cell: cellWidth, before: edge, after: mapView.width - left - columns * cellWidth };
    });
    assert.equal(cell, 120);
    assert.ok(Math.abs(before - after) < 30 && before > 40, `${before} ${after}`);
  });
});

test('numbers along both axes have one step', async () => {
  await withPage(makePage('steps', plain(300)), async (view) => {
    const steps = await view.evaluate(() => {
      const pens = [];
      const pen = { rect() {}, frame() {}, line() {}, image() {}, text: (text, x) => pens.push([text, x]) };
      drawLabels(pen, chosenMap(), mapView.layout, inks());
      const numbers = (down) => pens.filter(([, x]) => (x < mapView.layout.left) === down).map(([text]) => Number(text)).filter((at) => at > 1);
      return [true, false].map((down) => numbers(down)[1] - numbers(down)[0]);
    });
    assert.equal(steps[0], steps[1]);
  });
});

test('numbers of a table have their points below each other, and no header is empty', async () => {
  const map = oneMap([0.5, 0.25, 0.0625, 0.1875].concat(softWeights(3, 4, 1)), 4, 4);
  await withPage(makePage('table', map), async (view) => {
    const cells = await view.locator('#table tbody tr td:nth-child(2)').evaluateAll((all) => all.map((cell) => cell.textContent));
    assert.equal(new Set(cells.map((text) => text.length - text.indexOf('.'))).size, 1, JSON.stringify(cells));
    assert.ok(await view.locator('#table th').evaluateAll((all) => all.every((header) => header.textContent.trim() !== '')));
    assert.deepEqual(await problemsOf(view), []);
    await view.evaluate(() => change({ table: 'cells' }));
    await ready(view);
    assert.ok(await view.locator('#table th').evaluateAll((all) => all.every((header) => header.textContent.trim() !== '')));
  }, { hash: 'view=table' });
});

test('a saved map has all names along both axes, turned where they have no room, and the pinned cell', async () => {
  for (const [count, long] of [[17, ''], [17, 'abcdefg'], [40, 'abcdefgh']]) {
    const names = words(count).map((word) => word + long);
    await withPage(makePage(`named_${count}${long}`, model(1, 1, names)), async (view) => {
      await view.click('#export-button');
      const svg = (await saved(view, '#export-svg')).bytes.toString();
      for (const name of names) assert.equal(svg.split(`>${name}<`).length - 1, 2, name);
      assert.match(svg, /stroke="#0a3069" stroke-width="3"/);
    }, { hash: 'query=5&key=3' });
  }
});

test('saved lines name their heads, and the saved text frames hidden tokens', async () => {
  await withPage(makePage('saved_views', model(1, 3, words(4))), async (view) => {
    await view.click('#export-button');
    const lines = (await saved(view, '#export-svg')).bytes.toString();
    assert.match(lines, /<title>Layer 0, Self-Attention, Heads 0, 2<\/title>/);
    await view.evaluate(() => change({ view: 'text', query: 1 }));
    await ready(view);
    const text = (await saved(view, '#export-svg')).bytes.toString();
    assert.equal(text.split('stroke-dasharray="3 2"').length - 1, 2 * 4, 'two hidden tokens with four sides each');
  }, { hash: 'view=lines&heads=0,2' });
});

test('a table is no picture: it is saved as numbers alone', async () => {
  await withPage(makePage('no_picture', model(1, 1, words(3))), async (view) => {
    await view.click('#export-button');
    assert.equal(await view.locator('#export-svg').isVisible(), false);
    assert.equal(await view.locator('#export-csv').isVisible(), true);
  }, { hash: 'view=table' });
});

test('a zoomed map is in the address and is opened zoomed', async () => {
  const page = makePage('zoomed', model(1, 1, words(60)));
  let hash = '';
  await withPage(page, async (view) => {
    for (let step = 0; step < 3; ++step) await view.click('#zoom-in');
    await ready(view);
    hash = await view.evaluate(() => location.hash.slice(1));
  });
  await withPage(page, async (view) => {
    const { zoom, row, rows } = await view.evaluate(() => ({ ...mapView.window, ...mapView.layout, zoom: mapView.window.zoom }));
    assert.ok(Math.abs(zoom - 1.5 ** 3) < 0.01 && row > 10 && rows < 25, `${zoom} ${row} ${rows}`);
  }, { hash });
});

test('a saved picture names its input and text', async () => {
  await withPage(makePage('source', { ...model(1, 1, ['play', '##ing', 'fox']), title: 'Attention Maps of tiny' }), async (view) => {
    await view.click('#export-button');
    const { name, bytes } = await saved(view, '#export-svg');
    assert.equal(name, 'Attention_Maps_of_tiny_layer0_head0_map.svg');
    assert.match(bytes.toString(), /Attention Maps of tiny – playing fox/);
  });
});
