#pragma once

#include <filesystem>

namespace attn {

/// Makes the folder of the results if it is missing. Its parent must be there: a mistyped path is
/// an error, not a new tree. Throws Error(file) at --out.
void make_output_folder(const std::filesystem::path& folder);

}  // namespace attn
