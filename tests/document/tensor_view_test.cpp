#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/tensor_source.hpp"
#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor/operations.hpp"

namespace {

attn::Tensor seen(const std::string& members) {
  attn::TensorSource source("");
  return source.read(
      attn::parse_json(R"({"shape":[2,3,4],"data":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,)"
                       R"(19,20,21,22,23],)" +
                       members + "}"),
      attn::DType::float64, "/query");
}

std::vector<double> numbers(const attn::Tensor& tensor) {
  const auto values = tensor.values<double>();
  return {values.begin(), values.end()};
}

std::string refused_view(const std::string& members) {
  return error_from([&] { seen(members); }, std::nullopt);
}

}  // namespace

TEST_CASE("an index takes parts of the first axes") {
  const attn::Tensor part = seen(R"("index":[1])");
  CHECK(part.shape() == attn::Shape{3, 4});
  CHECK(part.values<double>()[0] == 12);
  const attn::Tensor row = seen(R"("index":[1,2])");
  CHECK(row.shape() == attn::Shape{4});
  CHECK(numbers(row) == std::vector<double>{20, 21, 22, 23});
}

TEST_CASE("another shape has the same elements, with one size left open") {
  const attn::Tensor flat = seen(R"("reshape":[4,-1])");
  CHECK(flat.shape() == attn::Shape{4, 6});
  CHECK(flat.values<double>()[6] == 6);
}

TEST_CASE("axes are swapped or put in any order") {
  const attn::Tensor swapped = seen(R"("transpose":true)");
  CHECK(swapped.shape() == attn::Shape{2, 4, 3});
  CHECK(swapped.values<double>()[1] == 4);
  CHECK(swapped.values<double>()[12] == 12);
  const attn::Tensor ordered = seen(R"("transpose":[2,0,1])");
  CHECK(ordered.shape() == attn::Shape{4, 2, 3});
  CHECK(ordered.values<double>()[1] == 4);
  CHECK(ordered.values<double>()[3] == 12);
  CHECK(seen(R"("transpose":false)").shape() == attn::Shape{2, 3, 4});
}

TEST_CASE("a layout brings the axes into the order samples, heads, positions, components") {
  // Position 1, head 2 of the only sample.
  const attn::Tensor ordered = seen(R"("layout":"LHD")");
  CHECK(ordered.shape() == attn::Shape{1, 3, 2, 4});
  CHECK(ordered.values<double>()[2 * 8 + 1 * 4] == 1 * 12 + 2 * 4);
  const attn::Tensor all = seen(R"("reshape":[1,2,3,4],"layout":"BLHD")");
  CHECK(all.shape() == attn::Shape{1, 3, 2, 4});
  CHECK(numbers(all) == numbers(ordered));
}

TEST_CASE("index, shape and order apply one after the other") {
  const attn::Tensor tensor = seen(R"("transpose":true,"reshape":[2,6],"index":[0])");
  CHECK(tensor.shape() == attn::Shape{6, 2});
  CHECK(numbers(tensor) == std::vector<double>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
}

TEST_CASE("a slice acts on the tensor as it lies, before another shape and order") {
  const attn::Tensor tensor = seen(R"("transpose":true,"reshape":[2,4],"slice":"1, -2:, :")");
  CHECK(tensor.shape() == attn::Shape{4, 2});
  CHECK(numbers(tensor) == std::vector<double>{16, 20, 17, 21, 18, 22, 19, 23});
}

TEST_CASE("a view takes its steps in the order given") {
  const attn::Tensor tensor =
      seen(R"("view":[{"reshape":[2,12]},{"slice":":, 3:5"},{"transpose":true},{"index":[1]}])");
  CHECK(numbers(tensor) == std::vector<double>{4, 16});
  CHECK(seen(R"("view":[{"layout":"LBD"},{"slice":"2"}])").shape() == attn::Shape{2, 4});
  CHECK(seen(R"("view":[])").shape() == attn::Shape{2, 3, 4});
}

TEST_CASE("tensors that are made are seen in another way too") {
  attn::TensorSource source("");
  const attn::Tensor tensor = source.read(
      attn::parse_json(R"({"arange":6,"shape":[2,3],"slice":":, 1:","transpose":true})"),
      attn::DType::float64, "/x");
  CHECK(numbers(tensor) == std::vector<double>{1, 4, 2, 5});
}

TEST_CASE("a wrong key of a tensor is told all that it may have") {
  attn::TensorSource source("");
  CHECK(error_from([&] {
          source.read(attn::parse_json(R"({"file":"a.npy","stride":2})"), attn::DType::float64,
                      "/x");
        }) ==
        "unknown key \"stride\"\n  where: /x/stride\n  help:  known: file, name, shape, dtype, "
        "index, slice, reshape, transpose, layout, view");
}

TEST_CASE("a view whose steps are not steps, or stand beside others, is refused") {
  CHECK(refused_view(R"("view":{"slice":"0"})") ==
        "expected a list of steps, found an object\n  where: /query/view\n  help:  write one step "
        "after the other, such as [{\"reshape\": […]}, {\"slice\": …}]");
  CHECK(refused_view(R"("view":[{"slice":"0"},{"slice":"0","transpose":true}])") ==
        "a step of a view has 2 members, not one\n  where: /query/view/1\n  help:  write one step "
        "after the other, such as [{\"reshape\": […]}, {\"slice\": …}]");
  CHECK(refused_view(R"("view":[{"view":[]}])") ==
        "unknown key \"view\"\n  where: /query/view/0/view\n  help:  known: index, slice, reshape, "
        "transpose, layout");
  CHECK(refused_view(R"("view":[{"slice":"0"},{"slice":"7"}])") ==
        "the slice takes part 7 of axis 0, which has 3\n  where: /query/view/1/slice\n  help:  "
        "give 0 to 2, or -1 for the last one");
  CHECK(refused_view(R"("view":[],"slice":"0")") ==
        "\"view\" and \"slice\" cannot both be given\n  where: /query/slice\n  help:  leave one "
        "of them out");
  CHECK(refused_view(R"("index":[0],"slice":"0")") ==
        "\"index\" and \"slice\" cannot both be given\n  where: /query/slice\n  help:  leave one "
        "of them out");
}

TEST_CASE("a tensor of a file is seen so, and a shape alone too") {
  const TemporaryFolder folder;
  folder.write("t.npy",
               attn::npy_bytes(attn::Tensor({2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6})));
  attn::TensorSource source(folder.path());
  const attn::Tensor swapped = source.read(attn::parse_json(R"({"file":"t.npy","transpose":true})"),
                                           attn::DType::float64, "/x");
  CHECK(numbers(swapped) == std::vector<double>{1, 4, 2, 5, 3, 6});

  attn::TensorView view;
  view.axes = attn::Shape{2, 0, 1};
  const attn::Tensor alone =
      attn::viewed(attn::shape_only({2, 3, 4}, attn::DType::int64), view, "/x");
  CHECK(attn::is_shape_only(alone));
  CHECK(alone.shape() == attn::Shape{4, 2, 3});
  CHECK(alone.dtype() == attn::DType::int64);
}

TEST_CASE("a view that changes nothing leaves the tensor as it is") {
  for (const char* const members :
       {R"("index":[])", R"("reshape":[2,3,4])", R"("transpose":[0,1,2])", R"("layout":"BHL")",
        R"("slice":"...")"}) {
    CAPTURE(members);
    const attn::Tensor tensor = seen(members);
    CHECK(tensor.shape() == attn::Shape{2, 3, 4});
    CHECK(tensor.values<double>()[23] == 23);
    CHECK(tensor.values<double>()[7] == 7);
  }
}

TEST_CASE("views of a wrong type are refused at their place") {
  CHECK(refused_view(R"("index":1)") ==
        "expected a list of whole numbers, found a number\n  where: /query/index\n"
        "  help:  write it in brackets, such as [3]");
  CHECK(refused_view(R"("reshape":"4,6")") ==
        "expected a list of whole numbers, found a string\n  where: /query/reshape\n"
        "  help:  write numbers in brackets, such as [2,24,8]");
  CHECK(refused_view(R"("transpose":{})") ==
        "expected a list of whole numbers, found an object\n  where: /query/transpose\n"
        "  help:  give one such as [0,2,1]");
  CHECK(refused_view(R"("index":[-1])") ==
        "expected a whole number of at least 0, found -1\n  where: /query/index/0\n"
        "  help:  give a whole number of at least 0");
  CHECK(refused_view(R"("transpose":[0,1.5,2])") ==
        "expected a whole number of at least 0, found 1.5\n  where: /query/transpose/1\n"
        "  help:  give a whole number of at least 0");
  CHECK(refused_view(R"("layout":["B","L","D"])") ==
        "expected a string, found an array\n  where: /query/layout\n"
        "  help:  write \"BLHD\"");
}

TEST_CASE("views that do not fit are refused") {
  CHECK(refused_view(R"("index":[2])") ==
        "there is no part 2 of an axis of 2\n  where: /query/index/0\n  help:  give 0 to 1");
  CHECK(refused_view(R"("index":[0,0,0])") ==
        "an index of 3 axes leaves nothing of [2,3,4]\n  where: /query/index\n"
        "  help:  give fewer numbers than the tensor has axes");
  CHECK(refused_view(R"("reshape":[5,-1])") ==
        "the 24 elements of [2,3,4] do not fill that shape\n  where: /query/reshape\n"
        "  help:  give sizes whose product is 24");
  CHECK(refused_view(R"("reshape":[-1,-1])") ==
        "a second size of -1\n  where: /query/reshape/1\n"
        "  help:  give sizes of at least 1, and -1 at most once, for what is left");
  CHECK(refused_view(R"("reshape":[9223372036854775807,9223372036854775807])") ==
        "the 24 elements of [2,3,4] do not fill that shape\n  where: /query/reshape\n"
        "  help:  give sizes whose product is 24");
  CHECK(refused_view(R"("transpose":[0,1])") ==
        "the axes [0,1] are not those of [2,3,4]\n  where: /query/transpose\n"
        "  help:  name each axis once, from 0 to 2");
  CHECK(
      refused_view(R"("layout":"BLHD")") ==
      "the layout \"BLHD\" has 4 axes, but the tensor [2,3,4] has 3\n  where: /query/layout\n"
      "  help:  give one letter for each axis; write \"reshape\": [2,3,1,4] in its place if it is "
      "[B,H,D], a token of each sample");
  CHECK(refused_view(R"("layout":"BXD")") ==
        "\"BXD\" is not a layout\n  where: /query/layout\n"
        "  help:  give the letters B (samples), H (heads), L (positions) and D (components) in the "
        "order of the axes, such as \"BLHD\"");
  CHECK(refused_view(R"("transpose":true,"layout":"BLD")") ==
        "\"transpose\" and \"layout\" cannot both be given\n  where: /query/layout\n"
        "  help:  leave one of them out");
}

TEST_CASE("sizes, axes and layouts that no tensor has are refused") {
  CHECK(refused_view(R"("reshape":[24,0])") ==
        "a size of 0\n  where: /query/reshape/1\n"
        "  help:  give sizes of at least 1, and -1 at most once, for what is left");
  CHECK(refused_view(R"("reshape":[24,-2])") ==
        "expected a whole number of at least -1, found -2\n  where: /query/reshape/1\n"
        "  help:  give a whole number of at least -1");
  CHECK(refused_view(R"("reshape":[9223372036854775807,4,-1])") ==
        "the 24 elements of [2,3,4] do not fill that shape\n  where: /query/reshape\n"
        "  help:  give sizes whose product is 24");
  CHECK(refused_view(R"("index":[0,0],"transpose":true)") ==
        "a tensor of one axis cannot be transposed\n  where: /query/transpose\n"
        "  help:  leave \"transpose\" out");
  CHECK(refused_view(R"("transpose":[0,1,1])") ==
        "the axes [0,1,1] are not those of [2,3,4]\n  where: /query/transpose\n"
        "  help:  name each axis once, from 0 to 2");
  for (const std::string layout : {"", "BLL"}) {
    CAPTURE(layout);
    CHECK(refused_view(R"("layout":")" + layout + R"(")") ==
          "\"" + layout +
              "\" is not a layout\n  where: /query/layout\n"
              "  help:  give the letters B (samples), H (heads), L (positions) and D (components) "
              "in the order of the axes, such as \"BLHD\"");
  }
  CHECK(refused_view(R"("transpose":[0,2,1],"layout":"BLD")") ==
        "\"transpose\" and \"layout\" cannot both be given\n  where: /query/layout\n"
        "  help:  leave one of them out");
}
