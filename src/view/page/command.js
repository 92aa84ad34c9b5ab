/**
 * A word for a POSIX shell.
 * @param {string} word
 */
function shellWord(word) {
  return /^[\w./:,=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The commands that draw what is shown. */
function plotCommand() {
  const { choice, view } = page;
  const kind = choice.view === 'lines' ? 'lines' : choice.view === 'text' ? 'strip' : 'heatmap';
  const flags = [...tensorFlags(), ...headFlags(kind), ...positionFlags(kind), ...colourFlags(kind)];
  const name = `layer${layerNumber(chosenAttention() ?? { name: '', title: '', stack: '', heads: 1, heads_a_group: 1, samples: [] })}_head${headNumber(chosenAttention(), choice.head)}.png`;
  return [...view.commands.before, ['attn-cli', 'plot', kind, view.commands.input, ...flags, '--out', name].join(' ')].join('\n');
}

/** @returns {string[]} */
function tensorFlags() {
  const attention = chosenAttention();
  const maps = /** @type {import('./data').Maps & {choice?: string} | undefined} */ (chosenMaps());
  if (maps?.choice !== undefined) return maps.choice === '' ? [] : [maps.choice];
  if (!attention || !maps) return [];
  const stacked = /^layers\.(\d+)$/.exec(attention.name);
  if (stacked) return ['--layers', stacked[1] ?? ''];
  if (isWholeName(attention)) return ['--name', shellWord(attention.name)];
  if (attention.name === '') return maps.tensor === 'weights' ? [] : ['--name', shellWord(maps.tensor)];
  return ['--name', shellWord(`${attention.name}.${maps.tensor}`)];
}

/**
 * Whether an attention has the whole name of its tensor, as those of files of other programs: their
 * stack is that name with {n} in the place of the layer.
 * @param {import('./data').Attention} attention
 */
function isWholeName({ name, stack }) {
  const parts = inLanguage(stack).split('{n}');
  const numbers = name.slice((parts[0] ?? '').length, name.length - (parts[1] ?? '').length);
  return name !== '' && (inLanguage(stack) === name || (parts.length === 2 && name === parts.join(numbers) && /^\d+$/.test(numbers)));
}

/** @param {string} kind */
function headFlags(kind) {
  const numberOf = (/** @type {number} */ head) => headNumber(chosenAttention(), head);
  const { choice, view } = page;
  const flags = view.samples.length > 1 ? ['--sample', String(choice.sample)] : [];
  if ((chosenAttention()?.heads ?? 1) < 2) return flags;
  if (kind === 'lines' && choice.heads.length > 1) {
    const all = choice.heads.length === chosenAttention()?.heads && !chosenAttention()?.numbers;
    return [...flags, ...(all ? ['--head', 'all'] : ['--heads', choice.heads.map(numberOf).join()])];
  }
  return [...flags, '--head', String(numberOf(choice.head))];
}

/**
 * Flags that choose positions: the part of the pair, the window, the pinned query, keys left out.
 * @param {string} kind
 */
function positionFlags(kind) {
  const { choice } = page;
  const shown = chosenMap();
  const flags = [];
  const layout = kind === 'heatmap' && choice.view === 'map' ? mapView.layout : null;
  const [queries, keys] = [rangeOf(shown?.queries, layout?.row, layout?.rows), rangeOf(shown?.keys, layout?.column, layout?.columns)];
  const pinned = choice.query !== null && shown ? shown.queries[pinnedRow()] : undefined;
  const joined = shown !== undefined && !shown.map.exactCells;
  if (kind !== 'heatmap' && pinned) flags.push('--queries', joined ? `${choice.query ?? 0}:${(choice.query ?? 0) + 1}` : `${pinned.first}:${pinned.end}`);
  else if (queries && shown && (queries.first > 0 || queries.end < shown.map.queries)) flags.push('--queries', `${queries.first}:${queries.end}`);
  const dropped = leftOut(joined ? 'none' : choice.leave, keyTokens());
  const firstKept = choice.leave === 'first' ? 1 : 0;
  if (keys && shown && (keys.end < shown.map.keys || keys.first > firstKept) && (choice.part !== '' || choice.leave !== 'special')) flags.push('--keys', `${keys.first}:${keys.end}`);
  else if (choice.leave === 'first' && dropped.size) flags.push('--drop-first', '1');
  if (choice.leave === 'special' && dropped.size) flags.push('--drop', [...dropped].join());
  if (choice.renormalise && areWeights() && !joined) flags.push('--renormalize');
  if (shown?.words && !shown.sentences) flags.push('--merge-pieces');
  return flags;
}

/**
 * @param {Stretch[] | undefined} stretches
 * @param {number} [from]
 * @param {number} [count]
 * @returns {Stretch | null}
 */
function rangeOf(stretches, from = 0, count = stretches?.length ?? 0) {
  const first = stretches?.[from];
  const last = stretches?.[from + count - 1];
  return first && last ? { first: first.first, end: last.end } : null;
}

/** @param {string} kind */
function colourFlags(kind) {
  const { choice, view } = page;
  const scale = chosenScale();
  const diverging = chosenMaps()?.diverging ?? false;
  const flags = [];
  if (kind === 'lines') {
    if (linesOfQuery() > 0) flags.push('--top', String(linesOfQuery()));
    if (choice.threshold > 0) flags.push('--threshold', String(choice.threshold));
    return flags;
  }
  flags.push('--cmap', diverging ? view.colours.light.diverging.name : view.colours.light.weights.name);
  if (scale) flags.push('--color-range', choice.own ? 'panel' : `${plainNumber(scale.low)},${plainNumber(scale.high)}`);
  if (scale?.log) flags.push('--norm', 'log');
  return flags;
}

/** @param {number} value */
function plainNumber(value) {
  return String(Number(value.toPrecision(7)));
}

/** Writes the command into its field. */
function writeCommand() {
  if (byId('export', HTMLDivElement).hidden) return;
  const command = plotCommand();
  const field = byId('command', HTMLTextAreaElement);
  field.value = command;
  field.rows = Math.min(6, command.split('\n').length + 1);
}
