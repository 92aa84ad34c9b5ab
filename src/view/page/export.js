/** A field of a CSV file. @param {string | number} value */
function csvField(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {(string | number)[][]} rows */
function csvText(rows) {
  return `${rows.map((row) => row.map(csvField).join(',')).join('\r\n')}\r\n`;
}

/**
 * A name beside its number, so that equal tokens stay apart.
 * @param {Stretch} stretch
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 */
function csvName(stretch, tokens, words) {
  return `${numbersOf(stretch)} ${textOf(tokens, stretch, words)}`.trim();
}

/** The numbers of the present view; hidden cells are empty. */
function presentCsv() {
  const shown = chosenMap();
  if (page.choice.enlarged || !shown) return csvText(statisticsRows());
  if (page.choice.view === 'lines') return csvText(linesRows(shown));
  if (page.choice.view === 'text' || (page.choice.view === 'table' && page.choice.table === 'row')) return csvText(stripRows(shown));
  return csvText(mapRows(shown));
}

/** @param {number | null} value */
function csvNumber(value) {
  return value === null ? '' : Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
}

/** @param {ShownMap} shown */
function mapRows(shown) {
  const header = ['', ...shown.keys.map((key) => csvName(key, keyTokens(), shown.words))];
  return [header, ...shown.queries.map((query, row) => [
    csvName(query, queryTokens(), shown.words),
    ...shown.keys.map((_, column) => {
      const { value, hidden, faint } = cellAt(shown, row, column);
      return hidden || faint ? '' : csvNumber(value);
    })])];
}

/** @param {ShownMap} shown */
function linesRows(shown) {
  const lines = chosenLines(pinnedRow(), null).slice().reverse();
  const name = (/** @type {Stretch | undefined} */ stretch, /** @type {import('./data').Tokens | undefined} */ tokens) =>
    stretch ? csvName(stretch, tokens, shown.words) : '';
  return [['head', 'query', 'key', page.choice.tensor], ...lines.map(({ head, row, column, value }) => [
    headNumber(chosenAttention(), head), name(shown.queries[row], queryTokens()), name(shown.keys[column], keyTokens()), csvNumber(value)])];
}

/** @param {ShownMap} shown */
function stripRows(shown) {
  const gives = page.choice.direction === 'gives' || page.choice.view === 'table';
  const { values, hidden } = stripWeights(shown);
  const [stretches, tokens] = gives ? [shown.keys, keyTokens()] : [shown.queries, queryTokens()];
  return [['position', 'token', page.choice.tensor], ...stretches.map((stretch, index) => [
    numbersOf(stretch), textOf(tokens, stretch, shown.words), hidden[index] ? '' : csvNumber(values[index] ?? NaN)])];
}

function statisticsRows() {
  return [['stack', 'layer', 'head', ...page.view.statistics.map(({ name }) => name)], ...sortedHeads().map(({ attention, head }) => {
    const layer = page.view.attentions[attention];
    return [layer ? told(layer.stack) : '', layer ? layerNumber(layer) : '', headNumber(layer, head),
      ...page.view.statistics.map((_, statistic) => csvNumber(statisticOf(attention, head, statistic)))];
  })];
}

/**
 * @param {Blob} blob
 * @param {string} ending
 */
function saveFile(blob, ending) {
  const attention = chosenAttention();
  const layer = attention ? layerNumber(attention) : 1;
  const name = page.choice.enlarged ? 'heads' : `layer${layer}_head${headNumber(attention, page.choice.head)}_${page.choice.view}`;
  const link = make('a', { download: `${name}.${ending}`, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function savePng() {
  const picture = presentPicture();
  if (!picture) return;
  const canvas = make('canvas');
  const context = fitCanvas(canvas, picture.width, picture.height);
  canvas.width = picture.width * 2;
  canvas.height = picture.height * 2;
  context.setTransform(2, 0, 0, 2, 0, 0);
  picture.draw(canvasPen(context));
  canvas.toBlob((blob) => blob && saveFile(blob, 'png'), 'image/png');
}

function saveSvg() {
  const picture = presentPicture();
  if (!picture) return;
  const pen = svgPen(picture.width, picture.height, picture.title);
  picture.draw(pen);
  saveFile(new Blob([pen.svg()], { type: 'image/svg+xml' }), 'svg');
}

function saveCsv() {
  saveFile(new Blob(['\ufeff', presentCsv()], { type: 'text/csv' }), 'csv');
}

/**
 * Copies a text, from its field if there is one, and says so.
 * @param {string} text
 * @param {HTMLTextAreaElement | null} field
 */
async function copyText(text, field) {
  const told = byId('announcement', HTMLDivElement);
  try {
    await navigator.clipboard.writeText(text);
    told.textContent = say('copied');
  } catch {
    // Pages from files may not write to the clipboard in this way.
    const area = field ?? document.body.appendChild(make('textarea', { text, 'aria-label': say('copy_address') }));
    area.select();
    const done = document.execCommand('copy');
    told.textContent = say(done ? 'copied' : 'copy_failed');
    if (!field) area.remove();
  }
  return told.textContent;
}

/** The buttons of the drawer. */
function listenToExport() {
  byId('export-png', HTMLButtonElement).addEventListener('click', savePng);
  byId('export-svg', HTMLButtonElement).addEventListener('click', saveSvg);
  byId('export-csv', HTMLButtonElement).addEventListener('click', saveCsv);
  const copies = /** @type {[string, TextName, () => [string, HTMLTextAreaElement | null]][]} */ ([
    ['copy-address', 'copy_address', () => [location.href, null]],
    ['copy-command', 'copy_command', () => [byId('command', HTMLTextAreaElement).value, byId('command', HTMLTextAreaElement)]],
  ]);
  for (const [id, name, take] of copies) {
    const button = byId(id, HTMLButtonElement);
    button.addEventListener('click', async () => {
      button.textContent = await copyText(...take());
      button.focus();
      setTimeout(() => {
        button.textContent = say(name);
      }, 2000);
    });
  }
}
