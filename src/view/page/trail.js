/**
 * A cell that the reader has come through: of the scores of one head to what another wrote.
 * @typedef {{attention: number, head: number, query: number, key: number}} TrailStep
 */

/** More steps than this make the address long; the oldest go first. */
const MOST_STEPS = 12;

/** @returns {TrailStep[]} */
function trailSteps() {
  return page.choice.trail.split(';').flatMap((text) => {
    const [attention = NaN, head = NaN, query = NaN, key = NaN] = text.split('.').map(Number);
    const place = page.view.attentions[attention]?.samples[page.choice.sample];
    const known = place && head >= 0 && head < (page.view.attentions[attention]?.heads ?? 0) && query >= 0 && query < place.queries && key >= 0 && key < place.keys;
    return known ? [{ attention, head, query, key }] : [];
  });
}

/** @param {TrailStep[]} steps */
function textOfTrail(steps) {
  return steps.slice(-MOST_STEPS).map(({ attention, head, query, key }) => [attention, head, query, key].join('.')).join(';');
}

/** The cell that is pinned now, as the last of the trail. @returns {TrailStep | null} */
function presentStep() {
  const { attention, head, query, key } = page.choice;
  return query === null || key === null ? null : { attention, head, query, key };
}

/**
 * The head of a part of a score, as "1.1"; null for other parts, and where the page has not this head.
 * @param {string} part
 */
function headOfPart(part) {
  const [, layer, number] = /^(\d+)\.(\d+)$/.exec(part) ?? [];
  const stack = chosenAttention()?.stack;
  if (layer === undefined || stack === undefined) return null;
  const attention = page.view.attentions.findIndex((one) => inLanguage(one.stack) === inLanguage(stack) && layerNumber(one) === Number(layer));
  const of = page.view.attentions[attention];
  const head = Array.from({ length: of?.heads ?? 0 }, (_, at) => headNumber(of, at)).indexOf(Number(number));
  return head < 0 ? null : { attention, head };
}

/**
 * Goes on to the head that wrote a part of the score: to what it looked at from there.
 * @param {{attention: number, head: number}} to
 * @param {number} query where the part was written
 */
async function walkTo({ attention, head }, query) {
  const place = page.view.attentions[attention]?.samples[page.choice.sample];
  const maps = place?.maps[0];
  const from = presentStep();
  if (!place || !maps) return;
  const map = await readMap(place, maps, head);
  let key = 0;
  if (map.exactCells) {
    const row = map.values.subarray(query * map.columns, (query + 1) * map.columns);
    row.forEach((value, at) => {
      if (value > (row[key] ?? 0) && !map.hidden?.[query * map.columns + at]) key = at;
    });
  } else key = map.strongest?.keys[query * map.strongest.count] ?? 0;
  change({ attention, head, heads: [head], query, key, trail: textOfTrail([...trailSteps(), ...(from ? [from] : [])]) });
}

/**
 * Goes back to a step of the trail.
 * @param {number} at
 */
function walkBack(at) {
  const steps = trailSteps();
  const step = steps[at];
  if (step) change({ ...step, heads: [step.head], trail: textOfTrail(steps.slice(0, at)) });
}

/**
 * "2.0 peace → world".
 * @param {TrailStep} step
 */
function nameOfStep({ attention, head, query, key }) {
  const of = page.view.attentions[attention];
  const place = of?.samples[page.choice.sample];
  const name = (/** @type {number | undefined} */ tokens, /** @type {number} */ at) => pieceAt(page.view.tokens[tokens ?? -1], at) || String(at);
  return { head: of ? headNameInStack(of, head) : '', query: name(place?.query_tokens, query), key: name(place?.key_tokens, key) };
}

/** The steps as buttons, the last one being what is shown. */
function writeTrail() {
  const nav = byId('trail', HTMLElement);
  const steps = trailSteps();
  nav.hidden = steps.length === 0;
  byId('export-path', HTMLButtonElement).hidden = steps.length === 0;
  if (nav.hidden) return;
  const back = make('button', { type: 'button', text: say('trail_back') });
  back.addEventListener('click', () => walkBack(steps.length - 1));
  const end = make('button', { type: 'button', text: '×', 'aria-label': say('trail_end'), title: say('trail_end') });
  end.addEventListener('click', () => change({ trail: '' }));
  const present = presentStep();
  const items = [...steps, ...(present ? [present] : [])].map((step, at) => {
    const { head, query, key } = nameOfStep(step);
    const button = make('button', { type: 'button', ...(at === steps.length ? { 'aria-current': 'step' } : {}) }, [`${head} `, isolated(query), ' → ', isolated(key)]);
    button.addEventListener('click', () => walkBack(at));
    return make('li', {}, [button]);
  });
  nav.replaceChildren(back, make('ol', {}, items), end);
}

/** A path from the cell that was begun with down to what is shown: each head with what it looked at. @returns {Picture} */
function trailPicture() {
  const present = presentStep();
  const steps = [...trailSteps(), ...(present ? [present] : [])].map(nameOfStep);
  const [width, high] = [560, 74];
  return framedPicture(say('trail'), width, steps.length * high, null, (pen) => {
    steps.forEach(({ head, query, key }, at) => {
      const [x, y] = [20 + 24 * at, at * high + 8];
      const text = `${shortened(query, 14, 150)} → ${shortened(key, 14, 150)}`;
      const wide = Math.max(170, widthOfText(text, 14) + 24, widthOfText(head, 13, true) + 24);
      if (at > 0) {
        pen.line(x - 12, y - 28, x - 12, y + 22, PAPER.line, 1.5);
        pen.line(x - 12, y + 22, x, y + 22, PAPER.line, 1.5);
        pen.text('←', x - 4, y + 22, { size: 13, fill: PAPER.line, align: 'center' });
      }
      pen.rect(x, y, wide, 46, PAPER.faint);
      pen.frame(x, y, wide, 46, at === steps.length - 1 ? PAPER.accent : PAPER.line, at === steps.length - 1 ? 2 : 1);
      pen.text(head, x + 12, y + 14, { size: 13, fill: PAPER.text, bold: true });
      pen.text(text, x + 12, y + 33, { size: 14, fill: PAPER.text });
    });
  });
}

/** Saves the trail as a picture. */
function saveTrail() {
  const svg = onPaper(() => svgOf(trailPicture()));
  saveFile(new Blob([svg], { type: 'image/svg+xml' }), 'svg', 'path');
}
