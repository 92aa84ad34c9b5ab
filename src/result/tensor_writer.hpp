#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "result/file_tasks.hpp"

namespace attn {

/// Where a tensor stands beside the result.
struct TensorPlace {
  std::vector<std::string> files;  ///< relative to the result; one, unless it was cut into matrices
  std::optional<std::string>
      name;  ///< in that one file; absent for matrices, which are not read back
};

/// Plans to write the tensors into files of the folder. One place a tensor; none, and no file, for
/// TensorFormat::json.
///
/// As comma-separated values a matrix is a file: `weights.csv`, `weights.sample0.csv`,
/// `weights.sample0.head1.csv`; the first axis of three counts heads with `heads_only`, samples
/// otherwise. A tensor of one axis is one column.
std::vector<TensorPlace> plan_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                                      TensorFormat format, bool heads_only,
                                      const std::filesystem::path& folder, FileTasks& tasks);

}  // namespace attn
