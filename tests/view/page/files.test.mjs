import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pointAtCell, ready, saved, textIn, withPage } from './browser.mjs';
import { makePage, model, tokensOf } from './made_page.mjs';

const text = { ...model(2, 3, ['a,"b"', 'c', '<d>', 'e'], { statistics: true }), commands: { before: ["attn-cli run in.json --out 'my results'"], input: "'my results/result.json'" } };
const page = makePage('files', text);
const command = (view) => view.locator('#command').inputValue();

test('the present view is saved as PNG, SVG and CSV', async () => {
  await withPage(page, async (view) => {
    await view.click('#export-button');
    for (const name of ['map', 'lines', 'text']) {
      await view.click(`#tab-${name}`);
      await ready(view);
      const png = await saved(view, '#export-png');
      assert.equal(png.name, `files_layer0_head0_${name}.png`);
      assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
      assert.ok(png.bytes.readUInt32BE(16) >= 1400);
      const svg = (await saved(view, '#export-svg')).bytes.toString();
      const errors = await view.evaluate((source) => new DOMParser().parseFromString(source, 'image/svg+xml').querySelectorAll('parsererror').length, svg);
      assert.equal(errors, 0);
      assert.match(svg, /<title>Layer 0, Self-Attention, Head 0<\/title>/);
      assert.match(svg, /&lt;d&gt;/);
    }
  });
});

test('a CSV file has the numbers of the view, hidden cells being empty', async () => {
  await withPage(page, async (view) => {
    await view.click('#export-button');
    const map = (await saved(view, '#export-csv')).bytes.toString('utf8').replace('\ufeff', '').split('\r\n');
    assert.equal(map[0], '"files – a,""b"" c <d> e","a,""b"" (0)",c (1),<d> (2),e (3)');
    assert.equal(map[1], '"a,""b"" (0)",1,,,');
    assert.equal(map.length, 6);
    const cell = Number(map[3].split(',')[2]);
    assert.equal(cell, await view.evaluate(() => chosenMap().values[9]));
    await view.click('#tab-lines');
    await ready(view);
    assert.match((await saved(view, '#export-csv')).bytes.toString(), /head,query,key,weights\r\n0,"a,""b"" \(0\)","a,""b"" \(0\)",1\r\n/);
    await view.click('#tab-text');
    await ready(view);
    assert.match((await saved(view, '#export-csv')).bytes.toString(), /position,token,weights\r\n0,"a,""b""",0\.\d+/);
  });
});

test('enlarged heads are saved as a picture, and their statistics as CSV', async () => {
  await withPage(page, async (view) => {
    await view.click('#export-button');
    await view.evaluate(() => change({ enlarged: true }));
    await ready(view);
    const { title, csv } = await view.evaluate(() => ({ title: presentPicture().title, csv: presentCsv() }));
    assert.equal(title, 'Previous token');
    assert.match(csv, /^stack,layer,head,previous,distance\r\nSelf-Attention,0,0,0,\r\nSelf-Attention,0,1,0\.1666\d*,0\r\n/);
  }, { hash: 'left=statistic' });
});

test('the address holds the view, and opening it restores it', async () => {
  let address = '';
  await withPage(page, async (view) => {
    await view.click('[role=gridcell][aria-label="Layer 1, head 2"]');
    await ready(view);
    await pointAtCell(view, 2, 1, true);
    await view.selectOption('#scale', 'log');
    await view.click('#tab-lines');
    await view.selectOption('#language', 'zh');
    await ready(view);
    address = await view.evaluate(() => location.hash.slice(1));
    assert.equal(address, 'layer=layers.1.self&head=2&view=lines&query=2&key=1&scale=log&language=zh');
    await view.reload();
    await ready(view);
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head, page.choice.view, page.choice.query, page.choice.scale, document.documentElement.lang]), [1, 2, 'lines', 2, 'log', 'zh-CN']);
  });
  await withPage(page, async (view) => {
    assert.equal(await view.locator('#tab-lines').getAttribute('aria-selected'), 'true');
    await view.evaluate(() => { location.hash = 'head=1'; });
    await view.waitForFunction(() => page.choice.head === 1 && page.choice.view === 'map');
  }, { hash: address });
});

test('an address that fits another page does no harm', async () => {
  await withPage(page, async (view) => {
    assert.deepEqual(await view.evaluate(() => [page.choice.attention, page.choice.head, page.choice.view, page.choice.scale, page.choice.query]), [0, 2, 'map', 'linear', null]);
  }, { hash: 'layer=nowhere&head=77&view=x&scale=%3Cb%3E&query=9999&threshold=-1&statistic=1.5&sample=4&tensor=none&part=7-7' });
});

test('the command draws what is shown', async () => {
  await withPage(page, async (view) => {
    await view.click('#export-button');
    assert.equal(await command(view), "attn-cli run in.json --out 'my results'\nattn-cli plot heatmap 'my results/result.json' --name layers.0.self.weights --head 0 --cmap Greys --color-range 0,1 --out layer0_head0.png");
    await view.evaluate(() => change({ attention: 1, head: 2, heads: [2], scale: 'log', leave: 'first', renormalise: true }));
    await ready(view);
    assert.match(await command(view), /--name layers\.1\.self\.weights --head 2 --drop-first 1 --renormalize --cmap Greys --color-range 0\.00001,1 --norm log --out layer1_head2\.png$/);
    await view.evaluate(() => change({ view: 'lines', heads: [0, 2], leave: 'none', scale: 'linear', renormalise: false, strongest: 2, threshold: 0.1 }));
    await ready(view);
    assert.match(await command(view), /plot lines '.*' --name layers\.1\.self\.weights --heads 0,2 --top 2 --threshold 0\.1 --out/);
    await view.evaluate(() => change({ view: 'text', query: 1, strongest: 0, threshold: 0 }));
    await ready(view);
    assert.match(await command(view), /plot strip '.*' --name layers\.1\.self\.weights --head 2 --queries 1:2 --cmap Greys/);
  });
});

test('the command of a page of several samples and parts names them', async () => {
  const several = model(1, 1, ['[CLS]', 'a', '[SEP]', 'b', '[SEP]'], { special: [0, 2, 4] });
  several.attentions[0].name = '';
  several.attentions[0].samples.push(several.attentions[0].samples[0]);
  several.samples = [{ title: 'one' }, { title: 'two' }];
  several.tokens = [tokensOf(['[CLS]', 'a', '[SEP]', 'b', '[SEP]'], [0, 2, 4])];
  await withPage(makePage('several', several), async (view) => {
    await view.click('#export-button');
    await view.evaluate(() => change({ sample: 1, part: '1-0' }));
    await ready(view);
    assert.match(await command(view), /plot heatmap result\.json --sample 1 --queries 3:4 --keys 1:2 --cmap/);
  });
});

test('the command names tensors of other programs as they are, and layers of one tensor by their numbers', async () => {
  const other = model(3, 1, ['a', 'b']);
  Object.assign(other.attentions[0], { name: 'att7_probs', stack: 'att{n}_probs' });
  Object.assign(other.attentions[1], { name: 'probs', stack: 'probs' });
  Object.assign(other.attentions[2], { name: 'layers.2' });
  await withPage(makePage('other', other), async (view) => {
    const flags = await view.evaluate(() => [0, 1, 2].map((attention) => {
      page.choice.attention = attention;
      return tensorFlags().join(' ');
    }));
    assert.deepEqual(flags, ['--name att7_probs', '--name probs', '--layers 2']);
  });
});

test('a copy button says that it copied', async () => {
  await withPage(page, async (view) => {
    await view.click('#export-button');
    await view.click('#copy-command');
    await view.waitForFunction(() => /Copied|did not let/.test(document.getElementById('announcement').textContent));
    assert.match(await textIn(view, 'copy-command'), /Copied|did not let/);
  });
});
