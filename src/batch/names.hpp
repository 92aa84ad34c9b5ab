#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn {

/// What documents could be called, by their numbers from 0.
struct NameChoices {
  using Name = std::function<std::string(std::size_t)>;
  std::size_t count = 0;
  Name below;  ///< below the input that led to it: "layer0/head3.json"
  Name whole;  ///< as a whole: "experiments/layer0/head3.json"
  Name line;   ///< ".000012" of a document in a line, else empty
};

/// A name for each document: what it is called below its input without ".json" or ".jsonl"; where
/// several would be called so, their whole paths; where that is not enough, with its extension, and
/// with "~2", "~3"… No name lies inside another, as results do in their folders, and none is that
/// of a summary.
///
/// Millions of lines have names that follow from their numbers: only the others are kept.
class UnlikeNames {
 public:
  UnlikeNames() = default;
  explicit UnlikeNames(NameChoices choices);

  std::string operator[](std::size_t index) const;

 private:
  /// The name that was chosen, and the same with its extension.
  std::string chosen(std::size_t index) const;
  std::string full(std::size_t index) const;

  NameChoices choices_;
  std::vector<bool> whole_;  ///< whether it is called by its whole path
  std::map<std::size_t, std::string> others_;
};

}  // namespace attn
