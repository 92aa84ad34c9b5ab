#include "models/model_folder.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "attention/packed_product.hpp"
#include "io/json_value.hpp"
#include "models/classification.hpp"
#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "models/gguf_model.hpp"
#include "models/sentence_embedding.hpp"
#include "support/mapped_file.hpp"
#include "support/memory.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

JsonValue read_json(const FileName& name, const FileAccess& access) {
  const auto file = MappedFile::open(name, access);
  try {
    return parse_json(file->text(), {.depth = access.limits.nesting});
  } catch (const Error& error) {
    const Error placed = error.inside(name.path().string());
    const bool is_empty = file->text().find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (!placed.help().empty() && !is_empty) throw placed;
    throw Error(placed.kind(), placed.problem(), placed.where(),
                translated("download the file again"));
  }
}

// The files of the folder that tell how texts are cut, mapped as long as this is there.
class TokenizerFolder {
 public:
  TokenizerFolder(const fs::path& folder, const std::string& family, const FileAccess& access) {
    files_.model_type = family;
    std::error_code error;
    if (fs::is_regular_file(folder, error)) {
      open_file(folder, access);
      return;
    }
    const auto open = [&](const char* name) -> std::optional<std::string_view> {
      const FileName file = FileName::by_document(folder, name);
      if (!is_there(file, access)) return std::nullopt;
      return kept_.emplace_back(MappedFile::open(file, access))->text();
    };
    files_.tokenizer_config = open("tokenizer_config.json");
    files_.special_tokens_map = open("special_tokens_map.json");
    files_.added_tokens = open("added_tokens.json");
    files_.tokenizer_json = open("tokenizer.json");
    if (!files_.tokenizer_json) {
      files_.tekken_json = open("tekken.json");
      files_.vocab_txt = open("vocab.txt");
      files_.vocab_json = open("vocab.json");
      files_.merges_txt = open("merges.txt");
      for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
                               "source.spm", "tiktoken.model", "qwen.tiktoken"}) {
        if (files_.sentencepiece) break;
        files_.sentencepiece = open(name);
        files_.sentencepiece_name = name;
      }
      // Marian's decoder writes another language than its encoder reads.
      if (files_.sentencepiece_name == "source.spm") {
        decoder_ = open("target.spm");
        decoder_vocabulary_ = open("target_vocab.json");
      }
    }
  }

  bool empty() const {
    return !files_.tokenizer_json && !files_.vocab_txt && !files_.vocab_json &&
           !files_.sentencepiece && !files_.tekken_json;
  }
  const TokenizerFiles& files() const { return files_; }
  /// Those of the decoder's tokenizer, if it has a separate one.
  std::optional<TokenizerFiles> decoder_files() const {
    if (!decoder_) return std::nullopt;
    TokenizerFiles files = files_;
    files.sentencepiece = decoder_;
    if (decoder_vocabulary_) files.vocab_json = decoder_vocabulary_;
    files.sentencepiece_name = "target.spm";
    return files;
  }

 private:
  // A tokenizer in one file. Its name tells what it is; settings beside it do not count.
  void open_file(const fs::path& file, const FileAccess& access) {
    const std::string_view text =
        kept_.emplace_back(MappedFile::open(FileName::by_document(file), access))->text();
    const std::string name = file.filename().string();
    if (name.starts_with("tekken")) {
      files_.tekken_json = text;
    } else if (file.extension() == ".txt") {
      files_.vocab_txt = text;
    } else if (file.extension() == ".json") {
      files_.tokenizer_json = text;
    } else {
      files_.sentencepiece = text;
      files_.sentencepiece_name = name;
    }
  }

  std::vector<std::shared_ptr<const MappedFile>> kept_;
  TokenizerFiles files_;
  std::optional<std::string_view> decoder_, decoder_vocabulary_;
};

Error no_tokenizer_in(const fs::path& folder) {
  return {ErrorKind::file,
          translated("the folder {1} has no tokenizer", in_quotes(folder.native())), "",
          translated("add its tokenizer.json (or tokenizer.model, or vocab.txt, or vocab.json and "
                     "merges.txt), or give token ids")};
}

// The error with its file's whole path, as errors of the tokenizer name the file alone.
Error in_folder(const Error& error, const fs::path& folder) {
  if (error.where().empty()) return error.inside(folder.string());
  return {error.kind(), error.problem(), (folder / error.where()).string(), error.help()};
}

}  // namespace

namespace {

// The first folder within this one that holds a checkpoint, by its name; empty if none does.
fs::path checkpoint_within(const fs::path& folder, const FileAccess& access) {
  constexpr std::size_t most_looked_at = 1000;
  std::vector<fs::path> found;
  std::error_code error;
  std::size_t looked_at = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++looked_at > most_looked_at) break;
    std::error_code none;
    if (at->is_directory(none) &&
        is_there(FileName::by_document(at->path(), "config.json"), access)) {
      found.push_back(at->path());
    }
  }
  return found.empty() ? fs::path() : *std::ranges::min_element(found);
}

// The folder of the model in an older folder of sentence-transformers, whose modules.json names it
// ("0_Transformer"); empty if there is none.
fs::path transformer_within(const fs::path& folder, const FileAccess& access) {
  const FileName file = FileName::by_document(folder, "modules.json");
  if (!is_there(file, access)) return {};
  const JsonValue modules = read_json(file, access);
  for (std::size_t i = 0; modules.is(JsonValue::Type::array) && i < modules.size(); ++i) {
    const JsonValue& one = modules.element(i);
    const JsonValue* const path = one.is(JsonValue::Type::object) ? one.find("path") : nullptr;
    if (path == nullptr || !path->is(JsonValue::Type::string)) continue;
    const fs::path name = path->string();
    const bool is_name = !name.empty() && name == name.filename() && name != "..";
    if (is_name && is_there(FileName::by_document(folder / name, "config.json"), access) &&
        one.find("type") != nullptr && one.find("type")->is(JsonValue::Type::string) &&
        one.find("type")->string().ends_with("Transformer")) {
      return folder / name;
    }
  }
  return {};
}

// The row that the user gives.
std::optional<JsonValue> read_own_row(const std::optional<fs::path>& row,
                                      const FileAccess& access) {
  if (!row) return std::nullopt;
  JsonValue own = read_json(FileName::by_document(*row), access);
  try {
    read_row(own);
  } catch (const Error& problem) {
    throw problem.inside(row->string());
  }
  return own;
}

// The tokens that end what a model with that configuration writes, a number or a list of them;
// absent if it names none.
std::optional<std::vector<std::int64_t>> end_tokens(const JsonValue& config) {
  if (const JsonValue* own = present_member(config, "eos_token_id")) {
    const std::string place = "/eos_token_id";
    if (!own->is(JsonValue::Type::array)) return std::vector{expect_integer(*own, place, -1)};
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < own->size(); ++i) {
      ids.push_back(expect_integer(own->element(i), pointer_to(place, i), -1));
    }
    return ids;
  }
  const JsonValue* texts = present_member(config, "text_config");
  if (texts == nullptr) return std::nullopt;
  try {
    return end_tokens(*texts);
  } catch (const Error& problem) {
    throw input_error(problem.problem(), "/text_config" + problem.where(), problem.help());
  }
}

// Parts the head from the token embeddings where the file has other numbers for it, as transformers
// does since version 5; and ties it where only the language part is said to be tied and the file
// has no head.
void settle_head(ModelFolder& model) {
  if (model.architecture.part_tied && !has_head(model.architecture, model.weights)) {
    model.architecture.tied = true;
    return;
  }
  const auto own = head_apart(model.architecture, model.weights);
  if (!own) return;
  model.architecture.tied = false;
  model.warnings.push_back(
      translated("\"tie_word_embeddings\" is true, but {1} has other numbers than the token "
                 "embeddings: it is used, as transformers does since version 5",
                 in_quotes(*own)));
}

// Reads how pictures or sounds are prepared: from a processor of several parts, else from a file
// for it alone, as transformers 5 has it.
void read_processor(ModelFolder& model, const FileAccess& access) {
  const std::optional<VisionPart>& vision = model.architecture.vision;
  const char* const name = vision ? "image_processor" : "feature_extractor";
  for (const bool in_part : {true, false}) {
    const FileName file = FileName::by_document(
        model.path, in_part ? "processor_config.json" : "preprocessor_config.json");
    if (!is_there(file, access)) continue;
    const JsonValue settings = read_json(file, access);
    const JsonValue* part = in_part ? present_member(settings, name) : &settings;
    if (part == nullptr) continue;
    try {
      if (vision) {
        model.image_processor = read_image_processor(*part, vision->processor);
      } else {
        model.sound_processor = read_sound_processor(*part);
      }
    } catch (const Error& problem) {
      const std::string place = (in_part ? std::string("/") + name : "") + problem.where();
      throw Error(problem.kind(), problem.problem(), place, problem.help())
          .inside(file.path().string());
    }
    return;
  }
}

// Reads what makes vectors of texts, and how long a text the folder's library reads: by the folder
// of sentence-transformers, else by the tokenizer, and by the positions where texts get vectors.
void read_sentences(ModelFolder& model, const JsonValue& config, const FileAccess& access) {
  const ReadSettings read = [&](const fs::path& name) -> std::optional<JsonValue> {
    const FileName file = FileName::by_document(model.path, name);
    return is_there(file, access) ? std::optional(read_json(file, access)) : std::nullopt;
  };
  const Architecture& own = model.architecture;
  model.architecture.sentence =
      read_sentence_modules(model.path, own.width, read, access, model.warnings);
  if (own.sentence && own.sentence->longest) {
    model.longest_read = own.sentence->longest;
    return;
  }
  const auto longest_in = [](const JsonValue& settings, const char* key) {
    constexpr double beyond = 1e9;  // of a tokenizer without a limit
    const JsonValue* value = present_member(settings, key);
    const bool is_limit = value != nullptr && value->is(JsonValue::Type::number) &&
                          value->number() >= 1 && value->number() < beyond;
    return is_limit ? std::optional(static_cast<std::size_t>(value->number())) : std::nullopt;
  };
  if (const auto settings = read("tokenizer_config.json")) {
    model.longest_read = longest_in(*settings, "model_max_length");
  }
  const auto positions = longest_in(config, "max_position_embeddings");
  if (!own.sentence || !positions) return;
  model.longest_read = std::min(model.longest_read.value_or(*positions), *positions);
}

// A model in one file.
void read_gguf(ModelFolder& model, const fs::path& path, const std::optional<fs::path>& row,
               const FileAccess& access) {
  const std::optional<JsonValue> own_row = read_own_row(row, access);
  model.weights = CheckpointWeights::open_gguf(path, access);
  const Gguf& keys = *model.weights.gguf();
  try {
    const GgufModel own = read_gguf_model(keys);
    model.architecture = read_architecture(own.config, own_row ? &*own_row : &own.row);
    model.warnings = model.architecture.warnings;
    model.warnings.insert(model.warnings.end(), own.warnings.begin(), own.warnings.end());
    model.weights.note_read(own.tensors);
    model.row = row_text(own.config, own_row ? &*own_row : &own.row);
  } catch (const Error& problem) {
    throw problem.inside(path.string());
  }
  if (keys.text("tokenizer.ggml.model").value_or("none") == "none") {
    model.no_tokenizer = Error(
        ErrorKind::file, translated("the file {1} has no tokenizer", in_quotes(path.native())), "",
        translated("give token ids"));
    return;
  }
  try {
    model.tokenizer = Tokenizer::from_gguf(keys);
  } catch (const Error& problem) {
    if (problem.kind() == ErrorKind::internal) throw;
    model.no_tokenizer = problem.inside(path.string());
  }
}

// Reads the tokenizer of a folder, or why there is none.
void read_tokenizer(ModelFolder& model, const FileAccess& access) {
  try {
    const TokenizerFolder files(model.path, model.architecture.family, access);
    if (files.empty()) {
      model.no_tokenizer = no_tokenizer_in(model.path);
      return;
    }
    model.tokenizer = Tokenizer::from_files(files.files());
    const std::vector<std::string>& open = model.tokenizer->warnings();
    model.warnings.insert(model.warnings.end(), open.begin(), open.end());
    if (const auto own = files.decoder_files()) {
      model.decoder_tokenizer = Tokenizer::from_files(*own);
    }
  } catch (const Error& problem) {
    if (problem.kind() == ErrorKind::internal) throw;
    model.no_tokenizer =
        problem.kind() == ErrorKind::input ? in_folder(problem, model.path) : problem;
  }
}

// Reads the weights of a folder, and what the classes that it was saved from make of them.
void read_weights(ModelFolder& model, const std::optional<fs::path>& adapter,
                  const FileAccess& access) {
  model.weights = CheckpointWeights::open(model.path, access);
  model.weights.find_within(model.architecture);
  if (adapter) merge_adapter(*adapter, access, model.weights);
  settle_head(model);
  if (const auto missing = missing_of_classifier(model.architecture, model.weights)) {
    model.warnings.push_back(
        translated("the file has no tensor {1}: what models of the class {2} predict is not "
                   "computed",
                   in_quotes(*missing), in_quotes(model.architecture.headless_class)));
  }
  if (auto warning = names_of_other_classes(model.architecture, model.weights))
    model.warnings.push_back(std::move(*warning));
}

// Says that a class that predicts tokens lacks what it predicts them with.
void note_missing_head(ModelFolder& model, const JsonValue& config) {
  const Architecture& own = model.architecture;
  // Models of sentences are decoders whose head is left out.
  if (own.vision || own.sound || own.sentence || !own.headless_class.empty() ||
      own.head.weight.empty() || !own.head.dense.empty() ||
      present_member(config, "architectures") == nullptr || has_head(own, model.weights))
    return;
  model.warnings.push_back(
      translated("the file has no tensor {1}, and \"tie_word_embeddings\" is not true: no token is "
                 "predicted",
                 in_quotes(head_weight(own.head, model.weights))));
}

// Reads what a folder of sentence-transformers says of the model in a folder within it.
void read_modules_around(ModelFolder& model, const fs::path& path, const FileAccess& access) {
  const ReadSettings read = [&](const fs::path& name) -> std::optional<JsonValue> {
    const FileName file = FileName::by_document(path, name);
    return is_there(file, access) ? std::optional(read_json(file, access)) : std::nullopt;
  };
  model.architecture.sentence =
      read_sentence_modules(path, model.architecture.width, read, access, model.warnings);
  const auto& sentence = model.architecture.sentence;
  if (sentence && sentence->longest) model.longest_read = sentence->longest;
}

namespace {

// What is wrong with a folder without a configuration that holds no model to name either; empty if
// its files do not say it.
std::string lacking(const fs::path& path, const FileAccess& access) {
  std::vector<std::string> names;
  std::error_code error;
  constexpr std::size_t most_looked_at = 1000;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (names.size() == most_looked_at) break;
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (name == "config.json.txt" || (name.starts_with("config (") && name.ends_with(".json")))
      return translated("rename {1} to config.json", in_quotes(name));
  }
  if (is_there(FileName::by_document(path, "result.json"), access)) {
    return translated("it holds a result, which needs no model: {1}",
                      "attn-cli view " + path_text(path.native()));
  }
  if (is_there(FileName::by_document(path, "model_index.json"), access))
    return translated("this is a pipeline of diffusers: name a folder within it that has one");
  for (const std::string& name : names) {
    for (const std::string_view ending : {".pt", ".pth", ".ckpt", ".bin", ".safetensors"}) {
      if (!name.ends_with(ending)) continue;
      return translated(
          "it has weights alone, {1}: save the model as transformers does, with "
          "save_pretrained(), or write its config.json",
          in_quotes(name));
    }
  }
  return "";
}

// What to name in the place of a folder without a configuration, by the files that it holds; empty
// if they do not say it.
std::string held_instead(const fs::path& path, const FileAccess& access) {
  std::error_code error;
  fs::path model;
  std::size_t looked_at = 0;
  constexpr std::size_t most_looked_at = 1000;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (++looked_at > most_looked_at) break;
    if (at->path().extension() == ".gguf" && (model.empty() || at->path() < model)) {
      model = at->path();
    }
  }
  if (!model.empty()) {
    return translated("the model is in one file, {1}: name that", in_quotes(model.native()));
  }
  const fs::path snapshots = path / "snapshots";
  if (fs::is_directory(snapshots, error)) {
    const fs::path within = checkpoint_within(snapshots, access);
    if (!within.empty()) {
      return translated("this is a folder of Hugging Face's cache: name {1}",
                        in_quotes(within.native()));
    }
  }
  if (is_there(FileName::by_document(path, "params.json"), access)) {
    return translated(
        "this is a folder of Meta's or Mistral's own form: name the one with "
        "config.json that Hugging Face has of this model");
  }
  return "";
}

}  // namespace

Error no_configuration_in(const fs::path& path, const FileAccess& access) {
  const bool is_adapter = is_there(FileName::by_document(path, "adapter_config.json"), access);
  const fs::path within = checkpoint_within(path, access);
  const std::string instead = held_instead(path, access), lacks = lacking(path, access);
  return {ErrorKind::file,
          translated("there is no config.json in the folder {1}", in_quotes(path.native())), "",
          !instead.empty() ? instead
          : is_adapter     ? translated("it holds only an adapter: name its "
                                            "model, and the adapter with "
                                            "DocumentOptions::adapter")
          : !within.empty()
              ? translated("its folder {1} has one: name that", in_quotes(within.native()))
          : !lacks.empty() ? lacks
                           : translated("name the folder of a checkpoint")};
}

void check_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const bool there = fs::exists(path, error);
  const std::string& name = path.native();
  std::string meant;
  for (const std::string_view start : {"hf://", "hf:", "huggingface:"}) {
    if (meant.empty() && name.starts_with(start)) meant = name.substr(start.size());
  }
  for (const std::string_view start :
       {"https://huggingface.co/", "http://huggingface.co/", "https://hf.co/", "huggingface.co/"}) {
    if (!name.starts_with(start)) continue;
    std::string repository = name.substr(start.size());
    // The rest behind the owner and the name is a page of the repository.
    const std::size_t slash = repository.find('/');
    if (slash != repository.npos)
      repository.resize(std::min(repository.find('/', slash + 1), repository.size()));
    while (repository.ends_with('/')) repository.pop_back();
    if (repository.empty()) break;
    if (std::ranges::count(cached_model_names(), repository) > 0) {
      meant = repository;
      break;
    }
    throw Error(ErrorKind::file, translated("there is no folder {1}", in_quotes(name)), "",
                translated("nothing is downloaded: get it with {1}, and give its name, {2}",
                           "hf download " + repository, repository));
  }
  if (name.starts_with("~/")) meant = "\"$HOME" + name.substr(1) + '"';
  if (!meant.empty()) {
    throw Error(ErrorKind::file, translated("there is no folder {1}", in_quotes(name)), "",
                name[0] == '~'
                    ? translated("shells leave ~ as it is in quotes and after =: write {1}", meant)
                    : translated("write {1}", meant));
  }
  throw Error(ErrorKind::file,
              there ? translated("{1} is not a folder", in_quotes(path.native()))
                    : translated("there is no folder {1}", in_quotes(path.native())),
              "",
              path.native().find(":/") != std::string::npos
                  ? translated("nothing is downloaded: get it with hf download, and give its name "
                               "there, such as gpt2")
                  : translated("name the folder of a checkpoint, which holds config.json"));
}

}  // namespace

ModelFolder ModelFolder::open(const fs::path& path, const std::optional<fs::path>& row,
                              const FileAccess& given, const std::optional<fs::path>& adapter) {
  ModelFolder model;
  model.path = path;
  FileAccess access = given;
  access.opened = [&](const fs::path& file, std::span<const std::byte> bytes) {
    model.files.push_back(file);
    if (given.opened) given.opened(file, bytes);
  };
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    read_gguf(model, path, row, access);
    if (adapter) merge_adapter(*adapter, access, model.weights);
    return model;
  }
  check_folder(path);
  const fs::path configuration = path / "config.json";
  const FileName named = FileName::by_document(path, configuration.filename());
  if (!is_there(named, access)) {
    const fs::path inner = transformer_within(path, access);
    if (inner.empty()) throw no_configuration_in(path, access);
    model = open(inner, row, access, adapter);
    read_modules_around(model, path, access);
    return model;
  }
  const JsonValue config = read_json(named, access);
  const std::optional<JsonValue> own_row = read_own_row(row, access);
  try {
    model.architecture = read_architecture(config, own_row ? &*own_row : nullptr);
    model.warnings = model.architecture.warnings;
    model.row = row_text(config, own_row ? &*own_row : nullptr);
  } catch (const Error& problem) {
    throw problem.inside(configuration.string());
  }
  if (model.architecture.vision || model.architecture.sound) read_processor(model, access);
  read_weights(model, adapter, access);
  if (!model.architecture.vision) read_sentences(model, config, access);
  note_missing_head(model, config);
  read_tokenizer(model, access);
  return model;
}

std::optional<SettingsFile> generation_settings(const ModelFolder& model,
                                                const FileAccess& access) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const FileName file = FileName::by_document(model.path, name);
    if (model.weights.gguf() == nullptr && is_there(file, access)) {
      return SettingsFile{file.path(), read_json(file, access)};
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> end_tokens(const ModelFolder& model, const FileAccess& access) {
  std::vector<std::int64_t> ids;
  if (const Gguf* keys = model.weights.gguf()) {
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
      if (const auto id = keys->number(key)) ids.push_back(static_cast<std::int64_t>(*id));
    }
    return ids;
  }
  for (const char* name : {"generation_config.json", "config.json"}) {
    const FileName file = FileName::by_document(model.path, name);
    if (!is_there(file, access)) continue;
    const JsonValue config = read_json(file, access);
    try {
      if (const auto own = end_tokens(expect_object(config, ""))) return *own;
    } catch (const Error& problem) {
      throw problem.inside(file.path().string());
    }
  }
  return ids;
}

bool has_chat_template(const ModelFolder& model, const FileAccess& access) {
  if (const Gguf* keys = model.weights.gguf()) {
    return keys->text("tokenizer.chat_template").has_value();
  }
  if (is_there(FileName::by_document(model.path, "chat_template.jinja"), access)) return true;
  const FileName tokenizer = FileName::by_document(model.path, "tokenizer_config.json");
  return is_there(tokenizer, access) &&
         present_member(read_json(tokenizer, access), "chat_template") != nullptr;
}

std::string family_in(const fs::path& folder, const FileAccess& access) {
  const FileName file = FileName::by_document(folder, "config.json");
  std::error_code error;
  if (!fs::is_directory(folder, error) || !is_there(file, access)) return "";
  const JsonValue config = read_json(file, access);
  return family_of(reads_pictures(family_of(config)) ? config : main_part(config));
}

Tokenizer open_tokenizer(const fs::path& path, const std::string& family,
                         const FileAccess& access) {
  const TokenizerFolder files(path, family, access);
  if (files.empty()) throw no_tokenizer_in(path);
  std::error_code error;
  try {
    return Tokenizer::from_files(files.files());
  } catch (const Error& problem) {
    if (problem.kind() != ErrorKind::input) throw;
    throw in_folder(problem, fs::is_regular_file(path, error) ? path.parent_path() : path);
  }
}

std::shared_ptr<const ModelFolder> ModelFolders::open(const fs::path& path,
                                                      const std::optional<fs::path>& row,
                                                      const FileAccess& given,
                                                      const std::optional<fs::path>& adapter) {
  const std::lock_guard lock(guard_);
  if (!mapped_) {
    mapped_ = std::make_shared<MappedFiles>();
    // Other processes share mapped files, but not packed weights: these stay a small part.
    constexpr double part = 1.0 / 16, most = 0x1p40;
    const double bytes = std::min(most, part * usable_memory());
    kept_packing_ = std::make_shared<KeptPacking>(static_cast<std::size_t>(bytes));
  }
  const std::string key =
      path.native() + '\0' + (row ? row->native() : "") + '\0' + (adapter ? adapter->native() : "");
  const auto known = open_.find(key);
  if (known != open_.end()) {
    // A caller that wants to know which files were read hears of these too.
    if (given.opened && files_ == Files::told_each) {
      for (const fs::path& file : known->second->files) {
        given.opened(file, MappedFile::open(FileName::by_document(file),
                                            {given.limits, given.restrict_to, {}, given.mapped})
                               ->bytes());
      }
    }
    if (given.mapped) given.mapped->add(*mapped_);
    return known->second;
  }
  FileAccess access = given;
  access.mapped = mapped_;
  auto model = std::make_shared<ModelFolder>(ModelFolder::open(path, row, access, adapter));
  model->weights.keep_packed(kept_packing_, key + '\0');
  open_.emplace(key, model);
  if (given.mapped) given.mapped->add(*mapped_);
  return model;
}

void ModelFolders::check() const {
  if (mapped_) mapped_->check();
}

std::vector<std::string> written_tokens(const std::optional<Tokenizer>& tokenizer,
                                        const std::vector<std::int64_t>& ids) {
  const auto number = [](std::int64_t id) { return "<" + std::to_string(id) + ">"; };
  std::vector<std::string> result;
  if (!tokenizer) {
    for (const std::int64_t id : ids) result.push_back(number(id));
    return result;
  }
  // A model may have rows for more tokens than its tokenizer knows.
  const auto known = [&](std::int64_t id) {
    return id >= 0 && static_cast<std::size_t>(id) < tokenizer->size() &&
           !tokenizer->token(id).empty();
  };
  std::vector<std::int64_t> run;
  const auto flush = [&] {
    for (std::string& piece : tokenizer->pieces(run)) result.push_back(std::move(piece));
    run.clear();
  };
  for (const std::int64_t id : ids) {
    if (known(id)) {
      run.push_back(id);
      continue;
    }
    flush();
    result.push_back(number(id));
  }
  flush();
  return result;
}

std::optional<std::string> written_token(const ModelFolder& folder, std::int64_t id) {
  const auto& tokenizer = folder.writing_tokenizer();
  if (!tokenizer) return std::nullopt;
  return written_tokens(tokenizer, {id, id}).back();
}

}  // namespace attn
