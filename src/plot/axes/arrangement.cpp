#include "plot/axes/arrangement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double title_pad = 15;         // points
constexpr double least_title_pad = 7.5;  // points, in proportion to the letters
constexpr double legend_gap = 14;        // points

}  // namespace

std::string own_words(const FigureOptions& options, std::string text) {
  if (!options.sentence_case) return text;
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_letter = [&](char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); };
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') quoted = !quoted;
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const bool begins = at > 0 && std::string_view(" (-/").find(text[at - 1]) != std::string::npos;
    const bool word =
        end > at + 1 && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                    text.begin() + static_cast<std::ptrdiff_t>(end), is_small);
    if (begins && word && !quoted) text[at] = static_cast<char>(std::tolower(text[at]));
    at = std::max(end, at + 1);
  }
  return text;
}

std::string title_of(const FigureOptions& options, const std::string& own, const char* usual) {
  return options.title.value_or(own_words(options, own.empty() ? translated(usual) : own));
}

Error unlike_columns(std::size_t titles, std::size_t columns) {
  return {ErrorKind::usage,
          translated("{1} for {2}", translated_count(titles, "{1} title", "{1} titles"),
                     translated_count(columns, "{1} column", "{1} columns")),
          "PlotOptions::titles", translated("give one title for each column, or none")};
}

ChartTexts map_texts(const FigureOptions& options, const std::string& own_title,
                     const char* usual_title, const Figure& figure) {
  const bool narrow = figure.narrow(), short_names = narrow || options.short_names;
  std::string key = short_names ? translated("Key") : translated("Key Sequence Position");
  std::string query = short_names ? translated("Query") : translated("Query Sequence Position");
  if (options.keys_upwards) std::swap(key, query);
  return {narrow ? options.title.value_or("") : title_of(options, own_title, usual_title),
          options.xlabel.value_or(std::move(key)), options.ylabel.value_or(std::move(query))};
}

Box map_box(const Box& place, std::size_t rows, std::size_t columns, const Figure& figure) {
  return figure.map_in_panel(figure.standard() ? with_square_cells(place, rows, columns) : place,
                             rows, columns);
}

Axes chart_axes(const Box& box, const ChartTexts& texts, const Shown& shown, Figure& figure) {
  Axes axes;
  axes.box = box;
  axes.style = figure.style();
  if (shown(Part::title)) axes.title = figure.title(texts.title, title_size, figure.width());
  axes.title_size = title_size;
  axes.title_pad = std::max(title_pad, least_title_pad * figure.font_scale());
  if (figure.standard()) axes.title_within = {{0, figure.width()}};
  if (shown(Part::axis_labels)) {
    axes.x.label = figure.label(texts.xlabel, label_size, box.width());
    axes.y.label = figure.label(texts.ylabel, label_size, box.height());
  }
  axes.x.label_size = axes.y.label_size = label_size;
  axes.x.labelled = axes.y.labelled = shown(Part::tick_labels);
  return axes;
}

Box Arrangement::bounds(Box Decorations::*of) const {
  Box all = united(decorations.*of, axes.box);
  if (bar) all = united(all, bar->bounds(of));
  return legend ? united(all, legend->bounds()) : all;
}

void Arrangement::draw(Canvas& canvas, const Figure& figure,
                       const std::function<void()>& over) const {
  draw_axes(canvas, axes, decorations, figure);
  if (over) over();
  if (bar) bar->draw(canvas, figure);
  if (legend) legend->draw(canvas, figure);
}

Arrangement arranged(Figure& figure, std::span<const Part> order, const LayOut& lay_out,
                     const std::function<bool(const Arrangement&)>& fits,
                     const std::function<bool(const Arrangement&)>& revised) {
  Arrangement result;
  Shown parts(order, 0);
  const auto arrange = [&] {
    const Box area = figure.tight_area([&](Figure& measured, const Box& box) {
      return lay_out(measured, box, parts, true).bounds(&Decorations::layout_bounds);
    });
    result = lay_out(figure, area, parts, false);
  };
  figure.fit(order, [&](const Shown& shown) {
    parts = shown;
    arrange();
    return (!fits || fits(result)) &&
           leaves_room(figure, result.place, result.axes.box, result.bounds());
  });
  if (revised && revised(result)) arrange();
  return result;
}

Box beside_legend(Box area, const std::vector<LegendEntry>& entries, double gap, double least_width,
                  Figure& figure) {
  if (entries.empty()) return area;
  const double taken = Legend::width(entries, figure) + gap;
  area.right = std::max(area.left + least_width, area.right - taken);
  return area;
}

Arrangement arranged_beside_legend(Figure& figure, const ChartTexts& texts,
                                   const std::vector<LegendEntry>& entries, double least_share,
                                   const std::function<void(Axes& axes, Figure& figure)>& set_ticks,
                                   const std::function<bool(const Arrangement&)>& fits) {
  constexpr std::array order = {Part::axis_labels, Part::title, Part::tick_labels};
  const auto lay_out = [&](Figure& on, const Box& area, const Shown& shown, bool) {
    const double gap = on.pixels_beside_text(legend_gap);
    Arrangement all;
    all.place = beside_legend(area, entries, gap, least_share * on.width(), on);
    all.axes = chart_axes(all.place, texts, shown, on);
    if (set_ticks) set_ticks(all.axes, on);
    all.decorations = decorate(all.axes, on.typesetter());
    if (!entries.empty())
      all.legend.emplace(entries, Point{all.place.right + gap, all.place.top}, on);
    return all;
  };
  return arranged(figure, order, lay_out, fits);
}

}  // namespace attn::plot
