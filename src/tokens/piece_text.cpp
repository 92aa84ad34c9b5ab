#include "tokens/piece_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/byte_letters.hpp"
#include "tokens/splitters.hpp"

namespace attn {
namespace {

std::string byte_name(char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto number = static_cast<unsigned char>(byte);
  return "<0x" + std::string{digits[number / 16], digits[number % 16], '>'};
}

std::optional<char> byte_of_name(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, number, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(number);
}

void append_decoder(const Stage& stage, PieceText& text) {
  const std::string& type = stage.type();
  if (type == "Sequence") {
    stage.expect_keys({"decoders"});
    stage.each("decoders", [&](const Stage& s) { append_decoder(s, text); });
  } else if (type == "ByteLevel") {
    text.letters_of_bytes = true;
  } else if (type == "ByteFallback") {
    text.byte_tokens = true;
  } else if (type == "Replace") {
    stage.expect_keys({"pattern", "content"});
    text.replacements.push_back(
        {read_pattern(stage.need("pattern"), stage.at("pattern")), stage.string("content")});
  } else if (type == "Metaspace") {
    const Metaspace metaspace = read_metaspace(stage);
    text.replacements.push_back({RegularExpression::literal(metaspace.replacement), " "});
    text.drops_first_space = metaspace.prepend != Metaspace::Prepend::never;
  } else if (type == "Strip") {
    stage.expect_keys({"content", "start", "stop"});
    constexpr std::int64_t most = 1'000'000;
    text.drops_first_space = stage.character("content") == U' ' && stage.integer("start", most) > 0;
  } else if (type == "BPEDecoder") {
    stage.expect_keys({"suffix"});
    text.end_suffix = stage.string("suffix");
  } else if (type != "WordPiece" && type != "Fuse" && type != "CTC") {
    refuse_type(stage, translated("the decoder"),
                {"BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace",
                 "Sequence", "Strip", "WordPiece"});
  }
}

}  // namespace

std::string PieceText::bytes_of(std::string_view token) const {
  if (byte_tokens) {
    if (const auto byte = byte_of_name(token)) return {*byte};
  }
  AlignedText text;
  text.append(token, {});
  for (const Replace& replace : replacements) replace(text);
  if (!end_suffix.empty() && text.text.ends_with(end_suffix)) {
    text.text.replace(text.text.size() - end_suffix.size(), end_suffix.size(), " ");
  }
  if (!letters_of_bytes) return text.text;
  return bytes_of_letters(text.text).value_or(text.text);
}

std::vector<std::string> PieceText::pieces(std::span<const std::string_view> tokens,
                                           bool begins_text) const {
  std::string bytes;
  std::vector<std::size_t> owners;  // the token of each byte
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    bytes += bytes_of(tokens[i]);
    owners.resize(bytes.size(), i);
  }
  std::vector<std::string> pieces(tokens.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(std::string_view(bytes).substr(at));
    if (length == 0) {
      pieces[owners[at]] += byte_name(bytes[at]);
      ++at;
      continue;
    }
    for (std::size_t i = owners[at]; i <= owners[at + length - 1]; ++i) {
      pieces[i].append(bytes, at, length);
    }
    at += length;
  }
  if (begins_text && drops_first_space && !pieces.empty() && pieces[0].size() > 1 &&
      pieces[0][0] == ' ') {
    pieces[0].erase(0, 1);
  }
  return pieces;
}

PieceText read_decoder(const Stage& stage) {
  PieceText text;
  append_decoder(stage, text);
  return text;
}

}  // namespace attn
