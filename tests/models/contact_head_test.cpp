#include "models/contact_head.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/model_folder.hpp"

namespace attn {
namespace {

const std::filesystem::path cases = std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";

ModelFolder model_of(const std::string& name) {
  return ModelFolder::open(cases / name / "checkpoint", std::nullopt, {});
}

ContactHead head_of(const std::string& name) {
  const ModelFolder folder = model_of(name);
  return ContactHead::read(folder.architecture, folder.weights);
}

TEST_CASE("a file without a contact head has none") {
  const auto has = [](const std::string& name) {
    const ModelFolder folder = model_of(name);
    return has_contact_head(folder.architecture, folder.weights);
  };
  CHECK(!has("esm_rotary"));
  CHECK(!has("bert_pairs"));
  CHECK(has("esm_contacts"));
}

TEST_CASE("contacts are symmetric, and the outer tokens and end tokens play no part in them") {
  const ContactHead head = head_of("esm_contacts");
  constexpr std::size_t heads = 4, length = 6, n = length - 2;
  const std::vector<std::int64_t> ids{0, 5, 2, 7, 9, 2};
  std::vector<double> numbers(heads * length * length);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0.1 + static_cast<double>(i * i % 17) / 20;
  }
  const auto contacts = [&] {
    std::vector<double> logits;
    head.add(1, Tensor({1, heads, length, length}, numbers), ids, 2, logits);
    const Tensor all = head.probabilities(logits);
    REQUIRE(all.shape() == Shape{1, n, n});
    return std::vector<double>(all.values<double>().begin(), all.values<double>().end());
  };
  const std::vector<double> before = contacts();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) CHECK(before[i * n + j] == before[j * n + i]);
  }
  // The first and the last token, and the end token 2 between residues.
  for (std::size_t h = 0; h < heads; ++h) {
    for (const std::size_t token : {std::size_t{0}, std::size_t{2}, length - 1}) {
      for (std::size_t i = 0; i < length; ++i) {
        numbers[(h * length + token) * length + i] = 0.7;
        numbers[(h * length + i) * length + token] = 0.7;
      }
    }
  }
  CHECK(contacts() == before);
}

TEST_CASE(
    "a logit is the factor times a symmetric map less the product of its sums over their sum") {
  const ContactHead head = head_of("esm_contacts");
  // Residues 1 and 2; the map with its transpose is [2 3; 3 4] / 10, its sums by row [5 7] / 10.
  std::vector<double> numbers(4 * 16, 0);
  const std::vector<double> map{9, 9, 9, 9, 9, 0.1, 0.1, 9, 9, 0.2, 0.2, 9, 9, 9, 9, 9};
  std::copy(map.begin(), map.end(), numbers.begin());
  std::vector<double> logits;
  head.add(0, Tensor({1, 4, 4, 4}, numbers), {0, 5, 7, 2}, 1, logits);
  REQUIRE(logits.size() == 4);
  constexpr double factor = -8.260697364807129;  // of head 0 in layer 0
  CHECK(logits[0] == doctest::Approx(factor * (0.2 - 0.25 / 1.2)).epsilon(1e-12));
  CHECK(logits[1] == doctest::Approx(factor * (0.3 - 0.35 / 1.2)).epsilon(1e-12));
  CHECK(logits[2] == doctest::Approx(factor * (0.3 - 0.35 / 1.2)).epsilon(1e-12));
  CHECK(logits[3] == doctest::Approx(factor * (0.4 - 0.49 / 1.2)).epsilon(1e-12));
}

TEST_CASE("a text of fewer than three tokens has no contacts") {
  const ContactHead head = head_of("esm_contacts");
  std::vector<double> logits;
  head.add(0, Tensor({1, 4, 2, 2}, std::vector<double>(16, 0.5)), {0, 2}, 1, logits);
  CHECK(logits.empty());
  const Tensor none = head.probabilities(logits);
  CHECK(none.shape() == Shape{1, 1, 1});
  CHECK(none.values<double>()[0] == 0);
}

}  // namespace
}  // namespace attn
