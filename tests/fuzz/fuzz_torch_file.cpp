#include "fuzz/read_back.hpp"
#include "io/torch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  Limits limits;
  limits.unpacked_bytes = 1'000'000;
  // More are refused before a view that repeats its storage gathers them.
  limits.elements = 100'000;
  fuzz::accept_refusals([&] {
    const TorchFile file(input.bytes(), input.owner(), limits);
    for (const OtherMember& other : file.others()) {
      if (other.texts) fuzz::require(!other.texts().empty());
    }
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i)); });
    }
  });
  return 0;
}
