#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"

namespace {

using namespace attn;
using attn::test::example_weights;

struct Corner {
  double x, y;
};
using Corners = std::array<Corner, 4>;

// The box around a text's ink, a little smaller: neighbours may touch. In the matplotlib style
// names along an axis may run together by half a line, as they do there: at 80 pixels an inch a
// line of ten points is less than 13 pixels high.
Corners corners_of(const PictureText& text, PlotStyle style) {
  constexpr double touch = 0.75;  // pixels; whole pixels round to either side
  const double beside = style == PlotStyle::matplotlib ? touch + 13.0 / 4 : touch;
  const double turn = text.degrees * std::numbers::pi / 180;
  const auto at = [&](double right, double down) {
    return Corner{text.x + right * std::cos(turn) + down * std::sin(turn),
                  text.y + down * std::cos(turn) - right * std::sin(turn)};
  };
  return {at(text.left + beside, text.top + touch), at(text.right - beside, text.top + touch),
          at(text.right - beside, text.bottom - touch),
          at(text.left + beside, text.bottom - touch)};
}

// Two rectangles lie apart if a line along a side of either parts them.
bool overlap(const Corners& a, const Corners& b) {
  for (const Corners* of : {&a, &b}) {
    for (const std::size_t side : {0, 1}) {
      const double dx = (*of)[side + 1].x - (*of)[side].x, dy = (*of)[side + 1].y - (*of)[side].y;
      const auto extent = [&](const Corners& corners) {
        std::pair<double, double> range{1e300, -1e300};
        for (const Corner corner : corners) {
          const double place = corner.x * dx + corner.y * dy;
          range = {std::min(range.first, place), std::max(range.second, place)};
        }
        return range;
      };
      const auto in_a = extent(a), in_b = extent(b);
      if (in_a.second <= in_b.first || in_b.second <= in_a.first) return false;
    }
  }
  return true;
}

// Faults of a picture in words: texts that overlap or are cut; empty if there are none.
std::string faults(const Picture& picture, PlotStyle style = PlotStyle::standard) {
  const auto header = attn::test::png_size(picture.bytes);
  std::vector<Corners> boxes;
  for (const PictureText& text : picture.texts) {
    if (!(text.right > text.left)) continue;  // a space
    boxes.push_back(corners_of(text, style));
    for (const Corner corner : boxes.back()) {
      if (corner.x < 0 || corner.y < 0 || corner.x > header.first || corner.y > header.second) {
        return "\"" + text.text + "\" is cut";
      }
    }
    for (std::size_t i = 0; i + 1 < boxes.size(); ++i) {
      if (overlap(boxes[i], boxes.back())) {
        return "\"" + text.text + "\" overlaps \"" + picture.texts[i].text + "\"";
      }
    }
  }
  return "";
}

enum class Names { none, short_words, long_words };

std::vector<std::string> names(Names which, std::size_t count) {
  const std::vector<std::string> short_words{"The", "it", "a", "was", "。", "学习"};
  const std::vector<std::string> long_words{"internationalisation", "a", "animal",
                                            "antidisestablishmentarianism"};
  std::vector<std::string> list;
  if (which == Names::none) return list;
  const auto& words = which == Names::short_words ? short_words : long_words;
  for (std::size_t i = 0; i < count; ++i) list.push_back(words[i % words.size()]);
  return list;
}

Heatmap heatmap_of(std::size_t queries, std::size_t keys, Names which, std::size_t seed = 0) {
  Heatmap heatmap;
  heatmap.weights = example_weights(queries, keys, seed);
  heatmap.query_labels = names(which, queries);
  heatmap.key_labels = names(which, keys);
  heatmap.title = "What each word of a sentence looks at\n(Sample 1, Head 1)";
  return heatmap;
}

PlotOptions options_of(PlotStyle style) {
  PlotOptions options;
  options.figure.style = style;
  options.figure.dpi = 80;
  options.figure.threads = 1;
  return options;
}

const std::vector<std::size_t> counts{1, 2, 3, 5, 8, 13, 18, 20, 25, 33, 64, 100, 256};
const std::array all_styles{PlotStyle::standard, PlotStyle::matplotlib};
const std::array all_names{Names::none, Names::short_words, Names::long_words};

template <class Check>
void for_each_figure(Check check) {
  for (const PlotStyle style : all_styles) {
    for (const Names which : all_names) {
      for (const std::size_t count : counts) {
        CAPTURE(static_cast<int>(style));
        CAPTURE(static_cast<int>(which));
        CAPTURE(count);
        check(options_of(style), which, count);
      }
    }
  }
}

TEST_CASE("nothing written in a heatmap overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](const PlotOptions& options, Names which, std::size_t count) {
    CHECK(
        faults(draw_heatmap(heatmap_of(count, count, which), options.heatmap(), PictureFormat::png),
               options.figure.style) == "");
    const std::size_t others = count < 9 ? 4 * count : count / 4;
    CHECK(faults(
              draw_heatmap(heatmap_of(count, others, which), options.heatmap(), PictureFormat::png),
              options.figure.style) == "");
  });
}

TEST_CASE("nothing written in a grid overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](const PlotOptions& options, Names which, std::size_t count) {
    HeatmapGrid grid{2, 3, {}};
    for (std::size_t i = 0; i < 6; ++i) {
      grid.panels.push_back(heatmap_of(count, count, which, i));
      grid.panels.back().title = "";
    }
    PlotOptions of_grid = options;
    CHECK(faults(draw_grid(grid, of_grid.grid(), PictureFormat::png), options.figure.style) == "");
    of_grid.colors.range.scope = ColorRange::Scope::panel;
    CHECK(faults(draw_grid(grid, of_grid.grid(), PictureFormat::png), options.figure.style) == "");
  });
}

TEST_CASE("nothing written in stages overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](PlotOptions options, Names which, std::size_t count) {
    const std::vector<std::pair<std::string, std::string>> steps{
        {"Scores", "q·k"},
        {"Scaled", "scores · 1/√64 = scores · 0.125"},
        {"Masked", "s + bias; hidden: −∞"},
        {"Weights", "softmax(s) = exp(s) / Σ exp(s)"}};
    HeatmapGrid grid{1, steps.size(), {}};
    grid.panel_side = 3.2;
    for (const auto& [title, caption] : steps) {
      grid.panels.push_back(heatmap_of(count, count, which));
      grid.panels.back().title = title;
      grid.panels.back().caption = caption;
    }
    options.figure.title = "From Scores to Weights (Sample 1, Head 1)";
    options.colors.range.scope = ColorRange::Scope::panel;
    CHECK(faults(draw_grid(grid, options.grid(), PictureFormat::png), options.figure.style) == "");
  });
}

TEST_CASE("nothing written in a mask overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](const PlotOptions& options, Names which, std::size_t count) {
    MaskMap mask;
    std::vector<std::int64_t> hidden_by;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        hidden_by.push_back((j > i ? 1 : 0) + (j + 2 > count ? 8 : 0));
      }
    }
    mask.hidden_by = Tensor({count, count}, std::move(hidden_by));
    mask.parts = {"causal", "window", "valid_lens", "padding"};
    mask.query_labels = mask.key_labels = names(which, count);
    mask.title = "Attention Mask (Sample 1)";
    CHECK(faults(draw_mask(mask, options.figure, PictureFormat::png), options.figure.style) == "");
  });
}

TEST_CASE("nothing written between lines overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](PlotOptions options, Names which, std::size_t count) {
    options.top = 1;
    for (const std::size_t heads : {1, 12}) {
      HeadLines lines;
      for (std::size_t i = 0; i < heads; ++i) {
        lines.heads.push_back(heatmap_of(count, count, which, i));
        lines.heads.back().title = "Head " + std::to_string(i + 1);
      }
      lines.title = "Attention between Tokens (Sample 1, Head 1)";
      CHECK(faults(draw_lines(lines, options.lines(), PictureFormat::png)) == "");
    }
  });
}

TEST_CASE("a text that is read from the right begins at the right end of its strip") {
  const auto first_is_left = [](std::vector<std::string> tokens) {
    TokenStrip strip;
    strip.weights = heatmap_of(1, tokens.size(), Names::none);
    strip.tokens = tokens;
    const Picture picture = draw_strip(strip, {}, PictureFormat::svg);
    const auto place = [&](const std::string& token) {
      return std::find_if(picture.texts.begin(), picture.texts.end(),
                          [&](const PictureText& text) { return text.text == token; })
          ->x;
    };
    return place(tokens.front()) < place(tokens.back());
  };
  CHECK(first_is_left({"the", "שלום", "cat"}));
  CHECK_FALSE(first_is_left({"12", "שלום", "עולם"}));
}

TEST_CASE("nothing written in a strip or beside curves overlaps or is cut from 1 to 256 tokens") {
  for_each_figure([](const PlotOptions& options, Names which, std::size_t count) {
    TokenStrip strip;
    strip.weights = heatmap_of(1, count, Names::none);
    strip.tokens = names(which == Names::none ? Names::short_words : which, count);
    strip.title = "What \"it\" Looks At (Sample 1, Head 1)";
    CHECK(faults(draw_strip(strip, options.strip(), PictureFormat::png)) == "");
    CHECK(faults(draw_curves(heatmap_of(count, count, which), options.curves(), PictureFormat::png),
                 options.figure.style) == "");
    PlotOptions sums = options;
    sums.marginals = true;
    CHECK(faults(draw_heatmap(heatmap_of(count, count, which), sums.heatmap(), PictureFormat::png),
                 options.figure.style) == "");
  });
}

TEST_CASE("nothing written beside boxes to scale overlaps or is cut for sizes up to billions") {
  for (const std::size_t size : {1UL, 3UL, 64UL, 4096UL, 131072UL, 1000000007UL}) {
    CAPTURE(size);
    const DimensionChart chart{
        {2, size, 64}, {2, size, 64}, {2, size, size}, {2, 1, size}, {size, 1}};
    CHECK(faults(draw_shapes(chart, options_of(PlotStyle::standard).figure, PictureFormat::png)) ==
          "");
  }
}

TEST_CASE("nothing written in a chart of dimensions overlaps or is cut for sizes up to billions") {
  for (const PlotStyle style : all_styles) {
    for (const std::size_t size : {1UL, 3UL, 10UL, 64UL, 256UL, 4096UL, 131072UL, 1000000007UL}) {
      CAPTURE(static_cast<int>(style));
      CAPTURE(size);
      const DimensionChart chart{{2, size, 64}, {2, size, 64}, {2, size, size}, {2, 1, size}};
      CHECK(faults(draw_dimensions(chart, options_of(style).figure, PictureFormat::png), style) ==
            "");
    }
  }
}

// Figures of every kind with twelve tokens.
Picture figure_of(const std::string& kind, Names which, const std::string& title,
                  const PlotOptions& given) {
  constexpr std::size_t count = 12;
  PlotOptions options = given;
  options.figure.title = title;
  if (kind == "heatmap") {
    return draw_heatmap(heatmap_of(count, count, which), options.heatmap(), PictureFormat::png);
  }
  if (kind == "marginals") {
    options.marginals = true;
    return draw_heatmap(heatmap_of(count, count, which), options.heatmap(), PictureFormat::png);
  }
  if (kind == "difference") {
    Heatmap heatmap = heatmap_of(count, count, which);
    heatmap.any_numbers = true;
    options.colors.range = {ColorRange::Scope::given, -0.05, 0.05};
    options.colors.bar_label = "a_rather_long_name − another_rather_long_name";
    return draw_heatmap(heatmap, options.heatmap(), PictureFormat::png);
  }
  if (kind == "positions" || kind == "curves") {
    Heatmap heatmap = heatmap_of(count, count, which);
    heatmap.any_numbers = heatmap.of_positions = true;
    return kind == "curves" ? draw_curves(heatmap, options.curves(), PictureFormat::png)
                            : draw_heatmap(heatmap, options.heatmap(), PictureFormat::png);
  }
  if (kind == "steps") {
    Heatmap heatmap = heatmap_of(count, count, which);
    std::vector<std::uint8_t> missing;
    for (std::size_t i = 0; i < count * count; ++i) missing.push_back(i % count > i / count);
    heatmap.missing = Tensor({count, count}, std::move(missing));
    return draw_heatmap(heatmap, options.heatmap(), PictureFormat::png);
  }
  if (kind == "strip") {
    TokenStrip strip;
    strip.weights = heatmap_of(1, count, Names::none);
    strip.tokens = which == Names::none ? names(Names::short_words, count) : names(which, count);
    strip.query = 3;
    return draw_strip(strip, options.strip(), PictureFormat::png);
  }
  if (kind == "shapes") {
    return draw_shapes({{2, 8, 64}, {2, 4096, 64}, {2, 4096, 64}, {2, 8, 64}, {2, 8, 4096}},
                       options.figure, PictureFormat::png);
  }
  if (kind == "mask") {
    MaskMap mask;
    std::vector<std::int64_t> hidden_by;
    for (std::size_t i = 0; i < count * count; ++i) {
      hidden_by.push_back((i % count > i / count ? 1 : 0) + (i % count > count - 3 ? 8 : 0));
    }
    mask.hidden_by = Tensor({count, count}, std::move(hidden_by));
    mask.parts = {"causal", "window", "valid_lens", "padding"};
    mask.query_labels = mask.key_labels = names(which, count);
    return draw_mask(mask, options.figure, PictureFormat::png);
  }
  if (kind == "dimensions") {
    return draw_dimensions({{2, 8, 64}, {2, 4096, 64}, {2, 4096, 64}, {2, 8, 64}}, options.figure,
                           PictureFormat::png);
  }
  if (kind == "lines") {
    HeadLines lines;
    for (std::size_t i = 0; i < 3; ++i) {
      lines.heads.push_back(heatmap_of(count, count, which, i));
      lines.heads.back().title = "Head " + std::to_string(i + 1);
    }
    options.top = 1;
    return draw_lines(lines, options.lines(), PictureFormat::png);
  }
  const bool stages = kind == "stages";
  HeatmapGrid grid{stages ? 1UL : 2UL, stages ? 3UL : 4UL, {}};
  for (std::size_t i = 0; i < grid.rows * grid.columns; ++i) {
    grid.panels.push_back(heatmap_of(count, count, which, i));
    grid.panels.back().title = stages ? "Masked" : "";
    if (stages) grid.panels.back().caption = "s + bias; hidden: −∞";
  }
  if (stages) {
    options.colors.range.scope = ColorRange::Scope::panel;
  } else {
    grid.row_titles = {"Layer 1", "Layer 2, Cross-Attention"};
    grid.columns_a_group = 2;
    grid.group_titles = {"Key/Value Head 1", "Key/Value Head 2"};
  }
  return draw_grid(grid, options.grid(), PictureFormat::png);
}

// The share of a picture that its largest frames take.
double share_of_maps(const Picture& picture) {
  const auto [width, height] = attn::test::png_size(picture.bytes);
  double area = 0;
  for (const PictureFrame& frame : picture.frames) {
    area += (frame.right - frame.left) * (frame.bottom - frame.top);
  }
  return area / (width * height);
}

// Share of the area that a map with square cells, or a chart, would have on the whole figure.
double largest_share(const std::string& kind, const std::pair<double, double>& size) {
  const double height = kind == "grid"                             ? 1.0 / 2
                        : kind == "stages"                         ? 1.0 / 3
                        : kind == "dimensions" || kind == "curves" ? size.second / size.first
                                                                   : 1;  // to a width of 1
  const double width = std::min(size.first, size.second / height);
  return width * width * height / (size.first * size.second);
}

TEST_CASE("figures of every kind, size, font scale and length of labels keep their size and map") {
  const std::string long_title =
      "What each word of a rather long sentence looks at when a model reads it from its beginning "
      "to its end (Layer 11, Cross-Attention, Sample 12, Head 7, without the First Key)";
  const std::array<std::pair<double, double>, 5> sizes{
      {{2, 2}, {3.3, 2.5}, {8, 6}, {6, 12}, {24, 16}}};
  const std::array kinds{"heatmap", "marginals",  "grid",      "stages", "mask",
                         "lines",   "dimensions", "shapes",    "strip",  "positions",
                         "curves",  "steps",      "difference"};
  // Each has one of the scales, in turn, so that any two of size, labels, title and scale meet.
  constexpr std::array scales{0.5, 1.0, 3.0};
  std::size_t drawn = 0;
  for (const std::string kind : kinds) {
    for (const auto& size : sizes) {
      for (const Names which : {Names::none, Names::long_words}) {
        for (const std::string& title : {std::string("Weights"), long_title}) {
          const double scale = scales[drawn++ % scales.size()];
          CAPTURE(kind);
          CAPTURE(size.first);
          CAPTURE(scale);
          CAPTURE(static_cast<int>(which));
          CAPTURE(title);
          PlotOptions options = options_of(PlotStyle::standard);
          options.figure.dpi = 60;
          options.figure.figsize = size;
          options.figure.font_scale = scale;
          const Picture picture = figure_of(kind, which, title, options);
          CHECK(faults(picture) == "");
          const auto [width, height] = attn::test::png_size(picture.bytes);
          // And a tenth of an inch on each side.
          CHECK(width <= 60 * (size.first * 1.01 + 0.2) + 1);
          CHECK(height <= 60 * (size.second * 1.01 + 0.2) + 1);
          // Between lines, and of texts, there is no map; boxes to scale have sizes of their own.
          if (kind == "lines" || kind == "strip" || kind == "shapes") continue;
          CHECK(share_of_maps(picture) > 0.15 * largest_share(kind, size));
        }
      }
    }
  }
}

}  // namespace
