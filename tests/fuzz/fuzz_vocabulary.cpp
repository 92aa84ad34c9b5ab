#include "fuzz/fuzz_input.hpp"
#include "tokens/vocabulary.hpp"
#include "tokens/wordpiece.hpp"

// The bytes up to the first zero are a vocabulary, those behind it a text to cut into its pieces.
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
      const WordPiece tokenizer(vocabulary, lowercase, "vocab.txt");
      const Pieces pieces = tokenizer.encode(text, "/text/0");
      fuzz::require(pieces.ids.size() == pieces.texts.size() && pieces.ids.size() >= 2);
      for (const std::int64_t id : pieces.ids) vocabulary.token(id);
    }
  });
  return 0;
}
