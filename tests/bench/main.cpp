#include <benchmark/benchmark.h>

#include "cli/kept_memory.hpp"

// As attn-cli bench does, so that layers and attentions are timed and not the system's clearing of
// pages.
int main(int count, char** words) {
  attn::cli::keep_all_freed_memory();
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
