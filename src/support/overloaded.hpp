#pragma once

namespace attn {

/// Function object made of one function per type, for std::visit. A missing case does not compile.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace attn
