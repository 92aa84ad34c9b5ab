#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/model.hpp"

#include "document/answer_parts.hpp"
#include "document/answer_reader.hpp"
#include "document/fields.hpp"
#include "document/keys.hpp"
#include "document/kind_reader.hpp"
#include "document/labels.hpp"
#include "document/model_choices.hpp"
#include "document/picture_reader.hpp"
#include "io/json_value.hpp"
#include "models/checkpoint.hpp"
#include "models/model_places.hpp"
#include "models/vision.hpp"
#include "support/file_opening.hpp"
#include "support/mapped_file.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tokens/regular_expression.hpp"

namespace attn {
namespace {

using Ids = std::vector<std::int64_t>;

/// Reads one document with a model, part by part.
class ModelReader {
 public:
  ModelReader(const Document& document, Problems& problems, bool only_checks)
      : document_(document),
        root_(document.root()),
        problems_(problems),
        only_checks_(only_checks) {}

  Plan read() {
    constexpr std::array kinds{Kind::model};
    check_document_keys(root_, problems_);
    check_keys_of_kinds(root_, kinds, problems_);
    plan_.kind = Kind::model;
    read_options();
    if (problems_.attempt([&] { open(); })) {
      // After a problem further checks would only add its consequences.
      const std::size_t before = problems_.errors().size();
      if (model().vision) {
        problems_.attempt([&] { read_pictures(); });
        problems_.attempt([&] { read_captions(); });
      } else {
        problems_.attempt([&] { refuse_pictures(); });
        problems_.attempt([&] { read_texts(); });
      }
      if (request_.folder->architecture.encoder_decoder()) {
        if (problems_.errors().size() == before) problems_.attempt([&] { read_decoder_texts(); });
      } else {
        refuse_decoder_texts();
      }
      problems_.attempt([&] { read_layers(root_, request_); });
      problems_.attempt([&] { read_heads_off(root_, request_); });
      problems_.attempt([&] { read_ablation(root_, request_); });
      if (problems_.errors().size() == before)
        problems_.attempt([&] { read_patch(root_, values_.special_tokens, request_); });
      problems_.attempt([&] { read_logits(root_, request_); });
      if (problems_.errors().size() == before) problems_.attempt([&] { read_own_labels(); });
      if (problems_.errors().size() == before) {
        problems_.attempt([&] {
          read_answer(root_, document_.access(), request_);
          request_.parts = read_answer_parts(root_.find("parts"), prompts_, request_);
        });
      }
      if (problems_.errors().size() == before) problems_.attempt([&] { finish(); });
    }
    return std::move(plan_);
  }

 private:
  const Architecture& model() const { return request_.folder->architecture; }

  void read_options() {
    read_plain_values(root_, info(Kind::model), problems_, values_);
    request_.dtype = values_.options.dtype;
    request_.weights = plan_.weights;
  }

  // The path that a key gives, in a place that the document may name.
  std::filesystem::path path(const JsonValue& value, const std::string& at) const {
    const std::string& name = expect_string(value, at);
    if (name.empty())
      throw input_error(translated("the name is empty"), at,
                        translated("name a checkpoint folder"));
    const FileName file = FileName::by_document(document_.folder(), name);
    refuse_outside(file, document_.access());
    return file.path();
  }

  void open() {
    const JsonValue* folder = root_.find("model");
    if (folder == nullptr) {
      throw input_error(translated("the document names no model"), "/model",
                        translated("add \"model\", the folder of a checkpoint"));
    }
    std::optional<std::filesystem::path> row;
    if (const JsonValue* own = root_.find("architecture")) row = path(*own, "/architecture");
    const FileAccess& access = document_.access();
    path(*folder, "/model");  // for its errors
    const std::filesystem::path at = model_path(folder->string(), document_.folder(), access);
    request_.folder = access.models
                          ? access.models->open(at, row, access)
                          : std::make_shared<const ModelFolder>(ModelFolder::open(at, row, access));
    if (access.models) access.models->check();
    check_weights(model(), request_.folder->weights);
    open_decoder_tokenizer();
    refuse_conversations(root_, *request_.folder, access);
  }

  // The vocabulary of what a decoder reads and writes, where it is another than the encoder's.
  void open_decoder_tokenizer() {
    const JsonValue* own = root_.find("decoder_tokenizer");
    if (own == nullptr || !model().encoder_decoder()) return;
    ModelFolder folder = *request_.folder;
    folder.decoder_tokenizer =
        open_tokenizer(path(*own, "/decoder_tokenizer"), model().family, document_.access());
    request_.folder = std::make_shared<const ModelFolder>(std::move(folder));
  }

  // 1. The input.

  // Throws for more samples than the limits allow, before they take memory. What each of them asks
  // for, of at least `tokens` tokens, is counted from below: maps and their flags, and the memory
  // of ids, token texts and labels, which count as 16 elements each.
  void check_samples(const JsonValue& list, std::size_t tokens, const std::string& at) const {
    check_sample_count(list.size(), at);
    constexpr double text_of_token = 16;
    const double samples = static_cast<double>(list.size()), length = static_cast<double>(tokens);
    double each = 2 * text_of_token * length;
    for (const ModelStack& stack : model().stacks) {
      const double layers =
          root_.find("layers") != nullptr ? 1 : static_cast<double>(stack.layers.size());
      const auto heads = static_cast<double>(model().of(stack).heads);
      const double of_map = (request_.weights ? heads : 0) + 1;
      each += layers * (stack.crosses ? 2 : 1) * length * (of_map * length + text_of_token);
    }
    const std::uint64_t most = document_.access().limits.elements;
    if (samples * each > static_cast<double>(most)) {
      throw input_error(
          translated("{1} samples ask for {2} elements or more, and the limit is {3}", list.size(),
                     number_text(samples * each), most),
          at,
          translated("give fewer, in several documents of a batch, or raise the limit with "
                     "Limits::elements"));
    }
    check_memory(samples * each * sizeof(float), translated("what the document asks for"), at);
  }

  void refuse_pictures() const {
    if (root_.find("image") == nullptr) return;
    throw input_error(translated("models of the type {1} read no pictures", model().family),
                      "/image", translated("leave \"image\" out, or name a model of pictures"));
  }

  // Pictures, whose tokens take the place of texts'.
  void read_pictures() {
    const JsonValue* value = root_.find("image");
    PreparedPictures pictures =
        prepare_pictures(value, document_, *request_.folder, request_.dtype,
                         [&](std::size_t tokens) { check_samples(*value, tokens, "/image"); });
    for (std::string& warning : pictures.warnings) plan_.warnings.push_back(std::move(warning));
    grid_ = pictures.grid;
    Ids ids(pictures.tokens.size());
    std::iota(ids.begin(), ids.end(), std::int64_t{0});
    request_.texts.ids.assign(pictures.inputs.size(), ids);
    request_.texts.pictures = std::move(pictures.inputs);
    plan_.shapes.emplace_back("image", pictures.image.shape());
    plan_.read += static_cast<double>(pictures.image.size());
    if (only_checks_) return;
    report_.tokens.assign(request_.texts.ids.size(), pictures.tokens);
    plan_.tokens.push_back({"image", pictures.image});
    plan_.tokens.push_back({"grid", Tensor({2}, Ids{static_cast<std::int64_t>(grid_.rows),
                                                    static_cast<std::int64_t>(grid_.columns)})});
  }

  // Texts that are compared with the pictures.
  void read_captions() {
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
    if (model().text.empty()) {
      throw input_error(translated("the model has no part that reads texts"), key,
                        translated("leave the texts out"));
    }
    request_.texts.place = key;
    if (ids != nullptr) {
      request_.texts.captions = read_ids(*ids, key);
    } else {
      std::vector<std::vector<std::string>> pieces;
      read_sequences(*text, key, request_.texts.captions, pieces, true);
      if (model().vision->last_token) fill_captions();
    }
    if (!only_checks_ && request_.folder->tokenizer) {
      for (const Ids& own : request_.texts.captions) report_.text_tokens.push_back(stored(own));
    }
    if (!only_checks_) note_tokens(request_.texts.captions, "text.token_ids");
  }

  // Fills texts up to the longest one that the model reads, with a token that is seen.
  void fill_captions() {
    const Architecture& texts = model().text.front();
    const CheckpointWeights& weights = request_.folder->weights;
    const auto table =
        StackWeights(weights, texts, texts.stacks.front(), find_prefix(weights, texts))
            .shape(WeightPurpose::positions, std::nullopt, "weight");
    const std::size_t longest = table ? table->front() : 0;
    const std::int64_t filler = texts.pad_id.value_or(1);
    for (Ids& own : request_.texts.captions) own.resize(std::max(own.size(), longest), filler);
  }

  // Tokens as the vocabulary has them, without the mark of a word's end.
  std::vector<std::string> stored(const Ids& ids) const {
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

  void read_texts() {
    const JsonValue* text = root_.find("text");
    const JsonValue* ids = root_.find("token_ids");
    const JsonValue* types = root_.find("token_types");
    if ((text == nullptr) == (ids == nullptr)) {
      throw input_error(text == nullptr
                            ? translated("the document has nothing for the model to read")
                            : translated("\"text\" and \"token_ids\" cannot both be given"),
                        text == nullptr ? "/text" : "/token_ids",
                        text == nullptr ? translated("give \"text\" or \"token_ids\"")
                                        : translated("leave one of them out"));
    }
    if (text != nullptr) {
      if (types != nullptr) {
        throw input_error(translated("\"text\" and \"token_types\" cannot both be given"),
                          "/token_types",
                          translated("leave it out: the types follow from the tokenizer"));
      }
      read_sequences(*text, "/text", request_.texts.ids, report_.tokens, true);
      request_.texts.place = "/text";
      return;
    }
    if (has_rows(*ids)) check_samples(*ids, 1, "/token_ids");
    request_.texts.ids = read_ids(*ids, "/token_ids");
    report_.tokens = written(request_.texts.ids, request_.folder->tokenizer);
    find_special_ids();
    if (types == nullptr) return;
    if (!has_types()) {
      throw input_error(translated("the model has no token types"), "/token_types",
                        translated("leave it out"));
    }
    request_.texts.types = read_ids(*types, "/token_types");
    const auto& samples = request_.texts.ids;
    for (std::size_t b = 0; b < std::max(samples.size(), request_.texts.types.size()); ++b) {
      const std::size_t tokens = b < samples.size() ? samples[b].size() : 0;
      const std::size_t found =
          b < request_.texts.types.size() ? request_.texts.types[b].size() : 0;
      if (tokens == found) continue;
      throw input_error(
          translated("{1} for {2}", translated_count(found, "{1} token type", "{1} token types"),
                     translated_count(tokens, "{1} token", "{1} tokens")),
          pointer_to("/token_types", b), translated("give one type for each token"));
    }
  }

  // The special ones among given ids, where parts lie between them.
  void find_special_ids() {
    const JsonValue* parts = root_.find("parts");
    if (parts == nullptr || !parts->is(JsonValue::Type::string)) return;
    if (request_.folder->no_tokenizer) throw *request_.folder->no_tokenizer;
    for (const Ids& own : request_.texts.ids) {
      prompts_.push_back(prompt_of(own, *request_.folder->tokenizer));
    }
  }

  std::optional<std::size_t> types_in_table() const {
    const StackWeights names(request_.folder->weights, model(), model().stacks.front(),
                             find_prefix(request_.folder->weights, model()));
    const auto shape = names.shape(WeightPurpose::types, std::nullopt, "weight");
    return shape && !shape->empty() ? std::optional(shape->front()) : std::nullopt;
  }
  bool has_types() const { return types_in_table().has_value(); }

  // Reads texts and pairs of texts. `first` is whether they are read by the encoder or the only
  // stack, which alone has token types.
  void read_sequences(const JsonValue& value, const std::string& at, std::vector<Ids>& ids,
                      std::vector<std::vector<std::string>>& tokens, bool first) {
    const bool own_tokenizer = !first && request_.folder->decoder_tokenizer;
    if (request_.folder->no_tokenizer && !own_tokenizer) throw *request_.folder->no_tokenizer;
    const PatternSteps steps(document_.access().limits.work);
    const ModelFolder& folder = *request_.folder;
    const Tokenizer& tokenizer = first ? *folder.tokenizer : *folder.writing_tokenizer();
    const bool typed = first && types_in_table().value_or(1) > 1;
    const auto add = [&](const std::string& text, const std::string* pair,
                         const std::string& where) {
      check_time();
      const auto cut = tokenizer.encode(
          text, pair == nullptr ? std::nullopt : std::optional<std::string_view>(*pair),
          values_.special_tokens, where);
      if (cut.empty()) {
        // The error of this text alone: the others are read too.
        problems_.add(input_error(translated("the text has no tokens"), where,
                                  translated("give a text with at least a word")));
        return;
      }
      if (first && root_.find("parts") != nullptr) prompts_.push_back(prompt_of(text, cut));
      Ids own, types;
      std::vector<std::string> pieces;
      const auto unknown = tokenizer.unknown();
      for (const TextToken& token : cut) {
        if (token.text >= 0) ++tokens_of_texts_;
        if (token.text >= 0 && !token.special && token.id == unknown) {
          ++unknown_tokens_;
          unknown_token_ = tokenizer.token(token.id);
        }
        own.push_back(token.id);
        if (typed) types.push_back(token.type);
        if (!only_checks_) pieces.push_back(token.piece);
      }
      ids.push_back(std::move(own));
      if (!only_checks_) tokens.push_back(std::move(pieces));
      if (typed) types_.push_back(std::move(types));
    };
    if (value.is(JsonValue::Type::string)) {
      add(value.string(), nullptr, at);
    } else if (!value.is(JsonValue::Type::array) || value.size() == 0) {
      throw input_error(translated("expected texts, found {1}", value.is(JsonValue::Type::array)
                                                                    ? translated("an empty array")
                                                                    : translated(type_text(value))),
                        at,
                        translated("give a string, or a list of strings and of pairs of strings"));
    } else {
      const std::size_t around =
          values_.special_tokens ? tokenizer.encode("", std::nullopt, true, at).size() : 0;
      check_samples(value, std::max<std::size_t>(1, around), at);
      for (std::size_t b = 0; b < value.size(); ++b) {
        const JsonValue& one = value.element(b);
        const std::string where = pointer_to(at, b);
        if (!one.is(JsonValue::Type::array)) {
          add(expect_string(one, where), nullptr, where);
          continue;
        }
        if (one.size() != 2) {
          throw input_error(translated("expected a pair, found {1}",
                                       translated_count(one.size(), "{1} text", "{1} texts")),
                            where, translated("give a string, or a pair [first, second]"));
        }
        add(expect_string(one.element(0), pointer_to(where, 0)),
            &expect_string(one.element(1), pointer_to(where, 1)), where);
      }
    }
    // A table with one type, as in RoBERTa, is used for all tokens.
    if (typed) request_.texts.types = types_;
  }

  void read_decoder_texts() {
    const JsonValue* text = root_.find("decoder_text");
    const JsonValue* ids = root_.find("decoder_token_ids");
    std::vector<Ids>& samples = request_.texts.decoder_ids;
    const std::size_t batch = request_.texts.ids.size();
    if (text != nullptr && ids != nullptr) {
      throw input_error(
          translated("\"decoder_text\" and \"decoder_token_ids\" cannot both be given"),
          "/decoder_token_ids", translated("leave one of them out"));
    }
    const auto start = [&] {
      if (model().decoder_start_id) return *model().decoder_start_id;
      throw input_error(translated("the configuration names no \"decoder_start_token_id\""),
                        "/model", translated("give \"decoder_token_ids\""));
    };
    if (ids != nullptr) {
      samples = read_ids(*ids, "/decoder_token_ids");
    } else if (text != nullptr) {
      std::vector<std::vector<std::string>> pieces;
      read_sequences(*text, "/decoder_text", samples, pieces, false);
      // The start token stands in front, as in training, and the closing token is removed: it would
      // be the prediction.
      const auto last = request_.folder->writing_tokenizer()->special_ids().last;
      for (Ids& own : samples) {
        if (values_.special_tokens && !own.empty() && is_closing(own.back(), last)) own.pop_back();
        own.insert(own.begin(), start());
      }
      request_.texts.decoder_place = "/decoder_text";
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

  bool is_closing(std::int64_t id, std::optional<std::int64_t> last) const {
    const Tokenizer& tokenizer = *request_.folder->writing_tokenizer();
    return id == last || id == tokenizer.special_ids().separator ||
           id == tokenizer.id("</s>").value_or(-1);
  }

  void refuse_decoder_texts() {
    for (const char* key : {"decoder_text", "decoder_token_ids", "decoder_tokenizer"}) {
      if (!root_.find(key)) continue;
      problems_.add(input_error(translated("the model does not have both an encoder and a decoder"),
                                pointer_to("", key), translated("leave it out")));
    }
  }

  std::vector<std::vector<std::string>> written(const std::vector<Ids>& samples,
                                                const std::optional<Tokenizer>& tokenizer) const {
    if (!tokenizer || only_checks_) return {};
    std::vector<std::vector<std::string>> all;
    all.reserve(samples.size());
    for (const Ids& ids : samples) all.push_back(written_tokens(tokenizer, ids));
    return all;
  }

  // Names that the document gives in the place of tokens: of an encoder-decoder the names of keys
  // are those of the encoder's tokens, and the names of queries those of the decoder's.
  void read_own_labels() {
    const JsonValue* value = root_.find("labels");
    if (value == nullptr) return;
    const ModelTexts& texts = request_.texts;
    const Labels given =
        read_labels(*value, "/labels", {.batch = texts.ids.size()}, [&](const std::string& name) {
          const FileName file = FileName::by_document(document_.folder(), name);
          return std::string(MappedFile::open(file, document_.access())->text());
        });
    const bool both = model().encoder_decoder();
    const auto fits = [](const auto& lists, const std::vector<Ids>& samples) {
      for (std::size_t b = 0; b < samples.size(); ++b) {
        if (Labels::of_sample(lists, b).size() != samples[b].size()) return false;
      }
      return !lists.empty();
    };
    const auto take = [&](const auto& lists, const std::vector<Ids>& samples, auto& labels) {
      if (!fits(lists, samples)) return false;
      for (std::size_t b = 0; b < samples.size(); ++b) {
        labels.push_back(Labels::of_sample(lists, b));
      }
      return true;
    };
    const bool of_keys =
        take(both || given.query.empty() ? given.key : given.query, texts.ids, labels_);
    const bool of_queries = both && take(given.query, texts.decoder_ids, decoder_labels_);
    const bool all = given.either ? of_keys || of_queries
                                  : (of_keys || (both && given.key.empty())) &&
                                        (!both || of_queries || given.query.empty());
    if (all) return;
    throw input_error(
        translated("there are not as many labels as tokens"), "/labels",
        translated("give a label for each token of each sample: {1}",
                   translated_count(longest_of(texts.ids), "{1} token", "{1} tokens")));
  }

  // 2. The plan.

  void finish() {
    check_texts(model(), request_.folder->weights, request_.texts);
    const ModelTexts& texts = request_.texts;
    report_.family = model().family;
    // Predictions are made after the last token of a causal model, and at mask tokens of others.
    if (has_head(model(), request_.folder->weights) && !only_checks_) {
      report_.next = model().stacks.back().causal;
      const auto& last = model().encoder_decoder() ? texts.decoder_ids : texts.ids;
      const std::int64_t mask = request_.folder->tokenizer
                                    ? request_.folder->tokenizer->special_ids().mask.value_or(-1)
                                    : -1;
      for (const Ids& ids : last) {
        std::vector<std::size_t>& positions = request_.predicted.emplace_back();
        if (report_.next) positions.push_back(ids.size() - 1);
        for (std::size_t i = 0; !report_.next && i < ids.size(); ++i) {
          if (ids[i] == mask) positions.push_back(i);
        }
      }
    }
    if (request_.folder->no_tokenizer && root_.find("token_ids") != nullptr &&
        request_.folder->no_tokenizer->kind() == ErrorKind::input) {
      plan_.warnings.push_back(
          translated("tokens are shown by their ids, as the tokenizer cannot be read: {1}",
                     request_.folder->no_tokenizer->problem()));
    }
    if (const std::string& within = request_.folder->weights.within(); !within.empty()) {
      plan_.warnings.push_back(
          translated("the weights were found within {1} of their file", in_quotes(within)));
    }
    if (unknown_tokens_ > 0) {
      plan_.warnings.push_back(
          translated("{1} of {2} tokens of the texts are unknown and become {3}: the tokenizer may "
                     "not be this model's",
                     unknown_tokens_, tokens_of_texts_, in_quotes(unknown_token_)));
    }
    if (const std::string without = layers_without_map(request_); !without.empty()) {
      plan_.warnings.push_back(
          translated("layers without a map, as they are linear attention: {1}", without));
    }
    if (const auto made_for = model().made_for) {
      for (const Ids& ids : texts.ids) {
        if (ids.size() <= *made_for) continue;
        plan_.warnings.push_back(translated("a text has {1} tokens, and the model was made for {2}",
                                            ids.size(), *made_for));
        break;
      }
    }
    if (only_checks_) {
      plan_.computation = std::move(request_);
      plan_.attentions = attentions_of(plan_.computation);
      return;
    }
    if (!model().vision) note_tokens(texts.ids, "token_ids");
    if (model().encoder_decoder()) note_tokens(texts.decoder_ids, "decoder.token_ids");
    plan_.computation = request_;
    plan_.attentions = attentions_of(plan_.computation);
    const auto labels = filled(labels_.empty() ? report_.tokens : labels_, texts.ids);
    const auto decoder_labels = filled(
        decoder_labels_.empty() ? report_.decoder_tokens : decoder_labels_, texts.decoder_ids);
    for (PlannedAttention& attention : plan_.attentions) {
      const bool crosses = attention.name.is_cross();
      const bool decoder = attention.name.in_decoder();
      attention.labels = {decoder ? decoder_labels : labels,
                          decoder && !crosses ? decoder_labels : labels};
    }
    plan_.model = std::move(report_);
  }

  void note_tokens(const std::vector<Ids>& samples, const char* name) {
    Tensor all = padded_ids(samples);
    plan_.shapes.emplace_back(name, all.shape());
    plan_.tokens.push_back({name, std::move(all)});
  }

  // Labels for each position of the longest sample.
  static std::vector<std::vector<std::string>> filled(
      const std::vector<std::vector<std::string>>& tokens, const std::vector<Ids>& samples) {
    std::vector<std::vector<std::string>> labels = tokens;
    if (labels.empty()) {
      for (const Ids& ids : samples) {
        std::vector<std::string>& own = labels.emplace_back();
        for (const std::int64_t id : ids) own.push_back(std::to_string(id));
      }
    }
    for (auto& own : labels) own.resize(longest_of(samples));
    return labels;
  }

  const Document& document_;
  const JsonValue& root_;
  Problems& problems_;
  const bool only_checks_;
  PlainValues values_;
  Plan& plan_ = values_.plan;
  ModelRequest request_;
  ModelReport report_;
  PatchGrid grid_;
  std::vector<Ids> types_;
  std::vector<std::vector<std::string>> labels_, decoder_labels_;  // that the document gives
  std::vector<Prompt> prompts_;                                    // if their parts are asked for
  std::size_t tokens_of_texts_ = 0, unknown_tokens_ = 0;
  std::string unknown_token_;
};

}  // namespace

Plan read_model_plan(const Document& document, Problems& problems, bool only_checks) {
  return ModelReader(document, problems, only_checks).read();
}

}  // namespace attn
