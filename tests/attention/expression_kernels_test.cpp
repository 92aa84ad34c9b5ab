#include <cmath>
#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/key_intervals.hpp"
#include "attention/random_expression.hpp"
#include "attention/random_request.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Geometry;
using attn::testing::check_both_types;
using attn::testing::fast;
using attn::testing::random_attention;
using attn::testing::RandomExpression;
using attn::testing::RandomRequests;
using attn::testing::same_bits;
using attn::testing::sequences;

// Attentions of every form that the kernels take: grouped heads, a past, and more.
// Many are as many queries and keys as matrix tiles and several blocks take.
AttentionRequest own_attention(std::size_t form, const std::string& score, const std::string& where,
                               const std::string& weight, bool many = false) {
  RandomRequests random(static_cast<unsigned>(form) + 1);
  const std::size_t queries = many ? 45 : form % 3 == 0 ? 5 : 13, values = many ? 17 : 9;
  const std::size_t width = form % 4 == 1 && !many ? 8 : 24, new_keys = many ? 150 : 61;
  AttentionRequest request =
      random_attention(random, {2, 4, queries, width}, {2, 2, new_keys, width}, values);
  if (form % 2 == 1) {
    sequences(request).past_key = random.normal({2, 2, 7, width}).converted(DType::float32);
    sequences(request).past_value = random.normal({2, 2, 7, values}).converted(DType::float32);
  }
  const std::size_t keys = new_keys + (form % 2 == 1 ? 7 : 0);
  const auto tables = RandomExpression<int (*)(int)>::tables(4, queries, keys);
  if (!score.empty()) request.score_expression = {score, tables};
  if (!weight.empty()) request.weight_expression = {weight, tables};
  if (!where.empty()) request.mask.where = {where, tables};
  attn::Mask& mask = request.mask;
  if (form % 4 == 2) request.softcap = 3;
  if (form % 4 == 3) mask.align = attn::Alignment::lower_right;
  if (form % 5 == 1) mask.causal = true;
  if (form % 5 == 2) mask.bias = random.normal({queries, keys}).converted(DType::float32);
  if (form % 5 == 3) mask.padding = random.flags({2, keys}, 0.3);
  if (form % 5 == 4) mask.alibi = attn::Alibi{{0.5, 0.25, 0.125, 0.1}, true};
  if (form % 7 == 2) request.sinks = random.normal({4}).converted(DType::float32);
  return request;
}

// Calls check(form) for so many forms, each on the next CPU target of this machine.
template <class Check>
void on_targets_in_turn(std::size_t forms, const Check& check) {
  const auto targets = attn::kernels::cpu_targets();
  for (std::size_t form = 0; form < forms; ++form) {
    const std::string target(targets[form % targets.size()]);
    CAPTURE(target);
    CAPTURE(form);
    REQUIRE(attn::kernels::use_cpu_target(target));
    check(form);
  }
  attn::testing::return_to_target();
}

TEST_CASE("scores and masks and weights by expression take the kernels in every form") {
  on_targets_in_turn(20, [](std::size_t form) {
    check_both_types(own_attention(form, "s - 0.1 * abs(i + offset - j)", "", ""));
    check_both_types(own_attention(form, "j % 7 == 3 ? -inf : 2 * s + each[j]", "", ""));
    check_both_types(own_attention(form, "dot(q, k) / (norm(q) * norm(k)) + 0.1 * h", "", ""));
    check_both_types(own_attention(form, "", "j <= i + offset && i - j < 9", ""));
    check_both_types(own_attention(form, "", "(i + j + h) % 3 != 0 || j < 2", ""));
    check_both_types(own_attention(form, "", "dot(q, k) > 0.5 || j == i", ""));
    check_both_types(own_attention(form, "", "", "p > 0.01 ? p + 0.001 * j : 0.5 * p"));
    check_both_types(own_attention(form, "-distance(q, k)^2 / 16", "j >= i", "p^1.5"));
  });
}

TEST_CASE("expressions over whole strips of queries and several blocks of keys agree") {
  on_targets_in_turn(10, [](std::size_t form) {
    const auto check = [&](const std::string& score, const std::string& weight) {
      AttentionRequest request = own_attention(form, score, "", weight, true);
      check_both_types(request);
    };
    check("s - 0.1 * abs(i + offset - j)", "");
    check("j % 7 == i % 7 ? -inf : 2 * s + each[j]", "p > 0.01 ? p + 0.001 * j : 0.5 * p");
    check("", "i == j ? 0.25 : p * (1 + 0.1 * h)");
  });
}

TEST_CASE("additive and general scores take the kernels with expressions") {
  on_targets_in_turn(10, [](std::size_t form) {
    AttentionRequest request = own_attention(form, "s - 0.1 * abs(i - j)", "j != 3", "p * 2");
    request.sinks = {};
    request.mask.alibi.reset();
    RandomRequests random(9);
    const attn::Sequences compared = sequences(request);
    const std::size_t width = compared.query.shape()[3];
    attn::Additive additive{compared};
    additive.W_q = random.normal({6, width}).converted(DType::float32);
    additive.W_k = random.normal({6, width}).converted(DType::float32);
    additive.w_v = random.normal({1, 6}).converted(DType::float32);
    request.score = additive;
    check_both_types(request);
    attn::General general{compared};
    general.W = random.normal({width, width}).converted(DType::float32);
    request.score = general;
    request.scale = 0.1;
    request.score_expression.text = "s - 0.01 * dot(q, k)";
    check_both_types(request);
  });
}

TEST_CASE("pooled maps with expressions are those of the whole map") {
  for (const std::string where : {"(i + j) % 3 != 0", "j <= i"}) {
    for (const std::string weight : {"", "p > 0.02 ? p : 0"}) {
      AttentionRequest request = own_attention(1, "j == 5 ? -inf : s + 0.01 * j", where, weight);
      request.pool = attn::Pooling{8, attn::Pooling::Reduction::mean};
      const auto result = fast(request);
      REQUIRE(result);
      const AttentionResult expected = attn::testing::exact(request);
      CHECK(attn::testing::near(result->pooled, expected.pooled, 1e-6));
      CHECK(same_bits(result->pooled_allowed, expected.pooled_allowed));
    }
  }
}

TEST_CASE("threads change no bit of an attention with expressions") {
  AttentionRequest request =
      own_attention(3, "s - 0.1 * abs(i - j)", "(i + h) % 3 != j % 3", "p^2");
  request.threads = 1;
  const auto alone = fast(request);
  request.threads = 5;
  const auto together = fast(request);
  REQUIRE(alone);
  REQUIRE(together);
  CHECK(same_bits(alone->output, together->output));
  CHECK(same_bits(alone->weights, together->weights));
}

TEST_CASE("scores by expression in 16-bit types are rounded as the reference rounds them") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    AttentionRequest request = attn::testing::rounded(
        own_attention(2, "s - 0.125 * abs(i - j)", "j <= i + 20", ""), dtype);
    const auto result = fast(request);
    REQUIRE(result);
    const AttentionResult expected = attn::testing::reference(request);
    const auto a = attn::testing::numbers(result->weights),
               b = attn::testing::numbers(expected.weights);
    for (std::size_t n = 0; n < a.size(); ++n) CHECK(std::abs(a[n] - b[n]) <= 0.01 * b[n]);
  }
}

TEST_CASE("comparisons of scores cut at the same keys as the reference") {
  on_targets_in_turn(10, [](std::size_t form) {
    AttentionRequest request = own_attention(form, "s == 0 ? 3 : s >= 0.5 ? s : s - 1", "", "");
    request.softcap.reset();
    const auto whole = [](const attn::Tensor& tensor) {
      std::vector<double> numbers = attn::testing::numbers(tensor);
      for (double& number : numbers) number = std::round(number);
      return attn::Tensor(tensor.shape(), std::move(numbers)).converted(attn::DType::float32);
    };
    attn::Sequences& compared = sequences(request);
    compared.query = whole(compared.query);
    compared.key = whole(compared.key);
    if (compared.past_key) compared.past_key = whole(compared.past_key);
    check_both_types(request);
  });
}

TEST_CASE("heads that see different keys have intervals of their own") {
  on_targets_in_turn(5, [](std::size_t form) {
    AttentionRequest request = own_attention(2 * form, "", "j >= 0", "", true);
    std::vector<std::uint8_t> allow;
    for (std::size_t n = 0; n < 4 * 45 * 150; ++n) {
      const std::size_t head = n / (45 * 150), key = n % 150;
      allow.push_back(head % 2 == 0 ? key < 10 : key >= 100);
    }
    request.mask.allow = attn::Tensor({4, 45, 150}, std::move(allow));
    check_both_types(request);
  });
}

TEST_CASE("intervals written as expressions are found") {
  const auto seen = [](const std::string& text) {
    AttentionRequest request = own_attention(0, "", text, "");
    const Geometry geometry = attn::check_geometry(request);
    const attn::Visibility visibility(request.mask, geometry, {});
    const attn::KeyIntervals intervals(visibility, geometry, 1);
    const auto interval = intervals.of(0, 0, 3);
    return std::to_string(interval.first) + " to " + std::to_string(interval.end) +
           (intervals.whole() ? "" : " with gaps");
  };
  CHECK(seen("j <= i") == "0 to 4");
  CHECK(seen("abs(i - j) < 3 && h < 9") == "1 to 6");
  CHECK(seen("i // 2 == j // 2") == "2 to 4");
  CHECK(seen("j < 2 || j == i") == "0 to 4 with gaps");
  CHECK(seen("each[j] == 0.5").find("gaps") != std::string::npos);
}

TEST_CASE(
    "keys in the gaps of an expression are known by groups, and outputs stay those of the "
    "definition") {
  RandomRequests random(8);
  AttentionRequest request = random_attention(random, {1, 2, 45, 24}, {1, 2, 900, 24}, 17);
  request.mask.where.text = "i < 20 ? j < 8 || j > 850 : j % 300 == h";
  const Geometry geometry = attn::check_geometry(request);
  const attn::Visibility visibility(request.mask, geometry, {});
  CHECK(attn::KeyIntervals(visibility).seen_groups(0, 0, 0, 8).empty());
  const attn::KeyIntervals intervals(visibility, geometry, 1);
  const auto groups = [&](std::size_t first, std::size_t count) {
    std::string text;
    for (const auto seen : intervals.seen_groups(0, 1, first, count)) text += seen != 0 ? '+' : '-';
    return text;
  };
  CHECK(groups(0, 16) == "+------------++");
  CHECK(groups(32, 13) == "+---+----+-----");
  CHECK(groups(8, 37) == "+---+----+---++");
  on_targets_in_turn(6, [&](std::size_t) {
    AttentionRequest without = request;
    without.weights = false;
    const auto result = fast(without);
    REQUIRE(result);
    CHECK(attn::testing::near(result->output, attn::testing::exact(request).output, 1));
  });
}

}  // namespace
