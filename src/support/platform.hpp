/// Calls of the system that Linux and macOS have under other names, or that one of them lacks. What
/// both have alike is called where it is needed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include <sys/stat.h>

namespace attn::platform {

/// Folder of the names of this process's open files, each one's number, with no symbolic links in
/// its path.
std::filesystem::path descriptor_folder();

/// Path of an open file, with no symbolic links in it; empty where the system does not tell.
std::filesystem::path path_of(int descriptor);

/// Whether the system makes the file's content while it is read, so that it may have no end, or
/// wait.
bool is_made_while_read(int descriptor);

/// Opens a file for writing that has no name and vanishes with the program; −1 where the folder or
/// the system has none.
int open_without_name(const std::filesystem::path& folder);
/// Gives a file of open_without_name() a name; false with errno.
bool give_name(int descriptor, const std::filesystem::path& name);

/// Whether bytes that are written from now on pass by the system's cache of files.
bool set_direct(int descriptor, bool direct) noexcept;
/// Begins to write to the disk what was written to the file, without waiting.
void begin_sync(int descriptor) noexcept;
/// Waits until the whole file system of an open folder is on the disk; −1 with errno.
int sync_file_system(int descriptor) noexcept;

/// Time of the last change of a file's content.
timespec changed(const struct stat& status) noexcept;

/// A hint that the pages of a block, which begins at one, be large.
void prefer_large_pages(void* block, std::size_t bytes) noexcept;

/// Bytes of the calling thread's stack that are left; absent where the system does not tell.
std::optional<std::size_t> stack_left() noexcept;

}  // namespace attn::platform
