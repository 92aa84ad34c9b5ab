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
  only_heads: ['heads →', '头 →'],
  layers_by_heads: ['layers ↓ heads →', '层 ↓ 头 →'],
  heads_shown_as: ['How each head is shown', '每个头的显示方式'],
  maps: ['Maps', '缩略图'],
  statistic: ['Statistic', '统计量'],
  pair: ['Pair', '词对'],
  pair_any: ['any', '任意'],
  pair_swap: ['Swap', '交换'],
  pair_clear: ['Clear', '清除'],
  pair_list: ['Heads with the largest weight', '权重最大的头'],
  pair_none: ['Choose a word in the text, or two: the one that looks, then the one that is looked at. Each head is then coloured by this one weight.', '在文本中选择一个或两个词：先选查询，再选键。每个头随后按这一个权重着色。'],
  pair_of_query: ['What {query} looks at most, in every head.', '每个头中 {query} 最看向的键。'],
  pair_of_key: ['Who looks at {key} most, in every head.', '每个头中最看向 {key} 的查询。'],
  pair_of_both: ['The weight that {query} gives to {key}, in every head.', '每个头中 {query} 给予 {key} 的权重。'],
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
  heads_numbered: ['Heads {heads}', '头 {heads}'],
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
  effect_of_zero: ['Without head {head} (zero): {token}; divergence {divergence}.', '去掉头 {head}（置零）：{token}；散度 {divergence}。'],
  effect_of_mean: ['Without head {head} (mean): {token}; divergence {divergence}.', '去掉头 {head}（取平均）：{token}；散度 {divergence}。'],
  masked_token: ['Masked token {token}:', '被掩盖的词元 {token}：'],
  head_induction: ['Head {head} looks at what came after an earlier copy of the token: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向同一词元上次出现之后的词元：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_previous: ['Head {head} looks at the previous token: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向前一个词元：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_duplicate: ['Head {head} looks at earlier copies of the token: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向同一词元先前的出现：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_next: ['Head {head} looks at the next token: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向后一个词元：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_separators: ['Head {head} looks at separators: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向分隔符：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_punctuation: ['Head {head} looks at punctuation: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向标点：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_self: ['Head {head} looks at the token itself: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向词元自身：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_first: ['Head {head} looks at the first token: {share} of its weight{some}, where even weights would give {even}.', '头 {head} 看向第一个词元：占其权重的 {share}{some}，均匀权重为 {even}。'],
  head_some_queries: [' in the {count} of {all} queries that have one', '（{all} 个查询中有此类键的 {count} 个）'],
  head_concentrates: ['Head {head} concentrates: the strongest key of a query has {share} on average, where even weights would give {even}; mostly {keys}.', '头 {head} 的权重集中：每个查询最强的键平均占 {share}，均匀权重为 {even}；主要是 {keys}。'],
  head_mixed: ['Head {head} has no plain pattern: the strongest key of a query has {share} on average, where even weights would give {even}; mostly {keys}.', '头 {head} 没有明显的图样：每个查询最强的键平均占 {share}，均匀权重为 {even}；主要是 {keys}。'],
  head_spread: ['Head {head} spreads its weight: the strongest key of a query has {share} on average, where even weights would give {even}.', '头 {head} 的权重较分散：每个查询最强的键平均占 {share}，均匀权重为 {even}。'],
  head_largest: ['Head {head}: the strongest key of a query has {share} on average.', '头 {head}：每个查询最强的键平均占 {share}。'],
  head_of_picture: ['Head {head}: {query} looks most at patch {key}: {share}, where even weights would give {even}.', '头 {head}：{query} 最看向图块 {key}：{share}，均匀权重为 {even}。'],
  head_of_stack: ['{head} ({stack})', '{head}（{stack}）'],
  head_evidence: ['Over {count} texts: {mean} ± {error} of all weight; even weights here: {even}.', '{count} 个文本中：占全部权重的 {mean} ± {error}；此处均匀权重为 {even}。'],
  list_join: [', ', '、'],
  hint_row: ['A row is a query: the token that looks.', '一行是一个查询：正在看的词元。'],
  hint_column: ['A column is a key: the token that is looked at.', '一列是一个键：被看的词元。'],
  hint_colour: ['The colour is the weight that the query gives to the key; the bar below says which.', '颜色是查询给予键的权重；下方的颜色条说明其大小。'],
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
  why_walk: ['Go to head {part}', '转到头 {part}'],
  why_not_here: ['The page has not the parts of this head’s scores: make it with --why all.', '页面没有保存此头分数的组成部分：请用 --why all 生成页面。'],
  trail: ['Path through the heads', '穿过各头的路径'],
  trail_back: ['Back', '返回'],
  trail_end: ['End the path', '结束路径'],
  trail_save: ['Path as SVG', '路径（SVG）'],
  evidence: ['Evidence', '证据'],
  evidence_of: ['{count} texts', '{count} 个文本'],
  evidence_mean: ['mean ± error', '平均值 ± 误差'],
  evidence_even: ['even', '均匀'],
  evidence_distance: ['Mean weight by distance', '按距离的平均权重'],
  evidence_texts: ['Strongest texts: {statistic}', '最强的文本：{statistic}'],
  questions: ['Questions', '提问'],
  question_which: ['Which key does {query} give most weight to, in this map?', '在此图中，{query} 给予哪个键的权重最大？'],
  question_why: ['Why is the cell of {query} and {key} hidden?', '{query} 与 {key} 的单元格为什么被遮挡？'],
  question_small: ['Its weight is too small to be drawn.', '其权重太小，无法画出。'],
  question_other_head: ['Another head looks at it.', '另一个头看向它。'],
  question_same: ['The two tokens are the same.', '两个词元相同。'],
  question_right: ['Right. {right} of {asked} answers were right.', '正确。{asked} 次回答中 {right} 次正确。'],
  question_wrong: ['No: {answer}. {right} of {asked} answers were right.', '不对：{answer}。{asked} 次回答中 {right} 次正确。'],
  question_next: ['Next question', '下一题'],
  story: ['Story', '讲解'],
  story_before: ['Step before', '上一步'],
  story_after: ['Next step', '下一步'],
  story_place: ['{at} of {all}', '第 {at} 步，共 {all} 步'],
  story_empty: ['No steps yet: add what you see.', '还没有步骤：请加入当前视图。'],
  story_text: ['Text of the step', '此步的文字'],
  story_make: ['Edit', '编辑'],
  story_add: ['Add this view', '加入此视图'],
  story_remove: ['Remove', '删除'],
  story_open: ['Open', '打开'],
  story_unreadable: ['This file is no story.', '此文件不是讲解。'],
  what_if: ['What if…', '如果……'],
  what_meaning: ['Change the softmax of the pinned query; the true numbers stay beside. Empty fields are as they are.', '改变已固定查询的 softmax；真实数值保留在旁边。空白项保持原样。'],
  what_temperature: ['Temperature', '温度'],
  what_scale: ['Scale', '缩放'],
  what_cap: ['Softcap', '软上限'],
  what_window: ['Window', '窗口'],
  what_valid: ['Valid keys', '有效键数'],
  what_causal: ['Causal', '因果掩码'],
  what_as_it_is: ['as it is', '保持原样'],
  what_on: ['on', '开'],
  what_off: ['off', '关'],
  what_drop_key: ['Drop this key', '去掉此键'],
  what_keep_key: ['Put this key back', '放回此键'],
  what_true: ['true', '真实'],
  what_changed: ['if', '如果'],
  what_sum: ['Sum of weights', '权重之和'],
  what_entropy: ['Entropy (nats)', '熵（奈特）'],
  what_output: ['Length of Σ weight × v', 'Σ 权重 × v 的长度'],
  what_output_true: ['Σ weight × v, true', 'Σ 权重 × v，真实'],
  what_output_changed: ['Σ weight × v, if', 'Σ 权重 × v，如果'],
  what_without_bias: ['The bias is not known here and left out of the changed row; make the page with --stages.', '此处偏置未知，改变后的行未计入偏置；请加 --stages 生成页面。'],
  what_exact: ['Without a change these vectors give the true weights to ±{error}.', '不作改变时，这些向量给出的权重与真实权重相差不超过 ±{error}。'],
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
  key_nan: ['NaN', 'NaN'],
  key_minus_infinity: ['−∞', '−∞'],
  key_not_positive: ['0 or less', '0 或更小'],
  key_infinity: ['∞', '∞'],
  key_left_out: ['below the limits', '低于界限'],
  said_own_range: [
    'Colours span this map’s own range, so that maps cannot be compared by colour; each thumbnail has its own range.',
    '颜色按本图自身范围着色，不同的图不能按颜色比较；每个缩略图也用自己的范围。',
  ],
  said_text_range: ['Colours of this text end at {high}, its largest weight, not where those of maps end.', '此文本的颜色止于其最大权重 {high}，而不是各图颜色的上限。'],
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
  said_lines_alone: ['Lines: all keys of the query, or all queries of the key; names of those below a twentieth of the strongest are pale.', '连线：该查询的所有键，或该键的所有查询；低于最强者二十分之一的名称颜色较浅。'],
  said_lines_bands: ['A line stands for {count} queries and {count} keys: the mean, over the queries, of the weight that these keys have.', '每条线代表 {count} 个查询和 {count} 个键：这些键所得权重对查询的平均值。'],
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
  keys_backspace: ['Back on the path through the heads', '沿各头的路径返回'],
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
