#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/legend.hpp"
#include "plot/cells/cells.hpp"
#include "plot/colour_key.hpp"
#include "plot/description.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> default_size = {8, 30};  // the height follows the text
constexpr const char* default_title = to_translate("Attention to Each Token");
constexpr const char* colour_label = to_translate("Attention Weight");
constexpr double token_size = 12;               // points
constexpr double pad_across = 4, pad_down = 4;  // points around a token
constexpr double gap_across = 3, gap_down = 6;  // points between tokens
constexpr double title_pad = 12, bar_gap = 14, bar_width = 11, key_gap = 10;  // points
constexpr double least_bar = 60, most_bar = 130;         // points; height of the bar
constexpr double query_frame = 2;                        // points
constexpr double bar_room = 0.16;                        // of the width
constexpr double hatch_width = 0.5, hatch_distance = 5;  // points; of hidden tokens
constexpr std::size_t most_tokens = 2000;

const Heatmap& checked_weights(const TokenStrip& strip) {
  const std::size_t weights = strip.weights.weights.size();
  if (!strip.tokens.empty() && strip.tokens.size() == weights) return strip.weights;
  throw input_error(
      translated("{1} for {2}", translated_count(weights, "{1} weight", "{1} weights"),
                 translated_count(strip.tokens.size(), "{1} token", "{1} tokens")),
      "", translated("give one weight for each token, and at least one"));
}

class StripFigure {
 public:
  StripFigure(const TokenStrip& strip, const StripOptions& options, PictureFormat format)
      : strip_(strip),
        options_(options),
        matrix_(checked_weights(strip), "weights"),
        scale_(colour_scale({&matrix_, 1}, !strip.weights.any_numbers, options.colors,
                            options.figure)),
        figure_(options.figure, format, default_size),
        colours_{&scale_.map,
                 scale_.range,
                 options.figure.style,
                 options.colors.norm,
                 options.colors.pixels,
                 options.figure.threads,
                 beside(figure_.paper(), scale_.map),
                 {}},
        key_entries_(colour_key({&matrix_, 1}, colours_)),
        title_(options.figure.title.value_or(strip.title.empty() ? translated(default_title)
                                                                 : strip.title)) {
    Heatmap named;
    named.key_labels = strip.tokens;
    tokens_ = shown_labels(named, options.figure).key;
    left_out_ = tokens_.size() > most_tokens;
    tokens_.resize(std::min(tokens_.size(), most_tokens));
    figure_.describe(title_,
                     translated("{1}, tinted by weight. ",
                                translated_count(tokens_.size(), "{1} token", "{1} tokens")) +
                         described_colours({&matrix_, 1}, scale_, key_entries_));
  }

  Picture draw() {
    figure_.fit(bar_gives_way + 1, [&](int given_way) {
      given_way_ = given_way;
      return lay_out();
    });
    Picture picture = figure_.picture(bounds(), [&](Canvas& canvas) { draw_on(canvas); });
    if (left_out_) {
      picture.warnings.push_back(
          translated("only the first {1} of {2} are drawn: choose a part of the keys", most_tokens,
                     translated_count(strip_.tokens.size(), "{1} token", "{1} tokens")));
    }
    return picture;
  }

 private:
  bool has_bar() const { return options_.colors.bar && given_way_ <= bar_gives_way; }

  Colour colour_of(std::size_t token) const {
    const bool hidden = colours_.shows_hidden(matrix_) && matrix_.hidden(0, token);
    return hidden ? colours_.paper.hidden : colours_.of(matrix_.at(0, token));
  }

  void draw_on(Canvas& canvas) const {
    std::vector<Box> hidden;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      canvas.fill(boxes_[i], colour_of(i));
      if (colours_.shows_hidden(matrix_) && matrix_.hidden(0, i)) hidden.push_back(boxes_[i]);
    }
    if (!hidden.empty()) {
      canvas.hatch(hidden, colours_.paper.hidden_hatch, figure_.pixels(hatch_width),
                   figure_.pixels(hatch_distance));
    }
    if (strip_.query && *strip_.query < boxes_.size()) {
      canvas.stroke(boxes_[*strip_.query], figure_.paper().ink,
                    figure_.pixels(query_frame) * std::min(1.0, figure_.font_scale()));
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      canvas.text(words_[i], readable_on(colour_of(i)));
    }
    for (const PlacedText& text : titles_) canvas.text(text, figure_.paper().ink);
    if (has_bar()) {
      draw_colour_ramp(canvas, bar_.box, scale_);
      draw_axes(canvas, bar_, bar_texts_, figure_);
    }
    if (key_) key_->draw(canvas, figure_);
  }

  Box tokens_box() const {
    Box all = boxes_[0];
    for (const Box& box : boxes_) all = united(all, box);
    return all;
  }

  Box bounds() const {
    Box all = tokens_box();
    if (!titles_.empty()) all = united(all, bounds_of(titles_));
    if (has_bar()) {
      all = united(all, united(bar_.box, bar_texts_.bounds));
      const double arrow = arrow_height(bar_.box);
      if (scale_.beyond_high) all.top = std::min(all.top, bar_.box.top - arrow);
      if (scale_.beyond_low) all.bottom = std::max(all.bottom, bar_.box.bottom + arrow);
    }
    return key_ ? united(all, key_->bounds()) : all;
  }

  // Tokens one behind the other, in lines as of a text, and beside them the bar.
  bool lay_out() {
    Typesetter& typesetter = figure_.typesetter();
    const auto scaled = [&](double points) {
      return figure_.pixels(points) * figure_.font_scale();
    };
    const double width = figure_.width() * (has_bar() ? 1 - bar_room : 1);
    const double height = typesetter.text("lp", token_size).height + 2 * scaled(pad_down);
    words_.clear();
    boxes_.clear();
    titles_.clear();
    key_.reset();
    double left = 0, top = 0;
    for (const std::string& token : tokens_) {
      const std::string fitting = shortened(token, token_size, width / 2, typesetter);
      const Text& text = typesetter.text(fitting, token_size);
      const double taken = text.width + 2 * scaled(pad_across);
      if (left > 0 && left + taken > width) {
        left = 0;
        top += height + scaled(gap_down);
      }
      boxes_.push_back({left, top, left + taken, top + height});
      words_.push_back(place(text, {boxes_.back().middle(), boxes_.back().centre()},
                             {Horizontal::centre, Vertical::centre_of_capitals}));
      left += taken + scaled(gap_across);
    }
    const Box text = tokens_box();
    if (has_bar()) add_bar(text);
    if (!key_entries_.empty()) {
      key_.emplace(key_entries_, Point{text.left, text.bottom + scaled(key_gap)}, figure_);
    }
    const Box around = bounds();
    if (!title_.empty() && given_way_ <= title_gives_way) {
      titles_ = placed_lines(figure_.title(title_, title_size, figure_.width()), title_size,
                             {around.middle(), around.top - figure_.pixels(title_pad)},
                             {Horizontal::centre, Vertical::bottom}, typesetter);
    }
    const Box whole = bounds();
    constexpr double beyond = 1.005;
    return whole.width() <= beyond * figure_.width() && whole.height() <= beyond * figure_.height();
  }

  void add_bar(const Box& words) {
    const double high_enough =
        std::clamp(words.height(), figure_.pixels(least_bar), figure_.pixels(most_bar));
    const double height = std::min(high_enough, 0.7 * figure_.height());
    const double shrunk = std::min(1.0, figure_.font_scale());
    const double left = figure_.width() * (1 - bar_room) + figure_.pixels(bar_gap) * shrunk;
    bar_ = {};
    bar_.box = {left, words.top, left + figure_.pixels(bar_width) * shrunk, words.top + height};
    bar_.x.drawn = false;
    bar_.y_on_right = true;
    const std::string label = options_.colors.bar_label.value_or(
        strip_.weights.any_numbers ? translated("Value") : translated(colour_label));
    bar_.y.label = figure_.label(label, bar_.y.label_size, height);
    set_bar_ticks(bar_, scale_.range, figure_, options_.colors.norm);
    bar_texts_ = decorate(bar_, figure_.typesetter());
  }

  const TokenStrip& strip_;
  const StripOptions& options_;
  Matrix matrix_;
  ColourScale scale_;
  Figure figure_;
  CellColours colours_;
  std::vector<LegendEntry> key_entries_;
  std::vector<std::string> tokens_;
  bool left_out_ = false;
  std::string title_;
  std::vector<Box> boxes_;
  std::vector<PlacedText> words_;   // one a token
  std::vector<PlacedText> titles_;  // its lines
  Axes bar_;
  Decorations bar_texts_;
  std::optional<Legend> key_;
  enum { title_gives_way, bar_gives_way };
  int given_way_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_strip(const TokenStrip& strip, const StripOptions& options, PictureFormat format) {
  return plot::StripFigure(strip, options, format).draw();
}

}  // namespace attn
