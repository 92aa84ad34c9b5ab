const search = { present: -1 };

/** Finds what is typed, among the queries; of other keys too where they are other tokens. */
function findTyped() {
  const place = chosenPlace();
  const wanted = byId('search', HTMLInputElement).value;
  const queries = findTokens(queryTokens(), place?.queries ?? 0, wanted);
  const keys = place?.query_tokens === place?.key_tokens ? [] : findTokens(keyTokens(), place?.keys ?? 0, wanted);
  page.found = [...new Set([...queries, ...keys])].sort((a, b) => a - b);
  if (/^\d+$/.test(wanted.trim()) && queries[0] !== undefined) {
    page.found = [queries[0], ...page.found.filter((position) => position !== queries[0])];
  }
}

function writeSearchCount() {
  const typed = byId('search', HTMLInputElement).value.trim() !== '';
  const count = byId('search-count', HTMLOutputElement);
  if (!typed) count.textContent = '';
  else if (page.found.length === 0) count.textContent = say('search_none');
  else count.textContent = say('search_found', { present: Math.max(0, search.present) + 1, all: page.found.length });
}

/** Pins the next token that was found. */
function pinNextFound() {
  if (page.found.length === 0) return;
  search.present = (search.present + 1) % page.found.length;
  const position = page.found[search.present] ?? 0;
  const queries = chosenPlace()?.queries ?? 0;
  if (position < queries) change({ query: position, key: null });
  const shown = chosenMap();
  const row = shown ? indexOfPosition(shown.queries, position) : -1;
  if (row >= 0) followCursor({ row, column: null, query: position });
  if (row >= 0 && page.choice.view === 'lines') scrollToRow(row);
}

function listenToSearch() {
  byId('search', HTMLInputElement).addEventListener('input', () => {
    search.present = -1;
    page.choice.found = byId('search', HTMLInputElement).value;
    writeAddressSoon();
    findTyped();
    redraw();
  });
  byId('search-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    pinNextFound();
    writeSearchCount();
  });
}

/** The keys of the page, as its help tells them. @type {[string, TextName][]} */
const KEY_TABLE = [
  ['← ↑ ↓ →', 'keys_arrows_heads'], ['Enter', 'keys_enter_heads'], ['← ↑ ↓ →', 'keys_arrows_cells'], ['Home, End', 'keys_home_end'],
  ['Page ↑, Page ↓', 'keys_pages'], ['Shift + ← ↑ ↓ →', 'keys_shift_arrows'], ['Enter', 'keys_enter_cells'], ['Esc', 'keys_escape'],
  ['Backspace', 'keys_backspace'], ['+, −, 0', 'keys_zoom'], ['1, 2, 3, 4', 'keys_views'], ['/', 'keys_search'], ['?', 'keys_help'],
];

const VIEW_NAMES = /** @type {const} */ (['map', 'lines', 'text', 'table']);

/** What readers ask, and where the page answers. @type {[TextName, TextName][]} */
const ASKED = [
  ['help_link', 'help_link_where'], ['help_copy', 'help_copy_where'], ['help_without', 'help_without_where'], ['help_hidden', 'help_hidden_where'], ['help_luck', 'help_luck_where'],
];

/**
 * A text whose flags of the program stay on one line.
 * @param {string} text
 */
function withFlags(text) {
  return text.split(/(--[a-z]+)/).map((part, at) => (at % 2 === 1 ? make('code', { text: part }) : part));
}

/** Writes the help's questions and its table of keys. */
function writeHelp() {
  byId('help-questions', HTMLDListElement).replaceChildren(...ASKED.flatMap(([question, where]) => [make('dt', { text: say(question) }), make('dd', {}, withFlags(say(where)))]));
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
  const lines = page.choice.view === 'lines';
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey && move) return;
  if (move) moveCursor(...move);
  else if (zoom !== undefined && page.choice.view === 'map') zoomMap(zoom);
  else if (zoom !== undefined && lines) zoomLines(zoom);
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
  const trail = trailSteps();
  const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] });
  const step = steps[event.key];
  const view = VIEW_NAMES[Number(event.key) - 1];
  if (event.key === '?') byId('help', HTMLDialogElement).showModal();
  else if (event.key === '/') byId('search', HTMLInputElement).focus();
  else if (event.key === 'Escape') change({ query: null, key: null });
  else if (event.key === 'Backspace' && trail.length) walkBack(trail.length - 1);
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

/** Fills all fields with the present choice. */
function writeControls() {
  const { choice, view } = page;
  const attention = chosenAttention();
  const place = chosenPlace();
  const several = new Set(view.attentions.map(({ stack }) => inLanguage(stack))).size > 1;
  fillSelect(byId('layer', HTMLSelectElement), view.attentions.map((other, index) =>
    [String(index), inLanguage(other.title) || say('layer_number', { layer: layerNumber(other) }) + (several ? ` (${inLanguage(other.stack)})` : '')]), String(choice.attention));
  fillSelect(byId('head', HTMLSelectElement), Array.from({ length: attention?.heads ?? 0 }, (_, head) => [String(head), say('head_number', { head: headNumber(attention, head) })]), String(choice.head));
  fillSelect(byId('sample', HTMLSelectElement), view.samples.map(({ title }, index) => [String(index), shortened(inLanguage(title), 14, 260)]), String(choice.sample));
  fillSelect(byId('tensor', HTMLSelectElement), (place?.maps ?? []).map(({ tensor, title }) => [tensor, inLanguage(title)]), choice.tensor);
  const parts = partsOfPlace().map(([value]) => {
    const [query = '', key = ''] = value.split('-');
    return /** @type {[string, string]} */ ([value, say('part_from_to', { query, key })]);
  });
  fillSelect(byId('part', HTMLSelectElement), [['', say('part_all')], ...parts], choice.part);
  fillSelect(byId('other', HTMLSelectElement), othersToCompare(), choice.other);
  byId('other-field', HTMLLabelElement).hidden = choice.view !== 'map' || othersToCompare().length < 2;
  byId('sample-field', HTMLLabelElement).hidden = view.samples.length < 2;
  byId('tensor-field', HTMLLabelElement).hidden = (place?.maps.length ?? 0) < 2;
  byId('part-field', HTMLLabelElement).hidden = parts.length === 0;
  byId('attention-title', HTMLHeadingElement).textContent = attention ? headTitle(attention, choice.head) : say('attention');
  writeOptions();
  writeSegments();
}

function writeOptions() {
  const { choice } = page;
  byId('words', HTMLInputElement).checked = choice.words;
  byId('words-field', HTMLLabelElement).hidden = !hasWords(queryTokens()) && !hasWords(keyTokens());
  byId('sentences', HTMLInputElement).checked = choice.sentences;
  byId('sentences-field', HTMLLabelElement).hidden = !hasSentences(queryTokens()) && !hasSentences(keyTokens());
  byId('leave', HTMLSelectElement).value = choice.leave;
  byId('renormalise', HTMLInputElement).checked = choice.renormalise;
  byId('threshold', HTMLInputElement).value = choice.threshold > 0 ? String(choice.threshold) : '';
  byId('strongest', HTMLInputElement).value = choice.strongest > 0 ? String(choice.strongest) : '';
  byId('own-range', HTMLInputElement).checked = choice.own;
  byId('scale', HTMLSelectElement).value = choice.scale;
  byId('language', HTMLSelectElement).value = choice.language;
  byId('theme', HTMLSelectElement).value = choice.theme;
}

function writeSegments() {
  const { choice, view } = page;
  for (const button of byId('heads-shown-as', HTMLDivElement).querySelectorAll('button')) {
    const { value } = button.dataset;
    button.ariaPressed = String(value === choice.left);
    button.hidden = value === 'paths' ? !view.paths : view.statistics.length === 0 && (value === 'statistic' || value === 'list');
  }
  for (const id of ['export-png', 'export-svg']) byId(id, HTMLButtonElement).hidden = !hasPicture();
  const enlarge = byId('enlarge', HTMLButtonElement);
  enlarge.ariaPressed = String(choice.enlarged);
  enlarge.textContent = say(choice.enlarged ? 'shrink' : 'enlarge');
  document.body.classList.toggle('enlarged', choice.enlarged);
  byId('zoom', HTMLDivElement).hidden = choice.view !== 'map' && choice.view !== 'lines';
  for (const name of VIEW_NAMES) {
    const tab = byId(`tab-${name}`, HTMLButtonElement);
    tab.ariaSelected = String(choice.view === name);
    tab.tabIndex = choice.view === name ? 0 : -1;
    byId(`view-${name}`, HTMLDivElement).hidden = choice.view !== name;
  }
}

/** Whether the page is dark now. */
function isDark() {
  return page.choice.theme === 'dark' || (page.choice.theme === 'system' && window.matchMedia('(prefers-color-scheme: dark)').matches);
}

function listenToSelectors() {
  const selects = /** @type {[string, (value: string) => Partial<Choice>][]} */ ([
    ['layer', (value) => ({ attention: Number(value), heads: [page.choice.head] })],
    ['head', (value) => ({ head: Number(value), heads: page.choice.heads.length > 1 ? page.choice.heads : [Number(value)] })],
    ['sample', (value) => ({ sample: Number(value), query: null, key: null, part: '', trail: '', what: '' })],
    ['tensor', (value) => ({ tensor: value })],
    ['part', (value) => ({ part: value })],
    ['leave', (value) => ({ leave: value })],
    ['scale', (value) => ({ scale: value })],
    ['statistic', (value) => ({ statistic: Number(value) })],
    ['language', (value) => ({ language: value })],
    ['theme', (value) => ({ theme: value })],
  ]);
  for (const [id, chosen] of selects) {
    const select = byId(id, HTMLSelectElement);
    select.addEventListener('change', () => change(chosen(select.value)));
  }
  const other = byId('other', HTMLSelectElement);
  other.addEventListener('change', () => {
    if (other.value !== 'page') return change({ other: other.value });
    other.value = page.choice.other;
    byId('second-file', HTMLInputElement).click();
  });
  const steps = /** @type {[string, number, number][]} */ ([['layer-before', -1, 0], ['layer-after', 1, 0], ['head-before', 0, -1], ['head-after', 0, 1]]);
  for (const [id, layers, heads] of steps) byId(id, HTMLButtonElement).addEventListener('click', () => stepHead(layers, heads));
}

function listenToOptions() {
  const checks = /** @type {[string, 'words' | 'sentences' | 'renormalise' | 'own'][]} */ ([['words', 'words'], ['sentences', 'sentences'], ['renormalise', 'renormalise'], ['own-range', 'own']]);
  for (const [id, name] of checks) {
    const input = byId(id, HTMLInputElement);
    input.addEventListener('change', () => change({ [name]: input.checked }));
  }
  const threshold = byId('threshold', HTMLInputElement);
  threshold.addEventListener('change', () => change({ threshold: Math.max(0, Number(threshold.value) || 0) }));
  const strongest = byId('strongest', HTMLInputElement);
  strongest.addEventListener('change', () => change({ strongest: Math.max(0, Math.floor(Number(strongest.value)) || 0) }));
  byId('options-reset', HTMLButtonElement).addEventListener('click', () => {
    const { words, sentences, leave, renormalise, threshold: none, strongest: all, own, part, scale } = firstChoice();
    change({ words, sentences, leave, renormalise, threshold: none, strongest: all, own, part, scale });
  });
  for (const name of ['options', 'export']) {
    const button = byId(`${name}-button`, HTMLButtonElement);
    button.addEventListener('click', () => {
      const drawer = byId(name, HTMLDivElement);
      drawer.hidden = !drawer.hidden;
      button.ariaExpanded = String(!drawer.hidden);
      redraw();
    });
  }
}

function listenToTabs() {
  const tabs = byId('tabs', HTMLDivElement);
  tabs.addEventListener('click', (event) => {
    const view = VIEW_NAMES.find((name) => event.target === byId(`tab-${name}`, HTMLButtonElement));
    if (view) change({ view });
  });
  tabs.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0 || event.shiftKey) return;
    const view = VIEW_NAMES[(VIEW_NAMES.indexOf(page.choice.view) + step + VIEW_NAMES.length) % VIEW_NAMES.length] ?? 'map';
    change({ view });
    byId(`tab-${view}`, HTMLButtonElement).focus();
    event.preventDefault();
  });
  byId('heads-shown-as', HTMLDivElement).addEventListener('click', (event) => {
    const value = event.target instanceof HTMLElement ? event.target.dataset['value'] : undefined;
    if (value === 'maps' || value === 'statistic' || value === 'pair' || value === 'paths' || value === 'list') change({ left: value, query: page.choice.query, key: page.choice.key });
  });
  byId('enlarge', HTMLButtonElement).addEventListener('click', () => change({ enlarged: !page.choice.enlarged }));
}
