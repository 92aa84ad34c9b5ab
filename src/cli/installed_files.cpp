#include "cli/installed_files.hpp"

#include <system_error>

namespace attn::cli {

std::filesystem::path installed_file(const std::filesystem::path& name) {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  std::filesystem::path built = program.parent_path() / name;
  if (std::filesystem::exists(built, none)) return built;
  return program.parent_path().parent_path() / name;
}

}  // namespace attn::cli
