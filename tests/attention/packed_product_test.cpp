#include "attention/packed_product.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attention/linear.hpp"
#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/matrix_product.hpp"
#include "tensor/operations.hpp"

namespace {

using namespace attn::testing;
using attn::DType;
using attn::KeptMatrix;
using attn::KeptPacking;
using attn::StoredLinear;
using attn::StoredMatrix;
using attn::Tensor;

constexpr std::size_t plenty = std::size_t{1} << 24U;

// A matrix whose rows count how often they are made.
struct CountedRows {
  explicit CountedRows(Tensor weight)
      : matrix(attn::MadeRows{
            weight.shape()[0], weight.shape()[1], [this, weight](std::size_t row, float* to) {
              ++made;
              const auto from = weight.values<float>();
              const std::size_t width = weight.shape()[1];
              std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * width), width, to);
            }}) {}

  std::atomic<std::size_t> made = 0;
  StoredMatrix matrix;
};

TEST_CASE("rows that are kept packed are made once, and give the same products") {
  RandomRequests random(11);
  const Tensor weight = random.normal({250, 70}).converted(DType::float32);
  for (const DType dtype : {DType::float32, DType::float64}) {
    CountedRows counted(weight);
    const auto kept = std::make_shared<KeptPacking>(plenty);
    counted.matrix.keep_packed(kept, "weight");
    std::size_t made = 250;
    for (const std::size_t rows : {40, 7, 130, 200, 30}) {
      for (const std::size_t threads : {1, 3}) {
        CAPTURE(rows);
        CAPTURE(threads);
        // Matrix tiles have a layout of their own.
        if (dtype == DType::float32 && attn::kernels::splits_product(rows, 70)) made = 500;
        const Tensor x = random.normal({rows, 70}).converted(dtype);
        CHECK(same_bits(apply(StoredLinear(counted.matrix, {}), x, threads),
                        apply(StoredLinear(StoredMatrix(weight), {}), x, threads)));
        CHECK(counted.made == made);
      }
    }
    // Some of the rows are a matrix of their own.
    const Tensor x = random.normal({40, 70}).converted(dtype);
    for (int i = 0; i < 2; ++i) {
      CHECK(same_bits(apply(StoredLinear(counted.matrix.rows(100, 90), {}), x, 2),
                      apply(StoredLinear(StoredMatrix(weight).rows(100, 90), {}), x, 2)));
      CHECK(counted.made == made + 90);
    }
  }
}

TEST_CASE("products have the same bits in groups of any number of columns, on any threads") {
  RandomRequests random(15);
  const Tensor x = random.normal({100, 800});
  for (const std::size_t columns : {1, 47, 48, 49, 95, 97, 193, 250}) {
    CAPTURE(columns);
    const StoredLinear linear(StoredMatrix(random.normal({columns, 800})), {});
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor whole = apply(linear, x.converted(dtype), 1);
      for (const std::size_t kilobytes : {1, 512, 1024}) {
        attn::kernels::use_second_level_cache(kilobytes << 10U);
        for (const std::size_t threads : {1, 3}) {
          CHECK(same_bits(apply(linear, x.converted(dtype), threads), whole));
        }
      }
      attn::kernels::use_second_level_cache(0);
    }
  }
}

TEST_CASE("all layouts of a matrix give the same products when its packed rows are kept") {
  RandomRequests random(12);
  for (const DType stored : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    CAPTURE(name(stored));
    const Tensor weight = random.normal({77, 40}).converted(stored);
    const Tensor turned = permuted(weight.converted(DType::float64), {1, 0}).converted(stored);
    for (const bool transposed : {false, true}) {
      StoredMatrix matrix(transposed ? turned : weight, transposed);
      const StoredMatrix plain = matrix;
      matrix.keep_packed(std::make_shared<KeptPacking>(plenty), "weight");
      // The type of x, and with it the form of the packed rows, may change from text to text.
      for (const DType dtype : {DType::float32, DType::float64, DType::float32}) {
        const Tensor x = random.normal({60, 40}).converted(dtype);
        for (const std::size_t threads : {2, 1}) {
          CHECK(same_bits(apply(StoredLinear(matrix, {}), x, threads),
                          apply(StoredLinear(plain, {}), x, threads)));
        }
      }
    }
  }
}

TEST_CASE("matrices without room for their packed rows are packed for each product") {
  RandomRequests random(13);
  const Tensor weight = random.normal({64, 64}).converted(DType::float32);
  const Tensor x = random.normal({32, 64}).converted(DType::float32);
  CountedRows counted(weight);
  counted.matrix.keep_packed(std::make_shared<KeptPacking>(1000), "weight");
  for (std::size_t times = 1; times < 4; ++times) {
    CHECK(same_bits(apply(StoredLinear(counted.matrix, {}), x, 2),
                    apply(StoredLinear(StoredMatrix(weight), {}), x, 2)));
    CHECK(counted.made == 64 * times);
  }
}

TEST_CASE("numbers that matrix tiles cannot hold are packed for vectors, and kept so") {
  RandomRequests random(14);
  Tensor weight = random.normal({64, 64});
  std::vector<double> numbers(weight.values<double>().begin(), weight.values<double>().end());
  numbers[130] = std::numeric_limits<double>::infinity();
  weight = Tensor({64, 64}, numbers).converted(DType::bfloat16);
  StoredMatrix matrix(weight);
  matrix.keep_packed(std::make_shared<KeptPacking>(plenty), "weight");
  for (int i = 0; i < 3; ++i) {
    const Tensor x = random.normal({64, 64}).converted(DType::float32);
    CHECK(same_bits(apply(StoredLinear(matrix, {}), x, 2),
                    apply(StoredLinear(StoredMatrix(weight), {}), x, 2)));
  }
}

TEST_CASE("one caller at a time fills the memory of a matrix, and others find it when it is full") {
  std::atomic<std::size_t> left = 300;
  KeptMatrix first(left), second(left);
  CHECK(first.find(KeptMatrix::Form::floats) == nullptr);
  void* const block = first.claim(KeptMatrix::Form::floats, 200);
  REQUIRE(block != nullptr);
  CHECK(first.claim(KeptMatrix::Form::floats, 200) == nullptr);
  CHECK(first.find(KeptMatrix::Form::floats) == nullptr);
  CHECK(second.claim(KeptMatrix::Form::floats, 200) == nullptr);
  first.complete(KeptMatrix::Form::floats);
  CHECK(first.find(KeptMatrix::Form::floats) == block);
  CHECK(first.claim(KeptMatrix::Form::floats, 50) == nullptr);
  REQUIRE(second.claim(KeptMatrix::Form::parts, 100) != nullptr);
  CHECK(left == 0);
  second.abandon(KeptMatrix::Form::parts);
  CHECK(left == 100);
  CHECK(second.find(KeptMatrix::Form::parts) == nullptr);
  // Another form of the same rows has memory of its own.
  CHECK(first.find(KeptMatrix::Form::doubles) == nullptr);
  void* const doubles = first.claim(KeptMatrix::Form::doubles, 100);
  REQUIRE(doubles != nullptr);
  CHECK(first.find(KeptMatrix::Form::doubles) == nullptr);
  first.complete(KeptMatrix::Form::doubles);
  CHECK(first.find(KeptMatrix::Form::doubles) == doubles);
  CHECK(first.find(KeptMatrix::Form::floats) == block);
}

TEST_CASE("threads that multiply by one matrix at the same time share what one of them packs") {
  RandomRequests random(15);
  const Tensor weight = random.normal({300, 64}).converted(DType::float32);
  const Tensor x = random.normal({50, 64}).converted(DType::float32);
  const Tensor y = apply(StoredLinear(StoredMatrix(weight), {}), x, 1);
  for (int round = 0; round < 20; ++round) {
    StoredMatrix matrix(weight);
    matrix.keep_packed(std::make_shared<KeptPacking>(plenty), "weight");
    std::atomic<int> equal = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int again = 0; again < 3; ++again) {
          if (same_bits(apply(StoredLinear(matrix, {}), x, 1), y)) ++equal;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(equal == 12);
  }
}

}  // namespace
