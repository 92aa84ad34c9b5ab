#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "attn/plot.hpp"

#include "document/plan.hpp"
#include "maps/computed_maps.hpp"

namespace attn {

/// A file beside a result that is made of all its maps while they are computed.
struct MapsFile {
  std::string name;
  /// Takes the maps of one attention, which may not be there any more afterwards.
  std::function<void(const Computed& computed, std::size_t attention)> take;
  std::function<Picture()> finish;
};

/// Of a plan that is about to be computed with its weights, and that outlives the file, and the
/// folder of its result.
using MakeMapsFile = std::function<MapsFile(const Plan& plan, const std::filesystem::path& folder)>;

}  // namespace attn
