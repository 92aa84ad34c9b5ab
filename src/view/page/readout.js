/** Number of the strongest keys in the list. */
const LISTED_KEYS = 10;

/** The frame that will show the place at the pointer; 0 = it is shown. */
const pointing = { frame: 0 };

/**
 * Sets the place that the reader points at with the next frame: a pointer tells of more places than there are frames.
 * @param {Cursor | null} cursor
 */
function pointAtSoon(cursor) {
  cancelAnimationFrame(pointing.frame);
  pointing.frame = requestAnimationFrame(() => pointAt(cursor));
}

/**
 * Sets the place that the reader points at; null = none.
 * @param {Cursor | null} cursor
 */
function pointAt(cursor) {
  cancelAnimationFrame(pointing.frame);
  pointing.frame = 0;
  const same = cursor === page.cursor || (cursor && page.cursor && cursor.row === page.cursor.row &&
    cursor.column === page.cursor.column && cursor.query === page.cursor.query);
  if (same) return;
  page.cursor = cursor;
  if (page.choice.view === 'map') drawMapCross();
  if (page.choice.view === 'lines') drawLinesView();
  if (page.choice.view === 'text') markStripCursor();
  drawPicture();
  writeReadout();
}

/**
 * Pins the query of a place, and its key if it has one; lets both go if just these were pinned.
 * @param {Cursor | null} cursor
 */
function pinAt(cursor) {
  if (!cursor) return;
  const shown = chosenMap();
  const joined = shown && !shown.map.exactCells;
  const key = cursor.column === null ? null : shown?.keys[cursor.column]?.first ?? null;
  const again = (joined ? page.choice.query === cursor.query : pinnedRow() === cursor.row) && (key === null || key === page.choice.key);
  page.cursor = cursor;
  // A click on another key of the pinned query shows that one's arithmetic.
  change(again ? { query: null, key: null } : { query: cursor.query, key });
}

/** Writes the readout of the place at the pointer, else of the pinned query. */
function writeReadout() {
  const shown = chosenMap();
  const cell = byId('cell-readout', HTMLDivElement);
  const list = byId('strongest-keys', HTMLDivElement);
  const pinned = pinnedRow();
  const row = page.cursor?.row ?? pinned;
  if (!shown || row < 0) {
    cell.replaceChildren(make('p', { class: 'quiet', text: say('readout_hint') }), ...hintsOfMap());
    list.replaceChildren();
    return;
  }
  const query = page.cursor?.query ?? page.choice.query ?? 0;
  const column = page.cursor ? page.cursor.column : page.choice.view === 'map' ? pinnedColumn() : null;
  cell.replaceChildren(...cellReadout(shown, row, column, query));
  const listed = page.choice.query !== null && pinned >= 0 ? { row: pinned, query: page.choice.query } : { row, query };
  list.replaceChildren(...strongestReadout(shown, listed.row, listed.query));
}

/** What rows, columns and colours are, until the reader points at something. */
function hintsOfMap() {
  if (page.choice.view !== 'map') return [];
  const names = /** @type {TextName[]} */ (['hint_row', 'hint_column', 'hint_colour']);
  return names.map((name) => make('p', { class: 'hint', text: say(name) }));
}

/**
 * As in 'Query "fox" (2)'.
 * @param {'query' | 'key'} kind
 * @param {Stretch} stretch
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 */
function namedPlace(kind, stretch, tokens, words) {
  return make('div', { class: 'named' }, [make('span', { class: 'quiet', text: say(kind) }), ' ', isolated(placeName(tokens, stretch, words))]);
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number | null} column
 * @param {number} query
 * @returns {HTMLElement[]}
 */
function cellReadout(shown, row, column, query) {
  const stretch = shown.queries[row];
  const key = column === null ? undefined : shown.keys[column];
  // Of joined queries each has its strongest keys, or all are known together.
  const joined = shown.map.strongest !== null;
  const parts = [namedPlace('query', stretch && !joined ? stretch : { first: query, end: query + 1 }, queryTokens(), shown.words)];
  if (pinnedRow() === row) parts[0]?.append(' ', make('span', { class: 'tag', text: say('pinned') }), ' ', unpinButton());
  if (!key || column === null) return parts;
  parts.push(namedPlace('key', key, keyTokens(), shown.words));
  const cell = cellAt(shown, row, column);
  if (cell.hidden) return [...parts, ...hiddenReadout()];
  parts.push(make('div', { class: 'weight', text: fourDigits(cell.value) }));
  parts.push(make('div', { class: 'quiet', text: rankText(shown, row, column) }));
  if (shown.map.error > 0) parts.push(make('div', { class: 'quiet', text: say('rounded', { error: shortNumber(Number(shown.map.error.toPrecision(2))) }) }));
  parts.push(...otherReadout(row, column, cell.value));
  if (cell.faint) parts.push(make('div', { class: 'quiet', text: say('below_limits') }));
  return parts;
}

function unpinButton() {
  const button = make('button', { type: 'button', class: 'unpin', text: '×', 'aria-label': say('unpin'), title: say('unpin') });
  button.addEventListener('click', () => {
    page.cursor = null;
    change({ query: null, key: null });
    focusView();
  });
  return button;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 */
function rankText(shown, row, column) {
  const query = shown.queries[row];
  const key = shown.keys[column];
  const cells = query && key ? (query.end - query.first) * (key.end - key.first) : 1;
  return shown.map.exactCells ? say('rank', rankInRow(shown, row, column)) : shown.map.cells === undefined ? say('rank_in_cells', { count: cells }) : inLanguage(shown.map.cells);
}

/** @returns {HTMLElement[]} */
function hiddenReadout() {
  const why = (chosenPlace()?.hidden_because ?? []).map(inLanguage);
  return [
    make('div', { class: 'weight', text: say('hidden_cell') }),
    ...(why.length ? why : [say('hidden_unknown')]).map((text) => make('div', { class: 'quiet', text, dir: 'auto' })),
  ];
}

/**
 * The strongest keys of a query, from the exact list if cells are joined.
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} query
 * @returns {{stretch: Stretch, value: number}[]}
 */
function strongestOf(shown, row, query) {
  const exact = shown.map.strongest;
  const columns = shown.keys.length;
  /** @type {{stretch: Stretch, value: number}[]} */
  const found = [];
  if (exact) {
    for (let at = query * exact.count; at < (query + 1) * exact.count; ++at) {
      const key = exact.keys[at] ?? NO_KEY;
      if (key !== NO_KEY) found.push({ stretch: { first: key, end: key + 1 }, value: exact.values[at] ?? NaN });
    }
    return found.slice(0, LISTED_KEYS);
  }
  for (let column = 0; column < columns; ++column) {
    const value = shown.values[row * columns + column] ?? NaN;
    if (shown.hidden?.[row * columns + column] || Number.isNaN(value)) continue;
    let place = found.length;
    while (place > 0 && (found[place - 1]?.value ?? 0) < value) --place;
    const stretch = shown.keys[column];
    if (place >= LISTED_KEYS || !stretch) continue;
    found.splice(place, 0, { stretch, value });
    found.length = Math.min(found.length, LISTED_KEYS);
  }
  return found;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} query
 * @returns {HTMLElement[]}
 */
function strongestReadout(shown, row, query) {
  const strongest = strongestOf(shown, row, query);
  if (strongest.length === 0) return [];
  const scale = chosenScale();
  const stretch = shown.map.strongest ? { first: query, end: query + 1 } : shown.queries[row];
  const items = strongest.map(({ stretch: key, value }) => make('li', {}, [
    isolated(placeName(keyTokens(), key, shown.words, 150)),
    scale ? barFromZero(value, Math.min(0, scale.log ? 0 : scale.low), scale.high) : '',
    make('span', { class: 'number', text: fourDigits(value) }),
  ]));
  const title = make('h3', { text: `${say('strongest_keys')} ` });
  title.append(isolated(stretch ? placeName(queryTokens(), stretch, shown.words) : ''));
  const parts = [title, make('ol', { class: 'strongest' }, items)];
  return shown.map.strongest ? [...parts, make('p', { class: 'quiet', text: say('exact_values') })] : parts;
}

/** Says aloud where the keys have moved to. */
function announceCursor() {
  const cell = byId('cell-readout', HTMLDivElement);
  const spoken = [...cell.children].map((child) =>
    [...child.childNodes].filter((node) => !(node instanceof HTMLButtonElement)).map((node) => node.textContent).join('').trim());
  byId('announcement', HTMLDivElement).textContent = spoken.join(', ');
}
