#include "support/file_opening.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/platform.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace fs = std::filesystem;

std::string nearest_file(const fs::path& missing) {
  // Only so many names are read.
  constexpr std::size_t most_names = 1000;
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end;
       !error && at != end && names.size() < most_names; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  // The folder may be written with other capitals: then the file is looked for there.
  if (names.empty() && !fs::exists(folder, error)) {
    const std::string meant = nearest_file(folder);
    const std::string own = meant.empty() ? "" : (fs::path(meant) / missing.filename()).string();
    return !own.empty() && fs::exists(own, error) ? own : "";
  }
  // The extension may have been left out.
  for (const std::string& name : names) {
    if (!missing.has_extension() && missing.filename() == fs::path(name).stem() &&
        !fs::is_directory(folder / name, error)) {
      return (missing.parent_path() / name).string();
    }
  }
  const std::string_view nearest = nearest_name(
      missing.filename().native(), std::vector<std::string_view>(names.begin(), names.end()));
  // A common extension alone makes no name near.
  const std::string stem = fs::path(nearest).stem().string();
  if (nearest_name(missing.stem().native(), std::vector<std::string_view>{stem}).empty()) return "";
  return (missing.parent_path() / nearest).string();
}

namespace {

[[noreturn]] void fail(const std::string& name, int reason) {
  throw Error(ErrorKind::file, translated("cannot open {1}: {2}", name, system_error_text(reason)),
              "", help_for_file(reason, FileUse::read));
}

// Throws the error of a file that the user named and that is missing.
[[noreturn]] void fail_to_find(const FileName& file) {
  if (file.path().native().find(":/") != std::string::npos) {
    throw Error(ErrorKind::file,
                translated("cannot open {1}: {2}", file.text(), system_error_text(ENOENT)), "",
                file.path().native().starts_with("file:")
                    ? translated("name it by its path, without {1}", "file:")
                    : translated("download it first, and name the file"));
  }
  const std::string nearest = nearest_file(file.path());
  if (nearest.empty()) fail(file.text(), ENOENT);
  throw Error(ErrorKind::file,
              translated("cannot open {1}: {2}", file.text(), system_error_text(ENOENT)), "",
              translated("did you mean \"{1}\"?", nearest));
}

[[noreturn]] void refuse_place(const std::string& name, const fs::path& folder) {
  throw input_error(translated("{1} is not in the folder {2}, to which FileAccess::restrict_to "
                               "confines the files of documents",
                               name, in_quotes(folder.native())),
                    "",
                    translated("put a copy of the file into that folder, and write the name of "
                               "the copy, as seen from the document"));
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

fs::path real_folder(const fs::path& folder) {
  std::error_code error;
  fs::path real = fs::canonical(folder, error);
  if (!error && !fs::is_directory(real, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw Error(ErrorKind::file,
                translated("cannot open the folder {1}: {2}", in_quotes(folder.native()),
                           system_error_text(error.value())),
                "FileAccess::restrict_to", translated("name a folder that exists"));
  }
  return real;
}

/// Resolution of names to paths without links. Folders outside of the restricted one are not looked
/// at. Those above it, and above the folder that names are relative to, are known to be there.
class Resolution {
 public:
  Resolution(const fs::path& restricted, const fs::path& base)
      : real_(real_folder(restricted)), shown_(absolute(restricted)), base_shown_(absolute(base)) {
    std::error_code error;
    base_ = fs::canonical(base_shown_, error);
    if (error) base_ = base_shown_.lexically_normal();
  }

  const fs::path& restricted() const { return real_; }

  /// The path without links; absent for one that leads outside on the way or at its end.
  std::optional<fs::path> operator()(const fs::path& name) {
    begin(base_shown_ / name);
    constexpr int most_links = 40;
    for (int links = 0; !rest_.empty();) {
      const fs::path part = rest_.front();
      rest_.pop_front();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        at_ = at_.parent_path();
        continue;
      }
      const fs::path next = at_ / part;
      if (is_inside(next, real_)) {
        std::error_code none;
        const fs::path target = fs::read_symlink(next, none);
        if (none || ++links > most_links) {
          at_ = next;
        } else {
          go(target);
        }
      } else if (is_inside(real_, next) || is_inside(base_, next)) {
        at_ = next;
      } else {
        return std::nullopt;
      }
    }
    return is_inside(at_, real_) ? std::optional(at_) : std::nullopt;
  }

 private:
  static fs::path absolute(const fs::path& path) {
    std::error_code error;
    fs::path whole = fs::absolute(path.empty() ? "." : path, error);
    return error ? path : whole;
  }

  void begin(const fs::path& path) {
    rest_.clear();
    go(path);
  }

  // Goes on with a path that is absolute or relative to `at_`.
  void go(const fs::path& path) {
    std::deque<fs::path> parts(path.begin(), path.end());
    if (path.is_absolute()) {
      at_ = path.root_path();
      parts.pop_front();
      // The user may have named both folders by links.
      for (const auto& [shown, real] :
           {std::pair(&shown_, &real_), std::pair(&base_shown_, &base_)}) {
        if (!is_inside(path, *shown)) continue;
        at_ = *real;
        parts.assign(std::next(path.begin(), std::distance(shown->begin(), shown->end())),
                     path.end());
        break;
      }
    }
    rest_.insert(rest_.begin(), parts.begin(), parts.end());
  }

  fs::path real_, shown_;       // the restricted folder
  fs::path base_, base_shown_;  // the folder that names are relative to
  fs::path at_;
  std::deque<fs::path> rest_;
};

// Path by which a file may be opened, and the folder that it must be in.
struct Place {
  fs::path path;
  std::optional<fs::path> folder;
};

Place place_of(const FileName& file, const FileAccess& access) {
  // The system would take the file or folder whose name ends at the zero byte.
  if (file.path().native().find('\0') != std::string::npos) {
    throw input_error(translated("the file name {1} holds a zero byte", file.text()), "",
                      translated("check the name"));
  }
  if (file.is_of_user() || !access.restrict_to) return {file.path(), std::nullopt};
  Resolution resolution(*access.restrict_to, file.folder());
  const std::optional<fs::path> path = resolution(file.name());
  if (!path) refuse_place(file.text(), *access.restrict_to);
  return {*path, resolution.restricted()};
}

// Whether what the user named is a file or a pipe, or nothing or a terminal in their place.
// Devices that are endless, such as /dev/zero, are refused at their first bytes.
bool may_be_read(const struct stat& status) {
  return S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
}

void check_kind(const FileName& file, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) fail(file.text(), EISDIR);
  const bool by_user = file.is_of_user();
  if (by_user ? may_be_read(status) : S_ISREG(status.st_mode)) return;
  throw Error(ErrorKind::file,
              by_user ? translated("{1} is not a file or a pipe", file.text())
                      : translated("{1} is not a regular file", file.text()),
              "",
              by_user ? translated("name a file or a pipe") : translated("name a regular file"));
}

}  // namespace

std::string help_for_file(int reason, FileUse use) {
  const bool read = use == FileUse::read;
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
      return read ? translated("check the name, and the folder it is looked for in")
                  : translated("create the folder first, or check its name");
    case EISDIR:
      return translated("name a file, not a folder; only that of a result has a result.json");
    case EACCES:
    case EPERM:
      return read ? translated("check the permissions of the file and its folders")
                  : translated(
                        "check the permissions of the folder and the file, or write elsewhere");
    case EMFILE:
      return translated("raise the limit of open files (ulimit -n)");
    default:
      break;
  }
  if (read) return "";
  switch (reason) {
    case EROFS:
      return translated("write to another place");
    case ENOSPC:
    case EDQUOT:
      return translated("free some space, or write to another disk");
    case EFBIG:
      return translated("raise the limit of file sizes (ulimit -f), or write less");
    case ENAMETOOLONG:
      return translated("choose a shorter name");
    case ELOOP:
      return translated("the symbolic links lead in a circle: remove one");
    default:
      return "";
  }
}

std::string FileName::text() const {
  return is_standard_input() ? translated("standard input") : in_quotes(path().native());
}

OpenedFile open_file(const FileName& file, const FileAccess& access) {
  struct stat status {};
  const std::string name = file.text();
  if (file.is_standard_input()) {
    if (fstat(STDIN_FILENO, &status) != 0) fail(name, errno);
    if (S_ISDIR(status.st_mode)) fail(name, EISDIR);
    return {Descriptor(STDIN_FILENO, false), status};
  }
  if (file.name().empty()) {
    throw Error(ErrorKind::file, translated("the name of a file is empty"), "",
                translated("name a file, or - for standard input"));
  }
  const Place place = place_of(file, access);
  // Opening alone may wait, for the writer of a pipe, or have an effect, on a device.
  if (stat(place.path.c_str(), &status) != 0) {
    const int reason = errno;
    if (reason == ENOENT && file.is_of_user()) fail_to_find(file);
    fail(name, reason);
  }
  check_kind(file, status);
  const int waits = S_ISREG(status.st_mode) ? O_NONBLOCK : 0;
  Descriptor opened(::open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits));
  if (opened.get() < 0) fail(name, errno);
  // Another file may have got the name in between.
  if (fstat(opened.get(), &status) != 0) fail(name, errno);
  check_kind(file, status);
  if (file.is_of_user()) return {std::move(opened), status};
  if (platform::is_made_while_read(opened.get())) {
    throw Error(
        ErrorKind::file,
        translated("{1} is not a file on a disk: the system makes it while it is read", name), "",
        translated("name a regular file"));
  }
  if (!place.folder) return {std::move(opened), status};
  const fs::path real = platform::path_of(opened.get());
  if (real.empty() || !is_inside(real, *place.folder)) refuse_place(name, *access.restrict_to);
  // Another hard link may be outside the folder, made by a user without permission to read.
  if (status.st_nlink > 1) {
    throw input_error(
        translated("{1} has several names (hard links), and FileAccess::restrict_to allows but one",
                   name),
        "", translated("put a copy of the file into that folder"));
  }
  return {std::move(opened), status};
}

void refuse_outside(const FileName& file, const FileAccess& access) {
  place_of(file, access);
}

void refuse_links_outside(const fs::path& path, const fs::path& typed, const FileAccess& access) {
  if (!access.restrict_to) return;
  fs::path at = typed;
  for (const fs::path& part : path.lexically_relative(typed)) {
    at /= part;
    std::error_code none;
    const fs::path target = fs::read_symlink(at, none);
    if (none) continue;
    try {
      refuse_outside(FileName::by_document(at.parent_path(), target), access);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw input_error(translated("the link {1} leads out of the folder {2}, to which "
                                   "FileAccess::restrict_to confines the files of documents",
                                   in_quotes(at.native()), in_quotes(access.restrict_to->native())),
                        "", translated("put a copy of the document in its place"));
    }
  }
}

bool is_there(const FileName& file, const FileAccess& access) {
  std::error_code none;
  return fs::exists(place_of(file, access).path, none);
}

}  // namespace attn
