// One half of the tests of the page, 0 or 1 as the argument says, in one process, so that one browser does for them.
const files = ['texts', 'opening', 'map', 'heads', 'other_views', 'true_pictures', 'text_line', 'compared_maps', 'options', 'files', 'everyone',
  'picture', 'head_facts', 'pair_view', 'paths_view', 'what_if', 'map_levels', 'second_page', 'answers', 'trail', 'story', 'program'];
for (const file of files.filter((_, at) => at % 2 === Number(process.argv[2]))) await import(`./${file}.test.mjs`);
