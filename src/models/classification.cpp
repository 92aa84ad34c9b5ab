#include "models/classification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Reads = ModelClassifier::Reads;
using Shares = ModelClassifier::Shares;

/// The head of some families' classes, by the end of the class's name.
struct ClassRow {
  std::string_view task;
  /// Separated by commas; empty = all families of texts that no row before names.
  std::string_view families;
  Reads reads;
  /// Names of tensors: a Linear layer with a function, a norm, and the Linear layer that gives the
  /// logits, of several the first that is there. Empty = none.
  std::string_view dense, function, norm, weight;
};

/// Ends of the names of classes.
struct Task {
  static constexpr std::string_view sequence = "ForSequenceClassification",
                                    token = "ForTokenClassification",
                                    question = "ForQuestionAnswering", choice = "ForMultipleChoice",
                                    next_sentence = "ForNextSentencePrediction",
                                    discriminator = "ForPreTraining",
                                    image = "ForImageClassification";
};

// By the modeling files of transformers 5.24. The first row that fits counts. A function that is no
// activation is the key of the configuration that names one.
constexpr auto class_rows = std::to_array<ClassRow>({
    // clang-format off
    {Task::sequence, "bert,nomic_bert,ernie,megatron-bert,rembert", Reads::first, "pooler.dense", "tanh", "", "classifier"},
    {Task::sequence, "albert", Reads::first, "pooler", "tanh", "", "classifier"},
    {Task::sequence, "roberta,xlm-roberta,xlm-roberta-xl,camembert,esm,mpnet,data2vec-text,roberta-prelayernorm,longformer", Reads::first,
     "classifier.dense", "tanh", "", "classifier.out_proj"},
    {Task::sequence, "electra", Reads::first, "classifier.dense", "gelu", "", "classifier.out_proj"},
    {Task::sequence, "roformer", Reads::first, "classifier.dense", "hidden_act", "", "classifier.out_proj"},
    {Task::sequence, "distilbert", Reads::first, "pre_classifier", "relu", "", "classifier"},
    {Task::sequence, "deberta,deberta-v2", Reads::first, "pooler.dense", "pooler_hidden_act", "", "classifier"},
    {Task::sequence, "modernbert", Reads::first, "head.dense", "classifier_activation", "head.norm", "classifier"},
    {Task::sequence, "modernbert-decoder", Reads::last, "head.dense", "classifier_activation", "head.norm", "classifier"},
    {Task::sequence, "eurobert", Reads::mean_of_logits, "dense", "gelu", "", "classifier"},
    {Task::sequence, "bart,mbart,mvp,plbart,t5,mt5,umt5", Reads::end,
     "classification_head.dense", "tanh", "", "classification_head.out_proj"},
    {Task::sequence, "xlnet", Reads::last, "sequence_summary.summary", "summary_activation", "", "logits_proj"},
    {Task::sequence, "t5gemma", Reads::last, "", "", "", "score.out_proj"},
    {Task::sequence, "", Reads::last, "", "", "", "score"},
    {Task::token, "modernbert", Reads::each, "head.dense", "classifier_activation", "head.norm", "classifier"},
    {Task::token, "t5gemma", Reads::each, "", "", "", "score.out_proj"},
    {Task::token, "", Reads::each, "", "", "", "classifier,score"},
    {Task::question, "modernbert", Reads::each, "head.dense", "classifier_activation", "head.norm", "classifier"},
    {Task::question, "", Reads::each, "", "", "", "qa_outputs"},
    {Task::choice, "bert,roberta,xlm-roberta,xlm-roberta-xl,camembert,mpnet,ernie,megatron-bert,rembert,data2vec-text,roberta-prelayernorm,longformer", Reads::first,
     "pooler.dense", "tanh", "", "classifier"},
    {Task::choice, "albert", Reads::first, "pooler", "tanh", "", "classifier"},
    {Task::choice, "distilbert", Reads::first, "pre_classifier", "relu", "", "classifier"},
    {Task::choice, "electra", Reads::first, "sequence_summary.summary", "summary_activation", "", "classifier"},
    {Task::choice, "xlnet", Reads::last, "sequence_summary.summary", "summary_activation", "", "logits_proj"},
    {Task::choice, "roformer", Reads::last, "", "", "", "classifier"},
    {Task::choice, "deberta-v2", Reads::first, "pooler.dense", "pooler_hidden_act", "", "classifier"},
    {Task::choice, "modernbert", Reads::first, "head.dense", "classifier_activation", "head.norm", "classifier"},
    {Task::next_sentence, "bert,ernie,megatron-bert", Reads::first, "pooler.dense", "tanh", "", "cls.seq_relationship"},
    {Task::discriminator, "electra", Reads::each,
     "discriminator_predictions.dense", "hidden_act", "", "discriminator_predictions.dense_prediction"},
    {Task::image, "vit,deit", Reads::first, "", "", "", "classifier"},
    {Task::image, "dinov2,dinov2_with_registers", Reads::first_and_patches, "", "", "", "classifier"},
    {Task::image, "clip", Reads::patches, "", "", "", "classifier"},
    {Task::image, "beit", Reads::patches, "", "", "pooler.layernorm", "classifier"},
    {Task::image, "siglip,siglip2,ijepa,swin,swinv2", Reads::mean, "", "", "", "classifier"},
    // clang-format on
});

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

bool fits(const ClassRow& row, const std::string& name, const Architecture& model) {
  if (!name.ends_with(row.task)) return false;
  if (!row.families.empty()) return std::ranges::count(words_of(row.families), model.family) > 0;
  if (model.vision) return false;
  if (row.task == Task::question) return true;
  return !model.encoder_decoder();
}

std::optional<std::string> text_member(const JsonValue& config, const std::string& key) {
  const JsonValue* value = present_member(config, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is(JsonValue::Type::string)) refuse_type(key, *value, to_translate("a text"));
  return value->string();
}

// The states that "classifier_pooling" names, where there is such a key.
Reads pooled_by(const JsonValue& config, Reads otherwise) {
  constexpr auto known =
      std::to_array<std::pair<std::string_view, Reads>>({{"cls", Reads::first},
                                                         {"bos", Reads::first},
                                                         {"mean", Reads::mean},
                                                         {"late", Reads::mean_of_logits}});
  const auto name = text_member(config, "classifier_pooling");
  if (!name) return otherwise;
  const auto found = std::ranges::find(known, *name, &std::pair<std::string_view, Reads>::first);
  if (found != known.end()) return found->second;
  refuse_key("classifier_pooling", translated("the pooling {1} is not computed", in_quotes(*name)),
             translated("known ones are cls, bos, mean and late"));
}

// Refuses summaries of a text other than those that the rows of multiple choice compute: the
// defaults of ELECTRA and of RoFormer.
void check_summary(const ClassRow& row, const JsonValue& config) {
  const JsonValue* projects = present_member(config, "summary_use_proj");
  if (projects != nullptr && !projects->is(JsonValue::Type::boolean)) {
    refuse_type("summary_use_proj", *projects, to_translate("true or false"));
  }
  if (projects != nullptr && projects->boolean() == row.dense.empty()) {
    refuse_key("summary_use_proj", translated("such a summary of a text is not computed"),
               translated("leave out \"architectures\" to see its maps alone"));
  }
  const std::string_view state = row.reads == Reads::last ? "last" : "first";
  const auto type = text_member(config, "summary_type");
  if (type && *type != state) {
    refuse_key("summary_type", translated("the summary {1} is not computed", in_quotes(*type)),
               translated("only {1} is computed", std::string(state)));
  }
}

// Absent = the hyperbolic tangent.
std::optional<Activation> function_of(std::string_view function, const JsonValue& config) {
  std::string name(function);
  std::string place;
  if (name.ends_with("_act") || name.ends_with("_activation")) {
    place = "/" + name;
    name = text_member(config, name).value_or("gelu");
  }
  if (name == "tanh") return std::nullopt;
  return activation_of(name, place);
}

constexpr std::string_view unnamed_class = "LABEL_";

// The names under "id2label", in the order of their numbers.
std::vector<std::string> labels_in(const JsonValue& config) {
  const JsonValue* names = present_member(config, "id2label");
  if (names == nullptr) return {};
  if (!names->is(JsonValue::Type::object)) {
    refuse_type("id2label", *names, to_translate("an object"));
  }
  std::vector<std::string> labels(names->members().size());
  for (const JsonMember& own : names->members()) {
    std::size_t number = 0;
    if (!parse_number(own.key, number) || number >= labels.size()) return {};
    if (!own.value.is(JsonValue::Type::string)) return {};
    labels[number] = own.value.string();
  }
  return labels;
}

void read_meaning(ModelClassifier& own, std::string_view task, const JsonValue& config) {
  if (task == Task::question) {
    own.shares = Shares::of_tokens;
    own.labels = {"start", "end"};
  } else if (task == Task::choice) {
    own.shares = Shares::of_texts;
    own.labels = {"choice"};
  } else if (task == Task::next_sentence) {
    own.labels = {"follows", "random"};
  } else if (task == Task::discriminator) {
    own.labels = {"replaced"};
  } else {
    const std::string problem = text_member(config, "problem_type").value_or("");
    if (problem == "regression") own.shares = Shares::none;
    if (problem == "multi_label_classification") own.shares = Shares::each;
    own.labels = labels_in(config);
  }
}

// The name in the file of a part of the head: behind the model's prefix or by itself.
std::string found_name(const CheckpointWeights& weights, const std::string& prefix,
                       const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::string& whole : {prefix + name, name}) {
      if (weights.has(whole + ".weight")) return whole;
    }
  }
  return names.front();
}

/// The names in the file of the parts of a head; empty = it has none.
struct HeadNames {
  std::string dense, norm, weight;
};
HeadNames names_in(const Architecture& model, const CheckpointWeights& weights) {
  const ModelClassifier& own = *model.classifier;
  const std::string prefix = find_prefix(weights, model);
  const auto found = [&](const std::string& name) {
    return name.empty() ? name : found_name(weights, prefix, {name});
  };
  return {found(own.dense), found(own.norm), found_name(weights, prefix, own.weight)};
}

Tensor part_in(const CheckpointWeights& weights, const std::string& name) {
  return weights.has(name) ? weights.read(name) : Tensor();
}

// Σ share · state of some positions of [1,L,D]: [1,1,D].
Tensor pooled(const Tensor& states, const std::vector<std::pair<std::size_t, double>>& shares) {
  if (shares.size() == 1) return picked(states, {&shares.front().first, 1}, 1);
  const std::size_t width = states.shape()[2];
  std::vector<double> sums(width, 0);
  const Tensor numbers = states.converted(DType::float64);
  const auto rows = numbers.values<double>();
  for (const auto& [position, share] : shares) {
    for (std::size_t d = 0; d < width; ++d) sums[d] += share * rows[position * width + d];
  }
  return Tensor({1, 1, width}, std::move(sums)).converted(states.dtype());
}

std::vector<std::pair<std::size_t, double>> mean_from(std::size_t first, std::size_t length) {
  std::vector<std::pair<std::size_t, double>> shares;
  for (std::size_t i = first; i < length; ++i) {
    shares.emplace_back(i, 1 / static_cast<double>(length - first));
  }
  return shares;
}

// Tokens before the patches of a picture.
std::size_t before_patches(const Architecture& model) {
  const TensorNames& names = model.stacks.front().names;
  return names.count(WeightPurpose::class_token) + names.count(WeightPurpose::distillation_token) +
         (model.vision ? model.vision->registers : 0);
}

}  // namespace

std::optional<ModelClassifier> classifier_of(const std::string& name, const Architecture& model,
                                             const JsonValue& config) {
  const auto row =
      std::ranges::find_if(class_rows, [&](const ClassRow& one) { return fits(one, name, model); });
  if (row == class_rows.end()) return std::nullopt;
  if (row->task == Task::choice) check_summary(*row, config);
  ModelClassifier own;
  own.name = name;
  own.reads = row->task == Task::sequence || row->task == Task::choice
                  ? pooled_by(config, row->reads)
                  : row->reads;
  own.dense = row->dense;
  own.norm = row->norm;
  // States that have had their norm are not pooled (BEiT without "use_mean_pooling").
  if (row->reads == Reads::patches && !own.norm.empty() &&
      model.stacks.front().names.contains(WeightPurpose::final_norm)) {
    own.norm.clear();
    own.reads = Reads::first;
  }
  if (!row->dense.empty()) own.activation = function_of(row->function, config);
  own.weight = words_of(row->weight);
  read_meaning(own, row->task, config);
  const JsonValue* end = present_member(config, "eos_token_id");
  if (end != nullptr && end->is(JsonValue::Type::number) && end->is_integer()) {
    own.end_id = end->integer();
  }
  return own;
}

std::optional<std::string> names_of_other_numbers(const JsonValue& config) {
  const JsonValue* names = present_member(config, "id2label");
  if (names == nullptr || !names->is(JsonValue::Type::object)) return std::nullopt;
  const std::size_t count = names->members().size();
  for (const JsonMember& own : names->members()) {
    std::size_t number = 0;
    if (parse_number(own.key, number) && number < count) continue;
    return translated(
        "\"id2label\" has a name of the class {1}, but {2} are numbered from 0: they are called "
        "LABEL_0, LABEL_1, …",
        in_quotes(own.key), translated_count(count, "{1} class", "{1} classes"));
  }
  return std::nullopt;
}

std::optional<std::string> missing_of_classifier(const Architecture& model,
                                                 const CheckpointWeights& weights) {
  if (!model.classifier) return std::nullopt;
  const auto [dense, norm, weight] = names_in(model, weights);
  for (const std::string& name : {dense, norm, weight}) {
    if (!name.empty() && !weights.has(name + ".weight")) return name + ".weight";
  }
  return std::nullopt;
}

std::optional<std::string> names_of_other_classes(const Architecture& model,
                                                  const CheckpointWeights& weights) {
  if (!has_classifier(model, weights)) return std::nullopt;
  const std::vector<std::string>& labels = model.classifier->labels;
  const Shape& shape = weights.shape(names_in(model, weights).weight + ".weight");
  const bool plain = std::ranges::all_of(
      labels, [](const std::string& label) { return label.starts_with(unnamed_class); });
  if (plain || shape.empty() || shape.front() == labels.size()) return std::nullopt;
  return translated(
      "\"id2label\" names {1} classes, and the weights have {2}: they are called LABEL_0, LABEL_1, "
      "…",
      labels.size(), shape.front());
}

bool has_classifier(const Architecture& model, const CheckpointWeights& weights) {
  return model.classifier && !missing_of_classifier(model, weights);
}

std::vector<std::string> check_classifier(const Architecture& model,
                                          const CheckpointWeights& weights) {
  if (!has_classifier(model, weights)) return {};
  std::vector<std::string> used;
  const auto expect = [&](const std::string& name, const Shape& wanted) -> const Shape& {
    return expect_shape(weights, used.emplace_back(name), wanted);
  };
  const auto layer = [&](const std::string& name, const Shape& wanted) {
    const std::size_t rows = expect(name + ".weight", wanted).front();
    if (weights.has(name + ".bias")) expect(name + ".bias", {rows});
    return rows;
  };
  const auto [dense, norm, weight] = names_in(model, weights);
  const auto projected = StackWeights(weights, model, model.stacks.back())
                             .shape(WeightPurpose::output_projection, std::nullopt, "weight");
  std::size_t width = projected ? projected->front() : model.width;
  if (model.classifier->reads == Reads::first_and_patches) width *= 2;
  if (!dense.empty()) width = layer(dense, {0, width});
  if (!norm.empty()) layer(norm, {width});
  const std::size_t classes = layer(weight, {0, width});
  if (model.classifier->shares == Shares::of_tokens && classes != 2) {
    refuse_shape(weights, weight + ".weight", weights.shape(weight + ".weight"), {2, width});
  }
  return used;
}

Classifier Classifier::read(const Architecture& model, const CheckpointWeights& weights) {
  const auto linear = [&](const std::string& name) {
    return StoredLinear{weights.matrix(name + ".weight"), part_in(weights, name + ".bias")};
  };
  const auto [dense, norm, weight] = names_in(model, weights);
  LogitsHead head;
  if (!dense.empty()) head.dense = linear(dense);
  head.activation = model.classifier->activation;
  if (!norm.empty()) {
    head.norm = Norm{weights.read(norm + ".weight"), part_in(weights, norm + ".bias"), model.norm};
  }
  head.words = linear(weight);
  return {model, std::move(head)};
}

std::vector<std::string> Classifier::labels() const {
  std::vector<std::string> labels = model_->classifier->labels;
  if (labels.size() == classes()) return labels;
  labels.clear();
  for (std::size_t c = 0; c < classes(); ++c)
    labels.push_back(std::string(unnamed_class) + std::to_string(c));
  return labels;
}

Shape Classifier::shape(std::size_t batch, std::size_t length) const {
  if (model_->classifier->reads == Reads::each) return {batch, length, classes()};
  return {batch, classes()};
}

std::vector<std::pair<std::size_t, double>> Classifier::read_positions(
    const std::vector<std::int64_t>& ids, const std::string& place) const {
  const std::size_t length = ids.size();
  const auto last_that = [&](const auto& is_read) -> std::optional<std::size_t> {
    for (std::size_t i = length; i-- > 0;) {
      if (is_read(ids[i])) return i;
    }
    return std::nullopt;
  };
  switch (model_->classifier->reads) {
    case Reads::last: {
      const auto is_text = [&](std::int64_t id) { return id != model_->pad_id; };
      const std::size_t last = last_that(is_text).value_or(0);
      // A decoder reads the text one token later.
      return {{std::min(last + (model_->encoder_decoder() ? 1U : 0U), length - 1), 1}};
    }
    case Reads::end: {
      const auto end = model_->classifier->end_id;
      const auto at = last_that([&](std::int64_t id) { return id == end; });
      if (at) return {{*at, 1}};
      throw input_error(translated("the text has no end token, whose state the classifier reads"),
                        place,
                        end ? translated("add the token {1}", static_cast<std::ptrdiff_t>(*end))
                            : translated("add \"eos_token_id\" to the configuration"));
    }
    case Reads::mean:
    case Reads::mean_of_logits:
      return mean_from(0, length);
    case Reads::patches:
      return mean_from(before_patches(*model_), length);
    case Reads::first:
    case Reads::each:
    case Reads::first_and_patches:
      break;
  }
  return {{0, 1}};
}

Tensor Classifier::logits(const Tensor& states, const std::vector<std::int64_t>& ids,
                          const std::string& place, std::size_t threads) const {
  const std::size_t length = states.shape()[1];
  const auto of = [&](const Tensor& x) { return head_.logits(x, model_->eps, threads); };
  const Shape one{1, classes()};
  switch (model_->classifier->reads) {
    case Reads::each:
      return of(states);
    case Reads::mean_of_logits:
      return pooled(of(states), read_positions(ids, place)).reshaped(one);
    case Reads::first_and_patches: {
      const std::vector both{pooled(states, {{0, 1}}),
                             pooled(states, mean_from(before_patches(*model_), length))};
      return of(concatenated(both, 2)).reshaped(one);
    }
    case Reads::mean:  // patches may have become fewer than the picture has
      return of(pooled(states, mean_from(0, length))).reshaped(one);
    case Reads::first:
    case Reads::last:
    case Reads::end:
    case Reads::patches:
      break;
  }
  return of(pooled(states, read_positions(ids, place))).reshaped(one);
}

std::vector<std::int64_t> read_by_decoder(const Architecture& model,
                                          const std::vector<std::int64_t>& ids) {
  constexpr auto behind_last = std::to_array<std::string_view>({"mbart", "plbart"});
  std::vector<std::int64_t> read(1, ids.back());
  if (std::ranges::count(behind_last, model.family) == 0) {
    if (!model.decoder_start_id) {
      throw input_error(translated("the configuration names no \"decoder_start_token_id\""),
                        "/model", translated("give \"decoder_token_ids\""));
    }
    read.front() = *model.decoder_start_id;
  } else if (const auto last = std::ranges::find_if(
                 ids.rbegin(), ids.rend(), [&](std::int64_t id) { return id != model.pad_id; });
             last != ids.rend()) {
    read.front() = *last;
  }
  read.insert(read.end(), ids.begin(), ids.end() - 1);
  return read;
}

std::optional<std::size_t> class_named(const std::string& name,
                                       const std::vector<std::string>& labels) {
  const auto found = std::ranges::find(labels, name);
  if (found != labels.end()) return static_cast<std::size_t>(found - labels.begin());
  std::size_t number = 0;
  if (parse_number(name, number) && number < labels.size()) return number;
  return std::nullopt;
}

namespace {

std::vector<double> softmax_of(std::span<const double> logits) {
  const double whole = log_sum_exp(logits);
  std::vector<double> shares;
  for (const double logit : logits) shares.push_back(std::exp(logit - whole));
  return shares;
}

// The classes of a text or a token, the largest logit first.
Classification classes_of(std::span<const double> logits, Shares rule,
                          const std::vector<std::string>& labels) {
  constexpr std::size_t most = 10;
  const bool softmax = rule == Shares::by_count && logits.size() > 1;
  std::vector<double> shares;
  if (softmax) shares = softmax_of(logits);
  for (std::size_t c = 0; !softmax && rule != Shares::none && c < logits.size(); ++c) {
    shares.push_back(sigmoid(logits[c]));
  }
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t c) { return logits[c]; });
  order.resize(std::min(order.size(), most));
  Classification own;
  for (const std::size_t c : order) {
    own.classes.push_back(
        {labels[c], logits[c], shares.empty() ? std::nullopt : std::optional(shares[c])});
  }
  return own;
}

// The likeliest first and last token of an answer, each by itself.
std::vector<Classification> ends_of(std::span<const double> logits, std::size_t length,
                                    const std::vector<std::string>& labels) {
  std::vector<Classification> both;
  for (std::size_t c = 0; c < labels.size(); ++c) {
    std::vector<double> column;
    for (std::size_t i = 0; i < length; ++i) column.push_back(logits[i * labels.size() + c]);
    const std::vector<double> shares = softmax_of(column);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(column) - column.begin());
    Classification& own = both.emplace_back();
    own.position = best;
    own.classes = {{labels[c], column[best], shares[best]}};
  }
  return both;
}

}  // namespace

std::vector<std::vector<Classification>> classified(
    const Tensor& logits, const ModelClassifier& classifier, const std::vector<std::string>& labels,
    const std::vector<std::vector<std::int64_t>>& read) {
  const Tensor numbers = logits.converted(DType::float64);
  const auto all = numbers.values<double>();
  const std::size_t batch = logits.shape()[0], classes = labels.size();
  const bool by_token = logits.rank() == 3;
  const std::size_t each = by_token ? logits.shape()[1] * classes : classes;
  std::vector<std::vector<Classification>> samples(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    const auto own = all.subspan(b * each, each);
    if (classifier.shares == Shares::of_tokens) {
      samples[b] = ends_of(own, read[b].size(), labels);
      continue;
    }
    for (std::size_t i = 0; i < (by_token ? read[b].size() : 1); ++i) {
      Classification one = classes_of(own.subspan(i * classes, classes), classifier.shares, labels);
      if (by_token) one.position = i;
      samples[b].push_back(std::move(one));
    }
  }
  if (classifier.shares != Shares::of_texts) return samples;
  const std::vector<double> shares = softmax_of(all);
  for (std::size_t b = 0; b < batch; ++b)
    samples[b].front().classes.front().probability = shares[b];
  return samples;
}

}  // namespace attn
