#include "plot/text/fonts.hpp"

#include <doctest/doctest.h>

namespace {

using attn::plot::fonts_for;

TEST_CASE("letters belong to a script, and Debian has a font for it") {
  const auto told = [](gunichar letter) {
    const auto fonts = fonts_for(letter);
    return fonts.script + ": " + fonts.packages;
  };
  CHECK(told(U'我') == "Han: fonts-wqy-zenhei or fonts-noto-cjk");
  CHECK(told(0x20BB7) == "Han: fonts-noto-cjk or fonts-hanazono");
  CHECK(told(U'か') == "Hiragana: fonts-wqy-zenhei or fonts-noto-cjk");
  CHECK(told(U'한') == "Hangul: fonts-wqy-zenhei or fonts-noto-cjk");
  CHECK(told(U'ع') == "Arabic: fonts-noto-core");
  CHECK(told(U'ह') == "Devanagari: fonts-noto-core");
  CHECK(told(0x13000) == "Egyp: fonts-noto-core");
  CHECK(told(0x1F600) == "emoji: fonts-noto-color-emoji");
  CHECK(told(0x1F3FD) == "emoji: fonts-noto-color-emoji");
  CHECK(told(U'∀') == "symbols: fonts-noto-core or fonts-symbola");
}

TEST_CASE("texts of other scripts are set in families made for these, if they are installed") {
  using attn::plot::families_of_scripts;
  CHECK(families_of_scripts("Weights, \u0394, \u0416 and 1/n") == "");
  CHECK(families_of_scripts("\u6211\u304b\ud55c") == "");
  CHECK(families_of_scripts(
            "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947") ==
        ",Noto Sans Thai,Noto Sans Devanagari");
}

}  // namespace
