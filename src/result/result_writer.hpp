#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/run.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "io/json_writer.hpp"
#include "result/provenance.hpp"
#include "result/seen_keys.hpp"
#include "result/tensor_writer.hpp"

namespace attn {

/// What result.json tells.
struct ResultFile {
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  std::string title, description;
  Labels labels;
  const ModelReport* model = nullptr;   ///< null = no model
  std::vector<SeenKeys> seen;           ///< of a model's attentions
  std::optional<std::size_t> kv_heads;  ///< where heads share key and value heads
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<TensorPlace> places;  ///< one a tensor; empty = all stand in the result itself
  std::vector<std::string> warnings;
  std::vector<std::string> pictures;       ///< relative to the result
  const Provenance* provenance = nullptr;  ///< null = left out
  std::optional<double> seconds;           ///< of the computation; absent = no timing
};

/// One entry a sample: of a model that says what comes next its likeliest tokens, of a masked one a
/// list of what stands at each mask token.
void write_predictions(JsonWriter& json, const ModelReport& model);

/// As one object.
void write_result(const ResultFile& result, JsonWriter& json);

/// Writes it, whole or not at all; `threads` turn numbers into text (0 = as many as the machine
/// has), the same bytes whatever their number.
void write_result(const ResultFile& result, const std::filesystem::path& path, std::size_t threads);

}  // namespace attn
