#include "attention/geometry.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "error_from.hpp"

namespace {

using attn::AttentionRequest;
using attn::check_geometry;
using attn::Geometry;
using attn::Shape;
using attn::Tensor;
using attn::testing::compare_by;
using attn::testing::sequences;

Tensor zeros(Shape shape) {
  std::size_t count = 1;
  for (const std::size_t size : shape) count *= size;
  return {std::move(shape), std::vector<float>(count)};
}

AttentionRequest request(Shape query, Shape key = {}, Shape value = {}) {
  AttentionRequest result;
  sequences(result).query = zeros(std::move(query));
  if (!key.empty()) sequences(result).key = zeros(std::move(key));
  if (!value.empty()) sequences(result).value = zeros(std::move(value));
  return result;
}

AttentionRequest given_scores(Shape scores, Shape value = {}) {
  AttentionRequest result;
  result.score =
      attn::GivenScores{zeros(std::move(scores)), value.empty() ? Tensor() : zeros(value)};
  return result;
}

std::string error_of(const AttentionRequest& wrong) {
  return error_from([&] { check_geometry(wrong); });
}

void check_shapes(const AttentionRequest& right, const Shape& weights, const Shape& output) {
  const Geometry geometry = check_geometry(right);
  CHECK(geometry.weights_shape() == weights);
  CHECK(geometry.output_shape() == output);
}

TEST_CASE("weights and output have the leading axes of the inputs") {
  check_shapes(request({3, 4}, {5, 4}, {5, 2}), {3, 5}, {3, 2});
  check_shapes(request({2, 3, 4}, {2, 5, 4}, {2, 5, 6}), {2, 3, 5}, {2, 3, 6});
  check_shapes(request({2, 6, 3, 4}, {2, 6, 5, 4}, {2, 6, 5, 1}), {2, 6, 3, 5}, {2, 6, 3, 1});
}

TEST_CASE("the key is the query and the value the key where they are absent") {
  check_shapes(request({2, 3, 4}), {2, 3, 3}, {2, 3, 4});
  check_shapes(request({2, 3, 4}, {2, 5, 4}), {2, 3, 5}, {2, 3, 4});
}

TEST_CASE("a batch axis of 1 is repeated, whichever tensor has it") {
  check_shapes(request({1, 3, 4}, {7, 5, 4}, {7, 5, 2}), {7, 3, 5}, {7, 3, 2});
  check_shapes(request({7, 3, 4}, {1, 5, 4}, {1, 5, 2}), {7, 3, 5}, {7, 3, 2});
  check_shapes(request({1, 3, 4}, {1, 5, 4}, {7, 5, 2}), {7, 3, 5}, {7, 3, 2});
  check_shapes(request({1, 3, 4}, {7, 5, 4}, {1, 5, 2}), {7, 3, 5}, {7, 3, 2});
  AttentionRequest past = request({7, 3, 4}, {1, 5, 4}, {7, 5, 2});
  sequences(past).past_key = zeros({7, 2, 4});
  sequences(past).past_value = zeros({1, 2, 2});
  check_shapes(past, {7, 3, 7}, {7, 3, 2});
  check_shapes(given_scores({1, 3, 5}, {7, 5, 2}), {7, 3, 5}, {7, 3, 2});
}

TEST_CASE("an axis of 1 in the results comes from inputs that have one") {
  check_shapes(request({1, 3, 4}), {1, 3, 3}, {1, 3, 4});
  check_shapes(request({1, 1, 3, 4}), {1, 1, 3, 3}, {1, 1, 3, 4});
}

TEST_CASE("heads split the last axis, and the output is joined again") {
  AttentionRequest batched = request({2, 3, 12}, {2, 5, 12}, {2, 5, 6});
  sequences(batched).heads = 3;
  check_shapes(batched, {2, 3, 3, 5}, {2, 3, 6});
  CHECK(check_geometry(batched).query_width == 4);
  CHECK(check_geometry(batched).value_width == 2);
  AttentionRequest single = request({3, 12});
  sequences(single).heads = 1;
  check_shapes(single, {1, 3, 3}, {3, 12});
  AttentionRequest grouped = request({2, 3, 12}, {2, 5, 6}, {2, 5, 4});
  sequences(grouped).heads = 4;
  sequences(grouped).kv_heads = 2;
  check_shapes(grouped, {2, 4, 3, 5}, {2, 3, 8});
}

TEST_CASE("a tensor of 4 axes brings its own heads, which the options may repeat") {
  AttentionRequest grouped = request({2, 6, 3, 4}, {2, 2, 5, 4});
  check_shapes(grouped, {2, 6, 3, 5}, {2, 6, 3, 4});
  CHECK(check_geometry(grouped).kv_heads == 2);
  sequences(grouped).heads = 6;
  sequences(grouped).kv_heads = 2;
  check_shapes(grouped, {2, 6, 3, 5}, {2, 6, 3, 4});
}

TEST_CASE("past keys are counted among the keys") {
  AttentionRequest past = request({2, 3, 4}, {2, 3, 4}, {2, 3, 5});
  sequences(past).past_key = zeros({2, 6, 4});
  sequences(past).past_value = zeros({2, 6, 5});
  check_shapes(past, {2, 3, 9}, {2, 3, 5});
  CHECK(check_geometry(past).past == 6);
}

TEST_CASE("given scores need no value") {
  check_shapes(given_scores({2, 4, 3, 5}), {2, 4, 3, 5}, {2, 4, 3, 0});
  check_shapes(given_scores({2, 4, 3, 5}, {2, 2, 5, 6}), {2, 4, 3, 5}, {2, 4, 3, 6});
  check_shapes(given_scores({3, 5}, {5, 6}), {3, 5}, {3, 6});
}

TEST_CASE("a missing query or score is named with the shapes it may have") {
  CHECK(error_of({}) ==
        "there is no query\n  where: /query\n"
        "  help:  give \"query\" of shape [L,D], [B,L,D] or [B,H,L,D]");
  AttentionRequest softmax;
  softmax.score = attn::GivenScores{};
  CHECK(error_of(softmax) ==
        "softmax attention has no scores\n  where: /scores\n"
        "  help:  give \"scores\" of shape [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]");
}

TEST_CASE("too few or too many axes are counted") {
  CHECK(error_of(request({4})) ==
        "query [4] has 1 axis\n  where: /query\n"
        "  help:  give it 2 to 4 axes: [L,D], [B,L,D] or [B,H,L,D]");
  CHECK(error_of(request({3, 4}, {1, 1, 1, 3, 4})) ==
        "key [1,1,1,3,4] has 5 axes\n  where: /key\n"
        "  help:  give it 2 to 4 axes: [L,D], [B,L,D] or [B,H,L,D]");
  AttentionRequest number = request({3, 4});
  sequences(number).value = Tensor({}, std::vector<float>{1});
  CHECK(error_of(number) ==
        "value [] has 0 axes\n  where: /value\n"
        "  help:  give it 2 to 4 axes: [L,D], [B,L,D] or [B,H,L,D]");
  AttentionRequest flat = request({3, 4});
  sequences(flat).value = Tensor({3}, std::vector<float>{1, 2, 3});
  CHECK(error_of(flat) ==
        "value [3] has 1 axis\n  where: /value\n"
        "  help:  give it 2 to 4 axes: [L,D], [B,L,D] or [B,H,L,D]; one number for each key is "
        "written [[1],[2],[3]]");
  CHECK(error_of(given_scores({5})) ==
        "scores [5] has 1 axis\n  where: /scores\n"
        "  help:  give it 2 to 4 axes: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]");
}

TEST_CASE("an axis of size 0 is an error in every tensor") {
  const std::string rest = "\n  help:  give every axis at least one element";
  CHECK(error_of(request({0, 4})) == "query [0,4] has an axis of size 0\n  where: /query" + rest);
  CHECK(error_of(request({3, 4}, {2, 0})) ==
        "key [2,0] has an axis of size 0\n  where: /key" + rest);
  CHECK(error_of(request({3, 4}, {2, 4}, {2, 0})) ==
        "value [2,0] has an axis of size 0\n  where: /value" + rest);
  CHECK(error_of(request({3, 4}, {0, 4})) ==
        "key [0,4] has an axis of size 0\n  where: /key\n"
        "  help:  give at least one key: without any there are no weights to show, and PyTorch's "
        "output is zeros");
  CHECK(error_of(given_scores({3, 0})) ==
        "scores [3,0] has an axis of size 0\n  where: /scores" + rest);
  AttentionRequest past = request({3, 4});
  sequences(past).past_key = zeros({0, 4});
  sequences(past).past_value = zeros({0, 4});
  CHECK(error_of(past) == "past_key [0,4] has an axis of size 0\n  where: /past_key" + rest);
}

TEST_CASE("tensors with different numbers of axes do not mix") {
  const std::string help = "\n  help:  give both the same number of axes";
  CHECK(error_of(request({2, 3, 4}, {3, 4})) ==
        "query [2,3,4] and key [3,4] have different numbers of axes\n  where: /key" + help);
  CHECK(error_of(request({3, 4}, {3, 4}, {1, 3, 4})) ==
        "key [3,4] and value [1,3,4] have different numbers of axes\n  where: /value" + help);
  CHECK(error_of(given_scores({3, 4}, {1, 4, 2})) ==
        "scores [3,4] and value [1,4,2] have different numbers of axes\n  where: /value" + help);
}

TEST_CASE("different batch axes are an error unless one of them is 1") {
  const std::string help =
      "\n  help:  give both the same batch axis, or one of them a batch axis of 1";
  CHECK(error_of(request({2, 3, 4}, {3, 5, 4})) ==
        "key [3,5,4] has 3 samples, but query [2,3,4] has 2\n  where: /key" + help);
  CHECK(error_of(request({1, 3, 4}, {3, 5, 4}, {2, 5, 4})) ==
        "value [2,5,4] has 2 samples, but key [3,5,4] has 3\n  where: /value" + help);
  CHECK(error_of(given_scores({2, 3, 5}, {3, 5, 4})) ==
        "value [3,5,4] has 3 samples, but scores [2,3,5] has 2\n  where: /value" + help);
  AttentionRequest past = request({2, 3, 4}, {1, 3, 4});
  sequences(past).past_key = zeros({3, 1, 4});
  sequences(past).past_value = zeros({1, 1, 4});
  CHECK(error_of(past) ==
        "past_key [3,1,4] has 3 samples, but query [2,3,4] has 2\n  where: /past_key" + help);
}

TEST_CASE("heads that do not divide a width are an error") {
  AttentionRequest wrong = request({2, 3, 12}, {2, 5, 12}, {2, 5, 10});
  sequences(wrong).heads = 5;
  CHECK(error_of(wrong) ==
        "query [2,3,12] cannot be split into 5 heads: its width 12 is not divisible by 5\n"
        "  where: /heads\n  help:  choose a number of heads that divides the width");
  sequences(wrong).heads = 4;
  CHECK(error_of(wrong) ==
        "value [2,5,10] cannot be split into 4 heads: its width 10 is not divisible by 4\n"
        "  where: /value\n  help:  choose a number of heads that divides the width");
}

TEST_CASE("no heads at all are an error") {
  AttentionRequest wrong = request({3, 4});
  sequences(wrong).heads = 0;
  CHECK(error_of(wrong) == "heads is 0\n  where: /heads\n  help:  give at least one head");
  sequences(wrong).heads = 2;
  sequences(wrong).kv_heads = 0;
  CHECK(error_of(wrong) == "kv_heads is 0\n  where: /kv_heads\n  help:  give at least one head");
}

TEST_CASE("key heads without query heads are an error") {
  AttentionRequest wrong = request({3, 4});
  sequences(wrong).kv_heads = 2;
  CHECK(error_of(wrong) ==
        "kv_heads is given without heads\n  where: /kv_heads\n"
        "  help:  give \"heads\" too, the number of heads of the query");
}

TEST_CASE("heads that contradict a tensor of 4 axes are an error") {
  AttentionRequest wrong = request({1, 4, 3, 2}, {1, 1, 3, 2});
  sequences(wrong).heads = 2;
  CHECK(error_of(wrong) ==
        "heads is 2, but query [1,4,3,2] has 4 heads\n  where: /heads\n"
        "  help:  leave it out: a tensor of 4 axes brings its own heads");
  sequences(wrong).heads = 4;
  sequences(wrong).kv_heads = 2;
  CHECK(error_of(wrong) ==
        "kv_heads is 2, but key [1,1,3,2] has 1 head\n  where: /kv_heads\n"
        "  help:  leave it out: a tensor of 4 axes brings its own heads");
}

TEST_CASE("query heads that are no multiple of the key heads are an error") {
  CHECK(
      error_of(request({1, 4, 3, 2}, {1, 3, 3, 2})) ==
      "query has 4 heads, not a multiple of the 3 of key\n  where: /key\n"
      "  help:  make the number of heads of query a multiple of that of key, or write \"layout\": "
      "\"BLHD\" beside each tensor [B,L,H,D]");
  CHECK(
      error_of(request({1, 1, 3, 2}, {1, 2, 3, 2})) ==
      "query has 1 head, not a multiple of the 2 of key\n  where: /key\n"
      "  help:  make the number of heads of query a multiple of that of key, or write \"layout\": "
      "\"BLHD\" beside each tensor [B,L,H,D]");
  AttentionRequest split = request({3, 12});
  sequences(split).heads = 4;
  sequences(split).kv_heads = 3;
  CHECK(
      error_of(split) ==
      "query has 4 heads, not a multiple of the 3 of key\n  where: /kv_heads\n"
      "  help:  make the number of heads of query a multiple of that of key, or write \"layout\": "
      "\"BLHD\" beside each tensor [B,L,H,D]");
  CHECK(error_of(given_scores({1, 4, 3, 2}, {1, 3, 2, 5})) ==
        "scores has 4 heads, not a multiple of the 3 of value\n  where: /value\n"
        "  help:  make the number of heads of scores a multiple of that of value");
}

TEST_CASE("key and value belong together row by row and head by head") {
  CHECK(error_of(request({1, 4, 3, 2}, {1, 2, 3, 2}, {1, 1, 3, 2})) ==
        "key [1,2,3,2] has 2 heads and value [1,1,3,2] has 1\n  where: /value\n"
        "  help:  give key and value the same heads");
  CHECK(error_of(request({3, 4}, {5, 4}, {6, 4})) ==
        "key [5,4] and value [6,4] have different lengths: 5 and 6\n  where: /value\n"
        "  help:  give the value one row per key");
  CHECK(error_of(given_scores({3, 5}, {1, 2})) ==
        "value [1,2] has 1 row, but scores [3,5] has 5 keys\n  where: /value\n"
        "  help:  give the value one row per key");
}

TEST_CASE("dot products need query and key of one width") {
  const std::string help =
      "\n  where: /key\n  help:  give both the same width; \"general\" and \"additive\" attention "
      "compare different ones";
  CHECK(error_of(request({3, 4}, {5, 6})) ==
        "query [3,4] and key [5,6] have different widths: 4 and 6" + help);
  AttentionRequest split = request({3, 8}, {5, 6});
  compare_by<attn::DotProduct>(split);
  sequences(split).heads = 2;
  CHECK(error_of(split) ==
        "query [3,8] and key [5,6] have heads of different widths: 4 and 3" + help);
}

TEST_CASE("the matrix of general attention joins the two widths") {
  AttentionRequest general = request({3, 4}, {5, 6});
  Tensor& W = compare_by<attn::General>(general).W;
  CHECK(error_of(general) ==
        "the parameter W is missing\n  where: /parameters/W\n"
        "  help:  give it the shape [4,6]: the query is 4 wide, the key 6; for random numbers "
        "write \"parameters\": {\"W\": {\"randn\": [4,6]}}, \"seed\": 0");
  W = zeros({6, 4});
  CHECK(error_of(general) ==
        "W [6,4] does not fit: expected [4,6]\n  where: /parameters/W\n"
        "  help:  give it the shape [4,6]: the query is 4 wide, the key 6");
  W = zeros({4, 6});
  check_shapes(general, {3, 5}, {3, 6});
  sequences(general).heads = 2;
  CHECK(error_of(general) ==
        "W [4,6] does not fit: expected [2,3]\n  where: /parameters/W\n"
        "  help:  give it the shape [2,3]: the query is 2 wide, the key 3 per head");
}

TEST_CASE("the parameters of additive attention share the hidden width of W_k.weight") {
  AttentionRequest additive = request({3, 4}, {5, 6});
  attn::Additive& parameters = compare_by<attn::Additive>(additive);
  const std::string help =
      "  help:  give it the shape [h,6]: h is the hidden width, the query is 4 wide, the key 6";
  CHECK(error_of(additive) ==
        "the parameter W_k.weight is missing\n  where: /parameters/W_k.weight\n" + help +
            "; for random numbers write \"parameters\": {\"init\": \"torch\", \"hidden\": 8}, "
            "\"seed\": 0");
  parameters.W_k = zeros({8, 4});
  CHECK(error_of(additive) ==
        "W_k.weight [8,4] does not fit: expected [h,6]\n  where: /parameters/W_k.weight\n" + help);
  parameters.W_k = zeros({6});
  CHECK(error_of(additive) ==
        "W_k.weight [6] does not fit: expected [h,6]\n  where: /parameters/W_k.weight\n" + help);
  parameters.W_k = zeros({0, 6});
  CHECK(error_of(additive) ==
        "W_k.weight [0,6] does not fit: expected [h,6]\n  where: /parameters/W_k.weight\n" + help);
  parameters.W_k = zeros({8, 6});
  const std::string widths = ": W_k.weight has the hidden width 8, the query is 4 wide, the key 6";
  CHECK(error_of(additive) ==
        "the parameter W_q.weight is missing\n  where: /parameters/W_q.weight\n"
        "  help:  give it the shape [8,4]" +
            widths);
  parameters.W_q = zeros({7, 4});
  CHECK(error_of(additive) ==
        "W_q.weight [7,4] does not fit: expected [8,4]\n  where: /parameters/W_q.weight\n"
        "  help:  give it the shape [8,4]" +
            widths);
  parameters.W_q = zeros({8, 4});
  parameters.w_v = zeros({8});
  CHECK(error_of(additive) ==
        "w_v.weight [8] does not fit: expected [1,8]\n  where: /parameters/w_v.weight\n"
        "  help:  give it the shape [1,8]" +
            widths);
  parameters.w_v = zeros({1, 8});
  check_shapes(additive, {3, 5}, {3, 6});
}

TEST_CASE("past keys and values come together and continue the present ones") {
  AttentionRequest past = request({2, 3, 4}, {2, 3, 4}, {2, 3, 5});
  sequences(past).past_key = zeros({2, 6, 4});
  CHECK(error_of(past) ==
        "past_key is given without past_value\n  where: /past_key\n  help:  give both or neither");
  std::swap(sequences(past).past_key, sequences(past).past_value);
  CHECK(error_of(past) ==
        "past_value is given without past_key\n  where: /past_value\n"
        "  help:  give both or neither");
  sequences(past).past_key = zeros({2, 6, 3});
  CHECK(error_of(past) ==
        "past_key [2,6,3] does not continue key [2,3,4]\n  where: /past_key\n"
        "  help:  give both the same axes, except for the length, the second to last");
  sequences(past).past_key = zeros({6, 4});
  CHECK(error_of(past) ==
        "key [2,3,4] and past_key [6,4] have different numbers of axes\n  where: /past_key\n"
        "  help:  give both the same number of axes");
  sequences(past).past_key = zeros({2, 6, 4});
  CHECK(error_of(past) ==
        "past_value [2,6,4] does not continue value [2,3,5]\n  where: /past_value\n"
        "  help:  give both the same axes, except for the length, the second to last");
  sequences(past).past_value = zeros({2, 7, 5});
  CHECK(error_of(past) ==
        "past_key [2,6,4] and past_value [2,7,5] have different lengths\n  where: /past_value\n"
        "  help:  give the past value one row per past key");
}

TEST_CASE("the past of a tensor with 4 axes has its heads") {
  AttentionRequest past = request({2, 4, 3, 4}, {2, 2, 3, 4});
  sequences(past).past_key = zeros({2, 4, 1, 4});
  sequences(past).past_value = zeros({2, 2, 1, 4});
  CHECK(error_of(past) ==
        "past_key [2,4,1,4] does not continue key [2,2,3,4]\n  where: /past_key\n"
        "  help:  give both the same axes, except for the length, the second to last");
}

TEST_CASE("scale and softcap are finite, the softcap positive") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  AttentionRequest wrong = request({3, 4});
  for (const double scale : {nan, HUGE_VAL, -HUGE_VAL}) {
    wrong.scale = scale;
    CHECK(error_of(wrong) ==
          "the scale is not a finite number\n  where: /scale\n  help:  give a finite number");
  }
  wrong.scale = -2;
  CHECK(error_of(wrong) == "no error");
  for (const double softcap : {nan, HUGE_VAL, 0.0, -1.0}) {
    wrong.softcap = softcap;
    CHECK(error_of(wrong) ==
          "the softcap is not a finite positive number\n  where: /softcap\n"
          "  help:  give a positive number, or leave it out for no cap");
  }
}

TEST_CASE("weights beyond this machine's memory are refused before anything is allocated") {
  const float never_read = 0;
  AttentionRequest wrong;
  sequences(wrong).query =
      Tensor::borrowed({1, 20000000, 1}, attn::DType::float32, &never_read, nullptr);
  const std::string text = error_of(wrong);
  CHECK(text.substr(0, text.find("machine")) ==
        "the weights [1,20000000,20000000] would take 1.6 PB, more than the memory of this ");
  CHECK(text.substr(text.find("\n")) ==
        "\n  help:  replace them by a map of bins with AttentionRequest::pool 1024, or leave them "
        "out with AttentionRequest::weights");
}

TEST_CASE("every letter of a kind's products has a size") {
  Geometry geometry;
  geometry.batch = 2;
  geometry.heads = 3;
  for (const attn::KindInfo& kind : attn::kinds()) {
    for (const attn::ProductInfo& product : kind.products) {
      std::string letters;
      for (const attn::NamedSize& size : attn::sizes_of(product, geometry)) {
        letters += (letters.empty() ? "" : "·") + size.letter;
        if (size.letter == "B") CHECK(size.value == 2);
        if (size.letter == "H") CHECK(size.value == 3);
      }
      CHECK(letters == product.count);
    }
  }
}

}  // namespace
