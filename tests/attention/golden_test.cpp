#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/spec.hpp"

#include "attention/random_request.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;

struct Case {
  std::string name;
  AttentionRequest request;
  std::map<std::string, Tensor> expected;
};

// Words are read one by one: >> reads no "inf" as a number.
std::vector<double> read_numbers(std::istream& line) {
  std::vector<double> result;
  for (std::string word; line >> word;) result.push_back(std::strtod(word.c_str(), nullptr));
  return result;
}

void set_option(AttentionRequest& request, const std::string& option, std::istream& line) {
  if (option == "align") {
    std::string word;
    line >> word;
    REQUIRE((word == "upper_left" || word == "lower_right"));
    request.mask.align =
        word == "lower_right" ? attn::Alignment::lower_right : attn::Alignment::upper_left;
    return;
  }
  const std::vector<double> values = read_numbers(line);
  const auto reach = [&](std::size_t i) -> std::optional<std::size_t> {
    if (values.at(i) < 0) return std::nullopt;
    return static_cast<std::size_t>(values[i]);
  };
  if (option == "heads") {
    request.heads = reach(0);
  } else if (option == "scale") {
    request.scale = values.at(0);
  } else if (option == "softcap") {
    request.softcap = values.at(0);
  } else if (option == "causal") {
    request.mask.causal = values.at(0) != 0;
  } else if (option == "window") {
    request.mask.window = attn::Window{reach(0), reach(1)};
  } else if (option == "global") {
    for (const double position : values) {
      request.mask.global.push_back(static_cast<std::size_t>(position));
    }
  } else if (option == "fill") {
    request.mask.fill = values.at(0);
  } else {
    FAIL("unknown option " << option);
  }
}

void set_tensor(Case& read, const std::string& name, std::istream& line) {
  Shape shape;
  for (std::string word; line >> word && word != ":";) shape.push_back(std::stoul(word));
  const Tensor tensor(shape, read_numbers(line));
  const std::string prefix = "expected.";
  if (name.starts_with(prefix)) {
    read.expected[name.substr(prefix.size())] = tensor;
    return;
  }
  AttentionRequest& request = read.request;
  const std::map<std::string, Tensor*> places{{"query", &request.query},
                                              {"key", &request.key},
                                              {"value", &request.value},
                                              {"scores", &request.scores},
                                              {"past_key", &request.past_key},
                                              {"past_value", &request.past_value},
                                              {"W", &request.W},
                                              {"W_k.weight", &request.W_k},
                                              {"W_q.weight", &request.W_q},
                                              {"w_v.weight", &request.w_v},
                                              {"mask.padding", &request.mask.padding},
                                              {"mask.allow", &request.mask.allow},
                                              {"mask.block", &request.mask.block},
                                              {"mask.bias", &request.mask.bias},
                                              {"mask.valid_lens", &request.mask.valid_lens}};
  CAPTURE(name);
  REQUIRE(places.contains(name));
  const bool boolean = name == "mask.padding" || name == "mask.allow" || name == "mask.block";
  *places.at(name) = name == "mask.valid_lens" ? tensor.converted(DType::int64)
                     : boolean                 ? tensor.converted(DType::boolean)
                                               : tensor;
}

std::vector<Case> read_cases() {
  std::ifstream file(std::string(ATTN_TEST_DATA) + "/attention/golden/cases.txt");
  std::vector<Case> cases;
  Case read;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word, name;
    line >> word;
    if (word == "case") {
      read = {};
      read.name = text.substr(std::string("case ").size());
    } else if (word == "kind") {
      line >> name;
      REQUIRE(attn::find_kind(name) != nullptr);
      read.request.kind = attn::find_kind(name)->kind;
    } else if (word == "set") {
      line >> name;
      set_option(read.request, name, line);
    } else if (word == "tensor") {
      line >> name;
      set_tensor(read, name, line);
    } else {
      REQUIRE(text == "end");
      cases.push_back(read);
    }
  }
  return cases;
}

// The largest difference, relative to the expected number or, if that is below 1, to 1. Infinite
// if the shapes differ, a zero weight is not 0, or an infinity stands in another place.
double largest_difference(const Tensor& result, const Tensor& expected, bool zeros_are_exact) {
  if (result.shape() != expected.shape()) return HUGE_VAL;
  const std::vector<double> found = numbers(result), wanted = numbers(expected);
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    if (zeros_are_exact && wanted[i] == 0) return HUGE_VAL;
    if (!std::isfinite(found[i])) return HUGE_VAL;
    largest =
        std::max(largest, std::abs(found[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i])));
  }
  return largest;
}

double largest_difference(const Case& expected, const AttentionResult& result) {
  double largest = 0;
  for (const auto& [name, tensor] : expected.expected) {
    const bool weights = name == "weights";
    const Tensor& found = weights ? result.weights : name == "output" ? result.output : result.lse;
    largest = std::max(largest, largest_difference(found, tensor, weights));
  }
  return largest;
}

TEST_CASE("float64 inputs give PyTorch's numbers to rounding") {
  const std::vector<Case> cases = read_cases();
  REQUIRE(cases.size() == 42);
  double largest = 0;
  for (const Case& one : cases) {
    CAPTURE(one.name);
    AttentionRequest request = one.request;
    request.dtype = DType::float64;
    request.stages = true;
    const double difference = largest_difference(one, attn::attend(request));
    CHECK(difference <= 1e-12);
    largest = std::max(largest, difference);
  }
  MESSAGE("largest difference to PyTorch in float64: " << largest);
}

TEST_CASE("float32 inputs give PyTorch's numbers to the precision of float32") {
  double largest = 0;
  for (const Case& one : read_cases()) {
    CAPTURE(one.name);
    AttentionRequest request = one.request;
    request.stages = true;
    for (Tensor* tensor : {&request.query, &request.key, &request.value, &request.scores,
                           &request.past_key, &request.past_value, &request.W, &request.W_k,
                           &request.W_q, &request.w_v, &request.mask.bias}) {
      *tensor = tensor->converted(DType::float32);
    }
    const double difference = largest_difference(one, attn::attend(request));
    CHECK(difference <= 2e-5);
    largest = std::max(largest, difference);
  }
  MESSAGE("largest difference to PyTorch in float32: " << largest);
}

}  // namespace
