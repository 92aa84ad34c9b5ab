/** All of the page's own texts: English, then Chinese. Names in braces are replaced. */
const TEXTS = {
  skip: ['To the attention', '跳到注意力视图'],
  language: ['Language', '语言'],
  theme: ['Colours of the page', '页面颜色'],
  theme_system: ['Colours of the system', '跟随系统'],
  theme_light: ['Light', '浅色'],
  theme_dark: ['Dark', '深色'],
  help: ['Help and keys', '帮助与按键'],
  heads: ['Heads', '层与头'],
  picture: ['Picture', '图片'],
  picture_hint: ['Arrows move from patch to patch, Enter pins the patch as query.', '方向键在图块之间移动，回车把图块固定为查询。'],
  picture_others: ['Tokens that are no patches', '不是图块的词元'],
  picture_of_token: ['What {query} looks at', '{query} 看向哪里'],
  picture_of_patch: ['What patch {query} looks at', '图块 {query} 看向哪里'],
  picture_of_mean: ['Mean weight that each patch gets', '每个图块所得的平均权重'],
  thumbnail_pixels: ['a pixel: the largest of {rows} × {columns} cells', '每个像素：{rows} × {columns} 个单元格中的最大值'],
  layers_by_heads: ['layers ↓ heads →', '层 ↓ 头 →'],
  heads_shown_as: ['How each head is shown', '每个头的显示方式'],
  maps: ['Maps', '缩略图'],
  statistic: ['Statistic', '统计量'],
  list: ['List', '列表'],
  enlarge: ['Enlarge', '放大'],
  shrink: ['Shrink', '缩小'],
  statistics_list: ['Statistics of all heads', '所有头的统计量'],
  attention: ['Attention of one head', '单个头的注意力'],
  layer: ['Layer', '层'],
  layer_before: ['Previous layer', '上一层'],
  layer_after: ['Next layer', '下一层'],
  head: ['Head', '头'],
  head_before: ['Previous head', '上一个头'],
  head_after: ['Next head', '下一个头'],
  head_number: ['Head {head}', '第 {head} 头'],
  layer_number: ['Layer {layer}', '第 {layer} 层'],
  layer_and_head: ['Layer {layer}, head {head}', '第 {layer} 层第 {head} 头'],
  sample: ['Sample', '样本'],
  tensor: ['Stage', '阶段'],
  part: ['Texts of the pair', '文本对的部分'],
  part_all: ['All tokens', '全部词元'],
  part_from_to: ['Text {query} → text {key}', '文本 {query} → 文本 {key}'],
  views: ['Views', '视图'],
  view_map: ['Map', '热力图'],
  view_lines: ['Lines', '连线'],
  view_text: ['Text', '文本'],
  view_table: ['Table', '表格'],
  search: ['Find a token', '查找词元'],
  search_hint: ['Search tokens', '查找词元或序号'],
  search_found: ['{present} of {all}', '第 {present} 个，共 {all} 个'],
  search_none: ['none', '无'],
  options: ['Options', '选项'],
  export: ['Save', '导出'],
  words: ['Words in place of pieces', '以词代替子词'],
  leave_out: ['Leave out', '略去'],
  leave_none: ['nothing', '不略去'],
  leave_first: ['the first key', '第一个键'],
  leave_special: ['special tokens', '特殊词元'],
  renormalise: ['Renormalize rows', '每行重新归一化'],
  threshold: ['Hide cells below', '隐藏小于此值的单元格'],
  strongest_only: ['Strongest keys per query', '每个查询最强的键数'],
  own_range: ['This map’s own range of colours', '按本图自身范围着色'],
  options_reset: ['Reset', '重置'],
  copy_address: ['Copy address of this view', '复制此视图的网址'],
  command: ['The same as a picture, on the command line', '用命令行画出同一张图'],
  copy_command: ['Copy', '复制'],
  copied: ['Copied.', '已复制。'],
  copy_failed: ['The browser did not let the page copy; the text is selected.', '浏览器不允许复制；文本已选中。'],
  heads_in_lines: ['Heads whose lines are drawn', '画出连线的头'],
  all_heads: ['All heads', '所有头'],
  one_head: ['This head only', '仅此头'],
  zoom: ['Zoom', '缩放'],
  zoom_in: ['Zoom in', '放大'],
  zoom_out: ['Zoom out', '缩小'],
  zoom_all: ['Show the whole map', '显示整张图'],
  map_hint: [
    'Arrow keys move over the cells; Enter pins the query; Shift and arrow keys change layer and head; question mark shows all keys.',
    '方向键在单元格间移动；回车固定查询；Shift 加方向键切换层和头；问号显示全部按键。',
  ],
  lines_hint: [
    'Up and down move over the queries; Enter pins the query.',
    '上下方向键在查询间移动；回车固定查询。',
  ],
  direction: ['Direction', '方向'],
  gives: ['What the query looks at', '查询看向哪里'],
  receives: ['What looks at the key', '谁看向这个键'],
  strip_of_query: ['Looked at by query', '查看的键，查询'],
  strip_of_key: ['Looking at key', '看向它的查询，键'],
  strip_mean: ['Mean over the queries that see each key, padding left out: choose a token to see its own.', '对能看到该键的查询取平均（不含填充）：选择一个词元查看它自己的分布。'],
  strip_mean_keys: ['Mean over the keys that each query sees: choose a token to see its own.', '对每个查询能看到的键取平均：选择一个词元查看它自己的分布。'],
  text_and_head: ['The text and the head', '文本与头'],
  text_shown: ['The text', '文本'],
  class_of_text: ['Class:', '类别：'],
  classes_of_tokens: ['Classes of the tokens:', '各词元的类别：'],
  next_token: ['Next token:', '下一个词元：'],
  by_layer: ['By layer:', '逐层预测：'],
  predictions_by_layer: ['Predictions by layer', '各层的预测'],
  masked_by_layer: ['Masked token {token} by layer:', '被掩盖的词元 {token}，逐层预测：'],
  layer_says: ['The states that leave layer {layer} would predict it with {share}.', '按第{layer}层输出的状态，预测它的概率为 {share}。'],
  masked_token: ['Masked token {token}:', '被掩盖的词元 {token}：'],
  head_induction: ['Head {head} looks at what came after an earlier copy of the token ({share}).', '头 {head} 看向同一词元上次出现之后的词元（{share}）。'],
  head_previous: ['Head {head} looks at the previous token ({share}).', '头 {head} 看向前一个词元（{share}）。'],
  head_duplicate: ['Head {head} looks at earlier copies of the token ({share}).', '头 {head} 看向同一词元先前的出现（{share}）。'],
  head_next: ['Head {head} looks at the next token ({share}).', '头 {head} 看向后一个词元（{share}）。'],
  head_separators: ['Head {head} looks at separators ({share}).', '头 {head} 看向分隔符（{share}）。'],
  head_self: ['Head {head} looks at the token itself ({share}).', '头 {head} 看向词元自身（{share}）。'],
  head_first: ['Head {head} looks at the first token ({share}).', '头 {head} 看向第一个词元（{share}）。'],
  head_spread: ['Head {head} spreads its weight: the largest of a query is {share} in the mean.', '头 {head} 的权重较分散：每个查询的最大权重平均为 {share}。'],
  hint_row: ['A row is a query: the token that looks.', '一行是一个查询：正在看的词元。'],
  hint_column: ['A column is a key: the token that is looked at.', '一列是一个键：被看的词元。'],
  hint_colour: ['The colour is the weight that the query gives to the key; the bar below says which.', '颜色是查询给予键的权重；下方的颜色条说明其大小。'],
  hint_away: ['Put this hint away', '收起此提示'],
  arithmetic: ['How the weight comes about:', '权重的计算：'],
  arithmetic_left_out: ['The page has no queries and keys of this head, so that the arithmetic of the weight is left out.', '页面没有保存此头的查询和键向量，因此不显示权重的计算。'],
  vector_query: ['q', 'q'],
  vector_key: ['k', 'k'],
  vector_products: ['q ⊙ k', 'q ⊙ k'],
  step_sum: ['Σ q ⊙ k', 'Σ q ⊙ k'],
  step_scale: ['× scale {scale}', '× 缩放 {scale}'],
  step_cap: ['{cap} · tanh(score / {cap})', '{cap} · tanh(分数 / {cap})'],
  step_bias: ['+ bias', '+ 偏置'],
  step_bias_unknown: ['kept with --stages', '加 --stages 时保存'],
  step_mask: ['Mask', '掩码'],
  step_seen: ['seen', '可见'],
  step_softmax: ['softmax over the row', '对整行做 softmax'],
  step_softmax_sink: ['softmax over the row and a sink', '对整行和一个注意力汇聚点做 softmax'],
  step_value: ['× length of the value {length}', '× 值向量长度 {length}'],
  why: ['Strongest parts of the score {score}: query × key', '分数 {score} 的最强部分：查询 × 键'],
  row_of_softmax: ['The row of weights', '这一行的权重'],
  compare: ['Compare with another head, layer or text', '与另一个头、层或文本比较'],
  compare_none: ['Compare with…', '与…比较'],
  compare_text: ['Text: {text}', '文本：{text}'],
  difference: ['{first} − {second}', '{first} − {second}'],
  said_difference: ['The third map is the first minus the second, from −{most} to {most}: {larger} is where the first is larger.', '第三张图为第一张图减第二张图，范围 −{most} 到 {most}：{larger}处第一张图更大。'],
  colour_larger: ['red', '红色'],
  other_colour_larger: ['the upper end of {map}', '{map} 的高端'],
  said_no_difference: ['The maps differ in size, so that there is no difference of them.', '两张图大小不同，因此没有差值图。'],
  compared_value: ['{name}: {value}; difference {difference}', '{name}：{value}；差 {difference}'],
  queries: ['Queries', '查询'],
  keys: ['Keys', '键'],
  query: ['Query', '查询'],
  key: ['Key', '键'],
  readout: ['At the pointer', '指针所在处'],
  readout_hint: [
    'Point at a cell or a token, or move with the arrow keys. A click pins the query.',
    '指向单元格或词元，或用方向键移动。单击可固定查询。',
  ],
  rank: ['Rank {rank} of {count} keys', '在 {count} 个键中排第 {rank}'],
  rank_in_cells: ['Largest of {count} cells', '{count} 个单元格中的最大值'],
  hidden_cell: ['Hidden', '被遮挡'],
  hidden_unknown: ['The input does not say why.', '输入没有说明原因。'],
  below_limits: ['Not drawn: below the chosen limits', '未画出：低于所选界限'],
  pinned: ['pinned', '已固定'],
  unpin: ['Unpin', '取消固定'],
  strongest_keys: ['Strongest keys of query', '最强的键，查询'],
  exact_values: ['Exact, from before the cells were joined.', '合并单元格之前的精确值。'],
  rounded: ['to ±{error}', '误差不超过 ±{error}'],
  scale: ['Scale of colours', '颜色刻度'],
  scale_linear: ['Linear', '线性'],
  scale_log: ['Logarithmic', '对数'],
  key_hidden: ['hidden', '被遮挡'],
  key_nan: ['not a number', '非数值'],
  key_minus_infinity: ['−∞', '−∞'],
  key_not_positive: ['0 or less', '0 或更小'],
  key_infinity: ['∞', '∞'],
  key_left_out: ['below the limits', '低于界限'],
  said_own_range: [
    'Colours span this map’s own range, so that maps cannot be compared by colour; each thumbnail has its own range.',
    '颜色按本图自身范围着色，不同的图不能按颜色比较；每个缩略图也用自己的范围。',
  ],
  said_first_left: ['The first key is left out.', '略去了第一个键。'],
  said_special_left: ['Special tokens are left out as keys.', '略去了作为键的特殊词元。'],
  said_renormalised: ['Rows were divided by the sum of what is left: they add up to 1 again.', '每行已除以剩余之和，重新归一化为 1。'],
  said_sum_smaller: ['Rows no longer add up to 1.', '每行之和不再为 1。'],
  said_words: ['Pieces are joined to words: columns summed, rows averaged.', '子词已合并为词：列求和，行取平均。'],
  said_words_without: ['Pieces of scores are not joined.', '分数的子词不合并。'],
  said_part: ['Only some of the tokens are shown; the other keys have weight too.', '只显示部分词元；其余的键也有权重。'],
  said_group: ['Heads {first} to {last} share one key and value head.', '第 {first} 到第 {last} 头共用一个键值头。'],
  said_group_of_two: ['Heads {first} and {last} share one key and value head.', '第 {first} 头和第 {last} 头共用一个键值头。'],
  said_padded: ['Hidden rows and columns after the end of the text are left out.', '文本结尾之后被遮挡的行和列已略去。'],
  said_threshold: ['Cells below {threshold} are not drawn.', '小于 {threshold} 的单元格不画出。'],
  said_strongest: ['Only the {count} strongest keys of each query are drawn.', '每个查询只画出最强的 {count} 个键。'],
  said_pooled: [
    '{rows} × {columns} cells stand for {queries} queries × {keys} keys; each shows its largest. The strongest keys of a query are exact.',
    '{rows} × {columns} 个单元格代表 {queries} 个查询 × {keys} 个键，每格显示最大值。查询最强的键是精确的。',
  ],
  said_pooled_plain: [
    '{rows} × {columns} cells stand for {queries} queries × {keys} keys; each shows its largest.',
    '{rows} × {columns} 个单元格代表 {queries} 个查询 × {keys} 个键，每格显示最大值。',
  ],
  said_pooled_options: ['Joined cells cannot be split, so keys are not left out, words are not joined and rows are not renormalized.', '合并的单元格无法拆分，因此不能略去键、合并词或重新归一化。'],
  said_pixels: ['Each pixel shows the largest of its cells; zoom in to see them.', '每个像素显示其中单元格的最大值；放大可看清。'],
  said_log_lowest: ['The lowest colour stands for {low} and less.', '最低的颜色表示 {low} 及以下。'],
  said_log_both_signs: ['Numbers of both signs have a linear scale.', '正负皆有的数值使用线性刻度。'],
  said_thumbnails: ['Thumbnails show weights below {low} as zero.', '缩略图把小于 {low} 的权重显示为零。'],
  said_lines: ['{drawn} of {all} lines are drawn, the strongest.', '共 {all} 条连线，画出最强的 {drawn} 条。'],
  said_lines_strongest: ['Lines: the {count} strongest keys of each query.', '连线：每个查询最强的 {count} 个键。'],
  said_lines_in_view: ['Lines within the window are drawn; a query or key at the pointer has all of its lines.', '只画出窗口内的连线；指向查询或键可看到它的全部连线。'],
  reading: ['Reading…', '正在读取…'],
  no_map: ['This map cannot be shown: {reason}.', '无法显示此图：{reason}。'],
  no_attention: ['This page holds no attention.', '此页没有注意力数据。'],
  no_cells: ['Nothing is left to show: choose fewer options.', '没有可显示的内容：请减少选项。'],
  not_in_sample: ['This layer has no such sample.', '该层没有这个样本。'],
  map_label: [
    '{title}, head {head}: {queries} queries × {keys} keys',
    '{title}，第 {head} 头：{queries} 个查询 × {keys} 个键',
  ],
  table_of_row: ['Keys of query', '各个键，查询'],
  table_of_map: ['Rows: queries. Columns: keys.', '行：查询；列：键。'],
  table_whole: ['Whole map', '整张图'],
  table_row: ['One query', '单个查询'],
  table_too_large: ['The whole map has {cells} cells: choose a query, or save it as CSV.', '整张图有 {cells} 个单元格：请选择一个查询，或导出为 CSV。'],
  position: ['Position', '位置'],
  token: ['Token', '词元'],
  rank_column: ['Rank', '名次'],
  unknown_value: ['–', '–'],
  sort_by: ['Sort by {column}', '按{column}排序'],
  statistic_cell: ['{place}: {value}', '{place}：{value}'],
  help_title: ['How to read this page', '如何阅读本页'],
  help_reading: [
    'Each small picture is a head’s map: rows are queries, columns are keys, and the colour is the weight that the query gives to the key. The colours mean the same in all maps. Choose a head to look at it as a map, as lines, in the text, or as a table.',
    '每个小图是一个头的注意力图：行是查询，列是键，颜色是查询给予键的权重。颜色在所有图中含义相同。选择一个头，可用热力图、连线、文本或表格查看。',
  ],
  close: ['Close', '关闭'],
  keys_arrows_heads: ['In the layers and heads: another head', '在层与头中：移到另一个头'],
  keys_enter_heads: ['In the layers and heads: look at it', '在层与头中：查看该头'],
  keys_arrows_cells: ['In a map: another cell; in lines and text: another token; in a picture: another patch', '在热力图中：移动单元格；在连线和文本中：移动词元；在图片中：移动图块'],
  keys_home_end: ['First or last key', '第一个或最后一个键'],
  keys_pages: ['Ten queries forward or back', '前后移动十个查询'],
  keys_shift_arrows: ['Previous or next layer or head', '上下一层，前后一个头'],
  keys_enter_cells: ['Pin or unpin the query', '固定或取消固定查询'],
  keys_escape: ['Unpin the query', '取消固定查询'],
  keys_zoom: ['Zoom in, out, whole map', '放大、缩小、整张图'],
  mouse: ['Mouse', '鼠标'],
  keys_pan: ['Wheel zooms (Ctrl in a narrow window), dragging moves', '滚轮缩放（窄窗口按 Ctrl），拖动平移'],
  keys_views: ['Map, lines, text, table', '热力图、连线、文本、表格'],
  keys_search: ['Find a token', '查找词元'],
  keys_help: ['This table', '本表'],
  axis_queries: ['Queries', '查询'],
  axis_keys: ['Keys', '键'],
  unnamed_error: ['Something went wrong in this page: {reason}', '本页出错：{reason}'],
};

/** @typedef {keyof typeof TEXTS} TextName */
/** @typedef {'en' | 'zh'} Language */

/** @type {{language: Language}} */
const speech = { language: 'en' };

/**
 * A text of the page in the reader's language.
 * @param {TextName} name
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
function say(name, values = {}) {
  const text = TEXTS[name][speech.language === 'zh' ? 1 : 0] ?? '';
  return text.replace(/\{(\w+)\}/g, (_, value) => String(values[value] ?? ''));
}

/**
 * The text in the page's language, of a text that the program wrote in one language or in both.
 * @param {string | {en: string, zh: string}} text
 */
function inLanguage(text) {
  return typeof text === 'string' ? text : text[speech.language];
}

/** Writes the texts of all static elements. */
function writeTexts() {
  document.documentElement.lang = speech.language === 'zh' ? 'zh-CN' : 'en';
  const all = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-text], [data-label], [data-placeholder]'));
  for (const element of all) {
    const { text, label, placeholder } = element.dataset;
    if (text) element.textContent = say(/** @type {TextName} */ (text));
    if (label) {
      element.setAttribute('aria-label', say(/** @type {TextName} */ (label)));
      if (element instanceof HTMLButtonElement) element.title = say(/** @type {TextName} */ (label));
    }
    if (placeholder) element.setAttribute('placeholder', say(/** @type {TextName} */ (placeholder)));
  }
}

/**
 * A value to four significant digits, as it is shown to the reader.
 * @param {number} value
 */
function fourDigits(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || value === 0 || size >= 1e5 || size < 1e-4) return shortNumber(value);
  return value.toPrecision(4).replace('-', '−');
}

/**
 * A value to four significant digits without zeros at its end, as for ticks.
 * @param {number} value
 */
function shortNumber(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-4 ? scientific(value) : String(Number(value.toPrecision(4)));
  return text.replaceAll('-', '−');
}

/** @param {number} value */
function scientific(value) {
  const [digits = '', power = ''] = value.toExponential(3).split('e');
  return `${Number(digits)}e${Number(power)}`;
}
