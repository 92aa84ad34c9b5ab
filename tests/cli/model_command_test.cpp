#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path checkpoints = fs::path(ATTN_TEST_DATA) / "models" / "cases";
const std::string small_model = (checkpoints / "gpt2_bare_names" / "checkpoint").string();
const std::string speeches = std::string(ATTN_DATA) + "/speeches";

}  // namespace

TEST_CASE("model without a name lists what the caches and the folder have, and what is read") {
  const TemporaryFolder folder;
  const fs::path repository = folder / "hub" / "models--org--small";
  fs::create_directories(repository / "snapshots");
  fs::create_directories(repository / "refs");
  write_text(repository / "refs" / "main", "abc");
  fs::copy(small_model, repository / "snapshots" / "abc", fs::copy_options::recursive);
  fs::create_directories(folder / "other");
  write_text(folder / "other" / "config.json", R"({"model_type": "unheard_of"})");
  const std::string with = "HF_HUB_CACHE=hub OLLAMA_MODELS=none \"$ATTN\" model";
  const Outcome list = shell(with, folder.path());
  CHECK(list.exit_code == 0);
  CHECK(list.errors.empty());
  CHECK(list.output.find("\n  org/small  gpt2 ") != std::string::npos);
  CHECK(list.output.find("  read\n") != std::string::npos);
  CHECK(list.output.starts_with("  other "));
  CHECK(list.output.find("not read: ") != std::string::npos);
  const Outcome json = shell(with + " --json", folder.path());
  CHECK(json.output.find("\"name\": \"org/small\", \"family\": \"gpt2\"") != std::string::npos);
  const Outcome none =
      shell("HF_HUB_CACHE=none OLLAMA_MODELS=none \"$ATTN\" model", (folder / "hub").string());
  CHECK(none.output ==
        "This machine has no model in this folder, in Hugging Face's cache or in Ollama's store. "
        "Get one with: hf download ORG/NAME\n");
}

TEST_CASE("tokens shows pieces, ids and the bytes of a text that each covers") {
  const Outcome tokens = attn_cli({"tokens", "--model", speeches, "--text", "The people"});
  CHECK(tokens.errors.empty());
  CHECK(tokens.output.starts_with("        piece"));
  CHECK(tokens.output.find("3–10\n") != std::string::npos);
  CHECK(tokens.output.find("\" people\"") != std::string::npos);
  const Outcome json = attn_cli({"tokens", "--model", speeches, "--text", "The people", "--json"});
  CHECK(json.output.find("{\"piece\": \" people\", \"id\": ") != std::string::npos);
  CHECK(attn_cli({"tokens", "--model", speeches}).errors ==
        "attn-cli: no text given\n"
        "  where: attn-cli tokens\n"
        "  help:  give a model and a text: attn-cli tokens --model M --text T\n");
  const TemporaryFolder folder;
  fs::copy_file(speeches + "/tokenizer.json", folder / "tokenizer.json");
  folder.write("tokenizer_config.json", R"({"cuts_twice": 1})");
  const Outcome open = attn_cli({"tokens", "--model", folder.path(), "--text", "The people"});
  CHECK(!open.output.empty());
  CHECK(open.errors ==
        "attn-cli: warning: keys of tokenizer_config.json are not known and change nothing: "
        "\"cuts_twice\"\n");
}

TEST_CASE("one oddly named file of weights is taken, and of several or a GGUF the error says so") {
  const TemporaryFolder folder;
  fs::copy(small_model, folder / "m", fs::copy_options::recursive);
  const fs::path model = folder / "m";
  fs::rename(model / "model.safetensors", model / "weights_of_mine.safetensors");
  CHECK(attn_cli({"model", "m"}, folder.path()).errors.empty());
  fs::copy(model / "weights_of_mine.safetensors", model / "z.safetensors");
  CHECK(attn_cli({"model", "m"}, folder.path()).errors ==
        "attn-cli: there are no weights of a known name in the folder \"m\"\n"
        "  help:  it has 2 files that may be them, \"weights_of_mine.safetensors\" the first: call "
        "the right one model.safetensors or pytorch_model.bin\n");
  fs::remove(model / "z.safetensors");
  fs::rename(model / "weights_of_mine.safetensors", model / "a.gguf");
  CHECK(attn_cli({"model", "m"}, folder.path()).errors ==
        "attn-cli: there are no weights of a known name in the folder \"m\"\n"
        "  help:  name the file itself: m/a.gguf\n");
}
