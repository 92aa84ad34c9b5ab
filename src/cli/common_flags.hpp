#pragma once

#include <cstddef>
#include <string>

#include "attn/file_access.hpp"
#include "attn/spec.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// What every command that computes or reports takes.
struct Common {
  bool json = false, quiet = false, no_color = false;
  std::size_t threads = 0;  ///< 0 = all cores
};

/// `threads` is what --threads means, if it is not all that compute.
void add_common(Flags& flags, Common& common, const std::string& threads = "");

/// How much files may hold.
void add_limits(Flags& flags, Limits& limits);
/// The same, and where files that a document names may be.
void add_files(Flags& flags, FileAccess& access);

/// `where` is what it is written into.
void add_provenance(Flags& flags, bool& target, const std::string& where);

/// By name or alias. Throws Error(input) that names `where`.
Kind kind_named(const std::string& name, const std::string& where);

/// --attention, which takes kinds.
Flag& add_kind(Flags& flags, const std::string& help, std::function<void(Kind)> take);

}  // namespace attn::cli
