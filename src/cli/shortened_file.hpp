#pragma once

namespace attn::cli {

/// Files are read where the system maps them. If another program shortens one meanwhile, what is
/// missing cannot be read, and no exception can be thrown from there: the file counts as filled up
/// with zeros until the work with it ends, with an error that names it. Files that nobody watches
/// end the process with exit code 4.
void survive_shortened_files();

}  // namespace attn::cli
