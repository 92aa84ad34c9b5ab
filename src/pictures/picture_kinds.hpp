#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/pictures.hpp"
#include "attn/plot.hpp"

#include "document/plan.hpp"
#include "pictures/drawing.hpp"

namespace attn {

/// Row of a kind of picture in the one table of them.
struct PictureKind {
  PlotKindInfo info;
  /// Contents of the picture, which decide what is read of a file and computed of a document.
  /// Titles, labels of axes and sizes that are asked for are meant for all contents but sizes.
  enum class Shows {
    weights,
    stages,
    overlay,
    mask,
    sizes,
    positions,
    steps,
    score_split,
    logit_split,
    split,  ///< of a score or else of a logit
    shares,
    panels,
  } shows;
  /// Part of a run that one picture shows: one attention, an attention in all layers of a stack,
  /// the whole run, or several runs. Of kinds that a run does not draw, part of a file.
  enum class Unit { attention, stack, run, several } unit;
  /// Throws as the functions of plot.hpp do, and Error(input) where the drawing lacks these
  /// contents.
  Picture (*draw)(const Drawing& drawing);

  bool shows_weights() const {
    return shows == Shows::weights || shows == Shows::stages || shows == Shows::overlay;
  }
  /// Whether it has a picture under the weights of a model of pictures.
  bool shows_picture() const { return shows == Shows::overlay || info.kind == PlotKind::grid; }
};

const PictureKind& picture_kind(PlotKind kind) noexcept;

/// Extension of a picture's file, ".svg".
std::string extension(PictureFormat format);

/// The warning of a resolution that was asked for and that a format without pixels has no use for.
std::optional<std::string> resolution_without_effect(const PlotRequest& request);

/// Picture of a run: its file's name without the extension, and the attentions that it shows.
struct NamedPicture {
  std::string name;
  std::vector<std::size_t> attentions;
};

/// Pictures of a kind that a run draws of these attentions; none of kinds that runs do not draw.
/// The first has the bare name of the kind. `of_model`: windowed and full layers get
/// separate mask pictures.
std::vector<NamedPicture> pictures_of(PlotKind kind,
                                      const std::vector<PlannedAttention>& attentions,
                                      bool of_model);

/// Draws one of several pictures, and returns the error for which this one cannot be made, with the
/// file in its place. Throws errors of options, which are wrong for the others too.
std::optional<Error> failure_of_picture(const std::string& file, const std::function<void()>& draw);

}  // namespace attn
