/**
 * Changes what is shown.
 * @param {Partial<Choice>} part
 */
function change(part) {
  const { attention, head, other } = page.choice;
  Object.assign(page.choice, part);
  mendChoice(page.choice);
  followOther({ attention, head, other });
  if (!('query' in part) && !('key' in part)) page.cursor = null;
  writeAddressSoon();
  refresh().catch(showProblem);
}

/** Reads the maps that the choice needs, and shows everything anew. */
async function refresh() {
  const turn = ++page.turn;
  applyLook();
  writeControls();
  // Heads take the room that the list of paths leaves.
  writePaths();
  drawOverview();
  writeStatisticBar();
  writeStatisticsList();
  writeTrail();
  showPairs().catch(showProblem);
  showAnswer().catch(showProblem);
  showDivergences().catch(showProblem);
  const place = chosenPlace();
  const maps = chosenMaps();
  const section = byId('attention', HTMLElement);
  if (!place || !maps) {
    page.shown = new Map();
    page.other = null;
    return showProblem(new Error(say(page.view.attentions.length ? 'not_in_sample' : 'no_attention')));
  }
  section.ariaBusy = 'true';
  if (page.shown.size === 0) {
    page.problem = say('reading');
    showState();
  }
  const heads = page.choice.view === 'lines' ? [...new Set([...page.choice.heads, page.choice.head])] : [page.choice.head];
  const read = await Promise.all(heads.map((head) => readMap(place, maps, head)));
  if (turn !== page.turn) return;
  const other = page.choice.view === 'map' ? await readOther() : null;
  await readPicture();
  if (turn !== page.turn) return;
  page.shown = new Map(heads.map((head, index) => [head, shownOnce(/** @type {CellMap} */ (read[index]), queryTokens(), keyTokens())]));
  page.other = other;
  page.problem = '';
  findTyped();
  redraw();
  section.ariaBusy = 'false';
}

/** @type {WeakMap<CellMap, {choices: string, shown: ShownMap}>} */
const shownMaps = new WeakMap();

/**
 * A map as the choices leave it, made anew only if they changed.
 * @param {CellMap} map
 * @param {import('./data').Tokens | undefined} queries
 * @param {import('./data').Tokens | undefined} keys
 */
function shownOnce(map, queries, keys) {
  const choices = JSON.stringify([mapChoices(), speech.language]);
  const known = shownMaps.get(map);
  if (known?.choices === choices) return known.shown;
  const shown = showMap(map, areWeights(), queries, keys, mapChoices());
  shownMaps.set(map, { choices, shown });
  return shown;
}

/**
 * Says in the place of the view why there is none.
 * @returns {boolean} whether the choices leave no cell
 */
function showState() {
  const shown = chosenMap();
  const empty = shown !== undefined && (shown.queries.length === 0 || shown.keys.length === 0);
  const detail = byId('detail', HTMLDivElement);
  detail.classList.toggle('nothing', empty || page.problem !== '');
  detail.dataset['problem'] = page.problem || (empty ? say('no_cells') : '');
  return empty;
}

/** Draws the present view from what has been read. */
function redraw() {
  const empty = showState();
  writeLegend();
  writeHeadChips();
  writeTextLine();
  if (page.choice.left === 'pair' && pairView.shown === pairView.wanted) writePairList();
  if (!empty && !page.problem && !page.choice.enlarged) drawView();
  drawPicture();
  writeReadout();
  writeArithmetic().catch(showProblem);
  writeWhatIf().catch(showProblem);
  writeEvidence();
  writeQuestions();
  writeSearchCount();
  writeStatus();
  writeCommand();
}

function drawView() {
  const { view } = page.choice;
  if (view === 'map') drawMapView();
  if (view === 'text') drawStripView();
  if (view === 'table') writeTableView();
  if (view === 'lines') {
    gatherLines();
    drawLinesView();
    writeLineLegend();
  }
}

/** Language and colours of the page. */
function applyLook() {
  if (speech.language !== page.choice.language) {
    speech.language = page.choice.language;
    writeTexts();
    writeHelp();
    writeStory();
  }
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
}

/**
 * Says why there is nothing to see, where it would be.
 * @param {unknown} error
 */
function showProblem(error) {
  page.problem = say('no_map', { reason: error instanceof Error ? error.message : String(error) });
  redraw();
  byId('attention', HTMLElement).ariaBusy = 'false';
}

/** Puts the picture of the view, as wide as the page, in the place of what is on the screen. */
function putPrinted() {
  // Paper is light, whatever the screen is.
  paper.on = true;
  paper.printing = true;
  document.documentElement.dataset['theme'] = 'light';
  const svg = presentSvg();
  const drawing = svg === '' ? null : new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  drawing?.removeAttribute('width');
  drawing?.removeAttribute('height');
  byId('printed', HTMLDivElement).replaceChildren(...(drawing ? [drawing] : []));
  document.body.classList.toggle('drawn', drawing !== null);
}

function listen() {
  listenToSelectors();
  listenToOptions();
  listenToTabs();
  listenToOverview();
  listenToMap();
  listenToMinimap();
  listenToPicture();
  listenToLines();
  listenToStrips();
  listenToTextLine();
  listenToPairs();
  listenToWhatIf();
  listenToEvidence();
  listenToQuestions();
  listenToStory();
  listenToSecondPage();
  listenToAnswer();
  listenToSearch();
  listenToExport();
  listenToKeys();
  window.addEventListener('hashchange', () => {
    Object.assign(page.choice, choiceOf(location.hash, page.view.language));
    byId('search', HTMLInputElement).value = page.choice.found;
    change({});
  });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => change({}));
  // A page that is left within the pause comes back as it was.
  window.addEventListener('pagehide', writeAddress);
  window.addEventListener('beforeprint', putPrinted);
  window.addEventListener('afterprint', () => {
    paper.on = false;
    paper.printing = false;
    change({});
  });
  listenToSizes();
}

/** Draws anew when the views have another size, in the frame that has it where the window is what changed. */
function listenToSizes() {
  // The views are smaller when the text above them is there, and wider when the page is.
  const boxes = ['layout', 'views'].map((id) => byId(id, HTMLElement));
  let waiting = 0;
  let drawn = '';
  const drawSoon = () => {
    cancelAnimationFrame(waiting);
    ++page.sizes;
    waiting = requestAnimationFrame(() => {
      const sizes = boxes.map(({ clientWidth, clientHeight }) => `${clientWidth} × ${clientHeight}`).join();
      if (sizes === drawn) return;
      drawn = sizes;
      drawOverview();
      redraw();
    });
  };
  const observer = new ResizeObserver(drawSoon);
  for (const box of boxes) observer.observe(box);
  // An observer is told after a frame's drawing, too late for a browser that takes a picture of one frame.
  window.addEventListener('resize', drawSoon);
}

/** Shows the page. */
function start() {
  page.view = JSON.parse(document.getElementById('view')?.textContent ?? '');
  addDivergence();
  if (page.view.second === undefined) showPage();
  else addSecondPage().then(showPage).catch(showUnnamed);
}

/** Shows what was read. */
function showPage() {
  speech.language = page.view.language;
  page.choice = choiceOf(location.hash, page.view.language);
  speech.language = page.choice.language;
  mendChoice(page.choice);
  byId('search', HTMLInputElement).value = page.choice.found;
  byId('title', HTMLHeadingElement).textContent = page.view.title || page.view.program;
  const description = byId('description', HTMLParagraphElement);
  description.textContent = page.view.description;
  description.hidden = page.view.description === '';
  writeTexts();
  writeHelp();
  listen();
  beginStory();
  refresh().catch(showProblem);
  (page.thumbnails ? Promise.resolve(page.thumbnails) : readThumbnails(page.view)).then((thumbnails) => {
    page.thumbnails = thumbnails;
    drawOverview();
    document.body.dataset['thumbnails'] = 'drawn';
  }).catch(showProblem);
}

/** @param {unknown} error before there is a place for it */
function showUnnamed(error) {
  document.body.prepend(make('p', { role: 'alert', text: say('unnamed_error', { reason: String(error) }) }));
}

try {
  start();
} catch (error) {
  showUnnamed(error);
}
