#include "result/result_reader.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

using Names = std::vector<std::string>;

// Result of a decoder layer.
constexpr const char* decoder = R"({"attention":"decoder_layer","title":"Two sequences",
  "labels":{"query":["a","b"],"key":["x","y","z"]},
  "shapes":{"query":[2,4],"key":[3,4]},
  "tensors":{"self.weights":[[0.5,0.5],[0,1]],"self.allowed":[[1,1],[0,1]],
    "cross.weights":[[0.25,0.25,0.5],[1,0,0]],"output":[[1,2],[3,4]]}})";

}  // namespace

TEST_CASE("a result tells its tensors, title and shapes") {
  const TemporaryFolder folder;
  ResultReader result(folder.write("r.json", decoder));
  CHECK(result.names() == Names{"self.weights", "self.allowed", "cross.weights", "output"});
  CHECK(result.title() == "Two sequences");
  CHECK(result.shapes() ==
        std::vector<std::pair<std::string, Shape>>{{"query", {2, 4}}, {"key", {3, 4}}});
  CHECK(tensor_is<double>(result.numbers("output"), {2, 2}, {1, 2, 3, 4}));
  CHECK(tensor_is<std::uint8_t>(result.booleans("self.allowed"), {2, 2}, {1, 1, 0, 1}));
  CHECK(!result.numbers("weights"));
  CHECK(!result.is_document());
}

TEST_CASE("a self-attention beside a cross-attention has the queries' labels on both sides") {
  const TemporaryFolder folder;
  ResultReader result(folder.write("r.json", decoder));
  CHECK(result.labels("self.weights").key == std::vector<Names>{{"a", "b"}});
  CHECK(result.labels("cross.weights").key == std::vector<Names>{{"x", "y", "z"}});
  ResultReader encoder(folder.write(
      "e.json", R"({"labels":{"query":["a"],"key":["x"]},"tensors":{"self.weights":[[1]]}})"));
  CHECK(encoder.labels("self.weights").key == std::vector<Names>{{"x"}});
}

TEST_CASE("files of tensors, bare arrays and objects of tensors are read like results") {
  const TemporaryFolder folder;
  const Tensor floats({1, 2}, std::vector<float>{1.5F, 2});
  ResultReader file(folder.write("t.npy", npy_bytes(floats)));
  CHECK(file.only_name() == "");
  CHECK(tensor_is<float>(file.numbers(""), {1, 2}, {1.5F, 2}));
  CHECK(file.shapes() == std::vector<std::pair<std::string, Shape>>{{"", {1, 2}}});
  ResultReader bare(folder.write("bare.json", "[[1,2]]"));
  CHECK(bare.only_name() == "");
  CHECK(tensor_is<double>(bare.numbers(""), {1, 2}, {1, 2}));
  ResultReader object(folder.write("o.json", R"({"weights":{"file":"t.npy"}})"));
  CHECK(object.only_name() == std::nullopt);
  CHECK(tensor_is<double>(object.numbers("weights"), {1, 2}, {1.5, 2}));
}

TEST_CASE("what is wrong with a result is told with its file and place") {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "r.json", R"({"title":3,"labels":[],"shapes":{"query":[4]},"tensors":{"weights":[[2]]}})");
  ResultReader result(path);
  CHECK(error_from([&] { result.title(); }) ==
        "expected a string, found a number\n  where: " + path.string() +
            ", /title\n  help:  give a string");
  CHECK(error_from([&] { result.labels("weights"); }) ==
        "expected a list of labels, found an empty array\n  where: " + path.string() +
            ", /labels\n  help:  give one list of strings, or one list per sample");
  CHECK(error_from([&] { result.shapes(); }) ==
        "the shape [4] has fewer than 2 axes\n  where: " + path.string() +
            ", /shapes/query\n  help:  give at least the length and the width");
  CHECK(error_from([&] { result.booleans("weights"); }) ==
        "the number 2 is neither true nor false\n  where: " + path.string() +
            ", /tensors/weights/0/0\n  help:  only true, false, 1 and 0 are allowed here");
}

TEST_CASE("every file of a result is opened as its reader may open files") {
  const TemporaryFolder folder;
  folder.write("t.npy", npy_bytes(Tensor({1, 1}, std::vector<float>{1})));
  const auto path = folder.write("r.json", R"({"tensors":{"weights":{"file":"t.npy"}}})");
  Names opened;
  FileAccess access;
  access.opened = [&](const std::filesystem::path& file, std::span<const std::byte>) {
    opened.push_back(file.filename());
  };
  ResultReader(path, access).numbers("weights");
  CHECK(opened == Names{"r.json", "t.npy"});

  std::filesystem::create_directory(folder / "in");
  access.restrict_to = folder / "in";
  ResultReader confined(path, access);
  CHECK(error_from([&] { confined.numbers("weights"); }) ==
        "\"" + (folder / "t.npy").string() + "\" is not in the folder \"" +
            (folder / "in").string() +
            "\", to which FileAccess::restrict_to confines the files of documents\n" +
            "  where: " + path.string() + ", /tensors/weights/file\n" +
            "  help:  put a copy of the file into that folder, and write the name of the copy, as "
            "seen from the document");
}

TEST_CASE("texts of a file are labels where their number fits") {
  const TemporaryFolder folder;
  using Texts = std::vector<std::vector<std::string>>;
  const auto labels = [&](const std::string& text, std::size_t queries, std::size_t keys) {
    return ResultReader(folder.write("maps.json", text)).own_labels("maps", queries, keys);
  };
  const std::string maps = R"("maps":[[0.5,0.5],[0,1]])";
  const Labels both = labels(R"({"tokens":["a","b"],)" + maps + "}", 2, 2);
  CHECK(both.query == Texts{{"a", "b"}});
  CHECK(both.key == Texts{{"a", "b"}});
  const Labels keys = labels(R"({"tokens":["a","b"],)" + maps + "}", 3, 2);
  CHECK(keys.query.empty());
  CHECK(keys.key == Texts{{"a", "b"}});
  const Labels sides =
      labels(R"({"left_text":["a","b"],"right_text":["x","y"],)" + maps + "}", 2, 2);
  CHECK(sides.query == Texts{{"a", "b"}});
  CHECK(sides.key == Texts{{"x", "y"}});
  // Which of two lists is meant is not guessed.
  const Labels none = labels(R"({"words":["a","b"],"tags":["x","y"],)" + maps + "}", 2, 2);
  CHECK(none.query.empty());
  CHECK(none.key.empty());
}

TEST_CASE("an object with maps of another program is no document, whatever else it says") {
  const TemporaryFolder folder;
  const auto is_document = [&](const std::string& text) {
    return ResultReader(folder.write("maps.json", text)).is_document();
  };
  CHECK_FALSE(is_document(R"({"attention":[[[0.5,0.5],[0,1]]]})"));
  CHECK_FALSE(is_document(R"({"model":"bert","attentions":[[1]],"layer":3})"));
  CHECK(is_document(R"({"attention":"softmax","scores":[[1]]})"));
  CHECK(is_document(R"({"model":"bert","text":"a"})"));
}

TEST_CASE("a known key with a slip in it is refused beside maps, other keys are not") {
  const TemporaryFolder folder;
  CHECK(error_from([&] {
          ResultReader(folder.write("maps.json", R"({"weights":[[1]],"titel":"a"})"));
        }).starts_with("unknown key \"titel\"\n"));
  CHECK(ResultReader(folder.write("maps.json", R"({"weights":[[1]],"layer":3})")).names() ==
        Names{"weights"});
}
