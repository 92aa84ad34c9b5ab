#pragma once

#include "attn/heads.hpp"

#include "heads/corpus_sums.hpp"

namespace attn {

/// Writes heads.csv, by_offset.csv and, if they are wanted, pictures of the means into the folder,
/// and puts the table to read into the outcome.
void report_corpus(const HeadsCorpusOptions& options, const CorpusSums& sums,
                   HeadsCorpusOutcome& outcome);

}  // namespace attn
