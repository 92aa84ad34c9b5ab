#include "plot/example_figures.hpp"

#include "plot/parts.hpp"

namespace attn::test {
namespace {

PlotOptions small(PlotStyle style) {
  PlotOptions options;
  options.figure.style = style;
  options.figure.dpi = 60;
  return options;
}

Heatmap heatmap_of(Tensor weights) {
  Heatmap heatmap;
  heatmap.weights = std::move(weights);
  return heatmap;
}

Picture tokens(PlotStyle style, PictureFormat format) {
  Heatmap heatmap = heatmap_of(example_weights(6, 6));
  heatmap.query_labels = heatmap.key_labels = {"The", "animal", "was", "too", "tired", "."};
  heatmap.title = "Attention Weight Heatmap (Sample 1, Head 2)";
  return draw_heatmap(heatmap, small(style).heatmap(), format);
}

Picture lines(PlotStyle style, PictureFormat format) {
  Heatmap heatmap = heatmap_of(example_weights(3, 4));
  heatmap.title = "What each word looks at\n\ngypsum\n(Sample 1, Head 3)";
  PlotOptions options = small(style);
  options.figure.xlabel = "Key Sequence Position\nof one sentence";
  options.figure.ylabel = "Query\nSequence Position";
  return draw_heatmap(heatmap, options.heatmap(), format);
}

Picture indices(PlotStyle style, PictureFormat format) {
  PlotOptions options = small(style);
  options.annotation.when = Annotate::off;
  options.figure.ticks = Ticks::index;
  options.colors.cmap = "viridis";
  options.figure.figsize = {5, 4};
  return draw_heatmap(heatmap_of(example_weights(20, 33)), options.heatmap(), format);
}

Picture dimensions(PlotStyle style, PictureFormat format) {
  return draw_dimensions({{2, 2, 5, 6}, {2, 2, 9, 6}, {2, 2, 9, 3}, {2, 2, 5, 3}},
                         small(style).figure, format);
}

Picture heads(PlotStyle style, PictureFormat format) {
  HeatmapGrid grid;
  grid.rows = 2;
  grid.columns = 3;
  for (std::size_t i = 0; i < 6; ++i) grid.panels.push_back(heatmap_of(example_weights(8, 8, i)));
  PlotOptions options = small(style);
  options.colors.cmap = "Reds";
  options.figure.figsize = {7, 3.5};
  options.titles = {"Head 1", "Head 2", "Head 3"};
  return draw_grid(grid, options.grid(), format);
}

Picture hidden(PlotStyle style, PictureFormat format) {
  Heatmap heatmap = heatmap_of(example_weights(5, 5));
  heatmap.allowed = causal(5);
  return draw_heatmap(heatmap, small(style).heatmap(), format);
}

// A causal mask whose last two keys are padding too, and one key seen for being global.
Picture mask(PictureFormat format) {
  std::vector<std::int64_t> hidden_by;
  std::vector<std::uint8_t> global;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      hidden_by.push_back((j > i ? 1 : 0) + (j > 3 ? 8 : 0));
      global.push_back(j == 0 && i > 2 ? 1 : 0);
    }
  }
  MaskMap map;
  map.hidden_by = Tensor({6, 6}, std::move(hidden_by));
  map.global = Tensor({6, 6}, std::move(global));
  map.parts = {"causal", "window", "valid_lens", "padding"};
  return draw_mask(map, small(PlotStyle::standard).figure, format);
}

Picture lines(PictureFormat format) {
  HeadLines all;
  for (std::size_t i = 0; i < 2; ++i) {
    all.heads.push_back(heatmap_of(example_weights(6, 5, i)));
    all.heads.back().title = "Head " + std::to_string(i + 1);
  }
  PlotOptions options = small(PlotStyle::standard);
  options.top = 2;
  return draw_lines(all, options.lines(), format);
}

// Panels with colour bars and formulas of their own.
Picture stages(PictureFormat format) {
  HeatmapGrid grid{1, 2, {}, 3.2};
  for (std::size_t i = 0; i < 2; ++i) grid.panels.push_back(heatmap_of(example_weights(5, 5, i)));
  grid.panels[0].title = "Scores";
  grid.panels[0].caption = "q·k";
  grid.panels[1].title = "Weights";
  grid.panels[1].caption = "softmax(s)";
  grid.panels[1].allowed = causal(5);
  PlotOptions options = small(PlotStyle::standard);
  options.colors.range.scope = ColorRange::Scope::panel;
  return draw_grid(grid, options.grid(), format);
}

Picture bars(PictureFormat format) {
  BarChart chart;
  chart.bars = {{"1.1 ← the (6)", 3.4, 0}, {"1.0 ← the (6)", 1.6, 0},  {"embedding", -0.7, 0},
                {"embedding", 3.1, 1},     {"0.feed_forward", 2.2, 1}, {"bias", -0.2, 1}};
  chart.group_names = {"part of the key", "part of the query"};
  chart.value_name = "Contribution to the score";
  chart.title = "Why Head 2.0 Looks from the (12) at world (7)";
  return draw_bars(chart, small(PlotStyle::standard).figure, format);
}

Picture path(PictureFormat format) {
  PathGraph graph;
  graph.rows = {"Embedding", "Layer 0", "Layer 1", "Layer 2"};
  graph.columns = {"the (6)", "world (7)", "the (12)"};
  graph.nodes = {{3, 2, "2.0"},      {2, 1, "1.1"},       {1, 0, ""},
                 {2, 1, "1.0"},      {0, 2, "embedding"}, {1, 2, "0.feed_forward"},
                 {0, 1, "embedding"}};
  graph.edges = {{2, 1, 0},   {2, 3, 0},   {1, 0, 1},   {3, 0, 0.5},
                 {4, 0, 0.8}, {5, 0, 0.4}, {6, 0, -0.3}};
  graph.title = "Why Head 2.0 Looks from the (12) at world (7)";
  return draw_path(graph, small(PlotStyle::standard).figure, format);
}

template <Picture (*draw)(PlotStyle, PictureFormat)>
void add_both(std::vector<ExampleFigure>& figures, const std::string& name) {
  figures.push_back({name + "_standard", PlotStyle::standard,
                     [](PictureFormat format) { return draw(PlotStyle::standard, format); }});
  figures.push_back({name + "_matplotlib", PlotStyle::matplotlib,
                     [](PictureFormat format) { return draw(PlotStyle::matplotlib, format); }});
}

}  // namespace

Tensor example_weights(std::size_t rows, std::size_t columns, std::size_t seed) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    const auto term = [&](std::size_t j) {
      return static_cast<double>((7 * i + 3 * j + seed) % 10 + 1);
    };
    for (std::size_t j = 0; j < columns; ++j) sum += term(j);
    for (std::size_t j = 0; j < columns; ++j) weights.push_back(term(j) / sum);
  }
  return Tensor({rows, columns}, std::move(weights));
}

Tensor causal(std::size_t size) {
  std::vector<std::uint8_t> allowed;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) allowed.push_back(j <= i ? 1 : 0);
  }
  return Tensor({size, size}, std::move(allowed));
}

const std::vector<ExampleFigure>& example_figures() {
  static const std::vector<ExampleFigure> figures = [] {
    std::vector<ExampleFigure> all;
    add_both<tokens>(all, "tokens");
    add_both<lines>(all, "broken_titles");
    add_both<indices>(all, "indices");
    add_both<dimensions>(all, "dimensions");
    add_both<heads>(all, "heads");
    all.push_back({"hidden_standard", PlotStyle::standard,
                   [](PictureFormat format) { return hidden(PlotStyle::standard, format); }});
    all.push_back({"mask_standard", PlotStyle::standard, mask});
    all.push_back({"lines_standard", PlotStyle::standard, lines});
    all.push_back({"stages_standard", PlotStyle::standard, stages});
    all.push_back({"bars_standard", PlotStyle::standard, bars});
    all.push_back({"path_standard", PlotStyle::standard, path});
    return all;
  }();
  return figures;
}

}  // namespace attn::test
