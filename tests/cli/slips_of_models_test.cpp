#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string trained = std::string(ATTN_DATA) + "/speeches";

// What the program answers where it refuses the words, which follow a command and the trained model
// with a text.
std::string answer(const std::string& command, std::vector<std::string> words, int exit_code = 2) {
  words.insert(words.begin(), {command, "--model", trained, "--text", "The peace"});
  return refused_with(exit_code, words);
}

std::string told(const std::string& problem, const std::string& where, const std::string& help) {
  return "attn-cli: " + problem + "\n  where: " + where + "\n  help:  " + help + "\n";
}

}  // namespace

TEST_CASE("a flag of an analysis has no effect without it, even beside another analysis") {
  const auto without = [](const std::string& flag, const std::string& value) {
    return answer("heads", {"--analyses", "loss", flag, value});
  };
  const auto expected = [](const std::string& flag, const std::string& need) {
    return told(flag + " has no effect without " + need, flag, "add " + need + ", or leave it out");
  };
  for (const std::string flag : {"--residual", "--discarded"})
    CHECK(without(flag, "0.5") == expected(flag, "--analyses rollout"));
  CHECK(without("--fusion", "max") == expected("--fusion", "--analyses rollout"));
  CHECK(without("--lens-tokens", "3") == expected("--lens-tokens", "--analyses lens"));
  CHECK(without("--induction-length", "9") ==
        expected("--induction-length", "--analyses induction"));
  CHECK(attn_cli({"heads", "--model", trained, "--text", "The peace", "--analyses", "loss,rollout",
                  "--residual", "0.3", "--quiet"})
            .exit_code == 0);
}

TEST_CASE("a prompt without a text is told what it goes with") {
  CHECK(refused_with(3, {"run", "-"}, ".",
                     R"({"model":")" + trained + R"(","prompt":"The peace"})") ==
        told("\"prompt\" goes with \"text\", which is missing", "standard input, /prompt",
             "write \"text\" instead of it"));
}

TEST_CASE("the induction test is refused where a model reads pictures") {
  const std::string shapes = std::string(ATTN_DATA) + "/shapes";
  CHECK(refused_with(3, {"heads", "--model", shapes, "--image", shapes + "/blue_star.png",
                         "--analyses", "induction"}) ==
        told("the induction test repeats tokens of texts, and the model reads pictures",
             "--analyses", "leave the induction test out, or name a model of texts"));
}

TEST_CASE("heads says what its flags of patches and comparisons go with") {
  const std::string alone = "the choice of a logit has no effect on this report",
                    cure =
                        "add a lens, gradients, a text to patch from, or a corpus: --analyses, "
                        "--patch, --corpus; attn-cli run splits the logit of one text";
  CHECK(answer("heads", {"--logit-difference", " of, to"}) ==
        told(alone, "--logit-difference", cure));
  CHECK(answer("heads", {"--ablate", "mean"}) ==
        told("--ablate has no effect without --heads-off or --without-heads-of", "--ablate",
             "add --heads-off, or leave it out"));
  CHECK(answer("heads", {"--ablate", "2.0"}) ==
        told("invalid value \"2.0\" for --ablate", "--ablate", "write --heads-off 2.0"));
  CHECK(answer("heads", {"--sort", "entrpy", "--csv"}) ==
        told("invalid value \"entrpy\" for --sort", "--sort", "did you mean \"entropy\"?"));
  CHECK(answer("heads", {"--patch", "The war", "--paths", "0.0"}, 3) ==
        told("no head stands before the ends of the paths", "--paths",
             "give heads of later layers, or logits"));
  CHECK(answer("heads", {"--patch", "The war", "--sweep", "residual", "--by-position"}) ==
        told("parts of layers are patched position by position anyway", "--by-position",
             "leave it out"));
  CHECK(answer("heads", {"--sink-threshold", "2"}) ==
        told("invalid value \"2\" for --sink-threshold", "--sink-threshold",
             "give a share of a row's weight, from 0 to 1"));
  CHECK(answer("heads", {"--patch", "The war", "--at", "1.1", "--sweep", "all"}) ==
        told("--at names the part that is patched, so that none are tried in turn", "--sweep",
             "leave one of them out"));
  CHECK(answer("heads", {"--patch", "The war", "--paths", "--by-position"}) ==
        told("paths are patched at all positions together", "--by-position",
             "leave it out, or add the parts with --sweep"));
  CHECK(answer("heads", {"--patch", "The war of"}, 3) ==
        told("the texts have 5 and 6 tokens", "--patch", "give texts of one length"));
  CHECK(answer("heads", {"--against-logit", " of"}) == told(alone, "--against-logit", cure));
  CHECK(answer("heads", {"--against", trained, "--sort", "entropy"}) ==
        told("only statistics of the comparison are computed where two inputs are compared",
             "--sort", "leave it out, or read each of the two inputs"));
  CHECK(answer("view", {"--patch", "The war", "--logit-difference", " of, to"}) ==
        told("--logit-difference has no effect without --paths", "--logit-difference",
             "add --paths, or leave it out"));
  CHECK(answer("view", {"--patch", "The war", "--at", "2.0", "--paths"}) ==
        told("--at names the part that is patched, so that none are tried in turn", "--paths",
             "leave one of them out"));
  CHECK(answer("heads", {"--without-heads-of", "1.1"}) ==
        told("invalid value \"1.1\" for --without-heads-of", "--without-heads-of",
             "give layers, such as 0,1,2: each head of each takes a pass of the model"));
}

TEST_CASE("the name of a head as other programs write it gets the one that is meant") {
  const auto meant = [](const std::string& flag, const std::string& given,
                        const std::string& right) {
    return told("invalid value \"" + given + "\" for " + flag, flag, "write " + right);
  };
  for (const std::string given : {"L1H1", "l1.h1", "layer1_head1", "1/1"}) {
    CAPTURE(given);
    CHECK(answer("run", {"--heads-off", given}) == meant("--heads-off", given, "--heads-off 1.1"));
    CHECK(answer("run", {"--why", given}) == meant("--why", given, "--why 1.1"));
  }
  // Layers of a range, or a head with another sign between its numbers.
  CHECK(answer("run", {"--heads-off", "1-2"}) ==
        told("invalid value \"1-2\" for --heads-off", "--heads-off",
             "write 1.2 for a head, 1,2 for all heads of these layers"));
  CHECK(answer("run", {"--why", "1-1"}) == meant("--why", "1-1", "--why 1.1"));
  CHECK(refused_with(2, {"circuits", trained, "--tokens", "5", "--heads", "L1H1,2.0"}) ==
        meant("--heads", "L1H1,2.0", "--heads 1.1,2.0"));
  CHECK(answer("run", {"--patch", "The war", "--at", "L2H0"}) == meant("--at", "L2H0", "--at 2.0"));
  CHECK(answer("run", {"--head", "1.0"}) == meant("--head", "1.0", "--layers 1 --head 0"));
  CHECK(answer("run", {"--layers", "1.0"}) == meant("--layers", "1.0", "--layers 1 --head 0"));
  CHECK(answer("run", {"--why", "1.1", "--query", " peace"}) ==
        told("invalid value \" peace\" for --query", "--query",
             "give a position from 0, such as 7, or a token with it, such as '\" peace\" (7)'"));
  CHECK(answer("run", {"--why", "1.1", "--key", "it's"}) ==
        told("invalid value \"it's\" for --key", "--key",
             "give a position from 0, such as 7, or a token with it, such as '\"the\" (7)'"));
  CHECK(answer("run", {"--heads-off", "1,1"}) ==
        told("1 is switched off twice", "--heads-off",
             "leave one of them out; head 3 of layer 5 is 5.3"));
  CHECK(answer("run", {"--heads-off", "1.ffn"}) ==
        told("invalid value \"1.ffn\" for --heads-off", "--heads-off",
             "give a head such as 5.1 or encoder.5.1, a layer or 5.feed_forward"));
}

TEST_CASE("two numbers of --heads-off are told to be layers") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::vector<std::string>& off) {
    std::vector<std::string> words{"run", "--model", trained, "--text", "The", "--plots", "none"};
    words.insert(words.end(), off.begin(), off.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  CHECK(warnings({"--heads-off", "2,1"}) ==
        "attn-cli: warning: --heads-off 2,1 stands for all heads of the layers 2 and 1; head 1 of "
        "layer 2 is written 2.1\n");
  CHECK(warnings({"--heads-off", "2,1", "--quiet"}) == "");
  CHECK(warnings({"--heads-off", "2.1,1"}) == "");
  CHECK(warnings({"--heads-off", "2", "--heads-off", "1"}) == "");
  CHECK(warnings({"--heads-off", "0,1,2"}) == "");
}

TEST_CASE("a model in the place of the document is told to be given with --model") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "own");
  folder.write("own/model.safetensors", "");
  folder.write("m.gguf", "GGUF");
  folder.write("m.onnx", "");
  for (const std::string command : {"run", "explain", "heads", "view", "batch", "validate"}) {
    const auto check = [&](const std::string& word, const std::string& model) {
      CAPTURE(command + " " + word);
      CHECK(refused_with(2, {command, word, "--text", "hello"}, folder.path()) ==
            told("there is no document \"" + word + "\"", "attn-cli " + command,
                 "a model is given with --model " + model));
    };
    check("bert-base-uncased", "bert-base-uncased");
    check("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B");
    check("m.gguf", "m.gguf");
    check("m.onnx", ".");
    check("own/model.safetensors", "own");
    if (command != "batch" && command != "validate") check("own", "own");
  }
  CHECK(refused_with(4, {"run", "none.json", "--text", "hello"}, folder.path())
            .starts_with("attn-cli: cannot open \"none.json\""));
}

TEST_CASE("a layer's number alone is told to be its attention where it is patched") {
  const TemporaryFolder folder;
  for (const std::string place : {"2", "2.attention"}) {
    const Outcome outcome = attn_cli({"run", "--model", trained, "--text", "The peace", "--patch",
                                      "The war", "--at", place, "--plots", "none", "--out", "out"},
                                     folder.path());
    CHECK(outcome.output.find("\nChanged: 2.attention comes from another text.\n") !=
          std::string::npos);
  }
}

TEST_CASE("ranges and lists of heads, and tokens as vocabularies write them, get what is meant") {
  const auto wrong = [](const std::string& flag, const std::string& value,
                        const std::string& help) {
    CAPTURE(value);
    CHECK(answer("run", {flag, value}) ==
          told("invalid value \"" + value + "\" for " + flag, flag, help));
  };
  wrong("--heads-off", "1-3", "write 1.3 for a head, 1,2,3 for all heads of these layers");
  wrong("--heads-off", "1:3", "write 1.3 for a head, 1,2,3 for all heads of these layers");
  wrong("--heads-off", "1.0-2", "write --heads-off 1.0,1.1,1.2");
  wrong("--heads-off", "1.0:2", "write --heads-off 1.0,1.1,1.2");
  wrong("--layers", "mean",
        "layers are joined where existing maps are drawn: write attn-cli plot heatmap RESULT "
        "--layers mean");
  wrong("--parts", "first=The peace",
        "give names and characters such as system=0:120,question=120:180, or special");
  CHECK(answer("heads", {"--top", "-1"}) == told("invalid value \"-1\" for --top", "--top",
                                                 "give a whole number of at least 1, or all"));
  CHECK(answer("heads", {"--analyses", "attribution"}) ==
        told("invalid value \"attribution\" for --analyses", "--analyses",
             "write --attribution --patch TEXT"));
  CHECK(answer("heads", {"--statistics", "loss"}) ==
        told("invalid value \"loss\" for --statistics", "--statistics", "write --analyses loss"));
  CHECK(answer("heads", {"--format", "csv"}) ==
        told("--format has no effect without --plots", "--format", "write --csv"));
  CHECK(answer("explain", {"--heads", "2.0"}) ==
        told("invalid value \"2.0\" for --heads", "--heads", "write --layers 2 --head 0"));
  CHECK(answer("run", {"--architecture", "llama"}, 4) ==
        told("cannot open \"llama\": No such file or directory", "--architecture",
             "leave it out: known families are recognised; or write {\"like\": \"llama\"} into a "
             "file"));
  for (const std::string token : {"Ġworld", "▁world"}) {
    CAPTURE(token);
    const std::string refused = answer("run", {"--logit", token}, 3);
    CHECK(refused.substr(refused.find("  where: ")) ==
          "  where: --logit\n  help:  write \" world\"\n");
  }
  CHECK(answer("run", {"--logit-difference", "a"}).find("--against-logit TOKEN") !=
        std::string::npos);
}

TEST_CASE("tokens and texts that are left over get flags that take them") {
  CHECK(refused_with(2, {"circuits", trained, "--tokens", " world", " peace"}) ==
        told("--tokens takes one value: \" peace\" is left over", "attn-cli circuits",
             "write --tokens \" world, peace\""));
  CHECK(answer("heads", {"--patch", "The war", "--logit-difference", " world", " people"}) ==
        told("--logit-difference takes one value: \" people\" is left over", "attn-cli heads",
             "write --logit-difference \" world, people\""));
  CHECK(
      refused_with(3, {"circuits", std::string(ATTN_DATA) + "/shapes"}) ==
      told("circuits are those of models of texts", "attn-cli circuits", "name a model of texts"));
  CHECK(refused_with(2, {"run", "--model", trained, "--pair", "the cat", "a dog"}) ==
        told("--pair takes one value: \"a dog\" is left over", "attn-cli run",
             "write --text \"the cat\" --pair \"a dog\""));
  const TemporaryFolder folder;
  folder.write("a.png", "x");
  folder.write("b.png", "x");
  CHECK(refused_with(2, {"run", "--model", trained, "--image", "a.png,b.png"}, folder.path()) ==
        told("invalid value \"a.png,b.png\" for --image", "--image",
             "write --image a.png --image b.png"));
}

TEST_CASE("words in the place of their file, and a model beside the document's folder, are told") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  CHECK(refused_with(4, {"plot", "heatmap", "w.json", "--words", "The peace"}, folder.path()) ==
        told("cannot open \"The peace\": No such file or directory", "--words",
             "--words takes the name of a file"));
  std::filesystem::create_directories(folder / "models" / "m");
  std::filesystem::create_directory(folder / "sub");
  write_text(folder / "sub" / "doc.json", R"({"model": "models/m", "text": "The peace"})");
  CHECK(refused_with(4, {"run", "sub/doc.json"}, folder.path()) ==
        told("there is no folder and no model \"models/m\"", "sub/doc.json",
             "names in a document are relative to it: write ../models/m"));
}

TEST_CASE("tokens that a tokenizer got and the model did not are told apart from another one's") {
  const TemporaryFolder folder;
  std::filesystem::copy(trained, folder / "model");
  nlohmann::json tokenizer = nlohmann::json::parse(read_text(folder / "model" / "tokenizer.json"));
  nlohmann::json added = tokenizer["added_tokens"][0];
  added["id"] = 2048;
  added["content"] = "<|user|>";
  tokenizer["added_tokens"].push_back(added);
  write_text(folder / "model" / "tokenizer.json", tokenizer.dump());
  const std::string refused =
      refused_with(3, {"run", "--model", "model", "--text", "<|user|>The"}, folder.path());
  CHECK(
      refused.starts_with("attn-cli: the tokenizer of the folder gives \"<|user|>\" the id 2048, "
                          "and the model has 2048 tokens\n"));
  CHECK(refused.ends_with(
      "  help:  tokens were added to the tokenizer and not to the model: take its files from where "
      "the weights are from, or resize the model's embeddings\n"));
}

TEST_CASE("lists in brackets get the spelling that is meant") {
  CHECK(answer("run", {"--layers", "[0,2]"}) ==
        told("invalid value \"[0,2]\" for --layers", "--layers", "write --layers 0,2"));
  CHECK(answer("explain", {"--sample", "all"}) == told("invalid value \"all\" for --sample",
                                                       "--sample",
                                                       "give a whole number of at least 0"));
}

TEST_CASE("what circuits draws or lists has flags that need it") {
  for (const std::vector<std::string>& flag :
       {std::vector<std::string>{"--cmap", "viridis"}, {"--dpi", "100"}, {"--figsize", "4x3"}}) {
    CHECK(
        refused_with(2, {"circuits", trained, flag[0], flag[1]}) ==
        told(flag[0] + " has no effect without --plots", flag[0], "add --plots, or leave it out"));
  }
  CHECK(
      refused_with(2, {"circuits", trained, "--listed", "3"}) ==
      told("--listed has no effect without --tokens", "--listed", "add --tokens, or leave it out"));
  CHECK(refused_with(2, {"circuits", "--model", trained}) ==
        told("unknown flag \"--model\"", "attn-cli circuits",
             "name the folder without a flag: attn-cli circuits FOLDER; what heads do with a text "
             "is attn-cli heads --model M --text T"));
}

TEST_CASE("an error of what a flag names is at the flag, and its cure names flags, not keys") {
  CHECK(answer("run", {"--adapter", "nothere"}, 4) ==
        told("there is no adapter_config.json in the folder \"nothere\"", "--adapter",
             "name the folder of a LoRA adapter"));
  CHECK(answer("run", {"--architecture", "nothere.json"}, 4) ==
        told("cannot open \"nothere.json\": No such file or directory", "--architecture",
             "check the name, and the folder it is looked for in"));
  CHECK(answer("run", {"--parts", "special"}, 3) ==
        told("there is no answer whose attention the parts could share", "--parts",
             "add --generate or --continue, or leave it out"));
  CHECK(refused_with(3, {"run", "--model", trained, "--sound", "a.wav"}) ==
        told("models of the type llama hear no sound", "--sound",
             "leave --sound out, or name a model of sound"));
  CHECK(attn_cli({"run", "--model", trained, "--text", "The peace", "--patch", "The peace", "--at",
                  "1.1", "--plots", "none", "--out", "-"})
            .errors ==
        "attn-cli: warning: the text that parts are taken from is the text itself: nothing "
        "changes\n");
}

TEST_CASE("sounds, figures and stories that are something else are called what they are") {
  const TemporaryFolder folder;
  folder.write("a.wav", std::string("RIFF\x24\0\0\0WAVEfmt ", 16));
  folder.write("lines.txt", "The peace of the world\n");
  CHECK(refused_with(3, {"run", "a.wav"}, folder.path()) ==
        told("this is a sound, not an input document", "a.wav",
             "name a model that hears sounds, and give this file with --sound"));
  CHECK(refused_with(3, {"show", "a.wav"}, folder.path())
            .starts_with("attn-cli: this is not a tensor file; it looks like a sound\n"));
  CHECK(refused_with(3, {"plot", "figure", "lines.txt", "--out", "f.png"}, folder.path()) ==
        told("a figure is drawn of a file that names its panels", "lines.txt",
             R"(write one: {"rows": [[{"plot": "heatmap", "file": "lines.txt"}]]})"));
  std::filesystem::create_directory(folder / "result");
  CHECK(refused_with(3, {"plot", "figure", "result", "--out", "f.png"}, folder.path()) ==
        told("a figure is drawn of a file that names its panels", "result",
             R"(write one: {"rows": [[{"plot": "heatmap", "file": "result"}]]})"));
  const std::string configuration = trained + "/config.json";
  CHECK(attn_cli({"validate", configuration}).output ==
        configuration +
            ": 1 problem\n\n  this is the configuration of a model, not an input document\n    "
            "where: " +
            configuration + "\n    help:  give its folder with --model, and a text with --text\n");
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  CHECK(refused_with(3, {"view", "w.json", "--story", "lines.txt"}, folder.path()) ==
        told("this is not a story of a page", "--story", "give a file that was saved by a page"));
  CHECK(refused_with(4, {"plot", "card", "w.json", "--corpus", "result", "--out", "f.png"},
                     folder.path()) == told("there are no statistics of a corpus in \"result\"",
                                            "--corpus",
                                            "give the folder that attn-cli heads --corpus wrote"));
}

TEST_CASE("flags of seaborn, of short names and of other tools get what is meant") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  const auto help = [&](const std::string& command, const std::string& flag) {
    const std::string errors =
        command == "plot" ? attn_cli({"plot", "heatmap", "w.json", flag}, folder.path()).errors
                          : attn_cli({command, "w.json", flag}, folder.path()).errors;
    return errors.substr(errors.find("  help:  ") + 9);
  };
  CHECK(help("plot", "--fmt") == "did you mean \"--annotate-format\"?\n");
  CHECK(help("plot", "--xticklabels") == "did you mean \"--labels\"?\n");
  CHECK(help("plot", "--cbar") == "did you mean \"--colorbar\"?\n");
  CHECK(help("plot", "--merge-words") == "did you mean \"--merge-pieces\"?\n");
  CHECK(help("view", "--open") == "view writes a page: open it with a browser\n");
  CHECK(help("run", "--overwrite") == "leave it out: files of an earlier result are replaced\n");
  CHECK(help("run", "-m") == "write --model DIR\n");
  CHECK(help("run", "--fill") == "write \"mask\": {\"fill\": -1e9} into the document\n");
  CHECK(help("view", "--theme") ==
        "--background white or dark is for pictures; a page follows the browser\n");
  CHECK(help("view", "--format") ==
        "leave it out: a page is one file of HTML; attn-cli plot draws pictures\n");
  CHECK(help("view", "--key") ==
        "did you mean \"--keys\"? --key belongs to attn-cli run, batch, explain\n");
  // One edit of two letters makes another word, not a slip of the pen.
  CHECK(attn_cli({"plot", "curves", "w.json", "--log-axes", "xy"}, folder.path()).errors ==
        told("invalid value \"xy\" for --log-axes", "--log-axes", "known: x, y, both"));
}

TEST_CASE("a file that is missing in the folder of another flag is that of its own flag") {
  CHECK(answer("view", {"--corpus", trained + "/none.txt", "--out", "page.html"}, 4) ==
        told("cannot open \"" + trained + "/none.txt\": No such file or directory", "--corpus",
             "check the name, and the folder it is looked for in"));
}

TEST_CASE("numbers and truths in quotes are told to be written without") {
  const TemporaryFolder folder;
  const auto help = [&](const std::string& member) {
    const std::string errors =
        attn_cli({"run", "-"}, folder.path(),
                 R"({"attention":"sdpa","query":[[1,0],[0,1]],)" + member + "}")
            .errors;
    return errors.substr(errors.find("  where: "));
  };
  const auto at = [](const std::string& place, const std::string& cure) {
    return "  where: standard input, " + place + "\n  help:  " + cure + "\n";
  };
  CHECK(help(R"("heads":"2")") == at("/heads", "write it without quotes: 2"));
  CHECK(help(R"("mask":{"causal":"true"})") == at("/mask/causal", "write it without quotes: true"));
  CHECK(help(R"("scale":"1/2")") ==
        at("/scale", "give a number such as 0.125: JSON has no formulas"));
}

TEST_CASE("what needs one stream of states is refused of a model with several") {
  const std::string model =
      (std::filesystem::path(ATTN_TEST_DATA) / "models/cases/gemma3n_streams/checkpoint").string();
  const auto refused = [&](const std::string& command, std::vector<std::string> words) {
    words.insert(words.begin(), {command, "--model", model, "--ids", "7,12,8,13"});
    return refused_with(3, words);
  };
  const std::string another = "name another model";
  CHECK(
      refused("run", {"--logit", "3"}) ==
      told("models are not split into parts whose states are several streams", "--logit", another));
  CHECK(
      refused("explain", {"--query", "1"}) ==
      told("models are not walked through whose states are several streams", "--layers", another));
  CHECK(refused("heads", {"--analyses", "gradients"}) ==
        told("there are no gradients through streams of states", "--analyses",
             "leave gradients out"));
  CHECK(refused("heads", {"--analyses", "norms"}) ==
        told("the norms of terms are not computed where the states are several streams",
             "--analyses", "leave norms out"));
  CHECK(refused("heads", {"--analyses", "lens", "--logit", "3"}) ==
        told("no token is followed where the states are several streams", "--logit",
             "leave it out: the lens lists the likeliest tokens"));
  CHECK(refused("view", {"--effects", "--out", "page.html"}) ==
        told("parts are not patched where the states are several streams", "--model",
             "switch heads off, or name another model"));
  CHECK(refused_with(3, {"circuits", model}) ==
        told("circuits are those of heads that write into one stream of states",
             "attn-cli circuits", "name another model"));
}
