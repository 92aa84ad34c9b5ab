#pragma once

#include <filesystem>

#include "attn/file_access.hpp"

#include "models/checkpoint.hpp"

namespace attn {

/// Merges the LoRA adapter of a folder (`adapter_config.json`, `adapter_model.safetensors` or
/// `.bin`) into the weights of its model, as merge_and_unload() of peft does in single precision: W
/// + s·B·A, where s is alpha / rank, or alpha / √rank with "use_rslora", of the matrix by
/// "rank_pattern" and "alpha_pattern"; whole tensors of "modules_to_save" and biases take the place
/// of the model's. Rows are made when they are read. Throws Error(file) or Error(input) naming the
/// file and what cannot be merged: other kinds of adapters, DoRA, tensors that the model has not or
/// that do not fit.
void merge_adapter(const std::filesystem::path& folder, const FileAccess& access,
                   CheckpointWeights& weights);

}  // namespace attn
