#pragma once

#include <string>

namespace attn {

/// The program's version, the CPU target in use, and the libraries with their versions, a line
/// each.
std::string version_text();
/// These as one JSON object: "version", "cpu_target", "libraries" by name.
std::string version_json();

/// Everything that documents and flags can name: kinds, parts of masks, colour maps, file formats,
/// CPU targets. A text to read.
std::string catalogue_text();
/// The catalogue as one JSON object.
std::string catalogue_json();

}  // namespace attn
