/** Writes what a model predicts, and what it would predict without the head that is pointed at. */
function writePredictions() {
  byId('predictions', HTMLParagraphElement).replaceChildren(...classesOfSample(), ...predictionsOfSample());
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

/** The number of the chosen token in its answer, where heads were switched off for that one too; else null. */
function answeredToken() {
  const { answer: position, sample } = page.choice;
  const answer = chosenAnswer();
  const known = page.view.effects && page.view.attentions.some(({ samples }) => samples[sample]?.effects?.answer);
  return position === null || !answer || !known ? null : position - answer.first;
}

/**
 * What was predicted: the chosen token of the answer, where it is known what heads did to it, else the likeliest tokens after the text or at masks.
 * @returns {{label: string, tokens: {token: Node, probability: number}[]}[]}
 */
function shownPredictions() {
  const { predictions = [], answer } = page.view.samples[page.choice.sample] ?? {};
  const token = answeredToken();
  if (token !== null && answer) {
    const position = answer.first + token;
    const label = say('token_of_answer', { token: placeName(answerTokens(), { first: position, end: position + 1 }, false) });
    return [{ label, tokens: [{ token: isolated(pieceAt(answerTokens(), position)), probability: answer.probabilities[token] ?? NaN }] }];
  }
  return predictions.map(({ position, likeliest }) => ({
    label: !page.view.predicts_next ? say('masked_token', { token: placeName(queryTokens(), { first: position, end: position + 1 }, false) }) : say(answer ? 'token_after_answer' : 'next_token'),
    tokens: likeliest.slice(0, 5).map(({ text, probability }) => ({ token: predictedToken(text), probability })),
  }));
}

/** The tokens that were predicted, of the first place also without a head. @returns {(Node | string)[]} */
function predictionsOfSample() {
  const off = effectOf(page.pointedHead ?? page.choice);
  return shownPredictions().flatMap(({ label, tokens }, at) => [
    label,
    ...tokens.flatMap(({ token, probability }, rank) => {
      const without = at === 0 ? off?.probabilities[rank] : undefined;
      const bar = (/** @type {number} */ value, /** @type {string} */ kind) => {
        const share = make('span', { class: kind, 'aria-hidden': 'true' });
        share.style.width = `${Math.max(1, 60 * value)}px`;
        return share;
      };
      const bars = without === undefined ? [bar(probability, 'share')] : [make('span', { class: 'shares' }, [bar(probability, 'share'), bar(without, 'share without')])];
      const number = probability.toFixed(2) + (without === undefined ? '' : ` → ${without.toFixed(2)}`);
      return [' ', make('span', { class: 'prediction' }, [token, ...bars, number])];
    }), ...(at === 0 && off ? [' ', make('span', { class: 'prediction effect' }, [...effectSaying(off), ...(off.estimated === undefined ? [] : partingSaying())])] : []), ' ']);
}

/**
 * What the model predicts without a head, if the page knows it.
 * @param {{attention: number, head: number}} place
 * @returns {{name: string, divergence: number, probabilities: number[], likeliest: string, logit?: number | undefined, estimated?: number | undefined} | null}
 */
function effectOf({ attention, head }) {
  const of = page.view.attentions[attention];
  const effects = of?.samples[page.choice.sample]?.effects;
  const token = answeredToken();
  const [divergence, probabilities, likeliest] = token === null ? [effects?.divergence[head], effects?.probabilities[head], effects?.likeliest[head]]
    : onAnswer(effects?.answer?.[head]?.[token]);
  if (!of || divergence === undefined || !probabilities || likeliest === undefined) return null;
  const named = { name: headNameInStack(of, head), divergence, probabilities, likeliest };
  return token === null ? { ...named, logit: effects?.logit[head], estimated: effects?.estimated?.[head] } : named;
}

/**
 * @param {[number, number, string] | undefined} effect on a token of the answer
 * @returns {[divergence?: number, probabilities?: number[], likeliest?: string]}
 */
function onAnswer(effect) {
  return effect ? [effect[0], [effect[1]], effect[2]] : [];
}

/**
 * @param {{name: string, divergence: number, likeliest: string, logit?: number | undefined, estimated?: number | undefined}} effect
 * @returns {(Node | string)[]}
 */
function effectSaying({ name, divergence, likeliest, logit, estimated }) {
  const said = say(page.view.effects === 'mean' ? 'effect_of_mean' : 'effect_of_zero', { head: name, divergence: fourDigits(divergence), token: '\u0000' }).split('\u0000');
  if (logit === undefined) return [said[0] ?? '', predictedToken(likeliest), said[1] ?? ''];
  const first = page.view.samples[page.choice.sample]?.predictions?.[0]?.likeliest[0]?.text ?? '';
  const change = { token: '\u0000', change: fourDigits(logit) };
  const ofLogit = (estimated === undefined ? say('logit_without', change) : say('logit_without_and_estimated', { ...change, estimated: fourDigits(estimated) })).split('\u0000');
  return [said[0] ?? '', predictedToken(likeliest), said[1] ?? '', ' ', ofLogit[0] ?? '', predictedToken(first), ofLogit[1] ?? ''];
}

/** Where what a gradient estimates of the heads parts from what was computed without them. @returns {(Node | string)[]} */
function partingSaying() {
  let [whole, missed] = [0, 0];
  /** @type {{name: string, logit: number, estimated: number} | null} */
  let worst = null;
  for (const attention of page.view.attentions) {
    const effects = attention.samples[page.choice.sample]?.effects;
    effects?.estimated?.forEach((estimated, head) => {
      const logit = effects.logit[head] ?? 0;
      whole += Math.abs(logit);
      missed += Math.abs(estimated - logit);
      if (!worst || Math.abs(estimated - logit) > Math.abs(worst.estimated - worst.logit)) worst = { name: headNameInStack(attention, head), logit, estimated };
    });
  }
  if (!worst || whole === 0) return [];
  const { name, logit, estimated } = /** @type {{name: string, logit: number, estimated: number}} */ (worst);
  const far = 2 * missed >= whole;
  return [' ', say(far ? 'estimates_part_far' : 'estimates_part', { share: ((100 * missed) / whole).toFixed(0), head: name, estimated: fourDigits(estimated), change: fourDigits(logit) })];
}

/** @param {string} text */
function predictedToken(text) {
  return isolated(pieceAt({ pieces: [text], shown: [text], words: [], special: [] }, 0));
}

/** What the states that leave each layer would predict, the darker the more probable. @returns {Node[]} */
function predictionsByLayer() {
  const { predictions = [], answer } = page.view.samples[page.choice.sample] ?? {};
  return predictions.flatMap(({ position, by_layer: tokens }) => (tokens === undefined ? [] : [make('p', {}, [
    page.view.predicts_next ? say(answer ? 'by_layer_after_answer' : 'by_layer') : say('masked_by_layer', { token: placeName(queryTokens(), { first: position, end: position + 1 }, false) }),
    ...tokens.flatMap(({ layer, text, probability }) => {
      const token = make('span', { class: 'prediction', title: say('layer_says', { layer, share: probability.toFixed(2) }) }, [
        make('span', { class: 'number', text: String(layer) }), ' ', predictedToken(text)]);
      token.style.setProperty('--share', `${Math.round(100 * probability)}%`);
      return [' ', token];
    })])]));
}
