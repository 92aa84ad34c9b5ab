#include <algorithm>

#include "fuzz/fuzz_input.hpp"
#include "tokens/tokenizer.hpp"

// The bytes up to the first zero are a tokenizer.json, those after it a text to encode.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  const std::string_view both = input.text();
  const std::size_t zero = std::min(both.find('\0'), both.size());
  const std::string_view text = both.substr(std::min(zero + 1, both.size()));
  fuzz::accept_refusals([&] {
    TokenizerFiles files;
    files.tokenizer_json = both.substr(0, zero);
    const Tokenizer tokenizer = Tokenizer::from_files(files);
    for (const bool special : {false, true}) {
      std::vector<std::int64_t> ids;
      for (const TextToken& token : tokenizer.encode(text, text, special, "/text/0")) {
        fuzz::require(token.id >= 0 && static_cast<std::size_t>(token.id) < tokenizer.size());
        fuzz::require(token.begin <= token.end && token.end <= text.size());
        ids.push_back(token.id);
      }
      fuzz::require(tokenizer.pieces(ids).size() == ids.size());
    }
  });
  return 0;
}
