#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/cells/cells.hpp"
#include "plot/colour/colour.hpp"

namespace attn::plot {

/// A grid of heatmaps on its way to a picture. In the matplotlib style the places of panels come
/// from the size of the figure alone (grid.cpp); in the standard one panels take all the room that
/// the texts leave (grid_layout.cpp).
class GridFigure {
 public:
  GridFigure(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format);
  Picture draw();

 private:
  struct Panel : Arrangement {
    CellColours colours;
    std::vector<CellValue> values;
  };

  /// Room of texts beyond the panels, in pixels: between them, and around all of them.
  struct Room {
    Gaps gaps;
    Box around;  ///< widths of the left, top, right and bottom margins
  };

  bool each_panel_its_range() const;
  bool may_hold_values() const;
  std::string described() const;

  CellColours colours_of(std::size_t index) const;
  Panel panel_at(const Box& place, std::size_t index);
  Axes axes_in(const Box& box, std::size_t index);
  void set_ticks(Axes& axes, std::size_t index);
  ColourBar bar_beside(const Panel& panel, double width, const ColourScale& scale);
  void add_caption(Panel& panel, const std::string& caption);
  void add_values();

  void lay_out_as_matplotlib();
  void place_as_matplotlib(const std::vector<Box>& places);
  Gaps gaps_taken(const std::vector<Box>& places) const;
  void part_neighbours();

  bool show_ranges();
  void lay_out();
  bool lay_out(const Shown& shown);
  void place_panels(const Box& first, const Gaps& gaps);
  Room room_taken();
  std::vector<std::string> column_titles() const;
  void fit_titles(const Box& panel, const Gaps& gaps);
  void add_around(const Box& panels);
  void add_brackets(double bottom);
  void add_row_titles(const Box& panels, double right);
  void add_bar(const Box& panels, double left);
  Box all_bounds() const;

  void draw_panel(Canvas& canvas, std::size_t index);

  const HeatmapGrid grid_;
  const GridOptions& options_;
  std::vector<Matrix> matrices_;
  std::vector<std::string> titles_;  ///< one a panel
  Figure figure_;
  std::vector<ColourScale> scales_;  ///< one, or one a panel
  Paper paper_;                      ///< hidden cells look alike in all panels
  CellValueOptions value_options_;
  std::vector<MapTicks> ticks_;  ///< one a panel
  std::vector<LegendEntry> key_entries_;

  // The layout.
  std::vector<Box> places_;  ///< room of each panel in the standard style
  std::vector<Panel> panels_;
  std::optional<ColourBar> bar_;
  std::optional<Legend> key_;
  std::vector<PlacedText> texts_;  ///< texts of the whole figure
  std::vector<Canvas::Tick> brackets_;
  Shown shown_{{}, 0};
  std::string column_prefix_, row_prefix_;  ///< words that titles have no room for
  double row_title_size_ = 10;              ///< points
  double column_title_size_ = Axes().title_size;
  bool names_left_out_ = false;
};

}  // namespace attn::plot
