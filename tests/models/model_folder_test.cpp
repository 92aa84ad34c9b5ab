#include "models/model_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// A copy of a recorded checkpoint without what it says about texts that its model writes.
class WritingFolder {
 public:
  explicit WritingFolder(const std::string& recorded = "glm4_branch_norms") {
    const fs::path original = fs::path(ATTN_TEST_DATA) / "models" / "cases" / recorded;
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy(original / "checkpoint" / name, folder_.path());
    }
  }

  /// Adds members after that text of config.json.
  void add_to_config(const std::string& members, const std::string& behind = "{") const {
    std::string config = read_text(folder_ / "config.json");
    config.insert(config.find(behind) + behind.size(), members + ",");
    folder_.write("config.json", config);
  }
  fs::path write(std::string_view name, std::string_view text) const {
    return folder_.write(name, text);
  }

  ModelFolder open() const { return ModelFolder::open(folder_.path(), std::nullopt, {}); }
  std::vector<std::int64_t> ends() const { return end_tokens(open(), {}); }

 private:
  TemporaryFolder folder_;
};

using Ids = std::vector<std::int64_t>;

TEST_CASE("an answer ends with the tokens of the generation's file, or else of the configuration") {
  const WritingFolder folder;
  CHECK(folder.ends().empty());
  folder.add_to_config(R"("eos_token_id": 7)");
  CHECK(folder.ends() == Ids{7});
  folder.write("generation_config.json", R"({"eos_token_id": null})");
  CHECK(folder.ends() == Ids{7});
  folder.write("generation_config.json", R"({"eos_token_id": [3, 5]})");
  CHECK(folder.ends() == Ids{3, 5});
}

TEST_CASE("an end token of null leaves that of the texts' part") {
  const WritingFolder folder("qwen3_5_text_part");
  folder.add_to_config(R"("eos_token_id": null)");
  folder.add_to_config(R"("eos_token_id": [4])", R"("text_config": {)");
  CHECK(folder.ends() == Ids{4});
}

TEST_CASE("a broken file about written texts is named where it is read, and refuses nothing else") {
  const WritingFolder folder;
  const fs::path generation =
      folder.write("generation_config.json", R"({"eos_token_id": [1, "x"]})");
  const ModelFolder model = folder.open();
  CHECK(error_from([&] { end_tokens(model, {}); }) ==
        "expected a number, found a string\n  where: " + generation.string() +
            ", /eos_token_id/1\n  help:  give a number");
  folder.write("generation_config.json", "[1]");
  CHECK(error_from([&] { end_tokens(folder.open(), {}); }) ==
        "expected an object, found an array\n  where: " + generation.string() +
            "\n  help:  give an object");
  folder.write("generation_config.json", "{");
  CHECK(error_from([&] { end_tokens(folder.open(), {}); }).find(generation.string()) !=
        std::string::npos);
  const fs::path settings = folder.write("tokenizer_config.json", "[");
  CHECK(error_from([&] { has_chat_template(folder.open(), {}); }).find(settings.string()) !=
        std::string::npos);
}

TEST_CASE("a chat template is in a file of its own or in the tokenizer's settings") {
  const WritingFolder folder;
  CHECK(!has_chat_template(folder.open(), {}));
  folder.write("tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  CHECK(has_chat_template(folder.open(), {}));
  folder.write("tokenizer_config.json", "{}");
  CHECK(!has_chat_template(folder.open(), {}));
  folder.write("chat_template.jinja", "{{ messages }}");
  CHECK(has_chat_template(folder.open(), {}));
}

}  // namespace
}  // namespace attn
