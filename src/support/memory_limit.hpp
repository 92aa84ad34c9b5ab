#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "support/translated.hpp"

namespace attn {

/// Throws Error(input) naming `what` and its size if it takes more than this machine's memory,
/// before anything is allocated: the system would grant the memory and end the program when it is
/// touched.
void check_memory(std::size_t elements, std::size_t bytes_each, const std::string& what,
                  const std::string& where,
                  const std::string& help = translated("make it smaller"));

/// The same of so many bytes, which need not be a number of elements that can be addressed.
void check_memory(double bytes, const std::string& what, const std::string& where,
                  const std::string& help = "make it smaller");

/// What `ulimit -v` and the like leave the program, in bytes; absent if there is no such limit.
std::optional<std::size_t> address_space_limit() noexcept;

/// Whether so many bytes more could be had now.
bool can_be_mapped(std::size_t bytes) noexcept;

}  // namespace attn
