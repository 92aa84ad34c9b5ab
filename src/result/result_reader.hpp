#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "document/tensor_source.hpp"
#include "io/file_members.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "why/splits.hpp"

namespace attn {

/// The result.json in a folder that a run has written; any other input unchanged.
std::filesystem::path result_in(const std::filesystem::path& input);

/// Error(input) about an input document where a result is wanted.
Error not_a_result(const std::string& file);

/// File about computed attentions: a result, tensors in JSON, {"weights":…,"labels":…} or
/// {"shapes":…} or one bare array, or any file of tensors. All functions throw Error(input) that
/// names the file if something is wrong with it.
class ResultReader {
 public:
  /// Opens a file ("-" = standard input) in any folder, or the folder of a result. `access` rules
  /// its size, its nesting and the files that it names. Throws Error(file) too.
  explicit ResultReader(const std::filesystem::path& path, const FileAccess& access = {});
  /// Reads a file that is open already, as a pipe can be read only once. Without `checked` the keys
  /// of an object may be those of a document, until check_keys() is called.
  ResultReader(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path,
               const FileAccess& access, bool checked = true);
  ResultReader(const ResultReader&) = delete;
  ResultReader& operator=(const ResultReader&) = delete;

  const std::string& name() const noexcept { return name_; }  ///< of the file, for errors
  const std::shared_ptr<const MappedFile>& file() const noexcept { return file_; }
  const FileAccess& access() const noexcept { return access_; }

  /// Throws Error(input) for members of an object that are no tensors and have no meaning. A result
  /// may have others: those of later versions of the program.
  void check_keys() const;

  /// Whether the file is an input document, with a kind or a model but no results.
  bool is_document() const;
  /// Whether the file is an object with tensors under keys that documents do not have.
  bool holds_foreign_tensors() const;
  /// Whether the file is a result of this program, whose names of tensors have a meaning.
  bool is_result() const;
  /// Whether numbers in names count sentences or matrices of a text, and not layers.
  bool holds_sentences() const noexcept { return tensors_ && tensors_->format() == "text"; }
  /// Whether the file is a JSON object, but no result.
  bool is_object() const noexcept { return holder_ == &root_; }

  /// Names of the tensors, in the order of the file; "" of one without a name.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Members that are not tensors; none of a result of this program.
  const std::vector<OtherMember>& others() const noexcept {
    return tensors_ ? tensors_->others() : others_;
  }
  /// Throws Error(input) with the reason if a member of that name is no tensor.
  void refuse_other(const std::string& name) const;
  /// Name of the only tensor of a file that is not JSON, of a bare array, or of one under any key.
  std::optional<std::string> only_name() const;
  /// Name that a tensor without one goes by: that of the file without folder and extension; empty
  /// for standard input.
  const std::string& stem() const noexcept { return stem_; }

  /// Tensor of that name in float64, or in float32 where a file of tensors stores it so; absent if
  /// there is none.
  Tensor numbers(const std::string& tensor);
  /// Tensor of that name as booleans; absent if there is none.
  Tensor booleans(const std::string& tensor);

  /// Seen keys of one attention in a model's result as 0 and 1 [B,1,Lq,Lk]; absent if the result
  /// does not have them. `prefix` is that of the names of the attention's tensors, `weights` the
  /// shape of its weights.
  Tensor seen(const std::string& prefix, const Shape& weights);

  /// Whether the numbers of a result are float32 or narrower; they read back to the same float.
  bool holds_floats() const;

  /// Number of key and value heads that the heads share; nothing if the result does not say.
  std::optional<std::size_t> kv_heads() const;

  /// What a result says of the splits of a score and a logit in a text; neither if it holds none.
  WhySplits splits(std::size_t text);
  /// The text of the token whose logit is split there, under "text", or is taken away from it,
  /// under "against_text"; empty if it is not known.
  std::string text_of_logit(const char* member, std::size_t text) const;
  /// Texts of one sample under a key of a result, such as "tokens"; empty if there are none.
  std::vector<std::string> texts(const std::string& member, std::size_t sample) const;
  /// Numbers of the "layers", or names of the "parts", along the axes of the shares of an answer;
  /// empty if a result holds none.
  std::vector<std::string> names_of_shares(const std::string& axis) const;

  std::string title() const;
  /// Path of the document that a result of this program was computed from; empty if it says none.
  std::string document() const;
  /// Sentences on what was changed in the model that a result of this program is of.
  std::vector<std::string> changes() const;
  /// The kind of attention that a result of this program states.
  std::optional<std::string> kind() const;
  /// Labels of the queries and keys of a map; of another tensor those of the result.
  Labels labels(const std::string& tensor);
  /// Labels among the texts that a file has for maps of that name and size; none where their
  /// numbers fit neither side, or several fit alike.
  Labels own_labels(const std::string& tensor, std::size_t queries, std::size_t keys) const;
  /// Shapes by name, as the result has them, or of the tensors in a file of tensors that can be
  /// read. Without names, all.
  std::vector<std::pair<std::string, Shape>> shapes(
      const std::vector<std::string>& names = {}) const;

 private:
  void read_names();
  void read_members();
  Tensor read_json(const std::string& tensor, DType dtype);
  Tensor read_tensor(const std::string& tensor) const;
  /// Result of `read`, whose errors name the file.
  template <class Read>
  auto placed(const Read& read) const;

  std::string name_, stem_;
  FileAccess access_;
  std::shared_ptr<const MappedFile> file_;
  std::optional<TensorFile> tensors_;  ///< absent = JSON
  JsonValue root_;
  const JsonValue* holder_ = nullptr;  ///< of the tensors, in root_
  TensorSource source_;
  std::vector<std::string> names_;
  std::vector<OtherMember> others_;                 ///< of JSON
  std::map<std::string, JsonTensor> members_ = {};  ///< of JSON that is no result, by their paths
};

}  // namespace attn
