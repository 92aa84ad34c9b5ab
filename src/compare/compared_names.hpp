#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/compare.hpp"

namespace attn {

/// The tensors that belong together, by their names in either file, and the name they go by.
struct ComparedNames {
  std::string name;
  std::optional<std::string> a, b;
};

/// In the order of `a`, then those of `b` alone: all that the request asks for. Throws Error(input)
/// naming the field for a name that neither file has.
std::vector<ComparedNames> compared_names(const CompareRequest& request,
                                          const std::vector<std::string>& a,
                                          const std::vector<std::string>& b);

}  // namespace attn
