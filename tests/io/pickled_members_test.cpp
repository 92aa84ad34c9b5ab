#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/file_members.hpp"
#include "io/pickled_tensors.hpp"
#include "tensor_is.hpp"

namespace attn {
namespace {

const std::string pickles = std::string(ATTN_TEST_DATA) + "/io/files/pickles/";

std::string reason_in(const TensorFile& file, const std::string& name) {
  for (const OtherMember& other : file.others()) {
    if (other.name == name) return other.reason;
  }
  return "none of that name";
}

}  // namespace

TEST_CASE("arrays of NumPy are read from pickles of every protocol") {
  for (int protocol = 0; protocol < 6; ++protocol) {
    CAPTURE(protocol);
    const TensorFile file =
        TensorFile::open(pickles + "numpy_" + std::to_string(protocol) + ".pkl");
    CHECK(file.format() == "pkl");
    CHECK(file.names() == std::vector<std::string>{"f", "d", "i", "b", "s", "o.0", "n"});
    CHECK(tensor_is<float>(file.read("f"), {2, 3}, {0.25F, 0.75F, 0, 0.5F, 0.25F, 0.25F}));
    CHECK(tensor_is<double>(file.read("d"), {2, 3}, {0.25, 0.75, 0, 0.5, 0.25, 0.25}));
    CHECK(tensor_is<std::int64_t>(file.read("i"), {3}, {0, 1, 2}));
    CHECK(tensor_is<std::uint8_t>(file.read("b"), {2}, {1, 0}));
    CHECK(tensor_is<double>(file.read("s"), {}, {0.5}));
    CHECK(tensor_is<float>(file.read("n"), {2, 2}, {0.25F, 0, 0.5F, 0.25F}));
    CHECK(file.stored_type("i") == "int16");
    CHECK(reason_in(file, "u") == "strings (dtype \"<U3\")");
    CHECK(reason_in(file, "text") == "a text");
    CHECK(reason_in(file, "o.1") == "None");
    const auto texts = std::ranges::find(file.others(), "u", &OtherMember::name)->texts();
    CHECK(texts == std::vector<std::vector<std::string>>{{"a", "b c"}});
  }
}

TEST_CASE("tensors of PyTorch are read from pickles without torch.save, of every protocol") {
  for (int protocol = 0; protocol < 6; ++protocol) {
    CAPTURE(protocol);
    const TensorFile file =
        TensorFile::open(pickles + "torch_" + std::to_string(protocol) + ".pkl");
    CHECK(file.names() == std::vector<std::string>{"0", "1"});
    CHECK(tensor_is<float>(file.read("0"), {2, 3}, {0.25F, 0.75F, 0, 0.5F, 0.25F, 0.25F}));
    CHECK(tensor_is<float>(file.read("1"), {2, 2}, {0.25F, 0.75F, 0.5F, 0.25F}));
  }
}

TEST_CASE("named tuples, outputs of models, defaultdicts and rows of Python are containers") {
  for (const char* protocol : {"0", "2", "4"}) {
    CAPTURE(protocol);
    const TensorFile file = TensorFile::open(pickles + "named_tuple_" + protocol + ".pkl");
    CHECK(file.names() == std::vector<std::string>{"0"});
    CHECK(reason_in(file, "1") == "texts");
  }
  CHECK(TensorFile::open(pickles + "model_output.pt").names() ==
        std::vector<std::string>{"last_hidden_state", "attentions.0"});
  CHECK(TensorFile::open(pickles + "defaultdict.pt").names() == std::vector<std::string>{"attn.0"});
  const TensorFile lists = TensorFile::open(pickles + "lists.pkl");
  CHECK(lists.names() == std::vector<std::string>{"tensor"});
  CHECK(tensor_is<double>(lists.read(""), {2, 2}, {0.25, 0.75, 1, 0}));
}

TEST_CASE("members of a pickle that are no tensors are told with their reasons, and fail alone") {
  const TensorFile file = TensorFile::open(pickles + "members.pt");
  CHECK(file.names() == std::vector<std::string>{"attn", "lr", "np"});
  CHECK(tensor_is<float>(file.read("attn"), {2, 3}, {0.25F, 0.75F, 0, 0.5F, 0.25F, 0.25F}));
  CHECK(reason_in(file, "args") == "a value of argparse.Namespace");
  CHECK(reason_in(file, "out") == "a value of pathlib.PurePosixPath");
  CHECK(reason_in(file, "c") == "complex numbers (torch.ComplexFloatStorage)");
  CHECK(reason_in(file, "e") == "no numbers: its shape is [0,3]");
  CHECK(reason_in(file, "f8") == "numbers of the type torch.float8_e4m3fn, which are not read");
  CHECK(reason_in(file, "tokens") == "texts");
  CHECK(reason_in(file, "n") == "None");
  CHECK(error_from([&] { file.read("args"); }) ==
        "\"args\" is not a tensor: a value of argparse.Namespace\n  where: " + pickles +
            "members.pt\n  help:  name another member, or save this one as an array of numbers");
  CHECK(error_from([&] { file.read("c"); }) ==
        "\"c\" is not a tensor: complex numbers (torch.ComplexFloatStorage)\n  where: " + pickles +
            "members.pt\n  help:  save tensor.real and tensor.imag as tensors of their own");
}

TEST_CASE("a cache of transformers says how its keys and values are saved") {
  const std::vector<attn::OtherMember> cache{
      {"", "a value of transformers.cache_utils.DynamicCache"}};
  CHECK(attn::no_tensors(cache).help() ==
        "save keys and values as tensors: torch.save([(layer.keys, layer.values) for layer in "
        "cache.layers], file)");
  CHECK(attn::not_a_tensor(cache[0]).help() == attn::no_tensors(cache).help());
  const std::vector<attn::OtherMember> bfloat16{{"q", "structures (dtype \"|V2\")"}};
  CHECK(attn::no_tensors(bfloat16).help() ==
        "if they are bfloat16 numbers, save them as float32: "
        "array.view(ml_dtypes.bfloat16).astype(numpy.float32)");
}

TEST_CASE("a file of attentions that were not computed says how they are") {
  CHECK(
      error_from([] { TensorFile::open(pickles + "without_attentions.pt"); }) ==
      "the file holds no tensor that can be read: \"attentions\": 2 times None: a model gives its "
      "attentions if it is loaded with attn_implementation=\"eager\"\n  where: " +
          pickles +
          "without_attentions.pt\n  help:  save maps as arrays of numbers of a usual type, such as "
          "tensor.float() has, those of an object with torch.save(vars(object), file), and the "
          "parameters of a module with torch.save(module.state_dict(), file)");
}

TEST_CASE("sparse tensors are read with their zeros, and values at one place are added") {
  const TensorFile file = TensorFile::open(pickles + "sparse.pt");
  for (const char* name : {"coo", "csr", "csc"}) {
    CAPTURE(name);
    CHECK(tensor_is<double>(file.read(name), {2, 3}, {0, 0.5, 0, 0.25, 0, 0.75}));
  }
  CHECK(tensor_is<double>(file.read("sum"), {2, 2}, {0, 0.75, 0, 0}));
}

}  // namespace attn
