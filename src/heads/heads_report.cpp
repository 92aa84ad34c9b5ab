#include <algorithm>
#include <cmath>
#include <cstdio>

#include "attn/heads.hpp"

#include "heads/head_pictures.hpp"
#include "io/json_writer.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/text_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string shown(double number) {
  if (std::isnan(number)) return "–";
  char text[32];
  std::snprintf(text, sizeof text, std::abs(number) >= 100 ? "%.1f" : "%.3f", number);
  return text;
}

std::string quoted(const std::string& text) {
  return text.empty() ? "" : "\"" + printable(text) + "\"";
}

// A column of words or of numbers below its heading.
struct Columns {
  std::vector<TextColumn> all;

  void add(const std::string& heading, bool numbers) { all.push_back({{heading}, numbers}); }
};

std::string statistics_table(const HeadsOutcome& outcome) {
  Columns columns;
  columns.add("attention", false);
  columns.add("head", true);
  for (const HeadStatistic statistic : outcome.statistics) {
    columns.add(std::string(head_statistics()[static_cast<std::size_t>(statistic)].name), true);
  }
  for (const AttentionHeads& attention : outcome.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      columns.all[0].cells.push_back(attention.name.empty() ? "weights" : attention.name);
      columns.all[1].cells.push_back(std::to_string(h));
      for (std::size_t i = 0; i < outcome.statistics.size(); ++i) {
        columns.all[2 + i].cells.push_back(
            shown(attention.heads[h][static_cast<std::size_t>(outcome.statistics[i])]));
      }
    }
  }
  return text_table(columns.all);
}

std::string induction_table(const HeadsOutcome& outcome) {
  Columns columns;
  columns.add("attention", false);
  for (const char* heading : {"head", "previous", "duplicate", "induction"}) {
    columns.add(heading, true);
  }
  for (const InductionHeads& attention : outcome.induction) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      columns.all[0].cells.push_back(attention.name);
      columns.all[1].cells.push_back(std::to_string(h));
      for (std::size_t i = 0; i < 3; ++i) {
        columns.all[2 + i].cells.push_back(shown(attention.heads[h][i]));
      }
    }
  }
  return text_table(columns.all);
}

std::string differences_table(const HeadsOutcome& outcome) {
  Columns columns;
  columns.add("layer", false);
  columns.add("head", true);
  columns.add("likeliest", false);
  columns.add("probability", true);
  columns.add("without", true);
  columns.add("likeliest without", false);
  columns.add("divergence", true);
  for (const HeadDifference& difference : outcome.differences) {
    const std::vector<std::string> cells{
        difference.layer,
        std::to_string(difference.head),
        quoted(difference.likeliest),
        shown(difference.probability),
        shown(difference.probability_without),
        quoted(difference.likeliest_without),
        number_text(std::round(difference.divergence * 1e6) / 1e6)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns.all[i].cells.push_back(cells[i]);
  }
  return text_table(columns.all);
}

// The likeliest token of each layer, position by position of the first sample.
std::string lens_table(const HeadsOutcome& outcome) {
  Columns columns;
  columns.add("position", true);
  columns.add("token", false);
  std::size_t layers = 0, positions = 0;
  for (const LensTokens& tokens : outcome.lens) {
    if (tokens.sample > 0) continue;
    layers = std::max(layers, tokens.layer + 1);
    positions = std::max(positions, tokens.position + 1);
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    columns.add("layer " + std::to_string(layer), false);
  }
  for (TextColumn& column : columns.all) column.cells.resize(positions + 1);
  for (std::size_t i = 0; i < positions; ++i) {
    columns.all[0].cells[i + 1] = std::to_string(i);
    if (!outcome.tokens.empty() && i < outcome.tokens[0].size()) {
      columns.all[1].cells[i + 1] = quoted(outcome.tokens[0][i]);
    }
  }
  for (const LensTokens& tokens : outcome.lens) {
    if (tokens.sample > 0) continue;
    const Prediction::Token& best = tokens.likeliest.front();
    columns.all[2 + tokens.layer].cells[tokens.position + 1] =
        quoted(best.text) + " " + shown(best.probability);
  }
  return text_table(columns.all);
}

// NaN as null.
void put(JsonWriter& json, double number) {
  if (std::isnan(number)) {
    json.null();
  } else {
    json.value(number);
  }
}

}  // namespace

std::string heads_text(const HeadsOutcome& outcome) {
  std::string text = statistics_table(outcome);
  text += "\n" + outcome.counted + "\n";
  if (!outcome.induction.empty()) {
    text += translated(
        "\nRandom tokens repeated once: weight on the previous token, on the same token in the "
        "first half (duplicate) and on the one after that (induction)\n\n{1}",
        induction_table(outcome));
  }
  if (!outcome.differences.empty()) {
    text += translated(
        "\nWithout a head: the probability of what was likeliest, and how far all predictions move "
        "(Kullback-Leibler, nats)\n\n{1}",
        differences_table(outcome));
  }
  if (!outcome.lens.empty()) {
    text += translated("\nWhat each layer's states would say\n\n{1}", lens_table(outcome));
  }
  for (const auto& file : outcome.files) text += "\n  " + printable(file.string());
  return outcome.files.empty() ? text : text + "\n";
}

std::string heads_json(const HeadsOutcome& outcome) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object();
  json.member("counted", outcome.counted);
  json.key("statistics");
  json.begin_object();
  for (const HeadStatistic statistic : outcome.statistics) {
    const HeadStatisticInfo& info = head_statistics()[static_cast<std::size_t>(statistic)];
    json.member(info.name, translated(info.meaning));
  }
  json.end_object();
  const auto list = [&](const char* key, const auto& values, const auto& write) {
    json.key(key);
    json.begin_array();
    for (const auto& value : values) {
      json.begin_object();
      write(value);
      json.end_object();
    }
    json.end_array();
  };
  list("attentions", outcome.attentions, [&](const AttentionHeads& attention) {
    json.member("name", attention.name);
    list("heads", attention.heads, [&](const std::vector<double>& head) {
      for (const HeadStatistic statistic : outcome.statistics) {
        const auto at = static_cast<std::size_t>(statistic);
        json.key(head_statistics()[at].name);
        put(json, head[at]);
      }
    });
  });
  if (!outcome.induction.empty()) {
    list("induction", outcome.induction, [&](const InductionHeads& attention) {
      json.member("name", attention.name);
      list("heads", attention.heads, [&](const std::vector<double>& head) {
        json.member("previous", head[0]);
        json.member("duplicate", head[1]);
        json.member("induction", head[2]);
      });
    });
  }
  if (!outcome.differences.empty()) {
    list("differences", outcome.differences, [&](const HeadDifference& difference) {
      json.member("layer", difference.layer);
      json.member("head", difference.head);
      json.member("likeliest", difference.likeliest);
      json.member("probability", difference.probability);
      json.member("probability_without", difference.probability_without);
      json.member("likeliest_without", difference.likeliest_without);
      json.member("divergence", difference.divergence);
    });
  }
  if (!outcome.lens.empty()) {
    list("lens", outcome.lens, [&](const LensTokens& tokens) {
      json.member("sample", tokens.sample);
      json.member("layer", tokens.layer);
      json.member("position", tokens.position);
      list("tokens", tokens.likeliest, [&](const Prediction::Token& token) {
        if (!token.text.empty()) json.member("token", token.text);
        json.member("id", token.id);
        json.member("probability", token.probability);
      });
    });
  }
  json.member("warnings", outcome.warnings);
  if (!outcome.files.empty()) {
    json.key("files");
    json.begin_array();
    for (const auto& file : outcome.files) json.value(file.string());
    json.end_array();
  }
  json.end_object();
  json.finish();
  return text;
}

std::string heads_csv(const HeadsOutcome& outcome) {
  std::string text = "attention,head";
  for (const HeadStatistic statistic : outcome.statistics) {
    text += "," + std::string(head_statistics()[static_cast<std::size_t>(statistic)].name);
  }
  text += "\n";
  for (const AttentionHeads& attention : outcome.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      text += attention.name + "," + std::to_string(h);
      for (const HeadStatistic statistic : outcome.statistics) {
        const double number = attention.heads[h][static_cast<std::size_t>(statistic)];
        text += "," + (std::isnan(number) ? "" : number_text(number));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace attn
