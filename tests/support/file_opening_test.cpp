#include "support/file_opening.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/mapped_file.hpp"
#include "temporary_folder.hpp"

using namespace attn;

namespace {

namespace fs = std::filesystem;

// A folder "in" that documents are confined to, and what lies outside of it.
struct Confined {
  Confined() {
    fs::create_directories(folder / "in/below");
    fs::create_directories(folder / "out/folder");
    folder.write("in/file", "inside");
    folder.write("out/file", "outside");
    access.restrict_to = folder / "in";
  }
  std::string opened(const std::string& name) const {
    return std::string(
        MappedFile::open(FileName::by_document(folder.path(), name), access)->text());
  }
  // The error with `name` in place of the name.
  std::string refused(const std::string& name) const {
    std::string text = error_from([&] { opened(name); });
    const std::size_t at = text.find(name);
    return at == std::string::npos ? text : text.replace(at, name.size(), "NAME");
  }

  TemporaryFolder folder;
  FileAccess access;
};

}  // namespace

TEST_CASE("names of documents are resolved within their folder") {
  const Confined confined;
  const TemporaryFolder& folder = confined.folder;
  fs::create_symlink("below/../file", folder / "in/link");
  fs::create_symlink(folder / "in/link", folder / "in/absolute");
  for (const std::string& name :
       {std::string("in/file"), std::string("./in/./below/../file"), std::string("in/link"),
        std::string("in/absolute"), (folder / "in/file").string(),
        "../" + folder.path().filename().string() + "/in/file"}) {
    CAPTURE(name);
    CHECK(confined.opened(name) == "inside");
  }
}

TEST_CASE("a folder that the user names by a link confines the names in it") {
  const Confined confined;
  const TemporaryFolder& folder = confined.folder;
  fs::create_directory_symlink(folder.path(), folder / "out/home");
  FileAccess access;
  access.restrict_to = folder / "out/home/in";
  for (const fs::path& place : {folder.path(), folder / "out/home"}) {
    for (const fs::path& name : {fs::path("in/file"), folder / "out/home/in/file"}) {
      CAPTURE(place);
      CAPTURE(name);
      CHECK(MappedFile::open(FileName::by_document(place, name), access)->text() == "inside");
    }
  }
}

TEST_CASE("an error for a name that leads outside does not depend on what is there") {
  const Confined confined;
  const TemporaryFolder& folder = confined.folder;
  const std::string none = confined.refused("out/none");
  CHECK(none == "\"" + (folder / "NAME").string() + "\" is not in the folder \"" +
                    (folder / "in").string() +
                    "\", to which FileAccess::restrict_to confines the files of documents\n"
                    "  help:  put a copy of the file into that folder, and write the name of the "
                    "copy, as seen from the document");
  for (const char* name : {"none", "file", "folder"}) {
    fs::create_symlink(std::string("../out/") + name,
                       folder / ("in/" + std::string(name) + "link"));
  }
  fs::create_directory_symlink("../in", folder / "out/back");
  fs::create_symlink("round", folder / "in/round");
  for (const std::string name :
       {"out/file", "out/folder", "in/nonelink", "in/filelink", "in/folderlink", "in/../out/none",
        "out/folder/../../in/file", "out/none/../../in/file", "out/back/file", "..", "."}) {
    CAPTURE(name);
    CHECK(confined.refused(name) == none);
    const FileName file = FileName::by_document(folder.path(), name);
    CHECK(error_from([&] { is_there(file, confined.access); }).find("is not in the folder") !=
          std::string::npos);
    CHECK(error_from([&] { refuse_outside(file, confined.access); }).find("is not in the folder") !=
          std::string::npos);
  }
  CHECK(error_from([&] { confined.opened("in/round"); }, ErrorKind::file)
            .find("Too many levels of symbolic links") != std::string::npos);
  CHECK(!is_there(FileName::by_document(folder.path(), "in/none"), confined.access));
  CHECK(is_there(FileName::by_document(folder.path(), "in/below"), confined.access));
}

TEST_CASE("who named a file decides what may be behind its name") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto of_document = [](const fs::path& path) {
    return error_from([&] { open_file(FileName::by_document("", path), {}); }, ErrorKind::file);
  };
  for (const fs::path& path : {folder / "pipe", fs::path("/dev/zero"), fs::path("/dev/null")}) {
    CHECK(of_document(path) ==
          "\"" + path.string() + "\" is not a regular file\n  help:  name a regular file");
  }
  CHECK(of_document("/proc/self/status") ==
        "\"/proc/self/status\" is not a file on a disk: the system makes it while it is read\n"
        "  help:  name a regular file");
  CHECK(of_document(folder.path()).find("Is a directory") != std::string::npos);
  CHECK(of_document("-").starts_with("cannot open \"-\": No such file"));
  CHECK(open_file(FileName::by_user("/proc/self/status"), {}).descriptor.get() >= 0);
  CHECK(open_file(FileName::by_user("/dev/null"), {}).descriptor.get() >= 0);
}

TEST_CASE("an output is refused in the place of a file that was opened, by any name or link") {
  const TemporaryFolder folder;
  folder.write("input", "x");
  folder.write("other", "x");
  fs::create_symlink("input", folder / "link");
  fs::create_hard_link(folder / "input", folder / "hard");
  FileAccess access;
  with_whole_files(access, [&](const FileAccess& outer) {
    MappedFile::open(FileName::by_user(folder / "input"), outer);
    return with_whole_files(outer, [&](const FileAccess& inner) {
      for (const char* name : {"input", "./link", "hard"}) {
        CHECK(error_from([&] { inner.mapped->refuse_output(folder / name); }, ErrorKind::usage) ==
              "the output \"" + (folder / name).string() + "\" would replace \"" +
                  (folder / "input").string() +
                  "\", from which it is made\n  help:  write to another file or folder");
      }
      inner.mapped->refuse_output(folder / "other");
      inner.mapped->refuse_output(folder / "none");
      return true;
    });
  });
}
