#pragma once

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "io/json_value.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"

namespace attn {

/// Models whose numbers by TransformerLens tests/why/circuits/make_numbers.py stores: with learned
/// positions, parallel, with grouped heads, and with norms on both sides.
inline constexpr const char* stored_models[]{"gpt2_bare_names", "gpt_neox_pythia_f16",
                                             "llama_grouped", "gemma2_soft_caps_bf16"};

/// Numbers of one of them in a folder of tests/why.
inline JsonValue stored_numbers(const std::string& folder, const std::string& name) {
  return parse_json_by_element(
      read_text(std::filesystem::path(ATTN_TEST_DATA) / "why" / folder / (name + ".json")), 1000);
}

/// One of them with the first text of its case and the numbers, in double precision.
struct StoredCircuits {
  std::filesystem::path folder;
  JsonValue numbers;
  ModelFolder model;
  ModelTexts text;
  ModelOptions options;

  explicit StoredCircuits(const std::string& name)
      : folder(std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases" / name),
        numbers(stored_numbers("circuits", name)),
        model(ModelFolder::open(folder / "checkpoint", std::nullopt, {})) {
    const JsonValue document = parse_json_by_element(read_text(folder / "input.json"), 100);
    text.ids = {id_lists(document.find("token_ids")).front()};
    options.dtype = DType::float64;
  }

  ModelPass pass() const { return {model.architecture, model.weights, text, options}; }
};

/// Checks numbers against a stored list: |difference| ≤ tolerance · the largest of the list.
inline void check_stored(std::span<const double> got, const JsonValue& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = want.element(i).number();
    largest = std::max(largest, std::abs(expected));
    worst = std::max(worst, std::abs(got[i] - expected));
  }
  CHECK(worst <= tolerance * largest);
}

}  // namespace attn
