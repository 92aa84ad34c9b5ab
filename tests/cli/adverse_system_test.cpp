#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Refusals of the system: space, permissions, descriptors, memory, readers. Each ends with the
// right exit code, a reason, and no file in part.

namespace {

namespace fs = std::filesystem;

const std::string harmless = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string large = R"({"attention":"sdpa","seed":1,"query":{"randn":[300,8]}})";

std::size_t files_below(const fs::path& folder) {
  std::size_t count = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    count += entry.is_regular_file() ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a file that grows beyond what may be written is not there") {
  const TemporaryFolder folder;
  folder.write("a.json", large);
  // Blocks of 512 bytes; the signal of the limit is ignored, as a shell script can do.
  const std::string limited = "trap '' XFSZ; ulimit -f 40; ";
  const Outcome run =
      shell(limited + "exec \"$ATTN\" run a.json --plots none --out r", folder.path());
  CHECK(run.exit_code == 4);
  CHECK(run.errors ==
        "attn-cli: cannot write \"r/result.json\": File too large\n  where: --out\n"
        "  help:  raise the limit of file sizes (ulimit -f), or write less\n");
  CHECK(files_below(folder / "r") == 0);

  folder.write("b.json", harmless);
  const Outcome batch =
      shell(limited + "exec \"$ATTN\" batch a.json b.json --plots none --out b", folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: a: cannot write \"b/a/result.json\": File too large\n"
        "  help:  raise the limit of file sizes (ulimit -f), or write less\n");
  CHECK(!fs::exists(folder / "b/a/result.json"));
  CHECK(fs::exists(folder / "b/b/result.json"));
}

TEST_CASE("a file that is shortened while it is read ends the run with the reason") {
  const TemporaryFolder folder;
  // The system sends SIGBUS. Here it is sent once the program is ready for it: it ignores SIGXFSZ
  // then, bit 24 of SigIgn.
  const Outcome run = shell(
      "mkfifo document; \"$ATTN\" run - --plots none --out r <document & program=$!; "
      "exec 3>document; "
      "until grep -Eq '^SigIgn:.*[13579bdf]......$' /proc/$program/status; do sleep 0.01; done; "
      "kill -BUS $program; wait $program",
      folder.path());
  CHECK(run.exit_code == 4);
  CHECK(run.errors ==
        "attn-cli: a file became shorter, or its disk failed, while it was read\n"
        "  help:  run again when no other program writes the input files\n");
  CHECK(files_below(folder / "r") == 0);
}

TEST_CASE("the signal of the limit of file sizes does not end the program either") {
  const TemporaryFolder folder;
  folder.write("a.json", large);
  const Outcome run =
      shell("ulimit -f 40; \"$ATTN\" run a.json --plots none --out r", folder.path());
  CHECK(run.exit_code == 4);
  CHECK(files_below(folder / "r") == 0);
}

TEST_CASE(
    "a full disk is told, leaves no part of a file, and a batch goes on when there is space") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  folder.write("l.jsonl", large + "\n" + large + "\n" + large + "\n");
  folder.write("a.json", large);
  const Outcome run = shell(
      "unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk 2>/dev/null || exit 77; "
      "\"$ATTN\" run a.json --plots none --out disk/r; echo exit $?; find disk -type f; "
      "\"$ATTN\" batch l.jsonl --plots none --jobs 1 --quiet --out disk/b; echo exit $?; "
      "find disk -name result.json; "
      "mount -o remount,size=8m disk; "
      "\"$ATTN\" batch l.jsonl --plots none --jobs 1 --quiet --out disk/b --resume; echo exit $?; "
      "find disk -name result.json | sort'",
      folder.path());
  if (run.exit_code != 0) {
    MESSAGE("skipped: this system lets nobody but root mount a disk");
    return;
  }
  CHECK(run.output ==
        "exit 4\nexit 1\nexit 0\n"
        "disk/b/l.000001/result.json\ndisk/b/l.000002/result.json\ndisk/b/l.000003/result.json\n");
  std::string errors;
  for (const std::string place : {"disk/r/result.json", "l.000001", "l.000002", "l.000003"}) {
    const bool item = place.starts_with("l.");
    errors += "attn-cli: " + (item ? place + ": " : "") + "cannot write \"" +
              (item ? "disk/b/" + place + "/result.json" : place) +
              "\": No space left on device\n" + (item ? "" : "  where: --out\n") +
              "  help:  free some space, or write to another disk\n";
  }
  CHECK(run.errors == errors);
}

TEST_CASE("a summary that cannot be written ends a batch") {
  const TemporaryFolder folder;
  folder.write("a.json", harmless);
  // Messages are no files as long as they go through a pipe. What instruments the program writes
  // files of its own, before its first line and after its last one.
  const Outcome run = shell(
      "{ (ulimit -f 0; trap '' XFSZ; export GCOV_ERROR_FILE=/dev/null; exec \"$ATTN\" batch a.json "
      "--out r --plots none); echo exit $?; } 2>&1 | "
      "cat",
      folder.path());
  CHECK(run.output ==
        "attn-cli: cannot write \"r/summary.jsonl\": File too large\n  where: --out\n"
        "  help:  free some space, then go on with --resume\nexit 4\n");
}

TEST_CASE(
    "wherever the space ends, the summary has whole lines, and going on ends in equal files") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 1; i <= 60; ++i) {
    lines += R"({"attention":"sdpa","query":[[)" + std::to_string(i) + ",0],[0,1]]}\n";
  }
  folder.write("l.jsonl", lines);
  const std::string batch = "exec \"$ATTN\" batch l.jsonl --plots none --jobs 4 --quiet --out ";
  CHECK(shell(batch + "expected", folder.path()).exit_code == 0);
  // The summary is the largest file, 17 kB; a result takes less than a block of 512 bytes.
  for (int blocks = 3; blocks <= 30; blocks += 3) {
    CAPTURE(blocks);
    const std::string limit = "ulimit -f " + std::to_string(blocks) + "; ";
    fs::remove_all(folder / "r");
    CHECK(shell(limit + batch + "r", folder.path()).exit_code == 4);
    const std::string summary = read_text(folder / "r/summary.jsonl");
    CHECK(!summary.empty());
    for (std::size_t begin = 0, end; begin < summary.size(); begin = end + 1) {
      end = summary.find('\n', begin);
      REQUIRE(end != std::string::npos);
      CHECK(summary.compare(begin, 9, "{\"item\": ") == 0);
      CHECK(summary[end - 1] == '}');
    }
    const Outcome rest = shell(batch + "r --resume", folder.path());
    CHECK(rest.exit_code == 0);
    CHECK(rest.errors.empty());
    CHECK(shell("diff -r --exclude=summary.jsonl expected r", folder.path()).exit_code == 0);
  }
}

TEST_CASE("a folder that cannot be written to is told") {
  const TemporaryFolder folder;
  folder.write("a.json", harmless);
  fs::create_directory(folder / "locked");
  fs::permissions(folder / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  // Permissions hold nobody back who is root.
  const std::string user =
      geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  if (geteuid() == 0) {
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(folder / "locked", fs::perms::owner_read | fs::perms::owner_exec |
                                           fs::perms::others_read | fs::perms::others_exec);
  }
  const Outcome run =
      shell(user + "\"$ATTN\" run a.json --plots none --out locked/r", folder.path());
  CHECK(run.exit_code == 4);
  CHECK(run.errors ==
        "attn-cli: cannot create the folder \"locked/r\": Permission denied\n  where: --out\n"
        "  help:  name a folder in one that can be written to\n");
  const Outcome batch =
      shell(user + "\"$ATTN\" batch a.json --plots none --out locked", folder.path());
  CHECK(batch.exit_code == 4);
  CHECK(batch.errors ==
        "attn-cli: cannot write \"locked/summary.jsonl\": Permission denied\n  where: --out\n"
        "  help:  check the permissions of the folder and the file\n");
  fs::permissions(folder / "locked", fs::perms::owner_all);
}

TEST_CASE("too few descriptors of files are told") {
  const TemporaryFolder folder;
  folder.write("a.json", harmless);
  // Descriptors that the test's own parents left open would count too.
  const std::string limited = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec ";
  // By one thread, as a font that finds no descriptor while another picture is written is no memory
  // to Cairo.
  const Outcome run = shell(limited + "\"$ATTN\" run a.json --threads 1 --out r", folder.path());
  CHECK(run.exit_code == 4);
  CHECK(run.errors.find("Too many open files") != std::string::npos);
  CHECK(files_below(folder / "r") == 0);
  const Outcome batch =
      shell(limited + "\"$ATTN\" batch a.json --plots none --out b", folder.path());
  CHECK(batch.exit_code != 0);
  CHECK(batch.errors.find("Too many open files") != std::string::npos);
  CHECK(!fs::exists(folder / "b/a/result.json"));
}

TEST_CASE("a batch whose standard output is closed or a broken pipe does its work") {
  const TemporaryFolder folder;
  folder.write("a.json", harmless);
  const Outcome closed = shell("\"$ATTN\" batch a.json --plots none --out c >&-", folder.path());
  CHECK(closed.exit_code == 0);
  CHECK(fs::exists(folder / "c/a/result.json"));
  const Outcome broken = shell(
      "{ \"$ATTN\" batch a.json --plots none --out b; echo exit $? >&2; } | true", folder.path());
  CHECK(broken.errors == "exit 0\n");
  CHECK(fs::exists(folder / "b/a/result.json"));
  const Outcome full =
      shell("\"$ATTN\" batch a.json --plots none --out f >/dev/full", folder.path());
  CHECK(full.exit_code == 4);
  CHECK(full.errors ==
        "attn-cli: cannot write to standard output: No space left on device\n"
        "  help:  check where the output is sent\n");
}

TEST_CASE("results that nobody reads any more end the work, as in other pipelines") {
  const TemporaryFolder folder;
  folder.write("large.json", large);
  const Outcome batch = shell("yes '" + harmless +
                                  "' | { \"$ATTN\" batch - --out - --only output; "
                                  "echo exit $? >&2; } | head -1",
                              folder.path());
  CHECK(batch.errors == "exit 141\n");
  CHECK(batch.output.ends_with("}\n"));
  CHECK(batch.output.find('\n') + 1 == batch.output.size());
  for (const std::string command :
       {"run large.json --out -", "view r/result.json --out -", "batch large.json --out -"}) {
    CAPTURE(command);
    shell("\"$ATTN\" run large.json --plots none --quiet --out r", folder.path());
    CHECK(shell("{ \"$ATTN\" " + command + "; echo exit $? >&2; } | head -c 1 >/dev/null",
                folder.path())
              .errors == "exit 141\n");
  }
  CHECK(shell("\"$ATTN\" run large.json --out - >&-", folder.path()).errors ==
        "attn-cli: cannot write to standard output: Bad file descriptor\n"
        "  help:  check where the output is sent\n");
}

TEST_CASE("text that cannot be drawn for want of threads is an error of its item") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"attention":"sdpa","query":[[1,0],[0,1]],"title":"字"})");
  folder.write("c.json", harmless);
  // Stacks larger than the address space: no thread can be had, but the first one is there.
  const std::string limited = "ulimit -s 8000000 && ulimit -v 4000000 || exit 77; ";
  if (shell(limited + "\"$ATTN\" --version").exit_code != 0) {
    MESSAGE("skipped: the program does not start with these limits");
    return;
  }
  const auto refusal = [](const std::string& picture) {
    return "text cannot be drawn: the system grants no more threads, which fonts need\n"
           "  where: " +
           picture +
           "\n  help:  raise the limit of threads (ulimit -u, or the container's), or leave out "
           "the "
           "pictures with --plots\n";
  };
  const Outcome run = shell(limited + "exec \"$ATTN\" run a.json --out r", folder.path());
  CHECK(run.exit_code == 3);
  CHECK(run.errors ==
        "attn-cli: " + refusal("heatmap.png") + "attn-cli: " + refusal("dimensions.png"));
  CHECK(files_below(folder / "r") == 1);  // result.json
  const Outcome batch =
      shell(limited + "exec \"$ATTN\" batch a.json c.json --out b --jobs 2", folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: a: " + refusal("heatmap.png") + "attn-cli: c: " + refusal("heatmap.png"));
  const Outcome none =
      shell(limited + "exec \"$ATTN\" run a.json --plots none --out n", folder.path());
  CHECK(none.exit_code == 0);
  CHECK(shell("\"$ATTN\" run a.json --plots none --out m", folder.path()).exit_code == 0);
  CHECK(read_text(folder / "n/result.json") == read_text(folder / "m/result.json"));
}

TEST_CASE("what cannot be printed because a stream is closed does not end up in a file") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"attention":"sdpaa"})");
  const Outcome run =
      shell("\"$ATTN\" batch a.json --plots none --out r <&- >&- 2>&-", folder.path());
  CHECK(run.exit_code == 1);
  const std::string summary = read_text(folder / "r/summary.jsonl");
  CHECK(summary.starts_with("{\"item\": \"a\", "));
  CHECK(summary.find('\n') == summary.size() - 1);
}

TEST_CASE("standard input that never ends is read up to the limit") {
  const TemporaryFolder folder;
  for (const std::string command :
       {"run -", "batch --files-from -", "batch - more.json", "validate -", "explain -"}) {
    CAPTURE(command);
    const Outcome run =
        shell("yes '{\"query\": 1}' | \"$ATTN\" " + command + " --max-file-size 3M", folder.path());
    CHECK(run.exit_code == 3);
    CHECK((run.errors + run.output)
              .find("standard input is more than 3 MB large, and the limit is 3 MB\n") !=
          std::string::npos);
  }
}

TEST_CASE("documents of standard input are computed while more of them come") {
  const TemporaryFolder folder;
  // The second line comes when the first one's result is there, and not before.
  const Outcome run =
      shell("{ echo '" + std::string(harmless) +
                "'; i=0; while [ ! -e r/stdin.000001/result.json ]; do sleep 0.05; i=$((i+1)); "
                "[ $i -lt 400 ] || exit; done; echo '{'; } | "
                "\"$ATTN\" batch - --plots none --out r --quiet",
            folder.path());
  CHECK(run.exit_code == 1);
  const std::string summary = read_text(folder / "r/summary.jsonl");
  CHECK(summary.find("\"item\": \"stdin.000001\"") != std::string::npos);
  CHECK(summary.find("\"item\": \"stdin.000002\"") != std::string::npos);
}

TEST_CASE("with whatever memory a picture is drawn or refused, and no signal ends the program") {
  const TemporaryFolder folder;
  folder.write("doc.json", R"({"attention":"sdpa","seed":1,"query":{"randn":[12,4]},)"
                           R"("mask":{"causal":true},"title":"字 title"})");
  if (shell("ulimit -v 400000; \"$ATTN\" --version").exit_code != 0) {
    MESSAGE("skipped: the program does not start with a limit of its memory");
    return;
  }
  int drawn = 0, refused = 0;
  for (int megabytes = 60; megabytes <= 400; megabytes += 20) {
    const std::string limit = "ulimit -v " + std::to_string(megabytes) + "000; ";
    if (shell(limit + "\"$ATTN\" --version", folder.path()).exit_code != 0) continue;
    for (const std::string format : {"png", "svg", "pdf"}) {
      CAPTURE(megabytes);
      CAPTURE(format);
      const int code = shell(limit +
                                 "\"$ATTN\" run doc.json --quiet --plots all --dpi 60 --out r "
                                 "--format " +
                                 format,
                             folder.path())
                           .exit_code;
      CHECK((code == 0 || code == 3));
      ++(code == 0 ? drawn : refused);
      const int batch = shell(limit +
                                  "\"$ATTN\" batch doc.json --quiet --plots all --dpi 60 --out "
                                  "b --format " +
                                  format,
                              folder.path())
                            .exit_code;
      CHECK((batch == 0 || batch == 1));
    }
  }
  CHECK(drawn > 0);
  CHECK(refused > 0);
}

TEST_CASE("too little memory is told, and a batch goes on with the next document") {
  const TemporaryFolder folder;
  const std::string huge =
      R"({"attention":"sdpa","dtype":"float64","seed":1,"query":{"randn":[1,7000,4]}})";
  folder.write("larger.json", R"({"attention":"sdpa","query":{"ones":[1,13000,4]}})");
  folder.write("huge.json", huge);
  folder.write("small.json", harmless);
  // Sanitizers reserve more address space than any limit would leave.
  if (shell("ulimit -v 400000; \"$ATTN\" --version").exit_code != 0) {
    MESSAGE("skipped: the program does not start with a limit of its memory");
    return;
  }
  const Outcome run =
      shell("ulimit -v 400000; \"$ATTN\" run huge.json --plots none --out r", folder.path());
  CHECK(run.exit_code == 3);
  CHECK(run.errors ==
        "attn-cli: about 392 MB will be written\n"
        "attn-cli: there is not enough memory\n"
        "  help:  make the tensors smaller, or raise the memory limit\n");
  CHECK(files_below(folder / "r") == 0);
  // Memory that is known to exceed the limit is refused before anything is written.
  CHECK(shell("ulimit -v 400000; \"$ATTN\" run larger.json --plots none --out r", folder.path())
            .errors ==
        "attn-cli: the weights [1,13000,13000] would take 676 MB, more than the memory that this "
        "program may use, 410 MB\n"
        "  where: larger.json\n"
        "  help:  replace them by a map of bins with --pool 1024, or leave them out with "
        "--no-weights\n");
  const Outcome batch =
      shell("ulimit -v 400000; \"$ATTN\" batch huge.json small.json --plots none --out b --jobs 2",
            folder.path());
  CHECK(batch.exit_code == 1);
  CHECK(batch.errors ==
        "attn-cli: huge: there is not enough memory\n"
        "  help:  make the tensors smaller, run fewer jobs, or raise the memory limit\n");
  CHECK(fs::exists(folder / "b/small/result.json"));
  CHECK(!fs::exists(folder / "b/huge/result.json"));
}

TEST_CASE("nesting beyond the room of the stack is refused") {
  const TemporaryFolder folder;
  const auto nested = [](const std::string& open, const std::string& close) {
    std::string text = R"({"attention":"sdpa","query":)";
    for (int i = 0; i < 9000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 9000; ++i) text += close;
    return text + "}";
  };
  folder.write("arrays.json", nested("[", "]"));
  folder.write("objects.json", nested(R"({"data":)", "}"));
  for (const char* const document : {"arrays.json", "objects.json"}) {
    for (const char* const stack : {"256", "512"}) {
      CAPTURE(document);
      CAPTURE(stack);
      const Outcome outcome = shell("ulimit -s " + std::string(stack) + "; \"$ATTN\" validate " +
                                        document + " --max-nesting 10000",
                                    folder.path());
      CHECK(outcome.exit_code == 3);
      const std::string problem = "arrays and objects are nested deeper than the ";
      CHECK(outcome.output.find(problem) != std::string::npos);
      CHECK(outcome.output.find(" levels that the program's stack has room for\n    where: " +
                                std::string(document) + ", /query/") != std::string::npos);
      CHECK(outcome.output.find("help:  look for brackets that are not closed, or allow a larger "
                                "stack (ulimit -s)\n") != std::string::npos);
    }
  }
}
