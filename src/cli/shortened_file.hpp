#pragma once

namespace attn::cli {

/// Files are read where the system maps them. If another program shortens one meanwhile, what is
/// missing cannot be read, and no exception can be thrown from there: the process ends with exit
/// code 4 and says why. Files that it was writing are not there then, as after any other end.
void explain_shortened_files();

}  // namespace attn::cli
