const evidenceView = { wanted: '' };

/** Statistics that tell where a head looks; their values are shares of its weight. */
const PLACES = ['induction_score', 'previous', 'duplicate_score', 'next', 'separators', 'self', 'first'];

/**
 * The statistic of the chosen head that is farthest above what even weights would give.
 * @param {import('./data').HeadEvidence} evidence
 * @param {(number | null)[]} even
 */
function tellingStatistic({ mean }, even) {
  let [best, most] = [-1, -Infinity];
  page.view.statistics.forEach(({ name }, statistic) => {
    const [value, chance] = [mean[statistic] ?? null, even[statistic] ?? 0];
    if (!PLACES.includes(name) || value === null || value - chance <= most) return;
    [best, most] = [statistic, value - chance];
  });
  return best;
}

/** Writes what many texts say of the chosen head: means with their errors, the weight by distance, the strongest texts. */
function writeEvidence() {
  const box = byId('evidence', HTMLDetailsElement);
  const [attention, all] = [chosenAttention(), page.view.evidence];
  const evidence = attention?.evidence?.[page.choice.head];
  box.hidden = !evidence || !all;
  if (!evidence || !all || !attention || !box.open) return;
  const wanted = JSON.stringify([page.choice.attention, page.choice.head, speech.language, document.documentElement.dataset['theme']]);
  if (wanted === evidenceView.wanted) return;
  evidenceView.wanted = wanted;
  const even = attention.even ?? [];
  const telling = tellingStatistic(evidence, even);
  const number = (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? say('unknown_value') : value.toFixed(3));
  const rows = listedStatistics().filter((statistic) => (evidence.mean[statistic] ?? null) !== null).map((statistic) => make('tr', statistic === telling ? { class: 'telling' } : {}, [
    make('th', { scope: 'row', text: inLanguage(page.view.statistics[statistic]?.title ?? ''), title: inLanguage(page.view.statistics[statistic]?.meaning ?? '') }),
    make('td', { text: `${number(evidence.mean[statistic])} ± ${number(evidence.error[statistic])}` }), make('td', { text: number(even[statistic]) })]));
  const header = make('tr', {}, ['statistic', 'evidence_mean', 'evidence_even'].map((name) => make('th', { scope: 'col', text: say(/** @type {TextName} */ (name)) })));
  const texts = (evidence.strongest[telling] ?? []).map(([line = 0, value = 0]) => make('li', {}, [make('span', { class: 'number', text: `${value.toFixed(2)} ` }), isolated(all.texts[line] ?? '')]));
  byId('evidence-result', HTMLDivElement).replaceChildren(
    make('table', { class: 'evidence' }, [make('caption', { text: say('evidence_of', { count: all.count }) }), make('thead', {}, [header]), make('tbody', {}, rows)]),
    ...distanceCurve(evidence.by_distance, all.reach),
    ...(texts.length ? [make('h3', { text: say('evidence_texts', { statistic: inLanguage(page.view.statistics[telling]?.title ?? '') }) }), make('ol', { class: 'evidence-texts' }, texts)] : []));
}

/**
 * Bars of the mean weight by the distance from query to key.
 * @param {(number | null)[]} means from −reach to reach
 * @param {number} reach
 */
function distanceCurve(means, reach) {
  const known = means.map((value, at) => ({ value, distance: at - reach })).filter(({ value }) => value !== null);
  if (known.length === 0) return [];
  const [width, height] = [220, 60];
  const most = Math.max(...known.map(({ value }) => value ?? 0), 1e-30);
  const canvas = make('canvas', { role: 'img', 'aria-label': `${say('evidence_distance')}: ${known.filter(({ value }) => (value ?? 0) > most / 20).map(({ value, distance }) => `${distance}: ${shortNumber(Number((value ?? 0).toPrecision(2)))}`).join(', ')}` });
  const pen = canvasPen(fitCanvas(canvas, width, height));
  const ink = inks();
  const [first, last] = [known[0]?.distance ?? 0, known.at(-1)?.distance ?? 0];
  const across = width / (last - first + 1);
  for (const { value, distance } of known) {
    const tall = ((value ?? 0) / most) * (height - 16);
    pen.rect((distance - first) * across, height - 14 - tall, Math.max(1, across - 1), tall, distance === 0 ? ink.line : ink.accent);
  }
  pen.line(0, height - 14, width, height - 14, ink.line, 1);
  for (const [distance, align] of /** @type {[number, 'left' | 'center' | 'right'][]} */ ([[first, 'left'], [0, first === 0 ? 'left' : last === 0 ? 'right' : 'center'], [last, 'right']])) {
    pen.text(String(distance).replace('-', '−'), (distance - first + (align === 'center' ? 0.5 : align === 'right' ? 1 : 0)) * across, height - 6, { size: 10, fill: ink.quiet, align });
  }
  return [make('div', { class: 'vector' }, [make('span', { class: 'quiet', text: `${say('evidence_distance')} (0–${shortNumber(Number(most.toPrecision(2)))})` }), canvas])];
}

/**
 * What many texts say of the pattern that is told of the chosen head, behind its sentence.
 * @param {TextName} sentence
 */
function evidenceSaying(sentence) {
  const [attention, all] = [chosenAttention(), page.view.evidence];
  const evidence = attention?.evidence?.[page.choice.head];
  const name = /** @type {Record<string, string>} */ ({
    head_induction: 'induction_score', head_previous: 'previous', head_duplicate: 'duplicate_score', head_next: 'next', head_separators: 'separators', head_self: 'self', head_first: 'first',
  })[sentence];
  const statistic = page.view.statistics.findIndex((one) => one.name === name);
  const [mean, error, even] = [evidence?.mean[statistic] ?? null, evidence?.error[statistic] ?? null, attention?.even?.[statistic] ?? null];
  const [here, known] = [statisticOf(page.choice.attention, page.choice.head, statistic), page.view.statistics[statistic]];
  if (!all || !known || mean === null || error === null || even === null) return '';
  return ` ${say('head_evidence', {
    title: inLanguage(known.title), meaning: inLanguage(known.meaning), here: here === null ? say('unknown_value') : here.toFixed(3), mean: mean.toFixed(3), error: error.toFixed(3), even: even.toFixed(3), count: all.count,
  })}`;
}

function listenToEvidence() {
  byId('evidence', HTMLDetailsElement).addEventListener('toggle', writeEvidence);
}
