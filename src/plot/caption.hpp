#pragma once

#include <span>
#include <string>

#include "attn/plot.hpp"

#include "plot/axes/figure.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// Texts about a picture's numbers, of two sentences each.
struct CaptionTexts {
  std::string caption;      ///< for below the picture
  std::string alternative;  ///< for readers who cannot see it
};

/// Both sentences, with a space between them where the language has one; the second may be empty.
std::string joined_sentences(const std::string& first, const std::string& second);

/// How larger weights look in these colours: "darker for larger weights".
std::string look_of(const ColourMap& map);

/// Texts about the maps of heads, whose labels are those of the first. `look` is how larger weights
/// look.
CaptionTexts caption_of(std::span<const Matrix> matrices, std::span<const Heatmap> heads,
                        const std::string& look, const FigureOptions& options);

/// Tells a figure of such maps what it shows: `description`, or these texts if the options ask for
/// them.
void describe(Figure& figure, const std::string& title, const std::string& description,
              std::span<const Matrix> matrices, std::span<const Heatmap> heads,
              const std::string& look, const FigureOptions& options);

}  // namespace attn::plot
