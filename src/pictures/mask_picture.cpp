#include <algorithm>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/visibility.hpp"
#include "document/document.hpp"
#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "document/reader.hpp"
#include "maps/computed_maps.hpp"
#include "maps/opened_input.hpp"
#include "pictures/drawing.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The attention that is named, or the first of the chosen layers.
const PlannedAttention& named(const std::vector<PlannedAttention>& all, const MapRequest& maps) {
  const std::optional<std::string>& name = maps.name;
  if (!name && maps.selection.layers) {
    std::size_t layers = 0;
    for (const PlannedAttention& one : all)
      layers = std::max(layers, one.name.layer().value_or(0) + 1);
    const std::size_t wanted =
        numbers_in(maps.selection.layers, layers, "MapSelection::layers", counted_layers)[0];
    for (const PlannedAttention& one : all) {
      if (one.name.layer().value_or(0) == wanted) return one;
    }
  }
  if (!name) return all[0];
  std::vector<std::string> known;
  for (const PlannedAttention& attention : all) {
    known.push_back(attention.name.tensor("weights"));
    if (known.back() == *name) return attention;
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  throw input_error(translated("there is no attention \"{1}\"", *name), "MapRequest::name",
                    suggestion(*name, names));
}

/// What of a mask only the computation tells.
struct ComputedMask {
  Sequences compared;       ///< queries and keys that the mask compares; absent if it compares none
  Tensor hidden_in_effect;  ///< see AttentionMap
};

MaskMap mask_map(const PlannedAttention& attention, const ComputedMask& computed,
                 const MapChoice& choice, const std::string& title, std::size_t threads) {
  // No structured binding: clang 14 lets no lambda capture one.
  const std::size_t sample = choice.sample, head = choice.head;
  const MapSelection& selection = choice.selection;
  const Geometry& geometry = attention.geometry;
  const Visibility visibility(attention.mask, geometry, computed.compared);
  // Without its global positions the window hides what they make visible; `where` holds there.
  Mask no_globals = attention.mask;
  no_globals.global.clear();
  no_globals.where = {};
  const Visibility without_globals(no_globals, geometry, {});
  const bool globals = !attention.mask.global.empty();

  const Positions queries = selected_queries(selection, geometry.queries,
                                             Labels::of_sample(attention.labels.query, sample));
  const std::vector<std::string> all_keys = Labels::of_sample(attention.labels.key, sample);
  const std::vector<std::size_t> keys = selected_keys(selection, geometry.keys, all_keys);
  Tensor in_effect;
  if (computed.hidden_in_effect)
    in_effect = Maps(computed.hidden_in_effect, false).matrix(sample, head);
  const std::int64_t in_effect_part = std::int64_t{1} << hiding_parts().size();
  std::vector<std::int64_t> hidden_by(queries.count() * keys.size());
  std::vector<std::uint8_t> global(globals ? hidden_by.size() : 0);
  parallel_for(queries.count(), threads, [&](std::size_t i) {
    std::vector<std::uint32_t> parts(geometry.keys), window(globals ? geometry.keys : 0);
    visibility.hidden_by(sample, head, queries.first + i, parts);
    if (globals) without_globals.hidden_by(sample, head, queries.first + i, window);
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const std::size_t key = keys[j], cell = i * keys.size() + j;
      hidden_by[cell] = parts[key];
      const std::size_t whole = (queries.first + i) * geometry.keys + key;
      if (in_effect && in_effect.values<std::uint8_t>()[whole] != 0)
        hidden_by[cell] |= in_effect_part;
      if (globals) global[cell] = parts[key] == 0 && window[key] != 0 ? 1 : 0;
    }
  });

  MaskMap map;
  const Shape shape = {queries.count(), keys.size()};
  map.hidden_by = Tensor(shape, std::move(hidden_by));
  if (globals) map.global = Tensor(shape, std::move(global));
  for (const HidingPart* part : hiding_parts())
    map.parts.push_back(hidden_legend(part->name, attention.mask));
  map.parts.push_back(translated("hidden in effect by the bias"));
  map.query_labels = part_of(Labels::of_sample(attention.labels.query, sample), queries);
  const std::size_t first = attention.name.layer() ? 0 : 1;
  map.key_labels = key_labels(all_keys, keys, first);
  map.query_spans =
      shown_spans(Labels::spans_of_sample(attention.labels.query_spans, sample), queries);
  map.key_spans = shown_spans(Labels::spans_of_sample(attention.labels.key_spans, sample), keys);
  map.first_query = queries.first;
  map.first_key = keys.front();
  std::string place = attention.name.title();
  const std::string between = translated(", ");
  if (!place.empty()) place += between;
  place += translated("Sample {1}", sample + first);
  if (visibility.differs_by_head()) place += between + translated("Head {1}", head + first);
  map.title =
      (title.empty() ? "" : shown_title(title) + "\n") + translated("Attention Mask ({1})", place);
  return map;
}

// Computes the plan if the attention's mask compares rows or its bias may hide keys in effect.
ComputedMask computed_in(Plan plan, const PlannedAttention& attention) {
  const bool has_bias = static_cast<bool>(attention.mask.bias);
  if (!has_bias && !compares_rows(attention.mask, attention.geometry)) return {};
  ComputingOptions computing = plan.options();
  computing.weights = has_bias;
  plan.choose(computing);
  plan.output_gradient = {};
  ComputedMask mask;
  compute(plan, {.map = [&](AttentionMap map, std::size_t) {
            if (map.name != attention.name) return;
            mask = {std::move(map.compared), std::move(map.hidden_in_effect)};
          }});
  return mask;
}

}  // namespace

MaskMap document_mask(const PlotRequest& request, const ResultReader& file) {
  refuse_choice_of_files(request.maps);
  const Document document = Document::open(file.file(), request.input, file.access());
  try {
    const std::vector<Kind> kinds = read_kinds(document.root());
    Problems problems;
    const Plan plan = read_plan(document, kinds[0], kinds, problems);
    problems.throw_first();
    const PlannedAttention& attention = named(plan.attentions, request.maps);
    check_place(request.sample, attention.geometry.batch, request.head, attention.geometry.heads);
    return mask_map(attention, computed_in(plan, attention),
                    {request.sample, request.head, request.maps.selection}, plan.title,
                    request.options.figure.threads);
  } catch (const Error& error) {
    throw document.placed(error);
  }
}

namespace {

MaskMap mask_map(const Heatmap& heatmap, const std::string& title) {
  const Tensor allowed = heatmap.allowed.converted(DType::boolean);
  std::vector<std::int64_t> hidden;
  hidden.reserve(allowed.size());
  for (const std::uint8_t seen : allowed.values<std::uint8_t>()) hidden.push_back(seen ? 0 : 1);
  MaskMap map;
  map.hidden_by = Tensor(allowed.shape(), std::move(hidden));
  map.query_labels = heatmap.query_labels;
  map.key_labels = heatmap.key_labels;
  map.query_spans = heatmap.query_spans;
  map.key_spans = heatmap.key_spans;
  map.first_query = heatmap.first_query;
  map.first_key = heatmap.first_key;
  map.title = title;
  return map;
}

}  // namespace

Picture draw_mask(const Drawing& drawing) {
  const DrawnMap& drawn = drawing.of[0];
  const AttentionMap& map = drawn.map;
  const MapChoice& choice = drawing.choice;
  if (drawn.mask) return draw_mask(*drawn.mask, drawing.options.figure, drawing.format);
  // Of weights in bins the mask is in bins too: the whole one may be too large for any picture.
  const bool in_bins = !map.cells.empty() && map.allowed;
  if (map.planned && !in_bins) {
    return draw_mask(
        mask_map(*map.planned, {map.compared, map.hidden_in_effect}, choice, map.title, 1),
        drawing.options.figure, drawing.format);
  }
  check_is_map(map);
  if (!map.allowed) {
    throw input_error(
        translated("there is no mask to draw"), "",
        translated("give an input document, or a result with the tensor \"allowed\""));
  }
  AttentionMap allowed = map;
  allowed.numbers = map.allowed;
  MapChoice whole = choice;
  whole.selection.hide_mask = whole.selection.merge_pieces = whole.selection.renormalize = false;
  whole.selection.blocks = MapSelection::Blocks::none;
  const SelectedMap chosen(allowed, whole);
  const std::string title = map.title.empty() ? "" : shown_title(map.title) + "\n";
  return draw_mask(mask_map(selected_heatmap(chosen),
                            title + translated("Attention Mask") + " " + place_text(chosen)),
                   drawing.options.figure, drawing.format);
}

}  // namespace attn
