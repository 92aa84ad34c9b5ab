#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "attn/error.hpp"
#include "attn/pictures.hpp"

#include "maps/selected_map.hpp"
#include "pictures/picture_kinds.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace honoured {
namespace {

using Kinds = std::uint32_t;  // sum of 2^kind
using enum PlotKind;

constexpr Kinds of(std::initializer_list<PlotKind> kinds) {
  Kinds all = 0;
  for (const PlotKind kind : kinds) all |= Kinds{1} << static_cast<unsigned>(kind);
  return all;
}

constexpr Kinds every = of({last}) * 2 - 1;
constexpr Kinds sizes = of({dimensions, shapes});
constexpr Kinds splits = of({parts, bars, path, contributions, shares});
constexpr Kinds encodings = of({positions, curves});
constexpr Kinds sheets = of({figure});  // whose panels have options of their own
constexpr Kinds composed = sheets | of({card});
constexpr Kinds tensors = every & ~sizes & ~splits & ~sheets;
constexpr Kinds maps = tensors & ~encodings;
/// Whose cells have colours, and of these those whose values may be written.
constexpr Kinds split_maps = of({parts, contributions});
constexpr Kinds joined = of({lines, arcs});  // tokens joined by lines
/// Whose keys may be other tokens than their queries.
constexpr Kinds two_texts = maps & ~of({arcs});
constexpr Kinds coloured = (tensors & ~(of({mask, curves}) | joined)) | split_maps;
constexpr Kinds written = coloured & ~of({strip, overlay});
/// Figures of one map, or of several side by side where the choice says so.
constexpr Kinds one_or_more = of({heatmap, steps, difference});
constexpr Kinds panels = of({grid, comparison});

using MapShown = MapSelection::Shown;
using Chosen = const PlotRequest&;

/// An option, and the kinds that honour it: always, or only for one map or several side by side.
struct Row {
  PictureOptionInfo info;
  bool (*given)(Chosen request);
  Kinds kinds, of_one = 0, of_several = 0;
};

template <auto Member>
bool figure_differs(Chosen request) {
  return request.options.figure.*Member != FigureOptions().*Member;
}

constexpr auto option_rows = std::to_array<Row>({
    // Which numbers.
    {{"MapRequest::name"}, [](Chosen r) { return r.maps.name.has_value(); }, tensors},
    {{"MapRequest::reshape"}, [](Chosen r) { return !r.maps.reshape.empty(); }, tensors},
    {{"MapRequest::slice"}, [](Chosen r) { return r.maps.slice.has_value(); }, tensors},
    {{"MapRequest::axes"}, [](Chosen r) { return !r.maps.axes.empty(); }, tensors},
    {{"MapRequest::labels"},
     [](Chosen r) { return r.maps.labels.has_value(); },
     tensors & ~of({curves})},
    {{"MapSelection::layers"},
     [](Chosen r) { return r.maps.selection.layers.has_value(); },
     tensors},
    {{"MapSelection::layers", "mean, max"},
     [](Chosen r) { return r.maps.selection.joins_layers(); },
     tensors & ~of({mask, stages})},
    {{"MapSelection::chosen_samples"},
     [](Chosen r) { return r.sample != 0 || r.maps.selection.chosen_samples; },
     tensors | (splits & ~of({shares}))},
    {{"MapSelection::chosen_samples", "mean, max"},
     [](Chosen r) { return samples_together(r.maps.selection); },
     tensors & ~of({mask, overlay})},
    {{"MapSelection::chosen_samples", "all"},
     [](Chosen r) { return r.maps.selection.samples == MapShown::all; },
     one_or_more | panels | of({stages})},
    {{"MapSelection::chosen_heads"},
     [](Chosen r) { return r.head != 0 || r.maps.selection.chosen_heads; },
     tensors},
    {{"MapSelection::chosen_heads", "mean, max"},
     [](Chosen r) { return heads_together(r.maps.selection); },
     tensors & ~of({mask})},
    {{"MapSelection::chosen_heads", "all"},
     [](Chosen r) { return r.maps.selection.heads == MapShown::all; },
     one_or_more | panels | joined | of({stages, overlay})},
    // Which part of a map.
    {{"MapSelection::queries"},
     [](Chosen r) { return r.maps.selection.queries.has_value(); },
     tensors},
    {{"MapSelection::query"}, [](Chosen r) { return r.maps.selection.query.has_value(); }, tensors},
    {{"MapSelection::keys"},
     [](Chosen r) { return r.maps.selection.keys.has_value(); },
     two_texts | encodings},
    {{"MapSelection::drop_first"},
     [](Chosen r) { return r.maps.selection.drop_first > 0; },
     two_texts},
    {{"MapSelection::drop"}, [](Chosen r) { return !r.maps.selection.drop.empty(); }, two_texts},
    {{"MapSelection::renormalize"},
     [](Chosen r) { return r.maps.selection.renormalize; },
     two_texts & ~of({mask, steps})},
    {{"MapSelection::words"},
     [](Chosen r) { return r.maps.selection.words.has_value(); },
     maps & ~of({mask, steps, stages, overlay})},
    {{"MapSelection::merge_pieces"},
     [](Chosen r) { return r.maps.selection.merge_pieces; },
     maps & ~of({mask, steps, stages, overlay})},
    {{"MapSelection::blocks"},
     [](Chosen r) { return r.maps.selection.blocks != MapSelection::Blocks::none; },
     maps & ~of({mask, steps, stages, overlay, arcs})},
    {{"MapSelection::hide_mask"},
     [](Chosen r) { return r.maps.selection.hide_mask; },
     maps & ~(of({mask, overlay}) | joined)},
    // Lines, overlays, panels.
    {{"PlotOptions::top"}, [](Chosen r) { return r.options.top.has_value(); }, joined | written},
    {{"PlotOptions::threshold"},
     [](Chosen r) { return r.options.threshold != 0; },
     joined | written},
    {{"PlotOptions::smooth"}, [](Chosen r) { return r.options.smooth; }, of({overlay, grid})},
    {{"PlotRequest::image"}, [](Chosen r) { return r.image.has_value(); }, of({overlay, grid})},
    {{"PlotRequest::grid"}, [](Chosen r) { return !r.grid.empty(); }, of({overlay, grid})},
    {{"PlotOptions::columns"},
     [](Chosen r) { return r.options.columns.has_value(); },
     panels | of({stages}),
     0,
     one_or_more | of({overlay})},
    {{"PlotOptions::titles"},
     [](Chosen r) { return r.options.titles.has_value(); },
     panels | of({stages, curves}),
     0,
     one_or_more | of({overlay})},
    {{"PlotOptions::marginals"},
     [](Chosen r) { return r.options.marginals; },
     split_maps | of({positions}),
     one_or_more},
    {{"FigureOptions::keys_upwards"},
     figure_differs<&FigureOptions::keys_upwards>,
     of({heatmap, grid, comparison, difference})},
    {{"PlotOptions::best"}, [](Chosen r) { return r.options.best.has_value(); }, of({grid})},
    {{"PlotRequest::corpus"}, [](Chosen r) { return r.corpus.has_value(); }, of({card})},
    {{"FigureOptions::brackets"},
     figure_differs<&FigureOptions::brackets>,
     maps & ~of({overlay, steps, difference})},
    {{"PlotOptions::log_axes"},
     [](Chosen r) { return r.options.log_axes != LogAxes::none; },
     of({curves})},
    // Texts.
    {{"FigureOptions::caption"},
     figure_differs<&FigureOptions::caption>,
     of({heatmap, grid, strip, curves, comparison, difference}) | joined | composed},
    {{"FigureOptions::title"}, figure_differs<&FigureOptions::title>, every},
    {{"FigureOptions::xlabel"},
     figure_differs<&FigureOptions::xlabel>,
     every & ~(of({strip, overlay, shapes, arcs}) | composed)},
    {{"FigureOptions::ylabel"},
     figure_differs<&FigureOptions::ylabel>,
     every & ~(of({strip, overlay, shapes, arcs}) | composed)},
    {{"FigureOptions::ticks"},
     figure_differs<&FigureOptions::ticks>,
     every & ~(of({strip, overlay, curves, bars}) | sizes | sheets)},
    {{"FigureOptions::show_spaces"},
     figure_differs<&FigureOptions::show_spaces>,
     maps & ~of({overlay})},
    {{"AnnotationOptions::when"},
     [](Chosen r) { return r.options.annotation.when != Annotate::automatic; },
     written},
    {{"AnnotationOptions::color"},
     [](Chosen r) { return r.options.annotation.color.has_value(); },
     written},
    {{"AnnotationOptions::format"},
     [](Chosen r) { return r.options.annotation.format.has_value(); },
     written},
    // Colours.
    {{"ColorOptions::cmap"}, [](Chosen r) { return r.options.colors.cmap.has_value(); }, coloured},
    {{"ColorOptions::range"},
     [](Chosen r) { return r.options.colors.range.scope != ColorRange::Scope::shared; },
     coloured},
    {{"ColorOptions::norm"},
     [](Chosen r) { return r.options.colors.norm.kind != ColorNorm::Kind::automatic; },
     coloured},
    {{"ColorOptions::pixels"},
     [](Chosen r) { return r.options.colors.pixels != PixelShows::automatic; },
     coloured & ~(of({strip, overlay}) | split_maps)},
    {{"ColorOptions::bar_label"},
     [](Chosen r) { return r.options.colors.bar_label.has_value(); },
     coloured & ~of({stages})},
    {{"ColorOptions::bar"}, [](Chosen r) { return !r.options.colors.bar; }, coloured},
    // Every figure.
    {{"FigureOptions::style"},
     figure_differs<&FigureOptions::style>,
     every & ~(of({shapes, curves, bars, path, shares}) | composed)},
    {{"FigureOptions::exact_size"}, figure_differs<&FigureOptions::exact_size>, every},
    {{"FigureOptions::figsize"}, figure_differs<&FigureOptions::figsize>, every},
    {{"FigureOptions::dpi"}, figure_differs<&FigureOptions::dpi>, every},
    {{"FigureOptions::font"}, figure_differs<&FigureOptions::font>, every},
    {{"FigureOptions::font_scale"}, figure_differs<&FigureOptions::font_scale>, every},
    {{"FigureOptions::font_size"}, figure_differs<&FigureOptions::font_size>, every},
    {{"FigureOptions::background"}, figure_differs<&FigureOptions::background>, every},
    {{"FigureOptions::letters"}, figure_differs<&FigureOptions::letters>, every},
});

constexpr auto option_infos = [] {
  std::array<PictureOptionInfo, option_rows.size()> all{};
  for (std::size_t i = 0; i < option_rows.size(); ++i) {
    all[i] = option_rows[i].info;
    all[i].kinds = option_rows[i].kinds | option_rows[i].of_one | option_rows[i].of_several;
  }
  return all;
}();

}  // namespace
}  // namespace honoured

std::span<const PictureOptionInfo> picture_options() noexcept {
  return honoured::option_infos;
}

std::string kinds_text(const PictureOptionInfo& option) {
  std::string names;
  for (const PlotKindInfo& kind : plot_kinds()) {
    if (option.honoured_by(kind.kind))
      names += (names.empty() ? "" : name_separator()) + std::string(kind.name);
  }
  return names;
}

void refuse_options(PlotKind kind, const std::vector<const PictureOptionInfo*>& options) {
  if (options.empty()) return;
  std::string names;
  for (const PictureOptionInfo* option : options) {
    names += (names.empty() ? "" : name_separator()) + std::string(option->field);
    if (!option->value.empty()) names += " " + std::string(option->value);
  }
  throw Error(ErrorKind::usage,
              translated("a picture of the kind {1} has no use for {2}",
                         picture_kind(kind).info.name, names),
              std::string(options[0]->field),
              options.size() > 1
                  ? translated("leave them out")
                  : translated("leave it out: it is for {1}", kinds_text(*options[0])));
}

namespace {

// The error of an option that changes nothing beside what else is asked for; absent if there is
// none.
std::optional<Error> option_without_effect(const PlotRequest& request) {
  const auto& [figure, annotation, colors] =
      std::tie(request.options.figure, request.options.annotation, request.options.colors);
  const auto error = [](const char* field, const std::string& problem, std::string help) {
    return Error(ErrorKind::usage, problem, field, std::move(help));
  };
  const bool png = request.format == PictureFormat::png;
  if (const char* const field = "FigureOptions::letters";
      png && figure.letters != FigureOptions().letters) {
    return error(field,
                 translated("{1} has no effect: a PNG has pixels in place of letters", field),
                 translated("leave it out, or draw an SVG or a PDF"));
  }
  if (const char* const field = "FigureOptions::background";
      figure.style == PlotStyle::matplotlib && figure.background != Background::white) {
    return error(field, translated("{1} has no effect: the tutorials' own style is white", field),
                 translated("leave it out, or {1}", "FigureOptions::style"));
  }
  if (annotation.when == Annotate::off && (annotation.format || annotation.color)) {
    const char* const field =
        annotation.format ? "AnnotationOptions::format" : "AnnotationOptions::color";
    return error(field, translated("{1} has no effect: the cells have no values", field),
                 translated("leave it out, or AnnotationOptions::when off"));
  }
  if (const char* const field = "ColorOptions::bar_label"; !colors.bar && colors.bar_label) {
    return error(field, translated("{1} has no effect: there is no bar of colours", field),
                 translated("leave it out, or ColorOptions::bar off"));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> resolution_without_effect(const PlotRequest& request) {
  const FigureOptions& figure = request.options.figure;
  // Presets have a resolution, which nobody asked for.
  if (request.format == PictureFormat::png || figure.exact_size ||
      figure.dpi == FigureOptions().dpi) {
    return std::nullopt;
  }
  return translated("{1} has no effect: an SVG or a PDF has lines in place of pixels",
                    "FigureOptions::dpi");
}

void check_options(const PlotRequest& request) {
  if (const auto error = option_without_effect(request)) throw Error(*error);
  using namespace honoured;
  const Kinds kind = of({request.kind});
  const bool several = side_by_side(request.maps.selection);
  std::vector<const PictureOptionInfo*> useless;
  for (std::size_t i = 0; i < option_rows.size(); ++i) {
    const Row& row = option_rows[i];
    if (!row.given(request)) continue;
    if ((row.kinds & kind) != 0 || ((several ? row.of_several : row.of_one) & kind) != 0) continue;
    if (((row.of_one | row.of_several) & kind) == 0) {
      useless.push_back(&option_infos[i]);
      continue;
    }
    if (!useless.empty()) break;
    throw Error(
        ErrorKind::usage,
        several ? translated("{1} is for one map, not for several side by side", row.info.field)
                : translated("{1} is for several maps side by side, not for one", row.info.field),
        std::string(row.info.field),
        several ? translated("leave it out, or choose one with MapSelection::chosen_samples "
                             "and MapSelection::chosen_heads")
        : row.info.field == "PlotOptions::titles"
            ? translated("write FigureOptions::title TEXT, or FigureOptions::title \"\" for none; "
                         "MapSelection::chosen_heads all draws several")
            : translated("leave it out, or add MapSelection::chosen_heads all"));
  }
  refuse_options(request.kind, useless);
}

std::vector<std::string> options_without_effect(const PlotRequest& request,
                                                std::span<const PlotKind> kinds) {
  std::vector<std::string> warnings;
  const bool several = side_by_side(request.maps.selection);
  if (const auto error = option_without_effect(request); error && !kinds.empty())
    warnings.push_back(error->problem());
  if (auto warning = resolution_without_effect(request); warning && !kinds.empty())
    warnings.push_back(std::move(*warning));
  for (const honoured::Row& row : honoured::option_rows) {
    const honoured::Kinds all = row.kinds | (several ? row.of_several : row.of_one);
    const bool has_effect = std::ranges::any_of(
        kinds, [&](PlotKind kind) { return (all & honoured::of({kind})) != 0; });
    // Reports show a sample and a head too.
    const bool reported = row.info.field == "MapSelection::chosen_samples" ||
                          row.info.field == "MapSelection::chosen_heads";
    // Of values that a row stands for, reports show all but several maps side by side.
    const bool of_value = !row.info.value.empty();
    if (of_value && (row.info.value != "all" || !reported)) continue;
    // A preset, which stands for the other options of a figure, is named for all of them.
    const bool by_preset = kinds.empty() && request.options.figure.exact_size &&
                           row.info.field.starts_with("FigureOptions::") &&
                           row.info.field != "FigureOptions::exact_size";
    if (by_preset) continue;
    if (has_effect || (reported && !of_value) || !row.given(request)) continue;
    const std::string option =
        std::string(row.info.field) + (of_value ? " " + std::string(row.info.value) : "");
    std::string names;
    for (const PlotKind kind : kinds)
      names += (names.empty() ? "" : name_separator()) + std::string(picture_kind(kind).info.name);
    warnings.push_back(names.empty()
                           ? translated("{1} has no effect: no picture is drawn", option)
                           : translated("{1} has no effect on what is drawn: {2}", option, names));
  }
  return warnings;
}

}  // namespace attn
