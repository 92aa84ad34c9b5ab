#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

bool is_among(std::string_view extension, std::string_view extensions) {
  for (std::size_t at = extensions.find(extension); at != extensions.npos && !extension.empty();
       at = extensions.find(extension, at + 1)) {
    const std::size_t end = at + extension.size();
    if (end == extensions.size() || extensions[end] == ' ') return true;
  }
  return false;
}

// The cure for the name of a file in place of the folder that a command takes.
std::string instead_of_file(const Command& command, const fs::path& out) {
  const std::string extension = out.extension().string();
  const fs::path stem = out.stem();  // without the .tar of .tar.gz
  const std::string folder = (stem.extension() == ".tar" ? stem.stem() : stem).string();
  const std::string call = "attn-cli " + command.name + " …";
  const auto takes = [&](const char* flag, const char* word = "") {
    return std::ranges::any_of(command.flags, [&](const Flag& known) {
      const bool has = *word == '\0' || std::ranges::count(known.words, word) > 0;
      return known.name == flag && has;
    });
  };
  if (is_among(extension, ".png .svg .pdf") && takes("--plots", "heatmap")) {
    return translated("give a folder, such as {1}; {2} draws one picture of its result", folder,
                      "attn-cli plot heatmap " + folder + " --out " + out.filename().string());
  }
  const std::string flag = "--" + extension.substr(1);
  if (is_among(extension, ".csv .json") && takes(flag.c_str()) && !takes("--tensors"))
    return translated("write {1}", call + " " + flag + " > " + out.string());
  if (is_among(extension, ".json .jsonl") && takes("--tensors"))
    return translated("write {1}", call + " --out - > " + out.string());
  if (const std::string format = extension.substr(1); takes("--tensors", format.c_str()))
    return translated("write {1}", "--out " + folder + " --tensors " + format);
  if (is_among(extension, ".html .htm"))
    return translated("write {1}", "attn-cli view INPUT --out " + out.string());
  return translated("give a folder, such as {1}", folder);
}

// Throws Error(usage) for the name of a file where that of a folder belongs.
void refuse_file_name(const Command& command, const std::string& flag, const std::string& text) {
  const fs::path out(text);
  const std::string extension = out.extension().string();
  constexpr std::string_view of_pictures = ".png .svg .pdf .jpg .jpeg .gif .webp .eps .tif .tiff",
                             of_files =
                                 ".json .jsonl .ndjson .csv .tsv .txt .md .html .htm .npy .npz "
                                 ".safetensors .pt .pth .h5 .parquet .log .gz .tgz .tar .zip .xz "
                                 ".bz2 .zst";
  const bool picture = is_among(extension, of_pictures);
  std::error_code none;
  if ((!picture && !is_among(extension, of_files)) || fs::exists(out, none)) return;
  throw Error(
      ErrorKind::usage,
      picture ? translated("\"{1}\" is the name of a picture, and {2} takes a folder", text, flag)
              : translated("\"{1}\" is the name of a file, and {2} takes a folder", text, flag),
      flag, instead_of_file(command, out));
}

}  // namespace

void check_output(const Command& command, const Flag& flag, const std::string& text) {
  const bool folder = flag.value == "DIR";
  const auto refuse = [&](const std::string& problem, const std::string& help) {
    throw Error(ErrorKind::usage, problem, flag.name, help);
  };
  std::error_code none;
  if (text.empty()) {
    refuse(translated("the name of the output is empty"),
           translated("give a name: a variable of the shell may be unset"));
  }
  constexpr std::string_view printing[]{"run", "batch", "plot", "view"};
  if (text == "/dev/stdout" && std::ranges::count(printing, command.name) > 0) {
    refuse(translated("\"{1}\" is standard output, which {2} calls -", text, flag.name),
           translated("write {1}", flag.name + " -"));
  }
  if (text.find("://") != std::string::npos) {
    refuse(translated("\"{1}\" is an address, and results are written to this machine", text),
           translated("write to a folder here, and copy it there"));
  }
  const bool of_home = text == "~" || text.starts_with("~/");
  if (of_home && !fs::exists("~", none)) {
    refuse(translated("\"~\" stands for the home folder only where the shell replaces it"),
           translated("write {1}, with a space and without quotes", flag.name + " " + text));
  }
  if (folder) refuse_file_name(command, flag.name, text);
}

}  // namespace attn::cli
