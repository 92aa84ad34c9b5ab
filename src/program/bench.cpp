#include "attn/bench.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "kernels/cpu_target.hpp"
#include "report/facts.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return seconds_since(start);
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

// Peak in GFLOP/s, the best of several short runs: other work of the machine only lowers it.
double measured_peak(DType dtype, std::size_t threads) {
  constexpr std::size_t rounds = 1000000;
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    std::vector<double> operations(threads);
    const double seconds = seconds_of([&] {
      parallel_for(threads, threads, [&](std::size_t i) {
        operations[i] = dtype == DType::float64 ? kernels::multiply_add_doubles(rounds)
                                                : kernels::multiply_add_floats(rounds);
      });
    });
    best = std::max(best, std::accumulate(operations.begin(), operations.end(), 0.0) / seconds);
  }
  return best * 1e-9;
}

// Evenly distributed between ±√3 times the deviation. The speed does not depend on what
// the numbers are, so that any mixing of the bits of an index will do (Steele et al. 2014,
// SplitMix64).
Tensor random_tensor(Shape shape, DType dtype, std::uint64_t seed, double deviation) {
  std::vector<float> numbers(element_count(shape));
  const auto largest = static_cast<float>(std::numbers::sqrt3 * deviation);
  constexpr std::size_t chunk = 1 << 16U;
  parallel_for((numbers.size() + chunk - 1) / chunk, 0, [&](std::size_t at) {
    const std::size_t end = std::min(numbers.size(), (at + 1) * chunk);
    for (std::size_t i = at * chunk; i < end; ++i) {
      std::uint64_t bits = (seed << 40U) + (i + 1) * 0x9E3779B97F4A7C15U;
      bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
      bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
      const auto unit = static_cast<float>(bits >> 40U) * 0x1p-24F;
      numbers[i] = (2 * unit - 1) * largest;
    }
  });
  return Tensor(std::move(shape), std::move(numbers)).converted(dtype);
}

std::size_t count_of(const Shape& shape) {
  try {
    return element_count(shape);
  } catch (const Error& error) {
    throw error.inside("the sizes of BenchRequest");
  }
}

// Whether the rate counts values of tanh instead of floating-point operations.
bool counts_tanh(const BenchRequest& request) {
  return request.kind == Kind::additive;
}

bool has_expressions(const BenchRequest& request) {
  return !request.score.empty() || !request.where.empty() || !request.weight.empty();
}

AttentionRequest attention_of(const BenchRequest& request) {
  const std::size_t width = request.width;
  const Shape query{request.batch, request.heads, request.queries, width};
  const Shape key{request.batch, request.heads, request.keys, width};
  const Shape weights{request.batch, request.heads, request.queries, request.keys};
  // Counts that element_count() admits are so far below the largest number that their sum fits.
  const std::size_t numbers =
      2 * (count_of(query) + count_of(key)) + (request.weights ? count_of(weights) : 0);
  check_memory(numbers, size_of(request.dtype), translated("the tensors of a shape"),
               "the sizes of BenchRequest");
  const auto random = [&](const Shape& shape, std::uint64_t seed, double deviation = 1) {
    return random_tensor(shape, request.dtype, seed, deviation);
  };
  // Sums of products of such numbers grow with the width; this keeps them near 1.
  const double reduced = 1 / std::sqrt(static_cast<double>(width));
  AttentionRequest attention;
  attention.score = score_of(request.kind);
  attention.dtype = request.dtype;
  Sequences& sequences = *sequences_of(attention.score);
  sequences.query = random(query, 1);
  sequences.key = random(key, 2);
  sequences.value = random(key, 3);
  const std::vector<Tensor*> parameters = parameters_of(attention.score);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Shape shape = shape_of(info(request.kind).parameters[i], width, width, width);
    *parameters[i] = random(shape, 4 + i, reduced);
  }
  if (!info(request.kind).scales_by_width && !counts_tanh(request)) attention.scale = reduced;
  attention.mask.causal = request.causal;
  attention.mask.window = request.window;
  if (request.rotary) attention.rotary.emplace();
  if (request.norms) {
    attention.query_norm = attention.key_norm = Norm{random({width}, 10), {}, NormKind::rms};
  }
  if (request.alibi) attention.mask.alibi.emplace();
  if (request.relative_bias) {
    RelativeBias& bias = attention.relative_bias.emplace();
    bias.table = random({bias.buckets, request.heads}, 11);
  }
  if (request.sinks) attention.sinks = random({request.heads}, 9);
  attention.score_expression.text = request.score;
  attention.mask.where.text = request.where;
  attention.weight_expression.text = request.weight;
  attention.weights = request.weights;
  attention.threads = request.threads;
  return attention;
}

double operations(const BenchRequest& request) {
  const double pairs = static_cast<double>(request.batch) * static_cast<double>(request.heads) *
                       static_cast<double>(request.queries) * static_cast<double>(request.keys);
  const double each = counts_tanh(request) ? 1 : 4;
  return each * pairs * static_cast<double>(request.width) * (request.causal ? 0.5 : 1);
}

std::string shape_text(const BenchRequest& request) {
  return std::to_string(request.batch) + "," + std::to_string(request.heads) + "," +
         std::to_string(request.queries) + "," + std::to_string(request.keys) + "," +
         std::to_string(request.width);
}

std::string side_text(const std::optional<std::size_t>& side) {
  return side ? std::to_string(*side) : "-1";
}

std::string attention_text(const BenchRequest& request) {
  std::string text(info(request.kind).name);
  if (request.dtype != DType::float32) text += std::string(" ") + name(request.dtype);
  if (request.causal) text += " causal";
  if (request.window) {
    text += " window " + side_text(request.window->left) + "," + side_text(request.window->right);
  }
  if (request.rotary) text += " rotary";
  if (request.norms) text += " norms";
  if (request.alibi) text += " alibi";
  if (request.relative_bias) text += translated(" relative bias");
  if (request.sinks) text += " sinks";
  if (request.weights) text += " weights";
  for (const auto& [name, expression] :
       {std::pair("score", request.score), {"where", request.where}, {"weight", request.weight}}) {
    if (!expression.empty()) text += std::string("  ") + name + ": " + shown_name(expression);
  }
  return text;
}

constexpr std::size_t shape_columns = 20, number_columns = 11;

std::string line(const std::string& shape, const std::vector<std::string>& numbers,
                 const std::string& attention) {
  std::string text = padded_right(shape, shape_columns);
  for (const std::string& number : numbers) text += padded_left(number, number_columns);
  return text + "  " + attention + "\n";
}

}  // namespace

std::vector<BenchRequest> usual_shapes(const BenchRequest& request) {
  std::vector<BenchRequest> requests;
  const auto add = [&](std::size_t batch, std::size_t heads, std::size_t length,
                       std::size_t width) {
    requests.push_back(request);
    requests.back().batch = batch;
    requests.back().heads = heads;
    requests.back().queries = requests.back().keys = length;
    requests.back().width = width;
  };
  if (counts_tanh(request)) {
    add(4, 1, 512, 128);
    return requests;
  }
  add(128, 1, 512, 1024);
  add(1, 12, 2048, 64);
  add(1, 1, 8192, 64);
  add(2, 8, 512, 64);
  add(8, 8, 192, 8);
  return requests;
}

BenchResult bench(const BenchRequest& request) {
  if (info(request.kind).family != Family::score) {
    throw Error(ErrorKind::usage,
                translated("{1} attention cannot be timed", info(request.kind).name),
                "BenchRequest::kind",
                translated("choose dot_product, scaled_dot_product, general or additive"));
  }
  const AttentionRequest attention = attention_of(request);
  AttentionRequest plain = attention;
  plain.score_expression = plain.mask.where = plain.weight_expression = {};
  BenchResult result;
  result.request = request;
  const std::size_t threads = thread_count(request.threads);
  result.peak_gflops = measured_peak(request.dtype, threads);
  constexpr double wanted_seconds = 1;
  constexpr std::size_t least_runs = 3, most_runs = 1000;
  std::vector<double> seconds;
  attend(attention);  // caches and clock rates settle
  for (double total = 0;
       seconds.size() < least_runs || (total < wanted_seconds && seconds.size() < most_runs);
       total += seconds.back()) {
    seconds.push_back(seconds_of([&] { attend(attention); }));
    if (!has_expressions(request)) continue;
    const double without = seconds_of([&] { attend(plain); });
    result.without_expressions =
        seconds.size() == 1 ? without : std::min(result.without_expressions, without);
  }
  result.peak_gflops = std::max(result.peak_gflops, measured_peak(request.dtype, threads));
  result.runs = seconds.size();
  result.best_seconds = *std::min_element(seconds.begin(), seconds.end());
  result.seconds = median(std::move(seconds));
  result.giga_rate = operations(request) / result.seconds * 1e-9;
  return result;
}

std::string bench_heading(bool additive) {
  return line("B,H,Lq,Lk,D",
              {translated("runs"), translated("median ms"), translated("best ms"),
               translated("rate"), translated("peak"), translated("of peak")},
              translated("attention")) +
         line("", {"", "", "", "GFLOP/s", "GFLOP/s", "%"},
              additive ? translated("(additive: rate in 10\u2079 tanh/s)") : std::string());
}

namespace {

// The shortest run with expressions in those without.
double times_without(const BenchResult& result) {
  return result.best_seconds / result.without_expressions;
}

// Five significant digits: the clock and the machine's noise leave no more.
double rounded(double measured) {
  const std::string text = with_digits(measured, 5);
  std::from_chars(text.data(), text.data() + text.size(), measured);
  return measured;
}

}  // namespace

std::string bench_text(const BenchResult& result) {
  const BenchRequest& request = result.request;
  const std::string fraction =
      counts_tanh(request) ? "-" : with_decimals(100 * result.giga_rate / result.peak_gflops, 1);
  return line(shape_text(request),
              {std::to_string(result.runs), with_decimals(result.seconds * 1e3, 3),
               with_decimals(result.best_seconds * 1e3, 3), with_decimals(result.giga_rate, 1),
               with_decimals(result.peak_gflops, 1), fraction},
              attention_text(request) + (has_expressions(request)
                                             ? translated("; {1} times the time without",
                                                          with_decimals(times_without(result), 2))
                                             : ""));
}

std::string bench_json(const BenchResult& result) {
  const BenchRequest& request = result.request;
  const bool tanh = counts_tanh(request);
  return json_text(
      object({{"shape",
               Shape{request.batch, request.heads, request.queries, request.keys, request.width}},
              {"seconds", rounded(result.seconds)},
              {tanh ? "gtanh" : "gflops", rounded(result.giga_rate)},
              {"peak_gflops", rounded(result.peak_gflops)},
              {"fraction_of_peak", only_if(!tanh, rounded(result.giga_rate / result.peak_gflops))},
              {"times_without_expressions",
               only_if(has_expressions(request), rounded(times_without(result)))}}),
      JsonLayout::line);
}

}  // namespace attn
