#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "document/names.hpp"
#include "document/tensor_source.hpp"
#include "document/tensor_view.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The learned weights that a document gives, by name: inline, or from a file ({"file":…,
/// "prefix":…, "names":{ours: theirs}, "transpose": whether its matrices are those of x·W). A
/// tensor is read when it is asked for, so that random ones are drawn in the order of asking.
class ParameterSet {
 public:
  /// `value` must outlive this, `pointer` is its own.
  ParameterSet(const JsonValue& value, std::string pointer, DType dtype, TensorSource& tensors);

  /// From now on all names are looked for with this before them: the one layer of a stack.
  void enter(std::string prefix) { inside_ = std::move(prefix); }

  bool has(const std::string& name) const;

  /// The first of the names that is there, absent if none is. Errors of the computation that speak
  /// of the first name will be shown with the one that is there.
  Tensor find(std::span<const std::string> names);
  Tensor find(const std::string& name) { return find(std::span(&name, 1)); }

  /// As find, but if none is there the first of the names is missing, which expect_complete()
  /// tells.
  Tensor get(std::span<const std::string> names);
  Tensor get(const std::string& name) { return get(std::span(&name, 1)); }

  /// Names that may be asked for: a tensor of such a name is never taken for a misnamed other one.
  void may_ask_for(std::span<const std::string> names);

  /// The parameter `name` is a part of the tensor `whole`, and called `shown`.
  void is_part(const std::string& name, const std::string& whole, const std::string& shown);

  /// Throws Error(input) for all that is missing, with the nearest name that is there, else for the
  /// first inline tensor or entry of "names" that nothing asked for, with the nearest of the names
  /// that were asked for. A file may hold more than is needed.
  void expect_complete() const;

  /// Where a parameter of that name stands, or would.
  std::string place(const std::string& name) const;
  /// How a parameter is called where it stands.
  std::string shown(const std::string& name) const;

  /// The parameter `name` is read from the tensor `whole`, or a part of it.
  void comes_from(const std::string& name, const std::string& whole) {
    origins_.emplace_back(name, inside_ + whole);
  }

  const DocumentNames& names() const noexcept { return names_; }
  /// Each parameter and the name of the tensor that it comes from.
  const std::vector<std::pair<std::string, std::string>>& origins() const noexcept {
    return origins_;
  }

 private:
  struct Missing {
    std::string name, place;
    std::vector<std::string> names;  // in full: of what may stand for it
  };

  void expect_none_missing() const;
  std::string in_file(const std::string& full) const;
  std::string help_for(std::span<const std::string> names) const;

  const JsonValue& value_;
  std::string pointer_;
  DType dtype_;
  TensorSource& tensors_;
  const TensorFile* file_ = nullptr;
  std::unordered_map<std::string, const JsonValue*> given_;  ///< null for tensors of a file
  std::string file_name_, prefix_, inside_;
  std::map<std::string, std::string> renamed_;
  TensorView transposed_;
  std::set<std::string> asked_, used_, meant_;
  std::vector<Missing> missing_;
  DocumentNames names_;
  std::vector<std::pair<std::string, std::string>> origins_;
};

}  // namespace attn
