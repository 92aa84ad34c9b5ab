#pragma once

#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/several_errors.hpp"

namespace attn {

/// Collects what is wrong with a document, so that one bad key does not hide the next.
class Problems {
 public:
  /// Runs the step and keeps the Error it throws, or all of several. Returns whether there was
  /// none.
  template <class Step>
  bool attempt(Step&& step) {
    try {
      std::forward<Step>(step)();
      return true;
    } catch (const SeveralErrors& several) {
      errors_.insert(errors_.end(), several.errors().begin(), several.errors().end());
      return false;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      errors_.push_back(error);
      return false;
    }
  }

  void add(Error error) { errors_.push_back(std::move(error)); }

  const std::vector<Error>& errors() const noexcept { return errors_; }

  void throw_first() const {
    if (!errors_.empty()) throw errors_.front();
  }
  void throw_all() const {
    if (!errors_.empty()) throw SeveralErrors(errors_);
  }

 private:
  std::vector<Error> errors_;
};

}  // namespace attn
