#include "result/output_folder.hpp"

#include <algorithm>
#include <system_error>

#include "attn/error.hpp"
#include "attn/spec.hpp"

#include "io/json_value.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr const char* result_name = "result.json";

// Makes the folder if it is missing, with those above it.
NewFolders make_folder(const fs::path& folder, const std::string& help) {
  std::error_code error, ignored;
  if (fs::is_directory(folder, error)) return {};
  if (fs::exists(folder, error)) {
    throw Error(ErrorKind::file,
                translated("{1} is a file, not a folder", in_quotes(folder.native())),
                "RunOptions::out", translated("name another folder for the results"));
  }
  NewFolders made(folder, error);
  if (!error && fs::is_directory(folder, ignored)) return made;
  const std::string reason =
      error ? system_error_text(error.value()) : translated("it is not a folder");
  throw Error(ErrorKind::file,
              translated("cannot create the folder {1}: {2}", in_quotes(folder.native()), reason),
              "RunOptions::out", help);
}

// Below the folder of the results no link is followed.
void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_symlink(fs::symlink_status(folder, ignored))) return;
  throw Error(ErrorKind::file,
              translated("the folder {1} is a symbolic link", in_quotes(folder.native())),
              "RunOptions::out",
              translated("remove it: below the folder of the results, links are not followed"));
}

// Whether the file of a result has the size and the hash that the result says. A link has not.
bool is_unchanged(const ResultFiles& files, const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  const fs::path path = folder / name;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return false;
  try {
    MappedFile::open(FileName::by_document(folder, name), files.checked({}, name, path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

NewFolders make_output_folder(const fs::path& folder) {
  NewFolders made = make_folder(folder, translated("name a folder in one that can be written to"));
  remove_leftovers(folder);
  return made;
}

OutputLock lock_folder(const fs::path& folder, NewFolders& made) {
  OutputLock lock = OutputLock::of_folder(folder);
  while (lock.is_of_removed()) {  // by a run that made it and failed
    made.add(make_output_folder(folder));
    lock = OutputLock::of_folder(folder);
  }
  return lock;
}

fs::path place_below(const fs::path& folder, std::string_view name) {
  const fs::path below(name);
  const auto leads_away = [](const fs::path& part) {
    return part.empty() || part == "." || part == "..";
  };
  if (below.empty() || below.is_absolute() || name.find('\0') != name.npos ||
      std::any_of(below.begin(), below.end(), leads_away)) {
    throw input_error(translated("{1} cannot be the name of a file or folder in {2}",
                                 in_quotes(name), in_quotes(folder.native())),
                      "RunOptions::out", translated("give the document another name"));
  }
  return folder / below;
}

NewFolders make_folder_below(const fs::path& folder, std::string_view name) {
  const fs::path place = place_below(folder, name);
  fs::path inside = folder;
  for (const fs::path& part : fs::path(name)) refuse_link(inside /= part);
  return make_folder(
      place, translated("check the permissions of the folders above, and what is in the way"));
}

namespace {

// The files that a member of result.json in the folder names; none if there is no such result.
// `document` gets what the result says of it.
ResultFiles files_of_result(const fs::path& folder, std::string_view member,
                            std::string* document = nullptr) {
  try {
    const auto file = MappedFile::open(FileName::by_document(folder, result_name));
    JsonOptions options;
    options.owner = file;
    const JsonValue root = parse_json(file->text(), options);
    const JsonValue* const own = document == nullptr ? nullptr : root.find("document");
    if (own != nullptr) *document = expect_string(*own, "/document");
    return ResultFiles(root, member);
  } catch (const Error&) {
    return {};  // no result, or one of another program
  }
}

}  // namespace

std::vector<fs::path> comparisons_left_over(const fs::path& folder, const fs::path& written) {
  std::vector<fs::path> left;
  for (const KindInfo& kind : kinds()) {
    const ResultFiles older = files_of_result(folder / kind.name, "comparison");
    for (const std::string& name : older.names()) {
      const fs::path path = folder / name;
      const bool stays = fs::path(name).filename() != name || path == written ||
                         std::find(left.begin(), left.end(), path) != left.end();
      if (!stays && is_unchanged(older, folder, name)) left.push_back(path);
    }
  }
  return left;
}

LeftOver left_over(const fs::path& folder, const std::vector<WrittenFile>& written) {
  LeftOver left;
  const ResultFiles older = files_of_result(folder, "files", &left.document);
  for (const std::string& name : older.names()) {
    const fs::path path = folder / name;
    const bool stays = fs::path(name).filename() != name ||
                       std::any_of(written.begin(), written.end(), [&](const WrittenFile& one) {
                         return one.path.filename() == name;
                       });
    if (!stays && is_unchanged(older, folder, name)) left.files.push_back(path);
  }
  return left;
}

void HashedFile::write(std::string_view piece) {
  file_.write(piece);
  hash_.add(piece);
  bytes_ += piece.size();
}

void ResultFolder::write_files(std::size_t threads) {
  constexpr std::size_t most_open = 100;
  const bool many = tasks_.size() > most_open;
  parallel_for(tasks_.size(), threads, [&](std::size_t i) {
    Task& task = tasks_[i];
    if (!task.file) {
      task.file = std::make_shared<HashedFile>(task.path);
      task.write(*task.file);
    }
    if (sync_) task.file->file().sync();
    if (many) task.file->file().set_aside();
  });
}

std::vector<WrittenFile> ResultFolder::write(
    std::size_t threads,
    const std::function<void(const std::vector<WrittenFile>&, HashedFile&)>& write_result) {
  lock_ = lock_folder(folder_, made_);
  write_files(threads);
  std::vector<WrittenFile> written;
  for (const Task& task : tasks_) written.push_back(task.file->written());
  const fs::path path = place_below(folder_, result_name);
  result_ = std::make_unique<HashedFile>(path);
  write_result(written, *result_);
  if (sync_) result_->file().sync();
  written.push_back(result_->written());
  std::error_code ignored;
  if (!tasks_.empty() && fs::exists(fs::symlink_status(path, ignored))) {
    mark_ = std::make_unique<AtomicFile>(path);
    mark_->write(unfinished_result);
  }
  return written;
}

std::vector<fs::path> ResultFolder::write_all(const MappedFiles* inputs) {
  std::vector<fs::path> paths;
  for (const Task& task : tasks_) {
    if (inputs != nullptr) inputs->refuse_output(task.path);
    paths.push_back(task.path);
  }
  make();
  lock_ = lock_folder(folder_, made_);
  write_files(1);
  commit();
  return paths;
}

void ResultFolder::mark_unfinished() {
  if (mark_) mark_->commit();
  mark_.reset();
}

void ResultFolder::commit() {
  mark_unfinished();
  for (const Task& task : tasks_) task.file->file().commit();
  const std::vector<fs::path> new_folders = made_.keep();
  if (sync_ && !tasks_.empty()) sync_folder(folder_);
  if (result_) result_->file().commit();
  std::error_code ignored;
  for (const fs::path& file : left_over_) fs::remove(file, ignored);
  if (sync_) {
    sync_folder(folder_);
    for (const fs::path& folder : new_folders) sync_folder(folder / "..");
  }
  lock_ = {};
}

}  // namespace attn
