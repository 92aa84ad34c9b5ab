#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string pooled =
    R"({"attention":"sdpa","query":{"randn":[40,8]},"seed":3,"mask":{"causal":true}})";

Outcome run(const TemporaryFolder& folder, std::vector<std::string> flags,
            const std::string& input = pooled) {
  std::vector<std::string> arguments{"run", "-", "--out", "r", "--dpi", "40"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return attn_cli(arguments, folder.path(), input);
}

std::string errors(std::vector<std::string> flags, const std::string& input = pooled) {
  const TemporaryFolder folder;
  return run(folder, std::move(flags), input).errors;
}

std::vector<float> tensor(const TemporaryFolder& folder, const std::string& name) {
  const auto file = attn::TensorFile::open(folder / "r" / "result.json");
  const attn::Tensor read = file.read(name).converted(attn::DType::float32);
  const auto values = read.values<float>();
  return {values.begin(), values.end()};
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE(
    "every picture of pooled weights says what a cell is and names its bins by their positions") {
  const TemporaryFolder folder;
  REQUIRE(
      run(folder, {"--pool", "4", "--plots", "heatmap,grid,lines,strip,mask", "--format", "svg"})
          .exit_code == 0);
  for (const std::string kind : {"heatmap", "grid", "lines", "strip"}) {
    CAPTURE(kind);
    const std::string picture = text_of(folder / ("r/" + kind + ".svg"));
    CHECK(picture.find(">Mean of 10 × 10 Weights per Cell<") != std::string::npos);
    CHECK(picture.find(">K_11<") != std::string::npos);
  }
  CHECK(text_of(folder / "r/mask.svg").find("Mask of 4 queries × 4 keys.") != std::string::npos);
}

TEST_CASE("--pool N puts a map of bins in the place of the weights") {
  const TemporaryFolder folder;
  REQUIRE(run(folder, {"--plots", "none"}).exit_code == 0);
  const std::vector<float> weights = tensor(folder, "weights");
  const Outcome pooled = run(folder, {"--pool", "4"});
  REQUIRE(pooled.exit_code == 0);
  CHECK(pooled.output.find("\nPooled weights of sample 0, head 0 (rows: queries, columns: keys)\n"
                           "         0    10    20    30\n"
                           "  0   0.10  0.00  0.00  0.00\n") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "r" / "heatmap.png"));
  const auto names = attn::TensorFile::open(folder / "r" / "result.json").names();
  CHECK(names == std::vector<std::string>{"pooled_weights", "pooled_allowed", "output"});
  const std::vector<float> cells = tensor(folder, "pooled_weights");
  const std::vector<float> allowed = tensor(folder, "pooled_allowed");
  REQUIRE(cells.size() == 16);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < 10; ++i) {
        for (std::size_t j = 0; j < 10; ++j) sum += weights[(10 * row + i) * 40 + 10 * column + j];
      }
      CHECK(std::abs(cells[4 * row + column] - sum / 100) <= 1e-7);
      CHECK(allowed[4 * row + column] == (column <= row ? 1 : 0));
    }
  }
  CHECK(attn_cli({"plot", "heatmap", "r/result.json", "--out", "w.png"}, folder.path()).exit_code ==
        0);
}

TEST_CASE("the bins of a decoder's memory keep their own labels in a result") {
  const TemporaryFolder folder;
  const Outcome outcome = run(folder, {"--pool", "2", "--plots", "none"},
                              R"({"attention":"decoder_layer","feed_forward":4,"seed":1,
    "x":{"rand":[4,4]},"memory":{"rand":[6,4]},"parameters":{"init":"torch"},
    "mask":{"causal":true},
    "labels":{"query":["a","b","c","d"],"key":["u","v","w","x","y","z"]}})");
  REQUIRE(outcome.exit_code == 0);
  CHECK(read_text(folder / "r" / "result.json")
            .find("\"key\": [\n      \"u\",\n      \"x\"\n    ]") != std::string::npos);
  for (const char* name : {"self.pooled_weights", "cross.pooled_weights"}) {
    CAPTURE(name);
    CHECK(attn_cli({"plot", "heatmap", "r/result.json", "--name", name, "--out", "w.svg"},
                   folder.path())
              .exit_code == 0);
  }
}

TEST_CASE("without weights a map of bins is left out whole, with what is seen of it") {
  const TemporaryFolder folder;
  REQUIRE(run(folder, {"--pool", "4", "--no-weights", "--plots", "heatmap"}).exit_code == 0);
  const auto names = attn::TensorFile::open(folder / "r" / "result.json").names();
  CHECK(names == std::vector<std::string>{"output"});
}

TEST_CASE("a document asks for pooled weights too, and the flag goes before it") {
  const TemporaryFolder folder;
  const std::string pool = R"({"attention":"sdpa","query":{"randn":[40,8]},"seed":3,"pool":)";
  REQUIRE(run(folder, {"--plots", "none"}, pool + R"({"size":5,"reduction":"max"}})").exit_code ==
          0);
  const std::vector<float> largest = tensor(folder, "pooled_weights");
  CHECK(largest.size() == 25);
  REQUIRE(run(folder, {"--plots", "none", "--pool", "5,max"}, pool + "8}").exit_code == 0);
  CHECK(tensor(folder, "pooled_weights") == largest);
  REQUIRE(run(folder, {"--plots", "none"}, pool + "8}").exit_code == 0);
  CHECK(tensor(folder, "pooled_weights").size() == 64);
}

TEST_CASE("what --pool does not take, and what does not go with bins, is told") {
  CHECK(errors({"--pool", "0"}) ==
        "attn-cli: invalid value \"0\" for --pool\n  where: --pool\n"
        "  help:  give a whole number of at least 1\n");
  CHECK(errors({"--pool", "max"}) ==
        "attn-cli: invalid value \"max\" for --pool\n  where: --pool\n"
        "  help:  give a number of bins, and optionally mean or max, such as 1024,max\n");
  CHECK(errors({"--pool", "4,5"}).starts_with("attn-cli: invalid value \"5\" for --pool\n"));
  CHECK(errors({"--pool", "4", "--keys", "0:3"}) ==
        "attn-cli: --keys chooses positions, but pooled weights have bins\n  where: --keys\n"
        "  help:  leave out --keys, or the document's \"pool\" and --pool\n");
  CHECK(errors({"--pool", "4", "--plots", "stages"}) ==
        "attn-cli: the stages of pooled weights cannot be drawn\n  where: --plots\n"
        "  help:  leave out stages, or the document's \"pool\" and --pool\n");
  CHECK(errors({}, R"({"attention":"sdpa","query":[[1]],"pool":{"reduction":"max"}})") ==
        "attn-cli: pool has no size\n  where: standard input, /pool/size\n"
        "  help:  give the largest number of bins of queries and keys, such as 1024\n");
  CHECK(errors({}, R"({"attention":"sdpa","query":[[1]],"pool":{"size":4,"reduction":"men"}})") ==
        "attn-cli: unknown reduction \"men\"\n  where: standard input, /pool/reduction\n"
        "  help:  did you mean \"mean\"?\n");
}

TEST_CASE("weights that no memory holds are refused with their size and a way out") {
  const TemporaryFolder folder;
  // Half a gigabyte of zeros that take no space on a disk.
  const std::string make =
      R"(printf '\223NUMPY\001\000\166\000' >q.npy && )"
      R"(printf "%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (4194304, 4), }" >>q.npy && )"
      R"(truncate -s $((128 + 4194304 * 16)) q.npy && )"
      R"(echo '{"attention":"sdpa","query":{"file":"q.npy"}}' >doc.json && "$ATTN" run doc.json)";
  const Outcome refused = shell(make, folder.path());
  CHECK(refused.exit_code == 3);
  CHECK(refused.errors.starts_with(
      "attn-cli: the weights [4194304,4194304] would take 70.4 TB, more than the memory of this "
      "machine, "));
  CHECK(refused.errors.ends_with(
      "\n  where: doc.json\n  help:  replace them by a map of bins with --pool 1024, or leave "
      "them out with --no-weights\n"));
  CHECK_FALSE(std::filesystem::exists(folder / "attention_results"));
}

TEST_CASE("without weights and pictures of them none are computed") {
  const TemporaryFolder folder;
  REQUIRE(run(folder, {"--no-weights", "--plots", "dimensions"}).exit_code == 0);
  CHECK(attn::TensorFile::open(folder / "r" / "result.json").names() ==
        std::vector<std::string>{"output"});
  // Beyond 2^28 weights a heatmap that was not asked for is not worth them.
  const Outcome large =
      run(folder, {"--no-weights"}, R"({"attention":"sdpa","query":{"zeros":[16385,1]}})");
  CHECK(large.exit_code == 0);
  CHECK(large.errors ==
        "attn-cli: warning: the heatmap of so many weights is left out: ask for a map of bins with "
        "--pool 1024\n");
  CHECK_FALSE(std::filesystem::exists(folder / "r" / "heatmap.png"));
}
