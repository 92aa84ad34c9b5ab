/** Most tokens of the line; longer texts end with "…". */
const MOST_LINE_TOKENS = 400;

/** Writes the text that the maps are of, what the head looks at, and what a model predicts. */
function writeTextLine() {
  const box = byId('text-line', HTMLDivElement);
  byId('head-sentence', HTMLParagraphElement).textContent = headSentence();
  writePredictions();
  const { sample, query, key, left, answer } = page.choice;
  const place = chosenPlace();
  const wanted = JSON.stringify([sample, place?.query_tokens, place?.key_tokens, place?.picture, query, key, left, answer, answerView.sources && answerView.wanted, speech.language, isDark()]);
  if (box.dataset['wanted'] === wanted) return;
  box.dataset['wanted'] = wanted;
  // Patches have their picture in place of a text.
  const both = chosenPicture() ? [] : [...new Set([queryTokens(), keyTokens()])].filter((tokens) => hasNames(tokens));
  box.hidden = both.length === 0;
  box.replaceChildren(...both.map((tokens) => lineOfTokens(tokens, tokens === queryTokens(), tokens === keyTokens())));
  byId('by-layer', HTMLDivElement).replaceChildren(...predictionsByLayer());
}

/** Writes what a model predicts, and what it would predict without the head that is pointed at. */
function writePredictions() {
  byId('predictions', HTMLParagraphElement).replaceChildren(...classesOfSample(), ...predictionsOfSample());
}

/**
 * @param {import('./data').Tokens | undefined} tokens
 * @param {boolean} pins whether a click pins the query
 * @param {boolean} keys whether the tokens are keys
 */
function lineOfTokens(tokens, pins, keys) {
  const count = Math.min(endOfText(tokens, tokens?.pieces.length ?? 0), MOST_LINE_TOKENS);
  const inWord = piecesInWords(tokens);
  const line = make('p', { class: 'line-of-tokens', dir: 'auto' });
  const answer = chosenAnswer();
  const answered = answer && answerTokens();
  for (let position = 0; position < count; ++position) {
    if (position > 0 && !inWord.has(position)) line.append(' ');
    const piece = make('bdi', { text: inWord.has(position) ? pieceAt(tokens, position).replace(/^(·|##)/, '') : pieceAt(tokens, position) });
    if (pins && position === page.choice.query) piece.classList.add('pinned-token');
    const tint = tintOfSource(tokens, position);
    if (tint !== null) [piece.style.backgroundColor, piece.style.color] = [colourOf(tint), readableOn(tint)];
    if (answer && tokens === answered && position >= answer.first) piece.classList.add(position === page.choice.answer ? 'chosen-answer' : 'answer-token');
    if (position === page.choice.key && (keys && page.choice.left === 'pair')) piece.classList.add('pinned-key');
    if (pins || keys) piece.dataset['position'] = String(position);
    if (!pins) piece.dataset['side'] = 'key';
    line.append(piece);
  }
  if (count < (tokens?.pieces.length ?? 0) && count === MOST_LINE_TOKENS) line.append(' …');
  return line;
}

/**
 * What a classifier says of the sample, or of each token that is shown of it.
 * @returns {(Node | string)[]}
 */
function classesOfSample() {
  const all = page.view.samples[page.choice.sample]?.classification ?? [];
  if (all.length === 0) return [];
  const tokens = queryTokens();
  const number = (/** @type {number | undefined} */ share, /** @type {number} */ logit) => (share ?? logit).toFixed(2);
  return [say(all[0]?.position === undefined ? 'class_of_text' : 'classes_of_tokens'),
    ...all.slice(0, MOST_LINE_TOKENS).flatMap(({ position, classes }) => classes.slice(0, position === undefined ? 5 : 1).flatMap(({ label, logit, probability }) => {
      const share = make('span', { class: 'share', 'aria-hidden': 'true' });
      share.style.width = `${Math.max(1, 60 * (probability ?? 0))}px`;
      const of = position === undefined ? [] : [isolated(pieceAt(tokens, position)), ' '];
      return [' ', make('span', { class: 'prediction' }, [...of, isolated(label), share, number(probability, logit)])];
    })), ' '];
}

/** The likeliest tokens at each predicted position, of the first one also without a head. @returns {(Node | string)[]} */
function predictionsOfSample() {
  const predictions = page.view.samples[page.choice.sample]?.predictions ?? [];
  const off = effectOf(page.pointedHead ?? page.choice);
  return predictions.flatMap(({ position, likeliest }, at) => [
    page.view.predicts_next ? say('next_token') : say('masked_token', { token: placeName(queryTokens(), { first: position, end: position + 1 }, false) }),
    ...likeliest.slice(0, 5).flatMap(({ text, probability }, rank) => {
      const without = at === 0 ? off?.probabilities[rank] : undefined;
      const bar = (/** @type {number} */ value, /** @type {string} */ kind) => {
        const share = make('span', { class: kind, 'aria-hidden': 'true' });
        share.style.width = `${Math.max(1, 60 * value)}px`;
        return share;
      };
      const bars = without === undefined ? [bar(probability, 'share')] : [make('span', { class: 'shares' }, [bar(probability, 'share'), bar(without, 'share without')])];
      const number = probability.toFixed(2) + (without === undefined ? '' : ` → ${without.toFixed(2)}`);
      return [' ', make('span', { class: 'prediction' }, [predictedToken(text), ...bars, number])];
    }), ...(at === 0 && off ? [' ', make('span', { class: 'prediction effect' }, effectSaying(off))] : []), ' ']);
}

/**
 * What the model predicts without a head, if the page knows it.
 * @param {{attention: number, head: number}} place
 * @returns {{name: string, divergence: number, probabilities: number[], likeliest: string} | null}
 */
function effectOf({ attention, head }) {
  const of = page.view.attentions[attention];
  const effects = of?.samples[page.choice.sample]?.effects;
  const [divergence, probabilities, likeliest] = [effects?.divergence[head], effects?.probabilities[head], effects?.likeliest[head]];
  if (!of || divergence === undefined || !probabilities || likeliest === undefined) return null;
  return { name: headNameInStack(of, head), divergence, probabilities, likeliest };
}

/**
 * @param {{name: string, divergence: number, likeliest: string}} effect
 * @returns {(Node | string)[]}
 */
function effectSaying({ name, divergence, likeliest }) {
  const said = say(page.view.effects === 'mean' ? 'effect_of_mean' : 'effect_of_zero', { head: name, divergence: fourDigits(divergence), token: '\u0000' }).split('\u0000');
  return [said[0] ?? '', predictedToken(likeliest), said[1] ?? ''];
}

/** @param {string} text */
function predictedToken(text) {
  return isolated(pieceAt({ pieces: [text], shown: [text], words: [], special: [] }, 0));
}

/** What the states that leave each layer would predict, the darker the more probable. @returns {Node[]} */
function predictionsByLayer() {
  const predictions = page.view.samples[page.choice.sample]?.predictions ?? [];
  return predictions.flatMap(({ position, by_layer: tokens }) => (tokens === undefined ? [] : [make('p', {}, [
    page.view.predicts_next ? say('by_layer') : say('masked_by_layer', { token: placeName(queryTokens(), { first: position, end: position + 1 }, false) }),
    ...tokens.flatMap(({ layer, text, probability }) => {
      const token = make('span', { class: 'prediction', title: say('layer_says', { layer, share: probability.toFixed(2) }) }, [
        make('span', { class: 'number', text: String(layer) }), ' ', predictedToken(text)]);
      token.style.setProperty('--share', `${Math.round(100 * probability)}%`);
      return [' ', token];
    })])]));
}

function listenToTextLine() {
  byId('text-line', HTMLDivElement).addEventListener('click', (event) => {
    const { position, side } = event.target instanceof HTMLElement ? event.target.dataset : {};
    if (position !== undefined) chooseWord(Number(position), side === 'key');
  });
}

/**
 * Pins a token of the text as query. Where pairs are looked at, the second one becomes the key.
 * @param {number} position
 * @param {boolean} isKey whether the token can be a key only
 */
function chooseWord(position, isKey) {
  const { query, key, left } = page.choice;
  if (left !== 'pair' && !isKey) return change({ query: query === position ? null : position, key: null });
  if (isKey || (query !== null && query !== position && key === null)) return change({ key: key === position ? null : position });
  if (key === position && query !== null) return change({ key: null });
  return change({ query: query === position ? null : position, key: query === null ? key : null });
}

/** What rows, columns and colours are, until the reader points at something. */
function hintsOfMap() {
  if (page.choice.view !== 'map') return [];
  const names = /** @type {TextName[]} */ (['hint_row', 'hint_column', 'hint_colour']);
  return names.map((name) => make('p', { class: 'hint', text: say(name) }));
}
