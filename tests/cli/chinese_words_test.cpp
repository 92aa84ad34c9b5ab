#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

// Names of commands, values of flags, kinds, statistics, tensors, types, units, people and
// libraries, and tokens of the model.
const char* const names = R"(
Abnar Kobayashi Kubernetes La Lb Lens Lk LoRA Logit Lq Markdown NumPy Schema Slurm Softmax Vaswani WxH YlOrRd Zuidema
additive alibi all allow allowed always animation answer arcs attention auto autocast bars bash both comparison contributions steps batch bench bias block blocks bwr capped card causal circuits column compare
completion confidence contacts cos csv curves dark de difference dimensions distance distances duplicate embedding en entropy eps
GB MB kB example exp explain figure fill first fish gradient gradients fused gray grid head heads heatmap il index induction json jsonl key kitty
labels layer lens linear lines list llama log logit logits loss lse manual mask masked matplotlib max mean memory
ment min model nat nature neurips never next none norms nostalgebraist npy npz off on out outlines output overlay padding page panel part parts path pdf
plot png position positions poster previous query rollout rotary run safetensors scale schema scores self sentence separators
shapes share shared shares shell show silu sin sink sinks sixel slide softmax stages standard strip svg text the token transparent
validate value view weights white window zero zh zsh
)";

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// Text without what stands in quotes: names, labels, values of a document.
std::string without_quotes(const std::string& text) {
  std::string rest;
  bool quoted = false;
  for (const char byte : text) {
    if (byte == '"' || byte == '\n') quoted = byte == '"' && !quoted;
    if (!quoted) rest += byte;
  }
  return rest;
}

// Words of two letters or more, one of them small, that are not a part of a name such as d_k,
// --plots, result.json or [B,H].
std::set<std::string> english_words(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    while (!word.empty() && std::string(".,:;()|").find(word.back()) != std::string::npos)
      word.pop_back();
    while (!word.empty() && std::string("(|").find(word.front()) != std::string::npos)
      word.erase(0, 1);
    const bool letters = std::all_of(word.begin(), word.end(), is_letter);
    const bool small = std::any_of(word.begin(), word.end(), [](char byte) { return byte >= 'a'; });
    if (letters && small && word.size() > 1) words.insert(word);
    word.clear();
  };
  for (const char byte : without_quotes(text)) {
    if (static_cast<unsigned char>(byte) <= ' ' || static_cast<unsigned char>(byte) >= 0x80) {
      finish();
    } else {
      word += byte;
    }
  }
  finish();
  return words;
}

// Texts of an SVG file that was drawn with letters as text.
std::string svg_texts(const std::string& svg) {
  std::string texts;
  for (std::size_t end, at = svg.find('>'); at != svg.npos; at = svg.find('>', at + 1)) {
    end = svg.find('<', at);
    if (end == svg.npos) break;
    texts += svg.substr(at + 1, end - at - 1) + "\n";
  }
  return texts;
}

void check_chinese(const std::string& text) {
  static const std::set<std::string> known = [] {
    std::istringstream list(names);
    std::set<std::string> words;
    for (std::string word; list >> word;) words.insert(word);
    return words;
  }();
  for (const std::string& word : english_words(text)) {
    CAPTURE(word);
    CHECK(known.contains(word));
  }
}

std::string spoken(std::vector<std::string> command, const TemporaryFolder& folder,
                   const std::string& input = "") {
  command.insert(command.end(), {"--lang", "zh"});
  const Outcome outcome = attn_cli(command, folder.path(), input);
  return outcome.output + outcome.errors;
}

}  // namespace

TEST_CASE("reports, explanations, pictures and errors in Chinese hold no English words but names") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":{"randn":[1,2,3,4]},
    "key":{"randn":[1,2,3,4]},"value":{"randn":[1,2,3,4]},"seed":1,"valid_lens":[2],
    "mask":{"causal":true,"window":{"left":1,"right":0},"global":[0],"fill":-1e9}})");
  folder.write("l.json", R"({"attention":"decoder_layer","x":{"randn":[1,3,8]},
    "memory":{"randn":[1,2,8]},"heads":2,"feed_forward":8,"parameters":{"init":"torch"},"seed":1})");
  folder.write("p.json", R"({"attention":"sdpa","query":{"randn":[25,4]},"seed":1,
    "key":{"randn":[25,4]},"value":{"randn":[25,4]},"pool":{"size":10}})");
  std::string said;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", "d.json", "--out", "d", "--plots", "all", "--format", "svg", "--show"},
           {"run", "l.json", "--out", "l", "--plots", "stages,mask,lines", "--format", "svg"},
           {"run", "p.json", "--out", "p", "--plots", "heatmap", "--format", "svg"},
           {"explain", "d.json"},
           {"explain", "l.json"},
           {"validate", "d.json"},
           {"compare", "d/result.json", "l/result.json"},
           {"plot", "difference", "d/result.json", "d/result.json", "--out", "d/difference.svg"},
           {"show", "d/result.json"},
           {"heads", "d/result.json"},
           {"view", "d.json"},
           {"batch", "d.json", "none.json", "--out", "b"},
           {"run", "none.json"},
           {"run", "--frob"},
           {"run", "d.json", "--dpi", "x"}}) {
    said += spoken(command, folder);
  }
  said += spoken({"run", "-"}, folder, "{");
  said += spoken({"run", "-"}, folder, R"({"attention":"sdp","querry":[[1]]})");
  for (const std::filesystem::path picture :
       {"d/heatmap.svg", "d/mask.svg", "d/lines.svg", "d/grid.svg", "d/dimensions.svg",
        "d/strip.svg", "d/difference.svg", "l/stages.svg", "p/heatmap.svg"}) {
    CAPTURE(picture);
    REQUIRE(std::filesystem::exists(folder.path() / picture));
    said += svg_texts(read_text(folder.path() / picture));
  }
  check_chinese(said);
}

TEST_CASE("what is said of a model in Chinese holds no English words but names") {
  const TemporaryFolder folder;
  const std::string model = std::string(ATTN_DATA) + "/speeches";
  check_chinese(
      spoken({"model", model}, folder) +
      spoken({"run", "--model", model, "--text", "a b", "--plots", "none"}, folder) +
      spoken({"explain", "--model", model, "--text", "a b", "--analyses", "rollout,norms,lens"},
             folder) +
      spoken({"heads", "--model", model, "--text", "a b", "--analyses", "norms,distances,lens",
              "--without-heads-of", "0"},
             folder));
}

TEST_CASE("help pages in Chinese hold no English words but names") {
  const TemporaryFolder folder;
  std::string said = spoken({"--help"}, folder);
  for (const char* command : {"run", "batch", "explain", "compare", "plot", "show", "view", "heads",
                              "validate", "list", "model", "example", "bench", "schema"}) {
    said += spoken({command, "--help"}, folder);
  }
  // Examples are commands, and "tokens" is the name of one.
  check_chinese(std::regex_replace(said, std::regex("\n  (attn-cli |tokens )[^\n]*"), ""));
}
