#pragma once

#include <filesystem>

namespace attn::cli {

/// Where what is named relative to the folder that the program is installed in stands, such as
/// "share/attn-cli/examples": beside the program where it was built, one folder up where it was
/// installed. It may be missing there.
std::filesystem::path installed_file(const std::filesystem::path& name);

}  // namespace attn::cli
