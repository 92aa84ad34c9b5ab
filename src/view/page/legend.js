/** The meaning of colours in the present view. */
function scaleOfView() {
  const shown = chosenMap();
  return page.choice.view === 'text' && shown ? scaleOfStrip(shown)?.scale : chosenScale();
}

/** Writes what colours mean. */
function writeLegend() {
  const maps = chosenMaps();
  const shown = chosenMap();
  const scale = scaleOfView();
  const lines = page.choice.view === 'lines';
  byId('legend', HTMLDivElement).hidden = !scale;
  // Colours of lines are those of heads, and their scale is linear.
  byId('scale-field', HTMLLabelElement).hidden = lines;
  byId('colour-bar', HTMLDivElement).hidden = lines;
  byId('legend-keys', HTMLUListElement).hidden = lines;
  byId('legend-lines', HTMLUListElement).hidden = !lines;
  if (!scale || !maps) return;
  const keys = shown ? keysOfLegend(shown, scale) : [];
  const legend = byId('legend', HTMLDivElement);
  const wanted = JSON.stringify([scale.low, scale.high, scale.log, scale.map.table, window.innerWidth, window.devicePixelRatio, inLanguage(maps.title), keys, speech.language]);
  if (legend.dataset['wanted'] === wanted) return;
  legend.dataset['wanted'] = wanted;
  byId('legend-title', HTMLSpanElement).textContent = inLanguage(maps.title);
  const width = Math.min(260, Math.max(120, Math.round(window.innerWidth * 0.2)));
  paintColours(byId('legend-colours', HTMLCanvasElement), scale, width, 12);
  const ticks = ticksOf(scale, width, 12).map(({ value, text }) => {
    const tick = make('span', { text });
    tick.style.left = `${shareOf(scale, value) * width}px`;
    return tick;
  });
  const box = byId('legend-ticks', HTMLDivElement);
  box.style.width = `${width}px`;
  box.replaceChildren(...ticks);
  byId('legend-keys', HTMLUListElement).replaceChildren(...keys.map(({ colour, text }) => {
    const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.backgroundColor = colour;
    return make('li', {}, [swatch, text]);
  }));
}

/**
 * Swatches of cells that have no colour on the bar: hidden, NaN, faint.
 * @param {ShownMap} shown
 * @param {ColourScale} scale
 * @returns {{colour: string, text: string}[]}
 */
function keysOfLegend({ has, faint, least }, { map, log }) {
  const keys = [];
  if (has.hidden) keys.push({ colour: map.hidden, text: say('key_hidden') });
  if (has.minusInfinity) keys.push({ colour: map.minus_infinity, text: say('key_minus_infinity') });
  if (has.infinity) keys.push({ colour: map.infinity, text: say('key_infinity') });
  if (has.nan) keys.push({ colour: map.nan, text: say('key_nan') });
  if (log && least <= 0) keys.push({ colour: map.not_positive, text: say('key_not_positive') });
  if (faint) keys.push({ colour: 'transparent', text: say('key_left_out') });
  return keys;
}

/** @returns {string[]} what the reader must know of what is shown, a sentence each */
function statusSentences() {
  const { choice } = page;
  const shown = chosenMap();
  const scale = chosenScale();
  if (!shown || !scale) return [];
  const weights = areWeights();
  const exact = shown.map.exactCells;
  const said = [];
  if (choice.own) said.push(say('said_own_range'));
  if (choice.scale === 'log' && choice.view !== 'lines') said.push(scale.log ? say('said_log_lowest', { low: shortNumber(scale.low) }) : say('said_log_both_signs'));
  if (choice.scale === 'log' && choice.view !== 'lines' && scale.log && choice.left === 'maps') said.push(say('said_thumbnails', { low: shortNumber(Number((scale.high / HIGHEST_CODE / 2).toPrecision(1))) }));
  const left = exact && leftOut(choice.leave, keyTokens()).size > 0;
  if (left) said.push(say(choice.leave === 'first' ? 'said_first_left' : 'said_special_left'));
  if (shown.padded) said.push(say('said_padded'));
  if (choice.part !== '') said.push(say('said_part'));
  if (choice.renormalise && weights && exact) said.push(say('said_renormalised'));
  else if (left && weights) said.push(say('said_sum_smaller'));
  if (shown.words) said.push(say(shown.sentences ? 'said_sentences' : 'said_words'));
  else if ((choice.words || choice.sentences) && !weights) said.push(say('said_words_without'));
  if (!exact && (choice.words || choice.sentences || choice.leave !== 'none' || choice.renormalise)) said.push(say('said_pooled_options'));
  if (choice.threshold > 0) said.push(say('said_threshold', { threshold: shortNumber(choice.threshold) }));
  if (choice.strongest > 0) said.push(say('said_strongest', { count: choice.strongest }));
  if (secondPage.leftOut > 0) said.push(say('said_second_left', { count: secondPage.leftOut }));
  return [...said, ...statusOfView(shown)];
}

/** @param {ShownMap} shown */
function statusOfView(shown) {
  const { map } = shown;
  const said = [...saidOfPanels(shown)];
  const attention = chosenAttention();
  const group = attention?.heads_a_group ?? 1;
  if (group > 1) {
    const first = Math.floor(headNumber(attention, page.choice.head) / group) * group;
    said.push(say(group === 2 ? 'said_group_of_two' : 'said_group', { first, last: first + group - 1 }));
  }
  if (!map.exactCells) {
    const sizes = { rows: map.rows, columns: map.columns, queries: map.queries, keys: map.keys };
    said.push(say(map.strongest ? 'said_pooled' : map.cells === undefined ? 'said_pooled_plain' : 'said_cells', { ...sizes, cells: inLanguage(map.cells ?? '') }));
  }
  const layout = mapView.layout;
  const ratio = window.devicePixelRatio || 1;
  if (page.choice.enlarged) return said;
  if (page.choice.view === 'map' && layout && !paper.on && Math.min(layout.cellWidth, layout.cellHeight) * ratio < 0.999) said.push(say('said_pixels'));
  if (page.choice.view === 'text' && !page.choice.enlarged) said.push(...saidOfStrip(shown));
  if (page.choice.view === 'lines') {
    const alone = activeOfLines().row >= 0 || activeOfLines().column !== null;
    if (alone) said.push(say('said_lines_alone'));
    else if (linesView.strongest > 0 && page.choice.strongest === 0) said.push(say('said_lines_strongest', { count: linesView.strongest }));
    if (linesView.zoom > 1) said.push(say('said_lines_in_view'));
    if (!alone && linesView.bands > 1) said.push(say('said_lines_bands', { count: linesView.bands }));
    else if (!alone && linesView.all > linesView.lines.length) said.push(say('said_lines', { drawn: linesView.lines.length, all: linesView.all }));
  }
  return said;
}

/** Writes the status line: what was chosen first, then what the program reduced. */
function writeStatus() {
  const sentences = [...statusSentences(), ...page.view.notes.map(inLanguage)];
  const box = byId('status', HTMLDivElement);
  const wanted = JSON.stringify(sentences);
  if (box.dataset['said'] === wanted) return;
  box.dataset['said'] = wanted;
  box.replaceChildren(...sentences.map((text) => make('span', { text: `${text} `, dir: 'auto' })));
}
