#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Names and values from strangers in what a terminal shows.

namespace {

namespace fs = std::filesystem;

const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

// Whether a text has a character that a terminal obeys, other than the end of a line.
bool commands_terminals(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7F) return true;
    // U+0080 to U+009F, and U+202A to U+202E.
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0xC2 && next < 0xA0) return true;
    if (text.substr(i).starts_with("\xE2\x80") && i + 2 < text.size()) {
      const auto last = static_cast<unsigned char>(text[i + 2]);
      if (last >= 0xAA && last <= 0xAE) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("names of files command no terminal, whatever the command does with them") {
  // Colours, a window's title, a control beyond ASCII, another direction, a new line.
  for (const std::string bad : {"\x1b[31mred", "\x1b]0;title\x07",
                                "\xC2\x9B"
                                "31m",
                                "\xE2\x80\xAEtxt", "line\nline", "\xFF\xFE"}) {
    CAPTURE(bad);
    const TemporaryFolder folder;
    const std::string doc = bad + ".json", tensors = bad + "w.json", none = bad + "none";
    folder.write(doc, document);
    folder.write("other.json", R"({"weights":[[0,1],[1,0]]})");
    folder.write(tensors, R"({"weights":[[1,0],[0,1]]})");
    fs::create_directory(folder / bad);
    const std::vector<std::vector<std::string>> commands = {
        {"run", doc, "--out", bad + "out", "--plots", "none"},
        {"run", none},
        {"run", doc, "--attention", bad},
        {"run", doc, "--" + bad},
        {bad, bad},
        {"validate", doc, none},
        {"compare", tensors, "other.json"},
        {"compare", tensors, none},
        {"batch", doc, none, "--out", bad + "batch", "--plots", "none"},
        {"batch", bad + "*"},
        {"batch", "--merge", bad},
        {"view", tensors, "--out", bad + ".html"},
        {"plot", "heatmap", tensors, "--out", bad},
        {"plot", "heatmap", none, "--out", "a.png"},
        {"show", tensors, "--color", "never"},
        {"show", none},
        {"heads", tensors},
        {"heads", tensors, "--out", bad + "heads"},
        {"heads", none},
        {"explain", doc},
        {"explain", none},
        {"model", bad}};
    for (const auto& command : commands) {
      CAPTURE(command[0]);
      const Outcome outcome = attn_cli(command, folder.path());
      CHECK(outcome.exit_code != 70);
      CHECK(!commands_terminals(outcome.output));
      CHECK(!commands_terminals(outcome.errors));
    }
    // Files keep the names as they are.
    CHECK(fs::exists(folder / (bad + "out") / "result.json"));
  }
}

TEST_CASE("a key or a name of a megabyte makes a small error") {
  const TemporaryFolder folder;
  const std::string large(1'000'000, 'k');
  const std::vector<std::string> documents = {
      R"({"attention":"sdpa","query":[[1]],")" + large + R"(":1})",
      R"({"attention":")" + large + R"(","query":[[1]]})",
      R"({"attention":"sdpa","query":{"file":")" + large + R"("}})",
      R"({"attention":"sdpa","query":{")" + large + R"(":1}})",
      R"({"attention":"sdpa","query":[[1]],"mask":{")" + large + R"(":1}})",
      R"({"attention":"sdpa","query":[[")" + large + R"("]]})",
      R"({"attention":"sdpa","query":[[1]],"dtype":")" + large + R"("})",
      R"({"attention":"sdpa","query":[[1)" + std::string(1'000'000, '0') + R"(]]})",
      R"({"model":")" + large + R"(","text":"a"})",
      R"({"attention":"sdpa","query":[[1]],)" + large + "}",
      R"({")" + large + R"(":1,")" + large + R"(":1})"};
  for (std::size_t i = 0; i < documents.size(); ++i) {
    CAPTURE(i);
    const std::string path = folder.write("doc.json", documents[i]);
    for (const std::string command : {"run", "validate"}) {
      const Outcome outcome = attn_cli({command, path, "--json"}, folder.path());
      CHECK(outcome.exit_code >= 3);
      CHECK(outcome.exit_code <= 4);
      CHECK(outcome.errors.size() < 3000);
      CHECK(outcome.output.size() < 3000);
    }
  }
}
