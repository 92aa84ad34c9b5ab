#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "models/gguf_model.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path formats = fs::path(ATTN_TEST_DATA) / "models" / "formats";

struct Given {
  ModelTexts texts;
  ModelOptions options;
};

// The ids of the document, or those that the tokenizer gives its texts.
Given given_by(const JsonValue& document, const ModelFolder& folder) {
  Given own;
  own.options.wanted.stages = own.options.wanted.logits = true;
  if (const JsonValue* dtype = document.find("dtype"); dtype && dtype->string() == "float64") {
    own.options.dtype = DType::float64;
  }
  if (const JsonValue* ids = document.find("token_ids")) {
    own.texts.ids = id_lists(ids);
    return own;
  }
  REQUIRE(folder.tokenizer);
  const JsonValue& texts = *document.find("text");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    own.texts.ids.emplace_back();
    for (const TextToken& token :
         folder.tokenizer->encode(texts.element(i).string(), std::nullopt, true, "")) {
      own.texts.ids.back().push_back(token.id);
    }
  }
  return own;
}

// Whether the ids are the rows of the tensor, in which rows end in −1.
bool same_ids(const std::vector<std::vector<std::int64_t>>& ids, const Tensor& want) {
  const std::size_t width = want.shape()[1];
  const Tensor numbers = want.converted(DType::int64);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::int64_t own = i < ids[b].size() ? ids[b][i] : -1;
      if (numbers.values<std::int64_t>()[b * width + i] != own) return false;
    }
  }
  return ids.size() == want.shape()[0];
}

double worst_error(const Tensor& got, const Tensor& want, double tolerance) {
  const Tensor doubles = got.converted(DType::float64);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double g = doubles.values<double>()[i], w = want.values<double>()[i];
    const double error = std::abs(g - w) / (tolerance + tolerance * std::abs(w));
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

}  // namespace

TEST_CASE("models in GGUF files, pickles, eight and four bits give what their numbers stand for") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(formats)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const JsonValue document = parse_json_by_element(read_text(entry.path() / "input.json"), 100);
    const ModelFolder folder =
        ModelFolder::open(entry.path() / document.find("model")->string(), std::nullopt, {});
    const Given own = given_by(document, folder);
    std::map<std::string, Tensor> results;
    run_model({folder.architecture, folder.weights, own.texts, own.options},
              {{.tensor = [&](const PassTensor& what, const Tensor& tensor) {
                results[what.name()] = tensor;
              }}});
    const JsonValue expected = parse_json(read_text(entry.path() / "expected.json"));
    const double tolerance = expected.find("tolerance")->find("float32")->number();
    for (const JsonMember& member : expected.find("tensors")->members()) {
      CAPTURE(member.key);
      const Tensor want = tensor_from_json(member.value, DType::float64, member.key);
      if (member.key == "token_ids") {
        CHECK(same_ids(own.texts.ids, want));
        continue;
      }
      REQUIRE(results.contains(member.key));
      REQUIRE(results.at(member.key).shape() == want.shape());
      CHECK(worst_error(results.at(member.key), want, tolerance) <= 1);
    }
    ++count;
  }
  CHECK(count == 9);
}

TEST_CASE("a GGUF file without a model that is known is refused by its architecture") {
  const auto bytes_of = [](const std::string& key, const std::string& value) {
    const auto text = [](const std::string& characters) {
      const std::uint64_t size = characters.size();
      return std::string(reinterpret_cast<const char*>(&size), sizeof size) + characters;
    };
    using namespace std::string_literals;
    return "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"s + text(key) + "\x08\0\0\0"s +
           text(value);
  };
  const TemporaryFolder folder;
  const auto open = [&](const std::string& bytes) {
    const fs::path path = folder.write("model.gguf", bytes);
    return error_from([&] { ModelFolder::open(path, std::nullopt, {}); });
  };
  const std::string place = "\n  where: " + (folder / "model.gguf").string();
  CHECK(open(bytes_of("general.architecture", "mamba"))
            .starts_with("models of the architecture \"mamba\" are not computed" + place +
                         ", general.architecture\n  help:  "));
  CHECK(open(bytes_of("general.type", "model")) ==
        "the file does not say its general.architecture" + place +
            ", general.architecture\n  help:  it holds no model, or a part of one: choose another "
            "file");
  CHECK(open(bytes_of("general.architecture", "llama")) ==
        "the file has no number under this key" + place +
            ", llama.embedding_length\n  help:  the model cannot be described without it: convert "
            "it again");
  CHECK(open("no model") == "\"" + (folder / "model.gguf").string() +
                                "\" is neither a folder nor a GGUF file\n  help:  name the folder "
                                "of a checkpoint, which holds config.json");
}

}  // namespace attn
