#include <algorithm>

#include "fuzz/fuzz_input.hpp"
#include "tokens/tokenizer.hpp"
#include "tokens/vocabulary.hpp"

// The bytes up to the first zero are a vocabulary, those after it a text to encode.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  const std::string_view both = input.text();
  const std::size_t zero = std::min(both.find('\0'), both.size());
  const std::string_view text = both.substr(std::min(zero + 1, both.size()));
  fuzz::accept_refusals([&] {
    const Vocabulary vocabulary = Vocabulary::from_text(both.substr(0, zero), "vocab.txt");
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const auto number = static_cast<std::int64_t>(id);
      fuzz::require(vocabulary.find(vocabulary.token(number)) == number);
    }
    fuzz::accept_refusals([&] { vocabulary.id(text, "/tokens/0"); });
    for (const bool lowercase : {false, true}) {
      const Tokenizer tokenizer = Tokenizer::wordpiece(vocabulary, lowercase, "vocab.txt");
      const auto tokens = tokenizer.encode(text, std::nullopt, true, "/text/0");
      fuzz::require(tokens.size() >= 2);
      for (const TextToken& token : tokens) {
        vocabulary.token(token.id);
        fuzz::require(token.begin <= token.end && token.end <= text.size());
      }
    }
  });
  return 0;
}
