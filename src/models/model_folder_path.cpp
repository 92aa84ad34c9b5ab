#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/checkpoint.hpp"
#include "models/model_folder.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ollama_start = "ollama:";

bool is_present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The value of an environment variable; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

// Whether each part between slashes can be the name of a folder below another.
bool has_names_only(std::string_view path, std::size_t most_parts) {
  std::size_t parts = 0;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    const bool plain = std::ranges::all_of(part, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '.' || c == '_' || c == '-';
    });
    if (part.empty() || part.front() == '.' || !plain || ++parts > most_parts) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

// "a, b and 3 more", in order.
std::string listed(std::vector<std::string> names) {
  std::ranges::sort(names);
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (text.empty() ? "" : name_separator()) + names[i];
  }
  if (names.size() > most) text += translated(" and {1} more", names.size() - most);
  return text.empty() ? translated("nothing") : text;
}

std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// ---- Hugging Face's cache -----------------------------------------------------------------------

fs::path hub() {
  if (const std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  std::string caches = variable("XDG_CACHE_HOME");
  if (caches.empty()) caches = variable("HOME") + "/.cache";
  return fs::path(caches) / "huggingface" / "hub";
}

// Two hyphens are written for the slash of a name, and behind the start.
constexpr std::string_view repository_start = "models--";

std::vector<std::string> repositories(const fs::path& cache) {
  std::vector<std::string> names;
  for (std::string& name : entries_of(cache)) {
    if (!name.starts_with(repository_start)) continue;
    name.erase(0, repository_start.size());
    const std::size_t slash = name.find("--");
    if (slash != std::string::npos) name.replace(slash, 2, "/");
    names.push_back(std::move(name));
  }
  return names;
}

// Whether a name is that of a file of weights or of a tokenizer by its looks.
bool names_file(const std::string& name) {
  constexpr std::string_view extensions[]{".gguf", ".safetensors", ".bin", ".json", ".pt", ".pth"};
  return std::ranges::any_of(extensions, [&](auto extension) { return name.ends_with(extension); });
}

// The name in the hub of a model that TransformerLens calls by a short one.
std::string name_in_hub(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> owners[]{
      {"pythia-", "EleutherAI/"}, {"gpt-neo-", "EleutherAI/"}, {"opt-", "facebook/"}};
  if (name == "gpt2-small") return "gpt2";
  for (const auto& [start, owner] : owners) {
    if (name.starts_with(start)) return std::string(owner) + name;
  }
  return name;
}

// What is meant by a name that is none in the hub's cache, of a document in `folder`; empty if it
// does not look like something else.
std::string meant_model(const std::string& name, const fs::path& folder) {
  constexpr std::string_view of_ollama = "ollama/";
  if (name.starts_with(of_ollama))
    return translated("write {1}", std::string(ollama_start) + name.substr(of_ollama.size()));
  if (name.starts_with(repository_start)) {
    std::string own = name.substr(repository_start.size());
    if (const std::size_t slash = own.find("--"); slash != own.npos) own.replace(slash, 2, "/");
    return translated("write {1}", own);
  }
  // Names of models that had no owner once.
  for (const std::string& own : repositories(hub())) {
    if (name.find('/') == name.npos && own.ends_with("/" + name))
      return translated("write {1}, or get another: hf download {2}", own, "OWNER/" + name);
  }
  constexpr std::string_view of_tiktoken[]{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"};
  if (std::ranges::count(of_tiktoken, name) > 0) {
    return translated("this is a tokenizer of tiktoken: name its file, {1}", name + ".tiktoken");
  }
  const fs::path path = folder / name;
  if (!folder.empty() && is_present(fs::path(name))) {
    const fs::path there = fs::absolute(name).lexically_normal();
    return translated("names in a document are relative to it: write {1}",
                      there.lexically_relative(fs::absolute(folder).lexically_normal()).string());
  }
  std::error_code error;
  if (fs::path(name).parent_path().empty() || !fs::is_directory(path.parent_path(), error))
    return "";
  std::vector<std::string> models;
  for (std::string& own : entries_of(path.parent_path())) {
    if (is_present(path.parent_path() / own / "config.json")) models.push_back(std::move(own));
  }
  const std::vector<std::string_view> known(models.begin(), models.end());
  const std::string_view near = nearest_name(path.filename().string(), known);
  return near.empty()
             ? std::string()
             : translated("did you mean \"{1}\"?", (fs::path(name).parent_path() / near).string());
}

// `beside`: the folder of the document that names the model.
fs::path in_hub(const std::string& given, const fs::path& beside) {
  const std::size_t at = given.find('@');
  const std::string name = given.substr(0, at);
  const std::string revision = at == std::string::npos ? "main" : given.substr(at + 1);
  const fs::path cache = hub();
  std::string folder = name;
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) {
    folder.replace(slash, 1, "--");
  }
  const fs::path repository = cache / (std::string(repository_start) + folder);
  if (!is_present(repository) && names_file(name)) {
    throw Error(ErrorKind::file, translated("there is no file \"{1}\"", shown_name(given)), "",
                translated("check the name, and the folder it is looked for in"));
  }
  if (!is_present(repository)) {
    if (const std::string help = meant_model(name, beside); !help.empty()) {
      throw Error(ErrorKind::file,
                  translated("there is no folder and no model {1}", in_quotes(given)), "", help);
    }
    throw Error(
        ErrorKind::file, translated("there is no folder and no model {1}", in_quotes(given)), "",
        translated("looked for a folder in {1}, and for a model of the hub in {2}, which "
                   "has {3}; give the whole path of a folder, or get a model of the hub with: hf "
                   "download {4}",
                   path_text((beside.empty() ? fs::current_path() : fs::absolute(beside)).native()),
                   path_text(cache.native()), listed(repositories(cache)),
                   shown_name(name_in_hub(name))));
  }
  std::string commit = revision;
  const fs::path reference = repository / "refs" / revision;
  std::error_code error;
  if (fs::is_regular_file(reference, error)) {
    commit = MappedFile::open(FileName::by_document(reference))->text();
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  }
  const fs::path snapshot = repository / "snapshots" / commit;
  if (has_names_only(commit, 1) && fs::is_directory(snapshot, error)) return snapshot;
  std::vector<std::string> known = entries_of(repository / "refs");
  std::erase(known, "refs");
  throw Error(ErrorKind::file,
              translated("the model {1} is not there as {2}", in_quotes(name), in_quotes(revision)),
              "",
              translated("{1} names {2}; fetch the revision {4} of {3} with hf download",
                         path_text(repository.native()), listed(known), shown_name(name),
                         shown_name(revision)));
}

// ---- Ollama's store -----------------------------------------------------------------------------

[[noreturn]] void refuse_ollama(const std::string& given, const fs::path& looked,
                                const std::vector<std::string>& known, const std::string& pull) {
  throw Error(ErrorKind::file, translated("there is no model {1}", in_quotes(given)), "",
              translated("looked in {1}, which has {2}; get it with: ollama pull {3}",
                         path_text(looked.native()), listed(known), shown_name(pull)));
}

fs::path ollama_store() {
  const std::string store = variable("OLLAMA_MODELS");
  return store.empty() ? fs::path(variable("HOME")) / ".ollama" / "models" : fs::path(store);
}

fs::path ollama_library() {
  return ollama_store() / "manifests" / "registry.ollama.ai" / "library";
}

fs::path in_ollama(const std::string& given) {
  std::string name = given.substr(ollama_start.size());
  const std::string pull = name;
  std::string tag = "latest";
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    tag = name.substr(colon + 1);
    name.resize(colon);
  }
  const fs::path store = ollama_store(), library = ollama_library();
  if (!has_names_only(name, 1) || !is_present(library / name)) {
    refuse_ollama(given, library, entries_of(library), pull);
  }
  const fs::path manifest = library / name / tag;
  if (!has_names_only(tag, 1) || !is_present(manifest)) {
    refuse_ollama(given, library / name, entries_of(library / name), pull);
  }
  const auto file = MappedFile::open(FileName::by_document(manifest));
  try {
    const JsonValue root = parse_json(file->text());
    const JsonValue* layers = root.is(JsonValue::Type::object) ? root.find("layers") : nullptr;
    const bool list = layers != nullptr && layers->is(JsonValue::Type::array);
    for (std::size_t i = 0; list && i < layers->size(); ++i) {
      const JsonValue layer = layers->element(i);
      if (!layer.is(JsonValue::Type::object)) continue;
      const JsonValue* type = layer.find("mediaType");
      const JsonValue* digest = layer.find("digest");
      const auto is_text = [](const JsonValue* value) {
        return value != nullptr && value->is(JsonValue::Type::string);
      };
      if (!is_text(type) || !is_text(digest) ||
          type->string() != "application/vnd.ollama.image.model") {
        continue;
      }
      std::string blob = digest->string();
      std::ranges::replace(blob, ':', '-');
      const fs::path path = store / "blobs" / blob;
      if (has_names_only(blob, 1) && is_present(path)) return path;
    }
  } catch (const Error& error) {
    throw error.inside(manifest.string());
  }
  throw Error(
      ErrorKind::file, translated("the weights of the model {1} are not there", in_quotes(given)),
      manifest.string(), translated("get it again with: ollama pull {1}", shown_name(pull)));
}

}  // namespace

fs::path model_path(const std::string& name, const fs::path& folder, const FileAccess& access) {
  const fs::path path = folder / name;
  if (path.filename() == "config.json" && is_present(path)) return path.parent_path();
  if (is_present(path)) return path;
  const bool ollama = name.starts_with(ollama_start);
  const std::size_t at = std::min(name.find('@'), name.size());
  const bool repository = has_names_only(name.substr(0, at), 2) &&
                          (at == name.size() || has_names_only(name.substr(at + 1), 8));
  if (!ollama && !repository) return path;
  if (access.restrict_to) {
    throw input_error(
        translated("{1} is not in the folder that files are restricted to, and models "
                   "by name are outside it",
                   in_quotes(name)),
        "", translated("name a folder that is in it"));
  }
  return ollama ? in_ollama(name) : in_hub(name, folder);
}

std::vector<std::string> cached_model_names() {
  std::vector<std::string> names = repositories(hub());
  const fs::path library = ollama_library();
  for (const std::string& name : entries_of(library)) {
    for (const std::string& tag : entries_of(library / name)) {
      names.push_back(std::string(ollama_start) + name + ":" + tag);
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace attn
