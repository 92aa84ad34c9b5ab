#include "plot/text/text.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <string_view>

#include <utf8proc.h>

#include "attn/error.hpp"

#include "plot/text/fonts.hpp"
#include "support/printable.hpp"
#include "support/thread_pool.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

namespace attn::plot {
namespace {

constexpr double units_per_pixel = PANGO_SCALE;

// Has Pango start the threads with which it looks for fonts, once on each thread that draws. GLib
// ends the program where the system grants none, so that they are tried before.
void start_font_threads() {
  thread_local bool started = false;
  if (started) return;
  static std::mutex guard;
  const std::lock_guard one_at_a_time(guard);
  // Two for Pango, and one that another part of the program may take in between.
  constexpr std::size_t needed = 3;
  if (!grants_threads(needed)) {
    throw input_error(
        translated("text cannot be drawn: the system grants no more threads, which fonts need"), "",
        translated("raise the limit of threads (ulimit -u, or the container's), or leave out the "
                   "pictures with RunOptions::plots"));
  }
  PangoContext* context = pango_font_map_create_context(pango_cairo_font_map_get_default());
  PangoFontDescription* font = pango_font_description_from_string(usual_family);
  PangoFont* loaded = pango_context_load_font(context, font);
  if (loaded != nullptr) g_object_unref(loaded);
  pango_font_description_free(font);
  g_object_unref(context);
  started = true;
}

PangoContext* new_context() {
  start_font_threads();
  // The default font map belongs to the calling thread.
  PangoContext* context = pango_font_map_create_context(pango_cairo_font_map_get_default());
  pango_context_set_round_glyph_positions(context, FALSE);
  pango_context_set_language(context, pango_language_from_string("en"));
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context, options);
  cairo_font_options_destroy(options);
  return context;
}

Box ink_of(PangoLayoutLine* line, double& width) {
  PangoRectangle ink, logical;
  pango_layout_line_get_extents(line, &ink, &logical);
  width = logical.width / units_per_pixel;
  return {ink.x / units_per_pixel, ink.y / units_per_pixel, (ink.x + ink.width) / units_per_pixel,
          (ink.y + ink.height) / units_per_pixel};
}

// Where the characters that a reader sees begin, combining marks and joined emoji with their base,
// and the end.
std::vector<std::size_t> character_starts(const std::string& line) {
  std::vector<std::size_t> starts;
  utf8proc_int32_t before = -1, state = 0;
  for (std::size_t at = 0; at < line.size();) {
    const Utf8Character character = first_character(std::string_view(line).substr(at));
    const auto letter =
        character.bytes > 0 ? static_cast<utf8proc_int32_t>(character.code) : utf8proc_int32_t{-1};
    if (before < 0 || utf8proc_grapheme_break_stateful(before, letter, &state)) {
      starts.push_back(at);
    }
    before = letter;
    at += std::max<std::size_t>(character.bytes, 1);
  }
  starts.push_back(line.size());
  return starts;
}

constexpr double line_spacing = 1.2;  // of a letter's height

// A turn about the origin, and the boxes of turned texts.
struct Turn {
  double cosine, sine;

  explicit Turn(double degrees) {
    // Right angles are exact, so that level and upright texts get no stray fractions.
    const double quarter = degrees / 90;
    if (quarter == std::floor(quarter)) {
      const int quarters = static_cast<int>(std::fmod(std::fmod(quarter, 4) + 4, 4));
      cosine = quarters == 0 ? 1 : quarters == 2 ? -1 : 0;
      sine = quarters == 1 ? 1 : quarters == 3 ? -1 : 0;
    } else {
      cosine = std::cos(degrees * std::numbers::pi / 180);
      sine = std::sin(degrees * std::numbers::pi / 180);
    }
  }

  Point operator()(Point p) const { return {p.x * cosine + p.y * sine, p.y * cosine - p.x * sine}; }

  Box around(const Box& box) const {
    const Point a = (*this)({box.left, box.top}), b = (*this)({box.right, box.top}),
                c = (*this)({box.left, box.bottom}), d = (*this)({box.right, box.bottom});
    return {std::min({a.x, b.x, c.x, d.x}), std::min({a.y, b.y, c.y, d.y}),
            std::max({a.x, b.x, c.x, d.x}), std::max({a.y, b.y, c.y, d.y})};
  }
};

// The point of `box` that alignment puts on the anchor. `ascent` and `descent` are the level
// text's.
Point aligned_point(const Box& box, const Alignment& alignment, double ascent, double descent) {
  Point point;
  switch (alignment.horizontal) {
    case Horizontal::left:
      point.x = box.left;
      break;
    case Horizontal::centre:
      point.x = box.middle();
      break;
    case Horizontal::right:
      point.x = box.right;
      break;
  }
  switch (alignment.vertical) {
    case Vertical::top:
      point.y = box.top;
      break;
    case Vertical::centre:
      point.y = box.centre();
      break;
    case Vertical::centre_of_capitals:
      point.y = box.top + ascent / 2;
      break;
    case Vertical::baseline:
      point.y = box.bottom - descent;
      break;
    case Vertical::bottom:
      point.y = box.bottom;
      break;
  }
  return point;
}

}  // namespace

Typesetter::Typesetter(double pixels_per_point, Lettering lettering, const std::string& family)
    : pixels_per_point_(pixels_per_point), family_(family), lettering_(lettering) {
  if (family != usual_family && !is_installed(family)) {
    const std::string instead = installed_instead(family);
    throw Error(ErrorKind::usage, translated("there is no font \"{1}\" on this machine", family),
                "FigureOptions::font",
                translated("give a family that fc-list : family lists, such as {1}",
                           instead.empty() ? std::string(usual_family) : instead));
  }
  if (lettering != Lettering::outlines) hinted_font_ = std::make_unique<HintedFont>(family.c_str());
  // Letters that it lacks look as everywhere else.
  if (family != usual_family) family_ += std::string(",") + usual_family;
}

const Text& Typesetter::text(const std::string& string, double points) {
  check_time();
  const auto [entry, is_new] = texts_.try_emplace({string, points * font_scale_});
  Text& text = entry->second;
  if (!is_new) return text;
  text.string = entry->first.first;

  const std::string line = printable(string);
  if (hinted_font_ == nullptr || !set_hinted(text, line, points * font_scale_)) {
    set_layout(text, line, points * font_scale_);
  }
  text.height = text.ink.height();
  text.descent = text.ink.bottom;
  if (string != "lp") {
    const Text& lp = this->text("lp", points);
    text.height = std::max(text.height, lp.height);
    text.descent = std::max(text.descent, lp.descent);
  }
  return text;
}

bool Typesetter::set_hinted(Text& text, const std::string& line, double points) {
  // The resolution is whole but for rounding.
  const double dpi = std::floor(pixels_per_point_ * points_per_inch + 1e-6);
  text.hinted = hinted_font_->line(line, points, dpi, lettering_ == Lettering::hinted);
  if (!text.hinted) return false;
  text.width = text.hinted->width;
  text.ink = {text.hinted->left, -text.hinted->ascent, text.hinted->right, text.hinted->descent};
  return true;
}

void Typesetter::set_layout(Text& text, const std::string& line, double points) {
  if (context_ == nullptr) context_.reset(new_context());
  text.layout.reset(pango_layout_new(context_.get()));
  PangoFontDescription* font = pango_font_description_new();
  pango_font_description_set_family(font, (family_ + families_of_scripts(line)).c_str());
  if (bold_) pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
  pango_font_description_set_absolute_size(font, pixels(points) * units_per_pixel);
  pango_layout_set_font_description(text.layout.get(), font);
  pango_font_description_free(font);
  pango_layout_set_single_paragraph_mode(text.layout.get(), TRUE);
  pango_layout_set_text(text.layout.get(), line.data(), static_cast<int>(line.size()));
  if (pango_layout_get_unknown_glyphs_count(text.layout.get()) > 0) {
    note_missing_letters(text.layout.get());
  }
  text.ink = ink_of(pango_layout_get_line_readonly(text.layout.get(), 0), text.width);
}

void Typesetter::note_missing_letters(PangoLayout* layout) {
  for (GSList* run = pango_layout_get_line_readonly(layout, 0)->runs; run != nullptr;
       run = run->next) {
    const PangoGlyphString* glyphs = static_cast<PangoLayoutRun*>(run->data)->glyphs;
    for (int i = 0; i < glyphs->num_glyphs; ++i) {
      const PangoGlyph glyph = glyphs->glyphs[i].glyph;
      if ((glyph & PANGO_GLYPH_UNKNOWN_FLAG) == 0) continue;
      const ScriptFonts fonts = fonts_for(glyph & ~PANGO_GLYPH_UNKNOWN_FLAG);
      missing_scripts_.emplace(fonts.script, fonts.packages);
    }
  }
}

std::vector<std::string> Typesetter::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [script, packages] : missing_scripts_) {
    warnings.push_back(
        translated("no installed font has some letters of the script {1}: they are drawn as boxes; "
                   "install a font for it, on Debian the package {2}",
                   script, packages));
  }
  return warnings;
}

std::size_t whole_characters(std::string_view string, std::size_t most) {
  std::size_t count = std::min(most, string.size());
  const auto continues = [&](std::size_t at) {
    return at < string.size() && (static_cast<unsigned char>(string[at]) & 0xC0U) == 0x80U;
  };
  while (count > 0 && continues(count)) --count;
  return count;
}

std::string shortened(const std::string& string, double points, double width,
                      Typesetter& typesetter) {
  // Beyond some length Pango's own widths overflow; no figure has room for so much.
  constexpr std::size_t most_bytes = 8192;
  if (string.size() > most_bytes) {
    const std::string_view all = string;
    const std::string start(all.substr(0, whole_characters(all, most_bytes / 4)));
    const std::size_t end = whole_characters(all, all.size() - most_bytes / 4);
    return shortened(start + "\u2026" + string.substr(end), points, width, typesetter);
  }
  const Text& whole = typesetter.text(string, points);
  if (whole.width <= width) return string;
  const std::string line = printable(string);
  const std::vector<std::size_t> starts = character_starts(line);
  const std::size_t letters = starts.size() - 1;
  const auto keeping = [&](std::size_t count) {
    return line.substr(0, starts[(count + 1) / 2]) + "\u2026" +
           line.substr(starts[letters - count / 2]);
  };
  // Widths grow with the letters kept, near enough for a search by halves.
  std::size_t fits = 1, too_many = letters;
  while (too_many - fits > 1) {
    const std::size_t middle = (fits + too_many) / 2;
    (typesetter.text(keeping(middle), points).width <= width ? fits : too_many) = middle;
  }
  return keeping(fits);
}

PlacedText place(const Text& text, Point anchor, const Alignment& alignment) {
  return place_lines({&text}, text, anchor, alignment).front();
}

// The rules are those of matplotlib 3.6 (Text._get_layout).
std::vector<PlacedText> place_lines(const std::vector<const Text*>& lines, const Text& lp,
                                    Point anchor, const Alignment& alignment) {
  const auto ascent_of = [](const Text& line) { return line.height - line.descent; };
  // Baselines relative to the last one, and the level block around them.
  std::vector<double> baselines(lines.size());
  double width = lines.back()->width;
  for (std::size_t i = lines.size() - 1; i > 0; --i) {
    const double rise = line_spacing * std::max(ascent_of(lp), ascent_of(*lines[i]));
    baselines[i - 1] = baselines[i] - rise - lines[i - 1]->descent;
    width = std::max(width, lines[i - 1]->width);
  }
  const double descent = lines.back()->descent;
  const double ascent = ascent_of(*lines.front());
  const Box level = {0, baselines.front() - ascent, width, descent};

  const Turn turn(alignment.degrees);
  const Point from = alignment.turned_about_anchor
                         ? turn(aligned_point(level, alignment, ascent, descent))
                         : aligned_point(turn.around(level), alignment, ascent, descent);
  std::vector<PlacedText> placed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i];
    const Point start = turn({(width - line.width) / 2, baselines[i]});
    const Point origin = {anchor.x - from.x + start.x, anchor.y - from.y + start.y};
    const Box around = turn.around({0, -ascent_of(line), line.width, line.descent});
    placed.push_back({&line, origin, alignment.degrees, around.moved(origin.x, origin.y)});
  }
  return placed;
}

std::vector<std::string> lines_of(const std::string& string) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end; (end = string.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(string.substr(start, end - start));
  }
  lines.push_back(string.substr(start));
  return lines;
}

std::string wrapped(const std::string& string, double points, double width,
                    Typesetter& typesetter) {
  std::string result;
  const auto lines = lines_of(string);
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    std::string shown;
    std::size_t start = 0;
    while (start <= line.size()) {
      const std::size_t end = std::min(line.find(' ', start), line.size());
      const std::string word = line.substr(start, end - start);
      std::string longer = shown;
      if (start > 0) longer += ' ';
      longer += word;
      if (start > 0 && typesetter.text(longer, points).width > width) {
        result += shown + '\n';
        shown = word;
      } else {
        shown = longer;
      }
      start = end + 1;
    }
    result += shown;
  }
  return result;
}

}  // namespace attn::plot
