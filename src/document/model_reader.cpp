#include "document/model_reader.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "document/fields.hpp"
#include "document/keys.hpp"
#include "document/labels.hpp"
#include "document/reader.hpp"
#include "models/checkpoint.hpp"
#include "support/file_opening.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"
#include "tokens/text_slips.hpp"
#include "why/why.hpp"

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
      ModelTextReader texts(root_, document_.access(),
                            {.special_tokens = values_.special_tokens, .only_checks = only_checks_},
                            problems_, request_, report_);
      // After a problem further checks would only add its consequences.
      const std::size_t before = problems_.errors().size();
      problems_.attempt([&] { refuse_models_without_generation(root_, request_); });
      problems_.attempt([&] { refuse_without_texts(); });
      if (!model().vision) problems_.attempt([&] { refuse_pictures(); });
      if (!model().sound) problems_.attempt([&] { refuse_sounds(); });
      const bool nothing_else = problems_.errors().size() > before &&
                                root_.find("text") == nullptr && root_.find("token_ids") == nullptr;
      if (model().vision) {
        problems_.attempt([&] { read_pictures(texts); });
        problems_.attempt([&] { texts.read_captions(); });
      } else if (model().sound) {
        problems_.attempt([&] { read_sounds(); });
      } else if (!nothing_else) {
        problems_.attempt([&] { texts.read_texts(); });
      }
      if (request_.folder->architecture.encoder_decoder()) {
        if (problems_.errors().size() == before)
          problems_.attempt([&] { texts.read_decoder_texts(); });
      } else {
        texts.refuse_decoder_texts();
      }
      problems_.attempt([&] { read_layers(root_, request_); });
      problems_.attempt([&] { read_heads_off(root_, request_); });
      problems_.attempt([&] { read_ablation(root_, values_.special_tokens, request_); });
      if (problems_.errors().size() == before)
        problems_.attempt([&] { read_patch(root_, values_.special_tokens, request_); });
      if (const auto& patch = request_.options.patch;
          patch && request_.texts.ids.size() == 1 && patch->ids == request_.texts.ids.front()) {
        plan_.warnings.push_back(
            translated("the text that parts are taken from is the text itself: nothing changes"));
      }
      report_.changes = changes_of(request_);
      problems_.attempt([&] { read_logits(root_, request_); });
      if (problems_.errors().size() == before) problems_.attempt([&] { read_own_labels(); });
      if (problems_.errors().size() == before) {
        problems_.attempt([&] {
          read_answer(root_, document_.access(), request_);
          warn_of_rules();
          warn_of_continuation();
          request_.parts = read_answer_parts(root_.find("parts"), texts.prompts(), request_);
        });
      }
      if (problems_.errors().size() == before)
        problems_.attempt([&] { read_why(root_, request_); });
      if (problems_.errors().size() == before)
        problems_.attempt([&] {
          const std::vector<std::string>& slips = texts.slips();
          plan_.warnings.insert(plan_.warnings.end(), slips.begin(), slips.end());
          if (auto warning = texts.not_cut()) plan_.warnings.push_back(std::move(*warning));
          finish(texts.unknown_tokens());
        });
    }
    return std::move(plan_);
  }

 private:
  const Architecture& model() const { return request_.folder->architecture; }

  void read_options() {
    read_plain_values(root_, info(Kind::model), problems_, values_);
    request_.options.dtype = values_.options.dtype;
    request_.options.wanted.weights = plan_.weights;
    request_.pool = values_.options.pool;
    problems_.attempt([&] { check_single_options(values_.options); });
  }

  // The path that a key gives, in a place that the document may name.
  std::filesystem::path path(const JsonValue& value, const std::string& at) const {
    const std::string& name = expect_string(value, at);
    if (name.empty())
      throw input_error(translated("the name is empty"), at,
                        translated("name a checkpoint folder"));
    const FileName file = FileName::by_document(document_.folder(), name);
    try {
      refuse_outside(file, document_.access());
    } catch (const Error& error) {
      throw error.inside(at);
    }
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
    std::optional<std::filesystem::path> adapter;
    if (const JsonValue* own = root_.find("adapter")) adapter = path(*own, "/adapter");
    const FileAccess& access = document_.access();
    path(*folder, "/model");  // for its errors
    const std::filesystem::path at = model_path(folder->string(), document_.folder(), access);
    request_.folder =
        access.models
            ? access.models->open(at, row, access, adapter)
            : std::make_shared<const ModelFolder>(ModelFolder::open(at, row, access, adapter));
    if (access.models) access.models->check();
    unread_ = unread_warning(model(), request_.folder->weights,
                             check_weights(model(), request_.folder->weights));
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

  // Settings of texts that have no effect where a model of texts reads none.
  void refuse_without_texts() const {
    if (!model().vision && root_.find("text") != nullptr) return;
    for (const char* key : {"prompt", "truncate"}) {
      if (root_.find(key) == nullptr) continue;
      const bool meant = key == std::string_view("prompt") && !model().vision;
      throw input_error(model().vision
                            ? translated("\"{1}\" is for texts, and the model reads pictures", key)
                            : translated("\"{1}\" goes with \"text\", which is missing", key),
                        pointer_to("", key),
                        meant ? translated("write \"text\" instead of it")
                              : translated("leave it out, or give \"text\""));
    }
  }

  void refuse_pictures() const {
    if (root_.find("image") == nullptr) return;
    throw input_error(translated("models of the type {1} read no pictures", model().family),
                      "/image", translated("leave \"image\" out, or name a model of pictures"));
  }

  void refuse_sounds() const {
    if (root_.find("sound") == nullptr) return;
    throw input_error(translated("models of the type {1} hear no sound", model().family), "/sound",
                      translated("leave \"sound\" out, or name a model of sound"));
  }

  // Sounds, whose tokens take the place of texts'.
  void read_sounds() {
    for (const char* key : {"text", "token_ids", "token_types"}) {
      if (root_.find(key) == nullptr) continue;
      throw input_error(
          translated("models of the type {1} hear a sound, and read no text", model().family),
          pointer_to("", key),
          translated("give \"sound\", and \"decoder_text\" for what the decoder reads"));
    }
    PreparedSounds sounds =
        prepare_sounds(root_.find("sound"), document_, *request_.folder, request_.options);
    for (std::string& warning : sounds.warnings) plan_.warnings.push_back(std::move(warning));
    Ids ids(sounds.tokens.size());
    std::iota(ids.begin(), ids.end(), std::int64_t{0});
    request_.texts.ids.assign(sounds.inputs.size(), ids);
    request_.texts.sounds = std::move(sounds.inputs);
    const Tensor& first = request_.texts.sounds.front();
    const Shape shape{request_.texts.sounds.size(), first.shape()[0], first.shape()[1]};
    plan_.shapes.emplace_back("spectrogram", shape);
    plan_.read += static_cast<double>(element_count(shape));
    if (only_checks_) return;
    report_.tokens.assign(request_.texts.ids.size(), sounds.tokens);
    std::vector<Tensor> all;
    for (const Tensor& one : request_.texts.sounds)
      all.push_back(one.reshaped({1, shape[1], shape[2]}));
    plan_.tokens.push_back({"spectrogram", concatenated(all)});
  }

  // Pictures, whose tokens take the place of texts'.
  void read_pictures(const ModelTextReader& texts) {
    const JsonValue* value = root_.find("image");
    PreparedPictures pictures = prepare_pictures(
        value, document_, *request_.folder, request_.options.dtype,
        [&](std::size_t tokens) { texts.check_samples(*value, tokens, "/image"); });
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
    spans_ = {{}, {}, false, given.query_spans, given.key_spans};
    const bool has_parts = !given.query_spans.empty() || !given.key_spans.empty();
    if (has_parts && given.query.empty() && given.key.empty()) return;
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

  bool has_empty_text() const {
    const JsonValue* const text = root_.find("text");
    const auto is_empty = [](const JsonValue& one) {
      return one.is(JsonValue::Type::string) && one.string().empty();
    };
    if (text == nullptr) return false;
    if (!text->is(JsonValue::Type::array)) return is_empty(*text);
    for (std::size_t i = 0; i < text->size(); ++i) {
      if (is_empty(text->element(i))) return true;
    }
    return false;
  }

  // Predictions are made after the last token of a causal model, and at mask tokens of others.
  void choose_predictions() {
    if (!has_head(model(), request_.folder->weights) || only_checks_) return;
    report_.next = model().stacks.back().causal;
    const ModelTexts& texts = request_.texts;
    const auto& last = model().encoder_decoder() ? texts.decoder_ids : texts.ids;
    const std::int64_t mask = request_.folder->tokenizer
                                  ? request_.folder->tokenizer->special_ids().mask.value_or(-1)
                                  : -1;
    for (const Ids& ids : last) {
      std::vector<std::size_t>& positions = request_.options.wanted.predicted.emplace_back();
      if (report_.next) positions.push_back(ids.size() - 1);
      for (std::size_t i = 0; !report_.next && i < ids.size(); ++i) {
        if (ids[i] == mask) positions.push_back(i);
      }
    }
  }

  // Warnings of the folder and of what its texts are.
  void warn_of_model(std::optional<std::string> unknown_tokens) {
    const ModelTexts& texts = request_.texts;
    if (request_.folder->no_tokenizer && root_.find("token_ids") != nullptr &&
        request_.folder->no_tokenizer->kind() == ErrorKind::input) {
      plan_.warnings.push_back(
          translated("tokens are shown by their ids, as the tokenizer cannot be read: {1}",
                     request_.folder->no_tokenizer->problem()));
    }
    plan_.warnings.insert(plan_.warnings.end(), request_.folder->warnings.begin(),
                          request_.folder->warnings.end());
    if (unread_) plan_.warnings.push_back(*unread_);
    if (const std::string& within = request_.folder->weights.within(); !within.empty()) {
      plan_.warnings.push_back(
          translated("the weights were found within {1} of their file", in_quotes(within)));
    }
    for (std::size_t b = 0; b < request_.why.size(); ++b) {
      const auto lacks = missing_mask(request_.why[b], *request_.folder, texts.of_sample(b));
      if (lacks && std::ranges::count(plan_.warnings, *lacks) == 0)
        plan_.warnings.push_back(*lacks);
    }
    if (has_empty_text()) {
      plan_.warnings.push_back(
          translated("a text is empty: the model reads its special tokens alone"));
    }
    if (unknown_tokens) plan_.warnings.push_back(std::move(*unknown_tokens));
    if (const std::string without = layers_without_map(request_); !without.empty()) {
      plan_.warnings.push_back(
          translated("layers without a map, as they have no attention weights: {1}", without));
    }
    if (const auto made_for = model().made_for) {
      for (const Ids& ids : texts.ids) {
        if (ids.size() <= *made_for) continue;
        plan_.warnings.push_back(translated("a text has {1} tokens, and the model was made for {2}",
                                            ids.size(), *made_for));
        break;
      }
    }
  }

  // Names the tokens of all attentions.
  void label_attentions() {
    const ModelTexts& texts = request_.texts;
    const auto labels = filled(labels_.empty() ? report_.tokens : labels_, texts.ids);
    const auto decoder_labels = filled(
        decoder_labels_.empty() ? report_.decoder_tokens : decoder_labels_, texts.decoder_ids);
    for (PlannedAttention& attention : plan_.attentions) {
      const bool crosses = attention.name.is_cross();
      const bool decoder = attention.name.in_decoder();
      const bool of_decoder = decoder && !crosses;
      const auto& decoder_spans = model().encoder_decoder() ? spans_.query_spans : spans_.key_spans;
      attention.labels = {decoder ? decoder_labels : labels, of_decoder ? decoder_labels : labels,
                          false, decoder ? decoder_spans : spans_.key_spans,
                          of_decoder ? decoder_spans : spans_.key_spans};
      if (!model().stacks.front().staged) continue;
      const ModelLayer& layer = model().stacks.front().layers[*attention.name.layer()];
      if (layer.mergings == 0) continue;
      auto& names = attention.labels.key;
      names.assign(texts.ids.size(), picture_tokens(model(), grid_at(grid_, layer)));
      attention.labels.query = names;
    }
  }

  void finish(std::optional<std::string> unknown_tokens) {
    check_texts(model(), request_.folder->weights, request_.texts);
    report_.family = model().family;
    choose_predictions();
    warn_of_model(std::move(unknown_tokens));
    if (only_checks_) {
      plan_.computation = std::move(request_);
      plan_.attentions = attentions_of(plan_.computation);
      return;
    }
    const ModelTexts& texts = request_.texts;
    if (!model().senses(model().stacks.front())) note_tokens(texts.ids, "token_ids");
    if (!texts.captions.empty()) note_tokens(texts.captions, "text.token_ids");
    if (model().encoder_decoder()) note_tokens(texts.decoder_ids, "decoder.token_ids");
    plan_.computation = request_;
    plan_.attentions = attentions_of(plan_.computation);
    label_attentions();
    plan_.model = std::move(report_);
  }

  // A continuation within the last word of the text, where the next one is meant.
  void warn_of_continuation() {
    const JsonValue *given = root_.find("continue"), *text = root_.find("text");
    const auto& tokenizer = request_.folder->writing_tokenizer();
    if (given == nullptr || text == nullptr || !tokenizer || model().encoder_decoder()) return;
    const JsonValue& first = text->is(JsonValue::Type::array) ? text->element(0) : *text;
    if (!first.is(JsonValue::Type::string)) return;
    if (auto slip = continuation_slip(*tokenizer, first.string(), given->string()))
      plan_.warnings.push_back(std::move(*slip));
  }

  // Settings of the folder with which its library writes another answer.
  void warn_of_rules() {
    if (!request_.answer || request_.answer->rules.not_followed.empty()) return;
    std::string settings;
    for (const std::string& one : request_.answer->rules.not_followed) {
      settings += (settings.empty() ? "" : name_separator()) + one;
    }
    plan_.warnings.push_back(translated(
        "the model's folder asks for {1}, which is not done: each token is the likeliest "
        "one, and the library's answer may be another",
        settings));
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
  std::optional<std::string> unread_;
  std::vector<std::vector<std::string>> labels_, decoder_labels_;  // that the document gives
  Labels spans_;  // parts that it gives, of an encoder-decoder's decoder those of queries
};

}  // namespace

Plan read_model_plan(const Document& document, Problems& problems, bool only_checks) {
  return ModelReader(document, problems, only_checks).read();
}

}  // namespace attn
