#include "io/torch_file.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace attn {
namespace {

using namespace std::string_literals;

const std::string files = std::string(ATTN_TEST_DATA) + "/io/files/torch/";

// A file before PyTorch 1.6 whose value is made by the opcodes `value`, with one storage "1" of
// `count` floats 0, 1, 2…
std::string old_file(const std::string& value, std::uint64_t count = 6) {
  std::string bytes = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;  // magic number
  bytes += "\x80\x02M\xe9\x03."s;                                                    // version 1001
  bytes += "\x80\x02}."s;                                                            // system
  bytes += "\x80\x02"s + value + ".";
  if (value.find("Storage") == std::string::npos) return bytes + "\x80\x02].";
  bytes += "\x80\x02]X\x01\x00\x00\x00"s + "1a.";  // keys of the storages
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

// The byte at which the value of old_file() begins, behind its PROTO.
constexpr std::size_t value_at = 27;

std::string text(const std::string& characters) {
  return "U"s + static_cast<char>(characters.size()) + characters;
}

// Text of that many letters k.
std::string long_text(std::uint32_t count) {
  std::string bytes = "X";
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  return bytes + std::string(count, 'k');
}

std::string number(int value) {
  std::string bytes = "J";
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::string tuple(const std::vector<int>& numbers) {
  std::string bytes = "(";
  for (const int value : numbers) bytes += number(value);
  return bytes + "t";
}

const std::string storage =
    "(" + text("storage") + "ctorch\nFloatStorage\n" + text("1") + text("cpu") + number(6) + "NtQ";

std::string tensor(int offset, const std::vector<int>& shape, const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + tuple(shape) +
         tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

TorchFile parse(const std::string& bytes, const Limits& limits = {}) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return {std::as_bytes(std::span(*owner)), owner, limits};
}

std::string refusal(const std::string& value) {
  return error_from([&] { parse(old_file(value)); });
}

constexpr const char* help =
    "\n  help:  nothing in a pickle is ever called: save tensors alone, in dicts, lists and "
    "tuples, with torch.save(model.state_dict(), …), or as .safetensors";

std::string refused(const std::string& problem, std::size_t at) {
  return problem + "\n  where: byte " + std::to_string(at) + help;
}

}  // namespace

TEST_CASE("what torch.save wrote is read bit for bit, in both forms of the file") {
  for (const char* name :
       {"attentions_tuple", "before_1_6", "newer_torch", "outputs_dict", "parameters", "protocol_3",
        "single_tensor", "types", "views_shared_storage"}) {
    CAPTURE(name);
    const TensorFile file = TensorFile::open(files + name + ".pt");
    const TensorFile expected = TensorFile::open(files + name + ".safetensors");
    CHECK(file.format() == "pt");
    REQUIRE(file.names().size() == expected.names().size());
    for (const std::string& tensor : expected.names()) {
      CAPTURE(tensor);
      const Tensor read = file.read(tensor), wanted = expected.read(tensor);
      CHECK(read.shape() == wanted.shape());
      REQUIRE(read.dtype() == wanted.dtype());
      CHECK(std::memcmp(read.bytes(), wanted.bytes(), read.size() * size_of(read.dtype())) == 0);
    }
  }
}

TEST_CASE("tensors in dicts, lists and tuples of a .pt file are named by their path") {
  const std::string one = tensor(0, {2}, {1});
  const TorchFile file = parse(old_file("}(" + text("a") + "](" + one + "N" + one + "e" +
                                        text("b") + "}" + number(7) + one + "su"));
  CHECK(file.names() == std::vector<std::string>{"a.0", "a.2", "b.7"});
  CHECK(parse(old_file(one)).names() == std::vector<std::string>{"tensor"});
  // The last value of a key counts, and what is no tensor is passed over.
  const TorchFile twice = parse(
      old_file("}(" + text("a") + one + text("c") + "K\1" + text("a") + tensor(3, {3}, {1}) + "u"));
  REQUIRE(twice.names() == std::vector<std::string>{"a"});
  CHECK(tensor_is<float>(twice.read(0), {3}, {3, 4, 5}));
}

TEST_CASE("views of a storage in a .pt file are gathered by their strides") {
  CHECK(tensor_is<float>(parse(old_file(tensor(0, {3, 2}, {1, 3}))).read(0), {3, 2},
                         {0, 3, 1, 4, 2, 5}));
  CHECK(tensor_is<float>(parse(old_file(tensor(1, {2, 2}, {0, 2}))).read(0), {2, 2}, {1, 3, 1, 3}));
  CHECK(tensor_is<float>(parse(old_file(tensor(4, {}, {}))).read(0), {}, {4}));
}

TEST_CASE("a pickle is refused by the opcode that is not in the list, and by names of programs") {
  CHECK(refusal("cposix\nsystem\n(" + text("true") + "tR") ==
        refused("the pickle names \"posix.system\", which is there to start programs", value_at));
  CHECK(refusal(text("os") + text("system") + "\x93") ==
        refused("the pickle names \"os.system\", which is there to start programs", value_at + 12));
  CHECK(refusal("}(" + text("a") + tensor(0, {2}, {1}) + text("b") + "cbuiltins\neval\n(tRu")
            .starts_with("the pickle names \"builtins.eval\", which is there to start programs"));
  CHECK(refusal("(iposix\nsystem\n") ==
        refused("the pickle has the opcode INST (0x69), which is not in the list of what is read",
                value_at + 1));
  CHECK(refusal("ctorch\nFloatStorage\n)R") ==
        refused("the pickle calls \"torch.FloatStorage\"", value_at + 21));
  CHECK(refusal("\x80\x06") == refused("the pickle is of protocol 6: 2 to 5 are read", value_at));
}

TEST_CASE("a pickle that contradicts itself is refused with the byte") {
  CHECK(refusal("a") ==
        refused("the pickle takes values from its stack that are not there", value_at));
  CHECK(refusal("r\xff\xff\xff\x7f") ==
        refused("the pickle takes values from its stack that are not there", value_at));
  CHECK(refusal("Nr\xff\xff\xff\x7f") ==
        refused("the pickle keeps a value in place 2147483647", value_at + 1));
  CHECK(refusal("h\5") == refused("the pickle keeps no value in place 5", value_at));
  CHECK(refusal("}(" + text("a") + "u") ==
        refused("the pickle has a key without a value", value_at + 5));
  CHECK(refusal("X\xff\xff\xff\xff") ==
        refused("the pickle ends before 4294967295 bytes that it announces", value_at));
  CHECK(refusal("]q\1h\1a") == refused("the pickle holds a value that is within itself", value_at));
  CHECK(refusal(std::string(600, ']') + std::string(599, 'a')) ==
        refused("the values of the pickle are nested more than 512 deep", value_at + 512));
  CHECK(refusal("}(" + text("a.b") + tensor(0, {1}, {1}) + text("a") + "}" + text("b") +
                tensor(0, {1}, {1}) + "su")
            .starts_with("two tensors have the path \"a.b\"\n"));
}

TEST_CASE("a list of lists that each hold the last one many times ends in time") {
  std::string value = tensor(0, {2}, {1});
  for (int level = 0; level < 12; ++level) {
    value += "q" + std::string(1, static_cast<char>(level)) + "(";
    for (int i = 0; i < 16; ++i) value += "h" + std::string(1, static_cast<char>(level));
    value += "t";
  }
  CHECK(refusal(value).starts_with("the pickle holds more than 100000 tensors\n"));
}

TEST_CASE("paths that a .pt file unfolds to more characters than it could hold are refused") {
  const std::string one = tensor(0, {2}, {1});
  const auto check = [](const std::string& value) {
    CHECK(refusal(value).starts_with(
        "the paths of the tensors have more than 16000000 characters in all\n  where: byte "));
  };
  // A key within itself, and a key of many tensors.
  std::string nested = "}" + long_text(50'000) + "q\1";
  for (int level = 1; level < 400; ++level) nested += "}h\1";
  check(nested + one + std::string(400, 's'));
  std::string many = "}" + long_text(1000) + "](" + one + "q\1";
  for (int i = 0; i < 20'000; ++i) many += "h\1";
  check(many + "es");
}

TEST_CASE("long keys of a .pt file are told apart by their characters") {
  const std::string key = long_text(300);
  const std::string first = tensor(0, {1}, {1}), second = tensor(3, {1}, {1});
  const TorchFile file = parse(old_file("}(" + key + "q\1" + first + "h\1" + second + key +
                                        tensor(5, {1}, {1}) + long_text(299) + first + "u"));
  REQUIRE(file.names() == std::vector<std::string>{std::string(300, 'k'), std::string(299, 'k')});
  CHECK(tensor_is<float>(file.read(0), {1}, {5}));
  CHECK(tensor_is<float>(file.read(1), {1}, {0}));
}

TEST_CASE("a list in very many places of a .pt file is not walked through in all of them") {
  std::string value = "](](" + std::string(9999, 'N') + tensor(0, {2}, {1}) + "eq\1";
  for (int i = 0; i < 2000; ++i) value += "h\1";
  CHECK(refusal(value + "e")
            .starts_with(
                "the values of the pickle are in more than 16000000 places\n  where: byte "));
}

TEST_CASE("a view that repeats its storage is held against the limit before it is gathered") {
  Limits limits;
  limits.elements = 10'000'000;
  const TorchFile file = parse(old_file(tensor(0, {30'000, 30'000}, {0, 0})), limits);
  CHECK(file.stored_type(0) == "float32");
  CHECK(error_from([&] { file.read(0); }) ==
        "the tensor has 900M elements, and the limit is 10M\n  where: tensor\n"
        "  help:  make it smaller, or raise the limit with Limits::elements");
}

TEST_CASE("a list of storages that names one of them twice is refused") {
  std::string bytes = old_file(tensor(0, {2}, {1}));
  const std::string listed = "X\x01\x00\x00\x00"s + "1a";
  const std::size_t at = bytes.find(listed);
  bytes.insert(at, listed);
  CHECK(error_from([&] { parse(bytes); }) ==
        refused("the list of the storages names one of them twice", at + listed.size()));
}

TEST_CASE("a tensor beyond its storage is refused, whatever its sizes") {
  const auto check = [](const std::string& value, const std::string& problem) {
    CHECK(refusal(value).starts_with(problem + "\n  where: byte "));
  };
  const std::string beyond = "a tensor of shape [2,3] ends after its storage \"1\"";
  check(tensor(1, {2, 3}, {3, 1}), beyond);
  check(tensor(0, {2, 3}, {4, 1}), beyond);
  check(tensor(-1, {1}, {1}), "a tensor begins at the negative element -1");
  check(tensor(0, {-1}, {1}), "a tensor has the negative size or stride -1");
  check(tensor(0, {2}, {1, 1}), "the pickle makes a tensor of arguments that do not fit");
  check(tensor(0, {2000000000, 2000000000, 2000000000}, {0, 0, 0}),
        "the shape [2000000000,2000000000,2000000000] has more elements than memory can address");
  CHECK(error_from([] { parse(old_file(tensor(0, {2}, {1}), 5)); })
            .starts_with("the storage \"1\" has 20 bytes, but the pickle says 6 elements of "
                         "float32\n  where: byte "));
  const std::string whole = old_file(tensor(0, {2}, {1}));
  CHECK(error_from([&] { parse(whole.substr(0, whole.size() - 1)); }) ==
        "the file ends before its storages do\n  where: byte " + std::to_string(whole.size() - 32) +
            "\n  help:  the file is damaged or cut off: copy or download it again");
}

}  // namespace attn
