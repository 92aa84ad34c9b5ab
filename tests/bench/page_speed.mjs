#!/usr/bin/env node
// Measures pages of attn-cli view: their bytes, the processor time that making them takes, how soon they are usable, and
// how long a click waits for its picture.
//
//   VIEW_TOOLS=build/release/tests/view-tools CHROMIUM=$(command -v chromium) node tests/bench/page_speed.mjs build/release/attn-cli [gpt2 folder]
//
// VIEW_TOOLS is the folder into which tests/view/page/run installs its tools. The pages are an empty one, one of 12 × 12 maps of 512²
// cells, and one of 100 000 tokens; with a folder of GPT-2's size (tests/bench/make_checkpoint gpt2) also --effects of 50 tokens.
// "Usable" is the time from the start of the navigation until map and thumbnails are drawn; that of a click is what Event Timing
// gives, from the input to the next picture, in steps of 8 ms; that of a head's map ends with the frame in which it is drawn.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(`${process.env.VIEW_TOOLS}/`)('playwright-core');
const [program, model] = process.argv.slice(2).map((name) => resolve(name));
const folder = mkdtempSync(join(tmpdir(), 'attn-pages-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Makes a page; tells its bytes and the seconds of all processors and of the clock. */
function made(name, document, ...flags) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(document));
  const out = join(folder, `${name}.html`);
  const line = 'TIMEFORMAT="%U %S %R"; time "$@" >/dev/null';
  const words = [program, 'view', join(folder, `${name}.json`), ...flags, '--out', out, '--quiet'];
  const told = execFileSync('bash', ['-c', `{ ${line}; } 2>&1`, 'bash', ...words], { encoding: 'utf8' }).trim().split('\n').at(-1).split(' ').map(Number);
  console.log(`${name}: ${(statSync(out).size / 1000).toFixed(0)} kB, ${(told[0] + told[1]).toFixed(2)} s of processors, ${told[2].toFixed(2)} s`);
  return pathToFileURL(out).href;
}

/** Opens a page, clicks in it, and prints what that took. */
async function used(browser, name, address) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
  await page.addInitScript(() => {
    window.took = { usable: 0, clicks: [], maps: [] };
    let pressed = 0;
    document.addEventListener('pointerdown', (event) => { pressed = event.timeStamp; }, true);
    document.addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
      if (!pressed || document.getElementById('attention').ariaBusy !== 'false') return;
      const from = pressed;
      pressed = 0;
      requestAnimationFrame(() => setTimeout(() => window.took.maps.push(Math.round(performance.now() - from)), 0));
    }).observe(document.getElementById('attention'), { attributeFilter: ['aria-busy'] }));
    const watch = setInterval(() => {
      if (document.body?.dataset.thumbnails !== 'drawn' || document.getElementById('attention').ariaBusy !== 'false') return;
      window.took.usable = performance.now();
      clearInterval(watch);
    }, 5);
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === 'click') window.took.clicks.push(entry.duration);
    }).observe({ type: 'event', durationThreshold: 16, buffered: true });
  });
  await page.goto(address);
  await page.waitForFunction(() => window.took.usable > 0, null, { timeout: 120_000 });
  await page.waitForLoadState('load');
  await page.waitForTimeout(300);
  const box = await page.locator('#map').boundingBox();
  for (let step = 1; step <= 5; ++step) {
    await page.mouse.click(box.x + box.width * (0.3 + 0.08 * step), box.y + box.height * (0.4 + 0.08 * step));
    await page.waitForTimeout(300);
  }
  const heads = page.locator('#stacks [role=gridcell]');
  const count = await heads.count();
  for (let step = 1; step <= 5 && count > 1; ++step) {
    await heads.nth((step * 29) % count).click();
    await page.waitForTimeout(400);
  }
  const { usable, clicks, maps } = await page.evaluate(() => window.took);
  console.log(`${name}: usable after ${(usable / 1000).toFixed(2)} s; clicks ${clicks.length ? `${clicks.join(', ')} ms, others under 16 ms` : 'under 16 ms'}; maps of heads ${maps.slice(-5).join(', ')} ms`);
  await page.close();
}

const normal = (...shape) => ({ randn: shape });
const pages = [
  ['empty', made('empty', { attention: 'softmax', scores: [[0]] })],
  ['large', made('large', { attention: 'softmax', seed: 1, scores: normal(12, 12, 512, 512) })],
];
if (!process.argv.includes('--short')) {
  const long = { query: normal(1, 1, 100_000, 16), key: normal(1, 1, 100_000, 16), value: normal(1, 1, 100_000, 16) };
  pages.push(['long', made('long', { attention: 'scaled_dot_product', seed: 1, ...long, mask: { causal: true }, pool: { size: 500, reduction: 'max' } })]);
}
if (model && model !== resolve('--short')) {
  const ids = Array.from({ length: 50 }, (_, at) => (at * 997) % 50257);
  pages.push(['effects', made('effects', { model, token_ids: [ids] }, '--effects')]);
}
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
for (const [name, address] of pages) await used(browser, name, address);
await browser.close();
