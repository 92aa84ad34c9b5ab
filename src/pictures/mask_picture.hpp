#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "attn/file_access.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "document/plan.hpp"

namespace attn {

/// What hides each key from each query of one sample and head, which must be there.
MaskMap mask_map(const PlannedAttention& attention, std::size_t sample, std::size_t head,
                 const std::string& title, const MapSelection& selection, std::size_t threads);

/// The same from an input document, of which nothing is computed. Errors name the document.
MaskMap document_mask(std::string_view text, const std::string& name, const PlotRequest& request,
                      const FileAccess& access);

/// What is known where only seen and hidden cells are told apart.
MaskMap mask_map(const Heatmap& heatmap, const std::string& title);

}  // namespace attn
