#include "why/reverse_pass.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/positions.hpp"
#include "error_from.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

// A random vector of length 1, of the shape of `like`.
Tensor direction(const Tensor& like, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> numbers(like.size());
  double squares = 0;
  for (double& number : numbers) {
    number = static_cast<double>(random()) / 0x1p31 - 1;
    squares += number * number;
  }
  for (double& number : numbers) number /= std::sqrt(squares);
  return {like.shape(), std::move(numbers)};
}

Tensor moved(const Tensor& x, const Tensor& along, double step) {
  return mapped(
      1, [=](double a, double b) { return a + step * b; }, x, along);
}

double product_of(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a.values<double>()[i] * b.values<double>()[i];
  return sum;
}

// The derivative by four values around 0. Its error is h⁴/30 of the fifth derivative and at most
// 3/2 of the values' rounding over h: with h = 10⁻⁴ and values of size 10 that are right to 10⁻¹⁴
// it is 2·10⁻⁹ where that derivative is below 10⁸, as in the sharpest of the models. A change of
// length h moves no number by more than h, so that few pass a corner of ReLU or another expert.
double by_differences(const std::function<double(double)>& value) {
  constexpr double h = 1e-4;
  return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
}

class Probe : ReversePass {
 public:
  explicit Probe(const ModelPass& pass) : ReversePass(pass, false) {
    keep_own();
    choose({3, 5});
    gradients_ = reversed(entering(own_, 0), length_ - 1);
  }

  // The derivative along random changes of all that is written into the stream, both ways.
  std::pair<double, double> of_all() {
    double exact = product_of(gradients_.layers[0].states, direction(entering(own_, 0), 1));
    for (std::size_t n = 0; n < stack_.count; ++n) {
      const LayerGradients& by = gradients_.layers[n];
      if (by.heads) exact += product_of(by.heads, direction(by.heads, seed(n, 1)));
      if (by.feed_forward) {
        exact += product_of(by.feed_forward, direction(by.feed_forward, seed(n, 2)));
      }
    }
    return {exact, by_differences([&](double step) {
              begin();
              Tensor states = moved(entering(own_, 0), direction(entering(own_, 0), 1), step);
              for (std::size_t n = 0; n < stack_.count; ++n) {
                StepOptions options;
                options.self_heads = [&](Tensor& numbers) {
                  numbers = moved(numbers, direction(numbers, seed(n, 1)), step);
                };
                options.feed_forward = [&](Tensor& numbers) {
                  numbers = moved(numbers, direction(numbers, seed(n, 2)), step);
                };
                states = stepped(n, states, 0, options);
              }
              return differences(states).front();
            })};
  }

  // Of the queries, keys or values of a layer.
  std::pair<double, double> of_rows(PatchedPart part, std::size_t n) {
    const LayerGradients& by = gradients_.layers[n];
    const Tensor& exact = part == PatchedPart::queries ? by.query
                          : part == PatchedPart::keys  ? by.key
                                                       : by.value;
    const Tensor along = direction(exact, 7);
    return {product_of(exact, along), by_differences([&](double step) {
              AttentionRequest request = own_.layers[n].request;
              Tensor& rows = std::get<ScaledDotProduct>(request.score).*sequence_of(part);
              rows = moved(rows, along, step);
              return after(n, attend(request).output);
            })};
  }

  // Of the weights of a layer, as the derivative by what they sum up: Σ w·dw = Σ o·do, where no
  // gate stands behind the sum.
  std::pair<double, double> of_weights(std::size_t n) {
    AttentionRequest request = own_.layers[n].request;
    request.weights = true;
    const LayerGradients& by = gradients_.layers[n];
    return {product_of(by.weights, attend(request).weights),
            product_of(by.heads, own_.layers[n].outputs)};
  }

  std::size_t layers() const { return stack_.count; }

 private:
  static unsigned seed(std::size_t n, unsigned part) {
    return static_cast<unsigned>(10 * n) + 100 + part;
  }

  double after(std::size_t n, const Tensor& outputs) {
    begin();
    StepOptions options;
    options.self_heads = [&](Tensor& numbers) { numbers = outputs; };
    const Tensor states = stepped(n, own_.layers[n].entering, 0, options);
    return from_layer(n + 1, states, 0).front();
  }

  LogitGradients gradients_;
};

void check_same(const std::pair<double, double>& both) {
  CHECK(std::abs(both.first - both.second) <= 1e-7 * std::max(1.0, std::abs(both.first)));
}

TEST_CASE("derivatives of a logit are those of small changes, for every family") {
  const std::filesystem::path cases = std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";
  std::size_t count = 0;
  std::set<std::string> refused;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const ModelFolder model = ModelFolder::open(entry.path() / "checkpoint", std::nullopt, {});
    if (!has_head(model.architecture, model.weights) ||
        model.architecture.senses(model.architecture.stacks.front())) {
      continue;
    }
    const JsonValue document = parse_json_by_element(read_text(entry.path() / "input.json"), 1000);
    ModelTexts text;
    text.ids = {id_lists(document.find("token_ids")).front()};
    const auto types = id_lists(document.find("token_types"));
    if (!types.empty()) text.types = {types.front()};
    if (model.architecture.encoder_decoder()) text.decoder_ids = {{2, 7, 4, 9}};
    ModelOptions options;
    options.dtype = DType::float64;
    options.threads = 1;
    try {
      Probe probe({model.architecture, model.weights, text, options});
      check_same(probe.of_all());
      ++count;
    } catch (const Error& error) {
      refused.insert(name);
      CHECK(error.problem() ==
            std::string(
                name == "gemma3n_streams"
                    ? "parts are not patched where the states are several streams"
                    : "there are no gradients through layers that mix tokens without attention "
                      "weights"));
    }
  }
  CHECK(count >= 100);
  std::string names;
  for (const std::string& name : refused) names += name + " ";
  CHECK(names ==
        "bamba_indices deberta_v2_convolution falcon_h1_beside gemma3n_streams "
        "granitemoehybrid_state_space "
        "jamba_mamba lfm2_convolutions lfm2_moe_corrected nemotron_h_single_parts "
        "qwen3_5_moe_shared_expert qwen3_5_text_part qwen3_next_delta_rule ");
}

TEST_CASE("derivatives by queries, keys, values and weights are those of small changes") {
  for (const char* name : {"gpt2_bare_names", "gpt_neox_pythia_f16", "llama_grouped",
                           "gemma2_soft_caps_bf16", "qwen3_head_norms", "gpt_oss_sinks_bf16"}) {
    CAPTURE(name);
    StoredCircuits own("gpt2_bare_names");
    own.model = ModelFolder::open(own.folder.parent_path() / name / "checkpoint", std::nullopt, {});
    own.text.ids = {{5, 6, 7, 8, 9, 10}};
    Probe probe(own.pass());
    for (std::size_t n = 0; n < probe.layers(); ++n) {
      CAPTURE(n);
      for (const PatchedPart part :
           {PatchedPart::queries, PatchedPart::keys, PatchedPart::values}) {
        check_same(probe.of_rows(part, n));
      }
      check_same(probe.of_weights(n));
    }
  }
}

}  // namespace
}  // namespace attn
