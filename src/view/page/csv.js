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
  const header = [sourceOfView(), ...shown.keys.map((key) => csvName(key, keyTokens(), shown.words))];
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
    return [layer ? inLanguage(layer.stack) : '', layer ? layerNumber(layer) : '', headNumber(layer, head),
      ...page.view.statistics.map((_, statistic) => csvNumber(statisticOf(attention, head, statistic)))];
  })];
}
