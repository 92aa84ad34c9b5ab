#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "run/tensor_source.hpp"

namespace attn {

/// The learned weights that a document gives, by name: inline, or from a file ({"file":…,
/// "prefix":…, "names":{ours: theirs}}).
class ParameterSet {
 public:
  /// Reads inline tensors at once, in the order of the document, those of a file when they are
  /// asked for. `pointer` is the object's own.
  ParameterSet(const JsonValue& value, std::string pointer, DType dtype, TensorSource& tensors);

  bool has(const std::string& name) const;

  /// The first of the names that is there, absent if none is.
  Tensor find(std::span<const std::string> names);
  Tensor find(const std::string& name) { return find(std::span(&name, 1)); }

  /// As find, but throws Error(input) naming the first of the names if none is there, with the
  /// nearest name that is.
  Tensor get(std::span<const std::string> names);

  /// Throws Error(input) for the first inline tensor that nothing asked for, with the nearest of
  /// the names that were asked for. A file may hold more than is needed.
  void expect_all_used() const;

 private:
  std::string in_file(const std::string& name) const;

  std::string pointer_;
  DType dtype_;
  std::map<std::string, Tensor> inline_;
  std::vector<std::string> inline_order_;
  const TensorFile* file_ = nullptr;
  std::string prefix_;
  std::map<std::string, std::string> renamed_;
  std::set<std::string> asked_, used_;
};

}  // namespace attn
