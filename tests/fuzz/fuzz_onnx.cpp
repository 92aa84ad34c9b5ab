#include <cstdint>

#include "fuzz/read_back.hpp"
#include "io/onnx.hpp"

// The bytes are an ONNX model, or one of its tensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  const bool recognised = looks_like_onnx(input.bytes());
  fuzz::accept_refusals([&] {
    const Onnx file(input.bytes(), input.owner());
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i)); });
    }
    if (!recognised) return;
    const TensorFile alone = TensorFile::from_memory(input.bytes(), input.owner(), "memory");
    fuzz::require(alone.format() != "onnx" || alone.names() == file.names());
  });
  return 0;
}
