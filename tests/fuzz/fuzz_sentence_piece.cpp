#include "fuzz/fuzz_input.hpp"
#include "tokens/tokenizer.hpp"

// The bytes are a tokenizer.model, read as that of several model types.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  for (const char* family : {"llama", "t5", "xlm-roberta", "pegasus"}) {
    fuzz::accept_refusals([&] {
      TokenizerFiles files;
      files.sentencepiece = input.text();
      files.model_type = family;
      const Tokenizer tokenizer = Tokenizer::from_files(files);
      const std::string_view text = "Hello, naïve  world 12345 𝄞</s><mask> ﬁne";
      std::vector<std::int64_t> ids;
      for (const TextToken& token : tokenizer.encode(text, text, true, "/text/0")) {
        fuzz::require(token.id >= 0 && static_cast<std::size_t>(token.id) < tokenizer.size());
        fuzz::require(token.begin <= token.end && token.end <= text.size());
        ids.push_back(token.id);
      }
      fuzz::require(tokenizer.pieces(ids).size() == ids.size());
    });
  }
  return 0;
}
