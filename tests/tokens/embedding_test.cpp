#include "tokens/embedding.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace attn {
namespace {

template <class T>
std::vector<T> list(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

Tensor ids(Shape shape, std::vector<std::int64_t> numbers) {
  return {std::move(shape), std::move(numbers)};
}

const Tensor& three_rows() {
  static const Tensor table({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  return table;
}

const Vocabulary& words() {
  static const auto vocabulary =
      Vocabulary::from_list({"[PAD]", "[UNK]", "weather", "today"}, "/embedding/vocabulary");
  return vocabulary;
}

}  // namespace

TEST_CASE("Words become ids, unknown ones the unknown token's") {
  CHECK(token_rows({{"today", "rain"}, {}, {"weather"}}, words(), 1, "/tokens") ==
        TokenRows{{3, 1}, {}, {2}});
  CHECK(token_rows({{"today"}}, words(), std::nullopt, "/tokens") == TokenRows{{3}});
}

TEST_CASE("An unknown word without an unknown token is an error at its place") {
  CHECK(error_from([] {
          token_rows({{"today"}, {"today", "wether"}}, words(), std::nullopt, "/tokens");
        }) ==
        "token \"wether\" is not in the vocabulary\n  where: /tokens/1/1\n"
        "  help:  did you mean \"weather\"? or name an \"unknown\" token in the embedding");
}

TEST_CASE("Shorter rows are padded to the longest") {
  const TokenBatch batch = padded({{5, 6}, {7, 0, 9}, {}}, 0, "/token_ids");
  CHECK(batch.ids.shape() == Shape{3, 3});
  const auto ids = batch.ids.values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(ids.begin(), ids.end()) ==
        std::vector<std::int64_t>{5, 6, 0, 7, 0, 9, 0, 0, 0});
  CHECK(batch.padding.shape() == Shape{3, 3});
  CHECK(batch.padding.dtype() == DType::boolean);
  const auto padding = batch.padding.values<std::uint8_t>();
  CHECK(std::vector<std::uint8_t>(padding.begin(), padding.end()) ==
        std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("Rows of one length need no pad token and give no padding") {
  const TokenBatch batch = padded({{5, 6}, {7, 8}}, std::nullopt, "/token_ids");
  CHECK(batch.ids.shape() == Shape{2, 2});
  CHECK_FALSE(batch.padding);
}

TEST_CASE("Rows that make no batch are errors") {
  CHECK(error_from([] {
          padded({{1}, {2}, {3, 4}}, std::nullopt, "/token_ids");
        }) ==
        "rows of 1 and of 2 tokens, and no pad token\n  where: /token_ids/2\n"
        "  help:  name a \"pad\" token in the embedding, or give rows of one length");
  for (const TokenRows& rows : {TokenRows{}, TokenRows{{}, {}}}) {
    CHECK(error_from([&] { padded(rows, 0, "/tokens"); }) ==
          "there are no tokens\n  where: /tokens\n  help:  give one row of tokens per sample");
  }
}

// torch 1.13: torch.manual_seed(40), torch.nn.Embedding(10, 8), sinusoidal positions added.
TEST_CASE("Tokens become the hidden states PyTorch gives") {
  const std::vector<double> expected = {
      -1.39660823,   1.48127335,  -1.28661716,  1.16432525,   0.482722908,  1.48805213,
      -1.81730103,   2.01274467,  2.22165182,   0.630606405,  0.880960512,  1.08407843,
      0.163096837,   0.765555778, 0.0877620705, -0.561042928, 0.39719071,   -1.3444943,
      1.27614953,    1.13938453,  -1.84457684,  1.54276035,   1.43675103,   2.18290189,
      -0.0956124599, 0.820887449, 0.492130568,  0.240326025,  0.134046174,  1.88882541,
      -0.418222274,  0.472097606, -0.993534963, 1.15723632,   0.586028704,  0.20605053,
      0.144040008,   1.88847548,  -0.41722228,  0.472094106,  -0.352199256, 1.90549183,
      -0.124762468,  0.806156814, 0.386588931,  1.62082505,   0.964190304,  0.62336114,
      -0.0539382416, -0.12433675, 0.416209596,  -0.575984847, 0.787284813,  0.604193011,
      -0.0232163745, 1.36142189,  0.81384903,   -0.10457044,  0.613821463,  0.169396142,
      0.283916858,   0.509876321, -1.7094476,   -0.115722272, -1.47105927,  -0.556757656,
      1.95539775,    2.56662051,  0.728575825,  -0.108632158, -0.472370352, 1.41045854,
      -0.922902476,  -1.46138479, 0.339412132,  1.04868896,   0.876459998,  1.30557811,
      0.15918177,    -0.151794327};
  const auto vocabulary = Vocabulary::from_list(
      {"[PAD]", "[UNK]", "我", "喜欢", "学习", "今天", "是", "晴天", "天气", "很好"}, "/v");
  const TokenBatch batch =
      padded(token_rows({{"我", "喜欢", "学习"}, {"今天", "是", "晴天", "天气", "很好"}},
                        vocabulary, vocabulary.find("[UNK]"), "/tokens"),
             vocabulary.find("[PAD]"), "/tokens");
  TorchRandom random(40);
  const Tensor table = torch_embedding_table(random, vocabulary.size(), 8, "/embedding");
  check_embedding_table(table, vocabulary.size(), "/embedding/table");

  const Tensor states = with_sinusoidal_positions(embedded(table, batch.ids, "/tokens"));

  CHECK(list<std::int64_t>(batch.ids) == std::vector<std::int64_t>{2, 3, 4, 0, 0, 5, 6, 7, 8, 9});
  CHECK(states.shape() == Shape{2, 5, 8});
  const auto numbers = states.values<float>();
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(numbers[i]) - expected[i]) <= 3e-6);
  }
  CHECK(list<std::int64_t>(recovered_ids(table, batch.ids, 0)) == list<std::int64_t>(batch.ids));
}

TEST_CASE("An embedding looks rows up in the table's own type") {
  const Tensor batch = ids({2, 2}, {2, 0, 1, 1});
  CHECK(list<float>(embedded(three_rows(), batch, "")) ==
        std::vector<float>{5, 6, 1, 2, 3, 4, 3, 4});
  const Tensor doubles = embedded(three_rows().converted(DType::float64), batch, "");
  CHECK(doubles.shape() == Shape{2, 2, 2});
  CHECK(list<double>(doubles) == std::vector<double>{5, 6, 1, 2, 3, 4, 3, 4});
}

TEST_CASE("An embedding names the place of an id it has no row for") {
  CHECK(error_from([] {
          embedded(three_rows(), ids({2, 2}, {0, 1, 2, 3}), "/token_ids");
        }) ==
        "token id 3 is not in 0…2\n  where: /token_ids/1/1\n"
        "  help:  ids number the rows of the embedding table from 0");
  CHECK(error_from([] {
          embedded(three_rows(), ids({1, 1}, {-1}), "/token_ids");
        }) ==
        "token id -1 is not in 0…2\n  where: /token_ids/0/0\n"
        "  help:  ids number the rows of the embedding table from 0");
  CHECK(error_from([] {
          embedded(three_rows(), ids({1, 1}, {std::numeric_limits<std::int64_t>::min()}), "/t");
        }) ==
        "token id -9223372036854775808 is not in 0…2\n  where: /t/0/0\n"
        "  help:  ids number the rows of the embedding table from 0");
}

TEST_CASE("An embedding table fits its vocabulary") {
  check_embedding_table(three_rows(), std::nullopt, "/embedding/table");
  CHECK(error_from([] { check_embedding_table(three_rows(), 4, "/embedding/table"); }) ==
        "the embedding table [3,2] has 3 rows for 4 tokens\n  where: /embedding/table\n"
        "  help:  give one row per token of the vocabulary");
  CHECK(error_from(
            [] { check_embedding_table(three_rows().reshaped({6}), 6, "/embedding/table"); }) ==
        "the embedding table has shape [6]\n  where: /embedding/table\n"
        "  help:  give a table [V,E]: one row per token");
  CHECK(error_from([] {
          check_embedding_table(ids({1, 1}, {0}), 1, "/embedding/table");
        }) ==
        "the embedding table holds int64\n  where: /embedding/table\n"
        "  help:  give it as float32 or float64");
}

TEST_CASE("A new embedding table has a sensible size") {
  TorchRandom random(0);
  CHECK(error_from([&] { torch_embedding_table(random, 3, 0, "/embedding/dimension"); }) ==
        "the embedding table [3,0] is empty\n  where: /embedding/dimension\n"
        "  help:  give at least one token and a dimension of at least 1");
  const std::string error = error_from(
      [&] { torch_embedding_table(random, 1U << 20U, 1U << 30U, "/embedding/dimension"); });
  CHECK(error.starts_with("the embedding table [1048576,1073741824] would take 4.5 PB"));
}

TEST_CASE("Sinusoidal positions alternate sine and cosine of falling frequency") {
  const Tensor even = sinusoidal_positions(3, 4, DType::float64);
  CHECK(even.shape() == Shape{3, 4});
  const std::vector<double> expected = {0,
                                        1,
                                        0,
                                        1,
                                        std::sin(1.0),
                                        std::cos(1.0),
                                        std::sin(0.01),
                                        std::cos(0.01),
                                        std::sin(2.0),
                                        std::cos(2.0),
                                        std::sin(0.02),
                                        std::cos(0.02)};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(even.values<double>()[i] == doctest::Approx(expected[i]).epsilon(1e-15));
  }

  const Tensor odd = sinusoidal_positions(2, 3, DType::float32);
  const double third = std::sin(1 / std::pow(10000.0, 2.0 / 3.0));
  CHECK(list<float>(odd) == std::vector<float>{0, 1, 0, static_cast<float>(std::sin(1.0)),
                                               static_cast<float>(std::cos(1.0)),
                                               static_cast<float>(third)});
  CHECK(list<float>(sinusoidal_positions(2, 1, DType::float32)) ==
        std::vector<float>{0, static_cast<float>(std::sin(1.0))});
}

TEST_CASE("Positions are added to every sample alike") {
  const Tensor sum = with_sinusoidal_positions(Tensor({2, 2, 1}, std::vector<double>{1, 2, 3, 4}));
  CHECK(list<double>(sum) == std::vector<double>{1, 2 + std::sin(1.0), 3, 4 + std::sin(1.0)});
}

TEST_CASE("Recovery takes the row of the largest dot product, the first on ties") {
  // Row 1 is longer than row 0 and points the same way; rows 2 and 3 are equal.
  const Tensor table({5, 2}, std::vector<float>{1, 0, 2, 0, 0, 3, 0, 3, 0, 0});
  CHECK(list<std::int64_t>(recovered_ids(table, ids({2, 3}, {0, 1, 2, 3, 4, 0}), 2)) ==
        std::vector<std::int64_t>{1, 1, 2, 2, 0, 1});
  // More columns than one group of sums has.
  std::vector<double> identity(11 * 11, 0.0);
  for (std::size_t i = 0; i < 11; ++i) identity[i * 12] = 1;
  CHECK(list<std::int64_t>(recovered_ids(Tensor({11, 11}, identity), ids({1, 3}, {10, 7, 0}), 1)) ==
        std::vector<std::int64_t>{10, 7, 0});
}

TEST_CASE("Recovery counts NaN as largest, as torch.argmax does") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor table({4, 1}, std::vector<float>{1, nan, 3, nan});
  CHECK(list<std::int64_t>(recovered_ids(table, ids({1, 2}, {0, 1}), 1)) ==
        std::vector<std::int64_t>{1, 0});
}

}  // namespace attn
