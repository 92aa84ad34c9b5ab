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
constexpr double widest_lane = 0.3;  // of a column
constexpr double column_width = 1.15, row_height = 0.5, node_height = 0.26, margins = 1.6,
                 least_side = 4, most_side = 24;
constexpr double name_size = 9, name_margin = 2.5, dot_size = 5;  // points
constexpr double thinnest = 0.6, thickest = 4, node_line = 0.8;   // points
constexpr double faint = 0.35;                                    // opacity of the weakest edge
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

  Point place(std::size_t n, const Box& box) const {
    const PathGraph::Node& node = graph_.nodes[n];
    const double columns = static_cast<double>(graph_.columns.size());
    const double height = box.height() / static_cast<double>(graph_.rows.size());
    const auto count = static_cast<double>(taken_.at({node.row, node.column}));
    const double up = (static_cast<double>(steps_[n]) + 0.5) / count;
    return {box.left + (static_cast<double>(node.column) + 0.5 + lanes_[n]) / columns * box.width(),
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
        lanes_[nodes[i]] = widest_lane * (i % 2 == 0 ? lane : -lane);
      }
    }
    for (const PathGraph::Edge& edge : graph_.edges) {
      const bool upright = graph_.nodes[edge.from].column == graph_.nodes[edge.to].column;
      if (edge.share == 0 && upright && graph_.nodes[edge.from].name.empty())
        lanes_[edge.from] = lanes_[edge.to];
    }
  }

  const PathGraph& graph_;
  std::vector<double> lanes_;  // in widths of a column, from its middle
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

void draw_edges(Canvas& canvas, const PathGraph& graph, const NodePlaces& nodes, const Box& box,
                const Figure& figure) {
  std::vector<double> looking;
  for (const double dash : dashes) looking.push_back(figure.pixels(dash));
  for (const PathGraph::Edge& edge : graph.edges) {
    const double size = std::min(std::abs(edge.share), 1.0);
    Canvas::Stroke stroke{colour_of(edge.share, figure.paper()), faint + (1 - faint) * size,
                          figure.pixels(thinnest + (thickest - thinnest) * size)};
    if (edge.share == 0) stroke = {stroke.colour, 1, figure.pixels(node_line), looking};
    canvas.line(nodes.place(edge.from, box), nodes.place(edge.to, box), stroke);
  }
}

// Numbers beside the nodes that lines begin at, as in their boxes there is the name.
std::map<std::size_t, std::string> numbers_of(const PathGraph& graph) {
  std::map<std::size_t, std::string> numbers;
  for (const PathGraph::Edge& edge : graph.edges) {
    if (edge.share != 0 && !edge.value.empty()) numbers[edge.from] = edge.value;
  }
  return numbers;
}

void draw_nodes(Canvas& canvas, const PathGraph& graph, const NodePlaces& nodes, const Box& box,
                Figure& figure) {
  const std::map<std::size_t, std::string> numbers = numbers_of(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Point at = nodes.place(n, box);
    if (graph.nodes[n].name.empty()) {
      const double half = figure.pixels(dot_size) / 2;
      canvas.fill({at.x - half, at.y - half, at.x + half, at.y + half}, figure.paper().ink);
      continue;
    }
    const auto number = numbers.find(n);
    const std::string text =
        graph.nodes[n].name + (number == numbers.end() ? "" : ": " + number->second);
    const PlacedText name = place(figure.typesetter().text(text, name_size), at,
                                  {Horizontal::centre, Vertical::centre});
    const Box around = name.bounds.padded(figure.pixels(name_margin));
    canvas.fill(around, figure.paper().ground);
    canvas.stroke(around, figure.paper().ink, figure.pixels(node_line));
    canvas.text(name, figure.paper().ink);
  }
}

double side(std::size_t count, double each) {
  return std::clamp(margins + each * static_cast<double>(count), least_side, most_side);
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
  const double row = std::max(row_height, node_height * static_cast<double>(nodes.most()));
  Figure figure(options, format,
                {side(graph.columns.size(), column_width) + 2, side(graph.rows.size(), row)});
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
  const Arrangement all =
      arranged_beside_legend(figure, texts, entries, least_width, [&](Axes& axes, Figure& on) {
        set_cell_ticks(axes.x, columns, axes.box.width(), true, on);
        set_cell_ticks(axes.y, rows, axes.box.height(), false, on);
      });
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    all.draw(canvas, figure, [&] {
      draw_edges(canvas, graph, nodes, all.axes.box, figure);
      draw_nodes(canvas, graph, nodes, all.axes.box, figure);
    });
  });
}

}  // namespace attn
