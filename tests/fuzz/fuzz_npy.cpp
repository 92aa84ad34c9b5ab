#include "fuzz/read_back.hpp"
#include "io/numpy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  fuzz::accept_refusals([&] { fuzz::check_read_back(Npy(input.bytes(), input.owner()).read(0)); });
  return 0;
}
