#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// The targets of a flag that chooses along an axis of maps: how they are shown, which, and the
/// number of a single one.
struct ShownTargets {
  MapSelection::Shown& shown;
  std::optional<std::vector<PositionRange>>& chosen;
  std::size_t& number;
};

/// The targets of the flags that choose the part of the weights.
struct SelectionTargets {
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// Adds the flags that choose the part of the weights to use. `all`: whether --sample and --head
/// offer "all", for what shows several maps.
void add_selection(Flags& flags, const SelectionTargets& targets, bool all = true);
/// Adds --hide-mask, for what shows the cells of maps.
void add_hide_mask(Flags& flags, MapSelection& selection);

/// Lets --heads, the number of heads that tensors of a document are split into, choose heads of
/// existing maps too: a number is either, which the library tells apart; another text is a choice.
void let_heads_choose(Flags& flags);

/// Adds the flags that choose maps of a file: tensor, sizes, axes, layers, labels.
void add_map_source(Flags& flags, MapRequest& request);
/// Adds a flag that chooses along an axis: numbers, ranges, "mean", "max" or, if `all`, "all".
Flag& add_shown(Flags& flags, const std::string& name, const std::string& help,
                const ShownTargets& targets, bool all = true);

}  // namespace attn::cli
