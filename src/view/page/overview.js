/**
 * Attentions of one stack, from top to bottom. The heads of a single one take several lines, `across` in each.
 * @typedef {{title: string, rows: number[], heads: number}} Stack
 * @typedef {{size: number, across: number}} GridSize
 */

/** @returns {Stack[]} */
function stacksOfView() {
  /** @type {Map<string, Stack>} */
  const stacks = new Map();
  page.view.attentions.forEach((attention, index) => {
    const title = inLanguage(attention.stack);
    const stack = stacks.get(title) ?? { title, rows: [], heads: 0 };
    stack.rows.push(index);
    stack.heads = Math.max(stack.heads, attention.heads);
    stacks.set(title, stack);
  });
  return [...stacks.values()];
}

/** State that the overview was drawn for, so that nothing is drawn twice. */
const drawn = {
  grids: '', pictures: '',
  /** What the sizes of places depend on, so that they are not measured again. */
  sizes: '',
  stacks: /** @type {{stack: Stack, grid: GridSize}[]} */ ([]),
};

const HEADER_WIDTH = 26;

/** Smallest, usual and largest place of a head, and the largest of enlarged ones. */
const LEAST_PLACE = 13;
const USUAL_PLACE = 96;
const LARGEST_PLACE = 200;
const ENLARGED_PLACE = 320;

/** The room for places of heads. */
function roomOfStacks() {
  const box = byId('stacks', HTMLDivElement);
  return { width: box.clientWidth - HEADER_WIDTH - 14, height: isNarrow() ? window.innerHeight * 0.5 : box.clientHeight };
}

/** The size of one head's place, by the room, the most heads and all rows. */
function placeSize() {
  const { width, height } = roomOfStacks();
  const stacks = stacksOfView();
  const heads = Math.max(1, ...stacks.map((stack) => stack.heads));
  const rows = stacks.reduce((sum, stack) => sum + stack.rows.length, 0);
  const high = Math.min(LARGEST_PLACE, Math.floor((height - 44 * stacks.length) / Math.max(1, rows)));
  // Lines between heads are seen whole.
  const most = page.choice.left === 'paths' ? high : page.choice.enlarged ? ENLARGED_PLACE : Math.max(USUAL_PLACE, high);
  return Math.max(LEAST_PLACE, Math.min(most, Math.floor(width / heads)));
}

/**
 * The size of the places of a stack: the heads of a single attention fill the room in several lines.
 * @param {Stack} stack
 * @param {number} size of the places of others
 * @returns {GridSize}
 */
function gridSize(stack, size) {
  const most = page.choice.enlarged ? ENLARGED_PLACE : LARGEST_PLACE;
  if (stack.rows.length > 1 || stack.heads < 2 || size >= USUAL_PLACE) return { size, across: stack.heads };
  const { width, height } = roomOfStacks();
  const high = height / stacksOfView().length - 44;
  let best = { size, across: stack.heads };
  for (let across = 1; across < stack.heads; ++across) {
    const side = Math.min(most, Math.floor(width / across), Math.floor(high / Math.ceil(stack.heads / across)));
    if (side > best.size) best = { size: side, across };
  }
  return best.size * best.across > width ? { size: LEAST_PLACE, across: Math.max(1, Math.floor(width / LEAST_PLACE)) } : best;
}

/** Draws layers × heads, as maps or as statistics. */
function drawOverview() {
  const { choice } = page;
  const box = byId('stacks', HTMLDivElement);
  box.hidden = choice.left === 'list';
  if (box.hidden) return;
  const sizes = JSON.stringify([page.sizes, choice.left, choice.enlarged, choice.statistic, speech.language, window.innerHeight]);
  if (sizes !== drawn.sizes) {
    const size = placeSize();
    drawn.stacks = stacksOfView().map((stack) => ({ stack, grid: gridSize(stack, size) }));
    drawn.sizes = sizes;
  }
  const { stacks } = drawn;
  const grids = JSON.stringify([speech.language, stacks.map(({ grid }) => grid), choice.sample, choice.left]);
  if (grids !== drawn.grids) {
    box.replaceChildren(...stacks.map(({ stack, grid }) => makeGrid(stack, grid)));
    drawn.grids = grids;
    drawn.pictures = '';
  }
  const pictures = JSON.stringify([choice.sample, choice.left, choice.left === 'pair' ? pairView.shown : choice.left === 'maps' ? '' : [choice.statistic, answeredToken()], choice.scale, choice.own, Boolean(page.thumbnails), document.documentElement.dataset['theme'], isDark()]);
  if (pictures !== drawn.pictures) {
    for (const grid of box.querySelectorAll('.stack')) paintGrid(/** @type {HTMLElement} */ (grid));
    drawn.pictures = pictures;
  }
  markChosenHead();
}

/**
 * @param {Stack} stack
 * @param {GridSize} places
 */
function makeGrid(stack, { size, across }) {
  const wrapped = across < stack.heads;
  const numbers = Array.from({ length: across }, (_, head) => {
    const text = String(headNumber(page.view.attentions[stack.rows[0] ?? 0], head));
    const crowded = wrapped || (size < 18 && head > 0 && (head + 1) % 4 > 0);
    return make('div', { role: 'columnheader' }, [crowded ? make('span', { class: 'unseen', text }) : text]);
  });
  const grid = make('div', { role: 'grid', 'aria-label': stack.title || say('heads') }, [
    make('div', { role: 'row' }, [make('div', { role: 'columnheader' }, [make('span', { class: 'unseen', text: say('layer') })]), ...numbers]),
    ...stack.rows.flatMap((index) => makeGridRows(index, across)),
  ]);
  grid.style.gridTemplateColumns = `${HEADER_WIDTH}px repeat(${across}, ${size}px)`;
  grid.style.gridAutoRows = `${size}px`;
  grid.style.gridTemplateRows = '18px';
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  canvas.style.left = `${HEADER_WIDTH}px`;
  const made = make('section', { class: 'stack' }, [
    make('h3', {}, [make('bdi', { text: stack.title }), ' ', make('span', { class: 'axes', text: axesSaying(stack) + pooledSaying(stack) })]), make('div', { class: 'grid-box' }, [canvas, grid])]);
  made.dataset['rows'] = stack.rows.join();
  made.dataset['across'] = String(across);
  made.dataset['size'] = String(size);
  return made;
}

/** @param {Stack} stack */
function axesSaying({ rows, heads }) {
  if (rows.length > 1) return say('layers_by_heads');
  return heads > 1 ? say('only_heads') : '';
}

/**
 * A saying that pixels of thumbnails are maxima, where they are.
 * @param {Stack} stack
 */
function pooledSaying(stack) {
  const place = page.view.attentions[stack.rows[0] ?? 0]?.samples[page.choice.sample];
  const side = page.view.thumbnails.side;
  if (!place || page.choice.left !== 'maps' || Math.max(place.queries, place.keys) <= side) return '';
  const cells = (/** @type {number} */ positions) => Math.ceil(positions / Math.min(side, positions));
  return ` · ${say('thumbnail_pixels', { rows: cells(place.queries), columns: cells(place.keys) })}`;
}

/**
 * The lines of an attention; those of one in several lines are numbered by their first heads.
 * @param {number} index of an attention
 * @param {number} across
 */
function makeGridRows(index, across) {
  const attention = page.view.attentions[index];
  const heads = attention?.heads ?? 0;
  return Array.from({ length: Math.max(1, Math.ceil(heads / across)) }, (_, line) => {
    const cells = Array.from({ length: Math.min(across, heads - line * across) }, (_, at) => {
      const cell = make('div', { role: 'gridcell', tabindex: '-1' });
      cell.dataset['attention'] = String(index);
      cell.dataset['head'] = String(line * across + at);
      return cell;
    });
    const number = heads > across ? headNumber(attention, line * across) : attention ? layerNumber(attention) : 0;
    return make('div', { role: 'row' }, [make('div', { role: 'rowheader', text: String(number), title: inLanguage(attention?.title ?? '') }), ...cells]);
  });
}

/** @param {HTMLElement} stack */
function paintGrid(stack) {
  const rows = (stack.dataset['rows'] ?? '').split(',').map(Number);
  const [across, size] = [Number(stack.dataset['across']), Number(stack.dataset['size'])];
  const canvas = stack.querySelector('canvas');
  if (!canvas) return;
  const lines = rows.reduce((sum, attention) => sum + Math.ceil((page.view.attentions[attention]?.heads ?? 0) / across), 0);
  const context = fitCanvas(canvas, across * size, lines * size);
  context.clearRect(0, 0, across * size, lines * size);
  paintStack(canvasPen(context), rows, { size, across }, 0, 0);
  if (page.choice.left === 'paths') paintPaths(canvasPen(context), rows, { size, across });
  labelCells(stack);
}

/**
 * Maps or statistics of the rows' heads.
 * @param {Pen} pen
 * @param {number[]} rows attentions
 * @param {GridSize} places
 * @param {number} left
 * @param {number} top
 */
function paintStack(pen, rows, { size, across }, left, top) {
  const gap = size > 24 ? 3 : 1;
  const range = statisticRange(page.choice.statistic);
  rows.forEach((attention, row) => {
    for (let head = 0; head < (page.view.attentions[attention]?.heads ?? 0); ++head) {
      const [x, y, side] = [left + (head % across) * size, top + (row + Math.floor(head / across)) * size, size - gap];
      if (page.choice.left === 'pair') paintPair(pen, attention, head, x, y, side);
      else if (page.choice.left === 'paths') paintDirect(pen, attention, head, x, y, side);
      else if (page.choice.left === 'maps') {
        const picture = thumbnailOf(attention, head);
        if (picture) pen.image(picture, x, y, side, side);
      } else {
        paintStatistic(pen, statisticOf(attention, head, page.choice.statistic), range, x, y, side);
      }
    }
  });
}

/**
 * Labels of the cells tell the statistic too where it is shown.
 * @param {HTMLElement} stack
 */
function labelCells(stack) {
  const cells = /** @type {NodeListOf<HTMLElement>} */ (stack.querySelectorAll('[role=gridcell]'));
  for (const cell of cells) {
    const [index, head] = [Number(cell.dataset['attention']), Number(cell.dataset['head'])];
    const attention = page.view.attentions[index];
    const place = say('layer_and_head', { layer: attention ? layerNumber(attention) : 0, head: headNumber(attention, head) });
    const value = page.choice.left === 'paths' ? directEffect(index, head) : statisticOf(index, head, page.choice.statistic);
    const label = page.choice.left === 'maps' ? place : page.choice.left === 'pair' ? pairLabel(place, index, head)
      : say('statistic_cell', { place, value: value === null ? say('unknown_value') : fourDigits(value) });
    if (cell.title === label) continue;
    cell.title = label;
    cell.setAttribute('aria-label', label);
  }
}

/** Marks the chosen head; it alone is reached by the Tab key. */
function markChosenHead() {
  const cells = /** @type {NodeListOf<HTMLElement>} */ (byId('stacks', HTMLDivElement).querySelectorAll('[role=gridcell]'));
  for (const cell of cells) {
    const chosen = Number(cell.dataset['attention']) === page.choice.attention && Number(cell.dataset['head']) === page.choice.head;
    if (cell.ariaSelected !== String(chosen)) cell.ariaSelected = String(chosen);
    if (cell.tabIndex !== (chosen ? 0 : -1)) cell.tabIndex = chosen ? 0 : -1;
  }
}

/** @returns {HTMLElement | null} */
function chosenHeadCell() {
  return byId('stacks', HTMLDivElement).querySelector('[role=gridcell][aria-selected=true]');
}

/**
 * Another head; lines follow it unless several heads' are drawn.
 * @param {number} attention
 * @param {number} head
 */
function chooseHead(attention, head) {
  const heads = page.choice.heads.length > 1 && attention === page.choice.attention ? page.choice.heads : [head];
  change({ attention, head, heads });
}

/**
 * Heads in a line of an attention's grid where there are several lines of it; 0 = one line.
 * @param {number} attention
 */
function acrossOf(attention) {
  const cell = byId('stacks', HTMLDivElement).querySelector(`[data-attention="${attention}"]`);
  const across = Number(/** @type {HTMLElement | null} */ (cell?.closest('.stack'))?.dataset['across'] ?? 0);
  return across < (page.view.attentions[attention]?.heads ?? 0) ? across : 0;
}

/**
 * The next layer or head in a direction, over the stacks.
 * @param {number} layers
 * @param {number} heads
 */
function stepHead(layers, heads) {
  const order = stacksOfView().flatMap(({ rows }) => rows);
  const at = order.indexOf(page.choice.attention);
  const line = layers * acrossOf(page.choice.attention);
  if (line !== 0 && within(page.choice.head + line, page.view.attentions[page.choice.attention]?.heads ?? 1) === page.choice.head + line) return chooseHead(page.choice.attention, page.choice.head + line);
  const attention = order[Math.max(0, Math.min(order.length - 1, at + layers))] ?? 0;
  const most = page.view.attentions[attention]?.heads ?? 1;
  chooseHead(attention, Math.max(0, Math.min(most - 1, page.choice.head + heads)));
}

/** A head that is pointed at, in the grids or in the list, is the one that the predictions are told without. */
function listenToPointedHeads() {
  const pointAtHead = (/** @type {Element | null} */ element) => {
    page.pointedHead = element instanceof HTMLElement ? { attention: Number(element.dataset['attention']), head: Number(element.dataset['head']) } : null;
    if (page.view.effects) writePredictions();
  };
  for (const id of ['stacks', 'statistics-list']) {
    const box = byId(id, HTMLDivElement);
    box.addEventListener('pointerover', ({ target }) => pointAtHead(target instanceof Element ? target.closest('[data-head]') : null));
    box.addEventListener('pointerleave', () => pointAtHead(null));
  }
}

/** Clicks and keys of the grids. */
function listenToOverview() {
  const box = byId('stacks', HTMLDivElement);
  const cellOf = (/** @type {Event} */ event) =>
    event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest('[role=gridcell]')) : null;
  box.addEventListener('click', (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    chooseHead(Number(cell.dataset['attention']), Number(cell.dataset['head']));
    if (page.choice.enlarged) change({ enlarged: false });
    else if (isNarrow()) byId('attention', HTMLElement).scrollIntoView();
    cell.focus({ preventScroll: true });
  });
  listenToPointedHeads();
  box.addEventListener('keydown', (event) => {
    const steps = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e6], End: [0, 1e6],
    });
    const step = steps[event.key];
    if (!cellOf(event) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (step) {
      stepHead(...step);
      markChosenHead();
      chosenHeadCell()?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      change({ enlarged: false });
      focusView();
    } else return;
    event.preventDefault();
  });
}
