#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "gguf_bytes.hpp"
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

TEST_CASE("every command reads a GGUF file in parts as one") {
  using namespace attn::gguf_bytes;
  const TemporaryFolder folder;
  // Two maps of weights, whose rows are `near` four times, then `far` four times.
  using Row = std::vector<float>;
  const auto with_weights = [](std::string file, const Row& near, const Row& far) {
    file.resize(file.size() - 32 * sizeof(float));
    for (int row = 0; row < 8; ++row) {
      for (const float weight : row < 4 ? near : far) file += raw(weight);
    }
    return file;
  };
  const Row near{0.1F, 0.2F, 0.3F, 0.4F}, far{0.4F, 0.3F, 0.2F, 0.1F};
  const auto write_parts = [&](const std::string& stem, const Row& second) {
    folder.write(
        stem + "-00001-of-00002.gguf",
        with_weights(file_of({tensor("l0", {4, 4}, 0, 0)}, split_keys(0, 2, 2)), near, far));
    folder.write(
        stem + "-00002-of-00002.gguf",
        with_weights(file_of({tensor("l1", {4, 4}, 0, 64)}, split_keys(1, 2, 2)), near, second));
  };
  write_parts("a", far);
  folder.write(
      "whole.gguf",
      with_weights(file_of({tensor("l0", {4, 4}, 0, 0), tensor("l1", {4, 4}, 0, 64)}), near, far));
  const auto run = [&](std::vector<std::string> arguments) {
    return attn_cli(arguments, folder.path());
  };
  // 1. Commands that read a tensor of the second part.
  const std::string parts = "a-00001-of-00002.gguf";
  const Outcome shown = run({"show", parts, "--name", "l1", "--json"});
  CHECK(shown.exit_code == 0);
  CHECK(shown.output == run({"show", "whole.gguf", "--name", "l1", "--json"}).output);
  const Outcome heads = run({"heads", parts, "--name", "l{n}"});
  CHECK(heads.exit_code == 0);
  CHECK(heads.output == run({"heads", "whole.gguf", "--name", "l{n}"}).output);
  CHECK(heads.output.find("head l1.0 on the first token") != std::string::npos);
  CHECK(run({"plot", "heatmap", parts, "--name", "l1", "--out", "p.png"}).exit_code == 0);
  CHECK(run({"plot", "heatmap", "whole.gguf", "--name", "l1", "--out", "w.png"}).exit_code == 0);
  CHECK(read_text(folder / "p.png") == read_text(folder / "w.png"));
  CHECK(run({"view", parts, "--name", "l{n}", "--out", "p.html", "--quiet"}).exit_code == 0);
  folder.write("d.json",
               R"({"attention": "softmax", "scores": {"file": ")" + parts + R"(", "name": "l1"}})");
  CHECK(run({"run", "d.json", "--plots", "none", "--quiet"}).exit_code == 0);
  // 2. Both parts count where files are compared.
  const auto compared = [&](const std::string& with) {
    return run({"compare", parts, with + "-00001-of-00002.gguf"});
  };
  write_parts("b", far);
  CHECK(compared("b").output.find("Both tensors agree.") != std::string::npos);
  write_parts("b", near);
  const Outcome differs = compared("b");
  CHECK(differs.exit_code == 1);
  CHECK(differs.output.find("l1: the first one out of tolerance is at [0,0]: 0.4 and 0.1") !=
        std::string::npos);
  fs::remove(folder / "b-00002-of-00002.gguf");
  const Outcome missing = compared("b");
  CHECK(missing.exit_code == 4);
  CHECK(missing.errors ==
        "attn-cli: the part \"b-00002-of-00002.gguf\" of the weights is missing\n"
        "  where: b-00001-of-00002.gguf\n"
        "  help:  download it too: the first part needs it\n");
}

TEST_CASE("a pickle that would start a program is refused, and nothing is called") {
  const TemporaryFolder folder;
  folder.write("bad.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.") +
                             "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02" +
                             "cos\nsystem\nU\x0atouch oops\x85R.");
  const Outcome outcome = attn_cli({"compare", "bad.pt", "bad.pt"}, folder.path());
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.errors.starts_with(
      "attn-cli: the pickle names \"os.system\", which is there to start programs\n"));
  CHECK_FALSE(fs::exists(folder / "oops"));
}

TEST_CASE("a member that is no tensor fails only where it is named, by every command") {
  const std::string file = std::string(ATTN_TEST_DATA) + "/io/files/pickles/members.pt";
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> commands{
      {"show", file},
      {"heads", file},
      {"explain", file, "--query", "0"},
      {"plot", "heatmap", file, "--dpi", "30", "--out", "a.png"},
      {"plot", "grid", file, "--dpi", "30", "--out", "b.png"},
      {"view", file, "--out", "c.html"}};
  for (std::vector<std::string> words : commands) {
    CAPTURE(words[0]);
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
    words.insert(words.end(), {"--name", "args"});
    const Outcome named = attn_cli(words, folder.path());
    CHECK(named.exit_code == 3);
    CHECK(named.errors.starts_with(
        "attn-cli: \"args\" is not a tensor: a value of argparse.Namespace\n"));
  }
  CHECK(attn_cli({"compare", file, file}, folder.path()).exit_code == 0);
  CHECK(
      attn_cli({"compare", file, file, "--only", "args"}, folder.path())
          .errors.starts_with("attn-cli: \"args\" is not a tensor: a value of argparse.Namespace"));
  const Outcome shown = attn_cli({"show", file}, folder.path());
  CHECK(shown.errors.find("attn-cli: warning: not read: \"args\": a value of argparse.Namespace; "
                          "\"out\": a value of pathlib.PurePosixPath; \"c\": complex numbers "
                          "(torch.ComplexFloatStorage); ") != std::string::npos);
  CHECK(shown.output.find("a") != std::string::npos);
}

TEST_CASE("comma-separated files that a run writes are maps for the other commands") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"softmax","scores":[[0,1,2],[2,1,0]]})");
  CHECK(attn_cli({"run", "d.json", "--tensors", "csv", "--plots", "none", "--out", "r"},
                 folder.path())
            .exit_code == 0);
  CHECK(attn_cli({"run", "d.json", "--tensors", "npy", "--plots", "none", "--out", "n"},
                 folder.path())
            .exit_code == 0);
  CHECK(attn_cli({"show", "r/weights.csv"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"compare", "r/weights.csv", "n/weights.npy"}, folder.path()).exit_code == 0);
}

TEST_CASE("maps of any file are drawn over a picture") {
  const TemporaryFolder folder;
  const std::string picture = (fs::path(ATTN_DATA) / "shapes" / "blue_star.png").string();
  folder.write("maps.json", R"({"weights":[[0.2,0.2,0.2,0.2,0.2],[0.6,0.1,0.1,0.1,0.1]]})");
  const auto plot = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"plot",  "overlay",  "maps.json", "--dpi", "40",
                                   "--out", "over.png", "--image",   picture};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path());
  };
  CHECK(plot({}).exit_code == 0);
  CHECK(plot({"--grid", "1,4"}).exit_code == 0);
  const Outcome many = plot({"--grid", "2,3"});
  CHECK(many.exit_code == 3);
  CHECK(many.errors ==
        "attn-cli: the map has 5 keys, fewer than the 2 × 3 patches\n  where: --grid\n"
        "  help:  give the rows and columns of the patches that are keys\n");
  const Outcome heatmap = attn_cli(
      {"plot", "heatmap", "maps.json", "--out", "h.png", "--image", picture}, folder.path());
  CHECK(heatmap.exit_code == 2);
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
