#include "support/mapped_file.hpp"

#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

using namespace attn;

TEST_CASE("a file's bytes are those it holds") {
  const TemporaryFolder folder;
  std::string text("a\0b\n", 4);
  text.append(100000, 'x');
  write_text(folder / "x", text);
  const auto file = MappedFile::open(FileName::by_user(folder / "x"));
  CHECK(file->text() == text);
  CHECK(file->bytes().size() == text.size());
}

TEST_CASE("an empty file has no bytes") {
  const TemporaryFolder folder;
  write_text(folder / "x", "");
  CHECK(MappedFile::open(FileName::by_user(folder / "x"))->bytes().empty());
  CHECK(MappedFile::open(FileName::by_user("/dev/null"))->text().empty());
}

TEST_CASE("a file whose size is not known beforehand is read") {
  CHECK(MappedFile::open(FileName::by_user("/proc/self/status"))->text().starts_with("Name:"));
}

TEST_CASE("a device whose bytes have no end is refused at its first ones") {
  CHECK_THROWS_WITH_AS(MappedFile::open(FileName::by_user("/dev/zero")),
                       "\"/dev/zero\" is a device, whose bytes have no end\n"
                       "  help:  name a file or a pipe",
                       Error);
}

TEST_CASE("a pipe is read to its end") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(300000, 'x');
  std::thread writer([&] { write_text(pipe, text); });
  const auto file = MappedFile::open(FileName::by_user(pipe));
  writer.join();
  CHECK(file->text() == text);
}

TEST_CASE("a minus sign names standard input, read from where it stands") {
  const TemporaryFolder folder;
  write_text(folder / "x", "first second");
  const int kept = dup(STDIN_FILENO);
  REQUIRE(freopen((folder / "x").c_str(), "r", stdin) != nullptr);
  REQUIRE(lseek(STDIN_FILENO, 6, SEEK_SET) == 6);
  const auto file = MappedFile::open(FileName::by_user("-"));
  dup2(kept, STDIN_FILENO);
  close(kept);
  CHECK(file->text() == "second");
}

TEST_CASE("a file that cannot be opened is named with the reason") {
  CHECK(error_from([] { MappedFile::open(FileName::by_user("no/such file.npy")); },
                   ErrorKind::file) ==
        "cannot open \"no/such file.npy\": No such file or directory\n"
        "  help:  check the name, and the folder it is looked for in");
  CHECK_THROWS_WITH_AS(
      MappedFile::open(FileName::by_user("/")),
      "cannot open \"/\": Is a directory\n"
      "  help:  name a file, not a folder; only that of a result has a result.json",
      Error);
  CHECK_THROWS_WITH_AS(MappedFile::open(FileName::by_user("")),
                       "the name of a file is empty\n"
                       "  help:  name a file, or - for standard input",
                       Error);
}

TEST_CASE("a file that may not be read is named with the reason") {
  if (geteuid() == 0) return;  // root may read everything
  const TemporaryFolder folder;
  write_text(folder / "x", "secret");
  std::filesystem::permissions(folder / "x", std::filesystem::perms::none);
  const std::string problem = "cannot open \"" + (folder / "x").string() +
                              "\": Permission denied\n"
                              "  help:  check the permissions of the file and its folders";
  CHECK_THROWS_WITH_AS(MappedFile::open(FileName::by_user(folder / "x")), problem.c_str(), Error);
}
