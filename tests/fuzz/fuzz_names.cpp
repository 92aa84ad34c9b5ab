#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "attn/batch.hpp"
#include "attn/error.hpp"

#include "fuzz/fuzz_input.hpp"
#include "result/output_folder.hpp"
#include "support/printable.hpp"

// Names of a batch. Each line of the input is one thing, by its first character:
//   d NAME  a document of that name in the folder that is read       o NAME  a link out of the
//   results l NAME  a file with two documents, a line each                   k NAME  a link within
//   that folder p WORD  an input as it is typed: a path or a pattern             f, z    an item of
//   the list of i       documents on standard input                              inputs, ended by a
//   line or a zero
// Nothing may appear outside of the folder of the results, whatever they are called.

namespace {

namespace fs = std::filesystem;
using namespace attn;

constexpr std::string_view document =
    R"({"attention":["sdpa","dot_product"],"query":[[1,0],[0,1]]})";

// What stands outside of the folder of the results: paths, kinds, sizes.
using Listing = std::set<std::tuple<std::string, int, std::uintmax_t>>;

// The folder of everything, and in it, so deep that no word leads above it, the current folder.
fs::path top, here;

Listing listing() {
  Listing all;
  for (auto entry = fs::recursive_directory_iterator(top);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->path() == here / "results") {
      entry.disable_recursion_pending();
      continue;
    }
    const fs::file_status status = entry->symlink_status();
    all.emplace(entry->path(), static_cast<int>(status.type()),
                fs::is_regular_file(status) ? entry->file_size() : 0);
  }
  return all;
}

void prepare() {
  std::string folder = (fs::temp_directory_path() / "attn-fuzz-names-XXXXXX").string();
  fuzz::require(mkdtemp(folder.data()) != nullptr);
  top = fs::canonical(folder);
  here = top / "1/2/3/4/5/6/7/8/9";
  fs::create_directories(here);
  fs::current_path(here);
  std::atexit([] { fs::remove_all(top); });
}

// Makes the folders above a file of that name in a folder; empty if it cannot be made there.
fs::path made_in(const char* folder, std::string_view name) {
  const fs::path below(name);
  std::error_code error;
  if (below.empty() || below.is_absolute() || std::ranges::count(below, "..") > 0) return {};
  const fs::path path = fs::path(folder) / below;
  fs::create_directories(path.parent_path(), error);
  return error || fs::exists(fs::symlink_status(path, error)) ? fs::path() : path;
}

void write(const fs::path& path, const std::string& text) {
  if (!path.empty()) std::ofstream(path, std::ios::binary) << text;
}

// Words lead neither above the top folder nor to the machine's own files.
std::string inside(std::string_view word) {
  std::string text(word.substr(0, 60));
  for (std::size_t slashes = 0, at = 0; at < text.size(); ++at) {
    if (text[at] == '/' && ++slashes > 6) text[at] = '_';
  }
  return text.starts_with('/') ? here.string() + text : text;
}

struct Given {
  BatchOptions options;
  std::string list;
  bool zero = false, standard_input = false;
};

void take(char kind, std::string_view name, Given& given) {
  std::error_code ignored;
  const std::string lines = std::string(document) + "\n" + std::string(document) + "\n";
  switch (kind) {
    case 'd':
      write(made_in("docs", name), std::string(document));
      break;
    case 'l':
      write(made_in("docs", name), lines);
      break;
    case 'o':
      if (const fs::path link = made_in("results", name); !link.empty()) {
        fs::create_directory_symlink(here / "elsewhere", link, ignored);
      }
      break;
    case 'k':
      if (const fs::path link = made_in("docs", name); !link.empty()) {
        fs::create_directory_symlink("..", link, ignored);
      }
      break;
    case 'p':
      given.options.inputs.push_back(inside(name));
      break;
    case 'f':
    case 'z':
      given.zero = given.zero || kind == 'z';
      given.list += inside(name) + '\n';
      break;
    case 'i':
      given.standard_input = true;
      break;
    default:
      break;
  }
}

void prepare_inputs(std::string_view text, Given& given) {
  constexpr int most = 24;
  for (int count = 0; !text.empty() && count < most; ++count) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // A zero byte ends names where the system takes them.
    if (line.find('\0') != line.npos || line.empty()) continue;
    take(line[0], line.substr(1), given);
  }
  if (!given.list.empty()) {
    if (given.zero) std::ranges::replace(given.list, '\n', '\0');
    write("list", given.list);
    given.options.files_from = "list";
  }
  if (given.standard_input) {
    write("stdin", std::string(document) + "\n{}\n");
    const int file = open("stdin", O_RDONLY | O_CLOEXEC);
    fuzz::require(file >= 0 && dup2(file, STDIN_FILENO) >= 0);
    close(file);
    given.options.inputs.emplace_back("-");
  }
  if (given.options.inputs.empty() && given.list.empty()) given.options.inputs = {"docs"};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool prepared = (prepare(), true);
  (void)prepared;
  const fuzz::Input input(data, size);
  for (const char* folder : {"docs", "results", "elsewhere"}) {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  fs::remove("list");
  fs::remove("stdin");
  Given given;
  prepare_inputs(input.text(), given);
  given.options.run.out = "results";
  given.options.run.plots = {};
  given.options.run.sync = false;
  given.options.jobs = 1;
  const Listing before = listing();
  fuzz::accept_refusals([&] {
    const BatchOutcome outcome = run_batch(given.options, [](const BatchItem& item, const auto&) {
      fuzz::require(!item.error || item.error->kind() != ErrorKind::internal);
    });
    fuzz::require(outcome.counts.left() == 0);
  });
  fuzz::require(listing() == before);
  // An item has a folder of its own, in which each of the two kinds has one.
  fuzz::require(!fs::is_regular_file(fs::symlink_status("results/sdpa/result.json")));
  // Any text at all as a name.
  fuzz::accept_refusals([&] {
    const fs::path place = place_below("results", input.text());
    fuzz::require(place.lexically_normal() == place.lexically_normal().relative_path() &&
                  place.lexically_normal().begin()->string() == "results" &&
                  std::distance(place.begin(), place.end()) > 1);
  });
  return 0;
}
