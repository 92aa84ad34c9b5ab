#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/changed_checkpoint.hpp"
#include "models/checkpoint.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"
#include "why/splits.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

/// A model and a text of its tests.
struct SplitCase {
  ModelFolder folder;
  ModelTexts text;
  ModelOptions options;
};

SplitCase open_split_case(const fs::path& input, ModelFolder folder) {
  const JsonValue document = parse_json_by_element(read_text(input), 100);
  SplitCase own{std::move(folder), {}, {}};
  ModelTexts all;
  all.ids = id_lists(document.find("token_ids"));
  all.types = id_lists(document.find("token_types"));
  all.decoder_ids = id_lists(document.find("decoder_token_ids"));
  const Architecture& model = own.folder.architecture;
  if (model.encoder_decoder() && all.decoder_ids.empty()) {
    // More than the start token, so that there is something to split.
    all.decoder_ids.assign(all.ids.size(), {model.decoder_start_id.value(), 5, 6});
  }
  own.text = all.of_sample(0);
  own.options.dtype = DType::float64;
  read_heads_off(document, own.options);
  return own;
}
SplitCase open_split_case(const fs::path& input) {
  const JsonValue document = parse_json_by_element(read_text(input), 100);
  const fs::path checkpoint = input.parent_path() / document.find("model")->string();
  return open_split_case(input, ModelFolder::open(checkpoint, std::nullopt, {}));
}
SplitCase open_split_case(const std::string& name) {
  return open_split_case(cases / name / "input.json");
}

std::vector<std::string> names_of_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cases)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// A head of the model, drawn with its query and its key.
WhyOptions drawn(const SplitCase& own, std::mt19937& random) {
  const auto below = [&](std::size_t count) { return random() % count; };
  const Architecture& model = own.folder.architecture;
  WhyOptions why;
  const std::size_t kind = model.encoder_decoder() ? below(3) : 3;
  const char* const stacks[]{"encoder.", "decoder.", "cross.", ""};
  const ModelStack& stack = model.stacks[kind == 1 || kind == 2 ? 1 : 0];
  std::size_t layer = below(stack.layers.size());
  while (!stack.layers[layer].has_map()) layer = (layer + 1) % stack.layers.size();
  why.head = stacks[kind] + std::to_string(layer) + "." + std::to_string(below(model.heads));
  const std::size_t own_length =
      (kind == 1 || kind == 2 ? own.text.decoder_ids : own.text.ids).front().size();
  why.query = below(own_length);
  return why;
}

// The stage `scores` of a head, by the attention itself.
Tensor scores_of(const SplitCase& own, const std::string& head) {
  const ModelPlace place = ModelPlace::parse(head).value();
  Tensor scores;
  const auto take = [&](const SamplePlace& at, const Layer&, const LayerStep& step) {
    if (at.place != ModelPlace{place.stack, place.layer}) return;
    AttentionRequest request = place.crosses() ? step.cross_request : step.self_request;
    request.stages = true;
    scores = attend(request).scores;
  };
  run_model({own.folder.architecture, own.folder.weights, own.text, own.options},
            {{.layer = take}});
  return scores;
}

double sum_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}
double size_of_sum(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0,
                         [](double sum, double x) { return sum + std::abs(x); });
}

// Splits of drawn heads and queries of one model, each held against the scores; their number.
std::size_t check_drawn_scores(const std::string& name, std::size_t rounds, unsigned seed) {
  CAPTURE(name);
  const SplitCase own = open_split_case(name);
  std::mt19937 random(seed);
  std::size_t count = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const WhyOptions why = drawn(own, random);
    CAPTURE(*why.head);
    CAPTURE(*why.query);
    const ScoreSplit got = *split(why, own.folder, own.text, own.options).scores;
    const Tensor scores = scores_of(own, *why.head);
    const std::size_t queries = scores.shape()[2], keys = scores.shape()[3];
    const std::size_t head = std::stoul(why.head->substr(why.head->rfind('.') + 1));
    const std::size_t each = got.query_parts.size() * got.key_parts.size();
    CHECK(got.head.text() == *why.head);
    CHECK(got.parts.shape() ==
          Shape{got.pairs.size(), got.query_parts.size(), got.key_parts.size()});
    for (std::size_t n = 0; n < got.pairs.size(); ++n) {
      const auto [i, j] = got.pairs[n];
      const double score = scores.values<double>()[(head * queries + i) * keys + j];
      const auto parts = got.parts.values<double>().subspan(n * each, each);
      CHECK(std::abs(sum_of(parts) - score) <= 1e-12 * size_of_sum(parts) + 1e-13);
      CHECK(std::abs(got.scores[n] - score) <= 1e-12 * size_of_sum(parts) + 1e-13);
      ++count;
    }
  }
  return count;
}

std::vector<std::string> texts(const JsonValue& list) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < list.size(); ++i) all.push_back(list.element(i).string());
  return all;
}

void check_numbers(const Tensor& got, const Tensor& want, double tolerance) {
  REQUIRE(got.shape() == want.shape());
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double w = want.values<double>()[i];
    worst = std::max(worst, std::abs(got.values<double>()[i] - w) / (1 + std::abs(w)));
  }
  CHECK(worst <= tolerance);
}

TEST_CASE("splits are those of an independent computation") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ATTN_TEST_DATA) / "why" / "cases")) {
    CAPTURE(entry.path());
    const SplitCase own = open_split_case(entry.path() / "input.json");
    const JsonValue expected =
        parse_json_by_element(read_text(entry.path() / "expected.json"), 10000);
    const TensorFile numbers = TensorFile::open(entry.path() / "expected.safetensors");
    WhyOptions why;
    const std::vector<std::string> arguments = texts(*expected.find("arguments"));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool more = i + 1 < arguments.size();
      if (arguments[i] == "--why") why.head = arguments[i + 1];
      if (arguments[i] == "--query") why.query = std::stoul(arguments[i + 1]);
      if (arguments[i] == "--logit") why.logit = more ? arguments[i + 1] : "";
    }
    const WhySplits got = split(why, own.folder, own.text, own.options);
    const JsonValue& names = *expected.find("why");
    CHECK(texts_of(got.scores->query_parts) == texts(*names.find("query_parts")));
    CHECK(texts_of(got.scores->key_parts) == texts(*names.find("key_parts")));
    check_numbers(got.scores->parts, numbers.read("why.scores"), 1e-9);
    CHECK(got.logit.has_value() == (expected.find("contribution") != nullptr));
    if (const JsonValue* of_logit = expected.find("contribution")) {
      CHECK(got.logit->token == static_cast<std::size_t>(of_logit->find("token")->integer()));
      CHECK(texts_of(got.logit->places) == texts(*of_logit->find("parts")));
      check_numbers(got.logit->parts, numbers.read("contribution.parts"), 1e-9);
      check_numbers(got.logit->tokens, numbers.read("contribution.tokens"), 1e-9);
    }
    ++count;
  }
  CHECK(count == 4);
}

TEST_CASE("the parts of scores add up to what the attention computes, in every family") {
  std::size_t count = 0;
  for (const std::string& name : names_of_cases()) {
    const bool clipped = name.ends_with("_clipped") || name.find("_clipped_") != name.npos;
    const bool disentangled = name.starts_with("deberta_") || name.starts_with("xlnet_"),
               latent = name.ends_with("_latent") || name.starts_with("minicpm3_");
    const bool shared = name == "gemma4_layer_inputs", streams = name == "gemma3n_streams";
    if (!clipped && !disentangled && !latent && !shared && !streams) {
      count += check_drawn_scores(name, 2, 7);
      continue;
    }
    CAPTURE(name);
    const std::string refusal = error_from([&] { check_drawn_scores(name, 2, 7); });
    CHECK(refusal.find(clipped   ? "its queries and keys are cut off at ±"
                       : latent  ? "its queries and keys are made of narrow vectors"
                       : shared  ? "its keys are those of another layer"
                       : streams ? "whose states are several streams"
                                 : "its distances have queries and keys too") != std::string::npos);
  }
  CHECK(count > 300);
}

TEST_CASE("many random scores of eight families add up") {
  const char* const wanted = std::getenv("ATTN_SPLITS");
  const std::size_t rounds = wanted == nullptr ? 1 : std::stoul(wanted);
  std::size_t count = 0;
  for (const char* name :
       {"bert_pairs", "gpt2_bare_names", "llama_grouped", "gemma2_soft_caps_bf16",
        "gpt_neox_pythia_f16", "bloom_alibi_f16", "t5_relu_tied", "olmo2_whole_width_norms"}) {
    count += check_drawn_scores(name, rounds, 11);
  }
  MESSAGE(count << " scores");
}

// Splits the logits of tokens 5 and 3 in one pass. The second is to be the split that is given, and
// the products of each head's direction with its output its part.
void check_logits_of_one_pass(const SplitCase& own, const LogitSplit& given) {
  const Architecture& model = own.folder.architecture;
  const ChosenLogit chosen(model, own.folder.weights, own.text, std::nullopt);
  const FrozenChoice choice = chosen.kept(model);
  const FrozenPass pass =
      freeze({model, own.folder.weights, own.text, own.options}, {&choice, 1}, {}).front();
  constexpr std::array<LogitRow, 2> rows{{{0, 5}, {0, 3}}};
  const LogitSplit got = split_logits(model, chosen.head, pass, rows, own.options.threads).back();
  CHECK(got.token == 3);
  CHECK(got.position == given.position);
  CHECK(got.logit == given.logit);
  check_numbers(got.parts, given.parts, 0);
  REQUIRE(got.directions.size() == got.heads.size());
  std::size_t row = 0;
  for (const auto& sublayers : pass.layers) {
    for (const FrozenSubLayer& sublayer : sublayers) {
      if (sublayer.heads == 0 || sublayer.place.crosses()) continue;
      for (std::size_t h = 0; h < sublayer.heads; ++h, ++row) {
        const std::vector<double>& direction = got.directions[row];
        // A gate is in the direction, and what it makes of the values in the output.
        if (!sublayer.gates.numbers.empty()) continue;
        const double* output = sublayer.outputs.row(0) + h * direction.size();
        const auto part =
            got.tokens.values<double>().subspan(row * got.tokens.shape()[1], got.tokens.shape()[1]);
        CHECK(dot(direction.data(), output, direction.size()) ==
              doctest::Approx(sum_of(part)).epsilon(1e-9).scale(size_of_sum(part) + 1e-9));
      }
    }
  }
  CHECK(row == got.heads.size());
}

TEST_CASE("the parts of a difference of logits are the differences of their parts") {
  for (const char* name : {"gpt2_bare_names", "llama_grouped", "gemma2_soft_caps_bf16",
                           "bert_pairs", "gpt_neox_pythia_f16"}) {
    CAPTURE(name);
    const SplitCase own = open_split_case(std::string(name));
    const auto split_of = [&](const char* logit, std::optional<std::string> against) {
      WhyOptions why;
      why.logit = logit;
      why.against_logit = std::move(against);
      return *split(why, own.folder, own.text, own.options).logit;
    };
    const LogitSplit a = split_of("3", std::nullopt), b = split_of("5", std::nullopt),
                     both = split_of("3", "5");
    CHECK(both.against == 5);
    const double size = size_of_sum(a.parts.values<double>());
    CHECK(std::abs(both.logit - (a.logit - b.logit)) <= 1e-12 * size);
    REQUIRE(both.places == a.places);
    for (std::size_t p = 0; p < a.places.size(); ++p) {
      // The transform of masked models stays as it is, whatever the token.
      CHECK(std::abs(both.parts.values<double>()[p] -
                     (a.parts.values<double>()[p] - b.parts.values<double>()[p])) <= 1e-12 * size);
    }
    for (std::size_t at = 0; at < a.tokens.size(); ++at) {
      CHECK(std::abs(both.tokens.values<double>()[at] -
                     (a.tokens.values<double>()[at] - b.tokens.values<double>()[at])) <=
            1e-12 * size);
    }
    CHECK(error_from([&] { split_of("3", "3"); }) ==
          "both logits are of one token\n  where: WhyOptions::against_logit\n  help:  give two "
          "tokens");
  }
}

// Splits the logit of token 3, whose parts are to add up to it, and those of each head to the
// head's.
void check_logit(SplitCase own) {
  WhyOptions why;
  why.logit = "3";
  const LogitSplit got = *split(why, own.folder, own.text, own.options).logit;
  own.options.wanted.logits = true;
  Tensor logits;
  run_model({own.folder.architecture, own.folder.weights, own.text, own.options},
            {{.tensor = [&](const PassTensor& what, const Tensor& numbers) {
              if (what.quantity == PassTensor::Quantity::logits) logits = numbers;
            }}});
  const LogitsHead head = read_head(own.folder.architecture, own.folder.weights);
  double whole = sum_of(got.parts.values<double>());
  if (head.softcap) whole = *head.softcap * std::tanh(whole / *head.softcap);
  const double logit = logits.values<double>()[got.position * logits.shape()[2] + 3];
  CHECK(std::abs(whole - logit) <= 1e-12 * size_of_sum(got.parts.values<double>()) + 1e-13);
  const auto check_rows = [&](const std::vector<ModelPlace>& heads, const Tensor& rows) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto part = std::ranges::find(got.places, heads[h]);
      REQUIRE(part != got.places.end());
      const double own_part =
          got.parts.values<double>()[static_cast<std::size_t>(part - got.places.begin())];
      const std::size_t keys = rows.shape()[1];
      const auto row = rows.values<double>().subspan(h * keys, keys);
      CHECK(std::abs(sum_of(row) - own_part) <= 1e-12 * size_of_sum(row) + 1e-14);
    }
  };
  check_rows(got.heads, got.tokens);
  check_rows(got.cross_heads, got.cross_tokens);
  check_logits_of_one_pass(own, got);
  CHECK(got.cross_heads.empty() == !own.folder.architecture.encoder_decoder());
}

TEST_CASE("the parts of a logit add up to it, and those of each head to the head's") {
  std::size_t split_models = 0, with_functions = 0;
  for (const std::string& name : names_of_cases()) {
    CAPTURE(name);
    SplitCase own = open_split_case(name);
    if (own.folder.architecture.classifier || own.folder.architecture.streams) continue;
    if (read_head(own.folder.architecture, own.folder.weights).dense) ++with_functions;
    check_logit(std::move(own));
    ++split_models;
  }
  CHECK(split_models > 20);
  CHECK(with_functions > 5);
}

// Splits the logit of a class, whose parts are to add up to it.
void check_class(SplitCase own, const std::string& label, std::size_t number) {
  WhyOptions why;
  why.logit = label;
  const LogitSplit got = *split(why, own.folder, own.text, own.options).logit;
  Tensor logits;
  run_model({own.folder.architecture, own.folder.weights, own.text, own.options},
            {{.tensor = [&](const PassTensor& what, const Tensor& numbers) {
              if (what.quantity == PassTensor::Quantity::classification) logits = numbers;
            }}});
  const double logit = logits.values<double>()[logits.size() - logits.shape().back() + number];
  const auto parts = got.parts.values<double>();
  CHECK(got.label == label);
  CHECK(got.token == number);
  CHECK(std::abs(got.logit - logit) <= 1e-14 * (1 + std::abs(logit)));
  CHECK(std::abs(sum_of(parts) - logit) <= 1e-12 * size_of_sum(parts) + 1e-13);
  CHECK(got.tokens.shape() == Shape{got.heads.size(), own.text.ids.front().size()});
}

TEST_CASE("the parts of a class's logit add up to it, whichever states the classifier reads") {
  check_class(open_split_case(std::string("bert_classifies")), "positive", 1);
  struct Changed {
    const char *recorded, *kind, *pooling;
    std::vector<std::pair<const char*, Shape>> tensors;
  };
  const std::vector<Changed> all{
      {"modernbert_local_global",
       "ModernBertForSequenceClassification",
       R"("cls")",
       {{"classifier.weight", {3, 24}}}},
      {"modernbert_local_global",
       "ModernBertForSequenceClassification",
       R"("mean")",
       {{"classifier.weight", {3, 24}}}},
      {"eurobert_both_sides",
       "EuroBertForSequenceClassification",
       R"("late")",
       {{"dense.weight", {8, 16}},
        {"dense.bias", {8}},
        {"classifier.weight", {3, 8}},
        {"classifier.bias", {3}}}},
      {"llama_grouped", "LlamaForTokenClassification", "null", {{"score.weight", {3, 32}}}}};
  for (const auto& [recorded, kind, pooling, tensors] : all) {
    ChangedCheckpoint checkpoint(recorded);
    checkpoint.set("architectures", "[\"" + std::string(kind) + "\"]");
    checkpoint.set("classifier_pooling", pooling);
    for (const auto& [name, shape] : tensors) checkpoint.put(name, drawn_tensor(shape));
    check_class(open_split_case(cases / recorded / "input.json", checkpoint.open()), "LABEL_1", 1);
  }
}

TEST_CASE("a class that the model lacks, and a query where texts are classified, are refused") {
  const SplitCase own = open_split_case(std::string("bert_classifies"));
  const auto refusal = [&](const char* label, std::optional<std::size_t> query) {
    WhyOptions why;
    why.logit = label;
    why.query = query;
    return error_from([&] { split(why, own.folder, own.text, own.options); });
  };
  CHECK(refusal("positiv", std::nullopt) ==
        "the model has no class \"positiv\"\n  where: WhyOptions::logit\n  help:  did you mean "
        "\"positive\"?");
  CHECK(refusal("positive", 2) ==
        "the model classifies texts, not their tokens\n  where: WhyOptions::query\n  help:  leave "
        "the query out");
}

TEST_CASE("the norm of a branch reads what the model's multiplier makes of the branch") {
  const fs::path original = cases / "glm4_branch_norms";
  const TemporaryFolder folder;
  fs::copy(original / "checkpoint" / "model.safetensors", folder.path());
  std::string config = read_text(original / "checkpoint" / "config.json");
  folder.write("config.json", config.replace(config.find('{'), 1, R"({"residual_multiplier": 3,)"));
  const fs::path row = folder.write(
      "row.json", R"({"like": "glm4", "branch_multiplier_keys": ["residual_multiplier"]})");
  const auto open = [&] {
    return open_split_case(original / "input.json", ModelFolder::open(folder.path(), row, {}));
  };
  CHECK(open().folder.architecture.branch_scale == 3);
  check_logit(open());
}

TEST_CASE("a split computes each layer once, and none above the head's") {
  SplitCase own = open_split_case(std::string("gpt2_bare_names"));
  const auto computed = [&](const std::optional<std::string>& head, bool logit) {
    std::atomic<std::size_t> scores = 0;  // several threads count at once
    WhyOptions why;
    why.head = head;
    if (logit) why.logit = "";
    split(why, own.folder, own.text, own.options, [&](std::size_t more) { scores += more; });
    return scores.load();
  };
  const std::size_t layers = own.folder.architecture.stacks[0].layers.size();
  const std::size_t whole = computed(std::nullopt, true);
  CHECK(whole > 0);
  CHECK(computed("1.0", true) == whole);
  CHECK(computed("0.0", false) == whole / layers);
  CHECK(computed("1.0", false) == 2 * whole / layers);
}

TEST_CASE("parts are named by the layer and head that wrote them") {
  const auto parts = [](const std::string& name, const std::string& head) {
    const SplitCase own = open_split_case(name);
    WhyOptions why;
    why.head = head;
    return *split(why, own.folder, own.text, own.options).scores;
  };
  using Names = std::vector<std::string>;
  CHECK(texts_of(parts("bert_pairs", "1.0").query_parts) == Names{"embedding", "position",
                                                                  "token_type", "0.0", "0.1", "0.2",
                                                                  "0.3", "0.feed_forward", "bias"});
  CHECK(texts_of(parts("t5_relu_tied", "decoder.1.0").key_parts) ==
        Names{"embedding", "decoder.0.0", "decoder.0.1", "decoder.0.2", "cross.0.0", "cross.0.1",
              "cross.0.2", "decoder.0.feed_forward", "bias"});
  const ScoreSplit cross = parts("t5_relu_tied", "cross.0.2");
  CHECK(texts_of(cross.query_parts) ==
        Names{"embedding", "decoder.0.0", "decoder.0.1", "decoder.0.2", "bias"});
  CHECK(texts_of(cross.key_parts) == Names{"encoder.output", "bias"});
}

TEST_CASE("what is not there to be split is named") {
  const auto error = [](const std::string& name, const WhyOptions& why) {
    const SplitCase own = open_split_case(name);
    return error_from([&] { split(why, own.folder, own.text, own.options); });
  };
  WhyOptions why;
  why.head = "9.0";
  CHECK(error("gpt2_bare_names", why) ==
        "there is no layer 9: the model has 3 layers\n  where: WhyOptions::head\n  help:  give 0 "
        "to 2");
  why.head = "1.9";
  CHECK(error("gpt2_bare_names", why) ==
        "there is no head 9: each layer has 4 heads\n  where: WhyOptions::head\n  help:  give 0 to "
        "3");
  why.head = "one";
  CHECK(error("gpt2_bare_names", why) ==
        "\"one\" names no head\n  where: WhyOptions::head\n  help:  give LAYER.HEAD, both from 0");
  CHECK(error("t5_relu_tied", why) ==
        "\"one\" names no head\n  where: WhyOptions::head\n  help:  give encoder.LAYER.HEAD, "
        "decoder.LAYER.HEAD or cross.LAYER.HEAD");
  why.head = "1.1";
  why.query = 0;
  why.key = 3;
  CHECK(error("gpt2_bare_names", why) ==
        "query 0 does not see key 3\n  where: WhyOptions::key\n  help:  choose a key that the "
        "mask leaves the query");
  why.query = 99;
  CHECK(error("gpt2_bare_names", why).starts_with("there is no query 99: the text has "));
}

TEST_CASE("a split that does not add up is refused with its figures") {
  const std::vector<double> terms{1, 2, -0.5};
  check_sum(terms, 2.5, 0, [] { return std::string("x"); });
  check_sum(terms, 2.5 + 1e-12, 0, [] { return std::string("x"); });
  CHECK(error_from([&] { check_sum(terms, 2.5 + 1e-11, 0, [] { return std::string("x"); }); },
                   ErrorKind::internal) ==
        "the parts of x add up to 2.5, and it is 2.50000000001\n  help:  report this text and the "
        "model: the split is not shown");
}

}  // namespace
}  // namespace attn
