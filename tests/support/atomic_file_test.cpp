#include "support/atomic_file.hpp"

#include <csignal>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/output_lock.hpp"
#include "support/printable.hpp"
#include "temporary_folder.hpp"

using namespace attn;

namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::size_t entries_in(const TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

// What() of the error that writing to the path gives.
std::string error_of(const fs::path& path) {
  return error_from([&] { write_whole_file(path, "x", Existing::followed); }, ErrorKind::file);
}

}  // namespace

TEST_CASE("a new file appears when it is committed, not before") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("one ");
  file.write("two");
  CHECK_FALSE(fs::exists(folder / "x"));
  file.commit();
  CHECK(read_text(folder / "x") == "one two");
  CHECK(entries_in(folder) == 1);
}

TEST_CASE("an existing file stays as it was until the new one is committed") {
  const TemporaryFolder folder;
  write_text(folder / "x", "a much longer text from before");
  AtomicFile file(folder / "x");
  file.write("new");
  CHECK(read_text(folder / "x") == "a much longer text from before");
  file.commit();
  CHECK(read_text(folder / "x") == "new");
  CHECK(entries_in(folder) == 1);
}

TEST_CASE("a file that is never committed leaves nothing behind") {
  const TemporaryFolder folder;
  write_text(folder / "old", "old");
  {
    AtomicFile fresh(folder / "x");
    fresh.write("half");
    AtomicFile replacing(folder / "old");
    replacing.write("half");
  }
  CHECK(entries_in(folder) == 1);
  CHECK(read_text(folder / "old") == "old");
}

TEST_CASE("a file that is written directly has all bytes, whatever pieces they come in") {
  const TemporaryFolder folder;
  constexpr std::size_t megabyte = std::size_t{1} << 20U;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, megabyte - 1, megabyte,
                                 megabyte + 1, 3 * megabyte, 3 * megabyte + 4097}) {
    for (const std::size_t piece : {std::size_t{100'003}, 2 * megabyte + 1}) {
      CAPTURE(size);
      CAPTURE(piece);
      std::string bytes(size, '\0');
      for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 4096);
      AtomicFile file(folder / "x");
      file.begin_direct();
      for (std::size_t at = 0; at < size; at += piece) {
        file.write(std::string_view(bytes).substr(at, piece));
      }
      if (piece < megabyte) file.end_direct();
      file.commit();
      CHECK(read_text(folder / "x") == bytes);
    }
  }
}

TEST_CASE("bytes that follow those written directly are behind them") {
  const TemporaryFolder folder;
  const std::string many(1'500'000, 'a');
  AtomicFile file(folder / "x");
  file.begin_direct();
  file.write(many);
  file.end_direct();
  file.write("and more");
  file.set_aside();
  file.commit();
  CHECK(read_text(folder / "x") == many + "and more");
}

TEST_CASE("a file that is written directly into memory has all bytes") {
  const fs::path path = "/dev/shm/attn-direct-" + std::to_string(getpid());
  if (!fs::exists(path.parent_path())) return;
  const std::string many(2'500'000, 'b');
  AtomicFile file(path);
  file.begin_direct();
  file.write(many);
  file.commit();
  CHECK(read_text(path) == many);
  fs::remove(path);
}

TEST_CASE("a killed program leaves nothing behind") {
  const TemporaryFolder folder;
  write_text(folder / "old", "old");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    AtomicFile fresh(folder / "x");
    fresh.write("half");
    AtomicFile replacing(folder / "old");
    replacing.write("half");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(entries_in(folder) == 1);
  CHECK(read_text(folder / "old") == "old");
}

TEST_CASE("a file that someone else made in the meantime is replaced") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("ours");
  write_text(folder / "x", "theirs");
  file.commit();
  CHECK(read_text(folder / "x") == "ours");
  CHECK(entries_in(folder) == 1);
}

TEST_CASE("a new file has the permissions that the umask leaves") {
  const TemporaryFolder folder;
  const mode_t before = umask(027);
  write_whole_file(folder / "x", "x");
  umask(before);
  CHECK(mode_of(folder / "x") == 0640);
}

TEST_CASE("an existing file keeps its permissions") {
  const TemporaryFolder folder;
  write_text(folder / "x", "old");
  REQUIRE(chmod((folder / "x").c_str(), 0604) == 0);
  write_whole_file(folder / "x", "new");
  CHECK(mode_of(folder / "x") == 0604);
  CHECK(read_text(folder / "x") == "new");
}

TEST_CASE("a name without a folder is written in the working folder") {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_whole_file("x", "here");
  write_whole_file("x", "again");
  fs::current_path(before);
  CHECK(read_text(folder / "x") == "again");
}

TEST_CASE("a symbolic link that the user named is followed, whether what it names exists or not") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/target", folder / "link");
  fs::create_symlink("link", folder / "second link");
  write_whole_file(folder / "link", "one", Existing::followed);
  CHECK(read_text(folder / "sub/target") == "one");
  write_whole_file(folder / "second link", "two", Existing::followed);
  CHECK(read_text(folder / "sub/target") == "two");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "second link"));
}

TEST_CASE("folders that are missing above a file that the user named are made") {
  const TemporaryFolder folder;
  write_whole_file(folder / "new/deep/x", "one", Existing::followed);
  CHECK(read_text(folder / "new/deep/x") == "one");
  write_whole_file(folder / "new/deep/y", "two", Existing::followed);
  CHECK(read_text(folder / "new/deep/y") == "two");
}

TEST_CASE("folders that were made for a file that is never committed are removed") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "old");
  {
    AtomicFile file(folder / "old/new/deep/x", Existing::followed);
    file.write("half");
    CHECK(fs::exists(folder / "old/new/deep"));
  }
  CHECK(fs::is_empty(folder / "old"));
  CHECK_THROWS_AS(write_whole_file(folder / "old/new/", "x", Existing::followed), Error);
  CHECK(fs::is_empty(folder / "old"));
}

TEST_CASE("new folders are removed unless they are kept or something is in them") {
  const TemporaryFolder folder;
  std::error_code error;
  { const NewFolders removed(folder / "a/b", error); }
  CHECK_FALSE(fs::exists(folder / "a"));
  {
    NewFolders made(folder / "a/b", error);
    made.add(NewFolders(folder / "a/b/c/d", error));
    write_text(folder / "a/file", "");
  }
  CHECK_FALSE(error);
  CHECK(entries_in(folder) == 1);
  CHECK_FALSE(fs::exists(folder / "a/b"));
  CHECK(NewFolders(folder / "a/b/c", error).keep() ==
        std::vector<fs::path>{folder / "a/b", folder / "a/b/c"});
  CHECK(fs::exists(folder / "a/b/c"));
  CHECK(NewFolders(folder / "a/b/c", error).keep().empty());
  { const NewFolders refused(folder / "a/file/c", error); }
  CHECK(error == std::errc::not_a_directory);
}

TEST_CASE("symbolic links in a circle are an error") {
  const TemporaryFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  CHECK(error_of(folder / "a") == "cannot write \"" + (folder / "a").string() +
                                      "\": Too many levels of symbolic links\n"
                                      "  help:  the symbolic links lead in a circle: remove one");
}

TEST_CASE("what cannot be written is named with the reason") {
  const TemporaryFolder folder;
  CHECK(error_of(folder.path()) ==
        "cannot write \"" + folder.path().string() +
            "\": Is a directory\n"
            "  help:  name a file, not a folder; only that of a result has a result.json");
  CHECK(error_of(folder / "new/") == "cannot write \"" + (folder / "new/").string() +
                                         "\": Is a directory\n  help:  name a file, not a folder; "
                                         "only that of a result has a result.json");
  write_text(folder / "file", "");
  CHECK(error_of(folder / "file/x") == "cannot write \"" + (folder / "file/x").string() +
                                           "\": Not a directory\n"
                                           "  help:  create the folder first, or check its name");
  const std::string long_name(300, 'n');
  CHECK(error_of(folder / long_name) == "cannot write " + in_quotes((folder / long_name).native()) +
                                            ": File name too long\n"
                                            "  help:  choose a shorter name");
  CHECK(error_of("") ==
        "cannot write \"\": No such file or directory\n"
        "  help:  create the folder first, or check its name");
}

TEST_CASE("a folder or file without the permission to write is an error") {
  if (geteuid() == 0) return;  // root may write everywhere
  const TemporaryFolder folder;
  const std::string reason =
      "\": Permission denied\n"
      "  help:  check the permissions of the folder and the file, or write elsewhere";
  write_text(folder / "x", "kept");
  REQUIRE(chmod((folder / "x").c_str(), 0400) == 0);
  CHECK(error_of(folder / "x") == "cannot write \"" + (folder / "x").string() + reason);
  CHECK(read_text(folder / "x") == "kept");
  fs::create_directory(folder / "sub");
  REQUIRE(chmod((folder / "sub").c_str(), 0500) == 0);
  CHECK(error_of(folder / "sub/x") == "cannot write \"" + (folder / "sub/x").string() + reason);
}

TEST_CASE("a full disk is an error") {
  CHECK(error_of("/dev/full") ==
        "cannot write \"/dev/full\": No space left on device\n"
        "  help:  free some space, or write to another disk");
}

TEST_CASE("a device that the user named is written to, not replaced") {
  CHECK(error_of("/dev/null") == "no error");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a pipe that the user named is written to, not replaced") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] { received = read_text(pipe); });
  write_whole_file(pipe, "through", Existing::followed);
  reader.join();
  CHECK(received == "through");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("an open file of the program is written to where it stands") {
  const TemporaryFolder folder;
  const int file = open((folder / "log").c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, "before ", 7) == 7);
  write_whole_file("/dev/fd/" + std::to_string(file), "one", Existing::followed);
  write_whole_file("/proc/self/fd/" + std::to_string(file), " two", Existing::followed);
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), folder / "link");
  write_whole_file(folder / "link", " three", Existing::followed);
  REQUIRE(write(file, " after", 6) == 6);
  close(file);
  CHECK(read_text(folder / "log") == "before one two three after");
}

TEST_CASE("in a folder of results links, pipes and devices give way to the file") {
  const TemporaryFolder folder;
  write_text(folder / "elsewhere", "kept");
  fs::create_symlink("elsewhere", folder / "link");
  fs::create_symlink("/dev/full", folder / "device");
  fs::create_symlink("a circle", folder / "a circle");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "device", "a circle", "pipe"}) {
    CAPTURE(name);
    write_whole_file(folder / name, "new");
    CHECK(fs::symlink_status(folder / name).type() == fs::file_type::regular);
    CHECK(read_text(folder / name) == "new");
  }
  CHECK(read_text(folder / "elsewhere") == "kept");
  CHECK(entries_in(folder) == 5);
}

TEST_CASE("a file that is replaced does not keep the bits that let others run it as its owner") {
  const TemporaryFolder folder;
  write_text(folder / "x", "old");
  REQUIRE(chmod((folder / "x").c_str(), 07755) == 0);
  write_whole_file(folder / "x", "new");
  CHECK(mode_of(folder / "x") == 0755);
  REQUIRE(chmod((folder / "x").c_str(), 06711) == 0);
  write_whole_file(folder / "x", "new", Existing::followed);
  CHECK(mode_of(folder / "x") == 0711);
}

TEST_CASE("what killed programs left is taken away, what a living one writes is not") {
  const TemporaryFolder folder;
  const fs::path left = folder / ".attn-0011223344556677.part";
  const fs::path written = folder / ".attn-8899aabbccddeeff.part";
  for (const fs::path& path : {left, written, folder / ".attn-other.part", folder / "x"}) {
    write_text(path, "half");
  }
  fs::create_symlink("x", folder / ".attn-0000000000000000.part");
  const int file = open(written.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(flock(file, LOCK_EX) == 0);
  remove_leftovers(folder.path());
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(written));
  CHECK(entries_in(folder) == 4);
  close(file);
  {
    const attn::OutputLock lock = attn::OutputLock::of_folder(folder.path());
    remove_leftovers(folder.path());
    CHECK(fs::exists(written));
  }
  remove_leftovers(folder.path());
  CHECK_FALSE(fs::exists(written));
}
