#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "attn/cpu.hpp"
#include "attn/error.hpp"

#include "bench/threads.hpp"
#include "cli/process.hpp"

namespace {

// Takes --cpu TARGET and --threads N, and leaves Google Benchmark's own flags.
std::vector<char*> left_of_flags(int count, char** words) {
  std::vector<char*> left;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--cpu" && i + 1 < count) {
      attn::use_cpu_target(words[++i]);
    } else if (word == "--threads" && i + 1 < count) {
      attn::bench::set_all_threads(std::strtoul(words[++i], nullptr, 10));
    } else {
      left.push_back(words[i]);
    }
  }
  return left;
}

}  // namespace

// Memory is kept, like in attn-cli bench, so that layers and attentions are timed and not the
// system's clearing of pages.
int main(int count, char** words) {
  attn::cli::keep_all_freed_memory();
  std::vector<char*> left;
  try {
    left = left_of_flags(count, words);
  } catch (const attn::Error& error) {
    std::fprintf(stderr, "attn-bench: %s\n", error.what());
    return 2;
  }
  count = static_cast<int>(left.size());
  left.push_back(nullptr);
  benchmark::Initialize(&count, left.data());
  if (benchmark::ReportUnrecognizedArguments(count, left.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
