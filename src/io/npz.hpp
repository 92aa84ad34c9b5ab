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

/// A zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
class Npz {
 public:
  static constexpr std::string_view format_name = "npz";

  /// Reads the table of contents. Throws Error(input) if it is damaged, if the archive is a PyTorch
  /// checkpoint, or if it holds no .npy file though it holds others.
  Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
      const Limits& limits = {});

  /// In the order of the archive; ".npy" is left out.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// Throws Error(input) naming the member if it is damaged, encrypted, larger than the limit, or
  /// no .npy file. Several threads may read at once. `type`, if given, gets what the elements are.
  Tensor read(std::size_t index, ElementType* type = nullptr) const;

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  Limits limits_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> members_;  // their indices in the archive
};

}  // namespace attn
