#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "result/result_reader.hpp"

namespace attn {

/// Maps that `generate(output_attentions=True)` leaves: for each step of decoding a tensor
/// [B,H,Lq,Lk] a layer. The first step has the rows of the prompt, each later one the row of the
/// token that it decodes, or all rows again where keys and values were not kept.
struct DecodingSteps {
  std::string prefix;                             ///< of all names: "attentions.", or nothing
  std::vector<std::vector<std::string>> tensors;  ///< names [steps][layers]
  std::size_t prompt = 0;                         ///< rows of the first step
  std::size_t samples = 0;                        ///< B: texts, or their beams one after the other
  bool self = false;     ///< whether keys grow with the steps; those of a cross-attention do not
  bool repeats = false;  ///< whether a step has the rows of the ones before it, too
  bool beams = false;    ///< whether the file says that samples are beams

  std::size_t steps() const noexcept { return tensors.size(); }
  std::size_t layers() const noexcept { return tensors.front().size(); }
};

/// The decodings of a file, by the names `PREFIX.STEP.LAYER` and the shapes of its tensors; none
/// of a file that has no such.
std::vector<DecodingSteps> decoding_steps(ResultReader& file);

/// One map of a layer over prompt and steps [B,H,Lq,Lk], zero where a step has no key yet, and the
/// keys that a row has as 0 and 1 [B,1,Lq,Lk]. Throws Error(input).
struct JoinedSteps {
  Tensor numbers, there;
};
JoinedSteps joined_steps(ResultReader& file, const std::vector<std::string>& of_layer,
                         bool repeats);

}  // namespace attn
