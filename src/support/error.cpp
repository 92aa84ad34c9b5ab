#include "attn/error.hpp"

#include <utility>

namespace attn {

Error::Error(ErrorKind kind, std::string problem, std::string where, std::string help)
    : kind_(kind), problem_(std::move(problem)), where_(std::move(where)), help_(std::move(help)) {
  text_ = problem_;
  if (!where_.empty()) text_ += "\n  where: " + where_;
  if (!help_.empty()) text_ += "\n  help:  " + help_;
}

Error Error::inside(const std::string& container) const {
  return Error(kind_, problem_, where_.empty() ? container : container + ", " + where_, help_);
}

Error input_error(std::string problem, std::string where, std::string help) {
  return Error(ErrorKind::input, std::move(problem), std::move(where), std::move(help));
}

}  // namespace attn
