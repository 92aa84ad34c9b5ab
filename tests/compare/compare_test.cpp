#include "attn/compare.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "compare/compared_files.hpp"
#include "compare/compared_tensors.hpp"
#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor/operations.hpp"

namespace {

using attn::CompareRequest;
using attn::Comparison;
using attn::Shape;
using attn::Tensor;
using Outcome = attn::TensorComparison::Outcome;

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
Tensor row(std::vector<T> values) {
  Shape shape{values.size()};
  return Tensor(std::move(shape), std::move(values));
}

// Whether single numbers agree at the given tolerance.
bool agree(double a, double b, double rtol = 1e-5, double atol = 1e-6) {
  return attn::element_differences(row<double>({a}), row<double>({b}), {rtol, atol}, 1).beyond == 0;
}

Comparison compare(const TemporaryFolder& folder, const Tensor& a, const Tensor& b) {
  CompareRequest request;
  request.a = folder.write("a.npy", attn::npy_bytes(a));
  request.b = folder.write("b.npy", attn::npy_bytes(b));
  return attn::compare(request);
}

}  // namespace

TEST_CASE("the type that each file holds is told, whatever it is read as") {
  const TemporaryFolder folder;
  const Tensor numbers = row<float>({0.5F, -2.0F});
  const auto types = [&](const std::string& a, const std::string& b) {
    CompareRequest request;
    request.a = folder / a;
    request.b = folder / b;
    const Comparison comparison = attn::compare(request);
    CHECK(comparison.agree());
    return comparison.tensors.at(0).a.type + ", " + comparison.tensors.at(0).b.type;
  };
  const auto tensors = [&](attn::DType dtype) {
    return std::vector<attn::NamedTensor>{{"x", numbers.converted(dtype)}};
  };
  folder.write("bf16.safetensors", attn::safetensors_bytes(tensors(attn::DType::bfloat16)));
  folder.write("f16.safetensors", attn::safetensors_bytes(tensors(attn::DType::float16)));
  folder.write("f32.npz", attn::npz_bytes(tensors(attn::DType::float32)));
  folder.write("f16.npz", attn::npz_bytes(tensors(attn::DType::float16)));
  folder.write("f64.npy", attn::npy_bytes(numbers.converted(attn::DType::float64)));
  folder.write("bf16.json", R"({"format":1,"dtype":"bfloat16","tensors":{"x":[0.5,-2]}})");
  folder.write("wide.json", R"({"format":1,"dtype":"bfloat16","tensors":{"x":[0.5000001,-2]}})");
  folder.write("refers.json",
               R"({"format":1,"dtype":"bfloat16","tensors":
                   {"x":{"file":"bf16.safetensors","name":"x","dtype":"bfloat16"}}})");
  CHECK(types("bf16.safetensors", "f16.safetensors") == "bfloat16, float16");
  CHECK(types("f32.npz", "f16.npz") == "float32, float16");
  CHECK(types("f64.npy", "bf16.json") == "float64, bfloat16");
  // Weights beside a bias are float32 in a result of bfloat16.
  CHECK(types("wide.json", "refers.json") == "float32, bfloat16");
}

TEST_CASE("numbers agree within atol + rtol times the second one's size") {
  CHECK(agree(1, 1));
  CHECK(agree(100.0009, 100));
  CHECK_FALSE(agree(100.0011, 100));
  CHECK(agree(1e-6, 0));
  CHECK_FALSE(agree(2e-6, 0));
  CHECK_FALSE(agree(-1, 1));
  // The tolerance is that of b.
  CHECK(agree(1, 2, 0.5, 0));
  CHECK_FALSE(agree(2, 1, 0.5, 0));
  CHECK_FALSE(agree(1e308, -1e308));
}

TEST_CASE("NaN agrees with NaN, an infinity with itself alone") {
  CHECK(agree(NAN, NAN));
  CHECK(agree(infinity, infinity));
  CHECK(agree(-infinity, -infinity));
  CHECK_FALSE(agree(infinity, -infinity));
  CHECK_FALSE(agree(NAN, 1));
  CHECK_FALSE(agree(1, NAN));
  CHECK_FALSE(agree(1, infinity));
  CHECK_FALSE(agree(infinity, 1, 1, 1));
}

TEST_CASE("the largest errors, the first element beyond and their number are found") {
  const auto found = attn::element_differences(row<float>({1, 2, 4, 8, 0.5F}),
                                               row<float>({1, 2.5F, 4, 9, 0.25F}), {1e-5, 1e-6}, 1);
  CHECK(found.absolute.error == 1);
  CHECK(found.absolute.index == 3);
  CHECK(found.relative.error == 1);
  CHECK(found.relative.index == 4);
  CHECK(found.first_beyond == 1);
  CHECK(found.beyond == 3);
}

TEST_CASE("large tensors are compared in parts with the same outcome for any number of threads") {
  std::vector<double> numbers(3'000'000, 1);
  const Tensor a = row(numbers);
  numbers[1'500'000] = 3;
  numbers[2'999'999] = 3;
  const Tensor b = row(numbers);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    const auto found = attn::element_differences(a, b, {1e-5, 1e-6}, threads);
    CHECK(found.absolute.error == 2);
    CHECK(found.absolute.index == 1'500'000);
    CHECK(found.first_beyond == 1'500'000);
    CHECK(found.beyond == 2);
  }
}

TEST_CASE("integers are compared exactly, even those a double cannot tell apart") {
  const TemporaryFolder folder;
  constexpr std::int64_t large = std::int64_t{1} << 62;
  const Comparison differing =
      compare(folder, row<std::int64_t>({large, 100001}), row<std::int64_t>({large + 1, 100001}));
  CHECK_FALSE(differing.agree());
  CHECK(differing.tensors[0].exact);
  CHECK(differing.tensors[0].absolute.error == 1);
  CHECK(std::get<std::int64_t>(differing.tensors[0].first_beyond->b) == large + 1);
  // The distance of the farthest ones takes 64 bits.
  constexpr auto least = std::numeric_limits<std::int64_t>::min(),
                 most = std::numeric_limits<std::int64_t>::max();
  CHECK(compare(folder, row<std::int64_t>({least}), row<std::int64_t>({most}))
            .tensors[0]
            .absolute.error == 0x1p64);
  // A tolerance that is given counts for them too.
  CompareRequest request;
  request.a = folder / "a.npy";
  request.b = folder / "b.npy";
  request.atol = 0x1p64;
  CHECK(attn::compare(request).agree());
  CHECK(compare(folder, row<std::uint8_t>({1, 0}), row<std::uint8_t>({1, 0})).agree());
  CHECK_FALSE(compare(folder, row<std::uint8_t>({1, 0}), row<std::uint8_t>({1, 1})).agree());
}

TEST_CASE("tensors of different types are compared by their numbers") {
  const TemporaryFolder folder;
  CHECK(compare(folder, row<float>({1, 2}), row<std::int64_t>({1, 2})).agree());
  CHECK(compare(folder, row<double>({0.1}), row<float>({0.1F})).agree());
  CHECK_FALSE(compare(folder, row<std::uint8_t>({1}), row<double>({1.1})).agree());
}

TEST_CASE("a tensor missing on either side and one of another shape are differences") {
  const TemporaryFolder folder;
  const std::vector<attn::NamedTensor> in_a{
      {"same", row<float>({1})}, {"a", row<float>({1})}, {"shape", row<float>({1, 2})}};
  const std::vector<attn::NamedTensor> in_b{{"b", row<float>({1})},
                                            {"shape", Tensor({2, 1}, std::vector<float>{1, 2})},
                                            {"same", row<float>({1})}};
  CompareRequest request;
  request.a = folder.write("a.npz", attn::npz_bytes(in_a));
  request.b = folder.write("b.safetensors", attn::safetensors_bytes(in_b));
  const Comparison comparison = attn::compare(request);
  CHECK_FALSE(comparison.agree());
  REQUIRE(comparison.tensors.size() == 4);
  CHECK(comparison.tensors[0].outcome == Outcome::within);
  CHECK(comparison.tensors[1].outcome == Outcome::only_in_a);
  CHECK(comparison.tensors[2].outcome == Outcome::shapes_differ);
  CHECK(comparison.tensors[2].b.shape == Shape{2, 1});
  CHECK(comparison.tensors[3].name == "b");
  CHECK(comparison.tensors[3].outcome == Outcome::only_in_b);
}

TEST_CASE("an array without a name is compared with a single tensor of any name") {
  const TemporaryFolder folder;
  const std::vector<attn::NamedTensor> one{{"weights", row<float>({1})}};
  CompareRequest request;
  request.a = folder.write("a.npy", attn::npy_bytes(row<float>({1})));
  request.b = folder.write("b.npz", attn::npz_bytes(one));
  CHECK(attn::compare(request).agree());
  CHECK(attn::compare(request).tensors[0].name == "weights");
  std::swap(request.a, request.b);
  CHECK(attn::compare(request).agree());
  request.b = folder.write("b.json", "[1]");
  CHECK(attn::compare(request).agree());
  // Two names that differ are no such case, if the shapes differ too.
  const std::vector<attn::NamedTensor> other{{"output", row<float>({1, 2})}};
  request.b = folder.write("c.npz", attn::npz_bytes(other));
  CHECK(attn::compare(request).tensors.size() == 2);
}

TEST_CASE("files without a tensor are not equal but wrong") {
  const TemporaryFolder folder;
  CompareRequest request;
  request.a = request.b = folder.write("a.json", R"({"tensors":{}})");
  const std::string place = request.a.string() + ", " + request.a.string();
  CHECK_THROWS_WITH_AS(attn::compare(request),
                       ("neither file holds a tensor\n  where: " + place +
                        "\n  help:  name two results or files of tensors")
                           .c_str(),
                       attn::Error);
}

TEST_CASE("the picture shows the matrix with the largest error") {
  const TemporaryFolder folder;
  std::vector<float> numbers(2 * 2 * 3);
  const std::vector<attn::NamedTensor> before{{"lse", row<float>({1})},
                                              {"weights", Tensor({2, 2, 3}, numbers)}};
  numbers[8] = 1;  // of the second matrix
  const std::vector<attn::NamedTensor> after{{"lse", row<float>({9})},
                                             {"weights", Tensor({2, 2, 3}, numbers)}};
  CompareRequest request;
  request.a = folder.write("a.npz", attn::npz_bytes(before));
  request.b = folder.write("b.npz", attn::npz_bytes(after));
  request.picture = attn::PictureFormat::svg;
  const Comparison comparison = attn::compare(request);
  CHECK(comparison.pictured == "weights[1]");
  REQUIRE(comparison.picture);
  CHECK(comparison.picture->bytes.starts_with("<?xml"));
  CHECK(comparison.warnings.empty());
}

TEST_CASE("without a matrix in both files there is a warning in place of the picture") {
  const TemporaryFolder folder;
  CompareRequest request;
  request.a = folder.write("a.json", "[1,2]");
  request.b = folder.write("b.json", "[1,2]");
  request.picture = attn::PictureFormat::png;
  const Comparison comparison = attn::compare(request);
  CHECK(comparison.agree());
  CHECK_FALSE(comparison.picture);
  REQUIRE(comparison.warnings.size() == 1);
  CHECK(comparison.warnings[0] ==
        "there is no picture: the files have no matrix of one name and shape in common");
}

TEST_CASE("a difference names the samples, heads and queries that it is confined to") {
  const TemporaryFolder folder;
  const Tensor ours = numbered();
  std::vector<float> changed(ours.values<float>().begin(), ours.values<float>().end());
  for (const std::size_t head : {1U, 2U}) {
    for (std::size_t i = 0; i < 4; ++i) changed[24 + head * 6 + i] += 1;
  }
  const Comparison comparison =
      compare(folder, {{"output", ours}}, {{"output", Tensor(ours.shape(), std::move(changed))}});
  CHECK_FALSE(comparison.agree());
  const auto& confined = comparison.tensors.at(0).confined;
  REQUIRE(confined.size() == 3);
  CHECK(confined[0].axis == "sample");
  CHECK(confined[0].places == std::vector<std::size_t>{1});
  CHECK(confined[1].axis == "head");
  CHECK(confined[1].size == 4);
  CHECK(confined[1].places == std::vector<std::size_t>{1, 2});
  CHECK(confined[2].axis == "query");
  CHECK(confined[2].places == std::vector<std::size_t>{0, 1});
  CHECK(attn::comparison_text(comparison)
            .find("\n    only in sample 1 of 2, heads 1–2 of 4, queries 0–1 of 3\n") !=
        std::string::npos);
  CHECK(attn::comparison_json(comparison).find(R"("confined_to": [)") != std::string::npos);
}

TEST_CASE("rows that one of both alone has are told the flag that leaves them out") {
  const TemporaryFolder folder;
  const Comparison found = compare(folder, {{"output", Tensor({1, 3, 1}, {1.0, 2.0, 3.0})}},
                                   {{"output", Tensor({1, 2, 1}, {1.0, 2.0})}});
  CHECK(attn::comparison_text(found).find("  output: the shapes are [1,3,1] and [1,2,1]; "
                                          "CompareRequest::overlap compares the part that both "
                                          "have\n") != std::string::npos);
}

TEST_CASE("a permutation of axes that would agree is told with the layout to write") {
  const TemporaryFolder folder;
  const Tensor ours = numbered(), theirs = attn::permuted(ours, {0, 2, 1, 3});
  const Comparison found = compare(folder, {{"output", theirs}}, {{"output", ours}});
  CHECK(found.tensors.at(0).outcome == Outcome::shapes_differ);
  CHECK(found.tensors.at(0).agreeing_order == Shape{0, 2, 1, 3});
  CHECK(attn::comparison_text(found).find("  output: the shapes are [2,3,4,2] and [2,4,3,2]\n"
                                          "    with its axes in the order [0,2,1,3] the first one "
                                          "agrees: CompareRequest::layout BLHD\n") !=
        std::string::npos);
  CompareRequest request;
  request.layout = "BLHD";
  CHECK(compare(folder, {{"output", theirs}}, {{"output", ours}}, request).agree());
  request.layout.swap(request.layout_b);
  CHECK(compare(folder, {{"output", ours}}, {{"output", theirs}}, request).agree());
  // Queries and keys of equal numbers, exchanged.
  const Tensor square({1, 2, 2}, std::vector<float>{1, 2, 3, 4});
  const Comparison turned =
      compare(folder, {{"weights", attn::permuted(square, {0, 2, 1})}}, {{"weights", square}});
  CHECK(turned.tensors.at(0).agreeing_order == Shape{0, 2, 1});
}

TEST_CASE("heads that are joined in one file and a factor of all elements are told") {
  const TemporaryFolder folder;
  const Tensor split = numbered();  // [B,H,L,D] = [2,4,3,2]
  const Tensor joined = attn::permuted(split, {0, 2, 1, 3}).reshaped({2, 3, 8});
  for (const bool first : {true, false}) {
    const Comparison found =
        compare(folder, {{"output", first ? split : joined}}, {{"output", first ? joined : split}});
    CHECK(found.tensors.at(0).agrees_joined);
    CHECK(attn::comparison_text(found).find(
              "\n    with the heads of [2,4,3,2] joined both agree: in NumPy x.swapaxes(1, "
              "2).reshape(2, 3, 8)\n") != std::string::npos);
  }
  CHECK_FALSE(compare(folder, {{"output", split}}, {{"output", split.reshaped({2, 3, 8})}})
                  .tensors.at(0)
                  .agrees_joined);
  const Tensor one({2, 2}, std::vector<double>{1, -2, 3, 0.5});
  const Tensor half({2, 2}, std::vector<double>{0.5, -1, 1.5, 0.25});
  const Comparison scaled = compare(folder, {{"output", one}}, {{"output", half}});
  CHECK(scaled.tensors.at(0).agreeing_factor == doctest::Approx(2));
  CHECK(
      attn::comparison_text(scaled).find(
          "\n    the first one is 2 times the second: look for a scale that one of them lacks\n") !=
      std::string::npos);
  CHECK(attn::comparison_json(scaled).find("\"agreeing_factor\": 2") != std::string::npos);
  const Tensor other({2, 2}, std::vector<double>{0.5, -1, 1.5, 0.26});
  CHECK_FALSE(
      compare(folder, {{"output", one}}, {{"output", other}}).tensors.at(0).agreeing_factor);
}

TEST_CASE("a missing scale, division or row of keys shows in the numbers and is told") {
  const TemporaryFolder folder;
  const auto text_of = [&](const std::string& name, const Tensor& a, const Tensor& b) {
    return attn::comparison_text(compare(folder, {{name, a}}, {{name, b}}));
  };
  // Rows of an output, each times a number of its own.
  const Tensor right({1, 3, 3}, std::vector<double>{1, 2, 3, 4, 5, 7, -1, 0, 2});
  const Tensor undivided({1, 3, 3}, std::vector<double>{2, 4, 6, 12, 15, 21, -5, 0, 10});
  const std::string lacks =
      "\n    each row of the first one is a multiple of that of the second: one of both may lack "
      "the division by the sum of the exponentials\n";
  CHECK(text_of("output", undivided, right).find(lacks) != std::string::npos);
  const Tensor other({1, 3, 3}, std::vector<double>{2, 4, 6, 12, 15, 21, -5, 0, 11});
  CHECK(text_of("output", other, right).find(lacks) == std::string::npos);
  // Log-sum-exps [B,H,L] of three heads: the first query sees one key.
  const Tensor lse({1, 3, 2}, std::vector<double>{0.5, 1, -0.25, 2, 0.75, 3});
  const Tensor scaled({1, 3, 2}, std::vector<double>{2, 1.5, -1, 4, 3, 4});
  CHECK(text_of("lse", scaled, lse)
            .find("\n    where a query sees one key alone the first one is 4 times the second: the "
                  "scores of one of both may lack the scale, or have another\n") !=
        std::string::npos);
  const double nan = std::nan("");
  const Tensor empty_rows({1, 3, 3}, std::vector<double>{1, 2, 3, nan, nan, nan, -1, 0, 2});
  const Tensor zeros({1, 3, 3}, std::vector<double>{1, 2, 3, 0, 0, 0, -1, 0, 2});
  CHECK(text_of("output", empty_rows, zeros)
            .find("\n    what differs is NaN in one file and 0 in the other, as rows of queries "
                  "that see no key: CompareRequest::seen_only leaves them out\n") !=
        std::string::npos);
  CHECK(text_of("lse", Tensor({1, 3, 2, 1}, std::vector<double>(6, 1)), lse)
            .find("the shapes are [1,3,2,1] and [1,3,2]; they differ by axes of one element alone: "
                  "compare them with MapRequest::reshape 1,3,2,1 CompareRequest::only lse") !=
        std::string::npos);
  CHECK(attn::comparison_json(compare(folder, {{"output", undivided}}, {{"output", right}}))
            .find("\"causes\": [\n") != std::string::npos);
}

TEST_CASE("heads, samples or queries in another order are told as the cause") {
  const TemporaryFolder folder;
  const Tensor right = numbered();  // [B,H,L,D] = [2,4,3,2]
  const auto with_heads = [&](const std::vector<std::size_t>& order) {
    std::vector<float> numbers;
    for (std::size_t b = 0; b < 2; ++b) {
      for (const std::size_t head : order) {
        const auto from = right.values<float>().subspan((b * 4 + head) * 6, 6);
        numbers.insert(numbers.end(), from.begin(), from.end());
      }
    }
    return Tensor(right.shape(), std::move(numbers));
  };
  // Heads of groups side by side, as repeat_interleave has them, where the other file repeats.
  const Comparison groups =
      compare(folder, {{"output", with_heads({0, 2, 1, 3})}}, {{"output", right}});
  CHECK(attn::comparison_text(groups).find("\n    with its heads in the order [0,2,1,3] the first "
                                           "one agrees\n") != std::string::npos);
  CHECK(attn::comparison_json(groups).find("\"places\": [0,2,1,3]") != std::string::npos);
  const Comparison once =
      compare(folder, {{"output", with_heads({1, 1, 2, 3})}}, {{"output", right}});
  CHECK_FALSE(once.tensors.at(0).moved);
}

TEST_CASE("options that change nothing of what is compared are told, or refused") {
  const TemporaryFolder folder;
  const Tensor ours = numbered();
  const auto warnings = [&](const CompareRequest& request) {
    return compare(folder, {{"output", ours}}, {{"output", ours}}, request).warnings;
  };
  CompareRequest overlap, seen, axes;
  overlap.overlap = true;
  CHECK(warnings(overlap) ==
        std::vector<std::string>{"CompareRequest::overlap has no effect: the tensors have the same "
                                 "shapes in both files"});
  seen.seen_only = true;
  CHECK(warnings(seen) ==
        std::vector<std::string>{
            "CompareRequest::seen_only has no effect: neither \"allowed\" nor \"lse\" nor "
            "\"weights\" beside a tensor says that a query has no keys; a run with "
            "RunOptions::stages RunOptions::only output,lse,allowed writes what does"});
  axes.maps.axes = {attn::MapAxis::query, attn::MapAxis::key};
  CHECK(warnings(axes) == std::vector<std::string>{"MapRequest::axes has no effect: no tensor that "
                                                   "is compared has 2 axes"});
  CHECK(warnings({}).empty());
  CompareRequest queries;
  queries.maps.selection.queries = attn::PositionRange{0, 2};
  CHECK_THROWS_WITH_AS(
      warnings(queries),
      "MapSelection::queries chooses among queries and keys, and no tensor that is compared is a "
      "map "
      "of these\n  where: MapSelection::queries\n"
      "  help:  leave it out, or name maps with CompareRequest::only, such as weights",
      attn::Error);
}

TEST_CASE("a layout that is none, or that fits no tensor, is refused") {
  const TemporaryFolder folder;
  CompareRequest request;
  request.layout = "BLXD";
  CHECK(error_from([&] {
          compare(folder, {{"x", numbered()}}, {{"x", numbered()}}, request);
        }) ==
        "\"BLXD\" is not a layout\n"
        "  where: CompareRequest::layout\n"
        "  help:  give the letters B (samples), H (heads), L (positions) and D (components) in the "
        "order of the axes, such as \"BLHD\"");
  request.layout = "LBD";
  CHECK(error_from([&] {
          compare(folder, {{"x", numbered()}}, {{"x", numbered()}}, request);
        }) ==
        "no tensor that is compared has the 3 axes of the layout \"LBD\"\n"
        "  where: CompareRequest::layout\n"
        "  help:  give one letter for each axis");
}

TEST_CASE("tensors of other names go together where each file has their shape once") {
  const TemporaryFolder folder;
  const Tensor output = numbered(), sums({2, 4, 3}, std::vector<float>(24, 1.0F));
  const Comparison comparison = compare(folder, {{"out", output}, {"sums", sums}, {"again", sums}},
                                        {{"output", output}, {"lse", sums}});
  REQUIRE(comparison.tensors.size() == 4);
  CHECK(comparison.tensors[0].name == "out");
  CHECK(comparison.tensors[0].outcome == Outcome::within);
  CHECK(comparison.tensors[1].outcome == Outcome::only_in_a);
  CHECK(comparison.warnings ==
        std::vector<std::string>{
            "no name is in both files: \"out\" is compared with \"output\", which alone has its "
            "shape [2,4,3,2]; say so with CompareRequest::renamed out=output"});
  // One name in common is a sign that names are meant.
  const Comparison named =
      compare(folder, {{"out", output}, {"lse", sums}}, {{"output", output}, {"lse", sums}});
  CHECK(named.tensors[0].outcome == Outcome::only_in_a);
  CHECK(named.warnings.size() == 1);
}

TEST_CASE("rows of queries that see no key in either file are left out on request") {
  const TemporaryFolder folder;
  // One sample, two heads, two queries, of which the last sees no key.
  const Tensor output({1, 2, 2, 1}, std::vector<float>{1, 2, 3, 4}),
      cut({1, 2, 2, 1}, std::vector<float>{1, 0, 3, 0}),
      together({1, 2, 1}, std::vector<float>{1, 2}),
      cut_together({1, 2, 1}, std::vector<float>{1, 0}),
      allowed({1, 1, 2, 1}, std::vector<std::uint8_t>{1, 0}),
      sums({1, 2, 2}, std::vector<float>{1, -std::numeric_limits<float>::infinity(), 1,
                                         -std::numeric_limits<float>::infinity()});
  CompareRequest request;
  request.seen_only = true;
  for (const auto& [name, tells] :
       {std::pair<std::string, Tensor>{"allowed", allowed}, {"lse", sums}, {"weights", cut}}) {
    const auto& shown = name;  // clang 14 captures no structured binding
    CAPTURE(shown);
    const std::vector<attn::NamedTensor> ours{{"output", cut}, {name, tells}, {"y", cut_together}};
    const std::vector<attn::NamedTensor> theirs{{"output", output}, {"y", together}};
    CHECK_FALSE(compare(folder, ours, theirs).agree());
    const Comparison comparison = compare(folder, ours, theirs, request);
    CHECK(comparison.agree());
    CHECK(comparison.tensors.at(0).rows_left_out == 2);
    CHECK(comparison.tensors.at(0).elements == 2);
    CHECK(compare(folder, theirs, ours, request).agree());
  }
}

TEST_CASE("names go together without the folders that one file has in them") {
  const TemporaryFolder folder;
  const Tensor output = numbered(), sums({2, 4, 3}, std::vector<float>(24, 1.0F));
  const Comparison comparison =
      compare(folder, {{"reference/output", output}, {"a/lse", sums}, {"b/lse", sums}},
              {{"output", output}, {"lse", sums}});
  REQUIRE(comparison.tensors.size() == 4);
  CHECK(comparison.tensors[0].name == "output");
  CHECK(comparison.tensors[0].outcome == Outcome::within);
  // Two tensors of that name are none that could be meant.
  CHECK(comparison.tensors[1].outcome == Outcome::only_in_a);
}

TEST_CASE("columns by which one of both is filled up are told how to be left out") {
  const TemporaryFolder folder;
  const auto columns = [](std::size_t width) {
    return std::vector<attn::NamedTensor>{
        {"output", Tensor({2, width}, std::vector<float>(2 * width, 1))}};
  };
  CHECK(attn::comparison_text(compare(folder, columns(4), columns(2)))
            .find("  output: the shapes are [2,4] and [2,2]; if the columns after the first 2 are "
                  "filling, leave them out with MapRequest::slice \"..., :2\"\n") !=
        std::string::npos);
  // The slice would leave out columns of the other tensor too, and not compare them.
  const auto beside = [&](std::size_t width) {
    std::vector<attn::NamedTensor> both = columns(width);
    both.push_back({"lse", numbered()});
    return both;
  };
  CHECK(attn::comparison_text(compare(folder, beside(4), beside(2)))
            .find("leave them out with MapRequest::slice \"..., :2\" CompareRequest::only "
                  "output\n") != std::string::npos);
}

TEST_CASE("the type whose tolerances would do is told where none are given but another type's") {
  const TemporaryFolder folder;
  const Tensor numbers = numbered();
  const std::vector<attn::NamedTensor> rounded{{"x", numbers.converted(attn::DType::float16)}};
  const Comparison comparison = compare(folder, rounded, {{"x", numbers}});
  CHECK_FALSE(comparison.agree());
  CHECK(comparison.tensors.at(0).agreeing_type == "float16");
  CHECK(attn::comparison_text(comparison)
            .find("it is within the tolerances of float16: CompareRequest::rtol 0.001 "
                  "CompareRequest::atol 1e-5\n") != std::string::npos);
  CompareRequest request;
  request.rtol = 1.3e-6;
  request.atol = 1e-5;
  CHECK(compare(folder, rounded, {{"x", numbers}}, request).tensors.at(0).agreeing_type ==
        "float16");
  request = {};
  request.rtol = 0;
  CHECK(compare(folder, rounded, {{"x", numbers}}, request).tensors.at(0).agreeing_type.empty());
}
