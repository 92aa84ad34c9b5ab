#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn {

/// Choice of the numbers of a model that are split among the parts of the residual stream.
struct WhyOptions {
  /// Head whose scores are split: "2.1" is head 1 of layer 2, both from 0; of an encoder-decoder
  /// "encoder.2.1", "decoder.2.1" or "cross.2.1". Absent = no scores.
  std::optional<std::string> head;
  std::optional<std::size_t> query, key;  ///< absent = all that see each other
  /// Token whose logit is split, at `query` or else at the first mask token of a masked model, or
  /// else at the last token: its id or its text, or an empty text for the likeliest. Absent = no
  /// logit.
  std::optional<std::string> logit;
  /// Token, named likewise, whose logit is taken away from that one, so that the difference of both
  /// is split. Absent = none.
  std::optional<std::string> against_logit;

  explicit operator bool() const noexcept { return head || logit; }
};

/// Parts of a model that take their numbers from another text, one at a time.
enum class PatchedPart {
  before,        ///< states that enter a layer
  residual,      ///< states that leave it
  attention,     ///< outputs of all heads of a layer
  feed_forward,  ///< what a layer's feed-forward adds
  heads,         ///< output of one head before the output projection
  queries,       ///< of one head, as they are projected
  keys,
  values,   ///< keys and values of one key head
  patterns  ///< weights of one head
};

struct PatchedPartInfo {
  PatchedPart part;
  std::string_view name, title, meaning;
  bool of_heads;  ///< whether each head has its own, else each layer
};
/// In the order of PatchedPart.
std::span<const PatchedPartInfo> patched_parts() noexcept;
const PatchedPartInfo& info(PatchedPart part) noexcept;

}  // namespace attn
