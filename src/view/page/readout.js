/** How many of the strongest keys are listed. */
const LISTED_KEYS = 10;

/**
 * Where the reader points now; null = nowhere.
 * @param {Cursor | null} cursor
 */
function pointAt(cursor) {
  const same = cursor === page.cursor || (cursor && page.cursor && cursor.row === page.cursor.row &&
    cursor.column === page.cursor.column && cursor.query === page.cursor.query);
  if (same) return;
  page.cursor = cursor;
  if (page.choice.view === 'map') drawMapCross();
  if (page.choice.view === 'lines') drawLinesView();
  if (page.choice.view === 'text') markStripCursor();
  writeReadout();
}

/**
 * Pins the query of a place, or lets it go if it was pinned.
 * @param {Cursor | null} cursor
 */
function pinAt(cursor) {
  if (!cursor) return;
  const shown = chosenMap();
  const joined = shown && !shown.map.exactCells;
  const again = joined ? page.choice.query === cursor.query : pinnedRow() === cursor.row;
  page.cursor = cursor;
  change({ query: again ? null : cursor.query });
}

/** Tells what is at the pointer, or of the pinned query. */
function writeReadout() {
  const shown = chosenMap();
  const cell = byId('cell-told', HTMLDivElement);
  const list = byId('strongest-keys', HTMLDivElement);
  const pinned = pinnedRow();
  const row = page.cursor?.row ?? pinned;
  if (!shown || row < 0) {
    cell.replaceChildren(make('p', { class: 'quiet', text: say('readout_hint') }));
    list.replaceChildren();
    return;
  }
  const query = page.cursor?.query ?? page.choice.query ?? 0;
  cell.replaceChildren(...cellTold(shown, row, page.cursor?.column ?? null, query));
  const listed = page.choice.query !== null && pinned >= 0 ? { row: pinned, query: page.choice.query } : { row, query };
  list.replaceChildren(...strongestTold(shown, listed.row, listed.query));
}

/**
 * A token's name with its number, as in "Query 3 fox".
 * @param {'query_named' | 'key_named'} kind
 * @param {Stretch} stretch
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} words
 */
function namedPlace(kind, stretch, tokens, words) {
  const numbers = numbersOf(stretch);
  const name = kind === 'query_named' ? say(kind, { query: numbers }) : say(kind, { key: numbers });
  return make('div', { class: 'named' }, [make('span', { class: 'quiet', text: name }), ' ', isolated(textOf(tokens, stretch, words))]);
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number | null} column
 * @param {number} query
 * @returns {HTMLElement[]}
 */
function cellTold(shown, row, column, query) {
  const stretch = shown.queries[row];
  const key = column === null ? undefined : shown.keys[column];
  const joined = !shown.map.exactCells;
  const parts = [namedPlace('query_named', stretch && !joined ? stretch : { first: query, end: query + 1 }, queryTokens(), shown.words)];
  if (pinnedRow() === row) parts[0]?.append(' ', make('span', { class: 'tag', text: say('pinned') }), ' ', unpinButton());
  if (!key || column === null) return parts;
  parts.push(namedPlace('key_named', key, keyTokens(), shown.words));
  const cell = cellAt(shown, row, column);
  if (cell.hidden) return [...parts, ...hiddenTold()];
  parts.push(make('div', { class: 'weight', text: fourDigits(cell.value) }));
  parts.push(make('div', { class: 'quiet', text: rankTold(shown, row, column) }));
  if (shown.map.error > 0) parts.push(make('div', { class: 'quiet', text: say('rounded', { error: shortNumber(Number(shown.map.error.toPrecision(2))) }) }));
  if (cell.faint) parts.push(make('div', { class: 'quiet', text: say('below_limits') }));
  return parts;
}

function unpinButton() {
  const button = make('button', { type: 'button', class: 'unpin', text: '×', 'aria-label': say('unpin'), title: say('unpin') });
  button.addEventListener('click', () => {
    page.cursor = null;
    change({ query: null });
    focusView();
  });
  return button;
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 */
function rankTold(shown, row, column) {
  const query = shown.queries[row];
  const key = shown.keys[column];
  const cells = query && key ? (query.end - query.first) * (key.end - key.first) : 1;
  return shown.map.exactCells ? say('rank', rankInRow(shown, row, column)) : say('rank_in_cells', { count: cells });
}

/** @returns {HTMLElement[]} */
function hiddenTold() {
  const why = (chosenPlace()?.hidden_because ?? []).map(told);
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
function strongestTold(shown, row, query) {
  const strongest = strongestOf(shown, row, query);
  if (strongest.length === 0) return [];
  const scale = chosenScale();
  const stretch = shown.map.exactCells ? shown.queries[row] : { first: query, end: query + 1 };
  const items = strongest.map(({ stretch: key, value }) => {
    const bar = make('span', { class: 'bar-of-weight' });
    bar.style.width = `${100 * (scale && Number.isFinite(value) ? shareOf(scale, value) : 0)}%`;
    return make('li', {}, [
      make('span', { class: 'number quiet', text: numbersOf(key) }),
      isolated(shortened(textOf(keyTokens(), key, shown.words), 13, 150)),
      make('span', { class: 'track', 'aria-hidden': 'true' }, [bar]),
      make('span', { class: 'number', text: fourDigits(value) }),
    ]);
  });
  const title = make('h3', { text: `${say('strongest_keys', { query: stretch ? numbersOf(stretch) : '' })} ` });
  title.append(isolated(stretch ? textOf(queryTokens(), stretch, shown.words) : ''));
  const parts = [title, make('ol', { class: 'strongest' }, items)];
  return shown.map.strongest ? [...parts, make('p', { class: 'quiet', text: say('exact_values') })] : parts;
}

/** Says aloud where the keys have moved to. */
function announceCursor() {
  const cell = byId('cell-told', HTMLDivElement);
  const spoken = [...cell.children].map((child) =>
    [...child.childNodes].filter((node) => !(node instanceof HTMLButtonElement)).map((node) => node.textContent).join('').trim());
  byId('announcement', HTMLDivElement).textContent = spoken.join(', ');
}
