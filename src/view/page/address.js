/** Members of a choice that the address keeps beside the layer. */
const ADDRESS_NAMES = /** @type {const} */ ([
  'sample', 'head', 'tensor', 'view', 'left', 'enlarged', 'statistic', 'sort', 'query', 'key', 'answer', 'window', 'found', 'what', 'trail', 'scale', 'own', 'words', 'sentences', 'leave',
  'renormalise', 'threshold', 'strongest', 'part', 'other', 'direction', 'table', 'language', 'theme',
]);

/** Values of the names in the address that do not take any number or text. */
const ADDRESS_VALUES = /** @type {Record<string, string[]>} */ ({
  view: ['map', 'lines', 'text', 'table'],
  left: ['maps', 'statistic', 'pair', 'paths', 'list'],
  scale: ['linear', 'log'],
  leave: ['none', 'first', 'special'],
  direction: ['gives', 'receives'],
  table: ['cells', 'row'],
  language: ['en', 'zh'],
  theme: ['system', 'light', 'dark'],
});

/**
 * The part of the address behind #, without the members that have their first values.
 * @param {Choice} choice
 * @param {Language} language the page begins with
 */
function addressOf(choice, language) {
  const first = { ...firstChoice(), language };
  const words = new URLSearchParams();
  const attention = page.view.attentions[choice.attention];
  if (choice.attention !== first.attention && attention) words.set('layer', layerKey(choice.attention));
  for (const name of ADDRESS_NAMES) {
    if (choice[name] !== first[name] && choice[name] !== null) words.set(name, String(choice[name]));
  }
  if (choice.heads.join() !== String(choice.head)) words.set('heads', choice.heads.join());
  return words.toString();
}

/**
 * The name of an attention, or its number if that is not its alone.
 * @param {number} index
 */
function layerKey(index) {
  const name = page.view.attentions[index]?.name ?? '';
  const same = page.view.attentions.filter((other) => other.name === name);
  return name === '' || same.length > 1 || /^\d+$/.test(name) ? String(index) : name;
}

/**
 * @param {string} address
 * @param {Language} language the page begins with
 * @returns {Choice}
 */
function choiceOf(address, language) {
  const words = new URLSearchParams(address.replace(/^#/, ''));
  const choice = { ...firstChoice(), language };
  const layer = words.get('layer');
  if (layer !== null) {
    const named = page.view.attentions.findIndex((_, index) => layerKey(index) === layer);
    if (named >= 0) choice.attention = named;
  }
  const values = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (choice));
  for (const name of ADDRESS_NAMES) {
    const text = words.get(name);
    if (text !== null) values[name] = addressValue(name, text, values[name]);
  }
  const heads = words.get('heads');
  choice.heads = heads === null ? [choice.head] : heads.split(',').map(Number);
  return choice;
}

/**
 * @param {string} name
 * @param {string} text
 * @param {unknown} first the value without the address
 */
function addressValue(name, text, first) {
  const allowed = ADDRESS_VALUES[name];
  if (allowed) return allowed.includes(text) ? text : first;
  if (typeof first === 'boolean') return text === 'true';
  if (typeof first === 'string') return text;
  const value = text.trim() === '' ? NaN : Number(text);
  if (name !== 'threshold' && !Number.isInteger(value)) return first;
  return Number.isFinite(value) && value >= 0 ? value : first;
}

/** Milliseconds without a change before the address is written. */
const ADDRESS_PAUSE = 120;

/** 0 = the address tells the present choice. */
const addressTimer = { waiting: 0 };

/** Shows the present choice in the address after a pause: browsers bound how often, and what was chosen is drawn first. */
function writeAddressSoon() {
  clearTimeout(addressTimer.waiting);
  addressTimer.waiting = window.setTimeout(writeAddress, ADDRESS_PAUSE);
}

/** Shows the present choice in the address, without a new entry in the history. */
function writeAddress() {
  clearTimeout(addressTimer.waiting);
  addressTimer.waiting = 0;
  // A page within another one, as notebooks have it, has no address of its own.
  if (location.protocol === 'about:') return;
  const address = addressOf(page.choice, page.view.language);
  const present = location.hash.replace(/^#/, '');
  if (address === present) return;
  history.replaceState(null, '', address === '' ? location.pathname + location.search : `#${address}`);
}
