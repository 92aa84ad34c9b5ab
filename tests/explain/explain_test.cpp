#include "attn/explain.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"
#include "attn/run.hpp"

#include "chinese.hpp"
#include "error_from.hpp"
#include "support/utf8.hpp"
#include "temporary_folder.hpp"

namespace {

using attn::ExplainOptions;

// Every document that is there to be run, of all kinds, masks and options.
std::vector<std::filesystem::path> documents() {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path tests = ATTN_TEST_DATA;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(ATTN_DATA), tests / "explain" / "explanations"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(tests / "run" / "golden")) {
    if (std::filesystem::exists(entry.path() / "input.json"))
      paths.push_back(entry.path() / "input.json");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// A document of each family of models.
std::vector<std::filesystem::path> model_documents() {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path cases = std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    // Streams of states are not walked through.
    if (entry.path().filename() == "gemma3n_streams") continue;
    paths.push_back(entry.path() / "input.json");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string explained(const std::filesystem::path& document, const ExplainOptions& choice = {}) {
  ExplainOptions options = choice;
  options.document.input = document;
  return attn::explain(options).text;
}

std::string error_of(const std::filesystem::path& document, const ExplainOptions& choice) {
  return error_from([&] { explained(document, choice); });
}

// The last query of the last sample and head: where offsets, heads and lengths tell most.
ExplainOptions last_choice(const attn::Tensor& weights, bool heads_only) {
  const attn::Shape& shape = weights.shape();
  ExplainOptions options;
  options.query = shape[shape.size() - 2] - 1;
  if (shape.size() == 4 || heads_only) options.head = shape[shape.size() - 3] - 1;
  if (shape.size() >= 3 && !heads_only) options.sample = shape[0] - 1;
  return options;
}

std::vector<std::vector<std::string>> rows_of(const std::string& markdown) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) {
      rows.emplace_back();
      continue;
    }
    rows.emplace_back();
    for (std::size_t at = 2; at < line.size();) {
      const std::size_t end = line.find(" |", at);
      rows.back().push_back(line.substr(at, end - at));
      at = end + 3;
    }
  }
  return rows;
}

// Whether the text is the number to the digits it shows.
bool shows(const std::string& text, double number) {
  const double shown = std::stod(text);
  if (std::isnan(number) || std::isinf(number)) return text == (std::isnan(number) ? "nan" : text);
  if (text.find('e') != std::string::npos)
    return std::abs(shown - number) <= 0.006 * std::abs(number);
  // Half a unit of the fourth decimal, and what float32 is off.
  return std::abs(shown - number) <= 0.5e-4 + 1e-5 + 1e-5 * std::abs(number);
}

// "1·(-2)", "0.5²" or "3", as they are shown.
double value_of(std::string term) {
  const bool square = term.ends_with("²");
  if (square) term.resize(term.size() - std::string("²").size());
  const auto number = [](std::string text) {
    if (text.starts_with('(')) text = text.substr(1, text.size() - 2);
    return std::stod(text);
  };
  if (square) return number(term) * number(term);
  const std::size_t dot = term.find("·");
  if (dot == std::string::npos) return number(term);
  return number(term.substr(0, dot)) * number(term.substr(dot + std::string("·").size()));
}

struct Added {
  double sum = 0, size = 0;  ///< of the terms, and of their absolute values
  std::size_t count = 0;
};

Added added(const std::string& terms) {
  Added result;
  std::istringstream words(terms);
  double sign = 1;
  for (std::string word; words >> word;) {
    if (word == "+" || word == "-") {
      sign = word == "+" ? 1 : -1;
      continue;
    }
    if (word.starts_with('-')) {
      sign = -1;
      word.erase(0, 1);
    }
    const double value = sign * value_of(word);
    result.sum += value;
    result.size += std::abs(value);
    ++result.count;
    sign = 1;
  }
  return result;
}

}  // namespace

TEST_CASE("no line of an explanation takes more than 80 columns") {
  std::size_t count = 0;
  std::vector<std::filesystem::path> all = documents();
  for (const auto& document : model_documents()) all.push_back(document);
  for (const auto& document : all) {
    CAPTURE(document);
    for (const std::string& line_of : {explained(document)}) {
      std::istringstream lines(line_of);
      // The document's own name may be of any length; it is wrapped like all text.
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        REQUIRE(attn::display_width(line) <= 80);
        REQUIRE_FALSE(line.ends_with(' '));
        ++count;
      }
    }
  }
  CHECK(count > 3000);
}

TEST_CASE("the weights and outputs shown are those that run computes") {
  std::size_t weights_seen = 0, outputs_seen = 0;
  for (const auto& document : documents()) {
    CAPTURE(document);
    const TemporaryFolder out;
    attn::RunOptions run;
    run.document.input = document;
    run.out = out.path();
    run.plots = {};
    const attn::RunReport report = attn::run(run).reports[0];
    const attn::TensorFile result = attn::TensorFile::open(out / "result.json");
    const std::string name = report.weights[0].name;
    const attn::Tensor weights = result.read(name).converted(attn::DType::float64);
    // The rank alone does not tell samples from heads.
    const bool heads_only =
        weights.rank() == 3 && !report.shapes.empty() && report.shapes[0].second.size() == 2;

    ExplainOptions choice = last_choice(weights, heads_only);
    choice.format = attn::ExplanationFormat::markdown;
    const auto rows = rows_of(explained(document, choice));
    // 1. The weights, in the table after the exponentials.
    std::size_t keys = weights.shape().back();
    const auto row = weights.values<double>().subspan(weights.size() - keys, keys);
    const auto header = std::find_if(rows.begin(), rows.end(), [](const auto& cells) {
      return !cells.empty() && cells[0] == "key" && cells.back() == "weight";
    });
    REQUIRE(header != rows.end());
    for (auto line = header + 2; line != rows.end() && line->size() == header->size(); ++line) {
      if ((*line)[0] == "sum" || (*line)[0].find("more") != std::string::npos) break;
      std::string label = (*line)[0];
      label.erase(0, label.find_last_of("( ") + 1);  // "the" (3), or key 3
      REQUIRE(shows(line->back(), row[std::stoul(label)]));
      ++weights_seen;
    }
    // 2. The output: the last vector before the costs is its row; of layers, that of all layers or
    // the last norm or sum.
    const std::vector<std::string>& names = result.names();
    if (std::find(names.begin(), names.end(), "output") == names.end()) continue;
    if (name.find("layers.") != std::string::npos) continue;
    const attn::Tensor output = result.read("output").converted(attn::DType::float64);
    std::vector<std::string> last;
    for (const auto& cells : rows) {
      if (cells.size() > 1 &&
          (cells[0] == "out" || cells[0] == "y" || cells[0] == "sum" || cells[0] == "output") &&
          cells[1].find("·") == std::string::npos && !cells.back().empty() && cells[1] != "")
        last = cells;
    }
    REQUIRE_FALSE(last.empty());
    const bool per_head = last[0] == "out";
    std::size_t width = output.shape().back();
    const bool split = per_head && weights.rank() >= 3 && choice.head > 0 && output.rank() < 4;
    if (split) width /= choice.head + 1;
    CHECK(shows(last.back(), output.values<double>().back()));
    CHECK(shows(last[1], output.values<double>()[output.size() - width]));
    ++outputs_seen;
  }
  CHECK(weights_seen > 200);
  CHECK(outputs_seen > 35);
}

// The number of sums whose terms are all shown, each of which was checked.
std::size_t checked_sums(const std::filesystem::path& document, ExplainOptions choice) {
  std::size_t count = 0;
  CAPTURE(document);
  choice.format = attn::ExplanationFormat::markdown;
  const std::string text = explained(document, choice);
  // Sums in a 16-bit type are rounded to it, by half a unit in their last place.
  const double unit = text.find(", bfloat16") != text.npos  ? 0x1p-9
                      : text.find(", float16") != text.npos ? 0x1p-12
                                                            : 0;
  const std::string about = "≈ ";  // where the shown digits add up to others
  for (const auto& row : rows_of(text)) {
    if (row.size() != 3 || row[1] == "terms" || row[1].find("…") != std::string::npos) continue;
    if (row[1].find("·") == std::string::npos && row[1].find("²") == std::string::npos) continue;
    if (row[1].find("nan") != std::string::npos || row[1].find("inf") != std::string::npos)
      continue;
    CAPTURE(row[1]);
    const Added terms = added(row[1]);
    // Each factor is rounded by half a unit of its fourth decimal.
    const double rounding = 0.5e-4 * static_cast<double>(1 + 8 * terms.count) + 1e-3 * terms.size;
    CHECK(std::abs(terms.sum -
                   std::stod(row[2].substr(row[2].starts_with(about) ? about.size() : 0))) <=
          rounding + unit * std::abs(terms.sum));
    ++count;
  }
  return count;
}

TEST_CASE("the terms that are shown add up to the sums that are shown") {
  std::size_t count = 0;
  for (const auto& document : documents()) count += checked_sums(document, {});
  CHECK(count > 300);
}

TEST_CASE("norms, projections and feed-forward of every family of models add up") {
  ExplainOptions choice;
  choice.full = true;
  choice.head = 1;
  choice.query = 2;
  for (const auto& document : model_documents()) {
    CAPTURE(document);
    // Of a layer that is an attention alone 34 sums are shown, of one with a feed-forward more.
    const bool alone = document.parent_path().filename() == "nemotron_h_single_parts";
    CHECK(checked_sums(document, choice) > (alone ? 30 : 36));
    const std::string text = explained(document, choice);
    if (alone) continue;
    for (const char* title : {"The query is projected", "The output projection",
                              "The residual is added", "feed-forward\n"}) {
      CAPTURE(title);
      CHECK(text.find(title) != std::string::npos);
    }
  }
}

TEST_CASE("what a mixer of tokens writes beside an attention is added to its output") {
  const std::filesystem::path cases = std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";
  const std::string text = explained(cases / "falcon_h1_beside" / "input.json");
  const std::size_t at = text.find("The other mixer of tokens");
  CHECK(at != std::string::npos);
  CHECK(text.find("The output projection") < at);
  CHECK(text.find("The residual is added") > at);
}

TEST_CASE("a model's numbers are those of a run in float32, to its last digits") {
  const std::filesystem::path document =
      std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases" / "llama_grouped" / "input.json";
  const TemporaryFolder out;
  attn::RunOptions run;
  run.document.input = document;
  run.document.dtype = attn::DType::float32;
  run.stages = true;
  run.out = out.path();
  run.plots = {};
  attn::run(run);
  const attn::TensorFile result = attn::TensorFile::open(out / "result.json");
  const attn::Tensor scores = result.read("layers.1.self.masked"),
                     weights = result.read("layers.1.self.weights");
  ExplainOptions choice;
  choice.document.dtype = attn::DType::float32;
  choice.layer = 1;
  choice.query = 2;
  choice.digits = 12;
  choice.format = attn::ExplanationFormat::markdown;
  const std::string text = explained(document, choice);
  CHECK(text.find("rounded to 12 decimals, but computed in float32, as in a run.") != text.npos);
  const auto rows = rows_of(text);
  const auto header = std::find_if(rows.begin(), rows.end(), [](const auto& cells) {
    return !cells.empty() && cells[0] == "key" && cells.back() == "weight";
  });
  REQUIRE(header != rows.end());
  for (std::size_t key = 0; key < 3; ++key) {
    const std::vector<std::string>& cells = header[static_cast<std::ptrdiff_t>(key) + 2];
    const std::size_t at = 2 * weights.shape().back() + key;
    CHECK(std::abs(std::stod(cells[1]) - scores.values<float>()[at]) <= 0.5e-12);
    CHECK(std::abs(std::stod(cells.back()) - weights.values<float>()[at]) <= 0.5e-12);
  }
}

TEST_CASE("numbers that leave the type of a run leave it in its explanation") {
  const TemporaryFolder folder;
  const auto text_of = [&](const std::string& document) {
    return explained(folder.write("d.json", document));
  };
  // 300 · 300 is beyond float16, whose rounding makes it infinite.
  const std::string half = text_of(R"({"attention":"dot_product","dtype":"float16",
    "query":[[300,0]],"key":[[300,0],[0,1]],"value":[[1],[2]]})");
  CHECK(half.find("   Inputs, scores, weights and output are rounded to float16, as in a run.") ==
        half.npos);  // the introduction has no margin
  CHECK(half.find("Inputs, scores, weights and output are rounded to float16, as in a run.\n") !=
        half.npos);
  CHECK(half.find("   key 0  300·300 + 0·0 = inf\n") != half.npos);
  CHECK(half.find("   key 0    inf        nan             nan     nan\n") != half.npos);
  // float32 has no such score, but its softmax is computed in double precision.
  const std::string single = text_of(R"({"attention":"dot_product","query":[[1e30,0]],
    "key":[[1e20,0],[0,1]],"value":[[1],[2]]})");
  CHECK(single.find("The score of key 0 is 1e50, larger than float32 holds: results have inf in") !=
        single.npos);
  CHECK(single.find("   key 0    inf          0               1       1\n") != single.npos);
}

TEST_CASE(
    "an explanation shows the first NaN or infinity in the step that the warning of a run names") {
  const auto sdpa = [](const std::string& key, const std::string& more) {
    return R"({"attention":"sdpa","query":[[1,0],[0,1]],"value":[[1,2],[3,4],[5,6]],"key":)" + key +
           more + "}";
  };
  const TemporaryFolder folder;
  for (const auto& [document, step] : std::vector<std::pair<std::string, std::string>>{
           {sdpa("[[1e30,0],[0,1],[1,1]]", R"(,"scale":1e20)"), "Scale"},
           {sdpa("[[60000,0],[0,1],[1,1]]", R"(,"dtype":"float16","scale":300)"), "Scale"},
           {sdpa("[[1,0],[0,1],[1,1]]", R"(,"dtype":"float64","weight":"p * 1e300 * 1e300")"),
            "The weight by expression"},
           {sdpa("[[60000,0],[60000,1],[1,1]]", R"(,"dtype":"float16")"), ""}}) {
    attn::RunOptions run;
    run.document.input = folder.write("d.json", document);
    INFO(read_text(run.document.input));
    run.out = folder / "out";
    run.stages = true;
    run.plots = {};
    const std::vector<std::string> warnings = attn::run(run).reports[0].warnings;
    CHECK(warnings.size() == (step.empty() ? 0 : 1));
    if (!warnings.empty()) {
      CHECK(warnings[0].find("such a number is \"" + step + "\"") != std::string::npos);
    }
    std::istringstream lines(explained(folder / "d.json"));
    std::string title, first;
    for (std::string line; first.empty() && std::getline(lines, line);) {
      if (line.size() > 3 && std::isdigit(static_cast<unsigned char>(line[0])) != 0) {
        title = line.substr(line.find(' ') + 1);
      }
      const bool shown = line.find("nan") != line.npos || line.find("inf") != line.npos;
      if (shown && !title.empty()) first = title;
    }
    CHECK(first == step);
  }
}

TEST_CASE("of several kinds each is explained") {
  const std::filesystem::path document = std::filesystem::path(ATTN_DATA) / "causal.json";
  ExplainOptions choice;
  choice.document.attention = {attn::Kind::dot_product, attn::Kind::scaled_dot_product};
  const std::string text = explained(document, choice);
  CHECK(text.starts_with("dot_product attention, step by step\n"));
  CHECK(text.find("\n\nscaled_dot_product attention, step by step\n") != std::string::npos);
}

TEST_CASE("the chosen layer is walked through, the others are a line each") {
  const std::filesystem::path document =
      std::filesystem::path(ATTN_TEST_DATA) / "explain" / "explanations" / "layers.json";
  ExplainOptions choice;
  choice.layer = 1;
  const std::string text = explained(document, choice);
  CHECK(text.find("Layer 1: self-attention\n-----") != std::string::npos);
  CHECK(text.find("Layer 0: ") == std::string::npos);
  CHECK(text.find("   after layer 0 ") != std::string::npos);
}

TEST_CASE("hidden keys are left out in words where NaN or infinity enter a row") {
  const TemporaryFolder folder;
  const auto document = folder.write(
      "d.json", R"({"attention":"sdpa","query":[["nan",1],["inf",0]],"key":[[1,2],[3,4],[-1,5]],
                    "mask":{"block":[0,0,1]}})");
  CHECK(explained(document).find(
            "   The score of key 0 is not a number (nan). It enters the sum, so the sum and\n"
            "   every weight that is not hidden are nan too.\n") != std::string::npos);
  ExplainOptions second;
  second.query = 1;
  CHECK(explained(document, second)
            .find("   The score of key 0 is infinite: inf - inf is not a number, so the sum and\n"
                  "   every weight that is not hidden are nan.\n") != std::string::npos);
}

TEST_CASE("of many keys the first, the last and those that weigh most are shown") {
  const TemporaryFolder folder;
  std::string scores = "0";
  for (int j = 1; j < 40; ++j) scores += j == 20 || j == 22 ? ",5" : ",0";
  const std::string text =
      explained(folder.write("d.json", R"({"attention":"softmax","scores":[[)" + scores + "]]}"));
  CHECK(text.find("   key  7      0\n"
                  "   … 12 more keys …\n"
                  "   key 20      5\n"
                  "   … 1 more key …\n"
                  "   key 22      5\n"
                  "   … 13 more keys …\n"
                  "   key 36      0\n") != std::string::npos);
}

TEST_CASE("a finite fill is explained where no key can be seen") {
  const std::filesystem::path document = std::filesystem::path(ATTN_TEST_DATA) / "run" / "golden" /
                                         "fully_masked_row_finite_fill" / "input.json";
  const std::string text = explained(document);
  CHECK(text.find("   No key can be seen, but the fill is a finite number: all the keys that hold\n"
                  "   it weigh the same.\n") != std::string::npos);
  CHECK(text.find("   key 1   -1e6          0               1  0.3333\n") != std::string::npos);
}

TEST_CASE("a softcap behind the biases is explained behind them") {
  const TemporaryFolder folder;
  ExplainOptions second;
  second.query = 1;
  const std::string text = explained(
      folder.write("d.json", R"({"attention":"sdpa","query":[[0],[1]],"key":[[1],[2]],"softcap":1,
      "softcap_after":"bias","mask":{"alibi":[0.5],"bias":[[1,-1]],"causal":true}})"),
      second);
  const std::size_t distances = text.find(
                        "   key    distance  score  ALiBi  biased\n"
                        "   key 0        -1      1   -0.5     0.5\n"
                        "   key 1         0      2      0     2.0\n"),
                    softcap = text.find(
                        "     capped = 1·tanh((score + bias) / 1)\n\n"
                        "   key    score  bias  capped\n"
                        "   key 0    0.5     1  0.9051\n"
                        "   key 1    2.0    -1  0.7616\n"),
                    mask = text.find(
                        "   key     score  masked  hidden by\n"
                        "   key 0  0.9051  0.9051  -\n"
                        "   key 1  0.7616  0.7616  -\n");
  CAPTURE(text);
  REQUIRE(softcap != std::string::npos);
  CHECK(distances < softcap);
  CHECK(softcap < mask);
  CHECK(mask != std::string::npos);
}

TEST_CASE("windows of patches are called windows") {
  ExplainOptions options;
  options.layer = 1;
  const std::string text = explained(std::filesystem::path(ATTN_TEST_DATA) / "models" / "pictures" /
                                         "swin_shifted_windows" / "input.json",
                                     options);
  CHECK(text.find("   - window: patches of the query's own window\n") != std::string::npos);
  CHECK(text.find("   \"0,1\" (1)   -1.4781       0    -inf  other window\n") != std::string::npos);
  CHECK(text.find("documents: ") == std::string::npos);
}

TEST_CASE("all three attentions of an encoder-decoder are walked through, up to the logits") {
  const std::filesystem::path document =
      std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases" / "t5_relu_tied" / "input.json";
  ExplainOptions options;
  options.layer = 1;
  options.head = 1;
  options.query = 2;
  const std::string encoder = explained(document, options);
  CHECK(encoder.find("Encoder layer 1: self-attention\n") != std::string::npos);
  CHECK(encoder.find("What leaves the model") == std::string::npos);
  options.stack = "decoder";
  const std::string decoder = explained(document, options);
  CHECK(decoder.find("\"18\" (2) is the token 18 of the vocabulary.") != std::string::npos);
  CHECK(decoder.find("Decoder layer 1: self-attention\n") != std::string::npos);
  CHECK(decoder.find("   3 of 13 keys can be seen.") != std::string::npos);
  options.stack = "cross";
  const std::string cross = explained(document, options);
  CHECK(cross.find("Decoder layer 1: cross-attention\n") != std::string::npos);
  // expected.json: decoder.layers.1.cross.weights[0][1][2][4] and logits[0][2][9].
  CHECK(cross.find("\n   \"24\" (4)    1.5059    -3.1585          0.0425    0.0149\n") !=
        std::string::npos);
  CHECK(cross.find("\n           9  2.4973       0.1037\n") != std::string::npos);
  options.stack = "middle";
  CHECK(error_of(document, options) ==
        "the model has no \"middle\"\n  where: ExplainOptions::layer\n"
        "  help:  name a layer such as encoder.0, decoder.0 or cross.0");
}

TEST_CASE("a choice that is not there names its flag and what there is") {
  const std::filesystem::path document = std::filesystem::path(ATTN_DATA) / "four_dimensions.json";
  ExplainOptions query, head, sample, layer;
  query.query = 3;
  head.head = 2;
  sample.sample = 7;
  layer.layer = 1;
  CHECK(error_of(document, query) ==
        "there is no query 3: the attention has 3 queries\n  where: ExplainOptions::query\n"
        "  help:  give 0 to 2");
  CHECK(error_of(document, head) ==
        "there is no head 2: the attention has 2 heads\n  where: ExplainOptions::head\n  help:  "
        "give 0 to 1");
  CHECK(error_of(document, sample) ==
        "there is no sample 7: the attention has 2 samples\n  where: ExplainOptions::sample\n"
        "  help:  give 0 to 1");
  CHECK(error_of(document, layer) ==
        "there is no layer 1: the attention has only one layer\n  where: ExplainOptions::layer\n"
        "  help:  leave it out, or give 0");
}

TEST_CASE(
    "an explanation of all queries has a heading for each, one introduction and the costs once") {
  const TemporaryFolder folder;
  const auto document =
      folder.write("d.json", R"({"attention":"softmax","scores":[[1,2],[3,4],[5,6]],
                    "labels":{"query":["a","b","c"],"key":["x","y"]}})");
  ExplainOptions choice;
  choice.every_query = true;
  const std::string text = explained(document, choice);
  CHECK(text.starts_with("softmax attention, step by step: query \"a\" (0) of 3\n====="));
  CHECK(text.find("each of the 3 queries, all counted from 0") != std::string::npos);
  CHECK(text.find("\n\n\nquery \"b\" (1) of 3\n=====") != std::string::npos);
  const std::size_t last = text.find("\n\n\nquery \"c\" (2) of 3\n=====");
  REQUIRE(last != std::string::npos);
  CHECK(text.find("Cost") > last);
  CHECK(text.find("Numbers are rounded") == text.rfind("Numbers are rounded"));
  choice.format = attn::ExplanationFormat::json;
  const std::string json = explained(document, choice);
  CHECK(json.starts_with("["));
  CHECK(json.find("\"query\": 2") != std::string::npos);
}

TEST_CASE("a full explanation leaves out nothing") {
  const TemporaryFolder folder;
  const auto document =
      folder.write("d.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[40,64]}})");
  ExplainOptions choice;
  CHECK(explained(document, choice).find("…  ") != std::string::npos);
  choice.full = true;
  for (const auto format : {attn::ExplanationFormat::text, attn::ExplanationFormat::markdown}) {
    choice.format = format;
    const std::string text = explained(document, choice);
    CHECK(text.find("more") == text.find("more products"));
    CHECK(text.find("key 39") != std::string::npos);
    CHECK(text.find("out[63]") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; format == attn::ExplanationFormat::text && std::getline(lines, line);)
      REQUIRE(attn::display_width(line) <= 80);
  }
}

TEST_CASE("numbers have as many decimals as are asked for") {
  const TemporaryFolder folder;
  const auto document =
      folder.write("d.json", R"({"attention":"softmax","scores":[[0.5,0]],"dtype":"float64"})");
  ExplainOptions choice;
  choice.digits = 9;
  const std::string text = explained(document, choice);
  CHECK(text.find("0.622459331") != std::string::npos);
  CHECK(text.find("Numbers are shown rounded to 9 decimals") != std::string::npos);
  CHECK(explained(document).find("0.6225") != std::string::npos);
  choice.digits = 17;
  CHECK(error_of(document, choice) ==
        "numbers cannot be shown with 17 decimals\n  where: ExplainOptions::digits\n"
        "  help:  give 2 to 16");
}

TEST_CASE("the way of a token into its hidden state is a step") {
  const TemporaryFolder folder;
  const auto document = folder.write("d.json", R"({"attention":"dot_product","tokens":["b","a"],
                    "embedding":{"vocabulary":["a","b"],"table":[[1,2],[3,4]],
                                 "position":"sinusoidal"}})");
  ExplainOptions choice;
  choice.query = 1;
  const std::string text = explained(document, choice);
  CHECK(text.find("1. Tokens become hidden states\n\n"
                  "   \"a\" (1) is the token 0 of the vocabulary. Its row of the table:\n") !=
        std::string::npos);
  CHECK(text.find("   row  1.0000  2.0000\n   PE   0.8415  0.5403\n   x    1.8415  2.5403\n") !=
        std::string::npos);
  CHECK(text.find("   The other tokens likewise:\n") != std::string::npos);
  // The row is the table's, not what is left of a sum that was rounded.
  const auto zeros = folder.write("zeros.json", R"({"attention":"dot_product","tokens":["b","a"],
                    "embedding":{"vocabulary":["a","b"],"table":{"zeros":[2,2]},
                                 "position":"sinusoidal"}})");
  CHECK(explained(zeros, choice)
            .find("   row       0       0\n   PE   0.8415  0.5403\n   x    0.8415  0.5403\n") !=
        std::string::npos);
}

TEST_CASE("a Chinese explanation has Chinese sentences and the same numbers, in 80 columns") {
  std::size_t count = 0;
  // All that have a decimal point, wherever the words have put them.
  const auto numbers_of = [](const std::string& text) {
    std::vector<std::string> numbers;
    std::string number;
    for (const char c : text + " ") {
      if ((c >= '0' && c <= '9') || (c == '.' && !number.empty())) {
        number += c;
        continue;
      }
      while (number.ends_with('.')) number.pop_back();
      if (number.find('.') != std::string::npos) numbers.push_back(number);
      number.clear();
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  for (const auto& document : documents()) {
    CAPTURE(document);
    const Chinese chinese;
    const std::string text = explained(document);
    CHECK(text.find("逐步讲解") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      REQUIRE(attn::display_width(line) <= 81);
      ++count;
    }
    ExplainOptions table;
    table.format = attn::ExplanationFormat::markdown;
    const std::string tables = explained(document, table);
    attn::speak({});
    CHECK(numbers_of(tables) == numbers_of(explained(document, table)));
  }
  CHECK(count > 2000);
}
