#include <cmath>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "document/document.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"
#include "models/partly_with_sinks.hpp"
#include "temporary_folder.hpp"

// Statistics of rows as they come against those of whole maps.

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

bool near(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * (1 + std::abs(b));
}

}  // namespace

TEST_CASE("statistics of rows are those of whole maps") {
  // Two samples of different lengths, a window, positions of every sort.
  for (const std::string name : {"bert_pairs", "mistral_window", "llama_grouped", "bloom_alibi_f16",
                                 "gemma3_text_bf16", "gpt_oss_sinks_bf16", "mpnet_buckets"}) {
    CAPTURE(name);
    HeadsCorpusOptions options;
    options.reach = 3;
    options.average = 4;
    options.heads.document.input = cases / name / "input.json";
    options.heads.document.dtype = DType::float64;
    options.heads.document.threads = 1;
    const Document document = open_document(options.heads.document);
    Plan plan = plan_of_statistics(document, 1);
    CHECK_FALSE(reads_by_rows(plan));
    std::vector<TextNumbers> expected, found;
    compute_maps(plan, options.heads.counting, true,
                 [&](const AttentionMap& map) { expected.push_back(text_numbers(map, options)); });
    ask_for_rows(plan);
    walk_rows(plan, options.heads.counting, &options, true,
              [&](const TextNumbers& numbers) { found.push_back(numbers); });
    REQUIRE(found.size() == expected.size());
    const bool one_sample = model_of(plan)->texts.ids.size() == 1;
    for (std::size_t at = 0; at < found.size(); ++at) {
      CHECK(found[at].name == expected[at].name);
      REQUIRE(found[at].values.size() == expected[at].values.size());
      for (std::size_t h = 0; h < found[at].values.size(); ++h) {
        for (std::size_t s = 0; s < head_statistic_count; ++s) {
          CAPTURE(head_statistics()[s].name);
          CHECK(near(found[at].values[h][s], expected[at].values[h][s]));
        }
        // A padded sample's rows behind its end count in the means of whole maps.
        for (std::size_t i = 0; one_sample && i < found[at].by_offset[h].size(); ++i) {
          CHECK(near(found[at].by_offset[h][i], expected[at].by_offset[h][i]));
        }
        const Tensor &first = found[at].first[h], &wanted = expected[at].first[h];
        REQUIRE(first.shape() == Shape{4, 4});
        REQUIRE(wanted.shape() == Shape{4, 4});
        for (std::size_t i = 0; i < 16; ++i) {
          CHECK(near(first.values<double>()[i], wanted.values<double>()[i]));
        }
      }
    }
  }
}

TEST_CASE("only the layers that have sinks have a share of them, by rows and by maps") {
  const TemporaryFolder folder;
  write_model_partly_with_sinks(folder);
  HeadsCorpusOptions options;
  options.heads.document.input =
      folder.write("two_texts.json", R"({"model": "model", "architecture": "row.json",
                            "token_ids": [[5, 9, 12, 4], [7, 3]]})");
  options.heads.document.threads = 1;
  const Document document = open_document(options.heads.document);
  Plan plan = plan_of_statistics(document, 1);
  std::vector<bool> by_maps, by_rows;
  const auto has_share = [](const TextNumbers& numbers) {
    return !std::isnan(numbers.values[0][static_cast<std::size_t>(HeadStatistic::sink_share)]);
  };
  compute_maps(plan, options.heads.counting, false, [&](const AttentionMap& map) {
    by_maps.push_back(has_share(text_numbers(map, options)));
  });
  ask_for_rows(plan);
  walk_rows(plan, options.heads.counting, &options, false,
            [&](const TextNumbers& numbers) { by_rows.push_back(has_share(numbers)); });
  CHECK(by_maps == std::vector<bool>{false, true});
  CHECK(by_rows == std::vector<bool>{false, true});
}

}  // namespace attn
