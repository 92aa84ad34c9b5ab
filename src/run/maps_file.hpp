#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "attn/plot.hpp"

#include "document/plan.hpp"
#include "maps/attention_map.hpp"

namespace attn {

/// A file beside a result that is made of all its maps while they are computed.
struct MapsFile {
  std::string name;
  /// Takes the map of attention number `attention`, whose numbers may be freed afterwards.
  std::function<void(const AttentionMap& map, std::size_t attention)> take;
  std::function<Picture()> finish;
};

/// Of a plan that is about to be computed with its weights, and that outlives the file, and the
/// folder of its result.
using MakeMapsFile = std::function<MapsFile(const Plan& plan, const std::filesystem::path& folder)>;

}  // namespace attn
