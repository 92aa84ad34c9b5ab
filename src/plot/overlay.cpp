#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/cells/cells.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::overlay {
namespace {

constexpr const char* default_title = to_translate("Attention over the Picture");
constexpr const char* colour_label = to_translate("Attention weight");
constexpr const char* usual_map = "inferno";
// Inches: the longer side of a single panel, of one in a row of few, of several and of many.
constexpr double single_side = 4.4, few_side = 2.4, several_side = 1.7, many_side = 1;
constexpr std::size_t few = 3, several = 6;          // panels in a row
constexpr double bar_room = 1.2, texts_room = 0.35;  // inches
constexpr double panel_gap = 8, title_pad = 12, panel_title_pad = 3, others_gap = 5;  // points
constexpr double bar_gap = 12, bar_width = 11;                                        // points
constexpr double panel_bar_share = 0.05, panel_bar_room = 0.42;        // of a panel's width
constexpr double other_size = 9, small_other_size = 7, other_pad = 3;  // points
constexpr double panel_title_size = 10;                                // points
constexpr double small_panel = 150;                 // points; of less width, letters are small
constexpr double outer_mark = 3, inner_mark = 1.2;  // points; frames around the query
constexpr std::size_t least_smooth = 256;           // pixels of an image in a vector file
constexpr double most_in_file = 4e6;                // pixels of all images in a vector file
constexpr std::array order = {Part::title, Part::captions, Part::bar};
// Shares of the picture's own colour, and of the weights' colours over it, from the least to the
// largest weight.
constexpr float saturation = 0.6F;
constexpr double least_tint = 0.2, most_tint = 0.72;

const Shape& checked_shape(const PictureOverlay& overlay) {
  const Shape& shape = overlay.image.shape();
  if (shape.size() != 3 || shape[0] != 3 || shape[1] == 0 || shape[2] == 0) {
    throw input_error(translated("the picture has the shape {1}", text(shape)), "",
                      translated("give [3, height, width]"));
  }
  if (overlay.panels.empty()) {
    throw input_error(translated("there are no weights to draw"), "",
                      translated("give at least one panel"));
  }
  for (const PictureOverlay::Panel& panel : overlay.panels) {
    const Shape& patches = panel.patches.weights.shape();
    const bool fits = patches.size() == 2 && patches == overlay.panels[0].patches.weights.shape() &&
                      patches[0] * overlay.patch <= shape[1] &&
                      patches[1] * overlay.patch <= shape[2] &&
                      panel.others.size() == overlay.other_names.size();
    if (fits) continue;
    throw input_error(translated("weights of the shape {1} do not fit a picture of {2} × {3} "
                                 "pixels in patches of {4} × {4}",
                                 text(patches), shape[1], shape[2], overlay.patch),
                      "", translated("give one weight for each patch and each other token"));
  }
  return shape;
}

// The scale of panels with one range. Tokens that are no patches may lie beyond it.
ColourScale scale_of(std::span<const Matrix> matrices, ColorOptions options,
                     const PictureOverlay& overlay, std::span<const std::size_t> panels,
                     const FigureOptions& figure) {
  const bool linear = options.norm.kind != ColorNorm::Kind::log;
  const auto values = value_range(matrices, true);
  const bool one_sign = !values || values->low >= 0;
  if (!options.cmap && one_sign) options.cmap = usual_map;
  const bool usual = options.range.scope != ColorRange::Scope::given;
  if (usual && linear && one_sign) {
    const double high = values && values->high > 0 ? values->high : 1;
    options.range = {ColorRange::Scope::given, 0, high};
  }
  ColourScale scale = colour_scale(matrices, false, options, figure);
  for (const std::size_t panel : panels) {
    for (const double weight : overlay.panels[panel].others) {
      if (figure.style != PlotStyle::standard) continue;
      scale.beyond_high = scale.beyond_high || weight > scale.range.high;
      scale.beyond_low = scale.beyond_low || weight < scale.range.low;
    }
  }
  return scale;
}

// The share of a colour over the picture by its place in the map: small weights leave most of it.
float tint_of(double position, bool both_signs) {
  position = std::clamp(position, 0.0, 1.0);
  const double strength = both_signs ? std::abs(2 * position - 1) : position;
  return static_cast<float>(least_tint + (most_tint - least_tint) * strength);
}

// A colour as it looks over the middle grey of a picture, for bars and for tokens beside it.
Colour over_grey(Colour colour, double position, bool both_signs) {
  constexpr float grey = 128;
  const float tint = tint_of(position, both_signs);
  const auto mixed = [&](std::uint8_t part) {
    return static_cast<std::uint8_t>(std::lround(grey + tint * (static_cast<float>(part) - grey)));
  };
  return {mixed(colour.red), mixed(colour.green), mixed(colour.blue)};
}

// The colours of a bar as they look over a picture.
std::vector<Colour> bar_colours(const ColourScale& scale) {
  std::vector<Colour> colours;
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    colours.push_back(over_grey(scale.map[i],
                                static_cast<double>(i) / static_cast<double>(ColourMap::size() - 1),
                                scale.range.low < 0));
  }
  return colours;
}

// The place of a pixel among the patches along one axis: the patch before it and the next one, and
// the share of that. Pixels of no patch have none.
struct PatchPlace {
  std::size_t first = 0, next = 0;
  double share = 0;
  bool inside = false;
};

std::vector<PatchPlace> patch_places(std::size_t pixels, std::size_t source, std::size_t patch,
                                     std::size_t patches, bool smooth) {
  std::vector<PatchPlace> places(pixels);
  for (std::size_t x = 0; x < pixels; ++x) {
    const double at = (static_cast<double>(x) + 0.5) * static_cast<double>(source) /
                      static_cast<double>(pixels) / static_cast<double>(patch);
    PatchPlace& place = places[x];
    place.inside = at < static_cast<double>(patches);
    const double last = static_cast<double>(patches - 1);
    const double low = std::clamp(smooth ? at - 0.5 : std::floor(at), 0.0, last);
    place.first = static_cast<std::size_t>(low);
    place.next = std::min(place.first + 1, patches - 1);
    place.share = smooth ? low - std::floor(low) : 0;
  }
  return places;
}

// Pixels of a picture of width × height, tinted by weights.
class TintedPicture {
 public:
  TintedPicture(const Tensor& image, const Matrix& weights, std::size_t patch, bool smooth,
                const CellColours& colours, std::size_t width, std::size_t height)
      : image_(image),
        weights_(weights),
        colours_(colours),
        width_(width),
        across_(shares(image.shape()[2], width)),
        down_(shares(image.shape()[1], height)),
        columns_(patch_places(width, image.shape()[2], patch, weights.columns(), smooth)),
        rows_(patch_places(height, image.shape()[1], patch, weights.rows(), smooth)) {}

  PixelRows rows(std::size_t first, std::size_t count) const {
    PixelRows rows;
    rows.lines.resize(count * width_);
    for (std::size_t y = 0; y < count; ++y) {
      rows.line_of_row.push_back(y);
      draw_row(first + y, rows.lines.data() + y * width_);
    }
    return rows;
  }

 private:
  // A picture of more pixels than it has is smooth, one of fewer shows their means.
  static std::vector<PixelShares> shares(std::size_t source, std::size_t pixels) {
    return pixel_shares(source, pixels,
                        pixels == source  ? Resampling::nearest
                        : pixels > source ? Resampling::hann
                                          : Resampling::mean);
  }

  // Grey and colour of a picture's row, [3,W].
  std::array<std::vector<float>, 3> picture_row(std::size_t y) const {
    const Shape& shape = image_.shape();
    const auto values = image_.values<float>();
    std::array<std::vector<float>, 3> row;
    for (std::size_t channel = 0; channel < 3; ++channel) {
      std::vector<float> source(shape[2], 0);
      for (std::size_t k = 0; k < down_[y].shares.size(); ++k) {
        const auto share = static_cast<float>(down_[y].shares[k]);
        const float* from = values.data() + (channel * shape[1] + down_[y].first + k) * shape[2];
        for (std::size_t x = 0; x < shape[2]; ++x) source[x] += share * from[x];
      }
      row[channel].resize(width_);
      for (std::size_t x = 0; x < width_; ++x) {
        float sum = 0;
        for (std::size_t k = 0; k < across_[x].shares.size(); ++k) {
          sum += static_cast<float>(across_[x].shares[k]) * source[across_[x].first + k];
        }
        row[channel][x] = std::clamp(sum, 0.0F, 1.0F);
      }
    }
    return row;
  }

  std::optional<double> weight(const PatchPlace& row, const PatchPlace& column) const {
    if (!row.inside || !column.inside) return std::nullopt;
    if (!weights_.shown(row.first, column.first)) return std::nullopt;
    if (row.share == 0 && column.share == 0) return weights_.at(row.first, column.first);
    const auto along = [&](std::size_t i) {
      return (1 - column.share) * weights_.at(i, column.first) +
             column.share * weights_.at(i, column.next);
    };
    return (1 - row.share) * along(row.first) + row.share * along(row.next);
  }

  void draw_row(std::size_t y, std::uint32_t* to) const {
    const auto picture = picture_row(y);
    for (std::size_t x = 0; x < width_; ++x) {
      const float grey = 0.299F * picture[0][x] + 0.587F * picture[1][x] + 0.114F * picture[2][x];
      std::array<float, 3> pixel{};
      for (std::size_t c = 0; c < 3; ++c) {
        pixel[c] = 255 * (grey + saturation * (picture[c][x] - grey));
      }
      if (const auto value = weight(rows_[y], columns_[x])) {
        const Colour colour = colours_.of(*value);
        const float tint = colours_.has_place(*value) ? tint_of(*value) : 1;
        const std::array over{colour.red, colour.green, colour.blue};
        for (std::size_t c = 0; c < 3; ++c) {
          pixel[c] += tint * (static_cast<float>(over[c]) - pixel[c]);
        }
      }
      // Numbers of 0 to 255, for which a call of lround() would take longer than all else here.
      const auto whole = [](float part) {
        return static_cast<std::uint8_t>(part + 0.5F);  // NOLINT(bugprone-incorrect-roundings)
      };
      to[x] = packed({whole(pixel[0]), whole(pixel[1]), whole(pixel[2])});
    }
  }

  float tint_of(double value) const {
    return plot::overlay::tint_of(position_of(value, colours_.range, colours_.norm),
                                  colours_.range.low < 0);
  }

  const Tensor& image_;  // [3,H,W], float32
  const Matrix& weights_;
  const CellColours& colours_;
  std::size_t width_;
  std::vector<PixelShares> across_, down_;
  std::vector<PatchPlace> columns_, rows_;
};

// A token that is no patch: a square of its colour, and its name with the weight where there is
// room.
struct OtherToken {
  Box square;
  Colour colour;
  std::optional<PlacedText> name;
};

struct OverlayPanel {
  Box box;
  std::vector<PlacedText> texts;
  std::vector<OtherToken> others;
  std::optional<ColourBar> bar;

  Box bounds() const {
    Box all = box;
    if (!texts.empty()) all = united(all, bounds_of(texts));
    for (const OtherToken& token : others) {
      all = united(all, token.square);
      if (token.name) all = united(all, token.name->bounds);
    }
    return bar ? united(all, bar->bounds()) : all;
  }
};

class OverlayFigure {
 public:
  OverlayFigure(const PictureOverlay& overlay, const OverlayOptions& options, PictureFormat format)
      : overlay_(overlay),
        options_(options),
        shape_(checked_shape(overlay)),
        image_(overlay.image.converted(DType::float32)),
        columns_(columns_of(overlay, options)),
        rows_((overlay.panels.size() + columns_ - 1) / columns_),
        figure_(options.figure, format, default_size()) {
    for (const PictureOverlay::Panel& panel : overlay.panels) {
      matrices_.emplace_back(panel.patches, "weights");
    }
    const bool own = each_panel_its_range();
    for (std::size_t i = 0; i < (own ? matrices_.size() : 1); ++i) {
      std::vector<std::size_t> panels;
      for (std::size_t p = own ? i : 0; p < (own ? i + 1 : matrices_.size()); ++p) {
        panels.push_back(p);
      }
      scales_.push_back(scale_of(std::span(matrices_).subspan(panels[0], panels.size()),
                                 options.colors, overlay, panels, options.figure));
    }
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      colours_.emplace_back(scales_[own ? i : 0], options.colors, options.figure, figure_.paper());
    }
    format_ = fitting_format(matrices_, scales_[0].range, scales_[0].norm);
    title_ = title_of(options.figure, overlay.title, default_title);
    figure_.describe(title_,
                     translated("A picture of {1} × {2} pixels in {3} × {4} patches, "
                                "tinted by weight. ",
                                shape_[1], shape_[2], matrices_[0].rows(), matrices_[0].columns()) +
                         described_colours(matrices_, scales_[0], {}));
  }

  Picture draw() {
    figure_.fit(order, [&](const Shown& shown) { return lay_out(shown); });
    return figure_.picture(bounds(), [&](Canvas& canvas) {
      for (std::size_t i = 0; i < panels_.size(); ++i) draw_panel(canvas, i);
      for (const PlacedText& text : texts_) canvas.text(text, figure_.paper().ink);
      if (bar_) bar_->draw(canvas, figure_);
    });
  }

 private:
  static std::size_t columns_of(const PictureOverlay& overlay, const OverlayOptions& options) {
    const bool one_row = overlay.columns >= overlay.panels.size();
    const std::size_t count = overlay.panels.size();
    const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(as_real(count))));
    const std::size_t usual = count > several ? square : count;
    const std::size_t asked = one_row ? options.columns.value_or(usual) : overlay.columns;
    return std::clamp<std::size_t>(asked, 1, count);
  }

  std::pair<double, double> default_size() const {
    const double longer = columns_ == 1         ? single_side
                          : columns_ <= few     ? few_side
                          : columns_ <= several ? several_side
                                                : many_side;
    const auto [height, width] = std::pair(as_real(shape_[1]), as_real(shape_[2]));
    const double scale = longer / std::max(height, width);
    return {scale * width * as_real(columns_) * 1.05 + bar_room,
            (scale * height * 1.05 + texts_room) * as_real(rows_) + 2 * texts_room};
  }

  static double as_real(std::size_t number) { return static_cast<double>(number); }

  bool each_panel_its_range() const {
    return options_.colors.range.scope == ColorRange::Scope::panel && overlay_.panels.size() > 1;
  }

  std::string panel_title(std::size_t index) const {
    if (options_.titles) {
      const std::size_t column = index % columns_;
      return column < options_.titles->size() ? (*options_.titles)[column] : "";
    }
    return overlay_.panels[index].patches.title;
  }

  // Tries panels as wide as the figure allows, then narrower ones until all fit its height.
  bool lay_out(const Shown& shown) {
    const double room = figure_.width() * 0.99;
    double width = room / as_real(columns_);
    constexpr int most_tries = 40;
    for (int i = 0; i < most_tries; ++i) {
      place_all(width, shown);
      const Box all = bounds();
      if (all.width() <= figure_.width() && all.height() <= figure_.height()) break;
      width *= 0.96;
    }
    const Box all = bounds();
    const double taken = width * as_real(columns_) / figure_.width();
    const double high = width * as_real(shape_[1]) / as_real(shape_[2]) * as_real(rows_);
    const bool large = taken > 0.55 || high / figure_.height() > 0.55;
    return large && all.width() <= figure_.width() && all.height() <= figure_.height();
  }

  void place_all(double width, const Shown& shown) {
    panels_.clear();
    texts_.clear();
    bar_.reset();
    const double height = width * as_real(shape_[1]) / as_real(shape_[2]);
    const double gap = figure_.pixels(panel_gap) * figure_.font_scale();
    const bool bars = options_.colors.bar && shown(Part::bar);
    const bool own_bars = bars && each_panel_its_range();
    double top = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      double lowest = top;
      const std::size_t first = row * columns_;
      const std::size_t end = std::min(first + columns_, overlay_.panels.size());
      double title_height = 0;
      for (std::size_t i = first; i < end; ++i) {
        const std::string title = panel_title(i);
        if (title.empty() || (row > 0 && !overlay_.row_titles.empty())) continue;
        title_height =
            std::max(title_height, figure_.typesetter().text("lp", panel_title_size).height +
                                       figure_.pixels(panel_title_pad));
      }
      for (std::size_t i = first; i < end; ++i) {
        const double step = width * (own_bars ? 1 + panel_bar_room : 1) + gap;
        const double left = as_real(i - first) * step;
        OverlayPanel& panel = panels_.emplace_back();
        panel.box = {left, top + title_height, left + width, top + title_height + height};
        if (title_height > 0) add_title(panel, panel_title(i));
        if (shown(Part::captions)) add_others(panel, i);
        if (own_bars) {
          const Box place{panel.box.right + gap / 2, panel.box.top,
                          panel.box.right + gap / 2 + panel_bar_share * width, panel.box.bottom};
          panel.bar.emplace(place, "", scales_[i], figure_.style(), figure_);
          panel.bar->colours = bar_colours(scales_[i]);
        }
        lowest = std::max(lowest, panel.bounds().bottom);
      }
      if (row < overlay_.row_titles.size()) {
        const Text& title = figure_.typesetter().text(overlay_.row_titles[row], panel_title_size);
        texts_.push_back(place(title, {-gap, panels_[first].box.centre()},
                               {Horizontal::right, Vertical::centre_of_capitals}));
      }
      top = lowest + gap;
    }
    if (bars && !own_bars) add_bar();
    if (shown(Part::title) && !title_.empty()) {
      const Box all = bounds();
      const auto lines = placed_lines(
          figure_.title(title_, title_size, std::max(all.width(), figure_.width() * 0.9)),
          title_size, {all.middle(), all.top - figure_.pixels(title_pad)},
          {Horizontal::centre, Vertical::bottom}, figure_.typesetter());
      texts_.insert(texts_.end(), lines.begin(), lines.end());
    }
  }

  void add_title(OverlayPanel& panel, const std::string& title) {
    if (title.empty()) return;
    const std::string fitting =
        shortened(title, panel_title_size, panel.box.width(), figure_.typesetter());
    panel.texts.push_back(
        place(figure_.typesetter().text(fitting, panel_title_size),
              {panel.box.middle(), panel.box.top - figure_.pixels(panel_title_pad)},
              {Horizontal::centre, Vertical::bottom}));
  }

  // Squares below the picture, in lines as wide as it.
  void add_others(OverlayPanel& panel, std::size_t index) {
    const bool small = figure_.points(panel.box.width()) < small_panel;
    const double size = small ? small_other_size : other_size;
    Typesetter& typesetter = figure_.typesetter();
    const double side = typesetter.text("lp", size).height;
    const double pad = figure_.pixels(other_pad) * figure_.font_scale();
    const double gap = figure_.pixels(others_gap) * figure_.font_scale();
    std::vector<const Text*> names;
    double widest = 0;
    for (std::size_t i = 0; i < overlay_.other_names.size(); ++i) {
      const double weight = overlay_.panels[index].others[i];
      names.push_back(&typesetter.text(
          overlay_.other_names[i] + " " + shown_value(weight, format_, figure_.style()), size));
      widest = std::max(widest, names.back()->width);
    }
    const bool named = side + pad + widest <= panel.box.width();
    double left = panel.box.left, top = panel.box.bottom + gap;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double width = side + (named ? pad + names[i]->width : 0);
      if (left > panel.box.left && left + width > panel.box.right) {
        left = panel.box.left;
        top += side + pad;
      }
      OtherToken& token = panel.others.emplace_back();
      token.square = {left, top, left + side, top + side};
      const double weight = overlay_.panels[index].others[i];
      const CellColours& own = colours_[index];
      token.colour = own.of(weight);
      if (own.has_place(weight)) {
        token.colour =
            over_grey(token.colour, position_of(weight, own.range, own.norm), own.range.low < 0);
      }
      if (named) {
        token.name = place(*names[i], {left + side + pad, token.square.centre()},
                           {Horizontal::left, Vertical::centre_of_capitals});
      }
      left += width + 2 * pad;
    }
  }

  void add_bar() {
    Box pictures = panels_[0].box;
    for (const OverlayPanel& panel : panels_) pictures = united(pictures, panel.box);
    const double left = pictures.right + figure_.pixels_beside_text(bar_gap);
    const Box box{left, pictures.top, left + figure_.pixels_beside_text(bar_width),
                  pictures.bottom};
    const std::string label = options_.colors.bar_label.value_or(translated(colour_label));
    bar_.emplace(box, figure_.label(label, Axis().label_size, box.height()), scales_[0],
                 figure_.style(), figure_);
    bar_->colours = bar_colours(scales_[0]);
  }

  Box bounds() const {
    Box all = panels_[0].bounds();
    for (const OverlayPanel& panel : panels_) all = united(all, panel.bounds());
    if (!texts_.empty()) all = united(all, bounds_of(texts_));
    return bar_ ? united(all, bar_->bounds()) : all;
  }

  void draw_panel(Canvas& canvas, std::size_t index) {
    const OverlayPanel& panel = panels_[index];
    if (canvas.is_raster()) {
      const auto area = canvas.pixel_area(panel.box);
      const auto shown = canvas.rows_on_band(area, panel.box);
      if (shown.height > 0) {
        const auto first = static_cast<std::size_t>(shown.top - area.top);
        canvas.copy(tinted(index, static_cast<std::size_t>(area.width),
                           static_cast<std::size_t>(area.height))
                        .rows(first, static_cast<std::size_t>(shown.height)),
                    shown, panel.box);
      }
    } else {
      const auto [width, height] = size_in_file();
      canvas.image(tinted(index, width, height).rows(0, height).lines, width, height, panel.box);
    }
    canvas.frame(panel.box, figure_.paper().ink, figure_.pixels(frame_width));
    for (const OtherToken& token : panel.others) {
      canvas.fill(token.square, token.colour);
      canvas.stroke(token.square, figure_.paper().swatch_frame, figure_.pixels(frame_width));
      if (token.name) canvas.text(*token.name, figure_.paper().ink);
    }
    for (const PlacedText& text : panel.texts) canvas.text(text, figure_.paper().ink);
    if (panel.bar) panel.bar->draw(canvas, figure_);
    if (overlay_.query) mark_query(canvas, panel);
  }

  TintedPicture tinted(std::size_t index, std::size_t width, std::size_t height) const {
    return {image_, matrices_[index], overlay_.patch, options_.smooth, colours_[index], width,
            height};
  }

  // The picture's own pixels; more where weights change between the middles of few patches, and
  // fewer where all panels together would make a large file.
  std::pair<std::size_t, std::size_t> size_in_file() const {
    std::size_t height = shape_[1], width = shape_[2];
    if (options_.smooth) {
      const std::size_t times =
          (least_smooth + std::max(height, width) - 1) / std::max(height, width);
      height *= times;
      width *= times;
    }
    const double all = as_real(height) * as_real(width) * as_real(panels_.size());
    if (all <= most_in_file) return {width, height};
    const double share = std::sqrt(most_in_file / all);
    return {std::max<std::size_t>(1, static_cast<std::size_t>(share * as_real(width))),
            std::max<std::size_t>(1, static_cast<std::size_t>(share * as_real(height)))};
  }

  // A dark frame on a light one, which is seen on every colour.
  void mark_query(Canvas& canvas, const OverlayPanel& panel) {
    Box box;
    if (*overlay_.query < overlay_.other_names.size()) {
      if (*overlay_.query >= panel.others.size()) return;
      box = panel.others[*overlay_.query].square;
    } else {
      const std::size_t patch = *overlay_.query - overlay_.other_names.size();
      const std::size_t row = patch / matrices_[0].columns();
      const std::size_t column = patch % matrices_[0].columns();
      const double across = panel.box.width() * as_real(overlay_.patch) / as_real(shape_[2]);
      const double down = panel.box.height() * as_real(overlay_.patch) / as_real(shape_[1]);
      box = {panel.box.left + as_real(column) * across, panel.box.top + as_real(row) * down,
             panel.box.left + as_real(column + 1) * across,
             panel.box.top + as_real(row + 1) * down};
    }
    canvas.stroke(box, white, figure_.pixels(outer_mark));
    canvas.stroke(box, black, figure_.pixels(inner_mark));
  }

  const PictureOverlay& overlay_;
  const OverlayOptions& options_;
  const Shape& shape_;  // [3,H,W]
  Tensor image_;
  std::size_t columns_, rows_;
  Figure figure_;
  std::vector<Matrix> matrices_;
  std::vector<ColourScale> scales_;
  std::vector<CellColours> colours_;
  ValueFormat format_;
  std::string title_;
  std::vector<OverlayPanel> panels_;
  std::vector<PlacedText> texts_;
  std::optional<ColourBar> bar_;
};

}  // namespace
}  // namespace plot::overlay

Picture draw_overlay(const PictureOverlay& overlay, const OverlayOptions& options,
                     PictureFormat format) {
  return plot::overlay::OverlayFigure(overlay, options, format).draw();
}

}  // namespace attn
