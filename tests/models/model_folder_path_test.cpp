#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <stdlib.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "models/model_folder.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Variables of the environment, as they were before when this goes.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<const char*, std::string>>& values) {
    for (const char* name :
         {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS", "HOME"}) {
      const char* before = getenv(name);
      before_.emplace_back(name, before == nullptr ? "" : before);
      unsetenv(name);
    }
    for (const auto& [name, value] : values) setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::pair<const char*, std::string>> before_;
};

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_text(file, text);
}

// A cache with two models and a store with one.
struct Places {
  TemporaryFolder folder;
  fs::path hub = folder / "hub", store = folder / "ollama";

  Places() {
    put(hub / "models--tiny--one" / "refs" / "main", "11aa\n");
    put(hub / "models--tiny--one" / "refs" / "v1.0", "22bb");
    for (const char* commit : {"11aa", "22bb"}) {
      put(hub / "models--tiny--one" / "snapshots" / commit / "config.json", "{}");
    }
    put(hub / "models--bare" / "refs" / "main", "33cc");
    put(hub / "models--bare" / "snapshots" / "33cc" / "config.json", "{}");
    const fs::path library = store / "manifests" / "registry.ollama.ai" / "library";
    put(library / "tiny" / "latest",
        R"({"layers": [{"mediaType": "license", "digest": "sha256:00"},
                       {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:ab"}]})");
    put(store / "blobs" / "sha256-ab", "GGUF");
  }
};

}  // namespace

TEST_CASE("a model is found by its name in the cache of Hugging Face's libraries") {
  const Places places;
  const fs::path one = places.hub / "models--tiny--one" / "snapshots";
  const std::vector<std::pair<const char*, std::string>> cache{
      {"HF_HUB_CACHE", places.hub.string()}};
  {
    const Environment environment(cache);
    CHECK(model_path("tiny/one", "", {}) == one / "11aa");
    CHECK(model_path("tiny/one@v1.0", "", {}) == one / "22bb");
    CHECK(model_path("tiny/one@22bb", "", {}) == one / "22bb");
    CHECK(model_path("bare", "", {}).filename() == "33cc");
    // A folder that is there goes first, and what cannot be a name is a path.
    fs::create_directories(places.folder / "tiny/one");
    CHECK(model_path("tiny/one", places.folder.path(), {}) == places.folder / "tiny/one");
    for (const char* path : {"../tiny/one", "a/b/c", "tiny/../bare", "/tiny", "tiny/one@../x"}) {
      CHECK(model_path(path, "x", {}) == fs::path("x") / path);
    }
    CHECK(error_from([] { model_path("tiny/two", "", {}); }, ErrorKind::file) ==
          "there is no folder and no model \"tiny/two\"\n  help:  looked for a folder in " +
              fs::current_path().string() + ", and for a model of the hub in " +
              places.hub.string() +
              ", which has bare, tiny/one; give the whole path of a folder, or get a model of the "
              "hub with: hf download tiny/two");
    CHECK(error_from([] { model_path("tiny/one@v2", "", {}); }, ErrorKind::file) ==
          "the model \"tiny/one\" is not there as \"v2\"\n  help:  " +
              (places.hub / "models--tiny--one").string() +
              " names main, v1.0; fetch the revision v2 of tiny/one with hf download");
    FileAccess restricted;
    restricted.restrict_to = places.folder.path();
    CHECK(error_from([&] { model_path("tiny/one", "", restricted); }) ==
          "\"tiny/one\" is not in the folder that files are restricted to, and models by name are "
          "outside it\n  help:  name a folder that is in it");
  }
  const Environment environment({{"HF_HOME", places.folder.path().string()}});
  CHECK(model_path("tiny/one", "", {}) == one / "11aa");
}

TEST_CASE("names that are meant otherwise than in the cache get the one that is meant") {
  const Places places;
  put(places.folder / "models" / "speeches" / "config.json", "{}");
  fs::create_directories(places.folder / "models" / "empty");
  const Environment environment({{"HF_HUB_CACHE", places.hub.string()}});
  const auto told = [&](const std::string& name, const std::string& help) {
    CAPTURE(name);
    CHECK(error_from([&] { model_path(name, places.folder.path(), {}); }, ErrorKind::file) ==
          "there is no folder and no model \"" + name + "\"\n  help:  " + help);
  };
  told("ollama/llama3", "write ollama:llama3");
  told("models--tiny--one", "write tiny/one");
  told("one", "write tiny/one, or get another: hf download OWNER/one");
  told("cl100k_base", "this is a tokenizer of tiktoken: name its file, cl100k_base.tiktoken");
  told("models/speechs", "did you mean \"models/speeches\"?");
  told("models/empti", "looked for a folder in " + places.folder.path().string() +
                           ", and for a model of the hub in " + places.hub.string() +
                           ", which has bare, tiny/one; give the whole path of a folder, or get a "
                           "model of the hub with: hf download models/empti");
  CHECK(error_from([] { ModelFolder::open("~/speeches", std::nullopt, {}); }, ErrorKind::file) ==
        "there is no folder \"~/speeches\"\n  help:  shells leave ~ as it is in quotes and after "
        "=: write \"$HOME/speeches\"");
  CHECK(error_from([] { ModelFolder::open("hf:tiny/one", std::nullopt, {}); }, ErrorKind::file) ==
        "there is no folder \"hf:tiny/one\"\n  help:  write tiny/one");
  const auto of_address = [](const std::string& address, const std::string& help) {
    CHECK(error_from([&] { ModelFolder::open(address, std::nullopt, {}); }, ErrorKind::file) ==
          "there is no folder \"" + address + "\"\n  help:  " + help);
  };
  of_address("https://huggingface.co/tiny/one", "write tiny/one");
  of_address(
      "https://huggingface.co/tiny/two/tree/main",
      "nothing is downloaded: get it with hf download tiny/two, and give its name, tiny/two");
}

TEST_CASE("a model is found by its name in Ollama's store") {
  const Places places;
  const Environment environment({{"OLLAMA_MODELS", places.store.string()}});
  CHECK(model_path("ollama:tiny", "", {}) == places.store / "blobs" / "sha256-ab");
  CHECK(model_path("ollama:tiny:latest", "", {}) == places.store / "blobs" / "sha256-ab");
  const std::string library =
      (places.store / "manifests" / "registry.ollama.ai" / "library").string();
  CHECK(error_from([] { model_path("ollama:huge", "", {}); }, ErrorKind::file) ==
        "there is no model \"ollama:huge\"\n  help:  looked in " + library +
            ", which has tiny; get it with: ollama pull huge");
  CHECK(error_from([] { model_path("ollama:tiny:7b", "", {}); }, ErrorKind::file) ==
        "there is no model \"ollama:tiny:7b\"\n  help:  looked in " + library +
            "/tiny, which has latest; get it with: ollama pull tiny:7b");
  fs::remove(places.store / "blobs" / "sha256-ab");
  CHECK(error_from([] { model_path("ollama:tiny", "", {}); }, ErrorKind::file) ==
        "the weights of the model \"ollama:tiny\" are not there\n  where: " + library +
            "/tiny/latest\n  help:  get it again with: ollama pull tiny");
}

}  // namespace attn
