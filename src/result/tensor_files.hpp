#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "result/output_folder.hpp"
#include "support/work_queue.hpp"

namespace attn {

/// Files next to a result that hold a tensor.
struct TensorPlace {
  std::vector<std::string> files;  ///< relative to the result; one, unless it was cut into matrices
  std::optional<std::string> name;  ///< in that one file; absent for matrices
};

/// Bytes of JSON above which tensors go into a binary file, if nothing else is asked for.
constexpr double most_json = 64e6;

/// About the bytes of an element in result.json, with the comma and the space.
double bytes_as_json(DType dtype) noexcept;
/// About the bytes that tensors of these shapes and types take there.
double bytes_as_json(std::span<const std::pair<std::string, Tensor>> tensors);

/// Adds the files of the tensors to those of the result. Returns a place for each tensor; none,
/// without files, for TensorFormat::json.
///
/// Comma-separated values are a file for each matrix: `weights.csv`, `weights.sample0.csv`,
/// `weights.sample0.head1.csv`; the first axis of three counts heads with `heads_only`, samples
/// otherwise. A tensor of one axis is one column.
std::vector<TensorPlace> plan_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                                      TensorFormat format, bool heads_only, ResultFolder& folder);

/// Files of tensors, byte for byte those of plan_tensors(), into which each tensor is written as
/// soon as it is computed and need not be kept. They get their names with the other files of a
/// result.
class TensorStream {
 public:
  /// Whether files of the format can be written tensor by tensor.
  static bool takes(TensorFormat format) noexcept;

  /// `tensors` have the names, shapes and types of those that put() will take, in their order;
  /// their elements are not read. The folder must be there. With more than one thread (0 = as many
  /// as the machine has), tensors are written while the next ones are computed. `sync`: the disk
  /// is to have the files, and begins to take them as they are written.
  TensorStream(TensorFormat format, std::vector<std::pair<std::string, Tensor>> tensors,
               std::filesystem::path folder, std::size_t threads, bool sync);

  /// Takes the next tensor; up to `most_waiting` bytes are written after the call. Throws
  /// Error(internal) for another one, Error(file) if it, or an earlier one, cannot be written.
  void put(const std::string& name, const Tensor& tensor);

  /// Adds the files to those of the result and returns the places of the tensors. Throws
  /// Error(internal) if some are missing.
  std::vector<TensorPlace> finish(ResultFolder& folder);

  static constexpr std::size_t most_waiting = std::size_t{64} << 20U;

 private:
  static constexpr std::size_t least_large = std::size_t{16} << 20U;  // bytes of all tensors

  struct Waiting {
    std::shared_ptr<HashedFile> file;
    Tensor tensor;
  };

  void open(const std::string& name);
  void write(std::vector<Waiting> tensors);

  TensorFormat format_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::filesystem::path folder_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::string, std::shared_ptr<HashedFile>>> files_;
  bool sync_;
  std::atomic<bool> large_ = false;  // whether files are written past the system's cache
  WorkQueue<Waiting> queue_;
};

}  // namespace attn
