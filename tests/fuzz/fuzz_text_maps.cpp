#include "fuzz/read_back.hpp"
#include "io/json_tensor.hpp"
#include "io/text_matrices.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  Limits limits;
  limits.elements = 100'000;
  const auto read_texts = [](const auto& file) {
    for (const OtherMember& other : file.others()) {
      if (other.texts) fuzz::require(!other.texts().empty());
    }
  };
  fuzz::accept_refusals([&] {
    if (looks_like_json(input.bytes())) {
      const std::string_view text(reinterpret_cast<const char*>(input.bytes().data()),
                                  input.bytes().size());
      const JsonTensorFile file(text, input.owner(), limits.nesting);
      read_texts(file);
      for (std::size_t i = 0; i < file.names().size(); ++i) {
        fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i, nullptr)); });
      }
      return;
    }
    looks_like_text_matrix(input.bytes());
    const TextMatrices file(input.bytes(), input.owner(), limits);
    read_texts(file);
    for (std::size_t i = 0; i < file.names().size(); ++i) fuzz::check_read_back(file.read(i));
  });
  return 0;
}
