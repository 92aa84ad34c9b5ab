#include "support/process_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>  // which defines __GLIBC__ where it is
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include <pthread.h>

namespace attn {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<std::size_t> stack_left() noexcept {
#ifdef __GLIBC__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::nullopt;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int result = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (result != 0) return std::nullopt;
  const char here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
  const auto end = reinterpret_cast<std::uintptr_t>(lowest);
  return at > end ? at - end : 0;
#else
  return std::nullopt;
#endif
}

std::optional<double> group_memory_limit(const std::string& membership,
                                         const std::filesystem::path& mounted) {
  std::optional<double> least;
  const auto read = [&](const std::filesystem::path& file) {
    // "max" in version 2; version 1 says there is no limit by a number beyond any memory.
    double bytes = 0;
    const std::string text = content_of(file);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error == std::errc()) least = std::min(least.value_or(bytes), bytes);
  };
  // Lines "number:controllers:path"; version 2 names no controllers.
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::filesystem::path root = unified ? mounted : mounted / "memory";
    const char* const name = unified ? "memory.max" : "memory.limit_in_bytes";
    // Limits of outer groups hold too. Within a container the path may be that outside of it.
    std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path()) read(root / path / name);
    read(root / name);
  }
  return least;
}

}  // namespace attn
