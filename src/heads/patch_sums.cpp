#include <algorithm>
#include <string>
#include <utility>

#include "attn/error.hpp"

#include "heads/corpus_sums.hpp"
#include "heads/heads_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

bool fit(const PatchSums::Sweep& a, const PatchSums::Sweep& b) {
  if (a.part != b.part || a.by_position != b.by_position || a.rows != b.rows) return false;
  for (std::size_t n = 0; n < a.effects.size() && !a.by_position; ++n) {
    if (a.effects[n].size() != b.effects[n].size()) return false;
  }
  return true;
}

}  // namespace

void PatchSums::add(const HeadPatches& patches) {
  PatchSums one;
  one.own.add(patches.own);
  one.source.add(patches.source);
  for (const PatchSweep& sweep : patches.sweeps) {
    Sweep& to = one.sweeps.emplace_back(Sweep{sweep.part, sweep.by_position, sweep.rows, {}});
    for (const std::vector<double>& row : sweep.patched) {
      std::vector<Moments>& effects = to.effects.emplace_back(row.size());
      for (std::size_t c = 0; c < row.size(); ++c) effects[c].add(row[c] - patches.own);
    }
  }
  add(one);
}

void PatchSums::add(const PatchSums& other) {
  if (other.sweeps.empty()) return;
  if (sweeps.empty()) {
    *this = other;
    return;
  }
  if (!std::equal(sweeps.begin(), sweeps.end(), other.sweeps.begin(), other.sweeps.end(), fit)) {
    throw input_error(translated("other parts of the model were patched than in the texts before"),
                      "/patch", translated("give texts for one model, and patches without a part"));
  }
  own.add(other.own);
  source.add(other.source);
  for (std::size_t s = 0; s < sweeps.size(); ++s) {
    for (std::size_t n = 0; n < sweeps[s].effects.size(); ++n) {
      std::vector<Moments>& to = sweeps[s].effects[n];
      const std::vector<Moments>& from = other.sweeps[s].effects[n];
      to.resize(std::max(to.size(), from.size()));
      for (std::size_t c = 0; c < from.size(); ++c) to[c].add(from[c]);
    }
  }
}

HeadPatches PatchSums::means() const {
  HeadPatches means{{}, {}, own.mean(), source.mean(), {}, {}, own.count};
  for (const Sweep& sweep : sweeps) {
    PatchSweep& to = means.sweeps.emplace_back(
        PatchSweep{sweep.part, sweep.by_position, sweep.rows, {}, {}, {}});
    for (const std::vector<Moments>& row : sweep.effects) {
      std::vector<double>&patched = to.patched.emplace_back(), &errors = to.errors.emplace_back();
      for (const Moments& effect : row) {
        patched.push_back(means.own + effect.mean());
        errors.push_back(effect.error());
      }
    }
  }
  return means;
}

std::string patches_csv(const PatchSums& sums) {
  std::string text = "part,place,position,effect,standard_error,deviation,texts\n";
  for (const PatchSums::Sweep& sweep : sums.sweeps) {
    const std::string part(info(sweep.part).name);
    for (std::size_t n = 0; n < sweep.rows.size(); ++n) {
      for (std::size_t c = 0; c < sweep.effects[n].size(); ++c) {
        const Moments& effect = sweep.effects[n][c];
        const std::string column = std::to_string(c);
        text += part + "," + sweep.rows[n] + (sweep.by_position ? "," : ".") + column +
                (sweep.by_position ? "," : ",,") + in_csv(effect.mean()) + "," +
                in_csv(effect.error()) + "," + in_csv(effect.deviation()) + "," +
                std::to_string(effect.count) + "\n";
      }
    }
  }
  return text;
}

}  // namespace attn
