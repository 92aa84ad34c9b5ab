#include "attn/view.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <glib.h>

#include "attn/heads.hpp"
#include "attn/io.hpp"

#include "chinese.hpp"
#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "view/read_page.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path data = ATTN_DATA;

ViewOptions options_of(const fs::path& input) {
  ViewOptions options;
  options.document.input = input;
  return options;
}

/// A document whose three samples are hidden by a causal mask and by padding.
fs::path padded_document(const TemporaryFolder& folder) {
  return folder.write(
      "doc.json",
      R"({"attention":"multi_head","heads":4,"kv_heads":2,"seed":1,"title":"A title",)"
      R"("x":{"randn":[3,10,16]},"parameters":{"init":"torch"},"mask":{"causal":true,"padding":)"
      R"([[0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,1,1,1],[0,0,0,0,1,1,1,1,1,1]]}})");
}

std::string sha256(const std::string& text) {
  GChecksum* checksum = g_checksum_new(G_CHECKSUM_SHA256);
  g_checksum_update(checksum, reinterpret_cast<const guchar*>(text.data()),
                    static_cast<gssize>(text.size()));
  std::vector<guint8> digest(32);
  gsize size = digest.size();
  g_checksum_get_digest(checksum, digest.data(), &size);
  g_checksum_free(checksum);
  gchar* encoded = g_base64_encode(digest.data(), digest.size());
  std::string hash = encoded;
  g_free(encoded);
  return "'sha256-" + hash + "'";
}

std::vector<double> known(const std::vector<std::optional<double>>& values) {
  std::vector<double> numbers;
  for (const auto& value : values) numbers.push_back(value.value_or(-1));
  return numbers;
}

std::vector<std::string> strings(const JsonValue& list) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) texts.push_back(list.element(i).string());
  return texts;
}

/// The cells of all heads and samples of all attentions.
std::vector<double> all_cells(const ReadPage& page) {
  std::vector<double> all;
  const JsonValue& attentions = page.at({"attentions"});
  for (std::size_t a = 0; a < attentions.size(); ++a) {
    const JsonValue& samples = *attentions.element(a).find("samples");
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const JsonValue& map = samples.element(b).find("maps")->element(0);
      for (std::size_t h = 0; h < map.find("heads")->size(); ++h) {
        for (const double value : known(page.cells(map, h))) all.push_back(value);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a page tells of a document what it has: maps, groups, reasons, statistics") {
  const TemporaryFolder folder;
  ViewOutcome outcome;
  const ReadPage page = page_of(options_of(padded_document(folder)), &outcome);
  CHECK(outcome.attentions == 1);
  CHECK(outcome.maps == 12);
  CHECK(outcome.cells == 1200);
  CHECK(outcome.notes.empty());
  CHECK(page.at({"format"}).integer() == 1);
  CHECK(page.at({"title"}).string() == "A title");
  CHECK(page.at({"language"}).string() == "en");
  CHECK(page.at({"samples", "2", "title"}).string() == "Sample 2");
  const JsonValue& attention = page.at({"attentions", "0"});
  CHECK(attention.find("stack")->string() == "Attention");
  CHECK(attention.find("heads")->integer() == 4);
  CHECK(attention.find("numbers") == nullptr);
  CHECK(strings(page.at({"attentions", "0", "samples", "0", "hidden_because"})) ==
        std::vector<std::string>{"causal: keys after the query"});
  CHECK(strings(page.at({"attentions", "0", "samples", "1", "hidden_because"})) ==
        std::vector<std::string>{"causal: keys after the query",
                                 "padding: keys that only fill the sample up"});
  CHECK(page.at({"statistics", "0", "name"}).string() == "previous");
  CHECK(attention.find("statistics")->size() == 4);
  // The bits of hidden cells: the first query sees its own key alone.
  const JsonValue& cells = page.at({"attentions", "0", "samples", "0", "maps", "0", "heads", "0"});
  CHECK(cells.find("type")->string() == "float32");
  const std::string hidden = page.block(ReadPage::count(*cells.find("hidden")));
  CHECK(hidden.size() == 13);
  CHECK(hidden.substr(0, 2) == "\xFE\xF3");
}

TEST_CASE(
    "a page tells of a mask that compares rows what it hides, and nothing where it hides none") {
  const TemporaryFolder folder;
  const auto page_with = [&](const std::string& where) {
    return page_of(options_of(
        folder.write("doc.json", R"({"attention":"dot_product","query":[[1,0],[0,1],[1,1]],)"
                                 R"("key":[[1,-1],[-1,1],[1,1]],"mask":{"where":")" +
                                     where + R"("}})")));
  };
  const ReadPage some = page_with("dot(q,k) > 0"), none = page_with("dot(q,k) > -9");
  CHECK(strings(some.at({"attentions", "0", "samples", "0", "hidden_because"})) ==
        std::vector<std::string>{"where: keys for which dot(q,k) > 0 does not hold"});
  CHECK(none.at({"attentions", "0", "samples", "0", "hidden_because"}).size() == 0);
  const auto cells = [](const ReadPage& page) -> const JsonValue& {
    return page.at({"attentions", "0", "samples", "0", "maps", "0", "heads", "0"});
  };
  // The bits of hidden cells, 010 100 110, the first cell's the lowest.
  CHECK(some.block(ReadPage::count(*cells(some).find("hidden"))).substr(0, 2) ==
        std::string("\xCA\x00", 2));
  CHECK(cells(none).find("hidden") == nullptr);
}

TEST_CASE("the page of a document, of its result and of the result's tensors have one map") {
  const TemporaryFolder folder;
  const fs::path document = padded_document(folder);
  RunOptions run_options;
  run_options.document.input = document;
  run_options.plots = {};
  run_options.out = folder / "json";
  run(run_options);
  run_options.out = folder / "npz";
  run_options.tensors = TensorFormat::npz;
  run(run_options);
  const std::vector<double> cells = all_cells(page_of(options_of(document)));
  CHECK(cells.size() == 1200);
  CHECK(all_cells(page_of(options_of(folder / "json" / "result.json"))) == cells);
  CHECK(all_cells(page_of(options_of(folder / "npz" / "result.json"))) == cells);
  CHECK(all_cells(page_of(options_of(folder / "npz" / "tensors.npz"))) == cells);
}

TEST_CASE("the page of a model has the maps of its result, with tokens, words and texts") {
  const TemporaryFolder folder;
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The state of the Union", std::nullopt}, {"Peace.", std::nullopt}};
  RunOptions run_options;
  run_options.document = options.document;
  run_options.plots = {};
  run_options.out = folder.path();
  run(run_options);
  const ReadPage page = page_of(options), result = page_of(options_of(folder / "result.json"));
  CHECK(all_cells(page) == all_cells(result));
  CHECK(page.at({"samples", "0", "title"}).string() == "The state of the Union");
  CHECK(page.at({"attentions", "1", "title"}).string() == "Layer 1, Self-Attention");
  CHECK(page.at({"layered"}).boolean());
  CHECK(page.at({"attentions", "1", "name"}).string() == "layers.1.self");
  CHECK(page.at({"attentions", "1", "heads_a_group"}).integer() == 2);
  CHECK(result.at({"attentions", "1", "heads_a_group"}).integer() == 2);
  CHECK(strings(page.at({"attentions", "0", "samples", "1", "hidden_because"})).size() == 2);
  const JsonValue& tokens = page.at({"tokens", "0"});
  CHECK(strings(*tokens.find("pieces"))[4] == " state");
  CHECK(tokens.find("words")->element(1).element(0).integer() == 1);
  CHECK(tokens.find("words")->element(1).element(1).integer() == 4);
  CHECK(tokens.find("special")->element(0).integer() == 0);
}

TEST_CASE("the page of a model has its predictions and begins with a telling head") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The people of the United States", std::nullopt}};
  const ReadPage page = page_of(options);
  CHECK(page.at({"predicts_next"}).boolean());
  CHECK(page.at({"samples", "0", "predictions", "0", "likeliest"}).size() == 10);
  const double likeliest =
      page.at({"samples", "0", "predictions", "0", "likeliest", "0", "probability"}).number();
  CHECK(likeliest >
        page.at({"samples", "0", "predictions", "0", "likeliest", "1", "probability"}).number());
  // The states that leave the last layer are those that predict.
  const JsonValue& by_layer = page.at({"samples", "0", "predictions", "0", "by_layer"});
  REQUIRE(by_layer.size() == 4);
  CHECK(by_layer.element(3).find("probability")->number() == doctest::Approx(likeliest));
  const auto attention = page.at({"opening", "attention"}).integer();
  const auto head = page.at({"opening", "head"}).integer();
  const JsonValue& statistics = page.at({"attentions", std::to_string(attention), "statistics"});
  CHECK(statistics.element(static_cast<std::size_t>(head)).element(0).number() > 0.4);
}

TEST_CASE("the page of a classifier has the classes of each sample") {
  ViewOptions options;
  options.document.model =
      fs::path(ATTN_TEST_DATA) / "models" / "cases" / "bert_classifies" / "checkpoint";
  options.document.texts = {{"the film is good", std::nullopt}, {"bad", std::nullopt}};
  const ReadPage page = page_of(options);
  const JsonValue& classes = page.at({"samples", "1", "classification", "0", "classes"});
  REQUIRE(classes.size() == 2);
  CHECK(classes.element(0).find("probability")->number() > 0.5);
  CHECK(classes.element(0).find("label")->string() != classes.element(1).find("label")->string());
}

TEST_CASE("the page keeps the queries and keys of each head, or says whose it leaves out") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The state of the Union", std::nullopt}};
  const ReadPage whole = page_of(options);
  CHECK(whole.at({"attentions", "3", "samples", "0", "vectors", "query"}).size() == 4);
  // Two heads share a key head, and its block.
  const auto block = [&](const char* head) {
    return whole.at({"attentions", "3", "samples", "0", "vectors", "key", head, "cells"}).integer();
  };
  CHECK(block("0") == block("1"));
  CHECK(block("1") != block("2"));
  options.vectors = 10;
  const ReadPage none = page_of(options);
  CHECK(none.at({"attentions", "3", "samples", "0"}).find("vectors") == nullptr);
  CHECK(none.at({"notes", "0"}).string() ==
        "The arithmetic of 4 attentions is left out: queries and keys of all would take more than "
        "10 bytes.");
  options.vectors = 0;
  CHECK(page_of(options).at({"notes"}).size() == 0);
}

TEST_CASE("the page has the strongest parts of a head's scores if they are asked for") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  CHECK(page_of(options).at({"attentions", "2", "samples", "0"}).find("why") == nullptr);
  options.why = "2.1";
  const ReadPage page = page_of(options);
  CHECK(page.at({"attentions", "2", "samples", "0", "why"}).size() == 1);
  const JsonValue& why = page.at({"attentions", "2", "samples", "0", "why", "0"});
  CHECK(why.find("head")->integer() == 1);
  CHECK(why.find("query_parts")->size() == 12);  // embedding, 2 × (4 + 1), bias
  const JsonValue& pairs = *why.find("pairs");
  const std::size_t tokens = page.at({"tokens", "0", "pieces"}).size();
  CHECK(pairs.size() == tokens * (tokens + 1) / 2);
  // Query, key, score, and five terms, the largest first.
  const JsonValue last = pairs.element(pairs.size() - 1);
  REQUIRE(last.size() == 3 + 5 * 3);
  CHECK(last.element(0).integer() == static_cast<std::int64_t>(tokens - 1));
  CHECK(std::abs(last.element(5).number()) >= std::abs(last.element(8).number()));
  CHECK(page.at({"attentions", "1", "samples", "0"}).find("why") == nullptr);
  options.why = "2.9";
  CHECK(error_from([&] { page_of(options); }) ==
        "there is no head 9: each layer has 4 heads\n  where: WhyOptions::head\n  help:  give 0 to "
        "3");
  options.why = "2.1";
  options.maps.selection.layers = {{PositionRange{0, 1}}};
  CHECK(error_from([&] { page_of(options); }, ErrorKind::usage) ==
        "the page leaves out layer 2\n  where: ViewOptions::why\n  help:  choose this layer too");
}

TEST_CASE("the page has the parts of all heads' scores if these are asked for") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  options.why = "all";
  const ReadPage page = page_of(options);
  for (const char* layer : {"0", "3"}) {
    const JsonValue& all = page.at({"attentions", layer, "samples", "0", "why"});
    REQUIRE(all.size() == 4);
    CHECK(all.element(3).find("head")->integer() == 3);
  }
  options.why = "2.1";
  const ReadPage one = page_of(options);
  const JsonValue &of_all = page.at({"attentions", "2", "samples", "0", "why", "1", "pairs", "9"}),
                  &alone = one.at({"attentions", "2", "samples", "0", "why", "0", "pairs", "9"});
  REQUIRE(alone.size() == of_all.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CHECK(alone.element(i).number() == of_all.element(i).number());
  }
}

TEST_CASE("the page has what a model predicts without each head, as the table of heads has it") {
  const char* const text = "The people of the United States, and the people of the world.";
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{text, std::nullopt}};
  options.effects = "zero";
  const ReadPage page = page_of(options);
  HeadsOptions heads;
  heads.document = options.document;
  heads.without_heads_of = {1};
  const std::vector<HeadDifference> differences = read_heads(heads).differences;
  const JsonValue& effects = page.at({"attentions", "1", "samples", "0", "effects"});
  REQUIRE(differences.size() == 4);
  for (std::size_t h = 0; h < 4; ++h) {
    // Layers of a batch of four are computed here, of one text there.
    CHECK(effects.find("divergence")->element(h).number() ==
          doctest::Approx(differences[h].divergence).epsilon(1e-4));
    CHECK(effects.find("probabilities")->element(h).element(0).number() ==
          doctest::Approx(differences[h].probability_without).epsilon(1e-4));
    CHECK(effects.find("likeliest")->element(h).string() == differences[h].likeliest_without);
  }
  // What one gradient estimates of a head's part in the logit, which the logit loses without it.
  HeadsOptions by_gradients;
  by_gradients.document = options.document;
  by_gradients.analyses = {HeadAnalysis::gradients};
  const TextGradients gradients = read_heads(by_gradients).gradients.front();
  for (std::size_t h = 0; h < 4; ++h) {
    CHECK(effects.find("estimated")->element(h).number() ==
          doctest::Approx(-gradients.heads[1].heads[h].front()).epsilon(1e-3));
  }
  const auto logit_of = [&](const std::vector<std::string>& off) {
    HeadsOptions lens;
    lens.document = options.document;
    lens.document.heads_off = off;
    lens.analyses = {HeadAnalysis::lens};
    lens.logit = gradients.token;
    return read_heads(lens).trace.value().states.back().logit;
  };
  CHECK(effects.find("logit")->element(2).number() ==
        doctest::Approx(logit_of({"1.2"}) - logit_of({})).epsilon(1e-3));
  CHECK(page.at({"effects"}).string() == "zero");
  const std::size_t last = page.at({"statistics"}).size() - 1;
  CHECK(page.at({"statistics"}).element(last).find("name")->string() == "effect");
  CHECK(page.at({"attentions", "1", "statistics", "2"}).element(last).number() ==
        effects.find("divergence")->element(2).number());
  CHECK(page.at({"attentions", "1", "samples", "0"}).find("effects")->find("answer") == nullptr);
  options.effects = "half";
  CHECK(error_from([&] { page_of(options); }, ErrorKind::usage) ==
        "unknown way to switch heads off: \"half\"\n  where: ViewOptions::effects\n  help:  give "
        "zero or mean");
  options.effects = "mean";
  options.document.heads_off = {"0.1"};
  CHECK(
      error_from([&] { page_of(options); }, ErrorKind::usage) ==
      "heads are switched off in the model as it is\n  where: ViewOptions::effects\n  help:  leave "
      "out the other change");
}

TEST_CASE(
    "the page of an answer has what heads write into its logits, and names a head that copies") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world. The peace of the", std::nullopt}};
  options.document.generate = 3;
  const ReadPage plain = page_of(options);
  const JsonValue& answer = plain.at({"samples", "0", "answer"});
  const std::size_t queries =
      ReadPage::count(plain.at({"attentions", "0", "samples", "0", "queries"}));
  CHECK(ReadPage::count(*answer.find("first")) == queries - 3);
  CHECK(answer.find("probabilities")->size() == 3);
  CHECK(answer.find("sources") == nullptr);
  CHECK(plain.at({"samples", "0"}).find("lens") == nullptr);

  options.why = "answer";
  const ReadPage page = page_of(options);
  const JsonValue& sources = page.at({"samples", "0", "answer", "sources"});
  REQUIRE(sources.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) {
    const JsonValue& tokens = *sources.element(n).find("tokens");
    const JsonValue& heads = *sources.element(n).find("heads");
    REQUIRE(tokens.size() == queries);
    // What comes after the query that predicts is not read.
    for (std::size_t j = queries - 3 + n; j < queries; ++j) CHECK(tokens.element(j).number() == 0);
    CHECK(heads.size() >= 5);
    for (std::size_t h = 1; h < 5; ++h) {
      CHECK(heads.element(h).find("value")->number() <=
            heads.element(h - 1).find("value")->number());
    }
  }
  const JsonValue& lens = page.at({"samples", "0", "lens"});
  CHECK(ReadPage::count(*lens.find("position")) == queries - 1);
  for (std::size_t t = 0; t < 5; ++t) {
    const std::string at = std::to_string(t);
    const JsonValue& predicted = page.at({"samples", "0", "predictions", "0", "likeliest", at});
    CHECK(lens.find("tokens")->element(t).find("text")->string() ==
          predicted.find("text")->string());
    CHECK(lens.find("tokens")->element(t).find("probability")->number() ==
          doctest::Approx(predicted.find("probability")->number()).epsilon(1e-3));
  }
  const JsonValue& directions = page.at({"attentions", "2", "samples", "0", "lens"});
  REQUIRE(directions.size() == 4);
  CHECK(directions.element(3).find("rows")->integer() == 5);
  CHECK(page.at({"attentions", "2", "samples", "0"}).find("why") == nullptr);
}

TEST_CASE("heads are switched off for the tokens of an answer too, as for the first prediction") {
  const auto effects_of = [](std::int64_t generated) {
    ViewOptions options;
    options.document.model = data / "speeches";
    options.document.texts = {{"The peace of the world. The peace of the", std::nullopt}};
    options.document.generate = generated;
    options.effects = "zero";
    return page_of(options);
  };
  const ReadPage page = effects_of(3);
  // Of a causal model what follows changes nothing.
  const ReadPage shorter = effects_of(1);
  const JsonValue& answer = page.at({"samples", "0", "answer"});
  for (const char* const layer : {"0", "2"}) {
    const JsonValue& on_answer =
        page.at({"attentions", layer, "samples", "0", "effects", "answer"});
    const JsonValue& first = shorter.at({"attentions", layer, "samples", "0", "effects"});
    REQUIRE(on_answer.size() == 4);
    for (std::size_t h = 0; h < 4; ++h) {
      REQUIRE(on_answer.element(h).size() == 3);
      const JsonValue& second = on_answer.element(h).element(1);
      CHECK(second.element(0).number() ==
            doctest::Approx(first.find("divergence")->element(h).number()).epsilon(1e-3));
      // The likeliest token is the one that was generated.
      CHECK(second.element(1).number() ==
            doctest::Approx(first.find("probabilities")->element(h).element(0).number())
                .epsilon(1e-3));
      CHECK(second.element(2).string() == first.find("likeliest")->element(h).string());
    }
  }
  CHECK(
      shorter.at({"samples", "0", "predictions", "0", "likeliest", "0", "probability"}).number() ==
      doctest::Approx(answer.find("probabilities")->element(1).number()).epsilon(1e-3));
}

TEST_CASE("the page has the strongest paths between heads, of the text as it is") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  const ReadPage plain = page_of(options);
  CHECK(plain.data().find("paths") == nullptr);
  options.document.patch = "The people of the world";
  options.paths.emplace();
  options.logit = ".";
  options.against_logit = ",";
  const ReadPage page = page_of(options);
  CHECK(all_cells(page) == all_cells(plain));
  HeadsOptions heads;
  heads.document = options.document;
  heads.paths = true;
  heads.logit = options.logit;
  heads.against_logit = options.against_logit;
  const HeadPatches patches = *read_heads(heads).patches;
  CHECK(page.at({"paths", "token"}).string() == ".");
  CHECK(page.at({"paths", "other"}).string() == ",");
  CHECK(page.at({"paths", "own"}).number() == patches.own);
  CHECK(page.at({"paths", "source"}).number() == patches.source);
  const JsonValue& paths = page.at({"paths", "paths"});
  // Sixteen heads write to the logits; paths between heads that change nothing are left out.
  const auto changing = std::ranges::count_if(patches.paths, [&](const HeadPath& one) {
    return !one.input.empty() && one.difference != patches.own;
  });
  REQUIRE(changing > 100);
  REQUIRE(paths.size() == 16 + static_cast<std::size_t>(changing));
  for (std::size_t n = 0; n < paths.size(); ++n) {
    const JsonValue& path = paths.element(n);
    const bool direct = path.element(2).is(JsonValue::Type::null);
    CHECK(direct == (n < 16));
    const auto end = [&](std::size_t at) {
      return path.element(at).string().substr(7, 1) + "." +
             std::to_string(path.element(at + 1).integer());
    };
    const std::string from = end(0), to = direct ? "logits" : end(2),
                      input = direct ? "" : path.element(4).string();
    const auto same = std::ranges::find_if(patches.paths, [&](const HeadPath& one) {
      return one.from == from && one.to == to && one.input == input;
    });
    REQUIRE(same != patches.paths.end());
    CHECK(path.element(5).number() ==
          doctest::Approx(same->difference - patches.own).epsilon(1e-3));
    if (n > 16) {
      CHECK(std::abs(path.element(5).number()) <=
            std::abs(paths.element(n - 1).element(5).number()));
    }
  }
  // Before an answer they are the same.
  options.document.generate = 1;
  const ReadPage answered = page_of(options);
  CHECK(answered.at({"paths", "own"}).number() == patches.own);
  CHECK(answered.at({"samples", "0", "answer", "probabilities"}).size() == 1);
  options.document.patch.reset();
  CHECK(error_from([&] { page_of(options); }, ErrorKind::usage) ==
        "there is no text to patch parts from\n  where: HeadsOptions::paths\n  help:  add "
        "DocumentOptions::patch without DocumentOptions::patch_at");
}

TEST_CASE("a page holds another one beside itself, of another model or another input") {
  const TemporaryFolder folder;
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  options.against = data / "speeches";
  const ReadPage page = page_of(options);
  const ReadPage other(page.block(ReadPage::count(page.at({"second"}))));
  CHECK(other.at({"title"}).string() == "speeches");
  CHECK(other.data().find("second") == nullptr);
  CHECK(all_cells(other) == all_cells(page));
  // What changes the model changes the first page alone.
  options.document.heads_off = {"1.1"};
  const ReadPage changed = page_of(options);
  CHECK(all_cells(changed) != all_cells(page));
  CHECK(all_cells(ReadPage(changed.block(ReadPage::count(changed.at({"second"}))))) ==
        all_cells(page));

  const fs::path first = padded_document(folder);
  const fs::path second =
      folder.write("second.json", R"({"attention":"multi_head","heads":4,"kv_heads":2,"seed":2,)"
                                  R"("x":{"randn":[3,10,16]},"parameters":{"init":"torch"}})");
  ViewOptions documents = options_of(first);
  documents.against = second;
  const ReadPage both = page_of(documents);
  CHECK(all_cells(ReadPage(both.block(ReadPage::count(both.at({"second"}))))) ==
        all_cells(page_of(options_of(second))));
  documents.against = folder / "none.json";
  CHECK(error_from([&] { page_of(documents); }, ErrorKind::file)
            .starts_with("cannot open \"" + documents.against->string() +
                         "\": No such file or directory"));
}

TEST_CASE("the page has the evidence of a corpus, as the tables of heads over it have it") {
  const TemporaryFolder folder;
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  options.corpus =
      folder.write("texts.txt",
                   "The people of the world.\n\nWe ask for peace, and the peace of the "
                   "world.\nThe war was long.\n");
  const ReadPage page = page_of(options);
  CHECK(page.at({"evidence", "count"}).integer() == 3);
  // The previous token is the first statistic; head 1.1 looks at it.
  const auto number = [&](const char* of) {
    return page.at({"attentions", "1", "evidence", "1", of, "0"}).number();
  };
  double sum = 0, squares = 0;
  for (const char* const text :
       {"The people of the world.", "We ask for peace, and the peace of the world.",
        "The war was long."}) {
    ViewOptions one = options;
    one.corpus = std::nullopt;
    one.document.texts = {{text, std::nullopt}};
    const double value = page_of(one).at({"attentions", "1", "statistics", "1", "0"}).number();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / 3;
  CHECK(number("mean") == doctest::Approx(mean).epsilon(1e-6));
  CHECK(number("error") ==
        doctest::Approx(std::sqrt((squares / 3 - mean * mean) * 3 / 2 / 3)).epsilon(1e-3));
  const JsonValue& strongest = page.at({"attentions", "1", "evidence", "1", "strongest", "0"});
  REQUIRE(strongest.size() == 3);
  CHECK(strongest.element(0).element(1).number() >= strongest.element(1).element(1).number());
  CHECK(page.at({"evidence", "texts", "1"}).string() ==
        "We ask for peace, and the peace of the world.");
  // Queries 1 to n − 1 see 2 to n keys: the mean of 1/2 … 1/n.
  const std::size_t tokens = page.at({"tokens", "0", "pieces"}).size();
  double even = 0;
  for (std::size_t keys = 2; keys <= tokens; ++keys) even += 1 / static_cast<double>(keys);
  CHECK(page.at({"attentions", "1", "even", "0"}).number() ==
        doctest::Approx(even / static_cast<double>(tokens - 1)));
}

TEST_CASE("the page holds a story, and refuses a file that is none") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(padded_document(folder));
  options.story = folder.write(
      "story.json",
      R"({"steps":[{"text":"First </script>","view":"head=1"},{"text":"","view":""}]})");
  const ReadPage page = page_of(options);
  CHECK(page.at({"story"}).size() == 2);
  CHECK(page.at({"story", "0", "text"}).string() == "First </script>");
  CHECK(page.at({"story", "0", "view"}).string() == "head=1");
  options.story = folder.write("story.json", R"({"steps":[{"text":1}]})");
  CHECK(error_from([&] { page_of(options); }) ==
        "this is not a story of a page\n  where: ViewOptions::story\n  help:  give a file that was "
        "saved "
        "by a page");
}

TEST_CASE("the mean in the place of a head's output is another change than zero") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The peace of the world", std::nullopt}};
  options.effects = "mean";
  const ReadPage mean = page_of(options);
  options.document.heads_off = {"2.3"};
  options.document.ablate = "mean";
  options.effects = std::nullopt;
  const double without =
      page_of(options)
          .at({"samples", "0", "predictions", "0", "likeliest", "0", "probability"})
          .number();
  options.document.heads_off.clear();
  options.document.ablate = std::nullopt;
  const ReadPage whole = page_of(options);
  // The same token is likeliest, so that its probability is the first.
  CHECK(
      mean.at({"attentions", "2", "samples", "0", "effects", "probabilities", "3", "0"}).number() ==
      doctest::Approx(without).epsilon(1e-4));
  CHECK(whole.at({"samples", "0", "predictions", "0", "likeliest", "0", "probability"}).number() !=
        doctest::Approx(without).epsilon(1e-4));
}

TEST_CASE("small weights of many keys have the whole range of colours") {
  const TemporaryFolder folder;
  const auto most = [&](const char* document) {
    return page_of(options_of(folder.write("range.json", document)))
        .at({"colours", "range", "1"})
        .number();
  };
  // As in pictures: 1 up to 12 keys, else no less than four even weights.
  CHECK(most(R"({"attention":"softmax","scores":{"zeros":[1,1,2,40]}})") == doctest::Approx(0.1));
  CHECK(most(R"({"attention":"softmax","scores":{"zeros":[1,1,2,16]}})") == doctest::Approx(0.25));
  CHECK(most(R"({"attention":"softmax","scores":{"zeros":[1,1,2,12]}})") == 1);
}

TEST_CASE("the steps of a model's scores are in the page if they are asked for") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The state of the Union", std::nullopt}, {"Peace.", std::nullopt}};
  options.stages = true;
  const ReadPage page = page_of(options);
  const JsonValue& maps = page.at({"attentions", "1", "samples", "1", "maps"});
  REQUIRE(maps.size() == 3);
  CHECK(maps.element(1).find("tensor")->string() == "scores");
  CHECK(maps.element(2).find("tensor")->string() == "masked");
  CHECK(maps.element(2).find("heads")->size() == 4);
}

TEST_CASE("layers and heads of a model are chosen, and keep their numbers") {
  ViewOptions options;
  options.document.model = data / "speeches";
  options.document.texts = {{"The state of the Union", std::nullopt}};
  const std::vector<double> all = all_cells(page_of(options));
  options.maps.selection.layers = {{PositionRange{1, 3}}};
  options.maps.selection.chosen_heads = {{PositionRange{0, 1}, PositionRange{3, 4}}};
  const ReadPage page = page_of(options);
  CHECK(page.at({"attentions"}).size() == 2);
  CHECK(page.at({"attentions", "0", "name"}).string() == "layers.1.self");
  CHECK(page.at({"attentions", "0", "heads"}).integer() == 2);
  CHECK(page.at({"attentions", "0", "numbers", "1"}).integer() == 3);
  const std::vector<double> some = all_cells(page);
  const std::size_t map = some.size() / 4;
  CHECK(std::equal(some.begin() + static_cast<std::ptrdiff_t>(map),
                   some.begin() + static_cast<std::ptrdiff_t>(2 * map),
                   all.begin() + static_cast<std::ptrdiff_t>(7 * map)));
  options.maps.selection.layers = {{PositionRange{2, 3}}};
  CHECK(page_of(options).at({"attentions", "0", "name"}).string() == "layers.2.self");
}

TEST_CASE("the steps of the score stand beside the weights if they are asked for") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(padded_document(folder));
  options.stages = true;
  const ReadPage page = page_of(options);
  const JsonValue& maps = page.at({"attentions", "0", "samples", "0", "maps"});
  REQUIRE(maps.size() == 3);
  CHECK(maps.element(1).find("tensor")->string() == "scores");
  CHECK(maps.element(1).find("diverging")->boolean());
  CHECK(maps.element(1).find("heads")->element(0).find("hidden") == nullptr);
  CHECK(maps.element(2).find("tensor")->string() == "masked");
  CHECK(maps.element(2).find("heads")->element(0).find("hidden") != nullptr);
}

TEST_CASE("all attentions of a decoder are stacks of their own, of unequal sizes") {
  const TemporaryFolder folder;
  const fs::path document = folder.write(
      "doc.json",
      R"({"attention":"decoder_layer","heads":2,"layers":2,"seed":2,"x":{"randn":[1,4,8]},)"
      R"("memory":{"randn":[1,6,8]},"feed_forward":8,"mask":{"causal":true},)"
      R"("parameters":{"init":"torch"}})");
  RunOptions run_options;
  run_options.document.input = document;
  run_options.plots = {};
  run_options.out = folder / "out";
  run(run_options);
  const ReadPage page = page_of(options_of(document));
  const ReadPage result = page_of(options_of(folder / "out" / "result.json"));
  CHECK(page.at({"attentions"}).size() == 4);
  CHECK(result.at({"attentions"}).size() == 4);
  CHECK(page.at({"attentions", "1", "stack"}).string() == "Cross-Attention");
  CHECK(page.at({"attentions", "1", "samples", "0", "keys"}).integer() == 6);
  CHECK_FALSE(page.at({"attentions", "1", "samples", "0", "same_positions"}).boolean());
  // The result's stacks follow one another.
  CHECK(result.at({"attentions", "1", "name"}).string() == "layers.1.self");
  CHECK(result.at({"attentions", "2", "name"}).string() == "layers.0.cross");
  CHECK(result.at({"attentions", "2", "title"}).string() == "Layer 0, Cross-Attention");
}

TEST_CASE("nothing that a text holds ends an element or a line of the page") {
  const TemporaryFolder folder;
  const std::string label = "</script><!--\xE2\x80\xA8\xE2\x80\xA9&\"'";
  const fs::path file = folder.write("maps.json",
                                     "{\"weights\":[[[[1,0],[0.5,0.5]]]],\"title\":\"</title><b>\","
                                     "\"labels\":{\"query\":[\"a\",\"b\"],\"key\":[\"</script><!--"
                                     "\xE2\x80\xA8\xE2\x80\xA9&\\\"'\",\"\xD7\xA9\"]}}");
  const ReadPage page = page_of(options_of(file));
  CHECK(page.at({"tokens", "1", "pieces", "0"}).string() == label);
  CHECK(page.text().find("<title>&lt;/title&gt;&lt;b&gt;</title>") != std::string::npos);
  CHECK(page.text().find("</script><!--") == std::string::npos);
  CHECK(page.text().find("\xE2\x80\xA8") == std::string::npos);
  CHECK(page.text().find("\xE2\x80\xA9") == std::string::npos);
}

TEST_CASE("the policy of the page lets its own script and style run, and nothing else") {
  const TemporaryFolder folder;
  const ReadPage page = page_of(options_of(folder.write("maps.json", R"({"weights":[[1]]})")));
  const std::string& text = page.text();
  const auto inner = [&](const std::string& begin, const std::string& end) {
    const std::size_t first = text.find(begin) + begin.size();
    REQUIRE(first >= begin.size());
    return text.substr(first, text.find(end, first) - first);
  };
  const std::string policy = inner("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  CHECK(policy == "default-src 'none'; script-src " + sha256(inner("\n<script>", "</script>")) +
                      "; style-src " + sha256(inner("<style>", "</style>")) +
                      "; img-src data: blob:; base-uri 'none'; form-action 'none'");
  for (const char* outside : {"src=", "href=", "@import", "url(http"}) {
    CAPTURE(outside);
    CHECK(text.substr(0, text.find("</head>")).find(outside) == std::string::npos);
  }
}

TEST_CASE("the same numbers give the same bytes, whatever the threads") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(padded_document(folder));
  options.cells = 300;
  options.document.threads = 1;
  const std::string first = page_of(options).text();
  CHECK(page_of(options).text() == first);
  options.document.threads = 4;
  CHECK(page_of(options).text() == first);
  options.cells = 48'000'000;
  CHECK(page_of(options).text() != first);
}

TEST_CASE("a page of more cells than its budget says what it reduced, and keeps strong keys") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(padded_document(folder));
  const ReadPage whole = page_of(options);
  options.cells = 300;
  ViewOutcome outcome;
  const ReadPage page = page_of(options, &outcome);
  CHECK(outcome.cells == 300);
  REQUIRE(outcome.notes.size() == 1);
  CHECK(outcome.notes[0] ==
        "The maps have 1200 cells in all, and the page keeps at most 300: maps of more than 9 "
        "queries or keys are reduced to cells that show the largest value of several. Of each "
        "query the strongest keys, 1 of them, are kept with their values.");
  CHECK(strings(page.at({"notes"})) == outcome.notes);
  const JsonValue& cells = page.at({"attentions", "0", "samples", "0", "maps", "0", "heads", "0"});
  CHECK(cells.find("rows")->integer() == 5);
  CHECK(cells.find("columns")->integer() == 5);
  CHECK(cells.find("strongest_keys")->integer() == 1);
  const std::size_t block = ReadPage::count(*cells.find("strongest"));
  const auto keys = page.numbers<std::uint32_t>(block);
  const auto values = page.numbers<float>(block);
  REQUIRE(keys.size() == 20);
  const auto all = whole.cells(whole.at({"attentions", "0", "samples", "0", "maps", "0"}), 0);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(keys[i] <= i);
    CHECK(static_cast<double>(values[10 + i]) == all[i * 10 + keys[i]].value());
  }
}

TEST_CASE("many cells are codes, and the largest error is stated and kept") {
  const TemporaryFolder folder;
  const fs::path document = folder.write(
      "doc.json", R"({"attention":"softmax","seed":3,"scores":{"randn":[1,2,320,320]},"scale":4})");
  RunOptions run_options;
  run_options.document.input = document;
  run_options.plots = {};
  run_options.tensors = TensorFormat::npy;
  run_options.out = folder.path();
  run(run_options);
  ViewOptions options = options_of(folder / "weights.npy");
  ViewOutcome outcome;
  const ReadPage page = page_of(options, &outcome);
  REQUIRE(outcome.notes.size() == 1);
  CHECK(outcome.notes[0] ==
        "Values are rounded to 65531 steps between 0 and the largest of their row: weights are "
        "off by at most 7.6e-06.");
  const JsonValue& map = page.at({"attentions", "0", "samples", "0", "maps", "0"});
  const Tensor weights = TensorFile::open(folder / "weights.npy").read("");
  const auto expected = weights.values<float>();
  for (std::size_t h = 0; h < 2; ++h) {
    const auto cells = page.cells(map, h);
    const double error = map.find("heads")->element(h).find("error")->number();
    CHECK(error < 7.6e-6);
    double largest = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      largest = std::max(largest, std::abs(cells[i].value() -
                                           static_cast<double>(expected[h * cells.size() + i])));
    }
    CHECK(largest == doctest::Approx(error).epsilon(1e-9));
  }
}

TEST_CASE("thumbnails follow one another, hidden cells apart") {
  const TemporaryFolder folder;
  const fs::path file = folder.write(
      "maps.json", R"({"tensors":{"weights":[[[[1,0],[0.5,0.5]],[["nan",0.25],[0,1]]]],)"
                   R"("allowed":[[[[1,0],[1,1]]]]}})");
  const ReadPage page = page_of(options_of(file));
  CHECK(page.at({"thumbnails", "side"}).integer() == 32);
  CHECK(page.block(ReadPage::count(page.at({"thumbnails", "block"}))) ==
        std::string("\xFB\xFF\x7E\x7E\xFE\xFF\0\xFB", 8));
}

TEST_CASE("numbers of both signs have colours about 0, and a range of their own") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("maps.json", R"({"weights":[[[[-1,0.5],[0,2]]]]})");
  ViewOptions options = options_of(file);
  options.cmap = "viridis";
  options.color_range = {ColorRange::Scope::given, 0, 0.5};
  const ReadPage page = page_of(options);
  CHECK(page.at({"attentions", "0", "samples", "0", "maps", "0", "diverging"}).boolean());
  CHECK(page.at({"attentions", "0", "samples", "0", "maps", "0", "range", "0"}).number() == -1);
  CHECK(page.at({"colours", "light", "weights", "name"}).string() == "viridis");
  CHECK(page.at({"colours", "light", "diverging", "name"}).string() == "RdBu_r");
  CHECK(page.at({"colours", "range", "1"}).number() == 0.5);
  CHECK(page.at({"colours", "light", "weights", "table"}).string().size() == 1536);
  CHECK(page.at({"colours", "light", "weights", "table"}).string().starts_with("440154"));
  CHECK(page.block(ReadPage::count(page.at({"thumbnails", "block"}))) ==
        std::string("\x3F\x9D\x7E\xFB", 4));
}

TEST_CASE("commands are quoted for a shell") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(padded_document(folder));
  options.commands = {{"attn-cli", "run", "it's here.json"}, {"out/result.json"}, {"unused"}};
  const ReadPage page = page_of(options);
  CHECK(page.at({"commands", "before", "0"}).string() == "attn-cli run 'it'\\''s here.json'");
  CHECK(page.at({"commands", "input"}).string() == "out/result.json");
}

TEST_CASE("a page speaks Chinese where its reader does") {
  const TemporaryFolder folder;
  const fs::path document = padded_document(folder);
  const Chinese chinese;
  const ReadPage page = page_of(options_of(document));
  CHECK(page.at({"language"}).string() == "zh");
  CHECK(page.text().find("<html lang=\"zh-CN\"") != std::string::npos);
  CHECK(page.at({"samples", "0", "title"}).string() == "样本 0");
}

TEST_CASE("a run writes a page beside each result, with the maps it computed") {
  const TemporaryFolder folder;
  const fs::path document = padded_document(folder);
  RunOptions options;
  options.document.input = document;
  options.out = folder / "out";
  options.plots = {};
  options.weights = false;
  const RunOutcome outcome = run_and_view(options, {});
  const ReadPage page(read_text(folder / "out" / "view.html"));
  CHECK(all_cells(page) == all_cells(page_of(options_of(document))));
  CHECK(page.at({"commands", "before"}).size() == 0);
  CHECK(page.at({"commands", "input"}).string() == (folder / "out" / "result.json").string());
  REQUIRE(outcome.reports.size() == 1);
  std::vector<fs::path> files;
  for (const WrittenFile& file : outcome.reports[0].files) files.push_back(file.path);
  CHECK(files ==
        std::vector<fs::path>{folder / "out" / "view.html", folder / "out" / "result.json"});
}

TEST_CASE("a page of pooled weights tells how many queries and keys its cells stand for") {
  const TemporaryFolder folder;
  RunOptions options;
  options.document.input = padded_document(folder);
  options.out = folder / "out";
  options.plots = {};
  options.document.pool = Pooling{4, Pooling::Reduction::mean};
  run_and_view(options, {});
  const ReadPage page(read_text(folder / "out" / "view.html"));
  const JsonValue& sample = page.at({"attentions", "0", "samples", "0"});
  CHECK(sample.find("queries")->integer() == 10);
  CHECK(sample.find("keys")->integer() == 10);
  const JsonValue& map = sample.find("maps")->element(0);
  CHECK(map.find("cells")->string() == "Mean of 2 to 3 × 2 to 3 Weights per Cell");
  CHECK(map.find("heads")->element(0).find("rows")->integer() == 4);
  CHECK(page.at({"attentions", "0"}).find("statistics") == nullptr);
  std::vector<double> sums(4, 0.0);
  const std::vector<double> cells = known(page.cells(map, 1));
  REQUIRE(cells.size() == 16);
  for (std::size_t i = 0; i < cells.size(); ++i) sums[i / 4] += std::max(cells[i], 0.0);
  // Rows of weights have a sum of 1, and cells are means over 2 to 3 keys.
  for (const double sum : sums) {
    CHECK(sum >= 1.0 / 3 - 1e-6);
    CHECK(sum <= 1.0 / 2 + 1e-6);
  }
}

TEST_CASE("a page of a result in a temporary folder is titled by what it shows") {
  const TemporaryFolder folder;
  const fs::path result = folder.write(
      "result.json", R"({"format":1,"attention":"softmax","tensors":{"weights":[[1]]}})");
  CHECK(page_of(options_of(result)).at({"title"}).string() == "Attention Maps of softmax");
  CHECK(page_of(options_of(folder.path())).at({"title"}).string() == "Attention Maps of softmax");
  fs::create_directory(folder / "mine");
  fs::rename(result, folder / "mine" / "result.json");
  CHECK(page_of(options_of(folder / "mine")).at({"title"}).string() == "Attention Maps of mine");
}

TEST_CASE("what holds no maps is told, with the way out") {
  const TemporaryFolder folder;
  ViewOptions options = options_of(folder.write("maps.json", R"({"weights":[[[[1]]]]})"));
  options.maps.selection.layers = {{PositionRange{0, 1}}};
  CHECK(error_from([&] { page_of(options); }) ==
        "there is one map, and no stack of layers\n"
        "  where: MapSelection::layers\n"
        "  help:  leave it out, name the tensors of the layers with MapRequest::name, such as "
        "layer{n}, or the axis of the layers with MapRequest::axes");
  options.maps.selection = {};
  options.maps.selection.chosen_heads = {{PositionRange{4, 5}}};
  CHECK(error_from([&] { page_of(options); }) ==
        "there is no head 4: there is 1 head\n"
        "  where: MapSelection::chosen_heads\n"
        "  help:  give 0");
  options = options_of(padded_document(folder));
  options.maps.selection.layers = {{PositionRange{0, 1}}};
  CHECK(error_from([&] { page_of(options); }) ==
        "there is one map, and no stack of layers\n"
        "  where: MapSelection::layers\n"
        "  help:  leave it out");
}

}  // namespace attn
