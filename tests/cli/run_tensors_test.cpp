#include <filesystem>
#include <regex>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string small_document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

Outcome run_small(const TemporaryFolder& folder, const std::string& format) {
  return attn_cli({"run", "-", "--tensors", format, "--plots", "none", "--out", "r"}, folder.path(),
                  small_document);
}

}  // namespace

TEST_CASE("tensors beside the result are named in it with file, name, shape and dtype") {
  const TemporaryFolder folder;
  const Outcome run = run_small(folder, "npz");
  CHECK(run.exit_code == 0);
  CHECK(std::regex_search(run.output, std::regex("\nWritten\n"
                                                 "  r/tensors\\.npz +[0-9.]+ (bytes|kB)\n"
                                                 "  r/result\\.json +[0-9.]+ (bytes|kB)\n$")));
  CHECK(read_text(folder / "r" / "result.json").find(R"(
  "tensors": {
    "weights": {
      "file": "tensors.npz",
      "name": "weights",
      "shape": [2,2],
      "dtype": "float32"
    },
    "output": {
      "file": "tensors.npz",
      "name": "output",
      "shape": [2,2],
      "dtype": "float32"
    }
  },
)") != std::string::npos);
}

TEST_CASE("results are inputs, whatever the format of their tensors") {
  const TemporaryFolder folder;
  run_small(folder, "json");
  std::filesystem::rename(folder / "r", folder / "json");
  for (const std::string format : {"npy", "npz", "safetensors"}) {
    CAPTURE(format);
    REQUIRE(run_small(folder, format).exit_code == 0);
    CHECK(attn_cli({"compare", "json/result.json", "r/result.json", "--rtol", "0", "--atol", "0"},
                   folder.path())
              .exit_code == 0);
    CHECK(
        attn_cli({"plot", "heatmap", "r/result.json", "--out", "w.png"}, folder.path()).exit_code ==
        0);
    folder.write("next.json",
                 R"({"attention":"sdpa","query":{"file":"r/result.json","name":"output"}})");
    CHECK(attn_cli({"run", "next.json", "--out", "next"}, folder.path()).exit_code == 0);
  }
}

TEST_CASE("an entry of a result is a tensor of a document, and what it says is checked") {
  const TemporaryFolder folder;
  run_small(folder, "npz");
  const auto document = [](const std::string& shape, const std::string& dtype) {
    return R"({"attention":"sdpa","query":{"file":"r/tensors.npz","name":"output","shape":)" +
           shape + R"(,"dtype":)" + dtype + "}}";
  };
  const auto run = [&](const std::string& text) {
    return attn_cli({"run", "-", "--plots", "none", "--out", "next"}, folder.path(), text);
  };
  CHECK(run(document("[2,2]", "\"float32\"")).exit_code == 0);
  CHECK(run(document("[2,3]", "\"float32\"")).errors ==
        "attn-cli: the tensor in the file has the shape [2,2], not [2,3]\n"
        "  where: standard input, /query/shape\n"
        "  help:  name the file that was written with this entry, or leave this out\n");
  CHECK(run(document("[2,2]", "\"float64\"")).errors ==
        "attn-cli: the tensor in the file is of float32, not \"float64\"\n"
        "  where: standard input, /query/dtype\n"
        "  help:  name the file that was written with this entry, or leave this out\n");
  CHECK(run(document("[2,2]", "7")).errors ==
        "attn-cli: the number 7 is not a type of elements\n"
        "  where: standard input, /query/dtype\n"
        "  help:  the types are \"float32\", \"float64\", \"bfloat16\", \"float16\", \"int64\" and "
        "\"bool\"\n");
}

TEST_CASE("a result whose file of tensors was replaced is refused") {
  const TemporaryFolder folder;
  run_small(folder, "npy");
  attn_cli({"run", "-", "--tensors", "npy", "--plots", "none", "--out", "other"}, folder.path(),
           R"({"attention":"sdpa","query":[[1,0],[0,1],[1,1]]})");
  std::filesystem::copy_file(folder / "other" / "output.npy", folder / "r" / "output.npy",
                             std::filesystem::copy_options::overwrite_existing);
  const auto error = [&] {
    return refused_with(3, {"compare", "r/result.json", "other/result.json"}, folder.path());
  };
  CHECK(error() ==
        "attn-cli: the file \"output.npy\" does not belong to this result: it was written with "
        "another one, or changed since\n"
        "  where: r/result.json, /tensors/output/file\n"
        "  help:  run the document of the result again, or take \"files\" out of the result if the "
        "file was changed on purpose\n");
  std::string result = read_text(folder / "r/result.json");
  write_text(folder / "r/result.json",
             result.replace(result.find("\"files\""), 7, "\"taken out\""));
  CHECK(error() ==
        "attn-cli: the tensor in the file has the shape [3,2], not [2,2]\n"
        "  where: r/result.json, /tensors/output/shape\n"
        "  help:  name the file that was written with this entry, or leave this out\n");
}

TEST_CASE("comma-separated files are named in the result, but not read back") {
  const TemporaryFolder folder;
  REQUIRE(run_small(folder, "csv").exit_code == 0);
  CHECK(read_text(folder / "r" / "weights.csv") ==
        "0.66976154,0.33023846\n0.33023846,0.66976154\n");
  CHECK(read_text(folder / "r" / "result.json").find(R"(
    "weights": {
      "files": [
        "weights.csv"
      ],
      "shape": [2,2],
      "dtype": "float32"
    },
)") != std::string::npos);
  const std::string problem =
      "attn-cli: the tensor is in comma-separated files, which are not read back\n"
      "  where: r/result.json, /tensors/weights\n"
      "  help:  write the result with --tensors json, npy, npz or safetensors\n";
  CHECK(attn_cli({"plot", "heatmap", "r/result.json", "--out", "w.png"}, folder.path()).errors ==
        problem);
  CHECK(attn_cli({"compare", "r/result.json", "r/result.json"}, folder.path()).errors == problem);
  // Its shapes are enough for this picture.
  CHECK(attn_cli({"plot", "dimensions", "r/result.json", "--out", "d.png"}, folder.path())
            .exit_code == 0);
}

TEST_CASE("a format of tensors that is not known is a wrong use") {
  const TemporaryFolder folder;
  const Outcome run = run_small(folder, "nzp");
  CHECK(run.exit_code == 2);
  CHECK(run.errors ==
        "attn-cli: invalid value \"nzp\" for --tensors\n"
        "  where: --tensors\n"
        "  help:  did you mean \"npz\"?\n");
}

TEST_CASE("results of more than 64 MB of JSON go into safetensors, unless JSON is asked for") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[1,5,1024,2]}})");
  const std::vector<std::string> words{"run", "d.json", "--plots", "none", "--no-sync"};
  const Outcome run = attn_cli(words, folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.errors ==
        "attn-cli: warning: the tensors are in tensors.safetensors: in result.json they would take "
        "about 68.3 MB; --tensors json writes them there anyway\n");
  CHECK(std::filesystem::file_size(folder / "attention_results/tensors.safetensors") > 20'000'000);
}

TEST_CASE("the keys that all heads see are written once, and read for each") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[1,2,3,2]},
    "mask":{"causal":true}})");
  folder.write("own.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[1,2,2,2]},
    "mask":{"allow":[[[[1,0],[1,1]],[[1,1],[1,1]]]]}})");
  const auto run = [&](const std::string& name) {
    REQUIRE(attn_cli({"run", name + ".json", "--plots", "none", "--tensors", "npz", "--out", name},
                     folder.path())
                .exit_code == 0);
    const std::string result = read_text(folder / name / "result.json");
    const std::size_t at = result.find("\"name\": \"allowed\"");
    const std::size_t shape = result.find("\"shape\": [", at);
    return result.substr(shape, result.find(']', shape) - shape + 1);
  };
  CHECK(run("d") == "\"shape\": [1,1,3,3]");
  CHECK(run("own") == "\"shape\": [1,2,2,2]");
  CHECK(attn_cli({"plot", "mask", "d", "--head", "1", "--out", "m.png"}, folder.path()).exit_code ==
        0);
  const std::string drawn = attn_cli({"show", "d", "--head", "1"}, folder.path()).output;
  CHECK(drawn.find("0 @@1.00@@\n") != std::string::npos);
  folder.write("whole.json",
               R"({"allowed":[[[[1,0,0],[1,1,0],[1,1,1]],[[1,0,0],[1,1,0],[1,1,1]]]]})");
  CHECK(attn_cli({"compare", "d", "whole.json"}, folder.path()).exit_code == 0);
}
