#include "attn/error.hpp"

#include <utility>

#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

Error::Error(ErrorKind kind, std::string problem, std::string where, std::string help)
    : kind_(kind), problem_(std::move(problem)), where_(std::move(where)), help_(std::move(help)) {
  // The parts may quote a document of a stranger.
  text_ = printable(problem_);
  if (!where_.empty()) text_ += translated("\n  where: {1}", printable(where_));
  if (!help_.empty()) text_ += translated("\n  help:  {1}", printable(help_));
}

Error Error::inside(const std::string& container) const {
  return Error(kind_, problem_, where_.empty() ? container : container + ", " + where_, help_);
}

Error input_error(std::string problem, std::string where, std::string help) {
  return Error(ErrorKind::input, std::move(problem), std::move(where), std::move(help));
}

}  // namespace attn
