#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string>

#include <png.h>

#include "attn/error.hpp"

#include "images/decoding.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

/// Notes of the functions that libpng calls. They outlive every jump out of libpng.
struct PngReading {
  std::span<const std::byte> file;
  std::size_t at = 0;
  bool at_end = false;       ///< whether more was asked for than there is
  std::uint32_t frames = 1;  ///< of an animation (acTL)
  std::string problem;
};

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto& reading = *static_cast<PngReading*>(png_get_io_ptr(png));
  if (count > reading.file.size() - reading.at) {
    reading.at_end = true;
    png_error(png, "the file ends early");
  }
  std::memcpy(to, reading.file.data() + reading.at, count);
  reading.at += count;
}

void note_error(png_structp png, png_const_charp message) {
  static_cast<PngReading*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

// The number of frames is the first number of the chunk acTL.
int read_chunk(png_structp png, png_unknown_chunkp chunk) {
  if (std::memcmp(chunk->name, "acTL", 4) == 0 && chunk->size >= 4) {
    std::uint32_t frames = 0;
    for (std::size_t i = 0; i < 4; ++i) frames = frames << 8U | chunk->data[i];
    static_cast<PngReading*>(png_get_user_chunk_ptr(png))->frames = frames;
  }
  return 1;
}

/// The structures of libpng, freed whatever happens.
struct PngMemory {
  png_structp png = nullptr;
  png_infop info = nullptr, end = nullptr;

  PngMemory() = default;
  PngMemory(const PngMemory&) = delete;
  PngMemory& operator=(const PngMemory&) = delete;
  ~PngMemory() { png_destroy_read_struct(&png, &info, &end); }
};

struct PngHeader {
  png_uint_32 width = 0, height = 0;
  int depth = 0, colour = 0;
};

// The functions below hold no objects that a jump would leave behind.

bool read_header(PngMemory& memory, PngHeader& header) {
  if (setjmp(png_jmpbuf(memory.png)) != 0) return false;
  png_read_info(memory.png, memory.info);
  png_get_IHDR(memory.png, memory.info, &header.width, &header.height, &header.depth,
               &header.colour, nullptr, nullptr, nullptr);
  return true;
}

// Rows of three bytes a pixel, four with alpha, or of 16-bit grey numbers as they are stored.
bool read_rows(PngMemory& memory, const PngHeader& header, bool alpha,
               std::span<const png_bytep> rows) {
  if (setjmp(png_jmpbuf(memory.png)) != 0) return false;
  const bool grey16 = header.depth == 16 && header.colour == PNG_COLOR_TYPE_GRAY;
  if (!grey16) {
    if (header.colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(memory.png);
    if (header.depth < 8) png_set_expand_gray_1_2_4_to_8(memory.png);
    if (header.depth == 16) png_set_strip_16(memory.png);
    if ((header.colour & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(memory.png);
    if (!alpha) png_set_strip_alpha(memory.png);
  }
  const int passes = png_set_interlace_handling(memory.png);
  png_read_update_info(memory.png, memory.info);
  for (int pass = 0; pass < passes; ++pass) {
    for (const png_bytep row : rows) {
      check_time();
      png_read_row(memory.png, row, nullptr);
    }
  }
  png_read_end(memory.png, memory.end);
  return true;
}

[[noreturn]] void refuse(const PngReading& reading) {
  throw input_error(reading.at_end
                        ? translated("the PNG picture is cut off")
                        : translated("the PNG picture is broken: {1}", in_quotes(reading.problem)),
                    "", translated("save or download the picture again"));
}

// The orientation in a chunk eXIf, before or behind the pixels.
int orientation_of(const PngMemory& memory) {
  for (png_infop info : {memory.info, memory.end}) {
    png_uint_32 size = 0;
    png_bytep block = nullptr;
    if (png_get_eXIf_1(memory.png, info, &size, &block) != 0 && block != nullptr) {
      return exif_orientation({block, size});
    }
  }
  // XMP's attribute is read where EXIF has none.
  for (png_infop info : {memory.info, memory.end}) {
    png_textp texts = nullptr;
    const int count = png_get_text(memory.png, info, &texts, nullptr);
    for (int i = 0; i < count; ++i) {
      if (std::string_view(texts[i].key) != "XML:com.adobe.xmp") continue;
      constexpr std::string_view name = "tiff:Orientation=\"";
      const std::string_view text(texts[i].text);
      const std::size_t at = text.find(name);
      if (at == text.npos || at + name.size() >= text.size()) continue;
      const int value = text[at + name.size()] - '0';
      if (value >= 1 && value <= 8) return value;
    }
  }
  return 1;
}

// A number of a colour over white, with the rounding of Pillow's alpha_composite().
std::uint8_t over_white(std::uint32_t colour, std::uint32_t alpha) {
  constexpr std::uint32_t white = 255, bits = 7;
  if (alpha == 0) return white;
  const std::uint32_t sum = ((colour * alpha + white * (255 - alpha)) << bits) + (0x80U << bits);
  return static_cast<std::uint8_t>((((sum >> 8U) + sum) >> 8U) >> bits);
}

// Pixels of four bytes laid on white.
std::vector<std::uint8_t> laid_on_white(const std::vector<std::uint8_t>& rgba) {
  std::vector<std::uint8_t> rgb(rgba.size() / 4 * 3);
  in_stretches(rgba.size() / 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        rgb[3 * i + c] = over_white(rgba[4 * i + c], rgba[4 * i + 3]);
      }
    }
  });
  return rgb;
}

// Makes pixels of the one colour that a file without alpha calls transparent white. Pillow compares
// it with the eight bits of a pixel, however many the file has.
void make_transparent_white(const PngMemory& memory, const PngHeader& header,
                            std::vector<std::uint8_t>& rgb) {
  png_color_16p colour = nullptr;
  if (png_get_tRNS(memory.png, memory.info, nullptr, nullptr, &colour) == 0 || colour == nullptr) {
    return;
  }
  const bool grey = header.colour == PNG_COLOR_TYPE_GRAY;
  const std::array<int, 3> wanted{grey ? colour->gray : colour->red,
                                  grey ? colour->gray : colour->green,
                                  grey ? colour->gray : colour->blue};
  in_stretches(rgb.size() / 3, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto pixel = rgb.begin() + static_cast<std::ptrdiff_t>(3 * i);
      if (std::equal(wanted.begin(), wanted.end(), pixel)) std::fill_n(pixel, 3, 255);
    }
  });
}

}  // namespace

StoredPicture decode_png(std::span<const std::byte> file, const Limits& limits,
                         Transparency transparency) {
  PngReading reading;
  reading.file = file;
  PngMemory memory;
  memory.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, note_error, ignore_warning);
  if (memory.png != nullptr) memory.info = png_create_info_struct(memory.png);
  if (memory.info != nullptr) memory.end = png_create_info_struct(memory.png);
  if (memory.end == nullptr) throw std::bad_alloc();
  png_set_read_fn(memory.png, &reading, read_bytes);
  png_set_read_user_chunk_fn(memory.png, &reading, read_chunk);

  PngHeader header;
  if (!read_header(memory, header)) refuse(reading);
  check_stored_pixels(header.height, header.width, limits);
  if (reading.frames > 1) {
    throw input_error(translated("the PNG picture is animated, with {1} frames", reading.frames),
                      "", translated("save one of its frames"));
  }
  StoredPicture picture;
  Pixels& pixels = picture.pixels;
  pixels.height = header.height;
  pixels.width = header.width;
  const bool grey16 = header.depth == 16 && header.colour == PNG_COLOR_TYPE_GRAY;
  const bool palette = header.colour == PNG_COLOR_TYPE_PALETTE,
             on_white = transparency == Transparency::on_white;
  const bool alpha =
      on_white && ((header.colour & PNG_COLOR_MASK_ALPHA) != 0 ||
                   (palette && png_get_valid(memory.png, memory.info, PNG_INFO_tRNS)));
  const std::size_t row_bytes = pixels.width * (grey16 ? 2 : alpha ? 4 : 3);
  std::vector<std::uint8_t> stored(pixels.height * row_bytes);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < pixels.height; ++y) rows.push_back(stored.data() + y * row_bytes);
  if (!read_rows(memory, header, alpha, rows)) refuse(reading);
  picture.orientation = orientation_of(memory);
  if (!grey16) {
    pixels.rgb = alpha ? laid_on_white(stored) : std::move(stored);
    if (on_white && !alpha) make_transparent_white(memory, header, pixels.rgb);
    return picture;
  }
  pixels.rgb.reserve(stored.size() / 2 * 3);
  in_stretches(stored.size() / 2, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool beyond = stored[2 * i] > 0;
      pixels.cut_off = pixels.cut_off || beyond;
      pixels.rgb.insert(pixels.rgb.end(), 3, beyond ? 255 : stored[2 * i + 1]);
    }
  });
  return picture;
}

}  // namespace attn
