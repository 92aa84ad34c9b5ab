#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "maps/head_pattern.hpp"
#include "pictures/drawing.hpp"
#include "plot/sheet.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr double card_width = 3.25;     // inches, of a column of print
constexpr std::size_t card_reach = 32;  // tokens; the farthest distance that is shown
constexpr double most_of_weight = 0.5;  // from which on a head looks at a place

// Fields of a line of comma-separated values; quoted ones may hold commas.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

CorpusTable table_of(const std::filesystem::path& path, const FileAccess& access) {
  const auto file = MappedFile::open(FileName::by_user(path), access);
  CorpusTable table;
  const std::string_view text = file->text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    table.push_back(fields_of(text.substr(at, end - at)));
    at = end + 1;
  }
  return table;
}

std::optional<double> number_in(const std::string& field) {
  if (field.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(field.c_str(), &end);
  return *end == 0 ? std::optional(number) : std::nullopt;
}

// Lines of a head in a table whose first columns are layer, stack and head.
std::vector<std::vector<std::string>> lines_of(const CorpusTable& table, const AttentionName& name,
                                               std::size_t head) {
  const std::string layer = name.layer() ? std::to_string(*name.layer()) : "";
  std::vector<std::vector<std::string>> lines;
  for (const std::vector<std::string>& line : table) {
    if (line.size() > 5 && line[0] == layer && line[1] == name.stack_name() &&
        line[2] == std::to_string(head)) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// What a card tells of a head: where it looks, and how much of its weight lies how far away.
struct CardFacts {
  std::optional<HeadPattern> pattern;
  std::optional<double> error;  // of its share, over a corpus
  std::size_t texts = 1;
  bool of_corpus = false;
  Heatmap distances;  // curves; without weights where there are no distances

  CardFacts(const Heatmap& map, const Drawing& drawing, std::size_t head) {
    if (drawing.corpus) read_corpus(map, *drawing.corpus, drawing.of[0].map.name, head);
    if (!pattern) pattern = strongest_pattern(map);
    add_distances(map, drawing, head);
  }

  // "0.97 ± 0.01 of its weight in 120 texts; by chance 0.24"
  std::string numbers() const {
    if (!pattern) return "";
    std::string share = with_decimals(pattern->share, 2);
    if (error) share += " ± " + with_digits(*error, 1);
    const std::string chance = with_decimals(pattern->chance, 2);
    if (!of_corpus) return translated("{1} of its weight; by chance {2}", share, chance);
    return translated("{1} of its weight in {2}; by chance {3} in this one", share,
                      translated_count(texts, "{1} text", "{1} texts"), chance);
  }

 private:
  // The place whose share over a corpus exceeds chance in this text most.
  void read_corpus(const Heatmap& map, const CorpusTables& corpus, const AttentionName& name,
                   std::size_t head) {
    for (const std::vector<std::string>& line : lines_of(corpus.heads, name, head)) {
      const auto info = std::ranges::find(head_statistics(), line[3], &HeadStatisticInfo::name);
      if (info == head_statistics().end() || info->looks_at.empty() || line.size() < 8) continue;
      const std::optional<double> share = number_in(line[4]);
      std::optional<HeadPattern> own = pattern_of(map, info->statistic);
      if (!share || !own) continue;
      own->share = *share;
      if (pattern && own->excess() <= pattern->excess()) continue;
      pattern = own;
      error = number_in(line[5]);
      texts = static_cast<std::size_t>(number_in(line[7]).value_or(0));
      of_corpus = true;
    }
  }

  void add_distances(const Heatmap& map, const Drawing& drawing, std::size_t head) {
    const std::size_t length = map.weights.shape()[0];
    if (map.weights.shape()[1] != length || map.first_query != map.first_key || length < 3) return;
    const std::size_t reach = std::min(card_reach, length - 1);
    OffsetMeans own(length, reach), even(length, reach);
    const Tensor weights = map.weights.converted(DType::float64);
    const Tensor chances = even_weights(map);
    for (std::size_t i = 0; i < length; ++i) {
      own.add(weights.values<double>().data() + i * length);
      even.add(chances.values<double>().data() + i * length);
    }
    std::vector<double> of_head = own.means();
    std::vector<double> errors(of_head.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> of_chance = even.means();
    if (of_corpus) take_offsets(*drawing.corpus, drawing.of[0].map.name, head, of_head, errors);
    // Later keys only where any has weight.
    const bool later = std::any_of(of_chance.begin() + static_cast<std::ptrdiff_t>(reach) + 1,
                                   of_chance.end(), [](double mean) { return mean > 0; });
    std::vector<double> numbers;
    for (std::size_t i = 0; i <= (later ? 2 * reach : reach); ++i) {
      const std::size_t at = later ? i : reach - i;
      numbers.push_back(of_head[at]);
      if (of_corpus) numbers.push_back(errors[at]);
      numbers.push_back(of_chance[at]);
      const auto offset = static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(reach);
      distances.query_labels.push_back(std::to_string(later ? offset : -offset));
    }
    const std::size_t rows = distances.query_labels.size(), columns = numbers.size() / rows;
    distances.weights = Tensor({rows, columns}, std::move(numbers));
    distances.key_labels = {of_corpus ? translated_count(texts, "{1} text", "{1} texts")
                                      : translated("this head")};
    if (of_corpus) distances.key_labels.emplace_back("standard_error");
    distances.key_labels.push_back(translated("chance"));
    distances.title = later ? translated("Key Position − Query Position")
                            : translated("Query Position − Key Position");
  }

  // Mean weights over a corpus, and their standard errors, in the place of those of one text.
  static void take_offsets(const CorpusTables& corpus, const AttentionName& name, std::size_t head,
                           std::vector<double>& means, std::vector<double>& errors) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const auto reach = static_cast<std::ptrdiff_t>(means.size() / 2);
    const bool has_errors = !corpus.offsets.empty() && corpus.offsets[0].size() > 6 &&
                            corpus.offsets[0][5] == "standard_error";
    for (const std::vector<std::string>& line : lines_of(corpus.offsets, name, head)) {
      const double offset = number_in(line[3]).value_or(static_cast<double>(means.size()));
      const auto at = static_cast<std::ptrdiff_t>(offset) + reach;
      if (at < 0 || at >= static_cast<std::ptrdiff_t>(means.size())) continue;
      means[static_cast<std::size_t>(at)] = number_in(line[4]).value_or(none);
      if (has_errors) errors[static_cast<std::size_t>(at)] = number_in(line[5]).value_or(none);
    }
  }
};

// The query whose largest weight on another token is the largest, of those that see three keys.
std::size_t strongest_query(const Heatmap& map) {
  const Tensor weights = map.weights.converted(DType::float64);
  const Tensor allowed = map.allowed ? map.allowed.converted(DType::boolean) : Tensor();
  const std::size_t queries = map.weights.shape()[0], keys = map.weights.shape()[1];
  std::size_t strongest = queries - 1;
  double most = -1;
  for (std::size_t i = 0; i < queries; ++i) {
    double own = 0;
    std::size_t seen = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      if (allowed && allowed.values<std::uint8_t>()[i * keys + j] == 0) continue;
      const double weight = weights.values<double>()[i * keys + j];
      if (weight != 0) ++seen;
      if (queries != keys || j != i) own = std::max(own, weight);
    }
    if (seen >= 3 && own > most) most = own, strongest = i;
  }
  return strongest;
}

// "Head 1.1", or as pictures of maps without layers say it.
std::string place_of_card(const SelectedMap& selected) {
  const MapChoice& choice = selected.choice;
  const bool one = !heads_together(choice.selection) && !samples_together(choice.selection);
  if (one && selected.map.name.layer())
    return translated("Head {1}", selected.map.name.head_name(choice.head));
  const std::string place = place_text(selected);
  return place.size() > 2 ? place.substr(1, place.size() - 2) : place;
}

// A head with the place that it looks at.
std::string card_title(const SelectedMap& selected, const CardFacts& facts) {
  const std::string place = place_of_card(selected);
  if (!facts.pattern) return place;
  const HeadStatisticInfo& info =
      head_statistics()[static_cast<std::size_t>(facts.pattern->statistic)];
  const std::string where = translated(info.looks_at);
  return (facts.pattern->share >= most_of_weight
              ? translated("{1} looks at {2}", place, where)
              : translated("{1} looks most at {2}", place, where)) +
         "\n" + facts.numbers();
}

}  // namespace

CorpusTables read_corpus_tables(const std::filesystem::path& folder, const FileAccess& access) {
  std::error_code none;
  if (!std::filesystem::exists(folder / "by_offset.csv", none)) {
    throw Error(
        ErrorKind::file,
        translated("there are no statistics of a corpus in {1}", in_quotes(folder.string())),
        "PlotRequest::corpus", translated("give the folder that read_corpus() wrote"));
  }
  CorpusTables tables{table_of(folder / "heads.csv", access),
                      table_of(folder / "by_offset.csv", access)};
  if (tables.heads.empty() || tables.heads[0].size() < 8 ||
      tables.heads[0][5] != "standard_error") {
    throw input_error(translated("there are no statistics of a corpus"),
                      (folder / "heads.csv").string(),
                      translated("give the folder that read_corpus() wrote"));
  }
  return tables;
}

Picture draw_card(const Drawing& drawing) {
  const AttentionMap& own = drawing.of[0].map;
  check_is_map(own);
  const SelectedMap selected(own, drawing.choice);
  const Heatmap map = selected_heatmap(selected);
  const CardFacts facts(map, drawing, drawing.choice.head);
  const PlotOptions usual = options_for(drawing, own);
  const auto options_on = [&](plot::Panel& panel, const std::optional<plot::Interval>& colours) {
    PlotOptions options = usual;
    options.figure.panel = &panel;
    options.figure.short_names = true;
    if (colours && options.colors.range.scope == ColorRange::Scope::shared)
      options.colors.range = {ColorRange::Scope::given, colours->low, colours->high};
    return options;
  };
  using Colours = std::optional<plot::Interval>;
  plot::Sheet sheet;
  sheet.one_scale = true;
  sheet.title = usual.figure.title.value_or(card_title(selected, facts));
  sheet.rows.push_back({{"", 1, [&](plot::Panel& panel, const Colours& colours) {
                           PlotOptions options = options_on(panel, colours);
                           options.figure.title = sheet.title;
                           return draw_heatmap(map, options.heatmap(), drawing.format);
                         }}});
  const Heatmap row = row_of(map, strongest_query(map));
  sheet.rows.push_back({{"", 1, [&](plot::Panel& panel, const Colours& colours) {
                           PlotOptions options = options_on(panel, colours);
                           options.colors.bar = false;
                           options.figure.title = "";
                           options.figure.caption = false;  // that of the map is the card's
                           return draw_strip(token_strip(selected, row), options.strip(),
                                             drawing.format);
                         }}});
  if (facts.distances.weights) {
    sheet.rows.push_back({{"", 1, [&](plot::Panel& panel, const Colours&) {
                             CurvesOptions options{options_on(panel, {}).figure, {}};
                             options.figure.title = "";
                             options.figure.caption = false;
                             options.figure.xlabel = facts.distances.title;
                             options.figure.ylabel = translated("Weight");
                             return draw_curves(facts.distances, options, drawing.format);
                           }}});
  }
  FigureOptions figure = usual.figure;
  if (!figure.figsize) figure.figsize = {card_width, 0};
  return draw_sheet(sheet, figure, drawing.format);
}

}  // namespace attn
