#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "plot/libraries/drawing_libraries.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t chunk_letters = 4096;  // of kitty's protocol

// https://sw.kovidgoyal.net/kitty/graphics-protocol: a PNG file, in chunks.
std::string in_kitty_protocol(std::string_view png) {
  const std::string data = base64(png);
  std::string text;
  for (std::size_t at = 0; at < data.size(); at += chunk_letters) {
    const bool more = at + chunk_letters < data.size();
    text += at == 0 ? "\x1b_Ga=T,f=100,q=2,m=" : "\x1b_Gm=";
    text += more ? "1;" : "0;";
    text += data.substr(at, chunk_letters) + "\x1b\\";
  }
  return text + "\n";
}

struct Pixels {
  int width = 0, height = 0;
  std::vector<unsigned char> rgb;
};

Pixels pixels_of(std::string_view png) {
  struct Reader {
    static cairo_status_t read(void* rest, unsigned char* to, unsigned int count) {
      auto& bytes = *static_cast<std::string_view*>(rest);
      if (count > bytes.size()) return CAIRO_STATUS_READ_ERROR;
      std::memcpy(to, bytes.data(), count);
      bytes.remove_prefix(count);
      return CAIRO_STATUS_SUCCESS;
    }
  };
  const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface(
      cairo_image_surface_create_from_png_stream(Reader::read, &png),
      [](cairo_surface_t* own) { cairo_surface_destroy(own); });
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::internal, translated("the picture cannot be read by Cairo"), "", "");
  }
  Pixels pixels{cairo_image_surface_get_width(surface.get()),
                cairo_image_surface_get_height(surface.get()),
                {}};
  const unsigned char* row = cairo_image_surface_get_data(surface.get());
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, row + 4 * x, sizeof pixel);
      for (const int shift : {16, 8, 0}) {
        pixels.rgb.push_back(static_cast<unsigned char>(pixel >> shift));
      }
    }
    row += cairo_image_surface_get_stride(surface.get());
  }
  return pixels;
}

int append_to_text(char* data, int size, void* text) {
  static_cast<std::string*>(text)->append(data, static_cast<std::size_t>(size));
  return size;
}

std::string in_sixels(std::string_view png) {
  constexpr int colours = 256;
  Pixels pixels = pixels_of(png);
  std::string text;
  const auto check = [](int status) {
    if ((status & sixel_failed_bit) != 0) throw std::bad_alloc();
  };
  sixel_output* new_output = nullptr;
  check(sixel_output_new(&new_output, append_to_text, &text, nullptr));
  const std::unique_ptr<sixel_output, void (*)(sixel_output*)> output(
      new_output, [](sixel_output* own) { sixel_output_unref(own); });
  sixel_dither* new_palette = nullptr;
  check(sixel_dither_new(&new_palette, colours, nullptr));
  const std::unique_ptr<sixel_dither, void (*)(sixel_dither*)> palette(
      new_palette, [](sixel_dither* own) { sixel_dither_unref(own); });
  check(sixel_dither_initialize(palette.get(), pixels.rgb.data(), pixels.width, pixels.height,
                                sixel_rgb888, 0, 0, 0));
  // libsixel counts colours by five bits a channel, so that its white is 248.
  constexpr int white = 255, white_of_five_bits = 248;
  unsigned char* const colour = sixel_dither_get_palette(palette.get());
  for (int i = 0; i < 3 * sixel_dither_get_num_of_palette_colors(palette.get()); ++i) {
    colour[i] = static_cast<unsigned char>(std::min(white, colour[i] * white / white_of_five_bits));
  }
  sixel_dither_set_diffusion_type(palette.get(), sixel_no_diffusion);
  check(
      sixel_encode(pixels.rgb.data(), pixels.width, pixels.height, 3, palette.get(), output.get()));
  return text + "\n";
}

}  // namespace

std::string picture_in_terminal(const Picture& picture, TerminalPictures protocol) {
  switch (protocol) {
    case TerminalPictures::sixel:
      return in_sixels(picture.bytes);
    case TerminalPictures::kitty:
      return in_kitty_protocol(picture.bytes);
  }
  return "";
}

}  // namespace attn
