/**
 * The parts of `Choice.other`.
 * @returns {{attention: number, head: number, sample: number} | null}
 */
function otherPlace() {
  const [attention, head, sample] = page.choice.other.split(':').map(Number);
  if (page.choice.other === '' || attention === undefined || head === undefined || sample === undefined) return null;
  return (page.view.attentions[attention]?.samples[sample]?.maps[0]?.heads[head] ?? null) && { attention, head, sample };
}

/** What the chosen head can be compared with: heads of its layer, its number in other layers, other texts. @returns {[string, string][]} */
function othersToCompare() {
  const { attention: index, head: chosen, sample } = page.choice;
  const attention = page.view.attentions[index];
  if (!attention) return [];
  const several = new Set(page.view.attentions.map(({ stack }) => inLanguage(stack))).size > 1;
  const nameOf = (/** @type {import('./data').Attention} */ of, /** @type {number} */ head) =>
    (several ? `${inLanguage(of.stack)} ` : '') + say('head_number', { head: headName(of, head) });
  /** @type {[string, string][]} */
  const others = [['', say('compare_none')]];
  for (let head = 0; head < attention.heads; ++head) if (head !== chosen) others.push([`${index}:${head}:${sample}`, nameOf(attention, head)]);
  page.view.attentions.forEach((other, layer) => {
    if (layer !== index && chosen < other.heads) others.push([`${layer}:${chosen}:${sample}`, nameOf(other, chosen)]);
  });
  attention.samples.forEach((_, text) => {
    if (text !== sample) others.push([`${index}:${chosen}:${text}`, say('compare_text', { text: shortened(inLanguage(page.view.samples[text]?.title ?? ''), 14, 200) })]);
  });
  const kept = others.some(([value]) => value === page.choice.other) ? null : otherPlace();
  const of = kept && page.view.attentions[kept.attention];
  if (kept && of) others.push([page.choice.other, nameOf(of, kept.head)]);
  others.push(['page', say('compare_page')]);
  return others;
}

/** The map beside the chosen one. @returns {Promise<ShownMap | null>} */
async function readOther() {
  const other = otherPlace();
  const place = other && page.view.attentions[other.attention]?.samples[other.sample];
  const maps = place && (place.maps.find(({ tensor }) => tensor === page.choice.tensor) ?? place.maps[0]);
  if (!other || !place || !maps) return null;
  return shownOnce(await readMap(place, maps, other.head), page.view.tokens[place.query_tokens], page.view.tokens[place.key_tokens]);
}

/** @type {WeakMap<ShownMap, {other: ShownMap, difference: ShownMap, rows: Int32Array, columns: Int32Array}>} */
const differences = new WeakMap();

/**
 * The first map minus the second, where both have a cell; null if they have none in common. Texts of unequal lengths
 * have what both begin and end with.
 * @param {ShownMap} first
 * @param {ShownMap} second
 * @returns {ShownMap | null}
 */
function differenceOf(first, second) {
  const known = differences.get(first);
  if (known?.other === second) return known.difference;
  const same = first.queries.length === second.queries.length && first.keys.length === second.keys.length;
  const whole = (/** @type {ShownMap} */ { queries, keys, words, map }) => !words && map.exactCells && queries[0]?.first === 0 && keys[0]?.first === 0;
  if (!same && !(whole(first) && whole(second))) return null;
  const [rows, columns] = same
    ? [Int32Array.from(first.queries, (_, at) => at), Int32Array.from(first.keys, (_, at) => at)]
    : [alignedPositions(first.queryTokens, second.queryTokens, first.map.queries, second.map.queries), alignedPositions(first.keyTokens, second.keyTokens, first.map.keys, second.map.keys)];
  const across = first.keys.length;
  const values = new Float64Array(first.values.length);
  const hidden = new Uint8Array(values.length);
  let hides = false;
  for (let at = 0; at < values.length; ++at) {
    const [row, column] = [rows[Math.floor(at / across)] ?? -1, columns[at % across] ?? -1];
    const place = row * second.keys.length + column;
    if (row < 0 || column < 0 || first.hidden?.[at] || second.hidden?.[place]) [hidden[at], hides] = [1, true];
    else values[at] = (first.values[at] ?? NaN) - (second.values[place] ?? NaN);
  }
  if (!rows.some((row) => row >= 0) || !columns.some((column) => column >= 0)) return null;
  const difference = { ...first, values, hidden: hides ? hidden : null, ...contentsOf(values, hidden) };
  differences.set(first, { other: second, difference, rows, columns });
  return difference;
}

/**
 * The cell of the compared map that a cell of the shown one stands beside.
 * @param {ShownMap} shown
 * @param {{row: number, column: number | null}} place
 * @returns {{row: number, column: number | null}} row −1 = none
 */
function placeInOther(shown, { row, column }) {
  const known = differences.get(shown);
  if (!known || known.other !== page.other) return { row, column };
  const other = column === null ? null : known.columns[column] ?? -1;
  return { row: known.rows[row] ?? -1, column: other !== null && other < 0 ? null : other };
}

/** The size of each of the maps side by side: three in a row, or the difference below, whichever is larger. */
function panelSize() {
  const { width, height } = mapView;
  if (!page.other) return { width, height, columns: 1 };
  const columns = Math.min(width / 3, height - DIFFERENCE_BAR) >= Math.min(width, height - DIFFERENCE_BAR) / 2 ? 3 : 2;
  const room = height - DIFFERENCE_BAR;
  return { width: Math.floor(width / columns), height: Math.floor(columns === 3 ? room : room / 2), columns };
}

/**
 * @param {Pen} pen
 * @param {number} panel
 */
function panelPen(pen, panel) {
  const { width, height, columns } = panelSize();
  return movedPen(pen, (panel % columns) * width, Math.floor(panel / columns) * height);
}

/**
 * A point of the view as one of the first map.
 * @param {{x: number, y: number}} point
 */
function withinPanel({ x, y }) {
  const { width, height } = panelSize();
  return page.other ? { x: x % width, y: y % height } : { x, y };
}

/**
 * The maps of the view and where their cells are.
 * @param {ShownMap} shown
 * @returns {{map: ShownMap, layout: MapLayout}[]}
 */
function panelsOf(shown) {
  const { layout, window: seen } = mapView;
  const { width, height } = panelSize();
  if (!layout) return [];
  if (!page.other) return [{ map: shown, layout }];
  return [shown, page.other, differenceOf(shown, page.other)].flatMap((map) =>
    (map ? [{ map, layout: map === shown ? layout : layOutMap(map, width, height, seen) }] : []));
}

/**
 * Two texts from the word on in which they differ.
 * @param {string} first
 * @param {string} second
 * @returns {[string, string]}
 */
function differingTexts(first, second) {
  // Samples of another page have its name before their text.
  if (second.endsWith(`: ${first}`)) return [say('compare_here'), second.slice(0, -first.length - 2)];
  if (first.endsWith(`: ${second}`)) return [first.slice(0, -second.length - 2), say('compare_here')];
  let same = 0;
  while (same < Math.min(first.length, second.length) && first[same] === second[same]) ++same;
  const from = first.lastIndexOf(' ', same) + 1;
  return from < 2 ? [first, second] : [`…${first.slice(from)}`, `…${second.slice(from)}`];
}

/** Names of the maps that are compared: of their heads, or of texts where the head is the same. */
function namesOfPanels() {
  const other = otherPlace();
  const { attention, head, sample } = page.choice;
  if (other && other.sample !== sample && other.attention === attention && other.head === head) {
    const title = (/** @type {number} */ at) => inLanguage(page.view.samples[at]?.title ?? '');
    return differingTexts(title(sample), title(other.sample));
  }
  const named = (/** @type {{attention: number, head: number, sample: number}} */ place) => {
    const of = page.view.attentions[place.attention];
    const text = other?.sample === sample ? '' : ` (${shortened(inLanguage(page.view.samples[place.sample]?.title ?? ''), 12, 120)})`;
    return of ? say('head_number', { head: headName(of, place.head) }) + text : '';
  };
  return [named({ attention, head, sample }), other ? named(other) : ''];
}

/**
 * Colours about zero, of hidden cells as in the maps beside.
 * @param {ShownMap} difference
 */
function scaleOfDifference({ least, largest }) {
  const maps = { tensor: '', title: '', range: /** @type {[number, number]} */ ([least, largest]), diverging: true, heads: [] };
  const scale = colourScale(maps, 'linear', null);
  return { ...scale, map: { ...scale.map, hidden: chosenScale()?.map.hidden ?? scale.map.hidden } };
}

/** Room below maps that are compared, for the bar of their difference. */
const DIFFERENCE_BAR = 40;

/**
 * The bar of the difference, below it.
 * @param {Pen} pen
 * @param {ColourScale} scale
 * @param {MapLayout} layout
 * @param {Inks} ink
 */
function drawDifferenceBar(pen, scale, layout, ink) {
  const width = Math.min(260, Math.max(90, layout.columns * layout.cellWidth));
  const [x, y] = [layout.left, layout.top + layout.rows * layout.cellHeight + 8];
  pen.image(barOfColours(scale), x, y, width, 10);
  pen.frame(x, y, width, 10, ink.line, 0.5);
  for (const value of [scale.low, 0, scale.high]) {
    const at = x + width * shareOf(scale, value);
    pen.text(shortNumber(Number(value.toPrecision(2))), at, y + 19, { size: 11, fill: ink.text, align: value < 0 ? 'left' : value > 0 ? 'right' : 'center' });
  }
}

/**
 * Two maps and their difference.
 * @param {Pen} pen
 * @param {ShownMap} shown
 * @param {ShownMap} other
 * @param {ColourScale} scale
 * @param {Inks} ink
 */
function drawPanels(pen, shown, other, scale, ink) {
  const [first = '', second = ''] = namesOfPanels();
  const titles = [first, second, say('difference', { first, second })];
  panelsOf(shown).forEach(({ map, layout }, panel) => {
    const moved = panelPen(pen, panel);
    const own = map === shown || map === other ? scale : scaleOfDifference(map);
    drawMap(moved, map, own, layout, ink, window.devicePixelRatio || 1);
    if (panel === 2) drawDifferenceBar(moved, own, layout, ink);
    const name = shortened(titles[panel] ?? '', 13, panelSize().width - layout.left - 60);
    moved.text(name, layout.left + 52, 10, { size: 13, fill: ink.text, bold: true });
  });
}

/** @param {ShownMap} shown */
function saidOfPanels(shown) {
  if (!page.other || page.choice.view !== 'map') return [];
  const difference = differenceOf(shown, page.other);
  if (!difference) return [say('said_no_difference')];
  const { high, map } = scaleOfDifference(difference);
  const larger = map.name === 'RdBu_r' ? say('colour_larger') : say('other_colour_larger', { map: map.name });
  return [say('said_difference', { most: shortNumber(Number(high.toPrecision(3))), larger })];
}

/**
 * The value of the compared map at the pointer.
 * @param {number} row
 * @param {number} column
 * @param {number} value
 */
function otherReadout(row, column, value) {
  const shown = chosenMap();
  if (!shown || !page.other || page.choice.view !== 'map' || !differenceOf(shown, page.other)) return [];
  const place = placeInOther(shown, { row, column });
  if (place.row < 0 || place.column === null) return [];
  const cell = cellAt(page.other, place.row, place.column);
  if (cell.hidden) return [];
  const [, name = ''] = namesOfPanels();
  return [make('div', { class: 'quiet', text: say('compared_value', { name, value: fourDigits(cell.value), difference: fourDigits(value - cell.value) }) })];
}

/**
 * The compared maps as they are seen, for a file.
 * @param {ShownMap} shown
 * @param {ShownMap} other
 * @param {ColourScale} scale
 * @param {string} title
 * @returns {Picture}
 */
function panelsPicture(shown, other, scale, title) {
  const { width, height } = mapView;
  return framedPicture(title, width, height, scale, (pen) => drawPanels(pen, shown, other, scale, PAPER));
}
