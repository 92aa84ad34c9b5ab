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
  if (position < queries) change({ query: position });
  const shown = chosenMap();
  const row = shown ? indexOfPosition(shown.queries, position) : -1;
  if (row >= 0) followCursor({ row, column: null, query: position });
  if (row >= 0 && page.choice.view === 'lines') scrollToRow(row);
}

function listenToSearch() {
  byId('search', HTMLInputElement).addEventListener('input', () => {
    search.present = -1;
    findTyped();
    redraw();
  });
  byId('search-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    pinNextFound();
    writeSearchCount();
  });
}
