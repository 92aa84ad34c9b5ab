#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// What becomes of what has the name of a file already, but for a regular one, which is replaced,
/// and a folder, which is an error.
enum class Existing {
  /// It gives way too: in a folder of results nobody is to have a link followed or a pipe waited
  /// for by planting it.
  replaced,
  /// For a file that the user named: a symbolic link is followed; a device, a pipe, /dev/stdout is
  /// written to at once.
  followed,
};

/// A file that appears whole, under its name, when committed, or not at all: whatever ends the
/// program before that leaves an existing file as it was. Every failure is an Error(file) that
/// names the path and the system's reason.
///
/// A new file has the permissions the umask leaves, an existing one keeps its own, but for the bits
/// that would let others run it as its owner.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, Existing existing = Existing::replaced);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  bool find_target();
  void open_temporary();
  void link_into_place();
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;         // as the caller named it, for messages
  std::filesystem::path target_;       // what it is to be; empty if the file is written to directly
  std::filesystem::path temporary_;    // the file under way, if it has a name
  bool replaces_ = false;              // something is at the target
  std::optional<unsigned> kept_mode_;  // its permissions, if it is a file
  int descriptor_ = -1;
};

/// AtomicFile of one piece.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes,
                      Existing existing = Existing::replaced);

/// Takes away what programs that were killed while they replaced a file left in the folder; what a
/// living one is writing there stays.
void remove_leftovers(const std::filesystem::path& folder);

}  // namespace attn
