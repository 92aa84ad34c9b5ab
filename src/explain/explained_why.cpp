#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/labels.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_query.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "maps/map_selection.hpp"
#include "report/facts.hpp"
#include "result/result_writer.hpp"
#include "run/document_run.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

constexpr RowNoun parts_left_out{to_translate("… {1} more part …"),
                                 to_translate("… {1} more parts …")};
constexpr RowNoun pairs_left_out{to_translate("… {1} more pair …"),
                                 to_translate("… {1} more pairs …")};
constexpr RowNoun tokens_left_out{to_translate("… {1} more token …"),
                                  to_translate("… {1} more tokens …")};

// "71 %"; nothing where the whole is 0.
std::string percentage(double part, double whole) {
  return whole == 0 ? "" : with_most_decimals(100 * part / whole, 0) + " %";
}

// A list of texts in a sentence.
std::string enumerated(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& one : texts) {
    text = text.empty() ? one : translated("{1}; {2}", text, one);
  }
  return text;
}

// Whether parts of both signs are much larger than their sum.
bool cancels(std::span<const double> parts, double whole) {
  double size = 0;
  for (const double part : parts) size += std::abs(part);
  return size > 3 * std::abs(whole);
}

// A table of the numbers by their size, of named rows.
Explanation::Table table_by_size(
    const Explanation& to,
    const std::vector<std::pair<std::string, std::vector<std::string>>>& names,
    std::span<const double> numbers, double whole, const RowNoun& noun) {
  constexpr std::size_t most = 12, first = 10;
  const std::vector<std::size_t> order = by_size(numbers);
  Explanation::Table table{{}, to.excerpt(numbers.size(), most, first, 0), noun};
  std::vector<double> shown;
  Explanation::Column shares{translated("share"), {}, true, percentage(whole, whole)};
  for (const auto& [header, cells] : names) {
    table.columns.push_back({header, {}, false, ""});
    for (const std::size_t row : table.rows.indices()) {
      table.columns.back().cells.push_back(cells[order[row]]);
    }
  }
  for (const std::size_t row : table.rows.indices()) {
    shown.push_back(numbers[order[row]]);
    shares.cells.push_back(percentage(numbers[order[row]], whole));
  }
  table.columns.push_back(number_column(translated("contribution"), shown, whole));
  table.columns.push_back(std::move(shares));
  return table;
}

/// The words about one score.
class ScoreWords {
 public:
  ScoreWords(const ScoreSplit& split, std::size_t pair, PositionNames queries, PositionNames keys,
             PositionNames encoder, Explanation& to)
      : split_(split),
        pair_(pair),
        query_(split.pairs[pair].first),
        key_(split.pairs[pair].second),
        queries_(std::move(queries)),
        keys_(std::move(keys)),
        encoder_(std::move(encoder)),
        to_(to) {
    const std::size_t each = split.query_parts.size() * split.key_parts.size();
    terms_ = split.parts.values<double>().subspan(pair * each, each);
    ScoreSplit::Sides sides = split.sides(pair);
    of_query_ = std::move(sides.query);
    of_key_ = std::move(sides.key);
  }

  void explain(bool capped) {
    const double score = split_.scores[pair_];
    const std::string head = split_.head.text();
    to_.part(translated("Why head {1} looks from {2} at {3}", head, queries_.in_prose(query_),
                        keys_.in_prose(key_)));
    to_.step(translated("The score, in short"));
    to_.paragraph(
        capped ? translated("Head {1} gives {2} of the weight of {3} to {4}. Its score, "
                            "before softcap, bias and mask, is {5}.",
                            head, percentage(split_.weights[pair_], 1), queries_.in_prose(query_),
                            keys_.in_prose(key_), shown_number(score))
               : translated("Head {1} gives {2} of the weight of {3} to {4}. Its score, "
                            "before bias and mask, is {5}.",
                            head, percentage(split_.weights[pair_], 1), queries_.in_prose(query_),
                            keys_.in_prose(key_), shown_number(score)));
    to_.paragraph(translated("On the side of the key: {1}.", in_short(of_key_, true)));
    to_.paragraph(translated("On the side of the query: {1}.", in_short(of_query_, false)));
    if (cancels(of_key_, score) || cancels(of_query_, score)) {
      to_.paragraph(
          translated("Parts of both signs cancel each other here: shares of the sum are "
                     "large, and some are negative."));
    }
    side(true);
    side(false);
    pairs();
    to_.step(translated("The sum"));
    to_.paragraph(
        translated("The {1} pairs of parts add up to {2}, and the model itself computes "
                   "{3}.",
                   terms_.size(), shown_number(std::accumulate(terms_.begin(), terms_.end(), 0.0)),
                   shown_number(score)));
  }

 private:
  const std::vector<ModelPlace>& places(bool key) const {
    return key ? split_.key_parts : split_.query_parts;
  }

  // The token that a head gave most weight when it wrote the part; nothing for other parts.
  std::optional<std::size_t> strongest(std::size_t part, bool key) const {
    if (key && split_.head.crosses()) return std::nullopt;
    return split_.looked_at(part, key ? key_ : query_);
  }

  std::string part_in_words(std::size_t part, bool key) const {
    using Part = ModelPlace::Part;
    const ModelPlace& place = places(key)[part];
    const std::string token = key ? keys_.in_prose(key_) : queries_.in_prose(query_);
    const std::string layer = place.whole().text();
    switch (place.part) {
      case Part::embedding:
        return translated("the token {1} itself", token);
      case Part::position:
        return translated("its position");
      case Part::token_type:
        return translated("its token type");
      case Part::bias:
        return translated("biases");
      case Part::output:
        return translated("the encoder's output at {1}", token);
      case Part::feed_forward:
        return translated("the feed-forward of layer {1} at {2}", layer, token);
      case Part::mixer:
        return translated("the mixer of layer {1} at {2}", layer, token);
      case Part::layer_input:
        return translated("the layer input of layer {1} at {2}", layer, token);
      case Part::self:
      case Part::cross:
      case Part::residual:
        break;
    }
    const std::string source = source_of(part, key);
    if (source.empty()) return translated("head {1}", place.text());
    return translated("what head {1} wrote at {2}, looking at {3}", place.text(), token, source);
  }

  // That token's name; empty without one.
  std::string source_of(std::size_t part, bool key) const {
    const auto source = strongest(part, key);
    if (!source) return "";
    return places(key)[part].crosses() ? encoder_.in_prose(*source) : queries_.in_prose(*source);
  }

  // The largest parts of one side with their shares.
  std::string in_short(const std::vector<double>& parts, bool key) const {
    constexpr std::size_t most = 3;
    const std::vector<std::size_t> order = by_size(parts);
    std::vector<std::string> texts;
    for (std::size_t n = 0; n < std::min(most, order.size()); ++n) {
      if (parts[order[n]] == 0) break;
      texts.push_back(translated("{1} from {2}", percentage(parts[order[n]], split_.scores[pair_]),
                                 part_in_words(order[n], key)));
    }
    return enumerated(texts);
  }

  void side(bool key) {
    to_.step(key ? translated("The key's parts") : translated("The query's parts"));
    to_.paragraph(key ? translated("Each number is the sum over all parts of the query.")
                      : translated("Each number is the sum over all parts of the key."));
    std::vector<std::string> sources;
    for (std::size_t part = 0; part < places(key).size(); ++part) {
      sources.push_back(source_of(part, key));
    }
    to_.put(table_by_size(
        to_,
        {{translated("part"), texts_of(places(key))}, {translated("looks at"), std::move(sources)}},
        key ? of_key_ : of_query_, split_.scores[pair_], parts_left_out));
  }

  void pairs() {
    std::vector<std::string> query, key;
    for (const std::string& a : texts_of(split_.query_parts)) {
      for (const std::string& b : texts_of(split_.key_parts)) {
        query.push_back(a);
        key.push_back(b);
      }
    }
    to_.step(translated("The strongest pairs"));
    to_.put(table_by_size(to_,
                          {{translated("part of the query"), std::move(query)},
                           {translated("part of the key"), std::move(key)}},
                          terms_, split_.scores[pair_], pairs_left_out));
  }

  const ScoreSplit& split_;
  std::size_t pair_, query_, key_;
  PositionNames queries_, keys_, encoder_;
  Explanation& to_;
  std::span<const double> terms_;
  std::vector<double> of_query_, of_key_;
};

/// The tokens or classes whose logits are split, in words.
struct LogitWords {
  std::string token, against;  // the other one is empty where there is none
};

// The title, and the sentence that says what is split.
std::pair<std::string, std::string> introduction(const LogitSplit& split, const LogitWords& words,
                                                 const std::string& at, bool capped) {
  const auto& [token, against] = words;
  const std::string number = shown_number(split.logit);
  if (!split.against) {
    if (split.label) {
      return {translated("Why {1}", token),
              translated("The logit of the class {1} is {2}.", token, number)};
    }
    return {translated("Why {1} after {2}", token, at),
            capped
                ? translated("The logit of {1} at {2}, before its cap, is {3}.", token, at, number)
                : translated("The logit of {1} at {2} is {3}.", token, at, number)};
  }
  if (split.label) {
    return {
        translated("Why {1} and not {2}", token, against),
        translated("The logit of the class {1} minus that of {2} is {3}.", token, against, number)};
  }
  return {translated("Why {1} and not {2} after {3}", token, against, at),
          capped
              ? translated("The logit of {1} minus that of {2} at {3}, before their caps, is {4}.",
                           token, against, at, number)
              : translated("The logit of {1} minus that of {2} at {3} is {4}.", token, against, at,
                           number)};
}

void explain_logit(const LogitSplit& split, const LogitWords& words, const PositionNames& tokens,
                   const PositionNames& memory, bool capped, Explanation& to) {
  const auto [heading, sentence] =
      introduction(split, words, tokens.in_prose(split.position), capped);
  to.part(heading);
  to.step(split.against ? translated("The difference, part by part")
                        : translated("The logit, part by part"));
  to.paragraph(sentence);
  const std::span<const double> parts = split.parts.values<double>();
  to.put(table_by_size(to, {{translated("part"), texts_of(split.places)}}, parts, split.logit,
                       parts_left_out));
  const auto sources = [&](const Tensor& rows, const PositionNames& names,
                           const std::string& title) {
    const std::size_t keys = rows.shape()[1];
    std::vector<double> sums(keys, 0);
    for (std::size_t at = 0; at < rows.size(); ++at) sums[at % keys] += rows.values<double>()[at];
    std::vector<std::string> own;
    for (std::size_t j = 0; j < keys; ++j) own.push_back(names.in_prose(j));
    const double whole = std::accumulate(sums.begin(), sums.end(), 0.0);
    to.step(title);
    to.paragraph(translated("The sum over all heads of what they took from each token:"));
    to.put(
        table_by_size(to, {{translated("token"), std::move(own)}}, sums, whole, tokens_left_out));
  };
  sources(split.tokens, tokens, translated("The tokens that heads read"));
  if (split.cross_tokens) {
    sources(split.cross_tokens, memory, translated("The encoder's tokens that heads read"));
  }
}

std::string csv_of(const ScoreSplit& split) {
  std::string text = "query,key,query_part,key_part,score\n";
  const double* term = split.parts.values<double>().data();
  const std::vector<std::string> of_query = texts_of(split.query_parts),
                                 of_key = texts_of(split.key_parts);
  for (const auto& [query, key] : split.pairs) {
    const std::string place = std::to_string(query) + "," + std::to_string(key) + ",";
    for (const std::string& a : of_query) {
      for (const std::string& b : of_key) {
        text.append(place).append(a).append(",").append(b).append(",");
        text.append(number_text(*term++)).append("\n");
      }
    }
  }
  return text;
}

// A row for each part, and for a head's one for each token that it reads.
std::string csv_of(const LogitSplit& split) {
  std::string text = split.against ? "position,token,against,part,source,contribution\n"
                                   : "position,token,part,source,contribution\n";
  std::string place = std::to_string(split.position) + "," + std::to_string(split.token) + ",";
  if (split.against) place += std::to_string(*split.against) + ",";
  const auto row = [&](const ModelPlace& part, const std::string& source, double number) {
    text.append(place).append(part.text()).append(",").append(source).append(",");
    text.append(number_text(number)).append("\n");
  };
  const auto head_row = [](const std::vector<ModelPlace>& heads, const ModelPlace& part) {
    return static_cast<std::size_t>(std::ranges::find(heads, part) - heads.begin());
  };
  for (std::size_t p = 0; p < split.places.size(); ++p) {
    const ModelPlace& part = split.places[p];
    const std::size_t own = head_row(split.heads, part), cross = head_row(split.cross_heads, part);
    if (own == split.heads.size() && cross == split.cross_heads.size()) {
      row(part, "", split.parts.values<double>()[p]);
      continue;
    }
    const Tensor& rows = own < split.heads.size() ? split.tokens : split.cross_tokens;
    const std::size_t keys = rows.shape()[1], h = own < split.heads.size() ? own : cross;
    for (std::size_t j = 0; j < keys; ++j) {
      row(part, std::to_string(j), rows.values<double>()[h * keys + j]);
    }
  }
  return text;
}

Fact facts_in_full(const ScoreSplit& split, std::size_t strongest) {
  const auto pair = [](const auto& one) { return Shape{one.first, one.second}; };
  return object({{"head", split.head.text()},
                 {"pairs", list_of(split.pairs, pair)},
                 {"strongest", pair(split.pairs[strongest])},
                 {"scores", split.scores},
                 {"weights", split.weights},
                 {"query_parts", texts_of(split.query_parts)},
                 {"key_parts", texts_of(split.key_parts)},
                 {"parts", split.parts}});
}

Fact facts_in_full(const LogitSplit& split, const std::string& text, const std::string& against) {
  return object({{"position", split.position},
                 {"token", only_if(!split.label, split.token)},
                 {"class", if_given(split.label)},
                 {"text", text},
                 {"against", against_of(split)},
                 {"against_text", unless_empty(against)},
                 {"logit", split.logit},
                 {"names", texts_of(split.places)},
                 {"parts", split.parts},
                 {"heads", texts_of(split.heads)},
                 {"tokens", split.tokens},
                 {"cross_heads", unless_empty(texts_of(split.cross_heads))},
                 {"cross_tokens", split.cross_tokens ? Fact(split.cross_tokens) : Fact::absent()}});
}

// Explains the splits of the last query that was split, and of the logit.
void explain_named(const RunSplits& named, Explanation& to) {
  const Architecture& model = named.folder->architecture;
  to.title = translated("{1} model, part by part", model.family);
  to.item(translated("document: {1}", one_line(named.document)));
  if (named.samples > 1) to.item(translated("sample {1} of {2}", named.sample, named.samples));
  to.paragraph(
      translated("The state of a token is a sum: its embedding, and what each head and each "
                 "feed-forward has written so far. With the denominators of the norms as they "
                 "are, scores and logits are sums over these parts. Layers, heads and positions "
                 "count from 0."));
  const auto names = [](const std::vector<std::string>& tokens) {
    return PositionNames(tokens, tokens.size(), to_translate("token {1}"));
  };
  const PositionNames own = names(named.tokens), encoder = names(named.read);
  if (const auto& scores = named.splits.scores) {
    const ModelPlace& head = scores->head;
    const bool in_encoder = head.stack == ModelPlace::Stack::encoder;
    ScoreWords(*scores, scores->strongest_pair(scores->pairs.back().first),
               in_encoder ? encoder : own, head.crosses() || in_encoder ? encoder : own, encoder,
               to)
        .explain(model.softcap.has_value());
  }
  if (const auto& logit = named.splits.logit)
    explain_logit(*logit, {named.token, named.against}, own, encoder,
                  model.logit_softcap.has_value(), to);
}

class WhyExplanation {
 public:
  WhyExplanation(const ExplainOptions& options, const Document& document, const Plan& plan)
      : options_(options), document_(document), plan_(plan) {}

  ExplainOutcome explain() {
    check();
    const ModelRequest& request = *model_of(plan_);
    const ModelTexts text = request.texts.of_sample(options_.sample);
    const WhyOptions chosen = choice(request, text);
    if (options_.format == ExplanationFormat::csv && chosen.head && chosen.logit) {
      throw Error(ErrorKind::usage, translated("one CSV table holds one split"),
                  options_.logit ? "ExplainOptions::why" : "/why",
                  translated("split the scores or the logit"));
    }
    WhySplits splits = split(chosen, *request.folder, text, request.options);
    ExplainOutcome outcome;
    outcome.warnings = plan_.warnings;
    const auto lacks = missing_mask(chosen, *request.folder, text);
    if (lacks && std::ranges::count(outcome.warnings, *lacks) == 0)
      outcome.warnings.push_back(*lacks);
    if (options_.format == ExplanationFormat::csv) {
      outcome.text = splits.scores ? csv_of(*splits.scores) : csv_of(*splits.logit);
      return outcome;
    }
    const RunSplits named =
        named_splits(std::move(splits), plan_, document_.name(), options_.sample);
    const auto& [scores, logit] = named.splits;
    if (options_.format == ExplanationFormat::json) {
      // As in a result, without the quotes of prose.
      const auto text_of = [&](std::size_t token, const std::optional<std::string>& label) {
        if (label) return *label;
        return written_token(*request.folder, static_cast<std::int64_t>(token))
            .value_or(std::to_string(token));
      };
      const std::string against =
          logit && logit->against ? text_of(*logit->against, logit->against_label) : "";
      outcome.text = json_text(object(
          {{"document", document_.name()},
           {"sample", options_.sample},
           {"why", scores ? facts_in_full(*scores, scores->strongest_pair()) : Fact::absent()},
           {"contribution",
            logit ? facts_in_full(*logit, text_of(logit->token, logit->label), against)
                  : Fact::absent()}}));
      return outcome;
    }
    Explanation to;
    to.full = options_.full;
    explain_named(named, to);
    outcome.text = options_.format == ExplanationFormat::markdown ? explanation_markdown(to)
                                                                  : explanation_text(to);
    return outcome;
  }

 private:
  void check() const {
    const char* const field = options_.why ? "ExplainOptions::why" : "ExplainOptions::logit";
    const ModelRequest* const request = model_of(plan_);
    if (request == nullptr) refuse_split_without_model(field);
    if (options_.every_query || !options_.analyses.empty()) {
      throw Error(ErrorKind::usage, translated("a split is of one query, without analyses"), field,
                  translated("choose one query, and leave analyses out"));
    }
    const std::size_t samples = request->texts.ids.size();
    if (options_.sample >= samples) {
      throw input_error(
          translated_count(samples, "there is no sample {2}: the document has {1} sample",
                           "there is no sample {2}: the document has {1} samples", options_.sample),
          "ExplainOptions::sample", give_below(samples));
    }
  }

  // Position of the key among the tokens that the explained head reads.
  std::size_t key_of(const ModelTexts& text, const Architecture& model) const {
    const auto head = named_attention(options_, model);
    const bool decoder = head && head->stack == ModelPlace::Stack::decoder;
    const std::size_t keys = (decoder ? text.decoder_ids : text.ids).front().size();
    for (const PlannedAttention& attention : plan_.attentions) {
      if (attention.name.in_decoder() == decoder && attention.name.is_self())
        return named_key(*options_.key_token, keys,
                         Labels::of_sample(attention.labels.key, options_.sample));
    }
    return named_key(*options_.key_token, keys, {});
  }

  // Position of the token among those that the explained stack reads.
  std::size_t named_query(const ModelTexts& text, const Architecture& model) const {
    const auto head = named_attention(options_, model);
    const bool decoder =
        options_.why ? head && head->stack == ModelPlace::Stack::decoder : model.encoder_decoder();
    for (const PlannedAttention& attention : plan_.attentions) {
      if (attention.name.in_decoder() != decoder) continue;
      const auto& ids = decoder ? text.decoder_ids : text.ids;
      return query_of(options_, Labels::of_sample(attention.labels.query, options_.sample),
                      ids.front().size());
    }
    return options_.query;
  }

  // That of the options, or else of the document.
  WhyOptions choice(const ModelRequest& request, const ModelTexts& text) const {
    const Architecture& model = request.folder->architecture;
    WhyOptions why;
    if (!options_.why && !options_.logit) why = request.why[options_.sample];
    if (options_.split_query) why.query = options_.split_query;
    if (options_.query_token) why.query = named_query(text, model);
    if (options_.key) why.key = options_.key;
    if (options_.key_token) why.key = key_of(text, model);
    if (options_.logit) why.logit = options_.logit;
    if (options_.against_logit) why.against_logit = options_.against_logit;
    if (!options_.why) return why;
    const auto place = named_attention(options_, model);
    const std::size_t first = first_layer_with_map(model.stacks.front());
    // A stack that is not there is named by the error.
    why.head = place ? place->with_head(options_.head).text()
                     : options_.stack + "." + std::to_string(options_.layer.value_or(first)) + "." +
                           std::to_string(options_.head);
    if (why.logit) why.query = position_of_logit(why, *request.folder, text);
    if (place && !why.query) why.query = text.read_by(place->stack).front().size() - 1;
    return why;
  }

  const ExplainOptions& options_;
  const Document& document_;
  const Plan& plan_;
};

}  // namespace

std::string explain_splits(const RunSplits& splits) {
  Explanation to;
  explain_named(splits, to);
  return explanation_text(to);
}

ExplainOutcome explain_why(const ExplainOptions& options, const Document& document,
                           const Plan& plan) {
  try {
    return WhyExplanation(options, document, plan).explain();
  } catch (const Error& error) {
    throw document.placed(error);
  }
}

}  // namespace attn
