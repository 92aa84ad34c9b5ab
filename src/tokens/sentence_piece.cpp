#include "tokens/sentence_piece.hpp"

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include <sentencepiece_processor.h>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tokens/precompiled_map.hpp"

namespace attn {
namespace {

Error no_model() {
  return input_error(translated("this is no SentencePiece model, or not the whole of one"), "",
                     translated("take the file as it was published"));
}

bool loads(sentencepiece::SentencePieceProcessor& processor, std::string_view bytes) {
  try {
    return processor.LoadFromSerializedProto({bytes.data(), bytes.size()}).ok();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // such as its tries', of pieces that have no text
    return false;
  }
}

// A number in a message of protobuf: seven bits a byte, the lowest first.
std::uint64_t take_number(std::string_view& bytes) {
  constexpr unsigned int most_bits = 64;
  std::uint64_t number = 0;
  for (unsigned int bits = 0; !bytes.empty() && bits < most_bits; bits += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << bits;
    if ((byte & 0x80U) == 0) return number;
  }
  throw no_model();
}

// Calls `each` with what every field of that number holds in a message of protobuf
// (protobuf.dev/programming-guides/encoding), of which a later one counts.
template <class Each>
void for_each_field(std::string_view message, std::uint32_t number, const Each& each) {
  enum : std::uint32_t { varying = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };
  while (!message.empty()) {
    const auto tag = static_cast<std::uint32_t>(take_number(message));
    const std::uint32_t type = tag & 7U;
    std::uint64_t length = 0;
    if (type == varying) take_number(message);
    if (type == eight_bytes) length = 8;
    if (type == with_length) length = take_number(message);
    if (type == four_bytes) length = 4;
    if (length > message.size()) throw no_model();
    if (type == with_length && tag >> 3U == number) each(message.substr(0, length));
    message.remove_prefix(length);
  }
}

// The library follows the table of characters wherever it leads.
void check_table_of_characters(std::string_view model) {
  // As sentencepiece_model.proto numbers them.
  constexpr std::uint32_t normalizer_spec = 3, precompiled_charsmap = 2;
  for_each_field(model, normalizer_spec, [&](std::string_view normalizer) {
    for_each_field(normalizer, precompiled_charsmap, [&](std::string_view table) {
      if (!table.empty()) PrecompiledMap(table, "").check_every_way();
    });
  });
}

}  // namespace

SentencePieceModel::SentencePieceModel(std::string_view bytes) {
  constexpr std::size_t most = std::size_t{64} << 20;
  if (bytes.size() > most) {
    throw input_error(
        translated("the file has {1} bytes, more than 64 MiB", bytes.size()), "",
        translated("no SentencePiece model is so large: take the file as it was published"));
  }
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  if (!loads(*processor, bytes) || processor->GetPieceSize() <= 0) throw no_model();
  check_table_of_characters(bytes);
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
