#include "fuzz/read_back.hpp"
#include "io/gguf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  fuzz::accept_refusals([&] {
    const Gguf file(input.bytes(), input.owner());
    for (const char* key : {"general.architecture", "split.count", "tokenizer.ggml.tokens"}) {
      static_cast<void>(file.text(key));
      static_cast<void>(file.number(key));
      static_cast<void>(file.texts(key));
      static_cast<void>(file.numbers(key));
    }
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i)); });
    }
  });
  return 0;
}
