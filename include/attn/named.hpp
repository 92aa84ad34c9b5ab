#pragma once

#include <string_view>

namespace attn {

/// A value and what documents, flags and lists call it.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

}  // namespace attn
