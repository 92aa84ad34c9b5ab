/** The keys of the page, as its help tells them. @type {[string, TextName][]} */
const KEY_TABLE = [
  ['← ↑ ↓ →', 'keys_arrows_heads'], ['Enter', 'keys_enter_heads'], ['← ↑ ↓ →', 'keys_arrows_cells'], ['Home, End', 'keys_home_end'],
  ['Page ↑, Page ↓', 'keys_pages'], ['Shift + ← ↑ ↓ →', 'keys_shift_arrows'], ['Enter', 'keys_enter_cells'], ['Esc', 'keys_escape'],
  ['+, −, 0', 'keys_zoom'], ['1, 2, 3, 4', 'keys_views'], ['/', 'keys_search'], ['?', 'keys_help'],
];

const VIEW_NAMES = /** @type {const} */ (['map', 'lines', 'text', 'table']);

/** Writes the help's table. */
function writeHelp() {
  const rows = KEY_TABLE.map(([keys, name]) => make('tr', {}, [make('th', { scope: 'row' }, [make('kbd', { text: keys })]), make('td', { text: say(name) })]));
  rows.push(make('tr', {}, [make('th', { scope: 'row', text: say('mouse') }), make('td', { text: say('keys_pan') })]));
  byId('help-keys', HTMLTableElement).replaceChildren(make('tbody', {}, rows));
  byId('program', HTMLParagraphElement).textContent = page.view.program;
}

/** The element that has the keys of the present view. */
function focusView() {
  const ids = { map: 'map', lines: 'lines', table: 'table', text: '' };
  const id = ids[page.choice.view];
  if (id) byId(id, HTMLDivElement).focus();
  else /** @type {HTMLElement | null} */ (byId('strips', HTMLDivElement).querySelector('[tabindex="0"]'))?.focus();
}

/**
 * Moves the cursor over the shown map.
 * @param {number} rows
 * @param {number} columns
 */
function moveCursor(rows, columns) {
  const shown = chosenMap();
  if (!shown || shown.queries.length === 0) return;
  const lines = page.choice.view === 'lines';
  const from = page.cursor ?? { row: Math.max(0, pinnedRow()), column: 0, query: 0 };
  const moved = page.cursor !== null;
  const row = Math.max(0, Math.min(shown.queries.length - 1, from.row + (moved ? rows : 0)));
  const column = Math.max(0, Math.min(shown.keys.length - 1, (from.column ?? 0) + (moved ? columns : 0)));
  pointAt({ row, column: lines ? null : column, query: shown.queries[row]?.first ?? 0 });
  if (lines) scrollToRow(row);
  else followCursor({ row, column, query: 0 });
  announceCursor();
}

/** @param {number} row */
function scrollToRow(row) {
  const box = byId('lines', HTMLDivElement);
  const top = 34 + row * linesView.rowHeight;
  if (top - 34 < box.scrollTop) box.scrollTop = top - 34;
  if (top + linesView.rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + linesView.rowHeight - box.clientHeight;
}

/**
 * Keys of the map and the lines.
 * @param {KeyboardEvent} event
 */
function keyOfView(event) {
  const moves = /** @type {Record<string, [number, number]>} */ ({
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -1e9], End: [0, 1e9],
  });
  const zooms = /** @type {Record<string, number>} */ ({ '+': 1.5, '=': 1.5, '-': 1 / 1.5, '0': 0 });
  const move = moves[event.key];
  const zoom = zooms[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey && move) return;
  if (move) moveCursor(...move);
  else if (zoom !== undefined && page.choice.view === 'map') zoomMap(zoom);
  else if (event.key === 'Enter' || event.key === ' ') pinAt(page.cursor);
  else return;
  event.preventDefault();
}

/**
 * Keys of the whole page.
 * @param {KeyboardEvent} event
 */
function keyOfPage(event) {
  const typing = event.target instanceof Element && event.target.closest('input, select, textarea, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] });
  const step = steps[event.key];
  const view = VIEW_NAMES[Number(event.key) - 1];
  if (event.key === '?') byId('help', HTMLDialogElement).showModal();
  else if (event.key === '/') byId('search', HTMLInputElement).focus();
  else if (event.key === 'Escape') change({ query: null, key: null });
  else if (event.shiftKey && step) {
    stepHead(...step);
    announceHead();
  } else if (view) {
    change({ view });
    focusView();
  } else return;
  event.preventDefault();
}

function announceHead() {
  const attention = chosenAttention();
  byId('announcement', HTMLDivElement).textContent = attention ? headTitle(attention, page.choice.head) : '';
}

function listenToKeys() {
  byId('map', HTMLDivElement).addEventListener('keydown', keyOfView);
  byId('lines', HTMLDivElement).addEventListener('keydown', keyOfView);
  document.addEventListener('keydown', keyOfPage);
  byId('help-button', HTMLButtonElement).addEventListener('click', () => byId('help', HTMLDialogElement).showModal());
}
