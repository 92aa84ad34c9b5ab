#pragma once

#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {

inline void translate_warnings(Picture& picture) {
  for (std::string& warning : picture.warnings) warning = for_reader(warning);
}
inline void translate_warnings(std::vector<Picture>& pictures) {
  for (Picture& picture : pictures) translate_warnings(picture);
}

/// What `make` returns, whose texts are in English in the matplotlib style. An error is in the
/// reader's language all the same.
template <class Make>
auto made_in(PlotStyle style, const Make& make) {
  const InEnglish english(style == PlotStyle::matplotlib);
  try {
    return make();
  } catch (const Error& error) {
    throw Error(error.kind(), for_reader(error.problem()), error.where(), for_reader(error.help()));
  }
}

/// The same of pictures, whose warnings are in the reader's language too.
template <class Draw>
auto drawn_in(PlotStyle style, const Draw& draw) {
  return made_in(style, [&] {
    auto drawn = draw();
    translate_warnings(drawn);
    return drawn;
  });
}

}  // namespace attn
