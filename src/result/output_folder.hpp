#pragma once

#include <filesystem>

namespace attn {

/// Makes the folder of the results if it is missing, and takes away what killed programs left
/// there. Its parent must be there: a mistyped path is an error, not a new tree. Throws Error(file)
/// at --out.
void make_output_folder(const std::filesystem::path& folder);

/// Makes the folders that `below` names inside the folder of the results. Throws Error(file) if one
/// of them is a symbolic link, which somebody may have put there to have files written elsewhere.
void make_folders_below(const std::filesystem::path& folder, const std::filesystem::path& below);

/// Throws Error(file) if there is a symbolic link in the place of a folder.
void refuse_link(const std::filesystem::path& folder);

}  // namespace attn
