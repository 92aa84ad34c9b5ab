#include "attn/language.hpp"

#include "cli/foreign_flags.hpp"

namespace attn::cli {
namespace {

constexpr ForeignFlags rows[]{
    // Flags of what is drawn.
    {"--kind --type --plot-type", "plot",
     to_translate("name the kind without a flag: attn-cli plot heatmap FILE --out PICTURE")},
    {"--nrows", "--columns", to_translate("write --columns N: the rows follow from it")},
    {"--line-width", "--font-scale",
     to_translate("leave it out: widths of lines follow the size of the letters, --font-scale")},
    {"--interpolation --resample --antialias", "--figsize",
     to_translate("leave it out: cells have sharp edges, and --pixels is about maps that are "
                  "larger than the picture")},
    {"--resize --geometry", "--dpi", to_translate("write --figsize WxH --dpi N")},
    {"--density --ppi", "--dpi", to_translate("write --dpi N")},
    {"--quality", "--dpi",
     to_translate("leave it out: pictures are stored without loss, and --dpi N sets their pixels")},
    {"--trim", "--figsize", to_translate("leave it out: margins are trimmed")},
    {"--values --show-values --numbers", "plot", to_translate("write --annotate on")},
    {"--font-size --fontsize", "--font-scale",
     to_translate("write --font-scale X: 1 is the usual size, 1.5 half as large again")},
    {"--width --height", "--figsize",
     to_translate("write --figsize WxH in inches, or a width alone such as --figsize 89mm")},
    {"--axis", "--ticks", to_translate("write --ticks index, which shows positions")},
    {"--tokens --positions", "plot|show", to_translate("write --queries 0:5 --keys 0:5")},
    {"--drop-last", "--drop-first", to_translate("write --keys 0:-1")},
    {"--key", "plot|show|compare",
     to_translate("write --name NAME for a tensor, --keys A:B for keys")},
    {"--batch --batch-index", "show|plot|explain|view|heads", to_translate("write --sample N")},
    {"--transpose --swapaxes", "show",
     to_translate("name the axes as the file has them with --axes, such as key,query of a matrix")},
    {"--delimiter --sep --separator", "show",
     to_translate("leave it out: commas, semicolons, tabs and spaces are recognised")},
    // Comparisons.
    {"--tolerance", "compare",
     to_translate("write --tolerances bf16 for those of a type, or --rtol 1e-3 --atol 1e-3")},
    {"--plots --out -o", "compare",
     to_translate("write --plot diff.png for a picture; the report is printed: > FILE")},
    {"--allclose", "compare",
     to_translate("leave it out: it is what is reported, and the exit code is 1 if they differ")},
    {"--exit-code", "compare", to_translate("leave it out: the exit code is 1 if they differ")},
    // Models.
    {"--ctx-size --context --n-ctx --context-length --max-seq-len", "--model",
     to_translate("leave it out: all tokens of a text are read; --truncate cuts longer ones")},
    {"-p", "--text", to_translate("write --text TEXT")},
    {"-n --n-predict", "--generate", to_translate("write --generate N")},
    {"--cache-dir --hub-dir", "--model",
     to_translate("set the variable HF_HUB_CACHE to the folder, or name the model by its path")},
    {"--no-bos --prepend-bos --add-bos", "--model",
     to_translate("write \"special_tokens\": false into the document")},
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
    {"--pos --position", "--model", to_translate("write --query N")},
    {"--tokenizer --vocab", "tokens",
     to_translate("write --model FILE: a tokenizer.json alone will do")},
    {"--file --input -i -f", "tokens", to_translate("write --text \"$(cat FILE)\"")},
    {"--top-k --topk -k", "--top", to_translate("write --top N")},
    {"--without-heads", "heads",
     to_translate("write --heads-off LAYER.HEAD,… for heads at once, --without-heads-of N,… for "
                  "those of layers one by one")},
    {"--kv-heads --num-kv-heads --n-kv-heads --enable-gqa --gqa", "bench",
     to_translate("leave it out: keys of fewer heads are not measured")},
    // Input and output of a run.
    {"--examples", "run", to_translate("attn-cli example KIND prints one")},
    {"--stdin", "", to_translate("write - for the name of the input")},
    {"--o --ou", "--out", to_translate("write --out DIR")},
    {"--csv --npz --npy --safetensors", "--tensors",
     to_translate("write --tensors csv, npz, npy or safetensors")},
    {"--padding", "--valid-lens",
     to_translate("write --valid-lens N,N,…; texts of a model are padded and masked")},
    {"--memory --max-memory --mem --ram", "--max-elements",
     to_translate("write ulimit -v KILOBYTES before it; --max-elements N limits tensors alone")},
    {"--color --colour", "--no-color",
     to_translate("write --no-color for none; the terminal decides else")},
    // Explanations.
    {"--queries", "explain", to_translate("write --query N, or --query all")},
    {"--token", "explain", to_translate("write --query N, or --query with the token")},
    {"--blank --no-solution --exercise", "explain",
     to_translate("leave it out: all numbers are shown")},
    {"--format --as", "explain", to_translate("write --markdown, --csv or --json")},
    // Pages.
    {"--head-view --model-view --neuron-view", "view",
     to_translate("leave it out: one page has all views")},
    {"--format --standalone --self-contained", "view",
     to_translate("leave it out: a page is one file of HTML; attn-cli plot draws pictures")},
    // Batches.
    {"--num-shards --shards --num-parts", "batch|heads",
     to_translate("write --shard 1/4, the part and the number of parts")},
    {"-v --verbose --debug", "batch",
     to_translate("leave it out: failures are printed, and summary.jsonl has every item")},
    {"--json-lines --jsonl --ndjson", "batch",
     to_translate("leave it out: summary.jsonl has a line for each document, --out - prints one")},
    {"--list-failed --failed --failures", "batch",
     to_translate("write jq -c 'select(.status != 0)' summary.jsonl")},
    {"--status", "batch", to_translate("summary.jsonl has the status of each document")},
    {"--retries --max-retries --num-retries", "batch",
     to_translate("leave it out; the same call with --resume tries again what failed")},
    {"--checkpoint --checkpoint-every --checkpoint-interval --save-every", "batch",
     to_translate("leave it out: --resume reads summary.jsonl; a model goes to --model DIR")},
    {"--nice --priority", "", to_translate("write nice before the command: nice attn-cli …")},
    {"--timeout-per-document --timeout-per-item --document-timeout", "--max-seconds",
     to_translate("write --max-seconds SECONDS")},
    {"--version", "", to_translate("write attn-cli --version")},
    // Commands that print.
    {"--shell", "completion", to_translate("write attn-cli completion bash, zsh or fish")},
    {"--install", "completion",
     to_translate("write attn-cli completion bash > FILE, and have the shell read it: . FILE")},
    {"--models", "list", to_translate("attn-cli model lists those that are found")},
    {"--kind --kinds", "schema",
     to_translate("leave it out: the schema has all kinds, which attn-cli list names")},
    {"--schema", "validate",
     to_translate("leave it out: documents are checked by the program's own rules, and attn-cli "
                  "schema prints them")},
};

}  // namespace

std::span<const ForeignFlags> foreign_flags_of_commands() noexcept {
  return rows;
}

}  // namespace attn::cli
