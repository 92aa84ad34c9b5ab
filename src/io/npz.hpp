#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/numpy.hpp"
#include "io/raw_array.hpp"
#include "io/zip_archive.hpp"

namespace attn {

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
