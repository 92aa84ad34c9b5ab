#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/run.hpp"

#include "document/plan.hpp"

namespace attn {

/// A picture of a run: its file's name without the extension, and which attentions it shows.
struct NamedPicture {
  std::string name;
  std::vector<std::size_t> attentions;
};

/// The pictures of a kind that a run draws of these attentions, none if it draws no such. The first
/// goes by the bare name of the kind. `of_model`: a model's layers see a window or all, and masks
/// of both are pictures of their own.
std::vector<NamedPicture> pictures_of(PlotKind kind,
                                      const std::vector<PlannedAttention>& attentions,
                                      bool of_model);

}  // namespace attn
