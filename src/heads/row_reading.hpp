#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/statistics.hpp"

#include "document/plan.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"

namespace attn {

/// Whether the maps of one layer of the plan are better read row by row than held whole: those of a
/// model of one stack with more than 2²⁶ weights.
bool reads_by_rows(const Plan& plan);

/// Asks for rows in place of maps, so that what the plan demands is known without these.
void ask_for_rows(Plan& plan);

/// Computes a model and tells each attention's numbers, as those of compute_maps() would be: of
/// several samples the mean. With `reach` also the mean weights by offset, of the first sample.
void walk_rows(const Plan& plan, const HeadCounting& counting, std::optional<std::size_t> reach,
               const std::function<void(const TextNumbers&)>& take);

}  // namespace attn
