#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "document/model_reader.hpp"
#include "document/token_reader.hpp"
#include "models/checkpoint.hpp"
#include "models/classification.hpp"
#include "models/sentence_embedding.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tokens/characters.hpp"
#include "tokens/regular_expression.hpp"
#include "tokens/text_slips.hpp"

namespace attn {

// Counts from below what each sample asks for: maps and their flags, and the memory of ids, token
// texts and labels, which count as 16 elements each.
void ModelTextReader::check_samples(const JsonValue& list, std::size_t tokens,
                                    const std::string& at) const {
  check_sample_count(list.size(), at);
  constexpr double text_of_token = 16;
  const double samples = static_cast<double>(list.size()), length = static_cast<double>(tokens);
  double each = 2 * text_of_token * length;
  for (const ModelStack& stack : model().stacks) {
    double least = -1, all = 0;
    for (const ModelLayer& layer : stack.layers) {
      const auto heads = static_cast<double>(layer.heads);
      const double of_map = (request_.options.wanted.weights ? heads : 0) + 1;
      const double read = length / static_cast<double>(std::size_t{1} << (2 * layer.mergings));
      const double own = (stack.crosses ? 2 : 1) * read * (of_map * read + text_of_token);
      all += own;
      least = least < 0 ? own : std::min(least, own);
    }
    each += root_.find("layers") != nullptr ? least : all;
  }
  const double most = static_cast<double>(access_.limits.elements);
  if (samples * each > most) {
    throw input_error(
        translated("{1} samples ask for {2} elements or more, and the limit is {3}", list.size(),
                   amount_text(samples * each, most), limit_text(most)),
        at,
        translated("give fewer, in several documents of a batch, or raise the limit with "
                   "Limits::elements"));
  }
  check_memory(samples * each * sizeof(float), translated("what the document asks for"), at);
}

void ModelTextReader::read_texts() {
  const JsonValue* text = root_.find("text");
  const JsonValue* ids = root_.find("token_ids");
  const JsonValue* types = root_.find("token_types");
  if ((text == nullptr) == (ids == nullptr)) {
    throw input_error(text == nullptr
                          ? translated("the document has nothing for the model to read")
                          : translated("\"text\" and \"token_ids\" cannot both be given"),
                      text == nullptr ? "/text" : "/token_ids",
                      text == nullptr ? translated("give \"text\" or \"token_ids\", or "
                                                   "DocumentOptions::texts")
                                      : translated("leave one of them out"));
  }
  if (text != nullptr) {
    if (types != nullptr) {
      throw input_error(translated("\"text\" and \"token_types\" cannot both be given"),
                        "/token_types",
                        translated("leave it out: the types follow from the tokenizer"));
    }
    read_prompt();
    Sequences read = read_sequences(*text, "/text", Stack::first);
    request_.texts.ids = std::move(read.ids);
    request_.texts.types = std::move(read.types);
    request_.texts.place = "/text";
    report_.tokens = std::move(read.pieces);
    refuse_other_tokenizer();
    return;
  }
  if (has_rows(*ids)) check_samples(*ids, 1, "/token_ids");
  request_.texts.ids = read_ids(*ids, "/token_ids");
  report_.tokens = written(request_.texts.ids, request_.folder->tokenizer);
  find_special_ids();
  if (types != nullptr) read_token_types(*types);
}

// Throws Error(input) for ids of the folder's tokenizer that the model has no embedding of.
void ModelTextReader::refuse_other_tokenizer() const {
  const ModelFolder& folder = *request_.folder;
  const auto table = StackWeights(folder.weights, model(), model().stacks.front())
                         .shape(WeightPurpose::tokens, std::nullopt, "weight");
  if (!table || table->empty()) return;
  constexpr std::size_t few_added = 100;
  for (const Ids& own : request_.texts.ids) {
    for (const std::int64_t id : own) {
      if (id < 0 || static_cast<std::size_t>(id) < table->front()) continue;
      throw input_error(
          translated(
              "the tokenizer of the folder gives {1} the id {2}, and the model has {3} tokens",
              in_quotes(folder.tokenizer->pieces({&id, 1}).front()), id, table->front()),
          folder.path.string(),
          folder.tokenizer->size() - table->front() <= few_added
              ? translated(
                    "tokens were added to the tokenizer and not to the model: take its files "
                    "from where the weights are from, or resize the model's embeddings")
              : translated("the tokenizer belongs to another model: take its files from where the "
                           "weights are from"));
    }
  }
}

void ModelTextReader::read_token_types(const JsonValue& types) {
  if (!types_in_table() && !model().compares_types()) {
    throw input_error(translated("the model has no token types"), "/token_types",
                      translated("leave it out"));
  }
  request_.texts.types = read_ids(types, "/token_types");
  const auto& samples = request_.texts.ids;
  for (std::size_t b = 0; b < std::max(samples.size(), request_.texts.types.size()); ++b) {
    const std::size_t tokens = b < samples.size() ? samples[b].size() : 0;
    const std::size_t found = b < request_.texts.types.size() ? request_.texts.types[b].size() : 0;
    if (tokens == found) continue;
    throw input_error(
        translated("{1} for {2}", translated_count(found, "{1} token type", "{1} token types"),
                   translated_count(tokens, "{1} token", "{1} tokens")),
        pointer_to("/token_types", b), translated("give one type for each token"));
  }
}

// Finds the special ones among given ids, where parts lie between them.
void ModelTextReader::find_special_ids() {
  const JsonValue* parts = root_.find("parts");
  if (parts == nullptr || !parts->is(JsonValue::Type::string)) return;
  if (request_.folder->no_tokenizer) throw *request_.folder->no_tokenizer;
  for (const Ids& own : request_.texts.ids) {
    prompts_.push_back(prompt_of(own, *request_.folder->tokenizer));
  }
}

// The number of token types in the model's table, if it has one.
std::optional<std::size_t> ModelTextReader::types_in_table() const {
  const StackWeights names(request_.folder->weights, model(), model().stacks.front());
  const auto shape = names.shape(WeightPurpose::types, std::nullopt, "weight");
  return shape && !shape->empty() ? std::optional(shape->front()) : std::nullopt;
}

void ModelTextReader::read_captions() {
  const JsonValue* text = root_.find("text");
  const JsonValue* ids = root_.find("token_ids");
  const char* const key = text != nullptr ? "/text" : "/token_ids";
  if (root_.find("token_types") != nullptr) {
    throw input_error(translated("the model has no token types"), "/token_types",
                      translated("leave it out"));
  }
  if (text == nullptr && ids == nullptr) return;
  if (text != nullptr && ids != nullptr) {
    throw input_error(translated("\"text\" and \"token_ids\" cannot both be given"), "/token_ids",
                      translated("leave one of them out"));
  }
  if (!model().text) {
    throw input_error(translated("the model has no part that reads texts"), key,
                      translated("leave the texts out"));
  }
  request_.texts.place = key;
  if (ids != nullptr) {
    request_.texts.captions = read_ids(*ids, key);
  } else {
    request_.texts.captions = read_sequences(*text, key, Stack::first).ids;
    if (model().vision->last_token) fill_captions();
  }
  if (options_.only_checks || !request_.folder->tokenizer) return;
  for (const Ids& own : request_.texts.captions) report_.text_tokens.push_back(stored(own));
}

// Fills texts up to the longest one that the model reads, with a token that is seen.
void ModelTextReader::fill_captions() {
  const Architecture& texts = *model().text;
  const auto table = StackWeights(request_.folder->weights, texts, texts.stacks.front())
                         .shape(WeightPurpose::positions, std::nullopt, "weight");
  const std::size_t longest = table ? table->front() : 0;
  const std::int64_t filler = texts.pad_id.value_or(1);
  for (Ids& own : request_.texts.captions) own.resize(std::max(own.size(), longest), filler);
}

// Tokens as the vocabulary has them, without the mark of a word's end.
std::vector<std::string> ModelTextReader::stored(const Ids& ids) const {
  const Tokenizer& tokenizer = *request_.folder->tokenizer;
  std::vector<std::string> all;
  for (const std::int64_t id : ids) {
    const bool known = id >= 0 && static_cast<std::size_t>(id) < tokenizer.size();
    std::string& token = all.emplace_back(known ? tokenizer.token(id) : std::to_string(id));
    constexpr std::string_view end = "</w>";
    if (token.ends_with(end)) token.resize(token.size() - end.size());
  }
  return all;
}

void ModelTextReader::read_decoder_texts() {
  const JsonValue* text = root_.find("decoder_text");
  const JsonValue* ids = root_.find("decoder_token_ids");
  std::vector<Ids>& samples = request_.texts.decoder_ids;
  const std::size_t batch = request_.texts.ids.size();
  if (text != nullptr && ids != nullptr) {
    throw input_error(translated("\"decoder_text\" and \"decoder_token_ids\" cannot both be given"),
                      "/decoder_token_ids", translated("leave one of them out"));
  }
  const auto start = [&] {
    if (model().decoder_start_id) return *model().decoder_start_id;
    throw input_error(translated("the configuration names no \"decoder_start_token_id\""), "/model",
                      translated("give \"decoder_token_ids\""));
  };
  if (ids != nullptr) {
    samples = read_ids(*ids, "/decoder_token_ids");
  } else if (text != nullptr) {
    samples = read_sequences(*text, "/decoder_text", Stack::decoder).ids;
    // The start token stands in front, as in training, and the closing token is removed: it would
    // be the prediction.
    const auto last = request_.folder->writing_tokenizer()->special_ids().last;
    for (Ids& own : samples) {
      if (options_.special_tokens && !own.empty() && is_closing(own.back(), last)) own.pop_back();
      // Whisper's tokenizer begins with it.
      if (!model().sound || own.empty() || own.front() != start()) {
        own.insert(own.begin(), start());
      }
    }
    request_.texts.decoder_place = "/decoder_text";
  } else if (model().classifier) {
    for (const Ids& own : request_.texts.ids) samples.push_back(read_by_decoder(model(), own));
  } else {
    samples.assign(batch, Ids{start()});
  }
  if (samples.size() != batch) {
    throw input_error(translated("{1} of the decoder for {2} of the encoder",
                                 translated_count(samples.size(), "{1} text", "{1} texts"),
                                 translated_count(batch, "{1} text", "{1} texts")),
                      ids != nullptr ? "/decoder_token_ids" : "/decoder_text",
                      translated("give one for each sample"));
  }
  report_.decoder_tokens = written(samples, request_.folder->writing_tokenizer());
}

bool ModelTextReader::is_closing(std::int64_t id, std::optional<std::int64_t> last) const {
  const Tokenizer& tokenizer = *request_.folder->writing_tokenizer();
  return id == last || id == tokenizer.special_ids().separator ||
         id == tokenizer.id("</s>").value_or(-1);
}

void ModelTextReader::refuse_decoder_texts() {
  for (const char* key : {"decoder_text", "decoder_token_ids", "decoder_tokenizer"}) {
    if (root_.find(key) == nullptr) continue;
    problems_.add(input_error(translated("the model does not have both an encoder and a decoder"),
                              pointer_to("", key), translated("leave it out")));
  }
}

ModelTextReader::Pieces ModelTextReader::written(const std::vector<Ids>& samples,
                                                 const std::optional<Tokenizer>& tokenizer) const {
  if (!tokenizer || options_.only_checks) return {};
  Pieces all;
  all.reserve(samples.size());
  for (const Ids& ids : samples) all.push_back(written_tokens(tokenizer, ids));
  return all;
}

// Reads a text, or a list of texts and of pairs of texts.
ModelTextReader::Sequences ModelTextReader::read_sequences(const JsonValue& value,
                                                           const std::string& at, Stack stack) {
  const ModelFolder& folder = *request_.folder;
  const bool own_tokenizer = stack == Stack::decoder && folder.decoder_tokenizer;
  if (folder.no_tokenizer && !own_tokenizer) throw *folder.no_tokenizer;
  const PatternSteps steps(access_.limits.work);
  Sequences read;
  // A table with one type, as in RoBERTa, is used for all tokens.
  read.typed =
      stack == Stack::first && (types_in_table().value_or(1) > 1 || model().compares_types());
  if (value.is(JsonValue::Type::string)) {
    read_sequence(value, at, stack, read);
    return read;
  }
  if (!value.is(JsonValue::Type::array) || value.size() == 0) {
    throw input_error(translated("expected texts, found {1}", value.is(JsonValue::Type::array)
                                                                  ? translated("an empty array")
                                                                  : translated(type_text(value))),
                      at,
                      translated("give a string, or a list of strings and of pairs of strings"));
  }
  const std::size_t around =
      options_.special_tokens ? tokenizer_of(stack).encode("", std::nullopt, true, at).size() : 0;
  check_samples(value, std::max<std::size_t>(1, around), at);
  for (std::size_t b = 0; b < value.size(); ++b) {
    read_sequence(value.element(b), pointer_to(at, b), stack, read);
  }
  return read;
}

// Reads a text or a pair of texts. One without a token is a problem of its own: the others are read
// too.
void ModelTextReader::read_sequence(const JsonValue& value, const std::string& at, Stack stack,
                                    Sequences& to) {
  check_time();
  const bool is_pair = value.is(JsonValue::Type::array);
  if (is_pair && value.size() != 2) {
    throw input_error(translated("expected a pair, found {1}",
                                 translated_count(value.size(), "{1} text", "{1} texts")),
                      at, translated("give a string, or a pair [first, second]"));
  }
  const auto text_at = [&](std::size_t i) -> const std::string& {
    return expect_string(value.element(i), pointer_to(at, i));
  };
  const std::string& text = is_pair ? text_at(0) : expect_string(value, at);
  const Tokenizer& tokenizer = tokenizer_of(stack);
  const bool first = stack == Stack::first;
  const bool small = first && model().sentence && model().sentence->lowercases;
  const auto read = [&](const std::string& own) { return small ? lower_cased(own) : own; };
  const auto second = is_pair ? std::optional(read(text_at(1))) : std::nullopt;
  auto cut =
      tokenizer.encode(read(first ? before_ + text : text), second, options_.special_tokens, at);
  if (first && !is_pair) {
    for (std::string& slip : text_slips(tokenizer, text, cut, to.typed)) {
      if (std::ranges::count(slips_, slip) == 0) slips_.push_back(std::move(slip));
    }
  }
  if (first && truncates_) cut_text(cut, at);
  if (first) longest_found_ = std::max(longest_found_, cut.size());
  if (cut.empty()) {
    problems_.add(input_error(translated("the text has no tokens"), at,
                              translated("give a text with at least a word")));
    return;
  }
  if (stack == Stack::first && root_.find("parts") != nullptr) {
    prompts_.push_back(prompt_of(text, cut));
  }
  Ids ids, types;
  std::vector<std::string> pieces;
  const auto unknown = tokenizer.unknown();
  for (const TextToken& token : cut) {
    if (token.text >= 0) ++tokens_of_texts_;
    if (token.text >= 0 && !token.special && token.id == unknown) {
      ++unknown_tokens_;
      unknown_token_ = tokenizer.token(token.id);
    }
    ids.push_back(token.id);
    if (to.typed) types.push_back(token.type);
    if (!options_.only_checks) pieces.push_back(token.piece);
  }
  to.ids.push_back(std::move(ids));
  if (to.typed) to.types.push_back(std::move(types));
  if (!options_.only_checks) to.pieces.push_back(std::move(pieces));
}

const Tokenizer& ModelTextReader::tokenizer_of(Stack stack) const {
  const ModelFolder& folder = *request_.folder;
  return stack == Stack::first ? *folder.tokenizer : *folder.writing_tokenizer();
}

// Reads the prompt that goes before texts, and whether these are cut.
void ModelTextReader::read_prompt() {
  const JsonValue *name = root_.find("prompt"), *cut = root_.find("truncate");
  if (cut != nullptr) truncates_ = expect_boolean(*cut, "/truncate");
  const SentenceModules* own = model().sentence.get();
  if (name == nullptr && (own == nullptr || own->default_prompt.empty())) return;
  const std::string wanted =
      name != nullptr ? expect_string(*name, "/prompt") : own->default_prompt;
  const auto found = own != nullptr ? own->prompts.find(wanted) : decltype(own->prompts.end()){};
  if (own != nullptr && found != own->prompts.end()) {
    before_ = found->second;
    return;
  }
  std::vector<std::string_view> known;
  if (own != nullptr) {
    for (const auto& [other, text] : own->prompts) known.push_back(other);
  }
  throw input_error(
      translated("the folder has no prompt {1}", in_quotes(wanted)), "/prompt",
      known.empty() ? translated("leave it out: it has none") : suggestion(wanted, known));
}

// Takes tokens away from the ends of texts, the longer one of a pair first, as the tokenizers of
// Hugging Face's libraries cut: those around texts stay.
void ModelTextReader::cut_text(std::vector<TextToken>& tokens, const std::string& at) const {
  const auto longest = request_.folder->longest_read;
  if (!longest) {
    throw input_error(translated("the folder does not say how long a text its library reads"),
                      "/truncate", translated("leave it out, and shorten the texts"));
  }
  if (tokens.size() <= *longest) return;
  const auto of_text = [&](int number) {
    return static_cast<std::size_t>(std::ranges::count(tokens, number, &TextToken::text));
  };
  const std::size_t first = of_text(0), second = of_text(1),
                    around = tokens.size() - first - second;
  if (around >= *longest) {
    throw input_error(translated("{1} tokens leave no room for the text", *longest), at,
                      translated("leave \"truncate\" out"));
  }
  const std::size_t room = *longest - around;
  std::size_t shorter = std::min(first, second), longer = std::max(first, second);
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  std::array<std::size_t, 2> left{first > second ? longer : shorter,
                                  first > second ? shorter : longer};
  std::erase_if(tokens, [&](const TextToken& token) {
    if (token.text < 0) return false;
    std::size_t& own = left.at(static_cast<std::size_t>(token.text));
    if (own == 0) return true;
    --own;
    return false;
  });
}

std::optional<std::string> ModelTextReader::not_cut() const {
  const auto longest = request_.folder->longest_read;
  if (!model().sentence || !longest || longest_found_ <= *longest) return std::nullopt;
  return translated(
      "a text has {1} tokens, of which the library would read {2}: DocumentOptions::truncate cuts "
      "it likewise",
      longest_found_, *longest);
}

std::optional<std::string> ModelTextReader::unknown_tokens() const {
  if (unknown_tokens_ == 0) return std::nullopt;
  return translated(
      "{1} of {2} tokens of the texts are unknown and become {3}: the tokenizer may not be this "
      "model's",
      unknown_tokens_, tokens_of_texts_, in_quotes(unknown_token_));
}

}  // namespace attn
