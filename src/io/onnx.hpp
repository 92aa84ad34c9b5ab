#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/raw_array.hpp"

namespace attn {

/// True if the bytes are a message of ONNX: a model, or a tensor.
bool looks_like_onnx(std::span<const std::byte> bytes);

/// The tensors of an ONNX file (https://onnx.ai/onnx/intro/concepts.html): of a model its
/// initializers, and the values of nodes Constant by the names of their outputs; of a file with one
/// tensor (TensorProto, as tests of nodes have them) that.
class Onnx {
 public:
  /// Throws Error(input) that names the tensor for what is cut off or contradicts itself.
  Onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// In the order of the file; a tensor without a name is "tensor".
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Tensors of types that are not read, without numbers, or in another file.
  const std::vector<OtherMember>& others() const noexcept { return others_; }
  const Shape& shape(std::size_t index) const noexcept { return arrays_[index].shape; }
  RawArray raw(std::size_t index) const { return arrays_[index]; }
  /// Throws as tensor_from() does.
  Tensor read(std::size_t index) const;
  std::string stored_type(std::size_t index) const;

 private:
  void read_model(std::string_view message);
  void read_graph(std::string_view message);
  void read_node(std::string_view message);
  void read_tensor(std::string_view message, std::string name);

  std::vector<std::string> names_;
  std::set<std::string> seen_;  // names of all, read or not
  std::vector<RawArray> arrays_;
  std::vector<OtherMember> others_;
  std::shared_ptr<const void> owner_;
};

}  // namespace attn
