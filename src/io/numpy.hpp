#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/raw_array.hpp"
#include "io/zip_archive.hpp"

namespace attn {

constexpr std::string_view npy_magic = "\x93NUMPY";

/// Type of the elements of an array, as NumPy writes it: "<f4".
struct NumpyType {
  std::optional<ElementType> type;  ///< absent = no real numbers
  bool big_endian = false;
  std::string code;

  bool holds_texts() const;
  /// Content of an array without real numbers: "strings (dtype "<U5")".
  std::string reason() const;
};
NumpyType numpy_type_of(std::string_view code);

/// Texts of an array of strings, one list, or for two axes one a row; none for other types and
/// axes, and where bytes are missing.
std::vector<std::vector<std::string>> numpy_texts(const NumpyType& type, const Shape& shape,
                                                  std::span<const std::byte> bytes,
                                                  bool column_major);

/// True if the bytes start like a .npy file.
bool looks_like_npy(std::span<const std::byte> bytes) noexcept;

/// Content of a .npy file by its header.
struct NpyContent {
  NumpyType type;
  std::size_t type_at = 0;  ///< byte of the file
  Shape shape;
  bool column_major = false;
  std::size_t data_at = 0;  ///< byte of the first element
};

/// The header of a .npy file of version 1, 2 or 3 (numpy.lib.format), whose elements may be
/// missing. Throws Error(input), at "byte 12" where possible, if it is damaged.
NpyContent npy_content(std::span<const std::byte> bytes);

/// Array of a whole .npy file. Throws Error(input) for damaged files and, with their names, for
/// objects, structures, complex numbers, strings and dates.
RawArray npy_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

/// A .npy file: one tensor, whose name is "".
class Npy {
 public:
  /// Throws Error(input) as npy_array() and tensor_from() do.
  Npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  const std::vector<std::string>& names() const noexcept { return names_; }
  const Tensor& read(std::size_t) const noexcept { return tensor_; }
  static std::span<const OtherMember> others() noexcept { return {}; }
  std::string stored_type(std::size_t) const { return name(type_); }

 private:
  std::vector<std::string> names_{""};
  ElementType type_;
  Tensor tensor_;
};

/// Header of a .npy file of version 1 for elements that follow in row-major order, little-endian.
std::string npy_header(const Shape& shape, DType dtype);

/// Zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
class Npz {
 public:
  /// Reads the table of contents. Throws Error(input) if it is damaged, or if the archive holds
  /// other files but no .npy file.
  Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
      const Limits& limits = {});

  /// Names without ".npy", in the order of the archive.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Members without numbers: strings, objects, dates, complex numbers, empty arrays…
  const std::vector<OtherMember>& others() const noexcept { return others_; }

  /// Throws Error(input) with the member's name if it is damaged, encrypted, larger than the
  /// limits, or no .npy file. Several threads may read at once.
  Tensor read(std::size_t index) const;
  /// Throws as read() does.
  std::string stored_type(std::size_t index) const;

 private:
  RawArray raw(std::size_t index) const;
  void set_others_aside(zip_t* archive);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  Limits limits_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> members_;  // indices in the archive
  std::vector<OtherMember> others_;
};

}  // namespace attn
