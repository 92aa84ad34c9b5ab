#include "plot/canvas/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn::plot {
namespace {

constexpr double longest_pixels = 30000;  // pixels; Cairo's rasters end at 32767
constexpr double largest_area = 250e6;    // pixels
// Pixels of a raster that is drawn as a whole and of a band of a larger one, and the most bands.
constexpr int undivided = 1 << 20, pixels_a_band = 372'000, most_bands = 16;
constexpr std::size_t large_pages = std::size_t{4} << 20U;  // what two such bands and a file take

double radians(double degrees) {
  return degrees * std::numbers::pi / 180;
}

bool has_colours(PangoFont* font) {
  hb_face_t* face = hb_font_get_face(pango_font_get_hb_font(font));
  return hb_ot_color_has_png(face) || hb_ot_color_has_layers(face) || hb_ot_color_has_svg(face);
}

// Letters are drawn as outlines, because Cairo would move the pictures of single letters to whole
// pixels; coloured ones, such as emoji, are pictures.
void draw_line(cairo_t* cairo, PangoLayoutLine* line, GlyphOutlines& outlines) {
  int x = 0;
  for (GSList* item = line->runs; item != nullptr; item = item->next) {
    auto* run = static_cast<PangoLayoutRun*>(item->data);
    PangoFont* font = run->item->analysis.font;
    cairo_move_to(cairo, x / double{PANGO_SCALE}, 0);
    if (font != nullptr && has_colours(font)) {
      pango_cairo_show_glyph_string(cairo, font, run->glyphs);
      cairo_new_path(cairo);
    } else {
      if (font == nullptr || !outlines.add(cairo, font, *run->glyphs)) {
        pango_cairo_glyph_string_path(cairo, font, run->glyphs);
      }
      cairo_fill(cairo);
    }
    x += pango_glyph_string_get_width(run->glyphs);
  }
}

// Exceptions cannot pass through Cairo.
cairo_status_t append(void* stream, const unsigned char* data, unsigned int size) {
  try {
    static_cast<std::string*>(stream)->append(reinterpret_cast<const char*>(data), size);
  } catch (...) {
    return CAIRO_STATUS_NO_MEMORY;
  }
  return CAIRO_STATUS_SUCCESS;
}

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::internal,
              translated("a picture could not be drawn: {1}", cairo_status_to_string(status)), "",
              "");
}

// Caches of fonts, shaped text, Cairo's paths and the stacks of threads: measured at less than
// two thirds of this for figures full of labels in several scripts.
constexpr std::size_t figure_bytes = std::size_t{96} << 20U;

std::recursive_mutex& turn() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

DrawingRoom::DrawingRoom() {
  if (!address_space_limit()) return;
  turn_ = std::unique_lock(turn());
  check(0);
}

void DrawingRoom::check(std::size_t bytes) {
  if (address_space_limit() && !can_be_mapped(figure_bytes + bytes)) throw std::bad_alloc();
}

double Canvas::pixels_per_point(PictureFormat format, double dpi) {
  return format == PictureFormat::png ? dpi / points_per_inch : 1;
}

Canvas::Canvas(PictureFormat format, Point lower_left, double width, double height, double dpi,
               const Paper& paper, Letters letters, bool whole)
    : format_(format),
      dpi_(dpi),
      clear_(paper.clear),
      ground_(paper.ground),
      letters_(letters),
      outlines_(is_raster() ? Curves::straight : Curves::kept) {
  // Where the crop is no whole number of pixels, frames keep their distance to its lower edge and
  // texts to its upper one, as in matplotlib.
  dx_ = -lower_left.x;
  text_dy_ = height - lower_left.y;
  if (is_raster()) {
    width = std::max(1.0, std::floor(width));
    height = std::max(1.0, std::floor(height));
  }
  dy_ = height - lower_left.y;
  if (!(width <= longest_pixels && height <= longest_pixels && width * height <= largest_area)) {
    throw input_error(translated("the picture would be {1} × {2} pixels large",
                                 static_cast<long long>(width), static_cast<long long>(height)),
                      "", translated("ask for a smaller figure size or fewer dots per inch"));
  }
  Sheet sheet;
  switch (format) {
    case PictureFormat::png: {
      width_ = static_cast<int>(width);
      height_ = static_cast<int>(height);
      begin_raster(whole);
      sheet = raster_sheet(0);
      break;
    }
    case PictureFormat::svg:
      sheet.surface.reset(cairo_svg_surface_create_for_stream(append, &stream_, width, height));
      cairo_svg_surface_set_document_unit(sheet.surface.get(), CAIRO_SVG_UNIT_PT);
      break;
    case PictureFormat::pdf:
      sheet.surface.reset(cairo_pdf_surface_create_for_stream(append, &stream_, width, height));
      // Later versions hide objects in streams, where tagged_pdf() would not find them.
      cairo_pdf_surface_restrict_to_version(sheet.surface.get(), CAIRO_PDF_VERSION_1_4);
      // Equal figures must be equal files, so the time of drawing is left out.
      cairo_pdf_surface_set_metadata(sheet.surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
      cairo_pdf_surface_set_metadata(sheet.surface.get(), CAIRO_PDF_METADATA_CREATOR, maker);
      break;
  }
  if (!is_raster()) sheet.cairo.reset(cairo_create(sheet.surface.get()));
  draw_on(std::move(sheet));
  if (!clear_ && format_ == PictureFormat::svg) svg_.set_paper(ground_);
  if (!clear_ && format_ != PictureFormat::svg) begin_band();
  // Not before the ground is painted, for which Cairo forgets all that was there.
  if (format_ == PictureFormat::pdf) cairo_tag_begin(cairo_, figure_tag, nullptr);
}

void Canvas::begin_raster(bool whole) {
  // A small picture, and one that lets the ground through, is encoded as a whole.
  whole = whole || clear_ || width_ <= undivided / height_;
  band_rows_ =
      whole ? height_ : std::max(pixels_a_band / width_, (height_ + most_bands - 1) / most_bands);
  const auto columns = static_cast<std::size_t>(width_);
  const auto rows = static_cast<std::size_t>(band_rows_);
  // One block for all, so that it is made of large pages.
  const std::size_t in_sheets = (whole ? 1 : 2) * columns * rows * sizeof(std::uint32_t);
  std::size_t bytes = in_sheets;
  if (!whole) bytes = std::max(bytes + PngFile::bytes_for(columns, rows), large_pages);
  // Encoding takes each row once more, and its filter.
  DrawingRoom::check(whole ? bytes + rows * (columns * sizeof(std::uint32_t) + 1) : bytes);
  memory_.reset(allocate_block(bytes));
  if (!memory_) throw std::bad_alloc();
  // A block may hold what was drawn before.
  if (clear_) std::memset(memory_.get(), 0, bytes);
  if (whole) return;
  file_.emplace(columns, static_cast<std::size_t>(height_),
                static_cast<unsigned char*>(memory_.get()) + in_sheets);
}

Canvas::Sheet Canvas::raster_sheet(std::size_t number) const {
  const auto pixels = static_cast<std::size_t>(width_) * static_cast<std::size_t>(band_rows_);
  Sheet sheet;
  sheet.pixels = static_cast<std::uint32_t*>(memory_.get()) + number * pixels;
  sheet.surface.reset(cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(sheet.pixels),
      clear_ ? CAIRO_FORMAT_ARGB32 : CAIRO_FORMAT_RGB24, width_, band_rows_,
      static_cast<int>(sizeof(std::uint32_t)) * width_));
  sheet.cairo.reset(cairo_create(sheet.surface.get()));
  return sheet;
}

double Canvas::edge(double place) {
  return std::floor(place + 0.5);
}

void Canvas::draw_on(Sheet sheet) {
  sheet_ = std::move(sheet);
  pixels_ = sheet_.pixels;
  surface_ = sheet_.surface.get();
  cairo_ = sheet_.cairo.get();
}

void Canvas::begin_band() {
  cairo_identity_matrix(cairo_);
  cairo_translate(cairo_, 0, -band_top_);
  set_colour(ground_);
  cairo_paint(cairo_);
}

void Canvas::add_to_file(const Sheet& band, int top) {
  check(cairo_status(band.cairo.get()));
  cairo_surface_flush(band.surface.get());
  const auto rows = static_cast<std::size_t>(std::min(band_rows_, height_ - top));
  const auto columns = static_cast<std::size_t>(width_);
  file_->add({band.pixels, rows * columns}, rows, columns);
}

void Canvas::draw(const std::function<void(Canvas&)>& draw_all, std::size_t threads) {
  draw_all(*this);
  Sheet drawn;
  while (file_ && band_top_ + band_rows_ < height_) {
    check_time();
    const int top = band_top_;
    Sheet next = drawn.cairo ? std::move(drawn) : raster_sheet(1);
    drawn = std::move(sheet_);
    draw_on(std::move(next));
    band_top_ += band_rows_;
    begin_band();
    run_beside(
        threads, [&] { draw_all(*this); }, [&] { add_to_file(drawn, top); });
  }
}

bool Canvas::on_band(double top, double bottom) const {
  return !is_raster() || (bottom >= band_top_ && top <= band_top_ + band_rows_);
}

void Canvas::set_colour(Colour colour) {
  cairo_set_source_rgb(cairo_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

Box Canvas::snapped(const Box& box) const {
  const Box moved_box = box.moved(dx_, dy_);
  if (!is_raster()) return moved_box;
  return {edge(moved_box.left), edge(moved_box.top), edge(moved_box.right), edge(moved_box.bottom)};
}

void Canvas::fill(const Box& box, Colour colour) {
  const Box area = snapped(box);
  if (!on_band(area.top, area.bottom)) return;
  set_colour(colour);
  cairo_rectangle(cairo_, area.left, area.top, area.width(), area.height());
  cairo_fill(cairo_);
}

void Canvas::dot(Point middle, double radius, Colour colour) {
  const Point at = moved(middle);
  set_colour(colour);
  cairo_arc(cairo_, at.x, at.y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(cairo_);
}

void Canvas::triangle(Point a, Point b, Point c, Colour colour) {
  set_colour(colour);
  for (const Point corner : {moved(a), moved(b), moved(c)}) {
    cairo_line_to(cairo_, corner.x, corner.y);
  }
  cairo_close_path(cairo_);
  cairo_fill(cairo_);
}

void Canvas::frame(const Box& box, Colour colour, double line_width) {
  stroke(box, colour, line_width);
  if (band_top_ > 0) return;
  const Box place = box.moved(dx_, dy_);
  frames_.push_back({place.left, place.top, place.right, place.bottom});
}

void Canvas::text(const PlacedText& placed, Colour colour) {
  const Point origin = {placed.origin.x + dx_, placed.origin.y + text_dy_};
  const Box& ink = placed.text->ink;
  if (band_top_ == 0) {
    texts_.push_back({std::string(placed.text->string), origin.x, origin.y, ink.left, ink.top,
                      ink.right, ink.bottom, placed.degrees});
  }
  // However it is turned, and with what hinting moves.
  constexpr double moved_by_hinting = 8;  // pixels
  const double reach = std::hypot(std::max(std::abs(ink.left), std::abs(ink.right)),
                                  std::max(std::abs(ink.top), std::abs(ink.bottom))) +
                       moved_by_hinting;
  const bool level = placed.degrees == 0;
  if (!on_band(origin.y + (level ? ink.top - moved_by_hinting : -reach),
               origin.y + (level ? ink.bottom + moved_by_hinting : reach))) {
    return;
  }
  set_colour(colour);
  cairo_save(cairo_);
  if (placed.text->hinted) {
    hinted_text(*placed.text->hinted, origin, placed.degrees);
  } else {
    outlined_text(*placed.text, origin, placed.degrees, colour);
  }
  cairo_restore(cairo_);
}

void Canvas::outlined_text(const Text& text, Point origin, double degrees, Colour colour) {
  if (is_raster()) origin = {std::round(origin.x), std::round(origin.y)};
  cairo_translate(cairo_, origin.x, origin.y);
  if (degrees != 0) cairo_rotate(cairo_, -radians(degrees));
  cairo_move_to(cairo_, 0, 0);
  PangoLayoutLine* line = pango_layout_get_line_readonly(text.layout.get(), 0);
  if (format_ == PictureFormat::svg && letters_ == Letters::text) {
    svg_.add_text(text.layout.get(), text.width, origin, degrees, colour);
  } else if (is_raster() || (format_ == PictureFormat::pdf && letters_ == Letters::outlines)) {
    draw_line(cairo_, line, outlines_);
  } else {
    pango_cairo_show_layout_line(cairo_, line);
  }
}

void Canvas::hinted_text(const HintedLine& line, Point origin, double degrees) {
  // The lower left corner of the picture, turned about itself.
  const double x = std::nearbyint(origin.x + line.left + line.descent * std::sin(radians(degrees)));
  const double y = std::nearbyint(origin.y + line.descent * std::cos(radians(degrees))) + 1;
  cairo_translate(cairo_, x, y);
  if (degrees != 0) cairo_rotate(cairo_, -radians(degrees));
  cairo_translate(cairo_, 0, -cairo_image_surface_get_height(line.coverage.get()));
  cairo_pattern_t* picture = cairo_pattern_create_for_surface(line.coverage.get());
  cairo_pattern_set_filter(picture, degrees == 0 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BEST);
  cairo_mask(cairo_, picture);
  cairo_pattern_destroy(picture);
}

Canvas::PixelArea Canvas::pixel_area(const Box& box) const {
  const Box area = box.moved(dx_, dy_);
  const int width = std::max(1, static_cast<int>(std::ceil(area.width())));
  const int height = std::max(1, static_cast<int>(std::ceil(area.height())));
  return {static_cast<int>(edge(area.left)), static_cast<int>(edge(area.bottom)) - height, width,
          height};
}

Canvas::PixelArea Canvas::rows_on_band(const PixelArea& area, const Box& clip) const {
  const Box inside = snapped(clip);
  const int top = std::max({area.top, band_top_, static_cast<int>(inside.top)});
  const int bottom = std::min(
      {area.top + area.height, height_, band_top_ + band_rows_, static_cast<int>(inside.bottom)});
  return {area.left, top, area.width, std::max(0, bottom - top)};
}

void Canvas::copy(const PixelRows& rows, const PixelArea& area, const Box& clip) {
  cairo_surface_flush(surface_);
  const Box inside = snapped(clip);
  const int left = std::max({0, area.left, static_cast<int>(inside.left)});
  const int right = std::min({width_, area.left + area.width, static_cast<int>(inside.right)});
  const PixelArea shown = rows_on_band(area, clip);
  for (int y = shown.top; y < shown.top + shown.height && left < right; ++y) {
    const std::size_t line = rows.line_of_row[static_cast<std::size_t>(y - area.top)];
    const auto* from =
        rows.lines.data() + line * static_cast<std::size_t>(area.width) + (left - area.left);
    auto* const to = pixels_ + std::ptrdiff_t{y - band_top_} * width_ + left;
    if (clear_) {
      constexpr std::uint32_t opaque = 0xFF000000;
      std::transform(from, from + (right - left), to,
                     [](std::uint32_t pixel) { return pixel | opaque; });
    } else {
      std::copy(from, from + (right - left), to);
    }
  }
  cairo_surface_mark_dirty(surface_);
}

void Canvas::image(Pixels pixels, std::size_t width, std::size_t height, const Box& box) {
  const Box place = snapped(box);
  // Viewers that show fewer pixels than a fine image has would leave some of its cells out.
  const bool fine = width > 1 && height > 1 &&
                    std::min(place.width() / static_cast<double>(width),
                             place.height() / static_cast<double>(height)) < 1;
  if (format_ == PictureFormat::svg) {
    svg_.add_image(encode_image(pixels, width, height), place, fine);
    return;
  }
  cairo_surface_t* const surface = cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(pixels.data()), CAIRO_FORMAT_RGB24, static_cast<int>(width),
      static_cast<int>(height), static_cast<int>(4 * width));
  cairo_save(cairo_);
  cairo_translate(cairo_, place.left, place.top);
  cairo_scale(cairo_, place.width() / static_cast<double>(width),
              place.height() / static_cast<double>(height));
  cairo_set_source_surface(cairo_, surface, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cairo_),
                           fine ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
  cairo_rectangle(cairo_, 0, 0, static_cast<double>(width), static_cast<double>(height));
  cairo_fill(cairo_);
  cairo_restore(cairo_);
  // Cairo copies the pixels that it still needs.
  cairo_surface_finish(surface);
  cairo_surface_destroy(surface);
}

std::string Canvas::finish(const FileText& given) {
  // Files that are named and titles may hold any bytes; metadata are lines of UTF-8.
  const FileText words{printable(given.title), printable(given.description),
                       printable(given.provenance), printable(given.caption)};
  const bool both = !words.caption.empty() && !words.provenance.empty();
  if (format_ == PictureFormat::pdf) cairo_tag_end(cairo_, figure_tag);
  if (!is_raster()) cairo_show_page(cairo_);
  check(cairo_status(cairo_));
  cairo_surface_flush(surface_);
  if (!is_raster()) {
    const auto say = [&](cairo_pdf_metadata_t what, const std::string& text) {
      if (format_ != PictureFormat::pdf || text.empty()) return;
      cairo_pdf_surface_set_metadata(surface_, what, text.c_str());
    };
    say(CAIRO_PDF_METADATA_TITLE, words.title);
    say(CAIRO_PDF_METADATA_SUBJECT, words.caption + (both ? "; " : "") + words.provenance);
    say(CAIRO_PDF_METADATA_KEYWORDS, words.description);
    cairo_surface_finish(surface_);
    check(cairo_surface_status(surface_));
    return format_ == PictureFormat::svg ? svg_.finished(stream_, words)
                                         : tagged_pdf(std::move(stream_), words.description);
  }
  if (file_) {
    add_to_file(sheet_, band_top_);
    return file_->finish(dpi_, words);
  }
  const auto width = static_cast<std::size_t>(width_), height = static_cast<std::size_t>(height_);
  return encode_png({pixels_, width * height}, width, height, width, clear_, dpi_, words);
}

}  // namespace attn::plot

namespace attn {

std::span<const Named<PictureFormat>> picture_formats() noexcept {
  static constexpr auto formats = std::to_array<Named<PictureFormat>>(
      {{"png", PictureFormat::png}, {"svg", PictureFormat::svg}, {"pdf", PictureFormat::pdf}});
  return formats;
}

}  // namespace attn
