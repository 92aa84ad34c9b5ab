#pragma once

#include <string>

namespace attn {

/// The separator of the names of a list: ", " in English.
std::string name_separator();

/// The text in the language of speak(), of one that this thread has made within an InEnglish that
/// still lives; another text is returned unchanged. For warnings and errors about a picture whose
/// own texts are English.
std::string for_reader(const std::string& text);

}  // namespace attn
