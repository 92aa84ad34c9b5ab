#pragma once

#include <string_view>

namespace attn {

/// A value with its name in documents, flags and lists.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

}  // namespace attn
