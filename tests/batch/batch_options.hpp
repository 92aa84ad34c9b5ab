#pragma once

#include <string>
#include <vector>

#include "attn/batch.hpp"

#include "temporary_folder.hpp"

/// Options of a batch without pictures over inputs of the folder, by two jobs, with the results in
/// its folder "out".
inline attn::BatchOptions options_for(const TemporaryFolder& folder,
                                      const std::vector<std::string>& inputs) {
  attn::BatchOptions options;
  for (const std::string& input : inputs) options.inputs.push_back((folder / input).string());
  options.run.out = folder / "out";
  options.run.plots = {};
  options.jobs = 2;
  return options;
}
