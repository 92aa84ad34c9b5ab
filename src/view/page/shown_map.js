/**
 * A map as the reader's choices leave it: with words in place of pieces, without keys that are
 * left out, with rows divided by their sums.
 * @typedef {object} ShownMap
 * @property {CellMap} map
 * @property {Stretch[]} queries of the rows
 * @property {Stretch[]} keys of the columns
 * @property {Float32Array | Float64Array} values row after row
 * @property {Uint8Array | null} hidden
 * @property {Uint8Array | null} faint 1 where a cell is below the chosen limits
 * @property {import('./data').Tokens | undefined} queryTokens
 * @property {import('./data').Tokens | undefined} keyTokens
 * @property {boolean} words whether stretches are words or sentences
 * @property {boolean} sentences
 * @property {boolean} padded whether hidden cells behind the text's end are left out
 * @property {number} least of all finite values, and largest: the range of this map by itself
 * @property {number} largest
 * @property {{hidden: boolean, nan: boolean, minusInfinity: boolean, infinity: boolean}} has
 */

/** What a row and a column stand for. @typedef {'tokens' | 'words' | 'sentences'} Unit */

/**
 * @typedef {object} MapChoices
 * @property {boolean} words
 * @property {boolean} sentences in their place
 * @property {'none' | 'first' | 'special'} leave
 * @property {boolean} renormalise
 * @property {number} threshold 0 = none
 * @property {number} strongest 0 = all
 * @property {Stretch | null} queryPart
 * @property {Stretch | null} keyPart
 */

/**
 * @param {CellMap} map
 * @param {boolean} areWeights only weights may be added up
 * @param {import('./data').Tokens | undefined} queryTokens
 * @param {import('./data').Tokens | undefined} keyTokens
 * @param {MapChoices} choices
 * @returns {ShownMap}
 */
function showMap(map, areWeights, queryTokens, keyTokens, choices) {
  const joins = areWeights && map.exactCells;
  const sentences = choices.sentences && joins && (hasSentences(queryTokens) || hasSentences(keyTokens));
  const words = sentences || (choices.words && joins);
  const unit = sentences ? 'sentences' : words ? 'words' : 'tokens';
  const padded = map.exactCells && isPadded(map, endOfText(queryTokens, map.queries), endOfText(keyTokens, map.keys));
  const ends = padded ? [endOfText(queryTokens, map.queries), endOfText(keyTokens, map.keys)] : [map.queries, map.keys];
  const queries = chosenStretches(map, map.rows, map.queries, unit, queryTokens, choices.queryPart).filter(({ first }) => first < (ends[0] ?? 0));
  const all = chosenStretches(map, map.columns, map.keys, unit, keyTokens, choices.keyPart).filter(({ first }) => first < (ends[1] ?? 0));
  const left = map.exactCells ? leftOut(choices.leave, keyTokens) : new Set();
  const keys = all.filter((stretch) => !isWithin(stretch, left));
  const asItIs = queries.length === map.rows && keys.length === map.columns;
  const taken = asItIs
    ? { values: map.values, hidden: map.hidden }
    : joinedCells(map, queries, keys, left);
  const rows = queries.length;
  if (choices.renormalise && areWeights && map.exactCells) taken.values = dividedRows(taken.values, rows, keys.length);
  const faint = faintCells(taken.values, rows, keys.length, choices);
  return { map, queries, keys, queryTokens, keyTokens, ...taken, faint, words, sentences, padded, ...contentsOf(taken.values, taken.hidden) };
}

/**
 * Whether there are cells behind the ends of the texts, and all of them are hidden.
 * @param {CellMap} map
 * @param {number} queryEnd
 * @param {number} keyEnd
 */
function isPadded({ rows, columns, hidden }, queryEnd, keyEnd) {
  if (!hidden || (queryEnd === rows && keyEnd === columns)) return false;
  for (let row = 0; row < rows; ++row) {
    for (let column = row < queryEnd ? keyEnd : 0; column < columns; ++column) {
      if (!hidden[row * columns + column]) return false;
    }
  }
  return true;
}

/**
 * @param {CellMap} map
 * @param {number} cells
 * @param {number} positions
 * @param {Unit} unit
 * @param {import('./data').Tokens | undefined} tokens
 * @param {Stretch | null} part
 */
function chosenStretches(map, cells, positions, unit, tokens, part) {
  let stretches;
  if (unit === 'sentences' && hasSentences(tokens) && tokens) stretches = sentencePositions(tokens, positions);
  else if (unit !== 'tokens' && tokens) stretches = wordPositions(tokens, positions);
  else stretches = cells === positions ? singlePositions(cells) : joinedPositions(cells, positions, map.cells === undefined ? Math.floor : Math.ceil);
  return part ? stretches.filter(({ first, end }) => first >= part.first && end <= part.end) : stretches;
}

/**
 * @param {'none' | 'first' | 'special'} leave
 * @param {import('./data').Tokens | undefined} tokens
 * @returns {Set<number>}
 */
function leftOut(leave, tokens) {
  if (leave === 'none') return new Set();
  return new Set(leave === 'first' ? [0] : (tokens?.special ?? []));
}

/**
 * @param {Stretch} stretch
 * @param {Set<number>} positions
 */
function isWithin({ first, end }, positions) {
  for (let position = first; position < end; ++position) if (!positions.has(position)) return false;
  return true;
}

/**
 * Columns added up and rows averaged over their stretches; a cell is hidden if all of its are.
 * @param {CellMap} map
 * @param {Stretch[]} queries
 * @param {Stretch[]} keys
 * @param {Set<number>} left
 */
function joinedCells(map, queries, keys, left) {
  const single = !map.exactCells;
  const firstColumn = firstCell(keys, map.columns, map.keys);
  const kept = keys.map((stretch, at) => (single ? [firstColumn + at] : keptPositions(stretch, left)));
  const values = new Float64Array(queries.length * keys.length);
  const hidden = map.hidden ? new Uint8Array(values.length) : null;
  const firstRow = single ? firstCell(queries, map.rows, map.queries) : 0;
  queries.forEach((query, row) => {
    const from = single ? firstRow + row : query.first;
    const end = single ? from + 1 : query.end;
    kept.forEach((columns, column) => {
      const cell = joinedCell(map, from, end, columns);
      values[row * keys.length + column] = cell.value;
      if (hidden && cell.hidden) hidden[row * keys.length + column] = 1;
    });
  });
  return { values, hidden };
}

/**
 * @param {Stretch} stretch
 * @param {Set<number>} left
 * @returns {number[]}
 */
function keptPositions(stretch, left) {
  const positions = [];
  for (let position = stretch.first; position < stretch.end; ++position) {
    if (!left.has(position)) positions.push(position);
  }
  return positions;
}

/**
 * @param {Stretch[]} stretches
 * @param {number} cells
 * @param {number} positions
 */
function firstCell(stretches, cells, positions) {
  return Math.ceil(((stretches[0]?.first ?? 0) * cells) / positions);
}

/**
 * @param {CellMap} map
 * @param {number} from
 * @param {number} end
 * @param {number[]} columns
 */
function joinedCell(map, from, end, columns) {
  let sum = 0;
  let seen = false;
  for (let row = from; row < end; ++row) {
    for (const column of columns) {
      const at = row * map.columns + column;
      if (map.hidden?.[at]) continue;
      seen = true;
      sum += map.values[at] ?? NaN;
    }
  }
  return { value: sum / (end - from), hidden: !seen };
}

/**
 * @param {Float32Array | Float64Array} values
 * @param {number} rows
 * @param {number} columns
 */
function dividedRows(values, rows, columns) {
  const divided = new Float64Array(values.length);
  for (let row = 0; row < rows; ++row) {
    let sum = 0;
    for (let at = row * columns; at < (row + 1) * columns; ++at) sum += values[at] ?? 0;
    for (let at = row * columns; at < (row + 1) * columns; ++at) {
      divided[at] = sum === 0 ? 0 : (values[at] ?? NaN) / sum;
    }
  }
  return divided;
}

/**
 * @param {Float32Array | Float64Array} values
 * @param {number} rows
 * @param {number} columns
 * @param {MapChoices} choices
 */
function faintCells(values, rows, columns, { threshold, strongest }) {
  const limited = strongest > 0 && strongest < columns;
  if (threshold <= 0 && !limited) return null;
  const faint = new Uint8Array(values.length);
  for (let row = 0; row < rows; ++row) {
    const begin = row * columns;
    const among = limited ? strongestOfRow(values.subarray(begin, begin + columns), strongest) : null;
    for (let at = begin; at < begin + columns; ++at) {
      const value = values[at] ?? NaN;
      if (value < threshold || (among && !among[at - begin] && !Number.isNaN(value))) faint[at] = 1;
    }
  }
  return faint;
}

/**
 * 1 for so many of the largest values; of equal ones the first.
 * @param {Float32Array | Float64Array} row
 * @param {number} count
 */
function strongestOfRow(row, count) {
  const least = weightOfRank(row, count);
  const among = new Uint8Array(row.length);
  let equal = count;
  for (const value of row) if (value > least) --equal;
  row.forEach((value, at) => {
    if (value > least || (value === least && equal-- > 0)) among[at] = 1;
  });
  return among;
}

/**
 * The value that `rank` values are not below.
 * @param {Float32Array | Float64Array} row
 * @param {number} rank from 1
 */
function weightOfRank(row, rank) {
  /** @type {number[]} */
  const largest = [];
  for (const value of row) {
    if (largest.length === rank && !(value > (largest[rank - 1] ?? 0))) continue;
    let place = largest.length;
    while (place > 0 && (largest[place - 1] ?? 0) < value) --place;
    largest.splice(place, 0, value);
    if (largest.length > rank) largest.pop();
  }
  return largest[rank - 1] ?? -Infinity;
}

/**
 * @param {Float32Array | Float64Array} values
 * @param {Uint8Array | null} hidden
 */
function contentsOf(values, hidden) {
  let least = Infinity;
  let largest = -Infinity;
  const has = { hidden: false, nan: false, minusInfinity: false, infinity: false };
  for (let at = 0; at < values.length; ++at) {
    const value = values[at] ?? NaN;
    if (hidden?.[at]) has.hidden = true;
    else if (Number.isNaN(value)) has.nan = true;
    else if (value === -Infinity) has.minusInfinity = true;
    else if (value === Infinity) has.infinity = true;
    else {
      if (value < least) least = value;
      if (value > largest) largest = value;
    }
  }
  return least > largest ? { least: 0, largest: 0, has } : { least, largest, has };
}

/**
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 */
function cellAt(shown, row, column) {
  const at = row * shown.keys.length + column;
  return {
    value: shown.values[at] ?? NaN,
    hidden: Boolean(shown.hidden?.[at]),
    faint: Boolean(shown.faint?.[at]),
  };
}

/**
 * The place of a cell among the seen ones of its row, 1 being the largest.
 * @param {ShownMap} shown
 * @param {number} row
 * @param {number} column
 */
function rankInRow(shown, row, column) {
  const columns = shown.keys.length;
  const value = shown.values[row * columns + column] ?? NaN;
  let rank = 1;
  let count = 0;
  for (let at = row * columns; at < (row + 1) * columns; ++at) {
    if (shown.hidden?.[at]) continue;
    ++count;
    if ((shown.values[at] ?? NaN) > value) ++rank;
  }
  return { rank, count };
}

/**
 * The stretch that a position is part of.
 * @param {Stretch[]} stretches in rising order
 * @param {number} position
 * @returns {number} −1 if it is not shown
 */
function indexOfPosition(stretches, position) {
  let low = 0;
  let high = stretches.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const stretch = stretches[middle];
    if (!stretch) return -1;
    if (position < stretch.first) high = middle - 1;
    else if (position >= stretch.end) low = middle + 1;
    else return middle;
  }
  return -1;
}
