#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {

/// A checkpoint folder that was read: what its configuration says, its weights and its tokenizer.
struct ModelFolder {
  std::filesystem::path path;
  Architecture architecture;
  std::string row;  ///< of the table that it is computed by, as JSON
  CheckpointWeights weights;
  std::optional<Tokenizer> tokenizer;
  std::optional<Tokenizer> decoder_tokenizer;  ///< where the decoder has one of its own
  std::optional<Error> no_tokenizer;           ///< why there is none
  std::vector<std::filesystem::path> files;    ///< that were read

  /// `row` is a file that describes the model in the place of a known row. Throws Error(file) or
  /// Error(input) naming the file, the key and what is not supported. What is wrong with the
  /// tokenizer's files is kept for who needs it.
  static ModelFolder open(const std::filesystem::path& path,
                          const std::optional<std::filesystem::path>& row,
                          const FileAccess& access);
};

/// Checkpoint folders that stay open from one document to the next, so that a batch reads each of
/// them once.
class ModelFolders {
 public:
  /// As ModelFolder::open. Folders are known by the path they are given by.
  std::shared_ptr<const ModelFolder> open(const std::filesystem::path& path,
                                          const std::optional<std::filesystem::path>& row,
                                          const FileAccess& access);

  /// Throws Error(file) if one of their files was shortened since it was opened.
  void check() const;

 private:
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const ModelFolder>> open_;
  std::shared_ptr<MappedFiles> mapped_;
};

}  // namespace attn
