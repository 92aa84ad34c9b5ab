#include "result/result_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "attn/error.hpp"

#include "result/tensor_names.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

Fact::Member facts_of(const WrittenFile& file) {
  return {file.path.filename().string(), object({{"bytes", file.bytes}, {"xxh128", file.hash}})};
}

// A tensor whose elements are in files next to result.json.
Fact facts_of(const Tensor& tensor, const TensorPlace& place) {
  return object({{"file", place.name ? Fact(place.files[0]) : Fact::absent()},
                 {"name", if_given(place.name)},
                 {"files", place.name ? Fact::absent() : Fact(place.files)},
                 {"shape", tensor.shape()},
                 {"dtype", name(tensor.dtype())}});
}

Fact facts_of(const Provenance& provenance) {
  Fact::Members inputs;
  for (const auto& [name, hash] : provenance.inputs()) inputs.push_back({name, "xxh128:" + hash});
  return object({{"program", "attn-cli " + Provenance::version()},
                 {"cpu_target", Provenance::cpu_target()},
                 {"inputs", inputs}});
}

Fact caption_facts(const CaptionedPicture& captioned) {
  return object({{"picture", captioned.picture},
                 {"caption", captioned.caption},
                 {"description", captioned.description}});
}

// Names of the axes of the shares of an answer.
Fact share_axes(const Tensor& shares) {
  std::vector<std::string> axes;
  for (const std::string_view axis : leading_axes("shares", shares.shape().size() - 2, false)) {
    axes.emplace_back(axis);
  }
  axes.insert(axes.end(), {"token", "part"});
  return axes;
}

}  // namespace

Fact label_facts(const std::vector<std::vector<std::string>>& lists) {
  return lists.size() == 1 ? Fact(lists[0]) : unless_empty(lists);
}

Fact prediction_facts(const ModelReport& model) {
  const auto token = [](const Prediction::Token& one) {
    return object(
        {{"token", unless_empty(one.text)}, {"id", one.id}, {"probability", one.probability}});
  };
  const auto at_mask = [&](const Prediction& prediction) {
    return object(
        {{"position", prediction.position}, {"tokens", list_of(prediction.likeliest, token)}});
  };
  return list_of(model.predictions, [&](const std::vector<Prediction>& sample) {
    return model.next ? list_of(sample.front().likeliest, token) : list_of(sample, at_mask);
  });
}

Fact similarity_facts(const ModelReport& model) {
  return list_of(model.similarities, [](const std::vector<double>& row) { return Fact(row); });
}

Fact classification_facts(const ModelReport& model) {
  const auto one_class = [](const Classification::Class& one) {
    return object(
        {{"label", one.label}, {"logit", one.logit}, {"probability", if_given(one.probability)}});
  };
  const auto of_token = [&](const Classification& one) {
    return object(
        {{"position", one.position.value_or(0)}, {"classes", list_of(one.classes, one_class)}});
  };
  return list_of(model.classifications, [&](const std::vector<Classification>& sample) {
    const bool whole = !sample.empty() && !sample.front().position;
    return whole ? list_of(sample.front().classes, one_class) : list_of(sample, of_token);
  });
}

Fact generated_facts(const ModelReport& model) {
  const auto of_samples = [&](const auto& make) { return list_of(model.generated, make); };
  const bool named = std::ranges::any_of(
      model.generated, [](const GeneratedText& one) { return !one.tokens.empty(); });
  return object({{"prompt", of_samples([](const GeneratedText& one) { return Fact(one.prompt); })},
                 {"tokens", only_if(named, of_samples([](const GeneratedText& one) {
                                      return Fact(one.tokens);
                                    }))},
                 {"ids", of_samples([](const GeneratedText& one) { return Fact(one.ids); })},
                 {"probabilities",
                  of_samples([](const GeneratedText& one) { return Fact(one.probabilities); })}});
}

Fact facts_of(const ScoreSplit& split) {
  return object({{"head", split.head.text()},
                 {"pairs", list_of(split.pairs,
                                   [](const auto& pair) {
                                     return Shape{pair.first, pair.second};
                                   })},
                 {"query_parts", texts_of(split.query_parts)},
                 {"key_parts", texts_of(split.key_parts)},
                 {"weights", split.weights},
                 {"positions", Shape(split.positions)},
                 {"strongest", list_of(split.strongest, [](const std::vector<std::size_t>& of) {
                    return Fact(Shape(of));
                  })}});
}

Fact against_of(const LogitSplit& split) {
  if (split.against_label) return *split.against_label;
  return if_given(split.against);
}

Fact facts_of(const LogitSplit& split, const std::string& text, const std::string& against) {
  return object({{"position", split.position},
                 {"token", only_if(!split.label, split.token)},
                 {"text", unless_empty(text)},
                 {"class", if_given(split.label)},
                 {"against", against_of(split)},
                 {"against_text", unless_empty(against)},
                 {"logit", split.logit},
                 {"parts", texts_of(split.places)},
                 {"heads", texts_of(split.heads)},
                 {"cross_heads", unless_empty(texts_of(split.cross_heads))}});
}

// The parts of each sample's axis: a name has its one place, or a list of several.
Fact facts_of(const std::vector<std::vector<AxisSpan>>& lists) {
  const auto of_sample = [](const std::vector<AxisSpan>& spans) {
    std::vector<std::pair<std::string, std::vector<Shape>>> places;
    for (const AxisSpan& span : spans) {
      auto at = std::ranges::find(places, span.name, [](const auto& one) { return one.first; });
      if (at == places.end()) at = places.insert(at, {span.name, {}});
      at->second.push_back({span.first, span.end});
    }
    Fact::Members members;
    for (auto& [name, own] : places)
      members.push_back({name, own.size() == 1 ? Fact(own[0]) : list_of(own, [](const Shape& one) {
                           return Fact(one);
                         })});
    return Fact(std::move(members));
  };
  return lists.size() == 1 ? of_sample(lists[0]) : list_of(lists, of_sample);
}

Fact facts_of(const Labels& labels) {
  const bool alike = labels.query_spans == labels.key_spans;
  const auto spans = [](bool wanted, const std::vector<std::vector<AxisSpan>>& lists) {
    return only_if(wanted && !lists.empty(), facts_of(lists));
  };
  const bool any = !labels.query.empty() || !labels.key.empty() || !labels.query_spans.empty() ||
                   !labels.key_spans.empty();
  return only_if(any, object({{"query", label_facts(labels.query)},
                              {"key", label_facts(labels.key)},
                              {"spans", spans(alike, labels.query_spans)},
                              {"query_spans", spans(!alike, labels.query_spans)},
                              {"key_spans", spans(!alike, labels.key_spans)}}));
}

std::string split_tensor(const std::string& name, std::size_t text, std::size_t texts) {
  return texts < 2 ? name : "texts." + std::to_string(text) + "." + name;
}

namespace {

// What `make` says of one of the splits of the only text, or a list with that of each text.
template <class Split, class Make>
Fact facts_of_texts(const std::vector<ResultSplits>& splits, std::optional<Split> WhySplits::*split,
                    const Make& make) {
  if (splits.empty() || !(splits.front().of->*split)) return Fact::absent();
  return splits.size() == 1 ? make(splits.front()) : list_of(splits, make);
}

}  // namespace

Fact facts_of(const ResultFile& result) {
  const ModelReport* model = result.model;
  const auto of_model = [&](const auto& make) {
    return model != nullptr ? Fact(make(*model)) : Fact::absent();
  };
  Fact::Members shapes, tensors, files;
  for (const auto& [tensor, shape] : result.shapes) shapes.push_back({tensor, shape});
  for (std::size_t i = 0; i < result.tensors.size(); ++i) {
    const auto& [tensor, elements] = result.tensors[i];
    tensors.push_back(
        {tensor, result.places.empty() ? Fact(elements) : facts_of(elements, result.places[i])});
  }
  for (const WrittenFile& file : result.files) files.push_back(facts_of(file));
  const auto shares = std::ranges::find_if(
      result.tensors, [](const auto& tensor) { return tensor.first == "shares"; });
  return object(
      {{"format", 1},
       {"attention", info(result.kind).name},
       {"title", unless_empty(result.title)},
       {"description", unless_empty(result.description)},
       {"document", unless_empty(result.document)},
       {"labels", facts_of(result.labels)},
       {"model", of_model([](const ModelReport& of) { return of.family; })},
       {"changes", of_model([](const ModelReport& of) { return unless_empty(of.changes); })},
       {"tokens", of_model([](const ModelReport& of) { return unless_empty(of.tokens); })},
       {"decoder_tokens",
        of_model([](const ModelReport& of) { return unless_empty(of.decoder_tokens); })},
       {"text_tokens",
        of_model([](const ModelReport& of) { return unless_empty(of.text_tokens); })},
       {"generated", of_model([](const ModelReport& of) {
          return only_if(!of.generated.empty(), generated_facts(of));
        })},
       {"shares", of_model([&](const ModelReport& of) {
          if (shares == result.tensors.end()) return Fact::absent();
          return object({{"axes", share_axes(shares->second)},
                         {"layers", of.answer_layers},
                         {"parts", of.answer_parts}});
        })},
       {"classification", of_model([](const ModelReport& of) {
          return only_if(!of.classifications.empty(), classification_facts(of));
        })},
       {"similarities", of_model([](const ModelReport& of) {
          return only_if(!of.similarities.empty(), similarity_facts(of));
        })},
       {"predictions", of_model([](const ModelReport& of) {
          return only_if(!of.predictions.empty(), prediction_facts(of));
        })},
       {"why", facts_of_texts(result.splits, &WhySplits::scores,
                              [](const ResultSplits& own) { return facts_of(*own.of->scores); })},
       {"contribution", facts_of_texts(result.splits, &WhySplits::logit,
                                       [](const ResultSplits& own) {
                                         return facts_of(*own.of->logit, own.logit_text,
                                                         own.against_text);
                                       })},
       {"kv_heads", if_given(result.kv_heads)},
       {"seen", only_if(!result.seen.empty(), facts_of(result.seen))},
       {"dtype", name(result.dtype)},
       {"shapes", shapes},
       {"tensors", tensors},
       {"warnings", result.warnings},
       {"pictures", result.pictures},
       {"captions", only_if(!result.captions.empty(), list_of(result.captions, caption_facts))},
       {"files", only_if(!files.empty(), files)},
       {"comparison", result.comparison ? object({facts_of(*result.comparison)}) : Fact::absent()},
       {"provenance", result.provenance != nullptr ? facts_of(*result.provenance) : Fact::absent()},
       {"timing",
        result.seconds ? object({{"compute_seconds", *result.seconds}}) : Fact::absent()}});
}

void write_result(const ResultFile& result, HashedFile& file, std::size_t threads) {
  JsonWriter json([&](std::string_view piece) { file.write(piece); }, threads);
  facts_of(result).write(json);
  json.finish();
}

Tensor ranges_of(const Tensor& allowed) {
  const Shape& shape = allowed.shape();
  const std::size_t samples = shape[0], queries = shape[2], keys = shape[3];
  const auto seen = allowed.values<std::uint8_t>();
  std::vector<std::int64_t> ranges;
  ranges.reserve(samples * queries * 2);
  for (std::size_t row = 0; row < samples * queries; ++row) {
    const auto of_row = seen.subspan(row * keys, keys);
    const auto first = std::find(of_row.begin(), of_row.end(), std::uint8_t{1});
    const auto end = std::find(first, of_row.end(), std::uint8_t{0});
    ranges.push_back(first == of_row.end() ? 0 : first - of_row.begin());
    ranges.push_back(first == of_row.end() ? 0 : end - of_row.begin());
  }
  return {{samples, queries, 2}, std::move(ranges)};
}

Fact facts_of(const std::vector<SeenKeys>& seen) {
  return list_of(seen, [](const SeenKeys& keys) {
    return object({{"attentions", keys.attentions}, {"keys", keys.ranges}});
  });
}

Tensor read_seen_keys(const JsonValue& seen, const std::string& prefix, const Shape& weights,
                      const std::string& pointer, const ReadTensor& read) {
  const auto fit = [&](bool good, const std::string& at) {
    if (good) return;
    throw input_error(
        translated("the keys that queries see do not fit the weights {1}", text(weights)), at,
        translated("give for each sample and query the first key and the one after the last"));
  };
  fit(seen.is(JsonValue::Type::array), pointer);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const JsonValue& entry = seen.element(i);
    const std::string at = pointer_to(pointer, i);
    const JsonValue *names = entry.find("attentions"), *ranges = entry.find("keys");
    fit(names && ranges && names->is(JsonValue::Type::array), at);
    bool meant = false;
    for (std::size_t n = 0; n < names->size(); ++n) {
      meant = meant || expect_string(names->element(n), at) == prefix;
    }
    if (!meant) continue;
    const std::string keys_at = pointer_to(at, "keys");
    const Tensor given = read(*ranges, keys_at);
    fit(weights.size() == 4 && given.shape() == Shape{weights[0], weights[2], 2}, keys_at);
    const std::size_t queries = weights[2], keys = weights[3];
    const auto ends = given.values<double>();
    std::vector<std::uint8_t> allowed(weights[0] * queries * keys);
    for (std::size_t row = 0; row < weights[0] * queries; ++row) {
      const double first = ends[2 * row], end = ends[2 * row + 1];
      fit(first >= 0 && first <= end && end <= static_cast<double>(keys), keys_at);
      const auto cells = allowed.begin() + static_cast<std::ptrdiff_t>(row * keys);
      std::fill(cells + static_cast<std::ptrdiff_t>(first),
                cells + static_cast<std::ptrdiff_t>(end), std::uint8_t{1});
    }
    return {{weights[0], 1, queries, keys}, std::move(allowed)};
  }
  return {};
}

}  // namespace attn
