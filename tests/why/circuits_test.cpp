#include "why/circuits.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "why/stored_circuits.hpp"

namespace attn {
namespace {

// Numbers less their mean.
std::vector<double> centred(std::vector<double> numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  for (double& number : numbers) number -= sum / static_cast<double>(numbers.size());
  return numbers;
}

constexpr const char* inputs[]{"query", "key", "value"};

// TransformerLens folds norms into weights in single precision.
constexpr double folded = 2e-7;

TEST_CASE("circuits of the weights are those of TransformerLens") {
  for (const char* name : stored_models) {
    CAPTURE(name);
    const StoredCircuits own(name);
    const ModelCircuits circuits(own.pass());
    const StackCircuits got = circuits.all();
    const JsonValue& heads = *own.numbers.find("heads");
    REQUIRE(got.heads.size() == heads.size());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      CAPTURE(h);
      const JsonValue& want = heads.element(h);
      CHECK(std::abs(got.heads[h].copying().value() - want.find("copying")->number()) < folded);
      check_stored(got.heads[h].ov_values, *want.find("ov_values"), folded);
      check_stored(got.heads[h].qk_values, *want.find("qk_values"), folded);
    }
    const std::size_t layers = own.model.architecture.stacks.back().layers.size(),
                      each = heads.size() / layers;
    for (std::size_t input = 0; input < composition_inputs; ++input) {
      const JsonValue& want = *own.numbers.find("compositions")->find(inputs[input]);
      for (std::size_t a = 0; a < heads.size(); ++a) {
        for (std::size_t b = 0; b < heads.size(); ++b) {
          const double score = got.compositions[input].values<double>()[a * heads.size() + b];
          if (a / each >= b / each) {
            CHECK(std::isnan(score));
          } else {
            CHECK(std::abs(score - want.element(a).element(b).number()) < folded);
          }
        }
      }
    }
    const ModelPlace head = got.heads[(layers - 1) * each + 1].head;
    check_stored(centred(circuits.moved(head, 7).value()), *own.numbers.find("moved"), folded);
    check_stored(circuits.sought(head, 7), *own.numbers.find("sought"), folded);
  }
}

}  // namespace
}  // namespace attn
