#pragma once

#include <string_view>

namespace attn {

/// The families of models that are known, as one JSON object of rows by model_type.
std::string_view builtin_rows() noexcept;

}  // namespace attn
