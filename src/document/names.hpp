#pragma once

#include <string>
#include <vector>

#include "attn/error.hpp"

namespace attn {

/// What a document calls the parts of a request, so that an error of the computation speaks of what
/// the user wrote: "/x" for the request's "/query", "/parameters/query.weight" for
/// "/parameters/W_q.weight".
class DocumentNames {
 public:
  /// The request's tensor of that name is the document's member `theirs`.
  void tensor(const std::string& ours, const std::string& theirs);

  /// The parameter of that name is called `shown` in texts and stands at the JSON pointer `place`.
  void parameter(const std::string& ours, const std::string& shown, const std::string& place);

  Error named(const Error& error) const;

 private:
  struct Renaming {
    std::string pointer, place;  // in the error's place
    std::string text, shown;     // in its texts
  };
  std::vector<Renaming> renamings_;
};

}  // namespace attn
