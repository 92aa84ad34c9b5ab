#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

using namespace attn;

TEST_CASE("a matrix is written a row a line, each number in its shortest form") {
  CHECK(csv_text(Tensor({2, 3}, std::vector<float>{1, 0.1F, -0.0F, 1e-45F, 3.4028235e38F, 2.5F})) ==
        "1,0.1,-0\n1e-45,3.4028235e+38,2.5\n");
  CHECK(csv_text(Tensor({1, 1}, std::vector<double>{0.1})) == "0.1\n");
  CHECK(csv_text(Tensor({2, 1}, std::vector<std::int64_t>{-7, 8})) == "-7\n8\n");
  CHECK(csv_text(Tensor({1, 2}, std::vector<std::uint8_t>{1, 0})) == "1,0\n");
}

TEST_CASE("numbers of the narrow types are written as the float32 of the same value") {
  // 0.1 is 0.10009765625 in bfloat16 and 0.0999755859375 in float16.
  const Tensor matrix({2, 2}, std::vector<float>{1, 0.1F, -0.0F, 2.5F});
  CHECK(csv_text(matrix.converted(DType::bfloat16)) == "1,0.100097656\n-0,2.5\n");
  CHECK(csv_text(matrix.converted(DType::float16)) == "1,0.099975586\n-0,2.5\n");
}

TEST_CASE("infinities and NaN are written as most programs read them") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(csv_text(Tensor({1, 4}, std::vector<double>{infinity, -infinity, std::nan(""),
                                                    -std::nan("")})) == "inf,-inf,nan,nan\n");
}

TEST_CASE("what is no matrix cannot be written as comma-separated values") {
  CHECK_THROWS_WITH_AS(
      csv_text(Tensor({1, 2, 3}, std::vector<float>(6))),
      "a tensor of shape [1,2,3] cannot be written as comma-separated values, which hold one "
      "matrix\n  help:  choose another format, or one matrix of the tensor",
      Error);
  CHECK_THROWS_AS(csv_text(Tensor({3}, std::vector<float>(3))), Error);
  CHECK_THROWS_AS(csv_text(Tensor()), Error);
}
