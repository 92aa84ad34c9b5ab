#include <algorithm>

#include "fuzz/fuzz_input.hpp"
#include "io/json_value.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

// The bytes up to the first zero are a config.json, those behind it a model.safetensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  const std::string_view both = input.text();
  const std::size_t zero = std::min(both.find('\0'), both.size());
  fuzz::accept_refusals([&] {
    const JsonValue config = parse_json(both.substr(0, zero));
    const Architecture model = read_architecture(config);
    const fuzz::Input weights(data + std::min(zero + 1, size), size - std::min(zero + 1, size));
    fuzz::accept_refusals([&] {
      check_weights(model, CheckpointWeights::from_memory(weights.bytes(), weights.owner()));
    });
  });
  return 0;
}
