#include <string>

#include <doctest/doctest.h>

#include "attn/document.hpp"
#include "attn/pictures.hpp"
#include "attn/spec.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

TEST_CASE("the example of every kind runs as printed") {
  const TemporaryFolder folder;
  for (const attn::KindInfo& kind : attn::kinds()) {
    CAPTURE(kind.name);
    const Outcome example = attn_cli({"example", std::string(kind.name)});
    CHECK(example.exit_code == 0);
    const Outcome run =
        attn_cli({"run", "-", "--out", std::string(kind.name)}, folder.path(), example.output);
    CHECK(run.exit_code == 0);
    CHECK(run.errors.empty());
    const bool two_stacks = kind.name == "transformer";
    const char* heatmap = two_stacks ? "heatmap.decoder.layers.0.self.png" : "heatmap.png";
    CHECK(png_header(read_text(folder / kind.name / heatmap)).width > 0);
  }
}

TEST_CASE("the example of every topic runs as printed") {
  const TemporaryFolder folder;
  for (const attn::ExampleTopic& topic : attn::example_topics()) {
    CAPTURE(topic.name);
    const std::string name(topic.name);
    const Outcome example = attn_cli({"example", name});
    CHECK(example.output == topic.document);
    const Outcome run =
        attn_cli({"run", "-", "--plots", "none", "--out", name}, folder.path(), example.output);
    CHECK(run.exit_code == 0);
    CHECK(run.errors.empty());
  }
}

TEST_CASE("an example of an unknown kind names the nearest") {
  const Outcome example = attn_cli({"example", "multihead"});
  CHECK(example.exit_code == 2);
  CHECK(example.output.empty());
  CHECK(example.errors ==
        "attn-cli: there is no example \"multihead\"\n"
        "  where: attn-cli example\n"
        "  help:  did you mean \"multi_head\"?\n");
  CHECK(attn_cli({"example", "rotory"}).errors ==
        "attn-cli: there is no example \"rotory\"\n"
        "  where: attn-cli example\n"
        "  help:  did you mean \"rotary\"?\n");
}

TEST_CASE("an example of the folder is found by its name, and by one that is near") {
  const auto told = [](const std::string& word, const std::string& file) {
    CHECK(attn_cli({"example", word}).errors ==
          "attn-cli: there is no example \"" + word +
              "\"\n  where: attn-cli example\n"
              "  help:  write attn-cli run \"$(attn-cli example --folder)/" +
              file + "\"\n");
  };
  told("causal", "causal.json");
  told("casual", "causal.json");
  told("nadaraya_watson", "own/nadaraya_watson.json");
  told("nadaraya-watson", "own/nadaraya_watson.json");
  told("sliding_windows", "own/sliding_window.json");
}

TEST_CASE("what is a key of documents gets the example to begin with and the key") {
  const auto told = [](const std::string& word, const std::string& help) {
    CHECK(attn_cli({"example", word}).errors ==
          "attn-cli: there is no example \"" + word +
              "\"\n  where: attn-cli example\n  help:  " + help + "\n");
  };
  const std::string begin = "begin with attn-cli example sdpa, and write ";
  told("paged", begin + R"("block_table": [[…]], "valid_lens": […] into it)");
  told("kv-cache", begin + R"("past_key": …, "past_value": … into it)");
  told("GQA", begin + R"("heads": …, "kv_heads": … into it)");
  told("linear_attention", begin + R"("linear_attention": {} into it)");
  told("rope", R"(did you mean "rotary"?)");
  // Without training nothing would be dropped.
  const std::string dropout = R"("dropout": {"p": 0.1, "training": true}, "seed": 0)";
  told("dropout", begin + dropout + " into it");
  const Outcome run =
      attn_cli({"validate", "-"}, ".",
               R"({"attention": "sdpa", "query": [[1, 0], [0, 1]], )" + dropout + "}");
  CHECK(run.exit_code == 0);
}

TEST_CASE("list names every kind, and its JSON is one object") {
  const Outcome text = attn_cli({"list"});
  CHECK(text.exit_code == 0);
  for (const attn::KindInfo& kind : attn::kinds())
    CHECK(text.output.find(kind.name) != std::string::npos);
  for (const attn::PlotKindInfo& kind : attn::plot_kinds())
    CHECK(text.output.find(kind.meaning) != std::string::npos);
  const Outcome json = attn_cli({"list", "--json"});
  CHECK(json.output.starts_with("{\n  \"kinds\": [\n    {\n      \"name\": \"softmax\",\n"));
}

TEST_CASE("validate tells what is wrong on standard output and exits 3, or 4 for a missing file") {
  const TemporaryFolder folder;
  folder.write("good.json", R"({"attention":"sdpa","query":[[1]]})");
  folder.write("bad.json", R"({"attention":"sdpa","query":[[1]],"scale":"x"})");
  const Outcome good = attn_cli({"validate", "good.json"}, folder.path());
  CHECK(good.exit_code == 0);
  CHECK(good.output == "good.json: valid\n  about 26 bytes of tensors will be written\n");
  const Outcome bad = attn_cli({"validate", "good.json", "bad.json"}, folder.path());
  CHECK(bad.exit_code == 3);
  CHECK(bad.output ==
        "bad.json: 1 problem\n"
        "\n"
        "  expected a number, found a string\n"
        "    where: bad.json, /scale\n"
        "    help:  give a number\n"
        "2 documents, 1 with problems\n");
  folder.write("global.json",
               R"({"attention":"sdpa","query":[[1]],"mask":{"global":[0]},"eps":1e-6})");
  const Outcome doubtful = attn_cli({"validate", "global.json"}, folder.path());
  CHECK(doubtful.exit_code == 0);
  CHECK(doubtful.output ==
        "global.json: valid\n"
        "  about 26 bytes of tensors will be written\n"
        "  warning: mask.global has no effect without a window: it acts on what a window "
        "hides\n"
        "  warning: \"eps\" has no effect: there is no norm\n");
  CHECK(attn_cli({"validate", "global.json", "--strict"}, folder.path()).exit_code == 3);
  CHECK(attn_cli({"validate", "good.json", "--strict"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"validate", "global.json", "--json"}, folder.path())
            .output.find("\"warnings\": [\n      \"mask.global has no effect") !=
        std::string::npos);
  CHECK(attn_cli({"validate", "missing.json"}, folder.path()).exit_code == 4);
  CHECK(attn_cli({"validate"}).exit_code == 2);
}

TEST_CASE("validate prints of many documents those with problems or warnings, and their numbers") {
  const TemporaryFolder folder;
  folder.write("good.json", R"({"attention":"sdpa","query":[[1]]})");
  folder.write("bad.json", R"({"attention":"sdpa","query":[[1]],"scale":"x"})");
  folder.write("doubtful.json", R"({"attention":"sdpa","query":[[1]],"eps":1e-6})");
  CHECK(attn_cli({"validate", "good.json", "good.json"}, folder.path()).output ==
        "2 documents, 0 with problems\n");
  CHECK(attn_cli({"validate", "."}, folder.path()).output ==
        "./bad.json: 1 problem\n"
        "\n"
        "  expected a number, found a string\n"
        "    where: ./bad.json, /scale\n"
        "    help:  give a number\n"
        "./doubtful.json: valid\n"
        "  about 26 bytes of tensors will be written\n"
        "  warning: \"eps\" has no effect: there is no norm\n"
        "3 documents, 1 with problems, 1 with warnings\n");
  const Outcome quiet = attn_cli({"validate", "-q", "."}, folder.path());
  CHECK(quiet.exit_code == 3);
  CHECK(quiet.output == "");
  const std::string of_bad =
      "attn-cli: ./bad.json: expected a number, found a string\n"
      "  where: ./bad.json, /scale\n"
      "  help:  give a number\n";
  CHECK(quiet.errors == of_bad);
  CHECK(attn_cli({"validate", "-q", "--strict", "."}, folder.path()).errors ==
        of_bad + "attn-cli: ./doubtful.json: warning: \"eps\" has no effect: there is no norm\n");
  const Outcome right = attn_cli({"validate", "-q", "doubtful.json"}, folder.path());
  CHECK(right.exit_code == 0);
  CHECK(right.output + right.errors == "");
}

TEST_CASE("the schema is printed as JSON") {
  const Outcome schema = attn_cli({"schema"});
  CHECK(schema.exit_code == 0);
  CHECK(schema.output.starts_with(
      "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"));
}
