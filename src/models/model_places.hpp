#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// The folder or file of a model that a user names: a path that is there, from `folder` on; or
/// "ollama:NAME[:TAG]"; or "ORG/NAME" or "NAME", with "@REVISION" behind it if wanted, in the local
/// cache of Hugging Face's libraries. A name that cannot be one of these is a path. Nothing is
/// fetched. Throws Error(file) with what was looked for and what there is, and Error(input) for a
/// name where `access` restricts files to a folder.
std::filesystem::path model_path(const std::string& name, const std::filesystem::path& folder,
                                 const FileAccess& access);

/// Names that model_path() finds in the local caches, in order: "ORG/NAME", "ollama:NAME:TAG".
std::vector<std::string> cached_model_names();

}  // namespace attn
