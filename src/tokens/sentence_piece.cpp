#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include <sentencepiece_processor.h>

#include "attn/error.hpp"

#include "io/protobuf.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tokens/tokenizer_config.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// The model, cut by its library.

Error no_model() {
  return input_error(translated("this is not a SentencePiece model, or not a complete one"), "",
                     translated("use the file as published, or name the folder of the model"));
}

bool loads(sentencepiece::SentencePieceProcessor& processor, std::string_view bytes) {
  try {
    return processor.LoadFromSerializedProto({bytes.data(), bytes.size()}).ok();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // from its tries, if a piece has no text
    return false;
  }
}

ProtoField take_field(std::string_view& message) {
  const auto field = take_proto_field(message);
  if (!field) throw no_model();
  return *field;
}

// Numbers of fields in sentencepiece_model.proto.
enum : std::uint32_t {
  model_piece = 1,
  model_normalizer = 3,
  model_self_test = 4,
  piece_text = 1,
  normalizer_characters = 2,
};

// Calls each(content) for every field of a message that has the given number.
template <class Each>
void for_each_field(std::string_view message, std::uint32_t number, const Each& each) {
  while (!message.empty()) {
    const ProtoField field = take_field(message);
    if (field.number == number && field.type == ProtoField::with_length && !field.content.empty())
      each(field.content);
  }
}

// Checks the table of characters, which the library follows without checks of its own.
void check_table_of_characters(std::string_view model) {
  for_each_field(model, model_normalizer, [](std::string_view normalizer) {
    for_each_field(normalizer, normalizer_characters,
                   [](std::string_view table) { PrecompiledMap(table, "").check_every_way(); });
  });
}

// Whether the model has a piece that is written as those of bytes are: "<0x0A>".
bool has_bytes(std::string_view model) {
  bool found = false;
  for_each_field(model, model_piece, [&](std::string_view piece) {
    for_each_field(piece, piece_text,
                   [&](std::string_view text) { found = found || text.starts_with("<0x"); });
  });
  return found;
}

// The fields that make a model with pieces of all bytes fall back to them. Messages one after the
// other are one message.
constexpr std::size_t byte_pieces = 256;
std::string bytes_for_unknown() {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string fields("\x12\x03\x98\x02\x01");  // trainer_spec { byte_fallback: true }
  for (std::size_t byte = 0; byte < byte_pieces; ++byte) {
    // pieces { piece: "<0x0A>" type: BYTE }
    fields += "\x0a\x0a\x0a\x06<0x";
    fields += {digits[byte / 16], digits[byte % 16]};
    fields += ">\x18\x06";
  }
  return fields;
}

// Tokenizers of folders with a model.

// Special tokens around texts.
enum class Around { begin_and_end, end, bert, roberta, xlnet, language_after, language_before };

// Numbering of the pieces in the vocabulary.
enum class Numbering {
  own,         // as the model numbers them
  fairseq,     // <s>, <pad>, </s>, <unk>, then the model's pieces from its fourth
  camembert,   // five tokens, some of them unused, then the model's pieces from its second
  pegasus,     // the model's first two pieces, 103 tokens, then its other pieces
  vocabulary,  // by vocab.json
};

struct Kind {
  std::string_view name;      // tokenizer_class
  std::string_view families;  // model types with this class, separated by spaces
  Numbering numbering;
  Around around;
  std::string_view first, last, mask;
};

// Hugging Face's classes. The first is taken for a model type that no row names.
constexpr std::array<Kind, 14> kinds{{
    {"LlamaTokenizer", "llama mistral phi3", Numbering::own, Around::begin_and_end, "<s>", "</s>",
     ""},
    {"CodeLlamaTokenizer", "", Numbering::own, Around::begin_and_end, "<s>", "</s>", ""},
    {"GemmaTokenizer", "gemma gemma2 gemma3_text", Numbering::own, Around::begin_and_end, "<bos>",
     "<eos>", ""},
    {"T5Tokenizer", "t5", Numbering::own, Around::end, "", "</s>", ""},
    {"MT5Tokenizer", "mt5", Numbering::own, Around::end, "", "</s>", ""},
    {"AlbertTokenizer", "albert", Numbering::own, Around::bert, "[CLS]", "[SEP]", "[MASK]"},
    {"XLNetTokenizer", "xlnet", Numbering::own, Around::xlnet, "<cls>", "<sep>", "<mask>"},
    {"XLMRobertaTokenizer", "xlm-roberta", Numbering::fairseq, Around::roberta, "<s>", "</s>",
     "<mask>"},
    {"CamembertTokenizer", "camembert", Numbering::camembert, Around::roberta, "<s>", "</s>",
     "<mask>"},
    {"MBartTokenizer", "mbart", Numbering::fairseq, Around::language_after, "<s>", "</s>",
     "<mask>"},
    {"MBart50Tokenizer", "", Numbering::fairseq, Around::language_before, "<s>", "</s>", "<mask>"},
    {"PegasusTokenizer", "pegasus", Numbering::pegasus, Around::end, "", "</s>", "<mask_2>"},
    {"MarianTokenizer", "marian", Numbering::vocabulary, Around::end, "", "</s>", ""},
    {"BarthezTokenizer", "", Numbering::fairseq, Around::roberta, "<s>", "</s>", "<mask>"},
}};

// The languages of mBART, and those that mBART 50 has after them.
constexpr std::string_view languages =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN";
constexpr std::string_view more_languages =
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF "
    "pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

const Kind* kind_of(const std::string& name, const std::string& family) {
  for (const Kind& kind : kinds) {
    const std::vector<std::string> families = words_of(kind.families);
    const bool own = std::find(families.begin(), families.end(), family) != families.end();
    if (name.empty() ? own : kind.name == name) return &kind;
  }
  return name.empty() ? kinds.data() : nullptr;
}

// Enters a model's pieces into a vocabulary. Returns their ids by the model's numbers.
std::vector<TokenId> numbered(const SentencePieceModel& model, Numbering numbering,
                              TokenTable& tokens) {
  const auto put = [&](const std::string& token) {
    const auto id = static_cast<TokenId>(tokens.size());
    add_token(tokens, token, id, "");
    return id;
  };
  std::size_t first = 0;  // piece that is numbered after the tokens `before`
  std::vector<std::string> before;
  if (numbering == Numbering::fairseq) {
    before = {"<s>", "<pad>", "</s>", "<unk>"};
    first = 3;
  } else if (numbering == Numbering::camembert) {
    before = {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"};
    first = 1;
  } else if (numbering == Numbering::pegasus) {
    for (; first < std::min<std::size_t>(model.size(), 2); ++first) {
      before.push_back(model.piece(first));
    }
    before.insert(before.end(), {"<mask_1>", "<mask_2>"});
    for (int i = 2; i <= 102; ++i) before.push_back("<unk_" + std::to_string(i) + ">");
  }
  for (const std::string& token : before) put(token);
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (i >= first) {
      ids.push_back(put(model.piece(i)));
    } else {
      const std::string& known = i == model.unknown() ? "<unk>" : model.piece(i);
      ids.push_back(tokens.find(known).value_or(0));
    }
  }
  return ids;
}

// The ids that vocab.json gives a model's pieces.
std::vector<TokenId> looked_up(const SentencePieceModel& model, const TokenTable& tokens) {
  const TokenId unknown = id_of(tokens, "<unk>", "vocab.json");
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < model.size(); ++i) {
    ids.push_back(tokens.find(model.piece(i)).value_or(unknown));
  }
  return ids;
}

// The normalizers of ALBERT and XLNet, as their converters to tokenizer.json have them: typed
// quotes, no accents, lower case.
std::vector<Normalizer> normalizers_of(const TokenizerConfig& config, bool lowercase) {
  std::string text = R"({"type": "Sequence", "normalizers": [
      {"type": "Replace", "pattern": {"String": "``"}, "content": "\""},
      {"type": "Replace", "pattern": {"String": "''"}, "content": "\""})";
  if (!config.boolean("keep_accents", false)) {
    text += R"(, {"type": "NFKD"}, {"type": "StripAccents"})";
  }
  if (config.boolean("do_lower_case", lowercase)) text += R"(, {"type": "Lowercase"})";
  const JsonValue stages = parse_json(text + "]}");
  return read_normalizer(Stage(stages, ""));
}

// Special tokens after the vocabulary, which no file has to list.
std::vector<std::string> after_vocabulary(const Kind& kind, const TokenizerConfig& config) {
  std::vector<std::string> tokens;
  if (kind.name == "T5Tokenizer" || kind.name == "MT5Tokenizer") {
    constexpr std::int64_t most = 10'000;
    const std::int64_t usual = kind.name == "T5Tokenizer" ? 100 : 0;
    for (std::int64_t i = config.integer("extra_ids", usual, most); i-- > 0;) {
      tokens.push_back("<extra_id_" + std::to_string(i) + ">");
    }
  }
  if (kind.name == "MBartTokenizer" || kind.name == "MBart50Tokenizer") {
    tokens = words_of(languages);
    if (kind.name == "MBart50Tokenizer") {
      for (std::string& own : words_of(more_languages)) tokens.push_back(std::move(own));
    }
  }
  if (kind.numbering == Numbering::fairseq || kind.numbering == Numbering::camembert) {
    tokens.push_back(config.token("mask_token").value_or(std::string(kind.mask)));
  }
  return tokens;
}

AddedTokens added_of(const Kind& kind, const TokenizerConfig& config, const TokenTable& tokens,
                     const std::vector<Normalizer>& normalizers) {
  auto [added, ids] = config.added();
  // 1. Tokens of the vocabulary, and those after it with the ids that follow. Listed ones keep
  // their flags.
  std::vector<std::pair<TokenId, AddedToken>> all;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto known = tokens.find(added[i].content);
    all.emplace_back(known.value_or(*ids[i]), added[i]);
  }
  const std::string mask = config.token("mask_token").value_or(std::string(kind.mask));
  const auto add = [&](const std::string& content, TokenId id) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const auto& one) { return one.second.content == content; });
    if (known || content.empty()) return;
    AddedToken token;
    token.content = content;
    token.special = true;
    const bool sentinel = content.starts_with("<extra_id_");
    token.strip_left = sentinel || content == mask;
    token.strip_right = sentinel;
    token.place = tokenizer_config_name;
    all.emplace_back(id, token);
  };
  std::vector<std::string> named;
  for (const NamedToken& one : std::initializer_list<NamedToken>{{"bos_token", kind.first},
                                                                 {"eos_token", kind.last},
                                                                 {"cls_token", kind.first},
                                                                 {"sep_token", kind.last},
                                                                 {"unk_token", "<unk>"},
                                                                 {"pad_token", "<pad>"},
                                                                 {"mask_token", kind.mask}}) {
    named.push_back(config.token(one.key).value_or(std::string(one.otherwise)));
  }
  // Texts name the language to translate into for Marian, and gaps for Pegasus.
  for (TokenId id = 0; id < tokens.size(); ++id) {
    if (!tokens.has(id)) continue;
    const std::string_view token = tokens.token(id);
    const bool language =
        kind.numbering == Numbering::vocabulary && token.starts_with(">>") && token.ends_with("<<");
    const bool gap = kind.numbering == Numbering::pegasus && id < 105 &&
                     (token.starts_with("<mask_") || token.starts_with("<unk_"));
    if (language || gap) named.emplace_back(token);
  }
  for (const std::string& token : named) {
    if (const auto id = tokens.find(token)) add(token, *id);
  }
  auto next = static_cast<TokenId>(tokens.size());
  for (const std::string& token : after_vocabulary(kind, config)) {
    if (!tokens.find(token)) add(token, next++);
  }
  // 2. All tokens in the order of their ids.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<AddedToken> sorted;
  std::vector<std::optional<TokenId>> stated;
  for (auto& [id, token] : all) {
    stated.emplace_back(id);
    sorted.push_back(std::move(token));
  }
  number_added_tokens(sorted, tokens, stated);
  return {std::move(sorted), normalizers, tokenizer_config_name + ", /added_tokens_decoder"};
}

TextTemplate template_of(const Kind& kind, const TokenizerConfig& config,
                         const TokenizerParts& parts, const std::string& file) {
  const auto id = [&](std::string_view key, std::string_view otherwise) {
    const std::string token = config.token(key).value_or(std::string(otherwise));
    if (const auto found = parts.find(token)) return *found;
    throw input_error(translated("the token {1} is not in the vocabulary", in_quotes(token)), file,
                      translated("use the files of the folder as published together"));
  };
  using Part = TextTemplate::Part;
  TextTemplate result;
  const auto flag = [&](std::string_view key, bool otherwise) {
    return in_file(tokenizer_config_name, [&] { return config.boolean(key, otherwise); });
  };
  switch (kind.around) {
    case Around::begin_and_end: {
      std::vector<Part> before, after;
      if (flag("add_bos_token", true)) before.push_back({-1, 0, {id("bos_token", kind.first)}});
      if (flag("add_eos_token", false)) after.push_back({-1, 0, {id("eos_token", kind.last)}});
      for (const int text : {0, 1}) {
        std::vector<Part> own = before;
        own.push_back({text, 0, {}});
        own.insert(own.end(), after.begin(), after.end());
        for (Part& part : own) part.type = text;
        if (text == 0) result.single = result.pair = own;
        if (text == 1) result.pair.insert(result.pair.end(), own.begin(), own.end());
      }
      return result;
    }
    case Around::end: {
      const Part end{-1, 0, {id("eos_token", kind.last)}};
      result.single = {{0, 0, {}}, end};
      result.pair = {{0, 0, {}}, end, {1, 0, {}}, end};
      // Pegasus and Marian have one end after both texts of a pair.
      if (kind.numbering != Numbering::own) result.pair.erase(result.pair.begin() + 1);
      return result;
    }
    case Around::bert:
    case Around::roberta: {
      const TokenId first = id("cls_token", kind.first), last = id("sep_token", kind.last);
      return enclosing_template(first, last, kind.around == Around::roberta);
    }
    case Around::xlnet: {
      const TokenId end = id("sep_token", kind.last);
      const Part last{-1, 2, {id("cls_token", kind.first)}};
      result.single = {{0, 0, {}}, {-1, 0, {end}}, last};
      result.pair = {{0, 0, {}}, {-1, 0, {end}}, {1, 1, {}}, {-1, 1, {end}}, last};
      return result;
    }
    case Around::language_after:
    case Around::language_before:
      break;
  }
  const Part end{-1, 0, {id("eos_token", kind.last)}}, language{-1, 0, {id("src_lang", "en_XX")}};
  result.single = {{0, 0, {}}, end};
  result.pair = {{0, 0, {}}, {1, 0, {}}, end};
  for (std::vector<Part>* parts_of : {&result.single, &result.pair}) {
    const bool before = kind.around == Around::language_before;
    parts_of->insert(before ? parts_of->begin() : parts_of->end(), language);
  }
  return result;
}

}  // namespace

SentencePieceModel::SentencePieceModel(std::string_view bytes, bool no_prefix) {
  constexpr std::size_t most = std::size_t{64} << 20;
  if (bytes.size() > most) {
    throw input_error(translated("the file has {1} bytes, more than 64 MiB", bytes.size()), "",
                      translated("no SentencePiece model is so large: use the file as published"));
  }
  check_table_of_characters(bytes);
  // While it loads, the library would cut texts of any length that the model tests itself by.
  std::string model;
  for (std::string_view left = bytes; !left.empty();) {
    const ProtoField field = take_field(left);
    if (field.number == model_piece) ++size_;
    if (field.number != model_self_test) model += field.bytes;
  }
  // The library joins unknown characters to one piece, which it copies again for each of them. With
  // bytes to fall back to it lists them, and they are joined in cut().
  const bool own_bytes = has_bytes(bytes);
  if (!own_bytes) model += bytes_for_unknown();
  // normalizer_spec { add_dummy_prefix: false }; what comes last counts.
  if (no_prefix) model += std::string("\x1a\x02\x18\x00", 4);
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  if (size_ == 0 || !loads(*processor, model)) throw no_model();
  // A field of a piece's number and another form counts above, and is no piece for the library.
  const std::size_t pieces = size_ + (own_bytes ? 0 : byte_pieces);
  if (static_cast<std::size_t>(processor->GetPieceSize()) != pieces) throw no_model();
  joins_by_copies_ = own_bytes;
  // By its type: the library looks for the name that the settings of training give it, and there
  // may be none of that name.
  unknown_ = size_;
  for (std::size_t i = 0; i < size_; ++i) {
    const int number = static_cast<int>(i);
    if (processor->IsByte(number)) joins_by_copies_ = false;
    if (unknown_ == size_ && processor->IsUnknown(number)) unknown_ = i;
  }
  if (unknown_ == size_) throw no_model();
  processor_ = std::move(processor);
}

std::size_t SentencePieceModel::size() const {
  return size_;
}

const std::string& SentencePieceModel::piece(std::size_t number) const {
  return processor_->IdToPiece(static_cast<int>(number));
}

void SentencePieceModel::cut(std::string_view text, std::vector<ModelToken>& result) const {
  // The library takes half a kilobyte per byte of text, and where it joins by copies a time that
  // grows with the square.
  const std::size_t most = joins_by_copies_ ? std::size_t{1} << 16 : std::size_t{1} << 20;
  if (text.size() > most) {
    throw input_error(joins_by_copies_
                          ? translated("the text has {1} bytes, more than 64 KiB", text.size())
                          : translated("the text has {1} bytes, more than 1 MiB", text.size()),
                      "", translated("give less text at a time"));
  }
  check_time();
  const auto cut = processor_->EncodeAsImmutableProto({text.data(), text.size()});
  const std::size_t first = result.size(), count = cut.pieces_size();
  bool after_unknown = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto piece = cut.pieces(static_cast<int>(i));
    const bool unknown_byte = piece.id() >= size_;
    if (unknown_byte && after_unknown) {
      result.back().end = piece.end();
      continue;
    }
    after_unknown = unknown_byte;
    const std::size_t number = unknown_byte ? unknown() : piece.id();
    result.push_back({ids_[number], piece.begin(), piece.end()});
  }
  if (size_ < static_cast<std::size_t>(processor_->GetPieceSize())) return;
  // Only the last byte of a character comes with the place of the character.
  for (std::size_t i = count; i-- > 1;) {
    ModelToken& before = result[first + i - 1];
    const auto number = cut.pieces(static_cast<int>(i - 1)).id();
    if (before.begin == before.end && processor_->IsByte(static_cast<int>(number))) {
      before.end = result[first + i].end;
    }
  }
}

std::optional<TokenizerParts> parts_from_sentence_piece(const TokenizerFiles& files) {
  if (!files.sentencepiece) return std::nullopt;
  const TokenizerConfig config(files);
  std::string name = config.class_name();
  // These classes are those of any tokenizer.json.
  if (is_one_of(name, {"PreTrainedTokenizer", "PreTrainedTokenizerFast"})) name.clear();
  const Kind* kind = kind_of(name, files.model_type);
  if (kind == nullptr) {
    if (files.vocab_txt || files.merges_txt) return std::nullopt;
    refuse_class(name, files.sentencepiece_name);
  }
  auto tokens = std::make_shared<TokenTable>();
  if (kind->numbering == Numbering::vocabulary) {
    if (!files.vocab_json) {
      throw input_error(translated("there is a {1}, but no vocab.json", files.sentencepiece_name),
                        "", translated("use the folder's files as published together"));
    }
    tokens = in_file("vocab.json", [&] { return read_vocab_json(*files.vocab_json); });
  }
  const bool no_prefix =
      in_file(tokenizer_config_name, [&] { return !config.boolean("add_prefix_space", true); });
  SentencePieceModel model = in_file(files.sentencepiece_name, [&] {
    SentencePieceModel own(*files.sentencepiece, no_prefix);
    if (tokens->size() == 0) own.number_pieces(numbered(own, kind->numbering, *tokens));
    return own;
  });
  if (kind->numbering == Numbering::vocabulary) model.number_pieces(looked_up(model, *tokens));
  TokenizerParts parts{tokens, std::move(model)};
  if (kind->around == Around::xlnet || kind->around == Around::bert) {
    parts.normalizers = in_file(tokenizer_config_name, [&] {
      return normalizers_of(config, kind->around == Around::bert);
    });
  }
  parts.written.byte_tokens = true;
  parts.written.drops_first_space = !no_prefix;
  parts.written.replacements.push_back({RegularExpression::literal("\u2581"), " "});
  parts.added = added_of(*kind, config, *parts.tokens, parts.normalizers);
  parts.around = template_of(*kind, config, parts, files.sentencepiece_name);
  return parts;
}

}  // namespace attn
