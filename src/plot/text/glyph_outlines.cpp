#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "plot/text/fonts.hpp"

namespace attn::plot {
namespace {

constexpr double path_units = 256;        // in a pixel, of Cairo's paths
constexpr long units_of_freetype = 4;     // of Cairo's in one of FreeType's 1/64 pixel
constexpr FT_Fixed one_in_16_16 = 65536;  // of FreeType's matrices
constexpr double units_of_a_pixel = 64;   // of FreeType's sizes

// The place that is two thirds of the way from an end of a quadratic curve to its control point,
// cut off towards 0: a control point of the same curve as a cubic one.
long raised(long end, long control) {
  return (end + 2 * control) / 3;
}

// The font's size and turn as Cairo asks FreeType for them: the sizes along both axes, at least 1,
// and in the matrix what they leave.
bool set_scale(FT_Face face, cairo_scaled_font_t* font) {
  cairo_matrix_t scale;
  cairo_scaled_font_get_scale_matrix(font, &scale);
  const double across = std::sqrt(scale.xx * scale.xx + scale.yx * scale.yx);
  if (across == 0) return false;
  const double down = std::abs(scale.xx * scale.yy - scale.yx * scale.xy) / across;
  const double x_scale = std::max(across, 1.0), y_scale = std::max(down, 1.0);
  const auto fixed = [](double x) { return static_cast<FT_Fixed>(x * one_in_16_16); };
  FT_Matrix turn = {fixed(scale.xx / x_scale), -fixed(scale.xy / y_scale),
                    -fixed(scale.yx / x_scale), fixed(scale.yy / y_scale)};
  FT_Set_Transform(face, &turn, nullptr);
  const auto units = [](double size) {
    return static_cast<FT_F26Dot6>(std::lround(size * units_of_a_pixel));
  };
  return FT_Set_Char_Size(face, units(x_scale), units(y_scale), 0, 0) == 0;
}

struct PathPoint {
  long x = 0, y = 0;

  bool operator==(const PathPoint&) const = default;
};

PathPoint middle(PathPoint a, PathPoint b) {
  return {a.x + ((b.x - a.x) >> 1), a.y + ((b.y - a.y) >> 1)};
}

// Appends to `points` the lines that stand for a cubic curve, without its start, as Cairo 1.16 and
// 1.18 find them: a curve whose control points are nearer than the tolerance to the line between
// its ends is that line, another one is halved (de Casteljau).
class CurveLines {
 public:
  explicit CurveLines(std::vector<PathPoint>& points) : points_(points) {}

  using Knots = std::array<PathPoint, 4>;

  void add(const Knots& knots) {
    const auto& [from, first, second, to] = knots;
    if (second != to || (from != first && first != to)) {
      last_ = from;
      halve(knots);
    }
    points_.push_back(to);
  }

 private:
  static constexpr double tolerance = 0.1;  // pixels

  // Squared distance to the line between the ends, in pixels.
  static double distance_squared(PathPoint point, const Knots& knots) {
    const auto pixels = [&](PathPoint to) {
      return std::pair(static_cast<double>(to.x - knots.front().x) / path_units,
                       static_cast<double>(to.y - knots.front().y) / path_units);
    };
    auto [x, y] = pixels(point);
    const auto [line_x, line_y] = pixels(knots.back());
    const double along = x * line_x + y * line_y;
    const double length_squared = line_x * line_x + line_y * line_y;
    // Beside the line it is the distance to the nearer end.
    if (along > 0) {
      const double part = along >= length_squared ? 1 : along / length_squared;
      x -= part * line_x;
      y -= part * line_y;
    }
    return x * x + y * y;
  }

  void halve(const Knots& knots) {
    const auto& [from, first, second, to] = knots;
    if (std::max(distance_squared(first, knots), distance_squared(second, knots)) <
        tolerance * tolerance) {
      if (from != last_) points_.push_back(from);
      last_ = from;
      return;
    }
    const PathPoint a = middle(from, first), b = middle(first, second), c = middle(second, to);
    const PathPoint left = middle(a, b), right = middle(b, c), half = middle(left, right);
    halve({from, a, left, half});
    halve({half, right, c, to});
  }

  std::vector<PathPoint>& points_;
  PathPoint last_;
};

bool has_plain_outlines(cairo_scaled_font_t* font) {
  cairo_font_face_t* const face = cairo_scaled_font_get_font_face(font);
  return cairo_scaled_font_status(font) == CAIRO_STATUS_SUCCESS &&
         cairo_scaled_font_get_type(font) == CAIRO_FONT_TYPE_FT &&
         cairo_ft_font_face_get_synthesize(face) == 0;
}

}  // namespace

// Callbacks of FreeType's walk over an outline.
struct GlyphOutlines::Contours {
  Outline outline;
  long x = 0, y = 0;

  static Contours& of(void* contours) { return *static_cast<Contours*>(contours); }

  void add(Segment::Kind kind, std::array<long, 6> points, const FT_Vector& to) {
    outline.push_back({kind, points});
    x = to.x * units_of_freetype;
    y = to.y * units_of_freetype;
  }

  static int move(const FT_Vector* to, void* contours) {
    Contours& all = of(contours);
    if (!all.outline.empty()) all.outline.push_back({Segment::Kind::close});
    all.add(Segment::Kind::move, {to->x * units_of_freetype, to->y * units_of_freetype}, *to);
    return 0;
  }
  static int line(const FT_Vector* to, void* contours) {
    of(contours).add(Segment::Kind::line, {to->x * units_of_freetype, to->y * units_of_freetype},
                     *to);
    return 0;
  }
  static int conic(const FT_Vector* control, const FT_Vector* to, void* contours) {
    Contours& all = of(contours);
    const long x = control->x * units_of_freetype, y = control->y * units_of_freetype;
    const long to_x = to->x * units_of_freetype, to_y = to->y * units_of_freetype;
    all.add(Segment::Kind::curve,
            {raised(all.x, x), raised(all.y, y), raised(to_x, x), raised(to_y, y), to_x, to_y},
            *to);
    return 0;
  }
  static int cubic(const FT_Vector* first, const FT_Vector* second, const FT_Vector* to,
                   void* contours) {
    of(contours).add(
        Segment::Kind::curve,
        {first->x * units_of_freetype, first->y * units_of_freetype, second->x * units_of_freetype,
         second->y * units_of_freetype, to->x * units_of_freetype, to->y * units_of_freetype},
        *to);
    return 0;
  }
};

GlyphOutlines::Outline GlyphOutlines::straightened(const Outline& outline) {
  Outline lines;
  PathPoint at;
  std::vector<PathPoint> points;
  for (const Segment& segment : outline) {
    const auto& [x, y, second_x, second_y, to_x, to_y] = segment.points;
    switch (segment.kind) {
      case Segment::Kind::curve:
        points.clear();
        CurveLines(points).add({{at, {x, y}, {second_x, second_y}, {to_x, to_y}}});
        for (const PathPoint& point : points) {
          lines.push_back({Segment::Kind::line, {point.x, point.y}});
        }
        at = {to_x, to_y};
        break;
      case Segment::Kind::move:
      case Segment::Kind::line:
        lines.push_back(segment);
        at = {x, y};
        break;
      case Segment::Kind::close:
        lines.push_back(segment);
        break;
    }
  }
  return lines;
}

GlyphOutlines::~GlyphOutlines() {
  for (const auto& [file, face] : faces_) {
    if (face != nullptr) FT_Done_Face(face);
  }
  if (library_ != nullptr) FT_Done_FreeType(library_);
}

// Null if the font is no file of its own, or one of several instances in it.
FT_Face GlyphOutlines::face_of(PangoFont* font) {
  if (!PANGO_IS_FC_FONT(font)) return nullptr;
  FcPattern* const pattern = pango_fc_font_get_pattern(PANGO_FC_FONT(font));
  FcChar8* path = nullptr;
  int index = 0;
  FcBool variable = FcFalse;
  if (FcPatternGetString(pattern, FC_FILE, 0, &path) != FcResultMatch) return nullptr;
  FcPatternGetInteger(pattern, FC_INDEX, 0, &index);
  FcPatternGetBool(pattern, FC_VARIABLE, 0, &variable);
  constexpr int first_instance = 1 << 16;
  if (variable != FcFalse || index >= first_instance) return nullptr;
  const auto [at, is_new] =
      faces_.try_emplace({reinterpret_cast<const char*>(path), index}, nullptr);
  if (is_new && (library_ != nullptr || FT_Init_FreeType(&library_) == 0) &&
      FT_New_Face(library_, at->first.first.c_str(), index, &at->second) != 0) {
    at->second = nullptr;
  }
  return at->second;
}

const std::optional<GlyphOutlines::Outline>& GlyphOutlines::outline(PangoFont* font,
                                                                    cairo_scaled_font_t* scaled,
                                                                    PangoGlyph glyph) {
  const auto [at, is_new] = outlines_.try_emplace({scaled, glyph});
  if (!is_new) return at->second;
  const FT_Face face = face_of(font);
  constexpr FT_Int32 flags =
      FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP | FT_LOAD_IGNORE_GLOBAL_ADVANCE_WIDTH;
  if (face == nullptr || !set_scale(face, scaled) || FT_Load_Glyph(face, glyph, flags) != 0 ||
      face->glyph->format != FT_GLYPH_FORMAT_OUTLINE) {
    return at->second;
  }
  FT_Outline& loaded = face->glyph->outline;
  constexpr FT_Matrix downwards = {one_in_16_16, 0, 0, -one_in_16_16};
  FT_Outline_Transform(&loaded, &downwards);
  constexpr FT_Outline_Funcs calls = {
      Contours::move, Contours::line, Contours::conic, Contours::cubic, 0, 0};
  Contours contours;
  if (FT_Outline_Decompose(&loaded, &calls, &contours) != 0) return at->second;
  if (!contours.outline.empty()) contours.outline.push_back({Segment::Kind::close});
  at->second =
      curves_ == Curves::straight ? straightened(contours.outline) : std::move(contours.outline);
  return at->second;
}

bool GlyphOutlines::add(cairo_t* cairo, PangoFont* font, const PangoGlyphString& glyphs) {
  if (!PANGO_IS_CAIRO_FONT(font)) return false;
  // Cairo's own for the turn that is set.
  cairo_set_scaled_font(cairo, pango_cairo_font_get_scaled_font(PANGO_CAIRO_FONT(font)));
  cairo_scaled_font_t* const scaled = cairo_get_scaled_font(cairo);
  if (!has_plain_outlines(scaled)) return false;
  if (std::none_of(fonts_.begin(), fonts_.end(),
                   [&](const auto& kept) { return kept.get() == scaled; })) {
    fonts_.emplace_back(cairo_scaled_font_reference(scaled));
  }
  const auto* const end = glyphs.glyphs + glyphs.num_glyphs;
  for (const PangoGlyphInfo* info = glyphs.glyphs; info != end; ++info) {
    if (info->glyph == PANGO_GLYPH_EMPTY) continue;
    if ((info->glyph & PANGO_GLYPH_UNKNOWN_FLAG) != 0 || !outline(font, scaled, info->glyph)) {
      return false;
    }
  }

  double base_x = 0, base_y = 0;
  cairo_get_current_point(cairo, &base_x, &base_y);
  cairo_matrix_t turn;
  cairo_get_matrix(cairo, &turn);
  cairo_identity_matrix(cairo);
  int advanced = 0;
  for (const PangoGlyphInfo* info = glyphs.glyphs; info != end; ++info) {
    const int from = std::exchange(advanced, advanced + info->geometry.width);
    if (info->glyph == PANGO_GLYPH_EMPTY) continue;
    double x = base_x + (from + info->geometry.x_offset) / double{PANGO_SCALE};
    double y = base_y + info->geometry.y_offset / double{PANGO_SCALE};
    cairo_matrix_transform_point(&turn, &x, &y);
    x = std::nearbyint(x * path_units);
    y = std::nearbyint(y * path_units);
    const auto place = [&](const Segment& segment, std::size_t point) {
      return std::pair((x + static_cast<double>(segment.points[2 * point])) / path_units,
                       (y + static_cast<double>(segment.points[2 * point + 1])) / path_units);
    };
    for (const Segment& segment : *outline(font, scaled, info->glyph)) {
      const auto [first_x, first_y] = place(segment, 0);
      switch (segment.kind) {
        case Segment::Kind::move:
          cairo_move_to(cairo, first_x, first_y);
          break;
        case Segment::Kind::line:
          cairo_line_to(cairo, first_x, first_y);
          break;
        case Segment::Kind::curve: {
          const auto [second_x, second_y] = place(segment, 1);
          const auto [to_x, to_y] = place(segment, 2);
          cairo_curve_to(cairo, first_x, first_y, second_x, second_y, to_x, to_y);
          break;
        }
        case Segment::Kind::close:
          cairo_close_path(cairo);
          break;
      }
    }
  }
  cairo_set_matrix(cairo, &turn);
  return true;
}

}  // namespace attn::plot
