#include "fuzz/read_back.hpp"
#include "io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  looks_like_safetensors(input.bytes());
  fuzz::accept_refusals([&] {
    const Safetensors file(input.bytes(), input.owner());
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i)); });
    }
  });
  return 0;
}
