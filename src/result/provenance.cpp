#include "result/provenance.hpp"

#include <algorithm>
#include <utility>

#include "attn/version.hpp"

#include "io/content_hash.hpp"
#include "kernels/cpu_target.hpp"
#include "support/printable.hpp"

namespace attn {

void Provenance::watch(FileAccess& access) {
  access.opened = [this, before = std::move(access.opened)](const std::filesystem::path& path,
                                                            std::span<const std::byte> bytes) {
    add(path, bytes);
    if (before) before(path, bytes);
  };
}

void Provenance::add(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string name = path == "-" ? "standard input" : path_text(path.native());
  const std::lock_guard lock(guard_);
  const bool known = std::any_of(inputs_.begin(), inputs_.end(),
                                 [&](const Input& input) { return input.name == name; });
  if (!known) inputs_.push_back({name, content_hash(bytes)});
}

std::string Provenance::version() {
  return ATTN_VERSION;
}

std::string Provenance::cpu_target() {
  return std::string(kernels::cpu_target());
}

std::string Provenance::text() const {
  std::string text = "CPU target " + cpu_target();
  for (const Input& input : inputs_) text += "; " + input.name + " xxh128:" + input.hash;
  return text;
}

}  // namespace attn
