#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

using Fields = std::set<std::string>;

// The place of a field: "a" of "a[].b", nothing for a field of the whole.
std::string parent_of(const std::string& field) {
  const std::size_t dot = field.rfind('.');
  return dot == std::string::npos ? "" : field.substr(0, dot);
}

// All fields within a value, by paths such as "tensors[].name"; a list around everything has no
// name.
void collect(const nlohmann::json& value, const std::string& path, Fields& fields) {
  if (value.is_object()) {
    for (const auto& member : value.items()) {
      const std::string field = path.empty() ? member.key() : path + '.' + member.key();
      fields.insert(field);
      collect(member.value(), field, fields);
    }
  } else if (value.is_array()) {
    for (const nlohmann::json& element : value) {
      collect(element, path.empty() ? "" : path + "[]", fields);
    }
  }
}

// The fields that a section of the page names in the first two cells of its tables, of which one
// with a dot or brackets is a path.
std::map<std::string, Fields> documented(const std::string& name) {
  std::map<std::string, Fields> sections;
  std::istringstream page(read_text(std::filesystem::path(ATTN_DOCS) / name));
  std::string section;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (!line.starts_with("| `")) continue;
    const std::size_t names_end = line.find(" | ");
    for (std::size_t at = 0; (at = line.find('`', at)) != std::string::npos;) {
      const std::size_t end = line.find('`', at + 1);
      const std::string word = line.substr(at + 1, end - at - 1);
      const bool path = word.find('.') != std::string::npos && word.find('/') == std::string::npos;
      if (at < names_end || path) sections[section].insert(word);
      at = end + 1;
    }
  }
  return sections;
}

struct Report {
  const char* command;  // the section of the page
  const char* arguments;
};

// Together they print every field of the page.
constexpr Report reports[] = {
    {"run", "mask.json --out mask"},
    {"run", "--model data/speeches --text 'The people' --generate 2 --plots none --out model"},
    {"run", "--model data/speeches --text 'The people' --heads-off 1.1 --plots none --out off"},
    {"run",
     "--model " ATTN_TEST_DATA "/models/cases/bert_classifies/checkpoint --text 'the film' --plots "
     "none --out classes"},
    {"run",
     "--model " ATTN_TEST_DATA "/models/sentences/folder --text 'the film' --text 'a song' --plots "
     "none --out similar"},
    {"run", "mask.json --attention sdpa --attention dot_product --plots none --out kinds"},
    {"batch", "mask.json missing.json --plots none --out many"},
    {"batch", "mask.json --plots none --shard 0/2 --out shards"},
    {"explain", "mask.json"},
    {"explain", "mask/result.json"},
    {"explain", "--model data/speeches --text 'The people of' --layers 1 --head 1"},
    {"explain", "--model data/speeches --text 'The people of' --layers 2 --head 0 --query 2 --why"},
    {"explain", "--model data/speeches --text 'The people of' --logit"},
    {"explain", "--model data/speeches --text 'The people of' --logit 3 --against-logit 5"},
    {"explain",
     "--model " ATTN_TEST_DATA "/models/cases/bert_classifies/checkpoint --text 'the film' "
     "--logit"},
    {"plot", "heatmap mask/result.json --dpi 40 --caption --out mask.png"},
    {"show", "mask"},
    {"view", "mask --out mask.html"},
    {"heads", "mask"},
    {"heads", "--model data/speeches --text 'The people of' --without-heads-of 1"},
    {"heads", "--model data/speeches --text 'The peace of' --patch 'The war of'"},
    {"heads", "--model data/speeches --text 'The people of' --against data/speeches"},
    {"heads", "--model data/speeches --text 'The people of' --generate 1 --parts first=0:3"},
    {"heads", "--model data/speeches --text 'The people of' --analyses lens,induction"},
    {"heads",
     "--model data/speeches --text 'The peace of' --patch 'The war of' --sweep residual,keys"},
    {"heads",
     "--model data/speeches --text 'The peace of' --patch 'The war of' --paths 1.0,logits"},
    {"heads",
     "--model data/speeches --text 'The peace of' --patch 'The war of' --sweep heads,keys "
     "--attribution"},
    {"heads",
     "--model data/speeches --text 'The people of' --analyses gradients --logit 3 "
     "--against-logit 5 --steps 2 --baseline 7"},
    {"heads", "--model data/speeches --text 'The people of' --layers 3 --head 3"},
    {"heads", "--model data/speeches --corpus pairs.jsonl --sweep residual --out pairs"},
    {"heads",
     "--model data/speeches --text 'The people of' --analyses lens,loss --logit 3 "
     "--against-logit 5"},
    {"circuits", "data/speeches --tokens 3 --out circuits"},
    {"compare", "mask kinds/dot_product --seen-only"},
    {"compare", "mask model"},
    {"compare", "one.json other.json"},
    {"validate", "mask.json"},
    {"validate", "wrong.json"},
    {"model", "data/speeches"},
    {"model", ATTN_TEST_DATA "/models/pictures/swin_shifted_windows/checkpoint"},
    {"tokens", "--model data/speeches --text The"},
    {"bench", "--shape 1,1,8,8,8"},
    {"bench", "--attention additive --shape 1,1,8,8,8"},
    {"list", ""},
};

}  // namespace

TEST_CASE("reports in JSON have the fields that the documents about them name") {
  const TemporaryFolder folder;
  folder.write("mask.json", R"({"attention": "sdpa", "seed": 1, "query": {"randn": [1, 2, 3, 4]},
                               "mask": {"causal": true}, "labels": ["a", "b", "c"],
                               "valid_lens": {"query": [2], "key": [2]}})");
  folder.write("wrong.json", R"({"attention": "sdpaa"})");
  folder.write("one.json", R"({"output": [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]})");
  folder.write("other.json", R"({"output": [[[[5, 6], [7, 8]], [[1, 2], [3, 4]]]]})");
  folder.write("pairs.jsonl", R"({"text": "The peace of", "patch": {"text": "The war of"}})");
  REQUIRE(shell("cp -rL \"$(\"$ATTN\" example --folder)\" data", folder.path()).exit_code == 0);
  std::map<std::string, Fields> printed;
  for (const Report& report : reports) {
    const Outcome outcome =
        shell(std::string("\"$ATTN\" ") + report.command + ' ' + report.arguments + " --json",
              folder.path());
    CAPTURE(report.arguments);
    CAPTURE(outcome.errors);
    REQUIRE_FALSE(outcome.output.empty());
    collect(nlohmann::json::parse(outcome.output), "", printed[report.command]);
  }
  for (const std::string name : {"inside/json.md", "inside/json.zh-CN.md"}) {
    CAPTURE(name);
    for (const auto& [command, fields] : printed) {
      const auto& shown = command;  // clang 14 captures no structured binding
      CAPTURE(shown);
      const Fields named = documented(name)[command];
      Fields detailed{""};  // whose fields the page lists
      for (const std::string& field : named) {
        CAPTURE(field);
        CHECK(fields.contains(field));
        detailed.insert(parent_of(field));
      }
      for (const std::string& field : fields) {
        CAPTURE(field);
        CHECK(
            (named.contains(field) || field == "warnings" || !detailed.contains(parent_of(field))));
      }
    }
  }
}

TEST_CASE("answers of a batch have the fields that the documents about them name") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"attention": "sdpa", "query": [[1]]})");
  const Outcome outcome =
      attn_cli({"batch", "a.json", "missing.json", "--out", "-"}, folder.path());
  std::istringstream lines(outcome.output);
  Fields fields;
  for (std::string line; std::getline(lines, line);) {
    const auto answer = nlohmann::json::parse(line);
    CHECK(answer.contains("item"));
    CHECK(answer.contains("input"));
    for (const auto& member : answer.items()) fields.insert(member.key());
  }
  for (const std::string name : {"inside/json.md", "inside/json.zh-CN.md"}) {
    CAPTURE(name);
    const Fields named = documented(name)["batch --out -"];
    CHECK(named == Fields{"error", "input", "item"});
    for (const std::string& field : named) {
      CAPTURE(field);
      CHECK(fields.contains(field));
    }
  }
}

TEST_CASE("an error in JSON has the fields that the documents about them name") {
  Fields fields;
  collect(nlohmann::json::parse(attn_cli({"run", "--json", "missing.json"}).output), "", fields);
  for (const auto& [name, section] :
       {std::pair{"inside/json.md", "All"}, {"inside/json.zh-CN.md", "共有"}}) {
    const auto& shown = name;  // clang 14 captures no structured binding
    CAPTURE(shown);
    Fields named = documented(name)[section];
    named.erase("warnings");
    CHECK(named == fields);
  }
}
