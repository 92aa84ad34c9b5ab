#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace attn {

/// A file that appears whole, under its name, when committed, or not at all: whatever ends the
/// program before that leaves an existing file as it was. Every failure is an Error(file) that
/// names the path and the system's reason.
///
/// A symbolic link is followed. A new file has the permissions the umask leaves, an existing one
/// keeps its own. What is no regular file (a device, a pipe, /dev/stdout) is written to at once, as
/// it cannot be replaced.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  void open_temporary();
  void link_into_place();
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;    // as the caller named it, for messages
  std::filesystem::path target_;  // where its links lead; empty if the file is written to directly
  std::filesystem::path temporary_;  // the file under way, if it has a name
  bool replaces_ = false;            // the target existed
  unsigned kept_mode_ = 0;           // its permissions
  int descriptor_ = -1;
};

/// AtomicFile of one piece.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace attn
