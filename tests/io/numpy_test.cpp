#include "io/numpy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "support/mapped_file.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

const std::string files = std::string(ATTN_TEST_DATA) + "/io/files/";

Tensor parse(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return Npy(std::as_bytes(std::span(*owner)), owner).read(0);
}

Tensor parse_file(const std::string& name) {
  return parse(read_text(files + name + ".npy"));
}

// A file of version 1 with that header, unpadded, and that data.
std::string npy(const std::string& header, const std::string& data) {
  std::string result = std::string(npy_magic) + '\1' + '\0';
  result += static_cast<char>(header.size() & 0xFF);
  result += static_cast<char>(header.size() >> 8);
  return result + header + data;
}

std::string error_in(const std::string& bytes) {
  return error_from([&] { parse(bytes); });
}

std::string header_error(const std::string& header) {
  return error_in(npy(header, std::string(8, '\0')));
}

template <class T>
std::vector<T> counting(std::size_t count) {
  std::vector<T> result(count);
  std::iota(result.begin(), result.end(), T{0});
  return result;
}

constexpr const char* again = "\n  help:  save the array again with numpy.save";

}  // namespace

TEST_CASE("integers of every width that NumPy wrote are int64") {
  const auto check = [](const std::string& name, std::int64_t smallest, std::int64_t largest) {
    CAPTURE(name);
    CHECK(tensor_is<std::int64_t>(parse_file(name), {3}, {smallest, 0, largest}));
  };
  check("int8", -128, 127);
  check("int16", -32768, 32767);
  check("int32", -2147483648, 2147483647);
  check("int64", std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max());
  check("uint8", 0, 255);
  check("uint16", 0, 65535);
  check("uint32", 0, 4294967295);
  check("uint64", 0, std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("an unsigned integer that int64 cannot hold is an error") {
  CHECK(error_in(read_text(files + "uint64_too_large.npy")) ==
        "the number 18446744073709551615 is beyond the range of int64\n"
        "  where: element 2\n  help:  save it as float64");
}

TEST_CASE("floats that NumPy wrote keep every bit") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(
      tensor_is<float>(parse_file("float16"), {3, 3},
                       {0, -0.0F, 1, 0.333251953125F, 65504, 0x1p-24F, infinity, -infinity, nan}));
  CHECK(tensor_is<float>(parse_file("float32"), {3, 3},
                         {0, -0.0F, 1, 1.0F / 3, std::numeric_limits<float>::max(), 0x1p-149F,
                          infinity, -infinity, nan}));
  const double wide = std::numeric_limits<double>::infinity();
  CHECK(tensor_is<double>(parse_file("float64"), {3, 3},
                          {0, -0.0, 1, 1.0 / 3, std::numeric_limits<double>::max(), 0x1p-1074, wide,
                           -wide, std::numeric_limits<double>::quiet_NaN()}));
}

TEST_CASE("booleans, scalars and single axes that NumPy wrote are read") {
  CHECK(tensor_is<std::uint8_t>(parse_file("bool"), {2, 2}, {1, 0, 0, 1}));
  CHECK(tensor_is<std::uint8_t>(parse_file("bool_four_axes"), {1, 1, 1, 2}, {1, 1}));
  CHECK(tensor_is<double>(parse_file("float64_scalar"), {}, {2.5}));
  CHECK(tensor_is<float>(parse_file("float32_one_axis"), {3}, {1, 2, 3}));
}

TEST_CASE("Fortran order and big-endian numbers that NumPy wrote are read") {
  CHECK(tensor_is(parse_file("float32_fortran"), {2, 3, 4}, counting<float>(24)));
  CHECK(tensor_is(parse_file("float16_big_endian"), {2, 3, 4}, counting<float>(24)));
  CHECK(tensor_is(parse_file("float64_big_endian"), {2, 3, 4}, counting<double>(24)));
  CHECK(tensor_is(parse_file("int32_fortran_big_endian"), {2, 3, 4}, counting<std::int64_t>(24)));
}

TEST_CASE("versions 2 and 3 of the format are read") {
  CHECK(tensor_is(parse_file("version_2"), {2, 3, 4}, counting<std::int64_t>(24)));
  CHECK(tensor_is(parse_file("version_3"), {2, 3, 4}, counting<std::int64_t>(24)));
}

TEST_CASE("headers are read however Python would accept them") {
  const std::string data(8, '\0');
  CHECK(tensor_is<float>(
      parse(npy("{\"shape\":(2,),\"descr\":\"f4\",\"fortran_order\":True}", data)), {2}, {0, 0}));
  CHECK(tensor_is<float>(
      parse(npy(" {'descr' : '=f4', 'fortran_order':False,\n'shape': (2L, 1L,),}  \n", data)),
      {2, 1}, {0, 0}));
}

TEST_CASE("a mapped .npy file of floats is borrowed, not copied") {
  const auto file = MappedFile::open(FileName::by_user(files + "float32.npy"));
  const Tensor tensor = Npy(file->bytes(), file).read(0);
  CHECK(tensor.bytes() == file->bytes().data() + 128);
}

TEST_CASE("elements that are no real numbers are refused by name") {
  const std::string help =
      "\n  where: byte 20\n"
      "  help:  convert it first, for example with array.astype(numpy.float32)";
  CHECK(error_in(read_text(files + "refused_complex.npy")) ==
        "the array holds complex numbers (dtype \"<c16\"), which cannot be elements of a tensor"
        "\n  where: byte 20\n  help:  save array.real, array.imag or abs(array)");
  CHECK(error_in(read_text(files + "refused_object.npy")) ==
        "the array holds Python objects (dtype \"|O\"), which cannot be elements of a tensor\n"
        "  where: byte 20\n"
        "  help:  save each array in it alone, with numpy.savez(\"maps.npz\", a=…, b=…)");
  CHECK(error_in(read_text(files + "refused_string.npy")) ==
        "the array holds strings (dtype \"<U3\"), which cannot be elements of a tensor\n"
        "  where: byte 20\n"
        "  help:  texts may be labels: save them one per line, for MapRequest::labels");
  CHECK(error_in(read_text(files + "refused_date.npy")) ==
        "the array holds dates and times (dtype \"<M8[D]\"), which cannot be elements of a tensor" +
            help);
  CHECK(error_in(read_text(files + "refused_structure.npy")) ==
        "the array holds structures, which cannot be elements of a tensor\n  where: byte 20\n"
        "  help:  save its fields as arrays of their own");
  CHECK(header_error("{'descr': '|V8', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds structures (dtype \"|V8\"), which cannot be elements of a tensor" + help);
  CHECK(header_error("{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds structures (dtype \"<V2\"), which cannot be elements of a tensor\n"
        "  where: byte 20\n"
        "  help:  if they are bfloat16 numbers, save them as float32: "
        "array.view(ml_dtypes.bfloat16).astype(numpy.float32)");
  CHECK(header_error("{'descr': '|S8', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds strings (dtype \"|S8\"), which cannot be elements of a tensor\n"
        "  where: byte 20\n"
        "  help:  texts may be labels: save them one per line, for MapRequest::labels");
  CHECK(header_error("{'descr': '<m8[s]', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds dates and times (dtype \"<m8[s]\"), which cannot be elements of a tensor" +
            help);
  CHECK(header_error("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds elements (dtype \"<f16\"), which cannot be elements of a tensor" + help);
  CHECK(header_error("{'descr': '', 'fortran_order': False, 'shape': (1,)}") ==
        "the array holds elements (dtype \"\"), which cannot be elements of a tensor" + help);
}

TEST_CASE("arrays of texts are refused as tensors, and their texts are read") {
  const auto npy = [](const std::string& header, const std::string& elements) {
    std::string text = header + std::string(64 - (header.size() + 11) % 64, ' ') + "\n";
    std::string bytes = "\x93NUMPY\x01";
    bytes += '\0';
    bytes += static_cast<char>(text.size() & 0xFFU);
    bytes += static_cast<char>(text.size() >> 8U);
    return bytes + text + elements;
  };
  const std::string strings =
      npy("{'descr': '|S2', 'fortran_order': False, 'shape': (2,), }", "abc ");
  CHECK(error_in(strings).starts_with("the array holds strings (dtype \"|S2\")"));
  const NumpyType type = numpy_type_of("<U2");
  CHECK_FALSE(type.type);
  CHECK(type.reason() == "strings (dtype \"<U2\")");
  const std::string utf32("a\0\0\0\xe9\0\0\0b\0\0\0\0\0\0\0", 16);
  CHECK(numpy_texts(type, {2}, std::as_bytes(std::span(utf32)), false) ==
        std::vector<std::vector<std::string>>{{"aé", "b"}});
  CHECK(numpy_texts(type, {2, 1}, std::as_bytes(std::span(utf32)), false) ==
        std::vector<std::vector<std::string>>{{"aé"}, {"b"}});
  CHECK(numpy_texts(numpy_type_of(">U2"), {2}, std::as_bytes(std::span(utf32)), false).empty());
  CHECK(numpy_texts(type, {3}, std::as_bytes(std::span(utf32)), false).empty());
}

TEST_CASE("sizes of zero are an error") {
  CHECK(error_in(read_text(files + "no_elements.npy")) ==
        "the shape [0,3] has an axis of size 0\n"
        "  help:  sizes of axes are 1 or more: check what was saved");
}

TEST_CASE("a file cut off anywhere is an error, never a tensor") {
  const std::string whole = read_text(files + "float32.npy");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(error_in(whole.substr(0, size)) != "no error");
  }
  CHECK(error_in(whole.substr(0, 4)) ==
        std::string("this is not a .npy file\n  where: byte 0") + again);
  CHECK(error_in(whole.substr(0, 7)) ==
        std::string("the .npy file is cut off in its header\n  where: byte 7") + again);
  CHECK(error_in(whole.substr(0, 9)) ==
        std::string("the .npy file is cut off in its header\n  where: byte 9") + again);
  CHECK(error_in(whole.substr(0, 100)) ==
        std::string("the .npy file claims a header of 118 bytes, but ends after 90\n"
                    "  where: byte 8") +
            again);
  CHECK(error_in(whole.substr(0, whole.size() - 1)) ==
        std::string("the .npy file is cut off: the shape [3,3] of float32 takes 36 bytes, "
                    "but there are 35\n  where: byte 163") +
            again);
}

TEST_CASE("bytes after the elements are an error") {
  const std::string whole = read_text(files + "float32.npy");
  CHECK(error_in(whole + whole) ==
        "the shape [3,3] of float32 takes 36 bytes, but 200 follow the header\n  where: byte 164\n"
        "  help:  a .npy file holds one array: save several with numpy.savez");
}

TEST_CASE("a header's length may not lie") {
  std::string bytes = read_text(files + "float32.npy");
  bytes[8] = '\x20';
  CHECK(error_in(bytes) ==
        std::string(
            "the header of the .npy file has no ':' where there must be one\n  where: byte 42") +
            again);
  bytes[8] = '\xFF';
  bytes[9] = '\xFF';
  CHECK(error_in(bytes) ==
        std::string("the .npy file claims a header of 65535 bytes, but ends after 154\n"
                    "  where: byte 8") +
            again);
  std::string second = read_text(files + "version_2.npy");
  second.replace(8, 4, "\xFF\xFF\xFF\xFF");
  CHECK(error_in(second) ==
        std::string("the .npy file claims a header of 4294967295 bytes, but ends after 164\n"
                    "  where: byte 8") +
            again);
}

TEST_CASE("an unknown version is an error") {
  std::string bytes = read_text(files + "float32.npy");
  bytes[6] = '\x09';
  CHECK(error_in(bytes) ==
        "version 9.0 of the .npy format is unknown\n  where: byte 6\n"
        "  help:  versions 1.0, 2.0 and 3.0 can be read");
  bytes.replace(6, 2, "\x01\x02");
  CHECK(error_in(bytes) ==
        "version 1.2 of the .npy format is unknown\n  where: byte 6\n"
        "  help:  versions 1.0, 2.0 and 3.0 can be read");
  bytes.replace(6, 2, 2, '\0');
  CHECK(error_in(bytes) ==
        "version 0.0 of the .npy format is unknown\n  where: byte 6\n"
        "  help:  versions 1.0, 2.0 and 3.0 can be read");
}

TEST_CASE("a malformed header is an error at its byte") {
  const auto problem = [](const std::string& header) {
    const std::string error = header_error(header);
    const std::string start = "the header of the .npy file has ";
    REQUIRE(error.starts_with(start));
    return error.substr(start.size(), error.find("\n  help") - start.size());
  };
  CHECK(problem("") == "no '{' where there must be one\n  where: byte 10");
  CHECK(problem("[]") == "no '{' where there must be one\n  where: byte 10");
  CHECK(problem("{}") == "no 'descr'\n  where: byte 10");
  CHECK(problem("{'descr': '<f4', 'shape': (2,)}") == "no 'fortran_order'\n  where: byte 10");
  CHECK(problem("{'descr': '<f4', 'fortran_order': True}") == "no 'shape'\n  where: byte 10");
  CHECK(problem("{'descr': '<f4', 'fortran_order': maybe, 'shape': (2,)}") ==
        "neither True nor False where one must be\n  where: byte 44");
  CHECK(problem("{'descr': 4}") == "no string where there must be one\n  where: byte 20");
  CHECK(problem("{'descr': '<f4' 'shape': (2,)}") ==
        "no '}' where there must be one\n  where: byte 26");
  CHECK(problem("{'descr': '<f4', 'color': 'red'}") ==
        "an unknown or repeated key \"color\"\n  where: byte 27");
  CHECK(problem("{'descr': '<f4', 'descr': '<f4'}") ==
        "an unknown or repeated key \"descr\"\n  where: byte 27");
  CHECK(problem("{'fortran_order': False, 'fortran_order': False}") ==
        "an unknown or repeated key \"fortran_order\"\n  where: byte 35");
  CHECK(problem("{'shape': (2,), 'shape': (2,)}") ==
        "an unknown or repeated key \"shape\"\n  where: byte 26");
  CHECK(problem("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x") ==
        "something after its closing '}'\n  where: byte 66");
  CHECK(problem(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\0", 56)) ==
        "something after its closing '}'\n  where: byte 65");
  CHECK(problem("{'descr': '<f4") == "a string without an end\n  where: byte 20");
  CHECK(problem("{'shape': (2, -1)}") == "a negative size in its shape\n  where: byte 24");
  CHECK(problem("{'shape': (2, x)}") ==
        "no size in its shape where there must be one\n  where: byte 24");
  CHECK(problem("{'shape': (2,, )}") ==
        "no size in its shape where there must be one\n  where: byte 23");
  CHECK(problem("{'shape': (2)}") == "a shape in parentheses without a comma\n  where: byte 20");
  CHECK(problem("{'shape': 2}") == "no '(' where there must be one\n  where: byte 20");
  CHECK(problem("{'shape': (99999999999999999999,)}") ==
        "a size in its shape that no memory can hold\n  where: byte 21");
  CHECK(header_error("{'shape': (4294967296, 4294967296)}") ==
        "the shape [4294967296,4294967296] has more elements than memory can address\n"
        "  where: byte 20\n  help:  check the shape for a misplaced digit");
  CHECK(header_error("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}") ==
        std::string("the .npy file is cut off: the shape [1000000000000] of float32 takes "
                    "4000000000000 bytes, but there are 8\n  where: byte 85") +
            again);
}

TEST_CASE("written .npy files are NumPy's to the byte") {
  for (const char* name : {"bool", "bool_four_axes", "float32", "float64", "float64_scalar",
                           "float32_one_axis", "int64"}) {
    CAPTURE(name);
    CHECK(npy_bytes(parse_file(name)) == read_text(files + name + ".npy"));
  }
}

TEST_CASE("written .npy files read back bit for bit") {
  const std::vector<double> elements{
      0.1, -0.0, 5e-324, std::numeric_limits<double>::infinity(), -std::nan(""), 1e308};
  CHECK(tensor_is(parse(npy_bytes(Tensor({3, 1, 2}, elements))), {3, 1, 2}, elements));
  const Shape many(32, 1);
  CHECK(parse(npy_bytes(Tensor(many, std::vector<float>{1}))).shape() == many);
}

TEST_CASE("the elements of a written .npy file start at a multiple of 64 bytes") {
  for (std::size_t rank = 0; rank <= 32; ++rank) {
    CAPTURE(rank);
    CHECK(npy_header(Shape(rank, 1000), DType::float32).size() % 64 == 0);
  }
}

TEST_CASE("a tensor that is absent cannot be written") {
  CHECK(error_from([] { npy_bytes(Tensor()); }, ErrorKind::internal) ==
        "an absent tensor was written as .npy");
}
