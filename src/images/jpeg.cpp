#include <array>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which takes FILE
#include <cstring>

#include <jpeglib.h>
//
#include <jerror.h>

#include "attn/error.hpp"

#include "images/decoding.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

/// Notes of libjpeg's functions. They outlive every jump out of libjpeg.
struct JpegReading {
  jpeg_error_mgr errors = {};  // first, so that libjpeg's pointer to it is one to this
  jpeg_progress_mgr progress = {};
  std::jmp_buf back = {};
  std::array<char, JMSG_LENGTH_MAX> problem = {};
  bool at_end = false;  ///< whether more was asked for than there is
};

JpegReading& reading_of(j_common_ptr jpeg) {
  return *reinterpret_cast<JpegReading*>(jpeg->err);
}

void note_error(j_common_ptr jpeg) {
  JpegReading& reading = reading_of(jpeg);
  jpeg->err->format_message(jpeg, reading.problem.data());
  std::longjmp(reading.back, 1);
}

// Warnings after which pixels are made up are errors; others change nothing.
void note_warning(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level >= 0) return;
  if (code == JWRN_JPEG_EOF) reading_of(jpeg).at_end = true;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
      code == JWRN_ARITH_BAD_CODE) {
    note_error(jpeg);
  }
}

// Progressive pictures may have any number of scans over all their pixels, which are decoded in one
// call.
void limit_scans(j_common_ptr jpeg) {
  bool late = false;
  try {
    check_time();
  } catch (const Error&) {
    late = true;  // no exception passes through libjpeg; refuse() throws it again
  }
  if (late) std::longjmp(reading_of(jpeg).back, 1);
  constexpr int most_scans = 500;
  if (jpeg->is_decompressor == 0) return;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most_scans) return;
  std::strncpy(reading_of(jpeg).problem.data(), "more than 500 scans", JMSG_LENGTH_MAX - 1);
  std::longjmp(reading_of(jpeg).back, 1);
}

/// The structures of libjpeg, freed whatever happens.
struct JpegMemory {
  jpeg_decompress_struct jpeg = {};

  JpegMemory() = default;
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;
  ~JpegMemory() { jpeg_destroy_decompress(&jpeg); }
};

// The functions below hold no objects that a jump would leave behind.

bool read_header(JpegReading& reading, jpeg_decompress_struct& jpeg,
                 std::span<const std::byte> file) {
  constexpr unsigned all_of_it = 0xffff;
  if (setjmp(reading.back) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &reading.progress;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, all_of_it);
  jpeg_read_header(&jpeg, TRUE);
  return true;
}

bool read_rows(JpegReading& reading, jpeg_decompress_struct& jpeg, std::uint8_t* to) {
  if (setjmp(reading.back) != 0) return false;
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = to + std::size_t{jpeg.output_scanline} * jpeg.output_width * 3;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

[[noreturn]] void refuse(const JpegReading& reading) {
  check_time();
  throw input_error(reading.at_end
                        ? translated("the JPEG picture is cut off")
                        : translated("the JPEG picture is broken: {1}",
                                     in_quotes(std::string_view(reading.problem.data()))),
                    "", translated("save or download the picture again"));
}

// The orientation in the first marker of EXIF.
int orientation_of(const jpeg_decompress_struct& jpeg) {
  constexpr std::string_view exif("Exif\0\0", 6);
  for (const jpeg_marker_struct* marker = jpeg.marker_list; marker != nullptr;
       marker = marker->next) {
    const std::span<const std::uint8_t> bytes(marker->data, marker->data_length);
    if (bytes.size() < exif.size() || std::memcmp(bytes.data(), exif.data(), exif.size()) != 0) {
      continue;
    }
    return exif_orientation(bytes.subspan(exif.size()));
  }
  return 1;
}

}  // namespace

StoredPicture decode_jpeg(std::span<const std::byte> file, const Limits& limits) {
  JpegReading reading;
  JpegMemory memory;
  memory.jpeg.err = jpeg_std_error(&reading.errors);
  reading.errors.error_exit = note_error;
  reading.errors.emit_message = note_warning;
  reading.progress.progress_monitor = limit_scans;
  if (!read_header(reading, memory.jpeg, file)) refuse(reading);
  check_stored_pixels(memory.jpeg.image_height, memory.jpeg.image_width, limits);
  if (memory.jpeg.num_components != 1 && memory.jpeg.num_components != 3) {
    throw input_error(
        memory.jpeg.num_components == 4
            ? translated("the JPEG picture has the colours of print (CMYK)")
            : translated("the JPEG picture has {1} channels", memory.jpeg.num_components),
        "", translated("save it in the colours of screens (RGB)"));
  }
  StoredPicture picture;
  picture.pixels.height = memory.jpeg.image_height;
  picture.pixels.width = memory.jpeg.image_width;
  picture.pixels.rgb.resize(picture.pixels.height * picture.pixels.width * 3);
  picture.orientation = orientation_of(memory.jpeg);  // the end of decoding frees the markers
  if (!read_rows(reading, memory.jpeg, picture.pixels.rgb.data())) refuse(reading);
  return picture;
}

}  // namespace attn
