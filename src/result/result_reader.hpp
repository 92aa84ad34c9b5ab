#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"

namespace attn {

/// What a file tells of an attention that was computed: a result, tensors in JSON, {"weights":…,
/// "labels":…} or {"shapes":…} or one bare array, or any file of tensors. Whatever is wrong with it
/// throws Error(input) that names the file.
class ResultReader {
 public:
  /// The file ("-" = standard input) may stand anywhere; `access` rules its size, its nesting and
  /// the files that it names. Throws Error(file) too.
  explicit ResultReader(const std::filesystem::path& path, const FileAccess& access = {});
  /// The same of a file that is open already: a pipe gives its bytes but once.
  ResultReader(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path,
               const FileAccess& access);
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;

  const std::string& name() const noexcept { return name_; }  ///< of the file, for errors
  std::string_view text() const noexcept { return file_->text(); }

  /// Whether it is an input document: it has a kind or a model but no results.
  bool is_document() const;
  /// Whether it is a result of this program, whose names of tensors say what they are.
  bool is_result() const;

  /// Of the tensors, in the order of the file; that of one without a name is empty.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// The only tensor of a file of tensors that is no JSON, whatever its name is.
  std::optional<std::string> only_name() const;

  /// The tensor in float64, or float32 where a file of tensors stores it so; absent if there is
  /// none of that name.
  Tensor numbers(const std::string& tensor);
  /// The same as booleans.
  Tensor booleans(const std::string& tensor);

  /// What a model's result tells of the keys that an attention sees, as 0 and 1 [B,1,Lq,Lk]; absent
  /// if it tells nothing. `weights` is the shape of that attention's, `prefix` goes before its
  /// name.
  Tensor seen(const std::string& prefix, const Shape& weights);

  /// Whether the numbers of a result are those of float32 or a narrower type, which it writes so
  /// that they read back to the same float.
  bool holds_floats() const;

  /// How many key and value heads the heads share; nothing if the result does not tell.
  std::optional<std::size_t> kv_heads() const;

  std::string title() const;
  /// Of the queries and keys of a tensor that is a map of them; of others those of the result.
  Labels labels(const std::string& tensor);
  /// As the result tells them; those of the tensors in a file of tensors.
  std::vector<std::pair<std::string, Shape>> shapes() const;

 private:
  void read_names();
  void check_keys() const;
  Tensor read_json(const std::string& tensor, DType dtype);
  Tensor read_tensor(const std::string& tensor) const;
  /// What `read` gives, its errors naming the file.
  template <class Read>
  auto placed(const Read& read) const;

  std::string name_;
  FileAccess access_;
  std::shared_ptr<const MappedFile> file_;
  std::optional<TensorFile> tensors_;  ///< absent = JSON
  JsonValue root_;
  const JsonValue* holder_ = nullptr;  ///< of the tensors, in root_
  TensorSource source_;
  std::vector<std::string> names_;
};

}  // namespace attn
