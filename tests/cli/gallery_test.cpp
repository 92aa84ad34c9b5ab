#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

constexpr std::size_t kLargestPicture = 150'000;  // bytes

/// What stands between `begin` and `end`, each time.
std::vector<std::string> between(const std::string& text, const std::string& begin,
                                 const std::string& end) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    const std::size_t stop = text.find(end, at);
    if (stop == std::string::npos) break;
    found.push_back(text.substr(at, stop - at));
    at = stop;
  }
  return found;
}

}  // namespace

TEST_CASE("the commands of the gallery make its pictures") {
  const std::string gallery = read_text(std::filesystem::path(ATTN_DOCS) / "gallery.md");
  const TemporaryFolder folder;
  std::filesystem::create_directory_symlink(ATTN_DATA, folder / "data");
  std::string commands = "set -e\nPATH=\"$(dirname \"$ATTN\"):$PATH\"\n";
  for (const std::string& block : between(gallery, "```sh\n", "```")) commands += block;
  const Outcome outcome = shell(commands, folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());

  const auto pictures = between(gallery, "](pictures/", ")");
  CHECK(pictures.size() >= 8);
  for (const std::string& picture : pictures) {
    CAPTURE(picture);
    const std::string made = read_text(folder / "docs" / "pictures" / picture);
    CHECK(png_header(made).width > 0);
    CHECK(made.size() < kLargestPicture);
    CHECK(std::filesystem::exists(std::filesystem::path(ATTN_DOCS) / "pictures" / picture));
  }
}
