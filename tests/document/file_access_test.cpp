#include "attn/file_access.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "attn/document.hpp"
#include "attn/io.hpp"

#include "temporary_folder.hpp"

using namespace attn;

namespace {

namespace fs = std::filesystem;

// The first problem that validate() finds, or "valid".
std::string verdict(const TemporaryFolder& folder, const std::string& text,
                    const FileAccess& access) {
  const Validation validation = validate(folder.write("doc.json", text), access);
  return validation.problems.empty() ? "valid" : validation.problems[0].what();
}

std::string query_in(const std::string& file) {
  return R"({"attention":"sdpa","query":{"file":")" + file + R"("}})";
}

const std::string matrix = npy_bytes(Tensor({2, 2}, std::vector<float>{1, 2, 3, 4}));

}  // namespace

TEST_CASE("a restricted document may name files in the folder and below, and none elsewhere") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in/below");
  folder.write("in/q.npy", matrix);
  folder.write("in/below/q.npy", matrix);
  folder.write("out.npy", matrix);
  folder.write("inside.npy", matrix);
  FileAccess access;
  access.restrict_to = folder / "in";
  CHECK(verdict(folder, query_in("in/q.npy"), access) == "valid");
  CHECK(verdict(folder, query_in("in/below/../q.npy"), access) == "valid");
  const auto refused = [&](const std::string& file) {
    return "\"" + (folder / file).string() + "\" is not in the folder \"" +
           (folder / "in").string() +
           "\", to which FileAccess::restrict_to confines the files of documents\n" +
           "  where: " + (folder / "doc.json").string() + ", /query/file\n" +
           "  help:  put a copy of the file into that folder, and write the name of the copy, as "
           "seen from the document";
  };
  CHECK(verdict(folder, query_in("out.npy"), access) == refused("out.npy"));
  CHECK(verdict(folder, query_in("in/../out.npy"), access) == refused("in/../out.npy"));
  CHECK(verdict(folder, query_in("inside.npy"), access) == refused("inside.npy"));
  // The error does not reveal whether a file outside exists.
  CHECK(verdict(folder, query_in("none.npy"), access) == refused("none.npy"));
  CHECK(verdict(folder, query_in("/etc/passwd"), access).starts_with("\"/etc/passwd\" is not in"));
}

TEST_CASE("symbolic links lead out of the folder no more than names do") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in");
  folder.write("in/q.npy", matrix);
  folder.write("out.npy", matrix);
  fs::create_symlink("q.npy", folder / "in/good.npy");
  fs::create_symlink("../out.npy", folder / "in/bad.npy");
  fs::create_directory_symlink("..", folder / "in/up");
  fs::create_directory_symlink("in", folder / "link");
  FileAccess access;
  access.restrict_to = folder / "link";
  CHECK(verdict(folder, query_in("in/good.npy"), access) == "valid");
  CHECK(verdict(folder, query_in("link/q.npy"), access) == "valid");
  CHECK(verdict(folder, query_in("in/bad.npy"), access).find("is not in the folder") !=
        std::string::npos);
  CHECK(verdict(folder, query_in("in/up/out.npy"), access).find("is not in the folder") !=
        std::string::npos);
}

TEST_CASE("what is outside the folder is refused by one text, whatever is there") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in");
  fs::create_directories(folder / "out/folder");
  folder.write("in/q.npy", matrix);
  folder.write("out/file", matrix);
  fs::copy(fs::path(ATTN_TEST_DATA) / "models/cases/gpt2_bare_names/checkpoint",
           folder / "out/checkpoint");
  FileAccess access;
  access.restrict_to = folder / "in";
  const auto refusal = [&](const std::string& before, const std::string& name,
                           const std::string& after) {
    std::string text = verdict(folder, before + '"' + name + '"' + after, access);
    const std::size_t at = text.find(name + "\" is not in the folder");
    REQUIRE(at != std::string::npos);
    text.replace(at, name.size(), "NAME");
    // Relative names are shown from the folder of the document.
    const std::string shown = (folder / "NAME").string();
    const std::size_t relative = text.find(shown);
    return relative == std::string::npos ? text : text.replace(relative, shown.size(), "NAME");
  };
  const std::vector<std::pair<std::string, std::string>> doors = {
      {R"({"model":)", R"(,"text":"a"})"},
      {R"({"model":"in","architecture":)", R"(,"text":"a"})"},
      {R"({"attention":"sdpa","query":{"file":)", "}}"},
      {R"({"attention":"self","x":[[1,2]],"parameters":{"file":)", "}}"},
      {R"({"attention":"sdpa","query":[[1]],"labels":{"query":{"file":)", "}}}"},
      {R"({"attention":"sdpa","seed":1,"tokens":["a"],"embedding":{"dimension":2,"init":"torch",)"
       R"("vocabulary":{"file":)",
       "}}}"}};
  for (const char* name : {"none", "file", "folder", "checkpoint"}) {
    fs::create_symlink(std::string("../out/") + name, folder / "in" / name);
  }
  fs::create_directory_symlink("../in", folder / "out/back");
  for (const auto& [opening, after] : doors) {
    const std::string before = opening;  // clang captures no structured binding
    CAPTURE(before);
    const std::string none = refusal(before, "out/none", after);
    for (const char* there : {"out/file", "out/folder", "out/checkpoint", "in/none", "in/file",
                              "in/folder", "in/checkpoint", "out/folder/../../in/q.npy",
                              "out/none/../../in/q.npy", "out/back/q.npy", "/proc/self/fd/0"}) {
      CAPTURE(there);
      CHECK(refusal(before, there, after) == none);
    }
  }
}

TEST_CASE("what lies behind the links of a checkpoint folder is not revealed either") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in");
  fs::create_directories(folder / "out");
  folder.write("out/there", "{}");
  FileAccess access;
  access.restrict_to = folder / "in";
  const auto with_link = [&](const char* name, const char* target) {
    fs::remove_all(folder / "in");
    fs::copy(fs::path(ATTN_TEST_DATA) / "models/cases/gpt2_bare_names/checkpoint", folder / "in");
    fs::remove(folder / "in" / name);
    fs::create_symlink(std::string("../out/") + target, folder / "in" / name);
    return verdict(folder, R"({"model":"in","text":"a"})", access);
  };
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    CAPTURE(name);
    const std::string there = with_link(name, "there");
    CHECK(there.find(name + std::string("\" is not in the folder")) != std::string::npos);
    CHECK(with_link(name, "none") == there);
  }
}

TEST_CASE("the files that results refer to and vocabularies are confined too") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in");
  folder.write("out.npy", matrix);
  folder.write("in/result.json", R"({"tensors":{"output":{"file":"../out.npy","name":""}}})");
  folder.write("vocab.txt", "a\nb\n");
  FileAccess access;
  access.restrict_to = folder / "in";
  CHECK(verdict(folder, query_in("in/result.json"), access).find("is not in the folder") !=
        std::string::npos);
  CHECK(verdict(folder,
                R"({"attention":"sdpa","seed":1,"tokens":["a"],"embedding":{"dimension":2,)"
                R"("init":"torch","vocabulary":{"file":"vocab.txt"}}})",
                access)
            .find("is not in the folder") != std::string::npos);
  CHECK(
      verdict(folder, R"({"attention":"self","x":[[1,2]],"parameters":{"file":"out.npy"}})", access)
          .find("is not in the folder") != std::string::npos);
}

TEST_CASE("a restricted document can neither wait for a named pipe nor read standard input") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "in");
  REQUIRE(mkfifo((folder / "in/pipe").c_str(), 0600) == 0);
  FileAccess access;
  access.restrict_to = folder / "in";
  CHECK(verdict(folder, query_in("in/pipe"), access) ==
        "\"" + (folder / "in/pipe").string() + "\" is not a regular file\n  where: " +
            (folder / "doc.json").string() + ", /query/file\n  help:  name a regular file");
  CHECK_THROWS_AS(TensorFile::open("-", access), Error);
}

TEST_CASE("whatever a document names has to be a regular file, and nothing is waited for") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto refused = [&](const std::string& file, const std::string& document,
                           const std::string& place) {
    CAPTURE(document);
    CHECK(verdict(folder, document, {}) ==
          "\"" + (folder / file).string() + "\" is not a regular file\n  where: " +
              (folder / "doc.json").string() + place + "\n  help:  name a regular file");
  };
  for (const std::string file : {"pipe", "/dev/zero", "/dev/stdin"}) {
    if (file == "/dev/stdin" && fs::is_regular_file(file)) continue;
    refused(file, query_in(file), ", /query/file");
    refused(file, R"({"attention":"self","x":[[1,2]],"parameters":{"file":")" + file + "\"}}",
            ", /parameters/file");
    refused(file,
            R"({"attention":"sdpa","query":[[1]],"labels":{"query":{"file":")" + file + "\"}}}",
            ", /labels/query/file");
    refused(file,
            R"({"attention":"sdpa","seed":1,"tokens":["a"],"embedding":{"dimension":2,)"
            R"("init":"torch","vocabulary":{"file":")" +
                file + "\"}}}",
            ", /embedding/vocabulary/file");
  }
  // Some have the kind of a regular file, but the system makes what they hold.
  CHECK(verdict(folder, query_in("/proc/self/status"), {}) ==
        "\"/proc/self/status\" is not a file on a disk: the system makes it while it is read\n"
        "  where: " +
            (folder / "doc.json").string() + ", /query/file\n  help:  name a regular file");
  // A minus sign is standard input for users only.
  CHECK(verdict(folder, query_in("-"), {}).starts_with("cannot open \""));
}

TEST_CASE("a part of a checkpoint's weights is a regular file") {
  const TemporaryFolder folder;
  fs::copy(fs::path(ATTN_TEST_DATA) / "models/cases/gpt2_bare_names/checkpoint", folder / "model");
  fs::remove(folder / "model/model.safetensors");
  folder.write("model/model.safetensors.index.json", R"({"weight_map":{"a":"part"}})");
  REQUIRE(mkfifo((folder / "model/part").c_str(), 0600) == 0);
  CHECK(verdict(folder, R"({"model":"model","text":"a"})", {}) ==
        "\"" + (folder / "model/part").string() + "\" is not a regular file\n  where: " +
            (folder / "doc.json").string() + "\n  help:  name a regular file");
}

TEST_CASE("a folder of restriction that is not there is an error of the flag") {
  const TemporaryFolder folder;
  folder.write("q.npy", matrix);
  FileAccess access;
  access.restrict_to = folder / "none";
  CHECK(verdict(folder, query_in("q.npy"), access) ==
        "cannot open the folder \"" + (folder / "none").string() +
            "\": No such file or directory\n  where: " + (folder / "doc.json").string() +
            ", /query/file, FileAccess::restrict_to\n  help:  name a folder that exists");
}

TEST_CASE("errors of limits of size, elements and nesting name the flags that raise them") {
  const TemporaryFolder folder;
  const std::string doc = folder / "doc.json";
  FileAccess access;
  access.limits.file_bytes = 60;
  CHECK(verdict(folder, query_in("q.npy") + std::string(100, ' '), access) ==
        "\"" + doc +
            "\" is 145 bytes large, and the limit is 60 bytes\n"
            "  help:  make it smaller, or raise the limit with Limits::file_bytes");
  access = {};
  access.limits.elements = 3;
  const std::string help = "\n  help:  make it smaller, or raise the limit with Limits::elements";
  for (const std::string tensor : {R"("ones":[2,2]})", R"("arange":4})",
                                   R"("shape":[4],"data":[1,2,3,4]})", R"("rand":[4],"seed":1})"}) {
    CAPTURE(tensor);
    const std::string text =
        verdict(folder, R"({"attention":"sdpa","query":{)" + tensor + "}", access);
    CHECK(text.starts_with("the tensor has 4 elements, and the limit is 3\n"));
    CHECK(text.ends_with(help));
  }
  CHECK(verdict(folder, R"({"attention":"sdpa","query":[[1,2],[3,4]]})", access) ==
        "the tensor has 4 elements, and the limit is 3\n  where: " + doc + ", /query" + help);
  folder.write("q.npy", matrix);
  CHECK(verdict(folder, query_in("q.npy"), access).starts_with("the tensor has 4 elements"));
  CHECK(verdict(folder, R"({"attention":"sdpa","query":[[1],[2]]})", access)
            .starts_with("the tensor of weights [2,2] has 4 elements"));
  access = {};
  access.limits.nesting = 3;
  CHECK(verdict(folder, R"({"attention":"sdpa","query":[[[1]]]})", access) ==
        "arrays and objects are nested deeper than 3 levels\n  where: " + doc +
            ", /query/0/0\n  help:  look for brackets that are not closed, or raise the limit with "
            "Limits::nesting");
}

TEST_CASE("a document of a few letters cannot ask for large parameters beyond the limit") {
  const TemporaryFolder folder;
  FileAccess access;
  access.limits.elements = 1'000'000;
  CHECK(verdict(folder,
                R"({"attention":"sdpa","seed":1,"tokens":["a"],"embedding":{"vocabulary":["a"],)"
                R"("dimension":100000000,"init":"torch"}})",
                access)
            .starts_with("the embedding table has 100M elements"));
  CHECK(verdict(folder,
                R"({"attention":"encoder_layer","seed":1,"x":[[1,2]],"feed_forward":100000000,)"
                R"("parameters":{"init":"torch"}})",
                access)
            .starts_with("the set of parameters has "));
}

TEST_CASE(
    "a restricted document opens no file that has a second name, and no name with a zero byte") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "in");
  folder.write("out.npy", matrix);
  fs::create_hard_link(folder / "out.npy", folder / "in/q.npy");
  FileAccess access;
  access.restrict_to = folder / "in";
  CHECK(verdict(folder, query_in("in/q.npy"), access) ==
        "\"" + (folder / "in/q.npy").string() +
            "\" has several names (hard links), and FileAccess::restrict_to allows but one\n  "
            "where: " +
            (folder / "doc.json").string() + ", /query/file\n" +
            "  help:  put a copy of the file into that folder");
  fs::remove(folder / "out.npy");
  CHECK(verdict(folder, query_in("in/q.npy"), access) == "valid");
  for (const FileAccess& any : {access, FileAccess()}) {
    CHECK(verdict(folder, query_in(R"(in/q.npy\u0000.txt)"), any) ==
          "the file name \"" + (folder / "in/q.npy").string() +
              "\\x00.txt\" holds a zero byte\n  where: " + (folder / "doc.json").string() +
              ", /query/file\n  help:  check the name");
    CHECK(verdict(folder, R"({"model": "in\u0000x", "text": "a"})", any) ==
          "the file name \"" + (folder / "in").string() + "\\x00x\" holds a zero byte\n  where: " +
              (folder / "doc.json").string() + ", /model\n  help:  check the name");
  }
}
