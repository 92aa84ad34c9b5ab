#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.hpp"

/// Writes a model of two layers, "model" in the folder, whose second layer alone has attention
/// sinks, and "row.json", the architecture by which it is read.
inline void write_model_partly_with_sinks(const TemporaryFolder& folder) {
  folder.write("row.json", R"({"like": "gpt_oss", "optional": ["sinks"]})");
  std::filesystem::copy(
      std::filesystem::path(ATTN_TEST_DATA) / "models/cases/gpt_oss_sinks_bf16/checkpoint",
      folder / "model");
  std::string weights = read_text(folder / "model/model.safetensors");
  // A name of the same length that no row knows.
  weights.replace(weights.find("model.layers.0.self_attn.sinks"), 5, "other");
  folder.write("model/model.safetensors", weights);
}
