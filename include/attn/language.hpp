#pragma once

#include <filesystem>

namespace attn {

/// From here on texts for readers (explanations, reports, errors, what pictures say) are those of a
/// catalogue, a file as gettext's msgfmt writes it (`attn.mo`), and English where it has none; an
/// empty path: English, as at the start. Numbers, names of keys and of tensors are the same in all
/// languages. No locale is needed or changed. What was said before stays as it is.
///
/// It may be called at any time from any thread; a text that is being made elsewhere meanwhile is
/// of the old language or the new one. Throws Error(file) if the file cannot be read, Error(input)
/// if it is no catalogue.
void speak(const std::filesystem::path& catalogue);

}  // namespace attn
