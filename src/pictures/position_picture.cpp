#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "document/keys.hpp"
#include "document/reader.hpp"
#include "layers/embedding_and_head.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "models/checkpoint.hpp"
#include "pictures/drawing.hpp"
#include "plot/axes/axes.hpp"
#include "result/result_reader.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "tokens/embedding.hpp"

namespace attn {
namespace {

/// Encoding of positions and its name.
struct PositionTable {
  std::string name;
  Tensor table;  // [L,D]
};

Error no_positions(const std::string& why) {
  return input_error(
      translated("the document adds no positions to its tokens: {1}", why), "",
      translated(
          "give its \"embedding\" a \"position\": \"sinusoidal\", or a file with a tensor [L,D]"));
}

PositionTable of_model(const ModelRequest& request) {
  const ModelFolder& folder = *request.folder;
  const Architecture& model = folder.architecture;
  const std::size_t length = request.texts.ids.at(0).size();
  if (const auto sinusoids = sinusoids_of(model)) {
    const Tensor all = sines_then_cosines(length, model.width, *sinusoids);
    return {translated("Sinusoidal Positions"), part_of(all, 0, {length, model.width})};
  }
  const StackWeights weights(folder.weights, model, model.stacks.front());
  const Tensor table = weights.find(WeightPurpose::positions, std::nullopt, "weight");
  if (!table || table.rank() != 2) {
    throw no_positions(translated("its model has no table of them"));
  }
  const std::size_t first = std::min(model.first_position, table.shape()[0] - 1);
  const std::size_t count = std::min(length, table.shape()[0] - first);
  return {translated("Learned Positions"), rows_of(table, first, count)};
}

// Positions of the first sample, which are those of all.
PositionTable of_document(const Document& document) {
  const std::vector<Kind> kinds = read_kinds(document.root());
  Problems problems;
  const Plan plan = read_plan(document, kinds[0], kinds, problems);
  problems.throw_first();
  if (const ModelRequest* model = model_of(plan)) return of_model(*model);
  const JsonValue* embedding = document.root().find("embedding");
  const JsonValue* position = embedding ? embedding->find("position") : nullptr;
  if (!position || position->string() != "sinusoidal") {
    throw no_positions(embedding ? translated("its embedding has none")
                                 : translated("it has no embedding"));
  }
  for (const NamedTensor& tensor : plan.tokens) {
    if (tensor.name != "embedded") continue;
    const Shape& shape = tensor.tensor.shape();
    return {translated("Sinusoidal Positions"),
            sinusoidal_positions(shape[shape.size() - 2], shape.back(), DType::float64)};
  }
  throw no_positions(translated("it has no tokens"));
}

std::string wanted_tensor(const PlotRequest& request, const ResultReader& file) {
  const std::vector<std::string>& names = file.names();
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (request.maps.name) return *request.maps.name;
  constexpr std::array<std::string_view, 3> usual{"positions", "embedded", "weights"};
  for (const std::string_view name : usual) {
    if (has(name)) return std::string(name);
  }
  if (names.size() == 1) return names[0];
  throw input_error(translated("it is not known which tensor is to be drawn"), "MapRequest::name",
                    suggestion("positions", known));
}

Heatmap chosen_positions(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  Heatmap heatmap = heatmap_of(SelectedMap(map, drawing.choice));
  if (!map.title.empty() && !is_map(map.tensor)) heatmap.title = map.title + "\n" + heatmap.title;
  return heatmap;
}

}  // namespace

AttentionMap read_positions(const PlotRequest& request, const std::shared_ptr<ResultReader>& file) {
  AttentionMap map;
  map.file = file->name();
  map.meaning = TensorMeaning::positions;
  map.title = file->title();
  if (file->is_document() && !request.maps.name) {
    refuse_choice_of_files(request.maps);
    const Document document = Document::open(file->file(), request.input, file->access());
    try {
      PositionTable positions = of_document(document);
      map.tensor = std::move(positions.name);
      map.numbers = std::move(positions.table);
    } catch (const Error& error) {
      throw document.placed(error);
    }
    return map;
  }
  MapRequest one = request.maps;
  one.name = wanted_tensor(request, *file);
  map = FiledMaps({file}, std::move(one)).one();
  map.meaning = TensorMeaning::positions;
  map.allowed = {};
  if (map.tensor.empty()) map.tensor = translated("Positions");
  return map;
}

Picture draw_positions(const Drawing& drawing) {
  return draw_heatmap(chosen_positions(drawing), options_for(drawing, drawing.of[0].map).heatmap(),
                      drawing.format);
}

Picture draw_position_curves(const Drawing& drawing) {
  Heatmap columns = chosen_positions(drawing);
  const CurvesOptions options = drawing.options.curves();
  // Columns of weights are keys. Tokens occur several times, so that they have their places, too.
  const Labels& labels = drawing.of[0].map.labels;
  if (!columns.of_positions && (labels.key.empty() || labels.key == labels.query)) {
    const std::vector<std::string> tokens = plot::shown_labels(columns, options.figure).key;
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      const std::size_t key = columns.first_key + j;
      columns.key_labels[j] =
          labels.key.empty() ? translated("key {1}", key) : position_name(tokens[j], key);
    }
  }
  return draw_curves(columns, options, drawing.format);
}

}  // namespace attn
