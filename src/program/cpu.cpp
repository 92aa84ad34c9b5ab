#include "attn/cpu.hpp"

#include <string>

#include "attn/error.hpp"

#include "kernels/cpu_target.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"

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
  const std::string nearest =
      nearest_name(name, cpu_targets()).empty() ? "" : suggestion(name, cpu_targets()) + " ";
  throw Error(ErrorKind::usage, translated("this machine has no CPU target \"{1}\"", name), "",
              nearest + translated("available: {1}", available));
}

}  // namespace attn
