#pragma once

#include <string>
#include <vector>

namespace attn {

/// What a document could be called: where it stands below the input that led to it, and as a whole.
struct NameChoice {
  std::string below;  ///< "layer0/head3.json"
  std::string whole;  ///< "experiments/layer0/head3.json"
  std::string line;   ///< ".000012" of a document in a line, else empty
};

/// A name for each, in the same order: what it is called below its input without ".json" or
/// ".jsonl"; where several would be called so, their whole paths; where that is not enough, with
/// its extension, and with "~2", "~3"… No name lies inside another, as results do in their folders,
/// and none is that of a summary.
std::vector<std::string> unlike_names(const std::vector<NameChoice>& choices);

}  // namespace attn
