#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::mask {
namespace {

constexpr std::pair<double, double> default_size = {8, 6};
constexpr const char* default_title = to_translate("Attention Mask");
constexpr std::array order = {Part::axis_labels, Part::tick_labels, Part::title};
constexpr double legend_gap = 14;           // points
constexpr double least_framed_cell = 6;     // points; smaller cells have no lines between them
constexpr double least_hatched_cell = 1.5;  // points; smaller cells have no strokes
constexpr double cell_line = 0.8;           // points
constexpr std::size_t most_across = 512;    // pixels of the image in a vector format
constexpr std::size_t most_parts = 32;
constexpr std::size_t most_looks = 6;  // of more, cells have the colour of the first part alone
constexpr std::size_t many_cells = 1 << 20;  // of fewer, threads gain nothing

// Okabe and Ito's colours, which the colour-blind tell apart, greys, and five of Tol's muted ones.
constexpr Colour seen_colour = {0, 114, 178}, global_colour = {86, 180, 233};
constexpr Colour unknown_part_colour = {217, 217, 217}, stroke_colour = {120, 120, 120};
constexpr std::array<Colour, 12> part_colours = {{{230, 159, 0},
                                                  {204, 121, 167},
                                                  {0, 158, 115},
                                                  {170, 170, 170},
                                                  {240, 228, 66},
                                                  {213, 94, 0},
                                                  {70, 70, 70},
                                                  {136, 34, 85},
                                                  {51, 34, 136},
                                                  {153, 153, 51},
                                                  {221, 204, 119},
                                                  {170, 68, 153}}};

// A sort of strokes for each, so that causes are told apart without colours too.
constexpr std::array<Canvas::Hatch, 7> part_hatches = {
    Canvas::Hatch::rising,  Canvas::Hatch::level,   Canvas::Hatch::falling, Canvas::Hatch::dotted,
    Canvas::Hatch::crossed, Canvas::Hatch::upright, Canvas::Hatch::squared};
const std::vector<Canvas::Hatch> no_hatches;

// Why a cell is seen or not: the parts that hide it, and whether it is seen only by way of a
// global position.
struct Reason {
  std::uint64_t parts = 0;
  bool global = false;

  friend auto operator<=>(const Reason&, const Reason&) = default;  // NOLINT(modernize-*)
};

Colour pale(Colour colour) {
  constexpr double share = 0.45;  // of the colour in white
  const auto mixed = [](std::uint8_t channel) {
    return static_cast<std::uint8_t>(std::lround(255 - share * (255 - channel)));
  };
  return {mixed(colour.red), mixed(colour.green), mixed(colour.blue)};
}

Colour mixed(const std::vector<Colour>& colours) {
  std::array<std::size_t, 3> sum{};
  for (const Colour colour : colours) {
    sum[0] += colour.red;
    sum[1] += colour.green;
    sum[2] += colour.blue;
  }
  const auto mean = [&](std::size_t channel) {
    return static_cast<std::uint8_t>(sum[channel] / colours.size());
  };
  return {mean(0), mean(1), mean(2)};
}

const MaskMap& checked(const MaskMap& mask) {
  const Tensor& tensor = mask.hidden_by;
  if (!tensor || tensor.rank() != 2 || tensor.size() == 0 || tensor.dtype() != DType::int64 ||
      mask.parts.size() > most_parts) {
    throw input_error(translated("there is no mask to draw"), "",
                      translated("give a matrix [queries,keys] of sums of 2^i"));
  }
  const auto check = [](const std::vector<std::string>& labels, std::size_t count) {
    if (labels.empty() || labels.size() == count) return;
    throw input_error(
        translated("{1} labels for {2} rows or columns of the mask", labels.size(), count), "",
        translated("give one label for each, or none"));
  };
  check(mask.query_labels, tensor.shape()[0]);
  check(mask.key_labels, tensor.shape()[1]);
  if (mask.global &&
      (mask.global.shape() != tensor.shape() || mask.global.dtype() != DType::boolean)) {
    throw input_error(translated("the global cells do not fit the mask"), "",
                      translated("give both the same shape"));
  }
  return mask;
}

// Cells of one reason: their name in the legend, their colour and a hatch for each part.
struct Look {
  std::string name;
  Colour colour;
  std::vector<Canvas::Hatch> hatches;
};

Look look_of(const Reason& reason, const std::vector<std::string>& parts) {
  if (reason.parts == 0) {
    return {reason.global ? translated("seen (global)") : translated("seen"),
            reason.global ? global_colour : seen_colour,
            {}};
  }
  Look look;
  std::vector<Colour> colours;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if ((reason.parts >> part & 1) == 0) continue;
    look.name += (look.name.empty() ? "" : " + ") + parts[part];
    colours.push_back(part_colours[part % part_colours.size()]);
    look.hatches.push_back(part_hatches[part % part_hatches.size()]);
  }
  if (colours.empty()) return {translated("hidden"), unknown_part_colour, {Canvas::Hatch::rising}};
  look.colour = pale(mixed(colours));  // quieter than seen cells
  return look;
}

// The cells of a mask as they are drawn.
class MaskCells {
 public:
  explicit MaskCells(const MaskMap& mask)
      : rows_(checked(mask).hidden_by.shape()[0]),
        columns_(mask.hidden_by.shape()[1]),
        hidden_by_(mask.hidden_by.values<std::int64_t>()) {
    if (mask.global) global_ = mask.global.values<std::uint8_t>();
    Reason last = reason(0);
    looks_.try_emplace(last);
    for (std::size_t i = 1; i < rows_ * columns_; ++i) {
      if (const Reason now = reason(i); now != last) looks_.try_emplace(last = now);
    }
    for (auto& [reason, look] : looks_) look = look_of(reason, mask.parts);
    if (looks_.size() > most_looks) show_first_reasons(mask.parts);
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  // The reasons that occur, seen cells first.
  std::vector<LegendEntry> legend(bool hatched) const {
    std::vector<LegendEntry> entries;
    for (const auto& [reason, look] : looks_) {
      const auto known = std::ranges::find(entries, look.name, &LegendEntry::name);
      if (known == entries.end())
        entries.push_back(
            {look.name, look.colour, hatched ? look.hatches : no_hatches, stroke_colour});
    }
    if (several_) {
      entries.push_back({translated("of several the first"), black});
      entries.back().bare = true;
    }
    return entries;
  }

  // Whether cells are large enough for hatches.
  bool hatched(const Box& box, const Figure& figure) const {
    return side(box, figure) >= least_hatched_cell;
  }

  void draw(Canvas& canvas, const Box& box, const Figure& figure, std::size_t threads) const {
    const double width = box.width() / static_cast<double>(columns_);
    const double height = box.height() / static_cast<double>(rows_);
    const bool framed = side(box, figure) >= least_framed_cell;
    if (!framed) draw_small(canvas, box, threads);
    if (!framed && !hatched(box, figure)) return;
    // Cells of one look that follow one another in a row are one box.
    std::map<Reason, std::vector<Box>> runs;
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < columns_;) {
        const Reason why = reason(i * columns_ + j);
        const double left = box.left + static_cast<double>(j) * width;
        const double top = box.top + static_cast<double>(i) * height;
        while (j < columns_ && reason(i * columns_ + j) == why) ++j;
        const double right = box.left + static_cast<double>(j) * width;
        runs[why].push_back({left, top, right, top + height});
      }
    }
    for (const auto& [why, boxes] : runs) {
      const Look& look = looks_.at(why);
      if (framed) {
        for (const Box& run : boxes) canvas.fill(run, look.colour);
      }
      draw_hatches(canvas, boxes, look.hatches, stroke_colour, figure);
    }
    if (!framed) return;
    const double line = figure.pixels(cell_line);
    for (std::size_t i = 1; i < rows_; ++i) {
      canvas.tick({box.left, box.top + static_cast<double>(i) * height}, box.width(), 0,
                  figure.paper().ground, line);
    }
    for (std::size_t j = 1; j < columns_; ++j) {
      canvas.tick({box.left + static_cast<double>(j) * width, box.top}, 0, box.height(),
                  figure.paper().ground, line);
    }
  }

 private:
  // Gives each hidden cell the pale colour of the first part that hides it, without strokes.
  void show_first_reasons(const std::vector<std::string>& parts) {
    std::map<std::size_t, Colour> colours;  // by part
    for (auto& [reason, look] : looks_) {
      if (reason.parts == 0) continue;
      const auto part = static_cast<std::size_t>(std::countr_zero(reason.parts));
      several_ = several_ || std::popcount(reason.parts) > 1;
      const bool known = part < parts.size();
      const auto at = colours.find(part);
      const bool own = known && (at != colours.end() || colours.size() + 2 < most_looks);
      const Colour colour =
          own ? pale(part_colours[part % part_colours.size()]) : unknown_part_colour;
      if (own) colours.emplace(part, colour);
      look = {own ? parts[part] : translated("hidden by another part"), colour, {}};
    }
  }

  Reason reason(std::size_t cell) const {
    const auto parts = static_cast<std::uint64_t>(hidden_by_[cell]);
    return {parts, parts == 0 && !global_.empty() && global_[cell] != 0};
  }

  // The shorter side of a cell in points.
  double side(const Box& box, const Figure& figure) const {
    return figure.points(std::min(box.width() / static_cast<double>(columns_),
                                  box.height() / static_cast<double>(rows_)));
  }

  // Where there are more cells than pixels, each pixel shows the mean of its cells' colours.
  void draw_small(Canvas& canvas, const Box& box, std::size_t most_threads) const {
    const auto area = canvas.pixel_area(box);
    const bool raster = canvas.is_raster();
    const std::size_t width =
        raster ? static_cast<std::size_t>(area.width) : std::min(columns_, most_across);
    const std::size_t height =
        raster ? static_cast<std::size_t>(area.height) : std::min(rows_, most_across);
    const auto shown = canvas.rows_on_band(area, box);
    const std::size_t before = raster ? static_cast<std::size_t>(shown.top - area.top) : 0;
    const std::size_t count = raster ? static_cast<std::size_t>(shown.height) : height;
    Pixels pixels(width * count);
    const std::size_t threads = rows_ >= many_cells / columns_ ? most_threads : 1;
    const auto first_row = [&](std::size_t y) { return y * rows_ / height; };
    const auto end_row = [&](std::size_t y) {
      return std::max(first_row(y) + 1, (y + 1) * rows_ / height);
    };
    const auto is_as_above = [&](std::size_t line) {
      const std::size_t y = before + line;
      return line > 0 && first_row(y) == first_row(y - 1) && end_row(y) == end_row(y - 1);
    };
    parallel_for(count, threads, [&](std::size_t y) {
      if (is_as_above(y)) return;
      const std::size_t top = first_row(before + y), bottom = end_row(before + y);
      std::size_t last_left = columns_, last_right = columns_;
      Reason last = reason(top * columns_);
      Colour colour = looks_.at(last).colour;
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t left = x * columns_ / width;
        const std::size_t right = std::max(left + 1, (x + 1) * columns_ / width);
        if (left == last_left && right == last_right) {
          pixels[y * width + x] = pixels[y * width + x - 1];
          continue;
        }
        last_left = left;
        last_right = right;
        std::size_t red = 0, green = 0, blue = 0;
        for (std::size_t i = top; i < bottom; ++i) {
          for (std::size_t j = left; j < right; ++j) {
            if (const Reason now = reason(i * columns_ + j); now != last) {
              last = now;
              colour = looks_.at(last).colour;
            }
            red += colour.red;
            green += colour.green;
            blue += colour.blue;
          }
        }
        const std::size_t cells = (bottom - top) * (right - left);
        pixels[y * width + x] =
            static_cast<std::uint32_t>(red / cells << 16 | green / cells << 8 | blue / cells);
      }
    });
    if (raster) {
      PixelRows rows{std::move(pixels), {}};
      for (std::size_t y = 0; y < count; ++y) {
        rows.line_of_row.push_back(is_as_above(y) ? rows.line_of_row.back() : y);
      }
      canvas.copy(rows, shown, box);
      return;
    }
    for (std::size_t y = 0; y < height; ++y) {
      auto* const line = pixels.data() + y * width;
      if (is_as_above(y)) std::copy(line - width, line, line);
    }
    canvas.image(std::move(pixels), width, height, box);
  }

  std::size_t rows_, columns_;
  std::span<const std::int64_t> hidden_by_;
  std::span<const std::uint8_t> global_;
  std::map<Reason, Look> looks_;
  bool several_ = false;  // whether cells show the first of several parts alone
};

}  // namespace
}  // namespace plot::mask

namespace plot::mask {
namespace {

// Entries with a line for each part of a name, which is too wide for a panel.
std::vector<LegendEntry> with_short_lines(const std::vector<LegendEntry>& entries) {
  constexpr std::string_view joint = " + ";
  std::vector<LegendEntry> lines;
  for (const LegendEntry& entry : entries) {
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + joint.size()) {
      end = entry.name.find(joint, begin);
      const std::string part = entry.name.substr(begin, end - begin);
      LegendEntry& line = lines.emplace_back(entry);
      line.name = end == std::string::npos ? part : part + " +";
      line.bare = begin > 0 || entry.bare;
      if (end == std::string::npos) break;
    }
  }
  return lines;
}

}  // namespace
}  // namespace plot::mask

Picture draw_mask(const MaskMap& mask, const FigureOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::mask;
  Figure figure(options, format, default_size);
  const MaskCells cells(mask);
  Heatmap names;
  names.query_labels = mask.query_labels;
  names.key_labels = mask.key_labels;
  names.query_spans = mask.query_spans;
  names.key_spans = mask.key_spans;
  names.first_query = mask.first_query;
  names.first_key = mask.first_key;
  const MapTicks ticks = map_ticks(names, cells.rows(), cells.columns(), options);
  const ChartTexts texts = map_texts(options, mask.title, default_title, figure);
  const auto legend = [&](bool hatched) {
    const std::vector<LegendEntry> all = cells.legend(hatched);
    return figure.narrow() ? with_short_lines(all) : all;
  };
  const std::vector<LegendEntry> entries = legend(true);
  std::string reasons;
  for (const LegendEntry& entry : cells.legend(true))
    reasons += (reasons.empty() ? "" : ", ") + entry.name;
  figure.describe(texts.title,
                  translated("Mask of {1} × {2}. Cells: {3}.",
                             translated_count(cells.rows(), "{1} query", "{1} queries"),
                             translated_count(cells.columns(), "{1} key", "{1} keys"), reasons));

  const Arrangement all =
      arranged(figure, order, [&](Figure& on, const Box& area, const Shown& shown, bool measured) {
        const double gap = on.pixels_beside_text(legend_gap);
        const double least = area.width() / (on.in_panel() ? 3 : 2);
        Arrangement laid_out;
        laid_out.place = beside_legend(area, entries, gap, least, on);
        const Box box =
            measured ? laid_out.place : map_box(laid_out.place, cells.rows(), cells.columns(), on);
        laid_out.axes = chart_axes(box, texts, shown, on);
        set_cell_ticks(laid_out.axes, ticks, on);
        laid_out.decorations = decorate(laid_out.axes, on.typesetter());
        if (measured) return laid_out;
        laid_out.legend.emplace(legend(cells.hatched(box, on)), Point{box.right + gap, box.top},
                                on);
        return laid_out;
      });
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    cells.draw(canvas, all.axes.box, figure, options.threads);
    all.draw(canvas, figure);
  });
}

}  // namespace attn
