/**
 * The static element of an id, of the kind that the page has.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} [kind] which checks of types and tests need
 * @returns {T}
 */
function byId(id, kind = /** @type {new () => T} */ (/** @type {unknown} */ (HTMLElement))) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no element ${id}.`);
  return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {{class?: string, text?: string, [attribute: string]: string | undefined}} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
function make(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    if (name === 'text') made.textContent = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/**
 * Puts the children of an element anew only where they would be others, so that the focus stays.
 * @param {HTMLElement} element
 * @param {string} wanted what they depend on
 * @param {() => (Node | string)[]} children
 */
function writeOnce(element, wanted, children) {
  if (element.dataset['wanted'] === wanted) return;
  element.dataset['wanted'] = wanted;
  element.replaceChildren(...children());
}

/**
 * A token's text by itself, so that its direction does not turn what stands around it.
 * @param {string} text
 */
function isolated(text) {
  return make('bdi', { class: 'token', text });
}

/**
 * @param {HTMLSelectElement} select
 * @param {[value: string, text: string][]} options
 * @param {string} chosen
 */
function fillSelect(select, options, chosen) {
  const wanted = JSON.stringify(options);
  if (select.dataset['options'] !== wanted) {
    select.dataset['options'] = wanted;
    select.replaceChildren(...options.map(([value, text]) => make('option', { value, text })));
  }
  if (select.value !== chosen) select.value = chosen;
}

/**
 * The pixels of a canvas that fills its box on this screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width in CSS pixels
 * @param {number} height
 */
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const across = Math.max(1, Math.round(width * ratio));
  const down = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  if (canvas.style.width !== `${width}px`) canvas.style.width = `${width}px`;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const context = contextOf(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser draws no canvas.');
  return context;
}
