#include "kernels/cpu_target.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>
#include <hwy/targets.h>

#include "kernels/matrix_tile.hpp"

namespace attn::kernels {
namespace {

#if HWY_ARCH_X86
// None may stand before AVX-512, which matrix tiles belong to: see attn_disabled_targets in
// CMakeLists.txt.
static_assert((HWY_TARGETS & (HWY_AVX3 - 1)) == 0);
#endif

// As users know them; names of other processors are the library's own.
std::string_view name_of(std::int64_t target) noexcept {
  switch (target) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    case HWY_SSE4:
      return "sse4";
#ifdef HWY_SSE2  // which older Highways do not know
    case HWY_SSE2:
      return "sse2";
#endif
    case HWY_NEON:
      return "neon";
    case HWY_EMU128:
    case HWY_SCALAR:
      return "scalar";
    default:
      return hwy::TargetName(target);
  }
}

class Targets {
 public:
  Targets() noexcept {
    // The better a target, the lower its bit.
    for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS;
         rest != 0 && count_ < names_.size(); rest &= rest - 1) {
      const std::int64_t bit = rest & -rest;
      if (bit == HWY_AVX3 && matrix_tiles_present()) add(bit, with_tiles);
      add(bit, name_of(bit));
    }
  }

  std::span<const std::string_view> names() const noexcept { return {names_.data(), count_}; }
  std::string_view used() const noexcept { return names_[used_]; }

  bool use(std::string_view name) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!name.empty() && names_[i] != name) continue;
      hwy::SetSupportedTargetsForTest(bits_[i]);
      used_ = i;
      return true;
    }
    return false;
  }
  bool uses_tiles() const noexcept { return used() == with_tiles; }

 private:
  static constexpr std::string_view with_tiles = "amx";

  void add(std::int64_t bit, std::string_view name) noexcept {
    if (count_ == names_.size()) return;
    bits_[count_] = bit;
    names_[count_] = name;
    ++count_;
  }

  std::array<std::int64_t, 16> bits_{};
  std::array<std::string_view, 16> names_{};
  std::size_t count_ = 0, used_ = 0;
};

Targets& targets() noexcept {
  static Targets instance;
  return instance;
}

}  // namespace

std::span<const std::string_view> cpu_targets() noexcept {
  return targets().names();
}

std::string_view cpu_target() noexcept {
  return targets().used();
}

bool uses_matrix_tiles() noexcept {
  return targets().uses_tiles();
}

bool use_cpu_target(std::string_view name) noexcept {
  return targets().use(name);
}

}  // namespace attn::kernels
