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

constexpr std::string_view npy_magic = "\x93NUMPY";

/// True if the bytes start like a .npy file.
bool looks_like_npy(std::span<const std::byte> bytes) noexcept;

/// Array of a whole .npy file of version 1, 2 or 3 (numpy.lib.format). Throws Error(input), at
/// "byte 12" where possible, for damaged files and, with their names, for objects, structures,
/// complex numbers, strings and dates.
RawArray npy_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

/// A .npy file: one tensor, whose name is "".
class Npy {
 public:
  /// Throws Error(input) as npy_array() and tensor_from() do.
  Npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  const std::vector<std::string>& names() const noexcept { return names_; }
  const Tensor& read(std::size_t) const noexcept { return tensor_; }
  std::string stored_type(std::size_t) const { return name(type_); }

 private:
  std::vector<std::string> names_{""};
  ElementType type_;
  Tensor tensor_;
};

/// Header of a .npy file of version 1 for elements that follow in row-major order, little-endian.
std::string npy_header(const Shape& shape, DType dtype);

/// True if the bytes start like a zip archive.
bool looks_like_zip(std::span<const std::byte> bytes) noexcept;

/// Zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
class Npz {
 public:
  /// Reads the table of contents. Throws Error(input) if it is damaged, or if the archive holds
  /// other files but no .npy file.
  Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
      const Limits& limits = {});

  /// Names without ".npy", in the order of the archive.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// Throws Error(input) with the member's name if it is damaged, encrypted, larger than the
  /// limits, or no .npy file. Several threads may read at once.
  Tensor read(std::size_t index) const;
  /// Throws as read() does.
  std::string stored_type(std::size_t index) const;

 private:
  RawArray raw(std::size_t index) const;

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  Limits limits_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> members_;  // indices in the archive
};

}  // namespace attn
