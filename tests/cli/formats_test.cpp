#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path data = ATTN_TEST_DATA;
const std::string attentions = (data / "io" / "files" / "torch" / "attentions_tuple.pt").string();

}  // namespace

TEST_CASE("what torch.save made of a model's attentions is drawn, read, compared and shown") {
  const TemporaryFolder folder;
  const auto run = [&](std::vector<std::string> arguments) {
    return attn_cli(arguments, folder.path());
  };
  CHECK(run({"plot", "grid", attentions, "--dpi", "40", "--out", "all.png"}).exit_code == 0);
  CHECK(fs::exists(folder / "all.png"));
  const Outcome heads = run({"heads", attentions});
  CHECK(heads.exit_code == 0);
  CHECK(heads.output.find("entropy") != std::string::npos);
  const Outcome same = run({"compare", attentions, attentions});
  CHECK(same.exit_code == 0);
  CHECK(same.output.find("All 3 tensors agree.") != std::string::npos);
  CHECK(run({"view", attentions, "--out", "page.html", "--quiet"}).exit_code == 0);
  CHECK(fs::exists(folder / "page.html"));
}

TEST_CASE("a pickle that asks for more than tensors is refused, and nothing is called") {
  const TemporaryFolder folder;
  folder.write("bad.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.") +
                             "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02" +
                             "cos\nsystem\nU\x0atouch oops\x85R.");
  const Outcome outcome = attn_cli({"compare", "bad.pt", "bad.pt"}, folder.path());
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.errors.starts_with(
      "attn-cli: the pickle names \"os.system\", which is not in the list of what is read\n"));
  CHECK_FALSE(fs::exists(folder / "oops"));
}

TEST_CASE("a model in a GGUF file is described and run from its text") {
  const fs::path model = data / "models" / "formats" / "llama_sentencepiece" / "model.gguf";
  const TemporaryFolder folder;
  const Outcome described = attn_cli({"model", model.string()}, folder.path());
  CHECK(described.exit_code == 0);
  CHECK(described.output.find("  tokenizer   SentencePiece, 324 tokens\n") != std::string::npos);
  CHECK(described.output.find("stored as float16 and float32\n") != std::string::npos);
  const Outcome run = attn_cli(
      {"run", "--model", model.string(), "--text", "the state", "--out", "r", "--plots", "none"},
      folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("%  \"") != std::string::npos);
  CHECK(fs::exists(folder / "r" / "result.json"));
}
