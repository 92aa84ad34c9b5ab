/** Writes what colours mean. */
function writeLegend() {
  const scale = chosenScale();
  const maps = chosenMaps();
  const shown = chosenMap();
  byId('legend', HTMLDivElement).hidden = !scale;
  if (!scale || !maps) return;
  byId('legend-title', HTMLSpanElement).textContent = told(maps.title);
  const width = Math.min(260, Math.max(120, Math.round(window.innerWidth * 0.2)));
  paintColours(byId('legend-colours', HTMLCanvasElement), scale, width, 12);
  const ticks = ticksOf(scale, width < 200 ? 3 : 5).map((value) => {
    const tick = make('span', { text: (scale.log && value === scale.low ? '≤ ' : '') + shortNumber(Number(value.toPrecision(3))) });
    tick.style.left = `${shareOf(scale, value) * width}px`;
    return tick;
  });
  const box = byId('legend-ticks', HTMLDivElement);
  box.style.width = `${width}px`;
  box.replaceChildren(...ticks);
  byId('legend-keys', HTMLUListElement).replaceChildren(...(shown ? keysOfLegend(shown) : []).map(({ colour, text }) => {
    const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.backgroundColor = colour;
    return make('li', {}, [swatch, text]);
  }));
}

/**
 * What has no colour on the bar, where it occurs.
 * @param {ShownMap} shown
 * @returns {{colour: string, text: string}[]}
 */
function keysOfLegend({ has, faint }) {
  const { hidden, nan } = page.view.colours;
  const keys = [];
  if (has.hidden) keys.push({ colour: hidden, text: say('key_hidden') });
  if (has.minusInfinity) keys.push({ colour: hidden, text: say('key_minus_infinity') });
  if (has.infinity) keys.push({ colour: colourOf(chosenScale()?.table[255] ?? 0), text: say('key_infinity') });
  if (has.nan) keys.push({ colour: nan, text: say('key_nan') });
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
  if (choice.scale === 'log') said.push(scale.log ? say('said_log_lowest', { low: shortNumber(scale.low) }) : say('said_log_both_signs'));
  if (choice.scale === 'log' && scale.log && choice.left === 'maps') said.push(say('said_thumbnails', { low: shortNumber(Number((scale.high / HIGHEST_CODE / 2).toPrecision(1))) }));
  const left = exact && leftOut(choice.leave, keyTokens()).size > 0;
  if (left) said.push(say(choice.leave === 'first' ? 'said_first_left' : 'said_special_left'));
  if (shown.padded) said.push(say('said_padded'));
  if (choice.part !== '') said.push(say('said_part'));
  if (choice.renormalise && weights && exact) said.push(say('said_renormalised'));
  else if (left && weights) said.push(say('said_sum_smaller'));
  if (shown.words) said.push(say('said_words'));
  else if (choice.words && !weights) said.push(say('said_words_without'));
  if (!exact && (choice.words || choice.leave !== 'none' || choice.renormalise)) said.push(say('said_pooled_options'));
  if (choice.threshold > 0) said.push(say('said_threshold', { threshold: shortNumber(choice.threshold) }));
  if (choice.strongest > 0) said.push(say('said_strongest', { count: choice.strongest }));
  return [...said, ...statusOfView(shown)];
}

/** @param {ShownMap} shown */
function statusOfView(shown) {
  const { map } = shown;
  const said = [];
  const attention = chosenAttention();
  const group = attention?.heads_a_group ?? 1;
  if (group > 1) {
    const first = Math.floor((headNumber(attention, page.choice.head) - 1) / group) * group + 1;
    said.push(say('said_group', { first, last: first + group - 1 }));
  }
  if (!map.exactCells) {
    const sizes = { rows: map.rows, columns: map.columns, queries: map.queries, keys: map.keys };
    said.push(say(map.strongest ? 'said_pooled' : 'said_pooled_plain', sizes));
  }
  const layout = mapView.layout;
  const ratio = window.devicePixelRatio || 1;
  if (page.choice.enlarged) return said;
  if (page.choice.view === 'map' && layout && Math.min(layout.cellWidth, layout.cellHeight) * ratio < 0.999) said.push(say('said_pixels'));
  if (page.choice.view === 'lines') {
    if (linesView.strongest > 0 && page.choice.strongest === 0) said.push(say('said_lines_strongest', { count: linesView.strongest }));
    if (linesView.all > linesView.lines.length) said.push(say('said_lines', { drawn: linesView.lines.length, all: linesView.all }));
  }
  return said;
}

/** Writes the status line: what was chosen first, then what the program reduced. */
function writeStatus() {
  const sentences = [...statusSentences(), ...page.view.notes.map(told)];
  const box = byId('status', HTMLDivElement);
  const wanted = JSON.stringify(sentences);
  if (box.dataset['said'] === wanted) return;
  box.dataset['said'] = wanted;
  box.replaceChildren(...sentences.map((text) => make('span', { text: `${text} `, dir: 'auto' })));
}
