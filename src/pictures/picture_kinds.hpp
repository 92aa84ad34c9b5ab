#pragma once

#include <span>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// All that there is to know of a kind of picture: its row in the one table of them.
struct PictureKind {
  PlotKindInfo info;
  /// What it is drawn from, which decides what of a file is read and of a document computed.
  /// Titles, names of axes and sizes that are asked for are meant for all but sizes.
  enum class Shows { weights, stages, mask, sizes, positions, steps } shows;
  /// What one picture of a run shows: one attention, the attentions of one sort in all layers, the
  /// whole run, or several runs or files. Of kinds that a run does not draw, what a file gives.
  enum class Unit { attention, sort, run, several } unit;
  /// Throws as the draw functions of plot.hpp do, and Error(input) where the drawing does not hold
  /// what is to be shown.
  Picture (*draw)(const Drawing& drawing);

  bool shows_weights() const { return shows == Shows::weights || shows == Shows::stages; }
};

std::span<const PictureKind> picture_kinds() noexcept;
const PictureKind& picture_kind(PlotKind kind) noexcept;

}  // namespace attn
