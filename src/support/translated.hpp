#pragma once

/// Texts for readers are marked in every room; what marks them stands with speak(), as programs
/// over the library translate theirs too.
#include "attn/language.hpp"
