#include "attn/cpu.hpp"

#include <string>

#include "attn/error.hpp"

#include "kernels/cpu_target.hpp"

namespace attn {

std::span<const std::string_view> cpu_targets() noexcept {
  return kernels::cpu_targets();
}

void use_cpu_target(std::string_view name) {
  if (!name.empty() && kernels::use_cpu_target(name)) return;
  std::string available;
  for (const std::string_view target : cpu_targets()) {
    available += (available.empty() ? "" : ", ") + std::string(target);
  }
  const std::string nearest = suggestion(name, cpu_targets());
  throw Error(
      ErrorKind::usage, "this machine has no CPU target \"" + std::string(name) + "\"", "",
      (nearest.starts_with("did you mean") ? nearest + " " : "") + "available: " + available);
}

}  // namespace attn
