#pragma once

#include <utility>
#include <vector>

#include "attn/error.hpp"

namespace attn {

/// The first of several things that are wrong, with all of them for whoever tells them all.
class SeveralErrors : public Error {
 public:
  /// Of at least one.
  explicit SeveralErrors(std::vector<Error> errors)
      : Error(errors.front()), errors_(std::move(errors)) {}

  const std::vector<Error>& errors() const noexcept { return errors_; }

 private:
  std::vector<Error> errors_;
};

}  // namespace attn
