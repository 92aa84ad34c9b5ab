#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "error_from.hpp"

namespace {

using namespace attn::testing;
using attn::attend;
using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Kind;
using attn::KindInfo;
using attn::Shape;
using attn::Tensor;

// Kinds that compare queries with keys.
template <class Property>
void for_comparing_kinds(unsigned seed, Property property) {
  RandomRequests random(seed);
  for (const KindInfo& row : attended_kinds()) {
    if (row.kind == Kind::softmax) continue;
    CAPTURE(row.name);
    for (int round = 0; round < 10; ++round) {
      CAPTURE(round);
      property(random, row.kind);
    }
  }
}

// [B,L,H·D] as [B,H,L,D].
Tensor split_heads(const Tensor& tensor, std::size_t heads) {
  const Shape& shape = tensor.shape();
  const std::size_t batch = shape[0], length = shape[1], width = shape[2] / heads;
  const std::vector<double> from = numbers(tensor);
  std::vector<double> to;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t d = 0; d < width; ++d) {
          to.push_back(from[((b * length + i) * heads + h) * width + d]);
        }
      }
    }
  }
  return doubles({batch, heads, length, width}, std::move(to));
}

// Each matrix of an axis repeated `times` times in place.
Tensor repeated(const Tensor& tensor, std::size_t axis, std::size_t times) {
  const std::vector<double> from = numbers(tensor);
  std::size_t block = 1;
  for (std::size_t a = axis + 1; a < tensor.rank(); ++a) block *= tensor.shape()[a];
  Shape shape = tensor.shape();
  shape[axis] *= times;
  std::vector<double> to;
  for (std::size_t first = 0; first < from.size(); first += block) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    for (std::size_t t = 0; t < times; ++t) {
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(block));
    }
  }
  return doubles(std::move(shape), std::move(to));
}

void check_same(const AttentionResult& a, const AttentionResult& b) {
  REQUIRE(same_bits(a.weights, b.weights));
  REQUIRE(same_bits(a.output, b.output));
  REQUIRE(same_bits(a.scores, b.scores));
  REQUIRE(same_bits(a.masked, b.masked));
  REQUIRE(same_bits(a.lse, b.lse));
  REQUIRE(a.empty_rows == b.empty_rows);
}

TEST_CASE("the number of threads never changes a bit") {
  RandomRequests random(1);
  for (const KindInfo& row : attended_kinds()) {
    CAPTURE(row.name);
    AttentionRequest request = random.request(row.kind, {3, 4, 17, 5}, {3, 2, 19, 5});
    request.mask.allow = random.flags({17, 19}, 0.6);
    request.threads = 1;
    const AttentionResult one = attend(request);
    for (const std::size_t threads : {2U, 3U, 7U, 0U}) {
      CAPTURE(threads);
      request.threads = threads;
      const AttentionResult many = attend(request);
      check_same(one, many);
      CHECK(same_bits(one.allowed, many.allowed));
    }
  }
}

TEST_CASE("a batch axis of 1 is repeated") {
  for_comparing_kinds(2, [](RandomRequests& random, Kind kind) {
    const Shape one{1, 2, 3, 4}, many{3, 2, 5, 4};
    AttentionRequest request = random.request(kind, one, many);
    const AttentionResult short_form = attend(request);
    sequences(request).query =
        doubles({3, 2, 3, 4}, numbers(repeated(sequences(request).query, 0, 3)));
    check_same(short_form, attend(request));
    AttentionRequest shared_keys = random.request(kind, many, one);
    const AttentionResult short_keys = attend(shared_keys);
    sequences(shared_keys).key = repeated(sequences(shared_keys).key, 0, 3);
    sequences(shared_keys).value = repeated(sequences(shared_keys).value, 0, 3);
    check_same(short_keys, attend(shared_keys));
  });
}

TEST_CASE("given scores of one sample are repeated for the values of many") {
  RandomRequests random(3);
  AttentionRequest request = random.request(Kind::softmax, {1, 2, 3, 1}, {4, 2, 5, 1});
  const AttentionResult short_form = attend(request);
  CHECK(short_form.weights.shape() == Shape{4, 2, 3, 5});
  Tensor& scores = std::get<attn::GivenScores>(request.score).scores;
  scores = repeated(scores, 0, 4);
  check_same(short_form, attend(request));
}

TEST_CASE("grouped heads equal key heads repeated in place") {
  for_comparing_kinds(4, [](RandomRequests& random, Kind kind) {
    AttentionRequest request = random.request(kind, {2, 6, 3, 4}, {2, 2, 5, 4});
    const AttentionResult grouped = attend(request);
    sequences(request).key = repeated(sequences(request).key, 1, 3);
    sequences(request).value = repeated(sequences(request).value, 1, 3);
    check_same(grouped, attend(request));
  });
}

TEST_CASE("heads split from the last axis equal explicit heads, and the output is joined") {
  for_comparing_kinds(5, [](RandomRequests& random, Kind kind) {
    AttentionRequest split;
    split.score = attn::score_of(kind);
    split.dtype = DType::float64;
    split.stages = true;
    sequences(split).heads = 4;
    sequences(split).kv_heads = 2;
    sequences(split).query = random.normal({2, 3, 12});
    sequences(split).key = random.normal({2, 5, 6});
    sequences(split).value = random.normal({2, 5, 4});
    random.give_parameters(split, 3, 3);
    AttentionRequest explicit_heads = split;
    sequences(explicit_heads).heads = sequences(explicit_heads).kv_heads = std::nullopt;
    sequences(explicit_heads).query = split_heads(sequences(split).query, 4);
    sequences(explicit_heads).key = split_heads(sequences(split).key, 2);
    sequences(explicit_heads).value = split_heads(sequences(split).value, 2);
    const AttentionResult joined = attend(split), apart = attend(explicit_heads);
    REQUIRE(same_bits(joined.weights, apart.weights));
    REQUIRE(joined.output.shape() == Shape{2, 3, 8});
    REQUIRE(same_bits(split_heads(joined.output, 4), apart.output));
  });
}

TEST_CASE("an attention of 2 or 3 axes equals one of 4 with axes of 1") {
  for_comparing_kinds(6, [](RandomRequests& random, Kind kind) {
    AttentionRequest request = random.request(kind, {1, 1, 3, 4}, {1, 1, 5, 4});
    const AttentionResult four = attend(request);
    for (const Shape& leading : {Shape{}, Shape{1}}) {
      const auto with_axes = [&](const Tensor& tensor) {
        Shape shape = leading;
        shape.push_back(tensor.shape()[2]);
        shape.push_back(tensor.shape()[3]);
        return tensor.reshaped(std::move(shape));
      };
      AttentionRequest fewer = request;
      sequences(fewer).query = with_axes(sequences(request).query);
      sequences(fewer).key = with_axes(sequences(request).key);
      sequences(fewer).value = with_axes(sequences(request).value);
      const AttentionResult result = attend(fewer);
      REQUIRE(same_bits(result.weights, with_axes(four.weights)));
      REQUIRE(same_bits(result.output, with_axes(four.output)));
    }
  });
}

TEST_CASE("past keys and values equal ones put before the present") {
  for_comparing_kinds(7, [](RandomRequests& random, Kind kind) {
    AttentionRequest request = random.request(kind, {2, 2, 3, 4}, {2, 1, 7, 4});
    request.mask.causal = true;
    request.mask.align = attn::Alignment::lower_right;
    const AttentionResult whole = attend(request);
    const std::vector<std::size_t> past{0, 1, 2, 3}, present{4, 5, 6};
    request.mask.align = attn::Alignment::upper_left;  // moved by the past keys
    sequences(request).past_key = with_rows(sequences(request).key, past);
    sequences(request).past_value = with_rows(sequences(request).value, past);
    sequences(request).key = with_rows(sequences(request).key, present);
    sequences(request).value = with_rows(sequences(request).value, present);
    check_same(whole, attend(request));
  });
}

TEST_CASE("a past of one sample is repeated, and so are present keys of one sample") {
  for_comparing_kinds(8, [](RandomRequests& random, Kind kind) {
    AttentionRequest request = random.request(kind, {3, 2, 3, 4}, {3, 1, 5, 4});
    const std::size_t value_width = sequences(request).value.shape()[3];
    sequences(request).past_key = random.normal({1, 1, 2, 4});
    sequences(request).past_value = random.normal({1, 1, 2, value_width});
    const AttentionResult short_past = attend(request);
    sequences(request).past_key = repeated(sequences(request).past_key, 0, 3);
    sequences(request).past_value = repeated(sequences(request).past_value, 0, 3);
    check_same(short_past, attend(request));
    sequences(request).key = random.normal({1, 1, 5, 4});
    sequences(request).value = random.normal({1, 1, 5, value_width});
    const AttentionResult short_present = attend(request);
    sequences(request).key = repeated(sequences(request).key, 0, 3);
    sequences(request).value = repeated(sequences(request).value, 0, 3);
    check_same(short_present, attend(request));
  });
}

TEST_CASE("the past of split heads is split as they are") {
  for_comparing_kinds(9, [](RandomRequests& random, Kind kind) {
    AttentionRequest request;
    request.score = attn::score_of(kind);
    request.dtype = DType::float64;
    sequences(request).heads = 2;
    sequences(request).query = random.normal({2, 3, 8});
    sequences(request).past_key = random.normal({2, 2, 8});
    sequences(request).past_value = random.normal({2, 2, 8});
    random.give_parameters(request, 4, 4);
    const AttentionResult joined = attend(request);
    AttentionRequest apart = request;
    sequences(apart).heads = std::nullopt;
    sequences(apart).query = split_heads(sequences(request).query, 2);
    sequences(apart).past_key = split_heads(sequences(request).past_key, 2);
    sequences(apart).past_value = split_heads(sequences(request).past_value, 2);
    const AttentionResult explicit_heads = attend(apart);
    REQUIRE(same_bits(joined.weights, explicit_heads.weights));
    REQUIRE(same_bits(split_heads(joined.output, 2), explicit_heads.output));
  });
}

TEST_CASE("the key is the query and the value the key where they are absent") {
  for_comparing_kinds(10, [](RandomRequests& random, Kind kind) {
    AttentionRequest request = random.request(kind, {2, 2, 3, 4}, {2, 2, 3, 4});
    sequences(request).key = sequences(request).value = sequences(request).query;
    const AttentionResult given = attend(request);
    sequences(request).value = {};
    check_same(given, attend(request));
    sequences(request).key = {};
    check_same(given, attend(request));
  });
}

TEST_CASE("results are rounded once, from double precision to the dtype asked for") {
  RandomRequests random(11);
  for (const KindInfo& row : attended_kinds()) {
    CAPTURE(row.name);
    AttentionRequest request = random.request(row.kind, {2, 2, 3, 4}, {2, 2, 5, 4});
    const AttentionResult exact = attend(request);
    request.dtype = DType::float32;
    const AttentionResult rounded = attend(request);
    CHECK(exact.weights.dtype() == DType::float64);
    CHECK(same_bits(rounded.weights, exact.weights.converted(DType::float32)));
    CHECK(same_bits(rounded.output, exact.output.converted(DType::float32)));
    CHECK(same_bits(rounded.lse, exact.lse.converted(DType::float32)));
  }
}

TEST_CASE("inputs may be of any dtype") {
  RandomRequests random(12);
  AttentionRequest request = random.request(Kind::general, {2, 1, 3, 4}, {2, 1, 5, 4});
  sequences(request).query = sequences(request).query.converted(DType::int64);
  sequences(request).key = sequences(request).key.converted(DType::float32);
  Tensor& W = std::get<attn::General>(request.score).W;
  W = W.converted(DType::boolean);
  const AttentionResult mixed = attend(request);
  sequences(request).query = sequences(request).query.converted(DType::float64);
  sequences(request).key = sequences(request).key.converted(DType::float64);
  W = W.converted(DType::float64);
  check_same(mixed, attend(request));
}

TEST_CASE("stages are there only if asked for, allowed keys only with a mask") {
  RandomRequests random(13);
  AttentionRequest request = random.request(Kind::dot_product, {1, 1, 2, 3}, {1, 1, 4, 3});
  request.stages = false;
  const AttentionResult plain = attend(request);
  for (const Tensor* stage :
       {&plain.scores, &plain.capped, &plain.masked, &plain.lse, &plain.allowed}) {
    CHECK_FALSE(static_cast<bool>(*stage));
  }
  request.stages = true;
  request.mask.causal = true;
  const AttentionResult full = attend(request);
  for (const Tensor* stage : {&full.scores, &full.capped, &full.masked, &full.allowed}) {
    CHECK(stage->shape() == Shape{1, 1, 2, 4});
  }
  CHECK(full.lse.shape() == Shape{1, 1, 2});
  CHECK(full.allowed.dtype() == DType::boolean);
  CHECK(numbers(full.allowed) == std::vector<double>{1, 0, 0, 0, 1, 1, 0, 0});
}

TEST_CASE("dropout keeps what is drawn, scaled up, and makes the output of it") {
  RandomRequests random(14);
  for (const KindInfo& row : attended_kinds()) {
    CAPTURE(row.name);
    AttentionRequest request = random.request(row.kind, {2, 2, 3, 4}, {2, 2, 5, 4});
    const AttentionResult before = attend(request);
    const Tensor kept = random.flags({2, 2, 3, 5}, 0.5);
    Shape asked_for;
    request.dropout = attn::Dropout{0.75, [&](const Shape& shape) {
                                      asked_for = shape;
                                      return kept;
                                    }};
    const AttentionResult result = attend(request);
    CHECK(asked_for == Shape{2, 2, 3, 5});
    CHECK_FALSE(static_cast<bool>(before.dropped));
    CHECK(same_bits(result.weights, before.weights));
    const std::vector<double> weights = numbers(result.weights), keep = numbers(kept),
                              dropped = numbers(result.dropped), output = numbers(result.output),
                              values = numbers(value_of(request.score));
    const std::size_t width = value_of(request.score).shape()[3];
    for (std::size_t at = 0; at < weights.size(); ++at) {
      REQUIRE(dropped[at] == (keep[at] != 0 ? 4 * weights[at] : 0));
    }
    for (std::size_t at = 0; at < output.size(); ++at) {
      const std::size_t row_at = at / width, head = row_at / 3;
      double sum = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        sum += dropped[row_at * 5 + j] * values[(head * 5 + j) * width + at % width];
      }
      REQUIRE(std::abs(output[at] - sum) < 1e-13);
    }
    request.dropout->p = 1;
    for (const double weight : numbers(attend(request).dropped)) REQUIRE(weight == 0);
  }
}

TEST_CASE("softmax of given scores needs no value and then has no output") {
  AttentionRequest request;
  request.score = attn::GivenScores{doubles({1, 2}, {0, 0})};
  const AttentionResult result = attend(request);
  CHECK(numbers(result.weights) == std::vector<double>{0.5, 0.5});
  CHECK_FALSE(static_cast<bool>(result.output));
}

TEST_CASE("what does not fit is an error before anything is computed") {
  AttentionRequest request;
  CHECK_THROWS_AS(attend(request), attn::Error);
  sequences(request).query = doubles({1, 2}, {1, 2});
  request.mask.valid_lens = Tensor({1}, std::vector<std::int64_t>{2});
  CHECK_THROWS_WITH_AS(attend(request),
                       "the valid length 2 is not between 0 and 1\n  where: /valid_lens/0\n"
                       "  help:  give the number of leading keys that are valid",
                       attn::Error);
}

TEST_CASE("sequences or a score with their options are the request that holds both") {
  const Tensor q = doubles({2, 2}, {1, 0, 0, 1}), k = doubles({3, 2}, {1, 1, 2, 0, 0, 3});
  AttentionRequest request;
  request.mask.causal = true;
  sequences(request).query = q;
  sequences(request).key = k;
  const AttentionResult expected = attend(request);
  CHECK(same_bits(attend({.query = q, .key = k}, {.mask = {.causal = true}}).weights,
                  expected.weights));
  CHECK(same_bits(
      attend(attn::ScaledDotProduct{{.query = q, .key = k}}, {.mask = {.causal = true}}).weights,
      expected.weights));
  request.mask = {};
  CHECK(same_bits(attend({.query = q, .key = k}).weights, attend(request).weights));
}

TEST_CASE("options that cannot be met are errors of the input, never of the library") {
  AttentionRequest request;
  sequences(request).query = doubles({2, 2}, {1, 0, 0, 1});
  const auto refused = [&](const auto& change, const std::string& where) {
    AttentionRequest changed = request;
    change(changed);
    CAPTURE(where);
    CHECK(error_from([&] { attend(changed); }).find("\n  where: " + where + "\n") !=
          std::string::npos);
  };
  const auto all_kept = [](const Shape& shape) {
    return Tensor(shape, std::vector<std::uint8_t>(attn::element_count(shape), 1));
  };
  for (const DType dtype : {DType::int64, DType::boolean}) {
    refused([&](AttentionRequest& changed) { changed.dtype = dtype; }, "/dtype");
  }
  refused([](AttentionRequest& changed) { changed.pool = attn::Pooling{0}; }, "/pool/size");
  for (const double p : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    refused(
        [&](AttentionRequest& changed) {
          changed.dropout = attn::Dropout{p, all_kept};
        },
        "/dropout/p");
  }
  refused([](AttentionRequest& changed) { changed.dropout = attn::Dropout{0.5, {}}; }, "/dropout");
  for (const Tensor& drawn : {Tensor(), all_kept({2}), all_kept({2, 3}), all_kept({4})}) {
    refused(
        [&](AttentionRequest& changed) {
          changed.dropout = attn::Dropout{0.5, [&](const Shape&) { return drawn; }};
        },
        "/dropout");
  }
  const auto stretched = [](attn::LongScaling scaling) {
    return [=](AttentionRequest& changed) {
      changed.rotary.emplace();
      changed.rotary->scaling = scaling;
    };
  };
  refused(stretched({{1, 2}, {1}, 8}), "/rotary/scaling/short_factor");
  refused(stretched({{1}, {}, 8}), "/rotary/scaling/long_factor");
  refused(stretched({{0}, {1}, 8}), "/rotary/scaling/short_factor");
  AttentionRequest fits = request;
  stretched({{1}, {2}, 8})(fits);
  attend(fits);
  // Flags of any type are taken as booleans.
  request.dropout = attn::Dropout{0.5, [](const Shape&) { return doubles({2, 2}, {1, 0, 0, 1}); }};
  CHECK(numbers(attend(request).dropped)[1] == 0);
}

}  // namespace
