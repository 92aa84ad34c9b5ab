#include "tensor/torch_random.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace attn {
namespace {

constexpr std::size_t group = 16;

// Turns 16 uniform numbers into 16 normal ones by Box and Muller, 1958. Numbers j and j + 8 are the
// coordinates of one pair.
void box_muller(std::span<float> numbers) {
  constexpr std::size_t half = group / 2;
  for (std::size_t j = 0; j < half; ++j) {
    const double u1 = 1.0F - numbers[j];  // in (0, 1]: the logarithm stays finite
    const double u2 = numbers[j + half];
    const double radius = std::sqrt(-2 * std::log(u1));
    const double angle = 2 * std::numbers::pi * u2;
    numbers[j] = static_cast<float>(radius * std::cos(angle));
    numbers[j + half] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

struct TorchRandom::Engine {
  std::mt19937 twister;
};

TorchRandom::TorchRandom(std::uint64_t seed)
    : engine_(
          new Engine{std::mt19937(static_cast<std::mt19937::result_type>(seed & 0xffffffffU))}) {}
TorchRandom::~TorchRandom() = default;

TorchRandom::TorchRandom(const TorchRandom& other)
    : engine_(std::make_unique<Engine>(*other.engine_)), kept_(other.kept_) {}

TorchRandom& TorchRandom::operator=(const TorchRandom& other) {
  *engine_ = *other.engine_;
  kept_ = other.kept_;
  return *this;
}

void TorchRandom::uniform(std::span<float> numbers, float low, float high) {
  for (float& number : numbers) {
    const auto bits = static_cast<std::uint32_t>(engine_->twister()) & 0xffffffU;
    const float unit = static_cast<float>(bits) * 0x1p-24F;
    // Rounded once, as PyTorch's AVX2 code does.
    number = std::fma(unit, high - low, low);
  }
}

void TorchRandom::normal(std::span<float> numbers) {
  if (numbers.size() < group) {
    for (float& number : numbers) number = static_cast<float>(normal_one_by_one());
    return;
  }
  uniform(numbers);
  std::size_t done = 0;
  for (; done + group <= numbers.size(); done += group) box_muller(numbers.subspan(done, group));
  if (done < numbers.size()) {
    // The last 16 numbers are drawn again, including those that were normal already.
    const std::span<float> last = numbers.last(group);
    uniform(last);
    box_muller(last);
  }
}

void TorchRandom::bernoulli(std::span<std::uint8_t> kept, double keep) {
  for (std::uint8_t& one : kept) one = uniform53() < keep;
}

double TorchRandom::uniform53() {
  const auto high = static_cast<std::uint64_t>(engine_->twister());
  const auto low = static_cast<std::uint64_t>(engine_->twister());
  const std::uint64_t bits = ((high << 32U) | low) & ((std::uint64_t{1} << 53U) - 1);
  return static_cast<double>(bits) * 0x1p-53;
}

double TorchRandom::normal_one_by_one() {
  if (kept_) return *std::exchange(kept_, std::nullopt);
  const double u1 = uniform53();
  const double u2 = uniform53();
  const double radius = std::sqrt(-2 * std::log1p(-u2));
  const double angle = 2 * std::numbers::pi * u1;
  kept_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

Tensor torch_randn(TorchRandom& random, Shape shape) {
  std::vector<float> numbers(element_count(shape));
  random.normal(numbers);
  return {std::move(shape), std::move(numbers)};
}

Tensor torch_rand(TorchRandom& random, Shape shape) {
  std::vector<float> numbers(element_count(shape));
  random.uniform(numbers);
  return {std::move(shape), std::move(numbers)};
}

Tensor torch_linear_bias(TorchRandom& random, std::size_t outputs, std::size_t inputs) {
  std::vector<float> numbers(outputs);
  const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(inputs)));
  random.uniform(numbers, -bound, bound);
  return {{outputs}, std::move(numbers)};
}

Tensor torch_linear_weight(TorchRandom& random, std::size_t outputs, std::size_t inputs) {
  Shape shape{outputs, inputs};
  std::vector<float> numbers(element_count(shape));
  // Gain √(2 / (1 + a²)) with a = √5, standard deviation gain / √inputs, bound √3 times that, with
  // PyTorch's roundings.
  const double gain = std::sqrt(2.0 / (1 + std::sqrt(5.0) * std::sqrt(5.0)));
  const double bound = std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(inputs)));
  random.uniform(numbers, static_cast<float>(-bound), static_cast<float>(bound));
  return {std::move(shape), std::move(numbers)};
}

}  // namespace attn
