#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

#include "io/json_value.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/sound.hpp"
#include "models/vision.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {

/// A checkpoint folder that was read: its architecture, its weights and its tokenizer.
struct ModelFolder {
  std::filesystem::path path;
  Architecture architecture;
  std::string row;  ///< the row of the table of families that describes it, as JSON
  CheckpointWeights weights;
  std::optional<SoundProcessor> sound_processor;
  std::optional<ImageProcessor> image_processor;  ///< of a model that reads pictures
  std::optional<Tokenizer> tokenizer;
  std::optional<Tokenizer> decoder_tokenizer;  ///< where the decoder has one of its own
  std::optional<Error> no_tokenizer;           ///< the reason why there is none
  std::optional<std::size_t> longest_read;     ///< tokens to which the folder's library cuts texts
  std::vector<std::filesystem::path> files;    ///< all that were read
  std::vector<std::string> warnings;           ///< for reports

  /// `row` is a file that describes the model in the place of a known row, `adapter` the folder of
  /// a LoRA adapter, which is merged into the weights. The caller has had the paths checked by
  /// refuse_outside(). Throws Error(file) or Error(input) naming the file, the key and what is not
  /// supported. An error of the tokenizer's files is kept in `no_tokenizer`, as token ids need no
  /// tokenizer.
  static ModelFolder open(const std::filesystem::path& path,
                          const std::optional<std::filesystem::path>& row, const FileAccess& access,
                          const std::optional<std::filesystem::path>& adapter = {});

  /// The tokenizer of what the model writes: the decoder's, where it has one of its own.
  const std::optional<Tokenizer>& writing_tokenizer() const {
    return decoder_tokenizer ? decoder_tokenizer : tokenizer;
  }
};

/// A file of settings.
struct SettingsFile {
  std::filesystem::path file;
  JsonValue members;
};

/// Settings of a model's folder for texts that the model writes: generation_config.json or, where
/// there is none, config.json; absent for a GGUF file. Throws Error(file) or Error(input) naming
/// the file.
std::optional<SettingsFile> generation_settings(const ModelFolder& model, const FileAccess& access);

/// The ids of the tokens that end what the model writes, by its generation_config.json or, if that
/// names none, its config.json. Throws Error(file) or Error(input) naming the file.
std::vector<std::int64_t> end_tokens(const ModelFolder& model, const FileAccess& access);

/// Whether the folder says how its model writes a conversation. Throws as end_tokens().
bool has_chat_template(const ModelFolder& model, const FileAccess& access);

/// The type of the folder's model by its config.json, or that of its texts; empty where there is
/// none. Throws Error(file) or Error(input) naming the file.
std::string family_in(const std::filesystem::path& folder, const FileAccess& access);

/// The tokenizer of a folder or of a file tokenizer.json, for models of the type `family`. Throws
/// Error(file) or Error(input) naming the file.
Tokenizer open_tokenizer(const std::filesystem::path& path, const std::string& family,
                         const FileAccess& access);

/// Checkpoint folders that stay open from one document to the next, so that a batch reads each
/// once. May be used by several threads.
class ModelFolders {
 public:
  /// The documents that FileAccess::opened tells which files of a folder were read: each that names
  /// it, or the first.
  enum class Files { told_each, told_once };
  explicit ModelFolders(Files files = Files::told_each) : files_(files) {}

  /// Opens a folder, or gives the one that was opened by this path. Throws as ModelFolder::open().
  std::shared_ptr<const ModelFolder> open(const std::filesystem::path& path,
                                          const std::optional<std::filesystem::path>& row,
                                          const FileAccess& access,
                                          const std::optional<std::filesystem::path>& adapter = {});

  /// Throws Error(file) if one of their files was shortened since it was opened.
  void check() const;

 private:
  Files files_;
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const ModelFolder>> open_;
  std::shared_ptr<MappedFiles> mapped_;
  std::shared_ptr<KeptPacking> kept_packing_;
};

/// The tokens as readers write them; a token without a text is shown by its id, and so is each
/// where there is no tokenizer.
std::vector<std::string> written_tokens(const std::optional<Tokenizer>& tokenizer,
                                        const std::vector<std::int64_t>& ids);

/// One token as it is written behind another, with the space that it may begin with; absent without
/// a tokenizer.
std::optional<std::string> written_token(const ModelFolder& folder, std::int64_t id);

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
