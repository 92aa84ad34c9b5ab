#include "tokens/sentence_piece.hpp"

#include <sentencepiece_processor.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {

SentencePieceModel::SentencePieceModel(std::string_view bytes) {
  constexpr std::size_t most = std::size_t{64} << 20;
  if (bytes.size() > most) {
    throw input_error(
        translated("the file has {1} bytes, more than 64 MiB", bytes.size()), "",
        translated("no SentencePiece model is so large: take the file as it was published"));
  }
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  const auto status = processor->LoadFromSerializedProto({bytes.data(), bytes.size()});
  if (!status.ok() || processor->GetPieceSize() <= 0) {
    throw input_error(translated("this is no SentencePiece model, or not the whole of one"), "",
                      translated("take the file as it was published"));
  }
  processor_ = std::move(processor);
}

std::size_t SentencePieceModel::size() const {
  return static_cast<std::size_t>(processor_->GetPieceSize());
}

const std::string& SentencePieceModel::piece(std::size_t number) const {
  return processor_->IdToPiece(static_cast<int>(number));
}

std::size_t SentencePieceModel::unknown() const {
  return static_cast<std::size_t>(processor_->unk_id());
}

void SentencePieceModel::cut(std::string_view text, std::vector<ModelToken>& result) const {
  // The library takes half a kilobyte for each byte of text.
  constexpr std::size_t most = std::size_t{1} << 20;
  if (text.size() > most) {
    throw input_error(translated("the text has {1} bytes, more than 1 MiB", text.size()), "",
                      translated("give less text at a time"));
  }
  const auto cut = processor_->EncodeAsImmutableProto({text.data(), text.size()});
  const std::size_t first = result.size(), count = cut.pieces_size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto piece = cut.pieces(static_cast<int>(i));
    result.push_back({ids_[piece.id()], piece.begin(), piece.end()});
  }
  // Of the bytes of a character the last alone has its place.
  for (std::size_t i = count; i-- > 1;) {
    ModelToken& before = result[first + i - 1];
    const auto number = cut.pieces(static_cast<int>(i - 1)).id();
    if (before.begin == before.end && processor_->IsByte(static_cast<int>(number))) {
      before.end = result[first + i].end;
    }
  }
}

}  // namespace attn
