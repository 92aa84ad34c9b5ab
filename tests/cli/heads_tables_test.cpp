#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string table_model = std::string(ATTN_DATA) + "/speeches";

Outcome tabled_heads(std::vector<std::string> words, const std::filesystem::path& folder) {
  words.insert(words.begin(), {"heads", "--model", table_model});
  return attn_cli(words, folder);
}

// The first cells of the lines after the headings "head  previous  duplicate  induction".
std::vector<std::string> induction_heads(const std::string& output) {
  std::vector<std::string> names;
  std::size_t at = output.find("duplicate  induction\n");
  REQUIRE(at != std::string::npos);
  for (at = output.find('\n', at) + 1; output.compare(at, 2, "  ") == 0;
       at = output.find('\n', at) + 1) {
    names.push_back(output.substr(at + 2, output.find(' ', at + 2) - at - 2));
  }
  return names;
}

}  // namespace

TEST_CASE("the test on random tokens is sorted and cut as the table of statistics is") {
  const TemporaryFolder folder;
  const auto first = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "--text", "The people of the world", "--analyses", "induction", "--statistics", "none"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = tabled_heads(words, folder.path());
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output.find("entropy") == std::string::npos);
    return induction_heads(outcome.output);
  };
  const std::vector<std::string> all = first({});
  CHECK(all.size() == 16);
  CHECK(all.front() == "0.0");
  CHECK(first({"--top", "2"}).size() == 2);
  CHECK(first({"--sort", "previous", "--top", "1"}) == std::vector<std::string>{"1.1"});
  const std::vector<std::string> sorted = first({"--sort", "induction_score"});
  CHECK(sorted.size() == 16);
  CHECK(first({"--top", "2"}) == std::vector<std::string>(sorted.begin(), sorted.begin() + 2));
}

TEST_CASE("comma-separated values are the tables that were asked for, and stand in the folder") {
  const TemporaryFolder folder;
  const std::vector<std::string> text{"--text", "The people of the"};
  const auto csv = [&](const std::vector<std::string>& more, const char* file) {
    std::vector<std::string> words = text;
    words.insert(words.end(), {"--csv", "--out", "out"});
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = tabled_heads(words, folder.path());
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(read_text(folder / "out" / file) == outcome.output);
    return outcome.output.substr(0, outcome.output.find('\n'));
  };
  CHECK(csv({"--patch", "The peace of the", "--logit", " world", "--against-logit", " people"},
            "patches.csv") == "part,place,own,source,difference,effect,share");
  CHECK(csv({"--patch", "The peace of the", "--paths", "logits"}, "paths.csv") ==
        "from,to,input,own,source,difference,effect,share");
  CHECK(csv({"--without-heads-of", "0,1"}, "differences.csv") ==
        "layer,head,likeliest,probability,probability_without,likeliest_without,divergence");
  CHECK(csv({}, "heads.csv") == "layer,stack,head,statistic,value");
  write_text(folder / "texts.jsonl",
             "{\"text\": \"The people of the\", \"patch\": {\"text\": \"The peace of the\"}}\n");
  const Outcome corpus = tabled_heads(
      {"--corpus", "texts.jsonl", "--sweep", "heads", "--csv", "--out", "pairs"}, folder.path());
  CHECK(corpus.exit_code == 0);
  CHECK(read_text(folder / "pairs/patches.csv") == corpus.output);
  CHECK(corpus.output.starts_with("part,place,position,effect,standard_error,"));
}

TEST_CASE("means over a corpus have their standard errors, and its files the chosen statistics") {
  const TemporaryFolder folder;
  write_text(folder / "texts.txt",
             "The people of the world.\nThe peace of the union and the law.\nThe war.\n");
  const Outcome table = tabled_heads(
      {"--corpus", "texts.txt", "--statistics", "previous,self", "--out", "out"}, folder.path());
  CHECK(table.exit_code == 0);
  CHECK(table.output.find(" ± 0.") != std::string::npos);
  const std::string most = read_text(folder / "out" / "most.csv");
  CHECK(most.find(",previous,") != std::string::npos);
  CHECK(most.find(",entropy,") == std::string::npos);
  const nlohmann::json told = nlohmann::json::parse(
      tabled_heads({"--corpus", "texts.txt", "--out", "out", "--json"}, folder.path()).output);
  const nlohmann::json& attention = told["attentions"][1];
  CHECK(attention["standard_errors"].size() == 4);
  const double error = attention["standard_errors"][1]["previous"].get<double>();
  const std::string rows = read_text(folder / "out" / "heads.csv");
  const std::size_t at = rows.find("1,self,1,previous,");
  REQUIRE(at != std::string::npos);
  const std::size_t second = rows.find(',', at + 18) + 1;
  CHECK(std::stod(rows.substr(second)) == doctest::Approx(error).epsilon(1e-12));
}
