/** A table of more cells is no longer read. */
const MOST_TABLE_CELLS = 2500;

/** Most keys of a row in the table; of longer rows it has the strongest. */
const MOST_TABLE_ROWS = 1000;

/** Writes the table of the chosen map, or of a row of it. */
function writeTableView() {
  const shown = chosenMap();
  if (!shown) return;
  const whole = page.choice.table === 'cells';
  const segments = make('div', { class: 'segments', role: 'group', 'aria-label': say('view_table') }, [
    tableButton('row', say('table_row')), tableButton('cells', say('table_whole'))]);
  const row = Math.max(0, pinnedRow());
  const parts = whole ? [wholeTable(shown)] : [queryField(shown, row), rowTable(shown, row)];
  byId('table', HTMLDivElement).replaceChildren(segments, ...parts);
}

/**
 * @param {'row' | 'cells'} value
 * @param {string} text
 */
function tableButton(value, text) {
  const button = make('button', { type: 'button', 'aria-pressed': String(page.choice.table === value), text });
  button.addEventListener('click', () => change({ table: value }));
  return button;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 */
function queryField(shown, row) {
  const present = String(page.choice.query ?? shown.queries[row]?.first ?? 0);
  const input = make('input', { type: 'number', min: '0', max: String(shown.map.queries - 1), value: present });
  input.addEventListener('change', () => change({ query: Math.max(0, Math.min(shown.map.queries - 1, Number(input.value))) }));
  return make('label', { class: 'query-field' }, [`${say('query')} `, input]);
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 */
function rowTable(shown, row) {
  const columns = shown.keys.length;
  const query = page.choice.query ?? shown.queries[row]?.first ?? 0;
  const stretch = shown.map.exactCells ? shown.queries[row] : { first: query, end: query + 1 };
  const exact = shown.map.strongest ? strongestOf(shown, row, query) : null;
  const places = exact ? null : shown.keys.map((_, column) => column);
  const limited = places && columns > MOST_TABLE_ROWS
    ? places.sort((a, b) => cellAt(shown, row, b).value - cellAt(shown, row, a).value).slice(0, MOST_TABLE_ROWS) : places;
  const told = alignedNumbers(exact ? exact.map(({ value }) => value) : (limited ?? []).map((column) => cellAt(shown, row, column).value));
  const rows = exact
    ? exact.map(({ stretch: key }, at) => keyRow(shown, key, told[at] ?? '', String(at + 1)))
    : (limited ?? []).map((column, at) => {
      const cell = cellAt(shown, row, column);
      const key = shown.keys[column] ?? { first: 0, end: 0 };
      return keyRow(shown, key, cell.hidden ? say('hidden_cell') : (told[at] ?? ''), cell.hidden ? '' : String(rankInRow(shown, row, column).rank));
    });
  const caption = make('caption', {}, [`${say('table_of_row')} `, isolated(stretch ? placeName(queryTokens(), stretch, shown.words) : '')]);
  const named = hasNames(keyTokens());
  const header = [say('position'), ...(named ? [say('token')] : []), inLanguage(chosenMaps()?.title ?? ''), say('rank_column')].map((text) => make('th', { scope: 'col', text }));
  if (named) header[1]?.classList.add('of-token');
  return make('table', {}, [caption, make('thead', {}, [make('tr', {}, header)]), make('tbody', {}, rows)]);
}

/**
 * @param {ShownMap} shown
 * @param {Stretch} key
 * @param {string} weight
 * @param {string} rank
 */
function keyRow(shown, key, weight, rank) {
  const numbers = [make('td', { text: weight }), make('td', { text: rank })];
  if (!hasNames(keyTokens())) return make('tr', {}, [make('th', { scope: 'row', text: numbersOf(key) }), ...numbers]);
  return make('tr', {}, [make('td', { text: numbersOf(key) }), make('th', { scope: 'row' }, [isolated(textOf(keyTokens(), key, shown.words) || '–')]), ...numbers]);
}

/**
 * Four significant digits each, with blanks as wide as a digit behind them, so that their points are
 * one below the other.
 * @param {number[]} values
 */
function alignedNumbers(values) {
  const texts = values.map(fourDigits);
  const behind = (/** @type {string} */ text) => (text.includes('.') ? text.length - text.indexOf('.') : 0);
  const most = Math.max(0, ...texts.map(behind));
  return texts.map((text) => text + '\u2007'.repeat(most - behind(text)));
}

/** @param {ShownMap} shown */
function wholeTable(shown) {
  const cells = shown.queries.length * shown.keys.length;
  if (cells > MOST_TABLE_CELLS) return make('p', { text: say('table_too_large', { cells }) });
  const name = (/** @type {Stretch} */ stretch, /** @type {import('./data').Tokens | undefined} */ tokens) =>
    [isolated(placeName(tokens, stretch, shown.words))];
  const header = shown.keys.map((key) => make('th', { scope: 'col' }, name(key, keyTokens())));
  const scale = chosenScale();
  const rows = shown.queries.map((query, row) => make('tr', {}, [
    make('th', { scope: 'row' }, name(query, queryTokens())),
    ...shown.keys.map((_, column) => tableCell(shown, row, column, scale)),
  ]));
  return make('table', { class: 'whole' }, [
    make('caption', { text: say('table_of_map') }), make('thead', {}, [make('tr', {}, [make('th', { scope: 'col', text: `${say('query')} ↓ ${say('key')} →` }), ...header])]), make('tbody', {}, rows)]);
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 * @param {ColourScale | undefined} scale
 */
function tableCell(shown, row, column, scale) {
  const { value, hidden, faint } = cellAt(shown, row, column);
  const cell = make('td', { text: hidden ? say('hidden_cell') : fourDigits(value) });
  if (!hidden && !faint && scale && !Number.isNaN(value)) {
    const pixel = pixelOfValue(scale, value);
    cell.style.backgroundColor = colourOf(pixel);
    cell.style.color = readableOn(pixel);
  }
  return cell;
}

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
 * A place's name without its quotes, which a CSV file would double.
 * @param {Stretch} stretch
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 */
function csvName(stretch, tokens, words) {
  const text = textOf(tokens, stretch, words);
  return text === '' ? numbersOf(stretch) : `${text} (${numbersOf(stretch)})`;
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
