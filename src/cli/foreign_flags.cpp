#include "cli/foreign_flags.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

constexpr ForeignFlags foreign_flags[]{
    {"-v", "--stages",
     to_translate("-V prints the version; --stages writes the steps of the score, and "
                  "attn-cli explain shows every number of one query")},
    {"-v", "", to_translate("attn-cli -V prints the version")},
    {"--dry-run --check --dryrun --simulate --no-run", "",
     to_translate("attn-cli validate checks a document without computing it")},
    {"--verbose --debug", "--stages",
     to_translate("--stages writes the steps of the score, and attn-cli explain shows every "
                  "number of one query")},
    {"--no-plots --no-plot", "", to_translate("write --plots none")},
    {"--input --file", "",
     to_translate("name the file without a flag before it; a text goes to --text")},
    {"-i -f", "", to_translate("name the file without a flag before it")},
    {"--window --window-size --sliding-window --local-window", "",
     to_translate("write --where \"i - j <= 3 && j <= i\", or \"mask\": {\"window\": {\"left\": 3, "
                  "\"right\": 0}} into the document")},
    {"--dropout --dropout-p --attn-dropout --dropout-rate", "",
     to_translate("write \"dropout\": {\"p\": 0.1, \"training\": true} into the document")},
    {"--bias", "",
     to_translate("write \"mask\": {\"bias\": {\"file\": …}} into the document, or add it with "
                  "--table b=FILE --score \"s + b[i, j]\"")},
    {"--softmax-scale", "", to_translate("write --scale X")},
    {"--save-tensors", "", to_translate("write --tensors safetensors")},
    {"--linewidths --linewidth --lw", "",
     to_translate("leave it out: widths of lines follow the size of the letters, --font-scale")},
    {"--softmax", "", to_translate("leave it out: weights are a softmax of the scores")},
    {"--softcap", "",
     to_translate("write --score \"50 * tanh(s / 50)\", or \"softcap\": 50 into the document")},
    {"--rope-theta --rotary-base --rope-base --rotary --rope", "",
     to_translate("write \"rotary\": {\"theta\": 10000} into the document")},
    {"--alibi", "", to_translate("write \"mask\": {\"alibi\": true} into the document")},
    {"--sink --attention-sink --sinks", "",
     to_translate("write \"sinks\" with a number for each head into the document")},
    {"--parameters", "", to_translate("write \"parameters\": {\"file\": …} into the document")},
    {"--fp16 --half", "", to_translate("write --dtype float16")},
    {"--bf16", "", to_translate("write --dtype bfloat16")},
    {"--float64 --double --fp64", "", to_translate("write --dtype float64")},
    {"--model-path --model-name --checkpoint -m", "", to_translate("write --model DIR")},
    {"--seq-len --max-length", "",
     to_translate("leave it out: sizes follow from the tensors, or from the text")},
    {"--prompt-text", "", to_translate("give a text with --text")},
    {"--log-level --verbose --debug", "",
     to_translate("--quiet leaves out reports and warnings; attn-cli explain shows every number "
                  "of one query")},
    {"--attn --attention-type", "", to_translate("write --attention KIND")},
    {"--tokens", "",
     to_translate("--generate N generates tokens, --ids gives their ids, attn-cli tokens shows "
                  "those of a text")},
    {"--token-ids", "", to_translate("attn-cli run --model M --ids 1,2,3 reads token ids")},
    {"--dark", "", to_translate("write --background dark")},
    {"--transparent", "", to_translate("write --background transparent")},
    {"--log", "", to_translate("write --norm log; messages go to standard error: 2> FILE")},
    {"--latex", "",
     to_translate("explain --markdown prints formulas, and pictures for LaTeX are .pdf")},
    {"--batch-size --per-device-batch-size", "",
     to_translate("leave it out: all samples are computed together")},
    {"--epochs --lr --learning-rate", "", to_translate("leave it out: nothing is trained")},
    {"--num-return-sequences --return-sequences --temperature --top-p --top-k --do-sample "
     "--sample-tokens --num-beams --beam-size "
     "--repetition-penalty",
     "", to_translate("leave it out: the likeliest token is taken each time")},
    {"--repeat --seconds --runs --iterations --warmup --repeats", "",
     to_translate("leave it out: each shape is repeated for about a second")},
    {"--fill", "", to_translate("write \"mask\": {\"fill\": -1e9} into the document")},
    {"--special-tokens --add-special-tokens", "",
     to_translate("write \"special_tokens\": false into the document")},
    {"--quantize --load-in-8bit --load-in-4bit --quantization", "",
     to_translate("leave it out: weights are read as they are stored")},
    {"--html", "", to_translate("attn-cli view writes a page, explain --markdown prints Markdown")},
    {"--theme", "",
     to_translate("--background white or dark is for pictures; a page follows the browser")},
    {"-t", "", to_translate("write --text TEXT")},
    {"--open-browser --open --browser --port --serve --host --server", "",
     to_translate("view writes a page: open it with a browser")},
    {"--overwrite-all --no-overwrite --force --overwrite --yes -y --clobber --exist-ok --replace",
     "", to_translate("leave it out: files of an earlier result are replaced")},
    {"--tokenizer --tokenizer-path --tokenizer-name --vocab", "",
     to_translate("leave it out: the folder of the model has its tokenizer")},
    {"--grayscale", "", to_translate("write --cmap Greys")},
    {"--tight --bbox-inches --tight-layout --constrained-layout --pad-inches --margins", "",
     to_translate("leave it out: margins are trimmed")},
    {"--recursive -r", "", to_translate("leave it out: folders are read with those within them")},
    {"--padding-mask", "",
     to_translate("write \"mask\": {\"padding\": {\"file\": …}} into the document")},
    {"--device --gpu --cuda --device-map --mps --gpus --n-gpu", "",
     to_translate("leave it out: attention is computed on the CPU")},
    {"--attention-mask", "",
     to_translate("write \"mask\": {\"keep\": {\"file\": …}} into the document")},
    {"--attn-mask --mask-file", "",
     to_translate("write \"mask\": {\"allow\": {\"file\": …}} into the document, or {\"block\": "
                  "…} where true hides, {\"bias\": …} of numbers to add")},
    {"--layout", "run|batch|explain|validate|view|heads",
     to_translate("write \"layout\": \"BLHD\" into the document, beside the \"file\" of each "
                  "tensor")},
    {"--enable-gqa --gqa --num-kv-heads --kv-heads --n-kv-heads --num-key-value-heads", "",
     to_translate("leave it out: a key with fewer heads than the query shares them")},
    {"--backend --kernel --impl --implementation --attn-implementation --flash "
     "--flash-attention --sdp-backend",
     "",
     to_translate("leave it out: the numbers are those of the formula, and --cpu chooses the "
                  "instructions")},
    {"--save-weights --save-attentions --output-attentions --return-attentions "
     "--return-attention --return-attention-scores "
     "--need-weights --attentions",
     "", to_translate("leave it out: weights are written unless --no-weights is given")},
    {"--output-hidden-states --hidden-states --return-hidden-states", "",
     to_translate("attn-cli run --stages writes the states between layers too")},
    {"--equal-nan", "", to_translate("leave it out: NaN agrees with NaN")},
    {"--tol --tolerance --thresh --epsilon --eps --delta", "--rtol",
     to_translate("write --rtol 1e-3 --atol 1e-3, or --tolerances f32")},
    {"--max-diff --max-error --abs-tol --abs --absolute --decimal", "--atol",
     to_translate("write --atol X")},
    {"--rel-tol --rel --relative", "--rtol", to_translate("write --rtol X")},
    {"--indent --pretty --pretty-print --compact", "--json",
     to_translate("leave it out: jq formats JSON")},
    {"--output-format --out-format --output-type", "--tensors",
     to_translate("write --tensors FORMAT for the numbers, --format FORMAT for the pictures, or "
                  "--json for the report")},
    {"--config --config-file --yaml --cfg --settings", "",
     to_translate("write the settings as keys of a document, and name it without a flag")},
    {"--set --override --option --define -D", "",
     to_translate("write the flag itself, such as --scale 2, or change the document")},
    {"--progress --progress-bar --tqdm --no-progress", "",
     to_translate("leave it out: progress is shown on standard error")},
    {"--rotation --rotate --xrotation --label-rotation --tick-rotation", "",
     to_translate("leave it out: names turn where they have no room; --ticks index shows "
                  "positions")},
    {"--square --aspect --aspect-ratio --equal", "--figsize",
     to_translate("write --figsize WxH: the map fills it")},
    {"--fps --duration --interval --speed --delay --loop", "",
     to_translate("leave it out: --out FOLDER writes frames, which ffmpeg joins at any speed")},
    {"--ascii --plain --plain-text --no-unicode", "--as",
     to_translate("write --color never, which shows plain characters")},
    {"--curved --hide-axis --axis-off --spines --frame --alpha --marker --linestyle --linecolor "
     "--edgecolor --grid-lines --despine",
     "--dpi", to_translate("leave it out: the kind of picture and its --style choose it")},
    {"--xlim --ylim --xrange --yrange", "--keys", to_translate("write --keys A:B, --queries A:B")},
    {"--center --midpoint --vcenter --robust", "--color-range",
     to_translate("leave it out: numbers of both signs have zero in the middle; "
                  "--color-range=LO,HI sets the ends")},
    {"--reverse-cmap --invert-cmap --reverse --invert", "--cmap",
     to_translate("add _r to the name of the colour map, such as --cmap viridis_r")},
    {"--show --display --preview", "plot", to_translate("attn-cli show draws in the terminal")},
    {"--row --line", "--query", to_translate("write --query N")},
    {"--step --steps --stage", "--full",
     to_translate("leave it out: all steps of a query are shown")},
    {"--layers --layer", "circuits",
     to_translate("write --heads LAYER.HEAD, such as 3.1, or --top N")},
    {"--text --pair --ids", "circuits",
     to_translate("leave it out: only the weights of the model are read")},
    {"--decode --detokenize", "tokens",
     to_translate("attn-cli run --model M --ids 1,2,3 shows the tokens of ids")},
    {"--all --every", "explain", to_translate("write --query all")},
    {"--all --every", "plot|show", to_translate("write --head all, --sample all")},
    {"--all --list", "model",
     to_translate("leave it out: attn-cli model lists those that are found")},
    {"--precision --decimals --round --places", "explain", to_translate("write --digits N")},
    {"--precision --decimals --digits --round", "plot",
     to_translate("write --annotate-format .2f")},
    {"--no-labels --no-ticks --no-xticks --no-yticks", "--ticks",
     to_translate("write --ticks index, which shows positions")},
    {"--no-title", "--title", to_translate("write --title \"\", an empty one")},
    {"--text-color --text-colour --font-color --label-color --number-color", "--annotate-color",
     to_translate("write --annotate-color COLOR")},
    {"--bg --bgcolor --bg-color", "--background",
     to_translate("write --background NAME: white, dark or transparent")},
    {"--sharex --sharey --share-x --share-y", "--color-range",
     to_translate("leave it out: panels share their colours unless --color-range panel is given")},
    {"--transpose --swap-axes --swapaxes --flip", "--keys-upwards",
     to_translate("write --keys-upwards")},
    {"-a -b --a --b --file1 --file2 --left --right --reference --expected --actual", "compare",
     to_translate("name both files without flags: attn-cli compare A B")},
    {"--ignore --exclude --skip", "compare",
     to_translate("write --only NAME,…, the tensors to compare")},
    {"--exit-zero --no-fail --warn-only", "", to_translate("leave it out: write … || true")},
    {"--window-left --window-right", "",
     to_translate("write \"mask\": {\"window\": {\"left\": 3, \"right\": 0}} into the document")},
    {"--align --causal-align --bottom-right", "",
     to_translate("write \"mask\": {\"causal\": true, \"align\": \"lower_right\"} into the "
                  "document")},
    {"--block-size --tile-size --block-m --block-n --num-splits --num-stages", "",
     to_translate("leave it out: it changes no number")},
    {"--lse --return-lse --return-softmax-lse --softmax-lse --logsumexp", "--stages",
     to_translate("write --stages --only output,lse")},
    {"--value --q --k --v --query-file --key-file --value-file", "",
     to_translate("name the files in a document: \"query\": {\"file\": …}, or save all in one "
                  ".npz")},
    {"--cu-seqlens --cu-seqlens-q --cu-seqlens-k", "run|batch|explain|validate|view|heads",
     to_translate("write \"mask\": {\"cu_seqlens\": [0, …]} into the document, and \"layout\": "
                  "\"LHD\" beside the \"file\" of query, key and value")},
    {"--seqlens --context-lens --key-lens", "--valid-lens",
     to_translate("write --valid-lens N,N,…")},
    {"--size --sizes --dims", "--shape", to_translate("write --shape B,H,Lq,Lk,D")},
    {"--text-file --texts-file --prompt-file --input-file", "--text",
     to_translate("write --text \"$(cat FILE)\"; attn-cli batch reads a .txt file of one text "
                  "per line")},
    {"--cache --use-cache --kv-cache --past-key-values", "",
     to_translate("leave it out: all tokens are computed; \"past_key\" of a document is a cache")},
    {"--return-dict --return-tensors --trust-remote-code --local-files-only --torchscript "
     "--low-cpu-mem-usage",
     "", to_translate("leave it out: files are read as they are, and none of their code is run")},
    {"--revision --commit --branch", "--model", to_translate("write --model NAME@REVISION")},
    {"--metric --metrics --stat --stats", "--statistics", to_translate("write --statistics NAME")},
    {"--descending --ascending --desc --asc --reverse-sort", "--sort",
     to_translate("leave it out: --sort puts the largest first")},
    {"--threshold", "heads", to_translate("write --sink-threshold X")},
    {"--exclude --include --glob --pattern", "batch|validate",
     to_translate("name the documents, or a pattern in quotes, such as 'docs/*.json'")},
    {"--timeout --time-limit --max-time", "--max-seconds",
     to_translate("write --max-seconds SECONDS")},
    {"--keep-going --continue-on-error --ignore-errors", "batch",
     to_translate("leave it out: the others go on unless --fail-fast is given")},
    {"--stop-on-error --exit-on-error --stop-on-failure --exitfirst -x", "batch",
     to_translate("write --fail-fast")},
    {"--log-file --logfile", "", to_translate("messages go to standard error: write 2> FILE")},
    {"--stdout --to-stdout --pipe", "--out", to_translate("write --out -")},
    {"--no-output", "--only", to_translate("write --only NAME,…, the tensors to write")},
    {"--fix --repair", "validate",
     to_translate("it reports alone: change the document as each help says")},
    {"--average --mean --max --sum", "plot|show",
     to_translate("write --head mean, --layers 0:3,mean")},
    {"--diff --difference --compare --minus", "plot|show",
     to_translate("attn-cli plot difference A B draws what differs")},
    {"--highlight --mark --box --strongest", "plot",
     to_translate("write --top K or --threshold X, which show the strongest alone")},
    {"--metric --metrics --cosine --mse --mae --l2 --norm", "compare",
     to_translate("leave it out: largest differences are reported, by --json all numbers")},
    {"--dtype --precision", "compare", to_translate("write --tolerances TYPE, such as f16")},
    {"--transpose --permute --axis-order", "compare",
     to_translate("write --layout BLHD, the axes of A")},
    {"--mask-type --attn-mask-type", "",
     to_translate("write --causal, or \"mask\": {…} into the document")},
    {"--backward --requires-grad --grad-output --dout", "--gradient",
     to_translate("write --gradient FILE")},
    {"--compile --jit --deterministic --reproducible --eager --no-grad --eval", "",
     to_translate("leave it out: the same input gives the same bytes")},
    {"--profile --time --timer --timeit", "--timing",
     to_translate("write --timing; attn-cli bench measures speed")},
    {"--benchmark --bench", "", to_translate("attn-cli bench measures speed")},
    {"--hook --hooks --probe --activations --cache-activations", "--patch",
     to_translate("attn-cli run --stages writes states and scores, --patch --at replaces parts")},
    {"--embeddings --embed --pooling", "--model",
     to_translate("leave it out: a folder of sentence-transformers gives sentence_embedding")},
    {"--system --role --messages --conversation", "--text",
     to_translate("write the special tokens of the model into --text")},
    {"--padding --padding-side --pad", "--model",
     to_translate("leave it out: shorter texts are padded and masked")},
    {"--target --target-token --class --answer-token", "--logit",
     to_translate("write --logit TOKEN")},
    {"--n-samples --num-texts --max-texts", "heads",
     to_translate("leave it out: --corpus reads all lines; write head -n 100 FILE > SHORT for "
                  "some of them")},
    {"--cluster --clusters --tsne --pca --mds", "heads",
     to_translate("write --analyses distances --plots all")},
    {"--ov --qk --composition --compositions --copying", "circuits",
     to_translate("leave it out: the tables have all of them")},
    {"--notebook --jupyter --inline", "view",
     to_translate("attn.run of the Python module shows a page in a notebook")},
    {"--limit --max-items --max-documents --first", "batch",
     to_translate("name fewer documents, or write --shard 0/10 for a part")},
    {"--shuffle --random-order", "",
     to_translate("leave it out: documents are computed in their order, each alone")},
    {"--summary --report --manifest", "batch",
     to_translate("leave it out: summary.jsonl is written into --out")},
    {"--compress --compression --gzip --zip", "--tensors",
     to_translate("leave it out: files are written as they are; gzip makes them smaller")},
    {"--append", "--out", to_translate("leave it out: each run has a folder, --out DIR")},
    {"--tmp --tmpdir --temp-dir --tempdir", "",
     to_translate("leave it out: nothing is written outside of --out")},
    {"--cwd --workdir --chdir --base-dir --root", "",
     to_translate("leave it out: names in a document are relative to it")},
};

// Whether a word is among those with spaces or bars between them.
bool has_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    const std::size_t length = std::min(words.find_first_of(" |"), words.size());
    if (words.substr(0, length) == wanted) return true;
    words.remove_prefix(std::min(length + 1, words.size()));
  }
  return false;
}

// Flags of what documents have and a model has by itself, whose rows above would have it written
// into a document.
constexpr ForeignFlags of_models[]{
    {"--temperature --tau", "",
     to_translate("leave it out: the likeliest token is taken each time")},
    {"--padding --padding-side --pad --cu-seqlens --cu-seqlens-q --cu-seqlens-k", "",
     to_translate("leave it out: shorter texts are padded and masked")},
    {"--window --window-size --sliding-window --local-window --window-left --window-right "
     "--softcap "
     "--logit-softcap --rope-theta --rotary-base --rope-base --rotary --rope --alibi --sink "
     "--attention-sink --sinks --bias --attention-mask --attn-mask --mask-file --padding-mask "
     "--mask-type --attn-mask-type --align --causal-align --fill --parameters --softmax-scale "
     "--mask "
     "--no-causal --bidirectional",
     "", to_translate("leave it out: a model's own configuration says how it attends")},
};

}  // namespace

std::string advice_beside_model(const std::string& flag) {
  std::string plain = flag;
  std::ranges::replace(plain, '_', '-');
  const auto* const row = std::ranges::find_if(
      of_models, [&](const ForeignFlags& one) { return has_word(one.names, plain); });
  return row == std::end(of_models) ? std::string() : translated(row->help);
}

std::string advice_of_foreign(const std::string& flag, const std::vector<std::string_view>& names,
                              const std::string& command) {
  std::string plain = flag;
  std::ranges::replace(plain, '_', '-');
  const std::string_view own = std::string_view(command).substr(command.rfind(' ') + 1);
  for (const std::span<const ForeignFlags> rows :
       {foreign_flags_of_commands(), std::span<const ForeignFlags>(foreign_flags)}) {
    for (const ForeignFlags& row : rows) {
      const bool addressed = row.of.empty() || has_word(row.of, own) ||
                             std::ranges::find(names, row.of) != names.end();
      if (addressed && has_word(row.names, plain)) return translated(row.help);
    }
  }
  return "";
}

}  // namespace attn::cli
