#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <pango/pangocairo.h>

#include "plot/text/fonts.hpp"

using attn::plot::Curves;
using attn::plot::GlyphOutlines;

namespace {

template <auto release>
struct Release {
  void operator()(auto* object) const { release(object); }
};

struct PathPoint {
  int kind;
  double x, y;  ///< pixels; 0 of what has no place
};

// A drawing of one line, level or turned.
class Drawing {
 public:
  Drawing(const char* text, double degrees) {
    cairo_translate(cairo_.get(), 72.3, 61.7);
    cairo_rotate(cairo_.get(), degrees * std::numbers::pi / 180);
    PangoFontMap* const fonts = pango_cairo_font_map_get_default();
    const std::unique_ptr<PangoContext, Release<g_object_unref>> context(
        pango_font_map_create_context(fonts));
    const std::unique_ptr<cairo_font_options_t, Release<cairo_font_options_destroy>> options(
        cairo_font_options_create());
    cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(context.get(), options.get());
    pango_cairo_context_set_resolution(context.get(), 150);
    layout_.reset(pango_layout_new(context.get()));
    const std::unique_ptr<PangoFontDescription, Release<pango_font_description_free>> font(
        pango_font_description_from_string("DejaVu Sans 13"));
    pango_layout_set_font_description(layout_.get(), font.get());
    pango_layout_set_text(layout_.get(), text, -1);
  }

  cairo_t* cairo() const { return cairo_.get(); }

  // Calls add(font, glyphs) where each run of the line begins.
  template <class Add>
  void each_run(const Add& add) const {
    const PangoLayoutLine* line = pango_layout_get_line_readonly(layout_.get(), 0);
    double x = 0;
    for (GSList* item = line->runs; item != nullptr; item = item->next) {
      const auto* run = static_cast<const PangoLayoutRun*>(item->data);
      cairo_move_to(cairo(), x, 0);
      add(run->item->analysis.font, run->glyphs);
      x += pango_glyph_string_get_width(run->glyphs) / double{PANGO_SCALE};
    }
  }

  // In device pixels, without a last move that nothing follows.
  std::vector<PathPoint> path() const { return points_of(cairo_copy_path); }

  // Outlines with the lines by which Cairo would fill curves.
  std::vector<PathPoint> flat_path() const { return points_of(cairo_copy_path_flat); }

  // A path without curves, in device pixels.
  void draw(const std::vector<PathPoint>& points) const {
    cairo_identity_matrix(cairo());
    for (const PathPoint& point : points) {
      if (point.kind == CAIRO_PATH_MOVE_TO) cairo_move_to(cairo(), point.x, point.y);
      if (point.kind == CAIRO_PATH_LINE_TO) cairo_line_to(cairo(), point.x, point.y);
      if (point.kind == CAIRO_PATH_CLOSE_PATH) cairo_close_path(cairo());
    }
  }

 private:
  std::vector<PathPoint> points_of(cairo_path_t* (*copy)(cairo_t*)) const {
    cairo_identity_matrix(cairo());
    const std::unique_ptr<cairo_path_t, Release<cairo_path_destroy>> path(copy(cairo()));
    std::vector<PathPoint> points;
    for (int i = 0; i < path->num_data; i += path->data[i].header.length) {
      const int kind = path->data[i].header.type;
      if (path->data[i].header.length == 1) points.push_back({kind, 0, 0});
      for (int k = 1; k < path->data[i].header.length; ++k) {
        points.push_back({kind, path->data[i + k].point.x, path->data[i + k].point.y});
      }
    }
    while (!points.empty() && points.back().kind == CAIRO_PATH_MOVE_TO) points.pop_back();
    return points;
  }

  std::unique_ptr<cairo_surface_t, Release<cairo_surface_destroy>> surface_{
      cairo_image_surface_create(CAIRO_FORMAT_A8, 1200, 1200)};
  std::unique_ptr<cairo_t, Release<cairo_destroy>> cairo_{cairo_create(surface_.get())};
  std::unique_ptr<PangoLayout, Release<g_object_unref>> layout_;
};

}  // namespace

TEST_CASE("outlines of letters are those that Cairo makes without fused multiply-adds") {
  for (const char* text : {"Attention weights of head 3: didn't cross the street, 0.0123456789",
                           "QKV & [SEP] @ ß ﬁ – ∑ ₁ é", "注意力权重 head 头"}) {
    for (const double degrees : {0.0, 90.0, 37.0}) {
      CAPTURE(std::string(text));
      CAPTURE(degrees);
      const Drawing own(text, degrees), others(text, degrees);
      GlyphOutlines outlines(Curves::kept);
      own.each_run([&](PangoFont* font, PangoGlyphString* glyphs) {
        REQUIRE(outlines.add(own.cairo(), font, *glyphs));
      });
      others.each_run([&](PangoFont* font, PangoGlyphString* glyphs) {
        pango_cairo_glyph_string_path(others.cairo(), font, glyphs);
      });
      const std::vector<PathPoint> found = own.path(), wanted = others.path();
      REQUIRE(found.size() == wanted.size());
      REQUIRE(found.size() > 100);
#if defined(__x86_64__)
      constexpr double difference = 0;
#else
      constexpr double difference = 1.0 / 256;  // of a point that Cairo cuts off the other way
#endif
      for (std::size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i].kind == wanted[i].kind);
        REQUIRE(std::abs(found[i].x - wanted[i].x) <= difference);
        REQUIRE(std::abs(found[i].y - wanted[i].y) <= difference);
      }
    }
  }
}

#if defined(__x86_64__)
// Elsewhere Cairo may halve a curve once more or less, where it is as near to a line as allowed.
TEST_CASE("curves of letters become the lines by which Cairo fills them") {
  for (const char* text : {"Attention weights of head 3: didn't cross the street, 0.0123456789",
                           "QKV & [SEP] @ ß ﬁ – ∑ ₁ é", "注意力权重 head 头"}) {
    for (const double degrees : {0.0, 90.0, 37.0}) {
      CAPTURE(std::string(text));
      CAPTURE(degrees);
      const Drawing straight(text, degrees), curved(text, degrees);
      GlyphOutlines lines(Curves::straight), curves(Curves::kept);
      straight.each_run([&](PangoFont* font, PangoGlyphString* glyphs) {
        REQUIRE(lines.add(straight.cairo(), font, *glyphs));
      });
      curved.each_run([&](PangoFont* font, PangoGlyphString* glyphs) {
        REQUIRE(curves.add(curved.cairo(), font, *glyphs));
      });
      // Once more, as Cairo joins lines that go on straight.
      const Drawing again(text, degrees);
      again.draw(curved.flat_path());
      const std::vector<PathPoint> found = straight.path(), wanted = again.path();
      REQUIRE(found.size() == wanted.size());
      CHECK(found.size() > curved.path().size() / 2);
      for (std::size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i].kind == wanted[i].kind);
        REQUIRE(found[i].x == wanted[i].x);
        REQUIRE(found[i].y == wanted[i].y);
      }
    }
  }
}
#endif

TEST_CASE("letters that no font has are left to Pango, and nothing of their line is added") {
  const Drawing drawing("ab\U0010FFFDcd", 0);
  GlyphOutlines outlines(Curves::kept);
  int refused = 0;
  drawing.each_run([&](PangoFont* font, PangoGlyphString* glyphs) {
    const std::size_t before = drawing.path().size();
    bool unknown = false;
    for (int i = 0; i < glyphs->num_glyphs; ++i) {
      unknown |= (glyphs->glyphs[i].glyph & PANGO_GLYPH_UNKNOWN_FLAG) != 0;
    }
    CHECK((font != nullptr && outlines.add(drawing.cairo(), font, *glyphs)) == !unknown);
    if (!unknown) return;
    CHECK(drawing.path().size() == before);
    ++refused;
  });
  CHECK(refused == 1);
}
