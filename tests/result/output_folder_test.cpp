#include "result/output_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "result/result_reader.hpp"
#include "support/parallel_for.hpp"
#include "temporary_folder.hpp"

namespace {

using attn::ErrorKind;
using attn::HashedFile;
using attn::ResultFolder;
using attn::Tensor;
using attn::WrittenFile;

// Writes a result whose only tensor is a file of one number, all but names.
std::vector<WrittenFile> write(ResultFolder& folder, float number) {
  folder.add("output.npy", [number](HashedFile& file) {
    attn::write_npy(Tensor({1, 1}, std::vector{number}),
                    [&](std::string_view piece) { file.write(piece); });
  });
  return folder.write(1, [](const std::vector<WrittenFile>& others, HashedFile& file) {
    file.write(R"({"tensors":{"output":{"file":"output.npy"}},"files":{"output.npy":{"bytes":)" +
               std::to_string(others[0].bytes) + R"(,"xxh128":")" + others[0].hash + "\"}}}");
  });
}

double number_in(const TemporaryFolder& folder) {
  return attn::ResultReader(folder / "result.json").numbers("output").values<double>()[0];
}

constexpr const char* unfinished =
    "this result is unfinished: its files were being replaced\n"
    "  where: FOLDER/result.json\n"
    "  help:  run its document again";

// The error of reading a result, with FOLDER in place of the folder's path.
std::string error_of_reading(const TemporaryFolder& folder) {
  std::string text = error_from([&] { number_in(folder); }, ErrorKind::input);
  const std::string path = folder.path().string();
  for (std::size_t at; (at = text.find(path)) != std::string::npos;) {
    text.replace(at, path.size(), "FOLDER");
  }
  return text;
}

}  // namespace

TEST_CASE("a name has its place below the folder of results, or is refused") {
  const auto error = [](std::string_view name) {
    return error_from([&] { attn::place_below("out", name); }, ErrorKind::input);
  };
  const auto refused = [](const std::string& shown) {
    return shown +
           " cannot be the name of a file or folder in \"out\"\n  where: RunOptions::out\n"
           "  help:  give the document another name";
  };
  CHECK(attn::place_below("out", "a/b.c") == std::filesystem::path("out/a/b.c"));
  CHECK(attn::place_below("out", "...") == std::filesystem::path("out/..."));
  for (const std::string name :
       {"", ".", "..", "../a", "a/..", "a/../../b", "a/.", "/a", "/", "a/"}) {
    CAPTURE(name);
    CHECK(error(name) == refused("\"" + name + "\""));
  }
  CHECK(error(std::string_view("a\0b", 3)) == refused("\"a\\x00b\""));
  const TemporaryFolder folder;
  CHECK_THROWS_AS(attn::make_folder_below(folder.path(), "../a").keep(), attn::Error);
  ResultFolder result(folder.path(), false);
  CHECK_THROWS_AS(result.add("../x", std::string("bytes")), attn::Error);
  attn::make_folder_below(folder.path(), "a/b").keep();
  CHECK(std::filesystem::is_directory(folder / "a/b"));
}

TEST_CASE("files that are no parts of a result are written together, or none of them") {
  const TemporaryFolder folder;
  {
    ResultFolder files(folder / "new/deep", false);
    files.add("a.csv", std::string("a"));
    files.add("b.csv", std::string("b"));
    CHECK(files.write_all(nullptr) ==
          std::vector<std::filesystem::path>{folder / "new/deep/a.csv", folder / "new/deep/b.csv"});
  }
  CHECK(read_text(folder / "new/deep/b.csv") == "b");
  attn::MappedFiles inputs;
  inputs.add(folder / "new/deep/b.csv");
  ResultFolder files(folder / "new/deep", false);
  files.add("c.csv", std::string("c"));
  files.add("b.csv", std::string("d"));
  CHECK_THROWS_AS(files.write_all(&inputs), attn::Error);
  CHECK_FALSE(std::filesystem::exists(folder / "new/deep/c.csv"));
  CHECK(read_text(folder / "new/deep/b.csv") == "b");
}

TEST_CASE("an older result stays whole until the new one is written, and is then unfinished") {
  const TemporaryFolder folder;
  ResultFolder old(folder.path(), true);
  const std::vector<WrittenFile> files = write(old, 1);
  CHECK(std::filesystem::is_empty(folder.path()));
  old.commit();
  CHECK(number_in(folder) == 1);
  REQUIRE(files.size() == 2);
  for (const WrittenFile& file : files) {
    const std::string bytes = read_text(file.path);
    CHECK(file.bytes == bytes.size());
    CHECK(file.hash == attn::content_hash(std::as_bytes(std::span(bytes))));
  }

  ResultFolder next(folder.path(), true);
  write(next, 2);
  CHECK(number_in(folder) == 1);
  next.mark_unfinished();
  CHECK(error_of_reading(folder) == unfinished);
  next.commit();
  CHECK(number_in(folder) == 2);
}

TEST_CASE("a result that is dropped before its files have names leaves the older one") {
  const TemporaryFolder folder;
  {
    ResultFolder old(folder.path(), false);
    write(old, 1);
    old.commit();
  }
  const std::string before = read_text(folder / "result.json");
  {
    ResultFolder next(folder.path(), false);
    write(next, 2);
  }
  CHECK(number_in(folder) == 1);
  CHECK(read_text(folder / "result.json") == before);
}

TEST_CASE("a folder is locked from the first file that is written to the last name") {
  const TemporaryFolder folder;
  const auto is_free = [&] {
    return error_from([&] { attn::OutputLock::of_folder(folder.path(), {}); }, ErrorKind::file) ==
           "no error";
  };
  ResultFolder result(folder.path(), false);
  CHECK(is_free());
  write(result, 1);
  CHECK_FALSE(is_free());
  result.mark_unfinished();
  CHECK_FALSE(is_free());
  result.commit();
  CHECK(is_free());
  {
    ResultFolder dropped(folder.path(), false);
    write(dropped, 2);
    CHECK_FALSE(is_free());
  }
  CHECK(is_free());
}

TEST_CASE("a result of more files than may be open is written") {
  const TemporaryFolder folder;
  ResultFolder result(folder.path(), false);
  for (int i = 0; i < 150; ++i) {
    result.add(std::to_string(i), [](HashedFile& file) { file.write("x"); });
  }
  const auto written = result.write(2, [](const auto&, HashedFile& file) { file.write("{}"); });
  CHECK(written.size() == 151);
  CHECK_FALSE(std::filesystem::exists(written[0].path));
  result.commit();
  for (const WrittenFile& file : written) CHECK(std::filesystem::exists(file.path));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 151);
}

TEST_CASE("a file of another result is refused by readers of the result") {
  const TemporaryFolder folder;
  ResultFolder result(folder.path(), false);
  write(result, 1);
  result.commit();
  const std::string help =
      "  help:  run the document of the result again, or take \"files\" out of the result if the "
      "file was changed on purpose";
  const std::string problem =
      "the file \"output.npy\" does not belong to this result: it was written with another one, "
      "or changed since\n";
  // Of the same size, and of another one.
  for (const Tensor& other : {Tensor({1, 1}, std::vector{2.0F}), Tensor({2, 1}, {1.0F, 1.0F})}) {
    write_text(folder / "output.npy", attn::npy_bytes(other));
    CHECK(error_of_reading(folder) ==
          problem + "  where: FOLDER/result.json, /tensors/output/file\n" + help);
    // A document may name a result, whose files are followed.
    CHECK(error_from([&] { attn::TensorFile::open(folder / "result.json").read("output"); },
                     ErrorKind::input) == problem +
                                              "  where: " + (folder / "result.json").string() +
                                              ", /tensors/output/file\n" + help);
  }
  write_text(folder / "output.npy", attn::npy_bytes(Tensor({1, 1}, std::vector{1.0F})));
  CHECK(number_in(folder) == 1);
}

TEST_CASE("a malformed list of files is refused at its place") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& files) {
    write_text(folder / "result.json", R"({"tensors":{},"files":)" + files + "}");
    return error_of_reading(folder);
  };
  CHECK(error("[]") ==
        "expected an object, found an array\n"
        "  where: FOLDER/result.json, /files\n"
        "  help:  give an object");
  CHECK(error(R"({"a.npy":{}})") ==
        "\"bytes\" is missing\n"
        "  where: FOLDER/result.json, /files/a.npy/bytes");
  CHECK(error(R"({"a.npy":{"bytes":-1,"xxh128":""}})") ==
        "expected a whole number of at least 0, found -1\n"
        "  where: FOLDER/result.json, /files/a.npy/bytes\n"
        "  help:  give a whole number of at least 0");
}
