#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "support/overloaded.hpp"

namespace attn::testing {

/// One computation as another program recorded it: its options, its tensors in float64, and the
/// results by name.
struct RecordedCase {
  std::string name;
  std::map<std::string, std::vector<std::string>> options;
  std::map<std::string, Tensor> tensors, expected;

  std::string word(const std::string& option, const std::string& otherwise = "") const {
    const auto found = options.find(option);
    return found == options.end() ? otherwise : found->second.at(0);
  }
  std::optional<double> number(const std::string& option) const {
    if (!options.contains(option)) return std::nullopt;
    return std::strtod(word(option).c_str(), nullptr);
  }
  std::optional<std::size_t> count(const std::string& option) const {
    if (!options.contains(option)) return std::nullopt;
    return std::stoul(word(option));
  }
  /// Absent if the case has none of that name.
  Tensor tensor(const std::string& tensor_name) const {
    const auto found = tensors.find(tensor_name);
    return found == tensors.end() ? Tensor() : found->second;
  }
  Linear linear(const std::string& layer) const {
    return {tensor(layer + ".weight"), tensor(layer + ".bias")};
  }
  Norm norm(const std::string& layer) const {
    return {tensor(layer + ".weight"), tensor(layer + ".bias"), NormKind::layer};
  }
  Projections projections(const std::string& prefix) const {
    return {linear(prefix + "W_q"), linear(prefix + "W_k"), linear(prefix + "W_v"),
            linear(prefix + "W_o")};
  }

  /// The tensors whose names begin with `prefix`; the options causal, align, window, global, fill.
  Mask mask(const std::string& prefix, bool with_options) const {
    Mask mask;
    mask.padding = tensor(prefix + "padding").converted(DType::boolean);
    mask.allow = tensor(prefix + "allow").converted(DType::boolean);
    mask.block = tensor(prefix + "block").converted(DType::boolean);
    mask.bias = tensor(prefix + "bias");
    mask.valid_lens = tensor(prefix + "valid_lens").converted(DType::int64);
    if (!with_options) return mask;
    mask.causal = options.contains("causal");
    if (word("align") == "lower_right") mask.align = Alignment::lower_right;
    mask.fill = number("fill");
    if (options.contains("global")) {
      for (const std::string& at : options.at("global")) mask.global.push_back(std::stoul(at));
    }
    if (options.contains("window")) {
      const auto reach = [&](std::size_t side) -> std::optional<std::size_t> {
        const std::string& text = options.at("window").at(side);
        if (text == "-1") return std::nullopt;
        return std::stoul(text);
      };
      mask.window = Window{reach(0), reach(1)};
    }
    return mask;
  }

  /// Fields of every kind.
  AttentionOptions attention_options() const {
    AttentionOptions attention;
    attention.dtype = DType::float64;
    attention.stages = true;
    attention.scale = number("scale");
    attention.softcap = number("softcap");
    attention.mask = mask("mask.", true);
    return attention;
  }

  Sequences sequences() const {
    return {tensor("query"),      tensor("key"),  tensor("value"),  tensor("past_key"),
            tensor("past_value"), count("heads"), count("kv_heads")};
  }

  /// One that attend() takes.
  AttentionRequest attention(Kind kind) const {
    Score score = score_of(kind);
    std::visit(Overloaded{[&](GivenScores& given) {
                            given = {tensor("scores"), tensor("value")};
                          },
                          [&](Sequences& compared) { compared = sequences(); }},
               score);
    const std::vector<Tensor*> parameters = parameters_of(score);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      *parameters[i] = tensor(std::string(info(kind).parameters[i].name));
    }
    return {attention_options(), std::move(score)};
  }

  /// The case with all its tensors in float32.
  RecordedCase in_float32() const {
    RecordedCase single = *this;
    for (auto& [tensor_name, tensor] : single.tensors) tensor = tensor.converted(DType::float32);
    return single;
  }
};

inline std::vector<RecordedCase> recorded_cases(const std::string& file) {
  std::ifstream lines(std::string(ATTN_TEST_DATA) + "/attention/golden/" + file);
  std::vector<RecordedCase> cases;
  RecordedCase read;
  for (std::string text; std::getline(lines, text);) {
    std::istringstream line(text);
    std::string word, name;
    line >> word;
    if (word == "case") {
      read = {};
      read.name = text.substr(std::string("case ").size());
    } else if (word == "set") {
      line >> name;
      for (std::string value; line >> value;) read.options[name].push_back(value);
    } else if (word == "tensor") {
      line >> name;
      Shape shape;
      for (std::string size; line >> size && size != ":";) shape.push_back(std::stoul(size));
      // Words are read one by one: >> reads no "inf" as a number.
      std::vector<double> numbers;
      for (std::string n; line >> n;) numbers.push_back(std::strtod(n.c_str(), nullptr));
      const std::string prefix = "expected.";
      const bool is_expected = name.starts_with(prefix);
      (is_expected ? read.expected[name.substr(prefix.size())] : read.tensors[name]) =
          Tensor(shape, std::move(numbers));
    } else {
      REQUIRE(text == "end");
      cases.push_back(read);
    }
  }
  REQUIRE_FALSE(cases.empty());
  return cases;
}

inline std::vector<RecordedCase> recorded_cases(const std::string& file, const std::string& kind) {
  std::vector<RecordedCase> cases = recorded_cases(file);
  std::erase_if(cases, [&](const RecordedCase& one) { return one.word("kind") != kind; });
  REQUIRE_FALSE(cases.empty());
  return cases;
}

/// The largest difference, relative to the expected number or, if that is below 1, to 1. Infinite
/// if the shapes differ or an infinity stands in another place.
inline double relative_difference(const Tensor& result, const Tensor& expected) {
  if (!result || result.shape() != expected.shape()) return HUGE_VAL;
  const Tensor doubles = result.converted(DType::float64);
  const auto found = doubles.values<double>(), wanted = expected.values<double>();
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    if (!std::isfinite(found[i]) || !std::isfinite(wanted[i])) return HUGE_VAL;
    largest =
        std::max(largest, std::abs(found[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i])));
  }
  return largest;
}

/// Results of one computation under the names of the recorded ones.
using Results = std::map<std::string, Tensor>;

/// Checks every case to 1e-12 in float64 and to 2e-5 in float32, and reports the largest
/// differences.
template <class Compute>
void check_recorded(const std::vector<RecordedCase>& cases, Compute&& compute) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    const double tolerance = dtype == DType::float64 ? 1e-12 : 2e-5;
    double largest = 0;
    for (const RecordedCase& one : cases) {
      CAPTURE(one.name);
      CAPTURE(std::string(attn::name(dtype)));
      const Results results = compute(dtype == DType::float64 ? one : one.in_float32(), dtype);
      for (const auto& expected : one.expected) {
        const std::string& name = expected.first;
        CAPTURE(name);
        REQUIRE(results.contains(name));
        CHECK(results.at(name).dtype() == dtype);
        const double difference = relative_difference(results.at(name), expected.second);
        CHECK(difference <= tolerance);
        largest = std::max(largest, difference);
      }
    }
    MESSAGE("largest difference in " << std::string(attn::name(dtype)) << ": " << largest);
  }
}

}  // namespace attn::testing
