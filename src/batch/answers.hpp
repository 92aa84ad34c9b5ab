#pragma once

#include <atomic>

#include "attn/batch.hpp"

namespace attn {

/// run_batch() with BatchOptions::answer. Throws Error as it does, and what `answer` throws.
BatchOutcome answer_documents(const BatchOptions& options, const BatchObserver& observer,
                              const std::atomic<bool>* stop);

}  // namespace attn
