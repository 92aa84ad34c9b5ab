#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace attn {

/// Choice of the numbers of a model that are split among the parts of the residual stream.
struct WhyOptions {
  /// Head whose scores are split: "2.1" is head 1 of layer 2, both from 0; of an encoder-decoder
  /// "encoder.2.1", "decoder.2.1" or "cross.2.1". Absent = no scores.
  std::optional<std::string> head;
  std::optional<std::size_t> query, key;  ///< absent = all that see each other
  /// Token whose logit is split, at `query` or else at the last token: its id or its text, or an
  /// empty text for the likeliest. Absent = no logit.
  std::optional<std::string> logit;

  explicit operator bool() const noexcept { return head || logit; }
};

}  // namespace attn
