#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <utf8proc.h>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/caption.hpp"
#include "plot/cells/cells.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/text/token_labels.hpp"
#include "plot/text/token_spans.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace plot::strip {
namespace {

constexpr std::pair<double, double> default_size = {8, 30};  // inches; the height follows the text
constexpr const char* default_title = to_translate("Attention to Each Token");
constexpr double token_size = 12;                    // points
constexpr double pad_across = 4, pad_down = 4;       // points around a token
constexpr double gap_across = 3, gap_down = 6;       // points between tokens
constexpr double heading_size = 9, heading_gap = 2;  // points
constexpr double title_pad = 12, bar_gap = 14, bar_width = 11, key_gap = 10;  // points
constexpr double least_bar = 60, most_bar = 130;         // points; height of the bar
constexpr double query_frame = 2;                        // points
constexpr double bar_room = 0.16;                        // of the width
constexpr double hatch_width = 0.5, hatch_distance = 5;  // points; of hidden tokens
constexpr double most_height = 0.55;                     // of a figure that tokens fill
constexpr double most_of_title = 1.5, growth_step = 1.1;  // of a title's letters; of these tokens
constexpr std::size_t most_tokens = 2000;
constexpr std::array order = {Part::title, Part::bar};

const Heatmap& checked_weights(const TokenStrip& strip) {
  const std::size_t weights = strip.weights.weights.size();
  if (!strip.tokens.empty() && strip.tokens.size() == weights) return strip.weights;
  throw input_error(
      translated("{1} for {2}", translated_count(weights, "{1} weight", "{1} weights"),
                 translated_count(strip.tokens.size(), "{1} token", "{1} tokens")),
      "", translated("give one weight for each token, and at least one"));
}

std::vector<std::string> shown_tokens(const TokenStrip& strip, const FigureOptions& options) {
  Heatmap named;
  named.key_labels = strip.tokens;
  std::vector<std::string> tokens = shown_labels(named, options).key;
  tokens.resize(std::min(tokens.size(), most_tokens));
  return tokens;
}

// Whether a text is read from the right: its first letter that has a direction says so.
bool begins_from_right(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    if (is_special_token(token)) continue;
    for (std::size_t at = 0; at < token.size();) {
      const Utf8Character letter = first_character(std::string_view(token).substr(at));
      at += std::max<std::size_t>(letter.bytes, 1);
      switch (utf8proc_get_property(static_cast<utf8proc_int32_t>(letter.code))->bidi_class) {
        case UTF8PROC_BIDI_CLASS_L:
          return false;
        case UTF8PROC_BIDI_CLASS_R:
        case UTF8PROC_BIDI_CLASS_AL:
          return true;
        default:
          break;
      }
    }
  }
  return false;
}

// Names of the parts of a text at their first tokens; empty behind a part that no other follows.
using Headings = std::map<std::size_t, std::string>;

Headings headings_of(const TokenStrip& strip, const FigureOptions& options) {
  Headings headings;
  if (!options.brackets || options.style != PlotStyle::standard) return headings;
  const auto spans = strip.spans.empty() ? turns_of(strip.tokens) : strip.spans;
  for (const AxisSpan& span : spans) {
    headings[span.first] = shown_part(span.name);
    headings.emplace(span.end, "");
  }
  return headings;
}

// Tokens one behind the other, in lines as of a text.
struct Tokens {
  std::vector<Box> boxes;
  std::vector<PlacedText> words;  // one a box
  std::vector<PlacedText> names;  // of the parts of the text
  bool whole = true;              // whether no word is shortened

  // `growth`: the factor by which they are larger than usual.
  Tokens(const std::vector<std::string>& tokens, const Headings& headings, double width,
         double growth, Figure& figure) {
    const bool from_right = begins_from_right(tokens);
    Typesetter& typesetter = figure.typesetter();
    const double size = growth * token_size, name_size = growth * heading_size;
    const auto scaled = [&](double points) {
      return growth * figure.pixels(points) * figure.font_scale();
    };
    const double height = typesetter.text("lp", size).height + 2 * scaled(pad_down);
    double left = 0, top = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string& token = tokens[i];
      if (const auto heading = headings.find(i); heading != headings.end()) {
        if (left > 0) top += height + scaled(gap_down);
        left = 0;
        if (!heading->second.empty()) {
          const Text& name =
              typesetter.text(shortened(heading->second, name_size, width, typesetter), name_size);
          names.push_back(place(name, {0, top}, {Horizontal::left, Vertical::top}));
          top += name.height + scaled(heading_gap);
        }
      }
      const std::string fitting = shortened(token, size, width / 2, typesetter);
      whole = whole && fitting == token;
      const Text& text = typesetter.text(fitting, size);
      const double taken = text.width + 2 * scaled(pad_across);
      if (left > 0 && left + taken > width) {
        left = 0;
        top += height + scaled(gap_down);
      }
      boxes.push_back({left, top, left + taken, top + height});
      words.push_back(place(text, {boxes.back().middle(), boxes.back().centre()},
                            {Horizontal::centre, Vertical::centre_of_capitals}));
      left += taken + scaled(gap_across);
    }
    if (from_right) turn_round();
  }

  // Lets each line begin at the right end of the longest.
  void turn_round() {
    const Box all = bounds();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const double aside = all.left + all.right - boxes[i].left - boxes[i].right;
      boxes[i] = boxes[i].moved(aside, 0);
      words[i].origin.x += aside;
      words[i].bounds = words[i].bounds.moved(aside, 0);
    }
    for (PlacedText& name : names) {
      const double aside = all.right - name.bounds.right;
      name.origin.x += aside;
      name.bounds = name.bounds.moved(aside, 0);
    }
  }

  Box bounds() const {
    Box all = boxes[0];
    for (const Box& box : boxes) all = united(all, box);
    for (const PlacedText& name : names) all = united(all, name.bounds);
    return all;
  }
};

// How much larger than usual tokens can be in lines of this width, without those of one line taking
// a second.
double growth_of(const std::vector<std::string>& tokens, const Headings& headings, double width,
                 Figure& figure) {
  constexpr double most_growth = most_of_title * title_size / token_size;
  const auto one_line = [](const Tokens& all) {
    return all.boxes.back().top == all.boxes.front().top;
  };
  const bool fits_line = one_line(Tokens(tokens, headings, width, 1, figure));
  double growth = 1;
  for (double tried = growth_step; tried <= most_growth; tried *= growth_step) {  // NOLINT: a size
    const Tokens larger(tokens, headings, width, tried, figure);
    if (!larger.whole || larger.bounds().height() > most_height * figure.height()) break;
    if (fits_line && !one_line(larger)) break;
    growth = tried;
  }
  return growth;
}

// What the tokens with the largest weights are.
CaptionTexts texts_of(const std::vector<std::string>& tokens, const Matrix& matrix,
                      const ColourMap& map) {
  std::vector<std::size_t> by_weight;
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    if (matrix.shown(0, j) && std::isfinite(matrix.at(0, j))) by_weight.push_back(j);
  }
  std::ranges::stable_sort(
      by_weight, [&](std::size_t a, std::size_t b) { return matrix.at(0, a) > matrix.at(0, b); });
  const std::string count = translated_count(tokens.size(), "{1} token", "{1} tokens");
  std::string most;
  constexpr std::size_t most_named = 3;
  for (std::size_t n = 0; n < std::min(most_named, by_weight.size()); ++n) {
    most += (n == 0 ? "" : ", ") + in_quotes(tokens[by_weight[n]]) + " " +
            short_number(matrix.at(0, by_weight[n]));
  }
  const std::string largest = translated("The largest weights: {1}.", most);
  return {joined_sentences(translated("A text of {1}, tinted by weight.", count), largest),
          joined_sentences(translated("A line of {1}, {2}.", count, look_of(map)), largest)};
}

// The colour bar right of the tokens.
ColourBar bar_beside(const Box& tokens, const std::string& label, const ColourScale& scale,
                     Figure& figure) {
  const double high_enough =
      std::clamp(tokens.height(), figure.pixels(least_bar), figure.pixels(most_bar));
  const double height = std::min(high_enough, 0.7 * figure.height());
  const double left = tokens.right + figure.pixels_beside_text(bar_gap);
  const Box box = {left, tokens.top, left + figure.pixels_beside_text(bar_width),
                   tokens.top + height};
  return {box, figure.label(label, Axis().label_size, height), scale, PlotStyle::standard, figure};
}

// Tokens in the colours of their weights, and a frame around that of the query.
void draw_tokens(Canvas& canvas, const Tokens& tokens, const Matrix& matrix,
                 const CellColours& colours, std::optional<std::size_t> query,
                 const Figure& figure) {
  const auto is_hidden = [&](std::size_t token) {
    return colours.shows_hidden(matrix) && matrix.hidden(0, token);
  };
  const auto colour_of = [&](std::size_t token) {
    if (matrix.missing(0, token)) return colours.paper.missing;
    return is_hidden(token) ? colours.paper.hidden : colours.of(matrix.at(0, token));
  };
  std::vector<Box> hidden;
  for (std::size_t i = 0; i < tokens.boxes.size(); ++i) {
    canvas.fill(tokens.boxes[i], colour_of(i));
    if (is_hidden(i)) hidden.push_back(tokens.boxes[i]);
  }
  canvas.hatch(hidden, colours.paper.hidden_hatch, figure.pixels(hatch_width),
               figure.pixels(hatch_distance));
  if (query && *query < tokens.boxes.size()) {
    canvas.stroke(tokens.boxes[*query], figure.paper().ink, figure.pixels_beside_text(query_frame));
  }
  for (std::size_t i = 0; i < tokens.words.size(); ++i) {
    canvas.text(tokens.words[i], readable_on(colour_of(i)));
  }
  for (const PlacedText& name : tokens.names) canvas.text(name, figure.paper().ink);
}

}  // namespace
}  // namespace plot::strip

Picture draw_strip(const TokenStrip& strip, const StripOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::strip;
  const Matrix matrix(checked_weights(strip), "weights");
  const ColourScale scale =
      scale_of_figure({&matrix, 1}, !strip.weights.any_numbers, options.colors, options.figure);
  Figure figure(options.figure, format, default_size);
  const CellColours colours(scale, options.colors, options.figure,
                            beside(figure.paper(), scale.map));
  const FrameParts* const frames = options.figure.frames;
  std::vector<LegendEntry> key =
      frames != nullptr ? frames->key : colour_key({&matrix, 1}, colours);
  for (LegendEntry& entry : key) {
    if (strip.missing_name.empty() || entry.colour != colours.paper.missing) continue;
    entry.name = strip.missing_name;
    entry.hatches.clear();
  }
  const std::string title = title_of(options.figure, strip.title, default_title);
  const std::vector<std::string> tokens = shown_tokens(strip, options.figure);
  const Headings headings = headings_of(strip, options.figure);
  figure.describe(title, translated("{1}, tinted by weight. ",
                                    translated_count(tokens.size(), "{1} token", "{1} tokens")) +
                             described_colours({&matrix, 1}, scale, key));
  if (options.figure.caption) {
    const auto [caption, alternative] = texts_of(tokens, matrix, scale.map);
    figure.describe(title, alternative);
    figure.add_caption(caption);
  }
  std::string label = options.colors.bar_label.value_or(
      strip.weights.any_numbers ? translated("Value") : translated("Attention weight"));
  const std::string note = norm_note(scale.norm, scale.norm_chosen);
  if (!note.empty()) label += "\n(" + note + ")";

  std::optional<Tokens> text;
  std::optional<ColourBar> bar;
  std::optional<Legend> legend;
  std::vector<PlacedText> title_lines, longest_title;
  const auto bounds = [&] {
    Box all = text->bounds();
    for (const auto* lines : {&title_lines, &longest_title}) {
      if (!lines->empty()) all = united(all, bounds_of(*lines));
    }
    if (bar) all = united(all, bar->bounds());
    return legend ? united(all, legend->bounds()) : all;
  };
  const double growth =
      options.fills ? growth_of(tokens, headings, (1 - bar_room) * figure.width(), figure) : 1;
  figure.fit(order, [&](const Shown& shown) {
    const bool with_bar = options.colors.bar && shown(Part::bar);
    bar.reset();
    legend.reset();
    title_lines.clear();
    longest_title.clear();
    text.emplace(tokens, headings, figure.width() * (with_bar ? 1 - bar_room : 1), growth, figure);
    const Box words = text->bounds();
    if (with_bar) bar.emplace(bar_beside(words, label, scale, figure));
    if (!key.empty()) {
      legend.emplace(key,
                     Point{words.left, words.bottom + figure.pixels(key_gap) * figure.font_scale()},
                     figure);
    }
    if (!title.empty() && shown(Part::title)) {
      const Box around = bounds();
      const auto above = [&](const std::string& of) {
        return placed_lines(figure.title(of, title_size, figure.width()), title_size,
                            {around.middle(), around.top - figure.pixels(title_pad)},
                            {Horizontal::centre, Vertical::bottom}, figure.typesetter());
      };
      title_lines = above(title);
      if (frames != nullptr && !frames->longest_title.empty())
        longest_title = above(title_of(options.figure, frames->longest_title, default_title));
    }
    const Box whole = bounds();
    constexpr double beyond = 1.005;
    return whole.width() <= beyond * figure.width() && whole.height() <= beyond * figure.height();
  });

  Picture picture = figure.picture(bounds(), [&](Canvas& canvas) {
    draw_tokens(canvas, *text, matrix, colours, strip.query, figure);
    for (const PlacedText& line : title_lines) canvas.text(line, figure.paper().ink);
    if (bar) bar->draw(canvas, figure);
    if (legend) legend->draw(canvas, figure);
  });
  if (tokens.size() < strip.tokens.size()) {
    picture.warnings.push_back(
        translated("only the first {1} of {2} are drawn: choose a part of the keys", most_tokens,
                   translated_count(strip.tokens.size(), "{1} token", "{1} tokens")));
  }
  return picture;
}

}  // namespace attn
