#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "result/file_tasks.hpp"
#include "result/tensor_writer.hpp"
#include "support/atomic_file.hpp"

namespace attn {

/// Files of tensors that are written one tensor after the other, as soon as each is computed, so
/// that none of them need be kept: byte for byte those of plan_tensors(). They get their names with
/// the other files of a result.
class TensorStream {
 public:
  /// Whether the files of a format can be written so.
  static bool takes(TensorFormat format) noexcept;

  /// `tensors` tell names, shapes and types, in the order in which put() will be called; their
  /// elements are not read. The folder must be there.
  TensorStream(TensorFormat format, std::vector<std::pair<std::string, Tensor>> tensors,
               std::filesystem::path folder);

  /// Throws Error(internal) for a tensor that is not the next one, Error(file) if it cannot be
  /// written.
  void put(const std::string& name, const Tensor& tensor);

  /// What all tensors were put into, which then is a task. Throws Error(internal) if some are
  /// missing.
  std::vector<TensorPlace> finish(FileTasks& tasks);

 private:
  void open(const std::string& name);

  TensorFormat format_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::filesystem::path folder_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::filesystem::path, std::shared_ptr<AtomicFile>>> files_;
};

}  // namespace attn
