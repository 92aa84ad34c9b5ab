#include "view/view_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "attn/statistics.hpp"
#include "attn/version.hpp"

#include "io/json_writer.hpp"
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

void write_range(JsonWriter& json, double least, double most) {
  json.array("range", std::array{least, most}, [&](double end) { json.value(end); });
}

void write(JsonWriter& json, const ShownTokens& tokens) {
  json.begin_object();
  json.member("pieces", tokens.pieces);
  json.member("shown", tokens.shown);
  json.array("words", tokens.words, [&](const auto& word) {
    json.begin_array();
    json.value(word.first);
    json.value(word.second);
    json.end_array();
  });
  json.array("special", tokens.special, [&](std::size_t at) { json.value(at); });
  json.end_object();
}

void write(JsonWriter& json, const ViewData::Cells& cells) {
  json.begin_object();
  json.member("type", name(cells.type));
  json.member("rows", cells.rows);
  json.member("columns", cells.columns);
  json.member("cells", cells.cells);
  if (cells.hidden) json.member("hidden", *cells.hidden);
  json.member("error", cells.error);
  if (cells.strongest) {
    json.member("strongest", *cells.strongest);
    json.member("strongest_keys", cells.strongest_keys);
  }
  json.end_object();
}

void write(JsonWriter& json, const ViewData::Maps& maps, const FiniteRange& range) {
  json.begin_object();
  json.member("tensor", maps.tensor);
  json.member("title", maps.title);
  write_range(json, range.empty() ? 0 : range.least, range.empty() ? 0 : range.most);
  json.member("diverging", maps.diverging);
  json.array("heads", maps.heads, [&](const ViewData::Cells& cells) { write(json, cells); });
  json.end_object();
}

FiniteRange range_of(const ViewData& data, const std::string& tensor) {
  for (const auto& [name, range] : data.ranges) {
    if (name == tensor) return range;
  }
  return {};
}

void write(JsonWriter& json, const ViewData& data, const ViewData::Sample& sample) {
  json.begin_object();
  json.member("same_positions", sample.same_positions);
  json.member("queries", sample.queries);
  json.member("keys", sample.keys);
  json.member("query_tokens", sample.query_tokens);
  json.member("key_tokens", sample.key_tokens);
  json.member("hidden_because", sample.hidden_because);
  json.array("maps", sample.maps,
             [&](const ViewData::Maps& maps) { write(json, maps, range_of(data, maps.tensor)); });
  json.end_object();
}

void write(JsonWriter& json, const ViewData& data, const ViewData::Attention& attention) {
  json.begin_object();
  json.member("name", attention.name);
  json.member("title", attention.title);
  json.member("stack", attention.stack);
  json.member("heads", attention.heads);
  json.member("heads_a_group", attention.heads_a_group);
  if (!attention.numbers.empty()) {
    json.array("numbers", attention.numbers, [&](std::size_t head) { json.value(head); });
  }
  json.array("samples", attention.samples,
             [&](const ViewData::Sample& sample) { write(json, data, sample); });
  if (!attention.statistics.empty()) {
    json.array("statistics", attention.statistics, [&](const std::vector<double>& head) {
      json.begin_array();
      for (const double value : head) {
        if (std::isfinite(value)) {
          json.value(value);
        } else {
          json.null();
        }
      }
      json.end_array();
    });
  }
  json.end_object();
}

void write_statistics(JsonWriter& json, const ViewData& data) {
  const bool any = std::any_of(data.attentions.begin(), data.attentions.end(),
                               [](const auto& one) { return !one.statistics.empty(); });
  const std::span<const HeadStatisticInfo> all = head_statistics();
  json.objects("statistics", any ? all : all.first(0), [&](const HeadStatisticInfo& info) {
    json.member("name", info.name);
    json.member("title", translated(info.title));
    json.member("meaning", translated(info.meaning));
  });
}

void write_colours(JsonWriter& json, const ViewData::Colours& colours) {
  json.object("colours", [&] {
    json.member("weights", colours.weights);
    json.member("diverging", colours.diverging);
    json.member("weights_table", colours.weights_table);
    json.member("diverging_table", colours.diverging_table);
    json.member("hidden", colours.hidden);
    json.member("nan", colours.nan);
    write_range(json, colours.least, colours.most);
  });
}

}  // namespace

FiniteRange& ViewData::range(const std::string& tensor) {
  for (auto& [name, range] : ranges) {
    if (name == tensor) return range;
  }
  return ranges.emplace_back(tensor, FiniteRange()).second;
}

std::string view_data_json(const ViewData& data) {
  return escaped(json_text(
      [&](JsonWriter& json) {
        json.begin_object();
        json.member("format", std::size_t{1});
        json.member("program", std::string("attn-cli ") + ATTN_VERSION);
        json.member("language", data.language);
        json.member("title", data.title);
        json.member("description", data.description);
        json.object("commands", [&] {
          std::vector<std::string> before;
          if (data.computed && !data.commands.compute.empty()) {
            before.push_back(shell_line(data.commands.compute));
          }
          json.member("before", before);
          json.member("input",
                      shell_line(data.computed ? data.commands.result : data.commands.input));
        });
        json.objects("samples", data.samples,
                     [&](const std::string& title) { json.member("title", title); });
        json.array("tokens", data.tokens, [&](const ShownTokens& tokens) { write(json, tokens); });
        json.array("attentions", data.attentions,
                   [&](const ViewData::Attention& attention) { write(json, data, attention); });
        write_statistics(json, data);
        write_colours(json, data.colours);
        json.member("notes", data.notes);
        json.object("thumbnails", [&] {
          json.member("side", data.thumbnail_side);
          json.member("block", data.thumbnails);
        });
        json.end_object();
      },
      JsonLayout::line));
}

}  // namespace attn
