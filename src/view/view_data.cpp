#include "view/view_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "attn/statistics.hpp"
#include "attn/version.hpp"

#include "plot/colour/colour.hpp"
#include "report/facts.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

bool is_plain(char c) {
  constexpr std::string_view signs = "_-./:=,@%+";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         signs.find(c) != std::string_view::npos;
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// Words joined so that a POSIX shell reads them as they are.
std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

// `<` would begin a tag, and U+2028 and U+2029 end lines of JavaScript; they stand in strings only.
std::string escaped(std::string_view json) {
  constexpr std::string_view line_end = "\xE2\x80\xA8", paragraph_end = "\xE2\x80\xA9";
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.starts_with(line_end) || rest.starts_with(paragraph_end)) {
      text += rest.starts_with(line_end) ? "\\u2028" : "\\u2029";
      i += line_end.size() - 1;
    } else {
      text += json[i];
    }
  }
  return text;
}

// Numbers as an array in the layout of the page, which a Shape would not have.
Fact numbers(const std::vector<std::size_t>& values) {
  return list_of(values, [](std::size_t value) { return Fact(value); });
}

Fact range(double least, double most) {
  return Fact::List{least, most};
}

Fact facts_of(const ShownTokens& tokens) {
  const auto word = [](const auto& ends) { return Fact::List{ends.first, ends.second}; };
  return object({{"pieces", tokens.pieces},
                 {"shown", tokens.shown},
                 {"words", list_of(tokens.words, word)},
                 {"special", numbers(tokens.special)}});
}

Fact facts_of(const ViewData::Picture& picture) {
  return object({{"width", picture.width},
                 {"height", picture.height},
                 {"rows", picture.rows},
                 {"columns", picture.columns},
                 {"patch", picture.patch},
                 {"pixels", picture.pixels}});
}

Fact facts_of(const ViewData::Cells& cells) {
  return object({{"type", name(cells.type)},
                 {"rows", cells.rows},
                 {"columns", cells.columns},
                 {"cells", cells.cells},
                 {"hidden", if_given(cells.hidden)},
                 {"error", cells.error},
                 {"strongest", if_given(cells.strongest)},
                 {"strongest_keys", only_if(cells.strongest.has_value(), cells.strongest_keys)}});
}

Fact facts_of(const ViewData& data, const ViewData::Maps& maps) {
  FiniteRange of_all;
  for (const auto& [name, own] : data.ranges) {
    if (name == maps.tensor) of_all = own;
  }
  const auto cells = [](const ViewData::Cells& head) { return facts_of(head); };
  return object({{"tensor", maps.tensor},
                 {"title", maps.title},
                 {"range", of_all.empty() ? range(0, 0) : range(of_all.least, of_all.most)},
                 {"diverging", maps.diverging},
                 {"cells", unless_empty(maps.cells)},
                 {"heads", list_of(maps.heads, cells)}});
}

Fact facts_of(const ViewData::Vectors& vectors) {
  const auto cells = [](const ViewData::Cells& head) { return facts_of(head); };
  return object({{"query", list_of(vectors.query, cells)},
                 {"key", list_of(vectors.key, cells)},
                 {"value", list_of(vectors.value, cells)},
                 {"scale", vectors.scale},
                 {"softcap", if_given(vectors.softcap)},
                 {"biased", vectors.biased},
                 {"sink", vectors.sink}});
}

// [query, key, score, query part, key part, value, …]
Fact facts_of(const ViewData::Why& why) {
  const auto pair = [](const ViewData::Why::Pair& one) {
    Fact::List numbers{one.query, one.key, one.score};
    for (const auto& term : one.strongest) {
      numbers.insert(numbers.end(), {term.query_part, term.key_part, term.value});
    }
    return Fact(numbers);
  };
  return object({{"head", why.head},
                 {"query_parts", why.query_parts},
                 {"key_parts", why.key_parts},
                 {"pairs", list_of(why.pairs, pair)}});
}

// Four digits, enough for colours and bars.
Fact four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0.0;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

Fact short_numbers(const std::vector<double>& values) {
  return list_of(values, four_digits);
}

Fact facts_of(const ViewData::Effects& effects) {
  const auto number = [](double value) { return Fact(value); };
  const auto head = [&](const std::vector<double>& values) { return list_of(values, number); };
  const auto token = [](const ViewData::Effects::OnAnswer& one) {
    return Fact::List{four_digits(one.divergence), four_digits(one.probability), one.likeliest};
  };
  const auto tokens = [&](const auto& all) { return list_of(all, token); };
  return object(
      {{"divergence", list_of(effects.divergence, number)},
       {"probabilities", list_of(effects.probabilities, head)},
       {"likeliest", effects.likeliest},
       {"logit", short_numbers(effects.logit)},
       {"estimated", only_if(!effects.estimated.empty(), short_numbers(effects.estimated))},
       {"answer", only_if(!effects.answer.empty(), list_of(effects.answer, tokens))}});
}

Fact facts_of(const ViewData::Answer::Source& source) {
  const auto head = [](const ViewData::Answer::Source::Head& one) {
    return object({{"attention", one.attention},
                   {"head", one.head},
                   {"value", one.value},
                   {"key", one.key},
                   {"copied", one.copied}});
  };
  return object(
      {{"tokens", short_numbers(source.tokens)},
       {"cross_tokens", only_if(!source.cross_tokens.empty(), short_numbers(source.cross_tokens))},
       {"heads", list_of(source.heads, head)}});
}

Fact facts_of(const ViewData::Answer& answer) {
  const auto number = [](double value) { return Fact(value); };
  const auto source = [](const ViewData::Answer::Source& one) { return facts_of(one); };
  return object({{"first", answer.first},
                 {"probabilities", list_of(answer.probabilities, number)},
                 {"sources", only_if(!answer.sources.empty(), list_of(answer.sources, source))}});
}

Fact facts_of(const ViewData::Lens& lens) {
  const auto token = [](const ViewData::Lens::Token& one) {
    return object({{"text", one.text}, {"probability", one.probability}, {"logit", one.logit}});
  };
  return object({{"position", lens.position},
                 {"softcap", if_given(lens.softcap)},
                 {"tokens", list_of(lens.tokens, token)}});
}

Fact facts_of(const ViewData& data, const ViewData::Sample& sample) {
  const auto maps = [&](const ViewData::Maps& one) { return facts_of(data, one); };
  const auto split = [](const ViewData::Why& one) { return facts_of(one); };
  const auto cells = [](const ViewData::Cells& head) { return facts_of(head); };
  return object({{"same_positions", sample.same_positions},
                 {"queries", sample.queries},
                 {"keys", sample.keys},
                 {"query_tokens", sample.query_tokens},
                 {"key_tokens", sample.key_tokens},
                 {"picture", if_given(sample.picture)},
                 {"hidden_because", sample.hidden_because},
                 {"maps", list_of(sample.maps, maps)},
                 {"vectors", sample.vectors ? facts_of(*sample.vectors) : Fact::absent()},
                 {"why", only_if(!sample.why.empty(), list_of(sample.why, split))},
                 {"effects", sample.effects ? facts_of(*sample.effects) : Fact::absent()},
                 {"lens", only_if(!sample.lens.empty(), list_of(sample.lens, cells))}});
}

// Numbers, null where one is not finite.
Fact finite_numbers(const std::vector<double>& values) {
  return list_of(values, [](double value) { return std::isfinite(value) ? Fact(value) : Fact(); });
}

Fact facts_of(const ViewData::HeadEvidence& head) {
  const auto text = [](const auto& one) { return Fact::List{one.first, one.second}; };
  const auto texts = [&](const auto& all) { return list_of(all, text); };
  return object({{"mean", finite_numbers(head.mean)},
                 {"error", finite_numbers(head.error)},
                 {"strongest", list_of(head.strongest, texts)},
                 {"by_distance", finite_numbers(head.by_distance)}});
}

Fact facts_of(const ViewData::Evidence& evidence) {
  return object({{"count", evidence.count}, {"reach", evidence.reach}, {"texts", evidence.texts}});
}

// [attention, head, attention, head, input, effect]
Fact facts_of(const ViewData::Paths& paths) {
  const auto path = [](const ViewData::Paths::Path& one) {
    const auto end = [](const auto& of) { return std::pair(Fact(of.attention), Fact(of.head)); };
    const auto [from, head] = end(one.from);
    const auto [to, receiver] = one.to ? end(*one.to) : std::pair(Fact(), Fact());
    return Fact::List{
        from, head, to, receiver, one.to ? Fact(one.input) : Fact(), four_digits(one.effect)};
  };
  return object({{"token", paths.token},
                 {"other", paths.other},
                 {"own", paths.own},
                 {"source", paths.source},
                 {"paths", list_of(paths.paths, path)}});
}

Fact facts_of(const ViewData& data, const ViewData::Attention& attention) {
  const auto sample = [&](const ViewData::Sample& one) { return facts_of(data, one); };
  const auto seen = [](const ViewData::HeadEvidence& one) { return facts_of(one); };
  return object(
      {{"name", attention.name},
       {"title", attention.title},
       {"stack", attention.stack},
       {"heads", attention.heads},
       {"heads_a_group", attention.heads_a_group},
       {"numbers", only_if(!attention.numbers.empty(), numbers(attention.numbers))},
       {"samples", list_of(attention.samples, sample)},
       {"statistics",
        only_if(!attention.statistics.empty(), list_of(attention.statistics, finite_numbers))},
       {"even", only_if(!attention.even.empty(), finite_numbers(attention.even))},
       {"evidence", only_if(!attention.evidence.empty(), list_of(attention.evidence, seen))}});
}

Fact statistics_of(const ViewData& data) {
  const bool any = std::any_of(data.attentions.begin(), data.attentions.end(),
                               [](const auto& one) { return !one.statistics.empty(); });
  if (!any) return Fact::List();
  Fact::List facts;
  for (const HeadStatisticInfo& info : head_statistics().first(weight_statistic_count)) {
    facts.push_back(object({{"name", info.name},
                            {"title", translated(info.title)},
                            {"meaning", translated(info.meaning)}}));
  }
  if (data.effects) {
    const bool zero = *data.effects == "zero";
    facts.push_back(
        object({{"name", "effect"},
                {"title", translated("Effect in Nats")},
                {"meaning",
                 zero ? translated("KL divergence of the prediction with the head's output set to "
                                   "zero from the whole model's")
                      : translated("KL divergence of the prediction with the head's output set to "
                                   "its mean from the whole model's")}}));
  }
  return facts;
}

Fact facts_of(const ViewData::MapColours& map) {
  return object({{"name", map.name},
                 {"table", map.table},
                 {"hidden", map.hidden},
                 {"nan", map.nan},
                 {"minus_infinity", map.minus_infinity},
                 {"infinity", map.infinity},
                 {"not_positive", map.not_positive}});
}

Fact facts_of(const ViewData::CellColours& cells) {
  return object({{"weights", facts_of(cells.weights)}, {"diverging", facts_of(cells.diverging)}});
}

// Looks of heads' lines, as many as differ.
Fact looks_of_heads() {
  Fact::List looks;
  for (std::size_t head = 0; head < plot::most_heads_apart; ++head) {
    const auto dash = [](double points) { return Fact(points); };
    looks.push_back(object({{"colour", "#" + hexadecimal(plot::packed(plot::head_colour(head)), 6)},
                            {"dashes", list_of(plot::head_dashes(head), dash)}}));
  }
  return looks;
}

Fact facts_of(const ViewData::Colours& colours) {
  return object({{"light", facts_of(colours.light)},
                 {"dark", facts_of(colours.dark)},
                 {"range", range(colours.least, colours.most)},
                 {"heads", looks_of_heads()}});
}

// Predictions of a sample, with those of each layer in their places where they are known.
Fact predictions_of(const ViewData& data, std::size_t sample) {
  const auto text = [](const Prediction::Token& one) {
    return one.text.empty() ? "#" + std::to_string(one.id) : one.text;
  };
  const auto token = [&](const Prediction::Token& one) {
    return object({{"text", text(one)}, {"probability", one.probability}});
  };
  const auto of_layer = [&](const LayerPrediction& one) {
    return object(
        {{"layer", one.layer}, {"text", text(one.token)}, {"probability", one.token.probability}});
  };
  Fact::List facts;
  for (const Prediction& prediction : data.predictions[sample]) {
    const bool known = sample < data.by_layer.size() && facts.size() < data.by_layer[sample].size();
    facts.push_back(
        object({{"position", prediction.position},
                {"likeliest", list_of(prediction.likeliest, token)},
                {"by_layer", known ? list_of(data.by_layer[sample][facts.size()], of_layer)
                                   : Fact::absent()}}));
  }
  return facts;
}

// The classes of a sample and of its tokens.
Fact classification_of(const std::vector<Classification>& sample) {
  const auto one_class = [](const Classification::Class& one) {
    return object(
        {{"label", one.label}, {"logit", one.logit}, {"probability", if_given(one.probability)}});
  };
  return list_of(sample, [&](const Classification& one) {
    return object(
        {{"position", if_given(one.position)}, {"classes", list_of(one.classes, one_class)}});
  });
}

// Head whose largest score of a pattern is larger than those of others: of patterns between
// tokens, or where these are faint, of patterns that most heads of causal models have. Where no
// pattern is clear, the head whose queries have the largest weight.
Fact opening_of(const ViewData& data) {
  using enum HeadStatistic;
  constexpr std::array<HeadStatistic, 4> between{induction_score, previous, duplicate_score, next};
  constexpr std::array<HeadStatistic, 3> usual{separators, self, first};
  constexpr std::array<HeadStatistic, 1> any{confidence};
  constexpr double clear = 0.5;
  std::size_t attention = 0, head = 0;
  double best = clear;
  const auto look_for = [&](std::span<const HeadStatistic> patterns) {
    for (std::size_t a = 0; a < data.attentions.size(); ++a) {
      const auto& heads = data.attentions[a].statistics;
      for (std::size_t h = 0; h < heads.size(); ++h) {
        for (const HeadStatistic pattern : patterns) {
          const double value = heads[h][static_cast<std::size_t>(pattern)];
          if (!(value > best)) continue;  // nor NaN
          best = value;
          attention = a;
          head = h;
        }
      }
    }
  };
  look_for(between);
  if (best == clear) look_for(usual);
  if (best == clear) {
    best = 0;
    look_for(any);
  }
  return object({{"attention", attention}, {"head", head}});
}

Fact commands_of(const ViewData& data) {
  std::vector<std::string> before;
  if (data.computed && !data.commands.compute.empty()) {
    before.push_back(shell_line(data.commands.compute));
  }
  return object(
      {{"before", before},
       {"input", shell_line(data.computed ? data.commands.result : data.commands.input)}});
}

}  // namespace

FiniteRange& ViewData::range(const std::string& tensor) {
  for (auto& [name, range] : ranges) {
    if (name == tensor) return range;
  }
  return ranges.emplace_back(tensor, FiniteRange()).second;
}

std::string view_data_json(const ViewData& data) {
  std::vector<Fact> samples;
  for (std::size_t b = 0; b < data.samples.size(); ++b) {
    const bool predicted = b < data.predictions.size() && !data.predictions[b].empty();
    const bool lens = b < data.lenses.size() && data.lenses[b];
    samples.push_back(
        object({{"title", data.samples[b]},
                {"answer", b < data.answers.size() ? facts_of(data.answers[b]) : Fact::absent()},
                {"lens", lens ? facts_of(*data.lenses[b]) : Fact::absent()},
                {"predictions", predicted ? predictions_of(data, b) : Fact::absent()},
                {"classification", b < data.classifications.size()
                                       ? classification_of(data.classifications[b])
                                       : Fact::absent()}}));
  }
  const auto as_it_is = [](const Fact& fact) { return fact; };
  const auto tokens = [](const ShownTokens& one) { return facts_of(one); };
  const auto attention = [&](const ViewData::Attention& one) { return facts_of(data, one); };
  const auto picture = [](const ViewData::Picture& one) { return facts_of(one); };
  const auto step = [](const ViewData::StoryStep& one) {
    return object({{"text", one.text}, {"view", one.view}});
  };
  return escaped(json_text(
      object({{"format", 1},
              {"program", std::string("attn-cli ") + ATTN_VERSION},
              {"language", data.language},
              {"title", data.title},
              {"description", data.description},
              {"commands", commands_of(data)},
              {"layered", data.layered},
              {"opening", opening_of(data)},
              {"second", if_given(data.second)},
              {"samples", list_of(samples, as_it_is)},
              {"predicts_next", data.predicts_next},
              {"effects", if_given(data.effects)},
              {"evidence", data.evidence ? facts_of(*data.evidence) : Fact::absent()},
              {"story", only_if(!data.story.empty(), list_of(data.story, step))},
              {"paths", data.paths ? facts_of(*data.paths) : Fact::absent()},
              {"tokens", list_of(data.tokens, tokens)},
              {"pictures", only_if(!data.pictures.empty(), list_of(data.pictures, picture))},
              {"attentions", list_of(data.attentions, attention)},
              {"statistics", statistics_of(data)},
              {"colours", facts_of(data.colours)},
              {"notes", data.notes},
              {"thumbnails", object({{"side", data.thumbnail_side}, {"block", data.thumbnails}})}}),
      JsonLayout::line));
}

}  // namespace attn
