/** Most tokens of the line; longer texts end with "…". */
const MOST_LINE_TOKENS = 400;

/** Writes the text that the maps are of, what the head looks at, and what a model predicts. */
function writeTextLine() {
  const box = byId('text-line', HTMLDivElement);
  byId('head-sentence', HTMLParagraphElement).replaceChildren(...headSentence());
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
  if (!isKey && query !== null && query !== position && key === null) return change(inSeenOrder(query, position));
  if (isKey) return change({ key: key === position ? null : position });
  if (key === position && query !== null) return change({ key: null });
  return change({ query: query === position ? null : position, key: query === null ? key : null });
}
