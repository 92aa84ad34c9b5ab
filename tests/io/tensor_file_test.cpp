#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include <doctest/doctest.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

const std::string files = std::string(ATTN_TEST_DATA) + "/io/files/";

TensorFile from_memory(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return TensorFile::from_memory(std::as_bytes(std::span(*owner)), owner, "memory");
}

std::string open_error(const std::string& bytes) {
  return error_from([&] { from_memory(bytes); });
}

std::string read_error(const TensorFile& file, std::string_view name) {
  return error_from([&] { file.read(name); });
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the format is recognised by content, not by the name") {
  const TemporaryFolder folder;
  const auto format = [&](const std::string& file) {
    std::filesystem::copy(files + file, folder / "x.json",
                          std::filesystem::copy_options::overwrite_existing);
    return std::string(TensorFile::open(folder / "x.json").format());
  };
  CHECK(format("float32.npy") == "npy");
  CHECK(format("stored.npz") == "npz");
  CHECK(format("elements.safetensors") == "safetensors");
  write_text(folder / "x.npy", "[[1,2]]");
  CHECK(TensorFile::open(folder / "x.npy").format() == "json");
}

TEST_CASE("every format is listed, and has a file that shows it") {
  const std::map<std::string_view, std::string> shown{
      {"npy", "float32.npy"},      {"npz", "stored.npz"},
      {"pt", "torch/types.pt"},    {"safetensors", "elements.safetensors"},
      {"gguf", "stored/F32.gguf"}, {"pkl", "pickles/numpy_4.pkl"},
      {"text", "matrix.csv"},      {"onnx", "onnx/model.onnx"}};
  for (const std::string_view format : TensorFile::formats()) {
    CAPTURE(format);
    if (format == "json") continue;
    REQUIRE(shown.contains(format));
    CHECK(TensorFile::open(files + shown.at(format)).format() == format);
  }
  CHECK(TensorFile::formats().size() == shown.size() + 1);
  CHECK(from_memory("[1]").format() == "json");
}

TEST_CASE("tensors are read by name, in the order of the file") {
  const TensorFile npz = TensorFile::open(files + "compressed.npz");
  CHECK(npz.names() == Names{"weights", "mask", "größe"});
  CHECK(tensor_is<std::int64_t>(npz.read("größe"), {1}, {7}));
  const TensorFile safetensors = TensorFile::open(files + "elements.safetensors");
  CHECK(tensor_is<float>(safetensors.read("f32"), {2, 2}, {1, 2, 3, 0.1F}));
  const TensorFile npy = TensorFile::open(files + "float32_one_axis.npy");
  CHECK(npy.names() == Names{""});
  CHECK(tensor_is<float>(npy.read(""), {3}, {1, 2, 3}));
}

TEST_CASE("tensors outlive the file they came from") {
  const TemporaryFolder folder;
  Tensor npy, safetensors, npz;
  std::filesystem::copy(files + "float32_one_axis.npy", folder / "a");
  std::filesystem::copy(files + "elements.safetensors", folder / "b");
  npy = TensorFile::open(folder / "a").read("");
  safetensors = TensorFile::open(folder / "b").read("f32");
  npz = from_memory(read_text(files + "stored.npz")).read("mask");
  std::filesystem::remove(folder / "a");
  std::filesystem::remove(folder / "b");
  CHECK(tensor_is<float>(npy, {3}, {1, 2, 3}));
  CHECK(tensor_is<float>(safetensors, {2, 2}, {1, 2, 3, 0.1F}));
  CHECK(tensor_is<std::uint8_t>(npz, {1, 2}, {1, 0}));
}

TEST_CASE("copies of a file read the same") {
  const TensorFile file = from_memory("[1, 2]");
  const TensorFile copy = file;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(tensor_is<double>(copy.read(""), {2}, {1, 2}));
  CHECK(copy.names() == Names{""});
}

TEST_CASE("an unknown name is an error with the nearest one") {
  CHECK(read_error(TensorFile::open(files + "stored.npz"), "wieghts") ==
        "there is no tensor \"wieghts\"\n  where: " + files +
            "stored.npz\n  help:  did you mean \"weights\"?");
  CHECK(read_error(TensorFile::open(files + "stored.npz"), "temperature") ==
        "there is no tensor \"temperature\"\n  where: " + files +
            "stored.npz\n  help:  known: weights, mask, größe");
  CHECK(read_error(TensorFile::open(files + "float32.npy"), "q") ==
        "a .npy file holds one array without a name, not \"q\"\n  where: " + files +
            "float32.npy\n  help:  leave the name out");
}

TEST_CASE("an empty name takes the only tensor") {
  const Tensor tensor({2}, std::vector<float>{1, 2});
  CHECK(tensor_is<float>(from_memory(npz_bytes(std::vector<NamedTensor>{{"a", tensor}})).read(""),
                         {2}, {1, 2}));
  CHECK(tensor_is<double>(from_memory(R"({"weights": [[1, 2]], "tokens": ["a", "b"]})").read(""),
                          {1, 2}, {1, 2}));
  CHECK(read_error(TensorFile::open(files + "stored.npz"), "") ==
        "the file holds 3 tensors, and none was named\n  where: " + files +
            "stored.npz\n  help:  name one of them, in a document with \"name\" beside \"file\"; "
            "known: weights, mask, größe");
  CHECK(read_error(from_memory(npz_bytes({})), "") == "the file holds no tensors\n  where: memory");
}

TEST_CASE("a bare JSON array is one tensor without a name") {
  const TensorFile file = from_memory("\xEF\xBB\xBF \n[[0.1, \"inf\"], [-0.0, true]]");
  CHECK(file.names() == Names{""});
  CHECK(tensor_is<double>(file.read(""), {2, 2},
                          {0.1, std::numeric_limits<double>::infinity(), -0.0, 1}));
  CHECK(tensor_is<double>(from_memory(R"({"shape": [2, 1], "data": [3, 4]})").read(""), {2, 1},
                          {3, 4}));
}

TEST_CASE("an object's tensors are its arrays of numbers and flat tensors") {
  const TensorFile file = from_memory(R"({
    "title": "x", "tokens": ["a", "b"], "labels": {"query": [1]},
    "weights": [[0.5, 0.5]], "mask": [[true, "inf"]], "flat": {"shape": [1, 2], "data": [1, 2]},
    "special": [["nan"]], "words": [["a", 1]], "nothing": null})");
  CHECK(file.names() == Names{"weights", "mask", "flat", "special"});
  CHECK(tensor_is<double>(file.read("flat"), {1, 2}, {1, 2}));
  CHECK(tensor_is<double>(file.read("weights"), {1, 2}, {0.5, 0.5}));
}

TEST_CASE("a result's tensors are read in the dtype that it names") {
  const std::string tensors = R"("tensors": {"weights": [[0.1, 0.9]], "output": [[1, 2]]}})";
  const TensorFile narrow = from_memory(R"({"format": 1, "dtype": "float32", )" + tensors);
  CHECK(narrow.names() == Names{"weights", "output"});
  CHECK(tensor_is<float>(narrow.read("weights"), {1, 2}, {0.1F, 0.9F}));
  const TensorFile wide = from_memory(R"({"format": 1, "dtype": "float64", )" + tensors);
  CHECK(tensor_is<double>(wide.read("weights"), {1, 2}, {0.1, 0.9}));
  CHECK(tensor_is<double>(from_memory("{" + tensors).read("weights"), {1, 2}, {0.1, 0.9}));
}

TEST_CASE("a result's tensors may stand in files beside it") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::copy(files + "stored.npz", folder / "sub/all.npz");
  std::filesystem::copy(files + "float32_one_axis.npy", folder / "sub/one.npy");
  write_text(folder / "sub/result.json", R"({"tensors": {
    "a": {"file": "one.npy", "shape": [3], "dtype": "float32"},
    "b": {"file": "all.npz", "name": "mask"},
    "c": {"file": "no.npy"}, "d": {"file": "all.npz", "name": "maks"}, "e": {"file": 1},
    "f": {"file": "result.json", "name": "f"}, "g": {"file": "result.json", "name": "b"}}})");
  const TensorFile file = TensorFile::open(folder / "sub/result.json");
  CHECK(tensor_is<float>(file.read("a"), {3}, {1, 2, 3}));
  CHECK(tensor_is<std::uint8_t>(file.read("b"), {1, 2}, {1, 0}));
  CHECK(tensor_is<std::uint8_t>(file.read("g"), {1, 2}, {1, 0}));
  const std::string place = (folder / "sub").string();
  const std::string missing = "cannot open \"" + place +
                              "/no.npy\": No such file or directory\n  where: " + place +
                              "/result.json, /tensors/c/file\n"
                              "  help:  check the name, and the folder it is looked for in";
  CHECK_THROWS_WITH_AS(file.read("c"), missing.c_str(), Error);
  CHECK(read_error(file, "d") == "there is no tensor \"maks\"\n  where: " + place +
                                     "/result.json, /tensors/d/file, " + place +
                                     "/all.npz\n  help:  did you mean \"mask\"?");
  CHECK(read_error(file, "e") ==
        "expected a name, found the number 1\n  where: " + place + "/result.json, /tensors/e/file");
  CHECK(read_error(file, "f").starts_with(
      "the files refer to one another in a circle\n  where: " + place + "/result.json, "));
}

TEST_CASE("what is read from memory opens no files") {
  CHECK(read_error(from_memory(R"({"tensors": {"a": {"file": "/etc/passwd"}}})"), "a") ==
        "a tensor is in the file \"/etc/passwd\", but what is read from memory cannot refer to "
        "files\n  where: memory, /tensors/a/file");
}

TEST_CASE("faults in JSON tensors are told with file and pointer") {
  CHECK(open_error("[[1, 2], [3, ]]") ==
        "not valid JSON: expected a value, found ']'\n  where: memory, line 1, column 14\n"
        "  help:  remove the comma before ']'");
  CHECK(read_error(from_memory(R"({"tensors": {"a/b": [[1, 2], [3]]}})"), "a/b") ==
        "row 1 has 1 number, but the row before it has 2\n  where: memory, /tensors/a~1b/1\n"
        "  help:  give all rows of a tensor the same length");
  CHECK(read_error(from_memory(R"({"shape": [3], "data": [1]})"), "") ==
        "the shape [3] takes 3 numbers, but there is 1\n  where: memory, /data\n"
        "  help:  make the product of the sizes equal to the number of elements");
  CHECK(read_error(from_memory(R"({"tensors": {"a": "x"}})"), "a") ==
        "the string \"x\" is not a tensor\n  where: memory, /tensors/a\n"
        "  help:  give nested arrays of numbers, such as [[1,2],[3,4]]");
  CHECK(
      open_error(R"({"title": "x"})") ==
      "the JSON object holds no tensor\n  where: memory\n"
      "  help:  a file of tensors is a result of attn-cli, nested arrays of numbers, or an object "
      "of such arrays");
}

TEST_CASE("faults in binary files are told with file and byte") {
  const std::string whole = read_text(files + "float32.npy");
  CHECK(open_error(whole.substr(0, 163)) ==
        "the .npy file is cut off: the shape [3,3] of float32 takes 36 bytes, but there are 35\n"
        "  where: memory, byte 163\n  help:  save the array again with numpy.save");
  CHECK(read_error(TensorFile::open(files + "with_text.npz"), "notes.txt") ==
        "this is not a .npy file\n  where: " + files +
            "with_text.npz, member \"notes.txt\", byte 0\n"
            "  help:  save the array again with numpy.save");
}

TEST_CASE("other formats are named where they can be told") {
  const auto check = [](const std::string& bytes, const std::string& what) {
    CAPTURE(what);
    CHECK(open_error(bytes) == "this is not a tensor file" + what +
                                   "\n  where: memory\n"
                                   "  help:  known formats: .npy, .npz, .safetensors, .pt, pickle, "
                                   ".gguf, .onnx, JSON, CSV, text");
  };
  check("\x1F\x8B\x08...", "; it looks like a gzip file: unpack it first");
  check("\x89HDF\r\n\x1A\n", "; it looks like an HDF5 file");
  check("größe", "; it looks like a text");
  check("\xFF\xFE[\x01", "; it looks like a text in UTF-16: save it as UTF-8");
  check("\x01\x02\x03", "");
  check("tabs\tand\fpages\r\n", "; it looks like a text");
  check("erased\x7F", "");
  // A picture of a result lies beside it.
  const TemporaryFolder folder;
  folder.write("result.json", "{}");
  folder.write("heatmap.png", "\x89PNG\r\n");
  CHECK(error_from([&] { TensorFile::open(folder / "heatmap.png"); }, ErrorKind::input) ==
        "this is not a tensor file; it looks like a PNG picture\n  where: " +
            (folder / "heatmap.png").string() + "\n  help:  name the result beside it, \"" +
            (folder / "result.json").string() + "\"");
  CHECK(open_error("") ==
        "the file is empty\n  where: memory\n"
        "  help:  known formats: .npy, .npz, .safetensors, .pt, pickle, .gguf, .onnx, JSON, CSV, "
        "text");
}

TEST_CASE("a file that cannot be opened is an error of the file, not of the input") {
  CHECK(error_from([] { TensorFile::open("no/such file.npy"); }, ErrorKind::file) ==
        "cannot open \"no/such file.npy\": No such file or directory\n"
        "  help:  check the name, and the folder it is looked for in");
}

TEST_CASE(
    "what comes from standard input is named so, and refers to files where the program runs") {
  const TemporaryFolder folder;
  write_text(folder / "input.json",
             R"({"tensors": {"a": [[1, 2]], "b": [[1, 2], [3]], "c": {"file": "no/such.npy"}}})");
  const int kept = dup(STDIN_FILENO);
  REQUIRE(freopen((folder / "input.json").c_str(), "r", stdin) != nullptr);
  const TensorFile file = TensorFile::open("-");
  dup2(kept, STDIN_FILENO);
  close(kept);
  CHECK(file.format() == "json");
  CHECK(tensor_is<double>(file.read("a"), {1, 2}, {1, 2}));
  CHECK(read_error(file, "b") ==
        "row 1 has 1 number, but the row before it has 2\n"
        "  where: standard input, /tensors/b/1\n"
        "  help:  give all rows of a tensor the same length");
  CHECK(error_from([&] { file.read("c"); }, ErrorKind::file) ==
        "cannot open \"no/such.npy\": No such file or directory\n"
        "  where: standard input, /tensors/c/file\n"
        "  help:  check the name, and the folder it is looked for in");
}

TEST_CASE("tensors need not stand in an object to be named \"tensors\"") {
  const TensorFile file = from_memory(R"({"tensors": [[1, 2]], "note": "x"})");
  CHECK(file.names() == Names{"tensors"});
  CHECK(tensor_is<double>(file.read("tensors"), {1, 2}, {1, 2}));
}

TEST_CASE("the index of a checkpoint names the files that hold its tensors") {
  CHECK(open_error(
            R"({"metadata": {"total_size": 8}, "weight_map": {"a": "m-00001.safetensors"}})") ==
        "this is the index of a checkpoint, and its tensors are in others\n  where: memory\n"
        "  help:  name one of the files that \"weight_map\" names, such as "
        "\"m-00001.safetensors\"");
}

TEST_CASE("a JSON text that is neither array nor object holds no tensors") {
  CHECK(
      error_from([] { JsonTensorFile("3.5", nullptr); }) ==
      "the JSON text holds no tensors but a number\n"
      "  help:  a file of tensors is a result of attn-cli, nested arrays of numbers, or an object "
      "of such arrays");
}

TEST_CASE("a matrix is written a row a line, each number in its shortest form") {
  CHECK(csv_text(Tensor({2, 3}, std::vector<float>{1, 0.1F, -0.0F, 1e-45F, 3.4028235e38F, 2.5F})) ==
        "1,0.1,-0\n1e-45,3.4028235e+38,2.5\n");
  CHECK(csv_text(Tensor({1, 1}, std::vector<double>{0.1})) == "0.1\n");
  CHECK(csv_text(Tensor({2, 1}, std::vector<std::int64_t>{-7, 8})) == "-7\n8\n");
  CHECK(csv_text(Tensor({1, 2}, std::vector<std::uint8_t>{1, 0})) == "1,0\n");
}

TEST_CASE("numbers of the 16-bit types are written as the float32 of the same value") {
  // 0.1 is 0.10009765625 in bfloat16 and 0.0999755859375 in float16.
  const Tensor matrix({2, 2}, std::vector<float>{1, 0.1F, -0.0F, 2.5F});
  CHECK(csv_text(matrix.converted(DType::bfloat16)) == "1,0.100097656\n-0,2.5\n");
  CHECK(csv_text(matrix.converted(DType::float16)) == "1,0.099975586\n-0,2.5\n");
}

TEST_CASE("infinities and NaN are written as most programs read them") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(csv_text(Tensor({1, 4}, std::vector<double>{infinity, -infinity, std::nan(""),
                                                    -std::nan("")})) == "inf,-inf,nan,nan\n");
}

TEST_CASE("what is no matrix cannot be written as comma-separated values") {
  CHECK_THROWS_WITH_AS(
      csv_text(Tensor({1, 2, 3}, std::vector<float>(6))),
      "a tensor of shape [1,2,3] cannot be written as comma-separated values, which hold one "
      "matrix\n  help:  choose another format, or one matrix of the tensor",
      Error);
  CHECK_THROWS_AS(csv_text(Tensor({3}, std::vector<float>(3))), Error);
  CHECK_THROWS_AS(csv_text(Tensor()), Error);
}
