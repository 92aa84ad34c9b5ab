#include "maps/opened_input.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "maps/attention_map.hpp"
#include "maps/map_selection.hpp"
#include "result/result_reader.hpp"
#include "result/tensor_names.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

void refuse_choice_of_files(const MapRequest& maps) {
  refuse_for_document(!maps.axes.empty(), "MapRequest::axes");
  refuse_for_document(maps.slice.has_value(), "MapRequest::slice");
  refuse_for_document(!maps.reshape.empty(), "MapRequest::reshape");
  refuse_for_document(maps.labels.has_value(), "MapRequest::labels");
  refuse_for_document(maps.selection.joins_layers(), "MapSelection::layers");
}

namespace {

void refuse_choice(const MapRequest& maps) {
  if (!maps.others.empty()) {
    throw Error(ErrorKind::usage, translated("only files of maps can be layers of one stack"),
                "MapRequest::others", translated("give one document"));
  }
  refuse_for_document(maps.name.has_value(), "MapRequest::name");
  refuse_choice_of_files(maps);
  const MapSelection& selection = maps.selection;
  refuse_for_document(selection.queries.has_value(), "MapSelection::queries");
  refuse_for_document(selection.query.has_value(), "MapSelection::query");
  refuse_for_document(selection.keys.has_value(), "MapSelection::keys");
  refuse_for_document(selection.drop_first > 0, "MapSelection::drop_first");
  refuse_for_document(!selection.drop.empty(), "MapSelection::drop");
  refuse_for_document(selection.renormalize, "MapSelection::renormalize");
  refuse_for_document(selection.merge_pieces, "MapSelection::merge_pieces");
  refuse_for_document(selection.hide_mask, "MapSelection::hide_mask");
  const auto refuse_together = [](bool given, const char* field) {
    if (!given) return;
    throw Error(
        ErrorKind::usage,
        translated("{1} joins several maps into one, which existing maps alone can be", field),
        field, translated("give one number, or run the document and give its result"));
  };
  refuse_together(samples_together(selection), "MapSelection::chosen_samples");
  refuse_together(heads_together(selection), "MapSelection::chosen_heads");
}

// Nothing is computed, so that nothing can be set.
void refuse_settings(const DocumentOptions& options) {
  const auto unchanged = [](const std::filesystem::path& path) { return path.string(); };
  for (const Setting& setting : settings(options, unchanged)) {
    // A number alone may be meant as the head that is chosen.
    if (setting.field == "DocumentOptions::heads") continue;
    throw Error(ErrorKind::usage,
                translated("existing maps are not computed, so {1} has no meaning", setting.field),
                setting.field,
                translated("leave it out, or give the document that the maps come from"));
  }
}

bool holds_rows_of_weights(ResultReader& file, const std::string& tensor) {
  try {
    return has_rows_of_weights(file.numbers(tensor));
  } catch (const Error&) {
    return false;  // labels, a title, texts
  }
}

// Layers of one stack are told apart by their numbers: two results of the same layers are no stack,
// but two computations.
void refuse_layers_twice(const MapFiles& files) {
  std::map<std::string, std::string> found;  // names of files by those of their weights
  for (const auto& file : files) {
    if (!file->is_result()) continue;
    for (const std::string& name : file->names()) {
      if (meaning_of(name) != TensorMeaning::weights || !AttentionName::of_tensor(name).layer())
        continue;
      const auto [first, is_new] = found.emplace(name, file->name());
      if (is_new) continue;
      throw Error(ErrorKind::usage,
                  translated("both {1} and {2} have {3}: they are two results, not layers of one "
                             "stack",
                             first->second, file->name(), in_quotes(name)),
                  "MapRequest::others",
                  translated("compare them: attn-cli heads {1}, with compare_heads() {2}",
                             first->second, file->name()));
    }
  }
}

// Whether the file is a document. A file of tensors is one if they state an attention, and an
// object that names no kind or model if the options name a kind, or if nothing in it is a map, by
// its rows or its key; neither if it has weights or a tensor is chosen.
bool is_computed(const DocumentOptions& options, const MapRequest& maps, ResultReader& file) {
  if (file.is_document()) return true;
  const std::vector<std::string>& names = file.names();
  const auto is_weights = [](const std::string& name) {
    return meaning_of(name) == TensorMeaning::weights;
  };
  if (std::any_of(names.begin(), names.end(), is_weights)) return false;
  const bool chooses = maps.name || !maps.axes.empty() || maps.changes_shape();
  if (!file.is_object()) return !chooses && state_attention(names);
  if (!options.attention.empty()) return true;
  return !chooses && !file.holds_foreign_tensors() &&
         std::none_of(names.begin(), names.end(),
                      [&](const std::string& name) { return holds_rows_of_weights(file, name); });
}

}  // namespace

MapSelection selection_of_maps(MapSelection selection, const DocumentOptions& options) {
  if (!options.heads || selection.chosen_heads || selection.heads != MapSelection::Shown::one)
    return selection;
  const auto head = static_cast<std::int64_t>(*options.heads);
  selection.chosen_heads = {{head, head + 1}};
  return selection;
}

DocumentOptions without_changes(DocumentOptions options) {
  options.adapter.reset();
  options.heads_off.clear();
  options.ablate.reset();
  options.ablate_over.clear();
  options.patch.reset();
  options.patch_at.clear();
  return options;
}

void refuse_result_beside_model(const std::filesystem::path& against, const char* field) {
  std::error_code none;
  if (!std::filesystem::exists(against / "result.json", none) ||
      std::filesystem::exists(against / "config.json", none))
    return;
  throw Error(
      ErrorKind::usage,
      translated("{1} is a result, and is compared with a model", in_quotes(against.string())),
      field, translated("name another model, or run this model too and compare both results"));
}

bool choose_layers(const MapSelection& selection, Document& document) {
  if (!selection.layers) return true;
  DocumentOptions chosen;
  std::vector<std::size_t>& layers = chosen.layers.emplace();
  for (const PositionRange& range : *selection.layers) {
    constexpr std::int64_t most = 1 << 16;  // more than any model has
    if (!range.first || !range.end || *range.first < 0 || *range.end > most) return false;
    for (std::int64_t layer = *range.first; layer < *range.end; ++layer)
      layers.push_back(static_cast<std::size_t>(layer));
  }
  put_options(chosen, document);
  return true;
}

void refuse_for_document(bool given, const char* field) {
  if (!given) return;
  throw Error(ErrorKind::usage,
              translated("a document is computed, and {1} chooses among existing maps", field),
              field, translated("leave it out, or give a result or a file of maps"));
}

OpenedInput open_input(const DocumentOptions& given, const MapRequest& maps) {
  if (given.input.empty()) {
    refuse_choice(maps);
    return open_document(given);
  }
  DocumentOptions options = given;
  options.input = result_in(given.input);
  // Standard input can be read once only.
  const auto file = MappedFile::open(FileName::by_user(options.input), options.files);
  std::shared_ptr<ResultReader> reader;
  if (!options.model && !file->bytes().empty()) {
    reader = std::make_shared<ResultReader>(file, options.input, options.files, false);
  }
  if (!reader || is_computed(options, maps, *reader)) {
    refuse_choice(maps);
    return open_document(options, file);
  }
  refuse_settings(options);
  reader->check_keys();
  MapFiles files = map_files(std::move(reader), maps);
  refuse_layers_twice(files);
  return files;
}

}  // namespace attn
