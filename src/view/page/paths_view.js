/**
 * A path between heads of the page, or from one to the logits: what it changes of their difference.
 * @typedef {{from: Place, to: Place | null, input: 'query' | 'key' | 'value' | null, effect: number}} HeadPath
 * @typedef {{attention: number, head: number}} Place
 */

/** Paths that are drawn and listed, the strongest. */
const LISTED_PATHS = 20;

/** Dashes of the lines to a head's queries, keys and values. */
const DASHES_OF_INPUTS = { query: [], key: [6, 3], value: [1.5, 2.5] };

/**
 * The number of what a path ends in at a head: heads may share their keys and values.
 * @param {import('./data').Attention} of
 * @param {number} head
 * @param {HeadPath['input']} input
 */
function numberOfEnd(of, head, input) {
  return Math.floor(headNumber(of, head) / (input === 'key' || input === 'value' ? of.heads_a_group : 1));
}

/**
 * The head of the page that a path names, or the first that shares that key or value head; null if the page leaves it out.
 * @param {string} name of its attention
 * @param {number} number
 * @param {HeadPath['input']} input
 * @returns {Place | null}
 */
function placeNamed(name, number, input) {
  const attention = page.view.attentions.findIndex((one) => one.name === name);
  const of = page.view.attentions[attention];
  const head = of ? Array.from({ length: of.heads }, (_, index) => numberOfEnd(of, index, input)).indexOf(number) : -1;
  return head < 0 ? null : { attention, head };
}

/** @type {HeadPath[] | null} */
let knownPaths = null;

/** Those whose ends the page has, the strongest first; they are of the first sample. */
function pathsOfPage() {
  knownPaths ??= (page.view.paths?.paths ?? []).flatMap(([name, head, toName, toHead, input, effect]) => {
    const from = placeNamed(name, head, null);
    const to = toName === null || toHead === null ? null : placeNamed(toName, toHead, input);
    return from && (to || toName === null) ? [{ from, to, input, effect }] : [];
  }).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  return page.choice.sample === 0 ? knownPaths : [];
}

/**
 * What a head's way to the logits changes; null if that is not known.
 * @param {number} attention
 * @param {number} head
 */
function directEffect(attention, head) {
  return pathsOfPage().find(({ from, to }) => to === null && from.attention === attention && from.head === head)?.effect ?? null;
}

/** The largest change of a path. */
function mostOfPaths() {
  return Math.abs(pathsOfPage()[0]?.effect ?? 0) || 1;
}

/**
 * What a head's way to the logits changes, the more of its colour the more.
 * @param {Pen} pen
 * @param {number} attention
 * @param {number} head
 * @param {number} x
 * @param {number} y
 * @param {number} side
 */
function paintDirect(pen, attention, head, x, y, side) {
  const [effect, ink] = [directEffect(attention, head), inks()];
  pen.rect(x, y, side, side, ink.faint);
  if (effect === null) return;
  pen.rect(x, y, side, side, effect < 0 ? ink.negative : ink.accent, Math.abs(effect) / mostOfPaths());
  if (side >= 44) pen.text(cellText(effect, 11, side), x + side / 2, y + side - 8, { size: 11, fill: ink.text, align: 'center' });
}

/**
 * Lines between heads of the same grid, the thicker the stronger.
 * @param {Pen} pen
 * @param {number[]} rows attentions
 * @param {GridSize} places
 */
function paintPaths(pen, rows, { size, across }) {
  const centre = (/** @type {Place} */ { attention, head }) => ({ x: (head % across + 0.5) * size, y: (rows.indexOf(attention) + Math.floor(head / across) + 0.5) * size });
  const most = mostOfPaths();
  for (const { from, to, input, effect } of pathsOfPage().slice(0, LISTED_PATHS)) {
    if (!to || !input || !rows.includes(from.attention) || !rows.includes(to.attention)) continue;
    const [start, end] = [centre(from), centre(to)];
    pen.line(start.x, start.y, end.x, end.y, effect < 0 ? inks().negative : inks().accent, 1 + (4 * Math.abs(effect)) / most, 0.8, DASHES_OF_INPUTS[input]);
    pen.rect(end.x - 3, end.y - 3, 6, 6, inks().text);
  }
}

/**
 * A head that leads to its map, by what of it a path reaches.
 * @param {Place} place
 * @param {HeadPath['input']} input
 */
function endOfPath({ attention, head }, input) {
  const of = page.view.attentions[attention];
  const name = of ? headNameInStack(of, head, numberOfEnd(of, head, input)) : '';
  const text = input === 'query' ? say('path_query', { head: name }) : input === 'key' ? say('path_key', { head: name }) : input === 'value' ? say('path_value', { head: name }) : name;
  const button = make('button', { type: 'button', text });
  button.addEventListener('click', () => chooseHead(attention, head));
  return button;
}

/** Writes what the paths change, and the strongest of them. */
function writePaths() {
  const shown = page.choice.left === 'paths';
  byId('path-bar', HTMLDivElement).hidden = !shown;
  const list = byId('path-list', HTMLOListElement);
  list.hidden = !shown;
  const paths = page.view.paths;
  if (!shown || !paths) return;
  byId('path-said', HTMLParagraphElement).textContent = say('paths_said', {
    token: JSON.stringify(paths.token), other: JSON.stringify(paths.other), own: fourDigits(paths.own), source: fourDigits(paths.source) });
  const listed = pathsOfPage().slice(0, LISTED_PATHS);
  writeOnce(list, JSON.stringify([page.choice.sample, speech.language]), () => listed.map(itemOfPath));
  [...list.children].forEach((item, at) => {
    const path = listed[at];
    item.classList.toggle('chosen', path !== undefined && (isChosen(path.from, null) || isChosen(path.to, path.input)));
  });
}

/**
 * Whether a path ends in the chosen head, or in what that shares with others.
 * @param {Place | null} end
 * @param {HeadPath['input']} input
 */
function isChosen(end, input) {
  const of = chosenAttention();
  return of !== undefined && end?.attention === page.choice.attention && numberOfEnd(of, end.head, input) === numberOfEnd(of, page.choice.head, input);
}

/** @param {HeadPath} path */
function itemOfPath({ from, to, input, effect }) {
  const most = mostOfPaths();
  const end = to ? endOfPath(to, input) : make('span', { text: say('path_to_logits') });
  return make('li', {}, [make('span', {}, [endOfPath(from, null), ' → ', end]), barFromZero(effect, -most, most), make('span', { class: 'number', text: fourDigits(effect) })]);
}
