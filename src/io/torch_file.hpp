#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

#include "io/pickled_tensors.hpp"
#include "io/raw_array.hpp"
#include "io/zip_archive.hpp"

namespace attn {

/// True if the bytes are a zip archive that torch.save wrote, or start as it wrote files before
/// PyTorch 1.6.
bool looks_like_torch_file(std::span<const std::byte> bytes);

/// File of tensors that torch.save wrote, .pt, .pth or .bin: a zip archive of a pickle and of
/// storages, or, before PyTorch 1.6, pickles and storages one after the other
/// (torch/serialization.py); or a pickle alone. Tensors of PyTorch and arrays of NumPy within
/// dicts, lists and tuples are named by their path ("attentions.3"), a lone one "tensor".
class TorchFile {
 public:
  /// Reads the pickles and holds all sizes against the storages. Throws Error(input), at "RECORD,
  /// byte N" where possible, as Pickle does, for storages that are missing or too short, for views
  /// beyond their storage, for values within themselves or more than `limits.nesting` deep, and for
  /// paths and values that unfold to more than the file could hold.
  TorchFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
            const Limits& limits = {});

  /// Paths in the order of the pickle.
  const std::vector<std::string>& names() const noexcept { return members_.names; }

  const Shape& shape(std::size_t index) const noexcept { return members_.tensors[index].shape; }
  /// Elements in row-major order: as they lie in the file where they do, else gathered; of sparse
  /// tensors float64, with the zeros. Throws
  /// Error(input) for more elements to gather than the limit, and for compressed storages that are
  /// damaged. Several threads may read at once.
  RawArray raw(std::size_t index) const;
  /// Throws as raw() and tensor_from() do.
  Tensor read(std::size_t index) const;
  std::string stored_type(std::size_t index) const {
    return name(members_.tensors[index].values.type);
  }

  /// Members that are not tensors, or none that can be read: values of other classes, complex
  /// numbers…
  const std::vector<OtherMember>& others() const noexcept { return members_.others; }

 private:
  friend class TorchFileReader;

  UnpackedMember bytes_of(const PickledStorage& storage) const;
  RawArray raw_view(const PickledView& view, const std::string& name) const;
  RawArray whole(const PickledTensor& tensor, const std::string& name) const;

  PickledMembers members_;
  std::span<const std::byte> archive_;
  std::shared_ptr<const void> owner_;
  Limits limits_;
  bool big_endian_ = false;
};

/// A pickle that holds arrays of NumPy, tensors of PyTorch or rows of numbers.
class PickleFile : public TorchFile {
 public:
  using TorchFile::TorchFile;
};

/// True if the bytes begin and, for protocols 0 and 1, end as a pickle does.
bool looks_like_pickle(std::span<const std::byte> bytes) noexcept;

}  // namespace attn
