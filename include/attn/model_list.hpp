#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/model.hpp"

namespace attn {

/// A model that this machine has: in Hugging Face's cache, in Ollama's store, or in a folder.
struct ListedModel {
  std::string name;    ///< as CheckpointFolder::path and documents take it
  std::string family;  ///< empty if it is not known
  std::size_t layers = 0;
  std::uint64_t bytes = 0;  ///< of its files
  std::string problem;      ///< reason why it is not read; empty if it is
};

/// The models of both caches and of `folder`, by the headers of their files. Does not throw for a
/// model that cannot be read.
std::vector<ListedModel> models_here(const std::filesystem::path& folder, const FileAccess& access);
std::string models_here_text(const std::vector<ListedModel>& models);
std::string models_here_json(const std::vector<ListedModel>& models);

}  // namespace attn
