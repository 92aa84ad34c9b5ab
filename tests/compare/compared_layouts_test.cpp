#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/compare.hpp"
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

}  // namespace

TEST_CASE("log-sum-exps keep their axes when sizes are given and heads are looked for") {
  const TemporaryFolder folder;
  const Tensor sums({8, 16}, std::vector<float>(128, 1.5F));
  CompareRequest request;
  request.maps.reshape = Shape{1, 8, 16};
  for (const std::string name : {"lse", "layers.0.self.lse"}) {
    const Comparison comparison = compare(folder, {{name, sums}}, {{name, sums}}, request);
    CHECK(comparison.agree());
    CHECK(comparison.tensors.at(0).compared == Shape{1, 8, 16});
  }
}

TEST_CASE("log-sum-exps are read in the layout of the outputs beside them") {
  const TemporaryFolder folder;
  const Tensor output = numbered(), one = attn::leading_part(output, {1, 4, 3, 2});
  const Tensor sums = attn::leading_part(output, {2, 4, 3, 1}).reshaped({2, 4, 3});
  const Tensor of_one = attn::leading_part(sums, {1, 4, 3});
  const auto agrees = [&](const std::vector<attn::NamedTensor>& theirs,
                          const std::vector<attn::NamedTensor>& ours, const std::string& layout) {
    CompareRequest request;
    request.layout = layout;
    const bool first = compare(folder, theirs, ours, request).agree();
    request.layout.swap(request.layout_b);
    CHECK(compare(folder, ours, theirs, request).agree() == first);
    return first;
  };
  const auto turned = [](const Tensor& tensor) { return attn::permuted(tensor, {0, 2, 1}); };
  const std::vector<attn::NamedTensor> both{{"output", output}, {"lse", sums}},
      packed{{"output", one}, {"lse", of_one}};
  const Tensor blhd = attn::permuted(output, {0, 2, 1, 3});
  CHECK(agrees({{"output", blhd}, {"lse", sums}}, both, "BLHD"));
  CHECK(agrees({{"output", blhd}, {"lse", turned(sums)}}, both, "BLHD"));
  CHECK(agrees({{"lse", turned(sums)}}, {{"lse", sums}}, "BLHD"));
  CHECK(agrees({{"output", output}, {"lse", turned(sums)}}, both, "BLH"));
  const Tensor lhd = attn::permuted(one, {0, 2, 1, 3}).reshaped({3, 4, 2});
  CHECK(agrees({{"output", lhd}, {"lse", of_one.reshaped({4, 3})}}, packed, "LHD"));
  CHECK(agrees({{"output", lhd}, {"lse", turned(of_one).reshaped({3, 4})}}, packed, "LHD"));
}

TEST_CASE("a layout that is told as the cause of a difference mends it") {
  const TemporaryFolder folder;
  const Tensor output = attn::leading_part(numbered(), {1, 4, 3, 2});
  const Tensor sums = attn::leading_part(output, {1, 4, 3, 1}).reshaped({1, 4, 3});
  const Tensor lhd = attn::permuted(output, {0, 2, 1, 3}).reshaped({3, 4, 2});
  const Tensor turned = attn::permuted(sums, {0, 2, 1});
  const std::vector<attn::NamedTensor> ours{{"output", output}, {"lse", sums}};
  const auto told = [&](const std::string& name, const Tensor& theirs, const std::string& layout) {
    const Tensor& whole = name == "lse" ? sums : output;
    const Comparison first = compare(folder, {{name, theirs}}, {{name, whole}});
    CHECK(attn::comparison_text(first).find("the first one agrees: CompareRequest::layout " +
                                            layout + "\n") != std::string::npos);
    CHECK_FALSE(first.tensors.at(0).agrees_joined);
    CompareRequest request;
    request.layout = layout;
    CHECK(compare(folder, {{name, theirs}}, {{name, whole}}, request).agree());
    if (theirs.rank() == whole.rank()) return;
    const Comparison second = compare(folder, {{name, whole}}, {{name, theirs}});
    CHECK(second.tensors.at(0).layout_of_b == layout);
    CHECK(attn::comparison_text(second).find("in the layout " + layout +
                                             " the second one agrees: CompareRequest::layout_b " +
                                             layout + "\n") != std::string::npos);
  };
  told("output", lhd, "LHD");
  told("output", output.reshaped({4, 3, 2}), "HLD");
  told("lse", sums.reshaped({4, 3}), "LHD");
  told("lse", turned.reshaped({3, 4}), "LH");
  told("lse", turned, "BLH");
}

TEST_CASE("log-sum-exps in base 2 are told, beside rows without keys too") {
  const TemporaryFolder folder;
  constexpr double none = -std::numeric_limits<double>::infinity(), log2e = std::numbers::log2e;
  const Tensor natural({1, 1, 4}, std::vector<double>{1, 2, -3, none});
  const Tensor binary({1, 1, 4}, std::vector<double>{log2e, 2 * log2e, -3 * log2e, none});
  const auto text = [&](const Tensor& a, const Tensor& b) {
    return attn::comparison_text(compare(folder, {{"lse", a}}, {{"lse", b}}));
  };
  CHECK(text(binary, natural)
            .find("\n    the first one is 1.4427 times the second, and 1 / ln 2 is 1.4427: the "
                  "first one is in base 2, so multiply it by ln 2\n") != std::string::npos);
  CHECK(text(natural, binary)
            .find("\n    the first one is 0.693147 times the second, and ln 2 is 0.693147: the "
                  "second one is in base 2, so multiply it by ln 2\n") != std::string::npos);
}

TEST_CASE("gradients of queries without keys are left out, those of keys are not") {
  const TemporaryFolder folder;
  const Tensor zeros({1, 1, 2, 1}, std::vector<float>{1, 0}),
      numbers({1, 1, 2, 1}, std::vector<float>{1, 7}),
      allowed({1, 1, 2, 2}, std::vector<std::uint8_t>{1, 1, 0, 0});
  CompareRequest request;
  request.seen_only = true;
  const auto agree = [&](const std::string& name) {
    return compare(folder, {{name, numbers}}, {{name, zeros}, {"allowed", allowed}}, request)
        .agree();
  };
  CHECK(agree("gradient.query"));
  CHECK_FALSE(agree("gradient.key"));
  CHECK_FALSE(agree("value"));
}

TEST_CASE("gradients by a kernel's names are told all at once") {
  const TemporaryFolder folder;
  const Tensor states = numbered(), queries({2, 1}, std::vector<float>{1, 2});
  CHECK(compare(folder, {{"dq", queries}, {"dk", states}, {"dv", states}, {"output", states}},
                {{"gradient.query", queries},
                 {"gradient.key", states},
                 {"gradient.value", states},
                 {"output", states}})
            .warnings ==
        std::vector<std::string>{
            "\"dq\", \"dk\", \"dv\" and \"gradient.query\", \"gradient.key\", "
            "\"gradient.value\" are not compared, as their names differ; CompareRequest::renamed "
            "dq=gradient.query CompareRequest::renamed dk=gradient.key CompareRequest::renamed "
            "dv=gradient.value compares them"});
}

TEST_CASE("tensors that only their names keep apart, and stacks, are told") {
  const TemporaryFolder folder;
  const Tensor output = numbered(), zeros(Shape{2, 4, 3, 2}, std::vector<float>(48, 0.0F)),
               sums({2, 4, 3}, std::vector<float>(24, 1.0F));
  CHECK(compare(folder, {{"out", zeros}, {"lse", sums}}, {{"output", output}, {"lse", sums}})
            .warnings ==
        std::vector<std::string>{
            "\"out\" and \"output\", which alone have the shape [2,4,3,2], are not compared, as "
            "their names differ; CompareRequest::renamed out=output compares them"});
  // Results that hold other tensors of one shape.
  CHECK(compare(folder, {{"scores", zeros}, {"lse", sums}}, {{"weights", output}, {"lse", sums}})
            .warnings.empty());
  const Tensor layer({4, 3, 2}, std::vector<float>(24, 1.0F));
  CHECK(compare(folder, {{"w", output}, {"lse", sums}},
                {{"attn0", layer}, {"attn1", layer}, {"lse", sums}})
            .warnings ==
        std::vector<std::string>{
            "\"w\" [2,4,3,2] may be a stack of the 2 tensors \"attn0\" to \"attn1\" of the other "
            "file: make one of these too, in NumPy numpy.stack([…])"});
}

TEST_CASE("a place of a number in one of two names is refused") {
  const TemporaryFolder folder;
  CompareRequest request;
  request.renamed = {{"w", "{n}"}};
  CHECK(error_from(
            [&] {
              compare(folder, {{"w", numbered()}}, {{"w", numbered()}}, request);
            },
            attn::ErrorKind::usage) ==
        "of \"w={n}\" only \"{n}\" has {n}\n"
        "  where: CompareRequest::renamed\n"
        "  help:  write it in both names, such as layer{n}=attn{n}, or in none");
}
