/** Texts of the blocks of a page that was added to this one, by the numbers that they have here. @type {Map<import('./data').Block, string>} */
const addedBlocks = new Map();

/** Attentions of added pages that have no counterpart here. */
const secondPage = { leftOut: 0 };

/**
 * A block of cells under the numbers that its parts have here.
 * @param {import('./data').CellBlock} block
 * @param {number} by
 * @returns {import('./data').CellBlock}
 */
function movedBlock(block, by) {
  const moved = { ...block, cells: block.cells + by };
  if (block.hidden !== undefined) moved.hidden = block.hidden + by;
  if (block.strongest !== undefined) moved.strongest = block.strongest + by;
  return moved;
}

/**
 * A sample of another page as one of this page.
 * @param {import('./data').AttentionSample} sample
 * @param {{blocks: number, tokens: number, pictures: number}} by how far its numbers move
 * @returns {import('./data').AttentionSample}
 */
function movedSample(sample, by) {
  const blocks = (/** @type {import('./data').CellBlock[]} */ all) => all.map((block) => movedBlock(block, by.blocks));
  const { vectors, picture, lens } = sample;
  return {
    ...sample, query_tokens: sample.query_tokens + by.tokens, key_tokens: sample.key_tokens + by.tokens, ...(picture === undefined ? {} : { picture: picture + by.pictures }),
    ...(lens ? { lens: blocks(lens) } : {}),
    maps: sample.maps.map((maps) => ({ ...maps, heads: blocks(maps.heads) })),
    ...(vectors ? { vectors: { ...vectors, query: blocks(vectors.query), key: blocks(vectors.key), value: blocks(vectors.value) } } : {}),
  };
}

/**
 * The attention of this page that another page's stands beside: of its name, or in its place where no names agree.
 * @param {import('./data').View} other
 * @param {number} index
 * @returns {import('./data').Attention | undefined}
 */
function counterpartOf(other, index) {
  const one = other.attentions[index];
  const named = page.view.attentions.filter(({ name }) => name === one?.name);
  const anyNamed = other.attentions.some(({ name }) => page.view.attentions.some((own) => own.name === name));
  const own = named.length === 1 ? named[0] : anyNamed ? undefined : page.view.attentions[index];
  return own && one && own.heads === one.heads && own.numbers?.join() === one.numbers?.join() ? own : undefined;
}

/**
 * Adds the samples of another page to those of this one.
 * @param {string} html of the page
 * @param {string} name of the page; empty = its title
 * @returns {Promise<number>} the first of the samples
 */
async function addPage(html, name) {
  // The numbers of the blocks here are known when all of them are there.
  while (document.readyState === 'loading') await new Promise((resolve) => { setTimeout(resolve, 10); });
  /** @type {import('./data').View | null} */
  let other = null;
  try {
    other = JSON.parse(/<script type="application\/json" id="view">([^<]*)<\/script>/.exec(html)?.[1] ?? '');
  } catch {
    other = null;
  }
  if (other?.format !== 1 || !Array.isArray(other.attentions)) throw new Error(say('second_unreadable'));
  const view = page.view;
  const by = { blocks: document.querySelectorAll('script[id^="block-"]').length + addedBlocks.size, tokens: view.tokens.length, pictures: view.pictures?.length ?? 0 };
  for (const [, block, text = ''] of html.matchAll(/<script type="text\/plain" id="block-(\d+)">([^<]*)<\/script>/g)) addedBlocks.set(Number(block) + by.blocks, text);
  view.tokens.push(...other.tokens);
  if (other.pictures) view.pictures = [...(view.pictures ?? []), ...other.pictures.map((picture) => ({ ...picture, pixels: picture.pixels + by.blocks }))];
  const first = view.samples.length;
  const title = name || inLanguage(other.title);
  other.samples.forEach((sample, at) => {
    view.samples[first + at] = { ...sample, title: [title, ...(other.samples.length > 1 || sample.predictions ? [inLanguage(sample.title)] : [])].join(': ') };
  });
  const [own, { starts, codes }] = [page.thumbnails ?? (await readThumbnails(view)), await readThumbnails(other, by.blocks)];
  other.attentions.forEach((attention, index) => {
    const counterpart = counterpartOf(/** @type {import('./data').View} */ (other), index);
    if (!counterpart) {
      secondPage.leftOut += 1;
      return;
    }
    const place = view.attentions.indexOf(counterpart);
    attention.samples.forEach((sample, at) => {
      counterpart.samples[first + at] = movedSample(sample, by);
      const ofPlace = own.starts[place];
      if (ofPlace) ofPlace[first + at] = own.codes.length + (starts[index]?.[at] ?? 0);
    });
  });
  const joined = new Uint8Array(own.codes.length + codes.length);
  joined.set(own.codes);
  joined.set(codes, own.codes.length);
  page.thumbnails = { ...own, codes: joined };
  addDivergence();
  return first;
}

/** Adds the page that is within this one, before anything is shown. */
async function addSecondPage() {
  if (page.view.second === undefined) return;
  await addPage(new TextDecoder().decode(await readBlock(page.view.second)), '');
}

/** Opens another page and compares the chosen head with its own there. */
async function openSecondPage() {
  const input = byId('second-file', HTMLInputElement);
  const file = input.files?.[0];
  if (!file) return;
  const { attention, head } = page.choice;
  try {
    const first = await addPage(await file.text(), file.name.replace(/\.html?$/, ''));
    change({ view: 'map', other: `${attention}:${head}:${first}` });
  } catch (error) {
    byId('announcement', HTMLDivElement).textContent = error instanceof Error ? error.message : String(error);
    byId('status', HTMLDivElement).textContent = byId('announcement', HTMLDivElement).textContent;
  }
  input.value = '';
}

/** Name of the statistic that compares every head with itself in the compared text. */
const DIVERGENCE = 'against';

/** The number of that statistic; −1 where the page has one sample alone. */
function divergenceStatistic() {
  return page.view.statistics.findIndex(({ name }) => name === DIVERGENCE);
}

/** Adds the statistic, whose numbers come when two samples are compared. */
function addDivergence() {
  if (page.view.samples.length < 2 || divergenceStatistic() >= 0) return;
  const both = (/** @type {TextName} */ name) => /** @type {string} */ (/** @type {unknown} */ ({ en: TEXTS[name][0], zh: TEXTS[name][1] }));
  page.view.statistics.push({ name: DIVERGENCE, title: both('divergence'), meaning: both('divergence_meaning') });
}

/**
 * For each position of the first text the one of the second, −1 = none: all of them where the texts are equally long,
 * else what both begin and end with. Padding has none.
 * @param {import('./data').Tokens | undefined} first
 * @param {import('./data').Tokens | undefined} second
 * @param {number} count of the first's positions
 * @param {number} others of the second's
 * @returns {Int32Array}
 */
function alignedPositions(first, second, count, others) {
  const [end, other] = [endOfText(first, count), endOfText(second, others)];
  const least = Math.min(end, other);
  const places = new Int32Array(count).fill(-1);
  const isSame = (/** @type {number} */ at, /** @type {number} */ place) => end === other || (hasNames(first) && first?.pieces[at] === second?.pieces[place]);
  let begin = 0;
  while (begin < least && isSame(begin, begin)) places[begin] = begin++;
  for (let back = 1; back <= least - begin && isSame(end - back, other - back); ++back) places[end - back] = other - back;
  return places;
}

/**
 * The mean, over the queries of both, of the Jensen–Shannon divergence of their rows in nats; what goes to keys that
 * only one of the texts has counts as one key.
 * @param {CellMap} first
 * @param {CellMap} second
 * @param {Int32Array} rowOf of the second for each row of the first; −1 = none
 * @param {Int32Array} columnOf
 * @returns {number | null} null where no row can be compared
 */
function divergenceOf(first, second, rowOf, columnOf) {
  let [sum, rows] = [0, 0];
  const part = (/** @type {number} */ a, /** @type {number} */ b) => (a > 0 ? a * Math.log((2 * a) / (a + b)) : 0) + (b > 0 ? b * Math.log((2 * b) / (a + b)) : 0);
  for (let row = 0; row < first.rows; ++row) {
    const other = rowOf[row] ?? -1;
    if (other < 0) continue;
    const [ours, theirs] = [first.values.subarray(row * first.columns, (row + 1) * first.columns), second.values.subarray(other * second.columns, (other + 1) * second.columns)];
    let [one, two, a, b] = [0, 0, 0, 0];
    for (let at = 0; at < ours.length; ++at) one += ours[at] ?? 0;
    for (let at = 0; at < theirs.length; ++at) two += theirs[at] ?? 0;
    if (!(one > 0) || !(two > 0)) continue;
    let own = 0;
    for (let column = 0; column < ours.length; ++column) {
      const place = columnOf[column] ?? -1;
      if (place < 0) continue;
      const [p, q] = [(ours[column] ?? 0) / one, (theirs[place] ?? 0) / two];
      [a, b] = [a + p, b + q];
      own += part(p, q);
    }
    sum += (own + part(Math.max(0, 1 - a), Math.max(0, 1 - b))) / 2;
    rows += 1;
  }
  // Rows that are equal but for rounding may add up to less than nothing.
  return rows > 0 && Number.isFinite(sum) ? Math.max(0, sum / rows) : null;
}

/**
 * @param {number} attention
 * @param {number} head
 * @param {number} sample
 * @param {number} other
 * @returns {Promise<number | null>}
 */
async function divergenceOfHead(attention, head, sample, other) {
  const of = page.view.attentions[attention];
  const [first, second] = [of?.samples[sample], of?.samples[other]];
  const [ours, theirs] = [first?.maps[0], second?.maps[0]];
  if (!first || !second || !ours || !theirs || ours.tensor !== 'weights' || theirs.tensor !== 'weights') return null;
  const [one, two] = await Promise.all([readMap(first, ours, head), readMap(second, theirs, head)]);
  const joined = !one.exactCells || !two.exactCells;
  const places = (/** @type {'queries' | 'keys'} */ axis) => alignedPositions(
    joined ? undefined : page.view.tokens[axis === 'queries' ? first.query_tokens : first.key_tokens], joined ? undefined : page.view.tokens[axis === 'queries' ? second.query_tokens : second.key_tokens],
    axis === 'queries' ? one.rows : one.columns, axis === 'queries' ? two.rows : two.columns);
  return divergenceOf(one, two, places('queries'), places('keys'));
}

const divergences = { wanted: '' };

/** Compares every head with itself in the compared text, where the heads are shown by numbers. */
async function showDivergences() {
  const statistic = divergenceStatistic();
  const { sample, left } = page.choice;
  const other = otherPlace();
  const compares = statistic >= 0 && other !== null && other.sample !== sample;
  byId('other-heads', HTMLButtonElement).hidden = !compares;
  const wanted = compares && (left === 'list' || left === 'statistic') ? JSON.stringify([sample, other?.sample]) : '';
  if (wanted === '' || wanted === divergences.wanted) return;
  divergences.wanted = wanted;
  for (const [index, attention] of page.view.attentions.entries()) {
    if (attention.samples[sample]?.maps[0]?.tensor !== 'weights') continue;
    const values = await Promise.all(Array.from({ length: attention.heads }, (_, head) => divergenceOfHead(index, head, sample, other?.sample ?? 0)));
    if (divergences.wanted !== wanted) return;
    attention.statistics ??= values.map(() => []);
    values.forEach((value, head) => {
      const row = attention.statistics?.[head];
      if (row) row[statistic] = value;
    });
  }
  [drawn.pictures, listed.for] = ['', ''];
  drawOverview();
  writeStatisticBar();
  writeStatisticsList();
}

/**
 * Compares the next head with itself where the one before was compared with itself in another text.
 * @param {{attention: number, head: number, other: string}} before
 */
function followOther({ attention, head, other }) {
  const { choice } = page;
  if (other === '' || choice.other !== other) return;
  const [ofAttention, ofHead, sample] = other.split(':').map(Number);
  if (ofAttention !== attention || ofHead !== head || sample === choice.sample || (choice.attention === attention && choice.head === head)) return;
  choice.other = `${choice.attention}:${choice.head}:${sample}`;
}

function listenToSecondPage() {
  byId('second-file', HTMLInputElement).addEventListener('change', () => {
    openSecondPage().catch(showProblem);
  });
  byId('other-heads', HTMLButtonElement).addEventListener('click', () => change({ left: 'list', sort: `down:${divergenceStatistic()}` }));
}
