#include "attn/version.hpp"

#include <cstdio>  // before jpeglib.h, which takes FILE
#include <string>
#include <utility>

#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <hb.h>
#include <jpeglib.h>
#include <libdeflate.h>
#include <oniguruma.h>
#include <pango/pango.h>
#include <png.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <zip.h>

#include "attn/catalogue.hpp"

#include "kernels/cpu_target.hpp"
#include "report/facts.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string version_of(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// A version as major · 10000 + minor · 100 + patch.
std::string version_of(unsigned number) {
  const int all = static_cast<int>(number);
  return version_of(all / 10000, all / 100 % 100, all % 100);
}

struct Library {
  const char* name;
  std::string version;
};

// Every library that the program is made of, in the order of the alphabet, with the version that it
// is built with where asking the library would load it. The build gives names and versions of those
// whose headers do not state them or take long to compile.
std::string libraries() {
  const Library all[] = {
      {"cairo", CAIRO_VERSION_STRING},
      {"Fontconfig", version_of(FC_VERSION)},
      {"FreeType", version_of(FREETYPE_MAJOR, FREETYPE_MINOR, FREETYPE_PATCH)},
      {"HarfBuzz", HB_VERSION_STRING},
      {"libdeflate", LIBDEFLATE_VERSION_STRING},
      {"libjpeg-turbo",
       version_of(LIBJPEG_TURBO_VERSION_NUMBER / 1000000,
                  LIBJPEG_TURBO_VERSION_NUMBER / 1000 % 1000, LIBJPEG_TURBO_VERSION_NUMBER % 1000)},
      {"libpng", PNG_LIBPNG_VER_STRING},
      {"libzip", LIBZIP_VERSION},
      {"Oniguruma", onig_version()},
      {"pango", PANGO_VERSION_STRING},
      {"utf8proc", utf8proc_version()},
      {"xxHash", version_of(XXH_versionNumber())},
  };
  std::string text;
  for (const Library& library : all)
    text += std::string(library.name) + " " + library.version + ", ";
  return text + ATTN_FURTHER_LIBRARIES;
}

}  // namespace

std::string version_json() {
  const std::string all = libraries() + ", ";
  Fact::Members facts;
  for (std::size_t at = 0, end = all.find(", "); end != std::string::npos;
       at = end + 2, end = all.find(", ", at)) {
    const std::string name = all.substr(at, end - at);
    const std::size_t space = name.find(' ');
    // Some libraries have no versions.
    facts.push_back({name.substr(0, space),
                     space == std::string::npos ? Fact() : Fact(name.substr(space + 1))});
  }
  return json_text(object({{"version", ATTN_VERSION},
                           {"cpu_target", kernels::cpu_target()},
                           {"libraries", std::move(facts)}}));
}

std::string version_text() {
  return "attn-cli " ATTN_VERSION "\n" + translated("CPU target {1}", kernels::cpu_target()) +
         "\n" + translated("libraries: {1}", libraries()) + "\n";
}

}  // namespace attn
