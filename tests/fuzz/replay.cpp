// Runs a fuzz target behind `--replay` on files and on all files of folders, instead of libFuzzer
// where the target has that too. `--rounds FIRST COUNT` among them runs it on so many inputs of
// random bytes, each known by its number, and each of these may take ten seconds. All together may
// take 2 GB, as under tests/fuzz/run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void check_memory_used() {
  constexpr long most_kilobytes = 2'000'000;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss > most_kilobytes) std::abort();
}

int replay(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) count += replay(entry);
    return count;
  }
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);  // the last line names the input that ended the program
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  check_memory_used();
  return 1;
}

void play(unsigned long first, unsigned long count) {
  constexpr unsigned most_seconds = 10;
  std::vector<std::uint8_t> bytes;
  for (unsigned long round = first; round < first + count; ++round) {
    std::mt19937_64 random(round);
    bytes.resize(16 + random() % 360);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::fprintf(stderr, "round %lu\n", round);  // the last line names what ended the program
    alarm(most_seconds);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    alarm(0);
    check_memory_used();
  }
}

// Gives the exit code, which is 0 if there were inputs and every one was taken.
int replay_all(int count, char** arguments) {
  if (count < 2 || std::string(arguments[1]) != "--replay") {
    std::fprintf(stderr, "name --replay, then files and folders of inputs\n");
    return 2;
  }
  int replayed = 0;
  for (int i = 2; i < count; ++i) {
    if (std::string(arguments[i]) == "--rounds" && i + 2 < count) {
      play(std::stoul(arguments[i + 1]), std::stoul(arguments[i + 2]));
      replayed += std::stoi(arguments[i + 2]);
      i += 2;
      continue;
    }
    replayed += replay(arguments[i]);
  }
  std::printf("%d inputs\n", replayed);
  return replayed > 0 ? 0 : 1;
}

}  // namespace

#if defined(ATTN_LIBFUZZER)
// LibFuzzer's main calls it before anything else.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (*count > 1 && std::string((*arguments)[1]) == "--replay") {
    std::exit(replay_all(*count, *arguments));
  }
  return 0;
}
#else
int main(int count, char** arguments) {
  return replay_all(count, arguments);
}
#endif
