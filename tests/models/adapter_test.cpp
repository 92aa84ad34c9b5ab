#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"
#include "attn/run.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/model_folder.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Adapters that peft wrote, and logits of the models that its merge_and_unload() makes
// (adapters/README.md).
const fs::path adapters = fs::path(ATTN_TEST_DATA) / "models" / "adapters";
const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

fs::path model_of(const fs::path& adapter) {
  return cases / parse_json(read_text(adapter / "case.json")).find("case")->string() / "checkpoint";
}

Tensor logits_with(const fs::path& adapter) {
  const TemporaryFolder folder;
  const JsonValue file = parse_json(read_text(adapter / "case.json"));
  const JsonValue ids = file.find("token_ids")->element(0);
  RunOptions options;
  options.document.model = model_of(adapter);
  options.document.adapter = adapter;
  options.document.logits = true;
  std::vector<std::int64_t>& text = options.document.token_ids.emplace_back();
  for (std::size_t i = 0; i < ids.size(); ++i) text.push_back(ids.element(i).integer());
  options.out = folder / "out";
  options.plots = {};
  run(options);
  return TensorFile::open(folder / "out/result.json").read("logits").converted(DType::float64);
}

TEST_CASE(
    "an adapter merged when it is read gives the logits of the model "
    "that peft merges") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(adapters)) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path());
    const Tensor got = logits_with(entry.path());
    const Tensor expected = TensorFile::open(entry.path() / "expected.safetensors")
                                .read("logits")
                                .converted(DType::float64);
    REQUIRE(got.size() == expected.size());
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double wanted = expected.values<double>()[i];
      most = std::max(most, std::abs(got.values<double>()[i] - wanted));
      largest = std::max(largest, std::abs(wanted));
    }
    CHECK(most <= 3e-5 * largest);
    ++count;
  }
  CHECK(count == 3);
}

/// A copy of an adapter whose settings are changed.
struct ChangedAdapter {
  explicit ChangedAdapter(const std::string& name) {
    fs::copy(adapters / name, folder.path(), fs::copy_options::recursive);
  }

  std::string error(const std::string& from, const std::string& to) const {
    const fs::path path = folder / "adapter_config.json";
    const std::string before = read_text(path);
    std::string after = before;
    const std::size_t at = after.find(from);
    REQUIRE(at != std::string::npos);
    write_text(path, after.replace(at, from.size(), to));
    std::string problem = error_from(
        [&] { ModelFolder::open(model_of(folder.path()), std::nullopt, {}, folder.path()); });
    write_text(path, before);
    return problem;
  }

  TemporaryFolder folder;
};

TEST_CASE("what cannot be merged is refused by its name") {
  const ChangedAdapter adapter("llama_patterns");
  const std::string place = "\n  where: " + (adapter.folder / "adapter_config.json").string();
  CHECK(adapter.error(R"("peft_type": "LORA")", R"("peft_type": "IA3")") ==
        "adapters of the kind \"IA3\" are not merged" + place +
            ", /peft_type\n  help:  give one of the kind LORA");
  const std::string help =
      "\n  help:  merge it with merge_and_unload() of peft, and save the model";
  CHECK(adapter.error(R"("use_dora": false)", R"("use_dora": true)") ==
        "an adapter with \"use_dora\" is not merged" + place + ", /use_dora" + help);
  CHECK(adapter.error(R"("init_lora_weights": true)", R"("init_lora_weights": "pissa")") ==
        "an adapter with \"init_lora_weights\" is not merged" + place + ", /init_lora_weights" +
            help);
  CHECK(error_from([&] {
          ModelFolder::open(cases / "gpt2_bare_names/checkpoint", std::nullopt, {},
                            adapter.folder.path());
        }) ==
        "the adapter changes \"model.layers.0.mlp.down_proj.weight\", "
        "which the model does not "
        "have\n  where: " +
            (adapter.folder / "adapter_model.safetensors").string() +
            "\n  help:  give the adapter's own model");
  CHECK(error_from([&] {
          ModelFolder::open(cases / "qwen2_bias_bf16/checkpoint", std::nullopt, {},
                            adapter.folder.path());
        }).find(" do not fit ") != std::string::npos);
  CHECK(error_from([&] { ModelFolder::open(adapter.folder.path(), std::nullopt, {}); },
                   ErrorKind::file) ==
        "there is no config.json in the folder \"" + adapter.folder.path().string() +
            "\"\n  help:  it holds only an adapter: name its model, and "
            "the adapter with "
            "DocumentOptions::adapter");
}

}  // namespace
}  // namespace attn
