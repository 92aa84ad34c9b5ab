#include "attn/circuits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "heads/head_pictures.hpp"
#include "heads/heads_table.hpp"
#include "models/model_folder.hpp"
#include "pictures/picture_kinds.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/output_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "why/circuits.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

static_assert(composition_names.size() == composition_inputs);

/// One reading of a model's weights.
class CircuitsReading {
 public:
  CircuitsReading(const CircuitsOptions& options, ModelFolder folder)
      : options_(options), folder_(std::move(folder)) {
    if (folder_.architecture.vision) {
      throw input_error(translated("circuits are those of models of texts"),
                        "CircuitsOptions::model", translated("name a model of texts"));
    }
    pass_options_.threads = options.threads;
  }

  CircuitsOutcome read(const std::function<void(std::size_t, std::size_t)>& progress) {
    const ModelCircuits circuits({folder_.architecture, folder_.weights, texts_, pass_options_});
    const StackCircuits all = circuits.all(progress);
    CircuitsOutcome outcome;
    outcome.family = folder_.architecture.family;
    outcome.warnings = folder_.warnings;
    for (const HeadCircuit& head : all.heads) {
      outcome.heads.push_back({head.head.text(), head.copying(), head.ov_norm, head.qk_norm,
                               head.ov_values, head.qk_values});
    }
    outcome.compositions = all.compositions;
    for (const ModelPlace& head : chosen(all)) {
      for (const std::string& token : options_.tokens) {
        outcome.rows.push_back(
            row_of(circuits, head, token_named(token, folder_, "CircuitsOptions::tokens")));
      }
    }
    return outcome;
  }

 private:
  // The heads of a layer whose number alone was given, "3.0,3.1"; empty for other names.
  std::string meant_heads(const StackCircuits& all) const {
    std::string heads;
    for (const std::string& name : options_.heads) {
      std::size_t layer = 0;
      if (!parse_number(name, layer)) return "";
      for (const HeadCircuit& head : all.heads) {
        if (head.head.layer == layer) heads += (heads.empty() ? "" : ",") + head.head.text();
      }
    }
    return heads;
  }

  std::vector<ModelPlace> chosen(const StackCircuits& all) const {
    std::vector<ModelPlace> heads;
    if (!options_.heads.empty() && options_.tokens.empty()) {
      const std::string meant = meant_heads(all);
      throw Error(ErrorKind::usage, translated("rows of circuits are those of tokens"),
                  "CircuitsOptions::heads",
                  meant.empty() ? translated("add CircuitsOptions::tokens, or leave it out")
                                : translated("write {1}, or leave it out",
                                             "CircuitsOptions::heads " + meant +
                                                 " CircuitsOptions::tokens TOKEN"));
    }
    for (const std::string& name : options_.heads) {
      const auto head = ModelPlace::parse(name);
      const auto known = std::ranges::find_if(
          all.heads, [&](const HeadCircuit& own) { return head && own.head == *head; });
      if (known == all.heads.end()) {
        const std::string_view stack =
            all.heads.empty() ? std::string_view() : name_of(all.heads.front().head.stack);
        const std::string meant = meant_heads(all);
        throw input_error(
            translated("{1} names no head", in_quotes(name)), "CircuitsOptions::heads",
            !meant.empty()  ? translated("write {1}", "CircuitsOptions::heads " + meant)
            : stack.empty() ? translated("give LAYER.HEAD, both from 0")
                            : translated("give {1}.LAYER.HEAD, both from 0", std::string(stack)));
      }
      heads.push_back(known->head);
    }
    if (!heads.empty() || options_.tokens.empty()) return heads;
    return {std::ranges::max_element(all.heads, {}, [](const HeadCircuit& head) {
              return head.copying().value_or(0);
            })->head};
  }

  CircuitRow::Token named(std::size_t id, double number) const {
    const auto number_of = static_cast<std::int64_t>(id);
    return {number_of, written_token(folder_, number_of).value_or(std::to_string(id)), number};
  }

  std::vector<CircuitRow::Token> largest(const std::vector<double>& numbers) const {
    std::vector<CircuitRow::Token> tokens;
    for (const std::size_t id : largest_of(numbers, options_.listed)) {
      tokens.push_back(named(id, numbers[id]));
    }
    return tokens;
  }

  CircuitRow row_of(const ModelCircuits& circuits, const ModelPlace& head, std::size_t id) const {
    CircuitRow row;
    row.head = head.text();
    row.sought = largest(circuits.sought(head, id));
    row.token = named(id, std::numeric_limits<double>::quiet_NaN());
    if (const auto raised = circuits.moved(head, id)) {
      row.raised = largest(*raised);
      row.token.number = (*raised)[id];
      row.rank = static_cast<std::size_t>(
          std::ranges::count_if(*raised, [&](double number) { return number > row.token.number; }));
    }
    return row;
  }

  const CircuitsOptions& options_;
  ModelFolder folder_;
  ModelTexts texts_;
  ModelOptions pass_options_;
};

/// Two heads and the composition of one of their inputs.
struct ComposedPair {
  std::size_t from, to;
  double score;
};

// The pairs of an input that there are, the strongest first.
std::vector<ComposedPair> pairs_of(const Tensor& composition) {
  std::vector<ComposedPair> pairs;
  const std::size_t heads = composition.shape()[0];
  for (std::size_t at = 0; at < composition.size(); ++at) {
    const double score = composition.values<double>()[at];
    if (!std::isnan(score)) pairs.push_back({at / heads, at % heads, score});
  }
  std::ranges::stable_sort(pairs, std::ranges::greater(), &ComposedPair::score);
  return pairs;
}

// The largest score of each pair of layers, later layers by earlier ones.
Picture composition_picture(const CircuitsOptions& options, const CircuitsOutcome& outcome,
                            std::size_t input) {
  std::vector<std::string> layers;
  std::vector<std::size_t> layer_of;
  for (const CircuitHead& head : outcome.heads) {
    const std::string layer = head.name.substr(0, head.name.rfind('.'));
    if (layers.empty() || layers.back() != layer) layers.push_back(layer);
    layer_of.push_back(layers.size() - 1);
  }
  const std::size_t count = layers.size();
  std::vector<double> numbers(count * count, 0);
  std::vector<std::uint8_t> missing(count * count, 1);
  for (const ComposedPair& pair : pairs_of(outcome.compositions[input])) {
    const std::size_t at = layer_of[pair.to] * count + layer_of[pair.from];
    numbers[at] = std::max(numbers[at], pair.score);
    missing[at] = 0;
  }
  Heatmap map;
  const Shape shape{count, count};
  map.weights = Tensor(shape, std::move(numbers));
  map.missing = Tensor(shape, std::move(missing));
  map.any_numbers = true;
  for (const std::string& layer : layers) {
    map.query_labels.push_back(translated("Layer {1}", layer));
    map.key_labels.push_back(translated("Layer {1}", layer));
  }
  PlotOptions plot = options.plot;
  if (!plot.figure.title) {
    plot.figure.title = input == 0   ? translated("Q-Composition: Strongest Pair of Heads")
                        : input == 1 ? translated("K-Composition: Strongest Pair of Heads")
                                     : translated("V-Composition: Strongest Pair of Heads");
  }
  if (!plot.figure.xlabel) plot.figure.xlabel = translated("Head That Writes");
  if (!plot.figure.ylabel) plot.figure.ylabel = translated("Head That Reads");
  if (!plot.colors.bar_label) plot.colors.bar_label = translated("Composition score");
  return draw_heatmap(map, plot.heatmap(), options.format);
}

Picture copying_picture(const CircuitsOptions& options, const CircuitsOutcome& outcome) {
  std::vector<AttentionHeads> layers;
  for (const CircuitHead& head : outcome.heads) {
    const std::string name = ModelPlace::parse(head.name).value().attention().text();
    if (layers.empty() || layers.back().name != name) layers.emplace_back().name = name;
    layers.back().heads.push_back(
        {head.copying.value_or(std::numeric_limits<double>::quiet_NaN())});
  }
  HeadsOptions drawn;
  drawn.plot = options.plot;
  drawn.format = options.format;
  return layers_by_heads(layers, 0, translated("Heads That Copy Tokens"), false, drawn,
                         "Σ λ / Σ |λ|");
}

void write(const CircuitsOptions& options, const FileAccess& access, CircuitsOutcome& outcome) {
  ResultFolder folder(*options.out, false);
  if (options.plots) {
    const auto add = [&](const std::string& name, Picture picture) {
      folder.add(name + extension(options.format), std::move(picture.bytes));
      outcome.warnings.insert(outcome.warnings.end(), picture.warnings.begin(),
                              picture.warnings.end());
    };
    add("circuits.copying", copying_picture(options, outcome));
    for (std::size_t input = 0; input < composition_inputs; ++input) {
      add("circuits." + std::string(composition_names[input]),
          composition_picture(options, outcome, input));
    }
  }
  folder.add("circuits.csv", circuits_csv(outcome));
  folder.add("circuits.json", circuits_json(outcome));
  outcome.files = folder.write_all(access.mapped.get());
}

std::string four_decimals(double number) {
  return with_decimals(number, 4);
}

std::string heads_of(const CircuitsOutcome& outcome, std::optional<std::size_t> top) {
  std::vector<const CircuitHead*> heads;
  for (const CircuitHead& head : outcome.heads) heads.push_back(&head);
  std::ranges::stable_sort(heads, std::ranges::greater(), [](const CircuitHead* head) {
    return head->copying.value_or(-std::numeric_limits<double>::infinity());
  });
  TextTable table{{{translated("head")},
                   {translated("copying"), true},
                   {translated("norm of OV"), true},
                   {translated("largest of OV"), true},
                   {translated("norm of QK"), true},
                   {translated("largest of QK"), true}}};
  heads.resize(std::min(heads.size(), top.value_or(heads.size())));
  for (const CircuitHead* head : heads) {
    table.add({head->name, head->copying ? four_decimals(*head->copying) : "–",
               four_decimals(head->ov_norm), four_decimals(head->ov_values.front()),
               four_decimals(head->qk_norm), four_decimals(head->qk_values.front())});
  }
  return translated(
             "Heads by their copying scores, with the norms and the largest singular values "
             "of their circuits") +
         "\n\n" + table.text();
}

std::string compositions_of(const CircuitsOutcome& outcome, std::optional<std::size_t> top) {
  std::string text;
  for (std::size_t input = 0; input < composition_inputs; ++input) {
    const std::vector<ComposedPair> pairs = pairs_of(outcome.compositions[input]);
    TextTable table{{{translated("head")}, {translated("read by")}, {translated("score"), true}}};
    for (std::size_t n = 0; n < std::min(pairs.size(), top.value_or(pairs.size())); ++n) {
      table.add({outcome.heads[pairs[n].from].name, outcome.heads[pairs[n].to].name,
                 four_decimals(pairs[n].score)});
    }
    const std::string title =
        input == 0   ? translated("Q-composition: what heads write for the queries of later ones")
        : input == 1 ? translated("K-composition: what heads write for the keys of later ones")
                     : translated("V-composition: what heads write for the values of later ones");
    text += "\n" + title + "\n\n" + table.text();
  }
  return text;
}

std::string listed(const std::vector<CircuitRow::Token>& tokens) {
  std::string text;
  for (const CircuitRow::Token& token : tokens) {
    text += (text.empty() ? "" : " ") + in_quotes(token.text);
  }
  return text;
}

std::string rows_of(const CircuitsOutcome& outcome) {
  if (outcome.rows.empty()) return "";
  TextTable table{{{translated("head")},
                   {translated("token")},
                   {translated("rank of itself"), true},
                   {translated("raises most")},
                   {translated("looks for")}}};
  for (const CircuitRow& row : outcome.rows) {
    table.add({row.head, in_quotes(row.token.text), row.rank ? std::to_string(*row.rank) : "–",
               listed(row.raised), listed(row.sought)});
  }
  return "\n" +
         translated(
             "Rows of the full circuits: what a head adds where it looks at the token, and "
             "what it looks for from there") +
         "\n\n" + table.text();
}

Fact facts_of(const CircuitHead& head) {
  return object({{"head", head.name},
                 {"copying", if_given(head.copying)},
                 {"ov_norm", head.ov_norm},
                 {"qk_norm", head.qk_norm},
                 {"ov_singular_values", head.ov_values},
                 {"qk_singular_values", head.qk_values}});
}

Fact facts_of(const CircuitRow& row) {
  const auto token = [](const CircuitRow::Token& one) {
    return object({{"id", one.id}, {"token", one.text}, {"number", one.number}});
  };
  return object({{"head", row.head},
                 {"id", row.token.id},
                 {"token", row.token.text},
                 {"rank", if_given(row.rank)},
                 {"raised", only_if(!row.raised.empty(), list_of(row.raised, token))},
                 {"sought", list_of(row.sought, token)}});
}

}  // namespace

CircuitsOutcome read_circuits(const CircuitsOptions& options,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  return with_whole_files(options.model.files, [&](const FileAccess& access) {
    CircuitsOutcome outcome =
        CircuitsReading(options,
                        ModelFolder::open(model_path(options.model.path.string(), {}, access),
                                          options.model.architecture, access))
            .read(progress);
    if (options.out) write(options, access, outcome);
    return outcome;
  });
}

std::string circuits_text(const CircuitsOutcome& outcome, std::optional<std::size_t> top) {
  std::string text = heads_of(outcome, top) + compositions_of(outcome, top) + rows_of(outcome);
  for (const auto& file : outcome.files) text += "\n  " + printable(file.string());
  return outcome.files.empty() ? text : text + "\n";
}

std::string circuits_json(const CircuitsOutcome& outcome) {
  Fact::Members compositions;
  for (std::size_t input = 0; input < composition_inputs; ++input) {
    Fact::List pairs;
    for (const ComposedPair& pair : pairs_of(outcome.compositions[input])) {
      pairs.push_back(object({{"from", outcome.heads[pair.from].name},
                              {"to", outcome.heads[pair.to].name},
                              {"score", pair.score}}));
    }
    compositions.push_back({std::string(composition_names[input]), pairs});
  }
  return json_text(object(
      {{"model", outcome.family},
       {"heads", list_of(outcome.heads, [](const CircuitHead& head) { return facts_of(head); })},
       {"compositions", compositions},
       {"rows",
        only_if(!outcome.rows.empty(),
                list_of(outcome.rows, [](const CircuitRow& row) { return facts_of(row); }))},
       {"warnings", outcome.warnings},
       {"files", unless_empty(outcome.files)}}));
}

std::string circuits_csv(const CircuitsOutcome& outcome) {
  std::string text = "quantity,head,read_by,value\n";
  const auto line = [&](std::string_view quantity, const std::string& head, const std::string& by,
                        double value) {
    text += std::string(quantity) + "," + head + "," + by + "," + number_text(value) + "\n";
  };
  for (const CircuitHead& head : outcome.heads) {
    if (head.copying) line("copying", head.name, "", *head.copying);
    line("ov_norm", head.name, "", head.ov_norm);
    line("qk_norm", head.name, "", head.qk_norm);
    for (const double value : head.ov_values) line("ov_singular_value", head.name, "", value);
    for (const double value : head.qk_values) line("qk_singular_value", head.name, "", value);
  }
  for (std::size_t input = 0; input < composition_inputs; ++input) {
    for (const ComposedPair& pair : pairs_of(outcome.compositions[input])) {
      line(std::string(composition_names[input]) + "_composition", outcome.heads[pair.from].name,
           outcome.heads[pair.to].name, pair.score);
    }
  }
  return text;
}

}  // namespace attn
