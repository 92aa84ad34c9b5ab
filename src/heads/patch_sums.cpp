#include <algorithm>
#include <string>

#include "attn/error.hpp"

#include "heads/corpus_sums.hpp"
#include "heads/heads_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Grid = std::vector<std::vector<Moments>>;

bool fit(const PatchSums::Sweep& a, const PatchSums::Sweep& b) {
  if (a.part != b.part || a.by_position != b.by_position || a.rows != b.rows) return false;
  if (a.attributed.empty() != b.attributed.empty()) return false;
  for (std::size_t n = 0; n < a.effects.size() && !a.by_position; ++n) {
    if (a.effects[n].size() != b.effects[n].size()) return false;
  }
  return true;
}

bool is_same(const PatchSums::Path& a, const PatchSums::Path& b) {
  return a.from == b.from && a.to == b.to && a.input == b.input;
}

// Moments of one text: of what each place moves away from the text's own difference.
Grid moved(const std::vector<std::vector<double>>& differences, double own) {
  Grid grid;
  for (const std::vector<double>& row : differences) {
    std::vector<Moments>& effects = grid.emplace_back(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) effects[c].add(row[c] - own);
  }
  return grid;
}

// Adds rows to rows, which are as long as the longest text.
void add(const Grid& from, Grid& to) {
  for (std::size_t n = 0; n < from.size(); ++n) {
    to[n].resize(std::max(to[n].size(), from[n].size()));
    for (std::size_t c = 0; c < from[n].size(); ++c) to[n][c].add(from[n][c]);
  }
}

// The mean differences: `own` and what each place moves.
std::vector<std::vector<double>> means_of(const Grid& grid, double own) {
  std::vector<std::vector<double>> means;
  for (const std::vector<Moments>& row : grid) {
    std::vector<double>& to = means.emplace_back();
    for (const Moments& effect : row) to.push_back(own + effect.mean());
  }
  return means;
}

// "effect,standard_error,deviation,texts"
std::string csv_of(const Moments& effect) {
  return in_csv(effect.mean()) + "," + in_csv(effect.error()) + "," + in_csv(effect.deviation()) +
         "," + std::to_string(effect.count);
}

}  // namespace

void PatchSums::add(const HeadPatches& patches) {
  PatchSums one;
  one.own.add(patches.own);
  one.source.add(patches.source);
  for (const PatchSweep& sweep : patches.sweeps) {
    one.sweeps.push_back({sweep.part, sweep.by_position, sweep.rows,
                          moved(sweep.patched, patches.own), moved(sweep.attributed, patches.own)});
  }
  for (const HeadPath& path : patches.paths) {
    one.paths.push_back({path.from, path.to, path.input});
    one.paths.back().effect.add(path.difference - patches.own);
  }
  add(one);
}

void PatchSums::add(const PatchSums& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  if (!std::ranges::equal(sweeps, other.sweeps, fit) ||
      !std::ranges::equal(paths, other.paths, is_same)) {
    throw input_error(translated("other parts of the model were patched than in the texts before"),
                      "/patch", translated("give texts for one model, and patches without a part"));
  }
  own.add(other.own);
  source.add(other.source);
  for (std::size_t s = 0; s < sweeps.size(); ++s) {
    attn::add(other.sweeps[s].effects, sweeps[s].effects);
    attn::add(other.sweeps[s].attributed, sweeps[s].attributed);
  }
  for (std::size_t p = 0; p < paths.size(); ++p) paths[p].effect.add(other.paths[p].effect);
}

HeadPatches PatchSums::means() const {
  HeadPatches means{{}, {}, own.mean(), source.mean(), {}, {}, own.count};
  for (const Sweep& sweep : sweeps) {
    PatchSweep& to = means.sweeps.emplace_back(PatchSweep{sweep.part,
                                                          sweep.by_position,
                                                          sweep.rows,
                                                          means_of(sweep.effects, means.own),
                                                          {},
                                                          means_of(sweep.attributed, means.own)});
    for (const std::vector<Moments>& row : sweep.effects) {
      std::vector<double>& errors = to.errors.emplace_back();
      for (const Moments& effect : row) errors.push_back(effect.error());
    }
  }
  for (const Path& path : paths) {
    means.paths.push_back(
        {path.from, path.to, path.input, means.own + path.effect.mean(), path.effect.error()});
  }
  return means;
}

std::string patches_csv(const PatchSums& sums) {
  std::string text =
      "part,place,position,effect,standard_error,deviation,texts,by_gradients,"
      "by_gradients_error\n";
  for (const PatchSums::Sweep& sweep : sums.sweeps) {
    const std::string part(info(sweep.part).name);
    for (std::size_t n = 0; n < sweep.rows.size(); ++n) {
      for (std::size_t c = 0; c < sweep.effects[n].size(); ++c) {
        const Moments& effect = sweep.effects[n][c];
        const std::string column = std::to_string(c);
        text += part + "," + sweep.rows[n] + (sweep.by_position ? "," : ".") + column +
                (sweep.by_position ? "," : ",,") + csv_of(effect) + "," +
                (sweep.attributed.empty() ? std::string(",")
                                          : in_csv(sweep.attributed[n][c].mean()) + "," +
                                                in_csv(sweep.attributed[n][c].error())) +
                "\n";
      }
    }
  }
  return text;
}

std::string paths_csv(const PatchSums& sums) {
  std::string text = "from,to,input,effect,standard_error,deviation,texts\n";
  for (const PatchSums::Path& path : sums.paths) {
    text += path.from + "," + path.to + "," + path.input + "," + csv_of(path.effect) + "\n";
  }
  return text;
}

}  // namespace attn
