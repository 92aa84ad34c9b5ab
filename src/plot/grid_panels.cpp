#include "plot/grid_panels.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn::plot {

std::vector<Matrix> matrices_of(const HeatmapGrid& grid) {
  if (grid.panels.empty() || grid.panels.size() > grid.rows * grid.columns ||
      grid.panels.size() <= (grid.rows - 1) * grid.columns) {
    throw input_error(translated("{1} panels do not fill a grid of {2} × {3}", grid.panels.size(),
                                 grid.rows, grid.columns),
                      "", translated("give one matrix for each place, row by row"));
  }
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < grid.panels.size(); ++i) {
    const std::string where = "panel " + std::to_string(i + 1);
    matrices.emplace_back(grid.panels[i], where);
    const Shape& shape = grid.panels[i].weights.shape();
    const Shape& first = grid.panels[0].weights.shape();
    if (shape != first) {
      throw input_error(translated("weights of shape {1} stand beside weights of shape {2}",
                                   text(shape), text(first)),
                        where, translated("panels share their axes: all must have one shape"));
    }
  }
  return matrices;
}

std::vector<std::string> titles_of(const HeatmapGrid& grid, const GridOptions& options) {
  std::vector<std::string> titles(grid.panels.size());
  if (options.titles && !options.titles->empty() && options.titles->size() != grid.columns) {
    throw Error(ErrorKind::usage,
                translated("{1} titles for {2}{3}", options.titles->size(), grid.columns,
                           grid.columns == 1 ? translated(" column") : translated(" columns")),
                "", translated("give one title for each column, or none"));
  }
  const bool rows_titled = !grid.row_titles.empty();
  const bool standard = options.figure.style == PlotStyle::standard;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const std::size_t column = i % grid.columns;
    if (rows_titled && standard && i >= grid.columns) break;
    if (options.titles) {
      if (!options.titles->empty()) titles[i] = (*options.titles)[column];
    } else if (!grid.panels[i].title.empty()) {
      titles[i] = grid.panels[i].title;
    } else if (titles.size() > 1) {
      titles[i] = translated("Head {1}", column + 1);
    }
    if (rows_titled && !standard && !options.titles) {
      const std::string& row = grid.row_titles[i / grid.columns];
      titles[i] = titles[i].empty() ? row : row + translated(", ") + titles[i];
    }
  }
  return titles;
}

// A row of many panels in several rows.
HeatmapGrid wrapped(const HeatmapGrid& grid, const GridOptions& options) {
  constexpr std::size_t most_in_a_row = 6;
  const bool automatic = options.figure.style == PlotStyle::standard && !options.titles &&
                         grid.columns > most_in_a_row;
  if (grid.rows != 1 || grid.panels.empty() || !(options.columns || automatic)) return grid;
  HeatmapGrid result = grid;
  const auto square = std::ceil(std::sqrt(static_cast<double>(grid.panels.size())));
  result.columns = std::clamp<std::size_t>(
      options.columns.value_or(static_cast<std::size_t>(square)), 1, grid.panels.size());
  result.rows = (grid.panels.size() + result.columns - 1) / result.columns;
  for (std::size_t i = 0; i < result.panels.size() && !options.titles; ++i) {
    std::string& title = result.panels[i].title;
    if (title.empty()) title = translated("Head {1}", i + 1);
    // Brackets go across one row.
    if (result.rows > 1 && grid.columns_a_group > 0 &&
        i / grid.columns_a_group < grid.group_titles.size())
      title += "\n" + grid.group_titles[i / grid.columns_a_group];
  }
  if (result.rows > 1) result.columns_a_group = 0;
  return result;
}

std::string common_prefix(const std::vector<std::string>& titles) {
  if (titles.size() < 2) return "";
  const std::size_t space = titles[0].rfind(' ');
  if (space == std::string::npos) return "";
  const std::string prefix = titles[0].substr(0, space + 1);
  const auto is_numbered = [&](const std::string& title) {
    return title.size() > prefix.size() && title.starts_with(prefix) &&
           title.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  return std::all_of(titles.begin(), titles.end(), is_numbered) ? prefix : "";
}

}  // namespace attn::plot
