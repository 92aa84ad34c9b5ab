#pragma once

#include <cstddef>
#include <string>

#include "attn/batch.hpp"

#include "cli/common_flags.hpp"
#include "cli/progress_line.hpp"

namespace attn::cli {

/// How far a batch is, on standard error: a bar with the rate and the time left on a terminal, a
/// line every few seconds elsewhere, nothing with --quiet. The first failures are told as they
/// come.
class BatchProgress {
 public:
  /// Of answers, whose number nobody knows, only the failures are told.
  BatchProgress(const Common& common, bool answers);

  void update(const BatchItem& item, const BatchCounts& counts);
  /// Takes the bar away.
  void finish() { line_.clear(); }

 private:
  using Clock = ProgressLine::Clock;

  std::string state(const BatchCounts& counts) const;
  std::string bar(const BatchCounts& counts) const;

  bool quiet_, answers_;
  ProgressLine line_;
  std::size_t failures_told_ = 0;
  Clock::time_point start_ = Clock::now(), told_ = start_;
};

}  // namespace attn::cli
