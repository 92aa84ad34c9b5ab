#include "io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "support/mapped_file.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

const std::string files = std::string(ATTN_TEST_DATA) + "/io/files/";

std::string safetensors(const std::string& header, std::size_t data_bytes) {
  std::string result;
  for (int i = 0; i < 8; ++i) result += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return result + header + std::string(data_bytes, '\0');
}

Safetensors parse(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return Safetensors(std::as_bytes(std::span(*owner)), owner);
}

std::string error_in(const std::string& bytes) {
  return error_from([&] { parse(bytes); });
}

std::string header_error(const std::string& header, std::size_t data_bytes) {
  return error_in(safetensors(header, data_bytes));
}

constexpr const char* again = "\n  help:  write the file again";

}  // namespace

TEST_CASE("every type of elements is widened, never narrowed") {
  const auto file = MappedFile::open(FileName::by_user(files + "elements.safetensors"));
  const Safetensors tensors(file->bytes(), file);
  REQUIRE(tensors.names() == std::vector<std::string>{"f64", "i64", "u64", "f32", "i32", "u32",
                                                      "f16", "bf16", "i16", "u16", "i8", "u8",
                                                      "bool", "scalar", "f8"});
  CHECK(tensor_is<double>(tensors.read(0), {2}, {0.1, -0.0}));
  CHECK(tensor_is<std::int64_t>(tensors.read(1), {1}, {std::numeric_limits<std::int64_t>::min()}));
  CHECK(tensor_is<std::int64_t>(tensors.read(2), {1}, {std::numeric_limits<std::int64_t>::max()}));
  CHECK(tensor_is<float>(tensors.read(3), {2, 2}, {1, 2, 3, 0.1F}));
  CHECK(tensor_is<std::int64_t>(tensors.read(4), {1}, {-5}));
  CHECK(tensor_is<std::int64_t>(tensors.read(5), {1}, {4294967295}));
  CHECK(tensor_is<float>(tensors.read(6), {2}, {1.5F, 0x1p-24F}));
  CHECK(tensor_is<float>(tensors.read(7), {3}, {1.5F, -0.0F, std::bit_cast<float>(0x10000U)}));
  CHECK(tensor_is<std::int64_t>(tensors.read(8), {1}, {-3}));
  CHECK(tensor_is<std::int64_t>(tensors.read(9), {1}, {65535}));
  CHECK(tensor_is<std::int64_t>(tensors.read(10), {1}, {-128}));
  CHECK(tensor_is<std::int64_t>(tensors.read(11), {1}, {255}));
  CHECK(tensor_is<std::uint8_t>(tensors.read(12), {3}, {1, 0, 1}));
  CHECK(tensor_is<float>(tensors.read(13), {}, {4}));
}

TEST_CASE("tensors of unknown types are told, and the others are read") {
  std::string bytes = read_text(files + "elements.safetensors");
  const std::string known = "F8_E4M3";
  bytes.replace(bytes.find(known), known.size(), "F4_E2M1");
  const Safetensors tensors = parse(bytes);
  REQUIRE(tensors.others().size() == 1);
  CHECK(tensors.others()[0].name == "f8");
  CHECK(tensors.others()[0].reason == "numbers of the type F4_E2M1, which are not read");
  CHECK(std::ranges::count(tensors.names(), "f8") == 0);
}

TEST_CASE("a mapped .safetensors file of floats is borrowed, not copied") {
  const auto file = MappedFile::open(FileName::by_user(files + "elements.safetensors"));
  const auto* begin = file->bytes().data();
  const auto* address =
      static_cast<const std::byte*>(Safetensors(file->bytes(), file).read(3).bytes());
  CHECK(address > begin);
  CHECK(address < begin + file->bytes().size());
}

TEST_CASE("the start of a .safetensors file is recognised") {
  const auto looks = [](const std::string& bytes) {
    return looks_like_safetensors(std::as_bytes(std::span(bytes)));
  };
  CHECK(looks(safetensors("{}", 0)));
  CHECK(looks(safetensors("{}", 0).substr(0, 9)));
  CHECK_FALSE(looks(safetensors("{}", 0).substr(0, 8)));
  CHECK_FALSE(looks(safetensors("[]", 0)));
  CHECK_FALSE(looks("{\"a\":1,{{"));
  CHECK_FALSE(looks(""));
}

TEST_CASE("a file cut off anywhere is an error") {
  const std::string whole = read_text(files + "elements.safetensors");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(error_in(whole.substr(0, size)) != "no error");
  }
  CHECK(error_in("abc") ==
        std::string("the .safetensors file is cut off\n  where: byte 3") + again);
  CHECK(error_in(safetensors("{}", 0).substr(0, 9)) ==
        "the .safetensors file claims a header of 2 bytes, but ends after 1\n  where: byte 0\n"
        "  help:  the file is cut off: copy or download it again");
  CHECK(header_error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7) ==
        "the tensor ends at byte 8 of the data, of which there are 7\n"
        "  where: header, /a/data_offsets\n"
        "  help:  the file is cut off: copy or download it again");
}

TEST_CASE("a header longer than the format allows is an error") {
  CHECK(error_in(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10)) ==
        std::string("the .safetensors file claims a header of 18446744073709551615 bytes, but the "
                    "format allows 100000000\n  where: byte 0") +
            again);
}

TEST_CASE("a header that is no JSON object is an error at its line") {
  CHECK(header_error("{\"a\":}", 0) ==
        "not valid JSON: expected a value, found '}'\n  where: header, line 1, column 6");
  CHECK(header_error("[1]", 0) ==
        std::string("the header of the .safetensors file is not a JSON object\n  where: byte 8") +
            again);
  CHECK(header_error(R"({"a":1,"a":2})", 0) ==
        "the key \"a\" is given twice\n  where: header, /a\n  help:  remove one of the two");
}

TEST_CASE("a header with more tensors than files have is refused before it fills the memory") {
  std::string header = "{";
  for (int i = 0; i <= 400'000; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  CHECK(header_error(header + "}", 0) ==
        "the file holds more than 400000 tensors\n  where: header, /t400000\n"
        "  help:  write the tensors into several files");
  CHECK(header_error(R"({"a":{"dtype":")" + std::string(70'000, 'x') + R"("}})", 0) ==
        "a value takes 70012 bytes, and at most 65536 are read\n  where: header, byte 5");
  CHECK(header_error(R"({"__metadata__":{},"__metadata__":{}})", 0) ==
        "the key \"__metadata__\" is given twice\n  where: header, /__metadata__\n"
        "  help:  remove one of the two");
}

TEST_CASE("a malformed entry is an error at its pointer") {
  const auto problem = [](const std::string& entry) {
    const std::string error = header_error("{\"a\":" + entry + "}", 8);
    return error.substr(0, error.find("\n  help"));
  };
  CHECK(problem("1") == "expected a tensor, found a number\n  where: header, /a");
  CHECK(problem("{}") == "the tensor has no \"dtype\"\n  where: header, /a");
  CHECK(problem(R"({"dtype":1})") == "a number is not a dtype\n  where: header, /a/dtype");
  CHECK(problem(R"({"dtype":"F32"})") == "the tensor has no \"shape\"\n  where: header, /a");
  CHECK(problem(R"({"dtype":"F32","shape":[2]})") ==
        "the tensor has no \"data_offsets\"\n  where: header, /a");
  CHECK(problem(R"({"dtype":"F32","shape":2})") ==
        "expected an array of sizes, found the number 2\n  where: header, /a/shape");
  CHECK(problem(R"({"dtype":"F32","shape":[-2]})") ==
        "the number -2 is not a size\n  where: header, /a/shape/0");
  CHECK(problem(R"({"dtype":"F32","shape":[2,"3"]})") ==
        "the string \"3\" is not a size\n  where: header, /a/shape/1");
  CHECK(problem(R"({"dtype":"F32","shape":[1.5]})") ==
        "the number 1.5 is not a size\n  where: header, /a/shape/0");
  CHECK(problem(R"({"dtype":"F32","shape":[18446744073709551615]})") ==
        "the number 18446744073709551616 is not a size\n  where: header, /a/shape/0");
  CHECK(problem(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})") ==
        "data_offsets must be a start and an end that is not before it\n"
        "  where: header, /a/data_offsets");
  CHECK(problem(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})") ==
        "data_offsets must be a start and an end that is not before it\n"
        "  where: header, /a/data_offsets");
  CHECK(problem(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})") ==
        "the shape [3] of F32 takes 12 bytes, but data_offsets span 8\n"
        "  where: header, /a/data_offsets");
  CHECK(problem(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})") ==
        "the shape [4294967296,4294967296] has more elements than memory can address\n"
        "  where: header, /a/shape");
}

TEST_CASE("offsets that overlap or leave gaps are an error") {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)") + first +
           R"(},"b":{"dtype":"I64","shape":[1],"data_offsets":)" + second + "}}";
  };
  CHECK(header_error(two("[0,8]", "[8,16]"), 16) == "no error");
  CHECK(header_error(two("[8,16]", "[0,8]"), 16) == "no error");
  CHECK(header_error(two("[0,8]", "[4,12]"), 12) ==
        std::string("the tensor overlaps another: its bytes 4 to 12 start before 8\n"
                    "  where: header, /b/data_offsets") +
            again);
  CHECK(header_error(two("[0,8]", "[0,8]"), 8) ==
        std::string("the tensor overlaps another: its bytes 0 to 8 start before 8\n"
                    "  where: header, /b/data_offsets") +
            again);
  CHECK(header_error(two("[0,8]", "[12,20]"), 20) ==
        std::string("the bytes 8 to 12 of the data belong to no tensor\n"
                    "  where: header, /b/data_offsets") +
            again);
  const std::string header = two("[0,8]", "[8,16]");
  CHECK(header_error(header, 19) ==
        "the bytes 16 to 19 of the data belong to no tensor\n  where: byte " +
            std::to_string(8 + header.size() + 16) + again);
}

TEST_CASE("a tensor without elements is told, and the others are read") {
  const Safetensors tensors =
      parse(safetensors(R"({"a":{"dtype":"F32","shape":[0,2],"data_offsets":[0,0]},)"
                        R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                        4));
  CHECK(tensors.names() == std::vector<std::string>{"b"});
  CHECK(tensor_is<float>(tensors.read(0), {1}, {0}));
  REQUIRE(tensors.others().size() == 1);
  CHECK(tensors.others()[0].reason == "no numbers: its shape is [0,2]");
}

TEST_CASE("lists and words in the metadata are texts") {
  const Safetensors tensors = parse(
      safetensors(R"({"__metadata__":{"format":"pt","tokens":"[\"a\",\"b c\"]","words":"the cat"},)"
                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                  4));
  REQUIRE(tensors.others().size() == 2);
  using Texts = std::vector<std::vector<std::string>>;
  CHECK(tensors.others()[0].name == "tokens");
  CHECK(tensors.others()[0].texts() == Texts{{"a", "b c"}});
  CHECK(tensors.others()[1].texts() == Texts{{"the", "cat"}});
}

TEST_CASE("a file of metadata alone holds no tensors") {
  CHECK(parse(safetensors(R"({"__metadata__":{"format":"pt"}})", 0)).names().empty());
}

TEST_CASE("written .safetensors files read back bit for bit") {
  const std::vector<NamedTensor> tensors{
      {"allowed", Tensor({1, 3}, std::vector<std::uint8_t>{1, 0, 1})},
      {"a \"quoted\"\n名", Tensor({2, 2}, std::vector<float>{1, -0.0F, 0.1F, 1e-45F})},
      {"output", Tensor({3}, std::vector<double>{5e-324, 2, 3})},
      {"ids", Tensor({1, 2}, std::vector<std::int64_t>{-7, 8})},
      {"scalar", Tensor({}, std::vector<float>{4})}};
  const std::string bytes = safetensors_bytes(tensors);
  const Safetensors back = parse(bytes);
  REQUIRE(back.names() ==
          std::vector<std::string>{"allowed", "a \"quoted\"\n名", "output", "ids", "scalar"});
  CHECK(tensor_is<std::uint8_t>(back.read(0), {1, 3}, {1, 0, 1}));
  CHECK(tensor_is<float>(back.read(1), {2, 2}, {1, -0.0F, 0.1F, 1e-45F}));
  CHECK(tensor_is<double>(back.read(2), {3}, {5e-324, 2, 3}));
  CHECK(tensor_is<std::int64_t>(back.read(3), {1, 2}, {-7, 8}));
  CHECK(tensor_is<float>(back.read(4), {}, {4}));
  CHECK(bytes == safetensors_bytes(tensors));
}

TEST_CASE("a written header is padded with spaces to a multiple of eight bytes") {
  const Tensor tensor({2}, std::vector<float>{1, 2});
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  REQUIRE(header.size() == 54);
  const std::string expected = std::string("\x38\0\0\0\0\0\0\0", 8) + header + "  " +
                               std::string("\0\0\x80\x3F\0\0\0\x40", 8);
  CHECK(safetensors_bytes(std::vector<NamedTensor>{{"a", tensor}}) == expected);
  CHECK(safetensors_bytes({}) == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}
