#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/parts.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::path {
namespace {

constexpr const char* default_title = to_translate("Path of the Strongest Terms");
// Inches.
constexpr double column_width = 1.15, widest_column = 3, row_height = 0.5, node_height = 0.26,
                 margins = 1.6, beside_legend_margin = 0.4, least_side = 4, most_side = 24;
constexpr double small_share = 0.65, small_margins = 0.8;  // of a figure with small letters
constexpr double widest_lane = 0.3, least_lane = 0.1;      // of a column
constexpr double name_size = 9, name_margin = 2.5, name_gap = 3, dot_size = 5;  // points
constexpr double thinnest = 0.6, thickest = 4, node_line = 0.8;                 // points
constexpr double faint = 0.35;                   // opacity of the weakest edge
constexpr double least_width = 0.3;              // of the figure, beside the legend
constexpr std::array<double, 2> dashes{3, 2.5};  // points; of edges that only look

// Colours of edges that raise and lower the sum, as maps of signed numbers have them.
Colour colour_of(double share, const Paper& paper) {
  static const ColourMap map("RdBu_r");
  constexpr double raising = 0.88, lowering = 0.12;
  if (share == 0) return paper.ink;
  return map.at(share > 0 ? raising : lowering);
}

/// The nodes of a graph in their cells, those of one cell above one another.
class NodePlaces {
 public:
  explicit NodePlaces(const PathGraph& graph) : graph_(graph) {
    for (const PathGraph::Node& node : graph.nodes) {
      if (node.row >= graph.rows.size() || node.column >= graph.columns.size()) {
        throw input_error(translated("a node is outside the rows and columns"), "",
                          translated("leave it out"));
      }
      const std::size_t above = taken_[{node.row, node.column}]++;
      steps_.push_back(above);
      most_ = std::max(most_, above + 1);
    }
    set_lanes();
  }

  std::size_t most() const { return most_; }

  /// From −1 to 1: how far a node stands left or right of its column's middle.
  double lane(std::size_t n) const { return lanes_[n]; }

  /// The middle of a node that stands so many pixels right of its column's middle.
  Point place(std::size_t n, const Box& box, double offset) const {
    const PathGraph::Node& node = graph_.nodes[n];
    const double columns = static_cast<double>(graph_.columns.size());
    const double height = box.height() / static_cast<double>(graph_.rows.size());
    const auto count = static_cast<double>(taken_.at({node.row, node.column}));
    const double up = (static_cast<double>(steps_[n]) + 0.5) / count;
    return {box.left + (static_cast<double>(node.column) + 0.5) / columns * box.width() + offset,
            box.bottom - (static_cast<double>(node.row) + up) * height};
  }

 private:
  // Nodes above one another whose lines go to the same node would have one line: they stand beside
  // each other, the nearest in the middle. A dot stands below the node that it is the source of.
  void set_lanes() {
    lanes_.assign(graph_.nodes.size(), 0);
    std::map<std::size_t, std::vector<std::size_t>> below;  // by the node that lines go to
    for (const PathGraph::Edge& edge : graph_.edges) {
      const bool upright = graph_.nodes[edge.from].column == graph_.nodes[edge.to].column;
      if (edge.share != 0 && upright) below[edge.to].push_back(edge.from);
    }
    for (auto& [to, nodes] : below) {
      const auto height = [&](std::size_t n) { return std::pair(graph_.nodes[n].row, steps_[n]); };
      std::ranges::sort(nodes, [&](auto a, auto b) { return height(a) > height(b); });
      const std::size_t most_lanes = (nodes.size() - 1) / 2 + (nodes.size() - 1) % 2;
      for (std::size_t i = 1; i < nodes.size(); ++i) {
        const double lane = static_cast<double>((i + 1) / 2) / static_cast<double>(most_lanes);
        lanes_[nodes[i]] = i % 2 == 0 ? lane : -lane;
      }
    }
    for (const PathGraph::Edge& edge : graph_.edges) {
      const bool upright = graph_.nodes[edge.from].column == graph_.nodes[edge.to].column;
      if (edge.share == 0 && upright && graph_.nodes[edge.from].name.empty())
        lanes_[edge.from] = lanes_[edge.to];
    }
  }

  const PathGraph& graph_;
  std::vector<double> lanes_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> taken_;
  std::vector<std::size_t> steps_;
  std::size_t most_ = 1;
};

std::vector<LegendEntry> legend_of(const PathGraph& graph, const Paper& paper) {
  const auto any = [&](const auto& has) {
    return std::any_of(graph.edges.begin(), graph.edges.end(), has);
  };
  std::vector<LegendEntry> entries;
  const auto add = [&](std::string name, double share, double width) {
    entries.push_back({std::move(name), colour_of(share, paper)});
    entries.back().line_width = width;
  };
  if (any([](const auto& edge) { return edge.share > 0; })) {
    add(translated("raises the sum"), 1, thickest / 2);
  }
  if (any([](const auto& edge) { return edge.share < 0; })) {
    add(translated("lowers the sum"), -1, thickest / 2);
  }
  if (any([](const auto& edge) { return edge.share == 0; })) {
    add(translated("looks at"), 0, node_line);
    entries.back().dashes = {dashes.begin(), dashes.end()};
  }
  if (!graph.remark.empty()) {
    entries.push_back({graph.remark, paper.ink});
    entries.back().bare = true;
  }
  return entries;
}

// Names with the numbers of the lines that begin at their nodes.
std::vector<std::string> names_of(const PathGraph& graph) {
  std::vector<std::string> names;
  for (const PathGraph::Node& node : graph.nodes) names.push_back(node.name);
  for (const PathGraph::Edge& edge : graph.edges) {
    const std::string& name = graph.nodes[edge.from].name;
    if (edge.share != 0 && !edge.value.empty() && !name.empty())
      names[edge.from] = name + ": " + edge.value;
  }
  return names;
}

/// Nodes as they are drawn: their middles and, of those that have a name, its text and its frame.
struct DrawnNodes {
  std::vector<Point> middles;
  std::vector<PlacedText> names;
  std::vector<Box> frames;
  bool whole = true;  ///< whether no name is shortened

  void add_name(const std::string& name, Point at, Figure& figure) {
    names.push_back(place(figure.typesetter().text(name, name_size), at,
                          {Horizontal::centre, Vertical::centre}));
    frames.push_back(names.back().bounds.padded(figure.pixels(name_margin)));
  }

  /// Whether no frame reaches another or leaves the box.
  bool apart(const Box& box, double gap) const {
    for (std::size_t a = 0; a < frames.size(); ++a) {
      if (frames[a].left < box.left || frames[a].right > box.right) return false;
      for (std::size_t b = 0; b < a; ++b) {
        if (overlap(frames[a].padded(gap / 2), frames[b].padded(gap / 2))) return false;
      }
    }
    return true;
  }
};

// Nodes at their places, as far from the middles of their columns as they are to be.
DrawnNodes spread_nodes(const PathGraph& graph, const NodePlaces& nodes, const Box& box,
                        Figure& figure) {
  const std::vector<std::string> names = names_of(graph);
  const double column = box.width() / static_cast<double>(graph.columns.size());
  DrawnNodes drawn;
  for (std::size_t n = 0; n < names.size(); ++n) {
    drawn.middles.push_back(nodes.place(n, box, widest_lane * nodes.lane(n) * column));
    if (!names[n].empty()) drawn.add_name(names[n], drawn.middles[n], figure);
  }
  return drawn;
}

// Nodes that stay within their columns: nearer to the middle, and shortened where a name is wider.
DrawnNodes nodes_within_columns(const PathGraph& graph, const NodePlaces& nodes, const Box& box,
                                Figure& figure) {
  const std::vector<std::string> names = names_of(graph);
  const double column = box.width() / static_cast<double>(graph.columns.size());
  const double room = column - figure.pixels(name_gap), margin = 2 * figure.pixels(name_margin);
  DrawnNodes drawn;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const double lane = nodes.lane(n), least = 2 * least_lane * std::abs(lane) * column;
    const std::string name =
        shortened(names[n], name_size, room - least - margin, figure.typesetter());
    const double width = figure.typesetter().text(name, name_size).width + margin;
    const double most = std::max(0.0, (room - width) / 2);
    const double offset = std::clamp(widest_lane * lane * column, -most, most);
    drawn.middles.push_back(nodes.place(n, box, offset));
    drawn.whole = drawn.whole && name == names[n];
    if (!name.empty()) drawn.add_name(name, drawn.middles[n], figure);
  }
  return drawn;
}

DrawnNodes drawn_nodes(const PathGraph& graph, const NodePlaces& nodes, const Box& box,
                       Figure& figure) {
  DrawnNodes drawn = spread_nodes(graph, nodes, box, figure);
  if (drawn.apart(box, figure.pixels(name_gap))) return drawn;
  return nodes_within_columns(graph, nodes, box, figure);
}

// Whether all names are whole and apart, or their letters as small as can be read.
bool fits(const DrawnNodes& drawn, const Box& box, const Figure& figure) {
  if (figure.font_scale() * name_size <= figure.least_letters()) return true;
  return drawn.whole && drawn.apart(box, 0);
}

// Inches of a column whose names are whole beside those of others.
double width_of_columns(const PathGraph& graph, const NodePlaces& nodes, Figure& figure) {
  const std::vector<std::string> names = names_of(graph);
  double width = column_width;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (names[n].empty()) continue;
    const double name = figure.typesetter().text(names[n], name_size).width +
                        figure.pixels(2 * name_margin + name_gap);
    const double lanes = 1 - 2 * least_lane * std::abs(nodes.lane(n));
    width = std::max(width, figure.points(name) / points_per_inch / lanes);
  }
  return std::min(width, widest_column);
}

void draw_edges(Canvas& canvas, const PathGraph& graph, const std::vector<Point>& middles,
                const Figure& figure) {
  std::vector<double> looking;
  for (const double dash : dashes) looking.push_back(figure.pixels(dash));
  for (const PathGraph::Edge& edge : graph.edges) {
    const double size = std::min(std::abs(edge.share), 1.0);
    Canvas::Stroke stroke{colour_of(edge.share, figure.paper()), faint + (1 - faint) * size,
                          figure.pixels(thinnest + (thickest - thinnest) * size)};
    if (edge.share == 0) stroke = {stroke.colour, 1, figure.pixels(node_line), looking};
    canvas.line(middles[edge.from], middles[edge.to], stroke);
  }
}

void draw_nodes(Canvas& canvas, const PathGraph& graph, const DrawnNodes& drawn,
                const Figure& figure) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.nodes[n].name.empty()) continue;
    const Point at = drawn.middles[n];
    const double half = figure.pixels(dot_size) / 2;
    canvas.fill({at.x - half, at.y - half, at.x + half, at.y + half}, figure.paper().ink);
  }
  for (std::size_t n = 0; n < drawn.names.size(); ++n) {
    canvas.fill(drawn.frames[n], figure.paper().ground);
    canvas.stroke(drawn.frames[n], figure.paper().ink, figure.pixels(node_line));
    canvas.text(drawn.names[n], figure.paper().ink);
  }
}

double side(std::size_t count, double each) {
  return std::clamp(margins + each * static_cast<double>(count), least_side, most_side);
}

// Inches of a figure whose columns are as wide as their names ask for, unless it would be absurd.
// Where its width is given and its height is not, rows have room for their names.
std::pair<double, double> size_of(const PathGraph& graph, const NodePlaces& nodes,
                                  const FigureOptions& options, PictureFormat format) {
  const double row = std::max(row_height, node_height * static_cast<double>(nodes.most()));
  const std::size_t columns = graph.columns.size();
  std::pair<double, double> size{side(columns, column_width) + 2, side(graph.rows.size(), row)};
  if (options.panel != nullptr || options.figsize) {
    const auto [width, height] = options.panel != nullptr ? options.panel->size : *options.figsize;
    const double least = small_margins + small_share * row * static_cast<double>(graph.rows.size());
    if (height == 0 && width > 0) size.second = std::max(size.second, size.first * least / width);
    return size;
  }
  Figure measured(options, format, size);
  const double column = width_of_columns(graph, nodes, measured);
  if (column > column_width) {
    const double key = Legend::width(legend_of(graph, measured.paper()), measured);
    const double beside = measured.points(key) / points_per_inch + beside_legend_margin;
    size.first = std::max(size.first, side(columns, column) + beside);
  }
  return size;
}

}  // namespace
}  // namespace plot::path

Picture draw_path(const PathGraph& graph, const FigureOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::path;
  if (graph.nodes.empty()) {
    throw input_error(translated("there is no path to draw"), "",
                      translated("give at least one node"));
  }
  const NodePlaces nodes(graph);
  Figure figure(options, format, size_of(graph, nodes, options, format));
  const CellTicks columns{graph.columns, options.ticks, 0};
  const CellTicks rows{{graph.rows.rbegin(), graph.rows.rend()}, options.ticks, 0};
  const std::vector<LegendEntry> entries = legend_of(graph, figure.paper());
  const std::string title = title_of(options, graph.title, default_title);
  figure.describe(
      title, translated("{1} at {2} in {3}, joined by lines.",
                        translated_count(graph.nodes.size(), "{1} part", "{1} parts"),
                        translated_count(graph.columns.size(), "{1} position", "{1} positions"),
                        translated_count(graph.rows.size(), "{1} row", "{1} rows")));
  const ChartTexts texts{title, options.xlabel.value_or(translated("Position")),
                         options.ylabel.value_or("")};
  const auto set_ticks = [&](Axes& axes, Figure& on) {
    set_cell_ticks(axes.x, columns, axes.box.width(), true, on);
    set_cell_ticks(axes.y, rows, axes.box.height(), false, on);
  };
  const auto nodes_fit = [&](const Arrangement& laid_out) {
    const Box& box = laid_out.axes.box;
    return fits(drawn_nodes(graph, nodes, box, figure), box, figure);
  };
  const Arrangement all =
      arranged_beside_legend(figure, texts, entries, least_width, set_ticks, nodes_fit);
  const DrawnNodes drawn = drawn_nodes(graph, nodes, all.axes.box, figure);
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    all.draw(canvas, figure, [&] {
      draw_edges(canvas, graph, drawn.middles, figure);
      draw_nodes(canvas, graph, drawn, figure);
    });
  });
}

}  // namespace attn
