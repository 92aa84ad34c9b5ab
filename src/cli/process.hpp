#pragma once

#include <atomic>
#include <filesystem>

#include "cli/flags.hpp"

namespace attn::cli {

/// The path of a file named relative to the folder that the program is installed in, such as
/// "share/attn-cli/examples": beside the program in a build, one folder up in an installation. The
/// file may be missing.
std::filesystem::path installed_file(const std::filesystem::path& name);

/// Sets the language of all texts to the value of --lang, "zh" or "en", else to Chinese if the
/// locale (LC_ALL, LC_MESSAGES or LANG, the first that is set, and LANGUAGE before them) begins
/// with "zh". Texts are read from share/locale beside the program or one folder up. Throws
/// Error(file) if
/// --lang asks for texts that are missing; a locale whose texts are missing means English.
void choose_language(int count, const char* const* words);

/// Adds --lang, whose value choose_language() has read before flags are parsed.
void add_language(Flags& flags);

/// Points Fontconfig to share/attn-cli/fonts.conf of the portable archive, whose system may have
/// neither settings nor fonts, unless FONTCONFIG_FILE is set. Does nothing where the program was
/// installed in another way.
void offer_own_fonts();

/// Lets the allocator keep freed memory for the next blocks: blocks up to 14 MB, as long as no more
/// than 256 MB at the end of the heap are unused, and 256 MB of larger tensors. The system clears
/// every page that it hands out, so layers that are computed one after the other write to the same
/// memory. Called at the start of the program; the library leaves it to the programs that use it.
void keep_freed_memory() noexcept;

/// Lets the allocator keep all freed memory, for timings that repeat one computation.
void keep_all_freed_memory() noexcept;

/// Makes the first SIGINT (Ctrl-C) or SIGTERM (of batch systems) only set the flag that it returns,
/// so that work under way can be finished; the second one ends the program at once with exit code
/// 130.
const std::atomic<bool>& stop_at_interrupt();

/// Keeps the program alive when another program shortens a file that is mapped into memory. The
/// missing part reads as zeros until the work with the file ends, with an error that names it. A
/// file that the library does not watch ends the process with exit code 4.
void survive_shortened_files();

}  // namespace attn::cli
