#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attn/cpu.hpp"
#include "attn/document.hpp"
#include "attn/io.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "io/json_writer.hpp"
#include "models/architecture.hpp"
#include "support/text_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

template <class Names>
std::string joined(const Names& names, std::string_view between) {
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "" : std::string(between)) + std::string(name);
  return text;
}

template <class Names>
void write_names(JsonWriter& json, const char* key, const Names& names) {
  json.key(key);
  json.begin_array();
  for (const std::string_view name : names) json.value(name);
  json.end_array();
}

template <class Table>
void write_meanings(JsonWriter& json, const Table& table) {
  json.begin_array();
  for (const auto& row : table) {
    json.begin_object();
    json.key("name");
    json.value(row.name);
    json.key("meaning");
    json.value(translated(row.meaning));
    json.end_object();
  }
  json.end_array();
}

template <class Table>
std::string meanings(const Table& table) {
  std::array<TextColumn, 2> columns;
  for (const auto& row : table) {
    columns[0].cells.emplace_back(row.name);
    columns[1].cells.push_back(translated(row.meaning));
  }
  return text_table(columns);
}

}  // namespace

std::string catalogue_text() {
  std::string text = translated("Kinds of attention\n");
  std::array<TextColumn, 2> all_kinds;
  for (const KindInfo& kind : kinds()) {
    std::string name(kind.name);
    if (!kind.aliases.empty()) name += " (" + joined(kind.aliases, ", ") + ")";
    all_kinds[0].cells.push_back(name);
    all_kinds[1].cells.push_back(translated(kind.score));
  }
  text += text_table(all_kinds);
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
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object();
  json.key("kinds");
  json.begin_array();
  for (const KindInfo& kind : kinds()) {
    json.begin_object();
    json.key("name");
    json.value(kind.name);
    write_names(json, "aliases", kind.aliases);
    json.key("score");
    json.value(kind.score);
    json.key("parameters");
    json.begin_array();
    for (const ParameterInfo& parameter : kind.parameters) {
      json.begin_object();
      json.key("name");
      json.value(parameter.name);
      json.key("shape");
      json.value(parameter.shape);
      json.key("optional");
      json.value(parameter.optional);
      json.end_object();
    }
    json.end_array();
    json.key("source");
    json.value(kind.source);
    json.end_object();
  }
  json.end_array();
  const std::vector<std::string> families = known_families();
  write_names(json, "models", families);
  json.key("mask");
  write_meanings(json, mask_parts());
  write_names(json, "colour_maps", colour_maps());
  write_names(json, "tensor_files_read", TensorFile::formats());
  write_names(json, "tensor_files_written", names_of(tensor_formats()));
  json.key("picture_kinds");
  write_meanings(json, plot_kinds());
  write_names(json, "pictures", names_of(picture_formats()));
  write_names(json, "cpu_targets", cpu_targets());
  json.end_object();
  json.finish();
  return text;
}

}  // namespace attn
