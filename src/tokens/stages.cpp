#include "tokens/stages.hpp"

#include <charconv>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// Post-processors.

constexpr std::int64_t most_types = 1'000'000;

TokenId read_id(const JsonValue& value, std::size_t tokens, const std::string& where) {
  if (!value.is(JsonValue::Type::number) || !value.is_integer() || value.integer() < 0 ||
      static_cast<std::uint64_t>(value.integer()) >= tokens) {
    throw input_error(translated("expected the id of one of the {1} tokens, found {2}", tokens,
                                 (value.is(JsonValue::Type::number) && value.is_integer()
                                      ? std::to_string(value.integer())
                                      : translated(type_text(value)))),
                      where, translated("use the file as published"));
  }
  return static_cast<TokenId>(value.integer());
}

// The id of ["[SEP]", 102].
TokenId read_named_id(const Stage& stage, std::string_view key, std::size_t tokens) {
  const JsonValue& pair = stage.array(key);
  if (pair.size() != 2) {
    throw input_error(translated("expected a token and its id"), stage.place(key),
                      R"(give ["[SEP]", 102])");
  }
  return read_id(pair.element(1), tokens, pointer_to(stage.place(key), 1));
}

// The ids of a special token that a template names.
std::vector<TokenId> read_special(const Stage& stage, const std::string& name, std::size_t tokens) {
  const Stage list(stage.member("special_tokens"), stage.place("special_tokens"));
  const JsonValue* special = list.find(name);
  if (special == nullptr) {
    throw input_error(
        translated("the template puts {1} around texts, which is not among its special tokens",
                   in_quotes(name)),
        list.place(), translated("use the file as published"));
  }
  std::vector<TokenId> ids;
  Stage(*special, list.place(name)).each("ids", [&](const JsonValue& id, const std::string& place) {
    ids.push_back(read_id(id, tokens, place));
  });
  return ids;
}

// A part of a template: {"Sequence": …} or {"SpecialToken": …}.
TextTemplate::Part read_part(const Stage& stage, const Stage& part, bool of_pair,
                             std::size_t tokens) {
  for (const std::string_view kind : {"Sequence", "SpecialToken"}) {
    const JsonValue* found = part.value().find(kind);
    if (found == nullptr) continue;
    const Stage inner(*found, part.place(kind));
    TextTemplate::Part result;
    result.type = inner.integer("type_id", most_types);
    const std::string& id = inner.string("id");
    if (kind == "SpecialToken") {
      result.ids = read_special(stage, id, tokens);
    } else if (id == "A" || (id == "B" && of_pair)) {
      result.text = id == "A" ? 0 : 1;
    } else {
      throw input_error(translated("there is no text {1} in this template", in_quotes(id)),
                        inner.place("id"),
                        of_pair ? translated("give A or B") : translated("give A"));
    }
    return result;
  }
  throw input_error(
      translated("expected a part of a template, found {1}", translated(type_text(part.value()))),
      part.place(), translated("give {1} or {2}", R"({"Sequence": …})", R"({"SpecialToken": …})"));
}

std::vector<TextTemplate::Part> read_parts(const Stage& stage, std::string_view key,
                                           std::size_t tokens) {
  // Each text gets all of them.
  constexpr std::size_t most = 1000;
  std::vector<TextTemplate::Part> parts;
  std::size_t around = 0;
  stage.each(key, [&](const JsonValue& part, const std::string& place) {
    parts.push_back(read_part(stage, Stage(part, place), key == "pair", tokens));
    around += std::max<std::size_t>(1, parts.back().ids.size());
    if (around > most) {
      throw input_error(
          translated("the template puts more than {1} parts and tokens together", most), place,
          translated("use the file as published"));
    }
  });
  return parts;
}

/// What post-processors put together: the texts, each with what was put around it.
using Pieces = std::vector<std::vector<TextTemplate::Part>>;
/// A step of that; false for numbers of pieces that it is not defined for.
using Processor = std::function<bool(Pieces&)>;

// Puts tokens around each piece (see enclosing_template()).
void enclose(TokenId first, TokenId last, bool doubled, Pieces& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::vector<TextTemplate::Part>& own = pieces[i];
    const std::int64_t type = i > 0 && !doubled ? 1 : 0;
    if (doubled) {
      for (TextTemplate::Part& part : own) part.type = 0;
    }
    if (i == 0) own.insert(own.begin(), {-1, 0, {first}});
    if (i > 0 && doubled) own.insert(own.begin(), {-1, 0, {last}});
    own.push_back({-1, type, {last}});
  }
}

// Each part of the template becomes a piece. A template is defined for one piece and for two.
bool put_into(const TextTemplate& around, Pieces& pieces) {
  if (pieces.size() > 2) return false;
  Pieces result;
  for (const TextTemplate::Part& part : pieces.size() == 1 ? around.single : around.pair) {
    std::vector<TextTemplate::Part>& own = result.emplace_back();
    if (part.text < 0) {
      own.push_back(part);
      continue;
    }
    own = pieces[static_cast<std::size_t>(part.text)];
    for (TextTemplate::Part& inner : own) inner.type = part.type;
  }
  pieces = std::move(result);
  return true;
}

const Pieces one_text{{{0, 0, {}}}}, two_texts{{{0, 0, {}}}, {{1, 1, {}}}};

std::vector<TextTemplate::Part> joined(const Pieces& pieces) {
  std::vector<TextTemplate::Part> parts;
  for (const auto& piece : pieces) parts.insert(parts.end(), piece.begin(), piece.end());
  return parts;
}

std::vector<StageType<Processor>> processor_types(std::size_t tokens) {
  const auto enclosing = [=](const Stage& stage, bool doubled) {
    return [=, first = read_named_id(stage, "cls", tokens),
            last = read_named_id(stage, "sep", tokens)](Pieces& pieces) {
      enclose(first, last, doubled, pieces);
      return true;
    };
  };
  return {
      {"BertProcessing", Names{"sep", "cls"},
       [=](const Stage& stage) { return enclosing(stage, false); }},
      // Only moves offsets.
      {"ByteLevel", Names{"add_prefix_space", "trim_offsets", "use_regex"},
       [](const Stage&) { return [](Pieces&) { return true; }; }},
      {"RobertaProcessing", Names{"sep", "cls", "trim_offsets", "add_prefix_space"},
       [=](const Stage& stage) { return enclosing(stage, true); }},
      {"TemplateProcessing", Names{"single", "pair", "special_tokens"}, [=](const Stage& stage) {
         return [around = TextTemplate{read_parts(stage, "single", tokens),
                                       read_parts(stage, "pair", tokens)}](Pieces& pieces) {
           return put_into(around, pieces);
         };
       }}};
}

// Decoders.

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

// A change of the writing that a decoder describes.
using Decoder = std::function<void(PieceText&)>;

Decoder read_replace(const Stage& stage) {
  return [replace = Replace{read_pattern(stage, "pattern"), stage.string("content")}](
             PieceText& text) { text.replacements.push_back(replace); };
}

Decoder read_metaspace_decoder(const Stage& stage) {
  return [metaspace = read_metaspace(stage)](PieceText& text) {
    text.replacements.push_back({RegularExpression::literal(metaspace.replacement), " "});
    text.drops_first_space = metaspace.prepend != Metaspace::Prepend::never;
  };
}

Decoder read_strip(const Stage& stage) {
  constexpr std::int64_t most = 1'000'000;
  const bool drops = stage.character("content") == U' ' && stage.integer("start", most) > 0;
  return [=](PieceText& text) { text.drops_first_space = drops; };
}

Decoder read_suffix(const Stage& stage) {
  return [suffix = stage.string("suffix")](PieceText& text) { text.end_suffix = suffix; };
}

const std::vector<StageType<Decoder>>& decoder_types() {
  const auto nothing = [](const Stage&) { return [](PieceText&) {}; };
  static const std::vector<StageType<Decoder>> types = {
      {"BPEDecoder", Names{"suffix"}, read_suffix},
      {"ByteFallback", std::nullopt,
       [](const Stage&) { return [](PieceText& text) { text.byte_tokens = true; }; }},
      {"ByteLevel", std::nullopt,
       [](const Stage&) { return [](PieceText& text) { text.letters_of_bytes = true; }; }},
      {"CTC", std::nullopt, nothing},
      {"Fuse", std::nullopt, nothing},
      {"Metaspace", metaspace_keys, read_metaspace_decoder},
      {"Replace", Names{"pattern", "content"}, read_replace},
      {"Strip", Names{"content", "start", "stop"}, read_strip},
      {"WordPiece", std::nullopt, nothing}};
  return types;
}

}  // namespace

Stage::Stage(const JsonValue& value, std::string place)
    : JsonObject(value, std::move(place),
                 {.missing = to_translate("the key \"{1}\" is missing"),
                  .missing_help = to_translate("use the file as published, or write it again"),
                  .type_help = to_translate("use the file as published, or write it again"),
                  .missing_in_object = true}) {}

const std::string& Stage::type() const {
  expect_object(value(), place(), translated("use the file as published, or write it again"));
  return string("type");
}

void Stage::expect_keys(const Names& keys, const std::string& type) const {
  for (const JsonMember& member : value().members()) {
    if (member.key == "type" || std::find(keys.begin(), keys.end(), member.key) != keys.end()) {
      continue;
    }
    throw input_error(
        translated("the key {1} of {2} is not supported", in_quotes(member.key), type),
        place(member.key),
        translated("leaving it out could give other tokens: remove it only if it does not matter"));
  }
}

const JsonValue* Stage::find(std::string_view key) const noexcept {
  const JsonValue* const found = JsonObject::find(key);
  return found == nullptr || found->is(JsonValue::Type::null) ? nullptr : found;
}

bool Stage::boolean(std::string_view key, bool otherwise) const {
  return find(key) == nullptr ? otherwise : boolean(key);
}

std::optional<std::string> Stage::optional_string(std::string_view key) const {
  return find(key) == nullptr ? std::nullopt : std::optional(string(key));
}

std::int64_t Stage::integer(std::string_view key, std::int64_t most) const {
  const JsonValue& found = member(key);
  if (!found.is(JsonValue::Type::number) || !found.is_integer() || found.integer() < 0 ||
      found.integer() > most) {
    throw input_error(
        translated("expected {1}, found {2}", translated("an integer from 0 to {1}", most),
                   translated(type_text(found))),
        place(key), translated("use the file as published, or write it again"));
  }
  return found.integer();
}

char32_t Stage::character(std::string_view key) const {
  const std::string& text = string(key);
  std::size_t at = 0;
  const char32_t c = text.empty() ? 0 : next_character(text, at);
  if (text.empty() || at != text.size()) {
    throw input_error(translated("expected one character, found {1}", in_quotes(text)), place(key),
                      translated("give a single character"));
  }
  return c;
}

void refuse_type(const Stage& stage, const std::string& noun, const Names& known) {
  throw input_error(translated("{1} {2} is not supported", noun, in_quotes(stage.type())),
                    stage.place("type"), suggestion(stage.type(), known));
}

void check_stage_count(std::size_t before, const Stage& stage) {
  constexpr std::size_t most = 256;
  if (before < most) return;
  throw input_error(translated("there are more than {1} stages", most), stage.place(),
                    translated("use the file as published"));
}

RegularExpression read_pattern(const Stage& stage, std::string_view key) {
  const JsonValue& value = stage.member(key);
  const Stage pattern(value, stage.place(key));
  if (value.is(JsonValue::Type::object) && value.members().size() == 1) {
    if (pattern.find("String") != nullptr) {
      return RegularExpression::literal(pattern.string("String"));
    }
    if (pattern.find("Regex") != nullptr) return {pattern.string("Regex"), pattern.place("Regex")};
  }
  throw input_error(translated("expected a pattern, found {1}", translated(type_text(value))),
                    pattern.place(),
                    translated("give {1} or {2}", R"({"String": …})", R"({"Regex": …})"));
}

TextTemplate enclosing_template(TokenId first, TokenId last, bool doubled) {
  Pieces single = one_text, pair = two_texts;
  enclose(first, last, doubled, single);
  enclose(first, last, doubled, pair);
  return {joined(single), joined(pair)};
}

TextTemplate read_template(const Stage& stage, std::size_t tokens) {
  // Each processor gets the pieces that the one before made, as in Hugging Face's library, where
  // two templates fit together only if the first makes two pieces at most.
  constexpr std::size_t most = 1000;
  Pieces single = one_text, pair = two_texts;
  TextTemplate result;
  std::size_t count = 0;
  read_stages(stage, translated("the post-processor"), "processors", processor_types(tokens),
              [&](const Processor& process, const Stage& processor) {
                check_stage_count(count++, processor);
                result.takes_pairs = result.takes_pairs && process(pair);
                if (process(single) && joined(pair).size() <= most) return;
                throw input_error(
                    translated("two post-processors put tokens around the text, which is not "
                               "supported"),
                    processor.place(), translated("leave out one of the two"));
              });
  result.single = joined(single);
  result.pair = joined(pair);
  return result;
}

std::string PieceText::bytes_of(std::string_view token, MatchBudget& budget) const {
  if (byte_tokens) {
    if (const auto byte = byte_of_name(token)) return {*byte};
  }
  AlignedText text;
  text.append(token, {});
  for (const Replace& replace : replacements) replace(text, budget);
  if (!end_suffix.empty() && text.text.ends_with(end_suffix)) {
    text.text.replace(text.text.size() - end_suffix.size(), end_suffix.size(), " ");
  }
  if (!letters_of_bytes) return text.text;
  return bytes_of_letters(text.text).value_or(text.text);
}

std::vector<std::string> PieceText::pieces(std::span<const std::string_view> tokens,
                                           bool begins_text, MatchBudget& budget) const {
  std::string bytes;
  std::vector<std::size_t> owners;  // the token of each byte
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    bytes += bytes_of(tokens[i], budget);
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
  read_stages(stage, translated("the decoder"), "decoders", decoder_types(),
              [&](const Decoder& decoder, const Stage& one) {
                check_stage_count(text.replacements.size(), one);
                decoder(text);
              });
  return text;
}

}  // namespace attn
