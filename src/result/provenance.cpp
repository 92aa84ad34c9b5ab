#include "result/provenance.hpp"

#include <algorithm>

#include "attn/version.hpp"

#include "io/hashed_files.hpp"
#include "kernels/cpu_target.hpp"
#include "support/printable.hpp"

namespace attn {

Provenance::Provenance()
    : hash_([](const std::filesystem::path&, std::span<const std::byte> bytes) {
        return content_hash(bytes);
      }) {}

void Provenance::watch(FileAccess& access) {
  access.opened = [this, before = std::move(access.opened)](const std::filesystem::path& path,
                                                            std::span<const std::byte> bytes) {
    add(path, bytes);
    if (before) before(path, bytes);
  };
}

void Provenance::add(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string name = path == "-" ? "standard input" : path_text(path.native());
  const auto is_known = [&] {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [&](const auto& input) { return input.first == name; });
  };
  {
    const std::lock_guard lock(guard_);
    if (is_known()) return;
  }
  std::string hash = hash_(path, bytes);
  const std::lock_guard lock(guard_);
  if (!is_known()) inputs_.emplace_back(name, std::move(hash));
}

void Provenance::add(std::string name, std::string hash) {
  const std::lock_guard lock(guard_);
  inputs_.emplace_back(std::move(name), std::move(hash));
}

std::string Provenance::version() {
  return ATTN_VERSION;
}

std::string Provenance::cpu_target() {
  return std::string(kernels::cpu_target());
}

std::string Provenance::text() const {
  std::string text = "CPU target " + cpu_target();
  for (const auto& [name, hash] : inputs_) text += "; " + name + " xxh128:" + hash;
  return text;
}

}  // namespace attn
