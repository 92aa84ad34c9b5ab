#include "attn/model_list.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/gguf_model.hpp"
#include "models/model_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

bool holds_weights(const fs::path& path) {
  const fs::path extension = path.extension();
  return extension == ".safetensors" || extension == ".bin" || extension == ".pt" ||
         extension == ".pth" || extension == ".gguf";
}

std::uint64_t bytes_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : size;
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    std::error_code unknown;
    const auto size = fs::file_size(entry.path(), unknown);
    if (holds_weights(entry.path()) && !unknown) bytes += size;
  }
  return bytes;
}

// Reads the configuration and the headers of the weights.
void read_headers(ListedModel& listed, const fs::path& path, const FileAccess& access) {
  std::error_code error;
  Architecture model;
  if (fs::is_directory(path, error)) {
    const auto config = MappedFile::open(FileName::by_document(path, "config.json"), access);
    model = read_architecture(parse_json(config->text()), nullptr);
  } else {
    const CheckpointWeights weights = CheckpointWeights::open_gguf(path, access);
    const GgufModel keys = read_gguf_model(*weights.gguf());
    model = read_architecture(keys.config, &keys.row);
  }
  listed.family = model.family;
  for (const ModelStack& stack : model.stacks) listed.layers += stack.layers.size();
  if (fs::is_directory(path, error)) {
    CheckpointWeights weights = CheckpointWeights::open(path, access);
    weights.find_within(model);
    find_prefix(weights, model);
  }
}

std::vector<std::string> names_here(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  const auto has_config = [&](const fs::path& path) {
    std::error_code unknown;
    return fs::exists(path / "config.json", unknown);
  };
  if (has_config(folder)) names.emplace_back(".");
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".gguf" || has_config(path)) {
      names.push_back(path.filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<ListedModel> models_here(const fs::path& folder, const FileAccess& access) {
  std::vector<ListedModel> models;
  for (std::string& name : names_here(folder)) models.emplace_back().name = std::move(name);
  const std::size_t here = models.size();
  for (std::string& name : cached_model_names()) models.emplace_back().name = std::move(name);
  // Headers have many names, and a cache many models.
  parallel_for(models.size(), 0, [&](std::size_t i) {
    ListedModel& listed = models[i];
    try {
      const fs::path path = model_path(listed.name, i < here ? folder : fs::path(), access);
      listed.bytes = bytes_of(path);
      read_headers(listed, path, access);
    } catch (const Error& error) {
      listed.problem = error.problem();
    }
  });
  return models;
}

std::string models_here_text(const std::vector<ListedModel>& models) {
  if (models.empty()) {
    return translated(
        "This machine has no model in this folder, in Hugging Face's cache or in Ollama's store. "
        "Get one with: hf download ORG/NAME\n");
  }
  std::size_t name = 0, family = 0;
  for (const ListedModel& model : models) {
    name = std::max(name, display_width(printable(model.name)));
    family = std::max(family, display_width(printable(model.family)));
  }
  std::string text;
  for (const ListedModel& model : models) {
    text += "  " + padded_right(printable(model.name), name) + "  " +
            padded_right(printable(model.family), family) + "  " +
            padded_left(
                model.layers == 0 ? "" : translated_count(model.layers, "{1} layer", "{1} layers"),
                10) +
            "  " + padded_left(bytes_text(static_cast<double>(model.bytes)), 8) + "  " +
            (model.problem.empty() ? translated("read")
                                   : translated("not read: {1}", printable(model.problem))) +
            "\n";
  }
  return text;
}

std::string models_here_json(const std::vector<ListedModel>& models) {
  std::string text = "[";
  for (const ListedModel& model : models) {
    text += (text.size() == 1 ? "\n  " : ",\n  ");
    text += "{\"name\": " + json_string(model.name) + ", \"family\": " + json_string(model.family) +
            ", \"layers\": " + std::to_string(model.layers) +
            ", \"bytes\": " + std::to_string(model.bytes) +
            ", \"read\": " + (model.problem.empty() ? "true" : "false") +
            (model.problem.empty() ? "" : ", \"problem\": " + json_string(model.problem)) + "}";
  }
  return text + (models.empty() ? "]\n" : "\n]\n");
}

}  // namespace attn
