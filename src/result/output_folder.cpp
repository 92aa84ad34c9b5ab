#include "result/output_folder.hpp"

#include <string>
#include <system_error>

#include "attn/error.hpp"

#include "support/atomic_file.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/system_error_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Makes the folder if it is missing, in a parent that must be there.
void make_folder(const fs::path& folder, const std::string& help) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  fs::create_directory(folder, error);
  std::error_code ignored;
  if (error || !fs::is_directory(folder, ignored)) {
    const std::string reason =
        error ? system_error_text(error.value()) : translated("it is not a folder");
    throw Error(ErrorKind::file,
                translated("cannot create the folder {1}: {2}", in_quotes(folder.native()), reason),
                "RunOptions::out", help);
  }
}

}  // namespace

void make_output_folder(const fs::path& folder) {
  make_folder(folder, translated("name a folder whose parent folder exists and can be written to"));
  remove_leftovers(folder);
}

void make_folders_below(const fs::path& folder, const fs::path& below) {
  fs::path inside = folder;
  for (const fs::path& part : below) {
    inside /= part;
    refuse_link(inside);
    make_folder(inside,
                translated("check the permissions of the folders above, and what is in the way"));
  }
}

void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_symlink(fs::symlink_status(folder, ignored))) return;
  throw Error(ErrorKind::file,
              translated("the folder {1} is a symbolic link", in_quotes(folder.native())),
              "RunOptions::out",
              translated("remove it: below the folder of the results, links are not followed"));
}

std::vector<std::filesystem::path> FileTasks::write(std::size_t threads) const {
  parallel_for(tasks_.size(), threads, [&](std::size_t i) {
    if (tasks_[i].written) {
      tasks_[i].written->commit();
      return;
    }
    AtomicFile file(tasks_[i].path);
    tasks_[i].write(file);
    file.commit();
  });
  std::vector<std::filesystem::path> paths;
  for (const Task& task : tasks_) paths.push_back(task.path);
  return paths;
}

}  // namespace attn
