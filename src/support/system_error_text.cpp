#include "support/system_error_text.hpp"

#include <array>
#include <system_error>

#include "support/translated.hpp"

namespace attn {
namespace {

// English texts of the C library, marked for translation.
[[maybe_unused]] constexpr auto usual_errors = std::to_array<const char*>({
    to_translate("Argument list too long"),
    to_translate("Broken pipe"),
    to_translate("Cannot allocate memory"),
    to_translate("Device or resource busy"),
    to_translate("Disk quota exceeded"),
    to_translate("File exists"),
    to_translate("File name too long"),
    to_translate("File too large"),
    to_translate("Input/output error"),
    to_translate("Invalid argument"),
    to_translate("Is a directory"),
    to_translate("No such device or address"),
    to_translate("No such file or directory"),
    to_translate("No space left on device"),
    to_translate("Not a directory"),
    to_translate("Operation not permitted"),
    to_translate("Permission denied"),
    to_translate("Read-only file system"),
    to_translate("Stale file handle"),
    to_translate("Text file busy"),
    to_translate("Too many levels of symbolic links"),
    to_translate("Too many open files"),
    to_translate("Too many open files in system"),
});

}  // namespace

std::string system_error_text(int error) {
  return translated(std::generic_category().message(error));
}

}  // namespace attn
