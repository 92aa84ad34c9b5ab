#include "support/system_error_text.hpp"

#include <cerrno>
#include <string>

#include <doctest/doctest.h>

#include "chinese.hpp"

using attn::system_error_text;

TEST_CASE("errors of the operating system are in the reader's language") {
  CHECK(system_error_text(ENOENT) == "No such file or directory");
  const Chinese chinese;
  CHECK(system_error_text(ENOENT) == "没有那个文件或目录");
}

TEST_CASE("each error that files usually meet has its Chinese") {
  const Chinese chinese;
  for (const int error : {E2BIG,  EPIPE,  ENOMEM, EBUSY,   EDQUOT, EEXIST, ENAMETOOLONG, EFBIG,
                          EIO,    EINVAL, EISDIR, ENXIO,   ENOENT, ENOSPC, ENOTDIR,      EPERM,
                          EACCES, EROFS,  ESTALE, ETXTBSY, ELOOP,  EMFILE, ENFILE}) {
    const std::string text = system_error_text(error);
    CAPTURE(text);
    CHECK(static_cast<unsigned char>(text.front()) >= 0x80);
  }
}
