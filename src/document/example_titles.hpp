#pragma once

#include <string>

namespace attn {

/// Title of a document as readers see it: in the language of speak() for the examples that come
/// with the program, unchanged for all others. Results keep the title of their document.
std::string shown_title(const std::string& title);

}  // namespace attn
