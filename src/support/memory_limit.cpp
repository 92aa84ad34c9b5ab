#include "support/memory_limit.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// In bytes; 0 if the system does not tell. It is asked once, which takes longer than many a check.
double machine_memory() {
  static const double memory = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : 0;
  }();
  return memory;
}

}  // namespace

void check_memory(std::size_t elements, std::size_t bytes_each, const std::string& what,
                  const std::string& where, const std::string& help) {
  check_memory(static_cast<double>(elements) * static_cast<double>(bytes_each), what, where, help);
}

void check_memory(double bytes, const std::string& what, const std::string& where,
                  const std::string& help) {
  const auto refuse = [&](const std::string& limit, double memory) {
    throw input_error(translated("{1} would take {2}, more than {3}{4}", what, bytes_text(bytes),
                                 limit, bytes_text(memory)),
                      where, translated(help));
  };
  if (const double memory = machine_memory(); memory > 0 && bytes > memory) {
    refuse(translated("the memory of this machine, "), memory);
  }
  if (const auto limit = address_space_limit(); limit && bytes > static_cast<double>(*limit))
    refuse(translated("the memory that this program may use, "), static_cast<double>(*limit));
}

std::optional<std::size_t> address_space_limit() noexcept {
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return own.rlim_cur;
}

bool can_be_mapped(std::size_t bytes) noexcept {
  void* const block = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block != MAP_FAILED && munmap(block, bytes) == 0;
}

}  // namespace attn
