#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "document/document.hpp"
#include "models/model_folder.hpp"
#include "models/vision.hpp"

namespace attn {

/// Pictures of a document, prepared by the processor of a model's folder.
struct PreparedPictures {
  std::vector<Tensor> inputs;       ///< of the model, [3,H,W] each
  Tensor image;                     ///< [B,3,H,W], what it sees before it is normalised
  PatchGrid grid;                   ///< patches of each
  std::vector<std::string> tokens;  ///< names of the tokens of each
  std::vector<std::string> warnings;
};

/// Reads "image", the name of a PNG or JPEG file or a list of names, null if it is absent. For a
/// list `check` gets the tokens of a picture as soon as they are known, and throws if there is no
/// room for them. Throws Error(input) at "/image" or a place in it if pictures are missing, not
/// readable or of different sizes, Error(file) if a file or the processor's settings are missing.
PreparedPictures prepare_pictures(const JsonValue* value, const Document& document,
                                  const ModelFolder& folder, DType dtype,
                                  const std::function<void(std::size_t tokens)>& check);

}  // namespace attn
