#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/canvas/picture_files.hpp"
#include "plot/colour/colour.hpp"
#include "plot/libraries/drawing_libraries.hpp"
#include "plot/text/fonts.hpp"
#include "plot/text/text.hpp"
#include "support/memory.hpp"

namespace attn::plot {

/// A turn to draw, with the memory that GLib, Pango and Fontconfig need for it. These libraries end
/// the program where memory runs out, so that it is checked before. Where the system limits the
/// memory of the program, one figure is drawn at a time, while its turn lives.
class DrawingRoom {
 public:
  /// Throws std::bad_alloc if fonts and glyphs might not find their memory.
  DrawingRoom();

  /// Throws std::bad_alloc if these bytes and those of a figure's fonts cannot be had now.
  static void check(std::size_t bytes);

 private:
  std::unique_lock<std::recursive_mutex> turn_;
};

/// Pixels, 0xXXRRGGBB each.
using Pixels = std::vector<std::uint32_t, BlockAllocator<std::uint32_t>>;

/// Rows of pixels, of which many may be alike. Row y is line line_of_row[y] of `lines`.
struct PixelRows {
  Pixels lines;
  std::vector<std::size_t> line_of_row;
};

/// A picture on its way to a file: a raster or vectors. Places are pixels of the figure (points in
/// vector formats); only the part of it inside the crop is kept. On a raster, edges and lines move
/// to whole pixels, so that they are sharp and equally thick. A large raster is drawn in bands,
/// from top to bottom, so that only one or two are in memory, near the processor.
class Canvas {
 public:
  /// A picture of `width` × `height` pixels from the crop's lower left corner on. `whole`: not in
  /// bands, so that all is drawn once. Throws Error(usage) if it would be too large.
  Canvas(PictureFormat format, Point lower_left, double width, double height, double dpi,
         const Paper& paper, Letters letters, bool whole = false);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  /// Pixels per point of a figure's layout: dpi / 72 for rasters, 1 for vector formats, whose
  /// pixels are points.
  static double pixels_per_point(PictureFormat format, double dpi);

  bool is_raster() const { return format_ == PictureFormat::png; }

  /// Puts the figure's origin at a place of the canvas, for what is drawn from now on.
  void move(Point origin) {
    dx_ = origin.x;
    dy_ = text_dy_ = origin.y;
  }

  /// Calls `draw_all` once for each band. While it draws on one, another of `threads` threads
  /// encodes the one before; 0 = as many as the machine has.
  void draw(const std::function<void(Canvas&)>& draw_all, std::size_t threads);

  void fill(const Box& box, Colour colour);
  void stroke(const Box& box, Colour colour, double line_width);
  /// Strokes a box and adds it to frames().
  void frame(const Box& box, Colour colour, double line_width);
  void dot(Point middle, double radius, Colour colour);
  void triangle(Point a, Point b, Point c, Colour colour);
  /// A level or upright line from `from` to `from` + (`dx`, `dy`); `dx` or `dy` is 0.
  struct Tick {
    Point from;
    double dx = 0, dy = 0;
  };
  void ticks(const std::vector<Tick>& ticks, Colour colour, double line_width);
  void tick(Point from, double dx, double dy, Colour colour, double line_width) {
    ticks({{from, dx, dy}}, colour, line_width);
  }
  /// Directions of the strokes that fill boxes; dotted ones are rows of dots.
  enum class Hatch { rising, falling, upright, level, crossed, squared, dotted };
  /// Draws strokes of `line_width` pixels, `distance` pixels apart, over all boxes.
  void hatch(const std::vector<Box>& boxes, Colour colour, double line_width, double distance,
             Hatch hatch = Hatch::rising);
  /// Look of a line: opacity from 0 to 1, width in pixels, and dashes, lengths in pixels that are
  /// drawn and left out by turns; none = a whole line.
  struct Stroke {
    Colour colour;
    double opacity = 1, width = 1;
    std::span<const double> dashes = {};
  };
  void line(Point from, Point to, const Stroke& stroke);
  /// Draws straight lines from point to point.
  void curve(std::span<const Point> points, const Stroke& stroke);
  /// Fills what straight lines from point to point surround.
  void area(std::span<const Point> points, Colour colour, double opacity);
  void text(const PlacedText& text, Colour colour);

  /// The whole pixels of a raster that an image spread over a box covers.
  struct PixelArea {
    int left = 0, top = 0, width = 0, height = 0;
  };
  PixelArea pixel_area(const Box& box) const;

  /// The box on the canvas, on a raster with its edges moved to whole pixels.
  Box snapped(const Box& box) const;

  /// The rows of an area that lie on the band and, by their height, in `clip`.
  PixelArea rows_on_band(const PixelArea& area, const Box& clip) const;

  /// Copies rows of `area.width` pixels, 0xRRGGBB, onto an area of a raster, those inside `clip`.
  void copy(const PixelRows& rows, const PixelArea& area, const Box& clip);

  /// Spreads `width` × `height` pixels, 0xRRGGBB, over a box of a vector format, under all that is
  /// drawn but the paper.
  void image(Pixels pixels, std::size_t width, std::size_t height, const Box& box);

  /// The finished file. Nothing can be drawn after it.
  std::string finish(const FileText& words = {});

  /// Lines of text and frames drawn so far, at their places on the canvas.
  std::vector<PictureText> texts() const { return texts_; }
  std::vector<PictureFrame> frames() const { return frames_; }

 private:
  Point moved(Point p) const { return {p.x + dx_, p.y + dy_}; }
  /// The whole pixel edge nearest to a place.
  static double edge(double place);
  /// The middle of a line that fills whole pixels, be its width odd or even.
  static double line_middle(double place, double line_width);
  void set_colour(Colour colour);
  struct Release {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  };
  /// A surface of Cairo: a band of a raster or a whole vector file.
  struct Sheet {
    std::uint32_t* pixels = nullptr;  ///< null for vectors
    std::unique_ptr<cairo_surface_t, Release> surface;
    std::unique_ptr<cairo_t, Release> cairo;
  };
  /// The first (0) or the second (1) raster; bands are drawn on them by turns.
  Sheet raster_sheet(std::size_t number) const;
  void begin_raster(bool whole);
  void draw_on(Sheet sheet);
  void begin_band();
  /// Adds a band that begins at row `top` of the raster to the file.
  void add_to_file(const Sheet& band, int top);
  /// Whether anything between two heights of the canvas is on the band.
  bool on_band(double top, double bottom) const;
  void blend_line(Point from, Point to, const Stroke& stroke);
  void outlined_text(const Text& text, Point origin, double degrees, Colour colour);
  void hinted_text(const HintedLine& line, Point origin, double degrees);

  PictureFormat format_;
  double dpi_;
  bool clear_;
  Colour ground_;
  Letters letters_;
  double dx_ = 0, dy_ = 0;  ///< from the figure to the canvas
  double text_dy_ = 0;      ///< from the figure to the canvas, for texts
  std::string stream_;
  std::vector<PictureText> texts_;
  std::vector<PictureFrame> frames_;
  SvgFile svg_;
  int width_ = 0, height_ = 0;               ///< pixels of a raster
  int band_top_ = 0, band_rows_ = 0;         ///< rows; the last band may reach beyond the raster
  std::unique_ptr<void, FreeBlock> memory_;  ///< pixels of the sheets, and the file's rows
  std::optional<PngFile> file_;              ///< file of a raster in bands
  Sheet sheet_;
  std::uint32_t* pixels_ = nullptr;  ///< members of sheet_, as are the next two
  cairo_surface_t* surface_ = nullptr;
  cairo_t* cairo_ = nullptr;
  GlyphOutlines outlines_;
};

}  // namespace attn::plot
