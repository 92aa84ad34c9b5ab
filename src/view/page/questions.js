/**
 * A question about the shown map: which key wins a row, or why a cell is hidden.
 * @typedef {{query: number, key: number, text: TextName, answers: string[], right: string}} Question
 */

const questions = { asked: 0, right: 0, turn: 0, given: '' };

/** Keys among which the strongest is to be found. */
const MOST_ANSWERS = 4;

/** Reasons that are no reason, for those that are. @type {TextName[]} */
const FALSE_REASONS = ['question_small', 'question_other_head', 'question_same'];

/**
 * Answers in an order that does not tell the right one.
 * @param {string[]} answers
 * @param {number} turn
 */
function turnedAnswers(answers, turn) {
  const unique = [...new Set(answers)];
  const from = turn % unique.length;
  return [...unique.slice(from), ...unique.slice(0, from)];
}

/** The question of this turn; null where the map has none. @returns {Question | null} */
function presentQuestion() {
  const [shown, place] = [chosenMap(), chosenPlace()];
  if (!shown?.map.exactCells || !place || !areWeights() || shown.words) return null;
  const { turn } = questions;
  const rows = shown.queries.map((_, row) => row);
  const reasons = place.hidden_because.map(inLanguage);
  const hiding = rows.filter((row) => shown.keys.some((_, column) => cellAt(shown, row, column).hidden));
  if (turn % 3 === 2 && reasons.length && hiding.length) {
    const row = hiding[(5 * turn) % hiding.length] ?? 0;
    const column = shown.keys.findIndex((_, at) => cellAt(shown, row, at).hidden);
    const right = reasons.join(' ');
    return {
      query: shown.queries[row]?.first ?? 0, key: shown.keys[column]?.first ?? 0, text: 'question_why', right,
      answers: turnedAnswers([right, ...FALSE_REASONS.map((name) => say(name))], turn),
    };
  }
  const asking = rows.filter((row) => shown.keys.filter((_, column) => !cellAt(shown, row, column).hidden).length > 2);
  const row = asking[(7 * turn + 3) % Math.max(1, asking.length)];
  if (row === undefined) return null;
  const strongest = strongestOf(shown, row, shown.queries[row]?.first ?? 0).slice(0, MOST_ANSWERS);
  const names = strongest.map(({ stretch }) => placeName(keyTokens(), stretch, false));
  return { query: shown.queries[row]?.first ?? 0, key: strongest[0]?.stretch.first ?? 0, text: 'question_which', right: names[0] ?? '', answers: turnedAnswers(names, turn) };
}

/** Writes the question, and what its answer was. */
function writeQuestions() {
  const box = byId('questions', HTMLDetailsElement);
  const shown = chosenMap();
  box.hidden = !shown?.map.exactCells || !areWeights() || shown.words || page.choice.view !== 'map';
  // What is asked is found among all cells.
  const question = box.open && !box.hidden ? presentQuestion() : null;
  if (box.open && !question) box.hidden = true;
  if (!question) return;
  const name = (/** @type {import('./data').Tokens | undefined} */ tokens, /** @type {number} */ at) => placeName(tokens, { first: at, end: at + 1 }, false);
  const text = say(question.text, { query: name(queryTokens(), question.query), key: name(keyTokens(), question.key) });
  const answers = question.answers.map((answer) => {
    const button = make('button', { type: 'button', text: answer, dir: 'auto' });
    if (questions.given !== '') button.ariaPressed = String(answer === question.right);
    button.disabled = questions.given !== '';
    button.addEventListener('click', () => answerQuestion(question, answer));
    return button;
  });
  /** @type {HTMLElement[]} */
  const parts = [make('p', { text }), make('div', { class: 'answers' }, answers)];
  if (questions.given !== '') {
    const right = questions.given === question.right;
    const next = make('button', { type: 'button', text: say('question_next') });
    next.addEventListener('click', () => {
      questions.turn += 1;
      questions.given = '';
      writeQuestions();
      focusIn(box, '.answers button');
    });
    parts.push(make('p', { text: say(right ? 'question_right' : 'question_wrong', { answer: question.right, right: questions.right, asked: questions.asked }) }), next);
  }
  byId('question', HTMLDivElement).replaceChildren(...parts);
}

/**
 * @param {Question} question
 * @param {string} answer
 */
function answerQuestion(question, answer) {
  questions.given = answer;
  questions.asked += 1;
  if (answer === question.right) questions.right += 1;
  // The cell that the answer is about shows its arithmetic.
  change({ query: question.query, key: question.key });
  writeQuestions();
  const box = byId('question', HTMLDivElement);
  focusIn(box, ':scope > button');
  byId('announcement', HTMLDivElement).textContent = box.querySelector('p:last-of-type')?.textContent ?? '';
}

/**
 * @param {HTMLElement} box
 * @param {string} what
 */
function focusIn(box, what) {
  const found = box.querySelector(what);
  if (found instanceof HTMLElement) found.focus();
}

function listenToQuestions() {
  byId('questions', HTMLDetailsElement).addEventListener('toggle', writeQuestions);
}
