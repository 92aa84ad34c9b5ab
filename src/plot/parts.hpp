#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/plot.hpp"

namespace attn {

/// Terms of a sum as level bars, one below the other.
struct BarChart {
  struct Bar {
    std::string name;
    double value = 0;
    std::size_t group = 0;
  };
  std::vector<Bar> bars;                 ///< from above; at least one
  std::vector<std::string> group_names;  ///< each with a colour and, of several, a line above it
  std::vector<double> group_sums;        ///< of all terms, drawn or not; one a group, or none
  std::string value_name, title;
};
Picture draw_bars(const BarChart& chart, const FigureOptions& options, PictureFormat format);

/// Ways through the layers of a model and the positions of a text: rows are layers from below,
/// columns are positions.
struct PathGraph {
  struct Node {
    std::size_t row = 0, column = 0;
    std::string name;  ///< empty = a dot
  };
  struct Edge {
    std::size_t from = 0, to = 0;  ///< numbers of nodes
    /// From −1 to 1: the part of the largest edge, below 0 for one that lowers the sum; 0 for an
    /// edge that says only what a head looked at.
    double share = 0;
    std::string value = {};  ///< text of the number that `share` stands for
  };
  std::vector<std::string> rows, columns;
  std::string remark;  ///< on the numbers, for the legend
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::string title;
};
Picture draw_path(const PathGraph& graph, const FigureOptions& options, PictureFormat format);

namespace plot {

/// Shares of one whole each, as level bars from 0 to 1.
struct StackedBars {
  struct Row {
    std::string name;
    std::vector<double> shares;  ///< one a part
  };
  std::vector<Row> rows;           ///< from above; at least one
  std::vector<std::string> parts;  ///< at least one
  std::string value_name, title;
};
Picture draw_stacked_bars(const StackedBars& chart, const FigureOptions& options,
                          PictureFormat format);

/// Things in rows and columns as dots, larger for larger shares. Those with a name are told apart
/// by it; the others are grey.
struct DotMap {
  struct Dot {
    std::size_t row = 0, column = 0;
    double share = 0;  ///< from 0 to 1
    std::string name;
  };
  std::vector<Dot> dots;
  std::vector<std::string> rows, columns;  ///< rows from above
  std::string title;
};
Picture draw_dots(const DotMap& map, const FigureOptions& options, PictureFormat format);

}  // namespace plot
}  // namespace attn
