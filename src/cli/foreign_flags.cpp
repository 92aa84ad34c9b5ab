#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// What is said to whoever gives a flag of another program.
struct Help {
  std::string_view text;
  std::string_view around = {};  // what stands around the text, which is code; empty: nothing
};

constexpr Help written(std::string_view code) {
  return {code, to_translate("write {1}")};
}

constexpr Help in_document(std::string_view code) {
  return {code, to_translate("write {1} into the document")};
}

// Flags of other programs, and the advice to whoever gives them.
struct ForeignFlags {
  std::string_view names;  // with spaces between, hyphens for underscores
  std::string_view of;     // commands that get the advice, with bars between, or a flag that they
                           // take; empty: all
  Help help;
};

// Those that only some commands get stand before those of all.
constexpr ForeignFlags foreign_flags[]{
    // Flags that the command has under another name, or does not need.
    {"-c", "--cmap", written("--cmap NAME")},
    {"-n", "plot|show|compare", written("--name NAME")},
    {"-s", "plot|show", written("--sample N")},
    {"-H", "--head", written("--head N")},
    {"-l", "--layers", written("--layers N")},
    {"-t", "plot", written("--title TEXT")},
    {"-f", "run|batch|plot",
     to_translate("leave it out: files of an earlier result are replaced, and inputs are named "
                  "without a flag")},
    {"-n -p -P --cpus --cpus-per-task --nproc --nprocs --num-procs --max-procs --ncpus --procs",
     "batch", written("--jobs N")},
    {"--cpus --cpus-per-task --nproc --nprocs --ncpus", "--threads", written("--threads N")},
    {"--num-shards --shards --num-parts --rank --world-size --shard-index --part --index",
     "batch|heads",
     to_translate("write --shard 0/4: which part, counted from 0, and the number of parts")},
    {"-v --verbose --debug", "compare",
     to_translate("leave it out: each tensor that differs is reported; --json has all numbers")},
    {"--werror --fail-on-warnings --warnings-as-errors", "validate", written("--strict")},
    {"--csv", "compare|bench|validate|tokens|model|list",
     to_translate("write --json, and make a table of it with jq -r '… | @csv'")},
    {"--json", "schema", to_translate("leave it out: the schema is JSON")},
    {"--md", "--markdown", written("--markdown")},
    {"--kind --name --type", "example",
     to_translate("name the kind without a flag: attn-cli example self")},
    {"--out -o --output --save", "example",
     to_translate("it prints: write attn-cli example … > FILE")},
    {"--compare --versus --vs", "view", written("--against RESULT")},
    {"--dark --background", "view",
     to_translate("leave it out: a page is light or dark as the browser is")},
    {"--color --colour", "plot",
     to_translate("write --cmap NAME for maps; the colours of lines tell heads apart")},
    {"--labels", "run|batch", in_document("\"labels\": {\"query\": […], \"key\": […]}")},
    {"--shape --size", "--reshape", written("--reshape N,N,…")},
    {"--list --ls --keys-only", "plot|show",
     to_translate("write --name '?': the error names all tensors of the file")},
    {"--info --summary --describe", "show",
     to_translate("write --name '?': the error names all tensors of the file")},
    {"--precision", "run|batch",
     to_translate(
         "write --dtype TYPE, such as float64, to compute with; attn-cli explain --digits N "
         "shows more digits")},
    {"--round --decimals --precision --places --digits", "run|show|batch",
     to_translate(
         "leave it out: files have all digits; attn-cli explain takes --digits N, attn-cli "
         "plot --annotate-format .2f")},
    {"--gamma --power", "--norm", written("--norm power:0.5")},
    {"--frames --frame", "plot", to_translate("write --queries A:B: a frame is a query")},
    {"--no-mask --unmasked --mask-off", "--causal",
     to_translate("leave \"mask\" out of the document")},
    {"--model --corrupted", "circuits",
     to_translate("name the folder without a flag: attn-cli circuits FOLDER; what heads do with a "
                  "text is attn-cli heads --model M --text T")},
    {"--model --text", "plot|show",
     written("attn-cli run --model M --text T --plots heatmap --out DIR")},
    {"--mode --display", "view", to_translate("leave it out: one page has all layers and heads")},
    {"--tokens", "view", to_translate("write --labels FILE, with a token on each line")},
    {"--ids --decode --detokenize", "tokens",
     to_translate("attn-cli run --model M --ids 1,2,3 shows the tokens of ids")},
    {"--ascending --asc", "heads",
     to_translate("leave it out: --sort puts the largest first; --top all shows the smallest too")},
    {"--mask", "--causal",
     to_translate("write --causal, --where or --valid-lens; a document has its own in \"mask\"")},
    {"--no-causal --bidirectional", "--causal",
     to_translate("leave out --causal, and \"causal\" in the document's \"mask\"")},
    {"--temperature --tau", "--score",
     to_translate("write --score \"s / 0.7\" for a softmax at a temperature; of tokens that are "
                  "generated the likeliest is taken")},
    // Flags of what is drawn.
    {"--kind --type --plot-type", "plot",
     to_translate("name the kind without a flag: attn-cli plot heatmap FILE --out PICTURE")},
    {"--nrows", "--columns", to_translate("write --columns N: the rows follow from it")},
    {"--line-width", "--font-scale",
     to_translate("leave it out: widths of lines follow the size of the letters, --font-scale")},
    {"--interpolation --resample --antialias", "--figsize",
     to_translate("leave it out: cells have sharp edges, and --pixels is about maps that are "
                  "larger than the picture")},
    {"--resize --geometry", "--dpi", written("--figsize WxH --dpi N")},
    {"--vmin --vmax --clim", "--color-range",
     to_translate("write --color-range LO,HI, such as --color-range 0,1")},
    {"--density --ppi", "--dpi", written("--dpi N")},
    {"--quality", "--dpi",
     to_translate("leave it out: pictures are stored without loss, and --dpi N sets their pixels")},
    {"--trim", "--figsize", to_translate("leave it out: margins are trimmed")},
    {"--values --show-values --numbers", "plot", written("--annotate on")},
    {"--fontsize --letter-size --point-size --annot-kws --annot-size --annotation-size "
     "--title-size --title-fontsize --label-size --labelsize --tick-size --tick-labelsize "
     "--suptitle-size --text-size",
     "--font-size",
     to_translate("write --font-size 8, in points, or --font-scale 1.5, half as large again")},
    {"--width --height", "--figsize",
     to_translate("write --figsize WxH in inches, or a width alone such as --figsize 89mm")},
    {"--axis --hide-labels --labels-off --hide-ticks --no-tick-labels --no-labels --no-ticks "
     "--no-xticks --no-yticks",
     "--ticks", to_translate("write --ticks index, which shows positions")},
    {"--positions", "plot|show", written("--queries 0:5 --keys 0:5")},
    {"--tokens", "plot|show",
     to_translate("write --labels FILE, with a token on each line, for their names; --queries 0:5 "
                  "--keys 0:5 for some of them")},
    {"--drop-last", "--drop-first", written("--keys 0:-1")},
    {"--key", "plot|show|compare",
     to_translate("write --name NAME for a tensor, --keys A:B for keys")},
    {"--batch --batch-index", "show|plot|explain|view|heads", written("--sample N")},
    {"--transpose --swapaxes", "show",
     to_translate("name the axes as the file has them with --axes, such as key,query of a matrix")},
    {"--delimiter --sep --separator", "show",
     to_translate("leave it out: commas, semicolons, tabs and spaces are recognised")},
    // Comparisons.
    {"--tolerance", "compare",
     to_translate("write --tolerances bf16 for those of a type, or --rtol 1e-3 --atol 1e-3")},
    {"--plots --out -o", "compare",
     to_translate("write --plot diff.png for a picture; the report is printed: > FILE")},
    {"--fail-on-missing --require-all --no-missing", "compare", written("--strict")},
    {"--allclose", "compare",
     to_translate("leave it out: it is what is reported, and the exit code is 1 if they differ")},
    {"--exit-code", "compare", to_translate("leave it out: the exit code is 1 if they differ")},
    // Models.
    {"--ctx-size --context --n-ctx --context-length --max-seq-len", "--model",
     to_translate("leave it out: all tokens of a text are read; --truncate cuts longer ones")},
    {"-p --sentence --input-text --query-text", "--text", written("--text TEXT")},
    {"-n --n-predict", "--generate", written("--generate N")},
    {"--cache-dir --hub-dir", "--model",
     to_translate("set the variable HF_HUB_CACHE to the folder, or name the model by its path")},
    {"--no-bos --prepend-bos --add-bos", "--model", in_document("\"special_tokens\": false")},
    {"--temp", "--generate", to_translate("leave it out: the likeliest token is taken each time")},
    {"--decoder-text --decoder-prompt", "--model",
     to_translate("write \"decoder_text\" into a document with \"model\" and \"text\"")},
    {"--decoder-input-ids --decoder-ids", "--model",
     to_translate("write \"decoder_token_ids\" into a document with \"model\"")},
    {"--language --task", "--sound",
     to_translate("--lang is that of the program; a model of sounds gets its language by "
                  "\"decoder_token_ids\" of a document")},
    {"--sae --transcoder --dictionary", "--model",
     to_translate("leave it out: sparse autoencoders are not read; --stages writes the states")},
    {"--patch-size --image-size", "--model",
     to_translate("leave it out: the configuration of the model has it")},
    {"--pos --position", "--at",
     to_translate("write --query N; of a patch, the position follows its part: --at LAYER.HEAD:N")},
    {"--pos --position", "--model", written("--query N")},
    {"--mean-ablate --mean-ablation", "--heads-off",
     written("--heads-off LAYER.HEAD --ablate mean")},
    {"--zero-ablate --zero-ablation", "--heads-off", written("--heads-off LAYER.HEAD")},
    {"--average-heads --average-attn-weights --average_attn_weights --avg-heads", "--head",
     written("--head mean")},
    {"--tokenizer --vocab", "tokens",
     to_translate("write --model FILE: a tokenizer.json alone will do")},
    {"--file --input -i -f", "tokens", written("--text \"$(cat FILE)\"")},
    {"--top-k --topk -k", "run|batch",
     to_translate("leave it out: the ten likeliest next tokens are reported, and of those that are "
                  "generated the likeliest is taken; --top K is for pictures")},
    {"--top-k --topk -k", "--top", written("--top N")},
    {"--without-heads", "heads",
     to_translate("write --heads-off LAYER.HEAD,… for heads at once, --without-heads-of N,… for "
                  "those of layers one by one")},
    {"--kv-heads --num-kv-heads --n-kv-heads --enable-gqa --gqa", "bench",
     to_translate("leave it out: keys of fewer heads are not measured")},
    {"--backward --bwd --fwd-bwd --bwd-only --train --training --grad --gradient --requires-grad",
     "bench", to_translate("leave it out: attn-cli bench times the forward pass alone")},
    // Input and output of a run.
    {"--examples", "run", to_translate("attn-cli example KIND prints one")},
    {"--stdin", "", to_translate("write - for the name of the input")},
    {"--o --ou", "--out", written("--out DIR")},
    {"--csv --npz --npy --safetensors", "--tensors",
     to_translate("write --tensors csv, npz, npy or safetensors")},
    {"--padding", "--valid-lens",
     to_translate("write --valid-lens N,N,…; texts of a model are padded and masked")},
    {"--memory --max-memory --mem --ram", "--max-elements",
     to_translate("write ulimit -v KILOBYTES before it; --max-elements N limits tensors alone")},
    {"--color --colour", "--no-color",
     to_translate("write --no-color for none; the terminal decides else")},
    // Explanations.
    {"-v --verbose --debug --long --details --detailed --everything", "explain", written("--full")},
    {"--queries", "explain", to_translate("write --query N, or --query all")},
    {"--token", "explain", to_translate("write --query N, or --query with the token")},
    {"--blank --no-solution --exercise --hide --gaps --no-answers --worksheet", "explain",
     to_translate("leave it out: all numbers are shown")},
    {"--format --as", "explain", to_translate("write --markdown, --csv or --json")},
    // Pages.
    {"--head-view --model-view --neuron-view", "view",
     to_translate("leave it out: one page has all views")},
    {"--format --standalone --self-contained", "view",
     to_translate("leave it out: a page is one file of HTML; attn-cli plot draws pictures")},
    // Batches.
    {"-v --verbose --debug", "batch",
     to_translate("leave it out: failures are printed, and summary.jsonl has every item")},
    {"--json-lines --jsonl --ndjson", "batch",
     to_translate("leave it out: summary.jsonl has a line for each document, --out - prints one")},
    {"--list-failed --failed --failures", "batch",
     written("jq -c 'select(.status != 0)' summary.jsonl")},
    {"--status", "batch", to_translate("summary.jsonl has the status of each document")},
    {"--retries --max-retries --num-retries", "batch",
     to_translate("leave it out; the same call with --resume tries again what failed")},
    {"--checkpoint --checkpoint-every --checkpoint-interval --save-every", "batch",
     to_translate("leave it out: --resume reads summary.jsonl; a model goes to --model DIR")},
    {"--nice --priority", "", to_translate("write nice before the command: nice attn-cli …")},
    {"--timeout-per-document --timeout-per-item --document-timeout --timeout --time-limit "
     "--max-time",
     "--max-seconds", written("--max-seconds SECONDS")},
    {"--version", "", written("attn-cli --version")},
    // Commands that print.
    {"--shell", "completion", to_translate("write attn-cli completion bash, zsh or fish")},
    {"--install", "completion",
     to_translate("write attn-cli completion bash > FILE, and have the shell read it: . FILE")},
    {"--models", "list", to_translate("attn-cli model lists those that are found")},
    {"--kind --kinds", "schema",
     to_translate("leave it out: the schema has all kinds, which attn-cli list names")},
    // Texts, answers and heads of models.
    {"--text2 --text-2 --text-b --text-a --text1 --text-1 --sentence-a --sentence-b --sentence1 "
     "--sentence2 --question --context --premise --hypothesis --passage --text-pair --second-text",
     "--pair",
     to_translate(
         "write --text TEXT --pair TEXT for a pair, --text TEXT --text TEXT for two texts")},
    {"--ngl --n-gpu-layers --gpu-layers", "--model",
     to_translate("leave it out: attention is computed on the CPU")},
    {"--stop --stop-words --stop-strings --stop-token --eos --eos-token-id --min-new-tokens "
     "--min-length",
     "--generate",
     to_translate("leave it out: generation ends at an end token of the model, or after N tokens")},
    {"--metric --metrics", "heads",
     to_translate(
         "write --statistics NAME; the logits that --patch changes are chosen with --logit "
         "and --against-logit, or with --logit-difference")},
    {"--logit-difference --logit-diff", "explain|run|batch",
     written("--logit TOKEN --against-logit TOKEN")},
    {"--logit --against-logit", "view",
     to_translate("write --logit-difference TOKEN,TOKEN beside --patch and --paths; --why answer "
                  "keeps the parts of what is predicted")},
    {"--top", "explain", to_translate("leave it out, or write --full for all parts")},
    {"--model --text", "compare",
     to_translate("two models are compared with attn-cli heads --model M --text TEXT --against N")},
    {"--compare --versus --vs", "heads", written("--against INPUT")},
    {"--corpus --texts", "batch",
     to_translate("name the file of texts without a flag: attn-cli batch --model M FILE.txt")},
    {"--no-special-tokens --no-add-special-tokens --without-special-tokens", "--model",
     to_translate("write \"special_tokens\": false into a document with \"model\" and \"text\"")},
    {"--normalize-embeddings --pooling-mode", "--model",
     to_translate("leave it out: modules.json of the folder says what is done with a sentence's "
                  "states")},
    {"--exclude-bos --skip-bos --drop-bos --exclude-special --skip-special --skip-special-tokens",
     "heads",
     to_translate("write --ignore-special to leave out rows of special tokens, --without-first-key "
                  "for the first key")},
    {"-0 --null --print0 -z --zero", "batch|validate",
     to_translate("leave it out: a list of --files-from whose names end in zero bytes is "
                  "recognised")},
    {"--sentence-b-start", "view",
     to_translate("write --text FIRST --pair SECOND for two sentences of a model")},
    {"--schema", "validate",
     to_translate("leave it out: documents are checked by the program's own rules, and attn-cli "
                  "schema prints them")},
    // Flags that all commands get, or that need no others before them.
    {"-v", "--stages",
     to_translate("-V prints the version; --stages writes the steps of the score, and "
                  "attn-cli explain shows every number of one query")},
    {"-v", "", to_translate("attn-cli -V prints the version")},
    {"--dry-run --check --dryrun --simulate --no-run", "",
     to_translate("attn-cli validate checks a document without computing it")},
    {"--verbose --debug", "--stages",
     to_translate("--stages writes the steps of the score, and attn-cli explain shows every "
                  "number of one query")},
    {"--no-plots --no-plot --no-pictures --no-picture --no-figures", "", written("--plots none")},
    {"--input --file", "",
     to_translate("name the file without a flag before it; a text goes to --text")},
    {"-i -f", "", to_translate("name the file without a flag before it")},
    {"--window --window-size --sliding-window --local-window", "",
     to_translate("write --where \"i - j <= 3 && j <= i\", or \"mask\": {\"window\": {\"left\": 3, "
                  "\"right\": 0}} into the document")},
    {"--dropout --dropout-p --attn-dropout --dropout-rate", "",
     in_document("\"dropout\": {\"p\": 0.1, \"training\": true}")},
    {"--bias", "",
     to_translate("write \"mask\": {\"bias\": {\"file\": …}} into the document, or add it with "
                  "--table b=FILE --score \"s + b[i, j]\"")},
    {"--softmax-scale", "", written("--scale X")},
    {"--save-tensors", "", written("--tensors safetensors")},
    {"--linewidths --linewidth --lw", "",
     to_translate("leave it out: widths of lines follow the size of the letters, --font-scale")},
    {"--softmax", "", to_translate("leave it out: weights are a softmax of the scores")},
    {"--softcap", "",
     to_translate("write --score \"50 * tanh(s / 50)\", or \"softcap\": 50 into the document")},
    {"--rope-theta --rotary-base --rope-base --rotary --rope", "",
     in_document("\"rotary\": {\"theta\": 10000}")},
    {"--alibi", "", in_document("\"mask\": {\"alibi\": true}")},
    {"--sink --attention-sink --sinks", "",
     to_translate("write \"sinks\" with a number for each head into the document")},
    {"--parameters", "", in_document("\"parameters\": {\"file\": …}")},
    {"--fp16 --half", "", written("--dtype float16")},
    {"--bf16", "", written("--dtype bfloat16")},
    {"--float64 --double --fp64", "", written("--dtype float64")},
    {"--model-path --model-name --checkpoint -m", "", written("--model DIR")},
    {"--length --max-len --num-positions --dim --d-model --seq-len", "plot",
     in_document("\"embedding\": {\"position\": \"sinusoidal\"}")},
    {"--seq-len --max-length", "",
     to_translate("leave it out: sizes follow from the tensors, or from the text")},
    {"--prompt-text", "", to_translate("give a text with --text")},
    {"--log-level --verbose --debug", "",
     to_translate("--quiet leaves out reports and warnings; attn-cli explain shows every number "
                  "of one query")},
    {"--attn --attention-type", "", written("--attention KIND")},
    {"--tokens", "",
     to_translate("--generate N generates tokens, --ids gives their ids, attn-cli tokens shows "
                  "those of a text")},
    {"--token-ids", "", to_translate("attn-cli run --model M --ids 1,2,3 reads token ids")},
    {"--dark", "", written("--background dark")},
    {"--transparent", "", written("--background transparent")},
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
    {"--repeat --seconds --runs --iterations --iters --warmup --warmup-iters --repeats", "",
     to_translate("leave it out: each shape is repeated for about a second")},
    {"--fill", "", in_document("\"mask\": {\"fill\": -1e9}")},
    {"--special-tokens --add-special-tokens", "", in_document("\"special_tokens\": false")},
    {"--quantize --load-in-8bit --load-in-4bit --quantization", "",
     to_translate("leave it out: weights are read as they are stored")},
    {"--html", "", to_translate("attn-cli view writes a page, explain --markdown prints Markdown")},
    {"--theme", "",
     to_translate("--background white or dark is for pictures; a page follows the browser")},
    {"-t", "", written("--text TEXT")},
    {"--open-browser --open --browser --port --serve --host --server", "",
     to_translate("view writes a page: open it with a browser")},
    {"--overwrite-all --no-overwrite --force --overwrite --yes -y --clobber --exist-ok --replace",
     "", to_translate("leave it out: files of an earlier result are replaced")},
    {"--tokenizer --tokenizer-path --tokenizer-name --vocab", "",
     to_translate("leave it out: the folder of the model has its tokenizer")},
    {"--grayscale", "", written("--cmap Greys")},
    {"--tight --bbox-inches --tight-layout --constrained-layout --pad-inches --margins", "",
     to_translate("leave it out: margins are trimmed")},
    {"--recursive -r", "", to_translate("leave it out: folders are read with those within them")},
    {"--padding-mask", "", in_document("\"mask\": {\"padding\": {\"file\": …}}")},
    {"--device --gpu --cuda --device-map --mps --gpus --n-gpu", "",
     to_translate("leave it out: attention is computed on the CPU")},
    {"--attention-mask", "", in_document("\"mask\": {\"keep\": {\"file\": …}}")},
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
    {"--max-diff --max-error --abs-tol --abs --absolute --decimal", "--atol", written("--atol X")},
    {"--rel-tol --rel --relative", "--rtol", written("--rtol X")},
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
    {"--rotation --rotate --xrotation --label-rotation --tick-rotation --rot --xrot --yrot "
     "--rotation-x --xticks-rotation --yticks-rotation --xtick-rotation --ytick-rotation "
     "--xticklabels-rotation --yticklabels-rotation --rotate-labels --rotate-ticks --rotate-xticks "
     "--label-angle --tick-angle --angle",
     "",
     to_translate("leave it out: names turn where they have no room; --ticks index shows "
                  "positions, --font-scale 0.8 makes letters smaller")},
    {"--legend --legend-loc --loc --cbar-kws --cbar-pad --cbar-shrink --cbar-size --shrink",
     "--colorbar",
     to_translate(
         "leave it out: --colorbar on draws the bar of colours, --colorbar-label TEXT names it")},
    {"--no-cbar --no-legend --hide-colorbar --hide-legend --hide-cbar", "--colorbar",
     written("--colorbar off")},
    {"--no-annot --no-annotate --no-values --hide-values --no-numbers", "--annotate",
     written("--annotate off")},
    {"--fontname --font-name --typeface", "--font", written("--font NAME")},
    {"--hspace --wspace --pad --padding-inches --subplots-adjust --layout-engine", "plot",
     to_translate("leave it out: margins are trimmed")},
    {"--origin --invert-yaxis --invert-y --origin-lower --flip-y", "--keys-upwards",
     to_translate("leave it out: the first query stands at the top; --keys-upwards draws the keys "
                  "up the side")},
    {"--subplots", "--columns",
     to_translate("write --head all for a panel for each head, --columns N for panels in a row")},
    {"--subtitle --footer --footnote", "--caption",
     to_translate("write --title TEXT; --caption adds two sentences about the numbers")},
    {"--square --aspect --aspect-ratio --equal", "--figsize",
     to_translate("write --figsize WxH: the map fills it")},
    {"--fps --duration --interval --speed --delay --loop", "",
     to_translate("leave it out: --out FOLDER writes frames, which ffmpeg joins at any speed")},
    {"--ascii --plain --plain-text --no-unicode", "--as",
     to_translate("write --color never, which shows plain characters")},
    {"--curved --hide-axis --axis-off --spines --frame --alpha --marker --linestyle --linecolor "
     "--edgecolor --grid-lines --gridlines --despine --markersize --hatch --opacity --zorder --rc "
     "--rcparams --border --outline --bold --fontweight --font-weight --usetex --minor-ticks "
     "--tick-params --extent --edgecolors --hue",
     "--dpi", to_translate("leave it out: the kind of picture and its --style choose it")},
    {"--xlim --ylim --xrange --yrange", "--keys", to_translate("write --keys A:B, --queries A:B")},
    {"--center --midpoint --vcenter --robust", "--color-range",
     to_translate("leave it out: numbers of both signs have zero in the middle; "
                  "--color-range=LO,HI sets the ends")},
    {"--reverse-cmap --invert-cmap --reverse --invert", "--cmap",
     to_translate("add _r to the name of the colour map, such as --cmap viridis_r")},
    {"--show --display --preview", "plot", to_translate("attn-cli show draws in the terminal")},
    {"--row --line", "--query", written("--query N")},
    {"--step --steps --stage", "--full",
     to_translate("leave it out: all steps of a query are shown")},
    {"--layers --layer", "circuits",
     to_translate("write --heads LAYER.HEAD, such as 3.1, or --top N")},
    {"--text --pair --ids", "circuits",
     to_translate("leave it out: only the weights of the model are read")},
    {"--all --every", "explain", written("--query all")},
    {"--all --every", "plot|show", to_translate("write --head all, --sample all")},
    {"--all --list", "model",
     to_translate("leave it out: attn-cli model lists those that are found")},
    {"--precision --decimals --round --places", "explain", written("--digits N")},
    {"--precision --decimals --digits --round", "plot", written("--annotate-format .2f")},
    {"--no-title", "--title", to_translate("write --title \"\", an empty one")},
    {"--text-color --text-colour --font-color --label-color --number-color", "--annotate-color",
     written("--annotate-color COLOR")},
    {"--bg --bgcolor --bg-color", "--background",
     to_translate("write --background NAME: white, dark or transparent")},
    {"--sharex --sharey --share-x --share-y", "--color-range",
     to_translate("leave it out: panels share their colours unless --color-range panel is given")},
    {"--transpose --swap-axes --swapaxes --flip", "--keys-upwards", written("--keys-upwards")},
    {"-a -b --a --b --file1 --file2 --left --right --reference --expected --actual", "compare",
     to_translate("name both files without flags: attn-cli compare A B")},
    {"--ignore --exclude --skip", "compare",
     to_translate("write --only NAME,…, the tensors to compare")},
    {"--exit-zero --no-fail --warn-only", "", to_translate("leave it out: write … || true")},
    {"--window-left --window-right", "",
     in_document("\"mask\": {\"window\": {\"left\": 3, \"right\": 0}}")},
    {"--align --causal-align --bottom-right", "",
     in_document("\"mask\": {\"causal\": true, \"align\": \"lower_right\"}")},
    {"--block-size --tile-size --block-m --block-n --num-splits --num-stages", "",
     to_translate("leave it out: it changes no number")},
    {"--lse --return-lse --return-softmax-lse --softmax-lse --logsumexp", "--stages",
     written("--stages --only output,lse")},
    {"--value --q --k --v --query-file --key-file --value-file", "",
     to_translate("name the files in a document: \"query\": {\"file\": …}, or save all in one "
                  ".npz")},
    {"--cu-seqlens --cu-seqlens-q --cu-seqlens-k", "run|batch|explain|validate|view|heads",
     to_translate("write \"mask\": {\"cu_seqlens\": [0, …]} into the document, and \"layout\": "
                  "\"LHD\" beside the \"file\" of query, key and value")},
    {"--seqlens --context-lens --key-lens", "--valid-lens", written("--valid-lens N,N,…")},
    {"--size --sizes --dims", "--shape", written("--shape B,H,Lq,Lk,D")},
    {"--text-file --texts-file --prompt-file --input-file", "--text",
     to_translate("write --text \"$(cat FILE)\"; attn-cli batch reads a .txt file of one text "
                  "per line")},
    {"--cache --use-cache --kv-cache --past-key-values", "",
     to_translate("leave it out: all tokens are computed; \"past_key\" of a document is a cache")},
    {"--return-dict --return-tensors --trust-remote-code --local-files-only --torchscript "
     "--low-cpu-mem-usage",
     "", to_translate("leave it out: files are read as they are, and none of their code is run")},
    {"--revision --commit --branch", "--model", written("--model NAME@REVISION")},
    {"--metric --metrics --stat --stats", "--statistics", written("--statistics NAME")},
    {"--descending --ascending --desc --asc --reverse-sort", "--sort",
     to_translate("leave it out: --sort puts the largest first")},
    {"--threshold", "heads", written("--sink-threshold X")},
    {"--exclude --include --glob --pattern", "batch|validate",
     to_translate("name the documents, or a pattern in quotes, such as 'docs/*.json'")},
    {"--keep-going --continue-on-error --ignore-errors", "batch",
     to_translate("leave it out: the others go on unless --fail-fast is given")},
    {"--fail-fast --keep-going --continue-on-error --stop-on-error --exitfirst -x", "validate",
     to_translate("leave it out: all documents are checked, and the exit code shows any fault")},
    {"--stop-on-error --exit-on-error --stop-on-failure --exitfirst -x", "batch",
     written("--fail-fast")},
    {"--log-file --logfile", "", to_translate("messages go to standard error: write 2> FILE")},
    {"--stdout --to-stdout --pipe", "--out", written("--out -")},
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
    {"--backward --requires-grad --grad-output --dout", "--gradient", written("--gradient FILE")},
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
    {"--target --target-token --class --answer-token", "--logit", written("--logit TOKEN")},
    {"--n-samples --num-texts --max-texts", "heads",
     to_translate("leave it out: --corpus reads all lines; write head -n 100 FILE > SHORT for "
                  "some of them")},
    {"--cluster --clusters --tsne --pca --mds", "heads",
     written("--analyses distances --plots all")},
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
  return row == std::end(of_models) ? std::string() : translated(row->help.text);
}

std::string advice_of_foreign(const std::string& flag, const std::vector<std::string_view>& names,
                              const std::string& command) {
  std::string plain = flag;
  std::ranges::replace(plain, '_', '-');
  const std::string_view own = std::string_view(command).substr(command.rfind(' ') + 1);
  for (const auto& [known, of, help] : foreign_flags) {
    const bool addressed =
        of.empty() || has_word(of, own) || std::ranges::find(names, of) != names.end();
    if (addressed && has_word(known, plain))
      return help.around.empty() ? translated(help.text) : translated(help.around, help.text);
  }
  return "";
}

}  // namespace attn::cli
