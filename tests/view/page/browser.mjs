// One Chromium for all tests, without a network.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const tools = createRequire(`${process.env.VIEW_TOOLS}/`);
const { chromium } = tools('playwright-core');
const axe = readFileSync(tools.resolve('axe-core/axe.min.js'), 'utf8');

const profile = mkdtempSync(join(tmpdir(), 'attn-view-profile-'));
const launched = chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM,
  headless: true,
  offline: true,
  acceptDownloads: true,
  viewport: { width: 1366, height: 768 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--allow-file-access-from-files=false'],
});

after(async () => {
  await (await launched).close();
  rmSync(profile, { recursive: true, force: true });
});

/** What the page must not do in any test. */
const wrong = [];

/** The one tab of all tests, as a new process for each takes longer than most of them. */
async function openTab() {
  const page = (await launched).pages()[0] ?? (await (await launched).newPage());
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && !/willReadFrequently/.test(message.text()) && wrong.push(`console: ${message.text()}`));
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || wrong.push(`request: ${request.url()}`));
  return page;
}

let tab = null;

/**
 * Opens a page, does something in it, and finds that it made no error and asked for nothing.
 */
export async function withPage(address, does, { width = 1366, height = 768, scheme = 'light', hash = '' } = {}) {
  tab ??= openTab();
  const page = await tab;
  await page.goto('about:blank');
  await page.setViewportSize({ width, height });
  // No colour is looked at on its way to another one.
  await page.emulateMedia({ colorScheme: scheme, media: 'screen', reducedMotion: 'reduce' });
  await page.mouse.move(0, 0);
  wrong.length = 0;
  await page.goto(hash ? `${address}#${hash}` : address);
  await page.waitForSelector('body[data-thumbnails]');
  await ready(page);
  await does(page);
  assert.deepEqual(wrong, []);
}

/** Waits until what was chosen is drawn, and is in the address. */
export async function ready(page) {
  await page.waitForSelector('#attention[aria-busy=false]', { state: 'attached' });
  await page.waitForFunction(() => addressTimer.waiting === 0 && pointing.frame === 0);
}

/** What axe-core finds wrong; its script is given to the page from outside, whatever its policy is. */
export async function problemsOf(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; ')}`);
  });
}

/** Moves the pointer over a cell of the shown map, and clicks if asked to. */
export async function pointAtCell(page, row, column, click = false) {
  const place = await page.evaluate(([r, c]) => {
    const { left, top, cellWidth, cellHeight, row, column } = mapView.layout;
    const box = document.getElementById('map').getBoundingClientRect();
    return [box.left + left + (c - column + 0.5) * cellWidth, box.top + top + (r - row + 0.5) * cellHeight];
  }, [row, column]);
  await page.mouse.move(...place);
  if (click) await page.mouse.click(...place);
  await ready(page);
}

/** The colour of the middle of a cell, as [red, green, blue]. */
export function colourOfCell(page, row, column) {
  return page.evaluate(([r, c]) => {
    const { left, top, cellWidth, cellHeight, row, column } = mapView.layout;
    const canvas = document.getElementById('map-cells');
    const at = [left + (c - column) * cellWidth + 3, top + (r - row) * cellHeight + 3];
    return [...canvas.getContext('2d').getImageData(...at.map((part) => part * devicePixelRatio), 1, 1).data.slice(0, 3)];
  }, [row, column]);
}

export const textIn = (page, id) => page.locator(`#${id}`).innerText();

/** The text of a file that a button gives. */
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}
