#include "result/output_folder.hpp"

#include <string>
#include <system_error>

#include "attn/error.hpp"

#include "support/atomic_file.hpp"
#include "support/in_quotes.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Makes the folder if it is missing; its parent must be there.
void make_folder(const fs::path& folder, const char* help) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  fs::create_directory(folder, error);
  std::error_code ignored;
  if (error || !fs::is_directory(folder, ignored)) {
    const std::string reason = error ? error.message() : "it is not a folder";
    throw Error(ErrorKind::file,
                "cannot make the folder " + in_quotes(folder.native()) + ": " + reason,
                "RunOptions::out", help);
  }
}

}  // namespace

void make_output_folder(const fs::path& folder) {
  make_folder(folder, "name a folder whose parent folder exists and can be written to");
  remove_leftovers(folder);
}

void make_folders_below(const fs::path& folder, const fs::path& below) {
  fs::path inside = folder;
  for (const fs::path& part : below) {
    inside /= part;
    refuse_link(inside);
    make_folder(inside, "check the permissions of the folders above, and what is in the way");
  }
}

void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_symlink(fs::symlink_status(folder, ignored))) return;
  throw Error(ErrorKind::file, "the folder " + in_quotes(folder.native()) + " is a symbolic link",
              "RunOptions::out",
              "remove it: below the folder of the results, links are not followed");
}

}  // namespace attn
