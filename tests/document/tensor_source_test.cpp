#include "document/tensor_source.hpp"

#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace {

attn::Tensor read(const std::string& json, attn::DType dtype = attn::DType::float32) {
  attn::TensorSource source("");
  source.seed(1);
  return source.read(attn::parse_json(json), dtype, "/query");
}

std::string refusal(const std::string& json, attn::DType dtype = attn::DType::float32) {
  return error_from([&] { read(json, dtype); }, std::nullopt);
}

}  // namespace

TEST_CASE("constants and counts fill a shape") {
  CHECK(read(R"({"zeros":[2,3]})").values<float>()[5] == 0);
  CHECK(read(R"({"ones":[2,3]})").shape() == attn::Shape{2, 3});
  CHECK(read(R"({"full":[2],"value":"-inf"})").values<float>()[1] == -INFINITY);
  const attn::Tensor counted = read(R"({"arange":6,"shape":[3,2]})");
  CHECK(counted.shape() == attn::Shape{3, 2});
  CHECK(counted.values<float>()[5] == 5);
  CHECK(read(R"({"shape":[1,2],"data":[7,8]})").values<float>()[1] == 8);
}

TEST_CASE("random tensors are PyTorch's, drawn one after the other from one generator") {
  attn::TensorSource source("");
  source.seed(1);
  const attn::Tensor first =
      source.read(attn::parse_json(R"({"rand":[3]})"), attn::DType::float32, "");
  // torch.manual_seed(1); torch.rand(3)
  CHECK(first.values<float>()[0] == 0.7576315999031067F);
  CHECK(first.values<float>()[1] == 0.2793108820915222F);
  CHECK(first.values<float>()[2] == 0.40306925773620605F);
  const attn::Tensor own =
      source.read(attn::parse_json(R"({"rand":[1],"seed":1})"), attn::DType::float32, "");
  CHECK(own.values<float>()[0] == 0.7576315999031067F);
}

TEST_CASE("negative seeds count down from 2^64, as torch.manual_seed has them") {
  attn::TorchRandom random = attn::torch_manual_seed(-1);
  const attn::Tensor drawn = attn::torch_rand(random, {2});
  CHECK(drawn.values<float>()[0] == 0.9937993884086609F);
  CHECK(drawn.values<float>()[1] == 0.5713063478469849F);
}

TEST_CASE("tensors come from files, with the names they have there") {
  const TemporaryFolder folder;
  const attn::Tensor tensor({2, 2}, std::vector<float>{1, 2, 3, 4});
  folder.write("q.npy", attn::npy_bytes(tensor));
  const attn::NamedTensor named[] = {{"q", tensor}};
  folder.write("all.npz", attn::npz_bytes(named));
  folder.write("all.safetensors", attn::safetensors_bytes(named));
  attn::TensorSource source(folder.path());
  for (const char* json : {R"({"file":"q.npy"})", R"({"file":"all.npz","name":"q"})",
                           R"({"file":"all.safetensors","name":"q"})", R"({"file":"all.npz"})"}) {
    CAPTURE(json);
    const attn::Tensor read = source.read(attn::parse_json(json), attn::DType::float64, "");
    CHECK(read.shape() == attn::Shape{2, 2});
    CHECK(read.values<double>()[3] == 4);
  }
  // A type beside a file is that of its numbers, as in a result.
  const auto typed = [&](const std::string& type) {
    return source.read(attn::parse_json(R"({"file":"q.npy","dtype":")" + type + R"("})"),
                       attn::DType::float32, "/query");
  };
  CHECK(typed("float32").values<float>()[3] == 4);
  // A result of bfloat16 names that type, and the shape; NumPy's files have its numbers as float32.
  CHECK(source
            .read(attn::parse_json(R"({"file":"q.npy","shape":[2,2],"dtype":"bfloat16"})"),
                  attn::DType::float32, "/key")
            .values<float>()[3] == 4);
  CHECK(error_from([&] { typed("bfloat16"); }, std::nullopt) ==
        "the file holds numbers of the type float32, not bfloat16\n"
        "  where: /query/dtype\n"
        "  help:  leave it out: \"dtype\" at the top of the document says what is computed in; "
        "numbers rounded to bfloat16 come from a .safetensors or .pt file");
  CHECK(error_from([&] { typed("float16"); }, std::nullopt) ==
        "the file holds numbers of the type float32, not float16\n"
        "  where: /query/dtype\n"
        "  help:  leave it out: \"dtype\" at the top of the document says what is computed in; "
        "numbers rounded to bfloat16 come from a .safetensors or .pt file");
}

TEST_CASE("a missing file is an error of the file that names the place in the document") {
  attn::TensorSource source("nowhere");
  const attn::JsonValue file = attn::parse_json(R"({"file":"q.npy"})");
  CHECK(error_from([&] { source.read(file, attn::DType::float32, "/query"); },
                   attn::ErrorKind::file) ==
        "cannot open \"nowhere/q.npy\": No such file or directory\n"
        "  where: /query/file\n"
        "  help:  check the name, and the folder it is looked for in");
}

TEST_CASE("numbers that do not fit the dtype are refused, wherever they come from") {
  CHECK(refusal(R"({"full":[2],"value":1e39})") ==
        "the number 1e+39 is beyond the range of float32\n"
        "  where: /query/value\n"
        "  help:  set \"dtype\" to \"float64\"");
  CHECK(refusal(R"({"full":[2],"value":2})", attn::DType::boolean) ==
        "the number 2 is not a truth value\n"
        "  where: /query/value\n"
        "  help:  give only 0 and 1");
}

TEST_CASE("an object of no or two forms is not a tensor") {
  CHECK(refusal(R"({"zeroes":[2]})") ==
        "unknown key \"zeroes\"\n"
        "  where: /query/zeroes\n"
        "  help:  did you mean \"zeros\"?");
  CHECK(refusal(R"({"zeros":[2],"ones":[2]})") ==
        "a tensor cannot be both \"zeros\" and \"ones\"\n"
        "  where: /query\n"
        "  help:  give one of them");
  CHECK(refusal(R"({"shape":[2]})") ==
        "\"shape\" is given without \"data\"\n"
        "  where: /query\n"
        "  help:  add \"data\", the numbers as one flat array");
}

TEST_CASE("a tensor larger than memory is refused before it is allocated") {
  const std::string text = refusal(R"({"zeros":[1000000,1000000,100]})");
  CHECK(
      text.starts_with("a tensor of shape [1000000,1000000,100] would take 800 TB, more than the "
                       "memory of this machine"));
}

TEST_CASE("the tensors that a document has made are counted together") {
  attn::FileAccess access;
  access.limits.elements = 10;
  attn::TensorSource source("", access);
  const attn::JsonValue ones = attn::parse_json(R"({"ones":[2,3]})");
  CHECK(source.read(ones, attn::DType::float32, "/query").size() == 6);
  CHECK(error_from([&] { source.read(ones, attn::DType::float32, "/key"); }) ==
        "the document so far has 12 elements, and the limit is 10\n"
        "  where: /key/ones\n"
        "  help:  make it smaller, or raise the limit with Limits::elements");
  CHECK(refusal(R"({"zeros":[1e18]})") ==
        "the number 1e+18 is not a size\n"
        "  where: /query/zeros/0\n"
        "  help:  give whole numbers from 1 to 2^53");
}
