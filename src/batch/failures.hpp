#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "attn/batch.hpp"

namespace attn {

/// The items of a batch that failed, in the order of the items, whichever ended first. Takes memory
/// for problems, not for items.
class Failures {
 public:
  /// `order` is higher for later items.
  void add(std::size_t order, const BatchItem& item);

  /// Sets BatchOutcome::failures and BatchOutcome::reasons.
  void tell(BatchOutcome& outcome) const;

 private:
  struct Reason {
    std::size_t items = 0, order = 0;
    BatchItem first;
  };

  std::map<std::size_t, BatchItem> first_;  ///< by their order
  std::map<std::string, Reason> reasons_;   ///< by their problems
};

}  // namespace attn
