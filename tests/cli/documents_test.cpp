#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

constexpr std::size_t largest_picture = 150'000;  // bytes

/// All texts between `begin` and `end`.
std::vector<std::string> between(const std::string& text, const std::string& begin,
                                 const std::string& end) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    const std::size_t stop = text.find(end, at);
    if (stop == std::string::npos) break;
    found.push_back(text.substr(at, stop - at));
    at = stop + end.size();
  }
  return found;
}

std::string read_document(const std::string& name) {
  const std::filesystem::path docs = ATTN_DOCS;
  return read_text(name == "README.md" ? docs.parent_path() / name : docs / name);
}

/// The shell commands of a document, but for those that build and test the program itself.
std::string commands_of(const std::string& document) {
  std::string commands;
  for (const std::string& block : between(document, "```sh\n", "```")) {
    if (!block.starts_with("data/run-examples\n")) commands += block;
  }
  return commands;
}

/// Runs what a document tells its readers to type, in an empty folder, with the program on the path
/// as after its installation.
Outcome follow(const std::string& document, const TemporaryFolder& folder) {
  const TemporaryFolder path;
  std::filesystem::create_symlink(tested_program(), path / "attn-cli");
  return shell("set -e\nPATH=\"" + path.path().string() + ":$PATH\"\n" + commands_of(document),
               folder.path());
}

/// The lines of standard error that tell neither progress, which a batch prints only where a build
/// is slow, nor how a tutorial's picture counts the head that is typed.
std::string without_progress(const std::string& errors) {
  static const std::regex progress(
      "attn-cli: ([0-9]+/[0-9]+(  .*)?|warning: the picture calls .*)\n");
  return std::regex_replace(errors, progress, "");
}

void check_pictures(const std::string& document, const TemporaryFolder& folder, std::size_t least) {
  const auto pictures = between(document, "](pictures/", ")");
  CHECK(pictures.size() >= least);
  for (const std::string& picture : pictures) {
    CAPTURE(picture);
    const std::string made = read_text(folder / "pictures" / picture);
    CHECK(png_header(made).width > 0);
    CHECK(made.size() < largest_picture);
    CHECK(std::filesystem::exists(std::filesystem::path(ATTN_DOCS) / "pictures" / picture));
  }
}

/// README.md and all that is in docs/, by paths from there.
std::vector<std::string> all_documents() {
  std::vector<std::string> names{"README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ATTN_DOCS)) {
    if (entry.path().extension() != ".md") continue;
    names.push_back(entry.path().lexically_relative(ATTN_DOCS));
  }
  return names;
}

/// Every "--flag" of a text.
std::set<std::string> flags_in(const std::string& text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz-";
  std::set<std::string> flags;
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(letters, at), text.size());
    const bool begins = at == 0 || letters.find(text[at - 1]) == letters.npos;
    if (begins && end > at + 2 && text[at + 2] != '-') flags.insert(text.substr(at, end - at));
    at = end;
  }
  return flags;
}

/// The text without its blocks of code.
std::string prose(std::string text) {
  for (std::size_t at; (at = text.find("\n```")) != std::string::npos;) {
    const std::size_t end = text.find("\n```", at + 1);
    text.erase(at, end == std::string::npos ? end : end + 4 - at);
  }
  return text;
}

/// Names that links give to the sections of a document: small letters, digits and hyphens for
/// spaces.
std::set<std::string> sections_of(const std::string& document) {
  std::set<std::string> sections;
  std::istringstream lines(prose(document));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) continue;
    for (const std::string mark : {"、", "，", "：", "（", "）", "“", "”"}) {
      for (std::size_t at; (at = line.find(mark)) != line.npos;) line.erase(at, mark.size());
    }
    std::string name;
    for (const char letter : line.substr(line.find(' ') + 1)) {
      const auto byte = static_cast<unsigned char>(letter);
      if (byte >= 0x80 || std::isalnum(byte) != 0 || letter == '-') {
        name += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
      } else if (letter == ' ') {
        name += '-';
      }
    }
    sections.insert(name);
  }
  return sections;
}

/// Sentences of a cell of a table: a sentence ends with a full stop, a question or an exclamation
/// mark before a space, a bracket or the cell's end, which need not have one.
std::size_t sentences_in(const std::string& cell) {
  std::size_t count = 0, since = 0;
  bool code = false;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '`') code = !code;
    const bool chinese = cell.compare(i, 3, "。") == 0;
    const bool western = !code && (cell[i] == '.' || cell[i] == '?' || cell[i] == '!') &&
                         (i + 1 == cell.size() || cell[i + 1] == ' ');
    if (chinese || western) {
      ++count;
      since = i + (chinese ? 3 : 1);
    }
  }
  return count + (cell.find_first_not_of(' ', since) != std::string::npos ? 1 : 0);
}

/// The cells of all tables of a document.
std::vector<std::string> cells_of(const std::string& document) {
  std::vector<std::string> cells;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    std::string cell;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '|' && line[i - 1] != '\\') {
        cells.push_back(cell);
        cell.clear();
      } else {
        cell += line[i];
      }
    }
  }
  return cells;
}

}  // namespace

TEST_CASE("the commands of the gallery make its pictures") {
  const std::string gallery = read_document("gallery.md");
  const std::string chinese = read_document("gallery.zh-CN.md");
  REQUIRE(commands_of(chinese) == commands_of(gallery));
  const TemporaryFolder folder;
  const Outcome outcome = follow(gallery, folder);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(without_progress(outcome.errors).empty());
  check_pictures(gallery, folder, 8);
  check_pictures(chinese, folder, 8);
}

TEST_CASE("the commands of the document about kinds make its pictures") {
  const std::string document = read_document("kinds.md");
  const std::string chinese = read_document("kinds.zh-CN.md");
  REQUIRE(commands_of(chinese) == commands_of(document));
  const TemporaryFolder folder;
  const Outcome outcome = follow(document, folder);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  check_pictures(document, folder, attn::kinds().size());
  check_pictures(chinese, folder, attn::kinds().size());
}

TEST_CASE("the documents about kinds show the example of each kind") {
  for (const std::string name : {"kinds.md", "kinds.zh-CN.md"}) {
    const std::string document = read_document(name);
    for (const attn::KindInfo& kind : attn::kinds()) {
      CAPTURE(name);
      CAPTURE(kind.name);
      CHECK(document.find("```json\n" + attn::example_document(kind.kind) + "```\n") !=
            std::string::npos);
    }
  }
}

TEST_CASE("the commands of the README run as they are and print what it shows") {
  for (const std::string name : {"README.md", "README.zh-CN.md"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const Outcome outcome = follow(read_document(name), folder);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors.empty());
    CHECK(std::filesystem::exists(folder / "mine/result.json"));
    CHECK(std::filesystem::exists(folder / "map.svg"));
    const auto reports = between(read_document(name), "```text\n", "```");
    CHECK(reports.size() == 1);
    for (const std::string& report : reports) {
      CHECK(std::ranges::count(report, '\n') == 14);
      CHECK(outcome.output.find(report) != std::string::npos);
    }
  }
}

TEST_CASE("the commands of the guide run as they stand") {
  for (const std::string name : {"guide.md", "guide.zh-CN.md"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const Outcome outcome = follow(read_document(name), folder);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(
        outcome.output.find("  \"one\" (0)  0.33  0.67  0.00\n  \"two\" (1)  0.18  0.09  0.73\n") !=
        std::string::npos);
    CHECK(outcome.output.find("wrong.json: 2 problems\n") != std::string::npos);
    CHECK(read_text(folder / "figure.pdf").starts_with("%PDF-"));
  }
}

TEST_CASE("the commands of the document about masks give the numbers it tells") {
  for (const std::string name : {"masks.md", "masks.zh-CN.md"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const Outcome outcome = follow(read_document(name), folder);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    const std::string no_key =
        "attn-cli: warning: 1 query has no key left to see: its weights and output are zero\n";
    REQUIRE(outcome.errors.starts_with(no_key));
    // Standard error is folded at the width of a terminal.
    CHECK(outcome.errors.find("mask.padding", no_key.size()) != std::string::npos);
    CHECK(outcome.errors.find("\"keep\"") != std::string::npos);
    CHECK(outcome.output.find("  0  0.24  0.67  0.09\n") != std::string::npos);
    CHECK(outcome.output.find("  0  0.27  0.73  0.00\n") != std::string::npos);
    const std::string uniform = read_text(folder / "finite_fill/result.json");
    CHECK(uniform.find("[0.33333334, 0.33333334, 0.33333334]") != std::string::npos);
  }
}

TEST_CASE("the commands of the document about tutorials print the tutorials' numbers") {
  const std::string document = read_document("tutorials.md");
  REQUIRE(commands_of(read_document("tutorials.zh-CN.md")) == commands_of(document));
  const TemporaryFolder folder;
  const Outcome outcome = follow(document, folder);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(between(outcome.errors, "attn-cli: ", "\n") ==
        std::vector<std::string>{
            "warning: 1 of 16 recovered tokens are unknown ones: the vocabulary cannot spell what "
            "they stand for, and the text leaves them out",
            "warning: the decoder's self-attention is not causal: every query sees the keys after "
            "it; \"mask\": {\"causal\": true} hides them"});
  CHECK(outcome.output.find("  0  0.49  0.30  0.22\n") != std::string::npos);
  const auto numbers_in = [&](const std::string& result, const std::string& numbers) {
    return read_text(folder / result / "result.json").find(numbers) != std::string::npos;
  };
  CHECK(numbers_in("additive", "[2, 3, 4, 5]"));
  CHECK(numbers_in("additive", "[10, 11, 12, 13]"));
  CHECK(numbers_in("dropout", "[0, 1, 2, 3]"));
  CHECK(numbers_in("dropout", "[8, 9.333333, 10.666667, 12]"));
}

TEST_CASE("the documents about parts of scores show what their commands print") {
  for (const std::string name : {"why.md", "why.zh-CN.md", "circuits.md", "circuits.zh-CN.md"}) {
    CAPTURE(name);
    const bool circuits = name.starts_with("circuits");
    const std::string document = read_document(name);
    const TemporaryFolder folder;
    const Outcome outcome = follow(document, folder);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors.empty());
    for (const std::string& block : between(document, "```text\n", "```")) {
      std::istringstream lines(block);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(outcome.output.find(line) != std::string::npos);
      }
    }
    if (circuits) continue;
    for (const char* picture : {"parts", "bars", "path", "contributions"}) {
      CHECK(std::filesystem::exists(folder / "why" / (std::string(picture) + ".png")));
    }
    CHECK(read_text(folder / "why.html").find("\"query_parts\"") != std::string::npos);
  }
}

TEST_CASE("the commands of all other documents run as they are") {
  std::set<std::string> followed{""};  // most documents have the same commands in both languages
  for (const std::string& name : all_documents()) {
    const bool followed_above = name.starts_with("README") || name.starts_with("guide") ||
                                name.starts_with("kinds") || name.starts_with("masks") ||
                                name.starts_with("tutorials") || name.starts_with("why") ||
                                name.starts_with("circuits") || name.starts_with("gallery");
    const std::string document = read_document(name);
    if (followed_above || !followed.insert(commands_of(document)).second) continue;
    CAPTURE(name);
    const TemporaryFolder folder;
    const Outcome outcome = follow(document, folder);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(without_progress(outcome.errors).empty());
  }
}

TEST_CASE("the guide names no file of the source tree") {
  for (const std::string name : {"guide.md", "guide.zh-CN.md"}) {
    const std::string guide = read_document(name);
    for (const char* file : {"data/run-examples", "tests/run-all", "build/", "cpack", "cmake"}) {
      CAPTURE(file);
      CHECK(guide.find(file) == std::string::npos);
    }
  }
}

TEST_CASE("documents name no flag that there is not") {
  std::set<std::string> known{"--help", "--version"};
  const std::string commands =
      between(attn_cli({"completion", "bash"}).output, "compgen -W \"", "\"")[0];
  std::istringstream words(commands.substr(0, commands.find(" --")));
  for (std::string command; words >> command;) {
    known.merge(flags_in(attn_cli({command, "--help"}).output));
    CAPTURE(command);
    CHECK(read_document("commands.md").find('`' + command) != std::string::npos);
  }
  CHECK(known.size() > 60);
  // CMake's, pkg-config's, GNU parallel's, the benchmark library's, Chromium's and our own
  // scripts'; those of Slurm's sbatch stand in batch.md, those
  // of apt-get and Docker in containers.md.
  const std::set<std::string> others{"--build",
                                     "--clean-first",
                                     "--preset",
                                     "--install",
                                     "--prefix",
                                     "--cflags",
                                     "--libs",
                                     "--benchmark",
                                     "--target",
                                     "--pipe",
                                     "--keep-order",
                                     "--headless",
                                     "--hide-scrollbars",
                                     "--window-size",
                                     "--virtual-time-budget",
                                     "--screenshot",
                                     "--llama",
                                     "--table",
                                     "--type",
                                     "--whole",
                                     "--draws",
                                     "--rounds",
                                     "--ignore-scripts",  // npm's
                                     "--make",            // of the oracles
                                     "--chat",            // refused
                                     "--from",            // uvx's
                                     "--layer"};          // another spelling of --layers
  const std::set<std::string> of_slurm{"--array", "--cpus-per-task", "--dependency", "--job-name",
                                       "--mem",   "--ntasks",        "--parsable",   "--signal",
                                       "--time",  "--wrap"};
  const std::set<std::string> of_containers{"--no-install-recommends", "--read-only", "--rm",
                                            "--user"};
  for (const std::string& name : all_documents()) {
    CAPTURE(name);
    for (const std::string& flag : flags_in(read_document(name))) {
      CAPTURE(flag);
      CHECK((known.contains(flag) || others.contains(flag) ||
             (name.starts_with("batch") && of_slurm.contains(flag)) ||
             (name.starts_with("containers") && of_containers.contains(flag))));
    }
  }
}

TEST_CASE("documents link to sections and installed files, and name no file that there is not") {
  const std::filesystem::path docs = ATTN_DOCS, root = docs.parent_path();
  for (const std::string& name : all_documents()) {
    CAPTURE(name);
    const std::string text = prose(read_document(name));
    const std::filesystem::path folder = name == "README.md" ? root : (docs / name).parent_path();
    for (const std::string& link : between(text, "](", ")")) {
      CAPTURE(link);
      if (link.starts_with("http")) continue;
      const std::size_t hash = link.find('#');
      if (hash == 0) {
        CHECK(sections_of(read_document(name)).contains(link.substr(1)));
        continue;
      }
      const std::filesystem::path file = (folder / link.substr(0, hash)).lexically_normal();
      REQUIRE(std::filesystem::exists(file));
      if (hash != link.npos) {
        CHECK(sections_of(read_text(file)).contains(link.substr(hash + 1)));
      }
      const std::filesystem::path installed = file.lexically_relative(root);
      CHECK((installed == "README.md" || *installed.begin() == "docs"));
    }
    for (const std::string& word : between(text, "`", "`")) {
      CAPTURE(word);
      if (word.find_first_of(" *<\n") != std::string::npos) continue;
      for (const char* layer : {"src/", "include/attn/", "tests/", "data/"}) {
        if (word.starts_with(layer)) CHECK(std::filesystem::exists(root / word));
      }
      if (word.find('/') != std::string::npos &&
          (word.ends_with(".cpp") || word.ends_with(".hpp"))) {
        CHECK((std::filesystem::exists(root / word) ||
               std::filesystem::exists(root / "src" / word) ||
               std::filesystem::exists(root / "include" / word)));
      }
    }
  }
}

TEST_CASE("every Chinese document and its English one link to each other") {
  std::size_t count = 0;
  for (const std::string& name : all_documents()) {
    constexpr std::string_view ending = ".zh-CN.md";
    if (!name.ends_with(ending)) continue;
    const std::string english = name.substr(0, name.size() - ending.size()) + ".md";
    CAPTURE(name);
    ++count;
    if (english != "README.md" &&
        !std::filesystem::exists(std::filesystem::path(ATTN_DOCS) / english))
      continue;
    const auto link_to = [](const std::string& page) {
      return std::filesystem::path(page).filename().string() + ")";
    };
    CHECK(read_document(english).find(link_to(name)) != std::string::npos);
    CHECK(read_document(name).find(link_to(english)) != std::string::npos);
  }
  CHECK(count >= 7);
}

TEST_CASE("a document of more than 1500 words has a reason to be long") {
  const std::map<std::string, std::string> reasons{
      {"inside/checkpoints.md", "every key of checkpoints, looked up one by one"},
      {"CHANGELOG.md", "every change that users notice"},
      {"inside/architecture.md",
       "rooms, decisions and where to add what, for changes of the program"},
      {"documents.md", "every key of a document, looked up one by one"},
      {"drawing.md", "every kind of picture and every flag, looked up one by one"},
      {"gallery.md", "each figure with its command and what it shows"},
      {"kinds.md", "each kind with its formula, a document and a picture"},
      {"inside/numerics.md", "the bound of each computation, with the test that holds it"},
      {"inside/CONTRIBUTING.md", "every check and every test room, one by one"},
      {"inside/performance.md", "a table per instruction set beside other programs"},
      {"inside/pytorch.md", "scripts and their documents"},
      {"inside/techniques.md",
       "every technique with its gain and its command, looked up one by one"},
  };
  constexpr std::ptrdiff_t longest = 1500;
  for (const std::string& name : all_documents()) {
    if (name.ends_with(".zh-CN.md")) continue;
    CAPTURE(name);
    std::istringstream words(read_document(name));
    std::ptrdiff_t count = 0;
    for (std::string word; words >> word;) count += word != "|" ? 1 : 0;
    CAPTURE(count);
    CHECK((count <= longest || reasons.contains(name)));
  }
}

TEST_CASE("a Chinese document has the sections, tables, lists and blocks of its English one") {
  constexpr std::string_view ending = ".zh-CN.md";
  for (const std::string& name : all_documents()) {
    if (!name.ends_with(ending) || name.starts_with("README")) continue;
    CAPTURE(name);
    const std::string chinese = '\n' + read_document(name);
    const std::string english =
        '\n' + read_document(name.substr(0, name.size() - ending.size()) + ".md");
    for (const char* begin : {"\n#", "\n|", "\n* ", "\n```"}) {
      CAPTURE(begin);
      CHECK(between(chinese, begin, "").size() == between(english, begin, "").size());
    }
  }
}

TEST_CASE("lines of Chinese documents are short outside of tables and blocks") {
  constexpr std::ptrdiff_t longest = 170;  // letters
  for (const std::string& name : all_documents()) {
    if (!name.ends_with(".zh-CN.md")) continue;
    CAPTURE(name);
    std::istringstream lines(prose(read_document(name)));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('|') || line.starts_with("    ")) continue;
      CAPTURE(line);
      CHECK(std::ranges::count_if(line, [](char byte) { return (byte & 0xc0) != 0x80; }) <=
            longest);
    }
  }
}

TEST_CASE("no cell of a table in a document has more than two sentences") {
  CHECK(sentences_in("One. Two, e.g.`a. b.` and more") == 2);
  CHECK(sentences_in("一。二。 三") == 3);
  for (const std::string& name : all_documents()) {
    CAPTURE(name);
    for (const std::string& cell : cells_of(prose(read_document(name)))) {
      CAPTURE(cell);
      CHECK(sentences_in(cell) <= 2);
    }
  }
}
