#include "fuzz/read_back.hpp"
#include "io/numpy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  Limits limits;
  limits.unpacked_bytes = 1'000'000;
  fuzz::accept_refusals([&] {
    const Npz npz(input.bytes(), input.owner(), limits);
    for (std::size_t i = 0; i < npz.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(npz.read(i)); });
    }
  });
  return 0;
}
