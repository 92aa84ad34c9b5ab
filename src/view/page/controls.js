/** Fills all fields with the present choice. */
function writeControls() {
  const { choice, view } = page;
  const attention = chosenAttention();
  const place = chosenPlace();
  const several = new Set(view.attentions.map(({ stack }) => told(stack))).size > 1;
  fillSelect(byId('layer', HTMLSelectElement), view.attentions.map((other, index) =>
    [String(index), told(other.title) || say('layer_number', { layer: layerNumber(other) }) + (several ? ` (${told(other.stack)})` : '')]), String(choice.attention));
  fillSelect(byId('head', HTMLSelectElement), Array.from({ length: attention?.heads ?? 0 }, (_, head) => [String(head), say('head_number', { head: headNumber(attention, head) })]), String(choice.head));
  fillSelect(byId('sample', HTMLSelectElement), view.samples.map(({ title }, index) => [String(index), shortened(told(title), 14, 260)]), String(choice.sample));
  fillSelect(byId('tensor', HTMLSelectElement), (place?.maps ?? []).map(({ tensor, title }) => [tensor, told(title)]), choice.tensor);
  const parts = partsOfPlace().map(([value]) => {
    const [query = '', key = ''] = value.split('-');
    return /** @type {[string, string]} */ ([value, say('part_from_to', { query, key })]);
  });
  fillSelect(byId('part', HTMLSelectElement), [['', say('part_all')], ...parts], choice.part);
  byId('sample-field', HTMLLabelElement).hidden = view.samples.length < 2;
  byId('tensor-field', HTMLLabelElement).hidden = (place?.maps.length ?? 0) < 2;
  byId('part-field', HTMLLabelElement).hidden = parts.length === 0;
  byId('attention-title', HTMLHeadingElement).textContent = attention ? headTitle(attention, choice.head) : say('attention');
  writeOptions();
  writeSegments();
}

function writeOptions() {
  const { choice } = page;
  byId('words', HTMLInputElement).checked = choice.words;
  byId('words-field', HTMLLabelElement).hidden = !hasWords(queryTokens()) && !hasWords(keyTokens());
  byId('leave', HTMLSelectElement).value = choice.leave;
  byId('renormalise', HTMLInputElement).checked = choice.renormalise;
  byId('threshold', HTMLInputElement).value = choice.threshold > 0 ? String(choice.threshold) : '';
  byId('strongest', HTMLInputElement).value = choice.strongest > 0 ? String(choice.strongest) : '';
  byId('own-range', HTMLInputElement).checked = choice.own;
  byId('scale', HTMLSelectElement).value = choice.scale;
  byId('language', HTMLSelectElement).value = choice.language;
  byId('theme', HTMLSelectElement).value = choice.theme;
}

function writeSegments() {
  const { choice, view } = page;
  for (const button of byId('heads-shown-as', HTMLDivElement).querySelectorAll('button')) button.ariaPressed = String(button.dataset['value'] === choice.left);
  byId('heads-shown-as', HTMLDivElement).hidden = view.statistics.length === 0;
  const enlarge = byId('enlarge', HTMLButtonElement);
  enlarge.ariaPressed = String(choice.enlarged);
  enlarge.textContent = say(choice.enlarged ? 'shrink' : 'enlarge');
  document.body.classList.toggle('enlarged', choice.enlarged);
  byId('zoom', HTMLDivElement).hidden = choice.view !== 'map';
  for (const name of VIEW_NAMES) {
    const tab = byId(`tab-${name}`, HTMLButtonElement);
    tab.ariaSelected = String(choice.view === name);
    tab.tabIndex = choice.view === name ? 0 : -1;
    byId(`view-${name}`, HTMLDivElement).hidden = choice.view !== name;
  }
}

/** Whether the page is dark now. */
function isDark() {
  return page.choice.theme === 'dark' || (page.choice.theme === 'system' && window.matchMedia('(prefers-color-scheme: dark)').matches);
}

function listenToSelectors() {
  const selects = /** @type {[string, (value: string) => Partial<Choice>][]} */ ([
    ['layer', (value) => ({ attention: Number(value), heads: [page.choice.head] })],
    ['head', (value) => ({ head: Number(value), heads: page.choice.heads.length > 1 ? page.choice.heads : [Number(value)] })],
    ['sample', (value) => ({ sample: Number(value), query: null, key: null, part: '' })],
    ['tensor', (value) => ({ tensor: value })],
    ['part', (value) => ({ part: value })],
    ['leave', (value) => ({ leave: value })],
    ['scale', (value) => ({ scale: value })],
    ['statistic', (value) => ({ statistic: Number(value) })],
    ['language', (value) => ({ language: value })],
    ['theme', (value) => ({ theme: value })],
  ]);
  for (const [id, chosen] of selects) {
    const select = byId(id, HTMLSelectElement);
    select.addEventListener('change', () => change(chosen(select.value)));
  }
  const steps = /** @type {[string, number, number][]} */ ([['layer-before', -1, 0], ['layer-after', 1, 0], ['head-before', 0, -1], ['head-after', 0, 1]]);
  for (const [id, layers, heads] of steps) byId(id, HTMLButtonElement).addEventListener('click', () => stepHead(layers, heads));
}

function listenToOptions() {
  const checks = /** @type {[string, 'words' | 'renormalise' | 'own'][]} */ ([['words', 'words'], ['renormalise', 'renormalise'], ['own-range', 'own']]);
  for (const [id, name] of checks) {
    const input = byId(id, HTMLInputElement);
    input.addEventListener('change', () => change({ [name]: input.checked }));
  }
  const threshold = byId('threshold', HTMLInputElement);
  threshold.addEventListener('change', () => change({ threshold: Math.max(0, Number(threshold.value) || 0) }));
  const strongest = byId('strongest', HTMLInputElement);
  strongest.addEventListener('change', () => change({ strongest: Math.max(0, Math.floor(Number(strongest.value)) || 0) }));
  byId('options-reset', HTMLButtonElement).addEventListener('click', () => {
    const { words, leave, renormalise, threshold: none, strongest: all, own, part, scale } = firstChoice();
    change({ words, leave, renormalise, threshold: none, strongest: all, own, part, scale });
  });
  for (const name of ['options', 'export']) {
    const button = byId(`${name}-button`, HTMLButtonElement);
    button.addEventListener('click', () => {
      const drawer = byId(name, HTMLDivElement);
      drawer.hidden = !drawer.hidden;
      button.ariaExpanded = String(!drawer.hidden);
      redraw();
    });
  }
}

function listenToTabs() {
  const tabs = byId('tabs', HTMLDivElement);
  tabs.addEventListener('click', (event) => {
    const view = VIEW_NAMES.find((name) => event.target === byId(`tab-${name}`, HTMLButtonElement));
    if (view) change({ view });
  });
  tabs.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0 || event.shiftKey) return;
    const view = VIEW_NAMES[(VIEW_NAMES.indexOf(page.choice.view) + step + VIEW_NAMES.length) % VIEW_NAMES.length] ?? 'map';
    change({ view });
    byId(`tab-${view}`, HTMLButtonElement).focus();
    event.preventDefault();
  });
  byId('heads-shown-as', HTMLDivElement).addEventListener('click', (event) => {
    const value = event.target instanceof HTMLElement ? event.target.dataset['value'] : undefined;
    if (value === 'maps' || value === 'statistic' || value === 'list') change({ left: value });
  });
  byId('enlarge', HTMLButtonElement).addEventListener('click', () => change({ enlarged: !page.choice.enlarged }));
}
