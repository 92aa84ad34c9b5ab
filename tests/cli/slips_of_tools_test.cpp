#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Flags and values in the words of matplotlib, PyTorch, transformers, NumPy and shells.

namespace {

const std::string speeches_folder = std::string(ATTN_DATA) + "/speeches";

std::string told_of(const std::string& problem, const std::string& where, const std::string& help) {
  return "attn-cli: " + problem + "\n  where: " + where + "\n  help:  " + help + "\n";
}

// What a command answers to a flag that it does not take.
void check_flag(const std::string& command, const std::string& flag, const std::string& help) {
  CAPTURE(flag);
  const std::string place = "attn-cli " + command;
  CHECK(refused_with(2, {command, "x", flag, "1"}) ==
        told_of("unknown flag \"" + flag + "\"", place, help));
}

// What a command answers to a value of a flag.
void check_value(const std::vector<std::string>& command, const std::string& flag,
                 const std::string& value, const std::string& help) {
  CAPTURE(value);
  std::vector<std::string> words = command;
  words.insert(words.end(), {flag, value});
  CHECK(refused_with(2, words) ==
        told_of("invalid value \"" + value + "\" for " + flag, flag, help));
}

}  // namespace

TEST_CASE("flags of plotting libraries get what a picture has in their place") {
  const std::string names =
      "leave it out: names turn where they have no room; --ticks index shows positions, "
      "--font-scale 0.8 makes letters smaller";
  check_flag("plot", "--tight_layout", "leave it out: margins are trimmed");
  check_flag("plot", "--suptitle", "did you mean \"--title\"?");
  check_flag("plot", "--rotation", names);
  for (const std::string flag : {"--rot", "--xticks-rotation", "--label_angle", "--rotate-labels"})
    check_flag("plot", flag, names);
  check_flag(
      "plot", "--legend",
      "leave it out: --colorbar on draws the bar of colours, --colorbar-label TEXT names it");
  check_flag("plot", "--no-cbar", "write --colorbar off");
  check_flag("plot", "--no_annot", "write --annotate off");
  check_flag("plot", "--labelsize",
             "write --font-size 8, in points, or --font-scale 1.5, half as large again");
  check_flag("plot", "--fontname", "write --font NAME");
  check_flag("plot", "--hspace", "leave it out: margins are trimmed");
  check_flag("plot", "--invert_yaxis",
             "leave it out: the first query stands at the top; --keys-upwards draws the keys up "
             "the side");
  check_flag("plot", "--subplots",
             "write --head all for a panel for each head, --columns N for panels in a row");
  check_flag("plot", "--footnote",
             "write --title TEXT; --caption adds two sentences about the numbers");
  check_flag("plot", "--hide_labels", "write --ticks index, which shows positions");
  check_flag("plot", "--markersize", "leave it out: the kind of picture and its --style choose it");
  check_flag("plot", "--square", "write --figsize WxH: the map fills it");
  check_flag("plot", "--fps",
             "leave it out: --out FOLDER writes frames, which ffmpeg joins at any speed");
  check_flag("plot", "--alpha", "leave it out: the kind of picture and its --style choose it");
  check_flag("plot", "--xlim", "write --keys A:B, --queries A:B");
  check_flag("plot", "--vcenter",
             "leave it out: numbers of both signs have zero in the middle; --color-range=LO,HI "
             "sets the ends");
  check_flag("plot", "--invert_cmap",
             "add _r to the name of the colour map, such as --cmap viridis_r");
  check_flag("plot", "--show", "attn-cli show draws in the terminal");
  check_flag("plot", "--width",
             "write --figsize WxH in inches, or a width alone such as --figsize 89mm");
  check_flag("plot", "--decimals", "write --annotate-format .2f");
  check_flag("plot", "--text_color", "write --annotate-color COLOR");
  check_flag("plot", "--sharex",
             "leave it out: panels share their colours unless --color-range panel is given");
  check_flag("plot", "--rows", "did you mean \"--columns\"?");
  check_flag("plot", "--no-title", "write --title \"\", an empty one");
  check_flag("plot", "--all", "write --head all, --sample all");
  check_flag("plot", "--average", "write --head mean, --layers 0:3,mean");
  check_flag("plot", "--diff", "attn-cli plot difference A B draws what differs");
  check_flag("plot", "--highlight",
             "write --top K or --threshold X, which show the strongest alone");
  check_flag("plot", "--label-x", "did you mean \"--xlabel\"?");
  for (const std::string flag : {"--verbose", "--details"})
    check_flag("explain", flag, "write --full");
  check_flag("view", "--notebook", "attn.run of the Python module shows a page in a notebook");
  check_flag("show", "--ascii", "write --color never, which shows plain characters");
  CHECK(refused_with(2, {"plot", "heatmap", "x", "--no-colorbar"}) ==
        told_of("unknown flag \"--no-colorbar\"", "attn-cli plot", "write --colorbar off"));
}

TEST_CASE("flags of kernels and comparisons get the key of a document or the flag") {
  check_flag("run", "--attn_mask",
             "write \"mask\": {\"allow\": {\"file\": …}} into the document, or {\"block\": …} "
             "where true hides, {\"bias\": …} of numbers to add");
  check_flag("run", "--layout",
             "write \"layout\": \"BLHD\" into the document, beside the \"file\" of each tensor");
  check_flag("run", "--window_size",
             "write --where \"i - j <= 3 && j <= i\", or \"mask\": {\"window\": {\"left\": 3, "
             "\"right\": 0}} into the document");
  check_flag("run", "--dropout_p",
             "write \"dropout\": {\"p\": 0.1, \"training\": true} into the document");
  check_flag("run", "--enable_gqa",
             "leave it out: a key with fewer heads than the query shares them");
  check_flag("run", "--backend",
             "leave it out: the numbers are those of the formula, and --cpu chooses the "
             "instructions");
  check_flag("run", "--return_lse", "write --stages --only output,lse");
  check_flag("run", "--align",
             "write \"mask\": {\"causal\": true, \"align\": \"lower_right\"} into the document");
  check_flag("run", "--block_size", "leave it out: it changes no number");
  check_flag("run", "--value",
             "name the files in a document: \"query\": {\"file\": …}, or save all in one .npz");
  check_flag("run", "--cu_seqlens",
             "write \"mask\": {\"cu_seqlens\": [0, …]} into the document, and \"layout\": "
             "\"LHD\" beside the \"file\" of query, key and value");
  check_flag("run", "--seqlens", "write --valid-lens N,N,…");
  CHECK(refused_with(2, {"bench", "--size", "1"}) ==
        told_of("unknown flag \"--size\"", "attn-cli bench", "write --shape B,H,Lq,Lk,D"));
  check_flag("plot", "--max_len",
             "write \"embedding\": {\"position\": \"sinusoidal\"} into the document");
  check_flag("run", "--mask_type", "write --causal, or \"mask\": {…} into the document");
  check_flag("run", "--backward", "write --gradient FILE");
  check_flag("run", "--deterministic", "leave it out: the same input gives the same bytes");
  check_flag("run", "--profile", "write --timing; attn-cli bench measures speed");
  check_flag("compare", "--cosine",
             "leave it out: largest differences are reported, by --json all numbers");
  check_flag("compare", "--dtype", "write --tolerances TYPE, such as f16");
  check_flag("compare", "--permute", "write --layout BLHD, the axes of A");
  check_flag("compare", "--expected", "name both files without flags: attn-cli compare A B");
  check_flag("compare", "--ignore", "write --only NAME,…, the tensors to compare");
  check_flag("compare", "--exit-zero", "leave it out: write … || true");
  check_flag("compare", "--equal-nan", "leave it out: NaN agrees with NaN");
  check_flag("compare", "--tol", "write --rtol 1e-3 --atol 1e-3, or --tolerances f32");
  check_flag("compare", "--tolerance",
             "write --tolerances bf16 for those of a type, or --rtol 1e-3 --atol 1e-3");
  check_flag("compare", "--max-diff", "write --atol X");
  check_flag("compare", "--rel_tol", "write --rtol X");
}

TEST_CASE("the longer name in the same command comes before other commands") {
  check_flag("explain", "--against",
             "did you mean \"--against-logit\"? --against belongs to attn-cli heads, view");
  // A switch is not meant by a flag with a value.
  check_flag("compare", "--merge",
             "attn-cli compare takes no --merge: it belongs to attn-cli batch, heads");
}

TEST_CASE("flags of transformers and of probes get what a command does") {
  check_flag("run", "--output_attentions",
             "leave it out: weights are written unless --no-weights is given");
  check_flag("run", "--output_hidden_states",
             "attn-cli run --stages writes the states between layers too");
  check_flag("run", "--text-file",
             "write --text \"$(cat FILE)\"; attn-cli batch reads a .txt file of one text per line");
  check_flag("run", "--use_cache",
             "leave it out: all tokens are computed; \"past_key\" of a document is a cache");
  check_flag("run", "--trust_remote_code",
             "leave it out: files are read as they are, and none of their code is run");
  check_flag("run", "--revision", "write --model NAME@REVISION");
  check_flag("run", "--head_mask", "did you mean \"--heads-off\"?");
  check_flag("run", "--hook",
             "attn-cli run --stages writes states and scores, --patch --at replaces parts");
  check_flag("run", "--padding_side", "leave it out: shorter texts are padded and masked");
  check_flag("run", "--images", "did you mean \"--image\"?");
  check_flag("run", "--decoder_text",
             "write \"decoder_text\" into a document with \"model\" and \"text\"");
  check_flag("run", "--cache-dir",
             "set the variable HF_HUB_CACHE to the folder, or name the model by its path");
  check_flag("run", "--prepend_bos", "write \"special_tokens\": false into the document");
  check_flag("run", "-n", "write --generate N");
  check_flag("tokens", "--tokenizer", "write --model FILE: a tokenizer.json alone will do");
  check_flag("tokens", "--file", "write --text \"$(cat FILE)\"");
  check_flag("heads", "--top-k", "write --top N");
  check_flag("heads", "--without-heads",
             "write --heads-off LAYER.HEAD,… for heads at once, --without-heads-of N,… for those "
             "of layers one by one");
  CHECK(refused_with(2, {"bench", "--kv-heads", "2"}) ==
        told_of("unknown flag \"--kv-heads\"", "attn-cli bench",
                "leave it out: keys of fewer heads are not measured"));
  for (const std::string flag : {"--backward", "--bwd", "--fwd-bwd", "--train"}) {
    CHECK(refused_with(2, {"bench", flag}) ==
          told_of("unknown flag \"" + flag + "\"", "attn-cli bench",
                  "leave it out: attn-cli bench times the forward pass alone"));
  }
  check_flag("explain", "--format", "write --markdown, --csv or --json");
  check_flag("explain", "--no-solution", "leave it out: all numbers are shown");
  check_flag("explain", "--hide", "leave it out: all numbers are shown");
  check_flag("plot", "--vmin", "write --color-range LO,HI, such as --color-range 0,1");
  check_flag("heads", "--target", "write --logit TOKEN");
  check_flag("heads", "--cluster", "write --analyses distances --plots all");
  check_flag("circuits", "--ov", "leave it out: the tables have all of them");
  // The value of another flag.
  check_flag("heads", "--rollout", "write --analyses rollout");
  check_flag("heads", "--entropy", "write --statistics entropy");
  check_flag("heads", "--metric",
             "write --statistics NAME; the logits that --patch changes are chosen with --logit and "
             "--against-logit, or with --logit-difference");
  check_flag("heads", "--descending", "leave it out: --sort puts the largest first");
  check_flag("heads", "--threshold", "write --sink-threshold X");
  check_flag("explain", "--precision", "write --digits N");
  check_flag("explain", "--all", "write --query all");
  check_flag("tokens", "--decode", "attn-cli run --model M --ids 1,2,3 shows the tokens of ids");
  check_flag("circuits", "--layers", "write --heads LAYER.HEAD, such as 3.1, or --top N");
  check_flag("circuits", "--text", "leave it out: only the weights of the model are read");
  check_flag("explain", "--row", "write --query N");
  check_flag("explain", "--step", "leave it out: all steps of a query are shown");
}

TEST_CASE("flags of texts, answers and parts of models get what is there for them") {
  const std::string pair =
      "write --text TEXT --pair TEXT for a pair, --text TEXT --text TEXT for two texts";
  for (const std::string flag : {"--text2", "--sentence_a", "--question", "--premise"})
    check_flag("run", flag, pair);
  check_flag("view", "--sentence-b", pair);
  check_flag("run", "--sentence", "write --text TEXT");
  check_flag("run", "--stop",
             "leave it out: generation ends at an end token of the model, or after N tokens");
  check_flag("run", "-ngl", "leave it out: attention is computed on the CPU");
  check_flag("run", "--top-k",
             "leave it out: the ten likeliest next tokens are reported, and of those that are "
             "generated the likeliest is taken; --top K is for pictures");
  check_flag("explain", "--top", "leave it out, or write --full for all parts");
  check_flag("explain", "--logit-difference", "write --logit TOKEN --against-logit TOKEN");
  check_flag("view", "--logit",
             "write --logit-difference TOKEN,TOKEN beside --patch and --paths; --why answer keeps "
             "the parts of what is predicted");
  check_flag("compare", "--model",
             "two models are compared with attn-cli heads --model M --text TEXT --against N");
  check_flag("heads", "--compare", "write --against INPUT");
  check_flag("heads", "--max-texts",
             "leave it out: --corpus reads all lines; write head -n 100 FILE > SHORT for some of "
             "them");
  check_flag("heads", "--exclude-bos",
             "write --ignore-special to leave out rows of special tokens, --without-first-key for "
             "the first key");
  check_flag("batch", "--corpus",
             "name the file of texts without a flag: attn-cli batch --model M FILE.txt");
  check_flag("tokens", "--no-special-tokens",
             "write \"special_tokens\": false into a document with \"model\" and \"text\"");
  check_flag("run", "--normalize_embeddings",
             "leave it out: modules.json of the folder says what is done with a sentence's states");
}

TEST_CASE("what a document would say of attention is left to a model's configuration") {
  const auto beside_model = [](const std::string& flag) {
    return refused_with(2, {"run", "--model", speeches_folder, "--text", "The peace", flag, "4"});
  };
  for (const std::string flag : {"--window", "--softcap", "--rope_theta", "--attention_mask"}) {
    CAPTURE(flag);
    CHECK(beside_model(flag) ==
          told_of("unknown flag \"" + flag + "\"", "attn-cli run",
                  "leave it out: a model's own configuration says how it attends"));
  }
  CHECK(beside_model("--padding") == told_of("unknown flag \"--padding\"", "attn-cli run",
                                             "leave it out: shorter texts are padded and masked"));
  check_flag("run", "--softcap",
             "write --score \"50 * tanh(s / 50)\", or \"softcap\": 50 into the document");
}

TEST_CASE("words of other programs' commands, and a text beside a model's folder, get their cure") {
  CHECK(refused_with(2, {"pull", "gpt2"}) ==
        "attn-cli: unknown command \"pull\"\n"
        "  help:  nothing is downloaded: write hf download NAME or ollama pull NAME\n");
  CHECK(refused_with(2, {"generate", "--model", "M"}) ==
        "attn-cli: unknown command \"generate\"\n"
        "  help:  write attn-cli run --model M --text TEXT --generate N\n");
  CHECK(refused_with(4, {"run", speeches_folder, "The people"}) ==
        refused_with(4, {"run", speeches_folder}));
}

TEST_CASE("flags of shells and of other programs get their cure") {
  check_flag("batch", "--parallel", "did you mean \"--jobs\"?");
  check_flag("heads", "--num-workers", "did you mean \"--threads\"?");
  check_flag("batch", "--retry", "did you mean \"--resume\"?");
  check_flag("batch", "-j4", "write --jobs 4");
  check_flag("batch", "--limit", "name fewer documents, or write --shard 0/10 for a part");
  check_flag("batch", "--retries",
             "leave it out; the same call with --resume tries again what failed");
  check_flag("batch", "--checkpoint",
             "leave it out: --resume reads summary.jsonl; a model goes to --model DIR");
  check_flag("batch", "--status", "summary.jsonl has the status of each document");
  check_flag("batch", "--color", "write --no-color for none; the terminal decides else");
  check_flag("batch", "--num-shards",
             "write --shard 0/4: which part, counted from 0, and the number of parts");
  check_flag("batch", "--list-failed", "write jq -c 'select(.status != 0)' summary.jsonl");
  check_flag("batch", "--version", "write attn-cli --version");
  check_flag("completion", "--shell", "write attn-cli completion bash, zsh or fish");
  check_flag("compare", "--out",
             "write --plot diff.png for a picture; the report is printed: > FILE");
  check_flag("plot", "-quality",
             "leave it out: pictures are stored without loss, and --dpi N sets their pixels");
  check_flag("plot", "-density", "write --dpi N");
  check_flag("plot", "--drop-last", "write --keys 0:-1");
  check_flag("plot", "--positions", "write --queries 0:5 --keys 0:5");
  check_flag(
      "plot", "--tokens",
      "write --labels FILE, with a token on each line, for their names; --queries 0:5 --keys "
      "0:5 for some of them");
  check_flag("show", "--batch", "write --sample N");
  check_flag("show", "--key", "write --name NAME for a tensor, --keys A:B for keys");
  check_flag("batch", "--shuffle",
             "leave it out: documents are computed in their order, each alone");
  check_flag("batch", "--summary", "leave it out: summary.jsonl is written into --out");
  check_flag("batch", "--max-memory",
             "write ulimit -v KILOBYTES before it; --max-elements N limits tensors alone");
  check_flag("run", "--compress",
             "leave it out: files are written as they are; gzip makes them smaller");
  check_flag("run", "--append", "leave it out: each run has a folder, --out DIR");
  check_flag("run", "--tmp", "leave it out: nothing is written outside of --out");
  check_flag("run", "--cwd", "leave it out: names in a document are relative to it");
  check_flag("batch", "--timeout", "write --max-seconds SECONDS");
  check_flag("batch", "--exclude",
             "name the documents, or a pattern in quotes, such as 'docs/*.json'");
  check_flag("batch", "--keep-going", "leave it out: the others go on unless --fail-fast is given");
  check_flag("batch", "--stop-on-error", "write --fail-fast");
  check_flag("validate", "--fail-fast",
             "leave it out: all documents are checked, and the exit code shows any fault");
  check_flag("batch", "--log", "write --norm log; messages go to standard error: 2> FILE");
  check_flag("run", "--stdout", "write --out -");
  check_flag("run", "--no-pictures", "write --plots none");
  check_flag("run", "--no-output", "write --only NAME,…, the tensors to write");
  check_flag("validate", "--fix", "it reports alone: change the document as each help says");
  check_flag("batch", "--progress", "leave it out: progress is shown on standard error");
  check_flag("run", "--indent", "leave it out: jq formats JSON");
  check_flag("run", "--output-format",
             "write --tensors FORMAT for the numbers, --format FORMAT for the pictures, or --json "
             "for the report");
  check_flag("run", "--config",
             "write the settings as keys of a document, and name it without a flag");
  check_flag("run", "--set", "write the flag itself, such as --scale 2, or change the document");
  CHECK(refused_with(2, {"-v"}) ==
        told_of("unknown flag \"-v\"", "attn-cli", "attn-cli -V prints the version"));
  CHECK(refused_with(2, {"list", "cmaps"}) ==
        told_of("unexpected argument \"cmaps\"", "attn-cli list",
                "leave it out: one list has everything; fc-list : family names fonts"));
}

TEST_CASE("values in other words or forms get the one that is meant") {
  const std::vector<std::string> plot{"plot", "heatmap", "x", "--out", "x.png"};
  check_value(plot, "--cmap", "viridis_reversed", "did you mean \"viridis_r\"?");
  check_value(plot, "--cmap", "ylorrd_", "did you mean \"YlOrRd\" or \"YlOrRd_r\"?");
  check_value(plot, "--annotate", ".2f", "write --annotate-format .2f");
  check_value(plot, "--annotate", "%.1f", "write --annotate-format .1f");
  check_value(plot, "--annotate", "4", "known: auto, on, off");
  check_value(plot, "--layers", "last", "write --layers -1");
  check_value(plot, "--layers", "first", "write --layers 0");
  check_value(plot, "--figsize", "1920x1080", "write --preset slide");
  check_value({"run", "x"}, "--plots", "heatmap.pdf", "write --plots heatmap --format pdf");
  check_value({"run", "x"}, "--plots", "heatmap.svg,grid.svg",
              "write --plots heatmap,grid --format svg");
  check_value(plot, "--cmap", "#ff0000",
              "attn-cli list shows the names, such as YlOrRd, YlOrRd_r or Reds");
  check_value(plot, "--queries", "1", "write --queries 1:2");
  check_value({"run", "x"}, "--plots", "heatmap.png", "did you mean \"heatmap\"?");
  check_value({"run", "x"}, "--plots", "figure.png",
              "name a kind, such as heatmap: its file goes into the folder of --out");
  check_value({"heads", "x"}, "--plots", "heatmap", "draw it with attn-cli run --plots heatmap");
  check_value({"heads", "x"}, "--plots", "difference", "draw it with attn-cli plot difference");
  check_value({"heads", "x"}, "--analyses", "attention_rollout", "did you mean \"rollout\"?");
  check_value({"heads", "x"}, "--analyses", "logit_lens", "did you mean \"lens\"?");
  check_value({"run", "x"}, "--scale", "sqrt",
              "give a number such as 0.125, or leave it out for 1/√d_k");
  check_value({"run", "x"}, "--table", "m=0.5",
              "name a file, or write the number into the expression");
  check_value({"run", "x"}, "--attention", "sdpa,dot_product",
              "write --attention sdpa --attention dot_product");
  check_value({"run", "x"}, "--max-seconds", "5m", "give a number of seconds, such as 300");
  check_value(plot, "--figsize", "16:9", "write --preset slide");
  check_value(plot, "--figsize", "89", "write --figsize 89mm");
  check_value(plot, "--figsize", "8,5cm", "write --figsize 8.5cm");
  check_value(plot, "--figsize", "12cm,8cm", "write --figsize 12cmx8cm");
  check_value(plot, "--norm", "power=0.3", "write --norm power:0.3");
  check_value({"explain", "x"}, "--digits", "20", "give decimals from 2 to 16");
  CHECK(refused_with(2, {"run", "x", "--attention", "multi-head-attn"})
            .starts_with("attn-cli: unknown kind of attention \"multi-head-attn\"\n"));
  check_value({"run", "x"}, "--cpu", "4", "write --threads 4");
  check_value({"run", "x"}, "--ablate", "1.2", "write --heads-off 1.2");
  check_value(plot, "--format", "svg,pdf", "give one of them, such as svg");
  check_value({"batch", "x"}, "--format", "csv",
              "it is of pictures, png, svg or pdf; attn-cli run --tensors csv writes numbers");
  check_value({"run", "x"}, "--tensors", "float16", "write --dtype float16");
  check_value({"run", "x"}, "--layers", "range(2)", "write --layers 0:2");
  check_value({"run", "x"}, "--layers", "range(1, 3)", "write --layers 1:3");
  check_value({"run", "x"}, "--heads-off", "(2, 0)", "write --heads-off 2.0");
  check_value({"run", "x"}, "--heads-off", "[(2, 0), (3, 1)]", "write --heads-off 2.0,3.1");
  check_value({"run", "x"}, "--only", "hook_pattern", "write --only weights");
  const auto check_only = [](const std::string& name, const std::string& own) {
    check_value({"run", "x"}, "--only", name, "write --only " + own);
  };
  check_only("blocks.2.attn.hook_pattern", "layers.2.self.weights");
  check_only("output,blocks.2.attn.hook_attn_scores", "output,layers.2.self.scores");
  check_only("blocks.0.hook_resid_pre", "embedded");
  check_only("blocks.12.hook_resid_pre", "layers.11.output");
  check_only("blocks.3.hook_resid_post", "layers.3.output");
  check_only("bert.encoder.layer.2.attention.self", "layers.2.self.weights");
  check_only("model.layers.2.self_attn", "layers.2.self.weights");
  check_only("attentions[2]", "layers.2.self.weights");
  check_value({"run", "x"}, "--valid-lens", "lens.npy",
              "write the numbers, such as --valid-lens 6,4, or \"valid_lens\": {\"file\": "
              "\"lens.npy\"} into the document");
  check_value(
      {"run", "x"}, "--gradient", R"({"file":"d.npy","layout":"BLHD"})",
      R"(write "gradient": {"output": {"file":"d.npy","layout":"BLHD"}} into the document)");
  check_value({"run", "x"}, "--only", "softmax_lse", "write --only lse");
  check_value({"run", "x"}, "--only", "out,softmax_lse,key", "write --only output,lse,key");
  check_value({"run", "x"}, "--adapter", "a,b", "give one folder");
  check_value({"view", "x"}, "--why", "2.0,3.3", "give one head such as 2.0, or all");
  check_value({"show", "x"}, "--as", "ascii", "write --color never");
  check_value({"compare", "x", "y"}, "--tolerances", "1e-3", "write --rtol 1e-3 --atol 1e-3");
  CHECK(refused_with(2, {"heads", "x", "--logit-difference", " world people"}) ==
        told_of("a difference is of two logits", "--logit-difference",
                "give two tokens with a comma between, such as '\" world\",\" people\"'"));
}

TEST_CASE("what would be dropped without a word is refused or warned of") {
  const std::vector<std::string> text{"--model", speeches_folder, "--text", "The peace of the"};
  const auto with = [&](const std::string& command, std::vector<std::string> words) {
    words.insert(words.begin(), text.begin(), text.end());
    words.insert(words.begin(), command);
    return refused_with(2, words);
  };
  CHECK(with("explain", {"--why", "2.0", "--layers", "1"}) ==
        told_of("--layers and --why name different layers", "--layers", "leave it out"));
  CHECK(with("explain", {"--head", "1", "--why", "2.0"}) ==
        told_of("--head and --why name different heads", "--head", "leave it out"));
  CHECK(with("heads", {"--out", "heads.csv"}) ==
        told_of("\"heads.csv\" is the name of a file, and --out takes a folder", "--out",
                "write attn-cli heads … --csv > heads.csv"));
  const Outcome dropped = attn_cli(
      {"heads", "--model", speeches_folder, "--text", "The peace", "--analyses", "lens,rollout"});
  CHECK(dropped.exit_code == 0);
  CHECK(dropped.errors ==
        "attn-cli: warning: the analysis rollout only writes tensors: add --out DIR or --plots "
        "all\n");
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[1,0],[0.5,0.5]],[[1,0],[0,1]]]})");
  const Outcome best = attn_cli(
      {"plot", "grid", "w.json", "--axes", "head", "--best", "3", "--out", "x.png"}, folder.path());
  CHECK(best.exit_code == 3);
  CHECK(best.errors == told_of("there are fewer than 3 heads", "--best", "give 1 to 2"));
}

TEST_CASE("the summary of a batch in the place of its documents is told of once") {
  const TemporaryFolder folder;
  folder.write("a.jsonl", R"({"attention":"sdpa","query":[[1,0],[0,1]]})"
                          "\n"
                          R"({"attention":"sdpa"})"
                          "\n");
  const auto call = [&](const std::vector<std::string>& words) {
    return attn_cli(words, folder.path());
  };
  REQUIRE(call({"batch", "a.jsonl", "--plots", "none", "--out", "r"}).exit_code == 1);
  const Outcome checked = call({"validate", "r/summary.jsonl"});
  CHECK(checked.exit_code == 3);
  CHECK(checked.output ==
        "r/summary.jsonl: 1 problem\n\n"
        "  this is the summary of a batch, not documents\n"
        "    where: r/summary.jsonl\n"
        "    help:  name its documents, which jq -r .input r/summary.jsonl prints\n");
  const Outcome batch = call({"batch", "r/summary.jsonl", "--plots", "none", "--out", "s"});
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: summary: this is the summary of a batch, not documents\n"
        "  where: r/summary.jsonl\n"
        "  help:  name its documents, which jq -r .input r/summary.jsonl prints\n");
}

TEST_CASE("files, folders and names in place of something else are called what they are") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "data");
  folder.write("data/d.json", R"({"attention":"sdpa","query":[[1,0],[0,1]]})");
  folder.write("notes.md", "# Notes\n");
  const auto errors = [&](const std::vector<std::string>& words, const std::string& input = "") {
    return attn_cli(words, folder.path(), input).errors;
  };
  CHECK(errors({"run", "Data/d.json"}) ==
        "attn-cli: cannot open \"Data/d.json\": No such file or directory\n"
        "  help:  did you mean \"data/d.json\"?\n");
  const std::string prose =
      "an input document is a JSON object, such as attn-cli example sdpa prints; a text that a "
      "model reads is given with --text";
  CHECK(errors({"run", "https://example.org/a.json"}) ==
        "attn-cli: cannot open \"https://example.org/a.json\": No such file or directory\n"
        "  help:  download it first, and name the file\n");
  CHECK(errors({"run", "file:///data/d.json"}) ==
        "attn-cli: cannot open \"file:///data/d.json\": No such file or directory\n"
        "  help:  name it by its path, without file:\n");
  CHECK(errors({"run", "notes.md"}) ==
        told_of("this is plain text, not an input document", "notes.md", prose));
  CHECK(errors({"run", "-"}, "data/d.json\n") ==
        told_of("this is the name of a file, not a document", "standard input",
                "name it in the command line; attn-cli batch reads names from --files-from -"));
  const std::string names("data/d.json\0data/my e.json\0", 27);
  CHECK(errors({"run", "-"}, names) ==
        told_of("these are names of files, not a document", "standard input",
                "write attn-cli batch --files-from -, which reads names with zero bytes between"));
  CHECK(errors({"batch", "--files-from", "data/d.json", "--out", "b"}) ==
        told_of("this is a document, not a list of documents", "data/d.json",
                "name it without --files-from"));
  CHECK(errors({"batch", "--model", speeches_folder, "The peace", "--out", "b"}) ==
        told_of("there is no document \"The peace\"", "attn-cli batch",
                "write the texts into a .txt file, one per line, and name it"));
  CHECK(errors({"batch", "--model", speeches_folder, "--text", "The peace", "--out", "b"}) ==
        told_of("no input documents given", "attn-cli batch",
                "write the texts into a .txt file, one per line, and name it"));
  CHECK(errors({"batch", speeches_folder, "--out", "b"}) ==
        told_of("\"" + speeches_folder + "\" is the folder of a model, not of documents",
                "attn-cli batch", "give it with --model"));
  CHECK(errors({"batch", "data/d.json,notes.md", "--out", "b"}) ==
        told_of("\"data/d.json,notes.md\" names several files", "attn-cli batch",
                "name them one by one, with spaces between and without quotes"));
  CHECK(errors({"validate", "nowhere/*.json"}) ==
        "attn-cli: no document: nothing matches \"nowhere/*.json\"\n  help:  check the pattern\n");
  CHECK(errors({"run", "data/*.json"}) ==
        told_of("\"data/*.json\" is a pattern, not a document", "attn-cli run",
                "compute all that it matches with attn-cli batch 'data/*.json'"));
  CHECK(errors({"run", "data/d.json", "--only", "weights", "output"}) ==
        told_of("--only takes one value: \"output\" is left over", "attn-cli run",
                "write --only weights,output"));
  CHECK(errors({"run", "--model", speeches_folder, "--text", "@notes.md"}) ==
        told_of("\"@notes.md\" is the name of a file, not a text", "--text",
                "give what it holds: --text \"$(cat notes.md)\""));
  CHECK(errors({"heads", "--model", speeches_folder, "--corpus", "The peace. The war."}) ==
        told_of("cannot open \"The peace. The war.\": No such file or directory", "--corpus",
                "write the texts into a .txt file, one per line, and name it"));
  CHECK(errors({"explain", "data/d.json", "cat"}) ==
        told_of("unexpected argument \"cat\"", "attn-cli explain", "write --query cat"));
  CHECK(errors({"tokens", speeches_folder, "The peace"}) ==
        told_of("more than one document given", "attn-cli tokens",
                "write attn-cli tokens --model " + speeches_folder + " --text \"The peace\""));
  CHECK(errors({"run", "q.npy", "k.npy"}) ==
        told_of("more than one input document given: \"k.npy\" is the second", "attn-cli run",
                R"(name the files in a document: {"attention": "sdpa", "query": {"file": )"
                R"("q.npy"}, "key": …})"));
  CHECK(errors({"run", "--model", speeches_folder, "--image", "data"}) ==
        told_of("\"data\" is a folder", "--image",
                "name a picture in it, or give all to attn-cli batch --model M data"));
  CHECK(errors({"run", "--model", "https://huggingface.co/gpt2", "--text", "a"}) ==
        told_of("there is no folder \"https://huggingface.co/gpt2\"", "https://huggingface.co/gpt2",
                "nothing is downloaded: get it with hf download gpt2, and give its name, gpt2"));
  CHECK(errors({"heads", "--model", speeches_folder, "--corpus", "data/d.json", "--out", "h"}) ==
        told_of("\"model\" has no meaning for scaled_dot_product attention", "--model",
                "leave it out, or give a text instead of the kind of attention and its tensors: a "
                "model reads texts"));
  CHECK(errors({"run", "--model", speeches_folder, "--text", "The peace", "--generate", "1",
                "--parts", "prompt=0:5"}) ==
        told_of("a part cannot have the name \"prompt\"", "--parts",
                "choose another: prompt, answer, first_token and sink are parts of their own"));
}

TEST_CASE("tensors that differ by the order of heads and positions get the layouts") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"output":[[[[1],[2]],[[3],[4]],[[5],[6]]]]})");
  folder.write("b.json", R"({"output":[[[[1],[2],[3]],[[4],[5],[7]]]]})");
  const Outcome outcome = attn_cli({"compare", "a.json", "b.json"}, folder.path());
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.output.find("\n  output: the shapes are [1,3,2,1] and [1,2,3,1]; if the first is "
                            "[B,L,H,D], write --layout BLHD, and if the second is, --layout-b "
                            "BLHD\n") != std::string::npos);
}

TEST_CASE("short flags and flags of shells get those of the command") {
  check_flag("plot", "-c", "write --cmap NAME");
  check_flag("plot", "-n", "write --name NAME");
  check_flag("plot", "-t", "write --title TEXT");
  check_flag("plot", "--gamma", "write --norm power:0.5");
  check_flag("plot", "--frames", "write --queries A:B: a frame is a query");
  check_flag("batch", "-n", "write --jobs N");
  check_flag("batch", "--cpus-per-task", "write --jobs N");
  check_flag("batch", "--world-size",
             "write --shard 0/4: which part, counted from 0, and the number of parts");
  check_flag("run", "-f",
             "leave it out: files of an earlier result are replaced, and inputs are named without "
             "a flag");
  check_flag("run", "--temperature",
             "write --score \"s / 0.7\" for a softmax at a temperature; of tokens that are "
             "generated the likeliest is taken");
  check_flag("run", "--no-causal", "leave out --causal, and \"causal\" in the document's \"mask\"");
  check_flag("compare", "--verbose",
             "leave it out: each tensor that differs is reported; --json has all numbers");
  check_flag("show", "--list", "write --name '?': the error names all tensors of the file");
  check_flag("view", "--compare", "write --against RESULT");
  check_flag("view", "--dark", "leave it out: a page is light or dark as the browser is");
  check_flag("example", "--kind", "name the kind without a flag: attn-cli example self");
}

TEST_CASE("a flag that nobody knows gets those that share a word, or the command's own") {
  // By the words of names, then of descriptions.
  check_flag("plot", "--axes-count", "nearest flags: --log-axes, --axes; see attn-cli plot --help");
  check_flag("show", "--hatch",
             "attn-cli show takes --name, --axes, --layers, --head, --sample, --labels, --width, "
             "--color, --as, --cmap, --json and others: see attn-cli show --help");
}

TEST_CASE("values in the words of other tools get what a flag takes") {
  check_value({"plot", "heatmap", "x"}, "--style", "dark", "write --background dark");
  check_value({"compare", "a", "b"}, "--rtol", "10^-4", "write --rtol 1e-4");
  check_value({"batch", "x"}, "--jobs", "auto",
              "give a whole number of at least 1, or leave it out for all cores");
  check_value({"batch", "x"}, "--jobs", "", "give a value: a variable of the shell may be unset");
  check_value({"bench"}, "--shape", "(1,2,64,64,16)", "write --shape 1,2,64,64,16");
  CHECK(refused_with(2, {"run", "x", "--plots", "difference"}) ==
        told_of("--plots does not draw difference", "--plots",
                "draw it of a result: attn-cli plot difference RESULT OTHER --out difference.png"));
  CHECK(refused_with(2, {"run", "x", "--plots", "heatmap", "--plots", "grid"}) ==
        told_of("--plots is given twice", "attn-cli run", "write --plots heatmap,grid"));
}

TEST_CASE("ranges, powers and texts in other words get what a flag takes") {
  check_value({"run", "x"}, "--head", "L1H2", "write --layers 1 --head 2");
  check_value({"run", "x"}, "--layers", "0-2", "write --layers 0:3: a range leaves out its end");
  check_value({"run", "x"}, "--layers", "0..2", "write --layers 0:3: a range leaves out its end");
  check_value({"run", "x"}, "--queries", "0-2", "write --queries 0:3: a range leaves out its end");
  check_value({"compare", "a", "b"}, "--atol", "2^-11", "write --atol 0.00048828125");
  check_value({"run", "x"}, "--generate", "not good",
              "give a number of tokens, or --continue \"not good\"");
  CHECK(refused_with(2, {"run", "x", "--attention", "eager"}) ==
        told_of("unknown kind of attention \"eager\"", "--attention",
                "leave it out: it changes no number"));
  check_flag("run", "--precision",
             "write --dtype TYPE, such as float64, to compute with; attn-cli explain --digits N "
             "shows more digits");
  check_flag("run", "--no-mask", "leave \"mask\" out of the document");
  check_flag("view", "--mode", "leave it out: one page has all layers and heads");
  check_flag("plot", "--model", "write attn-cli run --model M --text T --plots heatmap --out DIR");
  check_flag("circuits", "--model",
             "name the folder without a flag: attn-cli circuits FOLDER; what heads do with a text "
             "is attn-cli heads --model M --text T");
}
