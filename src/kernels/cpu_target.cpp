#include "kernels/cpu_target.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu_target.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/matrix_tile.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr std::size_t accumulators = 24;
#else
constexpr std::size_t accumulators = 12;  // 16 registers hold them and the factors
#endif

template <class T>
double multiply_add(std::size_t rounds) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[accumulators];
  for (std::size_t i = 0; i < accumulators; ++i) sum[i] = hn::Set(d, static_cast<T>(i));
  const V factor = hn::Set(d, T(0.5)), term = hn::Set(d, T(1));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t pass = 0; pass < 24 / accumulators; ++pass) {
#pragma GCC unroll 24
      for (std::size_t i = 0; i < accumulators; ++i) sum[i] = hn::MulAdd(sum[i], factor, term);
    }
  }
  V total = sum[0];
  for (std::size_t i = 1; i < accumulators; ++i) total = hn::Add(total, sum[i]);
  // The result depends on every sum, so that the compiler omits none.
  volatile T kept = hn::GetLane(total);
  static_cast<void>(kept);
  return static_cast<double>(rounds) * 24 * 2 * static_cast<double>(hn::Lanes(d));
}

double multiply_add_floats(std::size_t rounds) {
  return multiply_add<float>(rounds);
}

double multiply_add_doubles(std::size_t rounds) {
  return multiply_add<double>(rounds);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#if HWY_ARCH_X86
#include <cpuid.h>
#else
#include <hwy/targets.h>
#endif

#include <atomic>

#include <unistd.h>

namespace attn::kernels {
namespace {

#if HWY_ARCH_X86
// No target may come before AVX-512, which matrix tiles belong to: see attn_disabled_targets in
// CMakeLists.txt.
static_assert((HWY_TARGETS & (HWY_AVX3 - 1)) == 0);

// Two features that __builtin_cpu_supports of older compilers does not know. They need no registers
// beyond those of AVX2.
bool has_half_floats_and_leading_zeros() noexcept {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned int half_floats = 1U << 29U, leading_zeros = 1U << 5U;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & half_floats) != 0 &&
         __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & leading_zeros) != 0;
}

// The targets whose features, all that they are compiled with, processor and system support:
// HWY_TARGET_STR in hwy/ops/set_macros-inl.h.
std::int64_t present_targets() noexcept {
  __builtin_cpu_init();
  constexpr std::int64_t baseline = HWY_STATIC_TARGET | HWY_EMU128 | HWY_SCALAR;
  std::int64_t present = HWY_TARGETS & baseline;
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") ||
      !__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul")) {
    return present;
  }
  present |= HWY_TARGETS & HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
      !has_half_floats_and_leading_zeros()) {
    return present;
  }
  present |= HWY_TARGETS & HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512cd") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw")) {
    return present;
  }
  return present | (HWY_TARGETS & HWY_AVX3);
}
#else
std::int64_t present_targets() noexcept {
  return hwy::SupportedTargets() & HWY_TARGETS;
}
#endif

// The index of a target in a table of functions. Highway reserves places for future targets, and
// the last one for the fallback.
std::size_t index_of(std::int64_t target) noexcept {
  const int bit = std::countr_zero(static_cast<std::uint64_t>(target));
  constexpr int first = HWY_HIGHEST_TARGET_BIT + 1 - HWY_MAX_DYNAMIC_TARGETS;
  return static_cast<std::size_t>(bit > HWY_HIGHEST_TARGET_BIT ? HWY_MAX_DYNAMIC_TARGETS
                                                               : bit - first);
}

// Names for users; other processors have those of Highway.
std::string_view name_of(std::int64_t target) noexcept {
  switch (target) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    case HWY_SSE4:
      return "sse4";
#ifdef HWY_SSE2  // unknown to older versions of Highway
    case HWY_SSE2:
      return "sse2";
#endif
    case HWY_NEON:
      return "neon";
    case HWY_EMU128:
    case HWY_SCALAR:
      return "scalar";
    default:
#if HWY_ARCH_X86
      return "other";
#else
      return hwy::TargetName(target);
#endif
  }
}

class Targets {
 public:
  Targets() noexcept {
    // The better a target, the lower its bit.
    for (std::int64_t rest = present_targets(); rest != 0 && count_ < names_.size();
         rest &= rest - 1) {
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
      used_ = i;
      return true;
    }
    return false;
  }
  std::size_t index() const noexcept { return indices_[used_]; }
  bool uses_tiles() const noexcept { return used() == with_tiles; }

 private:
  static constexpr std::string_view with_tiles = "amx";

  void add(std::int64_t bit, std::string_view name) noexcept {
    if (count_ == names_.size()) return;
    indices_[count_] = index_of(bit);
    names_[count_] = name;
    ++count_;
  }

  std::array<std::size_t, 16> indices_{};
  std::array<std::string_view, 16> names_{};
  std::size_t count_ = 0, used_ = 0;
};

Targets& targets() noexcept {
  static Targets instance;
  return instance;
}

// Asked once: in a virtual machine the questions to the processor take some microseconds.
std::size_t second_level_cache_of_system() noexcept {
  static const std::size_t bytes = [] {
    constexpr std::size_t usual = std::size_t{512} << 10U;
#ifdef _SC_LEVEL2_CACHE_SIZE
    if (const long told = sysconf(_SC_LEVEL2_CACHE_SIZE); told > 0) {
      return static_cast<std::size_t>(told);
    }
#endif
    return usual;
  }();
  return bytes;
}

std::atomic<std::size_t> second_level_cache_in_use{0};

}  // namespace

std::size_t second_level_cache() noexcept {
  const std::size_t other = second_level_cache_in_use.load(std::memory_order_relaxed);
  return other != 0 ? other : second_level_cache_of_system();
}

void use_second_level_cache(std::size_t bytes) noexcept {
  second_level_cache_in_use = bytes;
}

std::span<const std::string_view> cpu_targets() noexcept {
  return targets().names();
}

std::size_t target_index() noexcept {
  return targets().index();
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

ATTN_FOR_TARGETS(multiply_add_floats);
ATTN_FOR_TARGETS(multiply_add_doubles);

double multiply_add_floats(std::size_t rounds) noexcept {
  return ATTN_OF_TARGET(multiply_add_floats)(rounds);
}

double multiply_add_doubles(std::size_t rounds) noexcept {
  return ATTN_OF_TARGET(multiply_add_doubles)(rounds);
}

}  // namespace attn::kernels
#endif
