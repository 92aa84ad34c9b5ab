#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "attn/io.hpp"
#include "attn/plot.hpp"

#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "support/atomic_file.hpp"

namespace {

constexpr std::size_t rows = 2000, columns = 1000, elements = rows * columns;

attn::Tensor matrix() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(elements);
  for (float& value : values) value = normal(random);
  return {{rows, columns}, std::move(values)};
}

// One matrix as a document holds it: 24 MB.
const std::string& matrix_text() {
  static const std::string text = [] {
    std::string result;
    attn::JsonWriter json([&](std::string_view piece) { result += piece; }, 0);
    json.value(matrix());
    json.finish();
    return result;
  }();
  return text;
}

// A file that goes away with the program.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("attn-bench-" + std::to_string(getpid()) + name)) {}
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void count_numbers(benchmark::State& state) {
  state.counters["numbers"] = benchmark::Counter(
      static_cast<double>(elements * static_cast<std::size_t>(state.iterations())),
      benchmark::Counter::kIsRate);
}

// Text to a tensor of float32.
void parse_json(benchmark::State& state) {
  attn::JsonOptions options;
  options.dtype = attn::DType::float32;
  options.threads = static_cast<std::size_t>(state.range(0));
  options.owner = std::make_shared<int>();
  const std::string& text = matrix_text();
  for (auto _ : state) {
    const attn::JsonValue value = attn::parse_json(text, options);
    benchmark::DoNotOptimize(attn::tensor_from_json(value, attn::DType::float32, ""));
  }
  count_numbers(state);
}
BENCHMARK(parse_json)
    ->Arg(1)
    ->Arg(0)
    ->ArgName("threads")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void parse_json_nlohmann_dom(benchmark::State& state) {
  const std::string& text = matrix_text();
  for (auto _ : state) benchmark::DoNotOptimize(nlohmann::json::parse(text));
  count_numbers(state);
}
BENCHMARK(parse_json_nlohmann_dom)->UseRealTime()->Unit(benchmark::kMillisecond);

// A tensor to a file.
void write_json(benchmark::State& state) {
  const ScratchFile file(".json");
  const attn::Tensor tensor = matrix();
  for (auto _ : state) {
    attn::AtomicFile to(file.path());
    attn::JsonWriter json([&](std::string_view piece) { to.write(piece); },
                          static_cast<std::size_t>(state.range(0)));
    json.value(tensor);
    json.finish();
    to.commit();
  }
  count_numbers(state);
}
BENCHMARK(write_json)
    ->Arg(1)
    ->Arg(0)
    ->ArgName("threads")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void write_json_nlohmann_dump(benchmark::State& state) {
  const nlohmann::json value = nlohmann::json::parse(matrix_text());
  for (auto _ : state) benchmark::DoNotOptimize(value.dump());
  count_numbers(state);
}
BENCHMARK(write_json_nlohmann_dump)->UseRealTime()->Unit(benchmark::kMillisecond);

// Opens the file, and adds all elements so that every page of it is read.
void load(benchmark::State& state, const std::string& bytes, const char* name) {
  const ScratchFile file(".tensors");
  attn::write_whole_file(file.path(), bytes);
  for (auto _ : state) {
    const attn::Tensor tensor = attn::TensorFile::open(file.path()).read(name);
    float sum = 0;
    for (const float value : tensor.values<float>()) sum += value;
    benchmark::DoNotOptimize(sum);
  }
  count_numbers(state);
}

void load_npy(benchmark::State& state) {
  load(state, attn::npy_bytes(matrix()), "");
}
BENCHMARK(load_npy)->UseRealTime()->Unit(benchmark::kMillisecond);

void load_npz(benchmark::State& state) {
  const attn::NamedTensor tensor{"q", matrix()};
  load(state, attn::npz_bytes({&tensor, 1}), "q");
}
BENCHMARK(load_npz)->UseRealTime()->Unit(benchmark::kMillisecond);

void load_safetensors(benchmark::State& state) {
  const attn::NamedTensor tensor{"q", matrix()};
  load(state, attn::safetensors_bytes({&tensor, 1}), "q");
}
BENCHMARK(load_safetensors)->UseRealTime()->Unit(benchmark::kMillisecond);

// The heatmap of a tutorial, 8×6 inches at 300 dots an inch: drawn and written as PNG.
void draw_png(benchmark::State& state) {
  attn::Heatmap heatmap;
  heatmap.weights = attn::Tensor({4, 4}, std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F,      //
                                                            0.4F, 0.3F, 0.2F, 0.1F,      //
                                                            0.25F, 0.25F, 0.25F, 0.25F,  //
                                                            0.7F, 0.1F, 0.1F, 0.1F});
  heatmap.title = "Attention Weight Heatmap (Sample 1, Head 1)";
  for (auto _ : state) {
    benchmark::DoNotOptimize(attn::draw_heatmap(heatmap, {}, attn::PictureFormat::png));
  }
}
BENCHMARK(draw_png)->UseRealTime()->Unit(benchmark::kMillisecond);

// Whole processes, the shell that starts them included.
void process(benchmark::State& state, const std::string& arguments) {
  const std::string command = std::string("'") + ATTN_CLI + "' " + arguments + " >/dev/null 2>&1";
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) state.SkipWithError("the program failed");
  }
}

void start_shell_alone(benchmark::State& state) {
  for (auto _ : state) {
    if (std::system(":") != 0) state.SkipWithError("the shell failed");
  }
}
BENCHMARK(start_shell_alone)->UseRealTime()->Unit(benchmark::kMillisecond);

void start_and_compute(benchmark::State& state) {
  const ScratchFile folder(".results");
  process(state, std::string("run '") + ATTN_DATA + "/four_dimensions.json' --plots none --out '" +
                     folder.path().string() + "'");
  std::filesystem::remove_all(folder.path());
}
BENCHMARK(start_and_compute)->UseRealTime()->Unit(benchmark::kMillisecond);

void tutorial_with_pictures(benchmark::State& state) {
  const ScratchFile folder(".results");
  process(state, std::string("run '") + ATTN_DATA + "/four_dimensions.json' --out '" +
                     folder.path().string() + "'");
  std::filesystem::remove_all(folder.path());
}
BENCHMARK(tutorial_with_pictures)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
