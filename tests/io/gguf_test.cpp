#include "io/gguf.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "gguf_bytes.hpp"
#include "io/safetensors.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path files = fs::path(ATTN_TEST_DATA) / "io" / "files" / "stored";

using namespace gguf_bytes;

Gguf parse(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return {std::as_bytes(std::span(*owner)), owner};
}

std::string refusal(const std::string& bytes) {
  return error_from([&] { parse(bytes); });
}

// The bits of both, but for the sign and the digits of NaN.
bool same_numbers(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.dtype() != DType::float32) {
    return std::memcmp(a.bytes(), b.bytes(), a.size() * size_of(a.dtype())) == 0;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = a.values<float>()[i], y = b.values<float>()[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

constexpr const char* damaged =
    "\n  help:  the file is damaged or cut off: copy or download it again";

}  // namespace

TEST_CASE("numbers in blocks, with scales and of eight bits are read bit for bit") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(files)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".expected.safetensors")) continue;
    CAPTURE(name);
    const TensorFile read = TensorFile::open(entry.path());
    const TensorFile expected = TensorFile::open(files / (name + ".expected.safetensors"));
    REQUIRE(read.names().size() == expected.names().size());
    for (const std::string& tensor : expected.names()) {
      CAPTURE(tensor);
      CHECK(same_numbers(read.read(tensor), expected.read(tensor)));
    }
    ++count;
  }
  CHECK(count == 32);
}

TEST_CASE("types of numbers in blocks have the names that people know") {
  const TensorFile blocks = TensorFile::open(files / "Q4_K.gguf");
  CHECK(blocks.format() == "gguf");
  CHECK(blocks.stored_type("rows") == "Q4_K");
  CHECK(TensorFile::open(files / "F8_E4M3.safetensors").stored_type("wide.weight") ==
        "float8_e4m3");
  CHECK(TensorFile::open(files / "MXFP4.safetensors").stored_type("experts.down_proj") == "MXFP4");
}

TEST_CASE("keys of a GGUF file have values of their types") {
  const Gguf file = parse(file_of(
      {tensor("a", {4, 2}, 0, 0)},
      {text("name") + raw(8U) + text("llama"), text("eps") + raw(6U) + raw(1e-6F),
       text("count") + raw(4U) + raw(7U), text("yes") + raw(7U) + raw(std::uint8_t{1}),
       text("tokens") + raw(9U) + raw(8U) + raw(std::uint64_t{2}) + text("a") + text("bc"),
       text("scores") + raw(9U) + raw(6U) + raw(std::uint64_t{2}) + raw(0.5F) + raw(-1.0F)}));
  CHECK(file.text("name") == "llama");
  CHECK(file.number("eps") == static_cast<double>(1e-6F));
  CHECK(file.number("count") == 7);
  CHECK(file.boolean("yes") == true);
  CHECK(file.texts("tokens") == std::vector<std::string_view>{"a", "bc"});
  CHECK(file.numbers("scores") == std::vector<double>{0.5, -1});
  CHECK(file.numbers("count") == std::vector<double>{7});
  CHECK_FALSE(file.number("other"));
  CHECK_FALSE(file.text("other"));
  CHECK_FALSE(file.boolean("other"));
  CHECK(file.texts("other").empty());
  CHECK(tensor_is<float>(file.read(0), {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_CASE("files of big-endian machines have the same keys, and types that are told") {
  const std::string bytes = read_text(files / "big_endian_Q8_0.gguf");
  const Gguf file = parse(bytes);
  CHECK(file.text("general.name") == "numbers");
  CHECK(file.number("half") == 0.5);
  CHECK(file.numbers("ids") == std::vector<double>{1, 258, 65536});
  CHECK(file.texts("words") == std::vector<std::string_view>{"a", "bc"});
  // The type of the first tensor, "rows", follows its name, the number of axes and two lengths.
  std::string other = bytes;
  const std::size_t at = other.find("rows") + 4 + 4 + 16;
  REQUIRE(other.substr(at, 4) == std::string("\0\0\0\x08", 4));
  other[at + 3] = 2 + 1;  // Q4_1
  REQUIRE(parse(other).others().size() == 1);
  CHECK(parse(other).others()[0].reason ==
        "numbers of the type Q4_1, which are not read from big-endian files");
}

TEST_CASE("tensors of types that are not read are told, and the others of the file are read") {
  const Gguf file = parse(
      file_of({tensor("a", {256}, 15, 0), tensor("b", {8}, 0, 0), tensor("c", {256}, 99, 0)}));
  CHECK(file.names() == std::vector<std::string>{"b"});
  REQUIRE(file.others().size() == 2);
  CHECK(file.others()[0].name == "a");
  CHECK(file.others()[0].reason == "numbers of the type Q8_K, which are not read");
  CHECK(file.others()[1].reason == "numbers of the type 99, which is not known");
}

TEST_CASE("GGUF files that are not read say why and what to do") {
  CHECK(refusal("GG") == "this is not a GGUF file\n  where: byte 0" + std::string(damaged));
  CHECK(refusal("GGUF").starts_with("the file ends before 4 bytes that it announces\n"));
  CHECK(refusal(file_of({}, {}, 1)) ==
        "this is version 1 of GGUF: 2 and 3 are read\n  where: byte 4\n"
        "  help:  convert the model again with llama.cpp");
  CHECK(refusal("GGUF" + raw(0x01000000U)) ==
        "this is version 1 of GGUF: 2 and 3 are read\n  where: byte 4\n"
        "  help:  convert the model again with llama.cpp");
  CHECK(refusal(file_of({tensor("a", {33, 2}, 8, 0)})) ==
        "rows of 33 numbers are not whole blocks of 32, as Q8_0 has them\n"
        "  where: tensor \"a\"" +
            std::string(damaged));
  CHECK(refusal(file_of({tensor("a", {4}, 0, 0), tensor("a", {4}, 0, 32)})) ==
        "the tensor \"a\" is there twice\n  where: tensor \"a\"" + std::string(damaged));
  CHECK(refusal(file_of({tensor("a", {64}, 0, 0)})) ==
        "the 256 bytes of the tensor end after the file\n  where: tensor \"a\"" +
            std::string(damaged));
  CHECK(refusal(file_of({tensor("a", {4}, 0, 4)})) ==
        "the numbers of the tensor begin at 4, not at a multiple of 32\n  where: tensor \"a\"" +
            std::string(damaged));
  CHECK(refusal(file_of({}, {text("a") + raw(13U)})) ==
        "a value has the unknown type 13\n  where: byte 33" + std::string(damaged));
  CHECK(refusal(file_of({}, {text("a") + raw(9U) + raw(8U) + raw(~std::uint64_t{0})}))
            .starts_with("the file ends before "));
  CHECK(refusal("GGUF" + raw(3U) + raw(~std::uint64_t{0}) + raw(std::uint64_t{0})) ==
        "the file claims 18446744073709551615 tensors and 0 keys, more than its 24 bytes can "
        "hold\n  where: byte 24" +
            std::string(damaged));
}

TEST_CASE("a key of a GGUF file whose value is of another type is refused by its name") {
  const Gguf file =
      parse(file_of({}, {text("name") + raw(8U) + text("llama"), text("count") + raw(4U) + raw(7U),
                         text("yes") + raw(7U) + raw(std::uint8_t{1}),
                         text("tokens") + raw(9U) + raw(8U) + raw(std::uint64_t{1}) + text("a"),
                         text("scores") + raw(9U) + raw(6U) + raw(std::uint64_t{1}) + raw(0.5F),
                         text("none") + raw(9U) + raw(6U) + raw(std::uint64_t{0})}));
  const auto refused = [&](const std::string& key, const std::string& types) {
    return "this key holds " + types + "\n  where: " + key +
           "\n  help:  convert the model again with llama.cpp";
  };
  CHECK(error_from([&] { file.number("name"); }) == refused("name", "a text, not a number"));
  CHECK(error_from([&] { file.number("yes"); }) == refused("yes", "true or false, not a number"));
  CHECK(error_from([&] { file.boolean("count"); }) ==
        refused("count", "a number, not true or false"));
  CHECK(error_from([&] { file.text("tokens"); }) ==
        refused("tokens", "an array of texts, not a text"));
  CHECK(error_from([&] { file.texts("scores"); }) ==
        refused("scores", "an array of numbers, not an array of texts"));
  CHECK(error_from([&] { file.numbers("tokens"); }) ==
        refused("tokens", "an array of texts, not an array of numbers"));
  CHECK(file.texts("none").empty());
  CHECK(file.numbers("none").empty());
  CHECK(refusal(file_of({}, {text("general.alignment") + raw(8U) + text("32")})) ==
        refused("general.alignment", "a text, not a number"));
}

TEST_CASE("tensors of a GGUF file that share bytes are refused") {
  CHECK(refusal(file_of({tensor("b", {8}, 0, 64), tensor("a", {17}, 0, 0)})) ==
        "two tensors share bytes of the file: \"a\" and \"b\"\n  where: tensor \"b\"" +
            std::string(damaged));
  // Bytes between tensors, and tensors without numbers, are nothing's.
  CHECK(parse(file_of({tensor("a", {16}, 0, 0), tensor("c", {0}, 0, 0), tensor("b", {8}, 0, 96)}))
            .names()
            .size() == 3);
}

// A part of a file in two, which has one tensor of the number of the part.
std::string part(std::uint16_t number, const std::string& name, std::uint16_t count = 2,
                 std::int32_t tensors = 2) {
  return file_of({tensor(name, {2}, 0, number * 32)}, split_keys(number, count, tensors));
}

TEST_CASE("a GGUF file in parts is read as one") {
  const TemporaryFolder folder;
  const fs::path first = folder.write("m-00001-of-00002.gguf", part(0, "a"));
  CHECK(error_from([&] { TensorFile::open(first); }, ErrorKind::file) ==
        "the part \"m-00002-of-00002.gguf\" of the weights is missing\n  where: " + first.string() +
            "\n  help:  download it too: the first part needs it");
  const fs::path second = folder.write("m-00002-of-00002.gguf", part(1, "b"));
  const TensorFile both = TensorFile::open(first);
  CHECK(both.names() == std::vector<std::string>{"a", "b"});
  CHECK(tensor_is<float>(both.read("a"), {2}, {0, 1}));
  CHECK(tensor_is<float>(both.read("b"), {2}, {8, 9}));
  CHECK(both.stored_type("b") == "float32");
  // As it is where the file is open already; from memory alone there are no other parts.
  const auto bytes = std::make_shared<const std::string>(read_text(first));
  const TensorFile opened =
      TensorFile::from_file(std::as_bytes(std::span(*bytes)), bytes, first, {});
  CHECK(tensor_is<float>(opened.read("b"), {2}, {8, 9}));
  CHECK(error_from(
            [&] { TensorFile::from_memory(std::as_bytes(std::span(*bytes)), bytes, "memory"); }) ==
        "this is part 1 of a file in 2 parts, but what is read from memory has no other files\n"
        "  where: memory, split.count\n  help:  name the first part");
  CHECK(error_from([&] { TensorFile::open(second); }) ==
        "this is a later part of a model\n  where: " + second.string() +
            ", split.no\n  help:  name its first part, -00001-of-…");
  const fs::path other = folder.write("other.gguf", part(0, "a"));
  CHECK(
      error_from([&] { TensorFile::open(other); }) ==
      "the file is the first of 2 parts, but its name does not say so\n  where: " + other.string() +
          ", split.count\n  help:  give the parts the names that they were downloaded under, "
          "…-00001-of-00002.gguf");
}

TEST_CASE("parts of a GGUF file that do not belong together are refused by the name of the part") {
  const TemporaryFolder folder;
  const fs::path first = folder.write("m-00001-of-00002.gguf", part(0, "a"));
  const auto refused = [&](const std::string& second) {
    folder.write("m-00002-of-00002.gguf", second);
    return error_from([&] { TensorFile::open(first); });
  };
  const auto expected = [&](const std::string& problem, const std::string& place,
                            const fs::path& of) {
    return problem + "\n  where: " + of.string() + ", " + place +
           "\n  help:  the parts do not belong together: download all of them again, under their "
           "own names";
  };
  const fs::path second = folder / "m-00002-of-00002.gguf";
  CHECK(refused(part(0, "b")) ==
        expected("the file is part 1 of 2 by its own keys, not part 2 of 2", "split.no", second));
  CHECK(refused(part(1, "b", 3)) ==
        expected("the file is part 2 of 3 by its own keys, not part 2 of 2", "split.no", second));
  CHECK(refused(file_of({tensor("b", {2}, 0, 0)})) ==
        expected("the file is part 1 of 1 by its own keys, not part 2 of 2", "split.no", second));
  CHECK(refused(part(1, "a")) ==
        expected("the tensor \"a\" is in the part \"m-00001-of-00002.gguf\" already",
                 "tensor \"a\"", second));
  CHECK(refused(part(1, "b", 2, 3)) ==
        expected("the parts should have 3 tensors together, but they have 2", "split.tensors.count",
                 second));
  CHECK(refused(part(1, "b").substr(0, 40)) ==
        "the file ends before 4 bytes that it announces\n  where: " + second.string() +
            ", byte 40" + damaged);
  CHECK(refused("no GGUF") ==
        "this is not a GGUF file\n  where: " + second.string() + ", byte 0" + damaged);
  folder.write("m-00001-of-00002.gguf", part(0, "a", 2, 5));
  CHECK(refused(part(1, "b")) ==
        expected("the parts should have 5 tensors together, but they have 2", "split.tensors.count",
                 first));
  folder.write("m-00001-of-00002.gguf", file_of({}, {text("split.count") + raw(6U) + raw(-1.0F)}));
  CHECK(refused(part(1, "b")) == expected("-1 is not the number of a part", "split.count", first));
}

TEST_CASE("scales that do not fit their numbers are refused") {
  const std::string header =
      R"({"W":{"dtype":"F8_E4M3","shape":[130,1],"data_offsets":[0,130]},)"
      R"("W_scale_inv":{"dtype":"F32","shape":[1,1],"data_offsets":[130,134]}})";
  const std::string bytes = raw(std::uint64_t{header.size()}) + header + std::string(134, '\0');
  CHECK(error_from([&] { Safetensors(std::as_bytes(std::span(bytes)), nullptr); }) ==
        "the scales [1,1] of F32 do not fit the numbers [130,1]: one for each 128 rows and columns "
        "is expected\n  where: header, /W_scale_inv\n  help:  write the file again");
}

}  // namespace attn
