#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace attn {

/// Bytes of the calling thread's stack that are left; absent where the system does not say.
std::optional<std::size_t> stack_left() noexcept;

/// Limit of memory in bytes of the control groups that a process is in, the smallest of all levels
/// (memory.max of version 2, memory.limit_in_bytes of version 1); absent if there is none.
/// `membership` is the text of /proc/self/cgroup, `mounted` the folder /sys/fs/cgroup.
std::optional<double> group_memory_limit(const std::string& membership,
                                         const std::filesystem::path& mounted);

}  // namespace attn
