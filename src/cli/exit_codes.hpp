#pragma once

namespace attn::cli {

/// Beside those of Error: some of many inputs failed; the user stopped the program (128 + SIGINT).
inline constexpr int some_failed_code = 1, interrupted_code = 130;

}  // namespace attn::cli
