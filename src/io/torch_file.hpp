#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

#include "io/raw_array.hpp"

namespace attn {

/// True if the bytes are a zip archive that torch.save wrote, or start as it wrote files before
/// PyTorch 1.6.
bool looks_like_torch_file(std::span<const std::byte> bytes);

/// File of tensors that torch.save wrote, .pt, .pth or .bin: a zip archive of a pickle and of
/// storages, or, before PyTorch 1.6, pickles and storages one after the other
/// (torch/serialization.py). Tensors within dicts, lists and tuples are named by their path
/// ("attentions.3"), a lone one "tensor"; what else there is is passed over.
class TorchFile {
 public:
  /// Reads the pickles and holds all sizes against the storages. Throws Error(input), at "RECORD,
  /// byte N" where possible, as Pickle does, for storages that are missing or too short, for views
  /// beyond their storage, for values within themselves or more than `limits.nesting` deep, and for
  /// paths and values that unfold to more than the file could hold.
  TorchFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
            const Limits& limits = {});

  /// Paths in the order of the pickle.
  const std::vector<std::string>& names() const noexcept { return names_; }

  const Shape& shape(std::size_t index) const noexcept { return views_[index].shape; }
  /// Elements in row-major order: as they lie in the file where they do, else gathered. Throws
  /// Error(input) for more elements to gather than the limit, and for compressed storages that are
  /// damaged. Several threads may read at once.
  RawArray raw(std::size_t index) const;
  /// Throws as raw() and tensor_from() do.
  Tensor read(std::size_t index) const;
  std::string stored_type(std::size_t index) const { return name(views_[index].type); }

 private:
  friend class TorchFileReader;

  struct Storage {
    std::string record;  ///< its name in errors
    std::span<const std::byte> bytes;
    /// Member of the archive if it is compressed, with its unpacked size; `bytes` is empty then.
    std::uint64_t member = 0, unpacked = 0;
    bool compressed = false;

    std::uint64_t size() const noexcept { return compressed ? unpacked : bytes.size(); }
  };
  /// Strided view of a storage, in elements.
  struct View {
    std::size_t storage = 0;
    ElementType type = ElementType::float32;
    std::uint64_t offset = 0;
    Shape shape;
    std::vector<std::uint64_t> strides;
  };

  std::vector<std::string> names_;
  std::vector<View> views_;
  std::vector<Storage> storages_;
  std::span<const std::byte> archive_;
  std::shared_ptr<const void> owner_;
  Limits limits_;
  bool big_endian_ = false;
};

}  // namespace attn
