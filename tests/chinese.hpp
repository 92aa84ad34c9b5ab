#pragma once

#include "attn/language.hpp"

/// While it lives, texts are Chinese.
struct Chinese {
  Chinese() { attn::speak(ATTN_CHINESE); }
  ~Chinese() { attn::speak({}); }
  Chinese(const Chinese&) = delete;
  Chinese& operator=(const Chinese&) = delete;
};
