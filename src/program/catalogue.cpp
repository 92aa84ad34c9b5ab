#include "attn/catalogue.hpp"

#include <string>
#include <string_view>

#include "attn/cpu.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/io.hpp"
#include "attn/pictures.hpp"
#include "attn/plot.hpp"

#include "kernels/cpu_target.hpp"
#include "models/architecture.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "support/errors.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

template <class Names>
std::string joined(const Names& names, std::string_view between) {
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "" : std::string(between)) + std::string(name);
  return text;
}

// Rows of a name and its meaning, as a table to read and as objects for programs.
template <class Table>
std::string meanings(const Table& table) {
  TextTable text{{{""}, {""}}};
  for (const auto& row : table) text.add({std::string(row.name), translated(row.meaning)});
  return text.text();
}

template <class Table>
Fact meaning_facts(const Table& table) {
  return list_of(table, [](const auto& row) {
    return object({{"name", row.name}, {"meaning", translated(row.meaning)}});
  });
}

}  // namespace

std::string catalogue_text() {
  std::string text = translated("Kinds of attention\n");
  TextTable all_kinds{{{""}, {""}}};
  for (const KindInfo& kind : kinds()) {
    std::string name(kind.name);
    if (!kind.aliases.empty()) name += " (" + joined(kind.aliases, ", ") + ")";
    all_kinds.add({name, translated(kind.score)});
  }
  text += all_kinds.text();
  text += translated("\nFamilies of models\n");
  std::string line = " ";
  for (const std::string& family : known_families()) {
    if (line.size() + family.size() > 78) {
      text += line + "\n";
      line = " ";
    }
    line += " " + family;
  }
  text += line + "\n";
  text += translated("\nParts of a mask\n");
  text += meanings(mask_parts());
  text += translated("\nColour maps\n  {1}\n", joined(colour_maps(), " "));
  text += translated("\nFiles of tensors\n  read:     {1}\n  written:  {2}\n",
                     joined(TensorFile::formats(), " "), joined(names_of(tensor_formats()), " "));
  text += translated("\nPictures\n");
  text += meanings(plot_kinds());
  text += translated("  written:  {1}\n", joined(names_of(picture_formats()), " "));
  text += translated("\nCPU targets\n  {1}\n", joined(cpu_targets(), " "));
  return text;
}

std::string catalogue_json() {
  const auto parameter = [](const ParameterInfo& info) {
    return object({{"name", info.name}, {"shape", info.shape}, {"optional", info.optional}});
  };
  const auto kind = [&](const KindInfo& info) {
    return object({{"name", info.name},
                   {"aliases", info.aliases},
                   {"score", info.score},
                   {"parameters", list_of(info.parameters, parameter)},
                   {"source", info.source}});
  };
  return json_text(object({{"kinds", list_of(kinds(), kind)},
                           {"models", known_families()},
                           {"mask", meaning_facts(mask_parts())},
                           {"colour_maps", colour_maps()},
                           {"tensor_files_read", TensorFile::formats()},
                           {"tensor_files_written", names_of(tensor_formats())},
                           {"picture_kinds", meaning_facts(plot_kinds())},
                           {"pictures", names_of(picture_formats())},
                           {"cpu_targets", cpu_targets()}}));
}

std::span<const std::string_view> cpu_targets() noexcept {
  return kernels::cpu_targets();
}

void use_cpu_target(std::string_view name) {
  if (!name.empty() && kernels::use_cpu_target(name)) return;
  std::string available;
  for (const std::string_view target : cpu_targets()) {
    available += (available.empty() ? "" : name_separator()) + std::string(target);
  }
  const std::string nearest =
      nearest_name(name, cpu_targets()).empty() ? "" : suggestion(name, cpu_targets()) + " ";
  throw Error(ErrorKind::usage, translated("this machine has no CPU target \"{1}\"", name), "",
              nearest + translated("available: {1}", available));
}

}  // namespace attn
