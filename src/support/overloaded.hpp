#pragma once

namespace attn {

/// One function of several types for std::visit: a case that is missing does not compile.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace attn
