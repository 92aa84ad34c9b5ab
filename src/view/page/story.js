/**
 * A text about a view, and the address that shows the view.
 * @typedef {import('./data').StoryStep} StoryStep
 */

/** The story that is told or made: of the page, of a file, or begun here. */
const story = {
  /** @type {StoryStep[]} */
  steps: [],
  at: -1,
  making: false,
};

/** Takes the story of the page. */
function beginStory() {
  story.steps = page.view.story ?? [];
  byId('story-button', HTMLButtonElement).textContent = say('story');
  writeStory();
}

/**
 * Shows a step of the story.
 * @param {number} at
 */
function tellStep(at) {
  const step = story.steps[at];
  if (!step) return;
  story.at = at;
  const { language, theme } = page.choice;
  Object.assign(page.choice, choiceOf(step.view, page.view.language), { language, theme });
  byId('search', HTMLInputElement).value = page.choice.found;
  page.cursor = null;
  change({});
  writeStory();
  byId('announcement', HTMLDivElement).textContent = step.text;
}

/** Writes the step that is told, and the fields of one that is made. */
function writeStory() {
  const bar = byId('story', HTMLElement);
  bar.hidden = !story.making && story.at < 0 && !bar.dataset['open'];
  byId('story-button', HTMLButtonElement).ariaExpanded = String(!bar.hidden);
  if (bar.hidden) return;
  const step = story.steps[story.at];
  byId('story-place', HTMLSpanElement).textContent = story.steps.length ? say('story_place', { at: story.at + 1, all: story.steps.length }) : say('story_empty');
  const text = byId('story-text', HTMLTextAreaElement);
  if (document.activeElement !== text) text.value = step?.text ?? '';
  text.readOnly = !story.making;
  // Buttons that are disabled would lose the focus, and the arrow keys with it.
  byId('story-before', HTMLButtonElement).ariaDisabled = String(story.at <= 0);
  byId('story-after', HTMLButtonElement).ariaDisabled = String(story.at + 1 >= story.steps.length);
  for (const id of ['story-add', 'story-remove', 'story-save']) byId(id, HTMLElement).hidden = !story.making;
  byId('story-make', HTMLButtonElement).ariaPressed = String(story.making);
}

/** @param {unknown} read */
function stepsOf(read) {
  const steps = /** @type {{steps?: unknown}} */ (read)?.steps;
  if (!Array.isArray(steps)) return null;
  const known = steps.filter((step) => typeof step?.text === 'string' && typeof step?.view === 'string');
  return known.length === steps.length ? /** @type {StoryStep[]} */ (known) : null;
}

/** Reads a story from a file. */
async function openStory() {
  const input = byId('story-file', HTMLInputElement);
  const file = input.files?.[0];
  if (!file) return;
  /** @type {StoryStep[] | null} */
  let steps = null;
  try {
    steps = stepsOf(JSON.parse(await file.text()));
  } catch {
    steps = null;
  }
  input.value = '';
  if (!steps) {
    byId('story-place', HTMLSpanElement).textContent = say('story_unreadable');
    return;
  }
  story.steps = steps;
  tellStep(0);
}

function listenToStory() {
  const bar = byId('story', HTMLElement);
  const text = byId('story-text', HTMLTextAreaElement);
  const click = (/** @type {string} */ id, /** @type {() => void} */ does) => byId(id, HTMLElement).addEventListener('click', () => {
    does();
    writeStory();
  });
  click('story-button', () => {
    const open = bar.hidden;
    bar.dataset['open'] = open ? 'open' : '';
    story.making = open && story.steps.length === 0;
    story.at = -1;
    if (open) tellStep(0);
  });
  click('story-before', () => tellStep(story.at - 1));
  click('story-after', () => tellStep(story.at + 1));
  click('story-make', () => {
    story.making = !story.making;
  });
  click('story-add', () => {
    story.steps = [...story.steps.slice(0, story.at + 1), { text: '', view: addressOf(page.choice, page.view.language) }, ...story.steps.slice(story.at + 1)];
    story.at += 1;
    text.value = '';
    text.focus();
  });
  click('story-remove', () => {
    story.steps = story.steps.filter((_, at) => at !== story.at);
    story.at = Math.min(story.at, story.steps.length - 1);
  });
  click('story-save', () => saveFile(new Blob([`${JSON.stringify({ steps: story.steps }, null, 2)}\n`], { type: 'application/json' }), 'json', 'story'));
  text.addEventListener('input', () => {
    const step = story.steps[story.at];
    if (step) story.steps[story.at] = { ...step, text: text.value };
  });
  byId('story-file', HTMLInputElement).addEventListener('change', () => {
    openStory().catch(showProblem);
  });
  bar.addEventListener('keydown', (event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 })[event.key];
    if (step === undefined || event.shiftKey || (event.target === text && story.making)) return;
    tellStep(story.at + step);
    event.preventDefault();
  });
}
