#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace attn {

/// A file that appears whole, under its name, when committed, or not at all: whatever ends the
/// program before that leaves an existing file as it was. Every failure is an Error(file) that
/// names the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
};

/// AtomicFile of one piece.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace attn
