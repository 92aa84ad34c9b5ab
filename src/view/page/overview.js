/** Attentions of one stack, from top to bottom. @typedef {{title: string, rows: number[], heads: number}} Stack */

/** @returns {Stack[]} */
function stacksOfView() {
  /** @type {Map<string, Stack>} */
  const stacks = new Map();
  page.view.attentions.forEach((attention, index) => {
    const title = told(attention.stack);
    const stack = stacks.get(title) ?? { title, rows: [], heads: 0 };
    stack.rows.push(index);
    stack.heads = Math.max(stack.heads, attention.heads);
    stacks.set(title, stack);
  });
  return [...stacks.values()];
}

/** What the overview was drawn for, so that nothing is drawn twice. */
const drawn = { grids: '', pictures: '' };

const HEADER_WIDTH = 26;

/** The size of one head's place, by the room and the most heads. */
function placeSize() {
  const room = byId('stacks', HTMLDivElement).clientWidth - HEADER_WIDTH - 14;
  const heads = Math.max(1, ...page.view.attentions.map((attention) => attention.heads));
  return Math.max(13, Math.min(page.choice.enlarged ? 150 : 96, Math.floor(room / heads)));
}

/** Draws layers × heads, as maps or as statistics. */
function drawOverview() {
  const { choice } = page;
  const box = byId('stacks', HTMLDivElement);
  box.hidden = choice.left === 'list';
  if (box.hidden) return;
  const size = placeSize();
  const grids = JSON.stringify([speech.language, size]);
  if (grids !== drawn.grids) {
    box.replaceChildren(...stacksOfView().map((stack) => makeGrid(stack, size)));
    drawn.grids = grids;
    drawn.pictures = '';
  }
  const pictures = JSON.stringify([choice.sample, choice.left, choice.left === 'maps' ? '' : choice.statistic, choice.scale, choice.own, Boolean(page.thumbnails), document.documentElement.dataset['theme'], isDark()]);
  if (pictures !== drawn.pictures) {
    for (const grid of box.querySelectorAll('.stack')) paintGrid(/** @type {HTMLElement} */ (grid), size);
    drawn.pictures = pictures;
  }
  markChosenHead();
}

/**
 * @param {Stack} stack
 * @param {number} size
 */
function makeGrid(stack, size) {
  const numbers = Array.from({ length: stack.heads }, (_, head) => {
    const text = String(headNumber(page.view.attentions[stack.rows[0] ?? 0], head));
    const crowded = size < 18 && head > 0 && (head + 1) % 4 > 0;
    return make('div', { role: 'columnheader' }, [crowded ? make('span', { class: 'unseen', text }) : text]);
  });
  const grid = make('div', { role: 'grid', 'aria-label': stack.title || say('heads') }, [
    make('div', { role: 'row' }, [make('div', { role: 'columnheader' }, [make('span', { class: 'unseen', text: say('layer') })]), ...numbers]),
    ...stack.rows.map((index) => makeGridRow(index)),
  ]);
  grid.style.gridTemplateColumns = `${HEADER_WIDTH}px repeat(${stack.heads}, ${size}px)`;
  grid.style.gridAutoRows = `${size}px`;
  grid.style.gridTemplateRows = '18px';
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  canvas.style.left = `${HEADER_WIDTH}px`;
  const made = make('section', { class: 'stack' }, [
    make('h3', {}, [make('bdi', { text: stack.title }), ' ', make('span', { class: 'axes', text: say('layers_by_heads') })]), make('div', { class: 'grid-box' }, [canvas, grid])]);
  made.dataset['rows'] = stack.rows.join();
  made.dataset['heads'] = String(stack.heads);
  return made;
}

/** @param {number} index of an attention */
function makeGridRow(index) {
  const attention = page.view.attentions[index];
  const layer = attention ? layerNumber(attention) : 0;
  const cells = Array.from({ length: attention?.heads ?? 0 }, (_, head) => {
    const cell = make('div', { role: 'gridcell', tabindex: '-1' });
    cell.dataset['attention'] = String(index);
    cell.dataset['head'] = String(head);
    return cell;
  });
  return make('div', { role: 'row' }, [make('div', { role: 'rowheader', text: String(layer), title: told(attention?.title ?? '') }), ...cells]);
}

/**
 * @param {HTMLElement} stack
 * @param {number} size
 */
function paintGrid(stack, size) {
  const rows = (stack.dataset['rows'] ?? '').split(',').map(Number);
  const heads = Number(stack.dataset['heads']);
  const canvas = stack.querySelector('canvas');
  if (!canvas) return;
  const context = fitCanvas(canvas, heads * size, rows.length * size);
  context.clearRect(0, 0, heads * size, rows.length * size);
  paintStack(canvasPen(context), rows, size, 0, 0);
  labelCells(stack);
}

/**
 * Maps or statistics of the rows' heads.
 * @param {Pen} pen
 * @param {number[]} rows attentions
 * @param {number} size
 * @param {number} left
 * @param {number} top
 */
function paintStack(pen, rows, size, left, top) {
  const gap = size > 24 ? 3 : 1;
  const range = statisticRange(page.choice.statistic);
  rows.forEach((attention, row) => {
    for (let head = 0; head < (page.view.attentions[attention]?.heads ?? 0); ++head) {
      const [x, y, side] = [left + head * size, top + row * size, size - gap];
      if (page.choice.left === 'maps') {
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
    const value = statisticOf(index, head, page.choice.statistic);
    const label = page.choice.left === 'maps' ? place
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
 * The next layer or head in a direction, over the stacks.
 * @param {number} layers
 * @param {number} heads
 */
function stepHead(layers, heads) {
  const order = stacksOfView().flatMap(({ rows }) => rows);
  const at = order.indexOf(page.choice.attention);
  const attention = order[Math.max(0, Math.min(order.length - 1, at + layers))] ?? 0;
  const most = page.view.attentions[attention]?.heads ?? 1;
  chooseHead(attention, Math.max(0, Math.min(most - 1, page.choice.head + heads)));
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
