#include "support/late_library.hpp"

#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

using attn::LateFunction;
using attn::LateLibrary;

namespace {

constexpr LateLibrary mathematics{"libm.so.6", "libm"};
constexpr LateLibrary absent{"libattn-absent.so.1", "libabsent"};

}  // namespace

TEST_CASE("a function of a library that is opened late is called like the function itself") {
  const LateFunction<double(double)> cosine(mathematics, "cos");
  CHECK(cosine(0) == 1);
  CHECK(cosine(2) == std::cos(2.0));
}

TEST_CASE("a library that is not installed is an error that says what to install") {
  const LateFunction<int()> missing(absent, "f");
  const std::string error = error_from([&] { missing(); }, attn::ErrorKind::file);
  CHECK(
      error.starts_with("cannot load the library libabsent\n"
                        "  where: libattn-absent.so.1: cannot open shared object file"));
  CHECK(error.ends_with("\n  help:  install libabsent with your system's packages"));
}

TEST_CASE("a function that a library lacks is an error that names the function") {
  const LateFunction<int()> missing(mathematics, "attn_absent");
  const std::string error = error_from([&] { missing(); }, attn::ErrorKind::file);
  CHECK(error.starts_with("cannot load the library libm\n"));
  CHECK(error.find("undefined symbol: attn_absent") != std::string::npos);
}
