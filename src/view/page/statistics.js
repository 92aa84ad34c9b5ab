/**
 * @param {number} attention
 * @param {number} head
 * @param {number} statistic
 * @returns {number | null}
 */
function statisticOf(attention, head, statistic) {
  const of = page.view.attentions[attention];
  const token = page.view.statistics[statistic]?.name === 'effect' ? answeredToken() : null;
  if (token !== null) return of?.samples[page.choice.sample]?.effects?.answer?.[head]?.[token]?.[0] ?? null;
  return of?.statistics?.[head]?.[statistic] ?? null;
}

/**
 * What a statistic means, and of which token it is now.
 * @param {import('./data').Statistic} statistic
 */
function meaningOf({ name, meaning }) {
  const [token, answer] = [answeredToken(), chosenAnswer()];
  if (name !== 'effect' || token === null || !answer) return inLanguage(meaning);
  const first = answer.first + token;
  return `${inLanguage(meaning)} ${say('effect_on_token', { token: placeName(answerTokens(), { first, end: first + 1 }, false) })}`;
}

/**
 * The colours of a statistic: from zero, or less, to its largest value of all heads.
 * @param {number} statistic
 * @returns {ColourScale}
 */
function statisticRange(statistic) {
  let [low, high] = [0, -Infinity];
  page.view.attentions.forEach(({ heads }, attention) => {
    for (let head = 0; head < heads; ++head) {
      const value = statisticOf(attention, head, statistic);
      if (value === null || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  });
  return { low, high: high > low ? high : low + 1, log: false, map: presentColours().weights, table: pixelTable(presentColours().weights.table) };
}

/**
 * @param {Pen} pen
 * @param {number | null} value
 * @param {ColourScale} scale
 * @param {number} x
 * @param {number} y
 * @param {number} side
 */
function paintStatistic(pen, value, scale, x, y, side) {
  const known = value !== null && !Number.isNaN(value);
  const pixel = known ? pixelOfValue(scale, value) : pixelOf(scale.map.hidden);
  pen.rect(x, y, side, side, colourOf(pixel));
  if (side < 26) return;
  const size = Math.min(13, side * 0.34);
  const text = known ? cellText(value, size, side) : say('unknown_value');
  pen.text(text, x + side / 2, y + side / 2, { size, fill: readableOn(pixel), align: 'center' });
}

/** The chosen statistic's meaning and colours. */
function writeStatisticBar() {
  const { choice, view } = page;
  const bar = byId('statistic-bar', HTMLDivElement);
  bar.hidden = choice.left !== 'statistic';
  if (bar.hidden) return;
  const statistic = view.statistics[choice.statistic];
  fillSelect(byId('statistic', HTMLSelectElement), view.statistics.flatMap(({ name, title }, index) => (name === DIVERGENCE && byId('other-heads', HTMLButtonElement).hidden ? [] : [[String(index), inLanguage(title)]])), String(choice.statistic));
  byId('statistic-meaning', HTMLParagraphElement).textContent = statistic ? meaningOf(statistic) : '';
  const scale = statisticRange(choice.statistic);
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  paintColours(canvas, scale, 120, 10);
  byId('statistic-legend', HTMLDivElement).replaceChildren(shortNumber(scale.low), canvas, shortNumber(scale.high));
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ColourScale} scale
 * @param {number} width
 * @param {number} height
 */
function paintColours(canvas, scale, width, height) {
  const context = fitCanvas(canvas, width, height);
  for (let x = 0; x < 256; ++x) {
    context.fillStyle = colourOf(scale.table[x] ?? 0);
    context.fillRect((x * width) / 256, 0, width / 256 + 1, height);
  }
}

/** @returns {{attention: number, head: number}[]} all heads in the chosen order */
function sortedHeads() {
  const all = page.view.attentions.flatMap(({ heads }, attention) => Array.from({ length: heads }, (_, head) => ({ attention, head })));
  const [direction, column] = page.choice.sort.split(':');
  if (column === undefined) return all;
  const sign = direction === 'up' ? 1 : -1;
  const value = (/** @type {{attention: number, head: number}} */ { attention, head }) => statisticOf(attention, head, Number(column));
  return all.sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return sign * (one - other);
  });
}

/**
 * @param {import('./data').Attention} attention
 * @param {number} head
 */
function shortHeadTitle(attention, head) {
  const name = say('layer_and_head', { layer: layerNumber(attention), head: headNumber(attention, head) });
  return page.view.attentions.some(({ stack }) => inLanguage(stack) !== inLanguage(attention.stack)) ? `${inLanguage(attention.stack)}: ${name}` : name;
}

const listed = { for: '' };

/** The sortable list of all heads. */
function writeStatisticsList() {
  const box = byId('statistics-list', HTMLDivElement);
  box.hidden = page.choice.left !== 'list';
  if (box.hidden) return;
  const wanted = JSON.stringify([page.choice.sort, answeredToken(), page.choice.sample, speech.language, isDark()]);
  if (wanted !== listed.for) {
    const columns = listedStatistics().map((statistic) => ({ statistic, scale: statisticRange(statistic), digits: digitsOfStatistic(statistic) }));
    const rows = sortedHeads().map((place) => statisticsRow(place, columns));
    box.replaceChildren(make('table', {}, [make('thead', {}, [statisticsHeader()]), make('tbody', {}, rows)]));
    listed.for = wanted;
  }
  for (const row of box.querySelectorAll('tbody tr')) {
    const { attention, head } = /** @type {HTMLElement} */ (row).dataset;
    row.classList.toggle('chosen', Number(attention) === page.choice.attention && Number(head) === page.choice.head);
  }
}

/** Statistics that are not zero for all heads, as the next token's of causal models are; what heads change, or how they differ, comes first. */
function listedStatistics() {
  const heads = page.view.attentions.flatMap(({ heads: count }, attention) => Array.from({ length: count }, (_, head) => [attention, head]));
  const isEffect = (/** @type {number} */ statistic) => Number(['effect', DIVERGENCE].includes(page.view.statistics[statistic]?.name ?? ''));
  return page.view.statistics.map((_, statistic) => statistic)
    .filter((statistic) => heads.some(([attention = 0, head = 0]) => statisticOf(attention, head, statistic)))
    .sort((a, b) => isEffect(b) - isEffect(a));
}

/**
 * Decimals that the numbers of a statistic have, the same for all heads.
 * @param {number} statistic
 */
function digitsOfStatistic(statistic) {
  const { low, high } = statisticRange(statistic);
  return Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.max(-low, high, 1e-3)))));
}

function statisticsHeader() {
  const [direction, column] = page.choice.sort.split(':');
  const header = (/** @type {string} */ title, /** @type {string} */ sorted, /** @type {string} */ next, /** @type {string} */ meaning) => {
    const button = make('button', { type: 'button', text: title, title: meaning, 'aria-label': say('sort_by', { column: title }) });
    button.addEventListener('click', () => change({ sort: next }));
    return make('th', { scope: 'col', 'aria-sort': sorted }, [button]);
  };
  const columns = listedStatistics().map((index) => {
    const statistic = page.view.statistics[index];
    const own = column === String(index);
    const sorted = own ? (direction === 'up' ? 'ascending' : 'descending') : 'none';
    return header(inLanguage(statistic?.title ?? ''), sorted, own && direction === 'down' ? `up:${index}` : `down:${index}`, statistic ? meaningOf(statistic) : '');
  });
  return make('tr', {}, [header(say('head'), column === undefined ? 'ascending' : 'none', '', ''), ...columns]);
}

/**
 * @param {{attention: number, head: number}} place
 * @param {{statistic: number, scale: ColourScale, digits: number}[]} columns
 */
function statisticsRow({ attention, head }, columns) {
  const layer = page.view.attentions[attention];
  const name = make('button', { type: 'button', text: layer ? shortHeadTitle(layer, head) : '' });
  const cells = columns.map(({ scale, statistic, digits }) => {
    const value = statisticOf(attention, head, statistic);
    const cell = make('td', { text: value === null ? say('unknown_value') : value.toFixed(digits).replace('-', '−') });
    if (value !== null && !Number.isNaN(value)) {
      const pixel = pixelOfValue(scale, value);
      cell.style.backgroundColor = colourOf(pixel);
      cell.style.color = readableOn(pixel);
    }
    return cell;
  });
  const row = make('tr', {}, [make('th', { scope: 'row' }, [name]), ...cells]);
  row.dataset['attention'] = String(attention);
  row.dataset['head'] = String(head);
  row.addEventListener('click', () => chooseHead(attention, head));
  return row;
}
