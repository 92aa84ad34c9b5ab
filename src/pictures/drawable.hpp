#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "pictures/map_selection.hpp"

namespace attn {

/// What a file holds of one attention, as far as pictures need it.
struct Drawable {
  std::string name;                ///< of the file, for errors
  std::string tensor = "weights";  ///< the name of what stands in `weights`
  Tensor weights, allowed;
  Tensor scores, capped, masked;  ///< stages; read for PlotKind::stages
  std::optional<MaskMap> mask;    ///< of an input document; read for PlotKind::mask
  Labels labels;
  std::string title;
  std::vector<std::pair<std::string, Shape>> shapes;  ///< read for PlotKind::dimensions
};

/// Reads the input of a picture and the labels given beside it. Throws Error(input) or Error(file)
/// naming the file.
Drawable read_drawable(const PlotRequest& request, const FileAccess& access = {});

/// The weights of a drawable as maps, with those that tell which cells no mask hides, if they are
/// known.
struct DrawableMaps {
  Maps weights;
  std::optional<Maps> allowed;

  const Maps* hidden() const { return allowed ? &*allowed : nullptr; }
};

/// Throws Error(input) if there are no weights, or if labels or `allowed` do not fit them. The
/// labels of a tensor that is no map are not looked at: plain_heatmap() takes those that fit.
DrawableMaps maps_of(const Drawable& drawable);

}  // namespace attn
